"""Numbers that are negative: what is less than a negative median is less, on the page as in the verdict."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from reports.fleet import outliers
from reports.fleet import page as fleet_page
from reports.fleet import text as fleet_text
from reports.results.load import load
from reports.verdicts.model import relative

pytestmark = pytest.mark.usefixtures("undrawn")

GAIN = {"gain": {"regex": r"gain (\S+)", "unit": "dB", "better": "higher"}}


@pytest.mark.parametrize(
    ("value", "of", "share"), [(-26.0, -20.0, -0.3), (-1.0, -4.0, 0.75), (1.0, -4.0, 1.25), (26.0, 20.0, 0.3)]
)
def test_a_relative_change_has_the_sign_of_the_number(value: float, of: float, share: float) -> None:
    assert relative(value, of) == pytest.approx(share)


def test_a_negative_number_that_is_worse_stands_on_the_worse_side(make: Any, tmp_path: Path) -> None:
    """Of a median of −20.0 dB, where more is better, −26.0 was "+30 %", the best host, and had the shade of what is better."""
    files = []
    for i in range(12):
        for session in range(3):
            name = f"n{i:02}"
            maker = make.Maker(tmp_path / f"{name}-{session}.db", host=name)
            maker.facts = {**make.FACTS, "boot_id": f"{name} {session}"}
            value = -26.0 if i == 5 else -20.0 - i / 100
            maker.add("s", "command", {"command": ["x"], "metrics": GAIN}, f"gain {value + session / 1000}\n")
            files.append(maker.write())
    report = outliers.build(load(files))

    assert report.accused == ("n05",)
    text = fleet_text.as_text(report, everything=True)
    assert "−30 %" in text
    assert "+30 %" not in text
    page = fleet_page.build(report, title="t", links={})
    (heated,), (block,) = (s.blocks for s in page.sections)
    assert [suspect.change for suspect in block.suspects] == ["−30 %"]
    assert heated.figures[0].grid
    cell = next(row.cells[0] for row in heated.figures[0].grid.rows if row.name == "n05")
    assert (cell.text, cell.shade > 0) == ("−30", True)
    (numbers,) = block.figures[0].numbers
    row = dict(zip(numbers.columns, numbers.rows[0], strict=True))
    assert row["Worst"].startswith("n05 −26")
    assert not row["Best"].startswith("n05")
    assert re.fullmatch("n05 −30 %", row["Marked"])
