"""A Topology from any text that describes a machine, and where two descriptions of one machine disagree. Pure."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from orchestrator.machine.cpulist import format_cpulist, parse_cpulist
from orchestrator.machine.hwloc_xml import topology_from_xml
from orchestrator.machine.sysfs import from_files
from orchestrator.machine.topology import Core, Device, NumaNode, Package, Topology
from parsers.errors import UserError

if TYPE_CHECKING:
    from parsers.measurement import Parsed, Scalar


_LONGEST_SYNTHETIC = 10_000  # characters


def topology_from_text(text: str, place: str = "topology") -> Topology:
    """Read hwloc XML, a capture (`probe.capture`) or a synthetic description, whichever `text` is.

    `place` names it in errors (a path). Raises UserError if it is none of them.
    """
    start = text.lstrip("\ufeff \t\r\n")[:1]
    if start == "<":
        return topology_from_xml(text, place)
    if start == "{":
        return topology_from_capture(text, place)
    if len(text) > _LONGEST_SYNTHETIC:
        raise UserError(place, "neither hwloc XML nor a synthetic description")
    from orchestrator.machine.synthetic import topology_from_synthetic  # of no use for the machine itself

    return topology_from_synthetic(text, place)


def topology_from_capture(text: str, place: str = "capture") -> Topology:
    """Read what `probe.capture` wrote elsewhere: a JSON object with

        files       {path below /sys: text}, as `topology_from_files` takes them
        devices     [[name, kind, NUMA node or null]]
        hwloc       the XML of lstopo, or absent
        allowed     {"cpus": "0-3", "nodes": "0"}, or absent

    Raises UserError if it is something else.
    """
    try:
        capture = json.loads(text)
        devices = [Device(name=name, kind=kind, numa_node=node) for name, kind, node in capture["devices"]]
        system = from_files(capture["files"], devices)
        allowed = {what: parse_cpulist(cpus) for what, cpus in capture.get("allowed", {}).items()}
        xml = capture.get("hwloc")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(
            place, f"not a capture of a machine: {error!r}", "`pinsweep doctor --capture DIR` writes one"
        ) from error
    topology = joined(topology_from_xml(xml, place), system) if xml else system
    return topology.limited(allowed.get("cpus"), allowed.get("nodes"))


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
        found.append(
            f"NUMA nodes: numactl has {format_cpulist(cpus) or 'none'}, the kernel {format_cpulist(ours)}"
        )
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


def _whole(cell: Scalar) -> int:
    assert isinstance(cell, int | float)
    return int(cell)
