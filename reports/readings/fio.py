"""fio's report: what each of its jobs did in a direction, and the bins of its latencies."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from parsers.measurement import Heads, Numbered, Parsed, Scalar, number, numbers, whole
from reports.readings import reading

_PARTS = ("read", "write", "trim")
_FIELDS = {
    ("iops", "total"): "iops", ("iops", "min"): "iops_min", ("iops", "max"): "iops_max", ("iops", "mean"): "iops_mean",
    ("iops", "sd"): "iops_sd", ("samples", "iops"): "iops_samples", ("bandwidth", "total"): "bandwidth", ("total_ios", "total"): "ios",
    ("runtime", "total"): "runtime", ("slat", "mean"): "slat", ("clat", "mean"): "clat", ("lat", "mean"): "lat",
    ("lat", "sd"): "lat_sd", ("clat", "max"): "clat_max", ("lat", "max"): "lat_max",
}  # fmt: skip
_OF_JOB = ("usr_cpu", "sys_cpu", "job_runtime")


class Job(NamedTuple):
    """An entry of the report in one direction: a process, or those that group_reporting put together. None: not measured."""

    document: int | None
    job: int
    name: str | None
    direction: str  # "read", "write", "trim"; "mixed" only where fio did not print its parts
    iops: float | None  # 1/s, over the run
    iops_min: float | None  # 1/s, of the samples that fio takes, twice a second unless told otherwise
    iops_max: float | None
    iops_mean: float | None
    iops_sd: float | None
    iops_samples: float | None  # how many samples these four are of
    bandwidth: float | None  # B/s, over the run
    ios: float | None
    runtime: float | None  # ns with I/O in this direction
    slat: float | None  # ns, mean: submission,
    clat: float | None  # completion,
    lat: float | None  # both
    lat_sd: float | None  # ns, their standard deviation
    clat_max: float | None  # ns, the longest
    lat_max: float | None
    clat_percentiles: Mapping[str, float]  # "p99" → ns, as printed
    lat_percentiles: Mapping[str, float]
    usr_cpu: float | None  # shares of job_runtime; like all that follows of the job, whatever the direction
    sys_cpu: float | None
    job_runtime: float | None  # ns, summed over the processes
    processes: int | None  # as printed
    # queue depth → share of the I/Os that were submitted at it, up to the next depth
    depths: Mapping[int, float]
    options: Mapping[str, str]  # as printed


class Disk(NamedTuple):
    """A disk below the files, from the report's end."""

    name: str
    utilisation: (
        float  # share of the time in which it had an I/O; of a dm or md device not that of its members
    )


class Bucket(NamedTuple):
    """One bin of an entry's latencies, which only json+ prints."""

    document: int | None
    job: int
    direction: str
    which: str  # "slat", "clat", "lat"
    low: float  # ns; low ≤ latency < high
    high: float
    n: int


_Entry = tuple[Scalar, Scalar]  # document, job
_Values = dict[tuple[str, str], float]  # metric, statistic


@reading(Job)
def jobs(parsed: Parsed) -> Iterator[Job]:
    """The entries that the report has numbers of, in the order of the text."""
    options: dict[_Entry, dict[str, str]] = {}
    for row in parsed.tables["options"].records() if "options" in parsed.tables else ():
        own = options.setdefault((row.get("document"), row.get("job")), {})
        own[str(row["option"])] = str(row.get("value", ""))
    printed = {
        (row.get("document"), row.get("job")): whole(row.get("processes"))
        for row in (parsed.tables["jobs"].records() if "jobs" in parsed.tables else ())
    }
    names, values = _values(parsed)
    for (entry, direction), own_values in values.items():
        parts = [part for part in _PARTS if (entry, part) in values]
        if direction in parts or (direction == "mixed" and not parts):
            of_job = values.get((entry, None), {})
            name, (document, job) = names[entry], entry
            yield Job(
                document=whole(document), job=whole(job) or 0, name=None if name is None else str(name), direction=str(direction),
                **{field: own_values.get(key) for key, field in _FIELDS.items()},
                **{metric: of_job.get((metric, "total")) for metric in _OF_JOB},
                clat_percentiles=_percentiles(own_values, "clat"), lat_percentiles=_percentiles(own_values, "lat"),
                processes=printed.get(entry), options=options.get(entry, {}),
                depths={
                    whole(statistic.removeprefix(">=")) or 0: share
                    for (metric, statistic), share in of_job.items() if metric == "iodepth_level"
                },
            )  # fmt: skip


_Names = Mapping[_Entry, Scalar]
_Places = Mapping[tuple[_Entry, Scalar], Mapping[tuple[str, str], int]]
"""Entry and direction → metric and statistic → which row of the table has it."""


