"""IOPS, latency and the one over the other, by what a sweep of fio varies: the panels of its figure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from parsers.units import size_bytes
from reports.charts import _fio_dots, curve_rows, facets, wording
from reports.charts import titles as findings
from reports.charts._fio_cells import (
    MIXES,
    RANKED,
    THOUSANDS,
    dash,
    depth_of,
    is_mix,
    known_count,
    names_of_panels,
    no_depth,
    share_of,
)
from reports.charts._fio_cells import colours as series_colours
from reports.charts.curve_rows import Cross, Curve
from reports.draw import axes, label_placement, vega
from reports.draw.figure import Key, Panel, panel
from reports.draw.plot import Plot, left_margin
from reports.draw.vega import Frame, Rows, Spec
from reports.numbers import formulas
from reports.numbers.fio import WORDS, directions, printed
from reports.results.grouping import group_by
from reports.results.model import Run
from reports.results.naming import program_name
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class _Picture:
    """The panels of a figure, what its title may say of all of them, what is drawn in them, and what its marks mean."""

    title: str
    told_of: tuple[Run, ...]  # whose numbers its title tells
    drawn: pd.DataFrame
    panels: tuple[Panel, ...]
    threes: bool  # has each cell three of them?
    key: tuple[Key, ...]
    marks: tuple[str, ...]


def drawn_picture(runs: Sequence[Run], found: pd.DataFrame, lost: Sequence[Run], latency: str) -> _Picture:
    names = names_of_panels(found)
    ranked = found.sort_values(RANKED, kind="stable")
    known = list(dict.fromkeys(zip(ranked["series"], ranked["label"], strict=True)))
    beside = ranked.groupby("panel", sort=False)["series"].unique()
    directions = dict(zip(ranked["series"], ranked["direction"], strict=True))
    dashed = {name for name, _ in known if is_mix(name)}
    colours = series_colours(directions, beside, dashed)
    missing = group_by(lost, lambda r: facets.facet(r, names))
    crosses = {of: list(crosses_of(own)) for of, own in missing.items()}
    depths = sorted({*map(int, found["iodepth"]), *(int(c.x) for own in crosses.values() for c in own)})
    panels = group_by(_points(found), lambda point: point.panel)
    dotted, joined = _apart(panels, crosses)
    shown = dict(list(joined.items())[: facets.MOST_PANELS // 2])
    middle = "p50" if found["p50"].notna().all() else "mean"
    once = max(len(same) for same in group_by(runs, facets.cell).values()) == 1 and not facets.pooled(runs)

    sizes: dict[facets.Facet, str] = dict(zip(found["panel"], found["size"], strict=True))
    follows = _moved_by_each(found)  # then bandwidth is the same picture
    numbers = ["iops", *(["bandwidth"] if not follows else []), middle, "p99"]

    def lines_of(own: Sequence[_Point], *, samples: bool) -> _Lines:
        return {"bandwidth": [], **{what: _lines(own, known, what, samples=samples) for what in numbers}}

    drawn = {of: lines_of(own, samples=once) for of, own in shown.items()}
    shared = _shared(drawn, latency, middle, colours, depths, sizes)
    rows = [_row(lines, of, crosses.get(of, []), shared) for of, lines in drawn.items()]
    dots = _fio_dots.few({of: lines_of(own, samples=False) for of, own in dotted.items()})
    dot_panels = _fio_dots.dot_panels(dots, middle, latency, shared.word, directions) if dots else []
    pictures = [*(panel for row in rows for panel in row.values()), *dot_panels]
    told = [own for own in panels.values() if any(point.run.sound for point in own)]
    title, told_of = _title(told, known, middle)
    marks = _marks(runs, [*drawn.values()], rows, pictures, shared)
    marks.append(curve_rows.crossed(pictures).strip())
    if len({axis for _, axis in shared.counts.values()}) > 1:
        marks.append("The IOPS axes differ.")
    if follows:
        marks.append(f"Bandwidth, in the numbers, is IOPS × {follows}.")
    seen = found[found["panel"].isin([*shown, *dots])]
    marks.append(wording.hollow(pictures, seen["run"]).strip())
    marks.append(wording.not_drawn(len(panels), len(shown) + len(dots)).strip())
    lined = set(found.loc[found["panel"].isin([*shown]), "series"])
    key = [name for name, _ in known if name in lined]
    return _Picture(
        title=title or f"IOPS and latency{' over iodepth' * (len(depths) > 1 and bool(joined))}",
        drawn=seen,
        told_of=told_of,
        threes={len(row) for row in rows} == {3} and not dots,
        panels=(*(row[what] for row in rows for what in ("iops", "bandwidth", "latency", "p99", "tradeoff") if what in row), *dot_panels),
        key=tuple(Key(name=name, colour=colours[name], dashed=is_mix(name)) for name in key) if len(key) > 1 and len({(colours[name], name in dashed) for name in key if colours[name] != vega.GREY}) == len(key) else (),
        marks=tuple(marks),
    )  # fmt: skip


_Panels = Mapping[facets.Facet, Sequence["_Point"]]


def _apart(panels: _Panels, crosses: Mapping[facets.Facet, Sequence[Cross]]) -> tuple[_Panels, _Panels]:
    """Return the panels that have one depth, and nothing lost beside it, and the others: of the first a figure has a row each, where there are two."""
    one = {
        of: own for of, own in panels.items() if len({p.iodepth for p in own}) == 1 and not crosses.get(of)
    }
    if len(one) < 2:
        return {}, panels
    return one, {of: own for of, own in panels.items() if of not in one}


def crosses_of(lost: Sequence[Run]) -> Iterator[Cross]:
    for run in lost:
        if depth := depth_of(run):
            kind = f"{run.options['rw']}, " if "rw" in run.options else ""
            yield Cross(x=float(depth), said=curve_rows.failed(f"{kind}iodepth {depth}", run))


_Lines = Mapping[str, list[Curve]]
"""The curves of a panel's runs: IOPS, the middle latency, p99."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shared:
    """What all panels of a figure have in common."""

    latency: str  # which, in words
    middle: str  # "p50", or "mean" where a run has no median
    word: str  # "median" or "mean"
    colours: dict[str, str]
    depths: list[int]
    times: axes.Axis  # one for all panels: what waits longer is seen to
    waits: axes.Axis  # of the middle latency alone
    apart: bool  # of one panel at one depth: p99 has a panel of its own, else thin lines
    moved: fmt.Scale  # of bandwidths
    rates: axes.Axis  # of bandwidths, one for all panels
    counts: Mapping[facets.Facet, tuple[fmt.Scale, axes.Axis]]  # of the IOPS of each panel


