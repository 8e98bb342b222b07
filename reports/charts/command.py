"""Any metric of any tool: a line over the longest numeric axis or over message sizes, or a row per cell where there is neither."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from parsers import command, get_parser
from parsers.measurement import Counted, Direction, Measurement, Parsed, Scalar
from reports import numbers
from reports.charts import curve_rows, dot_rows, effects, facets, wording
from reports.charts.chapter import Chapter
from reports.charts.curve_rows import Curve
from reports.charts.effects import Effect
from reports.charts.soundness import counted, is_hollow
from reports.draw import axes, vega
from reports.draw.figure import Figure, Panel, Table, panel, row_of
from reports.draw.plot import Plot, height, left_margin
from reports.draw.vega import Frame, Rows, Spec
from reports.numbers import formulas
from reports.page.model import KeyNumber
from reports.readings import measurements
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.results.naming import program_name
from reports.text import format as fmt

SECTION = "Other programs"
RANK = 90
METHODS = ""

_MOST_ROWS = 24

_MOST_MULTIPLES = 12
"""Panels of one metric, where a single one would be crowded."""

_MOST_COLOURS = 4
"""Levels of the axis that has the lines of a panel, where others tell panels apart."""

_MOST_SAMPLES = 1000
"""Numbers of one metric of one run that are shown one by one; of more, what `_QUANTILES` names."""

_QUANTILES: Final = {"lowest": 0.0, "5 %": 0.05, "median": 0.5, "95 %": 0.95, "highest": 1.0}

_SIZE = "message_size"
"""The label over which the numbers of one run are a line."""

_OF_PANEL = ("benchmark", "operation", "test")
"""Labels that tell panels apart; the others tell lines apart, or rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Missing:
    """A cell that never gave a number, and where it would be drawn."""

    beside: facets.Facet  # what tells its panels from others of the same metric
    line: str  # as `Point.line`, as far as no number tells it
    x: float | None  # the value of the axis
    run: Run  # one that failed

    @staticmethod
    def of(
        tool: str, lost: Sequence[Run], axis: str | None, names: Sequence[str], apart: Sequence[str]
    ) -> list[_Missing]:
        inner = [name for name in names if name not in apart]
        return [
            _Missing(
                beside=facets.facet(run, apart), line=facets.facet_title(facets.facet(run, inner), tool),
                x=float(run.options[axis]) if axis else None, run=run,
            )
            for run in lost
        ]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One number of one run, and where it is drawn. `value` in `unit`."""

    run: Run
    head: str  # "mean latency, MPI Latency Test"
    beside: facets.Facet  # the levels of further axes, where one panel would be crowded
    panel: str  # the same; where one panel would be crowded, with the levels of further axes
    unit: str
    better: Direction
    line: str  # what tells it from the others of its panel and x: "alg fast, host n001, p99"
    x: float | None  # the value of the axis, else the message size
    metric: str  # as `numbers.Name.tells_of`
    key: tuple[Scalar, ...]  # the values of the axis and of the options, then of the labels
    value: float


def chapter(results: Results, tool: str = "command") -> Chapter:
    """Draw the runs of any tool: one figure per sweep, one panel per metric."""
    runs = results.shown(tool)
    sweeps = group_by(runs, lambda r: r.cell.sweep)
    figures = [
        _figure(tool, sweep, members, _lost(results, tool, sweep, members))
        for sweep, members in sweeps.items()
    ]
    return Chapter(
        tool=tool,
        figures=tuple(f for f in figures if f),
        key_numbers=tuple(n for own in sweeps.values() for n in _key_numbers(tool, own, several=len(sweeps) > 1)),
        programs=wording.programs(runs),
    )  # fmt: skip


_MOST_KEYS = 2
"""Metrics of a sweep whose best cells stand at the head of the page."""


def _key_numbers(tool: str, runs: Sequence[Run], *, several: bool) -> list[KeyNumber]:
    """Return the best cell of the first metrics that have a direction, of each sweep of a program of the user's; nothing of numbers of which
    a run has several. several: are there several sweeps? Then it says whose they are."""
    if get_parser(tool).METRICS:
        return []
    names = [*dict.fromkeys([*runs[0].cell.axes, *facets.fewest(runs, facets.facet_names(runs, within=()))])]
    better = _directions(tool, runs)
    found: list[KeyNumber] = []
    values: dict[tuple[str, str], dict[Run, list[float]]] = {}
    for run in runs:
        for row in _measured(tool, run) if run.sound else ():
            if better.get(row.metric, "neither") != "neither":
                values.setdefault((row.metric, row.unit), {}).setdefault(run, []).append(row.value)
    single = {of: own for of, own in values.items() if all(len(v) == 1 for v in own.values())}
    for (metric, unit), own in list(single.items())[:_MOST_KEYS]:
        sign = -1.0 if better[metric] == "lower" else 1.0
        cells = group_by(own, facets.cell).values()
        spreads = [
            (formulas.spread([own[run][0] for run in cell], _printed(metric, cell)), cell) for cell in cells
        ]
        best, cell = max(spreads, key=lambda of: sign * of[0].median)
        told = facets.facet_title(facets.facet(cell[0], names), tool)
        whose = cell[0].sweep_title or cell[0].cell.sweep
        ranked = _ranked(sum(of.median == best.median for of, _ in spreads), len(spreads))
        context = "; ".join(filter(None, [whose if several else "", told, ranked]))
        number = wording.key_number(metric.replace("_", " "), best, unit, context, RANK + len(found), cell, program=whose, metric=metric)  # fmt: skip
        found.append(replace(number, merit=sign * best.median))
    return found


def _ranked(alike: int, cells: int) -> str:
    """Say how a cell stands among all of its sweep, of which so many, itself among them, have the number of the best."""
    if cells == 1:
        return ""
    if alike == cells:
        return f"the same in all {fmt.count(cells)} cells"
    return f"{'' if alike == 1 else f'one of the {fmt.count(alike)} '}best of {fmt.count(cells)} cells"


def _lost(results: Results, tool: str, sweep: str, runs: Sequence[Run]) -> list[Run]:
    """Return one failed run of each cell that never gave a number; of a sweep of one cell there is no such cell."""
    found = results.lost(tool, sweep)
    return facets.lost(results, tool, sweep, runs, within=facets.facet_names([*runs, *found], within=()))


def _figure(tool: str, sweep: str, runs: Sequence[Run], lost: Sequence[Run]) -> Figure | None:
    planned = [*runs, *lost]
    axis = _numeric_axis(planned)
    names = [n for n in facets.facet_names(planned, within=()) if n != axis]
    short = facets.fewest(planned, names)
    told = _told(tool, runs)
    apart = _apart(planned, short) if axis else []
    points = list(_points(tool, runs, axis, names, short, told, apart))
    metrics = group_by(points, lambda p: (p.panel, p.unit))
    if not metrics:
        return None
    drawn = dict(list(metrics.items())[: _MOST_MULTIPLES if apart else facets.MOST_PANELS])
    over = axis or (_SIZE if any(p.x is not None for p in points) else "")
    missing = _Missing.of(tool, lost, axis, short, apart)
    levels = _levels(points, [name for name in short if name not in apart])
    panels, grey = _curve_panels(drawn, over, missing, levels) if over else (_rows_panels(drawn, missing), "")
    left = len(metrics) - len(drawn)
    metric, found = _effects(points, [*([axis] if axis else []), *names])
    seen = list(dict.fromkeys(point.run for own in drawn.values() for point in own))
    said = [
        wording.repeats(panels, runs),
        curve_rows.crossed(panels) if over else "",
        " Ring: the best cell." if any(p.wide["datasets"].get("rings") for p in panels) else "",
        f" {fmt.plural(left, 'more panel' if apart else 'more metric')} in the numbers only."
        if left > 0
        else "",
        f" {effects.rule(found)}" if found else "",
        " Messages of 0 B are in the numbers only."
        if over == _SIZE and any(p.x == 0 for p in points)
        else "",
        f" More than {fmt.count(_MOST_SAMPLES)} numbers of a run are told by their quantiles."
        if any(map(_samples, runs))
        else "",
    ]
    return Figure(
        id=f"{tool}-{sweep}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title=effects.title(metric, found) or runs[0].sweep_title or sweep,
        sub=f"{wording.ran(seen, program_name)}.{''.join(said)}{wording.hollow(panels, seen)}{grey}",
        panels=tuple(panels),
        half=len(panels) == 1,
        strip=effects.drawn(metric, found),
        tables=(_effects_table(found, metric, points),) if len(found) == 1 else (),
        numbers=(
            *([_effects_table(found, metric, points)] if len(found) > 1 else []),
            _numbers(metrics, [*([axis] if axis else []), *names], told),
        ),
    )


def _measured(tool: str, run: Run) -> list[Measurement]:
    """Return what a run is compared by; of a program of the user's all that he names, of a line that comes twice the first."""
    metrics = get_parser(tool).METRICS
    compared = {number.name.metric for number in numbers.numbers(run)} if metrics else ()
    kept: dict[tuple[object, ...], Measurement] = {}
    for row in _samples(run) or measurements(run):
        if not compared or row.metric in compared:
            kept.setdefault((row.metric, row.unit, *row.labels.items()), row)
    return list(kept.values())


