"""Parse Intel MPI Benchmarks, 3.0 to 2021.x: MPI1, EXT, IO, RMA, NBC, P2P and MT parts, also several runs in one text.

tables["measurements"] has one row per number, with these labels:

    table         int   which table of the text, from 0
    benchmark     str   "PingPong", "Multi-Sendrecv" …, as printed
    nprocs        int   processes of the benchmark; of Multi-*, of one group
    mode          str   "AGGREGATE" | "NON-AGGREGATE" (RMA, EXT, IO), else none
    group         int   of -multi 1; none: the figures are over all groups
    message_size  int   bytes; none for Barrier
    repetitions   int   iterations inside the run behind the figure: 1 is weak

The time of PingPong is half the round trip. As in IMB, the bandwidth of Sendrecv counts the bytes two times, that of
Exchange four times. A value that is printed as 0.00, because less than a digit, gives no row. The bandwidth of no bytes
gives no row.

"Mbytes/sec" is 2**20 B/s before IMB 2018 and 10**6 B/s since 2018. Without a version (a table without a head, 2017),
size / time / figure of the rows with enough digits is 1.0486 or 1.0000. If the rows do not decide, the figure remains
`mbytes_per_sec` with the flag `megabyte_unclear`. Flag `megabyte` means 2**20. The fact `megabyte` has the value.

Further tables exist if they have rows:

    benchmarks  table, run, benchmark, nprocs, threads, waiting (processes in MPI_Barrier), groups, mode, ranks
    pins        run, rank, pid, host, cpus (as I_MPI_DEBUG=4 prints them)
    tail        table, message_size, index, value (ns): the single times that -show_tail prints below a row

Facts hold if all runs of the text agree: program, tool_version, part, mpi (the standard's version), command, machine,
release, runs, megabyte, complete (the last line is printed, absent if that version or part prints no last line).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Final

from parsers import text as texts
from parsers._bounds import Parts, check_lines
from parsers._runs import agreed, asked_for, typed_number
from parsers.errors import ParseError
from parsers.measurement import Flag, Metric, Parsed, Scalar, Table, Taken, measurements, unread, whole
from parsers.units import size_text

NAME: Final = "Intel MPI Benchmarks"
VERSION: Final = 4
PRINTED: Final[Mapping[str, float]] = {
    "time": 10.0,
    "time_max": 10.0,
    "bandwidth": 1e4,
}  # "0.19" µs, "42.11" MB/s
LABELS: Final = ("table", "benchmark", "nprocs", "mode", "group", "message_size", "repetitions")
_TABLE: Final = (  # column without [usec], metric, factor, Metric
    ("t", "time", 1e3, Metric("ns", "lower", "time per message (PingPong: half the round trip)")),
    ("t_min", "time_min", 1e3, Metric("ns", "lower", "time, fastest process")),
    ("t_max", "time_max", 1e3, Metric("ns", "lower", "time, slowest process")),
    ("t_avg", "time_avg", 1e3, Metric("ns", "lower", "time, mean over the processes")),
    ("t_ovrl", "time_overlap", 1e3, Metric("ns", "lower", "time of communication and computation together")),
    ("t_pure", "time_pure", 1e3, Metric("ns", "lower", "time of the communication alone")),
    ("t_CPU", "time_cpu", 1e3, Metric("ns", "neither", "time of the computation alone")),
    (
        "overlap[%]",
        "overlap",
        0.01,
        Metric("1", "higher", "share of the communication hidden by computation"),
    ),
    ("Mbytes/sec", "bandwidth", 1.0, Metric("B/s", "higher", "bandwidth")),  # times the megabyte of the run
    ("", "mbytes_per_sec", 1.0, Metric("Mbytes/sec", "higher", "bandwidth, megabyte unknown")),
    ("Msg/sec", "message_rate", 1.0, Metric("1/s", "higher", "messages per second")),
    ("defects", "defects", 1.0, Metric("1", "lower", "wrong results (IMB built with -DCHECK)")),
)
METRICS: Final = {name: metric for _, name, _, metric in _TABLE}
_COLUMNS: Final = {column: (name, factor) for column, name, factor, _ in _TABLE if column}
_COUNTS: Final = frozenset(("Group", "#bytes", "#repetitions"))  # whole numbers, and labels
_MAY_BE_ZERO: Final = frozenset(("overlap", "defects"))
_MIB: Final = 2**20
_MB: Final = 10**6
_COUNTED: Final = (1, 2, 4)  # how often a benchmark counts its bytes

_TITLE = re.compile(
    r"^#\s*(?:Intel ?\(R\)|PALLAS) MPI Benchmarks?(?: Suite)? V?"
    r"(?P<version>\d[\w.]*(?: [Uu]pdate \d+)?)(?:,\s*(?P<part>[\w-]+) part)?"
)
_RECOGNISE = re.compile(  # a title as printed: most texts need no cleaning to be known
    r"^# +Intel ?\(R\) MPI Benchmarks?(?: Suite)? V?\d", re.MULTILINE
)
_HEAD = re.compile(r"^# (Date|Machine|Release|MPI Version)\s*: (.*)$")
_COMMAND = re.compile(r"^# Calling sequence was:\s*$")
_LIST = re.compile(r"Intel ?\(R\) MPI Benchmarks \d")  # of IMB -list
_BENCHMARK = re.compile(r"^#\s*Benchmarking (\S+)")
_PROCESSES = re.compile(r"^#\s*#processes = (\d{1,18})\b(?: \(threads: (\d{1,18})\))?(; rank order)?")
_WAITING = re.compile(r"^#\s*\(\s*(\d{1,18}) additional processes waiting")
_GROUPS = re.compile(r"^#\s*\(\s*(\d{1,18}) groups? of (\d{1,18}) processes")
_RANKS = re.compile(r"^#(?:\s*+Group\s+(\d+):)?((?:\s++\d++)++)\s*$")
_MODE = re.compile(r"^#\s*MODE: (\S+)")
_COLUMNS_LINE = re.compile(r"^\s*(?:Group\s+)?#(?:bytes|repetitions|rep\.s)\b")
_REFUSED = re.compile(r"^\s*(\d+) (out-of-mem\.|time-out\.|int-overflow);?\s*(.*)$")
_INVALID_SIZE = re.compile(r"^#\s*!! Benchmark (\S+)(?: is)? invalid for (\d{1,18}) processes")
_INVALID_NAME = re.compile(r"^(?:# )?Invalid benchmark name (\S+)")
_INVALID_NAMES = re.compile(r"^# Attention, invalid benchmark name\(s\):")  # 3.x, 4.x: one a line follows
_WRONG_DATA = re.compile(r"^\d{1,9}: Error \S|^Process \d{1,9}: Got invalid buffer")  # of -DCHECK
_END = re.compile(r"^# All processes entering MPI_Finalize")
_PIN = re.compile(r"^(?:\[\d+\] )?MPI startup\(\): (\d{1,18})\s+(\d{1,18})\s+(\S+)\s+(\{[\d,-]*\}|\+?[\d,-]+)\s*$")
_COMMENTED = re.compile(
    r"^[ \t]*#[ \t]*(?:\[\d+\][ \t]*)?(?:\d+[ \t]+){1,3}\d+[.,]\d\d\b", re.MULTILINE
)  # a row behind a "#"
_TAIL = re.compile(r"^\s*\[\s*((?:[\d.]+,\s*)*[\d.]+),?\s*\]$")


def recognise(text: str) -> bool:
    """Return whether the text looks like IMB's output: complete, truncated or a single table."""
    words = ("mpi benchmark", "benchmarking", "list of benchmarks", "mpi startup()", "#repetitions")
    if not texts.mentions(text, *words):
        return False
    if _RECOGNISE.search(text):
        return True
    rows = texts.flush_lines(text, _COMMENTED)
    if any(_TITLE.match(row) or row.startswith("# List of Benchmarks to run") or _LIST.match(row) for row in rows):
        return True
    if any(_BENCHMARK.match(row) for row in rows):
        return any(_columns(row) or _INVALID_SIZE.match(row) for row in rows)
    if any({"#bytes", "#repetitions"} <= set(_columns(row)) for row in rows):  # a table without anything above it
        return True
    printed = [row for row in rows if row.strip()]
    return bool(printed) and re.fullmatch(r"#-{40,}", printed[-1]) is not None and "MPI startup()" in text


