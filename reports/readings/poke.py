"""poke's documents: the times that it prints, its timer, and the buckets of its histograms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from parsers.measurement import Parsed, number
from reports.readings import reading
from reports.results.model import Run


class Time(NamedTuple):
    """One printed time: of one access, of the timer, per byte, per turn of a loop, or of everything together."""

    metric: str  # "latency", "timer_overhead", "time_per_byte", … (parsers.poke.METRICS)
    target: str | None  # what was accessed: "memory", "file", "null"; None: of the timer
    op: str | None  # "read", "write+fence"
    statistic: str | None  # "mean", "max", "p99.9", "first touch"
    value: float  # ns; per byte ns/B


class Bucket(NamedTuple):
    """One bucket of a histogram: low ≤ t < high."""

    target: str
    op: str
    low: float  # ns
    high: float  # ns
    n: int  # samples


@reading(Time)
def times(parsed: Parsed) -> Iterator[Time]:
    """Every time, in the order of the text."""
    for row in parsed.measured():
        target, op, statistic = (
            None if (v := row.get(name)) is None else str(v) for name in ("target", "op", "statistic")
        )
        yield Time(row.metric, target, op, statistic, row.value)


@reading(Bucket, kept=False)
def buckets(parsed: Parsed) -> Iterator[Bucket]:
    """The histograms of all accesses, one after the other, each from the shortest time to the longest."""
    if "histogram" in parsed.tables:
        for target, op, low, high, count in parsed.tables["histogram"].rows:
            yield Bucket(str(target), str(op), number(low), number(high), int(number(count)))


def first(of: Run | Parsed, metric: str, statistic: str | None = None) -> float | None:
    """Return the first time of a metric, of this statistic if one is asked for; None where the text has none."""
    return next((t.value for t in times(of) if t.metric == metric and statistic in (None, t.statistic)), None)
