"""Checks of STREAM's numbers (and those of the kernel in its place): caches, threads, what the firmware claims."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence

from orchestrator.placement.place import resolve
from orchestrator.placement.selectors import Unplaceable
from parsers.errors import PinsweepError
from parsers.measurement import number, whole
from reports.checks import Fault, Level, check
from reports.checks._cells import (
    by_cell,
    command_text,
    from_table,
    siblings,
    siblings_key,
    sweeps,
)
from reports.numbers.possible import module_peak
from reports.numbers.stream import all_in_caches, array_bytes, below_rule, cache_bytes
from reports.readings.stream import rates
from reports.results.convicted import CellKey
from reports.results.grouping import group_by
from reports.results.machines import machine_key
from reports.results.model import Results, Run
from reports.text import format as fmt

FAMILY = (2, "Memory bandwidth (STREAM)")

BYTES = {"copy": 16, "scale": 16, "add": 24, "triad": 24}
"""What one element of 8 B counts for in each kernel: two or three arrays."""


_BINDS = re.compile(
    r"OMP_PROC_BIND|OMP_PLACES|KMP_AFFINITY|GOMP_CPU_AFFINITY|--physcpubind|-C ?\d|taskset|likwid-pin"
)


def _facts(run: Run, *names: str) -> list[float | None]:
    facts = run.parsed.facts if run.parsed else {}
    return [number(v) if isinstance(v := facts.get(name), int | float) else None for name in names]


def _rate(run: Run, kernel: str = "triad") -> float | None:
    return next((row.bandwidth for row in rates(run) if row.kernel == kernel), None)


_LEAST_ELEMENTS = 1_000_000
"""STREAM's run rules: "4 x the size of the sum of all the last-level caches used in the run, or 1 million elements, whichever is larger"."""


@check("S1", "error", "warn", "info", flags=("clock_ticks_low",), needs=("topology",))
def array_too_small(results: Results) -> Iterator[Fault]:
    """arrays smaller than STREAM's rules ask for, or a clock too coarse for them

    STREAM's own rules: each array at least 4 × the last-level caches of the sockets in use, and a million
    elements, and a loop of at least 20 ticks of the clock. Checked where the session knows the caches, and where the output tells
    the ticks. An array that fits in the caches: error, for no memory need have been measured; a larger one that misses the rule: warn.
    Where nobody knows the caches, fewer than a million elements are doubtful: warn. Where the array's size is an axis of the sweep (which nothing tells
    of texts that were taken in), the caches are what was to be seen: info, and warn where all three arrays fit in them, for the rate is no memory's then; it is said from which size on it is. Of a
    table that tells no size: info, for nobody can check it then.

    Do: enlarge the arrays (`array_size: 4 x LLC`; for the original, recompile with -DSTREAM_ARRAY_SIZE).
    """
    untold = [run for run in results.good("stream") if from_table(run) and "array_size" not in run.options]
    if untold:
        cells = fmt.plural(len(by_cell(untold)), "cell")
        yield Fault(level="info", run=untold[0], cell=cells, runs=tuple(untold), text="the table tells no size of the arrays: whether they fit in the caches cannot be checked")  # fmt: skip
    largest = _largest_swept(results)
    for runs in by_cell(results.good("stream")).values():
        run, swept = runs[0], sweeps(runs[0], "array_size")
        size, machine = array_bytes(run), run.session.topology
        most = largest.get((run.file, run.cell.sweep), 0.0)
        if size and below_rule(run):
            caches = cache_bytes(run)
            least = fmt.size(4 * caches)
            fits = "fits in" if size <= caches else f"is {fmt.number(size / caches, rounding=fmt.DOWN)} ×"
            yield Fault(
                level=_level(run, swept=swept), run=run, todo=_of_memory(least, reached=most >= 4 * caches) if swept else "",
                text=f"an array of {fmt.size(size)} {fits} the {fmt.size(caches)} of last-level cache: STREAM's rules ask for 4 ×, {least}",
            )  # fmt: skip
        elements, width = _facts(run, "array_size", "bytes_per_element")
        if size and machine is None and elements and elements < _LEAST_ELEMENTS:
            reached = most >= _LEAST_ELEMENTS * (width or 8)
            yield Fault(
                level="info" if swept else "warn", run=run, todo=_of_memory("a million elements", reached=reached) if swept else "",
                text=f"arrays of {fmt.count(int(elements))} elements ({fmt.number(size / 1024)} KiB each), fewer than the million of STREAM's rules",
            )  # fmt: skip
        ticks = [t for r in runs for t in _facts(r, "clock_ticks") if t is not None]
        if ticks and min(ticks) < 20:
            text = f"{fmt.plural(int(min(ticks)), 'tick')} of the clock a loop, fewer than the 20 of STREAM's rules"
            todo = "quote no rate of these sizes: the clock is too coarse for their loops." if swept else ""
            yield Fault(level="error", run=run, text=text, todo=todo)


