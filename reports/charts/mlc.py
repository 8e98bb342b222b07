"""Memory latency and bandwidth: Intel MLC's tables, or those of memlat in its place."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from parsers import mlc
from reports.charts import facets, wording
from reports.charts._mlc_bounds import Elsewhere
from reports.charts._mlc_cores import between_cpus, core_numbers, core_spots
from reports.charts._mlc_curves import SPREAD, LoadCurve, loads
from reports.charts._mlc_ladder import ladder_figure
from reports.charts._mlc_load import load_words, loaded_figures
from reports.charts._mlc_tables import (
    SEARCHES,
    buffer_of,
    by_cell,
    idle_name,
    matrix_figures,
    matrix_spots,
    others_figure,
    peak_figure,
    searched_peaks,
)
from reports.charts.chapter import AccessTime, Chapter, Spot
from reports.charts.soundness import counted_rows, is_hollow
from reports.draw.figure import Figure
from reports.numbers import formulas
from reports.numbers.formulas import Spread
from reports.numbers.mlc import ALONE, AT_PEAK, UNLOADED
from reports.page.model import KeyNumber
from reports.readings import groups
from reports.readings.mlc import chosen_cores, entries, load_rows
from reports.results import naming
from reports.results.distances import distances
from reports.results.grouping import group_by
from reports.results.machines import machine_key
from reports.results.model import Results, Run
from reports.results.naming import program_kind, program_name, stands_in
from reports.results.traffic import traffic_name
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

SECTION = "Memory"
RANK = 11
METHODS_OF = "loaded-"
METHODS = (
    "Loaded latency: the unloaded latency is the median of the rows that move at most 10 % of the peak bandwidth, so that single rows lie below it "
    "(of fewer than three such rows: the latency under the least load). Bandwidth within 2 × unloaded is interpolated along the "
    "curve in the order of load; “≥”: in one repeat or more no load reached that latency; “≥ peak” is no less than the peak beside it. What a curve offers is the median over "
    "the repeats of what each of them does. The latency is that of one reading thread, whatever the others do."
)


def chapter(results: Results, tool: str = "mlc") -> Chapter:
    """Draw everything that the MLC runs say: loaded latency, matrices, peaks, idle latency."""
    runs = results.shown(tool)
    figures: list[Figure] = []
    pairs: list[Spot] = []
    key_numbers: list[KeyNumber] = []
    unloaded: list[Idle] = []
    elsewhere = Elsewhere.of(results)
    for sweep, members in group_by(runs, lambda r: r.cell.sweep).items():
        loaded = [run for run in members if load_rows(run)]
        drawn = loaded_figures(sweep, loaded, loads(loaded), elsewhere) if loaded else []
        for same in group_by(loaded, program_kind).values():
            unloaded += _unloaded(loads(same))
        for same in group_by(members, program_kind).values():
            key_numbers += _peak_numbers(same)
            pairs += matrix_spots(same)
            between_cores = _between_cores(same)
            key_numbers += core_numbers(between_cores)
            pairs += core_spots(between_cores)
        if ladder := ladder_figure(sweep, members):
            drawn.append(ladder)
        drawn += matrix_figures(sweep, members)
        if peaks := peak_figure(sweep, members):
            drawn.append(replace(peaks, note=_on_curves(members, loaded)))
        if others := others_figure(sweep, members):
            drawn.append(others)
        figures += _with_lost(drawn, results.lost(tool, sweep))
    told = _idle_latencies(runs)
    idle = _quiet(told) or _quiet(unloaded)
    key_numbers += _idle_numbers(idle)
    idle += [one for one in told or unloaded if is_hollow(one.runs)]
    shown = {run for figure in figures for run in figure.shown}
    return Chapter(
        tool=tool,
        figures=tuple(figures),
        key_numbers=tuple(key_numbers),
        access_times=tuple(_access_time(one, shown) for one in _once(idle)),
        between_nodes=tuple(pairs),
        programs=wording.programs(runs),
    )


def _between_cores(runs: Sequence[Run]) -> pd.DataFrame:
    """Return the entries of pairs of CPUs, with their panels."""
    found = entries.frame(runs)
    return by_cell(found[found["source"].notna() & found["target"].notna() & between_cpus(found)])


def _with_lost(figures: Sequence[Figure], lost: Sequence[Run]) -> list[Figure]:
    """Return the figures of a sweep with its cells that never gave a number: each named by the first figure that shows runs of its mode,
    else by the first of all."""
    modes = [{run.options.get("mode") for run in figure.shown} for figure in figures]

    def at(run: Run) -> int:
        return next((i for i, own in enumerate(modes) if run.options.get("mode") in own), 0)

    by_figure = group_by(lost, at)
    return [
        replace(figure, sub=figure.sub + facets.numberless(by_figure.get(i, ()), figure.shown))
        for i, figure in enumerate(figures)
    ]


# --- loaded latency ----------------------------------------------------------------------------------------


def _on_curves(runs: Sequence[Run], loaded: Sequence[Run]) -> str:
    """Say "The loaded-latency curve of read only reaches 111 GB/s." beside a search that found another bandwidth with the same traffic: each has
    its own load."""
    panels = loads(loaded) if loaded else {}
    curves = {
        (facets.facet_title(of, "mlc"), load.traffic): load
        for of, own in panels.items()
        for load in own
        if not load.hollow
    }
    said = []
    for (of, _, traffic), (value, _) in searched_peaks(runs).items():
        load = curves.get((of, traffic))
        if load and (most := fmt.quantity(load.most.median, "B/s")) != fmt.quantity(value.median, "B/s"):
            said.append(f"{traffic_name(traffic)} {most}")
    return f"The same on the loaded-latency curve: {fmt.words(dict.fromkeys(said))}." if said else ""


def _peak_numbers(runs: Sequence[Run]) -> list[KeyNumber]:
    """Return the most of each curve and of each search for the most, of one program, but for those that were never quiet; of those the
    ones that are called as the highest is: what could load the memory fully, if anything could."""
    loaded = [run for run in runs if load_rows(run)]
    panels = loads(loaded) if loaded else {}
    found = [
        _curve_peak(facet, load) for facet, curves in panels.items() for load in curves if not load.hollow
    ]
    for (of, section, traffic), (value, cell) in searched_peaks(runs).items():
        if is_hollow(cell):
            continue
        which = ", ".join(filter(None, [traffic_name(traffic), SEARCHES[section], of]))
        name = "Memory, chosen cores" if any(map(chosen_cores, cell)) else _PEAK
        context = f"{which}; {program_name(cell[0])}"
        found.append(wording.key_number(name, value, "B/s", context, 11, cell, program=program_kind(cell[0]), metric="bandwidth"))  # fmt: skip
    best = max(found, key=lambda n: n.merit, default=None)
    below = tuple(run for n in found if best and n.name != best.name for run in n.runs)
    return [replace(n, below=below) for n in found if best and n.name == best.name]


_PEAK: Final = "Memory, peak"


def _curve_peak(of: facets.Facet, load: LoadCurve) -> KeyNumber:
    cell = load.cell
    which = ", ".join(filter(None, [load.name, facets.facet_title(of, "mlc")]))
    at = fmt.quantity(load.offers.latency_at_peak, "ns", step=mlc.PRINTED_LOADED_LATENCY)
    told = f"at a latency of {at}"
    context = f"{which}, {told}; {program_name(cell[0])}"
    name = _PEAK if load.offers.doubled == "yes" else f"Memory, {load_words(cell) or 'under load'}"
    return wording.key_number(
        name, load.most, "B/s", context, 11, cell, program=program_kind(cell[0]), metric="bandwidth",
        told=told, told_metric=AT_PEAK,
    )  # fmt: skip


# --- idle latency ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """An idle latency: of one cell, of those pairs of nodes in a matrix that are equally far, or the unloaded latency of a curve."""

    words: tuple[str, ...]  # what tells it from the page's others: "local", "buffer 16k"; () of the only one
    value: Spread  # ns, over the repeats; of several pairs of nodes over the pairs, each by its median
    said: str  # how it was taken, and by which program
    runs: tuple[Run, ...]  # of its cell
    pairs: int = 1
    of_pairs: Spread | None = None  # of several pairs: their median in each repeat, about that of `value`
    buffer: float = math.inf  # B; inf if nothing tells
    home: bool = True  # is it the node's own memory?
    traffic: str = ""  # of the unloaded latency of a curve
    undercut: bool = False  # was that curve faster under more load (M1)? Then it is told, and quoted nowhere

    @property
    def name(self) -> str:
        return idle_name(self.runs, self.buffer)

    @property
    def metric(self) -> str:
        """What a doubt of it is of."""
        return UNLOADED if self.traffic else ALONE

    @property
    def which(self) -> str:
        return ", ".join(self.words)

    @property
    def random(self) -> bool:
        """Was the buffer accessed at random? Nothing in order is held against that."""
        return any(flag.id == "random_access" for run in self.runs if run.parsed for flag in run.parsed.flags)


_LOADS: Final = frozenset({"l", "W", "d", "delays", "T", "U", "t"})
"""Options that say what the load does, for how long, and which lines of the buffer are walked over."""


def _once(found: Iterable[Idle]) -> list[Idle]:
    """Return the rows of the page's overview, the fastest first: of curves that differ in `_LOADS` alone and time the same walk, one for each
    latency that differs beyond the repeats."""
    kept: dict[object, list[Idle]] = {}
    for one in sorted(found, key=lambda idle: idle.value.median):
        run = one.runs[0]
        walk = sorted((name, str(value)) for name, value in run.options.items() if name not in _LOADS)
        of = (run.where, run.place, program_kind(run), walk) if one.traffic else id(one)
        own = kept.setdefault(str(of), [])
        if all(formulas.differs(other.value, one.value) for other in own):
            own.append(one)
    return [one for own in kept.values() for one in own]


def _quiet(found: Iterable[Idle]) -> list[Idle]:
    """Return those of which statements may be made."""
    return [one for one in found if not is_hollow(one.runs)]


def _access_time(idle: Idle, drawn: Container[Run]) -> AccessTime:
    """drawn: the runs that figures show."""
    return AccessTime(
        name=", ".join((idle.name, *idle.words)), words=(idle.name, *idle.words), group="memory", size=idle.buffer if idle.home and idle.buffer < math.inf else None,
        run=idle.runs[0], median=idle.value.median, source=idle.said, step=idle.value.step, repeats=idle.value if idle.pairs == 1 else None, metric=idle.metric, drawn=idle.runs[0] in drawn,
        statistic="mean" if idle.traffic or not stands_in(idle.runs[0]) else "median of blocks",
    )  # fmt: skip


def _idle_numbers(found: Sequence[Idle]) -> list[KeyNumber]:
    """Return the idle latencies of own memory; of each machine with its largest buffer, since small ones lie in caches. Of those the
    ones that are called as the lowest is, and of the same walk, in order or at random. None of curves that were faster under more load: M1 says to leave their rows out of what is quoted."""
    quotable = [idle for idle in found if not idle.undercut]
    own = [idle for idle in quotable if idle.home] or quotable
    alike = []
    for same in group_by(own, lambda idle: machine_key(idle.runs[0])).values():
        largest = max(idle.buffer for idle in same)
        alike += [idle for idle in same if idle.buffer == largest]
    best = min(alike, key=lambda idle: idle.value.median, default=None)
    alike = [idle for idle in alike if best and (idle.name, idle.random) == (best.name, best.random)]
    several = len(alike) > 1 and not any(idle.runs[0].captured for idle in alike)
    lowest = _lowest(alike, own) if several and len({idle.traffic for idle in alike}) == 1 else ""
    return [
        wording.key_number(
            idle.name,
            idle.of_pairs or idle.value,
            "ns",
            "; ".join(filter(None, [idle.which, lowest if idle is best else "", idle.said])),
            10,
            idle.runs,
            metric=idle.metric,
        )
        for idle in alike
    ]


def _lowest(alike: Sequence[Idle], every: Sequence[Idle]) -> str:
    """Say of what a number is the lowest: "lowest of 2 with this buffer", "lowest of 2 nodes" of one matrix, "lowest of 3 cells", "lowest of 2 hosts"."""
    cells = {(machine_key(idle.runs[0]), idle.runs[0].record.point_id) for idle in alike}
    buffers = len({idle.buffer for idle in every}) > 1
    apart = len(cells) == len(alike)
    hosts = len({idle.runs[0].host for idle in alike}) == len(alike)
    noun = "with this buffer" if buffers else "hosts" if hosts else "cells" if apart else "nodes"
    best, *others = (
        idle.of_pairs or idle.value for idle in sorted(alike, key=lambda idle: idle.value.median)
    )
    return f"lowest of {len(alike)} {noun}{wording.within_repeats(best, others)}"


_SLOWER: Final = "slower than under more load"
"""Of a curve's idle rows: M1 says why they are no unloaded latency."""


