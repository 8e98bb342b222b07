"""Memory latency and bandwidth: Intel MLC's tables, or those of memlat in its place."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from reports import derive, findings, labels, scales, vega
from reports import format as fmt
from reports.charts import _common as common
from reports.derive import Load, LoadedLatency, Spread
from reports.frames import Results, Run
from reports.model import AccessTime, Chapter, Figure, Key, KeyNumber, Panel, Table, heat, panel
from reports.naming import option_value, program_kind, program_name, stands_in
from reports.vega import Frame, Rows, Spec

SECTION = "Memory"
RANK = 1
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

_MOST_MATRICES = 4
"""Beyond this many tables of one kind (a host each), one of medians and ranges is shown, the rest is in the numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A matrix between NUMA nodes: where it stands in the parser's rows, and how it is spoken of."""

    section: str
    title: str
    unit: str
    row: str
    column: str
    others: str = "other nodes’ memory"  # what is off the diagonal


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


def traffic_name(traffic: str) -> str:
    """Return a traffic type for a legend: "read only", "R:W 3:1", "R:W 3:1, non-temporal"."""
    if traffic == "read":
        return "read only"
    ratio, _, rest = traffic.partition(" ")
    if ratio == "write":
        return "write only"
    kind = {"nt": ", non-temporal", "": ""}.get(rest, f", {rest}")
    return f"R:W {ratio}{kind}" if ":" in ratio else traffic


def chapter(results: Results, tool: str = "mlc") -> Chapter:
    """Draw everything that the MLC runs say: loaded latency, matrices, peaks, idle latency."""
    runs = results.good(tool)
    figures: list[Figure] = []
    key_numbers: list[KeyNumber] = []
    times: list[AccessTime] = []
    for sweep, members in common.group(runs, lambda r: r.point.sweep).items():
        panels = loads(members)
        if panels:
            figures += _loaded_figures(sweep, members, panels)
            for same in common.group(members, program_kind).values():
                if own := loads(same):
                    key_numbers += _loaded_numbers(same, own)
                    times += _loaded_times(same, own)
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


def loads(runs: Sequence[Run]) -> dict[common.Facet, list[LoadCurve]]:
    """Return the loaded-latency curves of some runs, panel by panel, least writing first."""
    names = common.facet_names(runs, within=("W", "delays", "d", "mode", "t"))
    found: dict[common.Facet, dict[str, dict[tuple[int, int], list[tuple[float, float]]]]] = {}
    for run in runs:
        of = common.facet(run, names)
        lines: dict[tuple[object, object], dict[str, object]] = {}
        for record in run.records():
            if record.get("section") == "loaded_latency" and record["metric"] in ("latency", "bandwidth"):
                line = lines.setdefault((record.get("run"), record.get("row")), dict(record))
                line[str(record["metric"])] = record["value"]
        seen: dict[tuple[str, int], int] = {}
        for line in lines.values():
            if "latency" not in line or "bandwidth" not in line or line.get("delay") is None:
                continue
            traffic = str(line.get("traffic") or "traffic not said")
            delay = int(str(line["delay"]))
            turn = seen[traffic, delay] = seen.get((traffic, delay), -1) + 1  # a delay may come twice
            cell = found.setdefault(of, {}).setdefault(traffic, {}).setdefault((delay, turn), [])
            cell.append((float(str(line["latency"])), float(str(line["bandwidth"]))))
    return {
        of: [
            _load(traffic, rows)
            for traffic, rows in sorted(by_traffic.items(), key=lambda t: _heaviness(t[0]))
        ]
        for of, by_traffic in found.items()
    }


def _heaviness(traffic: str) -> tuple[int, str]:
    return (_MIXES.index(traffic) if traffic in _MIXES else len(_MIXES)), traffic


def _load(traffic: str, cells: dict[tuple[int, int], list[tuple[float, float]]]) -> LoadCurve:
    rows = tuple(
        Row(
            delay=delay,
            latency=derive.spread([latency for latency, _ in pairs]),
            bandwidth=derive.spread([bandwidth for _, bandwidth in pairs]),
        )
        for (delay, _), pairs in sorted(cells.items(), key=lambda c: (-c[0][0], c[0][1]))
    )
    offers = derive.loaded_latency([Load(r.delay, r.latency.median, r.bandwidth.median) for r in rows])
    return LoadCurve(traffic=traffic, rows=rows, offers=offers)


