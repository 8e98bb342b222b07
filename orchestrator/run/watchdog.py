"""The watchdog: a process that starts every tool, sees it end, and leaves nothing of it behind. I/O.

It is forked once, sleeps, and adopts what is orphaned below it, so that all that a tool ever starts stays below it:

    pinsweep ── watchdog ── tool ── whatever the tool starts, however it hides

    pinsweep is killed       its socket closes: the watchdog ends the tree, clears up, and goes
    the watchdog is killed   pinsweep adopts the tree and ends it; the next run gets a new watchdog
    both at once             the tool's process group is killed by the kernel (see `_Tripwire`)

Both sides speak JSON, each message after its length. A request is `start` (with the descriptors of stdout and stderr),
`end` or `leave`; an answer is one of the classes below.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import gc
import json
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from orchestrator.machine.process_tree import (
    EXIT_S,
    GRACE_S,
    adopt_orphans,
    children,
    end_descendants,
    ends_within,
    reap,
)
from orchestrator.placement import proof
from parsers.errors import PinsweepError

NAME = proof.WATCHDOG
"""What /proc calls it. Not pinsweep-something: `pkill -9 pinsweep` then leaves someone who cleans up."""

ANSWER_S = GRACE_S + EXIT_S + 10.0
"""A watchdog that has not ended a tree by then never will (somebody stopped it): it is killed, as if it had been."""

_DROPPED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LENGTH = struct.Struct("!I")


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The tool could not be started."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The tool has ended, and so has all that it left behind, but for `unended`."""

    status: int | None  # as wait(2) gives it; None: it is among those that could not be ended
    usage: Mapping[str, float]  # of the tool and its children
    wall_s: float
    by_itself: bool  # it had ended when it was asked to: only what it left behind was still there
    unended: tuple[str, ...] = ()
    last: Mapping[str, Any] | None = None
    """Where its main thread was when it ended, if that was asked for: pid, name, cpus, mems_allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Killed:
    """The watchdog itself was killed; what it left behind has been ended, but for `unended`."""

    unended: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A bug in the watchdog."""

    traceback: str


Answer = Started | Refused | Ended | Killed | Broken


class Watchdog:
    """The watchdog as pinsweep sees it.

    `keep` are descriptors that it holds for as long as it lives; `on_orphaned` is what it does last when pinsweep has
    died. One tool runs at a time: `busy`, until it has ended.
    """

    def __init__(self, *, keep: Iterable[int] = (), on_orphaned: Callable[[], None] = lambda: None) -> None:
        self._keep = tuple(keep)
        self._on_orphaned = on_orphaned
        self._not_ours = frozenset(children(os.getpid()))
        self.busy = False
        self._begin()
        self._adopted_before = adopt_orphans(True)

    def _begin(self) -> None:
        """Fork it. Raises PinsweepError where no process can be started."""
        ours: socket.socket | None = None
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
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _DROPPED)  # our handlers must not run in it
        try:
            pid = os.fork()
            if pid == 0:
                _be_watchdog(theirs, self._keep, self._on_orphaned, before)
            return pid
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when there is an answer."""
        return self._channel.fileno()

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
        """Ask for a tool to be started; the answer is `Started` or `Refused`, and `Ended` later.

        It gets the environment `env` and nothing else, descriptors `outputs` as stdout and stderr, and the mask
        `cpus`. The watchdog itself waits on the CPUs `housekeeping`; none: on the same ones. With `last_look` the end is told
        with where the tool then was.
        """
        request = {
            "argv": list(argv), "env": dict(env), "cwd": cwd, "cpus": sorted(cpus), "housekeeping": sorted(housekeeping),
            "last_look": last_look,
        }  # fmt: skip
        self.busy = True
        try:
            _send(self._channel, "start", request, outputs)
        except OSError:  # it was killed while nothing ran
            self._recover()
            self._begin()
            self.busy = True
            _send(self._channel, "start", request, outputs)

    def receive(self) -> Answer:
        """Return the next answer; waits for it, at most ANSWER_S."""
        try:
            name, fields, _ = _receive(self._channel)
        except (OSError, EOFError, ValueError):  # it is gone, or does not make sense any more
            return self._recover()
        answer = _ANSWERS[name](**{k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()})
        if not isinstance(answer, Started):
            self.busy = False
        return answer

    def end(self) -> Answer:
        """End the tool, if one is running, and all that it started; return how it ended."""
        if not self.busy:
            return Killed()
        try:
            _send(self._channel, "end", {})
        except OSError:
            return self._recover()
        while isinstance(answer := self.receive(), Started):
            pass
        return answer

    def stop(self, *, finished: bool = True) -> None:
        """Let it go. If it still has a tool to end, or not all is `finished`, it does the rest by itself."""
        finished = finished and not self.busy
        if finished:
            with contextlib.suppress(OSError):
                _send(self._channel, "leave", {})
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


_ANSWERS: dict[str, Callable[..., Answer]] = {
    kind.__name__: kind for kind in (Started, Refused, Ended, Broken)
}


# --- the watchdog's own side ---


def _be_watchdog(
    channel: socket.socket, keep: Sequence[int], on_orphaned: Callable[[], None], mask: Iterable[int]
) -> NoReturn:
    """Be the watchdog, in the process just forked; never returns. `mask` are the signals that the tools find blocked."""
    status = 1
    try:
        os.setsid()
        with contextlib.suppress(OSError):
            Path("/proc/self/comm").write_text(NAME)
        adopt_orphans(True)
        _close_all_but(channel.fileno(), *keep)
        gc.freeze()  # a collection would copy all that pinsweep has loaded
        wake = _wake_on_signals()
        signal.pthread_sigmask(signal.SIG_SETMASK, set(mask) - {signal.SIGCHLD})
        if not _Server(channel, wake).serve():
            on_orphaned()
        status = 0
    finally:
        os._exit(status)


def _close_all_but(*keep: int) -> None:
    """Close all descriptors that are not in `keep`; 0, 1 and 2 lead nowhere, so that no other gets these numbers."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    for number in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208 (numbers, not paths)
        if number > 2 and number not in keep:
            with contextlib.suppress(OSError):  # the listing's own
                os.close(number)


