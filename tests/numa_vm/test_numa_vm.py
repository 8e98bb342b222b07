"""pinsweep on real kernels with several packages and NUMA nodes: what it says against numa_maps, numastat and /proc.

Times mean nothing in an emulated guest; where things run does. inside.py does the work there.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest

from orchestrator.machine.cpulist import parse_cpulist

pytestmark = pytest.mark.slow


class Guest(Protocol):
    """See conftest.py."""

    folder: Path
    facts: Mapping[str, Any]


def on(*topologies: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("guest", topologies, indirect=True)


NODES = {  # numa-vm's README: node → CPUs
    "two-socket-smt": {0: "0-1,4-5", 1: "2-3,6-7"},
    "ulysses-2x10": {0: "0-9", 1: "10-19"},
    "four-node": {0: "0-1", 1: "2-3", 2: "4-5", 3: "6-7"},
    "memory-only-node": {0: "0-1", 1: "2-3", 2: "none"},
}
NVME = {"two-socket-smt": 1, "ulysses-2x10": 1, "four-node": 3, "memory-only-node": 1}
everywhere = on(*NODES)


class Spot(NamedTuple):
    cpus: str  # where the tool may run
    nodes: set[int]  # where its memory is
    aside: str  # where pinsweep waits


SPOTS = {
    "two-socket-smt": {
        "local": Spot("0-1,4-5", {0}, "2-3,6-7"),
        "remote": Spot("0-1,4-5", {1}, "2-3,6-7"),
        "near": Spot("2-3,6-7", {1}, "0-1,4-5"),
        "interleave": Spot("0-7", {0, 1}, "0-7"),
        "thread": Spot("4", {1}, "2-3,6-7"),
    },
    "ulysses-2x10": {  # booted with isolcpus=19; "near" is "local" there: one cell
        "local": Spot("10-18", {1}, "0-9"),
        "remote": Spot("10-18", {0}, "0-9"),
    },
    "four-node": {
        "local": Spot("4-5", {2}, "0-3,6-7"),
        "remote": Spot("0-1", {2}, "2-3,6-7"),
        "near": Spot("6-7", {3}, "0-5"),
        "package": Spot("0-3", {0, 1}, "4-7"),
        "beside": Spot("0-1", {1}, "4-7"),
    },
    "memory-only-node": {  # as above
        "local": Spot("2-3", {1}, "0-1"),
        "remote": Spot("0-1", {1}, "2-3"),  # other CPUs' memory, although node 2 is nobody's
        "memory only (numa_node 2)": Spot("0-1", {2}, "2-3"),
    },
}


@pytest.fixture
def topology(request: pytest.FixtureRequest) -> str:
    """The name of the guest's topology."""
    name = request.node.callspec.params["guest"]
    assert isinstance(name, str)
    return name


def told(run: Mapping[str, Any]) -> dict[str, Any]:
    """What touch.py printed of itself."""
    found = json.loads(run["out"].splitlines()[0])
    assert isinstance(found, dict)
    return found


@everywhere
def test_doctor_sees_the_machine_and_no_contradiction(guest: Guest, topology: str) -> None:
    lines = guest.facts["doctor"]["out"].splitlines()
    shown = dict(line.strip().split(": ", 1) for line in lines if line.startswith("  numa_node "))

    assert {node: cpus.split(", ")[0] for node, cpus in shown.items()} == {
        f"numa_node {node}": f"CPUs {cpus}" for node, cpus in NODES[topology].items()
    }
    assert "nvme0n1" in shown[f"numa_node {NVME[topology]}"]
    assert not [line for line in lines if "disagreement" in line]


@everywhere
def test_a_plan_on_the_capture_is_the_plan_on_the_machine(guest: Guest) -> None:
    here, there = guest.facts["plans"]["here"], guest.facts["plans"]["there"]

    assert here["code"] == there["code"] == 0
    assert len(json.loads(here["out"])["runs"]) >= 3
    assert there == here


