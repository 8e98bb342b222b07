"""Choose the warm-up runs. The first run of a program in a session differs: its file is read, clocks rise, memory is
allocated. Pure.

So each program runs once before all other runs. The warm-up is stored with a mark and excluded from all results. The
warm-up uses the shortest cell of the program. There is no warm-up of TOO_LONG_S or more, because such a run warms
itself up. Cells that change the measured object have no warm-up: cells that write to a device, and sweeps with `order:
listed`. Neither have programs with an unknown duration.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Mapping

from orchestrator.model import PlannedRun, Sweep

TOO_LONG_S = 10.0


def warm_ups(runs: Iterable[PlannedRun], sweeps: Mapping[str, Sweep]) -> tuple[PlannedRun, ...]:
    """Return the warm-up of each program with pending runs, in the order of the first runs."""
    shortest: dict[Hashable, PlannedRun] = {}
    cells: dict[Hashable, PlannedRun] = {}  # repeats of a cell are equal
    for run in runs:
        cells.setdefault((run.cell.point_id, run.program), run)
    for run in cells.values():
        if sweeps[run.sweep].order == "listed" or any(write.kind == "device" for write in run.writes):
            continue
        known = shortest.setdefault(program_of(run), run)
        if run.estimate_s < known.estimate_s:
            shortest[program_of(run)] = run
    return tuple(
        dataclasses.replace(run, repeat=0, warm_up=True)
        for run in shortest.values()
        if max(run.estimate_s, run.guessed_at_most_s) < TOO_LONG_S
    )


def program_of(run: PlannedRun) -> Hashable:
    """Return what runs have in common that one warm-up is for."""
    return run.tool, run.program, tuple(sorted(run.files.items()))
