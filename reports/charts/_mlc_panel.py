"""The picture of loaded latency: latency from 0 to four times the lowest unloaded one over bandwidth, with what the memory could do."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from parsers import mlc
from reports.charts import curve_rows, facets, wording
from reports.charts._mlc_bounds import Beside, stamp
from reports.charts._mlc_curves import LoadCurve, Row
from reports.draw import axes, label_placement, vega
from reports.draw.figure import Panel, panel
from reports.draw.label_placement import Box, Point
from reports.draw.plot import Plot, height, left_margin
from reports.draw.vega import Frame, Rows, Spec
from reports.text import format as fmt

UNLOADED_HIGH = 4
"""How many of the lowest unloaded latency high the axis is: below, all that a load should wait; above, only how long a queue is."""

_OWN_HIGH = 2.5
"""How many of its own unloaded latency of a slower curve (remote memory, a larger buffer) lie below the axis' end: its knee, at 2, does."""

_ROOM = 1.25
"""So much above that the axis still grows: few points are at its edge only because of a hair."""

_WIDER = 2.0
"""A bandwidth beside the curves that is more often their own is told at the edge, not drawn: it would press them into a corner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What the panels of a figure share."""

    colours: Mapping[str, str]  # by the names of curves
    x: axes.Axis
    y: axes.Axis
    scale: fmt.Scale

    def above(self, row: Row) -> bool:
        return row.latency.median > self.y.high


def sheets(
    panels: Mapping[facets.Facet, Sequence[LoadCurve]], known: Mapping[facets.Facet, Sequence[Beside]], colours: Mapping[str, str], scale: fmt.Scale
) -> dict[facets.Facet, Sheet]:  # fmt: skip
    """Return colours and axes of each panel: latency from 0 to `_top` of all; bandwidth from 0 to what holds all curves, and of panels far apart those of
    each."""
    y = axes.from_zero([_top([load for curves in panels.values() for load in curves])], "Latency, ns")
    most = {of: max(row.bandwidth.high for load in curves for row in load.rows) for of, curves in panels.items()}  # fmt: skip
    alike = max(most.values()) <= curve_rows.FAR * min(most.values())
    found = {}
    for of in panels:
        shared = list(panels) if alike else [of]
        fastest = max(most[one] for one in shared)
        within = (beside.rate.median for one in shared for beside in known[one])
        held = [fastest, *(rate for rate in within if rate <= _WIDER * fastest)]
        x = axes.from_zero([v / scale.factor for v in held], f"Bandwidth, {scale.unit}")
        found[of] = Sheet(colours=colours, x=x, y=y, scale=scale)
    return found


_SPARE = 1.15
"""So many of the highest point lie below the axis' end where all points do: more is an empty half."""

_DOUBLED = 2.2
"""How many of the lowest unloaded latency do in any case: a reader sees how far from its double a curve stays."""


def _top(curves: Sequence[LoadCurve]) -> float:
    """Return where the axis of latency ends, in ns: UNLOADED_HIGH times the lowest unloaded one, and no lower than each curve's own end, or
    _OWN_HIGH times its unloaded latency if that is less; no higher than what holds all points, and the double of the lowest unloaded one."""
    slowest = max(map(_end, curves))
    told = [load for load in curves if load.offers.idle and not load.hollow]
    if not told:
        return slowest
    own = (min(_end(load), _OWN_HIGH * load.offers.unloaded) for load in told)
    lowest = min(load.offers.unloaded for load in told)
    top = max(UNLOADED_HIGH * lowest, *own)
    if top < slowest:
        return slowest if slowest <= _ROOM * top else top
    return min(top, max(_SPARE * slowest, _DOUBLED * lowest))


def _end(load: LoadCurve) -> float:
    return max(row.latency.high for row in load.rows)


