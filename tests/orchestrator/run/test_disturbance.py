"""What counts as a disturbance: recorded counters in, reasons out."""

from __future__ import annotations

import dataclasses
import json
import random
from typing import Any

import pytest

from orchestrator.machine.counters import TICK_S, Changes, CpuTime, Moved
from orchestrator.machine.synthetic import topology_from_synthetic
from orchestrator.model import Group, Placement
from orchestrator.run.disturbance import Watched, kept, reasons
from orchestrator.run.watch import neighbours


def cpu(tasks_s: float, **times: float) -> CpuTime:
    irq_s, steal_s = times.get("irq_s", 0.0), times.get("steal_s", 0.0)
    busy_s = tasks_s + irq_s + steal_s
    return CpuTime(busy_s=busy_s, user_s=times.get("user_s", tasks_s), irq_s=irq_s, steal_s=steal_s)


IDLE = cpu(0.0)
QUIET = Changes(
    elapsed_s=3.01, cpus={3: cpu(3.004), 4: cpu(0.01)}, own_s=0.003, tool_s=3.0, tool_moved=Moved(read_bytes=0, written_bytes=0),
    disks={}, totals={"pswpin": 0, "quota_s": 0.0, "quota_hits": 0, "throttle_core": 0, "throttle_package": 0, "memory_errors": 0},
)  # fmt: skip
RUN = Watched(wall_s=3.0, user_s=2.9, system_s=0.09, cpus=(3,), neighbours=(4,), computing=1)
UNPLACED = Watched(wall_s=3.0, user_s=1.0, system_s=0.0)


def said(changes: Changes = QUIET, run: Watched = RUN, **changed: Any) -> dict[str, str]:
    """Return rule → reason, of a quiet run of 3 s on CPU 3 with some counters otherwise."""
    totals = {**changes.totals, **changed.pop("totals", {})}
    return dict(reasons(dataclasses.replace(changes, totals=totals, **changed), run))


def test_a_quiet_run_has_no_reason() -> None:
    assert said() == {}


def test_another_process_on_its_cpu_is_told_from_the_run_s_own_time() -> None:
    run = dataclasses.replace(RUN, user_s=2.48)
    assert said(run=run, tool_s=2.57)["foreign"] == "other processes took 14 % of CPU 3 (0.43 s of 3.0 s)"


@pytest.mark.parametrize(
    ("foreign_s", "elapsed_s", "disturbed"),
    [(0.029, 0.5, False), (0.031, 0.5, True), (0.09, 10.0, False), (0.11, 10.0, True)],
)
def test_one_percent_and_three_ticks_are_the_least(
    foreign_s: float, elapsed_s: float, disturbed: bool
) -> None:
    own_s = elapsed_s - foreign_s - 0.001
    run = Watched(wall_s=elapsed_s, user_s=own_s, system_s=0.0, cpus=(3,))
    cpus = {3: cpu(own_s + foreign_s)}
    assert bool(said(run=run, elapsed_s=elapsed_s, cpus=cpus, own_s=0.0, tool_s=own_s)) is disturbed


def test_a_process_on_one_of_many_cpus_is_found_and_the_kernel_s_own_threads_are_not() -> None:
    cpus = {n: cpu(9.99) for n in range(128)}
    run = Watched(wall_s=10.0, user_s=1278.72, system_s=0.0, cpus=tuple(range(128)))
    assert said(run=run, cpus=cpus, elapsed_s=10.0, tool_s=None) == {}
    spun = {**cpus, 7: cpu(10.0)}
    run = dataclasses.replace(run, user_s=1278.72 - 4.0)
    assert said(run=run, cpus=spun, elapsed_s=10.0, tool_s=None)["foreign"] == (
        "other processes took 40 % of one CPU (4.0 s of 10.0 s) on CPUs 0-127"
    )


def test_seconds_of_a_short_run_go_with_their_share() -> None:
    """ "96 % of one CPU (0.04 s of 0.04 s)"."""
    run = Watched(wall_s=0.0415, user_s=0.0, system_s=0.0, cpus=(3,))
    told = said(run=run, elapsed_s=0.0415, cpus={3: cpu(0.04)}, own_s=0.0, tool_s=0.0)["foreign"]
    assert told == "other processes took 96 % of CPU 3 (0.040 s of 0.042 s)"


