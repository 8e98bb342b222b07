"""Any metric of any tool: a line over the longest numeric axis or over message sizes, or a row per cell where there is neither."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from parsers import get_parser
from parsers.measurement import Scalar
from reports.charts import curve_rows, effects, facets, wording
from reports.charts._command_panels import curve_panels, levels_of, rows_left_out, rows_panels
from reports.charts._command_points import (
    MOST_SAMPLES,
    Metrics,
    Missing,
    Point,
    Read,
    directions,
    measured,
    points_of,
    printed_step,
    samples,
    spread_of,
    step_of,
    told_labels,
)
from reports.charts.chapter import Chapter
from reports.charts.dot_rows import MOST_ROWS
from reports.charts.effects import Effect, Level
from reports.draw.figure import Figure, Table, row_of
from reports.numbers import formulas, no_better
from reports.numbers.model import SIZE
from reports.page.model import KeyNumber
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.results.naming import program_name
from reports.text import format as fmt

SECTION = "Other programs"
RANK = 90
METHODS = ""


_MOST_MULTIPLES = 12
"""Panels of one metric, where a single one would be crowded."""

_MOST_COLOURS = 4
"""Levels of the axis that has the lines of a panel, where others tell panels apart."""


def chapter(results: Results, tool: str = "command") -> Chapter:
    """Draw the runs of any tool: one figure per sweep, one panel per metric."""
    runs = results.shown(tool)
    sweeps = group_by(runs, lambda r: r.cell.sweep)
    several = len({run.cell.sweep for run in results.runs}) > 1  # of any tool: the page has them all
    titled = group_by(sweeps, lambda sweep: _title(sweeps[sweep]))
    figures: list[Figure] = []
    key_numbers: list[KeyNumber] = []
    for sweep, members in sweeps.items():
        read = {run: measured(tool, run) for run in members}
        figure = _figure(tool, sweep, read, _lost(results, tool, sweep, members))
        figures += [figure] if figure else []
        title = _title(members)
        named = title if len(titled[title]) == 1 else f"{title} ({sweep})"
        key_numbers += _key_numbers(tool, read, whose=named if several else "")
    key_numbers = _with_directions(key_numbers)
    return Chapter(
        tool=tool, figures=tuple(figures), key_numbers=tuple(key_numbers), programs=wording.programs(runs)
    )


_MOST_KEYS = 2
"""Metrics of a sweep whose best cells stand at the head of the page."""


def _title(runs: Sequence[Run]) -> str:
    """Return what the sweep of these runs is called."""
    return runs[0].sweep_title or runs[0].cell.sweep


def _with_directions(numbers: Sequence[KeyNumber]) -> list[KeyNumber]:
    """Say of a name that is of opposite directions in two sweeps which way each is better."""
    ways = {
        name: {number.better for number in same} for name, same in group_by(numbers, lambda n: n.name).items()
    }
    said = {"lower": "less is better", "higher": "more is better"}
    return [
        replace(n, context=f"{n.context}; {said[n.better]}") if len(ways[n.name]) > 1 else n for n in numbers
    ]


def _key_numbers(tool: str, read: Read, *, whose: str) -> list[KeyNumber]:
    """Return the best cell of the first metrics that have a direction, of each sweep of a program of the user's; nothing of numbers of which
    a run has several. whose: the sweep in words, where the page has several."""
    if get_parser(tool).METRICS:
        return []
    unlike = facets.unlike(read)
    names = [*dict.fromkeys([*unlike[0].cell.axes, *facets.panel_names(unlike, within=())])]
    better = directions(tool, unlike)
    found: list[KeyNumber] = []
    values: dict[tuple[str, str], dict[Run, list[float]]] = {}
    for run, rows in read.items():
        for row in rows if run.sound else ():
            if better.get(row.metric, "neither") != "neither":
                values.setdefault((row.metric, row.unit), {}).setdefault(run, []).append(row.value)
    single = {of: own for of, own in values.items() if all(len(v) == 1 for v in own.values())}
    for (metric, unit), own in list(single.items())[:_MOST_KEYS]:
        sign = -1.0 if better[metric] == "lower" else 1.0
        many = facets.pooled(own)
        cells = group_by(own, lambda run: facets.cell(run)[1:] if many else facets.cell(run)).values()  # noqa: B023 (called at once)
        spreads = [
            (
                formulas.spread(
                    _of_hosts(own, cell) if many else [own[run][0] for run in cell],
                    printed_step(metric, cell),
                ),
                cell,
            )
            for cell in cells
        ]
        best, cell = max(spreads, key=lambda of: sign * of[0].median)
        told = facets.facet_title(facets.facet(cell[0], names), tool)
        ranked = _ranked(best, [of for of, _ in spreads], of_repeats=not many)
        context = "; ".join(filter(None, [whose, told, ranked]))
        number = wording.key_number(metric.replace("_", " "), best, unit, context, RANK + len(found), cell, program=_title(cell), metric=metric)  # fmt: skip
        found.append(replace(number, merit=sign * best.median, better=better[metric]))
    return found


def _of_hosts(values: Mapping[Run, Sequence[float]], cell: Iterable[Run]) -> list[float]:
    """Return the median of each host of a cell: one that ran it more often than the others counts as one."""
    return [
        statistics.median(values[run][0] for run in own)
        for own in group_by(cell, lambda run: run.host).values()
    ]


def _ranked(best: formulas.Spread, cells: Sequence[formulas.Spread], *, of_repeats: bool) -> str:
    """Say how the best cell stands among all of its sweep, itself among them: how many have its number, how many others may be the best by its
    repeats."""
    others = [of for of in cells if of.median != best.median]
    alike = len(cells) - len(others)
    if len(cells) == 1:
        return ""
    if not others:
        return f"the same in all {fmt.count(alike)} cells"
    lead = "" if alike == 1 else f"one of the {fmt.count(alike)} "
    within = wording.within_repeats(best, others) if of_repeats else ""
    return f"{lead}best of {fmt.count(len(cells))} cells{within}"


def _lost(results: Results, tool: str, sweep: str, runs: Sequence[Run]) -> list[Run]:
    """Return one failed run of each cell that never gave a number; of a sweep of one cell there is no such cell."""
    found = results.lost(tool, sweep)
    if not found:
        return []
    return facets.lost(results, tool, sweep, runs, within=facets.facet_names([*runs, *found], within=()))


def _figure(tool: str, sweep: str, read: Read, lost: Sequence[Run]) -> Figure | None:
    runs = list(read)
    planned = facets.unlike([*runs, *lost])
    axis = _numeric_axis(planned)
    names = [n for n in facets.facet_names(planned, within=()) if n != axis]
    short = facets.fewest(planned, names)
    told = told_labels(tool, read)
    apart = _apart(planned, short) if axis else []
    points = list(points_of(tool, read, axis, names, short, told, apart))
    metrics = group_by(points, lambda p: (p.panel, p.unit))
    if not metrics:
        return None
    drawn = dict(list(metrics.items())[: _MOST_MULTIPLES if apart else facets.MOST_PANELS])
    over = axis or (SIZE if any(p.x is not None for p in points) else "")
    missing = Missing.of(tool, lost, axis, short, apart)
    levels = levels_of(points, [name for name in short if name not in apart])
    panels, grey = curve_panels(drawn, over, missing, levels) if over else (rows_panels(drawn, missing), "")

    metric, whose = _effects_of_each(points, [*([axis] if axis else []), *names])
    found = [effect for own in whose.values() for effect in own]
    single = max(map(len, whose.values()), default=0) == 1
    seen = list(dict.fromkeys(point.run for own in drawn.values() for point in own))
    said = [
        wording.repeats(panels, runs),
        curve_rows.crossed(panels) if over else rows_left_out(drawn, missing),
        " Ring: the best cell." if any(p.wide["datasets"].get("rings") for p in panels) else "",
        wording.not_drawn(len(metrics), len(drawn), "panel" if apart else "metric"),
        f" {effects.rule(found)}" if found else "",
        " Messages of 0 B are in the numbers only." if over == SIZE and any(p.x == 0 for p in points) else "",
        _without_size(metrics) if over == SIZE else "",
        f" More than {fmt.count(MOST_SAMPLES)} numbers of a run are told by their quantiles."
        if any(map(samples, runs))
        else "",
    ]
    return Figure(
        id=f"{tool}-{sweep}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title=effects.title_of_each(metric, whose) or runs[0].sweep_title or sweep,
        sub=f"{wording.ran(seen, program_name)}.{''.join(said)}{wording.hollow(panels, seen)}{grey}",
        panels=tuple(panels),
        half=len(panels) == 1,
        strip=effects.drawn(effects.counted(metric, found[0].runs), found)
        if found and len(whose) == 1
        else None,
        tables=(_effects_table(whose, metric, points),) if single else (),
        numbers=(
            *([_effects_table(whose, metric, points)] if found and not single else []),
            _numbers(metrics, [*([axis] if axis else []), *names], told),
        ),
    )


def _without_size(metrics: Metrics) -> str:
    """Say which numbers have no place on an axis of message sizes; "" where all have one."""
    found = [panel for (panel, _), points in metrics.items() if all(p.x is None for p in points)]
    return f" Of no size, in the numbers only: {fmt.words(found)}." if found else ""


def _numeric_axis(runs: Sequence[Run]) -> str | None:
    """Return the axis of the sweep with the most different numbers, two at least; of several the first."""
    counts = {}
    for name in runs[0].cell.axes:
        values = [run.options.get(name) for run in runs]
        if all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
            counts[name] = len(set(values))
    longest = max(counts, key=lambda name: counts[name], default=None)
    return longest if longest and counts[longest] > 1 else None


def _apart(runs: Sequence[Run], names: Sequence[str]) -> list[str]:
    """Return the options that tell panels apart, where all of them would be more lines in one than have colours: all but the one with
    the most levels that colours can tell. None where that would be too many panels, and the lines are not."""
    rows = {facets.facet(run, names) for run in runs}
    levels = {name: len({dict(row)[name] for row in rows}) for name in names}
    coloured = [name for name in names if levels[name] <= _MOST_COLOURS]
    if len(rows) <= _MOST_COLOURS or not coloured:
        return []
    lines = max(coloured, key=lambda name: levels[name])
    apart = [name for name in names if name != lines]
    few = len({facets.facet(run, apart) for run in runs}) <= _MOST_MULTIPLES
    return (
        apart if few or len(rows) > MOST_ROWS else []
    )  # so many lines are told by nobody: the first panels, and the rest in the numbers


def _effects_of_each(points: Sequence[Point], names: Sequence[str]) -> tuple[str, dict[str, list[Effect]]]:
    """Return the metric of `_effects`, and host or file → what each axis does there: one may lack a level that another has, and the sides of a
    comparison need not agree; empty where none has an effect. "" where all share their panels."""
    metric, _ = _effects(points, names)
    own = group_by(points, lambda p: p.run.where if "host" in names else "")
    told = {where: _effects(of, names) for where, of in own.items()}
    each = {where: found if head == metric else [] for where, (head, found) in told.items()}
    return metric, each if any(each.values()) else {}


def _effects(points: Sequence[Point], names: Sequence[str]) -> tuple[str, list[Effect]]:
    """Return what each axis does to the first metric that has a direction, and that metric; nothing of what no direction is known of,
    and nothing of numbers of which a run has several."""
    judged = [p for p in points if p.better != "neither" and p.run.sound]
    if not judged or not names:
        return "", []
    own = [p for p in judged if p.head == judged[0].head]
    if len({len(p.key) for p in own} | {len(names)}) > 1:
        return "", []
    cells = {
        levels: formulas.spread([p.value for p in same])
        for levels, same in group_by(own, lambda p: p.key).items()
    }
    found = effects.effects(names, cells, own[0].better, no_better(own[0].run.tool))
    return own[0].head, [effect for effect in found if effect.axis in ("place", *own[0].run.cell.axes)]


def _effects_table(whose: Mapping[str, Sequence[Effect]], head: str, points: Sequence[Point]) -> Table:
    """One row a level, of each axis the best first. whose: as `_effects_of_each`; points: those of `head` are what the effects are of."""
    of_one = not any(whose)
    own = [p for p in points if p.head == head]
    runs = {key: [p.run for p in same] for key, same in group_by(own, lambda p: p.key).items()}
    told = [(where, effect) for where, found in whose.items() for effect in found]
    axes = {effect.axis for _, effect in told}
    beyond = (
        "Beyond the repeats in each"
        if any(effect.runs[1] > 1 for _, effect in told)
        else "More than 1.11 × in each"
    )
    several = any(
        level.n > 1 for _, effect in told for level in effect.levels
    )  # of one pair of cells a level there is no range

    def ratios_of(level: Level) -> str:
        return f"{fmt.number(level.low)} to {fmt.number(level.high)}"

    columns = [
        *([("Of", False)] if not of_one else []), *([("Axis", False)] if len(axes) > 1 else []), ("Level, best first", False), ("Best is better by, ×", True),
        *([("Range", True), ("Pairs", True)] if several else []), (beyond if several else beyond.removesuffix(" in each"), False),
    ]  # fmt: skip
    rows = [
        (
            *(() if of_one else (where,)), *((effect.axis,) if len(axes) > 1 else ()), level.name, ratios_of(level) if level.far_apart else fmt.number(level.behind),
            *((ratios_of(level) if i and level.n > 1 and not level.far_apart else fmt.NOTHING, f"{level.n} of {effect.rows}" if level.n < effect.rows else str(level.n)) if several else ()),
            "yes" if level.clear else f"no: {level.why}" if level.why else "no" if i else fmt.NOTHING,
        )
        for where, effect in told
        for i, level in enumerate(effect.levels)
    ]  # fmt: skip
    return Table(
        caption=f"{'What each axis does' if len(axes) > 1 else f'What {axes.pop()} does'}{effects.range_alone(level for _, effect in told for level in effect.levels)}",
        columns=tuple(name for name, _ in columns),
        rows=tuple(rows),
        numeric=frozenset(at for at, (_, right) in enumerate(columns) if right),
        of=tuple(
            row_of(run for cell in level.cells for run in runs[cell])
            for _, effect in told
            for level in effect.levels
        ),
        metric_of=(own[0].metric,) * len(rows),
    )


def _numbers(metrics: Metrics, names: Sequence[str], told: Sequence[str]) -> Table:
    """names, told: the options and the labels that `Point.key` has the values of; a label that says what an option of its name says has
    no column."""
    every = [p.key for points in metrics.values() for p in points]
    labels = {
        name: at
        for at, name in enumerate(told, len(names))
        if name not in names or any(key[at] != key[names.index(name)] for key in every)
    }
    rows, whose, of = [], [], []
    for (_, unit), points in metrics.items():
        for key, own in group_by(points, lambda p: p.key).items():
            spread, _ = spread_of(own)
            scale = fmt.scale_for([spread.median], unit)
            rows.append(
                (
                    *(fmt.NOTHING if v is None else str(v) for v in key[: len(names)]),
                    *(_label(name, key[at]) for name, at in labels.items()), own[0].number,
                    wording.spread_text(spread, scale, 4, step_of(own)), scale.unit if scale.unit != "1" else "", str(spread.n),
                )
            )  # fmt: skip
            whose.append(row_of(p.run for p in own))
            of.append(own[0].metric)
    return Table(
        columns=(
            *names,
            *(name.replace("_", " ").capitalize() for name in labels),
            "Metric",
            "Value",
            "Unit",
            "Repeats",
        ),
        rows=tuple(rows),
        numeric=frozenset((len(names) + len(labels) + 1, len(names) + len(labels) + 3)),
        of=tuple(whose),
        metric_of=tuple(of),
    )


def _label(name: str, value: Scalar) -> str:
    if value is None:
        return fmt.NOTHING
    return fmt.size(float(value)) if name == SIZE and isinstance(value, int | float) else str(value)
