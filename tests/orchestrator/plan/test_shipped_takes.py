"""What the head of a shipped experiment says of how long it takes, against the plan for the machine that docs/shipped.md names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from orchestrator.plan.duration import duration
from orchestrator.plan.prepare import PlanOptions, prepare

SHIPPED = sorted((Path(__file__).parents[3] / "experiments").glob("*.yaml"))
MACHINE = "pack:2 numa:1 l3:1(size=32MB) core:8 pu:1"
NODES = 2


def said_s(path: Path) -> tuple[float, float]:
    """Return the least and the most seconds that the head says."""
    (text,) = re.findall(r"^# Takes: +(.*)$", path.read_text("utf-8"), re.MULTILINE)
    found = re.match(r"about ([\d.]+)(?: to ([\d.]+))? (s|minutes?)( a NUMA node)?\b", text)
    assert found, text
    unit = (60 if found[3].startswith("minute") else 1) * (NODES if found[4] else 1)
    return float(found[1]) * unit, float(found[2] or found[1]) * unit


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_it_takes_what_its_head_says(path: Path) -> None:
    least, most = said_s(path)

    planned = duration(prepare([path], PlanOptions(topology=MACHINE), seed=0).plan).least_s

    assert least / 1.5 <= planned <= most * 1.5
