"""What each axis does to a number, a line an axis: its levels by how far they are behind the best, on one log scale. Plain values.

Places along a line are in per cent of its length, so that a page draws them as wide as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from reports.draw import label_placement
from reports.text import format as fmt
from reports.text.names import cut_apart

_LEAST_SPAN: Final = 1.25
"""Of the scale, highest ÷ lowest: axes that do next to nothing look so."""
_EDGE: Final = 4
"""The text of a tick so near to an end (per cent) begins or ends there, as the template has it."""
_END_PX: Final = 190
"""What the name of a level takes below that of its axis, at most: a long one is cut."""
_TRACK_PX: Final = 300
"""A line's length on the narrowest page, for which names of levels are left out where they would touch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A level of an axis: where it lies, its name, and the place of its name ("": there is no room)."""

    at: float
    name: str
    clear: bool  # hollow where not; the best one with all others
    anchor: str  # "start", "middle", "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """An axis: its levels, the range of the worst one, and what is said of both."""

    name: str
    ends: str  # "1 to 16": from the worst level to the best
    dots: tuple[Dot, ...]
    low: float
    high: float
    factor: str  # "8.40 ×"
    span: str  # "6.10 to 9.00", "6.10 to 9.00, 4 of 6 pairs"; "" where it is one number and of all
    clear: bool
    doubt: str  # why it is not; "" of a clear one
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """The axes of a sweep, the one that does most first. `number` is what they are of."""

    number: str
    ticks: tuple[tuple[float, str], ...]
    tracks: tuple[Track, ...]
    hollow: str  # what hollow dots are, "not beyond the repeats everywhere", of several reasons "not clear"; "" where none is


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A level of an axis: how many times better the best one is, and the range of these ratios."""

    name: str
    behind: float
    low: float
    high: float
    doubt: str = (
        ""  # why it does not clearly differ from the best; of the best itself, why that may be another
    )
    partly: str = ""  # of how many pairs of cells it is, "4 of 6 pairs"; "" of all


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """What a track is made of: levels, the best first."""

    name: str
    ends: tuple[str, str]  # what the worst level and the best one are called
    levels: Sequence[Step]
    doubt: str = ""  # why it is not clear; "" of what is
    bound: bool = False  # is the best level better than that: are these lower bounds?


def ratio(value: float, *, bound: bool) -> str:
    """Return a ratio as it is read: "8.40", a lower bound as "≥ 8.40"."""
    return f"≥ {fmt.number(value, rounding=fmt.DOWN)}" if bound else fmt.number(value)


def ratios(low: float, high: float, *, bound: bool) -> str:
    """Return a range of ratios: "6.10 to 9.00", of lower bounds "≥ 6.10"; "" where it is one number."""
    ends = fmt.number(low), fmt.number(high)
    return "" if ends[0] == ends[1] else ratio(low, bound=True) if bound else " to ".join(ends)


APART: Final = 3.0
"""Ratios of pairs of cells that are more times apart have no common one: their geometric mean is over 1.7 × off the lowest or the highest."""


def stated(mean: float, low: float, high: float, *, bound: bool) -> tuple[str, str]:
    """Return what is said of the ratios of pairs of cells, and what beside it: their geometric mean and their range, "8.40", "6.10 to 9.00"; of
    ratios far apart the range alone, "1.50 to 39.7"."""
    span = ratios(low, high, bound=bound)
    return (span, "") if high > APART * low else (ratio(mean, bound=bound), span)


def strip(number: str, axes: Iterable[Axis]) -> Strip:
    """Draw some axes on one scale, from what is furthest behind to the best level (1 ×): better to the right."""
    given = list(axes)
    every = [
        1.0,
        *(v for a in given for v in (a.levels[-1].low, a.levels[-1].high, *(of.behind for of in a.levels))),
    ]
    low = min(every)
    high = max(max(every), low * _LEAST_SPAN)

    def at(of: float) -> float:
        return round(100 - 100 * math.log(of / low) / math.log(high / low), 2)

    tracks = []
    for axis in given:
        last = axis.levels[-1]
        factor, span = stated(last.behind, last.low, last.high, bound=axis.bound)
        cut = cut_apart(axis.ends, label_placement.fits(_END_PX))
        tracks.append(
            Track(
                name=axis.name, ends=" to ".join(cut[end] for end in axis.ends), dots=_dots([(at(of.behind), of.name, clear) for of, clear in zip(axis.levels, _clear(axis), strict=True)]), low=at(last.high), high=at(last.low),
                factor=f"{factor} ×", span=", ".join(filter(None, (span, last.partly))), clear=not axis.doubt, doubt=axis.doubt, said=_said(axis),
            )
        )  # fmt: skip
    doubts = {of.doubt for axis in given for of in axis.levels if of.doubt}
    hollow = "not clear" if len(doubts) > 1 else "".join(doubts)
    return Strip(number=number, ticks=_ticks(low, high, at), tracks=tuple(tracks), hollow=hollow)


def _clear(axis: Axis) -> list[bool]:
    best, *others = (not of.doubt for of in axis.levels)
    return [best and any(others), *others]


def _said(axis: Axis) -> str:
    """Return what a track shows in words: "tool: zstd is best, 2.99 × better than gzip, 2.94 to 33.7 × better than xz (4 of 8 pairs)"; nothing is best
    where it is not clear of each level, whose range alone is told then: "level: 1 is 5.11 × better than 9; 0.758 to 8.70 × as good as 10; not beyond
    the repeats everywhere"."""
    best, *others = axis.levels
    ahead = [
        f"{stated(of.behind, of.low, of.high, bound=axis.bound)[0]} × better than {_whole(of)}"
        for of in others
        if not of.doubt
    ]
    whole = not axis.doubt and len(ahead) == len(others)
    parts = [", ".join([*(["best"] if whole else []), *ahead])] if ahead else []
    doubts = dict.fromkeys(of.doubt for of in others if of.doubt)
    for doubt in doubts:
        alike = (
            f"{ratios(of.low, of.high, bound=axis.bound) or ratio(of.behind, bound=axis.bound)} × as good as {_whole(of)}"
            for of in others
            if of.doubt == doubt
        )
        parts += [", ".join(alike), doubt]
    parts += [axis.doubt] if axis.doubt and axis.doubt not in doubts else []
    return f"{axis.name}: {best.name} is {'; '.join(parts)}"


