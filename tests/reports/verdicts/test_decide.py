"""Verdicts: what earns each of the four words, and laws that hold for any numbers."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.verdicts.decide import judge
from reports.verdicts.model import VERDICTS, Decision, Prior, Rules, Sample

STEADY = (100.0, 100.4, 99.6, 100.2, 99.8)
MIRROR = {"regressed": "improved", "improved": "regressed", "same": "same", "inconclusive": "inconclusive"}


def sample(a: tuple[float, ...], b: tuple[float, ...], **more: object) -> Sample:
    return dataclasses.replace(Sample(key=0, family="fio iops", a=a, b=b, better="higher", interleaved=True), **more)


def one(a: tuple[float, ...], b: tuple[float, ...], rules: Rules | None = None, **more: object) -> Decision:
    return judge([sample(a, b, **more)], rules)[0].decisions[0]


def times(values: tuple[float, ...], factor: float) -> tuple[float, ...]:
    return tuple(v * factor for v in values)


def sweep(
    seed: int, cells: int, n: int, *, sd: float = 0.01, slower: int = 0, tau: float = 0.0, **more: object
) -> list[Sample]:
    """Return cells of which the first `slower` take 10 % longer, with session noise of `tau` a side and cell."""
    rng = np.random.default_rng(seed)
    shift = np.where(np.arange(cells) < slower, math.log(1.1), 0.0)[:, None]
    a = np.exp(rng.normal(0, sd, (cells, n)) + rng.normal(0, tau, (cells, 1)))
    b = np.exp(shift + rng.normal(0, sd, (cells, n)) + rng.normal(0, tau, (cells, 1)))
    return [sample(tuple(a[g]), tuple(b[g]), key=g, better="lower", interleaved=not tau, **more) for g in range(cells)]


@pytest.mark.parametrize(
    ("factor", "better", "verdict"),
    [
        (0.95, "higher", "regressed"),
        (0.95, "lower", "improved"),
        (1.05, "higher", "improved"),
        (1.05, "lower", "regressed"),
        (1.0, "higher", "same"),
        (1.0, "lower", "same"),
        (1.0, "neither", "same"),
        (1.02, "lower", "same"),
        (1.027, "lower", "inconclusive"),
        (1.05, "neither", "inconclusive"),
    ],
)
def test_the_words(factor: float, better: str, verdict: str) -> None:
    decision = one(STEADY, times(STEADY, factor), better=better)

    assert decision.verdict == verdict
    assert decision.ratio == pytest.approx(factor)
    assert decision.low is not None
    assert decision.high is not None
    assert decision.low < factor < decision.high
    assert bool(decision.advice) == (verdict == "inconclusive")


@pytest.mark.slow
def test_interval_and_p_are_students_where_nothing_is_learned() -> None:
    from scipy import stats

    a, b = np.log(STEADY), np.log(times(STEADY, 1.01)) + np.array([0.001, 0, 0, 0, -0.001])
    decision = one(tuple(np.exp(a)), tuple(np.exp(b)), better="lower")

    se = math.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2 * (1 / 5 + 1 / 5))
    assert decision.shift is not None
    assert decision.method == "t"
    assert decision.df == pytest.approx(8)
    assert decision.p == pytest.approx(2 * stats.t.sf(abs(decision.shift) / se, 8))
    assert decision.low == pytest.approx(math.exp(decision.shift - stats.t.ppf(0.975, 8) * se))


def test_same_is_two_one_sided_tests_against_the_threshold() -> None:
    noise = np.array([-0.01, -0.005, 0.0, 0.005, 0.01])
    a, b = tuple(np.exp(noise)), tuple(np.exp(noise[::-1] + 0.012))
    decision = one(a, b, better="lower")
    assert decision.sd is not None
    from scipy import stats

    upper = 0.012 + stats.t.ppf(0.95, 8) * decision.sd * math.sqrt(2 / 5)

    assert one(a, b, Rules(threshold=math.expm1(upper + 1e-6)), better="lower").verdict == "same"
    assert one(a, b, Rules(threshold=math.expm1(upper - 1e-6)), better="lower").verdict == "inconclusive"


def test_a_family_has_its_own_threshold() -> None:
    rules = Rules(thresholds={"fio iops": 0.10})

    assert one(STEADY, times(STEADY, 0.95), rules).verdict == "same"
    assert one(STEADY, times(STEADY, 0.95), rules, family="fio lat").verdict == "regressed"


def test_session_noise_is_added_unless_both_sides_took_turns() -> None:
    b = times(STEADY, 0.965)

    assert one(STEADY, b).verdict == "regressed"
    apart = one(STEADY, b, interleaved=False)
    assert (apart.verdict, apart.tau) == ("regressed", 0.01)
    assert one(STEADY, STEADY, interleaved=False).verdict == "same"
    noisy = one(STEADY, b, Rules(tau=0.03), interleaved=False)
    assert (noisy.verdict, noisy.need_repeats) == ("inconclusive", None)
    assert noisy.need_sessions == math.ceil(2 * 0.03**2 / (math.log(0.965) / 2.8) ** 2) + 1
    assert noisy.advice == "needs 13 sessions per side"


def test_session_noise_is_learned_from_five_sessions_of_a_side() -> None:
    rng = np.random.default_rng(4)
    offsets = [0.02, -0.02, 0.0, 0.03, -0.03]
    a = tuple(100 * math.exp(o + e) for o in offsets for e in rng.normal(0, 0.001, 3))
    days = tuple(day for day in "abcde" for _ in range(3))

    family = judge([sample(a, STEADY, session_a=days, interleaved=False)])[0]

    assert family.tau_source == "sessions"
    assert family.tau == pytest.approx(np.std(offsets, ddof=1), rel=0.05)
    decision = family.decisions[0]
    assert (decision.k_a, decision.k_b, decision.n_a) == (5, 1, 15)
    assert decision.df == pytest.approx(4, rel=0.01)  # what five sessions know of their own noise
    assert decision.sd is not None
    assert decision.sd < 0.005  # that of the runs within a session


def test_today_against_a_baseline_is_students_interval_for_one_more_session() -> None:
    """Runs that do not scatter leave the sessions alone: t(K-1) · s · √(1 + 1/K), the prediction interval."""
    past = [100.0, 102.0, 98.0, 101.0, 100.5, 99.5]
    days = tuple(day for day in range(6) for _ in range(2))
    a = tuple(value for value in past for _ in range(2))

    found = one(a, (97.0, 97.0), session_a=days, interleaved=False, resolution=1e-9)

    from scipy import stats

    logs = np.log(past)
    middle = np.median(np.log(97.0) - logs)
    reach = stats.t.ppf(0.975, 5) * logs.std(ddof=1) * math.sqrt(1 + 1 / 6)
    assert found.low == pytest.approx(math.exp(middle - reach))
    assert found.high == pytest.approx(math.exp(middle + reach))


def test_few_sessions_that_contradict_the_assumed_noise_are_believed() -> None:
    """Two days of A are 8 % apart: a third that is 6 % off them is none's fault."""
    a = (*times(STEADY, 1.0), *times(STEADY, 1.08))
    days = ("mon",) * 5 + ("tue",) * 5
    b = times(STEADY, 1.12)

    (believed,) = judge([sample(a, b, session_a=days, interleaved=False)])
    (calm,) = judge([sample(times(a, 1.0), b, session_a=("mon",) * 10, interleaved=False)])

    assert (believed.tau_source, believed.decisions[0].verdict) == ("sessions", "inconclusive")
    assert believed.tau == pytest.approx(math.log(1.08) / math.sqrt(2), rel=0.01)
    assert calm.tau_source == "assumed"


