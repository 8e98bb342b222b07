"""What happens in a sweep, for programs: one object an event, as `pinsweep schema run-events` describes them. Pure, but for the time."""

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
from reports.export.record import counted, disturbances_of, named
from reports.numbers import fresh

if TYPE_CHECKING:
    from orchestrator.run.exclusive import Holder
    from orchestrator.run.execute import Ended, Event, Started, Summary


def event(name: str, **members: Any) -> dict[str, Any]:  # noqa: ANN401 (anything JSON holds)
    """Return an event that happens now."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    return {"event": name, "time_utc": now, **members}


def planned(file: Path, plan: Plan, noise: Sequence[Finding]) -> dict[str, Any]:
    """Return what will be done, before the first run."""
    takes = duration(plan)
    return event(
        "planned", result_file=str(file), seed=plan.seed, cells=len(plan.cells), runs=len(plan.runs), warm_ups=len(plan.warm_ups),
        estimate_s=round(takes.least_s, 1), at_most_s=round(takes.most_s, 1), skipped=skipped_as_json(plan), aliases=aliases_as_json(plan),
        noise=[{"level": f.level, "what": f.what, "why": f.why, "fix": f.fix or None} for f in noise],
    )  # fmt: skip


def waiting(holder: Holder | Path | None) -> dict[str, Any]:
    """Return who is waited for."""
    return event(
        "waiting",
        sweep=None if holder is None or isinstance(holder, Path) else asdict(holder),
        scratch=str(holder) if isinstance(holder, Path) else None,
    )


def of_sweep(happened: Event) -> Iterator[dict[str, Any]]:
    """Give what is told of a run that starts or has ended."""
    from orchestrator.run.execute import Ended, Started

    if isinstance(happened, Started):
        yield _started(happened)
    elif isinstance(happened, Ended):
        yield _ended(happened)
        if disturbances := disturbances_of(happened.record):
            yield _disturbed(happened, disturbances)
    else:
        yield event("unsettled", cells=happened.cells)


def done(file: Path | None, summary: Summary | None, exit_status: int) -> dict[str, Any]:
    """Return the end of a sweep; `summary` None: it was stopped before its first run."""
    return event(
        "done", result_file=str(file) if file else None, exit_status=exit_status, stopped=summary.stopped if summary else True,
        counts=dict(summary.counts) if summary else {}, done_before=summary.done_before if summary else 0,
        failed_before=summary.failed_before if summary else 0,
    )  # fmt: skip


def _started(happened: Started) -> dict[str, Any]:
    run = happened.run
    return event(
        "started", number=happened.number, total=happened.total, **named(run.cell), repeat=run.repeat, warm_up=run.warm_up,
        argv=list(run.argv), estimate_s=run.estimate_s, left_s=happened.left_s,
    )  # fmt: skip


def _ended(happened: Ended) -> dict[str, Any]:
    run, record, parsed = happened.run, happened.record, happened.parsed
    cell = fresh(run.cell, [parsed]) if parsed else None
    return event(
        "ended", number=happened.number, total=happened.total, **named(run.cell), repeat=run.repeat, warm_up=run.warm_up, run=record.run_id,
        status=record.status, reason=record.reason or None, wall_s=record.wall_s,
        headline=cell.headline if cell else None,
        leading={"unit": cell.lead.unit, "value": cell.values[0]} if cell and cell.lead else None, will_be_repeated=happened.repeated,
    )  # fmt: skip


def _disturbed(happened: Ended, disturbances: list[dict[str, Any]]) -> dict[str, Any]:
    run, record = happened.run, happened.record
    return event(
        "disturbed", **named(run.cell), repeat=run.repeat, run=record.run_id, disturbances=disturbances, counted=counted(record)
    )  # fmt: skip
