"""What a captured text is made of: where each run of it begins, which options it tells. Pure.

A file may hold what several commands printed (`for d in 1 4 8; do fio …; done >> out.txt`): each is a cell of its own.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any, Final

from orchestrator.quantities import number_value, size_value
from parsers import get_parser
from parsers.errors import ParseError
from parsers.measurement import Cell, Parsed
from parsers.mlc import command_options
from parsers.text import clean, decode
from parsers.units import size_bytes

OPTION_FACT: Final = "option."
"""Facts of a parser whose name starts so are options of the run that printed the text."""

_BEGINNINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "mlc": (
        r"^[^\w\n]*(?:Intel ?\S{0,3} +Memory Latency Checker|(?:pinsweep[ -])?memlat(?= v?\d))",
        r"^(?=[^\n]*\bmlc(?:_\w+)?(?:\.exe)?[\"']? +--[a-z])[^\n]*$",
    ),
    "stream": (r"^-{20,}\s*\n(?=(?:STREAM version|pinsweep stream))", r"^Function +(?:Best )?Rate"),
    "fio": (r"^\{", r"^\S[^\n]*: \(g=0\): rw=", r"^fio-\d"),
    "imb": (r"^#-+\s*\n#\s+Intel[^\n]*MPI Benchmark", r"^#-+\s*\n# Benchmarking "),
}  # fmt: skip
"""Where a run may begin, the surest sign first. A cut is kept only if nothing is lost by it."""

_PROMPT: Final = re.compile(
    r"^(?:\S*[$>]|\++|\S+@\S+[#$%]|#(?= *(?:\./|sudo|mpi|numactl|fio|OMP_)))\s+(?P<command>\S.*)$"
)
_PROGRAMS: Final = {
    "mlc": r"\bmlc(?:_\w+)?(?:\.exe)?\b|\bmemlat\b", "stream": r"\bstream\w*\b", "fio": r"\bfio\b", "imb": r"\bIMB-\w+",
    "osu": r"\bosu_\w+", "likwid_bench": r"\blikwid-bench\b", "poke": r"\bpoke\b",
}  # fmt: skip
_HEADS: Final = re.compile(r"^\s*(?:\S*[$>]|\++|\S+@\S+[#$%])\s+\S|^[^\n]*\bCommand\b", re.IGNORECASE)
_COUNTING_LABELS: Final = frozenset({"document", "run", "table", "job"})


def cut(tool: str, data: bytes, parsed: Parsed) -> list[bytes]:
    """Cut a text into what each of its runs printed; the pieces together are the text, byte for byte.

    It stays whole where one run is all there is, and where the pieces do not say exactly what the whole says.
    """
    if _runs(tool, parsed) < 2 or tool not in _BEGINNINGS or b"\0" in data[:200]:
        return [data]
    text = data.decode("latin-1")  # a character a byte: places in the text are places in the file
    for pattern in _BEGINNINGS[tool]:
        starts = [_above(text, m.start()) for m in re.finditer(pattern, text, re.MULTILINE | re.IGNORECASE)]
        starts = [0, *(s for s in dict.fromkeys(starts[1:]) if s > 0)]
        if len(starts) < 2:
            continue
        pieces = [data[a:b] for a, b in zip(starts, [*starts[1:], len(data)], strict=True)]
        each = (get_parser(tool).parse(decode(piece), {}) for piece in pieces)  # one in memory at a time
        with contextlib.suppress(ParseError):
            if all(a == b for a, b in zip_longest(_figures(each), _figures([parsed]))):
                return pieces
    return [data]


def _runs(tool: str, parsed: Parsed) -> int:
    """Return how many runs the text holds. One run of IMB prints many tables: only the same table again is another run."""
    if tool == "imb":
        heads = {row.get("run") for row in parsed.tables["benchmarks"].records()}
        rows = [
            tuple((k, v) for k, v in row.items() if k not in ("table", "value", "repetitions"))
            for row in parsed.measurements.records()
        ]
        return max(len(heads), *(n for _, n in Counter(rows).most_common(1)), 1)
    for label in ("document", "run"):
        if label in parsed.measurements.columns:
            column = parsed.measurements.columns.index(label)
            return len({row[column] for row in parsed.measurements.rows})
    return 1


def _figures(parts: Iterable[Parsed]) -> Iterator[tuple[Cell, ...]]:
    """Yield all rows without the labels that only count."""
    for part in parts:
        kept = [i for i, column in enumerate(part.measurements.columns) if column not in _COUNTING_LABELS]
        for row in part.measurements.rows:
            yield tuple(row[i] for i in kept)


def _above(text: str, start: int) -> int:
    """Take the lines right above that belong to the run: prompts with the command, a blank line before them."""
    while start > 0:
        before = text.rfind("\n", 0, start - 1) + 1
        if not _HEADS.match(text[before : start - 1]):
            return start
        start = before
    return start


def parts(tool: str, parsed: Parsed) -> list[dict[str, int]]:
    """Return which parts of a text are cells of their own: what the parser is to be told to read one of them.

    The groups of a fio job file ran one after the other. [{}] where the text is one cell.
    """
    if tool != "fio" or "jobs" not in parsed.tables:
        return [{}]
    jobs = parsed.tables["jobs"].records()
    found = dict.fromkeys((int(str(j.get("document", 0))), int(str(j.get("group") or 0))) for j in jobs)
    return [{"document": d, "group": g} for d, g in found] if len(found) > 1 else [{}]


def jobs_of(parsed: Parsed) -> str:
    """Return the names of fio's jobs in a text: "job qd-32"."""
    names = dict.fromkeys(str(j["name"]) for j in parsed.tables["jobs"].records() if j.get("name"))
    return f"job {' '.join(names)}" if names else "a job"


