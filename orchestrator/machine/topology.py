"""What a machine looks like: packages, NUMA nodes, cores, PUs, caches, distances, devices. Pure: text in, value out.

A Topology comes from hwloc's XML (`lstopo --of xml`, any version), from hwloc's synthetic notation
(`pack:2 [numa] core:10 pu:1`) or from the files of /sys; all three go through `_assemble`, so that the same machine
gives the same value whoever described it.

CPU and NUMA node numbers are the operating system's. Cores have none that are unique over a machine: `Core.index`
is hwloc's logical index, counted along the tree (package by package), as `lstopo` prints it behind `Core L#`.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from xml.parsers import expat

from orchestrator.machine.cpulist import LARGEST, format_cpulist, parse_cpulist, parse_mask, parse_ordered
from parsers.errors import UserError
from parsers.measurement import Cell, Parsed

Cpus = frozenset[int]
DEEPEST: Final = 100  # levels of XML; hwloc's own trees, PCI bridges included, stay below 30

# hwloc's osdev_type: a number in 1.x and 2.x, a set of bits in 3.x. OpenFabrics adapters count as net: `near mlx5_0`.
OSDEV_BY_NUMBER: Final = {0: "block", 2: "net", 3: "net"}
OSDEV_BY_BIT: Final = {0: "block", 4: "net", 5: "net"}
# Memory that hwloc 2.x files under block devices
NOT_BLOCK: Final = ("SPM", "CXLMem", "NVM")


@dataclass(frozen=True, slots=True, kw_only=True)
class PU:
    """A hardware thread: Linux's "CPU `os_index`". Of an offline one the kernel says no more than its number."""

    os_index: int
    core: int | None  # Core.index
    package: int | None  # Package.index
    numa_node: int | None  # the node Linux counts it to
    kind: str = ""  # "performance" | "efficiency", or "kind 0" … from weak to strong; "" if all are alike
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
    index: int  # the operating system's, where every package has one of its own; else counted from 0
    cpus: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumaNode:
    os_index: int
    cpus: tuple[int, ...]  # empty: memory only (CXL, HBM, GPU)
    near_cpus: tuple[int, ...]  # where it hangs in the tree; `cpus`, for an ordinary node
    memory_bytes: int | None  # 0: a node without memory; None: the description does not say
    kind: str = ""  # of its memory, as hwloc has it: "DRAM", "HBM"; "" if it does not say
    allowed: bool = True

    @property
    def has_memory(self) -> bool:
        """Whether memory can be asked for here. An unknown size counts as memory: descriptions leave out sizes."""
        return self.memory_bytes != 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    level: int
    kind: str  # "unified" | "data" | "instruction"
    size_bytes: int | None
    cpus: tuple[int, ...]  # who shares it


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    name: str
    kind: str  # "block" | "net"
    numa_node: int | None  # None: the kernel does not say


