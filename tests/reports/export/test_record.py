"""`show --format json`: the numbers of a cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reports.export.record import of_result
from reports.results.load import load


def test_a_number_names_the_runs_that_have_it(make: Any, tmp_path: Path) -> None:
    """p99.9 of two of three repeats had two values beside three runs."""
    maker = make.Maker(tmp_path / "a.db")
    for samples in (9_000, 12_000, 11_000):
        maker.add("s", "poke", {"target": "memory"}, make.poke_text([80.0 + n % 50 for n in range(samples)]))

    (cell,) = of_result(load([maker.write()]), ())["cells"]

    assert cell["runs"] == [1, 2, 3]
    assert {n["statistic"]: n["runs"] for n in cell["numbers"]} == {
        "p50": [1, 2, 3], "p95": [1, 2, 3], "p99": [1, 2, 3], "p99.9": [2, 3],
    }  # fmt: skip
    assert all(len(n["values"]) == len(n["runs"]) for n in cell["numbers"])
