"""A tool that is stopped (SIGSTOP) while it runs, and whoever is told of it, each waited for by what it does and not by a time."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from tests.waits import until

BEATS = "echo > $$.began; until [ -e $$.end ]; do echo >> $$.beats; sleep 0.01; done; echo 7"
"""For sh: says in its folder who it is and that it lives, until it is told to end."""


def began(folder: Path) -> set[int]:
    """Return the tools that have begun in a folder."""
    return {int(path.stem) for path in folder.glob("*.began")}


def state(pid: int) -> str:
    """Return what /proc says that a process does: S(leeping), T (stopped) …; "" if it has ended."""
    return next(iter(_stat(pid)), "")


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def stop_for_a_moment(folder: Path, pid: int) -> None:
    """Stop a tool that BEATS, and let it go on until its parent was told of both and has nothing left to do."""
    parent, beats = int(_stat(pid)[1]), folder / f"{pid}.beats"
    os.kill(pid, signal.SIGSTOP)
    until(lambda: state(pid) == "T")
    before = beats.stat().st_size if beats.exists() else 0
    os.kill(pid, signal.SIGCONT)
    until(lambda: beats.exists() and beats.stat().st_size > before)  # by now the parent was woken
    until(lambda: all(state(parent) == "S" and time.sleep(0.01) is None for _ in range(5)))


def end(folder: Path, pid: int) -> None:
    (folder / f"{pid}.end").touch()
