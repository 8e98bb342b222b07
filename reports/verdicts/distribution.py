"""Latency distributions of runs, from their histograms. Section 3 of the measurement guide.

Millions of I/Os are not millions of independent looks at a machine: what varies is the run. Quantiles are taken per run
and judged like any other number (`judge`); the shape is compared by exchanging runs between the sides, never I/Os.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from reports.numbers.formulas import Bucket, modes
from reports.verdicts.estimate import false_discovery

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SHIFT = 0.05
"""A mode whose share of the samples moves by so much is a mode shift (a cache's hit rate), even if the median stands."""

_EXACT = 20_000  # splits; beyond, so many random ones
_RANDOM = 5_000
_AT_ONCE = 250_000  # products of numbers: of more, a BLAS wakes threads, which spin for longer than one needs; and they fit into a cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Shapes:
    """One cell's histograms on both sides, one a run."""

    key: Hashable
    a: tuple[tuple[Bucket, ...], ...]
    b: tuple[tuple[Bucket, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeShares:
    """A peak of both sides together, and the share of the samples that lie in it on each side (median of the runs)."""

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
    """How far apart the distributions of a cell are."""

    key: Hashable
    distance: float  # Wasserstein on natural logs: 0.05 is "5 % apart, on the whole"
    p: float | None  # of exchanging runs; None: fewer than two runs on a side
    q: float | None  # Benjamini-Hochberg over the cells given together
    least_p: float | None  # no p can be lower with so few runs
    modes: tuple[ModeShares, ...]

    @property
    def shifted(self) -> bool:
        """Has a mode's share moved by 5 points or more?"""
        return any(mode.shifted for mode in self.modes)


def judge_shapes(cells: Sequence[Shapes], *, seed: int = 1) -> tuple[ShapeDecision, ...]:
    """Compare the shapes of one metric's cells. Runs without a sample are left out; cells without one on a side, too."""
    import numpy as np

    kept = [
        Shapes(key=c.key, a=tuple(filter(_any, c.a)), b=tuple(filter(_any, c.b)))
        for c in cells
        if any(map(_any, c.a)) and any(map(_any, c.b))
    ]
    tests = [_exchange(c, seed) for c in kept]
    q: list[float] = false_discovery(np.array([p for _, p, _ in tests if p is not None])).tolist()
    left = iter(q)
    return tuple(
        ShapeDecision(
            key=c.key,
            distance=distance,
            p=p,
            q=None if p is None else next(left),
            least_p=least,
            modes=_modes(c),
        )
        for c, (distance, p, least) in zip(kept, tests, strict=True)
    )


def distance(a: Sequence[Bucket], b: Sequence[Bucket]) -> float:
    """Return the Wasserstein distance of two histograms on natural logs, each bucket at its middle."""
    import numpy as np

    x, counts = _grid([a, b])
    return float(_distances(x, counts, np.array([[True, False]]))[0])


def _any(run: Sequence[Bucket]) -> bool:
    return any(bucket.n for bucket in run)


def _grid(runs: Sequence[Sequence[Bucket]]) -> tuple[Array, Array]:
    """Return (logs of the buckets' middles, (X,), rising; counts, (runs, X))."""
    import numpy as np

    middles = sorted({max(bucket.middle, 1e-3) for run in runs for bucket in run})
    column = {middle: i for i, middle in enumerate(middles)}
    counts = np.zeros((len(runs), len(middles)))
    for row, run in enumerate(runs):
        for bucket in run:
            counts[row, column[max(bucket.middle, 1e-3)]] += bucket.n
    return np.log(np.array(middles)), counts


def _distances(x: Array, counts: Array, splits: NDArray[np.bool_]) -> Array:
    """Return the distance for each split (S, runs): the area between the two cumulative shares."""
    import numpy as np

    seen = np.cumsum(counts, axis=1)  # of each run; whole numbers: sums of them are exact
    every, widths = seen.sum(axis=0), np.diff(x)
    out = np.empty(len(splits))
    step = max(1, _AT_ONCE // seen.size)
    for start in range(0, len(splits), step):
        part = slice(start, start + step)
        own = splits[part].astype(float) @ seen
        others = every - own
        own /= own[:, -1:]
        others /= others[:, -1:]
        own -= others
        out[part] = np.einsum("sx,x->s", np.abs(own, out=own)[:, :-1], widths)
    return out


@functools.lru_cache(maxsize=4)  # most cells have as many runs; up to some MB each
def _splits(runs: int, n_a: int, seed: int) -> NDArray[np.bool_]:
    """Return the ways to give so many runs a side of `n_a`, (S, runs): all of them, or _RANDOM by chance where there are more."""
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


def _exchange(cell: Shapes, seed: int) -> tuple[float, float | None, float | None]:
    """Return (distance, p, the least p that so many runs can give)."""
    import numpy as np

    runs, n_a = [*cell.a, *cell.b], len(cell.a)
    x, counts = _grid(runs)
    own = np.zeros((1, len(runs)), dtype=bool)
    own[0, :n_a] = True
    seen = float(_distances(x, counts, own)[0])
    if min(n_a, len(cell.b)) < 2:
        return seen, None, None
    total = math.comb(len(runs), n_a)
    exact = total <= _EXACT
    splits = _splits(len(runs), n_a, seed)
    as_far = int((_distances(x, counts, splits) >= seen * (1 - 1e-9)).sum())
    if not exact:  # the sides as they are count as one more split
        return seen, (as_far + 1) / (_RANDOM + 1), 1 / (_RANDOM + 1)
    # with equal sides each split has a mirror image of the same distance
    return seen, as_far / total, (2 if 2 * n_a == len(runs) else 1) / total


def _modes(cell: Shapes) -> tuple[ModeShares, ...]:
    """Find the peaks of all runs together, and each run's share in them."""
    found = modes([bucket for run in (*cell.a, *cell.b) for bucket in run])
    edges = [mode.low for mode in found[1:]]

    def shares(run: Sequence[Bucket]) -> list[float]:
        counts = [0] * len(found)
        for bucket in run:
            counts[sum(bucket.middle >= edge for edge in edges)] += bucket.n
        return [n / sum(counts) for n in counts]

    of_a, of_b = ([shares(run) for run in side] for side in (cell.a, cell.b))
    return tuple(
        ModeShares(
            at=mode.at,
            low=mode.low,
            high=mode.high,
            a=median(run[i] for run in of_a),
            b=median(run[i] for run in of_b),
        )
        for i, mode in enumerate(found)
    )
