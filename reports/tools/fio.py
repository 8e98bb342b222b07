"""fio: IOPS per direction, mean and quantiles of the latency, with charts and checks.

IOPS are summed over the jobs of a run. The latency is `lat` (submission + completion) if every entry has a distribution
of `lat`, as with `lat_percentiles=1`. Otherwise the latency is `clat` (completion). The mean is weighted by I/Os.
Quantiles come from the joined bins of all jobs (json+). Without bins, a single entry gives the printed percentiles, and
several entries give no quantiles.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from orchestrator.tools.fio import known
from parsers.measurement import Parsed, Scalar, number, whole
from reports.chart import Chart, Point, Rule, Title
from reports.checks import Fault, Level, check
from reports.checks._cells import (
    QUOTE_THE_TAIL,
    from_table,
    in_bytes,
    is_set,
    siblings,
    siblings_key,
    sweeps,
    typed_options,
)
from reports.document import Figure, Quantity
from reports.numbers import formulas
from reports.numbers._quantiles import QUANTILES, latency, quantile, quantiles
from reports.numbers.formulas import Bucket
from reports.numbers.model import Buckets, Name, Number, Part
from reports.numbers.repeats import Repeats, cells
from reports.results.convicted import CellKey
from reports.results.grouping import group_by
from reports.results.machines import machine_key
from reports.results.model import Results, Run
from reports.text import format as fmt
from reports.tools import _distributions, _generic
from reports.tools.base import MAX_HOSTS, Key, Tool

if TYPE_CHECKING:
    import pandas as pd

WORDS: Final = {"lat": "latency", "clat": "completion latency"}
SYNC: Final = ("sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "net", "netsplice", "cpuio", "null", "ftruncate")  # fmt: skip
"""Engines with one I/O in flight at any iodepth."""


# --- what fio prints ---------------------------------------------------------------------------------------

_PARTS: Final = ("read", "write", "trim")
_FIELDS: Final = {
    ("iops", "total"): "iops", ("iops", "min"): "iops_min", ("iops", "max"): "iops_max", ("iops", "mean"): "iops_mean", ("iops", "sd"): "iops_sd",
    ("bandwidth", "total"): "bandwidth", ("total_ios", "total"): "ios", ("runtime", "total"): "runtime", ("clat", "mean"): "clat",
    ("lat", "mean"): "lat", ("lat", "sd"): "lat_sd", ("clat", "max"): "clat_max", ("lat", "max"): "lat_max",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """An entry of the report in one direction: a process, or the processes joined by group_reporting. Unprinted
    values are None.
    """

    document: int | None = None
    job: int = 0
    name: str | None = None
    direction: str  # "read", "write", "trim"; "mixed" only if fio prints no parts
    iops: float | None = None  # 1/s, over the run
    iops_min: float | None = None  # 1/s, of the samples that fio takes
    iops_max: float | None = None
    iops_mean: float | None = None
    iops_sd: float | None = None
    bandwidth: float | None = None  # B/s, over the run
    ios: float | None = None
    runtime: float | None = None  # ns with I/O in this direction
    clat: float | None = None  # ns, mean
    lat: float | None = None
    lat_sd: float | None = None
    clat_max: float | None = None
    lat_max: float | None = None
    percentiles: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # "lat" → "p99" → ns
    processes: int | None = None
    depths: Mapping[int, float] = field(default_factory=dict)  # queue depth → share of the I/Os
    options: Mapping[str, str] = field(default_factory=dict)  # as printed

    @property
    def entry(self) -> _Entry:
        return self.document, self.job

    @property
    def time(self) -> float | None:
        """Return the mean latency, or the mean completion latency if fio prints no other latency."""
        return self.lat or self.clat


_Entry = tuple[int | None, int]


def jobs(source: Run | Parsed) -> tuple[Job, ...]:
    """Return the entries that the report has numbers of, in the order of the text."""
    parsed = source if isinstance(source, Parsed) else source.parsed
    return parsed.once(_jobs) if parsed else ()


def _jobs(parsed: Parsed) -> tuple[Job, ...]:
    options: dict[_Entry, dict[str, str]] = {}
    for row in parsed.tables["options"].records() if "options" in parsed.tables else ():
        options.setdefault(_entry(row.get("document"), row.get("job")), {})[str(row["option"])] = str(
            row.get("value", "")
        )
    printed = {
        _entry(row.get("document"), row.get("job")): whole(row.get("processes"))
        for row in (parsed.tables["jobs"].records() if "jobs" in parsed.tables else ())
    }
    names: dict[_Entry, Scalar] = {}
    values: dict[tuple[_Entry, Scalar], dict[tuple[str, str], float]] = {}
    for m in parsed.measured():
        if m.get("job") is not None:
            label = m.labels.get
            entry = _entry(label("document"), label("job"))
            names[entry] = label("name")
            values.setdefault((entry, label("direction")), {})[m.metric, str(label("statistic"))] = m.value
    out = []
    for (entry, direction), numbers in values.items():
        parts = [part for part in _PARTS if (entry, part) in values]
        if direction in parts or (direction == "mixed" and not parts):
            percentiles: dict[str, dict[str, float]] = {which: {} for which in WORDS}
            for (metric, statistic), value in numbers.items():
                if metric in percentiles and statistic[:1] == "p" and statistic[1:2].isdigit():
                    percentiles[metric][statistic] = value
            levels = ((s, v) for (m, s), v in values.get((entry, None), {}).items() if m == "iodepth_level")
            out.append(
                Job(
                    document=entry[0], job=entry[1], name=None if names[entry] is None else str(names[entry]), direction=str(direction),
                    **{name: numbers[key] for key, name in _FIELDS.items() if key in numbers}, percentiles=percentiles,
                    depths={whole(s.removeprefix(">=")) or 0: share for s, share in levels},
                    processes=printed.get(entry), options=options.get(entry, {}),
                )
            )  # fmt: skip
    return tuple(out)


@functools.cache
def _entry(document: Scalar, job: Scalar) -> _Entry:
    return whole(document), whole(job) or 0


def _joined_bins(parsed: Parsed, which: str) -> dict[str, Buckets]:
    """Return direction → the sum of the bins of all entries. A direction with an entry without bins is left out."""
    entries: dict[tuple[Scalar, Scalar, Scalar], list[Bucket]] = {}
    for document, job, _, direction, kind, low, high, n in parsed.tables["histogram"].rows if "histogram" in parsed.tables else ():  # fmt: skip
        if kind == which:
            bins = entries.setdefault((document, job, direction), [])
            bins.append(Bucket(number(low), number(high), int(number(n))))
    binned = {(*_entry(document, job), direction) for document, job, direction in entries}
    lacking = {j.direction for j in jobs(parsed) if j.iops and (*j.entry, j.direction) not in binned}
    directions = group_by(entries, lambda key: str(key[2]))
    return {
        direction: _added_up([entries[key] for key in keys])
        for direction, keys in directions.items()
        if direction not in lacking
    }


def _added_up(entries: Sequence[Sequence[Bucket]]) -> Buckets:
    if len(entries) == 1:
        return tuple(sorted(entries[0]))
    counts: Counter[tuple[float, float]] = Counter()
    for bins in entries:
        for bucket in bins:
            counts[bucket.low, bucket.high] += bucket.n
    return tuple(Bucket(low, high, n) for (low, high), n in sorted(counts.items()))


# --- numbers -----------------------------------------------------------------------------------------------


class Summary(NamedTuple):
    """A run in one direction, with all jobs combined."""

    direction: str
    iops: float | None  # 1/s, summed
    bandwidth: float | None  # B/s, summed
    which: str  # "lat" or "clat": the kind of latency
    latencies: Mapping[str, float]  # "mean", "p50", "p95", "p99", "p99.9" → ns, if known
    steps: Mapping[str, float]  # the width of the bin of each quantile, ns

    @property
    def mean(self) -> float | None:
        return self.latencies.get("mean")


def summaries(source: Run | Parsed) -> tuple[Summary, ...]:
    """Return the directions of a run, in the order of the text."""
    parsed = source if isinstance(source, Parsed) else source.parsed
    return parsed.once(_summaries) if parsed else ()


def _summaries(parsed: Parsed) -> tuple[Summary, ...]:
    entries = jobs(parsed)
    which = _which(entries)
    bins = _joined_bins(parsed, which)
    out = []
    for direction, every in group_by(entries, lambda job: job.direction).items():
        group = [job for job in every if job.iops] or every
        mean = _mean(group, which)
        steps: dict[str, float] = {}
        latencies = {"mean": mean} if mean else {}
        if direction in bins:
            of_bins = list(quantiles((), bins[direction]))
            latencies |= {n.name.statistic: n.value for n in of_bins}
            steps = {n.name.statistic: n.step for n in of_bins if n.step is not None}
        elif len(group) == 1:
            for statistic, share in QUANTILES:
                value = group[0].percentiles.get(which, {}).get(statistic)
                if value and (group[0].ios is None or formulas.fixed(share, group[0].ios)):
                    latencies[statistic], steps[statistic] = value, bin_width(value)
        out.append(Summary(direction, _total(job.iops for job in group), _total(job.bandwidth for job in group), which, latencies, steps))  # fmt: skip
    return tuple(out)


def _total(values: Iterable[float | None]) -> float | None:
    return sum(value or 0.0 for value in values) or None


def _which(entries: Iterable[Job]) -> str:
    """Return "lat" if every entry has a distribution of lat, or if some entries have only lat. Otherwise return
    "clat".
    """
    timed = [job for job in entries if job.iops and (job.lat is not None or job.clat is not None)]
    return "lat" if all(job.percentiles.get("lat") for job in timed) or any(job.clat is None for job in timed) else "clat"  # fmt: skip


def _mean(group: Sequence[Job], which: str) -> float | None:
    """Return the mean over all I/Os, or None if an entry was not timed. Without I/O counts, IOPS are the weights."""
    weights = [job.ios for job in group] if all(job.ios for job in group) else [job.iops for job in group]
    means = [job.lat if which == "lat" else job.clat for job in group]
    pairs = [(mean, weight) for mean, weight in zip(means, weights, strict=True) if mean and weight]
    if len(pairs) < len(group):
        return None
    if len(pairs) == 1:
        return pairs[0][0]  # as printed, to the last digit
    return sum(mean * weight for mean, weight in pairs) / sum(weight for _, weight in pairs)


def bin_width(value: float, bins: int = 64) -> float:
    """Return the width of the log-linear bin of a value. Above 128 ns, fio divides every power of two into 64 bins.

    >>> bin_width(36600)
    512.0
    """
    return 1.0 if value < 2 * bins else 2.0 ** (math.frexp(value)[1] - 1) / bins


def _part(run: Run, direction: str) -> Part:
    """Return the label of a direction. Reads of a verify phase have a separate label."""
    return (("direction", f"verify {direction}" if is_verify(run, direction) else direction),)


def _rates(cell: Repeats) -> list[Name]:
    """Return the IOPS of each direction, without the reads that verify a write."""
    return [n for n in cell.columns if n.metric == "IOPS" and not str(dict(n.part)["direction"]).startswith("verify")]


def _block(group: Sequence[Job], moved: float) -> float:
    """Return the bytes of an I/O: the printed block size if within 5 % of the moved bytes per I/O, else that
    quotient.

    I/Os in flight at the end of a short run count as bytes, but not as I/Os.
    """
    printed = {job.options.get("bs", "") for job in group}
    size = in_bytes(printed.pop()) if len(printed) == 1 else None  # "4k,64k" has one size per direction
    return size if size and abs(moved - size) < 0.05 * moved else moved


# --- what a run asked for ----------------------------------------------------------------------------------


def directions(source: Run | Parsed) -> dict[str, list[Job]]:
    """Return direction → the entries of the report that did I/O."""
    return group_by((job for job in jobs(source) if job.iops), lambda job: job.direction)


def options(run: Run, job: Job) -> dict[str, Any]:
    return {**job.options, **run.cell.options}


def tells_options(run: Run) -> bool:
    """Does the text hold all options, so that a missing one has fio's default?"""
    form = str(run.parsed.facts.get("format", "")) if run.parsed else ""
    complete = form.startswith("json") and any(job.options for job in jobs(run))
    return not run.captured or (complete and not joined(run))


