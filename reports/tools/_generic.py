"""The defaults of every tool: each metric that has a direction, and its charts over the longest numeric axis or as a row per cell."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from parsers import command, get_parser
from parsers.measurement import Counted, Metric, Parsed, Scalar
from reports.chart import Chart, Title
from reports.document import Quantity
from reports.numbers.model import SIZE, Name, Number, Part, part_of
from reports.results.model import Run
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

# --- numbers -----------------------------------------------------------------------------------------------


def numbers(run: Run) -> Iterator[Number]:
    """Yield the first number of each metric with a direction and of each set of labels."""
    return _numbers(run, directed=True)


def undirected(run: Run) -> Iterator[Number]:
    """Yield the numbers of metrics to which an experiment gives no direction: they are shown, and not compared."""
    return iter(()) if get_parser(run.tool).METRICS else _numbers(run, directed=False)


def _numbers(run: Run, *, directed: bool) -> Iterator[Number]:
    parser = get_parser(run.tool)
    metrics = parser.METRICS or command.metrics_of(run.cell.options)
    metrics = {name: metric for name, metric in metrics.items() if (metric.better != "neither") == directed}
    steps = parser.PRINTED if parser.PRINTED is not None else run.parsed.printed() if run.parsed else {}
    if run.parsed and isinstance(run.parsed.measurements.rows, Counted):
        yield from _counted(run.parsed.measurements.rows, metrics, steps)
        return
    rows = [row for row in run.measured() if row.metric in metrics]
    labels = [name for name in parser.LABELS if len({row.get(name) for row in rows}) > 1]
    seen: set[tuple[Part, str]] = set()
    for row in rows:
        part = part_of(row, *labels)
        if (part, row.metric) not in seen:
            seen.add((part, row.metric))
            yield Number.read(row, metrics[row.metric], part, steps.get(row.metric))


def _counted(rows: Counted, metrics: Mapping[str, Metric], steps: Mapping[str, float]) -> Iterator[Number]:
    """Yield the numbers one by one: most readers want the first of a million."""
    selected = [series for series in rows.series if series[0] in metrics]
    single = all(len(values) == 1 for _, _, values in selected)
    for metric, unit, values in selected:
        for index, value in enumerate(values):
            part = () if single else (("index", index),)
            name = Name(metric=metric, unit=unit, better=metrics[metric].better, part=part)
            yield Number(name=name, value=value, step=steps.get(metric))


_Key = tuple[str, str, tuple[tuple[str, Scalar], ...]]
"""Metric, unit and labels of a number."""

_RATES: Final = ("bandwidth", "iops")

_MAX_RATES: Final = 10_000
"""Values of a counted rate of which the largest leads."""

_MAX_LISTED: Final = 6
"""Metrics that a headline lists; it counts more."""


def headline(repeats: Sequence[Parsed]) -> str:
    """Return the leading number and those of the other metrics, "rate 600 MB/s, latency 20.0 µs"; of many how many more there are."""
    medians = _medians(repeats)
    leader = _leader(medians)
    if leader is None:
        return ""
    first = _described(leader, medians, repeats)
    rest = [key for key in medians if key != leader]
    total = min(len(parsed.measurements.rows) for parsed in repeats)
    if total == len(medians) <= _MAX_LISTED and len({metric for metric, *_ in medians}) == total:
        return ", ".join([first, *(_described(key, medians, repeats) for key in rest)])
    return first + (f" and {total - 1} more" if total > 1 else "")


def leaders(repeats: Sequence[Parsed]) -> list[tuple[str, float]]:
    """Return (unit, value) in each repeat of the largest rate by the medians; without a rate of the first number that all have."""
    leader = _leader(_medians(repeats))
    return [] if leader is None else [(leader[1], parsed.once(_candidates)[leader]) for parsed in repeats]


def _medians(repeats: Sequence[Parsed]) -> dict[_Key, float]:
    """Return the median over the repeats of each number that may lead and that all have."""
    tables = [parsed.once(_candidates) for parsed in repeats]
    common = [key for key in tables[0] if all(key in table for table in tables)]
    return {key: statistics.median(table[key] for table in tables) for key in common}


def _leader(medians: Mapping[_Key, float]) -> _Key | None:
    rates = [key for key in medians if _is_rate(key)]
    return max(rates, key=medians.__getitem__) if rates else next(iter(medians), None)


def _is_rate(key: _Key) -> bool:
    return key[0] in _RATES and dict(key[2]).get("statistic") in (None, "total", "mean")


def _candidates(parsed: Parsed) -> dict[_Key, float]:
    """Return the numbers of a text; of numbers that are counted the rates, and the first of each other metric."""
    rows = parsed.measurements.rows
    found: dict[_Key, float] = {}
    if isinstance(rows, Counted):
        for metric, unit, values in rows.series:
            shown = values[:_MAX_RATES] if metric in _RATES else values[:1]
            found |= {(metric, unit, (("index", i),)): value for i, value in enumerate(shown)}
        return found
    for row in parsed.measured():
        labels = tuple((name, label) for name, label in row.labels.items() if name != "repetitions")
        found.setdefault((row.metric, row.unit, labels), row.value)
    return found


def _described(key: _Key, medians: Mapping[_Key, float], repeats: Sequence[Parsed]) -> str:
    """Return "rate 600 MB/s", "mean latency 1.20 µs at 1 B"."""
    metric, unit, labels = key
    steps = [parsed.printed().get(metric, 0.0) for parsed in repeats]
    value = fmt.quantity(medians[key], fmt.said_in(metric, unit), step=max(steps) if all(steps) else 0.0)
    statistic, size = (dict(labels).get(name) for name in ("statistic", "message_size"))
    at = f" at {fmt.size(float(size))}" if isinstance(size, int | float) else ""
    return f"{statistic or ''} {metric.replace('_', ' ')} {value}{at}".strip()


# --- charts ------------------------------------------------------------------------------------------------

MAX_METRICS: Final = 12
"""Metrics of a sweep that have a figure; the numbers of others are in exports."""

MAX_LINES: Final = 4
"""Lines of a panel, if axes can be panels instead."""

MAX_INDEXES: Final = 8
"""Values of one metric in one run from which on their quantiles are drawn."""

QUANTILES: Final = {"median": 0.5, "p90": 0.9, "p99": 0.99, "maximum": 1.0}

LOG: Final = 64.0
"""An axis is logarithmic if its highest value is so many times its lowest."""


_NO_AXES: Final = frozenset({"where", "program", "kind", "index", "statistic", "run_", "table"})


def charts(rows: pd.DataFrame, keys: Sequence[str]) -> tuple[Chart, ...]:
    """Return one chart per metric. rows: of one sweep, as `Measurements.tidy` returns them. keys: columns that tell cells and numbers apart."""
    axes = [name for name in keys if name not in _NO_AXES and name in rows]
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
    values = rows[name].dropna().unique().tolist() if name in rows else []
    is_numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
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
