"""What a check calls a bound holds of the value before it was rounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reports.checks.audit import audit
from reports.results.load import load


def texts(path: Path, key: str) -> list[str]:
    return [text for finding in audit(load([path])) if finding.id == key for _, text in finding.cells]


def test_threads_beyond_the_pus_are_another_machine_of_captured_output_alone(make: Any, tmp_path: Path) -> None:
    """Of pinsweep's own run the topology is that of the machine: G8 said to take it from another."""
    maker = make.Maker(tmp_path / "own.db")
    maker.topology = "pack:1 numa:1 core:4 pu:1"
    maker.add("s", "stream", {"threads": 8}, make.stream_text(9e3, 8), place="all")

    assert not [f for f in audit(load([maker.write()])) if f.id == "G8"]


def test_an_axis_is_not_without_effect_where_nothing_but_0_is_counted(make: Any, tmp_path: Path) -> None:
    found = {}
    for count in (0, 7):
        maker = make.Maker(tmp_path / f"{count}.db")
        metrics = {"errors": {"regex": "errors ([0-9]+)", "unit": "1", "better": "lower"}}
        for size in (1, 2):
            for _ in range(3):
                options = {"command": "x {size}", "metrics": metrics, "size": size}
                maker.add("s", "command", options, f"errors {count}\n", axes=("size",))
        found[count] = [f.id for f in audit(load([maker.write()]))]
    assert found == {0: [], 7: ["G1"]}
