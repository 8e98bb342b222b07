"""Documents for `pinsweep show` and for the end of a run. Reads result files.

A sweep is a table with one row per cell: median and range over the repeats, and a second number of the same runs.
"""

from __future__ import annotations

import math
import shlex
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from parsers.errors import UserError
from reports import numbers
from reports.checks import audit
from reports.checks.doubts import doubting_all
from reports.checks.missing import missing
from reports.document import Block, Column, Document, Interval, Quantity, Table, Text, Value
from reports.numbers import Leader, Name, Repeats
from reports.results import convicted, naming
from reports.results.command_lines import without
from reports.results.grouping import group_by
from reports.results.load import Include, load, printed
from reports.results.model import Results, Run
from reports.text import format as fmt

Guilty = Mapping[tuple[object, ...], str]

_MOST: Final = 40
"""Cells of a sweep that are shown."""


def show_result(path: Path, include: Include = "least") -> Document:
    """Return the main numbers of a result file: one table per sweep and program, then flags and missing runs."""
    results = load([path], include=include)
    findings = audit.audit(results)
    of_cells = audit.convicted(findings)
    guilty = convicted.without(of_cells, doubting_all(results, of_cells))
    shown = [*numbers.all_cells(results)]
    titles = fmt.words(dict.fromkeys(e.title for e in results.experiments)) or path.name
    file = shlex.quote(str(path))
    blocks: list[Block] = [Text(_head(results), "quiet")]
    blocks += [_sweep(cells, guilty) for cells in _by_sweep(results, shown)]
    if flags := audit.flag_counts(findings):
        blocks += [Text(flags, "warning"), Text(f"  pinsweep audit {file} explains them", "next")]
    if (without := missing(results)).rows:
        blocks += [without, Text(f"  pinsweep show {file} --runs lists all runs", "next")]
    return Document(title=titles, blocks=(*blocks, *_resume(results, path)))


def _head(results: Results) -> str:
    """Return "vm · 2026-11-28 · 30 of 32 runs ok"."""
    hosts = fmt.words(dict.fromkeys(machine.host for machine in results.measured))
    days = dict.fromkeys(machine.session.started_utc[:10] for machine in results.measured)
    texts = f"{fmt.plural(results.texts, 'captured output')}, host not recorded" if results.texts else ""
    others = f"{results.unasked} of {results.cells} cells not requested" if results.unasked else ""
    return " · ".join(
        filter(None, [hosts, " to ".join([*days][:: max(len(days) - 1, 1)]), results.ended, others, texts])
    )


def _sweep(cells: Sequence[Repeats], guilty: Guilty) -> Table:
    """Return one sweep of one program: axes, leading number, range of the repeats, second number."""
    first = cells[0].first
    labels = [_labels(cell.runs) for cell in cells]
    axes = list(dict.fromkeys(axis for own in labels for axis in own))
    leaders = [cell.leader for cell in cells]
    further = [_further(cell) for cell in cells]
    further_title = _title(filter(None, further)) if any(further) else ""
    if not further_title:  # numbers of several kinds in a column cannot be read
        further = [None] * len(cells)
    counts = {len(cell.runs) for cell in cells}
    each = f"range of {fmt.plural(max(counts), 'run')}" if len(counts) == 1 else "range"
    several = len({leader.words for leader in leaders}) > 1
    unit = leaders[0].unit if len({leader.unit for leader in leaders}) == 1 else ""
    further_unit = next((name.unit for name in further if name), "")
    ranges, uneven = max(counts) > 1, len(counts) > 1
    columns = [
        *(Column(name=axis) for axis in axes),
        *([Column(name="number")] if several else []),
        Column(name=_heading(leaders), unit=unit),
        *([Column(name=each, unit=unit)] if ranges else []),
        *([Column(name="runs")] if uneven else []),
        *([Column(name=further_title, unit=further_unit)] if further_title else []),
    ]
    rows, flags = [], []
    for cell, own, leader, other in zip(cells, labels, leaders, further, strict=True):
        values = cell.values
        row: list[Value] = [own.get(axis, "") for axis in axes]
        row += [leader.words] if several else []
        row.append(_count(cell.first) if not values else _value(statistics.median(values), leader, unit))
        row += [Interval(min(values), max(values), leader.unit) if len(values) > 1 else None] if ranges else []
        row += [len(cell.runs)] if uneven else []
        row += [cell.columns[other].median if other else None] if further_title else []
        rows.append(tuple(row))
        metrics = [leader.metric, *([other.tells_of] if other else [])]
        flags.append(audit.joined(audit.doubts(guilty, cell.runs, metric) for metric in metrics))
    names = fmt.words(
        dict.fromkeys(
            "built-in kernel" if naming.stands_in(run) else naming.program_name(run)
            for cell in cells
            for run in cell.runs
        )
    )
    return Table(
        id=first.cell.sweep, title=f"{first.cell.sweep}   {names}", columns=tuple(columns), rows=tuple(rows),
        flags=tuple(flags) if any(flags) else (), most=_MOST,
    )  # fmt: skip


