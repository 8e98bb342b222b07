"""What each axis of a sweep does, and small multiples where one panel would be crowded."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.charts import effects
from reports.numbers import formulas

LEVELS = {"alg": ("fast", "mid", "slow"), "mode": ("x", "y"), "size": (1, 64, 4096), "threads": (1, 2, 4, 8)}
FACTORS = {"fast": 2.0, "mid": 1.5, "slow": 1.0, "x": 1.0, "y": 1.004}


def rate(alg: str, mode: str, size: int, threads: int) -> float:
    return 100 * FACTORS[alg] * FACTORS[mode] * (1 if size == 1 else 1.4 if size == 64 else 1.75) * threads


def test_an_axis_of_which_some_pairs_have_no_ratio_has_no_effect() -> None:
    """ "3.68 × better by k, best at 2" was of the one pair of five that is above 0: below it k 1 is the better one."""
    values = {(offset, k): -50.0 + 10 * offset * k for offset in (-8, -4, 0, 4, 8) for k in (1, 2)}
    cells = {levels: formulas.spread([v, v * 1.001]) for levels, v in values.items()}

    assert effects.effects(("offset", "k"), cells, "higher") == []


@given(
    st.dictionaries(
        st.tuples(st.sampled_from("abc"), st.integers(1, 4)),
        st.lists(st.floats(0.5, 1e6), min_size=1, max_size=3),
        min_size=2,
    ),
    st.sampled_from(["higher", "lower"]),
)
def test_no_level_is_better_than_the_best_and_the_last_is_the_factor(
    values: dict[tuple[str, int], list[float]], better: Any
) -> None:
    cells = {levels: formulas.spread(of) for levels, of in values.items()}

    for effect in effects.effects(("letter", "number"), cells, better):
        behind = [level.behind for level in effect.levels]
        assert behind == pytest.approx(sorted(behind))
        assert effect.factor == behind[-1]
        best = effect.levels[0]
        assert (best.behind, best.low, best.high) == (1, 1, 1)
        if effect.clear:
            assert effect.levels[-1].low > 1
        assert all(set(level.cells) <= set(cells) for level in effect.levels)