@dataclass(frozen=True, kw_only=True)  # no slots: cached_property keeps its value in __dict__
class Topology:
    """A machine. Sequences are in the order of their index, cores in hwloc's."""

    pus: tuple[PU, ...]
    cores: tuple[Core, ...]
    packages: tuple[Package, ...]
    numa_nodes: tuple[NumaNode, ...]
    caches: tuple[Cache, ...] = ()
    distances: Mapping[tuple[int, int], int] = dataclasses.field(default_factory=dict)
    """(from, to) → SLIT number, 10 is local. Not always symmetric; empty if unknown."""
    devices: tuple[Device, ...] = ()
    isolated: Cpus = frozenset()  # isolcpus=, or an isolated cpuset partition: the scheduler keeps off

    @cached_property
    def allowed_cpus(self) -> Cpus:
        """PUs that this process may use: online, in its cpuset and in its affinity mask."""
        return frozenset(pu.os_index for pu in self.pus if pu.allowed)

    @cached_property
    def allowed_nodes(self) -> frozenset[int]:
        """NUMA nodes whose memory this process may use."""
        return frozenset(node.os_index for node in self.numa_nodes if node.allowed)

    @cached_property
    def core_of(self) -> Mapping[int, int]:
        """PU → index of its core; of every PU that is online."""
        return {cpu: core.index for core in self.cores for cpu in core.cpus}

    @cached_property
    def node_of(self) -> Mapping[int, int]:
        """PU → NUMA node that Linux counts it to."""
        return {pu.os_index: pu.numa_node for pu in self.pus if pu.numa_node is not None}

    def distance(self, start: int, end: int) -> int | None:
        """Return the SLIT number from a CPU's node to a memory's node, or None if the machine has none."""
        return self.distances.get((start, end))

    def limited(self, cpus: Iterable[int] | None = None, nodes: Iterable[int] | None = None) -> Topology:
        """Return the same machine with no more than these PUs and memory nodes allowed; None leaves them as they are."""
        inside = self.allowed_cpus if cpus is None else self.allowed_cpus & frozenset(cpus)
        usable = self.allowed_nodes if nodes is None else self.allowed_nodes & frozenset(nodes)
        return dataclasses.replace(
            self,
            pus=tuple(dataclasses.replace(pu, allowed=pu.os_index in inside) for pu in self.pus),
            numa_nodes=tuple(dataclasses.replace(n, allowed=n.os_index in usable) for n in self.numa_nodes),
        )

    def under(self, cpus: Cpus) -> Topology:
        """Return the same machine as a process sees it whose affinity mask is these PUs, be it narrower or wider than ours."""
        pus = tuple(dataclasses.replace(pu, allowed=pu.os_index in cpus) for pu in self.pus)
        return dataclasses.replace(self, pus=pus)

    def numbers(self) -> dict[str, int]:
        """Return the numbers that ranges in an experiment may use, of what this process is allowed to use.

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

        def cores_in(cpus: Sequence[int]) -> int:
            return sum(1 for core in cores if not allowed.intersection(core.cpus).isdisjoint(cpus))

        def smallest(counts: Iterable[int]) -> int:
            return min(counts, default=0)

        numbers = {
            "packages": len(packages),
            "numa_nodes": len(with_memory),
            "cores": len(cores),
            "pus": len(allowed),
            "cores_per_package": smallest(cores_in(package.cpus) for package in packages),
            "cores_per_numa_node": smallest(cores_in(node.cpus) for node in with_cpus),
            "pus_per_core": smallest(len(allowed.intersection(core.cpus)) for core in cores),
            "pus_per_numa_node": smallest(len(allowed.intersection(node.cpus)) for node in with_cpus),
        }
        sized = [c for c in self.caches if c.kind != "instruction" and c.size_bytes]
        for level in (1, 2, 3):
            sizes = [c.size_bytes or 0 for c in sized if c.level == level]
            if sizes:
                numbers[f"L{level}"] = max(sizes)
        if sized:
            last = max(c.level for c in sized)
            numbers["LLC"] = max(
                sum(
                    c.size_bytes or 0
                    for c in sized
                    if c.level == last and not frozenset(package.cpus).isdisjoint(c.cpus)
                )
                for package in self.packages
            )
        known = [node.memory_bytes for node in with_memory if node.memory_bytes is not None]
        if known and len(known) == len(with_memory):
            numbers["memory"] = sum(known)
            numbers["memory_per_numa_node"] = min(known)
        return numbers


def topology_from_text(text: str, place: str = "topology") -> Topology:
    """Read hwloc XML, a capture (`machine.capture`) or a synthetic description, whichever `text` is.

    `place` names it in errors (a path). Raises UserError if it is none of them.
    """
    start = text.lstrip("\ufeff \t\r\n")[:1]
    if start == "<":
        return topology_from_xml(text, place)
    if start == "{":
        return topology_from_capture(text, place)
    return topology_from_synthetic(text, place)


# --- one machine out of sets, whoever described them ---


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    os_index: int
    cpus: Cpus  # where it hangs: for a memory-only node the PUs near it
    memory_bytes: int | None
    kind: str = ""


def _assemble(
    *,
    cores: Sequence[Cpus],
    packages: Sequence[tuple[int | None, Cpus]],
    nodes: Sequence[_Node],
    caches: Iterable[Cache] = (),
    distances: Mapping[tuple[int, int], int] | None = None,
    devices: Iterable[tuple[str, str, int | Cpus | None]] = (),
    allowed_cpus: Cpus | None = None,
    allowed_nodes: frozenset[int] | None = None,
    isolated: Cpus = frozenset(),
    offline: Cpus = frozenset(),
    kinds: Mapping[int, str] | None = None,
) -> Topology:
    """Put a Topology together.

    `cores` stand in hwloc's order. `allowed_cpus` and `allowed_nodes` of None are no limit. A device has a node,
    or the PUs near it, or None.
    """
    kinds = kinds or {}
    pus = frozenset().union(*cores)
    packages = [(index, cpus & pus) for index, cpus in packages if cpus & pus]
    bare = pus - frozenset().union(*(cpus for _, cpus in packages))
    if bare:  # machines without packages (some Arm guests) are one
        packages = [*packages, (None if packages else 0, bare)]
    indexes = [index for index, _ in packages]
    if None in indexes or len(set(indexes)) < len(indexes):
        packages = [(i, cpus) for i, (_, cpus) in enumerate(packages)]
    package_of = {cpu: index for index, cpus in packages for cpu in cpus if index is not None}

    nodes = nodes or [_Node(os_index=0, cpus=pus, memory_bytes=None)]
    # Linux counts a PU to one node. hwloc 2.x and later give a memory-only node the PUs of the place where it hangs,
    # as if it had them: the smallest place wins, and of several nodes at one place the lowest number, because
    # firmware numbers memory-only nodes after those with CPUs.
    node_of: dict[int, int] = {}
    for node in sorted(nodes, key=lambda n: (len(n.cpus & pus), n.os_index)):
        for cpu in (node.cpus & pus) - node_of.keys():
            node_of[cpu] = node.os_index

    allowed = pus if allowed_cpus is None else pus & allowed_cpus
    core_of = {cpu: index for index, cpus in enumerate(cores) for cpu in cpus}

    def node_near(where: int | Cpus | None) -> int | None:
        if not isinstance(where, frozenset):
            return where
        near = {node_of.get(cpu) for cpu in where & pus}
        return near.pop() if len(near) == 1 else None

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
                cpus=tuple(sorted(cpus)),
                package=package_of[min(cpus)],
                numa_node=node_of.get(min(cpus)),
                kind=kinds.get(min(cpus), ""),
            )
            for index, cpus in enumerate(cores)
        ),
        packages=tuple(
            Package(index=index, cpus=tuple(sorted(cpus)))
            for index, cpus in sorted((i, c) for i, c in packages if i is not None)
        ),
        numa_nodes=tuple(
            NumaNode(
                os_index=node.os_index,
                cpus=tuple(sorted(cpu for cpu, owner in node_of.items() if owner == node.os_index)),
                near_cpus=tuple(sorted(node.cpus & pus)),
                memory_bytes=node.memory_bytes,
                kind=node.kind,
                allowed=allowed_nodes is None or node.os_index in allowed_nodes,
            )
            for node in sorted(nodes, key=lambda n: n.os_index)
        ),
        caches=tuple(sorted(caches, key=lambda c: (c.level, c.kind, c.cpus))),
        distances=dict(distances or {}),
        devices=tuple(
            Device(name=name, kind=kind, numa_node=node_near(where))
            for name, kind, where in sorted(devices, key=lambda d: (d[1], d[0]))
        ),
        isolated=isolated,
    )


# --- the kernel's own files ---

Files = Mapping[str, str]


def topology_from_files(files: Files, devices: Iterable[Device] = ()) -> Topology:
    """Read what the kernel says, without hwloc: the texts of files below /sys, by their path there.

    WANTED_FILES names them. Nothing is said about what this process is allowed to use: `limited` does that.

    Raises UserError if the files name no CPU.
    """
    try:
        return _from_files(files, devices)
    except (ValueError, IndexError) as error:
        raise UserError("/sys/devices/system", f"cannot be read: {error}") from error


WANTED_FILES: Final = (
    "devices/system/cpu/online",
    "devices/system/cpu/present",
    "devices/system/cpu/isolated",
    "devices/system/cpu/cpu[0-9]*/cpu_capacity",
    "devices/system/cpu/cpu[0-9]*/topology/physical_package_id",
    "devices/system/cpu/cpu[0-9]*/topology/*_list",
    "devices/system/cpu/cpu[0-9]*/cache/index[0-9]*/level",
    "devices/system/cpu/cpu[0-9]*/cache/index[0-9]*/type",
    "devices/system/cpu/cpu[0-9]*/cache/index[0-9]*/size",
    "devices/system/cpu/cpu[0-9]*/cache/index[0-9]*/shared_cpu_list",
    "devices/system/node/node[0-9]*/cpulist",
    "devices/system/node/node[0-9]*/distance",
    "devices/system/node/node[0-9]*/meminfo",
    "devices/cpu_core/cpus",
    "devices/cpu_atom/cpus",
)


def _from_files(files: Files, devices: Iterable[Device]) -> Topology:
    cpu_path, node_path = "devices/system/cpu", "devices/system/node"

    def cpulist(path: str) -> Cpus:
        return parse_cpulist(files.get(path, ""))

    described = _numbers_in(files, rf"{cpu_path}/cpu(\d+)/topology/")
    online = cpulist(f"{cpu_path}/online") or frozenset(described)
    if not online:
        raise ValueError("no CPU is online")

    def group(cpu: int, *names: str) -> Cpus:
        for name in names:
            members = cpulist(f"{cpu_path}/cpu{cpu}/topology/{name}") & online
            if cpu in members:
                return members
        return frozenset({cpu})

    cores = {group(cpu, "core_cpus_list", "thread_siblings_list") for cpu in online}
    packages: dict[Cpus, int] = {}
    for cpu in online:
        number = files.get(f"{cpu_path}/cpu{cpu}/topology/physical_package_id")
        if number is not None:  # some Arm guests have none: one package then
            packages[group(cpu, "package_cpus_list", "core_siblings_list")] = int(number)
    inner = {group(cpu, name) for cpu in online for name in ("die_cpus_list", "cluster_cpus_list")}

    nodes: list[_Node] = []
    numbers = _numbers_in(files, rf"{node_path}/node(\d+)/")
    distances: dict[tuple[int, int], int] = {}
    for node in numbers:
        memory = re.search(r"MemTotal:\s*(\d+) kB", files.get(f"{node_path}/node{node}/meminfo", ""))
        cpus = cpulist(f"{node_path}/node{node}/cpulist") & online
        nodes.append(_Node(os_index=node, cpus=cpus, memory_bytes=int(memory[1]) * 1024 if memory else None))
        row = [int(value) for value in files.get(f"{node_path}/node{node}/distance", "").split()]
        if len(row) == len(numbers):
            distances.update({(node, other): value for other, value in zip(numbers, row, strict=True)})

    caches: dict[tuple[int, str, Cpus], Cache] = {}
    for path, level in files.items():
        found = re.fullmatch(rf"({cpu_path}/cpu(\d+)/cache/index\d+)/level", path)
        if not found or int(found[2]) not in online:
            continue
        kind = files.get(f"{found[1]}/type", "Unified").strip().lower()
        shared = (cpulist(f"{found[1]}/shared_cpu_list") | {int(found[2])}) & online
        size = re.fullmatch(r"(\d+)K", files.get(f"{found[1]}/size", "").strip())
        caches[int(level), kind, shared] = Cache(
            level=int(level),
            kind=kind,
            size_bytes=int(size[1]) * 1024 or None if size else None,
            cpus=tuple(sorted(shared)),
        )

    around = {*cores, *packages, *inner, *(n.cpus for n in nodes), *(c[2] for c in caches)}
    kinds = [
        ("IntelCore", 0, cpulist("devices/cpu_core/cpus")),
        ("IntelAtom", 0, cpulist("devices/cpu_atom/cpus")),
    ]
    if not all(cpus for _, _, cpus in kinds):
        capacity = {cpu: files.get(f"{cpu_path}/cpu{cpu}/cpu_capacity", "") for cpu in online}
        kinds = [("", int(text), frozenset({cpu})) for cpu, text in capacity.items() if text.strip()]
    topology = _assemble(
        cores=in_tree_order(cores, around),
        packages=[
            (index if index >= 0 else None, cpus)
            for cpus, index in sorted(packages.items(), key=lambda p: min(p[0]))
        ],
        nodes=nodes,
        caches=caches.values(),
        distances=distances,
        isolated=cpulist(f"{cpu_path}/isolated"),
        offline=cpulist(f"{cpu_path}/present") - online,
        kinds=name_kinds(kinds),
    )
    return dataclasses.replace(topology, devices=tuple(sorted(devices, key=lambda d: (d.kind, d.name))))


def topology_from_capture(text: str, place: str = "capture") -> Topology:
    """Read what `machine.capture` wrote elsewhere: a JSON object with

        files       {path below /sys: text}, as `topology_from_files` takes them
        devices     [[name, kind, NUMA node or null]]
        hwloc       the XML of lstopo, or absent
        allowed     {"cpus": "0-3", "nodes": "0"}, or absent

    Raises UserError if it is something else.
    """
    try:
        capture = json.loads(text)
        devices = [Device(name=name, kind=kind, numa_node=node) for name, kind, node in capture["devices"]]
        system = _from_files(capture["files"], devices)
        allowed = {what: parse_cpulist(cpus) for what, cpus in capture.get("allowed", {}).items()}
        xml = capture.get("hwloc")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            place, f"not a capture of a machine: {error!r}", "`pinsweep doctor --capture DIR` writes one"
        ) from error
    topology = joined(topology_from_xml(xml, place), system) if xml else system
    return topology.limited(allowed.get("cpus"), allowed.get("nodes"))


def _numbers_in(files: Files, pattern: str) -> list[int]:
    return sorted({int(found[1]) for path in files if (found := re.match(pattern, path))})


def in_tree_order(cores: Iterable[Cpus], around: Iterable[Cpus]) -> list[Cpus]:
    """Order cores as hwloc numbers them: along the tree of everything that contains them, each level by its first PU."""
    sets = sorted(around, key=len, reverse=True)
    return sorted(cores, key=lambda core: [min(s) for s in sets if core <= s])


def joined(described: Topology, system: Topology) -> Topology:
    """Join what hwloc says (`described`) with what the kernel says (`system`) about the same machine.

    hwloc's cores, packages and caches; the kernel's NUMA nodes, distances, devices, offline and isolated PUs,
    because numactl goes by those: hwloc's XML does not tell which nodes have no CPUs, nor which have no memory.
    If the two do not even agree on the PUs that are online, the kernel's word is taken for everything.
    """
    if {p.os_index for p in described.pus if p.online} != {p.os_index for p in system.pus if p.online}:
        return system
    home = {pu.os_index: pu.numa_node for pu in system.pus}
    described_pus = {pu.os_index: pu for pu in described.pus}
    nodes = {node.os_index: node for node in described.numa_nodes}
    return dataclasses.replace(
        described,
        pus=tuple(
            dataclasses.replace(described_pus[pu.os_index], numa_node=pu.numa_node, allowed=pu.allowed)
            if pu.online
            else pu
            for pu in system.pus
        ),
        cores=tuple(dataclasses.replace(core, numa_node=home[core.cpus[0]]) for core in described.cores),
        numa_nodes=tuple(
            dataclasses.replace(node, near_cpus=known.near_cpus, kind=known.kind)
            if (known := nodes.get(node.os_index))
            else node
            for node in system.numa_nodes
        ),
        distances=system.distances or described.distances,
        devices=system.devices or described.devices,
        isolated=system.isolated,
    )


def disagreements(described: Topology, system: Topology) -> list[str]:
    """Say where hwloc (`described`) and the kernel (`system`) tell different things about one machine."""

    def sets(topology: Topology, what: str) -> set[tuple[int, ...]]:
        groups: Iterable[Core | Package | NumaNode] = getattr(topology, what)
        return {group.cpus for group in groups if group.cpus}

    found = []
    for what, words in (("cores", "cores"), ("packages", "packages"), ("numa_nodes", "NUMA nodes with CPUs")):
        ours, theirs = sets(described, what), sets(system, what)
        if ours != theirs:
            odd = min(ours ^ theirs)
            who = "only hwloc" if odd in ours else "only the kernel"
            found.append(
                f"{words}: hwloc has {len(ours)}, the kernel {len(theirs)}; {who} has PUs {format_cpulist(odd)} as one"
            )
    ids = [{node.os_index for node in t.numa_nodes} for t in (described, system)]
    if ids[0] != ids[1]:
        found.append(f"NUMA nodes: hwloc has {format_cpulist(ids[0])}, the kernel {format_cpulist(ids[1])}")
    return found


def numactl_disagreements(hardware: Parsed, system: Topology) -> list[str]:
    """Say where `numactl --hardware`, as its parser read it, tells something else than the kernel (`system`)."""
    if hardware.has("no_numa"):
        return ["numactl says that there is no NUMA support here: it will place nothing"]
    cpus: dict[int, set[int]] = {}
    distances: dict[tuple[int, int], int] = {}
    for row in hardware.measurements.records():
        node = _whole(row["node"])
        cpus.setdefault(node, set())
        if row["metric"] == "distance":
            distances[node, _whole(row["to"])] = _whole(row["value"])
    for row in hardware.tables["cpus"].records():
        cpus[_whole(row["node"])].add(_whole(row["cpu"]))
    ours = {node.os_index: set(node.cpus) for node in system.numa_nodes}
    found = []
    if cpus.keys() != ours.keys():
        found.append(f"NUMA nodes: numactl has {format_cpulist(cpus)}, the kernel {format_cpulist(ours)}")
    found += [
        f"numa_node {node}: numactl has CPUs {format_cpulist(cpus[node]) or 'none'}, "
        f"the kernel {format_cpulist(ours[node]) or 'none'}"
        for node in sorted(cpus.keys() & ours.keys())
        if cpus[node] != ours[node]
    ]
    found += [
        f"distance from {a} to {b}: numactl has {distances[a, b]}, the kernel {system.distances[a, b]}"
        for a, b in sorted(distances.keys() & system.distances.keys())
        if distances[a, b] != system.distances[a, b]
    ]
    return found


def _whole(cell: Cell) -> int:
    assert isinstance(cell, int | float)
    return int(cell)


# --- hwloc XML ---


def topology_from_xml(text: str, place: str = "topology") -> Topology:
    """Read what `lstopo --of xml` writes: hwloc 1.x, the 2017 development form, 2.x and 3.x.

    Raises UserError if the text is not XML, not hwloc's, or describes no PU.
    """
    root = _xml(text, place)
    machine = root.find("object")
    if root.tag != "topology" or machine is None:
        raise UserError(
            place, "XML, but not a topology that hwloc wrote", "write one with `lstopo --of xml FILE.xml`"
        )
    try:
        return _from_tree(root, machine)
    except (ValueError, KeyError) as error:
        raise UserError(
            place, f"hwloc XML that cannot be read: {error}", "write it anew with lstopo"
        ) from error


def _xml(text: str, place: str) -> ET.Element:
    """Parse XML without ever resolving an entity: a topology needs none, and an attack does."""
    builder = ET.TreeBuilder()
    parser = expat.ParserCreate()
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise UserError(
                place,
                f"XML nested more than {DEEPEST} levels deep is no topology",
                "write it with `lstopo --of xml FILE.xml`",
            )
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def entity(name: str, *_: object) -> None:
        raise UserError(
            place, f"declares the XML entity {name!r}", "a topology has none: remove it from the file"
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(text.lstrip("\ufeff \t\r\n"), True)
        return builder.close()
    except (expat.ExpatError, AssertionError, UnicodeEncodeError) as error:
        raise UserError(place, f"not XML: {error}", "write it with `lstopo --of xml FILE.xml`") from error


def _from_tree(root: ET.Element, machine: ET.Element) -> Topology:
    version = int(root.get("version", "1").split(".")[0])
    pus: list[int] = []
    core_sets: list[Cpus] = []
    packages: list[tuple[int | None, Cpus]] = []
    found_nodes: list[tuple[int, Cpus, str | None, str]] = []
    caches: list[Cache] = []
    devices: list[tuple[str, str, int | Cpus | None]] = []
    distances: dict[tuple[int, int], int] = {}

    def visit(element: ET.Element, near: Cpus) -> None:
        kind = element.get("type", "")
        cpus = _mask(element, "cpuset")
        near = cpus or near  # I/O objects have no cpuset of their own
        match kind:
            case "PU":
                pus.append(_os_index(element, "PU"))
            case "Core":
                core_sets.append(cpus or frozenset())
            case "Package" | "Socket":
                index = int(element.get("os_index", "-1"))
                packages.append((index if 0 <= index < 2**31 else None, cpus or frozenset()))
            case "NUMANode" | "Node":
                of_memory = element.get("local_memory"), element.get("subtype", "")
                found_nodes.append((_os_index(element, "NUMANode"), cpus or frozenset(), *of_memory))
            case "OSDev":
                device = _osdev_kind(element, version)
                if device:
                    devices.append((element.get("name", ""), device, near))
            case _ if kind == "Cache" or re.fullmatch(r"L\di?Cache", kind):
                size = int(element.get("cache_size", "0"))
                names = {"0": "unified", "1": "data", "2": "instruction"}
                caches.append(
                    Cache(
                        level=int(element.get("depth", "0")),
                        kind=names.get(element.get("cache_type", "0"), "unified"),
                        size_bytes=size or None,
                        cpus=tuple(sorted(cpus or ())),
                    )
                )
        for child in element:
            if child.tag == "object":
                visit(child, near)
            elif child.tag == "distances":
                distances.update(_distances_v1(child, element))

    visit(machine, frozenset())
    if not pus:
        raise ValueError("no PU in it")
    online = _mask(machine, "online_cpuset")  # 1.x keeps offline PUs in the tree of a whole system
    there = frozenset(pus) if online is None else frozenset(pus) & online
    coreless = there - frozenset().union(*core_sets)
    cores = [cpus & there for cpus in core_sets if cpus & there]
    # The order of the tree is hwloc's; PUs without a core object are a core each.
    rank = {cpu: i for i, cpu in enumerate(pus)}
    cores = sorted(
        [*cores, *(frozenset({cpu}) for cpu in coreless)], key=lambda c: min(rank[cpu] for cpu in c)
    )
    complete = _mask(machine, "complete_cpuset") or frozenset()

    for table in root.findall("distances2"):
        distances.update(_distances_v2(table))

    total = machine.get("local_memory") if not found_nodes else None
    nodes = [
        _Node(os_index=index, cpus=cpus, memory_bytes=memory, kind=kind)
        for (index, cpus, _, kind), memory in zip(
            found_nodes, _memory([n[2] for n in found_nodes]), strict=True
        )
    ] or [_Node(os_index=0, cpus=there, memory_bytes=None if total is None else int(total))]
    return _assemble(
        cores=cores,
        packages=packages,
        nodes=nodes,
        caches=[
            dataclasses.replace(c, cpus=tuple(cpu for cpu in c.cpus if cpu in there))
            for c in caches
            if c.level and not there.isdisjoint(c.cpus)
        ],
        distances=distances,
        devices=devices,
        allowed_cpus=_mask(machine, "allowed_cpuset") or None,  # an empty set was written for "unknown"
        allowed_nodes=_mask(machine, "allowed_nodeset") or None,
        offline=complete - there,
        kinds=_kinds(root),
    )


def _mask(element: ET.Element, name: str) -> Cpus | None:
    """Return a set of an object; None if it has none, or an infinite one."""
    text = element.get(name)
    return None if text is None else parse_mask(text)


def _os_index(element: ET.Element, kind: str) -> int:
    index = element.get("os_index")
    if index is None or not 0 <= int(index) < LARGEST:
        raise ValueError(f"a {kind} without a usable os_index ({index})")
    return int(index)


def _memory(written: Sequence[str | None]) -> list[int | None]:
    """Read the nodes' sizes. hwloc leaves out a size of 0; if all are left out, the sizes are unknown instead."""
    if all(size is None for size in written):
        return [None] * len(written)
    return [int(size or 0) for size in written]