def _samples(run: Run) -> list[Measurement]:
    """Return the quantiles of a run that has more numbers of a metric than anybody reads, under these names for an index, and what else it
    has; nothing of a run that has not."""
    return run.parsed.once(_quantiled) if run.parsed else []


def _quantiled(parsed: Parsed) -> list[Measurement]:
    rows = parsed.measurements.rows
    if not isinstance(rows, Counted) or all(len(values) <= _MOST_SAMPLES for _, _, values in rows.series):
        return []
    return [
        Measurement(metric, unit, value, {"index": index})
        for metric, unit, values in rows.series
        for index, value in (_quantiles(values) if len(values) > _MOST_SAMPLES else enumerate(values))
    ]


def _quantiles(values: Sequence[float]) -> Iterator[tuple[str, float]]:
    ordered = sorted(values)
    return ((name, ordered[round(share * (len(ordered) - 1))]) for name, share in _QUANTILES.items())


def _directions(tool: str, runs: Sequence[Run]) -> dict[str, Direction]:
    """Return which way is better, by metric; of a program of the user's as he says."""
    if not get_parser(tool).METRICS:
        named = (command.metrics_of(run.cell.options) for run in runs)
        return {name: metric.better for own in named for name, metric in own.items()}
    return {number.name.metric: number.name.better for run in runs for number in numbers.numbers(run)}


