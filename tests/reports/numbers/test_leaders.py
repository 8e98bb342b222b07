"""The number that stands for a run, of many runs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from reports import numbers
from reports.numbers import fio
from reports.readings import Reading
from reports.readings.fio import Job
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
        return {fio.leading, fio.moved, fio.mixed, numbers._LeaderOf(run)}

    assert any(kept(run) > stands(run) - {fio.mixed} for (run,) in cells)

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


@pytest.mark.parametrize(
    ("printed", "moved", "size"),
    [
        ({"4k"}, 4116.5, 4096),  # 1024 I/Os under way at the end: bytes, and no I/Os
        ({"4k"}, 32768.0, 32768.0),
        ({"4k,64k"}, 4116.5, 4116.5),
        ({"4k", "64k"}, 33000.0, 33000.0),
        ({""}, 4116.5, 4116.5),
    ],
)
def test_an_io_has_the_block_size_that_its_jobs_print(printed: set[str], moved: float, size: float) -> None:
    jobs = [cast("Job", SimpleNamespace(options={"bs": bs} if bs else {})) for bs in printed]

    assert fio._block(jobs, moved) == size
