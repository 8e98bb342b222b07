"""What a mask takes from an experiment is said: ranges and `each …` end early without a word of their own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.experiment.load import parse_experiment
from orchestrator.machine.descriptions import topology_from_text
from orchestrator.machine.topology import Topology
from orchestrator.plan.masked import beyond

MACHINE = topology_from_text("pack:2 numa:1 core:4 pu:1", "")


def sweep(body: str) -> list[tuple[dict[str, str], str]]:
    return said(body, MACHINE.limited({0, 1}))


def said(body: str, topology: Topology, kept: str = "") -> list[tuple[dict[str, str], str]]:
    text = f"schema: 1\ntitle: T\ntool: stream\n{body}"
    versions = {"stream": "5.10"}
    found = beyond([parse_experiment(text, "s.yaml")], topology, root=False, versions=versions, kept=kept)
    return [(dict(one.cell), one.reason) for one in found]


@pytest.mark.parametrize(
    ("body", "lacking", "cells"),
    [
        ("matrix: {threads: [1..cores_per_numa_node]}", {"threads": "3,4"}, "2 cells"),
        ("fixed: {place: {cpus: each numa_node}}", {"place": "numa_node 1"}, "1 cell"),
        ("fixed: {place: {name: c, cpus: each core}}", {"place": "c (core 2),c (core 3),c (core 4),… (6)"}, "6 cells"),
        ("fixed: {threads: cores_per_numa_node}", {}, "1 cell"),
    ],
)  # fmt: skip
def test_cells_of_the_whole_machine_are_counted(body: str, lacking: dict[str, str], cells: str) -> None:
    ((labels, reason),) = sweep(body)

    assert labels == lacking
    assert reason == f"{cells} that the whole machine has: this process may use 2 of 8 PUs (CPUs 0-1)"


@pytest.mark.parametrize("body", ["matrix: {threads: [1, 2, 8]}", "fixed: {place: {cpus: package 1}}"])
def test_a_cell_that_is_named_has_a_reason_of_its_own(body: str) -> None:
    assert sweep(body) == []


def test_who_may_use_all_hears_nothing() -> None:
    isolated = replace(MACHINE, isolated=frozenset({6, 7}))

    assert said("matrix: {threads: [1..cores_per_numa_node]}", MACHINE) == []
    assert isolated.limited(range(6)).share() == ""  # the scheduler keeps off them anyway
    assert isolated.share() == ""
    assert isolated.limited(range(5)).share() == "5 of 6 PUs (CPUs 0-4)"


def test_memory_that_may_not_be_used_is_a_part_too() -> None:
    assert MACHINE.limited(None, {0}).share() == "the memory of 1 of 2 NUMA nodes"
    assert MACHINE.limited({0}, {0}).share() == "1 of 8 PUs (CPU 0) and the memory of 1 of 2 NUMA nodes"
