"""Two sides compared: every number of every matched cell with its verdict, and what must be known before reading it. Pure.

    Results ─side→ Side ─matching→ Pairs ─numbers→ Samples ─verdicts.judge→ Rows ─→ Comparison

The verdicts are those of `reports.verdicts`; here is decided what is compared with what, and what is said about it.
"""

from __future__ import annotations

import dataclasses
import functools
import statistics
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from parsers.errors import UserError, nearest
from parsers.units import is_level
from reports import numbers
from reports.checks.audit import cell_key, joined
from reports.checks.doubts import of_results
from reports.compare.drafts import Draft, drafts_of
from reports.compare.failures import failures, silent
from reports.compare.matching import CellOfSide, Pair, absence, cells, match
from reports.compare.model import Ask, Comparison, ModeShift, Row, Sizes
from reports.compare.moves import shared
from reports.compare.sides import (
    Side,
    SideName,
    level_of,
    other_programs,
    refuse_axes,
    refuse_machines,
    session,
)
from reports.numbers import Name
from reports.numbers.formulas import Bucket
from reports.numbers.series import what_helps
from reports.results import differences
from reports.results.convicted import CellKey, doubting
from reports.results.grouping import group_by
from reports.results.model import Run
from reports.verdicts import distribution
from reports.verdicts.decide import judge
from reports.verdicts.model import Decision, Rules, Sample, Verdict


def compare(a: Side, b: Side, ask: Ask | None = None, *, by: str = "", is_part: bool = False) -> Comparison:
    """Compare two sides. `by`: the axis whose levels they are, which then does not tell cells apart. `is_part`: they are parts of sides that were
    compared, so that nothing is refused.

    Raises UserError where a side has no numbers, where a tool would be compared with its stand-in and that was not asked for,
    where an option to be ignored tells cells of a side apart, or is none of any run, and where a side is of several machines of one name.
    """
    ask = ask or Ask()
    if not is_part:
        _refuse(a, b, ask)
    across = other_programs(a, b, allowed=ask.across_programs or by == "program")
    ignore = (*ask.ignore, *((by,) if by else ()))
    matching = match(
        cells(a.runs, ignore),
        cells(b.runs, ignore),
        None if by else _why(absence(a.results, "A"), absence(b.results, "B")),
        silent=(silent(a, ignore), silent(b, ignore)),
    )
    drafts, missing = drafts_of(matching, ask)
    modes = tuple(_mode_shifts(matching.pairs))
    samples, rules = tuple(_samples(drafts, a, b)), _rules(ask, drafts)
    families = judge(samples, rules)
    decisions = {d.key: d for family in families for d in family.decisions}
    behind: dict[Hashable, tuple[Pair, ...]] = {
        key: draft.curve or (draft.pair,) for key, draft in enumerate(drafts)
    }
    doubt = _doubts(a, b)
    one = _one_machine(a, b, by)
    found = (
        dataclasses.replace(
            _row(draft, decisions[key]), doubts=doubt(behind[key], draft.name.tells_of), one_machine=one
        )
        for key, draft in enumerate(drafts)
    )
    rows = tuple(sorted(found, key=worst_first))
    return Comparison(
        a=a,
        b=b,
        rows=rows,
        families=families,
        unmatched=(*matching.unmatched, *missing),
        fingerprint=_fingerprint(a, b, matching.pairs, by, ask.ignore),
        across=across,
        modes=modes,
        shared=shared(rows),
        matched=Counter(pair.said for pair in matching.pairs if pair.said),
        samples=samples,
        rules=rules,
        behind=behind,
        failures=failures(matching, a, b, ignore),
        undirected=_undirected(matching.pairs),
        by=by,
        sizes=tuple(_sizes(matching.pairs)),
        one_machine=one,
    )


def _one_machine(a: Side, b: Side, by: str) -> bool:
    """Are both sides one machine, before and after?"""
    known = not any(run.captured for one in (a, b) for run in one.runs)
    return known and not by and not {*a.hosts}.isdisjoint(b.hosts)


def _refuse(a: Side, b: Side, ask: Ask) -> None:
    """Raise UserError for what `compare` names, but for programs."""
    for one in (a, b):
        if not one.runs and not (one.failed and (a.runs or b.runs)):  # what ran in vain failed there
            disturbed = one.results.disturbed
            raise UserError(
                one.title,
                f"has no {'undisturbed runs' if disturbed else 'runs'} that give numbers",
                what_helps(one.results) if disturbed else "`pinsweep show FILE` says what became of them",
            )
        refuse_machines(one)
    refuse_axes(a, b, ask.ignore)


