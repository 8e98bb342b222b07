"""Every check over some results: findings for a page, a terminal, a program. Pure; the checks are in `reports.checks`."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports import format as fmt
from reports.checks import LEVELS, Check, Fault, Level, checks
from reports.checks._cells import cell_key
from reports.frames import Results
from reports.grouping import group_by

WIDTH = 80
_MOST = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one check found in one sweep of one file."""

    id: str
    level: Level
    title: str  # what is wrong, in a few words
    sweep: str
    where: str  # host, and file where there are several
    cells: tuple[tuple[str, str], ...]  # (cell, the arithmetic with its numbers)
    todo: str

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id, "level": self.level, "title": self.title, "sweep": self.sweep, "where": self.where,
            "cells": [{"cell": cell, "arithmetic": text} for cell, text in self.cells], "todo": self.todo,
        }  # fmt: skip


def audit(results: Results) -> tuple[Finding, ...]:
    """Return what all checks find, the gravest first. Of the claims in the text around captured tables
    (G4) those are seen that `frames.load` keeps: the first and last CAPTURED ÷ 2 characters."""
    repeats = Counter(cell_key(run) for tool in results.tools for run in results.good(tool))
    found = [
        finding for check in checks() for finding in _findings(check, list(check.find(results)), repeats)
    ]
    return tuple(sorted(found, key=lambda f: LEVELS.index(f.level)))


def _findings(
    check: Check, faults: Sequence[Fault], repeats: Mapping[tuple[object, ...], int]
) -> Iterable[Finding]:
    alike = group_by(faults, lambda f: (f.level, f.run.file, f.run.where, f.run.point.sweep))
    for (level, _, where, sweep), members in alike.items():
        yield Finding(
            id=check.id, level=level, title=check.title, sweep=sweep, where=where,
            cells=tuple(_cells(members, repeats)), todo=check.todo,
        )  # fmt: skip


def _cells(faults: Sequence[Fault], repeats: Mapping[tuple[object, ...], int]) -> Iterable[tuple[str, str]]:
    """Return a line per cell: repeats that show the same fault are one, with how many of them do."""
    by_cell = group_by(faults, lambda f: (*cell_key(f.run), f.cell, f.text if f.cell else ""))
    for members in by_cell.values():
        runs = {fault.run.record.run_id for fault in members}
        cell = members[0].cell or members[0].run.point.describe()
        of = repeats[cell_key(members[0].run)]
        texts = list(
            dict.fromkeys(
                fault.text for fault in members if fault.run.record.run_id == members[0].run.record.run_id
            )
        )
        several = f" ({len(runs)} of {of} repeats)" if of > 1 and len(runs) > 1 else ""
        for text in texts:
            yield cell, text + several


def worst(findings: Iterable[Finding]) -> Level | None:
    """Return the gravest level among the findings; None without any."""
    return min((f.level for f in findings), key=LEVELS.index, default=None)


def down_to(findings: Sequence[Finding], level: str) -> tuple[Finding, ...]:
    """Return the findings of a level and of the graver ones."""
    kept = LEVELS[: [*LEVELS].index(level) + 1]  # type: ignore[arg-type]
    return tuple(f for f in findings if f.level in kept)


def as_text(findings: Sequence[Finding], *, most_cells: int = _MOST) -> str:
    """Return the findings for a terminal of 80 columns; "" if there is none."""
    blocks = []
    for finding in findings:
        lines = textwrap.wrap(f"{finding.level:5} {finding.id}  {finding.title}  [{finding.sweep}, {finding.where}]", WIDTH, subsequent_indent="      ")  # fmt: skip
        for cell, text in finding.cells[:most_cells]:
            lines += textwrap.wrap(
                f"{cell}: {text}", WIDTH, initial_indent="      ", subsequent_indent="        "
            )
        if len(finding.cells) > most_cells:
            lines.append(f"      and {len(finding.cells) - most_cells} more")
        lines += textwrap.wrap(
            f"→ {finding.todo}", WIDTH, initial_indent="      ", subsequent_indent="        "
        )
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def summary_line(findings: Sequence[Finding]) -> str:
    """Return "2 errors, 1 warning, 3 notes"; "nothing found" without any."""
    words = {"error": "error", "warn": "warning", "info": "note"}
    counts = {level: sum(f.level == level for f in findings) for level in LEVELS}
    return ", ".join(fmt.plural(n, words[level]) for level, n in counts.items() if n) or "nothing found"


def as_json(findings: Sequence[Finding]) -> str:
    """Return {"findings": [{id, level, title, sweep, where, cells: [{cell, arithmetic}], todo}]}."""
    return json.dumps({"findings": [f.as_json() for f in findings]}, ensure_ascii=False, indent=1) + "\n"


def brief(findings: Sequence[Finding], most: int = 5) -> list[str]:
    """Return one line a finding, errors and warnings only: what the end of a run says."""
    grave = [f for f in findings if f.level != "info"]
    lines = [
        textwrap.shorten(
            f"{f.level:5} {f.id}  {f.title}: {f.cells[0][0]}: {f.cells[0][1]}" + (f", and {len(f.cells) - 1} more" if len(f.cells) > 1 else ""),
            2 * WIDTH, placeholder=" …",
        )
        for f in grave[:most]
    ]  # fmt: skip
    return lines + ([f"and {len(grave) - most} more"] if len(grave) > most else [])
