"""From every core to every other: what handing over a line or a message costs, as a map of shades over the machine's cores."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from orchestrator.machine.topology import Topology
from reports.charts import titles
from reports.charts.heat_map import MOST_NUMBERS, WIDE, matrix_panel, shades_table
from reports.draw.figure import ROW, Figure, row_of
from reports.numbers.formulas import Spread
from reports.results.grouping import group_by
from reports.results.model import Run
from reports.text import format as fmt

Pair = tuple[int, int]
"""Two CPUs, as the operating system numbers them."""

MOST_CPUS = 64
"""A map of more is a wall, and a page of it has a megabyte: the first stand there, and the caption says so."""

CACHES = "Cache to cache"
"""How the numbers of such pairs are called, before what a pair has in common."""

KINDS = SIBLINGS, CACHE, PACKAGE, PACKAGES = (
    "in one core",
    "in one cache",
    "in one package",
    "between packages",
)
"""What the two CPUs of a pair have in common, the nearest first."""


def pairs_figure(
    id_: str, sweep: str, runs: Sequence[Run], known: Mapping[Pair, Spread], *, what: str, title: str, sub: str, ends: tuple[str, str], metric: str
) -> Figure | None:  # fmt: skip
    """Draw the times (ns) between CPUs; None of fewer than two pairs. what: "Cache-to-cache latency"; title: what a title calls it; ends:
    what rows and columns are ("writer", "reader"); the runs are all of one machine and cell, or of one cell a pair."""
    if len(known) < 2:
        return None
    machine = runs[0].session.topology
    cpus, cuts = in_tree(machine, {cpu for pair in known for cpu in pair})
    left_out = len(cpus) - MOST_CPUS
    shown = cpus[:MOST_CPUS]
    own = {pair: value for pair, value in known.items() if pair[0] in shown and pair[1] in shown}
    scale = fmt.scale_for([value.median for value in own.values()], "ns")
    caption = f"{what} in {scale.unit}, {ends[0]} ↓ {ends[1]} →"
    many = len(shown)
    noise = _both_ways(own)
    table = shades_table(
        caption, "CPU", shown, shown, own, scale, narrow=many >= WIDE, cuts=cuts, noise=noise
    )
    whole = shades_table(caption, "CPU", shown, shown, own, scale, noise=noise)
    table, whole = (
        replace(t, of=(row_of(runs),) * len(t.rows), metrics={ROW: metric}) for t in (table, whole)
    )
    full = replace(whole, heat=(), marked=frozenset(), cuts=frozenset())
    kind = kinds(machine, own)
    groups = group_by(own.items(), lambda item: kind[item[0]])
    ordered = {word: [s for _, s in groups[word]] for word in (*KINDS, "") if word in groups}
    picture = many > MOST_NUMBERS
    rest = f" {left_out} more CPUs are left out." if left_out > 0 else ""
    lines = " Lines: packages, NUMA nodes and last-level caches." if cuts else ""
    medians, step = (
        [value.median for value in own.values()],
        next((value.step for value in own.values()), None),
    )
    return Figure(
        id=id_, of=sweep, sweep=runs[0].sweep_title,
        title=titles.between_cores(title, ordered),
        sub=f"{sub} CPUs in the order of the machine’s tree.{lines}{rest}",
        marks="Stronger shade: slower." if any(shade for row in table.heat for shade in row) else "",
        panels=(matrix_panel(table, full, medians, scale, step, inverse=False),) if picture else (),
        tables=() if picture else (table,),
        numbers=(full,) if many >= WIDE else (),
        half=many < WIDE or picture,
    )  # fmt: skip


def _both_ways(known: Mapping[Pair, Spread]) -> float:
    """Return how far apart the two ways of a pair are, the higher ÷ the lower: the median over the pairs. Of one run there are no repeats, and noise would
    have all shades."""
    ends = [
        (value.median, known[b, a].median) for (a, b), value in known.items() if a < b and (b, a) in known
    ]
    ratios = [max(of) / min(of) for of in ends if min(of) > 0]
    return statistics.median(ratios) if ratios else 1.0


def in_tree(machine: Topology | None, cpus: set[int]) -> tuple[list[int], frozenset[int]]:
    """Return CPUs in the order of a machine's cores, with the places before which another package, NUMA node or last-level cache begins;
    by their numbers where the machine is not known."""
    cores = machine.cores if machine else ()
    of = {cpu: core for core in cores for cpu in core.cpus}
    if machine is None or not cpus <= of.keys():
        return sorted(cpus), frozenset()
    ordered = [cpu for core in cores for cpu in core.cpus if cpu in cpus]
    kept = {cpu: (of[cpu].package, of[cpu].numa_node, _last_level(machine, cpu)) for cpu in ordered}
    cuts = {i for i in range(1, len(ordered)) if kept[ordered[i]] != kept[ordered[i - 1]]}
    return ordered, frozenset(cuts) if len(cuts) + 1 < len(ordered) else frozenset()


def _last_level(machine: Topology, cpu: int) -> tuple[int, ...]:
    """Return who shares the last-level cache of a CPU."""
    above = [cache for cache in machine.caches if cache.kind != "instruction" and cpu in cache.cpus]
    return max(above, key=lambda cache: cache.level).cpus if above else ()


def kinds(machine: Topology | None, pairs: Iterable[Pair]) -> dict[Pair, str]:
    """Return what the two CPUs of each pair have in common, "" where the machine is not known."""
    of = {cpu: core for core in machine.cores for cpu in core.cpus} if machine else {}
    last = {cpu: _last_level(machine, cpu) for cpu in of} if machine else {}

    def kind(a: int, b: int) -> str:
        if a not in of or b not in of:
            return ""
        if of[a].index == of[b].index:
            return SIBLINGS
        if b in last[a]:
            return CACHE
        return PACKAGE if of[a].package == of[b].package else PACKAGES

    return {pair: kind(*pair) for pair in pairs}
