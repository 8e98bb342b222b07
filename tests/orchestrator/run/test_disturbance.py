"""What counts as a disturbance: recorded counters in, the rules that apply out."""

from __future__ import annotations

import dataclasses
import json
import math
import random
from typing import Any

import pytest

from orchestrator.machine.counters import TICK_S, Changes, CpuTime, Moved
from orchestrator.machine.synthetic import topology_from_synthetic
from orchestrator.model import Group, Placement
from orchestrator.run.disturbance import Watched, is_usual, reasons, stored, usual
from orchestrator.run.watch import neighbours


def cpu(tasks_s: float, *, irq_s: float = 0.0, steal_s: float = 0.0, user_s: float | None = None) -> CpuTime:
    user_s = tasks_s if user_s is None else user_s
    return CpuTime(busy_s=tasks_s + irq_s + steal_s, user_s=user_s, irq_s=irq_s, steal_s=steal_s)


def moved(read_mib: float, written_mib: float = 0.0) -> Moved:
    return Moved(read_bytes=int(read_mib * (1 << 20)), written_bytes=int(written_mib * (1 << 20)))


QUIET = Changes(
    elapsed_s=3.01, cpus={3: cpu(3.004), 4: cpu(0.01)}, own_s=0.003, tool_s=3.0, tool_moved=moved(0), disks={},
    totals={"pswpin": 0, "quota_s": 0.0, "quota_hits": 0, "throttle_core": 0, "throttle_package": 0, "memory_errors": 0},
)  # fmt: skip
RUN = Watched(wall_s=3.0, user_s=2.9, system_s=0.09, cpus=(3,), neighbours=(4,), computing=1)
UNPLACED = Watched(wall_s=3.0, user_s=1.0, system_s=0.0)
READS = Watched(wall_s=3.0, user_s=0.1, system_s=0.1, disks={"8:0": "sda"})
ON_DISK = Watched(wall_s=3.0, user_s=0.5, system_s=0.4, cpus=(3,), disks={"8:0": "sda"})
MANY = Watched(wall_s=10.0, user_s=1278.72, system_s=0.0, cpus=tuple(range(128)))
CPUS = {n: cpu(9.99) for n in range(128)}


def rules(run: Watched = RUN, *, totals: dict[str, float] | None = None, **changes: Any) -> set[str]:
    """Return the rules that apply to a quiet run of 3 s on CPU 3 with some counters changed."""
    changed = dataclasses.replace(QUIET, totals={**QUIET.totals, **(totals or {})}, **changes)
    return {reason.id for reason in reasons(changed, run)}


def run_of(seconds: float, foreign_s: float) -> tuple[Watched, dict[str, Any]]:
    """A run that computes for some seconds on CPU 3, where others had `foreign_s`."""
    own_s = seconds - foreign_s - 0.001
    cpus = {3: cpu(own_s + foreign_s)}
    run = Watched(wall_s=seconds, user_s=own_s, system_s=0.0, cpus=(3,))
    return run, {"elapsed_s": seconds, "cpus": cpus, "own_s": 0.0, "tool_s": own_s}


def stopped(user_s: float, **changes: Any) -> Watched:
    return dataclasses.replace(RUN, user_s=user_s, **changes)


