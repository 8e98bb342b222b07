"""The drawing of a machine says of each part what was measured there, and of no other part; what was not measured is grey.

Read as a reader does, from the page's own HTML: a box is the PUs that it names and those of the boxes in it. What must stand in it is
worked out from what was written: a number belongs to the smallest box that holds the PUs and the memory of its runs. Over recorded
machines of 1 to 16 nodes, each with made-up results of a seed.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.machine.cpulist import parse_cpulist
from orchestrator.machine.descriptions import topology_from_text
from orchestrator.machine.topology import Topology
from orchestrator.model import Group
from parsers.units import size_bytes
from reports.charts import chart_module
from reports.checks.audit import audit, convicted
from reports.page.html import anchor
from reports.page.model import Drawing, KeyNumber
from reports.page.templates import Templates
from reports.report import machine
from reports.results.load import load
from tests.laws import dealt
from tests.reports.claims.test_claims import key_untied, said

FIXTURES = Path(__file__).parents[2] / "fixtures" / "hwloc"
CORPUS = Path(os.environ.get("PINSWEEP_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))
MADE = {
    name: f"{packages} l3:1(size=32MB) l2:{cores}(size=1MB) l1d:1(size=48kB) core:1 pu:{threads}"
    for name, packages, cores, threads in (
        ("1 node", "pack:1 numa:1", 4, 2), ("3 nodes", "pack:3 numa:1", 2, 1), ("6 nodes", "pack:2 numa:3", 2, 2), ("8 nodes", "pack:2 numa:4", 4, 1),
        ("12 nodes", "pack:4 numa:3", 2, 1), ("16 nodes", "pack:2 numa:8", 3, 2), ("2 nodes, 4 packages", "numa:2 pack:2", 2, 1),
    )
}  # fmt: skip
_TWICE = {"cpu5-offline", "lstopo_v1", "dev2017_16em64t-4s2c2t", "dev2017_24em64t-2n6c2t-pci", "x86_AMD-19h-Zen3-2xEpyc-7763"}  # fmt: skip
"""Machines that are like another one of these."""
_FILES = (*FIXTURES.glob("*.xml"), *CORPUS.glob("*/hwloc/*.xml"), *FIXTURES.glob("*.json"))
RECORDED = {path.stem: path for path in sorted(_FILES) if path.stem not in _TWICE}


@cache
def topology(name: str) -> Topology:
    return topology_from_text(described(name))


def described(name: str) -> str:
    return MADE[name] if name in MADE else RECORDED[name].read_text(encoding="utf-8")


# --- what was written --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """A number of one cell: what its program printed in each repeat, in base units."""

    host: str
    name: str  # how its key number begins, or "L": of a cache
    place: str
    pus: frozenset[int]  # of its runs; empty: not placed
    groups: tuple[Group, ...]
    values: tuple[float, ...]
    higher: bool
    step: float = 0.0  # of the last digit that is printed
    size: float = 0.0  # B, of a cache
    ends: tuple[int, int] | None = None  # the nodes that it is between, of a matrix
    disk: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.values)


@dataclass(slots=True)
class Made:
    """Results of one host, with what is true of them."""

    maker: Any
    machine: Topology
    chance: random.Random
    truth: list[Truth] = field(default_factory=list)

    def near(self, value: float) -> list[float]:
        """One to three repeats of about the same."""
        return [value * self.chance.uniform(0.98, 1.02) for _ in range(self.chance.choice([1, 2, 3]))]

    def put(self, name: str, place: str, values: Iterable[float], *, higher: bool, **more: Any) -> None:
        groups = self.maker.groups.get(place, ())
        pus = frozenset(cpu for group in groups for cpu in group.cpus)
        told = Truth(host=self.maker.host, name=name, place=place, pus=pus, groups=groups, values=tuple(values), higher=higher, **more)  # fmt: skip
        self.truth.append(told)

    def add(self, *words: Any, **more: Any) -> None:
        self.maker.add(*words, **more)


def placed(made: Made) -> dict[str, list[str]]:
    """Invent places of each kind that the machine has; kind → their names."""
    machine, chance, found = made.machine, made.chance, made.maker.groups
    home: dict[int, list[int]] = {}
    for pu in machine.pus:
        if pu.allowed and pu.numa_node is not None:
            home.setdefault(pu.numa_node, []).append(pu.os_index)
    memory = [node.os_index for node in machine.numa_nodes if node.has_memory and node.allowed]
    with_both = [node for node in home if node in memory] or list(home)
    kinds: dict[str, list[str]] = {"one": [], "two": []}

    def put(kind: str, name: str, *groups: Group) -> None:
        found[name] = groups
        kinds[kind].append(name)

    for node in chance.sample(with_both, min(2, len(with_both))):
        put("one", f"home {node}", Group(cpus=tuple(chance.sample(home[node], min(2, len(home[node])))), membind=(node,)))  # fmt: skip
        if far := [other for other in memory if other != node]:
            other = chance.choice(far)
            put("one", f"far {node}-{other}", Group(cpus=(chance.choice(home[node]),), membind=(other,)))
        if len(home[node]) > 1:
            put("two", f"inside {node}", *(Group(cpus=(cpu,), membind=(node,)) for cpu in chance.sample(home[node], 2)))  # fmt: skip
    if len(with_both) > 1:
        ends = chance.sample(with_both, 2)
        put("two", "across", *(Group(cpus=(chance.choice(home[node]),), membind=(node,)) for node in ends))
    package = chance.choice(machine.packages)
    inside = [cpu for cpu in package.cpus if cpu in machine.allowed_cpus and cpu in machine.node_of]
    if near := sorted({machine.node_of[cpu] for cpu in inside} & set(memory)):
        put("one", f"package {package.index}", Group(cpus=tuple(inside), interleave=tuple(near)))
    everywhere = tuple(sorted(cpu for own in home.values() for cpu in own))
    put("one", "all", Group(cpus=everywhere, interleave=tuple(memory)))
    return kinds


def made(make: Any, name: str, seed: int, path: Path, host: str = "node07") -> Made:
    """Return results of some tools on a machine, at places of all kinds."""
    chance, machine = random.Random(seed), topology(name)
    maker = make.Maker(path, host=host)
    maker.topology = described(name)
    out = Made(maker, machine, chance)
    kinds = placed(out)
    for place in chance.sample(kinds["one"], min(4, len(kinds["one"]))):
        _stream(make, out, place)
    for place in kinds["two"]:
        _pingpong(make, out, place)
    if chance.random() < 0.5 and [node.os_index for node in machine.numa_nodes] == list(range(len(machine.numa_nodes))):  # fmt: skip
        _matrix(make, out)
    if homes := [place for place in kinds["one"] if place.startswith("home")]:
        _poke(make, out, chance.choice(homes))
    if chance.random() < 0.6:
        _fio(make, out)
    return out


def _stream(make: Any, out: Made, place: str) -> None:
    for sweep, threads in itertools.product(("bw", "again"), sorted(out.chance.sample([1, 2, 4], 2))):
        if sweep == "again" and out.chance.random() < 0.5:
            continue
        rates = out.near(10 ** out.chance.uniform(3.5, 5.5))
        for rate in rates:
            out.add(sweep, "stream", {"threads": threads}, make.stream_text(rate, threads), place=place, axes=("place", "threads"))  # fmt: skip
        out.put(
            "STREAM Triad", place, [float(f"{rate:.1f}") * 1e6 for rate in rates], higher=True, step=0.1e6
        )


def _pingpong(make: Any, out: Made, place: str) -> None:
    times = out.near(10 ** out.chance.uniform(-0.5, 1.2))
    for time in times:
        out.add("pp", "imb", {"benchmark": "PingPong"}, make.imb_text({0: time, 64: time * 1.1}), place=place, axes=("place",))  # fmt: skip
    out.put("MPI, one way", place, [float(f"{time:.2f}") * 1e-6 for time in times], higher=False, step=1e-8)


def _matrix(make: Any, out: Made) -> None:
    nodes = range(len(out.machine.numa_nodes))
    for bandwidth, mode in ((False, "latency_matrix"), (True, "bandwidth_matrix")):
        tables = []
        for _ in range(out.chance.choice([1, 3])):
            table = [[out.chance.uniform(60, 400) * (200 if bandwidth else 1) for _ in nodes] for _ in nodes]
            out.add(mode[:3], "mlc", {"mode": mode}, make.matrix_text(table, bandwidth=bandwidth))
            tables.append(table)
        for a, b in itertools.product(nodes, nodes):
            printed = [float(f"{table[a][b]:.1f}") * (1e6 if bandwidth else 1e-9) for table in tables]
            name = "Reads by all cores" if bandwidth else "Memory, idle"
            size = 200 * 2**20  # of its buffer, as it prints it
            if not bandwidth and size <= max((c.size_bytes or 0 for c in out.machine.caches), default=0):
                name = "Idle latency"
            if len(nodes) == 1 and not bandwidth:
                out.put("L", "", printed, higher=False, ends=(a, b), size=size)
            out.put(name, "", printed, higher=bandwidth, ends=(a, b), step=0.1e6 if bandwidth else 1e-10)


def _poke(make: Any, out: Made, place: str) -> None:
    cpu = min(out.maker.groups[place][0].cpus)
    sizes = [cache.size_bytes for cache in out.machine.caches if cpu in cache.cpus and cache.size_bytes]
    for size in {*(2 * max(sizes, default=2**20) * n for n in (1, 8)), *(size // 2 for size in sizes)}:
        times = [float(round(t)) for t in out.near(out.chance.uniform(64, 500))]
        for time in times:
            text = make.poke_text([time] * 12_000, size=size)
            out.add("tails", "poke", {"target": "memory", "bytes": size}, text, axes=("bytes",), place=place)
        out.put("L", place, [time * 1e-9 for time in times], higher=False, size=size)


def _fio(make: Any, out: Made) -> None:
    disk = next((d.name for d in out.machine.devices if d.kind == "block"), "nvme9n1")
    for depth in (1, 16):
        found = out.near(10 ** out.chance.uniform(3, 5.5))
        for iops in found:
            text = json.loads(make.fio_text({"read": (iops, depth / iops * 1e6)}, bs="4k", rw="randread", iodepth=depth))  # fmt: skip
            text["disk_util"] = [{"name": disk, "util": 50.0}]
            out.add("ssd", "fio", {"rw": "randread", "bs": "4k", "iodepth": depth}, json.dumps(text), axes=("iodepth",))  # fmt: skip
        out.put("Storage", "", found, higher=True, disk=disk)


# --- what is drawn -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Box:
    """A box as it is seen: its heading, its numbers, the boxes in it."""

    kind: str  # "pk", "nd", "lk", "mem"; "" the machine
    grey: bool
    words: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    levels: list[tuple[list[str], bool]] = field(default_factory=list)  # its texts, is it grey?
    boxes: list[Box] = field(default_factory=list)
    filled: tuple[int, int] | None = None  # its squares that have a colour, and all of them

    @property
    def name(self) -> str:
        return self.words[0] if self.kind and self.words else ""

    @property
    def pus(self) -> frozenset[int]:
        own = re.search(r"CPUs? ([\d,\- ]+)", " ".join(self.words[1:2]))
        return frozenset(parse_cpulist(own[1].replace(" ", "")) if own else ()).union(*(b.pus for b in self.boxes))  # fmt: skip

    @property
    def nodes(self) -> frozenset[int]:
        own = re.search(r"\bnode (\d+)$", self.name) if self.kind in ("pk", "nd") else None
        return frozenset({int(own[1])} if own else ()).union(*(box.nodes for box in self.boxes))

    @property
    def holds(self) -> frozenset[int]:
        """The one node that the box is; its name is that of its package, where the machine has no other node."""
        own = frozenset() if any(box.kind == "nd" for box in self.boxes) else self.nodes
        return own or frozenset({0} if any(box.kind == "mem" for box in self.boxes) else ())

    def every(self) -> Iterator[Box]:
        yield self
        for box in self.boxes:
            yield from box.every()


class _Reader(HTMLParser):
    """Boxes from the page: what stands in a <p>, in a <li> of numbers or of caches."""

    def __init__(self) -> None:
        super().__init__()
        self.top = Box("", False)
        self.open: list[Box | None] = []  # by <div>; None: a row of boxes
        self.text: list[str] | None = None
        self.grey = self.caches = self.svg = False

    @property
    def box(self) -> Box:
        return next((box for box in reversed(self.open) if box), self.top)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        classes = (dict(attrs).get("class") or "").split()
        if tag == "div":
            kind = next((k for k in ("pk", "nd", "lk", "mem") if k in classes), "")
            box = Box(kind, "no" in classes) if kind else None
            if box:
                self.box.boxes.append(box)
            self.open.append(box)
        elif tag == "ul":
            self.caches = "lv" in classes
        elif tag in ("p", "li"):
            self.text, self.grey = [], "no" in classes
        elif tag == "svg":
            self.svg = True
            squares = re.match(r"(\d+) of (\d+) PUs? measured", dict(attrs).get("aria-label") or "")
            self.box.filled = (int(squares[1]), int(squares[2])) if squares else None

    def handle_endtag(self, tag: str) -> None:
        if tag == "div":
            self.open.pop()
        elif tag == "svg":
            self.svg = False
        elif tag == "p" and self.text:
            self.box.words, self.text = self.text, None
        elif tag == "li" and self.text:
            text, self.text = self.text, None
            if self.caches:
                self.box.levels.append((text, self.grey))
            else:
                self.box.numbers.append(" ".join(text))

    def handle_data(self, data: str) -> None:
        if self.text is not None and not self.svg and data.strip():
            self.text.append(" ".join(data.split()))


def drawn(path: Sequence[Path]) -> tuple[tuple[Drawing, ...], Any]:
    """Return the drawings of some files, and the figures beneath them."""
    results = load(path)
    chapters = [chart_module(tool).chapter(results, tool) for tool in results.told]
    figures = [figure for chapter in chapters for figure in chapter.figures]
    return machine.drawings(results, chapters, convicted(audit(results))), figures


def read(drawings: Sequence[Drawing]) -> list[Box]:
    """Return each drawing as it is seen."""
    environment = Templates().environment
    environment.globals["anchor"] = anchor
    template = environment.get_template("machine.html.j2")
    found = []
    for one in drawings:
        reader = _Reader()
        reader.feed(template.render(page=SimpleNamespace(machines=(one,))).partition("</h2>")[2])
        found.append(reader.top)
    return found


def told(top: Box) -> list[tuple[str, str]]:
    """Return (box, number) of everything that is drawn but ranges."""
    return [
        (name_of(top, box), number) for box in top.every() if not _is_range(box) for number in box.numbers
    ]


def _is_range(box: Box) -> bool:
    return box.name.startswith("Between nodes")


_RANGE = re.compile(
    r"(?P<low>[\d.]+)(?:(?: \w+/s)? to (?P<high>[\d.]+))? (?P<unit>\S+) (?P<name>.+?): (?P<many>\d+) (?P<kind>way|pair)s?"
    r"(?:, lowest (?P<at>\S+ . \S+), highest (?P<to>\S+ . \S+)|, (?P<only>\S+ . \S+))?(?P<doubt> ⚠ .+)?"
)


def _ranges(top: Box, machine: Topology) -> Iterator[str]:
    """Give the ranges between nodes that are not those of the links which the page lists one by one."""
    links: dict[tuple[int, int, str], dict[str, str]] = {}
    for name, number in told(top):
        if way := re.fullmatch(r"node (\d+) (→|↔)(?: memory of)? node (\d+)", name):
            value, _, words = number.partition(" ")
            links.setdefault((int(way[1]), int(way[3]), way[2]), {})[re.split(r" ⚠|[:;]", words)[0]] = value
    package = {core.numa_node: core.package for core in machine.cores}
    seen = 0
    for box in filter(_is_range, top.every()):
        for text in box.numbers:
            read = _RANGE.fullmatch(text)
            assert read, text
            arrow = "↔" if read["kind"] == "pair" else "→"
            own = {
                f"{a} {how} {b}": float(words[f"{read['unit']} {read['name']}"])
                for (a, b, how), words in links.items()
                if how == arrow
                and f"{read['unit']} {read['name']}" in words
                and ("package" not in box.name or ("same" in box.name) == (package[a] == package[b]))
                and ("distance" not in box.name or box.name.endswith(f"distance {machine.distances[a, b]}"))
            }
            assert own, (text, box.name, links)
            seen += len(own)
            ends = (min(own.values()), max(own.values()))
            if ends != (float(read["low"]), float(read["high"] or read["low"])) or len(own) != int(
                read["many"]
            ):
                yield f"{text!r} in {box.name!r}: {own}"
            if read["at"] and (own[read["at"]], own[read["to"]]) != ends:
                yield f"{text!r} in {box.name!r} names other ends: {own}"
    if any(map(_is_range, top.every())) and seen != sum(map(len, links.values())):
        yield f"{seen} numbers of {sum(map(len, links.values()))} are in a range"


def name_of(top: Box, box: Box) -> str:
    """Return "node 1", "node 0 → memory of node 1", "Package 1", …; of a memory its node's; "" of all of the machine."""
    owner = next((b for b in top.every() if box.kind == "mem" and any(m is box for m in b.boxes)), box)
    return re.sub(r"^Package \d+, (?=node)|^Package, (?=node)", "", owner.name)