def _osdev_kind(element: ET.Element, version: int) -> str | None:
    number = int(element.get("osdev_type", "-1"))
    if number < 0 or element.get("subtype") in NOT_BLOCK:
        return None
    if version >= 3:
        return next((kind for bit, kind in OSDEV_BY_BIT.items() if number >> bit & 1), None)
    return OSDEV_BY_NUMBER.get(number)


def _distances_v2(table: ET.Element) -> dict[tuple[int, int], int]:
    """Read hwloc 2.x's matrix of NUMA latencies; other matrices (bandwidths, GPUs) give {}."""
    means_latency = int(table.get("kind", "0")) & 4
    if (
        table.get("type") != "NUMANode"
        or table.get("indexing") != "os"
        or not means_latency
        or table.get("name", "NUMALatency") != "NUMALatency"
    ):
        return {}
    indexes = [int(i) for part in table.findall("indexes") for i in (part.text or "").split()]
    values = [int(v) for part in table.findall("u64values") for v in (part.text or "").split()]
    if len(values) != len(indexes) ** 2:
        raise ValueError(f"{len(values)} distances between {len(indexes)} NUMA nodes")
    return dict(zip(itertools.product(indexes, indexes), values, strict=True))


def _distances_v1(table: ET.Element, parent: ET.Element) -> dict[tuple[int, int], int]:
    """Read hwloc 1.x's matrix, which stands inside an object and counts in units of the local latency."""
    nodes = [_os_index(o, "NUMANode") for o in parent.iter("object") if o.get("type") in ("NUMANode", "Node")]
    if len(nodes) != int(table.get("nbobjs", "0")):
        return {}  # of other objects
    base = float(table.get("latency_base", "1"))
    values = [round(float(v.get("value", "0")) * base) for v in table.findall("latency")]
    if len(values) != len(nodes) ** 2:
        raise ValueError(f"{len(values)} distances between {len(nodes)} NUMA nodes")
    return dict(zip(itertools.product(nodes, nodes), values, strict=True))


