"""The first run of a program in a session is like no other: its file is read, clocks rise, memory is found. Pure.

So one run of each program comes before all others, is kept with a mark of its own, and has no part in any number. It costs as little as
it can: the shortest cell of the program. No warm-up is made where that takes TOO_LONG_S or more, since a run as long warms itself up,
none of cells that change what they measure: those that write to a device, and sweeps with `order: listed`; and none of a program of which
nobody knows how long it takes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Mapping

from orchestrator.model import PlannedRun, Sweep

TOO_LONG_S = 10.0


def warm_ups(runs: Iterable[PlannedRun], sweeps: Mapping[str, Sweep]) -> tuple[PlannedRun, ...]:
    """Return the warm-up of each program of some runs that are to be started, in the order of their first runs."""
    shortest: dict[Hashable, PlannedRun] = {}
    cells: dict[Hashable, PlannedRun] = {}  # the repeats of a cell are alike
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