def home(truth: Truth, top: Box, machine: Topology) -> str:
    """Return the box that a number belongs to: the smallest that holds its PUs and its memory; the link, if it is between two nodes."""
    if truth.disk:
        return truth.disk
    if truth.ends:
        a, b = truth.ends
        alone = (
            name_of(top, box)
            for box in top.every()
            if box.kind in ("pk", "nd") and a == b and box.holds == {a}
        )
        return next(alone, f"node {a} → memory of node {b}")
    pus = truth.pus or machine.allowed_cpus
    memory = {node for group in truth.groups for node in (*group.membind, *group.interleave)}
    memory = memory or {node.os_index for node in machine.numa_nodes}
    asking = {machine.node_of[cpu] for cpu in pus}
    boxes = [box for box in top.every() if box.kind in ("pk", "nd") and pus <= box.pus]
    for one in (box for box in boxes if box.holds == memory):
        return name_of(top, one)
    if len(asking) == len(memory) == 1:
        return f"node {min(asking)} → memory of node {min(memory)}"
    own = [machine.node_of[group.cpus[0]] for group in truth.groups]
    if len(truth.groups) == 2 and [group.membind for group in truth.groups] == [(node,) for node in own]:
        return f"node {min(own)} ↔ node {max(own)}"
    return next((box.name for box in boxes if memory <= box.nodes and box.name != "Package"), "")


