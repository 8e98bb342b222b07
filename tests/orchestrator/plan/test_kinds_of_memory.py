"""What is planned for machines with several kinds of memory: sub-NUMA clusters, HBM, CXL, a GPU's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.model import Plan
from orchestrator.plan.prepare import PlanOptions, prepare

PROJECT = Path(__file__).resolve().parents[3]
FIXTURES = PROJECT / "tests" / "fixtures" / "hwloc"
CORPUS = Path(os.environ.get("PINSWEEP_CORPUS", PROJECT / "shared" / "corpus"))
ACCEPTANCE = PROJECT / "experiments" / "node-acceptance.yaml"
SNC = "pack:2 numa:4 l3:1 core:4 pu:2"
FLAT = "pack:2 [numa(memory=64GiB)][numa(memory=1GiB)] core:4 pu:2"


def machine(name: str) -> str:
    if " " in name:
        return name
    found = next(CORPUS.glob(f"*/hwloc/{name}"), FIXTURES / name)
    if not found.is_file():
        pytest.skip(f"the corpus is not here: no {name} in {CORPUS}")
    return str(found)


def planned(name: str, path: Path = ACCEPTANCE, sweep: str = "stream") -> Plan:
    return prepare([path], PlanOptions(topology=machine(name), only=(sweep,)), seed=0).plan


def places(plan: Plan) -> list[tuple[str, str, int]]:
    """Return (place, relation, number of threads) of each cell, in their order."""
    first = {run.cell.point_id: run for run in reversed(plan.runs)}
    runs = [first[cell.point_id] for cell in plan.cells]
    return [
        (str(run.cell.labels()["place"]), run.placement.relation, len(run.placement.cpus))
        for run in runs
        if run.placement
    ]


@pytest.mark.parametrize("sweep", ["stream", "idle-latency"])
@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("v3_64intel64-heteromem.xml", [(f"memory-only (numa_node {n})", "HBM") for n in (4, 5, 6, 7)]),
        ("memory-only-node.json", [("memory-only (numa_node 2)", "CPU-less")]),
        ("cxl-asymmetric.json", [("memory-only (numa_node 1)", "CPU-less")]),
        ("grace-hopper.json", [("memory-only (numa_node 1)", "CPU-less")]),  # its seven empty nodes are none
        (FLAT, [("memory-only (numa_node 1)", "CPU-less"), ("memory-only (numa_node 3)", "CPU-less")]),
        ("ulysses-2x10.json", []),
        (SNC, []),
    ],
)
def test_memory_only_nodes_are_measured_or_said_to_be_none(name: str, want: list[tuple[str, str]], sweep: str) -> None:
    plan = planned(name, sweep=sweep)
    skipped = [one for one in plan.skipped if one.cell.get("place") == "memory-only"]

    assert [(place, relation) for place, relation, _ in places(plan) if relation != "local"] == want
    assert [one.reason for one in skipped] == (
        [] if want else ["each memory-only node: every NUMA node with memory has CPUs here"]
    )


@pytest.mark.parametrize("level", [2, 3])
@pytest.mark.parametrize(("name", "nodes"), [("memory-only-node.json", [2]), (FLAT, [1, 3]), (SNC, [])])
def test_a_check_looks_at_memory_without_cpus(name: str, nodes: list[int], level: int) -> None:
    path = PROJECT / "experiments" / f"check-{level}.yaml"

    for sweep in ("memory-only", "memory-only-latency"):
        told = places(planned(name, path, sweep))
        assert [place for place, *_ in told] == [f"memory-only (numa_node {n})" for n in nodes]


def test_memory_is_measured_from_where_it_hangs() -> None:
    """hwloc's tree has HBM 4 beside DRAM 1, and HBM 7 beside DRAM 0."""
    plan = planned("v3_64intel64-heteromem.xml", sweep="idle-latency")
    first = {run.placement.groups[0].membind: run.placement.groups[0].cpus[0] for run in plan.runs if run.placement}

    assert first == {(0,): 0, (1,): 4, (2,): 8, (3,): 12, (4,): 4, (5,): 8, (6,): 12, (7,): 0}


