"""Panels of any tool: what is swept over one axis, and what a run has many numbers of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from orchestrator.capture.intake import Captured, intake_options, read
from orchestrator.capture.kept import store
from pinsweep.cli import cli
from reports.charts import chart_module, curve_rows, stream
from reports.charts.command import chapter
from reports.draw import axes, vega
from reports.draw.plot import Plot
from reports.draw.vega import Frame
from reports.numbers import formulas
from reports.report import build
from reports.results.load import load
from tests.reports.texts import ladder_text

METRICS = {"v": {"regex": r"v ([0-9.]+)", "unit": "ms", "better": "lower"}, "w": {"regex": r"w (\d+)"}}
IBCAST = Path(__file__).parents[2] / "fixtures/osu/ibcast.out"


def test_an_overlap_of_nothing_has_a_place_on_its_axis(tmp_path: Path) -> None:
    """Two files make two lines, whose names stand at their ends: at 0 %, of which there is no logarithm."""
    asked = intake_options(None, (), (), (), "")
    files = [tmp_path / "a.db", tmp_path / "b.db"]
    for file in files:
        store(
            (item for item in read([str(IBCAST)], asked) if isinstance(item, Captured)),
            file,
            asked,
            version="0",
        )

    panels = [panel for figure in chapter(load(files), "osu").figures for panel in figure.panels]

    overlap = next(panel for panel in panels if "overlap" in panel.title)
    assert "(log scale)" not in str(overlap)


@pytest.mark.parametrize(("count", "rows"), [(1000, 1000), (1001, 5)])
def test_more_numbers_than_anybody_reads_are_told_by_their_quantiles(
    make: Any, tmp_path: Path, count: int, rows: int
) -> None:
    text = "".join(f"v {n}.5\n" for n in range(count)) + "w 7\n"
    maker = make.Maker(tmp_path / "r.db")
    maker.add("s", "command", {"command": "x", "metrics": METRICS}, text)

    figure = chapter(load([maker.write()])).figures[0]

    [*of_v, of_w] = figure.numbers[0].rows
    assert len(of_v) == rows
    assert of_w[1:3] == ("w", "7")
    assert ("quantiles" in figure.sub) == (rows == 5)
    if rows == 5:
        assert [row[0] for row in of_v] == ["lowest", "5 %", "median", "95 %", "highest"]
        assert [row[2:4] for row in of_v] == [
            ("500", "µs"),
            ("50.5", "ms"),
            ("500.5", "ms"),
            ("950.5", "ms"),
            ("1.000", "s"),
        ]


def test_ranks_that_the_panel_tells_are_not_told_again_by_its_lines(make: Any, tmp_path: Path) -> None:
    """A column was headed "all, 2 ranks, np 2"."""
    maker = make.Maker(tmp_path / "a.db")
    for np in (2, 4):
        rows = "".join(
            f" {size} 1000 {np * t}.10 {np * t}.20 {np * t}.15\n" for size, t in ((8, 1), (1024, 2))
        )
        text = (
            "# Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part\n# Benchmarking Allreduce\n"
            f"# #processes = {np}\n#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n{rows}"
        )
        maker.add("p", "imb", {"benchmark": "Allreduce", "np": np}, text, axes=("np",))

    page = build.build(load([maker.write()]))

    figures = [f for s in page.sections for b in s.blocks for f in b.figures]
    heads = [head for f in figures for table in (*f.tables, *f.numbers) for head in table.columns]
    assert {head for head in heads if "ranks" in head} == {
        "not placed, 2 ranks, µs",
        "not placed, 4 ranks, µs",
    }


def test_a_title_names_an_axis_that_varies(make: Any, tmp_path: Path) -> None:
    """Four sizes of the arrays by two threads were "Triad bandwidth over threads"."""
    maker = make.Maker(tmp_path / "r.db")
    for size, rate in ((1000, 90e3), (8_000_000, 9e3)):
        maker.add("s", "stream", {"threads": 2, "array_size": size}, make.stream_text(rate, 2), axes=("array_size",))  # fmt: skip

    page = build.build(load([maker.write()]))

    (title,) = [
        f.title for s in page.sections for b in s.blocks for f in b.figures if f.id.startswith("scaling")
    ]
    assert title == "STREAM bandwidth by kernel"


def curve(name: str, *points: tuple[float, float]) -> curve_rows.Curve:
    return curve_rows.Curve(name=name, points=tuple((x, formulas.spread([y])) for x, y in points))


def plot(lines: list[curve_rows.Curve], width: int) -> Plot:
    frame = Frame(width=width, height=290, left=30, right=curve_rows.name_margin(lines, width))
    return Plot(frame=frame, x=axes.integers([1, 8], "threads"), y=axes.from_zero([0, 100], "rate"))


@pytest.mark.parametrize(
    ("tool", "cells", "said"),
    [
        ("stream", [("local", 1), ("local", 4), ("remote", 4)], "remote: 4.00 GB/s with 4 threads."),
        ("mlc", [("", 16), ("", 64), ("", 256), ("", 1024), ("huge", 64)], "huge pages: 64.0 ns at 64 KiB."),
        ("command", [("a", 1), ("a", 2), ("a", 4), ("b", 4)], "alg b: 4.00 ms at n 4."),
        ("fio", [("randread", 1), ("randread", 8), ("randwrite", 8)], "randwrite: 7.60 µs at depth 8."),
        ("fio", [("randread", 1), ("randread", 8), ("randwrite", 8)], "randwrite: 7.60 µs at 8.00 kIOPS."),
    ],
)
def test_a_picture_tells_the_only_point_of_a_curve_once(
    tool: str, cells: Sequence[tuple[str, int]], said: str, make: Any, tmp_path: Path
) -> None:
    """ "alg b: 4.00 ms at n 4, 4.00 ms at n 4." was read aloud."""
    maker = make.Maker(tmp_path / "a.db")
    for name, n in cells:
        if tool == "stream":
            maker.add(
                "s",
                tool,
                {"threads": n},
                make.stream_text(1000.0 * n, n),
                axes=("threads", "place"),
                place=name,
            )
        elif tool == "mlc":
            options = {"mode": "idle_latency", "b": f"{n}k", "L": bool(name)}
            maker.add("s", tool, options, ladder_text(n << 10, float(n), huge=bool(name)), axes=("b", "L"))
        elif tool == "command":
            options = {"command": "x", "metrics": METRICS, "alg": name, "n": n}
            maker.add("s", tool, options, f"v {n}.00\n", axes=("alg", "n"))
        else:
            text = make.fio_text(
                {name.removeprefix("rand"): (1000.0 * n, 1.0 * n)}, bs="4k", rw=name, iodepth=n
            )
            maker.add("s", tool, {"rw": name, "bs": "4k", "iodepth": n}, text, axes=("rw", "iodepth"))

    figures = chart_module(tool).chapter(load([maker.write()]), tool).figures
    described = [panel.description for figure in figures for panel in figure.panels]

    assert any(said in text for text in described), described


def test_a_name_that_is_too_wide_keeps_what_differs() -> None:
    """They were cut at their ends, "place not said, 2 ranks, gro…", or left the picture."""
    lines = [curve(f"place not said, 2 ranks, group {i}", (1, 50 - i), (8, 90 - i * 40)) for i in (0, 1)]

    for width in (544, 368):
        names = curve_rows.end_names(lines, plot(lines, width), 1)["names"]
        assert [row["text"] for row in names] == ["group 0", "group 1"]

    lines = [curve(f"alg {a}, size {n}", (1, 1), (8, 90)) for a in ("slow", "fast") for n in (1, 64)]
    names = curve_rows.end_names(lines, plot(lines, 240), 1)["names"]
    assert [row["text"] for row in names] == ["slow, 1", "slow, 64", "fast, 1", "fast, 64"]
    assert plot(lines, 544).frame.width % 1 == curve_rows.name_margin(lines, 368) % 1 == 0


def test_no_hairline_goes_through_a_name() -> None:
    """Of two lines that end early at one point one had its name there, and the other a hairline through that."""
    early = [curve(f"alg slow, size {n}", (1, 10), (2, 20)) for n in (1, 64)]
    lines = [*early, curve("alg fast", (1, 12), (2, 24), (4, 26), (8, 22))]
    for width in (544, 368, 300):
        made = plot(lines, width)
        rows = curve_rows.end_names(lines, made, 1)
        boxes = [curve_rows.note_box(row, made, 12) for row in rows["names"]]
        for lead in rows["leads"]:
            x, y = made.at(float(lead["x"]), float(lead["y"]))
            for k in range(1, 60):
                at = (x + (float(lead["x2_px"]) - x) * k / 60, y + (float(lead["y2_px"]) - y) * k / 60)
                assert not any(b[0] < at[0] < b[2] and b[1] < at[1] < b[3] for b in boxes), (width, lead)


def test_an_axis_is_as_wide_as_its_picture_without_a_slot_for_zero() -> None:
    """Times of messages of which none has 0 B were drawn as wide as the template's sample: on a phone half of them fell off."""
    line = curve("p", (8, 2), (2048, 9))
    for width in (544, 368):
        frame = Frame(width=width, height=290, left=30, right=20)
        x, y = axes.powers_of_two([8, 2048], "Message size"), axes.decades([2, 9], "Time")
        spec = vega.fill(
            "pingpong-time", frame=frame, x=x, y=y, series=curve_rows.series_of([line], {}), data={}
        )
        assert spec["encoding"]["x"]["scale"]["range"] == [0, frame.plot_width]


