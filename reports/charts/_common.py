"""What the charts share: cells grouped into panels and curves, curves turned into rows, names put beside them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from reports.draw import label_placement, vega
from reports.draw.figure import Panel
from reports.draw.plot import Plot
from reports.draw.vega import Rows, Series
from reports.numbers.formulas import Spread, saturations, spread
from reports.page.model import KeyNumber
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.results.naming import option_value, program_kind, program_name
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

MOST_PANELS = 8
"""A figure with more panels than this is a wall: the rest is in its table, and the figure says so."""

MOST_HOSTS = 8
"""Beyond so many hosts a panel each is a wall, too, and a line each a tangle: a line is then drawn through the medians over all
hosts, its band or bar from the lowest to the highest, and the hosts are set against one another in a strip and a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One line: y over x, the repeats of each x as a Spread, both in base units."""

    name: str
    points: tuple[tuple[float, Spread], ...]  # by rising x
    label: str = ""  # at the line's end; the name if not given
    dashed: bool = False
    ranges: tuple[tuple[float, float, float], ...] | None = None  # x, low, high; else from the repeats
    turns: tuple[Mapping[float, float], ...] = field(
        default=(), compare=False
    )  # x → y of each repeat, where they are known

    @property
    def medians(self) -> dict[float, float]:
        return {x: y.median for x, y in self.points}


Facet = tuple[tuple[str, Any], ...]
"""What all runs of a panel have in common: (name, value) pairs, always the same names in a figure."""


TURN = "run of its text"
"""What tells the panels of a text that holds several runs apart."""


def facet(run: Run, names: Sequence[str]) -> Facet:
    """Return the run's panel: its host, its place, its program, and its values of the named options."""
    own = _own(run)
    return tuple((name, own.get(name)) for name in names)


def _own(run: Run) -> dict[str, Any]:
    return {**run.options, "host": run.where, "place": run.place, "program": program_kind(run)}


def of_panel(runs: Iterable[Run], of: Facet) -> list[Run]:
    """Return the runs of a panel; of one run of a text (`in_panels`) the text's."""
    return [run for run in runs if all(_own(run).get(name) == value for name, value in of if name != TURN)]


def in_panels(found: pd.DataFrame, *within: str, texts: bool = False) -> pd.DataFrame:
    """Return some rows with `panel` (a Facet) beside the columns of their reading; runs that one text holds are panels, too, and with
    `texts` the texts that were taken in."""
    import pandas as pd

    runs = list(dict.fromkeys(found["run"]))
    names = panel_names(runs, within=within)
    sources = _texts(runs) if texts and "source" not in names else {}
    turns = found.groupby("run", sort=False)["turn"].transform("nunique") > 1
    panels = [
        (*facet(run, names), *((("source", sources.get(run)),) if sources else ()), *(((TURN, turn),) if several else ()))
        for run, turn, several in zip(found["run"], found["turn"], turns, strict=True)
    ]  # fmt: skip
    return found.assign(panel=lambda f: pd.Series(panels, index=f.index, dtype=object))


def _texts(runs: Sequence[Run]) -> dict[Run, str]:
    """Return the short name of the text of each captured run, where there are several and none is said to be another's repeat."""
    of = {run: run.text for run in runs if run.text}
    cells = group_by(of, cell).values()
    one = len({*of.values()}) < 2 or any(len({of[run] for run in same}) > 1 for same in cells)
    return {} if one else of


def facet_names(runs: Sequence[Run], *, within: Iterable[str]) -> list[str]:
    """Return the options (and "host", "place", "program") that differ between the runs and are not drawn within a panel.

    A tool and its stand-in never share a panel; many hosts do (`pooled`).
    """
    inner = {*within, "host"} if pooled(runs) else set(within)
    seen: dict[str, set[str]] = {"host": set(), "place": set(), "program": set()}
    for run in runs:
        for name, value in {**run.point.options, **run.point.apart}.items():
            if not isinstance(value, dict):
                seen.setdefault(name, set())
        if run.source:
            seen.setdefault("source", set())
    for run in runs:
        own = _own(run)
        for name, values in seen.items():
            values.add(str(own.get(name)))
    return [name for name, values in seen.items() if len(values) > 1 and name not in inner]


