"""Parse OSU micro-benchmarks (OMB), 3.x to 7.x: point-to-point, collectives, one-sided, OpenSHMEM and UPC.

A text may have several benchmarks. tables["measurements"] has one row per number, with these labels:

    table         int   which table of the text, from 0
    benchmark     str   "MPI Latency Test", "MPI-CUDA Allreduce Latency Test" …, as printed
    operation     str   of the OpenSHMEM atomics: the row's own name; else none
    message_size  int   bytes; none for barriers
    statistic     str   "mean" (over the iterations, and over the processes of a collective), "min", "max" (process),
                        "p50", "p99" … of the iterations (-z)

The time of osu_latency is half the round trip. MB/s is 10**6 B/s. osu_bibw counts both directions, osu_mbw_mr all
pairs. A value that is printed as 0.00 is less than a digit and gives no row.

A further table is benchmarks (table, benchmark, version, pairs, window, datatype, creation, synchronization, buffers).
Facts are program, and tool_version if the tables agree. Flag `validation_failed` means that -c found wrong data. Flag
`aborted` means that MPI or the launcher ended the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from parsers import text as texts
from parsers._bounds import Parts, check_lines
from parsers._runs import table_of
from parsers.errors import ParseError
from parsers.measurement import Flag, Metric, NotYet, Parsed, Scalar, Table, Taken, measurements, unread

NAME: Final = "OSU"
VERSION: Final = 4
PRINTED: Final[Mapping[str, float]] = {
    "latency": 10.0, "bandwidth": 1e4, "message_rate": 0.01, "overlap": 1e-4,
    **dict.fromkeys(("time_overall", "time_compute", "time_pure", "time_init", "time_test", "time_wait"), 10.0),
}  # fmt: skip
LABELS: Final = ("table", "benchmark", "operation", "message_size", "statistic")
METRICS: Final = {
    "latency": Metric("ns", "lower", "latency (point to point: one way)"),
    "bandwidth": Metric("B/s", "higher", "bandwidth"),
    "message_rate": Metric("1/s", "higher", "messages per second"),
    "operation_rate": Metric("1/s", "higher", "operations per second"),
    "time_overall": Metric("ns", "lower", "time of communication and computation together"),
    "time_compute": Metric("ns", "neither", "time of the computation alone"),
    "time_pure": Metric("ns", "lower", "time of the communication alone"),
    "time_init": Metric("ns", "lower", "time to start the communication"),
    "time_test": Metric("ns", "lower", "time in MPI_Test"),
    "time_wait": Metric("ns", "lower", "time in MPI_Wait"),
    "overlap": Metric("1", "higher", "share of the communication hidden by computation"),
    "iterations": Metric("1", "neither", "iterations behind the figure"),
    "init_time": Metric("ns", "lower", "time of MPI_Init"),
}

# Heads have blanks inside and between their names: what a name is, metric, statistic, factor.
_NAMES: Final = (
    (r"Min Latency ?\(us\)", "latency", "min", 1e3),
    (r"Max Latency ?\(us\)", "latency", "max", 1e3),
    (r"(?:Avg )?Latency ?\(us\)", "latency", "mean", 1e3),
    (r"P(?P<lat>\d+) Tail Lat\(us\)", "latency", "p", 1e3),
    (r"P(?P<bw>\d+) Tail BW\(MB/s\)", "bandwidth", "p", 1e6),
    (r"Bandwidth \(MB/s\)|MB/s(?:ec)?", "bandwidth", "mean", 1e6),
    (r"Messages/s(?:ec)?", "message_rate", "mean", 1.0),
    (r"Million ops/s", "operation_rate", "mean", 1e6),
    (r"Overall\(us\)", "time_overall", "mean", 1e3),
    (r"Compute\(us\)", "time_compute", "mean", 1e3),
    (r"Coll\. Init\(us\)", "time_init", "mean", 1e3),
    (r"MPI_Test\(us\)", "time_test", "mean", 1e3),
    (r"MPI_Wait\(us\)", "time_wait", "mean", 1e3),
    (r"Pure Comm\.\(us\)", "time_pure", "mean", 1e3),
    (r"Min Comm\.\(us\)", "time_pure", "min", 1e3),
    (r"Max Comm\.\(us\)", "time_pure", "max", 1e3),
    (r"Overlap\(%\)", "overlap", "mean", 0.01),
    (r"Iterations", "iterations", "mean", 1.0),
    (r"Validation", "validation", "", 0.0),
    (r"Size", "size", "", 0.0),
    (r"Operation", "operation", "", 0.0),
)
_COUNTS: Final = frozenset(("size", "iterations"))
_LONGEST_HEAD: Final = 1000
_NAME = re.compile("|".join(f"({pattern})" for pattern, *_ in _NAMES))
_TITLE = re.compile(r"^#\s*OSU (?P<name>\S.*?)(?:(?<!\s)\s+v(?P<version>\d[\w.]*))?$")
_BARE_TITLE = re.compile(  # a page shows "# …" as a heading, without its mark
    r"^OSU (?P<name>(?:MPI|OpenSHMEM|UPC|NCCL|RCCL|XCCL)\S* \S.*?(?:Test|Benchmark))(?:\s+v(?P<version>\d[\w.]*))?$"
)
_COMMENTED = re.compile(r"^[ \t]*#[ \t]*(?:\d+[ \t]+)?\d+[.,]\d\d(?:[ \t]|$)", re.MULTILINE)  # a row behind a "#"
_MARKS = re.compile(r"^#(?:[ \t]*#)+")
_PAIRS = re.compile(r"^#\s*\[ pairs: (\d{1,18}) \](?: \[ window size: (\w+) \])?")
_NOTE = re.compile(r"^#\s*(Datatype|Window creation|Synchronization): (.*?)\.?$")
_BUFFERS = re.compile(r"^#\s*(Send Buffer on .*)$")
_INIT = re.compile(r"^nprocs: \d+, min: (\d{1,18}) ms, max: (\d{1,18}) ms, avg: (\d{1,18}) ms$")
_KEYS: Final = {"Datatype": "datatype", "Window creation": "creation", "Synchronization": "synchronization"}


@dataclass(slots=True, eq=False)
class _Table:
    benchmark: str | None = None
    version: str | None = None
    about: dict[str, Scalar] = field(default_factory=dict)
    columns: tuple[tuple[str, str, float], ...] = ()
    rows: list[tuple[str | None, int | None, str, str, float]] = field(default_factory=list)
    decimals: bool = False  # of the last column: two, as in a row before
    cut: str = ""  # the row that is not whole; rows below it make it one that is not read
    unread: list[str] = field(default_factory=list)
    failed: list[int | None] = field(default_factory=list)
    not_finite: bool = False


TAKEN: Final = Taken(
    program=r"\bosu_\w+",
    tells={"benchmark": "benchmark"},
    not_yet=(
        NotYet("perftest (ib_write_bw)", r"^[^\w\n]*#?bytes +#iterations +(?:BW peak|t_min)"),
        NotYet("nccl-tests", r"\balgbw +busbw\b"),
    ),
)


def recognise(text: str) -> bool:
    """Return whether the text looks like the output of an OSU micro-benchmark."""
    if not texts.mentions(text, "osu ", "# size "):
        return False
    lines = texts.flush_lines(text, _COMMENTED)
    return any(_title(line) or (line.startswith("#") and len(_columns(line)) > 1) for line in lines)


def parse(text: str, context: Mapping[str, Any] | None = None) -> Parsed:  # noqa: ARG001 (part of the contract)
    """Return the figures of every table in the text. Raises ParseError if there is no table."""
    check_lines(text)
    lines = texts.flush_lines(text, _COMMENTED)
    last = lines.pop()
    found: list[_Table] = Parts()
    coming = _Table()
    headed = False  # is the line above a table's head?
    titled = False  # is the last title still without a head that could be read? What follows is not the table's above
    aborted = ""  # the line that says so
    held = ""  # a head that a mail broke inside of a column's name
    for line, whole in [*((line, True) for line in lines), (last, False)]:
        if not line:
            continue
        line = _MARKS.sub("#", line)  # the file that it was kept in comments its heads
        if held:
            line, held = (f"{held} {line}" if _columns(f"{held} {line}") else line), ""
        rest = headed and not line.startswith("#") and _columns(f"# {line}")
        headed = bool(rest)
        if rest:
            found[-1].columns += rest  # a mail broke the head, and will break the rows
        elif match := _title(line):
            coming, titled = _Table(benchmark=match["name"], version=match["version"]), True
        elif columns := _columns(line):
            headed, titled = True, False
            coming.columns = columns
            found.append(coming)
            coming = _Table(coming.benchmark, coming.version, coming.about)
        elif line.startswith("#"):
            _note(coming, line)
            held = line if _NAME.match(line.removeprefix("#").strip()) else ""
        elif match := _INIT.match(line):
            figures = zip(("min", "max", "mean"), match.groups(), strict=True)
            coming.rows = [(None, None, "init_time", statistic, float(v) * 1e6) for statistic, v in figures]
            found.append(coming)
            coming, titled = _Table(), False
        elif found and not line[0].isdigit() and texts.is_abort(line):
            aborted = aborted or line
        elif titled and len(line.split()) > 1 and texts.like_row(line, len(line.split())):
            coming.unread.append(line)  # may be a row, below a title whose head could not be read
            found += [] if coming in found else [coming]
        elif found and not titled:
            _row(found[-1], line, whole)
    if not found:
        raise _nothing(text)
    return Parsed(tables=_tables(found), flags=tuple(_flags(found, aborted)), facts=_facts(found))


def _title(line: str) -> re.Match[str] | None:
    return _TITLE.match(line) or _BARE_TITLE.match(line)


def _nothing(text: str) -> ParseError:
    if recognise(text):
        return ParseError("OSU's output", "a title without a table", "was it stopped?")
    seen = texts.first_line(text)
    return ParseError("OSU's output", f"looked for `# OSU … Test` and `# Size …`; saw {seen}")


def _columns(line: str) -> tuple[tuple[str, str, float], ...]:
    """Return (metric, statistic, factor) for each column of `# Size    Avg Latency(us)   Min Latency(us)`.

    Heads of barriers have no `#` (osu_ibarrier), and a paste may remove the `#`.
    """
    if len(line) > _LONGEST_HEAD:
        return ()
    columns: list[tuple[str, str, float]] = []
    rest = " ".join(line.removeprefix("#").split())
    while rest:
        match = _NAME.match(rest)
        if match is None:
            if columns and rest[0] in "<#(/*!-=←":
                break  # a note behind the head
            return ()
        _, metric, statistic, factor = next(name for name in _NAMES if re.fullmatch(name[0], match[0]))
        percent = match["lat"] or match["bw"]
        columns.append((metric, f"p{percent}" if percent else statistic, factor))
        rest = rest[match.end() :].strip()
    bare = not line.startswith("#") and not any("(" in word or "/s" in word for word in line.split())
    return () if bare else tuple(columns)


def _note(table: _Table, line: str) -> None:
    if match := _PAIRS.match(line):
        table.about["pairs"] = int(match[1])
        table.about["window"] = match[2]
    elif match := _NOTE.match(line):
        table.about[_KEYS[match[1]]] = match[2]
    elif match := _BUFFERS.match(line):
        table.about["buffers"] = match[1]


def _row(table: _Table, line: str, whole: bool) -> None:
    columns = table.columns
    words = line.split()
    if whole and texts.is_rest(words, len(columns) - len(table.cut.split())):
        line, table.cut = f"{table.cut} {line}", ""
        words = line.split()
    unlike = len(words) > len(columns) or (texts.number(words[0]) is None and columns[0][0] != "operation")
    if unlike and (found := texts.row(line, len(columns))):
        words = found[0]
    first = texts.number(words[0])
    operation = None
    if first is None:  # `shmem_int_fadd   2.3  0.4`, or a line of somebody else's
        if columns[:1] != (("operation", "", 0.0),):
            return
        operation, words, columns = words[0], words[1:], columns[1:]
    if len(words) > len(columns):
        if texts.like_row(line, len(columns)):
            table.unread.append(line)
        return
    size: int | None = None
    figures: list[tuple[str, str, float]] = []
    for (metric, statistic, factor), word in zip(columns, words, strict=False):
        if metric == "validation":
            if word.lower().startswith("fail"):
                table.failed.append(size)
            continue
        value = texts.number(word)
        if value is None or (metric in _COUNTS and not (word.isdecimal() and len(word) < 19)):
            if texts.like_row(line, len(columns)):
                table.unread.append(line)
            return
        if metric == "size":
            size = int(value)
        elif value - value != 0:
            table.not_finite = True
        elif value or metric == "overlap":
            figures.append((metric, statistic, value * factor))
    if table.cut:  # rows go on below what is too short to be one
        if texts.like_row(table.cut, len(columns)):
            table.unread.append(table.cut)
        table.cut = ""
    if len(words) < len(columns):
        table.cut = line
        return
    few = re.fullmatch(r"\d+(?:[.,]\d?)?", words[-1]) is not None
    if few and (not whole or table.decimals or not (table.rows or columns[-1][0] in _COUNTS)):
        table.cut = line
        if not figures or len(words) == 1:
            return
        figures.pop()
    table.decimals = table.decimals or words[-1][-3:-2] in (".", ",")
    table.rows += [(operation, size, *figure) for figure in figures]


def _tables(tables: list[_Table]) -> dict[str, Table]:
    rows = [
        ((number, table.benchmark, operation, size, statistic), metric, value)
        for number, table in enumerate(tables)
        for operation, size, metric, statistic, value in table.rows
    ]
    keys = ("pairs", "window", "datatype", "creation", "synchronization", "buffers")
    about = [
        {"table": number, "benchmark": table.benchmark, "version": table.version, **table.about}
        for number, table in enumerate(tables)
    ]
    return {
        "measurements": measurements(LABELS, METRICS, rows),
        "benchmarks": table_of(("table", "benchmark", "version", *keys), about),
    }


def _flags(tables: list[_Table], aborted: str) -> Iterator[Flag]:
    if aborted:
        yield Flag("aborted", f"the run was aborted: {aborted}")
    for table in tables:
        what = table.benchmark or "a table"
        if table.failed:
            sizes = ", ".join(str(size) for size in table.failed)
            yield Flag("validation_failed", f"{what}: wrong data at {sizes} bytes")
        if table.cut:
            yield Flag("truncated", f"the last row of {what} is cut off")
        if table.not_finite:
            yield Flag("not_finite", f"{what}: inf or nan, left out")
        if table.unread:
            yield unread(table.unread, what)
        if not table.rows:
            yield Flag("empty_table", f"{what}: no row")


def _facts(tables: list[_Table]) -> dict[str, Scalar]:
    versions = {table.version for table in tables}
    version = {"tool_version": versions.pop()} if len(versions) == 1 and None not in versions else {}
    return {"program": "OSU micro-benchmarks", **version}
