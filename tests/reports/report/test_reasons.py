"""Why runs gave no number, where each has a reason of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports.report import build
from reports.results.load import load


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ({1: "ok failed", 2: "failed failed", 3: "failed failed"}, "all runs of 2 cells failed; some runs of 1 cell failed"),
        ({1: "ok ok", 2: "failed failed"}, "all runs of 1 cell failed"),
        ({1: "ok ok", 2: "ok"}, "1 cell lacks some or all repeats"),
        ({1: "failed failed", 2: "ok", 3: "disturbed failed", 4: "failed"}, "all runs of 1 cell failed; some runs of 2 cells failed; 1 cell lacks some or all repeats"),
    ],
)  # fmt: skip
def test_what_failed_is_called_so_in_the_first_sentence(
    make: Any, tmp_path: Path, runs: dict[int, str], said: str
) -> None:
    """Of a file whose runs all failed "3 cells lack some or all repeats" was said."""
    maker = make.Maker(tmp_path / "r.db")
    for threads, words in runs.items():
        for status in words.split():
            text = make.stream_text(2e4, threads) if status != "failed" else ""
            maker.add("s", "stream", {"threads": threads}, text, axes=["threads"], status=status, repeats=2)

    assert build.build(load([maker.write()])).sentence.partition("; ")[2] == f"{said}."
