"""poke: quantiles of the latency, time per byte, and per turn of the loop.

The quantiles are those that poke prints: of the samples themselves, where a bucket of its histogram is up to 1 % wide; one that it
does not print is the middle of its bucket. The time per turn is the median sample through its turns: a mean is what a few
preempted samples make it.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeVar

from parsers import poke
from parsers.measurement import Parsed
from reports.numbers import formulas
from reports.numbers._quantiles import QUANTILES, latency, quantile, quantiles
from reports.numbers.clock import step as values_apart
from reports.numbers.formulas import Bucket, Sampled
from reports.numbers.model import Buckets, Name, Number, Part, Resolved, Second
from reports.readings import reading
from reports.readings.poke import buckets, first, times
from reports.results.model import Run
from reports.text import format as fmt

T = TypeVar("T")


def numbers(run: Run) -> Iterator[Number]:
    step = first(run, "timer_resolution")  # not `step_of`: before poke 0.3 what the counter counts in
    told = latencies(run)
    lacking = any(not own.get(statistic) for own in told.values() for statistic, _ in QUANTILES)
    bins: dict[Part, Binned] = (
        {(("target", of.target), ("op", of.op)): of for of in binned(run)} if lacking else {}
    )
    for part, own in told.items():
        of_bins = bins.get(part)
        for statistic, _ in QUANTILES:
            if value := own.get(statistic):
                yield quantile(statistic, value, part, step)
            elif of_bins and statistic in of_bins.quantiles:
                yield quantile(statistic, of_bins.quantiles[statistic], part, of_bins.steps.get(statistic))
    yield from totals(run)


def totals(run: Run) -> Iterator[Number]:
    """Give what is measured besides single accesses: time per byte, of all files together, per turn of a loop."""
    for time in times(run):
        if time.metric in ("time_per_byte", "total_time"):
            labels = (("target", time.target), ("op", time.op), ("statistic", time.statistic))
            part: Part = tuple((label, value) for label, value in labels if value is not None)
            name = replace(_name(time.metric, part), made_of=f"{time.metric}/{time.op or time.statistic}")
            yield Number(name=name, value=time.value)
    told = latencies(run)
    for of, turns in turns_of(run).items():
        if median := told[of].get("p50"):
            yield Number(name=_name("time_per_iteration", of, "p50"), value=median / turns)


def _name(metric: str, part: Part, statistic: str = "") -> Name:
    of = poke.METRICS[metric]
    return Name(metric=metric, statistic=statistic, unit=of.unit, better=of.better, part=part)


def latencies(of: Run | Parsed) -> Mapping[Part, Mapping[str, float]]:
    """Return for each operation what poke prints of its latency: "p50", "p99.9", "mean", "sd", "max" (ns). Of fewer than 20 samples
    it prints no median."""
    parsed = of.parsed if isinstance(of, Run) else of
    return parsed.once(_latencies) if parsed else {}


def _latencies(parsed: Parsed) -> Mapping[Part, Mapping[str, float]]:
    found: dict[Part, dict[str, float]] = {}
    for time in times(parsed):
        if time.metric == "latency" and time.statistic:
            part: Part = (("target", time.target), ("op", time.op))
            told = found.setdefault(part, {})
            several = time.statistic == "max" and "max" in told  # documents of one target
            told[time.statistic] = max(told["max"], time.value) if several else time.value
    return found


def turns_of(run: Run | Parsed) -> dict[Part, int]:
    """Return for each loop its turns in a sample: the mean sample through the mean turn, as poke prints both."""
    means = {part: own.get("mean") for part, own in latencies(run).items()}
    found: dict[Part, int] = {}
    for time in times(run):
        part: Part = (("target", time.target), ("op", time.op))
        if time.metric == "time_per_iteration" and time.value and (mean := means.get(part)):
            found[part] = max(1, round(mean / time.value))
    return found


def histograms(run: Run | Parsed) -> list[tuple[Name, Buckets]]:
    """Return the latency distribution of each operation."""
    found: dict[Part, list[Bucket]] = {}
    for target, op, low, high, n in buckets(run):
        found.setdefault((("target", target), ("op", op)), []).append(Bucket(low, high, n))
    return [(latency(part), tuple(own)) for part, own in found.items() if sum(b.n for b in own)]


def step_of(of: Run | Parsed) -> float | None:
    """Return how far apart (ns) the times of a run come: its timer may count finer than it is looked at, which poke tells from 0.3 on. None where its
    text does not tell. Reads all buckets: for the few runs of a caption."""
    least = first(of, "timer_resolution")
    return max([least, *(values_apart(own, least) for _, own in histograms(of))]) if least else None


class Binned(NamedTuple):
    """What the histogram of an operation tells of the quantiles that are compared."""

    target: str
    op: str
    quantiles: Mapping[str, float]  # "p50" … "p99.9" → ns, those that so many samples fix
    # of each of them the width of its bucket, the clock's step at least; of one without any nothing
    steps: Mapping[str, float]


@reading(Binned)
def binned(parsed: Parsed) -> Iterator[Binned]:
    """The operations with samples, in the order of the text."""
    least = first(parsed, "timer_resolution") or 0.0
    for name, own in histograms(parsed):
        (_, target), (_, op) = name.part
        told = [(n.name.statistic, n.value, n.step) for n in quantiles((), own, least)]
        steps = {statistic: step for statistic, _, step in told if step is not None}
        yield Binned(str(target), str(op), {of: value for of, value, _ in told}, steps)


LEADS: Final = "time_per_iteration"
"""What `leading` is of where another number of the run has the same value: a loop of one turn."""

WORKING_SET: Final = ("bytes", "window", "block", "file_size")
ACCESSED: Final = ("target", "direct", "loop")

SHARES: Final = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999))


@reading(Sampled)
def sampled(parsed: Parsed) -> Iterator[Sampled]:
    """The operations with samples, in the order of the text."""
    for name, own in histograms(parsed):
        (_, target), (_, op) = name.part
        values = formulas.quantiles(own, [share for _, share in SHARES])
        told = {of: value for (of, _), value in zip(SHARES, values, strict=True) if value is not None}
        count = sum(bucket.n for bucket in own)
        yield Sampled(str(target), str(op), count, *formulas.moments(own), told, max(own).middle)


def headline(repeats: Sequence[Parsed], spread: str = "", around: tuple[str, str] = ("", "")) -> str:
    """Return "median 184 ns, p99.9 883 ns", each the median over the repeats (`around`: what stands before and behind the second); of files "all together: write 8.30 ms, read 2.36 ms", of a
    loop "median 6.05 µs, 6.05 ns a turn"."""
    totals = _over([{t.op: t.value for t in times(parsed) if t.metric == "total_time"} for parsed in repeats])
    if totals:
        first_of, *others = (f"{op} {fmt.quantity(value, 'ns')}" for op, value in totals.items())
        return "all together: " + ", ".join([f"{first_of}{spread}", *others])
    told = _over([next(iter(latencies(parsed).values()), {}) for parsed in repeats])
    before, behind = around
    turns = [value for parsed in repeats if (value := _per_turn(parsed)) is not None]
    led = not turns
    said = [f"median {fmt.quantity(told['p50'], 'ns')}{spread if led else ''}"] if "p50" in told else []
    said += [f"{before}{_TAIL} {fmt.quantity(told[_TAIL], 'ns')}{behind}"] if _TAIL in told else []
    said += [f"{fmt.quantity(statistics.median(turns), 'ns')} a turn{spread}"] if turns else []
    return ", ".join(said)


_TAIL: Final = "p99.9"


def second(repeats: Sequence[Parsed]) -> Second | None:
    """Return the tail that `headline` tells behind the median; None of files, and of too few samples."""
    told = [next(iter(latencies(parsed).values()), {}) for parsed in repeats]
    if any(first(parsed, "total_time") for parsed in repeats) or not all(_TAIL in own for own in told):
        return None
    return Second(f"latency/{_TAIL}", _TAIL, "ns", [own[_TAIL] for own in told])


def _over(repeats: Sequence[Mapping[T, float]]) -> dict[T, float]:
    """Return the medians of what all repeats tell."""
    keys = [key for key in repeats[0] if all(key in own for own in repeats)]
    return {key: statistics.median(own[key] for own in repeats) for key in keys}


def leaders(repeats: Sequence[Parsed]) -> list[tuple[str, float]]:
    """Return the first of `times_of` that all repeats have."""
    every = [parsed.once(times_of) for parsed in repeats]
    leads = next((one for one in every[0] if all(one in own for own in every)), None)
    return [("ns", own[leads]) for own in every] if leads else []


def times_of(parsed: Parsed) -> dict[tuple[object, ...], float]:
    """Return what may stand for a run, the first first: the time of all files together, of a loop that of a turn, the median of an operation."""
    found: dict[tuple[object, ...], float] = {}
    for time in times(parsed):
        if time.metric == "total_time":
            found.setdefault(("total", time.target, time.op), time.value)
    of_each = latencies(parsed)
    turns = [
        (("turn", of), median / n) for of, n in turns_of(parsed).items() if (median := of_each[of].get("p50"))
    ]
    return found | dict(turns) | {("median", of): own["p50"] for of, own in of_each.items() if "p50" in own}


def moved(cell: Sequence[Run]) -> list[tuple[float, float]]:
    """Return of each repeat the bandwidth (B/s) of all files together, and how many bytes these have; nothing of anything else."""
    repeats = [run.parsed for run in cell if run.parsed]
    if not any(first(parsed, "total_time") for parsed in repeats):
        return []
    sizes = (parsed.facts.get("bytes") for parsed in repeats)
    return [
        (size / (ns * 1e-9), size)
        for (_, ns), size in zip(leaders(repeats), sizes, strict=False)
        if isinstance(size, int) and size
    ]


def _per_turn(parsed: Parsed) -> float | None:
    """Return the time per turn of the first loop (ns): of its median sample, as `totals` has it. None of what is no loop."""
    of = next(iter(turns_of(parsed).items()), None)
    median = latencies(parsed)[of[0]].get("p50") if of else None
    return median / of[1] if of and median else None


def resolved(parsed: Parsed) -> Resolved:
    """Return "at most" of a median that is mostly the timer, "no" of the turns of such a loop: one of more turns has less of it in each."""
    if not parsed.has("timer_limited") or first(parsed, "total_time"):
        return "yes"
    loop = next(iter(turns_of(parsed)), None)
    told = latencies(parsed)[loop] if loop else next(iter(latencies(parsed).values()), {})
    if 2 * (first(parsed, "timer_overhead") or 0.0) <= told.get("p50", 0.0):
        return "yes"
    return "no" if loop else "at most"


def ranked(parsed: Parsed) -> bool:
    """Is anything accessed? An empty access is the timer alone."""
    return any(time.target not in (None, "null") for time in times(parsed))
