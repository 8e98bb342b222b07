"""Intel MLC: latency and bandwidth of each row of each table; of a loaded-latency curve also what it offers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from parsers import mlc
from parsers.measurement import Cell, Parsed
from reports import derive
from reports import format as fmt
from reports.derive import Load
from reports.frames import Run
from reports.numbers import _others
from reports.numbers._repeats import together
from reports.numbers.model import Name, Number, Part
from reports.readings.mlc import Entry, LoadRow, entries, load_rows

DRAWN: Final = ("loaded latency",)


def numbers(run: Run) -> Iterator[Number]:
    """Give the latency and bandwidth of each row of each table, and what each loaded-latency curve offers."""
    found = entries(run)
    several = len({row.turn for row in found}) > 1  # a run of a text that holds one needs no number
    turns: Counter[tuple[str, str, Part]] = Counter()
    for row in found:
        nodes = (("transfer", row.transfer), ("from", row.source), ("to", row.target))
        part = _part(row, several, ("delay", row.delay), *nodes)
        turns[row.section, row.metric, part] += 1
        if (turn := turns[row.section, row.metric, part]) > 1:  # a delay may come twice
            part = (*part, ("turn", turn))
        metric, step, kind = mlc.METRICS[row.metric], mlc.PRINTED[row.metric], row.section.replace("_", " ")
        if kind == "loaded latency" and row.metric == "latency":
            step = mlc.PRINTED_LOADED_LATENCY
        name = Name(metric=row.metric, unit=metric.unit, better=metric.better, kind=kind, part=part)
        yield Number(name=name, value=row.value, step=step)
    curves: dict[Part, list[Load]] = {}
    for load in load_rows(run):
        curves.setdefault(_part(load, several), []).append(Load(load.delay, load.latency, load.bandwidth))
    for part, loads in curves.items():
        if len(loads) >= 4:
            yield from _offers(part, derive.loaded_latency(loads))


def _part(row: Entry | LoadRow, several: bool, *labels: tuple[str, Cell]) -> Part:
    """Return those labels that have a value, the run (of a text that holds several) and the traffic first."""
    every = (("run", row.turn if several else None), ("traffic", row.traffic), *labels)
    return tuple((label, value) for label, value in every if value is not None)


def _offers(part: Part, offers: derive.LoadedLatency) -> Iterator[Number]:
    """What a loaded-latency curve offers, as in `derive.loaded_latency`."""
    bandwidth = mlc.PRINTED["bandwidth"]
    yield Number.derived("peak bandwidth", "B/s", "higher", offers.peak, part, bandwidth)
    yield Number.derived("unloaded latency", "ns", "lower", offers.unloaded, part, mlc.PRINTED_LOADED_LATENCY)
    name = "bandwidth within 2 × unloaded latency"  # of a load that never doubles it the peak, so that all repeats have it
    yield Number.derived(name, "B/s", "higher", offers.at_double, part, bandwidth)


def headline(repeats: Sequence[Parsed]) -> str:
    """Return "from 81 ns, up to 25.9 GB/s"."""
    parsed = together(repeats)
    rows = entries(parsed)
    lowest = min((row.value for row in rows if row.metric == "latency"), default=None)
    most = max((row.value for row in rows if row.metric == "bandwidth"), default=None)
    loaded = any(row.section == "loaded_latency" for row in rows)
    parts = []
    if lowest is not None:
        parts.append(f"{'from ' if loaded else ''}{fmt.quantity(lowest, 'ns')}")
    if most is not None:
        parts.append(f"up to {fmt.quantity(most, 'B/s')}")
    return ", ".join(parts)


leading = _others.leading
