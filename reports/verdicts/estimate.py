"""Estimate effect, variance and session noise over many cells at once. Input and output are logs.

Arrays have one row per cell (G cells). The sources are Hodges and Lehmann 1963 (shift), Smyth, Stat. Appl. Genet. Mol.
Biol. 3 (2004), as in limma (moderated variance), Satterthwaite 1946 (degrees of freedom of a sum), and Benjamini and
Hochberg 1995.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from reports.verdicts.model import Prior, TauSource

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LEAST_CELLS = 20
"""Minimum of cells for an estimate of the prior variance and of the noise between sessions."""

TAU_ASSUMED = 0.01
TAU_LEAST = 0.005
TAU_DF = 30.0
"""Degrees of freedom of a session noise that was not learned from sessions."""

FINEST = 1e-6
"""Lowest relative variation of a clock or a counter: one in a million."""

_PAIRS_AT_ONCE = 4_000_000


def shifts(a: Array, b: Array) -> Array:
    """Return the Hodges-Lehmann shifts, (G,): the median of b_j - a_i over all pairs. a: (G, n_A), b: (G, n_B)."""
    import numpy as np

    step = max(1, _PAIRS_AT_ONCE // max(1, a.shape[1] * b.shape[1]))
    out = np.empty(len(a))
    for start in range(0, len(a), step):
        part = slice(start, start + step)
        pairs = b[part, None, :] - a[part, :, None]
        out[part] = np.median(pairs.reshape(len(pairs), -1), axis=1)
    return out


def squares(x: Array, sessions: Sequence[int]) -> tuple[Array, int]:
    """Return (sum of squares about the session means, (G,); degrees of freedom).

    `x`: (G, n). `sessions`: the session of each column.
    """
    import numpy as np

    total, df = np.zeros(len(x)), 0
    for session in set(sessions):
        part = x[:, [i for i, s in enumerate(sessions) if s == session]]
        total += ((part - part.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
        df += part.shape[1] - 1
    return total, df


def unseen(x: Array) -> Array:
    """Return the variance of a run, (G,), for cells with equal repeats and an unknown last digit.

    The digit is the smallest difference between any two values of the cell, or FINEST. `x`: (G, n).
    """
    import numpy as np

    steps = np.diff(np.sort(x, axis=1), axis=1)
    least = np.where(steps > 1e-12, steps, np.inf).min(axis=1)
    return np.where(np.isfinite(least), np.maximum(least, FINEST), FINEST) ** 2 / 12


def prior(variance: Array, df: Array, *, winsor: tuple[float, float] | None = (0.02, 0.90)) -> Prior | None:
    """Return the prior for the variance of a typical cell, from the variances and degrees of freedom (> 0) of the
    cells.

    e = ln s² - ψ(d/2) + ln(d/2) has the mean ln s0² - ψ(d0/2) + ln(d0/2) and the variance ψ'(d/2) + ψ'(d0/2). `winsor`
    limits e to these quantiles, so that a few outliers do not hide the common variance. None if fewer than LEAST_CELLS
    cells have a variance, or more than half have zero variance.
    """
    import numpy as np
    from scipy.special import digamma, polygamma

    known = df > 0
    variance, df = variance[known], df[known]
    if len(variance) < LEAST_CELLS or not np.median(variance) > 0:
        return None
    # a variance of 0 has no log; limma's floor
    variance = np.maximum(variance, 1e-5 * np.median(variance))
    e = np.log(variance) - digamma(df / 2) + np.log(df / 2)
    if winsor is not None:
        e = np.clip(e, *np.quantile(e, winsor))
    excess = float(e.var(ddof=1) - polygamma(1, df / 2).mean())
    most = float(df.sum())  # a cell has at most the degrees of freedom of all cells together
    d0 = min(most, _inverse_trigamma(excess))
    s0 = math.exp(float(e.mean() + digamma(d0 / 2) - math.log(d0 / 2)) / 2)
    return Prior(d0=d0, s0=s0)


def _inverse_trigamma(excess: float) -> float:
    """Return d0 with ψ'(d0/2) = `excess`, infinite without excess.

    ψ' is monotonic, so bisection finds d0. `scipy.optimize.brentq` gives the same, but takes half a second to import.
    """
    from scipy.special import polygamma

    low, high = 1e-3, 1e6
    if excess <= polygamma(1, high / 2):
        return math.inf
    if excess >= polygamma(1, low / 2):
        return low
    while high / low > 1 + 1e-12:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if polygamma(1, middle / 2) > excess else (low, middle)
    return math.sqrt(low * high)


def moderate(variance: Array, df: Array, known: Prior | None) -> tuple[Array, Array]:
    """Return (variance, df) of each cell after shrinking to the prior. Without a prior, the values are unchanged."""
    import numpy as np

    if known is None:
        return variance, df
    if math.isinf(known.d0):
        return np.full_like(variance, known.s0**2), np.full_like(df, 1e6)
    return (known.d0 * known.s0**2 + df * variance) / (known.d0 + df), known.d0 + df


def session_noise(shift: Array, variance: Array, per_tau: Array) -> tuple[float, TauSource]:
    """Return the sd between sessions from the shifts of the cells, and the source of the estimate.

    Most cells of a sweep did not change, so the shifts vary about 0 by run noise (`variance`, of the shift) and session
    noise. Each side of 0 is folded separately and the narrower side counts, because real changes mostly have one sign.
    `per_tau` is 1/K_A + 1/K_B.
    """
    import numpy as np

    sides = (shift[shift < 0], shift[shift > 0])
    if len(shift) < LEAST_CELLS or any(len(s) < max(10, 0.05 * len(shift)) for s in sides):
        return TAU_ASSUMED, "assumed"
    sigma = 1.4826 * min(float(np.median(np.abs(s))) for s in sides)
    square = (sigma**2 - float(np.median(variance))) / float(np.median(per_tau))
    return math.sqrt(max(TAU_LEAST**2, square)), "auto"


def noise_of_sessions(between: Sequence[float], run_variance: Sequence[float]) -> float:
    """Return the sd between sessions for cells with several sessions on a side. At least TAU_LEAST.

    between: for each cell the variance of the logs of the session medians about the mean of the side. run_variance: the
    variance of a session median from runs alone.
    """
    import numpy as np

    excess = [b - within for b, within in zip(between, run_variance, strict=True)]
    return math.sqrt(max(TAU_LEAST**2, float(np.median(excess))))


def satterthwaite(parts: Sequence[tuple[Array, Any]]) -> tuple[Array, Array]:
    """Return (sum, degrees of freedom) of independent variances with separate degrees of freedom.

    A sum of 0 has 1 degree of freedom, to avoid a division by 0.
    """
    import numpy as np

    total = sum((v for v, _ in parts), np.zeros_like(parts[0][0]))
    below = sum((v**2 / df for v, df in parts), np.zeros_like(parts[0][0]))
    return total, np.divide(total**2, below, out=np.ones_like(total), where=below > 0)


UNLUCKY: Final = 0.1
"""Probability that the variance is above the upper bound from the few runs of a cell."""


def together(of_runs: Array, df: Array, of_sessions: Array, tau_df: float) -> tuple[Array, Array]:
    """Return (variance of the shifts, degrees of freedom) from runs and sessions.

    The weights are Satterthwaite's, with the upper bound (90 %) of the run variance. Otherwise two repeats that agree
    by chance would add almost no variance to an assumed session noise with 30 degrees of freedom, and chance would look
    certain.
    """
    from scipy.special import chdtri

    most = of_runs * df / chdtri(df, 1 - UNLUCKY)
    _, total_df = satterthwaite([(most, df), (of_sessions, tau_df)])
    return of_runs + of_sessions, total_df


def p_two_sided(shift: Array, variance: Array, df: Array) -> Array:
    """Return p of Student's t. With zero variance, p is 0 for a shift and 1 for no shift."""
    import numpy as np
    from scipy.special import stdtr

    se = np.sqrt(variance)
    t = np.divide(np.abs(shift), se, out=np.where(shift == 0, 0.0, np.inf), where=se > 0)
    return np.asarray(2 * stdtr(df, -t), dtype=float)


