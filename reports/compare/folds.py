"""Rows that are points of one curve with one verdict, as one line: a table has a line a curve, not one a message size. Pure."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from reports.compare.model import Row
from reports.results import naming
from reports.results.grouping import group_by
from reports.text import format as fmt

AXES: Final = {
    "message_size": "Message size", "threads": "Threads", "iodepth": "iodepth", "delay": "Injection delay",
}  # fmt: skip
"""Axes that make a curve, in the order in which they are looked for, with their titles; then any axis of three numbers."""

_LEAST: Final = 3
"""Points that are worth a line of their own together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Points of a curve that have one verdict."""

    rows: tuple[Row, ...]  # in the order of the comparison; at least three
    axis: str
    cell: str  # without the axis: "place=other-package"
    row: str  # what else tells the curve from others: "traffic read"
    points: str  # "24 of 24 points, 0 B to 4 MiB"

    @property
    def place(self) -> str:
        """`pingpong, place=other-package`."""
        return ", ".join(filter(None, (self.rows[0].sweep, self.cell)))


Entry = Row | Fold


def rows_of(entry: Entry) -> tuple[Row, ...]:
    return entry.rows if isinstance(entry, Fold) else (entry,)


def folded(rows: Sequence[Row], every: Sequence[Row]) -> list[Entry]:
    """Return the rows with those of a curve as one, where the first of them was; `every`: all rows of the comparison, which tell how many points
    a curve has. Points that a program gives twice, and numbers of pairs (a matrix), stay as they are."""
    known: dict[int, Fold] = {}
    wanted = {id(row) for row in rows}
    for curve in _curves(every):
        by_verdict = group_by(curve.rows, lambda row: (row.verdict, row.once))
        for own in by_verdict.values():
            members = [row for row in own if id(row) in wanted]
            if len(members) >= _LEAST:
                fold = dataclasses.replace(curve, rows=tuple(members), points=_points(curve, members))
                known |= {id(row): fold for row in members}
    entries = {id(entry): entry for row in rows for entry in (known.get(id(row), row),)}
    return list(entries.values())


def _curves(rows: Iterable[Row]) -> Iterable[Fold]:
    """Give each curve that the rows make."""
    for members in group_by(
        rows, lambda row: (row.pair.a.tool, row.sweep, row.number.title, row.unit)
    ).values():
        axis = axis_of(members)
        if axis is None or "to" in dict(members[0].number.part):
            continue
        for (cell, own), points in group_by(members, functools.partial(_beside, axis)).items():
            if len({row.labels[axis] for row in points}) == len(points):
                yield Fold(rows=tuple(points), axis=axis, cell=cell, row=own, points="")


def _beside(axis: str, row: Row) -> tuple[str, str]:
    """Return what a row's cell and its place in the table say beside the axis."""
    number = dataclasses.replace(row.number, part=tuple(p for p in row.number.part if p[0] != axis))
    return row.pair.a.over(axis).name, number.row


def _points(curve: Fold, members: Sequence[Row]) -> str:
    tested = sorted({float(row.labels[curve.axis]) for row in curve.rows})
    here = sorted({float(row.labels[curve.axis]) for row in members})
    counted = f"{len(here)} of {fmt.plural(len(tested), 'point')}"
    name = "" if curve.axis == "message_size" else f"{curve.axis} "
    names = [level(curve.rows[0], curve.axis, value) for value in here]
    first, last = names[0], names[-1]
    if tested.index(here[-1]) - tested.index(here[0]) == len(here) - 1:
        return f"{counted}, {name}{first} to {last}"
    if len(here) <= 4:
        return f"{counted}, {name}{fmt.words(names)}"
    return f"{counted} between {name}{first} and {last}"


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
