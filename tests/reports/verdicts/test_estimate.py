"""The formulas against closed forms, brute force and scipy."""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.verdicts import estimate

LOGS = st.floats(-5, 5)


@given(st.lists(st.tuples(st.lists(LOGS, min_size=3, max_size=3), st.lists(LOGS, min_size=4, max_size=4)), min_size=1))
def test_the_shift_is_the_median_over_all_pairs(cells: list[tuple[list[float], list[float]]]) -> None:
    got = estimate.shifts(np.array([a for a, _ in cells]), np.array([b for _, b in cells]))

    expected = [statistics.median(y - x for x, y in itertools.product(a, b)) for a, b in cells]
    assert got == pytest.approx(expected)


def test_shifts_of_more_pairs_than_fit_at_once_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(7, 5)), rng.normal(size=(7, 6))
    whole = estimate.shifts(a, b)

    monkeypatch.setattr(estimate, "_PAIRS_AT_ONCE", 40)  # one cell at a time

    assert estimate.shifts(a, b) == pytest.approx(whole)


def test_squares_are_about_the_mean_of_each_session() -> None:
    x = np.array([[1.0, 2.0, 11.0, 13.0, 15.0]])

    total, df = estimate.squares(x, [0, 0, 1, 1, 1])

    assert (total[0], df) == (pytest.approx(0.5 + 8.0), 3)


@pytest.mark.parametrize(("d0", "s0"), [(4.0, 0.01), (12.0, 0.002)])
def test_the_prior_recovers_what_was_planted(d0: float, s0: float) -> None:
    rng = np.random.default_rng(3)
    cells, df = 20_000, np.where(np.arange(20_000) % 2, 4.0, 8.0)  # Smyth: s0² d0 / χ²(d0), then s² χ²(d) / d
    variance = s0**2 * d0 / rng.chisquare(d0, cells) * rng.chisquare(df) / df

    found = estimate.prior(variance, df, winsor=None)

    assert found is not None
    assert found.d0 == pytest.approx(d0, rel=0.1)
    assert found.s0 == pytest.approx(s0, rel=0.02)


def test_a_few_wild_cells_do_not_hide_what_the_others_agree_on() -> None:
    rng = np.random.default_rng(3)
    df = np.full(200, 8.0)
    variance = 1e-4 * 10 / rng.chisquare(10, 200) * rng.chisquare(8, 200) / 8
    variance[:10] *= 10_000

    plain, pulled_in = estimate.prior(variance, df, winsor=None), estimate.prior(variance, df)

    assert plain is not None
    assert pulled_in is not None
    assert plain.d0 < 2  # so wild that next to nothing is learned
    assert pulled_in.d0 > 4
    assert pulled_in.s0 == pytest.approx(0.01, rel=0.15)


def test_cells_that_are_all_alike_share_one_variance() -> None:
    rng = np.random.default_rng(5)
    df = np.full(500, 4.0)

    known = estimate.prior(0.01**2 * rng.chisquare(4, 500) / 4, df)

    assert known is not None
    assert known.d0 > 50
    variance, moderated = estimate.moderate(np.array([0.0, 1.0]), np.array([4.0, 4.0]), known)
    assert moderated == pytest.approx(known.d0 + 4)
    assert variance == pytest.approx((known.d0 * known.s0**2 + 4 * np.array([0.0, 1.0])) / (known.d0 + 4))


@pytest.mark.parametrize(
    "variance",
    [
        pytest.param(np.full(19, 1e-4), id="19 cells"),
        pytest.param(np.zeros(100), id="no variance at all"),
        pytest.param(np.r_[np.zeros(60), np.full(40, 1e-4)], id="most without variance"),
    ],
)
def test_there_is_no_prior_where_there_is_nothing_to_learn(variance: np.ndarray) -> None:
    assert estimate.prior(variance, np.full(len(variance), 4.0)) is None


def test_session_noise_comes_back_from_the_shifts() -> None:
    rng = np.random.default_rng(2)
    runs, tau = 0.004, 0.02
    shift = rng.normal(0, math.sqrt(2 * tau**2 + runs**2), 4000)

    found, source = estimate.session_noise(shift, np.full(4000, runs**2), np.full(4000, 2.0))

    assert source == "auto"
    assert found == pytest.approx(tau, rel=0.05)


def test_session_noise_is_learned_from_the_side_that_did_not_move() -> None:
    rng = np.random.default_rng(2)
    still, moved = rng.normal(0, 0.01, 200), rng.normal(0.06, 0.01, 200)

    found, _ = estimate.session_noise(np.r_[still, moved], np.zeros(400), np.full(400, 2.0))

    assert found == pytest.approx(0.01 / math.sqrt(2), rel=0.15)


@pytest.mark.parametrize("shift", [np.full(100, 0.05), np.linspace(-1, 1, 19), np.zeros(100)])
def test_session_noise_is_assumed_where_the_shifts_say_nothing(shift: np.ndarray) -> None:
    zeros = np.zeros(len(shift))

    assert estimate.session_noise(shift, zeros, zeros + 2) == (estimate.TAU_ASSUMED, "assumed")


