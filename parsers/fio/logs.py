"""Parse fio's logs over time, each below a line "==> NAME_lat.1.log <==", as `tail -n +1 FILE FILE` prints.

A line is "time (ms), value, direction, block size (B)", and further values that the user requested from fio. A
histogram log has counts behind the block size instead of the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from parsers.fio.report import KIB, NS, bucket_of_index
from parsers.measurement import Columns, Flag, Scalar, Table

_HEAD: Final = re.compile(
    r"^==> [^\n]*?_(?P<log>slat|lat|clat|iops|bw|clat_hist)(?:\.(?P<job>\d{1,6}))?\.log <==[ \t]*\r?\n"
    r"(?P<body>(?:[ \t]*\d{1,18}(?:, ?\d{1,18}){3,}[ \t]*\r?(?:\n|\Z))*)"
    r"(?P<cut>\[cut: [^\n]*\]\r?(?:\n|\Z))?",
    re.MULTILINE,
)
_DIRECTIONS: Final = {"0": "read", "1": "write", "2": "trim"}
_ALL_BINS: Final = {1856: 6, 1216: 6}
"""Number of bins in fio's histogram (since 3.1, and before) → bits of a bucket's index."""

COLUMNS: Final = ("log", "job", "direction", "block", "window", "statistic", "time", "value")
HISTOGRAM: Final = ("job", "direction", "block", "window", "time", "low", "high", "count")


@dataclass(frozen=True, slots=True)
class Log:
    """A log file: kind ("lat" …), job number (None: all jobs) and lines. `cut` marks a log with further lines."""

    kind: str
    job: int | None
    lines: Sequence[str]
    cut: bool


_Rows = list[tuple[tuple[Scalar, ...], tuple[Sequence[int], ...]]]
"""Blocks of rows: constant columns of a block, then the other columns."""


def find(text: str) -> tuple[list[Log], str]:
    """Return the logs in a text, and the text without the logs."""
    if ".log <==" not in text:
        return [], text
    logs = [
        Log(m["log"], int(m["job"]) if m["job"] else None, m["body"].split("\n"), bool(m["cut"]))
        for m in _HEAD.finditer(text)
    ]
    return logs, _HEAD.sub("", text)


def tables(
    logs: Iterable[Log], options: Mapping[str, str], *, microseconds: bool
) -> tuple[dict[str, Table], list[Flag]]:
    """Return the tables "log" and "log_histogram" (`parsers.fio`) that have rows, and the flags.

    options: fio options that all jobs share. microseconds: the logs are from fio before 3.0.
    """
    rows: dict[str, _Rows] = {"log": [], "log_histogram": []}
    flags = []
    for log in logs:
        if log.kind == "clat_hist":
            found, table = _bins(log, _whole(options.get("log_hist_msec"))), "log_histogram"
        else:
            found, table = _rows(log, options, 1000 if microseconds else 1), "log"
        rows[table] += found
        if log.cut:
            last = max((max(columns[0]) for _, columns in found), default=0)
            name = f"{log.kind} log{f' of job {log.job}' if log.job else ''}"
            flags.append(Flag("log_cut", f"the {name} is kept up to {last / 1e9:.3g} s: it is too long"))
    columns = {"log": COLUMNS, "log_histogram": HISTOGRAM}
    return {name: Table(columns[name], Columns.joined(blocks)) for name, blocks in rows.items() if blocks}, flags


def _rows(log: Log, options: Mapping[str, str], factor: int) -> _Rows:
    blocks: dict[tuple[str, str], tuple[list[int], list[int]]] = {}
    factor = {"iops": 1, "bw": KIB}.get(log.kind, factor)
    for line in log.lines:
        time, value, direction, block, *_ = [*line.split(",", 4), "", "", "", ""]
        if block:
            times, values = blocks.setdefault((direction, block), ([], []))
            times.append(int(time) * NS["msec"])
            values.append(int(value) * factor)
    window = _whole(options.get("log_avg_msec")) * NS["msec"]
    largest = options.get("log_max_value", "0") not in ("0", "avg")
    statistic = ("max" if largest else "mean") if window else "each"
    return [
        ((log.kind, log.job, name, int(block) or None, window, statistic), columns)
        for (direction, block), columns in blocks.items()
        if (name := _DIRECTIONS.get(direction.strip()))
    ]


def _bins(log: Log, window_ms: int) -> _Rows:
    blocks: dict[tuple[str, str], tuple[list[int], ...]] = {}
    for line in log.lines:
        time, *labels_counts = line.split(",")[:4000]
        direction, block, *counts = labels_counts if len(labels_counts) > 2 else ("", "")
        if (fine := _fineness(len(counts))) is None:
            continue
        each, bits = fine
        times, lows, highs, numbers = blocks.setdefault((direction, block), ([], [], [], []))
        for index, count in enumerate(counts):
            if n := int(count):
                times.append(int(time) * NS["msec"])
                lows.append(bucket_of_index(index * each, bits)[0])
                highs.append(bucket_of_index((index + 1) * each - 1, bits)[1])
                numbers.append(n)
    return [
        ((log.job, name, int(block) or None, window_ms * NS["msec"]), columns)
        for (direction, block), columns in blocks.items()
        if columns[0] and (name := _DIRECTIONS.get(direction.strip()))
    ]


def _fineness(count: int) -> tuple[int, int] | None:
    """Return (fio buckets per count, bits of the index) for a line with the given number of counts. None if unknown."""
    for whole, bits in _ALL_BINS.items():
        if count and whole % count == 0 and (whole // count).bit_count() == 1 and whole // count <= 64:
            return whole // count, bits
    return None


def _whole(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else 0