def joined(run: Run) -> bool:
    """Return whether captured output joins several sections of a job file (group_reporting). fio prints the options
    of only one section.
    """
    return run.captured and run.parsed is not None and bool(run.parsed.facts.get("joined"))


def _option_values(run: Run, name: str) -> set[Any]:
    """Return the known values of an option over the entries with I/O."""
    return {options(run, job).get(name) for job in jobs(run) if job.iops} - {None}


def read_share(run: Run) -> int | None:
    """Return the requested percentage of reads in a mix. An unknown value or jobs that differ give None.

    fio's default of 50 counts only for runs of pinsweep, because captured output may print the options of one job of
    several.
    """
    reads, writes = ({whole(v) for v in _option_values(run, name)} for name in ("rwmixread", "rwmixwrite"))
    if not reads and not writes and not run.captured:
        return 50
    shares = reads | {None if share is None else 100 - share for share in writes}
    return shares.pop() if len(shares) == 1 else None


def is_verify(run: Run, direction: str) -> bool:
    """Return whether the reads only verify the writes of a job."""
    group = directions(run).get(direction, ())
    return direction == "read" and bool(group) and all(_only_writes(options(run, job)) for job in group) and not joined(run)  # fmt: skip


def _only_writes(settings: Mapping[str, Any]) -> bool:
    return _rw_of(settings).split(":")[0] in ("write", "randwrite")


def _rw_of(settings: Mapping[str, Any]) -> str:
    return str(settings.get("rw") or settings.get("readwrite"))


def engine(run: Run, job: Job) -> str:
    """Return the ioengine, or fio's default psync if no engine was requested. An unknown engine is ""."""
    return str(options(run, job).get("ioengine", "psync" if tells_options(run) else "")).split(":")[0]


def processes(run: Run, job: Job) -> int | None:
    """Return the number of processes of an entry as printed, or numjobs of an entry with a unique name. Unknown
    counts are None.
    """
    if job.processes or run.parsed is None:
        return job.processes
    if run.parsed.once(_entries_by_name)[job.name] > 1:
        return 1
    return whole(None if joined(run) else options(run, job).get("numjobs", 1 if tells_options(run) else None))


def _entries_by_name(parsed: Parsed) -> Counter[str | None]:
    return Counter(name for _, name in {(job.entry, job.name) for job in jobs(parsed)})


def requested_depth(run: Run) -> int | None:
    """Return the requested I/Os in flight, Σ iodepth · processes over all entries, or None if unknown."""
    entries = {job.entry: job for job in jobs(run) if job.iops}.values()
    parts = [(_iodepth(run, job), processes(run, job)) for job in entries]
    pairs = [depth * n for depth, n in parts if depth is not None and n is not None]
    return sum(pairs) or None if len(pairs) == len(parts) else None


def _iodepth(run: Run, job: Job) -> int | None:
    """Return the effective iodepth: 1 for a synchronous engine, or fio's default of 1 if all options are known."""
    if engine(run, job) in SYNC:
        return 1
    return None if joined(run) else whole(options(run, job).get("iodepth", 1 if tells_options(run) else None))


def in_flight(run: Run) -> float | None:
    """Return Σ IOPS · latency of a run (Little's law), without verify reads, or None if an entry was not timed."""
    group = [job for d, entries in directions(run).items() if not is_verify(run, d) for job in entries]
    pairs = [(job.iops, job.time) for job in group if job.iops and job.time]
    return formulas.in_flight(pairs) if pairs and len(pairs) == len(group) else None


# --- charts ------------------------------------------------------------------------------------------------

_MEDIANS: Final = {"metric": tuple(WORDS.values()), "statistic": "p50"}

LIMITS: Final = (100e3, 1e6, 10e6)
"""Limits on p99 (ns): a flash array, a service on disks, and human patience."""

AXES: Final = ("iodepth", "block_size", "numjobs", "rwmixread")
"""Axes that a curve may go over: the first that a sweep varies."""


