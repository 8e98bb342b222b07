"""The numbers of a run that are compared: what each tool is asked for, with its direction and its last printed digit. Pure.

A run gives one value per number. Distributions give quantiles of the run, never their single samples: two histograms merged over
runs call 18 to 26 % of unchanged tails changed where p99 varies by 3 to 6 % from run to run (measurement guide, 3).

Tools (`reports.tools`) give them.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

from reports.numbers._quantiles import QUANTILES
from reports.numbers.model import Buckets, Name, Number, Part
from reports.numbers.repeats import (
    Column,
    Leader,
    Repeats,
    all_cells,
    at_one_size,
    cells,
    each_number,
    fresh,
    group,
    have_best,
    leaders_of,
)
from reports.numbers.tool import find
from reports.results.model import Run


def histograms(run: Run) -> list[tuple[Name, Buckets]]:
    """Return the latency distributions of a run: fio's per direction, poke's per operation."""
    return find(run.tool).histograms(run)


def drawn(tool: str) -> tuple[str, ...]:
    """Return the titles of the numbers whose curves a comparison draws before all others."""
    return find(tool).DRAWN


def curve_axis(tool: str) -> str | None:
    """Return the option over which the runs of one repeat make a curve."""
    return find(tool).CURVE_AXIS


def curve_numbers(tool: str, curve: Mapping[int, Sequence[Number]]) -> list[Number]:
    """Return what one repeat's curve over the tool's `curve_axis` offers: derived numbers, but for its peak (`peaks`).

    curve: axis value → the numbers of the run there. At least three values, else there is no curve and nothing is returned.
    """
    return list(find(tool).curve_numbers(curve)) if len(curve) >= 3 else []


def peaks(
    tool: str, cells: Mapping[int, Mapping[Name, Sequence[float]]], slo: float | None = None
) -> dict[Name, tuple[int, Name]]:
    """Return the name of each peak over the tool's `curve_axis` → where it is, and what it is called there.

    A peak is of one cell: of the axis value with the highest median over the repeats (of equals the lowest value), as on the page.
    The median of what each repeat has as its own peak is of no cell, and higher. cells: axis value → the numbers of all repeats
    there. Of three values or more. slo: a latency (ns) that p99 must keep; then also the most IOPS within it, per direction.
    """
    quantity = find(tool).PEAK
    by_name: dict[Name, dict[int, float]] = {}
    for at, columns in sorted(cells.items()):
        for name, values in columns.items():
            if name.quantity == quantity:
                by_name.setdefault(name, {})[at] = statistics.median(values)
    tops = {
        replace(name, metric=f"peak {name.metric}", derived=True): (max(line, key=line.__getitem__), name)
        for name, line in by_name.items()
        if len(line) >= 3
    }
    within = find(tool).peaks_within(cells, slo) if slo is not None else {}
    return {**tops, **within}


def no_better(tool: str) -> frozenset[str]:
    """Return the options none of whose levels is better: how much is accessed, what is accessed, what holds the number down."""
    module = find(tool)
    return frozenset((*module.WORKING_SET, *module.ACCESSED, *module.LIMITS))


def mixed(run: Run) -> bool:
    """Is the number that stands for a run that of one direction of several?"""
    return run.parsed is not None and find(run.tool).mixed(run.parsed)


def ranked(run: Run) -> bool:
    """May a run be the best of its sweep?"""
    return find(run.tool).ranked(run.parsed) if run.parsed else True


__all__ = [
    "QUANTILES", "Buckets", "Column", "Leader", "Name", "Number", "Part", "Repeats", "all_cells", "at_one_size", "cells", "curve_axis",
    "curve_numbers", "drawn", "each_number", "find", "fresh", "group", "have_best", "histograms", "leaders_of", "mixed", "no_better", "peaks", "ranked",
]  # fmt: skip
