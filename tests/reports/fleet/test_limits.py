"""Floors and tolerances of a site: which numbers they fit, and every mistake in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.experiment.yaml_nodes import ExperimentError
from reports.fleet.limits import parse
from reports.measurements import measure
from reports.results.load import load
from tests.reports.fleet.conftest import Files


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [("bandwidth", 4), ("triad bandwidth", 1), ("*bandwidth", 4), ("triad*", 1), ("p99", 1), ("latency p99", 1),
     ("latency", 0), ("read latency p*", 2), ("read IOPS", 1)],
)  # fmt: skip
def test_a_rule_names_a_number_as_the_table_does(make: Any, tmp_path: Path, pattern: str, fits: int) -> None:
    maker = make.Maker(tmp_path / "a.db").add("s", "stream", {"threads": 4}, make.stream_text(2e4, 4))
    text = make.fio_text({"read": (1e4, 90.0)}, bs="4k", rw="randread", iodepth=1, samples={"read": (90.0, 0.2)})
    maker.add("disk", "fio", {"rw": "randread"}, text)
    (rule,) = parse(f"rules:\n  - {{metric: '{pattern}', tolerance: 8 %}}\n", "r.yaml")
    assert sum(map(rule.fits, measure(load([maker.write()])).frame().to_dict("records"))) == fits


def test_a_floor_and_a_tolerance(files: Files) -> None:
    files.hosts(1, 9, sessions=3)
    text = "rules:\n  - {metric: bandwidth, where: {kernel: triad, threads: 4}, floor: 25 GB/s}\n  - {metric: nothing, floor: 1 ns}\n"
    fleet = files.judge(rules=parse(text, "r.yaml"))
    assert {*fleet.hosts["status"]} <= {"broken", "slow"}
    assert {*fleet.odd["number"]} == {"scaling, threads=4: triad bandwidth"}
    assert {*fleet.odd["reason"]} == {"beyond the floor"}
    assert fleet.warnings == ("r.yaml:3:5: this rule fits no number",)
    tight = files.judge(rules=parse("rules: [{tool: stream, tolerance: 0.1 %}]", "r.yaml"))
    assert {*tight.odd["reason"]} == {"beyond the tolerance"}


def test_every_mistake_at_once() -> None:
    text = "rules:\n - {metrics: x, floor: fast}\n - {tolerance: 120 %}\n - {sweep: on, floor: 1 GB/s}\n - {metric: x}\nfoo: 1\n"
    with pytest.raises(ExperimentError) as caught:
        parse(text, "r.yaml")
    assert [(m.mark.line, m.key) for m in caught.value.mistakes] == [
        (2, "rules[1].metrics"), (2, "rules[1].floor"), (3, "rules[2].tolerance"), (4, "rules[3].sweep"), (5, "rules[4]"), (6, "foo"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["", "rules: [{floor: 1e999 GB/s}]", "rules: [{floor: 0 ns}]", "rules: [{floor: [1]}]"]
)
def test_a_rule_that_cannot_be_meant(text: str) -> None:
    with pytest.raises(ExperimentError):
        parse(text, "r.yaml")


@pytest.mark.parametrize("floor", ["90 ns", "90"])
def test_a_floor_in_another_unit(files: Files, floor: str) -> None:
    with pytest.raises(ExperimentError, match="floor"):
        files.hosts(1, 2).judge(rules=parse(f"rules:\n  - {{metric: bandwidth, floor: {floor}}}\n", "r.yaml"))
