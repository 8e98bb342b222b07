"""Compare latency distributions of runs from histograms (section 3 of the measurement guide).

Millions of I/Os are not independent samples of a machine, because runs vary. Quantiles are computed per run and judged
like any other number (`judge`). The shape is tested by exchanging runs between the sides, never I/Os.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reports.numbers.formulas import Bucket, modes
from reports.numbers.model import Bins
from reports.verdicts.estimate import false_discovery

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SHIFT = 0.05
"""A mode whose share of the samples moves by so much is a mode shift (a cache's hit rate), even if the median
stands."""

_EXACT = 20_000  # splits; beyond, so many random ones
_RANDOM = 5_000
_LOOK = 500  # of these, after which a cell is let go of which so many are as far apart as its sides: its p is beyond 0.2, and how
_ENOUGH = 100  # far beyond, no verdict asks (Besag and Clifford 1991)
_AT_ONCE = (
    250_000  # products per block. A BLAS starts threads for more, which costs more time, and a block fits into a cache
)


_LEAST = 1e-3  # ns: a bucket's middle, at least; it has a log
_NOTHING = 1e-12
"""Distance that equals 0, because sums of shares are exact to 1e-15."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shapes:
    """One cell's histograms on both sides, one per run."""

    key: Hashable
    a: tuple[Sequence[Bucket], ...]
    b: tuple[Sequence[Bucket], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeShares:
    """A peak of the combined sides, and each side's share of samples in the peak (median of the runs)."""

    at: float  # ns
    low: float  # ns: the valley before it
    high: float
    a: float
    b: float

    @property
    def shifted(self) -> bool:
        return abs(self.b - self.a) >= SHIFT


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeDecision:
    """The distance between the distributions of a cell."""

    key: Hashable
    distance: float  # Wasserstein on natural logs: 0.05 is "5 % apart, on the whole"
    p: float | None  # of exchanging runs; None: fewer than two runs on a side
    q: float | None  # Benjamini-Hochberg over the cells given together
    least_p: float | None  # no p can be lower with so few runs
    modes: tuple[ModeShares, ...]  # none of sides that are no further apart than runs by chance (`by_chance`)


def judge_shapes(cells: Iterable[Shapes], *, seed: int = 1) -> tuple[ShapeDecision, ...]:
    """Return the decisions on the shapes of a metric's cells. Only one cell is in memory, because cells are large.

    Runs without a sample are left out, and so are cells without a run on a side.
    """
    import numpy as np

    decisions = [
        _judged(Shapes(key=c.key, a=tuple(filter(_any, c.a)), b=tuple(filter(_any, c.b))), seed)
        for c in cells
        if any(map(_any, c.a)) and any(map(_any, c.b))
    ]
    q = iter(false_discovery(np.array([one.p for one in decisions if one.p is not None])).tolist())
    return tuple(one if one.p is None else replace(one, q=next(q)) for one in decisions)


def _judged(cell: Shapes, seed: int) -> ShapeDecision:
    runs = [*map(_columns, (*cell.a, *cell.b))]
    grid = _grid(runs)
    distance, p, least = _exchange(*grid, len(cell.a), seed)
    peaks = () if by_chance(p, least) else _modes(runs, *grid, len(cell.a))
    return ShapeDecision(key=cell.key, distance=distance, p=p, q=None, least_p=least, modes=peaks)


def by_chance(p: float | None, least_p: float | None) -> bool:
    """Return whether an exchange of runs between the sides explains the distance.

    p is above 5 % and above the lowest p that so small a number of runs can give.
    """
    return p is not None and p > max(0.05, least_p or 0.0)


def _seen(middles: Array, counts: Array, n_a: int) -> float:
    """Return the observed distance of the sides: the first runs against the others."""
    import numpy as np

    distance = float(_distances(middles, counts, np.arange(len(counts))[None, :] < n_a)[0])
    return distance if distance > _NOTHING else 0.0


def _any(run: Sequence[Bucket]) -> bool:
    return bool(run.n.any()) if isinstance(run, Bins) else any(bucket.n for bucket in run)


_Columns = tuple["Array", "Array", "Array"]
"""Buckets of a run: low, high (ns) and count of samples, (buckets,) each."""


def _columns(run: Sequence[Bucket]) -> _Columns:
    import numpy as np

    if isinstance(run, Bins):
        return run.low, run.high, run.n.astype(float)
    flat = itertools.chain.from_iterable(run)
    low, high, n = np.fromiter(flat, dtype=float, count=3 * len(run)).reshape(-1, 3).T
    return low, high, n


def _grid(runs: Sequence[_Columns]) -> tuple[Array, Array]:
    """Return (middles of the buckets, (X,), rising; counts, (runs, X))."""
    import numpy as np

    low, high, n = map(np.concatenate, zip(*runs, strict=True))
    middles, column = np.unique(np.maximum((low + high) / 2, _LEAST), return_inverse=True)
    at = np.repeat(np.arange(len(runs)), [len(of) for _, _, of in runs]) * len(middles) + column
    counts: Array = np.bincount(at, weights=n, minlength=len(runs) * len(middles)).astype(float)
    return middles, counts.reshape(len(runs), -1)


def _distances(middles: Array, counts: Array, splits: NDArray[np.bool_]) -> Array:
    """Return the distance for each split (S, runs): the area between the two cumulative shares."""
    import numpy as np

    seen = np.cumsum(counts, axis=1)
    areas, totals = seen[:, :-1] * np.diff(np.log(middles)), seen[:, -1]
    out = np.empty(len(splits))
    step = max(1, _AT_ONCE // seen.size)
    for start in range(0, len(splits), step):
        part = splits[start : start + step].astype(float)
        own = (part @ totals)[:, None]
        others = totals.sum() - own
        part *= 1 / own + 1 / others
        part -= 1 / others  # what a run counts for: 1/samples of its side, below 0 on the other
        apart = part @ areas
        out[start : start + step] = np.abs(apart, out=apart).sum(axis=1)
    return out


@functools.lru_cache(maxsize=4)  # most cells have as many runs; up to some MB each
def _splits(runs: int, n_a: int, seed: int) -> NDArray[np.bool_]:
    """Return the ways to choose `n_a` runs for side A, (S, runs): all ways, or _RANDOM random ways if there are
    more.
    """
    import numpy as np

    rng = random.Random(seed)
    chosen = (
        list(itertools.combinations(range(runs), n_a))
        if math.comb(runs, n_a) <= _EXACT
        else [rng.sample(range(runs), n_a) for _ in range(_RANDOM)]
    )
    splits = np.zeros((len(chosen), runs), dtype=bool)
    splits[np.arange(len(chosen))[:, None], np.array(chosen)] = True
    return splits


def _exchange(middles: Array, counts: Array, n_a: int, seed: int) -> tuple[float, float | None, float | None]:
    """Return (distance, p, lowest possible p) of the first `n_a` runs against the others."""
    runs = len(counts)
    seen = _seen(middles, counts, n_a)
    if min(n_a, runs - n_a) < 2:
        return seen, None, None
    total = math.comb(runs, n_a)
    least, splits = seen * (1 - 1e-9) - _NOTHING, _splits(runs, n_a, seed)
    if total <= _EXACT:
        as_far = int((_distances(middles, counts, splits) >= least).sum())
        # with equal sides each split has a mirror image of the same distance
        return seen, as_far / total, (2 if 2 * n_a == runs else 1) / total
    done = as_far = 0
    while done < len(splits) and as_far < _ENOUGH:
        some = splits[done : done + _LOOK]
        as_far += int((_distances(middles, counts, some) >= least).sum())
        done += len(some)
    return seen, (as_far + 1) / (done + 1), 1 / (_RANDOM + 1)  # the sides as they are count as one more split


def _modes(runs: Sequence[_Columns], middles: Array, counts: Array, n_a: int) -> tuple[ModeShares, ...]:
    """Return the peaks of all runs together, and each run's share. The first `n_a` runs are side A."""
    import numpy as np

    together: dict[tuple[float, float], int] = {}
    for columns in runs:
        for low, high, n in zip(*(column.tolist() for column in columns), strict=True):
            together[low, high] = together.get((low, high), 0) + int(n)
    peaks = modes([Bucket(*ends, n) for ends, n in together.items()])
    lows, highs = (np.searchsorted(middles, ends) for ends in ([m.low for m in peaks], [m.high for m in peaks]))
    below = np.pad(np.cumsum(counts, axis=1), ((0, 0), (1, 0)))
    shares = (below[:, highs] - below[:, lows]) / below[:, -1:]
    of_a, of_b = (np.median(own, axis=0).tolist() for own in np.split(shares, [n_a]))
    return tuple(
        ModeShares(at=mode.at, low=mode.low, high=mode.high, a=a, b=b)
        for mode, a, b in zip(peaks, of_a, of_b, strict=True)
    )
