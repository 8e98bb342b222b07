"""Checks of fio's numbers: Little's law, what the block size makes of IOPS, caches, queues that were never filled."""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace

from orchestrator.tools.fio import known
from parsers.measurement import whole
from reports.checks import Fault, Level, check
from reports.checks._cells import (
    QUOTE_THE_TAIL,
    by_cell,
    cell_key,
    from_table,
    in_bytes,
    is_set,
    siblings,
    siblings_key,
    sweeps,
    typed_options,
)
from reports.numbers import fio
from reports.readings.fio import Job, jobs
from reports.results.convicted import CellKey
from reports.results.grouping import group_by
from reports.results.machines import machine_key
from reports.results.model import Results, Run
from reports.text import format as fmt

FAMILY = (0, "Storage (fio)")

_LIMITED = (
    "rate", "rate_iops", "rate_min", "rate_iops_min", "thinktime", "latency_target", "rate_process", "flow", "iodepth_low",
    "iodepth_batch", "iodepth_batch_submit", "iodepth_batch_complete", "iodepth_batch_complete_min",
)  # fmt: skip
"""Options that keep the queue from being full all the time."""

_OTHER_ENDS = ("steadystate", "ss", "number_ios")
_MIXES = ("randrw", "rw", "readwrite")
_UNCACHED = ("direct", "odirect", "fsync", "fdatasync", "sync")


def _all(run: Run) -> list[Job]:
    return [job for own in fio.directions(run).values() for job in own]


def _iops(run: Run) -> float:
    return sum(sum(job.iops or 0.0 for job in own) for own in fio.directions(run).values())


def _time(job: Job) -> float | None:
    return job.lat or job.clat


def _said(own: Sequence[Job]) -> str:
    return " + ".join(
        f"{fmt.quantity(job.iops, 'IOPS', 4)} × {fmt.quantity(_time(job), 'ns', 4)}" for job in own
    )


def _rw(run: Run) -> str:
    given = {**typed_options(run), **run.options}
    return str(given.get("rw") or given.get("readwrite"))


def _phases(run: Run) -> bool:
    """Did the directions of a run follow one another? What was written is read back after it (`verify`), which no option of a
    captured text need tell: an rw of one direction with figures of another does."""
    verified = "verify" in run.options or "verify" in typed_options(run)
    one_way = _rw(run).removeprefix("rand") in ("read", "write")
    return len(fio.directions(run)) > 1 and (verified or one_way)


def _judged(run: Run) -> list[Job]:
    """Return the entries whose I/Os were in flight at one time: of directions that followed one another, those asked for. (What is
    read back within a run, by verify_backlog, has a run time of its own that is far too short.)"""
    wanted = "read" if _rw(run) in ("read", "randread") else "write"
    asked_for = fio.directions(run).get(wanted) if _phases(run) else None
    return asked_for or _all(run)


def _iops_range(job: Job) -> tuple[float, float]:
    """Return what the IOPS can be: a text has them cut to whole numbers."""
    iops = job.iops or 0.0
    return iops, iops + 1 if iops == int(iops) else iops


def _in_flight(own: Sequence[Job]) -> tuple[float, float] | None:
    """Return the least and the most that Σ IOPS · latency can be."""
    if not own or any(_time(job) is None for job in own):
        return None
    parts = [[iops * (_time(job) or 0.0) * 1e-9 for iops in _iops_range(job)] for job in own]
    return sum(least for least, _ in parts), sum(most for _, most in parts)


def _beyond_the_end(own: Sequence[Job]) -> float:
    """Return how much of the run time the last I/Os may have lasted beyond it: the longest ÷ the run time; 0 where either is not told."""
    return max(
        ((job.lat_max or job.clat_max or 0.0) / job.runtime for job in own if job.runtime), default=0.0
    )


