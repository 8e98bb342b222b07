"""The numbers of a run that are compared: what each tool is asked for, with its direction and its last printed digit. Pure.

A run gives one value per number. Distributions give quantiles of the run, never their single samples: two histograms merged over
runs call 18 to 26 % of unchanged tails changed where p99 varies by 3 to 6 % from run to run (measurement guide, 3).

Tools (`reports.tools`) give them.
"""

from __future__ import annotations

import importlib
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, cast

from parsers import get_parser
from parsers.measurement import Direction, Parsed
from reports.numbers._quantiles import QUANTILES
from reports.numbers.model import SIZE, Buckets, Name, Number, Part, Resolved
from reports.results.model import Run
from reports.text import format as fmt


class NumbersModule(Protocol):
    """The part of `reports.tools.base.Tool` that has a tool's numbers; it is described there."""

    CURVE_AXIS: str | None
    DRAWN: tuple[str, ...]
    PEAK: str | None
    LEADS: str
    WORKING_SET: tuple[str, ...]
    ACCESSED: tuple[str, ...]
    LIMITS: tuple[str, ...]

    def numbers(self, run: Run) -> Iterator[Number]: ...
    def undirected(self, run: Run) -> Iterator[Number]: ...
    def histograms(self, run: Run) -> list[tuple[Name, Buckets]]: ...
    def curve_numbers(self, curve: Mapping[int, Sequence[Number]]) -> Iterator[Number]: ...
    def peaks_within(
        self, cells: Mapping[int, Mapping[Name, Sequence[float]]], slo: float
    ) -> dict[Name, tuple[int, Name]]: ...
    def headline(self, repeats: Sequence[Parsed]) -> str: ...
    def leaders(self, repeats: Sequence[Parsed]) -> list[tuple[str, float]]: ...
    def moved(self, cell: Sequence[Run]) -> list[tuple[float, float]]: ...
    def mixed(self, parsed: Parsed) -> bool: ...
    def ranked(self, parsed: Parsed) -> bool: ...
    def resolved(self, parsed: Parsed) -> Resolved: ...


def _module(tool: str) -> NumbersModule:
    return cast("NumbersModule", importlib.import_module("reports.tools").find(tool))


def numbers(run: Run) -> list[Number]:
    """Return what a run is compared by, in the order of its tables; empty if it gave no number."""
    return list(each_number(run))


def each_number(run: Run) -> Iterator[Number]:
    """Give the same one after the other: a run may have a million."""
    found = _module(run.tool).numbers(run) if run.parsed else iter(())
    if run.parsed and run.parsed.has("from_table"):  # nothing tells to what digit it was printed
        return (number.printed_to(None) for number in found)
    return found


def undirected(run: Run) -> Iterator[Number]:
    """Yield the numbers of metrics that are not compared, because the experiment does not say which direction is better."""
    module = _module(run.tool)
    return module.undirected(run) if run.parsed else iter(())


def histograms(run: Run) -> list[tuple[Name, Buckets]]:
    """Return the latency distributions of a run: fio's per direction, poke's per operation."""
    module = _module(run.tool)
    return module.histograms(run)


def drawn(tool: str) -> tuple[str, ...]:
    """Return the titles of the numbers whose curves a comparison draws before all others."""
    return _module(tool).DRAWN


def curve_axis(tool: str) -> str | None:
    """Return the option over which the runs of one repeat make a curve."""
    return _module(tool).CURVE_AXIS


def axis_value(run: Run) -> int | None:
    """Return the run's place on its tool's `curve_axis`, None if it has none."""
    value: Any = run.options.get(curve_axis(run.tool) or "")
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def curve_numbers(tool: str, curve: Mapping[int, Sequence[Number]]) -> list[Number]:
    """Return what one repeat's curve over the tool's `curve_axis` offers: derived numbers, but for its peak (`peaks`).

    curve: axis value → the numbers of the run there. At least three values, else there is no curve and nothing is returned.
    """
    module = _module(tool)
    return list(module.curve_numbers(curve)) if len(curve) >= 3 else []


