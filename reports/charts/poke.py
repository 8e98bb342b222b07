"""Latency tails: the distribution of single accesses to memory and files, by the poke kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from parsers.units import size_bytes
from reports import derive, findings
from reports import format as fmt
from reports.charts import _common as common
from reports.charts import _tails
from reports.charts._tails import Distribution
from reports.frames import Results, Run
from reports.grouping import group_by
from reports.model import AccessTime, Chapter, Figure, KeyNumber, Table
from reports.naming import program_name
from reports.numbers.poke import histograms
from reports.readings import groups
from reports.readings.poke import first, times

SECTION = "Latency tails"
RANK = 40
METHODS = (
    "Tails: the repeats’ buckets are added up for the picture; buckets are at most 1 % wide. A quantile is "
    "given where at least ten samples lie beyond it."
)


def chapter(results: Results, tool: str = "poke") -> Chapter:
    """Draw per sweep the tails of up to four targets and the histogram of the first."""
    runs = results.good(tool)
    figures, key_numbers, accesses = [], [], []
    for sweep, members in group_by(runs, lambda r: r.point.sweep).items():
        found = distributions(members)
        if found:
            figures.append(_figure(sweep, members, found))
            key_numbers += _key_numbers(found)
            accesses += _access_times(found)
        if totals := _totals(sweep, members):
            figures.append(totals)
    return Chapter(
        tool=tool,
        figures=tuple(figures),
        key_numbers=tuple(key_numbers[:1]),
        access_times=tuple(accesses),
        programs=common.programs(runs),
    )


def distributions(runs: Sequence[Run]) -> list[Distribution]:
    """Return one distribution per cell and operation, in the order of the experiment."""
    hosts = len({run.where for run in runs}) > 1 and not common.pooled(runs)
    found = []
    for run in runs:
        for of, buckets in histograms(run):
            target, op = (str(value) for _, value in of.part)
            longest = [t.value for t in times(run) if (t.target, t.op, t.statistic) == (target, op, "max")]
            name = _name(run, target, op) + (f", {run.where}" if hosts else "")
            found.append((name, target, (run, buckets, max(longest, default=None))))
    return [
        _tails.pooled(
            name, same[0][1], [member for _, _, member in same],
            step=max(first(run, "timer_resolution") or 0.0 for _, _, (run, _, _) in same),
        )
        for name, same in group_by(found, lambda f: f[0]).items()
    ]  # fmt: skip


def _name(run: Run, target: str, op: str) -> str:
    """Return "memory, 1 GiB", "file, 1 MiB, direct, write"; the timer alone is "empty access"."""
    options = run.options
    if target == "null":
        return "empty access"
    parts = [target]
    if options.get("bytes"):
        parts.append(fmt.size(size_bytes(str(options["bytes"]))))
    if options.get("window"):
        parts.append(f"first {fmt.size(size_bytes(str(options['window'])))}")
    parts += [word for word in ("direct", "fsync") if options.get(word)]
    if op not in ("read", "none", "None"):
        parts.append(op)
    if run.place not in ("", "all", "local"):
        parts.append(run.place)
    return ", ".join(parts)


def _figure(sweep: str, runs: Sequence[Run], found: list[Distribution]) -> Figure:
    subject = _subject(found)
    chosen = _chosen(found)
    p999 = derive.quantile(subject.buckets, 0.999)
    name = subject.name[:1].upper() + subject.name[1:]
    timers = [time for run in runs if (time := first(run, "timer_overhead"))]
    alone = any(d.target == "null" for d in chosen)
    timer = None if alone else _tails.floor(chosen, min(timers, default=None))
    panels = [_tails.tail_panel(chosen, subject, timer=timer), _tails.histogram_panel(subject, chosen)]
    left_out = len(found) - len(chosen)
    counts = sorted({d.n for d in found})
    each = fmt.count(counts[0]) if len(counts) == 1 else f"{fmt.count(counts[0])} to {fmt.count(counts[-1])}"
    sub = (
        f"{common.ran(runs, program_name)}; {each} single accesses to each target, each timed, the timer’s own cost in it. "
        "Dashed: a normal distribution with the same mean and standard deviation."
    )
    if timer is not None:
        sub += " Dotted in the tail: the timer alone."
    if left_out > 0:
        sub += f" {fmt.plural(left_out, 'more target')} {'is' if left_out == 1 else 'are'} in the numbers."
    return Figure(
        id=f"tail-{sweep}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title=findings.modes(name, subject.steady_modes)
        or findings.tail(name, derive.quantile(subject.buckets, 0.5), p999, subject.largest, subject.n),
        sub=sub,
        panels=tuple(panels),
        numbers=(_tails.numbers(found),),
    )


def _subject(found: list[Distribution]) -> Distribution:
    """The distribution that the title speaks of and the histogram shows: the largest array in memory, else the last."""
    memory = [d for d in found if d.target == "memory"]
    return max(memory or found, key=lambda d: _bytes(d))


def _bytes(d: Distribution) -> int:
    value = d.runs[0].options.get("bytes")
    return size_bytes(str(value)) if value is not None else 0


def _chosen(found: list[Distribution]) -> list[Distribution]:
    """At most four curves: the subject, then the slowest of each target, then by median."""
    if len(found) <= _tails.MOST_CURVES:
        return found
    by_target = group_by(found, lambda d: d.target).values()
    slowest = [max(members, key=lambda d: derive.quantile(d.buckets, 0.5) or 0) for members in by_target]
    chosen = [_subject(found), *slowest]
    rest = sorted(found, key=lambda d: -(derive.quantile(d.buckets, 0.5) or 0))
    names = list(dict.fromkeys(d.name for d in [*chosen, *rest]))[: _tails.MOST_CURVES]
    return [d for d in found if d.name in names]


_TOTALS: Final = {"time_per_byte": "per byte", "time_per_iteration": "per turn", "total_time": "all together"}


def _totals(sweep: str, runs: Sequence[Run]) -> Figure | None:
    """What poke measures besides single accesses: time per byte, per turn of a loop, of all files together."""
    found = times.frame(runs)
    found = found[found["metric"].isin([*_TOTALS])].fillna({"target": "", "op": "", "statistic": ""})
    if found.empty:
        return None
    found = found.assign(
        cell=found["run"].map(lambda run: run.point.describe()), metric=found["metric"].map(_TOTALS)
    )
    rows = []
    for (cell, target, op, metric, statistic), own in groups(
        found, ["cell", "target", "op", "metric", "statistic"]
    ):
        value = derive.spread(list(own["value"]))
        what = f"{metric}, {statistic}" if statistic else metric
        ends = f"{fmt.quantity(value.low, 'ns')} to {fmt.quantity(value.high, 'ns')}"
        rows.append((cell, target, op, what, fmt.quantity(value.median, "ns"), ends))
    columns = ("Cell", "Target", "Operation", "Time", "Median", "Lowest to highest")
    return Figure(
        id=f"totals-{sweep}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title="Time per byte, per turn and in all",
        sub=f"{common.ran(runs, program_name)}.",
        tables=(Table(columns=columns, rows=tuple(rows), numeric=frozenset((4, 5))),),
    )


def _key_numbers(found: list[Distribution]) -> list[KeyNumber]:
    subject = _subject(found)
    p999, median = subject.repeats(0.999), derive.quantile(subject.buckets, 0.5)
    if p999 is None:
        return []
    context = f"{subject.name}; median {fmt.quantity(median, 'ns')}"
    return [common.key_number("99.9 % of accesses", p999, "ns", context, 15)]


def _access_times(found: list[Distribution]) -> list[AccessTime]:
    out = []
    for d in found:
        median = derive.quantile(d.buckets, 0.5)
        if median:
            group = {"memory": "memory", "file": "storage"}.get(d.target, "timer")
            name = "Timer alone" if d.target == "null" else d.name[:1].upper() + d.name[1:]
            out.append(
                AccessTime(
                    name=common.shorten(name, 26), group=group, median=median, p999=derive.quantile(d.buckets, 0.999),
                    source=program_name(d.runs[0]), repeats=d.repeats(0.5),
                )
            )  # fmt: skip
    return out
