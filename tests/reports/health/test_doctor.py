"""What `pinsweep doctor` says of a machine of several nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.machine.descriptions import topology_from_text
from orchestrator.machine.topology import Topology
from reports.document import Text
from reports.health.doctor import Survey, as_json, document

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "hwloc"


def survey(topology: Topology) -> Survey:
    return Survey(topology=topology, facts={}, scratch=None, contradictions=(), parts=(), noise=())


@pytest.fixture
def two_sockets() -> Topology:
    return topology_from_text((FIXTURES / "ulysses-2x10.xml").read_text())


def test_distances_between_nodes_are_told(two_sockets: Topology) -> None:
    lines = [block.text for block in document(survey(two_sockets)).blocks if isinstance(block, Text)]
    assert [line.rpartition(", distances ")[2] for line in lines if "numa_node" in line] == [
        "0: 10, 1: 11",
        "0: 11, 1: 10",
    ]
    nodes = as_json(survey(two_sockets))["machine"]["numa_nodes"]
    assert [node["distances"] for node in nodes] == [
        [{"to": 0, "distance": 10}, {"to": 1, "distance": 11}],
        [{"to": 0, "distance": 11}, {"to": 1, "distance": 10}],
    ]


def test_a_machine_that_tells_no_distances_has_none() -> None:
    silent = topology_from_text("pack:1 core:2 pu:1")
    assert [node["distances"] for node in as_json(survey(silent))["machine"]["numa_nodes"]] == [[]]
