"""Two sides compared: every number of every matched cell with its verdict, and what must be known before reading it. Pure.

    Results ─side→ Side ─matching→ Pairs ─numbers→ Samples ─verdicts.judge→ Rows ─→ Comparison

The verdicts are those of `reports.verdicts`; here is decided what is compared with what, and what is said about it.
"""

from __future__ import annotations

import dataclasses
import functools
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from orchestrator.experiment.yaml_nodes import nearest as nearest_word
from orchestrator.model import canonical_json, listed
from orchestrator.store.result_file import Session
from parsers.errors import UserError
from parsers.measurement import Direction
from parsers.units import to_base
from reports import numbers
from reports.compare.matching import CellOfSide, Matching, Pair, Unmatched, absence, cells, match
from reports.numbers import QUANTILES, Buckets, Name, Number
from reports.results import differences as prints
from reports.results import naming
from reports.results.differences import Fingerprint
from reports.results.grouping import group_by
from reports.results.model import LEFT_OUT, Machine, Results, Run, natural
from reports.results.sessions import SessionKey, When, clock_warnings, timeline
from reports.text import format as fmt
from reports.verdicts import distribution
from reports.verdicts.decide import judge
from reports.verdicts.model import VERDICTS, Decision, Family, Rules, Sample, Verdict

