"""Intel MLC: latency and bandwidth of each row of each table; of a loaded-latency curve also what it offers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from parsers import mlc
from parsers.measurement import Parsed, number
from reports import derive
from reports import format as fmt
from reports.derive import Load
from reports.frames import Run
from reports.numbers import _others
from reports.numbers.model import Number, Part, part_of, several


def numbers(run: Run) -> Iterator[Number]:
    """Give the latency and bandwidth of each row of each table, and what each loaded-latency curve offers."""
    rows = list(run.measured())
    labels = several(rows, "run")
    curves: dict[Part, dict[object, dict[str, float]]] = {}
    turns: Counter[tuple[str, str, Part]] = Counter()
    for row in rows:
        if row.metric not in ("latency", "bandwidth"):
            continue
        kind = str(row.get("section") or "").replace("_", " ")
        part = part_of(row, *labels, "traffic", "delay", "transfer", "from", "to")
        turns[kind, row.metric, part] += 1
        if (turn := turns[kind, row.metric, part]) > 1:  # a delay may come twice
            part = (*part, ("turn", turn))
        found = Number.read(row, mlc.METRICS[row.metric], part, mlc.PRINTED[row.metric], kind=kind)
        if kind != "loaded latency":
            yield found
            continue
        yield found.printed_to(mlc.PRINTED_LOADED_LATENCY) if row.metric == "latency" else found
        at = curves.setdefault(part_of(row, *labels, "traffic"), {})
        at.setdefault(row.get("row"), {"delay": number(row.get("delay") or 0)})[row.metric] = row.value
    for part, by_row in curves.items():
        loads = [
            Load(int(row["delay"]), row["latency"], row["bandwidth"])
            for row in by_row.values()
            if "latency" in row and "bandwidth" in row
        ]
        if len(loads) >= 4:
            yield from _offers(part, derive.loaded_latency(loads))


def _offers(part: Part, offers: derive.LoadedLatency) -> Iterator[Number]:
    """What a loaded-latency curve offers, as in `derive.loaded_latency`."""
    bandwidth = mlc.PRINTED["bandwidth"]
    yield Number.derived("peak bandwidth", "B/s", "higher", offers.peak, part, bandwidth)
    yield Number.derived("unloaded latency", "ns", "lower", offers.unloaded, part, mlc.PRINTED_LOADED_LATENCY)
    if offers.at_double is not None and offers.reached_double:
        yield Number.derived(
            "bandwidth at 2 × unloaded latency", "B/s", "higher", offers.at_double, part, bandwidth
        )


def headline(parsed: Parsed) -> str:
    """Return "from 81 ns, up to 25.9 GB/s"."""
    rows = list(parsed.measured())
    lowest = min((r.value for r in rows if r.metric == "latency"), default=None)
    most = max((r.value for r in rows if r.metric == "bandwidth"), default=None)
    loaded = any(r.get("section") == "loaded_latency" for r in rows)
    parts = []
    if lowest is not None:
        parts.append(f"{'from ' if loaded else ''}{fmt.quantity(lowest, 'ns')}")
    if most is not None:
        parts.append(f"up to {fmt.quantity(most, 'B/s')}")
    return ", ".join(parts)


leading = _others.leading
