"""A Topology from the files of /sys. Pure: the files come as texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from orchestrator.machine.assemble import Node, assemble, in_tree_order, name_kinds
from orchestrator.machine.cpulist import parse_cpulist
from orchestrator.machine.topology import Cache, Cpus, Device, Topology
from parsers.errors import UserError

Files = Mapping[str, str]

CPU: Final = "devices/system/cpu"
ONLINE: Final = f"{CPU}/online"
NODE: Final = "devices/system/node"

WANTED_FILES: Final = (
    *(f"{CPU}/{name}" for name in ("online", "present", "isolated", "cpu[0-9]*/cpu_capacity")),
    *(f"{CPU}/cpu[0-9]*/topology/{name}" for name in ("physical_package_id", "*_list")),
    *(f"{CPU}/cpu[0-9]*/cache/index[0-9]*/{name}" for name in ("level", "type", "size", "shared_cpu_list")),
    *(f"{NODE}/node[0-9]*/{name}" for name in ("cpulist", "distance", "meminfo")),
    *(f"devices/cpu_{kind}/cpus" for kind in ("core", "atom")),
)


def topology_from_files(files: Files, devices: Iterable[Device] = (), place: str = "/sys/devices/system") -> Topology:
    """Return the topology of the kernel's description: the texts of WANTED_FILES, by path below /sys.

    The result has no limits of this process. `limited` adds them.

    Raises UserError for files without a CPU or with invalid content.
    """
    try:
        return _from_files(files, devices)
    except (ValueError, IndexError) as error:
        raise UserError(place, f"cannot be read: {error}") from error


def _from_files(files: Files, devices: Iterable[Device]) -> Topology:
    online = _cpulist(files, ONLINE) or frozenset(_numbers_in(files, rf"{CPU}/cpu(\d+)/topology/"))
    if not online:
        raise ValueError("no CPU is online")

    def group(cpu: int, *names: str) -> Cpus:
        for name in names:
            members = _cpulist(files, f"{CPU}/cpu{cpu}/topology/{name}") & online
            if cpu in members:
                return members
        return frozenset({cpu})

    cores = {group(cpu, "core_cpus_list", "thread_siblings_list") for cpu in online}
    packages: dict[Cpus, int] = {}
    for cpu in online:
        number = files.get(f"{CPU}/cpu{cpu}/topology/physical_package_id")
        if number is not None:  # some Arm guests have no package number: one package then
            packages[group(cpu, "package_cpus_list", "core_siblings_list")] = int(number)
    inner = {group(cpu, name) for cpu in online for name in ("die_cpus_list", "cluster_cpus_list")}
    nodes, distances = _nodes(files, online)
    caches = _caches(files, online)
    around = {*cores, *packages, *inner, *(n.cpus for n in nodes), *(frozenset(c.cpus) for c in caches)}
    return assemble(
        cores=in_tree_order(cores, around),
        packages=[
            (index if index >= 0 else None, cpus) for cpus, index in sorted(packages.items(), key=lambda p: min(p[0]))
        ],
        nodes=nodes,
        caches=caches,
        distances=distances,
        devices=[(device.name, device.kind, device.numa_node) for device in devices],
        isolated=_cpulist(files, f"{CPU}/isolated"),
        offline=_cpulist(files, f"{CPU}/present") - online,
        kinds=name_kinds(_kinds(files, online)),
    )


def _nodes(files: Files, online: Cpus) -> tuple[list[Node], dict[tuple[int, int], int]]:
    """Return the NUMA nodes, and the distances between nodes with a complete row."""
    nodes: list[Node] = []
    distances: dict[tuple[int, int], int] = {}
    numbers = _numbers_in(files, rf"{NODE}/node(\d+)/")
    for node in numbers:
        memory = re.search(r"MemTotal:\s*(\d+) kB", files.get(f"{NODE}/node{node}/meminfo", ""))
        cpus = _cpulist(files, f"{NODE}/node{node}/cpulist") & online
        nodes.append(Node(os_index=node, cpus=cpus, memory_bytes=int(memory[1]) * 1024 if memory else None))
        row = [int(value) for value in files.get(f"{NODE}/node{node}/distance", "").split()]
        if len(row) == len(numbers):
            distances.update({(node, other): value for other, value in zip(numbers, row, strict=True)})
    return nodes, distances


def _caches(files: Files, online: Cpus) -> list[Cache]:
    """Return each cache once, because every PU that shares a cache describes it."""
    caches: dict[tuple[int, str, Cpus], Cache] = {}
    for path, level in files.items():
        match = re.fullmatch(rf"({CPU}/cpu(\d+)/cache/index\d+)/level", path)
        if not match or int(match[2]) not in online:
            continue
        kind = files.get(f"{match[1]}/type", "Unified").strip().lower()
        shared = (_cpulist(files, f"{match[1]}/shared_cpu_list") | {int(match[2])}) & online
        size = re.fullmatch(r"(\d+)K", files.get(f"{match[1]}/size", "").strip())
        caches[int(level), kind, shared] = Cache(
            level=int(level),
            kind=kind,
            size_bytes=int(size[1]) * 1024 or None if size else None,
            cpus=tuple(sorted(shared)),
        )
    return list(caches.values())


def _kinds(files: Files, online: Cpus) -> list[tuple[str, int, Cpus]]:
    """Return (core type, capacity, PUs), for `name_kinds`: Intel's two lists, else Arm's capacities."""
    intel = [
        ("IntelCore", 0, _cpulist(files, "devices/cpu_core/cpus")),
        ("IntelAtom", 0, _cpulist(files, "devices/cpu_atom/cpus")),
    ]
    if all(cpus for _, _, cpus in intel):
        return intel
    capacity = {cpu: files.get(f"{CPU}/cpu{cpu}/cpu_capacity", "") for cpu in online}
    return [("", int(text), frozenset({cpu})) for cpu, text in capacity.items() if text.strip()]


def _cpulist(files: Files, path: str) -> Cpus:
    return parse_cpulist(files.get(path, ""))


def _numbers_in(files: Files, pattern: str) -> list[int]:
    return sorted({int(match[1]) for path in files if (match := re.match(pattern, path))})