def _kinds(root: ET.Element) -> dict[int, str]:
    """Name the kinds of cores, PU by PU.

    Only what makes cores different counts: Intel's CoreType and Arm's capacity. Maximum frequencies alone do not:
    servers have a few "favoured" cores a step above the others.
    """
    found: list[tuple[str, int, Cpus]] = []
    for element in root.findall("cpukind"):
        about = {info.get("name", ""): info.get("value", "") for info in element.findall("info")}
        type_ = about.get("CoreType", "")
        capacity = about.get("LinuxCapacity", "0")
        found.append(
            (type_, int(capacity) if capacity.isdigit() else 0, _mask(element, "cpuset") or frozenset())
        )
    return name_kinds(found)


def name_kinds(found: Iterable[tuple[str, int, Cpus]]) -> dict[int, str]:
    """Name PUs by (core type, capacity, PUs): {} if all are alike, two kinds by name, more by rank from weak to strong."""
    strength = {"IntelAtom": 0, "IntelCore": 1}
    groups: dict[tuple[int, int], Cpus] = {}
    for type_, capacity, cpus in found:
        key = (strength.get(type_, 0), 0 if type_ in strength else capacity)
        groups[key] = groups.get(key, frozenset()) | cpus
    names = ("efficiency", "performance") if len(groups) == 2 else [f"kind {i}" for i in range(len(groups))]
    if len(groups) < 2:
        return {}
    return {cpu: name for name, (_, cpus) in zip(names, sorted(groups.items()), strict=True) for cpu in cpus}


