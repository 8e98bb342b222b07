"""A Topology from any text that describes a machine, and where two descriptions of one machine disagree. Pure."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

from orchestrator.machine.cpulist import format_cpulist, parse_cpulist
from orchestrator.machine.hwloc_xml import topology_from_xml
from orchestrator.machine.sysfs import topology_from_files
from orchestrator.machine.topology import Device, Topology
from parsers.errors import UserError

if TYPE_CHECKING:
    from parsers.measurement import Parsed, Scalar


_MAX_SYNTHETIC = 10_000  # characters


def topology_from_text(text: str, place: str = "topology") -> Topology:
    """Return the topology in hwloc XML, a capture (`probe.capture`) or a synthetic description.

    `place` is the name in errors (a path). Raises UserError for another kind of text.
    """
    start = text.lstrip("\ufeff \t\r\n")[:1]
    if start == "<":
        return topology_from_xml(text, place)
    if start == "{":
        return topology_from_capture(text, place)
    if len(text) > _MAX_SYNTHETIC:
        raise UserError(place, "neither hwloc XML nor a synthetic description")
    from orchestrator.machine.synthetic import topology_from_synthetic  # not needed for this machine

    return topology_from_synthetic(text, place)


def topology_from_capture(text: str, place: str = "capture") -> Topology:
    """Read what `probe.capture` wrote on another machine: a JSON object with

        files       {path below /sys: text}, as `topology_from_files` takes them
        devices     [[name, kind, NUMA node or null]]
        hwloc       the XML of lstopo, or absent
        allowed     {"cpus": "0-3", "nodes": "0"}, or absent

    Raises UserError if it is something else.
    """
    try:
        capture = json.loads(text)
        devices = [Device(name=name, kind=kind, numa_node=node) for name, kind, node in capture["devices"]]
        system = topology_from_files(capture["files"], devices, place)
        allowed = {what: parse_cpulist(cpus) for what, cpus in capture.get("allowed", {}).items()}
        xml = capture.get("hwloc")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(
            place, f"not a capture of a machine: {error!r}", "`pinsweep doctor --capture DIR` writes one"
        ) from error
    topology = joined(topology_from_xml(xml, place), system) if xml else system
    return topology.limited(allowed.get("cpus"), allowed.get("nodes"))


def joined(described: Topology, system: Topology) -> Topology:
    """Return the topology of hwloc's description (`described`) joined with the kernel's (`system`) of the same machine.

    hwloc provides cores, packages and caches. The kernel provides NUMA nodes, distances, devices, offline and isolated
    PUs, because numactl uses these. hwloc's XML does not show which nodes have no CPUs or no memory. If the two differ
    in the online PUs, only the kernel's description is used.
    """
    described_pus = {pu.os_index: pu for pu in described.pus if pu.online}
    if described_pus.keys() != {p.os_index for p in system.pus if p.online}:
        return system
    home = {pu.os_index: pu.numa_node for pu in system.pus}
    nodes = {node.os_index: node for node in described.numa_nodes}
    return dataclasses.replace(
        described,
        pus=tuple(
            dataclasses.replace(described_pus.get(p.os_index, p), numa_node=p.numa_node, allowed=p.allowed)
            for p in system.pus
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
    """Return where hwloc (`described`) and the kernel (`system`) contradict each other about one machine."""
    texts = []
    for name, words in (("cores", "cores"), ("packages", "packages"), ("numa_nodes", "NUMA nodes with CPUs")):
        hwloc, kernel = (
            {group.cpus for group in getattr(topology, name) if group.cpus} for topology in (described, system)
        )
        if hwloc != kernel:
            odd = min(hwloc ^ kernel)
            who = "only hwloc" if odd in hwloc else "only the kernel"
            texts.append(
                f"{words}: hwloc has {len(hwloc)}, the kernel {len(kernel)}; {who} has PUs {format_cpulist(odd)} as one"
            )
    ids = [{node.os_index for node in t.numa_nodes} for t in (described, system)]
    if ids[0] != ids[1]:
        texts.append(f"NUMA nodes: hwloc has {format_cpulist(ids[0])}, the kernel {format_cpulist(ids[1])}")
    return texts


def numactl_disagreements(hardware: Parsed, system: Topology) -> list[str]:
    """Return the contradictions between the parsed `numactl --hardware` and the kernel (`system`)."""
    if hardware.has("no_numa"):
        return ["numactl reports no NUMA support here: it will place nothing"]
    rows = list(hardware.measurements.records())
    cpus: dict[int, set[int]] = {_int(row["node"]): set() for row in rows}
    for row in hardware.tables["cpus"].records():
        cpus.setdefault(_int(row["node"]), set()).add(_int(row["cpu"]))
    distances = {
        (_int(row["node"]), _int(row["to"])): _int(row["value"]) for row in rows if row["metric"] == "distance"
    }
    kernel = {node.os_index: set(node.cpus) for node in system.numa_nodes}
    pairs = [
        *([("NUMA nodes", cpus.keys(), kernel.keys())] if cpus.keys() != kernel.keys() else []),
        *((f"numa_node {node}", cpus[node], kernel[node]) for node in sorted(cpus.keys() & kernel.keys())),
    ]
    return [
        *(
            f"{what}: numactl has {'CPUs ' * (what != 'NUMA nodes')}{format_cpulist(ours) or 'none'}, "
            f"the kernel {format_cpulist(theirs) or 'none'}"
            for what, ours, theirs in pairs
            if ours != theirs
        ),
        *(
            f"distance from {a} to {b}: numactl has {distances[a, b]}, the kernel {system.distances[a, b]}"
            for a, b in sorted(distances.keys() & system.distances.keys())
            if distances[a, b] != system.distances[a, b]
        ),
    ]


def _int(cell: Scalar) -> int:
    assert isinstance(cell, int | float)
    return int(cell)
