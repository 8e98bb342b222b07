"""What two sides recorded of their programs and commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from reports.results.differences import compared, programs
from reports.results.load import load
from reports.results.shares import command


@pytest.mark.parametrize(
    ("a", "b", "facts"),
    [
        (
            [("fio", "fio 3.33", "3f")],
            [("fio", "fio 3.36", "4a")],
            {"program of fio": ("fio 3.33", "fio 3.36")},
        ),
        (
            [("fio", "fio 3.33", "3f"), ("fio", "fio 3.36", "4a")],
            [("fio", "fio 3.33", "3f")],
            {"program of fio": ("fio 3.33 | fio 3.36", "fio 3.33")},
        ),
        (
            [("command", "command", "3f, run.sh 12")],
            [("command", "command", "3f, run.sh 13")],
            {
                "program of command": ("command", "command"),
                "checksum of command": ("3f, run.sh 12", "3f, run.sh 13"),
            },
        ),
        (
            [("command", "command", "")],
            [("stream", "STREAM", "")],
            {},
        ),  # a tool of one side is not a difference
    ],
)
def test_programs_of_both_sides_are_facts(
    a: list[tuple[str, ...]], b: list[tuple[str, ...]], facts: dict[str, tuple[str, str]]
) -> None:
    frames = [pd.DataFrame(rows, columns=["tool", "program_name", "checksum"]) for rows in (a, b)]

    assert programs(*frames) == facts
    assert {d.what for d in compared(facts).differences} == {what for what, (x, y) in facts.items() if x != y}


def test_a_command_has_its_program_wherever_that_lies(make: Any, tmp_path: Path) -> None:
    texts = []
    for i, word in enumerate(("python3", "/usr/bin/python3", "/usr/bin/awk")):
        maker = make.Maker(tmp_path / f"{i}.db")
        metrics = {"rate": {"regex": r"rate ([0-9.]+)", "better": "higher"}}
        maker.add("s", "command", {"command": f"{word} 1", "metrics": metrics}, "rate 5\n", program=word)
        texts.append(command(load([maker.write()]).runs[0]).split()[-1])

    assert texts == ["python3", "python3", "awk"]