def loaded_panel(of: facets.Facet, curves: Sequence[LoadCurve], known: Sequence[Beside], on: Sheet) -> Panel:
    title = facets.facet_title(of, "mlc")
    idle = [f"unloaded {_ns(c.offers.unloaded)}, " if c.offers.idle else "" for c in curves]
    described = " ".join(
        f"{load.name}: {unloaded}peak {fmt.quantity(load.offers.peak, 'B/s')}{'' if load.offers.doubled == 'yes' else ' of this load'} at {_ns(load.offers.latency_at_peak)}."
        for load, unloaded in zip(curves, idle, strict=True)
    )
    beside = "".join(f" {fmt.sentence(one.name)}: {fmt.quantity(one.rate.median, 'B/s')}." for one in known)
    said = fmt.sentence(stamp(curves, known))
    return panel(
        title,
        f"Latency over bandwidth{', ' + title if title else ''}. {described}{beside}{f' {said}.' if said else ''}",
        lambda width: _spec(curves, known, on, width),
    )


def _spec(curves: Sequence[LoadCurve], known: Sequence[Beside], on: Sheet, width: int) -> Spec:
    flat = Frame(width=width, height=height(width, 330, 300), left=left_margin(on.y))
    uprights, named, boxes = _uprights(known, Plot(frame=flat, x=on.x, y=on.y), on)
    higher = max([-box[1] + 3 - flat.top for box in boxes] + [0.0])
    frame = replace(flat, height=round(flat.height + higher), top=round(flat.top + higher))
    plot = Plot(frame=frame, x=on.x, y=on.y)
    data: dict[str, Rows] = {"points": [], "past": [], "above": [], "ranges": []}
    for load in curves:
        for name, rows in (("points", load.rows[: load.peak + 1]), ("past", load.rows[load.peak :])):
            if len(rows) > 1 or name == "points":
                data[name] += _line(load, rows, on, first="tip" if name == "points" else "")
        data["above"] += [_point(load, row, on, y=on.y.high) for row in load.rows if on.above(row)]
        data["ranges"] += [_range(load, row, on) for row in load.rows if _has_range(row, on)]
    if text := stamp(curves, known, frame.plot_width - 8):
        at = _stamp_box(text)
        data["stamps"] = [{"text": text, "x_px": at[0], "y_px": at[3]}]
        boxes.append((*at[:3], at[3] + _CLEAR))
    upright = [(plot.at(r["x"], r["y"]), plot.at(r["x2"], r["y2"])) for r in uprights]
    levels, notes, own = _levels(curves, plot, on, boxes, [*_strokes(curves, plot, on), *upright])
    data["references"], data["notes"], boxes = [*levels, *uprights], [*notes, *named], [*boxes, *own]
    ruled = [(plot.at(r["x"], r["y"]), plot.at(r["x2"], r["y2"])) for r in data["references"]]
    data["rings"], rings, taken = _knees(curves, plot, on, boxes, ruled)
    data["notes"] += rings
    boxes = [*boxes, *taken]
    if len(curves) > 1:
        data["names"], data["leads"] = _names(curves, plot, on, boxes, ruled)
    series = [vega.Series(name=load.name, colour=on.colours[load.name]) for load in curves]
    return vega.fill("loaded-latency", frame=frame, x=on.x, y=on.y, series=series, data=data)


_CLEAR = 8.0
"""px below a stamp where nothing is named: a level's name there reads as its second line."""


def _stamp_box(text: str) -> Box:
    """Return where a stamp stands: above all curves, which stay under half of the height where there is one."""
    return (8.0, 6.0, 8 + label_placement.text_width(text), 18.0)


# --- curves ------------------------------------------------------------------------------------------------


def _point(load: LoadCurve, row: Row, on: Sheet, **given: Any) -> dict[str, Any]:  # noqa: ANN401
    told = {
        "series": load.name, "x": row.bandwidth.median / on.scale.factor, "y": row.latency.median, "delay": row.delay,
        "tip": f"{_tip(row, on.scale)}{' · ⚠' * row.hollow}",
    }  # fmt: skip
    return {**told, **({"hollow": True} if row.hollow else {}), **given}