# --- hwloc's synthetic notation ---

_ATTRIBUTES = re.compile(r"\(([^()]*)\)")
_SIZE = re.compile(r"(\d+)([kKMGT]i?B)?")
_SIZE_UNITS: Final[Mapping[str, int]] = {
    "": 1,
    **{f"{p.upper()}B": 1000**i for i, p in enumerate("kMGT", 1)},
    **{f"{p.upper()}IB": 1024**i for i, p in enumerate("kMGT", 1)},
}
EXAMPLE: Final = "two packages of ten cores: `pack:2 [numa] core:10 pu:1`"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    """One word of a synthetic description. `count` is per object of the level above, `total` over the machine."""

    type: str  # "package" | "numa" | "core" | "pu" | "group" | "die" | "l1" … "l5" | "l1i" … "l3i"
    count: int
    total: int
    above: int  # objects of the level above: those that share an attached NUMA node
    attached: bool
    attributes: Mapping[str, str]


def topology_from_synthetic(text: str, place: str = "topology") -> Topology:
    """Read hwloc's synthetic notation: levels from the outside in, `type:count(attributes)`, PUs last.

        pack:2 [numa(memory=16GiB)] l3:1(size=32MiB) core:8 pu:2(indexes=pu:core)

    `[numa]` hangs one NUMA node at every object of the level before it, `numa:2` is a level of its own. Attributes:
    `memory` of a node, `size` of a cache, `indexes` of PUs and NUMA nodes (a list, loops `step*count:…`, or types,
    the fastest first). Sizes that are not given stay unknown, other than in hwloc, which makes them up.

    Raises UserError.
    """
    try:
        levels = _levels(text)
        return _from_levels(levels)
    except ValueError as error:
        raise UserError(
            place, f"neither hwloc XML nor a synthetic description: {error}", f"for example, {EXAMPLE}"
        ) from error


