"""The effect of each axis on the leading number, and the best cell of each sweep: two tables. Pure."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reports import numbers
from reports.document import Column, Interval, Quantity, Table, Value
from reports.numbers import Repeats, formulas
from reports.numbers.formulas import Spread
from reports.results import naming
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.text import format as fmt

EFFECTS: Final = "axis-effects"
BEST: Final = "best-cells"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """The cells of a sweep and program that can be compared by one number."""

    title: str
    number: str  # "bandwidth", "PingPong time at 64 KiB"
    better: str
    unit: str
    axes: tuple[str, ...]
    cells: Mapping[tuple[str, ...], Spread]  # levels of the axes → repeats
    names: Mapping[tuple[str, ...], str]


def tables(results: Results) -> tuple[Table, ...]:
    """Return the tables of axis effects and best cells, or () if no sweep has several comparable cells."""
    sweeps = [sweep for tool in results.tools for sweep in _sweeps(results, tool)]
    effects = Table(
        id=EFFECTS, title="What each axis does", rows=tuple(row for sweep in sweeps for row in _effects(sweep)),
        columns=tuple(Column(name=name) for name in ("sweep", "number", "axis", "from", "to", "times better", "range", "clear")),
    )  # fmt: skip
    best = Table(
        id=BEST, title="The best cell of each sweep", rows=tuple(map(_best, sweeps)),
        columns=tuple(Column(name=name) for name in ("sweep", "cell", "number", "value", "range", "cells")),
    )  # fmt: skip
    return tuple(table for table in (effects, best) if table.rows)


def _sweeps(results: Results, tool: str) -> Iterator[Sweep]:
    usable = [run for run in results.good(tool) if run.is_usable and not run.captured]
    for runs in group_by(usable, lambda run: (run.where, run.cell.sweep, naming.program_kind(run))).values():
        mixed = {run for run in runs if numbers.mixed(run)}
        runs = [run for run in runs if run not in mixed] or runs
        cells = [cell for cell in numbers.group(runs) if numbers.ranked(cell.first)]
        if len(cells) > 1 and (sweep := _sweep(tool, cells)):
            yield sweep


def _sweep(tool: str, cells: Sequence[Repeats]) -> Sweep | None:
    """Return the sweep of some cells, or None if the numbers differ in unit or direction, or lack a direction."""
    led = numbers.leaders_of(cells)
    leaders, repeats = [leader for leader, _ in led], [values for _, values in led]
    unlike = len({leader.unit for leader in leaders}) != 1 or not all(repeats)
    if unlike or not numbers.have_best(cells, leaders) or leaders[0].better == "neither":
        return None
    name = f"{leaders[0].kind} {leaders[0].words}".strip()
    if any(leader.size is not None for leader in leaders):
        same = numbers.at_one_size(cells)
        if same is None:
            return None
        repeats, name = same[1], f"{name} at {fmt.size(same[0])}"
    without = numbers.no_better(tool)
    firsts = [cell.first for cell in cells]
    axes = tuple(
        axis
        for axis in dict.fromkeys(("place", *(axis for run in firsts for axis in run.cell.axes)))
        if len({_level(run, axis) for run in firsts}) > 1
    )
    levels = [tuple(_level(run, axis) for axis in axes) for run in firsts]
    if len({*levels}) < len(levels):
        return None
    return Sweep(
        title=firsts[0].sweep_title or firsts[0].cell.sweep, number=name, better=leaders[0].better, unit=leaders[0].unit,
        axes=tuple(axis if axis not in without else "" for axis in axes), names={key: " ".join(f"{axis}={level}" for axis, level in zip(axes, key, strict=True)) for key in levels},
        cells={key: formulas.spread(values) for key, values in zip(levels, repeats, strict=True)},
    )  # fmt: skip


def _level(run: Run, axis: str) -> str:
    if axis == "place":
        return run.place
    value = run.options.get(axis)
    return fmt.NOTHING if value is None else naming.level_text(run.tool, axis, value)


def _effects(sweep: Sweep) -> Iterator[tuple[Value, ...]]:
    """Yield one row per axis, with the largest effect first.

    The effect is the geometric mean of best level ÷ worst level, over pairs of cells that are equal in all other axes.
    An effect is clear if the repeats of each pair differ (`formulas.differs`) and the same level is always better.
    """
    rows = []
    for i, axis in enumerate(sweep.axes):
        names = list(dict.fromkeys(key[i] for key in sweep.cells))
        others = group_by(sweep.cells, functools.partial(_without, i)).values()
        complete = [{key[i]: sweep.cells[key] for key in keys} for keys in others if len(keys) == len(names)]
        if not axis or not complete or any(s.median <= 0 for row in complete for s in row.values()):
            continue
        means = {name: statistics.geometric_mean([row[name].median for row in complete]) for name in names}
        best, worst = (min, max) if sweep.better == "lower" else (max, min)
        to, start = best(names, key=means.__getitem__), worst(names, key=means.__getitem__)
        large, small = (start, to) if sweep.better == "lower" else (to, start)
        ratios = [row[large].median / row[small].median for row in complete]
        clear = all(r > 1 and formulas.differs(row[to], row[start]) for r, row in zip(ratios, complete, strict=True))
        span = Interval(min(ratios), max(ratios), "×") if len(ratios) > 1 else None
        factor = statistics.geometric_mean(ratios)
        rows.append(
            (
                factor,
                (
                    sweep.title,
                    sweep.number,
                    axis,
                    start,
                    to,
                    Quantity(factor, "×"),
                    span,
                    "yes" if clear else "no",
                ),
            )
        )
    yield from (row for _, row in sorted(rows, key=lambda row_of_axis: -row_of_axis[0]))


def _without(i: int, levels: tuple[str, ...]) -> tuple[str, ...]:
    return (*levels[:i], *levels[i + 1 :])


def _best(sweep: Sweep) -> tuple[Value, ...]:
    pick = min if sweep.better == "lower" else max
    key = pick(sweep.cells, key=lambda key: sweep.cells[key].median)
    spread = sweep.cells[key]
    span = Interval(spread.low, spread.high, sweep.unit) if spread.low < spread.high else None
    overlapping = formulas.overlapping(
        spread, (cell_spread for other, cell_spread in sweep.cells.items() if other != key)
    )
    name = sweep.names[key] + (f" (repeats of {overlapping} overlap)" if overlapping else "")
    return (sweep.title, name, sweep.number, Quantity(spread.median, sweep.unit), span, len(sweep.cells))