def parse(text: str, context: Mapping[str, Any] | None = None) -> Parsed:
    """Return the figures of every table in the text, or of the run that `text_run` in the context selects.

    Raises ParseError if there is no table.
    """
    check_lines(text)
    reader = _Reader()
    # A last line without its end may be cut off in the middle of a number.
    *lines, last = texts.flush_lines(text, _COMMENTED)
    for line in lines:
        reader.take(line)
    if last.strip():
        reader.take(last, whole=False)
    if reader.tables:
        reader.tables[-1].drop_cut_rate()
    if number := asked_for(context or {}):
        reader.runs = reader.runs[number - 1 : number]
        reader.tables = [table for run in reader.runs for table in run.tables]
    if not reader.tables:
        raise _nothing(text, reader)
    for run in reader.runs:
        run.megabyte = _megabyte(run)
    rows = [row for number, table in enumerate(reader.tables) for row in table.measurements(number)]
    return Parsed(
        tables={"measurements": measurements(LABELS, METRICS, rows), **_more(reader)},
        flags=tuple(_flags(reader)),
        facts=_facts(reader),
    )


def _nothing(text: str, reader: _Reader) -> ParseError:
    if reader.invalid_sizes:
        name, processes = reader.invalid_sizes[0]
        alone = ": its processes did not find each other, as under the mpirun of another MPI" * (processes == 1)
        return ParseError("IMB's output", f"no table: benchmark {name} is invalid for {processes} processes{alone}")
    if any(run.version for run in reader.runs):
        return ParseError("IMB's output", "the head of a run without a table", "was it stopped, or is it IMB -list?")
    if recognise(text):
        return ParseError("IMB's output", "it ends before the first table", "was it stopped?")
    looked = "looked for `# Benchmarking NAME` and a table with #bytes"
    return ParseError("IMB's output", f"{looked}; saw {texts.first_line(text)}")


