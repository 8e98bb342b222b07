"""Run a plan into a result file: one run after the other, each committed when it ends. I/O.

What is done stays done: a run that is `ok` in the file is not started again, an interrupted one is, a failed one
is on request. Disturbed ones are started again when all others are done. Nothing here decides: the plan said what to run,
`orchestrator.run.disturbance` what disturbed it, `orchestrator.run.outcome` what it was worth.
"""

from __future__ import annotations

import datetime
import time
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Protocol

from orchestrator.machine import write_guard
from orchestrator.machine.counters import Counters
from orchestrator.machine.topology import Topology
from orchestrator.model import Outcome, Plan, PlannedRun, RunRecord, Tried
from orchestrator.placement.housekeeping import Waiting, housekeeping_cpus
from orchestrator.run import logs, page_cache
from orchestrator.run.monitor import PlacementMonitor
from orchestrator.run.outcome import (
    NEVER,
    Rules,
    counts_as_done,
    given_up,
    is_pending,
    judge,
    last_use,
    pending,
)
from orchestrator.run.process import Stop, run_process
from orchestrator.run.remaining import Progress
from orchestrator.run.scratch import Scratch, Stopped
from orchestrator.run.watch import Watch
from parsers.errors import PinsweepError
from parsers.measurement import Parsed


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A run begins: `number` of `total` that are known to be started, of all rounds."""

    number: int  # of a warm-up 0
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
    repeated: bool = False  # it was disturbed, and will be started again


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsettled:
    """Some cells with `repeats: auto` have not settled: each gets another run."""

    cells: int


Event = Started | Ended | Unsettled


@dataclass(slots=True, kw_only=True)
class Summary:
    """What one call did."""

    counts: Counter[str] = field(default_factory=Counter)  # status → runs of this call, by their last attempt
    repeated: int = 0  # attempts that were disturbed, and that another one was to follow
    unrepeated: set[tuple[str, int]] = field(default_factory=set)  # runs of which none has followed yet
    allow_misplaced: bool = False
    done_before: int = 0
    disturbed_before: int = 0  # of these: at every attempt, and left as they are
    failed_before: int = 0  # left as they are: no retry was asked for
    walls: dict[str, list[float]] = field(default_factory=dict)  # point_id → wall seconds of its ok runs
    stopped: bool = False
    scratch_left: bool = False  # the scratch folder could not be removed

    @property
    def failed(self) -> int:
        bad = [
            n
            for status, n in self.counts.items()
            if not counts_as_done(status, allow_misplaced=self.allow_misplaced)
        ]
        return sum(bad) + self.failed_before

    def add(self, later: Summary) -> None:
        """Add what a later round of the same call did."""
        self.counts += later.counts
        self.repeated += later.repeated
        self.unrepeated = later.unrepeated  # a round ends with none, unless it is stopped
        for cell, seconds in later.walls.items():
            self.walls.setdefault(cell, []).extend(seconds)
        self.stopped = later.stopped


class Sink(Protocol):
    """Where runs are committed when they end: a ResultFile, or several of them."""

    def attempts(self) -> dict[tuple[str, int], Tried]: ...

    def add_run(
        self, run: PlannedRun, record: RunRecord, outputs: Mapping[str, bytes], parsed: Parsed | None
    ) -> int: ...


def execute(
    plan: Plan,
    result: Sink,
    session: int,
    scratch: Scratch,
    stop: Stop,
    *,
    topology: Topology,
    rules: Rules = Rules(),  # noqa: B008 (frozen)
    keep: Container[str] = (),
    drop_caches: bool = False,
    progress: Progress | None = None,
    on_event: Callable[[Event], None] = lambda _: None,
) -> Summary:
    """Start the warm-ups and every pending run of the plan, in its order, until the end or a stop; then disturbed ones again.

    `keep`: scratch files that are needed after this, too. `drop_caches`: runs that work on files begin with an empty page cache.
    `progress`: of the rounds before this one.

    Raises PinsweepError after a run that left a process behind that could not be ended; that run is in the file.

    While a run that is placed somewhere lasts, and until the next one, this process and the watchdog are on housekeeping CPUs of
    `topology`.
    """
    attempts = result.attempts()
    todo, done, failed = pending(plan, attempts, rules)
    summary = Summary(
        allow_misplaced=rules.allow_misplaced,
        done_before=done,
        disturbed_before=given_up(plan, attempts, rules),
        failed_before=failed,
    )
    with Counters() as counters, Waiting() as waiting:
        sweep = _Sweep(
            result=result,
            session=session,
            scratch=scratch,
            stop=stop,
            topology=topology,
            watch=Watch(counters, topology),
            waiting=waiting,
            rules=rules,
            keep=keep,
            drop_caches=drop_caches,
            summary=summary,
            progress=progress or Progress(),
            on_event=on_event,
            order=count(sum(tried.attempts for tried in attempts.values())),
        )
        slots = [_Slot(run=run, tried=attempts.get(run.key, NEVER)) for run in (*plan.warm_ups, *todo)]
        while slots:
            slots = sweep.round(slots)
    summary.stopped = stop.requested is not None
    return summary


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slot:
    """A run that is to be started, and what was tried of it before."""

    run: PlannedRun
    tried: Tried


@dataclass(slots=True, kw_only=True)
class _Sweep:
    """One call of `execute`: what all its runs share, and how far it is."""

    result: Sink
    session: int
    scratch: Scratch
    stop: Stop
    topology: Topology
    watch: Watch
    waiting: Waiting
    rules: Rules
    keep: Container[str]
    drop_caches: bool
    summary: Summary
    progress: Progress
    on_event: Callable[[Event], None]
    order: Iterator[int]
    begun: float = 0.0  # when the last run had what it needs

    def round(self, slots: Sequence[_Slot]) -> list[_Slot]:
        """Start each run once; return those that are to be started again, since something disturbed them."""
        progress = self.progress
        progress.add(slot.run for slot in slots)
        needed_until = last_use([slot.run for slot in slots])
        again: list[_Slot] = []
        for number, slot in enumerate(slots, 1):
            run = slot.run
            if self.stop.requested is not None:
                return []
            progress.started += not run.warm_up
            left_s = progress.remaining.seconds()
            self.on_event(Started(number=progress.started, total=progress.total, run=run, left_s=left_s))
            done = self._run(slot)
            if done is None:
                return []
            last_of = (file for file in run.scratch if needed_until[file.path] == number)
            self.scratch.remove(tuple(file for file in last_of if file.path not in self.keep))
            record, parsed, unended = done
            tried = _added(slot.tried, record.status)
            repeated = record.status == "disturbed" and is_pending(tried, self.rules) and not run.warm_up
            if repeated:
                again.append(_Slot(run=run, tried=tried))
            self._count(slot, record, repeated)
            self.on_event(
                Ended(
                    number=progress.started,
                    total=progress.total,
                    run=run,
                    record=record,
                    parsed=parsed,
                    repeated=repeated,
                )
            )
            if unended:
                raise PinsweepError(
                    ", ".join(unended),
                    "cannot be ended, and would disturb every run after this one",
                    "see to it (a device or a file system that hangs, a process of another user); the same command then goes on",
                )
        return again

    def _run(self, slot: _Slot) -> tuple[RunRecord, Parsed | None, tuple[str, ...]] | None:
        """Start one run and commit it when it has ended; None if a stop came before it began."""
        run = slot.run
        monitor = PlacementMonitor(run)
        started = datetime.datetime.now(datetime.UTC)
        try:
            outcome = self._process(run, monitor)
        except Stopped:
            return None
        except PinsweepError as error:
            outcome = Outcome.not_started(str(error))
        if run.logs:
            outcome = replace(outcome, logs=logs.collected(run.logs))
        evidence = self.watch.end(run, outcome, self.scratch.watchdog.pid)
        if evidence.out_of_memory and not (outcome.error or outcome.timed_out):
            outcome = replace(outcome, error=evidence.out_of_memory)
        if not outcome.unended:
            self.scratch.settle(run.writes)
        disturbances = () if self.rules.allow_disturbed else evidence.texts
        status, reason, parsed = judge(run, outcome, monitor.mismatches(outcome.wall_s), disturbances)
        record = RunRecord(
            run_id=0,
            point_id=run.cell.point_id,
            repeat=run.repeat,
            attempt=slot.tried.attempts + 1,
            status=status,
            reason=reason,
            argv=run.argv,
            env=run.env,
            placement=run.placement,
            seen=monitor.seen(outcome.wall_s),
            program=run.program,
            order_index=next(self.order),
            started_utc=started.isoformat(timespec="milliseconds"),
            wall_s=outcome.wall_s,
            exit_code=outcome.exit_code,
            signal=outcome.signal,
            usage=outcome.usage,
            session=self.session,
            counters=evidence.counters,
            warm_up=run.warm_up,
        )
        outputs = {"stdout": outcome.stdout, "stderr": outcome.stderr}
        outputs |= {"logs": outcome.logs} if outcome.logs else {}
        number = self.result.add_run(run, record, outputs, parsed)
        return replace(record, run_id=number), parsed, outcome.unended

    def _process(self, run: PlannedRun, monitor: PlacementMonitor) -> Outcome:
        """Make what a run needs, and start it."""
        self.begun = time.monotonic()
        if run.scratch:
            self.waiting.move_to(())  # what is written is cached where the writer is
        self.scratch.prepare(run.scratch, self.stop)
        if self.drop_caches and page_cache.works_on_files(run):
            page_cache.drop()
        self.begun = time.monotonic()
        housekeeping = frozenset[int]()
        if run.placement:
            housekeeping = housekeeping_cpus(self.topology, run.placement, self.waiting.mask)
        self.waiting.move_to(housekeeping)
        for write in run.writes:
            if write.kind == "device":
                write_guard.check(write.path, write.identity)
        self.watch.begin(run, self.scratch.watchdog.pid)
        return run_process(
            run.argv, run.env, watchdog=self.scratch.watchdog, timeout_s=run.timeout_s, stop=self.stop, cwd=run.cwd,
            looks=monitor if run.placement else None, cpus=self.waiting.mask, housekeeping=housekeeping,
        )  # fmt: skip

    def _count(self, slot: _Slot, record: RunRecord, repeated: bool) -> None:
        self.progress.remaining.ended(slot.run, time.monotonic() - self.begun)
        if record.warm_up:
            return
        if repeated:
            self.summary.repeated += 1
            self.summary.unrepeated.add(slot.run.key)
        else:
            self.summary.counts[record.status] += 1
            self.summary.unrepeated.discard(slot.run.key)
        if record.status == "ok":
            self.summary.walls.setdefault(slot.run.cell.point_id, []).append(record.wall_s)


def _added(tried: Tried, status: str) -> Tried:
    """Return what was tried with one attempt more."""
    return Tried(tried.attempts + 1, status, tried.disturbed + (status == "disturbed"))
