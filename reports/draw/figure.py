"""What a page is made of: sections of figures of panels and tables. Plain values; the templates only place them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from reports.draw.vega import Spec
from reports.numbers.formulas import Spread
from reports.results.model import Results, Run

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


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyNumber:
    """A number of the page's header: what, how much, of which unit, and in which circumstances."""

    name: str
    value: str
    unit: str
    context: str
    rank: int  # the six lowest are shown
    repeats: str = ""  # "147 to 450 ns": lowest and highest repeat, where they are apart
    unsteady: bool = False  # so far apart that the value alone says little
    program: str = ""  # what made it, where a tool and its stand-in may both have
    merit: float = 0.0  # of numbers of one name and program, the one with the most is shown
    runs: tuple[Run, ...] = ()  # of its cell: what a check says of them is said of it
    doubt: str = ""  # the checks that found an error, or a warning, in its cell: "F1, F7"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessTime:
    """A row of the latency overview: the time of one access (ns)."""

    name: str
    group: str  # what it is coloured by: "memory", "message passing", "storage"
    median: float  # over the repeats
    run: Run  # one of its cell
    p999: float | None = None
    source: str = ""
    repeats: Spread | None = None  # of the median, over the repeats (ns)
    bound: bool = False  # more than half of it is the timer: the access itself takes less
    statistic: str = "mean"  # of the accesses of a run: "median", or "mean" where its tool tells no more


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """What one tool puts on the page."""

    tool: str
    figures: tuple[Figure, ...]
    key_numbers: tuple[KeyNumber, ...] = ()
    access_times: tuple[AccessTime, ...] = ()
    programs: tuple[str, ...] = ()  # every program that made numbers, by the name that the page gives it


class ChartModule(Protocol):
    """What a module of `reports.charts` provides; it has the name of its tool. Everything that a page or a terminal says of
    one tool is here, so that a new tool is a new module and no list to edit."""

    SECTION: str
    """The section of the page that it belongs to, as its heading says it: "Memory", "MPI", "Storage", "Latency tails"."""

    RANK: int
    """Its place on the page, lowest first; a section stands where the first of its tools does."""

    METHODS: str
    """A paragraph of the page's Methods: what its numbers count and how the derived ones are made; "" without one."""

    def chapter(self, results: Results, tool: str) -> Chapter:
        """Draw the good runs of the tool (`tool`: its own name, or that of a tool without a module)."""
        ...


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
