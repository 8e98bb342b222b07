"""How long the job of a host may last: for `sbatch -t`, and whether it is given that. I/O of the experiments; the machine is told by its kind."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.cluster.engine import Host, Submission
from orchestrator.cluster.folder import Sweep
from orchestrator.plan.duration import duration
from orchestrator.plan.prepare import PlanOptions, prepare

LEAST_MIN: Final = 5  # a venv on a shared file system, kernels to compile
_SHAPE: Final = re.compile(r"([1-9]\d*):([1-9]\d*):([1-9]\d*)(?!\S)")  # 0: a host that does not tell


@dataclass(frozen=True, slots=True, kw_only=True)
class Takes:
    """How long the sweep of a host takes, in minutes."""

    estimate_min: int
    limit_min: int  # with a margin: what it keeps within


def takes(kind: str, experiments: Sequence[Path], options: PlanOptions) -> Takes | None:
    """Return how long hosts of a kind ("sockets:cores:threads …") take; None where the shape is not known.

    Raises UserError for a mistake in the experiments.
    """
    shape = _SHAPE.match(kind)
    if shape is None:
        return None
    sockets, cores, threads = shape.groups()
    there = dataclasses.replace(
        options, topology=f"pack:{sockets} numa:1 core:{cores} pu:{threads}", output=None
    )
    found = duration(prepare(experiments, there, seed=0).plan)
    return Takes(
        estimate_min=math.ceil(found.most_s / 60), limit_min=max(LEAST_MIN, math.ceil(found.limit_s / 60))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Short:
    """Jobs that are given less time than they may take. All in minutes."""

    asked_min: int  # by each
    allowed_min: int  # by the partition; 0: no bound, or not known
    takes: Takes

    @property
    def text(self) -> str:
        takes = (
            f"reckoned to take {self.takes.estimate_min or '?'} min, {self.takes.limit_min} with its margin"
        )
        if self.allowed_min and self.asked_min > self.allowed_min:
            return (
                f"a job asks for {self.asked_min} min, and the partition allows {self.allowed_min}: Slurm starts none; it is {takes}:"
                f" --time={self.allowed_min} in --sbatch has it begin, and where it ends too early `run -o` goes on"
            )
        return f"a job is ended after {self.asked_min} min (--sbatch), and is {takes}: where it ends too early `run -o` goes on"


def short(
    jobs: Iterable[Submission],
    hosts: Mapping[str, Host],
    sweep: Sweep,
    asked_min: Callable[[Submission], int],
) -> dict[Short, list[str]]:
    """Return which jobs of a sweep are given less than their limit, with the hosts. `asked_min`: what a job asks for; 0: no bound. Pure."""
    found: dict[Short, list[str]] = {}
    for job in jobs:
        host = hosts.get(job.host)
        if host is None or host.kind not in sweep.limits_min:
            continue
        takes = Takes(
            estimate_min=sweep.estimates_min.get(host.kind, 0), limit_min=sweep.limits_min[host.kind]
        )
        asked, allowed = asked_min(job), host.allowed_min
        if 0 < min(filter(None, (asked, allowed)), default=0) < takes.limit_min:
            found.setdefault(Short(asked_min=asked, allowed_min=allowed, takes=takes), []).append(job.host)
    return found
