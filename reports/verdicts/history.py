"""Find the changes in a series of sessions (section 3 of the measurement guide).

The method is kernel change-point detection (Arlot, Celisse, Harchaoui 2019) on the session medians. ruptures, an
optional extra, is required.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median, pstdev
from typing import Literal

from parsers.errors import UserError
from parsers.measurement import Direction
from reports.verdicts.fleet import centre
from reports.verdicts.model import base, relative

SHORTEST = 3  # sessions between two changes
LASTING = 5  # sessions on either side of a step that one session hides
PENALTY = 3.0
MATTERS = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """The start and end of a change in a series."""

    before: float
    after: float

    @property
    def change(self) -> float:
        """The change as a share of `before`, above 0 for a rise. NaN if `before` is at or below 0."""
        return relative(self.after, self.before) if base(self.before) else math.nan

    @property
    def ratio(self) -> float | None:
        """After / before. None if a value is 0 or below, as for a gain in dB."""
        return self.after / self.before if min(self.before, self.after) > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Move):
    """A step in a series, between the medians of the session medians of two segments."""

    index: int  # the first session after it, from 0
    # "changed": smaller than the threshold, or no direction is better
    word: Literal["regressed", "improved", "changed"]


def changes(values: Sequence[float], better: Direction, *, threshold: float = MATTERS) -> tuple[Change, ...]:
    """Return the changes of a series of session medians, oldest first. Empty for fewer than 2 · SHORTEST sessions.

    One session may hide a step (a good day after the step). The result without that session counts if more changes are
    found. Values are in the metric's base unit. Raises UserError without ruptures, ValueError for values that are not
    finite.
    """
    if not all(map(math.isfinite, values)):
        raise ValueError("values must be finite")
    if len(values) < 2 * SHORTEST:
        return ()
    cuts = max(_cuts(values), _hidden_cuts(values), key=len)
    levels = [median(part) for part in _parts(values, cuts)]
    return tuple(
        _change(index, before, after, better, threshold)
        for index, (before, after) in zip(cuts, itertools.pairwise(levels), strict=True)
    )


def _cuts(values: Sequence[float]) -> list[int]:
    """Return the first session after each step that kernel change-point detection finds."""
    if not (sd := pstdev(values)):
        return []
    import numpy as np

    detector = _kernel_cpd()(kernel="rbf", min_size=SHORTEST)
    ends = detector.fit(np.array(values, dtype=float)[:, None] / sd).predict(pen=PENALTY)
    return [int(end) for end in ends[:-1]]  # ruptures hands out numpy's integers, and the end as the last


def _hidden_cuts(values: Sequence[float]) -> list[int]:
    """Return the steps of the series with one outlier replaced by its nearer neighbour.

    No other session may be an outlier, and LASTING sessions must be on each side. With two outliers replaced, up to
    four times as many series without a step (numbers with two modes) would have a step (docs/history.md).
    """
    if len(values) < 2 * LASTING:
        return []
    noise = NEIGHBOURS * median(abs(b - a) for a, b in itertools.pairwise(values))
    for i in reversed(
        _outliers(values, noise)
    ):  # for one day forward and one day back, the first day belongs to the step
        calm = [*values[:i], min(_beside(values, i), key=lambda v: abs(v - values[i])), *values[i + 1 :]]
        if _outliers(calm, noise):
            continue
        if (cuts := _cuts(calm)) and all(len(part) >= LASTING for part in _parts(calm, cuts)):
            return cuts
    return []


def _outliers(values: Sequence[float], noise: float) -> list[int]:
    """Return the sessions that are OUTLIER times the noise above all neighbours, or below all."""
    away = [[v - other for other in _beside(values, i)] for i, v in enumerate(values)]
    return [i for i, gaps in enumerate(away) if min(gaps) > OUTLIER * noise or max(gaps) < -OUTLIER * noise]


def _beside(values: Sequence[float], i: int) -> list[float]:
    return [values[j] for j in (i - 1, i + 1) if 0 <= j < len(values)]


OUTLIER = 4.0
"""benchmarks/history_steps.py: of series without a step, of 10 to 40 sessions, at most 7 in 1000 more have one because
a hidden step is looked for: of normal noise, with spikes in 5 or 10 of 100 sessions, with memory (.5); of two modes 15.
Of 12 sessions with a step of 20 % in their middle and one outlier behind it 98 in 100 are found, 36 without."""

NEIGHBOURS = 1.048
"""Standard deviations in the median difference of neighbours, of normal noise: no step and no outlier moves it."""


def _parts(values: Sequence[float], cuts: Sequence[int]) -> list[Sequence[float]]:
    return [values[start:end] for start, end in itertools.pairwise([0, *cuts, len(values)])]


def unseen(values: Sequence[float], found: Sequence[Change]) -> float:
    """Return the largest step that may be hidden in a series, relative.

    The limit is UNSEEN robust standard deviations of the sessions about the levels between the steps. The limit is at
    least the largest difference of levels around any session, with SHORTEST or more sessions on each side, so that a
    missed step is never larger than the limit.
    """
    middle, parts = median(values), _parts(values, [change.index for change in found])
    if not base(middle):
        return 0.0
    levels = [median(part) for part in parts]
    _, sd = centre([middle + v - level for part, level in zip(parts, levels, strict=True) for v in part])
    return max([UNSEEN * sd / middle, *(gap for part in parts for gap in _gaps(part))])


def _gaps(values: Sequence[float]) -> Iterable[float]:
    """Yield the relative change of the level before and from each session."""
    first, last = _medians(values), _medians(values[::-1])[::-1]
    for i in range(SHORTEST, len(values) - SHORTEST + 1):
        if before := base(first[i - 1]):
            yield abs(relative(last[i], before))


def _medians(values: Sequence[float]) -> list[float]:
    """Return the running median up to each value, without sorting again."""
    ordered: list[float] = []
    result = []
    for n, value in enumerate(values, 1):
        bisect.insort(ordered, value)
        result.append((ordered[(n - 1) // 2] + ordered[n // 2]) / 2)
    return result


UNSEEN = 4.0
"""Robust standard deviations of the sessions: of steps of 4 sd, five sessions on either side are found in 73 of 100,
seven in 98."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recent(Move):
    """The last sessions of a series, which are outliers but too few for a change."""

    sessions: int  # RECENT at most
    word: Literal["regressed", "improved"]


