"""Find the NUMA nodes for the memory words of a place, and the relation between PUs and memory. Pure.

local                       memory of the PUs' node
nearest                     memory nearest to PUs whose node has none
remote                      memory of other CPUs, in another package
remote, same package        memory of other CPUs in the same package: sub-NUMA clusters (SNC, NPS)
HBM, CPU-less, …            of a node without CPUs, by its kind; `…, other package` if another package is nearer to it
mixed                       partly local, or of several of these
"""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.machine.cpulist import format_cpulist
from orchestrator.machine.topology import Cpus, NumaNode, Topology
from orchestrator.model import Group
from orchestrator.placement.selectors import Selector, Unplaceable, listed

REFUSAL_HINT = "docker run --cap-add SYS_NICE allows it; without it, use place: {memory: any}"
"""The next step if the kernel or a container refuses to bind memory."""


def group_with_memory(selector: Selector, cpus: tuple[int, ...], topology: Topology) -> tuple[Group, str]:
    """Return PUs with their memory and the relation between PUs and memory ("" if unknown).

    Raises Unplaceable if this machine has no such memory.
    """
    if selector.kind == "any":
        return Group(cpus=cpus), ""
    nodes = {node.os_index: node for node in topology.numa_nodes}
    usable = {index for index, node in nodes.items() if node.allowed and node.has_memory}
    if not usable:
        raise Unplaceable("no NUMA node with memory is allowed here")
    if selector.kind == "interleave":
        return Group(cpus=cpus, interleave=tuple(sorted(usable))), "interleave"
    pus = frozenset(cpus)
    homes = sorted({topology.node_of[cpu] for cpu in pus if cpu in topology.node_of})
    local = {_nearest(home, topology) for home in homes}
    homeless = pus - topology.node_of.keys()
    if homeless and selector.kind in ("local", "remote"):
        raise Unplaceable(f"{selector.kind} memory: PUs {format_cpulist(homeless)} belong to no NUMA node")
    if selector.kind == "local":
        if not local <= usable:
            raise Unplaceable(
                f"local memory: numa_node {listed(sorted(local - usable))} may not be used here; "
                f"allowed: {format_cpulist(usable)}"
            )
        relation = "local" if all(nodes[home].has_memory for home in homes) else "nearest"
        return Group(cpus=cpus, membind=tuple(sorted(local))), relation
    if selector.kind == "remote":
        if len(nodes) == 1:
            raise Unplaceable("remote memory: this machine has only one NUMA node")
        if not usable - local:
            raise Unplaceable(
                f"remote memory: every NUMA node with usable memory ({format_cpulist(usable)}) is local to "
                f"PUs {format_cpulist(pus)}"
            )
        farthest = min(usable - local, key=lambda node: _nearness(nodes[node], homes, pus, topology))
        return Group(cpus=cpus, membind=(farthest,)), _relation([farthest], pus, topology)
    for number in selector.numbers:
        if number not in nodes:
            raise Unplaceable(f"there is no numa_node {number}: this machine has numa_node {format_cpulist(nodes)}")
        if number not in usable:
            why = "may not be used here (cpuset)" if nodes[number].has_memory else "has no memory"
            raise Unplaceable(f"memory numa_node {number} {why}; usable: {format_cpulist(usable)}")
    chosen = set(selector.numbers)
    if chosen == set(homes) and not homeless:
        relation = "local"
    else:
        relation = "mixed" if chosen & set(homes) else _relation(chosen, pus, topology)
    return Group(cpus=cpus, membind=tuple(sorted(chosen))), relation


def pair_relation(pair: str, memory: str) -> str:
    """Return the relation of a pair and its memory: "same cache, remote memory in the same package"."""
    kind, _, package = memory.partition(", ")
    words = {"same package": " in the same package", "other package": " in another package"}
    return f"{pair}, {kind} memory{words.get(package, '')}"


def memory_only(topology: Topology) -> tuple[NumaNode, ...]:
    """Return the NUMA nodes that have memory and no CPUs (HBM, CXL, GPU memory), whether allowed or not."""
    return tuple(node for node in topology.numa_nodes if node.has_memory and not node.cpus)


def nearest_with_cpus(index: int, topology: Topology) -> tuple[int, ...]:
    """Return the NUMA nodes whose CPUs are nearest to a node's memory. A node with CPUs is its own nearest node.

    The nodes are chosen by distance. If several are equally near, or distances are unknown, nodes at the same place in
    hwloc's tree are preferred. Several nodes remain if nothing distinguishes them.
    """
    nodes = {node.os_index: node for node in topology.numa_nodes}
    if nodes[index].cpus:
        return (index,)
    distances = {n: topology.distance(n, index) or 0 for n, node in nodes.items() if node.cpus}
    close = [n for n, distance in distances.items() if distance == min(distances.values())]
    inside = [n for n in close if set(nodes[n].cpus) <= set(nodes[index].near_cpus)]
    return tuple(inside or close)


def undecided(topology: Topology) -> bool:
    """Return whether "farthest" is a guess here: there are no distances, and several nodes to choose from."""
    return not topology.distances and sum(node.has_memory for node in topology.numa_nodes) > 2


def _nearness(node: NumaNode, homes: Iterable[int], group: Cpus, topology: Topology) -> tuple[bool, bool, int, int]:
    """Return a key that sorts the most remote memory first.

    Memory of another package comes before memory of the same package, whatever the SLIT distances. Then the larger
    distance comes first. Memory of nodes without CPUs comes last, because the memory is not local to any PU.
    """
    is_same_package = not _packages(node.cpus, topology).isdisjoint(_packages(group, topology))
    return not node.cpus, is_same_package, -_distance(homes, node.os_index, topology), node.os_index


def _relation(indexes: Iterable[int], group: Cpus, topology: Topology) -> str:
    """Return what memory that is not local is to a group of PUs; "mixed" of several kinds."""
    nodes = {node.os_index: node for node in topology.numa_nodes}
    packages = _packages(group, topology)
    kinds = set()
    for node in (nodes[index] for index in indexes):
        if node.cpus:
            kinds.add("remote, same package" if packages <= _packages(node.cpus, topology) else "remote")
            continue
        near = {cpu for n in nearest_with_cpus(node.os_index, topology) for cpu in nodes[n].cpus}
        is_foreign = packages.isdisjoint(_packages(near, topology))
        kinds.add(f"{node.kind or 'CPU-less'}{', other package' if is_foreign else ''}")
    return kinds.pop() if len(kinds) == 1 else "mixed"


def _packages(cpus: Iterable[int], topology: Topology) -> set[int]:
    group = set(cpus)
    return {package.index for package in topology.packages if not group.isdisjoint(package.cpus)}


def _nearest(home: int, topology: Topology) -> int:
    """Return the node whose memory is local to a node's PUs: the node itself, or the nearest node with memory."""
    with_memory = [node.os_index for node in topology.numa_nodes if node.has_memory]
    if home in with_memory:
        return home
    return min(with_memory, key=lambda node: (_distance([home], node, topology), node))


def _distance(homes: Iterable[int], node: int, topology: Topology) -> int:
    """Return the distance from the nearest of some nodes, or 0 if the machine has no distances."""
    return min((topology.distance(home, node) or 0 for home in homes), default=0)