@dataclass(slots=True, eq=False)
class _Run:
    """One start of IMB, from the title."""

    number: int
    version: str | None = None
    part: str | None = None
    head: dict[str, str] = field(default_factory=dict)
    complete: bool = False
    aborted: str = ""  # the line that says so
    wrong_data: str = ""
    megabyte: int | None = None
    tables: list[_Table] = field(default_factory=list)

    def is_complete(self) -> bool | None:
        """Return whether the last line is printed. None if this IMB prints no last line, or the version is unknown."""
        return self.complete or (False if self.prints_end() else None)

    def prints_end(self) -> bool | None:
        """Return whether this IMB prints a last line. None if unknown. 3.x and MT print no last line."""
        if self.version is None or self.part == "MT":
            return None
        return _year(self.version) >= 4.1


@dataclass(slots=True, eq=False)
class _Table:
    run: _Run
    benchmark: str | None = None
    nprocs: int | None = None
    threads: int | None = None
    waiting: int | None = None
    groups: int | None = None
    mode: str | None = None
    ranks: str | None = None
    columns: tuple[str, ...] = ()
    rows: list[dict[str, float]] = field(default_factory=list)
    tails: list[tuple[int | None, int, float]] = field(default_factory=list)
    refused: dict[str, list[tuple[int, str]]] = field(default_factory=dict)  # word → sizes, and what IMB said
    decimals: bool = False  # of the last column: two, as in a row before
    cut: str = ""  # the row that is not whole; rows below it make it one that is not read
    unread: list[str] = field(default_factory=list)

    def first(self) -> bool:
        """Return whether the table has no row yet to show the digits of a last column that IMB prints with two."""
        return not self.rows and self.columns[-1] not in ("Msg/sec", "defects")

    def drop_cut_rate(self) -> None:
        """Remove the last rate of the text if digits may be missing and no other bandwidth confirms the rate."""
        row = self.rows[-1] if self.rows else {}
        size, rate, bandwidth = (row.get(name, 0.0) for name in ("#bytes", "Msg/sec", "Mbytes/sec"))
        if rate and self.columns[-1] == "Msg/sec" and (not size or rate < bandwidth * _MB / size / 2):
            del row["Msg/sec"]
            self.cut = "rate"

    def measurements(self, number: int) -> Iterator[tuple[tuple[Scalar, ...], str, float]]:
        for row in self.rows:
            size = row.get("#bytes")
            group, repetitions = _int(row.get("Group")), _int(row.get("#repetitions"))
            labels = (number, self.benchmark, self.nprocs, self.mode, group, _int(size), repetitions)
            for column, value in row.items():
                metric, factor = _COLUMNS.get(column, ("", 1.0))
                if not metric or (value == 0 and metric not in _MAY_BE_ZERO):
                    continue
                if metric == "bandwidth":
                    if size == 0:
                        continue
                    if self.run.megabyte is None:
                        metric = "mbytes_per_sec"
                    factor = self.run.megabyte or 1
                yield labels, metric, value * factor


