"""Panels of any tool: a line over an axis or over message sizes, or a row per cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reports.charts import curve_rows, dot_rows, facets, wording
from reports.charts._command_points import (
    Metrics,
    Missing,
    Point,
    spread_of,
    step_of,
)
from reports.charts.curve_rows import Curve
from reports.draw import axes, vega
from reports.draw.figure import Panel, panel
from reports.draw.plot import Plot, height, left_margin
from reports.draw.vega import Frame, Rows, Spec
from reports.numbers import formulas
from reports.numbers.model import SIZE
from reports.results.grouping import group_by
from reports.text import format as fmt


def levels_of(points: Sequence[Point], names: Sequence[str]) -> dict[str, float]:
    """Return the value of each line, where a numeric option of three levels or more alone tells the lines apart; else nothing."""
    values = {p.line: p.run.options.get(names[0]) for p in points} if len(names) == 1 else {}
    numbers_ = {line: float(v) for line, v in values.items() if isinstance(v, int | float) and not isinstance(v, bool)}  # fmt: skip
    whole = len(numbers_) == len(values) == len(set(numbers_.values()))
    return numbers_ if whole and len(numbers_) > 2 else {}


def _best_cells(metrics: Metrics) -> dict[str, tuple[str, facets.Facet, float]]:
    """Return head → the line, the panel and the x of the best cell of each metric with a direction, of sound runs; none where the repeats of
    another overlap with its own."""
    found = {}
    for head, own in group_by((p for points in metrics.values() for p in points), lambda p: p.head).items():
        if own[0].better == "neither":
            continue
        cells = group_by((p for p in own if p.run.sound and p.x), lambda p: (p.line, p.beside, p.x or 0.0))
        spreads = {cell: formulas.spread([p.value for p in same]) for cell, same in cells.items()}
        if len(cells) > 2:
            end = min if own[0].better == "lower" else max
            best = end(cells, key=lambda cell: spreads[cell].median)
            if not formulas.overlapping(spreads.pop(best), spreads.values()):
                found[head] = best
    return found


def curve_panels(
    metrics: Metrics, over: str, missing: Sequence[Missing], levels: Mapping[str, float]
) -> tuple[list[Panel], str]:
    """Return the panels, and what must be said of grey lines: the worst are those of the first metric that has a direction. levels: as
    `levels_of`."""
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
    best = _best_cells(metrics) if over != SIZE else {}
    values = group_by((p for points in metrics.values() for p in points), lambda p: (p.head, p.unit))
    tops = group_by(metrics.values(), lambda points: (points[0].head, points[0].unit))
    panels = [
        _curves_panel(
            points[0],
            over,
            own,
            colours,
            [p.value for p in values[points[0].head, points[0].unit]],
            [max(p.value for p in beside) for beside in tops[points[0].head, points[0].unit]],
            [one for one in missing if one.beside == points[0].beside],
            best.get(points[0].head),
        )
        for points, own in zip(metrics.values(), ranked, strict=True)
        if own
    ]
    return panels, curve_rows.dimmed(ranked, keys[judged][0])


def _colours(
    panels: Sequence[Sequence[Curve]], missing: Sequence[Missing], levels: Mapping[str, float]
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
    return (
        dict(zip(every, vega.palette(len(every)), strict=True)) if len(every) <= len(vega.SERIES) else drawn
    )


def _lines(metric: str, points: Sequence[Point], over: str) -> list[Curve]:
    found = []
    lines = group_by(points, lambda p: p.line)
    for name, own in lines.items():
        drawn = [p for p in own if p.x is not None and not (over == SIZE and p.x == 0)]
        if drawn:
            pairs = ((float(p.x or 0), p.value) for p in drawn)
            found.append(
                curve_rows.curve(
                    name or metric,
                    pairs,
                    runs=[p.run for p in drawn],
                    step=step_of(drawn),
                )
            )
    return found


def _curves_panel(
    of: Point, over: str, lines: list[Curve], colours: Mapping[str, str], values: Sequence[float], tops: Sequence[float],
    missing: Sequence[Missing], best: tuple[str, facets.Facet, float] | None = None,
) -> Panel:  # fmt: skip
    """of: one of its numbers; values: that the y axis holds, so that panels of one metric share it; tops: the largest of each such panel; missing: cells without a number; best:
    the best cell of its metric, whose panel may be another."""
    unit = of.unit
    scale = (fmt.scale_for if axes.far_apart(values, tops) else fmt.scale_to_largest)(values, unit)
    crosses = [
        curve_rows.Cross(
            x=one.x, series=one.line or of.head, said=curve_rows.failed(f"{over} {fmt.level(one.x)}", one.run)
        )
        for one in missing
        if one.x is not None
    ]
    tested = sorted({x for line in lines for x, _ in line.points} | {cross.x for cross in crosses})
    bare = dict.fromkeys(
        cross.series for cross in crosses if cross.series not in {line.name for line in lines}
    )
    spaced = len(tested) > 2 and min(tested) > 0 and max(tested) / min(tested) >= 16
    scaled, title = [v / scale.factor for v in values], _axis_title(of.number, scale)
    if over == SIZE:
        x = axes.powers_of_two(tested, "Message size, bytes (log)")
        # no overlap is 0 %, which no logarithm has
        y = axes.decades(scaled, f"{title} (log scale)") if min(scaled) > 0 else axes.amounts(scaled, title)
    else:
        x = axes.at_tested(tested, f"{over} (log)") if spaced else _plain_axis(tested, over)
        y = axes.amounts(scaled, title, tops=tops)
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
        return fmt.size(value) if over == SIZE else f"{over} {fmt.level(value)}"

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
            "crosses": curve_rows.cross_rows(
                crosses, plot, colours if len(named) > 1 else None, lines, scale.factor
            ),
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

    described = curve_rows.in_words(lines[:6], unit, at)
    return panel(of.panel, f"{of.panel} by {over.replace('_', ' ')}. {described}", build)


def _axis_title(metric: str, scale: fmt.Scale) -> str:
    return f"{metric}, {scale.unit}" if scale.unit not in ("", "1") else metric


def _plain_axis(tested: list[float], title: str) -> axes.Axis:
    if all(v == int(v) for v in tested):
        return axes.integers([int(v) for v in tested], title)
    return axes.plain_at_tested(tested, title)


def rows_panels(metrics: Metrics, missing: Sequence[Missing]) -> list[Panel]:
    return [_rows_panel(metric, unit, points, missing) for (metric, unit), points in metrics.items()]


def rows_left_out(metrics: Metrics, missing: Sequence[Missing]) -> str:
    """Say how many rows the longest of `rows_panels` leaves to the numbers; "" of none."""
    lost = {one.line for one in missing if one.line}
    rows = max(len({p.line for p in points} | lost) for points in metrics.values())
    return wording.not_drawn(rows, dot_rows.MOST_ROWS, "row")


def _rows_panel(metric: str, unit: str, points: Sequence[Point], missing: Sequence[Missing]) -> Panel:
    lines = {
        name or own[0].run.sweep_title or own[0].run.cell.sweep: spread_of(own)
        for name, own in group_by(points, lambda p: p.line).items()
    }
    lost = {one.line: one.run for one in missing if one.line}
    shown = dict(list(lines.items())[: dot_rows.MOST_ROWS])
    crosses = dict(list(lost.items())[: dot_rows.MOST_ROWS - len(shown)])
    return dot_rows.rows_panel(
        metric,
        shown,
        unit,
        lambda scale: _axis_title(points[0].number, scale),
        f"{metric} by cell.",
        failed=crosses,
    )