def _told(tool: str, runs: Sequence[Run]) -> list[str]:
    """Return the labels that differ between the numbers; a mere count of tables or runs only where nothing else tells them apart."""
    rows = [(run, row) for run in runs for row in _measured(tool, run)]
    found = [n for n in get_parser(tool).LABELS if len({row.get(n) for _, row in rows}) > 1]
    for count in ("table", "run"):
        others = [n for n in found if n != count]
        if len({(run, row.metric, *map(row.get, others)) for run, row in rows}) == len(rows):
            found = others
    return found


def _points(
    tool: str,
    runs: Sequence[Run],
    axis: str | None,
    names: Sequence[str],
    short: Sequence[str],
    told: Sequence[str],
    apart: Sequence[str],
) -> Iterator[Point]:
    """short: the fewest of the names that tell the cells apart; apart: those of them that tell panels apart."""
    better = _directions(tool, runs)
    sized = axis is None and _SIZE in told
    inner = [n for n in told if n not in _OF_PANEL and not (sized and n == _SIZE)]
    for run in runs:
        of = facets.facet_title(facets.facet(run, [n for n in short if n not in apart]), tool)
        further = facets.facet(run, apart)
        beside = facets.facet_title(further, tool)
        for row in _measured(tool, run):
            statistic = row.get("statistic") if "statistic" not in told else None
            metric = " ".join(
                filter(None, ("" if statistic is None else str(statistic), row.metric.replace("_", " ")))
            )
            panels = (str(row.get(n)) for n in told if n in _OF_PANEL and row.get(n) is not None)
            named = ", ".join([metric, *panels])
            words = (_word(n, row.get(n)) for n in inner if row.get(n) is not None)
            size = row.get(_SIZE)
            yield Point(
                run=run, head=named, beside=further, metric=row.metric, panel=", ".join(filter(None, [named, beside])), unit=row.unit, better=better.get(row.metric, "neither"),
                line=", ".join(filter(None, [of, *words])), value=row.value,
                x=float(run.options[axis]) if axis else float(size) if sized and isinstance(size, int | float) else None,
                key=(*(v for _, v in facets.facet(run, [*([axis] if axis else []), *names])), *map(row.get, told)),
            )  # fmt: skip