def test_what_the_tool_left_to_itself_is_its_own() -> None:
    run = dataclasses.replace(RUN, user_s=0.0, system_s=0.01, computing=0)
    assert said(run=run) == {}  # all that was waited for took 3.0 s
    assert "foreign" in said(run=run, tool_s=None)


def test_the_kernel_s_work_for_storage_is_the_run_s() -> None:
    """Its threads have no user time: a run on a disk is judged by user time alone, and samples of it are not exact."""
    cpus = {3: cpu(1.5, user_s=0.55)}
    run = Watched(wall_s=3.0, user_s=0.5, system_s=0.4, cpus=(3,), disks={"259:0": "nvme0n1"})
    assert said(run=run, cpus=cpus, tool_s=0.9) == {}
    moved = {"tool_moved": Moved(read_bytes=1 << 21, written_bytes=0), "tool_s": 0.9}
    assert said(run=dataclasses.replace(run, disks={}), cpus=cpus, **moved) == {}
    assert "foreign" in said(run=dataclasses.replace(run, disks={}), cpus=cpus, tool_s=0.9)
    spun = {3: cpu(2.9, user_s=1.9)}
    assert "foreign" in said(run=run, cpus=spun, tool_s=0.9)


def test_what_the_hypervisor_does_for_a_run_s_disk_is_the_run_s() -> None:
    cpus = {3: cpu(1.0, steal_s=0.2, user_s=0.5)}
    run = Watched(wall_s=3.0, user_s=0.5, system_s=0.5, cpus=(3,))
    assert "steal" in said(run=run, cpus=cpus, tool_s=1.0)
    assert said(run=dataclasses.replace(run, disks={"254:0": "vda"}), cpus=cpus, tool_s=1.0) == {}


@pytest.mark.parametrize(
    ("span_s", "elapsed_s", "disturbed"),
    [(1.0, 1.45, False), (1.0, 1.55, True), (10.0, 10.95, False), (10.0, 11.05, True), (0.0, 11.0, False)],
)
def test_counters_that_were_read_long_after_it_do_not_speak_of_the_run(
    span_s: float, elapsed_s: float, disturbed: bool
) -> None:
    run = Watched(wall_s=1.0, span_s=span_s, user_s=0.5, system_s=0.0)
    assert bool(said(run=run, elapsed_s=elapsed_s).get("unwatched", "")) is disturbed


def test_seconds_of_one_length_are_written_alike() -> None:
    run = dataclasses.replace(RUN, wall_s=1.002, user_s=0.0, system_s=0.0)
    found = said(run=run, elapsed_s=1.002, cpus={3: cpu(0.998)}, own_s=0.0, tool_s=0.0)["foreign"]
    assert found == "other processes took 100 % of CPU 3 (1.0 s of 1.0 s)"


def test_how_long_nobody_watched_is_told() -> None:
    run = Watched(wall_s=1.0, span_s=1.0, user_s=0.5, system_s=0.0)
    assert said(run=run, elapsed_s=3.36)["unwatched"] == (
        "pinsweep itself was stopped, or kept waiting, for 2.4 s: what it counted in 3.4 s is not of this run alone"
    )


def test_interrupts_are_no_process() -> None:
    assert said(cpus={3: cpu(2.99, irq_s=0.4)}) == {}


INTERRUPTED = dict.fromkeys((3,), cpu(2.9, irq_s=0.3))


@pytest.mark.parametrize(
    ("usual", "disturbed"),
    [((0.0, 0.001, 0.0), True), ((0.0, 0.001), False), ((0.08, 0.1, 0.09), False), ((0.001, 0.005, 0.3), True)],
)  # fmt: skip
def test_interrupts_count_where_the_cell_s_earlier_runs_had_far_fewer(
    usual: tuple[float, ...], disturbed: bool
) -> None:
    run = dataclasses.replace(RUN, usual_irq=usual)
    found = said(run=run, cpus={**QUIET.cpus, **INTERRUPTED}).get("interrupts", "")
    assert bool(found) is disturbed
    if usual[1] == 0.001 and disturbed:
        assert (
            found == "interrupts took 10.0 % of the time of CPU 3 (0.30 s), 0.0 % in the cell's earlier runs"
        )