def _sizes(pairs: Iterable[Pair]) -> Iterator[Sizes]:
    """Give of the pairs whose I/Os or files have different sizes what `Comparison.sizes` says."""
    for pair in pairs:
        one, other = pair.a.runs[0], pair.b.runs[0]
        if dict(one.options) == dict(other.options):
            continue
        sides = (pair.a.runs, pair.b.runs)
        if told := numbers.moved(sides):
            faster = statistics.median(told[1]) / statistics.median(told[0])
            timed = numbers.leader(pair.a.runs).unit == "ns"
            a, b = (numbers.bytes_moved(side)[0][1] for side in sides)
            yield Sizes(files=timed, a=a, b=b, faster=faster)


def _fingerprint(
    a: Side, b: Side, pairs: Sequence[Pair], by: str, ignored: Sequence[str]
) -> differences.Fingerprint:
    """Return in what both sides differ: first what was ignored as asked, then commands and programs, then the machines; those of two levels of an
    axis differ by the axis."""
    sessions = [[m.session for m in of.machines] for of in (a, b)]
    facts = differences.options(
        (name, value_a, value_b)
        for pair in pairs
        for name in ignored
        for value_a, value_b in [(level_of(pair.a.runs[0], name) or "", level_of(pair.b.runs[0], name) or "")]
        if value_a != value_b
    )
    facts |= differences.commands(
        (pair.a.name, pair.a.runs, pair.b.runs) for pair in pairs if not by or pair.a.runs[0].captured
    )
    facts |= differences.programs(a.runs, b.runs)
    facts |= differences.machines(*sessions) | differences.fingerprint(*sessions)
    return differences.compared(facts)


def _doubts(a: Side, b: Side) -> Callable[[Sequence[Pair], str], tuple[str, str]]:
    """Return what says by which checks a metric of the cells of some pairs is doubted on A and on B: each side by what its own results tell, for
    files of both may be called the same."""
    of_a = of_results(a.results)
    of_b = of_a if b.results is a.results else of_results(b.results)

    @functools.cache
    def cells_of(runs: Sequence[Run]) -> tuple[CellKey, ...]:
        return tuple(dict.fromkeys(map(cell_key, runs)))

    def said(pairs: Sequence[Pair], metric: str) -> tuple[str, str]:
        return (
            joined(doubting(of_a, cell, metric) for pair in pairs for cell in cells_of(pair.a.runs)),
            joined(doubting(of_b, cell, metric) for pair in pairs for cell in cells_of(pair.b.runs)),
        )

    return said


def _undirected(pairs: Iterable[Pair]) -> tuple[str, ...]:
    """Return the metrics that both sides of a pair have, and whose better direction their experiment does not tell."""
    metrics: dict[str, None] = {}
    for pair in pairs:
        a, b = (
            {number.name.metric: None for number in numbers.undirected(side.runs[0])}
            for side in (pair.a, pair.b)
        )
        metrics |= {metric: None for metric in a if metric in b}
    return tuple(metrics)


def _why(
    of_a: Callable[[CellOfSide], str], of_b: Callable[[CellOfSide], str]
) -> Callable[[SideName, CellOfSide], str]:
    """Return what says of a cell of one side why the other has none."""
    return lambda side, cell: of_b(cell) if side == "A" else of_a(cell)


def _samples(drafts: Sequence[Draft], a: Side, b: Side) -> Iterator[Sample]:
    known: dict[int, tuple[Hashable, ...]] = {}  # the numbers of a cell have their runs in common

    def evidence(runs: Sequence[Run], of: Side) -> tuple[Hashable, ...]:
        if id(runs) not in known:
            known[id(runs)] = tuple(of.when[session(run)].evidence for run in runs)
        return known[id(runs)]

    for key, draft in enumerate(drafts):
        yield Sample(
            key=key,
            family=draft.family,
            a=draft.a.values,
            b=draft.b.values,
            better=draft.name.better,
            session_a=evidence(draft.a.runs, a),
            session_b=evidence(draft.b.runs, b),
            resolution=draft.resolution,
            level=is_level(draft.name.unit),
            interleaved=_took_turns(draft, a, b),
            disturbed=_disturbed(draft.a.runs, draft.b.runs),
        )


def _disturbed(a: Sequence[Run], b: Sequence[Run]) -> tuple[SideName, ...]:
    """Return the sides of which something else disturbed every run."""
    sides: tuple[tuple[SideName, Sequence[Run]], ...] = (("A", a), ("B", b))
    return tuple(name for name, runs in sides if all(run.disturbance for run in runs))


