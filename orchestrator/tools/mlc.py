"""Run Intel Memory Latency Checker, or the built-in kernel `memlat` with the same options and tables.

Options have MLC's letters (`l` is the stride, `W` the traffic type, `d` one delay). `delays` is an inner axis, because
one process measures all delays with a delay file (-g). MLC pins its threads. So numactl gets the placement of the
process and its memory. MLC gets the placement with -c (latency thread), -k (load threads) and -j (memory).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from orchestrator.machine.cpulist import format_cpulist
from orchestrator.model import Cell, Place, Placement, ScratchFile
from orchestrator.placement.place import numactl
from orchestrator.tools import Command, Option, Problem, Program, Refused, Site, Tool
from parsers.errors import list_hint
from parsers.mlc import DEFAULT_DELAYS, command_options
from parsers.units import number_value, size_bytes

if TYPE_CHECKING:
    from parsers.measurement import Parsed, Scalar

_EFFECT: Final[Mapping[str, frozenset[str]]] = {
    mode: frozenset(options.split())
    for mode, options in {
        "loaded_latency": "delays d l W b D t e r X L T U",
        "idle_latency": "l b D t e r X L",
        "latency_matrix": "l b D t e r X L",
        "bandwidth_matrix": "l W b t e X L U",
        "peak_injection_bandwidth": "l b t e X L U",
        "max_bandwidth": "l b t e X L U",
        "c2c_latency": "t e r X a",
    }.items()
}
"""The options that affect a mode. memlat refuses other options. MLC ignores them, or prints no figures."""

MODES = tuple(_EFFECT)
PLACES_ITSELF = frozenset(MODES) - {"loaded_latency", "idle_latency"}
"""Modes that walk over the whole machine by themselves: a placement would only narrow what they see."""

_PLACED: Final[Mapping[str, str]] = {
    "loaded_latency": "ckj", "idle_latency": "cj", "peak_injection_bandwidth": "k", "max_bandwidth": "k", "c2c_latency": "c",
}  # fmt: skip
"""The placement options of a mode. memlat refuses other options. A matrix loops over the nodes itself."""

_TRAFFIC = ("R", *["2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "19", "21", "23", "27"])
_MLC_TRAFFIC = frozenset(("19", "21", "23", "27"))  # MLC 3.9 and later; memlat has no such modes
_SECONDS_PER_POINT = 2.0  # MLC's own default of -t
_FIRST_TOUCH_B_S = 0.5e9  # a cautious guess, for the estimate only: 0.4 to 2 GB/s a thread on a virtual server


def _buffer_bytes(value: Any) -> int | None:  # noqa: ANN401
    """Return the bytes of `b`: KiB in MLC's units, or a size with a suffix. None if invalid."""
    text = str(value)
    try:
        return size_bytes(f"{text}k" if re.fullmatch("[0-9]+", text) else text)
    except ValueError:
        return None