def is_of(number: str, truth: Truth) -> bool:
    """Does a text begin with the median of a cell, and name its quantity?"""
    value = next(iter(said(number)))
    middle = truth.median
    return (
        (truth.name == "L" or truth.name in number)
        and value.low <= middle * (1 + 1e-9)
        and middle * (1 - 1e-9) <= value.high
    )


def untrue(top: Box, of: Made) -> list[str]:
    """Return what is drawn and not so, and what lacks."""
    wrong = []
    alike: dict[tuple[str, str, str], list[Truth]] = {}
    for one in of.truth:
        if one.name != "L":
            alike.setdefault((home(one, top, of.machine), one.name + ("rate" if one.higher else "time"), one.place), []).append(one)  # fmt: skip
    left = [(box, number) for box, number in told(top) if ("p99.9" not in number and "bandwidth" not in number) or "Memory" in number]  # fmt: skip
    for (box, name, place), same in alike.items():
        best = (max if same[0].higher else min)(same, key=lambda one: one.median)
        fitting = [one for one in left if one[0] == box and is_of(one[1], best)]
        if fitting:
            left.remove(fitting[0])
            if len(best.values) % 2 and _is_finer(fitting[0][1], best.step):
                wrong.append(f"{fitting[0][1]!r} has digits that nobody printed")
        else:
            wrong.append(f"{name} of {place!r}, {best.median:g}, is not in {box!r}")
    wrong += [f"{number!r} in {box!r} is of no cell there" for box, number in left]
    return [*wrong, *_ranges(top, of.machine), *_levels(top, of), *_shades(top, of)]


