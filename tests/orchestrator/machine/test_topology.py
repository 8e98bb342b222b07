from __future__ import annotations

import csv
import dataclasses
import json
import re
import shutil
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.machine.assemble import name_kinds
from orchestrator.machine.descriptions import (
    disagreements,
    joined,
    numactl_disagreements,
    topology_from_capture,
    topology_from_text,
)
from orchestrator.machine.hwloc_xml import topology_from_xml
from orchestrator.machine.synthetic import topology_from_synthetic
from orchestrator.machine.sysfs import topology_from_files
from orchestrator.machine.topology import PU, Topology
from parsers import numactl
from parsers.errors import UserError
from tests.machines import CORPUS, FIXTURES, MACHINES, corpus, described, read

GUESTS = (
    "two-socket-smt",
    "two-socket-interleaved",
    "ulysses-2x10",
    "four-node",
    "memory-only-node",
    "cpu5-offline",
)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m["name"])
def test_numbers_of_a_machine(machine: dict[str, Any]) -> None:
    numbers = described(machine).numbers()

    assert {name: numbers.get(name) for name in machine["numbers"]} == machine["numbers"]


# --- hwloc XML ---


def indexed() -> list[tuple[str, dict[str, int]]]:
    index = CORPUS / "published" / "INDEX.tsv"
    if not index.is_file():
        return []
    rows = csv.reader(index.read_text(encoding="utf-8").splitlines(), delimiter="\t")
    return [
        (row[0], {k: int(v) for cell in row for k, v in re.findall(r"\bn_(\w+)=(\d+)", cell)})
        for row in rows
        if row and row[0].startswith("hwloc/") and row[0].endswith(".xml")
    ]


@pytest.mark.skipif(not indexed(), reason="the corpus is not here")
@pytest.mark.parametrize(("name", "counts"), indexed(), ids=lambda v: v if isinstance(v, str) else "")
def test_every_xml_of_the_corpus_has_what_its_index_says(name: str, counts: dict[str, int]) -> None:
    topology = corpus(f"published/{name}")

    assert len(topology.packages) == counts.get("Package", counts.get("Socket"))
    assert len(topology.cores) == counts["Core"]
    assert len([pu for pu in topology.pus if pu.online]) == counts["PU"]
    assert len(topology.numa_nodes) == counts.get("NUMANode", 1)  # hwloc 1 leaves out a single node
    assert sum(1 for c in topology.caches if c.level == 3) == counts.get("L3Cache", 0) or "Cache" in counts


@pytest.mark.parametrize("version", ["v1", "dev2017"])
def test_the_forms_of_hwloc_tell_the_same_machine(version: str) -> None:
    topology = corpus(f"published/hwloc/{version}_24em64t-2n6c2t-pci.xml")

    assert [node.cpus for node in topology.numa_nodes] == [tuple(range(0, 24, 2)), tuple(range(1, 24, 2))]
    assert [node.memory_bytes for node in topology.numa_nodes] == [19316633600, 19327348736]
    assert topology.distances == {(0, 0): 10, (0, 1): 20, (1, 0): 20, (1, 1): 10}
    assert topology.cores[1].cpus == (2, 14)
    assert {d.name for d in topology.devices if d.numa_node == 0} == {
        "sda",
        "eth0",
        "eth1",
        "eth2",
        "ib0",
        "mlx4_0",
    }
    sizes = {(c.level, c.kind): c.size_bytes for c in topology.caches}
    assert sizes == {(1, "data"): 32768, (2, "unified"): 262144, (3, "unified"): 12582912}


def test_this_and_the_old_form_of_one_export_are_the_same_value() -> None:
    forms = [corpus(f"generated/hwloc/lstopo{form}.xml") for form in ("", "_v1")]
    new, old = ((t.pus, t.cores, t.packages, t.numa_nodes, t.caches) for t in forms)

    assert new == old


