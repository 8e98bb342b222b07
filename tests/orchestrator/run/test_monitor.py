"""Short runs, runs that move at their end, and what is said of those that nobody saw: real processes."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.machine.cpulist import format_cpulist
from orchestrator.model import Cell, Group, Placement, PlannedRun
from orchestrator.placement.place import numactl
from orchestrator.run.monitor import PlacementMonitor
from orchestrator.run.process import Stop, run_process
from orchestrator.run.watchdog import Watchdog
from tests.waits import PATIENCE_S

CPUS = sorted(os.sched_getaffinity(0))
NUMACTL = shutil.which("numactl") or ""
pytestmark = pytest.mark.skipif(not NUMACTL or len(CPUS) < 2, reason="no numactl, or one CPU")

HERE = Group(cpus=(CPUS[0],), membind=(0,))
ELSEWHERE = f"taskset -c {CPUS[-1]}"
WAITS = "while [ ! -e seen ]; do sleep 0.005; done"


def planned(*argv: str, groups: tuple[Group, ...] = (HERE,)) -> PlannedRun:
    return PlannedRun(
        sweep="s", tool="command", cell=Cell(sweep="s", tool="command", options={}), repeat=1,
        argv=(*numactl(groups[0], NUMACTL), *argv), env={}, placement=Placement(name="here", groups=groups),
        timeout_s=20, nominal_s=1, estimate_s=1, program="x",
    )  # fmt: skip


def watched(
    watchdog: Watchdog, run: PlannedRun, kind: type[PlacementMonitor] = PlacementMonitor
) -> tuple[list[str], dict[str, Any]]:
    """Return what was wrong with the placement of a run, and what is kept of the looks."""
    monitor = kind(run)
    with Stop() as stop:
        outcome = run_process(run.argv, {}, watchdog=watchdog, timeout_s=PATIENCE_S, stop=stop, looks=monitor)
    assert outcome.exit_code == 0, outcome.stderr
    seen = monitor.seen(outcome.wall_s)
    assert seen is not None
    return monitor.mismatches(outcome.wall_s), seen


def test_a_run_of_a_few_milliseconds_is_seen_at_its_end(watchdog: Watchdog) -> None:
    found, seen = watched(watchdog, planned("true"))

    assert found == []
    assert {process["cpus"] for process in seen["processes"]} == {str(CPUS[0])}


class EndsOnceSeen(PlacementMonitor):
    """Lets a tool that waits for the file `seen` end after the first look that has seen it, however slow this machine is."""

    def __init__(self, run: PlannedRun) -> None:
        super().__init__(run)
        self.argv = run.argv

    def look(self, pid: int, *, early: bool) -> bool:
        enough = super().look(pid, early=early)
        if self._processes:
            Path("seen").touch()
        return enough


def test_one_look_is_enough_for_a_short_run(
    watchdog: Watchdog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    right = EndsOnceSeen(planned("sh", "-c", WAITS))
    wrong = EndsOnceSeen(planned(*ELSEWHERE.split(), "sh", "-c", WAITS))

    with Stop() as stop:
        for monitor in (right, wrong):
            Path("seen").unlink(missing_ok=True)
            run_process(
                monitor.argv, {}, watchdog=watchdog, timeout_s=PATIENCE_S, stop=stop, looks=monitor, cwd=str(tmp_path)
            )  # fmt: skip

    assert right.mismatches(0.0075) == []
    assert f"it may run on PUs {CPUS[-1]}, requested {CPUS[0]}" in wrong.mismatches(0.0075)[0]
    seen = right.seen(0.05)
    assert seen is not None
    assert "note" not in seen
    assert seen["processes"][0]["cpus"] == str(CPUS[0])
    assert seen["processes"][0]["policy"] in ("bind:0", "")  # "": a kernel that knows no NUMA
    assert seen["at_end"] == {"cpus": str(CPUS[0])}


@pytest.mark.parametrize("seconds", ["0", "0.02", "0.05"])
def test_a_short_run_that_was_elsewhere_is_caught(watchdog: Watchdog, seconds: str) -> None:
    found, _ = watched(watchdog, planned(*ELSEWHERE.split(), "sleep", seconds))

    (text,) = found
    assert f"it may run on PUs {CPUS[-1]}, requested {CPUS[0]}" in text


class MovesOnceProven(PlacementMonitor):
    """Lets a tool that waits for the file `seen` go on after the last look at it."""

    def look(self, pid: int, *, early: bool) -> bool:
        enough = super().look(pid, early=early)
        if enough and not early:
            Path("seen").touch()
        return enough


def test_a_run_that_moves_when_all_was_as_asked_is_caught_by_where_it_ends(
    watchdog: Watchdog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a cgroup takes its CPUs away: nobody looks any more."""
    monkeypatch.chdir(tmp_path)
    moves = planned("sh", "-c", f"cd {tmp_path}; {WAITS}; taskset -cp {CPUS[-1]} $$")

    found, seen = watched(watchdog, moves, MovesOnceProven)

    (text,) = found
    assert text.startswith("sh (")
    assert text.endswith(f"it may run on PUs {CPUS[-1]}, requested {CPUS[0]} (seen at its end)")
    assert seen["at_end"] == {"cpus": str(CPUS[-1])}


