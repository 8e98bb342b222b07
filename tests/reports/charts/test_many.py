"""Of very many cells the charts keep what is drawn and the first rows: what stands there is what stands there of few."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from reports.charts import chart_module
from reports.charts.chapter import Chapter
from reports.draw.figure import Figure
from reports.results.load import load
from reports.results.model import Results


def with_bins(text: str, scale: float) -> str:
    """Return fio's text as json+ has it, with two peaks in the latencies."""
    told = json.loads(text)
    told["jobs"][0]["read"]["lat_ns"]["bins"] = {
        str(round(90_000 * scale)): 600,
        str(round(300_000 * scale)): 400,
    }
    return json.dumps(told)


@pytest.fixture
def results(make: Any, tmp_path: Any) -> Results:
    maker = make.Maker(tmp_path / "many.db")
    for cell in range(1, 7):
        for repeat in range(3):
            scale = 1 + cell / 10 + repeat / 100
            disk = with_bins(
                make.fio_text({"read": (1e4 / scale, 90.0 * scale)}, bs="4k", rw="randread", iodepth=1), scale
            )
            maker.add(
                "disk",
                "fio",
                {"rw": "randread", "bs": "4k", "iodepth": 1, "randseed": cell},
                disk,
                axes=("randseed",),
            )
            maker.add(
                "band", "stream", {"threads": cell}, make.stream_text(9e3 * scale, cell), axes=("threads",)
            )
            tail = make.poke_text([20 * scale] * 600 + [80 * scale] * 400, size=cell * 1_000_000)
            maker.add("tails", "poke", {"target": "memory", "bytes": cell * 1_000_000}, tail, axes=("bytes",))
    return load([maker.write()])


def chapter(results: Results, tool: str) -> Chapter:
    return chart_module(tool).chapter(results, tool)


def without_rows(figure: Figure) -> Figure:
    return replace(figure, numbers=(), runs=())


@pytest.mark.parametrize("tool", ["fio", "stream", "poke"])
@pytest.mark.slow
def test_what_is_shown_of_many_cells_is_what_is_shown_of_few(
    results: Results, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = chapter(results, tool)
    for module in ("_fio_tables", "fio", "stream", "poke"):
        monkeypatch.setattr(f"reports.charts.{module}.MOST_ROWS", 2)
    monkeypatch.setattr("reports.draw.figure.MOST_ROWS", 2)
    monkeypatch.setattr("reports.charts._fio_cells._AT_ONCE", 4)

    many = chapter(results, tool)

    assert len(few.figures) > (tool == "fio")  # with its tails

    assert [*map(without_rows, many.figures)] == [*map(without_rows, few.figures)]
    assert many.key_numbers == few.key_numbers
    assert [(t.name, t.median, t.p999) for t in many.access_times] == [
        (t.name, t.median, t.p999) for t in few.access_times
    ]
    for cut, whole in zip(many.figures, few.figures, strict=True):
        for short, full in zip(cut.numbers, whole.numbers, strict=True):
            assert len(full.rows) > 2
            assert short.cut().rows == full.rows[:2]
            assert short.cut().caption.endswith(
                f"The first 2 of {len(full.rows)} rows; pinsweep export writes all numbers"
            )
        assert {*cut.runs} >= {
            run for t in whole.numbers for row in t.of for runs in row.values() for run in runs
        }
