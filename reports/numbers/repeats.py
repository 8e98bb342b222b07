"""The repeats of one cell, the value of each number per repeat, and the leading number. Pure."""

from __future__ import annotations

import functools
import itertools
import statistics
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

from orchestrator.model import Cell
from parsers.measurement import Direction, Measurement, Parsed
from reports.numbers.model import SIZE, Name, Number
from reports.numbers.tool import find, no_better, ranked
from reports.results import naming
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.text import format as fmt


class Column(NamedTuple):
    """One number over the repeats of a cell, in the base unit."""

    values: tuple[float, ...]
    steps: tuple[float | None, ...]  # last printed digit per repeat; None if unknown

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def step(self) -> float:
        """Return the last printed digit of the first repeat, or 0 if unknown."""
        return self.steps[0] or 0.0


class Leader(NamedTuple):
    """Label and direction of the leading number of a cell."""

    words: str  # "bandwidth", "read IOPS", "write total time"
    better: Direction
    unit: str = ""  # unit for readers: "IOPS"
    metric: str = ""  # as `Name.tells_of`, at all sizes; "" without a number
    step: float = 0.0  # last printed digit in the base unit; 0 if unknown
    kind: str = ""  # as `Name.kind`: "Allreduce"
    size: float | None = None  # message size (B), if the run has a curve over sizes
    whose: str = ""  # "read" of several directions or operations of a run
    name: Name | None = None


@dataclass(frozen=True, eq=False)
class Repeats:
    """One or more runs of one cell and program, with the numbers that all runs have."""

    runs: tuple[Run, ...]

    @property
    def first(self) -> Run:
        return self.runs[0]

    @property
    def tool(self) -> str:
        return self.runs[0].tool

    @functools.cached_property
    def columns(self) -> Mapping[Name, Column]:
        """Return name → column, in the order of the first run."""
        columns: dict[Name, tuple[list[float], list[float | None]]] = {}
        for number in itertools.chain(*map(each_number, self.runs)):
            values, steps = columns.setdefault(number.name, ([], []))
            values.append(number.value)
            steps.append(number.step)
        count = len(self.runs)
        return {
            name: Column(tuple(values), tuple(steps))
            for name, (values, steps) in columns.items()
            if len(values) == count
        }

    @functools.cached_property
    def lead(self) -> Name | None:
        """Return the leading number of the cell."""
        return find(self.tool).lead(self) if self.columns else None

    @property
    def values(self) -> tuple[float, ...]:
        """Return the leading number of each repeat, or () without a leading number."""
        return self.columns[self.lead].values if self.lead else ()

    @property
    def standing(self) -> tuple[float, ...]:
        """Return `values`, or () if the program itself calls the results wrong."""
        return () if self.first.void else self.values

    @functools.cached_property
    def leader(self) -> Leader:
        """Return label and direction of the leading number."""
        name = self.lead
        if name is None:
            return Leader("number", "neither")
        index, words, owner = dict(name.part).get("index"), name.quantity.replace("_", " "), self._whose(name)
        size = dict(name.part).get(SIZE)
        return Leader(
            words=f"{words} (index {index})" if index is not None else f"{owner} {words}".strip(),
            better=name.better,
            unit=name.said_unit or name.unit,
            metric=name.family.tells_of,
            step=self.columns[name].step,
            kind=name.kind,
            size=float(size) if isinstance(size, int | float) else None,
            whose=owner,
            name=name,
        )

    def _whose(self, name: Name) -> str:
        """Return the direction or operation of a number if other numbers have the same quantity, else ""."""
        labels = dict(name.part)
        owner = next((str(labels[key]) for key in ("direction", "op") if key in labels), "")
        several = owner and any(n.quantity == name.quantity and n != name for n in self.columns)
        return owner if several else ""

    @property
    def headline(self) -> str:
        """Return the numbers as a short text such as "triad 26.1 GB/s". The text is never empty."""
        if not any(run.parsed for run in self.runs):
            return "no numbers"
        text = find(self.tool).headline(self) if self.columns else ""
        rows = next((len(run.parsed.measurements.rows) for run in self.runs if run.parsed), 0)
        return text or fmt.plural(rows, "number")

    def line(self, name: Name) -> dict[float, Name]:
        """Return message size (B) → the same number at that size."""
        rest = _without_size(name)
        sizes = {other: dict(other.part).get(SIZE) for other in self.columns}
        line: dict[float, Name] = {}
        for other, size in sizes.items():
            if isinstance(size, int | float) and _without_size(other) == rest:
                line.setdefault(float(size), other)
        return line