def _level(run: Run, *, swept: bool) -> Level:
    """Return how grave it is that arrays miss the rule."""
    if swept:
        return "warn" if all_in_caches(run) else "info"
    return "error" if (array_bytes(run) or 0.0) <= cache_bytes(run) else "warn"


def _largest_swept(results: Results) -> dict[CellKey, float]:
    """Return the largest array (bytes) of each sweep over sizes, (file, sweep) → its size, whether or not something disturbed its runs."""
    swept = [run for run in results.runs if run.tool == "stream" and sweeps(run, "array_size")]
    return {
        of: max(array_bytes(run) or 0.0 for run in own)
        for of, own in group_by(swept, lambda run: (run.file, run.cell.sweep)).items()
    }


def _of_memory(least: str, *, reached: bool) -> str:
    """Return what to do about sizes that the sweep chose, of which some reach the least that is memory's, or none."""
    if not reached:
        return f"none of these sizes is memory's by STREAM's rules, which ask for {least} an array; quote none as memory's."
    return f"of these sizes, those from {least} an array on are memory's by STREAM's rules; quote no smaller one as memory's."


@check("S2", "error", needs=("modules",))
def faster_than_memory(results: Results) -> Iterator[Fault]:
    """faster than the memory can be

    A rate above what the memory modules of the machine can move (MT/s · 8 B each, where its session recorded
    them, and they are DDR DIMMs alone: a package of LPDDR or HBM has more channels), or above 1.05 × the
    median of the cells with the same threads and place and larger arrays, on the same machine: the arrays
    were in the caches. Sweeps over the array's size are left out.

    Do: enlarge the arrays and measure again.
    """
    for run in results.good("stream"):
        peak = module_peak(run)
        most = max((row.bandwidth for row in rates(run) if row.kernel in BYTES), default=0.0)
        if peak and most > peak and not sweeps(run, "array_size"):
            yield Fault(level="error", run=run, own=True, text="{}, the modules can move {}", quoted=((most, "B/s"), (peak, "B/s")))  # fmt: skip
    known = [r for r in results.good("stream") if array_bytes(r) and not sweeps(r, "array_size")]
    for alike in siblings(known, lambda r: siblings_key(r, ("array_size", "ntimes"))):
        by_size = group_by(alike, lambda r: array_bytes(r) or 0.0)
        for size, same_size in by_size.items():
            larger = [rate for s, rs in by_size.items() if s > size for run in rs if (rate := _rate(run))]
            for runs in by_cell(same_size).values():
                own = [rate for run in runs if (rate := _rate(run))]
                if own and larger and statistics.median(own) > 1.05 * statistics.median(larger):
                    yield Fault(
                        level="error", run=runs[0],
                        text=f"{fmt.quantity(statistics.median(own), 'B/s')} with arrays of {fmt.size(size)}, "
                        f"{fmt.quantity(statistics.median(larger), 'B/s')} with larger ones",
                    )  # fmt: skip


