"""Memory latency and bandwidth: Intel MLC's tables, or those of memlat in its place."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from parsers.measurement import whole
from reports.charts import facets, titles, wording
from reports.charts.chapter import AccessTime, Chapter
from reports.draw import axes, label_placement, vega
from reports.draw.figure import Figure, Key, Panel, Table, heat, panel
from reports.draw.plot import Plot, height, left_margin
from reports.draw.vega import Frame, Rows, Spec
from reports.numbers import formulas
from reports.numbers.formulas import Load, LoadedLatency, Spread
from reports.page.model import KeyNumber
from reports.readings import groups
from reports.readings.mlc import chosen_cores, entries, load_rows
from reports.results.grouping import group_by
from reports.results.machines import machine_key
from reports.results.model import Results, Run
from reports.results.naming import program_kind, program_name, stands_in
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

SECTION = "Memory"
RANK = 11
METHODS = (
    "Loaded latency: the floor (compared and exported as unloaded latency) is the median latency of the rows that move at most 10 % of the peak bandwidth "
    "(of fewer than three such rows: the latency under the least load). Bandwidth within 2 × floor is interpolated along the "
    "curve in the order of load; “≥”: in one repeat or more no load reached that latency. What a curve offers is the median over "
    "the repeats of what each of them does. The latency is that of one reading thread, whatever the others do."
)

_MIXES: Final = {
    "read": ("read only", "read only"),
    "read 2 streams": ("read only, 2 streams", "read, 2 streams"),
    "4:1": ("R:W 4:1", "4:1"),
    "3:1": ("R:W 3:1", "3:1"),
    "3:1 2 streams": ("R:W 3:1, 2 streams", "3:1, 2 streams"),
    "triad rfo": ("R:W 3:1, triad-like", "3:1 triad"),
    "2:1": ("R:W 2:1", "2:1"),
    "triad": ("triad-like", "triad"),
    "3:2": ("R:W 3:2", "3:2"),
    "1:1": ("R:W 1:1", "1:1"),
    "write": ("write only", "write only"),
    "3:1 nt": ("R:W 3:1, non-temporal", "3:1 nt"),
    "2:1 nt": ("R:W 2:1, non-temporal", "2:1 nt"),
    "2:1 nt 2 streams": ("R:W 2:1, non-temporal, 2 streams", "2:1 nt, 2 streams"),
    "triad nt": ("R:W 2:1, non-temporal, triad-like", "2:1 nt triad"),
    "1:1 nt": ("R:W 1:1, non-temporal", "1:1 nt"),
    "write nt": ("write only, non-temporal", "write nt"),
}
"""The words of `parsers.mlc` for traffic types, from least to most writing, which is the order of colours → their names: beside a
table, beside a curve."""

_SPREAD: Final[list[Any]] = ["median", "min", "max", "size"]
"""The fields of a Spread, in order, as pandas works them out."""

_MOST_MATRICES = 4
"""Of more tables than this the rest is in the numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A matrix between NUMA nodes: the section of its entries, and how it is spoken of."""

    section: str
    title: str
    unit: str
    row: str
    column: str
    others: str = "other nodes’ memory"  # what is off the diagonal
    diagonal: str = "a node and its own memory"

    @property
    def metric(self) -> str:
        return "latency" if self.unit == "ns" else "bandwidth"


_MATRICES = (
    Matrix(section="latency_matrix", title="Idle latency", unit="ns", row="from node", column="to memory of node"),
    Matrix(section="bandwidth_matrix", title="Bandwidth", unit="B/s", row="from node", column="to memory of node"),
    Matrix(
        section="c2c_latency", title="Cache-to-cache latency", unit="ns", row="writer", column="reader",
        others="a line in another node’s cache", diagonal="two caches of one node",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a loaded-latency table, its repeats together."""

    delay: int
    latency: Spread  # ns
    bandwidth: Spread  # B/s


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadCurve:
    """A loaded-latency curve: one traffic type in one panel, rows in order of load, least first."""

    traffic: str
    rows: tuple[Row, ...]
    runs: tuple[LoadedLatency, ...]  # what each repeat offers
    cell: tuple[Run, ...]  # whose rows these are

    @property
    def offers(self) -> LoadedLatency:
        return formulas.over_repeats(self.runs)

    @property
    def floor(self) -> Spread:
        return formulas.spread([run.unloaded for run in self.runs])

    @property
    def most(self) -> Spread:
        return formulas.spread([run.peak for run in self.runs])

    @property
    def peak_delay(self) -> str:
        """The delay of the peak; of repeats that have it at different delays "0 to 50"."""
        low, high = (fmt.whole(of(run.peak_delay for run in self.runs)) for of in (min, max))
        return low if low == high else f"{low} to {high}"

    @property
    def name(self) -> str:
        return traffic_name(self.traffic)

    @property
    def peak(self) -> int:
        """Index of the row with the largest bandwidth."""
        return max(range(len(self.rows)), key=lambda i: self.rows[i].bandwidth.median)


def traffic_name(traffic: str, *, short: bool = False) -> str:
    """Return a traffic type for a legend: "read only", "R:W 3:1, non-temporal"; short "3:1 nt". What MLC does not list is named as
    typed."""
    return _MIXES.get(traffic, (traffic, traffic))[short]


