"""A Topology from hwloc's XML, `lstopo --of xml` of any version. Pure."""

from __future__ import annotations

import dataclasses
import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from orchestrator.machine.assemble import Node, assemble, name_kinds
from orchestrator.machine.cpulist import MAX_INDEX, parse_mask
from orchestrator.machine.topology import Cache, Cpus, Topology
from parsers.errors import UserError

HINT: Final = "write it with `lstopo --of xml FILE.xml`"

# hwloc's osdev_type: a number in 1.x and 2.x, a set of bits in 3.x. OpenFabrics adapters count as net: `near mlx5_0`.
_OSDEV_BY_NUMBER: Final = {0: "block", 2: "net", 3: "net"}
_OSDEV_BY_BIT: Final = {0: "block", 4: "net", 5: "net"}

# Memory that hwloc 2.x files under block devices
_NOT_BLOCK: Final = ("SPM", "CXLMem", "NVM")

_CACHE_KINDS: Final = {"1": "data", "2": "instruction"}


def topology_from_xml(text: str, place: str = "topology") -> Topology:
    """Read what `lstopo --of xml` writes: hwloc 1.x, the 2017 development form, 2.x and 3.x.

    Raises UserError if the text is not XML, not hwloc's, or describes no PU.
    """
    if entity := re.search(r"<!ENTITY\s+(\S+)", text):  # a topology needs none, and an attack does
        raise UserError(place, f"declares the XML entity {entity[1]!r}", "remove it: a topology has none")
    try:
        root = ET.fromstring(text.lstrip("\ufeff \t\r\n"))
    except (ET.ParseError, UnicodeEncodeError) as error:
        raise UserError(place, f"not XML: {error}", HINT) from error
    machine = root.find("object")
    if root.tag != "topology" or machine is None:
        raise UserError(place, "XML, but not a topology that hwloc wrote", HINT)
    try:
        return _from_tree(root, machine)
    except (ValueError, RecursionError) as error:
        raise UserError(place, f"hwloc XML that cannot be read: {error}", HINT) from error


@dataclass(slots=True)
class _Tree:
    """The content of the tree of objects, in its order, which is hwloc's."""

    version: int
    pus: list[int] = field(default_factory=list)
    cores: list[Cpus] = field(default_factory=list)
    packages: list[tuple[int | None, Cpus]] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    caches: list[Cache] = field(default_factory=list)
    devices: list[tuple[str, str, int | Cpus | None]] = field(default_factory=list)
    distances: dict[tuple[int, int], int] = field(default_factory=dict)

    def visit(self, element: ET.Element, near: Cpus = frozenset()) -> None:
        """Add an object and all below it. `near`: the PUs of the object around it."""
        cpus = _mask(element, "cpuset") or frozenset()
        near = cpus or near  # I/O objects have no cpuset
        match element.get("type", ""):
            case "PU":
                self.pus.append(_os_index(element, "PU"))
            case "Core":
                self.cores.append(cpus)
            case "Package" | "Socket":
                index = int(element.get("os_index", "-1"))
                self.packages.append((index if 0 <= index < 2**31 else None, cpus))
            case "NUMANode" | "Node":
                memory = element.get("local_memory")
                self.nodes.append(
                    Node(
                        os_index=_os_index(element, "NUMANode"),
                        cpus=cpus,
                        memory_bytes=None if memory is None else int(memory),
                        kind=element.get("subtype", ""),
                    )
                )
            case "OSDev":
                if device := _osdev_kind(element, self.version):
                    self.devices.append((element.get("name", ""), device, near))
            case kind if kind == "Cache" or re.fullmatch(r"L\di?Cache", kind):
                self.caches.append(
                    Cache(
                        level=int(element.get("depth", "0")),
                        kind=_CACHE_KINDS.get(element.get("cache_type", "0"), "unified"),
                        size_bytes=int(element.get("cache_size", "0")) or None,
                        cpus=tuple(sorted(cpus)),
                    )
                )
        for child in element:
            if child.tag == "object":
                self.visit(child, near)
            elif child.tag == "distances":
                self.distances.update(_distances_v1(child, element))


def _from_tree(root: ET.Element, machine: ET.Element) -> Topology:
    tree = _Tree(int(root.get("version", "1").split(".")[0]))
    tree.visit(machine)
    if not tree.pus:
        raise ValueError("no PU in it")
    mask = _mask(machine, "online_cpuset")  # 1.x keeps offline PUs in the tree of a whole system
    online = frozenset(tree.pus) if mask is None else frozenset(tree.pus) & mask
    for table in root.findall("distances2"):
        tree.distances.update(_distances_v2(table))
    return assemble(
        cores=_cores(tree, online),
        packages=tree.packages,
        nodes=_nodes(tree, online, machine.get("local_memory")),
        caches=[
            dataclasses.replace(c, cpus=tuple(cpu for cpu in c.cpus if cpu in online))
            for c in tree.caches
            if c.level and not online.isdisjoint(c.cpus)
        ],
        distances=tree.distances,
        devices=tree.devices,
        allowed_cpus=_mask(machine, "allowed_cpuset") or None,  # an empty set was written for "unknown"
        allowed_nodes=_mask(machine, "allowed_nodeset") or None,
        offline=(_mask(machine, "complete_cpuset") or frozenset()) - online,
        kinds=_kinds(root),
    )


