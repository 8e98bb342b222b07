"""What the hosts of a group have in each family of numbers (`reports.numbers.families`). Pure."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from parsers.measurement import Direction
from reports.checks.audit import joined
from reports.fleet.outliers import Against, against
from reports.numbers.families import families as by_family
from reports.numbers.series import Series
from reports.results.grouping import group_by
from reports.text import format as fmt
from reports.verdicts.fleet import MAD, Host, Strip
from reports.verdicts.model import relative

Known = tuple[Series, Strip]
"""A number, and what the hosts have in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Typical:
    """What a host has in a family: the change that stands for it, in the numbers' own sign."""

    change: float  # of the host from the median: of an odd number its own, else the median over the family
    odd: (
        tuple[Series, Strip, Host] | None
    )  # the worst number that the verdict names, of what is only fast the best
    named: int  # numbers that the verdict names
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
    drawn: bool  # is it one that comparisons draw first?

    def typical(self, worst: Sequence[str]) -> dict[str, Typical]:
        """Return host → what it has here, of hosts that have any of the numbers. `worst`: the words of a verdict, the worst first."""
        of: dict[str, list[tuple[Series, Strip, Host]]] = {}
        for one, strip in self.numbers:
            for host in strip.hosts:
                of.setdefault(host.name, []).append((one, strip, host))
        return {name: _typical(own, worst) for name, own in of.items()}

    def scatter(self, typical: Mapping[str, Typical]) -> float | None:
        """Return what hosts usually are apart by, one robust standard deviation of their changes: of those that no verdict names, if there are any;
        of two groups what they are apart by within them. Of a few hosts it says little, None of one."""
        usual = {name: one.change for name, one in typical.items() if one.odd is None}
        known = usual or {name: one.change for name, one in typical.items()}
        if len(known) < 2:
            return None
        worse = self.worse_half
        sides = group_by(known, lambda name: name in worse).values()
        middles = {name: statistics.median(known[n] for n in own) for own in sides for name in own}
        return MAD * statistics.median(abs(change - middles[name]) for name, change in known.items())

    @property
    def worse_half(self) -> tuple[str, ...]:
        """The worse of the two groups that the hosts fall into in most of its numbers; () where they do not."""
        ((worse, _),) = Counter(strip.worse_half for _, strip in self.numbers).most_common(1)
        return worse

    def repeats(self) -> float | None:
        """Return half of what the repeats of a host within a session differ by, relative: of the number in the middle; None of single
        runs."""
        halves = [
            statistics.median(own) for one, _ in self.numbers if (own := [*_halves(one)])
        ]  # one a number: a number of many hosts says no more than one of few
        return statistics.median(halves) if halves else None


def _typical(own: Sequence[tuple[Series, Strip, Host]], worst: Sequence[str]) -> Typical:
    odd = [row for row in own if row[2].is_odd]
    if odd:
        row = min(odd, key=lambda r: (worst.index(r[2].status), -abs(r[2].worse or 0.0), r[0].name))
        return Typical(change=_change(row), odd=row, named=len(odd), doubt=row[2].doubt, numbers=len(own))
    doubt = joined(row[2].doubt for row in own)
    return Typical(
        change=statistics.median(map(_change, own)), odd=None, named=0, doubt=doubt, numbers=len(own)
    )


def _change(row: tuple[Series, Strip, Host]) -> float:
    _, strip, host = row
    assert strip.base
    return relative(host.value, strip.base)


def _halves(one: Series) -> Iterable[float]:
    for values in one.sessions().values():
        if len(values) > 1 and (middle := statistics.median(values)):
            yield (max(values) - min(values)) / 2 / abs(middle)


def middle_of(numbers: Iterable[Known]) -> str:
    """Return what the median is of that some numbers are compared with."""
    middles: Mapping[Against, str] = {
        "baseline": "the baseline", "both": "the baseline (of what it lacks, of all)", "hosts": "all",
    }  # fmt: skip
    return middles[against(strip for _, strip in numbers)]


def families(known: Sequence[Known]) -> list[Family]:
    """Return the families of some numbers, in their order."""
    return [
        Family(
            title=one.title, better=known[one.members[0]][0].better, numbers=tuple(known[i] for i in one.members),
            sweep=one.sweep, program=one.program, drawn=one.drawn,
        )
        for one in by_family([one for one, _ in known])
    ]  # fmt: skip


def chosen(found: Sequence[Family], named: Sequence[int], most: int) -> list[int]:
    """Return the indexes of the families to draw, in their order: those in which somebody is odd (`named`, the worst first), what comparisons draw
    first, then one of the sweep that has the fewest columns."""
    drawn = [i for i, family in enumerate(found) if family.drawn]
    needed = dict.fromkeys([*named, *drawn])
    there = Counter((found[i].program, found[i].sweep) for i in needed)
    turns = []
    for i, family in enumerate(found):
        if i not in needed:
            turns.append((there[family.program, family.sweep], i))
            there[family.program, family.sweep] += 1
    order = [*needed, *(i for _, i in sorted(turns))]
    return sorted(order[: max(most, len({*named}))])


def counted(family: Family) -> str:
    """Return "less is better, 24 numbers"."""
    way = {"higher": "more is better", "lower": "less is better"}.get(family.better, "neither is better")
    return f"{way}, {fmt.plural(len(family.numbers), 'number')}" if len(family.numbers) > 1 else way
