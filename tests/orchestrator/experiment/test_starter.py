"""`pinsweep init`: for tools that somebody has written a sweep for, and for those of tomorrow."""

from __future__ import annotations

import pytest

from orchestrator.experiment import starter
from orchestrator.experiment.load import parse_experiment
from orchestrator.tools import get_tool, tool_names
from parsers import parse_text

WITHOUT_NEEDS = [
    name for name in tool_names() if not any(option.required for option in get_tool(name).options().values())
]


@pytest.mark.parametrize("tool", tool_names())
def test_a_written_starter_loads(tool: str) -> None:
    (sweep,) = parse_experiment(starter.starter(tool), "mine.yaml").sweeps

    assert sweep.tool == tool
    assert "place" in {*sweep.fixed, *sweep.matrix}  # a number without one is of wherever the kernel likes


@pytest.mark.parametrize("tool", WITHOUT_NEEDS)
def test_a_tool_that_needs_no_option_gets_an_experiment_that_loads(tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(get_tool(tool), "STARTER", "")

    (sweep,) = parse_experiment(starter.starter(tool), "mine.yaml").sweeps

    assert (sweep.tool, dict(sweep.fixed), dict(sweep.matrix)) == (tool, {}, {})


def test_options_that_are_needed_stand_there_with_a_value_to_begin_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(get_tool("poke"), "STARTER", "")

    (sweep,) = parse_experiment(starter.starter("poke"), "mine.yaml").sweeps

    assert sweep.fixed == {"target": "null"}


def test_the_starter_of_a_command_reads_dd_of_any_speed() -> None:
    """dd tells kB/s, MB/s or GB/s, as it comes: slow runs lacked a bandwidth in GB/s, and the median was of the fast ones."""
    (sweep,) = parse_experiment(starter.starter("command"), "mine.yaml").sweeps
    slow = "40960 bytes (41 kB, 40 KiB) copied, 9.8e-05 s, 418 MB/s"
    fast = "655360000 bytes (655 MB, 625 MiB) copied, 0.0542 s, 12.1 GB/s"

    times = [list(parse_text("command", text, sweep.fixed).measurements.rows) for text in (slow, fast)]

    assert times == [[(0, "time", "ns", 98_000.0)], [(0, "time", "ns", 54_200_000.0)]]
