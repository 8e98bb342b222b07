"""`show` and the last lines of `run`: which cell is named, and by which number it was chosen."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.model import UNPINNED
from parsers import get_parser
from parsers.errors import ParseError, UserError
from reports import numbers, show
from reports.checks import audit
from reports.lab.document import _sweeps_table
from reports.report.all_runs import seen_text
from reports.results.load import load
from reports.text import table

FIXTURES = Path(__file__).parents[1] / "fixtures"


def lines(path: Path) -> list[str]:
    return show.summary(load([path]))


@pytest.mark.parametrize(
    ("better", "said"),
    [
        ("lower", "demo  lowest lat of 3: lat 2.0 µs at threads=1"),
        ("higher", "demo  highest lat of 3: lat 20.0 µs at threads=16"),
        ("neither", "demo  highest lat of 3: lat 20.0 µs at threads=16"),
    ],
)
def test_the_best_cell_is_the_best_by_its_own_direction(
    better: str, said: str, make: Any, tmp_path: Path
) -> None:
    maker = make.Maker(tmp_path / "r.db")
    metrics = {"lat": {"regex": r"lat ([\d.]+)", "unit": "us", "better": better}}
    for threads, value in ((1, 2.0), (4, 8.0), (16, 20.0)):
        options = {"command": "demo", "metrics": metrics, "threads": threads}
        maker.add("demo", "command", options, f"lat {value}\n", axes=("threads",))

    assert lines(maker.write()) == [said]


def test_cells_of_an_edited_direction_have_no_best(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for better, value in (("lower", 2.0), ("higher", 8.0)):
        metrics = {"lat": {"regex": r"lat ([\d.]+)", "unit": "us", "better": better}}
        maker.add("demo", "command", {"command": "demo", "metrics": metrics, "n": value}, f"lat {value}\n", axes=("n",))  # fmt: skip

    (said,) = lines(maker.write())
    assert said.startswith("demo  2 cells, the first: lat 2.0 µs at n=2.0; the last: lat 8.0 µs at n=8.0")


def test_the_best_is_that_of_the_medians(make: Any, tmp_path: Path) -> None:
    """One lucky run of three does not make a cell the best."""
    maker = make.Maker(tmp_path / "r.db")
    for threads, rates in ((1, (9e3, 9.1e3, 30e3)), (2, (20e3, 20.1e3, 20.2e3))):
        for rate in rates:
            maker.add("s", "stream", {"threads": threads}, make.stream_text(rate, threads), axes=("threads",))

    assert " ".join(" ".join(lines(maker.write())).split()) == (
        "s highest bandwidth of 2: triad 20.1 GB/s at threads=2; its repeats, 20.0 GB/s to 20.2 GB/s, overlap with those of 1 other"
    )


def test_of_a_sweep_whose_other_cells_found_nothing_the_cell_that_did_is_named(
    make: Any, tmp_path: Path
) -> None:
    """A number that stands alone is still of one cell, and not of the sweep."""
    maker = make.Maker(tmp_path / "r.db")
    maker.add("s", "stream", {"threads": 2}, make.stream_text(20e3, 2), axes=("threads",))
    maker.add("s", "stream", {"threads": 4}, make.stream_text(40e3, 4), axes=("threads",), status="disturbed", reason="others")  # fmt: skip

    assert lines(maker.write()) == ["s  triad 20.0 GB/s at threads=2"]


def test_one_cell_is_no_best(make: Any, tmp_path: Path) -> None:
    path = make.Maker(tmp_path / "r.db").add("s", "stream", {"threads": 2}, make.stream_text(20e3, 2)).write()

    assert lines(path) == ["s  triad 20.0 GB/s"]


def commands(make: Any, path: Path, texts: dict[int, tuple[str, ...]]) -> Path:
    maker = make.Maker(path)
    for a, own in texts.items():
        for text in own:
            options = {"command": "x", "metrics": {"zeta": METRICS["zeta"]}, "a": a}
            maker.add("s", "command", options, text, axes=("a",))
    written: Path = maker.write()
    return written


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (((42, 42), (42, 42), (42, 42)), "zeta 42 ms in all 3 cells"),
        (((42,), (50,), (42,)), "lowest zeta of 3: zeta 42 ms at a=0 and 1 more cell"),
        (((42, 44), (50, 52)), "lowest zeta of 2: zeta 43 ms at a=0"),
        (((42, 54), (50, 52)), "lowest zeta of 2: zeta 48 ms at a=0; its repeats, 42 ms to 54 ms, overlap with those of 1 other"),
    ],
)  # fmt: skip
def test_the_best_is_not_told_from_others_where_it_is_not(
    values: tuple[tuple[int, ...], ...], said: str, make: Any, tmp_path: Path
) -> None:
    texts = {a: tuple(f"zeta {v}" for v in own) for a, own in enumerate(values)}

    assert " ".join(" ".join(lines(commands(make, tmp_path / "r.db", texts))).split()) == f"s {said}"


def test_a_null_effect_marks_no_number(make: Any, tmp_path: Path) -> None:
    path = commands(make, tmp_path / "r.db", dict.fromkeys((1, 2), ("zeta 42",) * 3))
    results = load([path])

    assert show.summary(results, audit.audit(results)) == ["s  zeta 42 ms in all 2 cells"]


def test_what_doubts_all_numbers_is_told_once(make: Any, tmp_path: Path) -> None:
    doubted = make.Maker(tmp_path / "r.db")
    doubted.places["unpinned"] = UNPINNED
    for a in (1, 2):
        options = {"command": "x", "metrics": {"zeta": METRICS["zeta"]}, "a": a}
        doubted.add("s", "command", options, f"zeta 4{a}", place="unpinned", axes=("a",))
    partly = commands(
        make, tmp_path / "s.db", {1: ("zeta 10", "zeta 20", "zeta 90"), 2: ("zeta 42", "zeta 43", "zeta 44")}
    )

    head, once, blank, *rest = show.show_result(doubted.write()).splitlines()[1:]

    assert (once, blank) == (
        "⚠ doubtful: all numbers, by G18 (nothing was pinned, as `--unpinned` asks)",
        "",
    ), head
    assert "⚠" not in "".join(rest)
    assert "1  ⚠ G11  zeta 20" in show.show_result(partly)
    assert "all numbers" not in show.show_result(partly)


def test_several_matches_of_a_metric_are_counted(make: Any, tmp_path: Path) -> None:
    texts = {a: (f"zeta {a}\nzeta 100\nzeta 200",) for a in (1, 2)}
    path = commands(make, tmp_path / "r.db", texts)

    assert lines(path) == ["s  lowest zeta (index 0) of 2: zeta 1 ms and 2 more at a=1"]
    assert "zeta 2 ms and 2 more" in show.show_result(path)


def test_the_timer_alone_is_no_best_latency(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for target, op, median in (("null", "read", 16.0), ("memory", "read", 60.0), ("memory", "write", 90.0)):
        options = {"target": target, "bytes": 1024 if target == "null" else 4096, "op": op}
        maker.add("s", "poke", options, make.poke_text([median] * 100, target=target), axes=("target", "op"))

    assert "lowest latency p50 of 2: median 60" in " ".join(
        lines(maker.write())
    )  # which is none of those that are ranked


def test_of_sizes_the_smallest_is_no_best(make: Any, tmp_path: Path) -> None:
    """ "lowest latency of 2: 60 ns at bytes=4096" said what nobody asked: less memory is always faster. The page's table left such a sweep out."""
    maker = make.Maker(tmp_path / "r.db")
    for size, median in ((4096, 60.0), (8192, 90.0)):
        options = {"target": "memory", "bytes": size}
        maker.add("s", "poke", options, make.poke_text([median] * 100, target="memory"), axes=("bytes",))

    said = " ".join(" ".join(lines(maker.write())).split())
    assert said == "s 2 cells, the first: median 60 ns at bytes=4096; the last: median 90 ns at bytes=8192"


