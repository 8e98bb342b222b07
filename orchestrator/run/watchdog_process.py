"""Start and end tools in the process that `orchestrator.run.watchdog` forks, until pinsweep releases it or dies. I/O.

The two processes exchange JSON over a socket. Each message follows its length, and some have descriptors. The requests
are `start` (with stdout and stderr), `hold` (with a descriptor), `end` and `leave`. The answers are the classes below.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import mmap
import os
import resource
import select
import signal
import socket
import struct
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from orchestrator.machine.process_tree import adopt_orphans, end_descendants, reap
from orchestrator.placement import proof

NAME = proof.WATCHDOG
"""What /proc calls it. Not pinsweep-something: `pkill -9 pinsweep` then leaves someone who cleans up."""

TOOL = struct.Struct("=i")
"""The content of the shared memory: the pid of the tool, or 0 if none runs."""

DROPPED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


_LENGTH = struct.Struct("!I")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The tool could not be started."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The tool and all processes that it left behind have ended, except `unended`."""

    status: int | None  # status of wait(2); None for a process that could not be ended
    usage: Mapping[str, float]  # resource usage of the tool and its children
    wall_s: float
    span_s: float  # from its start to this message, because remaining processes must end too
    by_itself: bool  # the tool had already ended, and only its remaining processes existed
    unended: tuple[str, ...] = ()
    stops: int = 0  # number of stops and continues (SIGSTOP, SIGCONT)
    stopped_s: float = 0.0
    last: Mapping[str, Any] | None = None
    """The last state of its main thread, on request: pid, name, cpus, mems_allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Killed:
    """The watchdog was killed. The processes that it left behind have ended, except `unended`."""

    unended: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A bug in the watchdog."""

    traceback: str


Answer = Refused | Ended | Killed | Broken


def send(channel: socket.socket, name: str, fields: Mapping[str, Any], descriptors: Sequence[int] = ()) -> None:
    """Send a message. Its JSON is ASCII, and words that are not UTF-8 arrive unchanged."""
    text = json.dumps([name, fields]).encode()
    message = _LENGTH.pack(len(text)) + text
    sent = socket.send_fds(channel, [message], descriptors) if descriptors else 0
    if rest := message[sent:]:  # to send nothing fails, too, where the other side has heard it and died
        channel.sendall(rest)


def receive(channel: socket.socket) -> tuple[str, dict[str, Any], list[int]]:
    """Return the next message: name, fields, descriptors. Raises EOFError at the end."""
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


def be_watchdog(
    channel: socket.socket,
    shared: mmap.mmap,
    keep: Sequence[int],
    held: Sequence[int],
    on_orphaned: Callable[[], None],
    mask: Iterable[int],
) -> NoReturn:
    """Be the watchdog, in the process just forked; never returns. `mask` are the signals that the tools find blocked."""
    status = 1
    try:
        os.setsid()
        with contextlib.suppress(OSError):
            Path("/proc/self/comm").write_text(NAME)
        adopt_orphans(True)
        _close_all_but(channel.fileno(), *keep, *held)
        gc.freeze()  # a collection would copy all that pinsweep has loaded
        wake = _wake_on_signals()
        signal.pthread_sigmask(signal.SIG_SETMASK, set(mask) - {signal.SIGCHLD})
        server = _Server(channel, shared, wake, held)
        if not server.serve():
            server.let_go()
            on_orphaned()
        status = 0
    finally:
        os._exit(status)


