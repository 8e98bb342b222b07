"""How repeats lie to one another and to their order: what each rule says of made-up noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import pytest

from reports.numbers.scatter import Drift, Timed, drift, groups, is_slow_first, scatters


def share(of: Callable[[], bool], times: int = 1000) -> float:
    return sum(of() for _ in range(times)) / times


def noisy(random: Random, n: int, sd: float) -> list[float]:
    return [random.gauss(1, sd) for _ in range(n)]


@pytest.mark.parametrize("n", [2, 3, 5, 6, 10])
def test_repeats_with_a_third_of_the_usual_noise_do_not_scatter_and_with_thrice_they_do(n: int) -> None:
    random = Random(1)

    assert share(lambda: scatters(noisy(random, n, 0.01), 0.03)) <= 0.005
    assert share(lambda: scatters(noisy(random, n, 0.09), 0.03)) >= 0.3
    assert not scatters([5.0], 0.03)


def test_one_far_off_of_many_is_no_scatter_and_of_three_it_is() -> None:
    assert scatters([5.5, 6.4, 22.5], 0.075)
    assert not scatters([5.5, 5.4, 5.6, 5.5, 5.45, 5.55, 22.5], 0.075)


def test_two_levels_are_two_groups_and_normal_noise_is_one() -> None:
    random = Random(2)

    assert groups([22.1, 5.5, 22.3, 5.4, 5.6, 22.4, 5.5, 22.2], 0.03) == (
        [5.4, 5.5, 5.5, 5.6],
        [22.1, 22.2, 22.3, 22.4],
    )
    assert groups([5.5, 5.5, 5.5, 5.5, 5.5, 5.5, 5.5, 22.5], 0.03) is None  # one is no group
    assert groups([5.4, 5.5, 22.1, 22.3], 0.03) is None
    assert share(lambda: groups(noisy(random, 8, 0.05), 0.03) is not None) <= 0.07
    assert share(lambda: groups(noisy(random, 12, 0.05), 0.03) is not None) <= 0.02


@pytest.mark.parametrize("n", [3, 5, 6, 8, 10, 15, 40])
@pytest.mark.slow
def test_at_most_1_of_100_cells_with_two_thirds_of_the_usual_noise_is_named(n: int) -> None:
    random = Random(5)
    cells = [noisy(random, n, 0.02) for _ in range(4000)]

    assert sum(scatters(cell, 0.03) or groups(cell, 0.03) is not None for cell in cells) <= 40


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 5, 6, 7, 8, 10, 11, 15, 16, 17, 40, 41])
def test_of_cells_with_just_the_usual_noise_one_in_twenty_scatters(n: int) -> None:
    random = Random(6)

    assert 0.03 <= share(lambda: scatters(noisy(random, n, 0.03), 0.03), 2000) <= 0.06


@pytest.mark.parametrize("n", [8, 10, 15])
@pytest.mark.parametrize(("apart", "at_least"), [(0.05, 0.15), (0.07, 0.75), (0.1, 0.88)])
def test_two_levels_with_one_percent_of_noise_each_are_found(n: int, apart: float, at_least: float) -> None:
    random = Random(7)

    def levels() -> list[float]:
        return [(1 - apart * random.randint(0, 1)) * value for value in noisy(random, n, 0.01)]

    assert share(lambda: groups(levels(), 0.03) is not None) >= at_least


def test_a_first_repeat_is_slow_beyond_noise_alone() -> None:
    random = Random(3)

    assert is_slow_first([80, 100, 101, 99, 100], 0.03)
    assert not is_slow_first([100, 80, 101, 99, 100], 0.03)
    assert not is_slow_first([98, 100, 101, 99, 100], 0.03)
    assert not is_slow_first([80, 100, 101, 99], 0.03)
    assert share(lambda: is_slow_first(noisy(random, 5, 0.01), 0.03), 2000) <= 0.002
    assert share(lambda: is_slow_first(noisy(random, 5, 0.05), 0.03), 2000) <= 0.02


def swept(random: Random, cells: int, rounds: int, slope: float, noise: float = 0.02) -> Drift | None:
    """A sweep of one hour, in rounds of random order."""
    order = [(n, cell) for n, cell in enumerate(c for _ in range(rounds) for c in random.sample(range(cells), cells))]
    runs: dict[int, list[Timed]] = {}
    for n, cell in order:
        hours = n / len(order)
        runs.setdefault(cell, []).append(Timed(n, hours, cell + slope * hours + random.gauss(0, noise)))
    return drift(list(runs.values()))


@pytest.mark.slow
@pytest.mark.parametrize(("cells", "rounds"), [(7, 3), (20, 3), (10, 6), (1, 20)])
def test_no_drift_is_named_in_one_sweep_of_a_hundred(cells: int, rounds: int) -> None:
    random = Random(4)

    def named() -> bool:
        found = swept(random, cells, rounds, 0)
        return found is not None and found.p < 0.01

    assert share(named, 500) <= 0.02


def test_a_drift_of_5_percent_an_hour_is_found_in_noise_of_2_percent() -> None:
    random = Random(5)
    found = [one for _ in range(100) if (one := swept(random, 20, 3, -0.05))]

    assert sum(one.p < 0.01 for one in found) >= 85
    assert sum(one.per_hour for one in found) / 100 == pytest.approx(-0.05, abs=0.004)
    assert found[0].n == 60
    assert math.isclose(found[0].hours, 59 / 60)


def test_few_runs_or_one_of_each_cell_tell_no_drift() -> None:
    assert swept(Random(6), 6, 3, 1.0) is None
    assert swept(Random(6), 40, 1, 1.0) is None
    assert drift([[Timed(n, n / 60, 0.0) for n in range(30)]]) is None  # all equal
