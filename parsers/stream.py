"""Parse STREAM: C 5.8 to 5.10, Fortran 5.6, HPCC's embedded copy, variants, and the kernel `pinsweep stream`.

`measurements` has one row per figure:

    run     int   from 1: a text may hold several runs (banner, table head or repeated kernel begins one)
    kernel  str   copy | scale | add | triad, and whatever else a variant's table has, in lower case
    metric  str   bandwidth           B/s  best rate; MB is 10**6 and GB 10**9 bytes, as the table's head says.
                                           It counts the bytes that the source asks for: an ordinary store also
                                           reads the line it writes, which is not counted
                  time_avg, time_min, time_max, time_rms   ns  of the passes, without the first (Fortran: first and last)
                  bandwidth_least, bandwidth_mean, bandwidth_most   B/s  HPCC: over all processes

The table `runs` has one row per run with the values of its head. `validation` is "passed", "failed", or missing if the
text has no such line. A fact is a column of `runs` on which all runs agree. STREAM also exits with status 0 if the
validation fails.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from parsers._bounds import Parts, check_lines
from parsers._runs import agreed, asked_for, collected, listed, part_name, parts, table_of, typed_number
from parsers.errors import ParseError
from parsers.measurement import Metric, NotYet, Parsed, Scalar, Taken, measurements
from parsers.text import (
    clean,
    decimals,
    first_line,
    having,
    is_finite,
    number,
    recognises,
    scaled,
    split_ranks,
)
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
_NUMBERS = r"([MG]B)/s +(\S+)(?:\s+[^\d\s].*)?\s*$"
_BANNER = re.compile(r"^\W*(STREAM\w*) version \$ ?Revision: ?([\w.]+)", _I)
_OUR_BANNER = re.compile(r"^\W*pinsweep stream (\d[\w.]*)", _I)
_FORTRAN_HEAD = re.compile(r"^\W*Double precision appears to have", _I)
_HPCC_BANNER = re.compile(r"HPC Challenge Benchmark version (\d[\w.]*)", _I)
_HPCC_SETTING = re.compile(r"^\W*STREAM_(Threads|VectorSize)=(\d{1,18})\s*$")
_HPCC_SECTION = re.compile(r"^\W*Begin of ((?:Star|Single)STREAM) section", _I)
_HPCC_FIGURE = re.compile(rf"^\W*(Minimum|Average|Maximum|Single STREAM) (Copy|Scale|Add|Triad) {_NUMBERS}", _I)
_HPCC_METRICS: Final = {
    "minimum": "bandwidth_least", "average": "bandwidth_mean", "maximum": "bandwidth_most", "single stream": "bandwidth",
}  # fmt: skip
_HPCC_SUMMARY = re.compile(r"^\W*((?:Star|Single)STREAM)_(Copy|Scale|Add|Triad)=(\S+)(?:\s+[^\d\s].*)?\s*$")
_HEAD = re.compile(r"^\W*Function\s+(?:Best\s+)?Rate\s*+\(?\s*+([kMGT]i?B)/s(?:ec)?\)?(.*)$", _I)
_COLUMN = re.compile(r"(Avg|Min|Max|RMS)\s+time(?:\s*\(s(?:ec)?\))?|\S+(?: (?!(?:Avg|Min|Max|RMS)\b)\S+)*", _I)
_ROW = re.compile(r"^[\s>*|]*+([A-Za-z][\w-]*+)(?:\s*+(:))?\s++(\S.*)$")  # blanks at its end are no word
_RULE = re.compile(r"^\s*[-=_*]{5,}\s*$")
_MAY_SAY = having(
    "stream|hpc challenge|double precision|function|validat|printing one|bytes per|size|offset|times|number of threads|granularity"
    "|clock ticks|minimum|average|maximum|# cpus|# stores|# pages|[-=_*]{5}"
)
_VALID = re.compile(r"^\W*Solution Validates", _I)
_INVALID = re.compile(r"^\W*Failed Validation on array (\w+)", _I)
_ACTIVE = re.compile(r"^\W*Printing one line per active thread", _I)
_FACTS: Final = tuple(
    (name, re.compile(pattern, _I))
    for name, pattern in (
        ("bytes_per_element", r"(?:This system uses|Assuming) +(\d{1,18}) bytes per"),
        ("array_size", r"^\W*(?:Total Aggregate )?Array size *= *(\d{1,3}(?:,\d{3})+\b|\d{1,18}\b(?!,\d))"),
        ("offset", r"\bOffset *= *(-?\d{1,18})\b"),
        ("ntimes", r"Each (?:kernel will be executed|test is run) +(\d{1,18}) +times"),
        ("ntimes", r"You are running each test +(\d{1,18}) +times"),
        ("threads_requested", r"Number of Threads requested *= *(\d{1,18})\b"),
        ("threads", r"Number of Threads(?: counted)? *= *(\d{1,18})\b"),
        ("clock_granularity_us", r"granularity/precision appears to be +(\d{1,18}) +microseconds"),
        ("clock_ticks", r"\(= *(\d{1,18}) +clock ticks\)"),
    )
)
_NOTE = re.compile(r"^# (?:(cpus): (\S+)|(stores): (\w+)|(pages): ([\w ]+))")  # of the kernel
_BEGINS: Final = frozenset({"bytes_per_element", "array_size", "threads_requested", "clock_granularity_us"})
"""Facts that only precede a table. Below a table, such a fact belongs to the next run."""

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
    "run", "rank", "heading", "program", "tool_version", "array_size", "bytes_per_element", "offset", "ntimes", "threads",
    "threads_requested", "cpus", "stores", "pages", "clock_granularity_us", "clock_ticks", "validation", "failed_arrays", "flags",
)  # fmt: skip
_COMMENTED = re.compile(r"^[ \t]*#[ \t]*(?:Function|Copy|Scale|Add|Triad)\b", re.MULTILINE | re.IGNORECASE)
_RECOGNISE = re.compile(
    r"^[^\w\n]*(?:STREAM\w* version \$ ?Revision|pinsweep stream \d|Function[\s|]+(?:Best\s+)?Rate\s*+\(?\s*+[kMGT]i?B/s"
    r"|Begin of (?:Star|Single)STREAM section|(?:Star|Single)STREAM_Copy=)",
    _I | re.MULTILINE,
)

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
    typed=typed_number("threads", r"\bOMP_NUM_THREADS=(\d{1,6})\b"),
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
    """Return whether a line of the text begins with STREAM's banner, table head or HPCC lines."""
    return recognises(text, ("stream", "function"), _RECOGNISE, _COMMENTED)