def chapter(results: Results, tool: str = "mlc") -> Chapter:
    """Draw everything that the MLC runs say: loaded latency, matrices, peaks, idle latency."""
    runs = results.good(tool)
    figures: list[Figure] = []
    key_numbers: list[KeyNumber] = []
    floors: list[Idle] = []
    for sweep, members in group_by(runs, lambda r: r.cell.sweep).items():
        loaded = [run for run in members if load_rows(run)]
        if loaded:
            figures += _loaded_figures(sweep, loaded, loads(loaded))
        for same in group_by(loaded, program_kind).values():
            floors += _floors(loads(same))
        for same in group_by(members, program_kind).values():
            key_numbers += _peak_numbers(same)
        figures += _matrix_figures(sweep, members)
        if peaks := _peak_figure(sweep, members):
            figures.append(peaks)
        if others := _others_figure(sweep, members):
            figures.append(others)
    idle = _idle_latencies(runs) or floors
    key_numbers += _idle_numbers(idle)
    return Chapter(
        tool=tool,
        figures=tuple(figures),
        key_numbers=tuple(key_numbers),
        access_times=tuple(map(_access_time, idle)),
        programs=wording.programs(runs),
    )


# --- loaded latency ----------------------------------------------------------------------------------------


def loads(runs: Sequence[Run]) -> dict[facets.Facet, list[LoadCurve]]:
    """Return the loaded-latency curves of some runs, panel by panel, least writing first."""
    swept = all("d" in run.options for run in runs)  # a curve over cells of a delay each
    rows = load_rows.frame(runs)
    within = [
        *_told_by_traffic(rows),
        *(["d"] if swept else []),
        *(["mode"] if all(run.text for run in runs) else []),
    ]
    several = len({str(run.options.get("mode")) for run in runs}) > 1
    found = facets.in_panels(rows, *within, texts=several).fillna({"traffic": "traffic not said"})
    panels: dict[facets.Facet, list[LoadCurve]] = {}
    for (of, traffic), own in groups(found, ["panel", "traffic"]):
        panels.setdefault(of, []).append(_load(traffic, own))
    return {of: sorted(curves, key=lambda c: _heaviness(c.traffic)) for of, curves in panels.items()}


def _told_by_traffic(found: pd.DataFrame) -> tuple[str, ...]:
    """Return the options that need no panels of their own where the traffic tells them: -W."""
    return facets.told(zip(found["run"], found["traffic"].fillna(""), strict=True), ("W",))


def _heaviness(traffic: str) -> tuple[int, str]:
    return ([*_MIXES].index(traffic) if traffic in _MIXES else len(_MIXES)), traffic


def _load(traffic: str, found: pd.DataFrame) -> LoadCurve:
    """found: the rows of one traffic in one panel, of all repeats."""
    spreads = found.groupby(["delay", "occurrence"], sort=False)[["latency", "bandwidth"]].agg(_SPREAD)
    rows = [
        Row(delay=delay, latency=Spread(*values[:4]), bandwidth=Spread(*values[4:]))
        for (delay, _), *values in spreads.itertuples()
    ]
    rows.sort(key=lambda row: -row.delay)  # of a delay that comes twice the first one first
    loads = (
        list(map(Load, own["delay"].tolist(), own["latency"].tolist(), own["bandwidth"].tolist()))
        for _, own in groups(found, ["where", "repeat"])  # of delays that are cells a run each
    )
    return LoadCurve(
        traffic=traffic,
        rows=tuple(rows),
        runs=tuple(map(formulas.loaded_latency, loads)),
        cell=tuple(dict.fromkeys(found["run"])),
    )