def recent(
    values: Sequence[float], found: Sequence[Change], better: Direction, *, threshold: float = MATTERS, among: int = 1
) -> Recent | None:  # fmt: skip
    """Return the outlier sessions at the end of a series, all to one side and beyond the threshold.

    The sessions are further from the level than chance allows for the last session of `among` such series, and than
    OUTSIDE times any earlier session. None if the last step of the series is as recent.
    """
    start = found[-1].index if found else 0
    for count in range(min(RECENT, len(values) - start - SHORTEST), 0, -1):
        head, tail = values[:-count], values[-count:]
        level, sd, most = _level(head, found)
        least = max(_beyond(len(head), among) * sd, OUTSIDE * most)
        if not (all(v - level > least for v in tail) or all(level - v > least for v in tail)):
            continue
        move = _change(0, level, median(tail), better, threshold)
        if move.word != "changed":
            return Recent(before=level, after=move.after, word=move.word, sessions=count)
    return None


def unseen_recently(values: Sequence[float], found: Sequence[Change], *, among: int = 1) -> float:
    """Return the largest step in the last RECENT sessions that `recent` may miss, relative.

    The limit is two standard deviations above the limit of `recent`.
    """
    level, sd, most = _level(values, found)
    return max((_beyond(len(values), among) + 2) * sd, OUTSIDE * most + 2 * sd) / level if base(level) else 0.0


def _level(values: Sequence[float], found: Sequence[Change]) -> tuple[float, float, float]:
    """Return the level after the last step, the robust sd of the sessions about the levels, and the largest
    distance.
    """
    parts = _parts(values, [change.index for change in found])
    off = [v - median(part) for part in parts for v in part]
    level = median(parts[-1])
    _, sd = centre([level + v for v in off])
    return level, sd, max(map(abs, off))


def _beyond(sessions: int, among: int) -> float:
    """Return the z of the last session that one of `among` series without a step exceeds with probability FALSE_RECENT.

    The z is from Student's t, because the spread is a MAD, worth less than half of the sessions, and the level is a
    median.
    """
    from scipy.special import stdtrit

    z = float(-stdtrit(sessions / 2, FALSE_RECENT / 2 / max(among, 1)))
    return z * math.sqrt(1 + math.pi / 2 / sessions)


RECENT = LASTING - 1
"""Sessions after a step that are too few for reliable detection."""

OUTSIDE = 1.5
FALSE_RECENT = 0.02
"""benchmarks/last_sessions.py: of histories of noise alone, of 10 to 60 sessions and 2 or 20 numbers, 0 to 3.5 in 100
have one whose last sessions are named (normal, 1 and 3 %), with memory up to 9. A session that is 8 sd off is named
where it is the last and none was so far off before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift(Move):
    """A series that moved slowly, by a line from the first to the last session or by levels. No single step counts."""

    word: Literal["regressed", "improved"]
    straight: bool  # True: a line. False: small steps


def drift(
    values: Sequence[float], at: Sequence[float], found: Sequence[Change], better: Direction, *, threshold: float = MATTERS
) -> Drift | None:  # fmt: skip
    """Return the drift of a series with steps, else None.

    A series drifts if one straight line over time (median of the slopes of all pairs) fits better than the levels,
    leaves little more than noise, and moves by the threshold. A series also drifts if no single step reaches the
    threshold, but all steps together do. `at`: the time of each session in s.
    """
    if not found or at[0] == at[-1]:
        return None
    import numpy as np

    y, x = np.array(values, dtype=float), np.array(at, dtype=float)
    first, second = np.triu_indices(len(y), 1)
    apart = x[second] - x[first]
    slope = float(np.median((y[second] - y[first])[apart != 0] / apart[apart != 0]))
    line = float(np.median(y - slope * (x - x[0]))) + slope * (x - x[0])
    cuts = [0, *(change.index for change in found), len(y)]
    levels = np.concatenate([np.full(b - a, median(values[a:b])) for a, b in itertools.pairwise(cuts) if b > a])
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
"""Maximum residual of a line, as a share of the levels' residual, because noisy steps may resemble a line."""
ROUGH = 1.25
"""What a line leaves on average, by what neighbours usually differ by: of noise 0.84, of steps of which one was not
found more."""


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
    elif is_worse(before, after, "lower" if better == "higher" else "higher", threshold) and better != "neither":
        word = "improved"
    return Change(
        index=index,
        before=before,
        after=after,
        word=word,
    )


def is_worse(before: float, after: float, better: Direction, threshold: float) -> bool:
    """Return whether a level is worse than another level by the threshold.

    False if neither direction is better, or if changes are not shares of the level.
    """
    if better == "neither" or not base(before):
        return False
    moved = relative(after, before)
    return (-moved if better == "higher" else moved) >= threshold
