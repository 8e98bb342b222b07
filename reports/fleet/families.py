"""The numbers of a group of hosts by family: what one program of one sweep prints under one name, of all its cells. Pure.

The rows of a table that reaches over more than `_FAR` times its lowest value (message sizes, delays) are two families: what waits
and what streams, what is idle and what is loaded, hardly ever fall together.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from parsers.measurement import Direction
from reports import numbers
from reports.checks.audit import joined
from reports.numbers.series import Series
from reports.results.grouping import group_by
from reports.text import format as fmt
from reports.verdicts.fleet import Host, Strip, centre

Known = tuple[Series, Strip]
"""A number, and what the hosts have in it."""

_FAR: Final = 256.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Typical:
    """What a host has in a family: the change that stands for it, in the numbers' own sign."""

    change: float  # of the host from the median: of an odd number its own, else the median over the family
    odd: tuple[Series, Strip, Host] | None  # the worst number that the verdict names
    doubt: str  # checks that convict what stands there
    numbers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Numbers of one name, unit and direction, of one sweep and program."""

    title: str
    better: Direction
    numbers: tuple[Known, ...]
    sweep: str
    program: str

    @property
    def drawn(self) -> bool:
        """Is it one that comparisons draw first?"""
        return any(one.key.name.title in numbers.drawn(one.key.tool) for one, _ in self.numbers)

    def typical(self, worst: Sequence[str]) -> dict[str, Typical]:
        """Return host → what it has here, of hosts that have any of the numbers. `worst`: the words of a verdict, the worst first."""
        of: dict[str, list[tuple[Series, Strip, Host]]] = {}
        for one, strip in self.numbers:
            for host in strip.hosts:
                of.setdefault(host.name, []).append((one, strip, host))
        return {name: _typical(own, worst) for name, own in of.items()}

    def scatter(self, typical: Mapping[str, Typical]) -> float:
        """Return what hosts usually are apart by, one robust standard deviation, relative: of a few hosts it says little."""
        return centre([one.change for one in typical.values() if one.odd is None])[1] if typical else 0.0

    def repeats(self) -> float:
        """Return half of what the repeats of a host within a session differ by, relative: of the number in the middle; 0.0 of single
        runs."""
        halves = [
            statistics.median(own) for one, _ in self.numbers if (own := [*_halves(one)])
        ]  # one a number: a number of many hosts says no more than one of few
        return statistics.median(halves) if halves else 0.0


def _typical(own: Sequence[tuple[Series, Strip, Host]], worst: Sequence[str]) -> Typical:
    odd = [row for row in own if row[2].status not in ("ok", "unknown")]
    if odd:
        row = min(odd, key=lambda r: (worst.index(r[2].status), -abs(r[2].worse or 0.0), r[0].name))
        return Typical(change=_change(row), odd=row, doubt=row[2].doubt, numbers=len(own))
    doubt = joined(row[2].doubt for row in own)
    return Typical(change=statistics.median(map(_change, own)), odd=None, doubt=doubt, numbers=len(own))


def _change(row: tuple[Series, Strip, Host]) -> float:
    _, strip, host = row
    assert strip.middle
    return host.value / strip.middle - 1


def _halves(one: Series) -> Iterable[float]:
    for values in one.sessions().values():
        if len(values) > 1 and (middle := statistics.median(values)):
            yield (max(values) - min(values)) / 2 / abs(middle)


def families(known: Sequence[Known]) -> list[Family]:
    """Return the families of some numbers, in their order."""
    alike = group_by(
        known, lambda row: (row[0].key.program, row[0].key.sweep, row[0].key.name.title, row[0].unit, row[0].better)
    )  # fmt: skip
    found = [
        Family(title=title, better=better, numbers=tuple(own), sweep=sweep, program=program)
        for (program, sweep, name, _, better), whole in alike.items()
        for title, own in _halved(name, whole)
    ]
    by_title, by_sweep = Counter(f.title for f in found), Counter((f.title, f.sweep) for f in found)
    return [replace(f, title=_told(f, by_title[f.title], by_sweep[f.title, f.sweep])) for f in found]


def _told(family: Family, alike: int, of_sweep: int) -> str:
    """Return the title, with what tells it from others of the same one: its sweep, its program, its unit."""
    more = [family.sweep] if alike > 1 else []
    more += [family.program, family.numbers[0][0].unit] if of_sweep > 1 else []
    return ", ".join([family.title, *filter(None, more)])


def _halved(name: str, whole: Sequence[Known]) -> list[tuple[str, Sequence[Known]]]:
    """Return the family as it is, or in two: the rows below the middle, by magnitude, of the label that reaches furthest, and the others."""
    labels = [dict(one.key.name.part) for one, _ in whole]
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


def _extent(label: str, rows: Sequence[Known]) -> str:
    """Return "0 B to 1 KiB", "delay 0 to 100"."""
    own = [(dict(one.key.name.part)[label], _row(one, label)) for one, _ in rows]
    said = {float(value): row for value, row in own if isinstance(value, int | float)}
    low, high = said[min(said)], said[max(said)]
    word, _, number = high.rpartition(" ")
    return low if low == high else f"{low} to {number if word and low.startswith(f'{word} ') and number[0].isdigit() else high}"  # fmt: skip


def _row(one: Series, label: str) -> str:
    name = one.key.name
    return replace(name, part=tuple(own for own in name.part if own[0] == label), unsaid=()).row


def chosen(found: Sequence[Family], named: Iterable[int], most: int) -> list[int]:
    """Return the indexes of the families to draw, in their order: those in which somebody is odd (`named`, the worst first), what comparisons
    draw first, then one of each sweep after the other."""
    drawn = [i for i, family in enumerate(found) if family.drawn]
    rank: dict[tuple[str, str], int] = {}
    turns = []
    for i, family in enumerate(found):
        key = family.program, family.sweep
        rank[key] = rank.get(key, -1) + 1
        turns.append((rank[key], i))
    needed = dict.fromkeys(named)
    order = dict.fromkeys([*needed, *drawn, *(i for _, i in sorted(turns))])
    return sorted([*order][: max(most, len(needed))])


def counted(family: Family) -> str:
    """Return "less is better, 24 numbers"."""
    way = {"higher": "more is better", "lower": "less is better"}.get(family.better, "neither is better")
    return f"{way}, {fmt.plural(len(family.numbers), 'number')}" if len(family.numbers) > 1 else way
