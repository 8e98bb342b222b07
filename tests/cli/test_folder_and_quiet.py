"""One line for many hosts: `pinsweep run -q EXPERIMENT -o FOLDER/`."""

from __future__ import annotations

import platform
import sqlite3
from pathlib import Path

import pytest

from orchestrator.machine import identity
from orchestrator.plan.survey import host_name
from tests.conftest import Cli

ECHO = """\
schema: 1
title: Echo
tool: command
fixed: {command: "sh -c 'echo $((8/{n}))'", metrics: {v: {regex: "([0-9]+)"}}}
matrix: {n: [%s]}
repeats: 1
"""


@pytest.mark.parametrize("there", [False, True])
def test_a_folder_gets_a_file_of_this_host_which_is_continued(pinsweep: Cli, tmp_path: Path, there: bool) -> None:
    (tmp_path / "e.yaml").write_text(ECHO % "1")
    if there:
        (tmp_path / "acc").mkdir()
    word = "acc" if there else "acc/"

    first = pinsweep("run", "e.yaml", "-o", word)
    (tmp_path / "e.yaml").write_text(ECHO % "1, 2")
    planned = pinsweep("plan", "e.yaml", "-o", "acc/")
    second = pinsweep("run", "e.yaml", "-o", "acc/", env={"PINSWEEP_NO_NEXT": "1"} if there else {})

    assert ("pinsweep show acc/" in second.stderr) != there
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert [path.name for path in (tmp_path / "acc").iterdir()] == [f"e@{host_name()}.db"]
    assert f"result file  acc/e@{host_name()}.db" in first.stderr
    assert "1 run done before" in planned.stdout
    assert "1 done before" in second.stderr


def test_two_machines_of_one_name_have_a_file_each(pinsweep: Cli, tmp_path: Path) -> None:
    if identity.cards() is None:
        pytest.skip("no network card is to be seen here")
    (tmp_path / "e.yaml").write_text(ECHO % "1")
    assert pinsweep("run", "e.yaml", "-o", "acc/").returncode == 0
    theirs = tmp_path / "acc" / f"e@{host_name()}.db"
    with sqlite3.connect(theirs) as db:
        db.execute("UPDATE session SET facts = json_set(facts, '$.network_cards', 'ffffff')")
    before = theirs.read_bytes()

    first = pinsweep("run", "e.yaml", "-o", "acc/")
    again = pinsweep("run", "e.yaml", "-o", "acc/")
    named = pinsweep("run", "e.yaml", "-o", theirs)

    assert (first.returncode, again.returncode) == (0, 0), first.stderr + again.stderr
    assert f"is of another machine of this name; this one has e@{host_name()}-2.db" in first.stderr
    assert "1 done before" in again.stderr
    assert sorted(path.name for path in theirs.parent.iterdir()) == [f"e@{host_name()}-2.db", theirs.name]
    assert named.returncode == 2
    assert f"holds runs of another machine named {platform.node()}" in named.stderr
    assert theirs.read_bytes() == before


def test_a_folder_that_is_planned_for_is_not_made(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(ECHO % "1")

    done = pinsweep("plan", "e.yaml", "-o", "acc/")

    assert done.returncode == 0, done.stderr
    assert "note" not in done.stderr
    assert not (tmp_path / "acc").exists()


def test_quiet_is_silent_of_what_is_well_and_says_what_failed(pinsweep: Cli, tmp_path: Path) -> None:
    """The same on all hosts where the same went wrong: clush folds such lines."""
    (tmp_path / "e.yaml").write_text(ECHO % "1, 2")
    (tmp_path / "bad.yaml").write_text(ECHO % "1, 0")

    good = pinsweep("run", "-q", "e.yaml", "-o", "e.db")
    nothing = pinsweep("run", "-q", "e.yaml", "-o", "e.db")
    bad = pinsweep("run", "--quiet", "bad.yaml", "-o", "bad.db")
    again = pinsweep("run", "-q", "bad.yaml", "-o", "bad.db")

    assert (good.returncode, good.stdout, good.stderr) == (0, "", "")
    assert (nothing.returncode, nothing.stderr) == (
        0,
        "nothing to do: all runs were done before\n",
    )  # not as if it had measured
    assert (bad.returncode, bad.stdout) == (1, "")
    (line,) = bad.stderr.splitlines()
    assert line.startswith("bad  n=0  failed: ")
    assert (again.returncode, again.stderr) == (1, "1 failed before; --retry-failed starts them again\n")
