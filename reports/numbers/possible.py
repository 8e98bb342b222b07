"""Upper bounds of a machine, computed from facts about the parts. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from reports.numbers import formulas
from reports.results.model import Run


def module_peak(run: Run) -> float | None:
    """Return the peak rate (B/s) of the memory modules of a run's machine.

    Return None if the session did not record the modules. Return None also if the memory may be of
    another kind, as in a NUMA node without CPUs (HBM, CXL) or in a processor with HBM.
    """
    machine = run.session.topology
    nodes = {node for group in run.placed for node in (*group.membind, *group.interleave)}
    other = {n.os_index for n in machine.numa_nodes if not n.cpus and n.has_memory} if machine else set()
    if "CPU Max" in str(run.session.facts.get("cpu_model")) or other & (nodes or other):
        return None
    return formulas.dram_peak(run.session.memory_modules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """The place of a run on a machine. Runs with equal places used the same memory."""

    file: str
    host: str
    cpus: frozenset[int]  # NUMA nodes of the CPUs
    memory: frozenset[int]  # NUMA nodes of the memory


def spot(run: Run) -> Spot | None:
    """Return the place of a run. Captured output and unknown machines give None."""
    machine = run.session.topology
    if run.captured or machine is None or not machine.cores:
        return None
    every = frozenset(node.os_index for node in machine.numa_nodes if node.cpus)
    asking = frozenset(
        node for group in run.placed for cpu in group.cpus if (node := machine.node_of.get(cpu)) is not None
    )
    bound = frozenset(node for group in run.placed for node in (*group.membind, *group.interleave))
    asking = asking or every
    return Spot(file=run.file, host=run.host, cpus=asking, memory=bound or asking)


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """The peak rate of the memory behind a run."""

    rate: float  # B/s
    shared: bool  # the run used some NUMA nodes: a share of the modules, assumed as evenly distributed


def memory_peak(run: Run, node: int | None = None) -> Peak | None:
    """Return channels × MT/s × 8 B for the nodes whose memory the run used, or for one node.

    Return None if `module_peak` is None, or if the place is unknown on a machine with several nodes.
    """
    most, at, machine = module_peak(run), spot(run), run.session.topology
    if most is None:
        return None
    filled = frozenset(n.os_index for n in machine.numa_nodes if n.has_memory) if machine else frozenset()
    if len(filled) < 2:
        return Peak(rate=most, shared=False)
    memory = at.memory if at and node is None else frozenset({node})
    if at is None or not memory <= filled:
        return None
    return Peak(rate=most * len(memory) / len(filled), shared=memory != filled)
