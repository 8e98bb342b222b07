"""Reads this machine: its topology and the facts that a report names. I/O: decides nothing."""

from __future__ import annotations

import subprocess
from pathlib import Path

from orchestrator.cpulist import parse_cpulist
from orchestrator.topology import Topology, topology_from_text, topology_from_xml

LSTOPO_TIMEOUT_S = 60


def read_topology() -> Topology:
    text = subprocess.run(
        ["lstopo", "--of", "xml"], capture_output=True, text=True, check=True, timeout=LSTOPO_TIMEOUT_S
    ).stdout
    status = dict(
        line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line
    )
    return topology_from_xml(text).limited(
        parse_cpulist(status["Cpus_allowed_list"]), parse_cpulist(status["Mems_allowed_list"])
    )


def load_topology(arg: str) -> Topology:
    path = Path(arg)
    return topology_from_text(path.read_text() if path.is_file() else arg, arg)