def _word(label: str, value: Scalar) -> str:
    if label == "statistic" or value in _QUANTILES:
        return str(value)
    return fmt.size(float(value)) if label == _SIZE and isinstance(value, int | float) else f"{label} {value}"


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
    """Return the options that tell panels apart, where all of them would be more lines in one than anybody follows: all but the one with
    the most levels that colours can tell. None where that would be too many panels, and the lines are not."""
    rows = {facets.facet(run, names) for run in runs}
    levels = {name: len({dict(row)[name] for row in rows}) for name in names}
    coloured = [name for name in names if levels[name] <= _MOST_COLOURS]
    if len(rows) <= curve_rows.MOST_SERIES or not coloured:
        return []
    lines = max(coloured, key=lambda name: levels[name])
    apart = [name for name in names if name != lines]
    few = len({facets.facet(run, apart) for run in runs}) <= _MOST_MULTIPLES
    return (
        apart if few or len(rows) > _MOST_ROWS else []
    )  # so many lines are told by nobody: the first panels, and the rest in the numbers


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
    found = effects.effects(names, cells, own[0].better)
    return own[0].head, [effect for effect in found if effect.axis in ("place", *own[0].run.cell.axes)]


def _effects_table(found: Sequence[Effect], head: str, points: Sequence[Point]) -> Table:
    """One row a level, of each axis the best first. points: those of `head` are what the effects are of."""
    own = [p for p in points if p.head == head]
    runs = {key: [p.run for p in same] for key, same in group_by(own, lambda p: p.key).items()}
    whose = tuple(
        row_of(run for cell in level.cells for run in runs[cell])
        for effect in found
        for level in effect.levels
    )
    rows = [
        (
            effect.axis, level.name, fmt.number(level.behind),
            f"{fmt.number(level.low)} to {fmt.number(level.high)}" if i and level.n > 1 else fmt.NOTHING,
            str(level.n), "" if i < len(effect.levels) - 1 else "yes" if effect.clear else "no",
        )
        for effect in found
        for i, level in enumerate(effect.levels)
    ]  # fmt: skip
    return Table(
        caption="What each axis does",
        columns=(
            "Axis",
            "Level, best first",
            "Best is better, times",
            "Range",
            "Cells",
            "Beyond the repeats in each",
        ),
        rows=tuple(rows),
        numeric=frozenset((2, 3, 4)),
        of=whose,
        metric_of=(own[0].metric,) * len(rows),
    )


Metrics = Mapping[tuple[str, str], Sequence[Point]]
"""Panel and unit → its numbers."""


