"""fio's JSON and json+, 2.0 to 3.4x.

What changed on the way, told apart by the keys and never by the version: `clat` is in µs, `clat_ns` in ns
(from 3.0); `io_bytes` is in KiB until `io_kbytes` appears beside it (2.21); `bw` is in KiB/s always, `bw_bytes`
in B/s; json+ `bins` are keyed by index while `FIO_IO_U_PLAT_BITS` stands among them (2.14 to 2.19), by the
bucket's middle afterwards; client mode has `client_stats` for `jobs`.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn, TypeGuard

from parsers._bounds import Parts, check_json, check_parts
from parsers._fio_report import (
    ALL_CLIENTS,
    KIB,
    NS,
    Disk,
    Job,
    Report,
    Row,
    bucket,
    bucket_of_index,
    percentile,
    share_edges,
)
from parsers.errors import ParseError

_START = re.compile(r'\{(?=\s*"fio version")')
_SORTED_START = re.compile(r"^[^\S\n]*\{", re.MULTILINE)  # somebody else's json.dumps(sort_keys=True)
_NOT_FINITE = re.compile(r"(?<=[:\[,])(\s*)[-+]?(?:nan|inf(?:inity)?)%?(?=\s*[,}\]\n])", re.IGNORECASE)
_BAD_ESCAPE = re.compile(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_JOBS = re.compile(r'"(?:jobs|client_stats)"\s*:\s*\[')
_HEAD = re.compile(r'"(fio version|time)"\s*:\s*"([^"\n]*)"')
_TIMESTAMP = re.compile(r'"timestamp"\s*:\s*(\d{1,18})\b')
_UNREADABLE: Final = (ValueError, RecursionError)  # ValueError: also an integer of 5000 digits
_NEVER: Final = 2**63


def _not_finite(word: str) -> NoReturn:
    raise ValueError(word)


_DECODER = json.JSONDecoder(
    strict=False, parse_constant=_not_finite
)  # not strict: fio does not escape tabs in descriptions

_DIRECTIONS: Final = ("read", "write", "trim", "mixed", "sync")
_LATENCIES: Final = (
    ("slat_ns", "slat", 1),
    ("clat_ns", "clat", 1),
    ("lat_ns", "lat", 1),
    ("slat", "slat", 1000),
    ("clat", "clat", 1000),
    ("lat", "lat", 1000),
)
# What is read from a direction and from a job; everything else goes to the table `other`.
_OF_DIRECTION = """
    io_bytes io_kbytes bw_bytes bw iops runtime total_ios short_ios drop_ios slat clat lat slat_ns clat_ns lat_ns
    bw_min bw_max bw_agg bw_mean bw_dev bw_samples iops_min iops_max iops_mean iops_stddev iops_samples prios
"""
_OF_JOB = """
    jobname groupid job_start error eta elapsed read write trim mixed sync job_runtime usr_cpu sys_cpu ctx majf minf
    iodepth_level iodepth_submit iodepth_complete latency_ns latency_us latency_ms total_err first_error hostname port
    latency_depth latency_target latency_target_ns latency_percentile latency_window latency_window_us
