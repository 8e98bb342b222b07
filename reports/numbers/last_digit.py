"""The last digit that a program prints whose format nobody knows: what the values of all cells of a sweep show. Pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable


def common_step(values: Iterable[float]) -> float:
    """Return the largest power of ten of which all values are whole multiples: the last digit of an unknown program.

    0 where fewer than five different values tell, or where they have more than ten digits. Five values that all end in a 0 by
    chance are one in 10⁵.
    """
    known = sorted({abs(v) for v in values if v})
    if len(known) < 5:
        return 0.0
    for power in range(math.floor(math.log10(known[0])), math.floor(math.log10(known[-1])) - 11, -1):
        step = 10.0**power
        if all(abs(v / step - round(v / step)) <= 1e-6 for v in known):
            return step
    return 0.0


def step_of(values: Iterable[float], steps: Iterable[float]) -> float:
    """Return the last digit of a metric of an unknown program: what all values share; of few the finest that was printed, else
    the smallest difference between them; 0 of equal ones. `steps`: the last digits that are known of some."""
    ordered = sorted({*values})
    smallest = [*steps] or [b - a for a, b in itertools.pairwise(ordered)]
    return common_step(ordered) or min(smallest, default=0.0)