@check("F1", "error", "warn")
def little(results: Results) -> Iterator[Fault]:
    """more or fewer I/Os in flight than were asked for

    Little's law: L = Σ IOPS · latency over the directions of a run is how many I/Os were in flight, iodepth
    · jobs how many were asked for, and r = L ÷ (iodepth · jobs). Real runs give 0.99 to 1.00. r > 1.03 is
    impossible (error): a figure is mistyped or belongs to another run; where the longest latency and the run
    time are told, r > 1.03 + longest ÷ run time, since what is in flight when the time is over is waited for
    and counted. r < 0.9 (warn): the queue was not
    kept full, by jobs that ended unevenly or an engine that waits, or the latency is the completion latency
    alone. Of directions that followed one another (what was written is verified after it), the one asked
    for counts; IOPS that a text cuts to whole numbers may be up to one more. Left out are latencies under 2 µs,
    runs of less than 1 s, and entries in which group_reporting has put together job sections of which fio
    prints only one's options; for r < 0.9 also texts that were cut, runs that verify, those with a rate, a
    think time or a latency target, and those that lose no more per I/O than fio's own work takes, 3 µs (20
    µs of a synchronous engine, which has no queue to fill).

    Do: of an impossible row, look at the raw output; of a queue that was not full, do not quote the iodepth
    as the load.
    """
    short: list[Fault] = []
    for run in results.good("fio"):
        wanted, own = fio.asked(run), _judged(run)
        flight = _in_flight(own)
        if wanted is None or flight is None or any((_time(job) or 0) < 2000 for job in own):
            continue
        if fio.joined(run):
            continue
        (least, most), iops = flight, sum(job.iops or 0.0 for job in own)
        share = "" if wanted == 1 else f": {fmt.number(least / wanted)}"
        text = f"{_said(own)} = {fmt.number(least)} in flight, {wanted} asked for{share}"
        title = f"{fmt.number(least)} I/Os in flight, {wanted} asked for"
        beyond = _beyond_the_end(own)
        if least / wanted > 1.03 + beyond:
            bound = ""
            if len(own) == 1:
                bound = f"; at {fmt.quantity(iops, 'IOPS', 4)} at most {fmt.quantity(wanted * (1 + beyond) / iops * 1e9, 'ns', 4, fmt.UP)} are possible"
            yield Fault(level="error", run=run, own=True, text=text + bound, title=title)
        elif most / wanted < 0.9 and all(job.lat for job in own) and not _may_idle(run):
            lost = (wanted - most) / iops * 1e9
            if lost > (20e3 if any(fio.engine(run, job) in fio.SYNC for job in own) else 3e3):
                quoted = ((least, ""), (least / wanted, ""))
                short.append(Fault(level="warn", run=run, own=True, text=text, title=title, quoted=quoted))
    for same in group_by(short, lambda fault: cell_key(fault.run)).values():
        if len(same) == 1:
            yield replace(same[0], quoted=())
            continue
        for fault in same:  # a product of ranges is none
            wanted = fio.asked(fault.run)
            said = f"{{}} in flight, {wanted} asked for{'' if wanted == 1 else ': {}'}"
            yield replace(fault, text=said, title=f"{{}} I/Os in flight, {wanted} asked for")


_PROGRESS = re.compile(r"Jobs: \d+ \(f=\d+\), (?:\S+-\S+|[CM]R=)")
"""fio's line of progress names a rate that was set: "Jobs: 1 (f=1), 0-300 IOPS: [r(1)][100.0%]…"."""

_WAITS = ("fsync", "fdatasync", "sync_file_range", "write_barrier")
"""What makes a job wait for something that is no part of an I/O's latency."""


def _limited(run: Run, *more: str) -> bool:
    """Was a rate, a think time or a smaller queue set, by an option or as the line of progress tells?"""
    names = {*typed_options(run), *(name for job in _all(run) for name in fio.options(run, job))}
    told = _PROGRESS.search(run.stdout) or _PROGRESS.search(run.stderr)
    return bool(told) or not names.isdisjoint((*_LIMITED, *more))


def _may_idle(run: Run) -> bool:
    """Is there a reason why the queue need not look full: a limit, a run too short, directions that follow one another or that fio has
    averaged, a text that ends early?"""
    short = any(job.runtime is not None and job.runtime < 1e9 for job in _all(run))
    averaged = "mixed" in fio.directions(run)
    return _limited(run, *_WAITS) or short or averaged or _phases(run) or _is_cut(run)


