"""Intel Memory Latency Checker, or our own `memlat` in its place: same options, same tables, another banner.

Options carry MLC's letters (`l` the stride, `W` the traffic type, `d` one delay). `delays` is an inner axis: one
process measures them all, by a delay file (-g). MLC pins its own threads, so the placement is given twice: to
numactl, for the process and its memory, and to MLC by -c (latency thread), -k (load threads) and -j (memory).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from orchestrator.machine.cpulist import format_cpulist
from orchestrator.model import Cell, Place, Placement, ScratchFile
from orchestrator.placement.place import numactl
from orchestrator.tools import Command, Option, Problem, Program, Refused, Site
from parsers.errors import list_hint
from parsers.mlc import command_options
from parsers.units import number_value, size_bytes

if TYPE_CHECKING:
    from parsers.measurement import Parsed, Scalar

PROGRAMS = ("mlc",)
KERNEL = "memlat"
FATAL = ("invalid_argument", "hugepages_missing", "no_figures", "truncated", "non_finite")
MEMORY_BOUND = True
SIGNATURE = b"Memory Latency Checker"
INSTALL = "Intel's licence keeps MLC out of distributions: download it from Intel and set PINSWEEP_MLC=/path/to/mlc; without it our kernel memlat stands in"
STARTER: Final = """\
fixed:
  mode: loaded_latency
  place: {name: local, cpus: numa_node 0, memory: local}
  delays: [0, 100, 300, 1000, 5000]   # one process measures them all
matrix:
  W: [R, 9, 8]             # R reads only; 9 and 8: 3 and 1 reads for each non-temporal write