"""
_DIRECTION_KEYS: Final = frozenset(_OF_DIRECTION.split())
_JOB_KEYS: Final = frozenset((*_OF_JOB.split(), "job options"))
_DISK_KEYS: Final = (
    ("read_ios", "read", "disk_ios", 1),
    ("write_ios", "write", "disk_ios", 1),
    ("read_merges", "read", "disk_merges", 1),
    ("write_merges", "write", "disk_merges", 1),
    ("read_sectors", "read", "disk_bytes", 512),  # the kernel's sectors: 512 bytes whatever the disk's are
    ("write_sectors", "write", "disk_bytes", 512),
    ("read_ticks", "read", "disk_ticks", NS["msec"]),
    ("write_ticks", "write", "disk_ticks", NS["msec"]),
    ("in_queue", None, "disk_in_queue", NS["msec"]),
    ("util", None, "disk_util", 0.01),
)


_LONGEST_PATH: Final = 500
"""Characters of the path to a number that a newer fio prints: of a nest of a thousand lists each number would have its thousand."""

_MOST_BROKEN: Final = 1000
"""Reports that are not whole, of one text: each costs a look at all that stands before it."""


def find(text: str) -> tuple[list[Report], str]:
    """Return the JSON reports of a text, in order, and what is left of the text without them. Raises ParseError as _MOST_BROKEN says."""
    reports: list[Report] = Parts()
    rest: list[str] = []
    at = broken = 0
    if '"fio version"' in text:
        check_json(text)
    starts = _START if _START.search(text) else _SORTED_START
    while '"fio version"' in text and (match := starts.search(text, at)):
        begin = match.start() if starts is _START else match.end() - 1
        rest.append(text[at:begin])
        report, at, whole = _read(text, begin, starts)
        reports.append(report)
        broken += not whole
        if broken > _MOST_BROKEN:
            raise ParseError("fio output", f"more than {_MOST_BROKEN} JSON reports that are cut or damaged")
    rest.append(text[at:])
    return reports, "".join(rest)


def _read(text: str, start: int, starts: re.Pattern[str]) -> tuple[Report, int, bool]:
    """Decode the report that starts at `start`; return it, where it ends, and whether it is whole as it stands."""
    try:
        document, end = _DECODER.raw_decode(text, start)
    except _UNREADABLE:
        pass
    else:
        return _report(document), end, True
    following = starts.search(text, start + 1)
    end = following.start() if following else len(text)
    mended, count = _NOT_FINITE.subn(r"\1null", text[start:end])
    mended = _BAD_ESCAPE.sub(r"\\\\", mended)
    try:
        document, length = _DECODER.raw_decode(mended)
    except _UNREADABLE:
        report = _salvage(mended)
        length = len(mended)
    else:
        report = _report(document)
    report.not_finite = count > 0
    # What the mending added is not in the text: the end is found by counting from behind.
    return report, end - (len(mended) - length), False


def _salvage(text: str) -> Report:
    """Read the complete jobs of a report that is cut off."""
    head = dict(_HEAD.findall(text))
    document: dict[str, Any] = {**head, "jobs": [], "global options": {}}
    if match := _TIMESTAMP.search(text):
        document["timestamp"] = int(match[1])
    if match := re.search(r'"global options"\s*:\s*', text):
        document["global options"] = _value(text, match.end()) or {}
    if match := _JOBS.search(text):
        at = match.end()
        while found := re.compile(r"\s*+(?:,\s*+)?(?=\{)").match(text, at):
            try:
                job, at = _DECODER.raw_decode(text, found.end())
            except _UNREADABLE:
                break
            document["jobs"].append(job)
    report = _report(document)
    report.truncated = f"the JSON ends after {len(report.jobs)} complete job{'s' * (len(report.jobs) != 1)}"
    return report


def _value(text: str, at: int) -> Any:  # noqa: ANN401 (JSON)
    try:
        return _DECODER.raw_decode(text, at)[0]
    except _UNREADABLE:
        return None


def _report(document: dict[str, Any]) -> Report:
    """Read a report. Its jobs are taken out of the document one by one: of json+ they are much larger than what is read."""
    version = str(document.get("fio version", "")).removeprefix("fio-") or None
    report = Report(form="json", version=version)
    shared = _strings(document.get("global options"))
    moment = document.get("timestamp")
    every = _objects(document.pop("client_stats", ()))
    check_parts(len(every))
    last = _last_entries(every)
    if len(last) < len(every):
        report.earlier_entries = len(every) - len(last)
    jobs = [*_objects(document.pop("jobs", ())), *last][::-1]
    check_parts(len(jobs))
    while jobs:
        item = jobs.pop()
        job = _job(item, shared)
        job.time = str(document["time"]) if document.get("time") else None
        if job.started is None and isinstance(moment, int) and isinstance(item.get("elapsed"), int):
            job.started = moment - int(item["elapsed"])
        if job.bins:
            report.form = "json+"
        report.jobs.append(job)
    for item in _objects(document.get("disk_util")):
        disk = Disk(name=str(item.get("name", "")), host=_host(item))
        disk.rows = [
            (direction, "total", metric, item[key] * factor)
            for key, direction, metric, factor in _DISK_KEYS
            if _number(item.get(key))
        ]
        disk.rows += [
            (direction, "members", metric, item[f"aggr_{key}"] * factor)
            for key, direction, metric, factor in _DISK_KEYS
            if _number(item.get(f"aggr_{key}"))
        ]
        if _number(item.get("aggr_write_merge")):  # fio's own spelling
            disk.rows.append(("write", "members", "disk_merges", item["aggr_write_merge"]))
        report.disks.append(disk)
    return report


def _last_entries(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the last entry of each job of a client. With --status-interval fio's client puts all reports into one list, and the
    sum over all clients behind the first of them, where it is not the sum of the run."""
    at = next((i for i, entry in enumerate(entries) if _is_sum(entry)), len(entries))
    if at + 1 >= len(entries):
        return entries
    jobs = [entry for entry in entries if not _is_sum(entry)]
    keys = [
        tuple(str(entry.get(key)) for key in ("hostname", "port", "jobname", "groupid")) for entry in jobs
    ]
    processes, following = Counter(keys[:at]), Counter(keys)
    last = []
    for key, entry in zip(keys, jobs, strict=True):
        if following[key] <= max(1, processes[key]):
            last.append(entry)
        following[key] -= 1
    return last


