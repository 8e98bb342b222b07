"""Runs and cells without a number: failed, disturbed, not started or skipped. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from reports.document import Column, Table, Value
from reports.results.grouping import group_by
from reports.results.model import Results, Run

_OF_ONE_RUN: Final = re.compile(r"\b0x[0-9a-f]+\b|\b(?=\w*\d)[0-9a-f]{6,}\b|\d{4,}", re.IGNORECASE)
"""Addresses, ids and times, which differ between the reasons of similar runs."""


def missing(results: Results) -> Table:
    """Return one row per sweep, kind and reason, with the number of runs or cells, the first one and the cause."""
    waiting = set(results.unrepeated)
    measured = {run.slot[:2] for tool in results.tools for run in results.good(tool)}
    disturbed = (run for run in results.disturbed if run.slot[:2] not in measured)
    bad = [
        *((run.state, run) for run in results.failed),
        *(("not repeated yet" if run in waiting else "disturbed", run) for run in disturbed),
    ]
    rows: list[tuple[Value, ...]] = [
        (state, sweep, len(runs), _run(runs[0][1], results), why(runs[0][1]))
        for (state, sweep, _), runs in group_by(
            bad, lambda item: (item[0], item[1].cell.sweep, _OF_ONE_RUN.sub("…", why(item[1])))
        ).items()
    ]
    rows += [
        ("not started", sweep, len(cells), cells[0][1].describe(), "")
        for sweep, cells in group_by(results.not_started, lambda item: item[1].sweep).items()
    ]
    rows += [
        ("skipped", sweep, len(cells), _axes(cells[0].cell), reason.partition(";")[0])
        for (sweep, reason), cells in group_by((cell for _, cell in results.skipped), lambda cell: (cell.sweep, cell.reason)).items()
    ]  # fmt: skip
    columns = ("what", "sweep", "n", "first", "why")
    return Table(id="missing", title="Not measured", columns=tuple(Column(name=name) for name in columns), rows=tuple(rows), most=10)  # fmt: skip


def why(run: Run) -> str:
    """Return the reason for a missing number."""
    return run.record.reason or run.unreadable or run.disturbance


def _run(run: Run, results: Results) -> str:
    file = f"{run.file} " if len({machine.file for machine in results.machines}) > 1 else ""
    return f"{run.cell.describe()} ({file}run {run.record.run_id})"


def _axes(cell: Mapping[str, Any]) -> str:
    return " ".join(f"{axis}={value}" for axis, value in cell.items())