def _colours(n: int) -> tuple[str, ...]:
    """Return n colours from light to heavy; of more mixes than there are colours, neighbours share one: their names tell them."""
    steps = len(vega.ORDERED)
    return vega.ORDERED[:n] if n <= steps else tuple(vega.ORDERED[i * steps // n] for i in range(n))


def _loaded_figures(
    sweep: str, runs: Sequence[Run], panels: dict[common.Facet, list[LoadCurve]]
) -> list[Figure]:
    shown = dict(list(panels.items())[: common.MOST_PANELS])
    traffics = sorted({load.traffic for curves in panels.values() for load in curves}, key=_heaviness)
    colours = dict(zip(traffics, _colours(len(traffics)), strict=True))
    fastest = max(row.bandwidth.high for curves in panels.values() for load in curves for row in load.rows)
    scale = fmt.scale_to_largest([fastest], "B/s")
    x = scales.from_zero([fastest / scale.factor], f"Bandwidth, {scale.unit}")
    y = scales.decades(
        [
            v
            for curves in panels.values()
            for load in curves
            for row in load.rows
            for v in (row.latency.low, row.latency.high)
        ],
        "Latency, ns (log scale)",
        margin=1.1,
    )
    drawn = tuple(_loaded_panel(of, curves, colours, x, y, scale) for of, curves in shown.items())
    several = len(traffics) > 1
    scatter = [
        r.latency.relative for curves in panels.values() for c in curves for r in c.rows if r.latency.n > 1
    ]
    floors = [_floor_repeats(load).relative for curves in panels.values() for load in curves]
    noise = max([statistics.median(scatter), *floors]) if scatter else 0.0
    threads = {r.parsed.facts.get("threads") for r in runs if r.parsed} - {None}
    notes = []
    if len(panels) > len(shown):
        notes.append(f"{len(panels) - len(shown)} more panels are in the numbers only.")
    if len(threads) == 1 and (n := threads.pop()) is not None:
        notes.append(f"{fmt.plural(int(n), 'thread')} made the load.")
    figure = Figure(
        id=f"loaded-{sweep}",
        sweep=runs[0].sweep_title,
        title=findings.loaded_latency([load.offers for curves in panels.values() for load in curves], noise),
        sub=f"Loaded latency, {common.ran(runs, program_name)}. One point per injection delay, least load at left; "
        f"dashed past the peak, where more load moves fewer bytes.{f' Bars: lowest to highest {common.over(runs)}.' if scatter else ''}",
        panels=drawn,
        key=tuple(Key(name=traffic_name(t), colour=colours[t]) for t in traffics) if several else (),
        numbers=(_loaded_numbers_table(panels, scale),),
        note=" ".join(notes),
        half=len(panels) == 1,
    )
    tables = Figure(
        id=f"climb-{sweep}",
        sweep=runs[0].sweep_title,
        title=findings.climb([load.offers for curves in panels.values() for load in curves], noise),
        sub=f"{fmt.words(common.programs(runs))}: latency by injection delay and mix, and what each curve offers; bandwidth at "
        "2 × floor is interpolated.",
        tables=(*_heat_tables(panels), _offers_table(panels, scale)),
        numbers=(_further_table(panels, scale),),
        half=len(panels) == 1
        and len(traffics) <= len(vega.ORDERED),  # beside its panel, if it is not too wide
    )
    return [figure, tables]


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
        named: list[tuple[list[labels.Point], str]] = []
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
            places = [plot.at(row.bandwidth.median / scale.factor, row.latency.median) for row in load.rows]
            named.append((places, _short(load.traffic)))
        notes, boxes = _floor_notes(floor, plot)
        data["notes"] = notes
        data["references"] = [
            {"x": x.low, "x2": x.high, "y": level, "y2": level}
            for level in (floor, 2 * floor)
            if y.low <= level <= y.high
        ]
        bounds = (-8.0, -14.0, frame.plot_width + frame.right, frame.plot_height)
        if len(curves) > 1:
            whiskers = [
                labels.upright(px, plot.at(x.low, row.latency.high)[1], plot.at(x.low, row.latency.low)[1])
                for load, (places, _) in zip(curves, named, strict=True)
                for row, (px, _) in zip(load.rows, places, strict=True)
                if row.latency.high > row.latency.low
            ]
            placed = labels.along(
                named, [*boxes, *whiskers], bounds, prefer=0, starts=[load.peak for load in curves]
            )
            for load, at, (places, text) in zip(curves, placed, named, strict=True):
                first = load.rows[0]
                data["names"].append(
                    {
                        "series": load.name, "x": first.bandwidth.median / scale.factor, "y": first.latency.median,
                        "text": text, "dx": round(at.x - places[0][0], 1), "dy": round(at.y - places[0][1], 1),
                        "align": "left",
                    }
                )  # fmt: skip
                if at.lead:
                    (x1, y1), (x2, y2) = at.lead
                    data["leads"].append(
                        {"series": load.name, "x_px": x1, "y_px": y1, "x2_px": x2, "y2_px": y2}
                    )
        series = [vega.Series(name=load.name, colour=colours[load.traffic]) for load in curves]
        return vega.fill("loaded-latency", frame=frame, x=x, y=y, series=series, data=data)

    described = " ".join(
        f"{load.name}: floor {fmt.quantity(load.offers.unloaded, 'ns')}, peak {fmt.quantity(load.offers.peak, 'B/s')} "
        f"at {fmt.quantity(load.offers.latency_at_peak, 'ns')}."
        for load in curves
    )
    return panel(title, f"Latency over bandwidth{', ' + title if title else ''}. {described}", build)


def _tip(row: Row, scale: fmt.Scale) -> str:
    return (
        f"delay {row.delay} · {common.spread_text(row.bandwidth, scale, 4)} {scale.unit} · "
        f"{common.spread_text(row.latency, fmt.Scale(factor=1, unit='ns'), 4)} ns"
    )


def _short(traffic: str) -> str:
    return traffic_name(traffic).removeprefix("R:W ").replace(", non-temporal", " nt")


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
        notes.append(
            {
                "x": at_x,
                "y": level,
                "text": text,
                "dx": 0 if right else 2,
                "dy": dy,
                "align": "right" if right else "left",
            }
        )
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
                    (str(delay), *(fmt.number(v) for v in row))
                    for delay, row in zip(chosen, values, strict=True)
                ),
                numeric=frozenset(range(len(curves) + 1)),
                heat=heat(values),
            )
        )
    return tables


