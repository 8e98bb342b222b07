"""Message passing: IMB PingPong time and bandwidth over message size; other benchmarks of the suite as times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from reports.charts import curve_rows, facets, wording
from reports.charts import titles as findings
from reports.charts._imb_curves import RATE, Line, Panels, curves, sound, with_names
from reports.charts._imb_panels import rate_panel, time_panel, without_bytes
from reports.charts._imb_tables import fitted, numbers_table, offers_tables, undrawn_tables
from reports.charts.chapter import AccessTime, Chapter
from reports.charts.core_pairs import pairs_figure
from reports.draw.figure import Figure, Panel, Runs
from reports.numbers import formulas
from reports.numbers.imb import STATISTICS
from reports.page.model import KeyNumber
from reports.readings.imb import timings
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.results.naming import program_name
from reports.text import format as fmt

SECTION = "MPI"
RANK = 20
METHODS_OF = "imb-PingPong-"
METHODS = (
    "PingPong: the time is half a round trip, taken from the bandwidth beside it where that is printed with more digits; "
    "bandwidth is bytes ÷ time, the small-message latency is the "
    "median over 0 to 8 B, in titles that of 0 B where it was measured; n½ is interpolated over the logarithm of the size between two measured ones, of a curve that does not still rise at its largest size "
    "by over 1.25 × in the last step. Fitted is "
    "Hockney’s t = α + n ÷ B by least squares of the relative residuals, on each side of the best break; a line "
    "is quotable where it is off by at most 15 % everywhere; B is not determined above twice the highest bandwidth measured. The protocol "
    "changes where a doubled message costs less than 1.25 × though the doubling before cost over 1.5 ×, and where one costs over 2 × and "
    "no less follows; in all repeats, and of one run where the two fitted lines break there and both are quotable. “Not decided”: in some "
    "only, or in one run alone."
)


def chapter(results: Results, tool: str = "imb") -> Chapter:
    """Draw one figure per sweep and benchmark: time, and for PingPong bandwidth, over message size, a line a place."""
    runs = results.shown(tool)
    figures: list[Figure] = []
    key_numbers: list[KeyNumber] = []
    times: list[AccessTime] = []
    for sweep, members in group_by(runs, lambda r: r.cell.sweep).items():
        lost = results.lost(tool, sweep)
        for benchmark, panels in curves(members).items():
            of = [run for run in members if any(row.benchmark == benchmark for row in timings(run))]
            without = [run for run in lost if run.options.get("benchmark", "PingPong") == benchmark]
            figures.append(_figure(sweep, benchmark, of, panels, without))
            if benchmark == "PingPong":
                if cores := _cores_figure(sweep, panels):
                    figures.append(cores)
                key_numbers += _key_numbers(sound(panels))
                times += _access_times(panels)
        figures += undrawn_tables(sweep, members)
    return Chapter(
        tool=tool,
        figures=tuple(figures),
        key_numbers=tuple(key_numbers),
        access_times=tuple(times),
        programs=wording.programs(runs),
    )


def _figure(sweep: str, benchmark: str, runs: Sequence[Run], panels: Panels, lost: Sequence[Run]) -> Figure:
    """lost: a failed run of each cell of the benchmark that never gave a number."""
    missing = facets.numberless(lost, runs, within=("benchmark",))
    shown = dict(list(panels.items())[: facets.MOST_PANELS // 2])
    is_pingpong = benchmark == "PingPong"
    statistics = dict.fromkeys(of for lines in shown.values() for line in lines for of in line.statistics)
    whose = fmt.words(filter(None, (STATISTICS[of] for of in statistics)), "or")
    ranked = curve_rows.highlight(list(shown.values()), lambda c: c.points[0][1].median)
    drawn: list[Panel] = []
    for of, lines in zip(shown, ranked, strict=True):
        where = facets.facet_title(of, "imb")
        axis = "One-way time" if is_pingpong else f"Time{f', {whose}' if whose else ''}"
        drawn.append(time_panel(lines, ranked, f"Time{', ' + where if where else ''}", axis))
        if is_pingpong and any(size > 0 for line in lines for size, _ in line.points):
            title = f"Bandwidth{', ' + where if where else ''}"
            drawn.append(rate_panel(lines, ranked, title))
    told = sound(panels)
    first = next(iter(told.values()), [])
    rest = wording.not_drawn(len(panels), len(shown))
    cold = _cold(with_names(panels)[: sum(map(len, shown.values()))])
    runs = list(dict.fromkeys(run for lines in shown.values() for line in lines for run in line.cell))
    if is_pingpong:
        said = [findings.crossing(_said(lines)) for lines in told.values()]
        titles = {one.text for one in said}
        told_of = tuple(
            of for lines, one in zip(told.values(), said, strict=True) for of in _told_of(lines, one)
        )
        peaks = [
            f"{fmt.quantity(c.offers.peak, 'B/s')} at {c.peak_at} ({c.name})" for c in first if c.offers.peak
        ]
        own = ", of each run its own, of several the median" if any(len(c.runs) > 1 for c in first) else ""
        sub = (
            f"IMB PingPong, {wording.ran(runs, program_name)}; one-way time. "
            + (
                "Ring: n½, the size that reaches half of the peak. "
                if "rings" in wording.marks(drawn)
                else ""
            )
            + cold
            + (f"Peaks{own}: {fmt.words(peaks)}." if peaks and len(told) == 1 else "")
        )
    else:
        titles, told_of = {f"{benchmark}: time by message size"}, ()
        sub = (
            f"IMB {benchmark}, {wording.ran(runs, program_name)}{f'; time: {whose}' if whose else ''}. {cold}"
        )
    return Figure(
        id=f"imb-{benchmark}-{sweep}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title=titles.pop() if len(titles) == 1 else findings.pingpong({}),
        sub=sub.strip()
        + without_bytes(shown.values())
        + wording.repeats(drawn, runs)
        + wording.hollow(drawn, runs)
        + curve_rows.dimmed(ranked, "time")
        + rest
        + missing
        + wording.of_texts(runs),
        panels=tuple(drawn),
        half=len(drawn) == 1,
        note=fitted(first) if is_pingpong and len(told) == 1 else "",
        numbers=(*(offers_tables(panels) if is_pingpong else ()), numbers_table(benchmark, panels)),
        told_of=told_of,
    )


def _told_of(lines: Iterable[Line], said: findings.Told) -> Iterator[tuple[Runs, str]]:
    """Give whose numbers a title tells, and which."""
    for line in lines:
        if line.latency and line.name in said.of:
            yield line.cell, line.latency.metric
            if said.peaks:
                yield line.cell, RATE


def _cores_figure(sweep: str, panels: Panels) -> Figure | None:
    """Draw the latency of short messages between all pairs of CPUs, each way, of the first panel with two pairs at least; None where none
    has them."""
    for of, lines in sound(panels).items():
        known: dict[tuple[int, int], formulas.Spread] = {}
        back: dict[tuple[int, int], formulas.Spread] = {}  # of a pair that was not measured that way round
        cells: list[Run] = []
        for line in lines:
            pair = _two_cpus(line.cell)
            if pair and line.latency:
                known[pair] = back[pair[::-1]] = line.latency.time
                cells += line.cell
        turned = len(known) < len(known | back)
        known = back | known
        sizes = {
            (short.at, short.metric) for line in lines if (short := line.latency) and _two_cpus(line.cell)
        }
        if len(known) > 2 and len(sizes) == 1:
            size, metric = sizes.pop()
            which = facets.facet_title(of, "imb") if len(panels) > 1 else ""
            sub = f"{wording.ran(cells, program_name)}; half a round trip{', the same both ways' if turned else ''}."
            return pairs_figure(
                f"imb-cores-{sweep}", sweep, cells, known, what=f"Latency of a message of {size}", title=f"{which}: a short message" if which else "A short message",
                sub=sub, ends=("from CPU", "to CPU"), metric=metric,
            )  # fmt: skip
    return None


def _two_cpus(cell: Sequence[Run]) -> tuple[int, int] | None:
    """Return the CPUs of the two ranks of a cell, where each has one."""
    placed = {tuple(group.cpus for group in run.placed) for run in cell}
    groups = placed.pop() if len(placed) == 1 else ()
    if len(groups) != 2 or any(len(cpus) != 1 for cpus in groups):
        return None
    return groups[0][0], groups[1][0]


def _said(lines: Sequence[Line]) -> dict[str, findings.Messages]:
    """Return what a sentence may speak of, by the names of the lines."""
    return {
        line.name: findings.Messages(short.at, short.time, line.most, line.peak_at, line.last)
        for line in lines
        if (short := line.latency)
    }


def _cold(lines: Iterable[tuple[str, Line]]) -> str:
    """Say "0 B took 19.5 µs (near), longer than larger messages: not quoted."; "" where none was. lines: as `with_names`."""
    said = [
        f"{fmt.size(size)} took {fmt.quantity(y.median, 'ns', step=y.step)} ({name})"
        for name, line in lines
        for size, y in line.points
        if size in line.cold
    ]
    return f"{fmt.words(said)}, longer than larger messages: not quoted. " if said else ""


def _key_numbers(panels: Panels) -> Iterable[KeyNumber]:
    """Give the latency of each pair, and beside it how much longer the farthest pair of its panel takes for the same message."""
    for of, lines in panels.items():
        known = [(line, said) for line in lines if (said := line.latency)]
        for near, (at, time, metric) in known:
            context = ", ".join(filter(None, [at, near.name, facets.facet_title(of, "imb")]))
            beside = [(line, said.time) for line, said in known if said.at == at]
            far, most = max(beside, key=lambda pair: pair[1].median)
            apart, alone = formulas.differs(time, most), context
            if apart:
                context += f"; {far.name} {fmt.number(most.median / time.median)} ×"
            number = wording.key_number("MPI, one way", time, "ns", context, 13, near.cell, metric=metric)
            yield replace(number, beside=far.cell if apart else (), alone=alone)


def _access_times(panels: Panels) -> list[AccessTime]:
    """Return the times of messages without bytes (after a cold start, of the smallest past it), of each pair in each panel."""
    return [
        AccessTime(
            name=f"MPI {short.at}, {name}", group="message passing", drawn=True, median=short.time.median,
            run=line.cell[0], source=program_name(line.cell[0]), repeats=short.time, metric=short.metric,
        )
        for name, line in with_names(panels)
        if (short := line.latency) and (line.started or short.at == "0 B")
    ]  # fmt: skip
