"""The defaults of every tool: metrics with a direction, and charts over the longest numeric axis or with one row per
cell.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from parsers import command, get_parser
from parsers.measurement import Counted, Metric
from reports.chart import Chart, Title
from reports.document import Quantity
from reports.numbers.model import SIZE, Name, Number, Part, part_of
from reports.numbers.repeats import Column, Repeats
from reports.results.model import Run
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

# --- numbers -----------------------------------------------------------------------------------------------


def numbers(run: Run) -> Iterator[Number]:
    """Yield the first number of each metric and label set. Parser metrics without a direction are left out."""
    parser = get_parser(run.tool)
    metrics = {name: m for name, m in parser.METRICS.items() if m.better != "neither"} or command.metrics_of(
        run.cell.options
    )
    steps = parser.PRINTED if parser.PRINTED is not None else run.parsed.printed() if run.parsed else {}
    if run.parsed and isinstance(run.parsed.measurements.rows, Counted):
        yield from _counted(run.parsed.measurements.rows, metrics, steps)
        return
    rows = [row for row in run.measured() if row.metric in metrics]
    labels = [name for name in parser.LABELS if len({row.get(name) for row in rows}) > 1]
    keys: set[tuple[Part, str]] = set()
    for row in rows:
        part = part_of(row, *labels)
        if (part, row.metric) not in keys:
            keys.add((part, row.metric))
            yield Number.read(row, metrics[row.metric], part, steps.get(row.metric))


def _counted(rows: Counted, metrics: Mapping[str, Metric], steps: Mapping[str, float]) -> Iterator[Number]:
    """Yield the numbers one by one, because most readers want the first of a million."""
    selected = [series for series in rows.series if series[0] in metrics]
    single = all(len(values) == 1 for _, _, values in selected)
    for metric, unit, values in selected:
        for index, value in enumerate(values):
            part = () if single else (("index", index),)
            name = Name(metric=metric, unit=unit, better=metrics[metric].better, part=part)
            yield Number(name=name, value=value, step=steps.get(metric))


_RATES: Final = ("bandwidth", "iops")

_MAX_RATES: Final = 10_000
"""Maximum of rates among which the largest leads."""

_MAX_LISTED: Final = 6
"""Metrics in a headline. More metrics are counted."""


def lead(cell: Repeats) -> Name | None:
    """Return the largest rate by the medians over the repeats. Without a rate, return the first number."""
    rates = itertools.islice((name for name in cell.columns if _is_rate(name)), _MAX_RATES)
    first = next(iter(cell.columns), None)
    return max(rates, key=lambda name: cell.columns[name].median, default=first)


def _is_rate(name: Name) -> bool:
    return name.metric in _RATES and dict(name.part).get("statistic") in (None, "total", "mean")


def headline(cell: Repeats) -> str:
    """Return the leading number and the other metrics, such as "rate 600 MB/s, latency 20.0 µs". A long list ends in
    a count.
    """
    if cell.lead is None:
        return ""
    rest = [name for name in itertools.islice(cell.columns, _MAX_LISTED + 1) if name != cell.lead]
    total = len(cell.columns)
    first = _described(cell.lead, cell.columns[cell.lead])
    if total <= _MAX_LISTED and len({name.metric for name in cell.columns}) == total:
        return ", ".join([first, *(_described(name, cell.columns[name]) for name in rest)])
    return first + (f" and {total - 1} more" if total > 1 else "")


def _described(name: Name, column: Column) -> str:
    """Return "rate 600 MB/s", "mean latency 1.20 µs at 1 B"."""
    value = fmt.quantity(column.median, fmt.said_in(name.metric, name.unit), step=column.step)
    labels = dict(name.part)
    size = labels.get(SIZE)
    at = f" at {fmt.size(float(size))}" if isinstance(size, int | float) else ""
    return f"{labels.get('statistic') or ''} {name.metric.replace('_', ' ')} {value}{at}".strip()


# --- charts ------------------------------------------------------------------------------------------------

MAX_METRICS: Final = 12
"""Metrics of a sweep with a figure. Exports have all metrics."""

MAX_LINES: Final = 4
"""Lines of a panel, if axes can be panels instead."""

MAX_INDEXES: Final = 8
"""With this many values of one metric in a run, quantiles are drawn."""

QUANTILES: Final = {"median": 0.5, "p90": 0.9, "p99": 0.99, "maximum": 1.0}

LOG: Final = 64.0
"""Highest ÷ lowest value from which an axis is logarithmic."""


_NO_AXES: Final = frozenset({"where", "program", "kind", "index", "statistic", "run_", "table"})


def charts(rows: pd.DataFrame, keys: Sequence[str]) -> tuple[Chart, ...]:
    """Return one chart per metric. `rows` is `Measurements.tidy` for one sweep. `keys` names the columns that
    identify cells and numbers.
    """
    axes = [name for name in keys if name not in _NO_AXES and name in rows]
    x = _position(rows, axes)
    others = [
        name for name in dict.fromkeys(("place", *axes)) if name != x and name in rows and rows[name].nunique() > 1
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
    """Return the axis with the most different numbers, at least two, or else the message size, or ""."""
    levels = {name: _levels(rows, name) for name in axes}
    longest = max(levels, key=lambda name: levels[name], default="")
    if longest and levels[longest] > 1:
        return longest
    return SIZE if _levels(rows, SIZE) > 1 else ""


def _levels(rows: pd.DataFrame, name: str) -> int:
    """Return the count of different numbers in a column, or 0 if some values are not numbers."""
    values = rows[name].dropna().unique().tolist() if name in rows else []
    is_numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return len(values) if is_numeric else 0


def _lines(rows: pd.DataFrame, others: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the axis of the lines ("" for all axes joined) and the axes of the panels."""
    lines = rows.groupby(list(others), dropna=False).ngroups if others else 1
    few = [name for name in others if rows[name].nunique() <= MAX_LINES]
    if lines <= MAX_LINES or not few:
        return "", ()
    color = max(few, key=lambda name: rows[name].nunique())
    return color, tuple(name for name in others if name != color)


def _is_wide(values: pd.Series[Any]) -> bool:
    return bool(values.min() > 0 and values.max() >= LOG * values.min())


def _quantiles(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows with the quantiles of a run instead of the values, for runs with many values of one metric."""
    if "index" not in rows or rows["index"].nunique() <= MAX_INDEXES:
        return rows
    runs = rows.groupby(["run", "metric"], sort=False)
    first = runs.head(1).set_index(["run", "metric"], drop=False)
    parts = [first.assign(value=runs["value"].quantile(share), statistic=name) for name, share in QUANTILES.items()]
    return _concat(parts)


def _concat(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    from parsers.frames import pd

    return pd.concat(parts, ignore_index=True)


def _best(rows: pd.DataFrame) -> Mapping[str, Any] | None:
    """Hold for a metric with a direction and one best cell on one host, by more than 3 %."""
    better = rows["better"].iloc[0]
    medians = rows.groupby(["cell", "row", "statistic"], dropna=False)["value"].median().sort_values()
    if better == "neither" or len(medians) < 2 or rows["where"].nunique() > 1 or len(medians) > rows["cell"].nunique():
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
