"""Describe a result file for programs: cells with numbers, and runs with states. `show` and `run` print this JSON.

Every number is in the base unit next to the number. `point_id` identifies a cell in every answer, file and machine.
`cell` is the cell's name for people, and `labels` are the axes.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.model import Cell, Plan, RunRecord
from orchestrator.plan.plan import aliases_as_json, skipped_as_json
from reports.checks import audit
from reports.checks.audit import Finding
from reports.numbers import Name, Number, Repeats, each_number
from reports.results import naming
from reports.results.convicted import Guilty, checks_of
from reports.results.grouping import group_by
from reports.results.model import Results, Run

if TYPE_CHECKING:
    from orchestrator.run.events import Summary


def of_result(results: Results, findings: Sequence[Finding]) -> dict[str, Any]:
    """Return a result file. `findings` are the results of its audit."""
    guilty = audit.convicted(findings)
    runs = (run for tool in results.tools for run in results.good(tool))
    cells = group_by(runs, lambda run: (run.file, run.record.point_id, naming.program_kind(run)))
    return {
        "files": {name: str(path) for name, path in results.paths.items()},
        "title": ", ".join(dict.fromkeys(e.title for e in results.experiments)) or None,
        "sessions": [
            {
                "file": m.file, "session": m.session.session, "host": m.host, "started_utc": m.session.started_utc,
                "pinsweep": m.session.pinsweep_version, "seed": m.session.seed, "facts": dict(m.session.facts),
            }
            for m in results.machines
        ],
        "cells": [_cell(repeats, guilty) for repeats in cells.values()],
        "runs": [of_run(run) for run in results.started],
        "without_numbers": {
            "failed": [run.record.run_id for run in results.failed],
            "disturbed": [run.record.run_id for run in results.disturbed],
            "missing": [{**cell_fields(cell), "repeats": number} for _, cell, number in results.missing],
        },
        "skipped": [{"sweep": s.sweep, "labels": dict(s.cell), "reason": s.reason} for _, s in results.skipped],
        "aliases": [
            {"sweep": a.sweep, "labels": dict(a.cell), "of": dict(a.of), "reason": a.reason} for _, a in results.aliases
        ],
    }  # fmt: skip


def disturbances_of(record: RunRecord) -> list[dict[str, Any]]:
    """Return the disturbances of a run, also if disturbances are allowed and the status is ok."""
    return [{"id": reason["id"], "text": reason["text"]} for reason in record.counters.get("reasons", ())]


def counted(record: RunRecord) -> dict[str, float]:
    """Return the machine's counters during a run."""
    return {name: value for name, value in record.counters.items() if isinstance(value, int | float)}


def of_run(run: Run) -> dict[str, Any]:
    """Return the state of a run."""
    record = run.record
    return {
        "run": record.run_id, "file": run.file, "host": run.host, "session": run.session.session, **cell_fields(run.cell),
        "repeat": record.repeat, "attempt": record.attempt, "warm_up": record.warm_up, "status": run.state,
        "reason": record.reason or run.unreadable or None,
        "disturbances": disturbances_of(record), "too_short_to_judge": run.is_too_short, "counted": counted(record),
        "cpus": list(record.placement.cpus) if record.placement else [],
        "program": run.program_started, "started_utc": None if run.captured else record.started_utc, "wall_s": None if run.captured else record.wall_s,
        "exit_code": record.exit_code, "signal": record.signal,
    }  # fmt: skip


def of_run_in_detail(run: Run, findings: Sequence[Finding]) -> dict[str, Any]:
    """Return a run with the command, the place and the numbers."""
    record = run.record
    return {
        **of_run(run), "program_version": run.version or None, "stand_in": run.stand_in, "argv": list(record.argv),
        "env": dict(record.env), "placement": asdict(record.placement) if record.placement else None, "seen": record.seen,
        "flags": _flags([run]), "numbers": _numbers([run], audit.convicted(findings)),
    }  # fmt: skip


def of_sweep(
    file: Path | None,
    plan: Plan,
    summary: Summary,
    exit_status: int,
    results: Results | None,
    findings: Sequence[Finding],
) -> dict[str, Any]:
    """Return the outcome of one `pinsweep run`.

    `file` is None if no cell could run and no file existed before. `results` is the present content of the file.
    """
    return {
        "result_file": None if file is None else str(file), "exit_status": exit_status, "stopped": summary.stopped, "seed": plan.seed,
        "counts": dict(summary.counts), "repeated": summary.repeated, "not_repeated": len(summary.unrepeated),
        "done_before": summary.done_before, "disturbed_before": summary.disturbed_before,
        "failed_before": summary.failed_before,
        "failed": [of_run(run) for run in results.failed] if results else [],
        "disturbed": [of_run(run) for run in results.disturbed] if results else [],
        "skipped": skipped_as_json(plan), "aliases": aliases_as_json(plan), "warnings": list(plan.warnings),
        "findings": [finding.as_json() for finding in findings],
    }  # fmt: skip


def cell_fields(cell: Cell) -> dict[str, Any]:
    """Return the fields that identify a cell in every answer."""
    return {
        "sweep": cell.sweep, "tool": cell.tool, "cell": cell.describe(), "labels": cell.labels(), "point_id": cell.point_id,
    }  # fmt: skip


def _cell(runs: Sequence[Run], guilty: Guilty) -> dict[str, Any]:
    """Return a cell with the numbers of its repeats by one program."""
    run = runs[0]
    return {
        **cell_fields(run.cell), "file": run.file, "host": run.host, "place": run.place or None, "relation": run.relation or None,
        "program": run.program_started, "program_version": run.version or None, "stand_in": run.stand_in,
        "runs": [repeat.record.run_id for repeat in runs], "disturbed": run.record.status == "disturbed",
        "doubtful": checks_of(audit.doubts(guilty, runs)), "flags": _flags(runs),
        "headline": Repeats(tuple(runs)).headline,
        "leading": _leading(runs), "numbers": _numbers(runs, guilty),
    }  # fmt: skip


def _leading(runs: Sequence[Run]) -> dict[str, Any] | None:
    """Return the main number of a cell, None without a number."""
    cell = Repeats(tuple(runs))
    if cell.lead is None:
        return None
    name = {"what": cell.leader.words, "number": cell.lead.words, "better": cell.leader.better}
    return {**name, "unit": cell.lead.unit, **_range(cell.columns[cell.lead].values)}


def _numbers(runs: Sequence[Run], guilty: Guilty) -> list[dict[str, Any]]:
    every = ((run.record.run_id, number) for run in runs for number in each_number(run))
    groups = group_by(every, lambda pair: pair[1].name)
    return [_number(name, group, audit.doubts(guilty, runs, name.tells_of)) for name, group in groups.items()]


def _number(name: Name, group: Sequence[tuple[int, Number]], flags: str) -> dict[str, Any]:
    values = [number.value for _, number in group]
    return {
        "number": name.words, **name.fields(), **_range(values), "runs": [run for run, _ in group], "values": values,
        "doubtful": checks_of(flags),
    }  # fmt: skip


def _range(values: Sequence[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def _flags(runs: Iterable[Run]) -> list[dict[str, str]]:
    flags = ((flag.id, flag.text) for run in runs if run.parsed for flag in run.parsed.flags)
    return [{"id": key, "text": text} for key, text in dict.fromkeys(flags)]
