"""A Topology from hwloc's XML, `lstopo --of xml` of any version. Pure."""

from __future__ import annotations

import dataclasses
import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

from orchestrator.machine.assemble import Node, assemble, name_kinds
from orchestrator.machine.cpulist import LARGEST, parse_mask
from orchestrator.machine.topology import Cache, Cpus, Topology
from parsers.errors import UserError

DEEPEST: Final = 100  # levels of XML; hwloc's own trees, PCI bridges included, stay below 30

# hwloc's osdev_type: a number in 1.x and 2.x, a set of bits in 3.x. OpenFabrics adapters count as net: `near mlx5_0`.
OSDEV_BY_NUMBER: Final = {0: "block", 2: "net", 3: "net"}
OSDEV_BY_BIT: Final = {0: "block", 4: "net", 5: "net"}

# Memory that hwloc 2.x files under block devices
NOT_BLOCK: Final = ("SPM", "CXLMem", "NVM")


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
                f"XML nested more than {DEEPEST} levels deep is not a topology",
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


@dataclass(slots=True)
class _Tree:
    """What the tree of objects holds, in its order, which is hwloc's."""

    version: int
    pus: list[int] = field(default_factory=list)
    cores: list[Cpus] = field(default_factory=list)
    packages: list[tuple[int | None, Cpus]] = field(default_factory=list)
    nodes: list[tuple[int, Cpus, str | None, str]] = field(
        default_factory=list
    )  # index, PUs, bytes as written, kind
    caches: list[Cache] = field(default_factory=list)
    devices: list[tuple[str, str, int | Cpus | None]] = field(default_factory=list)
    distances: dict[tuple[int, int], int] = field(default_factory=dict)

    def visit(self, element: ET.Element, near: Cpus = frozenset()) -> None:
        """Take in an object and all below it. `near`: the PUs of the object around it."""
        cpus = _mask(element, "cpuset")
        near = cpus or near  # I/O objects have no cpuset of their own
        self._take(element, element.get("type", ""), cpus or frozenset(), near)
        for child in element:
            if child.tag == "object":
                self.visit(child, near)
            elif child.tag == "distances":
                self.distances.update(_distances_v1(child, element))

    def _take(self, element: ET.Element, kind: str, cpus: Cpus, near: Cpus) -> None:
        match kind:
            case "PU":
                self.pus.append(_os_index(element, "PU"))
            case "Core":
                self.cores.append(cpus)
            case "Package" | "Socket":
                index = int(element.get("os_index", "-1"))
                self.packages.append((index if 0 <= index < 2**31 else None, cpus))
            case "NUMANode" | "Node":
                of_memory = element.get("local_memory"), element.get("subtype", "")
                self.nodes.append((_os_index(element, "NUMANode"), cpus, *of_memory))
            case "OSDev":
                if device := _osdev_kind(element, self.version):
                    self.devices.append((element.get("name", ""), device, near))
            case _ if kind == "Cache" or re.fullmatch(r"L\di?Cache", kind):
                self.caches.append(_cache(element, cpus))


def _from_tree(root: ET.Element, machine: ET.Element) -> Topology:
    tree = _Tree(int(root.get("version", "1").split(".")[0]))
    tree.visit(machine)
    if not tree.pus:
        raise ValueError("no PU in it")
    online = _mask(machine, "online_cpuset")  # 1.x keeps offline PUs in the tree of a whole system
    there = frozenset(tree.pus) if online is None else frozenset(tree.pus) & online
    for table in root.findall("distances2"):
        tree.distances.update(_distances_v2(table))
    return assemble(
        cores=_cores(tree, there),
        packages=tree.packages,
        nodes=_nodes(tree, there, machine.get("local_memory")),
        caches=[
            dataclasses.replace(c, cpus=tuple(cpu for cpu in c.cpus if cpu in there))
            for c in tree.caches
            if c.level and not there.isdisjoint(c.cpus)
        ],
        distances=tree.distances,
        devices=tree.devices,
        allowed_cpus=_mask(machine, "allowed_cpuset") or None,  # an empty set was written for "unknown"
        allowed_nodes=_mask(machine, "allowed_nodeset") or None,
        offline=(_mask(machine, "complete_cpuset") or frozenset()) - there,
        kinds=_kinds(root),
    )


def _cores(tree: _Tree, there: Cpus) -> list[Cpus]:
    """Return the cores in the order of the tree; PUs without a core object are a core each."""
    coreless = there - frozenset().union(*tree.cores)
    rank = {cpu: i for i, cpu in enumerate(tree.pus)}
    return sorted(
        [*(cpus & there for cpus in tree.cores if cpus & there), *(frozenset({cpu}) for cpu in coreless)],
        key=lambda core: min(rank[cpu] for cpu in core),
    )


def _nodes(tree: _Tree, there: Cpus, total: str | None) -> list[Node]:
    """Return the NUMA nodes; one of all PUs and the machine's `total` where the tree has none."""
    if not tree.nodes:
        return [Node(os_index=0, cpus=there, memory_bytes=None if total is None else int(total))]
    sizes = _memory([written for _, _, written, _ in tree.nodes])
    return [
        Node(os_index=index, cpus=cpus, memory_bytes=memory, kind=kind)
        for (index, cpus, _, kind), memory in zip(tree.nodes, sizes, strict=True)
    ]


def _cache(element: ET.Element, cpus: Cpus) -> Cache:
    names = {"0": "unified", "1": "data", "2": "instruction"}
    return Cache(
        level=int(element.get("depth", "0")),
        kind=names.get(element.get("cache_type", "0"), "unified"),
        size_bytes=int(element.get("cache_size", "0")) or None,
        cpus=tuple(sorted(cpus)),
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
