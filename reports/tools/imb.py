"""Intel MPI Benchmarks: message time by size, PingPong bandwidth, collectives and pairs of cores."""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from parsers import imb
from parsers.measurement import Parsed, Scalar, whole
from reports.chart import Chart, Point, Title
from reports.checks import Fault, Level, check
from reports.checks._cells import command_text
from reports.document import Column, Quantity, Table
from reports.numbers import formulas
from reports.numbers.model import SIZE, Name, Number, Part
from reports.numbers.repeats import Repeats, cells
from reports.results.grouping import group_by
from reports.results.machines import source
from reports.results.model import Results, Run
from reports.text import format as fmt
from reports.tools.base import Key, Tool

if TYPE_CHECKING:
    import pandas as pd

FAMILY = (3, "Message passing (IMB)")

_ABOUT: Final = (
    "The time of PingPong is half a round trip, taken from the bandwidth next to it if that is printed with more digits. Bandwidth is bytes ÷ "
    "time. n½ is the size that reaches half of the peak, interpolated over the logarithm of the size. α and B are Hockney's "
    "t = α + n ÷ B, fitted to the medians with least squares of the relative residuals; two lines are fitted if one is off by more than 15 %."
)


# --- what a text has ------------------------------------------------------------------------------------


class Timing(NamedTuple):
    """One line of a table, with the printed columns. A printed 0.00 is unknown."""

    benchmark: str  # "PingPong", also for a table without a heading
    nprocs: int | None
    mode: str | None  # "AGGREGATE", "NON-AGGREGATE"
    group: int | None
    message_size: int | None  # B; None of Barrier
    repetitions: int | None
    time: float | None = None  # ns; half the round trip for PingPong; see `_recovered`
    time_step: float | None = None  # ns: the last known digit of `time`
    time_min: float | None = None  # ns: of the fastest process
    time_max: float | None = None  # ns: of the slowest process; IMB computes the bandwidth from this time
    time_avg: float | None = None  # ns: mean over the processes
    time_overlap: float | None = None  # ns: communication and computation together
    time_pure: float | None = None  # ns: communication alone
    time_cpu: float | None = None  # ns: computation alone
    overlap: float | None = None  # share of the communication
    bandwidth: float | None = None  # B/s, as printed: some benchmarks count the bytes 2 or 4 times
    mbytes_per_sec: float | None = None  # the same, if the size of a megabyte is unknown
    message_rate: float | None = None  # 1/s
    defects: float | None = None  # wrong results
    groups: int | None = None  # simultaneous groups of `nprocs` processes (-multi); None for one group


class Pin(NamedTuple):
    """The CPUs that one rank may use, as I_MPI_DEBUG prints them."""

    turn: int | None  # index of the run in an output with several runs, from 0
    host: str
    rank: int | None
    cpus: str  # "3", "0-7"


def timings(of: Run | Parsed) -> tuple[Timing, ...]:
    """Return the lines of a run's tables in the order of the output. A run without a number has no lines."""
    parsed = of if isinstance(of, Parsed) else of.parsed
    return parsed.once(_timings) if parsed else ()


def _timings(parsed: Parsed) -> tuple[Timing, ...]:
    return tuple(_lines_of(parsed))


def _lines_of(parsed: Parsed) -> Iterator[Timing]:
    """The lines of all tables, in the order of the text."""
    labels: Mapping[str, Scalar] = {}
    known = not parsed.has("from_table")  # number of digits that the program prints
    line: dict[str, float] = {}
    heads = parsed.tables["benchmarks"].records() if "benchmarks" in parsed.tables else ()
    groups = {whole(head.get("table")): whole(head.get("groups")) for head in heads}
    for row in parsed.measured():
        if line and (row.labels != labels or row.metric in line):
            yield _timing(labels, line, known, groups)
            line = {}
        labels, line[row.metric] = row.labels, row.value
    if line:
        yield _timing(labels, line, known, groups)


def pins(run: Run) -> Iterator[Pin]:
    """Return the printed pins of the ranks, for all runs of the output."""
    for row in run.parsed.tables["pins"].records() if run.parsed and "pins" in run.parsed.tables else ():
        yield Pin(whole(row.get("run")), str(row.get("host")), whole(row.get("rank")), str(row.get("cpus")))


def _timing(
    labels: Mapping[str, Scalar],
    line: Mapping[str, float],
    digits_known: bool,
    groups: Mapping[int | None, int | None],
) -> Timing:
    mode, size = labels.get("mode"), whole(labels.get("message_size"))
    time, step = line.get("time"), None
    if digits_known:
        time, step = _recovered(time, size, line.get("bandwidth"))
    return Timing(
        benchmark=str(labels.get("benchmark") or "PingPong"),
        nprocs=whole(labels.get("nprocs")),
        mode=None if mode is None else str(mode),
        group=whole(labels.get("group")),
        message_size=size,
        repetitions=whole(labels.get("repetitions")),
        groups=groups.get(whole(labels.get("table"))),
        **{**line, "time": time, "time_step": step},
    )


