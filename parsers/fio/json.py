"""Parse fio's JSON and json+, 2.0 to 3.4x.

The keys distinguish the formats, never the version. `clat` is in µs, `clat_ns` in ns (from 3.0). `io_bytes` is in KiB
until `io_kbytes` appears (2.21). `bw` is always in KiB/s, `bw_bytes` in B/s. json+ `bins` have index keys if
`FIO_IO_U_PLAT_BITS` is one of the keys (2.14 to 2.19), else the middle of the bucket. Client mode has `client_stats`
instead of `jobs`.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NoReturn, TypeGuard

from parsers._bounds import Parts, check_json, check_parts
from parsers.errors import ParseError
from parsers.fio.report import (
    ALL_CLIENTS,
    KIB,
    NS,
    Disk,
    Job,
    Report,
    Row,
    bucket,
    bucket_of_index,
    is_spread,
    percentile,
    share_edges,
)  # fmt: skip

_START = re.compile(r'\{(?=\s*"fio version")')
_SORTED_START = re.compile(r"^[^\S\n]*\{", re.MULTILINE)  # somebody else's json.dumps(sort_keys=True)
_NOT_FINITE = re.compile(r"(?<=[:\[,])(\s*)[-+]?(?:nan|inf(?:inity)?)%?(?=\s*[,}\]\n])", re.IGNORECASE)
_BAD_ESCAPE = re.compile(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_JOBS = re.compile(r'"(?:jobs|client_stats)"\s*:\s*\[')
_NEXT_JOB = re.compile(r"\s*+(?:,\s*+)?(?=\{)")
_HEAD = re.compile(r'"(fio version|time)"\s*:\s*"([^"\n]*)"')
_TIMESTAMP = re.compile(r'"timestamp"\s*:\s*(\d{1,18})\b')
_GLOBAL = re.compile(r'"global options"\s*:\s*')
_UNREADABLE: Final = (ValueError, RecursionError)  # ValueError: also an integer of 5000 digits
_NEVER: Final = 2**63


def _not_finite(word: str) -> NoReturn:
    raise ValueError(word)


# not strict: fio does not escape tabs in descriptions
_DECODER = json.JSONDecoder(strict=False, parse_constant=_not_finite)

_Key = tuple[str, str | None, str, str, float]
"""Key of an object, direction, statistic, metric, factor to base units."""

_DIRECTIONS: Final = ("read", "write", "trim", "mixed", "sync")
_LATENCIES: Final = tuple((f"{m}{ns}", m, f) for ns, f in (("_ns", 1), ("", 1000)) for m in ("slat", "clat", "lat"))
_LATENCY: Final = (("mean", "mean"), ("min", "min"), ("max", "max"), ("stddev", "sd"))
_SAMPLED: Final = (
    ("bw", "bandwidth", KIB, (("mean", "mean"), ("min", "min"), ("max", "max"), ("dev", "sd"))),
    ("iops", "iops", 1, _LATENCY),
)
_OF_A_JOB: Final[tuple[_Key, ...]] = (
    ("job_runtime", None, "total", "job_runtime", NS["msec"]),
    ("elapsed", None, "total", "elapsed", NS["sec"]),
    ("usr_cpu", None, "total", "usr_cpu", 0.01),
    ("sys_cpu", None, "total", "sys_cpu", 0.01),
    *((key, None, "total", key, 1) for key in ("ctx", "majf", "minf")),
    ("total_err", None, "total", "errors", 1),
)
_OF_A_DISK: Final[tuple[_Key, ...]] = (
    *((f"{way}_ios", way, "total", "disk_ios", 1) for way in ("read", "write")),
    *((f"{way}_merges", way, "total", "disk_merges", 1) for way in ("read", "write")),
    # the kernel's sectors: 512 bytes whatever the disk's are
    *((f"{way}_sectors", way, "total", "disk_bytes", 512) for way in ("read", "write")),
    *((f"{way}_ticks", way, "total", "disk_ticks", NS["msec"]) for way in ("read", "write")),
    ("in_queue", None, "total", "disk_in_queue", NS["msec"]),
    ("util", None, "total", "disk_util", 0.01),
)
_OF_MEMBERS: Final[tuple[_Key, ...]] = (
    *((f"aggr_{key}", way, "members", metric, factor) for key, way, _, metric, factor in _OF_A_DISK),
    ("aggr_write_merge", "write", "members", "disk_merges", 1),  # fio's own spelling
)
_STEADY: Final[tuple[_Key, ...]] = (
    ("bw_mean", None, "steady", "bandwidth", 1),
    ("iops_mean", None, "steady", "iops", 1),
    ("lat_mean", None, "steady", "lat", 1),
)
# What is read from a direction and from a job; everything else goes to the table `other`.
_OF_DIRECTION: Final = """
    io_bytes io_kbytes bw_bytes bw iops runtime total_ios short_ios drop_ios slat clat lat slat_ns clat_ns lat_ns
    bw_min bw_max bw_agg bw_mean bw_dev bw_samples iops_min iops_max iops_mean iops_stddev iops_samples prios