def _took_turns(draft: Draft, a: Side, b: Side) -> bool:
    """Were both sides measured in the same sessions? Of several, as often in each: else one side has more of a good day. Captured
    texts share the session that took them in, and nothing tells in which they were measured."""
    if a.results is not b.results:  # files of one name may lie in two folders
        return False
    if any(run.captured for run in (*draft.a.runs, *draft.b.runs)):
        return False
    left, right = (Counter(map(session, side.runs)) for side in (draft.a, draft.b))
    return left.keys() == right.keys() and (len(left) == 1 or left == right)


def _rules(ask: Ask, drafts: Sequence[Draft]) -> Rules:
    """Turn thresholds named by a word of the metric into those of families. Raises UserError for a word that no metric has."""
    families = {draft.family: _words(draft.pair.a.tool, draft.name) for draft in drafts}
    known = sorted({word for words in families.values() for word in words})
    thresholds: dict[str, float] = {}
    for name, value in ask.thresholds.items():
        hit = [family for family, words in families.items() if name.lower() in words]
        if not hit:
            raise UserError(
                f"--threshold {name}", "no metric of these results has this name", nearest(name, known) or f"there are: {', '.join(known)}"
            )  # fmt: skip
        thresholds |= dict.fromkeys(hit, value)
    return Rules(threshold=ask.threshold, thresholds=thresholds)


def _words(tool: str, name: Name) -> frozenset[str]:
    if name.derived:
        return frozenset({"derived"})
    metric = name.quantity.lower()
    return frozenset({metric, *metric.split(), tool, name.kind.lower()} - {""})


def _row(draft: Draft, decision: Decision) -> Row:
    cell, name = draft.pair.a, draft.name
    inner = {label: str(value) for label, value in name.part}
    return Row(
        pair=draft.pair,
        number=name,
        labels={**cell.labels, **inner, "metric": name.quantity, "sweep": cell.sweep, "tool": cell.tool},
        a=draft.a.values,
        b=draft.b.values,
        step=draft.printed,
        decision=decision,
    )


_RANK: Final[Mapping[Verdict, int]] = {"regressed": 0, "inconclusive": 1, "same": 2, "improved": 3}


def worst_first(row: Row) -> tuple[object, ...]:
    """Regressed, worst first; then what nobody can tell, what is the same, and what is better, best last. Equal ones stay in the order
    of their tables, sizes from the smallest."""
    shift = 0.0 if row.better == "neither" else row.decision.shift or 0.0
    return (4 if row.once else _RANK[row.verdict]), -shift


_ONE_MODE: Final = 0.95
"""A side with so much of its samples in one mode has one mode; where both have, the quantiles say all there is to say."""


def _mode_shifts(pairs: Iterable[Pair]) -> Iterable[ModeShift]:
    """Return the modes whose share moved by five points or more, and more than an exchange of runs between the sides explains.

    p is at most 5 %, or the lowest that so few runs can give: three a side are apart in one of ten cells by chance, which is
    said (`by_chance`, from the p-values of all cells together).
    """
    names: dict[Hashable, str] = {}
    disturbed: dict[Hashable, tuple[SideName, ...]] = {}

    def shapes() -> Iterable[distribution.Shapes]:
        for pair in pairs:
            left, right = (_by_name(cell) for cell in (pair.a, pair.b))
            for name in filter(right.__contains__, left):
                key = len(names)
                disturbed[key] = _disturbed(pair.a.runs, pair.b.runs)
                names[key] = f"{', '.join(filter(None, (pair.a.sweep, pair.a.name)))}: {name.title}"
                yield distribution.Shapes(key=key, a=left[name], b=right[name])

    for shape in distribution.judge_shapes(shapes()):
        single = all(
            max(shares) >= _ONE_MODE for shares in zip(*((m.a, m.b) for m in shape.modes), strict=True)
        )
        if single or distribution.by_chance(shape.p, shape.least_p):
            continue
        weak = shape.q is None or shape.q > 0.05
        yield from (
            ModeShift(
                name=names[shape.key],
                at=mode.at,
                share_a=mode.a,
                share_b=mode.b,
                by_chance=weak,
                disturbed=disturbed[shape.key],
            )
            for mode in shape.modes
            if mode.shifted
        )


def _by_name(cell: CellOfSide) -> dict[Name, tuple[Sequence[Bucket], ...]]:
    every = (one for run in cell.runs for one in numbers.histograms(run))
    return {name: tuple(b for _, b in own) for name, own in group_by(every, lambda one: one[0]).items()}
