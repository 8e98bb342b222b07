"""The numbers of both sides in pairs, before anything is decided: of cells, and of whole curves."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator
import statistics
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from parsers.units import to_base
from reports import numbers
from reports.compare.matching import CellOfSide, Matching, Pair, Unmatched
from reports.compare.model import Ask
from reports.compare.sides import SideName
from reports.numbers import QUANTILES, Name, Number, last_digit
from reports.numbers.model import resolution
from reports.results.grouping import group_by
from reports.results.model import Run
from reports.text import format as fmt


@dataclass(frozen=True, slots=True)
class Values:
    """A number of some runs: columns, for a comparison has a million values."""

    values: tuple[float, ...]
    steps: tuple[float | None, ...]  # of each the last digit (`Number.step`)
    runs: tuple[Run, ...]  # whose each is; of a curve over cells one of its runs

    @classmethod
    def of(cls, found: Sequence[_Value], cell: Sequence[Run] = ()) -> Self:
        """Return the values of a number; `cell`: runs of which each gives one, as a rule, in this order."""
        runs = tuple(run for _, run in found)
        same = len(runs) == len(cell) and all(map(operator.is_, runs, cell))
        steps = tuple(number.step for number, _ in found)
        return cls(
            values=tuple(number.value for number, _ in found),
            steps=_alike(steps[0], len(steps)) if len({*steps}) == 1 else steps,
            runs=tuple(cell) if same else runs,
        )

    def numbers(self, name: Name) -> Iterator[Number]:
        return (Number(name=name, value=v, step=s) for v, s in zip(self.values, self.steps, strict=True))


@functools.lru_cache(maxsize=1 << 10)
def _alike(step: float | None, n: int) -> tuple[float | None, ...]:
    return (step,) * n


@dataclass(frozen=True, slots=True)
class Draft:
    """A number of a pair before its verdict."""

    pair: Pair
    name: Name
    a: Values
    b: Values
    family: str = ""
    step: float = 0.0  # the last digit, where the numbers do not know it
    curve: tuple[Pair, ...] = ()  # of a number of a curve over cells: all of them

    @property
    def tool(self) -> str:
        return self.pair.a.tool

    @property
    def printed_by(self) -> Hashable:
        return self.pair.a.sweep, self.family

    def numbers(self) -> Iterator[Number]:
        return itertools.chain(self.a.numbers(self.name), self.b.numbers(self.name))

    def printed_to(self, step: float) -> Draft:
        return dataclasses.replace(self, step=step)

    @property
    def printed(self) -> float | None:
        """The last digit of all values on both sides; None where they differ in it, or nobody knows it."""
        steps = {*self.a.steps, *self.b.steps}
        return self.step or (steps.pop() if len(steps) == 1 else None)

    @property
    def resolution(self) -> float:
        return statistics.median(
            resolution(value, self.step or step)
            for side in (self.a, self.b)
            for value, step in zip(side.values, side.steps, strict=True)
        )


_Value = tuple[Number, Run]
"""A number, and its run; of a curve over cells one of its runs."""


_Found = dict[Name, list[_Value]]


"""What a run is compared by."""


def drafts_of(matching: Matching, ask: Ask) -> tuple[list[Draft], list[Unmatched]]:
    """Return every number that all repeats of both cells of a pair have, and say which only one side, or some repeats, have."""
    drafts: list[Draft] = []
    missing: list[Unmatched] = []
    for pair in matching.pairs:
        left, right = _of_any_traffic(*(_found(cell) for cell in (pair.a, pair.b)))
        for metric, why in {**_units_that_changed(pair.a, pair.b), **_parts(pair)}.items():
            for found in (left, right):
                for name in [name for name in found if name.metric == metric]:
                    del found[name]
            reason = f"{why}: {metric}"
            missing.append(Unmatched(side="both", sweep=pair.b.sweep, cell=pair.b.name, reason=reason))
        missing += _missing("A", "B", pair.a, left, right)
        missing += _missing("B", "A", pair.b, right, left)
        whole, partly = _of_all_repeats(pair, (left, len(pair.a.runs)), (right, len(pair.b.runs)))
        drafts += whole
        missing += partly
    curves, partly = _curves(matching.pairs, ask.slo_ns)
    return last_digit.told(_with_families([*drafts, *curves])), [*missing, *partly]


def _of_all_repeats(
    pair: Pair, a: tuple[_Found, int], b: tuple[_Found, int], curve: tuple[Pair, ...] = ()
) -> tuple[list[Draft], list[Unmatched]]:
    """Return the numbers that all repeats of both cells have, and say which only some have: those stand for no cell.

    a, b: what was found on a side, and in how many repeats.
    """

    def few(name: Name) -> tuple[str, ...]:
        sides = zip("AB", (a, b), strict=True)
        return tuple(f"{len(found[name])} of {n} repeats of {side}" for side, (found, n) in sides if len(found[name]) < n)  # fmt: skip

    told = group_by((name for name in a[0] if name in b[0]), few)
    whole = [_draft(pair, a[0][name], b[0][name], curve) for name in told.pop((), ())]
    return whole, [
        Unmatched(
            side="both", sweep=pair.a.sweep, cell=pair.a.name, reason=f"only {fmt.words(which)} have {_few(names)}"
        )
        for which, names in told.items()
    ]  # fmt: skip


def _draft(pair: Pair, a: Sequence[_Value], b: Sequence[_Value], curve: tuple[Pair, ...] = ()) -> Draft:
    of_a, of_b = Values.of(a, pair.a.runs), Values.of(b, pair.b.runs)
    return Draft(pair=pair, name=a[0][0].name, a=of_a, b=of_b, curve=curve)


def _of_any_traffic(a: _Found, b: _Found) -> tuple[_Found, _Found]:
    """Return the numbers of both sides; where each is of one traffic, and not of the same, under names without it."""
    of_a, of_b = ({dict(name.part).get("traffic") for name in found} - {None} for found in (a, b))
    if not (len(of_a) == len(of_b) == 1 and of_a != of_b):
        return a, b

    def bare(found: _Found) -> _Found:
        return {
            to: [(dataclasses.replace(number, name=to), run) for number, run in own]
            for name, own in found.items()
            for to in [dataclasses.replace(name, part=tuple(of for of in name.part if of[0] != "traffic"))]
        }

    return bare(a), bare(b)


def _parts(pair: Pair) -> dict[str, str]:
    """Return the rates of a pair whose sides read and write in different shares, so that each is of another part of its I/Os."""
    first = [side.runs[0] for side in (pair.a, pair.b)]
    a, b = ([numbers.mixed(run), *map(run.options.get, ("rwmixread", "rwmixwrite"))] for run in first)
    if a == b or not (a[0] or b[0]):
        return {}
    leads = (numbers.leader(side.runs).name for side in (pair.a, pair.b))
    return {name.metric: "the sides read and write in different shares" for name in leads if name}


def _units_that_changed(a: CellOfSide, b: CellOfSide) -> dict[str, str]:
    """Return the metrics that an experiment reads in another unit on each side, and which: the reading was mended, not the machine."""
    of_a, of_b = (cell.runs[0].cell.options.get("metrics") or {} for cell in (a, b))
    units = {
        name: (str(of_a[name].get("unit", "")), str(of_b[name].get("unit", "")))
        for name in of_a
        if name in of_b
    }
    return {
        name: f"not the same unit (A: {one or 'none'}; B: {other or 'none'})"
        for name, (one, other) in units.items()
        if to_base(one)[0] != to_base(other)[0] and to_base(one)[1] == to_base(other)[1]
    }


def _found(cell: CellOfSide) -> _Found:
    return group_by(((number, run) for run in cell.runs for number in numbers.numbers(run)), _name_of)


def _name_of(one: _Value) -> Name:
    return one[0].name


def _missing(
    own: SideName, other: SideName, cell: CellOfSide, has: Collection[Name], lacks: Collection[Name]
) -> list[Unmatched]:
    """Say of the rows that only one side of a pair has which they are, in one line a cell and reason."""
    measured = {_unmeasured(name): name for name in lacks}
    told = {(name.metric, name.part) for name in lacks}

    def reason(name: Name) -> tuple[SideName | Literal["both"], str, bool]:
        if there := measured.get(_unmeasured(name)):
            return "both", f"{_otherwise(own, name, other, there)}: ", False
        if name.statistic in dict(QUANTILES) and (name.metric, name.part) in told:
            return own, f"{other} has too few operations or bins for a ", True
        return own, f"{other} has no ", name.derived

    found = group_by((name for name in has if name not in lacks), reason)
    return [
        Unmatched(
            side=side,
            sweep=cell.sweep,
            cell=cell.name,
            reason=why + _few(names),
            part=side != "both",
            optional=optional,
        )
        for (side, why, optional), names in found.items()
        if side != "both" or own == "A"  # of B it would be the same once more
    ]


def _few(names: Sequence[Name]) -> str:
    words = [name.words for name in names]
    return fmt.words(words) if len(words) <= 3 else f"{', '.join(words[:3])} and {len(words) - 3} more"


def _unmeasured(name: Name) -> Name:
    return dataclasses.replace(name, unit="", better="neither")


def _otherwise(own: SideName, here: Name, other: SideName, there: Name) -> str:
    """Return in what a number is another on the other side: "not the same unit (A: ns; B: B/s)", "not the same unit or direction (A: ns, lower is
    better; B: no unit, higher is better)"."""
    measures = {
        "unit": [name.unit if name.unit not in ("", "1") else "no unit" for name in (here, there)],
        "direction": [f"{name.better} is better" for name in (here, there)],
    }
    differ = {what: sides for what, sides in measures.items() if sides[0] != sides[1]}
    a, b = map(", ".join, zip(*differ.values(), strict=True))
    return f"not the same {fmt.words(differ, 'or')} ({own}: {a}; {other}: {b})"


