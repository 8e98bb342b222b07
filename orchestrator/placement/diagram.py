"""Draw a placement as one line: the PUs on each NUMA node, and the memory. Pure."""

from __future__ import annotations

from orchestrator.machine.cpulist import format_cpulist
from orchestrator.machine.topology import Topology
from orchestrator.model import Placement

MAX_PUS = 64
"""PUs of a node that are drawn one by one; more are counted."""

_RANKS = "0123456789abcdefghijklmnopqrstuvwxyz"


def draw(placement: Placement, topology: Topology) -> str:
    """Return `node 0 ■■■·······◄  node 1 ··········`, with a sign per PU and ◄ at bound memory.

    With several processes, the sign of a PU is the number of its process. Nodes without PUs show only memory.
    """
    signs = {
        cpu: "■" if len(placement.groups) == 1 else _RANKS[rank % len(_RANKS)]
        for rank, group in enumerate(placement.groups)
        for cpu in group.cpus
    }
    bound = {node for group in placement.groups for node in (*group.membind, *group.interleave)}
    parts = []
    for node in topology.numa_nodes:
        if len(node.cpus) <= MAX_PUS:
            shown = "".join(signs.get(cpu, "·") for cpu in node.cpus)
        else:
            chosen = [cpu for cpu in node.cpus if cpu in signs]
            shown = f"{format_cpulist(chosen) or 'none'} of {len(node.cpus)} PUs "
        memory = "◄" if node.os_index in bound else ""
        if shown or memory:
            parts.append(f"node {node.os_index} {shown}{memory}".rstrip())
    return "  ".join(parts)