SideName = Literal["A", "B"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side: where its numbers come from, and which runs of it count."""

    name: SideName
    title: str  # as the user named it: "before.db", "place=local"
    results: Results
    runs: tuple[Run, ...]  # those that count
    left_out: tuple[Run, ...]  # void, or disturbed or misplaced, and no later attempt made good
    failed: tuple[Run, ...]
    when: Mapping[SessionKey, When]  # of all sessions of the results

    @property
    def sessions(self) -> frozenset[SessionKey]:
        return frozenset(_session(run) for run in self.runs)

    @property
    def machines(self) -> list[Machine]:
        wanted = self.sessions
        return [m for m in self.results.machines if (m.file, m.session.session) in wanted]

    @property
    def evidence(self) -> int:
        """How many pieces of evidence the sessions are: what one boot did within an hour is one."""
        return len({self.when[session].evidence for session in self.sessions})

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(run.host for run in self.runs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What the user asks for beside the two sides."""

    threshold: float = 0.03  # relative
    thresholds: Mapping[str, float] = field(default_factory=dict)  # word of a metric → its own ("p99": 0.1)
    across_programs: bool = False  # compare a tool with its stand-in
    ignore: tuple[str, ...] = ()  # options that do not tell cells apart
    slo_ns: float | None = None  # also compare fio's IOPS whose p99 keeps this


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One number of one cell, on both sides."""

    pair: Pair  # of a number of a curve, without the axis that the curve goes over
    number: Name
    labels: Mapping[str, str]  # axis → level, those of the inner rows and the metric's name among them
    a: tuple[float, ...]  # per run, base units
    b: tuple[float, ...]
    decision: Decision

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
    def verdict(self) -> Verdict:
        return self.decision.verdict

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The cells of one level of an axis, each once, however many numbers a process gives.

    A cell has regressed if one of its numbers has; else it is inconclusive if one is, improved if one is, and the same if all are.
    """

    name: str  # "": the cells that the axis is not of
    counts: Mapping[Verdict, int]

    @property
    def cells(self) -> int:
        return sum(self.counts.values())

    @property
    def rest(self) -> str:
        """Return what became of those that did not regress: " (3 same, 1 inconclusive)"."""
        said = ", ".join(
            f"{n} {verdict}" for verdict, n in self.counts.items() if n and verdict != "regressed"
        )
        return f" ({said})" if said else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """A level of an axis that the regressed cells share."""

    axis: str
    levels: tuple[Level, ...]  # the shared one first

    @property
    def text(self) -> str:
        """Return "place remote: 4 of 4 cells regressed; local: 0 of 4 (3 same, 1 inconclusive)"."""
        first, *rest = self.levels
        others = (
            f"{level.name or f'no {self.axis}'}: {level.counts['regressed']} of {level.cells}{level.rest}"
            for level in rest[:3]
        )
        more = f" and {len(rest) - 3} more levels" if len(rest) > 3 else ""
        cells = f"{first.counts['regressed']} of {fmt.plural(first.cells, 'cell')}"
        return f"{self.axis} {first.name}: {cells} regressed{first.rest}; {', '.join(others)}{more}"


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
    matched: tuple[str, ...]  # how cells were matched that are not as written, once each
    samples: tuple[Sample, ...]  # what was judged, and by which rules: for who wants to judge again
    rules: Rules
    behind: Mapping[Hashable, tuple[Pair, ...]]  # key of a sample → its cells; of a curve all of them
    undirected: tuple[str, ...] = ()  # metrics of both sides whose better direction nobody told: no rows
    by: str = ""  # the axis whose levels are compared, "" of files
    confirmed: str = ""  # what became of the numbers that were measured again; "" if none were

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
    def provisional(self) -> int:
        """How many verdicts rest on one session a side."""
        return sum(row.provisional for row in self.rows)

    @property
    def clocks(self) -> tuple[str, ...]:
        """What is said of sessions whose clock was set."""
        told = (text for of in (self.a, self.b) for text in clock_warnings(of.machines, of.when))
        return tuple(dict.fromkeys(told))

    def fails(self, verdicts: Collection[str]) -> bool:
        """Is there a row with one of these verdicts? A number without a verdict is an inconclusive one."""
        return any(("inconclusive" if row.once else row.verdict) in verdicts for row in self.rows)


# --- sides -------------------------------------------------------------------------------------------------


def side(name: SideName, title: str, results: Results, only: Collection[str] = ()) -> Side:
    """Return a side of all runs of some results; `only`: of these sweeps."""
    return _side(name, title, results, lambda run: not only or run.cell.sweep in only)


def levels(results: Results, axis: str, wanted: str, only: Collection[str] = ()) -> tuple[Side, Side]:
    """Return two sides from one set of results: the runs of two levels of an axis, which `wanted` names with a comma between, as
    labels print them: "local,remote"; of lists "1k,4k,8k,16k".

    The axis is an option, "place", "relation", "program" or "host". Raises UserError where no run has a level, with those there are.
    """
    runs = [run for tool in results.tools for run in results.good(tool) if not only or run.cell.sweep in only]
    known = sorted({level for run in runs if (level := level_of(run, axis)) is not None}, key=natural)
    axes = sorted({a for run in runs for a in run.cell.axes} | {"host", "program"})
    if not known:
        hint = nearest_word(axis, axes) or f"there are: {', '.join(axes)}"
        raise UserError(f"--by {axis}", "no run has it", hint)
    text = _spaced(wanted)
    pairs = [(a, b) for a in known for b in known if a != b and f"{_spaced(a)},{_spaced(b)}" == text]
    if not pairs:
        unknown = next((level for level in text.split(",") if level not in known), text)
        several = "; ".join(known[:20]) if any("," in level for level in known) else ", ".join(known[:20])
        hint = nearest_word(unknown, known) or f"its levels: {several}"
        said = f"no run has {axis}={unknown}" if text.count(",") == 1 else "names no two of its levels"
        raise UserError(f"--by {axis}={wanted}", said, hint)
    a, b = pairs[0]
    return (
        _side("A", f"{axis}={a}", results, lambda run: level_of(run, axis) == a and (not only or run.cell.sweep in only)),
        _side("B", f"{axis}={b}", results, lambda run: level_of(run, axis) == b and (not only or run.cell.sweep in only)),
    )  # fmt: skip


def _spaced(text: str) -> str:
    return ",".join(part.strip() for part in text.split(","))


def level_of(run: Run, axis: str) -> str | None:
    """Return a run's level of an axis as it is written; None if it has none."""
    value: Any
    match axis:
        case "place":
            value = run.place
        case "relation":
            value = run.relation
        case "program":
            value = run.record.program
        case "host":
            value = run.host
        case _:
            value = run.cell.labels().get(axis, run.cell.options.get(axis))
            value = listed(value) if isinstance(value, tuple) else value
    return None if value in (None, "") else str(value)


def _side(name: SideName, title: str, results: Results, wanted: Callable[[Run], bool]) -> Side:
    runs = tuple(run for tool in results.tools for run in results.good(tool) if wanted(run) and not run.void)
    failed = [run for run in results.failed if wanted(run)]
    return Side(
        name=name,
        title=title,
        results=results,
        runs=runs,
        left_out=tuple(
            [run for run in results.disturbed if wanted(run)]
            + [run for run in results.runs if run.void and wanted(run)]
            + [run for run in failed if run.record.status in LEFT_OUT]
        ),
        failed=tuple(run for run in failed if run.record.status not in LEFT_OUT),
        when=timeline(results.machines),
    )


# --- the comparison ----------------------------------------------------------------------------------------


def compare(a: Side, b: Side, ask: Ask | None = None, *, by: str = "") -> Comparison:
    """Compare two sides. `by`: the axis whose levels they are, which then does not tell cells apart.

    Raises UserError where a side has no numbers, where a tool would be compared with its stand-in and that was not asked for,
    and where an option to be ignored tells cells of a side apart, or is none of any run.
    """
    ask = ask or Ask()
    for one in (a, b):
        if not one.runs:
            raise UserError(
                one.title, "has no runs that give numbers", "`pinsweep show FILE` says what became of them"
            )
    across = _across(a, b, allowed=ask.across_programs or by == "program")
    ignore = (*ask.ignore, *((by,) if by else ()))
    _refuse_axes(a, b, ask.ignore)
    matching = match(
        cells(a.runs, ignore),
        cells(b.runs, ignore),
        None if by else _why(absence(a.results, "A"), absence(b.results, "B")),
    )
    drafts, missing = _drafts(matching, ask)
    samples, rules = tuple(_samples(drafts, a, b)), _rules(ask, drafts)
    families = judge(samples, rules)
    decisions = {d.key: d for family in families for d in family.decisions}
    facts = prints.fingerprint(*([m.session for m in of.machines] for of in (a, b)))
    facts |= prints.programs(a.runs, b.runs)
    facts |= prints.commands(
        (pair.a.name, pair.a.runs, pair.b.runs)
        for pair in matching.pairs
        if not by or pair.a.runs[0].captured
    )
    rows = tuple(sorted((_row(draft, decisions[key]) for key, draft in enumerate(drafts)), key=worst_first))
    return Comparison(
        a=a,
        b=b,
        rows=rows,
        families=families,
        unmatched=(*matching.unmatched, *missing),
        fingerprint=prints.compared(facts),
        across=across,
        modes=tuple(_mode_shifts(matching.pairs)),
        shared=shared(rows),
        matched=tuple(dict.fromkeys(pair.said for pair in matching.pairs if pair.said)),
        samples=samples,
        rules=rules,
        behind={key: draft.curve or (draft.pair,) for key, draft in enumerate(drafts)},
        undirected=_undirected(matching.pairs),
        by=by,
    )


def _undirected(pairs: Iterable[Pair]) -> tuple[str, ...]:
    """Return the metrics that both sides of a pair have, and whose better direction their experiment does not tell."""
    return tuple(
        dict.fromkeys(
            name
            for pair in pairs
            for name in numbers.undirected(pair.a.runs[0])
            if name in numbers.undirected(pair.b.runs[0])
        )
    )


def _why(
    of_a: Callable[[CellOfSide], str], of_b: Callable[[CellOfSide], str]
) -> Callable[[SideName, CellOfSide], str]:
    """Return what says of a cell of one side why the other has none."""
    return lambda side, cell: of_b(cell) if side == "A" else of_a(cell)


def _across(a: Side, b: Side, *, allowed: bool) -> tuple[str, ...]:
    """Return the tools of which the sides ran different programs. Raises UserError unless that was asked for."""
    by_tool = [group_by(one.runs, lambda run: run.tool) for one in (a, b)]
    found = []
    for tool in filter(by_tool[1].__contains__, by_tool[0]):
        left, right = ({naming.program_kind(run) for run in runs[tool]} for runs in by_tool)
        if len(left | right) > 1:
            found.append(f"A is {fmt.words(sorted(left))}, B is {fmt.words(sorted(right))}")
    if found and not allowed:
        raise UserError(
            "compare",
            f"not the same program: {'; '.join(found)}",
            "their numbers differ on one and the same machine; --across-programs compares them all the same, and says so",
        )
    return tuple(found)


def refuse_sweeps(only: Collection[str], *results: Results) -> None:
    """Raise UserError for a sweep that none of the results has."""
    known = sorted({run.cell.sweep for one in results for run in one.runs}, key=natural)
    for name in only:
        if known and name not in known:
            hint = nearest_word(name, known) or f"sweeps: {', '.join(known[:20])}"
            raise UserError(f"--only {name}", "no run is of this sweep", hint)


def refuse_twice(a: Results, b: Results) -> None:
    """Raise UserError where both sides hold one and the same session: a copy of a file, a baseline that has today's."""
    of_a = {_identity(machine.session): machine for machine in a.machines}
    for machine in b.machines:
        if (other := of_a.get(_identity(machine.session))) is not None:
            raise UserError(
                str(b.paths[machine.file]),
                f"holds the session of {machine.host} from {machine.session.started_utc}, and so does {a.paths[other.file]}",
                "runs compared with themselves are always the same; --aa asks how often runs that did not change are accused",
            )


def _identity(session: Session) -> Hashable:
    return session.host, session.started_utc, session.seed, session.argv, canonical_json(session.facts)


def _refuse_axes(a: Side, b: Side, ignore: Iterable[str]) -> None:
    known = sorted({"place", *(name for one in (a, b) for run in one.runs for name in run.cell.options)})
    for name in ignore:
        if name not in known:
            hint = nearest_word(name, known) or f"there are: {', '.join(known[:20])}"
            raise UserError(f"--ignore {name}", "no run has this option", hint)
        for one in (a, b):
            for (_, sweep), runs in group_by(one.runs, lambda run: (run.tool, run.cell.sweep)).items():
                values = sorted({str(level_of(run, name)) for run in runs}, key=natural)
                if len(values) > 1:
                    raise UserError(
                        f"--ignore {name}",
                        f"{one.title}: the cells of {sweep} differ in it ({fmt.words(values[:6])})",
                        f"--by {name}={','.join(values[:2])} compares two of its levels",
                    )


@dataclass(frozen=True, slots=True)
class _Draft:
    """A number of a pair before its verdict."""

    pair: Pair
    a: Sequence[_Value]
    b: Sequence[_Value]
    family: str = ""
    step: float = 0.0  # the last digit, where the numbers do not know it
    curve: tuple[Pair, ...] = ()  # of a number of a curve over cells: all of them

    @property
    def name(self) -> Name:
        return self.a[0][0].name

    @property
    def numbers(self) -> list[Number]:
        return [number for number, _ in (*self.a, *self.b)]

    @property
    def resolution(self) -> float:
        every = [n.printed_to(self.step) if self.step else n for n in self.numbers]
        return statistics.median(number.resolution for number in every)


_Value = tuple[Number, Run]
"""A number, and its run; of a curve over cells one of its runs."""

_Found = dict[Name, list[_Value]]
_Read = Callable[[Run], Sequence[Number]]


def _drafts(matching: Matching, ask: Ask) -> tuple[list[_Draft], list[Unmatched]]:
    """Return every number that all repeats of both cells of a pair have, and say which only one side, or some repeats, have."""
    read = functools.cache(numbers.numbers)  # a curve over cells needs them again
    drafts: list[_Draft] = []
    missing: list[Unmatched] = []
    for pair in matching.pairs:
        left, right = (_found(cell, read) for cell in (pair.a, pair.b))
        for metric, (unit, other) in _units_that_changed(pair.a, pair.b).items():
            for found in (left, right):
                for name in [name for name in found if name.metric == metric]:
                    del found[name]
            reason = f"not the same unit (A: {unit or 'none'}; B: {other or 'none'}): {metric}"
            missing.append(Unmatched(side="both", sweep=pair.b.sweep, cell=pair.b.name, reason=reason))
        missing += _missing("A", "B", pair.a, left, right)
        missing += _missing("B", "A", pair.b, right, left)
        whole, partly = _of_all_repeats(pair, (left, len(pair.a.runs)), (right, len(pair.b.runs)))
        drafts, missing = [*drafts, *whole], [*missing, *partly]
    curves, partly = _curves(matching.pairs, read, ask.slo_ns)
    return _with_steps(_with_families([*drafts, *curves])), [*missing, *partly]


def _of_all_repeats(
    pair: Pair, a: tuple[_Found, int], b: tuple[_Found, int], curve: tuple[Pair, ...] = ()
) -> tuple[list[_Draft], list[Unmatched]]:
    """Return the numbers that all repeats of both cells have, and say which only some have: those stand for no cell.

    a, b: what was found on a side, and in how many repeats.
    """

    def few(name: Name) -> tuple[str, ...]:
        sides = zip("AB", (a, b), strict=True)
        return tuple(f"{len(found[name])} of {n} repeats of {side}" for side, (found, n) in sides if len(found[name]) < n)  # fmt: skip

    told = group_by((name for name in a[0] if name in b[0]), few)
    whole = [_Draft(pair=pair, a=a[0][name], b=b[0][name], curve=curve) for name in told.pop((), ())]
    return whole, [
        Unmatched(
            side="both", sweep=pair.a.sweep, cell=pair.a.name, reason=f"only {fmt.words(which)} have {_few(names)}"
        )
        for which, names in told.items()
    ]  # fmt: skip


def _units_that_changed(a: CellOfSide, b: CellOfSide) -> dict[str, tuple[str, str]]:
    """Return the metrics that an experiment reads in another unit on each side: the reading was mended, not the machine."""
    of_a, of_b = (cell.runs[0].cell.options.get("metrics") or {} for cell in (a, b))
    units = {
        name: (str(of_a[name].get("unit", "")), str(of_b[name].get("unit", "")))
        for name in of_a
        if name in of_b
    }
    return {
        name: (one, other)
        for name, (one, other) in units.items()
        if to_base(one)[0] != to_base(other)[0] and to_base(one)[1] == to_base(other)[1]
    }


def _found(cell: CellOfSide, read: _Read) -> _Found:
    return group_by(((number, run) for run in cell.runs for number in read(run)), _name_of)


def _name_of(one: _Value) -> Name:
    return one[0].name


def _session(run: Run) -> SessionKey:
    return run.file, run.session.session


def _missing(
    own: SideName, other: SideName, cell: CellOfSide, has: Collection[Name], lacks: Collection[Name]
) -> list[Unmatched]:
    """Say of the rows that only one side of a pair has which they are, in one line a cell and reason."""
    measured = {_unmeasured(name): name for name in lacks}
    told = {(name.metric, name.part) for name in lacks}

    def reason(name: Name) -> str:
        if there := measured.get(_unmeasured(name)):
            return f"not the same unit or direction ({own}: {_measure(name)}; {other}: {_measure(there)}): "
        if name.statistic in dict(QUANTILES) and (name.metric, name.part) in told:
            return f"{other} has too few operations or bins for a "
        return f"{other} has no "

    return [
        Unmatched(side=own, sweep=cell.sweep, cell=cell.name, reason=why + _few(names))
        for why, names in group_by((name for name in has if name not in lacks), reason).items()
    ]


def _few(names: Sequence[Name]) -> str:
    words = [name.words for name in names]
    return fmt.words(words) if len(words) <= 3 else f"{', '.join(words[:3])} and {len(words) - 3} more"


def _unmeasured(name: Name) -> Name:
    return dataclasses.replace(name, unit="", better="neither")


def _measure(name: Name) -> str:
    """Return "ns, lower is better"."""
    return f"{name.unit if name.unit not in ('', '1') else 'no unit'}, {name.better} is better"


def _curves(pairs: Sequence[Pair], read: _Read, slo_ns: float | None) -> tuple[list[_Draft], list[Unmatched]]:
    """Return the derived numbers of curves over cells: one value per repeat, from the runs of that repeat in all its cells; and those
    that only some of these repeats have."""

    def curve_of(pair: Pair) -> tuple[str, str, Hashable]:
        axis = numbers.curve_axis(pair.a.tool)
        return pair.a.tool, pair.a.sweep, tuple(sorted((k, v) for k, v in pair.a.labels.items() if k != axis))

    drafts: list[_Draft] = []
    missing: list[Unmatched] = []
    along = (pair for pair in pairs if numbers.curve_axis(pair.a.tool) in pair.a.axes)
    for (tool, *_), members in group_by(along, curve_of).items():
        left, right = (
            _of_curves(cells, read, slo_ns) for cells in ([p.a for p in members], [p.b for p in members])
        )
        head = _over(members[0], numbers.curve_axis(tool))
        peaks = [_peaks(cells, read) for cells in ([p.a for p in members], [p.b for p in members])]
        of_both = [name for name in peaks[0] if name in peaks[1]]
        drafts += [_Draft(pair=head, a=peaks[0][n], b=peaks[1][n], curve=tuple(members)) for n in of_both]
        whole, partly = _of_all_repeats(head, left, right, tuple(members))
        drafts, missing = [*drafts, *whole], [*missing, *partly]
    return drafts, missing


def _of_curves(cells: Sequence[CellOfSide], read: _Read, slo_ns: float | None) -> tuple[_Found, int]:
    """Return what the curves of the repeats offer, and how many there are."""
    runs = (run for cell in cells for run in cell.runs if numbers.axis_value(run) is not None)
    repeats = group_by(runs, lambda run: run.turn).values()
    curves = [
        ({at: read(run) for run in own if (at := numbers.axis_value(run)) is not None}, own[0])
        for own in repeats
    ]
    most = max((len(curve) for curve, _ in curves), default=0)
    whole = [one for one in curves if len(one[0]) == most]  # a repeat that lacks a cell has another curve
    offered = ((n, run) for curve, run in whole for n in numbers.curve_numbers(cells[0].tool, curve, slo_ns))
    return group_by(offered, _name_of), len(whole)


def _peaks(cells: Sequence[CellOfSide], read: _Read) -> _Found:
    """Return the peaks over cells: each all repeats of one of them."""
    by_value: dict[int, _Found] = {}
    for cell in cells:
        at = numbers.axis_value(cell.runs[0])
        found = {name: own for name, own in _found(cell, read).items() if len(own) == len(cell.runs)}
        if at is not None:
            by_value[at] = found
    values = {
        at: {name: [number.value for number, _ in own] for name, own in found.items()}
        for at, found in by_value.items()
    }
    return {
        peak: [(dataclasses.replace(number, name=peak), run) for number, run in by_value[at][name]]
        for peak, (at, name) in numbers.peaks(cells[0].tool, values).items()
    }


def _over(pair: Pair, axis: str | None) -> Pair:
    """Return a pair that stands for all cells of a curve: without the axis that the curve goes over."""

    def without(cell: CellOfSide) -> CellOfSide:
        return dataclasses.replace(cell, axes=tuple(name for name in cell.axes if name != axis))

    return dataclasses.replace(pair, a=without(pair.a), b=without(pair.b))


def _with_steps(drafts: list[_Draft]) -> list[_Draft]:
    """Give numbers of programs whose format nobody knows the last digit that their values show."""

    def is_unknown(draft: _Draft) -> bool:
        return numbers.digits_unknown(draft.pair.a.tool, draft.a[0][0])

    unknown = group_by(filter(is_unknown, drafts), lambda draft: draft.family)
    steps = {
        family: numbers.last_digit(number for draft in own for number in draft.numbers)
        for family, own in unknown.items()
    }
    return [dataclasses.replace(d, step=steps[d.family]) if is_unknown(d) else d for d in drafts]


def _with_families(drafts: Sequence[_Draft]) -> list[_Draft]:
    """Name the families: tool, kind and metric, and the unit where there are several.

    Derived numbers of a tool have a family of their own, as they repeat what its cells say.
    """

    def title(draft: _Draft) -> str:
        tool, name = draft.pair.a.tool, draft.name
        return (
            f"{tool}, derived" if name.derived else " ".join(filter(None, (tool, name.kind, name.quantity)))
        )

    units = {
        of: {d.name.unit for d in own if not d.name.derived} for of, own in group_by(drafts, title).items()
    }
    return [
        dataclasses.replace(d, family=title(d) + (f", {d.name.unit}" if len(units[title(d)]) > 1 else ""))
        for d in drafts
    ]


def _samples(drafts: Sequence[_Draft], a: Side, b: Side) -> list[Sample]:
    return [
        Sample(
            key=key,
            family=draft.family,
            a=tuple(number.value for number, _ in draft.a),
            b=tuple(number.value for number, _ in draft.b),
            better=draft.name.better,
            session_a=tuple(a.when[_session(run)].evidence for _, run in draft.a),
            session_b=tuple(b.when[_session(run)].evidence for _, run in draft.b),
            resolution=draft.resolution,
            interleaved=_took_turns(draft, a, b),
        )
        for key, draft in enumerate(drafts)
    ]


def _took_turns(draft: _Draft, a: Side, b: Side) -> bool:
    """Were both sides measured in the same sessions? Of several, as often in each: else one side has more of a good day. Captured
    texts share the session that took them in, and nothing tells in which they were measured."""
    if a.results is not b.results:  # files of one name may lie in two folders
        return False
    if any(run.captured for _, run in (*draft.a, *draft.b)):
        return False
    left, right = (Counter(_session(run) for _, run in side) for side in (draft.a, draft.b))
    return left.keys() == right.keys() and (len(left) == 1 or left == right)


def _rules(ask: Ask, drafts: Sequence[_Draft]) -> Rules:
    """Turn thresholds named by a word of the metric into those of families. Raises UserError for a word that no metric has."""
    families = {draft.family: _words(draft.pair.a.tool, draft.name) for draft in drafts}
    known = sorted({word for words in families.values() for word in words})
    thresholds: dict[str, float] = {}
    for name, value in ask.thresholds.items():
        hit = [family for family, words in families.items() if name.lower() in words]
        if not hit:
            raise UserError(
                f"--threshold {name}", "no metric of these results has this name", nearest_word(name, known) or f"there are: {', '.join(known)}"
            )  # fmt: skip
        thresholds |= dict.fromkeys(hit, value)
    return Rules(threshold=ask.threshold, thresholds=thresholds)


def _words(tool: str, name: Name) -> frozenset[str]:
    if name.derived:
        return frozenset({"derived"})
    metric = name.quantity.lower()
    return frozenset({metric, *metric.split(), tool, name.kind.lower()} - {""})


# --- rows --------------------------------------------------------------------------------------------------


def _row(draft: _Draft, decision: Decision) -> Row:
    cell, name = draft.pair.a, draft.name
    inner = {label: str(value) for label, value in name.part}
    return Row(
        pair=draft.pair,
        number=name,
        labels={**cell.labels, **inner, "metric": name.quantity, "sweep": cell.sweep, "tool": cell.tool},
        a=tuple(number.value for number, _ in draft.a),
        b=tuple(number.value for number, _ in draft.b),
        decision=decision,
    )


_RANK: Final[Mapping[Verdict, int]] = {"regressed": 0, "inconclusive": 1, "same": 2, "improved": 3}


def worst_first(row: Row) -> tuple[object, ...]:
    """Regressed, worst first; then what nobody can tell, what is the same, and what is better, best last. Equal ones stay in the order
    of their tables, sizes from the smallest."""
    shift = 0.0 if row.better == "neither" else row.decision.shift or 0.0
    return (4 if row.once else _RANK[row.verdict]), -shift


def shared(rows: Sequence[Row]) -> tuple[Shared, ...]:
    """Return the levels that the regressed cells have in common.

    A level is named where at least three cells regressed, it holds at least four fifths of them, at least half of its own
    regressed, and at most a tenth of the others, of which at least half are decided. Cells without the axis count as others;
    derived numbers and single runs do not count, nor an axis with more than 40 levels.
    """
    judged = [row for row in rows if not row.once and not row.derived]
    found = []
    for axis in dict.fromkeys(name for row in judged if row.verdict == "regressed" for name in row.labels):
        levels = _levels(judged, axis)
        if not 1 < len(levels) <= 40:
            continue
        first, *rest = sorted(levels, key=lambda level: (-level.counts["regressed"], natural(level.name)))
        rest.sort(key=lambda level: natural(level.name))
        hit, others = first.counts["regressed"], sum(level.counts["regressed"] for level in rest)
        open_, of_others = (
            sum(n) for n in zip(*((x.counts["inconclusive"], x.cells) for x in rest), strict=True)
        )
        if (
            first.name
            and hit + others >= 3
            and hit >= 0.8 * (hit + others)
            and hit >= 0.5 * first.cells
            and others <= 0.1 * of_others
            and open_ <= 0.5 * of_others
        ):
            found.append(Shared(axis=axis, levels=(first, *rest)))
    return tuple(found)


def _levels(rows: Iterable[Row], axis: str) -> list[Level]:
    return [_level(name, own) for name, own in group_by(rows, lambda row: row.labels.get(axis, "")).items()]


def _level(name: str, rows: Iterable[Row]) -> Level:
    order: tuple[Verdict, ...] = ("regressed", "inconclusive", "improved", "same")
    of_cells = group_by(rows, lambda row: row.pair.key).values()
    counted = Counter(min((row.verdict for row in own), key=order.index) for own in of_cells)
    return Level(name=name, counts={verdict: counted[verdict] for verdict in VERDICTS})


# --- distributions -----------------------------------------------------------------------------------------

_ONE_MODE: Final = 0.95
"""A side with so much of its samples in one mode has one mode; where both have, the quantiles say all there is to say."""


def _mode_shifts(pairs: Iterable[Pair]) -> Iterable[ModeShift]:
    """Return the modes whose share moved by five points or more, and more than an exchange of runs between the sides explains.

    p is at most 5 %, or the lowest that so few runs can give: three a side are apart in one of ten cells by chance, which is
    said (`by_chance`, from the p-values of all cells together).
    """
    names: dict[Hashable, str] = {}
    shapes = []
    for pair in pairs:
        left, right = (_by_name(cell) for cell in (pair.a, pair.b))
        for name in filter(right.__contains__, left):
            key = len(names)
            names[key] = f"{', '.join(filter(None, (pair.a.sweep, pair.a.name)))}: {name.title}"
            shapes.append(distribution.Shapes(key=key, a=left[name], b=right[name]))
    for shape in distribution.judge_shapes(shapes):
        likely = shape.p is not None and shape.p > max(0.05, shape.least_p or 0.0)
        single = all(
            max(shares) >= _ONE_MODE for shares in zip(*((m.a, m.b) for m in shape.modes), strict=True)
        )
        if likely or single:
            continue
        weak = shape.q is None or shape.q > 0.05
        yield from (
            ModeShift(name=names[shape.key], at=mode.at, share_a=mode.a, share_b=mode.b, by_chance=weak)
            for mode in shape.modes
            if mode.shifted
        )


def _by_name(cell: CellOfSide) -> dict[Name, tuple[Buckets, ...]]:
    every = (one for run in cell.runs for one in numbers.histograms(run))
    return {name: tuple(b for _, b in own) for name, own in group_by(every, lambda one: one[0]).items()}