def _shared(
    by_panel: Mapping[facets.Facet, _Lines], latency: str, middle: str, colours: dict[str, str], depths: list[int],
    sizes: Mapping[facets.Facet, str],
) -> _Shared:  # fmt: skip
    drawn = [*by_panel.values()]
    ends = [y for by in drawn for what in (middle, "p99") for line in by[what] for _, y in line.points]
    times = [v for y in ends for v in (y.low, y.high)] or [1.0]
    word = "median" if middle == "p50" else "mean"
    apart = len(drawn) == 1 and len(depths) == 1
    middles = f"{fmt.sentence(word)} {latency} (log scale)"
    thin = not apart and any(by["p99"] for by in drawn)
    both = f"{fmt.sentence(word)} {latency} (thin: p99; log scale)"
    axis = axes.decades(times, both if thin else middles, unit="ns", margin=1.3)
    medians = [y.median for by in drawn for line in by[middle] for _, y in line.points]
    waits = axes.decades(medians, middles, unit="ns", margin=1.5)
    moves = [v for by in drawn for line in by["bandwidth"] for _, y in line.points for v in (y.low, y.high)]
    moved = fmt.scale_to_largest(moves or [1.0], "B/s")
    rates = axes.from_zero([v / moved.factor for v in moves], f"Bandwidth, {moved.unit}")
    return _Shared(
        latency=latency, middle=middle, word=word, colours=colours, depths=depths, times=axis, waits=waits, moved=moved,
        rates=rates, apart=apart, counts=_counted({of: _iops(by) for of, by in by_panel.items()}, sizes),
    )  # fmt: skip


_APART, _SIZES_APART = 10.0, 2.0
"""How many times the highest IOPS of a panel may be those of another on one axis, and of one with blocks of another size: these are compared by their
bandwidth."""


def _counted(
    panels: Mapping[facets.Facet, Sequence[float]], sizes: Mapping[facets.Facet, str]
) -> dict[facets.Facet, tuple[fmt.Scale, axes.Axis]]:
    """Return scale and axis of the IOPS of each panel: one for all, else for all of a block size; each its own, where one would lie on the floor."""
    several = len({sizes[of] for of in panels}) > 1
    if _near(panels.values(), _SIZES_APART if several else _APART):
        return dict.fromkeys(panels, _counts([v for own in panels.values() for v in own]))
    alike = group_by(panels, sizes.__getitem__) if several else {of: [of] for of in panels}
    return {
        of: found
        for same in alike.values()
        for of, found in _counted({of: panels[of] for of in same}, sizes).items()
    }


