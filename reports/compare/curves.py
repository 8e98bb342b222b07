"""How B does against A along an axis: the ratio of each point over message size, threads, depth, with its interval. Pure."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reports.charts import curve_rows
from reports.charts.curve_rows import Cross, Curve
from reports.checks import doubts
from reports.compare import text as texts
from reports.compare.folds import AXES, axis_of, axis_title, level, number
from reports.compare.gaps import Gap, gaps_of
from reports.compare.model import Comparison, Row
from reports.draw import axes, vega
from reports.draw.figure import Figure, Panel, panel
from reports.draw.label_placement import text_width
from reports.draw.plot import Plot, height, left_margin
from reports.draw.vega import Frame, Rows, Spec
from reports.numbers import drawn
from reports.numbers.formulas import Spread
from reports.results import naming
from reports.results.grouping import group_by
from reports.text import format as fmt

_HEADLINES: Final = (
    "IOPS", "latency p50", "latency mean", "completion latency p50", "completion latency mean", "bandwidth",
)  # fmt: skip
"""What the curves that are drawn are of, in this order, after what the tool puts first; of a program of the user's, its first metric."""

_APART: Final = 0.12
"""Between the intervals of two series at one tested value, of the room between two values."""

_MOST_FIGURES, _MOST_OF_A_SWEEP, _MOST_CURVES = 10, 4, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A figure of curves."""

    figure: Figure
    moved: bool  # did one of its points regress or improve?
    beyond: bool  # does one shift by more than what does not count?


def curves(comparison: Comparison) -> list[Drawn]:
    """Return the figures of the main metrics that have a curve, B ÷ A over its axis: sweeps with the worst change first."""
    place = {key: i for i, key in enumerate(comparison.behind)}
    found: list[Drawn] = []
    for metrics in main_sweeps(comparison):
        told = list(filter(None, map(_curves, metrics)))[:_MOST_OF_A_SWEEP]
        colours = _colours(told, place)
        found += [_figure(of, gaps_of(comparison, of.rows), colours) for of in told]
    return found[:_MOST_FIGURES]


def _colours(told: Sequence[_Curves], place: Mapping[Hashable, int]) -> dict[str, str]:
    """Return the colour of each curve by its name, in the order of the tables, the same in all panels of a sweep; levels that are numbers rise, and
    have ordered ones where there are as many. place: where a row stands in its table."""
    panels = [group for of in told for group in of.groups]
    first: dict[str, int] = {}
    for name, rows in (curve for group in panels for curve in group.items()):
        first[name] = min(first.get(name, len(place)), *(place[row.decision.key] for row in rows))
    levels = {name: value for of in told for name, value in of.levels.items()}
    rising = first.keys() <= levels.keys()
    names = sorted(first, key=(levels if rising else first).__getitem__)
    if rising and 1 < len(names) <= len(vega.ORDERED):
        return dict(zip(names, vega.ordered(len(names)), strict=True))
    return curve_rows.told_apart(names, map(list, panels))


def main_sweeps(comparison: Comparison) -> Iterable[list[list[Row]]]:
    """Give of each sweep the rows of its main metrics: sweeps with the worst change first, metrics in the order of their tables."""
    place = {key: i for i, key in enumerate(comparison.behind)}
    rows = [row for row in comparison.rows if not row.derived and row.better != "neither"]
    sweeps = group_by(rows, lambda row: (row.pair.a.tool, row.sweep))
    for members in sorted(sweeps.values(), key=lambda own: -max(map(worse, own))):
        metrics = group_by(members, lambda row: (row.number.title, row.unit)).values()
        yield _main(sorted(metrics, key=lambda own: min(place[row.decision.key] for row in own)))


def worse(row: Row) -> float:
    """By how much B is worse (log ratio); 0 of a metric without a direction."""
    return 0.0 if row.better == "neither" else row.decision.shift or 0.0


def _main(metrics: Sequence[list[Row]]) -> list[list[Row]]:
    """Return the metrics to draw: what the tool puts first stands for its kind, of a latency the median rather than the mean."""
    names = {rows[0].number for rows in metrics}
    first = drawn(metrics[0][0].pair.a.tool)
    led = {name.family for name in names if name.title in first}
    heads = [*first, *_HEADLINES]
    ranked = []
    for rows in metrics:
        name = rows[0].number
        at = [i for i, head in enumerate(heads) if head in (name.title, name.quantity)]
        beside = name.statistic == "mean" and dataclasses.replace(name, statistic="p50") in names
        beside = beside or (name.family in led and name.title not in first)
        if at and not beside and "to" not in dict(name.part):  # a matrix is no curve
            ranked.append((at[0], name.title, rows))
    return [rows for *_, rows in sorted(ranked, key=lambda r: r[:2])] or list(metrics)[:1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Curves:
    """The curves of a metric: those that are drawn, in panels of at most `_MOST_CURVES`, what moved most first."""

    rows: Sequence[Row]
    axis: str
    groups: tuple[Mapping[str, Sequence[Row]], ...]  # name → its points; "" of the only curve
    # name → the number that alone tells it from the others; empty where none does
    levels: Mapping[str, float]
    left: int  # curves that are not drawn
    lost: int  # points without a ratio


def _curves(rows: Sequence[Row]) -> _Curves | None:
    """Return the curves that the rows of a metric make; None where they make none."""
    axis = axis_of(rows)
    if axis is None:
        return None
    known = [row for row in rows if row.decision.ratio]
    varying = _telling(rows, axis)
    series = group_by(known, lambda row: ", ".join(filter(None, (_called(row, name) for name in varying))))
    if not series or any(len({row.labels[axis] for row in members}) < 2 for members in series.values()):
        return None
    if any(len({float(row.labels[axis]) for row in members}) < len(members) for members in series.values()):
        return None  # two numbers at one place: nothing tells these curves apart
    ranked = sorted(series.items(), key=lambda s: -max(row.decision.shift or 0.0 for row in s[1]))
    groups = tuple(
        dict(ranked[i : i + _MOST_CURVES]) for i in range(0, min(len(ranked), 2 * _MOST_CURVES), _MOST_CURVES)
    )
    left = len(ranked) - sum(map(len, groups))
    told = {name: number(members[0].labels.get(varying[0])) for name, members in ranked if len(varying) == 1}
    levels = {name: value for name, value in told.items() if value is not None}
    return _Curves(
        rows=rows, axis=axis, groups=groups, levels=levels if len(levels) == len(series) else {}, left=left, lost=len(rows) - len(known)
    )  # fmt: skip


def _called(row: Row, name: str) -> str:
    """Return a level as a curve is called by it: "other package", "4 KiB"; of a number with what it is, "numjobs 4"."""
    value = row.labels.get(name, "")
    word = naming.level_text if number(value) is None else naming.option_value
    return word(row.pair.a.tool, name, value)


def _figure(of: _Curves, gaps: Sequence[Gap], colours: Mapping[str, str]) -> Drawn:
    rows, sweep, metric = of.rows, of.rows[0].sweep, of.rows[0].number.title
    shown = [row for group in of.groups for members in group.values() for row in members]
    y = ratio_axis(shown)
    ends = [end for row in shown if row.interval for end in (row.decision.low, row.decision.high)]
    cut = any(end is not None and not y.low <= end <= y.high for end in ends)
    in_order = [{name: group[name] for name in colours if name in group} for group in of.groups]
    panels = tuple(_panel(metric, of.axis, group, y, gaps, colours) for group in in_order)
    figure = Figure(
        id=f"compare-{sweep}-{metric}",
        title=f"{sweep}: {metric}, {texts.tally(rows, 'point')}",
        sub=fmt.sentence(f"{texts.direction(rows[0])}.")
        + (" Cross on the axis: a cell that is not compared." if _crossed(panels) else "")
        + (" Bars that leave the picture end at its edge." if cut else "")
        + (f" In the table only: {fmt.plural(of.left, 'other curve')}." if of.left else "")
        + (f" Without a ratio, in the table only: {fmt.plural(of.lost, 'point')}." if of.lost else ""),
        panels=panels,
        half=len(panels) == 1,
        doubt=doubts.counted([row.doubt for row in rows], "point"),
    )
    band = max(math.log1p(row.decision.threshold) for row in rows)
    return Drawn(
        figure=figure,
        moved=any(row.verdict in ("regressed", "improved") and not row.once for row in rows),
        beyond=any(abs(row.decision.shift or 0.0) > band for row in rows),
    )


def _crossed(panels: Iterable[Panel]) -> bool:
    return any(panel.wide["datasets"].get("crosses") for panel in panels)


def _telling(rows: Sequence[Row], axis: str) -> list[str]:
    """Return the labels beside the axis that tell the curves apart, without those that say the same as others (-W9 and "3:1 nt")."""
    names = [
        name
        for name in rows[0].labels
        if name not in (axis, "turn") and len({row.labels.get(name) for row in rows}) > 1
    ]

    def curves_by(some: Sequence[str]) -> int:
        return len({tuple(row.labels.get(name) for name in some) for row in rows})

    for name in list(names):
        others = [other for other in names if other != name]
        if curves_by(others) == curves_by(names):
            names = others
    return names


def ratio_axis(rows: Sequence[Row]) -> axes.Axis:
    """Return an axis of ratios, log, with changes in per cent as ticks, on which better is up: that of a metric of which less is better falls.

    It holds all of B ÷ A, no change with the band around it, and of intervals what is up to three times as far as the farthest ratio.
    """
    ratios = [math.log(row.decision.ratio) for row in rows if row.decision.ratio]
    band = math.log1p(max(row.decision.threshold for row in rows))
    most = max(*map(abs, ratios), band) * 3
    ends = [
        max(-most, min(most, math.log(end)))
        for row in rows
        if row.interval
        for end in (row.decision.low, row.decision.high)
        if end and end > 0
    ]
    held = [*ratios, *ends, -band, band]
    margin = max(band / 2, 0.07 * (max(held) - min(held)))
    low, high = math.exp(min(held) - margin), math.exp(max(held) + margin)
    better = rows[0].better
    title = f"B against A (log){'' if better == 'neither' else ', up is better'}"
    return axes.Axis(
        kind="log", low=low, high=high, ticks=tuple(_ratio_ticks(low, high)), title=title, falling=better == "lower"
    )  # fmt: skip


def _ratio_ticks(low: float, high: float) -> Iterable[tuple[float, str]]:
    """Return three to seven ticks: changes in per cent, of an axis that goes further factors."""
    for step in (0.02, 0.05, 0.1, 0.2, 0.5):
        below, above = math.floor((1 - low) / step), math.floor((high - 1) / step)
        if below + above < 7 and low > 0.25:
            marks = [1 + k * step for k in range(-below, above + 1)]
            return [(mark, _percent(mark)) for mark in marks]
    for base in (2, 10, 4, 100, 10**4, 10**8, 10**16, 10**64):
        first, last = math.ceil(math.log(low, base)), math.floor(math.log(high, base))
        if 2 <= last - first < 7:
            return [(float(base) ** k, _times(base, k)) for k in range(first, last + 1)]
    return [(1.0, "same")]


def _percent(ratio: float) -> str:
    change = round((ratio - 1) * 100)
    return f"{'+' if change > 0 else '−' if change else ''}{abs(change)} %"


def _times(base: int, power: int) -> str:
    return "same" if not power else f"{fmt.level(float(base) ** power)} ×"


def _panel(
    metric: str, axis: str, series: Mapping[str, Sequence[Row]], y: axes.Axis, gaps: Sequence[Gap], colours: Mapping[str, str]
) -> Panel:  # fmt: skip
    open_at = {key: _by_place(gaps, axis, members) for key, members in series.items()}
    measured = {float(row.labels[axis]) for members in series.values() for row in members}
    tested = sorted(measured.union(*open_at.values()))
    place = {value: float(i) for i, value in enumerate(tested)}
    of = {(key, place[float(row.labels[axis])]): row for key, members in series.items() for row in members}
    lines = [
        Curve(
            name=key or metric,
            points=tuple((at, Spread(ratio, ratio, ratio, 1)) for at, ratio, *_ in _ratios(of, key, y)),
            ranges=tuple((at, low, high) for at, _, low, high in _ratios(of, key, y)),
        )
        for key in series
    ]
    told = {
        (line.name, at): row
        for line, key in zip(lines, series, strict=True)
        for (own, at), row in of.items()
        if own == key
    }
    names = [level(next(iter(of.values())), axis, value) for value in tested]
    crosses = [
        Cross(x=place[value], series=line.name, said=f"{names[int(place[value])]} · not compared: {gap.why}")
        for line, key in zip(lines, series, strict=True)
        for value, gap in open_at[key].items()
    ]

    def build(width: int) -> Spec:
        named = lines if len(lines) > 1 else []
        frame = Frame(
            width=width, height=height(width, 300, 280), left=left_margin(y),
            right=curve_rows.name_margin(named, width) if named else 16,
        )  # fmt: skip
        step = _every(names, frame.plot_width, 8 if width > 400 else 5)
        ticks = tuple((float(i), name) for i, name in enumerate(names) if i % step == 0)
        x = axes.Axis(kind="linear", low=-0.4, high=len(names) - 0.6, ticks=ticks, title=axis_title(axis))
        plot = Plot(frame=frame, x=x, y=y)
        points = curve_rows.point_rows(lines, list(place.values()), 1)
        for point in points:
            point["tip"] = _tip(told[point["series"], point["x"]], names[int(point["x"])])
        apart = {line.name: (i - (len(lines) - 1) / 2) * _APART for i, line in enumerate(lines)}
        row = next(iter(told.values()))
        band = math.log1p(row.decision.threshold)
        data: dict[str, Rows] = {
            "points": points,
            "ranges": curve_rows.range_rows(lines, list(place.values()), 1),
            "band": [{"x": x.low, "x2": x.high, "low": math.exp(-band), "high": math.exp(band)}],
            "same": [{"x": x.low, "x2": x.high, "y": 1.0}],
        }
        known = [
            vega.Series(name=line.name, colour=colours[key]) for line, key in zip(lines, series, strict=True)
        ]
        of_series = {one.name: one.colour for one in known} if named else None
        data["crosses"] = curve_rows.cross_rows(crosses, plot, of_series)
        data |= curve_rows.end_names(named, plot, 1, data["crosses"])
        for rows in (data[name] for name in ("points", "ranges", "leads") if name in data):
            for one in rows:
                one["x"] += apart[one["series"]]
        edge = (x.high - len(names) + 1) / (x.high - x.low) * frame.plot_width
        for one in data.get("names", ()):
            one["dx"] += edge
        for one in data.get("leads", ()):
            one["x2_px"] += edge
        return vega.fill("ratio", frame=frame, x=x, y=y, series=known, data=data)

    described = " ".join(_said(line, [told[line.name, at] for at, _ in line.points], names) for line in lines)
    lost = fmt.words(names[int(at)] for at in sorted({cross.x for cross in crosses}))
    described += f" Not compared: {lost}." if lost else ""
    by = axis_title(axis)
    by = by.lower() if axis in AXES else by
    return panel("", f"{metric} of B against A by {by}. {described}", build)


def _by_place(gaps: Iterable[Gap], axis: str, curve: Sequence[Row]) -> dict[float, Gap]:
    """Return tested value → the gap of a curve there; of values that one side was never to have those within the curve: nothing is joined
    across them."""
    there = sorted(float(row.labels[axis]) for row in curve)
    found = {number(gap.labels[axis]): gap for gap in gaps if gap.fits(axis, curve)}
    return {
        value: gap
        for value, gap in found.items()
        if value is not None and value not in there and (gap.meant or there[0] < value < there[-1])
    }


def _said(line: Curve, rows: Sequence[Row], names: Sequence[str]) -> str:
    """Return "other package: +5.1 to +6.6 % over 24 points, 0 B to 4 MiB; the farthest +6.6 % at 4 MiB.", of one point "local: +5.1 % at 4 threads."."""
    at = [names[int(place)] for place, _ in line.points]
    if len(at) == 1:
        return f"{line.name}: {texts.span(rows)} at {at[0]}."
    farthest = max(range(len(rows)), key=lambda i: abs(rows[i].decision.shift or 0.0))
    apart = len({texts.change(row.change) for row in rows}) > 1
    more = f"; the farthest {texts.shift(rows[farthest])} at {at[farthest]}" if apart else ""
    return (
        f"{line.name}: {texts.span(rows)} over {fmt.plural(len(rows), 'point')}, {at[0]} to {at[-1]}{more}."
    )


def _every(names: Sequence[str], width: float, most: int) -> int:
    """Return of how many tested values one is named: at most so many, and none that touches another."""
    least = -(-len(names) // most)
    room = width / max(len(names) - 0.2, 1)
    return next(
        step
        for step in range(least, len(names) + 1)
        if max(map(text_width, names[::step])) + _BETWEEN <= step * room or step == len(names)
    )


_BETWEEN: Final = 6
"""Between names of tested values, px."""


def _ratios(
    of: Mapping[tuple[str, float], Row], key: str, y: axes.Axis
) -> Iterable[tuple[float, float, float, float]]:
    """Give (place, ratio, both ends of its interval as far as the axis goes) of a curve; without an interval the ratio is both ends."""
    for at, row in sorted(
        ((at, row) for (own, at), row in of.items() if own == key), key=lambda item: item[0]
    ):
        d = row.decision
        assert d.ratio
        ends = (d.low, d.high) if row.interval else (d.ratio, d.ratio)
        yield at, d.ratio, max(ends[0] or 0.0, y.low), min(ends[1] or math.inf, y.high)


def _tip(row: Row, at: str) -> str:
    interval = f" ({texts.interval(row.interval)})" if row.interval else ""
    return f"{at} · {texts.shift(row)}{interval}, {texts.from_to(row)}, {row.word}"