def parse(text: str, context: Mapping[str, Any] = {}) -> Parsed:
    """Return the figures of every run in the text, or of the run that `text_run` in the context selects.

    Lines of several MPI ranks are separated first. Raises ParseError if the text has neither a banner nor a table.
    """
    check_lines(text)
    runs: list[_Run] = Parts()
    unread: list[str] = []
    for rank, part in split_ranks(text):
        reader = _Reader(rank)
        *lines, last = clean(part, commented=_COMMENTED, emphasis=True).split("\n")
        for line in lines:
            reader.read(line, last=False)
        reader.read(last, last=True)
        runs.extend(reader.close())
        unread += reader.unread
    if not runs:
        looked = "looked for `STREAM version $Revision …` or a `Function … Rate (MB/s)` table"
        hint = "a table without its head has no unit: add the head, or name the tool that printed this"
        raise ParseError("STREAM output", f"{looked}, saw {first_line(text)}", hint)
    number_of_run = asked_for(context)
    return _parsed(runs if number_of_run is None else runs[number_of_run - 1 : number_of_run], unread)


@dataclass(slots=True)
class _Run:
    rank: int | None = None
    heading: str | None = None
    program: str | None = None
    version: str | None = None
    factor: float = 0.0  # of the rate, to B/s; 0: no table head yet
    columns: tuple[str | None, ...] = ()  # after the rate; None: a column that is not ours
    facts: dict[str, Scalar] = field(default_factory=dict)
    rows: dict[str, dict[str, tuple[str, float]]] = field(default_factory=dict)  # kernel: metric: word, factor
    last: str | None = None  # kernel whose row stands on a last line without a line end
    active: int = 0  # lines "Printing one line per active thread"
    ended: bool = False  # a rule or a validation line stood below the table
    validation: str | None = None
    failed: list[str] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)