def _near(panels: Iterable[Sequence[float]], apart: float) -> bool:
    peaks = [max(values, default=0.0) for values in panels]
    return len(peaks) < 2 or max(peaks) <= apart * min(peaks)


def _moved_by_each(found: pd.DataFrame) -> str:
    """Return the block size of all cells, "4 KiB", where their bandwidth tells nothing else than their IOPS; "" where it does."""
    sizes = set(found["size"])
    size = sizes.pop() if len(sizes) == 1 else ""
    if not size or " and " in size or found["bandwidth"].isna().any():
        return ""
    each = found["bandwidth"] / found["iops"] / size_bytes(size.replace(" ", ""))
    return size if each.between(1 / _SAME, _SAME).all() else ""


_SAME = 1.05
"""I/Os that are under way at the end of a short run are bytes and no I/Os."""


def _counts(iops: Sequence[float]) -> tuple[fmt.Scale, axes.Axis]:
    scale = fmt.scale_to_largest(iops, "IOPS")
    return scale, axes.from_zero([v / scale.factor for v in iops], THOUSANDS[scale.unit])


def _iops(lines: _Lines) -> list[float]:
    """Return all that is drawn of the IOPS of a panel, ends of ranges, too."""
    values = [v for line in lines["iops"] for _, y in line.points for v in (y.low, y.high)]
    return values + [v for line in lines["iops"] for _, low, high in line.ranges or () for v in (low, high)]


def _row(lines: _Lines, of: facets.Facet, crosses: Sequence[Cross], shared: _Shared) -> dict[str, Panel]:
    """Draw some runs: "iops" and, where there are such numbers, "bandwidth", "latency", "p99" and "tradeoff"."""
    where, latency = facets.facet_title(of, "fio"), shared.latency
    iops, delays, tails = lines["iops"], lines[shared.middle], lines["p99"]
    rate, axis = shared.counts[of]

    def titled(text: str) -> str:
        return f"{where}, {text}" if where else fmt.sentence(text)

    def draw(
        title: str, drawn: list[Curve], y: axes.Axis, factor: float, unit: str, thin: Sequence[Curve] = ()
    ) -> Panel:
        return _panel(title, drawn, shared.colours, shared.depths, y, factor, unit, crosses, thin)

    row = {"iops": draw(titled("IOPS"), iops, axis, rate.factor, "IOPS")}
    if moves := lines["bandwidth"]:
        row["bandwidth"] = draw(titled("bandwidth"), moves, shared.rates, shared.moved.factor, "B/s")
    if delays:
        thin = () if shared.apart else tails
        row["latency"] = draw(titled(latency), delays, shared.times, 1.0, "ns", thin)
        if any(len(line.points) > 1 for line in delays):
            over = titled(f"{latency} over IOPS")
            row["tradeoff"] = _tradeoff(
                over,
                iops,
                delays,
                shared.colours,
                shared.depths,
                axis,
                rate.factor,
                shared.waits,
            )
    if shared.apart and tails:
        y99 = shared.times.titled(f"p99 {latency} (log scale)")
        row["p99"] = draw(titled(f"{latency}, p99"), tails, y99, 1.0, "ns")
    return row


def _marks(
    runs: Sequence[Run], drawn: Sequence[_Lines], rows: Sequence[Mapping[str, Panel]], pictures: Sequence[Panel], shared: _Shared
) -> list[str]:  # fmt: skip
    """Say what bars, rings, thin and dashed lines are, of those that are drawn."""
    every = [line for by in drawn for of_kind in by.values() for line in of_kind]
    marks = [_samples(every) or wording.repeats(pictures, runs).strip()]
    if any(curve_rows.saturates(line) for by in drawn for line in by["iops"]):
        marks.append("Ring: 95 % of that curve’s maximum.")
    latency = fmt.sentence(shared.latency)
    if any("latency" in row for row in rows) or any(p.title.endswith(shared.latency) for p in pictures):
        thin = "; thin line: p99" if not shared.apart and any(by["p99"] for by in drawn) else ""
        both = any(name.endswith("(clat)") for name in shared.colours)
        kind = (
            "clat"
            if shared.latency == WORDS["clat"]
            else "lat, of a series with “(clat)” the completion"
            if both
            else "lat"
        )
        marks.append(f"{latency} ({kind}): the {shared.word} of a run{thin}.")
    if any("tradeoff" in row for row in rows):
        marks.append(f"{latency} over IOPS: one point per iodepth; a curve that goes straight up only waits.")
    if mixed := [line.name.removesuffix(" (clat)").rpartition(", ")[2] for line in every if line.dashed]:
        marks.append(f"Dashed: a mix, split into its {fmt.words(dict.fromkeys(mixed))}.")
    return marks


