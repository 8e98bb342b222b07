"""What is said of poke's runs, beside what its kernel did: whose time a time is, and of how much work."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from orchestrator.model import Group
from parsers import poke as parser
from reports import numbers, show
from reports.charts import chart_module, poke
from reports.checks import poke as checks
from reports.checks import repeats
from reports.draw.figure import Figure, Table
from reports.numbers.poke import numbers as numbers_of
from reports.report import axis_effects, build
from reports.report.render import render_report
from reports.results.load import load


def document(text: str, **result: Any) -> str:
    whole = json.loads(text)
    whole["results"][0].update(result)
    return json.dumps(whole)


def loop(make: Any, took: float, turns: int) -> str:
    """A run of a loop of so many turns, timed by a clock that itself takes 20 ns."""
    text = make.poke_text([took * (1 + 0.01 * (i % 3 - 1)) for i in range(1000)], target="compute", op="sine")
    return document(text, iterations=turns, ns_per_iteration=took / turns, bytes=0)


@pytest.fixture
def loops(make: Any, tmp_path: Path) -> Path:
    """A sine of 6 ns: one turn takes 26 ns with the clock, 1000 turns 6.02 µs."""
    maker = make.Maker(tmp_path / "loops.db")
    for turns, took in ((1, 26.0), (1000, 6020.0)):
        for _ in range(3):
            options = {"target": "compute", "loop": "sine", "iterations": turns}
            maker.add("s", "poke", options, loop(make, took, turns), axes=("iterations",))
    path: Path = maker.write()
    return path


def test_writing_in_order_is_no_read(make: Any, tmp_path: Path) -> None:
    """The kernel fills an array in order, twice, before it accesses it: that stood as the "read" of a byte, "sequential"."""
    maker = make.Maker(tmp_path / "a.db")
    for op in ("read", "write+fence"):
        text = make.poke_text([200.0 + i % 7 for i in range(1000)], op=op)
        text = document(text, sequential_ns_per_byte=0.1, first_touch_ns_per_byte=0.5)
        maker.add("s", "poke", {"target": "memory", "bytes": "1GB", "op": op}, text, axes=("op",))
    results = load([maker.write()])

    (table,) = (t for f in poke.chapter(results).figures for t in f.tables if t.columns[0] == "Cell")
    assert {row[1:4] for row in table.rows} == {
        ("memory", "filling", "per byte, written in order"),
        ("memory", "filling", "per byte, first touch"),
    }
    said = {n.name.words for run in results.runs for n in numbers_of(run) if "byte" in n.name.metric}
    assert said == {"memory time per byte, written in order", "memory time per byte, first touch"}


@pytest.mark.parametrize(
    ("timer", "said"),
    [
        (15.0, "In order a byte of 1 GB is written in 0.1 ns: that is bandwidth, 10.0 GB/s, and no latency. A read anywhere in it takes 203 ns, as long as 2 030 bytes in order."),
        (150.0, ""),  # it was mostly the timer that took 203 ns
    ],
)  # fmt: skip
def test_time_per_byte_is_called_bandwidth(timer: float, said: str, make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for size in ("1GB", "1MB"):
        text = document(make.poke_text([200.0 + i % 7 for i in range(1000)]), sequential_ns_per_byte=0.1)
        text = text.replace('"overhead_ns": ', f'"overhead_ns": {timer}, "was": ')
        for _ in range(3):
            maker.add("s", "poke", {"target": "memory", "bytes": size, "op": "read"}, text, axes=("bytes",))

    (figure,) = (f for f in poke.chapter(load([maker.write()])).figures if f.id.startswith("totals"))

    assert re.sub(r"\s", " ", figure.sub.partition("cell. ")[2]) == said


def test_a_walk_that_is_mostly_its_timer_is_a_bound(make: Any, tmp_path: Path) -> None:
    """1 kB in order took 30 ns, of which the timer takes 20: "0.03 ns" a byte."""
    maker = make.Maker(tmp_path / "a.db")
    for size in ("1kB", "1GB"):
        text = document(make.poke_text([200.0] * 1000), sequential_ns_per_byte=0.03)
        text = text.replace('"overhead_ns": ', '"overhead_ns": 20, "was": ')
        maker.add("s", "poke", {"target": "memory", "bytes": size}, text, axes=("bytes",))

    (figure,) = (f for f in poke.chapter(load([maker.write()])).figures if f.id.startswith("totals"))

    walks = {row[0]: row[4] for row in figure.tables[0].rows if row[3] == "per byte, written in order"}
    assert sorted(walks.values()) == ["0.03 ns", "≤ 0.03 ns"]
    assert "≤: more than half of it is the timer." in figure.sub


def test_a_loop_that_takes_less_than_its_timer_is_doubtful(make: Any, loops: Path) -> None:
    """ "per turn, median 26 ns" of a sine of 6 ns: most of it was the timer, and nothing said so."""
    results = load([loops])

    found = [(f.run.options["iterations"], f.level) for f in checks.clock(results)]

    assert found == [(1, "warn")] * 3
    flags = [parser.parse(loop(make, *of)).flags for of in ((26.0, 1), (6020.0, 1000))]
    assert [[flag.id for flag in own] for own in flags] == [["timer_limited"], []]


def test_the_mean_time_of_a_turn_is_called_the_mean(make: Any) -> None:
    """`export` gave poke's mean under the name that has the median in `compare`, on the page and for Prometheus."""
    rows = [
        row for row in parser.parse(loop(make, 6020.0, 1000)).measured() if row.metric == "time_per_iteration"
    ]

    assert [row.get("statistic") for row in rows] == ["mean"]


