"""Start one process, sleep until it ends or must be ended, and return its end state. I/O.

The watchdog starts and ends the process. This module waits.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import select
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Final, Literal, Protocol, Self

from orchestrator.machine.ask import in_memory
from orchestrator.model import Outcome
from orchestrator.run.watchdog import Watchdog
from orchestrator.run.watchdog_process import Answer, Broken, Ended, Killed, Refused
from parsers.text import LARGEST, PRINT_LESS

EARLY_GAPS_S = (0.008, 0.008, 0.016, 0.032, 0.064)
"""Seconds from look to look at the start, until the tool exists. Short runs are proved by these looks.

numactl takes 1 to 2 ms to become the tool.
"""

LOOK_EVERY_S = 0.12
LOOKS = 12
"""Number of later looks, LOOK_EVERY_S (seconds) apart. Tools settle within a second or two."""

OUTPUT_LIMIT_BYTES = LARGEST
"""What one stream may hold; a tool that prints more is not printing a result, and fills the memory it measures."""

OUTPUT_CHECK_S = 2.0

TO_ALL_S = 1.0
"""For so long it is waited whether a signal that ended a tool comes here, too."""

MAX_CHECKED = 32
"""Processes below a tool that are checked for stops."""

LOSES_PATIENCE = 4
"""Signals after which a stop no longer waits for the next safe point."""


class Stop:
    """Turns SIGINT and SIGTERM into a stop request.

    The run loop sees it at its next safe point, or immediately while it waits.

    The end of a terminal or an ssh connection (SIGHUP) does not stop a sweep. A second signal changes nothing, so no
    tool and no half-written result remains. After many more signals this process ends immediately, and the watchdog
    cleans up.
    """

    def __init__(self) -> None:
        self.requested: signal.Signals | None = None
        self._heard = 0
        self._read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._before: dict[int, object] = {}

    def __enter__(self) -> Self:
        for number, handler in (
            (signal.SIGINT, self._note),
            (signal.SIGTERM, self._note),
            (signal.SIGHUP, _go_on),  # the tool would inherit an ignored signal
        ):
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup, or a shell's background job
                self._before[number] = signal.signal(number, handler)
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


def _go_on(_number: int, _frame: FrameType | None) -> None:
    pass


class Looks(Protocol):
    """Who looks where a tool is: `orchestrator.run.monitor`."""

    def look(self, pid: int, *, early: bool) -> bool: ...

    def has_changed(self) -> bool: ...

    def last_look(self, seen: Mapping[str, Any]) -> None: ...


class _Gaps:
    """The time of the next look, counted from the end of the last look, so that a slow host also has pauses."""

    def __init__(self, looks: Looks | None) -> None:
        self.stops = 0  # of processes below the tool: ranks, workers, children of a shell
        self.stopped_s = 0.0  # give or take one gap per stop
        self._looks = looks
        self._early = list(EARLY_GAPS_S) if looks else []
        self._late = [LOOK_EVERY_S] * LOOKS if looks else []
        self._is_settled = looks is None
        self._is_stopped = False
        self._checked = 0.0
        self._begun = time.monotonic()

    def next_s(self, otherwise: float) -> float:
        if kind := self._early or self._late:
            return kind[0]
        return otherwise if self._is_settled else min(otherwise, (time.monotonic() - self._begun) / 10)

    def look(self, pid: int) -> None:
        """Look at the tool; after the planned looks, only for stopped processes and for threads that moved. Two more looks confirm a move."""
        if not self._looks:
            return
        kind = self._early or self._late
        if kind or not self._is_settled:
            del kind[:1]
            self._is_settled = self._looks.look(pid, early=kind is self._early)
            if self._is_settled:
                kind.clear()
        elif self._looks.has_changed():
            self._late = [LOOK_EVERY_S] * 2
        if not self._early and not self._late:
            self._check_stopped(pid)

    def _check_stopped(self, tool: int) -> None:
        """Count stops (SIGSTOP) below the tool. The kernel reports only stops of the tool to its parent."""
        was, now = self._is_stopped, time.monotonic()
        self._is_stopped = _has_stopped_child(tool)
        if self._is_stopped:
            self.stops += not was
            self.stopped_s += now - (self._checked or now)
        self._checked = now


def _has_stopped_child(tool: int) -> bool:
    """Return whether one of the first MAX_CHECKED processes below the tool is stopped."""
    processes = [tool]
    for pid in processes:
        with contextlib.suppress(OSError):  # it has ended
            below = Path(f"/proc/{pid}/task/{pid}/children").read_bytes().split()
            processes += map(int, below[: MAX_CHECKED - len(processes)])
            state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2]  # the name may hold brackets
            if pid != tool and state.startswith(b"T"):
                return True
    return False


def run_process(
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    watchdog: Watchdog,
    timeout_s: float,
    stop: Stop,
    cwd: str = "",
    looks: Looks | None = None,
    cpus: Iterable[int] = (),
    housekeeping: Iterable[int] = (),
) -> Outcome:
    """Run `argv` to its end, its timeout or a stop. All processes that it started have ended on return.

    `looks` examines the tool EARLY_GAPS_S after its start and then every LOOK_EVERY_S, until it has settled. Further
    looks follow after a thread moved, and after the end. Otherwise this process sleeps. The tool gets the mask `cpus`
    (empty: the mask of this process). The watchdog waits on the CPUs `housekeeping`. Output goes to memory, never to a
    device that may be under test.
    """
    cpus = cpus or os.sched_getaffinity(0)
    with in_memory() as stdout, in_memory() as stderr:
        begun, gaps = time.monotonic(), _Gaps(looks)
        outputs = stdout.fileno(), stderr.fileno()
        try:
            watchdog.start(
                argv,
                env,
                cwd=cwd,
                outputs=outputs,
                cpus=cpus,
                housekeeping=housekeeping,
                last_look=looks is not None,
            )
            ending, answer = _wait(watchdog, stop, begun + timeout_s, gaps, outputs)
        except BaseException:  # the tool is not left behind
            watchdog.end()
            raise
        # if it ended by itself, time or patience ran out over what it left behind
        if isinstance(answer, Ended) and answer.by_itself:
            ending = "stopped" if _came_to_all(answer, stop) else "by itself"
        if looks and isinstance(answer, Ended) and answer.last:
            looks.last_look(answer.last)
        flooded = any(_size(output) > OUTPUT_LIMIT_BYTES for output in outputs)
        outcome = Outcome(
            wall_s=time.monotonic() - begun,
            timed_out=ending == "timed out",
            stopped=ending == "stopped",
            stdout=_contents(stdout.fileno()),
            stderr=_contents(stderr.fileno()),
            stops=gaps.stops,
            stopped_s=gaps.stopped_s,
            error=f"printed more than {OUTPUT_LIMIT_BYTES >> 20} MiB: {PRINT_LESS}" if flooded else "",
        )
    return _with(answer, outcome)


def _with(answer: Answer, outcome: Outcome) -> Outcome:
    """Add the watchdog's data about the end."""
    match answer:
        case Ended():
            code = None if answer.status is None else os.waitstatus_to_exitcode(answer.status)
            return dataclasses.replace(
                outcome,
                exit_code=code if code is not None and code >= 0 else None,
                signal=-code if code is not None and code < 0 else None,
                wall_s=answer.wall_s,
                span_s=answer.span_s,
                usage=answer.usage,
                stops=max(answer.stops, outcome.stops),
                stopped_s=max(answer.stopped_s, outcome.stopped_s),
                unended=answer.unended,
            )
        case Refused():
            return Outcome.not_started(answer.reason)
        case Killed():
            outcome = dataclasses.replace(outcome, unended=answer.unended)
            if outcome.timed_out or outcome.stopped or outcome.error:
                return outcome
            error = "pinsweep's watchdog process was killed, and the tool with it"
            return dataclasses.replace(outcome, stopped=True, error=error)
        case Broken():
            raise RuntimeError(f"the watchdog failed:\n{answer.traceback}")