@pytest.mark.parametrize(
    ("name", "threads"),
    [
        ("x86_Intel-KnightsLanding-XeonPhi-7210.xml", {64}),
        ("x86_Intel-SapphireRapids-2xXeonMax9460.xml", {80}),
        ("v2_power8gpudistances.xml", {4}),  # of each core the first of two PUs: 0, 8, 16, 24
        ("ulysses-2x10.json", {10}),
        (SNC, {4}),
    ],
)
def test_stream_has_a_thread_on_each_core(name: str, threads: set[int]) -> None:
    plan = planned(name)

    assert {count for _, _, count in places(plan)} == threads
    assert {run.env["OMP_NUM_THREADS"] for run in plan.runs} == {str(n) for n in threads}


def experiment(folder: Path, text: str) -> Path:
    path = folder / "x.yaml"
    path.write_text(f"schema: 1\nsweeps:\n  - name: s\n{text}", encoding="utf-8")
    return path


def test_smt_siblings_run_stream_when_asked_for(tmp_path: Path) -> None:
    stream = experiment(
        tmp_path, "    tool: stream\n    matrix: {threads: [pus_per_numa_node], place: [numa_node 0]}\n"
    )

    assert places(planned(SNC, stream, "s")) == [("numa_node 0", "local", 8)]


REMOTE = "    tool: stream\n    matrix: {place: [{name: remote, cpus: numa_node 0, memory: remote}]}\n"


@pytest.mark.parametrize(
    ("name", "warned", "relation"),
    [(SNC, True, "remote"), ("four-node.json", False, "remote"), ("pack:2 numa:1 core:4 pu:1", False, "remote"), ("pack:1 numa:4 core:2 pu:1", True, "remote, same package")],
)  # fmt: skip
def test_a_remote_that_had_to_be_guessed_is_warned_of(tmp_path: Path, name: str, warned: bool, relation: str) -> None:
    plan = planned(name, experiment(tmp_path, REMOTE), "s")

    assert [kind for _, kind, _ in places(plan)] == [relation]
    assert len(plan.warnings) == warned
    assert all("no distances" in text for text in plan.warnings)


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ("tool: mlc\n    fixed: {mode: loaded_latency, b: 400M}", "8 buffers of 400M need 3200 MiB"),
        ("tool: mlc\n    fixed: {mode: idle_latency, b: 400M}", ""),
        ("tool: mlc\n    fixed: {mode: idle_latency, b: 2G}", "1 buffer of 2G need"),
        ("tool: poke\n    fixed: {target: memory, bytes: 900MiB}", "needs more than 70 %"),
        ("tool: stream\n    fixed: {array_size: 50000000}", "need 1144 MiB, there are 1024 MiB"),
    ],
)
def test_what_does_not_fit_into_the_bound_node_is_refused(tmp_path: Path, options: str, refused: str) -> None:
    """64 GiB of DRAM and 1 GiB of HBM: the HBM is what the place is bound to."""
    place = "{name: hbm, cpus: near memory, memory: numa_node 1}"
    plan = planned(FLAT, experiment(tmp_path, f"    {options}\n    matrix: {{place: [{place}]}}\n"), "s")

    assert [refused in one.reason for one in plan.skipped] == ([True] if refused else [])


def test_the_arrays_of_stream_fit_into_the_bound_node() -> None:
    plan = planned("pack:2 [numa(memory=64GiB)][numa(memory=128MiB)] l3:1(size=32MiB) core:4 pu:2")
    sizes = {
        run.cell.labels()["place"]: int(word.split("=")[1])
        for run in plan.runs
        for word in run.argv
        if word.startswith("--array-size=")
    }
    if not sizes:
        pytest.skip("a STREAM of the user's own stands on PATH")

    assert sizes["memory-only (numa_node 1)"] * 3 * 8 <= 64 << 20
    assert sizes["local (numa_node 0)"] * 8 >= 4 * (32 << 20)
