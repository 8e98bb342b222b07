"""What a comparison says: rows, levels that regressed together, shifts of modes."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from parsers.measurement import Direction
from reports.compare.failures import Failed
from reports.compare.matching import CellOfSide, Pair, Unmatched
from reports.compare.sides import Side, SideName
from reports.numbers import Name
from reports.results import naming
from reports.results.convicted import checks_of
from reports.results.differences import Fingerprint
from reports.results.model import Run
from reports.results.sessions import clock_warnings, minute, second
from reports.verdicts.model import VERDICTS, Decision, Family, Rules, Sample, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What the user asks for beside the two sides."""

    threshold: float = 0.03  # relative
    thresholds: Mapping[str, float] = field(default_factory=dict)  # word of a metric → its own ("p99": 0.1)
    across_programs: bool = False  # compare a tool with its stand-in
    ignore: tuple[str, ...] = ()  # options that do not tell cells apart
    slo_ns: float | None = None  # also compare fio's IOPS whose p99 keeps this


def sided(of_a: Sequence[str], of_b: Sequence[str]) -> dict[str, str]:
    """Return check → " of A", " of B", "" where it is of both."""
    return {
        key: "" if key in of_a and key in of_b else " of A" if key in of_a else " of B"
        for key in (*of_a, *of_b)
    }


_OF_TWO: Final[Mapping[Verdict, str]] = {"regressed": "worse", "improved": "better"}


def called(verdict: Verdict, *, one_machine: bool) -> str:
    """Return a verdict as people read it: what differs from another machine is worse or better, and has neither regressed nor improved."""
    return verdict if one_machine else _OF_TWO.get(verdict, verdict)


