"""How long a plan takes, and the time limit that a batch job gets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.model import Cell, Plan, PlannedRun, ScratchFile, Write
from orchestrator.plan.duration import RUN_S, START_S, Duration, duration
from orchestrator.plan.plan import as_json


def run(number: int, *, estimate_s: float = 10.0, timeout_s: float = 100.0) -> PlannedRun:
    cell = Cell(sweep="s", tool="command", options={"n": number}, axes=("n",))
    return PlannedRun(
        sweep="s", tool="command", cell=cell, repeat=1, argv=("true",), env={}, placement=None, timeout_s=timeout_s,
        nominal_s=estimate_s, estimate_s=estimate_s, program="",
    )  # fmt: skip


def plan(*runs: PlannedRun, warm_ups: tuple[PlannedRun, ...] = (), more: int = 0) -> Plan:
    further = {run.cell.point_id: more for run in runs} if more else {}
    return Plan(runs=runs, cells=tuple(r.cell for r in runs), skipped=(), more=further, warm_ups=warm_ups, seed=0)


def test_the_limit_is_three_times_the_estimates_but_no_more_than_the_timeouts() -> None:
    takes = duration(plan(run(1), run(2, estimate_s=100.0, timeout_s=150.0), warm_ups=(run(1),)))

    assert (takes.least_s, takes.most_s) == (120.0, 120.0)
    assert takes.limit_s == 60 * 5  # 60 to start, 30 + 150 + 30, and a little for each
    assert START_S + 30 + 150 + 30 + 3 * RUN_S <= takes.limit_s < START_S + 210 + 3 * RUN_S + 60


def test_repeats_that_may_follow_and_files_to_be_filled_count() -> None:
    takes = duration(plan(run(1), more=9))
    assert (takes.least_s, takes.most_s) == (10.0, 100.0)
    assert takes.limit_s == 60 * 7

    data = ScratchFile(path="/s/data", size_bytes=12 * 10**9)
    files = [replace(run(n), scratch=(data,)) for n in (1, 2)]
    spoils = Write(path="/s/data", kind="scratch", size_bytes=12 * 10**9, spoils=True)
    assert duration(plan(*files)).limit_s == 60 * 5  # one file, once: 2 min
    assert duration(plan(*(replace(one, writes=(spoils,)) for one in files))).limit_s == 60 * 9


@pytest.mark.parametrize(
    ("limit_s", "text"), [(60, "00:01:00"), (720, "00:12:00"), (86340, "23:59:00"), (183600, "2-03:00:00")]
)
def test_the_limit_is_written_as_sbatch_takes_it(limit_s: int, text: str) -> None:
    assert Duration(least_s=0, most_s=0, limit_s=limit_s).slurm == text


def test_a_plan_says_both_as_json() -> None:
    document = as_json(plan(run(1), more=2))

    assert document["total_s"] == {"estimate": 10.0, "at_most": 30.0, "limit": 180}
    assert document["time_limit"] == "00:03:00"


def test_scratch_files_count_once_and_devices_not_at_all() -> None:
    data = Write(path="/s/data", kind="scratch", size_bytes=64 << 20)
    device = Write(path="/dev/vdz", kind="device", size_bytes=1 << 40)

    document = as_json(plan(replace(run(1), writes=(data, device)), replace(run(2), writes=(data,))))

    assert document["scratch_bytes"] == 64 << 20
