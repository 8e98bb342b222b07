"""Derived numbers: pure functions from measured values to the figures a reader quotes. Base units in and out.

Each docstring gives the formula. A number that the data does not carry is None, never 0.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

# --- spread ------------------------------------------------------------------------------------------------


class Spread(NamedTuple):
    """The repeats of one number: n values from `low` to `high`."""

    median: float
    low: float
    high: float
    n: int

    @property
    def relative(self) -> float:
        """(high − low) ÷ median."""
        return (self.high - self.low) / abs(self.median) if self.median else math.inf


def spread(values: Sequence[float]) -> Spread:
    """Return median, minimum, maximum and number of the values. At least one value."""
    return Spread(statistics.median(values), min(values), max(values), len(values))


def differs(a: Spread, b: Spread) -> bool:
    """May a sentence say that a and b differ? A gate on what is claimed, not a test.

    The repeats of one side must all lie on one side of the other's, and the medians must differ by more than 3 %
    and by more than the wider of the two spreads. With fewer than three repeats a side the spread is hardly known,
    and 10 % is asked at least.
    """
    if a.high >= b.low and b.high >= a.low:
        return False
    if a.median == 0 or b.median == 0:
        return True
    change = abs(math.log(abs(b.median) / abs(a.median)))
    gate = max(0.10 if min(a.n, b.n) < 3 else 0.03, a.relative, b.relative)
    return change > math.log1p(gate)


# --- loaded latency ----------------------------------------------------------------------------------------


class Load(NamedTuple):
    """One row of a loaded-latency table: what the reading thread saw while the others moved bytes."""

    delay: int  # injection delay, the tool's own count
    latency: float  # ns
    bandwidth: float  # B/s


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedLatency:
    """What one loaded-latency curve offers."""

    rows: int
    unloaded: float  # ns
    enough_idle_rows: bool  # False: `unloaded` is the lowest latency of the curve
    peak: float  # B/s
    peak_delay: int
    latency_at_peak: float  # ns
    at_double: float | None  # B/s at 2 × unloaded; None if even the idlest row is slower than that
    reached_double: bool  # False: no row is slower than 2 × unloaded, `at_double` is then the peak
    collapse: float | None  # bandwidth at delay 0 ÷ peak


def by_load(rows: Sequence[Load]) -> list[Load]:
    """Return the rows in the order of load, least first: falling delay, in file order where a delay repeats."""
    return sorted(rows, key=lambda r: -r.delay)


def loaded_latency(rows: Sequence[Load]) -> LoadedLatency:
    """Derive the figures of one curve; needs at least one row.

    unloaded   median latency of the rows with bandwidth ≤ 10 % of the peak, if there are three or more;
               else the lowest latency
    peak       largest bandwidth, with its delay and its latency
    at_double  largest bandwidth at which the latency is at most 2 × unloaded, between two rows interpolated
               linearly in bandwidth along the curve in order of load
    collapse   bandwidth at delay 0 ÷ peak: below 1 where more load moves fewer bytes
    """
    ordered = by_load(rows)
    peak = max(ordered, key=lambda r: r.bandwidth)
    idle = [r.latency for r in ordered if r.bandwidth <= 0.10 * peak.bandwidth]
    unloaded = statistics.median(idle) if len(idle) >= 3 else min(r.latency for r in ordered)
    limit = 2 * unloaded
    within = [r.bandwidth for r in ordered if r.latency <= limit]
    crossings = [
        a.bandwidth + (limit - a.latency) / (b.latency - a.latency) * (b.bandwidth - a.bandwidth)
        for a, b in itertools.pairwise(ordered)
        if (a.latency - limit) * (b.latency - limit) < 0
    ]
    full = [r.bandwidth for r in ordered if r.delay == 0]
    return LoadedLatency(
        rows=len(ordered),
        unloaded=unloaded,
        enough_idle_rows=len(idle) >= 3,
        peak=peak.bandwidth,
        peak_delay=peak.delay,
        latency_at_peak=peak.latency,
        at_double=max([*within, *crossings], default=None),
        reached_double=any(r.latency > limit for r in ordered),
        collapse=full[0] / peak.bandwidth if full and peak.bandwidth else None,
    )


# --- scaling -----------------------------------------------------------------------------------------------


def saturation(curve: Mapping[int, float]) -> int | None:
    """Return the first n (threads, iodepth) that reaches 95 % of the curve's maximum; None of an empty curve."""
    if not curve:
        return None
    enough = 0.95 * max(curve.values())
    return next(n for n in sorted(curve) if curve[n] >= enough)


def ratios(over: Mapping[int, float], under: Mapping[int, float]) -> dict[int, float]:
    """Return over[n] / under[n] for every n that both have (remote ÷ local, per thread count)."""
    return {n: over[n] / under[n] for n in sorted(over) if under.get(n)}


# --- message passing ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PingPong:
    """What one PingPong curve offers. Times are one way, in ns."""

    zero: float | None  # time of the message without bytes
    small: float | None  # median time of 0 to 8 B
    peak: float | None  # B/s
    peak_size: int | None  # B
    half_size: float | None  # B: where the curve reaches half of its peak (n½)


def bandwidths(times: Mapping[int, float]) -> dict[int, float]:
    """Return size (B) → bandwidth (B/s) from size → one-way time (ns), of all sizes above 0.

    From bytes and time, never from the tool's column: its unit changed between versions.
    """
    return {size: size / t * 1e9 for size, t in sorted(times.items()) if size > 0 and t > 0}