@everywhere
def test_local_is_local_and_remote_is_remote(guest: Guest, topology: str) -> None:
    """By the kernel's count of the tool's own pages (numa_maps), and by numastat's."""
    memory = guest.facts["memory"]
    runs = {run["place"]: run for run in memory["runs"]}

    assert memory["code"] == 0, memory["err"]
    assert runs.keys() == SPOTS[topology].keys()
    for name, spot in SPOTS[topology].items():
        real = told(runs[name])
        pages = {int(node): count for node, count in real["pages"].items()}
        mb = [float(size) for size in real["numastat_private_mb"][:-1]]  # the last is their sum
        there = sum(pages.get(node, 0) for node in spot.nodes)
        assert there >= 32 << 8, name  # 32 MiB in pages of 4 KiB
        assert sum(pages.values()) - there < 100, name  # pages of libraries that were in memory before
        assert sum(mb[node] for node in spot.nodes) >= 32, name
        assert sum(mb) - sum(mb[node] for node in spot.nodes) < 8, name
        if len(spot.nodes) > 1 and name == "interleave":
            assert min(pages.values()) > 0.4 * sum(pages.values())


@everywhere
def test_the_tool_is_where_the_record_says_and_pinsweep_is_not(guest: Guest, topology: str) -> None:
    for run in guest.facts["memory"]["runs"]:
        spot = SPOTS[topology][run["place"]]
        real = told(run)
        assert real["cpus"] == spot.cpus
        assert real["last_cpu"] in parse_cpulist(spot.cpus)
        assert real["parent_cpus"] == spot.aside
        (group,) = run["asked"]["groups"]
        (process,) = run["seen"]["processes"]
        assert set(group["cpus"]) == parse_cpulist(process["cpus"]) == parse_cpulist(spot.cpus)
        assert set(group["membind"] or group["interleave"]) == spot.nodes
        assert run["seen"]["orchestrator"] == spot.aside