def test_metrics_of_few_cells_tell_together_that_a_day_was_noisy() -> None:
    """Eight metrics of six cells, nothing changed, 4 % from day to day: with 1 % assumed a third of them would be accused."""
    rng = np.random.default_rng(1)

    def cells(day: float) -> list[Sample]:
        return [
            sample(
                tuple(100 * np.exp(rng.normal(0, 0.005, 3))), tuple(100 * np.exp(rng.normal(0, day) + rng.normal(0, 0.005, 3))),
                key=(metric, cell), family=metric, interleaved=False,
            )
            for metric in "abcdefgh"
            for cell in range(6)
        ]  # fmt: skip

    noisy, calm = judge(cells(0.04)), judge(cells(0.003))
    alone = [f for metric in "abcdefgh" for f in judge([s for s in cells(0.04) if s.family == metric])]

    accused = [sum(f.counts["regressed"] + f.counts["improved"] for f in some) for some in (noisy, alone)]
    assert accused[0] <= 3 < accused[1]
    assert {f.tau_source for f in noisy} == {"auto"}
    assert {(f.tau, f.tau_source) for f in (*calm, *alone)} == {(0.01, "assumed")}


def test_one_run_a_session_holds_the_session_noise_already() -> None:
    a = times(STEADY, 1.0)
    decision = one(a, times(a, 1.002), session_a=tuple("abcde"), session_b=tuple("fghij"), interleaved=False)

    assert decision.df == pytest.approx(8)
    assert decision.verdict == "same"