def half_size(rates: Mapping[int, float]) -> float | None:
    """Return the message size (B) at which the measured curve first reaches half of its peak: between the last size
    below it and the next, interpolated linearly in bandwidth over log(size). None if the smallest size is above it."""
    if not rates:
        return None
    half = max(rates.values()) / 2
    sizes = sorted(rates)
    for a, b in itertools.pairwise(sizes):
        if rates[a] < half <= rates[b]:
            share = (half - rates[a]) / (rates[b] - rates[a])
            return float(a * (b / a) ** share)
    return None


def pingpong(times: Mapping[int, float]) -> PingPong:
    """Derive the figures of one curve from message size (B) → one-way time (ns).

    latency is the median time over 0 to 8 B, with the 0-byte time apart; peak is the maximum over sizes, not
    the last row.
    """
    rates = bandwidths(times)
    small = [t for size, t in times.items() if size <= 8]
    peak_size = max(rates, key=lambda s: rates[s]) if rates else None
    return PingPong(
        zero=times.get(0),
        small=statistics.median(small) if small else None,
        peak=None if peak_size is None else rates[peak_size],
        peak_size=peak_size,
        half_size=half_size(rates),
    )


# --- storage -----------------------------------------------------------------------------------------------


def in_flight(parts: Sequence[tuple[float, float]]) -> float:
    """Return L = Σ IOPS · latency over the directions of a cell: I/Os in flight, by Little's law.

    parts: (IOPS in 1/s, mean total latency in ns).
    """
    return sum(iops * latency * 1e-9 for iops, latency in parts)


def little_ratio(parts: Sequence[tuple[float, float]], iodepth: int, numjobs: int) -> float:
    """Return L ÷ (iodepth · numjobs). Real runs give 0.99 to 1.00; above 1.03 is impossible, below 0.9 the
    queue was not kept full."""
    return in_flight(parts) / (iodepth * numjobs)


# --- distributions -----------------------------------------------------------------------------------------


class Bucket(NamedTuple):
    """`n` samples with low ≤ value < high (ns)."""

    low: float
    high: float
    n: int

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2


def quantile(buckets: Sequence[Bucket], share: float) -> float | None:
    """Return the value below which `share` of the samples lie: the middle of the bucket that holds the sample of
    rank ⌈share · n⌉. None unless at least ten samples lie beyond it (99.9 % needs 10 000 samples); the
    median needs no such tail."""
    total = sum(b.n for b in buckets)
    if total == 0 or (share > 0.5 and total * (1 - share) < 10 - 1e-6):
        return None
    rank = max(1, math.ceil(share * total - 1e-9))
    seen = 0
    for bucket in sorted(buckets):
        seen += bucket.n
        if seen >= rank:
            return bucket.middle
    return None


def moments(buckets: Sequence[Bucket]) -> tuple[float, float]:
    """Return (mean, standard deviation) of a histogram that is not empty, each bucket at its middle."""
    total = sum(b.n for b in buckets)
    mean = sum(b.middle * b.n for b in buckets) / total
    variance = sum((b.middle - mean) ** 2 * b.n for b in buckets) / total
    return mean, math.sqrt(variance)


def survival(buckets: Sequence[Bucket], points: int = 300) -> list[tuple[float, float]]:
    """Return (value in ns, share of samples at or above it), falling, for a step line on log axes.

    At most about `points` rows: between the extremes, rows are kept where the share has fallen by a fixed ratio
    or the value has grown by one. It ends at the largest bucket with its own share, at least 1/n; nothing is
    drawn past it.
    """
    ordered = sorted(b for b in buckets if b.n > 0)
    total = sum(b.n for b in ordered)
    left, rows = total, []
    for bucket in ordered:
        rows.append((bucket.low, left / total))
        left -= bucket.n
    if len(rows) <= points:
        return rows
    step_y = math.log(1 / rows[-1][1]) / (points / 2) or math.inf
    step_x = math.log(max(rows[-1][0], 1.0) / max(rows[0][0], 1.0)) / (points / 2) or math.inf
    kept = [rows[0]]
    for value, share in rows[1:-1]:
        if (
            math.log(kept[-1][1] / share) >= step_y
            or math.log(max(value, 1.0) / max(kept[-1][0], 1.0)) >= step_x
        ):
            kept.append((value, share))
    return [*kept, rows[-1]]


def normal_survival(mean: float, deviation: float, value: float) -> float:
    """Return the share of a normal distribution above `value`: ½ erfc((value − mean) ÷ (σ√2))."""
    return 0.5 * math.erfc((value - mean) / (deviation * math.sqrt(2)))


def merge(buckets: Sequence[Bucket], per_decade: int = 24) -> list[Bucket]:
    """Add up buckets into logarithmic ones, `per_decade` to a decade, that abut at powers of 10^(1/per_decade).

    A bucket goes where its middle lies. A value of 0 goes with the lowest bucket.
    """
    counts: dict[int, int] = {}
    for bucket in buckets:
        index = math.floor(math.log10(max(bucket.middle, 1e-3)) * per_decade + 1e-9)
        counts[index] = counts.get(index, 0) + bucket.n
    return [
        Bucket(10 ** (i / per_decade), 10 ** ((i + 1) / per_decade), n)
        for i, n in sorted(counts.items())
        if n
    ]
