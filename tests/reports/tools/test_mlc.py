"""MLC and memlat: tables in, numbers, flags and figures out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.model import Cell
from parsers import mlc as parser
from reports.measurements import measure
from reports.numbers import fresh
from reports.render import points, vega
from reports.render.points import select
from reports.results.load import load
from reports.results.model import Results
from reports.tools import mlc
from reports.tools.mlc import Load, offers_of

FIXTURES = Path(__file__).parents[2] / "fixtures" / "mlc"
IDLE = [Load(delay, 50, 1e9) for delay in (1000, 900, 800)]
ROWS = [(0, 200.0, 18e3), (50, 110.0, 25e3), (200, 70.0, 10e3), (1000, 60.0, 3e3), (20000, 60.0, 1150.0)]


def results(make: Any, path: Path, *cells: tuple[dict[str, Any], str], **options: Any) -> Results:
    """One run per cell: its options, its text."""
    maker = make.Maker(path / "r.db")
    for cell, text in cells:
        axes = tuple(name for name in cell if name != "mode")
        maker.add("s", "mlc", {"mode": "loaded_latency", **cell}, text, axes=axes, **options)
    return load([maker.write()])


def test_the_seed_curve_offers_what_was_read_by_hand(seeds: Any) -> None:
    read = offers_of([Load(d, ns, mb * 1e6) for d, ns, mb in seeds.mlc()[64, ""]])

    assert (read.peak, read.latency_at_peak) == (pytest.approx(25930.6e6), 106.63)
    assert read.unloaded == 61.98  # the median of the rows up to 2.59 GB/s: delays 1300 to 20000
    assert read.is_doubled
    assert read.at_double == pytest.approx(25930.6e6, rel=0.01)


@pytest.mark.parametrize(
    ("rows", "unloaded", "at_double", "is_doubled"),
    [
        ([*IDLE, Load(100, 80, 12e9), Load(50, 120, 16e9), Load(0, 200, 11e9)], 50, 14e9, True),  # between two rows
        ([*IDLE, Load(100, 80, 12e9)], 50, 12e9, False),
        ([*IDLE, Load(200, 120, 3e9), Load(50, 60, 8e9), Load(0, 70, 12e9)], 50, 12e9, False),  # a disturbed row
        ([Load(500, 90, 2e9)], 90, 2e9, False),
    ],
)  # fmt: skip
def test_a_curve_offers(rows: list[Load], unloaded: float, at_double: float, is_doubled: bool) -> None:
    found = offers_of(rows)

    assert (found.unloaded, found.at_double, found.is_doubled) == (unloaded, pytest.approx(at_double), is_doubled)  # fmt: skip


def test_a_curve_that_begins_at_half_of_its_peak_has_no_unloaded_latency() -> None:
    assert not offers_of([Load(100, 90, 6e9), Load(0, 200, 10e9)]).is_idle


def test_curves_of_one_mix_are_told_apart_by_their_cells(make: Any, tmp_path: Path) -> None:
    text = make.mlc_text(ROWS)
    measured = measure(results(make, tmp_path, ({"t": 1}, text), ({"t": 2}, text)))
    rows = select(mlc.LOADED, measured.tidy("mlc"))

    assert [row[0] for row in mlc.offers_table(rows).rows] == ["t=1", "t=2"]
    assert points.table(mlc.LOADED, points.group(mlc.LOADED, rows, measured.keys("mlc"))).columns[1].name == "delay"


def test_a_delay_that_comes_twice_is_two_numbers(make: Any) -> None:
    found = [n for n in mlc._numbers(parser.parse(make.mlc_text([*ROWS, (0, 240.0, 21e3)]))) if n.name.metric == "latency"]  # fmt: skip

    assert [(dict(n.name.part)["delay"], dict(n.name.part).get("turn")) for n in found] == [
        (0, None), (50, None), (200, None), (1000, None), (20000, None), (0, 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "unit", "value", "kinds"),
    [
        ("loaded", "B/s", 25e9, ["unloaded latency", "peak bandwidth"]),
        ("latencies", "ns", 79.4, ["local memory", "remote memory"]),
        ("rates", "B/s", 41.2e9, ["local memory"]),
    ],
)
def test_a_cell_is_represented_by_its_highest_rate_or_its_lowest_latency(
    make: Any, text: str, unit: str, value: float, kinds: list[str]
) -> None:
    texts = {
        "loaded": make.mlc_text(ROWS), "latencies": make.matrix_text([[80.1, 140.2], [141.3, 79.4]]),
        "rates": make.matrix_text([[41e3, 20e3], [20.5e3, 41.2e3]], bandwidth=True),
    }  # fmt: skip
    parsed = parser.parse(texts[text])

    cell = fresh(Cell(sweep="s", tool="mlc", options={}), [parsed])

    assert cell.lead
    assert (cell.lead.unit, cell.values) == (unit, (value,))
    assert all(kind in cell.headline for kind in kinds)


@pytest.mark.parametrize(
    ("rows", "check", "level", "metrics"),
    [
        (ROWS, "", "", set()),
        ([*ROWS[:3], (1000, 76.0, 3000.0), ROWS[4]], "M1", "warn", {"latency/1000"}),
        ([*ROWS[:3], (1000, 75.0, 3000.0), ROWS[4]], "", "", set()),  # 1.07 × the lowest
        ([*ROWS[:4], (20000, 66.0, 1150.0)], "M1", "warn", {"latency/20000", "latency/unloaded"}),
        ([*ROWS[:4], (20000, 60.0, 900.0)], "M2", "error", {""}),  # the latency thread alone moves 1.07 GB/s
    ],
)
def test_rows_that_are_flagged(
    make: Any, tmp_path: Path, rows: list[tuple[int, float, float]], check: str, level: str, metrics: set[str]
) -> None:
    found = measure(results(make, tmp_path, ({}, make.mlc_text(rows)))).findings

    assert [(f.id, f.level) for f in found] == ([(check, level)] if check else [])
    assert {str(doubt[-1] or "") for f in found for doubt in f.doubts} == metrics


@pytest.mark.parametrize(("peak", "ids"), [(22e3, ["M2"]), (21e3, [])])
def test_more_than_the_modules_can_move(make: Any, tmp_path: Path, peak: float, ids: list[str]) -> None:
    maker = make.Maker(tmp_path / "a.db")
    maker.facts = {**maker.facts, "dimms": "1 × 16 GB DDR4 2666 MT/s, 1 slot empty"}  # 21.3 GB/s
    maker.add("s", "mlc", {"mode": "loaded_latency"}, make.mlc_text([ROWS[0], (50, 110.0, peak), *ROWS[2:]]))

    assert [f.id for f in measure(load([maker.write()])).findings] == ids


@pytest.mark.parametrize(
    ("cores", "lines", "ids"), [(2, 96.2, ["M4"]), (2, 95.9, []), (64, 3072.4, ["M4"]), (64, 4000.0, ["M4"])]
)
def test_more_lines_than_cores_can_wait_for(make: Any, tmp_path: Path, cores: int, lines: float, ids: list[str]) -> None:  # fmt: skip
    maker = make.Maker(tmp_path / "a.db")
    maker.topology = f"pack:1 numa:1(memory=8GB) core:{cores} pu:1"
    text = make.mlc_text([(0, 100.0, lines * 640), (1000, 80.0, 2000.0)], traffic="6")
    maker.add("s", "mlc", {"mode": "loaded_latency", "W": "6"}, text)

    assert [f.id for f in measure(load([maker.write()])).findings] == ids


@pytest.mark.parametrize(("factor", "ids"), [(1.0124, ["G1"]), (0.8, [])])
def test_a_stride_without_effect_on_one_traffic(make: Any, tmp_path: Path, factor: float, ids: list[str]) -> None:  # fmt: skip
    cells = []
    for traffic, stride, times in (("", 64, 1.0), ("", 256, 0.7), ("6", 64, 1.0), ("6", 256, factor)):
        rows = [(d, 90.0 + 2000 / (10 + d), 2e6 * times / (1 + d / 1000)) for d in (0, 50, 100, 200, 300, 500)]  # fmt: skip
        cells.append(({"W": traffic or "R", "l": stride}, make.mlc_text(rows, traffic=traffic, stride=stride)))  # fmt: skip

    found = measure(results(make, tmp_path, *cells)).findings

    assert [f.id for f in found if f.id == "G1"] == ids


def figures(found: Results) -> dict[str, Any]:
    rows = measure(found).tidy("mlc")
    return {chart.id: figure for chart in mlc.TOOL.CHARTS if (figure := vega.figure(chart, rows))}


def test_loaded_latency_is_a_line_per_traffic_and_a_panel_per_stride(make: Any, tmp_path: Path) -> None:
    cells = [
        ({"W": traffic or "R", "l": stride}, make.mlc_text([(d, ns, mb * factor) for d, ns, mb in ROWS], traffic=traffic, stride=stride))
        for traffic, stride, factor in (("", 64, 1.0), ("", 256, 0.9), ("6", 64, 0.6))
    ]  # fmt: skip
    found = results(make, tmp_path, *cells)

    figure = figures(found)["loaded"]
    table = figure.table
    assert {(row["kind"], row["traffic"]) for row in table.records()} == {
        ("64 B stride", "read only"), ("256 B stride", "read only"), ("64 B stride", "write only, non-temporal"),
    }  # fmt: skip
    assert len(table.rows) == 3 * len(ROWS)
    offered = figure.summary.records()
    assert [round(float(row["peak"])) for row in offered] == [25_000_000_000, 22_500_000_000, 15_000_000_000]  # type: ignore[arg-type]
    assert {row["unloaded"] for row in offered} == {60.0}
    assert [[*row.values()][:2] for row in offered] == [
        ["64 B stride", "read only"], ["256 B stride", "read only"], ["64 B stride", "write only, non-temporal"],
    ]  # fmt: skip


def test_idle_latencies_of_many_buffers_are_a_ladder(make: Any, tmp_path: Path) -> None:
    cells = [({"mode": "idle_latency", "b": f"{size}k"}, f"Each iteration took {4.0 * size:.1f} base frequency clocks (\t{2.0 * size:.1f}\tns)\n") for size in (16, 64, 256, 1024)]  # fmt: skip
    table = figures(results(make, tmp_path, *cells))["ladder"].table

    assert [row["size"] for row in table.records()] == [16 << 10, 64 << 10, 256 << 10, 1 << 20]


@pytest.mark.parametrize(
    ("bandwidth", "id_", "title"),
    [(False, "latency_matrix", "Remote memory answers in 141 ns"), (True, "bandwidth_matrix", "Remote memory delivers 141 MB/s")],
)  # fmt: skip
def test_a_matrix_is_a_heat_map(make: Any, tmp_path: Path, bandwidth: bool, id_: str, title: str) -> None:
    text = make.matrix_text([[80.0, 140.0], [142.0, 80.0]], bandwidth=bandwidth)

    figure = figures(results(make, tmp_path, ({"mode": id_}, text)))[id_]

    assert figure.title.startswith(title)
    assert [(row["from"], row["to"], row["median"]) for row in figure.table.records()][:2] == [
        (0, 0, 80.0 * (1e6 if bandwidth else 1)), (0, 1, 140.0 * (1e6 if bandwidth else 1)),
    ]  # fmt: skip


def test_every_table_of_a_text_is_in_a_figure(make: Any, tmp_path: Path) -> None:
    found = results(make, tmp_path, ({}, (FIXTURES / "memlat_0.1_six_runs.out").read_text()))

    assert set(figures(found)) == {"bandwidth_matrix", "c2c_latency", "latencies", "peaks"}