class Mlc(Tool):
    """Intel MLC, or memlat."""

    PROGRAMS = ("mlc",)
    KERNEL = "memlat"
    FATAL = ("invalid_argument", "hugepages_missing", "no_figures", "truncated", "non_finite")
    MEMORY_BOUND = True
    SIGNATURE = b"Memory Latency Checker"
    INSTALL = (
        "Intel's licence keeps MLC out of distributions: download it from Intel and set PINSWEEP_MLC=/path/to/mlc; "
        "without MLC, the built-in kernel memlat is used"
    )
    STARTER = """\
fixed:
  mode: loaded_latency
  place: {name: local, cpus: numa_node 0, memory: local}
  delays: [0, 100, 300, 1000, 5000]   # one process measures them all
matrix:
  W: [R, 9, 8]             # R reads only; 9 and 8: 3 and 1 reads for each non-temporal write
"""
    OPTIONS: ClassVar = {
        "mode": Option("word", "mode: MLC's option without its dashes", choices=MODES, required=True),
        "delays": Option(
            "int",
            "injection delays, measured by one process in this order (-g)",
            inner=True,
            low=0,
            high=1_000_000,
        ),
        "d": Option("int", "one injection delay", low=0, high=1_000_000),
        "l": Option("int", "stride in bytes, a multiple of 64", low=64, high=1 << 18),
        "W": Option(
            "word",
            "traffic type: R read only (if not given); with ordinary stores 2-5, 11, 12, with non-temporal ones 6-10; "
            "19, 21, 23, 27 with Intel MLC only",
            choices=_TRAFFIC,
        ),
        "b": Option("text", "buffer per thread in KiB, or a size (200m, 8 x LLC)", examples=("200m", "8 x LLC")),
        "D": Option(
            "int",
            "lines of one block of the latency walk (4096); 0: the whole buffer, memlat only",
            low=0,
            high=1 << 40,
        ),
        "t": Option("seconds", "seconds per point", low=0.05, high=3600),
        "e": Option("flag", "leave the prefetchers as they are"),
        "r": Option("flag", "random access for the latency thread"),
        "T": Option("flag", "the load alone, on every CPU: no latency thread, no latencies"),
        "U": Option("flag", "random access for the load threads"),
        "X": Option("flag", "one hyper-thread per core only"),
        "L": Option("flag", "2 MB pages"),
        "a": Option("flag", "from every CPU to every other one (c2c_latency, memlat only)"),
    }

    def problems(self, options: Mapping[str, Any]) -> list[Problem]:
        return list(_problems(options))

    def busy_threads(self, options: Mapping[str, Any]) -> int:  # noqa: ARG002
        """Return 1: some thread always accesses memory."""
        return 1

    def default_place(self, options: Mapping[str, Any]) -> Place | None:
        return None if options["mode"] in PLACES_ITSELF else super().default_place(options)

    def command(self, cell: Cell, placement: Placement | None, site: Site, program: Program) -> Command:
        """Return the command line. Raises Refused for a loaded latency without load threads."""
        given, mode = cell.options, str(cell.options["mode"])
        notes: tuple[str, ...] = ()
        if program.stand_in:
            notes = ("built-in kernel memlat in place of MLC",)
        elif not site.root and not given.get("e"):
            notes = ("not root: MLC cannot switch the prefetchers off and measures random access instead",)
        argv = [program.path, f"--{mode}"]
        prefix: tuple[str, ...] = ()
        threads = site.topology.numbers().get("pus", 1)
        if placement is not None:
            group = placement.groups[0]
            threads, prefix = len(group.cpus), numactl(group, site.numactl)
            argv += _placed(mode, placement, alone=bool(given.get("T")))
        scratch: tuple[ScratchFile, ...] = ()
        delays = tuple(given.get("delays", (given["d"],) if "d" in given else DEFAULT_DELAYS))
        if mode == "loaded_latency" and "d" in given:
            argv.append(f"-d{given['d']}")
        elif mode == "loaded_latency" and "delays" in given:
            text = "".join(f"{delay}\n" for delay in delays)
            path = f"{site.scratch}/delays-{hashlib.sha256(text.encode()).hexdigest()[:8]}.txt"
            scratch = (ScratchFile(path=path, text=text, size_bytes=len(text)),)
            argv.append(f"-g{path}")
        buffer = (_buffer_bytes(given["b"]) or 0) if "b" in given else 0
        buffers, memory = 1 if mode == "idle_latency" else threads, site.memory_for(placement)
        if memory and buffers * buffer > memory:
            count = "1 buffer" if buffers == 1 else f"{buffers} buffers"
            size = f"{buffers * buffer >> 20} MiB, the memory of this place has {memory >> 20} MiB"
            raise Refused(f"{count} of {given['b']} need {size}")
        traffic = str(given.get("W", ""))
        if traffic in _MLC_TRAFFIC and program.stand_in:
            raise Refused(f"traffic type W={traffic} needs Intel MLC")
        if traffic:
            argv.append("-R" if traffic == "R" else f"-W{traffic}")
        if "b" in given:  # in KiB: not every version of MLC knows suffixes
            argv.append(f"-b{buffer >> 10}")
        argv += [f"-{letter}{given[letter]}" for letter in ("l", "D", "t") if letter in given]
        argv += [f"-{letter}" for letter in ("e", "r", "X", "L", "T", "U", "a") if given.get(letter)]
        estimate_s = _estimate(mode, given, len(delays), threads, site, program)
        return Command(argv=(*prefix, *argv), estimate_s=estimate_s, scratch=scratch, notes=notes)

    def version(self, text: str) -> str:
        """Return the version in a banner. MLC prints its banner for an unknown option such as --version."""
        match = re.search(r"Checker.* v([^\n]*)$|^pinsweep memlat (\S+)", text, re.MULTILINE)
        return (match[1] or match[2]).strip() if match else ""

    def complaint(self, parsed: Parsed, cell: Cell) -> str:
        """Return a message if the measured delays differ from the requested delays, or "" if they are equal."""
        requested = cell.options.get("delays")
        counted = "bandwidth" if cell.options.get("T") else "latency"
        measured = tuple(row.get("delay") for row in parsed.measured() if row.metric == counted)
        if requested is not None and measured != tuple(requested):
            return f"requested {len(requested)} delays, got {len(measured)} rows"
        return ""

    def captured_options(self, given: Mapping[str, Scalar], parsed: Parsed) -> dict[str, Any]:
        """Return the options of a captured run from its command line."""
        command = command_options(str(parsed.facts.get("command_line") or ""))
        out: dict[str, Any] = dict(given)
        out |= {name: int(command[name]) for name in ("l", "d", "D") if command.get(name, "").isdigit()}
        out |= {name: command[name] for name in ("W", "b") if command.get(name)}
        if "R" in command:
            out["W"] = "R"
        if "l" not in out and (stride := _stride_in_heading(parsed)):
            out["l"] = stride
        if command.get("t"):
            out["t"] = number_value(command["t"])
        return out | {name: True for name in ("e", "r", "X", "L", "a") if name in command}

    def default_options(self, given: Mapping[str, Any], parsed: Parsed) -> dict[str, Any]:
        """Return MLC's own stride and traffic where a command line has neither: 64 bytes, reads.

        A word that MLC does not know (`-1256`, a digit for a letter) may have been either.
        """
        line = str(parsed.facts.get("command_line") or "")
        if not line or re.search(r"(?:^|\s)-\d", line):
            return {}
        usual = {"l": 64} | ({} if "o" in command_options(line) else {"W": "R"})
        effect = _EFFECT.get(str(given.get("mode")), frozenset())
        return {name: value for name, value in usual.items() if name in effect and name not in given}


