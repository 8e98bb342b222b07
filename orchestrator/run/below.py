"""Whether processes below the tool are stopped (SIGSTOP): ranks, workers, what a shell has started. I/O.

Of the tool itself the kernel tells its parent each time (`orchestrator.run.watchdog_process`), and who is below is told to nobody. So they
are looked at when this process wakes up anyway, through files that are opened once: a stop that is shorter than a pause is not seen.
"""

from __future__ import annotations

import contextlib
import os
import time

from orchestrator.machine.process_tree import children

MOST = 32
"""So many of them."""


class Below:
    """The processes below the tool. Use as a context manager."""

    def __init__(self) -> None:
        self.stops = 0
        self.stopped_s = 0.0  # give or take a pause for each stop
        self._children: dict[int, int] = {}  # pid, the tool's as well → what names its children
        self._states: dict[int, int] = {}  # pid → what says how it is
        self._looked = 0.0
        self._stopped = False

    def __enter__(self) -> Below:
        return self

    def __exit__(self, *_: object) -> None:
        for file in (*self._children.values(), *self._states.values()):
            os.close(file)

    def find(self, tool: int) -> None:
        """Find who is there; of those that come later, what main threads have started is found, too."""
        with contextlib.suppress(OSError):  # it has ended
            self._children[tool] = _opened(tool, "children")
        for pid in children(tool):
            self._add(pid)
        self._looked = time.monotonic()

    def look(self, tool: int) -> None:
        """See whether one of them is stopped now; the first time, find them."""
        if not self._children:
            self.find(tool)
            return
        for file in list(self._children.values()):
            for pid in map(int, _read(file, 1 << 12).split()):
                self._add(pid)
        was, before = self._stopped, self._looked
        self._stopped, self._looked = any(map(_is_stopped, self._states.values())), time.monotonic()
        if self._stopped:
            self.stops += not was
            self.stopped_s += self._looked - before

    def _add(self, pid: int) -> None:
        if pid in self._states or len(self._states) >= MOST:
            return
        with contextlib.suppress(OSError):  # it has ended
            self._states[pid] = _opened(pid, "stat")
            self._children[pid] = _opened(pid, "children")
            for below in children(pid):
                self._add(below)


def _opened(pid: int, name: str) -> int:
    return os.open(f"/proc/{pid}/task/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)


def _read(file: int, most: int) -> bytes:
    try:
        return os.pread(file, most, 0)
    except OSError:  # it has ended
        return b""


def _is_stopped(state: int) -> bool:
    return _read(state, 128).rpartition(b") ")[2].startswith(b"T")  # the name may hold brackets
