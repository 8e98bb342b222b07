"""Where a check convicts a cell, all that shows the cell's numbers says so: figures, rows of tables, sentences, exports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from reports.checks import Check, checks
from reports.checks._cells import cell_key
from reports.checks.audit import audit, convicted, doubts
from reports.draw.figure import MARK, ROW, Figure, Table
from reports.results import naming
from reports.results.convicted import OTHER, CellKey, Guilty, checks_of, doubting, of_all
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.text import format as fmt

LEGEND = f"{MARK}: doubtful, by the checks named; pinsweep audit says why."
"""What stands below a text with marks."""


def of_results(results: Results) -> Guilty:
    """Return the cells that a check convicts."""
    return convicted(audit(results))


def doubting_all(results: Results, guilty: Guilty) -> tuple[str, ...]:
    """Return the checks that doubt all numbers of some results: they are told once, at the head, and mark none."""
    return of_all(guilty, {cell_key(run) for tool in results.told for run in results.shown(tool)})


def of_all_numbers(ids: Mapping[str, str]) -> str:
    """Return "⚠ doubtful: all numbers, by D1 of A (runs that something else disturbed)"; "" of no check. `ids`: check → whose, " of A"."""
    titles = {check.id: check.title for check in checks()}
    told = fmt.words([f"{key}{whose} ({titles[key]})" for key, whose in ids.items()])
    return f"{MARK} doubtful: all numbers, by {told}" if told else ""


def mark(ids: str) -> str:
    """Return what stands behind what is doubted: " ⚠ F1, F7"; "" of nothing."""
    return f" {MARK} {ids}" if ids else ""


def counted(ids: Sequence[str], noun: str = "") -> str:
    """Return "F1 (2 of 8 points)" of what doubts some things that stand together, without a noun "F1 (2 of 8)"; of a single one what doubts it. `ids`: of
    each, "F1, F7"."""
    if len(ids) == 1:
        return ids[0]
    found = Counter(key for one in ids for key in checks_of(one))
    of = fmt.plural(len(ids), noun) if noun else fmt.count(len(ids))
    return ", ".join(f"{key} ({n} of {of})" for key, n in found.items())


def of_figure(figure: Figure, guilty: Guilty) -> Figure:
    """Return the figure with what doubts it and its tables, where they show numbers that are convicted; else as it is."""
    every = [
        (run, metric)
        for table in (*figure.tables, *figure.numbers)
        for row, own in enumerate(table.of)
        for at, runs in own.items()
        for metric in _metrics(table, row, at)
        for run in runs
    ]
    every += [(run, figure.metric) for run in figure.runs]
    told = dict.fromkeys((cell_key(run), metric) for run, metric in every)
    found = {
        (key, cell): None
        for cell, metric in told
        if (ids := doubting(guilty, cell, metric))
        for key in checks_of(ids)
    }
    if not found:
        return figure
    told_of = (
        ((run, metric) for run, metric in every if run.sound)
        if figure.told_of is None
        else ((run, metric) for runs, metric in figure.told_of for run in runs)
    )
    kinds = {check.id: check for check in checks()}
    shown = {cell_key(run): run for run, _ in every}
    names = _names(list(shown.values()))
    by_check = {
        key: [cell for _, cell in same] for key, same in sorted(group_by(found, lambda pair: pair[0]).items())
    }
    judged = {key: _judged(kinds[key], shown, own) for key, own in by_check.items()}
    said = [
        f"{kinds[key].title} ({key}, {_whose(own, judged[key], names, *_called(kinds[key], judged[key], shown))})"
        for key, own in by_check.items()
    ]
    return replace(
        figure,
        doubt="; ".join(said),
        doubt_counted=_counts(by_check, shown),
        title_doubted=figure.says and any(doubting(guilty, cell_key(run), metric) for run, metric in told_of),
        tables=tuple(of_table(table, guilty) for table in figure.tables),
        numbers=tuple(of_table(table, guilty) for table in figure.numbers),
    )


def _judged(check: Check, shown: Mapping[CellKey, Run], found: Collection[CellKey]) -> Mapping[CellKey, Run]:
    """Return the cells whose numbers a check judges: beside the curves of MLC what STREAM moved is drawn, too, and of disturbed runs D1
    alone speaks. found: those that it doubts."""
    doubted = {*found}
    return {
        cell: run
        for cell, run in shown.items()
        if check.tool in ("", run.tool) and (cell in doubted or run.record.status != "disturbed")
    }


def _called(check: Check, judged: Mapping[CellKey, Run], shown: Mapping[CellKey, Run]) -> tuple[str, str]:
    """Return what these are called where others are shown, too: ("quiet cell", " of STREAM"), ("cell", "")."""
    own = [run for run in shown.values() if check.tool in ("", run.tool)]
    programs = dict.fromkeys(naming.program_kind(run) for run in own if len(own) < len(shown))
    return (
        "quiet cell" if len(judged) < len(own) else "cell",
        f" of {fmt.words(programs)}" if programs else "",
    )


def of_table(table: Table, guilty: Guilty) -> Table:
    """Return the table with what doubts its rows; and those of their columns that are of one metric, where the same checks do not doubt
    all of these: each that is doubted has a mark then."""
    found = tuple(
        {
            column: ids
            for at, runs in own.items()
            for column, ids in _doubted(table, i, at, runs, guilty).items()
            if ids and (column == ROW or row[column] != fmt.NOTHING)
        }
        for i, (row, own) in enumerate(zip(table.rows, table.of, strict=False))
    )
    return replace(table, doubts=found) if any(found) else table


def _doubted(table: Table, row: int, at: int, runs: Iterable[Run], guilty: Guilty) -> dict[int, str]:
    """Return what doubts each column at a place of `Table.of`; of a whole row whose columns are all doubted alike the row alone."""
    found = {column: doubts(guilty, runs, metric) for column, metric in _columns(table, row, at).items()}
    shown = [ids for column, ids in found.items() if column == at or table.rows[row][column] != fmt.NOTHING]
    return found if len({*shown}) > 1 else {at: found[at]}


def _columns(table: Table, row: int, at: int) -> dict[int, str]:
    """Return the columns of what `Table.of` has at a place, with the metric of each: of a whole row ROW, and the columns that have a
    metric of their own."""
    rest = table.metric_of[row] if table.metric_of else table.metrics.get(ROW, OTHER if table.metrics else "")
    part = f"/{table.part_of_metric[row]}" if table.part_of_metric else ""
    own = {column: f"{metric}{part}" for column, metric in table.metrics.items()}
    return {**own, ROW: rest} if at == ROW else {at: own.get(at, rest)}


def _metrics(table: Table, row: int, at: int) -> Iterable[str]:
    return dict.fromkeys(_columns(table, row, at).values())


_MOST_NAMED = 3


def _whose(
    found: Sequence[CellKey],
    shown: Mapping[CellKey, Run],
    names: Mapping[CellKey, str],
    noun: str = "cell",
    whose: str = "",
) -> str:
    """Return "1 of 2 cells: inter", "both cells", "all 3 cells", "5 of 12 cells: …, …, … and 2 more", "the only cell, in 3 of 30 files"; of cells that not
    every file has "in 3 of 19 files with them". noun, whose: what they are (`_called`). Cells of one host that are alike are one, in whatever files of its sessions they are."""
    alike = {cell: _across_files(run) for cell, run in shown.items()}
    doubted = {alike[cell]: names[cell] for cell in reversed(found)}
    of, bad = len({*alike.values()}), len(doubted)
    files = {cell[0] for cell, one in alike.items() if one in doubted}
    with_ = f" with {'it' if bad == 1 else 'them'}" if files < {cell[0] for cell in alike} else ""
    those = {cell[0] for cell in found}
    where = (
        f", in {fmt.count(len(those))} of {fmt.plural(len(files), 'file')}{with_}" if those < files else ""
    )
    if bad == of:
        every = {1: f"the only {noun}", 2: f"both {noun}s"}.get(of, f"all {fmt.plural(of, noun)}")
        return f"{every}{whose}{where}"
    counted = f"{fmt.count(bad)} of {fmt.plural(of, noun)}{whose}{where}"
    told = list(dict.fromkeys(name for name in reversed(doubted.values()) if name))
    if not told:
        return counted
    left = sum(name not in told[:_MOST_NAMED] for name in doubted.values())
    more = f" and {fmt.count(left)} more" if left else ""
    return f"{counted}: {'; '.join(told[:_MOST_NAMED])}{more}"


def _counts(by_check: Mapping[str, Sequence[CellKey]], shown: Mapping[CellKey, Run]) -> str:
    """Return "D1 600, F1 7 of 640 cells": how many cells each check doubts."""
    bad = {key: len({_across_files(shown[cell]) for cell in own}) for key, own in by_check.items()}
    of = len({*map(_across_files, shown.values())})
    return f"{', '.join(f'{key} {fmt.count(n)}' for key, n in bad.items())} of {fmt.plural(of, 'cell')}"


def _across_files(run: Run) -> tuple[str, str, str]:
    return "" if run.captured else run.host, run.text, run.record.point_id


def _names(runs: Sequence[Run]) -> dict[CellKey, str]:
    """Return each cell by what tells it from the others: "4 KiB blocks, iodepth 4", "inter"; "" where that is nothing."""
    told = {
        cell_key(run): {
            "sweep": run.cell.sweep, "host": "" if run.captured else run.host, "text": run.text,
            **{name: naming.option_value(run.tool, name, value) for name, value in run.cell.labels().items() if str(value) != run.text},
            "place": "place all" if run.place == "all" else run.place or run.relation,
        }
        for run in runs
    }  # fmt: skip
    values = group_by(
        ((name, value) for own in told.values() for name, value in own.items()), lambda one: one[0]
    )
    differ = [
        name
        for name, same in values.items()
        if len({value for _, value in same}) > 1 or len(same) < len(told)
    ]
    return {
        cell: ", ".join(filter(None, (own.get(name, "") for name in differ))) for cell, own in told.items()
    }