"""
"""What `init` writes below the head of an experiment."""

MODES = (
    "loaded_latency", "idle_latency", "latency_matrix", "bandwidth_matrix",
    "peak_injection_bandwidth", "max_bandwidth", "c2c_latency",
)  # fmt: skip
PLACES_ITSELF = frozenset(
    {"latency_matrix", "bandwidth_matrix", "peak_injection_bandwidth", "max_bandwidth", "c2c_latency"}
)
"""Modes that walk over the whole machine by themselves: a placement would only narrow what they see."""

DEFAULT_DELAYS = (
    0,
    2,
    8,
    15,
    50,
    100,
    200,
    300,
    400,
    500,
    700,
    1000,
    1300,
    1700,
    2500,
    3500,
    5000,
    9000,
    20000,
)
"""The delays that MLC measures when none are given, in its order (formats: loaded latency table)."""

_TRAFFIC = ("R", *map(str, (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 19, 21, 23, 27)))
_MLC_TRAFFIC = frozenset(("19", "21", "23", "27"))  # of MLC 3.9 and later; memlat has none of them
_SECONDS_PER_POINT = 2.0  # MLC's own default of -t
_FIRST_TOUCH_B_S = (
    0.5e9  # a cautious guess, for the estimate only: 0.4 to 2 GB/s a thread on a virtual server
)


def options() -> Mapping[str, Option]:
    return {
        "mode": Option(
            kind="word", choices=MODES, required=True, help="what to measure; MLC's option without its dashes"
        ),
        "delays": Option(
            kind="int",
            inner=True,
            low=0,
            high=1_000_000,
            help="injection delays, measured by one process in this order (-g)",
        ),
        "d": Option(kind="int", low=0, high=1_000_000, help="one injection delay"),
        "l": Option(kind="int", low=64, high=1 << 18, help="stride in bytes, a multiple of 64"),
        "W": Option(
            kind="word",
            choices=_TRAFFIC,
            help="traffic type: R read only (if not given); with ordinary stores 2-5, 11, 12, with non-temporal ones 6-10; 19, 21, 23, 27 with Intel MLC only",
        ),
        "b": Option(
            kind="text",
            help="buffer per thread in KiB, or a size (200m, 8 x LLC)",
            examples=("200m", "8 x LLC"),
        ),
        "D": Option(
            kind="int",
            low=0,
            high=1 << 40,
            help="lines in which the latency thread stays before it moves on (4096); 0: all of its buffer, memlat only",
        ),
        "t": Option(kind="seconds", low=0.05, high=3600, help="seconds per point"),
        "e": Option(kind="flag", help="leave the prefetchers as they are"),
        "r": Option(kind="flag", help="random access for the latency thread"),
        "T": Option(kind="flag", help="the load alone, on every CPU: no latency thread, no latencies"),
        "U": Option(kind="flag", help="random access for the load threads"),
        "X": Option(kind="flag", help="one hyper-thread per core only"),
        "L": Option(kind="flag", help="2 MB pages"),
        "a": Option(kind="flag", help="from every CPU to every other one (c2c_latency, memlat only)"),
    }


_EFFECT: Mapping[str, frozenset[str]] = {
    "loaded_latency": frozenset({"delays", "d", "l", "W", "b", "D", "t", "e", "r", "X", "L", "T", "U"}),
    "idle_latency": frozenset({"l", "b", "D", "t", "e", "r", "X", "L"}),
    "latency_matrix": frozenset({"l", "b", "D", "t", "e", "r", "X", "L"}),
    "bandwidth_matrix": frozenset({"l", "W", "b", "t", "e", "X", "L", "U"}),
    "peak_injection_bandwidth": frozenset({"l", "b", "t", "e", "X", "L", "U"}),
    "max_bandwidth": frozenset({"l", "b", "t", "e", "X", "L", "U"}),
    "c2c_latency": frozenset({"t", "e", "r", "X", "a"}),
}
"""The options that change what a mode measures. memlat refuses the others; MLC ignores them, or prints no figures."""

_PLACED: Mapping[str, str] = {
    "loaded_latency": "ckj", "idle_latency": "cj", "peak_injection_bandwidth": "k", "max_bandwidth": "k", "c2c_latency": "c",
}  # fmt: skip
"""The options that place what a mode measures; memlat refuses the others. The matrices go through the nodes by themselves."""

_WHY = {
    "delays": "belongs to loaded_latency, not to {mode}",
    "d": "belongs to loaded_latency, not to {mode}",
    "W": "has no effect on {mode}: it measures {what}",
    "r": "has no effect on {mode}: there is no latency thread",
    "T": "belongs to loaded_latency, not to {mode}",
    "U": "has no effect on {mode}: there are no load threads",
    "b": "has no effect on {mode}: what is handed over fits into the caches",
    "l": "has no effect on {mode}: what is handed over fits into the caches",
    "D": "has no effect on {mode}: there is no latency thread, or what is handed over fits into the caches",
    "a": "belongs to c2c_latency, not to {mode}",
    "L": "has no effect on {mode}: what is handed over fits into the caches",
}


def problems(options: Mapping[str, Any]) -> list[Problem]:
    found: list[Problem] = []
    mode = str(options.get("mode"))
    if "delays" in options and "d" in options:
        found.append(("d", "is one of the delays; give delays or d"))
    if options.get("T") and options.get("r"):
        found.append(("r", "is for the latency thread, and T leaves it out"))
    if mode in _EFFECT:
        found += [
            (name, why.format(mode=mode, what="ratios of its own" if "bandwidth" in mode else "reads"))
            for name, why in _WHY.items()
            if name in options and options[name] is not False and name not in _EFFECT[mode]
        ]
    stride, buffer = options.get("l"), None
    if isinstance(stride, int) and stride % 64:
        found.append(("l", f"{stride} is not a multiple of 64 bytes, the lines that are counted"))
    if "b" in options:
        buffer = _buffer_bytes(options["b"])
        if buffer is None or buffer % 1024:
            found.append(
                (
                    "b",
                    f"{options['b']!r} is neither a number of KiB nor a size in whole KiB (200m, 8 x LLC)",
                    list_hint(str(options["b"])),
                )
            )
        elif buffer < 4 * max(1024, stride if isinstance(stride, int) else 0):
            found.append(("b", f"{options['b']!r} is too small: four strides, and 4 KiB, are the least"))
    return found


def _buffer_bytes(value: Any) -> int | None:  # noqa: ANN401
    """Return the bytes of `b`: KiB as MLC counts them, or a size with a suffix; None if it is neither."""
    text = str(value)
    try:
        return size_bytes(f"{text}k" if re.fullmatch("[0-9]+", text) else text)
    except ValueError:
        return None


def shape(options: Mapping[str, Any]) -> tuple[int | None, int]:  # noqa: ARG001
    return None, 1


def computing(options: Mapping[str, Any]) -> int:  # noqa: ARG001
    """Return 1: some thread always accesses memory."""
    return 1


def default_place(options: Mapping[str, Any]) -> Place | None:
    return None if options["mode"] in PLACES_ITSELF else Place(name="all", cpus="all", memory="any")


def command(cell: Cell, placement: Placement | None, site: Site, program: Program) -> Command:
    """Build the command line. Raises Refused where a loaded latency would have no load."""
    given = cell.options
    mode = str(given["mode"])
    official = not program.stand_in
    if official and not site.root and not given.get("e"):
        notes: tuple[str, ...] = (
            "not root: MLC cannot switch the prefetchers off and measures random access instead",
        )
    else:
        notes = () if official else ("memlat, a kernel of pinsweep, stands in for MLC",)
    argv = [program.path, f"--{mode}"]
    prefix: tuple[str, ...] = ()
    threads = site.topology.numbers().get("pus", 1)
    if placement is not None:
        group = placement.groups[0]
        threads = len(group.cpus)
        prefix = numactl(group, site.numactl)
        known = _PLACED.get(mode, "")
        load = group.cpus
        if "c" in known and not given.get("T"):
            argv.append(f"-c{group.cpus[0]}")
            load = group.cpus[1:]
        if "k" in known:
            if not load:
                raise Refused(f"a loaded latency needs a CPU for the load: {placement.name} has one")
            argv.append(f"-k{format_cpulist(load)}")
        if "j" in known and len(group.membind) == 1:
            argv.append(f"-j{group.membind[0]}")
    scratch: tuple[ScratchFile, ...] = ()
    delays = tuple(given.get("delays", (given["d"],) if "d" in given else DEFAULT_DELAYS))
    if mode == "loaded_latency":
        if "d" in given:
            argv.append(f"-d{given['d']}")
        elif "delays" in given:
            text = "".join(f"{delay}\n" for delay in delays)
            path = f"{site.scratch}/delays-{hashlib.sha256(text.encode()).hexdigest()[:8]}.txt"
            scratch = (ScratchFile(path=path, text=text, size_bytes=len(text)),)
            argv.append(f"-g{path}")
    if "b" in given:
        buffers = 1 if mode == "idle_latency" else threads
        needed, have = buffers * (_buffer_bytes(given["b"]) or 0), site.memory_for(placement)
        if have and needed > have:
            count = "1 buffer" if buffers == 1 else f"{buffers} buffers"
            raise Refused(
                f"{count} of {given['b']} need {needed >> 20} MiB, the memory of this place has {have >> 20} MiB"
            )
    traffic = str(given.get("W", ""))
    if traffic in _MLC_TRAFFIC and not official:
        raise Refused(f"traffic type W={traffic} needs Intel MLC")
    if traffic:
        argv.append("-R" if traffic == "R" else f"-W{traffic}")
    if "b" in given:  # in KiB: not every version of MLC knows suffixes
        argv.append(f"-b{(_buffer_bytes(given['b']) or 0) >> 10}")
    argv += [f"-{letter}{given[letter]}" for letter in ("l", "D", "t") if letter in given]
    argv += [f"-{letter}" for letter in ("e", "r", "X", "L", "T", "U", "a") if given.get(letter)]
    return Command(
        argv=(*prefix, *argv),
        estimate_s=_estimate(mode, given, len(delays), threads, site, program),
        scratch=scratch,
        notes=notes,
    )


def _estimate(
    mode: str, given: Mapping[str, Any], delays: int, threads: int, site: Site, program: Program
) -> float:
    """MLC takes -t seconds per point after a start of some seconds; a matrix has a point per pair of nodes.

    memlat's own buffers grow with the caches, and the kernel needs its time to give that memory out.
    """
    point_s = float(given.get("t", _SECONDS_PER_POINT))
    nodes = max(1, site.topology.numbers().get("numa_nodes", 1))
    points, fills = {
        "loaded_latency": (delays, 1),
        "latency_matrix": (nodes**2, nodes**2),
        "bandwidth_matrix": (nodes**2, nodes**2),
        "c2c_latency": (2 * nodes + (threads**2 / 50 if given.get("a") else 0), 0),
        "idle_latency": (1, 1),
    }.get(mode, (5, 1))
    start_s = 2.0
    if program.stand_in:
        latency, load = _memlat_bytes(given, threads, site)
        chased = latency if mode in ("loaded_latency", "idle_latency", "latency_matrix") else 0
        loaded = 0 if mode in ("idle_latency", "latency_matrix") else 2 * load
        start_s = 0.2 + fills * (chased + loaded) / _FIRST_TOUCH_B_S
    return start_s + points * (point_s * 1.1 + 0.05)


def _memlat_bytes(given: Mapping[str, Any], threads: int, site: Site) -> tuple[int, int]:
    """Return (latency thread's buffer, each load thread's) as memlat sizes them where -b does not."""
    if asked := _buffer_bytes(given["b"]) if "b" in given else None:
        return asked, asked
    caches = 4 * site.topology.numbers().get("LLC", 0)
    packages = max(1, len(site.topology.packages))
    return (
        min(max(caches, 200_000 << 10), 2 << 30),
        min(max(caches * packages // max(1, threads), 100_000 << 10), 2 << 30),
    )


def version_argv(path: str) -> tuple[str, ...]:
    return (path, "--version")  # an unknown option to MLC, which answers with its banner


def version(text: str) -> str:
    for line in text.splitlines():
        if "Checker" in line and " v" in line:
            return line.rsplit(" v", 1)[1].strip()
        if line.startswith("pinsweep memlat"):
            return line.split()[2]
    return ""


def complaint(parsed: Parsed, stdout: str, stderr: str, cell: Cell) -> str:  # noqa: ARG001
    """A row for each delay that was asked for, no more and no fewer."""
    asked = cell.options.get("delays")
    columns = parsed.measurements.columns
    metric, delay = columns.index("metric"), columns.index("delay")
    counted = "bandwidth" if cell.options.get("T") else "latency"
    got = tuple(row[delay] for row in parsed.measurements.rows if row[metric] == counted)
    if asked is not None and got != tuple(asked):
        return f"asked for {len(asked)} delays, got {len(got)} rows"
    return ""


def told(given: Mapping[str, Scalar], parsed: Parsed) -> dict[str, Any]:
    """Return the options of a captured run, read off its command line."""
    command = command_options(str(parsed.facts.get("command_line") or ""))
    out: dict[str, Any] = dict(given)
    for name in ("l", "d", "D"):
        if command.get(name, "").isdigit():
            out[name] = int(command[name])
    for name in ("W", "b"):
        if command.get(name):
            out[name] = command[name]
    if "R" in command:
        out["W"] = "R"
    if "l" not in out and (stride := _stride_in_heading(parsed)):
        out["l"] = stride
    if command.get("t"):
        out["t"] = number_value(command["t"])
    out |= {name: True for name in ("e", "r", "X", "L", "a") if name in command}
    return out


def defaults(given: Mapping[str, Any], parsed: Parsed) -> dict[str, Any]:
    """Return MLC's own stride and traffic where a command line has neither: 64 bytes, reads.

    A word that MLC does not know (`-1256`, a digit for a letter) may have been either.
    """
    line = str(parsed.facts.get("command_line") or "")
    if not line or re.search(r"(?:^|\s)-\d", line):
        return {}
    usual = {"l": 64} | ({} if "o" in command_options(line) else {"W": "R"})
    effect = _EFFECT.get(str(given.get("mode")), frozenset())
    return {name: value for name, value in usual.items() if name in effect and name not in given}


def _stride_in_heading(parsed: Parsed) -> int | None:
    """Return the 256 of "g. 256B, read: write = 3:1"."""
    runs = parsed.tables["runs"].records() if "runs" in parsed.tables else []
    said = re.search(r"\b(\d{2,5}) ?B\b", str(runs[0].get("heading"))) if runs else None
    return int(said[1]) if said and int(said[1]) % 64 == 0 else None
