"""Checks of the repeats of a cell together."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Final

from orchestrator.experiment.repeats import BASE, FEWEST, WITHIN, is_settled, uncertainty
from reports.checks import ANY_TOOL, Fault, Level, check, judged
from reports.checks._cells import by_cell
from reports.numbers import QUANTILES, Name, Repeats, all_cells, formulas, scatter
from reports.results.convicted import whole_of, wholes
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.text import format as fmt

FAMILY = ANY_TOOL

NOISE: Final = 0.075
"""Usual standard deviation over repeats, as a share of the median. A tool may set another `noise`."""
LEAST_CHANGE: Final = 0.03
"""The threshold of `compare`."""
_FAR, _FAR_TAIL = 3.0, 10.0
"""Highest repeat ÷ lowest from which a number other than the leading number is flagged, and the limit for a tail."""
_TAILS: Final = frozenset(name for name, share in QUANTILES if share > 0.5)
OFF: Final = 1.96 * math.sqrt(math.pi / 2)
"""95 % error of a median, in standard deviations of the values ÷ √n."""


def _tells_shares(cell: Repeats) -> bool:
    """Return whether shares of the leading number are meaningful."""
    return cell.lead is not None and scatter.tells_shares(cell.standing, cell.lead.unit)


@check("G11", "warn", "info")
def far_apart(results: Results) -> Iterator[Fault]:
    """repeats differ widely

    The standard deviation of the leading number is above the usual value of 3 % for STREAM and MLC, or 7.5 % for other
    tools. Fewer than six repeats are judged by the range. The limit for three repeats is 10 % of the median for STREAM
    and 25 % for other tools. More repeats are judged by the nearer quarter of the pairs. 5 % of usual cells exceed
    either limit. Eight or more repeats are also flagged if two groups with a gap appear, or if the median is uncertain
    by more than 3 %. Any other number of the cell is flagged if its highest repeat is 3 × the lowest (10 × for a tail).
    Info: a few repeats are more than 25 % from the rest. Levels (dB, °C), counts below 10 and ratios below 0.1 are left
    out.

    Do: run more repeats (`repeats: auto`) on a quiet machine (`pinsweep doctor`), and quote the number with its range.
    """
    for cell in all_cells(results):
        faults = list(_leading_apart(cell))
        yield from faults
        yield from _others_apart(cell, {metric for fault in faults for metric in (fault.metric, *fault.also)})


def _leading_apart(cell: Repeats) -> Iterator[Fault]:
    """Judge the leading number of a cell."""
    values, run = cell.standing, cell.first
    if len(values) < 2 or min(values) == max(values) or not _tells_shares(cell):
        return
    noise, leader = judged(cell.tool).NOISE, cell.leader
    much = max(noise / 2, LEAST_CHANGE)
    text = f"{fmt.plural(len(values), 'repeat')}, {fmt.span(values, leader.unit, leader.step)}"
    groups = scatter.groups(values, much)
    if groups:
        text += ", in two groups: " + fmt.words(fmt.span(group, leader.unit, leader.step) for group in groups)
    # The interval is not enough, because the interval of eight values is the range.
    vague = not run.most_repeats and len(values) >= FEWEST and scatter.scatters(values, much) and uncertainty(values) > LEAST_CHANGE  # fmt: skip
    if groups or scatter.scatters(values, noise) or vague:
        scattered = (leader.metric, *_parts_apart(cell, leader.metric, noise, much))
        also = tuple(_with(run, scattered))[1:]
        yield Fault(level="warn", run=run, metric=leader.metric, also=also, text=text)
    elif formulas.spread(values).unsteady:
        yield Fault(level="info", run=run, metric=leader.metric, text=text)


def _parts_apart(cell: Repeats, metric: str, noise: float, much: float) -> tuple[str, ...]:
    """Return the other parts of a metric, such as STREAM's kernels, with repeats that differ widely."""
    whole = metric.rpartition("/")[0]
    return tuple(
        name.tells_of
        for name, column in (cell.columns.items() if whole else ())
        if name.metric == whole
        and name.tells_of not in (whole, metric)
        and (scatter.scatters(column.values, noise) or scatter.groups(column.values, much))
    )


