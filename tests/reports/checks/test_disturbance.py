"""What stands on pages and terminals of runs that something else disturbed."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.checks.audit import Finding, audit
from reports.compare.comparison import compare
from reports.compare.sides import side
from reports.results.load import Include, _counting, load
from reports.results.model import Results, Run

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


QUIET_RUNS = [(1, 1, 1), (1, 2, 1), (2, 1, 1), (2, 2, 2), (3, 1, 1)]
"""(threads, repeat, attempt)"""


@pytest.mark.parametrize(
    ("include", "runs"),
    [
        ("quiet", QUIET_RUNS),
        ("least", [*QUIET_RUNS, (4, 1, 1), (4, 2, 1)]),
        ("all", [*QUIET_RUNS, (3, 2, 1), (4, 1, 1), (4, 2, 1)]),
    ],
)
def test_a_cell_has_its_quiet_runs_else_the_least_disturbed(
    include: Include, runs: list[tuple[int, int, int]], maker: Any
) -> None:
    results = load([maker.write()], include=include)

    assert [(run.options["threads"], run.record.repeat, run.record.attempt) for run in results.good("stream")] == runs
    assert (results.planned, results.missing, results.failed) == (8, (), ())


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.randoms())
def test_of_disturbed_runs_those_count_that_lost_hardly_more_than_the_least(lost: list[float], random: Random) -> None:
    runs = [
        cast("Run", SimpleNamespace(is_disturbed=True, slot=i, record=SimpleNamespace(status="disturbed", counters={"elapsed_s": 1.0, "foreign_s": share})))
        for i, share in enumerate(lost)
    ]  # fmt: skip
    random.shuffle(runs)
    counting = [run.record.counters["foreign_s"] for run in _counting(runs, "least")]

    assert min(counting) == min(lost)
    assert max(counting) <= 2 * min(lost) + 0.01
    assert len(_counting(runs, "all")) == len(lost)
    assert _counting(runs, "quiet") == []


def test_each_disturbed_run_has_its_reason_and_is_counted_once(results: Results) -> None:
    d1, d2 = found(results, "D1"), found(results, "D2")

    assert (d1.level, d2.level) == ("warn", "info")
    assert dict(d1.cells) == {"threads=4, repeat 1": BUSY, "threads=4, repeat 2": BUSY}
    assert ("threads=2, repeat 2", BUSY) in d2.cells
    stored = {(run.file, run.record.run_id) for run in results.runs if run.record.status == "disturbed"}
    assert d1.own | d2.own == stored
    assert not d1.own & d2.own


def test_a_disturbed_attempt_before_one_that_failed_is_flagged(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for attempt, status, reason in ((1, "disturbed", BUSY), (2, "failed", "exit status 1")):
        maker.add("s", "stream", {}, make.stream_text(9e3, 1), repeat=1, attempt=attempt, status=status, reason=reason, counters=SEEN)  # fmt: skip

    assert [text for _, text in found(load([maker.write()]), "D1").cells] == [BUSY]


def test_a_cell_that_was_never_quiet_gets_no_verdict(results: Results) -> None:
    compared = compare(side("A", "a.db", results), side("B", "b.db", results))
    judged = compared.verdicts[compared.verdicts["cell"] == "threads=4"]

    assert {*judged["verdict"]} <= {"same", "inconclusive"}


def test_what_d1_says_of_a_run_that_waited_for_its_cpus_no_other_check_says_again(make: Any, tmp_path: Path) -> None:
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

    assert {"threads=3", "threads=4"} <= dict(found(load([path]), "G13").cells).keys()


def test_the_same_command_repeats_the_runs_of_a_sweep_that_was_stopped(make: Any, tmp_path: Path) -> None:
    """One attempt is not every attempt."""
    maker = make.Maker(tmp_path / "a.db")
    for threads, attempts in ((1, 1), (2, 3)):
        for attempt in range(1, attempts + 1):
            maker.add("s", "stream", {"threads": threads}, make.stream_text(9e3, threads), axes=("threads",), repeat=1, attempt=attempt, status="disturbed", reason=BUSY, counters=SEEN)  # fmt: skip
    results = load([maker.write()])

    assert [run.options["threads"] for run in results.unrepeated] == [1]
