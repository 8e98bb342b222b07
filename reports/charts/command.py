"""Any metric of any tool: a line over the first numeric axis, or a row per cell where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reports import derive, labels, scales, vega
from reports import format as fmt
from reports.charts import _common as common
from reports.frames import Results, Run
from reports.grouping import group_by
from reports.model import Chapter, Figure, Panel, Table, panel
from reports.naming import option_value, program_name
from reports.readings import groups, measurements
from reports.vega import Frame, Rows, Spec

if TYPE_CHECKING:
    import pandas as pd

SECTION = "Other programs"
RANK = 90
METHODS = ""

_MOST_ROWS = 24


def chapter(results: Results, tool: str = "command") -> Chapter:
    """Draw the runs of any tool: one figure per sweep, one panel per metric."""
    runs = results.good(tool)
    figures = [
        _figure(tool, sweep, members) for sweep, members in group_by(runs, lambda r: r.point.sweep).items()
    ]
    return Chapter(tool=tool, figures=tuple(f for f in figures if f), programs=common.programs(runs))


def _figure(tool: str, sweep: str, runs: Sequence[Run]) -> Figure | None:
    axis = _numeric_axis(runs)
    names = [n for n in common.facet_names(runs, within=()) if n != axis]
    metrics = list(groups(_measured(runs, axis, names), ["name", "unit"]))
    if not metrics:
        return None
    panels = [
        _rows_panel(metric, unit, found) if axis is None else _curves_panel(metric, unit, axis, found)
        for (metric, unit), found in metrics[: common.MOST_PANELS]
    ]
    left = len(metrics) - len(panels)
    return Figure(
        id=f"{tool}-{sweep}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title=runs[0].sweep_title or sweep,
        sub=f"{common.ran(runs, program_name)}. Bars: lowest to highest {common.over(runs)}."
        + (f" {fmt.plural(left, 'more metric')} in the numbers only." if left > 0 else ""),
        panels=tuple(panels),
        half=len(panels) == 1,
        numbers=(_numbers(metrics, [*([axis] if axis else []), *names]),),
    )


def _measured(runs: Sequence[Run], axis: str | None, names: Sequence[str]) -> pd.DataFrame:
    """Return the measurements of some runs; beside the columns of `readings.measurements` these:

    name   str      the metric, with its first two labels: "rate, read"
    key    object   what the table's first columns say: the values of the axis and of the names
    cell   str      the same in words, without the axis: "size 4, host n001"
    """
    found = measurements.frame(runs)
    columns = [*([axis] if axis else []), *names]
    labels = ([str(v) for k, v in told.items() if k != "index"][:2] for told in found["labels"])
    return found.assign(
        name=[", ".join([metric, *others]) for metric, others in zip(found["metric"], labels, strict=True)],
        key=found["run"].map(lambda r: tuple(v for _, v in common.facet(r, columns))),
        cell=found["run"].map(lambda r: common.facet_title(common.facet(r, names), option_value)),
    )


def _numeric_axis(runs: Sequence[Run]) -> str | None:
    """Return the first axis of the sweep whose values are two or more different numbers."""
    for name in runs[0].point.axes:
        values = [run.options.get(name) for run in runs]
        if (
            all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
            and len(set(values)) > 1
        ):
            return name
    return None


def _curves_panel(metric: str, unit: str, axis: str, found: pd.DataFrame) -> Panel:
    lines = []
    for (name,), own in groups(found, ["cell"]):
        at = own["run"].map(lambda r: float(r.options[axis]))
        pairs = zip(at, own["value"], strict=True)
        lines.append(common.curve(name or metric, pairs, label=common.shorten(name or metric)))
    lines = common.spotlight(lines, lambda c: -c.points[-1][1].median)
    values = [v for line in lines for _, y in line.points for v in (y.low, y.high)]
    scale = fmt.scale_to_largest(values, unit)
    tested = sorted({x for line in lines for x, _ in line.points})
    y = scales.from_zero([v / scale.factor for v in values], _axis_title(metric, scale))
    spaced = len(tested) > 2 and min(tested) > 0 and max(tested) / min(tested) >= 16
    x = scales.at_tested(tested, f"{axis} (log)") if spaced else _plain_axis(tested, axis)

    def build(width: int) -> Spec:
        frame = Frame(
            width=width, height=common.height(width, 300, 280), left=common.left_margin(y),
            right=common.name_margin(lines, width) if len(lines) > 1 else 16,
        )  # fmt: skip
        plot = common.Plot(frame=frame, x=x, y=y)
        data: dict[str, Rows] = {
            "points": common.point_rows(
                lines, tested, scale.factor, lambda v, s: f"{axis} {v:g} · {common.exact(s, unit)}"
            ),
            "ranges": common.range_rows(lines, tested, scale.factor),
        }
        if len(lines) > 1:
            data |= common.end_names(lines, plot, scale.factor)
        return vega.fill("curves", frame=frame, x=x, y=y, series=common.series_of(lines), data=data)

    described = " ".join(
        f"{line.name}: {fmt.quantity(line.points[0][1].median, unit)} at {line.points[0][0]:g}, "
        f"{fmt.quantity(line.points[-1][1].median, unit)} at {line.points[-1][0]:g}."
        for line in lines[:6]
    )
    return panel(metric, f"{metric} by {axis}. {described}", build)


def _axis_title(metric: str, scale: fmt.Scale) -> str:
    return f"{metric}, {scale.unit}" if scale.unit not in ("", "1") else metric


def _plain_axis(tested: list[float], title: str) -> scales.Axis:
    if all(v == int(v) for v in tested):
        return scales.integers([int(v) for v in tested], title)
    low, high = tested[0], tested[-1]
    margin = (high - low) * 0.04 or 1.0
    return scales.Axis(
        kind="linear",
        low=low - margin,
        high=high,
        ticks=tuple((v, f"{v:g}") for v in tested[:: max(1, len(tested) // 8)]),
        title=title,
    )


def _rows_panel(metric: str, unit: str, found: pd.DataFrame) -> Panel:
    cells = [
        (
            common.shorten(name or own["run"].iloc[0].sweep_title or own["sweep"].iloc[0], 26),
            derive.spread(list(own["value"])),
        )
        for (name,), own in groups(found, ["cell"])
    ]
    shown = cells[:_MOST_ROWS]
    scale = fmt.scale_to_largest([s.high for _, s in shown], unit)
    x = scales.from_zero([s.high / scale.factor for _, s in shown], _axis_title(metric, scale), 4)
    y = scales.Axis(kind="linear", low=float(len(shown)), high=0.0, ticks=(), title="")
    left = round(max(labels.text_width(name) for name, _ in shown) + 14)

    def build(width: int) -> Spec:
        frame = Frame(
            width=width, height=24 + 27 * len(shown) + 36, left=min(left, width // 2), right=60, top=14
        )
        data: dict[str, Rows] = {
            "rows": [
                {
                    "series": metric, "x": s.median / scale.factor, "y": i + 0.5, "low": s.low / scale.factor,
                    "high": s.high / scale.factor, "name": name, "text": scale.number(s.median),
                    "tip": f"{name} · {common.exact(s, unit)}",
                }
                for i, (name, s) in enumerate(shown)
            ]
        }  # fmt: skip
        return vega.fill(
            "rows", frame=frame, x=x, y=y, series=[vega.Series(name=metric, colour=vega.SERIES[0])], data=data
        )

    described = "; ".join(f"{name}: {fmt.quantity(s.median, unit)}" for name, s in shown)
    return panel(metric, f"{metric} by cell. {described}.", build)


def _numbers(metrics: Sequence[tuple[tuple[str, str], pd.DataFrame]], names: Sequence[str]) -> Table:
    rows = []
    for (metric, unit), found in metrics:
        for (key,), own in groups(found, ["key"]):
            spread = derive.spread(list(own["value"]))
            scale = fmt.scale_for([spread.median], unit)
            rows.append(
                (
                    *(fmt.NOTHING if v is None else str(v) for v in key), metric,
                    common.spread_text(spread, scale, 4), scale.unit if scale.unit != "1" else "", str(spread.n),
                )
            )  # fmt: skip
    return Table(
        columns=(*names, "Metric", "Value", "Unit", "Repeats"),
        rows=tuple(rows),
        numeric=frozenset((len(names) + 1, len(names) + 3)),
    )