def _is_cut(run: Run) -> bool:
    """Does the text end early? What it does not tell, a direction or a figure, may have been there."""
    return bool(run.parsed and run.parsed.has("truncated"))


@check("F2", "error")
def number_of_jobs(results: Results) -> Iterator[Fault]:
    """the command and the results disagree on numjobs

    Where the command line says another numjobs than the row, the numbers decide: the median of L ÷ iodepth
    over all such rows (three at least) is the number of jobs that ran.

    Do: quote the number of jobs that the numbers show, and correct the other.
    """
    found: dict[tuple[str, str, int, int], list[tuple[Run, float]]] = {}
    for run in results.good("fio"):
        typed, row = whole(typed_options(run).get("numjobs")), whole(run.options.get("numjobs"))
        depth, flight = whole(run.options.get("iodepth")), fio.in_flight(run)
        if run.captured and typed and row and depth and flight and typed != row:
            found.setdefault((run.file, run.cell.sweep, typed, row), []).append((run, flight / depth))
    for (_, _, said, held), members in found.items():
        if len(members) < 3:
            continue
        middle = statistics.median(jobs for _, jobs in members)
        right = min((said, held), key=lambda n: abs(math.log(middle / n)))
        yield Fault(
            level="error", run=members[0][0], cell=fmt.plural(len(members), "row"), runs=tuple(run for run, _ in members),
            title=f"the command says numjobs={said}, the rows {held}: {right} jobs ran",
            text=f"the command says numjobs={said}, the rows {held}; L ÷ iodepth has median {fmt.number(middle, 2)}: {right} jobs ran",
        )  # fmt: skip


@check("F3", "error", "warn")
def block_size(results: Results) -> Iterator[Fault]:
    """the block size and the rates do not go together

    Bandwidth is IOPS · bs. Where fio prints both, bandwidth ÷ IOPS off the stated bs by more than 5 % is a
    contradiction (IOPS that a text cuts to whole numbers may be up to one more). Where the command line says
    another bs than the row, the bandwidth under each is compared with the highest bandwidth of the sibling
    cells (those of the same rw, if there are any): a device has one limit, whatever the block size. Texts
    from several files are not known to be of one device: there it is a warning.

    Do: quote the block size that the rates show, and correct the other.
    """
    typed_wrong: dict[tuple[CellKey, str, int, int], list[Run]] = {}
    peaks: dict[tuple[CellKey, str, str], list[float]] = {}
    for run in results.good("fio"):
        size = in_bytes(run.options.get("bs"))
        if size is None:
            continue
        typed, machine = in_bytes(typed_options(run).get("bs", "?")), machine_key(run)
        if run.captured and typed is not None and typed != size:
            typed_wrong.setdefault((machine, run.cell.sweep, typed, size), []).append(run)
        else:
            key = machine, run.cell.sweep, str(run.options.get("rw"))
            peaks.setdefault(key, []).append(_iops(run) * size)
        for direction, own in () if fio.joined(run) else fio.directions(run).items():
            for job in own:
                stated = in_bytes(fio.options(run, job).get("bs", "?"))
                if stated is None or not job.bandwidth or not job.iops:
                    continue
                fewest, most = _iops_range(job)
                if job.bandwidth > 1.05 * stated * most or job.bandwidth < 0.95 * stated * fewest:
                    yield Fault(
                        level="error", run=run,
                        text=f"{direction}: {fmt.quantity(job.bandwidth, 'B/s', 4)} ÷ {fmt.quantity(job.iops, 'IOPS', 4)} "
                        f"= {fmt.size(round(job.bandwidth / job.iops))}, stated {fmt.size(stated)}",
                        title=f"a {direction} moves {fmt.size(round(job.bandwidth / job.iops))}, stated {fmt.size(stated)}",
                    )  # fmt: skip
    for (machine, sweep, a, b), members in typed_wrong.items():
        rw = str(members[0].options.get("rw"))
        own_cells = {key: rates for key, rates in peaks.items() if key[:2] == (machine, sweep)}
        near = own_cells or {key: r for key, r in peaks.items() if (key[0][0], key[1]) == (machine[0], sweep)}
        alike = [rate for key, rates in near.items() if key[2] == rw for rate in rates]
        others = alike or [rate for rates in near.values() for rate in rates]
        iops = max(map(_iops, members))
        if not others:
            continue
        plateau = max(others)
        right = min((a, b), key=lambda size: abs(math.log(iops * size / plateau)))
        yield Fault(
            level="error" if own_cells else "warn", run=members[0], cell=fmt.plural(len(members), "row"), runs=tuple(members),
            title=f"the command says bs={fmt.size(a)}, the rows {fmt.size(b)}: {fmt.size(right)} it was{'' if own_cells else ', if all are of one device'}",
            text=f"the command says bs={fmt.size(a)}, the rows {fmt.size(b)}: {fmt.quantity(iops, 'IOPS', 4)} are "
            f"{fmt.quantity(iops * a, 'B/s')} or {fmt.quantity(iops * b, 'B/s')}; the other {'cells' if own_cells else 'texts'}{f' of {rw}' if alike else ''}"
            f"{'' if own_cells else ', if they are of one device,'} reach {fmt.quantity(plateau, 'B/s')}: {fmt.size(right)} it was",
        )  # fmt: skip


