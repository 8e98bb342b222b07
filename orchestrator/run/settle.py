"""`repeats: auto`: which cells get a further run. Pure.

The file decides, not the call: a sweep that was stopped goes on where it was, and a cell that settled stays as it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from orchestrator.experiment.repeats import CAP, is_settled, one_round
from orchestrator.model import Plan, PlannedRun, Sweep
from orchestrator.run.outcome import NEVER, Attempts, Rules, is_pending

if TYPE_CHECKING:
    from orchestrator.model import Cell
    from parsers.measurement import Parsed

Leading: TypeAlias = "Callable[[Cell, Sequence[Parsed]], Sequence[float]]"
"""(cell, what its runs say) → the number that stands for each of them."""


def with_begun(plan: Plan, attempts: Attempts) -> Plan:
    """Return the plan with the further runs that a file holds attempts of, after its own."""
    if not plan.more:
        return plan
    last = _last_repeats(attempts)
    planned = _last_repeats(run.key for run in plan.runs)
    firsts = _first_runs(plan)
    begun = [
        dataclasses.replace(firsts[cell], repeat=repeat)
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
    """Return the plan of one more run of each cell that has not settled, and none of one that was not to the end of what is planned.

    values: point_id → the number that stands for each good run. A cell without any is left, since more of the same tells nothing,
    unless something disturbed it: then a later run may find a quiet moment.
    """
    firsts, last = _first_runs(plan), _last_repeats(attempts)
    once = dataclasses.replace(rules, retry_failed=False)  # what failed again is no reason to wait
    waiting = {run.cell.point_id for run in plan.runs if is_pending(attempts.get(run.key, NEVER), once)}
    disturbed = {cell for (cell, _), tried in attempts.items() if tried.status == "disturbed"}
    open_ = [
        key
        for key in plan.more
        if key not in waiting
        and last[key] < CAP
        and (not is_settled(values[key]) if values.get(key) else key in disturbed)
    ]
    order = one_round(
        [firsts[key].cell for key in open_],
        sweeps,
        plan.seed,
        max((last[key] + 1 for key in open_), default=0),
    )
    runs = [dataclasses.replace(firsts[cell.point_id], repeat=last[cell.point_id] + 1) for cell in order]
    ran = {key: last[key] + 1 for key in open_}
    return dataclasses.replace(plan, runs=tuple(runs), more=_more(plan, ran), warm_ups=())


def _more(plan: Plan, last: Mapping[str, int]) -> dict[str, int]:
    """Return for the cells of the plan that may go on how many runs may follow their `last` repeat."""
    return {cell: CAP - last[cell] for cell in plan.more if cell in last}


def _first_runs(plan: Plan) -> dict[str, PlannedRun]:
    return {run.cell.point_id: run for run in reversed(plan.runs)}


def _last_repeats(keys: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return point_id → its highest repeat."""
    found: dict[str, int] = {}
    for cell, repeat in keys:
        found[cell] = max(repeat, found.get(cell, 0))
    return found


def unknown(cell: Cell, _: Sequence[Parsed]) -> Sequence[float]:
    """The `Leading` of callers whose sweeps have a number of repeats."""
    raise ValueError(f"nobody says by which number of {cell.tool} a cell settles")