class _Reader:
    """A line reader for one process, or for several in sequence."""

    def __init__(self, rank: int | None) -> None:
        self.rank = rank
        self.runs: list[_Run] = Parts()
        self.heading: str | None = None
        self.unread: list[str] = []
        self.summary: dict[str, _Run] = {}  # HPCC's closing list, by section
        self.hpcc_version: str | None = None

    def _run(self, *, new: bool = False) -> _Run:
        """Return the current run. Return a new run if there is no run, or if `new` and the current run has a table."""
        if not self.runs or (new and (self.runs[-1].rows or self.runs[-1].ended)):
            self._add(None, None)
        return self.runs[-1]

    def _add(self, program: str | None, version: str | None) -> _Run:
        self.runs.append(_Run(self.rank, self.heading, program, version))
        self.heading = None
        return self.runs[-1]

    def read(self, line: str, *, last: bool) -> None:
        line = line.replace("|", " ")  # of Markdown tables
        if "^C" in line:  # a terminal shows where the user broke off: as good as the end of the text
            line, last = line.partition("^C")[0], True
        if not line.strip():
            return
        run = self.runs[-1] if self.runs else None
        if run and self._row(run, line, last):
            self.heading = None
        elif last and run:
            if run.factor and not run.ended and not _RULE.match(line):
                run.flags.add("truncated")
            if _VALID.match(line):  # pasted without its line end; nothing can follow on this line
                run.validation = run.validation or "passed"
        elif not last and not (_MAY_SAY(line) and (self._begin(line) or self._say(run, line) or self._hpcc(line))):
            self.heading = line.strip()

    def _begin(self, line: str) -> bool:
        if match := _OUR_BANNER.match(line):
            self._banner("pinsweep stream", match[1])
        elif match := _HPCC_BANNER.search(line):
            self.hpcc_version = match[1]
        elif _FORTRAN_HEAD.match(line):
            self._run(new=True)
        elif match := _BANNER.match(line):
            self._banner("stream" if match[1].upper() == "STREAM" else match[1], match[2].rstrip("."))
        elif match := _HPCC_SECTION.match(line):
            if self.runs:
                self.runs[-1].ended = True
            self._banner(f"HPCC {match[1]}", self.hpcc_version)
        elif match := _HEAD.match(line):
            run = self._run(new=True)
            run.factor = to_base(f"{match[1]}/s")[0]
            run.columns = tuple(f"time_{m[1].lower()}" if m[1] else None for m in _COLUMN.finditer(match[2]))
        else:
            return False
        return True

    def _banner(self, program: str, version: str | None) -> None:
        run = self._run(new=True)
        if run.program is not None:  # the one before was cut after its banner
            run = self._add(None, None)
        run.program, run.version = program, version

    def _row(self, run: _Run, line: str, last: bool) -> bool:
        match = _ROW.match(line) if run.factor and not run.ended else None
        if not match or not (match[2] or match[1].lower() in KERNELS):
            return False
        kernel, words, width = match[1].lower(), match[3].split(), len(run.columns) + 1
        if len(words) != width and (row := row_of(match[3], width)):
            words = row[0]
        if len(words) != width or any(number(word) is None for word in words):
            if kernel in KERNELS and (last or len(words) < width):
                run.flags.add("truncated")
            elif kernel in KERNELS:
                self.unread.append(line.strip())
                run.flags.add("unread")
            return kernel in KERNELS
        if kernel in run.rows:  # a second table under the same head
            factor, columns = run.factor, run.columns
            run = self._add(run.program, run.version)
            run.factor, run.columns = factor, columns
        times = {name: (word, 1e9) for name, word in zip(run.columns, words[1:], strict=True) if name}
        run.rows[kernel] = {"bandwidth": (words[0], run.factor), **times}
        run.last = kernel if last else None
        return True

    def _say(self, run: _Run | None, line: str) -> bool:
        """Read the facts of a line about the run. A rule or a verdict ends the table above."""
        if run and run.rows and _RULE.match(line):
            run.ended = True
        elif run and _VALID.match(line):
            run.ended, run.validation = True, run.validation or "passed"
        elif run and (match := _INVALID.match(line)):
            run.ended, run.validation = True, "failed"
            run.failed.append(match[1])
        elif _ACTIVE.match(line):
            self._run(new=True).active += 1
        elif run and run.program == "pinsweep stream" and line.startswith("#"):
            if match := _NOTE.match(line):
                name, value = filter(None, match.groups())
                run.facts[name] = value.strip()
        else:
            facts = [(name, match[1]) for name, pattern in _FACTS if (match := pattern.search(line))]
            for name, value in facts:
                self._run(new=name in _BEGINS).facts[name] = int(value.replace(",", ""))
            return bool(facts or _RULE.match(line))
        return True

    def _hpcc(self, line: str) -> bool:
        if match := _HPCC_FIGURE.match(line):
            _add_hpcc(self._run(), match[2], _HPCC_METRICS[match[1].lower()], match[4], match[3])
        elif match := _HPCC_SUMMARY.match(line):
            section = f"HPCC {match[1]}"
            if all(run.program != section for run in self.runs):
                run = self.summary.setdefault(section, _Run(self.rank, None, section, self.hpcc_version))
                _add_hpcc(run, match[2], "bandwidth", match[3], "GB")
        elif match := _HPCC_SETTING.match(line):
            name = {"Threads": "threads", "VectorSize": "array_size"}[match[1]]
            for run in [*self.runs, *self.summary.values()]:
                if (run.program or "").startswith("HPCC"):
                    run.facts.setdefault(name, int(match[2]))
        else:
            return False
        return True

    def close(self) -> list[_Run]:
        runs = [run for run in [*self.runs, *self.summary.values()] if run.program or run.factor]
        for run in runs:
            _drop_cut_row(run)
            _flag(run)
        return runs


