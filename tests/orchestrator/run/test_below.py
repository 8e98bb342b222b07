"""Processes below a tool that somebody stops: real ones, looked at until they were seen."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.run import process
from orchestrator.run.below import Below
from orchestrator.run.process import Stop, run_process
from orchestrator.run.watchdog import Watchdog
from tests.stopping import BEATS, began, end, state
from tests.waits import PATIENCE_S, until


class OnceBegun:
    """Looks that have seen enough when what the tool starts has begun."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def look(self, pid: int, *, early: bool) -> bool:
        return bool(began(self.folder))

    def has_changed(self) -> bool:
        return False

    def last_look(self, seen: Mapping[str, Any]) -> None:
        pass


def test_a_stop_of_what_the_tool_started_is_seen(
    watchdog: Watchdog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Counted(Below):
        looks = 0

        def look(self, tool: int) -> None:
            super().look(tool)
            Counted.looks += bool(self._states)

    def stop_it() -> None:
        until(lambda: Counted.looks)
        (pid,) = began(tmp_path)
        os.kill(pid, signal.SIGSTOP)
        until(lambda: state(pid) == "T")
        seen = Counted.looks
        until(lambda: Counted.looks > seen + 1)
        os.kill(pid, signal.SIGCONT)
        seen = Counted.looks
        until(lambda: Counted.looks > seen + 1)
        end(tmp_path, pid)

    monkeypatch.setattr(process, "Below", Counted)
    monkeypatch.setattr(process, "OUTPUT_CHECK_S", 0.02)
    monkeypatch.setattr(process, "LOOKS", 10_000)
    monkeypatch.setattr(process, "LOOK_EVERY_S", 0.02)
    thread = threading.Thread(target=stop_it)
    thread.start()
    with Stop() as stop:
        outcome = run_process(
            ["sh", "-c", f"cd {tmp_path}; sh -c '{BEATS}'; echo 8"], {},
            watchdog=watchdog, timeout_s=PATIENCE_S, stop=stop, looks=OnceBegun(tmp_path),
        )  # fmt: skip
    thread.join()

    assert (outcome.stdout, outcome.stops) == (b"7\n8\n", 1)
    assert 0 < outcome.stopped_s < outcome.wall_s