def _is_sum(item: Mapping[str, Any]) -> bool:
    """Is this the sum that fio's client adds? A job has the key, with {} if all of its options are global; fio before 2.14 prints it
    for no job."""
    return item.get("jobname") == ALL_CLIENTS and "job options" not in item


def _job(item: Mapping[str, Any], shared: Mapping[str, str]) -> Job:
    job = Job(
        name=str(item.get("jobname", "")),
        group=_integer(item.get("groupid")),
        host=_host(item),
        is_sum=_is_sum(item),
        error=_integer(item.get("error")),
        options={**shared, **(own := _strings(item.get("job options")))},
        shared=frozenset(shared.keys() - own.keys()),
        started=_integer(item.get("job_start")),
    )
    rows = job.rows
    for direction in _DIRECTIONS:
        if isinstance(values := item.get(direction), dict):
            _direction(job, direction, values)
    for key, metric, factor in (
        ("job_runtime", "job_runtime", NS["msec"]),
        ("elapsed", "elapsed", NS["sec"]),
        ("usr_cpu", "usr_cpu", 0.01),
        ("sys_cpu", "sys_cpu", 0.01),
        ("ctx", "ctx", 1),
        ("majf", "majf", 1),
        ("minf", "minf", 1),
        ("total_err", "errors", 1),
    ):
        if _number(value := item.get(key)):
            rows.append((None, "total", metric, value * factor))
    did_io = any(metric == "io_bytes" or metric == "total_ios" for _, _, metric, _ in rows)
    if not did_io:  # shares of nothing, CPU time of nothing
        job.rows = rows = [row for row in rows if row[2] == "errors"]
    else:
        for key in ("iodepth_level", "iodepth_submit", "iodepth_complete"):
            rows.extend(
                (None, depth, key, share / 100)
                for depth, share in _items(item.get(key))
                if _number(share) and share
            )
        _shares(job, item)
    if item.get("total_err"):
        job.notes.append(
            ("io_errors", f"{item['total_err']} I/O errors, the first with errno {item.get('first_error')}")
        )
    if isinstance(steady := item.get("steadystate"), dict):
        _steady(job, steady)
    if item.get("latency_target"):
        target = item.get("latency_target_ns", item["latency_target"])
        job.notes.append(
            ("latency_target", f"iodepth {item.get('latency_depth')} was found for a target of {target} ns")
        )
        job.other += _leaves(
            {k: v for k, v in item.items() if k.startswith("latency_") and k[8:] not in ("ns", "us", "ms")}
        )
    job.other += _leaves({k: v for k, v in item.items() if k not in _JOB_KEYS})
    return job


