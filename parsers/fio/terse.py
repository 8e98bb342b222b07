"""Parse fio's terse (minimal) output, versions 2 to 5: one line per job, fields by position (HOWTO, "Terse output")."""

from __future__ import annotations

import re
from typing import Final

from parsers._bounds import Parts
from parsers.fio.report import ALL_CLIENTS, KIB, NS, Disk, Job, Report, percentile, share_edges
from parsers.text import number

_LINE = re.compile(r"^[ \t]*(?:2;[^;\n]*;\d+;-?\d+;|[345];fio-[^;\n]+;[^;\n]*;\d+;-?\d+;)[\d;]", re.MULTILINE)
_PERCENTILES: Final = 20
_DEPTHS: Final = ("1", "2", "4", "8", "16", "32", ">=64")
_US: Final = ("2", "4", "10", "20", "50", "100", "250", "500", "750", "1000")
_MS: Final = (*_US, "2000", ">=2000")

_RW: Final = ("read", "write")
_RWT: Final = ("read", "write", "trim")
_MIXED: Final = ("mixed",)  # unified_rw_reporting=1; with `both` it comes after the others
_DIRECTIONS: Final = {
    2: (_RWT, _RW, _MIXED, _RWT + _MIXED),  # without trims before 2.1.4
    3: (_RW, _MIXED, _RW + _MIXED),
    4: (_RWT, _MIXED, _RWT + _MIXED),
    5: (_RWT, _MIXED, _RWT + _MIXED),
}


def may_be(text: str) -> bool:
    """Return whether the text can contain a terse line. The test is fast, because version 2 has no names to search
    for.
    """
    return text.count(";") >= 5


def looks_like(text: str) -> bool:
    return bool(_LINE.search(text))


def find(text: str) -> list[Report]:
    """Return one report with a job per line, in order. The list is empty if no line is terse output."""
    report = Report(form="terse", jobs=Parts())
    disks: dict[str, Disk] = {}
    for match in _LINE.finditer(text):
        end = text.find("\n", match.start())
        line = text[match.start() : end if end >= 0 else None].strip()
        if end < 0 and not line.endswith("%"):  # the last number may be cut off
            line = line.rpartition(";")[0]
        try:
            job = _job(line.split(";"), report, disks)
            report.jobs.append(job)
        except (IndexError, ValueError, StopIteration):
            report.truncated = f"a line has only {line.count(';') + 1} fields"
    report.disks = list(disks.values())
    return [report] if report.jobs or report.truncated else []


class _Fields:
    """Fields in order. Raises IndexError after the last field."""

    def __init__(self, fields: list[str]) -> None:
        self.fields = fields
        self.at = 0

    def text(self) -> str:
        self.at += 1
        return self.fields[self.at - 1]

    def value(self) -> float:
        """Read a number, with or without a per cent sign; nan stays nan and is left out of the table."""
        read = number(self.text().rstrip("%"))
        if read is None:
            raise ValueError(self.fields[self.at - 1])
        return read

    def values(self, count: int) -> list[float]:
        return [self.value() for _ in range(count)]

    def next(self, count: int) -> list[str]:
        """Return the next fields without taking them; fewer at the end."""
        return self.fields[self.at : self.at + count]


def _job(fields: list[str], report: Report, known: dict[str, Disk]) -> Job:
    take = _Fields(fields)
    version = int(take.text())
    if version > 2:
        report.version = take.text().removeprefix("fio-")
    name = take.text()
    job = Job(name=name, group=int(take.text()), error=int(take.text()), is_sum=name == ALL_CLIENTS)
    block = 4 + 4 + 4 + _PERCENTILES + 4 + 5 + 6 * (version == 5)
    directions = next(d for d in _DIRECTIONS[version] if _is_cpu(fields, take.at + len(d) * block))
    for direction in directions:
        _direction(job, direction, take, version)
    for metric, factor in (("usr_cpu", 0.01), ("sys_cpu", 0.01), ("ctx", 1), ("majf", 1), ("minf", 1)):
        job.rows.append((None, "total", metric, take.value() * factor))
    shares = zip(_DEPTHS, take.values(len(_DEPTHS)), strict=True)
    job.rows += [(None, depth, "iodepth_level", share / 100) for depth, share in shares if share]
    for unit, edges in (("usec", _US), ("msec", _MS)):
        for upper, share in zip(edges, take.values(len(edges)), strict=True):
            # Terse has no table for nanoseconds: what took less is in the first bucket of µs.
            bounds = share_edges(upper, unit, unit == "msec")
            if 0 < share <= 100 and bounds:  # not nan, which fio prints where nothing was counted
                job.shares.append((*bounds, share / 100))
    if not any(metric in ("io_bytes", "total_ios") for _, _, metric, _ in job.rows):
        job.rows, job.shares = [], []
    _rest(job, take, known)
    return job