def test_a_sweep_lends_its_cells_the_variance_that_three_runs_do_not_show() -> None:
    family = judge(sweep(1, 200, 3, slower=10))[0]

    assert family.prior is not None
    assert family.prior.s0 == pytest.approx(0.01, rel=0.15)
    assert {d.method for d in family.decisions} == {"moderated t"}
    assert [d.key for d in family.decisions if d.verdict == "regressed"] == list(range(10))


def test_an_offset_of_the_session_is_no_regression() -> None:
    false = [judge(sweep(seed, 300, 5, tau=0.01))[0].counts["regressed"] for seed in range(20)]

    assert sum(false) / 20 <= 0.1


def test_a_known_prior_serves_a_few_cells() -> None:
    few = sweep(1, 4, 3, slower=2)

    assert judge(few)[0].prior is None
    family = judge(few, Rules(prior=Prior(d0=20, s0=0.01)))[0]
    assert [d.verdict for d in family.decisions[:2]] == ["regressed", "regressed"]
    assert {d.df for d in family.decisions} == {24.0}


def test_ranks_decide_where_runs_stray() -> None:
    rng = np.random.default_rng(8)
    a, b = np.exp(rng.normal(0, 0.01, 10)), np.exp(rng.normal(0.06, 0.01, 10))
    a[0], b[0] = 1.5, 1.5

    decision = one(tuple(a), tuple(b), better="lower")
    assert (decision.verdict, decision.method) == ("regressed", "mann-whitney")
    assert decision.low is not None
    assert 1 < decision.low < 1.06 < (decision.high or 0) < 1.1  # by t from 0.86 on
    apart = one(tuple(a), tuple(b), Rules(tau=0.02), better="lower", interleaved=False)
    assert (apart.low or 0) < decision.low  # wider by the noise between sessions
    seven = one(tuple(a[:7]), tuple(b[:7]), better="lower")
    assert (seven.verdict, seven.method) == ("inconclusive", "t")
    # ranks know nothing of sessions: with noise between them as large as the shift, ranks alone must not decide
    assert one(tuple(a), tuple(b), Rules(tau=0.05), better="lower", interleaved=False).verdict == "inconclusive"


def test_digits_that_the_tool_does_not_print_are_no_evidence() -> None:
    step = times(STEADY, 0.96)

    assert one(STEADY, step).verdict == "regressed"
    coarse = one(STEADY, step, resolution=0.053)
    assert coarse.verdict == "inconclusive"
    assert coarse.advice == "printed in steps of 5.3 %"
    assert one((190.0,) * 5, (190.0,) * 5, resolution=0.053).verdict == "inconclusive"
    assert one((190.0,) * 5, (220.0,) * 5, resolution=0.053, better="lower").verdict == "regressed"


@pytest.mark.parametrize("runs", [2, 5, 12])
@pytest.mark.parametrize("others", [0, 40])
def test_an_interval_is_no_finer_than_what_the_digits_hide(others: int, runs: int) -> None:
    """IMB's 0.05 µs on both sides, of 46 and 54 ns: −1.8 to +1.8 % beside "a step is 20 %", where 57 cells with finer digits shared their noise."""
    coarse = sample((50.0,) * runs, (50.0,) * runs, key=-1, better="lower", resolution=0.2)
    (family,) = judge([coarse, *sweep(7, others, runs, sd=0.004)])
    found = family.decisions[0]

    assert (found.verdict, found.advice) == ("inconclusive", "printed in steps of 20 %")
    assert found.sd is not None
    assert found.low is not None
    assert found.high is not None
    assert found.sd >= 0.2 / math.sqrt(12)
    assert found.low <= 46 / 54
    assert found.high >= 54 / 46


@pytest.mark.parametrize("n", [2, 3, 50])
def test_equal_repeats_are_not_certain(n: int) -> None:
    """Nobody says how many digits there are: what was seen to differ is all that is known of them, and 2 + 2 runs say little."""
    assert one((7.0,) * n, (7.0,) * n).verdict == "same"
    assert one((7.0,) * n, (6.0,) * n).verdict == ("regressed" if n > 2 else "inconclusive")
    assert one((7.0,) * n, (6.99,) * n).verdict == "same"
    for other in (7.0, 6.99, 6.0):
        decision = one((7.0,) * n, (other,) * n)
        assert decision.low is not None
        assert decision.ratio is not None
        assert decision.high is not None
        assert decision.low < decision.ratio < decision.high
        assert decision.p == (pytest.approx(1) if other == 7.0 else pytest.approx(0, abs=0.1))
        assert decision.p > 0


