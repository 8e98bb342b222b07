"""What two sides recorded of the programs that a user's own commands run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports.results.differences import compared, programs
from reports.results.load import load
from reports.results.model import Run
from reports.results.shares import command

SUMS = {"python3": "f1ee188b790e43cac870", "/usr/bin/python3": "a83c0370d91532c96d40"}


def ran(make: Any, path: Path, word: str, sha256: str = "", *, typed: str = "") -> tuple[Run, ...]:
    maker = make.Maker(path)
    file = {"path": f"/opt/{word}", "sha256": sha256 or SUMS[word]}
    maker.programs = {"command": {"version": "", "sha256": "", "files": {word: file}}}
    metrics = {"rate": {"regex": r"rate ([0-9.]+)", "unit": "MB/s", "better": "higher"}}
    maker.add("s", "command", {"command": f"{word} 1", "metrics": metrics}, "rate 5\n", program=typed)
    return load([maker.write()]).runs


def test_a_checksum_of_a_file_that_a_command_runs_is_set_against_the_other(make: Any, tmp_path: Path) -> None:
    """Another interpreter on either side, or from one session to the next: nothing that was recorded differed."""
    a, b = ran(make, tmp_path / "a.db", "python3"), ran(make, tmp_path / "b.db", "/usr/bin/python3")
    found = compared(programs(a, b))

    assert [(d.what, d.a, d.b) for d in found.differences] == [
        ("sha256 of python3", "f1ee188b790e (/opt/python3)", "a83c0370d915 (/opt//usr/bin/python3)")
    ]
    assert not found.agreed  # "The same: command", of which nothing was recorded
    assert compared(programs(a, a)).agreed == ("sha256 of python3",)


def test_a_file_that_one_side_runs_is_no_difference(make: Any, tmp_path: Path) -> None:
    a, b = ran(make, tmp_path / "a.db", "python3"), ran(make, tmp_path / "b.db", "awk", "0123456789ab")

    assert programs(a, b) == {}


def test_a_command_has_its_program_wherever_that_lies(make: Any, tmp_path: Path) -> None:
    texts = [
        command(ran(make, tmp_path / f"{i}.db", word, "0123456789ab", typed=word)[0]).split()[-1]
        for i, word in enumerate(("python3", "/usr/bin/python3", "/usr/bin/awk"))
    ]

    assert texts == ["python3", "python3", "awk"]


def test_a_tool_that_one_side_did_not_run_is_nothing_that_was_not_recorded(make: Any, tmp_path: Path) -> None:
    """ "Not recorded on both sides: governor, command, STREAM", of which B had run neither."""
    maker = make.Maker(tmp_path / "b.db")
    maker.add("s", "stream", {"threads": 1}, make.stream_text(9e3, 1), program="STREAM")
    a, b = ran(make, tmp_path / "a.db", "awk", "0123456789ab", typed="awk"), load([maker.write()]).runs

    assert compared(programs(a, b)).unknown == ()
    assert compared(programs(b, a)).unknown == ()


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("Checker - v3.9", "Checker - v3.11b", {"Intel MLC version": ("3.9", "3.11b")}),  # “Intel MLC Intel MLC 3.9 → Intel MLC 3.11b”
        ("Checker - v3.9", "Checker", {"Intel MLC version": ("3.9", "")}),  # not recorded: it may be the same
    ],
)  # fmt: skip
def test_a_program_is_named_once_and_its_versions_are_set_against_one_another(
    first: str, second: str, said: dict[str, tuple[str, str]], make: Any, tmp_path: Path
) -> None:
    sides = []
    for name, head in (("a", first), ("b", second)):
        maker = make.Maker(tmp_path / f"{name}.db")
        _, rows = make.mlc_text([(0, 150.0, 2e4)]).split("\n", 1)
        maker.add("s", "mlc", {"mode": "loaded_latency"}, f"Intel(R) Memory Latency {head}\n{rows}", axes=())
        sides.append(load([maker.write()]).runs)

    assert programs(*sides) == said
