"""The machine with what was measured on it: packages, NUMA nodes and their caches, links between nodes, disks. Pure.

A number stands where its run was placed: in the node whose CPUs and memory it used, between two nodes, on the disk behind its file. It
is one of the page's key numbers, of a cell each, so that a page says of no place what it says nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from orchestrator.machine.cpulist import named_cpus
from orchestrator.machine.topology import Cache, Cpus, NumaNode, Topology
from reports.charts import chart_module, wording
from reports.charts.chapter import AccessTime, Chapter, Spot
from reports.page.model import Drawing, KeyNumber, Level, Part
from reports.report.key_numbers import best_of, doubted
from reports.report.placement import block
from reports.results.convicted import Guilty
from reports.results.grouping import group_by
from reports.results.hardware import counted
from reports.results.model import Results, Run
from reports.text import format as fmt

_MEASURED = "#2B7BBF"
_MOST_LINKS = 6
"""Links beyond are listed when asked for."""

Key = tuple[str | int, ...]
"""A part of a machine: () is all of it, ("package", 0), ("node", 1), ("link", 0, 1), ("pair", 0, 1), ("disk", "nvme0n1")."""


def drawing(results: Results, chapters: Iterable[Chapter], guilty: Guilty) -> Drawing | None:
    """Return the drawing of the one machine that the runs are of; None where there are several, where its topology is not known, or
    where no number has a place on it."""
    sessions = {
        (m.host, m.session.topology_text): m.session for m in results.machines if m.session.topology_text
    }
    if len(sessions) != 1 or len({m.host for m in results.measured}) > 1:
        return None
    session = next(iter(sessions.values()))
    topology = session.topology
    if topology is None or not topology.cores:
        return None
    chapters = list(chapters)
    text = session.topology_text
    spots = [spot for chapter in chapters for spot in chapter.on_machine if _knows(spot.number.runs, text)]
    placed = group_by(spots, lambda spot: _key(spot, topology))
    numbers = {key: _numbers([spot.number for spot in own], guilty) for key, own in placed.items()}
    times = [t for chapter in chapters for t in chapter.access_times if t.size and _knows((t.run,), text)]
    levels = group_by(times, lambda t: _of_run(t.run, topology))
    if not numbers and not levels:
        return None
    return _drawn(session.host, topology, numbers, levels, guilty)


def _knows(runs: Sequence[Run], text: str) -> bool:
    """Are all of the runs, one at least, of the machine that this text describes?"""
    return bool(runs) and all(run.session.topology_text == text for run in runs)


def _key(spot: Spot, topology: Topology) -> Key:
    if spot.device:
        return ("disk", spot.device)
    if spot.source is not None and spot.target is not None:
        return ("node", spot.source) if spot.source == spot.target else ("link", spot.source, spot.target)
    return _of_run(spot.number.runs[0], topology)


def _of_run(run: Run, topology: Topology) -> Key:
    """Return the smallest part of the machine that holds the CPUs and the memory of a run; all of it, where it was not placed."""
    nodes = [{topology.node_of.get(cpu) for cpu in group.cpus} for group in run.placed]
    memory = [{*group.membind, *group.interleave} for group in run.placed]
    asking: set[int | None] = set().union(*nodes)
    asked = {node for own, bound in zip(nodes, memory, strict=True) for node in (bound or own)}
    if not asking or None in asking:
        return _only(topology)
    if len(asking) == 1 and len(asked) == 1:
        (a,), (b,) = asking, asked
        return ("node", _int(a)) if a == b else ("link", _int(a), _int(b))
    if len(run.placed) == 2 and len(asking) == 2 and asking == asked and all(len(n) == 1 for n in nodes):
        return ("pair", *sorted(map(_int, asking)))
    packages = {core.package for core in topology.cores if core.numa_node in asking | asked}
    near = {core.numa_node for core in topology.cores if core.package in packages}
    if len(packages) == 1 and asked <= near and len(topology.packages) > 1:
        return ("package", packages.pop())
    return ()


def _only(topology: Topology) -> Key:
    """Return the one node of a machine that has no more; else all of it."""
    nodes = [node.os_index for node in topology.numa_nodes]
    return ("node", nodes[0]) if len(nodes) == 1 else ()


def _int(node: int | None) -> int:
    assert node is not None
    return node


def _numbers(candidates: Sequence[KeyNumber], guilty: Guilty) -> tuple[KeyNumber, ...]:
    """Return of each name, program and place the best, in the page's order."""
    alike = group_by(doubted(candidates, guilty), lambda n: (n.name, n.program, n.runs[0].place))
    return tuple(sorted((best_of(same) for same in alike.values()), key=lambda n: n.rank))


