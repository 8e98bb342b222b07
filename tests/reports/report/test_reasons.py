"""Why runs gave no number, where each has a reason of its own."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reports.report import build, check_list
from reports.results.load import load


def test_of_very_many_reasons_the_first_are_told(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """15 000 runs that failed for reasons of their own, 2.4 MB, were 1.1 GiB of a lab report."""
    monkeypatch.setattr(check_list, "_MOST_REASONS", 2)
    maker = make.Maker(tmp_path / "r.db")
    for n in range(5):
        maker.add(
            "s",
            "stream",
            {"threads": n + 1},
            "",
            axes=["threads"],
            status="failed",
            reason=f"it ended with {n}",
        )

    checks = {
        check.text if check.text.startswith("it") else check.subject: check.text
        for check in build.build(load([maker.write()])).checks
    }

    assert {"it ended with 0.", "it ended with 1.", "3 more reasons."} <= checks.keys()
    assert "it ended with 2." not in checks
    assert checks["3 more reasons."].startswith("s: 3 runs gave no number.")


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


def test_of_very_many_reasons_why_cells_were_skipped_the_first_are_told(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_list, "_MOST_REASONS", 2)
    maker = make.Maker(tmp_path / "r.db").add("s", "stream", {"threads": 1}, make.stream_text(2e4, 1))
    for n in range(100):
        maker.skip("s", f"no CPU {n}", threads=n + 2)
    results = load([maker.write()])

    told = [check.subject for check in build.build(results).checks if check.subject.startswith("s: ")]

    assert told[:3] == [
        "s: cell threads=100 skipped on node07.",
        "s: cell threads=101 skipped on node07.",
        "s: 98 more cells skipped, for 98 more reasons.",
    ]


@pytest.fixture(scope="module")
def halves(make: Any, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A file whose runs are all ok, and one where all runs of 1 thread and half of those of 2 threads failed."""
    folder = tmp_path_factory.mktemp("files")
    for name, bad in (("a", {}), ("b", {1: 4, 2: 2})):
        maker = make.Maker(folder / f"{name}.db")
        for threads, repeat in itertools.product((1, 2), range(4)):
            fails = repeat < bad.get(threads, 0)
            text = "" if fails else make.stream_text(5000.0, threads)
            maker.add("s", "stream", {"threads": threads}, text, axes=["threads"], status="failed" if fails else "ok", reason=f"crash {threads}" if fails else "")  # fmt: skip
        maker.write()
    return [folder / "a.db", folder / "b.db"]


def test_all_of_a_cell_are_all_its_runs(halves: list[Path]) -> None:
    """Of half of the runs of a cell it was "all of" as well."""
    wholly, half = (check for check in build.build(load(halves[1:])).checks if check.text.startswith("crash"))

    assert wholly.subject == "s: 4 runs failed (all of threads=1)."
    assert half.subject == "s: 2 of 4 runs failed (threads=2)."


def test_of_two_files_it_is_said_in_which_runs_failed(halves: list[Path]) -> None:
    wholly, half = (check for check in build.build(load(halves)).checks if check.text.startswith("crash"))

    assert wholly.subject == "b.db, s: 4 runs failed (all of threads=1)."
    assert half.subject == "b.db, s: 2 of 4 runs failed (threads=2)."
    assert half.items[0].startswith("b.db, threads=2, repeat 1, run ")


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