class _Reader:
    """A line reader."""

    def __init__(self) -> None:
        self.runs: list[_Run] = Parts([_Run(0)])
        self.tables: list[_Table] = Parts()
        self.next = _Table(self.runs[-1])  # what the comment lines say of the table that comes
        self.open = False  # are rows of tables[-1] expected?
        self.headless: list[_Table] = Parts()  # with rows and no head that could be read
        self.command = False
        self.listing = False  # names that IMB does not know follow
        self.pins: list[tuple[Scalar, ...]] = []
        self.invalid_names: list[str] = []
        self.invalid_sizes: list[tuple[str, int]] = []
        self.unknown: set[str] = set()
        self.not_finite = False

    @property
    def run(self) -> _Run:
        return self.runs[-1]

    def take(self, line: str, *, whole: bool = True) -> None:
        line = line.strip()
        if not line:
            return
        if columns := _columns(line):
            if whole:
                self.next.columns = columns
                self.unknown |= set(columns) - _COUNTS - _COLUMNS.keys()
                self.tables.append(self.next)
                self.run.tables.append(self.next)
                self.next = _Table(self.run)
                self.open = True
        elif match := _PIN.match(line):
            self.pins.append((self.run.number, int(match[1]), int(match[2]), match[3], match[4].strip("{}")))
        elif match := _INVALID_NAME.match(line):
            self.invalid_names.append(match[1])
        elif line.startswith("#"):
            self._comment(line)
        elif self.tables and _WRONG_DATA.match(line):
            self.run.wrong_data = self.run.wrong_data or line
        elif self.tables and not line[0].isdigit() and texts.is_abort(line):
            self.run.aborted = self.run.aborted or line
        elif self.open:
            table = self.tables[-1]
            names = tuple(word.removesuffix("[usec]") for word in line.split())
            if not table.rows and not table.cut and all(name in _COLUMNS for name in names):
                table.columns += names  # a mail broke the head, and will break the rows
            else:
                if whole and texts.is_rest(line.split(), len(table.columns) - len(table.cut.split())):
                    line, table.cut = f"{table.cut} {line}", ""
                self._row(table, line, whole)
        elif self.next.benchmark and texts.like_row(line, len(line.split())):
            if not self.next.unread:
                self.headless.append(self.next)
            self.next.unread.append(line)

    def _comment(self, line: str) -> None:
        table = self.next
        if self.listing and (match := re.fullmatch(r"# (\S+)\s*", line)):
            self.invalid_names.append(match[1])
            return
        self.listing = _INVALID_NAMES.match(line) is not None
        if self.command and line.strip("# "):
            self.run.head["command"] = line.strip("# ")
            self.command = False
        elif match := _TITLE.match(line):
            if self.run.version is not None or self.tables:
                self.runs.append(_Run(len(self.runs)))
            self.run.version, self.run.part = match["version"], match["part"]
            self.next = _Table(self.run)
            self.open = False
        elif match := _HEAD.match(line):
            self.run.head[match[1]] = match[2].strip()
        elif _COMMAND.match(line):
            self.command = True
        elif match := _BENCHMARK.match(line):
            self.next = _Table(self.run, benchmark=match[1])
            self.open = False
        elif match := _PROCESSES.match(line):
            table.nprocs = int(match[1])
            table.threads = int(match[2]) if match[2] else None
        elif match := _WAITING.match(line):
            table.waiting = int(match[1])
        elif match := _GROUPS.match(line):
            table.groups, table.nprocs = int(match[1]), int(match[2])
        elif match := _MODE.match(line):
            table.mode = match[1]
        elif match := _INVALID_SIZE.match(line):
            self.invalid_sizes.append((match[1], int(match[2])))
        elif _END.match(line):
            self.run.complete = True
            self.open = False
        elif table.benchmark and (match := _RANKS.match(line)):
            ranks = ",".join(match[2].split())
            table.ranks = f"{table.ranks};{ranks}" if table.ranks else ranks

    def _row(self, table: _Table, line: str, whole: bool) -> None:
        if match := _REFUSED.match(line):
            if len(match[1]) < 19:
                table.refused.setdefault(match[2], []).append((int(match[1]), match[3]))
            return
        if (match := _TAIL.match(line)) and table.rows:
            size = _int(table.rows[-1].get("#bytes"))
            times = (texts.number(word) for word in match[1].split(","))
            table.tails += [(size, i, time * 1e3) for i, time in enumerate(times) if time is not None]
            return
        words = line.split()
        if len(words) > len(table.columns) or not words[0].isdecimal():
            found = texts.row(line, len(table.columns))
            words = found[0] if found else words
        row = _numbers(table.columns, words)
        if row is None:  # a launcher's or a scheduler's line between the rows
            if texts.like_row(line, len(table.columns)):
                table.unread.append(line)
            return
        if table.cut:  # rows go on below what is too short to be one
            if texts.like_row(table.cut, len(table.columns)):
                table.unread.append(table.cut)
            table.cut = ""
        if len(row) < len(table.columns):
            table.cut = line
            return
        two = words[-1][-3:-2] in (".", ",")
        few = re.fullmatch(r"\d+(?:[.,]\d?)?", words[-1]) is not None
        if few and (not whole or table.decimals or table.first()):
            # IMB prints two decimals; of an integer one cannot tell whether it is whole.
            table.cut = line
            row.pop(table.columns[-1])
        table.decimals = table.decimals or two
        if any(value - value != 0 for value in row.values()):
            self.not_finite = True
        table.rows.append(row)


