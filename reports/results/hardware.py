"""Describe the hardware of a session in the same words on equal machines, for the groups of a fleet. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from orchestrator.machine.facts import FACTS
from orchestrator.machine.topology import Topology
from orchestrator.store.result_file import Session
from reports.results.grouping import group_by
from reports.results.model import Run
from reports.text import format as fmt


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """A kind of machine: {property: text}. "" means not recorded, and equals other values that were not recorded."""

    facts: tuple[tuple[str, str], ...]  # ("processor", …), ("layout", …), ("memory", "245 GiB"), …

    @property
    def name(self) -> str:
        return ", ".join(filter(None, dict(self.facts).values())) or "hardware not recorded"

    def differences(self, other: Hardware) -> str:
        """Return the differences from another kind: "memory 173 GiB, not 189 GiB". "" for the same kind."""
        return "; ".join(
            f"{label} {own}, not {its}" if own and its else f"{label} {own or 'not recorded'}"
            for (label, own), (_, its) in zip(self.facts, other.facts, strict=True)
            if own != its
        )

    def beside(self, others: Iterable[Hardware]) -> str:
        """Return the properties that distinguish the kind from others of the same name: "memory 173 GiB"."""
        differ = {what for other in others for what, its in other.facts if its != dict(self.facts)[what]}
        return ", ".join(f"{what} {its or 'not recorded'}" for what, its in self.facts if what in differ)


def kinds(sessions: Iterable[Session]) -> list[Hardware]:
    """Return the hardware of each session, in order.

    Memory modules count only if every session recorded modules: root is required, and half a fleet may run without
    root. Memory sizes are compared among equal machines, because the kernel leaves a size that differs by host, by less
    than a module.
    """
    listed = list(sessions)
    modules = all(session.facts.get("dimms") for session in listed)
    layouts: dict[str, str] = {}
    rows = []
    for session in listed:
        form = _OWN.sub("", session.topology_text)
        if form not in layouts:
            layouts[form] = layout(session.topology)
        processor, *rest = ((f.words, f.text(session.facts)) for f in FACTS if f.hardware)
        rows.append(dict([processor, ("layout", layouts[form]), *rest]))
    for same in group_by(range(len(rows)), lambda i: (rows[i]["processor"], rows[i]["layout"])).values():
        texts = sizes(listed[i].facts.get("memory_bytes") for i in same)
        for i, text in zip(same, texts, strict=True):
            rows[i] |= {"memory": text} | ({} if modules else {"memory modules": ""})
    return [Hardware(facts=tuple(row.items())) for row in rows]


CARDS: Final = "network cards"

_WHOSE: Final = ("processor", "system", "board", CARDS)
"""What a machine keeps; memory goes and comes back, and PUs are switched off."""


def cards(sessions: Sequence[Session]) -> list[str]:
    """Return a group key of network cards for each session of a host name. "" if no card was recorded.

    Sessions with a common card, directly or through other sessions, were on the same machine.
    """
    seen = [frozenset(str(session.facts.get("network_cards") or "").split()) for session in sessions]
    groups: list[frozenset[str]] = []  # all cards of each machine
    for own in filter(None, seen):
        apart = [one for one in groups if not one & own]
        groups = [*apart, own.union(*(one for one in groups if one & own))]
    return [next((min(one) for one in groups if own & one), "") for own in seen]


def machines(sessions: Sequence[Session], kinds: Sequence[Hardware]) -> list[Hardware]:
    """Return the machine of each session of a host name. The sessions are in order of time, with `kinds`.

    Another processor or board means another machine, and so does a session without a common network card. A layout or
    memory size that changes once and back is the same machine. Frequent changes mean several machines. A value that a
    session did not record is ignored if the other sessions recorded one value.
    """
    more = [fact for fact in FACTS if fact.key in ("system", "board")]
    rows = [
        {**{fact.words: fact.text(session.facts) for fact in more}, CARDS: mark, **dict(kind.facts)}
        for session, kind, mark in zip(sessions, kinds, cards(sessions), strict=True)
    ]
    for what in rows[0] if rows else ():
        known = [row[what] for row in rows if row[what]]
        changes = sum(a != b for a, b in itertools.pairwise(known))
        if len(set(known)) == 1 or (what not in _WHOSE and changes <= 2):
            for row in rows:
                row[what] = ""
    return [Hardware(facts=tuple(row.items())) for row in rows]


def several(host: str, kinds: Sequence[Hardware]) -> str:
    """Return "several machines are called n1, or its hardware changed: memory 173 GiB, not 189 GiB" for two or more."""
    return f"several machines are called {host}, or its hardware changed: {kinds[1].differences(kinds[0])}"


def listed(names: Collection[str]) -> str:
    """Return the names of machines with equal host names, or the count for many machines."""
    return fmt.words(names) if len(names) <= _MOST_NAMED else fmt.plural(len(names), "host")


_MOST_NAMED: Final = 6

_OWN = re.compile(r"<(?:info|page_type) [^>]*/>|(?:local_memory|gp_index|complete_\w+)=\"[^\"]*\"")
"""What equal machines tell differently in hwloc's XML: names, serial numbers, free pages. Parsing a thousand times takes a minute."""