@pytest.mark.parametrize(
    ("a", "b", "advice"),
    [
        ((1.0,), (2.0,), "needs 5 repeats per side"),
        (STEADY, (2.0,), "needs 5 repeats per side"),
        ((), (2.0,), "no good run on side A"),
        (STEADY, (), "no good run on side B"),
        ((0.0,) * 5, (*STEADY,), "0 or below"),
        (STEADY, (-1.0,) * 5, "0 or below"),
    ],
)
def test_what_cannot_be_tested_says_why(a: tuple[float, ...], b: tuple[float, ...], advice: str) -> None:
    decision = one(a, b)

    assert (decision.verdict, decision.method, decision.advice) == ("inconclusive", "none", advice)
    assert (decision.p, decision.q, decision.low, decision.high) == (None, None, None, None)


def test_untested_cells_do_not_disturb_the_others() -> None:
    good = sweep(1, 30, 3, slower=3)
    odd = [sample((0.0,), (1.0,), key="zero"), sample((1.0,), (1.0,), key="single")]

    alone, among = judge(good)[0], judge([odd[0], *good, odd[1]])[0]

    assert among.decisions[1:-1] == alone.decisions
    assert among.decisions[-1].need_repeats == 3  # a sweep of ≥ 20 cells
    assert sum(among.counts.values()) == 32
    assert list(among.counts) == list(VERDICTS)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_values_that_are_not_finite_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        one(STEADY, (1.0, bad))


def test_what_it_takes_follows_the_formula() -> None:
    a, b = (100.0, 103.0, 97.0), (101.0, 104.0, 98.0)
    decision = one(a, b, better="lower")

    assert decision.sd is not None
    assert decision.need_repeats == math.ceil(2 * decision.sd**2 / (math.log(1.03) / 2.8) ** 2)
    assert decision.advice == f"needs {decision.need_repeats} repeats per side"


@pytest.mark.parametrize(
    ("sd", "advice"),
    [
        (0.004, "needs 3 sessions per side"),
        (0.03, "needs 3 sessions of 14 repeats per side"),
        (0.5, "too noisy: 3 % needs over 1000 repeats"),
    ],
)
def test_sessions_alone_do_not_help_where_the_runs_are_noisy(sd: float, advice: str) -> None:
    noise = np.array([-1.0, -0.5, 0.0, 0.5, 1.0]) * sd * math.sqrt(4 / 2.5)  # of the sd `sd`

    decision = one(tuple(np.exp(noise)), tuple(np.exp(noise + 0.012)), interleaved=False)

    assert decision.sd == pytest.approx(sd)
    assert decision.advice == advice


def test_a_large_change_in_much_noise_needs_few_repeats() -> None:
    """Two a side said "needs more than 1000", and four decided."""
    a, b = (100.0, 150.0), (250.0, 375.0)
    two, four = one(a, b, better="lower"), one(a * 2, b * 2, better="lower")

    assert (two.verdict, four.verdict) == ("inconclusive", "regressed")
    assert two.need_repeats == 4
    for n in (1, 2):  # no number of repeats makes it better or worse
        assert one(a * n, b * n, better="neither").need_repeats is None
    assert four.advice is None


@pytest.mark.parametrize("factor", [1.0, 1.02, 1.2, 1.6, 3.0])
@pytest.mark.parametrize("sd", [0.003, 0.02, 0.1, 0.4])
@pytest.mark.parametrize("interleaved", [True, False])
def test_who_does_what_it_takes_is_told_a_verdict(factor: float, sd: float, interleaved: bool) -> None:
    """Repeats like those seen, as many as asked for: the cell is decided, or what is said then is no smaller number of them."""
    noise = tuple(np.exp(np.array([-1.0, 0.0, 1.0]) * sd))
    seen = one(noise, times(noise, factor), better="lower", interleaved=interleaved)
    if seen.need_repeats is None or seen.need_sessions is not None or seen.need_repeats > 1000:
        return
    more = math.ceil(seen.need_repeats / 3)
    after = one(noise * more, times(noise * more, factor), better="lower", interleaved=interleaved)

    assert seen.need_repeats > 3
    assert after.verdict != "inconclusive" or (after.need_repeats or 10**9) > seen.need_repeats


def test_families_are_judged_apart_and_keep_their_order() -> None:
    first, second = sweep(1, 30, 3, slower=3), [sample(STEADY, STEADY, family="other", key="x")]

    families = judge([first[0], *second, *first[1:]])

    assert [f.name for f in families] == ["fio iops", "other"]
    assert families[0] == judge(first)[0]
    assert judge([]) == ()


