"""fio: per direction IOPS, mean latency and quantiles of it, the jobs of the run together; over iodepth the peak."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from parsers.measurement import Parsed, number
from reports import derive
from reports import format as fmt
from reports.derive import Bucket
from reports.frames import Run
from reports.numbers import _others
from reports.numbers._curves import lines
from reports.numbers._quantiles import QUANTILES, quantile, quantiles
from reports.numbers.model import Buckets, Name, Number, Part

CURVE_AXIS = "iodepth"


def fio_jobs(run: Run) -> dict[str, dict[object, dict[tuple[str, str], float]]]:
    """Return direction → job → (metric, statistic) → value; "mixed" only where fio did not print its parts."""
    jobs: dict[str, dict[object, dict[tuple[str, str], float]]] = {}
    for row in run.measured():
        direction = str(row.get("direction"))
        if row.get("job") is None or direction not in ("read", "write", "trim", "mixed"):
            continue
        job = jobs.setdefault(direction, {}).setdefault((row.get("document"), row.get("job")), {})
        job[row.metric, str(row.get("statistic"))] = row.value
    if "mixed" in jobs and len(jobs) > 1:
        del jobs["mixed"]  # fio prints the sum beside its parts
    return jobs


def numbers(run: Run) -> Iterator[Number]:
    buckets = _buckets(run)
    for direction, by_job in fio_jobs(run).items():
        part: Part = (("direction", direction),)
        rows = [row for row in by_job.values() if row.get(("iops", "total"))]
        if not rows:
            rates = [row["bandwidth", "total"] for row in by_job.values() if row.get(("bandwidth", "total"))]
            if rates:
                name = Name(metric="bandwidth", unit="B/s", better="higher", part=part)
                yield Number(name=name, value=sum(rates))
            continue
        name = Name(metric="IOPS", unit="1/s", better="higher", part=part)
        yield Number(name=name, value=sum(r["iops", "total"] for r in rows))
        mean = _weighted(rows, ("lat", "mean")) or _weighted(rows, ("clat", "mean"))
        if mean:
            yield quantile("mean", mean, part, None)
        if buckets.get(direction):
            yield from quantiles(part, buckets[direction])
        elif len(rows) == 1:
            ios = rows[0].get(("total_ios", "total"), 0.0)
            for statistic, share in QUANTILES:
                value = rows[0].get(("clat", statistic))
                if value and (share <= 0.5 or ios * (1 - share) >= 10):
                    yield quantile(statistic, value, part, bin_width(value))


def _weighted(rows: Sequence[Mapping[tuple[str, str], float]], key: tuple[str, str]) -> float | None:
    known = [(row[key], row["iops", "total"]) for row in rows if row.get(key)]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if total else None


def bin_width(value: float, bins: int = 64) -> float:
    """Return the width of the log-linear bin that a value lies in: fio cuts every power of two into 64, above 128 ns.

    >>> bin_width(36600)
    512.0
    """
    return 1.0 if value < 2 * bins else 2.0 ** (math.frexp(value)[1] - 1) / bins


def histograms(run: Run) -> list[tuple[Part, Buckets]]:
    """Return the completion latencies of each direction."""
    return [((("direction", direction),), buckets) for direction, buckets in _buckets(run).items()]


def _buckets(run: Run) -> dict[str, Buckets]:
    """Return the completion latencies per direction, the jobs of the run added up."""
    counts: dict[str, dict[tuple[float, float], int]] = {}
    for row in run.table("histogram"):
        if row.get("which") == "clat":
            own = counts.setdefault(str(row["direction"]), {})
            edges = number(row["low"]), number(row["high"])
            own[edges] = own.get(edges, 0) + int(number(row["count"]))
    return {
        d: tuple(Bucket(low, high, n) for (low, high), n in sorted(own.items())) for d, own in counts.items()
    }


def curve_numbers(curve: Mapping[int, Sequence[Number]], slo: float | None) -> Iterator[Number]:
    """Give peak IOPS per direction over iodepth; with an SLO (ns) also the most IOPS whose p99 keeps it."""
    tails = lines(curve, "latency p99")
    for part, line in lines(curve, "IOPS").items():
        yield Number.derived("peak IOPS", "1/s", "higher", max(n.value for n in line.values()), part)
        if slo is not None and part in tails:
            points = [(line[d].value, tails[part][d].value) for d in line if d in tails[part]]
            within = derive.within_slo(points, slo)
            if within is not None:
                yield Number.derived("IOPS at the SLO", "1/s", "higher", within, part)


def headline(parsed: Parsed) -> str:
    """Return "read 45.2 kIOPS, 174 µs"; of a mix "read 31 kIOPS 180 µs, write …", both in 50 characters."""
    rows = [row for row in parsed.measured() if row.get("job") is not None]
    found = []
    for direction in ("read", "write", "trim", "mixed"):
        own = [row for row in rows if row.get("direction") == direction]
        iops = sum(row.value for row in own if row.metric == "iops" and row.get("statistic") == "total")
        means = {row.metric: row.value for row in reversed(own) if row.get("statistic") == "mean"}
        lat = means.get("lat") or means.get("clat")
        if iops:
            found.append((direction, fmt.quantity(iops, "IOPS"), fmt.quantity(lat, "ns") if lat else ""))
    if len(found) > 1:
        return ", ".join(f"{d[0]} {iops} {lat}".strip() for d, iops, lat in found)
    return ", ".join(f"{d} {iops}{', ' + lat if lat else ''}" for d, iops, lat in found)


leading = _others.leading
