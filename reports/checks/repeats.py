"""Checks of the repeats of a cell together."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Final

from orchestrator.experiment.repeats import BASE, FEWEST, WITHIN, is_settled, uncertainty
from reports.checks import ANY_TOOL, Fault, check, part
from reports.checks._cells import by_cell
from reports.numbers import each_number, formulas, leader, leaders, scatter, standing
from reports.numbers._quantiles import QUANTILES
from reports.numbers.model import Name, Number
from reports.results.convicted import whole_of, wholes
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.text import format as fmt

FAMILY = ANY_TOOL

NOISE: Final = 0.075
"""Usual standard deviation over the repeats, as a share of their median; a tool's `noise` may be another."""
LEAST_CHANGE: Final = 0.03
"""The threshold of `compare`."""
_FAR, _FAR_TAIL = 3.0, 10.0
"""Highest repeat ÷ lowest from which on a number is flagged that is not the leading one; and a tail."""
_TAILS: Final = frozenset(name for name, share in QUANTILES if share > 0.5)
OFF: Final = 1.96 * math.sqrt(math.pi / 2)
"""Error of a median with 95 %, in standard deviations of its values through the root of their number."""


def _cells(results: Results) -> Iterator[list[Run]]:
    """Give the good repeats of each cell."""
    for tool in results.tools:
        yield from by_cell(results.good(tool)).values()


def _standing(runs: Sequence[Run]) -> list[float]:
    """Return the leading number of each repeat of a cell."""
    return standing(runs[0].tool, [run.parsed for run in runs if run.parsed])


def _tells_shares(runs: Sequence[Run], values: Sequence[float]) -> bool:
    """May the leading number of some repeats be judged by shares of it?"""
    return scatter.tells_shares(values, leaders(runs[0].tool, *(run.parsed for run in runs))[0][0])


@check("G11", "warn", "info")
def far_apart(results: Results) -> Iterator[Fault]:
    """repeats differ widely

    The standard deviation of the leading number is above the usual one: 3 % for STREAM and MLC, 7.5 % for other tools. Fewer than six
    repeats are judged by their range (10 % of the median for three of STREAM, 25 % for three of others), more by the nearer quarter of
    their pairs; 5 % of usual cells exceed either. Eight or more repeats are flagged, too, if they lie in two groups with a gap, or if they
    leave the median uncertain by more than 3 %. Another number of the cell is flagged if its highest repeat is 3 × the lowest (a tail:
    10 ×). Info: a few repeats are more than 25 % from the others. Levels (dB, °C), counts below 10 and ratios below 0.1 are left out.

    Do: run more repeats (`repeats: auto`) on a quiet machine (`pinsweep doctor`), and quote the number with its range.
    """
    for runs in _cells(results):
        own = list(_leading_apart(runs))
        yield from own
        yield from _others_apart(runs, {of for fault in own for of in (fault.metric, *fault.also)})


def _leading_apart(runs: Sequence[Run]) -> Iterator[Fault]:
    """Judge the leading number of a cell."""
    values = _standing(runs)
    if len(values) < 2 or min(values) == max(values) or not _tells_shares(runs, values):
        return
    noise = next(part(runs[0].tool, "noise")(), NOISE)
    led = leader(runs)
    much = max(noise / 2, LEAST_CHANGE)
    text = f"{fmt.plural(len(values), 'repeat')}, {fmt.span(values, led.unit, led.step)}"
    groups = scatter.groups(values, much)
    if groups:
        text += ", in two groups: " + fmt.words(fmt.span(group, led.unit, led.step) for group in groups)
    # Not the interval alone: of eight values it is their range.
    vague = not runs[0].most_repeats and len(values) >= FEWEST and scatter.scatters(values, much) and uncertainty(values) > LEAST_CHANGE  # fmt: skip
    if groups or scatter.scatters(values, noise) or vague:
        scattered = (led.metric, *_parts_apart(runs, led.metric, noise, much))
        also = tuple(_with(runs[0], scattered))[1:]
        yield Fault(level="warn", run=runs[0], metric=led.metric, also=also, text=text)
    elif formulas.spread(values).unsteady:
        yield Fault(level="info", run=runs[0], metric=led.metric, text=text)


def _parts_apart(runs: Sequence[Run], metric: str, noise: float, much: float) -> tuple[str, ...]:
    """Return the other parts of a metric, as STREAM's kernels, whose repeats differ widely, too."""
    whole = metric.rpartition("/")[0]
    parts: dict[str, list[float]] = {}
    for number in itertools.chain(*map(each_number, runs if whole else ())):
        if number.name.metric == whole and number.name.tells_of not in (whole, metric):
            parts.setdefault(number.name.tells_of, []).append(number.value)
    return tuple(
        of
        for of, values in parts.items()
        if len(values) == len(runs) and (scatter.scatters(values, noise) or scatter.groups(values, much))
    )


