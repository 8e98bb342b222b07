"""Curves, and the rows of dots, lines, bands and names that they become; whose curves are highlighted."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from reports.draw import label_placement, vega
from reports.draw.figure import Panel
from reports.draw.plot import Plot
from reports.draw.vega import Rows, Series
from reports.numbers.formulas import Spread, saturations, spread
from reports.results.grouping import group_by
from reports.results.model import Run
from reports.text import format as fmt
from reports.text.names import cut_apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One line: y over x, the repeats of each x as a Spread, both in base units."""

    name: str
    points: tuple[tuple[float, Spread], ...]  # by rising x
    label: str = ""  # at the line's end; the name if not given
    dashed: vega.Dash = False
    dimmed: bool = False  # grey, without a name beside it
    ranges: tuple[tuple[float, float, float], ...] | None = None  # x, low, high; else from the repeats
    turns: tuple[Mapping[float, float], ...] = field(default=(), compare=False)
    """x → y of each repeat, where they are known."""
    hollow: frozenset[float] = frozenset()  # x of which no run is sound: shown, and part of no statement

    @property
    def medians(self) -> dict[float, float]:
        return {x: y.median for x, y in self.points}

    @property
    def sound(self) -> tuple[tuple[float, Spread], ...]:
        """The points that statements may be made of."""
        return tuple(point for point in self.points if point[0] not in self.hollow)


def curve(
    name: str, values: Iterable[tuple[float, float]], *, runs: Iterable[Run] = (), label: str = "", dashed: vega.Dash = False,
    step: float | None = None,
) -> Curve:  # fmt: skip
    """Return the curve of (x, y) pairs; the y of one x are its repeats. runs: whose the pairs are, which tells the curve of each repeat
    and what is hollow; of an x with sound runs only these count. step: the last digit of y that their program prints."""
    pairs, whose = list(values), list(runs)
    unsound = {i for i, run in enumerate(whose) if not run.sound}
    sound = {x for i, (x, _) in enumerate(pairs) if i not in unsound}
    by_x = group_by(
        (xy for i, xy in enumerate(pairs) if i not in unsound or xy[0] not in sound), lambda v: v[0]
    )
    points = tuple((x, spread([y for _, y in by_x[x]], step)) for x in sorted(by_x))
    of_runs = ((run, xy) for run, xy in zip(whose, pairs, strict=False) if run.sound)
    turns = group_by(of_runs, lambda of: of[0].turn).values()
    return Curve(
        name=name, points=points, label=label, dashed=dashed, turns=tuple(dict(xy for _, xy in own) for own in turns),
        hollow=frozenset(by_x) - sound,
    )  # fmt: skip


def in_words(lines: Iterable[Curve], unit: str, at: Callable[[float], str]) -> str:
    """Return "local: 10.2 GB/s at 1 thread, 23.1 GB/s at 8 threads. …": the first point of each curve and its last, the same one once. at: an x in
    words."""
    return " ".join(
        f"{line.name}: {first_and_last(_said(y, unit, at(x)) for x, y in line.points)}." for line in lines
    )


def first_and_last(points: Iterable[str]) -> str:
    """Return what is said of the first of some points and of the last; of a single one it once."""
    first, *others = points
    return ", ".join([first, *others[-1:]])


def _said(y: Spread, unit: str, at: str) -> str:
    return f"{fmt.quantity(y.median, unit, step=y.step)} at {at}"


Tip = Callable[[float, Spread], str]
"""Says a point's exact values: "8 threads · 23.1 GB/s (22.9–23.4)"."""


def point_rows(
    curves: Sequence[Curve], tested: Sequence[float], factor: float, tip: Tip | None = None
) -> Rows:
    """Return the rows of lines and dots."""
    rows = []
    for line in curves:
        parts = joined(line, line.medians, tested)
        for order, (x, y) in enumerate(line.points):
            hollow = x in line.hollow
            rows.append(
                {
                    "series": line.name, "x": x, "y": y.median / factor,
                    "order": order, "segment": parts[x], "dashed": line.dashed,
                    **({"tip": f"{tip(x, y)}{' · ⚠' if hollow else ''}"} if tip else {}), **({"hollow": True} if hollow else {}),
                    **({"pair": True} if _is_pair(line, x, y) else {}),
                }
            )  # fmt: skip
    return rows


