"""Make a Topology from sets of CPUs. Any description of the same machine gives the same value. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.machine.topology import PU, Cache, Core, Cpus, Device, NumaNode, Package, Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    os_index: int
    cpus: Cpus  # where it hangs: for a memory-only node the PUs near it
    memory_bytes: int | None
    kind: str = ""


def assemble(
    *,
    cores: Sequence[Cpus],
    packages: Sequence[tuple[int | None, Cpus]],
    nodes: Sequence[Node],
    caches: Iterable[Cache] = (),
    distances: Mapping[tuple[int, int], int] | None = None,
    devices: Iterable[tuple[str, str, int | Cpus | None]] = (),
    allowed_cpus: Cpus | None = None,
    allowed_nodes: frozenset[int] | None = None,
    isolated: Cpus = frozenset(),
    offline: Cpus = frozenset(),
    kinds: Mapping[int, str] | None = None,
) -> Topology:
    """Return a Topology. `cores` are in hwloc's order. A device has a node, the PUs near it, or None.

    `allowed_cpus` and `allowed_nodes` of None are no limit.
    """
    kinds = kinds or {}
    pus = frozenset().union(*cores)
    numbered = _numbered(packages, pus)
    package_of = {cpu: index for index, cpus in numbered for cpu in cpus}
    nodes = nodes or [Node(os_index=0, cpus=pus, memory_bytes=None)]
    node_of = _owners(nodes, pus)
    core_of = {cpu: index for index, cpus in enumerate(cores) for cpu in cpus}
    allowed = pus if allowed_cpus is None else pus & allowed_cpus

    def sort(cpus: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted(cpus))

    return Topology(
        pus=tuple(
            PU(
                os_index=cpu,
                core=core_of.get(cpu),
                package=package_of.get(cpu),
                numa_node=node_of.get(cpu),
                kind=kinds.get(cpu, ""),
                online=cpu in pus,
                allowed=cpu in allowed,
            )
            for cpu in sorted(pus | offline)
        ),
        cores=tuple(
            Core(
                index=index,
                cpus=sort(cpus),
                package=package_of[min(cpus)],
                numa_node=node_of.get(min(cpus)),
                kind=kinds.get(min(cpus), ""),
            )
            for index, cpus in enumerate(cores)
        ),
        packages=tuple(Package(index=index, cpus=sort(cpus)) for index, cpus in sorted(numbered)),
        numa_nodes=tuple(
            NumaNode(
                os_index=node.os_index,
                cpus=sort(cpu for cpu, owner in node_of.items() if owner == node.os_index),
                near_cpus=sort(node.cpus & pus),
                memory_bytes=node.memory_bytes,
                kind=node.kind,
                allowed=allowed_nodes is None or node.os_index in allowed_nodes,
            )
            for node in sorted(nodes, key=lambda n: n.os_index)
        ),
        caches=tuple(sorted(caches, key=lambda c: (c.level, c.kind, c.cpus))),
        distances=dict(distances or {}),
        devices=tuple(
            Device(name=name, kind=kind, numa_node=_near(where, pus, node_of))
            for name, kind, where in sorted(devices, key=lambda d: (d[1], d[0]))
        ),
        isolated=isolated,
    )


def _numbered(packages: Sequence[tuple[int | None, Cpus]], pus: Cpus) -> list[tuple[int, Cpus]]:
    """Return the packages with PUs, and a package of the PUs without one.

    Packages are counted from 0 if a number is missing or duplicated.
    """
    known = [(index, cpus & pus) for index, cpus in packages if cpus & pus]
    bare = pus - frozenset().union(*(cpus for _, cpus in known))
    if bare:  # machines without packages (some Arm guests) are one
        known.append((None if known else 0, bare))
    numbered = [(index, cpus) for index, cpus in known if index is not None]
    if len({index for index, _ in numbered}) < len(known):
        return [(i, cpus) for i, (_, cpus) in enumerate(known)]
    return numbered


def _owners(nodes: Iterable[Node], pus: Cpus) -> dict[int, int]:
    """Return PU → NUMA node. Linux assigns a PU to one node.

    hwloc 2.x and later also assign the PUs near a memory-only node to that node. So the node with the fewest PUs wins,
    and the lowest number among equal sets, because firmware numbers memory-only nodes after nodes with CPUs.
    """
    node_of: dict[int, int] = {}
    for node in sorted(nodes, key=lambda n: (len(n.cpus & pus), n.os_index)):
        for cpu in (node.cpus & pus) - node_of.keys():
            node_of[cpu] = node.os_index
    return node_of


def _near(where: int | Cpus | None, pus: Cpus, node_of: Mapping[int, int]) -> int | None:
    """Return the node of a device: the given node, or the common node of all PUs near it.

    None if the PUs have several nodes.
    """
    if not isinstance(where, frozenset):
        return where
    near = {node_of.get(cpu) for cpu in where & pus}
    return near.pop() if len(near) == 1 else None


def in_tree_order(cores: Iterable[Cpus], around: Iterable[Cpus]) -> list[Cpus]:
    """Return the cores in hwloc's order, along the tree of all objects that contain cores.

    Each level is sorted by first PU.
    """
    sets = sorted(around, key=len, reverse=True)
    return sorted(cores, key=lambda core: [min(s) for s in sets if core <= s])


def name_kinds(cores: Iterable[tuple[str, int, Cpus]]) -> dict[int, str]:
    """Name PUs by (core type, capacity, PUs): {} if all are equal, two kinds by name, more by rank from weak to strong."""
    strength = {"IntelAtom": 0, "IntelCore": 1}
    groups: dict[tuple[int, int], Cpus] = {}
    for type_, capacity, cpus in cores:
        key = (strength.get(type_, 0), 0 if type_ in strength else capacity)
        groups[key] = groups.get(key, frozenset()) | cpus
    if len(groups) < 2:
        return {}
    names = ("efficiency", "performance") if len(groups) == 2 else [f"kind {i}" for i in range(len(groups))]
    return {cpu: name for name, (_, cpus) in zip(names, sorted(groups.items()), strict=True) for cpu in cpus}
