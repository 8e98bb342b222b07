"""Any tool: every metric that has a direction, with the labels that tell its rows apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parsers import command, get_parser
from parsers.measurement import Parsed
from reports import format as fmt
from reports.frames import Run
from reports.numbers._repeats import together
from reports.numbers.model import Number, Part, part_of


def numbers(run: Run) -> Iterator[Number]:
    parser = get_parser(run.tool)
    metrics = parser.METRICS or command.metrics_of(run.point.options)
    rows = [r for r in run.measured() if r.metric in metrics and metrics[r.metric].better != "neither"]
    labels = [n for n in parser.LABELS if len({r.get(n) for r in rows}) > 1]
    steps = parser.PRINTED if parser.PRINTED is not None else run.parsed.printed() if run.parsed else {}
    seen: set[tuple[Part, str]] = set()
    for row in rows:
        part = part_of(row, *labels)
        if (part, row.metric) not in seen:
            seen.add((part, row.metric))
            yield Number.read(row, metrics[row.metric], part, steps.get(row.metric))


def headline(repeats: Sequence[Parsed]) -> str:
    """Return the first number and how many more metrics there are: "rate 600 MB/s and 2 more"."""
    parsed = together(repeats)
    rows = list(parsed.measured())
    if not rows:
        return ""
    more = len({r.metric for r in rows}) - 1
    first = f"{rows[0].metric.replace('_', ' ')} {fmt.quantity(rows[0].value, rows[0].unit)}"
    return first + (f" and {more} more" if more else "")


def leading(parsed: Parsed) -> tuple[str, float] | None:
    """Return the unit and the value of the largest rate, of a statistic the one over the whole run; without a rate those of
    the first number."""
    rows = list(parsed.measured())
    rates = [r for r in rows if r.metric in ("bandwidth", "iops") and r.get("statistic") in (None, "total")]
    if not rows:
        return None
    found = max(rates, key=lambda r: r.value) if rates else rows[0]
    return found.unit, found.value
