"""A Topology from hwloc's XML, `lstopo --of xml` of any version. Pure."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

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

NODES: Final = ("NUMANode", "Node")  # the second in 1.x

_CACHE_KINDS: Final = {"1": "data", "2": "instruction"}


def topology_from_xml(text: str, place: str = "topology") -> Topology:
    """Read what `lstopo --of xml` writes: hwloc 1.x, the 2017 development form, 2.x and 3.x.

    Raises UserError if the text is not XML, not hwloc's, or describes no PU.
    """
    if entity := re.search(r"<!ENTITY\s+(\S+)", text):  # a topology needs no entities, but an attack does
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


class _Object(NamedTuple):
    """An object of the tree."""

    type: str
    element: ET.Element
    cpus: Cpus
    near: Cpus  # PUs of the nearest parent with PUs, because I/O objects have none


def _objects(element: ET.Element, near: Cpus = frozenset()) -> Iterator[_Object]:
    """Yield an object and its descendants, in tree order as in hwloc."""
    cpus = _mask(element, "cpuset") or frozenset()
    yield _Object(element.get("type", ""), element, cpus, cpus or near)
    for child in element.findall("object"):
        yield from _objects(child, cpus or near)


def _from_tree(root: ET.Element, machine: ET.Element) -> Topology:
    objects = list(_objects(machine))
    pus = [_os_index(o.element) for o in objects if o.type == "PU"]
    if not pus:
        raise ValueError("no PU in it")
    mask = _mask(machine, "online_cpuset")  # 1.x keeps offline PUs in the tree of a whole system
    online = frozenset(pus) if mask is None else frozenset(pus) & mask
    version = int(root.get("version", "1").split(".")[0])
    devices = [(o, _osdev_kind(o.element, version)) for o in objects if o.type == "OSDev"]
    caches = (_cache(o.element, o.cpus & online) for o in objects if re.fullmatch(r"Cache|L\di?Cache", o.type))
    distances: dict[tuple[int, int], int] = {}
    for o in objects:
        for table in o.element.findall("distances"):
            distances |= _distances_v1(table, o.element)
    for table in root.findall("distances2"):
        distances |= _distances_v2(table)
    return assemble(
        cores=_cores([o.cpus & online for o in objects if o.type == "Core"], pus, online),
        packages=[(_package_index(o.element), o.cpus) for o in objects if o.type in ("Package", "Socket")],
        nodes=_nodes([o for o in objects if o.type in NODES], online, machine.get("local_memory")),
        caches=[cache for cache in caches if cache.level and cache.cpus],
        distances=distances,
        devices=[(o.element.get("name", ""), kind, o.near) for o, kind in devices if kind],
        allowed_cpus=_mask(machine, "allowed_cpuset") or None,  # an empty set was written for "unknown"
        allowed_nodes=_mask(machine, "allowed_nodeset") or None,
        offline=(_mask(machine, "complete_cpuset") or frozenset()) - online,
        kinds=_kinds(root),
    )


def _cores(cores: list[Cpus], pus: Sequence[int], online: Cpus) -> list[Cpus]:
    """Return the cores in the order of the tree; PUs without a core object are a core each."""
    rank = {cpu: i for i, cpu in enumerate(pus)}
    cores = [*filter(None, cores), *(frozenset({cpu}) for cpu in online - frozenset().union(*cores))]
    return sorted(cores, key=lambda core: min(rank[cpu] for cpu in core))


def _package_index(element: ET.Element) -> int | None:
    index = int(element.get("os_index", "-1"))
    return index if 0 <= index < 2**31 else None


def _nodes(objects: Sequence[_Object], online: Cpus, total: str | None) -> list[Node]:
    """Return the NUMA nodes. A tree without nodes gives one node with all PUs and the machine's `total` memory.

    hwloc omits a size of 0. If all sizes are missing, the sizes are unknown.
    """
    if not objects:
        return [Node(os_index=0, cpus=online, memory_bytes=None if total is None else int(total))]
    default = "0" if any(o.element.get("local_memory") for o in objects) else None
    sizes = [o.element.get("local_memory", default) for o in objects]
    return [
        Node(
            os_index=_os_index(o.element),
            cpus=o.cpus,
            memory_bytes=None if size is None else int(size),
            kind=o.element.get("subtype", ""),
        )
        for o, size in zip(objects, sizes, strict=True)
    ]


def _cache(element: ET.Element, cpus: Cpus) -> Cache:
    return Cache(
        level=int(element.get("depth", "0")),
        kind=_CACHE_KINDS.get(element.get("cache_type", "0"), "unified"),
        size_bytes=int(element.get("cache_size", "0")) or None,
        cpus=tuple(sorted(cpus)),
    )


def _mask(element: ET.Element, name: str) -> Cpus | None:
    """Return a set of an object, or None if the set is missing or infinite."""
    text = element.get(name)
    return None if text is None else parse_mask(text)


def _os_index(element: ET.Element) -> int:
    index = element.get("os_index")
    if index is None or not 0 <= int(index) < MAX_INDEX:
        raise ValueError(f"a {element.get('type')} without a usable os_index ({index})")
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
    nodes = [_os_index(o) for o in parent.iter("object") if o.get("type") in NODES]
    if len(nodes) != int(table.get("nbobjs", "0")):
        return {}  # sets of other objects
    base = float(table.get("latency_base", "1"))
    return _matrix(nodes, [round(float(v.get("value", "0")) * base) for v in table.findall("latency")])


def _matrix(nodes: Sequence[int], values: Sequence[int]) -> dict[tuple[int, int], int]:
    if len(values) != len(nodes) ** 2:
        raise ValueError(f"{len(values)} distances between {len(nodes)} NUMA nodes")
    return dict(zip(itertools.product(nodes, nodes), values, strict=True))


def _kinds(root: ET.Element) -> dict[int, str]:
    """Return the kind of core of each PU, by Intel's CoreType and Arm's capacity.

    Maximum frequencies do not count: servers have a few "favoured" cores a step above the others.
    """
    kinds: list[tuple[str, int, Cpus]] = []
    for element in root.findall("cpukind"):
        infos = {info.get("name", ""): info.get("value", "") for info in element.findall("info")}
        capacity = infos.get("LinuxCapacity", "0")
        cpus = _mask(element, "cpuset") or frozenset()
        kinds.append((infos.get("CoreType", ""), int(capacity) if capacity.isdigit() else 0, cpus))
    return name_kinds(kinds)
