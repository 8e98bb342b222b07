"""The compared numbers of a run, with the direction and the last printed digit. Tools (`reports.tools`) provide the
numbers. Pure.

A run gives one value per number. Distributions give quantiles of the run, never single samples. Merged histograms would
report 18 to 26 % of unchanged tails as changed, because p99 varies by 3 to 6 % between runs (measurement guide, 3).
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
from reports.numbers.tool import find, no_better, ranked
from reports.results.model import Run


def histograms(run: Run) -> list[tuple[Name, Buckets]]:
    """Return the latency distributions of a run: per direction for fio, per operation for poke."""
    return find(run.tool).histograms(run)


def drawn(tool: str) -> tuple[str, ...]:
    """Return the titles of the numbers whose curves come first in a comparison."""
    return find(tool).DRAWN


def curve_axis(tool: str) -> str | None:
    """Return the option over which the runs of one repeat make a curve."""
    return find(tool).CURVE_AXIS


def curve_numbers(tool: str, curve: Mapping[int, Sequence[Number]]) -> list[Number]:
    """Return the derived numbers of one repeat over the tool's `curve_axis`, without the peak (`peaks`).

    `curve` maps an axis value to the numbers of that run. A curve needs at least three axis values.
    """
    return list(find(tool).curve_numbers(curve)) if len(curve) >= 3 else []


def peaks(
    tool: str, cells: Mapping[int, Mapping[Name, Sequence[float]]], slo: float | None = None
) -> dict[Name, tuple[int, Name]]:
    """Return the name of each peak over the tool's `curve_axis`, with the position and the name there.

    A peak is at the axis value with the highest median over the repeats, at the lowest such value in a tie. The report
    page uses the same rule. The median of the peaks of single repeats would be higher, and no cell has that value.

    `cells` maps three or more axis values to the numbers of all repeats. With `slo`, a limit on p99 (ns), the result
    also has the highest IOPS within that limit, per direction.
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


def mixed(run: Run) -> bool:
    """Return whether the leading number is one direction of a mixed load."""
    return run.parsed is not None and find(run.tool).mixed(run.parsed)


__all__ = [
    "QUANTILES", "Buckets", "Column", "Leader", "Name", "Number", "Part", "Repeats", "all_cells", "at_one_size", "cells", "curve_axis",
    "curve_numbers", "drawn", "each_number", "find", "fresh", "group", "have_best", "histograms", "leaders_of", "mixed", "no_better", "peaks", "ranked",
]  # fmt: skip
