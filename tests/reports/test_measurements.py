"""The frames of result files: input text, and the rows that come of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from reports.document import Column, Table
from reports.measurements import measure
from reports.results.load import load
from tests.reports import conftest as make


def stream(path: Path, rates: Mapping[int, float]) -> Path:
    maker = make.Maker(path)
    for threads, rate in rates.items():
        maker.add("scaling", "stream", {"threads": threads}, make.stream_text(rate, threads), axes=("threads",))
    return maker.write()


def test_a_row_is_a_number_of_a_run(tmp_path: Path) -> None:
    measured = measure(load([stream(tmp_path / "r.db", {1: 10e3, 2: 20e3})]))

    frame = measured.frame("host", "thread_count", "axes", "metric", "labels", "unit", "better")
    triad = frame[frame["labels"].map(lambda text: json.loads(text)["kernel"] == "triad")]
    assert triad[["host", "thread_count", "axes", "metric", "unit", "better"]].to_numpy().tolist() == [
        ["node07", "1", '{"threads":1}', "bandwidth", "B/s", "higher"],
        ["node07", "2", '{"threads":2}', "bandwidth", "B/s", "higher"],
    ]
    assert [round(value / 1e9) for value in triad["value"]] == [10, 20]
    assert len(measured.values) == 2 * 4
    assert measured.runs["counts"].all()


def test_tidy_has_a_column_per_axis_and_label(tmp_path: Path) -> None:
    frame = measure(load([stream(tmp_path / "r.db", {1: 10e3, 2: 20e3})])).tidy("stream")

    assert set(frame["kernel"]) == {"copy", "scale", "add", "triad"}
    assert set(frame["threads"]) == {1, 2}


def test_a_table_of_a_frame_has_missing_values_as_none(tmp_path: Path) -> None:
    frame = measure(load([stream(tmp_path / "r.db", {1: 10e3})])).frame("metric", "wall_s")

    table = Table.from_frame(frame.assign(note=float("nan")), Column(name="metric"), Column(name="note"))
    assert table.records()[0] == {"metric": "bandwidth", "note": None}
    assert table.flags == tuple(frame["flags"]) or not any(frame["flags"])


def test_numbers_without_a_direction_are_measured_on_request(tmp_path: Path) -> None:
    metrics = {"rate": {"regex": "rate ([0-9.]+)", "unit": "1/s", "better": "higher"}, "errors": {"regex": "errors ([0-9.]+)", "unit": "1"}}  # fmt: skip
    maker = make.Maker(tmp_path / "r.db")
    maker.add("s", "command", {"command": "x", "metrics": metrics}, "rate 5\nerrors 2\n")
    results = load([maker.write()])

    found = [[*measure(results, undirected=undirected).tidy("command")["metric"]] for undirected in (False, True)]
    assert found == [["rate"], ["rate", "errors"]]
