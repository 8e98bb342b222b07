"""Latency over the working set: what its title says of levels and pages holds of its rows, and nothing is told of caches that nobody knows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reports.charts import titles
from reports.draw.figure import Figure
from reports.numbers.formulas import Spread
from reports.report import build
from reports.results import load
from tests.reports.claims.test_load_curves import two_nodes

KIB, MIB = 1 << 10, 1 << 20
# two-socket-smt: 32 KiB, 4 MiB and 16 MiB above each core
STEPS = {
    16 * KIB: 1.5,
    24 * KIB: 1.6,
    32 * KIB: 1.8,
    64 * KIB: 4.0,
    2 * MIB: 4.4,
    8 * MIB: 21.0,
    20 * MIB: 60.0,
    64 * MIB: 90.0,
}


TITLE = (
    "One load on huge pages takes 1.6 ns from L1 (working set 24 KiB), 4.4 ns from L2 (2 MiB), 21.2 ns from L3 (8 MiB), 90.9 ns from memory (64 MiB); "
    "small pages cost up to 3.00 × (20 MiB)"
)


def text(size: int, latency: float, *, huge: bool) -> str:
    return (
        f"pinsweep memlat 0.2 (MLC-style; not Intel MLC)\nCommand line parameters: --idle_latency -b{size >> 10} -D0{' -L' * huge}\n\n"
        f"Using buffer size of {size / MIB:.3f}MiB\n"
        f"Each iteration took {latency * 2.6:.1f} base frequency clocks (\t{latency:.1f}\tns)\n"
    )


def ladder(
    make: Any,
    path: Path,
    small: Mapping[int, float],
    huge: Mapping[int, float] | None = None,
    *,
    topology: bool = True,
    repeats: int = 3,
) -> Figure | None:
    maker = two_nodes(make, path)
    if not topology:
        maker.topology = "…"
    for pages, line in ((False, small), (True, huge or {})):
        for size, latency in line.items():
            for wobble in (1.0, 1.01, 1.02)[:repeats]:
                options = {"mode": "idle_latency", "b": f"{size >> 10}k", "L": pages, "D": 0}
                maker.add("ws", "mlc", options, text(size, latency * wobble, huge=pages), axes=("b", "L"), place="local", relation="local")  # fmt: skip
    built = build.build(load.load([maker.write()]))
    return next(
        (f for s in built.sections for b in s.blocks for f in b.figures if f.id.startswith("ladder")), None
    )


def test_a_ladder_says_what_a_load_takes_from_each_level(make: Any, tmp_path: Path) -> None:
    small = {size: latency * (3 if size > 16 * MIB else 1) for size, latency in STEPS.items()}
    found = ladder(make, tmp_path / "r.db", small, STEPS)

    assert found is not None
    assert found.title == TITLE
    table, _ = found.numbers  # and what each axis does
    assert table.columns == ("Working set", "Fits", "small pages, ns", "huge pages, ns", "small ÷ huge")
    pages = [{at: {run.options["L"] for run in runs} for at, runs in row.items()} for row in table.of]
    assert pages == [{2: {False}, 3: {True}, 4: {False, True}}] * len(
        STEPS
    )  # a doubt of one is none of the other
    assert [row[1] for row in table.rows] == ["L1", "L1", "L1", "L2", "L2", "L3", "–", "–"]
    (panel,) = found.panels
    assert [h["text"] for h in panel.wide["datasets"]["heads"]] == [
        "L1",
        "L2 4 MiB",
        "L3 16 MiB",
        "memory",
    ]
    for size, latency in STEPS.items():
        assert any(
            r["x"] == size and r["y"] == pytest.approx(latency, rel=0.05)
            for r in panel.wide["datasets"]["points"]
        )


def test_without_a_topology_no_level_is_named(make: Any, tmp_path: Path) -> None:
    found = ladder(make, tmp_path / "r.db", STEPS, topology=False)

    assert found is not None
    assert found.title == "Latency by working set"
    assert "The caches are not recorded" in found.sub
    assert {row[1] for row in found.numbers[0].rows} == {"–"}
    assert found.key == ()


@pytest.mark.parametrize(
    ("small", "huge", "said"),
    [(STEPS, None, "One load takes 1.6 ns"), ({}, STEPS, "One load on huge pages takes 1.6 ns")],
)
def test_a_title_says_on_which_pages_where_it_matters(
    small: Mapping[int, float], huge: Mapping[int, float] | None, said: str, make: Any, tmp_path: Path
) -> None:
    found = ladder(make, tmp_path / "r.db", small, huge)

    assert found is not None
    assert found.title.startswith(said)


@pytest.mark.parametrize(
    ("repeats", "said"),
    [(1, ""), (2, " Two dots: both repeats."), (3, " Bars: lowest to highest of the repeats.")],
)
def test_a_caption_says_how_repeats_are_drawn(repeats: int, said: str, make: Any, tmp_path: Path) -> None:
    """Two repeats are two dots, and "Bars: lowest to highest of the repeats." stood below them."""
    found = ladder(make, tmp_path / "r.db", STEPS, repeats=repeats)

    assert found is not None
    assert re.findall(" (?:Two dots|Bars): [^.]*\\.", found.sub) == [said] * bool(said)


def test_pages_that_cost_the_same_are_told_apart_all_the_same(make: Any, tmp_path: Path) -> None:
    """Both lines are drawn: what the title says of one of them is not told as of both."""
    found = ladder(make, tmp_path / "r.db", STEPS, STEPS)

    assert found is not None
    assert "small pages" not in found.title
    assert found.title.startswith("One load on huge pages takes 1.6 ns from L1 (working set 24 KiB), ")


def test_few_sizes_are_no_ladder(make: Any, tmp_path: Path) -> None:
    assert ladder(make, tmp_path / "r.db", dict([*STEPS.items()][:3])) is None


def test_a_size_between_two_levels_is_told_of_neither(make: Any, tmp_path: Path) -> None:
    """32 KiB fill L1 wholly, and of 20 MiB much is still in 16 MiB: their latencies stand in the table and not in the title."""
    found = ladder(make, tmp_path / "r.db", STEPS)

    assert found is not None
    assert "32 KiB" not in found.title
    assert "20 MiB" not in found.title


def test_what_the_repeats_do_not_tell_apart_is_not_said() -> None:
    near = Spread(5.05, 5.0, 5.2, 3)
    steady, same, apart, unsteady = (Spread(2.0, 2.0, 2.02, 3), Spread(2.05, 1.99, 2.1, 3), Spread(5.0, 4.9, 5.1, 3), Spread(9.0, 4.0, 14.0, 3))  # fmt: skip

    assert titles.ladder([("L1", KIB, steady), ("L2", MIB, same)]) == ""
    assert titles.ladder([("L1", KIB, steady), ("L2", MIB, same), ("memory", 64 * MIB, apart)]) == "One load takes 2 to 2.05 ns from L1 or L2 (working set 1 KiB, 1 MiB), 5 ns from memory (64 MiB)"  # fmt: skip
    assert titles.ladder([("L2", MIB, steady), ("L3", 16 * MIB, apart), ("memory", 64 * MIB, near)]) == "One load takes 2 ns from L2 (working set 1 MiB), 5 to 5.05 ns from L3 or memory (16 MiB, 64 MiB)"  # fmt: skip
    assert "memory" not in titles.ladder(
        [("L1", KIB, steady), ("L2", MIB, apart), ("memory", 64 * MIB, unsteady)]
    )
    assert titles.ladder([], [(MIB, same, steady)]) == ""
    assert (
        titles.ladder([], [(MIB, steady, apart)]) == ""
    )  # faster with small pages: nothing that small pages cost
    assert (
        titles.ladder([], [(MIB, Spread(6.001, 6.0, 6.01, 3), steady)])
        == "Small pages cost up to 3.00 × (1 MiB)"
    )


def test_of_caches_that_are_known_it_is_the_core_that_is_not(make: Any, tmp_path: Path) -> None:
    """Runs without a place: the page drew the machine with its caches, and called these not recorded."""
    maker = two_nodes(make, tmp_path / "r.db")
    for size, latency in STEPS.items():
        options = {"mode": "idle_latency", "b": f"{size >> 10}k"}
        maker.add("ladder", "mlc", options, text(size, latency, huge=False), axes=("b",))
    built = build.build(load.load([maker.write()]))

    (found,) = [f for s in built.sections for b in s.blocks for f in b.figures if f.id.startswith("ladder")]
    assert "On which core it ran is not recorded" in found.sub


def test_a_ladder_leaves_room_in_the_overview_for_the_others(make: Any, tmp_path: Path) -> None:
    """Of 16 buffers and one time of messages those were 14 rows, each with a name that was cut to the same."""
    maker = two_nodes(make, tmp_path / "r.db")
    for pages in (False, True):
        for size, latency in STEPS.items():
            options = {"mode": "idle_latency", "b": f"{size >> 10}k", "L": pages, "D": 0}
            maker.add("ws", "mlc", options, text(size, latency, huge=pages), axes=("b", "L"), place="local", relation="local")  # fmt: skip
    maker.add("p", "imb", {"benchmark": "PingPong"}, make.imb_text({0: 0.19, 64: 0.2}))
    built = build.build(load.load([maker.write()]))
    (found,) = [f for s in built.sections for b in s.blocks for f in b.figures if f.id == "overview"]

    names = [row["name"] for row in found.panels[0].wide["datasets"]["rows"]]
    assert len(names) == 14
    assert names[-1].startswith("MPI 0 B")
    assert "Idle latency, small pages, buffer 16 KiB" in names
    assert "Idle latency: local." in found.sub
    assert (
        "Dot: the median of blocks or mean." in found.sub
    )  # memlat's and IMB's: its idle latency stood as a mean
    assert {row[5]: row[2] for row in found.numbers[0].rows} == {
        "pinsweep memlat, not Intel MLC": "median of blocks",
        "Intel MPI Benchmarks 2019 Update 6": "mean",
    }
