"""What hardware a session ran on, in words that are the same on equal machines: the groups of a fleet. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from orchestrator.facts import FACTS
from orchestrator.store import Session
from orchestrator.topology import Topology
from reports import format as fmt


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """A kind of machine: what and its words. What was not recorded is "", and the same as what was not recorded elsewhere."""

    facts: tuple[tuple[str, str], ...]  # ("processor", …), ("layout", …), ("memory", "256 GiB"), …

    @property
    def name(self) -> str:
        return ", ".join(filter(None, dict(self.facts).values())) or "hardware not recorded"

    def differences(self, other: Hardware) -> str:
        """Return what differs from another kind: "memory 176 GiB, not 192 GiB"; "" if nothing does."""
        return "; ".join(
            f"{label} {own or 'not recorded'}, not {its or 'not recorded'}"
            for (label, own), (_, its) in zip(self.facts, other.facts, strict=True)
            if own != its
        )


def kinds(sessions: Iterable[Session]) -> list[Hardware]:
    """Return the hardware of each session, in order.

    Memory modules count only where every session knows its own: reading them takes root, and half a fleet may have run
    without.
    """
    listed = list(sessions)
    modules = all(session.facts.get("dimms") for session in listed)
    layouts: dict[str, str] = {}
    found = []
    for session in listed:
        form = _OWN.sub("", session.topology_text)
        if form not in layouts:
            layouts[form] = layout(session.topology)
        said = {fact.words: fact.text(session.facts) for fact in FACTS if fact.hardware}
        said["memory"] = installed(session.facts.get("memory_bytes"))
        if not modules:
            said["memory modules"] = ""
        processor, *rest = said.items()
        found.append(Hardware(facts=(processor, ("layout", layouts[form]), *rest)))
    return found


_OWN = re.compile(r"<(?:info|page_type) [^>]*/>|(?:local_memory|gp_index|complete_\w+)=\"[^\"]*\"")
"""What equal machines tell differently in hwloc's XML: names, serial numbers, free pages. Parsing a thousand times takes a minute."""


def installed(memory_bytes: Any) -> str:  # noqa: ANN401 (a fact: anything JSON holds)
    """Return the size of the memory modules from what the kernel left of them: 263 012 155 392 B are "256 GiB".

    Rounded up to a sixteenth of the power of two above it: firmware and kernel keep less than that to themselves, and a
    module that is missing is more.
    """
    if not isinstance(memory_bytes, int | float) or memory_bytes <= 0:
        return ""
    step = 2.0 ** (math.ceil(math.log2(memory_bytes)) - 4)
    return fmt.size(math.ceil(memory_bytes / step) * step)


def layout(topology: Topology | None) -> str:
    """Return "2 packages, 4 NUMA nodes, 64 cores, 128 PUs"; "" where nothing is known."""
    return ", ".join(counted(topology)) if topology and topology.numbers()["pus"] else ""


def counted(topology: Topology) -> list[str]:
    """Return "2 packages", "4 NUMA nodes", "64 cores", "128 PUs"."""
    numbers = topology.numbers()
    nouns = {"packages": "package", "numa_nodes": "NUMA node", "cores": "core", "pus": "PU"}
    return [fmt.plural(numbers[key], noun) for key, noun in nouns.items()]