def test_a_child_that_moves_when_all_was_as_asked_is_caught_while_it_runs(
    watchdog: Watchdog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("orchestrator.run.process.OUTPUT_CHECK_S", 0.05)
    script = f"cd {tmp_path}; sleep 9 & {WAITS}; taskset -cp {CPUS[-1]} $!; sleep 0.6; kill $!"

    found, _ = watched(watchdog, planned("sh", "-c", script), MovesOnceProven)

    (text,) = found
    assert text.startswith("sleep (")
    assert text.endswith(f"it may run on PUs {CPUS[-1]}, requested {CPUS[0]}")


@pytest.mark.parametrize(
    ("script", "expected"),
    [("exec sleep 0.4", ["threads at once: 1 at most, requested 2"]), ("sleep 0.3 & wait", [])],
)
def test_threads_that_were_never_there_are_missed(watchdog: Watchdog, script: str, expected: list[str]) -> None:
    run = planned("sh", "-c", script)
    run = replace(run, cell=replace(run.cell, options={"threads": 2}))

    assert watched(watchdog, run)[0] == expected


def test_a_cpuset_that_lost_cpus_of_the_run_is_seen_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = PlacementMonitor(planned("true", groups=(Group(cpus=tuple(CPUS)),)))
    monkeypatch.setattr("orchestrator.placement.proof.allowed_cpus", lambda _: frozenset(CPUS[-1:]))

    monitor.last_look({"pid": 7, "name": "true", "cpus": CPUS[-1:], "mems_allowed": [0]})

    asked = format_cpulist(CPUS)
    assert monitor.mismatches(0.01) == [f"the cpuset allows PUs {CPUS[-1]}, requested {asked} (seen at its end)"]


def test_what_is_not_seen_is_said() -> None:
    one = PlacementMonitor(planned("true"))
    ranks = PlacementMonitor(planned("true", groups=(HERE, HERE)))
    unseen = one.seen(0.0075)
    assert unseen is not None
    assert (unseen["note"], unseen["processes"]) == ("placement not seen (ended within 8 ms)", [])
    assert ranks.mismatches(0.0075) == []

    one.last_look({"pid": 7, "name": "true", "cpus": [CPUS[0]], "mems_allowed": [0]})
    seen = one.seen(0.0075)
    assert seen is not None
    assert seen["note"] == "at its end only (ended within 8 ms), its memory policy not at all"
    assert [process["cpus"] for process in seen["processes"]] == [str(CPUS[0])]
    assert one.mismatches(0.0075) == []


def test_a_launcher_s_own_place_is_nobody_s() -> None:
    monitor = PlacementMonitor(planned("true"))

    monitor.last_look({"pid": 7, "name": "mpiexec.hydra", "cpus": CPUS, "mems_allowed": [0]})

    assert monitor.mismatches(0.0075) == []
