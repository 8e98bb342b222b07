"""Matrices between nodes: all columns are seen, neighbours stand together, noise has no colour, and no median is of two populations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reports.charts.mlc import chapter
from reports.draw import figure as drawing
from reports.draw.figure import Figure, Table
from reports.report import build
from reports.results import load

HWLOC = Path(__file__).parents[2] / "fixtures" / "hwloc"

Far = Callable[[int, int], float]


def matrix(
    make: Any,
    path: Path,
    nodes: int,
    latency: Far,
    slit: Far | None = None,
    *,
    wobble: float = 0.0,
    repeats: int = 3,
) -> Path:
    maker = make.Maker(path)
    maker.topology = "…"
    if slit:
        distances = [[a, b, slit(a, b)] for a in range(nodes) for b in range(nodes)]
        maker.facts = {**maker.facts, "numa_distances": distances}
    for r in range(repeats):
        values = [[latency(a, b) * (1 + wobble * r) for b in range(nodes)] for a in range(nodes)]
        maker.add("m", "mlc", {"mode": "latency_matrix"}, make.matrix_text(values))
    written: Path = maker.write()
    return written


def figure(path: Path) -> Figure:
    built = build.build(load.load([path]))
    (found,) = [
        f for s in built.sections for b in s.blocks for f in b.figures if f.id.startswith("latency_matrix")
    ]
    return found


def near(a: int, b: int) -> float:
    """Two packages: even nodes are in one, odd ones in the other."""
    return 96.0 if a == b else 117.0 if a % 2 == b % 2 else 200.0


def slit(a: int, b: int) -> float:
    return 10 if a == b else 12 if a % 2 == b % 2 else 32


@pytest.mark.parametrize("nodes", [1, 2, 4, 5, 8, 16])
def test_every_column_is_seen_with_its_number(make: Any, tmp_path: Path, nodes: int) -> None:
    """The marks that are explained are those that are there: a matrix of one node has neither shade nor outline."""
    found = figure(matrix(make, tmp_path / "r.db", nodes, near))
    (table,) = found.tables

    assert found.marks == (
        "Stronger shade: slower. Outlined: a node and its own memory." if nodes > 1 else ""
    )
    assert found.half == (nodes < 5)  # a wide table has the page's whole width
    assert len(table.columns) == nodes + 1
    assert all(len(text) <= 5 for row in table.rows for text in row) or nodes < 5
    assert "from node ↓ to memory of node →" in table.caption
    assert table.columns[0] == "node"
    assert len(table.marked) == (nodes if nodes > 1 else 0)


def test_nodes_stand_by_their_distance(make: Any, tmp_path: Path) -> None:
    found = figure(matrix(make, tmp_path / "r.db", 8, near, slit))
    (table,) = found.tables

    assert found.marks.startswith("Near nodes stand together. Stronger shade")
    assert table.columns[1:] == ("0", "2", "4", "6", "1", "3", "5", "7")
    assert [row[0] for row in table.rows] == list(table.columns[1:])
    assert table.cuts == {4}
    assert [table.rows[i][i + 1] for i in range(8)] == ["96.0"] * 8
    assert table.marked == {(i, i) for i in range(8)}


def test_where_nothing_tells_nodes_stand_by_their_number(make: Any, tmp_path: Path) -> None:
    (table,) = figure(matrix(make, tmp_path / "r.db", 8, near)).tables

    assert table.columns[1:] == tuple(map(str, range(8)))
    assert table.cuts == frozenset()


def test_of_wide_tables_the_ranges_are_in_the_closed_one(make: Any, tmp_path: Path) -> None:
    found = figure(matrix(make, tmp_path / "r.db", 8, near, wobble=0.1))
    (table,), (full,) = found.tables, found.numbers

    assert table.rows[0][1] == "≈106"
    assert full.rows[0][1] == "106 (96.0–115)"


def test_from_seventeen_nodes_it_is_a_picture_whose_numbers_are_not_lost(make: Any, tmp_path: Path) -> None:
    found = figure(matrix(make, tmp_path / "r.db", 17, near, slit))
    (panel,), (full,) = found.panels, found.numbers
    values = sorted((float(text.replace("\u202f", "")), text) for row in full.rows for text in row[1:])
    assert panel.title == f"{full.caption}; palest {values[0][1]}, strongest {values[-1][1]}"
    cells = panel.wide["datasets"]["cells"]

    assert found.tables == ()
    assert len(cells) == 17 * 17
    assert len(full.rows) == 17
    assert "node 0 to 2 · 117 ns" in {cell["tip"] for cell in cells}
    at = {cell["tip"]: cell for cell in cells}
    assert (
        at["node 0 to 0 · 96.0 ns"]["shade"]
        < at["node 0 to 2 · 117 ns"]["shade"]
        < at["node 0 to 1 · 200 ns"]["shade"]
    )
    assert at["node 0 to 0 · 96.0 ns"]["high"] == 17  # the first row is at the top
    assert "Outlined" not in found.marks
    assert len(panel.wide["datasets"]["lines"]) == 2  # between the two groups


# --- shades ------------------------------------------------------------------------------------------------


def strongest(table: Table) -> int:
    return max(shade or 0 for row in table.heat for shade in row)


@pytest.mark.parametrize(("wobble", "title"), [(0.01, "Idle latency: 80.8 ns"), (0.2, "Idle latency")])
def test_the_title_of_a_table_of_one_node_has_its_number(
    make: Any, tmp_path: Path, wobble: float, title: str
) -> None:
    found = figure(matrix(make, tmp_path / "r.db", 1, lambda a, b: 80.0, wobble=wobble))

    assert found.title == title


def test_what_hardly_differs_hardly_has_a_shade(make: Any, tmp_path: Path) -> None:
    close = figure(matrix(make, tmp_path / "a.db", 4, lambda a, b: 100.0 if a == b else 108.0)).tables[0]
    apart = figure(matrix(make, tmp_path / "b.db", 4, lambda a, b: 100.0 if a == b else 160.0)).tables[0]

    assert strongest(close) <= 3
    assert strongest(apart) == 12


def test_shades_span_the_repeats(make: Any, tmp_path: Path) -> None:
    steady = figure(matrix(make, tmp_path / "a.db", 4, lambda a, b: 100.0 if a == b else 160.0)).tables[0]
    noisy = figure(
        matrix(make, tmp_path / "b.db", 4, lambda a, b: 100.0 if a == b else 160.0, wobble=1.0)
    ).tables[0]

    assert strongest(steady) == 12
    assert strongest(noisy) <= 6  # three-fold repeats: 1.6 × is a third of that


def test_a_map_for_bandwidth_is_strongest_where_it_is_least() -> None:
    assert drawing.heat([[100.0, 25.0]], inverse=True) == ((0, 12),)
    assert drawing.heat([[100.0, 90.0]], inverse=True) == ((0, 3),)
    assert drawing.heat([[100.0, None]]) == ((0, None),)


# --- no median of two populations --------------------------------------------------------------------------


def times(path: Path) -> dict[str, float]:
    return {t.name: t.median for t in chapter(load.load([path])).access_times}


def test_pairs_of_one_distance_that_are_of_two_kinds_have_no_median(make: Any, tmp_path: Path) -> None:
    """A ring of four packages whose firmware calls all the others equally far: the opposite one is farther."""

    def ring(a: int, b: int) -> float:
        return 96.0 if a == b else 260.0 if abs(a - b) == 2 else 200.0

    found = times(matrix(make, tmp_path / "r.db", 4, ring, lambda a, b: 10 if a == b else 21))

    assert set(found.values()) == {96.0, 200.0, 260.0}
    assert any("nearest other node" in name for name in found)
    assert any("farthest other node" in name for name in found)


def test_pairs_of_two_distances_are_two_numbers(make: Any, tmp_path: Path) -> None:
    def ring(a: int, b: int) -> float:
        return 96.0 if a == b else 260.0 if abs(a - b) == 2 else 200.0

    found = times(
        matrix(make, tmp_path / "r.db", 4, ring, lambda a, b: 10 if a == b else 31 if abs(a - b) == 2 else 21)
    )

    assert {name.rpartition("remote, ")[2] for name in found if "remote" in name} == {
        "distance 21",
        "distance 31",
    }
    assert set(found.values()) == {96.0, 200.0, 260.0}


def test_memory_without_cpus_is_told_from_other_nodes_that_are_as_near(make: Any, tmp_path: Path) -> None:
    """Memory of CXL was “distance 14”, and three times as slow as “distance 21”."""
    maker = make.Maker(tmp_path / "r.db")
    maker.topology = (HWLOC / "memory-only-node.xml").read_text()
    text = make.matrix_text([[85.8, 141.0, 263.0], [142.0, 86.9, 313.0]])
    text = text.replace("Numa node\t     0\t     1\t", "Numa node\t     0\t     1\t     2\t")
    maker.add("m", "mlc", {"mode": "latency_matrix"}, text)

    title = figure(maker.write()).title

    assert title == (
        "Idle latency to other nodes’ memory is 1.63 to 1.64 × that within a node (distance 21), "
        "3.07 × (CPU-less, distance 14), 3.60 × (CPU-less, distance 24)"
    )
