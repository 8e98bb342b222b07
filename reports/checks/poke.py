"""Checks of single accesses that poke times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parsers.measurement import whole
from reports.checks import Fault
from reports.checks._cells import QUOTE_THE_TAIL, braced, from_table, wide
from reports.readings.poke import first, times
from reports.results.model import Results, Run
from reports.text import format as fmt


def clock(results: Results) -> Iterator[Fault]:
    """G6: the timer's cost and step, and what they and a few slow accesses make of a mean."""
    for run in results.good("poke"):
        for flag in run.parsed.flags if run.parsed else ():
            if flag.id == "clock_backwards":
                yield Fault(level="warn", run=run, own=True, text=flag.text, metric="latency")
        yield from _hidden_by_its_timer(run)
    yield from _beside_nothing([run for run in results.good("poke") if from_table(run)])
    for run in results.good("poke"):
        for whose, mean, deviation in wide(run):
            of = "empty access" if whose == "null none" else whose
            yield Fault(level="info", run=run, own=True, text=f"{braced(of)}: mean {{}}, standard deviation {{}}", quoted=((mean, "ns"), (deviation, "ns")), todo=QUOTE_THE_TAIL)  # fmt: skip


def _hidden_by_its_timer(run: Run) -> Iterator[Fault]:
    """Judge what the parser flags of a run, with its own figures."""
    overhead = first(run, "timer_overhead") or 0.0
    for time in times(run) if run.parsed and run.parsed.has("timer_limited") else ():
        timed = (time.metric, time.statistic) == ("latency", "p50") and time.target != "null"
        if timed and overhead > time.value / 2:
            yield Fault(
                level="warn", run=run, own=True, metric="" if time.target == "compute" else "latency",  # the time per turn is of the same samples
                text="the timer takes {} of a median of {}: the operation is not resolved",
                quoted=((overhead, "ns"), (time.value, "ns")),
            )  # fmt: skip


def _beside_nothing(runs: Sequence[Run]) -> Iterator[Fault]:
    """Judge the means of a table by what the access to nothing tells of their clock."""
    tables = [
        (run, {t.target: t.value for t in times(run) if t.metric == "latency" and t.statistic == "mean"})
        for run in runs
    ]
    nothing = [found for run, found in tables if whole(run.options.get("bytes")) == 0]
    empty = {key: value for found in nothing for key, value in found.items()}
    for run, found in tables:
        for target, mean in found.items():
            none = empty.get(target, 0.0)
            if whole(run.options.get("bytes")) and 0 < mean <= 10 * none:
                yield Fault(
                    level="warn", run=run,
                    text=f"{target}: of {fmt.quantity(mean, 'ns')}, {fmt.quantity(none, 'ns')} are what an access to 0 bytes takes",
                )  # fmt: skip


def busy(run: Run) -> Iterator[int]:
    """G12: how many CPUs it keeps busy: itself, but where it waits for files."""
    if run.options.get("target", "memory") in ("memory", "compute", "null"):
        yield 1