def _direction(job: Job, name: str, values: Mapping[str, Any]) -> None:
    """Take in read, write, trim, mixed or sync. A direction without I/O is all zeros: it was not measured."""
    if name != "sync" and not (values.get("io_bytes") or values.get("total_ios") or values.get("runtime")):
        return
    rows = job.rows

    def put(statistic: str, metric: str, key: str, factor: float = 1.0) -> None:
        if _number(value := values.get(key)) and value:
            rows.append((name, statistic, metric, value * factor))

    put("total", "io_bytes", "io_bytes", 1 if "io_kbytes" in values else KIB)
    put("total", "total_ios", "total_ios")
    if values.get("bw_bytes"):
        put("total", "bandwidth", "bw_bytes")
    else:
        put("total", "bandwidth", "bw", KIB)
    put("total", "iops", "iops")
    put("total", "runtime", "runtime", NS["msec"])
    put("total", "short_ios", "short_ios")
    put("total", "drop_ios", "drop_ios")
    for key, metric, factor in _LATENCIES:
        if isinstance(latency := values.get(key), dict):
            _latency(job, name, metric, latency, factor)
    for prio in _objects(values.get("prios")):
        numbers = [str(prio[key]) for key in ("prioclass", "prio", "priohint") if key in prio]
        label = f"{name} prio {'/'.join(numbers)}"
        for key, metric, factor in _LATENCIES:
            if isinstance(latency := prio.get(key), dict):
                _latency(job, label, metric, latency, factor)
    if values.get("bw_mean"):
        samples = _integer(values.get("bw_samples"))
        for statistic, key in (("mean", "bw_mean"), ("min", "bw_min"), ("max", "bw_max"), ("sd", "bw_dev")):
            if _number(value := values.get(key)) and (statistic != "sd" or _spread(value, samples)):
                rows.append((name, statistic, "bandwidth", value * KIB))
        if samples is not None:  # before samples were printed, bw_agg was in KiB/s
            put("mean", "bandwidth_share", "bw_agg", 0.01)
        put("bandwidth", "samples", "bw_samples")
    if values.get("iops_mean"):
        samples = _integer(values.get("iops_samples"))
        for statistic, key in (
            ("mean", "iops_mean"),
            ("min", "iops_min"),
            ("max", "iops_max"),
            ("sd", "iops_stddev"),
        ):
            if _number(value := values.get(key)) and (statistic != "sd" or _spread(value, samples)):
                rows.append((name, statistic, "iops", value))
        put("iops", "samples", "iops_samples")
    job.other += _leaves({k: v for k, v in values.items() if k not in _DIRECTION_KEYS}, name)


def _latency(job: Job, name: str, metric: str, values: Mapping[str, Any], factor: int) -> None:
    """Take in a latency object. Zeros all over (disable_clat=1, a synchronous engine's slat) are no measurement."""
    samples = _integer(values.get("N"))
    if not (values.get("max") or values.get("mean")) or samples == 0:
        return
    rows: list[Row] = job.rows
    for key, statistic in (("mean", "mean"), ("min", "min"), ("max", "max"), ("stddev", "sd")):
        if _number(value := values.get(key)) and (key != "stddev" or _spread(value, samples)):
            rows.append((name, statistic, metric, value * factor))
    if samples is not None:
        rows.append((name, metric, "samples", samples))
    rows.extend(
        (name, percentile(key), metric, value * factor)
        for key, value in _items(values.get("percentile"))
        if _number(value) and percentile(key)  # not "0.00": 0, which pads the list to 20 in fio 2.x
    )
    if isinstance(bins := values.get("bins"), dict) and bins:
        _histogram(job, name, metric, bins, factor)


