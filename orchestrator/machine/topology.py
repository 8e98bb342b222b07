"""Describe a machine: packages, NUMA nodes, cores, PUs, caches, distances, devices. Pure.

CPU and NUMA node numbers are from the operating system. It has no core numbers that are unique on a machine.
`Core.index` is hwloc's logical index, counted along the tree (package by package), as `lstopo` prints it after `Core
L#`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from orchestrator.machine.cpulist import named_cpus

Cpus = frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PU:
    """A hardware thread, Linux's "CPU `os_index`". An offline PU has only its number."""

    os_index: int
    core: int | None  # Core.index
    package: int | None  # Package.index
    numa_node: int | None  # the node Linux counts it to
    kind: str = ""  # "performance" | "efficiency", or "kind 0" … from weak to strong; "" if all equal
    online: bool = True
    allowed: bool = True  # inside the cpuset and the affinity mask; never if offline


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    index: int  # hwloc's logical index over the whole machine
    cpus: tuple[int, ...]  # its PUs, sorted; allowed or not
    package: int
    numa_node: int | None
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    index: int  # the operating system's, if unique per package; otherwise counted from 0
    cpus: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumaNode:
    os_index: int
    cpus: tuple[int, ...]  # empty: memory only (CXL, HBM, GPU)
    near_cpus: tuple[int, ...]  # where it hangs in the tree; `cpus`, for an ordinary node
    memory_bytes: int | None  # 0: a node without memory; None: the description does not say
    kind: str = ""  # memory type in hwloc: "DRAM", "HBM"; "" if unknown
    allowed: bool = True

    @property
    def has_memory(self) -> bool:
        """Return whether the node has memory to allocate.

        An unknown size counts as memory, because descriptions omit sizes.
        """
        return self.memory_bytes != 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    level: int
    kind: str  # "unified" | "data" | "instruction"
    size_bytes: int | None
    cpus: tuple[int, ...]  # PUs that share it


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    name: str
    kind: str  # "block" | "net"
    numa_node: int | None  # None: the kernel does not say