def test_the_time_of_a_loop_is_that_of_one_turn(loops: Path) -> None:
    """A sample of 1000 turns is no slower than one of a single turn: "iterations × 231 from 1000 to 1"."""
    results = load([loops])
    one, thousand = (next(r for r in results.runs if r.options["iterations"] == n) for n in (1, 1000))

    assert numbers.leading("poke", thousand.parsed) == ("ns", pytest.approx(6.02, rel=0.01))
    assert numbers.leader([one]).words == numbers.leader([thousand]).words == "time per iteration p50"
    assert "median 6.02 µs, 6.02 ns a turn" in show.show_result(loops)


@pytest.mark.parametrize(("took", "told"), [(150.0, "150"), (30.0, None)])
def test_a_cache_has_the_time_of_a_load_of_one_line(
    make: Any, tmp_path: Path, took: float, told: str | None
) -> None:
    """L3 had 31.5 ns, which is what a store into its buffer takes, beside loads of 164 ns; L2 the 44.6 ns of a read of 4 KiB. What is mostly
    the timer (20 ns) is left out, and no smaller buffer stands for it."""
    maker = make.Maker(tmp_path / "a.db")
    maker.topology = "pack:1 numa:1(memory=8GB) l3:1(size=512MB) l2:1(size=2MB) l1d:1(size=48kB) core:2 pu:1"
    maker.groups = {"local": (Group(cpus=(0,), membind=(0,)),)}
    for op, block, size, median in (
        ("read", 1, 64 * 10**6, took),
        ("write", 1, 64 * 10**6, 60.0),
        ("read", 4096, 64 * 10**6, 70.0),
        ("read", 1, 8 * 10**6, 90.0),
    ):
        text = document(make.poke_text([median] * 1000, size=size, op=op), block=block)
        options = {"target": "memory", "bytes": size, "op": op, "block": block}
        maker.add("s", "poke", options, text, axes=("op", "bytes", "block"), place="local", relation="local")

    (drawing,) = build.build(load([maker.write()])).machines
    levels = {level.name: level for package in drawing.packages for level in package.levels}

    assert (levels["L3"].number.value if levels["L3"].number else None) == told


def test_a_byte_of_filling_is_told_as_bandwidth_and_an_empty_access_by_its_operation(
    make: Any, tmp_path: Path
) -> None:
    """0.0294 ns a byte is 34 GB/s, the number that people know; “empty access, op read” stood beside “memory, 1 GB, write”."""
    maker = make.Maker(tmp_path / "a.db")
    for op, size in itertools.product(("read", "write"), (0, 10**6)):
        text = make.poke_text([200.0 + i % 7 for i in range(2000)], op=op if size else "none", target="memory" if size else "null")  # fmt: skip
        text = document(text, sequential_ns_per_byte=0.04) if size else text
        maker.add("s", "poke", {"target": "memory", "bytes": size, "op": op}, text, axes=("op", "bytes"))
    tails, *rest = poke.chapter(load([maker.write()])).figures

    assert {"empty access", "empty access, write", "memory, 1 MB", "memory, 1 MB, write"} == {key.name for key in tails.key}  # fmt: skip
    (table,) = (t for f in rest for t in f.tables if t.columns[0] == "Cell")
    assert table.columns[-1] == "As bandwidth"
    assert {row[-1] for row in table.rows} == {"25.0 GB/s"}


