"""Memory latency and bandwidth: Intel MLC's tables, or those of memlat in its place."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from parsers.measurement import whole
from reports import derive, findings, labels, scales, vega
from reports import format as fmt
from reports.charts import _common as common
from reports.derive import Load, LoadedLatency, Spread
from reports.frames import Results, Run
from reports.grouping import group_by
from reports.model import AccessTime, Chapter, Figure, Key, KeyNumber, Panel, Table, heat, panel
from reports.naming import option_value, program_kind, program_name, stands_in
from reports.readings import Reading, groups
from reports.readings.mlc import entries, load_rows
from reports.vega import Frame, Rows, Spec

if TYPE_CHECKING:
    import pandas as pd

SECTION = "Memory"
RANK = 11
METHODS = (
    "Loaded latency: the floor is the median latency of the rows that move at most 10 % of the peak bandwidth "
    "(of fewer than three such rows: the lowest latency). Bandwidth at 2 × floor is interpolated along the "
    "curve in the order of load. The latency is that of one reading thread, whatever the others do."
)

_MIXES = (
    "read", "read 2 streams", "4:1", "3:1", "3:1 2 streams", "triad rfo", "2:1", "triad", "3:2", "1:1",
    "3:1 nt", "2:1 nt", "2:1 nt 2 streams", "triad nt", "1:1 nt", "write nt",
)  # fmt: skip
"""Traffic types from least to most writing: the order of colours."""

_SPREAD: Final[list[Any]] = ["median", "min", "max", "size"]
"""The fields of a Spread, in order, as pandas works them out."""

_MOST_MATRICES = 4
"""Beyond this many tables of one kind (a host each), one of medians and ranges is shown, the rest is in the numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A matrix between NUMA nodes: the section of its entries, and how it is spoken of."""

    section: str
    title: str
    unit: str
    row: str
    column: str
    others: str = "other nodes’ memory"  # what is off the diagonal

    @property
    def metric(self) -> str:
        return "latency" if self.unit == "ns" else "bandwidth"


_MATRICES = (
    Matrix(section="latency_matrix", title="Idle latency", unit="ns", row="from node", column="to memory of node"),
    Matrix(section="bandwidth_matrix", title="Bandwidth", unit="B/s", row="from node", column="to memory of node"),
    Matrix(
        section="c2c_latency", title="Cache-to-cache latency", unit="ns", row="writer", column="reader",
        others="a line in another node’s cache",
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
    offers: LoadedLatency

    @property
    def name(self) -> str:
        return traffic_name(self.traffic)

    @property
    def peak(self) -> int:
        """Index of the row with the largest bandwidth."""
        return max(range(len(self.rows)), key=lambda i: self.rows[i].bandwidth.median)


def traffic_name(traffic: str, *, short: bool = False) -> str:
    """Return a traffic type for a legend: "read only", "R:W 3:1", "R:W 3:1, non-temporal"; short "3:1", "3:1 nt"."""
    if traffic == "read":
        return "read only"
    ratio, _, rest = traffic.partition(" ")
    if ratio == "write":
        return "write only"
    if ":" not in ratio:
        return traffic
    kind = {"nt": " nt" if short else ", non-temporal", "": ""}.get(rest, f", {rest}")
    return f"{ratio if short else f'R:W {ratio}'}{kind}"


def chapter(results: Results, tool: str = "mlc") -> Chapter:
    """Draw everything that the MLC runs say: loaded latency, matrices, peaks, idle latency."""
    runs = results.good(tool)
    figures: list[Figure] = []
    key_numbers: list[KeyNumber] = []
    times: list[AccessTime] = []
    for sweep, members in group_by(runs, lambda r: r.point.sweep).items():
        panels = loads(members)
        if panels:
            figures += _loaded_figures(sweep, members, panels)
            for same in group_by(members, program_kind).values():
                if own := [load for curves in loads(same).values() for load in curves]:
                    key_numbers.append(_peak_number(same, own))
                    times.append(_floor_time(same, own))
        figures += _matrix_figures(sweep, members)
        if peaks := _peak_figure(sweep, members):
            figures.append(peaks)
    times = _idle_times(runs) or times
    if times:
        fastest = min(times, key=lambda t: t.median)
        spread = fastest.repeats or derive.spread([fastest.median])
        key_numbers.append(common.key_number("Memory, idle", spread, "ns", fastest.source, 10))
    return Chapter(
        tool=tool,
        figures=tuple(figures),
        key_numbers=tuple(key_numbers),
        access_times=tuple(times),
        programs=common.programs(runs),
    )


# --- loaded latency ----------------------------------------------------------------------------------------


def _in_panels(rows: Reading[Any], runs: Sequence[Run], *within: str) -> pd.DataFrame:
    """Return the rows of some runs, with `panel` (a Facet) beside the columns of their reading."""
    names = common.facet_names(runs, within=within)
    panels = {run: common.facet(run, names) for run in runs}
    return rows.frame(runs).assign(panel=lambda f: f["run"].map(panels.get))


def loads(runs: Sequence[Run]) -> dict[common.Facet, list[LoadCurve]]:
    """Return the loaded-latency curves of some runs, panel by panel, least writing first."""
    found = _in_panels(load_rows, runs, "W", "delays", "d", "mode", "t").fillna(
        {"traffic": "traffic not said"}
    )
    by = ["panel", "traffic", "delay", "occurrence"]
    spreads = found.groupby(by, sort=False)[["latency", "bandwidth"]].agg(_SPREAD)
    panels: dict[common.Facet, list[LoadCurve]] = {}
    for (of, traffic), own in groups(spreads, ["panel", "traffic"]):
        panels.setdefault(of, []).append(_load(traffic, own))
    return {of: sorted(curves, key=lambda c: _heaviness(c.traffic)) for of, curves in panels.items()}


def _heaviness(traffic: str) -> tuple[int, str]:
    return (_MIXES.index(traffic) if traffic in _MIXES else len(_MIXES)), traffic


def _load(traffic: str, spreads: pd.DataFrame) -> LoadCurve:
    """spreads: of each row, by panel, traffic, delay and occurrence: those of its latency, then of its bandwidth."""
    rows = [
        Row(delay=delay, latency=Spread(*values[:4]), bandwidth=Spread(*values[4:]))
        for (_, _, delay, _), *values in spreads.itertuples()
    ]
    rows.sort(key=lambda row: -row.delay)  # of a delay that comes twice the first one first
    offers = derive.loaded_latency([Load(r.delay, r.latency.median, r.bandwidth.median) for r in rows])
    return LoadCurve(traffic=traffic, rows=tuple(rows), offers=offers)


def _colours(n: int) -> tuple[str, ...]:
    """Return n colours from light to heavy; of more mixes than there are colours, neighbours share one: their names tell them."""
    steps = len(vega.ORDERED)
    return vega.ORDERED[:n] if n <= steps else tuple(vega.ORDERED[i * steps // n] for i in range(n))


def _loaded_figures(
    sweep: str, runs: Sequence[Run], panels: dict[common.Facet, list[LoadCurve]]
) -> list[Figure]:
    every = [load for curves in panels.values() for load in curves]
    offers, noise = [load.offers for load in every], _noise(every)
    shown = dict(list(panels.items())[: common.MOST_PANELS])
    traffics = sorted({load.traffic for load in every}, key=_heaviness)
    colours = dict(zip(traffics, _colours(len(traffics)), strict=True))
    fastest = max(row.bandwidth.high for load in every for row in load.rows)
    scale = fmt.scale_to_largest([fastest], "B/s")
    x = scales.from_zero([fastest / scale.factor], f"Bandwidth, {scale.unit}")
    latencies = [v for load in every for row in load.rows for v in (row.latency.low, row.latency.high)]
    y = scales.decades(latencies, "Latency, ns (log scale)", margin=1.1)
    repeated = any(row.latency.n > 1 for load in every for row in load.rows)
    threads = {r.parsed.facts.get("threads") for r in runs if r.parsed} - {None}
    key = tuple(Key(name=traffic_name(t), colour=colours[t]) for t in traffics)
    notes = []
    if len(panels) > len(shown):
        notes.append(f"{len(panels) - len(shown)} more panels are in the numbers only.")
    if len(threads) == 1 and (n := whole(threads.pop())) is not None:
        notes.append(f"{fmt.plural(n, 'thread')} made the load.")
    figure = Figure(
        id=f"loaded-{sweep}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title=findings.loaded_latency(offers, noise),
        sub=f"Loaded latency, {common.ran(runs, program_name)}. One point per injection delay, least load at left; "
        f"dashed past the peak, where more load moves fewer bytes.{f' Bars: lowest to highest {common.over(runs)}.' if repeated else ''}",
        panels=tuple(_loaded_panel(of, curves, colours, x, y, scale) for of, curves in shown.items()),
        key=key if len(traffics) > 1 else (),
        numbers=(_loaded_numbers_table(panels, scale),),
        note=" ".join(notes),
        half=len(panels) == 1,
    )
    tables = Figure(
        id=f"climb-{sweep}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title=findings.climb(offers, noise),
        sub=f"{fmt.words(common.programs(runs))}: latency by injection delay and mix, and what each curve offers; bandwidth at "
        "2 × floor is interpolated.",
        tables=(*_heat_tables(panels), _offers_table(panels, scale)),
        numbers=(_further_table(panels, scale),),
        half=len(panels) == 1 and len(traffics) <= len(vega.ORDERED),  # beside its panel, if it is not too wide
    )  # fmt: skip
    return [figure, tables]


def _noise(every: Sequence[LoadCurve]) -> float:
    """Return how far repeats are apart, relative: the median over the rows, or that of a floor if it is more; 0 without repeats."""
    scatter = [row.latency.relative for load in every for row in load.rows if row.latency.n > 1]
    floors = [_floor_repeats(load).relative for load in every]
    return max([statistics.median(scatter), *floors]) if scatter else 0.0


def _loaded_panel(
    of: common.Facet,
    curves: list[LoadCurve],
    colours: dict[str, str],
    x: scales.Axis,
    y: scales.Axis,
    scale: fmt.Scale,
) -> Panel:
    floor = min(load.offers.unloaded for load in curves)
    title = common.facet_title(of, option_value)

    def build(width: int) -> Spec:
        frame = Frame(width=width, height=common.height(width, 330, 300), left=common.left_margin(y))
        plot = common.Plot(frame=frame, x=x, y=y)
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
        data["notes"], boxes = _floor_notes(floor, plot)
        data["references"] = [
            {"x": x.low, "x2": x.high, "y": level, "y2": level}
            for level in (floor, 2 * floor)
            if y.low <= level <= y.high
        ]
        if len(curves) > 1:
            data["names"], data["leads"] = _names(curves, plot, scale, boxes)
        series = [vega.Series(name=load.name, colour=colours[load.traffic]) for load in curves]
        return vega.fill("loaded-latency", frame=frame, x=x, y=y, series=series, data=data)

    described = " ".join(
        f"{load.name}: floor {fmt.quantity(load.offers.unloaded, 'ns')}, peak {fmt.quantity(load.offers.peak, 'B/s')} "
        f"at {fmt.quantity(load.offers.latency_at_peak, 'ns')}."
        for load in curves
    )
    return panel(title, f"Latency over bandwidth{', ' + title if title else ''}. {described}", build)


def _names(
    curves: Sequence[LoadCurve], plot: common.Plot, scale: fmt.Scale, boxes: Sequence[labels.Box]
) -> tuple[Rows, Rows]:
    """Put a name at each curve, near its peak, where it covers neither the boxes nor bars; with the hairlines that lead back."""
    x, frame = plot.x, plot.frame
    named = [
        ([plot.at(row.bandwidth.median / scale.factor, row.latency.median) for row in load.rows], _short(load.traffic))
        for load in curves
    ]  # fmt: skip
    whiskers = [
        labels.upright(px, plot.at(x.low, row.latency.high)[1], plot.at(x.low, row.latency.low)[1])
        for load, (places, _) in zip(curves, named, strict=True)
        for row, (px, _) in zip(load.rows, places, strict=True)
        if row.latency.high > row.latency.low
    ]
    bounds = (-8.0, -14.0, frame.plot_width + frame.right, frame.plot_height)
    starts = [load.peak for load in curves]
    placed = labels.along(named, [*boxes, *whiskers], bounds, prefer=0, starts=starts)
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
        f"delay {row.delay} · {common.spread_text(row.bandwidth, scale, 4)} {scale.unit} · "
        f"{common.spread_text(row.latency, fmt.Scale(factor=1, unit='ns'), 4)} ns"
    )


def _short(traffic: str) -> str:
    return traffic_name(traffic, short=True)


def _floor_notes(floor: float, plot: common.Plot) -> tuple[Rows, list[labels.Box]]:
    """Name the floor line at its right end, below it, and the line at twice the floor at its left end, above it."""
    notes: Rows = []
    boxes: list[labels.Box] = []
    for level, text, right in (
        (floor, f"floor {fmt.quantity(floor, 'ns')}", True),
        (2 * floor, "2 × floor", False),
    ):
        if not plot.y.low <= level <= plot.y.high:
            continue
        at_x = plot.x.high if right else plot.x.low
        px, py = plot.at(at_x, level)
        room_below = plot.frame.plot_height - py > 16
        dy = (13 if room_below else -5) if right else -5
        dx, align = (0, "right") if right else (2, "left")
        notes.append({"x": at_x, "y": level, "text": text, "dx": dx, "dy": dy, "align": align})
        width = labels.text_width(text, 11.5)
        left = px - width if right else px
        boxes.append((left, py + dy - 10, left + width, py + dy + 3))
    return notes, boxes


def _heat_tables(panels: dict[common.Facet, list[LoadCurve]]) -> list[Table]:
    """Latency by delay and mix, one table a panel: at most ten delays, spread over those measured."""
    tables = []
    for of, curves in list(panels.items())[:2]:
        delays = sorted({row.delay for load in curves for row in load.rows})
        if len(delays) < 3 or len(curves) < 2:
            continue
        step = (len(delays) - 1) / min(9, len(delays) - 1)
        chosen = [delays[round(i * step)] for i in range(min(10, len(delays)))]
        values = [
            [next((row.latency.median for row in load.rows if row.delay == delay), None) for load in curves]
            for delay in chosen
        ]
        title = common.facet_title(of, option_value)
        tables.append(
            Table(
                caption=f"Latency in ns by injection delay and mix{', ' + title if title else ''}",
                columns=("Delay", *(_short(load.traffic) for load in curves)),
                rows=tuple(
                    (fmt.whole(delay), *(fmt.number(v) for v in row))
                    for delay, row in zip(chosen, values, strict=True)
                ),
                numeric=frozenset(range(len(curves) + 1)),
                heat=heat(values),
            )
        )
    return tables


def _curves_table(
    panels: dict[common.Facet, list[LoadCurve]],
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
            (load.name, *([common.facet_title(of, option_value)] if several else []), *row)
            for of, curves in panels.items()
            for load in curves
            for row in cells(load)
        ),
        numeric=frozenset(range(len(head), len(head) + len(columns))),
    )


def _offers_table(panels: dict[common.Facet, list[LoadCurve]], scale: fmt.Scale) -> Table:
    def cells(load: LoadCurve) -> Iterable[tuple[str, ...]]:
        offers = load.offers
        floor, double = fmt.number(offers.unloaded), scale.number(offers.at_double)
        yield (
            floor if offers.enough_idle_rows else f"{floor} *",
            double if offers.reached_double else f"≥ {double}",
            scale.number(offers.peak), fmt.whole(offers.peak_delay), fmt.number(offers.latency_at_peak),
        )  # fmt: skip

    starred = any(not load.offers.enough_idle_rows for curves in panels.values() for load in curves)
    columns = ("Floor, ns", f"{scale.unit} at 2 × floor", f"Peak, {scale.unit}", "at delay", "ns at peak")
    caption = "What each curve offers" + (" (* fewer than three idle rows: the lowest latency)" if starred else "")  # fmt: skip
    return _curves_table(panels, columns, cells, caption)


def _further_table(panels: dict[common.Facet, list[LoadCurve]], scale: fmt.Scale) -> Table:
    """What else a curve tells: how it bends before 2 × floor, what full load costs, and whose latency it can be."""

    def cells(load: LoadCurve) -> Iterable[tuple[str, ...]]:
        offers = load.offers
        yield (
            scale.number(offers.at_half_more),
            fmt.NOTHING if offers.collapse is None else fmt.percent(offers.collapse),
            fmt.number(derive.lines_in_flight(offers.peak, offers.latency_at_peak)),
        )

    caption = "Lines in flight: bandwidth × latency ÷ 64 B at the peak; above cores × 10 to 16, the latency is not that of the traffic"
    columns = (f"{scale.unit} at 1.5 × floor", "Delay 0 ÷ peak", "Lines in flight")
    return _curves_table(panels, columns, cells, caption)


def _loaded_numbers_table(panels: dict[common.Facet, list[LoadCurve]], scale: fmt.Scale) -> Table:
    def cells(load: LoadCurve) -> Iterable[tuple[str, ...]]:
        for row in load.rows:
            latency = common.spread_text(row.latency, fmt.Scale(factor=1, unit="ns"), 4)
            yield fmt.whole(row.delay), latency, common.spread_text(row.bandwidth, scale, 4)

    return _curves_table(panels, ("Delay", "Latency, ns", f"Bandwidth, {scale.unit}"), cells)


def _peak_number(runs: Sequence[Run], every: Sequence[LoadCurve]) -> KeyNumber:
    best = max(every, key=lambda c: c.offers.peak)
    context = f"{best.name}, at {fmt.quantity(best.offers.latency_at_peak, 'ns')}; {program_name(runs[0])}"
    peak = best.rows[best.peak].bandwidth
    return common.key_number("Memory, peak", peak, "B/s", context, 11, program=program_kind(runs[0]))


def _floor_time(runs: Sequence[Run], every: Sequence[LoadCurve]) -> AccessTime:
    reads = [load for load in every if load.traffic == "read"]
    best = min(reads or every, key=lambda c: c.offers.unloaded)
    return AccessTime(
        name="Memory, idle", group="memory", median=best.offers.unloaded,
        source=f"least load; {program_name(runs[0])}", repeats=_floor_repeats(best),
    )  # fmt: skip


def _floor_repeats(load: LoadCurve) -> Spread:
    """Return the floor with what the repeats of its rows say: of three idle rows or more the median of their lows and
    of their highs, of fewer the lowest and highest of all, with the row of the lowest latency among them."""
    idle = [r.latency for r in load.rows if r.bandwidth.median <= 0.10 * load.offers.peak]
    if not load.offers.enough_idle_rows:
        idle.append(min((r.latency for r in load.rows), key=lambda s: s.median))
        low, high = min(s.low for s in idle), max(s.high for s in idle)
    else:
        low, high = statistics.median(s.low for s in idle), statistics.median(s.high for s in idle)
    return Spread(load.offers.unloaded, low, high, max(s.n for s in idle))


def _idle_times(runs: Sequence[Run]) -> list[AccessTime]:
    """Idle latency by place: what --idle_latency and the diagonal of the latency matrix say."""
    found = entries.frame(runs)
    found = found[(found["metric"] == "latency") & found["section"].isin(["idle_latency", "latency_matrix"])]
    at_home = (found["source"] == found["target"]).map({True: "local", False: "remote"})
    asked = found["run"].map(lambda r: "" if r.relation == "all" else r.relation)
    found = found.assign(
        place=asked.where(found["section"] == "idle_latency", at_home), program=found["run"].map(program_kind)
    )
    times = []
    for (place, _), own in groups(found, ["place", "program"]):
        repeats = derive.spread(list(own["value"]))
        several = len(own[["where", "source", "target"]].drop_duplicates()) > 1  # nodes are no repeats
        times.append(
            AccessTime(
                name=f"Memory, idle, {place}" if place else "Memory, idle", group="memory", median=repeats.median,
                source=program_name(own["run"].iloc[-1]), repeats=None if several else repeats,
            )
        )  # fmt: skip
    return times


# --- matrices and peaks ------------------------------------------------------------------------------------


def _matrix_figures(sweep: str, runs: Sequence[Run]) -> list[Figure]:
    """Draw one figure per matrix and program: a tool and its stand-in are never in one title."""
    figures = []
    for same in group_by(runs, program_kind).values():
        found = _in_panels(entries, same, "mode", "W", "delays", "d")
        for matrix in _MATRICES:
            of = (found["section"] == matrix.section) & (found["metric"] == matrix.metric)
            own = found[of & found["source"].notna() & found["target"].notna()]
            if len(own):
                figures.append(_matrix_figure(sweep, matrix, same, own))
    return figures


def _matrix_figure(sweep: str, matrix: Matrix, runs: Sequence[Run], found: pd.DataFrame) -> Figure:
    """found: the entries of this kind of matrix. One table per panel and transfer or traffic; of too many panels one for all."""
    found = found.assign(kind=found["transfer"].fillna(found["traffic"]).fillna(""))
    by = ["kind", "panel", "source", "target"]
    cells = found.groupby(by, sort=False)["value"].agg(_SPREAD).reset_index()
    own = cells["source"] == cells["target"]
    tables = every = [
        _matrix_table(matrix, kind, common.facet_title(of, option_value), pairs)
        for (kind, of), pairs in groups(cells, ["kind", "panel"])
    ]
    by_kind = [(kind, same["panel"].nunique(), same) for (kind,), same in groups(cells, ["kind"])]
    if any(panels > _MOST_MATRICES for _, panels, _ in by_kind):
        tables = [
            _matrix_table(
                matrix, kind, f"median of {panels} and their range",
                same.groupby(["source", "target"])["median"].agg(_SPREAD).reset_index(),
            )
            for kind, panels, same in by_kind
        ]  # fmt: skip
    return Figure(
        id=f"{matrix.section}-{sweep}{'-stand-in' if stands_in(runs[0]) else ''}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title=findings.matrix(
            matrix.title, list(cells.loc[own, "median"]), list(cells.loc[~own, "median"]), matrix.others
        ),
        sub=f"{common.ran(runs, program_name)}. Rows: {matrix.row}; columns: {matrix.column}.",
        marks=f"Stronger shade: {'slower' if matrix.unit == 'ns' else 'less'}. Outlined: a node and its own memory.",
        tables=tuple(tables),
        numbers=() if tables is every else tuple(every),
        half=len(tables) == 1 and len(tables[0].columns) <= 9,
    )


def _cell(value: Spread, scale: fmt.Scale) -> str:
    return scale.number(value.median) if value.relative <= common.STEADY else common.spread_text(value, scale)


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
        marked=frozenset((sources.index(n), targets.index(n)) for n in sources if n in targets),
    )


def _peak_figure(sweep: str, runs: Sequence[Run]) -> Figure | None:
    words = {"peak_injection_bandwidth": "peak injection", "max_bandwidth": "maximum"}
    found = _in_panels(entries, runs, "mode", "W", "delays", "d")
    found = found[found["section"].isin([*words]) & (found["metric"] == "bandwidth")]
    if found.empty:
        return None
    cells = {
        (common.facet_title(of, option_value), section, traffic): derive.spread(list(own["value"]))
        for (of, section, traffic), own in groups(found.fillna({"traffic": ""}), ["panel", "section", "traffic"])
    }  # fmt: skip
    scale = fmt.scale_to_largest([s.high for s in cells.values()], "B/s")
    several = len({of for of, _, _ in cells}) > 1
    most = max(s.median for s in cells.values())
    title = f"Bandwidth reaches {scale.number(most)} {scale.unit} over all cores"
    rows = tuple(
        (traffic_name(traffic), words[section], *([of] if several else []), common.spread_text(value, scale))
        for (of, section, traffic), value in cells.items()
    )
    return Figure(
        id=f"peaks-{sweep}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title="Bandwidth over all cores" if several else title,
        sub=f"{common.ran(runs, program_name)}, all cores at once.",
        tables=(
            Table(
                columns=("Traffic", "Search", *(["Panel"] if several else []), f"Bandwidth, {scale.unit}"),
                rows=rows,
                numeric=frozenset((3 if several else 2,)),
            ),
        ),
        half=True,
    )
