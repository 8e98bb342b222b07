"""What `pinsweep doctor` found on this machine, as values. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from orchestrator.machine.noise import Finding
from orchestrator.machine.topology import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A program that pinsweep starts: a tool, what every tool needs, or what describes the machine."""

    name: str
    kind: Literal["tool", "helper", "describes"]
    usable: bool
    problem: str = ""  # why it is not usable, or what it cannot do here
    hint: str = ""
    program: str = ""  # what measures; of a stand-in the kernel's name
    version: str = ""
    path: str = ""
    mpi: str = ""
    stand_in: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """All that doctor found."""

    topology: Topology
    facts: Mapping[str, Any]
    scratch: str  # the file system of scratch files, in words; "": not known
    contradictions: Sequence[str]
    parts: Sequence[Part]
    noise: Sequence[Finding]

    @property
    def ready(self) -> bool:
        """Can all that pinsweep starts be started?"""
        return all(part.usable for part in self.parts)

    @property
    def quiet(self) -> bool:
        """Is nothing there that makes figures vary?"""
        return not any(finding.level == "warn" for finding in self.noise)


def as_json(survey: Survey) -> dict[str, Any]:
    """Return what `doctor --format json` prints."""
    topology = survey.topology
    return {
        "ready": survey.ready, "quiet": survey.quiet,
        "noise": [
            {"level": f.level, "what": f.what, "why": f.why, "fix": f.fix or None} for f in survey.noise
        ],
        "programs": [
            {name: None if value == "" else value for name, value in asdict(part).items()}
            for part in survey.parts if part.kind != "describes" or not part.usable
        ],
        "machine": {
            "numbers": topology.numbers(),
            "numa_nodes": [
                {
                    "numa_node": node.os_index, "cpus": list(node.cpus), "memory_bytes": node.memory_bytes, "allowed": node.allowed,
                    "devices": [device.name for device in topology.devices if device.numa_node == node.os_index],
                    "distances": [
                        {"to": other.os_index, "distance": topology.distance(node.os_index, other.os_index)}
                        for other in topology.numa_nodes if topology.distances
                    ],
                }
                for node in topology.numa_nodes
            ],
            "facts": dict(survey.facts), "scratch": survey.scratch or None, "contradictions": list(survey.contradictions),
        },
    }  # fmt: skip


def distance_lines(topology: Topology) -> list[str]:
    """Return how far the memory of each node is from each node, a line a node; none where the machine has one, or does not tell."""
    nodes = [node.os_index for node in topology.numa_nodes]
    if len(nodes) < 2 or not topology.distances:
        return []
    told = [[str(topology.distance(start, end) or "?") for end in nodes] for start in nodes]
    return [
        f"distances from node {start} to {', '.join(f'{end}: {far}' for end, far in zip(nodes, row, strict=True))}"
        for start, row in zip(nodes, told, strict=True)
    ]
