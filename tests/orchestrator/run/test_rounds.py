"""Rounds of cells with `repeats: auto`: one count, and one time left, over all of them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

import pytest

from orchestrator.plan.prepare import PlanOptions
from orchestrator.run.execute import Event, Started
from orchestrator.run.outcome import Rules
from orchestrator.run.session import run_experiments
from parsers.measurement import Parsed

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


def replies(_: str, repeats: Sequence[Parsed]) -> list[float]:
    return [statistics.fmean(row.value for row in one.measured()) for one in repeats]


def test_the_count_and_the_time_left_go_on_from_round_to_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A round that began anew would forget what the cells took, and say what the plan does: an hour for an echo."""
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
