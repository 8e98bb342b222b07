"""What stands beside a loaded-latency curve: what the memory's modules could move, and what STREAM moves at the same place."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from parsers import stream
from reports.charts import facets, wording
from reports.charts._mlc_curves import LoadCurve
from reports.draw import label_placement
from reports.draw.figure import Runs, Table, row_of
from reports.numbers import formulas
from reports.numbers.formulas import Spread, differs
from reports.numbers.possible import Spot, array_bytes, below_rule, memory_peak, spot
from reports.readings.stream import rates
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.results.naming import stands_in
from reports.text import format as fmt


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """One bandwidth that a curve is held against: the upright line at it."""

    name: str  # "theoretical", "STREAM Triad"
    rate: Spread  # B/s
    measured: bool
    said: str  # in the table: of what it is
    counted: str = ""  # "STREAM Triad with 4 threads"
    of_memory: bool = True  # were its arrays larger than the caches, for all that is known?
    runs: Runs = ()  # that measured it
    whose: str = ""  # of a panel of several places: of which curve alone, by its name


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """The most that STREAM moves, of each place of a machine and file."""

    best: dict[Spot, Beside]

    @classmethod
    def of(cls, results: Results) -> Elsewhere:
        """Return of each place the cell with the highest median, of Triad where it was measured: of those whose arrays no cache can hold, else of
        those with the largest arrays; only of sound runs."""
        found = rates.frame([run for run in results.good("stream") if run.sound and spot(run)])
        kernel = next((k for k in reversed(stream.KERNELS) if (found["kernel"] == k).any()), "")
        own = found[found["kernel"] == kernel]
        cells = group_by(zip(own["run"], own["bandwidth"], strict=True), lambda p: facets.cell(p[0])).values()
        best: dict[Spot, Beside] = {}
        for at, alike in group_by(cells, lambda pairs: spot(pairs[0][0])).items():
            whole = [pairs for pairs in alike if not below_rule(pairs[0][0])]
            most = max(array_bytes(pairs[0][0]) or 0.0 for pairs in alike)
            largest = whole or [pairs for pairs in alike if (array_bytes(pairs[0][0]) or 0.0) == most]
            told = (_beside(kernel, pairs, of_memory=bool(whole)) for pairs in largest)
            if at:
                best[at] = max(told, key=lambda one: one.rate.median)
        return cls(best=best)


def _beside(kernel: str, pairs: Sequence[tuple[Run, float]], *, of_memory: bool) -> Beside:
    """pairs: the runs of a cell, each with its rate."""
    run, _ = pairs[0]
    name = f"{kernel.capitalize()} (stand-in)" if stands_in(run) else f"STREAM {kernel.capitalize()}"
    counted = _threads(run)
    return Beside(
        name=name, rate=formulas.spread([rate for _, rate in pairs], stream.PRINTED["bandwidth"]), measured=True, of_memory=of_memory,
        counted=f"{name} with {counted}" if counted else name, said=", ".join(filter(None, [name, counted, wording.place(run)])), runs=tuple(dict.fromkeys(run for run, _ in pairs)),
    )  # fmt: skip


def _threads(run: Run) -> str:
    threads = run.parsed.facts.get("threads") if run.parsed else None
    return fmt.plural(int(threads), "thread") if threads else ""


def beside(curves: Iterable[LoadCurve], elsewhere: Elsewhere) -> list[Beside]:
    """Return what the curves of a panel are held against, each once: theoretical first."""
    found: dict[tuple[str, float], Beside] = {}
    for load in curves:
        peaks = {memory_peak(run) for run in load.cell}
        peak = peaks.pop() if len(peaks) == 1 else None
        if peak:
            said = "channels × MT/s × 8 B" + (
                ", an even share of the machine’s modules" if peak.shared else ""
            )
            one = Beside(name="theoretical", rate=formulas.spread([peak.rate]), measured=False, said=said)
            found.setdefault((one.name, peak.rate), one)
    for load in curves:
        own = elsewhere.best.get(at) if (at := spot(load.cell[0])) else None
        if own:
            own = replace(own, name=f"{own.name} {load.place}".strip(), whose=load.name if load.place else "")
            found.setdefault((own.name, own.rate.median), own)
    return list(found.values())


def stamp(curves: Sequence[LoadCurve], known: Sequence[Beside], room: float = math.inf) -> str:
    """Say "never saturated: STREAM Triad with 4 threads moves 21.3 GB/s here" of curves of one place whose latency never doubled, where something else
    at that place moved more, not from caches; "latency never doubled" where nothing tells whether the memory could; "" of any other panel, as of one
    in which only a hollow curve doubled: a reader sees that it did. room: px, for "never saturated" alone where they are too few."""
    told = [load for load in curves if not load.hollow]
    if (
        not told
        or not all(load.offers.idle for load in told)
        or any(load.offers.doubled != "no" for load in curves)
    ):
        return ""
    most = max((load.most for load in told), key=lambda s: s.median)
    more = [
        one
        for one in known
        if one.measured and one.of_memory and one.rate.median > most.median and differs(one.rate, most)
    ]
    if not more or len({load.place for load in told}) > 1:
        return "latency never doubled"
    best = max(more, key=lambda one: one.rate.median)
    whole = f"never saturated: {best.counted} moves {fmt.quantity(best.rate.median, 'B/s')} here"
    return whole if label_placement.text_width(whole) * _BOLD <= room else "never saturated"


_BOLD = 1.06
"""How much wider a stamp's letters are than the plain ones that are reckoned with."""


