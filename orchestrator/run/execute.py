"""Run a plan into a result file: one run after the other, each committed when it ends. I/O.

What is done stays done: a run that is `ok` in the file is not started again, an interrupted one is, a failed one
is on request. Nothing here decides: the plan said what to run, `orchestrator.run.outcome` says what it was worth.
"""

from __future__ import annotations

import datetime
import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol

from orchestrator.machine import write_guard
from orchestrator.machine.cpulist import format_cpulist
from orchestrator.machine.topology import Topology
from orchestrator.model import Outcome, Plan, PlannedRun, RunRecord
from orchestrator.placement import proof
from orchestrator.placement.housekeeping import housekeeping_cpus
from orchestrator.run.outcome import counts_as_done, judge, last_use, pending
from orchestrator.run.process import LOOKS, Stop, run_process
from orchestrator.run.scratch import Scratch, Stopped
from orchestrator.tools import get_tool
from parsers.errors import PinsweepError
from parsers.measurement import Parsed


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A run begins: `number` of `total` that this call will start."""

    number: int
    total: int
    run: PlannedRun
    left_s: float  # estimate for everything that is still to do, this run included


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A run has ended and is in the file."""

    number: int
    total: int
    run: PlannedRun
    record: RunRecord
    parsed: Parsed | None  # None: its output could not be read


Event = Started | Ended


@dataclass(slots=True, kw_only=True)
class Summary:
    """What one call did."""

    counts: Counter[str] = field(default_factory=Counter)  # status → runs of this call
    allow_misplaced: bool = False
    done_before: int = 0
    failed_before: int = 0  # left as they are: no retry was asked for
    walls: dict[str, list[float]] = field(default_factory=dict)  # point_id → wall seconds of its ok runs
    stopped: bool = False

    @property
    def failed(self) -> int:
        bad = [
            n
            for status, n in self.counts.items()
            if not counts_as_done(status, allow_misplaced=self.allow_misplaced)
        ]
        return sum(bad) + self.failed_before


class Sink(Protocol):
    """Where runs are committed when they end: a ResultFile, or several of them."""

    def attempts(self) -> dict[tuple[str, int], tuple[int, str]]: ...

    def add_run(
        self, run: PlannedRun, record: RunRecord, outputs: Mapping[str, bytes], counters: Mapping[str, Any]
    ) -> int: ...


def execute(
    plan: Plan,
    result: Sink,
    session: int,
    scratch: Scratch,
    stop: Stop,
    *,
    topology: Topology,
    retry_failed: bool = False,
    allow_misplaced: bool = False,
    on_event: Callable[[Event], None] = lambda _: None,
) -> Summary:
    """Start every pending run of the plan, in its order, until the end or a stop.

    Raises PinsweepError after a run that left a process behind that could not be ended; that run is in the file.

    While a run that is placed somewhere lasts, this process and the watchdog wait on housekeeping CPUs of `topology`.
    """
    attempts = result.attempts()
    todo, done, failed = pending(plan, attempts, retry_failed=retry_failed, allow_misplaced=allow_misplaced)
    summary = Summary(allow_misplaced=allow_misplaced, done_before=done, failed_before=failed)
    mask = os.sched_getaffinity(0)
    needed_until = last_use(todo)
    left_s = sum(run.estimate_s for run in todo)
    order = count(sum(number for number, _ in attempts.values()))
    for number, run in enumerate(todo, 1):
        if stop.requested is not None:
            break
        on_event(Started(number=number, total=len(todo), run=run, left_s=left_s))
        monitor = _PlacementMonitor(run)
        started = datetime.datetime.now(datetime.UTC)
        try:
            scratch.prepare(run.scratch, stop)
            waiting_on = (
                housekeeping_cpus(topology, run.placement, mask) if run.placement else frozenset[int]()
            )
            for write in run.writes:
                if write.kind == "device":
                    write_guard.check(write.path, write.identity)
            outcome = run_process(
                run.argv, run.env, watchdog=scratch.watchdog, timeout_s=run.timeout_s, stop=stop, cwd=run.cwd,
                look=monitor.look if run.placement else None, housekeeping=waiting_on,
            )  # fmt: skip
        except Stopped:
            break
        except PinsweepError as error:
            outcome = Outcome.not_started(str(error))
        if not outcome.unended:
            scratch.settle(run.writes)
        scratch.remove(tuple(file for file in run.scratch if needed_until[file.path] == number))
        status, reason, parsed = judge(run, outcome, monitor.mismatches())
        record = RunRecord(
            run_id=0,
            point_id=run.point.point_id,
            repeat=run.repeat,
            attempt=attempts.get(run.key, (0, ""))[0] + 1,
            status=status,
            reason=reason,
            argv=run.argv,
            env=run.env,
            placement=run.placement,
            seen=monitor.seen(),
            program=run.program,
            order_index=next(order),
            started_utc=started.isoformat(timespec="milliseconds"),
            wall_s=outcome.wall_s,
            exit_code=outcome.exit_code,
            signal=outcome.signal,
            usage=outcome.usage,
            session=session,
        )
        result.add_run(run, record, {"stdout": outcome.stdout, "stderr": outcome.stderr}, {})
        summary.counts[status] += 1
        if status == "ok":
            summary.walls.setdefault(run.point.point_id, []).append(outcome.wall_s)
        left_s -= run.estimate_s
        on_event(Ended(number=number, total=len(todo), run=run, record=record, parsed=parsed))
        if outcome.unended:
            raise PinsweepError(
                ", ".join(outcome.unended),
                "cannot be ended, and would disturb every run after this one",
                "see to it (a device or a file system that hangs, a process of another user); the same command then goes on",
            )
    summary.stopped = stop.requested is not None
    return summary


class _PlacementMonitor:
    """Samples where the processes of a run really are.

    A mismatch counts if samples in a row hold it: a process that is just starting or ending shows what no one asked for.
    """

    def __init__(self, run: PlannedRun) -> None:
        self._asked = run.placement
        self._threads = get_tool(run.tool).shape(run.point.options)[0] or 1
        self._processes: tuple[proof.Process, ...] = ()
        self._own_cpus: frozenset[int] = frozenset()
        self._samples: list[list[proof.Mismatch]] = []

    def look(self, pid: int) -> bool:
        """Look once; True if there is nothing more to wait for."""
        assert self._asked is not None
        processes = proof.look(pid)
        if not proof.tool_processes(processes):
            return False
        self._processes = processes
        self._own_cpus = frozenset(os.sched_getaffinity(0))
        settled = proof.settled(self._asked, processes, self._threads)
        found = proof.mismatches(self._asked, processes)
        done = settled and not found
        if len(self._samples) + 2 < LOOKS:  # what may still come right
            if not settled:  # ranks that have not started yet
                found = []
            # Intel MPI lifts the policy for some 0.3 s of MPI_Init
            found = [mismatch for mismatch in found if mismatch.of != "policy"]
        self._samples.append(found)
        return done

    def mismatches(self) -> list[str]:
        """Return what the last samples agree was not as asked; [] too where a run was too short for them.

        Two, of ranks three: inside MPI_Init Open MPI (its psm, timing the clock) is on PU 0 for 0.2 s on purpose.
        """
        needed = 2 if self._asked is None or len(self._asked.groups) == 1 else 3
        last = self._samples[-needed:]
        if len(last) < needed:
            return []
        return [mismatch.text for mismatch in last[-1] if all(mismatch in sample for sample in last)]

    def seen(self) -> dict[str, Any] | None:
        if not self._processes:
            return None
        return {**proof.as_json(self._processes), "orchestrator": format_cpulist(self._own_cpus)}