def told(tool: str, parsed: Parsed) -> dict[str, Any]:
    """Return what the text tells of the options of its run, under the tool's own names and as an experiment writes them."""
    given = {
        name.removeprefix(OPTION_FACT): value
        for name, value in parsed.facts.items()
        if name.startswith(OPTION_FACT) and value is not None
    }
    return {name: v for name, v in _TOLD.get(tool, _plain)(given, parsed).items() if v is not None}


def _plain(given: Mapping[str, Cell], parsed: Parsed) -> dict[str, Any]:  # noqa: ARG001
    return dict(given)


_FIO_ALIASES: Final = {"readwrite": "rw", "blocksize": "bs", "timeout": "runtime"}
_FIO_NOT_THE_CELL: Final = frozenset(
    {"name", "description", "directory", "filename_format", "opendir", "exec_prerun", "exec_postrun", "group_reporting",
     "write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log", "log_avg_msec", "log_hist_msec", "thread",
     "stonewall", "wait_for_previous", "new_group"}
)  # fmt: skip
"""fio's options that name files, or say how it reports: they do not tell one cell from another."""


def _fio(given: Mapping[str, Cell], parsed: Parsed) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in given.items():
        name = _FIO_ALIASES.get(name, name)
        if name not in _FIO_NOT_THE_CELL:
            out[name] = _size(str(value)) if name in ("bs", "size", "io_size") else number_value(str(value))
    if parsed.facts.get("format") == "normal" and "numjobs" not in out:
        processes = [
            int(str(j.get("processes") or 1))
            for j in (parsed.tables["jobs"].records() if "jobs" in parsed.tables else ())
        ]
        if sum(processes) > 1:
            out["numjobs"] = sum(processes)
    return out


def _size(text: str) -> int | str:
    """Return a size as pinsweep's own cells have it: `4096B`, `4K` and `4KiB` are "4k". A list or a range stays as it is."""
    try:
        return size_value(size_bytes(text))
    except ValueError:
        return text


def _mlc(given: Mapping[str, Cell], parsed: Parsed) -> dict[str, Any]:
    command = command_options(str(parsed.facts.get("command_line") or ""))
    out: dict[str, Any] = {**given, "mode": parsed.facts.get("mode")}
    for name in ("l", "d"):
        if command.get(name, "").isdigit():
            out[name] = int(command[name])
    for name in ("W", "b"):
        if command.get(name):
            out[name] = command[name]
    if "R" in command:
        out["W"] = "R"
    if command.get("t"):
        out["t"] = number_value(command["t"])
    out |= {name: True for name in ("e", "r", "X", "L") if name in command}
    return out


def _stream(given: Mapping[str, Cell], parsed: Parsed) -> dict[str, Any]:
    names = ("threads", "array_size", "ntimes", "stores", "pages")
    return {**given, **{name: parsed.facts.get(name) for name in names}}


def _imb(given: Mapping[str, Cell], parsed: Parsed) -> dict[str, Any]:
    names = {row.get("benchmark") for row in parsed.measurements.records()}
    ranks = [int(str(row["nprocs"])) for row in parsed.measurements.records() if row.get("nprocs")]
    return {
        **given,
        "benchmark": names.pop() if len(names) == 1 else None,
        "np": max(ranks) if len(set(ranks)) == 1 else None,
    }


def _poke(given: Mapping[str, Cell], parsed: Parsed) -> dict[str, Any]:
    names = ("bytes", "block", "count", "direct", "fsync", "pages", "files")
    targets = {row.get("target") for row in parsed.measurements.records()}
    ops = {row.get("op") for row in parsed.measurements.records()}
    facts = {name: parsed.facts.get(name) for name in names}
    return {
        **given,
        **facts,
        "target": targets.pop() if len(targets) == 1 else None,
        "op": ops.pop() if len(ops) == 1 else None,
    }


def _likwid(given: Mapping[str, Cell], parsed: Parsed) -> dict[str, Any]:
    return {**given, "test": parsed.facts.get("test"), "threads": parsed.facts.get("threads")}


_TOLD: Final[Mapping[str, Callable[[Mapping[str, Cell], Parsed], dict[str, Any]]]] = {
    "fio": _fio, "mlc": _mlc, "stream": _stream, "imb": _imb, "poke": _poke, "likwid_bench": _likwid,
}  # fmt: skip


def command_of(tool: str, data: bytes, parsed: Parsed) -> tuple[str, ...]:
    """Return the command that printed the text, as words, where the text tells it: behind a prompt, or in a line of the tool.

    Kept as it was typed: quotes and pipes are words too.
    """
    program = re.compile(_PROGRAMS.get(tool, r"(?!)"))
    for line in clean(decode(data[:20_000])).split("\n"):
        if not program.search(line):
            continue
        match = _PROMPT.match(line.strip())
        if match and program.search(match["command"]):
            return tuple(match["command"].split())
    said = parsed.facts.get("command_line") or parsed.facts.get("command")
    if not said:
        return ()
    words = tuple(str(said).split())
    return ("mlc", *words) if tool == "mlc" else words