def _curves(pairs: Sequence[Pair], slo_ns: float | None) -> tuple[list[Draft], list[Unmatched]]:
    """Return the derived numbers of curves over cells: one value per repeat, from the runs of that repeat in all its cells; and those
    that only some of these repeats have."""

    def curve_of(pair: Pair) -> tuple[str, str, Hashable]:
        axis = numbers.curve_axis(pair.a.tool)
        return pair.a.tool, pair.a.sweep, tuple(sorted((k, v) for k, v in pair.a.labels.items() if k != axis))

    drafts: list[Draft] = []
    missing: list[Unmatched] = []
    along = (pair for pair in pairs if numbers.curve_axis(pair.a.tool) in pair.a.axes and not _parts(pair))
    for (tool, *_), members in group_by(along, curve_of).items():
        left, right = (_of_curves(cells) for cells in ([p.a for p in members], [p.b for p in members]))
        axis, first = numbers.curve_axis(tool), members[0]
        head = dataclasses.replace(first, a=first.a.over(axis), b=first.b.over(axis))
        peaks = [_peaks(cells, slo_ns) for cells in ([p.a for p in members], [p.b for p in members])]
        of_both = [name for name in peaks[0] if name in peaks[1]]
        drafts += [_draft(head, peaks[0][n], peaks[1][n], tuple(members)) for n in of_both]
        whole, partly = _of_all_repeats(head, left, right, tuple(members))
        drafts += whole
        missing += partly
    return drafts, missing