def _whole(of: Step) -> str:
    return f"{of.name} ({of.partly})" if of.partly else of.name


def _ticks(low: float, high: float, at: Callable[[float], float]) -> tuple[tuple[float, str], ...]:
    power = math.floor(math.log10(high))
    steps = (1, 2, 3, 5, 7) if high / low < 12 else (1, 2, 5)
    coarse = [step * 10.0**p for p in range(power + 1) for step in steps]
    marks = [m for m in coarse if low * 0.999 <= m <= high * 1.001]
    if high / low > 200:
        marks = [m for m in marks if math.log10(m).is_integer()]
    if len(marks) < 2:
        marks = [m for m in (1.0, 1.1, 1.2, 1.5) if m <= high * 1.001]
    return _apart([(at(m), f"{fmt.level(m)} ×") for m in marks])


def _apart(ticks: Sequence[tuple[float, str]]) -> tuple[tuple[float, str], ...]:
    """Return the ticks whose texts do not touch: the first, the last, and what has room between them."""
    taken: dict[str, tuple[float, float]] = {}
    for at, text in [*ticks[:1], *ticks[:0:-1]]:
        width = 100 * label_placement.text_width(text) / _TRACK_PX
        start = at if at < _EDGE else at - width if at > 100 - _EDGE else at - width / 2
        if all(start + width + 1 <= a or b + 1 <= start for a, b in taken.values()):
            taken[text] = start, start + width
    return tuple(tick for tick in ticks if tick[1] in taken)


_LONG: Final = 15
"""A name as long (per cent) is read as that of any dot below it."""


def _dots(levels: Sequence[tuple[float, str, bool]]) -> tuple[Dot, ...]:
    """Return the dots, of (place, name, is it clear?); the first and the last have a name, of the others those that touch none; a long one, where it is over no other dot."""
    taken: list[tuple[float, float]] = []
    named: dict[int, str] = {}
    for i in dict.fromkeys([0, len(levels) - 1, *range(len(levels))]):
        at, name, _ = levels[i]
        width = 100 * label_placement.text_width(name) / _TRACK_PX
        for anchor, start in (("middle", at - width / 2), ("start", at), ("end", at - width)):
            inside = start >= -1 and start + width <= 101
            over = width > _LONG and any(start < other < start + width for other, *_ in levels if other != at)
            if inside and not over and all(start + width + 2 <= a or b + 2 <= start for a, b in taken):
                named[i] = anchor
                taken.append((start, start + width))
                break
    return tuple(Dot(at=at, name=name if i in named else "", clear=clear, anchor=named.get(i, "")) for i, (at, name, clear) in enumerate(levels))  # fmt: skip
