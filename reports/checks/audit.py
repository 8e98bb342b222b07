"""The audit of some results: findings of all checks, and the printed summary. Pure. The checks are in
`reports.checks`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from orchestrator.model import ONE_CELL
from parsers.measurement import Scalar
from reports.checks import LEVELS, Check, Fault, Level, checks
from reports.checks._cells import cell_key as cell_key
from reports.document import Block, Column, Document, Fold, Table, Text
from reports.results.convicted import CellKey, Guilty, by_metric, checks_of, doubting
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.text import format as fmt
from reports.text.json_text import json_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The finding of one check in one sweep of one file."""

    id: str
    level: Level
    check: str  # what kind of fault, as a noun
    sweep: str
    where: str  # the host, and file if there are several
    host: str = ""
    cells: tuple[tuple[str, str], ...]  # (cell, the values that show it)
    axes: tuple[tuple[str, str, tuple[tuple[str, Scalar], ...]], ...] = ()  # file, point_id, labels per cell
    todo: str
    doubts: frozenset[tuple[object, ...]]  # flagged: file, point_id, metric ("": all numbers of the cell)
    own: frozenset[tuple[str, int]] = frozenset()  # flagged runs: file, number
    is_of_runs: bool = False  # as `Check.is_of_runs`

    @property
    def about(self) -> frozenset[CellKey]:
        """The cells, by `cell_key`."""
        return frozenset(cell[:-1] for cell in self.doubts)

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id, "level": self.level, "check": self.check, "sweep": self.sweep, "where": self.where, "host": self.host or None,
            "cells": [
                {"cell": cell, "arithmetic": text, "file": file, "point_id": point_id, "labels": dict(labels)}
                for (cell, text), (file, point_id, labels) in zip(self.cells, self.axes, strict=True)
            ], "todo": self.todo,
            "doubts": [{"file": file, "point_id": cell, "metric": metric or None} for file, cell, metric in sorted(self.doubts, key=str)],
            "runs": [{"file": file, "run": number} for file, number in sorted(self.own)],
        }  # fmt: skip


def audit(results: Results) -> tuple[Finding, ...]:
    """Return what all checks find, errors first."""
    good = [run for tool in results.tools for run in results.good(tool)]
    repeats = Counter(map(cell_key, good))
    texts = {cell: {run.text for run in runs} for cell, runs in group_by(good, cell_key).items()}
    findings: list[Finding] = []
    for check in checks(results.tools):
        findings += _findings(check, list(check.find(results)), repeats, texts)
    return tuple(sorted(findings, key=lambda f: LEVELS.index(f.level)))


def _findings(
    check: Check,
    faults: Sequence[Fault],
    repeats: Mapping[CellKey, int],
    texts: Mapping[CellKey, set[str]],
) -> Iterable[Finding]:
    """Give one finding per level, file, sweep and advice."""
    grouped = group_by(faults, lambda f: (f.level, f.run.file, f.run.where, f.run.cell.sweep, f.todo))
    for (level, _, where, sweep, _), members in grouped.items():
        first = members[0]
        rows = [_row(same, repeats, texts) for same in group_by(members, _kind).values()]
        yield Finding(
            id=check.id, level=level, check=check.title, sweep=sweep, where=where, host=first.run.host,
            cells=tuple((cell, text) for cell, text, _ in rows), todo=first.todo or check.todo,
            axes=tuple((run.file, run.record.point_id, tuple(run.cell.labels().items())) for *_, run in rows),
            doubts=frozenset(
                (*cell_key(run), metric)
                for fault in members for run in fault.runs or (fault.run,) for metric in (fault.metric, *fault.also)
            ),
            own=frozenset((fault.run.file, fault.run.record.run_id) for fault in members if fault.own),
            is_of_runs=check.is_of_runs,
        )  # fmt: skip


def _kind(fault: Fault) -> tuple[object, ...]:
    """Return a key that is equal for faults of one cell with the same text up to the first figure."""
    begins = fault.text if fault.quoted or not fault.own else re.split(r"[\d:]", fault.text, maxsplit=1)[0]
    return (*cell_key(fault.run), fault.cell, begins)


