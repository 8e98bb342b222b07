"""Which cells are asked for, and what a comparison becomes with their fresh runs."""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path
from typing import Any

import pytest

from orchestrator.run.rerun import Rerun
from reports.compare import terminal
from reports.compare import text as comparison_text
from reports.compare.comparison import compare
from reports.compare.confirm import Asked, announce, asked, confirmed
from reports.compare.formats import as_json
from reports.compare.model import Ask, Comparison
from reports.compare.section import delta
from reports.compare.sides import levels, side
from reports.results.load import load


def stream(
    make: Any, path: Path, factor: float, *, threads: tuple[int, ...] = (1, 2, 3, 4), slow: int | None = 2, seed: int = 1
) -> Path:  # fmt: skip
    """Five runs at each number of threads, begun in a minute of their own; `factor` scales those at `slow` threads, None: at all."""
    rng, maker = random.Random(seed), make.Maker(path)
    maker.started = f"2026-11-21T09:{seed:02}:02+00:00"
    for n in threads:
        for _ in range(5):
            rate = 5000.0 * n * (factor if slow in (n, None) else 1.0) * rng.gauss(1, 0.003)
            maker.add("scaling", "stream", {"threads": n}, make.stream_text(rate, n), axes=("threads",))
    written: Path = maker.write()
    return written


def compared(a: Path, b: Path, ask: Ask | None = None) -> Comparison:
    return compare(side("A", a.name, load([a])), side("B", b.name, load([b])), ask)


def rerun(wanted: Asked, *, interleaved: bool, not_repeatable: bool = False) -> Rerun:
    every = frozenset(range(len(wanted.pairs)))
    return Rerun(
        pairs=wanted.pairs, interleaved=every if interleaved else frozenset(), not_repeatable=dict.fromkeys(every, "gone") if not_repeatable else {},
        why_only_b="" if interleaved else "the commands of both sides are the same", runs=(), outputs={}, scratch=Path(), seed=1,
    )  # fmt: skip


@pytest.fixture
def first(make: Any, tmp_path: Path) -> Comparison:
    """B is 10 % slower at two threads."""
    return compared(stream(make, tmp_path / "a.db", 1.0), stream(make, tmp_path / "b.db", 0.9, seed=2))


def test_the_cells_of_changed_numbers_are_asked_for_once(first: Comparison, tmp_path: Path) -> None:
    wanted = asked(first)

    single = {key for key in wanted.keys if len(first.behind[key]) == 1}
    assert {first.behind[key][0].a.options["threads"] for key in single} == {2}
    assert len(single) >= 1  # copy, scale, add, triad: one cell
    assert {pair.repeats for pair in wanted.pairs} == {5}
    assert {(p.a.path, p.b.path) for p in wanted.pairs} == {(tmp_path / "a.db", tmp_path / "b.db")}
    assert len({p.a.point_id for p in wanted.pairs}) == len(wanted.pairs)


def test_a_number_of_a_curve_asks_for_all_its_cells(first: Comparison) -> None:
    curves = [key for key, cells in first.behind.items() if len(cells) > 1]

    assert curves
    assert all([cell.a.options["threads"] for cell in first.behind[key]] == [1, 2, 3, 4] for key in curves)


def test_fresh_runs_replace_values_and_verdicts(make: Any, first: Comparison, tmp_path: Path) -> None:
    wanted = asked(first)
    fresh_a = load([stream(make, tmp_path / "fa.db", 1.0, seed=3)])
    fresh_b = load([stream(make, tmp_path / "fb.db", 1.0, seed=4)])  # it was a bad moment

    settled = confirmed(first, wanted, rerun(wanted, interleaved=True), fresh_a, fresh_b, Ask())

    assert settled.counts["regressed"] == 0
    assert len(settled.rows) == len(first.rows)
    for row in settled.rows:
        before = next(r for r in first.rows if r.decision.key == row.decision.key)
        assert (row.b != before.b) == (row.decision.key in wanted.keys)
    assert {s.interleaved for s in settled.samples if s.key in wanted.keys} == {True}
    assert "Measured again, both sides in turns: of" in comparison_text.sentence(settled)


def test_who_has_confirmed_is_not_told_to_confirm(make: Any, first: Comparison, tmp_path: Path) -> None:
    wanted = asked(first)
    fresh_b = load([stream(make, tmp_path / "fb.db", 0.9, seed=4)])
    settled = confirmed(first, wanted, rerun(wanted, interleaved=False), None, fresh_b, Ask())

    assert comparison_text.noise(first).endswith("Give more sessions, or --confirm.")
    assert comparison_text.noise(settled).endswith("Give more sessions, of other days.")


