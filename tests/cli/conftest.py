"""What the tests of the command line share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from pinsweep.__main__ import main
from tests.conftest import Cli

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path, home: Mapping[str, str]) -> Iterator[Start]:
    """start(*words): pinsweep in a process of its own, to be waited for by the test; what still runs at its end is killed."""
    with ExitStack() as stack:

        def begin(*words: str) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [sys.executable, "-m", "pinsweep", *words], cwd=tmp_path, env={**os.environ, **home}, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield begin


@pytest.fixture
def called(
    tmp_path: Path,
    home: Mapping[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Cli:
    """pinsweep(*words) as `pinsweep` has it, but in this process: for commands that only read files, where each start would cost
    half a second of imports."""
    monkeypatch.chdir(tmp_path)
    for name, value in home.items():
        monkeypatch.setenv(name, value)

    def call(*words: str | Path) -> subprocess.CompletedProcess[str]:
        argv = ["pinsweep", *map(str, words)]
        monkeypatch.setattr("sys.argv", argv)
        monkeypatch.setattr("pinsweep.terminal._begun", False)
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsys.readouterr()
        return subprocess.CompletedProcess(argv, int(stopped.value.code or 0), out, err)

    return call
