"""What stands on pages and terminals of runs that something else disturbed."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from reports.checks.audit import Finding, audit, counted
from reports.compare.comparison import compare
from reports.compare.sides import side
from reports.results.load import load
from reports.results.model import Results

BUSY = "other processes took 14 % of CPU 3 (0.42 s of 3.0 s)"
QUIET = {"elapsed_s": 3.0, "foreign_s": 0.001, "reasons": []}
SEEN = {"elapsed_s": 3.0, "foreign_s": 0.42, "reasons": [{"id": "foreign", "text": BUSY}]}


@pytest.fixture
def maker(make: Any, tmp_path: Path) -> Any:
    """STREAM with 1 to 4 threads: at 2 one repeat was repeated well, at 3 one stayed disturbed, at 4 all did."""
    maker = make.Maker(tmp_path / "a.db")

    def add(threads: int, rate: float, repeat: int, attempt: int, bad: bool) -> None:
        status, reason, counters = ("disturbed", BUSY, SEEN) if bad else ("ok", "", QUIET)
        maker.add(
            "scaling", "stream", {"threads": threads}, make.stream_text(rate, threads), axes=("threads",), place="local",
            relation="local", repeat=repeat, attempt=attempt, status=status, reason=reason, counters=counters, repeats=2,
        )  # fmt: skip

    for repeat in (1, 2):
        add(1, 9e3 + repeat, repeat, 1, False)
        add(2, 17e3 + repeat, repeat, 1, repeat == 2)
        add(3, 22e3 + repeat, repeat, 1, repeat == 2)
        for attempt in (1, 2, 3):
            add(4, 90e3 + repeat, repeat, attempt, True)
    add(2, 17.5e3, 2, 2, False)
    for attempt in (2, 3):
        add(3, 5e3, 2, attempt, True)
    return maker


@pytest.fixture
def results(maker: Any) -> Results:
    return load([maker.write()])


def found(results: Results, key: str) -> Finding:
    (finding,) = [f for f in audit(results) if f.id == key]
    return finding


def test_only_quiet_runs_count(results: Results) -> None:
    counted = [
        (run.options["threads"], run.record.repeat, run.record.attempt) for run in results.good("stream")
    ]
    assert counted == [(1, 1, 1), (1, 2, 1), (2, 1, 1), (2, 2, 2), (3, 1, 1)]
    assert (results.planned, results.missing, results.failed) == (8, (), ())
    assert set(results.tidy("stream")["threads"]) == {1, 2, 3}


def test_each_disturbed_repeat_is_told_with_its_reason_and_what_it_found(results: Results) -> None:
    d1 = found(results, "D1")
    said = f"every attempt: {BUSY}"
    assert d1.level == "warn"
    told = dict(d1.cells)
    assert told.keys() == {"threads=4, repeat 1", "threads=4, repeat 2"}
    assert all(text.startswith(f"{said}; it found triad 90.0 GB/s") for text in told.values())
    assert found(results, "D2").cells == (
        ("threads=3, repeat 2", said),
        ("threads=2, repeat 2", f"attempt 1: {BUSY}"),
    )


def test_each_disturbed_run_is_counted_once(results: Results) -> None:
    """Earlier attempts at a repeat that never was quiet are in no number either."""
    own = [found(results, key).own for key in ("D1", "D2")]
    stored = {(run.file, run.record.run_id) for run in results.runs if run.record.status == "disturbed"}
    assert own[0] | own[1] == stored
    assert not own[0] & own[1]
    assert counted(results) == f"5 runs with numbers, {len(stored)} disturbed runs"


def test_a_disturbed_attempt_before_one_that_failed_is_told(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for attempt, status, reason in ((1, "disturbed", BUSY), (2, "failed", "exit status 1")):
        maker.add(
            "s", "stream", {}, "", repeat=1, attempt=attempt, status=status, reason=reason, counters=SEEN
        )
    (line,) = found(load([maker.write()]), "D2").cells
    assert line[1] == f"attempt 1: {BUSY}"


def test_a_cell_that_was_never_quiet_gets_no_verdict(results: Results) -> None:
    compared = compare(side("A", "a.db", results), side("B", "b.db", results))
    assert {*compared.verdicts["cell"]} - {""} == {"threads=1", "threads=2", "threads=3"}
    assert (compared.a.runs["fate"] == "left out").sum() == 3


def test_what_d1_says_of_a_run_that_waited_for_its_cpus_no_other_check_says_again(
    make: Any, tmp_path: Path
) -> None:
    for name, counters, checks in (("unwatched", {}, {"G12"}), ("seen", SEEN, {"D1"})):
        maker = make.Maker(tmp_path / f"{name}.db")
        usage = {"user_s": 1.0, "system_s": 0.0, "involuntary_switches": 900.0}
        maker.add(
            "s",
            "stream",
            {"threads": 1},
            make.stream_text(9e3, 1),
            usage=usage,
            wall_s=3.0,
            counters=counters,
        )
        assert {f.id for f in audit(load([maker.write()]))} & {"D1", "G12"} == checks


def test_a_cell_without_a_quiet_run_has_not_settled(maker: Any) -> None:
    path = maker.write()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE point SET most_repeats = 15")

    said = dict(found(load([path]), "G13").cells)

    assert said["threads=4"] == "2 repeats, all disturbed"
    assert "are needed" in said["threads=3"]


def test_of_a_sweep_that_was_stopped_before_the_repeats_it_says_that(make: Any, tmp_path: Path) -> None:
    """One attempt is not every attempt."""
    maker = make.Maker(tmp_path / "a.db")
    for threads in (1, 2):
        for attempt in range(1, 4 if threads == 2 else 2):
            maker.add("s", "stream", {"threads": threads}, make.stream_text(9e3, threads), axes=("threads",), repeat=1, attempt=attempt, status="disturbed", reason=BUSY, counters=SEEN)  # fmt: skip
    path = maker.write()
    results = load([path])

    of_two = [f for f in audit(results) if f.id == "D1"]
    told = {cell: text for f in of_two for cell, text in f.cells}
    assert [f.todo.split(":")[0] for f in of_two if f.cells[0][0] == "threads=1, repeat 1"] == [
        "unless it still runs, start the same `pinsweep run` again"
    ]
    assert len(of_two) == 2  # the advice differs
    assert told["threads=1, repeat 1"].startswith(f"disturbed, and not repeated yet: {BUSY}")
    assert told["threads=2, repeat 1"].startswith(f"every attempt: {BUSY}")