@check("F4", "error", "warn")
def ended_early(results: Results) -> Iterator[Fault]:
    """the data was done before the time was

    Without time_based a run ends when size · jobs bytes are moved, whatever runtime says. (Runs that end at
    a steady state or after a number of I/Os are left out.) Where fio prints the run time, and it is less
    than 0.9 × runtime: warn, the figures are those of a shorter run. In a table that quotes the runtime,
    size · jobs ÷ (IOPS · bs) is how long it can have lasted; less than 0.9 × the runtime quoted is an
    error: one of the four is not what ran.

    Do: set time_based, and a ramp_time, and measure again.
    """
    for run in results.good("fio"):
        limit = _seconds(run.options.get("runtime"))
        other_end = is_set(run.options, "time_based") or any(name in run.options for name in _OTHER_ENDS)
        if limit is None or other_end or (run.parsed and run.parsed.has("interrupted")):
            continue
        own = _all(run)
        lasted = max((job.runtime for job in own if job.runtime), default=None)
        size, block, number = (in_bytes(run.options.get(n)) for n in ("size", "bs", "numjobs"))
        if lasted is not None and fio.tells_options(run):
            moved = in_bytes(run.options.get("size"))
            if moved and lasted * 1e-9 < 0.9 * limit:
                yield Fault(level="warn", run=run, own=True, text=f"lasted {fmt.seconds(lasted * 1e-9)} of runtime={fmt.seconds(limit)}")  # fmt: skip
        elif from_table(run) and size and block and own:
            could = size * (number or 1) / (_iops(run) * block)
            if could < 0.9 * limit:
                yield Fault(
                    level="error", run=run, own=True,
                    text=f"{fmt.size(size)} × {number or 1} ÷ ({fmt.quantity(_iops(run), 'IOPS', 4)} × {fmt.size(block)}) "
                    f"= {fmt.seconds(could)}, said to have run {fmt.seconds(limit)}",
                    title=f"the data was done after {fmt.seconds(could)}, said to have run {fmt.seconds(limit)}",
                )  # fmt: skip


def _seconds(value: object) -> float | None:
    """Return fio's time in seconds: `20`, `30s`, `5m`. None for what is none."""
    text = str(value).strip().lower()
    digits = text.rstrip("usmhd")
    factor = {"": 1.0, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}.get(
        text[len(digits) :]
    )
    try:
        return float(digits) * factor if factor else None
    except ValueError:
        return None