CASES: dict[str, tuple[Watched, dict[str, Any], set[str]]] = {
    "quiet": (RUN, {}, set()),
    "another process": (stopped(2.48), {"tool_s": 2.57}, {"foreign", "starved"}),
    "0.029 s of 0.5 s": (*run_of(0.5, 0.029), set()),
    "0.031 s of 0.5 s": (*run_of(0.5, 0.031), {"foreign"}),
    "0.09 s of 10 s": (*run_of(10.0, 0.09), set()),
    "0.11 s of 10 s": (*run_of(10.0, 0.11), {"foreign"}),
    "kernel threads on 128 CPUs": (MANY, {"cpus": CPUS, "elapsed_s": 10.0, "tool_s": None}, set()),
    "a process on one of 128 CPUs": (
        dataclasses.replace(MANY, user_s=1274.72),
        {"cpus": {**CPUS, 7: cpu(10.0)}, "elapsed_s": 10.0, "tool_s": None},
        {"foreign"},
    ),
    "left to itself, waited for": (stopped(0.0, system_s=0.01, computing=0), {}, set()),
    "left to itself, unknown": (stopped(0.0, system_s=0.01, computing=0), {"tool_s": None}, {"foreign"}),
    "storage: kernel threads": (ON_DISK, {"cpus": {3: cpu(1.5, user_s=0.55)}, "tool_s": 0.9}, set()),
    "storage: moved much": (
        dataclasses.replace(ON_DISK, disks={}),
        {"cpus": {3: cpu(1.5, user_s=0.55)}, "tool_s": 0.9, "tool_moved": moved(2)},
        set(),
    ),
    "no storage": (
        dataclasses.replace(ON_DISK, disks={}),
        {"cpus": {3: cpu(1.5, user_s=0.55)}, "tool_s": 0.9},
        {"foreign"},
    ),
    "storage: user time": (ON_DISK, {"cpus": {3: cpu(2.9, user_s=1.9)}, "tool_s": 0.9}, {"foreign"}),
    "stolen": (
        dataclasses.replace(ON_DISK, disks={}),
        {"cpus": {3: cpu(1.0, steal_s=0.2, user_s=0.5)}, "tool_s": 1.0},
        {"steal"},
    ),
    "stolen, on a disk": (ON_DISK, {"cpus": {3: cpu(1.0, steal_s=0.2, user_s=0.5)}, "tool_s": 1.0}, set()),
    "interrupts, nothing usual": (RUN, {"cpus": {3: cpu(2.99, irq_s=0.4)}}, set()),
    "once stopped": (
        stopped(1.9, stops=1, stopped_s=1.0),
        {"cpus": {3: cpu(2.0)}, "tool_s": 1.99},
        {"stopped"},
    ),
    "stopped and starved": (
        stopped(0.9, stops=1, stopped_s=1.0),
        {"cpus": {3: cpu(1.0)}, "tool_s": 0.99},
        {"stopped", "starved"},
    ),
    "starved": (stopped(1.9), {"cpus": {3: cpu(2.0)}, "tool_s": 1.99}, {"starved"}),
    "waits": (stopped(1.9, computing=0), {"cpus": {3: cpu(2.0)}, "tool_s": 1.99}, set()),
    "machine-wide": (
        UNPLACED,
        {
            "totals": {"pswpin": 12, "throttle_core": 2, "memory_errors": 1, "quota_s": 0.5, "quota_hits": 6},
            "cpus": {3: cpu(3.0, steal_s=0.2), 4: cpu(0.0)},
        },
        {"steal", "quota", "throttled", "swap", "memory-errors"},
    ),
    "a short quota": (UNPLACED, {"totals": {"quota_s": 0.02, "quota_hits": 1}}, set()),
    "disk: 2 of 202 MiB": (READS, {"disks": {"8:0": moved(202, 1)}, "tool_moved": moved(200)}, set()),
    "disk: 60 of 260 MiB": (READS, {"disks": {"8:0": moved(260)}, "tool_moved": moved(200)}, {"disk"}),
    "disk: writes": (READS, {"disks": {"8:0": moved(200, 60)}, "tool_moved": moved(200)}, {"disk"}),
    "disk: page cache": (READS, {"disks": {"8:0": moved(0, 1024)}, "tool_moved": moved(0.004)}, set()),
    "device: others write": (READS, {"disks": {"8:0": moved(0, 900)}, "tool_moved": moved(0, 500)}, {"disk"}),
    "file system: its journal": (
        dataclasses.replace(READS, unit_bytes=4096),
        {"disks": {"8:0": moved(0, 900)}, "tool_moved": moved(0, 500)},
        set(),
    ),
}


@pytest.mark.parametrize(("run", "changes", "expected"), CASES.values(), ids=CASES)
def test_rules_that_apply(run: Watched, changes: dict[str, Any], expected: set[str]) -> None:
    assert rules(run, **changes) == expected


@pytest.mark.parametrize(
    ("rule", "cases"),
    {
        "unwatched": [((1, 1.45), False), ((1, 1.55), True), ((10, 10.95), False), ((10, 11.05), True), ((0, 11), False)],
        "starved": [((0.2, 0.11), False), ((0.2, 0.05), True), ((16.0, 14.5), False)],
        "neighbour": [((1, 0.14), False), ((1, 0.16), True), ((63, 1.4), False), ((63, 1.6), True), ((4, 0.7), True)],
        "interrupts": [((0, 0.001, 0), True), ((0, 0.001), False), ((0.08, 0.1, 0.09), False), ((0.001, 0.005, 0.3), True)],
    }.items(),
)  # fmt: skip
def test_thresholds(rule: str, cases: list[tuple[tuple[float, ...], bool]]) -> None:
    for values, expected in cases:
        run, changes = RUN, dict[str, Any]()
        if rule == "unwatched":  # span, seconds between the readings
            run = Watched(wall_s=1.0, span_s=values[0], user_s=0.5, system_s=0.0)
            changes = {"elapsed_s": values[1]}
        elif rule == "starved":  # wall, CPU seconds
            run = Watched(wall_s=values[0], user_s=values[1], system_s=0.0, cpus=(3,), computing=1)
            changes = {"elapsed_s": values[0], "cpus": {3: cpu(values[1])}, "tool_s": values[1]}
        elif rule == "neighbour":  # other CPUs of the memory node, seconds that one of them was busy
            others = tuple(range(10, 10 + int(values[0])))
            run = dataclasses.replace(RUN, memory_bound=True, neighbours=others)
            changes = {
                "cpus": {3: cpu(3.0), **dict.fromkeys(others, cpu(0.0)), 10: cpu(values[1])},
                "own_s": 0.0,
            }
            assert rules(dataclasses.replace(run, memory_bound=False), **changes) == set()
        else:  # usual shares
            run = dataclasses.replace(RUN, usual_irq=values)
            changes = {"cpus": {**QUIET.cpus, 3: cpu(2.9, irq_s=0.3)}}
        assert (rule in rules(run, **changes)) is expected, values


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
        wrong += "interrupts" in rules(run, cpus={3: cpu(max(0.0, 3.0 - irq_s), irq_s=irq_s)})
    assert wrong <= 10


