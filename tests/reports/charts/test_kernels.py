"""A STREAM of one count of threads is no curve: its kernels are rows of one picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports.charts import stream
from reports.draw.figure import Figure
from reports.results.load import load


def drawn(make: Any, path: Path, threads: list[int], places: tuple[str, ...] = ("local",)) -> Figure:
    maker = make.Maker(path)
    for place in places:
        for count in threads:
            maker.add("s", "stream", {"threads": count}, make.stream_text(12_000.0 * count, count), axes=("threads",), place=place, relation=place)  # fmt: skip
    (figure,) = stream.chapter(load([maker.write()])).figures
    return figure


def test_one_cell_is_a_row_for_each_kernel(make: Any, tmp_path: Path) -> None:
    found = drawn(make, tmp_path / "r.db", [2])

    (picture,) = found.panels
    assert [row["name"] for row in picture.wide["datasets"]["rows"]] == ["Copy", "Scale", "Add", "Triad"]
    assert found.title.endswith("Triad moves 24.0 GB/s with 2 threads")
    assert picture.description.startswith("Bandwidth by kernel with 2 threads. Copy: ")
    assert picture.wide["height"] < 250
    assert "4/3 of Add and Triad" in found.note
    assert "3/2 of Copy and Scale" in found.note


def test_a_title_over_all_kernels_is_not_of_one(make: Any, tmp_path: Path) -> None:
    """ "Triad (stand-in) bandwidth" stood over two panels of four bars."""
    maker = make.Maker(tmp_path / "r.db")
    for size in ("1M", "2M"):
        text = make.stream_text(12_000.0, 2)
        maker.add("s", "stream", {"threads": 2, "array_size": size}, text, axes=("array_size",))
    (found,) = stream.chapter(load([maker.write()])).figures

    assert len(found.panels) == 2
    assert found.title == "STREAM bandwidth by kernel"


@pytest.mark.parametrize(("threads", "places"), [([1, 2], ("local",)), ([2], ("local", "remote"))])
def test_several_are_curves_over_threads(
    make: Any, tmp_path: Path, threads: list[int], places: tuple[str, ...]
) -> None:
    found = drawn(make, tmp_path / "r.db", threads, places)

    assert "rows" not in found.panels[0].wide["datasets"]
    assert "3/2" not in found.note