def _is_finer(number: str, step: float) -> bool:
    """Has it digits behind its point below a step? "710 ns" stands for 0.71 µs."""
    value = next(iter(said(number)))
    return "." in value.text and value.step < step * 0.99


def _levels(top: Box, of: Made) -> Iterator[str]:
    times = [one for one in of.truth if one.name == "L"]
    for box in top.every():
        below = 0
        for (level, sizes, *number), grey in box.levels:
            ends = [size_bytes(size) for size in sizes.split("× ")[-1].replace("\u202f", "").split(" to ")]
            inside = [one for one in times if below < one.size <= ends[0] and _is_near(one, box, top, of)]
            below = ends[-1]
            largest = max(inside, key=lambda one: one.size, default=None)
            if grey != (not number) or bool(number) != bool(largest):
                yield f"{level} in {box.name!r} says {number}, grey {grey}; {[one.size for one in inside]} were timed"  # fmt: skip
            elif largest and not is_of(" ".join(number), largest):
                yield f"{level} in {box.name!r}: {number} is not {largest.median:g} of {largest.size:g} B"


def _is_near(truth: Truth, box: Box, top: Box, of: Made) -> bool:
    """Are the caches of a box those of a cell's PUs? Of a node in several packages they are in those."""
    if home(truth, top, of.machine) == name_of(top, box):
        return True
    return box.kind == "pk" and not box.holds and bool(truth.pus) and truth.pus <= box.pus


