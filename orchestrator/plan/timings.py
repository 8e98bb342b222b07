"""Store the durations of earlier runs on machines with this CPU, for the estimates of a plan. I/O on one small file.

There is one file per CPU model and number of PUs. A cell has the same name on all machines, and a cluster with
different CPUs may share one home. Hosts that write at the same time replace the whole file. Lost timings are measured
again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import platform
import re
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from orchestrator.machine.safe_files import read_named, replacement
from orchestrator.machine.user_folders import data_folder
from orchestrator.model import PlannedRun
from orchestrator.plan.plan import PastTimings

KEPT_CELLS = 5000
KEPT_OVERHEADS = 50
_MAX_BYTES: Final = 4 << 20
_CPUINFO = Path("/proc/cpuinfo")
_MODEL: Final = (
    "vendor_id", "cpu family", "model", "model name", "stepping", "CPU implementer", "CPU part", "CPU variant", "cpu", "machine",
)  # fmt: skip
"""What /proc/cpuinfo says of the kind of a CPU: on x86, Arm, POWER."""


def _path() -> Path:
    return data_folder() / "timings" / f"{_cpu()}.json"


def _cpu() -> str:
    """Return a file's name for this kind of CPU: "Intel-R-Xeon-R-Gold-6130-64-1f0c2d3e"."""
    block = ""
    with contextlib.suppress(OSError), _CPUINFO.open(encoding="utf-8", errors="replace") as file:
        block = file.read(4096).partition("\n\n")[0]  # the first CPU: the kernel takes long to list all
    pairs = (line.partition(":") for line in block.splitlines())
    fields = {key.strip(): value.strip() for key, _, value in pairs}
    text = "\n".join([platform.machine(), *(fields.get(key, "") for key in _MODEL), str(os.cpu_count())])
    name = re.sub(r"[^A-Za-z0-9]+", "-", fields.get("model name") or platform.machine()).strip("-")[:60]
    return f"{name}-{os.cpu_count()}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def load() -> PastTimings:
    """Return the stored timings. Empty if the file is missing or damaged."""
    cells, overhead = _read()
    medians = {tool: statistics.median(values) for tool, values in overhead.items() if values}
    return PastTimings(cells=cells, overhead=medians)


def remember(runs: Iterable[PlannedRun], walls: Mapping[str, list[float]]) -> None:
    """Add the wall times of the ok runs of a call, by cell. A home that cannot be written costs nothing but the learning."""
    if not walls:
        return
    cells, overhead = _read()
    planned = {run.cell.point_id: run for run in runs}
    for point_id, seconds in walls.items():
        cells.pop(point_id, None)  # newest last
        cells[point_id] = round(statistics.median(seconds), 3)
        run = planned[point_id]
        samples = overhead.setdefault(run.tool, [])
        samples.append(round(cells[point_id] - run.nominal_s, 3))
        del samples[:-KEPT_OVERHEADS]
    text = json.dumps({"points": dict(list(cells.items())[-KEPT_CELLS:]), "overhead": overhead})
    with contextlib.suppress(OSError), replacement(_path()) as file:
        file.write(text.encode())


def _read() -> tuple[dict[str, float], dict[str, list[float]]]:
    """Return wall seconds by cell, and seconds beyond the estimate by tool."""
    try:
        raw: Any = json.loads(read_named(_path(), _MAX_BYTES))
        cells = {str(key): _finite(wall) for key, wall in raw.get("points", {}).items()}
        overhead = {str(tool): [_finite(v) for v in own] for tool, own in raw.get("overhead", {}).items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}, {}
    return cells, overhead


def _finite(raw: Any) -> float:  # noqa: ANN401
    value = float(raw)
    if not math.isfinite(value):
        raise ValueError(raw)
    return value
