"""Rows of one verdict that tell the same, as one line: points of a curve, kernels of STREAM, percentiles, cells of a sweep. Pure."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reports.compare.model import Comparison, Row, options_said
from reports.results import naming
from reports.results.grouping import group_by
from reports.results.levels import LevelKey, natural
from reports.text import format as fmt
from reports.verdicts.model import VERDICTS, Verdict

AXES: Final = {
    "message_size": "Message size", "threads": "Threads", "iodepth": "iodepth", "delay": "Injection delay",
}  # fmt: skip
"""Axes that make a curve, in the order in which they are looked for, with their titles; then any axis of three numbers."""

_LEAST: Final = 3
"""Points of one metric that are worth a line of their own together."""

_MOST_NAMED: Final = 3
"""Cells of one line that are named; of more it says how many."""

_APART: Final = ("benchmark", "target", "op", "test", "operation")
"""Labels of a number of which no two levels have one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Numbers of one verdict that tell the same."""

    rows: tuple[Row, ...]  # in the order of the comparison; at least two
    axis: str  # over which they are a curve; "" of one cell
    metric: str  # "copy, scale, add and triad bandwidth"
    options: str  # of its cells, without the axis: "other package", "4 KiB blocks, rw randread and randwrite", "5 of 6 cells"
    counted: str  # "24 of 24 points", of several curves "28 of 28 numbers"
    reach: str  # over the axis: "0 B to 4 MiB", "threads 1, 2 and 8", "within delay 0 to 900"; "" of one cell
    whole: bool  # are they all numbers of these cells and metrics?
    noun: str  # "point" or "number"

    @property
    def points(self) -> str:
        """`24 of 24 points, 0 B to 4 MiB`."""
        return ", ".join(filter(None, (self.counted, self.reach)))

    @property
    def where(self) -> str:
        """`pingpong, other package`."""
        return ", ".join(filter(None, (self.rows[0].sweep, self.options)))


Entry = Row | Fold


def rows_of(entry: Entry) -> tuple[Row, ...]:
    return entry.rows if isinstance(entry, Fold) else (entry,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """What has a line of its own."""

    of: Mapping[Verdict, Sequence[Entry]]  # what changed farthest first
    once: Sequence[Entry]  # of one run on a side
    echoing: Mapping[
        Verdict, int
    ]  # derived numbers without a line, since the numbers behind them say the same


def lines_of(comparison: Comparison, *, folds: bool = True) -> Lines:
    """Return the lines of a comparison; without folds a line a number."""
    echoing = echoes(comparison.rows) if folds else frozenset()
    own = [row for row in comparison.rows if id(row) not in echoing]
    entries = folded(own, comparison.rows) if folds else own
    by_verdict = group_by(entries, lambda entry: "" if (row := rows_of(entry)[0]).once else row.verdict)
    best_first = sorted(
        by_verdict.get("improved", []),
        key=lambda entry: min(row.decision.shift or 0.0 for row in rows_of(entry)),
    )
    return Lines(
        of={
            verdict: best_first if verdict == "improved" else by_verdict.get(verdict, [])
            for verdict in VERDICTS
        },
        once=by_verdict.get("", []),
        echoing=Counter(row.verdict for row in comparison.rows if id(row) in echoing),
    )


def folded(rows: Sequence[Row], every: Sequence[Row]) -> list[Entry]:
    """Return the rows with those that tell the same as one, where the first of them was; `every`: all rows of the comparison, which tell how many
    points a curve has. Points that a program gives twice, and numbers of pairs (a matrix), stay as they are."""
    known: dict[int, Fold] = {}
    wanted = {id(row) for row in rows}
    order = {id(row): i for i, row in enumerate(every)}
    for family in group_by(_curves(every), lambda curve: curve.family).values():
        parts = [
            dataclasses.replace(curve, told=members)
            for curve in family
            for own in group_by(curve.rows, lambda row: (row.verdict, row.once)).values()
            if (members := [row for row in own if id(row) in wanted])
        ]
        for alike in _alike(parts):
            members = sorted((row for part in alike for row in part.told), key=lambda row: order[id(row)])
            if len(alike) > 1 or len(members) >= _LEAST:
                fold = _fold(alike, members, family)
                known |= {id(row): fold for row in members}
    entries = {id(entry): entry for row in rows for entry in (known.get(id(row), row),)}
    return list(entries.values())


def echoes(every: Sequence[Row]) -> frozenset[int]:
    """Return by their ids the derived numbers (peaks, α) with the verdict that all numbers have which they are derived from: a line of their own
    tells nothing more."""
    plain = [row for row in every if not row.derived]
    cells = group_by(group_by(plain, lambda row: id(row.pair)).values(), lambda rows: _sweep(rows[0]))

    def behind(one: Row) -> list[Row]:
        labels, part = one.pair.a.labels.items(), dict(one.number.part)
        found = [
            row
            for rows in cells.get(_sweep(one), [])
            if labels <= rows[0].pair.a.labels.items()
            for row in rows
            if all(part.get(name, value) == value for name, value in row.number.part)
        ]
        return [row for row in found if row.unit == one.unit] or found

    return frozenset(
        id(one)
        for one in every
        if one.derived
        and not one.once
        and {(row.verdict, row.once) for row in behind(one)} == {(one.verdict, False)}
    )


def _sweep(row: Row) -> tuple[str, str]:
    return row.pair.a.tool, row.sweep


@dataclass(frozen=True, slots=True, kw_only=True)
class _Curve:
    """What one metric of one cell has over an axis; a row by itself where it has none."""

    family: Hashable  # the same of all that may have one line
    axis: str
    cell: tuple[str, ...]  # what tells it from others: "4 KiB blocks", "rw randread"; without the axis
    rows: Sequence[Row]
    told: Sequence[Row] = ()  # of one verdict


def _curves(rows: Iterable[Row]) -> Iterable[_Curve]:
    """Give each curve that the rows make, and each row that is in none."""
    for members in group_by(
        rows, lambda row: (row.pair.a.tool, row.sweep, row.number.title, row.unit)
    ).values():
        axis = axis_of(members) or ""
        if "to" in dict(members[0].number.part):
            axis = ""

        for of, points in group_by(members, functools.partial(_cell, axis)).items():
            family = _family(points[0], axis)
            if not axis or len({row.labels[axis] for row in points}) == len(points):
                yield _Curve(family=family, axis=axis, cell=of, rows=points)
            else:
                yield from (
                    _Curve(family=(id(row),), axis="", cell=_cell("", row), rows=[row]) for row in points
                )


def _cell(axis: str, row: Row) -> tuple[str, ...]:
    """Return what tells a row's cell and its place in the table from others, without the axis: "64 B stride", "traffic read"."""
    return (*options_said(row.pair.a.over(axis), row.number), *_labels(row, axis))