def _numbers(columns: Sequence[str], words: Sequence[str]) -> dict[str, float] | None:
    """Return the numbers of a row by column, fewer for a short row. None for other lines."""
    if len(words) > len(columns):
        return None
    row: dict[str, float] = {}
    for column, word in zip(columns, words, strict=False):
        value = texts.number(word)
        if value is None or (column in _COUNTS and not (word.isdecimal() and len(word) < 19)):
            return None
        row[column] = value
    return row


def _columns(line: str) -> tuple[str, ...]:
    """Return the columns of a table head, else None."""
    if not _COLUMNS_LINE.match(line):
        return ()
    # a note may follow
    words = takewhile(lambda word: word not in ("#", "//") and word[0] not in "<(*!-=←", line.split())
    columns = tuple("#repetitions" if word == "#rep.s" else word.removesuffix("[usec]") for word in words)
    return columns if len(set(columns)) == len(columns) > 1 else ()


def _year(version: str) -> float:
    """Return 3.0 for "3.0", 2019.0 for "2019 Update 6", 2021.11 for "2021.11"."""
    found = re.match(r"\d+(?:\.\d+)?", version)
    return float(found[0]) if found else 0.0


def _megabyte(run: _Run) -> int | None:
    if any(table.benchmark and table.benchmark.endswith("MT") for table in run.tables):
        return _MB  # the MT part came in 2019
    year = _year(run.version) if run.version else None
    if year is not None and not 2017 <= year < 2018:
        return _MIB if year < 2017 else _MB
    return _measured_megabyte(run.tables)


def _measured_megabyte(tables: Sequence[_Table]) -> int | None:
    """Return the megabyte from the bytes per second and the printed figure. All conclusive rows must agree."""
    votes = {vote for table in tables for row in table.rows if (vote := _vote(row)) is not None}
    return votes.pop() if len(votes) == 1 else None


