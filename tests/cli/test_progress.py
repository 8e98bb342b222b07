"""What a terminal shows while runs go on and files are read; a pipe gets lines and nothing else."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pinsweep import progress
from reports.export import tables
from reports.results.load import Watched
from tests.conftest import Cli
from tests.waits import PATIENCE_S

NAPS = """\
schema: 1
title: Naps
tool: command
fixed:
  command: sh -c "sleep 0.1; echo value {n} ms"
  seconds: 30
  metrics: {reply: {regex: "value ([0-9.]+) ms", unit: ms, better: lower}}
matrix: {n: [1, 2]}
repeats: 2
"""


class Terminal:
    """A terminal of 80 columns, and what it was sent."""

    def __init__(self) -> None:
        self._ours, self.theirs = pty.openpty()
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        os.set_blocking(self._ours, False)

    def text(self) -> str:
        """Return what was printed, without colours."""
        parts = []
        try:
            while part := os.read(self._ours, 1 << 16):
                parts.append(part)
        except OSError:  # nothing more
            pass
        return re.sub(r"\x1b\[[0-9;]*m", "", b"".join(parts).decode())


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    os.close(made.theirs)
    os.close(made._ours)


@pytest.mark.slow
def test_a_sweep_says_how_far_it_is_and_how_long_it_will_take(
    tmp_path: Path, home: Mapping[str, str], terminal: Terminal
) -> None:
    (tmp_path / "naps.yaml").write_text(NAPS)

    subprocess.run(
        [sys.executable, "-m", "pinsweep", "run", "naps.yaml", "-o", "a.db"], cwd=tmp_path, check=True,
        env={**os.environ, **home, "PYTHONPATH": str(Path(progress.__file__).parents[1])},
        stderr=terminal.theirs, timeout=PATIENCE_S,
    )  # fmt: skip

    shown = terminal.text()
    bars = re.findall(r"\r\x1b\[K━+[╸╺]?━* ([0-4])/4 .*?about (.*?) left · naps  n=", shown)
    assert [done for done, _ in bars] == ["0", "1", "2", "3"]
    assert bars[0][1] == "2 min"  # what the experiment says
    assert re.fullmatch(r"\d+ s", bars[2][1])  # both cells have run
    lines = [line.split("\x1b[K")[-1] for line in shown.splitlines()]
    assert [line[:5] for line in lines if line.startswith("[")] == ["[1/4]", "[2/4]", "[3/4]", "[4/4]"]


def test_in_a_pipe_there_are_lines_only(tmp_path: Path, starter: object, home: Mapping[str, str]) -> None:
    (tmp_path / "naps.yaml").write_text(NAPS)

    done = starter(["run", "naps.yaml", "-o", "a.db"], cwd=tmp_path, env={**os.environ, **home}, given="")  # type: ignore[operator]

    assert "\r" not in done.stderr
    assert "━" not in done.stderr
    assert done.stderr.count("/4] naps") == 4


@pytest.mark.parametrize(("number", "drawn"), [(3, False), (40, True)])
def test_files_are_handed_on_whether_a_bar_is_drawn_or_not(
    number: int, drawn: bool, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    with os.fdopen(os.dup(terminal.theirs), "w") as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        handed_on = list(progress.files(list(range(number))))

    assert handed_on == list(range(number))
    assert ("reading" in terminal.text()) == drawn


@pytest.mark.parametrize("silent_s", [0.0, 3600.0])
def test_what_goes_on_is_said_where_it_takes_long(
    silent_s: float, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one file, however small: one of 0.3 MB may take ten seconds."""
    monkeypatch.setattr(progress, "_SILENT_S", silent_s)
    shown = ""

    def waited_for(what: str) -> None:
        nonlocal shown
        while silent_s == 0 and what not in shown:  # as long as it takes
            shown += terminal.text()

    with os.fdopen(os.dup(terminal.theirs), "w") as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        with progress.doing("drawing", reading=True) as watched:
            for _ in watched([1]):
                waited_for("reading  0.0 s")
            waited_for("drawing")
        for _ in progress.files([1]):
            shown = ""
            waited_for("reading")
        shown += terminal.text()

    assert shown.endswith("\r\x1b[K") if silent_s == 0 else not shown


def test_what_goes_on_is_not_said_in_a_pipe(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SILENT_S", 0.0)
    with progress.doing("judging") as watched:
        assert list(watched([1, 2])) == [1, 2]
    assert capfd.readouterr() == ("", "")


def test_texts_are_counted(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    with os.fdopen(os.dup(terminal.theirs), "w") as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        handed_on = list(progress.texts(iter("abc")))

    assert handed_on == ["a", "b", "c"]
    assert "3 texts" in terminal.text()


def test_an_export_says_that_it_goes_on(
    called: Cli, tmp_path: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_SILENT_S", 0.0)
    shown = ""

    def slow(paths: list[Path], *, watched: Watched, **_: object) -> Iterator[str]:
        nonlocal shown
        assert list(watched([(path, path.name) for path in paths]))
        yield "tool,value\n"
        while "writing the table" not in shown:  # as long as it takes
            shown += terminal.text()

    monkeypatch.setattr(tables, "export", slow)
    (tmp_path / "a.db").touch()
    with os.fdopen(os.dup(terminal.theirs), "w") as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        assert called("export", "a.db").stdout == "tool,value\n"

    assert (shown + terminal.text()).endswith("\r\x1b[K")