def _offers_table(panels: dict[common.Facet, list[LoadCurve]], scale: fmt.Scale) -> Table:
    rows = [
        (
            load.name,
            *([common.facet_title(of, option_value)] if len(panels) > 1 else []),
            fmt.number(load.offers.unloaded) + ("" if load.offers.enough_idle_rows else " *"),
            ("" if load.offers.reached_double else "≥ ") + scale.number(load.offers.at_double),
            scale.number(load.offers.peak),
            str(load.offers.peak_delay),
            fmt.number(load.offers.latency_at_peak),
        )
        for of, curves in panels.items()
        for load in curves
    ]
    starred = any(not load.offers.enough_idle_rows for curves in panels.values() for load in curves)
    first = 2 if len(panels) > 1 else 1
    return Table(
        caption="What each curve offers" + (" (* fewer than three idle rows: the lowest latency)" if starred else ""),
        columns=(
            "Traffic", *(["Panel"] if len(panels) > 1 else []), "Floor, ns", f"{scale.unit} at 2 × floor",
            f"Peak, {scale.unit}", "at delay", "ns at peak",
        ),
        rows=tuple(rows),
        numeric=frozenset(range(first, first + 5)),
    )  # fmt: skip


def _further_table(panels: dict[common.Facet, list[LoadCurve]], scale: fmt.Scale) -> Table:
    """What else a curve tells: how it bends before 2 × floor, what full load costs, and whose latency it can be."""
    several = len(panels) > 1
    rows = tuple(
        (
            load.name,
            *([common.facet_title(of, option_value)] if several else []),
            scale.number(load.offers.at_half_more),
            fmt.NOTHING if load.offers.collapse is None else fmt.percent(load.offers.collapse),
            fmt.number(derive.lines_in_flight(load.offers.peak, load.offers.latency_at_peak)),
        )
        for of, curves in panels.items()
        for load in curves
    )
    first = 2 if several else 1
    return Table(
        caption="Lines in flight: bandwidth × latency ÷ 64 B at the peak; above cores × 10 to 16, the latency is not that of the traffic",
        columns=(
            "Traffic", *(["Panel"] if several else []), f"{scale.unit} at 1.5 × floor", "Delay 0 ÷ peak", "Lines in flight",
        ),
        rows=rows,
        numeric=frozenset(range(first, first + 3)),
    )  # fmt: skip


