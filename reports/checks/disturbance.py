"""Checks of what the machine's own counters say of the time of a run, whatever the tool."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from reports.checks import ANY_TOOL, Fault, Level, check
from reports.numbers import headline
from reports.results.grouping import group_by
from reports.results.model import UNREPEATED, Results, Run

FAMILY = ANY_TOOL


_ALLOWED = (
    "without `--allow-disturbed`, into a new file, such runs are repeated; on a machine that stays shared, measure more repeats "
    "(`repeats: auto`), and quote the range."
)


_STOPPED = "unless it still runs, start the same `pinsweep run` again: it goes on, and repeats them."


@check("D1", "warn", needs=("counters", "place", "length"), is_of_runs=True)
def disturbed(results: Results) -> Iterator[Fault]:
    """runs that something else disturbed

    By the counters that are read right before and right after a run, others used its CPUs, its memory or its disk, or
    it was kept waiting: docs/disturbance.md has the rules. Every attempt at each repeat of these cells was disturbed, or it was
    not repeated yet. They are in no median, no chart's title and no verdict; what the last attempt found is told with a mark. Where
    disturbed runs were allowed (`--allow-disturbed`), their numbers are used all the same, and every cell with such a run has the mark.

    Do: find out who that is (`ps`, a cron job, a neighbour in a virtual machine) and run the same command again, into a new file, on a
    quiet machine or with `--allow-disturbed`.
    """
    counted, unrepeated, attempts = _counted(results), set(results.unrepeated), _attempts(results)
    for run in results.disturbed:
        if run.slot[:2] not in counted:
            found = f"; it found {headline(run.tool, run.aside)}" if run.aside else ""
            todo = _STOPPED if run in unrepeated else ""
            yield _fault(
                "warn", run, f"{_said(run, run in unrepeated)}{found}", todo, attempts=attempts[run.slot]
            )
    for tool in results.tools:
        for run in results.good(tool):
            if run.disturbance:
                text = f"allowed, and its numbers are used: {run.disturbance}"
                yield _fault("warn", run, text, _ALLOWED)


@check("D2", "info", is_of_runs=True)
def repeated(results: Results) -> Iterator[Fault]:
    """disturbed runs that are in no number

    Something else disturbed these attempts (D1). A later attempt at the same repeat was quiet, or other repeats of the cell were, or were
    allowed to be disturbed: its number is made of these. Or the last attempt at the repeat failed.

    Do: where there are many, find out who disturbs (D1 says how).
    """
    counted, unrepeated, attempts = _counted(results), set(results.unrepeated), _attempts(results)
    allowed = {run.slot[:2] for tool in results.tools for run in results.good(tool) if run.disturbance}
    for run in results.disturbed:
        if run.slot[:2] in counted:
            which = "other" if run.slot[:2] in allowed else "quiet"
            text = f"{_said(run, run in unrepeated)}; the {which} repeats of its cell are used"
            if which == "other" and run not in unrepeated:
                text += ", disturbed as well, which `--allow-disturbed` let count: two rules chose the runs of this cell"
            yield _fault("info", run, text, attempts=attempts[run.slot])
    good = {run.slot for tool in results.tools for run in results.good(tool)}
    told = {run.slot for run in results.disturbed}
    for run in itertools.chain.from_iterable(attempts.values()):
        if run.slot not in told:
            then = "" if run.slot in good else ", then without a number"
            yield _fault(
                "info", run, f"attempt {run.record.attempt} disturbed and repeated{then}: {run.disturbance}"
            )


def _attempts(results: Results) -> dict[tuple[str, str, int], list[Run]]:
    """Return the disturbed attempts at each repeat."""
    return group_by((run for run in results.runs if run.record.status == "disturbed"), lambda run: run.slot)


def _said(run: Run, unrepeated: bool) -> str:
    if unrepeated:
        return f"{UNREPEATED}: {run.disturbance}"
    return f"every attempt was disturbed: in the last one {run.disturbance}"


def _counted(results: Results) -> set[tuple[str, str]]:
    """Return the cells that have a run that counts: file, cell."""
    return {run.slot[:2] for tool in results.tools for run in results.good(tool)}


def _fault(level: Level, run: Run, text: str, todo: str = "", *, attempts: Iterable[Run] = ()) -> Fault:
    named = f"{run.cell.describe()}, " if run.cell.labels() else ""  # the one cell of a sweep has no name
    cell = f"{named}repeat {run.record.repeat}"
    return Fault(level=level, run=run, own=True, cell=cell, text=text, todo=todo, attempts=tuple(attempts))
