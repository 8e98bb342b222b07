"""poke: its figures from rows and bins. Its numbers are in tests/net, its checks in tests/reports/checks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports.document import Figure
from reports.measurements import measure
from reports.report.build import build
from reports.results.load import load
from reports.tools.poke import TOOL

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "poke"


def figures(path: Path) -> dict[str, Figure]:
    """Return the figures of a file by their ids without the sweep."""
    results = load([path])
    found = (figure for section in build(results).sections for figure in section.blocks)
    return {figure.id.removesuffix("-s"): figure for figure in found if isinstance(figure, Figure)}


def test_sizes_are_percentiles_moments_tails_and_histograms(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    maker.topology = "pack:1 numa:1(memory=8GB) l3:1(size=16MB) l2:1(size=1MB) l1d:1(size=32KB) core:2 pu:1"
    for size, fast in ((2**15, 900), (2**20, 500), (2**30, 0)):
        for _ in range(2):
            samples = [20.0] * fast + [90.0] * (1000 - fast)
            maker.add("s", "poke", {"target": "memory", "bytes": size}, make.poke_text(samples, size=size), axes=("bytes",))  # fmt: skip
    found = figures(maker.write())

    assert [*found] == ["poke-tail", "poke-histogram", "poke-sizes", "poke-moments"]
    sizes = [row for row in found["poke-sizes"].table.records() if row["statistic"] == "p50"]
    assert [(row["size"], row["repeats"]) for row in sizes] == [(2**15, 2), (2**20, 2), (2**30, 2)]
    bands = {row["text"] for row in found["poke-sizes"].spec["data"]["values"] if row["mark"] == "band"}
    assert bands <= {"L1", "L2", "L3"}
    summary = found["poke-histogram"].summary
    assert summary
    peaks = [(row["curve"], round(float(row["share"]), 2), row["repeats"]) for row in summary.records()]  # type: ignore[arg-type]
    assert peaks == [
        ("memory, 32 KiB", 0.9, "2 of 2"),
        ("memory, 32 KiB", 0.1, "2 of 2"),
        ("memory, 1 MiB", 0.5, "2 of 2"),
        ("memory, 1 MiB", 0.5, "2 of 2"),
        ("memory, 1 GiB", 1.0, "2 of 2"),
    ]


@pytest.mark.parametrize(
    ("fixture", "ids"),
    [
        ("compute_sine", ["poke-tail", "poke-histogram", "poke-time-per-iteration"]),
        ("files_100x10kB", ["poke-tail", "poke-histogram", "poke-total-time"]),
        ("memory_1GB_write_fence", ["poke-tail", "poke-histogram", "poke-time-per-byte"]),
    ],
)
def test_what_is_measured_in_addition_has_its_chart(make: Any, tmp_path: Path, fixture: str, ids: list[str]) -> None:
    text = (FIXTURES / f"{fixture}.out").read_text()
    path = make.Maker(tmp_path / "a.db").add("s", "poke", {"target": fixture.partition("_")[0]}, text).write()

    assert [*figures(path)] == ids


def test_key_numbers_have_the_size_that_chooses_a_cache_and_the_tail(make: Any, tmp_path: Path) -> None:
    samples = [80.0] * 19_900 + [900.0] * 100
    maker = make.Maker(tmp_path / "a.db").add(
        "s", "poke", {"target": "memory", "bytes": "1GB"}, make.poke_text(samples)
    )

    keys = TOOL.keys(measure(load([maker.write()])).tidy("poke"))

    assert keys[["name", "context", "value", "tail", "size"]].values.tolist() == [["Access to memory", "1 GB", 80.0, 900.0, 1e9]]  # fmt: skip