def _levels(text: str) -> list[_Level]:
    levels: list[_Level] = []
    total = 1
    rest = text.strip()
    if rest.startswith("("):  # attributes of the machine as a whole: none that matter here
        head = _ATTRIBUTES.match(rest)
        if not head:
            raise ValueError("a bracket that does not close")
        rest = rest[head.end() :].lstrip()
    if not rest:
        raise ValueError("it is empty")
    while rest:
        found = re.match(r"(\[\s*)?([A-Za-z]\w*)", rest)
        if not found:
            raise ValueError(f"expected a level such as `core:4` at {rest[:30]!r}")
        attached, type_ = bool(found[1]), _level_type(found[2])
        rest = rest[found.end() :]
        count = 1
        if not attached:
            number = re.match(r":(\d{1,6})(?!\d)", rest)
            if not number or not int(number[1]):
                raise ValueError(f"how many? expected `{found[2]}:COUNT`")
            count, rest = int(number[1]), rest[number.end() :]
        attributes: dict[str, str] = {}
        if rest.startswith("("):
            group = _ATTRIBUTES.match(rest)
            if not group:
                raise ValueError(f"a bracket that does not close: {rest[:30]!r}")
            attributes = _attributes(group[1])
            rest = rest[group.end() :]
        if attached:
            if type_ != "numa":
                raise ValueError(f"only NUMA nodes can stand in [ ], not {found[2]!r}")
            if not rest.startswith("]"):
                raise ValueError("a [ that does not close")
            rest = rest[1:]
        if rest and not rest[0].isspace() and rest[0] != "[":
            raise ValueError(f"unexpected {rest[:20]!r}")
        rest = rest.lstrip()
        if type_ != "group" and any(x.type == type_ and not (x.attached and attached) for x in levels):
            raise ValueError(f"{type_} stands twice")
        if levels and levels[-1].type == "pu":
            raise ValueError("PUs come last")
        above = total
        total *= count
        if total > LARGEST:
            raise ValueError(f"more than {LARGEST} objects")
        levels.append(
            _Level(
                type=type_, count=count, total=total, above=above, attached=attached, attributes=attributes
            )
        )
    if levels[-1].type != "pu":
        raise ValueError("the last level is not pu")
    return levels


