"""Checks of fio's numbers: Little's law, what the block size makes of IOPS, caches, queues that were never filled."""

from __future__ import annotations

import functools
import itertools
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports import derive
from reports import format as fmt
from reports.checks import Fault, check
from reports.checks._cells import (
    by_cell,
    from_table,
    good,
    in_bytes,
    is_captured,
    is_set,
    siblings_key,
    typed_options,
    whole,
)
from reports.frames import Results, Run

FAMILY = (0, "Storage (fio)")

_DIRECTIONS = ("read", "write", "trim", "mixed")
_SYNC = ("sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "net", "netsplice", "cpuio", "null", "ftruncate")  # fmt: skip
_LIMITED = ("rate", "rate_iops", "rate_min", "rate_iops_min", "thinktime", "latency_target", "rate_process", "flow")  # fmt: skip
_OTHER_ENDS = ("steadystate", "ss", "number_ios")
_MIXES = ("randrw", "rw", "readwrite")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One entry of fio's report in one direction. Base units; None: not measured."""

    iops: float
    lat: float | None  # ns, submission and completion
    clat: float | None
    low: float | None  # IOPS samples
    high: float | None
    mean: float | None
    sd: float | None
    bandwidth: float | None
    runtime: float | None  # ns
    ios: float | None
    options: Mapping[str, Any]
    processes: int | None  # behind this entry; None: not known


def jobs(run: Run) -> dict[str, list[Job]]:
    """Return direction → the entries of a run's report that did I/O."""
    return _jobs(_Same(run))


class _Same:
    """A run as a key: every check asks for the same run's jobs, and a run holds mappings, which have no hash."""

    __slots__ = ("run",)

    def __init__(self, run: Run) -> None:
        self.run = run

    def __hash__(self) -> int:
        return id(self.run)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.run is self.run


@functools.lru_cache(maxsize=1 << 14)
def _jobs(same: _Same) -> dict[str, list[Job]]:
    run = same.run
    values: dict[tuple[Any, Any, str], dict[tuple[str, str], float]] = {}
    names: dict[tuple[Any, Any], str] = {}
    for record in run.records():
        if record.get("job") is not None and record.get("direction") in _DIRECTIONS:
            key = record.get("document"), record["job"], str(record["direction"])
            values.setdefault(key, {})[str(record["metric"]), str(record.get("statistic"))] = float(
                str(record["value"])
            )
            names[key[:2]] = str(record.get("name"))
    told: dict[tuple[Any, Any], dict[str, Any]] = {}
    for row in run.table("options"):
        told.setdefault((row.get("document"), row.get("job")), {})[str(row["option"])] = row.get("value", "")
    printed: dict[tuple[Any, Any], int | None] = {
        (r.get("document"), r.get("job")): whole(r.get("processes")) for r in run.table("jobs")
    }
    alike = {name: list(names.values()).count(name) for name in names.values()}
    found: dict[str, list[Job]] = {}
    for (document, job, direction), v in values.items():
        if v.get(("iops", "total"), 0.0) <= 0:
            continue
        options = {**told.get((document, job), {}), **run.point.options}
        numjobs = whole(options.get("numjobs", 1))
        processes = printed.get((document, job)) or (numjobs if alike[names[document, job]] == 1 else 1)
        found.setdefault(direction, []).append(
            Job(
                iops=v["iops", "total"], lat=v.get(("lat", "mean")), clat=v.get(("clat", "mean")), low=v.get(("iops", "min")),
                high=v.get(("iops", "max")), mean=v.get(("iops", "mean")), sd=v.get(("iops", "sd")),
                bandwidth=v.get(("bandwidth", "total")), runtime=v.get(("runtime", "total")),
                ios=v.get(("total_ios", "total")), options=options, processes=processes,
            )
        )  # fmt: skip
    if "mixed" in found and len(found) > 1:
        del found["mixed"]
    return found


def _all(run: Run) -> list[Job]:
    return [job for own in jobs(run).values() for job in own]


def _depth(job: Job, run: Run) -> int | None:
    """Return the iodepth that counts: 1 with a synchronous engine, fio's own 1 where its options are told and this is not."""
    if _engine(job, run) in _SYNC:
        return 1
    if "iodepth" in job.options:
        return whole(job.options["iodepth"])
    return 1 if _told(run) else None


def _told(run: Run) -> bool:
    """Does the run tell all its options, so that one that is missing has fio's own value?"""
    return not is_captured(run) or bool(run.parsed and str(run.parsed.facts.get("format", "")).startswith("json") and run.table("options"))  # fmt: skip


def _engine(job: Job, run: Run) -> str:
    return str(job.options.get("ioengine", "psync" if _told(run) else "")).split(":")[0]


def asked(run: Run) -> int | None:
    """Return how many I/Os the run asked to keep in flight: Σ iodepth · processes over its entries. None if not known."""
    entries: dict[int, int] = {}
    own = jobs(run)
    direction = max(own, key=lambda d: len(own[d]), default="")
    for i, job in enumerate(own.get(direction, ())):
        depth = _depth(job, run)
        if depth is None or job.processes is None:
            return None
        entries[i] = depth * job.processes
    return sum(entries.values()) or None


def in_flight(run: Run, *, clat: bool = False) -> float | None:
    """Return Σ IOPS · latency of a run; None where a latency is missing. With `clat`, completion stands in for it."""
    parts = [(job.iops, job.lat or (job.clat if clat else None)) for job in _all(run)]
    if not parts or any(latency is None for _, latency in parts):
        return None
    return derive.in_flight([(iops, latency) for iops, latency in parts if latency is not None])


def _said(run: Run) -> str:
    return " + ".join(
        f"{fmt.quantity(job.iops, 'IOPS', 4)} × {fmt.quantity(job.lat or job.clat, 'ns', 4)}"
        for job in _all(run)
    )


@check("F1", "error", "warn")
def little(results: Results) -> Iterator[Fault]:
    """more or fewer I/Os in flight than were asked for

    Little's law: L = Σ IOPS · latency over the directions of a run is how many I/Os were in flight, iodepth
    · jobs how many were asked for, and r = L ÷ (iodepth · jobs). Real runs give 0.99 to 1.00. r > 1.03 is
    impossible (error): a figure is mistyped or belongs to another run. (Of one entry under group_reporting,
    r near a whole number is that of several job sections put together, which fio names after the first:
    warn.) r < 0.9 (warn): the queue was not kept full, by jobs that ended unevenly or an engine that waits,
    or the latency is the completion latency alone. Latencies under 2 µs and runs of less than 1 s are left
    out; for r < 0.9 also runs with a rate, a think time or a latency target, and those that lose no more
    per I/O than fio's own work takes, 3 µs (20 µs of a synchronous engine, which has no queue to fill).

    Do: of an impossible row, look at the raw output; of a queue that was not full, do not quote the iodepth
    as the load.
    """
    for run in good(results, "fio"):
        wanted, own = asked(run), _all(run)
        flight = in_flight(run, clat=True)
        if wanted is None or flight is None or any((job.lat or job.clat or 0) < 2000 for job in own):
            continue
        r = flight / wanted
        text = f"{_said(run)} = {fmt.number(flight)} in flight, {wanted} asked for: {fmt.number(r)}"
        if r > 1.03 and (sections := _sections(run)):
            yield Fault(
                level="warn",
                run=run,
                text=f"{text}; group_reporting has put {sections} sections into one entry",
            )
        elif r > 1.03:
            most = ""
            if len(own) == 1:
                most = f"; at {fmt.quantity(own[0].iops, 'IOPS', 4)} at most {fmt.quantity(wanted / own[0].iops * 1e9, 'ns', 4)} are possible"
            yield Fault(level="error", run=run, text=text + most)
        elif r < 0.9 and in_flight(run) is not None and not _may_idle(run):
            lost = (wanted - flight) / sum(job.iops for job in own) * 1e9
            if lost > (20e3 if any(_engine(job, run) in _SYNC for job in own) else 3e3):
                yield Fault(level="warn", run=run, text=text)


def _may_idle(run: Run) -> bool:
    """Is there a reason why the queue need not be full: a limit, a run too short, directions that fio has averaged?"""
    own = _all(run)
    limited = any(name in job.options for job in own for name in _LIMITED)
    short = any(job.runtime is not None and job.runtime < 1e9 for job in own)
    return limited or short or "mixed" in jobs(run)


def _sections(run: Run) -> int | None:
    """Return how many sections of a job file group_reporting has put into one entry, by Little's law; None if only one, or
    not to be told. fio prints the options of the first alone."""
    own, wanted, flight = _all(run), asked(run), in_flight(run)
    if (
        not own
        or wanted is None
        or flight is None
        or not any(is_set(job.options, "group_reporting") for job in own)
    ):
        return None
    n = round(flight / wanted)
    alone = all(len(entries) == 1 for entries in jobs(run).values())
    return n if n >= 2 and alone and abs(flight / wanted / n - 1) < 0.03 else None


@check("F2", "error")
def number_of_jobs(results: Results) -> Iterator[Fault]:
    """the command and the results disagree on numjobs

    Where the command line says another numjobs than the row, the numbers decide: the median of L ÷ iodepth
    over all such rows (three at least) is the number of jobs that ran.

    Do: quote the number of jobs that the numbers show, and correct the other.
    """
    found: dict[tuple[str, str, int, int], list[tuple[Run, float]]] = {}
    for run in good(results, "fio"):
        typed, row = whole(typed_options(run).get("numjobs")), whole(run.options.get("numjobs"))
        depth, flight = whole(run.options.get("iodepth")), in_flight(run, clat=True)
        if is_captured(run) and typed and row and depth and flight and typed != row:
            found.setdefault((run.file, run.point.sweep, typed, row), []).append((run, flight / depth))
    for (_, _, said, held), members in found.items():
        if len(members) < 3:
            continue
        middle = statistics.median(jobs for _, jobs in members)
        right = min((said, held), key=lambda n: abs(math.log(middle / n)))
        yield Fault(
            level="error", run=members[0][0], cell=fmt.plural(len(members), "row"),
            text=f"the command says numjobs={said}, the rows {held}; L ÷ iodepth has median {fmt.number(middle, 2)}: {right} jobs ran",
        )  # fmt: skip


@check("F3", "error")
def block_size(results: Results) -> Iterator[Fault]:
    """the block size and the rates do not go together

    Bandwidth is IOPS · bs. Where fio prints both, bandwidth ÷ IOPS off the stated bs by more than 5 % is a
    contradiction. Where the command line says another bs than the row, the bandwidth under each is compared
    with the highest bandwidth of the sibling cells (those of the same rw, if there are any): a device has
    one limit, whatever the block size.

    Do: quote the block size that the rates show, and correct the other.
    """
    typed_wrong: dict[tuple[str, str, int, int], list[Run]] = {}
    peaks: dict[tuple[str, str, str], list[float]] = {}
    for run in good(results, "fio"):
        size = in_bytes(run.options.get("bs"))
        if size is None:
            continue
        typed = in_bytes(typed_options(run).get("bs", "?"))
        total = sum(job.iops for job in _all(run))
        if is_captured(run) and typed is not None and typed != size:
            typed_wrong.setdefault((run.file, run.point.sweep, typed, size), []).append(run)
        else:
            peaks.setdefault((run.file, run.point.sweep, str(run.options.get("rw"))), []).append(total * size)
        for direction, own in jobs(run).items():
            for job in own:
                stated = in_bytes(job.options.get("bs", "?"))
                if stated and job.bandwidth and abs(job.bandwidth / job.iops / stated - 1) > 0.05:
                    yield Fault(
                        level="error", run=run,
                        text=f"{direction}: {fmt.quantity(job.bandwidth, 'B/s', 4)} ÷ {fmt.quantity(job.iops, 'IOPS', 4)} "
                        f"= {fmt.size(round(job.bandwidth / job.iops))}, stated {fmt.size(stated)}",
                    )  # fmt: skip
    for (file, sweep, a, b), members in typed_wrong.items():
        rw = str(members[0].options.get("rw"))
        alike = peaks.get((file, sweep, rw))
        others = alike or [rate for key, rates in peaks.items() if key[:2] == (file, sweep) for rate in rates]
        iops = max(sum(job.iops for job in _all(run)) for run in members)
        if not others:
            continue
        plateau = max(others)
        right = min((a, b), key=lambda size: abs(math.log(iops * size / plateau)))
        yield Fault(
            level="error", run=members[0], cell=fmt.plural(len(members), "row"),
            text=f"the command says bs={fmt.size(a)}, the rows {fmt.size(b)}: {fmt.quantity(iops, 'IOPS', 4)} are "
            f"{fmt.quantity(iops * a, 'B/s')} or {fmt.quantity(iops * b, 'B/s')}; the other cells{f' of {rw}' if alike else ''} reach {fmt.quantity(plateau, 'B/s')}: "
            f"{fmt.size(right)} it was",
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
    for run in good(results, "fio"):
        limit = _seconds(run.options.get("runtime"))
        other_end = is_set(run.options, "time_based") or any(name in run.options for name in _OTHER_ENDS)
        if limit is None or other_end or (run.parsed and run.parsed.has("interrupted")):
            continue
        own = _all(run)
        lasted = max((job.runtime for job in own if job.runtime), default=None)
        size, block, number = (in_bytes(run.options.get(n)) for n in ("size", "bs", "numjobs"))
        if lasted is not None and _told(run):
            moved = in_bytes(run.options.get("size"))
            if moved and lasted * 1e-9 < 0.9 * limit:
                yield Fault(level="warn", run=run, text=f"lasted {fmt.seconds(lasted * 1e-9)} of runtime={fmt.seconds(limit)}")  # fmt: skip
        elif from_table(run) and size and block and own:
            could = size * (number or 1) / (sum(job.iops for job in own) * block)
            if could < 0.9 * limit:
                yield Fault(
                    level="error", run=run,
                    text=f"{fmt.size(size)} × {number or 1} ÷ ({fmt.quantity(sum(j.iops for j in own), 'IOPS', 4)} × {fmt.size(block)}) "
                    f"= {fmt.seconds(could)}, said to have run {fmt.seconds(limit)}",
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

    Over the samples that fio takes twice a second: the mean outside of [minimum, maximum]; maximum ÷
    minimum above 1.2 with a standard deviation above 10 % of the mean (where it is printed); the mean of
    the samples more than 5 % off total ÷ run time. Of several processes in one report the mean may be that
    of one, and the extremes are sums of each process' own (see F5), further apart than the group's: there
    the ratio has to exceed 2. Runs of under 4 s have too few samples.

    Do: run longer, with a ramp_time; on an SSD, write it full first. Do not quote the mean as what the
    device sustains.
    """
    for run in good(results, "fio"):
        for direction, own in jobs(run).items():
            long = [job for job in own if job.runtime is None or job.runtime >= 4e9]
            problems = [problem for job in long if (problem := _unsteady(job))]
            if problems:
                of = f" ({len(problems)} of {len(own)} jobs, one of them)" if len(own) > 1 else ""
                yield Fault(level="warn", run=run, text=f"{direction}{of}: {problems[0]}")


def _unsteady(job: Job) -> str:
    mean = job.mean if job.mean is not None else job.iops
    if job.low is None or job.high is None:
        return ""
    between = f"samples from {fmt.quantity(job.low, 'IOPS')} to {fmt.quantity(job.high, 'IOPS')}"
    if not job.low * 0.99 <= mean <= job.high * 1.01:
        return f"{between}, and their mean is {fmt.quantity(mean, 'IOPS')}"
    several = (job.processes or 1) > 1
    scattered = job.sd is None or several or job.sd > 0.1 * mean
    if job.low <= 0 or job.high / job.low > (2 if several else 1.2):
        ratio = f"{fmt.number(job.high / job.low)} ×" if job.low > 0 else "down to none"
        if scattered:
            return f"{between}: {ratio}"
    if not several and job.mean is not None and abs(job.mean / job.iops - 1) > 0.05:
        return f"the samples' mean is {fmt.quantity(job.mean, 'IOPS')}, total ÷ run time is {fmt.quantity(job.iops, 'IOPS')}"
    return ""


@check("F7", "error", "info")
def page_cache(results: Results) -> Iterator[Fault]:
    """the page cache was measured, not the device

    direct=0, and the mean latency is below 10 µs: no block device answers so fast; memory does. (Engines
    that do no I/O, null and the like, and writes that are synced are left out.) Where `direct` is an axis
    of the sweep, the page cache is what was to be seen: info.

    Do: set direct=1, or read the figure as that of a copy in memory.
    """
    for run in good(results, "fio"):
        for direction, own in jobs(run).items():
            slow = [job for job in own if (job.lat or job.clat or 1e9) >= 10e3]
            known = all("direct" in job.options or _told(run) for job in own)
            direct = any(is_set(job.options, "direct") or is_set(job.options, "odirect") for job in own)
            synced = any(is_set(job.options, name) for job in own for name in ("fsync", "fdatasync", "sync"))
            idle = any(_engine(job, run) in ("null", "cpuio", "mmap", "dev-dax", "libpmem") for job in own)
            if own and not slow and known and not direct and not idle and not synced:
                fastest = min(job.lat or job.clat or 0.0 for job in own)
                yield Fault(
                    level="info" if "direct" in run.point.axes and not is_captured(run) else "error", run=run,
                    text=f"direct=0, {direction} takes {fmt.quantity(fastest, 'ns')}",
                )  # fmt: skip


@check("F8", "warn")
def mixed_load(results: Results) -> Iterator[Fault]:
    """a mix that is none, or writes that a cache took

    Of a mixed load: reads ÷ all I/Os off rwmixread by more than one point (and by more than chance, 4
    √(p(1-p)/n), allows); or a write latency below an eighth of the read latency, which is a write cache and
    not the medium.

    Do: run longer than the cache lasts (or write the device full first), and quote the share that was
    reached.
    """
    for run in good(results, "fio"):
        own = jobs(run)
        rw = str(run.options.get("rw") or run.options.get("readwrite"))
        if rw not in _MIXES or not own.get("read") or not own.get("write") or _sections(run):
            continue
        reads, writes = (sum(job.iops for job in own[d]) for d in ("read", "write"))
        share = reads / (reads + writes)
        given, other = (whole(run.options.get(name)) for name in ("rwmixread", "rwmixwrite"))
        wanted = (given if given is not None else 100 - other if other is not None else 50) / 100
        n = sum(job.ios or 0 for d in ("read", "write") for job in own[d])
        chance = 4 * math.sqrt(wanted * (1 - wanted) / n) if n else 0.0
        if abs(share - wanted) > max(0.01, chance) and (_told(run) or given is not None or other is not None):
            yield Fault(
                level="warn", run=run, text=f"{fmt.percent(share, 3)} reads, asked for {fmt.percent(wanted)}"
            )
        slow, quick = (_mean_latency(own[d]) for d in ("read", "write"))
        if slow and quick and quick < slow / 8:
            yield Fault(
                level="warn", run=run,
                text=f"writes take {fmt.quantity(quick, 'ns')}, reads {fmt.quantity(slow, 'ns')}: {fmt.number(slow / quick)} ×",
            )  # fmt: skip


def _mean_latency(own: Sequence[Job]) -> float | None:
    pairs = [(job.iops, job.lat or job.clat) for job in own]
    known = [(iops, latency) for iops, latency in pairs if latency]
    total = sum(iops for iops, _ in known)
    return sum(iops * latency for iops, latency in known) / total if total else None


@check("F9", "error")
def depth_not_reached(results: Results) -> Iterator[Fault]:
    """an iodepth that had no effect

    A synchronous engine (sync, psync, pvsync …, fio's own default) has one I/O in flight whatever iodepth
    says. With an asynchronous one, fio counts how deep the queue was when it submitted (`IO depths`): less
    than half of the I/Os at the depth asked for means that it was not reached.

    Do: take libaio (with direct=1) or io_uring, or call it depth 1.
    """
    for run in good(results, "fio"):
        for job in _all(run):
            depth = whole(job.options.get("iodepth", 1)) or 1
            if depth <= 1:
                continue
            engine = _engine(job, run)
            if engine in _SYNC and engine not in ("net", "netsplice", "null"):
                yield Fault(
                    level="error", run=run, text=f"iodepth={depth} with ioengine={engine}: 1 in flight"
                )
                break
            share = _at_depth(run, depth)
            if share is not None and share < 0.5 and not any(name in job.options for name in _LIMITED):
                yield Fault(
                    level="error", run=run, text=f"{fmt.percent(share)} of the I/Os saw a queue of {depth} or near it"
                )  # fmt: skip
                break


def _at_depth(run: Run, depth: int) -> float | None:
    """Return the share of I/Os that were submitted at a depth in the bucket of `depth` or above; None if not printed."""
    bucket = 1 << min(6, depth.bit_length() - 1)
    shares: dict[object, dict[int, float]] = {}
    for record in run.records():
        if record["metric"] == "iodepth_level":
            step = whole(str(record.get("statistic")).removeprefix(">=")) or 0
            shares.setdefault((record.get("document"), record.get("job")), {})[step] = float(
                str(record["value"])
            )
    if not shares:
        return None
    # fio's buckets 1, 2, 4 … 32, >=64 hold what is up to the next one
    return max(sum(v for step, v in own.items() if step >= bucket) for own in shares.values())


@check("F10", "warn")
def state_and_depth(results: Results) -> Iterator[Fault]:
    """depth is blamed for what the device's state did

    Over the iodepths of cells that are otherwise alike: the latency falls by more than 10 % from one depth
    to a deeper one, or IOPS at the last depths fall more than 20 % below the best, where the depths ran in
    ascending order. A write cache that fills up while the depth grows looks so.

    Do: run the depths in random order (pinsweep does), with the device in the same state before each.
    """
    sweeps: dict[tuple[object, ...], dict[int, list[Run]]] = {}
    for run in good(results, "fio"):
        if depth := whole(run.options.get("iodepth")):
            sweeps.setdefault(siblings_key(run, ("iodepth",)), {}).setdefault(depth, []).append(run)
    for by_depth in sweeps.values():
        depths = sorted(by_depth)
        if len(depths) < 3:
            continue
        orders = [min(run.record.order_index for run in by_depth[d]) for d in depths]
        ascending = orders == sorted(orders) and all(len(by_depth[d]) == 1 for d in depths)
        for direction in _DIRECTIONS:
            lines = {d: [own for run in by_depth[d] if (own := jobs(run).get(direction))] for d in depths}
            measured = [d for d in depths if lines[d]]
            if len(measured) < 3:
                continue
            latency = {d: [v for own in lines[d] if (v := _mean_latency(own))] for d in measured}
            for a, b in itertools.pairwise(measured):
                if latency[a] and latency[b] and max(latency[b]) < 0.9 * min(latency[a]):
                    yield Fault(
                        level="warn", run=by_depth[b][0],
                        text=f"{direction} latency falls from {fmt.quantity(statistics.median(latency[a]), 'ns')} at depth {a} to "
                        f"{fmt.quantity(statistics.median(latency[b]), 'ns')} at {b}",
                    )  # fmt: skip
            iops = {d: statistics.median(sum(job.iops for job in own) for own in lines[d]) for d in measured}
            best = max(measured, key=lambda d: iops[d])
            if ascending and best != measured[-1] and iops[measured[-1]] < 0.8 * iops[best]:
                last = measured[-1]
                yield Fault(
                    level="warn", run=by_depth[last][0],
                    text=f"{direction}: {fmt.quantity(iops[last], 'IOPS')} at depth {last}, the last to run, are "
                    f"{fmt.percent(1 - iops[last] / iops[best])} below the {fmt.quantity(iops[best], 'IOPS')} at {best}",
                )  # fmt: skip


__all__ = ["asked", "by_cell", "in_flight", "jobs"]
