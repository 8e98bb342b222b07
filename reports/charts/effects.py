"""What each axis of a sweep does to a number: the ratio of its levels to its best, with everything else the same. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from parsers.measurement import Direction, Scalar
from reports.draw.strip import APART, Axis, Step, Strip, stated, strip
from reports.numbers import formulas
from reports.numbers.formulas import Spread
from reports.results.grouping import group_by
from reports.text import format as fmt

Levels = tuple[Scalar, ...]
"""The level of each axis that a cell has, in the order of the axes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A level of an axis: how many times better the best level is than it, at least 1 on the whole."""

    name: str
    behind: float  # best ÷ this, of a number of which less is better this ÷ best: the geometric mean over the cells of the other axes
    low: float  # the lowest of these ratios, and the highest
    high: float
    n: int  # of these ratios
    cells: tuple[Levels, ...]  # that it is of, those of the best level among them
    clear: bool  # does it differ from the best one in each pair of cells, beyond their repeats? Of the best itself False
    why: str = ""  # why it is not clear, in words, where the best is the better one in each pair and their repeats do not overlap; of the best itself, why it is not

    @property
    def far_apart(self) -> bool:
        """Has no pair of cells the mean of all?"""
        return self.high > APART * self.low


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What an axis does: its levels, the best first."""

    axis: str
    levels: tuple[Level, ...]
    clear: bool  # do the best and the last level differ in each pair of cells, beyond their repeats?
    alone: bool  # do the best and any other?
    runs: tuple[int, int]  # of a cell, the fewest and the most
    rows: int  # of cells that are alike in all other axes, those of which a level has no number among them
    but: str = ""  # why it is not clear, in words, where that is not the repeats: the last level is the better one at another size, say
    bound: bool = False  # is the best level better than that, its times being mostly the timer?

    @property
    def doubt(self) -> str:
        """Return why it is not clear; "" of what is."""
        if self.clear:
            return ""
        return self.but or self._not_everywhere

    def doubt_of(self, level: Level) -> str:
        """Return why a level does not clearly differ from the best; of the best itself, why another may be that."""
        return level.why or ("" if level.clear or level == self.levels[0] else self._not_everywhere)

    @property
    def _not_everywhere(self) -> str:
        return "not the better one everywhere" if self.runs[1] == 1 else "not beyond the repeats everywhere"

    @property
    def ends(self) -> tuple[str, str]:
        """Return what the last level and the best one are called: "e", "lz4"; of several that are hardly apart "8, 16 or 32", "any of 8"."""
        best = [level.name for level in self.levels if level.behind <= _ALIKE]
        last = [level.name for level in self.levels if self.factor <= _ALIKE * level.behind]
        if set(best) & set(last):
            return self.levels[-1].name, self.levels[0].name
        return _called(last[::-1]), _called(best)

    @property
    def factor(self) -> float:
        """How often the best level is better than the last one: the geometric mean over the cells of the other axes."""
        return self.levels[-1].behind

    @property
    def times(self) -> str:
        """Return the factor as it is read: "8.94", "≥ 8.94", of pairs far apart their range, "1.50 to 39.7"."""
        return self._stated[0]

    @property
    def span(self) -> str:
        """Return the range of the last level's ratios and how many they are: "7.97 to 10.0", of bounds "≥ 7.97", "7.97 to 10.0, 4 of 6 pairs"; "" of
        all where it is one number, or is `times`."""
        return ", ".join(filter(None, (self._stated[1], self.partly)))

    @property
    def partly(self) -> str:
        """Return of how many of its pairs of cells the factor is: "4 of 6 pairs", where the others lack a number; "" of all."""
        return self.partly_of(self.levels[-1])

    def partly_of(self, level: Level) -> str:
        """Return `partly` of a level."""
        return f"{level.n} of {fmt.plural(self.rows, 'pair')}" if level.n < self.rows else ""

    @property
    def _stated(self) -> tuple[str, str]:
        last = self.levels[-1]
        return stated(last.behind, last.low, last.high, bound=self.bound)


_ALIKE: Final = 1.03
"""Levels that are no further apart than what `formulas.differs` asks for at least have no name of their own as best and worst."""


_FEW: Final = 3


def _called(levels: Sequence[str]) -> str:
    return fmt.words(levels, "or") if len(levels) <= _FEW else f"any of {len(levels)}"


