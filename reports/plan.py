"""The answer of `pinsweep plan`: how many runs, how long they take, and a row per sweep. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from orchestrator.machine.cpulist import format_cpulist
from orchestrator.plan.duration import duration
from orchestrator.tools import Program
from parsers.units import size_text
from reports.document import Column, Document, Table, Text, Value
from reports.text import format as fmt

if TYPE_CHECKING:
    from orchestrator.model import Plan
    from orchestrator.plan.plan import Machine

_COLUMNS = ("sweep", "cells", "runs", "time", "CPUs", "memory node", "note")


def document(plan: Plan, machine: Machine, done: int) -> Document:
    """Return the plan as a document. done: runs that the result file has."""
    rows = list(_rows(plan, machine))
    head = Text(_head(plan, done))
    if not rows:
        return Document(title="", blocks=(head,))
    shown = len(_COLUMNS) - (not any(row[-1] for row in rows))
    columns = tuple(Column(name=name) for name in _COLUMNS[:shown])
    table = Table(columns=columns, rows=tuple(row[:shown] for row in rows), most=len(rows))
    return Document(title="", blocks=(head, table, Text("--commands prints every command line")))


def _head(plan: Plan, done: int) -> str:
    takes = duration(plan)
    total, further = len(plan.cells) + len(plan.left_out), sum(plan.more.values())
    cells = f"{len(plan.cells)} of {fmt.plural(total, 'cell')}" if plan.left_out else fmt.plural(total, "cell")
    runs = fmt.plural(len(plan.runs) + further, "run")
    runs = f"{len(plan.runs)} to {runs}" if further else runs
    warm_ups = f" + {fmt.plural(len(plan.warm_ups), 'warm-up')}" if plan.warm_ups else ""
    time = fmt.ends(fmt.duration(takes.least_s), fmt.duration(takes.most_s))
    before = f"; {fmt.plural(done, 'run')} done before" if done else ""
    return f"{cells}, {runs}{warm_ups}, about {time} (batch limit: sbatch -t {takes.slurm}){before}"


def _rows(plan: Plan, machine: Machine) -> Iterator[tuple[Value, ...]]:
    for sweep in dict.fromkeys(cell.sweep for cell in plan.cells) if plan.runs else ():
        runs = [run for run in plan.runs if run.sweep == sweep]
        cells = {run.cell.point_id: run for run in runs}
        groups = [group for run in cells.values() if run.placement for group in run.placement.groups]
        program = machine.programs[runs[0].tool]
        files = {write.path: write.size_bytes for run in runs for write in run.writes if write.kind == "scratch"}
        notes = ["built-in kernel"] if isinstance(program, Program) and program.stand_in else []
        notes += [f"scratch {size_text(sum(files.values()))}"] if files else []
        seconds = sum(run.estimate_s for run in runs)
        most = seconds + sum(run.estimate_s * plan.more.get(cell, 0) for cell, run in cells.items())
        more = sum(plan.more.get(cell, 0) for cell in cells)
        yield (
            sweep,
            len(cells),
            fmt.ends(str(len(runs)), str(len(runs) + more)),
            fmt.ends(fmt.duration(seconds), fmt.duration(most)),
            format_cpulist({cpu for group in groups for cpu in group.cpus}) or "any",
            format_cpulist({node for group in groups for node in (*group.membind, *group.interleave)}) or "any",
            ", ".join(notes),
        )
