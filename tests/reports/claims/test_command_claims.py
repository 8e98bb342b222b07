"""Figures of any program: a colour is one series, the worst are the worst, and a run's own rows are no repeats."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from reports.checks import audit
from reports.draw import interactive, vega
from reports.draw.figure import Figure
from reports.report import build
from reports.results.load import load

FIXTURES = Path(__file__).parents[2] / "fixtures"


def figure(path: Path, tool: str) -> Figure:
    built = build.build(load([path]))
    (found,) = [f for s in built.sections for b in s.blocks if b.tool == tool for f in b.figures]
    return found


def sweep(make: Any, path: Path, better: str) -> Path:
    """Nine series over threads: latency grows with n, the rate falls with it."""
    maker = make.Maker(path)
    metrics = {
        "lat": {"regex": r"lat ([\d.]+)", "unit": "us", "better": better},
        "rate": {"regex": r"rate ([\d.]+)", "unit": "MB/s", "better": "higher"},
    }
    for n in range(9):
        for threads in (1, 2, 4):
            options = {"command": "demo", "metrics": metrics, "alg": f"a{n}", "threads": threads}
            text = f"lat {10 + n + threads}\nrate {100 - (n * 7 % 9) + threads}\n"
            maker.add("demo", "command", options, text, axes=("threads", "alg"))
    written: Path = maker.write()
    return written


def lit(path: Path) -> list[set[str]]:
    return [
        {name for name, colour in interactive.series_of(panel.wide) if colour != vega.GREY}
        for panel in figure(path, "command").panels
    ]


def test_the_lit_are_the_worst_by_the_number_s_own_direction(make: Any, tmp_path: Path) -> None:
    lower, higher = sweep(make, tmp_path / "l.db", "lower"), sweep(make, tmp_path / "h.db", "higher")

    assert lit(lower) == [{"alg a6", "alg a7", "alg a8"}] * 2
    assert lit(higher) == [{"alg a0", "alg a1", "alg a2"}] * 2
    assert figure(lower, "command").sub.endswith("Grey: all but the worst three by lat.")


def test_a_colour_is_the_same_series_in_every_panel(make: Any, tmp_path: Path) -> None:
    found: dict[str, str] = {}
    for panel in figure(sweep(make, tmp_path / "r.db", "lower"), "command").panels:
        for name, colour in interactive.series_of(panel.wide):
            if colour != vega.GREY:
                assert found.setdefault(name, colour) == colour
    assert len(set(found.values())) == len(found) == 3


def test_sizes_and_statistics_of_one_run_are_no_repeats(make: Any, tmp_path: Path) -> None:
    text = (FIXTURES / "osu" / "allreduce_full.out").read_text()
    path = make.Maker(tmp_path / "r.db").add("s", "osu", {"np": 2}, text).write()

    found = figure(path, "osu")

    assert {row[-1] for row in found.numbers[0].rows} == {"1"}
    (panel,) = found.panels
    assert panel.title == "latency"
    assert {name for name, _ in interactive.series_of(panel.wide)} == {"mean", "min", "max"}
    assert "repeats" not in found.sub
    assert "iterations" not in str(found.numbers[0].rows)


def test_a_message_without_bytes_is_said_to_be_missing_in_the_picture(make: Any, tmp_path: Path) -> None:
    text = (FIXTURES / "osu" / "latency.out").read_text()
    path = make.Maker(tmp_path / "r.db").add("s", "osu", {"np": 2}, text).write()

    found = figure(path, "osu")

    assert found.panels[0].title == "mean latency"
    assert found.sub.endswith("Messages of 0 B are in the numbers only.")
    assert found.numbers[0].rows[0] == ("0 B", "mean latency", "200", "ns", "1")


def test_likwid_bench_leads_with_its_bandwidth(make: Any, tmp_path: Path) -> None:
    text = (FIXTURES / "likwid_bench" / "copy_two_threads.out").read_text()
    path = make.Maker(tmp_path / "r.db").add("s", "likwid_bench", {"test": "copy"}, text).write()

    found = figure(path, "likwid_bench")

    assert [panel.title for panel in found.panels] == ["bandwidth"]
    assert "cycles" not in str(found.numbers)


def test_what_a_user_names_is_drawn_whatever_its_direction(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    metrics = {"count": {"regex": r"count (\d+)", "better": "neither"}}
    maker.add("s", "command", {"command": "demo", "metrics": metrics}, "count 3\ncount 5\n")

    found = figure(maker.write(), "command")

    assert [row[-4:] for row in found.numbers[0].rows] == [
        ("count", "3", "", "1"),
        ("count", "5", "", "1"),
    ]


def test_a_number_beside_its_bar_has_a_unit_that_fits_it(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    metrics = {"rate": {"regex": r"rate ([\d.]+)", "unit": "MB/s", "better": "higher"}}
    for alg, rate in (("slow", 2.26), ("quick", 9100)):
        maker.add(
            "demo",
            "command",
            {"command": "demo", "metrics": metrics, "alg": alg},
            f"rate {rate}\n",
            axes=("alg",),
        )

    (panel,) = figure(maker.write(), "command").panels

    assert {row["text"] for row in panel.wide["datasets"]["rows"]} == {"2.26 MB/s", "9.10 GB/s"}


def test_an_axis_is_not_named_by_another_tool_s_words(make: Any, tmp_path: Path) -> None:
    """`b` is a buffer, `l` a stride and `bs` a block of the tools that have these options; a command's axis is called as it is."""
    maker = make.Maker(tmp_path / "r.db")
    metrics = {"rate": {"regex": r"rate ([\d.]+)", "unit": "MB/s", "better": "higher"}}
    for b, l in ((1, 64), (2, 128)):  # noqa: E741 (the names are the case)
        for rate in (100 * b, 300 * b):
            options = {"command": "x", "metrics": metrics, "b": b, "l": l, "bs": 4, "mode": "y"}
            maker.add("s", "command", options, f"rate {rate}\n", axes=("b", "l", "bs", "mode"))
    path = maker.write()

    (finding,) = audit.audit(load([path]))
    assert finding.title.startswith("b=1, l=64, mode=y: 100 MB/s and 300 MB/s")
    assert "l 64, bs 4" not in str(built := figure(path, "command"))
    assert not any(word in str(built) for word in ("buffer", "stride", "blocks"))