@on("two-socket-smt", "ulysses-2x10")
def test_ranks_of_pingpong_sit_where_the_report_says(guest: Guest, topology: str) -> None:
    facts = guest.facts["pingpong"]
    if not facts:
        pytest.skip("the mpi extra is not installed (x86-64 only)")
    wanted = {
        "two-socket-smt": {
            "smt siblings": [(0, 0), (4, 0)],
            "same cache": [(0, 0), (1, 0)],
            "other package": [(0, 0), (2, 1)],
        },
        "ulysses-2x10": {"same cache": [(0, 0), (1, 0)], "other package": [(0, 0), (10, 1)]},
    }[topology]  # place → (PU, node of its memory) of rank 0 and 1

    assert {run["place"]: run["status"] for run in facts["runs"]} == dict.fromkeys(wanted, "ok")
    assert len(facts["ranks"]) == 2 * len(wanted)
    for number, run in enumerate(facts["runs"]):
        pair = sorted(facts["ranks"][2 * number : 2 * number + 2], key=lambda rank: rank["rank"])
        for rank, (cpu, node) in zip(pair, wanted[run["place"]], strict=True):
            assert set(rank["masks"]) == {str(cpu)}, run["place"]
            assert rank["policy"] == f"bind:{node}"
            assert max(rank["pages"], key=rank["pages"].get) == str(node)
        shown = subprocess.run(
            [sys.executable, "-m", "pinsweep", "show", guest.folder / "pingpong.db", str(run["run"])],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        (asked,) = [line for line in shown.splitlines() if line.startswith("asked ")]
        said = [f"CPU {cpu}, memory of node {node}" for cpu, node in wanted[run["place"]]]
        assert asked.removeprefix("asked").strip() == " | ".join(said)


@on("two-socket-smt")
def test_each_thread_has_a_pu_of_its_own(guest: Guest) -> None:
    threads = guest.facts["threads"]

    assert threads["code"] == 0, threads["err"]
    masks = {len(one["masks"]): sorted(one["masks"]) for one in threads["processes"]}
    assert masks == {2: ["2", "3"], 4: ["2", "3", "6", "7"]}  # cores first, then siblings
    for one in threads["processes"]:
        assert one["policy"] == "bind:0"
        assert max(one["pages"], key=one["pages"].get) == "0"
    assert {json.dumps(run["seen"]["processes"][0]["threads"]) for run in threads["runs"]} == {
        json.dumps(dict.fromkeys(cpus, 1)) for cpus in masks.values()
    }


@on("two-socket-smt")
def test_latency_thread_load_threads_and_memory_are_where_the_cell_says(guest: Guest) -> None:
    latency = guest.facts["latency"]

    assert latency["code"] == 0, latency["err"]
    (one,) = latency["processes"]
    assert one["masks"] == ["0", "1", "4", "5"]
    assert max(one["pages"], key=one["pages"].get) == "1"


@on("memory-only-node")
def test_a_raw_disk_is_written_to_only_with_the_word_that_names_it(guest: Guest) -> None:
    fio = guest.facts["fio"]
    digests = fio["digests"]

    assert (fio["read"]["code"], fio["word"]["code"]) == (0, 0), fio["word"]["err"]
    assert fio["char"]["code"] == 0, fio["char"]["err"]
    for refused in ("no word", "word for another"):
        assert fio[refused]["code"] == 2
        assert "writes to this device, and nothing allows it" in fio[refused]["err"]
        assert not fio[refused]["runs"]
    assert digests["after refusals"] == digests["before"]
    assert digests["after the write"] != digests["before"]
    assert digests["after the write by its character device"] != digests["after the write"]
    assert digests["other after"] == digests["other before"]
    for run in (*fio["read"]["runs"], *fio["word"]["runs"]):
        assert [process["cpus"] for process in run["seen"]["processes"]] == ["2-3"]


@on("memory-only-node")
def test_a_mounted_disk_is_not_written_to_even_with_the_word(guest: Guest) -> None:
    """There is no /etc/mtab in the guest, so that fio itself would write."""
    fio = guest.facts["fio"]

    assert fio["mounted"]["code"] == 2
    assert "/dev/nvme0n1 is in use: nvme0n1 is mounted at " in fio["mounted"]["err"]
    assert fio["mounted char"]["code"] == 2
    assert "/harmless is in use: nvme0n1 is mounted at " in fio["mounted char"]["err"]
    assert fio["digests"]["mounted after"] == fio["digests"]["mounted before"]


@on("two-socket-smt")
def test_in_a_cpuset_what_is_inside_runs_and_what_is_outside_is_skipped(guest: Guest) -> None:
    cpuset = guest.facts["cpuset"]

    assert cpuset["code"] == 0, cpuset["err"]
    assert {run["place"]: told(run)["cpus"] for run in cpuset["runs"]} == {"all": "1,4-5", "core 0": "4"}
    assert {run["place"]: told(run)["parent_cpus"] for run in cpuset["runs"]} == {
        "all": "1,4-5",
        "core 0": "1,5",
    }
    assert dict(cpuset["skipped"]) == {
        "numa_node 1": "numa_node 1 may not be used here: allowed are PUs 1,4-5 (cpuset or affinity mask)",
        "remote": "remote memory: every NUMA node with usable memory (0) is local to PUs 4",
    }


@on("two-socket-smt")
def test_a_cgroup_that_takes_the_cpus_away_is_caught(guest: Guest) -> None:
    taken = guest.facts["taken"]

    assert taken["code"] == 1
    (run,) = taken["runs"]
    assert run["status"] == "misplaced"
    assert "it may run on PUs 2, requested 0" in run["reason"]


@on("ulysses-2x10")
def test_an_isolated_cpu_is_skipped_with_the_way_to_get_it_and_that_way_works(guest: Guest) -> None:
    ((place, reason),) = guest.facts["memory"]["skipped"]
    assert (place, reason) == (
        "isolated",
        "pu 19 may not be used here: allowed are PUs 0-18; it is isolated: `taskset -c 0-19 pinsweep …` allows it",
    )
    (run,) = guest.facts["isolated"]["runs"]
    assert run["status"] == "ok"
    assert told(run)["cpus"] == "19"
    assert told(run)["parent_cpus"] == "0-9"


@on("memory-only-node")
def test_a_node_without_cpus_runs_nothing(guest: Guest) -> None:
    ((place, reason),) = guest.facts["memory"]["skipped"]

    assert (place, reason) == ("no CPUs", "numa_node 2 has no CPUs; nodes with CPUs: 0-1")
