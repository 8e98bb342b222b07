"""What earlier runs on this machine took, so that a plan can say how long it will take. I/O of one small file."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from orchestrator.machine.user_folders import data_folder
from orchestrator.model import PlannedRun
from orchestrator.plan.plan import PastTimings

KEPT_CELLS = 5000
KEPT_OVERHEADS = 50


def _path() -> Path:
    return data_folder() / "timings.json"


def load() -> PastTimings:
    """Return what is known; nothing, if the file is missing or damaged."""
    raw = _read()
    overhead = {tool: statistics.median(values) for tool, values in raw.get("overhead", {}).items() if values}
    return PastTimings(
        cells={key: float(wall) for key, wall in raw.get("points", {}).items()}, overhead=overhead
    )


def remember(runs: Iterable[PlannedRun], walls: Mapping[str, list[float]]) -> None:
    """Add the wall times of the ok runs of a call, by cell. A home that cannot be written costs nothing but the learning."""
    raw = _read()
    cells: dict[str, float] = dict(raw.get("points", {}))
    overhead: dict[str, list[float]] = {
        tool: list(values) for tool, values in raw.get("overhead", {}).items()
    }
    planned = {run.cell.point_id: run for run in runs}
    for point_id, seconds in walls.items():
        cells.pop(point_id, None)  # the newest stand last
        cells[point_id] = round(statistics.median(seconds), 3)
        run = planned[point_id]
        kept = overhead.setdefault(run.tool, [])
        kept.append(round(cells[point_id] - run.nominal_s, 3))
        del kept[:-KEPT_OVERHEADS]
    path = _path()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(
            json.dumps({"points": dict(list(cells.items())[-KEPT_CELLS:]), "overhead": overhead}), "utf-8"
        )
        temporary.replace(path)


def _read() -> dict[str, Any]:
    try:
        found = json.loads(_path().read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