_MOST_OPTIONS = 3


def panel_names(runs: Sequence[Run], *, within: Iterable[str]) -> list[str]:
    """Return the `facet_names`; of very many options, where the texts alone tell the panels apart, the first three."""
    names = facet_names(runs, within=within)
    options = [name for name in names if name not in ("host", "place", "program", "source")]
    short = [name for name in names if name not in options[_MOST_OPTIONS:]]
    told = {facet(run, [name for name in names if name not in options]) for run in runs}
    alone = "source" in names and len(told) == len({facet(run, names) for run in runs})
    return short if alone else names


def told(drawn: Iterable[tuple[Run, object]], within: Sequence[str]) -> tuple[str, ...]:
    """Return those of some options that need no panels: what is drawn of a run (beside it) tells their value. Cells of two values
    that nothing tells apart would be pooled."""
    pairs = list(drawn)
    names = facet_names(list(dict.fromkeys(run for run, _ in pairs)), within=within)
    known = [((facet(run, names), by), _own(run)) for run, by in pairs]
    points = {point for point, _ in known}
    return tuple(n for n in within if len({(point, str(own.get(n))) for point, own in known}) == len(points))


def cell(run: Run) -> tuple[str, str, str]:
    """Return what the repeats of a cell share; a stand-in's runs are no repeats."""
    return run.file, run.record.point_id, program_kind(run)


def names_apart(named: Sequence[tuple[str, Run]]) -> list[str]:
    """Return the names of cells (name, one of its runs): what several are called is told apart by the options, place or host in
    which these differ; at last by a number."""
    runs = {name: [run for _, run in same] for name, same in group_by(named, lambda n: n[0]).items()}
    apart = {name: panel_names(same, within=()) if len(same) > 1 else [] for name, same in runs.items()}
    found = [
        ", ".join(filter(None, (name, facet_title(facet(run, apart[name]), run.tool)))) for name, run in named
    ]
    seen: Counter[str] = Counter()
    out = []
    for name in found:
        seen[name] += 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return out


def pooled(runs: Iterable[Run]) -> bool:
    """Are there so many hosts that they share their panels?"""
    return len({run.host for run in runs}) > MOST_HOSTS


def lost(results: Results, tool: str, sweep: str, runs: Sequence[Run], *, within: Iterable[str]) -> list[Run]:
    """Return one failed run of each cell without a number: of many hosts, of each cell that none of them has. Only of cells that
    the options drawn `within` a panel tell from those of a panel, and nothing else: a cross stands in that panel."""
    found = results.lost(tool, sweep)
    known = {run.record.point_id for run in runs} if pooled(runs) else set()
    names = facet_names([*runs, *found], within=within)
    drawn = {facet(run, names) for run in runs}
    return [run for run in found if run.record.point_id not in known and facet(run, names) in drawn]


def not_drawn(panels: int, drawn: int) -> str:
    """Say how many panels a figure leaves to its table, if any."""
    left = panels - drawn
    more = fmt.plural(left, "more panel")
    return f" {more} {'is' if left == 1 else 'are'} in the numbers only." if left > 0 else ""


def over(runs: Sequence[Run]) -> str:
    """Return what a range is taken over: "of the repeats", "of 64 hosts"."""
    return f"of {fmt.count(len({run.host for run in runs}))} hosts" if pooled(runs) else "of the repeats"


def facet_title(of: Facet, tool: str) -> str:
    """Return "64 B stride, node n001", for people."""
    return ", ".join(option_value(tool, key, value) for key, value in of if value is not None)


