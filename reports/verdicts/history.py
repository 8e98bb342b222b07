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
from reports.verdicts.model import relative

SHORTEST = 3  # sessions between two changes
PENALTY = 3.0
MATTERS = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """From where to where a series went."""

    before: float
    after: float

    @property
    def change(self) -> float:
        """Relative to the size of `before`, above 0 where it rose; NaN where `before` is 0."""
        return relative(self.after, self.before) if self.before else math.nan

    @property
    def ratio(self) -> float | None:
        """After / before; None where one of both is 0 or below, as of a gain in dB."""
        return self.after / self.before if min(self.before, self.after) > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Move):
    """A step in a series: between the medians of the session medians from one change to the next."""

    index: int  # the first session after it, from 0
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift(Move):
    """A series that moved little by little, from the first session to the last by the line through it, or by its levels: no session is the first of a
    step that counts."""

    word: Literal["regressed", "improved"]
    straight: bool  # is it a line, and not small steps?


def drift(
    values: Sequence[float], at: Sequence[float], found: Sequence[Change], better: Direction, *, threshold: float = MATTERS
) -> Drift | None:  # fmt: skip
    """Return the drift of a series in which steps were found, if one straight line over time (median of the slopes of all pairs) is nearer to its values
    than the levels between the steps and leaves little more than noise, and moves by the threshold; or if no step does, and all of them together do.
    `at`: when each session was, s."""
    if not found or at[0] == at[-1]:
        return None
    import numpy as np

    y, x = np.array(values, dtype=float), np.array(at, dtype=float)
    first, second = np.triu_indices(len(y), 1)
    apart = x[second] - x[first]
    slope = float(np.median((y[second] - y[first])[apart != 0] / apart[apart != 0]))
    line = float(np.median(y - slope * (x - x[0]))) + slope * (x - x[0])
    cuts = [0, *(change.index for change in found), len(y)]
    levels = np.concatenate(
        [np.full(b - a, median(values[a:b])) for a, b in itertools.pairwise(cuts) if b > a]
    )
    off = np.abs(y - line)
    straight = bool(off.sum() <= NEARER * np.abs(y - levels).sum())
    straight = straight and bool(off.mean() <= ROUGH * np.median(np.abs(np.diff(y))))
    if not straight and any(change.word != "changed" for change in found):
        return None
    ends = line if straight else levels
    moved = _change(0, float(ends[0]), float(ends[-1]), better, threshold)
    if moved.word == "changed":
        return None
    return Drift(before=moved.before, after=moved.after, word=moved.word, straight=straight)


NEARER = 0.9
"""A line has to leave so much less than the levels do: of noisy steps some would be lines by chance."""
ROUGH = 1.25
"""What a line leaves on average, by what neighbours usually differ by: of noise 0.84, of steps of which one was not found more."""


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
        index=index,
        before=before,
        after=after,
        word=word,
    )


def is_worse(before: float, after: float, better: Direction, threshold: float) -> bool:
    """Is a level worse than another by the threshold? Never where neither direction is better, or nothing was before."""
    if better == "neither" or not before:
        return False
    moved = relative(after, before)
    return (-moved if better == "higher" else moved) >= threshold
