"""Which run of a program warms it up."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.model import Cell, PlannedRun, Sweep, Write
from orchestrator.plan.warm_up import warm_ups

SWEEPS = {"s": Sweep(name="s", title="s", tool="fio"), "listed": Sweep(name="listed", title="l", tool="fio", order="listed")}  # fmt: skip


def run(depth: int, seconds: float, *, sweep: str = "s", program: str = "fio", writes: tuple[Write, ...] = ()) -> PlannedRun:  # fmt: skip
    cell = Cell(sweep=sweep, tool="fio", options={"iodepth": depth}, axes=("iodepth",))
    return PlannedRun(
        sweep=sweep, tool="fio", cell=cell, repeat=1, argv=("fio",), env={}, placement=None, timeout_s=60,
        nominal_s=seconds, estimate_s=seconds, program=program, writes=writes,
    )  # fmt: skip


def test_the_shortest_cell_of_each_program_warms_it_up() -> None:
    runs = [run(1, 5), run(2, 3), run(4, 4), run(1, 9, program="mlc")]

    assert warm_ups(runs, SWEEPS) == tuple(replace(one, repeat=0, warm_up=True) for one in (runs[1], runs[3]))
    assert warm_ups([], SWEEPS) == ()


def test_none_is_made_of_long_runs_and_of_those_that_change_what_they_measure() -> None:
    device = (Write(path="/dev/nvme0n1", kind="device"),)

    assert warm_ups([run(1, 10), run(2, 30)], SWEEPS) == ()
    assert warm_ups([run(1, 1, writes=device), run(1, 1, sweep="listed")], SWEEPS) == ()
    assert warm_ups([run(1, 1, writes=device), run(2, 2)], SWEEPS)[0].cell.options == {"iodepth": 2}
