"""The tutorial, followed word for word with the real tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.transcripts import DOCS, follow, lacking, shell, steps

TUTORIAL = DOCS / "tutorial.md"


@pytest.mark.slow
def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    follow(TUTORIAL, tmp_path)

    assert "Your analysis here" in (tmp_path / "handin" / "report.md").read_text()
    assert (tmp_path / "handin" / "report.pdf").read_bytes().startswith(b"%PDF")
    assert "<h1>Lab 1: caches, memory, disk</h1>" in (tmp_path / "lab1.html").read_text()


def test_the_mistake_that_it_tells_to_make_is_told_with_its_line(tmp_path: Path) -> None:
    (experiment,) = [step for step in steps(TUTORIAL) if step.file]
    wrong = tmp_path / experiment.file
    wrong.write_text(experiment.text.replace("16k", "16q"))

    done = shell(f"pinsweep plan {wrong.name}", tmp_path)

    assert done.returncode == 2
    assert done.stdout.startswith(f"error: {wrong.name}:9:14: sweeps.latency.matrix.b")
    assert "hint: " in done.stdout


def test_it_is_short() -> None:
    assert len(TUTORIAL.read_text().splitlines()) <= 150


@pytest.mark.parametrize(
    ("printed", "shown", "first"),
    [
        (["a 1.5 ns", "b"], ["a 3 µs", "b"], None),
        (["a 1.5 ns", "b"], ["a 3 µs"], "(no more)"),
        (["16k   ⚠ D1, G11  idle 3.70 ns ±43 %"], ["16k  idle 4.2 ns ±4 %"], None),
        (["x", "b"], ["b"], "b"),
        (["x", "b", "y"], ["…", "b", "…"], None),
        (["16 cells"], ["18 runs"], "18 runs"),
        (["threads=1", "x", "threads=3", "y"], ["…", "threads=3", "y"], None),
        (["threads=1", "x", "threads=3", "y"], ["…", "threads=3", "x"], "threads=3"),
        (["about 1 min 31 s, would"], ["about 42 s, would"], None),
        (["about 42 s, would"], ["about 1 min 31 s, would"], None),
        (["report  /somewhere/lab.html"], ["report  …lab.html"], None),
    ],
)
def test_what_is_shown_must_be_printed(printed: list[str], shown: list[str], first: str | None) -> None:
    assert lacking(printed, shown) == first