def _wait(
    watchdog: Watchdog, stop: Stop, deadline: float, gaps: _Gaps, outputs: Sequence[int]
) -> tuple[Literal["by itself", "stopped", "timed out", "flooded"], Answer]:
    """Sleep until the tool has ended, or must be and is ended; return why, and the watchdog's answer."""
    poll = select.poll()
    poll.register(watchdog, select.POLLIN)
    poll.register(stop, select.POLLIN)
    while True:
        if stop.requested is not None:
            return "stopped", watchdog.end()
        left = deadline - time.monotonic()
        if left <= 0:
            return "timed out", watchdog.end()
        ready = poll.poll(1e3 * min(left, gaps.next_s(OUTPUT_CHECK_S)))
        if any(descriptor == watchdog.fileno() for descriptor, _ in ready):
            return "by itself", watchdog.receive()
        if not ready:
            watchdog.wake()
            if pid := watchdog.tool:
                gaps.look(pid)
        if any(_size(output) > OUTPUT_LIMIT_BYTES for output in outputs):
            return "flooded", watchdog.end()


def _came_to_all(answer: Ended, stop: Stop) -> bool:
    """Return whether the signal that ended the tool also stops this process.

    A cancelled job or a host shutdown signals every process. The tool may get the signal first. Then it was interrupted
    and has not failed.
    """
    code = None if answer.status is None else os.waitstatus_to_exitcode(answer.status)
    if not code:
        return False
    if code in _BY_SIGNAL:  # other tools took the signal in their own way, and later
        select.select([stop], [], [], TO_ALL_S)
    return stop.requested is not None


_BY_SIGNAL: Final = frozenset(sign for n in (signal.SIGINT, signal.SIGTERM) for sign in (-n, 128 + n))
"""Exit codes of a tool that such a signal ended, and of a shell around the tool."""


def _size(output: int) -> int:
    return os.fstat(output).st_size


def _contents(output: int) -> bytes:
    return os.pread(output, min(_size(output), OUTPUT_LIMIT_BYTES), 0)