def _vote(row: Mapping[str, float]) -> int | None:
    """Return the only megabyte that fits a row with rounded figures, else None.

    The candidates differ by 4.9 %, so 0.83 µs (0.6 %) is conclusive and 0.09 µs (5.6 %) is not. A benchmark may count
    bytes one, two or four times.
    """
    size, printed = row.get("#bytes", 0.0), row.get("Mbytes/sec", 0.0)
    if "t_avg" in row and "t_max" not in row:
        return None  # MT's UniBandMT: bandwidth is from the longest time, the rate from the mean
    if rate := row.get("Msg/sec"):
        per_second, error = size * rate, 0.5 / rate
    elif time := row.get("t") or row.get("t_max"):
        per_second, error = size / time * 1e6, 0.005 / time
    else:
        return None
    if not (size and printed) or per_second - per_second != 0 or printed - printed != 0:
        return None
    error += 0.005 / printed + 0.003  # 0.3 %: what IMB's own rounding on the way was seen to make
    fits = {
        megabyte
        for megabyte in (_MIB, _MB)
        for counted in _COUNTED
        if abs(per_second * counted / printed / megabyte - 1) < error
    }
    return fits.pop() if len(fits) == 1 else None


def _more(reader: _Reader) -> dict[str, Table]:
    numbered = list(enumerate(reader.tables))
    tables = {
        "benchmarks": Table(
            ("table", "run", "benchmark", "nprocs", "threads", "waiting", "groups", "mode", "ranks"),
            tuple(
                (n, t.run.number, t.benchmark, t.nprocs, t.threads, t.waiting, t.groups, t.mode, t.ranks)
                for n, t in numbered
            ),
        ),
        "pins": Table(("run", "rank", "pid", "host", "cpus"), tuple(reader.pins)),
        "tail": Table(
            ("table", "message_size", "index", "value"),
            tuple((n, *tail) for n, table in numbered for tail in table.tails),
        ),
    }
    return {name: table for name, table in tables.items() if table.rows}


def _flags(reader: _Reader) -> Iterator[Flag]:
    if names := ", ".join(reader.invalid_names):
        yield Flag("invalid_benchmark_name", f"IMB does not know {names}; it ran what it knows with its defaults")
    for name, processes in dict.fromkeys(reader.invalid_sizes):
        yield Flag("invalid_nprocs", f"benchmark {name} is invalid for {processes} processes")
    for table in (*reader.tables, *(table for table in reader.headless if not table.columns)):
        what = f"{table.benchmark or 'a table'} with {table.nprocs or '?'} processes"
        for reason, sizes in table.refused.items():
            flag = reason.rstrip(".").replace("-", "_")
            yield Flag(flag, f"{what}: {_not_run(flag, sizes)}")
        if table.cut:
            yield Flag("truncated", f"the last row of {what} is cut off")
        if table.unread:
            yield unread(table.unread, what)
        if not table.rows and not table.refused:
            yield Flag("empty_table", f"{what}: no row")
    for run in reader.runs:
        if run.tables and run.wrong_data:
            yield Flag("validation_failed", f"IMB received wrong data: {run.wrong_data}")
        if run.tables and run.aborted:
            yield Flag("aborted", f"the run was aborted: {run.aborted}")
        elif run.tables and run.is_complete() is False:
            yield Flag("incomplete", "the last line of IMB is missing: it was stopped, or the text is cut")
    if names := ", ".join(sorted(reader.unknown)):
        yield Flag("unknown_column", f"columns that are not read: {names}")
    if reader.not_finite:
        yield Flag("not_finite", "IMB printed inf or nan; those figures are left out")
    yield from _megabyte_flags(reader)