def _unloaded(panels: dict[facets.Facet, list[LoadCurve]]) -> list[Idle]:
    """Return the unloaded latency of each panel that has an idle row: of its reads, else of its lightest traffic, and of one that was not
    disturbed where there is one."""
    found = []
    for of, curves in panels.items():
        quiet = [load for load in curves if not load.hollow] or curves[:1]
        load = next((load for load in quiet if load.offers.idle and not load.offers.undercut), quiet[0])
        if not load.offers.idle:
            continue
        least = (
            ""
            if any(run.enough_idle_rows for run in load.runs)
            else f": least load, delay {load.rows[0].delay}"
        )
        said = f"unloaded latency{least}, {load.name}"
        if load.offers.undercut:
            said += f", {_SLOWER}"
        lighter = [c for c in curves[: curves.index(load)] if c.hollow or c.offers.undercut]
        for why, own in group_by(lighter, lambda c: "disturbed" if c.hollow else _SLOWER).items():
            said += f" ({fmt.words(traffic_name(curve.traffic) for curve in own)}: {why})"
        cell = load.cell
        found.append(
            Idle(
                words=_but_program(of), value=load.unloaded, said=f"{said}; {program_name(cell[0])}",
                buffer=buffer_of(cell), runs=cell, traffic=load.traffic, undercut=load.offers.undercut,
            )
        )  # fmt: skip
    return found