"""
_OF_JOB: Final = """
    jobname groupid job_start error eta elapsed read write trim mixed sync job_runtime usr_cpu sys_cpu ctx majf minf
    iodepth_level iodepth_submit iodepth_complete latency_ns latency_us latency_ms total_err first_error hostname port
    latency_depth latency_target latency_target_ns latency_percentile latency_window latency_window_us
"""
_DIRECTION_KEYS: Final = frozenset(_OF_DIRECTION.split())
_JOB_KEYS: Final = frozenset((*_OF_JOB.split(), "job options"))

_LONGEST_PATH: Final = 500
"""Characters of the path to a number that a newer fio prints: of a nest of a thousand lists each number would have
its thousand."""

_MOST_BROKEN: Final = 1000
"""Maximum of incomplete reports in a text. Each report costs a search of all previous text."""


def find(text: str) -> tuple[list[Report], str]:
    """Return the JSON reports of a text in order, and the text without the reports.

    Raises ParseError for too many broken documents (_MOST_BROKEN).
    """
    if '"fio version"' not in text:
        return [], text
    check_json(text)
    reports: list[Report] = Parts()
    rest: list[str] = []
    at = broken = 0
    starts = _START if _START.search(text) else _SORTED_START
    while match := starts.search(text, at):
        begin = match.start() if starts is _START else match.end() - 1
        rest.append(text[at:begin])
        report, at, whole = _read(text, begin, starts)
        reports.append(report)
        broken += not whole
        if broken > _MOST_BROKEN:
            raise ParseError("fio output", f"more than {_MOST_BROKEN} JSON reports that are cut or damaged")
    return reports, "".join([*rest, text[at:]])


def _read(text: str, start: int, starts: re.Pattern[str]) -> tuple[Report, int, bool]:
    """Return the report that starts at `start`, its end, and whether the report is complete."""
    with contextlib.suppress(*_UNREADABLE):
        document, end = _DECODER.raw_decode(text, start)
        return _report(document), end, True
    following = starts.search(text, start + 1)
    end = following.start() if following else len(text)
    mended, count = _NOT_FINITE.subn(r"\1null", text[start:end])
    mended = _BAD_ESCAPE.sub(r"\\\\", mended)
    try:
        document, length = _DECODER.raw_decode(mended)
        report = _report(document)
    except _UNREADABLE:
        report, length = _salvage(mended), len(mended)
    report.not_finite = count > 0
    # The repair added text, so the end is counted from behind.
    return report, end - (len(mended) - length), False


def _salvage(text: str) -> Report:
    """Return the complete jobs of a truncated report."""
    document: dict[str, Any] = {**dict(_HEAD.findall(text)), "jobs": []}
    if match := _TIMESTAMP.search(text):
        document["timestamp"] = int(match[1])
    if match := _GLOBAL.search(text):
        with contextlib.suppress(*_UNREADABLE):
            document["global options"] = _DECODER.raw_decode(text, match.end())[0]
    if match := _JOBS.search(text):
        at = match.end()
        with contextlib.suppress(*_UNREADABLE):
            while found := _NEXT_JOB.match(text, at):
                job, at = _DECODER.raw_decode(text, found.end())
                document["jobs"].append(job)
    report = _report(document)
    report.truncated = f"the JSON ends after {len(report.jobs)} complete job{'s' * (len(report.jobs) != 1)}"
    return report


def _report(document: dict[str, Any]) -> Report:
    """Return a report. Jobs are removed from the document one by one, because json+ jobs are large."""
    report = Report("json", str(document.get("fio version", "")).removeprefix("fio-") or None)
    shared = _strings(document.get("global options"))
    moment = document.get("timestamp")
    every = _objects(document.pop("client_stats", ()))
    check_parts(len(every))
    last = _last_entries(every)
    report.earlier_entries = len(every) - len(last)
    jobs = [*_objects(document.pop("jobs", ())), *last][::-1]
    check_parts(len(jobs))
    while jobs:
        item = jobs.pop()
        job = _job(item, shared)
        job.time = str(document["time"]) if document.get("time") else None
        if job.started is None and isinstance(moment, int) and isinstance(item.get("elapsed"), int):
            job.started = moment - int(item["elapsed"])
        report.form = "json+" if job.bins else report.form
        report.jobs.append(job)
    for item in _objects(document.get("disk_util")):
        rows = [*_rows(item, _OF_A_DISK), *_rows(item, _OF_MEMBERS)]
        report.disks.append(Disk(str(item.get("name", "")), _host(item), rows))
    return report


def _last_entries(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the last entry of each client job.

    With --status-interval fio's client puts all reports into one list. The sum over all clients follows the first
    report and is not the sum of the run.
    """
    at = next((i for i, entry in enumerate(entries) if _is_sum(entry)), len(entries))
    if at + 1 >= len(entries):
        return entries
    jobs = [entry for entry in entries if not _is_sum(entry)]
    keys = [tuple(str(job.get(key)) for key in ("hostname", "port", "jobname", "groupid")) for job in jobs]
    processes, following = Counter(keys[:at]), Counter(keys)
    last = []
    for key, entry in zip(keys, jobs, strict=True):
        if following[key] <= max(1, processes[key]):
            last.append(entry)
        following[key] -= 1
    return last


