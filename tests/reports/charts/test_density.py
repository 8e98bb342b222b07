"""The linear histogram beside a normal distribution, and what a whole file takes."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

from reports.charts import poke
from reports.charts._density import bins
from reports.draw.figure import Figure
from reports.numbers.formulas import Bucket
from reports.results.load import load


def of_samples(make: Any, path: Path, samples: list[float]) -> Figure:
    maker = make.Maker(path)
    maker.add("s", "poke", {"target": "memory", "bytes": 2**30}, make.poke_text(samples))
    return poke.chapter(load([maker.write()])).figures[0]


def test_the_body_lies_on_its_normal_and_the_tail_is_not_in_it(make: Any, tmp_path: Path) -> None:
    dice = random.Random(1)
    found = of_samples(make, tmp_path / "r.db", [dice.gauss(500, 40) for _ in range(20_000)] + [9e6] * 5)

    picture = found.panels[-1]
    assert picture.title == "The fastest 99.9 %, linear: memory, 1 GiB"
    assert picture.wide["encoding"]["x"]["scale"]["type"] == "linear"
    bars, line = (picture.wide["datasets"][name] for name in ("bars", "normal"))
    assert bars[-1]["x2"] < 800
    for bar in bars:
        middle = (bar["x"] + bar["x2"]) / 2
        near = min(line, key=lambda row: abs(row["x"] - middle))
        assert bar["y"] == pytest.approx(near["y"], abs=0.12 * max(row["y"] for row in line))


@pytest.mark.parametrize(("slow", "title"), [(0.03, "The fastest 95 %, linear: memory, 1 GiB"), (0.2, None)])
def test_a_linear_axis_ends_a_few_medians_from_zero(
    make: Any, tmp_path: Path, slow: float, title: str | None
) -> None:
    """Of a file in the page cache one bar had everything, beside an empty axis to 40 medians."""
    dice = random.Random(1)
    samples = [dice.gauss(500, 40) * (40 if dice.random() < slow else 1) for _ in range(20_000)]
    found = of_samples(make, tmp_path / "r.db", samples)

    drawn = [p for p in found.panels if "linear" in p.title]
    assert [p.title for p in drawn] == ([title] if title else [])
    assert all(p.wide["encoding"]["x"]["scale"]["domain"][1] < 3000 for p in drawn)
    assert ("In the linear histogram" in found.sub) == bool(title)


def test_bins_hold_all_samples_and_are_not_finer_than_what_was_counted() -> None:
    buckets = [Bucket(float(2**i), float(2 ** (i + 1)), 100 * i) for i in range(1, 9)]
    found = bins(buckets)

    assert sum(b.n for b in found) == pytest.approx(sum(b.n for b in buckets), abs=len(found))
    assert math.isclose(found[0].high - found[0].low, 256.0)


def test_bins_are_not_finer_than_the_clock() -> None:
    """A clock in steps of 10 ns: hairlines stood at 20 and 30 ns, with nothing between them."""
    buckets = [Bucket(at, at + 0.1, 1000) for at in (20.0, 30.0, 40.0, 50.0)]

    assert [round(b.high - b.low, 6) for b in bins(buckets, finest=10.0)] == [10.0] * 4


def test_samples_far_from_zero_have_the_axis_for_themselves(make: Any, tmp_path: Path) -> None:
    dice = random.Random(1)
    far = of_samples(make, tmp_path / "far.db", [dice.gauss(500, 40) for _ in range(20_000)])
    near = of_samples(make, tmp_path / "near.db", [dice.gauss(500, 110) for _ in range(20_000)])

    assert [found.panels[-1].wide["encoding"]["x"]["scale"]["domain"][0] > 0 for found in (far, near)] == [
        True,
        False,
    ]


def test_samples_that_are_one_number_are_one_bin() -> None:
    """A clock that is too coarse gives 0 again and again."""
    assert bins([Bucket(0.0, 0.0, 7)]) == [Bucket(0.0, 0.0, 7)]


def test_what_hardly_differs_has_no_linear_histogram(make: Any, tmp_path: Path) -> None:
    found = of_samples(make, tmp_path / "r.db", [20.0] * 5000)

    assert not [p for p in found.panels if "linear" in p.title]


def test_a_whole_file_is_told_by_the_byte(make: Any, tmp_path: Path) -> None:
    """1 GB in 0.8 s: 0.8 ns a byte; three times are no tail."""
    maker = make.Maker(tmp_path / "r.db")
    for size, write, read in (("1MB", 1e6, 1e5), ("1GB", 8e8, 2e8)):
        for by in (0.99, 1.0, 1.01):
            document = json.loads(make.poke_text([write * by], target="files", op="write"))
            second = json.loads(make.poke_text([read * by], target="files", op="read"))["results"][0]
            for result, total in ((document["results"][0], write * by), (second, read * by)):
                result["total_ns"] = total
                if result is second:
                    document["results"].append(second)
            options = {"target": "files", "files": 1, "file_size": size}
            maker.add("s", "poke", options, json.dumps(document), axes=("file_size",))
    (found,) = poke.chapter(load([maker.write()])).figures

    assert (
        found.title
        == "A file of 1 GB takes 800 ms to write (0.8 ns a byte) and 200 ms to read (0.2 ns a byte)"
    )
    rows = [row[2:5] for row in found.tables[0].rows if "1GB" in row[0]]
    assert ("write", "per byte", "0.8 ns") in rows
    assert ("read", "per byte", "0.2 ns") in rows