def _idle_latencies(runs: Sequence[Run]) -> list[Idle]:
    """Return what --idle_latency and the latency matrix say, cell by cell."""
    found = entries.frame(runs)
    found = found[(found["metric"] == "latency") & found["section"].isin(["idle_latency", "latency_matrix"])]
    if found.empty:
        return []
    words = _place_words(found["run"])
    found = by_cell(found, "place")
    idle: list[Idle] = []
    for (of, section, word), own in groups(
        found.assign(word=found["run"].map(words.get)), ["panel", "section", "word"]
    ):
        if section == "latency_matrix":
            idle += _matrix_idle(of, own)
        else:
            idle.append(_cell_idle(of, word, own))
    return idle


def _place_words(runs: Iterable[Run]) -> dict[Run, str]:
    """Return each run's relation ("local"; "" of all CPUs), or the name of its place where two places have the same."""
    places = group_by(dict.fromkeys(runs), lambda r: r.relation)
    several = {relation: len({run.place for run in same}) > 1 for relation, same in places.items()}
    return {
        run: run.place if several[relation] else "" if relation == "all" else relation
        for relation, same in places.items()
        for run in same
    }


def _but_program(of: facets.Facet) -> tuple[str, ...]:
    """Return the words of a panel but for its program, which `said` tells in any case."""
    return tuple(facets.facet_words(tuple(pair for pair in of if pair[0] != "program"), "mlc"))