def _value(median: float, leader: Leader, unit: str) -> Value:
    """Return a median as a cell of a column with a unit, or with its own."""
    return median if unit else Quantity(median, leader.unit, leader.step)


def _by_sweep(results: Results, cells: Sequence[Repeats]) -> list[list[Repeats]]:
    """Return the cells of each sweep and program, in the order of the axes."""
    sweeps = [*results.by_sweep(cell.first for cell in cells)]
    tables = group_by(cells, lambda cell: (sweeps.index(cell.first.cell.sweep), naming.program_kind(cell.first)))
    for same in tables.values():
        axes = list(dict.fromkeys(axis for cell in same for axis in cell.first.cell.labels()))

        def key(cell: Repeats, axes: Sequence[str] = axes) -> list[object]:
            labels, sweep = cell.first.cell.labels(), cell.first.cell.sweep
            return [results.levels.key(axis, labels.get(axis), sweep) for axis in axes]

        same.sort(key=key)
    return [tables[at] for at in sorted(tables, key=lambda at: at[0])]


def _labels(cell: Sequence[Run]) -> dict[str, Value]:
    """Return the axes of a cell, with numbers as numbers."""
    run = cell[0]
    texts = {one.text for one in cell} if "source" not in run.cell.labels() else set()
    labels: dict[str, Value] = {"source": run.text} if len(texts) == 1 and run.text else {}
    for axis, value in run.cell.labels().items():
        number = isinstance(value, int) and not isinstance(value, bool)
        labels[axis] = value if number else naming.value_text(run.tool, axis, value)
    return labels


def _count(run: Run) -> str:
    """Return a count such as "12 numbers" for a cell without a leading number."""
    return fmt.plural(len(run.parsed.measurements.rows) if run.parsed else 0, "number")


def _heading(leaders: Sequence[Leader]) -> str:
    names = [leader.name for leader in leaders if leader.name]
    words = {leader.words for leader in leaders}
    if len(words) > 1:
        return "value"
    return _title(names) if len(names) == len(leaders) else words.pop()


def _title(names: Iterable[Name]) -> str:
    """Return the common name of some numbers, such as "PingPong time at 0 B" or "latency p99.9", or ""."""
    every = list(names)
    return next(
        words.pop()
        for words in ({n.words for n in every}, {n.title for n in every}, {n.quantity for n in every}, {""})
        if len(words) == 1
    )  # fmt: skip


_TAIL: Final = "p99.9"


def _further(cell: Repeats) -> Name | None:
    """Return a second number of a cell: the first time of the counted operation, or the tail of a time."""
    lead = cell.lead
    return next((name for name in cell.columns if lead and _goes_with(name, lead)), None)


def _goes_with(name: Name, leading: Name) -> bool:
    if name.unit != "ns" or name == leading or not set(leading.part) <= set(name.part):
        return False
    return leading.unit != "ns" or (name.statistic == _TAIL and name.metric == leading.metric)


_LEFT_OUT = {"-o": 1, "--output": 1, "--allow-write": 1}
"""Options of the recorded command that the command to resume omits, because the command names the file."""
_LONGEST_COMMAND = 2000


def _resume(results: Results, path: Path) -> Iterator[Text]:
    """Yield the command that starts the missing runs, if there are any."""
    if not results.machines:
        yield Text(f"To start: pinsweep run EXPERIMENT -o {shlex.quote(str(path))}", "next")
    elif results.not_started and (argv := results.machines[-1].session.argv)[:1] == ("run",):
        again = shlex.join(["pinsweep", *without(argv, _LEFT_OUT), "-o", str(path)])
        command = again if len(again) <= _LONGEST_COMMAND else "give the same command again"
        yield Text(f"To resume: {command}", "next")


# --- the end of a run --------------------------------------------------------------------------------------


def ending(results: Results, findings: Sequence[audit.Finding]) -> Document:
    """Return the best cell of each sweep with the flags. If no cell is best, return the first cell."""
    guilty = audit.convicted(findings)
    rows: list[tuple[Value, ...]] = []
    flags = []
    for cells in _by_sweep(results, [*numbers.all_cells(results)]):
        valid = [cell for cell in cells if not cell.first.void] or cells
        cell, leader, value = _best(valid)
        run = cell.first
        rows.append((run.cell.sweep, leader.words, Quantity(value, leader.unit, leader.step), run.cell.describe()))
        flags.append(audit.doubts(guilty, cell.runs, leader.metric))
    columns = tuple(Column(name=name) for name in ("sweep", "number", "value", "cell"))
    table = Table(id="best", columns=columns, rows=tuple(rows), flags=tuple(flags) if any(flags) else ())
    counts = audit.flag_counts(findings)
    return Document(title="", blocks=(table, *([Text(counts, "warning")] if counts else [])))


