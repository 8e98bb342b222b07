"""Checks of what the repeats of a cell say together."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime

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


def _cells(results: Results) -> Iterator[list[Run]]:
    """Give the good repeats of each cell."""
    for tool in results.tools:
        yield from by_cell(results.good(tool)).values()


def _standing(runs: Sequence[Run]) -> list[float]:
    """Return the number that stands for each repeat of a cell."""
    return standing(runs[0].tool, [run.parsed for run in runs if run.parsed])


NOISE = 0.075
"""Standard deviation over the repeats, as a share of their median, that is nothing to remark on; a tool's `noise` may say another."""


LEAST_CHANGE = 0.03
"""A change of the numbers that counts, as in `compare`."""


@check("G11", "warn", "info")
def far_apart(results: Results) -> Iterator[Fault]:
    """repeats far apart

    The repeats of a cell, by the number that stands for it, scatter by more than is usual: 3 % for STREAM and MLC, 7.5 % for others, as a
    standard deviation. Of fewer than six repeats the range tells: 10 % of the median for three of STREAM, 25 % for three of others; of
    six and more how far apart the nearer quarter of their pairs is. Either is exceeded by 5 % of the cells that scatter just as usual.
    Of eight and more also two groups with nothing between them: their median is of a value that hardly occurs. The gap is wider than
    either group (than twice either where one is of two) and than 3 % of the median, 3.75 % where 7.5 % of noise is usual. A few repeats far from the
    others, more than 25 % of the median, are a note. Of STREAM the other kernels that scatter so, too, are doubted with it, of fio the other direction, and of each
    direction whose IOPS do so the mean latency. Where 7.5 % is usual, eight and more that scatter by more than 3.75 % and tell their
    median to no better than ±3 % (order statistics, 99 %; ±3 % is a change that counts in `compare`) are named, too; of `repeats: auto` G13 says it.

    Of cells with normal noise of 2 % at most 1 in 100 is named, whatever the tool and the number of repeats. Of STREAM and MLC at 5 %: 34 % of cells of three
    repeats, 55 % of eight, 60 % of ten, 72 % of fifteen. Two levels that are hit equally often, each with a noise of 1 %, are named as two groups
    in 33 % of cells of eight where they are 5 % apart, 74 % (7 % apart) and 90 % (10 % apart).
    A machine that is always as busy does not show so. Five repeats and more that rise or fall in the order in which they ran, as 2 in
    100 random orders do, are called so: that is a trend, whose median is of one moment.

    Of levels (dB, °C), of counts below 10 and of ratios below 0.1 nothing is said: no share of them tells how far apart they are.

    Of the other numbers of a cell, as the time of 0 B beside the peak, those are named whose highest repeat is 3 × the lowest or more, of a
    tail (p95 and beyond) 10 ×; where they do not scatter else, as above, that is a note.

    Do: measure more repeats (`repeats: auto`) on a quiet machine (`pinsweep doctor`); of two groups look for what has two states: where
    memory or threads land, clocks, a cache; of a trend for what the runs leave behind: dirty pages, a disk that fills, heat. Quote no
    such number without its range.
    """
    for runs in _cells(results):
        own = list(_standing_apart(runs))
        yield from own
        yield from _others_apart(runs, {of for fault in own for of in (fault.metric, *fault.also)})


def _standing_apart(runs: Sequence[Run]) -> Iterator[Fault]:
    """Judge the number that stands for each repeat of a cell."""
    values = _standing(runs)
    if len(values) > 1 and min(values) < max(values) and _tells_shares(runs, values):
        noise = next(part(runs[0].tool, "noise")(), NOISE)
        led = leader(runs)
        unit = led.unit
        much = max(noise / 2, LEAST_CHANGE)
        text = ""
        if parted := scatter.groups(values, much):
            texts = (f"{fmt.plural(len(own), 'repeat')} of {_range(own, unit, led.step)}" for own in parted)
            text = f"two groups: {fmt.words(texts)}"
        elif scatter.scatters(values, noise):
            text = f"{_apart(values, unit, led.step)}{_trend(runs)}"
        elif not runs[0].most_repeats and _is_vague(values, much):
            text = f"{_apart(values, unit, led.step)}; the median is known to ±{fmt.percent(uncertainty(values))}"
        if text:
            scattered = (led.metric, *_scattered(runs, led.metric, noise, much))
            also = tuple(_with(runs[0], scattered))[1:]
            yield Fault(level="warn", run=runs[0], metric=led.metric, also=also, text=text)
        elif formulas.spread(values).unsteady:
            yield Fault(
                level="info",
                run=runs[0],
                metric=led.metric,
                text=f"{_apart(values, unit, led.step)}{_trend(runs)}",
            )


