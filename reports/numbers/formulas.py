"""Derived numbers: pure functions from measured values to figures. Inputs and results are in base units.

Each docstring gives the formula. A number that the data does not support is None, never 0.
"""

from __future__ import annotations

import bisect
import itertools
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from orchestrator.machine.facts import MemoryModule

# --- spread ------------------------------------------------------------------------------------------------


class Spread(NamedTuple):
    """Summary of the repeats of a number: n values from `low` to `high`."""

    median: float
    low: float
    high: float
    n: int
    step: float | None = None  # last printed digit, as an argument of `fmt.number`

    @property
    def relative(self) -> float:
        """Return (high − low) ÷ median. Equal values give 0, including zeros."""
        if self.high == self.low:
            return 0.0
        return (self.high - self.low) / abs(self.median) if self.median else math.inf

    @property
    def unsteady(self) -> bool:
        """Are the repeats further apart than 25 % of the median?"""
        return self.n > 1 and self.relative > UNSTEADY


UNSTEADY: Final = 0.25
"""Minimum range of repeats, as a share of the median, that is called varying."""


def spread(values: Sequence[float], step: float | None = None) -> Spread:
    """Return median, minimum, maximum and count of at least one value. `step` is the last printed digit."""
    return Spread(statistics.median(values), min(values), max(values), len(values), step)


def overlap(a: Spread, b: Spread) -> bool:
    """Do the repeats of neither side all lie on one side of the other's?"""
    return a.high >= b.low and b.high >= a.low


def overlapping(best: Spread, others: Iterable[Spread]) -> int:
    """Return how many other cells overlap with the best cell in the range of the repeats."""
    return sum(overlap(best, other) for other in others)


def differs(a: Spread, b: Spread) -> bool:
    """Return whether a sentence may state that a and b differ. The rule is a gate for statements, not a test.

    The repeats of one side must all be on one side of the other range. The medians must differ by more than 3 % and by
    more than the wider spread. With fewer than three repeats per side the spread is hardly known, and the threshold is
    at least 10 %.

    The difference is a share of the larger median, so that the gate is symmetric. No such share is beyond a spread of
    100 %. For positive values with repeats on both sides, a log scale therefore counts too. There the ratio of the
    medians must be beyond the ratio of the wider side's repeats, `_LOGS` times.
    """
    if overlap(a, b):
        return False
    if a.median == 0 or b.median == 0:
        return True
    small, large = sorted((abs(a.median), abs(b.median)))
    least, gap = 0.10 if min(a.n, b.n) < 3 else 0.03, 1 - small / large - 1e-9
    if gap > max(least, a.relative, b.relative):  # at the gate itself, rounding must not decide
        return True
    if gap <= least or min(a.n, b.n) < 2 or min(a.low, b.low) <= 0:
        return False
    wider = max(math.log(side.high / side.low) for side in (a, b))
    return math.log(large / small) > _LOGS[min(a.n, b.n) > 2] * wider + 1e-9


_LOGS: Final = (3.1, 1.4)
"""Factors for two repeats per side and for three or more: Student's t at 5 % on logs. The wider range w estimates
the scatter s, at most w ÷ √2 for two repeats and w ÷ √3 for three. The difference must exceed t · s · √(2 ÷ n): 4.30
· w ÷ √2 = 3.04 w, 2.78 · w · √2 ÷ 3 = 1.31 w, and less for more repeats.
"""


# --- scaling -----------------------------------------------------------------------------------------------


N = TypeVar("N", int, float)


def saturation(curve: Mapping[N, float]) -> N | None:
    """Return the first n (threads, iodepth) with 95 % of the curve's maximum. An empty curve gives None."""
    if not curve:
        return None
    enough = 0.95 * max(curve.values())
    return next(n for n in sorted(curve) if curve[n] >= enough)


def saturations(repeats: Sequence[Mapping[N, float]]) -> list[N]:
    """Return the saturation points of all repeats, from lowest to highest. There is one value if all repeats agree.

    Only curves with the maximum number of points count, because a missing point makes another curve.
    """
    most = max(map(len, repeats), default=0)
    points = (saturation(curve) for curve in repeats if len(curve) == most)
    return sorted({n for n in points if n is not None})


