"""Start one process, sleep until it ends, and leave nothing of it behind. I/O.

A tool may start processes in sessions of their own (MPI launchers do), so a process group is not enough to end it.
Each run carries a mark in its environment, which its descendants inherit; whoever bears the mark belongs to the run.
"""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import IO, Literal, Self

from orchestrator.aside import moved_aside
from orchestrator.model import Outcome

MARK = "PINSWEEP_RUN"
"""Environment variable that every process of a run inherits."""

GRACE_S = 2.0
"""What a tool gets between SIGTERM and SIGKILL: enough for fio to write its last report."""

LOOK_EVERY_S = 0.12
LOOKS = 12
"""When a tool is looked at: tools are still starting then, and what is seen is settled within a second or two."""

OUTPUT_LIMIT_BYTES = 256 << 20
"""What one stream may hold; a tool that prints more is not printing a result, and fills the memory it measures."""

OUTPUT_CHECK_S = 2.0

LOSES_PATIENCE = 4
"""Signals after which a stop no longer waits for the next safe point."""


class Stop:
    """Turns SIGINT and SIGTERM into a request that the run loop sees at its next safe point, or at once while it waits.

    A second signal changes nothing: no moment leaves a tool behind or a half-written result. One that comes again and
    again is taken literally, wherever this process is stuck; the keeper then cleans up.
    """

    def __init__(self) -> None:
        self.requested: signal.Signals | None = None
        self._heard = 0
        self._read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._before: dict[int, object] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup, or a shell's background job
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal() returned is what it takes
        os.close(self._read)
        os.close(self._write)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self._heard += 1
        if self._heard >= LOSES_PATIENCE:
            raise KeyboardInterrupt
        self.requested = signal.Signals(number)
        with contextlib.suppress(BlockingIOError):
            os.write(self._write, b"!")

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when a stop is requested."""
        return self._read


def run_process(
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    mark: str,
    timeout_s: float,
    stop: Stop,
    cwd: str = "",
    look: Callable[[int], bool] | None = None,
    aside: Iterable[int] = (),
) -> Outcome:
    """Run `argv` to its end, to its timeout or to a stop; in the last two cases its whole tree is ended.

    `look` is called with the process id every LOOK_EVERY_S from the start, until it returns True or has been called
    LOOKS times. For all the rest this process sleeps, on the CPUs `aside` if there are any: the tool itself inherits
    the mask that this process has when it is called. Output goes to files in memory, never to a device that may be
    under test.
    """
    with _spool() as stdout, _spool() as stderr:
        begun = time.monotonic()
        try:
            process = subprocess.Popen(
                list(argv), env={**os.environ, "LC_ALL": "C", **env, MARK: mark},
                cwd=cwd or None,
                stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            return Outcome.not_started(f"{error.filename or argv[0]}: {error.strerror}")
        try:
            with moved_aside(aside):
                ending = _wait(process.pid, stop, begun + timeout_s, look, (stdout, stderr))
            if ending != "ended":
                end_tree(mark, process.pid)
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:  # whatever went wrong here, the tool is not left behind
            end_tree(mark, process.pid)
            process.wait()
            raise
        wall_s = time.monotonic() - begun
        code = process.returncode = os.waitstatus_to_exitcode(
            status
        )  # tells Popen that it has been waited for
        if marked(mark):  # a daemon, or a child in a session of its own
            end_tree(mark, process.pid)
        return Outcome(
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            timed_out=ending == "timed out",
            stopped=ending == "stopped",
            wall_s=wall_s,
            usage=_usage(usage),
            stdout=_contents(stdout),
            stderr=_contents(stderr),
            error=f"printed more than {OUTPUT_LIMIT_BYTES >> 20} MiB" if ending == "flooded" else "",
        )


def _wait(
    pid: int, stop: Stop, deadline: float, look: Callable[[int], bool] | None, spools: Sequence[IO[bytes]]
) -> Literal["ended", "stopped", "timed out", "flooded"]:
    """Sleep until the process has ended, or must be."""
    looks = LOOKS if look else 0
    pidfd = os.pidfd_open(pid)
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(pidfd, selectors.EVENT_READ)
            selector.register(stop, selectors.EVENT_READ)
            while True:
                if stop.requested is not None:
                    return "stopped"
                left = deadline - time.monotonic()
                if left <= 0:
                    return "timed out"
                ready = {
                    key.fd for key, _ in selector.select(min(left, LOOK_EVERY_S if looks else OUTPUT_CHECK_S))
                }
                if pidfd in ready:
                    return "ended"
                if look and looks and not ready:
                    looks = 0 if look(pid) else looks - 1
                if any(os.fstat(spool.fileno()).st_size > OUTPUT_LIMIT_BYTES for spool in spools):
                    return "flooded"
    finally:
        os.close(pidfd)


def end_tree(mark: str, leader: int | None = None) -> None:
    """End every process of a run: SIGTERM, a short grace, then SIGKILL until none is left."""
    if leader is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGTERM)
    for pid in marked(mark):
        _kill(pid, signal.SIGTERM)
    patience = time.monotonic() + GRACE_S
    while (alive := marked(mark)) and time.monotonic() < patience:
        time.sleep(0.02)
    patience = time.monotonic() + 5.0
    while alive and time.monotonic() < patience:
        for pid in alive:
            _kill(pid, signal.SIGKILL)
        time.sleep(0.02)
        alive = marked(mark)


def marked(mark: str) -> list[int]:
    """Return the ids of all living processes that bear the mark, zombies left out."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):  # it ended meanwhile, or it is not ours
            if wanted in Path(entry.path, "environ").read_bytes().split(b"\0") and not _is_zombie(entry.path):
                found.append(int(entry.name))
    return found


def _is_zombie(path: str) -> bool:
    return Path(path, "stat").read_bytes().rpartition(b")")[2].split()[0] in (b"Z", b"X")


def _kill(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _spool() -> IO[bytes]:
    folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return tempfile.TemporaryFile(dir=folder)


def _contents(spool: IO[bytes]) -> bytes:
    spool.seek(0)
    return spool.read(OUTPUT_LIMIT_BYTES)


def _usage(usage: resource.struct_rusage) -> dict[str, float]:
    return {
        "user_s": usage.ru_utime,
        "system_s": usage.ru_stime,
        "max_rss_bytes": usage.ru_maxrss * 1024.0,
        "minor_faults": float(usage.ru_minflt),
        "major_faults": float(usage.ru_majflt),
        "voluntary_switches": float(usage.ru_nvcsw),
        "involuntary_switches": float(usage.ru_nivcsw),
    }
