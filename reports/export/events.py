"""Define the events of a sweep for programs. `pinsweep schema run-events` describes the objects."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.machine.noise import Finding
from orchestrator.model import Plan
from orchestrator.plan.duration import duration
from orchestrator.plan.plan import aliases_as_json, skipped_as_json
from reports.export.record import cell_fields, counted, disturbances_of
from reports.numbers import fresh

if TYPE_CHECKING:
    from orchestrator.run.events import Event, Summary


def event(name: str, **members: Any) -> dict[str, Any]:  # noqa: ANN401 (anything JSON holds)
    """Return an event with the present time."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    return {"event": name, "time_utc": now, **members}


def planned(file: Path, plan: Plan, noise: Sequence[Finding]) -> dict[str, Any]:
    """Return the event before the first run."""
    takes = duration(plan)
    return event(
        "planned", result_file=str(file), seed=plan.seed, cells=len(plan.cells), runs=len(plan.runs), warm_ups=len(plan.warm_ups),
        estimate_s=round(takes.least_s, 1), at_most_s=round(takes.most_s, 1), skipped=skipped_as_json(plan), aliases=aliases_as_json(plan),
        noise=[asdict(finding) | {"fix": finding.fix or None} for finding in noise],
    )  # fmt: skip


def of_sweep(happened: Event) -> Iterator[dict[str, Any]]:
    """Yield the events of a sweep that waits, and of a run that starts or has ended."""
    from orchestrator.run.events import Ended, Started, Unsettled, Waiting

    if isinstance(happened, Waiting):
        sweep = asdict(happened.holder) if happened.holder else None
        yield event("waiting", sweep=sweep, scratch=str(happened.scratch) if happened.scratch else None)
    if isinstance(happened, Unsettled):
        yield event("unsettled", cells=happened.cells)
    if not isinstance(happened, Started | Ended):
        return
    run = happened.run
    cell = {**cell_fields(run.cell), "repeat": run.repeat}
    position = {"number": happened.number, "total": happened.total, **cell, "warm_up": run.warm_up}
    if isinstance(happened, Started):
        yield event("started", **position, argv=list(run.argv), estimate_s=run.estimate_s, left_s=happened.left_s)
    else:
        record, parsed = happened.record, happened.parsed
        result = fresh(run.cell, [parsed]) if parsed else None
        yield event(
            "ended", **position, run=record.run_id, status=record.status, reason=record.reason or None, wall_s=record.wall_s,
            headline=result.headline if result else None,
            leading={"unit": result.lead.unit, "value": result.values[0]} if result and result.lead else None, will_be_repeated=happened.repeated,
        )  # fmt: skip
        if disturbances := disturbances_of(record):
            yield event("disturbed", **cell, run=record.run_id, disturbances=disturbances, counted=counted(record))


def done(file: Path | None, summary: Summary | None, exit_status: int) -> dict[str, Any]:
    """Return the event at the end of a sweep. `summary` is None if the sweep was stopped before its first run."""
    return event(
        "done", result_file=str(file) if file else None, exit_status=exit_status, stopped=summary.stopped if summary else True,
        counts=dict(summary.counts) if summary else {}, done_before=summary.done_before if summary else 0,
        failed_before=summary.failed_before if summary else 0,
    )  # fmt: skip