_OWN = frozenset({"", "local", "nearest", "all", "interleave", "mixed"})
"""Relations of memory that is not another place's (remote, HBM, CXL); "" claims nothing."""


def _cell_idle(of: facets.Facet, place: str, found: pd.DataFrame) -> Idle:
    """found: the idle latencies of one cell."""
    found = counted_rows(found)
    runs = list(found["run"])
    size = runs[0].options.get("b")  # a fixed one tells no cells apart, and is still what was measured
    asked = naming.option_value("mlc", "b", size) if size is not None and "b" not in dict(of) else ""
    return Idle(
        words=tuple(filter(None, [place, *_but_program(of), asked])),
        value=formulas.spread(list(found["value"]), mlc.PRINTED["latency"]), said=program_name(runs[0]), buffer=buffer_of(runs), runs=tuple(runs),
        home=runs[0].relation != "remote" and runs[0].derived_relation in _OWN,
    )  # fmt: skip


_ALIKE = 1.1
"""Pairs of nodes whose idle latencies are no further apart may be equally far."""


def _matrix_idle(of: facets.Facet, found: pd.DataFrame) -> list[Idle]:
    """found: the latency matrices of one cell. The nodes' own memory, then the others' by their distance."""
    found = counted_rows(found)
    runs = list(found["run"])
    pairs = found.groupby(["source", "target"], sort=False)["value"].agg(SPREAD)
    known = {
        pair: Spread(*values)._replace(step=mlc.PRINTED["latency"]) for pair, *values in pairs.itertuples()
    }
    far = distances(runs[0].session, known)
    alike = group_by(
        known, lambda p: "local" if p[0] == p[1] else ", ".join(filter(None, ["remote", far[p]]))
    )
    for which, same in list(alike.items()):
        near, most = (end(same, key=lambda pair: known[pair].median) for end in (min, max))
        if which != "local" and known[most].median > _ALIKE * known[near].median:
            # near and far nodes that nothing tells apart: no pair is at their median
            del alike[which]
            apart = which.removeprefix("remote").removeprefix(", ")
            alike |= {
                ", ".join(filter(None, (f"{word} other node", apart, f"{pair[0]} to {pair[1]}"))): [pair]
                for word, pair in (("nearest", near), ("farthest", most))
            }
    idle = []
    for which, same in alike.items():
        spreads = [known[pair] for pair in same]
        value, of_pairs = spreads[0], None
        if len(same) > 1:
            value = formulas.spread([s.median for s in spreads], mlc.PRINTED["latency"])
            own = found[[pair in same for pair in zip(found["source"], found["target"], strict=True)]]
            in_each = formulas.spread(own.groupby("run", sort=False)["value"].median().tolist(), value.step)
            of_pairs = in_each._replace(median=value.median)
        over = fmt.plural(len(same), "node") if which == "local" else fmt.plural(len(same), "pair")
        said = f"median of {over}, {_range(value, 'ns')}; " if len(same) > 1 else ""
        idle.append(
            Idle(
                words=tuple(filter(None, [which, *_but_program(of)])), value=value, pairs=len(same), of_pairs=of_pairs,
                said=f"{said}{program_name(runs[0])}", buffer=buffer_of(runs), runs=tuple(runs), home=which == "local",
            )
        )  # fmt: skip
    return idle


def _range(value: Spread, unit: str) -> str:
    scale = fmt.scale_for([value.median], unit)
    return (
        f"{fmt.ends(*(scale.number(end, step=value.step) for end in (value.low, value.high)))} {scale.unit}"
    )