@check("F6", "warn")
def not_steady(results: Results) -> Iterator[Fault]:
    """the rate was not steady

    Over the samples that fio takes, twice a second unless log_avg_msec or iops_avg_time say otherwise:
    the mean outside of [minimum, maximum]; maximum ÷ minimum above 1.2 with a standard deviation above
    10 % of the mean (where it is printed); the mean of
    the samples more than 5 % off total ÷ run time. Of several processes in one report the mean may be that
    of one, and the extremes are sums of each process' own (see F5), further apart than the group's: there
    the ratio has to exceed 2. Runs of under 4 s have too few samples.

    Do: run longer, with a ramp_time; on an SSD, write it full first. Do not quote the mean as what the
    device sustains.
    """
    for run in results.good("fio"):
        for direction, own in () if _is_cut(run) else fio.directions(run).items():
            long = [job for job in own if job.runtime is None or job.runtime >= 4e9]
            problems = [problem for job in long if (problem := _unsteady(run, job))]
            if problems:
                of = f"not steady in {len(problems)} of {len(own)} jobs; the first of these: " if len(own) > 1 else ""  # fmt: skip
                yield Fault(level="warn", run=run, own=True, text=f"{direction}: {of}{problems[0]}")


def _unsteady(run: Run, job: Job) -> str:
    iops, low, high = job.iops or 0.0, job.iops_min, job.iops_max
    mean = iops if job.iops_mean is None else job.iops_mean
    if low is None or high is None:
        return ""
    between = f"samples from {fmt.quantity(low, 'IOPS', step=1.0)} to {fmt.quantity(high, 'IOPS', step=1.0)}"
    if not low * 0.99 <= mean <= high * 1.01:
        return f"{between}, and their mean is {fmt.quantity(mean, 'IOPS')}"
    several = (fio.processes(run, job) or 1) > 1
    scattered = job.iops_sd is None or several or job.iops_sd > 0.1 * mean
    if low <= 0 or high / low > (2 if several else 1.2):
        ratio = f"{fmt.number(high / low)} ×" if low > 0 else "down to none"
        if scattered:
            return f"{between}: {ratio}"
    fewest, most = _iops_range(job)
    if not several and not 0.95 * fewest <= mean <= 1.05 * most:
        return f"the samples' mean is {fmt.quantity(mean, 'IOPS')}, total ÷ run time is {fmt.quantity(iops, 'IOPS')}"
    return ""


@check("F7", "error", "warn", "info")
def page_cache(results: Results) -> Iterator[Fault]:
    """the page cache was measured, not the device

    direct=0: every read and write goes through the page cache. Error where an I/O takes less than 10 µs,
    for no block device answers so fast, memory does (not of sequential reads, which the kernel reads ahead of: the device may
    have been as fast as the cache was read); of engines with one I/O in flight that is processes ÷
    IOPS, and libaio is one of them here: on Linux it waits for each buffered I/O, so an iodepth above 1 is
    an error as well, whatever the latency. Else a warning: some of it may have come from the device. (Left
    out are engines that pass the page cache by, and writes that are synced.) Where `direct` is an axis of
    the sweep, the page cache is what was to be seen: info.

    Do: set direct=1, or read the figure as that of a copy in memory.
    """
    for run in results.good("fio"):
        for direction, own in fio.directions(run).items():
            if not all(_is_buffered(run, job) for job in own):
                continue
            timed = [(time, job) for job in own if (time := _took(run, job)) is not None]
            took = [time for time, _ in timed]
            deep = [job for job in own if fio.engine(run, job) == "libaio" and _depth(run, job) > 1]
            level: Level = "warn"
            text, quoted = f"direct=0, {direction}", ((_over_ios(timed), "ns"),) if took else ()
            if took:
                text += " takes {}"
            if deep:
                level = "error"
                text += f": libaio waits for each I/O, iodepth={_depth(run, deep[0])} has no effect"
            elif took and max(took) < 10e3 and not all(_is_read_ahead(run, job) for job in own):
                level = "error"
            else:
                text += " through the page cache; how much of it came from the device is not told"
            if sweeps(run, "direct"):
                level = "info"
            yield Fault(level=level, run=run, own=True, text=text, quoted=quoted)


_CACHED = ("sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring", "posixaio", "splice", "windowsaio", "solarisaio")  # fmt: skip
"""Engines whose I/O goes through the page cache without direct=1."""


