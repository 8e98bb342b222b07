"""A Topology from hwloc's XML, `lstopo --of xml` of any version. Pure."""

from __future__ import annotations

import dataclasses
import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
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
        Node(os_index=index, cpus=cpus, memory_bytes=memory, kind=kind)
        for (index, cpus, _, kind), memory in zip(
            found_nodes, _memory([n[2] for n in found_nodes]), strict=True
        )
    ] or [Node(os_index=0, cpus=there, memory_bytes=None if total is None else int(total))]
    return assemble(
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
