"""On how many made-up cases a law is tried: a few by default, some more with the slow tests, all where PINSWEEP_EXAMPLES is set."""

from __future__ import annotations

import os
from typing import Final, TypeVar

import pytest

T = TypeVar("T")

ALL: Final = "PINSWEEP_EXAMPLES" in os.environ


def lots(seeds: range, *, quick: int, slow: int, of: int = 10) -> list[object]:
    """Return ranges of at most `of` seeds, for `parametrize` with `ids=str`: the first `quick` seeds, and as slow tests the next up to `slow`;
    up to the last where all are asked for."""
    last = len(seeds) if ALL else slow
    rest = (seeds[n : min(n + of, last)] for n in range(quick, last, of))
    return [seeds[:quick], *(pytest.param(lot, marks=pytest.mark.slow) for lot in rest)]


def dealt(of: int, part: int, cases: list[T]) -> list[T]:
    """Return the cases that come to one of `of` variants of a law: each case to one of them; all of them where all are asked for."""
    return cases if ALL else cases[part::of]
