"""Which cells are asked for, and what a comparison becomes with their fresh runs."""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path
from typing import Any

import pytest

from orchestrator.run.rerun import Rerun
from reports.compare.comparison import Ask, Comparison, compare
from reports.compare.confirm import Asked, asked, confirmed
from reports.compare.formats import as_json
from reports.compare.sides import levels
from reports.results.load import load
from tests.reports.compare.conftest import of, rows


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
    return compare(of("A", a), of("B", b), ask)


def rerun(wanted: Asked, *, interleaved: bool, not_repeatable: bool = False) -> Rerun:
    every = frozenset(range(len(wanted.cells)))
    return Rerun(
        pairs=wanted.cells, interleaved=every if interleaved else frozenset(), not_repeatable=dict.fromkeys(every, "gone") if not_repeatable else {},
        why_only_b="" if interleaved else "the commands of both sides are the same", runs=(), outputs={}, scratch=Path(), seed=1,
    )  # fmt: skip


@pytest.fixture
def first(make: Any, tmp_path: Path) -> Comparison:
    """B is 10 % slower at two threads."""
    return compared(stream(make, tmp_path / "a.db", 1.0), stream(make, tmp_path / "b.db", 0.9, seed=2))


def test_the_cells_of_changed_numbers_are_wanted_once(first: Comparison, tmp_path: Path) -> None:
    wanted = asked(first)

    single = [row for row in rows(first) if row["key"] in wanted.keys and len(row["pairs"]) == 1]
    assert {row["cell"] for row in single} == {"threads=2"}
    assert {cell.repeats for cell in wanted.cells} == {5}
    assert {(cell.a.path, cell.b.path) for cell in wanted.cells} == {(tmp_path / "a.db", tmp_path / "b.db")}
    assert len({cell.a.point_id for cell in wanted.cells}) == len(wanted.cells)
    curves = [row for row in rows(first) if row["name"].derived]
    assert curves
    assert all(len(row["pairs"]) == 4 for row in curves)


def test_fresh_runs_replace_values_and_verdicts(make: Any, first: Comparison, tmp_path: Path) -> None:
    wanted = asked(first)
    fresh_a = load([stream(make, tmp_path / "fa.db", 1.0, seed=3)])
    fresh_b = load([stream(make, tmp_path / "fb.db", 1.0, seed=4)])  # it was a bad moment

    settled = confirmed(first, wanted, rerun(wanted, interleaved=True), fresh_a, fresh_b, Ask())

    assert settled.counts["regressed"] == 0
    before = {row["key"]: row["b"] for row in rows(first)}
    assert {row["key"] for row in rows(settled) if row["b"] != before[row["key"]]} == wanted.keys
    assert {s.interleaved for s in settled.samples if s.key in wanted.keys} == {True}
    assert settled.again is not None
    assert (settled.again.way, len(settled.again.sides)) == ("in turns", 2)


def test_b_alone_is_compared_with_the_stored_runs_of_a(make: Any, first: Comparison, tmp_path: Path) -> None:
    wanted = asked(first)
    fresh_b = load([stream(make, tmp_path / "fb.db", 0.9, seed=4)])

    settled = confirmed(
        first, wanted, rerun(wanted, interleaved=False), None, fresh_b, Ask(thresholds={"bandwidth": 0.05})
    )

    assert settled.counts["regressed"] >= 1
    stored = {row["key"]: row["a"] for row in rows(first)}
    fresh = [row for row in rows(settled) if row["key"] in wanted.keys and not row["name"].derived]
    assert all(row["a"] == stored[row["key"]] and row["tau"] > 0 and row["again"] for row in fresh)


def test_cells_of_one_name_have_separate_verdicts(make: Any, tmp_path: Path) -> None:
    """One cell of the experiment on two machines of a side: their "disk" is local on one, remote on the other."""

    def written(name: str, rates: dict[str, float]) -> Path:
        maker = make.Maker(tmp_path / f"{name}.db")
        for relation, rate in rates.items():
            for i in range(5):
                text = make.stream_text(rate + i, 1)
                maker.add("s", "stream", {"ntimes": 3}, text, axes=("place",), place="disk", relation=relation)
        path: Path = maker.write()
        return path

    first = compared(written("a", {"local": 5000, "remote": 3000}), written("b", {"local": 4000, "remote": 2400}))
    wanted = asked(first)
    fresh = [load([written(name, {"local": 5000})]) for name in ("g", "f")]

    settled = confirmed(first, wanted, rerun(wanted, interleaved=True), fresh[0], fresh[1], Ask())

    relation = {pair: key[0][1] for pair, key in first.pairs["key"].items()}
    verdicts = {(relation[row["pairs"][0]], row["verdict"]) for row in rows(settled)}
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
    told = json.loads(as_json(settled))["again"]
    assert (told["way"], told["numbers"], told["in_turns"], told["why_only_b"]) == ("partly in turns", 8, 4, "b.db: gone")  # fmt: skip


def test_what_is_lost_is_open_and_said(make: Any, first: Comparison, tmp_path: Path) -> None:
    wanted = asked(first)
    nothing = rerun(wanted, interleaved=False, not_repeatable=True)
    other = load([stream(make, tmp_path / "fb.db", 0.9, threads=(1,), seed=4)])

    settled = confirmed(first, wanted, nothing, None, other, Ask())

    assert settled.counts["regressed"] == 0
    changed = [row for row in rows(settled) if row["key"] in wanted.keys]
    assert {row["verdict"] for row in changed} == {"inconclusive"}
    assert settled.again is not None
    assert {(sweep, reason) for sweep, _, reason in settled.again.not_repeatable} == {("scaling", "gone")}


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


@pytest.mark.parametrize("turns", [False, True])
def test_json_has_what_was_measured_again(make: Any, first: Comparison, tmp_path: Path, turns: bool) -> None:
    wanted = asked(first)
    fresh_b = stream(make, tmp_path / "fb.db", 1.0, threads=(2,), seed=4)
    fresh_a = stream(make, tmp_path / "fa.db", 1.0, threads=(2,), seed=3)

    settled = confirmed(
        first,
        wanted,
        rerun(wanted, interleaved=turns),
        load([fresh_a]) if turns else None,
        load([fresh_b]),
        Ask(),
    )

    told = json.loads(as_json(settled))
    again = told["again"]
    assert again["way"] == ("in turns" if turns else "B alone")
    assert (
        again["asked"]
        == sum(cell["asked"] for cell in told["cells"])
        == sum(again["counts"].values())
        == len(wanted.keys)
    )
    assert [path for one in again["sides"] for path in one["paths"]] == [
        str(path) for path in ([fresh_a] if turns else []) + [fresh_b]
    ]
    assert sum(cell["again"] for cell in told["cells"]) == again["numbers"]
    assert json.loads(as_json(first))["again"] is None