def test_b_alone_stands_against_the_stored_runs_of_a(make: Any, first: Comparison, tmp_path: Path) -> None:
    wanted = asked(first)
    fresh_b = load([stream(make, tmp_path / "fb.db", 0.9, seed=4)])

    settled = confirmed(
        first, wanted, rerun(wanted, interleaved=False), None, fresh_b, Ask(thresholds={"bandwidth": 0.05})
    )

    assert settled.counts["regressed"] >= 1
    for row in settled.rows:
        if row.decision.key in wanted.keys and not row.derived:
            assert row.a == next(r for r in first.rows if r.decision.key == row.decision.key).a
            assert row.decision.tau > 0
    assert "Measured again, B, against A's stored runs: of" in comparison_text.sentence(settled)


def test_cells_that_look_the_same_have_verdicts_of_their_own(make: Any, tmp_path: Path) -> None:
    """One cell of the experiment on two machines of a side: their "disk" is local on one, remote on the other."""

    def written(name: str, rates: dict[str, float]) -> Path:
        maker = make.Maker(tmp_path / f"{name}.db")
        for relation, rate in rates.items():
            for i in range(5):
                text = make.stream_text(rate + i, 1)
                maker.add(
                    "s", "stream", {"ntimes": 3}, text, axes=("place",), place="disk", relation=relation
                )
        path: Path = maker.write()
        return path

    first = compared(
        written("a", {"local": 5000, "remote": 3000}), written("b", {"local": 4000, "remote": 2400})
    )
    wanted = asked(first)
    fresh = load([written("f", {"local": 5000})])

    settled = confirmed(
        first, wanted, rerun(wanted, interleaved=True), load([written("g", {"local": 5000})]), fresh, Ask()
    )

    assert len({row.name for row in first.rows}) == len(first.rows) / 2
    verdicts = {(first.behind[row.decision.key][0].a.relation, row.verdict) for row in settled.rows}
    assert verdicts == {("local", "same"), ("remote", "inconclusive")}


def test_cells_of_which_a_is_not_measured_again_are_told_apart(make: Any, tmp_path: Path) -> None:
    """ "Of 8 numbers these runs stand for A and B", where A's fresh runs were of one cell of two."""

    def written(name: str, factor: float, seed: int, *threads: int) -> Path:
        return stream(make, tmp_path / f"{name}.db", factor, threads=threads, slow=None, seed=seed)

    first = compared(written("a", 1.0, 1, 2, 3), written("b", 0.9, 2, 2, 3))
    wanted = asked(first)
    partly = dataclasses.replace(rerun(wanted, interleaved=False), interleaved=frozenset({0}), why_only_b="b.db: gone")  # fmt: skip
    fresh_a, fresh_b = load([written("fa", 1.0, 3, 2)]), load([written("fb", 0.9, 4, 2, 3)])

    settled = confirmed(first, wanted, partly, fresh_a, fresh_b, Ask())

    assert (settled.again.in_turns, settled.again.only_b) == (4, 4)  # type: ignore[union-attr]
    said = "These runs stand for A and B of 4 numbers; for B of 4 numbers, against stored runs of A."
    assert said in comparison_text.measured_again(settled)
    told = json.loads(as_json(settled))["again"]
    assert (told["way"], told["numbers"], told["in_turns"], told["why_only_b"]) == ("partly in turns", 8, 4, "b.db: gone")  # fmt: skip


def test_an_option_that_was_ignored_need_not_be_one_of_the_fresh_runs(make: Any, tmp_path: Path) -> None:
    """ "--ignore ntimes: no run has this option", behind all fresh runs: those cells had not changed."""

    def written(name: str, ntimes: int, rate: float, seed: int) -> Path:
        rng, maker = random.Random(seed), make.Maker(tmp_path / f"{name}.db")
        maker.started = f"2026-11-21T09:{seed:02}:02+00:00"
        for sweep, options, own in (("told", {"ntimes": ntimes}, 5000.0), ("plain", {}, rate)):
            for _ in range(5):
                maker.add(sweep, "stream", options, make.stream_text(own * rng.gauss(1, 0.001), 1))
        path: Path = maker.write()
        return path

    ask = Ask(ignore=("ntimes",))
    first = compared(written("a", 10, 5000.0, 1), written("b", 20, 4000.0, 2), ask)
    wanted = asked(first)
    assert {pair.a.sweep for pair in wanted.cells} == {"plain"}
    fresh = load([written("fb", 20, 4000.0, 3)]).only(lambda run: run.cell.sweep == "plain")

    settled = confirmed(first, wanted, rerun(wanted, interleaved=False), None, fresh, ask)

    assert {row.verdict for row in settled.rows if row.sweep == "plain"} == {"regressed"}


