"""Checks of what the machine's own counters say of the time of a run, whatever the tool."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks import ANY_TOOL, Fault, check
from reports.numbers import headline
from reports.results.model import Results, Run

FAMILY = ANY_TOOL


@check("D1", "warn", needs="counters")
def disturbed(results: Results) -> Iterator[Fault]:
    """runs that something else disturbed

    By the counters that are read right before and right after a run, others used its CPUs, its memory or its disk, or
    it was kept waiting: docs/disturbance.md has the rules. Every attempt of these repeats was disturbed. They are in no
    median, no chart's title and no verdict; of a cell that has no quiet run, what the last attempt found is told with a mark. Where
    disturbed runs were allowed (`--allow-disturbed`), their numbers are used all the same.

    Do: find out who that is (`ps`, a cron job, a neighbour in a virtual machine) and run the same command again on a quiet machine, into
    a new file.
    """
    quiet = {(run.file, run.record.point_id) for tool in results.tools for run in results.good(tool)}
    for run in results.disturbed:
        alone = (run.file, run.record.point_id) not in quiet
        found = f"; it found {headline(run.tool, run.aside)}" if alone and run.aside else ""
        yield _fault(run, f"every attempt was disturbed; the last one: {run.disturbance}{found}")
    for tool in results.tools:
        for run in results.good(tool):
            if run.disturbance:
                yield _fault(run, f"allowed, and its numbers are used: {run.disturbance}")


@check("D2", "info")
def repeated(results: Results) -> Iterator[Fault]:
    """disturbed runs that were repeated

    Something else disturbed these attempts (D1), and a later attempt at the same repeat was quiet: its numbers are used, theirs are not.

    Do: where there are many, find out who disturbs (D1 says how).
    """
    good = {run.slot for tool in results.tools for run in results.good(tool)}
    for run in results.runs:
        if run.record.status == "disturbed" and run.slot in good:
            yield _fault(
                run, f"attempt {run.record.attempt} disturbed and repeated: {run.disturbance}", "info"
            )


def _fault(run: Run, text: str, level: str = "warn") -> Fault:
    cell = f"{run.cell.describe()}, repeat {run.record.repeat}"
    return Fault(level="info" if level == "info" else "warn", run=run, cell=cell, text=text)
