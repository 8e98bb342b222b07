"""Statistics of the repeats of a cell: spread, groups, slow first repeats and drift. Pure.

The limits come from simulated noise. Each docstring gives the false positive rate.
"""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections.abc import Sequence
from typing import Final, NamedTuple

from orchestrator.experiment.repeats import BASE, CAP
from parsers.units import is_level

_RANGE: Final = {2: 2.77, 3: 3.31, 4: 3.63, 5: 3.86}
"""n → the range of n normal values that 95 % stay below, in standard deviations (studentized range, known variance)."""
_MEAN_RANGE: Final = {2: 1.128, 3: 1.693, 4: 2.059, 5: 2.326, 6: 2.534}
"""n → mean range of n normal values, in standard deviations (d₂ of control charts)."""

_PAIRS: Final = {
    6: 1.278, 7: 0.911, 8: 1.078, 9: 0.825, 10: 0.952, 11: 0.767, 12: 0.871, 13: 0.730, 14: 0.814, 15: 0.699,
}  # fmt: skip
"""n → the limit that 95 % of `pairs_apart` over n normal values stay below, in standard deviations (400 000 draws
each).
"""

_LEAST_COUNT, _LEAST_RATIO = 10, 0.1


def tells_shares(values: Sequence[float], unit: str) -> bool:
    """Return whether the spread of values may be given as a share of the median.

    Levels (dB, °C) have no meaningful shares. Counts below 10 and ratios below 0.1 are too near to 0: 1 error and 2
    errors do not differ by 100 %.
    """
    if is_level(unit):
        return False
    median = abs(statistics.median(values))
    if _COUNTED.fullmatch(unit) and all(float(value).is_integer() for value in values):
        return median >= _LEAST_COUNT
    return median >= {"1": _LEAST_RATIO, "%": 100 * _LEAST_RATIO}.get(unit, 0.0)


_COUNTED: Final = re.compile(r"1?|[a-z]{3,}")
"""Units of counts: 1, "errors". A unit of a quantity (ns, W) is shorter."""

LEAST_FOR_GROUPS: Final = 8
LEAST_FOR_FIRST: Final = 5
LEAST_FOR_DRIFT: Final = 20


def robust_sd(values: Sequence[float]) -> float:
    """Return 1.4826 · the median absolute deviation, a robust standard deviation for normal values."""
    median = statistics.median(values)
    return 1.4826 * statistics.median(abs(v - median) for v in values)