def _is_cpu(fields: list[str], at: int) -> bool:
    """Return whether the fields are user and system CPU time. No other two adjacent plain fields have per cent
    signs.
    """
    return len(fields) > at + 1 and fields[at].endswith("%") and fields[at + 1].endswith("%")


def _direction(job: Job, name: str, take: _Fields, version: int) -> None:
    """Store a direction. A direction of zeros was not measured."""
    rows: list[tuple[str, str, float]] = []  # statistic, metric, value
    totals = zip(("io_bytes", "bandwidth", "iops", "runtime"), take.values(4), (KIB, KIB, 1, NS["msec"]), strict=True)
    rows += [("total", metric, value * factor) for metric, value, factor in totals if value]
    used = any(metric in ("io_bytes", "runtime") for _, metric, _ in rows)
    rows += _latency("slat", take) + _latency("clat", take)
    for _ in range(_PERCENTILES):
        key, _, text = take.text().partition("=")
        if used and (which := percentile(key.rstrip("%"))):
            rows.append((which, "clat", _whole(text) * NS["usec"]))
    rows += _latency("lat", take)
    low, high, share, mean, sd = take.values(5)
    samples = take.value() if version == 5 else None
    if mean:
        rows += [
            ("min", "bandwidth", low * KIB),
            ("max", "bandwidth", high * KIB),
            ("mean", "bandwidth", mean * KIB),
        ]
        rows.append(("mean", "bandwidth_share", share / 100))
        if samples != 1 and sd:  # 0 without a count of samples: of one sample, most likely
            rows.append(("sd", "bandwidth", sd * KIB))
    if version == 5:
        low, high, mean, sd, count = take.values(5)
        if mean:
            rows += [("min", "iops", low), ("max", "iops", high), ("mean", "iops", mean)]
            rows += [("sd", "iops", sd)] if count != 1 else []
            rows += [("bandwidth", "samples", samples or 0), ("iops", "samples", count)]
    job.rows += [(name, *row) for row in rows if used or row[0] == "total"]


def _whole(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def _latency(metric: str, take: _Fields) -> list[tuple[str, str, float]]:
    """Store min, max, mean and deviation in µs. All zeros mean not measured."""
    low, high, mean, sd = (value * NS["usec"] for value in take.values(4))
    rows = [("min", metric, low), ("max", metric, high), ("mean", metric, mean), ("sd", metric, sd)]
    return rows[: 4 if sd else 3] if high or mean else []


def _rest(job: Job, take: _Fields, known: dict[str, Disk]) -> None:
    """Store the optional fields: disks of nine fields, `slaves` of eight, error counts, the description."""
    while len(disk_fields := take.next(9)) == 9 and disk_fields[8].endswith("%") and not disk_fields[0].isdecimal():
        disk = Disk(name=take.text())
        _disk_rows(disk, "total", take)
        if len(members := take.next(9)) == 9 and members[0] == "slaves":
            take.text()
            _disk_rows(disk, "members", take)
        known.setdefault(disk.name, disk)  # each job's line repeats the disks
    if len(counts := take.next(2)) == 2 and all(part.lstrip("-").isdecimal() for part in counts):
        job.rows.append((None, "total", "errors", int(counts[0])))
        if int(counts[0]):
            job.notes.append(("io_errors", f"{int(counts[0])} I/O errors, the first with errno {counts[1]}"))


def _disk_rows(disk: Disk, statistic: str, take: _Fields) -> None:
    for metric, factor in (("disk_ios", 1), ("disk_merges", 1), ("disk_ticks", NS["msec"])):
        for direction in ("read", "write"):
            disk.rows.append((direction, statistic, metric, take.value() * factor))
    disk.rows.append((None, statistic, "disk_in_queue", take.value() * NS["msec"]))
    disk.rows.append((None, statistic, "disk_util", take.value() / 100))