def _close_all_but(*keep: int) -> None:
    """Close all descriptors that are not in `keep`. 0, 1 and 2 open /dev/null, so that no other file gets these
    numbers. A tool inherits no other descriptor.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    for number in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208 (numbers, not paths)
        if number in keep:
            os.set_inheritable(number, False)
        elif number > 2:
            with contextlib.suppress(OSError):  # the listing's own
                os.close(number)


def _wake_on_signals() -> int:
    """Ignore signals from a terminal or a user.

    Return a descriptor that is readable after a child ends, stops or continues.

    Handlers drop the signals, because tools would inherit an ignored signal. A signal that pinsweep already ignores
    (nohup) is still ignored.
    """
    read, write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    for number in DROPPED:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    return read


class _Tripwire:
    """Makes the kernel kill the process group of a tool if this process and pinsweep are killed at once.

    The tool inherits the reading end of a pipe. Only this process can write to the pipe. The pipe signals the group
    when its last writer is closed (F_SETOWN, F_SETSIG of fcntl(2)). PR_SET_PDEATHSIG would reach only the first process
    of the tool. It must be set between fork and exec, which posix_spawn(3) cannot do, and a fork costs 3 to 5 times as
    much.
    """

    def __init__(self) -> None:
        self.reader, self._writer = os.pipe2(os.O_CLOEXEC)
        fcntl.fcntl(self.reader, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(self.reader, fcntl.F_SETFL, os.O_ASYNC)

    def aim(self, group: int) -> None:
        with contextlib.suppress(OSError):  # it has ended already
            fcntl.fcntl(self.reader, fcntl.F_SETOWN, -group)


@dataclass(slots=True)
class _Stops:
    """The number of stops of the children (SIGSTOP, a debugger, job control), and the time with a stopped child.

    The kernel wakes the parent, and stores the last change of each child until the parent reads it. So short stops are
    counted too, but their duration is unknown.
    """

    times: int = 0
    over_s: float = 0.0
    _now: set[int] = field(default_factory=set)
    _since: float = 0.0

    def look(self) -> None:
        """Read the changes after the last look.

        A child that has ended must still be waited for, and has no further changes.
        """
        with contextlib.suppress(ChildProcessError):  # none is left
            while change := os.waitid(os.P_ALL, 0, os.WSTOPPED | os.WCONTINUED | os.WNOHANG):
                stopped, known = change.si_code == os.CLD_STOPPED, change.si_pid in self._now
                self.times += not known
                if stopped and not self._now:
                    self._since = time.monotonic()
                if stopped:
                    self._now.add(change.si_pid)
                else:
                    self.over(change.si_pid)

    def over(self, pid: int) -> None:
        """Record that a child continues or has ended."""
        if self._now == {pid}:
            self.over_s += time.monotonic() - self._since
        self._now.discard(pid)


@dataclass(slots=True, kw_only=True)
class _Tool:
    pid: int
    begun: float
    ended: float = 0.0
    status: int | None = None
    usage: dict[str, float] = field(default_factory=dict)
    stops: _Stops = field(default_factory=_Stops)
    last_look: bool = False  # the last state is requested
    last: dict[str, Any] | None = None


class _Server:
    """Does what pinsweep asks for, and says when a tool has ended."""

    def __init__(self, channel: socket.socket, shared: mmap.mmap, wake: int, held: Iterable[int]) -> None:
        self._channel = channel
        self._shared = shared
        self._held = list(held)
        self._wake = wake
        self._tripwire = _Tripwire()
        self._tool: _Tool | None = None
        self._env = {**os.environb, b"LC_ALL": b"C"}
        self._here = os.open(".", os.O_PATH | os.O_CLOEXEC)

    def serve(self) -> bool:
        """Serve until pinsweep says goodbye. Return False if pinsweep died."""
        try:
            while True:
                ready = select.select([self._channel.fileno(), self._wake], [], [])[0]
                if self._wake in ready:
                    self._look_who_ended()
                if self._channel.fileno() in ready:
                    try:
                        name, fields, descriptors = receive(self._channel)
                    except (OSError, EOFError):
                        end_descendants()
                        return False
                    if name == "leave":
                        return True
                    if name == "start":
                        self._start(descriptors, **fields)
                    elif name == "hold":
                        self._held += descriptors
                    elif self._tool:  # "end"; without a tool, the answer is already sent
                        by_itself = self._tool.status is not None
                        self._tool.stops.look()
                        self._tell_end(end_descendants(on_exit=self._exited), by_itself=by_itself)
        except Exception:
            end_descendants()
            self._tell(Broken(traceback=traceback.format_exc()))
            raise

    def let_go(self) -> None:
        """Close the descriptors from `hold`."""
        for descriptor in self._held:
            os.close(descriptor)

    def _look_who_ended(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake, 4096)
        if self._tool:
            self._tool.stops.look()
            if self._tool.last_look:
                self._tool.last = _last_look(self._tool.pid)
        alive = reap(on_exit=self._exited)
        if self._tool and self._tool.status is not None:
            self._tell_end(end_descendants(on_exit=self._exited) if alive else (), by_itself=True)

    def _start(
        self,
        descriptors: Sequence[int],
        *,
        argv: list[str],
        env: Mapping[str, str],
        cwd: str,
        cpus: Sequence[int],
        housekeeping: Sequence[int],
        last_look: bool,
    ) -> None:
        begun = time.monotonic()
        try:
            stdout, stderr = descriptors
            _keep_to(cpus)  # inherited mask: numactl refuses PUs outside
            if cwd:
                os.chdir(cwd)
            pid = os.posix_spawnp(
                argv[0], argv, {**self._env, **{os.fsencode(name): os.fsencode(value) for name, value in env.items()}},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, stdout, 1), (os.POSIX_SPAWN_CLOSE, stdout),
                    (os.POSIX_SPAWN_DUP2, stderr, 2), (os.POSIX_SPAWN_CLOSE, stderr),
                    (os.POSIX_SPAWN_DUP2, self._tripwire.reader, self._tripwire.reader),  # else exec closes it
                ],
                setsid=True, setsigdef=_IGNORED_BY_PYTHON,
            )  # fmt: skip
        except OSError as error:
            self._tell(Refused(reason=f"{error.filename or argv[0]}: {error.strerror}"))
        except ValueError as error:  # a null byte; or the descriptors did not all come through
            self._tell(Refused(reason=f"{argv[0]}: {error}"))
        else:
            self._tripwire.aim(pid)
            self._tool = _Tool(pid=pid, begun=begun, last_look=last_look)
            TOOL.pack_into(self._shared, 0, pid)
        finally:
            if cwd:
                os.fchdir(self._here)
            _keep_to(housekeeping or cpus)
            for descriptor in descriptors:
                os.close(descriptor)

    def _exited(self, pid: int, status: int, usage: resource.struct_rusage) -> None:
        if self._tool:
            self._tool.stops.over(pid)
        if self._tool and pid == self._tool.pid:
            self._tool.ended = time.monotonic()
            self._tool.status = status
            self._tool.usage = _usage(usage)

    def _tell_end(self, unended: tuple[str, ...], *, by_itself: bool) -> None:
        assert self._tool
        tool, self._tool = self._tool, None
        TOOL.pack_into(self._shared, 0, 0)
        now = time.monotonic()
        self._tell(
            Ended(
                status=tool.status,
                usage=tool.usage,
                stops=tool.stops.times,
                stopped_s=tool.stops.over_s,
                wall_s=(tool.ended or now) - tool.begun,
                span_s=now - tool.begun,
                by_itself=by_itself,
                unended=unended,
                last=tool.last,
            )
        )

    def _tell(self, answer: Answer) -> None:
        with contextlib.suppress(OSError):  # pinsweep is gone: the next look at the channel shows it
            fields = {name: getattr(answer, name) for name in answer.__slots__}
            send(self._channel, type(answer).__name__, fields)


def _last_look(pid: int) -> dict[str, Any] | None:
    """Return the CPUs of a child that has ended and is not yet waited for. None if it has not ended."""
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
