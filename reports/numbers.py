"""The numbers of a run that are compared: what each tool is asked for, with its direction and its last printed digit. Pure.

A run gives one value per number. Distributions give quantiles of the run, never their single samples: two histograms merged over
runs call 18 to 26 % of unchanged tails changed where p99 varies by 3 to 6 % from run to run (measurement guide, 3).

    stream    best bandwidth of each kernel
    mlc       latency and bandwidth of each row of each table; of a loaded-latency curve also what it offers (derived)
    imb       time of each message size (of collectives, of the slowest process); of PingPong also its figures (derived)
    fio       per direction IOPS, mean latency and quantiles of it, the jobs of the run together
    poke      quantiles of the latency, time per byte and per turn of the loop
    others    every metric that has a direction
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from parsers import command, get_parser
from parsers.measurement import Cell, Direction, Metric
from reports import derive
from reports.derive import Bucket, Load
from reports.frames import Run

Part = tuple[tuple[str, Cell], ...]
"""What tells a number from the others of its run: (("kernel", "triad"),), (("traffic", "read"), ("delay", 100))."""

QUANTILES: Final = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999))
"""Given where at least ten samples lie beyond (`derive.quantile`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """One number of one run, or of the runs of one repeat (`curve_numbers`)."""

    metric: str  # "bandwidth", "latency p99"
    unit: str  # a base unit
    better: Direction
    value: float
    part: Part = ()
    kind: str = ""  # which of the tool's benchmarks, where it has several: "latency matrix", "PingPong"
    step: float | None = None  # the last printed digit, or the width of its bin, in the unit; None: not known
    derived: bool = False  # computed from a curve, not read


Buckets = tuple[Bucket, ...]


def numbers(run: Run) -> list[Number]:
    """Return what a run is compared by, in the order of its tables; empty if it gave no number."""
    return list(_READERS.get(run.tool, _others)(run)) if run.parsed else []


def histograms(run: Run) -> list[tuple[Part, Buckets]]:
    """Return the latency distributions of a run: fio's completion latencies per direction, poke's per operation."""
    if run.tool == "fio":
        return [((("direction", direction),), buckets) for direction, buckets in _fio_buckets(run).items()]
    return list(_poke_buckets(run).items()) if run.tool == "poke" else []


# --- the last digit ----------------------------------------------------------------------------------------

_STEPS: Final[Mapping[str, Mapping[str, float]]] = {
    "stream": {"bandwidth": 1e5},  # "Triad:  13512.4", MB/s
    "mlc": {
        "latency": 0.1,
        "bandwidth": 1e5,
    },  # "81.5", "34512.8"; loaded latencies have two digits: _MLC_LOADED
    "imb": {"time": 10.0, "time_max": 10.0, "bandwidth": 1e4},  # "0.19" µs, "42.11" MB/s
    "osu": {"latency": 10.0, "bandwidth": 1e4, "message_rate": 0.01},
    "likwid_bench": {"bandwidth": 1e4, "flop_rate": 1e4},
}
_MLC_LOADED: Final = 0.01


def printed_step(tool: str, metric: str) -> float | None:
    """Return the last digit that a tool prints of a metric, in the metric's base unit; None where it prints them all."""
    return _STEPS.get(tool, {}).get(metric)


def common_step(values: Iterable[float]) -> float:
    """Return the largest power of ten of which all values are whole multiples: the last digit of an unknown program.

    0 where fewer than five different values tell, or where they have more than ten digits. Five values that all end in a 0 by
    chance are one in 10⁵.
    """
    known = sorted({abs(v) for v in values if v})
    if len(known) < 5:
        return 0.0
    for power in range(math.floor(math.log10(known[0])), math.floor(math.log10(known[-1])) - 11, -1):
        step = 10.0**power
        if all(abs(v / step - round(v / step)) <= 1e-6 for v in known):
            return step
    return 0.0


def digits_unknown(tool: str, number: Number) -> bool:
    """Is a number printed by a program whose format nobody knows? Then `common_step` over its values tells the last digit."""
    return tool not in _FORMATS_KNOWN and not number.derived and number.step is None


_FORMATS_KNOWN: Final = frozenset((*_STEPS, "fio", "poke"))


def bin_width(value: float, bins: int = 64) -> float:
    """Return the width of the log-linear bin that a value lies in: fio cuts every power of two into 64, above 128 ns.

    >>> bin_width(36600)
    512.0
    """
    return 1.0 if value < 2 * bins else 2.0 ** (math.frexp(value)[1] - 1) / bins


def resolution(number: Number) -> float:
    """Return ρ, the last digit through the value: IMB's `0.19` µs gives 0.053. 0 where it is not known."""
    return number.step / abs(number.value) if number.step and number.value else 0.0


# --- the tools ---------------------------------------------------------------------------------------------


def _number(tool: str, record: Mapping[str, Cell], part: Part, metric: Metric, kind: str = "") -> Number:
    name = str(record["metric"])
    return Number(
        metric=name, unit=str(record["unit"]), better=metric.better, value=float(str(record["value"])), part=part,
        kind=kind, step=printed_step(tool, name),
    )  # fmt: skip


def _part(record: Mapping[str, Cell], *names: str) -> Part:
    return tuple((name, record[name]) for name in names if record.get(name) is not None)


def _stream(run: Run) -> Iterator[Number]:
    metric = get_parser("stream").METRICS["bandwidth"]
    records = run.records()
    several = _several(records, "run")
    for record in records:
        if record["metric"] == "bandwidth":
            yield _number("stream", record, _part(record, *several, "kernel"), metric)


def _several(records: Iterable[Mapping[str, Cell]], label: str) -> tuple[str, ...]:
    """Return the label if the text has several of it: a run of a text that holds one needs no number."""
    return (label,) if len({record.get(label) for record in records}) > 1 else ()


def _mlc(run: Run) -> Iterator[Number]:
    metrics = get_parser("mlc").METRICS
    records = run.records()
    several = _several(records, "run")
    curves: dict[Part, dict[object, dict[str, float]]] = {}
    turns: Counter[tuple[str, str, Part]] = Counter()
    for record in records:
        name = str(record["metric"])
        if name not in ("latency", "bandwidth"):
            continue
        kind = str(record.get("section") or "").replace("_", " ")
        part = _part(record, *several, "traffic", "delay", "transfer", "from", "to")
        turns[kind, name, part] += 1
        if (turn := turns[kind, name, part]) > 1:  # a delay may come twice
            part = (*part, ("turn", turn))
        number = _number("mlc", record, part, metrics[name], kind)
        if kind != "loaded latency":
            yield number
            continue
        yield replace(number, step=_MLC_LOADED) if name == "latency" else number
        rows = curves.setdefault(_part(record, *several, "traffic"), {})
        row = rows.setdefault(record.get("row"), {"delay": float(str(record.get("delay") or 0))})
        row[name] = number.value
    for part, rows in curves.items():
        loads = [
            Load(int(row["delay"]), row["latency"], row["bandwidth"])
            for row in rows.values()
            if "latency" in row and "bandwidth" in row
        ]
        if len(loads) >= 4:
            yield from _offers(part, derive.loaded_latency(loads))


def _offers(part: Part, offers: derive.LoadedLatency) -> Iterator[Number]:
    """What a loaded-latency curve offers, as in `derive.loaded_latency`."""
    bandwidth = printed_step("mlc", "bandwidth")
    yield _derived("peak bandwidth", "B/s", "higher", offers.peak, part, bandwidth)
    yield _derived("unloaded latency", "ns", "lower", offers.unloaded, part, _MLC_LOADED)
    if offers.at_double is not None and offers.reached_double:
        yield _derived(
            "bandwidth at 2 × unloaded latency", "B/s", "higher", offers.at_double, part, bandwidth
        )


def _derived(
    metric: str, unit: str, better: Direction, value: float, part: Part, step: float | None = None
) -> Number:
    return Number(metric=metric, unit=unit, better=better, value=value, part=part, step=step, derived=True)


_IMB_HEADLINES: Final[tuple[str, ...]] = ("time", "time_max", "bandwidth", "message_rate")
"""IMB computes its bandwidth from `time_max`, so of a collective that time stands for the row."""


def _imb(run: Run) -> Iterator[Number]:
    metrics: Mapping[str, Metric] = get_parser("imb").METRICS
    rows: dict[tuple[str, Part], dict[str, Mapping[str, Cell]]] = {}
    for record in run.records():
        part = _part(record, "nprocs", "mode", "group", "message_size")
        rows.setdefault((str(record.get("benchmark") or ""), part), {}).setdefault(
            str(record["metric"]), record
        )
    curves: dict[Part, dict[int, Number]] = {}
    for (benchmark, part), row in rows.items():
        wanted = [*_IMB_HEADLINES, *(n for n in row if n in metrics and metrics[n].better != "neither")]
        name = next((n for n in wanted if n in row), "")
        if not name:
            continue
        number = _number("imb", row[name], part, metrics[name], benchmark)
        if name == "time":
            number = _recovered(number, row.get("bandwidth"))
        yield number
        size = row[name].get("message_size")
        if name == "time" and benchmark == "PingPong" and size is not None:
            curve = tuple(label for label in part if label[0] != "message_size")
            curves.setdefault(curve, {})[int(str(size))] = number
    for part, found in curves.items():
        if len(found) >= 4:
            yield from _pingpong(part, found)


def _recovered(time: Number, bandwidth: Mapping[str, Cell] | None) -> Number:
    """Return the time from the bandwidth beside it, where that has more digits: 8 B in 0.19 µs at 42.11 MB/s took 190.0 ns.

    IMB computes the column from the time before it is rounded. What does not agree with the printed time within its last
    digit counts the bytes in another way and is left alone.
    """
    size = dict(time.part).get("message_size")
    if bandwidth is None or not size or str(bandwidth["unit"]) != "B/s":
        return time
    rate = float(str(bandwidth["value"]))
    found = float(str(size)) / rate * 1e9 if rate > 0 else 0.0
    step = found * (printed_step("imb", "bandwidth") or 0.0) / rate if rate > 0 else math.inf
    if time.step is None or step >= time.step or abs(found - time.value) > time.step / 2 + step:
        return time
    return replace(time, value=found, step=step)


def _pingpong(part: Part, curve: Mapping[int, Number]) -> Iterator[Number]:
    """Start-up time α, peak and n½ of a PingPong curve, as in `derive`. α is that of small messages where the fit has two branches."""
    times = {size: number.value for size, number in curve.items() if number.value > 0}
    figures = derive.pingpong(times)
    fitted = derive.fit(times)
    if fitted and fitted.quotable[0].alpha > 0:
        yield _derived("α", "ns", "lower", fitted.quotable[0].alpha, part)
    if figures.peak is not None and figures.peak_size is not None:
        at = curve[figures.peak_size]
        yield _derived("peak bandwidth", "B/s", "higher", figures.peak, part, figures.peak * resolution(at))
    if (
        figures.half_size is not None
    ):  # smaller only means better while the peak stays: no direction of its own
        yield _derived("n½", "B", "neither", figures.half_size, part)


def fio_jobs(run: Run) -> dict[str, dict[object, dict[tuple[str, str], float]]]:
    """Return direction → job → (metric, statistic) → value; "mixed" only where fio did not print its parts."""
    jobs: dict[str, dict[object, dict[tuple[str, str], float]]] = {}
    for record in run.records():
        direction = str(record.get("direction"))
        if record.get("job") is None or direction not in ("read", "write", "trim", "mixed"):
            continue
        job = jobs.setdefault(direction, {}).setdefault((record.get("document"), record["job"]), {})
        job[str(record["metric"]), str(record.get("statistic"))] = float(str(record["value"]))
    if "mixed" in jobs and len(jobs) > 1:
        del jobs["mixed"]  # fio prints the sum beside its parts
    return jobs


def _fio(run: Run) -> Iterator[Number]:
    buckets = _fio_buckets(run)
    for direction, by_job in fio_jobs(run).items():
        part: Part = (("direction", direction),)
        rows = [row for row in by_job.values() if row.get(("iops", "total"))]
        if not rows:
            rates = [row["bandwidth", "total"] for row in by_job.values() if row.get(("bandwidth", "total"))]
            if rates:
                yield Number(metric="bandwidth", unit="B/s", better="higher", value=sum(rates), part=part)
            continue
        yield Number(
            metric="IOPS",
            unit="1/s",
            better="higher",
            value=sum(r["iops", "total"] for r in rows),
            part=part,
        )
        mean = _weighted(rows, ("lat", "mean")) or _weighted(rows, ("clat", "mean"))
        if mean:
            yield Number(metric="latency mean", unit="ns", better="lower", value=mean, part=part)
        if buckets.get(direction):
            yield from _quantiles(part, buckets[direction])
        elif len(rows) == 1:
            ios = rows[0].get(("total_ios", "total"), 0.0)
            for name, share in QUANTILES:
                value = rows[0].get(("clat", name))
                if value and (share <= 0.5 or ios * (1 - share) >= 10):
                    yield Number(
                        metric=f"latency {name}", unit="ns", better="lower", value=value, part=part, step=bin_width(value)
                    )  # fmt: skip


def _weighted(rows: Sequence[Mapping[tuple[str, str], float]], key: tuple[str, str]) -> float | None:
    known = [(row[key], row["iops", "total"]) for row in rows if row.get(key)]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if total else None


def _fio_buckets(run: Run) -> dict[str, Buckets]:
    """Return the completion latencies per direction, the jobs of the run added up."""
    counts: dict[str, dict[tuple[float, float], int]] = {}
    for record in run.table("histogram"):
        if record.get("which") == "clat":
            own = counts.setdefault(str(record["direction"]), {})
            edges = float(str(record["low"])), float(str(record["high"]))
            own[edges] = own.get(edges, 0) + int(str(record["count"]))
    return {
        d: tuple(Bucket(low, high, n) for (low, high), n in sorted(own.items())) for d, own in counts.items()
    }


def _quantiles(part: Part, buckets: Sequence[Bucket], least: float = 0.0) -> Iterator[Number]:
    """Quantiles of one run's distribution; the step is the width of the bin, at least `least`."""
    for name, share in QUANTILES:
        value = derive.quantile(buckets, share)
        if value is not None and value > 0:
            own = next((b for b in buckets if b.low <= value < b.high), None)
            step = max(own.high - own.low if own else 0.0, least)
            yield Number(
                metric=f"latency {name}", unit="ns", better="lower", value=value, part=part, step=step or None
            )


def _poke(run: Run) -> Iterator[Number]:
    records = run.records()
    timer = next((float(str(r["value"])) for r in records if r["metric"] == "timer_resolution"), 0.0)
    for part, buckets in _poke_buckets(run).items():
        yield from _quantiles(part, buckets, timer)
    metrics = get_parser("poke").METRICS
    for record in records:
        if record["metric"] in ("time_per_byte", "time_per_iteration"):
            part = _part(record, "target", "op", "statistic")
            yield _number("poke", record, part, metrics[str(record["metric"])])


def _poke_buckets(run: Run) -> dict[Part, Buckets]:
    found: dict[Part, list[Bucket]] = {}
    for record in run.table("histogram"):
        bucket = Bucket(float(str(record["low"])), float(str(record["high"])), int(str(record["count"])))
        found.setdefault(_part(record, "target", "op"), []).append(bucket)
    return {part: tuple(buckets) for part, buckets in found.items() if sum(b.n for b in buckets)}


def _others(run: Run) -> Iterator[Number]:
    metrics = command.metrics_of(run.point.options) if run.tool == "command" else get_parser(run.tool).METRICS
    rows = [
        r for r in run.records() if r["metric"] in metrics and metrics[str(r["metric"])].better != "neither"
    ]
    if run.tool == "likwid_bench":  # the rest of its figures say the same in other words
        rows = [r for r in rows if r["metric"] in ("bandwidth", "flop_rate")]
    labels = [n for n in get_parser(run.tool).LABELS if len({r.get(n) for r in rows}) > 1]
    seen: set[tuple[Part, str]] = set()
    for record in rows:
        part = _part(record, *labels)
        name = str(record["metric"])
        if (part, name) not in seen:
            seen.add((part, name))
            yield _number(run.tool, record, part, metrics[name])


_READERS: Final[Mapping[str, Callable[[Run], Iterator[Number]]]] = {
    "stream": _stream, "mlc": _mlc, "imb": _imb, "fio": _fio, "poke": _poke,
}  # fmt: skip


# --- curves over cells -------------------------------------------------------------------------------------

CURVE_AXIS: Final[Mapping[str, str]] = {"stream": "threads", "fio": "iodepth"}
"""The axis over which the runs of one repeat make a curve; MLC and IMB sweep theirs inside a run."""


def curve_numbers(tool: str, curve: Mapping[int, Sequence[Number]], slo: float | None = None) -> list[Number]:
    """Return what one repeat's curve over threads or iodepth offers: derived numbers.

    curve: axis value → the numbers of the run there. At least three values, else there is no curve and nothing is returned.
    slo: a latency (ns) that p99 must keep; then also the most IOPS within it, per direction (`derive.within_slo`).

        stream   peak bandwidth of each kernel; the least threads that give 95 % of it
        fio      peak IOPS per direction; IOPS at the SLO
    """
    if len(curve) < 3:
        return []
    if tool == "stream":
        return list(_scaling(curve))
    return list(_depths(curve, slo)) if tool == "fio" else []


def _lines(curve: Mapping[int, Sequence[Number]], metric: str) -> dict[Part, dict[int, Number]]:
    found: dict[Part, dict[int, Number]] = {}
    for at, row in sorted(curve.items()):
        for number in row:
            if number.metric == metric:
                found.setdefault(number.part, {})[at] = number
    return {part: line for part, line in found.items() if len(line) >= 3}


def _scaling(curve: Mapping[int, Sequence[Number]]) -> Iterator[Number]:
    for part, line in _lines(curve, "bandwidth").items():
        best = max(line.values(), key=lambda n: n.value)
        yield _derived("peak bandwidth", "B/s", "higher", best.value, part, best.step)
        full = derive.saturation({n: number.value for n, number in line.items()})
        if full is not None:
            yield _derived("threads for 95 % of the peak", "1", "neither", float(full), part)


def _depths(curve: Mapping[int, Sequence[Number]], slo: float | None) -> Iterator[Number]:
    tails = _lines(curve, "latency p99")
    for part, line in _lines(curve, "IOPS").items():
        yield _derived("peak IOPS", "1/s", "higher", max(n.value for n in line.values()), part)
        if slo is not None and part in tails:
            points = [(line[d].value, tails[part][d].value) for d in line if d in tails[part]]
            within = derive.within_slo(points, slo)
            if within is not None:
                yield _derived("IOPS at the SLO", "1/s", "higher", within, part)


def axis_value(run: Run) -> int | None:
    """Return the run's place on its tool's CURVE_AXIS, None if it has none."""
    value: Any = run.options.get(CURVE_AXIS.get(run.tool, ""))
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