def pairs_apart(values: Sequence[float]) -> float:
    """Return the largest distance in the nearer quarter of all pairs: Qₙ (Rousseeuw and Croux 1993) without the
    factor.

    Half of the values may be arbitrary, as with the median absolute deviation. With eight values, Qₙ distinguishes a
    standard deviation of 5 % from 3 % in 52 of 100 cases, the median absolute deviation in 42.
    """
    distances = sorted(abs(a - b) for a, b in itertools.combinations(values, 2))
    return distances[math.comb(len(values) // 2 + 1, 2) - 1]


def _pairs_limit(n: int) -> float:
    """Return `_PAIRS` for n. Larger n use the asymptotic error of Qₙ (efficiency 0.82), correct to 2 % on the wide
    side.
    """
    if n in _PAIRS:
        return _PAIRS[n]
    bias = (n + (1.4 if n % 2 else 3.8)) / (2.2219 * n)
    return bias * (1 + 1.645 / math.sqrt(1.64 * n) + 1.2 / n)


def scatters(values: Sequence[float], noise: float) -> bool:
    """Return whether repeats vary by more than `noise`, the usual standard deviation as a share of the median.

    Fewer than six repeats are judged by the range, more repeats by `pairs_apart`. The rule flags 5 % of cells with
    exactly this noise, and at most 0.1 % of cells with two thirds of this noise.
    """
    median = abs(statistics.median(values))
    if len(values) < 2:
        return False
    if len(values) in _RANGE:
        return max(values) - min(values) > _RANGE[len(values)] * noise * median
    return pairs_apart(values) > _pairs_limit(len(values)) * noise * median


def groups(values: Sequence[float], least: float) -> tuple[list[float], list[float]] | None:
    """Return the low and the high values if eight or more values form two groups with at least two values each.
    Otherwise return None.

    The gap must be wider than `least` (a share of the median) and wider than either group. If a group has two values,
    the gap must be wider than 2 × either group. With `least` = 3 %, normal noise of 2 % gives groups in 0.9 % of cells
    with eight values and 0.4 % with ten. Noise of 1 % never gives groups. Two levels with a difference of 7 % and noise of 1 %
    are detected in 79 % (eight values) and 85 % (ten values) of cases. With a difference of 10 % the rates are 91 % and
    97 %.
    """
    if len(values) < LEAST_FOR_GROUPS:
        return None
    ordered = sorted(values)
    gap, at = max((ordered[i] - ordered[i - 1], i) for i in range(2, len(ordered) - 1))
    low, high = ordered[:at], ordered[at:]
    wide = max(low[-1] - low[0], high[-1] - high[0])
    times = 1 if min(len(low), len(high)) > 2 else 2
    return (low, high) if gap > times * wide and gap > least * abs(statistics.median(values)) else None


def is_slow_first(values: Sequence[float], least: float) -> bool:
    """Return whether the first of five or more values is a slow outlier. Higher values are better.

    The first value must be below all other values by more than `least` and by 4 standard deviations. `least` is a share
    of the median of the other values. Their deviation comes from the median distance or the range, whichever is larger.
    Without a warm-up effect, the rule flags 0.02 % of cells with five repeats at 1 % noise and 1.3 % at 3 % or more. 3
    deviations would flag 2.3 %.
    """
    if len(values) < LEAST_FOR_FIRST:
        return False
    first, *others = values
    median, lowest = statistics.median(others), min(others)
    deviation = max(robust_sd(others), (max(others) - lowest) / _MEAN_RANGE.get(len(others), math.inf))
    return first < lowest - least * abs(median) and median - first > 4 * deviation


class Timed(NamedTuple):
    """A run's number."""

    order: int  # index within the session
    hours: float  # since any one moment
    log: float  # natural logarithm of the number


class Drift(NamedTuple):
    """How the numbers of a session moved with time."""

    p: float  # probability of such a drift by chance, over all orders of the runs of each cell
    per_hour: float  # natural logarithm of the ratio
    hours: float  # from the first run to the last
    n: int  # runs


def drift(cells: Sequence[Sequence[Timed]]) -> Drift | None:
    """Return the drift over the runs of some cells, with two or more runs each. Fewer than LEAST_FOR_DRIFT runs give
    None.

    The test is Spearman's correlation between order and residual (value ÷ median of the cell). The null distribution
    permutes the runs within each cell. The usual null distribution flags 2.5 to 3 % of sweeps with three rounds at p <
    0.01, because residuals from a median of three are dependent. The permutations flag 0.4 to 1.2 % (1500 simulated
    sweeps per kind). The slope is the median over all pairs of runs within a cell (Theil-Sen within cells, Hirsch et
    al. 1982).
    """
    sorted_cells = [sorted(cell) for cell in cells if len(cell) > 1]
    runs = [run for cell in sorted_cells for run in cell]
    if len(runs) < LEAST_FOR_DRIFT:
        return None
    residuals = [run.log - statistics.median(timed.log for timed in cell) for cell in sorted_cells for run in cell]
    ranks, orders = _ranks([round(r, 12) for r in residuals]), _ranks([run.order for run in runs])
    together = variance = 0.0
    at = 0
    for cell in sorted_cells:
        part = slice(at, at + len(cell))
        x, y = _centred(ranks[part]), _centred(orders[part])
        together += sum(a * b for a, b in zip(x, y, strict=True))
        variance += sum(a * a for a in x) * sum(b * b for b in y) / (len(cell) - 1)
        at += len(cell)
    slopes = [
        (b.log - a.log) / (b.hours - a.hours)
        for cell in sorted_cells
        for a, b in itertools.combinations(cell, 2)
        if b.hours != a.hours
    ]
    if not variance or not slopes:
        return None
    hours = [run.hours for run in runs]
    return Drift(
        p=math.erfc(abs(together) / math.sqrt(2 * variance)),
        per_hour=statistics.median(slopes),
        hours=max(hours) - min(hours),
        n=len(runs),
    )


def _centred(values: Sequence[float]) -> list[float]:
    mean = statistics.fmean(values)
    return [value - mean for value in values]


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value from 1. Equal values share the mean rank."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    for _, group in itertools.groupby(enumerate(order, 1), key=lambda item: values[item[1]]):
        same = list(group)
        mean = statistics.fmean(rank for rank, _ in same)
        for _, index in same:
            ranks[index] = mean
    return ranks


def deviation(values: Sequence[float]) -> float:
    """Return the standard deviation as a share of the median. A single value gives 0."""
    median = statistics.median(values)
    return statistics.stdev(values) / abs(median) if len(values) > 1 and median else 0.0


LOOKS: Final = CAP - BASE + 1
"""With `repeats: auto`, pinsweep evaluates a cell after each round."""


def calm_by_chance(settled: Sequence[Sequence[float]], noise: float, cells: int) -> list[bool]:
    """Return for each settled cell whether the cell may have settled by chance, with a true standard deviation of
    `noise`.

    The test is chi-square for normal noise over the LOOKS, with a false discovery rate of 5 % (Benjamini and Hochberg).
    """
    from scipy.special import gammainc

    chances = []
    for values in settled:
        degrees = len(values) - 1
        p = float(gammainc(degrees / 2, degrees / 2 * (deviation(values) / noise) ** 2))
        chances.append(min(1.0, LOOKS * p))
    is_calm = [True] * len(chances)
    in_order = sorted(range(len(chances)), key=lambda i: chances[i])
    calm = max((k for k, i in enumerate(in_order, 1) if cells * chances[i] <= 0.05 * k), default=0)
    for i in in_order[:calm]:
        is_calm[i] = False
    return is_calm