def test_what_is_lost_is_open_and_said(make: Any, first: Comparison, tmp_path: Path) -> None:
    wanted = asked(first)
    nothing = rerun(wanted, interleaved=False, not_repeatable=True)
    other = load([stream(make, tmp_path / "fb.db", 0.9, threads=(1,), seed=4)])

    settled = confirmed(first, wanted, nothing, None, other, Ask())

    assert settled.counts["regressed"] == 0
    assert any("could not be measured again" in str(row.decision.advice) for row in settled.rows)
    lines = announce(wanted, nothing)
    assert "no cell of them can be measured again" in lines[0]
    assert any(
        line.startswith("cannot be measured again: scaling threads=") and line.endswith(": gone")
        for line in lines
    )


@pytest.mark.parametrize(("repeats", "turns"), [((3, 3), True), ((3, 2), False)])
def test_sides_that_shared_their_sessions_took_turns(
    make: Any, tmp_path: Path, repeats: tuple[int, int], turns: bool
) -> None:
    """Two days, both levels on each: the day's offset is in both, unless one level has more runs of one day."""
    for day in ("mon", "tue"):
        maker = make.Maker(tmp_path / f"{day}.db")
        for threads, n in zip((1, 2), repeats if day == "mon" else (3, 3), strict=True):
            for i in range(n):
                text = make.stream_text(5000.0 + i, threads)
                maker.add("scaling", "stream", {"threads": threads}, text, axes=("threads",))
        maker.write()
    results = load([tmp_path / "mon.db", tmp_path / "tue.db"])

    found = compare(*levels(results, "threads", "1,2"), by="threads")

    assert {sample.interleaved for sample in found.samples} == {turns}
    assert (
        comparison_text.noise(found)
        == "Noise between sessions: none, the sides took turns in each of 2 sessions."
    ) == turns


@pytest.mark.parametrize("turns", [False, True])
def test_the_page_is_of_the_runs_that_its_table_is_of(
    make: Any, first: Comparison, tmp_path: Path, turns: bool
) -> None:
    """Its table had B's fresh runs, and its charts the stored ones that these stand for; no word named the fresh file."""
    wanted = asked(first)
    files = [
        tmp_path / "a.db",
        tmp_path / "b.db",
        stream(make, tmp_path / "fb.db", 1.0, threads=(2,), seed=4),
    ]
    fresh_a = stream(make, tmp_path / "fa.db", 1.0, threads=(2,), seed=3) if turns else None
    files += [fresh_a] if fresh_a else []

    settled = confirmed(
        first, wanted, rerun(wanted, interleaved=turns), load([fresh_a]) if fresh_a else None, load(files[2:3]), Ask()
    )  # fmt: skip

    covered = {(run.file, run.cell.labels()["threads"]) for run in load(files).only(settled.covers).runs}
    stored = {(file, n) for file in ("a.db", "b.db") for n in (1, 3, 4)}
    assert covered == stored | {("fb.db", 2), ("fa.db" if turns else "a.db", 2)}
    (lead,) = [text for text in delta(settled).lead if "measured again" in text]
    assert "B measured again: fb.db: node07, 1 session, 5 runs." in lead
    assert ("A measured again: fa.db" in lead) == turns
    assert "B measured again: fb.db" in terminal.table(settled)
    changed = [row for row in settled.rows if row.decision.key in wanted.keys]
    assert {run.file for row in changed for run in row.pair.b.runs} == {"fb.db"}
    told = json.loads(as_json(settled))
    assert told["again"]["way"] == ("in turns" if turns else "B alone")
    assert told["again"]["asked"] == sum(cell["asked"] for cell in told["cells"]) == sum(told["again"]["counts"].values()) == len(wanted.keys)  # fmt: skip
    assert [path for one in told["again"]["sides"] for path in one["paths"]] == [str(path) for path in (fresh_a, files[2]) if path]  # fmt: skip
    assert [(one["side"], one["files"]) for one in told["again"]["sides"]] == ([("A", ["fa.db"])] if turns else []) + [("B", ["fb.db"])]  # fmt: skip
    assert sum(cell["again"] for cell in told["cells"]) == told["again"]["numbers"] == len(changed)
    assert json.loads(as_json(first))["again"] is None