@check("S3", "error", "warn", flags=("threads_differ",), needs=("topology",))
def threads_without_a_core(results: Results) -> Iterator[Fault]:
    """threads that share a core, or are not those that were asked for

    More threads than CPUs they were given; more threads than cores, where cores were left in the place that
    was asked for (`core 0` has one, and two threads on it were meant); a number of threads that the program
    counted and that differs from what was asked for. Of captured output, a command that sets
    OMP_NUM_THREADS and nothing that binds threads (warn): they move.

    Do: give every thread a core of its own, and bind it.
    """
    unbound = []
    for runs in by_cell(results.good("stream")).values():
        run = runs[0]
        counted, asked = _facts(run, "threads", "threads_requested")
        option = whole(run.options.get("threads"))
        cpus = [cpu for group in run.placed for cpu in group.cpus]
        threads = counted or option
        if run.parsed and run.parsed.has("threads_differ"):
            yield Fault(level="error", run=run, text=f"{asked or 0:g} threads asked for, {counted or 0:g} counted")  # fmt: skip
        elif counted and option and counted != option:
            yield Fault(level="error", run=run, text=f"threads={option} asked for, {counted:g} counted")
        if threads and cpus and threads > len(cpus):
            text = f"{threads:g} threads on {fmt.plural(len(cpus), 'CPU')}"
            yield Fault(level="error", run=run, text=text)
        if cpus and threads and threads <= len(cpus) and (left := _cores_left(run, cpus, int(threads))):
            text = f"{threads:g} threads on {left[0]}, there are {left[1]}"
            yield Fault(level="error", run=run, text=text)
        command = command_text(run)
        if run.captured and "OMP_NUM_THREADS" in command and not _BINDS.search(command):
            unbound.append(run)
    for members in group_by(unbound, lambda r: (r.file, command_text(r))).values():
        cell = fmt.plural(len(members), "cell") if len(members) > 1 else ""
        yield Fault(level="warn", run=members[0], cell=cell, runs=tuple(members), text="the command sets OMP_NUM_THREADS and binds no thread")  # fmt: skip


def _cores_left(run: Run, cpus: Sequence[int], threads: int) -> tuple[str, int] | None:
    """Return the cores of these CPUs, in words, and how many there were where the run was to be placed, if those would have been
    enough for its threads. `core 0` has one: two threads there were asked for. Cores outside of the cpuset are not there."""
    machine = run.session.topology
    if machine is None or run.relation == "smt siblings":
        return None
    there = machine.allowed_cpus
    if run.cell.place is not None:
        try:
            asked = resolve(run.cell.place, machine, threads=None, processes=1)
        except (PinsweepError, Unplaceable):
            return None
        there = frozenset(cpu for one in asked for group in one.groups for cpu in group.cpus)
    used = {machine.core_of.get(cpu) for cpu in cpus}
    cores = {machine.core_of.get(cpu) for cpu in there}
    return (fmt.plural(len(used), "core"), len(cores)) if len(used) < threads <= len(cores) else None


@check("S4", "info")
def nominal_distances(results: Results) -> Iterator[Fault]:
    """the firmware's distances are not those of the memory

    The ratio of local to remote bandwidth (STREAM at each number of threads, medians) against the ratio of
    the distances in the firmware's table (SLIT; 11 ÷ 10 says 10 %). Further than 10 % apart, or the other
    way round, the table is nominal.

    Do: do not compute with the distances that `numactl --hardware` prints; measure.
    """
    placed = [r for r in results.good("stream") if r.relation in ("local", "remote") and _rate(r)]
    said = []
    for same in siblings(placed, lambda r: (machine_key(r), r.cell.sweep, *siblings_key(r, ())[4:])):
        both = group_by(same, lambda r: r.relation)
        slit = _slit(both["remote"][0], results) if len(both) == 2 else None
        if slit is None:
            continue
        local, remote = (statistics.median(_rate(r) or 0.0 for r in both[w]) for w in ("local", "remote"))
        run = both["remote"][0]
        text = f"local is {fmt.number(local / remote)} × remote ({run.cell.describe()}), the table says {fmt.number(slit)}"
        said.append((abs(local / remote / slit - 1), run, text))
    for found in group_by(said, lambda f: (f[1].file, f[1].cell.sweep)).values():
        off, run, text = max(found, key=lambda f: f[0])
        if off > 0.10:
            yield Fault(level="info", run=run, text=text)


def _slit(run: Run, results: Results) -> float | None:
    """Return the distance of a run's memory ÷ that of its own node's, None where nothing tells the distances; where it does not say on
    which nodes it was, the smallest remote one ÷ the smallest local one.

    Of captured output they may have been taken in apart from the runs, into the same file.
    """
    machine = run.session.topology
    if machine is not None and machine.distances and (placed := run.placed):
        homes = {machine.node_of.get(cpu) for group in placed for cpu in group.cpus}
        there = {node for group in placed for node in group.membind}
        known = [
            (machine.distance(a, a), machine.distance(a, b)) for a in homes if a is not None for b in there
        ]
        whole_ones = [far / own for own, far in known if own and far]
        if whole_ones and len(whole_ones) == len(known):
            return min(whole_ones)
    pairs: list[tuple[int, int, float]] = []
    if machine is not None and machine.distances:
        pairs = [(a, b, float(d)) for (a, b), d in machine.distances.items()]
    else:
        sessions = [m.session for m in results.machines if m.file == run.file] if run.captured else []
        told = [s.facts["numa_distances"] for s in (run.session, *sessions) if s.facts.get("numa_distances")]
        pairs = [(int(a), int(b), float(d)) for a, b, d in (told[0] if told else ())]
    own = [d for a, b, d in pairs if a == b and d]
    others = [d for a, b, d in pairs if a != b and d]
    return min(others) / min(own) if own and others else None