def _line(load: LoadCurve, rows: Sequence[Row], on: Sheet, *, first: str) -> Rows:
    """Return the part of a curve below the axis' end: points, and where it leaves and comes back a corner without a dot (`edge`)."""
    out: Rows = []
    segment = 0
    for order, row in enumerate(rows):
        told = _point(load, row, on, order=order, segment=segment)
        if order == 0 and not first:
            del told["tip"]
        if row.hollow:  # no line goes through it
            out += [told] if not on.above(row) else []
            continue
        before = next((r for r in reversed(rows[:order]) if not r.hollow), None)
        if before is not None and on.above(before) != on.above(row):
            edge = {"series": load.name, **_crossing(before, row, on), "order": order - 0.5, "edge": True}
            segment += on.above(before)
            out.append({**edge, "segment": segment})
        if not on.above(row):
            out.append({**told, "segment": segment})
    return out


def _crossing(a: Row, b: Row, on: Sheet) -> dict[str, float]:
    share = (on.y.high - a.latency.median) / (b.latency.median - a.latency.median)
    x = a.bandwidth.median + share * (b.bandwidth.median - a.bandwidth.median)
    return {"x": x / on.scale.factor, "y": on.y.high}


def _has_range(row: Row, on: Sheet) -> bool:
    return row.has_bar and not on.above(row)


def _range(load: LoadCurve, row: Row, on: Sheet) -> dict[str, Any]:
    return {
        "series": load.name, "x": row.bandwidth.median / on.scale.factor, "y": row.latency.median,
        "low": row.latency.low, "high": min(row.latency.high, on.y.high),
        "x_low": row.bandwidth.low / on.scale.factor, "x_high": row.bandwidth.high / on.scale.factor,
    }  # fmt: skip


def _tip(row: Row, scale: fmt.Scale) -> str:
    return (
        f"delay {row.delay} · {wording.spread_text(row.bandwidth, scale, 4)} {scale.unit} · "
        f"{wording.spread_text(row.latency, fmt.Scale(factor=1, unit='ns'), 4)} ns"
    )


def _ns(latency: float) -> str:
    return fmt.quantity(latency, "ns", step=mlc.PRINTED_LOADED_LATENCY)


def _visible(load: LoadCurve, plot: Plot, on: Sheet) -> list[Point]:
    """Return the corners of a curve in px, those above the axis at its edge."""
    return [
        plot.at(row.bandwidth.median / on.scale.factor, min(row.latency.median, on.y.high))
        for row in load.rows
    ]


def _bars(curves: Sequence[LoadCurve], plot: Plot, on: Sheet) -> list[tuple[Point, Point]]:
    """Return the bars of the repeats in px, those of latency and those of bandwidth."""
    drawn = [_range(load, row, on) for load in curves for row in load.rows if _has_range(row, on)]
    ends = (
        ((bar["x"], bar["low"], bar["x"], bar["high"]) for bar in drawn),
        ((bar["x_low"], bar["y"], bar["x_high"], bar["y"]) for bar in drawn),
    )
    return [(plot.at(a, b), plot.at(c, d)) for a, b, c, d in itertools.chain(*ends)]


def _strokes(curves: Sequence[LoadCurve], plot: Plot, on: Sheet) -> list[tuple[Point, Point]]:
    """Return what is drawn of the curves in px: no text should lie on it."""
    lines = (pair for load in curves for pair in itertools.pairwise(_visible(load, plot, on)))
    return [*lines, *_bars(curves, plot, on)]


# --- what stands beside them -------------------------------------------------------------------------------