def _others_apart(cell: Repeats, flagged: AbstractSet[str]) -> Iterator[Fault]:
    """Yield the other numbers with repeats that differ widely, as one fault per level with the widest numbers."""
    wide = [name for name in _beyond_reason(cell) if flagged.isdisjoint(wholes(name.tells_of))]
    by_level = group_by(wide, lambda name: scatter.scatters(cell.columns[name].values, NOISE))
    for scattered, same in sorted(by_level.items(), reverse=True):
        name = max(same, key=lambda name: max(cell.columns[name].values) / min(cell.columns[name].values))
        values, step = cell.columns[name].values, cell.columns[name].step
        text = f"{name.words}: {fmt.span(values, name.said_unit or name.unit, step)}"
        text += f", and {fmt.plural(len(same) - 1, 'other number')}" if len(same) > 1 else ""
        metric, *also = _with(cell.first, [name.tells_of for name in same])
        level: Level = "warn" if scattered else "info"
        yield Fault(level=level, run=cell.first, metric=metric, also=tuple(also), text=text)


def _beyond_reason(cell: Repeats) -> Iterator[Name]:
    """Yield the numbers of a cell with extremely different repeats."""
    for name, column in cell.columns.items() if len(cell.runs) > 1 else ():
        if name.derived or name.better == "neither":
            continue
        low, high = min(column.values), max(column.values)
        far = _FAR_TAIL if name.statistic in _TAILS else _FAR
        if 0 < far * low <= high and scatter.tells_shares(column.values, name.unit):
            yield name


def _with(run: Run, metrics: Sequence[str]) -> dict[str, None]:
    """Return metrics, followed by the related metrics that are shown and flagged together."""
    others = (related for metric in metrics for related in judged(run.tool).shown_with(metric, run))
    return dict.fromkeys((*metrics, *others))


@check("G13", "warn")
def not_settled(results: Results) -> Iterator[Fault]:
    """repeats: auto did not settle

    The 99 % interval of the median of the leading number still extends beyond 2.5 % (1.25 % with 6 or 7 repeats).
    Either the maximum number of repeats is reached, the sweep was stopped before, or every repeat was disturbed. If
    most cells of a sweep did not settle, settled cells with similar noise are flagged too, because such cells may
    settle by chance.

    Do: quote the number with its range; measure longer runs on a quiet machine, or start a stopped sweep again.
    """
    auto = [cell for cell in all_cells(results) if cell.first.most_repeats and cell.standing and _tells_shares(cell)]
    for same in group_by(auto, lambda cell: (cell.first.file, cell.first.cell.sweep)).values():
        by_state = group_by(same, lambda cell: bool(is_settled(cell.standing)))
        settled, unknown = by_state.get(True, []), by_state.get(False, [])
        for cell in unknown:
            text = _unsettled(cell.standing, max(run.record.repeat for run in cell.runs), cell.first.most_repeats)
            yield Fault(level="warn", run=cell.first, text=text, metric=cell.leader.metric)
        texts = by_chance([cell.standing for cell in settled], [cell.standing for cell in unknown])
        for cell, text in zip(settled, texts, strict=True):
            if text:
                yield Fault(level="warn", run=cell.first, text=text, metric=cell.leader.metric)
    quiet = {(run.file, run.record.point_id) for tool in results.tools for run in results.good(tool)}
    disturbed = (run for run in results.disturbed if (run.file, run.record.point_id) not in quiet)
    for runs in by_cell(disturbed).values():
        if runs[0].most_repeats:
            yield Fault(level="warn", run=runs[0], text=f"{fmt.plural(len(runs), 'repeat')}, all disturbed")


def _unsettled(values: Sequence[float], last: int, most: int) -> str:
    """Return "±11 % after 8 of at most 15 repeats"."""
    if len(values) < BASE:
        return f"{fmt.plural(len(values), 'repeat')}, and {BASE} are needed to know a median to ±{fmt.percent(WITHIN)}"
    limit = f" of at most {most}" if last < most else ""
    off = uncertainty(values)
    known = f"±{fmt.percent(off)}" if off <= 1 else "unknown median"
    return f"{known} after {len(values)}{limit} repeats"


def by_chance(settled: Sequence[Sequence[float]], others: Sequence[Sequence[float]]) -> list[str]:
    """Return the reason why each settled cell may have settled by chance, or "". `others` did not settle."""
    others = [values for values in others if len(values) >= BASE]  # that had the chance to settle
    noise = statistics.median(map(scatter.deviation, others)) if others else 0.0
    cells = len(settled) + len(others)
    if len(others) <= len(settled) or not noise:
        return [""] * len(settled)
    reasons = []
    for values, chance in zip(settled, scatter.calm_by_chance(settled, noise, cells), strict=True):
        off = OFF * noise / math.sqrt(len(values))
        text = f"settled, but {len(others)} of {cells} cells did not; with their noise ±{fmt.percent(off)}"
        reasons.append(text if chance and off > WITHIN else "")
    return reasons


