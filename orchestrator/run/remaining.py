"""How many runs a sweep has begun and how long the rest will take: from the plan, then from what earlier ones took. Pure."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from orchestrator.model import PlannedRun

_Kind = tuple[str, str]
"""Tool and sweep."""


class Remaining:
    """Told which runs are to do and how long each took; asked for the rest.

    A cell that ran takes again what it took (the median of its runs). One that did not takes what the plan says, times how far
    the plan was off for the cells of its sweep, else of its tool. What an answer costs does not grow with the number of runs.
    """

    def __init__(self, todo: Iterable[PlannedRun] = ()) -> None:
        self._runs: Counter[str] = Counter()  # cell → runs to do
        self._took: dict[str, list[float]] = {}  # cell → seconds of each run that ended
        self._known_s = 0.0  # of the runs to do of cells that ran
        # (tool, sweep) → planned seconds of the cells that have not run, real and planned ones of the runs that ended
        self._planned: dict[_Kind, float] = defaultdict(float)
        self._real: dict[_Kind, float] = defaultdict(float)
        self._expected: dict[_Kind, float] = defaultdict(float)
        for run in todo:
            self.add(run)

    def add(self, run: PlannedRun) -> None:
        """One more run is to do: of the plan, or a repeat that was decided on since."""
        cell = run.cell.point_id
        self._runs[cell] += 1
        if cell in self._took:
            self._known_s += statistics.median(self._took[cell])
        else:
            self._planned[_kind(run)] += run.estimate_s

    def ended(self, run: PlannedRun, seconds: float) -> None:
        """A run ended `seconds` after it was begun, its preparation and its storing included."""
        cell, kind = run.cell.point_id, _kind(run)
        if cell in self._took:
            self._known_s -= self._runs[cell] * statistics.median(self._took[cell])
        else:
            self._planned[kind] -= self._runs[cell] * run.estimate_s
        self._runs[cell] -= 1
        self._took.setdefault(cell, []).append(seconds)
        self._known_s += self._runs[cell] * statistics.median(self._took[cell])
        self._real[kind] += seconds
        self._expected[kind] += run.estimate_s

    def seconds(self) -> float:
        """Return the time left, of runs that have not ended; 0 where there are none."""
        rest = sum(planned * self._off(kind) for kind, planned in self._planned.items())
        return max(0.0, self._known_s + rest)

    def _off(self, kind: _Kind) -> float:
        """Return what runs took through what was planned for them: those of the sweep, else of the tool; 1 before any ended."""
        tool, _ = kind
        alike = [kind] if self._expected[kind] > 0 else [other for other in self._real if other[0] == tool]
        expected = sum(self._expected[one] for one in alike)
        return sum(self._real[one] for one in alike) / expected if expected > 0 else 1.0


@dataclass(slots=True)
class Progress:
    """How far a sweep is, over all its rounds: it grows when runs are added, and never begins anew."""

    started: int = 0  # attempts, warm-ups left out
    total: int = 0  # … that are to be started, those included
    remaining: Remaining = field(default_factory=Remaining)

    def add(self, runs: Iterable[PlannedRun]) -> None:
        """So many more are to do."""
        for run in runs:
            self.total += not run.warm_up
            self.remaining.add(run)


def _kind(run: PlannedRun) -> _Kind:
    return run.tool, run.sweep