def t_quantile(df: Array, level: float) -> Array:
    import numpy as np
    from scipy.special import stdtrit

    return np.asarray(stdtrit(df, level), dtype=float)


def false_discovery(p: Array, among: int = 0) -> Array:
    """Return Benjamini-Hochberg's q: the lowest false discovery rate of a list that includes the cell.

    `among`: the total number of tests, if only the smallest p are given.
    """
    import numpy as np

    if not len(p):
        return p
    order = np.argsort(p)
    q = p[order] * max(among, len(p)) / np.arange(1, len(p) + 1)
    out = np.empty_like(q)
    out[order] = np.minimum(1.0, np.minimum.accumulate(q[::-1])[::-1])
    return out


def outliers(x: Array, quantum: Array, limit: float = 5.0) -> NDArray[np.bool_]:
    """Return which cells have a run more than `limit` robust sd from the median.

    `x`: (G, n), logs about the median of the run's side. `quantum`: (G,), a lower bound of the sd.
    """
    import numpy as np

    spread = np.maximum(1.4826 * np.median(np.abs(x), axis=1), quantum)
    return np.asarray((np.abs(x).max(axis=1) > limit * spread) & (spread > 0))


_EXACT: Final = 50
"""Maximum of runs per side for the exact distribution of Mann and Whitney."""


