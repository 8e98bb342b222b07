"""Runs and cells without a number, as rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reports.checks.missing import missing
from reports.results.load import load


def test_reasons_that_differ_in_an_address_are_one(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for size, thread in ((1, "80EBEFB9C27F0000"), (2, "80DB12340A7F0000"), (3, "pid 41233"), (4, "pid 7")):
        reason = f"{thread}: unknown cipher"
        maker.add("ssl", "command", {"command": "x", "size": size}, "", axes=("size",), status="failed", reason=reason)  # fmt: skip

    assert [row[2:] for row in missing(load([maker.write()])).rows] == [
        (2, "size=1 (run 1)", "80EBEFB9C27F0000: unknown cipher"),
        (1, "size=3 (run 3)", "pid 41233: unknown cipher"),
        (1, "size=4 (run 4)", "pid 7: unknown cipher"),
    ]


def test_runs_of_several_files_name_theirs(make: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        maker = make.Maker(tmp_path / f"{name}.db")
        maker.add("s", "stream", {"threads": 1}, "", axes=("threads",), status="failed", reason="crash")
        maker.write()

    results = load([tmp_path / "a.db", tmp_path / "b.db"])

    assert missing(results).rows == (("failed", "s", 2, "threads=1 (a.db run 1)", "crash"),)
