"""Find, end and reap the processes below this process. I/O.

A process can clear its environment, leave its session and lose its parent, but its ancestors remain. The nearest living
ancestor that adopts orphans (a *subreaper*, prctl(2)) becomes the parent of an orphan.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Collection

from orchestrator.machine.kernel_files import list_numbers, read_bytes, read_stat

GRACE_S = 2.0
"""Time between SIGTERM and SIGKILL: enough for fio to write its last report."""

KILL_S = 5.0
"""How long SIGKILL is tried. A process in an uninterruptible wait does not obey it, and another user's cannot be sent it."""

EXIT_S = 60.0
"""Time for processes that are exiting: the kernel needs a minute to free a terabyte in small pages."""

MAX_NAMED = 5

PACE_S = 0.005

Exited = Callable[[int, int, resource.struct_rusage], None]
"""Callback with the process id, the wait status and the resource usage."""

_PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 36, 37
_PF_EXITING = 0x4


def ends_within(pid: int, timeout_s: float) -> bool:
    """Return whether a child of this process ends within a time. The child must still be reaped.

    The function polls, because pidfd_open(2) is missing before Linux 5.3, in gVisor, and in some builds of Python.
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
    """Set whether orphans below this process become its children. Return the earlier setting."""
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    before = ctypes.c_int()
    prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(adopt), 0, 0, 0)
    return bool(before.value)


def children(pid: int, proc: str = "/proc") -> list[int]:
    """Return the children of all threads of a process, or [] if it has ended."""
    folder = f"{proc}/{pid}/task"
    texts = (read_bytes(f"{folder}/{thread}/children") for thread in list_numbers(folder))
    return [int(child) for text in texts for child in text.split()]


def descendants(spare: Collection[int] = ()) -> list[int]:
    """Return all processes below this process, parents first, without the trees of `spare`."""
    children_of: Callable[[int], list[int]] = children
    if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):  # noqa: PTH110 (very small kernels)
        by_parent: defaultdict[int, list[int]] = defaultdict(list)
        for pid in list_numbers("/proc"):
            if fields := read_stat(pid)[1]:
                by_parent[int(fields[1])].append(pid)
        children_of = by_parent.__getitem__
    processes: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        below = [pid for pid in children_of(waiting.pop(0)) if pid not in spare]
        processes += below
        waiting += below
    return processes


def reap(spare: Collection[int] | None = None, on_exit: Exited = lambda *_: None) -> bool:
    """Reap the children that have ended. Return whether other children remain.

    `spare` are children for which another owner waits. With None, /proc is not read.
    """
    alive = False
    for target in [-1] if spare is None else [pid for pid in children(os.getpid()) if pid not in spare]:
        with contextlib.suppress(ChildProcessError):  # that was the last one
            while True:
                pid, status, usage = os.wait4(target, os.WNOHANG)
                if not pid:
                    alive = True
                    break
                on_exit(pid, status, usage)
    return alive


def end_descendants(spare: Collection[int] | None = None, on_exit: Exited = lambda *_: None) -> tuple[str, ...]:
    """End and reap every process below this process: SIGTERM, a short grace period, then SIGKILL.

    Returns, as text, the processes that did not end within KILL_S, or EXIT_S while exiting.
    """
    for pid in descendants(spare or ()):  # once, so that a tool may start processes to clean up
        _kill(pid, signal.SIGTERM)
        _kill(pid, signal.SIGCONT)  # a stopped process gets SIGTERM only then
    patience = time.monotonic() + GRACE_S
    while (alive := reap(spare, on_exit)) and time.monotonic() < patience:
        time.sleep(PACE_S)
    begin = time.monotonic()
    while alive:
        left = descendants(spare or ())
        for pid in left:
            _kill(pid, signal.SIGKILL)
        waited_s = time.monotonic() - begin
        if waited_s > EXIT_S or (waited_s > KILL_S and not all(map(_is_exiting, left))):
            more = [f"{len(left) - MAX_NAMED} more"] if len(left) > MAX_NAMED else []
            return (*map(_describe, left[:MAX_NAMED]), *more)
        time.sleep(PACE_S)
        alive = reap(spare, on_exit)
    return ()


def _kill(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _is_exiting(pid: int) -> bool:
    fields = read_stat(pid)[1]
    return not fields or bool(int(fields[6]) & _PF_EXITING)


def _describe(pid: int) -> str:
    name, fields = read_stat(pid)
    try:
        owner = str(os.stat(f"/proc/{pid}").st_uid)  # noqa: PTH116
    except FileNotFoundError:
        owner = "?"
    return f"{name or '?'} (pid {pid}, state {fields[0] if fields else 'ended'}, user {owner})"