@pytest.mark.parametrize("burst", [1, 4])
@pytest.mark.parametrize("ticks", [0.1, 1, 2, 3, 5, 10, 30, 100, 300])
@pytest.mark.slow
def test_steady_interrupts_are_hardly_ever_called_a_disturbance(ticks: float, burst: int) -> None:
    """The counters are samples: ticks a run, alone and in bursts."""
    source = random.Random(11)

    def drawn() -> float:
        bursts, at = 0, source.expovariate(ticks / burst)
        while at < 1:
            bursts, at = bursts + 1, at + source.expovariate(ticks / burst)
        return bursts * burst * TICK_S

    wrong = 0
    for _ in range(1000):
        *usual, irq_s = (drawn() for _ in range(4))
        run = dataclasses.replace(RUN, usual_irq=tuple(s / 3.01 for s in usual))
        wrong += "interrupts" in said(run=run, cpus={3: cpu(max(0.0, 3.0 - irq_s), irq_s=irq_s)})
    assert wrong <= 10


def test_writes_of_others_count_where_a_run_writes_to_the_device_itself() -> None:
    disks = {"8:0": Moved(read_bytes=0, written_bytes=900 << 20)}
    own = Moved(read_bytes=0, written_bytes=500 << 20)
    for unit, disturbed in ((0, True), (1 << 20, True), (4096, False)):
        run = dataclasses.replace(RUN, disks={"8:0": "sda"}, unit_bytes=unit)
        assert ("disk" in said(run=run, disks=disks, tool_moved=own)) is disturbed


def test_a_stop_is_told_once_and_what_is_left_of_the_time_is_judged_as_ever() -> None:
    run = dataclasses.replace(RUN, user_s=1.9, stops=1, stopped_s=1.0)
    told = "something stopped it (SIGSTOP) once, for 1.0 s of 3.0 s"
    assert said(run=run, cpus={3: cpu(2.0)}, tool_s=1.99) == {"stopped": told}
    run_twice = dataclasses.replace(UNPLACED, stops=2, stopped_s=0.004)
    assert said(run=run_twice)["stopped"].endswith("(SIGSTOP) 2 times, for less than 0.01 s of 3.0 s")
    run = dataclasses.replace(run, user_s=0.9)
    assert said(run=run, cpus={3: cpu(1.0)}, tool_s=0.99).keys() == {"stopped", "starved"}


def test_a_run_that_computes_and_had_no_cpu_was_kept_waiting() -> None:
    run = dataclasses.replace(RUN, user_s=1.9)
    cpus = {3: cpu(2.0)}
    expected = "it computes all the time, and used only 2.0 s of CPU in 3.0 s: stopped, or kept waiting"
    assert said(run=run, cpus=cpus, tool_s=1.99) == {"starved": expected}
    assert said(run=dataclasses.replace(run, computing=0), cpus=cpus, tool_s=1.99) == {}


@pytest.mark.parametrize(("wall_s", "cpu_s", "starved"), [(0.2, 0.11, False), (0.2, 0.05, True), (16.0, 14.5, False)])  # fmt: skip
def test_a_start_takes_its_time(wall_s: float, cpu_s: float, starved: bool) -> None:
    run = Watched(wall_s=wall_s, user_s=cpu_s, system_s=0.0, cpus=(3,), computing=1)
    found = said(run=run, elapsed_s=wall_s, cpus={3: cpu(cpu_s)}, tool_s=cpu_s)
    assert ("starved" in found) is starved


@pytest.mark.parametrize(
    ("others", "used_s", "disturbed"),
    [(1, 0.14, False), (1, 0.16, True), (63, 1.4, False), (63, 1.6, True), (4, 0.7, True)],
)
def test_a_neighbour_uses_up_the_memory_of_a_run_that_measures_it(
    others: int, used_s: float, disturbed: bool
) -> None:
    beside = tuple(range(10, 10 + others))
    cpus = {3: cpu(3.0), **dict.fromkeys(beside, IDLE), 10: cpu(used_s)}
    run = dataclasses.replace(RUN, memory_bound=True, neighbours=beside)
    found = said(run=run, cpus=cpus, own_s=0.0)
    assert ("neighbour" in found) is disturbed
    assert said(run=dataclasses.replace(run, memory_bound=False), cpus=cpus, own_s=0.0) == {}