def _tells_shares(runs: Sequence[Run], values: Sequence[float]) -> bool:
    """May the number that stands for some repeats be judged by shares of it?"""
    return scatter.tells_shares(values, leaders(runs[0].tool, *(run.parsed for run in runs))[0][0])


_FAR, _FAR_TAIL = 3.0, 10.0
"""How many times the lowest repeat the highest one is, at least, where that is said of a number that stands for no run; and of a tail."""

_TAILS = frozenset(name for name, share in QUANTILES if share > 0.5)

_FEW = 10_000
"""Numbers of a cell that are looked at: a run may have a million."""


def _others_apart(runs: Sequence[Run], told: AbstractSet[str]) -> Iterator[Fault]:
    """Name the number of a cell whose repeats are furthest apart, and how many others are beyond reason, too; those of which a few repeats alone
    are far from the others apart from these. told: the metrics of which that is said already."""
    found = [own for own in _beyond_reason(runs) if told.isdisjoint(wholes(own[0].name.tells_of))]
    by_level = group_by(found, lambda own: scatter.scatters([n.value for n in own], NOISE))
    for scattered, same in sorted(by_level.items(), reverse=True):
        worst = max(same, key=lambda own: own[-1].value / own[0].value)
        name, others = worst[0].name, len(same) - 1
        text = f"{name.words}: {_apart([n.value for n in worst], name.said_unit or name.unit, worst[0].step)}"
        text += (
            f"; {fmt.plural(others, 'other number')} {'is' if others == 1 else 'are'} far apart, too"
            if others
            else ""
        )
        metric, *also = _with(runs[0], [own[0].name.tells_of for own in same])
        yield Fault(
            level="warn" if scattered else "info", run=runs[0], metric=metric, also=tuple(also), text=text
        )


def _with(run: Run, metrics: Sequence[str]) -> dict[str, None]:
    """Return metrics, and behind them those that move with them by what the tool measures, and are doubted with them."""
    beside = (of for metric in metrics for of in part(run.tool, "shown_with")(metric, run))
    return dict.fromkeys((*metrics, *beside))


def _beyond_reason(runs: Sequence[Run]) -> list[list[Number]]:
    """Return the repeats of each number of a cell that are so far apart, the lowest first."""
    known: dict[Name, list[Number]] = {}
    for number in itertools.chain(*map(each_number, runs)) if len(runs) > 1 else ():
        if number.name in known or len(known) < _FEW:
            known.setdefault(number.name, []).append(number)
    judged = {
        name: sorted(own, key=lambda n: n.value)
        for name, own in known.items()
        if not name.derived and name.better != "neither"
    }
    return [
        own for name, own in judged.items()
        if len(own) == len(runs) and scatter.tells_shares([n.value for n in own], name.unit) and 0 < (_FAR_TAIL if name.statistic in _TAILS else _FAR) * own[0].value <= own[-1].value
    ]  # fmt: skip


def _scattered(runs: Sequence[Run], metric: str, noise: float, much: float) -> tuple[str, ...]:
    """Return the other parts of a metric, as STREAM's kernels, whose repeats are far apart, too; () of a metric without parts."""
    whole = metric.rpartition("/")[0]
    parts: dict[str, list[float]] = {}
    for number in itertools.chain(*map(each_number, runs if whole else ())):
        if number.name.metric == whole and number.name.tells_of not in (whole, metric):
            parts.setdefault(number.name.tells_of, []).append(number.value)
    every = {of: values for of, values in parts.items() if len(values) == len(runs)}
    return tuple(
        of for of, values in every.items() if scatter.scatters(values, noise) or scatter.groups(values, much)
    )


def _trend(runs: Sequence[Run]) -> str:
    """Return ", rising over the repeats" of such a cell: as its own program prints the number."""
    if any(run.captured for run in runs) or len({run.session.session for run in runs}) > 1:
        return ""
    said = scatter.trend(_standing(sorted(runs, key=lambda run: run.record.order_index)))
    return f", {said}" if said else ""


def _is_vague(values: Sequence[float], much: float) -> bool:
    """Do many repeats that scatter by more than `much` leave open where their median is?

    Not the interval alone: of eight values it is their range, which reaches 3 % from the median in every second cell with a noise of 2 %.
    """
    return len(values) >= FEWEST and scatter.scatters(values, much) and uncertainty(values) > LEAST_CHANGE


