"""Represent one fio report of any format. The reader modules fill a report and `parsers.fio` makes the tables."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from parsers.measurement import Metric

ALL_CLIENTS: Final = "All clients"
KIB: Final = 1024
NS: Final = {"nsec": 1, "usec": 1_000, "msec": 1_000_000, "sec": 1_000_000_000}

METRICS: Final = {
    "iops": Metric("1/s", "higher", "I/O operations per second"),
    "bandwidth": Metric("B/s", "higher", "bandwidth"),
    "bandwidth_share": Metric("1", "neither", "bandwidth, share of the group's"),
    "slat": Metric("ns", "lower", "submission latency"),
    "clat": Metric("ns", "lower", "completion latency"),
    "lat": Metric("ns", "lower", "latency, submission and completion"),
    "runtime": Metric("ns", "neither", "time with I/O in this direction"),
    "job_runtime": Metric("ns", "neither", "run time, summed over the job's processes"),
    "elapsed": Metric("ns", "neither", "time since fio started, in whole seconds"),
    "io_bytes": Metric("B", "neither", "bytes moved"),
    "total_ios": Metric("1", "neither", "I/O operations"),
    "short_ios": Metric("1", "lower", "short I/O operations"),
    "drop_ios": Metric("1", "lower", "dropped I/O operations"),
    "samples": Metric("1", "neither", "samples behind a statistic"),
    "errors": Metric("1", "lower", "I/O errors that fio went on after"),
    "usr_cpu": Metric("1", "lower", "user CPU time per run time"),
    "sys_cpu": Metric("1", "lower", "system CPU time per run time"),
    "ctx": Metric("1", "lower", "context switches"),
    "majf": Metric("1", "lower", "major page faults"),
    "minf": Metric("1", "lower", "minor page faults"),
    "iodepth_level": Metric("1", "neither", "share of I/Os seen at a queue depth"),
    "iodepth_submit": Metric("1", "neither", "share of submit calls by I/Os submitted"),
    "iodepth_complete": Metric("1", "neither", "share of complete calls by I/Os completed"),
    "disk_ios": Metric("1", "neither", "I/O operations of the disk"),
    "disk_merges": Metric("1", "neither", "merges by the I/O scheduler"),
    "disk_bytes": Metric("B", "neither", "bytes moved by the disk"),
    "disk_ticks": Metric("ns", "neither", "time the disk was busy, summed over its I/Os"),
    "disk_in_queue": Metric("ns", "neither", "time in the disk's queue"),
    "disk_util": Metric("1", "neither", "share of time the disk was busy"),
}

Row = tuple[str | None, str, str, float]
"""(direction, statistic, metric, value in base units)."""

Bins = tuple[str, str, Sequence[int], Sequence[int], Sequence[int]]
"""A histogram: direction, "slat" | "clat" | "lat", low and high of each bucket in ns, its count. Big ones are
common."""


@dataclass(slots=True)
class Job:
    """One `job`: a process, or the processes that group_reporting combines."""

    name: str
    group: int | None = None
    host: str | None = None
    is_sum: bool = False  # "All clients", which fio's client adds: the sum over the jobs of all servers
    processes: int | None = None  # None: not printed
    pid: int | None = None
    error: int | None = None  # errno; 0: none
    error_text: str = ""
    time: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()  # names of options that the report has of all jobs
    rows: list[Row] = field(default_factory=list)
    bins: list[Bins] = field(default_factory=list)
    shares: list[tuple[int, int | None, float]] = field(default_factory=list)  # low and high in ns, share
    other: list[tuple[str, float]] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)  # flag id, text
    started: int | None = None  # seconds or milliseconds since the epoch: only ever compared

    def value(self, metric: str, statistic: str = "total") -> float:
        """Return the sum over the directions."""
        return sum(v for _, s, m, v in self.rows if m == metric and s == statistic)


@dataclass(slots=True)
class Disk:
    name: str
    host: str | None = None
    rows: list[Row] = field(default_factory=list)


@dataclass(slots=True)
class Report:
    """One report that fio prints at the end of a run, or during the run with --status-interval."""

    form: str  # "json" | "json+" | "normal" | "terse"
    version: str | None = None
    is_new_run: bool = True  # False: normal text in which fio does not begin again before it
    jobs: list[Job] = field(default_factory=list)
    disks: list[Disk] = field(default_factory=list)
    groups: list[tuple[int | None, str, Row]] = field(default_factory=list)  # group, name, row
    truncated: str = ""  # missing parts
    not_finite: bool = False
    earlier_entries: int = 0  # of jobs in the same list, which are left out
    unread: list[str] = field(default_factory=list)  # lines of figures


def is_spread(deviation: float, samples: int | None) -> bool:
    """Return whether the value is a deviation. One sample has no deviation, and 0 without a count is most likely one
    sample.
    """
    return samples != 1 if samples is not None else deviation > 0


@functools.lru_cache(maxsize=4096)
def percentile(key: str) -> str:
    """Return the name of a percentile: "99.950000" is "p99.95". "" for 0, which pads lists, and for an invalid value.

    The conversion avoids float, because 99.99999 has more digits than %g prints.
    """
    if not re.fullmatch(r"[0-9]{1,3}(?:\.[0-9]+)?", key) or not key.strip("0."):
        return ""
    return f"p{key.rstrip('0').rstrip('.')}" if "." in key else f"p{key}"


def bucket(middle: str) -> tuple[int, int]:
    """Return [low, high) of the histogram bucket from its middle, which is fio's key (stat.c: plat_idx_to_val).

    Values below 128 have a bucket each. Above 128, every power of two has 64 buckets.

    >>> bucket("36608")
    (36352, 36864)
    """
    value = int(middle)  # ValueError: not a key of fio's
    if value < 128:
        return value, value + 1
    width = 1 << (value.bit_length() - 7)
    low = value - (value % width)
    return low, low + width


def bucket_of_index(index: int, bits: int) -> tuple[int, int]:
    """Return [low, high) of a bucket from its index, the key of json+ before fio 2.20 (bits: FIO_IO_U_PLAT_BITS)."""
    if index < 2 << bits:
        return index, index + 1
    shift = (index >> bits) - 1
    low = (1 << (shift + bits)) + ((index % (1 << bits)) << shift)
    return low, low + (1 << shift)


_EDGES: Final = ("2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000")


@functools.lru_cache(maxsize=128)
def share_edges(key: str, unit: str, finer: bool) -> tuple[int, int | None] | None:
    """Return [low, high) in ns of the `lat (usec): 4=…` buckets. None for an unknown key.

    A key is the upper edge. `finer`: a table of the next smaller unit exists, so the first bucket starts at 1 of this
    unit and not at 0 (nanoseconds exist from fio 3.0).
    """
    if key not in _EDGES:
        return None
    factor = NS[unit]
    if key == ">=2000":
        return 2000 * factor, None
    at = _EDGES.index(key)
    low = int(_EDGES[at - 1]) if at else int(finer)
    return low * factor, int(key) * factor
