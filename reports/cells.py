"""Which runs are repeats of one cell, and what tells a cell from the others of its sweep. Pure.

A file may hold cells that one text never asked for together: its options were edited, or its runs began anew. Their axes do not tell
them apart then, and what differs besides does. And it may hold, of earlier versions, one cell under the names of two places.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.model import AS_NEW, Place, Point, canonical_json
from orchestrator.store import StoredPoint
from reports.grouping import group_by


def told_apart(stored: Iterable[StoredPoint]) -> dict[str, Point]:
    """Return the cells of edited texts, and those that began anew, by point_id: with what tells them apart besides their axes.

    The cells of one text differ in nothing but its axes.
    """
    found: dict[str, Point] = {}
    for cells in group_by(stored, lambda s: (s.point.sweep, s.point.tool)).values():
        same = [cell.point for cell in cells]
        if len({cell.experiment for cell in cells}) < 2 and not any(AS_NEW in p.options for p in same):
            continue
        flat = {point.point_id: dict(_flat(point)) for point in same}
        names = dict.fromkeys(name for own in flat.values() for name in own)
        differing = [n for n in names if len({canonical_json(own.get(n)) for own in flat.values()}) > 1]
        for point in same:
            own = flat[point.point_id]
            new = [n for n in differing if n not in point.axes and _tells(n, point, flat.values())]
            apart = {name: own[name] for name in new if "." in name and name in own}
            if AS_NEW in new and AS_NEW not in own:
                apart[AS_NEW] = "no"
            found[point.point_id] = dataclasses.replace(point, axes=(*point.axes, *new), apart=apart)
    return found


def _flat(point: Point) -> Iterable[tuple[str, Any]]:
    """Give the options and what they hold: ("count", 100), ("metrics.rate.unit", "MB/s"), ("place", "local"), ("place.cpus", "core 0")."""
    yield from _leaves("", point.options)
    if point.place is not None:
        yield "place", point.place.name
        yield from _leaves(
            "place.", {f.name: getattr(point.place, f.name) for f in dataclasses.fields(Place)[1:]}
        )


def _leaves(prefix: str, values: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _leaves(f"{prefix}{name}.", value)
        else:
            yield f"{prefix}{name}", value


def _tells(name: str, point: Point, flat: Iterable[Mapping[str, Any]]) -> bool:
    """Tell whether a name is worth showing: of a place, its selectors are only where places of one name have others."""
    if not name.startswith("place.") or point.place is None:
        return True
    return len({own.get(name) for own in flat if own.get("place") == point.place.name}) > 1
