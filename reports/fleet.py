"""Result files of many nodes into verdicts: groups of equal hardware, a number's values per node, and what is odd. Pure.

`reports.verdicts.fleet` says which node is slow in which number; this module says which numbers of which nodes it is asked
about, and puts its answers into words that name nodes.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.facts import FACTS
from orchestrator.store import Session
from reports import format as fmt
from reports import hardware, series
from reports.frames import Results
from reports.hardware import Hardware
from reports.nodes import folded
from reports.rules import Rule, limits
from reports.series import Key, Series
from reports.sessions import SessionKey
from reports.verdicts.fleet import (
    CONFIRMED,
    LEAST_NODES,
    Everywhere,
    Metric,
    Node,
    Status,
    Strip,
    judge_fleet,
)

WORDS: Final[tuple[Status, ...]] = ("broken", "slow", "suspicious", "fast", "ok", "unknown")
"""The words of a verdict, the worst first."""

ACCUSED: Final = frozenset({"slow", "broken"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Odd:
    """One number of one node that is not ok."""

    node: str
    series: Series
    strip: Strip
    found: Node

    @property
    def change(self) -> float | None:
        """Relative distance from the median in the number's own sign; None: there is no median."""
        middle = self.strip.middle
        return self.found.value / middle - 1 if middle else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Nodes of equal hardware."""

    hardware: Hardware
    nodes: tuple[str, ...]
    strips: tuple[tuple[Series, Strip], ...]
    apart: str  # how it differs from the largest group; "" for that one
    baseline: int  # sessions of a baseline that its nodes are compared with; 0: with each other

    @property
    def judged(self) -> bool:
        return self.baseline > 0 or len(self.nodes) >= LEAST_NODES


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a fleet is like."""

    groups: tuple[Group, ...]  # the largest first
    statuses: Mapping[str, Status]  # every node → the worst that any of its numbers says
    odd: tuple[Odd, ...]  # the worst node first, in it the worst number first
    everywhere: tuple[Everywhere, ...]  # nodes that no single number accuses or suspects
    differing: Mapping[
        str, tuple[str, ...]
    ]  # odd node → "microcode 0xd0, not 0xf0": what else is special about it
    missing: tuple[tuple[str, tuple[str, ...]], ...]  # number or cell, the nodes that lack it
    warnings: tuple[str, ...]
    rerun: Mapping[str, tuple[str, ...]]  # node → sweeps to run again before anybody is accused
    sessions: Mapping[str, tuple[Session, ...]]  # node → its sessions
    files: Mapping[str, tuple[str, ...]]  # node → its result files, by their short names
    threshold: float  # relative: what is less worse is not slow

    @property
    def accused(self) -> tuple[str, ...]:
        """Nodes that are slow or broken, or a little slow everywhere, in three sessions or more."""
        slow = [node for node, status in self.statuses.items() if status in ACCUSED]
        return tuple(dict.fromkeys([*slow, *(e.name for e in self.everywhere if self.confirmed(e.name))]))

    def confirmed(self, node: str) -> bool:
        """Was a node measured in so many sessions that what is said of it is more than a suspicion?"""
        return len(self.sessions[node]) >= CONFIRMED

    def by_status(self) -> dict[Status, list[str]]:
        return {word: [n for n, s in self.statuses.items() if s == word] for word in WORDS}


