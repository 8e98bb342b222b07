"""Mean and standard deviation of single accesses, memory beside file."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from reports.charts import _poke_sizes, poke
from reports.draw import label_placement, vega
from reports.draw.figure import Figure
from reports.results.load import load

TIMES = {("memory", 0): 40.0, ("file", 0): 300.0} | {
    ("memory", 1000): 50.0,
    ("file", 1000): 400.0,
    ("memory", 10**6): 100.0,
    ("file", 10**6): 700.0,
}
"""ns, the mean of 100 samples of which one half takes 10 less and the other 10 more; the second repeat takes 2 % more."""


def moments(
    make: Any, path: Path, sizes: Sequence[int], blocks: dict[int, int] | None = None
) -> list[Figure]:
    """Sweeps of memory and of files; blocks: of the file of a size, bytes an access."""
    maker = make.Maker(path)
    for (target, size), mean in TIMES.items():
        for by in (1.0, 1.02):
            if size not in sizes:
                continue
            document = json.loads(
                make.poke_text([by * mean - 10, by * mean + 10] * 50, target=target, size=size)
            )
            for result in document["results"]:
                result["block"] = (blocks or {}).get(size, 1) if target == "file" else 1
            maker.add(
                target, "poke", {"target": target, "bytes": size}, json.dumps(document), axes=("bytes",)
            )
    return [f for f in poke.chapter(load([maker.write()])).figures if f.id == "moments"]


def test_mean_and_deviation_stand_side_by_side_with_the_range_of_the_repeats(
    make: Any, tmp_path: Path
) -> None:
    (found,) = moments(make, tmp_path / "r.db", (1000, 10**6))

    (table,) = found.tables
    assert table.columns[2:] == (
        "Memory (1 B), mean",
        "Memory (1 B), SD",
        "File (1 B), mean",
        "File (1 B), SD",
    )
    assert table.rows == (
        ("1 kB", "read", "50.5 ns (50–51)", "10 ns", "404 ns (400–408)", "10 ns"),
        ("1 MB", "read", "101 ns (100–102)", "10 ns", "707 ns (700–714)", "10 ns"),
    )
    assert len({run.tool for of in table.of for runs in of.values() for run in runs}) == 1
    assert all(set(of) == {2, 3, 4, 5} for of in table.of)


def test_accesses_of_other_sizes_are_not_set_beside_one_another(make: Any, tmp_path: Path) -> None:
    """1 B of a small file and 4 KiB of a large one were in one column, and nothing said so."""
    (found,) = moments(make, tmp_path / "r.db", (1000, 10**6), {10**6: 4096})

    (table,) = found.tables
    assert table.columns[2] == "Memory (1 B), mean"
    assert [row[:2] for row in table.rows] == [
        ("1 kB", "read, 1 B blocks"), ("1 MB", "read, 1 B blocks"), ("1 MB", "read, 4 KiB blocks"),
    ]  # fmt: skip
    assert [row[4] for row in table.rows] == ["404 ns (400–408)", "–", "707 ns (700–714)"]


def test_of_one_size_there_is_no_table(make: Any, tmp_path: Path) -> None:
    assert moments(make, tmp_path / "r.db", (1000,)) == []


def test_percentiles_of_all_sizes_are_drawn_memory_beside_file(make: Any, tmp_path: Path) -> None:
    (found,) = moments(make, tmp_path / "r.db", (1000, 10**6))

    assert found.title == "Percentiles, mean and standard deviation of one access, by size"
    assert [panel.title for panel in found.panels] == ["Memory, read", "File, read"]
    memory, file = (panel.wide for panel in found.panels)
    assert memory["encoding"]["y"]["scale"] == file["encoding"]["y"]["scale"]
    tips = [row["tip"] for row in file["datasets"]["points"] if row["series"] == "p50"]
    assert [tip.split(" · ")[0] for tip in tips] == ["1 kB", "1 MB"]
    assert {row["series"] for row in file["datasets"]["points"]} == {"p50", "p90"}, (
        "of 100 samples no p99 is told"
    )
    for panel in found.panels:
        vega.draw(panel.narrow, "x", "")


def test_a_way_of_access_of_one_size_is_no_picture(make: Any, tmp_path: Path) -> None:
    (found,) = moments(make, tmp_path / "r.db", (1000, 10**6), {10**6: 4096})

    assert [panel.title for panel in found.panels] == ["Memory, read, 1 B blocks"]
    assert (
        "Of one size, in the table alone: file, read, 1 B blocks (1 kB) and file, read, 4 KiB blocks (1 MB)."
        in found.sub
    )


@pytest.mark.parametrize("block", ["block", "unsaid"])
def test_an_access_to_nothing_has_its_row_and_its_place(make: Any, tmp_path: Path, block: str) -> None:
    """A sweep from 0 B on began at 1 kB."""
    maker = make.Maker(tmp_path / "r.db")
    for target, size, takes in (("null", 0, 16.0), ("memory", 1000, 50.0), ("memory", 10**6, 100.0)):
        text = make.poke_text([takes - 1, takes + 1] * 50, target=target, size=size)
        text = text.replace('"block"', f'"{block}"')
        maker.add("s", "poke", {"target": "memory", "bytes": size, "op": "read"}, text, axes=("bytes",))

    (found,) = [f for f in poke.chapter(load([maker.write()])).figures if f.id == "moments"]

    assert [row[:3] for row in found.tables[0].rows] == [
        ("0 B", "read", "16 ns"), ("1 kB", "read", "50 ns"), ("1 MB", "read", "100 ns"),
    ]  # fmt: skip
    assert "0 B: the timer alone." in found.sub
    assert ("In brackets:" in found.sub) == any("(" in head for head in found.tables[0].columns)
    (panel,) = found.panels
    tips = [row["tip"] for row in panel.wide["datasets"]["points"] if row["series"] == "p50"]
    assert [tip.split(" · ")[0] for tip in tips] == ["0 B", "1 kB", "1 MB"]


@pytest.mark.parametrize("room", [60.0, 120.0, 180.0, 400.0])
def test_names_of_many_sizes_do_not_touch(room: float) -> None:
    names = ["1 kB", "10 kB", "100 kB", "1 MB", "10 MB", "100 MB", "1 GB"]

    told = [(at, name) for at, name in _poke_sizes._ticks(names, room) if name]

    assert told[-1] == (6.0, "1 GB")
    for (a, left), (b, right) in itertools.pairwise(told):
        widths = label_placement.text_width(left) + label_placement.text_width(right)
        assert (b - a) * room / 6.25 > widths / 2


def test_no_line_goes_to_the_size_of_nothing(make: Any, tmp_path: Path) -> None:
    (found,) = moments(make, tmp_path / "r.db", (0, 1000, 10**6))

    rows = [row for row in found.panels[1].wide["datasets"]["points"] if row["series"] == "p50"]
    assert [row["tip"].split(" · ")[0] for row in rows] == ["0 B", "1 kB", "1 MB"]
    empty, small, large = (row["segment"] for row in rows)
    assert empty != small == large


def test_deviations_that_a_few_slow_accesses_make_are_said_to_differ(make: Any, tmp_path: Path) -> None:
    """“15.0 ns (12.2 ns–54.2 µs)” stood there without a word."""
    maker = make.Maker(tmp_path / "r.db")
    for size in (1000, 10**6):
        for slowest in (60.0, 60.0, 50e3):
            text = make.poke_text([40.0, 60.0] * 50 + [slowest], size=size)
            maker.add("m", "poke", {"target": "memory", "bytes": size}, text, axes=("bytes",))
    (found,) = [f for f in poke.chapter(load([maker.write()])).figures if f.id == "moments"]

    assert re.search(
        r"its quantiles do; from run to run they differ by up to 4\d\d ×, for a few slow accesses make them\.",
        found.sub,
    )