@pytest.mark.parametrize(
    ("tool", "fixture", "said"),
    [
        ("imb", "nbc", "Ibcast 1 B in 700 ns (with computation) and 18 more"),
        ("imb", "rma", "Unidir_put 4 B in 587 ns and 67 more"),
        ("imb", "multi0_np4", "Multi-PingPong 1 B in 780 ns (slowest rank) and 14 more"),
    ],
)
def test_a_headline_says_whose_time_it_is_and_leads_with_what_counts(
    tool: str, fixture: str, said: str
) -> None:
    parsed = get_parser(tool).parse((FIXTURES / tool / f"{fixture}.out").read_text(), {})

    assert numbers.headline(tool, parsed) == said


def test_a_floor_is_no_transfer_between_caches(make: Any) -> None:
    rows = [(0, 250.0, 20e3), (100, 140.0, 18e3), (500, 90.0, 8e3), (5000, 80.0, 1e3)]
    caches = (
        "\nMeasuring cache-to-cache transfer latency (in ns)...\nLocal Socket L2->L2 HITM latency\t44.0\n"
    )
    parsed = get_parser("mlc").parse(make.mlc_text(rows) + caches, {})

    assert numbers.headline("mlc", parsed) == "cache to cache 44.0 ns, peak 20.0 GB/s"