def peaks(
    tool: str, cells: Mapping[int, Mapping[Name, Sequence[float]]], slo: float | None = None
) -> dict[Name, tuple[int, Name]]:
    """Return the name of each peak over the tool's `curve_axis` → where it is, and what it is called there.

    A peak is of one cell: of the axis value with the highest median over the repeats (of equals the lowest value), as on the page.
    The median of what each repeat has as its own peak is of no cell, and higher. cells: axis value → the numbers of all repeats
    there. Of three values or more. slo: a latency (ns) that p99 must keep; then also the most IOPS within it, per direction.
    """
    quantity = _module(tool).PEAK
    by_name: dict[Name, dict[int, float]] = {}
    for at, found in sorted(cells.items()):
        for name, values in found.items():
            if name.quantity == quantity:
                by_name.setdefault(name, {})[at] = statistics.median(values)
    tops = {
        replace(name, metric=f"peak {name.metric}", derived=True): (max(line, key=line.__getitem__), name)
        for name, line in by_name.items()
        if len(line) >= 3
    }
    module = _module(tool)
    within = module.peaks_within(cells, slo) if slo is not None else {}
    return {**tops, **within}


def headline(tool: str, *repeats: Parsed | None) -> str:
    """Return the numbers of the repeats of a cell in a few words: "triad 26.1 GB/s". Never empty."""
    known = [parsed for parsed in repeats if parsed]
    if not known:
        return "no numbers"
    return (
        _module(tool).headline(known)
        or _module("").headline(known)
        or fmt.plural(len(known[0].measurements.rows), "number")
    )


def leading(tool: str, *repeats: Parsed | None) -> tuple[str, float] | None:
    """Return the number that stands for the repeats of a cell where they or cells are set against one another: base unit, and the median
    of what each run says."""
    told = leaders(tool, *repeats)
    return (told[0][0], statistics.median(value for _, value in told)) if told else None


def leaders(tool: str, *repeats: Parsed | None) -> list[tuple[str, float]]:
    """Return the number that stands for a cell, in each repeat that has it: one name."""
    known = [parsed for parsed in repeats if parsed]
    return _module(tool).leaders(known) if known else []


def mixed(run: Run) -> bool:
    """Is the number that stands for a run that of one direction of several?"""
    module = _module(run.tool)
    return run.parsed is not None and bool(run.parsed.once(module.mixed))


def leaders_of(cells: Sequence[Sequence[Run]]) -> list[tuple[Leader, list[tuple[str, float]]]]:
    """Return the `leader` of each cell and the `leaders` of its runs, in one look at them; of cells whose I/Os or files have different
    sizes the bandwidths (`moved`): of small blocks the IOPS are always more, and less is always written sooner."""
    told, moves = [], []
    for own in cells:
        told.append((leader(own), leaders(own[0].tool, *(run.parsed for run in own))))
        moves.append(bytes_moved(own))
    bandwidths = _of_sizes(moves)
    if bandwidths is None:
        return told
    return [
        (one._replace(words=f"{one.whose} bandwidth".strip(), better="higher", unit="B/s", name=None), [("B/s", v) for v in own])
        for (one, _), own in zip(told, bandwidths, strict=True)
    ]  # fmt: skip


def bytes_moved(cell: Sequence[Run]) -> list[tuple[float, float]]:
    """Return the bandwidth of each repeat, and the size of what it counts; nothing of a tool that counts bytes, or time that
    does not grow with them."""
    known, module = [run for run in cell if run.parsed], _module(cell[0].tool)
    return module.moved(known) if known else []


def _of_sizes(moves: Sequence[Sequence[tuple[float, float]]]) -> list[list[float]] | None:
    sizes = [size for own in moves for _, size in own]
    if not sizes or not all(moves) or max(sizes) <= 1.02 * min(sizes):
        return None
    return [[bandwidth for bandwidth, _ in own] for own in moves]