def _without_size(name: Name) -> Name:
    return replace(name, part=tuple(label for label in name.part if label[0] != SIZE))


def each_number(run: Run) -> Iterator[Number]:
    """Yield the compared numbers of a run, in the order of the tables. A run may have a million numbers. Numbers
    without a direction are only shown.
    """
    if run.parsed is None:
        return iter(())
    numbers = find(run.tool).numbers(run)
    if run.parsed.has("from_table"):  # the printed precision is unknown
        return (number.printed_to(None) for number in numbers)
    return numbers


@dataclass(frozen=True, slots=True)
class _Fresh:
    """Tool input for a run before the run is stored."""

    cell: Cell
    parsed: Parsed
    captured: bool = False

    @property
    def tool(self) -> str:
        return self.cell.tool

    @property
    def options(self) -> Mapping[str, Any]:
        return self.cell.options

    @property
    def void(self) -> bool:
        return self.parsed.has("validation_failed")

    def measured(self) -> Iterator[Measurement]:
        return self.parsed.measured()


def fresh(cell: Cell, texts: Iterable[Parsed]) -> Repeats:
    """Return the repeats of a cell before the runs are stored. At least one run is needed."""
    return Repeats(tuple(cast("Run", _Fresh(cell, parsed)) for parsed in texts))


def group(runs: Iterable[Run]) -> tuple[Repeats, ...]:
    """Return the repeats of each cell and program of each file, in order of first appearance."""

    def cell(run: Run) -> Hashable:
        return run.file, run.tool, naming.program_kind(run), run.cell.sweep, run.record.point_id

    return tuple(Repeats(tuple(repeats)) for repeats in group_by(runs, cell).values())


def cells(results: Results, tool: str) -> tuple[Repeats, ...]:
    """Return the repeats of each cell of a tool that count. Worked out once."""
    known = results.memory
    if tool not in known:
        known[tool] = group(results.good(tool))
    repeats: tuple[Repeats, ...] = known[tool]
    return repeats


def all_cells(results: Results) -> Iterator[Repeats]:
    """Give the same of all tools."""
    for tool in results.tools:
        yield from cells(results, tool)


# --- cells side by side ------------------------------------------------------------------------------------


def leaders_of(repeats: Sequence[Repeats]) -> list[tuple[Leader, tuple[float, ...]]]:
    """Return the leading number of each cell, with the values. Bandwidths replace IOPS if the cells have different
    I/O or file sizes.

    Small blocks always have higher IOPS, and small files are always written sooner.
    """
    led = [(cell.leader, cell.values) for cell in repeats]
    moved = [find(cell.tool).moved(cell) for cell in repeats]
    sizes = [size for rates in moved for _, size in rates]
    if not sizes or not all(moved) or max(sizes) <= 1.02 * min(sizes):
        return led
    return [
        (leader._replace(words=f"{leader.whose} bandwidth".strip(), better="higher", unit="B/s", name=None), tuple(rate for rate, _ in rates))
        for (leader, _), rates in zip(led, moved, strict=True)
    ]  # fmt: skip


def at_one_size(repeats: Sequence[Repeats]) -> tuple[float, list[tuple[float, ...]]] | None:
    """Return the message size (B) at which curves are compared, and the values of each cell at that size.

    The result is the first common size, from the largest down, that is the leading number of a cell. None means that
    there is no such size.
    """
    lines = [cell.line(cell.lead) if cell.lead else {} for cell in repeats]
    sizes = [cell.leader.size for cell in repeats]
    shared = set.intersection(*map(set, lines)) - {0.0}
    if not shared or None in sizes:
        return None
    least = max(size or 0.0 for size in sizes)
    size = min((s for s in shared if s >= least), default=max(shared))
    return size, [cell.columns[line[size]].values for cell, line in zip(repeats, lines, strict=True)]


def have_best(repeats: Sequence[Repeats], leaders: Sequence[Leader]) -> bool:
    """Return whether a cell of a sweep may be called the best.

    None means that the cells differ in an option of `no_better`, in the benchmark or in the direction. `leaders` has
    one entry per cell.
    """
    unlike = {
        str([cell.first.options.get(name) for name in sorted(no_better(cell.tool))])
        for cell in repeats
        if ranked(cell.first)
    }
    return len(unlike) < 2 and len({(leader.better, leader.kind) for leader in leaders}) < 2