def test_no_two_entries_of_a_legend_have_one_colour(make: Any, tmp_path: Path) -> None:
    """Histograms that are no curve of the tail stood in its legend, each of them grey."""
    maker = make.Maker(tmp_path / "a.db")
    for size in range(1, 8):
        text = make.poke_text([100.0 * size] * 1000, size=size * 10**6)
        maker.add("s", "poke", {"target": "memory", "bytes": size * 10**6}, text, axes=("bytes",))

    page = render_report([maker.write()], tmp_path / "a.html").read_text()
    legend, *_ = re.findall(r'<ul class="key">.*?</ul>', page)
    colours = re.findall(r'stroke="(#\w+)"', legend)

    assert len(colours) == len(set(colours)) == 4


def test_an_empty_access_is_called_one(make: Any, tmp_path: Path) -> None:
    """ "null none latency p50" stood in compare, fleet and history."""
    text = make.poke_text([16.0] * 1000, target="null", op="none", size=0)
    path = make.Maker(tmp_path / "a.db").add("s", "poke", {"target": "null"}, text).write()

    assert {n.name.title for run in load([path]).runs for n in numbers_of(run)} == {
        f"empty access latency {of}" for of in ("p50", "p95", "p99")
    }


def modes_of(make: Any, path: Path, *repeats: list[float]) -> tuple[Figure, Table]:
    maker = make.Maker(path)
    options = {"target": "file", "bytes": 64 * 10**6, "op": "read"}
    for samples in repeats:
        maker.add("s", "poke", options, make.poke_text(samples, target="file", size=64 * 10**6))
    (figure,) = (f for f in poke.chapter(load([maker.write()])).figures if f.id.startswith("tail-"))
    return figure, next(t for t in figure.tables if "Share" in t.columns)


def test_modes_that_each_are_one_repeat_are_no_hit_rate(make: Any, tmp_path: Path) -> None:
    """Three runs of 44, 127 and 187 µs gave three modes of a third each, and a cache that held a third of the data."""
    figure, table = modes_of(make, tmp_path / "a.db", [1000.0] * 1000, [80_000.0] * 1000)

    shown = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [(row["Share"], row["In repeats"]) for row in shown] == [("50 %", "1 of 2")] * 2
    assert (
        figure.numbers[0].rows[0][-1] == "1.00 µs, 50 %, in 1 of 2 repeats; 80.4 µs, 50 %, in 1 of 2 repeats"
    )


def test_modes_whose_shares_differ_say_so(make: Any, tmp_path: Path) -> None:
    figure, table = modes_of(
        make, tmp_path / "a.db", *[[1000.0] * n + [80_000.0] * (1000 - n) for n in (100, 500)]
    )

    assert [row[2:] for row in table.rows] == [("30 %", "2 of 2"), ("70 %", "2 of 2")]
    assert figure.numbers[0].rows[0][-1].endswith("; the shares differ between repeats")


def files_of(make: Any, files: int, size: int, write: float, read: float) -> str:
    """A run that writes files in `write` ns, all together, and reads them in `read`."""
    whole = json.loads(make.poke_text([write / files] * files, target="files", op="write", size=files * size))
    whole["results"] += json.loads(
        make.poke_text([read / files] * files, target="files", op="read", size=files * size)
    )["results"]
    for result, total in zip(whole["results"], (write, read), strict=True):
        result |= {"files": files, "block": size, "total_ns": total}
    return json.dumps(whole)


def test_a_file_is_not_better_for_having_fewer_bytes(make: Any, tmp_path: Path) -> None:
    """ "total time: 3 680 × better by file_size from 1GB to 1kB", of the writes alone: 1 kB took 0.1 ms, 1 GB 0.4 s."""
    maker = make.Maker(tmp_path / "a.db")
    for name, size, took in (("1kB", 10**3, 1e5), ("1MB", 10**6, 5e5), ("1GB", 10**9, 4e8)):
        for by in (0.99, 1.0, 1.01):
            options = {"target": "files", "files": 1, "file_size": name}
            maker.add("s", "poke", options, files_of(make, 1, size, took * by, took / 9), axes=("file_size",), sweep_title="One file")  # fmt: skip
    path = maker.write()

    assert axis_effects.figure(load([path])) is None
    assert "half the range of write total time" in " ".join(show.show_result(path).split())


NO_RATIO = "No ratio to write: 1 file takes 2.50 to 2.70 ms, 1 000 files"


