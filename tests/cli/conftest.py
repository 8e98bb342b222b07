"""What the tests of the command line share."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pinsweep.__main__ import main

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


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
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsys.readouterr()
        return subprocess.CompletedProcess(argv, int(stopped.value.code or 0), out, err)

    return call
