"""`repeats: auto`: which cells get a further run."""

from __future__ import annotations

from orchestrator.model import Cell, Plan, PlannedRun, Sweep, Tried
from orchestrator.run.outcome import Rules
from orchestrator.run.settle import next_round, with_begun

SWEEPS = {"s": Sweep(name="s", title="s", tool="stream", repeats=6, settle=True)}
STEADY, WIDE = [100.0] * 6, [100, 100, 100, 100, 100, 120.0]


def cell(threads: int) -> Cell:
    return Cell(sweep="s", tool="stream", options={"threads": threads}, axes=("threads",))


def run(threads: int, repeat: int) -> PlannedRun:
    return PlannedRun(
        sweep="s", tool="stream", cell=cell(threads), repeat=repeat, argv=("stream",), env={}, placement=None,
        timeout_s=60, nominal_s=1, estimate_s=1, program="stream",
    )  # fmt: skip


def plan(number: int = 3) -> Plan:
    cells = tuple(cell(n) for n in range(number))
    runs = tuple(run(n, repeat) for repeat in range(1, 7) for n in range(number))
    return Plan(runs=runs, cells=cells, skipped=(), more={p.point_id: 9 for p in cells}, seed=1)


def attempts(of: Plan, *others: PlannedRun, status: str = "ok") -> dict[tuple[str, int], Tried]:
    return {one.key: Tried(attempts=1, status="ok") for one in of.runs} | {
        one.key: Tried(attempts=1, status=status) for one in others
    }


def asked(of: Plan) -> set[tuple[int, int]]:
    return {(one.cell.options["threads"], one.repeat) for one in of.runs}


def test_only_cells_that_have_not_settled_get_another_run() -> None:
    values = {cell(0).point_id: STEADY, cell(1).point_id: WIDE, cell(2).point_id: STEADY}

    found = next_round(plan(), attempts(plan()), values, SWEEPS, Rules())

    assert asked(found) == {(1, 7)}
    assert found.more == {cell(1).point_id: 8}


def test_a_cell_without_any_number_is_left_and_so_is_one_that_ran_as_often_as_it_may() -> None:
    last = [run(1, repeat) for repeat in range(7, 16)]
    values = {cell(1).point_id: [100.0, 130.0] * 7}

    assert asked(next_round(plan(), attempts(plan(), *last), values, SWEEPS, Rules())) == set()
    assert asked(next_round(plan(), attempts(plan(), *last[:-1]), values, SWEEPS, Rules())) == {(1, 15)}


def test_a_cell_whose_runs_were_all_disturbed_gets_more_and_one_whose_runs_failed_does_not() -> None:
    begun = attempts(plan(2))
    for repeat in range(1, 7):
        begun[run(0, repeat).key] = Tried(attempts=3, status="disturbed", disturbed=3)
        begun[run(1, repeat).key] = Tried(attempts=1, status="failed")

    assert asked(next_round(plan(2), begun, {}, SWEEPS, Rules())) == {(0, 7)}


def test_a_cell_is_not_judged_before_its_planned_runs_are_done() -> None:
    begun = attempts(plan())
    begun[run(1, 6).key] = Tried(attempts=1, status="interrupted")
    values = {cell(n).point_id: WIDE[1:] for n in range(3)}

    assert asked(next_round(plan(), begun, values, SWEEPS, Rules())) == {(0, 7), (2, 7)}


def test_runs_that_a_file_holds_beyond_the_base_are_part_of_the_plan() -> None:
    """So that one of them that was interrupted is started again, and a failed one on request."""
    found = with_begun(plan(), attempts(plan(), run(1, 7), run(1, 8), status="interrupted"))

    assert asked(found) - asked(plan()) == {(1, 7), (1, 8)}
    assert found.more == {cell(0).point_id: 9, cell(1).point_id: 7, cell(2).point_id: 9}
