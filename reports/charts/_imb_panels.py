"""Time and bandwidth of messages over their size, drawn: messages of 0 bytes have a slot of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from parsers import imb
from reports.charts import curve_rows, wording
from reports.charts._imb_curves import Line
from reports.charts.curve_rows import Curve
from reports.draw import axes, label_placement, vega
from reports.draw.figure import Panel, panel
from reports.draw.plot import Plot, height, left_margin
from reports.draw.vega import Frame, Rows, Spec
from reports.numbers import formulas
from reports.text import format as fmt

SLOT = 34
"""Room in px left of the x axis' first tick, for the message of 0 bytes."""


def _drawn_times(lines: Sequence[Line]) -> list[float]:
    """Return all times (ns) that a panel of these lines draws."""
    drawn = [_positive(line) for line in lines] if _undrawn(lines) else lines
    return [v for line in drawn for _, y in line.points for v in (y.low, y.high)]


def time_panel(lines: Sequence[Line], panels: Sequence[Sequence[Line]], title: str, axis: str) -> Panel:
    """panels: the lines of all panels of its figure, which share their y axis."""
    colours = curve_rows.colours(panels)
    positive = [_positive(line) for line in lines]
    zero = {} if _undrawn(lines) else dict(_empty(lines))
    sizes = [size for line in lines for size, _ in line.points if size or zero]
    everything = [v for own in panels for v in _drawn_times(own)]
    y = axes.decades(
        everything,
        f"{axis} (log scale)",
        unit="ns",
        margin=max(1.5, (max(everything) / min(everything)) ** 0.13),  # room for the value below the slot
    )
    tested = sorted({size for size in sizes if size > 0})

    def build(width: int) -> Spec:
        x = axes.powers_of_two(sizes, "Message size, bytes (log)", most=7 if width > 400 else 5)
        start = SLOT if zero else 0
        frame = Frame(
            width=width, height=height(width, 330, 290), left=left_margin(y),
            right=curve_rows.name_margin(lines, width) if _are_named(lines) else _BARE,
        )  # fmt: skip
        plot = Plot(frame=frame, x=x, y=y, x_start=start)
        data: dict[str, Rows] = {
            "points": curve_rows.point_rows(
                positive, tested, 1.0, lambda n, v: f"{fmt.size(n)} · {wording.exact(v, 'ns')}"
            ),
            "ranges": curve_rows.range_rows(positive, tested, 1.0),
            "zero": _zero_rows(zero, plot, positive),
            "slot": [{"text": "0"}] if zero else [],
            **(curve_rows.end_names(positive, plot, 1.0) if _are_named(lines) else {}),
        }
        return vega.fill(
            "pingpong-time",
            frame=frame,
            x=x,
            y=y,
            series=curve_rows.series_of(lines, colours),
            data=data,
            x_start=start,
        )

    described = " ".join(f"{name}: {fmt.quantity(y0.median, 'ns')} for 0 bytes." for name, y0 in zero.items())
    described += without_bytes([lines])
    return panel(title, f"Time by message size, both axes logarithmic. {described}".strip(), build)


_BARE = 16
"""The right margin (px) of a panel without names."""


_VALUE = 23
"""Room in px that a value and its distances from a dot and from other ink take."""

_FAR = 10.0
"""So many times less than with one byte: a collective that exchanges nothing, whose time would take most of the axis."""


def _are_named(lines: Sequence[Curve]) -> bool:
    """Do names beside the lines say anything? That of the only one of which nobody told a place does not."""
    return [line.name for line in lines] != [wording.UNSAID]


def _empty(lines: Iterable[Curve]) -> Iterator[tuple[str, formulas.Spread]]:
    """Give the lines' names, and their times of messages without bytes."""
    return ((line.name, y) for line in lines for size, y in line.points if size == 0)


def _undrawn(lines: Sequence[Curve]) -> list[formulas.Spread]:
    """Return the times of messages without bytes that no axis of the others holds; [] where they are drawn."""
    zero = [y for _, y in _empty(lines)]
    least = min((y.low for line in lines for size, y in line.points if size > 0), default=0.0)
    return zero if zero and max(y.high for y in zero) * _FAR < least else []


def without_bytes(panels: Iterable[Sequence[Curve]]) -> str:
    """Say " 0 B, not drawn: 0.11 to 0.48 µs." of the messages without bytes that are not."""
    found = sorted(y.median for lines in panels for y in _undrawn(lines))
    ends = list(
        dict.fromkeys(fmt.quantity(v, "ns", step=imb.PRINTED["time"]) for v in (*found[:1], *found[-1:]))
    )
    return f" 0 B, not drawn: {' to '.join(ends)}." if ends else ""


def _positive(line: Curve) -> Curve:
    return Curve(
        name=line.name,
        label=line.label,
        dimmed=line.dimmed,
        points=tuple(p for p in line.points if p[0] > 0),
        hollow=line.hollow,
    )