def _levels(points: Sequence[Point], names: Sequence[str]) -> dict[str, float]:
    """Return the value of each line, where a numeric option of three levels or more alone tells the lines apart; else nothing."""
    values = {p.line: p.run.options.get(names[0]) for p in points} if len(names) == 1 else {}
    numbers_ = {line: float(v) for line, v in values.items() if isinstance(v, int | float) and not isinstance(v, bool)}  # fmt: skip
    whole = len(numbers_) == len(values) == len(set(numbers_.values()))
    return numbers_ if whole and len(numbers_) > 2 else {}


def _best_cells(metrics: Metrics) -> dict[str, tuple[str, facets.Facet, float]]:
    """Return head → the line, the panel and the x of the best cell of each metric with a direction, of sound runs; of several cells that
    are as good none."""
    found = {}
    for head, own in group_by((p for points in metrics.values() for p in points), lambda p: p.head).items():
        if own[0].better == "neither":
            continue
        cells = group_by((p for p in own if p.run.sound and p.x), lambda p: (p.line, p.beside, p.x or 0.0))
        best = {cell: formulas.spread([p.value for p in same]).median for cell, same in cells.items()}
        most = (min if own[0].better == "lower" else max)(best.values(), default=None)
        leaders = [cell for cell, value in best.items() if value == most]
        if len(cells) > 2 and len(leaders) == 1:
            found[head] = leaders[0]
    return found


def _curve_panels(
    metrics: Metrics, over: str, missing: Sequence[_Missing], levels: Mapping[str, float]
) -> tuple[list[Panel], str]:
    """Return the panels, and what must be said of grey lines: the worst are those of the first metric that has a direction. levels: as
    `_levels`."""
    directions = [points[0].better for points in metrics.values()]
    judged = next((i for i, better in enumerate(directions) if better != "neither"), 0)
    lines = [_lines(metric, points, over) for (metric, _), points in metrics.items()]
    sign = 1.0 if directions[judged] == "lower" else -1.0
    order = [judged, *(i for i in range(len(lines)) if i != judged)]
    shown = dict(
        zip(
            order,
            curve_rows.highlight([lines[i] for i in order], lambda c: sign * c.points[-1][1].median),
            strict=True,
        )
    )
    ranked = [shown[i] for i in range(len(lines))]
    keys = list(metrics)
    colours = _colours(ranked, missing, levels)
    best = _best_cells(metrics) if over != _SIZE else {}
    values = group_by((p for points in metrics.values() for p in points), lambda p: (p.head, p.unit))
    panels = [
        _curves_panel(
            points[0],
            over,
            own,
            colours,
            [p.value for p in values[points[0].head, points[0].unit]],
            [one for one in missing if one.beside == points[0].beside],
            best.get(points[0].head),
        )
        for points, own in zip(metrics.values(), ranked, strict=True)
        if own
    ]
    return panels, curve_rows.dimmed(ranked, keys[judged][0])


def _colours(
    panels: Sequence[Sequence[Curve]], missing: Sequence[_Missing], levels: Mapping[str, float]
) -> dict[str, str]:
    """Return the colour of each name: of a line, and where there is room for all of them of one that has no number; of levels in the order
    of these."""
    drawn = curve_rows.colours(panels)
    if not missing and all(len(own) < 2 for own in panels):
        return dict.fromkeys(drawn, vega.SERIES[0])  # the panels say which is which
    every = list(dict.fromkeys([*drawn, *(one.line for one in missing if one.line)]))
    if levels and len(every) <= len(vega.ORDERED) and levels.keys() >= {*every}:
        rising = sorted(every, key=levels.__getitem__)
        return dict(zip(rising, vega.ordered(len(rising)), strict=True))
    every = every if len(every) <= len(vega.SERIES) else list(drawn)
    return dict(zip(every, vega.palette(len(every)), strict=True))


