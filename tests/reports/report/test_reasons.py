"""Why runs gave no number, where each has a reason of its own."""

from __future__ import annotations

import itertools
from dataclasses import replace
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


@pytest.mark.parametrize("sound", [False, True])
def test_what_doubts_all_numbers_of_a_page_is_told_once(make: Any, tmp_path: Path, sound: bool) -> None:
    """12 of 12 figures had ⚠, and all 16 cells of a table, for what a user had allowed and the first sentence said."""
    maker = make.Maker(tmp_path / "r.db")
    for depth, repeat in itertools.product((4, 8, 16), range(3)):
        off = 1 if sound and depth == 16 else 8  # times as many I/Os in flight as were asked for
        text = make.fio_text(
            {"read": (1e4 * depth * off + repeat, 100.0)}, bs="4k", rw="randread", iodepth=depth
        )
        maker.add("disk", "fio", {"iodepth": depth, "rw": "randread", "bs": "4k", "ioengine": "libaio", "direct": True}, text, axes=("iodepth",))  # fmt: skip
    page = build.build(load([maker.write()]))

    once = " ⚠ doubtful: all numbers, by F1 (more or fewer I/Os in flight than were asked for)."
    assert page.sentence.endswith(once) != sound
    figures = [figure for section in page.sections for block in section.blocks for figure in block.figures]
    marked = [*(figure.doubt for figure in figures), *(number.doubt for number in page.key_numbers)]
    assert any("F1" in doubt for doubt in marked) == sound
    assert page.all_doubted != sound
    if sound:  # its tables have a last column, whose "–" must not deny what the head tells
        assert "of its row." in page.marks
        beside = "of its row, besides what is said of all numbers at the top."
        assert beside in replace(page, all_doubted=True).marks
    assert any(check.id == "F1" for check in page.checks)
