"""Charts as figures: a `Chart` and rows become a `Figure` with a Vega-Lite specification and embedded data. `svg`
draws the figure. Pure.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from reports.chart import Chart
from reports.document import Figure
from reports.render import grid, points
from reports.render.points import Points
from reports.render.svg import GREY, HEAT, INK, MUTE, ORDERED, PAPER, SERIES, plain
from reports.render.svg import draw as svg
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["figure", "svg"]

Spec = dict[str, Any]

WIDTH, HEIGHT, ROW, CELL = 300, 210, 28, 52
"""Pixels of a panel, of a row of names and of a heat map cell."""
ALONE: Final = 460  # the width of the only panel
COLUMNS: Final = 3  # panels abreast
MAX_PANELS: Final = 12
MAX_LABELS: Final = 4  # lines with names at the ends
MIN_GAP: Final = 0.07  # of the axis, between two such names
MAX_LETTERS: Final = 8  # of a name below a cell that is not turned
MAX_TICKS: Final = 14  # tested values that are all ticks


def figure(
    chart: Chart, rows: pd.DataFrame, *, id: str = "", keys: Sequence[str] = (), tested: Sequence[float] = ()
) -> Figure | None:
    """Return the figure of a chart, or None if no row is left.

    `rows` comes from `Measurements.tidy`, for one sweep. `keys` names the columns that identify cells and programs.
    Rows with different keys are never joined. `tested` holds the tested values of x. A line breaks at a tested value
    without a point.
    """
    rows = points.select(chart, rows)
    if not len(rows):
        return None
    every = points.group(chart, rows, keys, tested)
    first = list(dict.fromkeys(every.frame["panel"]))[:MAX_PANELS]
    shown = replace(every, frame=every.frame[every.frame["panel"].isin(first)].reset_index(drop=True))
    if not first:
        return None
    return Figure(
        id=id or chart.id,
        title=points.title(chart, rows),
        spec=_specification(chart, shown, rows),
        table=points.table(chart, every),
        caption=points.caption(chart, shown),
        summary=chart.summary(rows) if chart.summary else None,
        about=chart.about,
        flags=points.union(every.frame["flags"]),
        description=points.description(chart, shown),
    )


def _specification(chart: Chart, shown: Points, rows: pd.DataFrame) -> Spec:
    """Return the Vega-Lite specification of some points, with one panel or a facet of several."""
    frame, panels = shown.frame, list(dict.fromkeys(shown.frame["panel"]))
    by_name = chart.kind in ("points", "forest", "strip")
    x, y = _Axis("x", chart, shown), _Axis("y", chart, shown)
    if chart.bands:  # the names are between the plot and this title
        y.channel["axis"] = {**y.channel.get("axis", {}), "titleY": -28}
    drawn = _drawn(chart, shown, x, y)
    names = _series(chart, shown)
    labels = _labels_at_ends(chart, frame, names)
    data = [*drawn, *({**drawn[i], "mark": "label"} for i in labels), *_references(chart, frame, rows, x, y)]
    encoding: Spec = {"x": x.channel, "y": y.channel}
    if len(names) > 1 or chart.kind in ("line", "steps"):
        encoding |= _colors(names, shown, legend=len(names) > 1 and not labels)
    if chart.bands and encoding.get("color", {}).get("legend") is not None:
        encoding["color"]["legend"] = {"offset": 46}
    tallest = max(panel["y"].nunique() for _, panel in frame.groupby("panel"))
    body: Spec = {
        "width": CELL * frame["x"].nunique() if chart.kind == "heat" else ALONE if len(panels) == 1 else WIDTH,
        "height": ROW * tallest if by_name or chart.kind == "heat" else HEIGHT,
        "encoding": encoding,
        "layer": _layers(chart, shown, encoding.get("color", {}), data),
    }
    out: Spec = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "data": {"values": data}}
    if len(panels) == 1:
        return out | body
    independent = ("x", "y") if chart.kind == "heat" else ("y",) if by_name or _differ(chart, frame) else ()
    facet: Spec = {"field": "panel", "type": "nominal", "sort": [*map(plain, panels)]}
    if chart.bands:
        facet["header"] = {"labelPadding": 46}
    out |= {"facet": facet, "columns": COLUMNS, "spec": body}
    return out | ({"resolve": {"scale": dict.fromkeys(independent, "independent")}} if independent else {})


def _differ(chart: Chart, frame: pd.DataFrame) -> bool:
    """Return whether the panels differ by more than 8 times, too much for a common linear axis."""
    tops = frame.groupby("panel")["high"].max()
    return chart.kind in ("line", "bars") and not chart.log_y and bool(tops.max() > 8 * tops.min())


class _Axis:
    """A position channel: a divisor of the values, and a part of the specification."""

    def __init__(self, name: str, chart: Chart, shown: Points) -> None:
        frame, values = shown.frame, shown.frame[name]
        by_name = chart.kind in ("points", "forest", "strip")
        measured = name == ("x" if by_name else "" if chart.kind == "heat" else "y")
        unit = (shown.unit if measured else "") or (chart.x_unit if name == "x" else "")
        heading = points.heading(chart, name)
        self.factor, self._zero = 1.0, 0.0
        if chart.kind == "heat" or values.dtype.kind not in "iuf":
            order = list(dict.fromkeys(values.sort_values() if values.dtype.kind in "iuf" else values))
            axis: Spec = {"title": heading, "labelAngle": 0}
            if name == "x" and max(len(str(v)) for v in order) > MAX_LETTERS:
                axis |= {"labelAngle": -40, "labelOverlap": False, "titleAnchor": "start"}
            if values.dtype.kind in "iuf":
                axis["labelExpr"] = _texts({str(_number(v)): grid.text(_number(v), unit) for v in order}, "datum.value")
            self.channel: Spec = {
                "field": name,
                "type": "ordinal",
                "sort": [*map(_number, order)],
                "axis": axis,
            }
            return
        if unit == "date":
            self.factor = 1e-3  # Vega counts ms
            axis = {"format": "%Y-%m-%d", "tickCount": 5, "labelOverlap": "parity"}
            self.channel = {
                "field": name,
                "type": "temporal",
                "title": heading,
                "axis": axis,
                "scale": {"type": "utc", "padding": 10},
            }
            return
        log = chart.log_x if name == "x" else chart.log_y
        known = [float(v) for v in (frame[["low", "high"]].to_numpy().ravel() if measured else values)]
        scale = (fmt.scale_for if log else fmt.scale_to_largest)([v for v in known if v > 0], unit)
        self.factor = 1.0 if unit == "B" else scale.factor
        known = [v / self.factor for v in known]
        positive = [v for v in known if v > 0] or [1.0]
        self._zero = min(positive) / 2 if log else 0.0
        share = chart.kind == "steps" and name == "y"
        heading = ", ".join(filter(None, (heading, "" if unit == "B" or share else scale.unit)))
        self.channel = {
            "field": name,
            "type": "quantitative",
            "title": f"{heading} (log)" if log and not share else heading,
        }
        self.channel["scale"] = {
            **(
                {"type": "log", "nice": False}
                if log
                else {"zero": chart.kind == "points" or (name == "y" and chart.zero), "nice": name == "y"}
            ),
            **({"base": 2} if log and unit == "B" else {}),
            **({"reverse": True} if share else {}),
            **({"padding": 10} if name == "x" and chart.kind not in ("bars", "steps") else {}),
        }
        levels = sorted({*values})
        if share:
            ticks = {10.0**-i: f"{100 * (1 - 10.0**-i):.{max(i - 2, 0)}f} %" for i in range(1, 10)}
            self.channel["axis"] = _ticks({1.0: "0 %", 0.5: "50 %"} | ticks)
        elif name == "x" and chart.kind == "line" and not chart.order and (unit == "B" or len(levels) <= MAX_TICKS):
            texts = {self(v): grid.text(v, unit) if unit == "B" else fmt.level(v / self.factor) for v in levels}
            self.channel["axis"] = _ticks(texts)
        else:
            plain_number = "replace(format(datum.value, ',.12~g'), /,/g, '\u202f')"
            self.channel["axis"] = {"labelExpr": plain_number, "tickCount": 5}
            if log:
                self.channel["axis"]["values"] = _decades(min(positive), max(positive))

    def __call__(self, value: Any) -> Any:  # noqa: ANN401 (a number or a name)
        """Return the drawn position of a value. On a logarithmic axis, 0 is a step below the lowest value."""
        return (_number(value / self.factor) or self._zero) if isinstance(value, int | float) else _number(value)


def _ticks(texts: dict[float, str]) -> Spec:
    """Return an axis with only these ticks. Vega hides crowded labels evenly."""
    named = {_vega_number(value): text for value, text in texts.items()}
    return {
        "values": [*texts],
        "labelOverlap": "parity",
        "labelExpr": _texts(named, "format(datum.value, '.12~g')"),
    }


def _texts(texts: dict[str, str], key: str) -> str:
    return f"{json.dumps(texts, ensure_ascii=False)}[{key}]"


def _vega_number(value: float) -> str:
    """Return a number in Vega's format '.12~g', with decimals down to 1e-6. Python stops at 1e-4."""
    text = f"{value:.12g}"
    mantissa, _, power = text.partition("e-")
    if power:
        text = f"{value:.{int(power) + 11}f}".rstrip("0") if int(power) <= 6 else f"{mantissa}e-{int(power)}"
    return text.replace("-", "\u2212", 1) if value < 0 else text


