"""What `pinsweep doctor` found on this machine, as values. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from orchestrator.machine import facts
from orchestrator.machine.cpulist import format_cpulist
from orchestrator.machine.noise import Finding
from orchestrator.machine.topology import Topology
from parsers.units import size_text
from reports.document import Column, Document, Heading, Table, Text
from reports.results.hardware import counted


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
            for part in filter(_is_shown, survey.parts)
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


def document(survey: Survey) -> Document:
    """Return the machine, the programs and what may disturb, for people."""
    noise = tuple((one.level, one.what, one.why, one.fix) for one in survey.noise)
    return Document(
        title="",
        blocks=(
            Heading("Machine"), *(Text(f"  {line}") for line in _machine(survey)),
            *(Text(f"warn disagreement, {text}", "warning") for text in survey.contradictions),
            Heading("Tools"), _table(("name", "program", "note", "path"), map(_part, filter(_is_shown, survey.parts))),
            Heading("Noise"), _table(("level", "what", "effect", "fix"), noise) if noise else Text("  nothing found"),
        ),
    )  # fmt: skip


def _machine(survey: Survey) -> Iterator[str]:
    topology = survey.topology
    numbers = topology.numbers()
    yield ", ".join(counted(topology))
    if topology.problem:
        yield topology.problem
    if sizes := [f"{name} {size_text(numbers[name])}" for name in ("L1", "L2", "L3") if name in numbers]:
        yield "caches: " + ", ".join(sizes)
    for node in topology.numa_nodes:
        memory = size_text(node.memory_bytes) if node.memory_bytes is not None else "memory not known"
        devices = [device.name for device in topology.devices if device.numa_node == node.os_index]
        near = f", near it: {', '.join(devices)}" if devices else ""
        distances = [
            f"{other.os_index}: {topology.distance(node.os_index, other.os_index) or '?'}"
            for other in topology.numa_nodes
        ]
        far = f", distances {', '.join(distances)}" if topology.distances and len(distances) > 1 else ""
        allowed = "" if node.allowed else ", not allowed"
        yield f"numa_node {node.os_index}: CPUs {format_cpulist(node.cpus) or 'none'}, {memory}{allowed}{near}{far}"
    for label, text in facts.lines(survey.facts, topology.memory_bytes).items():
        yield f"{label.lower()}: {text or 'not readable'}"
    if survey.scratch:
        yield f"scratch: {survey.scratch}"


def _is_shown(part: Part) -> bool:
    return part.kind != "describes" or not part.usable


def _part(part: Part) -> tuple[str, str, str, str]:
    problem = f"{part.problem}{f' ({part.hint})' if part.hint else ''}" if part.problem else ""
    notes = [f"with {part.mpi}" if part.mpi else "", "built-in kernel" if part.stand_in else "", problem]
    return part.name, f"{part.program} {part.version}".strip(), "; ".join(filter(None, notes)), part.path


def _table(names: Sequence[str], rows: Iterable[tuple[str, ...]]) -> Table:
    every = tuple(rows)
    return Table(columns=tuple(Column(name=name) for name in names), rows=every, most=len(every))
