"""The time that is left: by the plan at first, then by what runs took."""

from __future__ import annotations

import random

import pytest

from orchestrator.model import Cell, PlannedRun
from orchestrator.run.remaining import Remaining


def run(
    number: int, repeat: int, *, sweep: str = "s", tool: str = "command", estimate_s: float = 10.0
) -> PlannedRun:
    cell = Cell(sweep=sweep, tool=tool, options={"n": number}, axes=("n",))
    return PlannedRun(
        sweep=sweep, tool=tool, cell=cell, repeat=repeat, argv=("true",), env={}, placement=None, timeout_s=60.0,
        nominal_s=estimate_s, estimate_s=estimate_s, program="",
    )  # fmt: skip


def test_before_anything_ran_it_is_what_the_plan_says() -> None:
    assert Remaining([run(1, 1), run(2, 1, estimate_s=5.0)]).seconds() == 15.0


def test_nothing_is_left_when_all_have_ended() -> None:
    todo = [run(cell, repeat) for repeat in (1, 2, 3) for cell in (1, 2)]
    remaining = Remaining(todo)
    for one in todo:
        remaining.ended(one, 0.3)

    assert remaining.seconds() == pytest.approx(0.0, abs=1e-9)


def test_a_plan_that_is_far_off_is_right_after_the_first_round() -> None:
    took = {cell: 0.1 * cell for cell in range(1, 11)}  # the plan says ten seconds of each
    rounds = [[run(cell, repeat) for cell in took] for repeat in (1, 2, 3)]
    remaining = Remaining([one for round_ in rounds for one in round_])
    for one in rounds[0]:
        remaining.ended(one, took[one.cell.options["n"]])

    assert remaining.seconds() == pytest.approx(2 * sum(took.values()))


def test_a_cell_that_did_not_run_goes_by_the_others_of_its_sweep() -> None:
    todo = [
        run(1, 1),
        run(2, 1),
        run(1, 1, sweep="other", estimate_s=2.0),
        run(1, 1, sweep="third", tool="fio"),
    ]
    remaining = Remaining(todo)
    remaining.ended(todo[0], 1.0)  # a tenth of what was planned

    assert remaining.seconds() == pytest.approx(10.0 * 0.1 + 2.0 * 0.1 + 10.0)


def test_what_is_added_counts() -> None:
    first, again = run(1, 1), run(1, 2)
    remaining = Remaining([first])
    remaining.ended(first, 4.0)
    remaining.add(again)
    remaining.add(run(2, 1))

    assert remaining.seconds() == pytest.approx(4.0 + 10.0 * 0.4)


def test_it_is_the_same_as_adding_up_anew() -> None:
    """Whatever order runs end in: the sums that are kept up are those of all runs to do."""
    chance = random.Random(7)
    todo = [run(cell, repeat, sweep=f"s{cell % 3}") for cell in range(12) for repeat in (1, 2, 3)]
    chance.shuffle(todo)
    remaining, took = Remaining(todo), {}
    for number, one in enumerate(todo):
        took.setdefault(one.cell.point_id, []).append(chance.uniform(0.5, 20.0))
        remaining.ended(one, took[one.cell.point_id][-1])
        if all(other.cell.point_id in took for other in todo[number + 1 :]):
            rest = sum(_median(took[other.cell.point_id]) for other in todo[number + 1 :])
            assert remaining.seconds() == pytest.approx(rest, abs=1e-6)


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
