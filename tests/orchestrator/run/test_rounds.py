"""`repeats: auto`: which cells get a further run, and one count and one time left over all rounds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

import pytest

from orchestrator.model import Cell, Plan, PlannedRun, Sweep, Tried
from orchestrator.plan.prepare import PlanOptions
from orchestrator.run.events import Event, Started
from orchestrator.run.outcome import Attempts, Rules
from orchestrator.run.rounds import Progress, next_round, with_begun
from orchestrator.run.session import run_experiments
from parsers.measurement import Parsed

SWEEPS = {"s": Sweep(name="s", title="s", tool="stream", repeats=6, settle=True)}
STEADY, WIDE = [100.0] * 6, [100, 100, 100, 100, 100, 120.0]


def run(threads: int, repeat: int, *, sweep: str = "s", tool: str = "stream", estimate_s: float = 10.0) -> PlannedRun:
    cell = Cell(sweep=sweep, tool=tool, options={"threads": threads}, axes=("threads",))
    return PlannedRun(
        sweep=sweep, tool=tool, cell=cell, repeat=repeat, argv=("stream",), env={}, placement=None,
        timeout_s=60, nominal_s=1, estimate_s=estimate_s, program="stream",
    )  # fmt: skip


def cell(threads: int) -> str:
    return run(threads, 1).cell.point_id


def plan(number: int = 3) -> Plan:
    runs = tuple(run(n, repeat) for repeat in range(1, 7) for n in range(number))
    cells = tuple(run(n, 1).cell for n in range(number))
    return Plan(runs=runs, cells=cells, skipped=(), more={p.point_id: 9 for p in cells}, seed=1)


OK = {one.key: Tried(attempts=1, status="ok") for one in plan().runs}
LAST = {run(1, repeat).key: Tried(attempts=1, status="ok") for repeat in range(7, 16)}
DISTURBED = {run(0, repeat).key: Tried(attempts=3, status="disturbed", disturbed=3) for repeat in range(1, 7)}
FAILED = {run(1, repeat).key: Tried(attempts=1, status="failed") for repeat in range(1, 7)}
INTERRUPTED = {run(1, 6).key: Tried(attempts=1, status="interrupted")}


@pytest.mark.parametrize(
    ("attempts", "values", "expected"),
    [
        (OK, {0: STEADY, 1: WIDE, 2: STEADY}, {(1, 7)}),
        (OK, {0: WIDE[1:], 1: WIDE[1:], 2: WIDE[1:]}, {(0, 7), (1, 7), (2, 7)}),
        (OK | LAST, {1: [100.0, 130.0] * 7}, set()),  # as often as it may run
        (OK | dict(list(LAST.items())[:-1]), {1: [100.0, 130.0] * 7}, {(1, 15)}),
        (OK | DISTURBED | FAILED, {}, {(0, 7)}),  # a failed cell fails again
        (OK | INTERRUPTED, {0: WIDE[1:], 1: WIDE[1:], 2: WIDE[1:]}, {(0, 7), (2, 7)}),  # planned runs first
    ],
)
def test_cells_that_have_not_settled_get_one_more_run(
    attempts: Attempts, values: dict[int, list[float]], expected: set[tuple[int, int]]
) -> None:
    further = next_round(plan(), attempts, {cell(n): v for n, v in values.items()}, SWEEPS, Rules())

    assert {(one.cell.options["threads"], one.repeat) for one in further.runs} == expected
    assert further.more == {cell(threads): 15 - repeat for threads, repeat in expected}


def test_runs_that_a_file_holds_beyond_the_base_are_part_of_the_plan() -> None:
    """An interrupted one is then started again, and a failed one on request."""
    begun = {run(1, repeat).key: Tried(attempts=1, status="interrupted") for repeat in (7, 8)}

    continued = with_begun(plan(), OK | begun)

    assert {one.key for one in continued.runs} - {one.key for one in plan().runs} == set(begun)
    assert continued.more == {cell(0): 9, cell(1): 7, cell(2): 9}


@pytest.mark.parametrize(
    ("ended", "left", "seconds"),
    [
        ([], [run(1, 1), run(2, 1, estimate_s=5.0)], 15.0),
        ([(run(1, 1), 0.3), (run(2, 1), 0.3)], [], 0.0),
        ([(run(1, 1), 1.0)], [run(1, 2), run(2, 1)], 2.0),  # a tenth of the plan, for other cells, too
        ([(run(1, 1), 1.0)], [run(1, 1, sweep="other", estimate_s=2.0)], 0.2),  # the factor of the tool
        ([(run(1, 1), 1.0), (run(1, 1, sweep="o"), 5.0)], [run(2, 1, sweep="o")], 5.0),  # of the sweep
        ([(run(1, 1), 1.0)], [run(1, 1, sweep="third", tool="fio")], 10.0),
    ],
)
def test_the_time_left_is_the_plan_times_how_far_it_was_off(
    ended: list[tuple[PlannedRun, float]], left: list[PlannedRun], seconds: float
) -> None:
    progress = Progress()
    progress.add([*(one for one, _ in ended), *left])
    for one, took in ended:
        progress.end(one, took)

    assert progress.seconds_left() == pytest.approx(seconds)


SETTLING = """\
schema: 1
title: Settling
tool: command
fixed:
  seconds: 3600
  command: sh -c 'echo x >> count-{first}; if [ $(wc -l < count-{first}) = 1 ]; then echo {first}; else echo 100; fi'
  metrics:
    reply: {regex: "([0-9]+)", unit: ms, better: lower}
matrix:
  first: [100, 120]
repeats: auto
"""


def replies(_: object, repeats: Sequence[Parsed]) -> list[float]:
    return [statistics.fmean(row.value for row in one.measured()) for one in repeats]


def test_the_count_and_the_time_left_continue_from_round_to_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "e.yaml").write_text(SETTLING)
    events: list[Event] = []

    run_experiments(
        [tmp_path / "e.yaml"], PlanOptions(output=tmp_path / "r.db", warm_up=False), version="0", argv=(),
        share_machine=True, rules=Rules(allow_disturbed=True), leading=replies, on_event=events.append,
    )  # fmt: skip

    begun = [event for event in events if isinstance(event, Started)]
    assert [event.number for event in begun] == list(range(1, 19))
    assert [event.total for event in begun] == [12] * 12 + list(range(13, 19))
    assert begun[0].left_s > 3600
    assert all(event.left_s < 60 for event in begun[2:])
