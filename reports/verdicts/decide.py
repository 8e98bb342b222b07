"""Compute verdicts from samples over whole sweeps (section 2 of the measurement guide).

The effect of a cell is the Hodges-Lehmann shift of the logs. The variance of the runs within sessions is at least the
variance of the printed digit, and is shrunk to the sweep's other cells. The noise between sessions is added, for a
two-sided t test. Benjamini-Hochberg controls a family. "Regressed" needs the p-value and a shift of the threshold.
"Same" needs an interval within the threshold on both sides (two one-sided tests). Other cells are "inconclusive", with
the advice to decide.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reports.verdicts import estimate
from reports.verdicts.model import (
    LEAST_SESSIONS,
    STEPS,
    VERDICTS,
    Decision,
    Family,
    Prior,
    Rules,
    Sample,
    TauSource,
    Verdict,
)
from reports.verdicts.need import NOTHING, advise

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

RANKS_FROM = 8
"""Minimum of runs per side for ranks to decide in cells with an outlier run."""


def judge(samples: Sequence[Sample], rules: Rules | None = None) -> tuple[Family, ...]:
    """Return the verdicts, a Family per `Sample.family`, in the order of first appearance.

    Some cells are inconclusive without a test, and have a reason: cells with fewer than two runs on a side, with a
    value at or below 0, which has no log, or with a level. Cells with 0 in all runs of both sides are the same. Raises
    ValueError for values that are not finite.
    """
    rules = rules or Rules()
    _check(samples, rules)
    families: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        families[sample.family].append(sample)
    measured = [_measured(name, cells, rules) for name, cells in families.items()]
    common = _common_tau(measured)
    return tuple(_family(family, rules, common) for family in measured)


def _check(samples: Iterable[Sample], rules: Rules) -> None:
    for threshold in (rules.threshold, *rules.thresholds.values()):
        if not 0 < threshold < math.inf:
            raise ValueError(f"a threshold is above 0, not {threshold}")
    for sample in samples:
        for values, sessions in ((sample.a, sample.session_a), (sample.b, sample.session_b)):
            if not all(map(math.isfinite, values)):
                raise ValueError(f"{sample.key!r}: values must be finite: {values}")
            if sessions and len(sessions) != len(values):
                raise ValueError(f"{sample.key!r}: {len(sessions)} sessions for {len(values)} runs")


@dataclass(frozen=True, slots=True)
class _Between:
    """The noise between the sessions of a cell."""

    variance: float  # of the session medians about the mean of their side
    df: int
    most: int  # sessions of the side that has more
    per_run: float  # weight of the run variance: the mean of 1/runs


@dataclass(frozen=True, slots=True)
class _Cells:
    """The cells of a family in arrays (G,), NaN for a missing number. Shifts and variances are of logs."""

    tested: NDArray[np.bool_]
    shift: Array  # of b against a, with the sign so that above 0 is worse
    variance: Array  # of one run about its session
    resolution: Array  # the last printed digit, of all cells
    df: Array
    per_run: Array  # weight of the run variance: 1/n_A + 1/n_B
    per_tau: Array  # weight of τ²: 1/K_A + 1/K_B. 0 if interleaved, or if the variance includes τ²
    rank_p: Array  # of Mann and Whitney; NaN: t decides
    rank_low: Array  # the 95 % interval of the shift that belongs to it
    rank_high: Array
    between: dict[int, _Between]  # of cells with several sessions on a side

    @classmethod
    def empty(cls, cells: int) -> _Cells:
        import numpy as np

        nothing = (np.full(cells, np.nan) for _ in range(9))
        shift, variance, resolution, df, per_run, per_tau, rank_p, low, high = nothing
        tested = np.zeros(cells, dtype=bool)
        return cls(tested, shift, variance, resolution, df, per_run, per_tau, rank_p, low, high, {})


@dataclass(frozen=True, slots=True)
class _Measured:
    """A family before its verdicts."""

    name: str
    samples: Sequence[Sample]
    cells: _Cells
    at: NDArray[np.int_]  # the cells with a test
    variance: Array  # of a run in each of them, moderated
    df: Array
    known: Prior | None

    @property
    def apart(self) -> NDArray[np.int_]:
        """Return which cells of `at` have noise between sessions."""
        import numpy as np

        return np.flatnonzero(self.cells.per_tau[self.at] > 0)


def _measured(name: str, samples: Sequence[Sample], rules: Rules) -> _Measured:
    import numpy as np

    cells = _measure(samples)
    at = np.flatnonzero(cells.tested)
    variance, df = cells.variance[at], cells.df[at]
    known = rules.prior or estimate.prior(variance, df)
    variance, df = estimate.moderate(variance, df, known)
    # other cells do not show the error that the digits of this cell hide
    variance = np.maximum(variance, _of_digits(cells.resolution[at]))
    return _Measured(name, samples, cells, at, variance, df, known)


def _common_tau(families: Sequence[_Measured]) -> float:
    """Return the common session noise of families that are too small for a separate estimate, at least TAU_ASSUMED.

    A sweep of 6 cells by 8 metrics has 48 shifts. The shifts cannot estimate the noise of each metric, but show if 1 %
    is wrong.
    """
    import numpy as np

    small = [f for f in families if 0 < len(f.apart) < estimate.LEAST_CELLS]
    if not small:
        return estimate.TAU_ASSUMED
    shift, variance, per_tau = (
        np.concatenate(parts)
        for parts in zip(
            *(
                (f.cells.shift[rows], f.variance[f.apart] * f.cells.per_run[rows], f.cells.per_tau[rows])
                for f in small
                for rows in [f.at[f.apart]]
            ),
            strict=True,
        )
    )
    return max(estimate.TAU_ASSUMED, estimate.session_noise(shift, variance, per_tau)[0])


def _family(measured: _Measured, rules: Rules, common: float) -> Family:
    import numpy as np

    name, samples, cells, at = measured.name, measured.samples, measured.cells, measured.at
    variance, df, known = measured.variance, measured.df, measured.known
    of_runs = variance * cells.per_run[at]
    tau, source, tau_df = _tau(measured, rules, common)
    of_sessions = tau**2 * cells.per_tau[at]
    total, total_df = estimate.together(of_runs, df, of_sessions, tau_df)

    shift = cells.shift[at]
    p = estimate.p_two_sided(shift, total, total_df)
    ranks = cells.rank_p[at]
    # ranks ignore sessions, so the shift must also exceed the session noise
    of_ranks = np.maximum(ranks, estimate.p_two_sided(shift, of_sessions, np.full_like(shift, tau_df)))
    by_ranks = ~np.isnan(ranks)
    p = np.where(by_ranks, np.where(of_sessions > 0, of_ranks, ranks), p)
    q = estimate.false_discovery(p, rules.among)
    low, high = _intervals(cells, at, total, total_df, of_sessions, tau_df)
    bound = np.sqrt(total) * estimate.t_quantile(total_df, 1 - rules.alpha)

    tests: list[_Test | None] = [None] * len(samples)
    columns = (p, q, low, high, bound, np.sqrt(variance), total_df, of_sessions, by_ranks)
    for i, *row in zip(at.tolist(), *(c.tolist() for c in columns), strict=True):
        tests[i] = _Test(*row)
    delta = math.log1p(rules.threshold_of(name))
    least = 3 if len(at) >= estimate.LEAST_CELLS else 5
    decisions = tuple(
        _decision(sample, shift_of, test, rules, delta, tau, moderated=known is not None, least=least)
        for sample, shift_of, test in zip(samples, cells.shift.tolist(), tests, strict=True)
    )
    counted = Counter(d.verdict for d in decisions)
    ratios = [d.ratio for d in decisions if d.ratio is not None]
    return Family(
        name=name,
        decisions=decisions,
        counts={verdict: counted[verdict] for verdict in VERDICTS},
        median_ratio=float(np.median(ratios)) if ratios else None,
        prior=known,
        tau=tau,
        tau_source=source,
    )


def _intervals(
    cells: _Cells, at: NDArray[np.int_], total: Array, total_df: Array, of_sessions: Array, tau_df: float
) -> tuple[Array, Array]:
    """Return the ends of the 95 % intervals of the shifts.

    Interval ends of ranks ignore sessions, so the noise between sessions is added. No end is nearer than the last
    digit, because repeats cannot show an error that all repeats share.
    """
    import numpy as np

    shift, low, high = cells.shift[at], cells.rank_low[at], cells.rank_high[at]
    reach = np.sqrt(total) * estimate.t_quantile(total_df, 0.975)
    more = np.sqrt(of_sessions) * estimate.t_quantile(np.full_like(shift, tau_df), 0.975)
    by_t = np.isnan(low)
    below = np.where(by_t, reach, np.hypot(shift - low, more))
    above = np.where(by_t, reach, np.hypot(high - shift, more))
    step = cells.resolution[at]
    return shift - np.maximum(below, step), shift + np.maximum(above, step)


def _of_digits(resolution: Array) -> Array:
    """Return the variance due to a last digit of the given size."""
    return resolution**2 / 12


def _measure(samples: Sequence[Sample]) -> _Cells:
    """Fill the arrays. Cells of one shape (number of runs per session) are computed together."""
    import numpy as np

    cells = _Cells.empty(len(samples))
    shapes: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = defaultdict(list)
    for i, s in enumerate(samples):
        if s.a and s.b and not s.level and min(s.a) > 0 and min(s.b) > 0:
            shapes[_numbered(s.session_a, len(s.a)), _numbered(s.session_b, len(s.b))].append(i)
    for (in_a, in_b), members in shapes.items():
        rows = np.array(members)
        sign = np.array([-1.0 if samples[i].better == "higher" else 1.0 for i in members])[:, None]
        a = sign * np.log(np.array([samples[i].a for i in members], dtype=float))
        b = sign * np.log(np.array([samples[i].b for i in members], dtype=float))
        cells.shift[rows] = estimate.shifts(a, b)
        n_a, n_b, k_a, k_b = len(in_a), len(in_b), max(in_a) + 1, max(in_b) + 1
        if min(n_a, n_b) < 2:
            continue
        cells.tested[rows] = True
        (squares_a, df_a), (squares_b, df_b) = estimate.squares(a, in_a), estimate.squares(b, in_b)
        per_tau = 1 / k_a + 1 / k_b
        if not df_a + df_b:  # one run a session: their spread is that of runs and sessions together
            (squares_a, df_a), (squares_b, df_b) = (
                estimate.squares(a, [0] * n_a),
                estimate.squares(b, [0] * n_b),
            )
            per_tau = 0.0
        cells.resolution[rows] = [samples[i].resolution for i in members]
        of_digits = _of_digits(cells.resolution[rows])
        variance = np.maximum((squares_a + squares_b) / (df_a + df_b), of_digits)
        cells.variance[rows] = np.where(variance > 1e-24, variance, estimate.unseen(np.concatenate([a, b], axis=1)))
        cells.df[rows] = df_a + df_b
        cells.per_run[rows] = 1 / n_a + 1 / n_b
        cells.per_tau[rows] = [0.0 if samples[i].interleaved else per_tau for i in members]
        if max(k_a, k_b) > 1 and per_tau:
            cells.between.update(zip(members, _between(((a, in_a), (b, in_b))), strict=True))
        if min(n_a, n_b) >= RANKS_FROM:
            about = np.concatenate(
                [a - np.median(a, axis=1, keepdims=True), b - np.median(b, axis=1, keepdims=True)], axis=1
            )
            outlying = estimate.outliers(about, np.sqrt(of_digits))
            if outlying.any():
                far = rows[outlying]
                cells.rank_p[far] = estimate.p_of_ranks(a[outlying], b[outlying])
                cells.rank_low[far], cells.rank_high[far] = estimate.interval_of_ranks(a[outlying], b[outlying])
    return cells


def _numbered(sessions: Sequence[Hashable], runs: int) -> tuple[int, ...]:
    """Return the sessions of the runs as numbers from 0, in order of appearance."""
    if not sessions:
        return (0,) * runs
    numbers: dict[Hashable, int] = {}
    return tuple(numbers.setdefault(session, len(numbers)) for session in sessions)


def _between(sides: Iterable[tuple[Array, Sequence[int]]]) -> list[_Between]:
    """Pool the sessions of both sides, each about the mean of its side. At least one side has several sessions."""
    import numpy as np

    total: Array = np.zeros(1)
    runs: list[int] = []
    counts: list[int] = []
    for x, sessions in sides:
        columns = [[i for i, s in enumerate(sessions) if s == session] for session in range(max(sessions) + 1)]
        if len(columns) > 1:
            medians = np.stack([np.median(x[:, c], axis=1) for c in columns], axis=1)
            total = total + medians.var(axis=1) * len(columns)
            runs += [len(c) for c in columns]
            counts.append(len(columns))
    df, per_run = sum(counts) - len(counts), sum(1 / n for n in runs) / len(runs)
    return [_Between(v, df, max(counts), per_run) for v in (total / df).tolist()]


def _tau(measured: _Measured, rules: Rules, common: float) -> tuple[float, TauSource, float]:
    """Return (τ, source, degrees of freedom). `common`: the value for small families (`_common_tau`)."""
    cells, at, variance, apart = measured.cells, measured.at, measured.variance, measured.apart
    if all(s.interleaved for s in measured.samples):
        return 0.0, "interleaved", estimate.TAU_DF
    if rules.tau is not None:
        return rules.tau, rules.tau_source, estimate.TAU_DF
    known = [(cells.between[i], v) for i, v in zip(at.tolist(), variance.tolist(), strict=True) if i in cells.between]
    enough = [(b, v) for b, v in known if b.most >= LEAST_SESSIONS]
    if enough:
        return _seen(enough), "sessions", float(min(b.df for b, _ in enough))
    rows = at[apart]
    tau, source = estimate.session_noise(cells.shift[rows], variance[apart] * cells.per_run[rows], cells.per_tau[rows])
    if len(rows) < estimate.LEAST_CELLS and common > tau:
        tau, source = common, "auto"
    # two to four sessions are too few for an estimate, but enough to contradict an assumed 1 % by an observed 3 %
    if known and (seen := _seen(known)) > tau:
        return seen, "sessions", estimate.TAU_DF
    return tau, source, estimate.TAU_DF


def _seen(known: Sequence[tuple[_Between, float]]) -> float:
    return estimate.noise_of_sessions([b.variance for b, _ in known], [v * b.per_run for b, v in known])


@dataclass(frozen=True, slots=True)
class _Test:
    """The result of the test of one cell."""

    p: float
    q: float
    low: float  # of the shift: its 95 % interval
    high: float
    bound: float  # half of the interval for "same"
    sd: float  # of a run
    df: float
    of_sessions: float  # variance of the shift that comes from sessions
    by_ranks: bool


def _decision(
    sample: Sample, shift: float, test: _Test | None, rules: Rules, delta: float, tau: float, *,
    moderated: bool, least: int,
) -> Decision:  # fmt: skip
    verdict = _verdict(sample, shift, test, rules.alpha, delta)
    sign = -1.0 if sample.better == "higher" else 1.0
    known = not math.isnan(shift)
    ends = sorted((sign * test.low, sign * test.high)) if test else (None, None)
    need = (
        advise(sample, shift, test, alpha=rules.alpha, delta=delta, tau=tau, least=least)
        if verdict == "inconclusive"
        else NOTHING
    )
    return Decision(
        key=sample.key,
        family=sample.family,
        verdict=verdict,
        ratio=math.exp(sign * shift) if known else None,
        low=_exp(ends[0]),
        high=_exp(ends[1]),
        shift=shift if known else None,
        p=test.p if test else None,
        q=test.q if test else None,
        n_a=len(sample.a),
        n_b=len(sample.b),
        k_a=len(set(sample.session_a)) or min(1, len(sample.a)),
        k_b=len(set(sample.session_b)) or min(1, len(sample.b)),
        sd=test.sd if test else None,
        df=test.df if test else None,
        tau=0.0 if sample.interleaved else tau,
        threshold=rules.threshold_of(sample.family),
        resolution=sample.resolution,
        method="none" if test is None else "mann-whitney" if test.by_ranks else "moderated t" if moderated else "t",
        unsure=sample.unsure,
        need_repeats=need.repeats,
        need_sessions=need.sessions,
        advice=need.advice,
    )


def _verdict(sample: Sample, shift: float, test: _Test | None, alpha: float, delta: float) -> Verdict:
    if _is_nothing(sample) and not sample.unsure:
        return "same"
    if test is None or sample.unsure:
        return "inconclusive"
    if abs(shift) + sample.resolution + test.bound < delta:
        return "same"
    if test.q < alpha and abs(shift) >= max(delta, STEPS * sample.resolution) and sample.better != "neither":
        return "regressed" if shift > 0 else "improved"
    return "inconclusive"


def _is_nothing(sample: Sample) -> bool:
    """Return whether the value is 0 in all runs, with two or more runs per side, as a count of errors may be."""
    return min(len(sample.a), len(sample.b)) > 1 and not any(sample.a) and not any(sample.b)


def _exp(x: float | None) -> float | None:
    if x is None:
        return None
    return math.exp(x) if x < 700 else math.inf  # two runs a side that differ wildly: no upper end