TOOL = Mlc()


def _problems(options: Mapping[str, Any]) -> Iterator[Problem]:
    mode = str(options.get("mode"))
    if "delays" in options and "d" in options:
        yield "d", "is one of the delays; give delays or d"
    if options.get("T") and options.get("r"):
        yield "r", "is for the latency thread, and T leaves it out"
    for name, value in options.items():
        modes = [other for other, effect in _EFFECT.items() if name in effect]
        if modes and mode in _EFFECT and mode not in modes and value is not False:
            yield name, f"has no effect on {mode}, only on {', '.join(modes)}"
    stride = options.get("l")
    if isinstance(stride, int) and stride % 64:
        yield "l", f"{stride} is not a multiple of 64 bytes, the lines that are counted"
    if "b" in options:
        buffer, text = _buffer_bytes(options["b"]), str(options["b"])
        if buffer is None or buffer % 1024:
            what = f"{options['b']!r} is not a size in whole KiB"
            yield "b", what, list_hint(text)
        elif buffer < 4 * max(1024, stride if isinstance(stride, int) else 0):
            yield "b", f"{options['b']!r} is too small: four strides, and 4 KiB, are the least"


def _placed(mode: str, placement: Placement, *, alone: bool) -> list[str]:
    """Return the options that place MLC's threads.

    `alone`: without a latency thread. Raises Refused for a load without a CPU.
    """
    group, letters = placement.groups[0], _PLACED.get(mode, "")
    argv, load = [], group.cpus
    if "c" in letters and not alone:
        argv.append(f"-c{group.cpus[0]}")
        load = group.cpus[1:]
    if "k" in letters:
        if not load:
            raise Refused(f"a loaded latency needs a CPU for the load: {placement.name} has one")
        argv.append(f"-k{format_cpulist(load)}")
    if "j" in letters and len(group.membind) == 1:
        argv.append(f"-j{group.membind[0]}")
    return argv


def _estimate(mode: str, given: Mapping[str, Any], delays: int, threads: int, site: Site, program: Program) -> float:
    """Return the estimated seconds.

    MLC takes -t per point after a start of some seconds, and a matrix has a point per node pair.

    The buffers of memlat grow with the caches, and the kernel needs time to allocate them.
    """
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
    return start_s + points * (float(given.get("t", _SECONDS_PER_POINT)) * 1.1 + 0.05)


def _memlat_bytes(given: Mapping[str, Any], threads: int, site: Site) -> tuple[int, int]:
    """Return (buffer of the latency thread, buffer of each load thread) in memlat's default size without -b."""
    if buffer := _buffer_bytes(given["b"]) if "b" in given else None:
        return buffer, buffer
    caches = 4 * site.topology.numbers().get("LLC", 0)
    shared = caches * max(1, len(site.topology.packages)) // max(1, threads)
    return min(max(caches, 200_000 << 10), 2 << 30), min(max(shared, 100_000 << 10), 2 << 30)


def _stride_in_heading(parsed: Parsed) -> int | None:
    """Return the 256 of "g. 256B, read: write = 3:1"."""
    runs = parsed.tables["runs"].records() if "runs" in parsed.tables else []
    match = re.search(r"\b(\d{2,5}) ?B\b", str(runs[0].get("heading"))) if runs else None
    return int(match[1]) if match and int(match[1]) % 64 == 0 else None