def _shades(top: Box, of: Made) -> Iterator[str]:
    """Give the boxes and the squares whose colour is not theirs, and those that do not say what they should."""
    own = [truth for truth in of.truth if truth.pus]
    used = frozenset().union(*(truth.pus for truth in own))
    bound = {node for truth in own for group in truth.groups for node in (*group.membind, *group.interleave)}
    for box in top.every():
        numbers = [number for inner in box.every() for number in inner.numbers]
        numbers += [number for inner in box.every() for number, grey in inner.levels if not grey]
        if box.kind and box.grey != (not numbers):
            yield f"{box.name!r} is grey: {box.grey}, of {len(numbers)} numbers"
        if box.filled and box.filled != (len(box.pus & used), len(box.pus)):
            yield f"{box.name!r} has {box.filled} squares filled, {len(box.pus & used)} PUs were used"
        if box.grey and not (box.words[-1] == "no CPUs" and box.boxes):  # there its memory says it
            nodes = {
                node
                for b in top.every()
                if b is box or (b.kind and any(m is box for m in b.boxes))
                for node in b.holds
            }
            touched = not used.isdisjoint(box.pus) or not bound.isdisjoint(nodes)
            used_by_some = re.search("only together|from other nodes", box.words[-1])
            if bool(used_by_some) != touched or ("not measured" in box.words[-1]) == touched:
                yield f"{box.name!r} says {box.words}; a run used it: {touched}"


