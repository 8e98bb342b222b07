"""What a page is made of: sections of figures of panels and tables. Plain values; the templates only place them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from reports.draw.vega import Spec

WIDE, NARROW = 544, 368
"""Every panel is drawn twice, so that its text is never scaled; a container query in report.css picks one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One picture: its specification at both widths, and what it shows in words."""

    title: str
    wide: Spec
    narrow: Spec
    description: str


def panel(title: str, description: str, build: Callable[[int], Spec]) -> Panel:
    """Build a panel from a function of the width in px."""
    return Panel(title=title, wide=build(WIDE), narrow=build(NARROW), description=description)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table as it is read: texts, with `numeric` columns aligned to the right.

    `heat` gives cells a shade from 0 to 12 (None: no shade), in the shape of `rows` without their first column.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()
    caption: str = ""
    heat: tuple[tuple[int | None, ...], ...] = ()
    marked: frozenset[tuple[int, int]] = frozenset()  # cells with an outline (the diagonal), as `heat`


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """An entry of a figure's legend."""

    name: str
    colour: str
    dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A finding with its pictures and, closed below them, its numbers."""

    id: str
    title: str
    sub: str  # what ran, and how to read the marks
    panels: tuple[Panel, ...] = ()
    tables: tuple[Table, ...] = ()  # shown open, side by side
    numbers: tuple[Table, ...] = ()  # closed, "Numbers"
    key: tuple[Key, ...] = ()
    note: str = ""
    half: bool = False  # takes half of the page's width where there is room
    of: str = ""  # the name of the sweep whose runs it is drawn from; "": of all runs of its tool
    sweep: str = ""  # that sweep's title; said where a section has figures of several
    marks: str = ""  # what shades and outlines of its tables mean: for a medium that shows them


def heat(values: list[list[float | None]], *, inverse: bool = False) -> tuple[tuple[int | None, ...], ...]:
    """Return shades 0 to 12 of the values by their logarithm, from the lowest to the highest; `inverse`: the lowest
    gets the strongest. All shades are 0 where the values hardly differ (by less than a twentieth): noise gets no colour.
    """
    known = [v for row in values for v in row if v is not None and v > 0]
    low, high = (min(known), max(known)) if known else (1.0, 1.0)

    def shade(value: float | None) -> int | None:
        if value is None or value <= 0:
            return None
        if high / low < 1.05:
            return 0
        share = math.log(value / low) / math.log(high / low)
        return round(12 * (1 - share if inverse else share))

    return tuple(tuple(shade(v) for v in row) for row in values)
