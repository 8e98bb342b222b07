"""A Topology from hwloc's synthetic notation, `pack:2 [numa] core:10 pu:1`. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.machine.assemble import Node, assemble
from orchestrator.machine.cpulist import LARGEST, parse_ordered
from orchestrator.machine.topology import Cache, Cpus, Topology
from parsers.errors import UserError

_ATTRIBUTES = re.compile(r"\(([^()]*)\)")


_SIZE = re.compile(r"([0-9]{1,15})([kKMGT]i?B)?")


_SIZE_UNITS: Final[Mapping[str, int]] = {
    "": 1,
    **{f"{p.upper()}B": 1000**i for i, p in enumerate("kMGT", 1)},
    **{f"{p.upper()}IB": 1024**i for i, p in enumerate("kMGT", 1)},
}


EXAMPLE: Final = "two packages of ten cores: `pack:2 [numa] core:10 pu:1`"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    """One word of a synthetic description. `count` is per object of the level above, `total` over the machine."""

    type: str  # "package" | "numa" | "core" | "pu" | "group" | "die" | "l1" … "l5" | "l1i" … "l3i"
    count: int
    total: int
    above: int  # objects of the level above: those that share an attached NUMA node
    attached: bool
    attributes: Mapping[str, str]


XML_HINT = "`lstopo --of xml machine.xml` writes the form that is read"
"""What to do with `lstopo`'s text for people."""


def is_console(text: str) -> bool:
    """Is a text what `lstopo` prints for people: "Machine (16GB total)" and a tree below it?"""
    return re.match(r"\s*Machine \(", text) is not None


def topology_from_synthetic(text: str, place: str = "topology") -> Topology:
    """Read hwloc's synthetic notation: levels from the outside in, `type:count(attributes)`, PUs last.

        pack:2 [numa(memory=16GiB)] l3:1(size=32MiB) core:8 pu:2(indexes=pu:core)

    `[numa]` hangs one NUMA node at every object of the level before it, `numa:2` is a level of its own. Attributes:
    `memory` of a node, `size` of a cache, `indexes` of PUs and NUMA nodes (a list, loops `step*count:…`, or types,
    the fastest first). Sizes that are not given stay unknown, other than in hwloc, which makes them up.

    Raises UserError.
    """
    try:
        levels = _levels(text)
        return _from_levels(levels)
    except ValueError as error:
        if is_console(text):
            raise UserError(place, "lstopo's text for people, which does not say all", XML_HINT) from error
        of_words = "" if "\n" in text.strip() else f": {error}"  # many lines were meant as something else
        raise UserError(
            place, f"neither hwloc XML nor a synthetic description{of_words}", f"for example, {EXAMPLE}"
        ) from error


def _levels(text: str) -> list[_Level]:
    levels: list[_Level] = []
    total = 1
    rest = text.strip()
    if rest.startswith("("):  # attributes of the machine as a whole: none that matter here
        head = _ATTRIBUTES.match(rest)
        if not head:
            raise ValueError("a bracket that does not close")
        rest = rest[head.end() :].lstrip()
    if not rest:
        raise ValueError("it is empty")
    while rest:
        found = re.match(r"(\[\s*)?([A-Za-z]\w*)", rest)
        if not found:
            raise ValueError(f"expected a level such as `core:4` at {rest[:30]!r}")
        attached, type_ = bool(found[1]), _level_type(found[2])
        rest = rest[found.end() :]
        count = 1
        if not attached:
            number = re.match(r":(\d{1,6})(?!\d)", rest)
            if not number or not int(number[1]):
                raise ValueError(f"how many? expected `{found[2]}:COUNT`")
            count, rest = int(number[1]), rest[number.end() :]
        attributes: dict[str, str] = {}
        if rest.startswith("("):
            group = _ATTRIBUTES.match(rest)
            if not group:
                raise ValueError(f"a bracket that does not close: {rest[:30]!r}")
            attributes = _attributes(group[1])
            rest = rest[group.end() :]
        if attached:
            if type_ != "numa":
                raise ValueError(f"only NUMA nodes can stand in [ ], not {found[2]!r}")
            if not rest.startswith("]"):
                raise ValueError("a [ that does not close")
            rest = rest[1:]
        if rest and not rest[0].isspace() and rest[0] != "[":
            raise ValueError(f"unexpected {rest[:20]!r}")
        rest = rest.lstrip()
        if type_ != "group" and any(x.type == type_ and not (x.attached and attached) for x in levels):
            raise ValueError(f"{type_} stands twice")
        if levels and levels[-1].type == "pu":
            raise ValueError("PUs come last")
        above = total
        total *= count
        if total > LARGEST:
            raise ValueError(f"more than {LARGEST} objects")
        levels.append(
            _Level(
                type=type_, count=count, total=total, above=above, attached=attached, attributes=attributes
            )
        )
    if levels[-1].type != "pu":
        raise ValueError("the last level is not pu")
    return levels


