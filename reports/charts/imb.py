"""Message passing: IMB PingPong time and bandwidth over message size; other benchmarks of the suite as times."""

from __future__ import annotations

from collections.abc import Sequence

from reports import derive, findings, labels, scales, vega
from reports import format as fmt
from reports.charts import _common as common
from reports.charts._common import Curve
from reports.derive import Branch, MessageCurve
from reports.frames import Results, Run
from reports.grouping import group_by
from reports.model import AccessTime, Chapter, Figure, KeyNumber, Panel, Table, panel
from reports.naming import option_value, program_name
from reports.readings import groups
from reports.readings.imb import timings
from reports.vega import Frame, Rows, Spec

SECTION = "MPI"
RANK = 20
METHODS = (
    "PingPong: the time is half a round trip, taken from the bandwidth beside it where that is printed with more digits; "
    "bandwidth is bytes ÷ time, the small-message latency is the "
    "median over 0 to 8 B, n½ is interpolated over the logarithm of the size between two measured ones. Fitted is "
    "Hockney’s t = α + n ÷ B by least squares of the relative residuals, on each side of the best break; a single line "
    "is refused where it is off by more than 15 % anywhere. The protocol changes where a doubled message costs less "
    "than 1.25 × though the doubling before cost over 1.5 ×."
)

SLOT = 34
"""Room in px left of the x axis' first tick, for the message of 0 bytes."""


def chapter(results: Results, tool: str = "imb") -> Chapter:
    """Draw one figure per sweep and benchmark: time, and for PingPong bandwidth, over message size, a line a place."""
    runs = results.good(tool)
    figures, key_numbers, times = [], [], []
    for sweep, members in group_by(runs, lambda r: r.point.sweep).items():
        for benchmark, panels in curves(members).items():
            figures.append(_figure(sweep, benchmark, members, panels))
            if benchmark == "PingPong":
                key_numbers += _key_numbers(members, panels)
                times += _access_times(members, panels)
    return Chapter(
        tool=tool,
        figures=tuple(figures),
        key_numbers=tuple(key_numbers),
        access_times=tuple(times),
        programs=common.programs(runs),
    )


def curves(runs: Sequence[Run]) -> dict[str, dict[common.Facet, list[Curve]]]:
    """Return benchmark → panel → curves of time (ns) over message size (B), one curve a place."""
    names = common.facet_names(runs, within=("place", "benchmark"))
    found = timings.frame(runs)
    found["time"] = found["time"].fillna(found["time_avg"])
    found = found.dropna(subset=["time", "message_size"])
    found["panel"] = found["run"].map(lambda r: common.facet(r, names))
    found["line"] = found["run"].map(lambda r: r.place or r.relation or "all")
    ranks = found["nprocs"].notna() & (found["benchmark"] != "PingPong")
    found.loc[ranks, "line"] += ", " + found["nprocs"][ranks].astype(str) + " ranks"
    benchmarks: dict[str, dict[common.Facet, list[Curve]]] = {}
    for (benchmark, of), own in groups(found, ["benchmark", "panel"]):
        lines = (
            common.curve(name, zip(line["message_size"].astype(float), line["time"], strict=True))
            for (name,), line in groups(own, ["line"])
        )
        benchmarks.setdefault(benchmark, {})[of] = sorted(lines, key=lambda c: c.points[0][1].median)
    return benchmarks


def derived(line: Curve) -> MessageCurve:
    return derive.pingpong({int(size): y.median for size, y in line.points})


def rates(line: Curve) -> Curve:
    """Return the bandwidth (B/s) of a time curve: size ÷ time, without the message of 0 bytes."""
    return Curve(
        name=line.name,
        label=line.label,
        points=tuple(
            (size, derive.Spread(size / y.median * 1e9, size / y.high * 1e9, size / y.low * 1e9, y.n))
            for size, y in line.points
            if size > 0
        ),
    )