def test_levels_in_order_have_ordered_colours_and_the_best_cell_a_ring(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    metrics = {
        "rate": {"regex": r"rate ([\d.]+)", "unit": "MB/s", "better": "higher"},
        "wait": {"regex": r"wait ([\d.]+)", "unit": "us", "better": "lower"},
    }
    for threads, size in itertools.product((1, 2, 4, 8), (4096, 64, 1)):
        rate = threads * (100 + size) / (4 if threads == 8 else 1)
        options = {"command": "x", "metrics": metrics, "threads": threads, "size": size}
        maker.add("s", "command", options, f"rate {rate}\nwait {1e5 / rate}\n", axes=("threads", "size"))
    found = figure(maker.write(), "command")

    for panel in found.panels:
        scale = panel.wide["encoding"]["color"]["scale"]
        assert dict(zip(scale["domain"], scale["range"], strict=True)) == dict(
            zip(("size 1", "size 64", "size 4096"), vega.ordered(3), strict=True)
        )
    rings = [panel.wide["datasets"]["rings"] for panel in found.panels]
    assert all((ring["series"], ring["x"]) == ("size 4096", 4) for (ring,) in rings)
    assert " Ring: the best cell." in found.sub


def test_of_two_cells_that_are_as_good_none_is_the_best(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    metrics = {"rate": {"regex": r"rate ([\d.]+)", "unit": "MB/s", "better": "higher"}}
    for threads, rate in ((1, 10), (2, 20), (4, 20)):
        maker.add("s", "command", {"command": "x", "metrics": metrics, "threads": threads}, f"rate {rate}\n", axes=("threads",))  # fmt: skip
    found = figure(maker.write(), "command")

    assert [panel.wide["datasets"]["rings"] for panel in found.panels] == [[]]
    assert "Ring" not in found.sub


def test_the_best_says_how_many_are_within_its_repeats_and_has_no_ring_then(
    make: Any, tmp_path: Path
) -> None:
    """ "best of 16 cells" and a ring stood at 1.98 µs beside seven cells of 1.99 to 2.01, each ±0.7 %."""
    maker = make.Maker(tmp_path / "r.db")
    metrics = {
        "rate": {"regex": r"rate (\S+)", "unit": "MB/s", "better": "higher"},
        "lat": {"regex": r"lat (\S+)", "unit": "us", "better": "lower"},
    }
    for n, lat in ((1, 1.99), (2, 1.98), (4, 2.00), (8, 5.0)):
        for by in (0.993, 1.0, 1.007):
            text = f"rate {100 * n * by:.3f}\nlat {lat * by:.4f}\n"
            maker.add("s", "command", {"command": "x", "metrics": metrics, "n": n}, text, axes=("n",))
    path = maker.write()

    keys = {one.name: one.context for one in build.build(load([path])).key_numbers}
    found = figure(path, "command")

    assert keys == {"rate": "n 8; best of 4 cells", "lat": "n 2; best of 4 cells; repeats of 2 overlap"}
    assert [len(panel.wide["datasets"]["rings"]) for panel in found.panels] == [1, 0]


def test_a_key_number_names_its_sweep_beside_one_of_another_tool(make: Any, tmp_path: Path) -> None:
    options = {
        "command": "sort",
        "metrics": {"time": {"regex": r"time (\S+)", "unit": "s", "better": "lower"}},
    }
    alone, beside = (make.Maker(tmp_path / name) for name in ("alone.db", "beside.db"))
    for maker in (alone, beside):
        for n in (1, 2):
            maker.add("sorting", "command", {**options, "n": n}, f"time {n}\n", axes=("n",))
    beside.add("loops", "stream", {"threads": 1}, make.stream_text(9840.0, 1))

    def told(maker: Any) -> str:
        (number,) = (n for n in build.build(load([maker.write()])).key_numbers if n.name == "time")
        return str(number.context)

    assert told(alone) == "n 1; best of 2 cells"
    assert told(beside) == "sorting; n 1; best of 2 cells"


def test_of_many_hosts_a_key_number_is_of_their_medians(make: Any, tmp_path: Path) -> None:
    """It was the best session of the best host, "best of 20 cells", which named neither."""
    options = {
        "command": "x",
        "metrics": {"rate": {"regex": r"rate (\S+)", "unit": "MB/s", "better": "higher"}},
    }
    files = []
    for i in range(10):
        maker = make.Maker(tmp_path / f"n{i}.db", host=f"n{i}")
        for n in (1, 2):
            maker.add("s", "command", {**options, "n": n}, f"rate {100 * n + i}\n", axes=("n",))
        files.append(maker.write())

    (number,) = build.build(load(files)).key_numbers

    assert (number.value, number.context) == ("204", "n 2; best of 2 cells; median of 10 hosts")


def test_numbers_of_opposite_direction_are_not_one_name(make: Any, tmp_path: Path) -> None:
    """Of three sweeps with one title the slowest "time" stood alone as "the best": in one of them more was better."""
    maker = make.Maker(tmp_path / "r.db")
    for sweep, better in (("walk", "lower"), ("walkh", "higher")):
        metrics = {"time": {"regex": r"time (\S+)", "unit": "ns", "better": better}}
        for n in (1, 2):
            options = {"command": "x", "metrics": metrics, "n": n}
            maker.add(sweep, "command", options, f"time {n}\n", axes=("n",), sweep_title="Row against column")

    found = {n.value: n.context for n in build.build(load([maker.write()])).key_numbers}

    assert found == {
        "1": "Row against column (walk); n 1; best of 2 cells; less is better",
        "2": "Row against column (walkh); n 2; best of 2 cells; more is better",
    }


def test_levels_in_the_description_of_a_picture_are_written_out(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    options = {"command": "sort", "metrics": {"time": {"regex": r"time (\S+)", "unit": "s"}}}
    for n in (1_000_000, 20_000_000):
        maker.add("sorting", "command", {**options, "n": n}, f"time {n / 1e6}\n", axes=("n",))
    (panel,) = figure(maker.write(), "command").panels

    thin = "\u202f"
    assert panel.description.endswith(f"1.0 s at n 1{thin}000{thin}000, 20.0 s at n 20{thin}000{thin}000.")