def _values(parsed: Parsed) -> tuple[_Names, dict[tuple[_Entry, Scalar], _Values]]:
    """Return the names of the entries, and what is told of each in each direction."""
    rows = parsed.measurements.rows
    if isinstance(rows, Numbered):
        found: Sequence[float] = rows.values
        names, places = _places_of(rows.heads)
    else:
        every = list(parsed.measured())
        found = [m.value for m in every]
        names, places = _places((m.metric, m.labels) for m in every)
    return names, {of: {key: found[at] for key, at in own.items()} for of, own in places.items()}


@functools.lru_cache(maxsize=64)
def _places_of(heads: Heads) -> tuple[_Names, _Places]:
    """Return the same for all texts that print the same table with other numbers."""
    return _places((metric, labels) for metric, _, labels in heads.series)


def _places(rows: Iterable[tuple[str, Mapping[str, Scalar]]]) -> tuple[_Names, _Places]:
    names: dict[_Entry, Scalar] = {}
    places: dict[tuple[_Entry, Scalar], dict[tuple[str, str], int]] = {}
    for at, (metric, labels) in enumerate(rows):
        if labels.get("job") is not None:
            entry = labels.get("document"), labels.get("job")
            names[entry] = labels.get("name")
            own = places.setdefault((entry, labels.get("direction")), {})
            own[metric, str(labels.get("statistic"))] = at
    return names, places


@reading(Disk)
def disks(parsed: Parsed) -> Iterator[Disk]:
    """The disks, in the order of the text."""
    for m in parsed.measured():
        if m.metric == "disk_util" and m.get("statistic") != "members":
            yield Disk(str(m.get("name")), m.value)


def _percentiles(values: _Values, which: str) -> dict[str, float]:
    return {
        s: v for (metric, s), v in values.items() if metric == which and s[:1] == "p" and s[1:2].isdigit()
    }


Columns = tuple[Sequence[float], Sequence[float], Sequence[int]]
"""Of bins: low, high (ns; low ≤ latency < high), and how many I/Os."""


def bins(parsed: Parsed, which: str) -> Iterator[tuple[tuple[int | None, int, str], Columns]]:
    """Give ((document, job, direction), its columns) of each entry with bins of one kind of latency; of the others nothing is read."""
    for (document, job, _, direction, kind), (low, high, count) in _blocks(parsed, "histogram", 5):
        if kind == which:
            columns = numbers(low), numbers(high), list(map(int, numbers(count)))
            yield (whole(document), whole(job) or 0, str(direction)), columns


class Log(NamedTuple):
    """What a log over time says of a job in a direction, its rows as columns."""

    kind: str  # "lat", "clat", "slat": ns; "iops": 1/s; "bw": B/s; "clat_hist"
    job: int | None
    direction: str
    window: float  # ns; 0: a row for each I/O
    statistic: str  # "each"; of a window "mean", "max", or "count"
    time: Sequence[float]  # ns from the start; of a window its end
    value: Sequence[float]  # of "clat_hist" the middle of a bin, ns
    ios: Sequence[float]  # of "clat_hist"; else ()


def logs(parsed: Parsed) -> Iterator[Log]:
    """Give fio's logs over time, in the order of the text: of each a part for each size of block."""
    for (kind, job, direction, _, window, statistic), columns in _blocks(parsed, "log", 6):
        time, value = map(numbers, columns)
        yield Log(
            str(kind), whole(job), str(direction), number(window), str(statistic), time, value, ()
        )  # fmt: skip
    for (job, direction, _, window), columns in _blocks(parsed, "log_histogram", 4):
        time, low, high, count = map(numbers, columns)
        middles = [(a + b - 1) / 2 for a, b in zip(low, high, strict=True)]
        yield Log("clat_hist", whole(job), str(direction), number(window), "count", time, middles, count)


def _blocks(
    parsed: Parsed, table: str, shared: int
) -> Iterator[tuple[tuple[Scalar, ...], tuple[Sequence[Scalar], ...]]]:
    """Give (values of the first `shared` columns, the others) of a table's rows that have these in common."""
    rows = parsed.tables[table].rows if table in parsed.tables else ()
    for key, own in itertools.groupby(rows, key=lambda row: row[:shared]):
        yield key, tuple(zip(*(row[shared:] for row in own), strict=True))


@reading(Bucket, kept=False)
def buckets(parsed: Parsed) -> Iterator[Bucket]:
    """The bins, in the order of the text: of each entry, direction and kind of latency those that hold an I/O."""
    for row in parsed.tables["histogram"].rows if "histogram" in parsed.tables else ():
        document, job, _, direction, which, low, high, count = row
        yield Bucket(
            whole(document), whole(job) or 0, str(direction), str(which), number(low), number(high), int(number(count))
        )  # fmt: skip