def _row(
    same: Sequence[Fault], repeats: Mapping[CellKey, int], texts: Mapping[CellKey, set[str]]
) -> tuple[str, str, Run]:
    """Return the cell, the values that show the fault, how many repeats do, and the first run."""
    fault = same[0]
    text = fault.text
    if fault.quoted:
        quoted = zip(*(one.quoted for one in same), strict=True)
        text = text.format(*(fmt.span([v for v, _ in values], values[0][1]) for values in quoted))
    runs, of = len({one.run.record.run_id for one in same}), repeats[cell_key(fault.run)]
    shown = f" ({runs} of {of} repeats)" if of > 1 and (runs > 1 or (fault.own and not fault.cell)) else ""
    return fault.cell or _cell_name(fault.run, texts), f"{text}{shown}", fault.run


def _cell_name(run: Run, texts: Mapping[CellKey, set[str]]) -> str:
    """Return the name of a cell, such as "a.out, mode=loaded_latency W=6", with the name of a single captured
    output.
    """
    names = texts.get(cell_key(run), set())
    text = run.text if len(names) == 1 and "source" not in run.cell.labels() else ""
    axes = run.cell.describe() if run.cell.labels() or not text else ""
    return ", ".join(filter(None, [text, axes])) or run.text


# --- flags --------------------------------------------------------------------------------------------------


def convicted(findings: Iterable[Finding]) -> dict[CellKey, str]:
    """Return the cells that an error or a warning flags, with the check ids as `Guilty`, such as "F1, F7"."""
    return by_metric((cell[:-1], f.id, str(cell[-1])) for f in findings if f.level != "info" for cell in f.doubts)


def convicted_runs(findings: Iterable[Finding]) -> dict[tuple[str, int], str]:
    """Return the runs (file, number) that an error or a warning flags, with the ids of the checks."""
    return _ids((run, f.id) for f in findings if f.level != "info" for run in f.own)


_Key = TypeVar("_Key", bound=Hashable)


def _ids(pairs: Iterable[tuple[_Key, str]]) -> dict[_Key, str]:
    return {
        key: ", ".join(dict.fromkeys(check for _, check in same))
        for key, same in group_by(pairs, lambda pair: pair[0]).items()
    }


def doubts(guilty: Guilty, runs: Iterable[Run], metric: str = "") -> str:
    """Return the ids of the checks that flag the cells of some runs, or this metric of the cells. Without flags,
    return "".
    """
    return joined(doubting(guilty, cell, metric) for cell in dict.fromkeys(map(cell_key, runs)))


def joined(ids: Iterable[str]) -> str:
    """Return the checks of several cells without duplicates, such as "F1, F7, F10"."""
    named = {key for joined_ids in ids for key in checks_of(joined_ids)}
    return ", ".join(sorted(named, key=lambda key: (key.rstrip("0123456789"), len(key), key)))


# --- what is printed ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All findings of one check with one advice, in any sweep and host."""

    id: str
    level: Level
    check: str
    text: str  # "10 cells of 4 sweeps, for example: 13.4 to 46.9 kIOPS (iodepth=32)."
    todo: str
    counted: str  # "10 cells"
    rows: Table


def summaries(findings: Iterable[Finding]) -> list[Summary]:
    """Return one summary per check, level and advice, errors first."""
    rows = []
    for (key, level, todo), same in group_by(findings, lambda f: (f.id, f.level, f.todo)).items():
        sweeps, places = (list(dict.fromkeys(getattr(f, name) for f in same)) for name in ("sweep", "where"))
        cells = [(f, cell, text) for f in same for cell, text in f.cells]
        first = cells[0]
        names = [first[0].sweep if len(sweeps) > 1 else "", "" if first[1] == ONE_CELL else first[1]]
        cell = ", ".join(filter(None, names))
        counted = _counted(same, len(cells))
        where = f" of {fmt.plural(len(sweeps), 'sweep')}" if len(sweeps) > 1 else ""
        where += f" in {fmt.plural(len(places), 'file')}" if len(places) > 1 else ""
        example = f"{first[2].removesuffix('.')} ({cell})" if cell else first[2].removesuffix(".")
        text = f"{fmt.sentence(counted)}{where}, for example: {example}" if len(cells) > 1 else fmt.sentence(example)
        rows.append(Summary(
            id=key, level=level, check=same[0].check, todo=fmt.sentence(todo), counted=counted,
            text=f"{text}.",
            rows=_rows(cells, with_sweep=len(sweeps) > 1, with_place=len(places) > 1),
        ))  # fmt: skip
    return rows


