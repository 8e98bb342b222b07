"""Any tool: every metric that has a direction, with the labels that tell its rows apart."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from parsers import command, get_parser
from parsers.measurement import Counted, Metric, Parsed, Scalar
from reports.numbers.model import Name, Number, Part, part_of
from reports.results.model import Run
from reports.text import format as fmt


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


def headline(repeats: Sequence[Parsed], spread: str = "") -> str:
    """Return the leading number and those of the other metrics, "rate 600 MB/s, latency 20.0 µs"; of many how many more there are."""
    medians = _medians(repeats)
    leader = _leader(medians)
    if leader is None:
        return ""
    first = f"{_described(leader, medians, repeats)}{spread}"
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