def sizes(memory: Iterable[Any]) -> list[str]:
    """Return the memory of each machine, in order.

    Machines with equal memory have one text, the median of the sizes that the kernels report.
    """
    listed = [size if isinstance(size, int | float) and size > 0 else 0 for size in memory]
    groups: list[list[float]] = []
    for size in sorted(listed):
        if groups and size - groups[-1][-1] <= _less_than_a_module(size):
            groups[-1].append(size)
        else:
            groups.append([size])
    return [next(fmt.size(median(g)) if size else "" for g in groups if g[0] <= size <= g[-1]) for size in listed]


def _less_than_a_module(size: float) -> float:
    """Return the allowed memory difference of equal machines in bytes.

    The limit is 2 % (a module of 32 is 3 %). For a small memory, the limit is a crash kernel's 1.5 GiB, below 4 %.
    """
    return max(0.02 * size, min(1.5 * 2**30, 0.04 * size))


def layout(topology: Topology | None) -> str:
    """Return "2 packages, 4 NUMA nodes, 64 cores, 128 PUs". "" if the layout is unknown."""
    return ", ".join(counted(topology)) if topology and topology.numbers()["pus"] else ""


def counted(topology: Topology) -> list[str]:
    """Return "2 packages", "4 NUMA nodes", "64 cores", "128 PUs"."""
    numbers = topology.numbers()
    nouns = {"packages": "package", "numa_nodes": "NUMA node", "cores": "core", "pus": "PU"}
    return [fmt.plural(numbers[key], noun) for key, noun in nouns.items()]


def usable(topology: Topology) -> str:
    """Return "2 packages, 4 NUMA nodes, 64 cores and 128 PUs", with the usable part of a restricted machine."""
    share = topology.share()
    return fmt.words(counted(topology)) + (f" that could be used: {share}" if share else "")


FITS: Final = 0.75
"""Maximum share of a cache for data that is assumed to fit into the cache. Other data uses the rest."""

BEYOND: Final = 2
"""A working set is told as one of memory where it is so often the largest cache: of less, much is still found there."""


def caches_above(run: Run) -> tuple[tuple[int, int], ...]:
    """Return (level, bytes) of the caches of a run's first CPU, smallest first. () if unknown."""
    machine = run.session.topology
    cpu = next((cpu for group in run.placed for cpu in group.cpus), None)
    if machine is None or cpu is None or run.captured:
        return ()
    sizes = {
        cache.level: cache.size_bytes
        for cache in machine.caches
        if cache.kind != "instruction" and cache.size_bytes and cpu in cache.cpus
    }
    return tuple(sorted(sizes.items()))