def _is_buffered(run: Run, job: Job) -> bool:
    typed = typed_options(run)
    given = {**typed, **fio.options(run, job)}
    known = "direct" in given or fio.tells_options(run) or "name" in typed
    return (
        known
        and fio.engine(run, job) in (*_CACHED, "")
        and not any(is_set(given, name) for name in _UNCACHED)
    )


def _is_read_ahead(run: Run, job: Job) -> bool:
    """Were these sequential reads? The kernel has the next blocks fetched before they are asked for."""
    given = fio.options(run, job)
    rw = str(given.get("rw") or given.get("readwrite") or _rw(run)).partition(":")[0]
    return job.direction == "read" and rw in ("read", "rw", "readwrite", "None")  # fio's own default reads so


def _depth(run: Run, job: Job) -> int:
    return whole(fio.options(run, job).get("iodepth", 1)) or 1


def _took(run: Run, job: Job) -> float | None:
    """Return the time of one buffered I/O, ns: what a process has for each, where it has one in flight; else the latency."""
    processes, alone = fio.processes(run, job), fio.engine(run, job) in (*fio.SYNC, "libaio")
    latency = _time(job)
    alone = alone and not fio.joined(run)
    each = processes / job.iops * 1e9 if alone and processes and job.iops else None
    return min((t for t in (latency, each) if t is not None), default=None)


def _over_ios(timed: Sequence[tuple[float, Job]]) -> float:
    """Return the mean time (ns) of the I/Os of all these jobs, as the page has it."""
    weights = [job.ios if all(j.ios for _, j in timed) else job.iops for _, job in timed]
    return statistics.fmean([time for time, _ in timed], [w or 0.0 for w in weights])


@check("F8", "warn")
def mixed_load(results: Results) -> Iterator[Fault]:
    """a mix that is none, or writes that a cache took

    Of a mixed load: reads ÷ all I/Os off rwmixread by more than one point (and by more than chance, 4
    √(p(1-p)/n), allows); or a write latency below an eighth of the read latency, which is a write cache and
    not the medium: of runs that pass through the page cache F7 says so. Runs that verify what they wrote read it, too: they are left out.

    Do: run longer than the cache lasts (or write the device full first), and quote the share that was
    reached.
    """
    mixes = [run for run in results.good("fio") if str(run.options.get("rw") or run.options.get("readwrite")) in _MIXES]  # fmt: skip
    cached = {fault.run for fault in page_cache(results)} if mixes else set()
    for run in mixes:
        of = {one.direction: one for one in fio.summaries(run)}
        reads, writes = ((of[d].iops or 0.0) if d in of else 0.0 for d in ("read", "write"))
        if not reads or not writes or fio.joined(run) or _phases(run):
            continue
        share = reads / (reads + writes)
        cut = sum(most - fewest for fewest, most in map(_iops_range, _all(run))) / (reads + writes)
        asked_for = fio.read_share(run)
        wanted = 0.5 if asked_for is None else asked_for / 100
        n = sum(job.ios or 0 for job in _all(run) if job.direction in ("read", "write"))
        chance = 4 * math.sqrt(wanted * (1 - wanted) / n) if n else 0.0
        if asked_for is not None and abs(share - wanted) > max(0.01, chance) + cut:
            text = f"{fmt.percent(share, 3)} reads, asked for {fmt.percent(wanted)}"
            yield Fault(level="warn", run=run, own=True, text=text)
        slow, quick = (of[d].mean for d in ("read", "write"))
        if slow and quick and quick < slow / 8 and run not in cached:
            yield Fault(
                level="warn", run=run, own=True,
                text=f"writes take {{}}, reads {{}}{' (clat)' if of['read'].which == 'clat' else ''}: {{}} ×",
                quoted=((quick, "ns"), (slow, "ns"), (slow / quick, "")),
            )  # fmt: skip