def _curve_key(run: Run) -> tuple[object, ...]:
    """Return a key that the runs of one curve over threads share. Captured texts of one file and host are one curve, as in the figure."""
    return run.file, run.host, *siblings_key(run, ("threads", "source"))[1:]


def too_good_a_speedup(results: Results) -> Iterator[Fault]:
    """G5: the triad at n threads, medians, against that of one: which of the two is wrong, the next number of threads tells."""
    for alike in siblings(results.good("stream"), _curve_key):
        medians: dict[int, float] = {}
        by_threads = group_by(alike, lambda r: whole(_facts(r, "threads")[0] or r.options.get("threads")))
        for n, runs in by_threads.items():
            triad = [row.bandwidth for run in runs for row in rates(run) if row.kernel == "triad"]
            if n and triad:
                medians[n] = statistics.median(triad)
        one = medians.pop(1, None)
        speedups = {n: medians[n] / one for n in sorted(medians)} if one else {}
        beyond = [n for n, times in speedups.items() if times > 1.15 * n]
        slow = beyond[:1] == list(speedups)[:1]  # no number of threads agrees with one
        for n in beyond[:1] if slow else beyond:
            text = f"{n} threads make {fmt.number(speedups[n])} × one thread"
            yield Fault(level="warn", run=by_threads[1 if slow else n][0], text=text)


def units(results: Results) -> Iterator[Fault]:
    """G7: rate · least time against the bytes that the kernel moves, each of one run of a text."""
    for runs in by_cell(results.good("stream")).values():
        run, sizes = runs[0], _sizes(runs[0])
        by_turn = group_by(run.measured(), lambda row: (str(row.get("kernel")), whole(row.get("run"))))
        rows = {key: {row.metric: row.value for row in own} for key, own in by_turn.items()}
        for (kernel, turn), values in rows.items():
            size = sizes.get(turn) or array_bytes(run)
            if kernel not in BYTES or not size or not values.get("time_min") or "bandwidth" not in values:
                continue
            expected = size / 8 * BYTES[kernel]
            took = expected / values["bandwidth"] * 1e9
            if abs(values["time_min"] - took) > max(0.03 * took, 0.51 * _step(rows.values())):
                yield Fault(
                    level="error", run=run,
                    text=f"{kernel}: {fmt.quantity(values['bandwidth'], 'B/s', 4)} × {fmt.quantity(values['time_min'], 'ns', 4)} ÷ "
                    f"{fmt.quantity(expected, 'B', 4)} = {fmt.number(values['time_min'] / took)}",
                    title=f"{kernel}: rate × time is {fmt.number(values['time_min'] / took)} × the bytes of the arrays",
                )  # fmt: skip
                break


def _sizes(run: Run) -> dict[int | None, float]:
    """Return the bytes of an array of each run of the text that tells them."""
    table = run.parsed.tables.get("runs") if run.parsed else None
    return {
        whole(row["run"]): number(row["array_size"]) * number(row.get("bytes_per_element") or 8)
        for row in (table.records() if table else ())
        if row.get("array_size")
    }


def _step(rows: Iterable[Mapping[str, float]]) -> float:
    """Return the last digit (ns) of times that were printed in s: with "0.0001" and "0.0002" it is 100 µs."""
    printed = [v for values in rows for name, v in values.items() if name.startswith("time_")]
    return 10.0 ** next(
        (p for p in range(9, 0, -1) if all(abs(v / 10**p - round(v / 10**p)) < 1e-6 for v in printed)), 0
    )


def busy(run: Run) -> Iterator[int]:
    """G12: how many CPUs it keeps busy: its threads."""
    yield int(_facts(run, "threads")[0] or run.options.get("threads") or 1)


def noise() -> Iterator[float]:
    """G11: the standard deviation over repeats that is usual: of memory bandwidth little."""
    yield 0.03
