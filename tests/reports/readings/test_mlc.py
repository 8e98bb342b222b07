"""MLC read once: what charts, numbers and checks take from its tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from parsers import mlc
from pinsweep.cli import cli
from reports.charts._mlc_curves import loads
from reports.checks.mlc import curves
from reports.numbers import numbers
from reports.readings.mlc import LoadRow, entries, load_rows
from reports.results import load, model

ROWS = [(0, 250.0, 20e3), (100, 140.0, 18e3), (500, 90.0, 8e3), (5000, 80.0, 1e3)]
SIX_RUNS = Path(__file__).parents[2] / "fixtures" / "mlc" / "memlat_0.1_six_runs.out"


def results_of(make: Any, path: Path, *texts: str) -> model.Results:
    maker = make.Maker(path / "r.db")
    for text in texts:
        maker.add("s", "mlc", {"mode": "loaded_latency"}, text)
    return load.load([maker.write()])


def table(path: Path, text: str, columns: str, *more: str) -> model.Results:
    """Take in a table whose columns a person names."""
    (path / "table.txt").write_text(text, encoding="utf-8")
    arguments = ["parse", "table", str(path / "table.txt"), "--tool", "mlc", "--columns", columns, *more]
    done = CliRunner().invoke(cli, [*arguments, "-o", str(path / "r.db")])
    assert done.exit_code == 0, done.output
    return load.load([path / "r.db"])


def test_a_row_has_both_figures_and_a_delay_that_comes_twice_is_two_rows(make: Any) -> None:
    parsed = mlc.parse(make.mlc_text([*ROWS, (0, 240.0, 21e3)]))

    rows = load_rows(parsed)

    assert rows[0] == LoadRow(1, "read", 0, 1, 250.0, 20e9)
    assert rows[-1] == LoadRow(1, "read", 0, 2, 240.0, 21e9)
    assert [row.delay for row in rows] == [0, 100, 500, 5000, 0]


def test_every_section_of_a_text_is_read(make: Any, tmp_path: Path) -> None:
    found = entries.frame(results_of(make, tmp_path, SIX_RUNS.read_text()).good("mlc"))

    counted = found.groupby("section")["value"].count().to_dict()
    assert counted == {
        "bandwidth_matrix": 2, "c2c_latency": 4, "idle_latency": 1, "loaded_latency": 2, "peak_injection_bandwidth": 5,
    }  # fmt: skip
    assert set(found["metric"]) == {"latency", "bandwidth"}
    nodes = found.loc[found["section"] == "bandwidth_matrix", "target"]
    assert [str(node) for node in nodes] == ["0", "0"]  # not 0.0, though the other rows have none
    assert found["turn"].dtype == "Int64"


def test_repeats_of_a_curve_are_joined_row_by_row(make: Any, tmp_path: Path) -> None:
    rows = [*ROWS, (0, 240.0, 21e3)]
    slower = [(delay, 1.02 * latency, rate) for delay, latency, rate in rows]
    results = results_of(make, tmp_path, make.mlc_text(rows), make.mlc_text(slower))

    ((drawn,),) = loads(results.good("mlc")).values()
    (checked,) = curves(results)

    assert [(row.delay, row.latency.n) for row in drawn.rows] == [(d, 2) for d in (5000, 500, 100, 0, 0)]
    assert [row.latency.low for row in drawn.rows] == [80.0, 90.0, 140.0, 250.0, 240.0]
    assert [row.delay for row in checked.rows] == [0, 0, 100, 500, 5000]
    assert checked.rows[-1].latency == pytest.approx(80.8)


def test_a_table_with_a_column_per_traffic_is_a_curve_each(tmp_path: Path) -> None:
    text = "".join(f"{delay} {ns} {rate} {ns + 50} {rate / 2}\n" for delay, ns, rate in ROWS)
    columns = ", ".join(f"traffic={of}:latency[ns], traffic={of}:bandwidth[MB/s]" for of in ("read", "triad"))

    results = table(tmp_path, text, f"delay, {columns}")

    (drawn,) = loads(results.good("mlc")).values()
    assert {load.traffic: load.offers.peak for load in drawn} == {"read": 20e9, "triad": 10e9}
    assert {curve.traffic: curve.rows[0].latency for curve in curves(results)} == {
        "read": 250.0,
        "triad": 300.0,
    }
    compared = [n for n in numbers(results.good("mlc")[0]) if n.name.metric == "peak bandwidth"]
    assert {dict(n.name.part)["traffic"]: n.value for n in compared} == {"read": 20e9, "triad": 10e9}


def test_a_table_s_delay_that_is_no_whole_number_is_no_row_of_a_curve(tmp_path: Path) -> None:
    text = "".join(f"{delay} {ns} {rate}\n" for delay, ns, rate in [*ROWS, ("most", 70.0, 500.0)])

    results = table(tmp_path, text, "delay, latency[ns], bandwidth[MB/s]")

    ((drawn,),) = loads(results.good("mlc")).values()
    assert [row.delay for row in drawn.rows] == [5000, 500, 100, 0]
    parts = [dict(n.name.part) for n in numbers(results.good("mlc")[0]) if n.name.kind]
    assert parts[-1]["delay"] == "most"  # compared all the same
