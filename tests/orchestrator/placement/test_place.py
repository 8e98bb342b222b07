from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from orchestrator.machine.cpulist import parse_ordered
from orchestrator.machine.descriptions import topology_from_text
from orchestrator.machine.topology import Topology
from orchestrator.model import Group, Place, Placement
from orchestrator.placement.place import expand_each, numactl, resolve
from orchestrator.placement.selectors import CPUS, Selectors, Unplaceable, problems
from orchestrator.placement.selectors import MEMORY as MEMORY_FORMS
from parsers.errors import UserError
from tests.machines import CORPUS, MACHINES, described


def place(row: dict[str, Any]) -> Place:
    words = {key: row[key] for key in ("cpus", "memory", "spread", "name") if key in row}
    return Place(**{"name": row["cpus"], **words})


def group(text: str) -> Group:
    """Read `0,4@0` (PUs in the order of the threads, membind) or `0,4~0-1` (interleave)."""
    cpus, kind, nodes = re.fullmatch(r"([\d,-]+)([@~]?)([\d,-]*)", text).groups()  # type: ignore[union-attr]
    return Group(
        cpus=parse_ordered(cpus),
        membind=parse_ordered(nodes) if kind == "@" else (),
        interleave=parse_ordered(nodes) if kind == "~" else (),
    )


ROWS = [(machine, row) for machine in MACHINES for row in machine.get("places", [])]
EACH = [(machine, row) for machine in MACHINES for row in machine.get("each", [])]


def title(value: dict[str, Any]) -> str:
    return str(value.get("name") or " ".join(f"{k}={v}" for k, v in value.items() if k not in ("want", "refused")))


@pytest.mark.parametrize(("machine", "row"), ROWS, ids=title)
def test_a_selector_lands_where_a_person_says(machine: dict[str, Any], row: dict[str, Any]) -> None:
    def placed() -> tuple[Placement, ...]:
        return resolve(place(row), described(machine), threads=row.get("threads"), processes=row.get("processes", 1))

    if "refused" in row:
        with pytest.raises(Unplaceable) as caught:
            placed()
        assert row["refused"] in caught.value.reason
        return
    (got,) = placed()
    assert list(got.groups) == [group(text) for text in row["want"]]
    assert got.relation == row.get("relation", got.relation)


@pytest.mark.parametrize(("machine", "row"), EACH, ids=title)
def test_each_selectors_give_one_placement_for_each(machine: dict[str, Any], row: dict[str, Any]) -> None:
    topology = described(machine)
    shape = {"threads": row.get("threads"), "processes": row.get("processes", 1)}

    got = resolve(place(row), topology, **shape)

    assert [p.name for p in got] == row["names"]
    assert [list(p.groups) for p in got] == [[group(t) for t in texts] for texts in row["want"]]
    assert len({p.name for p in got}) == len(got)  # the name tells the cells apart
    singly = [resolve(one, topology, **shape) for one in expand_each(place(row), topology)]
    assert got == tuple(placement for (placement,) in singly)


# --- laws, on any machine ---

SELECTORS = (
    "all", "numa_node 0", "numa_node 1", "package 0", "package 1,0", "core 0", "core 1,0", "pu 0", "pu 0-3",
    "smt siblings", "same cache", "same package", "other package",
    "each numa_node", "each package", "each core", "each pair of packages", "near nvme0n1", "near eth0",
    "near memory",
)  # fmt: skip
PAIRS = ("smt siblings", "same cache", "same package", "other package", "each pair of packages")
MEMORY = (
    "local",
    "remote",
    "numa_node 0",
    "numa_node 1",
    "each numa_node",
    "each memory-only node",
    "interleave",
    "any",
)

CORPUS_XML = sorted(CORPUS.glob("*/hwloc/*.xml"))
READ = {machine["name"]: described(machine) for machine in MACHINES}
READ |= {path.name: topology_from_text(path.read_text(encoding="utf-8")) for path in CORPUS_XML}
SMALL = {name: topology for name, topology in READ.items() if len(topology.pus) <= 128}


@st.composite
def machines(draw: st.DrawFn) -> Topology:
    if draw(st.booleans()):
        topology = SMALL[draw(st.sampled_from(sorted(SMALL)))]
    else:
        packages, nodes, caches, cores, pus = (draw(st.integers(1, n)) for n in (4, 3, 2, 3, 3))
        order = draw(st.permutations(["pack", "numa", "core"]))
        topology = topology_from_text(
            f"pack:{packages} numa:{nodes} l3:{caches} core:{cores} pu:{pus}(indexes={':'.join(order)})"
        )
    if draw(st.booleans()):
        return topology
    cpus = draw(st.frozensets(st.sampled_from(sorted(topology.allowed_cpus)), min_size=1))
    nodes_ = draw(st.frozensets(st.sampled_from(sorted(topology.allowed_nodes)), min_size=1))
    return topology.limited(cpus, nodes_)