def _is_sum(item: Mapping[str, Any]) -> bool:
    """Return whether the entry is the sum over all clients.

    A job has the key, with {} if all options are global. fio before 2.14 never prints the key.
    """
    return item.get("jobname") == ALL_CLIENTS and "job options" not in item


def _rows(values: Mapping[str, Any], keys: Iterable[_Key]) -> Iterator[Row]:
    """Yield a row for each key with a number."""
    for key, direction, statistic, metric, factor in keys:
        if _number(value := values.get(key)):
            yield direction, statistic, metric, value * factor


def _job(item: Mapping[str, Any], shared: Mapping[str, str]) -> Job:
    own = _strings(item.get("job options"))
    job = Job(
        name=str(item.get("jobname", "")), group=_integer(item.get("groupid")), host=_host(item), is_sum=_is_sum(item),
        error=_integer(item.get("error")), options={**shared, **own}, shared=frozenset(shared.keys() - own.keys()),
        started=_integer(item.get("job_start")),
    )  # fmt: skip
    for direction in _DIRECTIONS:
        if isinstance(values := item.get(direction), dict):
            _direction(job, direction, values)
    job.rows += _rows(item, _OF_A_JOB)
    if not any(row[2] in ("io_bytes", "total_ios") for row in job.rows):  # shares of nothing, CPU time of nothing
        job.rows = [row for row in job.rows if row[2] == "errors"]
    else:
        for key in ("iodepth_level", "iodepth_submit", "iodepth_complete"):
            depths = _items(item.get(key))
            job.rows += [(None, depth, key, v / 100) for depth, v in depths if _number(v) and v]
        _shares(job, item)
    if errors := item.get("total_err"):
        first = item.get("first_error")
        job.notes.append(("io_errors", f"{errors} I/O errors, the first with errno {first}"))
    if isinstance(steady := item.get("steadystate"), dict):
        job.rows += [row for row in _rows(_object(steady.get("data")), _STEADY) if row[3]]
        if not steady.get("attained"):
            job.notes.append(("not_steady", f"the steady state asked for ({steady.get('ss')}) was not reached"))
    if item.get("latency_target"):
        target = item.get("latency_target_ns", item["latency_target"])
        what = f"iodepth {item.get('latency_depth')} was found for a target of {target} ns"
        job.notes.append(("latency_target", what))
        latency_options = {
            k: v for k, v in item.items() if k.startswith("latency_") and k[8:] not in ("ns", "us", "ms")
        }
        job.other += _leaves(latency_options)
    job.other += _leaves({k: v for k, v in item.items() if k not in _JOB_KEYS})
    return job