def joined(line: Curve, drawn: Iterable[float], tested: Sequence[float]) -> dict[float, int]:
    """Return which segment of a line each x that is drawn is in: it breaks where a tested x is missing, or hollow, and is never joined across."""
    rank = {x: i for i, x in enumerate(sorted(set(tested)))}
    found: dict[float, int] = {}
    segment, last = 0, None
    for x in drawn:
        if last is not None and rank[x] != last + 1:
            segment += 1
        last = -2 if x in line.hollow else rank[x]
        found[x] = segment
    return found


def _is_pair(line: Curve, x: float, y: Spread) -> bool:
    """Is a point of two repeats that differ? These are drawn as what they are, two dots."""
    return line.ranges is None and y.n == 2 and y.high > y.low and x not in line.hollow


def range_rows(curves: Sequence[Curve], tested: Sequence[float], factor: float) -> Rows:
    """Return the rows of bands and bars: where a point has repeats (or the ranges it was given), lowest to highest. Of two repeats they are
    the ends of a `pair`."""
    pairs = {(line.name, x) for line in curves for x, y in line.points if _is_pair(line, x, y)}
    segments = {(r["series"], r["x"]): r["segment"] for r in point_rows(curves, tested, factor)}
    rows = []
    for line in curves:
        given = (
            line.ranges
            if line.ranges is not None
            else [(x, y.low, y.high) for x, y in line.points if y.n > 1]
        )
        for x, low, high in given:
            if high > low and x not in line.hollow:
                rows.append(
                    {
                        "series": line.name, "x": x, "low": low / factor, "high": high / factor,
                        "segment": segments.get((line.name, x), 0), **({"pair": True} if (line.name, x) in pairs else {}),
                    }
                )  # fmt: skip
    return rows


MOST_SERIES = 6


C = TypeVar("C", bound=Curve)


def highlight(panels: Sequence[Sequence[C]], badness: Callable[[C], float]) -> list[list[C]]:
    """Return the curves of a figure's panels as they are drawn: in a panel of over six, the worst three last and with their names, the
    others before them, grey and without. The worst are those of the first such panel, in all panels that have them. Their tips and the
    table tell who the others are."""
    crowded = next((curves for curves in panels if len(curves) > MOST_SERIES), ())
    worst = {c.name for c in sorted(crowded, key=badness)[-3:]}
    drawn = []
    for curves in panels:
        if len(curves) <= MOST_SERIES:
            drawn.append(list(curves))
            continue
        ranked = sorted(curves, key=badness)
        named = worst & {c.name for c in curves} or {c.name for c in ranked[-3:]}
        grey = [replace(c, dimmed=True) for c in ranked if c.name not in named]
        drawn.append([*grey, *(c for c in ranked if c.name in named)])
    return drawn


def highlighted(curves: Sequence[C]) -> list[C]:
    """Return the curves that have a name beside them."""
    return [c for c in curves if not c.dimmed]


def dimmed(panels: Sequence[Sequence[Curve]], by: str) -> str:
    """Say what grey lines are, if there are any, and by what the others are the worst."""
    grey = any(c.dimmed for curves in panels for c in curves)
    return f" Grey: all but the worst three by {by}." if grey else ""


def colours(panels: Sequence[Sequence[Curve]]) -> dict[str, str]:
    """Return the colour of each name beside a line: the same in all panels of a figure."""
    drawn = [[c.name for c in highlighted(curves)] for curves in panels]
    return told_apart(list(dict.fromkeys(itertools.chain(*drawn))), drawn)


def told_apart(names: Sequence[str], panels: Iterable[Iterable[str]]) -> dict[str, str]:
    """Return the colour of each name: of more names than there are colours, some have one that no name in a panel beside them has, and
    grey where there is none. panels: the names in each."""
    if len(names) <= len(vega.SERIES):
        return dict(zip(names, vega.palette(len(names)), strict=True))
    return first_free(dict.fromkeys(names, vega.SERIES), panels)