class _Point(NamedTuple):
    """A row of `_fio_cells.cells` as a curve needs it; nan: not told."""

    panel: facets.Facet
    series: str
    run: Run
    iodepth: int
    processes: Any
    iops: float
    bandwidth: float
    mean: float
    p50: float
    p99: float
    iops_min: float
    iops_max: float


def _points(found: pd.DataFrame) -> list[_Point]:
    columns = (found[name].tolist() for name in _Point._fields)
    return [_Point(*row) for row in zip(*columns, strict=True)]


_READS = ("randread", "read")
"""Series of pure reads."""

_SUBJECTS = {"IOPS and latency", "IOPS and latency over iodepth"}


def _title(
    panels: Sequence[Sequence[_Point]], known: Sequence[tuple[str, str]], middle: str
) -> tuple[str, tuple[Run, ...]]:
    """Return what is true of each panel, of all of its series or else of its reads, and the runs that it is said of; "" of what differs."""
    if len(known) > 1 and (said := _of_each(panels, known, middle, every=True)):
        return said, tuple(dict.fromkeys(point.run for own in panels for point in own if point.run.sound))
    told_of: dict[Run, None] = {}
    for own in panels:
        sound = [point for point in own if point.run.sound]
        name = findings.spoken_of(dict.fromkeys(point.series for point in sound), _READS)
        told_of |= dict.fromkeys(point.run for point in sound if point.series == name)
    return _of_each(panels, known, middle, every=False), tuple(told_of)


def _of_each(
    panels: Sequence[Sequence[_Point]], known: Sequence[tuple[str, str]], middle: str, *, every: bool
) -> str:
    titles: set[str] = set()
    for own in panels:
        titles.add(_finding(own, known, middle, every=every))
        if len(titles) > 1 or titles <= _SUBJECTS:  # of a thousand panels the others are not asked
            return ""
    return titles.pop() if titles else ""


def _finding(own: Sequence[_Point], known: Sequence[tuple[str, str]], middle: str, *, every: bool) -> str:
    """Return what is true of a panel."""
    drawn = {what: _lines(own, known, what) for what in ("iops", middle)}
    iops, waits = (
        {line.name: {int(d): s for d, s in line.sound} for line in lines if line.sound}
        for lines in drawn.values()
    )
    full = {line.name: [] if line.hollow else formulas.saturations(line.turns) for line in drawn["iops"]}
    return findings.iodepth(iops, waits, _READS, full, every=every)


_MOST_COUNTS = 4
"""Numbers of jobs, or sizes of blocks, that a caption names one by one."""