def dram_peak(modules: Iterable[MemoryModule]) -> float | None:
    """Return the peak rate (B/s) of memory modules. Two modules with 3200 MT/s give 2 · 3200·10⁶ · 8 B = 51.2 GB/s.

    The formula is an upper bound, because each module counts as a separate channel of 64 bits. Return None if a
    rate is unknown, or if a module is not a DDR DIMM: one module of LPDDR, HBM or GDDR can have several channels.
    """
    filled = [module for module in modules if module.size_bytes]
    rates = [(module.rate_mts or 0) * 1e6 * 8 for module in filled]
    dimms = all(not module.type or module.type.startswith("DDR") for module in filled)
    return sum(rates) if rates and dimms and all(rates) else None


# --- message passing ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageCurve:
    """The derived numbers of a ping-pong curve over message sizes. Times are one way, in ns."""

    zero: float | None  # time of the message without bytes
    small: float | None  # median time of 0 to 8 B
    peak: float | None  # B/s
    peak_size: int | None  # B
    half_size: float | None  # B: n½, the size at half of the peak
    rises: bool = False  # True: the peak is at the largest size, and the curve still rises (`still_rises`)


def bandwidths(times: Mapping[int, float]) -> dict[int, float]:
    """Return size (B) → bandwidth (B/s) from size → one-way time (ns), for all sizes above 0.

    The rate is bytes ÷ time. The unit of the tool's own column changed between versions.
    """
    return {size: size / t * 1e9 for size, t in sorted(times.items()) if size > 0 and t > 0}


def half_size(rates: Mapping[int, float]) -> float | None:
    """Return n½ (B), the message size at which the measured curve reaches half of the peak.

    The value is interpolated between the last size below half of the peak and the next size, linearly in bandwidth over
    log(size). Return None if the smallest size is already above half of the peak. Return None also if the
    curve falls below half again before the peak, or if the curve still rises at the end.
    """
    if not rates or still_rises(rates):
        return None
    peak = max(rates, key=lambda size: rates[size])
    half = rates[peak] / 2
    rising = [(a, b) for a, b in itertools.pairwise(sorted(rates)) if b <= peak and rates[a] < half <= rates[b]]
    if len(rising) != 1:
        return None
    ((a, b),) = rising
    share = (half - rates[a]) / (rates[b] - rates[a])
    return float(a * (b / a) ** share)


RISES = 1.25
"""A curve still rises if the largest size moves over RISES × the rate of the size before."""


def still_rises(rates: Mapping[int, float]) -> bool:
    """Return whether a curve of bandwidth by message size (B) ends before the peak."""
    ends = sorted(rates)[-2:]
    return len(ends) == 2 and rates[ends[1]] == max(rates.values()) > RISES * rates[ends[0]]


COLD = 1.5
"""The first, smallest messages are a cold start if they take longer than this × a larger message."""


def cold(times: Mapping[int, float]) -> tuple[int, ...]:
    """Return the smallest sizes, up to 8 B, that take over COLD × the time of a larger message.

    Few repetitions measure such times while connections are made and caches fill. `times` maps size (B) to a time in
    any unit.
    """
    cold_sizes: list[int] = []
    ordered = sorted(times)
    for i, size in enumerate(ordered):
        if size > 8 or times[size] <= COLD * min((times[n] for n in ordered[i + 1 :]), default=math.inf):
            break
        cold_sizes.append(size)
    return tuple(cold_sizes)


def pingpong(times: Mapping[int, float]) -> MessageCurve:
    """Return the derived numbers of a curve from message size (B) → one-way time (ns).

    The latency is the median time over 0 to 8 B without cold starts (`cold`), next to the 0-byte time. The peak is the
    maximum over all sizes, not the last row.
    """
    rates = bandwidths(times)
    started = cold(times)
    small = [t for size, t in times.items() if size <= 8 and size not in started]
    peak_size = max(rates, key=lambda s: rates[s]) if rates else None
    return MessageCurve(
        zero=times.get(0),
        small=statistics.median(small) if small else None,
        peak=None if peak_size is None else rates[peak_size],
        peak_size=peak_size,
        half_size=half_size(rates),
        rises=still_rises(rates),
    )