def _add_hpcc(run: _Run, kernel: str, metric: str, word: str, unit: str) -> None:
    if number(word) is not None:
        run.rows.setdefault(kernel.lower(), {}).setdefault(metric, (word, to_base(f"{unit.upper()}/s")[0]))
        run.ended = True


def _drop_cut_row(run: _Run) -> None:
    """Remove the last row if its last figure has fewer decimals than the other times."""
    if not run.rows or run.ended:
        return
    kernel, cells = list(run.rows.items())[-1]
    metric, (word, _) = list(cells.items())[-1]
    digits = [decimals(row[metric][0]) for name, row in run.rows.items() if name != kernel and metric in row]
    digits += [decimals(other) for name, (other, factor) in cells.items() if name != metric and factor == 1e9]
    whole = (max(digits) if run.last == kernel else min(digits)) if digits else int(run.last == kernel)
    if decimals(word) < whole and is_finite(number(word)):
        del run.rows[kernel]
        run.flags.add("truncated")


def _flag(run: _Run) -> None:
    values = [number(word) for cells in run.rows.values() for word, _ in cells.values()]
    if run.active and run.facts.get("threads_requested", run.active) == run.active:
        run.facts.setdefault("threads", run.active)  # 5.8 and 5.9 count aloud
    threads, requested = run.facts.get("threads"), run.facts.get("threads_requested")
    ticks = run.facts.get("clock_ticks")
    complete = set(KERNELS) <= run.rows.keys()
    conditions = {
        "truncated": not run.ended and not complete,
        "kernels_missing": bool(run.rows) and not complete,
        "no_figures": not any(is_finite(value) and value > 0 for value in values),
        "non_finite": not all(map(is_finite, values)),
        "not_measured": any(is_finite(value) and value <= 0 for value in values),
        "validation_failed": run.validation == "failed",
        "validation_absent": run.validation is None and bool(run.rows),
        "clock_ticks_low": isinstance(ticks, int) and ticks < 20,
        "threads_differ": None not in (threads, requested) and threads != requested,
        "no_banner": run.program is None,
        "stand_in": run.program == "pinsweep stream",
    }
    run.flags |= {name for name, holds in conditions.items() if holds}


def _parsed(runs: list[_Run], unread: list[str]) -> Parsed:
    figures: list[tuple[tuple[Scalar, ...], str, float]] = []
    about: list[dict[str, Scalar]] = []
    for index, run in enumerate(runs, 1):
        for kernel, cells in run.rows.items():
            for metric, (word, factor) in cells.items():
                value = scaled(word, factor)
                if value is not None and value > 0:  # inf goes no further than measurements()
                    figures.append(((index, kernel), metric, value))
        about.append(
            run.facts
            | {
                "run": index,
                "rank": run.rank,
                "heading": run.heading,
                "program": run.program,
                "tool_version": run.version,
            }
            | {
                "validation": run.validation,
                "failed_arrays": " ".join(run.failed) or None,
                "flags": listed(_FLAGS, run.flags),
            }
        )
    programs = {run.program or "" for run in runs}
    facts = agreed(about, _RUN_COLUMNS, but=("run", "heading", "flags"))
    if programs and all(name.startswith("HPCC ") for name in programs):  # whose version is not STREAM's
        section = programs.pop().removeprefix("HPCC ") if len(programs) == 1 else None
        facts |= {"suite": "HPCC", "section": section}
    return Parsed(
        tables={
            "measurements": measurements(LABELS, METRICS, figures),
            "runs": table_of(_RUN_COLUMNS, about),
        },
        flags=collected(_FLAGS, [run.flags for run in runs], {"unread": unread}),
        facts=facts,
    )
