"""Texts and machines that several tests of the reports start from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from orchestrator.machine.descriptions import topology_from_text
from orchestrator.model import Group

FIXTURES = Path(__file__).parents[1] / "fixtures" / "hwloc"
DELAYS = (20000, 9000, 3500, 1700, 1000, 500, 200, 100, 50, 0)
MACHINE = "pack:2 [numa] l3:2(size=32MiB) core:2 pu:2(indexes=core:pu)"


def c2c_text(cpus: Sequence[int], latency: Callable[[int, int], float]) -> str:
    head = "".join(f"{cpu:6d}\t" for cpu in cpus)
    lines = "".join(
        f"{a:8d}\t" + "".join("     -\t" if a == b else f"{latency(a, b):6.1f}\t" for b in cpus) + "\n" for a in cpus
    )
    return (
        "pinsweep memlat 0.2 (MLC-style; not Intel(R) Memory Latency Checker)\nCommand line parameters: --c2c_latency -a\n\n"
        "Measuring cache-to-cache transfer latency (in ns)...\nLocal Socket L2->L2 HITM latency\t60.1\n\n"
        f"Measuring cache-to-cache HITM latency between CPUs (in ns)...\n\t\t\tReader CPU\nWriter CPU\t{head}\n{lines}"
    )


def rows(peak: float, floor: float, top: float) -> list[tuple[int, float, float]]:
    """A curve: bandwidth rises to `peak` (MB/s), latency from `floor` to `top` (ns), most of it at the last two rows."""
    n = len(DELAYS)
    latencies = [floor + 0.01 * i for i in range(n - 2)] + [1.6 * floor if top > 1.6 * floor else top, top]
    return [(d, latencies[i], peak * (0.02 if i < 4 else (i + 1) / n)) for i, d in enumerate(DELAYS)]


def two_nodes(make: Any, path: Path, dimms: str = "") -> Any:
    """A maker of a machine of two packages, with the places "local" and "remote" of node 0's CPUs."""
    maker = make.Maker(path)
    maker.topology = (FIXTURES / "two-socket-smt.xml").read_text()
    maker.facts = {**maker.facts, "dimms": dimms}
    machine = topology_from_text(maker.topology)
    near, far = dict.fromkeys(core.numa_node for core in machine.cores)
    cpus = tuple(core.cpus[0] for core in machine.cores if core.numa_node == near)
    maker.groups = {place: (Group(cpus=cpus, membind=(node,)),) for place, node in (("local", near), ("remote", far))}
    return maker


def add(maker: Any, make: Any, curve: Sequence[tuple[int, float, float]], place: str = "local") -> None:
    options = {"mode": "loaded_latency", "W": "R"}
    maker.add("loaded", "mlc", options, make.mlc_text(curve), axes=("place",), place=place, relation=place)
