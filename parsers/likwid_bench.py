"""Parse likwid-bench, 4.x and 5.x: the figures of each run, also of several runs in one text.

tables["measurements"] has one row per number, with these labels:

    run   int   which run of the text, from 0
    test  str   "copy", "triad_avx" …: the kernel

MByte/s is 10**6 B/s and counts the kernel's loads and stores, without the lines that a store fetches first. A figure of
0 gives no row (flops of a copy, cycles without a cycle counter).

Further tables are runs (run, test, workgroups, threads) and threads (run, group, thread, pu, vector_length in
elements). Facts are program, and test and threads if all runs agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from parsers import text as texts
from parsers._bounds import Parts, check_lines
from parsers._runs import agreed
from parsers.errors import ParseError
from parsers.measurement import Flag, Metric, Parsed, Scalar, Table, Taken, measurements, unread

NAME: Final = "likwid-bench"
VERSION: Final = 3
PRINTED: Final[Mapping[str, float]] = {"bandwidth": 1e4, "flop_rate": 1e4}
LABELS: Final = ("run", "test")
_TABLE: Final = (  # as printed, metric, factor, unit, text
    ("MByte/s", "bandwidth", 1e6, "B/s", "bandwidth"),
    ("MFlops/s", "flop_rate", 1e6, "1/s", "floating-point operations per second"),
    ("Time", "time", 1e9, "ns", "run time"),
    ("Cycles", "cycles", 1.0, "1", "cycles of the longest thread"),
    ("CPU Clock", "cpu_clock", 1.0, "1/s", "nominal clock"),
    ("Cycle Clock", "cycle_clock", 1.0, "1/s", "clock of the cycle counter"),
    ("Iterations", "iterations", 1.0, "1", "iterations, all threads"),
    ("Iterations per thread", "iterations_per_thread", 1.0, "1", "iterations of a thread"),
    ("Inner loop executions", "inner_loops", 1.0, "1", "executions of the inner loop"),
    ("Size", "size", 1.0, "B", "bytes worked on"),
    ("Size per thread", "size_per_thread", 1.0, "B", "bytes worked on by a thread"),
    ("Number of Flops", "flops", 1.0, "1", "floating-point operations"),
    ("Data volume (Byte)", "data_volume", 1.0, "B", "bytes moved"),
    ("Cycles per update", "cycles_per_update", 1.0, "1", "cycles per element written"),
    ("Cycles per cacheline", "cycles_per_cacheline", 1.0, "1", "cycles per cache line"),
    ("Loads per update", "loads_per_update", 1.0, "1", "loads per update"),
    ("Stores per update", "stores_per_update", 1.0, "1", "stores per update"),
    ("Load bytes per element", "load_bytes", 1.0, "B", "bytes loaded per element"),
    ("Store bytes per elem.", "store_bytes", 1.0, "B", "bytes stored per element"),
    ("Instructions", "instructions", 1.0, "1", "instructions"),
    ("UOPs", "uops", 1.0, "1", "micro-operations"),
)
_HIGHER: Final = ("bandwidth", "flop_rate")
METRICS: Final = {
    name: Metric(unit, "higher" if name in _HIGHER else "neither", text) for _, name, _, unit, text in _TABLE
}
_LINES: Final = {printed: (name, factor) for printed, name, factor, _, _ in _TABLE} | {"Size (Byte)": ("size", 1.0)}
_BANNER = re.compile(r"^LIKWID MICRO BENCHMARK$")
_TEST = re.compile(r"^Test: (\S+)$")
_USING = re.compile(r"^Using (\d{1,18}) (work groups|threads)$")
_THREAD = re.compile(
    r"^Group: (\d{1,18}) Thread \d+ Global Thread (\d{1,18}) running on (?:hwthread|core) (\d{1,18}) - Vector length (\d{1,18})\b"
)
_LINE = re.compile(r"^(?P<name>[A-Z][\w/() .]*?):\s+(?P<value>[^\s<(#*]+)(?=[\s<(#*]|$)(?: sec)?(?:\s*(?:[^\d\s].*)?)$")
_UNMISTAKABLE = re.compile(r"^Cycles per cacheline:\s+\d")
# all digits that there are
_COMPLETE = re.compile(r"Cycles per .*\.\d{6}\b|M(?:Byte|Flops)/s:\s+\d+\.\d\d\b|.*\bsec\b")
_ANY = re.compile("")  # no line of likwid-bench begins with "#"


@dataclass(slots=True, eq=False)
class _Run:
    test: str | None = None
    workgroups: int | None = None
    threads: int | None = None
    rows: dict[str, float] = field(default_factory=dict)  # by name, as printed
    places: list[tuple[int, int, int, int]] = field(default_factory=list)
    unfinished: bool = False
    last: str = ""  # the line of the last figure
    closed: bool = False  # a rule stands below the figures
    unread: list[str] = field(default_factory=list)
    not_finite: bool = False


TAKEN: Final = Taken(program=r"\blikwid-bench\b", tells={"test": "test", "threads": "threads"})


def recognise(text: str) -> bool:
    """Return whether the text looks like likwid-bench's output."""
    if not texts.mentions(text, "likwid micro benchmark", "cycles per cacheline:"):
        return False
    return any(_BANNER.match(line) or _UNMISTAKABLE.match(line) for line in _lines(text))


