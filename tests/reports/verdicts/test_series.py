"""Histories, distributions: what stands beside the verdict of a cell."""

from __future__ import annotations

import builtins
import math
import random
from typing import Any

import numpy as np
import pytest

from parsers.errors import UserError
from reports.numbers.formulas import Bucket
from reports.verdicts.distribution import Shapes, judge_shapes
from reports.verdicts.history import changes, drift, unseen


def series(seed: int, *steps: tuple[int, float]) -> list[float]:
    """Return 40 session medians about 100 with 1 % noise; from each index of `steps` on, times its factor."""
    values = 100 * np.exp(np.random.default_rng(seed).normal(0, 0.01, 40))
    for index, factor in steps:
        values[index:] *= factor
    return [float(v) for v in values]


@pytest.fixture
def ruptures() -> None:
    pytest.importorskip("ruptures", reason="ruptures, which finds the steps, is for no such Python")


@pytest.mark.slow
@pytest.mark.usefixtures("ruptures")
def test_steps_are_found_where_they_are() -> None:
    down, up = changes(series(1, (12, 0.9), (28, 1.15)), "higher")

    assert (abs(down.index - 12) <= 1, abs(up.index - 28) <= 1) == (True, True)
    assert (down.word, up.word) == ("regressed", "improved")
    assert down.change == pytest.approx(-0.1, abs=0.02)
    assert up.before == pytest.approx(90, rel=0.02)
    assert [c.word for c in changes(series(1, (12, 0.9)), "lower")] == ["improved"]
    assert [c.word for c in changes(series(1, (12, 0.9)), "neither")] == ["changed"]
    assert [c.word for c in changes(series(1, (12, 0.9)), "higher", threshold=0.2)] == ["changed"]


@pytest.mark.usefixtures("ruptures")
def test_a_steady_history_has_no_steps() -> None:
    assert sum(len(changes(series(seed), "higher")) for seed in range(50)) <= 4


LEVELS = [300.0, 301, 299, 300, 301, 300, 361, 360, 361, 359, 358, 360]


@pytest.mark.usefixtures("ruptures")
@pytest.mark.parametrize(("odd", "value"), [(2, 361), (4, 420), (7, 301), (8, 300), (9, 250), (11, 301)])
def test_one_odd_session_hides_no_step_that_lasts(odd: int, value: float) -> None:
    """Six sessions of 300 ms, then 360: with one good session among the last nothing was told of it."""
    values = [value if i == odd else v for i, v in enumerate(LEVELS)]

    (step,) = changes(values, "lower")

    assert (step.index, step.word) == (6, "regressed")
    assert step.change == pytest.approx(0.2, abs=0.01)


@pytest.mark.usefixtures("ruptures")
@pytest.mark.parametrize("sessions", [10, 12, 24])
def test_of_noise_with_odd_sessions_no_step_is_made(sessions: int) -> None:
    rng = np.random.default_rng(sessions)
    series = 100 * np.exp(rng.normal(0, 0.01, (100, sessions)) + 0.2 * (rng.random((100, sessions)) < 0.07))

    assert sum(bool(changes([*map(float, values)], "lower")) for values in series) <= 2


@pytest.mark.usefixtures("ruptures")
def test_a_step_that_goes_unseen_is_no_larger_than_what_is_said() -> None:
    """Two good sessions after a step: which is the level nobody knows. "Steps of up to 4.4 %" was said of 20 %."""
    values = [300.0 if i in (8, 10) else v for i, v in enumerate(LEVELS)]
    assert changes(values, "lower") == ()

    assert unseen(values, ()) >= 0.19
    assert unseen(LEVELS, changes(LEVELS, "lower")) == pytest.approx(4 * 1.4826 / 330, rel=0.05)
    assert unseen([0.0] * 12, ()) == 0


@pytest.mark.usefixtures("ruptures")
def test_the_unit_of_a_history_does_not_matter() -> None:
    values = series(3, (20, 0.95))

    found = [changes([v * unit for v in values], "higher") for unit in (1.0, 1e9, 1e-6)]
    assert len({tuple(c.index for c in f) for f in found}) == 1


@pytest.mark.parametrize("values", [[], [1.0] * 5, [1.0] * 40, [1.0, 2.0, 3.0, 4.0, 5.0]])
def test_histories_without_a_step_to_find(values: list[float]) -> None:
    assert changes(values, "higher") == ()


def test_a_history_without_ruptures_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any) -> Any:
        if name == "ruptures":
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UserError, match="ruptures") as caught:
        changes(series(1), "higher")
    assert "pinsweep[history]" in caught.value.hint


def histogram(rng: np.random.Generator, centre: float, *, fast: float = 0.0, n: int = 20_000) -> tuple[Bucket, ...]:
    """Return latencies (ns) about `centre`, 10 % wide; a share `fast` of them at a hundredth of it, as from a cache."""
    hits = rng.binomial(n, fast)
    logs = np.r_[rng.normal(math.log(centre), 0.1, n - hits), rng.normal(math.log(centre / 100), 0.1, hits)]
    edges = np.arange(0, 20, 1 / 64)
    counts, _ = np.histogram(logs, edges)
    return tuple(
        Bucket(math.exp(low), math.exp(high), int(c))
        for low, high, c in zip(edges, edges[1:], counts, strict=False)
        if c
    )


def side(seed: int, *, centre: float = 1e5, spread: float = 0.04, runs: int = 5, **more: Any) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    return tuple(histogram(rng, centre * math.exp(rng.normal(0, spread)), **more) for _ in range(runs))


