"""Where pinsweep itself waits while a tool runs: off the tool's cores, and off the NUMA nodes that are measured.

`housekeeping_cpus` decides and is pure; `Waiting` moves. The watchdog, which starts the tools, waits on the same CPUs,
but gives a tool the mask that pinsweep was given: numactl refuses PUs outside of the mask that it inherits ("cpu argument
out of range").
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable
from typing import Self

from orchestrator.machine.topology import Topology
from orchestrator.model import Placement


def housekeeping_cpus(topology: Topology, placement: Placement, mask: Iterable[int]) -> frozenset[int]:
    """Return the PUs of `mask` (those that pinsweep may use) that disturb a run least; empty: there is nowhere to go.

    Never a PU of the run nor an SMT sibling of one. Of the others those of NUMA nodes that are not measured at all,
    else of nodes that lend memory but no PUs, else any; isolated PUs only where there are no others.
    """
    busy = {topology.core_of.get(cpu) for cpu in placement.cpus}
    free = {cpu for cpu in mask if topology.core_of.get(cpu) not in {None, *busy}}
    free = free - topology.isolated or free
    running = {topology.node_of.get(cpu) for cpu in placement.cpus}
    lending = {node for group in placement.groups for node in (*group.membind, *group.interleave)}
    for measured in (running | lending, running):
        if away := {cpu for cpu in free if topology.node_of.get(cpu) not in measured}:
            return frozenset(away)
    return frozenset(free)


class Waiting:
    """Keeps this process to given CPUs; at the end it has its old mask again. I/O.

    Use as a context manager. The process stays where it is if the cpuset no longer has the CPUs.
    """

    def __init__(self) -> None:
        self.mask = frozenset(os.sched_getaffinity(0))
        self._on = self.mask

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.move_to(self.mask)

    def move_to(self, cpus: Collection[int]) -> None:
        """Keep to `cpus`; none: the whole mask. Where it is kept to them already, that costs nothing."""
        cpuset = frozenset(cpus) or self.mask
        if cpuset == self._on:
            return
        self._on = cpuset
        for thread in map(int, os.listdir("/proc/self/task")):  # noqa: PTH208 (numbers, not paths)
            with contextlib.suppress(OSError):  # it ended meanwhile, or none of these CPUs is left to us
                os.sched_setaffinity(thread, cpuset)
