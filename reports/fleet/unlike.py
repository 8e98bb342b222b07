"""Hosts of a group that were measured with another program, kernel or firmware than most of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from orchestrator.cluster import traits
from orchestrator.cluster.traits import Difference
from orchestrator.store.result_file import Session


def unlike(
    groups: Iterable[Sequence[str]], sessions: Mapping[str, Sequence[Session]]
) -> tuple[Difference, ...]:
    """Return who of each group of equal hardware was measured with something else than most of it, by the last session of each."""
    return tuple(
        found
        for hosts in groups
        for found in traits.differences({host: _of(sessions[host][-1]) for host in hosts})
        if found.here  # who lacks a program lacks numbers, and is named with these
    )


def _of(session: Session) -> dict[str, str]:
    return traits.of_session(session.facts, session.programs)