@pytest.mark.parametrize(
    ("file", "devices"),
    [
        ("dev2017_192em64t-24n8c2t", {"eth0": 0, "sda": 1, "eth2": 4, "ib0": 6, "mlx4_0": 6}),
        ("v3_nvidiaDGX2", {}),  # GPUs are neither block nor net
        ("v2_power8gpudistances", {}),
        ("v2_cxlmem_dax.v2", {"sda": 0, "sr0": 0, "enp0s2": 0}),  # nor is CXL memory
    ],
)
def test_devices_hang_at_the_node_of_their_branch(file: str, devices: dict[str, int]) -> None:
    read = {d.name: d.numa_node for d in corpus(f"published/hwloc/{file}.xml").devices}

    assert {name: read.get(name) for name in devices or read} == devices


def test_bandwidth_matrices_are_not_taken_for_distances() -> None:
    dgx = corpus("published/hwloc/v3_nvidiaDGX2.xml").distances
    assert dgx == {(0, 0): 10, (0, 1): 21, (1, 0): 21, (1, 1): 10}
    assert corpus("published/hwloc/v3_64intel64-heteromem.xml").distances == {}


def test_high_bandwidth_memory_has_no_cpus_although_hwloc_hangs_it_at_some() -> None:
    nodes = corpus("published/hwloc/v3_64intel64-heteromem.xml").numa_nodes

    assert [len(node.cpus) for node in nodes] == [16, 16, 16, 16, 0, 0, 0, 0]
    assert (nodes[7].near_cpus, nodes[4].near_cpus) == (nodes[0].cpus, nodes[1].cpus)


def test_a_cpuset_in_the_xml_limits_what_is_allowed() -> None:
    topology = corpus("published/hwloc/v2_64intel64-3g2n_2n-irregulargroups_pci.xml")

    assert (topology.allowed_cpus, topology.allowed_nodes) == (frozenset(range(16)), {0, 1})
    assert (topology.numbers()["packages"], len(topology.packages)) == (2, 8)


def test_limits_only_ever_narrow() -> None:
    narrow = read("cpuset-of-3.xml").limited({1, 5}, {0, 1})

    assert narrow.allowed_cpus == {1, 5}
    assert narrow.allowed_nodes == {0}
    assert narrow.limited(range(8), {0, 1}) == narrow
    assert 5 not in read("cpu5-offline.json").limited(range(8)).allowed_cpus


def test_offline_cpus_are_known_by_number_only() -> None:
    (offline,) = [pu for pu in read("cpu5-offline.xml").pus if not pu.online]

    assert offline == PU(os_index=5, core=None, package=None, numa_node=None, online=False, allowed=False)


def test_core_kinds() -> None:
    cores = [("IntelCore", 0, frozenset({0, 1})), ("IntelAtom", 0, frozenset({2}))]
    arm = [("", 446, frozenset({0})), ("", 1024, frozenset({2})), ("", 871, frozenset({1}))]

    assert name_kinds(cores) == {0: "performance", 1: "performance", 2: "efficiency"}
    assert name_kinds(arm) == {0: "kind 0", 1: "kind 1", 2: "kind 2"}
    assert name_kinds([("", 1024, frozenset({0})), ("", 1024, frozenset({1}))]) == {}
    assert {core.kind for core in read("hybrid-cores.json").cores[:4]} == {"performance"}
    assert {core.kind for core in read("hybrid-cores.json").cores[4:]} == {"efficiency"}
    # frequencies alone make no kinds: hwloc lists one for each
    assert {pu.kind for pu in corpus("published/hwloc/v2_power8gpudistances.xml").pus} == {""}


def xml(inside: str, machine: str = 'cpuset="0x3"', head: str = "") -> str:
    return (
        f'<?xml version="1.0"?>{head}<topology version="2.0"><object type="Machine" {machine}>'
        f"{inside}</object></topology>"
    )


PUS = '<object type="PU" os_index="0" cpuset="0x1"/><object type="PU" os_index="1" cpuset="0x2"/>'