def _lines(metric: str, points: Sequence[Point], over: str) -> list[Curve]:
    found = []
    lines = group_by(points, lambda p: p.line)
    cut = wording.cut_apart(name or metric for name in lines)
    for name, own in lines.items():
        drawn = [p for p in own if p.x is not None and not (over == _SIZE and p.x == 0)]
        if drawn:
            pairs = ((float(p.x or 0), p.value) for p in drawn)
            found.append(
                curve_rows.curve(
                    name or metric,
                    pairs,
                    runs=[p.run for p in drawn],
                    label=cut[name or metric],
                    step=_step(drawn),
                )
            )
    return found


def _curves_panel(
    of: Point, over: str, lines: list[Curve], colours: Mapping[str, str], values: Sequence[float], missing: Sequence[_Missing],
    best: tuple[str, facets.Facet, float] | None = None,
) -> Panel:  # fmt: skip
    """of: one of its numbers; values: that the y axis holds, so that panels of one metric share it; missing: cells without a number; best:
    the best cell of its metric, whose panel may be another."""
    metric, unit = of.head, of.unit
    scale = (fmt.scale_for if axes.far_apart(values) else fmt.scale_to_largest)(values, unit)
    crosses = [
        curve_rows.Cross(
            x=one.x, series=one.line or of.head, said=curve_rows.failed(f"{over} {one.x:g}", one.run)
        )
        for one in missing
        if one.x is not None
    ]
    tested = sorted({x for line in lines for x, _ in line.points} | {cross.x for cross in crosses})
    bare = dict.fromkeys(
        cross.series for cross in crosses if cross.series not in {line.name for line in lines}
    )
    spaced = len(tested) > 2 and min(tested) > 0 and max(tested) / min(tested) >= 16
    scaled, title = [v / scale.factor for v in values], _axis_title(metric, scale)
    if over == _SIZE:
        x = axes.powers_of_two(tested, "Message size, bytes (log)")
        # no overlap is 0 %, which no logarithm has
        y = axes.decades(scaled, f"{title} (log scale)") if min(scaled) > 0 else axes.amounts(scaled, title)
    else:
        x = axes.at_tested(tested, f"{over} (log)") if spaced else _plain_axis(tested, over)
        y = axes.amounts(scaled, title)
    without = [  # a name for what has crosses only
        Curve(
            name=name,
            points=(
                (max(c.x for c in crosses if c.series == name), formulas.spread([y.low * scale.factor])),
            ),
        )
        for name in bare
    ]
    named = [*lines, *without]

    def at(value: float) -> str:
        return fmt.size(value) if over == _SIZE else f"{over} {value:g}"

    def build(width: int) -> Spec:
        frame = Frame(
            width=width, height=height(width, 300, 280), left=left_margin(y),
            right=curve_rows.name_margin(named, width) if len(named) > 1 else 16,
        )  # fmt: skip
        plot = Plot(frame=frame, x=x, y=y)
        data: dict[str, Rows] = {
            "points": curve_rows.point_rows(
                lines, tested, scale.factor, lambda v, s: f"{at(v)} · {wording.exact(s, unit)}"
            ),
            "ranges": curve_rows.range_rows(lines, tested, scale.factor),
            "crosses": curve_rows.cross_rows(crosses, plot, colours if len(named) > 1 else None),
        }
        data["rings"] = [
            {"series": line.name, "x": best[2], "y": line.medians[best[2]] / scale.factor}
            for line in lines
            if best and (best[0] or of.panel, best[1]) == (line.name, of.beside)
        ]
        if len(named) > 1:
            data |= curve_rows.end_names(named, plot, scale.factor, data["crosses"])
        return vega.fill(
            "curves", frame=frame, x=x, y=y, series=curve_rows.series_of(named, colours), data=data
        )

    described = " ".join(
        f"{line.name}: {fmt.quantity(line.points[0][1].median, unit, step=line.points[0][1].step)} at {at(line.points[0][0])}, "
        f"{fmt.quantity(line.points[-1][1].median, unit, step=line.points[-1][1].step)} at {at(line.points[-1][0])}."
        for line in lines[:6]
    )
    return panel(of.panel, f"{of.panel} by {over.replace('_', ' ')}. {described}", build)