def _of_curves(cells: Sequence[CellOfSide]) -> tuple[_Found, int]:
    """Return what the curves of the repeats offer, and how many there are."""
    runs = (run for cell in cells for run in cell.runs if numbers.axis_value(run) is not None)
    repeats = group_by(runs, lambda run: run.turn).values()
    curves = [
        ({at: numbers.numbers(run) for run in own if (at := numbers.axis_value(run)) is not None}, own[0])
        for own in repeats
    ]
    most = max((len(curve) for curve, _ in curves), default=0)
    whole = [one for one in curves if len(one[0]) == most]  # a repeat that lacks a cell has another curve
    offered = ((n, run) for curve, run in whole for n in numbers.curve_numbers(cells[0].tool, curve))
    return group_by(offered, _name_of), len(whole)


def _peaks(cells: Sequence[CellOfSide], slo_ns: float | None) -> _Found:
    """Return the peaks over cells: each all repeats of one of them."""
    by_value: dict[int, _Found] = {}
    for cell in cells:
        at = numbers.axis_value(cell.runs[0])
        found = {name: own for name, own in _found(cell).items() if len(own) == len(cell.runs)}
        if at is not None:
            by_value[at] = found
    values = {
        at: {name: [number.value for number, _ in own] for name, own in found.items()}
        for at, found in by_value.items()
    }
    return {
        peak: [(dataclasses.replace(number, name=peak), run) for number, run in by_value[at][name]]
        for peak, (at, name) in numbers.peaks(cells[0].tool, values, slo_ns).items()
    }


def _with_families(drafts: Sequence[Draft]) -> list[Draft]:
    """Name the families: tool, kind and metric, and the unit where there are several.

    Derived numbers of a tool have a family of their own, as they repeat what its cells say.
    """

    def title(draft: Draft) -> str:
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
