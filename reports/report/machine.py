"""The machine with what was measured on it: packages, NUMA nodes and their caches, links between nodes, disks. Pure.

A number stands where its run was placed: in the node whose CPUs and memory it used, between two nodes, on the disk behind its file. It
is one of the page's key numbers, of a cell each, so that a page says of no place what it says nowhere else.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import PurePath
from typing import Self

from orchestrator.machine.cpulist import format_cpulist, named_cpus
from orchestrator.machine.topology import Core, Cpus, NumaNode, Topology
from orchestrator.store.rows import Session
from reports.charts import chart_module, facets, wording
from reports.charts.chapter import STORAGE, AccessTime, Chapter, Spot
from reports.charts.soundness import is_hollow
from reports.numbers import formulas
from reports.page.model import Drawing, KeyNumber, Level, Node, Part
from reports.report import squares
from reports.report.key_numbers import best_of, doubted
from reports.report.links import MOST_LISTED, classes, pictures
from reports.results.convicted import Guilty
from reports.results.distances import distances
from reports.results.grouping import group_by
from reports.results.hardware import BEYOND, FITS, usable
from reports.results.model import Results, Run
from reports.text import format as fmt
from reports.text import hostlist

_MEASURED = "#2B7BBF"
_CORES = "cores"
"""The name of a part of a package that is no NUMA node."""

_ELSEWHERE = "has no number here; see the figures"

Machine = tuple[str, int]
"""A host, and which of the shapes it had."""

Key = tuple[str | int, ...]
"""A part of a machine: () is all of it, ("package", 0), ("node", 1), ("link", 0, 1), ("pair", 0, 1), ("disk", "nvme0n1")."""


def drawings(results: Results, chapters: Iterable[Chapter], guilty: Guilty) -> tuple[Drawing, ...]:
    """Return the drawing of each machine that runs with numbers are of; where the topology is not known, the nodes that a tool tells of
    itself, of each text alone."""
    sessions = [m.session for m in results.machines if m.session.topology and m.session.topology.cores]
    alike = list(group_by(sessions, _shape).values())
    machines = {
        (one.host, one.topology_text): _named(one.host, {other.host for other in own}, shape)
        for shape, own in enumerate(alike)
        for one in own
    }
    latest = {machines[one.host, one.topology_text]: one for one in sessions}

    def machine_of(runs: Sequence[Run]) -> Machine | None:
        """Return the machine that all of the runs, one at least, are of."""
        found = {machines.get((run.session.host, run.session.topology_text)) for run in runs}
        return found.pop() if len(found) == 1 else None

    chapters = list(chapters)
    spots = group_by(
        (_of_hosts(s) for c in chapters for s in c.on_machine), lambda s: machine_of(s.number.runs)
    )
    timed = (t for c in chapters for t in c.access_times if t.size and not is_hollow((t.run,)))
    times = group_by(timed, lambda t: machine_of((t.run,)))
    ran = group_by((r for tool in results.told for r in results.shown(tool)), lambda run: machine_of((run,)))
    devices = group_by(
        (item for c in chapters for item in c.devices.items()), lambda item: machine_of((item[0],))
    )
    disks = {machine: {device for _, device in own} for machine, own in devices.items()}
    known = (
        _called(_Measured.of(session, spots.get(machine, ()), times.get(machine, ()), ran.get(machine, ()), disks.get(machine, ()), guilty).drawn(), machine[0])
        for machine, session in latest.items()
        if machine in ran
    )  # fmt: skip
    found = (*_once(known), *_of_unknown(spots.get(None, ()), guilty))
    # the first is open: one with numbers, if there is one
    return tuple(sorted(found, key=lambda drawing: not drawing.measured))


def _named(host: str, alike: Collection[str], shape: int) -> Machine:
    """Return the machine of a host; so many hosts that they share their panels are one, whose numbers are their medians."""
    if len(alike) <= facets.MOST_HOSTS:
        return host, shape
    return f"{len(alike)} hosts alike ({hostlist.folded(alike)})", shape


def _called(drawing: Drawing, name: str) -> Drawing:
    """Return a drawing by the name of its machine; of several hosts with what its numbers are, if it has any."""
    of_several = name != drawing.host and drawing.measured
    return replace(drawing, host=f"{name}, the median of each number" if of_several else name)


def _of_hosts(spot: Spot) -> Spot:
    """Return a number as it is told of very many hosts: what they differ by is no unsteadiness."""
    if len({run.host for run in spot.number.runs}) <= facets.MOST_HOSTS:
        return spot
    return replace(spot, number=replace(spot.number, unsteady=False, spread="", repeats=""))


def _once(drawn: Iterable[Drawing]) -> Iterator[Drawing]:
    """Give each drawing; of hosts whose drawings say the same one, which names them."""
    for bare, alike in group_by(drawn, lambda one: replace(one, host="")).items():
        hosts = [one.host for one in alike]
        named = f"{len(hosts)} hosts alike ({hostlist.folded(hosts)})" if len(hosts) > 1 else hosts[0]
        yield replace(bare, host=named)


def _of_unknown(spots: Iterable[Spot], guilty: Guilty) -> Iterator[Drawing]:
    """Give the nodes that a tool tells of a machine whose topology is not known, with their links. Two captured texts may be of two
    machines, so none is joined to another.

    spots: numbers whose runs are of several machines, or of one without a topology.
    """
    for (host, text), own in group_by(spots, _unknown).items():
        pairs = {(s.source, s.target) for s in own if s.source is not None and s.target is not None}
        nodes = sorted({node for pair in pairs for node in pair})
        if not host or len(nodes) < 2:
            continue
        placed = group_by(own, lambda spot: _told_at(spot) or (("disk", spot.device) if spot.device else ()))
        numbers = {key: _numbers([spot.number for spot in of], guilty) for key, of in placed.items()}
        links = [Part(name=_link(key), numbers=numbers[key]) for key in sorted(numbers) if key[:1] == ("link",)]  # fmt: skip
        yield Drawing(
            host=own[0].number.runs[0].text or PurePath(text).name or host,
            machine=f"{fmt.plural(len(nodes), 'NUMA node')} of a machine whose topology is not known",
            numbers=numbers.get((), ()),
            levels=(),
            packages=tuple(_told_node(node, numbers.get(("node", node), ()), asks=any(a == node for a, _ in pairs)) for node in nodes),
            links=tuple(links),
            classes=_classes(own[0].number.runs[0].session, nodes, numbers),
            between=(between := pictures(nodes, numbers)),
            matrix="" if between else _matrix(own),
            lacking=_lacking(own),
            folded=bool(between) or len(links) > MOST_LISTED,
            disks=tuple(Part(name=str(key[1]), numbers=of) for key, of in numbers.items() if key[:1] == ("disk",)),
        )  # fmt: skip


def _unknown(spot: Spot) -> tuple[str, str]:
    """Return the host of its runs and, of a captured one, the name of the text; "" as host where they are of several, or where a
    topology is known."""
    runs = spot.number.runs
    of = {(run.host, run.record.capture.file if run.record.capture else "") for run in runs}
    known = any(run.session.topology and run.session.topology.cores for run in runs)
    return of.pop() if len(of) == 1 and not known else ("", "")


def _told_node(node: int, numbers: tuple[KeyNumber, ...], *, asks: bool) -> Part:
    """asks: did its own CPUs ask for memory? Memory of CXL has none."""
    instead = "not measured" if asks else "asked for from other nodes alone"
    return Part(name=f"node {node}", memory=Part(name="Memory", numbers=numbers, instead=instead))


def _shape(session: Session) -> Hashable:
    """Return what makes two machines of one name one, of a session with a topology: after a boot it may have a little less memory, or another disk."""
    topology = session.topology
    assert topology
    return (topology.cores, tuple(node.os_index for node in topology.numa_nodes), topology.caches)


def _key(spot: Spot, topology: Topology) -> Key:
    if spot.device:
        return ("disk", spot.device)
    return _told_at(spot) or _of_run(spot.number.runs[0], topology)


def _told_at(spot: Spot) -> Key | None:
    """Return the node or the link that the tool says a number is of."""
    if spot.source is None or spot.target is None:
        return None
    if spot.both_ways and spot.source != spot.target:
        return ("pair", *sorted((spot.source, spot.target)))
    return ("node", spot.source) if spot.source == spot.target else ("link", spot.source, spot.target)


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
    """Return of each name, program, direction and place the best, in the page's order. What it is held against has a place of its own."""
    here = (replace(n, context=n.alone, beside=()) if n.alone is not None else n for n in candidates)
    alike = group_by(doubted(here, guilty), lambda n: (n.name, n.program, n.better, n.runs[0].place))
    return tuple(sorted((best_of(same) for same in alike.values()), key=lambda n: n.rank))