def _colours(n: int) -> tuple[str, ...]:
    """Return n colours from light to heavy; of more mixes than there are colours, neighbours share one: their names tell them."""
    steps = len(vega.ORDERED)
    return vega.ORDERED[:n] if n <= steps else tuple(vega.ORDERED[i * steps // n] for i in range(n))


def _loaded_figures(
    sweep: str, runs: Sequence[Run], panels: dict[facets.Facet, list[LoadCurve]]
) -> list[Figure]:
    every = [load for curves in panels.values() for load in curves]
    offers, noise = [load.offers for load in every], _noise(every)
    shown = dict(list(panels.items())[: facets.MOST_PANELS])
    traffics = sorted({load.traffic for load in every}, key=_heaviness)
    colours = dict(zip(traffics, _colours(len(traffics)), strict=True))
    fastest = max(row.bandwidth.high for load in every for row in load.rows)
    scale = fmt.scale_to_largest([fastest], "B/s")
    x = axes.from_zero([fastest / scale.factor], f"Bandwidth, {scale.unit}")
    latencies = [v for load in every for row in load.rows for v in (row.latency.low, row.latency.high)]
    y = axes.decades(latencies, "Latency, ns (log scale)", margin=1.1)
    seen = [load for curves in shown.values() for load in curves]
    repeated = any(row.latency.n > 1 for load in seen for row in load.rows)
    folds = any(load.peak < len(load.rows) - 1 for load in seen)
    drawn = {load.traffic for load in seen}
    key = tuple(Key(name=traffic_name(t), colour=colours[t]) for t in traffics if t in drawn)
    notes = []
    if len(panels) > len(shown):
        notes.append(f"{len(panels) - len(shown)} more panels are in the numbers only.")
    if load := _load_words(runs):
        notes.append(f"{load[:1].upper()}{load[1:]} beside the one that is timed.")
    figure = Figure(
        id=f"loaded-{sweep}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title=titles.loaded_latency(offers, noise, _load_words(runs)),
        sub=f"Loaded latency, {wording.ran(_cells(shown), program_name)}. One point per injection delay, least load at left"
        f"{'; dashed past the peak, where more load moves fewer bytes' if folds else ''}."
        f"{f' Bars: lowest to highest {wording.over(runs)}.' if repeated else ''} Bandwidth within 2 × floor is interpolated."
        f"{wording.of_texts(_cells(shown))}",
        panels=tuple(_loaded_panel(of, curves, colours, x, y, scale) for of, curves in shown.items()),
        key=key if len(key) > 1 else (),
        tables=(_offers_table(panels, scale),),
        numbers=(_further_table(panels, scale), _loaded_numbers_table(panels, scale)),
        note=" ".join(notes),
        half=len(panels) == 1,
    )
    mixed = {of: curves for of, curves in panels.items() if len(curves) > 1 and len(_delays(curves)) > 2}
    heated = dict(list(mixed.items())[:_MOST_HEATED])
    if not heated:
        return [figure]
    climb = Figure(
        id=f"climb-{sweep}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title=titles.climb([load.offers for curves in heated.values() for load in curves], noise),
        sub=f"{fmt.words(wording.programs(_cells(heated)))}: latency by injection delay and mix."
        f"{wording.not_drawn(len(mixed), len(heated))}{wording.of_texts(_cells(heated))}",
        tables=tuple(_heat_table(of, curves) for of, curves in heated.items()),
        half=len(panels) == 1
        and len(traffics) <= len(vega.ORDERED),  # beside its panel, if it is not too wide
    )
    return [figure, climb]


def _cells(panels: dict[facets.Facet, list[LoadCurve]]) -> list[Run]:
    """Return the runs that the curves of some panels are drawn from."""
    return list(dict.fromkeys(run for curves in panels.values() for load in curves for run in load.cell))


def _noise(every: Sequence[LoadCurve]) -> float:
    """Return how far repeats are apart, relative: the median over the rows, or that of a floor if it is more; 0 without repeats."""
    scatter = [row.latency.relative for load in every for row in load.rows if row.latency.n > 1]
    return max([statistics.median(scatter), *(load.floor.relative for load in every)]) if scatter else 0.0


def _loaded_panel(
    of: facets.Facet,
    curves: list[LoadCurve],
    colours: dict[str, str],
    x: axes.Axis,
    y: axes.Axis,
    scale: fmt.Scale,
) -> Panel:
    lowest = min((c for c in curves if c.offers.idle), key=lambda load: load.offers.unloaded, default=None)
    floor = lowest.offers.unloaded if lowest else 0.0
    whose = f" of {_short(lowest.traffic)}" if lowest and len(curves) > 1 else ""
    title = facets.facet_title(of, "mlc")

    def build(width: int) -> Spec:
        frame = Frame(width=width, height=height(width, 330, 300), left=left_margin(y))
        plot = Plot(frame=frame, x=x, y=y)
        data: dict[str, Rows] = {"points": [], "past": [], "ranges": [], "names": [], "leads": []}
        for load in curves:
            peak = load.peak
            for name, rows in (("points", load.rows[: peak + 1]), ("past", load.rows[peak:])):
                data[name] += [
                    {
                        "series": load.name, "x": row.bandwidth.median / scale.factor, "y": row.latency.median,
                        "order": order, "segment": 0, "delay": row.delay,
                        **({} if name == "past" and order == 0 else {"tip": _tip(row, scale)}),
                    }
                    for order, row in enumerate(rows)
                    if len(rows) > 1 or name == "points"
                ]  # fmt: skip
            data["ranges"] += [
                {
                    "series": load.name, "x": row.bandwidth.median / scale.factor, "y": row.latency.median,
                    "low": row.latency.low, "high": row.latency.high,
                    "x_low": row.bandwidth.low / scale.factor, "x_high": row.bandwidth.high / scale.factor,
                }
                for row in load.rows
                if row.latency.n > 1
            ]  # fmt: skip
        data["notes"], boxes = _floor_notes(floor, whose, plot)
        data["references"] = [
            {"x": x.low, "x2": x.high, "y": level, "y2": level}
            for level in (floor, 2 * floor)
            if y.low <= level <= y.high
        ]
        if len(curves) > 1:
            data["names"], data["leads"] = _names(curves, plot, scale, boxes)
        series = [vega.Series(name=load.name, colour=colours[load.traffic]) for load in curves]
        return vega.fill("loaded-latency", frame=frame, x=x, y=y, series=series, data=data)

    floors = [f"floor {fmt.quantity(c.offers.unloaded, 'ns')}, " if c.offers.idle else "" for c in curves]
    described = " ".join(
        f"{load.name}: {of}peak {fmt.quantity(load.offers.peak, 'B/s')}{'' if load.offers.reached_double else ' of this load'} at {fmt.quantity(load.offers.latency_at_peak, 'ns')}."
        for load, of in zip(curves, floors, strict=True)
    )
    return panel(title, f"Latency over bandwidth{', ' + title if title else ''}. {described}", build)


def _names(
    curves: Sequence[LoadCurve], plot: Plot, scale: fmt.Scale, boxes: Sequence[label_placement.Box]
) -> tuple[Rows, Rows]:
    """Put a name at each curve, near its peak, where it covers neither the boxes nor bars; with the hairlines that lead back."""
    x, frame = plot.x, plot.frame
    named = [
        ([plot.at(row.bandwidth.median / scale.factor, row.latency.median) for row in load.rows], _short(load.traffic))
        for load in curves
    ]  # fmt: skip
    whiskers = [
        label_placement.upright(px, plot.at(x.low, row.latency.high)[1], plot.at(x.low, row.latency.low)[1])
        for load, (places, _) in zip(curves, named, strict=True)
        for row, (px, _) in zip(load.rows, places, strict=True)
        if row.latency.high > row.latency.low
    ]
    bounds = (-8.0, -14.0, frame.plot_width + frame.right, frame.plot_height)
    starts = [load.peak for load in curves]
    placed = label_placement.along(named, [*boxes, *whiskers], bounds, prefer=0, starts=starts)
    names: Rows = []
    leads: Rows = []
    for load, at, (places, text) in zip(curves, placed, named, strict=True):
        first = load.rows[0]
        names.append(
            {
                "series": load.name, "x": first.bandwidth.median / scale.factor, "y": first.latency.median,
                "text": text, "dx": round(at.x - places[0][0], 1), "dy": round(at.y - places[0][1], 1),
                "align": "left",
            }
        )  # fmt: skip
        if at.lead:
            (x1, y1), (x2, y2) = at.lead
            leads.append({"series": load.name, "x_px": x1, "y_px": y1, "x2_px": x2, "y2_px": y2})
    return names, leads


def _tip(row: Row, scale: fmt.Scale) -> str:
    return (
        f"delay {row.delay} · {wording.spread_text(row.bandwidth, scale, 4)} {scale.unit} · "
        f"{wording.spread_text(row.latency, fmt.Scale(factor=1, unit='ns'), 4)} ns"
    )


def _short(traffic: str) -> str:
    return traffic_name(traffic, short=True)


def _floor_notes(floor: float, whose: str, plot: Plot) -> tuple[Rows, list[label_placement.Box]]:
    """Name the floor line at its right end, below it, and the line at twice the floor at its left end, above it."""
    notes: Rows = []
    boxes: list[label_placement.Box] = []
    for level, text, right in (
        (floor, f"floor{whose} {fmt.quantity(floor, 'ns')}", True),
        (2 * floor, f"2 × floor{whose}", False),
    ):
        if not plot.y.low <= level <= plot.y.high:
            continue
        at_x = plot.x.high if right else plot.x.low
        px, py = plot.at(at_x, level)
        room_below = plot.frame.plot_height - py > 16
        dy = (13 if room_below else -5) if right else -5
        dx, align = (0, "right") if right else (2, "left")
        notes.append({"x": at_x, "y": level, "text": text, "dx": dx, "dy": dy, "align": align})
        width = label_placement.text_width(text, 11.5)
        left = px - width if right else px
        boxes.append((left, py + dy - 10, left + width, py + dy + 3))
    return notes, boxes


MOST_DELAYS = 24
_MOST_HEATED = 2
"""Of more panels than this latency by delay and mix is in the numbers only."""


def _delays(curves: Sequence[LoadCurve]) -> list[int]:
    return sorted({row.delay for load in curves for row in load.rows})


def _heat_table(of: facets.Facet, curves: Sequence[LoadCurve]) -> Table:
    """Latency by delay and mix: at most MOST_DELAYS, spread over those measured."""
    delays = _delays(curves)
    shown = min(MOST_DELAYS, len(delays))
    chosen = [delays[round(i * (len(delays) - 1) / (shown - 1))] for i in range(shown)]
    values = [
        [next((row.latency.median for row in load.rows if row.delay == delay), None) for load in curves]
        for delay in chosen
    ]
    title = facets.facet_title(of, "mlc")
    return Table(
        caption=f"Latency in ns by injection delay and mix{', ' + title if title else ''}",
        columns=("Delay", *(_short(load.traffic) for load in curves)),
        rows=tuple(
            (fmt.whole(delay), *(fmt.number(v) for v in row))
            for delay, row in zip(chosen, values, strict=True)
        ),
        numeric=frozenset(range(len(curves) + 1)),
        heat=heat(values),
    )


def _curves_table(
    panels: dict[facets.Facet, list[LoadCurve]],
    columns: Sequence[str],
    cells: Callable[[LoadCurve], Iterable[tuple[str, ...]]],
    caption: str = "",
) -> Table:
    """Return a table of all curves, whose traffic and panel (where there are several) stand before the cells of its rows."""
    several = len(panels) > 1
    head = ("Traffic", "Panel") if several else ("Traffic",)
    return Table(
        caption=caption,
        columns=(*head, *columns),
        rows=tuple(
            (load.name, *([facets.facet_title(of, "mlc")] if several else []), *row)
            for of, curves in panels.items()
            for load in curves
            for row in cells(load)
        ),
        numeric=frozenset(range(len(head), len(head) + len(columns))),
    )


def _offers_table(panels: dict[facets.Facet, list[LoadCurve]], scale: fmt.Scale) -> Table:
    def cells(load: LoadCurve) -> Iterable[tuple[str, ...]]:
        offers = load.offers
        yield (
            *(_floor_cells(offers, scale) if offers.idle else (fmt.NOTHING, fmt.NOTHING)),
            scale.number(offers.peak), load.peak_delay, fmt.number(offers.latency_at_peak),
        )  # fmt: skip

    starred = any(
        load.offers.idle and not load.offers.enough_idle_rows for curves in panels.values() for load in curves
    )
    columns = ("Floor, ns", f"{scale.unit} within 2 × floor", f"Peak, {scale.unit}", "at delay", "ns at peak")
    caption = "What each curve offers" + (" (* fewer than three idle rows: the row of the least load)" if starred else "")  # fmt: skip
    return _curves_table(panels, columns, cells, caption)


def _floor_cells(offers: LoadedLatency, scale: fmt.Scale) -> tuple[str, str]:
    """Return the floor, and the bandwidth within twice of it."""
    floor = fmt.number(offers.unloaded)
    return (
        floor if offers.enough_idle_rows else f"{floor} *",
        _within(offers.at_double, scale, reached=offers.reached_double),
    )


def _within(bandwidth: float, scale: fmt.Scale, *, reached: bool | None) -> str:
    """Return the bandwidth within a latency; of a load that did not reach this latency, a bound."""
    return scale.number(bandwidth) if reached else f"≥ {scale.number(bandwidth, rounding=fmt.DOWN)}"


def _further_table(panels: dict[facets.Facet, list[LoadCurve]], scale: fmt.Scale) -> Table:
    """What else a curve tells: how it bends before 2 × floor, what full load costs, and whose latency it can be."""

    def cells(load: LoadCurve) -> Iterable[tuple[str, ...]]:
        offers = load.offers
        yield (
            _within(offers.at_half_more, scale, reached=offers.reached_half_more)
            if offers.idle
            else fmt.NOTHING,
            fmt.NOTHING if offers.collapse is None else fmt.percent(offers.collapse),
            fmt.number(formulas.lines_in_flight(offers.peak, offers.latency_at_peak)),
        )

    caption = "Lines in flight: bandwidth × latency ÷ 64 B at the peak; above cores × 10 to 16, the latency is not that of the traffic"
    columns = (f"{scale.unit} within 1.5 × floor", "Delay 0 ÷ peak", "Lines in flight")
    return _curves_table(panels, columns, cells, caption)


def _loaded_numbers_table(panels: dict[facets.Facet, list[LoadCurve]], scale: fmt.Scale) -> Table:
    def cells(load: LoadCurve) -> Iterable[tuple[str, ...]]:
        for row in load.rows:
            latency = wording.spread_text(row.latency, fmt.Scale(factor=1, unit="ns"), 4)
            yield fmt.whole(row.delay), latency, wording.spread_text(row.bandwidth, scale, 4)

    return _curves_table(panels, ("Delay", "Latency, ns", f"Bandwidth, {scale.unit}"), cells)


def _peak_numbers(runs: Sequence[Run]) -> list[KeyNumber]:
    """Return the most of each curve and of each search for the most, of one program; of those the ones that are called as the highest
    is: what could load the memory fully, if anything could."""
    loaded = [run for run in runs if load_rows(run)]
    panels = loads(loaded) if loaded else {}
    found = [_curve_peak(facet, load) for facet, curves in panels.items() for load in curves]
    for (of, section, traffic), (value, cell) in _searched(runs).items():
        which = ", ".join(filter(None, [traffic_name(traffic), _SEARCHES[section], of]))
        name = "Memory, chosen cores" if any(map(chosen_cores, cell)) else _PEAK
        context = f"{which}; {program_name(cell[0])}"
        found.append(wording.key_number(name, value, "B/s", context, 11, cell, program=program_kind(cell[0])))
    best = max(found, key=lambda n: n.merit, default=None)
    return [n for n in found if best and n.name == best.name]


_PEAK: Final = "Memory, peak"


def _curve_peak(of: facets.Facet, load: LoadCurve) -> KeyNumber:
    cell = load.cell
    which = ", ".join(filter(None, [load.name, facets.facet_title(of, "mlc")]))
    context = f"{which}, at {fmt.quantity(load.offers.latency_at_peak, 'ns')}; {program_name(cell[0])}"
    name = _PEAK if load.offers.reached_double else f"Memory, {_load_words(cell) or 'under load'}"
    return wording.key_number(name, load.most, "B/s", context, 11, cell, program=program_kind(cell[0]))


def _load_words(runs: Sequence[Run]) -> str:
    """Return "1 load thread" where the texts tell, and all the same; else ""."""
    threads = {whole(r.parsed.facts.get("threads")) for r in runs if r.parsed} - {None}
    return fmt.plural(n, "load thread") if len(threads) == 1 and (n := threads.pop()) is not None else ""


# --- idle latency ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """An idle latency: of one cell, of those pairs of nodes in a matrix that are equally far, or the floor of a curve."""

    which: str  # what tells it from the page's others: "local", "buffer 16k"; "" of the only one
    value: Spread  # ns, over the repeats; of several pairs of nodes over the pairs, each by its median
    said: str  # how it was taken, and by which program
    runs: tuple[Run, ...]  # of its cell
    pairs: int = 1
    buffer: float = math.inf  # B; inf if nothing tells
    home: bool = True  # is it the node's own memory?
    traffic: str = ""  # of the floor of a curve

    @property
    def name(self) -> str:
        """ "Memory, idle"; of a buffer that was asked for "Idle latency", where it is not known to be larger than the caches."""
        machines = [run.session.topology for run in self.runs if "b" in run.options]
        caches = [machine.numbers().get("LLC", 0) if machine else 0 for machine in machines]
        known = all(0 < cache < self.buffer < math.inf for cache in caches)
        return "Memory, idle" if known else "Idle latency"


def _access_time(idle: Idle) -> AccessTime:
    return AccessTime(
        name=f"{idle.name}, {idle.which}" if idle.which else idle.name, group="memory",
        run=idle.runs[0], median=idle.value.median, source=idle.said, repeats=idle.value if idle.pairs == 1 else None,
    )  # fmt: skip


def _idle_numbers(found: Sequence[Idle]) -> list[KeyNumber]:
    """Return the idle latencies of own memory; of each machine with its largest buffer, since small ones lie in caches. Of those the
    ones that are called as the lowest is."""
    own = [idle for idle in found if idle.home] or found
    alike = []
    for same in group_by(own, lambda idle: machine_key(idle.runs[0])).values():
        largest = max(idle.buffer for idle in same)
        alike += [idle for idle in same if idle.buffer == largest]
    best = min(alike, key=lambda idle: idle.value.median, default=None)
    alike = [idle for idle in alike if best and idle.name == best.name]
    several = len(alike) > 1 and not any(idle.runs[0].captured for idle in alike)
    lowest = f"lowest of {len(alike)}" if several and len({idle.traffic for idle in alike}) == 1 else ""
    return [
        wording.key_number(
            idle.name,
            idle.value,
            "ns",
            "; ".join(filter(None, [idle.which, lowest, idle.said])),
            10,
            idle.runs,
        )
        for idle in alike
    ]


def _floors(panels: dict[facets.Facet, list[LoadCurve]]) -> list[Idle]:
    """Return the floor of each panel that has an idle row: of its reads, else of its lightest traffic."""
    found = []
    for of, curves in panels.items():
        load = curves[0]
        if not load.offers.idle:
            continue
        least = (
            ""
            if any(run.enough_idle_rows for run in load.runs)
            else f": least load, delay {load.rows[0].delay}"
        )
        said = f"floor of the loaded latency{least}, {load.name}"
        if load.offers.undercut:
            said += ", slower than under more load: disturbed"
        cell = load.cell
        found.append(
            Idle(
                which=facets.facet_title(of, "mlc"), value=load.floor, said=f"{said}; {program_name(cell[0])}",
                buffer=_buffer(cell), runs=cell, traffic=load.traffic,
            )
        )  # fmt: skip
    return found


def _buffer(runs: Iterable[Run]) -> float:
    """Return the bytes that were walked over, as the texts tell; inf where they do not, or not the same."""
    sizes = {whole(run.parsed.facts.get("buffer_read_bytes")) for run in runs if run.parsed}
    size = sizes.pop() if len(sizes) == 1 else None
    return math.inf if size is None else size


def _idle_latencies(runs: Sequence[Run]) -> list[Idle]:
    """Return what --idle_latency and the latency matrix say, cell by cell."""
    found = entries.frame(runs)
    found = found[(found["metric"] == "latency") & found["section"].isin(["idle_latency", "latency_matrix"])]
    if found.empty:
        return []
    words = _place_words(found["run"])
    found = _by_cell(found, "place")
    idle: list[Idle] = []
    for (of, section, word), own in groups(
        found.assign(word=found["run"].map(words.get)), ["panel", "section", "word"]
    ):
        if section == "latency_matrix":
            idle += _matrix_idle(of, own)
        else:
            idle.append(_cell_idle(of, word, own))
    return idle


def _place_words(runs: Iterable[Run]) -> dict[Run, str]:
    """Return each run's relation ("local"; "" of all CPUs), or the name of its place where two places have the same."""
    places = group_by(dict.fromkeys(runs), lambda r: r.relation)
    several = {relation: len({run.place for run in same}) > 1 for relation, same in places.items()}
    return {
        run: run.place if several[relation] else "" if relation == "all" else relation
        for relation, same in places.items()
        for run in same
    }


def _cell_idle(of: facets.Facet, place: str, found: pd.DataFrame) -> Idle:
    """found: the idle latencies of one cell."""
    runs = list(found["run"])
    return Idle(
        which=", ".join(filter(None, [place, facets.facet_title(of, "mlc")])),
        value=formulas.spread(list(found["value"])), said=program_name(runs[0]), buffer=_buffer(runs), runs=tuple(runs),
        home=runs[0].relation != "remote",
    )  # fmt: skip


_ALIKE = 1.1
"""Pairs of nodes whose idle latencies are no further apart may be equally far."""


def _matrix_idle(of: facets.Facet, found: pd.DataFrame) -> list[Idle]:
    """found: the latency matrices of one cell. The nodes' own memory, then the others' by their distance."""
    runs = list(found["run"])
    pairs = found.groupby(["source", "target"], sort=False)["value"].agg(_SPREAD)
    known = {pair: Spread(*values) for pair, *values in pairs.itertuples()}
    far = distances(runs[0], known)
    alike = group_by(
        known, lambda p: "local" if p[0] == p[1] else ", ".join(filter(None, ["remote", far[p]]))
    )
    for which, same in list(alike.items()):
        near, most = (end(same, key=lambda pair: known[pair].median) for end in (min, max))
        if which == "remote" and known[most].median > _ALIKE * known[near].median:
            # near and far nodes that nothing tells apart: no pair is at their median
            del alike[which]
            alike |= {
                f"{word}, {pair[0]} to {pair[1]}": [pair]
                for word, pair in (("nearest other node", near), ("farthest other node", most))
            }
    idle = []
    for which, same in alike.items():
        spreads = [known[pair] for pair in same]
        value = spreads[0] if len(same) == 1 else formulas.spread([s.median for s in spreads])
        over = fmt.plural(len(same), "node") if which == "local" else fmt.plural(len(same), "pair")
        said = f"median of {over}, {_range(value, 'ns')}; " if len(same) > 1 else ""
        idle.append(
            Idle(
                which=", ".join(filter(None, [which, facets.facet_title(of, "mlc")])), value=value, pairs=len(same),
                said=f"{said}{program_name(runs[0])}", buffer=_buffer(runs), runs=tuple(runs), home=which == "local",
            )
        )  # fmt: skip
    return idle


def _range(value: Spread, unit: str) -> str:
    scale = fmt.scale_for([value.median], unit)
    low, high = scale.number(value.low), scale.number(value.high)
    return f"{low if low == high else f'{low} to {high}'} {scale.unit}"


Pair = tuple[Any, Any]
"""Two NUMA nodes: whose CPUs, whose memory."""


def distances(run: Run, pairs: Iterable[Pair]) -> dict[Pair, str]:
    """Return how far the nodes of each pair are apart, where the machine's nodes are not all equally far: "same package", "another
    package", else by their SLIT number; "" where nothing tells."""
    apart = [pair for pair in pairs if pair[0] != pair[1]]
    machine = run.session.topology
    package = {core.numa_node: core.package for core in machine.cores} if machine else {}
    nodes = {whole(node) for pair in apart for node in pair}
    if nodes <= package.keys() and 1 < len({package[node] for node in nodes}) < len(nodes):
        return {
            (a, b): "same package" if package[whole(a)] == package[whole(b)] else "another package"
            for a, b in apart
        }
    known = (
        machine.distances
        if machine
        else {(a, b): d for a, b, d in run.session.facts.get("numa_distances") or ()}
    )
    slit = {pair: known.get((whole(pair[0]) or 0, whole(pair[1]) or 0)) for pair in apart}
    if None in slit.values() or len(set(slit.values())) < 2:
        return dict.fromkeys(apart, "")
    return {pair: f"distance {fmt.number(d)}" for pair, d in slit.items()}


# --- matrices and peaks ------------------------------------------------------------------------------------


def _matrix_figures(sweep: str, runs: Sequence[Run]) -> list[Figure]:
    """Draw one figure per matrix and program: a tool and its stand-in are never in one title."""
    figures = []
    for same in group_by(runs, program_kind).values():
        found = entries.frame(same)
        found = found[found["source"].notna() & found["target"].notna()]
        for matrix in _MATRICES:
            own = found[(found["section"] == matrix.section) & (found["metric"] == matrix.metric)]
            if len(own):
                figures.append(_matrix_figure(sweep, matrix, _by_cell(own)))
    return figures


def _by_cell(found: pd.DataFrame, *within: str) -> pd.DataFrame:
    """Return entries with their panels, so that none pools two cells: a text is told where there are several, of own runs the mode
    where one section is of several, and -W where no traffic tells it."""
    modes = {(section, str(run.options.get("mode"))) for section, run in zip(found["section"], found["run"], strict=True)}  # fmt: skip
    if len(modes) == found["section"].nunique() or all(run.text for run in found["run"]):
        within = (*within, "mode")
    if found["section"].isin(["bandwidth_matrix", "loaded_latency"]).all():
        within = (*within, *_told_by_traffic(found))
    return facets.in_panels(found, *within, texts=True)


def _matrix_figure(sweep: str, matrix: Matrix, found: pd.DataFrame) -> Figure:
    """found: the entries of this kind of matrix. One table per panel and transfer or traffic; of many the first are shown."""
    found = found.assign(kind=found["transfer"].fillna(found["traffic"]).fillna(""))
    runs = list(dict.fromkeys(found["run"]))
    tables: list[Table] = []
    drawn: list[Run] = []
    paired = 0  # tables of which a title can speak
    pairs: dict[str, list[tuple[Spread, Spread]]] = {}
    for (kind, of), own in groups(found, ["kind", "panel"]):
        cells = own.groupby(["source", "target"], sort=False)["value"].agg(_SPREAD)
        if len(tables) < _MOST_MATRICES:
            drawn += dict.fromkeys(own["run"])
        tables.append(_matrix_table(matrix, kind, facets.facet_title(of, "mlc"), cells.reset_index()))
        known = {pair: Spread(*values) for pair, *values in cells.itertuples()}
        far = distances(own["run"].iloc[0], known)
        paired += any(a != b and (a, a) in known for a, b in known)
        for (source, target), value in known.items():
            if source != target and (source, source) in known:
                pairs.setdefault(far[source, target], []).append((known[source, source], value))
    shown = tables[:_MOST_MATRICES]
    outlined = f" Outlined: {matrix.diagonal}." if any(table.marked for table in shown) else ""
    return Figure(
        id=f"{matrix.section}-{sweep}{'-stand-in' if stands_in(runs[0]) else ''}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title=titles.matrix(matrix.title, pairs if paired == len(tables) else {}, matrix.others),
        sub=f"{wording.ran(list(dict.fromkeys(drawn)), program_name)}. Rows: {matrix.row}; columns: {matrix.column}."
        f"{wording.not_drawn(len(tables), len(shown))}{wording.of_texts(drawn)}",
        marks=f"Stronger shade: {'slower' if matrix.unit == 'ns' else 'less'}.{outlined}",
        tables=tuple(shown),
        numbers=() if len(tables) == len(shown) else tuple(tables),
        half=len(tables) == 1 and len(tables[0].columns) <= 9,
    )


def _cell(value: Spread, scale: fmt.Scale) -> str:
    return (
        scale.number(value.median) if value.relative <= wording.STEADY else wording.spread_text(value, scale)
    )


def _matrix_table(matrix: Matrix, kind: str, of: str, cells: pd.DataFrame) -> Table:
    """cells: a row per pair of nodes, with `source`, `target` and the columns of a Spread."""
    scale = fmt.scale_for(list(cells["median"]), matrix.unit)
    texts = (_cell(Spread(*row), scale) for row in cells[_SPREAD].itertuples(index=False))
    shown = dict(zip(zip(cells["source"], cells["target"], strict=True), texts, strict=True))
    medians = cells.pivot(index="source", columns="target", values="median")
    values = [[v if v == v else None for v in row] for row in medians.to_numpy().tolist()]
    sources, targets = list(medians.index), list(medians.columns)
    return Table(
        caption=", ".join(filter(None, [f"{matrix.title} in {scale.unit}", kind, of])),
        columns=(f"{matrix.row} ↓ {matrix.column} →", *map(str, targets)),
        rows=tuple((str(s), *(shown.get((s, t), fmt.NOTHING) for t in targets)) for s in sources),
        numeric=frozenset(range(1, len(targets) + 1)),
        heat=heat(values, inverse=matrix.unit == "B/s"),  # where it hurts
        marked=frozenset((sources.index(n), targets.index(n)) for n in sources if (n, n) in shown),
    )


_SEARCHES: Final = {"peak_injection_bandwidth": "peak injection", "max_bandwidth": "maximum"}
"""Sections that look for the most bandwidth, and what their tables call them."""


def _searched(runs: Sequence[Run]) -> dict[tuple[str, str, str], tuple[Spread, list[Run]]]:
    """Return (panel's title, section, traffic) → the bandwidth found (B/s), and the runs of its cell."""
    found = entries.frame(runs)
    found = found[found["section"].isin([*_SEARCHES]) & (found["metric"] == "bandwidth")]
    if found.empty:
        return {}
    return {
        (facets.facet_title(of, "mlc"), section, traffic): (
            formulas.spread(list(own["value"])), list(dict.fromkeys(own["run"]))
        )
        for (of, section, traffic), own in groups(_by_cell(found).fillna({"traffic": ""}), ["panel", "section", "traffic"])
    }  # fmt: skip


def _peak_figure(sweep: str, runs: Sequence[Run]) -> Figure | None:
    searched = _searched(runs)
    if not searched:
        return None
    cells = {key: value for key, (value, _) in searched.items()}
    runs = list(dict.fromkeys(run for _, cell in searched.values() for run in cell))
    scale = fmt.scale_to_largest([s.high for s in cells.values()], "B/s")
    several = len({of for of, _, _ in cells}) > 1
    most = max(s.median for s in cells.values())
    everywhere = not any(chosen_cores(run) for run in runs)
    title = f"Bandwidth reaches {scale.number(most)} {scale.unit}"
    rows = tuple(
        (
            traffic_name(traffic),
            _SEARCHES[section],
            *([of] if several else []),
            wording.spread_text(value, scale),
        )
        for (of, section, traffic), value in cells.items()
    )
    return Figure(
        id=f"peaks-{sweep}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title=f"{'Bandwidth' if several else title}{' over all cores' if everywhere else ' over the chosen cores'}",
        sub=f"{wording.ran(runs, program_name)}{', all cores at once' if everywhere else ''}.{wording.of_texts(runs)}",
        tables=(
            Table(
                columns=("Traffic", "Search", *(["Panel"] if several else []), f"Bandwidth, {scale.unit}"),
                rows=rows,
                numeric=frozenset((3 if several else 2,)),
            ),
        ),
        half=True,
    )


MOST_ROWS = 32
"""A longer table is closed."""


def _others_figure(sweep: str, runs: Sequence[Run]) -> Figure | None:
    """Return tables of what no other figure shows: caches of one socket, matrices by CPU, loads of which only one figure is told."""
    found = entries.frame(runs)
    shown = found["section"].isin(["idle_latency", "peak_injection_bandwidth", "max_bandwidth"])
    pairs = found["source"].notna() & found["target"].notna()
    shown |= pairs & found["section"].isin([matrix.section for matrix in _MATRICES])
    shown |= (found["section"] == "loaded_latency") & found["run"].map(lambda run: bool(load_rows(run)))
    found = found[~shown]
    if found.empty:
        return None
    tables = []
    for (metric, unit), own in groups(
        found.assign(unit=found["metric"].map({"latency": "ns", "bandwidth": "B/s"})), ["metric", "unit"]
    ):
        scale = fmt.scale_for(list(own["value"]), unit)
        rows = tuple(
            (_entry_words(of, *which), wording.spread_text(formulas.spread(list(same["value"])), scale))
            for (of, *which), same in groups(
                _by_cell(own),
                ["panel", "section", "traffic", "transfer", "delay", "source", "target"],
            )
        )
        columns = ("Of", f"{metric.capitalize()}, {scale.unit}")
        tables.append(Table(columns=columns, rows=rows, numeric=frozenset((1,))))
    sections = {_section_words(section) for section in found["section"]}
    said = sections.pop() if len(sections) == 1 else ""
    return Figure(
        id=f"others-{sweep}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title=f"{said[:1].upper()}{said[1:]}" or "Further latencies and bandwidths",
        sub=f"{wording.ran(list(dict.fromkeys(found['run'])), program_name)}.{wording.of_texts(found['run'])}",
        tables=tuple(table for table in tables if len(table.rows) <= MOST_ROWS),
        numbers=tuple(table for table in tables if len(table.rows) > MOST_ROWS),
        half=True,
    )


def _section_words(section: str) -> str:
    return section.replace("c2c", "cache-to-cache").replace("cpu", "CPU").replace("_", " ")


def _entry_words(of: facets.Facet, section: str, traffic: Any, transfer: Any, *rest: Any) -> str:  # noqa: ANN401
    """Return "cache-to-cache latency, local L2->L2 HIT": what tells an entry from the others; missing labels are left out."""
    label_placement = (f"{name} {value}" for name, value in zip(("delay", "from", "to"), rest, strict=True) if value == value and value is not None)  # fmt: skip
    mix = traffic_name(traffic) if isinstance(traffic, str) else ""
    told = transfer if isinstance(transfer, str) else ""
    return ", ".join(filter(None, [_section_words(section), mix, told, *label_placement, facets.facet_title(of, "mlc")]))  # fmt: skip