def test_a_machine_without_packages_cores_or_nodes_has_one_of_each_that_it_must() -> None:
    topology = topology_from_xml(xml(PUS))

    assert [core.cpus for core in topology.cores] == [(0,), (1,)]
    assert [package.cpus for package in topology.packages] == [(0, 1)]
    assert [(node.os_index, node.cpus, node.memory_bytes) for node in topology.numa_nodes] == [(0, (0, 1), None)]


def test_packages_are_counted_where_their_numbers_are_missing_or_double() -> None:
    for numbers in ('os_index="4294967295"', 'os_index="7"', ""):
        inside = "".join(
            f'<object type="Package" {numbers} cpuset="0x{1 << i:x}"><object type="PU" os_index="{i}" '
            f'cpuset="0x{1 << i:x}"/></object>'
            for i in range(2)
        )
        assert [p.index for p in topology_from_xml(xml(inside)).packages] == [0, 1]


def test_a_node_without_size_is_memoryless_only_beside_nodes_with_one() -> None:
    node = '<object type="NUMANode" os_index="{}" cpuset="0x{:x}" nodeset="0x1"{}/>'

    one = topology_from_xml(xml(node.format(0, 1, "") + node.format(1, 2, ' local_memory="4096"') + PUS))
    none = topology_from_xml(xml(node.format(0, 1, "") + node.format(1, 2, "") + PUS))

    assert [n.memory_bytes for n in one.numa_nodes] == [0, 4096]
    assert [n.memory_bytes for n in none.numa_nodes] == [None, None]
    assert (one.numbers()["numa_nodes"], none.numbers()["numa_nodes"]) == (1, 2)
    assert "memory" not in none.numbers()
    limited = dataclasses.replace(one, memory_limit_bytes=1024).numbers()
    assert (limited["memory"], limited["memory_per_numa_node"]) == (1024, 1024)


LAUGHS = "<!DOCTYPE t [" + "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 9)) + "]>"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("<", "not XML"),
        ("<topology>", "not XML"),
        ("<html><body/></html>", "not a topology that hwloc wrote"),
        ("<topology/>", "not a topology that hwloc wrote"),
        (xml(""), "no PU in it"),
        (xml('<object type="PU" cpuset="0x1"/>'), "PU without a usable os_index"),
        (xml('<object type="PU" os_index="-1" cpuset="0x1"/>'), "PU without a usable os_index"),
        (xml('<object type="PU" os_index="99999999" cpuset="0x1"/>'), "PU without a usable os_index"),
        (xml(PUS, machine='cpuset="junk"'), "cannot be read"),
        (xml(PUS).replace("2.0", "new"), "cannot be read"),
        (xml(PUS) + "<more/>", "not XML"),
        ("\0<topology/>", "neither"),
        (xml(PUS, head=LAUGHS), "declares the XML entity 'e1'"),
        (xml(PUS, head='<!DOCTYPE t [<!ENTITY x SYSTEM "file:///etc/passwd">]>'), "declares the XML entity 'x'"),
        ("<a>" * 200 + "</a>" * 200, "not a topology that hwloc wrote"),
        (xml("<object>" * 9000 + "</object>" * 9000), "cannot be read"),
        (xml(PUS) .replace("<object", "<object \ud800", 1), "not XML"),
    ],
)  # fmt: skip
def test_rubbish_is_refused_by_name(text: str, cause: str) -> None:
    with pytest.raises(UserError, match=r"^machine\.xml: ") as caught:
        topology_from_text(text, "machine.xml")
    assert cause in caught.value.cause
    assert caught.value.hint


@given(st.data())
def test_a_damaged_file_is_read_or_refused_and_never_crashes(data: st.DataObject) -> None:
    text = (FIXTURES / data.draw(st.sampled_from(["cpuset-of-3.xml", "hybrid-cores.json"]))).read_text(encoding="utf-8")
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 40))
    junk = data.draw(st.text("0123456789<>\"'&;-,{}[] \nxfPU", max_size=8))
    try:
        topology = topology_from_text(text[:start] + junk + text[start + length :])
    except UserError:
        return
    assert topology.cores


# --- the kernel's files ---


