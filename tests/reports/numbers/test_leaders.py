"""The number that stands for a run, of many runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports import numbers
from reports.numbers import fio
from reports.results.load import load


def test_of_many_runs_only_what_stands_for_each_is_kept(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report of 100 000 runs took 584 MiB, a fourth of it what the best cell and the axes' effects had read for one number a run."""
    results = load([make.full(tmp_path / "r.db")])
    cells = [[run] for run in results.good("fio")]
    told = numbers.leaders_of(cells)
    stands = {fio.leading, fio.moved}
    assert any(run.parsed and {*(run.parsed._once or ())} > stands for (run,) in cells)

    monkeypatch.setattr(numbers, "_MANY", 0)

    assert numbers.leaders_of(cells) == told
    assert all(run.parsed and {*(run.parsed._once or ())} == stands for (run,) in cells)
