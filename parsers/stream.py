"""STREAM: C 5.8 to 5.10, Fortran 5.6, HPCC's embedded copy, variants with its table, and the kernel `pinsweep stream`.

`measurements` has one row per figure:

    run     int   from 1: a text may hold several runs (banner, table head or repeated kernel begins one)
    kernel  str   copy | scale | add | triad, and whatever else a variant's table has, in lower case
    metric  str   bandwidth           B/s  best rate; MB is 10**6 and GB 10**9 bytes, as the table's head says.
                                           It counts the bytes that the source asks for: an ordinary store also
                                           reads the line it writes, which is not counted
                  time_avg, time_min, time_max, time_rms   ns  of the passes, without the first (Fortran: first and last)
                  bandwidth_least, bandwidth_mean, bandwidth_most   B/s  HPCC: over all processes

The table `runs` has one row per run: what its head says, and `validation`: "passed", "failed" or missing, where the
text does not have that line. A fact is a column of `runs` on which all runs agree. STREAM exits with status 0
also where its validation fails.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from parsers._bounds import Parts, check_lines
from parsers._runs import agreed, asked_for, collected, part_name, parts
from parsers.errors import ParseError
from parsers.measurement import Metric, NotYet, Parsed, Scalar, Table, Taken, measurements
from parsers.text import clean, first_line, having, is_captured, mentions, number, scaled, split_ranks
from parsers.text import row as row_of
from parsers.units import to_base

NAME: Final = "STREAM"
VERSION: Final = 3
PRINTED: Final[Mapping[str, float]] = {"bandwidth": 1e5}  # "Triad:  13512.4", MB/s

LABELS: Final = ("run", "kernel")

METRICS: Final[Mapping[str, Metric]] = {
    "bandwidth": Metric("B/s", "higher", "best bandwidth"),
    "bandwidth_least": Metric("B/s", "higher", "bandwidth of the slowest process"),
    "bandwidth_mean": Metric("B/s", "higher", "mean bandwidth of the processes"),
    "bandwidth_most": Metric("B/s", "higher", "bandwidth of the fastest process"),
    "time_avg": Metric("ns", "lower", "mean time of a pass"),
    "time_min": Metric("ns", "lower", "shortest time of a pass"),
    "time_max": Metric("ns", "lower", "longest time of a pass"),
    "time_rms": Metric("ns", "lower", "root mean square of the passes' times"),  # up to 4.0
}

KERNELS: Final = ("copy", "scale", "add", "triad")

_I = re.IGNORECASE
_BANNER = re.compile(r"^\W*(STREAM\w*) version \$ ?Revision: ?([\w.]+)", _I)
_OUR_BANNER = re.compile(r"^\W*pinsweep stream (\d[\w.]*)", _I)
_FORTRAN_HEAD = re.compile(r"^\W*Double precision appears to have", _I)
_HPCC_BANNER = re.compile(r"HPC Challenge Benchmark version (\d[\w.]*)", _I)
_HPCC_SETTING = re.compile(r"^\W*STREAM_(Threads|VectorSize)=(\d{1,18})\s*$")
_HPCC_SECTION = re.compile(r"^\W*Begin of ((?:Star|Single)STREAM) section", _I)
_HPCC_RANKS = re.compile(
    r"^\W*(Minimum|Average|Maximum) (Copy|Scale|Add|Triad) ([MG]B)/s +(\S+)(?:\s+[^\d\s].*)?\s*$", _I
)
_HPCC_SINGLE = re.compile(
    r"^\W*Single STREAM (Copy|Scale|Add|Triad) ([MG]B)/s +(\S+)(?:\s+[^\d\s].*)?\s*$", _I
)
_HPCC_SUMMARY = re.compile(r"^\W*((?:Star|Single)STREAM)_(Copy|Scale|Add|Triad)=(\S+)(?:\s+[^\d\s].*)?\s*$")
_HEAD = re.compile(r"^\W*Function\s+(?:Best\s+)?Rate\s*+\(?\s*+([kMGT]i?B)/s(?:ec)?\)?(.*)$", _I)
_COLUMN = re.compile(
    r"(Avg|Min|Max|RMS)\s+time(?:\s*\(s(?:ec)?\))?|\S+(?: (?!(?:Avg|Min|Max|RMS)\b)\S+)*", _I
)
_ROW = re.compile(
    r"^[\s>*|]*+([A-Za-z][\w-]*+)(?:\s*+(:))?\s++(\S.*)$"
)  # blanks at its end are no word: none is looked for
_RULE = re.compile(r"^\s*[-=_*]{5,}\s*$")
_MAY_SAY = having(
    *(
        "stream",
        "hpc challenge",
        "double precision",
        "function",
        "validat",
        "printing one",
        "bytes per",
        "size",
        "offset",
    ),
    *("times", "number of threads", "granularity", "clock ticks", "minimum", "average", "maximum"),
    *("# cpus", "# stores", "# pages", "[-=_*]{5}"),
)
_VALID = re.compile(r"^\W*Solution Validates", _I)
_INVALID = re.compile(r"^\W*Failed Validation on array (\w+)", _I)
_ACTIVE = re.compile(r"^\W*Printing one line per active thread", _I)
_FACTS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("bytes_per_element", re.compile(r"(?:This system uses|Assuming) +(\d{1,18}) bytes per", _I)),
    (
        "array_size",
        re.compile(r"^\W*(?:Total Aggregate )?Array size *= *(\d{1,3}(?:,\d{3})+\b|\d{1,18}\b(?!,\d))", _I),
    ),
    ("offset", re.compile(r"\bOffset *= *(-?\d{1,18})\b", _I)),
    ("ntimes", re.compile(r"Each (?:kernel will be executed|test is run) +(\d{1,18}) +times", _I)),
    ("ntimes", re.compile(r"You are running each test +(\d{1,18}) +times", _I)),
    ("threads_requested", re.compile(r"Number of Threads requested *= *(\d{1,18})\b", _I)),
    ("threads", re.compile(r"Number of Threads(?: counted)? *= *(\d{1,18})\b", _I)),
    (
        "clock_granularity_us",
        re.compile(r"granularity/precision appears to be +(\d{1,18}) +microseconds", _I),
    ),
    ("clock_ticks", re.compile(r"\(= *(\d{1,18}) +clock ticks\)", _I)),
)
_NOTES: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (  # of the kernel, whose notes start with "#"
    ("cpus", re.compile(r"^# cpus: (\S+)")),
    ("stores", re.compile(r"^# stores: (\w+)")),
    ("pages", re.compile(r"^# pages: ([\w ]+)")),
)
_BEGINS: Final = frozenset({"bytes_per_element", "array_size", "threads_requested", "clock_granularity_us"})
"""Facts that stand above the table only: seen below one, they belong to the next run."""

_FLAGS: Final[Mapping[str, str]] = {
    "truncated": "the text breaks off inside the table; only its complete rows are kept",
    "kernels_missing": "the table does not have all of copy, scale, add, triad",
    "no_figures": "a run without a figure",
    "validation_failed": "STREAM's own check of its arrays failed: the figures mean nothing",
    "validation_absent": "the text does not say whether the arrays were right",
    "clock_ticks_low": "a pass takes less than 20 ticks of the clock: enlarge the arrays (STREAM's own rule)",
    "threads_differ": "counted threads are not the requested ones",
    "no_banner": "no banner: nothing says which program, in which version, printed this",
    "stand_in": "figures of a STREAM-style stand-in, not of the STREAM benchmark",
    "non_finite": "inf or nan in the place of a figure: left out",
    "not_measured": "zero or less in the place of a figure: left out, it means not measured",
    "unread": "lines that look like figures and could not be read",
}
_RUN_COLUMNS: Final = (
    *(
        "run",
        "rank",
        "heading",
        "program",
        "tool_version",
        "array_size",
        "bytes_per_element",
        "offset",
        "ntimes",
    ),
    *("threads", "threads_requested", "cpus", "stores", "pages", "clock_granularity_us", "clock_ticks"),
    *("validation", "failed_arrays", "flags"),
)
_COMMENTED = re.compile(r"^[ \t]*#[ \t]*(?:Function|Copy|Scale|Add|Triad)\b", re.MULTILINE | re.IGNORECASE)
_RECOGNISE = re.compile(
    r"^[^\w\n]*(?:STREAM\w* version \$ ?Revision"
    r"|pinsweep stream \d"
    r"|Function[\s|]+(?:Best\s+)?Rate\s*+\(?\s*+[kMGT]i?B/s"
    r"|Begin of (?:Star|Single)STREAM section|(?:Star|Single)STREAM_Copy=)",
    _I | re.MULTILINE,
)


@dataclass(slots=True)
class _Run:
    rank: int | None = None
    heading: str | None = None
    program: str | None = None
    version: str | None = None
    factor: float = 0.0  # of the rate, to B/s; 0: no table head yet
    columns: tuple[str | None, ...] = ()  # after the rate; None: a column that is not ours
    facts: dict[str, Scalar] = field(default_factory=dict)
    rows: dict[str, dict[str, tuple[str, float]]] = field(
        default_factory=dict
    )  # kernel: metric: word, factor
    last: str | None = None  # kernel whose row stands on a last line without a line end
    active: int = 0  # lines "Printing one line per active thread"
    ended: bool = False  # a rule or a validation line stood below the table
    validation: str | None = None
    failed: list[str] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)


_TABLE = 'its table is read by: pinsweep parse table FILE --tool stream --columns "{}kernel, bandwidth[MB/s], -, -, -"'


TAKEN: Final = Taken(
    begins=(
        r"^[ \t]*-{20,}\s*\n(?=[ \t]*(?:STREAM version|pinsweep stream))",
        r"^[ \t]*Function +(?:Best )?Rate",
    ),
    program=r"\bstream\w*\b",
    tells={name: name for name in ("threads", "array_size", "ntimes", "stores", "pages", "section")},
    parts=parts,  # HPCC runs STREAM twice, in all processes and in one: two cells
    part_name=part_name,
    table_labels={"": {"kernel": "triad"}},
    typed=lambda command: (
        {"threads": int(m[1])} if (m := re.search(r"\bOMP_NUM_THREADS=(\d{1,6})\b", command)) else {}
    ),
    not_yet=(
        NotYet(
            "BabelStream",
            r"^[^\w\n]*(?:BabelStream|GPU-STREAM)\b|^[^\w\n]*Function +MBytes/sec +Min",
            _TABLE.format(""),
        ),
        NotYet("a STREAM with a column of ranks", r"^[^\w\n]*MPI_ID +Function\b", _TABLE.format("-, ")),
        NotYet("tinymembench", r"^[^\w\n]*tinymembench\b|^ *C copy backwards\s*:"),
        NotYet("sysbench", r"^[^\w\n]*sysbench \d|^[\d.]+ MiB transferred \("),
    ),
)


def recognise(text: str) -> bool:
    """Say whether the text holds STREAM's banner, the head of its table or HPCC's STREAM lines, at the start of a line."""
    if not mentions(text, "stream", "function"):
        return False
    if _RECOGNISE.search(text):
        return True
    if not is_captured(text) and not _COMMENTED.search(text):
        return False
    return bool(_RECOGNISE.search(clean(text, ranks=True, commented=_COMMENTED)))


def parse(text: str, context: Mapping[str, Any] = {}) -> Parsed:
    """Read every run in the text, or the one that `text_run` in the context counts to. Lines of several MPI ranks (`mpirun -l`, `srun -l`) are taken apart first.

    Raises ParseError if the text has neither a banner nor a table of STREAM.
    """
    check_lines(text)
    runs: list[_Run] = Parts()
    unread: list[str] = []
    for rank, part in split_ranks(text):
        reader = _Reader(rank)
        lines = clean(part, commented=_COMMENTED, emphasis=True).split("\n")
        for i, line in enumerate(lines):
            reader.read(line, last=i == len(lines) - 1)
        runs.extend(reader.close())
        unread += reader.unread
    if not runs:
        raise ParseError(
            "STREAM output",
            "looked for `STREAM version $Revision …` or a `Function … Rate (MB/s)` table, "
            f"saw {first_line(text)}",
            "a table without its head has no unit: add the head, or name the tool that printed this",
        )
    return _parsed(runs, unread, asked_for(context))


class _Reader:
    """Reads the lines of one process, or of several one after the other."""

    def __init__(self, rank: int | None) -> None:
        self.rank = rank
        self.runs: list[_Run] = Parts()
        self.heading: str | None = None
        self.unread: list[str] = []
        self.summary: dict[str, _Run] = {}  # HPCC's closing list, by section
        self.hpcc_version: str | None = None

    def _run(self, *, new: bool = False) -> _Run:
        """Return the run at hand, or a new one if there is none, or if `new` and the one at hand has its table already."""
        if not self.runs or (new and (self.runs[-1].rows or self.runs[-1].ended)):
            self.runs.append(_Run(rank=self.rank, heading=self.heading))
            self.heading = None
        return self.runs[-1]

    def read(self, line: str, *, last: bool) -> None:
        line = line.replace("|", " ")  # of Markdown tables
        if "^C" in line:  # a terminal shows where the user broke off: as good as the end of the text
            line, last = line.partition("^C")[0], True
        if not line.strip():
            return
        if self._row(line, last):
            self.heading = None
        elif last:
            if self.runs and self.runs[-1].factor and not self.runs[-1].ended and not _RULE.match(line):
                self.runs[-1].flags.add("truncated")
            if (
                _VALID.match(line) and self.runs
            ):  # pasted without its line end; nothing can follow on this line
                self.runs[-1].validation = self.runs[-1].validation or "passed"
        elif not _MAY_SAY(line) or not (self._begin(line) or self._say(line) or self._hpcc(line)):
            self.heading = line.strip()

    def _begin(self, line: str) -> bool:
        if match := _OUR_BANNER.match(line):
            self._banner("pinsweep stream", match[1])
        elif match := _HPCC_BANNER.search(line):
            self.hpcc_version = match[1]
        elif _FORTRAN_HEAD.match(line):
            self._run(new=True)
        elif match := _BANNER.match(line):
            word = match[1]
            self._banner("stream" if word.upper() == "STREAM" else word, match[2].rstrip("."))
        elif match := _HPCC_SECTION.match(line):
            if self.runs:
                self.runs[-1].ended = True
            self._banner(f"HPCC {match[1]}", self.hpcc_version)
        elif match := _HEAD.match(line):
            run = self._run(new=True)
            run.factor = to_base(f"{match[1]}/s")[0]
            run.columns = tuple(
                f"time_{column[1].lower()}" if column[1] else None for column in _COLUMN.finditer(match[2])
            )
        else:
            return False
        return True

    def _banner(self, program: str, version: str | None) -> None:
        run = self._run(new=True)
        if run.program is not None:  # the one before was cut after its banner
            run = _Run(rank=self.rank, heading=self.heading)
            self.runs.append(run)
            self.heading = None
        run.program, run.version = program, version

    def _row(self, line: str, last: bool) -> bool:
        run = self.runs[-1] if self.runs else None
        if run is None or not run.factor or run.ended:
            return False
        match = _ROW.match(line)
        if not match or not (match[2] or match[1].lower() in KERNELS):
            return False
        kernel, words = match[1].lower(), match[3].split()
        if len(words) != len(run.columns) + 1 and (found := row_of(match[3], len(run.columns) + 1)):
            words = found[0]
        if len(words) != len(run.columns) + 1 or any(number(word) is None for word in words):
            if kernel in KERNELS:
                if last or len(words) < len(run.columns) + 1:
                    run.flags.add("truncated")
                else:
                    self.unread.append(line.strip())
                    run.flags.add("unread")
            return kernel in KERNELS
        if kernel in run.rows:  # a second table under the same head
            before = run
            run = _Run(rank=self.rank, heading=self.heading, program=before.program, version=before.version)
            run.factor, run.columns = before.factor, before.columns
            self.runs.append(run)
        cells = {"bandwidth": (words[0], run.factor)}
        cells |= {name: (word, 1e9) for name, word in zip(run.columns, words[1:], strict=True) if name}
        run.rows[kernel] = cells
        run.last = kernel if last else None
        return True

    def _say(self, line: str) -> bool:
        run = self.runs[-1] if self.runs else None
        if run and run.rows and _RULE.match(line):
            run.ended = True
            return True
        if run and _VALID.match(line):
            run.ended = True
            run.validation = run.validation or "passed"
            return True
        if run and (match := _INVALID.match(line)):
            run.ended = True
            run.validation = "failed"
            run.failed.append(match[1])
            return True
        if _ACTIVE.match(line):
            self._run(new=True).active += 1
            return True
        if run and run.program == "pinsweep stream" and line.startswith("#"):
            for name, pattern in _NOTES:
                if match := pattern.match(line):
                    run.facts[name] = match[1].strip()
            return True
        found = False
        for name, pattern in _FACTS:
            if match := pattern.search(line):
                run = self._run(new=name in _BEGINS)
                run.facts[name] = int(match[1].replace(",", ""))
                found = True
        return found or bool(_RULE.match(line))

    def _hpcc(self, line: str) -> bool:
        if match := _HPCC_RANKS.match(line):
            metric = {"minimum": "least", "average": "mean", "maximum": "most"}[match[1].lower()]
            self._hpcc_figure(self._run(), match[2], f"bandwidth_{metric}", match[4], match[3])
        elif match := _HPCC_SINGLE.match(line):
            self._hpcc_figure(self._run(), match[1], "bandwidth", match[3], match[2])
        elif match := _HPCC_SUMMARY.match(line):
            section = f"HPCC {match[1]}"
            if all(run.program != section for run in self.runs):
                run = self.summary.setdefault(
                    section, _Run(rank=self.rank, program=section, version=self.hpcc_version)
                )
                self._hpcc_figure(run, match[2], "bandwidth", match[3], "GB")
        elif match := _HPCC_SETTING.match(line):
            name = {"Threads": "threads", "VectorSize": "array_size"}[match[1]]
            for run in [*self.runs, *self.summary.values()]:
                if (run.program or "").startswith("HPCC"):
                    run.facts.setdefault(name, int(match[2]))
        else:
            return False
        return True

    @staticmethod
    def _hpcc_figure(run: _Run, kernel: str, metric: str, word: str, unit: str) -> None:
        if number(word) is not None:
            cells = run.rows.setdefault(kernel.lower(), {})
            cells.setdefault(metric, (word, to_base(f"{unit.upper()}/s")[0]))
            run.ended = True

    def close(self) -> list[_Run]:
        self.runs += self.summary.values()
        self.runs = [run for run in self.runs if run.program or run.factor]
        for run in self.runs:
            _drop_cut_row(run)
            _flag(run)
        return self.runs


def _drop_cut_row(run: _Run) -> None:
    """Leave out the last row if its last figure has fewer digits after the point than the times above it, or beside it."""
    if not run.rows or run.ended:
        return
    kernel = list(run.rows)[-1]
    *others, (word, _) = run.rows[kernel].values()
    above = [cells for name, cells in run.rows.items() if name != kernel]
    last_metric = list(run.rows[kernel])[-1]
    digits = [_decimals(cells[last_metric][0]) for cells in above if last_metric in cells]
    digits += [_decimals(other) for other, factor in others if factor == 1e9]
    cut = digits and _decimals(word) < (max(digits) if run.last == kernel else min(digits))
    if not digits:
        cut = run.last == kernel and _decimals(word) == 0
    value = number(word)
    if cut and value is not None and value - value == 0:
        del run.rows[kernel]
        run.flags.add("truncated")


def _decimals(word: str) -> int:
    return len(word.partition(".")[2] or word.partition(",")[2])


def _flag(run: _Run) -> None:
    figures = 0
    for cells in run.rows.values():
        for word, _ in cells.values():
            value = number(word)
            if value is None or value - value != 0:
                run.flags.add("non_finite")
            elif value <= 0:
                run.flags.add("not_measured")
            else:
                figures += 1
    if (
        "threads" not in run.facts
        and run.active
        and run.facts.get("threads_requested", run.active) == run.active
    ):
        run.facts["threads"] = run.active  # 5.8 and 5.9 count aloud
    threads = run.facts.get("threads"), run.facts.get("threads_requested")
    ticks = run.facts.get("clock_ticks")
    conditions = {
        "truncated": not run.ended and not set(KERNELS) <= run.rows.keys(),
        "kernels_missing": bool(run.rows) and not set(KERNELS) <= run.rows.keys(),
        "no_figures": figures == 0,
        "validation_failed": run.validation == "failed",
        "validation_absent": run.validation is None and bool(run.rows),
        "clock_ticks_low": isinstance(ticks, int) and ticks < 20,
        "threads_differ": None not in threads and threads[0] != threads[1],
        "no_banner": run.program is None,
        "stand_in": run.program == "pinsweep stream",
    }
    run.flags |= {name for name, holds in conditions.items() if holds}


def _parsed(runs: list[_Run], unread: list[str], asked: int | None) -> Parsed:
    """asked: the run that is asked for, from 1; None for all."""
    figures: list[tuple[tuple[Scalar, ...], str, float]] = []
    rows: list[tuple[Scalar, ...]] = []
    chosen = list(enumerate(runs if asked is None else runs[asked - 1 : asked], 1))
    for index, run in chosen:
        for kernel, cells in run.rows.items():
            for metric, (word, factor) in cells.items():
                value = scaled(word, factor)
                if value is not None and value > 0:  # inf goes no further than measurements()
                    figures.append(((index, kernel), metric, value))
        values: dict[str, Scalar] = {
            **run.facts,
            "run": index,
            "rank": run.rank,
            "heading": run.heading,
            "program": run.program,
            "tool_version": run.version,
            "validation": run.validation,
            "failed_arrays": " ".join(run.failed) or None,
            "flags": " ".join(flag for flag in _FLAGS if flag in run.flags) or None,
        }
        rows.append(tuple(values.get(column) for column in _RUN_COLUMNS))
    return Parsed(
        tables={
            "measurements": measurements(LABELS, METRICS, figures),
            "runs": Table(_RUN_COLUMNS, tuple(rows)),
        },
        flags=collected(_FLAGS, [run.flags for _, run in chosen], {"unread": unread}),
        facts=agreed(_RUN_COLUMNS, rows, but=("run", "heading", "flags"))
        | _suite([run for _, run in chosen]),
    )


def _suite(runs: list[_Run]) -> dict[str, Scalar]:
    """Return the facts of runs that a suite made, whose version is not STREAM's: which suite, and which of its sections."""
    programs = {run.program or "" for run in runs}
    if not programs or not all(name.startswith("HPCC ") for name in programs):
        return {}
    sections = [name.removeprefix("HPCC ") for name in programs]
    return {"suite": "HPCC", "section": sections[0] if len(sections) == 1 else None}
