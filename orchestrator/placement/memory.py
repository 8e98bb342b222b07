"""Where the memory of a cell is: the NUMA nodes that a place's words mean for a group of PUs, and what they are to it. Pure.

local                       the PUs' own
nearest                     of PUs whose own node has no memory
remote                      other CPUs' memory, in another package
remote, same package        other CPUs' memory, beside it: sub-NUMA clusters (SNC, NPS)
HBM, CPU-less, …            of a node without CPUs, by its kind; `…, other package` where another package is nearer to it
mixed                       partly local, or of several of these
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.machine.cpulist import format_cpulist
from orchestrator.machine.topology import NumaNode, Topology
from orchestrator.placement.selectors import Selector, Unplaceable, listed

REFUSAL_HINT = "docker run --cap-add SYS_NICE allows it; without it, use place: {memory: any}"
"""What helps where the kernel, or a container, refuses to bind memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The memory of one group of PUs: what it is to them, and the policy's NUMA nodes."""

    relation: str  # "" where nothing is claimed
    membind: tuple[int, ...] = ()
    interleave: tuple[int, ...] = ()


def memory_of(selector: Selector, cpus: Iterable[int], topology: Topology) -> Memory:
    """Return the memory of a group of PUs. Raises Unplaceable where this machine has no such memory."""
    if selector.kind == "any":
        return Memory(relation="")
    usable = {node.os_index for node in topology.numa_nodes if node.allowed and node.has_memory}
    if not usable:
        raise Unplaceable("no NUMA node with memory is allowed here")
    if selector.kind == "interleave":
        return Memory(relation="interleave", interleave=tuple(sorted(usable)))
    taken = set(cpus)
    homes = sorted({topology.node_of[cpu] for cpu in taken if cpu in topology.node_of})
    local = {home: _nearest(home, topology) for home in homes}
    nodes = set(local.values())
    homeless = sorted(taken - topology.node_of.keys())
    if homeless and selector.kind in ("local", "remote"):
        raise Unplaceable(f"{selector.kind} memory: PUs {format_cpulist(homeless)} belong to no NUMA node")
    match selector.kind:
        case "local":
            if not nodes <= usable:
                raise Unplaceable(
                    f"local memory: numa_node {listed(sorted(nodes - usable))} may not be used here; "
                    f"allowed: {format_cpulist(usable)}"
                )
            own = all(home == node for home, node in local.items())
            return Memory(relation="local" if own else "nearest", membind=tuple(sorted(nodes)))
        case "remote":
            others = usable - nodes
            if len(topology.numa_nodes) == 1:
                raise Unplaceable("remote memory: this machine has only one NUMA node")
            if not others:
                raise Unplaceable(
                    f"remote memory: every NUMA node whose memory may be used ({format_cpulist(usable)}) is local to "
                    f"PUs {format_cpulist(taken)}"
                )
            farthest = min(others, key=lambda node: _remoteness(node, homes, taken, topology))
            return Memory(relation=_relation([farthest], taken, topology), membind=(farthest,))
    wanted = set(selector.numbers)
    known = {node.os_index: node for node in topology.numa_nodes}
    for number in selector.numbers:
        if number not in known:
            raise Unplaceable(
                f"there is no numa_node {number}: this machine has numa_node {format_cpulist(known)}"
            )
        if number not in usable:
            why = "has no memory" if not known[number].has_memory else "may not be used here (cpuset)"
            raise Unplaceable(f"memory numa_node {number} {why}; usable: {format_cpulist(usable)}")
    if wanted == set(homes) and not homeless:
        relation = "local"
    else:
        relation = "mixed" if wanted & set(homes) else _relation(wanted, taken, topology)
    return Memory(relation=relation, membind=tuple(sorted(wanted)))


def beside(where: str, relation: str) -> str:
    """Return a pair's words with those of its memory: "same cache, remote memory in the same package"."""
    kind, _, package = relation.partition(", ")
    words = {"same package": " in the same package", "other package": " in another package"}
    return f"{where}, {kind} memory{words.get(package, '')}"


def memory_only(topology: Topology) -> tuple[NumaNode, ...]:
    """Return the NUMA nodes that have memory and no CPUs (HBM, CXL, a GPU's), whether they may be used or not."""
    return tuple(node for node in topology.numa_nodes if node.has_memory and not node.cpus)


def nearest_with_cpus(index: int, topology: Topology) -> tuple[int, ...]:
    """Return the NUMA nodes whose CPUs are nearest to a node's memory, itself if it has CPUs: by the distances, of equally near ones
    (all, where none are known) those where the node hangs in the tree of hwloc. Several where nothing tells them apart."""
    nodes = {node.os_index: node for node in topology.numa_nodes}
    node = nodes[index]
    if node.cpus:
        return (index,)
    with_cpus = [n for n, one in nodes.items() if one.cpus]
    far = {n: topology.distance(n, index) or 0 for n in with_cpus}
    close = [n for n in with_cpus if far[n] == min(far.values())]
    inside = [n for n in close if set(nodes[n].cpus) <= set(node.near_cpus)]
    return tuple(inside or close)


def undecided(topology: Topology) -> bool:
    """Tell whether "farthest" is a guess here: there are no distances, and several nodes to choose from."""
    return not topology.distances and sum(node.has_memory for node in topology.numa_nodes) > 2


def _remoteness(
    node: int, homes: Iterable[int], taken: Iterable[int], topology: Topology
) -> tuple[bool, bool, int, int]:
    """Return what sorts memory by how remote it is, the most remote first.

    Another package's before memory of another kind (a node without CPUs is nobody's own) and before a neighbour's in the same package,
    whatever the firmware says of distances; then the farthest.
    """
    cpus = {one.os_index: one.cpus for one in topology.numa_nodes}
    same = bool(_packages(cpus[node], topology) & _packages(taken, topology))
    return not cpus[node], same, -_distance(homes, node, topology), node


def _relation(nodes: Iterable[int], taken: Iterable[int], topology: Topology) -> str:
    """Return what memory that is not local is to a group of PUs; "mixed" of several kinds."""
    by_index = {node.os_index: node for node in topology.numa_nodes}
    there = _packages(taken, topology)
    kinds = set()
    for index in nodes:
        node = by_index[index]
        if node.cpus:
            kinds.add("remote, same package" if there <= _packages(node.cpus, topology) else "remote")
            continue
        near = (cpu for one in nearest_with_cpus(index, topology) for cpu in by_index[one].cpus)
        foreign = there.isdisjoint(_packages(near, topology))
        kinds.add(f"{node.kind or 'CPU-less'}{', other package' if foreign else ''}")
    return kinds.pop() if len(kinds) == 1 else "mixed"


def _packages(cpus: Iterable[int], topology: Topology) -> set[int]:
    wanted = set(cpus)
    return {package.index for package in topology.packages if not wanted.isdisjoint(package.cpus)}


def _nearest(home: int, topology: Topology) -> int:
    """Return the node whose memory is local to a node's PUs: itself, or the nearest if it has none."""
    by_index = {node.os_index: node for node in topology.numa_nodes}
    if by_index[home].has_memory:
        return home
    with_memory = [n.os_index for n in topology.numa_nodes if n.has_memory]
    return min(with_memory, key=lambda node: (_distance([home], node, topology), node))


def _distance(homes: Iterable[int], node: int, topology: Topology) -> int:
    """Return the distance from the nearest of some nodes; 0 where the machine has no distances."""
    return min((topology.distance(home, node) or 0 for home in homes), default=0)