def interval_of_ranks(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the 95 % interval of the Hodges-Lehmann shifts, lower and upper ends, (G,) each.

    The interval inverts the test of Mann and Whitney (Moses). Without ties the interval excludes 0 exactly if p < 0.05.
    """
    import numpy as np

    k = _largest_evidence(a.shape[1], b.shape[1])
    pairs = (b[:, None, :] - a[:, :, None]).reshape(len(a), -1)
    ends = np.partition(pairs, (k, -1 - k), axis=1)
    return ends[:, k], ends[:, -1 - k]


@functools.cache
def _ways(n_a: int, n_b: int) -> tuple[int, ...]:
    """Return the number of ways to get each U of Mann and Whitney from 0 to n_a · n_b ÷ 2.

    The numbers are the coefficients of a Gaussian binomial.
    """
    ways = [1] + [0] * (n_a * n_b // 2)
    for i in range(1, n_a + 1):
        for u in range(len(ways) - 1, n_b + i - 1, -1):
            ways[u] -= ways[u - n_b - i]
        for u in range(i, len(ways)):
            ways[u] += ways[u - i]
    return tuple(ways)


@functools.cache
def _largest_evidence(n_a: int, n_b: int) -> int:
    """Return the largest U of Mann and Whitney with two-sided p < 0.05, for four or more runs per side."""
    if max(n_a, n_b) > _EXACT:
        return math.floor((n_a * n_b - 1) / 2 - 1.96 * math.sqrt(n_a * n_b * (n_a + n_b + 1) / 12))
    up_to = itertools.accumulate(_ways(n_a, n_b))
    return sum(40 * count < math.comb(n_a + n_b, n_a) for count in up_to) - 1


def p_of_ranks(a: Array, b: Array) -> Array:
    """Return the two-sided p of Mann and Whitney, (G,). a: (G, n_A), b: (G, n_B).

    The p is exact up to 50 runs per side without ties, else from the normal approximation. With 10 + 10 runs the
    approximation cannot give a p below 2e-4 if 1e-5 is exact, which is too coarse for a sweep of hundreds of cells.
    `scipy.stats.mannwhitneyu` gives the same p, but takes half a second and 50 MiB to import.
    """
    import numpy as np

    n_a, n_b = a.shape[1], b.shape[1]
    out = np.empty(len(a))
    step = max(1, _PAIRS_AT_ONCE // max(1, (n_a + n_b) ** 2))
    for start in range(0, len(a), step):
        part = slice(start, start + step)
        ordered = np.sort(np.concatenate([a[part], b[part]], axis=1), axis=1)
        untied = (np.diff(ordered, axis=1) > 0).all(axis=1)
        above = a[part, :, None] - b[part, None, :]
        u = ((above > 0).sum(axis=(1, 2)) + (above == 0).sum(axis=(1, 2)) / 2).astype(float)
        u = np.minimum(u, n_a * n_b - u)  # of the side with fewer
        p = _p_of_normal(u, ordered, n_a, n_b)
        if max(n_a, n_b) <= _EXACT:
            p[untied] = _p_exact(n_a, n_b)[u[untied].astype(int)]
        out[part] = p
    return out


@functools.cache
def _p_exact(n_a: int, n_b: int) -> Array:
    """Return the two-sided p of each smaller U, from 0."""
    import numpy as np

    every = math.comb(n_a + n_b, n_a)
    return np.array([min(1.0, 2 * count / every) for count in itertools.accumulate(_ways(n_a, n_b))])


def _p_of_normal(u: Array, ordered: Array, n_a: int, n_b: int) -> Array:
    """Return the two-sided p of each smaller U by the normal distribution.

    The variance is corrected for ties, and U for continuity. `ordered`: sorted values of both sides, (G, n_A + n_B).
    """
    import numpy as np
    from scipy.special import ndtr

    n = n_a + n_b
    counts = (ordered[:, :, None] == ordered[:, None, :]).sum(axis=2)  # of equal values, for each value
    ties = (counts**2 - 1).sum(axis=1)  # Σ t³ - t
    sd = np.sqrt(n_a * n_b / 12 * (n + 1 - ties / (n * (n - 1))))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (n_a * n_b / 2 - u - 0.5) / sd  # of values that are all the same: -inf, p = 1
    return np.asarray(np.clip(2 * ndtr(-z), 0, 1))