def _levels(
    curves: Sequence[LoadCurve], plot: Plot, on: Sheet, taken: Sequence[Box], strokes: Sequence[tuple[Point, Point]]
) -> tuple[Rows, Rows, list[Box]]:  # fmt: skip
    """Return the lowest unloaded latency and its double as lines, with their names, which lie on nothing that is `taken` and on as few strokes
    as there is room for, without whose it is where that is fewer; and the boxes of these."""
    lines: Rows = []
    notes: Rows = []
    boxes: list[Box] = []

    told = [c for c in curves if c.offers.idle and not c.hollow]
    lowest = min(told, key=lambda load: load.offers.unloaded, default=None)
    if lowest:
        unloaded = lowest.offers.unloaded
        whose = f" ({lowest.short})" if len(curves) > 1 else ""
        for level, texts, dy in (
            (unloaded, (f"unloaded{whose} {_ns(unloaded)}", f"unloaded {_ns(unloaded)}"), _BELOW),
            (2 * unloaded, (f"2 × unloaded{whose}", "2 × unloaded"), _ABOVE),
        ):
            if on.y.low <= level <= on.y.high:
                ends = {"x": on.x.low, "x2": on.x.high, "y": level, "y2": level}
                lines.append({"series": lowest.name, **ends})
                _, py = plot.at(on.x.low, level)
                spots = [spot for text in texts for spot in _spots(text, dy, plot)]
                around = [label_placement.box_of(x, py + down, text, _SMALL) for text, x, down in spots]
                at = label_placement.clearest(around, strokes, [*taken, *boxes])
                text, x, down = spots[at]
                notes.append({"series": lowest.name, "x": on.x.low, "y": level, "text": text, "dx": round(x, 1), "dy": down, "align": "left"})  # fmt: skip
                boxes.append(around[at])
    return lines, notes, boxes


def _spots(text: str, dy: int, plot: Plot) -> Iterator[tuple[str, float, int]]:
    """Give where the name of a level may stand: its text, its left end, and its baseline from the line (px); first on the side `dy`."""
    right = plot.frame.plot_width - label_placement.text_width(text, _SMALL) - 2
    for down in (dy, _OTHER_SIDE[dy]):
        for share in _ALONG:
            yield text, 2 + share * (right - 2), down


_ALONG = (0.0, 1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.25)
"""Where the name of a level may begin, from the left end to the right one: the first that is free is taken."""

_SMALL = 11.5
_BELOW, _ABOVE = 13, -5
_OTHER_SIDE = {_BELOW: _ABOVE, _ABOVE: _BELOW}
"""The baseline of a name from its line, px."""

_ROW = 15.0
"""From one row of names above the plot to the next, in px."""


def _uprights(known: Sequence[Beside], plot: Plot, on: Sheet) -> tuple[Rows, Rows, list[Box]]:
    """Return the bandwidths beside the curves as uprights, and their names above the plot, each in the lowest row that has room; one that
    is beyond the axis is named at its end. With the boxes of the names."""
    lines: Rows = []
    notes: Rows = []
    width = plot.frame.plot_width + plot.frame.right
    boxes: list[Box] = []
    title = label_placement.box_of(-plot.frame.left, -18, on.y.title)
    for one in sorted(known, key=lambda one: -one.rate.median):
        at = one.rate.median / on.scale.factor
        beyond = at > on.x.high
        text = f"{one.name} {on.scale.number(one.rate.median)}{' →' if beyond else ''}"
        if not beyond:
            lines.append({"x": at, "x2": at, "y": on.y.low, "y2": on.y.high})
        at = min(at, on.x.high)
        px, _ = plot.at(at, on.y.high)
        wide = label_placement.text_width(text, 11.5)
        left = min(max(px - wide / 2, 0.0), width - wide)
        rows = (-6 - row * _ROW for row in itertools.count())
        dy = next(
            dy for dy in rows if not _touches(label_placement.box_of(left, dy, text, 11.5), [*boxes, title])
        )
        box = label_placement.box_of(left, dy, text, 11.5)
        notes.append(
            {"x": at, "y": on.y.high, "text": text, "dx": round(left - px, 1), "dy": dy, "align": "left"}
        )
        boxes.append(box)
    return lines, notes, boxes


def _touches(box: Box, others: Iterable[Box]) -> bool:
    return any(label_placement.touch(box, other) for other in others)