@pytest.mark.parametrize(("kept", "said"), [("Copy", "copy 18.6 GB/s"), ("Copy|Add", "add 20.2 GB/s")])
def test_the_rate_of_a_loop_says_of_which(kept: str, said: str, make: Any, tmp_path: Path) -> None:
    """A text of Copy alone said "bandwidth 18.6 GB/s"."""
    text = re.sub(rf"(?m)^(?!{kept})(?:Copy|Scale|Add|Triad):.*\n", "", make.stream_text(20e3, 2))
    path = make.Maker(tmp_path / "r.db").add("s", "stream", {"threads": 2}, text).write()

    assert lines(path) == [f"s  {said}"]
    assert said in show.show_result(path)


_QUANTITY = re.compile(r"([\d.\u202f]+)(?:(?: to |/)([\d.\u202f]+))? ?([kMGTµnm]?(?:B/s|IOPS|/s|s))\b")
_FACTORS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}


def told(text: str) -> list[float]:
    """The numbers of a text, in ns, B/s and 1/s; of "81.0 to 110 GB/s" both."""
    found = []
    for low, high, unit in _QUANTITY.findall(text):
        factor = _FACTORS[re.sub("B/s|IOPS|/s", "", unit) if unit not in _FACTORS else unit]
        found += [float(digits.replace("\u202f", "")) * factor for digits in (low, high) if digits]
    return found