def _drawn(
    host: str,
    topology: Topology,
    numbers: Mapping[Key, tuple[KeyNumber, ...]],
    levels: Mapping[Key, Sequence[AccessTime]],
    guilty: Guilty,
) -> Drawing:
    used = _used(numbers, levels)
    left = {node.os_index: node for node in topology.numa_nodes}
    packages = []
    for package in topology.packages:
        inside = dict.fromkeys(core.numa_node for core in topology.cores if core.package == package.index)
        nodes = [
            _node(
                node,
                None if node is None else left.pop(node, None),
                package.cpus,
                topology,
                used,
                numbers,
                levels,
                guilty,
            )
            for node in inside
        ]
        packages.append(_package(package.index, nodes, topology, numbers))
    packages += [
        _node(index, node, (), topology, used, numbers, levels, guilty) for index, node in left.items()
    ]  # memory without CPUs: CXL, HBM
    links = [
        Part(name=_link(key), numbers=own)
        for key, own in sorted(numbers.items(), key=lambda item: tuple(map(str, item[0])))
        if key[:1] in (("link",), ("pair",))
    ]
    return Drawing(
        host=host,
        machine=fmt.words(counted(topology)),
        numbers=numbers.get((), ()),
        levels=tuple(
            level
            for level in _levels(topology, levels.get((), ()), topology.allowed_cpus, guilty)
            if level.number
        ),
        packages=tuple(packages),
        links=tuple(links),
        folded=len(links) > _MOST_LINKS,
        disks=tuple(
            _disk(str(key[1]), own, topology) for key, own in numbers.items() if key[:1] == ("disk",)
        ),
    )


def _used(numbers: Mapping[Key, Sequence[KeyNumber]], levels: Mapping[Key, Sequence[AccessTime]]) -> Cpus:
    """Return the PUs that the runs of these numbers were pinned to."""
    runs = {run for own in numbers.values() for number in own for run in number.runs}
    runs |= {t.run for own in levels.values() for t in own}
    return frozenset(cpu for run in runs for group in run.placed for cpu in group.cpus)


def _package(
    index: int, nodes: Sequence[Part], topology: Topology, numbers: Mapping[Key, tuple[KeyNumber, ...]]
) -> Part:
    """Return a package with its nodes; one that is a node is one box."""
    name = f"Package {index}" if len(topology.packages) > 1 else "Package"
    own = numbers.get(("package", index), ())
    if len(nodes) == 1:
        (node,) = nodes
        named = f"{name}, {node.name}" if len(topology.numa_nodes) > 1 else name
        return replace(node, name=named, numbers=(*own, *node.numbers))
    return Part(name=name, numbers=own, parts=tuple(nodes))


def _node(
    index: int | None,
    node: NumaNode | None,
    package: Sequence[int],
    topology: Topology,
    used: Cpus,
    numbers: Mapping[Key, tuple[KeyNumber, ...]],
    levels: Mapping[Key, Sequence[AccessTime]],
    guilty: Guilty,
) -> Part:
    """node: None of cores that no NUMA node is told of; package: the PUs of the package that it is in."""
    cores = [core for core in topology.cores if core.numa_node == index and set(core.cpus) <= set(package)]
    cpus = [cpu for core in cores for cpu in core.cpus]
    key: Key = ("node", index) if index is not None else ()
    memory = fmt.size(node.memory_bytes) if node and node.memory_bytes else ""
    kind = node.kind if node and node.kind not in ("", "DRAM") else ""
    found = group_by(numbers.get(key, ()) if key else (), _is_of_memory)
    return Part(
        name=f"node {index}" if index is not None else "cores",
        detail=named_cpus(cpus) if cpus else "no CPUs",
        squares=block("", [core.cpus for core in cores], dict.fromkeys(used, _MEASURED), bound=False) if cores else None,
        levels=_levels(topology, levels.get(key, ()) if key else (), frozenset(cpus), guilty),
        numbers=tuple(found.get(False, ())),
        memory=Part(name=f"{kind or 'Memory'}", detail=memory, numbers=tuple(found.get(True, ()))) if memory or found.get(True) else None,
    )  # fmt: skip


def _is_of_memory(number: KeyNumber) -> bool:
    return chart_module(number.runs[0].tool).SECTION == "Memory"


def _levels(topology: Topology, times: Sequence[AccessTime], cpus: Cpus, guilty: Guilty) -> tuple[Level, ...]:
    """Return the caches of these PUs, the smallest first, each with the time of one access to the largest buffer that fits in it and
    in none below, where there is one."""
    own = [
        c for c in topology.caches if c.kind != "instruction" and c.size_bytes and not cpus.isdisjoint(c.cpus)
    ]
    out, below = [], 0.0
    for level, alike in sorted(group_by(own, lambda c: c.level).items()):
        size = min(_size(cache) for cache in alike)
        inside = [t for t in times if t.size and below < t.size <= size and not t.bound]
        found = max(inside, key=lambda t: t.size or 0.0, default=None)
        sizes = {_size(cache) for cache in alike}
        count = f"{len(alike)} × " if len(alike) > 1 else ""
        each = fmt.size(size) if len(sizes) == 1 else f"{fmt.size(size)} to {fmt.size(max(sizes))}"
        out.append(
            Level(name=f"L{level}", size=f"{count}{each}", number=_time(found, guilty) if found else None)
        )
        below = max(sizes)
    return tuple(out)  # fmt: skip


def _size(cache: Cache) -> int:
    return cache.size_bytes or 0


def _time(time: AccessTime, guilty: Guilty) -> KeyNumber | None:
    if time.repeats is None:
        return None
    number = wording.key_number(time.name, time.repeats, "ns", time.source, 0, [time.run], metric="latency")
    return next(iter(doubted([number], guilty)))


def _link(key: Key) -> str:
    kind, a, b = key
    return f"node {a} → memory of node {b}" if kind == "link" else f"node {a} ↔ node {b}"


def _disk(name: str, numbers: tuple[KeyNumber, ...], topology: Topology) -> Part:
    node = next((device.numa_node for device in topology.devices if device.name == name), None)
    several = len(topology.numa_nodes) > 1
    return Part(name=name, detail=f"at node {node}" if several and node is not None else "", numbers=numbers)
