"""A page that is built in a process of its own is the same page, and what goes wrong there is said here."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from orchestrator.store.database import Damaged
from parsers.errors import PinsweepError, UserError
from reports.report import render
from reports.results.apart import apart


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_a_page_of_large_files_is_that_of_small_ones(
    full_result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render, "html", lambda page, **_: repr(page))  # what is drawn: pictures take seconds
    here = render.render_report([full_result], tmp_path / "here").read_text()
    pids: list[int] = []
    monkeypatch.setattr(render, "load", _counted(pids))
    monkeypatch.setattr("reports.results.apart.LARGE", 0)

    there = render.render_report([full_result], tmp_path / "there").read_text()

    assert there == here
    assert not pids  # nothing was read in this process


def _counted(pids: list[int]) -> object:
    from reports.results.load import load

    return lambda *given, **named: pids.append(os.getpid()) or load(*given, **named)


@pytest.mark.parametrize(
    "error", [UserError("a.db", "is none", "name another"), Damaged(Path("a.db"), "run 7 is none")]
)
def test_an_error_is_raised_here(error: PinsweepError) -> None:
    def made() -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        apart(made)

    assert (raised.value.lines(), raised.value.records()) == (error.lines(), error.records())
    assert raised.value.exit_status == error.exit_status


def test_a_bug_says_where_it_is() -> None:
    def buggy() -> None:
        raise ZeroDivisionError(lambda: "what cannot be sent")

    with pytest.raises(RuntimeError, match="in buggy"):
        apart(buggy)


def test_a_process_that_is_killed_is_said() -> None:
    with pytest.raises(ChildProcessError, match="ended with -9"):
        apart(lambda: os.kill(os.getpid(), signal.SIGKILL))

    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)  # none is left
