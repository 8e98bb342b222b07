"""Select the cells with `repeats: auto` for a further run, and estimate the remaining time of a sweep. Pure.

The file decides, not the call. A stopped sweep continues, and a settled cell does not change.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from orchestrator.experiment.repeats import CAP, is_settled, one_round
from orchestrator.model import Cell, Plan, PlannedRun, Sweep
from orchestrator.run.outcome import NEVER, Attempts, Rules, is_pending

if TYPE_CHECKING:
    from parsers.measurement import Parsed

Leading: TypeAlias = "Callable[[Cell, Sequence[Parsed]], Sequence[float]]"
"""(cell, results of its runs) → the number that a cell settles by, one per run."""


def unknown(cell: Cell, _: Sequence[Parsed]) -> Sequence[float]:
    """Raise ValueError. This is the `Leading` for sweeps with a fixed number of repeats."""
    raise ValueError(f"no number of {cell.tool} to settle by")


def with_begun(plan: Plan, attempts: Attempts) -> Plan:
    """Return the plan and then the further runs that already have attempts in the file."""
    if not plan.more:
        return plan
    last, planned, first = (
        _last_repeats(attempts),
        _last_repeats(run.key for run in plan.runs),
        _first_runs(plan),
    )
    begun = [
        dataclasses.replace(first[cell], repeat=repeat)
        for cell in plan.more
        for repeat in range(planned[cell] + 1, min(last.get(cell, 0), CAP) + 1)
    ]
    runs = (*plan.runs, *sorted(begun, key=lambda run: run.repeat))
    return dataclasses.replace(plan, runs=runs, more=_more(plan, _last_repeats(run.key for run in runs)))


def next_round(
    plan: Plan,
    attempts: Attempts,
    values: Mapping[str, Sequence[float]],
    sweeps: Mapping[str, Sweep],
    rules: Rules,
) -> Plan:
    """Return a plan with one more run for each cell that has done its planned runs and has not settled.

    values: point_id → the leading number of each good run. A cell without good runs gets another run only if it was
    disturbed, because a later run may be undisturbed.
    """
    first, last = _first_runs(plan), _last_repeats(attempts)
    once = dataclasses.replace(rules, retry_failed=False)  # do not wait for a repeated failure
    waiting = {run.cell.point_id for run in plan.runs if is_pending(attempts.get(run.key, NEVER), once)}
    disturbed = {cell for (cell, _), tried in attempts.items() if tried.status == "disturbed"}

    def is_open(cell: str) -> bool:
        if cell in waiting or last[cell] >= CAP:
            return False
        return not is_settled(values[cell]) if values.get(cell) else cell in disturbed

    repeats = {cell: last[cell] + 1 for cell in plan.more if is_open(cell)}
    order = one_round([first[c].cell for c in repeats], sweeps, plan.seed, max(repeats.values(), default=0))
    runs = (dataclasses.replace(first[c.point_id], repeat=repeats[c.point_id]) for c in order)
    return dataclasses.replace(plan, runs=tuple(runs), more=_more(plan, repeats), warm_ups=())


def _more(plan: Plan, last: Mapping[str, int]) -> dict[str, int]:
    """Return how many runs may follow the `last` repeat of each open cell."""
    return {cell: CAP - last[cell] for cell in plan.more if cell in last}


def _first_runs(plan: Plan) -> dict[str, PlannedRun]:
    return {run.cell.point_id: run for run in reversed(plan.runs)}


def _last_repeats(keys: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return point_id → the highest repeat of the cell."""
    return dict(sorted(keys, key=lambda key: key[1]))


class Progress:
    """Count the runs of a sweep over all its rounds, and estimate the remaining time.

    The estimate of a run is the plan's estimate, corrected by earlier runs of its sweep or, without them, of its tool.
    """

    def __init__(self) -> None:
        self.started = self.total = 0  # attempts, without warm-ups
        # (tool, sweep) → planned seconds of the runs to do, planned and real seconds of the runs that ended
        self._left: dict[tuple[str, str], float] = defaultdict(float)
        self._planned: dict[tuple[str, str], float] = defaultdict(float)
        self._real: dict[tuple[str, str], float] = defaultdict(float)

    def add(self, runs: Iterable[PlannedRun]) -> None:
        """Add runs to do."""
        for run in runs:
            self.total += not run.warm_up
            self._left[run.tool, run.sweep] += run.estimate_s

    def end(self, run: PlannedRun, seconds: float) -> None:
        """Subtract a run that took `seconds`, with its preparation."""
        kind = run.tool, run.sweep
        self._left[kind] -= run.estimate_s
        self._planned[kind] += run.estimate_s
        self._real[kind] += seconds

    def seconds_left(self) -> float:
        """Return the estimate for all runs that have not ended."""
        return max(0.0, sum(left * self._factor(kind) for kind, left in self._left.items()))

    def _factor(self, kind: tuple[str, str]) -> float:
        equal = [kind] if self._planned.get(kind) else [other for other in self._planned if other[0] == kind[0]]
        planned = sum(self._planned[other] for other in equal)
        return sum(self._real[other] for other in equal) / planned if planned else 1.0