def standing(tool: str, repeats: Sequence[Parsed]) -> list[float]:
    """Return the number that stands for each repeat of a cell, in its base unit; none of what its own program calls wrong."""
    sound = [parsed for parsed in repeats if not parsed.has("validation_failed")]
    return [value for _, value in leaders(tool, *sound)]


def working_set(tool: str) -> tuple[str, ...]:
    """Return the options that say how much is accessed, none of whose levels is better than another."""
    return _module(tool).WORKING_SET


def accessed(tool: str) -> tuple[str, ...]:
    """Return the options that choose what is accessed, none of whose levels is better than another."""
    return _module(tool).ACCESSED


def limits(tool: str) -> tuple[str, ...]:
    """Return the options that hold down the number that stands for a run, none of whose levels is better than another."""
    return _module(tool).LIMITS


def no_better(tool: str) -> frozenset[str]:
    """Return the options none of whose levels is better than another: `working_set`, `accessed` and `limits`."""
    return frozenset((*working_set(tool), *accessed(tool), *limits(tool)))


def have_best(cells: Sequence[Sequence[Run]], leaders: Sequence[Leader]) -> bool:
    """May one of the cells of a sweep be its best? None where they differ in an option of `no_better`, in the benchmark, or in which way is better.
    leaders: of each cell."""
    unlike = {
        str([run.options.get(name) for name in sorted(no_better(run.tool))])
        for own in cells
        for run in own[:1]
        if ranked(run)
    }
    return len(unlike) < 2 and len({(one.better, one.kind) for one in leaders}) < 2


def ranked(run: Run) -> bool:
    """May a run be the best of its sweep?"""
    module = _module(run.tool)
    return module.ranked(run.parsed) if run.parsed else True


def resolved(run: Run) -> Resolved:
    """Return whether the `leading` number of a run tells of what was timed, and not mostly of its timer."""
    module = _module(run.tool)
    return run.parsed.once(module.resolved) if run.parsed else "yes"


class Leader(NamedTuple):
    """What the `leading` number of a run is."""

    words: str  # "bandwidth", "read IOPS", "write total time"
    better: Direction
    unit: str = ""  # as people say it: "IOPS"
    metric: str = ""  # as `Name.tells_of`, at all sizes; "" where it has no name
    step: float = 0.0  # the last digit that is printed, in the base unit; 0: not known
    kind: str = ""  # as `Name.kind`: "Allreduce"
    size: float | None = None  # the message size (B) that it is of, where its run has a curve over sizes
    whose: str = ""  # "read" of several directions or operations of a run
    name: Name | None = None


@dataclass(frozen=True, slots=True)
class _LeaderOf:
    """The leader of a cell, as something that is worked out of its texts once."""

    cell: tuple[Run, ...]

    def __call__(self, _: Parsed) -> Leader:
        return _leader(self.cell)


def leader(cell: Sequence[Run]) -> Leader:
    """Return what the number is that stands for the repeats of a cell, in words, and which way is better."""
    first = next((run.parsed for run in cell if run.parsed), None)
    return first.once(_LeaderOf(tuple(cell))) if first else _leader(cell)


def _leader(cell: Sequence[Run]) -> Leader:
    run = next((run for run in cell if run.parsed), cell[0])
    told = leaders(run.tool, *(one.parsed for one in cell))
    found = _number_of(cell, told)
    if found is not None:
        known = found.name
        return Leader(
            _worded(run, known), known.better, known.said_unit or known.unit, known.family.tells_of, found.step or 0.0,
            known.kind, _size_of(known), _whose(run, known), known,
        )  # fmt: skip
    unit = told[0][0] if told else ""
    if told and get_parser(run.tool).METRICS:
        return Leader(*_QUANTITIES.get(unit, ("number", "neither")), unit)
    return Leader(next((row.metric.replace("_", " ") for row in run.measured()), "number"), "neither", unit)