def _decades(low: float, high: float) -> list[float]:
    """Return ticks from below `low` to above `high`: 1, 2 and 5 of each decade, or only powers of ten over many
    decades.
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [step * 10.0**power for power in range(first, last + 1) for step in ((1, 2, 5) if last - first <= 2 else (1,))]  # fmt: skip


def _number(value: Any) -> Any:  # noqa: ANN401 (anything JSON holds)
    """Return a JSON value. Texts lose characters that SVG forbids, because names come from experiments and hosts."""
    if isinstance(value, str):
        return plain(value)
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float):
        return None if not math.isfinite(value) else int(value) if value.is_integer() and abs(value) < 2**53 else value  # fmt: skip
    return value


def _drawn(chart: Chart, shown: Points, x: _Axis, y: _Axis) -> list[Spec]:
    """Return the rows of the data set, one per point, in the units of the axes."""
    measured = x if chart.kind in ("points", "forest", "strip") else y
    factor = fmt.scale_for(shown.frame["median"], shown.unit).factor
    step = 1.0 if (shown.frame["median"] % 1 == 0).all() else None
    shades = _shades(shown.frame["median"]) if chart.kind == "heat" else [0.0] * len(shown.frame)
    rows = zip(shown.frame.to_dict("records"), shades, points.tips(chart, shown), strict=True)
    return [
        {
            "mark": "point", "panel": plain(row["panel"]), "series": plain(row["series"]), "x": x(row["x"]), "y": y(row["y"]),
            "flags": row["flags"], "segment": row["segment"], "order": i, "tip": plain(tip),
            **({"shade": shade, "text": fmt.number(row["median"] / factor, step=step)} if chart.kind == "heat" else {}),
            **({"low": measured(row["low"]), "high": measured(row["high"])} if row["low"] < row["high"] else {}),
            **({"x2": x(row["x2"])} if "x2" in row else {}),
        }
        for i, (row, shade, tip) in enumerate(rows)
    ]  # fmt: skip


def _shades(values: Iterable[float]) -> list[float]:
    """Return shades from 0.05 to 0.75 by the logarithm of the values, over a range of at least 1.5 times.

    Changes, with 0 among the values, have shades from 0 to 0.75.
    """
    values = list(values)
    if values and min(values) <= 0:
        return [0.75 * max(0.0, v) / (max(values) or 1.0) for v in values]
    known = [math.log(v) for v in values if v > 0] or [0.0]
    span = max(max(known) - min(known), math.log(1.5))
    return [0.05 + 0.7 * (math.log(v) - min(known)) / span if v > 0 else 0.0 for v in values]


def _series(chart: Chart, shown: Points) -> list[str]:
    """Return the line names: numbers in ascending order, then names by falling last value."""
    frame = shown.frame
    if _is_ordered(shown):
        return list(dict.fromkeys(frame.sort_values(shown.color[0])["series"]))
    names = list(dict.fromkeys(frame["series"]))
    last = frame.groupby("series")["median"].last()
    return sorted(names, key=lambda name: -float(last[name])) if chart.kind == "line" else names


def _is_ordered(shown: Points) -> bool:
    return len(shown.color) == 1 and shown.frame[shown.color[0]].dtype.kind in "iuf"


def _colors(names: Sequence[str], shown: Points, *, legend: bool) -> Spec:
    """Return the channels for lines: one hue per line, dashed from the fifth on, or ordered hues for up to five
    numbers.
    """
    n = len(names)
    ordered = _is_ordered(shown) and 2 < n <= len(ORDERED)
    hues = [SERIES[i % 4] if i < 8 else GREY for i in range(n)]
    if ordered:
        hues = [ORDERED[round(i * (len(ORDERED) - 1) / (n - 1))] for i in range(n)]

    def channel(values: Sequence[Any]) -> Spec:
        scale = {"domain": [*map(plain, names)], "range": values}
        return {"field": "series", "type": "nominal", "scale": scale, "legend": {} if legend else None}

    dashes = {} if n <= len(SERIES) or ordered else {"strokeDash": channel([[1, 0] if i < 4 else [5, 3] for i in range(n)])}  # fmt: skip
    return {"color": channel(hues), **dashes}


def _labels_at_ends(chart: Chart, frame: pd.DataFrame, names: Sequence[str]) -> list[int]:
    """Return the last point of each line for direct labels, if few lines end with enough distance. Such lines need
    no legend.
    """
    if chart.kind != "line" or chart.order or not 1 < len(names) <= MAX_LABELS or max(map(len, names)) > 24:
        return []
    last = frame.groupby(["panel", "series"], sort=False).tail(1)
    for panel, ends in last.groupby("panel"):
        low, high = (frame.loc[frame["panel"] == panel, "high"].agg(["min", "max"])).map(float)
        log = chart.log_y and high > low
        shares = sorted(math.log(v / low) / math.log(high / low) if log else v / (high or 1) for v in ends["median"])
        if ends["x"].nunique() > 1 or any(b - a < MIN_GAP for a, b in pairwise(shares)):
            return []
    return [int(index) for index in last.index]


def _references(chart: Chart, frame: pd.DataFrame, rows: pd.DataFrame, x: _Axis, y: _Axis) -> list[Spec]:
    """Return rows for rules, bands and circles, equal in each panel. A circle may belong to one panel."""
    out: list[Spec] = []
    low, high = (float(v) for v in frame["x"].agg(["min", "max"])) if chart.bands else (0.0, 0.0)
    rules = chart.rules(rows) if chart.rules else []
    bands = chart.bands(rows) if chart.bands else []
    rings = chart.rings(rows) if chart.rings else []
    for name, panel in frame.groupby("panel", sort=False):
        marks: list[tuple[str, Spec]] = [("rule", {"x": x(r.x), "y": y(r.y), "text": r.label}) for r in rules]
        for i, band in enumerate(bands):
            ends = (max(band.low, low), min(band.high, high))
            marks += (
                [("band", {"x": x(ends[0]), "x2": x(ends[1]), "text": band.label, "shade": 0.14 * (i % 2)})]
                if ends[0] < ends[1]
                else []
            )
        for ring in rings:
            if all(column not in panel or (panel[column] == value).any() for column, value in ring.panel.items()):
                marks.append(("ring", {"x": x(ring.x), "y": y(ring.y), "text": ring.label}))
        out += [{"mark": mark, "panel": plain(str(name)), **row, "text": plain(row["text"])} for mark, row in marks]
    return out


def _layer(of: str, mark: str, style: Spec, **encoding: Any) -> Spec:  # noqa: ANN401 (anything Vega-Lite has)
    return {
        "transform": [{"filter": f"datum.mark === '{of}'"}],
        "mark": {"type": mark, **style},
        "encoding": encoding,
    }


def _layers(chart: Chart, shown: Points, color: Spec, data: Sequence[Spec]) -> list[Spec]:
    """Return the layers: bands, points and labels."""
    text, mute, small = {"field": "text"}, {"value": MUTE}, {"fontSize": 11.5}
    across: dict[str, tuple[str, Spec]] = {
        "x": ("y", {"baseline": "top", "dx": 4}), "y": ("x", {"baseline": "bottom", "dx": 4, "dy": -3}),
    }  # fmt: skip
    back = [
        _layer(
            "band", "rect", {"color": GREY}, x2={"field": "x2"}, y={"value": 0}, y2={"value": "height"}, color={},
            opacity={"field": "shade", "type": "quantitative", "scale": None},
        ),
        _layer("band", "text", {"align": "left", "dx": 3, "baseline": "bottom", **small}, y={"value": -1}, text=text, color=mute),
    ]  # fmt: skip
    front = [
        _layer("ring", "point", {"size": 150, "filled": False, "strokeWidth": 1.5}, color={"value": INK}),
        _layer("ring", "text", {"dy": -13, **small}, text=text, color=mute),
        _layer("label", "text", {"align": "left", "dx": 8, "fontWeight": 600}, text={"field": "series"}),
    ]
    for axis, (other, place) in across.items():
        if any(row["mark"] == "rule" and row[axis] is not None for row in data):
            whole = {other: {"value": 0}, f"{other}2": {"value": "height" if other == "y" else "width"}}
            front.append(_layer("rule", "rule", {"strokeDash": [2, 3]}, color={"value": GREY}, **whole))
            front.append(_layer("rule", "text", {"align": "left", **place, **small}, text=text, color=mute, **{other: {"value": 0}}))  # fmt: skip
            for layer in front[-2:]:
                layer["transform"].append({"filter": f"isValid(datum.{axis})"})
    used = {f"datum.mark === '{row['mark']}'" for row in data}
    layers = [*back, *_marks(chart, shown, {**color, "legend": None} if color else {}), *front]
    return [layer for layer in layers if layer["transform"][0]["filter"] in used]


def _marks(chart: Chart, shown: Points, color: Spec) -> list[Spec]:
    """Return the layers of the points themselves, by the kind of chart."""
    tip: Spec = {"description": {"field": "tip"}, "tooltip": {"field": "tip"}}
    along = "x" if chart.kind in ("points", "forest", "strip") else "y"
    ends: Spec = {along: {"field": "low", "type": "quantitative"}, f"{along}2": {"field": "high"}}
    part: Spec = {"detail": {"field": "segment"}, "order": {"field": "order"}}
    solid: Spec = {"strokeDash": {"value": [1, 0]}}
    color = color or {"value": SERIES[0]}
    dot: Spec = {
        "filled": True,
        "opacity": 1,
        "strokeWidth": 1.5,
        "size": 16 if shown.many and along == "y" else 44,
    }
    open_if_flagged = {
        "fill": {**color, "condition": {"test": "datum.flags", "value": PAPER}},
        "stroke": color,
    }
    dots = _layer("point", "point", dot, **open_if_flagged, **solid, **tip)
    plain_color = {} if "field" in color else {"color": color}  # else that of all layers, which has a legend
    bars = _layer("point", "rule", {"strokeWidth": 1.5, "opacity": 0.6}, **ends, **plain_color, **solid)
    bars["transform"].append({"filter": "isValid(datum.low)"})
    match chart.kind:
        case "heat":
            shade = {"field": "shade", "type": "quantitative", "scale": None}
            cells = _layer("point", "rect", {"stroke": PAPER}, color={"value": HEAT}, fillOpacity=shade, **tip)
            return [
                cells,
                _layer("point", "text", {"fontSize": 11.5}, text={"field": "text"}, color={"value": INK}),
            ]
        case "bars":
            return [_layer("point", "bar", {"opacity": 0.85}, color=color, x2={"field": "x2"}, y2={"datum": 0}, **tip)]
        case "steps":
            return [_layer("point", "line", {"interpolate": "step-after", "strokeWidth": 2}, order=part["order"])]
        case "points" | "forest" | "strip":
            return [bars, dots]
    line = _layer("point", "line", {"strokeWidth": 2, "strokeJoin": "round"}, **part)
    if not shown.many:
        return [bars, line, dots]
    band = _layer("point", "area", {"opacity": 0.16}, **ends, **part)
    return [*([band] if bool((shown.frame["low"] < shown.frame["high"]).any()) else []), line, dots]
