"""Numbers of curves over cells: peaks, and what each repeat of a sweep over depth or threads adds up to. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestrator.model import canonical_json
from reports import numbers
from reports.numbers import Name, Number
from reports.results.grouping import group_by

Cells = Mapping[Any, Mapping[str, Any]]
"""Rows of `matching.cells` by their index."""

Turn = tuple[Any, ...]
"""File, session and repeat: the same for the runs of one repeat of a sweep."""

Values = dict[Name, list[tuple[Number, Any]]]
"""Name → its numbers, each with its run."""


def curve_values(
    pairs: Mapping[int, Mapping[str, Any]],
    sides: Sequence[tuple[Cells, Mapping[int, Turn], Mapping[Any, Values]]],
    slo_ns: float | None,
) -> Iterator[tuple[list[int], str, Values, Values, tuple[int, int]]]:
    """Yield for each curve: its pairs, its axis, the derived numbers of A and of B, and how many repeats each side has.

    pairs: index → cells `a` and `b`. sides: of A and B the cells, run → its repeat, and cell → its numbers. A peak is of one cell: its
    repeats are those of the cell, and it comes with (0, 0).
    """

    def curve_of(pair: int) -> tuple[str, str, str]:
        cell = sides[0][0][pairs[pair]["a"]]
        axis = numbers.curve_axis(cell["tool"])
        labels = {name: value for name, value in json.loads(cell["labels"]).items() if name != axis}
        return cell["tool"], cell["sweep"], canonical_json(labels)

    def has_axis(pair: int) -> bool:
        cell = sides[0][0][pairs[pair]["a"]]
        return numbers.curve_axis(cell["tool"]) in json.loads(cell["labels"])

    for (tool, _, _), members in group_by(filter(has_axis, pairs), curve_of).items():
        axis = numbers.curve_axis(tool) or ""
        peaks, repeats = [], []
        for (cells, turns, values), column in zip(sides, ("a", "b"), strict=True):
            at = {pairs[pair][column]: _at(cells[pairs[pair][column]], axis) for pair in members}
            known = {cell: level for cell, level in at.items() if level is not None}
            peaks.append(_peaks(tool, known, cells, values, slo_ns))
            repeats.append(_of_repeats(tool, known, cells, turns, values))
        yield members, axis, peaks[0], peaks[1], (0, 0)
        yield members, axis, repeats[0][0], repeats[1][0], (repeats[0][1], repeats[1][1])


def _at(cell: Mapping[str, Any], axis: str) -> int | None:
    """Return where a cell is on the axis; None if that is not a number."""
    try:
        return int(json.loads(cell["labels"])[axis])
    except (KeyError, TypeError, ValueError):
        return None


def _of_repeats(
    tool: str,
    known: Mapping[Any, int],
    cells: Cells,
    turn_of: Mapping[int, Turn],
    values: Mapping[Any, Values],
) -> tuple[Values, int]:
    """Return the numbers of the curves of the repeats, and how many repeats have a whole curve."""
    by_run: dict[Any, list[Number]] = {}
    for cell in known:
        for pairs in values.get(cell, {}).values():
            for number, run in pairs:
                by_run.setdefault(run, []).append(number)
    at = {run: known[cell] for cell in known for run in cells[cell]["runs"]}
    turns = group_by(at, turn_of.__getitem__)
    curves = [({at[run]: by_run.get(run, []) for run in own}, own[0]) for own in turns.values()]
    most = max((len(curve) for curve, _ in curves), default=0)
    whole = [
        (curve, run) for curve, run in curves if len(curve) == most
    ]  # a repeat that lacks a cell has another curve
    found: Values = {}
    for curve, run in whole:
        for number in numbers.curve_numbers(tool, curve):
            found.setdefault(number.name, []).append((number, run))
    return found, len(whole)


def _peaks(
    tool: str,
    known: Mapping[Any, int],
    cells: Cells,
    values: Mapping[Any, Values],
    slo_ns: float | None,
) -> Values:
    """Return the peaks: each all repeats of one cell."""
    at_value: dict[int, Values] = {}
    for cell, at in known.items():
        runs = len(cells[cell]["runs"])
        at_value[at] = {name: own for name, own in values.get(cell, {}).items() if len(own) == runs}
    plain = {
        at: {name: [n.value for n, _ in own] for name, own in found.items()} for at, found in at_value.items()
    }
    return {
        peak: [(replace(number, name=peak), run) for number, run in at_value[at][name]]
        for peak, (at, name) in numbers.peaks(tool, plain, slo_ns).items()
    }
