"""Today against a baseline of several sessions: does today's session lie where a further session would?

Pooling the runs of all sessions calls 16 to 18 % of unchanged machines changed, however many sessions there are; the
prediction interval over session medians holds its level (measurement guide, section 3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

from reports.verdicts.estimate import LEAST_SESSIONS, TAU_ASSUMED, TAU_DF


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Where the next session of an unchanged machine falls, 95 % of the time. In the values' unit."""

    low: float
    middle: float
    high: float
    sessions: int
    assumed: bool  # fewer than 5 sessions: their noise is assumed, not learned

    @property
    def text(self) -> str:
        """`baseline of 2 sessions, τ assumed`, for the line of a verdict."""
        noun = "session" if self.sessions == 1 else "sessions"
        return f"baseline of {self.sessions} {noun}" + (", τ assumed" if self.assumed else "")

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high


def predict(sessions: Sequence[Sequence[float]], *, level: float = 0.95) -> Prediction | None:
    """Return where the median of a further session is to be expected: t(K-1) · s · √(1 + 1/K), on logs.

    `sessions`: the runs of each. Below 5 sessions s is at least the assumed 1 %, with 30 degrees of freedom. None where
    there is no session with a run, or a value of 0 or below.
    """
    from scipy.special import stdtrit

    runs = [session for session in sessions if session]
    if not runs or min(min(session) for session in runs) <= 0:
        return None
    logs = [math.log(median(session)) for session in runs]
    k = len(logs)
    assumed = k < LEAST_SESSIONS
    sd, df = (stdev(logs) if k > 1 else 0.0), k - 1.0
    if assumed:
        sd, df = max(sd, TAU_ASSUMED), TAU_DF
    middle, reach = fmean(logs), float(stdtrit(df, (1 + level) / 2)) * sd * math.sqrt(1 + 1 / k)
    return Prediction(
        low=math.exp(middle - reach),
        middle=math.exp(middle),
        high=math.exp(middle + reach),
        sessions=k,
        assumed=assumed,
    )