@pytest.mark.parametrize("guest", GUESTS)
def test_hwloc_and_the_kernel_tell_the_same_machine(guest: str) -> None:
    hwloc, kernel = read(f"{guest}.xml"), read(f"{guest}.json")

    for name in ("cores", "packages", "caches", "distances"):
        assert getattr(hwloc, name) == getattr(kernel, name)
    assert disagreements(hwloc, kernel) == []
    assert joined(hwloc, kernel).cores == hwloc.cores


def test_what_is_joined_has_the_kernels_nodes_and_hwlocs_place_of_them() -> None:
    both = joined(read("memory-only-node.xml"), read("memory-only-node.json"))

    assert [node.cpus for node in both.numa_nodes] == [(0, 1), (2, 3), ()]
    assert both.numa_nodes[2].near_cpus == (0, 1)
    assert both.numa_nodes[2].memory_bytes == 528048128
    assert {d.name: d.numa_node for d in both.devices}["nvme0n1"] == 1


def test_the_kernels_word_counts_where_hwloc_sees_another_machine() -> None:
    hwloc, kernel = read("two-socket-smt.xml"), read("cpu5-offline.json")

    assert joined(hwloc, kernel) == kernel
    assert [text.partition(":")[0] for text in disagreements(hwloc, kernel)] == [
        "cores",
        "packages",
        "NUMA nodes with CPUs",
    ]


def test_cores_are_numbered_along_the_tree_where_cpus_are_dealt_out_in_turn() -> None:
    cores = read("two-socket-interleaved.json").cores

    assert [core.cpus[0] for core in cores] == [0, 2, 4, 6, 1, 3, 5, 7]  # as lstopo's Core L#0 to L#7


def test_a_kernel_that_says_nothing_but_its_cpus_is_one_package() -> None:
    topology = topology_from_files({"devices/system/cpu/online": "0-2\n"})

    assert [p.cpus for p in topology.packages] == [(0, 1, 2)]
    assert len(topology.cores) == 3
    assert topology.distances == {}


def test_isolated_cpus_are_known_and_still_allowed() -> None:
    files = json.loads((FIXTURES / "two-socket-smt.json").read_text(encoding="utf-8"))["files"]
    topology = topology_from_files({**files, "devices/system/cpu/isolated": "2-3,6-7\n"})

    assert topology.isolated == {2, 3, 6, 7}
    assert topology.allowed_cpus == set(range(8))


def test_a_capture_may_hold_hwlocs_view_and_limits() -> None:
    capture = json.loads((FIXTURES / "two-socket-smt.json").read_text(encoding="utf-8"))
    capture["hwloc"] = (FIXTURES / "two-socket-smt.xml").read_text(encoding="utf-8")
    capture["allowed"] = {"cpus": "1,4-5", "nodes": "0"}

    topology = topology_from_capture(json.dumps(capture))

    assert topology.allowed_cpus == {1, 4, 5}
    assert topology.allowed_nodes == {0}
    assert len(topology.cores) == 4


@pytest.mark.parametrize("text", ["{", "{}", '{"files": [], "devices": []}', '{"files": {}, "devices": [[1]]}'])
def test_a_broken_capture_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"m\.json: "):
        topology_from_text(text, "m.json")


# --- synthetic descriptions ---