def _recovered(time: float | None, size: int | None, bandwidth: float | None) -> tuple[float | None, float | None]:
    """Return time and last digit (ns), computed from the bandwidth if the bandwidth has more digits.

    8 B in 0.19 µs at 42.11 MB/s took 190.0 ns. IMB computes the bandwidth before the time is rounded. The printed time
    is used if both values disagree by more than the last digit, because the bandwidth then counts bytes in another way.
    """
    if time is None:
        return None, None
    printed = imb.PRINTED["time"]
    unrounded = size / bandwidth * 1e9 if size and bandwidth else math.inf
    step = unrounded * imb.PRINTED["bandwidth"] / bandwidth if bandwidth else math.inf
    return (unrounded, step) if step < printed and abs(unrounded - time) <= printed / 2 + step else (time, printed)


# --- charts ------------------------------------------------------------------------------------------------


def _plain_times(rows: pd.DataFrame) -> pd.DataFrame:
    times: pd.DataFrame = rows[(rows["unit"] == "ns") & ~rows["derived"].astype(bool)]
    return times if "message_size" in times else times.assign(message_size=float("nan"))


def _times(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the times of messages with a size, PingPong first."""
    times: pd.DataFrame = _plain_times(rows).dropna(subset=["message_size"])
    return times.sort_values("kind", key=lambda kind: kind != "PingPong", kind="stable")


def _rates(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the bandwidths of PingPong, from bytes and time."""
    times = _times(rows)
    times = times[(times["kind"] == "PingPong") & (times["message_size"] > 0)]
    return times.assign(value=times["message_size"] / times["value"] * 1e9, unit="B/s")


def _without_size(rows: pd.DataFrame) -> pd.DataFrame:
    times = _plain_times(rows)
    without: pd.DataFrame = times[times["message_size"].isna()]
    return without


def _pairs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the time of the shortest message between two CPUs in both directions, for three pairs or more."""
    from parsers.frames import pd

    times = _times(rows)
    times = times[times["kind"] == "PingPong"]
    cpus = times["pus"].str.extract(r"^(\d+) \| (\d+)$").dropna().astype(int)
    times = times.loc[cpus.index].assign(source=cpus[0], target=cpus[1])
    pairs: pd.DataFrame = times[times["message_size"] == times["message_size"].min()]
    ways = {*zip(pairs["source"], pairs["target"], strict=True)}
    if len(ways) < 3:
        return rows[:0]
    back = pairs.rename(columns={"source": "target", "target": "source"})
    back = back[[pair not in ways for pair in zip(back["source"], back["target"], strict=True)]]
    return pd.concat([pairs, back], ignore_index=True)


def _lines(rows: pd.DataFrame) -> Iterator[tuple[dict[str, Any], dict[int, float]]]:
    """Yield labels and median times of each PingPong curve without flags: size (B) → ns."""
    keys = ["where", "place", "program", "cell"]
    usable = rows[(rows["flags"] == "") & (rows["kind"] == "PingPong")]
    for _, line in usable.groupby([*keys, "point_id"], sort=False, dropna=False):
        yield {key: line[key].iloc[0] for key in keys}, _medians(line)


def _medians(line: pd.DataFrame) -> dict[int, float]:
    """Return message size (B) → median of the repeats."""
    medians = line.groupby("message_size")["value"].median()
    return {int(size): float(value) for size, value in zip(medians.index.tolist(), medians.tolist(), strict=True)}


def _shortest(times: Mapping[int, float]) -> tuple[int, float] | None:
    """Return the size and the time (ns) of the empty message. After a cold start, return the smallest message up to
    8 B.
    """
    started = formulas.cold(times)
    size = min((n for n in times if n <= 8 and n not in started), default=None)
    return None if size is None else (size, times[size])


def _latency(rows: pd.DataFrame) -> Mapping[str, Any] | None:
    """Return the time of the shortest message, if there is one pair, or that of the nearest and the farthest pair."""
    shortest = [(str(key["place"]), short) for key, times in _lines(rows) if (short := _shortest(times))]
    if not shortest or rows["where"].nunique() > 1 or len({size for _, (size, _) in shortest}) > 1:
        return None
    near, far = (end(shortest, key=lambda item: item[1][1]) for end in (min, max))
    size = fmt.size(near[1][0])
    spread = f" ({near[0]}) to {fmt.quantity(far[1][1], 'ns')} ({far[0]})" if len(shortest) > 1 else ""
    return {"size": size, "time": Quantity(near[1][1], "ns"), "to": spread}


def _peak(rows: pd.DataFrame) -> Mapping[str, Any] | None:
    """Return the highest bandwidth of the fastest pair, if there is one machine."""
    curves = [rates for _, rates in _lines(rows)] if rows["where"].nunique() == 1 else []
    best = max(curves, key=lambda rates: max(rates.values()), default=None)
    if best is None:
        return None
    size = max(best, key=best.__getitem__)
    rising = ", still rising" if formulas.still_rises(best) else ""
    return {"peak": Quantity(best[size], "B/s"), "size": f"{fmt.size(size)}{rising}"}


def _half(rows: pd.DataFrame) -> list[Point]:
    """Return n½ of each line. A single line also has the size."""
    found = [(key["where"], formulas.half_size(rates), max(rates.values()) / 2) for key, rates in _lines(rows)]
    rings = [(where, size, rate) for where, size, rate in found if size is not None]
    return [
        Point(x=size, y=rate, label=f"n½ {fmt.size(size)}" if len(rings) == 1 else "n½", panel={"where": where})
        for where, size, rate in rings
    ]


def _fits(rows: pd.DataFrame) -> Table | None:
    """Return the derived numbers of each PingPong curve (latency, peak, n½) and the quotable lines."""
    out = []
    lines = [*_lines(rows)]
    pairs = {(key["place"], key["where"]) for key, _ in lines}
    labels = ("place", "where") if len(pairs) == len(lines) else ("cell", "where")
    for key, times in lines:
        curve, fit = formulas.pingpong(times), formulas.fit(times)
        for branch in (fit.quotable if fit else ()) or (None,):
            name = ", ".join(str(key[column]) for column in labels if key[column])
            sizes = f"{fmt.size(branch.start)} to {fmt.size(branch.end)}" if branch else None
            alpha = branch.alpha if branch and branch.alpha >= 0 else None
            out.append((name, curve.zero, curve.peak, curve.peak_size, curve.half_size, sizes, alpha, branch.rate if branch else None))  # fmt: skip
    columns = (
        Column(name="pair"), Column(name="zero", title="0 B", unit="ns"), Column(name="peak", unit="B/s"), Column(name="peak_size", title="at", unit="B"),
        Column(name="half_size", title="n½", unit="B"), Column(name="fitted"), Column(name="alpha", title="α", unit="ns"), Column(name="rate", title="B", unit="B/s"),
    )  # fmt: skip
    return Table(columns=columns, rows=tuple(out), id="fits") if out else None


_SIZES: Final[dict[str, Any]] = {
    "x": "message_size",
    "x_unit": "B",
    "log_x": True,
    "log_y": True,
    "color": "place",
    "x_title": "Message",
}

CHARTS: Final = (
    Chart(
        id="imb-time", title="Time by message size", rows=_times, panels=("kind", "where"), y_title="Time", about=_ABOUT,
        summary=_fits, titles=(Title(template="A message of {size} takes {time}{to}", values=_latency),), **_SIZES,
    ),
    Chart(
        id="imb-bandwidth", title="PingPong bandwidth by message size", rows=_rates, y_title="Bandwidth", rings=_half, about=_ABOUT,
        titles=(Title(template="PingPong reaches {peak} at {size}", values=_peak),), caption="A circle marks half of the peak.", **_SIZES,
    ),
    Chart(
        id="imb-rate", title="Bandwidth by message size", where={"metric": "bandwidth"}, panels=("kind", "where"), y_title="Bandwidth",
        about="As IMB prints it: some benchmarks count the bytes twice or four times.", **_SIZES,
    ),
    Chart(id="imb-calls", title="Time of calls without a message", kind="points", x="value", y="kind", rows=_without_size, x_title="Time"),
    Chart(
        id="imb-pairs", title="Time of a short message between CPUs", kind="heat", x="target", y="source", rows=_pairs, x_title="to CPU",
        y_title="from CPU", about=_ABOUT,
    ),
)  # fmt: skip


# --- numbers -----------------------------------------------------------------------------------------------

_FIRST: Final = ("time", "time_max", "bandwidth", "message_rate")
"""The metric of a line: the first available metric of this list, else the first with a direction. IMB computes the
bandwidth from `time_max`.
"""

_TWO: Final = (("nprocs", 2),)
"""What goes without saying of a benchmark between two processes."""

_RANKS: Final = {
    "time": "", "time_max": "slowest rank", "time_avg": "mean over the ranks", "time_min": "fastest rank",
    "time_overlap": "with computation", "time_pure": "communication alone",
}  # fmt: skip


def metric_of(row: Timing) -> str:
    """Return the metric of a line for the page, `show`, comparisons and exports. A line without a direction gives
    "".
    """
    pure = ("time_pure",) if row.overlap is None else ()  # if an overlap is printed, it is time_overlap
    directed = (n for n, metric in imb.METRICS.items() if metric.better != "neither")
    return next((n for n in (*_FIRST, *pure, *directed) if getattr(row, n) is not None), "")


def _part(row: Timing, *more: str) -> Part:
    return tuple((n, v) for n in ("nprocs", "mode", "group", *more) if (v := getattr(row, n)) is not None)


def _key(row: Timing) -> tuple[str, Part]:
    return row.benchmark, _part(row, "message_size")


def _by_size(rows: Iterable[Timing]) -> dict[int, float]:
    """Return message size (B) → time (ns)."""
    return {row.message_size: row.time for row in rows if row.time and row.message_size is not None}


def _derived(part: Part, curve: Sequence[Timing]) -> Iterator[Number]:
    """Yield α, peak and n½ of a PingPong curve as in `formulas`. α is for small messages, and is missing if that
    line is not quotable.
    """
    times = _by_size(curve)
    numbers, fit = formulas.pingpong(times), formulas.fit(times)
    start = next((b for b in fit.quotable if b.start == min(times)), None) if fit else None
    if start and start.alpha > 0:
        yield Number.derived("α", "ns", "lower", start.alpha, part, unsaid=_TWO, made_of="PingPong/time")
    if numbers.peak is not None:
        digit = next(row.time_step or 0.0 for row in curve if row.message_size == numbers.peak_size)
        step = numbers.peak * (digit / times[numbers.peak_size or 0])
        yield Number.derived("peak bandwidth", "B/s", "higher", numbers.peak, part, step, unsaid=_TWO, made_of="PingPong/bandwidth")  # fmt: skip
    if numbers.half_size is not None:  # no direction: smaller is better only at a constant peak
        yield Number.derived("n½", "B", "neither", numbers.half_size, part, unsaid=_TWO, made_of="PingPong/bandwidth")


def peak_at(curves: Iterable[formulas.MessageCurve]) -> str:
    """Return the size of the peak, such as "256 KiB".

    Repeats that differ give "256 KiB to 4 MiB by run". A curve that still rises gives "8 B, still rising".
    """
    known = list(curves)
    sizes = [curve.peak_size for curve in known if curve.peak_size is not None]
    by_run = " by run" if len({*sizes}) > 1 else ""
    rising = ", still rising" if known and all(curve.rises for curve in known) else ""
    return f"{fmt.ends(*(fmt.size(end(sizes, default=None)) for end in (min, max)))}{by_run}{rising}"


# --- checks ------------------------------------------------------------------------------------------------


class Known(NamedTuple):
    """The time of one message size in ns. PingPong gives half the round trip, other benchmarks give the slowest
    rank.
    """

    time: float  # median of a cell's runs
    step: float  # last digit: 10 for "0.19" µs, less if the bandwidth has more digits
    rate: float  # B/s: median over the runs, as drawn for PingPong; 0 for a table without bandwidth
    within: float  # ns: range of the runs' times

    @property
    def coarse(self) -> float:
        """The last digit as a share of the time."""
        return self.step / self.time

    @property
    def shows(self) -> bool:
        """Return whether the repeats differ by more than the last printed digit."""
        return self.within > self.step * (1 + 1e-9)


def pingpong(runs: Iterable[Run]) -> dict[int, Known]:
    """Return the PingPong times of a cell by message size, smallest first."""
    return _known(row for run in runs for row in timings(run) if row.benchmark == "PingPong")


def _known(rows: Iterable[Timing]) -> dict[int, Known]:
    """Return the known times of one benchmark by message size, smallest first."""
    lines = [
        (n, time, _step(row), n / time * 1e9 if row.benchmark == "PingPong" else row.bandwidth or 0.0)
        for row in rows
        if (time := row.time or row.time_max) and (n := row.message_size) is not None
    ]
    return {
        size: Known(
            statistics.median(time for _, time, *_ in same),
            max(step for _, _, step, _ in same),
            statistics.median(rate for *_, rate in same),
            max(time for _, time, *_ in same) - min(time for _, time, *_ in same),
        )
        for size, same in sorted(group_by(lines, lambda line: line[0]).items())
    }


def _step(row: Timing) -> float:
    """Return the last digit of a line's time in ns, or 0 if unknown."""
    return row.time_step or 0.0 if row.time else imb.PRINTED["time"]


_Table = tuple[str, int | None, str | None, int | None]
"""Key of a table in a run: benchmark, processes, mode, group."""


def _tables(runs: Iterable[Run]) -> dict[_Table, dict[int, Known]]:
    """Return the known times of each benchmark with sizes, by table and message size."""
    rows = (row for run in runs for row in timings(run))
    tables = group_by(rows, lambda row: (row.benchmark, row.nprocs, row.mode, row.group))
    return {key: known for key, lines in tables.items() if (known := _known(lines))}


@check("P1", "error", "warn")
def ranks_share_a_core(results: Results) -> Iterator[Fault]:
    """ranks on the same core, or free to move

    Two ranks share a CPU, or share one core as siblings without a request. The pins that Intel MPI prints (I_MPI_DEBUG)
    count, too. `hwloc-bind core:0 core:7` before a program binds every rank to both cores, which is an error. Output
    without pins is not judged.

    Do: give every rank a separate mask (`place:` does), and look at /proc/PID/status.
    """
    commands = _commands(results.good("imb"))
    for cell in cells(results, "imb"):
        runs = cell.runs
        run = runs[0]
        for match in {m[0]: m for m in map(_UNION.search, commands[run]) if m}.values():
            places = match[1].split()
            yield Fault(
                level="error", run=run,
                text=f"“{match[0]}” binds each rank to all of {fmt.words(places)}",
            )  # fmt: skip
        masks = [frozenset(group.cpus) for group in run.placed]
        if len(masks) > 1 and len(set().union(*masks)) < len(masks):
            yield Fault(level="error", run=run, text=f"{len(masks)} ranks on {len(set().union(*masks))} CPUs")
        machine = run.session.topology
        if machine is not None and len(masks) == 2 and run.relation != "smt siblings":
            cores = [{machine.core_of.get(cpu) for cpu in mask} for mask in masks]
            if all(len(core) == 1 for core in cores) and cores[0] == cores[1] and masks[0] != masks[1]:
                yield Fault(level="error", run=run, text="both ranks on the two PUs of one core")
        for (_, _, cpus), ranks in group_by(pins(run), lambda pin: (pin.turn, pin.host, pin.cpus)).items():
            if len(ranks) < 2:
                continue
            who = fmt.words(sorted(str(pin.rank) for pin in ranks))
            if cpus.isdigit():
                yield Fault(level="error", run=run, text=f"ranks {who} are pinned to one CPU, {cpus}")
            else:
                yield Fault(level="warn", run=run, text=f"ranks {who} may each run on all of CPUs {cpus}")
            break


_UNION = re.compile(r"hwloc-bind((?: +(?!--)[a-z]+:[\w.:-]+){2,})")
_LINE = re.compile(r"^\W*\d+[ \t]+\d+[ \t]+[\d.]+.*$|^.*\bhwloc-bind\b.*\bIMB-\w+.*$", re.MULTILINE)
"""A line of a table, or a command."""


def _commands(runs: Sequence[Run]) -> dict[Run, list[str]]:
    """Return the typed command of each run.

    The command of an output part may be at the end of the part before, with prose before the table. Such a command
    belongs to the next table.
    """
    commands = {run: [command_text(run)] for run in runs}
    for parts in group_by(
        (run for run in runs if run.captured), lambda r: (r.file, r.session.session, source(r))
    ).values():
        waiting: list[str] = []
        for run in sorted(parts, key=lambda r: r.record.run_id):
            for line in _LINE.findall(run.stdout):
                if "hwloc-bind" in line:
                    waiting.append(line)
                elif waiting:
                    commands[run] += waiting
                    waiting = []
    return commands


@check("P2", "error", "warn", "info", flags=("megabyte", "megabyte_unclear", "megabyte_contradicts"))
def unit_of_the_column(results: Results) -> Iterator[Fault]:
    """what a megabyte is in IMB's table

    IMB's Mbytes/sec are 2^20 bytes up to 2017 and 10^6 bytes since. Reports convert the column by bytes ÷ time of rows
    above 5 µs. A conversion in captured output is a remark. An unknown unit is a warning. A version that contradicts
    the rows is an error.

    Do: quote bandwidth in GB/s of 10^9 bytes, from bytes and time.
    """
    for cell in cells(results, "imb"):
        runs = cell.runs
        run = runs[0]
        if run.parsed is None:
            continue
        for flag in run.parsed.flags:
            if flag.id in ("megabyte_unclear", "megabyte_contradicts"):
                unclear = flag.id == "megabyte_unclear"
                units = {row.benchmark: "" for row in timings(run) if row.mbytes_per_sec is not None}
                for benchmark in units if unclear else ("",):
                    column = f"{benchmark}/mbytes_per_sec" if benchmark else ""
                    yield Fault(level="warn" if unclear else "error", run=run, text=flag.text, metric=column)
        top = max((row.bandwidth or 0.0 for row in timings(run) if row.message_size), default=0.0)
        if top and run.captured and run.parsed.facts.get("megabyte") == 2**20:
            yield Fault(
                level="info", run=run,
                text=f"the column’s {top / 2**20:.2f} “Mbytes/sec” are {fmt.quantity(top, 'B/s', 4)}, not {fmt.quantity(top / 2**20 * 1e6, 'B/s', 4)}",
            )  # fmt: skip


@check("P3", "warn", "info")
def resolution(results: Results) -> Iterator[Fault]:
    """times printed too coarsely, or from too few repetitions

    The last printed digit is more than 2 % of the time, so a change of 2 % is invisible. The digits of the bandwidth
    count, if they are finer. Sizes with fewer than 50 repetitions are listed, too. A single run is a warning. Repeats
    that differ by one digit at most are also a warning. Other repeats are a remark.

    Do: decide nothing from these sizes alone; repeat the run, raise -iter for the large ones.
    """
    for cell in cells(results, "imb"):
        runs = cell.runs
        once = len(runs) == 1
        known = {size: time for size, time in pingpong(runs).items() if time.coarse > _COARSE}
        for shown, group in group_by(known.items(), lambda item: item[1].shows).items():
            yield _coarse(runs, dict(group), shown=shown)
        evidence = "in a single run" if once else _shown_by(runs)
        for run in runs:
            parts = group_by(timings(run), lambda row: row.benchmark)
            for benchmark, few in _few_repetitions(parts):
                first = min(row.message_size or 0 for row in few)
                prefix = f"{benchmark}: " if len(parts) > 1 else ""
                own_choice = " (IMB's own choice)" if all(map(_is_own_choice, few)) else ""
                text = f"{prefix}{_repetitions(few)} from {fmt.size(first)} on{own_choice}, fewer than {_LEAST}, {evidence}"
                level: Level = "warn" if once and first <= 8 else "info"
                metric, *also = _doubted(benchmark, parts[benchmark], few)
                yield Fault(level=level, run=run, own=True, text=text, metric=metric, also=tuple(also))


def _coarse(runs: Sequence[Run], known: Mapping[int, Known], *, shown: bool) -> Fault:
    """Describe a coarse last digit of some PingPong sizes. `shown` is true if the repeats show the range of the
    times.
    """
    once = len(runs) == 1
    worst = max(known.values(), key=lambda time: time.coarse)
    by_repeats = _shown_by(runs) if shown else f"and {len(runs)} repeats differ by no more than that"
    text = (
        f"{fmt.quantity(worst.time, 'ns', step=worst.step)} in steps of {fmt.quantity(worst.step, 'ns', step=0.0)}: {fmt.number(worst.coarse * 100)} % "
        f"({'up to' if len(known) > 1 else 'at'} {fmt.size(max(known))}), more than {100 * _COARSE:g} %, {'in a single run' if once else by_repeats}"
    )
    metric, *also = [f"PingPong/{name}/{size}" for size in known for name in ("time", "bandwidth")[: 2 if size else 1]]
    level: Level = "info" if shown else "warn"
    return Fault(level=level, run=runs[0], own=once, text=text, metric=metric, also=tuple(also))


def _shown_by(runs: Sequence[Run]) -> str:
    return f"but {len(runs)} repeats show how far times are apart"


_COARSE, _LEAST = 0.02, 50
"""The last digit as a share of the time, at most, and how many repetitions are no longer few."""


def _is_own_choice(row: Timing) -> bool:
    """Return whether IMB chose the repetitions. Without -iter, IMB moves 40 MiB per size."""
    return bool(row.message_size) and row.repetitions == max(1, 40 * 2**20 // (row.message_size or 1))


def _repetitions(few: Sequence[Timing]) -> str:
    """Return "10 to 40 repetitions", "1 repetition"."""
    low, high = (end(row.repetitions or 0 for row in few) for end in (min, max))
    return f"{low} to {high} repetitions" if low < high else fmt.plural(low, "repetition")


def _few_repetitions(parts: Mapping[str, Sequence[Timing]]) -> Iterator[tuple[str, list[Timing]]]:
    """Give the benchmarks that have sizes behind which there are few repetitions, and the lines of these."""
    for benchmark, rows in parts.items():
        few = [row for row in rows if row.message_size is not None and 0 < (row.repetitions or _LEAST) < _LEAST]
        if few:
            yield benchmark, few


def _doubted(benchmark: str, rows: Sequence[Timing], some: Sequence[Timing]) -> list[str]:
    """Return the metrics (as `Name.tells_of`) of some lines of a benchmark, or the benchmark if all lines are
    flagged.
    """
    if len(some) == len(rows):
        return [benchmark]
    metrics = (
        f"{benchmark}/{name}/{row.message_size}"
        for row in some for name in imb.METRICS if getattr(row, name) is not None
    )  # fmt: skip
    return list(dict.fromkeys(metrics))


def denied(results: Results) -> Iterator[Fault]:
    """G10: wrong received data, if IMB was built with the data check."""
    for run in results.runs:
        wrong = sum(row.defects or 0 for row in timings(run)) if run.tool == "imb" and run.parsed else 0
        if wrong:
            yield Fault(
                level="error",
                run=run,
                own=True,
                text=f"{fmt.number(wrong)} defects: wrong data were received",
            )


@check("P4", "info")
def larger_is_quicker(results: Results) -> Iterator[Fault]:
    """more bytes in less time, or a bandwidth that falls past its peak

    A message takes less time than the next smaller message, by more than 5 % and by more than the last printed digit.
    Or the bandwidth at the largest size is more than 5 % below the peak. Each repeat and the medians must show the
    effect.

    Do: quote the peak with its size, not the last row; measure again where the time shrinks.
    """
    for cell in cells(results, "imb"):
        runs = cell.runs
        tables, each = _tables(runs), [_tables([run]) for run in runs]
        for key, known in tables.items():
            if text := "; ".join(_shrinks(known, [repeat.get(key, {}) for repeat in each])):
                named = _named(key, tables)
                yield Fault(level="info", run=runs[0], text=f"{named}{text}", metric=key[0])


def _named(table: _Table, of: Iterable[_Table]) -> str:
    """Return the differences between tables of a run, such as "Sendrecv, 2 ranks: ". A single table gives ""."""
    same = [key for key in of if key[0] == table[0]]
    words = (table[0], f"{table[1]} ranks", (table[2] or "").lower(), f"group {table[3]}")
    differences = [word for i, word in enumerate(words) if i and len({key[i] for key in same}) > 1]
    return f"{', '.join([table[0], *differences])}: " if any(key != table for key in of) else ""


_MOST_QUOTED = 3
"""Sizes of one table that take less than a smaller one."""


def _shrinks(known: Mapping[int, Known], each: Sequence[Mapping[int, Known]]) -> Iterator[str]:
    """Describe a time that shrinks and a bandwidth that falls past the peak. `known` combines all repeats, `each`
    has one entry per repeat.
    """
    of_all = (known, *each)
    pairs = [(a, b) for a, b in itertools.pairwise(known) if all(_quicker(one, a, b) for one in of_all)]
    said = [
        f"{fmt.size(b)} takes {fmt.quantity(known[b].time, 'ns')}, {fmt.size(a)} {fmt.quantity(known[a].time, 'ns')}"
        for a, b in pairs[:_MOST_QUOTED]
    ]
    if (left := len(pairs) - _MOST_QUOTED) > 0:
        said.append(
            f"{fmt.plural(left, 'more size')} {'takes' if left == 1 else 'take'} less than the next smaller one"
        )
    if said:  # with repeats, only the medians are named, because a table has medians
        every = "both" if len(each) == 2 else f"all {len(each)}"
        yield f"{'; '.join(said)}{f', less in {every} repeats' if len(each) > 1 else ''}"
    rates = {size: one.rate for size, one in known.items() if size and one.rate}
    if len(rates) > 3:
        peak, last = max(rates, key=lambda s: rates[s]), max(rates)
        highest = "the peak" if len(each) == 1 else "the highest median"  # each repeat has a separate peak
        if all(_falls(one, peak, last) for one in of_all):
            yield f"{fmt.quantity(rates[last], 'B/s')} at {fmt.size(last)}, {highest} is {fmt.quantity(rates[peak], 'B/s')} at {fmt.size(peak)}"


def _quicker(known: Mapping[int, Known], a: int, b: int) -> bool:
    """Return whether b takes less time than a, beyond the last digit. Sizes that a repeat lacks give False."""
    if a not in known or b not in known:
        return False
    more, less = known[a], known[b]
    return less.time < 0.95 * more.time and more.time - less.time > 1.5 * max(more.step, less.step)


def _falls(known: Mapping[int, Known], peak: int, last: int) -> bool:
    """Is the bandwidth at the last size more than 5 % below that of the peak?"""
    both = peak in known and last in known
    return both and known[last].rate < 0.95 * known[peak].rate


# --- the tool ---------------------------------------------------------------------------------------------


class Imb(Tool):
    """The time of each line, and for PingPong also α, peak and n½."""

    SECTION = "MPI"
    RANK = 20
    METHODS = _ABOUT
    CHARTS = CHARTS
    KEYS = (Key(name="MPI, one way", rank=13, context="{size}, {place}"),)
    DRAWN = ("PingPong time",)
    CUT = "the peak is that of the sizes that are left"
    FINER = frozenset({"PingPong"})  # P3 judges them, from 2 % on
    FAULTS = {"G10": denied}  # noqa: RUF012

    def numbers(self, run: Run) -> Iterator[Number]:
        """Give the time of each line, and the derived numbers of each PingPong curve."""
        lines = [same[0] for same in group_by(timings(run), _key).values()]
        for row in lines:
            if name := metric_of(row):
                metric, two = imb.METRICS[name], _TWO if row.benchmark.startswith("Ping") else ()
                yield Number(
                    name=Name(
                        metric=name, unit=metric.unit, better=metric.better, kind=row.benchmark, part=_part(row, "message_size"), unsaid=two,
                        made_of=f"{row.benchmark}/{name}",
                    ),
                    value=getattr(row, name),
                    step=row.time_step if name == "time" else imb.PRINTED.get(name),
                )  # fmt: skip
        for part, curve in group_by((row for row in lines if row.benchmark == "PingPong"), _part).items():
            yield from _derived(part, curve)

    def lead(self, cell: Repeats) -> Name | None:
        """Return the highest bandwidth of PingPong, else the number of the first line with bytes, past a cold start (`formulas.cold`)."""
        peak = next((name for name in cell.columns if name.metric == "peak bandwidth"), None)
        sized = [name for name in cell.columns if dict(name.part).get(SIZE)]
        first = next(iter(sized), next(iter(cell.columns), None))
        if peak or not sized or first is None or first.unit != "ns":
            return peak or first
        line = {int(size): name for size, name in cell.line(first).items() if size}
        cold = formulas.cold({size: cell.columns[name].median for size, name in line.items()})
        size = min((size for size in line if size not in cold), default=None) if cold else None
        return first if size is None else line[size]

    def headline(self, cell: Repeats) -> str:
        """Return "0 B in 190 ns, peak 11.9 GB/s (256 KiB)", without PingPong "Allreduce 4 B in 1.83 µs (slowest rank) and 22 more"."""
        name = cell.lead
        if name is None:
            return ""
        if name.metric == "peak bandwidth":
            time = next(n for n in cell.columns if n.kind == "PingPong" and n.metric == "time")
            columns = {int(size): cell.columns[name] for size, name in cell.line(time).items()}
            curves = [{size: column.values[i] for size, column in columns.items()} for i in range(len(cell.runs))]
            times = {size: column.median for size, column in columns.items()}
            short = _shortest(times) if 0 in times else None
            parts = [f"{fmt.size(short[0])} in {fmt.quantity(short[1], 'ns')}"] if short else []
            peak = fmt.quantity(cell.columns[name].median, "B/s")
            parts.append(f"peak {peak} ({peak_at(map(formulas.pingpong, curves))})")
            several = len({n.kind for n in cell.columns if not n.derived}) > 1
            return f"{'PingPong ' if several else ''}{', '.join(parts)}"
        size = dict(name.part).get(SIZE)
        at = f" {fmt.size(float(size))}" if isinstance(size, int | float) else ""
        ranks = f" ({_RANKS[name.metric]})" if _RANKS.get(name.metric) else ""
        lines = sum(not n.derived for n in cell.columns)
        more = f" and {lines - 1} more" if lines > 1 else ""
        value = fmt.quantity(cell.columns[name].median, name.unit)
        return f"{name.kind}{at} {'in' if name.unit == 'ns' else 'at'} {value}{ranks}{more}"

    def keys(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the time of the shortest message of each pair."""
        times = _times(rows)
        times = times[(times["kind"] == "PingPong") & (times["message_size"] <= 8)]
        if not len(times):
            return super().keys(times)
        shortest = {}
        for point, line in times.groupby("point_id", sort=False):
            short = _shortest(_medians(line))
            shortest[point] = short[0] if short else None
        times = times[times["message_size"] == times["point_id"].map(shortest)]
        return super().keys(times.assign(size=[fmt.size(size) for size in times["message_size"]]))

    def busy(self, run: Run) -> int:
        return len(run.placed) or 1  # ranks poll

    def shown_with(self, metric: str, run: Run) -> Iterator[str]:  # noqa: ARG002
        benchmark, _, size = metric.partition("/time/")
        if size and benchmark == "PingPong":
            yield f"{benchmark}/bandwidth/{size}"


TOOL = Imb()