@check("F9", "error")
def depth_not_reached(results: Results) -> Iterator[Fault]:
    """an iodepth that had no effect

    A synchronous engine (sync, psync, pvsync …, fio's own default) has one I/O in flight whatever iodepth
    says. With an asynchronous one, fio counts how deep the queue was when it submitted (`IO depths`): less
    than half of the I/Os at the depth asked for means that it was not reached. Left out are runs of fewer than
    4 · iodepth I/Os a process, those with a rate, a think time or a latency target, and those that submit in
    batches.

    Do: take libaio (with direct=1) or io_uring, or call it depth 1.
    """
    for run in results.good("fio"):
        for job in _all(run):
            given = fio.options(run, job)
            depth = whole(given.get("iodepth", 1)) or 1
            if depth <= 1:
                continue
            name = fio.engine(run, job)
            if name == "null":  # it does nothing, and has nothing in flight
                continue
            if name in fio.SYNC and name not in ("net", "netsplice"):
                yield Fault(level="error", run=run, text=f"iodepth={depth} with ioengine={name}: 1 in flight")
                break
            share = _at_depth(run, depth)
            few = job.ios is not None and job.ios < 4 * depth * (fio.processes(run, job) or 1)
            if share is not None and share < 0.5 and not few and not _limited(run) and not fio.joined(run):
                yield Fault(
                    level="error", run=run, own=True, text=f"{fmt.percent(share)} of the I/Os saw a queue of {depth} or near it"
                )  # fmt: skip
                break


def _at_depth(run: Run, depth: int) -> float | None:
    """Return the share of I/Os that were submitted at a depth in the bucket of `depth` or above; None if not printed."""
    bucket = 1 << min(6, depth.bit_length() - 1)  # 1, 2, 4 … 32, >=64 hold what is up to the next one
    shares = [sum(v for step, v in job.depths.items() if step >= bucket) for job in jobs(run) if job.depths]
    return max(shares, default=None)


@check("F10", "warn")
def state_and_depth(results: Results) -> Iterator[Fault]:
    """depth is blamed for what the device's state did

    Over the iodepths of cells that are otherwise alike: the latency falls by more than 10 % from one depth
    to a deeper one (not in the repeats of pinsweep's own rounds, which ran in random order: what all of them show is no state), or
    IOPS at the last depths fall more than 20 % below the best, where the depths ran in ascending order. A write cache that fills up
    while the depth grows looks so.

    Do: run the depths in random order (pinsweep does), with the device in the same state before each.
    """
    runs = [run for run in results.good("fio") if whole(run.options.get("iodepth"))]
    for alike in siblings(runs, lambda r: siblings_key(r, ("iodepth",))):
        by_depth = group_by(alike, lambda r: whole(r.options.get("iodepth")) or 0)
        depths = sorted(by_depth)
        if len(depths) < 3:
            continue
        orders = [min(run.record.order_index for run in by_depth[d]) for d in depths]
        once = all(len(by_depth[d]) == 1 for d in depths)
        ascending = orders == sorted(orders) and once
        told = [(d, of) for d in depths for run in by_depth[d] for of in fio.summaries(run) if of.iops]
        for (direction, which), own in group_by(told, lambda t: (t[1].direction, t[1].which)).items():
            at = {depth: [of for _, of in same] for depth, same in group_by(own, lambda t: t[0]).items()}
            iops = {depth: statistics.median(of.iops or 0.0 for of in same) for depth, same in at.items()}
            means = {d: [of.mean for of in same if of.mean] for d, same in at.items()}
            if len(iops) < 3:
                continue
            for a, b in itertools.pairwise(d for d in means if means[d]):
                if max(means[b]) < 0.9 * min(means[a]) and (once or not _is_mixed(alike)):
                    yield Fault(
                        level="warn", run=by_depth[b][0],
                        text=f"{direction} {fio.WORDS[which]} falls from {fmt.quantity(statistics.median(means[a]), 'ns')} at depth {a} to "
                        f"{fmt.quantity(statistics.median(means[b]), 'ns')} at {b}",
                    )  # fmt: skip
            best, last = max(iops, key=lambda depth: iops[depth]), max(iops)
            cut = 1 if iops[last] == int(iops[last]) else 0  # to a whole number, by a text
            if ascending and best != last and iops[last] + cut < 0.8 * iops[best]:
                yield Fault(
                    level="warn", run=by_depth[last][0],
                    text=f"{direction}: {fmt.quantity(iops[last], 'IOPS')} at depth {last}, the last to run, are "
                    f"{fmt.percent(1 - iops[last] / iops[best])} below the {fmt.quantity(iops[best], 'IOPS')} at {best}",
                )  # fmt: skip