def what_ran(drawn: pd.DataFrame, found: pd.DataFrame) -> list[str]:
    """Say what ran of what is drawn: program and repeats, engine, cache, jobs and, where jobs of a run differ in it, block size; and what
    is to be known of the tables, which have all that was found."""
    runs = list(dict.fromkeys(drawn["run"]))
    engines, ways = frozenset[str]().union(*drawn["engines"]), set(drawn["way"])
    cache = "" if "" in ways else fmt.words(sorted(ways), "or")
    jobs = drawn["processes"]
    counts = sorted(map(int, jobs.dropna().unique()))
    few = len(counts) <= _MOST_COUNTS
    listed = map(fmt.whole, counts) if few else iter([f"{counts[0]} to {counts[-1]}"])
    where = " where it is said" if jobs.isna().any() else ""
    many = (
        f"{fmt.words(listed, 'or')} {'job' if counts == [1] else 'jobs'}{where}"
        if counts
        else "number of jobs not said"
    )
    how = (fmt.words(sorted(engines), "or"), cache, many)
    said = [f"{wording.ran(runs, program_name)}; {', '.join(filter(None, how))}."]
    if mixed := sorted(size for size in set(found["size"]) if " and " in size):
        said.append(f"Jobs of {mixed[0]} blocks ran together: a row has the I/Os of all sizes.")
    elif (found.groupby("panel")["size"].nunique() > 1).any():
        sizes = dict.fromkeys(zip(found["series"], found["size"], strict=True))
        told = [f"{name} {size or 'not said'}" for name, size in sizes]
        said.append(
            f"Blocks differ: {fmt.words(told)}."
            if len(told) <= _MOST_COUNTS
            else "Blocks differ within a text, as the numbers tell."
        )
    if found["iodepth"].isna().any():
        without = zip(*(found.loc[found["iodepth"].isna(), of] for of in ("run", "direction")), strict=True)
        why = dict.fromkeys(itertools.starmap(no_depth, without))
        there = "" if drawn is found else ": those rows are in the numbers only"
        said.append(f"Where no iodepth stands, {', or '.join(why)}{there}.")
    if (lacks := drawn["p99"].isna()).any() and not lacks.all():
        why = dict.fromkeys(
            itertools.starmap(
                _no_p99, zip(drawn.loc[lacks, "run"], drawn.loc[lacks, "direction"], strict=True)
            )
        )
        said.append(f"Where no p99 stands, {', or '.join(why)}.")
    if any(map(_lacks_share, found["run"], found["kind"])):
        of_all = all(map(_lacks_share, drawn["run"], drawn["kind"]))
        said.append(
            "The share of reads in the mix is not said."
            if of_all
            else "Where no share of reads stands, the text does not say it."
        )
    if found["verify"].any():
        said.append("Reads with which a write verifies what it wrote are in the numbers only.")
    return said


def _no_p99(run: Run, direction: str) -> str:
    """Say why a run has no p99."""
    own = directions(run)[direction]
    if not formulas.fixed(0.99, sum(math.inf if job.ios is None else job.ios for job in own)):
        return "a run has too few I/Os"
    return "the jobs of the run print no bins" if len(own) > 1 else "the text does not say it"


def _lacks_share(run: Run, kind: str) -> bool:
    return kind in MIXES and not share_of(run)


def _samples(lines: Sequence[Curve]) -> str:
    """Say that bars are of fio's samples, if they are: then no cell has repeats."""
    sampled = any(high > low for line in lines for _, low, high in line.ranges or ())
    return "Bars: lowest and highest IOPS sample of the run." if sampled else ""


def _lines(
    own: Sequence[_Point], known: Sequence[tuple[str, str]], what: str, *, samples: bool = False
) -> list[Curve]:
    """Return one curve per series of the panel over iodepth: "iops", or in ns "mean", "p50", "p99". samples: the IOPS of single
    processes have the range of fio's samples."""
    lines = []
    by_series = group_by(own, lambda point: point.series)
    value = attrgetter(what)
    for name, short in known:
        of = by_series.get(name, [])
        # what only some repeats tell is not of the cell
        incomplete = {point.iodepth for point in of if math.isnan(value(point))}
        of = [point for point in of if point.iodepth not in incomplete]
        if not of:
            continue
        pairs = [(float(point.iodepth), value(point)) for point in of]
        line = curve_rows.curve(
            name,
            pairs,
            runs=[point.run for point in of],
            label=short,
            dashed=dash(name),
            step=printed([point.run for point in of]),
        )
        if what == "iops" and samples:
            one = (p for p in of if known_count(p.processes) == 1)
            ranges = ((float(p.iodepth), p.iops_min, p.iops_max) for p in one)
            line = replace(line, ranges=tuple(r for r in ranges if not math.isnan(r[1] + r[2])))
        lines.append(line)
    return lines


def _panel(
    title: str, lines: list[Curve], colours: dict[str, str], depths: list[int], y: axes.Axis, factor: float, unit: str,
    crosses: Sequence[Cross], thin: Sequence[Curve] = (),
) -> Panel:  # fmt: skip
    x = axes.at_tested(depths, "iodepth per job (log)")

    def tip(depth: float, value: formulas.Spread) -> str:
        return f"iodepth {depth:g} · {wording.exact(value, unit)}"

    def build(width: int) -> Spec:
        frame = Frame(
            width=width, height=268, left=left_margin(y), right=curve_rows.name_margin(lines, width)
        )
        plot = Plot(frame=frame, x=x, y=y)
        data = {
            "points": curve_rows.point_rows(lines, depths, factor, tip),
            "tails": curve_rows.point_rows(thin, depths, factor, lambda d, v: f"{tip(d, v)}, p99"),
            "ranges": curve_rows.range_rows(lines, depths, factor),
            "crosses": curve_rows.cross_rows(crosses, plot, None, lines, factor),
            **(curve_rows.saturation_rings(lines, plot, factor) if unit == "IOPS" else {}),
        }
        data |= curve_rows.end_names(lines, plot, factor, data["crosses"])
        series = [vega.Series(name=c.name, colour=colours[c.name], dashed=c.dashed) for c in lines]
        return vega.fill("depth", frame=frame, x=x, y=y, series=series, data=data)

    described = curve_rows.in_words(lines, unit, lambda depth: f"depth {depth:g}")
    return panel(title, f"{title} by iodepth. {described}", build)