def _labels(row: Row, axis: str) -> Iterable[str]:
    """Give what the labels of a number say beside the axis: "traffic read", "from 0 to 1"."""
    pair = tuple(p for p in row.number.part if p[0] in ("from", "to"))
    others = [(p,) for p in row.number.part if p not in pair and p[0] != axis]
    yield from filter(None, (dataclasses.replace(row.number, part=part).row for part in [*others, pair]))


def _family(row: Row, axis: str) -> Hashable:
    """Return what all of one line have in common: the sweep, the axis, and of the number all but where it is of, its kernel, direction and statistic."""
    kept = tuple(p for p in row.number.part if p[0] in _APART)
    return axis, row.pair.a.tool, row.sweep, dataclasses.replace(row.number, part=kept, statistic="")


def _alike(parts: Sequence[_Curve]) -> Iterable[list[_Curve]]:
    """Put the metrics of a family together that have one verdict and whose least and largest changes are within the threshold of one another."""
    by_verdict = group_by(parts, lambda part: (part.told[0].verdict, part.told[0].once))
    for own in by_verdict.values():
        found: list[list[_Curve]] = []
        for part in sorted(own, key=_place):
            group = next((group for group in found if _same(group[0], part)), None)
            if group is None:
                found.append([part])
            else:
                group.append(part)
        yield from found


def _place(part: _Curve) -> LevelKey:
    """Return where the first of its numbers stands in its table."""
    return min(natural(row.decision.key) for row in part.told)


def _same(one: _Curve, other: _Curve) -> bool:
    here, there = _ends(one), _ends(other)
    if here is None or there is None:
        return here == there
    band = math.log1p(one.told[0].decision.threshold)
    return all(abs(a - b) <= band for a, b in zip(here, there, strict=True))