def table(
    panels: dict[facets.Facet, list[LoadCurve]], known: dict[facets.Facet, list[Beside]], scale: fmt.Scale
) -> Table | None:
    """Return the upright lines with how much of each the best curve of the panel moves; None without one."""
    several = len(panels) > 1
    rows, whose = [], []
    for of, curves in panels.items():
        told = [load for load in curves if not load.hollow]
        for one in known[of]:
            own = (load for load in told if one.whose in ("", load.name))
            best = max(own, key=lambda load: load.most.median, default=None)
            share = best.most.median / one.rate.median if best else None
            name = [facets.facet_title(of, "mlc")] if several else []
            rows.append(
                (*name, one.said, wording.spread_text(one.rate, scale), best.name if best else fmt.NOTHING, fmt.percent(share, 3))
            )  # fmt: skip
            whose.append(row_of([*one.runs, *(best.cell if best else ())]))
    if not rows:
        return None
    first = 2 if several else 1
    return Table(
        caption="What the curves are held against, and how much of it the highest peak of a load is",
        columns=(*(["Panel"] if several else []), "Bandwidth of", scale.unit, "Highest peak", "its share"),
        rows=tuple(rows),
        numeric=frozenset((first, first + 2)),
        metrics={-1: "bandwidth"},
        of=tuple(whose),
    )


def family_table(
    panels: dict[facets.Facet, list[LoadCurve]], known: dict[facets.Facet, list[Beside]], scale: fmt.Scale
) -> Table | None:
    """Return the four figures of the family of curves of each panel with several mixes; None without one."""
    several = len(panels) > 1
    rows, whose, measure, missing = [], [], set(), []
    for of, curves in panels.items():
        title = facets.facet_title(of, "mlc")
        own = [load for load in curves if not load.place]
        told = [load for load in own if not load.hollow]
        if len(told) < len(own) > 1:
            missing.append(f"{len(own) - len(told)} of {len(own)}" + (f" at {title}" if several else ""))
        found = formulas.family([(load.offers, load.loads) for load in told])
        if found is None:
            continue
        whole, name = _whole(known[of], told)
        measure.add(name)
        low, high = found.saturated or (None, None)
        rows.append(
            (
                *([title] if several else []),
                _from_to(*found.unloaded), _from_to(*found.longest),
                fmt.NOTHING if low is None or high is None else _from_to(low, high, scale),
                fmt.NOTHING if low is None or high is None else _from_to(100 * low / whole, 100 * high / whole),
                name if several else f"{name}, {fmt.quantity(whole, 'B/s')}",
                fmt.percent(found.falls, 3) if found.falls > 0 else "none does",
            )
        )  # fmt: skip
        whose.append(row_of(run for load in told for run in load.cell))
    if not rows:
        return None
    first = 1 if several else 0
    head = (
        "Unloaded, ns",
        "Longest latency, ns",
        f"Saturated, {scale.unit}",
        "Saturated, %",
        "of",
        "Falls under more load",
    )
    left_out = f"; without the mixes that were never quiet (D1), {fmt.words(missing)}" if missing else ""
    return Table(
        caption="The family, lowest to highest over the mixes: saturated from where the first doubles its latency to the highest peak"
        + left_out,
        columns=(*(["Panel"] if several else []), *head),
        rows=tuple(rows),
        numeric=frozenset({*range(first, first + 4), first + 5}),
        of=tuple(whose),
    )


def _whole(known: Sequence[Beside], curves: Sequence[LoadCurve]) -> tuple[float, str]:
    """Return what the saturated range is a part of (B/s), in words: the theoretical peak, else the best that was measured there."""
    for one in known:
        if not one.measured:
            return one.rate.median, "theoretical"
    load = max(curves, key=lambda load: load.offers.peak)
    best = max((one for one in known), key=lambda one: one.rate.median, default=None)
    if best and best.rate.median > load.offers.peak:
        return best.rate.median, f"best measured: {best.name}"
    return load.offers.peak, f"best measured: {load.name}"


def _from_to(low: float, high: float, scale: fmt.Scale | None = None) -> str:
    scale = scale or fmt.Scale(factor=1, unit="")
    return fmt.ends(scale.number(low), scale.number(high))
