"""The processes below this one: found, ended, and waited for. I/O.

A process can clear its environment, leave its session and lose its parent, but not its ancestors: what is orphaned goes to
the nearest living ancestor that adopts orphans (a *subreaper*, prctl(2)). Whoever is below that one belongs to it.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
from collections.abc import Callable, Collection
from pathlib import Path

GRACE_S = 2.0
"""What a process gets between SIGTERM and SIGKILL: enough for fio to write its last report."""

KILL_S = 5.0
"""How long SIGKILL is tried. It is not obeyed in an uninterruptible wait (a device that does not answer), and is not
allowed against a process of another user."""

EXIT_S = 60.0
"""What those get that obeyed and are exiting: to give back a terabyte in small pages takes the kernel a minute."""

MOST_NAMED = 5

PACE_S = 0.005

Exited = Callable[[int, int, resource.struct_rusage], None]
"""Gets the process id, the wait status and what it used."""

_PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 36, 37
_PF_EXITING = 0x4


def ends_within(pid: int, timeout_s: float) -> bool:
    """Return whether a child of this process ends within a time. The child still has to be waited for.

    It polls, because pidfd_open(2) is missing before Linux 5.3, in gVisor, and in some builds of Python.
    """
    deadline = time.monotonic() + timeout_s
    pause_s = PACE_S / 10
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return False
        time.sleep(min(pause_s, left_s))
        pause_s = min(2 * pause_s, 4 * PACE_S)
    return True


def adopt_orphans(adopt: bool) -> bool:
    """Say whether orphans below this process become its children; return what was so before."""
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    before = ctypes.c_int()
    prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(adopt), 0, 0, 0)
    return bool(before.value)


def children(pid: int, proc: str = "/proc") -> list[int]:
    """Return the children of all threads of a process; [] if it has ended."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"{proc}/{pid}/task"):  # noqa: PTH208 (numbers, not paths)
            with contextlib.suppress(OSError):  # this thread has ended; the others may have children, too
                found += map(int, Path(f"{proc}/{pid}/task/{thread}/children").read_bytes().split())
    return found


def descendants(spare: Collection[int] = ()) -> list[int]:
    """Return all processes below this one, parents before children, without those of `spare` and what is below them.

    Where the kernel does not list the children of a process, as all but very small ones do, every process of the
    machine is asked for its parent.
    """
    of = children if _lists_children() else _by_parent()
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        below = [pid for pid in of(waiting.pop(0)) if pid not in spare]
        found += below
        waiting += below
    return found


def _lists_children() -> bool:
    return Path(f"/proc/self/task/{os.getpid()}/children").exists()


def _by_parent() -> Callable[[int], list[int]]:
    """Read the parents of all processes once."""
    below: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 (numbers, not paths)
        if name.isdigit() and (fields := _stat(int(name))[1]):
            below.setdefault(int(fields[1]), []).append(int(name))
    return lambda pid: below.get(pid, [])


def reap(spare: Collection[int] | None = None, on_exit: Exited = lambda *_: None) -> bool:
    """Wait for the children that have ended; True if others are left.

    `spare` are children that are someone else's to wait for; None: there are none, and /proc need not be read.
    """
    alive = False
    for wanted in [-1] if spare is None else [pid for pid in children(os.getpid()) if pid not in spare]:
        with contextlib.suppress(ChildProcessError):  # that was the last one
            while True:
                pid, status, usage = os.wait4(wanted, os.WNOHANG)
                if not pid:
                    alive = True
                    break
                on_exit(pid, status, usage)
    return alive


def end_descendants(
    spare: Collection[int] | None = None, on_exit: Exited = lambda *_: None
) -> tuple[str, ...]:
    """End every process below this one: SIGTERM, a short grace, then SIGKILL until none is left; wait for them all.

    Returns, in words, those that could not be ended in time: GRACE_S and KILL_S, or EXIT_S for what is exiting; the
    first MOST_NAMED by name.
    """
    for pid in descendants(spare or ()):  # once: what a tool starts in order to clean up is left to do so
        _kill(pid, signal.SIGTERM)
        _kill(pid, signal.SIGCONT)  # who is stopped hears of it only then
    patience = time.monotonic() + GRACE_S
    while (alive := reap(spare, on_exit)) and time.monotonic() < patience:
        time.sleep(PACE_S)
    begun = time.monotonic()
    while alive:
        left = descendants(spare or ())
        for pid in left:
            _kill(pid, signal.SIGKILL)
        waited_s = time.monotonic() - begun
        if waited_s > EXIT_S or (waited_s > KILL_S and not all(map(_is_exiting, left))):
            more = [f"{len(left) - MOST_NAMED} more"] if len(left) > MOST_NAMED else []
            return (*map(_describe, left[:MOST_NAMED]), *more)
        time.sleep(PACE_S)
        alive = reap(spare, on_exit)
    return ()


def _kill(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _is_exiting(pid: int) -> bool:
    fields = _stat(pid)[1]
    return not fields or bool(int(fields[6]) & _PF_EXITING)


def _describe(pid: int) -> str:
    name, fields = _stat(pid)
    state = fields[0] if fields else "ended"
    return f"{name or '?'} (pid {pid}, state {state}, user {_owner(pid)})"


def _owner(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}").stat().st_uid)
    except OSError:
        return "?"


def _stat(pid: int) -> tuple[str, list[str]]:
    """Return the name of a process, and the fields of /proc/PID/stat after it: state, parent …; none if it has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes().decode(errors="replace")
    except OSError:
        return "", []
    name, _, rest = text.partition("(")[2].rpartition(")")  # the name may hold blanks and brackets
    return name, rest.split()
