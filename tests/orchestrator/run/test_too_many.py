"""More runs than could be read of their file are not begun."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.plan.prepare import PlanOptions
from orchestrator.run.outcome import Rules
from orchestrator.run.session import plan_experiments, run_experiments
from orchestrator.store import bounds
from parsers.errors import UserError

COUNTS = """\
schema: 1
title: Counts
tool: command
fixed: {command: "echo 1", metrics: {reply: {regex: "([0-9]+)", unit: ms}}}
matrix: {n: VALUES}
repeats: 2
"""


def test_more_runs_than_are_read_of_a_file_are_refused_before_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """350 000 are read: who had measured more found out when nothing could be read."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(bounds, "MOST_RUNS", 4)
    yaml, options = tmp_path / "e.yaml", PlanOptions(output=tmp_path / "r.db", warm_up=False)

    def run(values: str) -> None:
        yaml.write_text(COUNTS.replace("VALUES", values))
        rules = Rules(allow_disturbed=True)
        run_experiments([yaml], options, version="0", argv=(), share_machine=True, rules=rules)

    yaml.write_text(COUNTS.replace("VALUES", "[1, 2, 3]"))
    with pytest.raises(UserError, match="6 runs are more than 4, and no more are read of one result file"):
        plan_experiments([yaml], options)
    with pytest.raises(UserError, match=r"r\.db.* 6 runs are more than 4") as refused:
        run("[1, 2, 3]")
    assert "--only" in refused.value.hint
    assert refused.value.exit_status == 2
    assert not options.output.exists()  # type: ignore[union-attr]

    run("[1, 2]")
    with pytest.raises(UserError, match="2 runs, with the 4 that are there, are more than 4"):
        run("[1, 2, 3]")
    with pytest.raises(UserError, match="2 runs, with the 4 that are there, are more than 4"):
        plan_experiments([yaml], options)
    run("[1, 2]")  # nothing is missing
