"""Checks of the machine's counters during a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from reports.checks import ANY_TOOL, Fault, Level, check
from reports.numbers import Repeats
from reports.results.grouping import group_by
from reports.results.model import UNREPEATED, Results, Run

FAMILY = ANY_TOOL

_ALLOWED: Final = "measure more repeats (`repeats: auto`) and quote the range, or measure without `--allow-disturbed` into a new file."
_STOPPED: Final = "unless it still runs, start the same `pinsweep run` again: it repeats them."


@check("D1", "warn", is_of_runs=True)
def disturbed(results: Results) -> Iterator[Fault]:
    """disturbed runs

    Counters that are read right before and after a run show that other work used its CPUs, memory or disk, or kept it waiting
    (docs/disturbance.md). Every attempt at each repeat of these cells was disturbed, or was not repeated yet. The cells are in no median, title
    or verdict. With `--allow-disturbed` the numbers are used, and the cell is flagged.

    Do: find the cause (`ps`, a cron job, a neighbour of a virtual machine); run again into a new file on a quiet machine, or with
    `--allow-disturbed`.
    """
    counted, waiting, attempts = _counted(results), set(results.unrepeated), _attempts(results)
    for run in results.disturbed:
        if run.slot[:2] not in counted:
            text = _cause(run, run in waiting)
            text += f"; it found {Repeats((replace(run, parsed=run.aside),)).headline}" if run.aside else ""
            yield _fault("warn", run, text, _STOPPED if run in waiting else "", attempts=attempts[run.slot])
    for run in (run for tool in results.tools for run in results.good(tool)):
        if run.disturbance:
            yield _fault("warn", run, f"allowed: {run.disturbance}", _ALLOWED)


@check("D2", "info", is_of_runs=True)
def repeated(results: Results) -> Iterator[Fault]:
    """disturbed runs in no number

    Other work disturbed these attempts (D1). A later attempt at the same repeat was quiet or failed, or other repeats of the cell count.

    Do: if there are many, find the cause.
    """
    counted, waiting, attempts = _counted(results), set(results.unrepeated), _attempts(results)
    repeats = {run.slot for run in results.disturbed}
    for run in results.disturbed:
        if run.slot[:2] in counted:
            yield _fault("info", run, _cause(run, run in waiting), attempts=attempts[run.slot])
    for slot, runs in attempts.items():
        for run in runs if slot not in repeats else ():
            yield _fault("info", run, f"attempt {run.record.attempt}: {run.disturbance}")


def _attempts(results: Results) -> dict[tuple[str, str, int], list[Run]]:
    """Return the disturbed attempts at each repeat."""
    return group_by((run for run in results.runs if run.record.status == "disturbed"), lambda run: run.slot)


def _cause(run: Run, waiting: bool) -> str:
    return f"{UNREPEATED if waiting else 'every attempt'}: {run.disturbance}"


def _counted(results: Results) -> set[tuple[str, str]]:
    """Return the cells that have a run that counts: file, cell."""
    return {run.slot[:2] for tool in results.tools for run in results.good(tool)}


def _fault(level: Level, run: Run, text: str, todo: str = "", *, attempts: Iterable[Run] = ()) -> Fault:
    cell = f"{run.cell.describe()}, " if run.cell.labels() else ""
    return Fault(level=level, run=run, own=True, cell=f"{cell}repeat {run.record.repeat}", text=text, todo=todo, attempts=tuple(attempts))  # fmt: skip