def _figure(
    sweep: str, benchmark: str, runs: Sequence[Run], panels: dict[common.Facet, list[Curve]]
) -> Figure:
    shown = dict(list(panels.items())[: common.MOST_PANELS // 2])
    is_pingpong = benchmark == "PingPong"
    drawn: list[Panel] = []
    for of, lines in shown.items():
        where = common.facet_title(of, option_value)
        lines = common.spotlight(lines, lambda c: c.points[0][1].median)
        drawn.append(_time_panel(lines, f"Time{', ' + where if where else ''}", is_pingpong))
        if is_pingpong and any(size > 0 for line in lines for size, _ in line.points):
            drawn.append(_rate_panel([rates(c) for c in lines], f"Bandwidth{', ' + where if where else ''}"))
    first = next(iter(panels.values()))
    peaks = [f"{fmt.quantity(d.peak, 'B/s')} ({c.name})" for c in first if (d := derived(c)).peak]
    rest = common.not_drawn(len(panels), len(shown))
    if is_pingpong:
        title = findings.pingpong(
            {c.name: (derived(c), next((y for size, y in c.points if size == 0), None)) for c in first}
        )
        sub = (
            f"IMB PingPong, {common.ran(runs, program_name)}; one-way time. Ring: n½, the size that reaches half of the peak. "
            + (f"Peaks: {fmt.words(peaks)}." if peaks and len(panels) == 1 else "")
        )
    else:
        title = f"{benchmark}: time by message size"
        sub = f"IMB {benchmark}, {common.ran(runs, program_name)}; mean time over the ranks."
    return Figure(
        id=f"imb-{benchmark}-{sweep}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title=title,
        sub=sub.strip() + common.greyed(first) + rest,
        panels=tuple(drawn),
        half=len(drawn) == 1,
        note=_fitted(first) if is_pingpong and len(panels) == 1 else "",
        numbers=(*(_offers(panels) if is_pingpong else ()), _numbers(panels, with_rates=is_pingpong)),
    )


def _time_panel(lines: list[Curve], title: str, one_way: bool) -> Panel:
    sizes = [size for line in lines for size, _ in line.points]
    everything = [v for line in lines for _, y in line.points for v in (y.low, y.high)]
    scale = fmt.scale_for(everything, "ns")
    y = scales.decades(
        [v / scale.factor for v in everything],
        f"{'One-way time' if one_way else 'Time'}, {scale.unit} (log scale)",
        margin=max(1.5, (max(everything) / min(everything)) ** 0.13),  # room for the value below the slot
    )
    positive = [_positive(line) for line in lines]
    zero = {line.name: y0 for line in lines for size, y0 in line.points if size == 0}
    tested = sorted({size for size in sizes if size > 0})

    def build(width: int) -> Spec:
        x = scales.powers_of_two(sizes, "Message size, bytes (log)", most=7 if width > 400 else 5)
        start = SLOT if zero else 0
        frame = Frame(
            width=width, height=common.height(width, 330, 290), left=common.left_margin(y),
            right=common.name_margin(lines, width),
        )  # fmt: skip
        plot = common.Plot(frame=frame, x=x, y=y, x_start=start)
        data: dict[str, Rows] = {
            "points": common.point_rows(
                positive, tested, scale.factor, lambda n, v: f"{fmt.size(n)} · {common.exact(v, 'ns')}"
            ),
            "ranges": common.range_rows(positive, tested, scale.factor),
            "zero": _zero_rows(zero, plot, scale, positive),
            "slot": [{"text": "0"}] if zero else [],
            **common.end_names(positive, plot, scale.factor),
        }
        return vega.fill(
            "pingpong-time", frame=frame, x=x, y=y, series=common.series_of(lines), data=data, x_start=start
        )

    described = " ".join(f"{name}: {fmt.quantity(y0.median, 'ns')} for 0 bytes." for name, y0 in zero.items())
    return panel(title, f"Time by message size, both axes logarithmic. {described}".strip(), build)


def _positive(line: Curve) -> Curve:
    return Curve(name=line.name, label=line.label, points=tuple(p for p in line.points if p[0] > 0))


def _zero_rows(
    zero: dict[str, derive.Spread], plot: common.Plot, scale: fmt.Scale, lines: list[Curve]
) -> Rows:
    """Dots in the slot. The value of the upper one stands above all ink near the slot, that of the lower one below it;
    values within 5 % of each other are written once."""
    ranked = sorted(zero.items(), key=lambda z: z[1].median)
    low, high = (scale.number(value.median) for _, value in (ranked[0], ranked[-1])) if ranked else ("", "")
    close = bool(ranked) and ranked[-1][1].median < ranked[0][1].median * 1.05
    texts = {0: f"{low if low == high else f'{low} to {high}'} {scale.unit}"} if close else {}
    if not close:
        texts = {0: f"{low} {scale.unit}", len(ranked) - 1: f"{high} {scale.unit}"}
    reach = max((labels.text_width(text, 11.5) for text in texts.values()), default=0) + 12
    ink = [
        plot.at(x, value / scale.factor)
        for line in lines
        for x, y in line.points
        for value in (y.low, y.median, y.high)
    ]
    beside = [y for x, y in ink if x <= reach]
    rows = []
    for rank, (name, value) in enumerate(ranked):
        at = plot.at(plot.x.low, value.median / scale.factor)[1]
        below = rank == 0
        edge = max([*beside, at]) + 17 if below else min([*beside, at]) - 9
        rows.append(
            {
                "series": name, "y": value.median / scale.factor, "low": value.low / scale.factor,
                "high": value.high / scale.factor, "text": texts.get(rank, ""), "dx": -6,
                "x_px": 12, "tip": f"0 B · {common.exact(value, 'ns')}",
                "dy": round(min(edge, plot.frame.plot_height - 4) - at, 1),
            }
        )  # fmt: skip
    return rows


def _rate_panel(lines: list[Curve], title: str) -> Panel:
    everything = [v for line in lines for _, y in line.points for v in (y.low, y.high)]
    scale = fmt.scale_to_largest(everything, "B/s")
    y = scales.decades(
        [v / scale.factor for v in everything], f"Bandwidth, {scale.unit} (log scale)", margin=1.4
    )
    tested = sorted({size for line in lines for size, _ in line.points})
    halves = {line.name: derive.half_size({int(s): v for s, v in line.medians.items()}) for line in lines}

    def build(width: int) -> Spec:
        x = scales.powers_of_two(tested, "Message size, bytes (log)", most=7 if width > 400 else 5)
        frame = Frame(
            width=width, height=common.height(width, 330, 290), left=common.left_margin(y),
            right=common.name_margin(lines, width),
        )  # fmt: skip
        plot = common.Plot(frame=frame, x=x, y=y)
        drawn = [line for line in lines if line.points]
        data: dict[str, Rows] = {
            "points": common.point_rows(
                lines, tested, scale.factor, lambda n, v: f"{fmt.size(n)} · {common.exact(v, 'B/s')}"
            ),
            "ranges": common.range_rows(lines, tested, scale.factor),
            **common.end_names(lines, plot, scale.factor),
            "rings": [], "notes": [],
        }  # fmt: skip
        anchors, where = [], []
        for line in common.lit(drawn)[:4]:
            if (half := halves[line.name]) is not None:
                at = {"x": half, "y": max(line.medians.values()) / 2 / scale.factor}
                data["rings"].append({"series": line.name, **at})
                anchors.append((plot.at(at["x"], at["y"]), f"n½ {fmt.size(half)}"))
                where.append(at)
        segments = common.segments(drawn, plot, scale.factor)
        bounds = (0.0, -10.0, frame.plot_width, frame.plot_height - 4)
        rings = [(px - 7, py - 7, px + 7, py + 7) for (px, py), _ in anchors]
        for place, at in zip(labels.near(anchors, segments, rings, bounds, 11.5), where, strict=True):
            text = anchors[place.index][1]
            data["notes"].append({**at, "text": text, "dx": place.dx, "dy": place.dy, "align": place.align})
        return vega.fill(
            "pingpong-bandwidth", frame=frame, x=x, y=y, series=common.series_of(lines), data=data
        )

    described = " ".join(
        f"{line.name}: at most {fmt.quantity(max(line.medians.values()), 'B/s')}"
        + (f", half of it at {fmt.size(halves[line.name])}." if halves[line.name] else ".")
        for line in lines
        if line.points
    )
    return panel(title, f"Bandwidth by message size, both axes logarithmic. {described}", build)


def _times(line: Curve) -> dict[int, float]:
    return {int(size): y.median for size, y in line.points}


_SAID_UP_TO = 0.30
"""A fit that is off by more than this anywhere is in the table, with how far, and not in a sentence."""


def _fitted(lines: Sequence[Curve]) -> str:
    """Say "t = α + n ÷ B: same package 0.19 µs + n ÷ 3.9 GB/s to 32 KiB, 3.6 µs + n ÷ 12.5 GB/s beyond (off by up to 23 %)"."""
    said = []
    for line in lines[:4]:
        found = derive.fit(_times(line))
        if found is None or any(b.worst > _SAID_UP_TO or not _is_real(b) for b in found.quotable):
            continue
        parts = [
            f"{fmt.quantity(b.alpha, 'ns', 2)} + n ÷ {fmt.quantity(b.rate, 'B/s', 2)}" for b in found.quotable
        ]
        text = parts[0]
        if len(parts) == 2:
            text += f" to {fmt.size(found.quotable[0].end)}, {parts[1]} beyond"
        said.append(f"{line.name} {text} (off by up to {fmt.percent(max(b.worst for b in found.quotable))})")
    return f"Fitted t = α + n ÷ B: {'; '.join(said)}." if said else ""


def _is_real(branch: Branch) -> bool:
    return branch.alpha >= 0 and branch.rate != float("inf")


def _offers(panels: dict[common.Facet, list[Curve]]) -> tuple[Table, Table]:
    """Return what each curve offers, and the lines that were fitted to it."""
    offers, fits = [], []
    for name, line in _named(panels):
        d = derived(line)
        switches = derive.protocol_switches(_times(line))
        offers.append(
            (
                name, fmt.quantity(d.zero, "ns"), fmt.quantity(d.small, "ns"), fmt.quantity(d.peak, "B/s"),
                fmt.size(d.peak_size), fmt.size(d.half_size), ", ".join(map(fmt.size, switches)) or fmt.NOTHING,
            )
        )  # fmt: skip
        found = derive.fit(_times(line))
        if found is None:
            continue
        for branch in (found.one, *(found.two or ())):
            word = (
                "one line" if branch is found.one else f"{fmt.size(branch.start)} to {fmt.size(branch.end)}"
            )
            fits.append(
                (
                    name, word, fmt.quantity(branch.alpha, "ns") if branch.alpha >= 0 else fmt.NOTHING,
                    fmt.quantity(branch.rate, "B/s") if branch.rate != float("inf") else fmt.NOTHING,
                    fmt.percent(branch.worst), "yes" if branch in found.quotable else "no",
                )
            )  # fmt: skip
    return (
        Table(
            caption="What each pair offers",
            columns=("Pair", "0 B", "0 to 8 B", "Peak", "at", "n½", "Protocol changes at"),
            rows=tuple(offers),
            numeric=frozenset(range(1, 7)),
        ),
        Table(
            caption="Fitted t = α + n ÷ B; quotable: what may stand for the curve, one line only where no size is off by more than 15 %",
            columns=("Pair", "Sizes", "α", "B", "Off by up to", "Quotable"),
            rows=tuple(fits),
            numeric=frozenset((2, 3, 4)),
        ),
    )


def _named(panels: dict[common.Facet, list[Curve]]) -> list[tuple[str, Curve]]:
    """Return all curves, each with its name, and its panel's where there are several."""
    titles = {of: f", {common.facet_title(of, option_value)}" if len(panels) > 1 else "" for of in panels}
    return [(f"{line.name}{titles[of]}", line) for of, lines in panels.items() for line in lines]


def _numbers(panels: dict[common.Facet, list[Curve]], *, with_rates: bool) -> Table:
    named = _named(panels)
    times = [y.median for _, line in named for size, y in line.points if size <= 65536]
    scale = fmt.scale_for(times, "ns")
    fast = fmt.scale_to_largest([v for _, line in named for v in rates(line).medians.values()], "B/s")
    sizes = sorted({size for _, line in named for size, _ in line.points})
    rows = []
    for size in sizes:
        row = [fmt.size(size)]
        found = [dict(line.points).get(size) for _, line in named]
        row += [common.spread_text(y, scale) if y else fmt.NOTHING for y in found]
        if with_rates:
            row += [fast.number(size / y.median * 1e9) if y and size else fmt.NOTHING for y in found]
        rows.append(tuple(row))
    columns = ["Message", *(f"{name}, {scale.unit}" for name, _ in named)]
    if with_rates:
        columns += [f"{name}, {fast.unit}" for name, _ in named]
    return Table(columns=tuple(columns), rows=tuple(rows), numeric=frozenset(range(len(columns))))


def _key_numbers(runs: Sequence[Run], panels: dict[common.Facet, list[Curve]]) -> list[KeyNumber]:
    by_panel = [
        sorted(((line, d) for line in lines if (d := derived(line)).small), key=lambda p: p[1].small or 0)
        for lines in panels.values()
    ]
    if not any(by_panel):
        return []
    known = min(
        filter(None, by_panel), key=lambda p: p[0][1].small or 0
    )  # pairs of one panel: the rest has other options
    near, far = known[0], known[-1]
    context = f"{'0 B' if near[1].zero else '0 to 8 B'}, {near[0].name}"
    zeros = [next((y for size, y in line.points if size == 0), None) for line in (near[0], far[0])]
    apart = zeros[0] is None or zeros[1] is None or derive.differs(zeros[0], zeros[1])
    if near is not far and apart and near[1].small and far[1].small:
        context += f"; {far[0].name} {fmt.number(far[1].small / near[1].small, 2)} ×"
    small = [y for size, y in near[0].points if size <= 8]
    time = zeros[0] or derive.Spread(
        near[1].small or 0, min(y.low for y in small), max(y.high for y in small), small[0].n
    )
    cell = [
        run
        for of, lines in panels.items()
        for run in (common.of_panel(runs, of) if near[0] in lines else ())
        if near[0].name in (run.place, run.relation, "all")
    ]
    return [common.key_number("MPI, one way", time, "ns", context, 13, cell)]


def _access_times(runs: Sequence[Run], panels: dict[common.Facet, list[Curve]]) -> list[AccessTime]:
    lines = {line.name: (derived(line), line.points) for line in next(iter(panels.values()))}
    return [
        AccessTime(
            name=f"MPI 0 B, {common.shorten(name, 16)}",
            group="message passing",
            median=d.zero,
            source=program_name(runs[0]),
            repeats=points[0][1],
        )
        for name, (d, points) in lines.items()
        if d.zero
    ]