def test_what_is_machine_wide_counts_without_a_placement() -> None:
    totals = {"pswpin": 12, "throttle_core": 2, "memory_errors": 1, "quota_s": 0.5, "quota_hits": 6}
    assert said(run=UNPLACED, totals=totals, cpus={3: cpu(3.0, steal_s=0.2), 4: IDLE}) == {
        "steal": "the hypervisor took 3.3 % of its CPUs' time (0.20 s)",
        "quota": "the CPU quota of its cgroup stopped it for 0.50 s in all, 6 times",
        "throttled": "its CPUs throttled themselves, too hot or short of power: 2 times a core, 0 times a package",
        "swap": "the machine ran short of memory: 12 pages were swapped in",
        "memory-errors": "errors of the memory that were corrected (EDAC): 1",
    }
    assert said(run=UNPLACED, totals={"quota_s": 0.02, "quota_hits": 1}) == {}


READS = Watched(wall_s=3.0, user_s=0.1, system_s=0.1, disks={"259:0": "nvme0n1"})
MOVED = Moved(read_bytes=200 << 20, written_bytes=0)


def on_disk(read: int, written: int, **changes: Any) -> str | None:
    """Say what is found of a run that reads 200 MiB from a disk that moved so many MiB in all."""
    disks = {"259:0": Moved(read_bytes=read << 20, written_bytes=written << 20)}
    return said(run=dataclasses.replace(READS, **changes), disks=disks, tool_moved=MOVED).get("disk")


def test_io_of_others_on_the_run_s_disk() -> None:
    assert on_disk(202, 1) is None
    assert on_disk(260, 0) == ("others moved 60 MiB over the same disk (nvme0n1), 23 % of all that it moved")
    assert on_disk(200, 60) is not None
    assert on_disk(200, 60, unit_bytes=4096) is not None  # it wrote nothing itself
    cached = dataclasses.replace(MOVED, read_bytes=4096)
    changes = dataclasses.replace(
        QUIET, tool_moved=cached, disks={"259:0": Moved(read_bytes=0, written_bytes=1 << 30)}
    )
    assert reasons(changes, READS) == ()


def test_nothing_is_said_of_what_the_machine_does_not_count() -> None:
    nothing = Changes(elapsed_s=3.0, cpus={}, own_s=0.0, tool_s=None, tool_moved=None, disks={})
    assert reasons(nothing, dataclasses.replace(RUN, memory_bound=True, disks={"259:0": "nvme0n1"})) == ()
    assert kept(nothing, RUN, ()) == {"elapsed_s": 3.0, "pinsweep_s": 0.0, "reasons": []}


def test_what_is_kept_is_small_and_says_what_disturbed() -> None:
    run = dataclasses.replace(RUN, user_s=2.0, memory_bound=True, disks={"259:0": "nvme0n1", "8:0": "sda"})
    totals = dict.fromkeys(("pgmajfault", "pswpin", "pswpout", "pressure_cpu_s", "pressure_memory_s", "pressure_io_s", "throttle_core", "throttle_package", "quota_hits", "quota_s", "memory_errors", "energy_j", "frequency_hz", "temperature_c"), 123456.789)  # fmt: skip
    moved = Moved(read_bytes=1 << 36, written_bytes=1 << 36)
    changes = dataclasses.replace(QUIET, tool_s=2.0, totals=totals, disks={"259:0": moved, "8:0": moved})
    found = reasons(changes, run)
    counters = kept(changes, run, found)
    assert [reason["id"] for reason in counters["reasons"]][:2] == ["foreign", "starved"]
    assert counters["foreign_s"] == pytest.approx(1.001, abs=1e-3)
    assert len(json.dumps({**counters, "reasons": []})) <= 1000, json.dumps(counters)
    assert len(json.dumps(counters)) <= 2000, json.dumps(counters)


def test_neighbours_are_the_other_cpus_of_all_memory_that_is_used() -> None:
    topology = topology_from_synthetic("pack:2 numa:1 core:2 pu:1")
    own = tuple(cpu for cpu, node in sorted(topology.node_of.items()) if node == 0)
    local = Placement(name="l", groups=(Group(cpus=own[:1], membind=(0,)),))
    remote = Placement(name="r", groups=(Group(cpus=own[:1], membind=(1,)),))
    assert neighbours(topology, local) == own[1:]
    assert set(neighbours(topology, remote)) == set(topology.node_of) - set(own[:1])
