"""STREAM or the built-in kernel: memory bandwidth by thread count."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from orchestrator.placement.place import resolve
from orchestrator.placement.selectors import Unplaceable
from orchestrator.tools.stream import last_level_bytes
from parsers import stream
from parsers.errors import PinsweepError
from parsers.measurement import Parsed, number, whole
from reports.chart import Chart, Point, Rule, Title
from reports.checks import Fault, Level, check
from reports.checks._cells import by_cell, command_text, from_table, siblings, siblings_key, sweeps
from reports.document import Quantity
from reports.numbers import formulas
from reports.numbers.model import Name, Number, Part
from reports.numbers.possible import module_peak
from reports.numbers.repeats import Repeats, cells
from reports.results.convicted import CellKey
from reports.results.grouping import group_by
from reports.results.machines import machine_key
from reports.results.model import Results, Run
from reports.text import format as fmt
from reports.tools.base import Key, Tool

if TYPE_CHECKING:
    import pandas as pd

FAMILY = (2, "Memory bandwidth (STREAM)")

_ABOUT: Final = (
    "The rate counts the bytes that the source asks for, the best of a run. If stores fetch a line before they write it, memory moves 4/3 of "
    "add and triad, 3/2 of copy and scale. Full: the first thread count with 95 % of the maximum, if all repeats agree."
)


class Rate(NamedTuple):
    """One line of STREAM's table."""

    turn: int | None  # index of the run in an output with several runs, from 1
    kernel: str  # "copy", "scale", "add", "triad"
    bandwidth: float  # B/s, the best of the run's repetitions


def rates(of: Run | Parsed) -> tuple[Rate, ...]:
    """Return the rows of a run, or an empty list for a run without a number."""
    parsed = of if isinstance(of, Parsed) else of.parsed
    return parsed.once(_rates) if parsed else ()


def _rates(parsed: Parsed) -> tuple[Rate, ...]:
    """The best rate of each kernel, in the order of the text."""
    rows = (row for row in parsed.measured() if row.metric == "bandwidth" and row.get("kernel"))
    return tuple(Rate(whole(row.get("run")), str(row.get("kernel")), row.value) for row in rows)


