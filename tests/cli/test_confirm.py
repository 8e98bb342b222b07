"""`pinsweep compare --confirm`: real runs again, both sides in turns where their commands differ."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tests.conftest import Cli

MACHINE = """\
#!/bin/sh
# a machine made of a file: it is as fast as `speed` says, within 0.5 %
echo "$*" >> started
[ "$(cat speed)" = broken ] && exit 3
awk -v speed="$(cat speed)" -v factor="$2" -v seed="$(od -An -N4 -tu4 /dev/urandom)" \\
    'BEGIN { srand(seed); printf "rate %.9f\\n", speed * factor * (1 + (rand() - 0.5) / 100) }'
"""

SWEEP = """\
schema: 1
title: A machine made of a file
tool: command
fixed:
  command: ./machine {n} {factor}
  seconds: 0.05
  metrics:
    rate: {regex: "rate ([0-9.]+)", unit: "1/s", better: higher}
matrix:
  n: [1, 2]
  factor: [FACTORS]
repeats: 3
"""


def verdicts(stdout: str) -> dict[str, str]:
    return {row["cell"]: row["verdict"] for row in json.loads(stdout)["cells"]}


def fresh(folder: Path, side: str) -> list[Path]:
    return sorted(folder.glob(f"confirm-*-{side}-*.db"))


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder with a machine at the speed 100, and a sweep of two cells."""
    (tmp_path / "machine").write_text(MACHINE)
    (tmp_path / "machine").chmod(0o755)
    (tmp_path / "speed").write_text("100")
    (tmp_path / "sweep.yaml").write_text(SWEEP.replace("FACTORS", "1"))
    return tmp_path


@pytest.fixture(scope="module")
def recorded() -> dict[str, bytes]:
    """Files of this module, once they have been recorded."""
    return {}


@pytest.fixture
def before_after(machine: Path, pinsweep: Cli, recorded: dict[str, bytes]) -> Path:
    """a.db at the speed 100 and b.db at 90."""
    for name, speed in (("a.db", "100"), ("b.db", "90")):
        (machine / "speed").write_text(speed)
        if name not in recorded:
            assert pinsweep("run", "sweep.yaml", "-o", name).returncode == 0
            recorded[name] = (machine / name).read_bytes()
        (machine / name).write_bytes(recorded[name])
    return machine


def test_a_slower_machine_is_still_slower(before_after: Path, pinsweep: Cli) -> None:
    before = (before_after / "b.db").read_bytes()

    done = pinsweep(
        "compare",
        "a.db",
        "b.db",
        "--confirm",
        "--yes",
        "--into",
        "again",
        "--format",
        "json",
        "--fail-on",
        "regressed",
    )

    assert done.returncode == 1, done.stderr
    assert set(verdicts(done.stdout).values()) == {"regressed"}
    again = json.loads(done.stdout)["again"]
    assert (again["way"], again["asked"]) == ("B alone", 2)
    (file,) = fresh(before_after / "again", "b")
    assert not fresh(before_after / "again", "a")
    with sqlite3.connect(file) as db:
        assert db.execute("SELECT count(*), min(status), max(repeat) FROM run").fetchone() == (10, "ok", 5)
    assert (before_after / "b.db").read_bytes() == before


def test_the_commands_of_a_file_are_shown_and_not_started_unasked(before_after: Path, pinsweep: Cli) -> None:
    (before_after / "started").unlink(missing_ok=True)

    done = pinsweep("compare", "a.db", "b.db", "--confirm", "--into", "again")

    assert done.returncode == 2, done.stderr
    assert "  ./machine 1 1\n" in done.stderr
    assert not (before_after / "started").exists()
    assert not (before_after / "again").exists()


@pytest.mark.slow
def test_a_bad_moment_is_forgiven(before_after: Path, pinsweep: Cli) -> None:
    """B was slow when it was recorded, and is not now."""
    (before_after / "speed").write_text("100")

    done = pinsweep("compare", "a.db", "b.db", "--confirm", "--yes", "--format", "json", "--fail-on", "regressed")

    assert done.returncode == 0, done.stderr
    assert "regressed" not in verdicts(done.stdout).values()


@pytest.mark.slow
def test_two_levels_take_turns(machine: Path, pinsweep: Cli) -> None:
    (machine / "sweep.yaml").write_text(SWEEP.replace("FACTORS", "1, 0.9"))
    pinsweep("run", "sweep.yaml", "-o", "both.db")
    (machine / "started").unlink()

    done = pinsweep("compare", "both.db", "--by", "factor=1,0.9", "--confirm", "--yes", "--format", "json")

    assert done.returncode == 0, done.stderr
    assert set(verdicts(done.stdout).values()) == {"regressed"}
    assert json.loads(done.stdout)["again"]["way"] == "in turns"
    started = [tuple(line.split()) for line in (machine / "started").read_text().splitlines()]
    turns = [started[i : i + 2] for i in range(0, 20, 2)]
    assert all(x[0] == y[0] and {x[1], y[1]} == {"1", "0.9"} for x, y in turns)  # a pair: one cell, both sides
    assert {x[1] for x, _ in turns} == {"1", "0.9"}  # now A first, now B
    assert sorted(x[0] for x, _ in turns[:2]) == ["1", "2"]  # rounds
    assert len(fresh(machine, "a")) == len(fresh(machine, "b")) == 1


@pytest.mark.slow
def test_what_fails_again_is_open(before_after: Path, pinsweep: Cli) -> None:
    (before_after / "speed").write_text("broken")  # the program itself may not be another one

    done = pinsweep("compare", "a.db", "b.db", "--confirm", "--yes", "--format", "json")

    assert done.returncode == 0, done.stderr
    assert set(verdicts(done.stdout).values()) == {"inconclusive"}


def test_cells_that_were_not_pinned_are_measured_again_without_a_pin(machine: Path, pinsweep: Cli) -> None:
    (machine / "sweep.yaml").write_text(SWEEP.replace("FACTORS", "1").replace("n: [1, 2]", "n: [1]\n  place: [core 0]"))
    for name, speed in (("a.db", "100"), ("b.db", "80")):
        (machine / "speed").write_text(speed)
        assert pinsweep("run", "sweep.yaml", "-o", name, "--unpinned").returncode == 0

    done = pinsweep("compare", "a.db", "b.db", "--confirm", "--yes", "--into", "again", "--format", "json")

    assert done.returncode == 0, done.stderr
    assert verdicts(done.stdout) == {"n=1 place=unpinned factor=1": "regressed"}
    (file,) = fresh(machine / "again", "b")
    with sqlite3.connect(file) as db:
        runs = db.execute("SELECT count(*), count(placement), min(argv LIKE '%numactl%') FROM run WHERE repeat > 0")
        assert runs.fetchone() == (5, 0, 0)


def test_nothing_is_measured_where_nothing_looks_changed(before_after: Path, pinsweep: Cli) -> None:
    done = pinsweep("compare", "a.db", "b.db", "--confirm", "--yes", "--threshold", "90%")

    assert done.returncode == 0
    assert "no number looks changed" in done.stderr
    assert not fresh(before_after, "?")


def test_the_folder_for_fresh_files_is_one(before_after: Path, pinsweep: Cli) -> None:
    (before_after / "taken").write_text("")

    done = pinsweep("compare", "a.db", "b.db", "--confirm", "--yes", "--into", "taken")

    assert (done.returncode, done.stdout) == (2, "")
    assert "error: --into taken: is not a directory" in done.stderr
    assert not fresh(before_after, "?")