def _wake_on_signals() -> int:
    """Drop what a terminal or an impatient user sends, and return a descriptor that is readable when a child ends.

    Dropped by handlers, not ignored: what is ignored stays ignored in the tools that are started. What pinsweep
    was told to ignore (nohup) stays so.
    """
    read, write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    for number in _DROPPED:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    return read


class _Tripwire:
    """Makes the kernel kill the process group of a tool when this process and pinsweep are killed at once.

    The tool inherits the reading end of a pipe that only this process can write to, and that is set up to signal the
    group when the last writer is gone (F_SETOWN, F_SETSIG of fcntl(2)). PR_SET_PDEATHSIG would reach the tool's first
    process only, and has to be set between fork and exec: without vfork a start costs 3 to 5 times as much.
    """

    def __init__(self) -> None:
        self.reader, self._writer = os.pipe2(os.O_CLOEXEC)
        fcntl.fcntl(self.reader, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(self.reader, fcntl.F_SETFL, os.O_ASYNC)

    def aim(self, group: int) -> None:
        with contextlib.suppress(OSError):  # it has ended already
            fcntl.fcntl(self.reader, fcntl.F_SETOWN, -group)


@dataclass(slots=True, kw_only=True)
class _Tool:
    process: subprocess.Popen[bytes]
    begun: float
    ended: float = 0.0
    status: int | None = None
    usage: dict[str, float] = field(default_factory=dict)
    last_look: bool = False  # where it was when it ended is asked for
    last: dict[str, Any] | None = None


class _Server:
    """Does what pinsweep asks for, and says when a tool has ended."""

    def __init__(self, channel: socket.socket, wake: int) -> None:
        self._channel = channel
        self._wake = wake
        self._tripwire = _Tripwire()
        self._tool: _Tool | None = None

    def serve(self) -> bool:
        """Sleep and serve until pinsweep says goodbye; False if it has died without."""
        try:
            while True:
                ready = select.select([self._channel.fileno(), self._wake], [], [])[0]
                if self._wake in ready:
                    self._look_who_ended()
                if self._channel.fileno() in ready:
                    try:
                        name, fields, descriptors = _receive(self._channel)
                    except (OSError, EOFError):
                        end_descendants()
                        return False
                    if name == "leave":
                        return True
                    if name == "start":
                        self._start(descriptors, **fields)
                    elif self._tool:  # "end"; without a tool it ended meanwhile, and that was told
                        by_itself = self._tool.status is not None
                        self._tell_end(end_descendants(on_exit=self._exited), by_itself=by_itself)
        except Exception:
            end_descendants()
            self._tell(Broken(traceback=traceback.format_exc()))
            raise

    def _look_who_ended(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake, 4096)
        if self._tool and self._tool.last_look:
            self._tool.last = _last_look(self._tool.process.pid)
        alive = reap(on_exit=self._exited)
        if self._tool and self._tool.status is not None:
            self._tell_end(end_descendants(on_exit=self._exited) if alive else (), by_itself=True)

    def _start(
        self,
        descriptors: Sequence[int],
        *,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str,
        cpus: Sequence[int],
        housekeeping: Sequence[int],
        last_look: bool,
    ) -> None:
        begun = time.monotonic()
        try:
            stdout, stderr = descriptors
            _keep_to(cpus)  # what it inherits: numactl refuses PUs outside of it
            process = subprocess.Popen(
                argv, env=env, cwd=cwd or None,
                stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                start_new_session=True, pass_fds=(self._tripwire.reader,),
            )  # fmt: skip
        except OSError as error:
            self._tell(Refused(reason=f"{error.filename or argv[0]}: {error.strerror}"))
        except ValueError as error:  # a null byte; or the descriptors did not all come through
            self._tell(Refused(reason=f"{argv[0]}: {error}"))
        else:
            self._tripwire.aim(process.pid)
            self._tool = _Tool(process=process, begun=begun, last_look=last_look)
            self._tell(Started(pid=process.pid))
        finally:
            _keep_to(housekeeping or cpus)
            for descriptor in descriptors:
                os.close(descriptor)

    def _exited(self, pid: int, status: int, usage: resource.struct_rusage) -> None:
        if self._tool and pid == self._tool.process.pid:
            self._tool.ended = time.monotonic()
            self._tool.status = status
            self._tool.usage = _usage(usage)

    def _tell_end(self, unended: tuple[str, ...], *, by_itself: bool) -> None:
        assert self._tool
        tool, self._tool = self._tool, None
        tool.process.returncode = tool.status or 0  # Popen would wait for it otherwise
        wall_s = (tool.ended or time.monotonic()) - tool.begun
        self._tell(
            Ended(
                status=tool.status,
                usage=tool.usage,
                wall_s=wall_s,
                by_itself=by_itself,
                unended=unended,
                last=tool.last,
            )
        )

    def _tell(self, answer: Answer) -> None:
        with contextlib.suppress(OSError):  # pinsweep is gone: the next look at the channel shows it
            _send(self._channel, type(answer).__name__, dataclasses.asdict(answer))


def _last_look(pid: int) -> dict[str, Any] | None:
    """Return where a child was that has ended and is not waited for yet; None if it has not ended."""
    if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        return None
    process = proof.last_look(pid)
    if process is None:
        return None
    return {
        "pid": pid,
        "name": process.name,
        "cpus": sorted(process.cpus),
        "mems_allowed": sorted(process.mems_allowed),
    }


def _keep_to(cpus: Iterable[int]) -> None:
    with contextlib.suppress(OSError):  # none of them is left to us
        os.sched_setaffinity(0, cpus)


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


# --- messages ---


def _send(
    channel: socket.socket, name: str, fields: Mapping[str, Any], descriptors: Sequence[int] = ()
) -> None:
    """Send a message. Its JSON is ASCII: words of a command line that are no UTF-8 come through as they are."""
    text = json.dumps([name, fields]).encode()
    message = _LENGTH.pack(len(text)) + text
    sent = socket.send_fds(channel, [message], descriptors) if descriptors else 0
    channel.sendall(message[sent:])


def _receive(channel: socket.socket) -> tuple[str, dict[str, Any], list[int]]:
    """Return the next message: name, fields, descriptors. Raises EOFError if there is none any more."""
    head, descriptors, _, _ = socket.recv_fds(channel, _LENGTH.size, 2)
    head += _exactly(channel, _LENGTH.size - len(head)) if head else b""
    if not head:
        raise EOFError
    name, fields = json.loads(_exactly(channel, _LENGTH.unpack(head)[0]))
    return name, fields, descriptors


def _exactly(channel: socket.socket, length: int) -> bytes:
    parts = []
    while length:
        part = channel.recv(min(length, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