def _picked(numbers: Iterable[KeyNumber]) -> str:
    """Return which of several some numbers are, where that is not the best."""
    return " ".join(
        dict.fromkeys(getattr(chart_module(n.runs[0].tool), "PICKED", "") for n in numbers if n.runs)
    ).strip()


def _lacking(spots: Iterable[Spot]) -> str:
    """Return what to do to know the shares of some numbers: once for all of them."""
    return " ".join(dict.fromkeys(spot.number.lacks for spot in spots if spot.number.lacks))


def _classes(
    session: Session, nodes: Sequence[int], numbers: Mapping[Key, Sequence[KeyNumber]]
) -> tuple[Part, ...]:
    return classes(nodes, numbers, distances(session, permutations(nodes, 2)))


def _matrix(spots: Iterable[Spot]) -> str:
    """Return the id of the first figure that has numbers between nodes; "" without one."""
    return next((spot.figure for spot in spots if spot.figure and spot.source != spot.target), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reach:
    """The PUs and the nodes' memory that some runs used."""

    pus: Cpus
    memory: frozenset[int]

    @classmethod
    def of(cls, runs: Iterable[Run]) -> Self:
        """Return what they were bound to: nothing of one that was not placed."""
        groups = [group for run in runs for group in run.placed]
        bound = (node for group in groups for node in (*group.membind, *group.interleave))
        return cls(pus=frozenset(cpu for group in groups for cpu in group.cpus), memory=frozenset(bound))

    def touches(self, pus: Cpus, memory: frozenset[int]) -> bool:
        return not (self.pus.isdisjoint(pus) and self.memory.isdisjoint(memory))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cache:
    """The caches of a level, and the time of one access to what fits in them, where it was measured."""

    name: str
    size: str
    time: AccessTime | None
    like_memory: bool = False  # no run tells that time apart from one of memory: others may fill the cache


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """A machine, and the numbers and the times of accesses that are of its parts."""

    session: Session
    topology: Topology
    numbers: Mapping[Key, tuple[KeyNumber, ...]]
    times: Mapping[Key, Sequence[AccessTime]]
    together: _Reach  # of the numbers that are drawn
    ran: _Reach  # of every run that gave a number
    loose: bool  # is a number that is drawn of runs that were not placed?
    disks: frozenset[str]  # that their I/Os went to
    lacking: str
    matrix: str  # the figure of its links
    guilty: Guilty

    @classmethod
    def of(
        cls, session: Session, spots: Sequence[Spot], times: Sequence[AccessTime], ran: Sequence[Run], disks: Collection[str], guilty: Guilty
    ) -> Self:  # fmt: skip
        """Return each at its part. The session's topology is known."""
        topology = session.topology
        assert topology
        placed = group_by(spots, lambda spot: _key(spot, topology))
        numbers = {key: _numbers([spot.number for spot in own], guilty) for key, own in placed.items()}
        shown = {run for key, own in numbers.items() if key[:1] != ("disk",) for n in own for run in n.runs}
        shown -= {run for spot in spots if spot.source is not None for run in spot.number.runs}
        paired = [run for spot in spots if spot.both_ways for run in spot.number.runs]
        every = any(not run.placed for run in paired)  # the tool itself went from core to core
        cores = topology.allowed_cpus if every else _Reach.of(paired).pus
        together = _Reach.of(shown)
        return cls(
            session=session,
            topology=topology,
            numbers=numbers,
            times=group_by(times, lambda time: _of_run(time.run, topology)),
            together=replace(together, pus=together.pus | cores),  # from core to core no memory is asked
            ran=_Reach.of(ran),
            loose=any(not run.placed for run in shown),
            disks=frozenset(disks),
            lacking=_lacking(spots),
            matrix=_matrix(spots),
            guilty=guilty,
        )

    def drawn(self) -> Drawing:
        """Return packages with their nodes, and beside them memory without CPUs (CXL, HBM) and nodes that lie in several packages."""
        boxes = self._boxes()
        inside = {node.os_index for own in boxes.values() for node, _ in own if node}
        every = [
            *self._timed(self.topology.allowed_cpus, self.times.get((), ())),
            *(cache for own in boxes.values() for box in own for cache in self._caches(*box)),
        ]
        timed = [cache.time for cache in every if cache.time]
        common = _common(timed)
        used = self.together.pus | _Reach.of([time.run for time in timed]).pus
        packages = [
            self._package(index, [self._node(*box, used, common) for box in own])
            for index, own in boxes.items()
        ]
        outside = group_by(
            (n for n in self.topology.numa_nodes if n.os_index not in inside), self._holds_nothing
        )
        packages += [self._node(n, (), used, common) for n in outside.get(False, ())]
        packages += _hollow(outside.get(True, ()))
        links = [
            Part(name=_link(key), numbers=own)
            for key, own in sorted(self.numbers.items(), key=lambda item: tuple(map(str, item[0])))
            if key[:1] in (("link",), ("pair",))
        ]
        nodes = [node.os_index for node in self.topology.numa_nodes]
        between = pictures(nodes, self.numbers)
        return Drawing(
            host=self.session.host,
            machine=usable(self.topology),
            numbers=self.numbers.get((), ()),
            levels=tuple(
                self._level(cache, common)
                for cache in self._timed(self.topology.allowed_cpus, self.times.get((), ()))
                if cache.time
            ),
            loose=self.loose or any(not time.run.placed for time in timed),
            timed=f"In a cache: {common[0][:1].lower()}{', '.join(common)[1:]}." if common else "",
            picked=_picked(n for own in self.numbers.values() for n in own),
            packages=tuple(packages),
            links=tuple(links),
            classes=_classes(self.session, nodes, self.numbers),
            between=between,
            matrix="" if between else self.matrix,
            lacking=self.lacking,
            folded=bool(between) or len(links) > MOST_LISTED,
            disks=tuple(disk for disk, at in self._disks() if at is None),
        )

    def _holds_nothing(self, node: NumaNode) -> bool:
        """Has a node neither CPUs nor memory, nor a number? Linux keeps such for the memory of a GPU."""
        numbered = {index for key in self.numbers if key[:1] != ("package",) for index in key[1:]}
        return not (node.cpus or node.memory_bytes or node.os_index in numbered)

    def _boxes(self) -> dict[int, list[tuple[NumaNode | None, Sequence[Core]]]]:
        """Return package → its NUMA nodes and their cores; None of cores whose node is in other packages, too, or is not told."""
        nodes = {node.os_index: node for node in self.topology.numa_nodes}
        around = group_by(self.topology.cores, lambda core: core.numa_node)
        whole = {node for node, cores in around.items() if len({core.package for core in cores}) == 1}
        by_package = group_by(self.topology.cores, lambda core: core.package)
        return {
            package.index: [
                (nodes.get(node) if node is not None and node in whole else None, cores)
                for node, cores in group_by(by_package.get(package.index, ()), lambda c: c.numa_node).items()
            ]
            for package in self.topology.packages
        }

    def _package(self, index: int, nodes: Sequence[Part]) -> Part:
        """Return a package with its nodes; one that is a node is one box."""
        name = f"Package {index}" if len(self.topology.packages) > 1 else "Package"
        own = self.numbers.get(("package", index), ())
        if len(nodes) == 1:
            (node,) = nodes
            named = (
                f"{name}, {node.name}" if node.name != _CORES and len(self.topology.numa_nodes) > 1 else name
            )
            return replace(node, name=named, numbers=(*own, *node.numbers))
        cpus = frozenset(next(p.cpus for p in self.topology.packages if p.index == index))
        return Part(name=name, numbers=own, parts=tuple(nodes), instead=self._instead(cpus, frozenset()))

    def _node(self, node: NumaNode | None, cores: Sequence[Core], used: Cpus, common: Sequence[str]) -> Part:
        """node: None of cores whose node is no part of their package; cores: () of a node that is none of one package; used: the PUs of
        all numbers that are drawn; common: what holds of all times of caches."""
        cpus = _cpus(cores)
        found = group_by(self.numbers.get(("node", node.os_index), ()) if node else (), _is_of_memory)
        of_memory = tuple(found.get(True, ()))
        size = fmt.size(node.memory_bytes) if node and node.memory_bytes else ""
        kind = node.kind if node and node.kind not in ("", "DRAM") else "Memory"
        own = frozenset({node.os_index} if node else ())
        cached = any(number.name == wording.IDLE for number in found.get(False, ()))
        linked = node and any(key[0] == "link" and key[2] == node.os_index for key in self.numbers if key)
        none = (
            "only buffers that fit in a cache were walked over"
            if cached
            else "measured from other nodes"
            if linked
            else self._instead(frozenset(), own)
        )
        memory = Part(name=kind, detail=size, numbers=of_memory, instead=none)
        near = cpus or frozenset(node.cpus if node else ())
        return Part(
            name=f"node {node.os_index}" if node else _CORES,
            detail=named_cpus(near) if near else "no CPUs",
            disks=tuple(disk for disk, at in self._disks() if node and at == node.os_index),
            squares=self._squares(cores, used) if cores else None,
            levels=tuple(self._level(cache, common) for cache in self._caches(node, cores)),
            numbers=tuple(found.get(False, ())),
            memory=memory if size or of_memory else None,
            instead=self._instead(near, own) if near or not size else "",  # of memory alone it says all there is
        )  # fmt: skip

    def _squares(self, cores: Sequence[Core], used: Cpus) -> Node:
        """Return the picture of some cores, as wide as where they stand allows."""
        beside = len({core.package for core in self.topology.cores}) > 1 or len(self.topology.numa_nodes) > 1
        room = squares.ROOM if beside else squares.ROOM_ALONE
        return squares.node("", cores, self.topology, dict.fromkeys(used, _MEASURED), bound=False, room=room)

    def _instead(self, cpus: Cpus, memory: frozenset[int]) -> str:
        """Return what is said of a part without a number of its own."""
        if self.together.touches(cpus, memory):
            return "measured only together with other parts"
        if self.loose:
            return "perhaps used by runs that were not placed"
        return _ELSEWHERE if self.ran.touches(cpus, memory) else "not measured"

    def _caches(self, node: NumaNode | None, cores: Sequence[Core]) -> list[_Cache]:
        """Return the caches of these cores, with the times of what was asked for by their PUs alone."""
        cpus = _cpus(cores)
        if node:
            return self._timed(cpus, self.times.get(("node", node.os_index), ()))
        near = (t for key, own in self.times.items() if key[:1] == ("node",) for t in own)
        return self._timed(cpus, [t for t in near if t.run.placed and _Reach.of([t.run]).pus <= cpus])

    def _timed(self, cpus: Cpus, times: Sequence[AccessTime]) -> list[_Cache]:
        """Return the caches of these PUs, the smallest first, each with the time of one access to the largest buffer that lies in it
        and in none below, where there is one; of several such the lowest. None where that is mostly the timer."""
        caches = [
            (cache.level, cache.size_bytes)
            for cache in self.topology.caches
            if cache.kind != "instruction" and cache.size_bytes and not cpus.isdisjoint(cache.cpus)
        ]
        out: list[_Cache] = []
        below = 0
        for level, alike in sorted(group_by(caches, lambda c: c[0]).items()):
            sizes = sorted(size for _, size in alike)
            inside = [t for t in times if t.size and below < t.size <= FITS * sizes[0] and t.plain]
            found = max(inside, key=lambda t: (t.size or 0.0, -t.median), default=None)
            found = None if found and found.bound else found
            each = " to ".join(dict.fromkeys((fmt.size(sizes[0]), fmt.size(sizes[-1]))))
            count = f"{len(sizes)} × " if len(sizes) > 1 else ""
            found = None if found and found.repeats is None else found
            out.append(_Cache(name=f"L{level}", size=f"{count}{each}", time=found))
            below = sizes[-1]
        of_memory = [t for t in times if (t.size or 0.0) >= BEYOND * below and t.plain]
        return [replace(cache, like_memory=_like_one(cache.time, of_memory)) for cache in out]

    def _level(self, cache: _Cache, common: Sequence[str]) -> Level:
        time = cache.time
        if time is None or time.repeats is None:
            return Level(name=cache.name, size=cache.size)
        number = wording.key_number(
            time.name, time.repeats, "ns", time.source, 0, [time.run], metric=time.metric
        )
        told = ", ".join(word for word in _circumstances(time) if word not in common)
        told = "; ".join(filter(None, (told, "not told apart from memory" if cache.like_memory else "")))
        return Level(name=cache.name, size=cache.size, number=next(doubted([number], self.guilty)), told=told)

    def _disks(self) -> Iterator[tuple[Part, int | None]]:
        """Give the disks that have numbers or that runs without a number here wrote to or read, each with the NUMA node at which it
        hangs: the only one, or that the machine tells of; else None."""
        nodes = [node.os_index for node in self.topology.numa_nodes]
        told = {device.name: device.numa_node for device in self.topology.devices}
        numbered = {str(key[1]): own for key, own in self.numbers.items() if key[:1] == ("disk",)}
        known = self.disks - {STORAGE} or (frozenset() if numbered else self.disks)
        disks: dict[str, tuple[KeyNumber, ...]] = {**dict.fromkeys(known, ()), **numbered}
        for name, own in sorted(disks.items()):
            at = nodes[0] if len(nodes) == 1 else told.get(name)
            yield Part(name=name, numbers=own, instead=_ELSEWHERE), at if at in nodes else None


def _hollow(nodes: Sequence[NumaNode]) -> Iterator[Part]:
    """Give one part for all nodes that hold nothing."""
    if nodes:
        noun = "nodes" if len(nodes) > 1 else "node"
        yield Part(name=f"{noun} {format_cpulist(n.os_index for n in nodes)}", detail="no CPUs, no memory")


def _common(times: Sequence[AccessTime]) -> tuple[str, ...]:
    """Return the circumstances that all of some times share: they are told once."""
    every = [_circumstances(time) for time in times]
    return tuple(word for word in every[0] if all(word in of for of in every)) if every else ()


def _like_one(time: AccessTime | None, others: Iterable[AccessTime]) -> bool:
    """Is there one of the others, told by the same program, from which the repeats do not tell it apart?"""
    if time is None or time.repeats is None:
        return False
    alike = (
        t.repeats for t in others if t.source == time.source and t.statistic == time.statistic and t.repeats
    )
    return any(not formulas.differs(time.repeats, repeats) for repeats in alike)


def _circumstances(time: AccessTime) -> tuple[str, ...]:
    """Return what was timed, of what, and by which program."""
    return (*(time.words or (time.name,)), time.source)


def _cpus(cores: Iterable[Core]) -> Cpus:
    return frozenset(cpu for core in cores for cpu in core.cpus)


def _is_of_memory(number: KeyNumber) -> bool:
    """Is it of the memory of a node, and not of what may all have been in its caches?"""
    return number.of_memory or (
        not number.name.startswith((wording.IDLE, "Cache to cache"))
        and chart_module(number.runs[0].tool).SECTION == "Memory"
    )


def _link(key: Key) -> str:
    kind, a, b = key
    return f"node {a} → memory of node {b}" if kind == "link" else f"node {a} ↔ node {b}"