def _level_type(word: str) -> str:
    """Return our name of a type; hwloc takes any beginning of its names, in upper or lower case."""
    lower = word.lower()
    cache = re.fullmatch(r"l([1-5])([iud]?)(?:c|ca|cac|cach|cache)?", lower)
    if cache:
        return f"l{cache[1]}{'i' if cache[2] == 'i' else ''}"
    for name, shortest, ours in (
        ("package", 2, "package"),
        ("socket", 2, "package"),
        ("numanode", 2, "numa"),
        ("node", 2, "numa"),
        ("core", 2, "core"),
        ("pu", 2, "pu"),
        ("die", 2, "die"),
        ("group", 2, "group"),
    ):
        if len(lower) >= shortest and name.startswith(lower):
            return ours
    raise ValueError(f"{word!r} is no type of level (pack, numa, die, l1 to l5, core, pu, group)")


def _attributes(text: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for word in text.split():
        key, equals, value = word.partition("=")
        if not equals or not value:
            raise ValueError(f"{word!r} is no attribute: write name=value")
        pairs[key] = value
    return pairs


def _from_levels(levels: Sequence[_Level]) -> Topology:
    count = levels[-1].total
    numbering = _indexes(levels[-1], levels)

    def sets(total: int) -> list[Cpus]:
        share = count // total
        return [frozenset(numbering[i * share : (i + 1) * share]) for i in range(total)]

    cores = next((sets(level.total) for level in levels if level.type == "core"), None)
    packages = next((sets(level.total) for level in levels if level.type == "package"), [])
    nodes: list[_Node] = []
    attached = [level for level in levels if level.type == "numa"]
    # hwloc numbers all nodes in the order of the tree: those of one place follow each other,
    # and come before those of the wider place that ends with it.
    places = sorted(
        (
            ((i + 1) * (count // n), -n, order, level, cpus)
            for order, level in enumerate(attached)
            for n in [level.above if level.attached else level.total]
            for i, cpus in enumerate(sets(n))
        ),
        key=lambda p: p[:3],
    )
    own = next((level for level in attached if "indexes" in level.attributes), None)
    ids = _indexes(own, levels) if own and len(attached) == 1 else tuple(range(len(places)))
    for index, (_, _, _, level, cpus) in zip(ids, places, strict=True):
        memory = level.attributes.get("memory")
        nodes.append(_Node(os_index=index, cpus=cpus, memory_bytes=None if memory is None else _size(memory)))
    caches = [
        Cache(
            level=int(level.type[1]),
            kind="instruction" if level.type.endswith("i") else "data" if level.type == "l1" else "unified",
            size_bytes=_size(level.attributes["size"]) if "size" in level.attributes else None,
            cpus=tuple(sorted(cpus)),
        )
        for level in levels
        if re.fullmatch(r"l\di?", level.type)
        for cpus in sets(level.total)
    ]
    return _assemble(
        cores=cores or [frozenset({cpu}) for cpu in numbering],
        packages=list(enumerate(packages)),
        nodes=nodes,
        caches=caches,
    )


def _size(text: str) -> int:
    found = _SIZE.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} is no size (4096, 512MiB, 16GB)")
    return int(found[1]) * _SIZE_UNITS[(found[2] or "").upper()]


def _indexes(level: _Level, levels: Sequence[_Level]) -> tuple[int, ...]:
    """Return the OS index of every object of a level, in the order of the tree.

    `indexes` is a list of them, or loops, the fastest first: `8*2:1*8` numbers one object in each half in turn;
    `pack:core` says the same in names (how far apart such objects are, how many in the next one named above).
    """
    total = level.above if level.attached else level.total
    text = level.attributes.get("indexes")
    if text is None:
        return tuple(range(total))
    wrong = ValueError(f"indexes={text} do not number {total} objects once each")
    if re.fullmatch(r"[\d,]+", text):
        given = parse_ordered(text)
        if len(given) != total or len(set(given)) != total:
            raise wrong
        return given
    if re.fullmatch(r"\d+\*\d+(:\d+\*\d+)*", text):
        loops = [(int(step), int(n)) for step, n in (part.split("*") for part in text.split(":"))]
    else:
        named = [_named_level(word, levels) for word in text.split(":")]
        totals = {
            depth: levels[depth].above if levels[depth].attached else levels[depth].total for depth in named
        }
        if any(n > total or total % n for n in totals.values()):
            raise wrong
        loops = []
        for depth in named:
            outer = max((other for other in totals if other < depth), default=None)
            loops.append((total // totals[depth], totals[depth] // (1 if outer is None else totals[outer])))
    covered = math.prod(n for _, n in loops)
    if not covered or total % covered:
        raise wrong
    loops.append((1, total // covered))
    position_of = []
    for index in range(total):
        position = 0
        for step, n in loops:
            index, turn = divmod(index, n)
            position += turn * step
        position_of.append(position)
    if sorted(position_of) != list(range(total)):
        raise wrong
    order = {position: index for index, position in enumerate(position_of)}
    return tuple(order[position] for position in range(total))


def _named_level(word: str, levels: Sequence[_Level]) -> int:
    type_ = _level_type(word)
    for depth, level in enumerate(levels):
        if level.type == type_:
            return depth
    raise ValueError(f"indexes: there is no level {word!r}")
