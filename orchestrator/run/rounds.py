"""Run a plan, and then round after round of the cells with `repeats: auto` that have not settled. I/O.

Between the rounds the file is asked, not this call's memory: what a sweep did before it was stopped counts as well.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from functools import partial

from orchestrator.machine.topology import Topology
from orchestrator.model import Plan, Sweep
from orchestrator.run.execute import Event, Summary, Unsettled, execute
from orchestrator.run.outcome import Rules
from orchestrator.run.process import Stop
from orchestrator.run.remaining import Progress
from orchestrator.run.scratch import Scratch
from orchestrator.run.settle import Leading, next_round
from orchestrator.store.result_file import ResultFile
from parsers.errors import ParseError
from parsers.measurement import Parsed


def further(
    plan: Plan, result: ResultFile, sweeps: Mapping[str, Sweep], rules: Rules, leading: Leading
) -> Plan:
    """Return one more run of each cell that may go on and has not settled by what the file holds."""
    if not plan.more:
        return dataclasses.replace(plan, runs=(), warm_ups=())
    cells = {run.cell.point_id: run.cell for run in plan.runs if run.cell.point_id in plan.more}
    good: dict[str, list[Parsed]] = {}
    for record in result.runs():
        if record.status == "ok" and not record.warm_up and record.point_id in cells:
            with contextlib.suppress(ParseError):
                good.setdefault(record.point_id, []).append(result.parsed(record, cells[record.point_id]))
    values = {cell: leading(cells[cell], own) for cell, own in good.items()}
    return next_round(plan, result.attempts(), values, sweeps, rules)


def execute_rounds(
    plan: Plan,
    result: ResultFile,
    session: int,
    scratch: Scratch,
    stop: Stop,
    *,
    topology: Topology,
    sweeps: Mapping[str, Sweep],
    leading: Leading,
    rules: Rules,
    drop_caches: bool = False,
    on_event: Callable[[Event], None],
) -> Summary:
    """Do what `execute` does, then one more run of each unsettled cell, until all have settled or ran as often as they may."""
    scratch_of_more = frozenset(
        file.path for run in plan.runs if run.cell.point_id in plan.more for file in run.scratch
    )
    start = partial(
        execute, result=result, session=session, scratch=scratch, stop=stop, topology=topology,
        rules=rules, keep=scratch_of_more, drop_caches=drop_caches, progress=Progress(), on_event=on_event,
    )  # fmt: skip
    summary = start(plan)
    while not summary.stopped:
        later = further(plan, result, sweeps, rules, leading)
        if not later.runs:
            break
        on_event(Unsettled(cells=len(later.runs)))
        summary.add(start(later))
    return summary
