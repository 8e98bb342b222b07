"""`pinsweep baseline` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import Cli

EXPERIMENT = """\
schema: 1
title: Echo
tool: command
fixed:
  command: sh -c 'echo value 3 ms'
  metrics:
    reply: {regex: "value ([0-9.]+) ms", unit: ms, better: lower}
repeats: 2
"""


def test_add_list_show_remove(pinsweep: Cli, called: Cli, tmp_path: Path) -> None:
    (tmp_path / "echo.yaml").write_text(EXPERIMENT)
    assert pinsweep("run", "echo.yaml", "-o", "echo.db").returncode == 0

    added = pinsweep("baseline", "add", "quiet", "echo.db")
    assert (added.returncode, added.stdout) == (0, "")
    assert added.stderr.startswith("quiet: ")

    listed = called("baseline", "list")
    assert listed.stdout.splitlines()[1].split()[:2] == ["quiet", "1"]
    (kept,) = json.loads(called("baseline", "list", "--format", "json").stdout)["baselines"]
    assert Path(kept["files"][0]).is_file()
    assert kept["files"][0] in called("baseline", "show", "quiet").stdout
    # what is kept is a result file like any other
    assert "2 of 2 runs ok" in called("show", kept["files"][0]).stdout

    assert called("baseline", "remove", "quiet").returncode == 0
    assert called("baseline", "list").stdout == ""


def test_mistakes_are_the_users(called: Cli, tmp_path: Path) -> None:
    for words, said in (
        (("show", "none"), "no such baseline"),
        (("add", "../x", "echo.db"), "is not a valid baseline name"),
        (("add", "x", "none.db"), "no such file"),
        (("add", "x", str(tmp_path)), "no result file in this folder"),
    ):
        done = called("baseline", *words)
        assert done.returncode == 2, words
        assert said in done.stderr
        assert "hint: " in done.stderr