QUOTABLE = 0.15
"""A fitted line is quotable if no size is off by more than this, for one line or two."""


class Branch(NamedTuple):
    """t = α + n ÷ B over a range of message sizes n."""

    start: int  # B: smallest size
    end: int  # B: largest size
    alpha: float  # ns
    rate: float | None  # B/s; None: undetermined, see `fit`
    worst: float  # largest |fitted ÷ measured − 1|


@dataclass(frozen=True, slots=True, kw_only=True)
class Hockney:
    """A curve of times, fitted by one line and by two lines, with the lines that may be quoted."""

    one: Branch
    two: tuple[Branch, Branch] | None  # None: fewer than four sizes on a side

    @property
    def quotable(self) -> tuple[Branch, ...]:
        """Return the single line if all sizes are within 15 %. Otherwise return the branches that are within 15 %."""
        if self.one.worst <= QUOTABLE:
            return (self.one,)
        return tuple(branch for branch in self.two or () if branch.worst <= QUOTABLE)


def fit(times: Mapping[int, float]) -> Hockney | None:
    """Return fits of t = α + n ÷ B (Hockney 1994) to message size (B) → one-way time (ns).

    The first fit is over all sizes. The second fit has one line on each side of the best break. The fit minimizes the
    squared relative residuals, so that a message of 8 B has the weight of a message of 4 MB. The break has at least
    four sizes on each side and the smallest sum of squares. Fewer than four sizes give None.

    B is undetermined above 2 × the highest measured bandwidth. There, n ÷ B is less than half of the time at every
    size.
    """
    sizes = [n for n in sorted(times) if times[n] > 0]
    if len(sizes) < 4:
        return None
    most = 2 * max(bandwidths(times).values(), default=0.0)
    line, _ = _branch(sizes, times, most)
    splits = [(*_branch(sizes[:k], times, most), *_branch(sizes[k:], times, most)) for k in range(4, len(sizes) - 3)]
    best = min(splits, key=lambda s: s[1] + s[3], default=None)
    return Hockney(one=line, two=None if best is None else (best[0], best[2]))


def _branch(sizes: Sequence[int], times: Mapping[int, float], most: float) -> tuple[Branch, float]:
    """Return the weighted least squares line (weights 1/t²) with the sum of squared relative residuals.

    `most` is the largest B (B/s) that the times determine.
    """
    weights = [times[n] ** -2 for n in sizes]
    total = sum(weights)
    mean_n = sum(w * n for w, n in zip(weights, sizes, strict=True)) / total
    mean_t = sum(w * times[n] for w, n in zip(weights, sizes, strict=True)) / total
    across = sum(w * (n - mean_n) ** 2 for w, n in zip(weights, sizes, strict=True))
    along = sum(w * (n - mean_n) * (times[n] - mean_t) for w, n in zip(weights, sizes, strict=True))
    slope = along / across if across else 0.0
    alpha = mean_t - slope * mean_n
    off = [(alpha + slope * n) / times[n] - 1 for n in sizes]
    rate = 1e9 / slope if slope > 0 and 1e9 / slope <= most else None
    branch = Branch(sizes[0], sizes[-1], alpha, rate, max(map(abs, off)))
    return branch, sum(r * r for r in off)


# --- storage -----------------------------------------------------------------------------------------------


def in_flight(parts: Sequence[tuple[float, float]]) -> float:
    """Return L = Σ IOPS · latency over the directions of a cell, the I/Os in flight by Little's law.

    `parts` holds pairs of IOPS (1/s) and mean total latency (ns).
    """
    return sum(iops * latency * 1e-9 for iops, latency in parts)


class Within(NamedTuple):
    """The highest IOPS within a latency limit, over the tested depths. Rates between two depths are unknown.

    iops     the highest median (1/s) of the depths at which every repeat keeps the limit, and `depth`
    open     some repeats have more at a depth that breaks the limit in other repeats
    bound    every repeat keeps the limit at every depth, so that more may be possible
    """

    iops: float
    depth: int
    open: bool
    bound: bool