def _is_mixed(runs: Sequence[Run]) -> bool:
    """Did some repeat run its iodepths in another order than up, as random rounds do? Of captured texts nothing tells the order."""
    if runs[0].captured:
        return False
    rounds = group_by(runs, lambda run: run.turn).values()
    orders = [[run.record.order_index for run in sorted(own, key=_asked_depth)] for own in rounds]
    return any(order != sorted(order) for order in orders)


def _asked_depth(run: Run) -> int:
    return whole(run.options.get("iodepth")) or 0


_COMMAND_LINE = (
    "alloc_size", "append_terse", "aux_path", "bandwidth_log", "client", "cmdhelp", "cpuclock_test", "crctest", "daemonize", "debug",
    "enghelp", "eta", "eta_interval", "eta_newline", "help", "idle_prof", "inflate_log", "latency_log", "max_jobs", "memcpytest",
    "merge_blktrace_only", "minimal", "output", "output_format", "parse_only", "parse_timeout", "readonly", "remote_config", "section",
    "server", "showcmd", "status_interval", "terse_version", "thread", "trigger", "trigger_file", "trigger_remote", "trigger_timeout",
    "version", "warnings_fatal",
)  # fmt: skip
"""What fio takes on its command line and not in a job."""


def mistyped(command: str) -> Iterator[str]:
    """G2: options that fio does not have."""
    for name in re.findall(r"(?:^|\s)--([a-z][\w-]*)(?==|\s|$)", command.replace(" =", "=")):
        if name.replace("-", "_") not in {*known(), *_COMMAND_LINE}:
            yield f"fio has no option “--{name}”"


def left_out(command: str, run: Run) -> Iterator[str]:
    """G2: a size that a table names and its command does not."""
    size = run.options.get("size")
    if size and from_table(run) and not re.search(r"--(?:size|io_size|filesize)\b", command):
        yield f"the rows say size={size}, the command has no --size"


def _of_jobs(direction: str, some: int, every: int) -> str:
    """Return "write", of one job; "write, 2 of 8 jobs, the widest", "write, all 32 jobs, the widest"."""
    if every == 1:
        return direction
    counted = f"all {every} jobs" if some == every else f"{some} of {every} jobs"
    return f"{direction}, {counted}{', the widest' * (some > 1)}"


def shown_with(metric: str, run: Run) -> Iterator[str]:
    """G11: of IOPS the mean latency of the same direction, which a queue of one depth ties to them, as `Name.tells_of`."""
    rate, _, direction = metric.partition("/")
    if rate == "IOPS":
        for of in fio.summaries(run):
            if of.direction == direction and of.mean:
                yield f"{fio.WORDS[of.which]}/mean/{direction}"


def clock(results: Results) -> Iterator[Fault]:
    """G6: a standard deviation above the mean latency."""
    for runs in by_cell(results.good("fio")).values():
        for direction in ("read", "write"):
            found = []
            for run in runs:
                own = [job for job in jobs(run) if job.direction == direction and job.lat]
                wide = [job for job in own if (job.lat_sd or 0.0) > (job.lat or math.inf)]
                if wide:
                    widest = max(wide, key=lambda job: (job.lat_sd or 0.0) / (job.lat or math.inf))
                    found.append((run, widest, _of_jobs(direction, len(wide), len(own))))
            for run, job, whose in found if len(found) * 2 > len(runs) else ():
                yield Fault(
                    level="info", run=run, own=True, text=f"{whose}: mean lat {{}}, standard deviation {{}}",
                    quoted=((job.lat or 0.0, "ns"), (job.lat_sd or 0.0, "ns")), todo=QUOTE_THE_TAIL,
                )  # fmt: skip
