"""Checks of single accesses that poke times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parsers.measurement import whole
from reports.checks import Fault
from reports.checks._cells import braced, by_cell, from_table, wide
from reports.readings.poke import times
from reports.results.model import Results, Run
from reports.text import format as fmt


def clock(results: Results) -> Iterator[Fault]:
    """G6: the timer's cost and step, and what they and a few slow accesses make of a mean."""
    for runs in by_cell(results.good("poke")).values():
        flags = [(run, flag) for run in runs if run.parsed for flag in run.parsed.flags]
        for run, flag in [f for f in flags if f[1].id in ("timer_limited", "clock_backwards")][:1]:
            yield Fault(level="warn", run=run, text=flag.text, metric="latency")
    yield from _beside_nothing([run for run in results.good("poke") if from_table(run)])
    for run in results.good("poke"):
        for whose, mean, deviation in wide(run):
            of = "empty access" if whose == "null none" else whose
            yield Fault(level="info", run=run, own=True, text=f"{braced(of)}: mean {{}}, standard deviation {{}}", quoted=((mean, "ns"), (deviation, "ns")))  # fmt: skip


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
