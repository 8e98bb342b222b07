"""The command line that an interrupted sweep prints to go on: it asks for the same, and goes on."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import pytest

from pinsweep.cli import cli
from pinsweep.commands._options import typed
from pinsweep.commands.run import command
from tests.cli.conftest import Start
from tests.waits import PATIENCE_S, begun, gate, until

OF_TYPE = {"integer": "0", "integer range": "3", "path": "a b/c.db", "text": "x=1,2; $y", "_repeats": "auto"}
OPTIONS = [param for param in command.params if isinstance(param, click.Option)]


def words_of(option: click.Option) -> list[str]:
    """Return an option as somebody types it, with a value that a shell would take apart; twice, where it may come twice."""
    if option.is_flag:
        return [option.opts[-1]] * (1 + option.multiple)
    kind = option.type
    value = str(kind.choices[-1]) if isinstance(kind, click.Choice) else OF_TYPE[kind.name]
    return [option.opts[-1], value] * (1 + option.multiple)


def called(words: list[str]) -> click.Context:
    """Return the call of `pinsweep run WORDS`; click keeps what the group says of --help with the command, so the group is asked too."""
    group = click.Context(cli, info_name="pinsweep", **cli.context_settings)
    return command.make_context("run", [*words], group)  # click empties the list


def parsed(words: list[str]) -> dict[str, Any]:
    return called(words).params


@pytest.fixture(autouse=True)
def _no_options_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for option in OPTIONS:
        monkeypatch.delenv(str(option.envvar), raising=False)


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_each_option_is_typed_again(option: click.Option) -> None:
    words = ["my sweep.yaml", "b.yaml", *words_of(option)]
    call = called(words)

    name, *again = shlex.split(shlex.join(typed(call)))

    assert name == "run"
    assert call.params != parsed(words[:2])  # the option changes something
    assert parsed(again) == call.params
    assert parsed(typed(call, output=Path("-r.db"))[1:]) == {**call.params, "output": Path("./-r.db")}


def test_what_the_environment_asks_for_is_typed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINSWEEP_ALLOW_DISTURBED", "1")
    monkeypatch.setenv("PINSWEEP_SCRATCH", "/fast disk")

    assert typed(called(["a.yaml"])) == ["run", "a.yaml", "--allow-disturbed", "--scratch", "/fast disk"]  # fmt: skip


TWO = f"""\
schema: 1
title: Two sweeps
sweeps:
  - name: wanted
    tool: command
    fixed:
      command: sh -c '{gate(1)}; echo "value {{n}} ms"' {{n}}
      metrics: {{reply: {{regex: "value ([0-9.]+) ms", unit: ms, better: lower}}}}
    matrix: {{n: [1, 2, 3]}}
    repeats: 5
  - name: other
    tool: command
    fixed: {{command: echo 1, metrics: {{m: {{regex: "(1)", unit: ms, better: lower}}}}}}
    repeats: 1
"""


@pytest.mark.slow
def test_the_printed_command_ends_the_sweep_and_runs_nothing_else(
    start: Start, tmp_path: Path, home: Mapping[str, str]
) -> None:
    (tmp_path / "two sweeps.yaml").write_text(TWO)
    (tmp_path / "here it is").mkdir()
    words = ["run", "two sweeps.yaml", "-o", "r.db", "--only", "wanted", "--cells", "n=1,3", "--repeats", "2"]
    process = start(*words, "--scratch", "here it is", "--allow-disturbed", "--no-warm-up")
    until(lambda: begun(tmp_path) == 2)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    (tmp_path / "go").touch()
    (printed,) = re.findall(r"to continue: pinsweep (.*)", stderr)

    again = subprocess.run(
        f"{shlex.quote(sys.executable)} -m pinsweep {printed}", shell=True, cwd=tmp_path, env={**os.environ, **home}, capture_output=True, text=True, check=False
    )  # fmt: skip

    assert process.returncode == 130
    assert again.returncode == 0, again.stderr
    with sqlite3.connect(tmp_path / "r.db") as db:
        assert db.execute("SELECT count(*) FROM run WHERE status = 'ok'").fetchone() == (4,)
        assert {n for (n,) in db.execute("SELECT json_extract(options, '$.n') FROM point JOIN run USING (point_id)")} == {1, 3}  # fmt: skip
