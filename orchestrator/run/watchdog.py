"""The watchdog: a process that starts every tool, sees it end, and leaves nothing of it behind. I/O.

It is forked once, sleeps, and adopts what is orphaned below it, so that all that a tool ever starts stays below it:

    pinsweep ── watchdog ── tool ── whatever the tool starts, however it hides

    pinsweep is killed       its socket closes: the watchdog ends the tree, clears up, and goes
    the watchdog is killed   pinsweep adopts the tree and ends it; the next run gets a new watchdog
    both at once             the tool's process group is killed by the kernel (see `_Tripwire`)

Its own side, and the messages, are in `orchestrator.run.watchdog_process`.
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
"""A watchdog that has not ended a tree by then never will (somebody stopped it): it is killed, as if it had been."""


class Watchdog:
    """The watchdog as pinsweep sees it.

    `keep` are descriptors that it holds for as long as it lives, `hold` adds one that it holds until the tool has ended;
    `on_orphaned` is what it does last, after that, when pinsweep has died. One tool runs at a time: `busy`, until it has ended.
    Which process that is stands in shared memory, so that a start wakes nobody.
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
        """The process that is the tool, or becomes it; 0: none runs."""
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
        """Ask for a tool to be started; the answer is `Refused`, or `Ended` when that is so.

        It gets the environment that this process had when the watchdog was forked, with LC_ALL=C and `env` in it,
        descriptors `outputs` as stdout and stderr, and the mask `cpus`. The watchdog itself waits on the CPUs
        `housekeeping`; none: on the same ones. With `last_look` the end is told with where the tool then was.
        """
        request = {
            "argv": list(argv), "env": dict(env), "cwd": cwd, "cpus": sorted(cpus), "housekeeping": sorted(housekeeping),
            "last_look": last_look,
        }  # fmt: skip
        self.busy = True  # before it is: whoever is interrupted here has something to end
        self._ask("start", request, outputs)
        self.busy = True

    def hold(self, descriptor: int) -> None:
        """Have it hold a descriptor, too: if pinsweep is killed, until the tool has ended."""
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
        """Have it go on if somebody, the tool say, stopped it (SIGSTOP); else it is not woken."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                if os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG):
                    os.kill(self.pid, signal.SIGCONT)

    def receive(self) -> Answer:
        """Return the next answer; waits for it, at most ANSWER_S."""
        try:
            name, fields, _ = receive(self._channel)
        except (OSError, EOFError, ValueError):  # it is gone, or does not make sense any more
            return self._recover()
        answer = _ANSWERS[name](**{k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()})
        self.busy = False
        return answer

    def end(self) -> Answer:
        """End the tool, if one is running, and all that it started; return how it ended."""
        if not self.busy:
            return Killed()
        try:
            self._send("end", {})
        except OSError:
            return self._recover()
        return self.receive()

    def stop(self, *, finished: bool = True) -> None:
        """Let it go. If it still has a tool to end, or not all is `finished`, it does the rest by itself."""
        finished = finished and not self.busy
        if finished:
            with contextlib.suppress(OSError):
                self._send("leave", {})
        self._channel.close()
        if finished:
            self._wait_for_it()
        adopt_orphans(self._adopted_before)

    def _recover(self) -> Killed:
        """Do its work: it was killed, or does not answer."""
        self._channel.close()
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self._wait_for_it()
        unended = end_descendants(self._not_ours)
        self.busy = False
        return Killed(unended=unended)

    def _wait_for_it(self) -> None:
        """Wait for its end, and see to it if need be."""
        if not self.pid:  # that is done
            return
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            if not ends_within(self.pid, ANSWER_S):
                os.kill(self.pid, signal.SIGKILL)
                ends_within(self.pid, ANSWER_S)
            os.waitpid(self.pid, os.WNOHANG)
        self.pid = 0


_ANSWERS: dict[str, Callable[..., Answer]] = {kind.__name__: kind for kind in (Refused, Ended, Broken)}