def _every(drawing: Drawing) -> Iterator[KeyNumber]:
    yield from drawing.numbers
    stack = [*drawing.packages, *drawing.links, *drawing.disks]
    while stack:
        part = stack.pop()
        yield from part.numbers
        yield from (level.number for level in part.levels if level.number)
        stack += [*part.parts, *part.disks, *filter(None, [part.memory])]


def told_of(files: Sequence[Path]) -> tuple[tuple[Drawing, ...], list[Box], list[str]]:
    """Return the drawings of some files, what is seen of them, and what they say that no table says."""
    drawings, figures = drawn(files)
    numbers = [number for drawing in drawings for number in _every(drawing)]
    some = numbers[:: 1 + len(numbers) // 24]  # of a large matrix
    untied = [one for number in some for one in key_untied(number, figures)]
    return drawings, read(drawings), untied


@pytest.mark.slow
@pytest.mark.parametrize("name", dealt(2, 0, [*MADE, *RECORDED]))
def test_what_is_drawn_on_a_machine_was_measured_there(name: str, make: Any, tmp_path: Path) -> None:
    if len(topology(name).numa_nodes) > 16:
        pytest.skip("more than 16 nodes")
    of = made(make, name, sum(map(ord, name)), tmp_path / "a.db")

    _, (top,), untied = told_of([of.maker.write()])

    assert untrue(top, of) == []
    assert untied == []


@pytest.mark.slow
def test_each_host_has_its_own_numbers(make: Any, tmp_path: Path) -> None:
    names = ("6 nodes", "1 node", "6 nodes")
    hosts = [made(make, name, seed, tmp_path / f"{seed}.db", f"n{seed}") for seed, name in enumerate(names)]

    drawings, tops, untied = told_of([of.maker.write() for of in hosts])

    assert [drawing.host for drawing in drawings] == ["n0", "n1", "n2"]
    for of, top in zip(hosts, tops, strict=True):
        assert untrue(top, of) == []
    assert untied == []


def test_what_has_no_number_here_is_not_called_not_measured(make: Any, tmp_path: Path) -> None:
    """A number of which nobody says which way is better has a chart, and no place on the drawing."""
    maker = make.Maker(tmp_path / "a.db")
    maker.topology = MADE["3 nodes"]
    near, far = topology("3 nodes").numa_nodes[:2]
    maker.groups = {name: (Group(cpus=node.cpus[:1], membind=(node.os_index,)),) for name, node in (("near", near), ("far", far))}  # fmt: skip
    maker.add("s", "stream", {"threads": 1}, make.stream_text(9e3, 1), place="near")
    metrics = {"rate": {"regex": r"rate ([0-9.]+)", "unit": "MB/s"}}
    maker.add("c", "command", {"command": ["x"], "metrics": metrics}, "rate 5.25\n", place="far")

    _, (top,), _ = told_of([maker.write()])

    words = {box.name: box.words[-1] for box in top.boxes if box.grey}
    assert words == {"Package 1, node 1": "has no number here; see the figures", "Package 2, node 2": "not measured"}  # fmt: skip


def test_what_was_never_quiet_has_no_number_on_the_drawing(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    maker.topology = MADE["1 node"]
    maker.groups = {"local": (Group(cpus=(0,), membind=(0,)),)}
    reasons = {"reasons": [{"id": "steal", "text": "the hypervisor took 0.5 s"}]}
    for size in (24_000, 64_000_000):
        text = make.poke_text([200.0] * 12_000, size=size)
        maker.add("t", "poke", {"target": "memory", "bytes": size}, text, axes=("bytes",), place="local", status="disturbed", reason="steal", counters=reasons)  # fmt: skip

    ((drawing,), *_) = drawn([maker.write()])

    assert not drawing.measured