def _cores(tree: _Tree, online: Cpus) -> list[Cpus]:
    """Return the cores in the order of the tree; PUs without a core object are a core each."""
    coreless = online - frozenset().union(*tree.cores)
    cores = [
        *(cpus & online for cpus in tree.cores if cpus & online),
        *(frozenset({cpu}) for cpu in coreless),
    ]
    rank = {cpu: i for i, cpu in enumerate(tree.pus)}
    return sorted(cores, key=lambda core: min(rank[cpu] for cpu in core))


def _nodes(tree: _Tree, online: Cpus, total: str | None) -> list[Node]:
    """Return the NUMA nodes; one of all PUs with the machine's `total` memory if the tree has none.

    hwloc leaves out a size of 0; if it leaves out all sizes, they are unknown instead.
    """
    if not tree.nodes:
        return [Node(os_index=0, cpus=online, memory_bytes=None if total is None else int(total))]
    if all(node.memory_bytes is None for node in tree.nodes):
        return tree.nodes
    return [dataclasses.replace(node, memory_bytes=node.memory_bytes or 0) for node in tree.nodes]


def _mask(element: ET.Element, name: str) -> Cpus | None:
    """Return a set of an object; None if it has none, or an infinite one."""
    text = element.get(name)
    return None if text is None else parse_mask(text)


def _os_index(element: ET.Element, kind: str) -> int:
    index = element.get("os_index")
    if index is None or not 0 <= int(index) < MAX_INDEX:
        raise ValueError(f"a {kind} without a usable os_index ({index})")
    return int(index)


def _osdev_kind(element: ET.Element, version: int) -> str | None:
    number = int(element.get("osdev_type", "-1"))
    if number < 0 or element.get("subtype") in _NOT_BLOCK:
        return None
    if version >= 3:
        return next((kind for bit, kind in _OSDEV_BY_BIT.items() if number >> bit & 1), None)
    return _OSDEV_BY_NUMBER.get(number)


def _distances_v2(table: ET.Element) -> dict[tuple[int, int], int]:
    """Read hwloc 2.x's matrix of NUMA latencies; other matrices (bandwidths, GPUs) give {}."""
    marks = table.get("type"), table.get("indexing"), table.get("name", "NUMALatency")
    means_latency = int(table.get("kind", "0")) & 4
    if marks != ("NUMANode", "os", "NUMALatency") or not means_latency:
        return {}
    indexes = [int(i) for part in table.findall("indexes") for i in (part.text or "").split()]
    values = [int(v) for part in table.findall("u64values") for v in (part.text or "").split()]
    return _matrix(indexes, values)


def _distances_v1(table: ET.Element, parent: ET.Element) -> dict[tuple[int, int], int]:
    """Read hwloc 1.x's matrix, which is inside an object and counts in units of the local latency."""
    nodes = [_os_index(o, "NUMANode") for o in parent.iter("object") if o.get("type") in ("NUMANode", "Node")]
    if len(nodes) != int(table.get("nbobjs", "0")):
        return {}  # of other objects
    base = float(table.get("latency_base", "1"))
    return _matrix(nodes, [round(float(v.get("value", "0")) * base) for v in table.findall("latency")])


def _matrix(nodes: Sequence[int], values: Sequence[int]) -> dict[tuple[int, int], int]:
    if len(values) != len(nodes) ** 2:
        raise ValueError(f"{len(values)} distances between {len(nodes)} NUMA nodes")
    return dict(zip(itertools.product(nodes, nodes), values, strict=True))


def _kinds(root: ET.Element) -> dict[int, str]:
    """Name the kinds of cores, PU by PU, by Intel's CoreType and Arm's capacity.

    Maximum frequencies do not count: servers have a few "favoured" cores a step above the others.
    """
    kinds: list[tuple[str, int, Cpus]] = []
    for element in root.findall("cpukind"):
        infos = {info.get("name", ""): info.get("value", "") for info in element.findall("info")}
        capacity = infos.get("LinuxCapacity", "0")
        cpus = _mask(element, "cpuset") or frozenset()
        kinds.append((infos.get("CoreType", ""), int(capacity) if capacity.isdigit() else 0, cpus))
    return name_kinds(kinds)
