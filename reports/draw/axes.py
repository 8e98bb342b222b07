"""Axes: domains and ticks that a person would choose, and where a value lies in pixels. Pure.

Vega would choose well too, but labels are placed before it draws (`reports.draw.label_placement`), so the scale must be known here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from reports.draw import label_placement
from reports.text import format as fmt


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One axis: its domain in chart units, its ticks with their texts, its title with unit and "(log)".

    `fine` are the ticks for a part of it that a reader has zoomed to, from few to many; without them any number may be one.
    `falling`: `low` is at the far end, above or to the right.
    """

    kind: Literal["linear", "log"]
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    title: str
    fine: tuple[tuple[tuple[float, str], ...], ...] = ()
    falling: bool = False

    @property
    def first(self) -> float:
        """The value at the origin, below or to the left."""
        return self.high if self.falling else self.low

    def share(self, value: float) -> float:
        """Return where a value lies: 0 at `first`, 1 at the far end."""
        if self.kind == "log":
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return 1 - share if self.falling else share

    def titled(self, title: str) -> Axis:
        return replace(self, title=title)


def from_zero(values: Iterable[float], title: str, ticks: int = 5) -> Axis:
    """A linear axis from 0 that holds all values."""
    largest = max((v for v in values if v > 0), default=1.0)
    step = _nice_step(largest / ticks)
    top = math.ceil(largest / step - 1e-9) * step
    if top - largest > 0.6 * step:
        top = largest * 1.06
    marks = [i * step for i in range(int(top / step + 1e-6) + 1)]
    return Axis(kind="linear", low=0.0, high=top, ticks=tuple((v, fmt.level(v)) for v in marks), title=title)


FAR_APART = 30.0
"""How many times the least of some values the largest is where one linear axis would lay the least on the floor."""


FLAT = 8.0
"""The same of the largest values of panels that share an axis: the curves of the lowest panel would be one line."""


def far_apart(values: Sequence[float], tops: Sequence[float] = ()) -> bool:
    """Do some values, all above 0, lie so far apart that their axis is a log one? tops: the largest of each panel that shares it."""
    if min(values, default=0.0) <= 0:
        return False
    return max(values) > FAR_APART * min(values) or max(tops, default=0.0) > FLAT * min(tops, default=0.0)


def amounts(values: Sequence[float], title: str, ticks: int = 5, tops: Sequence[float] = ()) -> Axis:
    """An axis for any values: from 0; log, and its title says so, where they are `far_apart`; without 0 where some are below it."""
    if min(values, default=0.0) < 0:
        return _across_zero(values, title, ticks)
    if far_apart(values, tops):
        return decades(values, f"{title} (log scale)")
    return from_zero(values, title, ticks)


def _across_zero(values: Sequence[float], title: str, ticks: int) -> Axis:
    """A linear axis that holds all values and 0, with a tick at both ends: what lies below 0 is beside a number, and above a line, too."""
    low, high = min(values), max(*values, 0.0)
    step = _nice_step((high - low) / ticks)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    marks = [i * step for i in range(first, last + 1)]
    return Axis(
        kind="linear",
        low=marks[0],
        high=marks[-1],
        ticks=tuple((v, fmt.level(v)) for v in marks),
        title=title,
    )


def around(values: Sequence[float], title: str, ticks: int = 4, least: float = 0.1) -> Axis:
    """A linear axis that holds all values and not 0; it spans at least `least` of their middle, so that noise looks small."""
    low, high = min(values), max(values)
    middle = (low + high) / 2
    half = max((high - low) * 0.58, abs(middle) * least / 2) or 0.5
    low, high = middle - half, middle + half
    step = _nice_step((high - low) / ticks)
    first = math.ceil(low / step - 1e-9)
    marks = [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]
    return Axis(kind="linear", low=low, high=high, ticks=tuple((v, fmt.level(v)) for v in marks), title=title)