def _loaded_numbers_table(panels: dict[common.Facet, list[LoadCurve]], scale: fmt.Scale) -> Table:
    plain = fmt.Scale(factor=1, unit="ns")
    several = len(panels) > 1
    rows = tuple(
        (
            load.name,
            *([common.facet_title(of, option_value)] if several else []),
            str(row.delay),
            common.spread_text(row.latency, plain, 4),
            common.spread_text(row.bandwidth, scale, 4),
        )
        for of, curves in panels.items()
        for load in curves
        for row in load.rows
    )
    first = 2 if several else 1
    return Table(
        columns=(
            "Traffic",
            *(["Panel"] if several else []),
            "Delay",
            "Latency, ns",
            f"Bandwidth, {scale.unit}",
        ),
        rows=rows,
        numeric=frozenset((first, first + 1, first + 2)),
    )


def _loaded_numbers(runs: Sequence[Run], panels: dict[common.Facet, list[LoadCurve]]) -> list[KeyNumber]:
    best = max((load for curves in panels.values() for load in curves), key=lambda c: c.offers.peak)
    context = f"{best.name}, at {fmt.quantity(best.offers.latency_at_peak, 'ns')}; {program_name(runs[0])}"
    return [
        common.key_number(
            "Memory, peak", best.rows[best.peak].bandwidth, "B/s", context, 11, program=program_kind(runs[0])
        )
    ]


def _loaded_times(runs: Sequence[Run], panels: dict[common.Facet, list[LoadCurve]]) -> list[AccessTime]:
    reads = [load for curves in panels.values() for load in curves if load.traffic == "read"]
    best = min(
        reads or [load for curves in panels.values() for load in curves], key=lambda c: c.offers.unloaded
    )
    return [
        AccessTime(
            name="Memory, idle",
            group="memory",
            median=best.offers.unloaded,
            source=f"least load; {program_name(runs[0])}",
            repeats=_floor_repeats(best),
        )
    ]


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
    found: dict[tuple[str, str], list[float]] = {}
    named: dict[tuple[str, str], str] = {}
    sources: dict[tuple[str, str], set[tuple[object, ...]]] = {}
    for run in runs:
        for record in run.records():
            if record["metric"] != "latency":
                continue
            if record.get("section") == "idle_latency":
                name = f"Memory, idle, {run.relation}" if run.relation not in ("", "all") else "Memory, idle"
            elif record.get("section") == "latency_matrix" and record.get("from") == record.get("to"):
                name = "Memory, idle, local"
            elif record.get("section") == "latency_matrix":
                name = "Memory, idle, remote"
            else:
                continue
            key = (name, program_kind(run))
            found.setdefault(key, []).append(float(str(record["value"])))
            named[key] = program_name(run)
            sources.setdefault(key, set()).add((run.where, record.get("from"), record.get("to")))
    return [
        AccessTime(
            name=key[0],
            group="memory",
            median=statistics.median(values),
            source=named[key],
            repeats=derive.spread(values) if len(sources[key]) == 1 else None,  # nodes are no repeats
        )
        for key, values in found.items()
    ]


# --- matrices and peaks ------------------------------------------------------------------------------------


def _matrix_figures(sweep: str, runs: Sequence[Run]) -> list[Figure]:
    """Draw one figure per matrix and program: a tool and its stand-in are never in one title."""
    programs = common.group(runs, program_kind).values()
    figures = (_matrix_figure(sweep, matrix, same) for same in programs for matrix in _MATRICES)
    return [figure for figure in figures if figure]


Pairs = dict[tuple[int, int], Spread]
"""(from, to) → the repeats of one cell of a matrix."""


def matrices(runs: Sequence[Run], matrix: Matrix) -> dict[tuple[str, common.Facet], Pairs]:
    """Return the matrices of one kind by what they are of (transfer or traffic, "" where there is one) and by panel."""
    names = common.facet_names(runs, within=("mode", "W", "delays", "d"))
    found: dict[tuple[str, common.Facet], dict[tuple[int, int], list[float]]] = {}
    for run in runs:
        for record in run.records():
            if record.get("section") != matrix.section or record["unit"] != matrix.unit:
                continue
            if record.get("from") is None or record.get("to") is None:
                continue
            kind = str(record.get("transfer") or record.get("traffic") or "")
            pair = (int(str(record["from"])), int(str(record["to"])))
            by_pair = found.setdefault((kind, common.facet(run, names)), {})
            by_pair.setdefault(pair, []).append(float(str(record["value"])))
    return {key: {pair: derive.spread(v) for pair, v in by.items()} for key, by in found.items()}