def first_free(wished: Mapping[str, Sequence[str]], panels: Iterable[Iterable[str]]) -> dict[str, str]:
    """Return the colour of each name: of those that it may have the first that no name in a panel beside it has, grey where there is none."""
    beside = [set(own) for own in panels]
    found: dict[str, str] = {}
    for name, own_colours in wished.items():
        taken = {found.get(other) for own in beside if name in own for other in own}
        found[name] = next((colour for colour in own_colours if colour not in taken), vega.GREY)
    return found


def series_of(curves: Sequence[Curve], named: Mapping[str, str]) -> list[Series]:
    """Give each curve its colour, that of its name in the figure; grey to those that are not highlighted."""
    return [
        Series(
            name=c.name,
            colour=vega.GREY if c.dimmed else named.get(c.name, vega.GREY),
            dashed=c.dashed,
        )
        for c in curves
    ]


def segments(
    curves: Sequence[Curve], plot: Plot, factor: float
) -> list[tuple[label_placement.Point, label_placement.Point]]:
    """Return the strokes of the curves and their bars in px, and of pairs of dots each dot: what names should not lie on."""
    bars = range_rows(curves, sorted({x for line in curves for x, _ in line.points}), factor)
    lines = (
        (plot.at(a, ya.median / factor), plot.at(b, yb.median / factor))
        for line in curves
        for (a, ya), (b, yb) in itertools.pairwise(line.points)
    )
    ends = ((plot.at(bar["x"], bar["low"]), plot.at(bar["x"], bar["high"]), bar.get("pair")) for bar in bars)
    return [*lines, *(stroke for low, high, pair in ends for stroke in (((low, low), (high, high)) if pair else ((low, high),)))]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Cross:
    """A cell that never gave a number."""

    x: float
    said: str  # "threads 8 · no number: timed out after 60 s"
    series: str = ""  # the curve that it would be a point of; "": of no one


FAILED = "#A65B00"


def cross_rows(
    crosses: Iterable[Cross], plot: Plot, colours: Mapping[str, str] | None = None, curves: Sequence[Curve] = (), factor: float = 1.0
) -> Rows:  # fmt: skip
    """Return the rows of crosses on the x axis, those of one x above one another and above what the curves have there, each in the colour of its
    series, if that has one."""
    rows: Rows = []
    ends = ((x, end / factor) for line in curves for x, y in line.points for end in (y.low, y.median, y.high))
    ink = [plot.at(*end) for end in ends]
    drawn = sorted(dict.fromkeys(crosses), key=lambda cross: cross.x)
    for x, own in group_by(drawn, lambda cross: cross.x).items():
        across = plot.at(x, plot.y.first)[0]
        taken = [plot.frame.plot_height - y for at, y in ink if abs(at - across) < _TOUCH]
        places = [up for up in _UPS if all(abs(up - at) >= _TOUCH for at in taken)] or [*_UPS]
        for cross, up in zip(own, itertools.chain(places, itertools.repeat(places[-1])), strict=False):
            rows.append(
                {
                    "series": cross.series, "x": x, "y": plot.y.first, "up": up, "y_px": _px(plot.frame.plot_height - up),
                    "colour": (colours or {}).get(cross.series, FAILED), "tip": cross.said,
                }
            )  # fmt: skip
    return rows


_TOUCH: Final = 9.0
"""Px between the middles of a cross and of a dot that do not touch."""

_UPS: Final = tuple(range(6, 200, 11))
"""Px above the axis at which crosses stand."""


def failed(what: str, run: Run) -> str:
    """Say of a cell of which a run failed, "threads 8 · no number: timed out after 60 s"."""
    why = run.record.reason or run.unreadable or run.record.status
    return f"{what} · no number: {why}"


def crossed(panels: Iterable[Panel]) -> str:
    """Say what crosses are; "" without one."""
    drawn = any(p.wide["datasets"].get("crosses") for p in panels)
    return " Cross on the axis: a cell without a number." if drawn else ""


FAR: Final = 8.0
"""Panels whose highest values are further apart share no axis from 0: the curve of the lowest would be flat."""


