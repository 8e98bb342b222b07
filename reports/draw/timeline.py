"""Where the sessions of a machine lie in time, along a line or the x axis of a chart. Plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from reports.draw.axes import Axis

DAY_S = 86400.0


@dataclass(frozen=True, slots=True)
class Timeline:
    """Sessions in order. What is between two of them is told of the middle."""

    days: tuple[float, ...]  # from the first session, never falling
    edges: tuple[float, ...]  # before each session, and behind the last

    @classmethod
    def of(cls, times: Sequence[float | None]) -> Timeline:
        """times: s since 1970, in order; None: a clock that is not to be believed, whose session lies at the one before it, or else after it."""
        known = [t for t in times if t is not None]
        first = latest = known[0] if known else 0.0
        days = []
        for time in times:
            latest = latest if time is None else max(latest, time)
            days.append((latest - first) / DAY_S)
        margin = (days[-1] - days[0]) / (2 * max(len(days) - 1, 1)) or 0.5  # half a mean gap
        middles = ((a + b) / 2 for a, b in pairwise(days))
        return cls(tuple(days), (days[0] - margin, *middles, days[-1] + margin))

    def percent(self, day: float) -> float:
        """Return where a day lies along a line, from 0 to 100."""
        return 100 * ((day - self.edges[0]) / (self.edges[-1] - self.edges[0]))

    def axis(self, dates: Sequence[str], most: int) -> Axis:
        """Return an axis whose ticks are the dates of sessions, at most one a date, as far apart as `most` of them are."""
        low, high = self.edges[0], self.edges[-1]
        ticks: list[tuple[float, str]] = []
        for day, date in zip(self.days, dates, strict=True):
            if not ticks or (day - ticks[-1][0] >= (high - low) / most and date != ticks[-1][1]):
                ticks.append((day, date))
        return Axis(kind="linear", low=low, high=high, ticks=tuple(ticks), title="Day of the session")
