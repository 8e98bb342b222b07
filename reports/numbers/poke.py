"""poke: quantiles of the latency, time per byte and per turn of the loop."""

from __future__ import annotations

from collections.abc import Iterator

from parsers import poke
from parsers.measurement import Parsed, number
from reports import format as fmt
from reports.derive import Bucket
from reports.frames import Run
from reports.numbers._quantiles import quantiles
from reports.numbers.model import Buckets, Number, Part, part_of


def numbers(run: Run) -> Iterator[Number]:
    rows = list(run.measured())
    timer = next((row.value for row in rows if row.metric == "timer_resolution"), 0.0)
    for part, buckets in histograms(run):
        yield from quantiles(part, buckets, timer)
    for row in rows:
        if row.metric in ("time_per_byte", "time_per_iteration"):
            yield Number.read(row, poke.METRICS[row.metric], part_of(row, "target", "op", "statistic"), None)


def histograms(run: Run) -> list[tuple[Part, Buckets]]:
    """Return the latency distribution of each operation."""
    found: dict[Part, list[Bucket]] = {}
    for row in run.table("histogram"):
        bucket = Bucket(number(row["low"]), number(row["high"]), int(number(row["count"])))
        part = tuple((label, row[label]) for label in ("target", "op") if label in row)
        found.setdefault(part, []).append(bucket)
    return [(part, tuple(buckets)) for part, buckets in found.items() if sum(b.n for b in buckets)]


def headline(parsed: Parsed) -> str:
    """Return "median 184 ns, 99.9 % under 883 ns"."""
    median, tail = _latency(parsed, "p50"), _latency(parsed, "p99.9")
    if median is None:
        return ""
    return f"median {fmt.quantity(median, 'ns')}" + (
        f", 99.9 % under {fmt.quantity(tail, 'ns')}" if tail else ""
    )


def leading(parsed: Parsed) -> tuple[str, float] | None:
    median = _latency(parsed, "p50")
    return None if median is None else ("ns", median)


def _latency(parsed: Parsed, statistic: str) -> float | None:
    rows = parsed.measured()
    return next((r.value for r in rows if r.metric == "latency" and r.get("statistic") == statistic), None)
