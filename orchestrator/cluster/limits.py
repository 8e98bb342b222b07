"""How long the job of a host may last: for `sbatch -t`. I/O of the experiments; the machine is told by its kind."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from orchestrator.plan.duration import duration
from orchestrator.plan.prepare import PlanOptions, prepare

LEAST_MIN: Final = 5  # a venv on a shared file system, kernels to compile
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
    return max(LEAST_MIN, math.ceil(duration(plan).limit_s / 60))
