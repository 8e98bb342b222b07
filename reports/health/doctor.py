"""Represent the findings of `pinsweep doctor` on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from orchestrator.machine import facts
from orchestrator.machine.cpulist import format_cpulist
from orchestrator.machine.file_system import FileSystem
from orchestrator.machine.noise import Finding
from orchestrator.machine.topology import NumaNode, Topology
from parsers.units import size_text
from reports.document import Column, Document, Heading, Table, Text
from reports.results.hardware import counted

_FACTS: Final = ("Processor", "Memory", "Kernel", "Clocks")
"""Lines of facts for people; JSON has all facts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A program that pinsweep starts: a tool, a program for every tool, or a program that describes the machine."""

    name: str
    kind: Literal["tool", "helper", "describes"]
    usable: bool
    problem: str = ""  # why it is not usable, or what it cannot do here
    hint: str = ""
    program: str = ""  # of a built-in kernel the kernel's name
    version: str = ""
    path: str = ""
    mpi: str = ""
    stand_in: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """All findings of doctor."""

    topology: Topology
    facts: Mapping[str, Any]
    scratch: FileSystem | None  # of scratch files
    contradictions: Sequence[str]
    parts: Sequence[Part]
    noise: Sequence[Finding]

    @property
    def ready(self) -> bool:
        """Whether every program can be started."""
        return all(part.usable for part in self.parts)

    @property
    def shown_parts(self) -> list[Part]:
        """The programs, without working programs that only describe the machine."""
        return [part for part in self.parts if part.kind != "describes" or not part.usable]


def as_json(survey: Survey) -> dict[str, Any]:
    """Return the output of `doctor --format json`."""
    topology = survey.topology
    return {
        "ready": survey.ready,
        "quiet": not any(finding.level == "warn" for finding in survey.noise),
        "noise": [asdict(finding) | {"fix": finding.fix or None} for finding in survey.noise],
        "programs": [
            {name: None if value == "" else value for name, value in asdict(part).items()}
            for part in survey.shown_parts
        ],
        "machine": {
            "numbers": topology.numbers(),
            "numa_nodes": [
                {
                    "numa_node": node.os_index, "cpus": list(node.cpus), "memory_bytes": node.memory_bytes, "allowed": node.allowed,
                    "devices": _devices(topology, node),
                    "distances": [{"to": to, "distance": distance} for to, distance in _distances(topology, node).items()],
                }
                for node in topology.numa_nodes
            ],
            "facts": dict(survey.facts),
            "scratch": str(survey.scratch) if survey.scratch else None,
            "contradictions": list(survey.contradictions),
        },
    }  # fmt: skip


def document(survey: Survey) -> Document:
    """Return the machine, the programs and possible disturbances as a document for people."""
    noise = [(finding.level, finding.what, finding.fix) for finding in survey.noise]
    return Document(
        title="",
        blocks=(
            Heading("Machine"),
            *(Text(f"  {line}") for line in _machine(survey)),
            *(Text(f"warn disagreement, {text}", "warning") for text in survey.contradictions),
            Heading("Tools"),
            _table(("name", "program", "note", "path"), [_part(part) for part in survey.shown_parts]),
            Heading("Noise"),
            _table(("level", "what", "fix"), noise) if noise else Text("  nothing found"),
        ),
    )


def _machine(survey: Survey) -> Iterator[str]:
    topology, numbers = survey.topology, survey.topology.numbers()
    caches = [f"{name} {size_text(numbers[name])}" for name in ("L1", "L2", "L3") if name in numbers]
    yield ", ".join(counted(topology))
    if caches:
        yield f"caches: {', '.join(caches)}"
    if topology.problem:
        yield topology.problem
    for node in topology.numa_nodes:
        devices = _devices(topology, node)
        distances = ", ".join(f"{to}: {distance or '?'}" for to, distance in _distances(topology, node).items())
        parts = [
            f"CPUs {format_cpulist(node.cpus) or 'none'}",
            size_text(node.memory_bytes) if node.memory_bytes is not None else "memory not known",
            "" if node.allowed else "not allowed",
            f"near it: {', '.join(devices)}" if devices else "",
            f"distances {distances}" if len(topology.numa_nodes) > 1 and distances else "",
        ]
        yield f"numa_node {node.os_index}: {', '.join(filter(None, parts))}"
    lines = facts.lines(survey.facts, topology.memory_bytes)
    yield from (f"{name.lower()}: {lines[name]}" for name in _FACTS if lines[name])
    if survey.scratch:
        free = f", {size_text(survey.scratch.free_bytes)} free" if survey.scratch.size_bytes else ""
        yield f"scratch: {survey.scratch.kind} at {survey.scratch.point}{free}"


def _devices(topology: Topology, node: NumaNode) -> list[str]:
    return [device.name for device in topology.devices if device.numa_node == node.os_index]


def _distances(topology: Topology, node: NumaNode) -> dict[int, int | None]:
    """Return {node: distance of its memory}. Empty if the machine reports no distances."""
    others = topology.numa_nodes if topology.distances else ()
    return {other.os_index: topology.distance(node.os_index, other.os_index) for other in others}


def _part(part: Part) -> tuple[str, ...]:
    hint = f" ({part.hint})" if part.hint else ""
    notes = [f"with {part.mpi}" if part.mpi else "", "built-in kernel" if part.stand_in else "",
             f"{part.problem}{hint}" if part.problem else ""]  # fmt: skip
    return part.name, f"{part.program} {part.version}".strip(), "; ".join(filter(None, notes)), part.path


def _table(names: Sequence[str], rows: Sequence[tuple[str, ...]]) -> Table:
    return Table(columns=tuple(Column(name=name) for name in names), rows=tuple(rows), most=len(rows))
