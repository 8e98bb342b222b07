"""OSU micro-benchmarks: every figure that has a direction, by benchmark, message size and statistic."""

from __future__ import annotations

from collections.abc import Sequence

from parsers.measurement import Measurement, Parsed
from parsers.osu import METRICS, PRINTED
from reports.numbers import _others
from reports.numbers._repeats import together
from reports.text import format as fmt

numbers = _others.numbers


def headline(repeats: Sequence[Parsed], spread: str = "") -> str:
    """Return "mean latency 1.20 µs at 1 B and 42 more", "bandwidth 12.1 GB/s at 1 MiB and 22 more": the figure that leads, and how many
    more have a direction."""
    rows = _directed(together(repeats))
    first = _leading(rows)
    if first is None:
        return ""
    typed = any(parsed.has("from_table") for parsed in repeats)
    value = fmt.quantity(first.value, first.unit, step=0.0 if typed else PRINTED.get(first.metric))
    size = first.get("message_size")
    statistic = f"{of} " if (of := first.get("statistic")) else ""
    at = f" at {fmt.size(float(size))}" if isinstance(size, int | float) else ""
    more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
    return f"{statistic}{first.metric.replace('_', ' ')} {value}{spread}{at}{more}"


def leaders(repeats: Sequence[Parsed]) -> list[tuple[str, float]]:
    """Return the largest bandwidth, without one the first figure that has a direction."""
    return _others.values_of(_leading(_directed(together(repeats))), repeats)


def _leading(rows: Sequence[Measurement]) -> Measurement | None:
    rates = [row for row in rows if row.metric == "bandwidth"]
    return max(rates, key=lambda row: row.value) if rates else next(iter(rows), None)


def _directed(parsed: Parsed) -> list[Measurement]:
    return [row for row in parsed.measured() if METRICS[row.metric].better != "neither"]
