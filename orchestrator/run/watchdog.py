"""Start the watchdog process, which starts and ends every tool and cleans up after it. I/O.

The watchdog is forked once and sleeps. It adopts orphans below it, so that all processes of a tool remain below it:

    pinsweep ── watchdog ── tool ── whatever the tool starts, however it hides

    pinsweep is killed       its socket closes: the watchdog ends the tree, clears up, and goes
    the watchdog is killed   pinsweep adopts the tree and ends it; the next run gets a new watchdog
    both at once             the tool's process group is killed by the kernel (see `_Tripwire`)

`orchestrator.run.watchdog_process` has the code of the watchdog and the messages.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from orchestrator.machine.process_tree import (
    EXIT_S,
    GRACE_S,
    adopt_orphans,
    children,
    end_descendants,
    ends_within,
)
from orchestrator.run.watchdog_process import (
    DROPPED,
    TOOL,
    Answer,
    Broken,
    Ended,
    Killed,
    Refused,
    be_watchdog,
    receive,
    send,
)
from parsers.errors import PinsweepError

ANSWER_S = GRACE_S + EXIT_S + 10.0
"""Seconds until a watchdog counts as stuck, because another process stopped it. Then it is killed."""


class Watchdog:
    """The watchdog process, as pinsweep controls it.

    The watchdog holds the descriptors `keep` for its lifetime. `hold` adds a descriptor until the tool has ended. After
    pinsweep has died, the watchdog calls `on_orphaned` last. One tool runs at a time, and `busy` is true until it has
    ended. The pid of the tool is in shared memory, so a start wakes no process.
    """

    def __init__(self, *, keep: Iterable[int] = (), on_orphaned: Callable[[], None] = lambda: None) -> None:
        self._keep = tuple(keep)
        self._held: tuple[int, ...] = ()
        self._on_orphaned = on_orphaned
        self._not_ours = frozenset(children(os.getpid()))
        self._shared = mmap.mmap(-1, mmap.PAGESIZE)
        self.busy = False
        self._begin()
        self._adopted_before = adopt_orphans(True)

    def _begin(self) -> None:
        """Fork it. Raises PinsweepError where no process can be started."""
        ours: socket.socket | None = None
        TOOL.pack_into(self._shared, 0, 0)
        try:
            ours, theirs = socket.socketpair()
            with theirs:
                self.pid = self._fork(theirs)
        except OSError as error:
            if ours:
                ours.close()
            raise PinsweepError(
                "watchdog",
                f"no process can be started: {error.strerror}",
                "see ulimit -u and -n, and pids.max of the cgroup",
            ) from error
        ours.settimeout(ANSWER_S)
        self._channel = ours

    def _fork(self, theirs: socket.socket) -> int:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, DROPPED)  # our handlers must not run in it
        try:
            pid = os.fork()
            if pid == 0:
                be_watchdog(theirs, self._shared, self._keep, self._held, self._on_orphaned, before)
            return pid
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when there is an answer."""
        return self._channel.fileno()

    @property
    def tool(self) -> int:
        """Return the process of the tool, also before exec. 0 if no tool runs."""
        (pid,) = TOOL.unpack_from(self._shared)
        return int(pid)

    def start(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        *,
        cwd: str,
        outputs: tuple[int, int],
        cpus: Iterable[int],
        housekeeping: Iterable[int] = (),
        last_look: bool = False,
    ) -> None:
        """Request the start of a tool. The answer is `Refused`, or `Ended` after the end.

        The tool gets the environment of this process at the fork of the watchdog, with LC_ALL=C and `env`. It gets the
        descriptors `outputs` as stdout and stderr, and the mask `cpus`. The watchdog waits on the CPUs `housekeeping`
        (empty: the same CPUs). With `last_look`, the answer has the CPUs of the tool at its end.
        """
        request = {
            "argv": list(argv), "env": dict(env), "cwd": cwd, "cpus": sorted(cpus), "housekeeping": sorted(housekeeping),
            "last_look": last_look,
        }  # fmt: skip
        self.busy = True  # before the start, so that an interrupted caller can end the tool
        self._ask("start", request, outputs)
        self.busy = True

    def hold(self, descriptor: int) -> None:
        """Make the watchdog hold another descriptor. If pinsweep is killed, it is held until the tool has ended."""
        self._ask("hold", {}, (descriptor,))
        self._held += (descriptor,)

    def _ask(self, name: str, fields: Mapping[str, Any], descriptors: Sequence[int]) -> None:
        """Send a request while nothing runs."""
        try:
            self._send(name, fields, descriptors)
        except OSError:  # it was killed
            self._recover()
            self._begin()
            self._send(name, fields, descriptors)

    def _send(self, name: str, fields: Mapping[str, Any], descriptors: Sequence[int] = ()) -> None:
        self.wake()
        send(self._channel, name, fields, descriptors)

    def wake(self) -> None:
        """Continue the watchdog if another process, such as the tool, stopped it (SIGSTOP). Otherwise do not wake it."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                if os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG):
                    os.kill(self.pid, signal.SIGCONT)

    def receive(self) -> Answer:
        """Return the next answer. Wait at most ANSWER_S."""
        try:
            name, fields, _ = receive(self._channel)
        except (OSError, EOFError, ValueError):  # it is gone, or does not make sense any more
            return self._recover()
        answer = _ANSWERS[name](**{k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()})
        self.busy = False
        return answer

    def end(self) -> Answer:
        """End the running tool and all processes that it started, and return its end state."""
        if not self.busy:
            return Killed()
        try:
            self._send("end", {})
        except OSError:
            return self._recover()
        return self.receive()

    def stop(self, *, finished: bool = True) -> None:
        """Release the watchdog. If a tool still runs or not all is `finished`, the watchdog does the rest alone."""
        finished = finished and not self.busy
        if finished:
            with contextlib.suppress(OSError):
                self._send("leave", {})
        self._channel.close()
        if finished:
            self._wait_for_it()
        adopt_orphans(self._adopted_before)

    def _recover(self) -> Killed:
        """Do the work of a watchdog that was killed or does not answer."""
        self._channel.close()
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self._wait_for_it()
        unended = end_descendants(self._not_ours)
        self.busy = False
        return Killed(unended=unended)

    def _wait_for_it(self) -> None:
        """Wait for the end of the watchdog, and end it if necessary."""
        if not self.pid:  # that is done
            return
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            if not ends_within(self.pid, ANSWER_S):
                os.kill(self.pid, signal.SIGKILL)
                ends_within(self.pid, ANSWER_S)
            os.waitpid(self.pid, os.WNOHANG)
        self.pid = 0


_ANSWERS: dict[str, Callable[..., Answer]] = {kind.__name__: kind for kind in (Refused, Ended, Broken)}
