"""Percentiles of single accesses over the size of what is accessed: all sizes in one picture, memory beside file. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from reports.charts import curve_rows, facets, wording
from reports.charts._tails import Distribution
from reports.charts.curve_rows import Curve
from reports.draw import axes, label_placement, vega
from reports.draw.figure import Panel, panel
from reports.draw.plot import Plot, left_margin
from reports.draw.vega import Frame, Spec
from reports.text import format as fmt

_QUANTILES: Final = ("p50", "p90", "p99", "p99.9", "p99.99")


def panels(of: Mapping[str, Mapping[int, Distribution]]) -> list[Panel]:
    """Return a panel for each kind of access that has two sizes or more (its name → size in B → its distribution); all have the same axes,
    every size of any of them at the same place, as far apart as its neighbours: 0 B is one, which no line goes to."""
    drawn = {name: lines for name, own in of.items() if len(own) > 1 and (lines := _lines(own))}
    drawn = dict(list(drawn.items())[: facets.MOST_PANELS])
    sizes = sorted({size for name in drawn for size in of[name]})
    at = {size: float(i) for i, size in enumerate(sizes)}
    ends = [v for lines in drawn.values() for line in lines for _, y in line.points for v in (y.low, y.high)]
    if not ends:
        return []
    y = axes.decades(ends, "One access (log scale)", unit="ns", margin=1.3)
    return [_panel(name, [_at(line, at) for line in lines], sizes, y) for name, lines in drawn.items()]


def _lines(own: Mapping[int, Distribution]) -> list[Curve]:
    """Return a line a quantile, over the sizes whose repeats all tell it, two at least."""
    lines = []
    for quantile in _QUANTILES:
        told = [
            ((float(size), values[quantile]), run)
            for size, d in own.items()
            if all(quantile in values for values in d.told)
            for values, run in zip(d.told, d.runs, strict=True)
        ]
        if len({size for (size, _), _ in told}) > 1:
            lines.append(curve_rows.curve(quantile, [xy for xy, _ in told], runs=[run for _, run in told]))
    return lines


def _at(line: Curve, at: Mapping[int, float]) -> Curve:
    """Return a line over the places of its sizes."""
    return Curve(
        name=line.name,
        points=tuple((at[round(size)], y) for size, y in line.points),
        hollow=frozenset(at[round(size)] for size in line.hollow),
    )


def _panel(name: str, lines: Sequence[Curve], sizes: Sequence[int], y: axes.Axis) -> Panel:
    places = sorted(
        {place for line in lines for place, _ in line.points} | ({0.5} if sizes[0] == 0 else set())
    )
    names = [fmt.size(size) for size in sizes]
    series = [vega.Series(name=line.name, colour=vega.ORDERED[_QUANTILES.index(line.name)]) for line in lines]

    def tip(quantile: str) -> curve_rows.Tip:
        return lambda place, value: f"{names[round(place)]} · {wording.exact(value, 'ns')}, {quantile}"

    def build(width: int) -> Spec:
        frame = Frame(
            width=width, height=268, left=left_margin(y), right=curve_rows.name_margin(lines, width)
        )
        x = axes.Axis(
            kind="linear",
            low=-0.25,
            high=len(sizes) - 1.0,
            ticks=_ticks(names, frame.plot_width),
            title="Size, a step each",
        )
        data = {
            "points": [row for line in lines for row in curve_rows.point_rows([line], places, 1.0, tip(line.name))],
            "ranges": curve_rows.range_rows(lines, places, 1.0),
            **curve_rows.end_names(lines, Plot(frame=frame, x=x, y=y), 1.0),
        }  # fmt: skip
        return vega.fill("depth", frame=frame, x=x, y=y, series=series, data=data)

    said = curve_rows.in_words(lines, "ns", lambda place: names[round(place)])
    return panel(fmt.sentence(name), f"{name}: percentiles by size. {said}", build)


def _ticks(names: Sequence[str], room: float) -> tuple[tuple[float, str], ...]:
    """Return every size with its name, or every second, … name where they would touch."""
    each = room / max(1, len(names) - 0.75)
    widest = max(map(label_placement.text_width, names)) + 8
    step = next(s for s in range(1, len(names) + 2) if s * each >= widest or s > len(names))
    last = len(names) - 1
    return tuple((float(i), name if (last - i) % step == 0 else "") for i, name in enumerate(names))