def _best(cells: Sequence[Repeats]) -> tuple[Repeats, Leader, float | None]:
    """Return the best cell by the median of the repeats with that number. Without a best cell, return the first."""
    leaders, values = zip(*numbers.leaders_of(cells), strict=True)
    medians = [statistics.median(repeats) if repeats else math.nan for repeats in values]
    ranked = [i for i, cell in enumerate(cells) if numbers.ranked(cell.first) and not math.isnan(medians[i])]
    if len({leader.words for leader in leaders}) > 1 or not numbers.have_best(cells, leaders):
        ranked = ranked[:1]
    best = (min if leaders[0].better == "lower" else max)(ranked, key=medians.__getitem__) if ranked else 0
    return cells[best], leaders[best], None if math.isnan(medians[best]) else medians[best]


# --- runs ---------------------------------------------------------------------------------------------------


def show_runs(path: Path) -> Document:
    """Return one row per run, in the order of the starts."""
    results = load([path])
    flagged = audit.convicted_runs(audit.audit(results))
    started = results.started
    rows = tuple(
        (
            run.record.run_id, run.state, None if run.captured else run.record.wall_s, run.cell.sweep, run.cell.describe(),
            "warm-up" if run.record.warm_up else run.record.repeat,
        )
        for run in started
    )  # fmt: skip
    flags = tuple(flagged.get((run.file, run.record.run_id), "") if run.parsed else "" for run in started)
    columns = ("run", "status", "time", "sweep", "cell", "repeat")
    table = Table(
        id="runs", columns=tuple(Column(name=name, unit="s" if name == "time" else "") for name in columns), rows=rows,
        flags=flags if any(flags) else (), most=max(len(rows), 1),
    )  # fmt: skip
    title = "" if rows else f"{path.name} holds no runs"
    return Document(title=title, blocks=(table, *(() if rows else _resume(results, path))))


def show_run(path: Path, number: int) -> Document:
    """Return one run in detail. Raises UserError if there is no such run in the file."""
    from reports.report.all_runs import placement_text, seen_text

    results = load([path])
    run = _run_of(results, path, number)
    record = run.record
    repeat = "warm-up" if record.warm_up else f"repeat {record.repeat}"
    ended = f"exit {record.exit_code}" if record.signal is None else f"signal {record.signal}"
    facts = {
        "status": f"{run.state}{f': {why}' if (why := record.reason or run.unreadable) else ''}",
        "disturbed": run.disturbance or ("not known: too short to judge" if run.is_too_short else ""),
        "result": Repeats((run,)).headline if run.parsed else "",
        "program": naming.program_name(run),
        "imported" if run.captured else "started": record.started_utc if run.captured else f"{record.started_utc}, took {fmt.seconds(record.wall_s)}, {ended}",
        "command": (" ".join(record.argv) if run.captured else shlex.join(record.argv)) or "not recorded",
        "environment": " ".join(f"{name}={shlex.quote(str(value))}" for name, value in record.env.items()),
        "requested": "not recorded" if run.captured else placement_text(record.placement),
        "observed": seen_text(record),
        "note": "; ".join(flag.text for flag in (run.parsed.flags if run.parsed else ())),
    }  # fmt: skip
    blocks = [Text(f"{name:11}  {text}") for name, text in facts.items() if text]
    for name, text in zip(("output", "standard error"), printed(results, [run], 1200)[run], strict=True):
        if text.strip():
            blocks += [Text(""), Text(f"--- {name} ---"), *map(Text, text.rstrip().expandtabs().splitlines())]
    blocks += [Text(""), Text(f"All output: pinsweep show {shlex.quote(str(path))} {number} --raw", "next")]
    title = f"run {record.run_id}: {run.cell.sweep}  {run.cell.describe()}  {repeat}, attempt {record.attempt}"
    return Document(title=title, blocks=tuple(blocks))


def _run_of(results: Results, path: Path, number: int) -> Run:
    """Return a run by number. Raises UserError if there is no such run."""
    known = {run.record.run_id: run for run in results.started}
    if number not in known:
        held = f"runs {min(known)} to {max(known)}" if known else "no runs"
        raise UserError(str(path), f"no run {number}", f"the file holds {held}")
    return known[number]


def record(path: Path, number: int | None, include: Include = "least") -> dict[str, Any]:
    """Return a result file, or one run of the file, for programs. Raises UserError if there is no such run."""
    from reports.export import record

    results = load([path], include=include)
    if number is None:
        return record.of_result(results, audit.audit(results))
    return record.of_run_in_detail(_run_of(results, path, number), audit.audit(results))
