"""Message passing: IMB PingPong time and bandwidth over message size; other benchmarks of the suite as times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from parsers import imb
from reports.charts import curve_rows, facets, wording
from reports.charts import titles as findings
from reports.charts.chapter import AccessTime, Chapter
from reports.charts.core_pairs import pairs_figure
from reports.charts.curve_rows import Curve
from reports.charts.soundness import counted_rows
from reports.draw import axes, label_placement, vega
from reports.draw.figure import ROW, Figure, Panel, Table, panel, row_of
from reports.draw.plot import Plot, height, left_margin
from reports.draw.vega import Frame, Rows, Spec
from reports.numbers import formulas
from reports.numbers.formulas import Branch, MessageCurve
from reports.numbers.imb import STATISTICS, stands_for
from reports.page.model import KeyNumber
from reports.readings import groups
from reports.readings.imb import Timing, timings
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.results.naming import program_name
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

SECTION = "MPI"
RANK = 20
METHODS_OF = "imb-PingPong-"
METHODS = (
    "PingPong: the time is half a round trip, taken from the bandwidth beside it where that is printed with more digits; "
    "bandwidth is bytes ÷ time, the small-message latency is the "
    "median over 0 to 8 B, in titles that of 0 B where it was measured; n½ is interpolated over the logarithm of the size between two measured ones. Fitted is "
    "Hockney’s t = α + n ÷ B by least squares of the relative residuals, on each side of the best break; a line "
    "is quotable where it is off by at most 15 % everywhere; B is not determined above twice the highest bandwidth measured. The protocol "
    "changes where a doubled message costs less than 1.25 × though the doubling before cost over 1.5 ×, and where one costs over 2 × and "
    "no less follows; in all repeats, and of one run where the two fitted lines break there and both are quotable. “Not decided”: in some "
    "only, or in one run alone."
)

SLOT = 34
"""Room in px left of the x axis' first tick, for the message of 0 bytes."""


