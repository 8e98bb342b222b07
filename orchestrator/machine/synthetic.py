"""A Topology from hwloc's synthetic notation, `pack:2 [numa] core:10 pu:1`. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.machine.assemble import Node, assemble
from orchestrator.machine.cpulist import MAX_INDEX, parse_ordered
from orchestrator.machine.topology import Cache, Cpus, Topology
from parsers.errors import UserError
from parsers.units import size_bytes

EXAMPLE: Final = "two packages of ten cores: `pack:2 [numa] core:10 pu:1`"

XML_HINT: Final = "`lstopo --of xml machine.xml` writes the form that is read"
"""The next step for a user with lstopo's console output."""

_LEVEL: Final = re.compile(
    r"(?P<open>\[\s*)?(?P<type>[A-Za-z]\w*)(:(?P<count>0*[1-9]\d{0,5})(?!\d))?(\((?P<attributes>[^()]*)\))?(?P<close>\])?"
    r"(?=[\s\[]|$)\s*"
)
_TYPES: Final = {
    "package": "package", "socket": "package", "numanode": "numa", "node": "numa", "core": "core", "pu": "pu",
    "die": "die", "group": "group",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    """One word of a synthetic description."""

    type: str  # "package" | "numa" | "core" | "pu" | "group" | "die" | "l1" … "l5" | "l1i" … "l3i"
    total: int  # objects over the whole machine; for an attached NUMA node one per object of the level above
    attached: bool
    attributes: Mapping[str, str]


def is_console(text: str) -> bool:
    """Return whether a text is lstopo's console output: "Machine (16GB total)" and a tree below it."""
    return re.match(r"\s*Machine \(", text) is not None


def topology_from_synthetic(text: str, place: str = "topology") -> Topology:
    """Return the topology of a description in hwloc's synthetic notation.

        pack:2 [numa(memory=16GiB)] l3:1(size=32MiB) core:8 pu:2(indexes=pu:core)

    Levels are from the outside in, `type:count(attributes)`, with PUs last. `[numa]` adds one NUMA node to every object
    of the level before it, and `numa:2` is a level. The attributes are `memory` of a node, `size` of a cache, and
    `indexes` of PUs and NUMA nodes (a list, loops `step*count:…`, or types, the fastest first). Missing sizes are
    unknown here, but hwloc invents them.

    Raises UserError.
    """
    try:
        return _from_levels(_levels(text))
    except ValueError as error:
        if is_console(text):
            raise UserError(place, "lstopo's text for people is not complete", XML_HINT) from error
        detail = "" if "\n" in text.strip() else f": {error}"  # many lines were meant as something else
        raise UserError(
            place, f"neither hwloc XML nor a synthetic description{detail}", f"for example, {EXAMPLE}"
        ) from error


def _levels(text: str) -> list[_Level]:
    levels: list[_Level] = []
    total = 1
    rest = re.sub(r"\s*\([^()]*\)", "", text, count=1) if text.lstrip().startswith("(") else text
    rest = rest.strip()  # without the attributes of the machine: none matters
    if not rest:
        raise ValueError("it is empty")
    while rest:
        word = re.match(r"\[?\s*([A-Za-z]\w*)", rest)
        type_ = _level_type(word[1]) if word else ""
        match = _LEVEL.match(rest)
        # either `[numa]` or `core:4`
        if not match or not bool(match["open"]) == bool(match["close"]) == (match["count"] is None):
            raise ValueError(f"expected a level such as `core:4` or `[numa]` at {rest[:30]!r}")
        attached = bool(match["open"])
        if attached and type_ != "numa":
            raise ValueError(f"only NUMA nodes are allowed in [ ], not {match['type']!r}")
        if type_ != "group" and any(x.type == type_ and not (x.attached and attached) for x in levels):
            raise ValueError(f"{type_} stands twice")
        if levels and levels[-1].type == "pu":
            raise ValueError("PUs come last")
        total *= int(match["count"] or 1)
        if total > MAX_INDEX:
            raise ValueError(f"more than {MAX_INDEX} objects")
        attributes = _attributes(match["attributes"] or "")
        levels.append(_Level(type=type_, total=total, attached=attached, attributes=attributes))
        rest = rest[match.end() :]
    if levels[-1].type != "pu":
        raise ValueError("the last level is not pu")
    return levels


def _level_type(word: str) -> str:
    """Return pinsweep's name of a type. hwloc accepts any prefix of its names, in upper or lower case."""
    lower = word.lower()
    if cache := re.fullmatch(r"l([1-5])([iud]?)(?:c|ca|cac|cach|cache)?", lower):
        return f"l{cache[1]}{'i' if cache[2] == 'i' else ''}"
    for name, type_ in _TYPES.items():
        if len(lower) > 1 and name.startswith(lower):
            return type_
    raise ValueError(f"{word!r} is not a type of level (pack, numa, die, l1 to l5, core, pu, group)")


def _attributes(text: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for word in text.split():
        key, _, value = word.partition("=")
        if not value:
            raise ValueError(f"{word!r} is not an attribute: write name=value")
        pairs[key] = value
    return pairs


def _from_levels(levels: Sequence[_Level]) -> Topology:
    count = levels[-1].total
    numbering = _indexes(levels[-1], levels)

    def sets(level: _Level) -> list[Cpus]:
        share = count // level.total
        return [frozenset(numbering[i * share : (i + 1) * share]) for i in range(level.total)]

    cores = next((sets(level) for level in levels if level.type == "core"), None)
    packages = next((sets(level) for level in levels if level.type == "package"), [])
    numa = [level for level in levels if level.type == "numa"]
    # hwloc numbers nodes in tree order. Nodes at one place are adjacent, and come before the nodes of the wider place
    # that ends there.
    places = sorted(
        (
            ((i + 1) * (count // level.total), -level.total, order, level, cpus)
            for order, level in enumerate(numa)
            for i, cpus in enumerate(sets(level))
        ),
        key=lambda p: p[:3],
    )
    numbered = len(numa) == 1 and "indexes" in numa[0].attributes
    ids = _indexes(numa[0], levels) if numbered else range(len(places))
    nodes = [
        Node(os_index=index, cpus=cpus, memory_bytes=_size(level, "memory"))
        for index, (_, _, _, level, cpus) in zip(ids, places, strict=True)
    ]
    caches = [
        Cache(
            level=int(level.type[1]),
            kind="instruction" if level.type.endswith("i") else "data" if level.type == "l1" else "unified",
            size_bytes=_size(level, "size"),
            cpus=tuple(sorted(cpus)),
        )
        for level in levels
        if re.fullmatch(r"l\di?", level.type)
        for cpus in sets(level)
    ]
    return assemble(
        cores=cores or [frozenset({cpu}) for cpu in numbering],
        packages=list(enumerate(packages)),
        nodes=nodes,
        caches=caches,
    )


def _size(level: _Level, attribute: str) -> int | None:
    return size_bytes(level.attributes[attribute]) if attribute in level.attributes else None


def _indexes(level: _Level, levels: Sequence[_Level]) -> Sequence[int]:
    """Return the OS index of every object of a level, in tree order.

    `indexes` is a list, or loops, the fastest first. `8*2:1*8` numbers one object in each half alternately. `pack:core`
    is the same with type names, which give the step and the count.
    """
    total, text = level.total, level.attributes.get("indexes")
    if text is None:
        return range(total)
    wrong = ValueError(f"indexes={text} do not number {total} objects once each")
    if re.fullmatch(r"[\d,]+", text):
        order = parse_ordered(text)
        if len(order) != total or len(set(order)) != total:
            raise wrong
        return order
    if re.fullmatch(r"\d{1,6}\*\d{1,6}(:\d{1,6}\*\d{1,6}){0,9}", text, re.ASCII):
        loops = [(int(step), int(n)) for step, n in (part.split("*") for part in text.split(":"))]
    else:
        depths = [_depth(word, levels) for word in text.split(":")]
        totals = {depth: levels[depth].total for depth in depths}
        if any(n > total or total % n for n in totals.values()):
            raise wrong
        outer = {depth: max((d for d in totals if d < depth), default=-1) for depth in depths}
        loops = [(total // totals[d], totals[d] // totals.get(outer[d], 1)) for d in depths]
    covered = math.prod(n for _, n in loops)
    if not covered or total % covered:
        raise wrong
    loops.append((1, total // covered))
    index_of: dict[int, int] = {}
    for index in range(total):
        position, turns = 0, index
        for step, n in loops:
            turns, turn = divmod(turns, n)
            position += turn * step
        index_of[position] = index
    if sorted(index_of) != list(range(total)):
        raise wrong
    return [index_of[position] for position in range(total)]


def _depth(word: str, levels: Sequence[_Level]) -> int:
    type_ = _level_type(word)
    for depth, level in enumerate(levels):
        if level.type == type_:
            return depth
    raise ValueError(f"indexes: there is no level {word!r}")
