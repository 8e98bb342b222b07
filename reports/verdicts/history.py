"""Where a series of sessions changed. Section 3 of the measurement guide.

Kernel change-point detection (Arlot, Celisse, Harchaoui 2019) on the session medians. It needs ruptures, an optional extra.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, pstdev
from typing import Literal

from parsers.errors import UserError
from parsers.measurement import Direction

SHORTEST = 3  # sessions between two changes
PENALTY = 3.0
MATTERS = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A step in a series."""

    index: int  # the first session after it, from 0
    before: float  # median of the session medians from the change before to this one
    after: float
    ratio: float  # after / before; NaN where `before` is 0
    word: Literal[
        "regressed", "improved", "changed"
    ]  # "changed": smaller than the threshold, or no direction is better


def changes(values: Sequence[float], better: Direction, *, threshold: float = MATTERS) -> tuple[Change, ...]:
    """Return the changes of a series of session medians, oldest first; none in fewer than 2 · SHORTEST sessions.

    Values in the metric's base unit. Raises UserError where ruptures is not installed, ValueError for values that are not
    finite.
    """
    if not all(map(math.isfinite, values)):
        raise ValueError("values must be finite")
    if len(values) < 2 * SHORTEST or not (sd := pstdev(values)):
        return ()
    import numpy as np

    detector = _kernel_cpd()(kernel="rbf", min_size=SHORTEST)
    found = detector.fit(np.array(values, dtype=float)[:, None] / sd).predict(pen=PENALTY)
    ends = [int(end) for end in found]  # ruptures hands out numpy's integers
    cuts = [0, *ends]
    levels = [median(values[start:end]) for start, end in itertools.pairwise(cuts)]
    return tuple(
        _change(index, before, after, better, threshold)
        for index, (before, after) in zip(ends[:-1], itertools.pairwise(levels), strict=True)
    )


def _kernel_cpd() -> type:
    try:
        from ruptures import KernelCPD
    except ImportError as error:
        raise UserError(
            "history",
            "change points need the package ruptures",
            "install it with: pip install 'pinsweep[history]', into a Python before 3.14 while ruptures is for no newer one",
        ) from error
    detector: type = KernelCPD
    return detector


def _change(index: int, before: float, after: float, better: Direction, threshold: float) -> Change:
    word: Literal["regressed", "improved", "changed"] = "changed"
    if is_worse(before, after, better, threshold):
        word = "regressed"
    elif (
        is_worse(before, after, "lower" if better == "higher" else "higher", threshold)
        and better != "neither"
    ):
        word = "improved"
    return Change(
        index=index, before=before, after=after, ratio=after / before if before else math.nan, word=word
    )


def is_worse(before: float, after: float, better: Direction, threshold: float) -> bool:
    """Is a level worse than another by the threshold? Never where neither direction is better, or nothing was before."""
    if better == "neither" or not before:
        return False
    moved = (after - before) / abs(before)
    return (-moved if better == "higher" else moved) >= threshold
