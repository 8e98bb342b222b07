"""Numbers that are negative: no distance from a negative median is a share of it, and they are not compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports.fleet import outliers
from reports.fleet import page as fleet_page
from reports.fleet import text as fleet_text
from reports.results.load import load
from reports.text.screen import Screen

pytestmark = pytest.mark.usefixtures("undrawn")

METRICS = {
    "gain": {"regex": r"gain (\S+)", "unit": "dB", "better": "higher"},
    "rate": {"regex": r"rate (\S+)", "unit": "MB/s", "better": "higher"},
}


def test_a_host_is_not_accused_by_a_negative_number(make: Any, tmp_path: Path) -> None:
    """Of a median of −20.0 dB −26.0 was "−30 %", and its host broken, where `compare` says that no change is a share of it."""
    files = []
    for i in range(12):
        for session in range(3):
            name = f"n{i:02}"
            maker = make.Maker(tmp_path / f"{name}-{session}.db", host=name)
            maker.facts = {**make.FACTS, "boot_id": f"{name} {session}"}
            gain = (-26.0 if i == 5 else -20.0 - i / 100) + session / 1000
            rate = (70.0 if i == 7 else 100.0 + i / 100) + session / 1000
            maker.add("s", "command", {"command": ["x"], "metrics": METRICS}, f"gain {gain}\nrate {rate}\n")
            files.append(maker.write())
    report = outliers.build(load(files))

    assert report.accused == ("n07",)
    assert [odd.host for odd in report.odd] == ["n07"]
    said = "1 of 2 numbers not compared, since its median is 0 or below: s: gain"
    assert f"  {said}\n" in fleet_text.as_text(report, everything=True)
    (line, _) = fleet_text.folds(report, Screen(width=160, terminal=True)).splitlines()
    assert line == "n07  broken      the one compared number of s, 30 % worse; 1 number"
    page = fleet_page.build(report, title="t", links={})
    assert any(check.text.endswith(f"{said}.") for check in page.checks)
    (heated,), (block,) = (s.blocks for s in page.sections)
    assert heated.figures[0].grid
    assert [column.title for column in heated.figures[0].grid.columns] == ["rate"]
    assert [row[0] for row in block.figures[0].numbers[0].rows] == ["s: rate"]