@given(
    machines(),
    st.sampled_from(SELECTORS),
    st.sampled_from(MEMORY),
    st.sampled_from(["compact", "spread"]),
    st.one_of(st.none(), st.just("cores"), st.integers(1, 6)),
    st.integers(1, 4),
)
def test_laws_of_placement(
    topology: Topology, cpus: str, memory: str, spread: Any, threads: Any, processes: int
) -> None:
    asked = Place(name="asked", cpus=cpus, memory=memory, spread=spread)
    if problems(asked):
        return
    try:
        placements = resolve(asked, topology, threads=threads, processes=processes)
    except Unplaceable:
        return

    assert placements
    assert placements == resolve(asked, topology, threads=threads, processes=processes)
    usable = {n.os_index for n in topology.numa_nodes if n.allowed and n.has_memory}
    core_of = {cpu: core for core in topology.cores for cpu in core.cpus}
    home = {pu.os_index: pu.numa_node for pu in topology.pus}
    for placement in placements:
        taken = [cpu for g in placement.groups for cpu in g.cpus]
        assert len(placement.groups) == processes
        assert len(taken) == len(set(taken)), "a PU given twice"
        assert set(taken) <= topology.allowed_cpus
        assert all(not (g.membind and g.interleave) for g in placement.groups)
        if threads == "cores" and cpus not in PAIRS and not cpus.startswith("pu"):
            assert all(len({core_of[cpu].index for cpu in g.cpus}) == len(g.cpus) for g in placement.groups)
        elif isinstance(threads, int) and cpus not in PAIRS:
            assert all(len(g.cpus) == threads for g in placement.groups)
        for g in placement.groups:
            assert set(g.membind) | set(g.interleave) <= usable
            assert bool(g.membind or g.interleave) == (memory != "any")
            if memory == "local" and not re.search("nearest|mixed", placement.relation):
                assert set(g.membind) == {home[cpu] for cpu in g.cpus}
            if memory == "each memory-only node":
                assert not any(home == node for node in g.membind for home in topology.node_of.values())
            if memory == "remote":
                assert not set(g.membind) & {home[cpu] for cpu in g.cpus}
            if memory == "interleave":
                assert set(g.interleave) == usable
            if cpus not in PAIRS:  # no core is doubled up while another of the group's idles
                used = [core_of[cpu].index for cpu in g.cpus]
                first = used[: len(set(used))]
                assert len(first) == len(set(first))
        if processes > 1 and not cpus.startswith("pu"):
            owners = [{core_of[cpu].index for cpu in g.cpus} for g in placement.groups]
            if cpus != "smt siblings":
                assert sum(map(len, owners)) == len(set().union(*owners)), "two processes on one core"
        if cpus in PAIRS:
            a, b = (core_of[cpu] for cpu in taken)
            level2 = [c for c in topology.caches if c.level >= 2 and set(taken) <= set(c.cpus)]
            match cpus:
                case "smt siblings":
                    assert a == b
                case "same cache":
                    assert a != b
                    assert level2
                case "same package":
                    assert a != b
                    assert a.package == b.package
                case _:
                    assert a.package != b.package
        if cpus.startswith("core"):
            assert {core_of[cpu].index for cpu in taken} <= {0, 1}


@given(machines(), st.integers(1, 64), st.sampled_from(["compact", "spread"]))
def test_any_number_of_threads_fits_up_to_the_number_of_pus(topology: Topology, threads: int, spread: Any) -> None:
    asked = Place(name="all", cpus="all", memory="any", spread=spread)
    pus = topology.numbers()["pus"]

    if threads > pus:
        with pytest.raises(Unplaceable, match=re.escape(f"cannot hold {threads} threads: it has {pus} PU")):
            resolve(asked, topology, threads=threads, processes=1)
        return
    (placement,) = resolve(asked, topology, threads=threads, processes=1)
    cores = {core for core in topology.cores if set(core.cpus) & set(placement.cpus)}
    assert len(placement.cpus) == threads
    assert len(cores) == min(threads, topology.numbers()["cores"])  # one PU per core before any sibling


@given(machines(), st.integers(1, 8))
def test_threads_spread_evenly_over_packages(topology: Topology, threads: int) -> None:
    allowed = topology.allowed_cpus
    room = {
        p.index: sum(1 for c in topology.cores if c.package == p.index and allowed & set(c.cpus))
        for p in topology.packages
    }
    room = {index: cores for index, cores in room.items() if cores}
    assume(threads <= len(room) * min(room.values()))

    (placement,) = resolve(
        Place(name="all", cpus="all", memory="any", spread="spread"), topology, threads=threads, processes=1
    )

    package_of = {pu.os_index: pu.package for pu in topology.pus}
    counts = [sum(1 for cpu in placement.cpus if package_of[cpu] == index) for index in room]
    assert max(counts) - min(counts) <= 1