def curve(
    name: str, values: Iterable[tuple[float, float]], *, runs: Iterable[Run] = (), label: str = "", dashed: bool = False
) -> Curve:  # fmt: skip
    """Return the curve of (x, y) pairs; the y of one x are its repeats. runs: whose the pairs are, which tells the curve of each repeat."""
    pairs = list(values)
    by_x = group_by(pairs, lambda v: v[0])
    points = tuple((x, spread([y for _, y in by_x[x]])) for x in sorted(by_x))
    turns = group_by(zip(runs, pairs, strict=False), lambda of: of[0].turn).values()
    return Curve(
        name=name, points=points, label=label, dashed=dashed, turns=tuple(dict(xy for _, xy in own) for own in turns)
    )  # fmt: skip


Tip = Callable[[float, Spread], str]
"""Says a point's exact values: "8 threads · 23.1 GB/s (22.9–23.4)"."""


def point_rows(
    curves: Sequence[Curve], tested: Sequence[float], factor: float, tip: Tip | None = None
) -> Rows:
    """Return the rows of lines and dots. A line breaks where a tested x is missing in it: it is never joined across."""
    rank = {x: i for i, x in enumerate(sorted(set(tested)))}
    rows = []
    for line in curves:
        segment, last = 0, None
        for order, (x, y) in enumerate(line.points):
            if last is not None and rank[x] != last + 1:
                segment += 1
            last = rank[x]
            rows.append(
                {
                    "series": line.name, "x": x, "y": y.median / factor,
                    "order": order, "segment": segment, "dashed": line.dashed,
                    **({"tip": tip(x, y)} if tip else {}),
                }
            )  # fmt: skip
    return rows


def range_rows(curves: Sequence[Curve], tested: Sequence[float], factor: float) -> Rows:
    """Return the rows of bands and bars: where a point has repeats (or the ranges it was given), lowest to highest."""
    segments = {(r["series"], r["x"]): r["segment"] for r in point_rows(curves, tested, factor)}
    rows = []
    for line in curves:
        given = (
            line.ranges
            if line.ranges is not None
            else [(x, y.low, y.high) for x, y in line.points if y.n > 1]
        )
        for x, low, high in given:
            if high > low:
                rows.append(
                    {
                        "series": line.name, "x": x, "low": low / factor, "high": high / factor,
                        "segment": segments.get((line.name, x), 0),
                    }
                )  # fmt: skip
    return rows


MOST_SERIES = 6
_DIMMED = " "


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
        grey = [replace(c, label=_DIMMED) for c in ranked if c.name not in named]
        drawn.append([*grey, *(c for c in ranked if c.name in named)])
    return drawn


def highlighted(curves: Sequence[C]) -> list[C]:
    """Return the curves that have a name beside them."""
    return [c for c in curves if c.label != _DIMMED]


def dimmed(panels: Sequence[Sequence[Curve]], by: str) -> str:
    """Say what grey lines are, if there are any, and by what the others are the worst."""
    grey = any(len(highlighted(curves)) < len(curves) for curves in panels)
    return f" Grey: all but the worst three by {by}." if grey else ""


def colours(panels: Sequence[Sequence[Curve]]) -> dict[str, str]:
    """Return the colour of each name beside a line: the same in all panels of a figure."""
    names = list(dict.fromkeys(c.name for curves in panels for c in highlighted(curves)))
    return dict(zip(names, vega.palette(len(names)), strict=True))


def series_of(curves: Sequence[Curve], named: Mapping[str, str]) -> list[Series]:
    """Give each curve its colour, that of its name in the figure; grey to those that are not highlighted."""
    return [
        Series(
            name=c.name,
            colour=named.get(c.name, vega.GREY) if c.label != _DIMMED else vega.GREY,
            dashed=c.dashed,
        )
        for c in curves
    ]


def segments(
    curves: Sequence[Curve], plot: Plot, factor: float
) -> list[tuple[label_placement.Point, label_placement.Point]]:
    """Return the strokes of the curves in px: what names should not lie on."""
    return [
        (plot.at(a, ya.median / factor), plot.at(b, yb.median / factor))
        for line in curves
        for (a, ya), (b, yb) in itertools.pairwise(line.points)
    ]