def test_session_noise_of_sessions_is_their_spread_less_that_of_their_runs() -> None:
    between = statistics.variance([0.0, 0.02, 0.04, -0.02, -0.04])

    assert estimate.noise_of_sessions([between] * 3, [1e-4] * 3) == pytest.approx(math.sqrt(between - 1e-4))
    assert estimate.noise_of_sessions([0.0], [1e-4]) == estimate.TAU_LEAST


def test_satterthwaite_of_two_samples_is_welch() -> None:
    from scipy import stats

    rng = np.random.default_rng(1)
    a, b = rng.normal(0, 1, 6), rng.normal(0.5, 3, 9)
    parts = [(np.array([x.var(ddof=1) / len(x)]), len(x) - 1) for x in (a, b)]

    variance, df = estimate.satterthwaite(parts)

    welch = stats.ttest_ind(a, b, equal_var=False)
    assert df[0] == pytest.approx(welch.df)
    shift = np.array([b.mean() - a.mean()])
    assert estimate.p_two_sided(shift, variance, df)[0] == pytest.approx(welch.pvalue)


def test_no_variance_divides_nothing_by_zero() -> None:
    zero = np.zeros(2)

    variance, df = estimate.satterthwaite([(zero, 4.0), (zero, 30.0)])

    assert estimate.p_two_sided(np.array([0.0, 0.1]), variance, df).tolist() == [1.0, 0.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_q_is_scipys(p: list[float]) -> None:
    from scipy import stats

    assert estimate.false_discovery(np.array(p)) == pytest.approx(stats.false_discovery_control(p))


def test_quantiles_are_those_of_students_t() -> None:
    from scipy import stats

    df = np.array([1.0, 4.0, 30.0, 1e6])

    assert estimate.t_quantile(df, 0.975) == pytest.approx(stats.t.ppf(0.975, df))


def test_a_stray_is_five_robust_sd_off() -> None:
    x = np.array([[-1.0, 0.0, 1.0, 0.5, -0.5, 20.0], [-1.0, 0.0, 1.0, 0.5, -0.5, 2.0], [0.0] * 6, [0.0] * 5 + [1.0]])

    assert estimate.outliers(x, np.array([0.0, 0.0, 0.0, 0.5])).tolist() == [True, False, False, False]


def test_ranks_are_exact_without_ties_and_approximate_with_them() -> None:
    from scipy import stats

    a = np.array([[1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10], [1.0, 1, 1, 2, 2, 2, 3, 3, 3, 3]])
    b = a + np.array([[100.0], [2.0]])

    p = estimate.p_of_ranks(a, b)

    assert p[0] == pytest.approx(2 / math.comb(20, 10))
    assert p[1] == pytest.approx(stats.mannwhitneyu(a[1], b[1], method="asymptotic").pvalue)


@pytest.mark.parametrize(("n_a", "n_b"), [(1, 1), (2, 3), (7, 10), (10, 10), (50, 3), (51, 4)])
@pytest.mark.parametrize("digits", [9, 1, -9])  # without ties, with some, all the same
def test_ranks_say_what_scipy_says(n_a: int, n_b: int, digits: int) -> None:
    from scipy import stats

    rng = np.random.default_rng(n_a * n_b)
    a, b = rng.normal(size=(20, n_a)).round(digits), (rng.normal(size=(20, n_b)) + 0.5).round(digits)

    p = estimate.p_of_ranks(a, b)

    for of_a, of_b, own in zip(a, b, p, strict=True):
        exact = len({*of_a, *of_b}) == n_a + n_b and max(n_a, n_b) <= 50
        expected = stats.mannwhitneyu(of_a, of_b, method="exact" if exact else "asymptotic").pvalue
        assert own == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("n_a", "n_b"), [(8, 8), (8, 11), (10, 13), (20, 20), (12, 60)])
def test_the_interval_of_ranks_says_what_their_test_says(n_a: int, n_b: int) -> None:
    rng = np.random.default_rng(n_a * n_b)
    shift = rng.uniform(0, 0.8, 400)
    a, b = rng.standard_t(2, (400, n_a)), rng.standard_t(2, (400, n_b)) + shift[:, None]

    p, (low, high) = estimate.p_of_ranks(a, b), estimate.interval_of_ranks(a, b)

    out = (low > 0) | (high < 0)
    assert 20 < out.sum() < 380
    near = abs(p - 0.05) < (0.002 if max(n_a, n_b) > 50 else 0)  # of many runs both are approximations
    assert ((p < 0.05) == out)[~near].all()
    held = ((low <= shift) & (shift <= high)).mean()
    assert 0.93 < held < 0.98
    middle = estimate.shifts(a, b)
    assert ((low <= middle) & (middle <= high)).all()
