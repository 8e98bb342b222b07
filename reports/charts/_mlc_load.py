"""Loaded latency of MLC: curves of latency over bandwidth, one for each traffic type, with their tables."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from parsers import mlc
from parsers.measurement import whole
from reports.charts import facets, titles, wording
from reports.charts.soundness import counted_rows, is_hollow
from reports.draw import axes, label_placement, vega
from reports.draw.figure import ROW, Figure, Key, Panel, Table, heat, panel, row_of
from reports.draw.plot import Plot, height, left_margin
from reports.draw.vega import Frame, Rows, Spec
from reports.numbers import formulas
from reports.numbers.formulas import Load, LoadedLatency, Spread
from reports.readings import groups
from reports.readings.mlc import load_rows
from reports.results.convicted import OTHER
from reports.results.model import Run
from reports.results.naming import program_name
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

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


SPREAD: Final[list[Any]] = ["median", "min", "max", "size"]
"""The fields of a Spread, in order, as pandas works them out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a loaded-latency table, its repeats together."""

    delay: int
    latency: Spread  # ns
    bandwidth: Spread  # B/s
    hollow: bool = False  # no run of it is sound: shown, and part of no statement


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
        return formulas.spread([run.unloaded for run in self.runs], mlc.PRINTED_LOADED_LATENCY)

    @property
    def most(self) -> Spread:
        return formulas.spread([run.peak for run in self.runs], mlc.PRINTED["bandwidth"])

    @property
    def peak_delay(self) -> str:
        """The delay of the peak; of repeats that have it at different delays "0 to 50"."""
        low, high = (fmt.whole(of(run.peak_delay for run in self.runs)) for of in (min, max))
        return low if low == high else f"{low} to {high}"

    @property
    def hollow(self) -> bool:
        """Is no run sound? Then it is shown, and no statement is made of it."""
        return is_hollow(self.cell)

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


def loads(runs: Sequence[Run]) -> dict[facets.Facet, list[LoadCurve]]:
    """Return the loaded-latency curves of some runs, panel by panel, least writing first."""
    swept = all("d" in run.options for run in runs)  # a curve over cells of a delay each
    rows = load_rows.frame(runs)
    within = [
        *told_by_traffic(rows),
        *(["d"] if swept else []),
        *(["mode"] if all(run.text for run in runs) else []),
    ]
    several = len({str(run.options.get("mode")) for run in runs}) > 1
    found = facets.in_panels(rows, *within, texts=several).fillna({"traffic": "traffic not said"})
    panels: dict[facets.Facet, list[LoadCurve]] = {}
    for (of, traffic), own in groups(found, ["panel", "traffic"]):
        panels.setdefault(of, []).append(_load(traffic, own))
    return {of: sorted(curves, key=lambda c: _heaviness(c.traffic)) for of, curves in panels.items()}


def told_by_traffic(found: pd.DataFrame) -> tuple[str, ...]:
    """Return the options that need no panels of their own where the traffic tells them: -W."""
    return facets.told(zip(found["run"], found["traffic"].fillna(""), strict=True), ("W",))


def _heaviness(traffic: str) -> tuple[int, str]:
    return ([*_MIXES].index(traffic) if traffic in _MIXES else len(_MIXES)), traffic


def _load(traffic: str, found: pd.DataFrame) -> LoadCurve:
    """found: the rows of one traffic in one panel, of all repeats."""
    sound = found["run"].map(lambda run: run.sound).astype(bool)
    quiet = sound.groupby([found["delay"], found["occurrence"]]).transform("any")
    found = found[sound | ~quiet]
    hollow = set(found.loc[~quiet, ["delay", "occurrence"]].itertuples(index=False, name=None))
    spreads = found.groupby(["delay", "occurrence"], sort=False)[["latency", "bandwidth"]].agg(SPREAD)
    rows = [
        Row(
            delay=at[0],
            hollow=at in hollow,
            latency=Spread(*values[:4])._replace(step=mlc.PRINTED_LOADED_LATENCY),
            bandwidth=Spread(*values[4:])._replace(step=mlc.PRINTED["bandwidth"]),
        )
        for at, *values in spreads.itertuples()
    ]
    rows.sort(key=lambda row: -row.delay)  # of a delay that comes twice the first one first
    loads = (
        list(map(Load, own["delay"].tolist(), own["latency"].tolist(), own["bandwidth"].tolist()))
        for _, own in groups(counted_rows(found), ["where", "repeat"])  # of delays that are cells a run each
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


def loaded_figures(
    sweep: str, runs: Sequence[Run], panels: dict[facets.Facet, list[LoadCurve]]
) -> list[Figure]:
    every = [load for curves in panels.values() for load in curves]
    told = [load for load in every if not load.hollow]
    offers, noise = [load.offers for load in told], _noise(told)
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
    if load := load_words(runs):
        notes.append(f"{fmt.sentence(load)} beside the one that is timed.")
    pictures = tuple(_loaded_panel(of, curves, colours, x, y, scale) for of, curves in shown.items())
    figure = Figure(
        id=f"loaded-{sweep}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title=titles.loaded_latency(offers, noise, load_words(runs)) if offers else "Latency over bandwidth",
        sub=f"Loaded latency, {wording.ran(_cells(shown), program_name)}. One point per injection delay, least load at left"
        f"{'; dashed past the peak, where more load moves fewer bytes' if folds else ''}."
        f"{f' Bars: lowest to highest {wording.over(runs)}.' if repeated else ''} Bandwidth within 2 × floor is interpolated."
        f"{wording.hollow(pictures, _cells(shown))}"
        f"{wording.of_texts(_cells(shown))}",
        panels=pictures,
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
        title=titles.climb(
            [load.offers for curves in heated.values() for load in curves if not load.hollow], noise
        ),
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
    lowest = min(
        (c for c in curves if c.offers.idle and not c.hollow),
        key=lambda load: load.offers.unloaded,
        default=None,
    )
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
                        **({} if name == "past" and order == 0 else {"tip": f"{_tip(row, scale)}{' · ⚠' * row.hollow}"}),
                        **({"hollow": True} if row.hollow else {}),
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
                if row.latency.n > 1 and not row.hollow
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

    floors = [f"floor {_ns(c.offers.unloaded)}, " if c.offers.idle else "" for c in curves]
    described = " ".join(
        f"{load.name}: {of}peak {fmt.quantity(load.offers.peak, 'B/s')}{'' if load.offers.reached_double else ' of this load'} at {_ns(load.offers.latency_at_peak)}."
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


def _ns(latency: float) -> str:
    return fmt.quantity(latency, "ns", step=mlc.PRINTED_LOADED_LATENCY)


def _short(traffic: str) -> str:
    return traffic_name(traffic, short=True)


def _floor_notes(floor: float, whose: str, plot: Plot) -> tuple[Rows, list[label_placement.Box]]:
    """Name the floor line at its right end, below it, and the line at twice the floor at its left end, above it."""
    notes: Rows = []
    boxes: list[label_placement.Box] = []
    for level, text, right in (
        (floor, f"floor{whose} {_ns(floor)}", True),
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
            (fmt.whole(delay), *(fmt.number(v, step=mlc.PRINTED_LOADED_LATENCY) for v in row))
            for delay, row in zip(chosen, values, strict=True)
        ),
        numeric=frozenset(range(len(curves) + 1)),
        heat=heat(values),
        metrics={ROW: "latency"},
        of=({i: load.cell for i, load in enumerate(curves, start=1)},) * len(chosen),
    )


def _curves_table(
    panels: dict[facets.Facet, list[LoadCurve]],
    columns: Mapping[str, str],
    cells: Callable[[LoadCurve], Iterable[tuple[str, ...]]],
    caption: str = "",
) -> Table:
    """Return a table of all curves, whose traffic and panel (where there are several) stand before the cells of its rows.

    columns: head → the metric that it tells of, "" of both."""
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
        metrics=dict(enumerate(columns.values(), start=len(head))),
        of=tuple(row_of(load.cell) for curves in panels.values() for load in curves for _ in cells(load)),
    )


def _offers_table(panels: dict[facets.Facet, list[LoadCurve]], scale: fmt.Scale) -> Table:
    def cells(load: LoadCurve) -> Iterable[tuple[str, ...]]:
        offers = load.offers
        yield (
            *(_floor_cells(offers, scale) if offers.idle else (fmt.NOTHING, fmt.NOTHING)),
            wording.spread_text(load.most, scale), load.peak_delay, fmt.number(offers.latency_at_peak, step=mlc.PRINTED_LOADED_LATENCY),
        )  # fmt: skip

    starred = any(
        load.offers.idle and not load.offers.enough_idle_rows for curves in panels.values() for load in curves
    )
    columns = {
        "Floor, ns": "latency", f"{scale.unit} within 2 × floor": "", f"Peak, {scale.unit}": "bandwidth", "at delay": "bandwidth",
        "ns at peak": "latency",
    }  # fmt: skip
    caption = "What each curve offers" + (" (* fewer than three idle rows: the row of the least load)" if starred else "")  # fmt: skip
    return _curves_table(panels, columns, cells, caption)


def _floor_cells(offers: LoadedLatency, scale: fmt.Scale) -> tuple[str, str]:
    """Return the floor, and the bandwidth within twice of it."""
    floor = fmt.number(offers.unloaded, step=mlc.PRINTED_LOADED_LATENCY)
    return (
        floor if offers.enough_idle_rows else f"{floor} *",
        _within(offers.at_double, offers.peak, scale, reached=offers.reached_double),
    )


def _within(bandwidth: float, peak: float, scale: fmt.Scale, *, reached: bool | None) -> str:
    """Return the bandwidth within a latency; of a load that did not reach this latency, a bound: the peak by its name, which stands beside
    it in other digits than a bound may have."""
    if reached:
        return scale.number(bandwidth)
    return "≥ peak" if bandwidth == peak else f"≥ {scale.number(bandwidth, rounding=fmt.DOWN)}"


def _further_table(panels: dict[facets.Facet, list[LoadCurve]], scale: fmt.Scale) -> Table:
    """What else a curve tells: how it bends before 2 × floor, what full load costs, and whose latency it can be."""

    def cells(load: LoadCurve) -> Iterable[tuple[str, ...]]:
        offers = load.offers
        yield (
            _within(offers.at_half_more, offers.peak, scale, reached=offers.reached_half_more)
            if offers.idle
            else fmt.NOTHING,
            fmt.NOTHING if offers.collapse is None else fmt.percent(offers.collapse),
            fmt.number(formulas.lines_in_flight(offers.peak, offers.latency_at_peak)),
        )

    caption = "Lines in flight: bandwidth × latency ÷ 64 B at the peak; above cores × 10 to 16, the latency is not that of the traffic"
    columns = {
        f"{scale.unit} within 1.5 × floor": "",
        "Delay 0 ÷ peak": "bandwidth",
        "Lines in flight": "",
    }
    return _curves_table(panels, columns, cells, caption)


def _loaded_numbers_table(panels: dict[facets.Facet, list[LoadCurve]], scale: fmt.Scale) -> Table:
    def cells(load: LoadCurve) -> Iterable[tuple[str, ...]]:
        for row in load.rows:
            latency = wording.spread_text(row.latency, fmt.Scale(factor=1, unit="ns"), 4)
            yield fmt.whole(row.delay), latency, wording.spread_text(row.bandwidth, scale, 4)

    columns = {"Delay": OTHER, "Latency, ns": "latency", f"Bandwidth, {scale.unit}": "bandwidth"}
    return _curves_table(panels, columns, cells)


def load_words(runs: Sequence[Run]) -> str:
    """Return "1 load thread" where the texts tell, and all the same; else ""."""
    threads = {whole(r.parsed.facts.get("threads")) for r in runs if r.parsed} - {None}
    return fmt.plural(n, "load thread") if len(threads) == 1 and (n := threads.pop()) is not None else ""
