"""The number that stands for a run, of many runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports import numbers
from reports.numbers import fio
from reports.readings import Reading
from reports.results.load import load
from reports.results.model import Run


def test_of_many_runs_only_what_stands_for_each_is_kept(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report of 100 000 runs took 584 MiB, a fourth of it what the best cell and the axes' effects had read for one number a run."""
    results = load([make.full(tmp_path / "r.db")])
    cells = [[run] for run in results.good("fio")]
    told = numbers.leaders_of(cells)

    def kept(run: Run) -> set[object]:
        return {*(run.parsed._once or ())} if run.parsed else set()

    def stands(run: Run) -> set[object]:
        return {fio.leading, fio.moved, numbers._LeaderOf(run)}

    assert any(kept(run) > stands(run) for (run,) in cells)

    monkeypatch.setattr(numbers, "_MANY", 0)

    assert numbers.leaders_of(cells) == told
    assert all(kept(run) == stands(run) for (run,) in cells)


def test_of_many_runs_what_stands_for_a_cell_is_read_once(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report of 100 000 runs read each cell a second time for the words of that number."""
    results = load([make.full(tmp_path / "r.db")])
    runs = [run for tool in results.tools for run in results.good(tool)]
    before = [(numbers.leader(run), numbers.resolved(run)) for run in runs]
    for run in runs:
        numbers.let_go(run)
    monkeypatch.setattr(Reading, "_all", None)

    first = [i for i, run in enumerate(runs) if run.record.repeat == 1]

    assert len(first) > 3
    assert [(numbers.leader(runs[i]), numbers.resolved(runs[i])) for i in first] == [before[i] for i in first]