def _zero_rows(zero: dict[str, formulas.Spread], plot: Plot, lines: list[Curve]) -> Rows:
    """Dots in the slot. The value of the upper one stands above it, that of the lower one below it, beyond the ink in the way there;
    values within 5 % of each other are written once, and none of what is hollow, if there is another."""
    if not zero:
        return []
    hollow = {line.name for line in lines if line.hollow}
    ranked = sorted(zero.items(), key=lambda z: z[1].median)
    told = [rank for rank, (name, _) in enumerate(ranked) if name not in hollow] or range(len(ranked))
    least, most = told[0], told[-1]
    low, high = (ranked[rank][1].median for rank in (least, most))
    step = imb.PRINTED["time"]
    texts = {least: fmt.quantity(low, "ns", step=step), most: fmt.quantity(high, "ns", step=step)}
    if high < low * 1.05:
        texts = {least: fmt.span([low, high], "ns", step)}
    reach = max((label_placement.text_width(text, 11.5) for text in texts.values()), default=0) + 12
    ink = [plot.at(x, value) for line in lines for x, y in line.points for value in (y.low, y.median, y.high)]
    ends = (v for y in zero.values() for v in (y.low, y.median, y.high))
    beside = [y for x, y in ink if x <= reach] + [plot.at(plot.x.low, v)[1] for v in ends]
    rows = []
    for rank, (name, value) in enumerate(ranked):
        at = plot.at(plot.x.low, value.median)[1]
        below = rank == least
        edge = _free(at, beside, 1 if below else -1)
        rows.append(
            {
                "series": name, "y": value.median, **({"hollow": True} if name in hollow else {}), "low": value.low,
                "high": value.high, "text": texts.get(rank, ""), "dx": -6,
                **({"pair": True} if value.n == 2 and value.high > value.low and name not in hollow else {}), "x_px": 12, "tip": f"0 B · {wording.exact(value, 'ns')}",
                "dy": round(min(edge, plot.frame.plot_height - 4) - at, 1),
            }
        )  # fmt: skip
    return rows


def _free(at: float, ink: Iterable[float], way: int) -> float:
    """Return the base line (px) of the value of a dot at that height: right below it (way 1) or above it (-1), or beyond the ink that lies
    there."""
    edge = at
    for y in sorted((y for y in ink if (y - at) * way > 0), key=lambda y: y * way):
        if (y - edge) * way > _VALUE:
            break
        edge = y
    return edge + 17 if way > 0 else edge - 9


def rate_panel(times: Sequence[Line], panels: Sequence[Sequence[Line]], title: str) -> Panel:
    """panels: the times of all panels of its figure, which share their y axis."""
    colours = curve_rows.colours(panels)
    lines = [replace(line.rates, dimmed=line.dimmed) for line in times]
    everything = [v for own in panels for line in own for _, y in line.rates.points for v in (y.low, y.high)]
    y = axes.decades(everything, "Bandwidth (log scale)", unit="B/s", margin=1.4)
    tested = sorted({size for line in lines for size, _ in line.points})
    offers = {line.name: line.offers for line in times}

    def build(width: int) -> Spec:
        x = axes.powers_of_two(tested, "Message size, bytes (log)", most=7 if width > 400 else 5)
        frame = Frame(
            width=width, height=height(width, 330, 290), left=left_margin(y),
            right=curve_rows.name_margin(lines, width) if _are_named(lines) else _BARE,
        )  # fmt: skip
        plot = Plot(frame=frame, x=x, y=y)
        drawn = [line for line in lines if line.points]
        data: dict[str, Rows] = {
            "points": curve_rows.point_rows(
                lines, tested, 1.0, lambda n, v: f"{fmt.size(n)} · {wording.exact(v, 'B/s')}"
            ),
            "ranges": curve_rows.range_rows(lines, tested, 1.0),
            **(curve_rows.end_names(lines, plot, 1.0) if _are_named(lines) else {}),
            "rings": [], "notes": [],
        }  # fmt: skip
        anchors: list[tuple[label_placement.Point, str]] = []
        where: Rows = []
        for line in [line for line in curve_rows.highlighted(drawn) if not line.hollow][:4]:
            half, peak = offers[line.name].half_size, offers[line.name].peak
            if half is not None and peak is not None:
                at = {"x": half, "y": peak / 2}
                data["rings"].append({"series": line.name, **at})
                anchors.append((plot.at(half, at["y"]), f"n½ {fmt.size(half)}"))
                where.append({"series": line.name, **at})
        segments = curve_rows.segments(drawn, plot, 1.0)
        bounds = (0.0, -10.0, frame.plot_width, frame.plot_height - 4)
        rings = [(px - 7, py - 7, px + 7, py + 7) for (px, py), _ in anchors]
        for place, at in zip(
            label_placement.near(anchors, segments, rings, bounds, 11.5), where, strict=True
        ):
            text = anchors[place.index][1]
            data["notes"].append({**at, "text": text, "dx": place.dx, "dy": place.dy, "align": place.align})
        return vega.fill(
            "pingpong-bandwidth",
            frame=frame,
            x=x,
            y=y,
            series=curve_rows.series_of(lines, colours),
            data=data,
        )

    described = " ".join(
        f"{name}: peak {fmt.quantity(of.peak, 'B/s')}"
        + (f", half of it at {fmt.size(of.half_size)}." if of.half_size else ".")
        for name, of in offers.items()
        if of.peak is not None
    )
    return panel(title, f"Bandwidth by message size, both axes logarithmic. {described}", build)