def _others_apart(runs: Sequence[Run], flagged: AbstractSet[str]) -> Iterator[Fault]:
    """Yield the other numbers whose repeats differ widely, as one fault per level with the widest of them."""
    found = [own for own in _beyond_reason(runs) if flagged.isdisjoint(wholes(own[0].name.tells_of))]
    by_level = group_by(found, lambda own: scatter.scatters([n.value for n in own], NOISE))
    for scattered, same in sorted(by_level.items(), reverse=True):
        widest = max(same, key=lambda own: own[-1].value / own[0].value)
        name, others = widest[0].name, len(same) - 1
        text = f"{name.words}: {fmt.span((n.value for n in widest), name.said_unit or name.unit, widest[0].step)}"  # fmt: skip
        text += f", and {fmt.plural(others, 'other number')}" if others else ""
        metric, *also = _with(runs[0], [own[0].name.tells_of for own in same])
        level = "warn" if scattered else "info"
        yield Fault(level=level, run=runs[0], metric=metric, also=tuple(also), text=text)  # type: ignore[arg-type]


def _beyond_reason(runs: Sequence[Run]) -> list[list[Number]]:
    """Return the repeats of each number of a cell that differ so widely, the lowest first."""
    numbers: dict[Name, list[Number]] = {}
    for number in itertools.chain(*map(each_number, runs)) if len(runs) > 1 else ():
        if not number.name.derived and number.name.better != "neither":
            numbers.setdefault(number.name, []).append(number)
    ordered = (sorted(own, key=lambda n: n.value) for own in numbers.values() if len(own) == len(runs))
    return [
        own
        for own in ordered
        if 0 < (_FAR_TAIL if own[0].name.statistic in _TAILS else _FAR) * own[0].value <= own[-1].value
        and scatter.tells_shares([n.value for n in own], own[0].name.unit)
    ]


def _with(run: Run, metrics: Sequence[str]) -> dict[str, None]:
    """Return metrics, then those that the tool shows with them, and that are flagged with them."""
    others = (of for metric in metrics for of in part(run.tool, "shown_with")(metric, run))
    return dict.fromkeys((*metrics, *others))


@check("G13", "warn")
def not_settled(results: Results) -> Iterator[Fault]:
    """repeats: auto did not settle

    With `repeats: auto` the 99 % interval of the median of the leading number still reaches further than 2.5 % (6 or 7 repeats: 1.25 %) after
    as many repeats as are allowed, or the sweep was stopped before, or every repeat was disturbed. If most cells of a sweep did not settle,
    the others are flagged, too, if they may be as noisy and settled by chance.

    Do: quote the number with its range; measure longer runs on a quiet machine, or start a stopped sweep again.
    """
    auto = [
        runs
        for runs in _cells(results)
        if runs[0].most_repeats and (values := _standing(runs)) and _tells_shares(runs, values)
    ]
    for cells in group_by(auto, lambda runs: (runs[0].file, runs[0].cell.sweep)).values():
        by_state = group_by(cells, lambda runs: bool(is_settled(_standing(runs))))
        settled, unknown = by_state.get(True, []), by_state.get(False, [])
        for runs in unknown:
            text = _unsettled(_standing(runs), max(run.record.repeat for run in runs), runs[0].most_repeats)
            yield Fault(level="warn", run=runs[0], text=text, metric=leader(runs).metric)
        texts = by_chance([_standing(runs) for runs in settled], [_standing(runs) for runs in unknown])
        for runs, text in zip(settled, texts, strict=True):
            if text:
                yield Fault(level="warn", run=runs[0], text=text, metric=leader(runs).metric)
    quiet = {(run.file, run.record.point_id) for tool in results.tools for run in results.good(tool)}
    disturbed = (run for run in results.disturbed if (run.file, run.record.point_id) not in quiet)
    for runs in by_cell(disturbed).values():
        if runs[0].most_repeats:
            yield Fault(level="warn", run=runs[0], text=f"{fmt.plural(len(runs), 'repeat')}, all disturbed")


def _unsettled(values: Sequence[float], last: int, most: int) -> str:
    """Return "±11 % after 8 of at most 15 repeats"."""
    if len(values) < BASE:
        return f"{fmt.plural(len(values), 'repeat')}, and {BASE} are needed to know a median to ±{fmt.percent(WITHIN)}"
    of = f" of at most {most}" if last < most else ""
    off = uncertainty(values)
    known = f"±{fmt.percent(off)}" if off <= 1 else "unknown median"
    return f"{known} after {len(values)}{of} repeats"