DESCRIPTIONS = (
    "pu:1",
    "pack:2 numa:1 core:10 pu:1",
    "pack:2 [numa] core:4 pu:2",
    "socket:2 node:1 core:2 pu:1",
    "PACKAGE:2 NUMANode:2 L3Cache:2 core:2 pu:2",
    "pack:2 numa:2 core:2 pu:2(indexes=core:pack)",
    "pack:2 numa:2 core:2 pu:2(indexes=pack:core)",
    "pack:2 numa:2 core:2 pu:2(indexes=numa:core)",
    "pack:2 core:4 pu:2(indexes=pu:core)",
    "pack:2 core:4 pu:2(indexes=core)",
    "pack:2 core:2 pu:2(indexes=4*2:2*2:1*2)",
    "pack:2 core:2 pu:2(indexes=2*4:1*2)",
    "pack:2 core:2 pu:2(indexes=4*2)",
    "pack:2 pu:2(indexes=1,3,5,7)",
    "numa:2(indexes=1,0) core:2 pu:1",
    "pack:2 [numa(indexes=3,1)] core:2 pu:1",
    "numa:4(indexes=2*2:1*2) pu:1",
    "pack:2 [numa][numa] core:2 pu:1",
    "[numa] pack:2 [numa] core:2 pu:1",
    "pack:2 [numa] core:2 [numa] pu:1",
    "pack:2 [numa(memory=16GB)] l3:1(size=32MiB) l2:2(size=1MB) l1d:1 l1i:1 core:2 pu:2",
    "group:2 [numa] pack:2 l3:2 l1d:2 l1i:1 core:1 pu:2",
    "pack:2 [numa(memory=1GiB)] die:2 [numa(memory=2GiB)] core:2 pu:1",
    "(memory=4GB) pack:2 core:2 pu:1",
    (
        "Package:1 [NUMANode(memory=17677111296)] L3Cache:1(size=272629760) L2Cache:2(size=2097152) "
        "L1dCache:1(size=49152) L1iCache:1(size=32768) Core:1 PU:1"
    ),
)  # fmt: skip

LEVELS = st.lists(
    st.sampled_from(["numa", "l3", "l2", "core"]), unique=True, max_size=4
).map(lambda found: [x for x in ("numa", "l3", "l2", "core") if x in found])  # fmt: skip


@st.composite
def descriptions(draw: st.DrawFn) -> str:
    levels = ["pack", *draw(LEVELS)]
    words = [f"{level}:{draw(st.integers(1, 3))}" for level in levels]
    if "numa" not in levels:
        words.insert(1, draw(st.sampled_from(["", "[numa]", "[numa][numa]"])))
    names = [level for level in levels if level not in ("l3", "l2")]
    order = draw(st.lists(st.sampled_from(names), unique=True))
    return " ".join([*words, f"pu:{draw(st.integers(1, 2))}" + (f"(indexes={':'.join(order)})" if order else "")])


def as_lstopo_sees_it(text: str) -> Topology:
    lstopo = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")
    if lstopo is None:
        pytest.skip("lstopo is not installed")
    done = subprocess.run([lstopo, "-i", text, "--of", "xml"], capture_output=True, text=True, check=True, timeout=30)
    assert "nvalid" not in done.stderr, done.stderr  # it falls back to plain numbers
    return topology_from_xml(done.stdout)


def agree(ours: Topology, theirs: Topology) -> None:
    assert (ours.pus, ours.cores, ours.packages) == (theirs.pus, theirs.cores, theirs.packages)
    for groups in ("numa_nodes", "caches"):  # hwloc makes up sizes that are not given
        size = "memory_bytes" if groups == "numa_nodes" else "size_bytes"
        for one, other in zip(getattr(ours, groups), getattr(theirs, groups), strict=True):
            given_size = getattr(one, size)
            assert one == dataclasses.replace(
                other, **{size: given_size}, **({"kind": ""} if size == "memory_bytes" else {})
            )
            assert given_size in (None, getattr(other, size))


@pytest.mark.parametrize("text", DESCRIPTIONS)
def test_a_synthetic_description_means_what_hwloc_means_by_it(text: str) -> None:
    agree(topology_from_synthetic(text), as_lstopo_sees_it(text))


@given(descriptions())
def test_any_synthetic_description_means_what_hwloc_means_by_it(text: str) -> None:
    agree(topology_from_synthetic(text), as_lstopo_sees_it(text))