def _matrix_figure(sweep: str, matrix: Matrix, runs: Sequence[Run]) -> Figure | None:
    found = matrices(runs, matrix)
    if not found:
        return None
    medians = [
        (source == target, value.median) for by in found.values() for (source, target), value in by.items()
    ]
    every = [
        _matrix_table(matrix, kind, common.facet_title(of, option_value), pairs)
        for (kind, of), pairs in found.items()
    ]
    by_kind = common.group(found.items(), lambda f: f[0][0])
    tables = every
    if any(len(same) > _MOST_MATRICES for same in by_kind.values()):
        tables = [
            _matrix_table(
                matrix, kind, f"median of {len(same)} and their range", _pooled([p for _, p in same])
            )
            for kind, same in by_kind.items()
        ]
    return Figure(
        id=f"{matrix.section}-{sweep}{'-stand-in' if stands_in(runs[0]) else ''}",
        sweep=runs[0].sweep_title,
        title=findings.matrix(
            matrix.title,
            [v for own, v in medians if own],
            [v for own, v in medians if not own],
            matrix.others,
        ),
        sub=f"{common.ran(runs, program_name)}. Rows: {matrix.row}; columns: {matrix.column}. "
        f"Stronger shade: {'slower' if matrix.unit == 'ns' else 'less'}. Outlined: a node and its own memory.",
        tables=tuple(tables),
        numbers=() if tables is every else tuple(every),
        half=len(tables) == 1 and len(tables[0].columns) <= 9,
    )


def _cell(value: Spread, scale: fmt.Scale) -> str:
    return scale.number(value.median) if value.relative <= common.STEADY else common.spread_text(value, scale)


def _pooled(many: Sequence[Pairs]) -> Pairs:
    pairs = dict.fromkeys(pair for one in many for pair in one)
    return {pair: derive.spread([one[pair].median for one in many if pair in one]) for pair in pairs}


def _matrix_table(matrix: Matrix, kind: str, of: str, pairs: Pairs) -> Table:
    sources = sorted({source for source, _ in pairs})
    targets = sorted({target for _, target in pairs})
    scale = fmt.scale_for([v.median for v in pairs.values()], matrix.unit)
    cells = [[pairs.get((source, target)) for target in targets] for source in sources]
    shades = heat(
        [[v and v.median for v in row] for row in cells], inverse=matrix.unit == "B/s"
    )  # where it hurts
    return Table(
        caption=", ".join(filter(None, [f"{matrix.title} in {scale.unit}", kind, of])),
        columns=(f"{matrix.row} ↓ {matrix.column} →", *(str(t) for t in targets)),
        rows=tuple(
            (str(source), *(_cell(v, scale) if v else fmt.NOTHING for v in row))
            for source, row in zip(sources, cells, strict=True)
        ),
        numeric=frozenset(range(1, len(targets) + 1)),
        heat=shades,
        marked=frozenset((sources.index(n), targets.index(n)) for n in sources if n in targets),
    )


def _peak_figure(sweep: str, runs: Sequence[Run]) -> Figure | None:
    names = common.facet_names(runs, within=("mode", "W", "delays", "d"))
    cells: dict[tuple[str, str, str], list[float]] = {}
    for run in runs:
        of = common.facet_title(common.facet(run, names), option_value)
        for record in run.records():
            if (
                record.get("section") in ("peak_injection_bandwidth", "max_bandwidth")
                and record["metric"] == "bandwidth"
            ):
                key = (of, str(record["section"]), str(record.get("traffic") or ""))
                cells.setdefault(key, []).append(float(str(record["value"])))
    if not cells:
        return None
    spreads = {key: derive.spread(values) for key, values in cells.items()}
    scale = fmt.scale_to_largest([s.high for s in spreads.values()], "B/s")
    several = len({of for of, _, _ in cells}) > 1
    words = {"peak_injection_bandwidth": "peak injection", "max_bandwidth": "maximum"}
    rows = tuple(
        (traffic_name(traffic), words[section], *([of] if several else []), common.spread_text(value, scale))
        for (of, section, traffic), value in spreads.items()
    )
    most = max(s.median for s in spreads.values())
    return Figure(
        id=f"peaks-{sweep}",
        sweep=runs[0].sweep_title,
        title="Bandwidth over all cores"
        if several
        else f"Bandwidth reaches {scale.number(most)} {scale.unit} over all cores",
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