def integers(values: Iterable[int], title: str, most: int = 12) -> Axis:
    """A linear axis whose ticks are the tested whole numbers and nothing else.

    Where there are more than `most`, those that are multiples of a round number have a text: every one, every 2nd, 4th, 5th, …; what lies
    closer than its width to another loses its text, not its tick.
    """
    listed = sorted(set(values)) or [1]
    low, high = listed[0], listed[-1]
    steps = (1, 2, 4, 5, 8, 10, 16, 20, 25, 32, 50, 64, 100, 128, 10**9)
    step = next(s for s in steps if sum(v % s == 0 for v in listed) <= most)
    margin = max((high - low) * 0.04, 0.4)
    axis = Axis(
        kind="linear", low=low - margin, high=high + (margin if low == high else 0), ticks=(), title=title
    )
    wanted = [v for v in listed if v % step == 0 or v in (low, high)]
    told = {low, high}
    room = 1 / (2 * most)
    for value in wanted[1:-1]:
        if all(abs(axis.share(value) - axis.share(other)) >= room for other in told):
            told.add(value)
    texts = tuple((float(v), fmt.level(v) if v in told else "") for v in listed)
    return replace(axis, ticks=texts, fine=(tuple((float(v), str(v)) for v in listed),))


_NARROWEST: Final = 260
"""Px of a plot on a page 400 px wide."""


def _apart(text: str, other: str) -> float:
    """Return how far from each other two ticks with texts are at least, as a share of the axis."""
    wide = (label_placement.text_width(text) + label_placement.text_width(other)) / 2
    return max(1 / 14, (0.9 * wide + 4) / _NARROWEST)


def at_tested(values: Iterable[float], title: str) -> Axis:
    """A log axis whose ticks are the tested values and nothing else (iodepth: what was not run is not drawn).

    Values closer than 1/14 of the axis lose their text, not their tick, and those whose text would touch another on a narrow page.
    """
    listed = [(value, fmt.level(value)) for value in sorted(set(values)) or [1.0]]
    low, high = listed[0][0] / 1.16, listed[-1][0] * (1.16 if len(listed) == 1 else 1.0)
    return _with_texts(Axis(kind="log", low=low, high=high, ticks=(), title=title), listed)


def plain_at_tested(values: Iterable[float], title: str) -> Axis:
    """The same on a linear axis."""
    listed = [(value, fmt.level(value)) for value in sorted(set(values)) or [1.0]]
    low, high = listed[0][0], listed[-1][0]
    margin = (high - low) * 0.04 or 1.0
    axis = Axis(
        kind="linear", low=low - margin, high=high + (margin if low == high else 0), ticks=(), title=title
    )
    return _with_texts(axis, listed)


def _with_texts(axis: Axis, listed: Sequence[tuple[float, str]]) -> Axis:
    """Return an axis with a tick at each value, and its text where that touches no other."""
    ticks: list[tuple[float, str]] = []
    last, before = -1.0, ""
    for value, text in listed:
        at = axis.share(value)
        crowded = at - last < _apart(before, text) or (
            value != listed[-1][0] and 1 - at < _apart(text, listed[-1][1])
        )
        ticks.append((value, "" if crowded else text))
        last, before = (last, before) if crowded else (at, text)
    return replace(axis, ticks=tuple(ticks), fine=(tuple(listed),))


def decades(
    values: Iterable[float], title: str, *, unit: str = "", margin: float = 1.15, most: int = 7
) -> Axis:
    """A log axis that holds all positive values: ticks at powers of ten, at 1-2-5 where there are few of those, at finer steps where there are not three.

    With a unit (a base unit, "ns") every tick carries its own scaled unit: 100 ns, 1 µs, 10 µs.
    """
    positive = [v for v in values if v > 0] or [1.0]
    low, high = min(positive) / margin, max(positive) * margin
    if high / low < 4:
        low, high = low / (2 / math.sqrt(high / low)), high * (2 / math.sqrt(high / low))
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = [s * 10.0**p for p in powers for s in (1, 2, 5)]
    if below := [m for m in every if low / 1.2 <= m <= low]:
        low = below[-1]  # a tick so near is worth a little room
    if above := [m for m in every if high <= m <= high * 1.2]:
        high = above[0]

    def at(steps: Sequence[float]) -> list[float]:
        return [m for p in powers for s in steps if low * 0.999 <= (m := s * 10.0**p) <= high * 1.001]

    fine, coarse = at((1, 2, 5)), at((1,))
    marks = fine if len(fine) <= most else coarse[:: math.ceil(len(coarse) / most)]
    if high / low < 12:
        doubled = [
            low_tick * 2.0**i for low_tick in fine[:1] for i in range(8) if low_tick * 2.0**i <= high * 1.001
        ]
        marks = doubled if len(doubled) > len(fine) else fine
        marks = marks[:: math.ceil(len(marks) / most)]
    if len(marks) < _FEWEST:  # else an end of it is far from any
        finer = [found for found in map(at, _FINER) if _FEWEST <= len(found) <= most]
        to_the_ends = (own for own in finer if own[0] <= low * _NEAR and high <= own[-1] * _NEAR)
        marks = next(to_the_ends, finer[0] if finer else marks)
    texts = [fmt.quantity(m, unit, _digits(m)) if unit else fmt.number(m, _digits(m)) for m in marks]
    return Axis(
        kind="log",
        low=low,
        high=high,
        ticks=tuple(zip(marks, texts, strict=True)),
        title=title,
        fine=tuple(_within(low, high, steps, powers, unit) for steps in _STEPS) if unit else (),
    )