def test_sizes_that_are_given_are_kept_and_others_unknown() -> None:
    given_ = topology_from_synthetic("pack:2 [numa(memory=2GiB)] l3:1(size=3MB) core:2 pu:1")
    bare = topology_from_synthetic("pack:2 [numa] l3:1 core:2 pu:1")

    assert (given_.numbers()["memory"], given_.numbers()["L3"]) == (2 * 2 * 1024**3, 3_000_000)
    assert not {"memory", "L3", "LLC", "L1"} & bare.numbers().keys()


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "it is empty"),
        ("nonsense", "'nonsense' is not a type of level"),
        ("2 3 4", "expected a level such as `core:4`"),
        ("pack:2 core:4", "the last level is not pu"),
        ("pack:2 core pu:1", "at 'core pu:1'"),
        ("pack:0 pu:1", "expected a level"),
        ("pack:2 pack:3 pu:1", "package stands twice"),
        ("numa:2 pack:2 [numa] pu:2", "numa stands twice"),
        ("pu:2 core:1", "PUs come last"),
        ("pack:2 [core] pu:1", "only NUMA nodes are allowed in [ ]"),
        ("pack:2 [numa pu:1", "expected a level"),
        ("pack:2(indexes=1,0 pu:1", "expected a level"),
        ("pack:2 pu:2(indexes=0,1)", "do not number 4 objects once each"),
        ("pack:2 pu:2(indexes=0,1,2,2)", "do not number 4 objects once each"),
        ("pack:2 pu:2(indexes=2*4:4*2)", "do not number 4 objects once each"),
        ("pack:2 pu:2(indexes=tile)", "'tile' is not a type of level"),
        ("pack:2 pu:2(indexes=core)", "there is no level 'core'"),
        ("pack:2 pu:2(indexes=0*0)", "do not number 4 objects once each"),
        ("pack:2 [numa(memory=lots)] pu:2", "could not convert 'lots' to a size"),
        ("pack:2 [numa(memory)] pu:2", "'memory' is not an attribute"),
        ("pack:1000 core:1000 pu:2", "more than 65536 objects"),
        ("pack:1000000000000 pu:2", "expected a level"),
        ("pack:2,pu:2", "expected a level"),
        ("experiments/none.xml", "'experiments' is not a type of level"),
        ("available: 2 nodes (0-1)\nnode 0 cpus: 0 1", "neither hwloc XML nor a synthetic description"),
    ],
)  # fmt: skip
def test_a_description_that_is_none_is_refused_with_an_example(text: str, cause: str) -> None:
    with pytest.raises(UserError) as caught:
        topology_from_synthetic(text, "--topology")
    assert caught.value.place == "--topology"
    assert cause in caught.value.cause
    assert "pack:2 [numa] core:10 pu:1" in caught.value.hint


# --- what numactl says ---

HARDWARE = """\
available: 2 nodes (0-1)
node 0 cpus: 0 1 4 5
node 0 size: 709 MB
node 0 free: 663 MB
node 1 cpus: 2 3 6 7
node 1 size: 754 MB
node 1 free: 705 MB
node distances:
node   0   1 
  0:  10  21 
  1:  21  10 
"""  # noqa: W291 (numactl 2.0.16 in the guest two-socket-smt)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HARDWARE, []),
        (HARDWARE.replace("0 1 4 5", "0 1 4"), ["numa_node 0: numactl has CPUs 0-1,4, the kernel 0-1,4-5"]),
        (HARDWARE.replace("cpus: 2 3 6 7", "cpus:"), ["numa_node 1: numactl has CPUs none, the kernel 2-3,6-7"]),
        (HARDWARE.replace("  10  21", "  10  31"), ["distance from 0 to 1: numactl has 31, the kernel 21"]),
        (
            "available: 1 nodes (0)\nnode 0 cpus: 0 1 4 5\nnode 0 size: 709 MB\nnode distances:\nnode   0 \n  0:  10 \n",
            ["NUMA nodes: numactl has 0, the kernel 0-1"],
        ),
        ("available: 0 nodes ()\n", ["NUMA nodes: numactl has none, the kernel 0-1"]),
        (
            "No NUMA support available on this system.\n",
            ["numactl reports no NUMA support here: it will place nothing"],
        ),
    ],
)  # fmt: skip
def test_where_numactl_contradicts_the_kernel(text: str, said: list[str]) -> None:
    assert numactl_disagreements(numactl.parse(text), read("two-socket-smt.json")) == said