def _axis_title(metric: str, scale: fmt.Scale) -> str:
    return f"{metric}, {scale.unit}" if scale.unit not in ("", "1") else metric


def _plain_axis(tested: list[float], title: str) -> axes.Axis:
    if all(v == int(v) for v in tested):
        return axes.integers([int(v) for v in tested], title)
    low, high = tested[0], tested[-1]
    margin = (high - low) * 0.04 or 1.0
    return axes.Axis(
        kind="linear",
        low=low - margin,
        high=high,
        ticks=tuple((v, f"{v:g}") for v in tested[:: max(1, len(tested) // 8)]),
        title=title,
    )


def _rows_panels(metrics: Metrics, missing: Sequence[_Missing]) -> list[Panel]:
    return [_rows_panel(metric, unit, points, missing) for (metric, unit), points in metrics.items()]


def _rows_panel(metric: str, unit: str, points: Sequence[Point], missing: Sequence[_Missing]) -> Panel:
    lines = {
        name or own[0].run.sweep_title or own[0].run.cell.sweep: _spread(own)
        for name, own in group_by(points, lambda p: p.line).items()
    }
    lost = {one.line: one.run for one in missing if one.line}
    shown = dict(list(lines.items())[:_MOST_ROWS])
    crosses = dict(list(lost.items())[: _MOST_ROWS - len(shown)])
    cut = wording.cut_apart([*lines, *lost], lambda name: wording.shorten(name, 26))
    drawn = {cut[name]: of for name, of in shown.items()}
    failed = {cut[name]: run for name, run in crosses.items()}
    return dot_rows.rows_panel(
        metric, drawn, unit, lambda scale: _axis_title(metric, scale), f"{metric} by cell.", failed=failed
    )


def _step(points: Sequence[Point]) -> float:
    """Return the last digit that a program prints of a metric, as `fmt.number` takes it: of one whose format nobody knows that of the run
    with the fewest."""
    return _printed(points[0].metric, [p.run for p in points])


def _printed(metric: str, runs: Sequence[Run]) -> float:
    steps = get_parser(runs[0].tool).PRINTED
    if steps is not None:
        return steps.get(metric, 0.0)
    told = [run.parsed.printed().get(metric, 0.0) if run.parsed else 0.0 for run in runs]
    return max(told) if all(told) else 0.0


def _spread(points: Sequence[Point]) -> tuple[formulas.Spread, bool]:
    """Return what the repeats of a cell found, and whether it is hollow."""
    of = set(counted(p.run for p in points))
    return formulas.spread([p.value for p in points if p.run in of], _step(points)), is_hollow(of)


def _numbers(metrics: Metrics, names: Sequence[str], told: Sequence[str]) -> Table:
    label_placement = [name.replace("_", " ").capitalize() for name in told]
    rows, whose, of = [], [], []
    for (metric, unit), points in metrics.items():
        for key, own in group_by(points, lambda p: p.key).items():
            spread, _ = _spread(own)
            scale = fmt.scale_for([spread.median], unit)
            rows.append(
                (
                    *(fmt.NOTHING if v is None else str(v) for v in key), metric,
                    wording.spread_text(spread, scale, 4, _step(own)), scale.unit if scale.unit != "1" else "", str(spread.n),
                )
            )  # fmt: skip
            whose.append(row_of(p.run for p in own))
            of.append(own[0].metric)
    return Table(
        columns=(*names, *label_placement, "Metric", "Value", "Unit", "Repeats"),
        rows=tuple(rows),
        numeric=frozenset((len(names) + len(label_placement) + 1, len(names) + len(label_placement) + 3)),
        of=tuple(whose),
        metric_of=tuple(of),
    )