def within_slo(depths: Mapping[int, Sequence[tuple[float, float]]], slo: float) -> Within | None:
    """Return the highest IOPS with a latency quantile of at most `slo` (ns), from iodepth → (IOPS, p99) of each
    repeat.

    Return None if no depth keeps the limit in every repeat. All repeats of a result have the same depth, because
    a mean over several depths describes no measured cell.
    """
    within = {at: [iops for iops, latency in repeats if latency <= slo] for at, repeats in depths.items()}
    by_all = {
        at: statistics.median(repeats) for at, repeats in within.items() if repeats and len(repeats) == len(depths[at])
    }
    depth = max(sorted(by_all), key=by_all.__getitem__, default=None)
    if depth is None:
        return None
    iops = by_all[depth]
    more = any(max(repeats) > iops for at, repeats in within.items() if repeats and at not in by_all)
    return Within(iops, depth, more, bound=len(by_all) == len(depths))


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
    """Return the value below which `share` of the samples are, as the middle of a bucket.

    The bucket holds the sample of rank ⌈share · n⌉. Return None unless at least ten samples are beyond that
    rank. 99.9 % needs 10 000 samples, the median needs 20.
    """
    return quantiles(buckets, [share])[0]


def quantiles(buckets: Sequence[Bucket], shares: Sequence[float]) -> list[float | None]:
    """Return the `quantile` of each share. The buckets are ranked only once."""
    total = sum(b.n for b in buckets)
    known = [share for share in shares if fixed(share, total)]
    at = dict(zip(known, _ranked(buckets, known, total), strict=True))
    return [at.get(share) for share in shares]


def fixed(share: float, n: float) -> bool:
    """Return whether n samples fix a quantile, with ten samples beyond the quantile."""
    return n * (1 - share) >= 10 - 1e-6


def _ranked(buckets: Sequence[Bucket], shares: Sequence[float], total: int) -> list[float]:
    """Return the middle of the bucket that holds the sample of rank ⌈share · total⌉, for each share."""
    ordered = sorted(buckets)
    counts = list(itertools.accumulate(b.n for b in ordered))
    ranks = (max(1, math.ceil(share * total - 1e-9)) for share in shares)
    return [ordered[bisect.bisect_left(counts, rank)].middle for rank in ranks]


def moments(buckets: Sequence[Bucket]) -> tuple[float, float]:
    """Return (mean, standard deviation) of a histogram with samples. Each bucket counts at the middle."""
    total = sum(b.n for b in buckets)
    mean = sum(b.middle * b.n for b in buckets) / total
    variance = sum((b.middle - mean) ** 2 * b.n for b in buckets) / total
    return mean, math.sqrt(variance)