@pytest.mark.skipif(not CORPUS_XML, reason=f"the corpus is not here: no {CORPUS}")
@pytest.mark.parametrize(
    "path",
    [pytest.param(p, marks=[] if p.name in SMALL else pytest.mark.slow, id=p.name) for p in CORPUS_XML],
)
def test_every_machine_of_the_corpus_places_or_refuses_every_selector(path: Path) -> None:
    topology = READ[path.name]
    met = 0
    said: set[str] = set()
    for cpus in SELECTORS:
        for memory in MEMORY if cpus != "each core" else ("local",):
            processes = 2 if cpus in PAIRS else 1
            if problems(Place(name="x", cpus=cpus, memory=memory)):
                continue  # `near memory` and memory that lacks a name
            try:
                met += len(resolve(Place(name="x", cpus=cpus, memory=memory), topology, threads=1, processes=processes))
            except Unplaceable as refusal:
                said.add(refusal.reason)
    assert met > 20
    assert all(reason and "\n" not in reason for reason in said)


def test_an_isolated_pu_is_refused_with_the_way_to_get_it() -> None:
    topology = replace(READ["2 packages, SMT, numbered as most servers do"], isolated=frozenset({2, 6}))
    topology = topology.limited({0, 1, 3, 4, 5, 7})  # the mask that processes start with under isolcpus=2,6

    with pytest.raises(Unplaceable) as caught:
        resolve(Place(name="a", cpus="core 2"), topology, threads=None, processes=1)
    assert "it is isolated: `taskset -c 0-7 pinsweep …` allows it" in caught.value.reason


# --- words ---


@pytest.mark.parametrize(
    ("cpus", "memory", "field", "said"),
    [
        ("numa node 0", "local", "cpus", "did you mean `numa_node 0`?"),
        ("numa_node:3", "local", "cpus", "did you mean `numa_node 3`?"),
        ("numanode 1", "local", "cpus", "did you mean `numa_node 1`?"),
        ("socket 0", "local", "cpus", "there are all, numa_node N,"),
        ("Package 0", "local", "cpus", "did you mean `package 0`?"),
        ("cores 0-3", "local", "cpus", "did you mean `core 0-3`?"),
        ("same caches", "local", "cpus", "did you mean `same cache`?"),
        ("smt sibling", "local", "cpus", "did you mean `smt siblings`?"),
        ("each core 3", "local", "cpus", "did you mean `each core`?"),
        ("each node", "local", "cpus", "did you mean `each numa_node`?"),
        ("numa_node", "local", "cpus", "'numa_node' needs a number: `numa_node 0`, or `each numa_node`"),
        ("core 0,0", "local", "cpus", "names 0 twice"),
        ("core 3-1", "local", "cpus", "'3-1' runs backwards"),
        ("core 0,,1", "local", "cpus", "'' is not a number"),
        ("core -1", "local", "cpus", "'' is not a number"),
        ("pu 99999999", "local", "cpus", "more than any machine has"),
        ("pair of packages 0", "local", "cpus", "a pair has two packages"),
        ("near", "local", "cpus", "no selector 'near'"),
        ("", "local", "cpus", "no selector ''"),
        ("numa_node N", "local", "cpus", "no selector 'numa_node N'"),
        ("all", "locla", "memory", "did you mean `local`?"),
        ("all", "interleaved", "memory", "did you mean `interleave`?"),
        ("all", "node 1", "memory", "did you mean `numa_node 1`?"),
        ("all", "near eth0", "memory", "there are local, remote"),
        ("all", "core 0", "memory", "there are local, remote"),
    ],
)  # fmt: skip
def test_a_slip_is_named_with_the_nearest_spelling(cpus: str, memory: str, field: str, said: str) -> None:
    asked = Place(name="a", cpus=cpus, memory=memory)

    ((where, mistake),) = problems(asked)

    assert where == field
    assert said in mistake
    with pytest.raises(UserError, match=re.escape(mistake)):
        Selectors.of(asked)


@pytest.mark.parametrize(
    "cpus",
    [*SELECTORS, "numa_node 0,2", "core  0-3, 7", " all ", "near /dev/nvme0n1", "pair of packages 1,0"],
)
def test_good_words_are_read_and_printed_as_they_are_written(cpus: str) -> None:
    place = Place(name="a", cpus=cpus, memory="numa_node 1" if cpus == "near memory" else "local")

    assert problems(place) == []
    assert str(Selectors.of(place).cpus).replace(" ", "") == cpus.replace(" ", "").replace("/dev/", "")


