"""Keep pinsweep off the tool's cores and off measured NUMA nodes while a tool runs.

`housekeeping_cpus` chooses the CPUs and is pure. `Waiting` moves the process. The watchdog, which starts the tools,
waits on the same CPUs. A tool gets pinsweep's original mask, because numactl refuses PUs outside of the mask that it
inherits ("cpu argument out of range").
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable
from typing import Self

from orchestrator.machine.topology import Topology
from orchestrator.model import Placement


def housekeeping_cpus(topology: Topology, placement: Placement, mask: Iterable[int]) -> frozenset[int]:
    """Return the PUs of pinsweep's `mask` that disturb a run least. Empty if there are none.

    The PUs of the run and their SMT siblings are excluded. PUs of NUMA nodes that are not measured come first, then PUs
    of nodes with only measured memory, then any PU. Isolated PUs are used only if no other PUs remain.
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
    """Bind this process to CPUs, and restore the old mask at the end. I/O.

    Use as a context manager. The process does not move if the cpuset no longer has the CPUs.
    """

    def __init__(self) -> None:
        self.mask = frozenset(os.sched_getaffinity(0))
        self._on = self.mask

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.move_to(self.mask)

    def move_to(self, cpus: Collection[int]) -> None:
        """Bind the process to `cpus`, or to the whole mask if empty.

        The call costs nothing if the process is already bound to them.
        """
        cpuset = frozenset(cpus) or self.mask
        if cpuset == self._on:
            return
        self._on = cpuset
        for thread in map(int, os.listdir("/proc/self/task")):  # noqa: PTH208 (numbers, not paths)
            with contextlib.suppress(OSError):  # the process has ended, or the cpuset has none of these CPUs
                os.sched_setaffinity(thread, cpuset)
