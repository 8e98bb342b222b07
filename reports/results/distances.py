"""How far the NUMA nodes of a machine are apart: by its packages, else by what the firmware says (SLIT). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from orchestrator.store.rows import Session
from parsers.measurement import whole

Pair = tuple[Any, Any]
"""Two NUMA nodes: whose CPUs, whose memory."""


def distances(session: Session, pairs: Iterable[Pair]) -> dict[Pair, str]:
    """Return how far the nodes of each pair are apart, where the machine's nodes are not all equally far: "same package", "another
    package", else by their SLIT number, memory without CPUs as "CPU-less, distance 14"; "" where nothing tells."""
    apart = [pair for pair in pairs if pair[0] != pair[1]]
    machine = session.topology
    package = {core.numa_node: core.package for core in machine.cores} if machine else {}
    nodes = {whole(node) for pair in apart for node in pair}
    slit = slit_of(session, apart)
    if nodes <= package.keys() and 1 < len({package[node] for node in nodes}) < len(nodes):
        words = {
            (a, b): "same package" if package[whole(a)] == package[whole(b)] else "another package"
            for a, b in apart
        }
        several = {
            w for w in words.values() if len({slit.get(p) for p, of in words.items() if of == w} - {None}) > 1
        }
        return {
            pair: f"{word}, distance {slit[pair]:g}" if word in several and pair in slit else word
            for pair, word in words.items()
        }
    if len(slit) < len(apart) or len(set(slit.values())) < 2:
        return dict.fromkeys(apart, "")
    bare = nodes - package.keys() if package else set()
    return {
        pair: f"{'CPU-less, ' if whole(pair[1]) in bare else ''}distance {d:g}" for pair, d in slit.items()
    }


def slit_of(session: Session, apart: Iterable[Pair]) -> dict[Pair, float]:
    """Return the SLIT number of each pair of nodes that has one."""
    machine = session.topology
    known = (
        machine.distances if machine else {(a, b): d for a, b, d in session.facts.get("numa_distances") or ()}
    )
    found = {pair: known.get((whole(pair[0]) or 0, whole(pair[1]) or 0)) for pair in apart}
    return {pair: d for pair, d in found.items() if d is not None}