def _number_of(cell: Sequence[Run], told: Sequence[tuple[str, float]]) -> Number | None:
    """Return the number of a cell that has a unit and a value in each repeat, where several have them the first, or that of its tool's LEADS."""
    known = [run for run in cell if run.parsed]
    if not told or len(told) != len(known):
        return None
    first, *others = known
    leads = _module(first.tool).LEADS
    found: Number | None = None
    for n in each_number(first):  # a run may have a million, and all of them equal
        if (
            (n.name.unit, n.value) == told[0]
            and (found is None or n.name.metric == leads)
            and all(_value(run, n.name) == of[1] for run, of in zip(others, told[1:], strict=True))
        ):
            found = n
            if leads in ("", n.name.metric):
                break
    return found


def _value(run: Run, name: Name) -> float | None:
    return next((n.value for n in each_number(run) if n.name == name), None)


def _size_of(name: Name) -> float | None:
    size = dict(name.part).get(SIZE)
    return float(size) if isinstance(size, int | float) else None


def at_one_size(cells: Sequence[Sequence[Run]], leaders: Sequence[Leader]) -> tuple[float, dict[float, list[list[float]]]] | None:  # fmt: skip
    """Return the message size at which cells that each hold a curve are set against one another, and of each size that all of them have the
    values of each cell's repeats; None where there is no such size. What stands for each (`leading`) may be of another size.

    leaders: of each cell. The size is the first that all have from the largest on that stands for one of them; of times no smaller ones
    are told, which were a cold start in a cell.
    """
    curves = [[_curve(run, one.name) for run in own] for own, one in zip(cells, leaders, strict=True)]
    shared = set.intersection(*(set(curve) for own in curves for curve in own)) - {0.0}
    if not shared or any(one.size is None for one in leaders):
        return None
    least = max(one.size or 0.0 for one in leaders)
    size = min((s for s in shared if s >= least), default=max(shared))
    told = sorted(s for s in shared if s >= size or leaders[0].better == "higher")
    return size, {s: [[curve[s] for curve in own] for own in curves] for s in told}


def _curve(run: Run, leads: Name | None) -> dict[float, float]:
    """Return message size (B) → the number of that size that is what the leading one is of its own."""
    if leads is None:
        return {}

    def rest(name: Name) -> tuple[object, ...]:
        return (replace(name, part=()), tuple(label for label in name.part if label[0] != SIZE))

    of, found = rest(leads), dict[float, float]()
    for number in each_number(run):
        size = _size_of(number.name)
        if size is not None and rest(number.name) == of:
            found.setdefault(size, number.value)
    return found


def _worded(run: Run, name: Name) -> str:
    """Return a quantity in words, with what tells it from others of its run: "read IOPS" of a mix, "write total time" of files that were
    read, too, "value (index 3)" of a list."""
    index, words = dict(name.part).get("index"), name.quantity.replace("_", " ")
    return f"{words} (index {index})" if index is not None else f"{_whose(run, name)} {words}".strip()


def _whose(run: Run, name: Name) -> str:
    """Return the direction or operation of a number, where its run has the quantity of another, too; else ""."""
    labels = dict(name.part)
    own = next((str(labels[of]) for of in ("direction", "op") if of in labels), "")
    several = own and any(n.name.quantity == name.quantity and n.name != name for n in each_number(run))
    return own if several else ""


_QUANTITIES: Mapping[str, tuple[str, Direction]] = {
    "B/s": ("bandwidth", "higher"), "1/s": ("rate", "higher"), "ns": ("time", "lower"),
}  # fmt: skip


__all__ = [
    "QUANTILES", "Buckets", "Leader", "Name", "Number", "NumbersModule", "Part", "Resolved",
    "at_one_size", "axis_value", "bytes_moved", "curve_axis", "curve_numbers", "drawn", "each_number", "headline", "histograms", "leader", "leaders", "leading", "no_better", "numbers", "peaks", "ranked", "resolved", "standing", "working_set",
]  # fmt: skip