def test_distance_is_that_of_scipy_on_logs() -> None:
    from scipy import stats

    a, b = side(1)[0], side(2, centre=1.3e5)[0]

    expected = stats.wasserstein_distance(
        [math.log(x.middle) for x in a], [math.log(x.middle) for x in b], [x.n for x in a], [x.n for x in b]
    )
    apart, same = judge_shapes([Shapes(key="b", a=(a,), b=(b,)), Shapes(key="a", a=(a,), b=(a,))])
    assert (apart.distance, same.distance) == (pytest.approx(expected), 0)


def test_runs_are_exchanged_not_ios() -> None:
    """20 000 I/Os a run would find the 4 % from run to run significant; five runs a side rightly do not."""
    cells = [Shapes(key=i, a=side(i), b=side(100 + i)) for i in range(30)]

    found = judge_shapes(cells)

    assert sum(d.p is not None and d.p < 0.05 for d in found) <= 4
    assert {d.least_p for d in found} == {2 / 252}


def test_a_shape_that_moved_is_found_at_the_least_p() -> None:
    found = judge_shapes([Shapes(key="x", a=side(1), b=side(2, centre=1.5e5))])[0]

    assert found.p == pytest.approx(2 / 252)
    assert found.q == pytest.approx(2 / 252)
    assert found.distance == pytest.approx(math.log(1.5), abs=0.06)


def test_runs_of_one_shape_are_no_distance_apart_however_they_are_exchanged() -> None:
    """Of runs with other numbers of samples, whose shares are rounded each in another way."""
    runs = tuple(
        tuple(Bucket(100.0 * 1.1**i, 100.0 * 1.1 ** (i + 1), n * (i + 1)) for i in range(7))
        for n in (1, 3, 7, 11, 13, 17)
    )
    found = judge_shapes([Shapes(key="x", a=runs[:3], b=runs[3:])])[0]

    assert (found.distance, found.p) == (0.0, 1.0)


def test_many_runs_take_random_splits_that_repeat() -> None:
    cell = Shapes(key="x", a=side(1, runs=12), b=side(2, runs=12))

    assert judge_shapes([cell]) == judge_shapes([cell])
    moved = judge_shapes([Shapes(key="x", a=side(1, runs=12), b=side(2, centre=1.5e5, runs=12))])[0]
    assert moved.p == moved.least_p == pytest.approx(1 / 5001)


def test_a_cache_that_hits_less_is_a_mode_shift() -> None:
    found = judge_shapes([Shapes(key="x", a=side(1, fast=0.4), b=side(2, fast=0.3))])[0]

    fast, slow = found.modes
    assert (fast.a, fast.b) == (pytest.approx(0.4, abs=0.01), pytest.approx(0.3, abs=0.01))
    assert fast.a + slow.a == pytest.approx(1, abs=0.01)
    assert fast.at == pytest.approx(1e3, rel=0.15)
    assert any(mode.shifted for mode in found.modes)
    still = judge_shapes([Shapes(key="x", a=side(1, fast=0.4), b=side(2, fast=0.41))])[0]
    assert not any(mode.shifted for mode in still.modes)


def test_shapes_without_enough_runs_or_samples() -> None:
    none, one = Shapes(key=0, a=((),), b=side(1)), Shapes(key=1, a=side(1, runs=1), b=side(2))

    (only,) = judge_shapes([none, one])
    assert (only.key, only.p, only.q) == (1, None, None)


@pytest.mark.usefixtures("ruptures")
@pytest.mark.parametrize(("share", "word"), [(0.24, "regressed"), (-0.24, "improved")])
def test_what_moves_little_by_little_has_no_day(share: float, word: str) -> None:
    """Steps were told of a latency that rose by 0.9 % from session to session, each with a day, some with a kernel; also over a gap."""
    chance = random.Random(3)
    at = [86400.0 * (i + 20 * (i > 14)) for i in range(27)]
    values = [80 * (1 + share * t / at[-1]) * chance.gauss(1, 0.004) for t in at]
    found = changes(values, "lower")

    line = drift(values, at, found, "lower")

    assert any(change.word == word for change in found)
    assert line
    assert (line.word, line.straight) == (word, True)
    assert line.ratio == pytest.approx(1 + share, abs=0.01)
    assert line.before == pytest.approx(80, rel=0.01)


@pytest.mark.usefixtures("ruptures")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("steps", [{13: 1.05}, {6: 1.05}, {9: 1.05, 18: 1.05}, {9: 1.1, 18: 1 / 1.1}])
def test_steps_are_no_drift(steps: dict[int, float], seed: int) -> None:
    chance = random.Random(seed)
    level, values = 80.0, []
    for i in range(27):
        level *= steps.get(i, 1.0)
        values.append(level * chance.gauss(1, 0.01))
    found = changes(values, "lower")

    assert [change.index for change in found if change.word != "changed"]
    assert drift(values, [86400.0 * i for i in range(27)], found, "lower") is None


@pytest.mark.usefixtures("ruptures")
def test_small_steps_that_sum_up_are_told() -> None:
    """Three steps of 2 %, each below the threshold: "no change of 3 % or more" of what fell by 6 %."""
    chance = random.Random(1)
    values = [80 * 0.98 ** min(3, i // 10) * chance.gauss(1, 0.002) for i in range(60)]
    found = changes(values, "higher")
    assert {change.word for change in found} == {"changed"}

    told = drift(values, [86400.0 * i for i in range(60)], found, "higher")

    assert told
    assert (told.word, told.straight) == ("regressed", False)
    assert told.ratio == pytest.approx(0.98**3, abs=0.004)
