"""Placements as a line of text."""

from __future__ import annotations

import pytest

from orchestrator.machine.synthetic import topology_from_synthetic
from orchestrator.model import Place
from orchestrator.placement.diagram import draw
from orchestrator.placement.place import resolve


@pytest.mark.parametrize(
    ("machine", "cpus", "memory", "threads", "processes", "expected"),
    [
        ("pack:2 numa:1 core:4 pu:1", "numa_node 0", "local", 3, 1, "node 0 ■■■·◄  node 1 ····"),
        ("pack:2 numa:1 core:4 pu:1", "numa_node 0", "remote", 1, 1, "node 0 ■···  node 1 ····◄"),
        ("pack:2 numa:1 core:4 pu:1", "other package", "local", 1, 2, "node 0 0···◄  node 1 1···◄"),
        ("pack:1 numa:1 core:2 pu:2", "smt siblings", "local", 1, 2, "node 0 01··◄"),
        ("pack:2 numa:1 core:2 pu:1", "all", "any", None, 1, "node 0 ■■  node 1 ■■"),
        ("pack:1 numa:1 core:80 pu:1", "core 3", "local", None, 1, "node 0 3 of 80 PUs ◄"),
    ],
)
def test_a_sign_for_each_pu_and_one_for_memory(
    machine: str, cpus: str, memory: str, threads: int | None, processes: int, expected: str
) -> None:
    topology = topology_from_synthetic(machine)
    (placement,) = resolve(Place(name="x", cpus=cpus, memory=memory), topology, threads=threads, processes=processes)

    assert draw(placement, topology) == expected
