"""Mean and standard deviation of single accesses, memory beside file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reports.charts import poke
from reports.draw.figure import Figure
from reports.results.load import load

TIMES = {("memory", 1000): 50.0, ("file", 1000): 400.0, ("memory", 10**6): 100.0, ("file", 10**6): 700.0}
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
        ("1000 B", "read", "50.5 ns (50–51)", "10 ns", "404 ns (400–408)", "10 ns"),
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
        ("1000 B", "read, 1 B blocks"), ("1 MB", "read, 1 B blocks"), ("1 MB", "read, 4 KiB blocks"),
    ]  # fmt: skip
    assert [row[4] for row in table.rows] == ["404 ns (400–408)", "–", "707 ns (700–714)"]


def test_of_one_size_there_is_no_table(make: Any, tmp_path: Path) -> None:
    assert moments(make, tmp_path / "r.db", (1000,)) == []
