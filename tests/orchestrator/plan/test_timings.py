"""What is learnt of how long runs take: by the kind of CPU, by many hosts at once."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orchestrator.plan import timings
from orchestrator.plan.duration import duration
from orchestrator.plan.plan import PastTimings
from orchestrator.plan.prepare import PlanOptions, prepare
from tests.orchestrator.plan.test_duration import run

EXPERIMENT = """\
schema: 1
title: T
tool: stream
fixed: {threads: 1, array_size: 1000000, place: numa_node 0}
repeats: 1
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path / "pinsweep" / "timings"


def cpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, model: str) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text(f"processor\t: 0\nvendor_id\t: X\nmodel name\t: {model}\ncpu MHz\t: 2400\n\nprocessor: 1\n")
    monkeypatch.setattr(timings, "_CPUINFO", file)


def test_each_kind_of_cpu_has_its_own(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = run(1)
    for model, wall_s in (("Gold 6130 @ 2.1", 20.0), ("EPYC 7763", 5.0)):
        cpu(monkeypatch, tmp_path, model)
        assert timings.load() == PastTimings()
        timings.remember([known], {known.cell.point_id: [wall_s]})

    assert timings.load().cells == {known.cell.point_id: 5.0}
    cpu(monkeypatch, tmp_path, "Gold 6130 @ 2.1")
    assert timings.load().cells == {known.cell.point_id: 20.0}
    assert timings.load().overhead == {"command": 10.0}
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_what_is_not_a_file_is_not_read(folder: Path, kind: str) -> None:
    folder.mkdir(parents=True)
    path = folder / f"{timings._cpu()}.json"
    os.mkfifo(path) if kind == "fifo" else path.symlink_to("/dev/zero")
    assert timings.load() == PastTimings()


def test_many_hosts_write_at_once_and_leave_one_whole_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getpid", lambda: 4242)  # as processes of several hosts may have
    runs = [run(n) for n in range(40)]

    def write(one: int) -> None:
        timings.remember(runs, {runs[one].cell.point_id: [1.0]})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))

    (file,) = folder.iterdir()
    assert json.loads(file.read_text())["points"].keys() <= {r.cell.point_id for r in runs}


@pytest.mark.parametrize(
    "text", ["", "[]", '{"points": [1]}', '{"points": {"a": NaN}}', '{"overhead": {"fio": 3}}', "[" * 9000]
)
def test_a_damaged_file_is_nothing_known(folder: Path, text: str) -> None:
    known = run(1)
    timings.remember([known], {known.cell.point_id: [1.0]})
    (file,) = folder.iterdir()
    file.write_text(text)

    assert timings.load() == PastTimings()
    timings.remember([known], {known.cell.point_id: [2.0]})
    assert timings.load().cells == {known.cell.point_id: 2.0}


def test_what_runs_took_here_is_not_told_of_another_machine(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(EXPERIMENT)

    def estimate(topology: str | None) -> float:
        (only,) = prepare([tmp_path / "s.yaml"], PlanOptions(topology=topology), seed=0).plan.runs
        return only.estimate_s

    before = estimate("pack:2 core:4 pu:1"), estimate(None)
    (only,) = prepare([tmp_path / "s.yaml"], PlanOptions(), seed=0).plan.runs
    timings.remember([only], {only.cell.point_id: [1234.5]})

    assert estimate(None) == 1234.5 != before[1]
    assert estimate("pack:2 core:4 pu:1") == before[0]


def test_a_tool_that_was_quicker_than_its_estimate_takes_nothing_off_other_cells() -> None:
    """A command of 1 s is estimated as 10 s: another command may take these."""
    past = PastTimings(overhead={"command": -9.7, "fio": 2.0})

    assert past.wall_s(run(1).cell, 10.0) == 10.0


COMMAND = """\
schema: 1
title: T
tool: command
fixed: {command: echo 1, metrics: {m: {regex: "(1)", unit: s}}}
matrix: {n: [1, 2]}
repeats: 5
"""


def test_a_program_that_never_ran_is_reckoned_at_a_second_and_given_more(folder: Path, tmp_path: Path) -> None:
    """It was 10 s a run, and what another program had taken beyond its own `seconds` came on top."""
    path = tmp_path / "c.yaml"
    path.write_text(COMMAND)
    slow = run(1)
    timings.remember([slow], {slow.cell.point_id: [500.0]})  # another program

    plan = prepare([path], PlanOptions(), seed=0).plan

    assert [one.estimate_s for one in plan.runs] == [1.0] * 10
    assert {one.guessed_at_most_s for one in plan.runs} == {10.0}
    assert plan.runs[0].timeout_s == 100.0  # as before: nothing is ended that was not
    assert duration(plan).limit_s == 7 * 60
    assert plan.warm_ups == ()  # it may take minutes

    timings.remember([plan.runs[0]], {plan.runs[0].cell.point_id: [3.0]})
    path.write_text(COMMAND.replace("fixed: {", "fixed: {seconds: 4, "))
    known = prepare([path], PlanOptions(), seed=0).plan
    assert {one.estimate_s for one in known.runs} == {4.0}
    path.write_text(COMMAND)
    now = {one.cell.options["n"]: one for one in prepare([path], PlanOptions(), seed=0).plan.runs}
    first = now[plan.runs[0].cell.options["n"]]
    assert (first.estimate_s, first.guessed_at_most_s) == (3.0, 0.0)
