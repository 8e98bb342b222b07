"""Any program, and any tool without a module: each metric over the longest numeric axis, or a row per cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from reports.chart import Chart, Title
from reports.document import Quantity
from reports.numbers._others import headline, leaders, numbers, undirected
from reports.numbers.model import SIZE
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["charts", "headline", "leaders", "numbers", "undirected"]

SECTION: Final = "Other programs"
RANK: Final = 90
METHODS: Final = ""

MAX_METRICS: Final = 12
"""Metrics of a sweep that have a figure; the numbers of others are in exports."""

MAX_LINES: Final = 4
"""Lines of a panel, if axes can be panels instead."""

MAX_INDEXES: Final = 8
"""Values of one metric in one run from which on their quantiles are drawn."""

QUANTILES: Final = {"median": 0.5, "p90": 0.9, "p99": 0.99, "maximum": 1.0}

LOG: Final = 64.0
"""An axis is logarithmic if its highest value is so many times its lowest."""


def charts(rows: pd.DataFrame, axes: Sequence[str]) -> tuple[Chart, ...]:
    """Return one chart per metric. rows: of one sweep, as `Measurements.tidy` returns them; axes: columns that the experiment varies."""
    x = _position(rows, axes)
    others = [
        name
        for name in dict.fromkeys(("place", *axes))
        if name != x and name in rows and rows[name].nunique() > 1
    ]
    titles = list(dict.fromkeys(rows["title"]))[:MAX_METRICS]
    return tuple(_chart(i, title, rows[rows["title"] == title], x, others) for i, title in enumerate(titles))


def _chart(index: int, title: str, rows: pd.DataFrame, x: str, others: Sequence[str]) -> Chart:
    name = fmt.sentence(title)
    templates = (
        Title(template=f"{name} is {{end}} at {{cell}}: {{value}}", values=_best),
        Title(template=f"{name} is {{low}} to {{high}} in all cells", values=_range),
    )  # fmt: skip
    identity = f"metric-{index}" if index else "metric"
    if not x:
        return Chart(
            id=identity, title=f"{name} by cell", x="value", y="cell", where={"title": title}, rows=_quantiles, kind="points", x_title=name,
            color="statistic", titles=templates,
        )  # fmt: skip
    color, panels = _lines(rows, others)
    return Chart(
        id=identity, title=f"{name} by {_word(x)}", x=x, where={"title": title}, rows=_quantiles, color=color, panels=("where", *panels),
        log_x=_is_wide(rows[x]), log_y=_is_wide(rows["value"]), x_unit="B" if x == SIZE else "", x_title=_word(x), y_title=name,
        titles=templates,
    )  # fmt: skip


def _word(axis: str) -> str:
    return axis.replace("_", " ")


def _position(rows: pd.DataFrame, axes: Sequence[str]) -> str:
    """Return the axis with the most different numbers, at least two, else the message size; "" if there is neither."""
    levels = {name: _levels(rows, name) for name in axes}
    longest = max(levels, key=lambda name: levels[name], default="")
    if longest and levels[longest] > 1:
        return longest
    return SIZE if _levels(rows, SIZE) > 1 else ""


def _levels(rows: pd.DataFrame, name: str) -> int:
    """Return how many different numbers a column has; 0 if it has others, too."""
    values = rows[name].dropna().unique() if name in rows else ()
    is_numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in list(values))
    return len(values) if is_numeric else 0


def _lines(rows: pd.DataFrame, others: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the axis of the lines, "" for all joined, and those of the panels."""
    lines = rows.groupby(list(others), dropna=False).ngroups if others else 1
    few = [name for name in others if rows[name].nunique() <= MAX_LINES]
    if lines <= MAX_LINES or not few:
        return "", ()
    color = max(few, key=lambda name: rows[name].nunique())
    return color, tuple(name for name in others if name != color)


def _is_wide(values: pd.Series[Any]) -> bool:
    return bool(values.min() > 0 and values.max() >= LOG * values.min())


def _quantiles(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows with the quantiles of each run in place of its values, if it has many of one metric."""
    if "index" not in rows or rows["index"].nunique() <= MAX_INDEXES:
        return rows
    runs = rows.groupby(["run", "metric"], sort=False)
    first = runs.head(1).set_index(["run", "metric"], drop=False)
    parts = [
        first.assign(value=runs["value"].quantile(share), statistic=name) for name, share in QUANTILES.items()
    ]
    return _concat(parts)


def _concat(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    from parsers.frames import pd

    return pd.concat(parts, ignore_index=True)


def _best(rows: pd.DataFrame) -> Mapping[str, Any] | None:
    """Hold for a metric with a direction, of which one cell of one host is the best by more than 3 %."""
    better = rows["better"].iloc[0]
    medians = rows.groupby(["cell", "row", "statistic"], dropna=False)["value"].median().sort_values()
    if (
        better == "neither"
        or len(medians) < 2
        or rows["where"].nunique() > 1
        or len(medians) > rows["cell"].nunique()
    ):
        return None
    best, second = (medians.iloc[at] for at in ((0, 1) if better == "lower" else (-1, -2)))
    if abs(best - second) <= MIN_LEAD * abs(second):
        return None
    at = medians.index[0 if better == "lower" else -1]
    return {
        "end": "lowest" if better == "lower" else "highest",
        "cell": at[0],
        "value": Quantity(float(best), rows["unit"].iloc[0]),
    }


MIN_LEAD: Final = 0.03


def _range(rows: pd.DataFrame) -> Mapping[str, Any] | None:
    """Hold for several cells of one host."""
    medians = rows.groupby("cell")["value"].median()
    if len(medians) < 2 or rows["where"].nunique() > 1:
        return None
    unit = rows["unit"].iloc[0]
    return {"low": Quantity(float(medians.min()), unit), "high": Quantity(float(medians.max()), unit)}