def test_panels_of_messages_share_their_axis_of_time_and_of_bandwidth(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for np, slower in ((2, 1.0), (4, 90.0)):
        times = {0: 0.2 * slower} | {2**p: (0.2 + 2**p / 9e3) * slower for p in range(12)}
        maker.add("p", "imb", {"benchmark": "PingPong", "np": np}, make.imb_text(times), axes=("np",))
    built = build.build(load([maker.write()]))
    (found,) = [
        f for s in built.sections for b in s.blocks for f in b.figures if f.id.startswith("imb-PingPong")
    ]

    axes = [panel.wide["encoding"]["y"]["scale"]["domain"] for panel in found.panels]
    assert len(axes) == 4
    assert axes[0] == axes[2]  # times
    assert axes[1] == axes[3]  # bandwidths
    told = found.panels[0].wide["encoding"]["y"]["axis"]["labelExpr"]
    assert '"10 µs"' in told, "a time has its own unit at each tick: it went up to 10 000 000 ns"


@pytest.mark.parametrize(("slow", "kind"), [(6e3, "log"), (60e3, "linear")])
def test_panels_of_bandwidths_have_one_axis_of_one_kind(
    make: Any, tmp_path: Path, slow: float, kind: str
) -> None:
    """The slowest of eight had a log axis and the others linear ones: 8 GB/s stood as far right as 36 beside it."""
    maker = make.Maker(tmp_path / "r.db")
    for arrays, triad in (("1M", slow), ("2M", 262e3), ("4M", 100e3)):
        maker.add("s", "stream", {"array_size": arrays, "threads": 4}, make.stream_text(triad, 4), axes=("array_size",))  # fmt: skip
    built = build.build(load([maker.write()]))
    (found,) = [f for s in built.sections for b in s.blocks for f in b.figures if f.id.startswith("scaling")]

    assert len(found.panels) == 3
    scales = {str(panel.wide["encoding"]["x"]["scale"]) for panel in found.panels}
    assert len(scales) == 1
    assert f"'type': '{kind}'" in scales.pop()


def test_lines_of_a_panel_have_colours_of_their_own_though_the_figure_has_more_names() -> None:
    """All beyond the fourth were grey, two of them beside one another."""
    panels = [["a"], ["b", "c"], ["d", "e"], ["f", "g", "a"]]

    colours = curve_rows.told_apart("abcdefg", panels)

    assert vega.GREY not in colours.values()
    assert all(len({colours[name] for name in own}) == len(own) for own in panels)
    assert curve_rows.told_apart("abcde", ["abcde"])["e"] == vega.GREY  # there is no fifth


def test_beside_lines_stands_what_tells_them_apart(tmp_path: Path) -> None:
    """ "text allr…e_full, m…" stood beside two of three lines of a narrow panel, and its axis' title went over its edge."""
    drawn = [curve_rows.Curve(name=f"text allreduce_full, {of}", points=((1.0, formulas.spread([2.0])),)) for of in ("mean", "min", "max")]  # fmt: skip
    alike = [
        curve_rows.Curve(name=f"{'very ' * 9}long name {of}", points=((1.0, formulas.spread([2.0])),))
        for of in "ab"
    ]

    for lines, told in ((drawn, ["mean", "min", "max"]), (alike, ["a", "b"])):
        frame = Frame(width=368, height=280, left=40, right=curve_rows.name_margin(lines, 368))
        plot = Plot(frame=frame, x=axes.powers_of_two([1, 2], "x"), y=axes.amounts([1.0, 2.0], "y"))
        assert [row["text"] for row in curve_rows.end_names(lines, plot, 1.0)["names"]] == told


def test_the_same_lines_are_grey_in_both_panels_of_messages(make: Any, tmp_path: Path) -> None:
    """Beside the bandwidths stood the names of all eight places, of which the times beside them had five in grey."""
    maker = make.Maker(tmp_path / "r.db")
    for i in range(8):
        text = make.imb_text({size: (i + 1) * (1 + size / 1000) for size in (0, 64, 4096, 65536)})
        maker.add("s", "imb", {}, text, axes=("place",), place=f"pair {i}")

    (figure,) = chart_module("imb").chapter(load([maker.write()])).figures

    assert "Grey: all but the worst three by time." in figure.sub
    for panel in figure.panels:
        assert [row["series"] for row in panel.wide["datasets"]["names"]] == ["pair 5", "pair 6", "pair 7"]


@pytest.mark.parametrize(
    ("cells", "said"),
    [(24, ""), (25, " 1 more row is in the numbers only."), (30, " 6 more rows are in the numbers only.")],
)
def test_rows_that_no_picture_has_are_said(cells: int, said: str, make: Any, tmp_path: Path) -> None:
    """Of thirty cells a picture has 24, and nothing said so."""
    maker = make.Maker(tmp_path / "r.db")
    for i in range(cells):
        maker.add(
            "s",
            "command",
            {"command": "x", "metrics": METRICS, "alg": f"a{i}"},
            f"v {i + 1}.0\n",
            axes=("alg",),
        )

    (figure,) = chapter(load([maker.write()])).figures

    assert len(figure.panels[0].wide["datasets"]["rows"]) == 24
    assert (" more row" in figure.sub) == bool(said)
    assert said in figure.sub


def test_an_axis_has_the_number_and_its_unit_alone(make: Any, tmp_path: Path) -> None:
    """The benchmark stands in the panel's title; behind it the unit was cut off on a narrow page."""
    maker = make.Maker(tmp_path / "a.db")
    for text in (IBCAST, IBCAST.with_name("latency.out")):
        maker.add("s", "osu", {"text": text.stem}, text.read_text(), axes=("text",))

    (figure,) = chapter(load([maker.write()]), "osu").figures

    titles = {panel.title: panel.narrow["encoding"]["y"]["title"] for panel in figure.panels}
    assert (
        titles["mean time overall, MPI Non-Blocking Broadcast Latency Test"]
        == "mean time overall, µs (log scale)"
    )


def test_texts_of_one_point_each_are_rows_of_one_picture(make: Any, tmp_path: Path) -> None:
    """Thirteen texts were eight panels of four dots, and six that were not drawn."""
    for n, rate in enumerate((2e4, 9e4, 3e4, 1e4)):
        (tmp_path / f"{n}.txt").write_text(make.stream_text(rate, 4))
    done = CliRunner().invoke(cli, ["parse", "stream", *map(str, sorted(tmp_path.glob("*.txt"))), "-o", str(tmp_path / "r.db")])  # fmt: skip
    assert done.exit_code == 0, done.output

    (figure,) = stream.chapter(load([tmp_path / "r.db"])).figures
    (panel,) = figure.panels

    assert [row["name"] for row in panel.wide["datasets"]["rows"]] == ["1.txt", "2.txt", "0.txt", "3.txt"]
    assert figure.title == "STREAM Triad moves 10.0 to 90.0 GB/s in 4 texts"
    assert len(figure.numbers[0].rows) == 16
