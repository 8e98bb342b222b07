"""How numbers were made: with which options, on which PUs, by how many threads. What differs there is not compared. Pure.

A cell says where it ran in words ("all", "local"): under a smaller mask, or where a program counts the CPUs itself, the same cell
is another measurement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.machine.cpulist import format_cpulist
from orchestrator.model import Group
from reports.results.model import Run

_MOST_GROUPS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Where a run executed and with how many threads, exactly."""

    placed: tuple[Group, ...]  # (): it was not placed
    allowed: str  # the PUs that the session of a run that was not placed could use
    threads: str  # as the program counted them, else as it was told; "" where neither is known

    @property
    def words(self) -> dict[str, str]:
        """Return it for people: "PUs": "0-31", "memory nodes": "0", "threads": "32"."""
        memory = _listed([group.membind or group.interleave for group in self.placed])
        return {
            "PUs": _listed([group.cpus for group in self.placed]) or self.allowed,
            "memory nodes": memory,
            "threads": self.threads,
        }


def way(run: Run) -> Way:
    counted = run.parsed.facts.get("threads") if run.parsed else None
    return Way(
        placed=run.placed,
        allowed="" if run.placed else str(run.session.facts.get("cpus_allowed") or ""),
        threads=str(counted or run.options.get("threads") or run.record.env.get("OMP_NUM_THREADS") or ""),
    )


def _listed(groups: Sequence[Sequence[int]]) -> str:
    """Return "0-3", of a few processes "0 | 8", of many "0-63 of 64 processes"."""
    texts = [format_cpulist(group) for group in groups]
    if len(set(texts)) <= 1:
        return texts[0] if texts else ""
    if len(texts) <= _MOST_GROUPS:
        return " | ".join(texts)
    return f"{format_cpulist(i for group in groups for i in group)} of {len(groups)} processes"
