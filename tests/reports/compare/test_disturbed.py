"""Runs that something else disturbed, where that was allowed: what the machine's own counters saw is no regression."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reports.compare.comparison import compare
from reports.compare.formats import render
from reports.compare.model import Comparison
from reports.compare.sides import levels, side
from reports.compare.terminal import table
from reports.results.load import load

WHO = {"reasons": [{"id": "foreign", "text": "other processes took 40 % of CPU 3"}]}

Compared = Callable[..., Comparison]


@pytest.fixture
def compared(make: Any, tmp_path: Path) -> Compared:
    """Compare two files of some sessions of three runs, B half as fast; `a`, `b`: how many of the three something disturbed."""

    def of(a: int, b: int, sessions: int = 1, threads: tuple[int, ...] = (1,)) -> Comparison:
        sides = []
        for name, disturbed, rate in (("a", a, 20e3), ("b", b, 10e3)):
            files = []
            for i in range(sessions):
                maker = make.Maker(tmp_path / f"{name}{i}.db")
                maker.facts = {**make.FACTS, "boot_id": f"{name}{i}"}
                maker.started = f"2026-11-{(10 if name == 'a' else 20) + i}T09:15:02+00:00"
                for run in range(3):
                    counters = WHO if run < disturbed else {}
                    for n in threads:
                        text = make.stream_text(rate * (1 + run / 1e3), n)
                        maker.add("s", "stream", {"threads": n}, text, axes=("threads",), counters=counters)
                files.append(maker.write())
            sides.append(side(name.upper(), f"{name}.db", load(files)))
        return compare(*sides)

    return of


@pytest.mark.parametrize(("a", "b", "sides"), [(3, 3, ["A", "B"]), (0, 3, ["B"]), (3, 2, ["A"])])
def test_a_side_whose_every_run_was_disturbed_makes_no_regression(
    compared: Compared, a: int, b: int, sides: list[str]
) -> None:
    """ "10 of 20 numbers regressed … Worst: +1 760 %" and exit status 1 of `--fail-on regressed`, D1 on every row."""
    found = compared(a, b)

    assert {row.verdict for row in found.rows} == {"inconclusive"}
    assert not found.fails({"regressed"})
    who = " and ".join(sides)
    text = " ".join(table(found).split())
    which, each = (who, "") if len(sides) == 1 else ("both", " a side")
    few = f"in fewer than 5 sessions{each}"
    assert f"4 are inconclusive. Every run of {who} was disturbed, {few}, which decides nothing." in text
    assert f"every run of {who} was disturbed: measure {which} on a quiet machine, or in 5 sessions{each} (4)" in text  # fmt: skip
    assert f"Every run of {who} was disturbed" in render(found, "markdown")
    answer = json.loads(render(found, "json"))
    assert [cell["disturbed"] for cell in answer["cells"]] == [sides] * 4


@pytest.mark.parametrize(("disturbed", "sessions"), [(2, 1), (3, 5)])
def test_a_quiet_run_a_side_or_five_sessions_decide(
    compared: Compared, disturbed: int, sessions: int
) -> None:
    found = compared(disturbed, disturbed, sessions=sessions)

    assert {row.verdict for row in found.rows} == {"regressed"}
    assert "was disturbed" not in table(found)


def test_sides_that_took_turns_had_the_same_disturbance(compared: Compared, tmp_path: Path) -> None:
    compared(3, 3, threads=(1, 2))
    results = load([tmp_path / "a0.db"])

    found = compare(*levels(results, "threads", "1,2"), by="threads")
    assert {row.verdict for row in found.rows} == {"same"}
