"""What Intel MLC, or memlat in its place, measures from every core to every other: the map, and the time of each kind of pair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from parsers import mlc
from reports.charts import core_pairs, facets, wording
from reports.charts._mlc_curves import SPREAD
from reports.charts.chapter import Spot
from reports.charts.soundness import counted_rows, is_hollow
from reports.draw.figure import Figure
from reports.numbers import formulas
from reports.numbers.formulas import Spread
from reports.page.model import KeyNumber
from reports.readings import groups
from reports.results.model import Run
from reports.results.naming import program_kind, program_name
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

_RANK = 12


def between_cpus(found: pd.DataFrame) -> pd.Series[bool]:
    """Which entries are of CPUs, not of nodes?"""
    return (found["section"] == "c2c_latency") & found["transfer"].astype(str).str.contains("CPU")


def cores_figures(sweep: str, found: pd.DataFrame) -> list[Figure]:
    """Draw what a line takes between all CPUs, a map for each machine and cell; none of one that was never quiet. found: entries of CPUs, with panels."""
    figures: list[Figure] = []
    for of, own in _quiet_cells(found):
        runs = list(dict.fromkeys(own["run"]))
        pairs = own.groupby(["source", "target"], sort=False)["value"].agg(SPREAD)
        step = mlc.PRINTED["latency"]
        known = {
            (int(a), int(b)): Spread(*values)._replace(step=step) for (a, b), *values in pairs.itertuples()
        }
        which = facets.facet_title(of, "mlc")
        drawn = core_pairs.pairs_figure(
            f"cores-{sweep}{f'-{len(figures)}' if figures else ''}", sweep, runs, known, what="Cache-to-cache latency of a modified line",
            title=f"{f'{which}: a' if which else 'A'} modified line", sub=f"{wording.ran(runs, program_name)}.{wording.of_texts(runs)}",
            ends=("writer", "reader"), metric="latency",
        )  # fmt: skip
        figures += [drawn] if drawn else []
    return figures


def core_numbers(found: pd.DataFrame) -> Iterator[KeyNumber]:
    """Give what a line takes between two CPUs of each kind, "in one cache", of machines that are known: the median of all such pairs, of each cell.

    found: entries of CPUs, with panels.
    """
    for of, own in _kinds(found):
        by_kind = {kind: same for (kind,), same in groups(own, ["kind"])}
        for kind in filter(by_kind.__contains__, core_pairs.KINDS):
            yield _number(by_kind[kind], kind, facets.facet_title(of, "mlc"))


def core_spots(found: pd.DataFrame) -> Iterator[Spot]:
    """Give the same of each NUMA node, and of each two of them."""
    for of, own in _kinds(found):
        for (kind, source, target), same in groups(own, ["kind", "low", "high"]):
            number = _number(same, kind, facets.facet_title(of, "mlc"))
            yield Spot(number=number, source=int(source), target=int(target), both_ways=True)


def _quiet_cells(found: pd.DataFrame) -> Iterator[tuple[facets.Facet, pd.DataFrame]]:
    """Give the entries of each cell that count; of one that was never quiet none."""
    for (of,), every in groups(found, ["panel"]) if len(found) else ():
        if not is_hollow(every["run"]):
            yield of, counted_rows(every)


def _kinds(found: pd.DataFrame) -> Iterator[tuple[facets.Facet, pd.DataFrame]]:
    """Give the same with `kind`, what the two CPUs have in common, and their nodes, `low` and `high`; of machines that are known."""
    for of, own in _quiet_cells(found):
        machine = own["run"].iloc[0].session.topology
        ends = [(int(a), int(b)) for a, b in zip(own["source"], own["target"], strict=True)]
        kinds = core_pairs.kinds(machine, ends)
        nodes: Mapping[int, int] = machine.node_of if machine else {}
        if all(kinds[pair] and pair[0] in nodes and pair[1] in nodes for pair in ends):
            low, high = zip(*(sorted((nodes[a], nodes[b])) for a, b in ends), strict=True)
            yield of, own.assign(kind=[kinds[pair] for pair in ends], low=low, high=high)


def _number(same: pd.DataFrame, kind: str, which: str) -> KeyNumber:
    """same: the entries of one kind of pair."""
    runs: Sequence[Run] = list(dict.fromkeys(same["run"]))
    number = len({frozenset(pair) for pair in zip(same["source"], same["target"], strict=True)})
    of_runs = [float(value) for value in same.groupby("run", sort=False)["value"].median()]
    of_pairs = same.groupby(["source", "target"], sort=False)["value"].median()
    step = mlc.PRINTED["latency"]
    # the median of the pairs, as the title has it; over the runs its range
    value = formulas.spread(of_runs, step)._replace(median=float(of_pairs.median()))
    said = (
        f"median of {fmt.plural(number, 'pair')}, {fmt.span([*of_pairs], 'ns', step)}" if number > 1 else ""
    )
    context = "; ".join(filter(None, (said, which, program_name(runs[0]))))
    rank = _RANK + core_pairs.KINDS.index(kind) / len(core_pairs.KINDS)
    return wording.key_number(
        f"{core_pairs.CACHES}, {kind}", value, "ns", context, rank, runs, program=program_kind(runs[0]), metric="latency"
    )  # fmt: skip