def build(
    results: Results, *, baseline: Results | None = None, rules: Sequence[Rule] = (), threshold: float = 0.03
) -> Report:
    """Judge the nodes of some result files.

    `baseline`: past sessions of good nodes, to compare with instead of with each other; each group takes those of its own
    hardware. `threshold`: relative; what is less worse is not slow. Raises ExperimentError for rules in wrong units.
    """
    nodes = _Nodes(results)
    collected = series.collect_some(results)
    past = _past(baseline) if baseline else {}
    groups, odd, warnings = [], [], list(nodes.warnings)
    statuses: dict[str, Status] = dict.fromkeys(nodes.sessions, "unknown")
    everywhere: list[Everywhere] = []
    missing: list[tuple[str, tuple[str, ...]]] = []
    fitted: set[int] = set()
    largest = next(iter(nodes.groups), None)
    for kind, members in nodes.groups.items():
        metrics, of = [], []
        for one in collected:
            values = nodes.values(one, members)
            if not values:
                continue
            known = past.get((kind, one.key), ())
            asked = limits(rules, one)
            fitted |= {i for i, rule in enumerate(rules) if rule.fits(one)}
            metrics.append(
                Metric(
                    key=one.key, group=kind.name, better=one.better, values=values, resolution=one.resolution,
                    baseline=known, floor=asked.floor, tolerance=asked.tolerance,
                )
            )  # fmt: skip
            of.append(one)
        judged = judge_fleet(metrics, threshold=threshold)
        statuses |= judged.statuses
        everywhere += [e for e in judged.everywhere if judged.statuses[e.name] in ("ok", "fast")]
        odd += [
            Odd(node=node.name, series=one, strip=strip, found=node)
            for one, strip in zip(of, judged.strips, strict=True)
            for node in strip.nodes
            if node.status not in ("ok", "unknown")
        ]
        missing += _missing(of, metrics, members)
        sessions = max((len(m.baseline) for m in metrics), default=0)
        apart = kind.differences(largest) if largest and kind != largest else ""
        groups.append(
            Group(
                hardware=kind, nodes=tuple(members), strips=tuple(zip(of, judged.strips, strict=True)),
                apart=apart, baseline=sessions,
            )
        )  # fmt: skip
        if baseline and not sessions:
            warnings.append(
                f"the baseline has none of these numbers from this hardware: {kind.name} ({folded(members)})"
            )
    warnings += [
        f"{rule.mark}: this rule fits no number of these files"
        for i, rule in enumerate(rules)
        if i not in fitted
    ]
    warnings += _programs(collected)
    ordered = _worst_first(odd)
    rerun = _rerun(ordered, everywhere, nodes.sessions, collected)
    warnings += _scatter(ordered, len(statuses))
    return Report(
        groups=tuple(groups),
        statuses=statuses,
        odd=tuple(ordered),
        everywhere=tuple(sorted(everywhere, key=lambda e: -e.z)),
        differing=_differing(groups, nodes.sessions, {o.node for o in ordered} | {e.name for e in everywhere}),
        missing=tuple(missing),
        warnings=tuple(warnings),
        rerun=rerun,
        sessions=nodes.sessions,
        files=nodes.files,
        threshold=threshold,
    )  # fmt: skip


# --- nodes and groups --------------------------------------------------------------------------------------


class _Nodes:
    """Which session is which node: its host's name, and the file's where hosts of different hardware have one name."""

    def __init__(self, results: Results) -> None:
        kinds = hardware.kinds(m.session for m in results.machines)
        per_host: dict[str, dict[Hardware, list[str]]] = {}
        for machine, kind in zip(results.machines, kinds, strict=True):
            per_host.setdefault(machine.host, {}).setdefault(kind, []).append(machine.file)
        self.warnings: list[str] = []
        self.names: dict[SessionKey, str] = {}
        self.sessions: dict[str, tuple[Session, ...]] = {}
        self.files: dict[str, tuple[str, ...]] = {}
        groups: dict[Hardware, list[str]] = {}
        for host, own in per_host.items():
            if len(own) > 1:
                first, second = list(own)[:2]
                self.warnings.append(
                    f"several machines are called {host}: {second.differences(first)}; each file counts as a node of its own"
                )
        for machine, kind in zip(results.machines, kinds, strict=True):
            name = machine.host if len(per_host[machine.host]) == 1 else f"{machine.host} ({machine.file})"
            self.names[machine.file, machine.session.session] = name
            self.sessions[name] = (*self.sessions.get(name, ()), machine.session)
            self.files[name] = tuple(dict.fromkeys((*self.files.get(name, ()), machine.file)))
            if name not in groups.setdefault(kind, []):
                groups[kind].append(name)
        self.groups = dict(sorted(groups.items(), key=lambda g: -len(g[1])))

    def values(self, one: Series, members: Sequence[str]) -> dict[str, list[float]]:
        """Return node → the median of each of its sessions, of the nodes of a group, in their order."""
        found: dict[str, list[float]] = {name: [] for name in members}
        for session, runs in one.sessions().items():
            if (name := self.names[session]) in found:
                found[name].append(statistics.median(runs))
        return {name: medians for name, medians in found.items() if medians}


def _past(baseline: Results) -> dict[tuple[Hardware, Key], tuple[float, ...]]:
    """Return (hardware, number) → the median of each session of a baseline."""
    kinds = hardware.kinds(m.session for m in baseline.machines)
    of = {(m.file, m.session.session): kind for m, kind in zip(baseline.machines, kinds, strict=True)}
    found: dict[tuple[Hardware, Key], tuple[float, ...]] = {}
    for one in series.collect_some(baseline):
        for session, runs in one.sessions().items():
            key = of[session], one.key
            found[key] = (*found.get(key, ()), statistics.median(runs))
    return found


