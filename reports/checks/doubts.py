"""Where a check convicts a cell, all that shows the cell's numbers says so: figures, rows of tables, sentences, exports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reports.checks import checks
from reports.checks._cells import CellKey, cell_key
from reports.checks.audit import convicted, doubts
from reports.checks.audited import audit_of
from reports.draw.figure import MARK, ROW, Figure, Table
from reports.results.grouping import group_by
from reports.results.model import Results
from reports.text import format as fmt

Guilty = Mapping[CellKey, str]
"""Cell → the checks that convict it, "F1, F7": `audit.convicted`."""

LEGEND = f"{MARK}: doubtful, by the checks named; pinsweep audit says why."
"""What stands below a text with marks."""


def of_results(results: Results) -> Guilty:
    """Return the cells that a check convicts."""
    return convicted(audit_of(results))


def mark(ids: str) -> str:
    """Return what stands behind what is doubted: " ⚠ F1, F7"; "" of nothing."""
    return f" {MARK} {ids}" if ids else ""


def of_figure(figure: Figure, guilty: Guilty) -> Figure:
    """Return the figure with what doubts it and its tables, where they show numbers of cells that are convicted; else as it is."""
    tables = (*figure.tables, *figure.numbers)
    every = [run for table in tables for row in table.of for runs in row.values() for run in runs]
    every += figure.runs
    shown = {cell_key(run) for run in every}
    found = [(key, cell) for cell in shown if cell in guilty for key in guilty[cell].split(", ")]
    if not found:
        return figure
    kinds = {check.id: check.title for check in checks()}
    said = [
        f"{kinds[key]} ({key}, {fmt.count(len(same))} of {fmt.plural(len(shown), 'cell')})"
        for key, same in sorted(group_by(found, lambda pair: pair[0]).items())
    ]
    return replace(
        figure,
        doubt="; ".join(said),
        tables=tuple(of_table(table, guilty) for table in figure.tables),
        numbers=tuple(of_table(table, guilty) for table in figure.numbers),
    )


def of_table(table: Table, guilty: Guilty) -> Table:
    """Return the table with what doubts its rows."""
    found = tuple(
        {
            at: ids
            for at, runs in own.items()
            if (at == ROW or row[at] != fmt.NOTHING) and (ids := doubts(guilty, runs))
        }
        for row, own in zip(table.rows, table.of, strict=False)
    )
    return replace(table, doubts=found) if any(found) else table