@pytest.mark.parametrize("of", sorted(FIXTURES.glob("*/*.out")), ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_the_number_whose_range_is_told_stands_in_the_line(of: Path) -> None:
    """`show` printed fio's IOPS beside the range of the bandwidth, the latencies of all of MLC beside that of a peak, the first size of
    OSU's table beside that of the best."""
    tool = of.parent.name
    with contextlib.suppress(ParseError):
        parsed = get_parser(tool).parse(of.read_text(errors="surrogateescape"), {})
        unit, value = numbers.leading(tool, parsed) or ("", 0.0)
        if unit in ("ns", "B/s", "1/s"):
            assert pytest.approx(value, rel=0.006) in told(numbers.headline(tool, parsed))


def test_a_range_of_a_mix_says_of_which_part(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for rate in (1e4, 1.1e4, 1.2e4):
        text = make.fio_text(
            {"read": (rate, 90.0), "write": (rate / 4, 9.0)}, bs="4k", rw="randrw", iodepth=1
        )
        maker.add("s", "fio", {"rw": "randrw", "bs": "4k"}, text)

    said = show.show_result(maker.write())

    assert "r/w 11.0/2.75 kIOPS" in said
    assert "half the range of read IOPS over the runs" in " ".join(said.split())


def test_a_range_names_its_number(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for rate in (20e3, 22e3, 24e3):
        maker.add("s", "stream", {"threads": 2}, make.stream_text(rate, 2), axes=("threads",))

    said = show.show_result(maker.write())

    assert "triad 22.0 GB/s ±9.1 %" in said
    assert "±: half the range of bandwidth over the runs" in " ".join(said.split())


def test_a_range_stands_behind_its_number(make: Any, tmp_path: Path) -> None:
    """Behind the p99.9, whose repeats were 58 times apart, ±2.2 % stood, which is of the median."""
    maker = make.Maker(tmp_path / "r.db")
    for rate, latency in ((1e4, 90.0), (1.1e4, 80.0), (1.2e4, 70.0)):
        text = make.fio_text({"read": (rate, latency)}, bs="4k", rw="randread", iodepth=1)
        maker.add("s", "fio", {"rw": "randread", "bs": "4k"}, text)
    for repeat in (1, 2, 3):
        maker.add("t", "poke", {"target": "memory", "bytes": 1000}, make.poke_text([200.0 + 2 * repeat] * 20_000))  # fmt: skip

    said = show.show_result(maker.write())

    assert "read 11.0 kIOPS ±9.1 %, mean " in said
    assert "median 204 ns ±1.0 %, p99.9 " in said


def test_a_range_wider_than_the_number_is_no_plus_minus(make: Any, tmp_path: Path) -> None:
    """±297 % was said of a number that cannot be negative."""
    maker = make.Maker(tmp_path / "r.db")
    for threads, rates in ((1, (5e3, 5.1e3, 5.2e3)), (2, (1e3, 2e3, 13e3))):
        for rate in rates:
            maker.add("s", "stream", {"threads": threads}, make.stream_text(rate, threads), axes=("threads",))

    said = show.show_result(maker.write())

    assert "triad 2.00 GB/s [1.00 to 13.0 GB/s]" in said
    assert "triad 5.10 GB/s ±2.0 %" in said
    words = " ".join(said.split())
    assert (
        "±: half the range of bandwidth over the runs; […]: the range of bandwidth, wider than ±100 %"
        in words
    )


def test_what_all_cells_share_stands_above_a_table_that_is_too_wide(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    metrics = {"zeta": METRICS["zeta"]}
    for n in (1, 2):
        for value in (10 * n, 12 * n):
            options = {"command": "x", "metrics": metrics, "a_long_name_of_an_axis": "a long value of this axis, too", "another_long_axis": "its own value, longer still", "n": n}  # fmt: skip
            maker.add("s", "command", options, f"zeta {value}", axes=tuple(options)[2:])

    said = show.show_result(maker.write())

    assert "a_long_name_of_an_axis=a long value of this axis, too" in " ".join(said.split())
    assert "  1  zeta 11 ms ±9.1 %" in said


def test_in_a_narrow_terminal_no_number_and_no_reason_is_cut(make: Any, tmp_path: Path) -> None:
    """At 60 columns the ± and the column of runs were gone, below a line that explains the ±."""
    maker = make.Maker(tmp_path / "r.db")
    for n, values in enumerate((("10", "12"), ("20",)), 1):
        for value in values:
            options = {
                "command": "x",
                "metrics": METRICS,
                "an_axis_of_some_length": f"a_value_of_some_length_{n}",
            }
            maker.add(
                "s", "command", options, f"zeta {value} alpha {value}", axes=("an_axis_of_some_length",)
            )
    maker.add("t", "command", {"command": "x", "metrics": METRICS}, "", status="failed", reason=f"exit status 1{', again' * 9}")  # fmt: skip

    lines = show.show_result(maker.write(), width=60).splitlines()
    said = " ".join(" ".join(lines).split())

    assert "zeta 11 ms ±9.1 %, alpha 11 ms; n=2" in said
    assert "zeta 20 ms, alpha 20 ms; n=1" in said
    assert f"exit status 1{', again' * 9}" in said
    assert max(map(len, lines)) <= 60


def test_every_line_of_a_wide_table_has_its_number_and_what_tells_it_apart(make: Any, tmp_path: Path) -> None:
    """Texts of many options and long names: rows were alike, and had no numbers."""
    maker = make.Maker(tmp_path / "r.db")
    for n in range(6):
        options = {
            name: f"{name}-of-{n % 2}" for name in ("filename", "random_generator", "clocksource", "size")
        }
        options |= {"source": f"a_long_name_of_a_published_text_{n}_of_a_machine_fio3.36.json"}
        text = make.fio_text({"read": (1e4 * (n + 1), 90.0)}, bs="4k", rw="randread", iodepth=1)
        maker.add("s", "fio", {"rw": "randread", **options}, text, axes=tuple(options))

    shown = show.show_result(maker.write())
    rows = [line for line in shown.splitlines() if "kIOPS" in line]

    assert sorted(float(re.findall(r"read ([\d.]+) kIOPS", row)[0]) for row in rows) == [
        10,
        20,
        30,
        40,
        50,
        60,
    ]
    assert len({row.split("  read")[0] for row in rows}) == 6
    assert max(map(len, shown.splitlines())) <= 80
    assert len(set(re.findall(r"(?:filename|clocksource|size)=\S+", shown))) >= 2  # where there is no column


def test_rows_that_look_alike_tell_what_has_no_column() -> None:
    """Two texts, "randread 4k 1" both: 6.61 kIOPS of one job and 422 of 64."""
    axes = ["rw", "bs", "iodepth", "numjobs", "ioengine", "jobs", "size"]
    rows = [
        (*axes, ""),
        ("randread", "4k", "1", "1", "libaio", "1", "", "read 6.61 kIOPS, mean clat 136 µs"),
        ("randread", "4k", "1", "64", "psync", "64", "10G", "read 422 kIOPS, mean clat 149 µs"),
        ("randwrite", "4k", "1", "8", "psync", "8", "", "write 80.0 kIOPS, mean clat 90.0 µs"),
    ]
    texts = [f"a_long_name_of_a_published_text_{n}_fio3.36.json" for n in range(3)]

    (_, *told), shown, left_out = table.fitted(rows, axes, texts, 80)

    assert shown == ["text", "rw", "bs", "iodepth"]
    assert [row[-1].partition("; ")[2] for row in told] == [
        "numjobs=1; ioengine=libaio",
        "numjobs=64; ioengine=psync",
        "",
    ]
    assert left_out == ["jobs", "size"]


def test_of_cells_of_one_sweep_no_axis_is_hidden() -> None:
    """`numjobs` goes with the kind of access, so that nothing but the width asks for its column."""
    axes = ["rw", "filename", "numjobs"]
    rows = [
        (*axes, ""),
        ("randread", "/dev/disk/by-id/nvme-eui.0025385b21404a11", "1", "read 6.61 kIOPS, mean lat 136 µs"),
        (
            "randwrite",
            "/dev/disk/by-id/nvme-eui.0025385b21404a12",
            "16",
            "write 80.0 kIOPS, mean lat 90.0 µs",
        ),
    ]

    (_, *told), shown, left_out = table.fitted(rows, axes, ["", ""], 50)

    seen = [" ".join(row) for row in told]
    assert "numjobs" in shown or ["numjobs=1" in seen[0], "numjobs=16" in seen[1]] == [True, True]
    assert left_out == []


def test_attempts_are_told_apart_from_runs(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for repeat, attempt, status in ((1, 1, "failed"), (1, 2, "ok"), (2, 1, "failed"), (2, 2, "failed")):
        text = make.stream_text(20e3, 2) if status == "ok" else ""
        maker.add(
            "s",
            "stream",
            {"threads": 2},
            text,
            repeat=repeat,
            attempt=attempt,
            status=status,
            reason="exit status 3",
        )

    said = show.show_result(maker.write())

    assert "1 of 2 runs gave numbers" in said
    assert "1 run without numbers:" in said
    assert "2 attempts without numbers that another followed" in said


METRICS = {
    "zeta": {"regex": "zeta ([0-9]+)", "unit": "ms", "better": "lower"},
    "alpha": {"regex": "alpha ([0-9]+)", "unit": "ms", "better": "lower"},
    "bandwidth": {"regex": "bw ([0-9]+)", "unit": "MB/s", "better": "higher"},
}


@pytest.mark.parametrize(
    ("metrics", "texts", "said"),
    [
        (("zeta", "alpha"), ("zeta 10\nalpha 2", "zeta 12\nalpha 2"), "zeta 11 ms ±9.1 %, alpha 2 ms"),
        (("zeta", "alpha"), ("alpha 2", "zeta 10\nalpha 2", "zeta 12\nalpha 2"), "alpha 2 ms ±0 %"),
        (("zeta",), ("zeta 10000", "zeta 10001"), "zeta 10.0 s ±<0.1 %"),
        (("zeta", "bandwidth"), ("zeta 10\nbw 5", "zeta 12\nbw 7"), "bandwidth 6 MB/s ±17 %, zeta 11 ms"),
    ],
)  # fmt: skip
def test_one_number_leads_in_every_line(
    metrics: tuple[str, ...], texts: tuple[str, ...], said: str, make: Any, tmp_path: Path
) -> None:
    """In the order of the experiment, not of the alphabet; of repeats that lack one, the range is of one metric all the same."""
    maker = make.Maker(tmp_path / "r.db")
    options = {"command": "x", "metrics": {name: METRICS[name] for name in metrics}}
    for text in texts:
        maker.add("s", "command", options, text)
    path = maker.write()
    results = load([path])
    of_each_run = [numbers.headline("command", run.parsed).split()[0] for run in results.runs[-1:]]

    assert said in show.show_result(path)
    assert said.split()[0] in show.summary(results)[0]
    if len(texts) == 2:
        assert of_each_run == [said.split()[0]]


def test_a_metric_that_is_missing_is_said(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    options = {"command": "x", "metrics": {name: METRICS[name] for name in ("zeta", "alpha")}}
    maker.add("s", "command", options, "zeta 10")

    assert "s 1 run with numbers: alpha is not in the output" in " ".join(
        show.show_result(maker.write()).split()
    )


def test_numbers_that_do_not_fit_go_on_below() -> None:
    """ "others’ 139 to …" is no number, and no range."""
    told = "own memory 80.8 to 81.6 ns, others’ 139 to 140 ns ±0.8 %"
    lines = table.columns([("place", ""), ("local", told)], width=50)
    assert lines[1:] == ["  local  own memory 80.8 to 81.6 ns, others’ 139", "         to 140 ns ±0.8 %"]
    assert " ".join(" ".join(lines[1:]).split()) == " ".join(f"local {told}".split())


def test_what_was_stopped_before_its_first_run_says_how_to_go_on(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a b.db")
    maker.add("demo", "stream", {"threads": 1}, "", status="")
    path = maker.write()
    with sqlite3.connect(path) as database:
        database.execute(
            "UPDATE session SET argv = ?", [json.dumps(["run", "e\x1b[2J.yaml", "-oold.db", "--strict"])]
        )
    empty = make.Maker(tmp_path / "empty.db").write()
    with sqlite3.connect(empty) as database:
        database.execute("DELETE FROM session")

    again = f"To go on, unless it still runs: pinsweep run 'e\ufffd[2J.yaml' --strict -o '{path}'"
    assert show.show_result(path).endswith(f"1 planned run still lacks numbers.\n{again}")
    assert show.show_runs(path) == f"a b.db holds no runs\n{again}"
    assert "to go on: pinsweep run EXPERIMENT -o " in show.show_result(empty)


@pytest.mark.parametrize(("runs", "held"), [(0, "no runs"), (1, "run 1 alone"), (3, "runs 1 to 3")], ids=str)
def test_of_a_run_that_is_not_there_it_is_said_which_are(
    runs: int, held: str, make: Any, tmp_path: Path
) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for threads in range(1, 1 + runs):
        maker.add(
            "scaling", "stream", {"threads": threads}, make.stream_text(9e3, threads), axes=("threads",)
        )

    with pytest.raises(UserError, match="no run 7") as refused:
        show.show_run(maker.write(), 7)
    assert refused.value.hint == f"the file holds {held}"


@pytest.mark.parametrize("status", ["ok", "disturbed"])
def test_sweeps_stand_in_the_order_of_their_experiment(status: str, make: Any, tmp_path: Path) -> None:
    """Not in that of their runs, which is drawn by lot; nor tool by tool."""
    maker = make.Maker(tmp_path / "r.db")
    for name in ("first", "second", "third"):
        _add(maker, make, name, "", 1)
    for name in ("third", "second", "first"):
        for repeat in (1, 2, 3):
            _add(maker, make, name, status, repeat)
    path = maker.write()

    shown = [
        line.split()[0]
        for line in show.show_result(path).splitlines()
        if line[:5] in ("first", "secon", "third")
    ]
    table = _sweeps_table(load([path])).rows

    assert shown == ["first", "second", "third"]
    assert [row[0] for row in table] == ["first", "second", "third"]


def _add(maker: Any, make: Any, sweep: str, status: str, repeat: int) -> None:
    if sweep == "second":
        maker.add(sweep, "fio", {"rw": "randread"}, make.fio_text({"read": (1e4, 90.0)}, bs="4k", rw="randread", iodepth=1), status=status, repeat=repeat)  # fmt: skip
    else:
        maker.add(sweep, "stream", {"threads": 2}, make.stream_text(2e4, 2), status=status, repeat=repeat)


def test_a_disturbed_run_that_counts_says_what_disturbed_it(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    busy = {"elapsed_s": 3.0, "reasons": [{"id": "foreign", "text": "other processes took 53 % of CPU 0"}]}
    for counters in (busy, {"elapsed_s": 3.0, "reasons": []}):
        maker.add("s", "stream", {"threads": 2}, make.stream_text(2e4, 2), counters=counters)
    maker.add("s", "stream", {"threads": 2}, make.stream_text(2e4, 2), counters=busy, warm_up=True)
    path = maker.write()

    disturbed, quiet, warm_up = (show.show_run(path, number) for number in (1, 2, 3))

    assert "status     ok\ndisturbed  other processes took 53 % of CPU 0: that was allowed" in disturbed
    assert "\ndisturbed" not in quiet
    assert "disturbed  other processes took 53 % of CPU 0: a warm-up is in no number" in warm_up


SEEN = {"pid": 7, "name": "walk", "rank": None, "cpus": "0", "mems_allowed": "0", "policy": "bind:0", "pages": {"0": 5}, "threads": {"0": 1}, "last_cpus": "0"}  # fmt: skip


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (None, "not recorded"),
        ({"processes": [SEEN], "orchestrator": "1", "at_end": {"cpus": "0"}}, "walk on CPU 0, memory of node 0, 1 thread; pinsweep on CPU 1"),
        ({"processes": [{**SEEN, "rank": 3, "cpus": "0-1", "policy": "interleave=static:0-1", "threads": {"0": 1, "1": 2}}]},
         "rank 3: walk on CPUs 0-1, memory interleaved over nodes 0-1, 3 threads"),
        ({"note": "placement not seen (it took 2 ms)", "processes": []}, "placement not seen (it took 2 ms)"),
        ({"processes": "?", "more": 3}, "processes ?; more 3"),
    ],
)  # fmt: skip
def test_where_a_run_was_seen_in_words(seen: Any, said: str, make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db").add("s", "stream", {}, make.stream_text(2e4, 2))
    (run,) = load([maker.write()]).runs

    assert seen_text(replace(run.record, seen=seen)) == said


@pytest.mark.parametrize(
    ("medians", "tails", "said"),
    [
        ((150, 151, 152), (600, 610, 620), "median 151 ns ±0.7 %, p99.9 610 ns"),
        ((150, 151, 152), (600, 700, 800), "median 151 ns ±0.7 %, p99.9 700 ns [600 to 800 ns]"),
        ((150, 151, 152), (500, 700, 80_000), "median 151 ns ±0.7 %, ⚠ G11 p99.9 700 ns [0.500 to 80.0 µs]"),
        ((100, 151, 300), (600, 610, 620), "⚠ G11  median 151 ns ±66 %, p99.9 610 ns"),
    ],
)
def test_a_tail_has_its_own_range_and_mark(
    medians: tuple[int, ...], tails: tuple[int, ...], said: str, make: Any, tmp_path: Path
) -> None:
    """ "⚠ G11  median 155 ns ±2.8 %, p99.9 677 ns": the check doubts the p99.9, 544 ns to 78.7 µs."""
    maker = make.Maker(tmp_path / "r.db")
    for median, tail in zip(medians, tails, strict=True):
        text = make.poke_text([float(median)] * 19_900 + [float(tail)] * 100)
        maker.add("s", "poke", {"target": "memory", "bytes": 2**30, "op": "read"}, text)

    shown = show.show_result(maker.write()).splitlines()

    assert [line.strip() for line in shown if "p99.9 " in line and "median" in line] == [said]
    assert ("p99.9 […]: its range, wider than 25 % of it" in " ".join(shown)) is ("[" in said)