def chapter(results: Results, tool: str = "imb") -> Chapter:
    """Draw one figure per sweep and benchmark: time, and for PingPong bandwidth, over message size, a line a place."""
    runs = results.shown(tool)
    figures: list[Figure] = []
    key_numbers: list[KeyNumber] = []
    times: list[AccessTime] = []
    for sweep, members in group_by(runs, lambda r: r.cell.sweep).items():
        for benchmark, panels in curves(members).items():
            of = [run for run in members if any(row.benchmark == benchmark for row in timings(run))]
            figures.append(_figure(sweep, benchmark, of, panels))
            if benchmark == "PingPong":
                if cores := _cores_figure(sweep, panels):
                    figures.append(cores)
                key_numbers += _key_numbers(_sound(panels))
                times += _access_times(panels)
        figures += _tables(sweep, members)
    return Chapter(
        tool=tool,
        figures=tuple(figures),
        key_numbers=tuple(key_numbers),
        access_times=tuple(times),
        programs=wording.programs(runs),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(Curve):
    """A curve of times over message size, with what each of its runs offers, and whose times they are (of `STATISTICS`)."""

    runs: tuple[MessageCurve, ...] = ()
    statistics: tuple[str, ...] = ()
    cell: tuple[Run, ...] = ()  # whose times these are: of those the sound ones, if there are some

    @property
    def offers(self) -> MessageCurve:
        return formulas.message_curve(self.runs)

    @property
    def started(self) -> tuple[int, ...]:
        """The smallest sizes, that without bytes among them, that were a cold start (`formulas.cold`) by the medians of all repeats."""
        times = {int(size): y.median for size, y in self.points if y.n == len(self.runs)}
        return formulas.cold(times) if 0 in times else ()

    @property
    def latency(self) -> tuple[str, formulas.Spread] | None:
        """The message that stands for the small ones, in words, and its time: that without bytes, after a cold start the smallest past it,
        else the median of 0 to 8 B."""
        if self.started:
            past = next(
                ((n, y) for n, y in self.points if n not in self.started and y.n == len(self.runs)), None
            )
            return (fmt.size(past[0]), past[1]) if past and past[0] <= 8 else None
        for said, of in (("0 B", "zero"), ("up to 8 B (median)", "small")):
            found = [value for run in self.runs if (value := getattr(run, of)) is not None]
            if found and len(found) == len(self.runs):
                return said, formulas.spread(found, imb.PRINTED["time"])
        return None

    @property
    def most(self) -> formulas.Spread | None:
        found = [run.peak for run in self.runs if run.peak is not None]
        return formulas.spread(found) if found and len(found) == len(self.runs) else None

    @property
    def peak_at(self) -> str:
        """The size of the peak; of runs that have it at different sizes "256 KiB to 4 MiB"."""
        sizes = [run.peak_size for run in self.runs if run.peak_size is not None]
        low, high = (fmt.size(of(sizes, default=None)) for of in (min, max))
        return low if low == high else f"{low} to {high}"


Panels = dict[facets.Facet, list[Line]]


def _sound(panels: Panels) -> Panels:
    """Return the lines of which statements may be made."""
    quiet = {of: [line for line in lines if not line.hollow] for of, lines in panels.items()}
    return {of: lines for of, lines in quiet.items() if lines}


def curves(runs: Sequence[Run]) -> dict[str, Panels]:
    """Return benchmark → panel → curves of time (ns) over message size (B), one curve a place.

    The time is the figure that stands for its line everywhere (`numbers.imb.stands_for`); lines without such a time are not drawn
    (`_tables`).
    """
    found = _lines(runs).dropna(subset=["time", "message_size"]).drop_duplicates(_KEY)
    benchmarks: dict[str, Panels] = {}
    for (benchmark, of), own in groups(found, ["benchmark", "panel"]):
        lines = [_line(name, line) for (name,), line in groups(own, ["line"])]
        benchmarks.setdefault(benchmark, {})[of] = sorted(lines, key=lambda c: c.points[0][1].median)
    return benchmarks


_KEY = ["run", "benchmark", "nprocs", "mode", "group", "message_size"]
"""What tells a line from all others: of one that comes twice the first counts."""


def _lines(runs: Sequence[Run]) -> pd.DataFrame:
    """Return the lines of all tables with `statistic` (which figure stands for it, "" of none), `time` (ns, where that is one),
    `panel` (a Facet), and `line`: what tells it from the others of its benchmark and panel."""
    import pandas as pd

    drawn = ((run, (_place(run), row.benchmark)) for run in runs for row in timings(run))
    names = facets.panel_names(runs, within=facets.told(drawn, ("place", "benchmark")))
    rows = [row for run in runs for row in timings(run)]
    leads = [stands_for(row) for row in rows]
    times = [
        getattr(row, name) if name in STATISTICS else None for row, name in zip(rows, leads, strict=True)
    ]
    found = timings.frame(runs).assign(statistic=leads, line=lambda f: f["run"].map(_place))
    found["time"] = pd.Series(times, index=found.index, dtype=float)
    found["panel"] = found["run"].map(lambda r: facets.facet(r, names))
    ranks = found["nprocs"].notna() & (found["benchmark"] != "PingPong")
    if "np" in names:  # the panel tells them, unless IMB took fewer of them, too
        asked = found["run"].map(lambda r: str(r.cell.options.get("np")))
        alone = found.groupby("run", sort=False)["nprocs"].transform("nunique") == 1
        ranks &= ~(alone & (asked == found["nprocs"].astype(str)))
    found["line"] += [
        f", {_ranks(row)}" if own or row.groups else "" for own, row in zip(ranks, rows, strict=True)
    ]
    for label, word in (("mode", ", "), ("group", ", group ")):  # of one run: no repeats
        told = found[label].notna()
        found.loc[told, "line"] += word + found[label][told].astype(str).str.lower()
    return found


def _ranks(row: Timing) -> str:
    """Return "4 ranks", "2 groups of 2 ranks" of groups that ran at once."""
    return f"{fmt.plural(row.groups, 'group')} of {row.nprocs} ranks" if row.groups else f"{row.nprocs} ranks"


MOST_ROWS = 32
"""A longer table is closed."""


def _tables(sweep: str, runs: Sequence[Run]) -> list[Figure]:
    """Return a table for each benchmark with lines that are not drawn: of Uniband, which has no time, or Barrier, which has no size."""
    import pandas as pd

    found = _lines(runs)
    undrawn = (found["time"].isna() | found["message_size"].isna()) & (found["statistic"] != "")
    found = found[undrawn].drop_duplicates(_KEY)
    figures = []
    for (benchmark,), own in groups(found, ["benchmark"]):
        names = {*own["statistic"], "bandwidth", "message_rate"}
        metrics = [name for name in imb.METRICS if name in names and own[name].notna().any()]
        of = {name: fmt.scale_to_largest(own[name].dropna(), imb.METRICS[name].unit) for name in metrics}
        rows, whose = [], []
        for (where, line, size), same in groups(own, ["panel", "line", "message_size"]):
            name = ", ".join(filter(None, [line, facets.facet_title(where, "imb")]))
            same = counted_rows(same)
            known = [(of[name], same[name].dropna()) for name in metrics]
            texts = (wording.spread_text(formulas.spread(list(v)), scale, step=imb.PRINTED.get(name)) if len(v) else fmt.NOTHING for (scale, v), name in zip(known, metrics, strict=True))  # fmt: skip
            rows.append((name, fmt.NOTHING if pd.isna(size) else fmt.size(size), *texts))
            whose.append(row_of(same["run"]))
        columns = ("Place", "Message", *(f"{_metric(name)}, {of[name].unit}" for name in metrics))
        table = Table(
            columns=columns, rows=tuple(rows), numeric=frozenset(range(1, len(columns))), of=tuple(whose),
            metrics={ROW: benchmark} | {i: f"{benchmark}/{name}" for i, name in enumerate(metrics, start=2)},
        )  # fmt: skip
        figures.append(
            Figure(
                id=f"imb-{benchmark}-{sweep}-table",
                of=sweep,
                sweep=runs[0].sweep_title,
                title=f"{benchmark}: {fmt.words(_metric(name).lower() for name in metrics)}",
                sub=f"IMB {benchmark}, {wording.ran(list(dict.fromkeys(own['run'])), program_name)}."
                f"{wording.of_texts(own['run'])}",
                tables=(table,) if len(rows) <= MOST_ROWS else (),
                numbers=(table,) if len(rows) > MOST_ROWS else (),
                half=True,
            )
        )
    return figures


def _metric(name: str) -> str:
    """Return the name of a figure for people: "Time, slowest rank", "Message rate"."""
    whose = STATISTICS.get(name)
    return f"Time, {whose}" if whose else name.replace("_", " ").capitalize()


def _place(run: Run) -> str:
    return wording.place(run)


def _line(name: str, found: pd.DataFrame) -> Line:
    """found: the times of one benchmark, panel and place."""
    found = counted_rows(found)
    pairs = zip(found["message_size"].astype(float), found["time"], strict=True)
    drawn = curve_rows.curve(name, pairs, runs=found["run"], step=imb.PRINTED["time"])
    runs = (
        formulas.pingpong(dict(zip(own["message_size"].astype(int), own["time"], strict=True)))
        for _, own in groups(found, ["run"])
    )
    return Line(
        name=name, points=drawn.points, turns=drawn.turns, hollow=drawn.hollow, runs=tuple(runs), statistics=tuple(dict.fromkeys(found["statistic"])),
        cell=tuple(dict.fromkeys(found["run"])),
    )  # fmt: skip


def rates(line: Curve) -> Curve:
    """Return the bandwidth (B/s) of a time curve: size ÷ time, without the message of 0 bytes."""
    return Curve(
        name=line.name,
        label=line.label,
        points=tuple(
            (size, formulas.Spread(size / y.median * 1e9, size / y.high * 1e9, size / y.low * 1e9, y.n))
            for size, y in line.points
            if size > 0
        ),
        hollow=line.hollow,
    )


def _figure(sweep: str, benchmark: str, runs: Sequence[Run], panels: Panels) -> Figure:
    shown = dict(list(panels.items())[: facets.MOST_PANELS // 2])
    is_pingpong = benchmark == "PingPong"
    statistics = dict.fromkeys(of for lines in shown.values() for line in lines for of in line.statistics)
    whose = fmt.words(filter(None, (STATISTICS[of] for of in statistics)), "or")
    ranked = curve_rows.highlight(list(shown.values()), lambda c: c.points[0][1].median)
    drawn: list[Panel] = []
    for of, lines in zip(shown, ranked, strict=True):
        where = facets.facet_title(of, "imb")
        axis = "One-way time" if is_pingpong else f"Time{f', {whose}' if whose else ''}"
        drawn.append(_time_panel(lines, ranked, f"Time{', ' + where if where else ''}", axis))
        if is_pingpong and any(size > 0 for line in lines for size, _ in line.points):
            title = f"Bandwidth{', ' + where if where else ''}"
            drawn.append(_rate_panel(lines, ranked, title))
    told = _sound(panels)
    first = next(iter(told.values()), [])
    rest = wording.not_drawn(len(panels), len(shown))
    runs = list(dict.fromkeys(run for lines in shown.values() for line in lines for run in line.cell))
    if is_pingpong:
        titles = {findings.pingpong(_said(lines)) for lines in told.values()}
        peaks = [f"{fmt.quantity(c.offers.peak, 'B/s')} ({c.name})" for c in first if c.offers.peak]
        sub = (
            f"IMB PingPong, {wording.ran(runs, program_name)}; one-way time. "
            + (
                "Ring: n½, the size that reaches half of the peak. "
                if "rings" in wording.marks(drawn)
                else ""
            )
            + _cold(_named(panels)[: sum(map(len, shown.values()))])
            + (f"Peaks: {fmt.words(peaks)}." if peaks and len(told) == 1 else "")
        )
    else:
        titles = {f"{benchmark}: time by message size"}
        sub = f"IMB {benchmark}, {wording.ran(runs, program_name)}{f'; time: {whose}' if whose else ''}."
    return Figure(
        id=f"imb-{benchmark}-{sweep}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title=titles.pop() if len(titles) == 1 else findings.pingpong({}),
        sub=sub.strip()
        + _without_bytes(shown.values())
        + wording.repeats(drawn, runs, "Band")
        + wording.hollow(drawn, runs)
        + curve_rows.dimmed(ranked, "time")
        + rest
        + wording.of_texts(runs),
        panels=tuple(drawn),
        half=len(drawn) == 1,
        note=_fitted(first) if is_pingpong and len(told) == 1 else "",
        numbers=(*(_offers(panels) if is_pingpong else ()), _numbers(benchmark, panels)),
    )


def _cores_figure(sweep: str, panels: Panels) -> Figure | None:
    """Draw the latency of short messages between all pairs of CPUs, each way, of the first panel with two pairs at least; None where none
    has them."""
    for of, lines in _sound(panels).items():
        known: dict[tuple[int, int], formulas.Spread] = {}
        back: dict[tuple[int, int], formulas.Spread] = {}  # of a pair that was not measured that way round
        cells: list[Run] = []
        for line in lines:
            pair = _two_cpus(line.cell)
            if pair and line.latency:
                known[pair] = back[pair[::-1]] = line.latency[1]
                cells += line.cell
        turned = len(known) < len(known | back)
        known = back | known
        sizes = {line.latency[0] for line in lines if line.latency and _two_cpus(line.cell)}
        if len(known) > 2 and len(sizes) == 1:
            which = facets.facet_title(of, "imb") if len(panels) > 1 else ""
            sub = f"{wording.ran(cells, program_name)}; half a round trip{', the same both ways' if turned else ''}."
            return pairs_figure(
                f"imb-cores-{sweep}", sweep, cells, known, what=f"Latency of a message of {sizes.pop()}", title=f"{which}: a short message" if which else "A short message",
                sub=sub, ends=("from CPU", "to CPU"), metric="PingPong",
            )  # fmt: skip
    return None


def _two_cpus(cell: Sequence[Run]) -> tuple[int, int] | None:
    """Return the CPUs of the two ranks of a cell, where each has one."""
    placed = {tuple(group.cpus for group in run.placed) for run in cell}
    groups = placed.pop() if len(placed) == 1 else ()
    if len(groups) != 2 or any(len(cpus) != 1 for cpus in groups):
        return None
    return groups[0][0], groups[1][0]


def _said(lines: Sequence[Line]) -> dict[str, tuple[str, formulas.Spread, formulas.Spread | None]]:
    """Return what a sentence may speak of: name → the message that stands for the small ones, its time, the peak."""
    return {line.name: (*line.latency, line.most) for line in lines if line.latency}


def _drawn_times(lines: Sequence[Line]) -> list[float]:
    """Return all times (ns) that a panel of these lines draws."""
    drawn = [_positive(line) for line in lines] if _undrawn(lines) else lines
    return [v for line in drawn for _, y in line.points for v in (y.low, y.high)]


def _time_panel(lines: Sequence[Line], panels: Sequence[Sequence[Line]], title: str, axis: str) -> Panel:
    """panels: the lines of all panels of its figure, which share their y axis."""
    colours = curve_rows.colours(panels)
    positive = [_positive(line) for line in lines]
    zero = {} if _undrawn(lines) else dict(_empty(lines))
    sizes = [size for line in lines for size, _ in line.points if size or zero]
    everything = [v for own in panels for v in _drawn_times(own)]
    scale = fmt.scale_for(everything, "ns")
    y = axes.decades(
        [v / scale.factor for v in everything],
        f"{axis}, {scale.unit} (log scale)",
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
                positive, tested, scale.factor, lambda n, v: f"{fmt.size(n)} · {wording.exact(v, 'ns')}"
            ),
            "ranges": curve_rows.range_rows(positive, tested, scale.factor),
            "zero": _zero_rows(zero, plot, scale, positive),
            "slot": [{"text": "0"}] if zero else [],
            **(curve_rows.end_names(positive, plot, scale.factor) if _are_named(lines) else {}),
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
    described += _without_bytes([lines])
    return panel(title, f"Time by message size, both axes logarithmic. {described}".strip(), build)


_BARE = 16
"""The right margin (px) of a panel without names."""

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


def _without_bytes(panels: Iterable[Sequence[Curve]]) -> str:
    """Say " 0 B, not drawn: 0.11 to 0.48 µs." of the messages without bytes that are not."""
    found = sorted(y.median for lines in panels for y in _undrawn(lines))
    ends = list(
        dict.fromkeys(fmt.quantity(v, "ns", step=imb.PRINTED["time"]) for v in (*found[:1], *found[-1:]))
    )
    return f" 0 B, not drawn: {' to '.join(ends)}." if ends else ""


def _positive(line: Curve) -> Curve:
    return Curve(
        name=line.name, label=line.label, points=tuple(p for p in line.points if p[0] > 0), hollow=line.hollow
    )


def _zero_rows(zero: dict[str, formulas.Spread], plot: Plot, scale: fmt.Scale, lines: list[Curve]) -> Rows:
    """Dots in the slot. The value of the upper one stands above all ink near the slot, that of the lower one below it;
    values within 5 % of each other are written once, and none of what is hollow, if there is another."""
    if not zero:
        return []
    hollow = {line.name for line in lines if line.hollow}
    ranked = sorted(zero.items(), key=lambda z: z[1].median)
    told = [rank for rank, (name, _) in enumerate(ranked) if name not in hollow] or range(len(ranked))
    least, most = told[0], told[-1]
    low, high = (scale.number(ranked[rank][1].median, step=imb.PRINTED["time"]) for rank in (least, most))
    texts = {least: f"{low} {scale.unit}", most: f"{high} {scale.unit}"}
    if ranked[most][1].median < ranked[least][1].median * 1.05:
        texts = {least: f"{low if low == high else f'{low} to {high}'} {scale.unit}"}
    reach = max((label_placement.text_width(text, 11.5) for text in texts.values()), default=0) + 12
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
        below = rank == least
        edge = max([*beside, at]) + 17 if below else min([*beside, at]) - 9
        rows.append(
            {
                "series": name, "y": value.median / scale.factor, **({"hollow": True} if name in hollow else {}), "low": value.low / scale.factor,
                "high": value.high / scale.factor, "text": texts.get(rank, ""), "dx": -6,
                **({"pair": True} if value.n == 2 and value.high > value.low and name not in hollow else {}), "x_px": 12, "tip": f"0 B · {wording.exact(value, 'ns')}",
                "dy": round(min(edge, plot.frame.plot_height - 4) - at, 1),
            }
        )  # fmt: skip
    return rows


def _rate_panel(times: Sequence[Line], panels: Sequence[Sequence[Line]], title: str) -> Panel:
    """panels: the times of all panels of its figure, which share their y axis."""
    colours = curve_rows.colours(panels)
    lines = [rates(line) for line in times]
    everything = [v for own in panels for line in own for _, y in rates(line).points for v in (y.low, y.high)]
    scale = fmt.scale_to_largest(everything, "B/s")
    y = axes.decades(
        [v / scale.factor for v in everything], f"Bandwidth, {scale.unit} (log scale)", margin=1.4
    )
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
                lines, tested, scale.factor, lambda n, v: f"{fmt.size(n)} · {wording.exact(v, 'B/s')}"
            ),
            "ranges": curve_rows.range_rows(lines, tested, scale.factor),
            **(curve_rows.end_names(lines, plot, scale.factor) if _are_named(lines) else {}),
            "rings": [], "notes": [],
        }  # fmt: skip
        anchors: list[tuple[label_placement.Point, str]] = []
        where: Rows = []
        for line in [line for line in curve_rows.highlighted(drawn) if not line.hollow][:4]:
            half, peak = offers[line.name].half_size, offers[line.name].peak
            if half is not None and peak is not None:
                at = {"x": half, "y": peak / 2 / scale.factor}
                data["rings"].append({"series": line.name, **at})
                anchors.append((plot.at(half, at["y"]), f"n½ {fmt.size(half)}"))
                where.append({"series": line.name, **at})
        segments = curve_rows.segments(drawn, plot, scale.factor)
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


def _times(line: Curve) -> dict[int, float]:
    return {int(size): y.median for size, y in line.points}


def _cold(lines: Iterable[tuple[str, Line]]) -> str:
    """Say "0 B took 19.5 µs (near), longer than larger messages: a cold start, not quoted."; "" where none was. lines: as `_named`."""
    said = [
        f"{fmt.size(size)} took {fmt.quantity(y.median, 'ns', step=y.step)} ({name})"
        for name, line in lines
        for size, y in line.points
        if size in line.started
    ]
    return f"{fmt.words(said)}, longer than larger messages: a cold start, not quoted. " if said else ""


def _fitted(lines: Sequence[Line]) -> str:
    """Say "t = α + n ÷ B: same package 190 ns + n ÷ 3.90 GB/s to 32 KiB (off by up to 14 %), 3.60 µs + n ÷ 12.5 GB/s beyond (off by up
    to 7.2 %)" of lines that are quotable all along."""
    said = []
    for line in lines[:4]:
        found = formulas.fit(_times(line))
        quotable = found.quotable if found else ()
        if (
            not quotable
            or not all(map(_is_real, quotable))
            or quotable[-1].end != line.points[-1][0]
            or quotable[0].start != line.points[0][0]
        ):
            continue
        parts = [f"{fmt.quantity(b.alpha, 'ns')} + n ÷ {fmt.quantity(b.rate, 'B/s')}" for b in quotable]
        ends = [f" to {fmt.size(quotable[0].end)}", " beyond"] if len(quotable) == 2 else [""]
        off = [f" (off by up to {_worst(b)})" for b in quotable]
        said.append(f"{line.name} {', '.join(map(''.join, zip(parts, ends, off, strict=True)))}")
    return f"Fitted t = α + n ÷ B: {'; '.join(said)}." if said else ""


def _worst(branch: Branch) -> str:
    return f"{fmt.number(branch.worst * 100, 2, fmt.UP)} %"


def _is_real(branch: Branch) -> bool:
    return branch.alpha >= 0 and branch.rate is not None


def _offers(panels: Panels) -> tuple[Table, ...]:
    """Return what each curve offers, and the lines that were fitted to it: not to what was never quiet."""
    offers, fits, fitted = [], [], []
    for name, line in _named(panels):
        d = line.offers
        offers.append(
            (
                name, f"{fmt.quantity(d.zero, 'ns')}{', cold start' if line.started else ''}", fmt.quantity(d.small, "ns"), fmt.quantity(d.peak, "B/s"),
                line.peak_at, fmt.size(d.half_size), _switches(line),
            )
        )  # fmt: skip
        found = None if line.hollow else formulas.fit(_times(line))
        if found is None:
            continue
        for branch in (found.one, *(found.two or ())):
            word = (
                "one line" if branch is found.one else f"{fmt.size(branch.start)} to {fmt.size(branch.end)}"
            )
            fits.append(
                (
                    name, word, fmt.quantity(branch.alpha, "ns") if branch.alpha >= 0 else fmt.NOTHING,
                    fmt.quantity(branch.rate, "B/s") if branch.rate is not None else "not determined",
                    _worst(branch), "yes" if branch in found.quotable else "no",
                )
            )  # fmt: skip
            fitted.append(row_of(line.cell))
    both = (
        Table(
            caption="What each pair offers; peak and n½: of each run its own, of several the median",
            columns=("Pair", "0 B", "0 to 8 B", "Peak", "at", "n½", "Protocol changes at"),
            rows=tuple(offers),
            numeric=frozenset(range(1, 7)),
            of=tuple(row_of(line.cell) for _, line in _named(panels)),
            metrics={ROW: "PingPong"} | dict.fromkeys((1, 2), _TIME) | dict.fromkeys((3, 4, 5), _RATE),
        ),
        Table(
            caption="Fitted t = α + n ÷ B, through the medians of the repeats; quotable: no size is off by more than 15 %; two lines only where one is not",
            columns=("Pair", "Sizes", "α", "B", "Off by up to", "Quotable"),
            rows=tuple(fits),
            numeric=frozenset((2, 3, 4)),
            of=tuple(fitted),
            metrics={ROW: "PingPong"},
        ),
    )
    return tuple(table for table in both if table.rows)


def _switches(line: Line) -> str:
    """Return the sizes at which the protocol changes in all repeats; else whether they do not agree."""
    agreed, undecided = formulas.steady_switches(
        [{int(n): t for n, t in turn.items()} for turn in line.turns]
    )
    return ", ".join(map(fmt.size, agreed)) or ("not decided" if undecided else fmt.NOTHING)


def _named(panels: Panels) -> list[tuple[str, Line]]:
    """Return all curves, each with its name, and its panel's where there are several."""
    titles = {of: f", {facets.facet_title(of, 'imb')}" if len(panels) > 1 else "" for of in panels}
    return [(f"{line.name}{titles[of]}", line) for of, lines in panels.items() for line in lines]


_TIME, _RATE = "PingPong/time", "PingPong/bandwidth"
"""What doubts may be of, as in `numbers.imb`."""


def _numbers(benchmark: str, panels: Panels) -> Table:
    """Return the time of each size, and of PingPong the rate."""
    named, with_rates = _named(panels), benchmark == "PingPong"
    times = [y.median for _, line in named for size, y in line.points if size <= 65536]
    scale = fmt.scale_for(times, "ns")
    fast = fmt.scale_to_largest([v for _, line in named for v in rates(line).medians.values()], "B/s")
    sizes = sorted({size for _, line in named for size, _ in line.points})
    rows = []
    for size in sizes:
        row = [fmt.size(size)]
        found = [dict(line.points).get(size) for _, line in named]
        row += [wording.spread_text(y, scale, step=imb.PRINTED["time"]) if y else fmt.NOTHING for y in found]
        if with_rates:
            row += [fast.number(size / y.median * 1e9) if y and size else fmt.NOTHING for y in found]
        rows.append(tuple(row))
    columns = ["Message", *(f"{name}, {scale.unit}" for name, _ in named)]
    if with_rates:
        columns += [f"{name}, {fast.unit}" for name, _ in named]
    whose = dict(enumerate([line.cell for _, line in named] * (2 if with_rates else 1), start=1))
    metrics = [f"{benchmark}/{next(iter(line.statistics), 'time')}" for _, line in named] + [_RATE] * len(
        named
    )
    return Table(
        columns=tuple(columns), rows=tuple(rows), numeric=frozenset(range(len(columns))), of=(whose,) * len(rows),
        metrics={i: metric for i, metric in enumerate(metrics, start=1) if i in whose},
    )  # fmt: skip


def _key_numbers(panels: Panels) -> Iterable[KeyNumber]:
    """Give the latency of each pair, and beside it how much longer the farthest pair of its panel takes for the same message."""
    for of, lines in panels.items():
        known = [(line, said) for line in lines if (said := line.latency)]
        for near, (at, time) in known:
            cold = f" ({fmt.words(map(fmt.size, near.started))}: cold start)" if near.started else ""
            context = ", ".join(filter(None, [f"{at}{cold}", near.name, facets.facet_title(of, "imb")]))
            beside = [(line, said[1]) for line, said in known if said[0] == at]
            far, most = max(beside, key=lambda pair: pair[1].median)
            apart, alone = formulas.differs(time, most), context
            if apart:
                context += f"; {far.name} {fmt.number(most.median / time.median)} ×"
            number = wording.key_number("MPI, one way", time, "ns", context, 13, near.cell, metric=_TIME)
            yield replace(number, beside=far.cell if apart else (), alone=alone)


def _access_times(panels: Panels) -> list[AccessTime]:
    """Return the times of messages without bytes (after a cold start, of the smallest past it), of each pair in each panel."""
    return [
        AccessTime(
            name=f"MPI {line.latency[0]}, {name}", group="message passing", median=line.latency[1].median,
            run=line.cell[0], source=program_name(line.cell[0]), repeats=line.latency[1], metric=_TIME,
        )
        for name, line in _named(panels)
        if line.latency and (line.started or line.latency[0] == "0 B")
    ]  # fmt: skip