def survival(buckets: Sequence[Bucket], points: int = 300) -> list[tuple[float, float]]:
    """Return falling pairs (value in ns, share of samples at or above the value) for a step line on log axes.

    About `points` rows at most are returned. Between the extremes, a row is kept if the share fell by a fixed ratio or
    the value grew by 1. The line ends at the largest bucket, with a share of at least 1/n.
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
    steps = [rows[0]]
    for value, share in rows[1:-1]:
        if math.log(steps[-1][1] / share) >= step_y or math.log(max(value, 1.0) / max(steps[-1][0], 1.0)) >= step_x:
            steps.append((value, share))
    return [*steps, rows[-1]]


def normal_survival(mean: float, deviation: float, value: float) -> float:
    """Return the share of a normal distribution above `value`: ½ erfc((value − mean) ÷ (σ√2))."""
    return 0.5 * math.erfc((value - mean) / (deviation * math.sqrt(2)))


def merge(buckets: Sequence[Bucket], per_decade: int = 24) -> list[Bucket]:
    """Return buckets merged into logarithmic buckets, `per_decade` in each decade, with borders at powers of
    10^(1/per_decade).

    The middle of a bucket decides. A value of 0 belongs to the lowest bucket.
    """
    counts: dict[int, int] = {}
    for bucket in buckets:
        index = _log_index(bucket, per_decade)
        counts[index] = counts.get(index, 0) + bucket.n
    return [Bucket(10 ** (i / per_decade), 10 ** ((i + 1) / per_decade), n) for i, n in sorted(counts.items()) if n]


def _log_index(bucket: Bucket, per_decade: int) -> int:
    """Return the index i of a logarithmic bucket that begins at 10^(i/per_decade)."""
    return math.floor(math.log10(max(bucket.middle, 1e-3)) * per_decade + 1e-9)


class Mode(NamedTuple):
    """A peak of a distribution, with the median and the share of the samples."""

    at: float  # ns
    share: float
    low: float  # ns: the valley before it
    high: float  # ns: the valley after it


def modes(buckets: Sequence[Bucket], *, least: float = 0.02, per_decade: int = 24, step: float = 0.0) -> list[Mode]:
    """Return the peaks with at least `least` of the samples, from low to high. A cache level appears as a peak with
    the hit rate as share.

    The buckets are merged into logarithmic buckets, `per_decade` in each decade. Two neighbouring peaks are merged if
    the valley between the peaks is above half of the lower peak. Peaks within three clock steps (`step`, ns) are also
    merged, because a coarse clock makes a peak at each tick. A peak reaches from valley to valley. Peaks below `least`
    are dropped, so the shares add up to 1 at most.
    """
    merged = merge(buckets, per_decade)
    if not merged:
        return []
    total = sum(b.n for b in merged)
    index = [round(math.log10(b.low) * per_decade) for b in merged]
    heights = [0] * (index[-1] - index[0] + 1)
    for i, bucket in zip(index, merged, strict=True):
        heights[i - index[0]] = bucket.n

    def at(bucket: int) -> float:
        return float(10 ** ((bucket + index[0] + 0.5) / per_decade))

    # a bucket of a valley may be empty, so peaks are cut at the lowest bucket between peaks
    spans = _spans(heights)
    while len(spans) > 1:
        joins = [
            (min(heights[a.stop - 1], heights[b.start]), i)
            for i, (a, b) in enumerate(itertools.pairwise(spans))
            if _one(heights, a, b) or at(_peak(heights, b)) - at(_peak(heights, a)) <= 3 * step
        ]
        if not joins:
            break
        _, i = max(joins)
        spans[i : i + 2] = [range(spans[i].start, spans[i + 1].stop)]
    spans = [span for span in spans if sum(heights[span.start : span.stop]) >= least * total]
    edges = [[10 ** ((i + index[0]) / per_decade) for i in (span.start, span.stop)] for span in spans]
    members: list[list[Bucket]] = [[] for _ in spans]
    place = {i + index[0]: member for member, span in zip(members, spans, strict=True) for i in span}
    for bucket in buckets:
        if bucket.n and (member := place.get(_log_index(bucket, per_decade))) is not None:
            member.append(bucket)
    return [_mode(member, low, high, total) for member, (low, high) in zip(members, edges, strict=True)]


def _spans(heights: Sequence[int]) -> list[range]:
    """Return one span per local maximum, divided at the local minima."""
    cuts = [0]
    for i in range(1, len(heights) - 1):
        falling = heights[i] < heights[i - 1]
        rising = next((h > heights[i] for h in heights[i + 1 :] if h != heights[i]), False)
        if falling and rising:
            cuts.append(i)
    return [range(a, b) for a, b in itertools.pairwise([*cuts, len(heights)])]


def _peak(heights: Sequence[int], span: range) -> int:
    return max(span, key=lambda i: heights[i])


def _one(heights: Sequence[int], a: range, b: range) -> bool:
    valley = min(heights[a.stop - 1], heights[b.start])
    lower = min(max(heights[a.start : a.stop]), max(heights[b.start : b.stop]))
    return valley > lower / 2


def _mode(own: Sequence[Bucket], low: float, high: float, total: int) -> Mode:
    """Return the mode from `low` to `high` with the median of the samples."""
    n = sum(b.n for b in own)
    return Mode(min(max(_ranked(own, [0.5], n)[0], low), high), n / total, low, high)
