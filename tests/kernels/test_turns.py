"""The arithmetic of benchmarks/turns.py, and who else used the CPUs; never how fast anything is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.programs import ROOT, program


@pytest.fixture(scope="module")
def turns() -> ModuleType:
    return program("benchmarks/turns.py")


def sample(turns: ModuleType, side: str, turn: int, value: float, foreign: float = 0.0) -> Any:
    return turns.Sample(side=side, turn=turn, figures={"x": value}, wall_s=1.0, cpu_s=1.0, foreign=foreign)


def test_the_ratio_is_that_of_each_turn(turns: ModuleType) -> None:
    """Both sides three times as slow in the second turn: their medians differ, their ratio does not."""
    taken = [
        *(sample(turns, "a", t, v) for t, v in enumerate([10.0, 30.0, 12.0])),
        *(sample(turns, "b", t, v) for t, v in enumerate([20.0, 60.0, 24.0])),
    ]

    (row,) = turns.compare(taken, "a", "b")

    assert (row.ratio, row.ratio_low, row.ratio_high) == (0.5, 0.5, 0.5)
    assert (row.ours_median, row.theirs_median, row.turns) == (12.0, 24.0, 3)


def test_a_turn_in_which_others_worked_is_counted(turns: ModuleType) -> None:
    taken = [
        sample(turns, "a", 0, 1.0),
        sample(turns, "b", 0, 1.0, foreign=0.02),
        sample(turns, "a", 1, 1.0, foreign=0.005),
        sample(turns, "b", 1, 1.0),
    ]

    (row,) = turns.compare(taken, "a", "b")

    assert (row.disturbed, row.turns) == (1, 2)


def test_sides_without_a_figure_in_common_give_no_row(turns: ModuleType) -> None:
    assert turns.compare([sample(turns, "a", 0, 1.0)], "a", "b") == []


def test_spread_is_the_distance_of_the_quartiles_through_the_median(turns: ModuleType) -> None:
    assert turns.spread([8.0, 9.0, 10.0, 11.0, 12.0]) == pytest.approx(0.2)
    assert turns.spread([3.0]) == 0


def test_the_ratio_of_the_spreads_is_in_the_table(turns: ModuleType) -> None:
    values = {"a": [8.0, 9.0, 10.0, 11.0, 12.0], "b": [9.0, 9.5, 10.0, 10.5, 11.0], "c": [10.0] * 5}
    taken = [sample(turns, name, t, v) for name, many in values.items() for t, v in enumerate(many)]

    (row,) = turns.compare(taken, "a", "b")
    (constant,) = turns.compare(taken, "a", "c")

    assert row.spread_ratio == pytest.approx(2)
    assert "| 10 (20.0%) | 10 (10.0%) |" in turns.table([row])
    assert "| 2.00 | 0 of 5 |" in turns.table([row])
    assert constant.spread_ratio is None


def test_programs_really_take_turns(turns: ModuleType, tmp_path: Path) -> None:
    log = tmp_path / "log"

    def side(name: str) -> Any:
        argv = ["sh", "-c", f"echo {name} >> {log}; echo 4"]
        return turns.Side(name=name, argv=argv, read=lambda text, used: {"x": float(text)})

    rows, samples = turns.take_turns([(side("a"), side("b"))], 4)

    words = log.read_text().split()
    assert [sorted(words[i : i + 2]) for i in range(0, 8, 2)] == [["a", "b"]] * 4
    assert [row.ratio for row in rows] == [1.0]
    assert all(0 <= s.foreign <= 1 for s in samples)


def test_a_program_that_fails_is_left_out_and_named(turns: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    def side(name: str, command: str) -> Any:
        return turns.Side(name=name, argv=["sh", "-c", command], read=lambda *_: {"x": 1.0})

    rows, _ = turns.take_turns([(side("a", "true"), side("b", "echo it broke >&2; exit 3"))], 2)

    assert rows == []
    assert "left out: b: exit status 3: it broke" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["kernels.py", "overhead.py"])
def test_a_benchmark_tells_how_it_is_used(name: str) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / name), "--help"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert f"python benchmarks/{name} --" in done.stdout