def _direction(job: Job, name: str, values: Mapping[str, Any]) -> None:
    """Store read, write, trim, mixed or sync. A direction of zeros was not measured."""
    if name != "sync" and not (values.get("io_bytes") or values.get("total_ios") or values.get("runtime")):
        return
    bandwidth, factor = ("bw_bytes", 1) if values.get("bw_bytes") else ("bw", KIB)
    totals = (
        ("io_bytes", "io_bytes", 1 if "io_kbytes" in values else KIB),
        ("total_ios", "total_ios", 1),
        (bandwidth, "bandwidth", factor),
        ("iops", "iops", 1),
        ("runtime", "runtime", NS["msec"]),
        ("short_ios", "short_ios", 1),
        ("drop_ios", "drop_ios", 1),
    )
    rows = _rows(values, ((key, name, "total", metric, factor) for key, metric, factor in totals))
    job.rows += [row for row in rows if row[3]]
    _latencies(job, name, values)
    for prio in _objects(values.get("prios")):
        numbers = [str(prio[key]) for key in ("prioclass", "prio", "priohint") if key in prio]
        _latencies(job, f"{name} prio {'/'.join(numbers)}", prio)
    for prefix, metric, factor, statistics in _SAMPLED:
        if not values.get(f"{prefix}_mean"):
            continue
        samples = _integer(values.get(f"{prefix}_samples"))
        keys = [(f"{prefix}_{key}", name, statistic, metric, factor) for key, statistic in statistics]
        job.rows += [row for row in _rows(values, keys) if row[1] != "sd" or is_spread(row[3], samples)]
        if samples is not None and metric == "bandwidth":  # before samples were printed, bw_agg was in KiB/s
            share = _rows(values, [("bw_agg", name, "mean", "bandwidth_share", 0.01)])
            job.rows += [row for row in share if row[3]]
        job.rows += [row for row in _rows(values, [(f"{prefix}_samples", name, metric, "samples", 1)]) if row[3]]
    job.other += _leaves({k: v for k, v in values.items() if k not in _DIRECTION_KEYS}, name)


def _latencies(job: Job, name: str, values: Mapping[str, Any]) -> None:
    """Store latency objects. Zeros only (disable_clat=1, slat of a synchronous engine) mean not measured."""
    for key, metric, factor in _LATENCIES:
        latency = _object(values.get(key))
        samples = _integer(latency.get("N"))
        if not (latency.get("max") or latency.get("mean")) or samples == 0:
            continue
        rows = _rows(latency, ((theirs, name, ours, metric, factor) for theirs, ours in _LATENCY))
        job.rows += [row for row in rows if row[1] != "sd" or is_spread(row[3], samples)]
        if samples is not None:
            job.rows.append((name, metric, "samples", samples))
        job.rows += [
            (name, percentile(which), metric, value * factor)
            for which, value in _items(latency.get("percentile"))
            if _number(value) and percentile(which)  # not "0.00": 0, which pads the list to 20 in fio 2.x
        ]
        if bins := _object(latency.get("bins")):
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
        lows, highs, counts = [low for low, _ in edges], [high for _, high in edges], list(bins.values())
    if factor != 1:
        lows, highs = [low * factor for low in lows], [high * factor for high in highs]
    if counts:
        job.bins.append((name, metric, lows, highs, counts))


class _Edges(dict[str, int]):
    """The low or high end of each bucket by fio's key, cached: a report has tens of thousands of buckets with 4000
    keys.
    """

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


def _shares(job: Job, item: Mapping[str, Any]) -> None:
    finer = False
    for key, unit in (("latency_ns", "nsec"), ("latency_us", "usec"), ("latency_ms", "msec")):
        for upper, share in _items(item.get(key)):
            if share and _number(share) and (edges := share_edges(upper, unit, finer)):
                job.shares.append((*edges, share / 100))
        finer = finer or isinstance(item.get(key), dict)


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, float]]:  # noqa: ANN401 (JSON)
    """Yield every nonzero number with its path, so that metrics of newer fio versions are stored."""
    if len(path) > _LONGEST_PATH:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{index}]")
    elif _number(value) and value:
        yield path, float(value)


def _number(value: object) -> TypeGuard[int | float]:
    """Return whether the value is a figure. Some versions print a missing minimum as 2**64 - 1."""
    return (type(value) is int or type(value) is float) and -_NEVER < value < _NEVER


def _integer(value: object) -> int | None:
    return value if type(value) is int and -_NEVER < value < _NEVER else None


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _items(value: object) -> list[tuple[str, Any]]:
    return list(_object(value).items())


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _strings(value: object) -> dict[str, str]:
    return {str(k): str(v) for k, v in _object(value).items()}


def _host(item: Mapping[str, Any]) -> str | None:
    return str(item["hostname"]) if item.get("hostname") else None
