"""B against A along an axis: what the picture shows is what the rows say."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reports.compare.comparison import compare
from reports.compare.curves import ratio_axis
from reports.compare.folds import Fold, folded
from reports.compare.model import Comparison
from reports.compare.section import delta
from reports.compare.sides import side
from reports.draw import vega
from reports.results.load import load

SIZES = (0, *(16**i for i in range(6)))


def messages(make: Any, tmp_path: Path, factor: float, repeats: int = 3) -> Comparison:
    """PingPong of two pairs; in B messages from 64 KiB on take `factor` times as long where the packages differ."""
    sides = []
    for name in "ab":
        maker = make.Maker(tmp_path / f"{name}.db")
        for place, base in (("same package", 0.5), ("other package", 1.2)):
            for repeat in range(repeats):
                slow = factor if name == "b" and place == "other package" else 1.0
                times = {
                    n: (base + n / 8000) * (slow if n >= 65536 else 1.0) * (1 + 0.002 * repeat) for n in SIZES
                }
                maker.add("pair", "imb", {"benchmark": "PingPong"}, make.imb_text(times), place=place, axes=("place",))  # fmt: skip
        path = maker.write()
        sides.append(side(name.upper(), path.name, load([path])))
    return compare(*sides)


def test_what_is_said_of_a_picture_holds_of_all_its_points(make: Any, tmp_path: Path) -> None:
    """ "by message_size … at 1 MiB" told the last point alone."""
    (figure,) = delta(messages(make, tmp_path, 1.4)).curves

    said = figure.panels[0].description
    assert said.startswith("PingPong time of B against A by message size. ")
    assert "same package: 0.0 % over 7 points, 0 B to 1 MiB." in said
    assert "other package: 0.0 to +40.0 % over 7 points, 0 B to 1 MiB; the farthest +40.0 % at 1 MiB." in said


def test_sizes_along_an_axis_are_written_as_sizes(make: Any, tmp_path: Path) -> None:
    """Ticks of 1e+06 and 1e+09 bytes."""
    sides = []
    for name in "ab":
        maker = make.Maker(tmp_path / f"{name}.db")
        for size in (4096, 10**6, 10**9):
            for repeat in range(2):
                text = make.poke_text(make.sample(1000, median=90.0 + repeat), size=size)
                maker.add("s", "poke", {"op": "read", "bytes": size}, text, axes=("bytes",))
        path = maker.write()
        sides.append(side(name.upper(), path.name, load([path])))
    found = compare(*sides)

    (figure, *_) = delta(found).unmoved
    axis = figure.panels[0].wide["encoding"]["x"]["axis"]
    assert "4 KiB" in str(axis)
    assert "1 GB" in str(axis)
    assert "over 3 points, 4 KiB to 1 GB" in figure.panels[0].description
    assert not re.search(r"\de\+\d", str(axis) + figure.panels[0].description)
    (fold, *_) = [entry for entry in folded(found.rows, found.rows) if isinstance(entry, Fold)]
    assert fold.points == "9 of 9 numbers, bytes 4 KiB to 1 GB"


@pytest.mark.parametrize("factor", [1.0, 1.4, 0.5, 40.0])
def test_every_tested_size_has_the_ratio_of_its_row(factor: float, make: Any, tmp_path: Path) -> None:
    found = messages(make, tmp_path, factor)

    page = delta(found)
    (figure,) = (*page.curves, *page.unmoved)
    (drawn,) = figure.panels

    rows = {
        (row.place.split("=")[1], int(row.labels["message_size"])): row.decision
        for row in found.rows
        if row.number.title == "PingPong time"
    }
    data = drawn.wide["datasets"]
    points = {(p["series"], SIZES[round(p["x"])]): p["y"] for p in data["points"]}
    assert not [
        row for row in (*data["points"], *data["ranges"]) if row.get("pair")
    ]  # a dot and a bar, not two repeats
    assert points == {key: pytest.approx(d.ratio) for key, d in rows.items()}
    low, high = drawn.wide["encoding"]["y"]["scale"]["domain"]
    ranges = {(r["series"], SIZES[round(r["x"])]): (r["low"], r["high"]) for r in data["ranges"]}
    for key, (start, end) in ranges.items():
        of = rows[key]
        assert of.low
        assert of.high
        assert (start, end) == (pytest.approx(max(of.low, low)), pytest.approx(min(of.high, high)))
    (band,) = data["band"]
    assert band["high"] == pytest.approx(1 + next(iter(rows.values())).threshold)
    assert ("end at its edge" in figure.sub) == any(d.low < low or d.high > high for d in rows.values())  # type: ignore[operator]
    assert "Less is better." in figure.sub


@pytest.mark.parametrize("factor", [0.02, 0.3, 0.9, 1.0, 1.02, 1.4, 5.0, 40.0, 3e5, 1e12])
def test_the_axis_has_a_few_ticks_around_no_change(factor: float, make: Any, tmp_path: Path) -> None:
    rows = [row for row in messages(make, tmp_path, factor).rows if row.number.title == "PingPong time"]

    axis = ratio_axis(rows)

    assert 3 <= len(axis.ticks) <= 7
    assert [tick for tick, _ in axis.ticks if tick == 1] == [1]
    for tick, text in axis.ticks:
        assert axis.low <= tick <= axis.high
        if text.endswith("%"):
            assert float(text[:-2].replace("−", "-")) == pytest.approx((tick - 1) * 100)
        elif text != "same":
            assert math.isclose(tick, float(text.removesuffix(" ×").replace("\u202f", "")))
    assert all(axis.low <= (row.decision.ratio or 1) <= axis.high for row in rows)


@pytest.mark.parametrize("factor", [0.7, 1.4])
def test_better_is_up_whatever_the_direction_of_the_metric(factor: float, make: Any, tmp_path: Path) -> None:
    """A fall of the bandwidth and one of the latency were drawn alike, and half of each panel was empty."""
    found = messages(make, tmp_path, factor)
    rows = [row for row in found.rows if row.number.title == "PingPong time"]
    times = ratio_axis(rows)
    rates = ratio_axis([replace(row, number=replace(row.number, better="higher")) for row in rows])

    assert times.share(1.05) < times.share(1.0) < times.share(0.95)
    assert rates.share(0.95) < rates.share(1.0) < rates.share(1.05)
    assert times.title == rates.title == "B against A (log), up is better"
    far, near = (times.high, times.low) if factor > 1 else (times.low, times.high)
    assert abs(math.log(far)) > 4 * abs(math.log(near))
    scale = delta(found).curves[0].panels[0].wide["encoding"]["y"]["scale"]
    assert scale["reverse"]
    assert scale["domain"] == [times.low, times.high]


def test_points_of_one_run_a_side_have_no_interval(make: Any, tmp_path: Path) -> None:
    (figure,) = delta(messages(make, tmp_path, 1.4, repeats=1)).curves
    (drawn,) = figure.panels

    assert drawn.wide["datasets"]["ranges"] == []
    assert len(drawn.wide["datasets"]["points"]) == 2 * len(SIZES)


def test_a_title_counts_the_points_of_curves_that_are_not_drawn_too(make: Any, tmp_path: Path) -> None:
    """Twelve curves of four points, of which eight are drawn, the worst: one alone regressed."""
    sides = []
    for name in "ab":
        maker = make.Maker(tmp_path / f"{name}.db")
        spec = {"rate": {"regex": r"(\S+)", "unit": "MB/s", "better": "higher"}}
        for level in range(12):
            for threads in (1, 2, 4, 8):
                for repeat in range(3):
                    rate = (
                        threads
                        * 100
                        * (1 + level + repeat / 1000)
                        * (0.7 if name == "b" and level == 5 else 1)
                    )
                    options = {"command": ["x"], "metrics": spec, "level": level, "threads": threads}
                    maker.add("s", "command", options, f"{rate:.3f}\n", axes=("level", "threads"))
        path = maker.write()
        sides.append(side(name.upper(), path.name, load([path])))

    (figure,) = delta(compare(*sides)).curves

    assert figure.title == "s: rate, 4 of 48 points regressed (−30.0 %), 44 the same"
    assert "In the table only: 4 other curves." in figure.sub


@pytest.mark.parametrize(
    ("axis", "levels", "colours"),
    [("ioengine", ("psync", "io_uring", "libaio"), vega.SERIES[:3]), ("numjobs", (2, 1, 16), [vega.ordered(3)[i] for i in (1, 0, 2)])],
)  # fmt: skip
def test_a_curve_has_one_colour_in_all_panels(
    axis: str, levels: tuple[Any, ...], colours: Sequence[str], make: Any, tmp_path: Path
) -> None:
    """The worst curve was blue, whichever it was: one engine blue for its IOPS, and green for its latency. Numbers have an order."""
    sides = []
    for name in "ab":
        maker = make.Maker(tmp_path / f"{name}.db")
        for (i, level), depth in itertools.product(enumerate(levels), (1, 2, 4)):
            slow = (
                (1 + i / 10, 1.2 - i / 10) if name == "b" else (1.0, 1.0)
            )  # the first has the worst latency, the last the worst IOPS
            for repeat in range(2):
                text = make.fio_text({"read": (1e4 * depth / slow[0] + repeat, 100 * slow[1])}, bs="4k", rw="randread", iodepth=depth)  # fmt: skip
                maker.add("q", "fio", {"rw": "randread", "bs": "4k", "iodepth": depth, axis: level}, text, axes=("iodepth", axis))  # fmt: skip
        path = maker.write()
        sides.append(side(name.upper(), path.name, load([path])))

    figures = delta(compare(*sides)).curves

    drawn = [figure.panels[0].wide["encoding"]["color"]["scale"] for figure in figures]
    names = [
        f"numjobs {level}" if axis == "numjobs" else level for level in levels
    ]  # "2", "1" and "16" did not say of what
    assert len(drawn) == 2
    assert all(dict(zip(of["domain"], of["range"], strict=True)) == dict(zip(names, colours, strict=True)) for of in drawn)  # fmt: skip
    assert drawn[0]["domain"] == (names if axis == "ioengine" else sorted(names, key=lambda name: int(name.split()[1])))  # fmt: skip


def sweep(make: Any, path: Path, threads: dict[int, str]) -> Path:
    """STREAM over threads → the status of its runs."""
    maker = make.Maker(path)
    for n, status in threads.items():
        for i in range(3):
            text = make.stream_text(5000.0 * n * (1 + i / 1000), n) if status == "ok" else ""
            maker.add("s", "stream", {"threads": n}, text, axes=("threads",), status=status)
    return maker.write()


OK = dict.fromkeys((1, 2, 4, 8, 16), "ok")


@pytest.mark.parametrize(
    ("of_a", "of_b", "tested", "crosses"),
    [
        (OK, OK, "1 2 4 8 16", {}),
        (OK, {**OK, 4: "failed"}, "1 2 4 8 16", {4: "4 · not compared: all 3 runs failed in B"}),
        ({**OK, 16: "timeout"}, OK, "1 2 4 8 16", {16: "16 · not compared: all 3 runs gave no number in A (timeout)"}),
        ({**OK, 4: "failed"}, {**OK, 4: "failed"}, "1 2 4 8 16", {4: "4 · not compared: 6 runs gave no number (failed)"}),
        ({**OK, 3: "ok", 32: "ok"}, OK, "1 2 3 4 8 16", {3: "3 · not compared: B has no threads=3; it has 1, 2, 4, 8 and 16"}),
    ],
)  # fmt: skip
def test_nothing_is_joined_across_a_cell_that_is_not_compared(
    of_a: dict[int, str],
    of_b: dict[int, str],
    tested: str,
    crosses: dict[int, str],
    make: Any,
    tmp_path: Path,
) -> None:
    """The axis had no place for what failed, and a line went from its neighbour to the other."""
    paths = [sweep(make, tmp_path / f"{name}.db", of) for name, of in (("a", of_a), ("b", of_b))]
    (figure,) = delta(compare(*(side(p.stem.upper(), p.name, load([p])) for p in paths))).unmoved

    (drawn,) = figure.panels
    names = tested.split()
    data = drawn.wide["datasets"]
    assert round(drawn.wide["encoding"]["x"]["scale"]["domain"][1] + 0.6) == len(names)
    assert {int(names[round(c["x"])]): c["tip"] for c in data["crosses"]} == crosses
    segment = {int(names[round(p["x"])]): p["segment"] for p in data["points"]}
    assert {*segment} == {*OK} - {*crosses}
    for cell in crosses:
        assert {s for n, s in segment.items() if n < cell}.isdisjoint(s for n, s in segment.items() if n > cell)  # fmt: skip
    assert ("Cross on the axis: a cell that is not compared." in figure.sub) == bool(crosses)


def test_a_curve_is_called_as_its_line_in_the_table_is(make: Any, tmp_path: Path) -> None:
    """The line said "4 KiB blocks", and the legend "4k"."""
    sides = []
    for name, factor in (("a", 1.0), ("b", 0.8)):
        maker = make.Maker(tmp_path / f"{name}.db")
        for bs, depth, luck in itertools.product(("4k", "64k"), (1, 4, 16), (1.0, 1.001, 1.002)):
            parts = {"read": (1e4 * depth * luck * (factor if bs == "4k" else 1.0), 90.0)}
            text = make.fio_text(parts, bs=bs, rw="randread", iodepth=depth)
            maker.add("disk", "fio", {"rw": "randread", "bs": bs, "iodepth": depth}, text, axes=("bs", "iodepth"))  # fmt: skip
        path = maker.write()
        sides.append(side(name.upper(), path.name, load([path])))
    page = delta(compare(*sides))

    (figure,) = [one for one in page.curves if "IOPS" in one.title]
    (drawn,) = figure.panels
    assert {row["series"] for row in drawn.wide["datasets"]["points"]} == {"4 KiB", "64 KiB"}
    assert {line.place for line in page.lines if line.metric == "read IOPS" and line.sign} == {
        "disk, 4 KiB blocks"
    }
