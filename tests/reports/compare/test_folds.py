"""A line a curve: on the page and on a terminal; every number stays in the closed table and in a pipe."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from reports.compare import text as texts
from reports.compare.comparison import compare
from reports.compare.model import Comparison
from reports.compare.section import delta
from reports.compare.sides import side
from reports.draw.label_placement import text_width
from reports.results.load import load
from reports.text.columns import wrapped
from reports.text.screen import Screen
from tests.reports.compare.test_curves import SIZES, messages


def slower(make: Any, folder: Path) -> Comparison:
    """PingPong of two pairs; in B one pair takes 1.4 times as long at every size but the smallest."""
    sides = []
    for name in "ab":
        maker = make.Maker(folder / f"{name}.db")
        for place, base in (("same package", 0.5), ("other package", 1.2)):
            for repeat in range(3):
                slow = 1.4 if name == "b" and place == "other package" else 1.0
                times = {n: (base + n / 8000) * (slow if n else 1.0) * (1 + 0.002 * repeat) for n in SIZES}
                text = make.imb_text(times)
                maker.add("pair", "imb", {"benchmark": "PingPong"}, text, place=place, axes=("place",))
        path = maker.write()
        sides.append(side(name.upper(), path.name, load([path])))
    return compare(*sides)


SLOW = "6 of 7 points, 1 B to 1 MiB"


def test_a_curve_has_one_line_on_the_page_and_each_point_in_the_closed_table(
    make: Any, tmp_path: Path
) -> None:
    """72 regressed numbers of six curves were 72 lines."""
    found = slower(make, tmp_path)

    page = delta(found)

    (line,) = [x for x in page.lines if x.points and x.verdict == "regressed"]
    assert (line.metric, line.place, line.points) == ("PingPong time", "pair, place=other package", SLOW)
    own = [row for row in found.of("regressed") if "message_size" in row.labels]
    assert line.change == texts.span(own)
    assert (line.a, line.b, line.sub) == (
        "1.20 to 132.5",
        "1.68 to 185.6",
        "µs, less is better",
    )  # 1 B, 1 MiB
    assert ", of a curve from the lowest to the highest." in page.ground
    assert page.rest
    names = [row[0] for row in page.rest.rows]
    assert sum("PingPong time" in name for name in names) >= 2 * len(SIZES) - 2


def test_a_curve_is_called_by_its_whole_axes(make: Any, tmp_path: Path) -> None:
    """ "blocksize=4 size=4" without "size=4" was "block", a curve of its own, and those of other block sizes had two points; a sweep "a, b" lost its end."""
    spec = {"rate": {"regex": r"rate (\S+)", "unit": "MB/s", "better": "higher"}}
    sides = []
    for name, factor in (("a", 1.0), ("b", 0.8)):
        maker = make.Maker(tmp_path / f"{name}.db")
        for blocksize, size, repeat in itertools.product((4, 8), (4, 8, 16), range(3)):
            options = {"command": ["x"], "metrics": spec, "blocksize": blocksize, "size": size}
            maker.add("a, b", "command", options, f"rate {100 * factor * blocksize * size + repeat:.4f}\n", axes=("blocksize", "size"))  # fmt: skip
        path = maker.write()
        sides.append(side(name.upper(), path.name, load([path])))
    found = compare(*sides)

    said = ["blocksize=4; 3 of 3 points, size 4 to 16", "blocksize=8; 3 of 3 points, size 4 to 16"]
    shown = texts.table(found, screen=Screen(width=120, terminal=True))
    assert sorted(re.findall(r"blocksize=\d; .*", shown)) == said
    assert sorted(line.place for line in delta(found).lines) == ["a, b, blocksize=4", "a, b, blocksize=8"]


def test_a_terminal_has_a_line_a_curve_and_a_pipe_each_number(make: Any, tmp_path: Path) -> None:
    """Twenty lines of STREAM hid that all of PingPong had regressed, too."""
    found = slower(make, tmp_path)

    for width in (60, 80, 120):
        shown = texts.table(found, screen=Screen(width=width, terminal=True))
        assert SLOW in " ".join(shown.split())
        assert max(map(len, shown.splitlines())) <= width
        moved = re.findall(r"^    [+−].*", shown, re.MULTILINE)
        assert moved
        assert all(re.match(r" +\S+ % +\S+ to \S+ %  ", line) for line in moved)  # which the head tells of
        assert "of A → B; of a curve the range over its points, without medians:" in " ".join(shown.split())
    for text in (
        texts.table(found),
        texts.table(found, everything=True, screen=Screen(width=120, terminal=True)),
    ):
        assert " points, " not in text
        assert re.search(r"\+\d\S+ % .*→.* place=other package 64 KiB", text)


def test_a_line_says_of_how_many_points_a_check_doubts_it(make: Any, tmp_path: Path) -> None:
    """ "6 of 6 points, threads 1 to 8 ⚠ S3" had the mark of two of them."""
    found = slower(make, tmp_path)
    doubted = [
        replace(row, doubts=("P3", "")) if row.labels.get("message_size") in ("1", "256") else row
        for row in found.rows
    ]

    text = texts.table(replace(found, rows=tuple(doubted)), screen=Screen(width=120, terminal=True))

    assert f"{SLOW} ⚠ P3 of A (2 of 6 points)" in text


def test_curves_that_did_not_move_are_closed_where_others_did(make: Any, tmp_path: Path) -> None:
    found = messages(make, tmp_path, 1.0)
    page = delta(found)

    assert page.curves
    assert page.unmoved == ()  # nothing moved: they are what there is to see


def test_names_of_tested_values_do_not_touch(make: Any, tmp_path: Path) -> None:
    """ "16 KiB512 KiB" on a phone."""
    (figure,) = delta(messages(make, tmp_path, 1.4)).curves
    (drawn,) = figure.panels
    for spec in (drawn.wide, drawn.narrow):
        x = spec["encoding"]["x"]
        low, high = x["scale"]["domain"]
        ticks = x["axis"]["values"]
        names = [re.sub(r"^.*?'|'.*$", "", name) for name in re.findall(r"'[^']*'", x["axis"]["labelExpr"])]
        px = spec["width"] / (high - low)
        for a, b, left, right in zip(ticks, ticks[1:], names, names[1:], strict=False):
            assert (b - a) * px >= (text_width(left) + text_width(right)) / 2


def test_a_number_and_its_unit_stay_on_one_line() -> None:
    """ "10" at the end of a line and "% off" on the next."""
    text = "machines that share a disk or a CPU may be 10 % off on another day, or 12.5 GB/s"
    for width in range(24, 90):
        lines = wrapped(text, width=width, whole=True)
        assert " ".join(lines) == text
        assert not any(re.match(r"(%|GB/s)", line) for line in lines)


def test_what_is_undecided_stands_open_where_numbers_are_few_and_axes_have_their_own_names(
    make: Any, tmp_path: Path
) -> None:
    """Ten inconclusive numbers of 26 were in the closed table alone, while the same ones stood open; "threads n" was an axis threads_n."""
    spec = {"rate": {"regex": r"rate (\S+)", "unit": "MB/s", "better": "higher"}}
    sides = []
    for name in "ab":
        maker = make.Maker(tmp_path / f"{name}.db")
        for alg, threads_n, repeat in itertools.product("xy", (1, 2, 4), range(3)):
            rate = 100 * threads_n * (0.85 if (name, alg) == ("b", "y") else 1) * (1 + 0.02 * (repeat - 1))
            options = {"command": ["x"], "metrics": spec, "alg": alg, "threads_n": threads_n}
            maker.add("s", "command", options, f"rate {rate:.4f}\n", axes=("alg", "threads_n"))
        path = maker.write()
        sides.append(side(name.upper(), path.name, load([path])))

    page = delta(compare(*sides))

    assert [(line.verdict, line.place, line.points) for line in page.lines] == [
        ("regressed", "s, alg=y", "3 of 3 points, threads_n 1 to 4"),
        ("inconclusive", "s, alg=x", "3 of 3 points, threads_n 1 to 4"),
    ]
    assert [text for _, text in page.axis] == ["1.18 × worse", "1.18 × better"]