def _apart(values: Sequence[float], unit: str, step: float | None) -> str:
    """Return "5.50 GB/s, 6.40 GB/s and 22.5 GB/s: the highest is 4.1 × the lowest"; of many their range. What reaches 0 or below has no
    such ratio: how far apart it is, and about what median."""
    low, high = min(values), max(values)
    said = (
        fmt.words(fmt.quantity(value, unit, step=step) for value in sorted(values))
        if len(values) <= _MOST_QUOTED
        else f"{fmt.plural(len(values), 'repeat')} from {_range(values, unit, step)}"
    )
    if low <= 0:
        median = fmt.quantity(statistics.median(values), unit)
        return f"{said}: {fmt.quantity(high - low, unit)} apart about a median of {median}"
    return f"{said}: the highest is {fmt.number(high / low, 2 if high < 10 * low else 3)} × the lowest"


_MOST_QUOTED = 3


def _range(values: Sequence[float], unit: str, step: float | None = None) -> str:
    return f"{fmt.quantity(min(values), unit, step=step)} to {fmt.quantity(max(values), unit, step=step)}"


@check("G13", "warn")
def not_settled(results: Results) -> Iterator[Fault]:
    """repeats: auto, and the number did not settle

    Of a cell with `repeats: auto`, by the number that stands for it: the order-statistic interval that holds the true median with 99 %
    reaches further than 2.5 % from the median of the repeats (that of six or seven, which is their range, further than 1.25 %), though
    the cell ran as often as it may; or the sweep was stopped before, or every repeat was disturbed. Where more cells of a sweep did not
    settle than did, each that did is named, too, if it may be as noisy as those (of such a sweep one cell in 20 would agree as well by
    chance) and its median is then not known to 2.5 %. Left out are numbers of which G11 says nothing: levels, counts and ratios near 0.

    Do: quote the number with its range; look for what disturbs (`pinsweep doctor`), measure longer runs, or, where the sweep was
    stopped, start the same command again.
    """
    auto = [
        runs
        for runs in _cells(results)
        if runs[0].most_repeats and (values := _standing(runs)) and _tells_shares(runs, values)
    ]
    for cells in group_by(auto, lambda runs: (runs[0].file, runs[0].cell.sweep)).values():
        settled, others = (
            [runs for runs in cells if is_settled(_standing(runs)) is so] for so in (True, False)
        )
        for runs in others:
            text = _unsettled(_standing(runs), max(run.record.repeat for run in runs), runs[0].most_repeats)
            yield Fault(level="warn", run=runs[0], text=text, metric=leader(runs).metric)
        doubts = doubted([_standing(runs) for runs in settled], [_standing(runs) for runs in others])
        for runs, doubt in zip(settled, doubts, strict=True):
            if doubt:
                yield Fault(level="warn", run=runs[0], text=doubt, metric=leader(runs).metric)
    quiet = {(run.file, run.record.point_id) for tool in results.tools for run in results.good(tool)}
    alone = (run for run in results.disturbed if (run.file, run.record.point_id) not in quiet)
    for runs in by_cell(alone).values():
        if runs[0].most_repeats:
            text = f"did not settle: none of {fmt.plural(len(runs), 'repeat')} was left undisturbed"
            yield Fault(level="warn", run=runs[0], text=text)


def _unsettled(values: Sequence[float], last: int, most: int) -> str:
    if len(values) < BASE:
        return f"did not settle: {fmt.plural(len(values), 'repeat')} with numbers, {BASE} tell whether a median is known to ±{fmt.percent(WITHIN)}"
    of = f" of at most {most}" if last < most else ""
    off = uncertainty(values)
    known = f"±{fmt.percent(off)}" if off <= 1 else "its median is not determined"
    return f"did not settle: {known} after {len(values)}{of} repeats"


OFF = 1.96 * math.sqrt(math.pi / 2)
"""How far a median is off, with 95 %, in standard deviations of its values through the root of their number."""


def doubted(settled: Sequence[Sequence[float]], others: Sequence[Sequence[float]]) -> list[str]:
    """Say of each of the cells of a sweep that settled, by its values, why that may be chance; "" where it is not. `others` did not settle."""
    others = [values for values in others if len(values) >= BASE]  # which had the chance to settle
    cells, noise = (
        len(settled) + len(others),
        statistics.median(map(scatter.deviation, others)) if others else 0.0,
    )
    if len(others) <= len(settled) or not noise:
        return [""] * len(settled)
    found = []
    for values, by_chance in zip(settled, scatter.calm_by_chance(settled, noise, cells), strict=True):
        off = OFF * noise / math.sqrt(len(values))
        text = (
            f"settled, perhaps by chance: {len(others)} of {cells} cells of the sweep did not; "
            f"if it scatters as they do, by {fmt.percent(noise)}, its median is known to ±{fmt.percent(off)}"
        )
        found.append(text if by_chance and off > WITHIN else "")
    return found


LONG_ENOUGH = 0.25
"""Hours of a session of which a change per hour can be said."""


