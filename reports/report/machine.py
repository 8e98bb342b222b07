"""The machine with the measured numbers: packages, NUMA nodes, PUs, caches, links and disks. Pure.

A number belongs to the part where the run was placed: a node, a link between two nodes, or a disk.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from orchestrator.machine.cpulist import format_cpulist, parse_cpulist
from orchestrator.machine.topology import Core, Topology
from reports.page.model import KeyNumber, Machine, Part, Squares
from reports.report.head import best_of, key_number
from reports.results.grouping import group_by
from reports.results.hardware import BEYOND, FITS, usable
from reports.results.model import Results
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

MAX_MACHINES: Final = 8
MAX_LINKS: Final = 8
MAX_NUMBERED: Final = 64  # maximum of cores with PU numbers in the drawing
USED, UNUSED = "#2B7BBF", "#E3E6EA"

Key = tuple[str | int, ...]
"""A part of a machine: () is all of it, ("package", 0), ("node", 1), ("link", 0, 1), ("disk", "nvme0n1")."""


def machines(results: Results, cells: pd.DataFrame, runs: pd.DataFrame) -> tuple[Machine, ...]:
    """Return a drawing per machine with a known topology. Machines with numbers come first. Hosts with equal
    topology and without numbers share a drawing.

    `cells` holds key numbers (`reports.tools.base.KEY_COLUMNS`) with the `pus` and `memory_nodes` of the runs. `runs`
    covers all tools.
    """
    latest = {m.host: m.session.topology for m in results.machines if m.session.topology and m.session.topology.cores}
    drawn = []
    for host, topology in latest.items():
        host_cells = cells[cells["host"] == host] if len(cells) else cells
        pus = frozenset(
            cpu for text in runs.loc[(runs["host"] == host) & runs["counts"], "pus"].unique() for cpu in _cpus(text)
        )
        drawn.append(_machine(host, topology, host_cells, pus))
    numbered = [drawing for drawing in drawn if any(_numbers_of(drawing))]
    return tuple((numbered or drawn[:1])[:MAX_MACHINES])


def _numbers_of(machine: Machine) -> Iterator[KeyNumber]:
    yield from machine.numbers
    parts = list(machine.parts)
    while parts:
        part = parts.pop()
        yield from part.numbers
        yield from (number for _, number in part.caches if number)
        parts += part.parts


def _machine(host: str, topology: Topology, cells: pd.DataFrame, pus: frozenset[int]) -> Machine:
    largest = max((cache.size_bytes or 0 for cache in topology.caches), default=0)
    placed: dict[Key, list[dict[Any, Any]]] = group_by(cells.to_dict("records"), lambda row: part_of(row, topology))
    caches = {
        key: [row for row in rows if _is(row["size"]) and row["size"] < BEYOND * largest]
        for key, rows in placed.items()
    }
    numbers = {key: _best(row for row in rows if row not in caches[key]) for key, rows in placed.items()}
    nodes = {node.os_index: node for node in topology.numa_nodes}
    packages = []
    for package in topology.packages:
        cores = [core for core in topology.cores if core.package == package.index]
        parts = []
        for node, inside in group_by(cores, lambda core: core.numa_node).items():
            key: Key = ("node", -1 if node is None else node)
            memory = nodes[node].memory_bytes if node in nodes else None
            cpus = format_cpulist(cpu for core in inside for cpu in core.cpus)
            detail = ", ".join(filter(None, (f"CPUs {cpus}", fmt.size(memory) if memory else "")))
            parts.append(
                Part(
                    name="" if node is None else f"node {node}", kind="node", detail=detail, squares=squares(inside, topology, pus),
                    caches=tuple(_caches(inside, topology, caches.get(key, []))), numbers=numbers.get(key, ()),
                )
            )  # fmt: skip
        packages.append(
            Part(
                name=f"package {package.index}",
                kind="package",
                numbers=numbers.get(("package", package.index), ()),
                parts=tuple(parts),
            )
        )
    memory_only = [n for n in topology.numa_nodes if not n.cpus and n.has_memory]
    packages += [
        Part(
            name=f"node {n.os_index}",
            kind="node",
            detail=f"{n.kind or 'memory'} without CPUs",
            numbers=numbers.get(("node", n.os_index), ()),
        )
        for n in memory_only
    ]
    links = [
        Part(name=f"node {key[1]} → memory of node {key[2]}", kind="link", numbers=part_numbers)
        for key, part_numbers in sorted(numbers.items(), key=str)
        if key[:1] == ("link",)
    ]
    disks = [
        Part(name=str(key[1]), kind="disk", numbers=part_numbers)
        for key, part_numbers in sorted(numbers.items(), key=str)
        if key[:1] == ("disk",)
    ]
    return Machine(
        host=host,
        layout=usable(topology),
        numbers=numbers.get((), ()),
        parts=(*packages, *links[:MAX_LINKS], *disks),
    )


def _best(rows: Iterable[Mapping[Any, Any]]) -> tuple[KeyNumber, ...]:
    """Return the best cell of each name and program."""
    from parsers.frames import pd

    groups = group_by(rows, lambda row: (row["name"], row["program"]))
    best = sorted((best_of(pd.DataFrame(same)) for same in groups.values()), key=lambda row: row["rank"])
    return tuple(key_number(row) for row in best)


def part_of(row: Mapping[Any, Any], topology: Topology) -> Key:
    """Return the smallest part of the machine with the CPUs and the memory of a cell. An unplaced cell belongs to
    the whole machine.
    """
    if isinstance(row["device"], str) and row["device"]:
        return ("disk", row["device"])
    if _is(row["source"]) and _is(row["target"]):
        source, target = int(row["source"]), int(row["target"])
        return ("node", source) if source == target else ("link", source, target)
    asking = {topology.node_of.get(cpu) for cpu in _cpus(row["pus"])} - {None}
    memory = set(_cpus(row["memory_nodes"])) or asking
    single = [node.os_index for node in topology.numa_nodes]
    if not asking:
        return ("node", single[0]) if len(single) == 1 else ()
    if len(asking) == len(memory) == 1:
        (a,), (b,) = asking, memory
        assert a is not None
        assert b is not None
        return ("node", a) if a == b else ("link", a, b)
    packages = {core.package for core in topology.cores if core.numa_node in asking | memory}
    return ("package", packages.pop()) if len(packages) == 1 and len(topology.packages) > 1 else ()


def _is(value: object) -> bool:
    return value is not None and value == value


def _cpus(text: object) -> frozenset[int]:
    """Return the numbers of a text such as "0-3" or "0 | 8" in a frame. Any other text gives no numbers."""
    lists = [
        part for part in re.split(r" \| | of ", str(text or "")) if re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", part)
    ]
    return frozenset(cpu for part in lists for cpu in parse_cpulist(part))


def _caches(
    cores: Sequence[Core], topology: Topology, rows: Sequence[Mapping[Any, Any]]
) -> Iterator[tuple[str, KeyNumber | None]]:
    """Yield each cache level of some cores, with the fastest access to data that fits in this level but not in the
    level below.
    """
    cpus = {cpu for core in cores for cpu in core.cpus}
    known = [c for c in topology.caches if c.kind != "instruction" and c.size_bytes and cpus.intersection(c.cpus)]
    below = 0.0
    for level, same in sorted(group_by(known, lambda cache: cache.level).items()):
        size = float(same[0].size_bytes or 0)
        fitting = [row for row in rows if below < row["size"] <= FITS * size and row["unit"] == "ns"]
        number = next(iter(_best(fitting)), None)
        yield f"L{level} {f'{len(same)} × ' if len(same) > 1 else ''}{fmt.size(size)}", number
        below = FITS * size


def squares(cores: Sequence[Core], topology: Topology, used: frozenset[int]) -> Squares:
    """Return a picture of cores. A square is a PU and a column is a core."""
    numbered = len(topology.cores) <= MAX_NUMBERED
    width, height, gap = (20, 16, 2) if numbered else (8, 8, 2)
    deepest = max((len(core.cpus) for core in cores), default=1)
    abreast = min(len(cores), max(1, (224 + gap) // (width + gap))) or 1
    paths: dict[str, str] = {}
    numbers = []
    for i, core in enumerate(cores):
        line, column = divmod(i, abreast)
        for j, cpu in enumerate(core.cpus):
            x, y = column * (width + gap), line * (deepest * (height + gap) + gap) + j * (height + gap)
            color = USED if cpu in used else UNUSED
            paths[color] = paths.get(color, "") + f"M{x} {y}h{width}v{height}h-{width}z"
            if numbered:
                numbers.append((x + width // 2, y + height - 4, str(cpu), cpu in used))
    lines = -(-len(cores) // abreast)
    total = [cpu for core in cores for cpu in core.cpus]
    return Squares(
        width=abreast * (width + gap) - gap, height=lines * (deepest * (height + gap) + gap) - 2 * gap, paths=tuple(sorted(paths.items())),
        numbers=tuple(numbers), description=f"{sum(cpu in used for cpu in total)} of {fmt.plural(len(total), 'PU')} measured",
    )  # fmt: skip