def counted(number: str, runs: tuple[int, int]) -> str:
    """Return a number with what its claims rest on where that is little: "rate, one run a cell". runs: of a cell, the fewest and the most."""
    fewest, most = runs
    return number if fewest > 1 else f"{number}, {'one run a cell' if most == 1 else 'of some cells one run'}"


def effects(
    axes: Sequence[str], cells: Mapping[Levels, Spread], better: Direction, no_better: Collection[str] = ()
) -> list[Effect]:
    """Return the effect of each axis, the largest first. Cells are compared where all other axes are the same; which level is the best those rows of
    cells tell in which every level was measured, and an axis without such a row has no effect, nor has one of which a row has no ratio, its values being
    0 or below.

    no_better: options that say what is accessed or how much, or hold the number down (`numbers.no_better`). An axis of these has no
    effect: a smaller array is not better, it is in another cache."""
    found = (_effect(i, axis, cells, better) for i, axis in enumerate(axes) if axis not in no_better)
    return sorted(filter(None, found), key=lambda effect: -effect.factor)


def _effect(i: int, axis: str, cells: Mapping[Levels, Spread], better: Direction) -> Effect | None:
    names = list(dict.fromkeys(levels[i] for levels in cells))
    others = group_by(cells, lambda levels: (*levels[:i], *levels[i + 1 :])).values()
    rows = [{levels[i]: levels for levels in own} for own in others if len(own) > 1]
    whole = [row for row in rows if len(row) == len(names)]
    if len(names) < 2 or not whole or min(cells[of].low for row in rows for of in row.values()) <= 0:
        return None
    sign = -1 if better == "lower" else 1

    means = {name: statistics.geometric_mean(cells[row[name]].median for row in whole) for name in names}
    ranked = sorted(names, key=lambda name: -sign * means[name])
    best = ranked[0]
    levels = []
    turned = False
    for name in ranked:
        both = [row for row in rows if best in row and name in row]
        pairs = [(cells[row[best]], cells[row[name]]) for row in both]
        ratios = [a.median / b.median if sign > 0 else b.median / a.median for a, b in pairs]
        having = {row[level] for row in both for level in (best, name)}
        of = tuple(levels for levels in cells if levels in having)
        mean = max(
            1.0, statistics.geometric_mean(ratios)
        )  # where not every level was measured it may turn round
        turned |= any(
            ratio < 1 and formulas.differs(*pair) and row not in whole
            for row, pair, ratio in zip(both, pairs, ratios, strict=True)
        )
        clear = min(ratios) > 1 and all(formulas.differs(*pair) for pair in pairs)
        apart = not clear and min(ratios) > 1 and not any(formulas.overlap(*pair) for pair in pairs)
        level = Level(
            name=str(name), behind=mean, low=min(ratios), high=max(ratios), n=len(ratios), cells=of, clear=clear, why=_too_few(pairs) if apart else "",
        )  # fmt: skip
        levels.append(level)
    levels.sort(key=lambda level: level.behind)  # stable: the best first
    if turned:
        levels[0] = replace(levels[0], why=_TURNED)
    ahead = [level.clear for level in levels[1:]]
    often = [of.n for of in cells.values()]
    return Effect(
        axis=axis, levels=tuple(levels), clear=ahead[-1] and not turned, alone=all(ahead) and not turned, runs=(min(often), max(often)), rows=len(others),
        but=_TURNED if turned else levels[-1].why,
    )  # fmt: skip


_TURNED: Final = "another is better where not every level gave a number"


_TOO_FEW: Final = {1: "one run a cell: claimed from 1.11 × on", 2: "two repeats are too few to claim it"}


def _too_few(pairs: Sequence[tuple[Spread, Spread]]) -> str:
    """Say why pairs that do not overlap do not all differ, of so many runs as they have; "" of three or more, whose spread is known."""
    runs = min(of.n for pair in pairs for of in pair if not formulas.differs(*pair))
    return _TOO_FEW.get(runs, "")


def turns(effect: Effect, axes: Sequence[str], cells: Mapping[Levels, Spread], better: Direction) -> bool:
    """Is the last level of an effect better than its best one by other numbers of these cells, beyond the repeats of a pair of them?"""
    i, sign = axes.index(effect.axis), -1 if better == "lower" else 1
    best, last = effect.levels[0].name, effect.levels[-1].name
    others = group_by(cells, lambda levels: (*levels[:i], *levels[i + 1 :])).values()
    pairs = ({str(levels[i]): cells[levels] for levels in own} for own in others)
    return any(
        sign * (row[last].median - row[best].median) > 0 and formulas.differs(row[best], row[last])
        for row in pairs
        if best in row and last in row
    )


