"""How much is done for a plan of many cells: what cells have in common is worked out once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from orchestrator.model import PlannedRun
from orchestrator.plan import plan as planning
from orchestrator.plan.prepare import PlanOptions, prepare

CELLS = 60
REPEATS = 4

EXPERIMENT = f"""\
schema: 1
title: many
tool: command
repeats: {REPEATS}
fixed:
  command: "true {{n}}"
  metrics: {{one: {{regex: "(.*)", unit: "1"}}}}
matrix:
  place:
    - {{name: here, cpus: numa_node 0, memory: local}}
    - {{name: there, cpus: numa_node 1, memory: local}}
  n: {list(range(CELLS // 2))}
"""


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What the planner asks for, by the name of the function; the functions do what they do."""
    counted: Counter[str] = Counter()

    def watch(name: str) -> None:
        real = getattr(planning, name)

        def counting(*args: object, **named: object) -> object:
            counted[name] += 1
            return real(*args, **named)

        monkeypatch.setattr(planning, name, counting)

    for name in ("resolve", "expand_each", "_runs_of"):
        watch(name)
    return counted


def test_a_place_is_looked_for_once_and_a_cell_estimated_once(tmp_path: Path, calls: Counter[str]) -> None:
    path = tmp_path / "many.yaml"
    path.write_text(EXPERIMENT)

    plan = prepare([path], PlanOptions(topology="pack:2 numa:1 core:4 pu:1", scratch=tmp_path), seed=1).plan

    assert len(plan.runs) == CELLS * REPEATS
    assert calls == {"resolve": 2, "expand_each": 2, "_runs_of": CELLS}
    assert {run.repeat for run in plan.runs} == set(range(1, REPEATS + 1))
    of_first = [run for run in plan.runs if run.cell is plan.cells[0]]
    assert [_but_for_repeat(run) for run in of_first] == [_but_for_repeat(of_first[0])] * REPEATS


def _but_for_repeat(run: PlannedRun) -> tuple[object, ...]:
    return run.argv, run.placement, run.timeout_s, run.estimate_s, run.program
