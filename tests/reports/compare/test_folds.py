"""A line a curve: on the page and on a terminal; every number stays in the closed table and in a pipe."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from reports.compare import terminal
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
    assert (line.metric, line.place, line.points) == ("PingPong time", "pair, other package", SLOW)
    own = [row for row in found.of("regressed") if "message_size" in row.labels]
    assert line.change == texts.span(own)
    assert (line.a, line.b, line.sub) == (
        "1.20 to 132.5",
        "1.68 to 185.6",
        "µs, less is better",
    )  # 1 B, 1 MiB
    assert ", of several numbers from the lowest to the highest." in page.ground
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

    shown = terminal.table(found, screen=Screen(width=120, terminal=True))
    said = "blocksize 4 and 8; 6 of 6 numbers, size 4 to 16"
    assert re.findall(r"blocksize \d.*; .*", shown) == [said]
    assert [(line.place, line.points) for line in delta(found).lines] == [
        ("a, b, blocksize 4 and 8", "6 of 6 numbers, size 4 to 16")
    ]


def test_a_terminal_has_a_line_a_curve_and_a_pipe_each_number(make: Any, tmp_path: Path) -> None:
    """Twenty lines of STREAM hid that all of PingPong had regressed, too."""
    found = slower(make, tmp_path)

    for width in (60, 80, 120):
        shown = terminal.table(found, screen=Screen(width=width, terminal=True))
        assert SLOW in " ".join(shown.split())
        assert max(map(len, shown.splitlines())) <= width
        moved = re.findall(r"^    [+−].*", shown, re.MULTILINE)
        assert moved
        assert all(re.match(r" +\S+ % +\S+ to \S+ %  ", line) for line in moved)  # which the head tells of
        assert "of A → B; of several numbers their range, without medians:" in " ".join(shown.split())
    for text in (
        terminal.table(found),
        terminal.table(found, everything=True, screen=Screen(width=120, terminal=True)),
    ):
        assert " points, " not in text
        assert re.search(r"\+\d\S+ % .*→.* other package, 64 KiB", text)


def test_a_line_says_of_how_many_points_a_check_doubts_it(make: Any, tmp_path: Path) -> None:
    """ "6 of 6 points, threads 1 to 8 ⚠ S3" had the mark of two of them."""
    found = slower(make, tmp_path)
    doubted = [
        replace(row, doubts=("P3", "")) if row.labels.get("message_size") in ("1", "256") else row
        for row in found.rows
    ]

    text = terminal.table(replace(found, rows=tuple(doubted)), screen=Screen(width=120, terminal=True))

    assert f"{SLOW} ⚠ P3 of A (2 of 6 points)" in text


def test_curves_that_did_not_move_are_closed(make: Any, tmp_path: Path) -> None:
    found = messages(make, tmp_path, 1.0)
    page = delta(found)

    assert page.curves == ()  # where nothing moved a picture shows nothing that the table does not say
    assert page.unmoved


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
        ("regressed", "s, alg y", "3 of 3 points, threads_n 1 to 4"),
        ("inconclusive", "s, alg x", "3 of 3 points, threads_n 1 to 4"),
    ]
    assert [text for _, text in page.axis] == ["1.18 × worse", "1.18 × better"]


def sweeps(make: Any, folder: Path, p99: float) -> Comparison:
    """STREAM of three thread counts and two places, fio of two kinds: in B remote memory is 0.9 times as fast, and reads take 1.2 times as long, their
    p99 `p99` times."""
    sides = []
    for name in "ab":
        maker = make.Maker(folder / f"{name}.db", host=f"n{name}")
        for repeat, place, threads in itertools.product(range(3), ("local", "remote"), (1, 2, 4)):
            rate = 9000 * threads * (1 + 0.001 * repeat) * (0.9 if (name, place) == ("b", "remote") else 1.0)
            maker.add("mem", "stream", {"threads": threads}, make.stream_text(rate, threads), axes=("place", "threads"), place=place, relation=place)  # fmt: skip
        for repeat, rw in itertools.product(range(3), ("randread", "randwrite")):
            slow = 1.2 if (name, rw) == ("b", "randread") else 1.0
            text = make.fio_text({rw.removeprefix("rand"): (1e4 / slow * (1 + 0.001 * repeat), 100.0 * slow)}, bs="4k", rw=rw, iodepth=1)  # fmt: skip
            if slow > 1:
                text = text.replace(f'"99.000000": {round(120.0 * 1900)}', f'"99.000000": {round(100.0 * 1900 * p99)}')  # fmt: skip
            maker.add("disk", "fio", {"rw": rw, "bs": "4k", "iodepth": 1}, text, axes=("rw",))
        path = maker.write()
        sides.append(side(name.upper(), path.name, load([path])))
    return compare(*sides)


def test_kernels_threads_and_percentiles_that_tell_the_same_are_one_line(make: Any, tmp_path: Path) -> None:
    """Copy, scale, add and triad of each thread count were a row each, and their peaks four more."""
    page = delta(sweeps(make, tmp_path, p99=1.2))

    told = [(line.metric, line.place, line.points, line.verdict) for line in page.lines if line.sign]
    assert told == [
        ("read IOPS", "disk, rw randread", "", "worse"),
        ("read latency mean, p50 and p99", "disk, rw randread", "3 of 3 numbers", "worse"),
        ("copy, scale, add and triad bandwidth", "mem, remote", "12 of 12 numbers, threads 1 to 4", "worse"),
    ]
    assert page.rest
    assert sum(row[-1] == "worse" for row in page.rest.rows) == 12 + 4 + 4  # with the peaks


def test_a_percentile_that_moved_otherwise_has_a_line_of_its_own(make: Any, tmp_path: Path) -> None:
    page = delta(sweeps(make, tmp_path, p99=2.0))

    told = [line.metric for line in page.lines if "latency" in line.metric and line.sign]
    assert told == ["read latency p99", "read latency mean and p50"]


def test_a_derived_number_has_no_line_where_its_points_say_the_same(make: Any, tmp_path: Path) -> None:
    page = delta(sweeps(make, tmp_path, p99=1.2))

    assert not any(
        "peak" in line.metric for line in page.lines if line.sign
    )  # of remote memory: as its threads
    assert re.search(r"\d derived numbers that say the same have no line of their own\.", page.ground)


def test_of_two_machines_b_is_worse_and_has_not_regressed(make: Any, tmp_path: Path) -> None:
    found = sweeps(make, tmp_path, p99=1.2)

    assert not found.one_machine
    for text in (
        terminal.table(found),
        texts.sentence(found),
        str(delta(found).lines),
        str(delta(found).curves),
    ):
        assert "worse" in text or "Figure" not in text
        assert not re.search(r"'regressed'(?!, sign)|improved", text.replace("tone='regressed'", ""))
    assert (
        delta(found).differing == "Two machines, na and nb; nothing else that was recorded of them differs."
    )


def test_the_sentence_says_which_part_of_a_curve_moved(make: Any, tmp_path: Path) -> None:
    """ "7 of 24 numbers regressed", and nobody knew at which sizes."""
    assert "pair: 6 of 14 numbers regressed (other package, 1 B to 1 MiB), time +" in texts.sentence(
        slower(make, tmp_path)
    )


def test_counts_that_are_always_0_are_one_line(make: Any, tmp_path: Path) -> None:
    spec = {"errors": {"regex": r"errors (\S+)", "better": "lower"}}
    sides = []
    for name in "ab":
        maker = make.Maker(tmp_path / f"{name}.db")
        for mode, clients, _ in itertools.product(("tcp", "unix"), (1, 8, 64), range(3)):
            options = {"command": "x", "metrics": spec, "mode": mode, "clients": clients}
            maker.add("req", "command", options, "errors 0\n", axes=("mode", "clients"))
        path = maker.write()
        sides.append(side(name.upper(), path.name, load([path])))

    (line,) = delta(compare(*sides)).lines
    assert (line.place, line.points) == ("req, mode tcp and unix", "6 of 6 numbers, clients 1 to 64")
    assert (line.a, line.b, line.change, line.mark) == ("0", "0", "–", None)
