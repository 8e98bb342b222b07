"""Real programs that are asked something: they answer, or they do not, in the time they have."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.machine.ask import Answer, ask, checksum
from tests.waits import PATIENCE_S, ended, until


def test_what_it_prints_and_how_it_ended() -> None:
    assert ask(["sh", "-c", "echo out; echo err >&2; exit 3"], timeout_s=PATIENCE_S) == Answer(
        exit_status=3, stdout=b"out\n", stderr=b"err\n"
    )


def test_interpreters_without_memfd_ask_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.delattr(os, "pidfd_open", raising=False)

    assert ask(["echo", "out"], timeout_s=PATIENCE_S) == Answer(exit_status=0, stdout=b"out\n", stderr=b"")


def test_the_environment_is_the_given_one_in_the_locale_c(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", "1")
    script = ["/bin/sh", "-c", 'echo "$OURS $GIVEN $LC_ALL"']

    assert ask(script, timeout_s=PATIENCE_S) == Answer(exit_status=0, stdout=b"1  C\n", stderr=b"")
    assert ask(script, timeout_s=PATIENCE_S, env={"GIVEN": "2"}) == Answer(exit_status=0, stdout=b" 2 C\n", stderr=b"")


def test_what_is_not_there_does_not_answer(tmp_path: Path) -> None:
    assert ask([str(tmp_path / "tool")], timeout_s=PATIENCE_S) is None


def test_what_is_not_a_file_has_no_checksum(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert [checksum(str(path)) for path in (tmp_path / "fifo", "/dev/zero", tmp_path)] == ["", "", ""]


def test_what_it_leaves_in_the_background_is_not_waited_for(tmp_path: Path) -> None:
    """It holds the outputs open: of a pipe, nobody would see the end. Who waits for it gets no answer in time."""
    os.mkfifo(tmp_path / "end")
    said = ask(["sh", "-c", f"cat {tmp_path}/end & echo answer"], timeout_s=PATIENCE_S)

    assert said == Answer(exit_status=0, stdout=b"answer\n", stderr=b"")
    (tmp_path / "end").write_text("now")


def test_what_does_not_answer_in_time_is_ended_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"trap '' TERM; sleep 300 & echo $$ $! > {pids}; wait"

    for timeout_s in (0.2, 2, 20, 200):  # a busy machine may not get as far as that
        assert ask(["sh", "-c", script], timeout_s=timeout_s) is None
        if pids.exists() and pids.read_text():
            break

    shell, child = map(int, pids.read_text().split())
    until(lambda: ended(shell) and ended(child))