# --- what is odd -------------------------------------------------------------------------------------------


def _worst_first(odd: Iterable[Odd]) -> list[Odd]:
    by_node: dict[str, list[Odd]] = {}
    for one in odd:
        by_node.setdefault(one.node, []).append(one)

    def rank(one: Odd) -> tuple[int, float]:
        return WORDS.index(one.found.status), -abs(one.found.worse or 0.0)

    for members in by_node.values():
        members.sort(key=rank)
    nodes = sorted(
        by_node.values(), key=lambda members: (rank(members[0])[0], -len(members), rank(members[0]))
    )
    return [one for members in nodes for one in members]


def _missing(
    of: Sequence[Series], metrics: Sequence[Metric], members: Sequence[str]
) -> Iterable[tuple[str, tuple[str, ...]]]:
    """Return the numbers that some nodes of a group lack, a whole cell as one, and one that most lack as theirs who have it."""
    lacking: dict[str, dict[tuple[str, ...], list[Series]]] = {}
    for one, metric in zip(of, metrics, strict=True):
        without = tuple(name for name in members if name not in metric.values)
        lacking.setdefault(one.cell, {}).setdefault(without, []).append(one)
    for cell, found in lacking.items():
        for without, (first, *rest) in found.items():
            if without:
                more = f" and {fmt.plural(len(rest), 'more number', 'more numbers')}" if rest else ""
                yield cell if len(found) == 1 else f"{first.name}{more}", without


def _programs(collected: Iterable[Series]) -> list[str]:
    """Say where a tool's numbers come from different programs: they are never compared with one another."""
    by_tool: dict[str, list[str]] = {}
    for one in collected:
        if one.key.program not in by_tool.setdefault(one.key.tool, []):
            by_tool[one.key.tool].append(one.key.program)
    return [
        f"numbers of {tool} come from {fmt.words(programs)}: nodes with one are not compared with nodes with another"
        for tool, programs in by_tool.items()
        if len(programs) > 1
    ]


_TOO_MANY: Final = 0.25


def _scatter(odd: Iterable[Odd], nodes: int) -> Iterable[str]:
    """Say so where so many nodes look slow beside the others that it cannot be the nodes. What a site asks for is another matter."""
    slow = {one.node for one in odd if one.found.status == "suspicious" and not one.found.of_rule}
    if len(slow) >= LEAST_NODES and len(slow) > _TOO_MANY * nodes:
        yield (
            f"{len(slow)} of {fmt.count(nodes)} nodes look slow in something: the runs scatter, or the nodes were not idle. "
            "Longer runs and more repeats help more than a second look"
        )


def _differing(
    groups: Sequence[Group], sessions: Mapping[str, Sequence[Session]], odd: set[str]
) -> dict[str, tuple[str, ...]]:
    """Return odd node → facts that more than half of its group share and it does not."""
    out: dict[str, tuple[str, ...]] = {}
    for group in groups:
        suspects = [name for name in group.nodes if name in odd]
        found: dict[str, list[str]] = {name: [] for name in suspects}
        for fact in FACTS:
            if fact.hardware:
                continue
            said = {name: fact.text(sessions[name][-1].facts) for name in group.nodes}
            common, n = Counter(said.values()).most_common(1)[0]
            if not common or 2 * n <= len(group.nodes):
                continue
            for name in suspects:
                if said[name] != common:
                    found[name].append(f"{fact.words} {said[name] or 'not recorded'}, not {common}")
        out |= {name: tuple(words) for name, words in found.items() if words}
    return out


def _rerun(
    odd: Iterable[Odd],
    everywhere: Iterable[Everywhere],
    sessions: Mapping[str, Sequence[Session]],
    collected: Iterable[Series],
) -> dict[str, tuple[str, ...]]:
    """Return node → the sweeps to run again: those that are suspicious; of a node slow everywhere, all."""
    out: dict[str, dict[str, None]] = {}
    for one in odd:
        if one.found.status == "suspicious":
            out.setdefault(one.node, {})[one.series.key.sweep] = None
    sweeps = list(dict.fromkeys(one.key.sweep for one in collected))
    for whole in everywhere:
        if len(sessions[whole.name]) < CONFIRMED:
            out.setdefault(whole.name, {}).update(dict.fromkeys(sweeps))
    return {name: tuple(found) for name, found in out.items()}
