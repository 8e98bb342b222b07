"""poke: quantiles of the latency, time per byte and per turn of the loop."""

from __future__ import annotations

from collections.abc import Iterator

from parsers import poke
from parsers.measurement import Parsed
from reports import format as fmt
from reports.derive import Bucket
from reports.frames import Run
from reports.numbers._quantiles import latency, quantiles
from reports.numbers.model import Buckets, Name, Number, Part
from reports.readings.poke import buckets, first, times


def numbers(run: Run) -> Iterator[Number]:
    timer = first(run, "timer_resolution") or 0.0
    for name, own in histograms(run):
        yield from quantiles(name.part, own, timer)
    for time in times(run):
        if time.metric in ("time_per_byte", "time_per_iteration"):
            labels = (("target", time.target), ("op", time.op), ("statistic", time.statistic))
            part = tuple((label, value) for label, value in labels if value is not None)
            metric = poke.METRICS[time.metric]
            of = Name(metric=time.metric, unit=metric.unit, better=metric.better, part=part)
            yield Number(name=of, value=time.value)


def histograms(run: Run) -> list[tuple[Name, Buckets]]:
    """Return the latency distribution of each operation."""
    found: dict[Part, list[Bucket]] = {}
    for target, op, low, high, n in buckets(run):
        found.setdefault((("target", target), ("op", op)), []).append(Bucket(low, high, n))
    return [(latency(part), tuple(own)) for part, own in found.items() if sum(b.n for b in own)]


def headline(parsed: Parsed) -> str:
    """Return "median 184 ns, 99.9 % under 883 ns"."""
    median, tail = first(parsed, "latency", "p50"), first(parsed, "latency", "p99.9")
    if median is None:
        return ""
    return f"median {fmt.quantity(median, 'ns')}" + (
        f", 99.9 % under {fmt.quantity(tail, 'ns')}" if tail else ""
    )


def leading(parsed: Parsed) -> tuple[str, float] | None:
    median = first(parsed, "latency", "p50")
    return None if median is None else ("ns", median)