def own_axes(panels: Sequence[Panel]) -> bool:
    """Have some pictures axes of their own upwards?"""
    return len({str(panel.wide["encoding"]["y"]["scale"]["domain"]) for panel in panels}) > 1


def saturates(line: Curve) -> float | None:
    """Return the first x with 95 % of the curve's maximum. None of fewer than three points, of a curve whose largest x it is: nothing
    larger was tried, and a curve that still rises has not saturated; of one with hollow points; and where the repeats do not agree."""
    if line.hollow:
        return None
    first = saturations(line.turns or [line.medians])
    return first[0] if len(first) == 1 and len(line.points) >= 3 and first[0] != line.points[-1][0] else None


def saturation_rings(lines: Sequence[Curve], plot: Plot, factor: float) -> dict[str, Rows]:
    """Mark where each curve `saturates`, with "95 % at 8" beside it: the data sets `rings` and `notes`. Rings at one x are named
    once."""
    rings: Rows = []
    for line in lines:
        full = saturates(line)
        if full is None:
            continue
        at = {"x": full, "y": line.medians[full] / factor}
        rings.append({"series": line.name, **at})
    rings_upwards = sorted(rings, key=lambda r: float(r["y"]))
    named = list({ring["x"]: ring for ring in rings_upwards}.values())  # of each x the upper one
    anchors = [(plot.at(ring["x"], ring["y"]), f"95 % at {fmt.level(ring['x'])}") for ring in named]
    boxes = [(x - 7, y - 7, x + 7, y + 7) for x, y in (plot.at(ring["x"], ring["y"]) for ring in rings)]
    bounds = (0.0, -8.0, plot.frame.plot_width, plot.frame.plot_height - 4)
    placed = label_placement.near(anchors, segments(lines, plot, factor), boxes, bounds, 11.5)
    notes = [
        {
            "series": ring["series"],
            "x": ring["x"],
            "y": ring["y"],
            "text": text,
            "dx": label.dx,
            "dy": label.dy,
            "align": label.align,
        }
        for ring, (_, text), label in zip(named, anchors, placed, strict=True)
    ]
    return {"rings": rings, "notes": notes}


def note_box(note: Mapping[str, Any], plot: Plot, size: float = 11.5) -> label_placement.Box:
    """Return the box (px) of a row of `notes`: text, where it belongs in the axes' units, and how far from there it stands."""
    x, y = plot.at(float(note["x"]), float(note["y"]))
    return label_placement.box_of(x + float(note["dx"]), y + float(note["dy"]), str(note["text"]), size)


def end_names(
    curves: Sequence[Curve], plot: Plot, factor: float, crosses: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Rows]:
    """Put the names in a column to the right of the longest line, at the heights of the lines' ends, pushed apart; that of a line that ends
    much earlier beside its end, if there is room. crosses: as `cross_rows`; no name lies on one.

    Returns the data sets `names` and `leads`: a hairline leads back where a name had to move, or its line ends earlier.
    """

    def end(line: Curve) -> label_placement.Point:
        return plot.at(line.points[-1][0], line.points[-1][1].median / factor)

    known = [c for c in highlighted(curves) if c.points]
    texts = _names(curves, plot.frame.width)
    right = max((end(c)[0] for c in curves if c.points), default=0.0) + 8
    early = [c for c in known if right - end(c)[0] > _EARLY]
    beside = _beside_ends(early, texts, curves, plot, factor, crosses)
    crowded = [
        end(c) for c in early if c.name not in beside
    ]  # hairlines begin there: through the name of another line that ends there
    beside = {
        c.name: beside[c.name]
        for c in early
        if c.name in beside and not any(math.dist(end(c), other) < _CROWDED for other in crowded)
    }
    drawn = [c for c in known if c.name not in beside]
    ends = [end(c) for c in drawn]
    over_axis = right < plot.frame.plot_width
    floor = plot.frame.plot_height - (_TEXT if over_axis else 2)
    places = label_placement.column([y for _, y in ends], gap=15, low=2, high=floor)
    names: Rows = list(beside.values())
    leads: Rows = []
    for line, (x, y), place in zip(drawn, ends, places, strict=True):
        at = {"series": line.name, "x": line.points[-1][0], "y": line.points[-1][1].median / factor}
        names.append(
            {
                **at,
                "text": texts[line.name],
                "dx": _px(right - x),
                "dy": _px(place - y + 4),
                "align": "left",
            }
        )
        if abs(place - y) > 4 or right - x > 14:
            leads.append({**at, "x2_px": _px(right - 3), "y2_px": _px(place)})
    return {"names": names, "leads": leads}


