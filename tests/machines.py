"""The machines that tests know: fixtures with places that a person worked out, and the corpus of hwloc files."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from orchestrator.machine.cpulist import parse_cpulist
from orchestrator.machine.descriptions import topology_from_text
from orchestrator.machine.topology import Topology

FIXTURES = Path(__file__).resolve().parent / "fixtures" / "hwloc"
CORPUS = Path(os.environ.get("PINSWEEP_CORPUS", Path(__file__).resolve().parents[1] / "shared" / "corpus"))
MACHINES = tomllib.loads((FIXTURES / "machines.toml").read_text(encoding="utf-8"))["machines"]


def read(description: str) -> Topology:
    """Return the machine of a fixture's name, or of a synthetic description."""
    file = FIXTURES / description
    return topology_from_text(file.read_text(encoding="utf-8") if file.is_file() else description)


def described(machine: dict[str, Any]) -> Topology:
    """Return a machine of MACHINES, with its cpuset."""
    allowed = {what: parse_cpulist(text) for what, text in machine.get("allowed", {}).items()}
    return read(machine["machine"]).limited(allowed.get("cpus"), allowed.get("nodes"))


def corpus(name: str) -> Topology:
    """Return a machine of the corpus; the test is skipped if the corpus is missing."""
    path = CORPUS / name
    if not path.is_file():
        pytest.skip(f"the corpus is not here: no {path}")
    return topology_from_text(path.read_text(encoding="utf-8"), name)
