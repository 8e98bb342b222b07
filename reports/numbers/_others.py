"""Any tool: every metric that has a direction, with the labels that tell its rows apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parsers import command, get_parser
from parsers.measurement import Measurement, Parsed
from reports.numbers._repeats import together
from reports.numbers.model import Number, Part, part_of
from reports.results.model import Run
from reports.text import format as fmt


def numbers(run: Run) -> Iterator[Number]:
    parser = get_parser(run.tool)
    metrics = parser.METRICS or command.metrics_of(run.cell.options)
    rows = [r for r in run.measured() if r.metric in metrics and metrics[r.metric].better != "neither"]
    labels = [n for n in parser.LABELS if len({r.get(n) for r in rows}) > 1]
    steps = parser.PRINTED if parser.PRINTED is not None else run.parsed.printed() if run.parsed else {}
    seen: set[tuple[Part, str]] = set()
    for row in rows:
        part = part_of(row, *labels)
        if (part, row.metric) not in seen:
            seen.add((part, row.metric))
            yield Number.read(row, metrics[row.metric], part, steps.get(row.metric))


def undirected(run: Run) -> list[str]:
    """Return the metrics of an experiment of which a run has numbers and that it gives no direction: shown, and not compared."""
    metrics = command.metrics_of(run.cell.options)
    measured = {row.metric for row in run.measured()}
    return [name for name, metric in metrics.items() if metric.better == "neither" and name in measured]


def headline(repeats: Sequence[Parsed]) -> str:
    """Return the number that leads and how many more there are, of other metrics or of its own: "rate 600 MB/s and 2 more"."""
    rows = list(together(repeats).measured())
    if not rows:
        return ""
    first = _leader(rows)
    more = len(rows) - 1
    said = (
        f"{first.metric.replace('_', ' ')} {fmt.quantity(first.value, fmt.said_in(first.metric, first.unit))}"
    )
    return said + (f" and {more} more" if more else "")


def leading(parsed: Parsed) -> tuple[str, float] | None:
    rows = list(parsed.measured())
    return (_leader(rows).unit, _leader(rows).value) if rows else None


def leaders(repeats: Sequence[Parsed]) -> list[tuple[str, float]]:
    """Return what `leading` does, of each repeat that has it the metric that leads in all of them together."""
    rows = list(together(repeats).measured())
    metric = _leader(rows).metric if rows else ""
    of_each = [[row for row in parsed.measured() if row.metric == metric] for parsed in repeats]
    return [(_leader(own).unit, _leader(own).value) for own in of_each if own]


def _leader(rows: Sequence[Measurement]) -> Measurement:
    """Return the number that stands for a run: the largest rate, of a statistic the one over the whole run; without a rate the
    first number, in the order in which the experiment names its metrics."""
    rates = [r for r in rows if r.metric in ("bandwidth", "iops") and r.get("statistic") in (None, "total")]
    return max(rates, key=lambda r: r.value) if rates else rows[0]