def _tradeoff(
    title: str, iops: list[Curve], delays: list[Curve], colours: dict[str, str], depths: list[int],
    x: axes.Axis, x_factor: float, y: axes.Axis,
) -> Panel:  # fmt: skip
    """Latency over IOPS, joined in the order of iodepth (`depths`: all that were tested); the depths stand at the points of the first curve."""
    lines: list[tuple[Curve, list[tuple[float, formulas.Spread, formulas.Spread]]]] = []
    for rate in iops:
        waits = dict(next((line.points for line in delays if line.name == rate.name), ()))
        lines.append((rate, [(depth, v, waits[depth]) for depth, v in rate.points if depth in waits]))
    lines = [(rate, points) for rate, points in lines if points]

    def build(width: int) -> Spec:
        frame = Frame(width=width, height=268, left=left_margin(y), right=20)
        plot = Plot(frame=frame, x=x, y=y)
        data: dict[str, Rows] = {"points": [], "notes": []}
        named: list[tuple[list[label_placement.Point], str]] = []
        strokes: list[tuple[label_placement.Point, label_placement.Point]] = []
        for rate, points in lines:
            places = [plot.at(v.median / x_factor, w.median) for _, v, w in points]
            named.append((places, rate.label or rate.name))
            parts = [*curve_rows.joined(rate, (depth for depth, *_ in points), depths).values()]
            strokes += [
                pair
                for pair, (a, b) in zip(itertools.pairwise(places), itertools.pairwise(parts), strict=True)
                if a == b
            ]
            data["points"] += [
                {
                    "series": rate.name, "x": v.median / x_factor, "y": w.median, "order": order,
                    "segment": parts[order], "dashed": rate.dashed,
                    "tip": f"iodepth {depth:g} · {wording.exact(v, 'IOPS')} · {wording.exact(w, 'ns')}{' · ⚠' * (depth in rate.hollow)}",
                    **({"hollow": True} if depth in rate.hollow else {}),
                }
                for order, (depth, v, w) in enumerate(points)
            ]  # fmt: skip
        bounds = (2.0, -10.0, frame.plot_width + 18, frame.plot_height - 2)
        at_points = [(at, f"{depth:g}") for at, (depth, _, _) in zip(named[0][0], lines[0][1], strict=True)]
        boxes: list[label_placement.Box] = []
        for place in label_placement.near(at_points, strokes, (), bounds, 11.5, (1.0,)):
            ((px, py), text), row = at_points[place.index], data["points"][place.index]
            box = label_placement.box_of(px + place.dx, py + place.dy, text, 11.5)
            if place.cost < 6 and not any(label_placement.touch(box, other) for other in boxes):
                boxes.append(box)
                data["notes"].append(
                    {"series": row["series"], "x": row["x"], "y": row["y"], "text": text, "dx": place.dx, "dy": place.dy, "align": "left"}
                )  # fmt: skip
        begins = [
            {"series": rate.name, "x": v.median / x_factor, "y": w.median} for rate, ((_, v, w), *_) in lines
        ]
        placed = label_placement.along(named, boxes, bounds, prefer=frame.plot_height * 0.3)
        data["names"], data["leads"] = label_placement.rows_along(placed, named, begins)
        series = [vega.Series(name=r.name, colour=colours[r.name], dashed=r.dashed) for r, _ in lines]
        return vega.fill("tradeoff", frame=frame, x=x, y=y, series=series, data=data)

    described = " ".join(
        f"{rate.name}: {curve_rows.first_and_last(_at(v, w) for _, v, w in points)}."
        for rate, points in lines
    )
    return panel(title, f"{title}, in the order of iodepth. {described}", build)


def _at(iops: formulas.Spread, wait: formulas.Spread) -> str:
    """Return "174 µs at 45.2 kIOPS"."""
    return f"{fmt.quantity(wait.median, 'ns', step=wait.step)} at {fmt.quantity(iops.median, 'IOPS', step=iops.step)}"