def cross_rows(xs: Iterable[float]) -> Rows:
    """Return the rows of crosses on the x axis: cells that failed."""
    return [{"series": "failed", "x": x, "y": 0} for x in sorted(set(xs))]


def saturates(line: Curve) -> float | None:
    """Return the first x with 95 % of the curve's maximum. None of fewer than three points, of a curve whose largest x it is: nothing
    larger was tried, and a curve that still rises has not saturated; and where the repeats do not agree."""
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
    named = list(
        {ring["x"]: ring for ring in sorted(rings, key=lambda r: float(r["y"]))}.values()
    )  # the upper one
    anchors = [(plot.at(ring["x"], ring["y"]), f"95 % at {ring['x']:g}") for ring in named]
    boxes = [(x - 7, y - 7, x + 7, y + 7) for x, y in (plot.at(ring["x"], ring["y"]) for ring in rings)]
    bounds = (0.0, -8.0, plot.frame.plot_width, plot.frame.plot_height - 4)
    placed = label_placement.near(anchors, segments(lines, plot, factor), boxes, bounds, 11.5)
    notes = [
        {"x": ring["x"], "y": ring["y"], "text": text, "dx": label.dx, "dy": label.dy, "align": label.align}
        for ring, (_, text), label in zip(named, anchors, placed, strict=True)
    ]
    return {"rings": rings, "notes": notes}


def end_names(curves: Sequence[Curve], plot: Plot, factor: float) -> dict[str, Rows]:
    """Put the names in a column to the right of the longest line, at the heights of the lines' ends, pushed apart.

    Returns the data sets `names` and `leads`: a hairline leads back where a name had to move, or its line ends earlier.
    """
    drawn = [c for c in highlighted(curves) if c.points]
    ends = [plot.at(c.points[-1][0], c.points[-1][1].median / factor) for c in drawn]
    places = label_placement.column([y for _, y in ends], gap=15, low=2, high=plot.frame.plot_height - 2)
    right = (
        max(
            (plot.at(c.points[-1][0], c.points[-1][1].median / factor)[0] for c in curves if c.points),
            default=0.0,
        )
        + 8
    )
    names, leads = [], []
    for line, (x, y), place in zip(drawn, ends, places, strict=True):
        at = {"series": line.name, "x": line.points[-1][0], "y": line.points[-1][1].median / factor}
        names.append(
            {
                **at,
                "text": line.label or line.name,
                "dx": _px(right - x),
                "dy": _px(place - y + 4),
                "align": "left",
            }
        )
        if abs(place - y) > 4 or right - x > 14:
            leads.append({**at, "x2_px": _px(right - 3), "y2_px": _px(place)})
    return {"names": names, "leads": leads}


def name_margin(curves: Sequence[Curve], width: int) -> float:
    """Return the right margin that the names need, at most a third of the picture."""
    widest = max((label_placement.text_width(c.label or c.name) for c in highlighted(curves)), default=0)
    return min(round(widest * 1.05 + 14), width / 3)


def _px(value: float) -> float:
    return round(value, 1)


def shorten(text: str, most: int = 22) -> str:
    """Cut a name that no margin could hold, in its middle: what tells it from the others often stands last."""
    if len(text) <= most:
        return text
    end = most // 2
    return f"{text[: most - 1 - end].rstrip(' ,')}…{text[len(text) - end :].lstrip(' ,')}"


