"""The last printed digit of an unknown program, estimated from the values of a sweep. Pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable


def common_step(values: Iterable[float]) -> float:
    """Return the largest power of ten that divides all values, the last digit of an unknown program.

    The result is 0 for fewer than five different values, or for more than ten digits. Five values end in 0 by chance in
    1 of 10⁵ cases.
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
    """Return the last digit of a metric of an unknown program, from all values together.

    With few values, the result is the finest printed digit, or else the smallest difference. Equal values give 0.
    `steps` holds the known last digits.
    """
    ordered = sorted({*values})
    smallest = [*steps] or [b - a for a, b in itertools.pairwise(ordered)]
    return common_step(ordered) or min(smallest, default=0.0)
