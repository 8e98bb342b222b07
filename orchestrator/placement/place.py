"""Where a cell runs: selectors in words, resolved on a topology to exact PUs and NUMA nodes. Pure.

    cpus      all | numa_node N | package N | core N | pu N          N: a number or a list `0,7`, `0-3`
              near DEVICE | near memory
              smt siblings | same cache | same package | other package | pair of packages A,B | pair of cores A,B
              each numa_node | each package | each core | each pair of packages | each pair of cores
    memory    local | remote | numa_node N | each numa_node | each memory-only node | interleave | any

NUMA nodes, packages and PUs are counted as the operating system does, cores as hwloc does (`lstopo`'s Core L#).
A selector is met exactly or refused with `Unplaceable`, which skips the cell. docs/selectors.md has the pictures.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Literal

from orchestrator.machine.cpulist import format_cpulist
from orchestrator.machine.topology import Cache, Core, Topology
from orchestrator.model import Group, Place, Placement
from orchestrator.placement.memory import group_with_memory, memory_only, nearest_with_cpus, pair_relation
from orchestrator.placement.selectors import NUMBERED_PAIRS, PAIRS, Selector, Selectors, Unplaceable, listed

Threads = int | Literal["cores"] | None
"""PUs per process: a number, one per core of the selection, or all."""

# --- from words to PUs ---


def resolve(place: Place, topology: Topology, *, threads: Threads, processes: int) -> tuple[Placement, ...]:
    """Return the Placements of a place: one, or one per object for `each …`, in order.

    `threads` is per process. None takes every PU of the selection. "cores" takes one PU per core, but all PUs of a pair
    and all PUs of a list. A process gets exactly `threads` PUs, first one per core, then SMT siblings. Cores are
    adjacent (compact) or alternate over packages and NUMA nodes (spread). Several processes never share a core. Each
    thread has a core if there are enough cores. `pu` lists give one PU per process, in list order.

    Raises Unplaceable if the machine cannot host the place, and UserError for an invalid selector.
    """
    return tuple(_resolve(one, topology, threads=threads, processes=processes) for one in expand_each(place, topology))


def expand_each(place: Place, topology: Topology) -> tuple[Place, ...]:
    """Return the places for every object in `each …`. A place without `each` is unchanged.

    "each numa_node" becomes "numa_node 1" in the name. The object is appended to a name from the user.

    Raises Unplaceable if the machine has no such object, and UserError for an invalid selector.
    """
    selectors = Selectors.of(place)
    places = [place]
    if (each := selectors.cpus.kind).startswith("each "):
        words = _every(each, topology)
        places = [dataclasses.replace(place, cpus=w, name=_name(place.name, each, w)) for w in words]
    if (each_memory := selectors.memory.kind).startswith("each "):
        label = "memory" if each == each_memory else "numa_node"
        nodes = _every_memory(each_memory, topology)
        places = [
            dataclasses.replace(p, memory=f"numa_node {n}", name=_name(p.name, each_memory, f"{label} {n}"))
            for p in places
            for n in nodes
        ]
    return tuple(places)


def _every_memory(kind: str, topology: Topology) -> list[int]:
    if kind == "each memory-only node":
        nodes_here = memory_only(topology)
        if not nodes_here:
            raise Unplaceable("each memory-only node: every NUMA node with memory has CPUs here")
        listed_nodes = format_cpulist(node.os_index for node in nodes_here)
        refusal = f"each memory-only node: numa_node {listed_nodes} may not be used here (cpuset)"
    else:
        nodes_here = tuple(node for node in topology.numa_nodes if node.has_memory)
        refusal = "memory on each numa_node: no NUMA node with memory is allowed here"
    if not (nodes := [node.os_index for node in nodes_here if node.allowed]):
        raise Unplaceable(refusal)
    return nodes


def _every(kind: str, topology: Topology) -> list[str]:
    unit = kind.removeprefix("each ")
    base = unit.removeprefix("pair of ").removesuffix("s") if unit in NUMBERED_PAIRS else unit
    usable = [n for n, cpus in _objects(base, topology).items() if topology.allowed_cpus.intersection(cpus)]
    words = (
        [f"{unit} {a},{b}" for a, b in itertools.combinations(usable, 2)]
        if unit in NUMBERED_PAIRS
        else [f"{unit} {n}" for n in usable]
    )
    if not words:
        raise Unplaceable(f"{kind}: {_inventory(topology)}")
    return words


def _objects(kind: str, topology: Topology) -> dict[int, tuple[int, ...]]:
    """Return the numbered objects of a kind → their PUs, in topology order."""
    match kind:
        case "pu":
            return {pu.os_index: (pu.os_index,) for pu in topology.pus}
        case "core":
            return {core.index: core.cpus for core in topology.cores}
        case "package":
            return {package.index: package.cpus for package in topology.packages}
        case "numa_node":
            return {node.os_index: node.cpus for node in topology.numa_nodes}
    raise ValueError(kind)


def _name(name: str, each: str, one: str) -> str:
    return name.replace(each, one, 1) if each in name else f"{name} ({one})"


def _resolve(place: Place, topology: Topology, *, threads: Threads, processes: int) -> Placement:
    if processes < 1 or (isinstance(threads, int) and threads < 1):
        raise ValueError(f"{processes} processes of {threads} threads")
    selectors = Selectors.of(place)
    if selectors.cpus.kind in (*PAIRS, *NUMBERED_PAIRS):
        pair = _pair(selectors.cpus, topology)
        if processes == 2 and threads in (1, None, "cores"):
            shares: list[tuple[int, ...]] = [(cpu,) for cpu in pair]
        elif processes == 1 and threads in (2, None, "cores"):
            shares = [pair]
        else:
            raise Unplaceable(
                f"{selectors.cpus} places two processes of one thread, or one of two; "
                f"asked for {processes} of {threads if isinstance(threads, int) else 'any number'}"
            )
    else:
        selected = _select(selectors.cpus, topology, selectors.memory)
        shares = _share(selectors.cpus, selected, topology, threads, processes, place.spread == "spread")
    groups = [group_with_memory(selectors.memory, cpus, topology) for cpus in shares]
    relation = _relation(selectors.cpus, {relation for _, relation in groups})
    return Placement(name=place.name, groups=tuple(group for group, _ in groups), relation=relation)


def _relation(cpus: Selector, memories: set[str]) -> str:
    """Return where the run is in words that mean the same on every machine: the pair's, then the memory's."""
    memory = memories.pop() if len(memories) == 1 else "mixed"
    where = "other package" if cpus.kind == "pair of packages" else cpus.kind
    if where not in ("all", *PAIRS):
        return memory
    if memory in ("local", ""):
        return where
    return memory if where == "all" else pair_relation(where, memory)


def _inventory(topology: Topology) -> str:
    """Return the inventory of the machine for error messages: `this machine has 1 package, 1 NUMA node, 2 cores, 2
    PUs`.
    """
    numbers = topology.numbers()
    names = {"packages": "package", "numa_nodes": "NUMA node", "cores": "core", "pus": "PU"}
    parts = [f"{numbers[key]} {name}{'' if numbers[key] == 1 else 's'}" for key, name in names.items()]
    return f"this machine has {', '.join(parts)}{_limits(topology)}"


def _limits(topology: Topology) -> str:
    shut = [pu.os_index for pu in topology.pus if pu.online and not pu.allowed]
    return f" (allowed: PUs {format_cpulist(topology.allowed_cpus)})" if shut else ""


# --- which PUs ---


def _select(selector: Selector, topology: Topology, memory: Selector) -> tuple[int, ...]:
    """Return the allowed PUs of a selector other than a pair, in selector order. `memory` is for `near memory`."""
    match selector.kind:
        case "all":
            return tuple(cpu for core in topology.cores for cpu in core.cpus if cpu in topology.allowed_cpus)
        case "near":
            return _near(selector, topology)
        case "near memory":
            return _near_memory(memory.numbers, topology)
    return _numbered(selector.kind, selector.numbers, topology)


def _numbered(kind: str, numbers: Iterable[int], topology: Topology) -> tuple[int, ...]:
    """Return the allowed PUs of numbered objects, in core order. Raises Unplaceable for an object without allowed PUs."""
    objects = _objects(kind, topology)
    selected: list[int] = []
    for number in numbers:
        if number not in objects:
            known = format_cpulist(objects)
            raise Unplaceable(f"there is no {kind} {number}: this machine has {kind} {known}")
        cpus = objects[number]
        if not cpus:  # only NUMA nodes can lack PUs
            known = format_cpulist(n for n, cpus in objects.items() if cpus)
            raise Unplaceable(f"numa_node {number} has no CPUs; nodes with CPUs: {known}")
        allowed = topology.allowed_cpus.intersection(cpus)
        if not allowed:
            raise Unplaceable(f"{kind} {number} {_why_not(cpus, topology)}")
        selected += sorted(allowed, key=lambda cpu: (topology.core_of[cpu], cpu))
    return tuple(selected)


def _why_not(cpus: Iterable[int], topology: Topology) -> str:
    cpus = set(cpus)
    if not any(pu.online for pu in topology.pus if pu.os_index in cpus):
        return "is offline"
    reason = f"may not be used here: allowed are PUs {format_cpulist(topology.allowed_cpus)}"
    if topology.isolated.issuperset(cpus):
        wider = format_cpulist(topology.allowed_cpus | cpus)
        return f"{reason}; it is isolated: `taskset -c {wider} pinsweep …` allows it"
    return f"{reason} (cpuset or affinity mask)"


def _near(selector: Selector, topology: Topology) -> tuple[int, ...]:
    devices = [device for device in topology.devices if device.name == selector.device] or [
        device  # a partition: nvme0n1p2, sda1
        for device in topology.devices
        if device.kind == "block" and re.fullmatch(rf"{re.escape(device.name)}p?\d+", selector.device)
    ]
    if not devices:
        names = ", ".join(sorted(device.name for device in topology.devices)) or "none that is known"
        raise Unplaceable(f"there is no device {selector.device!r}; block and net devices: {names}")
    node = devices[0].numa_node
    if node is None and len(topology.numa_nodes) == 1:
        node = topology.numa_nodes[0].os_index  # there is nothing else to be near to
    if node is None:
        raise Unplaceable(f"near {selector.device}: the kernel does not report its NUMA node")
    try:
        return _numbered("numa_node", [node], topology)
    except Unplaceable as error:
        raise Unplaceable(f"near {selector.device}: {error.reason}") from None


def _near_memory(nodes: Iterable[int], topology: Topology) -> tuple[int, ...]:
    """Return the allowed PUs of the NUMA node nearest to each memory node.

    If nodes are equally near, the first with allowed PUs is used.
    """
    objects = _objects("numa_node", topology)
    chosen: list[int] = []
    for node in nodes:
        if node not in objects:
            known = format_cpulist(objects)
            raise Unplaceable(f"there is no numa_node {node}: this machine has numa_node {known}")
        near = nearest_with_cpus(node, topology)
        chosen.append(next((n for n in near if topology.allowed_cpus.intersection(objects[n])), near[0]))
    return _numbered("numa_node", dict.fromkeys(chosen), topology)


def _share(
    selector: Selector,
    selected: Sequence[int],
    topology: Topology,
    threads: Threads,
    processes: int,
    spread: bool,
) -> list[tuple[int, ...]]:
    """Return the PUs of each process, in thread order."""

    def too_few(wanted: str, has: str) -> Unplaceable:
        if has.startswith("1 "):
            has = has.replace("PUs", "PU").replace("cores", "core")
        return Unplaceable(f"{selector} cannot hold {wanted}: it has {has}{_limits(topology)}")

    if selector.kind == "pu" and processes > 1 and threads in (None, 1, "cores"):
        if len(selected) < processes:
            raise too_few(f"{processes} processes", f"{len(selected)} PUs")
        return [(cpu,) for cpu in selected[:processes]]

    cores: dict[int, list[int]] = {}
    for cpu in selected:
        cores.setdefault(topology.core_of[cpu], []).append(cpu)
    if processes > len(cores):
        raise too_few(f"a core for each of {processes} processes", f"{len(cores)} cores")
    if processes == 1:
        blocks = [_turns(list(cores), topology) if spread else list(cores)]
    else:
        size = min(threads if isinstance(threads, int) else 1, len(cores) // processes)
        node_of = {core.index: core.numa_node for core in topology.cores}
        homes: dict[int | None, list[int]] = {}
        for core in cores:
            homes.setdefault(node_of[core], []).append(core)
        blocks = [block for home in homes.values() for block in _blocks(home, size)]
        if len(blocks) < processes:  # some process must straddle two NUMA nodes
            blocks = _blocks(list(cores), size)
        if spread:
            first = {block[0]: block for block in blocks}
            blocks = [first[core] for core in _turns(list(first), topology)]
        blocks = blocks[:processes]

    shares: list[tuple[int, ...]] = []
    for block in blocks:
        order = _round_robin([cores[core] for core in block])
        if isinstance(threads, int) and threads > len(order):
            each = " each" if processes > 1 else ""
            raise too_few(f"{threads} threads{each}", f"{len(order)} PUs{each}")
        if threads == "cores" and selector.kind != "pu":
            order = order[: len(block)]
        shares.append(tuple(order[:threads] if isinstance(threads, int) else order))
    return shares


def _blocks(cores: Sequence[int], size: int) -> list[list[int]]:
    """Cut a sequence into runs of `size`; a shorter rest is left out."""
    return [list(cores[i : i + size]) for i in range(0, len(cores) - size + 1, size)]


def _turns(cores: Sequence[int], topology: Topology) -> list[int]:
    """Return the cores in an order that alternates over packages, and over NUMA nodes in a package."""
    by_index = {core.index: core for core in topology.cores}
    packages: dict[int, dict[int | None, list[int]]] = {}
    for index in cores:
        core = by_index[index]
        packages.setdefault(core.package, {}).setdefault(core.numa_node, []).append(index)
    return _round_robin([_round_robin(list(nodes.values())) for nodes in packages.values()])


def _round_robin(lists: Sequence[Sequence[int]]) -> list[int]:
    return [item for turn in itertools.zip_longest(*lists) for item in turn if item is not None]


# --- pairs ---


def _pair(selector: Selector, topology: Topology) -> tuple[int, int]:
    """Return the two PUs of a pair selector: the first that fit, in order of core."""
    usable = {core.index: [c for c in core.cpus if c in topology.allowed_cpus] for core in topology.cores}
    cores = [core for core in topology.cores if usable[core.index]]
    pair: list[Core] = []
    reason = ""
    match selector.kind:
        case "smt siblings":
            for core in cores:
                if len(usable[core.index]) >= 2:
                    return usable[core.index][0], usable[core.index][1]
            reason = "no core has two PUs that may be used"
        case "same cache":
            if caches := _innermost_shared(cores, topology):
                pair = [core for core in cores if set(core.cpus) & set(caches[0].cpus)][:2]
            reason = "no two cores are known to share a cache"
        case "same package":
            pair = _same_package(cores, topology)
            reason = "no package has two cores"
        case "other package":
            first = {core.package: core for core in reversed(cores)}
            pair = [first[package] for package in sorted(first)[:2]] if len(first) > 1 else []
            reason = "there is only one that may be used"
        case _:
            unit = selector.kind.removeprefix("pair of ").removesuffix("s")
            known = {core.package if unit == "package" else core.index: core for core in reversed(cores)}
            if missing := [n for n in selector.numbers if n not in known]:
                reason = f"{unit} {listed(missing)} cannot be used"
            else:
                pair = [known[n] for n in selector.numbers]
    if not pair:
        raise Unplaceable(f"{selector}: {reason}; {_inventory(topology)}")
    return usable[pair[0].index][0], usable[pair[1].index][0]


def _innermost_shared(cores: Sequence[Core], topology: Topology) -> list[Cache]:
    """Return the caches above core level that two of the cores share, at the innermost shared level."""
    core_of = {cpu: core.index for core in cores for cpu in core.cpus}
    shared = [
        cache
        for cache in topology.caches
        if cache.level >= 2
        and cache.kind != "instruction"
        and len({core_of[cpu] for cpu in cache.cpus if cpu in core_of}) >= 2
    ]
    innermost = min((cache.level for cache in shared), default=0)
    return sorted(
        (cache for cache in shared if cache.level == innermost),
        key=lambda c: min(topology.core_of[cpu] for cpu in c.cpus),
    )


def _same_package(cores: Sequence[Core], topology: Topology) -> list[Core]:
    """Return two cores of one package, without a shared inner cache if there are such."""
    caches = enumerate(_innermost_shared(cores, topology))
    cluster = {cpu: number for number, cache in caches for cpu in cache.cpus}
    fallback: list[Core] = []
    for package in topology.packages:
        inside = [core for core in cores if core.package == package.index]
        for a, b in itertools.combinations(inside, 2):
            fallback = fallback or [a, b]
            if cluster.get(a.cpus[0], -1) != cluster.get(b.cpus[0], -2):
                return [a, b]
    return fallback


# --- the command line ---


def numactl(group: Group, numactl: str) -> tuple[str, ...]:
    """Return the numactl words that bind a process to its PUs and memory, to put before the command.

    PUs (0, 2, 1) and node (0,) give (`numactl`, `--physcpubind=0-2`, `--membind=0`, `--`); `numactl` is its path.
    """
    words = [numactl, f"--physcpubind={format_cpulist(group.cpus)}"]
    if group.membind:
        words.append(f"--membind={format_cpulist(group.membind)}")
    if group.interleave:
        words.append(f"--interleave={format_cpulist(group.interleave)}")
    return (*words, "--")


def where(placement: Placement | None) -> str:
    """Return the place as text: "CPUs 0,1", "CPUs 0 and 7, memory of node 1".

    PUs are in binding order of ranks and threads. Do not change these words. Result files store them as the name of a
    cell from --as-new, and the same command finds the cell by this name.
    """
    if placement is None:
        return "no CPU in particular"
    cpus = " and ".join(dict.fromkeys(listed(group.cpus) for group in placement.groups))
    nodes = sorted({node for group in placement.groups for node in (*group.membind, *group.interleave)})
    memory = f", memory of node {listed(nodes)}" if nodes else ""
    return f"CPU{'' if len(placement.cpus) == 1 else 's'} {cpus}{memory}"