def access(rw: object, direction: str) -> str:
    """Return the access, such as "randread", "randrw, reads", or "reads" if the output does not show the pattern."""
    kind = "" if rw is None or rw != rw else str(rw).partition(":")[0]
    if kind in ("", direction, f"rand{direction}") or direction == "mixed":
        return kind or f"{direction}s"
    return f"{kind}, {direction}s"


def _with_access(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with `access`, `block_size` (B) and numeric axes."""
    from parsers.frames import pd

    if "access" in rows and "block_size" in rows:
        return rows
    settings = {text: json.loads(text) for text in rows["options"].unique()}
    kinds = {text: options.get("rw", options.get("readwrite")) for text, options in settings.items()}
    pairs = zip(rows["options"], rows["direction"], strict=True)
    accesses = [access(kinds[text], str(direction)) for text, direction in pairs]
    numeric = {axis: pd.to_numeric(rows[axis], errors="coerce") for axis in AXES if axis in rows}
    known = {size: in_bytes(size) or math.nan for size in rows["bs"].unique()} if "bs" in rows else {}
    sizes = rows["bs"].map(known) if known else math.nan
    return rows.assign(access=accesses, block_size=sizes, **numeric)


def _over(axis: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return the filter for sweeps with this first axis. "" selects sweeps without axes."""

    def rows(frame: pd.DataFrame) -> pd.DataFrame:
        frame = _with_access(frame)
        first = next((name for name in AXES if name in frame and frame[name].nunique() > 1), "")
        return frame if first == axis else frame[:0]

    return rows


def _bandwidths(frame: pd.DataFrame) -> pd.DataFrame:
    """Return IOPS times the block size."""
    rows = _over("block_size")(frame)
    return rows.assign(value=rows["value"] * rows["block_size"], unit="B/s")


def _percentiles(axis: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return what picks the percentiles over an axis, with the `iops` of the same run and direction."""

    def rows(frame: pd.DataFrame) -> pd.DataFrame:
        frame = _over(axis)(frame)
        iops = frame[frame["metric"] == "IOPS"].set_index(["run", "direction"])["value"]
        group = frame[frame["statistic"].isin([statistic for statistic, _ in QUANTILES])]
        keys = zip(group["run"], group["direction"], strict=True)
        return group.assign(iops=[iops.get(key, math.nan) for key in keys])

    return rows


def _lines(rows: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield (access and panel, rows) of each line with one cell per depth, except for very many hosts."""
    names = [name for name in ("access", "bs", "where") if name in rows]
    if "iodepth" in rows and rows["where"].nunique() <= MAX_HOSTS:
        for _, line in rows.groupby(names, sort=False, dropna=False):
            if (line.groupby("iodepth")["point_id"].nunique() == 1).all():
                yield {name: line[name].iloc[0] for name in names}, line


def _subject(names: Mapping[str, Any]) -> str:
    """Return "Randread, 4k"."""
    return fmt.sentence(", ".join(str(names[name]) for name in ("access", "bs") if names.get(name)))


def _saturation(line: pd.DataFrame) -> tuple[int, float] | None:
    """Return the first depth with 95 % of the maximum IOPS, and the median there.

    None means that this depth is the deepest, or that the repeats disagree.
    """
    repeats = [dict(zip(group["iodepth"], group["value"], strict=True)) for _, group in line.groupby("repeat")]
    depths = formulas.saturations(repeats)
    if line["iodepth"].nunique() < 3 or len(depths) != 1 or depths[0] == line["iodepth"].max():
        return None
    return int(depths[0]), float(line.loc[line["iodepth"] == depths[0], "value"].median())


def _saturates(rows: pd.DataFrame) -> Mapping[str, Any] | None:
    """Return where the line with the most IOPS saturates."""
    lines = sorted(_lines(rows), key=lambda pair: -pair[1]["value"].max())
    full = _saturation(lines[0][1]) if lines else None
    return full and {"access": _subject(lines[0][0]), "depth": full[0], "iops": Quantity(full[1], "IOPS")}


def _most(rows: pd.DataFrame) -> Mapping[str, Any] | None:
    """Return the highest median of a cell."""
    medians = rows.groupby(["access", "point_id", "where"], sort=False)["value"].transform("median")
    best = {str(name): value for name, value in rows.iloc[int(medians.argmax())].items()}
    unit = "IOPS" if best["unit"] == "1/s" else best["unit"]
    return {"access": _subject(best), "most": Quantity(float(medians.max()), unit)}


def _saturation_rings(rows: pd.DataFrame) -> list[Point]:
    full = ((names, _saturation(line)) for names, line in _lines(rows))
    return [Point(x=at[0], y=at[1], label=f"95 % at {at[0]}", panel=_panel(names)) for names, at in full if at]


def _panel(names: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in names.items() if value is not None}


def _within(line: pd.DataFrame, limit: float) -> formulas.Within | None:
    """Return the highest IOPS of a line within a p99 limit, or None if no depth or every depth keeps the limit."""
    tail = line[line["statistic"] == "p99"]
    depths = {
        int(group["iodepth"].iloc[0]): [*zip(group["iops"], group["value"], strict=True)]
        for _, group in tail.groupby("iodepth")
    }
    within = formulas.within_slo(depths, limit) if depths else None
    return None if within is None or within.bound else within


def _limit(rows: pd.DataFrame) -> float | None:
    """Return the p99 limit (ns) that most lines keep at some depths only. In a tie, the tightest limit wins."""
    lines = [line for _, line in _lines(rows)]
    counts = {limit: sum(_within(line, limit) is not None for line in lines) for limit in LIMITS}
    return max(counts, key=lambda limit: (counts[limit], -limit)) if any(counts.values()) else None


def _limit_rule(rows: pd.DataFrame) -> list[Rule]:
    limit = _limit(rows)
    return [Rule(label=fmt.quantity(limit, "ns", 1), y=limit)] if limit else []


def _lines_within(rows: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame, formulas.Within]]:
    """Yield the lines that keep the limit at some depths, with the best depth within the limit."""
    limit = _limit(rows)
    for names, line in _lines(rows) if limit else ():
        if within := _within(line, limit or 0.0):
            yield names, line, within


def _limit_rings(rows: pd.DataFrame) -> list[Point]:
    points = []
    for names, line, within in _lines_within(rows):
        tail = line.loc[(line["statistic"] == "p99") & (line["iodepth"] == within.depth), "value"].median()
        label = f"{fmt.quantity(within.iops, 'IOPS')} at {within.depth}"
        points.append(Point(x=within.depth, y=float(tail), label=label, panel=_panel(names)))
    return points


def _keeps_limit(rows: pd.DataFrame) -> Mapping[str, Any] | None:
    """Return the most IOPS within the limit of the first line that has some."""
    for names, _, within in _lines_within(rows):
        limit = Quantity(_limit(rows), "ns")
        return {"access": _subject(names), "limit": limit, "iops": Quantity(within.iops, "IOPS"), "depth": within.depth}  # fmt: skip
    return None


def _cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of sweeps without axes, with the `name` of the cell."""
    rows = _over("")(frame)
    several = rows.groupby("point_id")["access"].transform("nunique") > 1
    names = rows["cell"].where(~several, rows["cell"] + ", " + rows["access"])
    return rows.assign(name=names.where(rows["cell"] != "(one cell)", rows["access"]))


def _slowest(rows: pd.DataFrame) -> Mapping[str, Any] | None:
    """Return the panel with the highest ratio of slowest step to median step, over at least five steps."""
    steps = rows[rows["statistic"] == "mean"].groupby("curve", sort=False)["value"]
    ratios = (steps.max() / steps.median())[steps.size() >= _MIN_STEPS]
    return {"curve": fmt.sentence(str(ratios.idxmax())), "ratio": Quantity(float(ratios.max()), "")} if len(ratios) else None  # fmt: skip


def _slowest_repeat(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the repeat of each curve with the slowest step, relative to the median of that repeat."""
    cell = ["point_id", "curve", "where"]
    means = rows[rows["statistic"] == "mean"].groupby([*cell, "run"], sort=False)["value"]
    runs = (means.max() / means.median()).groupby(level=cell, sort=False).idxmax()
    return rows[[key in set(runs) for key in rows[[*cell, "run"]].itertuples(index=False, name=None)]]


_SATURATES: Final = Title(template="{access}: IOPS saturate at iodepth {depth}, {iops}", values=_saturates)
_REACHES: Final = Title(template="{access} reaches {most}", values=_most)
_KEEPS: Final = Title(template="{access}: {iops} at depth {depth} keep p99 within {limit}", values=_keeps_limit)
_SLOWEST: Final = Title(template="{curve}: the slowest step is {ratio} × the median step", values=_slowest)

_ABOUT_LIMIT: Final = (
    "The horizontal line is a limit on p99. The circle marks the highest IOPS at which every repeat keeps this limit. "
    "A percentile needs ten I/Os beyond it."
)
_LOGGED: Final = {"IOPS": "IOPS", "bandwidth": "B/s", "window latency": "ns"}
_MIN_STEPS: Final = 5
_RATES: Final = {"metric": "IOPS"}
_MEANS: Final = {"metric": tuple(WORDS.values()), "statistic": "mean"}
_PANELS: Final = ("bs", "where")


def _curves(axis: str, name: str, **style: Any) -> Iterator[Chart]:  # noqa: ANN401 (fields of Chart)
    """Give the charts over one axis."""
    slug = axis.replace("_", "-")
    style |= {"x": axis, "x_title": name, "log_x": axis != "rwmixread"}
    marks: dict[str, Any] = {"rings": _saturation_rings} if axis == "iodepth" else {}
    yield Chart(id=f"fio-{slug}", title=f"IOPS by {name}", where=_RATES, rows=_over(axis), color="access", panels=_PANELS, y_unit="IOPS", titles=(_SATURATES, _REACHES), **style, **marks)  # fmt: skip
    yield Chart(id=f"fio-latency-{slug}", title=f"Mean latency by {name}", where=_MEANS, rows=_over(axis), color="access", panels=_PANELS, log_y=True, y_title="mean latency", **style)  # fmt: skip
    if marks:
        marks = {"rules": _limit_rule, "rings": _limit_rings, "titles": (_KEEPS,), "about": _ABOUT_LIMIT}
    yield Chart(id=f"fio-percentiles-{slug}", title=f"Latency percentiles by {name}", rows=_percentiles(axis), color="statistic", panels=("access", *_PANELS), log_y=True, y_title="latency", **style, **marks)  # fmt: skip


_CHARTS: Final = (
    *_curves("iodepth", "iodepth"),
    Chart(
        id="fio-bandwidth", title="Bandwidth by block size", where=_RATES, rows=_bandwidths, x="block_size", color="access", log_x=True, x_unit="B",
        x_title="block size", y_title="IOPS × block size", titles=(_REACHES,),
    ),
    *_curves("block_size", "block size", x_unit="B"),
    *_curves("numjobs", "jobs"),
    *_curves("rwmixread", "reads in a hundred"),
    Chart(id="fio-cells", title="IOPS by cell", kind="points", where=_RATES, rows=_cells, x="value", y="name", color="access", y_unit="IOPS", titles=(_REACHES,)),
    Chart(id="fio-latency-cells", title="Mean latency by cell", kind="points", where=_MEANS, rows=_cells, x="value", y="name", color="access", x_title="mean latency", log_x=True),
    *_distributions.charts("fio", "I/O"),
    Chart(
        id="fio-time", title="Latency over time", where={"metric": "logged latency"}, rows=_slowest_repeat, x="elapsed", color="statistic",
        panels=("curve", *_PANELS), log_y=True, x_unit="ns", x_title="time from the start", y_title="latency", titles=(_SLOWEST,),
        caption="From fio's logs, per second or a tenth of one. Of several repeats the one with the slowest step.",
    ),
    *(
        Chart(
            id=f"fio-logged-{metric.lower().replace(' ', '-')}", title=f"{fmt.sentence(metric)} over time", where={"metric": f"logged {metric}"}, x="elapsed", color="curve",
            panels=_PANELS, x_unit="ns", x_title="time from the start", y_unit=unit, y_title="" if unit == metric else metric,
            caption="What fio logged of each window, all jobs together.",
        )
        for metric, unit in _LOGGED.items()
    ),
)  # fmt: skip


# --- samples: bins and logs --------------------------------------------------------------------------------

_LOGS: Final = {"iops": "IOPS", "bw": "bandwidth", "lat": "window latency", "clat": "window latency"}


def _samples(run: Run) -> Iterator[dict[str, Any]]:
    """Yield the bins of a run and the steps of the logs. `curve` is the access and the place of the axes."""
    if run.parsed is None or not {"histogram", "log", "log_histogram"} & run.parsed.tables.keys():
        return
    labels = {k: v for k, v in run.cell.labels().items() if k not in ("rw", "readwrite", "bs")}

    def curve(direction: str) -> str:
        kind = access(run.options.get("rw", run.options.get("readwrite")), direction)
        return ", ".join([kind, *(f"{name} {value}" for name, value in labels.items())])

    for direction, buckets in _joined_bins(run.parsed, _which(jobs(run))).items():
        if not is_verify(run, direction):
            yield from _distributions.bins(curve(direction), buckets, order=_requested_iodepth(run))
    for direction, rows in _logs(run.parsed):
        yield from ({**row, "curve": curve(direction)} for row in rows)


def _logs(parsed: Parsed) -> Iterator[tuple[str, Iterator[dict[str, Any]]]]:
    """Give the rows of the logs of each direction."""
    from parsers.frames import pd

    tables = [parsed.tables[name].frame() for name in ("log", "log_histogram") if name in parsed.tables]
    if not tables:
        return
    frame = pd.concat(tables, ignore_index=True).reindex(columns=[*_LOG_COLUMNS])
    frame["log"] = frame["log"].fillna("bins")
    frame["count"] = frame["count"].fillna(1)
    binned = frame["log"] == "bins"
    frame["value"] = frame["value"].where(~binned, (frame["low"] + frame["high"] - 1) / 2)
    for direction, group in frame.groupby("direction", sort=False):
        yield str(direction), itertools.chain(_steps(group, is_cut=parsed.has("log_cut")), _windows(group))


_LOG_COLUMNS: Final = ("log", "job", "direction", "window", "time", "value", "low", "high", "count")


def _steps(log: pd.DataFrame, *, is_cut: bool) -> Iterator[dict[str, Any]]:
    """Yield mean and longest latency of each second of a run, or of each tenth of a second in a short run.

    Complete I/O logs are used first, then histograms, then I/O logs up to the end of the first job.
    """
    each, bins = log[log["window"] == 0], log[log["log"] == "bins"]
    each = each[each["log"] == ("lat" if (each["log"] == "lat").any() else "clat")]
    chosen = bins if len(bins) and (is_cut or each.empty) else each
    if chosen.empty:
        return
    ends = chosen.groupby("job", dropna=False)["time"].max()
    end = ends.min() if is_cut and chosen is each else ends.max()
    window = chosen["window"].iloc[0]
    step = max(1e9 if end >= _MIN_STEPS * 1e9 else 1e8, window)
    at = ((chosen["time"] - window / 2).clip(lower=0) // step).where(chosen["time"] <= end)
    group = chosen.assign(at=at, total=chosen["value"] * chosen["count"])
    group = group[group["at"] < int(end / step + 1e-6)]  # the last step is not whole
    for _, rows in group.groupby("at"):
        values = {"mean": rows["total"].sum() / rows["count"].sum(), "longest": rows["value"].max()}
        for statistic, value in values.items():
            yield {"metric": "logged latency", "unit": "ns", "statistic": statistic, "elapsed": (rows["at"].iloc[0] + 0.5) * step, "value": value}  # fmt: skip


def _windows(log: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the logged values of each common window of all jobs: summed IOPS and bandwidth, mean latencies."""
    log = log[(log["window"] > 0) & log["log"].isin([*_LOGS])]
    if (log["log"] == "lat").any():
        log = log[log["log"] != "clat"]
    for kind, group in log.groupby("log", sort=False):
        metric, window = _LOGS[str(kind)], group["window"].iloc[0]
        latest = group.assign(at=(group["time"] / window).round()).drop_duplicates(["at", "job"], keep="last")
        windows = latest.groupby("at")["value"]
        values = windows.mean() if metric == "window latency" else windows.sum()
        for at, value in values[windows.size() == group["job"].nunique(dropna=False)].items():
            yield {"metric": f"logged {metric}", "unit": _LOGGED[metric], "elapsed": at * window, "value": value}  # fmt: skip


def _medians(cell: Repeats, names: Sequence[Name], unit: str) -> str:
    """Return "12.9/5.50 kIOPS"."""
    medians = [cell.columns[name].median for name in names]
    if len(medians) == 1:
        return fmt.quantity(medians[0], unit)
    scale = fmt.scale_for(medians, unit)
    return f"{'/'.join(map(scale.number, medians))} {scale.unit}"


# --- checks ------------------------------------------------------------------------------------------------

FAMILY = (0, "Storage (fio)")

_LIMITED: Final = (
    "rate", "rate_iops", "rate_min", "rate_iops_min", "thinktime", "latency_target", "rate_process", "flow", "iodepth_low",
    "iodepth_batch", "iodepth_batch_submit", "iodepth_batch_complete", "iodepth_batch_complete_min",
)  # fmt: skip
"""Options that keep the queue from being full all the time."""

_WAITS: Final = ("fsync", "fdatasync", "sync_file_range", "write_barrier")
"""Options that delay a job outside of the I/O latency."""

_OTHER_ENDS: Final = ("steadystate", "ss", "number_ios")
_MIXES: Final = ("randrw", "rw", "readwrite")
_UNCACHED: Final = ("direct", "odirect", "fsync", "fdatasync", "sync")
_CACHED: Final = ("sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring", "posixaio", "splice", "windowsaio", "solarisaio")  # fmt: skip
"""Engines that use the page cache without direct=1."""

_PROGRESS: Final = re.compile(r"Jobs: \d+ \(f=\d+\), (?:\S+-\S+|[CM]R=)")
"""fio's progress line names a rate limit: "Jobs: 1 (f=1), 0-300 IOPS: [r(1)][100.0%]…"."""


def _of_run(level: Level, run: Run, text: str, *quoted: tuple[float, str]) -> Fault:
    """Return the faults in the numbers of one run."""
    return Fault(level=level, run=run, own=True, text=text, quoted=quoted)


def _active(run: Run) -> list[Job]:
    return [job for job in jobs(run) if job.iops]


def _iops(run: Run) -> float:
    return sum(job.iops or 0.0 for job in _active(run))


def _rw(run: Run) -> str:
    return _rw_of({**typed_options(run), **run.options})


def _has_phases(run: Run) -> bool:
    """Return whether the directions of a run were sequential, as with `verify` reads after the writes."""
    verified = "verify" in run.options or "verify" in typed_options(run)
    one_way = _rw(run).removeprefix("rand") in ("read", "write")
    return len(directions(run)) > 1 and (verified or one_way)


def _concurrent(run: Run) -> list[Job]:
    """Return the entries with I/Os in flight at the same time. For sequential directions, return the requested
    direction.
    """
    wanted = "read" if _rw(run) in ("read", "randread") else "write"
    return (directions(run).get(wanted) if _has_phases(run) else None) or _active(run)


def _iops_range(job: Job) -> tuple[float, float]:
    """Return the possible range of IOPS, because a text has truncated whole numbers."""
    iops = job.iops or 0.0
    return iops, iops + 1 if iops == int(iops) else iops


def _flights(group: Sequence[Job]) -> tuple[float, float] | None:
    """Return the least and the most that Σ IOPS · latency can be."""
    if not group or any(job.time is None for job in group):
        return None
    ends = [[iops * (job.time or 0.0) * 1e-9 for iops in _iops_range(job)] for job in group]
    return sum(low for low, _ in ends), sum(high for _, high in ends)


@check("F1", "error", "warn")
def little(results: Results) -> Iterator[Fault]:
    """in-flight I/Os differ from the requested depth

    Little's law: r = Σ IOPS · latency ÷ (iodepth · jobs) is 0.99 to 1.00 in real runs. Error: r > 1.03 + longest
    latency ÷ run time, which is impossible. Warning: r < 0.9, the queue was not full. Latencies under 2 µs and joined
    job sections are not judged. r < 0.9 is not judged for runs under 1 s, limited rates, verify and cut texts. Losses
    below 3 µs per I/O (20 µs for a synchronous engine) are not judged either.

    Do: look at the raw output of an impossible row; do not quote the iodepth as the load if the queue was not full.
    """
    for run in results.good("fio"):
        wanted, group = requested_depth(run), _concurrent(run)
        flights = _flights(group)
        if wanted is None or flights is None or any((job.time or 0) < 2000 for job in group) or joined(run):
            continue
        low, high = flights
        ended = ((job.lat_max or job.clat_max or 0.0) / job.runtime for job in group if job.runtime)
        beyond = max(ended, default=0.0)
        level: Level | None = None
        if low / wanted > 1.03 + beyond:
            level = "error"
        elif high / wanted < 0.9 and all(job.lat for job in group) and not _may_idle(run):
            synchronous = any(engine(run, job) in SYNC for job in group)
            idle_ns = (wanted - high) / sum(job.iops or 0.0 for job in group) * 1e9
            level = "warn" if idle_ns > (20e3 if synchronous else 3e3) else None
        if level:
            yield _of_run(level, run, f"{fmt.number(low)} in flight, {wanted} requested")


def _is_limited(run: Run, *more: str) -> bool:
    """Was a rate, a think time or a smaller queue set, by an option or as the line of progress shows?"""
    names = {*typed_options(run), *(name for job in _active(run) for name in options(run, job))}
    progress = _PROGRESS.search(run.stdout) or _PROGRESS.search(run.stderr)
    return bool(progress) or not names.isdisjoint((*_LIMITED, *more))


def _may_idle(run: Run) -> bool:
    short = any(job.runtime is not None and job.runtime < 1e9 for job in _active(run))
    averaged = "mixed" in directions(run)
    return _is_limited(run, *_WAITS) or short or averaged or _has_phases(run) or _is_cut(run)


def _is_cut(run: Run) -> bool:
    """Does the text end early? A direction or a figure may be missing."""
    return bool(run.parsed and run.parsed.has("truncated"))


@check("F2", "error")
def number_of_jobs(results: Results) -> Iterator[Fault]:
    """numjobs differs between command and results

    The command line has another numjobs than the rows. The median of L ÷ iodepth over all such rows (at least three) is the number of jobs
    that ran.

    Do: quote the number of jobs that the numbers show, and correct the other.
    """
    groups: dict[tuple[str, str, int, int], list[tuple[Run, float]]] = {}
    for run in results.good("fio"):
        typed, row = whole(typed_options(run).get("numjobs")), whole(run.options.get("numjobs"))
        depth, flight = whole(run.options.get("iodepth")), in_flight(run)
        if run.captured and typed and row and depth and flight and typed != row:
            groups.setdefault((run.file, run.cell.sweep, typed, row), []).append((run, flight / depth))
    for (_, _, typed, row), members in groups.items():
        if len(members) < 3:
            continue
        middle = statistics.median(count for _, count in members)
        right = min((typed, row), key=lambda n: abs(math.log(middle / n)))
        yield Fault(
            level="error", run=members[0][0], cell=fmt.plural(len(members), "row"), runs=tuple(run for run, _ in members),
            text=f"the command has numjobs={typed}, the rows {row}; L ÷ iodepth is {fmt.number(middle, 2)}: {right} jobs ran",
        )  # fmt: skip


@check("F3", "error", "warn")
def block_size(results: Results) -> Iterator[Fault]:
    """block size contradicts the rates

    Bandwidth is IOPS · bs. Error: bandwidth ÷ IOPS differs from the stated bs by more than 5 %. If the command line has
    another bs than the row, the bandwidth with each bs is compared with the highest sibling cell, with the same rw if
    possible. Siblings from other files may be on another device, and give a warning.

    Do: quote the block size that the rates show, and correct the other.
    """
    typed_sizes: dict[tuple[CellKey, str, int, int], list[Run]] = {}
    peaks: dict[tuple[CellKey, str, str], list[float]] = {}
    for run in results.good("fio"):
        size = in_bytes(run.options.get("bs"))
        if size is None:
            continue
        typed, machine = in_bytes(typed_options(run).get("bs", "?")), machine_key(run)
        if run.captured and typed is not None and typed != size:
            typed_sizes.setdefault((machine, run.cell.sweep, typed, size), []).append(run)
        else:
            key = machine, run.cell.sweep, str(run.options.get("rw"))
            peaks.setdefault(key, []).append(_iops(run) * size)
        for job in () if joined(run) else _active(run):
            stated = in_bytes(options(run, job).get("bs", "?"))
            low, high = _iops_range(job)
            if stated and job.bandwidth and job.iops and not 0.95 * stated * low <= job.bandwidth <= 1.05 * stated * high:  # fmt: skip
                text = f"a {job.direction} moves {fmt.size(round(job.bandwidth / job.iops))}, stated {fmt.size(stated)}"
                yield Fault(level="error", run=run, text=text)
    for (machine, sweep, a, b), members in typed_sizes.items():
        rw = str(members[0].options.get("rw"))
        same_machine = {key: rates for key, rates in peaks.items() if key[:2] == (machine, sweep)}
        near = same_machine or {key: rates for key, rates in peaks.items() if (key[0][0], key[1]) == (machine[0], sweep)}  # fmt: skip
        same_rw = [rate for key, rates in near.items() if key[2] == rw for rate in rates]
        others = same_rw or [rate for rates in near.values() for rate in rates]
        if others:
            iops, plateau = max(map(_iops, members)), max(others)
            right = min((a, b), key=lambda size: abs(math.log(iops * size / plateau)))
            yield Fault(
                level="error" if same_machine else "warn", run=members[0], cell=fmt.plural(len(members), "row"), runs=tuple(members),
                text=f"the command has bs={fmt.size(a)}, the rows {fmt.size(b)}: {fmt.quantity(iops * a, 'B/s')} or {fmt.quantity(iops * b, 'B/s')}; "
                f"other cells reach {fmt.quantity(plateau, 'B/s')}: {fmt.size(right)} is right",
            )  # fmt: skip


@check("F4", "error", "warn")
def ended_early(results: Results) -> Iterator[Fault]:
    """run ended before its runtime

    A run without time_based ends after size · jobs bytes. Warning: the printed run time is under 0.9 × runtime. Error:
    in a table, size · jobs ÷ (IOPS · bs) is under 0.9 × the quoted runtime. Runs that end at a steady state or after a
    number of I/Os are not judged.

    Do: set time_based and a ramp_time, and measure again.
    """
    for run in results.good("fio"):
        limit = _seconds(run.options.get("runtime"))
        other_end = is_set(run.options, "time_based") or any(name in run.options for name in _OTHER_ENDS)
        if limit is None or other_end or (run.parsed and run.parsed.has("interrupted")):
            continue
        group = _active(run)
        lasted = max((job.runtime for job in group if job.runtime), default=None)
        size, block, number = (in_bytes(run.options.get(n)) for n in ("size", "bs", "numjobs"))
        if lasted is not None and tells_options(run):
            if size and lasted * 1e-9 < 0.9 * limit:
                yield _of_run("warn", run, f"lasted {fmt.seconds(lasted * 1e-9)} of runtime={fmt.seconds(limit)}")
        elif from_table(run) and size and block and group:
            possible = size * (number or 1) / (_iops(run) * block)
            if possible < 0.9 * limit:
                text = f"all data was moved after {fmt.seconds(possible)}, the stated run time is {fmt.seconds(limit)}"
                yield _of_run("error", run, text)


_UNITS: Final = {"": 1.0, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def _seconds(value: object) -> float | None:
    """Return fio's time in seconds (`20`, `30s`, `5m`), or None for any other text."""
    match = re.fullmatch(r"([0-9.]+)([a-z]*)", str(value).strip().lower())
    try:
        return float(match[1]) * _UNITS[match[2]] if match else None
    except (KeyError, ValueError):
        return None


@check("F6", "warn")
def not_steady(results: Results) -> Iterator[Fault]:
    """rate not steady

    The check reads the samples that fio takes. A run is flagged if the mean is outside of [minimum, maximum]. A run is
    flagged if maximum ÷ minimum is above 1.2 with a standard deviation above 10 % of the mean. A run is flagged if the
    mean of the samples is more than 5 % off total ÷ run time. Several processes in one entry need a ratio above 2,
    because fio adds up the extremes of the processes. Runs under 4 s are not judged.

    Do: run longer, with a ramp_time; write an SSD full first. Do not quote the mean as the sustained rate of the
    device.
    """
    for run in results.good("fio"):
        for direction, group in () if _is_cut(run) else directions(run).items():
            long = (job for job in group if job.runtime is None or job.runtime >= 4e9)
            texts = [text for job in long if (text := _unsteady(run, job))]
            if texts:
                count = f"{len(texts)} of {len(group)} jobs, the first: " if len(group) > 1 else ""
                yield _of_run("warn", run, f"{direction}: {count}{texts[0]}")


def _unsteady(run: Run, job: Job) -> str:
    iops, low, high = job.iops or 0.0, job.iops_min, job.iops_max
    if low is None or high is None:
        return ""
    mean = iops if job.iops_mean is None else job.iops_mean
    between = f"samples from {fmt.quantity(low, 'IOPS', step=1.0)} to {fmt.quantity(high, 'IOPS', step=1.0)}"
    if not low * 0.99 <= mean <= high * 1.01:
        return f"{between}, their mean is {fmt.quantity(mean, 'IOPS')}"
    several = (processes(run, job) or 1) > 1
    is_wide = low <= 0 or high / low > (2 if several else 1.2)
    if is_wide and (job.iops_sd is None or several or job.iops_sd > 0.1 * mean):
        return between
    fewest, most = _iops_range(job)
    if not several and not 0.95 * fewest <= mean <= 1.05 * most:
        return (
            f"the mean of the samples is {fmt.quantity(mean, 'IOPS')}, total ÷ run time is {fmt.quantity(iops, 'IOPS')}"
        )
    return ""


@check("F7", "error", "warn", "info")
def page_cache(results: Results) -> Iterator[Fault]:
    """page cache measured instead of the device

    With direct=0, reads and unsynced writes go through the page cache, for engines that use the cache. An I/O under 10
    µs is an error, except for sequential reads, because the kernel reads ahead. libaio with an iodepth above 1 is an
    error, because the depth has no effect without direct=1. Other cases are a warning. Info if `direct` is an axis of
    the sweep.

    Do: set direct=1, or read the figure as that of a copy in memory.
    """
    for run in results.good("fio"):
        for direction, group in directions(run).items():
            if not all(_is_buffered(run, job) for job in group):
                continue
            timed = [(time, job) for job in group if (time := _io_time(run, job)) is not None]
            deep = any(engine(run, job) == "libaio" and _depth(run, job) > 1 for job in group)
            fast = bool(timed) and max(time for time, _ in timed) < 10e3
            is_memory = deep or (fast and not all(_is_read_ahead(run, job) for job in group))
            level: Level = "info" if sweeps(run, "direct") else "error" if is_memory else "warn"
            weights = [(job.ios if all(j.ios for _, j in timed) else job.iops) or 0.0 for _, job in timed]
            means = [(statistics.fmean([time for time, _ in timed], weights), "ns")] if timed else []
            text = f"direct=0, {direction}{' takes {}' if timed else ''}{': libaio waits for each I/O' if deep else ''}"
            yield _of_run(level, run, text, *means)


def _depth(run: Run, job: Job) -> int:
    return whole(options(run, job).get("iodepth", 1)) or 1


def _is_buffered(run: Run, job: Job) -> bool:
    typed = typed_options(run)
    settings = {**typed, **options(run, job)}
    complete = "direct" in settings or tells_options(run) or "name" in typed
    cached = engine(run, job) in (*_CACHED, "") and not any(is_set(settings, name) for name in _UNCACHED)
    return complete and cached


def _is_read_ahead(run: Run, job: Job) -> bool:
    """Return whether the reads were sequential, so that the kernel fetched blocks ahead."""
    settings = options(run, job)
    rw = str(settings.get("rw") or settings.get("readwrite") or _rw(run)).partition(":")[0]
    return job.direction == "read" and rw in ("read", "rw", "readwrite", "None")  # fio's default is read


def _io_time(run: Run, job: Job) -> float | None:
    """Return the time of one buffered I/O in ns: processes ÷ IOPS with one I/O in flight each, or a smaller latency."""
    count = processes(run, job) if engine(run, job) in (*SYNC, "libaio") and not joined(run) else None
    each = count / job.iops * 1e9 if count and job.iops else None
    return min((t for t in (job.time, each) if t is not None), default=None)


@check("F8", "warn")
def mixed_load(results: Results) -> Iterator[Fault]:
    """mix differs from rwmixread, or a write cache was measured

    Reads ÷ all I/Os are off rwmixread by more than one point, and by more than the random error 4 √(p(1-p)/n). Or the
    write latency is below an eighth of the read latency, because a write cache took the writes. Runs through the page
    cache (F7) and runs that verify are not judged.

    Do: run longer than the cache lasts, or write the device full first; quote the share that was reached.
    """
    mixes = [run for run in results.good("fio") if _rw_of(run.options) in _MIXES]
    cached = {fault.run for fault in page_cache(results)} if mixes else set()
    for run in mixes:
        by_direction = {summary.direction: summary for summary in summaries(run) if summary.iops}
        reads, writes = (sum(job.iops or 0.0 for job in directions(run).get(d, ())) for d in ("read", "write"))
        if not reads or not writes or joined(run) or _has_phases(run):
            continue
        share, wanted = reads / (reads + writes), read_share(run)
        if wanted is not None:
            p = wanted / 100
            cut = sum(high - low for low, high in map(_iops_range, _active(run))) / (reads + writes)
            n = sum(job.ios or 0 for job in _active(run) if job.direction in ("read", "write"))
            chance = 4 * math.sqrt(p * (1 - p) / n) if n else 0.0
            if abs(share - p) > max(0.01, chance) + cut:
                yield _of_run("warn", run, f"{fmt.percent(share, 3)} reads, {fmt.percent(p)} requested")
        slow, fast = (by_direction[d].mean for d in ("read", "write"))
        if slow and fast and fast < slow / 8 and run not in cached:
            yield _of_run("warn", run, "writes take {}, reads {}", (fast, "ns"), (slow, "ns"))


@check("F9", "error")
def depth_not_reached(results: Results) -> Iterator[Fault]:
    """iodepth without effect

    A synchronous engine (sync, psync, …, fio's default) has one I/O in flight at any iodepth. For an asynchronous
    engine, fewer than half of the I/Os were submitted at the requested depth (`IO depths`). Runs with fewer than 4 ·
    iodepth I/Os per process, limited rates, think times, latency targets and batches are not judged.

    Do: use libaio (with direct=1) or io_uring, or call it depth 1.
    """
    for run in results.good("fio"):
        for job in _active(run):
            depth, name = _depth(run, job), engine(run, job)
            if depth <= 1 or name == "null":  # the null engine has no I/O in flight
                continue
            if name in SYNC and name not in ("net", "netsplice"):
                yield Fault(level="error", run=run, text=f"iodepth={depth} with ioengine={name}: 1 in flight")
                break
            share = _share_at(run, depth)
            few = job.ios is not None and job.ios < 4 * depth * (processes(run, job) or 1)
            if share is not None and share < 0.5 and not few and not _is_limited(run) and not joined(run):
                yield _of_run("error", run, f"{fmt.percent(share)} of the I/Os saw a queue of {depth} or near it")
                break


def _share_at(run: Run, depth: int) -> float | None:
    """Return the share of I/Os submitted in the bucket of `depth` or above, or None if not printed."""
    bucket = 1 << min(6, depth.bit_length() - 1)  # 1, 2, 4 … 32, >=64
    shares = (sum(v for step, v in job.depths.items() if step >= bucket) for job in jobs(run) if job.depths)
    return max(shares, default=None)


@check("F10", "warn")
def state_and_depth(results: Results) -> Iterator[Fault]:
    """device state changed over the depths

    The cells differ only in iodepth. The latency falls by more than 10 % from one depth to a deeper one. Or IOPS at the
    last depth are more than 20 % below the best, if the depths ran in ascending order. A write cache that fills up
    looks so. A latency that falls in every repeat of rounds in random order is not judged.

    Do: run the depths in random order (pinsweep does), with the device in the same state before each.
    """
    runs = [run for run in results.good("fio") if whole(run.options.get("iodepth"))]
    for group in siblings(runs, lambda r: siblings_key(r, ("iodepth",))):
        by_depth = group_by(group, _requested_iodepth)
        depths = sorted(by_depth)
        if len(depths) < 3:
            continue
        orders = [min(run.record.order_index for run in by_depth[d]) for d in depths]
        once = all(len(by_depth[d]) == 1 for d in depths)
        ascending = orders == sorted(orders) and once
        rows = [(d, summary) for d in depths for run in by_depth[d] for summary in summaries(run) if summary.iops]
        for (direction, which), same in group_by(rows, lambda row: (row[1].direction, row[1].which)).items():
            at = group_by(same, lambda row: row[0])
            iops = {
                depth: statistics.median(summary.iops or 0.0 for _, summary in entries) for depth, entries in at.items()
            }
            means = {
                d: values
                for d, entries in at.items()
                if (values := [summary.mean for _, summary in entries if summary.mean])
            }
            if len(iops) < 3:
                continue
            for a, b in itertools.pairwise(means):
                if max(means[b]) < 0.9 * min(means[a]) and (once or not _is_mixed(group)):
                    ends = (fmt.quantity(statistics.median(means[depth]), "ns") for depth in (a, b))
                    text = f"{direction} {WORDS[which]} falls from {next(ends)} at depth {a} to {next(ends)} at {b}"  # fmt: skip
                    yield Fault(level="warn", run=by_depth[b][0], text=text)
            best, last = max(iops, key=lambda depth: iops[depth]), max(iops)
            cut = 1 if iops[last] == int(iops[last]) else 0  # to a whole number, by a text
            if ascending and best != last and iops[last] + cut < 0.8 * iops[best]:
                yield Fault(
                    level="warn", run=by_depth[last][0],
                    text=f"{direction}: {fmt.quantity(iops[last], 'IOPS')} at depth {last}, {fmt.quantity(iops[best], 'IOPS')} at {best}",
                )  # fmt: skip


def _is_mixed(runs: Sequence[Run]) -> bool:
    """Return whether a repeat ran the iodepths out of ascending order, as random rounds do. The order of captured
    output is unknown.
    """
    if runs[0].captured:
        return False
    rounds = group_by(runs, lambda run: run.turn).values()
    orders = [[run.record.order_index for run in sorted(group, key=_requested_iodepth)] for group in rounds]
    return any(order != sorted(order) for order in orders)


def _requested_iodepth(run: Run) -> int:
    return whole(run.options.get("iodepth")) or 0


_COMMAND_LINE: Final = (
    "alloc_size", "append_terse", "aux_path", "bandwidth_log", "client", "cmdhelp", "cpuclock_test", "crctest", "daemonize", "debug",
    "enghelp", "eta", "eta_interval", "eta_newline", "help", "idle_prof", "inflate_log", "latency_log", "max_jobs", "memcpytest",
    "merge_blktrace_only", "minimal", "output", "output_format", "parse_only", "parse_timeout", "readonly", "remote_config", "section",
    "server", "showcmd", "status_interval", "terse_version", "thread", "trigger", "trigger_file", "trigger_remote", "trigger_timeout",
    "version", "warnings_fatal",
)  # fmt: skip
"""Options that fio accepts on the command line, but not in a job."""


def clock(results: Results) -> Iterator[Fault]:
    """G6: a standard deviation above the mean latency."""
    for cell in cells(results, "fio"):
        runs = cell.runs
        for direction in ("read", "write"):
            widest = []
            for run in runs:
                timed = [(j.lat, j.lat_sd or 0.0) for j in directions(run).get(direction, ()) if j.lat]
                if wide := [pair for pair in timed if pair[1] > pair[0]]:
                    widest.append((run, max(wide, key=lambda pair: pair[1] / pair[0])))
            for run, (mean, sd) in widest if len(widest) * 2 > len(runs) else ():
                fault = _of_run(
                    "info",
                    run,
                    f"{direction}: mean lat {{}}, standard deviation {{}}",
                    (mean, "ns"),
                    (sd, "ns"),
                )
                yield replace(fault, todo=QUOTE_THE_TAIL)


# --- the tool ---------------------------------------------------------------------------------------------


class Fio(Tool):
    """fio."""

    SECTION = "Storage"
    RANK = 30
    METHODS = (
        "fio: IOPS are the sum of all jobs of a run. Latency is submission plus completion. If fio prints only the completion, pinsweep shows "
        "completion latency. Mean and quantiles are of all I/Os of a run. A quantile needs ten I/Os beyond it. "
        "Several jobs without bins (json+) lack quantiles. IOPS within a limit on p99 belong to the tested depth with the most IOPS that "
        "keeps the limit in every repeat."
    )
    CURVE_AXIS = "iodepth"
    PEAK = "IOPS"
    WORKING_SET = ("size", "filesize")
    ACCESSED = ("direct", "rwmixread", "rwmixwrite")
    LIMITS = ("rate", "rate_iops", "thinktime")
    CHARTS = _CHARTS
    KEYS = (
        Key(name="Storage IOPS", rank=14, where={"metric": "IOPS"}, device="device", context="{access}, bs {bs}, iodepth {iodepth}"),
        *(
            Key(
                name=f"Storage {way}, p50", rank=35, where={**_MEDIANS, "direction": way, "iodepth": 1}, context="{access}, bs {bs}, iodepth 1",
                tail={"statistic": "p99.9"}, device="device",
            )
            for way in ("read", "write")
        ),
    )  # fmt: skip
    FAULTS = {"G6": clock}  # noqa: RUF012

    def numbers(self, run: Run) -> Iterator[Number]:
        for summary in summaries(run):
            part = _part(run, summary.direction)
            if summary.iops:
                yield Number(name=Name(metric="IOPS", unit="1/s", better="higher", part=part, made_of=f"IOPS/{summary.direction}"), value=summary.iops)  # fmt: skip
                for statistic, value in summary.latencies.items():
                    number = quantile(statistic, value, part, summary.steps.get(statistic), WORDS[summary.which])
                    made_of = f"{number.name.tells_of}/{summary.direction}"
                    yield replace(number, name=replace(number.name, made_of=made_of))
            elif summary.bandwidth:
                yield Number(name=Name(metric="bandwidth", unit="B/s", better="higher", part=part), value=summary.bandwidth)  # fmt: skip

    def histograms(self, run: Run) -> list[tuple[Name, Buckets]]:
        if run.parsed is None:
            return []
        which = _which(jobs(run))
        bins = _joined_bins(run.parsed, which).items()
        return [(latency(_part(run, direction), metric=WORDS[which]), group) for direction, group in bins]

    def peaks_within(self, cells: Mapping[int, Mapping[Name, Sequence[float]]], slo: float) -> dict[Name, tuple[int, Name]]:  # fmt: skip
        """Return the name of the highest IOPS with a p99 within a limit (ns) → depth, and the name at that depth,
        per direction.

        If every depth keeps the limit, the maximum is only a bound, and nothing is returned. Repeats with different
        depths also give nothing.
        """
        peaks: dict[Name, tuple[int, Name]] = {}
        for rate in dict.fromkeys(name for numbers in cells.values() for name in numbers if name.quantity == "IOPS"):
            for which, word in WORDS.items():
                tail = latency(rate.part, "p99", metric=word)
                depths = {depth: [*zip(n[rate], n[tail], strict=True)] for depth, n in cells.items() if rate in n and tail in n}  # fmt: skip
                within = formulas.within_slo(depths, slo) if len(depths) >= 3 else None
                if within and not within.open and not within.bound:
                    limit = fmt.scale_for([slo], "ns")
                    metric = f"IOPS at p99{'' if which == 'lat' else ' clat'} ≤ {slo / limit.factor:.4g} {limit.unit}"
                    peaks[replace(rate, metric=metric, derived=True, made_of="")] = (within.depth, rate)
        return peaks

    def headline(self, cell: Repeats) -> str:
        """Return "read 45.2 kIOPS, mean lat 174 µs". A mix gives "r/w 12.9/5.50 kIOPS, mean clat 55.8/2.52 µs"."""
        rates = _rates(cell)
        if not rates:
            return _generic.headline(cell)
        means = [name for rate in rates for name in cell.columns if name.part == rate.part and name.statistic == "mean"]
        ways = [str(dict(name.part)["direction"]) for name in rates]
        text = f"{ways[0] if len(ways) == 1 else '/'.join(way[0] for way in ways)} {_medians(cell, rates, 'IOPS')}"
        which = {key for key, word in WORDS.items() for name in means if name.metric == word}
        return (
            text
            if len(which) != 1 or len(means) != len(rates)
            else f"{text}, mean {which.pop()} {_medians(cell, means, 'ns')}"
        )

    def lead(self, cell: Repeats) -> Name | None:
        """Return the IOPS of the direction with the highest bandwidth. Without IOPS, return the first number."""
        rates = _rates(cell)
        if len(rates) < 2:
            return next(iter(rates), None) or _generic.lead(cell)
        moved = [{s.direction: s.bandwidth or 0.0 for s in summaries(run)} for run in cell.runs]
        return max(
            rates,
            key=lambda name: statistics.median(
                bytes_per_s.get(str(dict(name.part)["direction"]), 0.0) for bytes_per_s in moved
            ),
        )

    def moved(self, cell: Repeats) -> list[tuple[float, float]]:
        if cell.lead is None or cell.lead.metric != "IOPS":
            return []
        size, direction = (
            in_bytes(cell.first.options.get("bs", "")) or 0,
            str(dict(cell.lead.part)["direction"]),
        )
        pairs = []
        for run, iops in zip(cell.runs, cell.values, strict=True):
            group = directions(run).get(direction, [])
            bandwidth = _total(job.bandwidth for job in group) or 0.0
            pairs.append((bandwidth or iops * size, _block(group, bandwidth / iops) if bandwidth else size))
        return [pair for pair in pairs if all(pair)]

    def mixed(self, parsed: Parsed) -> bool:
        return len(directions(parsed)) > 1

    def samples(self, run: Run) -> Iterator[Mapping[str, Any]]:
        yield from _samples(run)

    def figures(self, rows: pd.DataFrame, keys: Sequence[str], runs: pd.DataFrame) -> Iterator[Figure]:
        return super().figures(_with_access(rows) if len(rows) else rows, keys, runs)

    def keys(self, rows: pd.DataFrame) -> pd.DataFrame:
        return super().keys(_with_access(rows).assign(device="storage") if len(rows) else rows)

    def mistyped(self, command: str) -> Iterator[str]:
        for name in re.findall(r"(?:^|\s)--([a-z][\w-]*)(?==|\s|$)", command.replace(" =", "=")):
            if name.replace("-", "_") not in {*known(), *_COMMAND_LINE}:
                yield f"fio has no option “--{name}”"

    def left_out(self, command: str, run: Run) -> Iterator[str]:
        size = run.options.get("size")
        if size and from_table(run) and not re.search(r"--(?:size|io_size|filesize)\b", command):
            yield f"the rows have size={size}, the command has no --size"

    def shown_with(self, metric: str, run: Run) -> Iterator[str]:
        rate, _, direction = metric.partition("/")
        if rate == "IOPS":  # a constant queue depth ties the numbers
            group = (summary for summary in summaries(run) if summary.direction == direction and summary.mean)
            yield from (f"{WORDS[summary.which]}/mean/{direction}" for summary in group)


TOOL: Final = Fio()