def _with_threads(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the number of threads that ran, or NaN if unknown."""
    from parsers.frames import pd

    return rows.assign(threads=pd.to_numeric(rows["thread_count"], errors="coerce"))


def _over_threads(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the triad, or of the last measured kernel, for sweeps over threads."""
    rows = _with_threads(rows)
    kernel = next((k for k in reversed(stream.KERNELS) if (rows["kernel"] == k).any()), "")
    return rows[rows["kernel"] == kernel] if rows["threads"].nunique() > 1 else rows[:0]


def _over_sizes(rows: pd.DataFrame) -> pd.DataFrame:
    sizes = "array_size" in rows and rows["array_size"].nunique() > 2
    return rows[rows["kernel"] == "triad"] if sizes and _with_threads(rows)["threads"].nunique() < 2 else rows[:0]


def _by_kernel(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of other sweeps, with a row of dots per kernel."""
    return rows if _over_threads(rows).empty and _over_sizes(rows).empty else rows[:0]


def _lines(rows: pd.DataFrame) -> Iterator[tuple[str, list[dict[int, float]]]]:
    """Yield host and curves (threads → rate, per repeat) for each place on each machine."""
    usable = rows[rows["flags"] == ""]
    for _, line in usable.groupby(["where", "place", "program"], sort=False):
        repeats = (repeat for _, repeat in line.groupby("repeat"))
        yield (
            str(line["where"].iloc[0]),
            [dict(zip(curve["threads"].astype(int), curve["value"], strict=True)) for curve in repeats],
        )


def _full(repeats: Sequence[Mapping[int, float]]) -> tuple[int, float] | None:
    """Return the threads with 95 % of the maximum and the median rate there, or None if the repeats disagree."""
    counts = formulas.saturations(list(repeats)) if len(repeats[0]) > 2 else []
    if len(set(counts)) != 1:
        return None
    return counts[0], statistics.median(repeat[counts[0]] for repeat in repeats if counts[0] in repeat)


def _saturation(rows: pd.DataFrame) -> Mapping[str, Any] | None:
    """Return where the highest line is full, if there is one machine."""
    lines = [repeats for _, repeats in _lines(rows)] if rows["where"].nunique() == 1 else []
    highest = max(lines, key=lambda repeats: max(max(repeat.values()) for repeat in repeats), default=None)
    full = _full(highest) if highest else None
    return {"threads": fmt.plural(full[0], "thread"), "rate": Quantity(full[1], "B/s")} if full else None


def _most(rows: pd.DataFrame) -> Mapping[str, Any] | None:
    """Return the highest median of the triad, else of the last kernel that was measured, if there is one machine."""
    if rows["where"].nunique() > 1:
        return None
    rows = rows[rows["kernel"] == next(k for k in reversed(stream.KERNELS) if (rows["kernel"] == k).any())]
    medians = rows.groupby(["kernel", "thread_count"], sort=False)["value"].median().reset_index()
    most = medians.iloc[int(medians["value"].argmax())]
    count = f" with {fmt.plural(int(most['thread_count']), 'thread')}" if most["thread_count"] else ""
    kernel = str(most["kernel"]).capitalize()
    return {"kernel": kernel, "rate": Quantity(float(most["value"]), "B/s"), "threads": count}


def _rings(rows: pd.DataFrame) -> list[Point]:
    full = [(where, _full(repeats)) for where, repeats in _lines(rows)]
    return [Point(x=at[0], y=at[1], label=f"95 % at {at[0]}", panel={"where": where}) for where, at in full if at]


def _peak(rows: pd.DataFrame) -> list[Rule]:
    """Return the peak rate of the memory modules, if there is a single value that fits the axis."""
    peaks = rows["memory_peak"].dropna().unique()
    near = len(peaks) == 1 and peaks[0] < 2 * rows["value"].max()
    return [Rule(label=f"memory modules: {fmt.quantity(peaks[0], 'B/s')}", y=float(peaks[0]))] if near else []


_REACHES: Final = Title(template="{kernel} reaches {rate}{threads}", values=_most)

CHARTS: Final = (
    Chart(
        id="scaling", title="Triad bandwidth by threads", x="threads", rows=_over_threads, color="place", x_title="threads",
        y_title="Bandwidth", titles=(Title(template="Triad is full at {threads}: {rate}", values=_saturation), _REACHES),
        rings=_rings, rules=_peak, about=_ABOUT,
    ),
    Chart(
        id="sizes", title="Triad bandwidth by array size", x="array_size", rows=_over_sizes, color="place", log_x=True,
        x_title="elements of an array", y_title="Bandwidth", about=_ABOUT,
    ),
    Chart(
        id="kernels", title="Bandwidth by kernel", kind="points", x="value", y="kernel", rows=_by_kernel, x_title="Bandwidth",
        titles=(_REACHES,), about=_ABOUT,
    ),
)  # fmt: skip


def _by_part(curve: Mapping[int, Sequence[Number]], quantity: str) -> dict[Part, dict[int, Number]]:
    """Return part → axis value → number, for parts with three values or more.

    `curve` maps an axis value to the numbers of the run there.
    """
    numbers_by_part: dict[Part, dict[int, Number]] = {}
    for at, row in sorted(curve.items()):
        for rate in row:
            if rate.name.quantity == quantity:
                numbers_by_part.setdefault(rate.name.part, {})[at] = rate
    return {part: line for part, line in numbers_by_part.items() if len(line) >= 3}


# --- checks ------------------------------------------------------------------------------------------------


def array_bytes(run: Run) -> float | None:
    """Return the size of one array in bytes, or None if the output does not show the size."""
    facts = run.parsed.facts if run.parsed else {}
    elements, width = (
        number(v) if isinstance(v := facts.get(name), int | float) else None
        for name in ("array_size", "bytes_per_element")
    )
    return elements * (width or 8) if elements else None


def cache_bytes(run: Run) -> int:
    """Return the size of the last-level caches of the packages that a run used, in bytes.

    An unplaced run uses all packages. An unknown machine gives 0.
    """
    machine = run.session.topology
    if machine is None:
        return 0
    cpus = tuple(cpu for group in run.placed for cpu in group.cpus)
    return last_level_bytes(machine, cpus or tuple(p.os_index for p in machine.pus))


def all_in_caches(run: Run) -> bool:
    """Return whether the three arrays fit in the caches together. Unknown sizes give False."""
    size = array_bytes(run)
    return size is not None and 3 * size <= cache_bytes(run)


def below_rule(run: Run) -> bool:
    """Return whether the arrays break STREAM's rule of 4 × the caches per array. Unknown sizes give False."""
    size = array_bytes(run)
    return size is not None and size < 4 * cache_bytes(run)


BYTES: Final = {"copy": 16, "scale": 16, "add": 24, "triad": 24}
"""Bytes per element of 8 B in each kernel: two or three arrays."""

_LEAST_ELEMENTS: Final = 1_000_000
"""STREAM's run rules: "4 x the size of the sum of all the last-level caches used in the run, or 1 million elements, whichever is larger"."""

_BINDS: Final = re.compile(
    r"OMP_PROC_BIND|OMP_PLACES|KMP_AFFINITY|GOMP_CPU_AFFINITY|--physcpubind|-C ?\d|taskset|likwid-pin"
)


def _facts(run: Run, *names: str) -> list[float | None]:
    facts = run.parsed.facts if run.parsed else {}
    return [number(v) if isinstance(v := facts.get(name), int | float) else None for name in names]


def _rate(of: Run | Parsed, kernel: str = "triad") -> float | None:
    return next((row.bandwidth for row in rates(of) if row.kernel == kernel), None)


@check("S1", "error", "warn", "info", flags=("clock_ticks_low",))
def array_too_small(results: Results) -> Iterator[Fault]:
    """arrays smaller than STREAM's rules ask for, or a clock too coarse for them

    STREAM requires arrays of at least 4 × the last-level caches in use and a million elements, and loops of at least 20
    ticks of the clock. Arrays that fit in the caches are an error. Larger arrays that break the rule are a warning. If
    the array size is an axis of the sweep, arrays that fit are a warning, and other arrays are a remark. A table
    without a size is a remark.

    Do: enlarge the arrays (`array_size: 4 x LLC`; for the original, recompile with -DSTREAM_ARRAY_SIZE).
    """
    unknown = [run for run in results.good("stream") if from_table(run) and "array_size" not in run.options]
    if unknown:
        yield Fault(
            level="info",
            run=unknown[0],
            cell=fmt.plural(len(by_cell(unknown)), "cell"),
            runs=tuple(unknown),
            text="the table gives no size of the arrays",
        )
    largest = _largest_swept(results)
    for cell in cells(results, "stream"):
        runs = cell.runs
        run, swept = runs[0], sweeps(runs[0], "array_size")
        size, machine = array_bytes(run), run.session.topology
        most = largest.get((run.file, run.cell.sweep), 0.0)
        if size and below_rule(run):
            caches = cache_bytes(run)
            text = f"arrays of {fmt.size(size)}, last-level caches of {fmt.size(caches)}: the rule is 4 ×, {fmt.size(4 * caches)}"
            todo = _todo(fmt.size(4 * caches), reached=most >= 4 * caches) if swept else ""
            yield Fault(level=_level(run, swept=swept), run=run, todo=todo, text=text)
        elements, width = _facts(run, "array_size", "bytes_per_element")
        if size and machine is None and elements and elements < _LEAST_ELEMENTS:
            todo = _todo("a million elements", reached=most >= _LEAST_ELEMENTS * (width or 8)) if swept else ""
            text = f"arrays of {fmt.count(int(elements))} elements, the rule is a million"
            yield Fault(level="info" if swept else "warn", run=run, todo=todo, text=text)
        ticks = [t for r in runs for t in _facts(r, "clock_ticks") if t is not None]
        if ticks and min(ticks) < 20:
            todo = "quote no rate of these sizes: the clock is too coarse for their loops." if swept else ""
            text = f"{fmt.plural(int(min(ticks)), 'tick')} of the clock per loop, the rule is 20"
            yield Fault(level="error", run=run, text=text, todo=todo)


def _level(run: Run, *, swept: bool) -> Level:
    if swept:
        return "warn" if all_in_caches(run) else "info"
    return "error" if (array_bytes(run) or 0.0) <= cache_bytes(run) else "warn"


def _largest_swept(results: Results) -> dict[CellKey, float]:
    """Return (file, sweep) → the largest array (bytes), for sweeps over sizes. Disturbed runs count."""
    swept = [run for run in results.runs if run.tool == "stream" and sweeps(run, "array_size")]
    grouped = group_by(swept, lambda run: (run.file, run.cell.sweep))
    return {key: max(array_bytes(run) or 0.0 for run in runs) for key, runs in grouped.items()}


def _todo(least: str, *, reached: bool) -> str:
    """Return what to do about sizes that the sweep chose."""
    return f"quote rates of arrays of {least} or more as memory's." if reached else f"quote none of these rates as memory's: the rule is {least} per array."  # fmt: skip


@check("S2", "error")
def faster_than_memory(results: Results) -> Iterator[Fault]:
    """faster than the memory can be

    The rate is above the peak of the memory modules (MT/s · 8 B each, DDR DIMMs alone). Or the rate is above 1.05 × the
    median of cells with the same threads and place and larger arrays. In both cases, the arrays were in the caches.
    Sweeps over the array size are left out.

    Do: enlarge the arrays and measure again.
    """
    for run in results.good("stream"):
        peak = module_peak(run)
        most = max((row.bandwidth for row in rates(run) if row.kernel in BYTES), default=0.0)
        if peak and most > peak and not sweeps(run, "array_size"):
            quoted = ((most, "B/s"), (peak, "B/s"))
            yield Fault(level="error", run=run, own=True, text="{}, the modules can move {}", quoted=quoted)
    known = [r for r in results.good("stream") if array_bytes(r) and not sweeps(r, "array_size")]
    for group in siblings(known, lambda r: siblings_key(r, ("array_size", "ntimes"))):
        by_size = group_by(group, lambda r: array_bytes(r) or 0.0)
        for size, same_size in by_size.items():
            larger = [rate for s, rs in by_size.items() if s > size for run in rs if (rate := _rate(run))]
            for runs in by_cell(same_size).values():
                size_rates = [rate for run in runs if (rate := _rate(run))]
                if size_rates and larger and statistics.median(size_rates) > 1.05 * statistics.median(larger):
                    rate_text, larger_text = (
                        fmt.quantity(statistics.median(values), "B/s") for values in (size_rates, larger)
                    )
                    text = f"{rate_text} with arrays of {fmt.size(size)}, {larger_text} with larger ones"
                    yield Fault(level="error", run=runs[0], text=text)


@check("S3", "error", "warn", flags=("threads_differ",))
def threads_without_a_core(results: Results) -> Iterator[Fault]:
    """threads that share a core, or are not those that were requested

    A run is flagged if the threads outnumber the CPUs of the place. A run is also flagged if the threads outnumber the
    used cores although the place has more cores, or if the thread count differs from the requested count. A captured
    command that sets OMP_NUM_THREADS and binds no thread is a warning, because the threads move.

    Do: give every thread a separate core, and bind the threads.
    """
    unbound = []
    for cell in cells(results, "stream"):
        runs = cell.runs
        run = runs[0]
        counted, requested = _facts(run, "threads", "threads_requested")
        option = whole(run.options.get("threads"))
        cpus = [cpu for group in run.placed for cpu in group.cpus]
        threads = counted or option
        texts = []
        if run.parsed and run.parsed.has("threads_differ"):
            texts.append(f"{requested or 0:g} threads requested, {counted or 0:g} counted")
        elif counted and option and counted != option:
            texts.append(f"{option} threads requested, {counted:g} counted")
        if threads and cpus and threads > len(cpus):
            texts.append(f"{threads:g} threads on {fmt.plural(len(cpus), 'CPU')}")
        elif threads and cpus and (cores := _cores_left(run, cpus, int(threads))):
            texts.append(f"{threads:g} threads on {fmt.plural(cores[0], 'core')} of {cores[1]}")
        for text in texts:
            yield Fault(level="error", run=run, text=text)
        command = command_text(run)
        if run.captured and "OMP_NUM_THREADS" in command and not _BINDS.search(command):
            unbound.append(run)
    for members in group_by(unbound, lambda r: (r.file, command_text(r))).values():
        cell_words = fmt.plural(len(members), "cell") if len(members) > 1 else ""
        text = "the command sets OMP_NUM_THREADS and binds no thread"
        yield Fault(level="warn", run=members[0], cell=cell_words, runs=tuple(members), text=text)


def _cores_left(run: Run, cpus: Sequence[int], threads: int) -> tuple[int, int] | None:
    """Return the number of used cores and of cores of the place, if only the place has enough cores for all threads."""
    machine = run.session.topology
    if machine is None or run.relation == "smt siblings":
        return None
    place = machine.allowed_cpus
    if run.cell.place is not None:
        try:
            placements = resolve(run.cell.place, machine, threads=None, processes=1)
        except (PinsweepError, Unplaceable):
            return None
        place = frozenset(cpu for placement in placements for group in placement.groups for cpu in group.cpus)
    used, cores = ({machine.core_of.get(cpu) for cpu in cpu_set} for cpu_set in (cpus, place))
    return (len(used), len(cores)) if len(used) < threads <= len(cores) else None


@check("S4", "info")
def nominal_distances(results: Results) -> Iterator[Fault]:
    """the firmware's distances are not those of the memory

    The ratio of local to remote bandwidth is compared with the ratio of the distances in the firmware's table (SLIT, 11
    ÷ 10 is 10 %). The bandwidths are medians of STREAM at each number of threads. If the ratios differ by more than 10
    %, the table is nominal.

    Do: do not compute with the distances that `numactl --hardware` prints; measure.
    """
    placed = [r for r in results.good("stream") if r.relation in ("local", "remote") and _rate(r)]
    ratios = []
    for same in siblings(placed, lambda r: (machine_key(r), r.cell.sweep, *siblings_key(r, ())[4:])):
        both = group_by(same, lambda r: r.relation)
        slit = _slit(both["remote"][0], results) if len(both) == 2 else None
        if slit is None:
            continue
        local, remote = (statistics.median(_rate(r) or 0.0 for r in both[w]) for w in ("local", "remote"))
        text = f"local is {fmt.number(local / remote)} × remote ({both['remote'][0].cell.describe()}), the table has {fmt.number(slit)}"
        ratios.append((abs(local / remote / slit - 1), both["remote"][0], text))
    for group in group_by(ratios, lambda f: (f[1].file, f[1].cell.sweep)).values():
        off, run, text = max(group, key=lambda f: f[0])
        if off > 0.10:
            yield Fault(level="info", run=run, text=text)


def _slit(run: Run, results: Results) -> float | None:
    """Return the distance of the run's memory ÷ the local distance, or None if unknown. Unknown nodes give the
    smallest distances.
    """
    machine = run.session.topology
    if machine is not None and machine.distances and (placed := run.placed):
        nodes = {machine.node_of.get(cpu) for group in placed for cpu in group.cpus}
        bound = {node for group in placed for node in group.membind}
        known = [(machine.distance(a, a), machine.distance(a, b)) for a in nodes if a is not None for b in bound]
        ratios = [far / near for near, far in known if near and far]
        if ratios and len(ratios) == len(known):
            return min(ratios)
    pairs: list[tuple[int, int, float]] = []
    if machine is not None and machine.distances:
        pairs = [(a, b, float(d)) for (a, b), d in machine.distances.items()]
    else:  # captured distances may be in another session of the same result file
        sessions = [m.session for m in results.machines if m.file == run.file] if run.captured else []
        tables = (s.facts.get("numa_distances") for s in (run.session, *sessions))
        pairs = [(int(a), int(b), float(d)) for a, b, d in next(filter(None, tables), ())]
    near, far = ([d for a, b, d in pairs if (a == b) == same and d] for same in (True, False))
    return min(far) / min(near) if near and far else None


def _curve_key(run: Run) -> tuple[object, ...]:
    """Return a key that the runs of one curve over threads share."""
    return run.file, run.host, *siblings_key(run, ("threads", "source"))[1:]


def too_good_a_speedup(results: Results) -> Iterator[Fault]:
    """G5: the median triad at n threads against one thread. The next thread count shows which value is wrong."""
    for group in siblings(results.good("stream"), _curve_key):
        by_threads = group_by(group, lambda r: whole(_facts(r, "threads")[0] or r.options.get("threads")))
        triads = {n: [row.bandwidth for r in runs for row in rates(r) if row.kernel == "triad"] for n, runs in by_threads.items() if n}  # fmt: skip
        medians = {n: statistics.median(values) for n, values in triads.items() if values}
        single = medians.pop(1, None)
        speedups = {n: medians[n] / single for n in sorted(medians)} if single else {}
        beyond = [n for n, times in speedups.items() if times > 1.15 * n]
        slow = beyond[:1] == list(speedups)[:1]  # no number of threads agrees with one
        for n in beyond[:1] if slow else beyond:
            text = f"{n} threads make {fmt.number(speedups[n])} × one thread"
            yield Fault(level="warn", run=by_threads[1 if slow else n][0], text=text)


def units(results: Results) -> Iterator[Fault]:
    """G7: rate · least time against the bytes that the kernel moves, for each run of a text."""
    for cell in cells(results, "stream"):
        runs = cell.runs
        run, sizes = runs[0], _sizes(runs[0])
        by_turn = group_by(run.measured(), lambda row: (str(row.get("kernel")), whole(row.get("run"))))
        rows = {key: {row.metric: row.value for row in measurements} for key, measurements in by_turn.items()}
        for (kernel, turn), values in rows.items():
            size = sizes.get(turn) or array_bytes(run)
            if kernel not in BYTES or not size or not values.get("time_min") or "bandwidth" not in values:
                continue
            took = size / 8 * BYTES[kernel] / values["bandwidth"] * 1e9
            if abs(values["time_min"] - took) > max(0.03 * took, 0.51 * _step(rows.values())):
                text = f"{kernel}: rate × time is {fmt.number(values['time_min'] / took)} × the bytes of the arrays"
                yield Fault(level="error", run=run, text=text)
                break


def _sizes(run: Run) -> dict[int | None, float]:
    """Return the bytes of an array of each run of a text."""
    table = run.parsed.tables.get("runs") if run.parsed else None
    rows = [row for row in (table.records() if table else ()) if row.get("array_size")]
    return {whole(row["run"]): number(row["array_size"]) * number(row.get("bytes_per_element") or 8) for row in rows}


def _step(rows: Iterable[Mapping[str, float]]) -> float:
    """Return the last digit (ns) of times printed in s. "0.0001" and "0.0002" give 100 µs."""
    printed = [v for values in rows for name, v in values.items() if name.startswith("time_")]
    whole_at = (p for p in range(9, 0, -1) if all(abs(v / 10**p - round(v / 10**p)) < 1e-6 for v in printed))
    return 10.0 ** next(whole_at, 0)


# --- the tool ---------------------------------------------------------------------------------------------


class Stream(Tool):
    """One rate per kernel and run."""

    SECTION = "Memory"
    RANK = 10
    METHODS = _ABOUT
    CHARTS = CHARTS
    KEYS = (Key(name="STREAM triad", rank=12, where={"kernel": "triad"}, context="threads {threads}, {place}"),)
    CURVE_AXIS = "threads"
    PEAK = "bandwidth"
    DRAWN = ("triad bandwidth",)
    WORKING_SET = ("array_size",)
    NOISE = 0.03
    FAULTS = {"G5": too_good_a_speedup, "G7": units}  # noqa: RUF012

    def numbers(self, run: Run) -> Iterator[Number]:
        """Yield the rate of each kernel in the order of the output, separately for each run in the output."""
        rows = rates(run)
        several = len({row.turn for row in rows}) > 1
        for row in rows:
            part: Part = ((("run", row.turn),) if several else ()) + (("kernel", row.kernel),)
            name = Name(metric="bandwidth", unit="B/s", better="higher", part=part, made_of=f"bandwidth/{row.kernel}")
            yield Number(name=name, value=row.bandwidth, step=stream.PRINTED["bandwidth"])

    def curve_numbers(self, curve: Mapping[int, Sequence[Number]]) -> Iterator[Number]:
        """Give the least threads with 95 % of the peak bandwidth of each kernel."""
        for part, line in _by_part(curve, "bandwidth").items():
            full = formulas.saturation({n: number.value for n, number in line.items()})
            if full is not None:
                yield Number.derived("threads for 95 % of the peak", "1", "neither", float(full), part)

    def lead(self, cell: Repeats) -> Name | None:
        """Return the rate of the triad. If some runs lack the triad, return the rate of the last common kernel."""
        rates = {dict(name.part)["kernel"]: name for name in reversed([*cell.columns])}
        return next((rates[kernel] for kernel in reversed(stream.KERNELS) if kernel in rates), None)

    def headline(self, cell: Repeats) -> str:
        """Return "triad 26.1 GB/s"."""
        name = cell.lead
        return f"{dict(name.part)['kernel']} {fmt.quantity(cell.columns[name].median, 'B/s')}" if name else ""

    def keys(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the triad of each cell. With several array sizes, only the largest counts, because smaller arrays
        may be in the caches.
        """
        rows = _with_threads(rows)
        if "array_size" in rows:
            rows = rows[rows["array_size"].isna() | (rows["array_size"] == rows.groupby(["where", "sweep"])["array_size"].transform("max"))]  # fmt: skip
        return super().keys(rows)

    def busy(self, run: Run) -> int:
        return int(_facts(run, "threads")[0] or run.options.get("threads") or 1)


TOOL = Stream()