@pytest.mark.parametrize(
    ("took", "moves", "said"),
    [
        ((13.9, 60.0, 114.0, 160.0, 293.0), True, "13.9 to 293 ms, rising over the repeats; all longer, how many times is open."),
        ((114.0, 60.0, 13.9, 293.0, 160.0), False, "13.9 to 293 ms; all longer, how many times is open."),
        ((114.0, 60.0, 2.0, 293.0, 160.0), False, "2.00 to 293 ms; that leaves it open."),  # which is longer, too
    ],
)  # fmt: skip
def test_repeats_that_rise_one_after_the_other_are_called_a_trend(
    took: tuple[float, ...], moves: bool, said: str, make: Any, tmp_path: Path
) -> None:
    """Five writes of 14 to 293 ms, each slower than the one before, were scatter with "two states"; reading had its ratio, writing none, and
    nothing said why."""
    maker = make.Maker(tmp_path / "a.db")
    for i, many in enumerate(took):
        for files, size, write, read in ((1, 10**7, 2.5 + 0.1 * (i % 3), 1.5), (1000, 10**4, many, 4.4)):
            text = files_of(make, files, size, write * 1e6, read * 1e6)
            maker.add("s", "poke", {"target": "files", "files": files, "file_size": size}, text, axes=("files", "file_size"))  # fmt: skip
    results = load([maker.write()])

    fault, *_ = repeats.far_apart(results)
    (figure,) = (f for f in poke.chapter(results).figures if f.id.startswith("totals"))

    assert fault.text.endswith(", rising over the repeats") is moves
    assert re.sub(r"\s", " ", figure.title) == "10 MB as 1 000 files takes 2.93 × as long to read as 1 file"
    assert re.sub(r"\s", " ", figure.sub).endswith(f"{NO_RATIO} {said}")


def test_a_clock_that_is_looked_at_every_10_ns_has_steps_of_10_ns(make: Any, tmp_path: Path) -> None:
    """Of 20, 30 and 40 ns it was said that they come in steps of 0.5 ns: the counter's, which a virtual machine looks at less often."""
    maker = make.Maker(tmp_path / "a.db")
    text = make.poke_text([[20.0, 30.0, 30.0, 40.0][i % 4] for i in range(1000)])
    maker.add("s", "poke", {"target": "memory", "bytes": "1GB", "op": "read"}, text)
    results = load([maker.write()])

    figure = poke.chapter(results).figures[0]
    assert "the timer’s own cost in it (20 ns, in steps of 10 ns)" in re.sub(r"\s", " ", figure.sub)


@pytest.mark.parametrize(
    ("median", "small", "beside"),
    [
        (100.0, (900.0, 910.0), " (memory, 16 kB: over 9.00 ×)"),
        (30.0, (900.0, 910.0), ""),  # 20 ns of it are the timer
        (100.0, (900.0, 150.0), ""),
        (100.0, (120.0, 130.0), ""),
    ],
)
def test_a_title_tells_of_a_tail_that_is_longer_than_that_of_the_largest_array(
    make: Any, tmp_path: Path, median: float, small: tuple[float, float], beside: str
) -> None:
    """The largest array's alone stood there, 2 × the median, above a table with 9 ×."""
    maker = make.Maker(tmp_path / "a.db")
    for size, most, tails in ((16_000, median, small), (10**9, 100.0, (200.0, 210.0))):
        for tail in tails:
            text = make.poke_text([most] * 11_980 + [tail] * 20, size=size)
            maker.add("s", "poke", {"target": "memory", "bytes": size}, text, axes=("bytes",))

    (figure,) = (f for f in poke.chapter(load([maker.write()])).figures if f.id.startswith("tail-"))

    assert figure.title.startswith(
        f"Memory, 1 GB: one access in a thousand takes over 2.00 × the median in each repeat{beside}"
    )
    assert ("(" in figure.title) == bool(beside)


def test_samples_that_are_all_the_same_are_no_normal_distribution(make: Any, tmp_path: Path) -> None:
    """A dashed line was explained that was not there, and a histogram told "from 100 ns to 100 ns"."""
    maker = make.Maker(tmp_path / "a.db")
    maker.add("s", "poke", {"target": "memory", "bytes": 10**6}, make.poke_text([100.0] * 1000, size=10**6))
    text = make.fio_text({"read": (1e4, 90.0)}, bs="4k", rw="randread", iodepth=1)
    document = json.loads(text)
    document["jobs"][0]["read"]["lat_ns"]["bins"] = {"100096": 20_000}
    maker.add("d", "fio", {"rw": "randread", "bs": "4k", "iodepth": 1}, json.dumps(document))
    results = load([maker.write()])

    for tool, noun in (("poke", "Accesses"), ("fio", "I/Os")):
        found = [f for f in chart_module(tool).chapter(results, tool).figures if "tail-" in f.id]
        (figure,) = found
        assert "Dashed" not in figure.sub
        (said,) = (p.description for p in figure.panels if p.title.startswith("Histogram"))
        assert re.fullmatch(
            rf"{noun} per logarithmic bucket: [\d\u202f]+ in all, [\d.]+ [nµ]s( to [\d.]+ [nµ]s)?\.", said
        )