RUNS = st.lists(st.floats(0.5, 2.0), min_size=1, max_size=9).map(tuple)
CELLS = st.lists(
    st.builds(
        Sample,
        key=st.integers(0, 99),
        family=st.sampled_from(["x", "y"]),
        a=RUNS,
        b=RUNS,
        better=st.sampled_from(["higher", "lower", "neither"]),
        resolution=st.sampled_from([0.0, 0.001, 0.05]),
        interleaved=st.booleans(),
    ),
    min_size=1,
    max_size=30,
)


def words(samples: list[Sample]) -> list[str]:
    return [d.verdict for family in judge(samples) for d in family.decisions]


@given(CELLS)
def test_swapping_the_sides_mirrors_the_verdicts(cells: list[Sample]) -> None:
    swapped = [dataclasses.replace(c, a=c.b, b=c.a) for c in cells]

    assert words(swapped) == [MIRROR[word] for word in words(cells)]


@given(CELLS, st.sampled_from([0.5, 8.0, 1e-9, 1e9]))
def test_the_unit_does_not_matter(cells: list[Sample], unit: float) -> None:
    scaled = [dataclasses.replace(c, a=times(c.a, unit), b=times(c.b, unit)) for c in cells]

    for before, after in zip(judge(cells), judge(scaled), strict=True):
        for x, y in zip(before.decisions, after.decisions, strict=True):
            assert y.shift == pytest.approx(x.shift, abs=1e-9)
            if x.p is not None and x.sd is not None and x.sd > 1e-6:
                assert y.p == pytest.approx(x.p, abs=1e-6)


@given(CELLS)
def test_no_word_without_its_evidence(cells: list[Sample]) -> None:
    for family in judge(cells):
        for d in family.decisions:
            delta = math.log1p(d.threshold)
            if d.verdict == "same":
                assert d.shift is not None
                assert d.low is not None
                assert d.high is not None
                assert min(d.n_a, d.n_b) >= 2
                assert abs(d.shift) + d.resolution < delta
            if d.verdict in ("regressed", "improved"):
                assert d.q is not None
                assert d.shift is not None
                assert d.q < 0.05
                assert abs(d.shift) >= max(delta, 1.5 * d.resolution)
            assert (d.verdict == "inconclusive") == bool(d.advice)
            if d.low is not None:
                assert d.ratio is not None
                assert d.high is not None
                assert d.low <= d.ratio * math.exp(-d.resolution) * (1 + 1e-9)
                assert d.high >= d.ratio * math.exp(d.resolution) * (1 - 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "most"), [(2, 0.20), (3, 0.15)])
def test_repeats_that_agree_by_luck_are_no_certainty(runs: int, most: float) -> None:
    """Four metrics of twelve cells, one session a side, 5 % from run to run, nothing changed: one in five comparisons may accuse, 5 % a
    metric. With 30 degrees of freedom, those of the noise that is assumed between sessions, 45 and 19 % did."""
    rng = np.random.default_rng(3)

    def accusing() -> bool:
        values = np.exp(rng.normal(0, 0.05, (48, 2 * runs))).tolist()
        samples = [
            Sample(key=i, family=str(i % 4), a=tuple(v[:runs]), b=tuple(v[runs:]), better="lower")
            for i, v in enumerate(values)
        ]
        return any(d.verdict in ("regressed", "improved") for f in judge(samples) for d in f.decisions)

    assert sum(accusing() for _ in range(150)) <= most * 150


def test_what_is_0_in_every_run_of_both_sides_is_the_same() -> None:
    """A count of errors, 0 in A and B, was inconclusive, and failed `compare --fail-on inconclusive`."""
    zeros = (0.0, 0.0, 0.0)
    said = [
        one(a, b, better="lower")
        for a, b in ((zeros, zeros), (zeros[:1], zeros), (zeros, (0.0, 0.0, 1.0)), (zeros, (1.0, 1.0, 1.0)))
    ]
    assert [d.verdict for d in said] == ["same", "inconclusive", "inconclusive", "inconclusive"]
    assert (said[0].ratio, said[0].advice) == (None, None)
    assert one(zeros, zeros, interleaved=False, disturbed=("A",)).verdict == "inconclusive"


def test_of_a_level_no_change_is_a_share() -> None:
    """A gain of 24 dB was 20 % better than one of 20 dB; below 0 dB it was not judged."""
    decision = one((20.0, 20.01, 20.02), (24.0, 24.01, 24.02), level=True)
    assert (decision.verdict, decision.ratio) == ("inconclusive", None)