def parse(text: str, context: Mapping[str, Any] | None = None) -> Parsed:  # noqa: ARG001 (part of the contract)
    """Return the figures of every run in the text. Raises ParseError if no run has a figure."""
    check_lines(text)
    lines = _lines(text)
    last = lines.pop()
    runs: list[_Run] = Parts()
    extract = any(map(_UNMISTAKABLE.match, lines)) and not any(map(_BANNER.match, lines))
    if extract:  # it begins below the banner
        runs.append(_Run())
    for line in lines:
        match = _LINE.match(line)
        again = extract and match and match["name"] in _LINES and match["name"] in runs[-1].rows
        if _BANNER.match(line) or again:
            runs.append(_Run())
        if runs:
            _take(runs[-1], line)
            runs[-1].closed = runs[-1].closed or (bool(runs[-1].rows) and line.startswith("-----"))
    if runs and last.strip():
        runs[-1].unfinished = True  # the number may be cut off
    for run in runs:
        if run.rows and not run.closed and not _COMPLETE.match(run.last):
            run.rows.popitem()  # of a whole number nothing tells whether the text ends in it
            run.unfinished = True
    if not any(run.rows for run in runs):
        raise _nothing(text, bool(runs))
    return Parsed(tables=_tables(runs), flags=tuple(_flags(runs)), facts=_facts(runs))


def _lines(text: str) -> list[str]:
    return [line.strip() for line in texts.clean(text, commented=_ANY, emphasis=True).split("\n")]


def _nothing(text: str, started: bool) -> ParseError:
    if started:
        return ParseError("likwid-bench's output", "it ends before the first figure", "was it stopped?")
    seen = texts.first_line(text)
    return ParseError("likwid-bench's output", f"looked for `LIKWID MICRO BENCHMARK`; saw {seen}")


def _take(run: _Run, line: str) -> None:
    if match := _TEST.match(line):
        run.test = match[1]
    elif match := _USING.match(line):
        setattr(run, match[2].replace(" ", ""), int(match[1]))
    elif match := _THREAD.match(line):
        run.places.append((int(match[1]), int(match[2]), int(match[3]), int(match[4])))
    elif (match := _LINE.match(line)) and match["name"] in _LINES:
        value = texts.number(match["value"])
        if texts.is_finite(value):
            run.rows.setdefault(match["name"], value)
            run.last = line
        else:
            run.not_finite |= value is not None
            run.unread += [line] if value is None else []
    elif line.partition(":")[0] in _LINES:
        run.unread.append(line)


def _figures(run: _Run) -> Iterator[tuple[str, float]]:
    for name, value in run.rows.items():
        metric, factor = _LINES[name]
        if name == "Size" and "Size per thread" not in run.rows:
            continue  # before 4.0 a number of elements
        if value:
            yield metric, value * factor


def _tables(runs: list[_Run]) -> dict[str, Table]:
    rows = [((n, run.test), metric, value) for n, run in enumerate(runs) for metric, value in _figures(run)]
    tables = {
        "measurements": measurements(LABELS, METRICS, rows),
        "runs": Table(
            ("run", "test", "workgroups", "threads"),
            tuple((n, run.test, run.workgroups, run.threads) for n, run in enumerate(runs)),
        ),
    }
    if places := tuple((n, *place) for n, run in enumerate(runs) for place in run.places):
        tables["threads"] = Table(("run", "group", "thread", "pu", "vector_length"), places)
    return tables


def _flags(runs: list[_Run]) -> Iterator[Flag]:
    for n, run in enumerate(runs):
        if run.unfinished or "MByte/s" not in run.rows:
            yield Flag("truncated", f"run {n} ({run.test}): the figures end early")
        if run.unread:
            yield unread(run.unread, f"run {n} ({run.test})")
        if run.not_finite:
            yield Flag("not_finite", f"run {n} ({run.test}): inf or nan, left out")


def _facts(runs: list[_Run]) -> dict[str, Scalar]:
    about: list[dict[str, Scalar]] = [{"test": run.test, "threads": run.threads} for run in runs]
    return {"program": "likwid-bench", "runs": len(runs), **agreed(about, ("test", "threads"))}