def _level_type(word: str) -> str:
    """Return our name of a type; hwloc takes any beginning of its names, in upper or lower case."""
    lower = word.lower()
    cache = re.fullmatch(r"l([1-5])([iud]?)(?:c|ca|cac|cach|cache)?", lower)
    if cache:
        return f"l{cache[1]}{'i' if cache[2] == 'i' else ''}"
    for name, shortest, ours in (
        ("package", 2, "package"),
        ("socket", 2, "package"),
        ("numanode", 2, "numa"),
        ("node", 2, "numa"),
        ("core", 2, "core"),
        ("pu", 2, "pu"),
        ("die", 2, "die"),
        ("group", 2, "group"),
    ):
        if len(lower) >= shortest and name.startswith(lower):
            return ours
    raise ValueError(f"{word!r} is not a type of level (pack, numa, die, l1 to l5, core, pu, group)")


def _attributes(text: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for word in text.split():
        key, equals, value = word.partition("=")
        if not equals or not value:
            raise ValueError(f"{word!r} is not an attribute: write name=value")
        pairs[key] = value
    return pairs


def _from_levels(levels: Sequence[_Level]) -> Topology:
    count = levels[-1].total
    numbering = _indexes(levels[-1], levels)

    def sets(total: int) -> list[Cpus]:
        share = count // total
        return [frozenset(numbering[i * share : (i + 1) * share]) for i in range(total)]

    cores = next((sets(level.total) for level in levels if level.type == "core"), None)
    packages = next((sets(level.total) for level in levels if level.type == "package"), [])
    nodes: list[Node] = []
    attached = [level for level in levels if level.type == "numa"]
    # hwloc numbers all nodes in the order of the tree: those of one place follow each other,
    # and come before those of the wider place that ends with it.
    places = sorted(
        (
            ((i + 1) * (count // n), -n, order, level, cpus)
            for order, level in enumerate(attached)
            for n in [level.above if level.attached else level.total]
            for i, cpus in enumerate(sets(n))
        ),
        key=lambda p: p[:3],
    )
    own = next((level for level in attached if "indexes" in level.attributes), None)
    ids = _indexes(own, levels) if own and len(attached) == 1 else tuple(range(len(places)))
    for index, (_, _, _, level, cpus) in zip(ids, places, strict=True):
        memory = level.attributes.get("memory")
        nodes.append(Node(os_index=index, cpus=cpus, memory_bytes=None if memory is None else _size(memory)))
    caches = [
        Cache(
            level=int(level.type[1]),
            kind="instruction" if level.type.endswith("i") else "data" if level.type == "l1" else "unified",
            size_bytes=_size(level.attributes["size"]) if "size" in level.attributes else None,
            cpus=tuple(sorted(cpus)),
        )
        for level in levels
        if re.fullmatch(r"l\di?", level.type)
        for cpus in sets(level.total)
    ]
    return assemble(
        cores=cores or [frozenset({cpu}) for cpu in numbering],
        packages=list(enumerate(packages)),
        nodes=nodes,
        caches=caches,
    )


def _size(text: str) -> int:
    found = _SIZE.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} is not a size (4096, 512MiB, 16GB)")
    return int(found[1]) * _SIZE_UNITS[(found[2] or "").upper()]


def _indexes(level: _Level, levels: Sequence[_Level]) -> tuple[int, ...]:
    """Return the OS index of every object of a level, in the order of the tree.

    `indexes` is a list of them, or loops, the fastest first: `8*2:1*8` numbers one object in each half in turn;
    `pack:core` says the same in names (how far apart such objects are, how many in the next one named above).
    """
    total = level.above if level.attached else level.total
    text = level.attributes.get("indexes")
    if text is None:
        return tuple(range(total))
    wrong = ValueError(f"indexes={text} do not number {total} objects once each")
    if re.fullmatch(r"[\d,]+", text):
        given = parse_ordered(text)
        if len(given) != total or len(set(given)) != total:
            raise wrong
        return given
    if re.fullmatch(r"[0-9]{1,6}\*[0-9]{1,6}(:[0-9]{1,6}\*[0-9]{1,6}){0,9}", text):
        loops = [(int(step), int(n)) for step, n in (part.split("*") for part in text.split(":"))]
    else:
        named = [_named_level(word, levels) for word in text.split(":")]
        totals = {
            depth: levels[depth].above if levels[depth].attached else levels[depth].total for depth in named
        }
        if any(n > total or total % n for n in totals.values()):
            raise wrong
        loops = []
        for depth in named:
            outer = max((other for other in totals if other < depth), default=None)
            loops.append((total // totals[depth], totals[depth] // (1 if outer is None else totals[outer])))
    covered = math.prod(n for _, n in loops)
    if not covered or total % covered:
        raise wrong
    loops.append((1, total // covered))
    position_of = []
    for index in range(total):
        position = 0
        for step, n in loops:
            index, turn = divmod(index, n)
            position += turn * step
        position_of.append(position)
    if sorted(position_of) != list(range(total)):
        raise wrong
    order = {position: index for index, position in enumerate(position_of)}
    return tuple(order[position] for position in range(total))


def _named_level(word: str, levels: Sequence[_Level]) -> int:
    type_ = _level_type(word)
    for depth, level in enumerate(levels):
        if level.type == type_:
            return depth
    raise ValueError(f"indexes: there is no level {word!r}")
