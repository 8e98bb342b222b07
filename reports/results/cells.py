"""Decide which runs are repeats of one cell, and which settings distinguish the cells of a sweep. Pure.

A file may have cells that no single experiment text requested, because the options were edited or a sweep began again.
The axes then do not distinguish the cells, but other settings do. In files of older versions, one cell may have the
names of two places.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from orchestrator.model import AS_NEW, Alias, Cell, Place, canonical_json
from orchestrator.store.result_file import StoredCell
from orchestrator.tools import get_tool, tool_names
from reports.results.grouping import group_by

if TYPE_CHECKING:
    from reports.results.model import Run


def told_apart(stored: Iterable[StoredCell]) -> dict[str, Cell]:
    """Return the further settings of each cell whose axes are ambiguous, by point_id.

    Cells of one text differ in the axes, and in the choices of the tool. Cells of an edited text, of a sweep that began
    again, or with equal labels may differ in any option and in the place.
    """
    result: dict[str, Cell] = {}
    for group in group_by(stored, lambda s: (s.cell.sweep, s.cell.tool)).values():
        same = [one.cell for one in group]
        labels = {canonical_json(p.labels()) for p in same}
        edited = (
            len(labels) < len(same)
            or len({one.experiment for one in group}) > 1
            or any(AS_NEW in p.options for p in same)
        )
        settings = {p.point_id: {**(dict(flat(p)) if edited else {}), **_chosen(p)} for p in same}
        differing = [
            n
            for n, values in _values(settings.values()).items()
            if len(values) > 1 and (edited or len(values - {None}) > 1)
        ]
        for cell in same if differing else ():
            cell_settings = settings[cell.point_id]
            new = [n for n in differing if n not in cell.axes and _tells(n, cell, settings.values())]
            apart = {name: cell_settings[name] for name in new if name in cell_settings and name != "place"}
            if AS_NEW in new:
                apart.setdefault(AS_NEW, "no")
            result[cell.point_id] = dataclasses.replace(cell, axes=(*cell.axes, *new), apart=apart)
    return result


def _values(settings: Collection[Mapping[str, Any]]) -> dict[str, set[str | None]]:
    """Return {name: values as texts}. None for a cell without a value."""
    names = dict.fromkeys(name for row in settings for name in row)
    return {n: {canonical_json(row[n]) if n in row else None for row in settings} for n in names}


def _chosen(cell: Cell) -> Mapping[str, Any]:
    return get_tool(cell.tool).implied_options(cell.options) if cell.tool in tool_names() else {}


def flat(cell: Cell) -> Iterable[tuple[str, Any]]:
    """Yield the options and values: ("count", 100), ("metrics.rate.unit", "MB/s"), ("place", "local"), ("place.cpus",
    "core 0").
    """
    yield from _leaves("", cell.options)
    if cell.place is not None:
        yield "place", cell.place.name
        yield from _leaves("place.", {f.name: getattr(cell.place, f.name) for f in dataclasses.fields(Place)[1:]})


def _leaves(prefix: str, values: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _leaves(f"{prefix}{name}.", value)
        else:
            yield f"{prefix}{name}", value


def _tells(name: str, cell: Cell, settings: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a name distinguishes cells. A place's selectors count only if places of one name differ."""
    if not name.startswith("place.") or cell.place is None:
        return True
    return len({row.get(name) for row in settings if row.get("place") == cell.place.name}) > 1


def merged(runs: Sequence[Run], order: Iterable[str]) -> tuple[list[Run], list[Alias]]:
    """Return the runs of a file with one name per cell, and the removed names.

    Places with different selectors may be the same PUs and memory. The first of two such cells in `order` (point_ids)
    keeps its name, and the runs of the second cell become further repeats. Two kinds of cells are not merged: a cell
    with runs in several placements, and a cell whose name an edited text gave to other CPUs.
    """
    placed = [run for run in runs if run.record.placement and run.cell.place]
    by_cell = group_by(placed, lambda run: run.record.point_id)
    fixed = [own for own in by_cell.values() if len({run.placed for run in own}) == 1]
    rank = {point_id: n for n, point_id in enumerate(order)}
    fixed.sort(key=lambda own: rank[own[0].record.point_id])
    moved = {name for name, same in group_by(fixed, _named).items() if len({c[0].placed for c in same}) > 1}
    new_runs: dict[int, Run] = {}
    aliases = []
    for first, *others in group_by(fixed, lambda own: _start(own[0])).values():
        repeats = max(run.record.repeat for run in first)
        for own in others:
            cell, placement = first[0].cell, first[0].record.placement
            if (
                own[0].cell.place is None
                or cell.place is None
                or _selectors(own[0].cell.place) == _selectors(cell.place)
                or not moved.isdisjoint((_named(own), _named(first)))
            ):
                continue
            aliases.append(Alias.between(own[0].cell, cell))
            for run in own:
                record = dataclasses.replace(
                    run.record,
                    point_id=cell.point_id,
                    repeat=repeats + run.record.repeat,
                    placement=placement,
                )
                new_runs[id(run)] = dataclasses.replace(run, cell=cell, record=record)
            repeats += max(run.record.repeat for run in own)
    return [new_runs.get(id(run), run) for run in runs], aliases


def _named(own: Sequence[Run]) -> object:
    cell = own[0].cell
    return cell.sweep, canonical_json(dict(cell.options)), cell.place.name if cell.place else ""


def _start(run: Run) -> object:
    """Return a key for equal starts: a tool with its options in a place, for any name of the place."""
    words = tuple(word for word in run.record.argv if "/" not in word)
    return run.cell.sweep, run.cell.tool, canonical_json(dict(run.cell.options)), run.placed, words


def _selectors(place: Place) -> tuple[str, str, str]:
    return place.cpus, place.memory, place.spread