def _not_run(why: str, refused: Sequence[tuple[int, str]]) -> str:
    """Return the sizes that IMB refused, the reason, and the option of an experiment that changes the limit."""
    first, several = size_text(refused[0][0]), len(refused) > 1
    which = f"{len(refused)} sizes from {first} on were" if several else f"{first} was"
    if why == "time_out":  # which ends the table
        return f"{first} and what is larger was not run: the time for all sizes was over; `time:` with more seconds a size (-time) allows it"
    if why == "int_overflow":
        return f"{which} not run: processes × size is more than IMB can count; fewer processes (`np:`), or sizes up to less (`msglog:`)"
    needed = [re.search(r"needed X= *(\d{1,9}\.\d{1,9})", text) for _, text in refused]
    most = max((float(match[1]) for match in needed if match), default=0.0)
    if not most:
        return f"{which} not run: more memory than -mem allows; `mem:` with more GB a process allows it"
    size = f"{'up to ' * several}{most:.3f} GB of buffers a process are more than -mem allows"
    return f"{which} not run: {size}; `mem: {math.ceil(most * 100 + 0.05) / 100:.2f}` (GB) allows it"


def _megabyte_flags(reader: _Reader) -> Iterator[Flag]:
    for run in reader.runs:
        tables = [table for table in run.tables if "Mbytes/sec" in table.columns and table.rows]
        measured = _measured_megabyte(tables)
        if tables and run.megabyte is None:
            what = "no version, and no row that tells whether Mbytes/sec means 2^20 or 10^6: it stays Mbytes/sec"
            yield Flag("megabyte_unclear", what)
        elif tables and run.megabyte == _MIB:
            how = f"IMB {run.version}" if run.version else "size / time of its rows"
            yield Flag("megabyte", f"Mbytes/sec means 2^20 bytes here ({how})")
        if run.megabyte is not None and measured not in (None, run.megabyte):
            what = f"the version says that Mbytes/sec is {run.megabyte} bytes, size / time says {measured}"
            yield Flag("megabyte_contradicts", what)


def _facts(reader: _Reader) -> dict[str, Scalar]:
    runs = [run for run in reader.runs if run.tables or run.version]
    heads = {"mpi": "MPI Version", "machine": "Machine", "release": "Release", "command": "command"}
    about: list[dict[str, Scalar]] = []
    for run in runs:
        row: dict[str, Scalar] = {"tool_version": run.version, "part": run.part, "program": _program(run)}
        row |= {fact: run.head.get(head) for fact, head in heads.items()}
        about.append(row | {"megabyte": run.megabyte, "complete": run.is_complete()})
    facts: dict[str, Scalar] = {"runs": len(runs), **agreed(about, list(about[0]) if about else ())}
    return facts | ({"complete": False} if any(row["complete"] is False for row in about) else {})


def _program(run: _Run) -> str | None:
    part = (run.part or "").removeprefix("MPI-").removeprefix("IMB-")
    return f"IMB-{ {'1': 'MPI1', '2': 'EXT'}.get(part, part) }" if part else None


def _int(value: float | None) -> int | None:
    return None if value is None else int(value)


def _runs(parsed: Parsed) -> int:
    """Return the number of runs in a text. One run prints many tables, and only a repeated table means another run."""
    heads = {row.get("run") for row in parsed.tables["benchmarks"].records()}
    rows = [
        tuple((k, v) for k, v in row.items() if k not in ("table", "value", "repetitions"))
        for row in parsed.measurements.records()
    ]
    return max(len(heads), *(n for _, n in Counter(rows).most_common(1)), 1)


def _parts(parsed: Parsed) -> list[dict[str, int]]:
    """Return the context of each run with tables, because each such run is a cell."""
    runs = dict.fromkeys(row["run"] for row in parsed.tables["benchmarks"].records())
    return [{"text_run": (whole(run) or 0) + 1} for run in runs] if len(runs) > 1 else [{}]


TAKEN: Final = Taken(
    begins=(r"^[ \t]*#-+\s*\n[ \t]*#\s+Intel[^\n]*MPI Benchmark", r"^[ \t]*#-+\s*\n[ \t]*# Benchmarking "),
    program=r"\bIMB-\w+",
    tells={"benchmark": "benchmark", "np": "nprocs"},
    typed=typed_number("nprocs", r"\s-(?:np?|-ntasks[= ])\s*(\d{1,6})\b"),
    runs=_runs,
    parts=_parts,
    part_name=lambda parsed: str(parsed.facts.get("program") or "a run"),
)