def cut_apart(names: Iterable[str], cut: Callable[[str], str] = shorten) -> dict[str, str]:
    """Return name → its cut form; those that the cut would make alike are cut from where they part on."""
    found = {name: cut(name) for name in names}
    for alike in group_by(found.items(), lambda pair: pair[1]).values():
        if len(alike) > 1:
            same = itertools.takewhile(
                lambda at: len(set(at)) == 1, zip(*(name for name, _ in alike), strict=False)
            )
            shared = "".join(letter for letter, *_ in same)
            at = next((shared.rfind(end) + len(end) for end in (", ", " ") if end in shared), len(shared))
            parts = cut_apart((name[at:] for name, _ in alike), cut)
            found |= {name: f"…{parts[name[at:]]}" for name, _ in alike}
    return found


def spread_text(value: Spread, scale: fmt.Scale, digits: int = 3) -> str:
    """Return "23.1" for one repeat, "23.1 (22.9–23.4)" for several."""
    text, low, high = (scale.number(v, digits) for v in (value.median, value.low, value.high))
    return text.within(low, high) if isinstance(text, fmt.Shown) and value.n > 1 and low != high else text


STEADY = 0.05
"""Key numbers whose repeats lie within 5 % of the median stand alone."""


def key_number(
    name: str, value: Spread, unit: str, context: str, rank: int, runs: Iterable[Run], *, program: str = ""
) -> KeyNumber:
    """Return a number for the page's header: the median, and how far the repeats are apart if that is worth saying. `runs`: of its
    cell.

    Of numbers of one name and one `program` the page shows the best: the lowest time, the highest of anything else.
    """
    text, scaled = fmt.split(value.median, unit)
    repeats = ""
    if value.n > 1 and value.relative > STEADY:
        factor = fmt.scale_for([value.median], unit)
        repeats = f"{factor.number(value.low)} to {factor.number(value.high)} {scaled}"
    return KeyNumber(
        name=name,
        value=text,
        unit=scaled,
        context=context,
        rank=rank,
        repeats=repeats,
        unsteady=value.unsteady,
        program=program,
        runs=tuple(dict.fromkeys(runs)),
        merit=-value.median if unit == "ns" else value.median,
    )


def exact(value: Spread, unit: str) -> str:
    """Return "23.14 GB/s (22.9–23.4)": a number as it is read at a point."""
    scale = fmt.scale_for([value.median], unit)
    text = f"{fmt.quantity(value.median, unit, 4)}"
    if value.n > 1 and value.low < value.high:
        text += f" ({scale.number(value.low, 4)}–{scale.number(value.high, 4)})"
    return text


def ran(runs: Sequence[Run], naming: Callable[[Run], str]) -> str:
    """Return what ran, in words: "STREAM 5.10, 3 repeats a cell", "1 to 3 repeats a cell with numbers", "one run a cell"."""
    programs = list(dict.fromkeys(naming(run) for run in runs))
    counts = [len(same) for same in group_by(runs, cell).values()]
    low, high = min(counts, default=1), max(counts, default=1)
    often = fmt.plural(high, "repeat") if low == high else f"{low} to {fmt.plural(high, 'repeat')}"
    often = f"{often} a cell{' with numbers' if low < high else ''}" if high > 1 else "one run a cell"
    hosts = f" on each of {fmt.count(len({run.host for run in runs}))} hosts" if pooled(runs) else ""
    return f"{fmt.words(programs)}, {often}{hosts}"


def marks(panels: Iterable[Panel]) -> frozenset[str]:
    """Return the kinds of marks that some pictures have: what a caption may explain."""
    return frozenset(name for p in panels for name, rows in p.wide["datasets"].items() if rows)


def of_texts(runs: Iterable[Run]) -> str:
    """Say " Of a.out." or " Of 3 texts." of captured runs, where several texts were taken in; else ""."""
    texts = list(dict.fromkeys(run.text.partition(", part ")[0] for run in runs if run.text))
    return f" Of {texts[0] if len(texts) == 1 else fmt.plural(len(texts), 'text')}." if texts else ""


def programs(runs: Iterable[Run]) -> tuple[str, ...]:
    """Return the names of all programs that made some runs, each version by itself, in order of appearance."""
    return tuple(dict.fromkeys(program_name(run) for run in runs))