_EARLY = 60
"""A line that ends so many px before the column of names looks as if it went on, were a hairline drawn from its end."""

_CROWDED = 15

_TEXT = 9
"""Of a name so many px below its middle are free: no axis strikes it through."""

_CROSS = 6
"""Half of the room of a cross, px."""

_REACHES = (1.0, 1.4, 2.2, 3.6)
"""The second sets a name right below or above that of a line with the same end."""

_TOUCHING = 8
"""What `label_placement.near` says of a name that touches nothing is below that."""


def _beside_ends(
    early: Sequence[Curve],
    texts: Mapping[str, str],
    curves: Sequence[Curve],
    plot: Plot,
    factor: float,
    crosses: Sequence[Mapping[str, Any]],
) -> dict[str, dict[str, object]]:
    """Return the rows of the names of some lines, each beside its end, of those whose names touch nothing there."""
    if not early:
        return {}
    anchors = [(plot.at(c.points[-1][0], c.points[-1][1].median / factor), texts[c.name]) for c in early]
    strokes = segments([c for c in curves if c.points], plot, factor)
    bounds = (0.0, 0.0, plot.frame.plot_width, plot.frame.plot_height - 4)
    at = [(plot.at(row["x"], plot.y.first)[0], row["y_px"]) for row in crosses]
    taken = [(x - _CROSS, y - _CROSS, x + _CROSS, y + _CROSS) for x, y in at]
    placed = label_placement.near(anchors, strokes, taken, bounds, reaches=_REACHES)
    return {
        line.name: {
            "series": line.name, "x": line.points[-1][0], "y": line.points[-1][1].median / factor, "text": text,
            "dx": place.dx, "dy": place.dy, "align": place.align,
        }
        for line, (_, text), place in zip(early, anchors, placed, strict=True)
        if place.cost < _TOUCHING
    }  # fmt: skip


def name_margin(curves: Sequence[Curve], width: int) -> float:
    """Return the right margin that the names need, at most a third of the picture."""
    widest = max(map(label_placement.text_width, _names(curves, width).values()), default=0)
    return min(round(widest * 1.05 + _ASIDE), width // 3)


_ASIDE = 14
"""A name stands so many px from its line and from the edge, together."""


def _names(curves: Sequence[Curve], width: float) -> dict[str, str]:
    """Return what stands beside each line that has a name there; where that is too wide, without what all of them say: "alg slow, size 64"
    beside "alg fast, size 1" as "slow, 64". Cut where that is too wide, too."""
    texts = {c.name: c.label or c.name for c in highlighted(curves)}
    room = (width // 3 - _ASIDE) / 1.05

    def wide() -> bool:
        return any(label_placement.text_width(text) > room for text in texts.values())

    if wide() and len(texts) > 1:
        parts = {name: text.split(", ") for name, text in texts.items()}
        common = set.intersection(*map(set, parts.values()))
        own = {name: [p for p in each if p not in common] for name, each in parts.items()}
        if all(own.values()):
            texts = {name: ", ".join(each) for name, each in own.items()}
        if wide() and all(own.values()) and len({len(each) for each in own.values()}) == 1:
            columns = [[part.partition(" ") for part in column] for column in zip(*own.values(), strict=True)]
            alike = [len({first for first, _, _ in c}) == 1 and all(rest for *_, rest in c) for c in columns]
            shown = [[rest if same else "".join(p) for p in c for *_, rest in [p]] for c, same in zip(columns, alike, strict=True)]  # fmt: skip
            texts = dict(zip(own, map(", ".join, zip(*shown, strict=True)), strict=True))
    cut = cut_apart(texts.values(), label_placement.fits(room))
    return {name: cut[text] for name, text in texts.items()}


def _px(value: float) -> float:
    return round(value, 1)
