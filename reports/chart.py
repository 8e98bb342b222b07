"""A declared chart: rows of the frame, axes, lines and panels. `reports.render.vega` does the layout.

The rows come from `Measurements.tidy(tool)`, filtered by `where`. A chart with other rows (a matrix, a distribution, a
derived curve) makes the rows in `rows`. The engine groups rows by panels, colour and x. A line is the median of the
repeats, with the range as a band. Flagged rows have open markers. The figure's table has the same numbers. Values are
in base units.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from reports.document import Table

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["line", "points", "steps", "bars", "heat", "forest", "strip"]
"""line: y over x through medians. steps: a distribution, y is the share above x. bars: a histogram, from x to the column `x2`.
heat: a cell is y by x, its shade the column `value`. points: x over names y. forest: the same with intervals, columns `low` and `high`.
strip: the same with a dot per host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A reference line at x or y, in the base unit, with a short label: "p99 = 1 ms"."""

    label: str
    x: float | None = None
    y: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """A shaded part of the x axis with a short label: a cache."""

    label: str
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A circle around a point of a line, such as a knee or a best depth."""

    x: float
    y: float
    label: str
    panel: Mapping[str, Any] = field(default_factory=dict)  # panel column → value; {}: in all


@dataclass(frozen=True, slots=True, kw_only=True)
class Title:
    """A title template of a figure, with a condition. `values` returns the template's values, or None if the
    condition does not hold.

    A title needs at least one row without flags.
    """

    template: str  # "Triad saturates at {threads} threads: {bandwidth}"
    values: Callable[[pd.DataFrame], Mapping[str, Any] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One figure per sweep. Columns of `panels` and `color` that have one value only are left out."""

    id: str
    title: str  # what is plotted: "Bandwidth by threads"
    x: str
    y: str = "value"
    where: Mapping[str, Any] = field(default_factory=dict)  # column → value, or a tuple of values
    rows: Callable[[pd.DataFrame], pd.DataFrame] | None = None  # applied behind `where`
    kind: Kind = "line"
    color: str = ""  # "": every axis that is no x and no panel, joined
    panels: tuple[str, ...] = ("where",)  # the host, with the file where several come from one
    order: str = (
        ""  # a column whose values are the points of a line, in its order, each at its median x; "": x
    )
    log_x: bool = False
    log_y: bool = False
    zero: bool = True  # y begins at 0
    x_unit: str = ""  # base unit of x, "date" of seconds since 1970; of y that of the rows, or `y_unit`
    y_unit: str = ""
    x_title: str = ""
    y_title: str = ""
    titles: tuple[Title, ...] = ()  # the first that holds; else `title`
    rules: Callable[[pd.DataFrame], list[Rule]] | None = None
    bands: Callable[[pd.DataFrame], list[Band]] | None = None
    rings: Callable[[pd.DataFrame], list[Point]] | None = None
    summary: Callable[[pd.DataFrame], Table | None] | None = None  # what a reader takes from the picture
    caption: str = ""  # two lines at most
    about: str = ""
