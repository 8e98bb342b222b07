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
"""line is y over x through medians. steps is a distribution, with y as the share above x. bars is a histogram, from
x to the column `x2`. heat has cells at x and y, shaded by the column `value`. points has x over names y. forest adds
intervals (columns `low` and `high`), and strip has a dot per host.
"""


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
    panel: Mapping[str, Any] = field(default_factory=dict)  # panel column → value; {} for all panels


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
    title: str  # the plotted quantity: "Bandwidth by threads"
    x: str
    y: str = "value"
    where: Mapping[str, Any] = field(default_factory=dict)  # column → value, or a tuple of values
    rows: Callable[[pd.DataFrame], pd.DataFrame] | None = None  # applied behind `where`
    kind: Kind = "line"
    color: str = ""  # "": all axes joined, except x and panels
    panels: tuple[str, ...] = ("where",)  # the host, with the file where several come from one
    order: str = ""  # column of the points of a line, in order, each at the median x; "": x
    log_x: bool = False
    log_y: bool = False
    zero: bool = True  # y begins at 0
    x_unit: str = ""  # base unit of x, or "date" for seconds since 1970; y: unit of the rows, or `y_unit`
    y_unit: str = ""
    x_title: str = ""
    y_title: str = ""
    titles: tuple[Title, ...] = ()  # the first that holds; else `title`
    rules: Callable[[pd.DataFrame], list[Rule]] | None = None
    bands: Callable[[pd.DataFrame], list[Band]] | None = None
    rings: Callable[[pd.DataFrame], list[Point]] | None = None
    summary: Callable[[pd.DataFrame], Table | None] | None = None  # the main conclusion
    caption: str = ""  # two lines at most
    about: str = ""
