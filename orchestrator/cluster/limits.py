"""How long the job of a host may last, and which jobs get less time than that."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from orchestrator.cluster.engine import Host, Submission
from orchestrator.cluster.folder import Sweep
from orchestrator.plan.duration import duration
from orchestrator.plan.prepare import PlanOptions, prepare

_MIN_MIN: Final = 5  # Python on a shared file system, kernels to compile
_SHAPE: Final = re.compile(r"([1-9]\d*):([1-9]\d*):([1-9]\d*)(?!\S)")  # Arm may report 0 sockets


def limit_min(kind: str, experiments: Sequence[Path], options: PlanOptions) -> int:
    """Return the minutes that hosts of a kind ("sockets:cores:threads …") keep within; 0 for an unknown shape.

    Raises UserError for a mistake in the experiments.
    """
    shape = _SHAPE.match(kind)
    if shape is None:
        return 0
    topology = "pack:{} numa:1 core:{} pu:{}".format(*shape.groups())
    prepared = prepare(experiments, dataclasses.replace(options, topology=topology, output=None), seed=0)
    return max(_MIN_MIN, math.ceil(duration(prepared.plan).limit_s / 60))


def warnings(
    jobs: Iterable[Submission],
    hosts: Mapping[str, Host],
    sweep: Sweep,
    requested_min: Callable[[Submission], int],
) -> dict[str, list[str]]:
    """Return warning → the hosts whose jobs get less time than their limit.

    `requested_min`: the minutes that a job asks for; 0: no bound.
    """
    hosts_of: dict[str, list[str]] = {}
    for job in jobs:
        host = hosts.get(job.host)
        needed = sweep.limits_min.get(host.kind, 0) if host else 0
        requested, allowed = requested_min(job), host.allowed_min if host else 0
        if allowed and requested > allowed:
            text = f"Slurm starts no job: it asks for {requested} min, the partition allows {allowed} (--sbatch -t)"
        elif requested and requested < needed:
            text = f"jobs end after {requested} min, and may need {needed} (--sbatch -t): `run -o` continues them"
        else:
            continue
        hosts_of.setdefault(text, []).append(job.host)
    return hosts_of
