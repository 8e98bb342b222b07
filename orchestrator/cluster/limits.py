"""How long the job of a host may last: for `sbatch -t`. I/O of the experiments; the machine is told by its kind."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from orchestrator.model import Plan
from orchestrator.plan.prepare import PlanOptions, prepare

_START_S: Final = 120.0  # a venv on a shared file system, kernels to compile, audit at the end
_FACTOR: Final = 3
LEAST_MIN: Final = 5
_SHAPE: Final = re.compile(r"(\d+):(\d+):(\d+)")


def limit_min(kind: str, experiments: Sequence[Path], options: PlanOptions) -> int:
    """Return an upper bound in minutes for hosts of a kind ("sockets:cores:threads …"); 0 where the shape is not known.

    Raises UserError for a mistake in the experiments.
    """
    shape = _SHAPE.match(kind)
    if shape is None:
        return 0
    sockets, cores, threads = shape.groups()
    there = dataclasses.replace(
        options, topology=f"pack:{sockets} numa:1 core:{cores} pu:{threads}", output=None
    )
    plan = prepare(experiments, there, seed=0).plan
    return max(LEAST_MIN, math.ceil((_START_S + longest_s(plan)) / 60))


def longest_s(plan: Plan) -> float:
    """Return what the runs of a plan may take at most: three times what they are thought to, and never more than they may."""
    return sum(
        min(run.timeout_s, _FACTOR * run.estimate_s)
        * (1 + (plan.more.get(run.cell.point_id, 0) if run.repeat == 1 else 0))
        for run in (*plan.warm_ups, *plan.runs)
    )
