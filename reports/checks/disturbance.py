"""Checks of the machine's counters during a run."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks import ANY_TOOL, Fault, Level, check
from reports.results.model import Results, Run

FAMILY = ANY_TOOL


@check("D1", "warn", is_of_runs=True)
def disturbed(results: Results) -> Iterator[Fault]:
    """disturbed runs

    pinsweep reads counters right before and after a run. They show that other work used the CPUs, memory or disk of the
    run, or delayed the run (docs/disturbance.md). These cells have no quiet run. The least disturbed runs represent a
    cell. With `--include quiet`, the cell has no number. One session of disturbed runs gives no verdict.

    Do: quote the numbers with their range. For quiet numbers find the cause (`ps`, a cron job, a neighbour of a virtual
    machine), then start the same `pinsweep run` again, or measure again.
    """
    good = _good(results)
    counted = {run.slot[:2] for run in good}
    for run in (*good, *(run for run in results.disturbed if run.slot[:2] not in counted)):
        if run.is_disturbed:
            yield _fault("warn", run)


@check("D2", "info", is_of_runs=True)
def left_out(results: Results) -> Iterator[Fault]:
    """disturbed runs left out

    Other work disturbed these runs (D1). The cells have quieter runs, which count.

    Do: if there are many, find the cause.
    """
    good = _good(results)
    counted = {run.slot[:2] for run in good}
    for run in results.runs:
        if run.is_disturbed and run not in good and run.slot[:2] in counted:
            yield _fault("info", run)


def _good(results: Results) -> dict[Run, None]:
    return dict.fromkeys(run for tool in results.tools for run in results.good(tool))


def _fault(level: Level, run: Run) -> Fault:
    cell = f"{run.cell.describe()}, " if run.cell.labels() else ""
    attempt = f", attempt {run.record.attempt}" if run.record.attempt > 1 else ""
    return Fault(
        level=level,
        run=run,
        own=True,
        cell=f"{cell}repeat {run.record.repeat}{attempt}",
        text=run.disturbance,
    )
