"""Place and thread count of a run. Runs that differ in these conditions are not compared. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchestrator.machine.cpulist import format_cpulist
from reports.results.model import Run

_MAX_GROUPS: Final = 4


def way(run: Run) -> dict[str, str]:
    """Return the conditions of a run, such as {"PUs": "0-31", "memory nodes": "0", "threads": "32"}. An unknown
    value is "".

    An unplaced run has the PUs of the session. The thread count is the count of the program, or the requested count.
    """
    counted = run.parsed.facts.get("threads") if run.parsed else None
    allowed = "" if run.placed else str(run.session.facts.get("cpus_allowed") or "")
    return {
        "PUs": _listed([group.cpus for group in run.placed]) or allowed,
        "memory nodes": _listed([group.membind or group.interleave for group in run.placed]),
        "threads": str(counted or run.options.get("threads") or run.record.env.get("OMP_NUM_THREADS") or ""),
    }


def _listed(groups: Sequence[Sequence[int]]) -> str:
    """Return "0-3", or "0 | 8" for a few processes, or "0-63 of 64 processes" for many."""
    texts = [format_cpulist(group) for group in groups]
    if len(set(texts)) <= 1:
        return texts[0] if texts else ""
    if len(texts) <= _MAX_GROUPS:
        return " | ".join(texts)
    return f"{format_cpulist(i for group in groups for i in group)} of {len(groups)} processes"
