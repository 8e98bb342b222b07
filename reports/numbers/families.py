"""Numbers by family: what one program of one sweep prints under one name, of all its cells. Pure.

The rows of a table that reaches over more than `_FAR` times its lowest value (message sizes, delays) are two families: what waits
and what streams, what is idle and what is loaded, hardly ever change together.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from reports import numbers
from reports.numbers.series import Series
from reports.results.grouping import group_by

_FAR: Final = 256.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Numbers of one name, unit and direction, of one sweep and program. `title` tells it from the others."""

    title: str
    members: tuple[int, ...]  # indexes of the numbers
    sweep: str
    program: str
    drawn: bool  # is it one that comparisons draw first?


def families(every: Sequence[Series]) -> list[Family]:
    """Return the families of some numbers, in their order."""
    alike = group_by(
        enumerate(every),
        lambda row: (row[1].key.program, row[1].key.sweep, row[1].key.name.title, row[1].unit, row[1].better),
    )
    found = [
        Family(
            title=title, members=tuple(i for i, _ in own), sweep=sweep, program=program,
            drawn=name in numbers.drawn(own[0][1].key.tool),
        )
        for (program, sweep, name, *_), whole in alike.items()
        for title, own in _halved(name, whole)
    ]  # fmt: skip
    by_title, by_sweep = Counter(f.title for f in found), Counter((f.title, f.sweep) for f in found)
    return [replace(f, title=_told(f, every, by_title[f.title], by_sweep[f.title, f.sweep])) for f in found]


def _told(family: Family, every: Sequence[Series], alike: int, of_sweep: int) -> str:
    """Return the title, with what tells it from others of the same one: its sweep, its program, its unit."""
    more = [family.sweep] if alike > 1 else []
    more += [family.program, every[family.members[0]].unit] if of_sweep > 1 else []
    return ", ".join([family.title, *filter(None, more)])


Rows = Sequence[tuple[int, Series]]


def _halved(name: str, whole: Rows) -> list[tuple[str, Rows]]:
    """Return the family as it is, or in two: the rows below the middle, by magnitude, of the label that reaches furthest, and the others."""
    labels = [dict(one.key.name.part) for _, one in whole]
    numeric = {
        label: values
        for label in labels[0]
        if len(values := [float(v) for own in labels if isinstance(v := own.get(label), int | float)])
        == len(labels)
    }
    reach = {label: _reach(values) for label, values in numeric.items()}
    label = max(reach, key=reach.__getitem__, default="")
    if not label or reach[label] < _FAR:
        return [(name, whole)]
    values = numeric[label]
    middle = math.sqrt(min(filter(None, values)) * max(values))
    sides = group_by(zip(values, whole, strict=True), lambda row: row[0] > middle)
    return [
        (f"{name} at {_extent(label, [row for _, row in own])}", [row for _, row in own])
        for _, own in sorted(sides.items())
    ]


def _reach(values: Sequence[float]) -> float:
    positive = [v for v in values if v > 0]
    return max(positive) / min(positive) if positive and min(values) >= 0 else 1.0


def _extent(label: str, rows: Rows) -> str:
    """Return "0 B to 1 KiB", "delay 0 to 100"."""
    own = [(dict(one.key.name.part)[label], _row(one, label)) for _, one in rows]
    said = {float(value): row for value, row in own if isinstance(value, int | float)}
    low, high = said[min(said)], said[max(said)]
    word, _, number = high.rpartition(" ")
    return low if low == high else f"{low} to {number if word and low.startswith(f'{word} ') and number[0].isdigit() else high}"  # fmt: skip


def _row(one: Series, label: str) -> str:
    name = one.key.name
    return replace(name, part=tuple(own for own in name.part if own[0] == label), unsaid=()).row