_FEWEST, _NEAR = 3, 1.3
_FINER = ((1, 3), (1, 2, 3, 5), (1, 1.5, 2, 3, 5, 7))


def _digits(mark: float) -> int:
    """Return how many digits show a mark as it is: 2 of 150 and 160, 1 of 200."""
    return 1 if math.isclose(mark, float(f"{mark:.0e}")) else 2


_STEPS = ((1, 2, 5), (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9))


def _within(
    low: float, high: float, steps: Sequence[float], powers: Iterable[int], unit: str
) -> tuple[tuple[float, str], ...]:
    every = (step * 10.0**power for power in powers for step in steps)
    return tuple((mark, fmt.quantity(mark, unit, 2)) for mark in every if low <= mark <= high)


def powers_of_two(values: Iterable[float], title: str, most: int = 7) -> Axis:
    """A log axis over sizes in bytes: ticks 1, 16, 256, 4 Ki, …, as many powers of two apart as leaves room."""
    positive = [v for v in values if v > 0] or [1.0]
    low, high = min(positive), max(positive)
    if low == high:
        low, high = low / 2, high * 2
    tested = sorted(set(positive))
    if 1 < len(tested) <= most:
        axis = at_tested(tested, title)
        said = tuple((v, fmt.size(v).removesuffix("B").strip() if text else "") for v, text in axis.ticks)
        return replace(
            axis,
            low=low,
            high=high,
            ticks=said,
            fine=(tuple((v, fmt.size(v).removesuffix("B").strip()) for v in tested),),
        )
    first, last = max(math.ceil(math.log2(low) - 1e-9), 0), math.floor(math.log2(high) + 1e-9)
    step = next(s for s in (1, 2, 4, 5, 6, 8, 10, 20, 40) if (last - first) / s < most)
    marks = [2.0**p for p in range(first, last + 1, step)]
    named = [(m, fmt.size(m).removesuffix("B").strip()) for m in (2.0**p for p in range(first, last + 1))]
    return Axis(
        kind="log",
        low=low,
        high=high,
        ticks=tuple(t for t in named if t[0] in marks),
        title=title,
        fine=tuple(tuple(named[::every]) for every in (4, 2, 1) if every < step),
    )


def share_axis(smallest: float, title: str) -> Axis:
    """The axis of a tail: 1 − CDF on a log scale, labelled with the share below (50 %, 90 %, 99 %, …), 1 at the top."""
    nines = [(0.5, "50 %"), (0.1, "90 %")] + [
        (10.0**-p, f"{100 * (1 - 10.0**-p):.{p - 2}f} %") for p in range(2, 10)
    ]
    low = min(smallest * 0.8, 0.05)
    fine = [
        [
            (step * 10.0**-p, f"{100 * (1 - step * 10.0**-p):.{max(p - 2, 0)}f} %")
            for p in range(1, 10)
            for step in steps
        ]
        for steps in ((5, 2, 1), range(9, 0, -1))
    ]
    return Axis(
        kind="log",
        low=low,
        high=1.0,
        ticks=tuple(n for n in nines if n[0] >= low),
        title=title,
        fine=tuple(tuple(tick for tick in ticks if tick[0] >= low) for ticks in fine),
    )


def _nice_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= rough * 0.999)