def knee(load: LoadCurve) -> tuple[float, float] | None:
    """Return where a curve's latency is twice its unloaded one (B/s, ns), or its peak where it moves no more until then; None where it does not
    double in all repeats."""
    offers = load.offers
    if load.hollow or not offers.idle or offers.doubled != "yes":
        return None
    if offers.at_double >= offers.peak:
        return offers.peak, offers.latency_at_peak
    return offers.at_double, 2 * offers.unloaded


_MOST_NAMED = 3
"""Of the knees of more curves than this the lowest and the highest have their values beside their rings; the table has all."""

_BESIDE = 12.0
"""A value that costs more to place is too far from its ring, or on a line: it stands in the table alone."""


def _knees(
    curves: Sequence[LoadCurve],
    plot: Plot,
    on: Sheet,
    boxes: Sequence[Box],
    ruled: Sequence[tuple[Point, Point]],
) -> tuple[Rows, Rows, list[Box]]:
    """Return the rings, the values beside them, and what both take."""
    found = [(load, at) for load in curves if (at := knee(load)) and at[1] <= on.y.high]
    rings: Rows = [{"series": load.name, "x": x / on.scale.factor, "y": y} for load, (x, y) in found]
    places = [plot.at(x / on.scale.factor, y) for _, (x, y) in found]
    taken = [(x - 7, y - 7, x + 7, y + 7) for x, y in places]
    anchors = [(place, fmt.quantity(x, "B/s")) for place, (_, (x, _)) in zip(places, found, strict=True)]
    ends = (
        {choose(range(len(found)), key=lambda i: places[i][0]) for choose in (min, max)} if found else set()
    )
    told = [i for i in range(len(found)) if len(curves) <= _MOST_NAMED or i in ends]
    strokes = _strokes(curves, plot, on)
    bounds = (0.0, -8.0, plot.frame.plot_width + plot.frame.right, plot.frame.plot_height - 4)
    placed = label_placement.near([anchors[i] for i in told], [*strokes, *ruled], [*boxes, *taken], bounds)
    notes: Rows = []
    for i, label in zip(told, placed, strict=True):
        ring, ((x, y), text) = rings[i], anchors[i]
        if label.cost < _BESIDE:
            own = {"series": ring["series"], "x": ring["x"], "y": ring["y"]}
            notes.append({**own, "text": text, "dx": label.dx, "dy": label.dy, "align": label.align})
            taken.append(label_placement.box_of(x + label.dx, y + label.dy, text))
    return rings, notes, taken


def _names(
    curves: Sequence[LoadCurve], plot: Plot, on: Sheet, boxes: Sequence[Box], ruled: Sequence[tuple[Point, Point]]
) -> tuple[Rows, Rows]:  # fmt: skip
    """Put a name at each curve, near its peak, where it covers neither the boxes nor bars nor what is ruled; with the hairlines that lead
    back."""
    named = [(_visible(load, plot, on), load.short) for load in curves]
    whiskers = [label_placement.whisker(a, b) for a, b in _bars(curves, plot, on)]
    bounds = (0.0, -14.0, plot.frame.plot_width + plot.frame.right, plot.frame.plot_height)
    starts = [min(load.peak, _leaves(load, on)) for load in curves]
    placed = label_placement.along(
        named, [*boxes, *whiskers], bounds, prefer=plot.frame.plot_height * 0.3, starts=starts, ruled=ruled
    )
    first = [load.rows[0] for load in curves]
    begins = [
        {
            "series": load.name,
            "x": row.bandwidth.median / on.scale.factor,
            "y": min(row.latency.median, on.y.high),
        }
        for load, row in zip(curves, first, strict=True)
    ]
    return label_placement.rows_along(placed, named, begins)


def _leaves(load: LoadCurve, on: Sheet) -> int:
    """Return the index of the last row before a curve leaves the axis; of one that stays its last."""
    above: Iterator[int] = (i for i, row in enumerate(load.rows) if on.above(row))
    return max(next(above, len(load.rows)) - 1, 0)