def by_chance(settled: Sequence[Sequence[float]], others: Sequence[Sequence[float]]) -> list[str]:
    """Return for each settled cell of a sweep why that may be chance, by its values; "" if it is not. `others` did not settle."""
    others = [values for values in others if len(values) >= BASE]  # that had the chance to settle
    noise = statistics.median(map(scatter.deviation, others)) if others else 0.0
    cells = len(settled) + len(others)
    if len(others) <= len(settled) or not noise:
        return [""] * len(settled)
    found = []
    for values, chance in zip(settled, scatter.calm_by_chance(settled, noise, cells), strict=True):
        off = OFF * noise / math.sqrt(len(values))
        text = f"settled, but {len(others)} of {cells} cells did not; with their noise ±{fmt.percent(off)}"
        found.append(text if chance and off > WITHIN else "")
    return found


@check("G14", "warn", "info")
def drifts(results: Results) -> Iterator[Fault]:
    """drift over the session

    Over the runs of a sweep in one session, 20 or more, each number through the median of its cell follows the order of the runs (Spearman's
    correlation, p < 0.01). The change is the median over all pairs of runs of one cell (Theil-Sen). From 3 % between first and last run on it
    is a warning. Random order keeps a drift from looking like an effect of an option, but it widens the repeats.

    Do: let the machine warm up, look for what changes with time (heat, clocks, a disk that fills), and compare sessions of the same length.
    """
    own = [run for tool in results.tools for run in results.good(tool) if not run.captured and not run.void]
    sessions = group_by(own, lambda run: (run.file, run.session.session, run.cell.sweep, run.tool))
    for (_, _, sweep, _), runs in sessions.items():
        cells = [list(same) for same in by_cell(runs).values()]
        found = scatter.drift([timed for same in cells if len(same) > 1 and (timed := _timed(same))])
        if found is None or found.p >= 0.01:
            continue
        change = math.expm1(found.per_hour * found.hours)
        word = "worse" if change < 0 else "better"
        yield Fault(
            level="warn" if abs(change) >= LEAST_CHANGE else "info", run=runs[0],
            metric=whole_of(leader(same).metric for same in cells), runs=tuple(same[0] for same in cells),
            cell=f"{fmt.plural(len(runs), 'run')} of {fmt.plural(len(cells), 'cell')} of {sweep}",
            text=f"{fmt.percent(abs(change))} {word} within {fmt.seconds(found.hours * 3600)}",
        )  # fmt: skip


def _timed(runs: Sequence[Run]) -> list[scatter.Timed]:
    """Return when each repeat of a cell ran, and its result, higher being better; [] if that is not known."""
    values = _turned(runs)
    try:
        at = [datetime.fromisoformat(run.record.started_utc).timestamp() / 3600 for run in runs]
    except ValueError:
        return []
    return [
        scatter.Timed(run.record.order_index, hours, math.log(value))
        for run, hours, value in zip(runs, at, values, strict=False)
    ]


def _turned(runs: Sequence[Run]) -> list[float]:
    """Return the leading number of each repeat, a time as its inverse: higher is better. [] if changes of it are no shares."""
    values, better = _standing(runs), leader(runs).better
    known = len(values) == len(runs) and min(values, default=0.0) > 0 and better != "neither"
    if not known or not _tells_shares(runs, values):
        return []
    return [1 / value for value in values] if better == "lower" else values


@check("G15", "info")
def slow_first(results: Results) -> Iterator[Fault]:
    """a slow first repeat

    The first of five or more repeats of a cell in a session is worse than every other by more than 3 %, and than their median by 4 of their
    standard deviations: caches, clocks or memory were cold. Cells without such an effect are flagged in 1 of 5000 cases at 1 % noise, in 1 of
    70 at 3 % and more.

    Do: quote the median; make the runs longer, or warm the machine first.
    """
    for cell in _cells(results):
        own = [run for run in cell if not run.captured and not run.void]
        for runs in group_by(own, lambda run: run.session.session).values():
            runs.sort(key=lambda run: run.record.order_index)
            if len(runs) >= scatter.LEAST_FOR_FIRST and scatter.is_slow_first(_turned(runs), LEAST_CHANGE):
                unit = leader(runs).unit
                first, *others = _standing(runs)
                text = f"first {fmt.quantity(first, unit)}, others {fmt.span(others, unit)}"
                yield Fault(level="info", run=runs[0], text=text)