@given(st.text(max_size=30), st.text(alphabet="0123456789,- :", max_size=12))
def test_any_words_are_read_or_refused(words: str, numbers: str) -> None:
    for text in (words, f"core {numbers}", f"near {words}", f"{words} {numbers}"):
        for _, mistake in problems(Place(name="a", cpus=text, memory=text)):
            assert mistake


# --- the command line ---


@pytest.mark.parametrize(
    ("group_", "argv"),
    [
        (
            Group(cpus=(0, 8, 1, 2), membind=(0,)),
            ("/usr/bin/numactl", "--physcpubind=0-2,8", "--membind=0", "--"),
        ),
        (Group(cpus=(3,)), ("/usr/bin/numactl", "--physcpubind=3", "--")),
        (
            Group(cpus=(0, 1), interleave=(0, 1, 4)),
            ("/usr/bin/numactl", "--physcpubind=0-1", "--interleave=0-1,4", "--"),
        ),
        (Group(cpus=(1,), membind=(1, 0)), ("/usr/bin/numactl", "--physcpubind=1", "--membind=0-1", "--")),
    ],
)
def test_numactl_gets_exactly_what_the_group_says(group_: Group, argv: tuple[str, ...]) -> None:
    assert numactl(group_, "/usr/bin/numactl") == argv


def test_every_selector_is_documented() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "selectors.md").read_text(encoding="utf-8")

    assert [form for form in (*CPUS, *MEMORY_FORMS) if f"`{form}`" not in text] == []


HBM = """<?xml version="1.0"?><topology version="2.0"><object type="Machine" os_index="0" cpuset="0x3">
<object type="Package" os_index="0" cpuset="0x3">
<object type="NUMANode" os_index="0" cpuset="0x3" local_memory="68719476736" subtype="DRAM"/>
<object type="NUMANode" os_index="1" cpuset="0x3" local_memory="17179869184"{subtype}/>
<object type="Core" cpuset="0x1"><object type="PU" os_index="0" cpuset="0x1"/></object>
<object type="Core" cpuset="0x2"><object type="PU" os_index="1" cpuset="0x2"/></object>
</object></object></topology>"""


@pytest.mark.parametrize(("subtype", "kind"), [(' subtype="HBM"', "HBM"), ("", "CPU-less")])
@pytest.mark.parametrize("memory", ["remote", "numa_node 1"])
def test_memory_of_another_kind_is_not_called_remote(subtype: str, kind: str, memory: str) -> None:
    """One package with DRAM and HBM: what is not local there is nobody else's."""
    topology = topology_from_text(HBM.format(subtype=subtype))

    (found,) = resolve(Place(name="remote", cpus="core 0", memory=memory), topology, threads=1, processes=1)
    (pair,) = resolve(Place(name="x", cpus="same package", memory=memory), topology, threads=1, processes=2)

    assert found.groups == (Group(cpus=(0,), membind=(1,)),)
    assert (found.relation, pair.relation) == (kind, f"same package, {kind} memory")


@pytest.mark.parametrize(("cpus", "memory", "membind"), [
    ("core 0", "local", (0,)), ("core 1", "local", None), ("all", "local", None), ("core 1", "remote", None), ("core 1", "any", ()), ("core 1", "numa_node 0", (0,)),
])  # fmt: skip
def test_a_pu_of_no_numa_node_has_no_local_memory(cpus: str, memory: str, membind: tuple[int, ...] | None) -> None:
    """A Threadripper with memory at two of four dies. It was not bound, and called local."""
    text = re.sub('<object type="NUMANode" os_index="1".*\n', "", HBM)
    topology = topology_from_text(text.replace('os_index="0" cpuset="0x3" local', 'os_index="0" cpuset="0x1" local'))
    place = Place(name="x", cpus=cpus, memory=memory)

    if membind is None:
        with pytest.raises(Unplaceable, match="PUs 1 belong to no NUMA node"):
            resolve(place, topology, threads=None, processes=1)
    else:
        (found,) = resolve(place, topology, threads=1, processes=1)
        assert (found.groups[0].membind, found.relation == "local") == (membind, cpus == "core 0")


def test_without_distances_remote_is_another_package() -> None:
    """With several NUMA nodes a package (SNC, NPS), the next node is the neighbour on the same chip."""
    machine = topology_from_text("pack:2 numa:4 core:2 pu:1", "")
    place = Place(name="remote", cpus="numa_node 0", memory="remote")

    (placement,) = resolve(place, machine, threads=None, processes=1)

    assert placement.groups[0].membind == (4,)
    assert placement.relation == "remote"