def title(metric: str, found: Sequence[Effect]) -> str:
    """Return "rate: 8.40 × better by threads, 2.10 × by alg (fast)", of the axes whose effect is clear, of a single axis "rate: 8.40 × better by
    threads, best at 16", where no other level is as good within its repeats; "" where none is."""
    clear = [effect for effect in found if effect.clear]
    metric = counted(metric, found[0].runs) if found else metric
    if len(found) == 1 and clear and clear[0].alone:
        effect = clear[0]
        return f"{metric}: {listed([(effect.times, effect.axis)])}, best at {effect.levels[0].name}"
    told = listed((effect.times, with_better(effect)) for effect in clear)
    return f"{metric}: {told}" if told else ""


def title_of_each(metric: str, whose: Mapping[str, Sequence[Effect]]) -> str:
    """Return the `title` of what the axes do on each host or in each file, once where all have the same; else of two with whose each is: "rate:
    5.99 × better by n, best at 1 (vm, a.db); 7.18 × better by n, best at 1 (vm, b.db)", "no clear effect (vm, b.db)", nothing of where no two cells have a
    number; and of more ""."""
    told = {where: title(metric, found) for where, found in whose.items()}
    if len({*told.values()}) <= 1:
        return next(iter(told.values()), "")
    heads = {where: counted(metric, found[0].runs) if found else metric for where, found in whose.items()}
    said = [
        f"{text.removeprefix(f'{heads[where]}: ') or 'no clear effect'} ({where})" for where, text in told.items() if whose[where]
    ]  # fmt: skip
    fewest = min((heads[where] for where in told if whose[where]), key=lambda head: head == metric)
    return f"{fewest}: {'; '.join(said)}" if len(told) == 2 else ""


def with_better(effect: Effect, name: str = "") -> str:
    """Return "direct (off, 4 of 6 pairs)": the axis, as `name` calls it, of two levels the better one, without which "better by direct" reads as the
    other, and of how many pairs of cells the factor is."""
    beside = [effect.levels[0].name if len(effect.levels) == 2 else "", effect.partly]
    said = ", ".join(filter(None, beside))
    return f"{name or effect.axis} ({said})" if said else name or effect.axis


def listed(told: Iterable[tuple[str, str]]) -> str:
    """Return "8.40 × better by threads, 2.10 × by alg" of (factor, axis and what is said of it): the one wording of effects."""
    return ", ".join(f"{factor} ×{'' if i else ' better'} by {axis}" for i, (factor, axis) in enumerate(told))


def drawn(metric: str, found: Sequence[Effect], names: Mapping[str, str] | None = None) -> Strip | None:
    """Draw what the axes do; None of fewer than two, and where none does anything beyond the repeats, or would if there were more of them:
    that would be a picture of noise. names: of axes that people call otherwise."""
    if len(found) < 2 or not any(
        effect.clear or effect.levels[-1].why in _TOO_FEW.values() for effect in found
    ):
        return None
    return strip(
        metric,
        (
            Axis(
                name=(names or {}).get(effect.axis, effect.axis), ends=effect.ends, doubt=effect.doubt, bound=effect.bound,
                levels=[Step(name=of.name, behind=of.behind, low=of.low, high=of.high, doubt=effect.doubt_of(of), partly=effect.partly_of(of)) for of in effect.levels],
            )
            for effect in found
        ),
    )  # fmt: skip


def range_alone(levels: Iterable[Level]) -> str:
    """Say of factors that are too far apart for a mean what stands in its place; "" of others."""
    return (
        f", of those over {APART:.0f} × apart the range alone"
        if any(level.far_apart for level in levels)
        else ""
    )


def left_out(found: Iterable[Effect]) -> str:
    """Say that not all pairs of cells have a ratio; "" where all have."""
    return (
        ", without pairs of which one has no number"
        if any(level.n < effect.rows for effect in found for level in effect.levels)
        else ""
    )


def rule(found: Sequence[Effect]) -> str:
    """Say what the factors of a title, and of what is drawn, are; "" where there are none."""
    if not any(effect.clear for effect in found):
        return ""
    said = "n × by an axis: how many times better its best level is than its worst"
    if len({effect.axis for effect in found}) == 1:
        return f"{said}."
    alone = range_alone(effect.levels[-1] for effect in found if effect.clear)
    return f"{said}, with the other axes the same; the geometric mean over these{alone}{left_out(found)}."
