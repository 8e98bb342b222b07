"""One access to each layer, on one axis."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reports.charts import poke
from reports.charts.chapter import AccessTime
from reports.numbers import formulas
from reports.report import overview
from reports.results.load import load


@pytest.fixture
def times(make: Any, tmp_path: Path) -> Sequence[AccessTime]:
    """Of two targets and three sizes, over five decades."""
    maker = make.Maker(tmp_path / "r.db")
    for target, (size, ns) in itertools.product(
        ("memory", "file"), (("64", 20), ("1kB", 90), ("1GB", 4_000_000))
    ):
        text = make.poke_text([ns + i % 3 for i in range(2000)], target=target)
        maker.add("one", "poke", {"target": target, "bytes": size}, text, axes=("target", "bytes"))
    return poke.chapter(load([maker.write()])).access_times


def test_the_timer_has_one_row(times: Sequence[AccessTime]) -> None:
    """Each cell of 0 bytes had one: "Timer alone, op read, target memory", "Timer alone, op write, target file"."""
    timers = [replace(t, name=f"Timer alone, {i}", group="timer") for i, t in enumerate(times[:3])]

    figure = overview.figure([*times, *timers])

    assert figure is not None
    names = [row[0] for row in figure.numbers[0].rows]
    assert sum(name.startswith("Timer alone") for name in names) == 1
    assert len(names) == len(times) + 1


@pytest.mark.parametrize("more", ["", ", of a sweep with a very long name"])
def test_ticks_do_not_touch(times: Sequence[AccessTime], more: str) -> None:
    """ "10 µs100 µs1 ms" stood below a plot of 190 px."""
    figure = overview.figure([replace(t, name=f"{t.name}{more}", words=()) for t in times])

    assert figure is not None
    for spec in (figure.panels[0].wide, figure.panels[0].narrow):
        axis = spec["encoding"]["x"]
        low, high = axis["scale"]["domain"]
        px = spec["width"] / math.log(high / low)
        ticks = axis["axis"]["values"]
        assert len(ticks) >= 2
        assert all(px * math.log(b / a) >= 50 for a, b in itertools.pairwise(ticks))


def test_a_time_has_the_same_marks_wherever_it_stands(times: Sequence[AccessTime]) -> None:
    """The table had no "≈", and "≤" took it away in the picture."""
    apart = formulas.spread([20.0, 30.0])
    marks = {"≤ ": {"bound": True}, "≈ ": {"repeats": apart}, "≤ ≈ ": {"bound": True, "repeats": apart}}
    plain = [replace(t, bound=False) for t in times]
    edited = [replace(t, **more) for t, more in zip(plain, marks.values(), strict=False)]

    figure = overview.figure([*edited, *plain[len(marks) :]])

    assert figure is not None
    (panel,), (table,) = figure.panels, figure.numbers
    told = [row[table.columns.index("Time")] for row in table.rows]
    for mark in marks:
        assert sum(text.startswith(mark) and text[len(mark)].isdigit() for text in told) == 1, mark
    data = panel.wide["datasets"]
    assert [row["text"] for row in data["medians"]] == told
    for mark in "≤≈":
        assert [mark in row["tip"] for row in data["rows"]] == [mark in text for text in told]
    assert all(f": {text}" in panel.description for text in told)
    assert "≤: more than half of it is the timer. ≈: unsteady" in figure.sub
