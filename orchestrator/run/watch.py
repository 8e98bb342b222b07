"""Read the machine's counters before and after each run, for `orchestrator.run.disturbance`. I/O."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from orchestrator.machine import cgroups
from orchestrator.machine.counters import Counters, Disk, Reading, between
from orchestrator.machine.topology import Topology
from orchestrator.model import Outcome, Placement, PlannedRun
from orchestrator.run.disturbance import Reason, Watched, irq_share, reasons, stored
from orchestrator.tools import get_tool
from parsers.units import size_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The counters of a run, and the disturbances."""

    reasons: tuple[Reason, ...] = ()
    counters: dict[str, Any] = field(default_factory=dict)  # as the result file stores them
    out_of_memory: str = ""  # why the run failed, if the kernel killed one of its processes

    @property
    def texts(self) -> list[str]:
        return [reason.text for reason in self.reasons]


class Watch:
    """Read the counters. Call `begin` right before a run starts and `end` right after it. There are no reads during a
    run.
    """

    def __init__(self, counters: Counters, topology: Topology) -> None:
        self._counters = counters
        self._topology = topology
        self._before: Reading | None = None
        self._irq: dict[str, list[float]] = {}  # cell → share of interrupts in each of its runs

    def begin(self, run: PlannedRun, watchdog: int) -> None:
        """Read the counters. `watchdog` is the process that will start the run."""
        self._before = self._counters.read(run.placement.cpus if run.placement else (), watchdog)

    def end(self, run: PlannedRun, outcome: Outcome, watchdog: int) -> Evidence:
        """Read the counters again and judge; no evidence of a run that did not begin."""
        before, self._before = self._before, None
        if before is None or not outcome.usage:
            return Evidence()
        cpus = run.placement.cpus if run.placement else ()
        after = self._counters.read(cpus, watchdog)
        disks = dict(self._disks(run))
        watched = Watched(
            wall_s=outcome.wall_s, span_s=outcome.span_s, user_s=outcome.usage.get("user_s", 0.0),
            system_s=outcome.usage.get("system_s", 0.0), stops=outcome.stops, stopped_s=outcome.stopped_s, cpus=cpus,
            neighbours=neighbours(self._topology, run.placement) if run.placement else (), memory_bound=get_tool(run.tool).MEMORY_BOUND,
            computing=get_tool(run.tool).busy_threads(run.cell.options), disks=disks,
            unit_bytes=min((write.unit_bytes for write in run.writes if write.unit_bytes), default=0),
            usual_irq=tuple(self._irq.get(run.cell.point_id, ())),
        )  # fmt: skip
        watched_cpus = (*cpus, *watched.neighbours) or tuple(self._topology.core_of)
        changes = between(before, after, cpus=watched_cpus, disks=disks)
        matches = reasons(changes, watched)
        share = irq_share(changes, watched)
        if share is not None and not run.warm_up:
            self._irq.setdefault(run.cell.point_id, []).append(share)
        failed = outcome.signal is not None or bool(outcome.exit_code)
        killed = out_of_memory(outcome, changes.totals.get("oom_kills"), cgroups.memory()) if failed else ""
        return Evidence(reasons=matches, counters=stored(changes, watched, matches), out_of_memory=killed)

    def _disks(self, run: PlannedRun) -> Iterator[Disk]:
        """Yield the disks of a run's files, and the devices in its command."""
        paths = [file.path for file in run.scratch if file.text is None]
        paths += [write.path for write in run.writes]
        paths += [value for word in run.argv if (value := word.rpartition("=")[2]).startswith("/dev/")]
        for path in dict.fromkeys(paths):
            if disk := self._counters.disk_of(path) or self._counters.disk_of(os.path.dirname(path)):  # noqa: PTH120
                yield disk


def out_of_memory(outcome: Outcome, kills: float | None, memory: cgroups.Memory | None) -> str:
    """Return the reason of a failed run if the kernel killed a process for memory, or "". `kills`: None if not counted."""
    if not kills and not (kills is None and outcome.signal == signal.SIGKILL and memory):
        return ""
    limit = f" (limit {size_text(memory.limit)})" if memory else ""
    return f"killed by the kernel: out of memory{limit}"


def neighbours(topology: Topology, placement: Placement) -> tuple[int, ...]:
    """Return the other CPUs of the NUMA nodes with the run's CPUs or memory."""
    cpus = frozenset(placement.cpus)
    nodes = {topology.node_of.get(cpu) for cpu in cpus}
    nodes |= {node for group in placement.groups for node in (*group.membind, *group.interleave)}
    return tuple(sorted(cpu for cpu, node in topology.node_of.items() if node in nodes and cpu not in cpus))