@check("G14", "warn", "info")
def drifts(results: Results) -> Iterator[Fault]:
    """drift over the session

    The check needs 20 or more runs of a sweep in one session. Each number is divided by the median of the cell. The
    quotients follow the order of the runs (Spearman's correlation, p < 0.01). The change is the median over all pairs
    of runs of one cell (Theil-Sen). A change of 3 % or more between first and last run is a warning. Random order keeps
    a drift from looking like an effect of an option, but a drift still widens the repeats.

    Do: let the machine warm up, look for what changes with time (heat, clocks, a disk that fills), and compare sessions
    of the same length.
    """
    sessions = group_by(
        _in_sessions(results),
        lambda cell: (cell.first.file, cell.first.session.session, cell.first.cell.sweep, cell.tool),
    )
    for (_, _, sweep, _), cells in sessions.items():
        runs = sum(len(cell.runs) for cell in cells)
        drift = scatter.drift([timed for cell in cells if len(cell.runs) > 1 and (timed := _timed(cell))])
        if drift is None or drift.p >= 0.01:
            continue
        change = math.expm1(drift.per_hour * drift.hours)
        word = "worse" if change < 0 else "better"
        yield Fault(
            level="warn" if abs(change) >= LEAST_CHANGE else "info", run=cells[0].first,
            metric=whole_of(cell.leader.metric for cell in cells), runs=tuple(cell.first for cell in cells),
            cell=f"{fmt.plural(runs, 'run')} of {fmt.plural(len(cells), 'cell')} of {sweep}",
            text=f"{fmt.percent(abs(change))} {word} within {fmt.seconds(drift.hours * 3600)}",
        )  # fmt: skip


def _in_sessions(results: Results) -> Iterator[Repeats]:
    """Give the repeats of each cell that ran in one session."""
    for cell in all_cells(results):
        if cell.first.captured or cell.first.void:
            continue
        sessions = group_by(cell.runs, lambda run: run.session.session)
        yield from (cell,) if len(sessions) == 1 else (Repeats(tuple(runs)) for runs in sessions.values())


def _timed(cell: Repeats) -> list[scatter.Timed]:
    """Return time and result of each repeat of a cell, with higher results better, or [] if unknown."""
    values = _turned(cell)
    try:
        at = [datetime.fromisoformat(run.record.started_utc).timestamp() / 3600 for run in cell.runs]
    except ValueError:
        return []
    return [
        scatter.Timed(run.record.order_index, hours, math.log(value))
        for run, hours, value in zip(cell.runs, at, values, strict=False)
    ]


def _turned(cell: Repeats) -> list[float]:
    """Return the leading number of each repeat, with times inverted so that higher is better. Numbers without
    meaningful shares give [].
    """
    values, better = cell.standing, cell.leader.better
    if min(values, default=0.0) <= 0 or better == "neither" or not _tells_shares(cell):
        return []
    return [1 / value for value in values] if better == "lower" else [*values]


@check("G15", "info")
def slow_first(results: Results) -> Iterator[Fault]:
    """a slow first repeat

    The first of five or more repeats of a cell in a session is the slowest by more than 3 %. The distance from the
    median of the later repeats is at least 4 standard deviations of the later repeats. Caches, clocks or memory were
    cold. Cells without such an effect are flagged in 1 of 5000 cases at 1 % noise, in 1 of 70 at 3 % and more.

    Do: quote the median; make the runs longer, or warm the machine first.
    """
    for cell in _in_sessions(results):
        if len(cell.runs) < scatter.LEAST_FOR_FIRST:
            continue
        order = sorted(range(len(cell.runs)), key=lambda i: cell.runs[i].record.order_index)
        turned = _turned(cell)
        if turned and scatter.is_slow_first([turned[i] for i in order], LEAST_CHANGE):
            unit = cell.leader.unit
            first, *others = (cell.values[i] for i in order)
            text = f"first {fmt.quantity(first, unit)}, others {fmt.span(others, unit)}"
            yield Fault(level="info", run=cell.runs[order[0]], text=text)