def test_a_counter_that_the_machine_lacks_gives_no_reason() -> None:
    nothing = Changes(elapsed_s=3.0, cpus={}, own_s=0.0, tool_s=None, tool_moved=None, disks={})
    assert reasons(nothing, dataclasses.replace(RUN, memory_bound=True, disks={"8:0": "sda"})) == ()
    assert stored(nothing, RUN, ()) == {"elapsed_s": 3.0, "pinsweep_s": 0.0, "reasons": []}


def test_stored_counters_are_small_and_reasons_are_short() -> None:
    run = stopped(2.0, memory_bound=True, disks={"259:0": "nvme0n1", "8:0": "sda"}, stops=2, stopped_s=0.1)
    names = "pgmajfault pswpin pswpout pressure_cpu_s pressure_memory_s pressure_io_s throttle_core throttle_package quota_hits quota_s memory_errors energy_j frequency_hz temperature_c"  # fmt: skip
    totals = dict.fromkeys(names.split(), 123456.789)
    disks = dict.fromkeys(run.disks, moved(1 << 16, 1 << 16))
    changes = dataclasses.replace(QUIET, tool_s=2.0, totals=totals, disks=disks)
    matches = reasons(changes, run)
    counters = stored(changes, run, matches)
    assert [reason["id"] for reason in counters["reasons"]][:3] == ["foreign", "stopped", "starved"]
    assert counters["foreign_s"] == pytest.approx(1.001, abs=1e-3)
    assert len(json.dumps({**counters, "reasons": []})) <= 1000, json.dumps(counters)
    assert all(len(reason.text.split()) <= 12 for reason in matches), matches


def test_neighbours_are_the_other_cpus_of_all_memory_that_is_used() -> None:
    topology = topology_from_synthetic("pack:2 numa:1 core:2 pu:1")
    own = tuple(cpu for cpu, node in sorted(topology.node_of.items()) if node == 0)
    local = Placement(name="l", groups=(Group(cpus=own[:1], membind=(0,)),))
    remote = Placement(name="r", groups=(Group(cpus=own[:1], membind=(1,)),))
    assert neighbours(topology, local) == own[1:]
    assert set(neighbours(topology, remote)) == set(topology.node_of) - set(own[:1])


def counters(foreign: float, *rules: str) -> dict[str, Any]:
    return {"elapsed_s": 1.0, "foreign_s": foreign, "reasons": [{"id": rule, "text": ""} for rule in rules]}


@pytest.mark.parametrize(
    ("shares", "share"),
    [
        ([0.2] * 8, 0.2),
        ([0.2] * 7, 0.0),  # too few runs
        ([0.0] * 4 + [0.2] * 9, 0.0),  # a quarter was quiet
        ([0.0] * 2 + [0.2, 0.4] * 5, 0.2),
        ([math.inf] * 8 + [0.2] * 4, 0.0),  # no counter says how much
        ([0.005] * 20, 0.0),
    ],
)
def test_what_is_usual(shares: list[float], share: float) -> None:
    assert usual(shares) == share


@pytest.mark.parametrize(
    ("of_run", "share", "expected"),
    [
        (counters(0.25, "foreign"), 0.2, True),
        (counters(0.25, "foreign", "starved"), 0.2, True),
        (counters(0.45, "foreign"), 0.2, False),  # a burst on top
        (counters(0.25, "foreign", "swap"), 0.2, False),
        (counters(0.01, "foreign"), 0.0, False),  # a quiet machine
    ],
)
def test_another_attempt_helps_unless_the_disturbance_is_usual(
    of_run: dict[str, Any], share: float, expected: bool
) -> None:
    assert is_usual(of_run, share) == expected