def options_said(cell: CellOfSide, number: Name) -> tuple[str, ...]:
    """Return what tells a cell from its siblings as titles have it: "remote", "threads 4"; what the number is called by is not said twice."""
    known = {number.kind, number.kind.replace(" ", "_")}
    values = {
        axis: value if isinstance(value, bool) else cell.labels[axis] for axis, value in cell.values.items()
    }
    told = {
        axis: value
        for axis, value in values.items()
        if str(value) not in known and (axis, value) not in number.part
    }
    return tuple(naming.cell_words(cell.tool, told, number.part))


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One number of one cell, on both sides."""

    pair: Pair  # of a number of a curve, without the axis that the curve goes over
    number: Name
    labels: Mapping[str, str]  # axis → level, those of the inner rows and the metric's name among them
    a: tuple[float, ...]  # per run, base units
    b: tuple[float, ...]
    decision: Decision
    step: float | None = None  # the last digit that the program of both prints
    doubts: tuple[str, str] = ("", "")  # the checks that convict its cell, on A and on B: "F1, F7"
    one_machine: bool = True  # as of `Comparison`

    @property
    def sweep(self) -> str:
        return self.pair.a.sweep

    @property
    def cell(self) -> str:
        """`threads=4 place=remote`; "" of a sweep with one cell."""
        return self.pair.a.name

    @property
    def unit(self) -> str:
        return self.number.unit

    @property
    def better(self) -> Direction:
        return self.number.better

    @property
    def derived(self) -> bool:
        return self.number.derived

    @property
    def name(self) -> str:
        """`scaling, threads=4 place=remote: triad bandwidth`."""
        return f"{self.place}: {self.number.words}"

    @property
    def place(self) -> str:
        """`scaling, threads=4 place=remote`."""
        return f"{self.sweep}, {self.cell}" if self.cell else self.sweep

    @property
    def options(self) -> str:
        """The cell as titles have it: `remote, threads 4`, without what the number's own name says."""
        return ", ".join(options_said(self.pair.a, self.number))

    @property
    def where(self) -> str:
        """`scaling, remote, threads 4`."""
        return ", ".join(filter(None, (self.sweep, self.options)))

    @property
    def title(self) -> str:
        """`scaling, remote, threads 4: triad bandwidth`: the name in words."""
        return f"{self.where}: {self.number.words}"

    @property
    def verdict(self) -> Verdict:
        return self.decision.verdict

    @property
    def word(self) -> str:
        """The verdict as people read it: of two machines "worse" for "regressed"; "one run" where there is none."""
        return "one run" if self.once else called(self.verdict, one_machine=self.one_machine)

    @property
    def once(self) -> bool:
        """Is there one run on a side, and so no verdict?"""
        return min(len(self.a), len(self.b)) < 2

    @property
    def provisional(self) -> bool:
        """Does the verdict rest on one session a side, whose noise it cannot know?"""
        d = self.decision
        return not self.once and d.k_a == d.k_b == 1 and d.tau > 0

    @property
    def median_a(self) -> float:
        return statistics.median(self.a)

    @property
    def median_b(self) -> float:
        return statistics.median(self.b)

    @property
    def doubt(self) -> str:
        """The checks that convict its cell on either side, and which one where it is not both: "F1, G10 of A"."""
        of_a, of_b = map(checks_of, self.doubts)
        return ", ".join(f"{key}{whose}" for key, whose in sided(of_a, of_b).items())

    @property
    def change(self) -> float | None:
        """B / A - 1: the change in the metric's own sign. None where there is no ratio."""
        return None if self.decision.ratio is None else self.decision.ratio - 1

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of `change`."""
        low, high = self.decision.low, self.decision.high
        return None if low is None or high is None else (low - 1, high - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeShift:
    """A mode of a latency distribution whose share of the operations moved, even if the median stands still."""

    name: str
    at: float  # ns: where the mode lies
    share_a: float  # median over the runs
    share_b: float
    by_chance: bool  # so few runs a side that chance may do as much
    disturbed: tuple[SideName, ...] = ()  # sides of which something else disturbed every run


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The cells of one level of an axis, each once, however many numbers a process gives.

    A cell has regressed if one of its numbers has; else it is inconclusive if one is, improved if one is, and the same if all are. Where it is
    asked what improved, that goes first.
    """

    name: str  # "": the cells that the axis is not of
    counts: Mapping[Verdict, int]
    less: int = 0  # of the inconclusive ones those that changed by less than any of the level that is shared

    @property
    def cells(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """A level of an axis that the cells share which regressed, or improved."""

    axis: str
    levels: tuple[Level, ...]  # the shared one first


def moment(run: Run) -> Hashable:
    """Return what tells the session of a run from others, whatever its file is called."""
    return run.session.host, run.session.started_utc, run.session.seed


Way = Literal["in turns", "B alone", "partly in turns"]
"""How cells were measured again: both sides; B, against A's stored runs; some in one way, some in the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotAgain:
    """A cell that looked changed and could not be measured again."""

    sweep: str
    cell: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """What was measured again, and stands for stored runs."""

    sides: tuple[Side, ...]
    way: Way
    why_only_b: str  # why A was not measured again where it was not; "" where it was
    asked: frozenset[Hashable]  # keys of the numbers that had looked changed
    in_turns: int  # numbers of which both sides are of the fresh runs
    only_b: int  # numbers of which B is, against stored runs of A
    stored: int  # numbers of the same cells that are of the stored runs: they had not looked changed
    not_repeatable: tuple[NotAgain, ...]
    moments: frozenset[Hashable]  # when its runs were made, and where
    replaced: frozenset[tuple[Hashable, str]]  # the same, and the cell, of what they stand for

    def holds(self, run: Run) -> bool:
        """Is a run one of those that were made again?"""
        return moment(run) in self.moments

    def replaces(self, run: Run) -> bool:
        """Does another stand for a run that gave numbers?"""
        return run.parsed is not None and (moment(run), run.record.point_id) in self.replaced


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """A pair of which one side's I/Os, or all its files together, are of another size than the other's."""

    files: bool  # not I/Os
    a: float  # B
    b: float
    faster: float  # B's bandwidth through A's


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    a: Side
    b: Side
    rows: tuple[Row, ...]  # worst first
    families: tuple[Family, ...]
    unmatched: tuple[Unmatched, ...]
    fingerprint: Fingerprint
    across: tuple[str, ...]  # tools whose program is another on the other side, in words
    modes: tuple[ModeShift, ...]
    shared: tuple[Shared, ...]
    matched: Mapping[str, int]  # how cells were matched that are not as written → how many of them
    samples: tuple[Sample, ...]  # what was judged, and by which rules: for who wants to judge again
    rules: Rules
    behind: Mapping[Hashable, tuple[Pair, ...]]  # key of a sample → its cells; of a curve all of them
    failures: tuple[Failed, ...] = ()  # cells of which more runs failed on one side
    undirected: tuple[str, ...] = ()  # metrics of both sides whose better direction nobody told: no rows
    by: str = ""  # the axis whose levels are compared, "" of files
    sizes: tuple[Sizes, ...] = ()  # of pairs whose I/Os, or all files together, have different sizes
    again: Again | None = None  # what was measured again
    one_machine: bool = True
    """Are both sides one machine, before and after? Else they are two, two levels of an axis, or texts of which nobody knows the machine."""

    def covers(self, run: Run) -> bool:
        """Is a run of one of the sides, and no other stands for it that was measured again?"""
        if self.again and self.again.holds(run):
            return True
        wanted = self.a.wanted(run) or self.b.wanted(run)
        return wanted and not (self.again and self.again.replaces(run))

    def of(self, *verdicts: Verdict) -> tuple[Row, ...]:
        """Return the rows with a verdict, worst first."""
        return tuple(row for row in self.rows if row.verdict in verdicts and not row.once)

    @property
    def once(self) -> tuple[Row, ...]:
        """The rows with one run on a side: values, no verdict."""
        return tuple(row for row in self.rows if row.once)

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many rows have each verdict; rows with a single run on a side have none and are in none."""
        counted = Counter(row.verdict for row in self.rows if not row.once)
        return {verdict: counted[verdict] for verdict in VERDICTS}

    @property
    def counts_again(self) -> dict[Verdict, int]:
        """How many of the numbers that were to be measured again have each verdict."""
        asked = self.again.asked if self.again else frozenset()
        counted = Counter(row.verdict for row in self.rows if row.decision.key in asked)
        return {verdict: counted[verdict] for verdict in VERDICTS}

    @property
    def provisional(self) -> int:
        """How many verdicts rest on one session a side."""
        return sum(row.provisional for row in self.rows)

    @property
    def clocks(self) -> tuple[str, ...]:
        """What is said of sessions whose clock was set."""
        told = (text for of in (self.a, self.b) for text in clock_warnings(of.machines, of.when))
        return tuple(dict.fromkeys(told))

    @property
    def backwards(self) -> str:
        """Return "B was measured before A: 2026-11-20 03:00, and A 2026-11-28 03:00" of the same host; "" where it was not, or no clock tells."""
        times = [[of.when[key].at for key in of.sessions] for of in (self.a, self.b)]
        told = not self.clocks and not any(run.captured for of in (self.a, self.b) for run in of.runs)
        if self.by or not told or {*self.a.hosts}.isdisjoint(self.b.hosts) or not all(map(all, times)):
            return ""
        first, last = min(times[0]), max(times[1])
        if last >= first:
            return ""
        when = minute if minute(last) != minute(first) else second
        return f"B was measured before A: {when(last)}, and A {when(first)}"

    @property
    def broken(self) -> tuple[Failed, ...]:
        """The cells of which more runs failed in B than in A."""
        return tuple(one for one in self.failures if one.side == "B")

    def fails(self, words: Collection[str]) -> bool:
        """Is there what these words of --fail-on name? A number without a verdict is an inconclusive one; what fails in B has regressed."""
        if self.broken and not {"failed", "regressed"}.isdisjoint(words):
            return True
        if self.unmatched and "unmatched" in words:
            return True
        return any(("inconclusive" if row.once else row.verdict) in words for row in self.rows)