def _histogram(job: Job, name: str, metric: str, bins: dict[str, Any], factor: int) -> None:
    bits = _integer(bins.get("FIO_IO_U_PLAT_BITS"))
    lows: list[int] = []
    highs: list[int] = []
    counts = list(bins.values())
    if not bits and set(map(type, counts)) == {int} and 0 not in counts:  # as every fio since 2.20 prints it
        with contextlib.suppress(ValueError):
            lows, highs = list(map(_LOWS.__getitem__, bins)), list(map(_HIGHS.__getitem__, bins))
    if len(highs) != len(counts):
        bins = {k: n for k, n in bins.items() if k.isdecimal() and len(k) < 20 and _integer(n)}
        edges = [bucket_of_index(int(key), bits) if bits else bucket(key) for key in bins]
        lows, highs = [low for low, _ in edges], [high for _, high in edges]
        counts = list(bins.values())
    if factor != 1:
        lows, highs = [low * factor for low in lows], [high * factor for high in highs]
    if counts:
        job.bins.append((name, metric, lows, highs, counts))


class _Edges(dict[str, int]):
    """The low or the high end of each bucket by the key that fio prints: a report has tens of thousands, of 4000 kinds."""

    def __init__(self, end: int) -> None:
        super().__init__()
        self.end = end

    def __missing__(self, middle: str) -> int:
        edge = bucket(middle)[self.end]
        if len(self) < 10_000:  # more than fio has: somebody else's keys
            self[middle] = edge
        return edge


_LOWS: Final = _Edges(0)
_HIGHS: Final = _Edges(1)


def _spread(deviation: float, samples: int | None) -> bool:
    """Is this a deviation? One sample has none, and 0 without a count is of one sample, most likely."""
    return samples != 1 if samples is not None else deviation > 0


def _shares(job: Job, item: Mapping[str, Any]) -> None:
    finer = False
    for key, unit in (("latency_ns", "nsec"), ("latency_us", "usec"), ("latency_ms", "msec")):
        if not isinstance(values := item.get(key), dict):
            continue
        for upper, share in values.items():
            if share and _number(share) and (edges := share_edges(upper, unit, finer)):
                job.shares.append((*edges, share / 100))
        finer = True


def _steady(job: Job, values: Mapping[str, Any]) -> None:
    data = values["data"] if isinstance(values.get("data"), dict) else {}
    for key, metric in (("bw_mean", "bandwidth"), ("iops_mean", "iops"), ("lat_mean", "lat")):
        if _number(value := data.get(key)) and value:
            job.rows.append((None, "steady", metric, value))
    if not values.get("attained"):
        job.notes.append(("not_steady", f"the steady state asked for ({values.get('ss')}) was not reached"))


def _leaves(value: Any, path: str = "") -> list[tuple[str, float]]:  # noqa: ANN401 (JSON)
    """Return every number inside that is not 0, with its path: what a newer fio measures is kept under its own name."""
    return list(_walk(value, path))


def _walk(value: Any, path: str) -> Iterator[tuple[str, float]]:  # noqa: ANN401 (JSON)
    if len(path) > _LONGEST_PATH:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _walk(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _walk(inner, f"{path}[{index}]")
    elif _number(value) and value:
        yield path, float(value)


def _number(value: object) -> TypeGuard[int | float]:
    """Is this a figure? A minimum that never was one is printed as 2**64 - 1 by some versions."""
    return (type(value) is int or type(value) is float) and -_NEVER < value < _NEVER


def _integer(value: object) -> int | None:
    return value if type(value) is int and -_NEVER < value < _NEVER else None


def _items(value: object) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _strings(value: object) -> dict[str, str]:
    return {str(k): str(v) for k, v in value.items()} if isinstance(value, dict) else {}


def _host(item: Mapping[str, Any]) -> str | None:
    return str(item["hostname"]) if item.get("hostname") else None
