"""Lines over the sessions of a machine, one under the other, under one lane of events: each a number in small. Plain values.

Places along a line are in per cent of its length, so that a page draws them as wide as it is; lines are paths in a box of `BOX`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

BOX: Final = (1000, 40)
_PAD: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened between two sessions: where, its number ("": too near to another one), and in words."""

    at: float
    number: str
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One number: its line, its levels (each with the verdict that began it, "" of the first), and what is said beside it."""

    name: str
    sub: str
    line: str
    levels: tuple[tuple[str, str], ...]  # verdict, path
    crosses: tuple[float, ...]  # where it should have been, and its runs failed
    steps: tuple[tuple[str, str], ...]  # verdict, "−11 % on 2026-10-13"
    note: str  # "now 71.4 GB/s"
    said: str  # for who does not see it
    link: str = ""  # the chart of it
    of: tuple[Any, ...] = field(
        default=(), repr=False, compare=False
    )  # as `Figure.runs`, whose number it shows
    metric: str = field(default="", repr=False, compare=False)  # as `Figure.metric`


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanes:
    """The lanes of a machine."""

    events: tuple[Event, ...]
    first: str  # dates of the first session and of the last
    last: str
    lanes: tuple[Lane, ...]

    @property
    def verticals(self) -> str:
        """Where the events are, as a path."""
        return "".join(f"M{event.at * BOX[0] / 100:.1f} 0V{BOX[1]}" for event in self.events)


def path(points: Sequence[tuple[float, float] | None], low: float, high: float) -> str:
    """Return a line through points (per cent along, value); None breaks it. Values from `low` to `high` fill the box."""
    out: list[str] = []
    for before, point in pairwise([None, *points]):
        if point is not None:
            out.append(f"{'L' if before else 'M'}{_at(point, low, high)}")
            alone = before is None
            out += ["h.1"] if alone else []  # one alone is a dot
    return "".join(out)


def _at(point: tuple[float, float], low: float, high: float) -> str:
    width, height = BOX
    share = (point[1] - low) / (high - low) if high > low else 0.5
    return f"{point[0] * width / 100:.1f} {height - _PAD - share * (height - 2 * _PAD):.1f}"


def reach(values: Sequence[float], least: float) -> tuple[float, float]:
    """Return the lowest and highest value, or what spans at least the share `least` of the middle one about them: noise is no mountain."""
    low, high = min(values), max(values)
    lacks = least * abs(sorted(values)[len(values) // 2]) - (high - low)
    return (low - lacks / 2, high + lacks / 2) if lacks > 0 else (low, high)