@check("G14", "warn", "info")
def drifts(results: Results) -> Iterator[Fault]:
    """numbers that move with time

    Over the runs of a sweep in one session, 20 or more, each number through the median of its cell moves with the order of the runs, by
    Spearman's correlation with p < 0.01 (the runs of a cell are what may be exchanged: without a drift, 1 sweep in 100 is named). How
    much is the median over all pairs of runs of one cell (Theil-Sen). 3 % or more from the first run to the last: warn. Rounds in random
    order keep a drift from looking like an effect of an option; it widens the repeats, and where cells ran one after the other
    (`order: listed`) it is in their differences. Left out are numbers of which neither way is better, and those of which G11 says nothing.

    Do: look for what changes with time (heat, clocks, a disk that fills, other work on the machine); let the machine warm up, and compare
    with sessions of about the same length only.
    """
    own = [run for tool in results.tools for run in results.good(tool) if not run.captured and not run.void]
    several = len({run.cell.sweep for run in own}) > 1
    for (_, _, sweep, _), sessions in group_by(
        own, lambda run: (run.file, run.session.session, run.cell.sweep, run.tool)
    ).items():
        cells = [list(same) for same in by_cell(sessions).values()]
        found = scatter.drift([timed for same in cells if len(same) > 1 and (timed := _timed(same))])
        if found is None or found.p >= 0.01:
            continue
        change = math.expm1(found.per_hour * found.hours)
        counted = f"{fmt.plural(len(sessions), 'run')} of {fmt.plural(len(cells), 'cell')}"
        words = list(dict.fromkeys(leader(same).words for same in cells))
        of = fmt.words(words) if len(words) <= _MOST_QUOTED else "what stands for a run"
        yield Fault(
            level="warn" if abs(change) >= LEAST_CHANGE else "info", run=sessions[0], metric=whole_of(leader(same).metric for same in cells), runs=tuple(same[0] for same in cells),
            cell=f"{counted} of {sweep}" if several else counted, text=_drift(found, change, of),
        )  # fmt: skip


def _drift(found: scatter.Drift, change: float, of: str) -> str:
    """Return "drift of bandwidth over the session: 2.1 % worse within 40 min, 3.1 % an hour (p = 0.002)"."""
    word = "worse" if change < 0 else "better"
    hourly = f", {fmt.percent(abs(math.expm1(found.per_hour)))} an hour" if found.hours >= LONG_ENOUGH else ""
    p = f"p = {found.p:.3f}" if found.p >= 0.001 else "p < 0.001"
    return f"drift of {of} over the session: {fmt.percent(abs(change))} {word} within {fmt.seconds(found.hours * 3600)}{hourly} ({p})"


def _timed(runs: Sequence[Run]) -> list[scatter.Timed]:
    """Return when each repeat of a cell ran, and what it found, higher being better; [] where that cannot be said."""
    values = _turned(runs)
    if any(run.captured for run in runs):
        return []  # of a text only the time of its intake is known
    try:
        at = [datetime.fromisoformat(run.record.started_utc).timestamp() / 3600 for run in runs]
    except ValueError:
        return []
    return [
        scatter.Timed(run.record.order_index, hours, math.log(value))
        for run, hours, value in zip(runs, at, values, strict=False)
    ]


def _turned(runs: Sequence[Run]) -> list[float]:
    """Return the number that stands for each of some repeats, a time as its inverse: higher is better. [] where not all have one of which
    changes are a share."""
    values, better = _standing(runs), leader(runs).better
    known = len(values) == len(runs) and min(values, default=0.0) > 0 and better != "neither"
    if not known or not _tells_shares(runs, values):
        return []
    return [1 / value for value in values] if better == "lower" else values


@check("G15", "info")
def slow_first(results: Results) -> Iterator[Fault]:
    """a first repeat worse than all others

    Of five repeats or more of a cell in one session the first one is worse than every other by more than 3 %, and than their median by 4
    of their standard deviations: caches, clocks or memory were cold. (Of cells without such an effect: 1 in 5000 at 1 % of noise, 1 in
    70 at 3 % and more.) The median hardly moves by it; a mean, a lowest or a highest value does. Left out is what G14 leaves
    out.

    Do: quote the median; make the runs longer, or let something warm the machine before the first of them.
    """
    for cell in _cells(results):
        own = [run for run in cell if not run.captured and not run.void]
        for runs in group_by(own, lambda run: run.session.session).values():
            runs.sort(key=lambda run: run.record.order_index)
            if len(runs) >= scatter.LEAST_FOR_FIRST and scatter.is_slow_first(_turned(runs), LEAST_CHANGE):
                unit = leader(runs).unit
                first, *others = _standing(runs)
                text = f"the first {fmt.quantity(first, unit)}; the other {fmt.spelled(len(others))}: {_range(others, unit)}"
                yield Fault(level="info", run=runs[0], text=text)