def _counted(findings: Sequence[Finding], rows: int) -> str:
    if findings[0].is_of_runs:
        return fmt.plural(len({run for f in findings for run in f.own}), "run")
    return fmt.plural(len({cell for f in findings for cell in f.about}) or rows, "cell")


def _rows(cells: Sequence[tuple[Finding, str, str]], *, with_sweep: bool, with_place: bool) -> Table:
    names = [*(["where"] if with_place else []), *(["sweep"] if with_sweep else []), "cell", "finding"]
    rows = [{"where": f.where, "sweep": f.sweep, "cell": cell, "finding": text} for f, cell, text in cells]
    return Table(
        columns=tuple(Column(name=name) for name in names), rows=tuple(tuple(row[name] for name in names) for row in rows)
    )  # fmt: skip


def document(findings: Sequence[Finding], title: str = "", *, everything: bool = False) -> Document:
    """Return each check with the number of cells, one example and the advice. `everything` adds a table of the
    cells.
    """
    blocks: list[Block] = []
    for summary in summaries(findings):
        level = "" if summary.level == "warn" else f"{summary.level}: "
        head = Text(
            f"{level}{fmt.sentence(summary.check)} ({summary.id})",
            "quiet" if summary.level == "info" else "warning",
        )
        table = replace(summary.rows, most=len(summary.rows.rows)) if everything else summary.rows
        blocks += [
            *([Text("")] if blocks else []), head, Text(f"  {summary.text}"), *([table] if everything else [Fold(f"All {summary.counted}", (table,))]),
            Text(f"  {summary.todo}", "next"),
        ]  # fmt: skip
    return Document(title=title, blocks=tuple(blocks))


_NAMED = 2


def flag_counts(findings: Iterable[Finding]) -> str:
    """Return the counts of errors and warnings, such as "repeats differ widely (G11): 10 cells · timer too coarse
    (G6): 2". The default is "".
    """
    grave = [finding for finding in findings if finding.level != "info"]
    counts = {key: len({cell for f in same for cell in f.about}) for key, same in group_by(grave, lambda f: (f.check, f.id)).items()}  # fmt: skip
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    shown = [
        f"{title} ({key}): {fmt.count(n) if i else fmt.plural(n, 'cell')}"
        for i, ((title, key), n) in enumerate(ordered[:_NAMED])
    ]
    more = len(ordered) - len(shown)
    return " · ".join([*shown, *([f"{fmt.plural(more, 'more check')}"] if more else [])])


def worst(findings: Iterable[Finding]) -> Level | None:
    """Return the most severe level of the findings, or None without findings."""
    return min((f.level for f in findings), key=LEVELS.index, default=None)


def down_to(findings: Sequence[Finding], level: str) -> tuple[Finding, ...]:
    """Return the findings at a level and at more severe levels."""
    wanted = LEVELS[: [*LEVELS].index(level) + 1]  # type: ignore[arg-type]
    return tuple(f for f in findings if f.level in wanted)


def summary_line(findings: Sequence[Finding]) -> str:
    """Return "2 errors, 1 warning, 3 notes"; "nothing found" without any."""
    words = {"error": "error", "warn": "warning", "info": "note"}
    counts = {level: sum(summary.level == level for summary in summaries(findings)) for level in LEVELS}
    return ", ".join(fmt.plural(n, words[level]) for level, n in counts.items() if n) or "nothing found"


def counted(results: Results) -> str:
    """Return the audited counts, such as "12 runs with numbers, 3 disturbed runs; the output of 1 run cannot be
    read".
    """
    good = sum(len(results.good(tool)) for tool in results.tools)
    disturbed = sum(run.record.status == "disturbed" for run in results.runs)
    unread = [run.unreadable for run in results.runs if run.unreadable]
    parts = [fmt.plural(good, "run") + " with numbers"]
    parts += [fmt.plural(disturbed, "disturbed run")] if disturbed else []
    unreadable = f"; the output of {fmt.plural(len(unread), 'run')} cannot be read: {unread[0]}" if unread else ""
    return ", ".join(parts) + unreadable


def as_json(findings: Sequence[Finding]) -> str:
    """Return {"findings": [Finding.as_json]}."""
    return json_text({"findings": [f.as_json() for f in findings]})
