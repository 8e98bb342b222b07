"""fio: per direction IOPS, mean and quantiles of one latency, the jobs of the run together; over iodepth the peak.

Page, compare, fleet, history, lab, OpenMetrics and `show` all take their numbers from here. IOPS are summed over the jobs.

The latency of a run is `lat` (submission + completion) where fio tells how it is distributed, as `lat_percentiles=1` asks for,
else `clat` (completion): mean and quantiles are of the same one. The mean is weighted by I/Os, so that it is the mean of all I/Os
of the run; by IOPS, a job that ended early would count as if it had gone on. Quantiles are those of the joined bins of all jobs
(json+). Of one job without bins its printed percentiles stand; several have none then, since theirs do not make one.
"""

from __future__ import annotations

import math
import operator
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from parsers.measurement import Parsed, whole
from parsers.units import size_bytes
from reports.numbers import _others, formulas
from reports.numbers._quantiles import QUANTILES, latency, quantile, quantiles
from reports.numbers._repeats import median
from reports.numbers.formulas import Bucket
from reports.numbers.model import Buckets, Name, Number, Part
from reports.readings import reading
from reports.readings.fio import Columns, Job, bins, disks, jobs
from reports.results.model import Run
from reports.text import format as fmt

CURVE_AXIS = "iodepth"
PEAK = "IOPS"
WORKING_SET = ("size", "filesize")
ACCESSED = ("direct", "rwmixread", "rwmixwrite")
LIMITS = ("rate", "rate_iops", "thinktime")
WORDS: Final = {"lat": "latency", "clat": "completion latency"}
SYNC: Final = ("sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "net", "netsplice", "cpuio", "null", "ftruncate")  # fmt: skip
"""Engines that have one I/O in flight, whatever iodepth says."""


class Summary(NamedTuple):
    """A run in one direction, its jobs together."""

    direction: str
    iops: float | None  # 1/s, summed
    bandwidth: float | None  # B/s, summed
    iops_min: float | None  # 1/s, lowest and highest sample, of a report with one entry only
    iops_max: float | None
    iops_samples: float | None  # how many these are of, likewise
    which: str  # "lat" or "clat": what the latencies are, in all directions of a run
    mean: float | None  # ns
    p50: float | None
    p99: float | None
    p90: float | None  # these three where ten I/Os lie beyond them
    p999: float | None
    p9999: float | None
    largest: float | None  # ns, as fio prints it; None where an entry does not tell
    latencies: Mapping[str, float]  # all that are given: "mean", "p50", "p95", "p99", "p99.9" → ns
    steps: Mapping[str, float]  # of each of them that has one the width of its bin, ns
    binned: bool  # is their distribution told: has it `histograms`?


_FURTHER: Final = {"p90": 0.9, "p99.99": 0.9999}


class Binned(NamedTuple):
    """What the joined bins of a direction tell of the latency that is given of the run."""

    direction: str
    quantiles: Mapping[str, float]  # "p50" … "p99.9" → ns, those that so many I/Os fix
    steps: Mapping[str, float]  # of each of them the width of its bin, ns; of one that has none nothing
    further: Mapping[str, float]  # "p90", "p99.99" → ns, of which nothing is compared


@reading(Binned)
def binned(parsed: Parsed) -> Iterator[Binned]:
    """The directions that have bins, in the order of the text."""
    for direction, joined in _joined(parsed, _which(jobs(parsed))).items():
        told = [(n.name.statistic, n.value, n.step) for n in quantiles((), joined)]
        steps = {statistic: step for statistic, _, step in told if step is not None}
        more = zip(_FURTHER, formulas.quantiles(joined, [*_FURTHER.values()]), strict=True)
        further = {of: value for of, value in more if value is not None}
        yield Binned(direction, {of: value for of, value, _ in told}, steps, further)


@reading(Summary)
def summaries(parsed: Parsed) -> Iterator[Summary]:
    """The directions of a run, in the order of the text."""
    which = _which(jobs(parsed))
    joined = {of.direction: of for of in binned(parsed)}
    for direction, every in _by_direction(jobs(parsed)).items():
        own = [job for job in every if job.iops] or every
        alone = own[0] if len(own) == 1 else None
        latencies, steps = _latencies(own, which, joined.get(direction))
        p90, p999, p9999 = _further(own, which, joined.get(direction))
        yield Summary(
            direction=direction, which=which,
            iops=_total(job.iops for job in own), bandwidth=_total(job.bandwidth for job in own),
            iops_min=alone and alone.iops_min, iops_max=alone and alone.iops_max, iops_samples=alone and alone.iops_samples,
            mean=latencies.get("mean"), p50=latencies.get("p50"), p99=latencies.get("p99"), p90=p90, p999=p999, p9999=p9999,
            largest=_largest(own, which), latencies=latencies, steps=steps, binned=direction in joined,
        )  # fmt: skip


def _by_direction(entries: Iterable[Job]) -> dict[str, list[Job]]:
    found: dict[str, list[Job]] = {}
    for job in entries:
        found.setdefault(job.direction, []).append(job)
    return found


def _total(values: Iterable[float | None]) -> float | None:
    return sum(value or 0.0 for value in values) or None


def _which(entries: Iterable[Job]) -> str:
    """Return "lat" where its distribution is told of every entry, else "clat"; "lat" where some have nothing else."""
    timed = [job for job in entries if job.iops and (job.lat is not None or job.clat is not None)]
    told = all(job.lat_percentiles for job in timed)
    return "lat" if told or any(job.clat is None for job in timed) else "clat"


def _latencies(
    own: Sequence[Job], which: str, joined: Binned | None
) -> tuple[dict[str, float], dict[str, float]]:
    """Return what is given of the latency, and the step of each quantile, as `Summary` has them."""
    mean = _mean(own, which)
    found = {"mean": mean} if mean else {}
    if joined:
        return found | dict(joined.quantiles), dict(joined.steps)
    steps: dict[str, float] = {}
    if len(own) == 1:
        (job,) = own
        printed = job.lat_percentiles if which == "lat" else job.clat_percentiles
        for statistic, share in QUANTILES:
            value = printed.get(statistic)
            if value and (job.ios is None or formulas.fixed(share, job.ios)):
                found[statistic], steps[statistic] = value, bin_width(value)
    return found, steps


def _further(own: Sequence[Job], which: str, joined: Binned | None) -> list[float | None]:
    """Return p90, p99.9 and p99.99: as `_latencies` has the others."""
    shares = {**_FURTHER, "p99.9": 0.999}
    if joined:
        found: Mapping[str, float] = {**joined.further, **joined.quantiles}
    elif len(own) == 1:
        (job,) = own
        printed = job.lat_percentiles if which == "lat" else job.clat_percentiles
        found = {
            of: value
            for of, value in printed.items()
            if of in shares and (job.ios is None or formulas.fixed(shares[of], job.ios))
        }
    else:
        found = {}
    return [found.get(of) for of in ("p90", "p99.9", "p99.99")]


def _mean(own: Sequence[Job], which: str) -> float | None:
    """Return the mean over all I/Os; None where an entry was not timed. A text that counts no I/Os weighs by IOPS."""
    weights = [job.ios for job in own] if all(job.ios for job in own) else [job.iops for job in own]
    means = [job.lat if which == "lat" else job.clat for job in own]
    known = [(mean, weight) for mean, weight in zip(means, weights, strict=True) if mean and weight]
    if len(known) < len(own):
        return None
    if len(known) == 1:
        return known[0][0]  # as printed, to the last digit
    return sum(mean * weight for mean, weight in known) / sum(weight for _, weight in known)


def _largest(own: Sequence[Job], which: str) -> float | None:
    told = [job.lat_max if which == "lat" else job.clat_max for job in own]
    known = [value for value in told if value is not None]
    return max(known) if known and len(known) == len(told) else None


def _joined(parsed: Parsed, which: str) -> dict[str, Buckets]:
    """Return direction → the bins of all its entries, added up; nothing of a direction of which an entry has none."""
    found: dict[str, list[Columns]] = {}
    binned: set[tuple[object, ...]] = set()
    for entry, columns in bins(parsed, which):
        if columns[0]:
            found.setdefault(entry[2], []).append(columns)
            binned.add(entry)
    lacking = {j.direction for j in jobs(parsed) if j.iops and (j.document, j.job, j.direction) not in binned}
    return {direction: _added(own) for direction, own in found.items() if direction not in lacking}


def _added(found: Sequence[Columns]) -> Buckets:
    """Return the buckets of some bins, from the lowest; bins of the same ends are one."""
    if len(found) == 1 and all(
        map(operator.lt, found[0][0], found[0][0][1:])
    ):  # as fio prints those of one entry
        return tuple(map(Bucket, *found[0]))
    counts: dict[tuple[float, float], int] = {}
    for columns in found:
        for low, high, n in zip(*columns, strict=True):
            counts[low, high] = counts.get((low, high), 0) + n
    return tuple(Bucket(low, high, n) for (low, high), n in sorted(counts.items()))


def bin_width(value: float, bins: int = 64) -> float:
    """Return the width of the log-linear bin that a value lies in: fio cuts every power of two into 64, above 128 ns.

    >>> bin_width(36600)
    512.0
    """
    return 1.0 if value < 2 * bins else 2.0 ** (math.frexp(value)[1] - 1) / bins


def numbers(run: Run) -> Iterator[Number]:
    for of in summaries(run):
        part = _part(run, of.direction)
        if of.iops:
            yield Number(name=Name(metric="IOPS", unit="1/s", better="higher", part=part, made_of=f"IOPS/{of.direction}"), value=of.iops)  # fmt: skip
            for statistic, value in of.latencies.items():
                number = quantile(statistic, value, part, of.steps.get(statistic), WORDS[of.which])
                made_of = f"{number.name.tells_of}/{of.direction}"
                yield replace(number, name=replace(number.name, made_of=made_of))
        elif of.bandwidth:
            name = Name(metric="bandwidth", unit="B/s", better="higher", part=part)
            yield Number(name=name, value=of.bandwidth)


def _part(run: Run, direction: str) -> Part:
    """Return the label of a direction: reads of a verify phase are not those that somebody asks for."""
    return (("direction", f"verify {direction}" if is_verify(run, direction) else direction),)


def histograms(run: Run) -> list[tuple[Name, Buckets]]:
    """Return the latencies of each direction, those that `numbers` has quantiles of."""
    if run.parsed is None:
        return []
    which = _which(jobs(run))
    found = _joined(run.parsed, which).items()
    return [(latency(_part(run, d), metric=WORDS[which]), own) for d, own in found]


def peaks_within(
    cells: Mapping[int, Mapping[Name, Sequence[float]]], slo: float
) -> dict[Name, tuple[int, Name]]:
    """Return the name of the most IOPS whose p99 keeps an SLO (ns), per direction → the depth, and what they are called there.

    Nothing of a load that never goes beyond it, whose most is a bound, and of repeats that keep it at different depths.
    """
    found: dict[Name, tuple[int, Name]] = {}
    for rate in dict.fromkeys(name for own in cells.values() for name in own if name.quantity == "IOPS"):
        for which, word in WORDS.items():
            tail = latency(rate.part, "p99", metric=word)
            depths = {
                at: [*zip(own[rate], own[tail], strict=True)]
                for at, own in cells.items()
                if rate in own and tail in own
            }
            within = formulas.within_slo(depths, slo) if len(depths) >= 3 else None
            if within and not within.open and not within.bound:
                limit = fmt.scale_for([slo], "ns")
                metric = (
                    f"IOPS at p99{'' if which == 'lat' else ' clat'} ≤ {slo / limit.factor:.4g} {limit.unit}"
                )
                found[replace(rate, metric=metric, derived=True, made_of="")] = (within.depth, rate)
    return found


_JSON: Final = 1e-6
"""The last digit of its averages, in ns and in IOPS."""


def printed(runs: Iterable[Run | Parsed]) -> float:
    """Return the last digit of some runs' figures, as `fmt.number` takes it: that of JSON; 0 of texts, which round each figure to a unit of
    its own, and of JSON before fio 3, whose times are whole microseconds."""
    of = (run.parsed if isinstance(run, Run) else run for run in runs)
    return _JSON if all(map(_tells_all, of)) else 0.0


def _tells_all(parsed: Parsed | None) -> bool:
    facts = parsed.facts if parsed and not parsed.has("from_table") else {}
    whole_us = str(facts.get("tool_version", "")).startswith(("1.", "2."))
    return str(facts.get("format", "")).startswith("json") and not whole_us


def headline(repeats: Sequence[Parsed], spread: str = "") -> str:
    """Return "read 45.2 kIOPS, mean lat 174 µs"; of a mix "r/w 12.9/5.50 kIOPS, mean clat 55.8/2.52 µs", both in 50 characters."""
    every = [_asked_for(parsed) for parsed in repeats]  # not the summaries: their bins take longer
    kinds = {_which(jobs(parsed)) for parsed in repeats}
    found = [direction for direction in every[0] if all(direction in own for own in every)]
    if not found:
        return ""
    which = kinds.pop() if len(kinds) == 1 else ""
    iops = [median(lambda own: _total(job.iops for job in own[of]), every) for of in found]  # noqa: B023 (called at once)
    means = [median(lambda own: _mean(own[of], which), every) for of in found] if which else []  # noqa: B023
    name = found[0] if len(found) == 1 else "/".join(direction[0] for direction in found)
    step = printed(repeats)
    mean = f", mean {which} {_beside(means, 'ns', step)}" if any(means) else ""
    return f"{name} {_beside(iops, 'IOPS', step)}{spread}{mean}"


def _asked_for(parsed: Parsed) -> dict[str, list[Job]]:
    """Return what did I/O but the reads that verify a write."""
    found = directions(parsed).items()
    return {of: own for of, own in found if of != "read" or not all(_only_writes(job.options) for job in own)}


def _beside(values: Sequence[float | None], unit: str, step: float) -> str:
    """Return "12.9/5.50 kIOPS"."""
    if len(values) == 1:
        return fmt.quantity(values[0], unit, step=step)
    scale = fmt.scale_for(values, unit)
    return f"{'/'.join(scale.number(v, step=step) for v in values)} {scale.unit}"


class _Rate(NamedTuple):
    """What a run did in one direction."""

    iops: float  # 1/s
    bandwidth: float  # B/s; 0 where it is not told
    size: float  # of an I/O, B; 0 likewise


def rates(parsed: Parsed) -> dict[str, _Rate]:
    """Return direction → what a run did that was asked for."""
    found: dict[str, _Rate] = {}
    for direction, own in _asked_for(parsed).items():
        iops, bandwidth = _total(job.iops for job in own) or 0.0, _total(job.bandwidth for job in own) or 0.0
        found[direction] = _Rate(iops, bandwidth, _block(own, bandwidth / iops) if bandwidth else 0.0)
    return found


def _busiest(repeats: Sequence[Parsed]) -> list[_Rate]:
    """Return of each repeat the direction that moves most by the medians over all: the first of those that move as much."""
    every = [parsed.once(rates) for parsed in repeats]
    shared = [direction for direction in every[0] if all(direction in own for own in every)]
    most = max(shared, key=lambda of: statistics.median(own[of].bandwidth for own in every), default=None)
    return [own[most] for own in every] if most else []


def moved(cell: Sequence[Run]) -> list[tuple[float, float]]:
    """Return of each repeat the bandwidth (B/s) behind its leading number, and the bytes of an I/O; of a text without bandwidth IOPS times the
    block size; nothing where neither is told."""
    try:
        size = size_bytes(str(cell[0].options.get("bs", "")))
    except ValueError:
        size = 0
    busiest = _busiest([run.parsed for run in cell if run.parsed])
    told = ((of.bandwidth or of.iops * size, of.size or size) for of in busiest)
    return [one for one in told if all(one)]


def _block(own: Sequence[Job], moved: float) -> float:
    """Return how many bytes an I/O of some jobs has: the block size that all of them print, where it is about what they moved with
    each (1024 I/Os that are under way at the end of a short run are bytes and no I/Os); else that."""
    printed = {job.options.get("bs", "") for job in own}
    try:
        size = size_bytes(printed.pop()) if len(printed) == 1 else 0
    except ValueError:  # of each direction its own: "4k,64k"
        return moved
    return size if abs(moved - size) < _IN_FLIGHT * moved else moved


_IN_FLIGHT: Final = 0.05
"""Bytes over those of I/Os that were done, as a share."""


def leaders(repeats: Sequence[Parsed]) -> list[tuple[str, float]]:
    """Return the IOPS of the direction that moves most; of a text without IOPS its first number with a unit, and no count of I/Os."""
    return [("1/s", of.iops) for of in _busiest(repeats)] or [
        one for one in _others.leaders(repeats) if one[0] != "1"
    ]


# --- what a run asked for, and what it costs ---------------------------------------------------------------


def mixed(parsed: Parsed) -> bool:
    """Does a run read and write at once, so that `leading` is of a part of it?"""
    return len(directions(parsed)) > 1


def directions(of: Run | Parsed) -> dict[str, list[Job]]:
    """Return direction → the entries of the report that did I/O."""
    return _by_direction(job for job in jobs(of) if job.iops)


def options(run: Run, job: Job) -> dict[str, Any]:
    return {**job.options, **run.cell.options}


def tells_options(run: Run) -> bool:
    """Does the run tell all its options, so that one that is missing has fio's own value?"""
    form = str(run.parsed.facts.get("format", "")) if run.parsed else ""
    told = form.startswith("json") and any(job.options for job in jobs(run))
    return not run.captured or (told and not joined(run))


def joined(run: Run) -> bool:
    """Has group_reporting put several sections of a job file into an entry of a captured text? fio prints the options of one of them."""
    return run.captured and run.parsed is not None and bool(run.parsed.facts.get("joined"))


def depth_of_all(run: Run) -> int | None:
    """Return the iodepth of a run whose sections fio has put together (`joined`), where its figures show that the one it prints was that of
    all of them: 99 % of the I/Os were submitted at that depth or a deeper one, and by Little's law no more were in flight."""
    every, flight = {(job.document, job.job): job for job in jobs(run) if job.iops}.values(), in_flight(run)
    if len(every) != 1 or flight is None:
        return None
    (job,) = every
    depth, lasted = whole(options(run, job).get("iodepth")), max(j.runtime or 0.0 for j in jobs(run))
    ran = (job.job_runtime or 0.0) / lasted if lasted else 0.0
    at_least = sum(share for step, share in job.depths.items() if depth and step >= depth)
    return depth if depth in job.depths and at_least >= 0.99 and flight <= 1.03 * (depth or 0) * ran else None


def given(run: Run, name: str, default: Any = None, direction: str = "") -> set[Any]:  # noqa: ANN401
    """Return the values of an option over the entries that did I/O (in this direction); None among them: the text does not say.

    default: fio's own, of what a text that tells all its options leaves out.
    """
    own = {(j.document, j.job): j for j in jobs(run) if j.iops and direction in ("", j.direction)}.values()
    otherwise = default if tells_options(run) else None
    return {options(run, job).get(name, otherwise) for job in own}


def read_share(run: Run) -> int | None:
    """Return how many reads in a hundred a mix was to have; None where the text does not say or the jobs differ. fio's own half is said
    of what pinsweep ran: the options that a captured text prints may be those of one of its jobs."""
    reads, writes = ({whole(v) for v in given(run, name) - {None}} for name in ("rwmixread", "rwmixwrite"))
    if not reads and not writes and not run.captured:
        return 50
    shares = reads | {None if share is None else 100 - share for share in writes}
    return shares.pop() if len(shares) == 1 else None


def is_verify(run: Run, direction: str) -> bool:
    """Are these the reads with which a job that only writes verifies what it wrote?"""
    own = directions(run).get(direction, ())
    only_writes = bool(own) and all(_only_writes(options(run, job)) for job in own)
    return direction == "read" and only_writes and not joined(run)


def _only_writes(told: Mapping[str, Any]) -> bool:
    return str(told.get("rw") or told.get("readwrite")).split(":")[0] in ("write", "randwrite")


def utilisation(run: Run) -> float | None:
    """Return the share of the time in which the busiest disk had an I/O."""
    return max((disk.utilisation for disk in disks(run)), default=None)


def engine(run: Run, job: Job) -> str:
    """Return the ioengine, fio's own psync where none is asked for; "" where nothing tells it."""
    return str(options(run, job).get("ioengine", "psync" if tells_options(run) else "")).split(":")[0]


def processes(run: Run, job: Job) -> int | None:
    """Return the processes behind an entry: as printed, else numjobs of an entry that is alone in its name. None: not known."""
    if job.processes or run.parsed is None:
        return job.processes
    if run.parsed.once(_entries_by_name)[job.name] > 1:
        return 1
    return whole(None if joined(run) else options(run, job).get("numjobs", 1 if tells_options(run) else None))


def _entries_by_name(parsed: Parsed) -> Counter[str | None]:
    """Return how many entries of the report have a name: there may be thousands, and each asks."""
    return Counter(name for _, _, name in {(job.document, job.job, job.name) for job in jobs(parsed)})


def job_count(run: Run, direction: str = "") -> int | None:
    """Return how many processes did the I/O (in this direction); None where the text does not say."""
    entries = {(j.document, j.job): j for j in jobs(run) if j.iops and direction in ("", j.direction)}
    counts = [processes(run, job) for job in entries.values()]
    return None if None in counts else sum(n or 0 for n in counts)


def beside(run: Run) -> Mapping[str, str]:
    """Return how many jobs ran, as the page's tables have it."""
    count = job_count(run)
    return {} if count is None else {"jobs": str(count)}


def asked(run: Run) -> int | None:
    """Return how many I/Os the run asked to keep in flight: Σ iodepth · processes over its entries. None if not known."""
    entries = {(job.document, job.job): job for own in directions(run).values() for job in own}
    parts = [(_iodepth(run, job), processes(run, job)) for job in entries.values()]
    known = [depth * n for depth, n in parts if depth is not None and n is not None]
    return sum(known) or None if len(known) == len(parts) else None


def _iodepth(run: Run, job: Job) -> int | None:
    """Return the iodepth that counts: 1 with a synchronous engine, fio's own 1 where its options are told and this is not."""
    if engine(run, job) in SYNC:
        return 1
    if joined(run):
        return None
    return whole(options(run, job).get("iodepth", 1 if tells_options(run) else None))


def in_flight(run: Run) -> float | None:
    """Return Σ IOPS · lat of a run, by Little's law; completion stands in for what has no lat. None where neither was timed. Reads that
    verify a write come after it."""
    parts = [
        (job.iops, job.lat or job.clat)
        for direction, own in directions(run).items() if not is_verify(run, direction)
        for job in own
    ]  # fmt: skip
    known = [(iops, time) for iops, time in parts if iops and time]
    return formulas.in_flight(known) if known and len(known) == len(parts) else None


def cpu_per_io(run: Run) -> float | None:
    """Return the CPU time (ns) of an I/O over all jobs of a run; None where a job does not tell its shares or its run time, or
    all say that they had none.

    fio's `usr_cpu` and `sys_cpu` are shares of `job_runtime`, which is summed over the processes of a group.
    """
    entries = {(job.document, job.job): job for job in jobs(run)}.values()
    costs = [
        (job.usr_cpu + job.sys_cpu) * job.job_runtime
        for job in entries
        if job.usr_cpu is not None and job.sys_cpu is not None and job.job_runtime is not None
    ]
    ios = sum(job.ios or 0 for job in jobs(run))
    known = sum(costs) > 0 and len(costs) == len(entries)  # fio writes less than half of its last digit as 0
    return formulas.cpu_per_io(1.0, 0.0, sum(costs), ios) if known else None
