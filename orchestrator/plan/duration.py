"""Estimate the duration of a plan, and a time limit for a batch system. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from orchestrator.model import Plan, PlannedRun

START_S: Final = 60.0
"""Before the first run and after the last: imports, reading the machine, compiling the kernels, and on a shared file system all of that
slowly."""
RUN_S: Final = 0.5  # per run: make and remove files, look at threads, commit
FILL_BYTES_PER_S: Final = 100e6  # write rate of scratch files
SLACK: Final = 3.0
"""Factor between estimate and limit, with repeats of disturbed runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration:
    """Seconds. `most_s` is more than `least_s` where cells have `repeats: auto`."""

    least_s: float
    most_s: float
    limit_s: int  # whole minutes

    @property
    def slurm(self) -> str:
        """Return the limit in the format of `sbatch -t`: "00:12:00", "2-03:00:00"."""
        days, rest = divmod(self.limit_s, 86400)
        clock = f"{rest // 3600:02}:{rest % 3600 // 60:02}:{rest % 60:02}"
        return f"{days}-{clock}" if days else clock


def duration(plan: Plan) -> Duration:
    """Return the estimated duration of a plan's runs, and a time limit for the sweep.

    A run adds 3 × its estimate to the limit, at most its timeout, and the time to write its scratch files. The limit
    also has the start time of pinsweep and is rounded up to a minute. The limit is not a guarantee. On a machine much
    slower than the estimates, timeouts end the runs one by one.
    """
    first = {run.cell.point_id: run for run in plan.runs}
    started = [*plan.warm_ups, *plan.runs]
    further = [(first[cell], number) for cell, number in plan.more.items() if cell in first]
    least = sum(run.estimate_s for run in started)
    limit = START_S + sum(map(_at_most, started)) + sum(number * _at_most(run) for run, number in further)
    limit += _fill_s(started)
    return Duration(
        least_s=least,
        most_s=least + sum(number * run.estimate_s for run, number in further),
        limit_s=60 * math.ceil(limit / 60),
    )


def _at_most(run: PlannedRun) -> float:
    spoilt = sum(write.size_bytes for write in run.writes if write.spoils)  # filled again for the next run
    return min(run.timeout_s, SLACK * max(run.estimate_s, run.guessed_at_most_s)) + RUN_S + spoilt / FILL_BYTES_PER_S


def _fill_s(runs: list[PlannedRun]) -> float:
    sizes = {file.path: file.size_bytes for run in runs for file in run.scratch if not file.folder}
    return sum(sizes.values()) / FILL_BYTES_PER_S