@dataclass(frozen=True, kw_only=True)  # no slots: cached_property keeps its value in __dict__
class Topology:
    """A machine. Sequences are in index order, and cores in hwloc's order."""

    pus: tuple[PU, ...]
    cores: tuple[Core, ...]
    packages: tuple[Package, ...]
    numa_nodes: tuple[NumaNode, ...]
    caches: tuple[Cache, ...] = ()
    distances: Mapping[tuple[int, int], int] = dataclasses.field(default_factory=dict)
    """(from, to) → SLIT number, 10 is local. Not always symmetric; empty if unknown."""
    devices: tuple[Device, ...] = ()
    isolated: Cpus = frozenset()  # isolcpus=, or an isolated cpuset partition: the scheduler keeps off
    memory_limit_bytes: int | None = None  # limit of this process's cgroups, or None
    problem: str = ""  # why hwloc's description is missing, if lstopo is installed

    @cached_property
    def allowed_cpus(self) -> Cpus:
        """Return the PUs that this process may use: online, in its cpuset and in its affinity mask."""
        return frozenset(pu.os_index for pu in self.pus if pu.allowed)

    @property
    def memory_bytes(self) -> int | None:
        """Return the total memory of the NUMA nodes, or None if the size of a node is unknown."""
        known = [node.memory_bytes for node in self.numa_nodes]
        return None if None in known else sum(filter(None, known))

    @cached_property
    def allowed_nodes(self) -> frozenset[int]:
        """Return the NUMA nodes with memory that this process may use."""
        return frozenset(node.os_index for node in self.numa_nodes if node.allowed)

    @cached_property
    def core_of(self) -> Mapping[int, int]:
        """Return PU → index of its core, for every online PU."""
        return {cpu: core.index for core in self.cores for cpu in core.cpus}

    @cached_property
    def node_of(self) -> Mapping[int, int]:
        """Return PU → NUMA node of the PU in Linux."""
        return {pu.os_index: pu.numa_node for pu in self.pus if pu.numa_node is not None}

    def distance(self, start: int, end: int) -> int | None:
        """Return the SLIT number from a CPU's node to a memory's node, or None without distances."""
        return self.distances.get((start, end))

    def limited(self, cpus: Iterable[int] | None = None, nodes: Iterable[int] | None = None) -> Topology:
        """Return the same machine with at most these PUs and memory nodes allowed. None means no further limit."""
        return self.with_allowed(
            self.allowed_cpus if cpus is None else self.allowed_cpus & frozenset(cpus),
            self.allowed_nodes if nodes is None else self.allowed_nodes & frozenset(nodes),
        )

    def with_allowed(self, cpus: Cpus, nodes: frozenset[int] | None = None) -> Topology:
        """Return the same machine with exactly these PUs and memory nodes allowed. None does not change the nodes."""
        nodes = self.allowed_nodes if nodes is None else nodes
        return dataclasses.replace(
            self,
            pus=tuple(dataclasses.replace(pu, allowed=pu.os_index in cpus) for pu in self.pus),
            numa_nodes=tuple(dataclasses.replace(n, allowed=n.os_index in nodes) for n in self.numa_nodes),
        )

    def whole(self) -> Topology:
        """Return the same machine with all memory and every PU allowed, except offline and isolated ones."""
        usable = frozenset(pu.os_index for pu in self.pus if pu.online) - self.isolated
        return self.with_allowed(self.allowed_cpus | usable, frozenset(node.os_index for node in self.numa_nodes))

    def share(self) -> str:
        """Return "1 of 2 PUs (CPU 0)", and the same of the memory, if this process may not use all of the machine; else ""."""
        whole, parts = self.whole(), []
        if (count := len(self.allowed_cpus)) < len(whole.allowed_cpus):
            parts.append(f"{count} of {len(whole.allowed_cpus)} PUs ({named_cpus(self.allowed_cpus)})")
        if len(self.allowed_nodes) < len(whole.allowed_nodes):
            parts.append(f"the memory of {len(self.allowed_nodes)} of {len(whole.allowed_nodes)} NUMA nodes")
        return " and ".join(parts)

    def numbers(self) -> dict[str, int]:
        """Return the numbers for ranges in an experiment, within the limits of this process.

            packages, cores, pus                       with at least one allowed PU
            numa_nodes                                 with memory that is allowed
            cores_per_package, cores_per_numa_node,    the smallest over those with CPUs, so that a range
            pus_per_numa_node, pus_per_core            up to it fits everywhere
            L1, L2, L3                                 bytes of one data or unified cache, the largest there is
            LLC                                        bytes of the last-level caches of one package, summed;
                                                       the largest package
            memory, memory_per_numa_node               bytes; of all nodes, and of the smallest that has memory

        A size that the description does not give is left out.
        """
        allowed = self.allowed_cpus
        cores = [core for core in self.cores if allowed.intersection(core.cpus)]
        packages = [package for package in self.packages if allowed.intersection(package.cpus)]
        with_cpus = [node for node in self.numa_nodes if allowed.intersection(node.cpus)]
        with_memory = [node for node in self.numa_nodes if node.allowed and node.has_memory]

        def cores_in(group: Package | NumaNode) -> int:
            return len({self.core_of[cpu] for cpu in allowed.intersection(group.cpus) if cpu in self.core_of})

        numbers = {
            "packages": len(packages),
            "numa_nodes": len(with_memory),
            "cores": len(cores),
            "pus": len(allowed),
            "cores_per_package": min(map(cores_in, packages), default=0),
            "cores_per_numa_node": min(map(cores_in, with_cpus), default=0),
            "pus_per_core": min((len(allowed.intersection(core.cpus)) for core in cores), default=0),
            "pus_per_numa_node": min((len(allowed.intersection(node.cpus)) for node in with_cpus), default=0),
        }
        sized = [(c, c.size_bytes) for c in self.caches if c.kind != "instruction" and c.size_bytes]
        for level in (1, 2, 3):
            if sizes := [size for cache, size in sized if cache.level == level]:
                numbers[f"L{level}"] = max(sizes)
        if sized:
            last = max(cache.level for cache, _ in sized)
            package_of = {cpu: package.index for package in self.packages for cpu in package.cpus}
            summed = dict.fromkeys(package_of.values(), 0)
            for cache, size in sized:
                if cache.level == last:
                    for package in {package_of[cpu] for cpu in cache.cpus if cpu in package_of}:
                        summed[package] += size
            numbers["LLC"] = max(summed.values())
        known = [node.memory_bytes for node in with_memory if node.memory_bytes is not None]
        if known and len(known) == len(with_memory):
            limit = self.memory_limit_bytes
            numbers["memory"] = min(filter(None, (sum(known), limit)))
            numbers["memory_per_numa_node"] = min(filter(None, (*known, limit)))
        return numbers
