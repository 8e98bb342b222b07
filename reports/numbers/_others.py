"""Any tool: every metric that has a direction, with the labels that tell its rows apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from parsers import command, get_parser
from parsers.measurement import Counted, Measurement, Metric, Parsed, Table
from reports.numbers._repeats import same_in, together
from reports.numbers.model import Name, Number, Part, part_of
from reports.results.model import Run
from reports.text import format as fmt


def numbers(run: Run) -> Iterator[Number]:
    parser = get_parser(run.tool)
    metrics = parser.METRICS or command.metrics_of(run.cell.options)
    steps = parser.PRINTED if parser.PRINTED is not None else run.parsed.printed() if run.parsed else {}
    if run.parsed and isinstance(run.parsed.measurements.rows, Counted):
        yield from _counted(run.parsed.measurements.rows, metrics, steps)
        return
    rows = [r for r in run.measured() if r.metric in metrics and metrics[r.metric].better != "neither"]
    labels = [n for n in parser.LABELS if len({r.get(n) for r in rows}) > 1]
    seen: set[tuple[Part, str]] = set()
    for row in rows:
        part = part_of(row, *labels)
        if (part, row.metric) not in seen:
            seen.add((part, row.metric))
            yield Number.read(row, metrics[row.metric], part, steps.get(row.metric))


def _counted(rows: Counted, metrics: Mapping[str, Metric], steps: Mapping[str, float]) -> Iterator[Number]:
    """Give the same, one after the other: of a million numbers most readers want the first."""
    directed = [one for one in rows.series if one[0] in metrics and metrics[one[0]].better != "neither"]
    alone = all(len(values) == 1 for _, _, values in directed)
    for name, unit, values in directed:
        better, step = metrics[name].better, steps.get(name)
        for index, value in enumerate(values):
            part = () if alone else (("index", index),)
            yield Number(name=Name(metric=name, unit=unit, better=better, part=part), value=value, step=step)


def undirected(run: Run) -> list[str]:
    """Return the metrics of an experiment of which a run has numbers and that it gives no direction: shown, and not compared."""
    metrics = command.metrics_of(run.cell.options)
    measured = {row.metric for row in run.measured()}
    return [name for name, metric in metrics.items() if metric.better == "neither" and name in measured]


def headline(repeats: Sequence[Parsed], spread: str = "") -> str:
    """Return the number that leads and those of the other metrics, "rate 600 MB/s, latency 20.0 µs"; of many, or of a metric that has
    several, how many more there are: "rate 600 MB/s and 22 more"."""
    front = together([_front(parsed) for parsed in repeats])
    first = _leader(front)
    if first is None:
        return ""
    n = len(front.measurements.rows)
    more = _common(repeats, n) - 1
    if more == n - 1 < _MOST_SAID:
        rows = list(front.measured())
        if len({row.metric for row in rows}) == n:
            listed = [first, *(row for row in rows if row.metric != first.metric)]
            said, *others = (_said(row, repeats) for row in listed)
            return ", ".join([f"{said}{spread}", *others])
    return f"{_said(first, repeats)}{spread}" + (f" and {more} more" if more else "")


_MOST_SAID: Final = 6
"""Metrics of a cell that are all said."""


def _said(row: Measurement, repeats: Sequence[Parsed]) -> str:
    told = [parsed.printed().get(row.metric, 0.0) for parsed in repeats]
    value = fmt.quantity(row.value, fmt.said_in(row.metric, row.unit), step=max(told) if all(told) else 0.0)
    return f"{row.metric.replace('_', ' ')} {value}"


def leaders(repeats: Sequence[Parsed]) -> list[tuple[str, float]]:
    """Return the number that leads by the medians over the repeats, of each repeat."""
    front = [_front(parsed) for parsed in repeats]
    return values_of(_leader(together(front)), front)


def values_of(row: Measurement | None, repeats: Sequence[Parsed]) -> list[tuple[str, float]]:
    """Return unit and value of a row in each repeat."""
    found = [same_in(parsed, row) for parsed in repeats] if row else []
    return [(own.unit, own.value) for own in found if own]


def _front(parsed: Parsed) -> Parsed:
    """Return a text with no more of its measurements than may lead: of numbers that are counted the rates, and the first of the others."""
    return parsed.once(_cut) if isinstance(parsed.measurements.rows, Counted) else parsed


def _cut(parsed: Parsed) -> Parsed:
    rows = parsed.measurements.rows
    if not isinstance(rows, Counted):
        return parsed
    front = Counted((name, of, own if name in _RATES else own[:1]) for name, of, own in rows.series)
    table = Table(columns=parsed.measurements.columns, rows=front)
    return replace(parsed, tables={**parsed.tables, "measurements": table})


def _common(repeats: Sequence[Parsed], front: int) -> int:
    """Return how many numbers all repeats have; `front`: those of their `_front`, which are all where nothing is counted."""
    tables = [parsed.measurements.rows for parsed in repeats]
    counts = [{s[:2]: len(s[2]) for s in rows.series} for rows in tables if isinstance(rows, Counted)]
    if len(counts) < len(tables):
        return front if not counts else len(together(repeats).measurements.rows)
    return sum(min(own[key] for own in counts) for key in counts[0] if all(key in own for own in counts))


_RATES: Final = ("bandwidth", "iops")


def _leader(parsed: Parsed) -> Measurement | None:
    """Return the number that stands for a run: the largest rate, of a statistic the one over the whole run; without a rate the first number,
    in the order in which the experiment names its metrics."""
    rows = parsed.measurements.rows
    if isinstance(rows, Counted):  # without a row of each number
        first = max((s for s in rows.series if s[0] in _RATES), key=lambda s: max(s[2]), default=None)
        metric, unit, values = first or next(iter(rows.series), ("", "", ()))
        index = values.index(max(values)) if first else 0
        return Measurement(metric, unit, values[index], {"index": index}) if values else None
    listed = list(parsed.measured())
    rates = [r for r in listed if r.metric in _RATES and r.get("statistic") in (None, "total")]
    return max(rates, key=lambda r: r.value) if rates else next(iter(listed), None)