def _ends(part: _Curve) -> tuple[float, float] | None:
    """Return the least and the largest change (log); None where one has no ratio, as what is 0."""
    shifts = [row.decision.shift for row in part.told]
    known = [shift for shift in shifts if shift is not None]
    return (min(known), max(known)) if len(known) == len(shifts) else None


def _fold(parts: Sequence[_Curve], members: Sequence[Row], family: Sequence[_Curve]) -> Fold:
    noun = "point" if len(parts) == 1 else "number"
    titles = dict.fromkeys(part.told[0].number.title for part in parts)
    cells = dict.fromkeys(part.cell for part in parts)
    here = [part for part in family if part.cell in cells and part.rows[0].number.title in titles]
    every = [row for part in here for row in part.rows]
    return Fold(
        rows=tuple(members),
        axis=parts[0].axis,
        metric=_together([*titles]),
        options=_cells([*cells], len({part.cell for part in family})),
        counted=f"{len(members)} of {fmt.plural(len(every), noun)}",
        reach=_reach(parts[0].axis, every, members),
        whole=len(members) == len(every),
        noun=noun,
    )


def _cells(cells: Sequence[tuple[str, ...]], of: int) -> str:
    """Return what some cells are: "4 KiB blocks, rw randread and randwrite", of many "4 KiB blocks, 5 of 6 cells"."""
    common = [word for word in cells[0] if all(word in cell for cell in cells)]
    if len(cells) == 1:
        return ", ".join(common)
    own = [", ".join(word for word in cell if word not in common) for cell in cells]
    named = "" if "" in own or len(own) > _MOST_NAMED else _together(own)
    return ", ".join([*common, named or _counted(len(cells), of)])


def _counted(n: int, of: int) -> str:
    return f"all {n} cells" if n == of else f"{n} of {of} cells"


def _together(names: Sequence[str]) -> str:
    """`_together(["copy bandwidth", "triad bandwidth"])` is "copy and triad bandwidth", of "4 KiB blocks" and "32 KiB blocks" "4 and 32 KiB blocks"; what
    differs in other ways than each word by itself is a list."""
    words = [name.split(" ") for name in names]
    if len({*map(len, words)}) > 1:
        return fmt.words(names)
    columns = [dict.fromkeys(column) for column in zip(*words, strict=True)]
    if math.prod(map(len, columns)) != len(names):
        return fmt.words(names)
    return " ".join(map(fmt.words, columns))


def _reach(axis: str, rows: Sequence[Row], members: Sequence[Row]) -> str:
    """Return which tested values of an axis some rows are at."""
    if not axis:
        return ""
    tested, here = (sorted({float(row.labels[axis]) for row in own}) for own in (rows, members))
    name = "" if axis == "message_size" else f"{axis} "
    names = [level(rows[0], axis, value) for value in here]
    first, last = names[0], names[-1]
    if first == last:
        return f"{name}{first}"
    if len(here) > 2 and tested.index(here[-1]) - tested.index(here[0]) == len(here) - 1:
        return f"{name}{first} to {last}"
    if len(here) <= 4:
        return f"{name}{fmt.words(names)}"
    return f"within {name}{first} to {last}"


# --- axes --------------------------------------------------------------------------------------------------


def axis_of(rows: Sequence[Row]) -> str | None:
    """Return the label over which rows make a curve: at least three different numbers in it."""
    names = [*AXES, *(name for name in rows[0].labels if name not in AXES)]
    for name in names:
        values = {number(row.labels.get(name)) for row in rows}
        if None not in values and len(values) >= 3:
            return name
    return None


def number(text: str | None) -> float | None:
    """Return a level as a number; None if it is none."""
    try:
        value = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def level(row: Row, axis: str, value: float) -> str:
    """Return a level of an axis as it is written: "4 KiB", "0.5"; a whole number with all its digits, never "1e+06". `row`: any of the curve's."""
    if axis == "message_size":
        return fmt.size(value)
    return naming.level_text(row.pair.a.tool, axis, int(value) if value.is_integer() else value)


def axis_title(axis: str) -> str:
    """Return what an axis is called: "Message size", "iodepth"; one of the user's own as it is written."""
    return AXES.get(axis, axis)
