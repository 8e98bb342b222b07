"""Where pinsweep waits while a tool runs: decided on any machine, and done to this very process."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.machine.cpulist import parse_cpulist
from orchestrator.machine.probe import read_topology
from orchestrator.model import Place
from orchestrator.placement.housekeeping import Waiting, housekeeping_cpus
from orchestrator.placement.place import resolve
from orchestrator.placement.selectors import Unplaceable
from orchestrator.run.process import Stop, run_process
from orchestrator.run.watchdog import Watchdog
from tests.machines import MACHINES, read
from tests.waits import PATIENCE_S

TWO_SOCKET_SMT = "pack:2 [numa] core:2 pu:2(indexes=core:pu)"  # siblings 0/4, 1/5 in node 0, 2/6, 3/7 in node 1

needs_two_cores = pytest.mark.skipif(
    len({core.index for core in read_topology().cores if set(core.cpus) & os.sched_getaffinity(0)}) < 2,
    reason="one core: there is nowhere to go",
)


@pytest.mark.parametrize(
    ("machine", "cpus", "memory", "mask", "goes_to"),
    [
        (TWO_SOCKET_SMT, "numa_node 0", "local", "0-7", "2-3,6-7"),
        (TWO_SOCKET_SMT, "numa_node 1", "local", "0-7", "0-1,4-5"),
        (TWO_SOCKET_SMT, "pu 0", "local", "0-7", "2-3,6-7"),
        (TWO_SOCKET_SMT, "pu 0", "remote", "0-7", "2-3,6-7"),  # its memory is measured, its caches are not
        (TWO_SOCKET_SMT, "pu 0", "interleave", "0-7", "2-3,6-7"),
        (TWO_SOCKET_SMT, "pu 0", "local", "0-1,4-5", "1,5"),  # a cpuset of node 0: another core, never the sibling
        (TWO_SOCKET_SMT, "pu 0", "local", "0,4", ""),
        (TWO_SOCKET_SMT, "pu 0,3", "any", "0-7", "1-2,5-6"),  # both nodes run: off the cores at least
        (TWO_SOCKET_SMT, "all", "local", "0-7", ""),
        ("pack:1 core:1 pu:1", "all", "local", "0", ""),
        ("four-node.json", "numa_node 0", "local", "0-7", "2-7"),
        ("four-node.json", "numa_node 0", "numa_node 3", "0-7", "2-5"),
        ("ulysses-2x10.json", "numa_node 0", "local", "0-19", "10-19"),
        ("memory-only-node.json", "numa_node 0", "numa_node 2", "0-3", "2-3"),
        ("cpu5-offline.json", "pu 4", "local", "0-7", "2-3,6-7"),
        (TWO_SOCKET_SMT, "pu 0", "local", "0-500", "2-3,6-7"),  # PUs that the description does not have
    ],
)  # fmt: skip
def test_it_goes_where_it_disturbs_least(machine: str, cpus: str, memory: str, mask: str, goes_to: str) -> None:
    topology = read(machine)
    (placement,) = resolve(Place(name="x", cpus=cpus, memory=memory), topology, threads=None, processes=1)

    assert housekeeping_cpus(topology, placement, parse_cpulist(mask)) == parse_cpulist(goes_to)


def test_it_keeps_off_isolated_cpus_while_there_are_others() -> None:
    topology = replace(read(TWO_SOCKET_SMT), isolated=parse_cpulist("2-3,6"))
    (placement,) = resolve(Place(name="x", cpus="numa_node 0"), topology, threads=None, processes=1)

    assert housekeeping_cpus(topology, placement, range(8)) == {7}
    assert housekeeping_cpus(topology, placement, {0, 2}) == {2}


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m["name"])
@given(data=st.data())
def test_laws_on_every_machine(machine: dict[str, Any], data: st.DataObject) -> None:
    """Inside the mask; on no core of the run; nowhere only if there is no free core; another node if one is free."""
    topology = read(machine["machine"])
    mask = data.draw(st.frozensets(st.sampled_from(sorted(topology.core_of)), min_size=1))
    cpus = data.draw(st.sampled_from(["all", "numa_node 0", "numa_node 1", "core 0", "package 0", "pu 0,3"]))
    try:
        (placement,) = resolve(Place(name="x", cpus=cpus, memory="any"), topology, threads=None, processes=1)
    except Unplaceable:
        return
    went = housekeeping_cpus(topology, placement, mask)
    busy = {topology.core_of[cpu] for cpu in placement.cpus}
    free = {cpu for cpu in mask if topology.core_of[cpu] not in busy}

    assert went <= free
    assert bool(went) == bool(free)
    nodes = {topology.node_of[cpu] for cpu in placement.cpus}
    if any(topology.node_of[cpu] not in nodes for cpu in free):
        assert nodes.isdisjoint(topology.node_of[cpu] for cpu in went)


# --- real processes ---


def affinity(pid: int | str) -> frozenset[int]:
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    line = next(line for line in status.splitlines() if line.startswith("Cpus_allowed_list:"))
    return parse_cpulist(line.split()[1])


@needs_two_cores
def test_this_process_moves_away_and_comes_back() -> None:
    mask = os.sched_getaffinity(0)

    with Waiting() as waiting:
        for away in ({min(mask)}, {max(mask)}, mask):
            waiting.move_to(away if away != mask else ())
            threads = {affinity(f"self/task/{path.name}") for path in Path("/proc/self/task").iterdir()}
            assert threads == {frozenset(away)}
        waiting.move_to({min(mask)})
    assert os.sched_getaffinity(0) == mask


def test_nowhere_to_go_is_no_error() -> None:
    mask = os.sched_getaffinity(0)
    with Waiting() as waiting:
        for cpus in ((), (9999,)):  # the second: a cpuset that was narrowed since the plan was made
            waiting.move_to(cpus)
            assert os.sched_getaffinity(0) == mask
    assert os.sched_getaffinity(0) == mask


@needs_two_cores
def test_the_tool_has_the_whole_mask_while_the_watchdog_waits_elsewhere(watchdog: Watchdog, tmp_path: Path) -> None:
    mask = os.sched_getaffinity(0)
    watchdogs: list[frozenset[int]] = []

    class Looks:
        def look(self, _pid: int, *, early: bool) -> bool:
            watchdogs.append(affinity(watchdog.pid))
            if not early:
                (tmp_path / "seen").touch()
            return True

        def has_changed(self) -> bool:
            return False

        def last_look(self, seen: object) -> None: ...

    with Waiting() as waiting, Stop() as stop:
        waiting.move_to({max(mask)})
        outcome = run_process(
            ["sh", "-c", f"until [ -e {tmp_path}/seen ]; do sleep 0.01; done; grep Cpus_allowed_list /proc/self/status"],
            {}, watchdog=watchdog, timeout_s=PATIENCE_S, stop=stop, looks=Looks(), cpus=waiting.mask, housekeeping={max(mask)},
        )  # fmt: skip

    assert watchdogs == [{max(mask)}] * 2  # early and late
    assert parse_cpulist(outcome.stdout.decode().split()[1]) == mask


@needs_two_cores
@pytest.mark.skipif(not shutil.which("numactl"), reason="numactl is not installed")
def test_numactl_gets_every_cpu_that_pinsweep_has_left(watchdog: Watchdog) -> None:
    """The trap: numactl says "cpu argument N is out of range" of a PU outside of the mask that it inherits."""
    mask = sorted(os.sched_getaffinity(0))
    for cpu in mask:
        with Stop() as stop:
            outcome = run_process(
                ["numactl", f"--physcpubind={cpu}", "--", "grep", "Cpus_allowed_list", "/proc/self/status"],
                {}, watchdog=watchdog, timeout_s=PATIENCE_S, stop=stop, housekeeping=set(mask) - {cpu},
            )  # fmt: skip
        assert (outcome.exit_code, outcome.stdout.split()[1:]) == (0, [str(cpu).encode()]), outcome.stderr
