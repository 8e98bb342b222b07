"""Run a plan into a result file, one run after the other, with a commit after each run. I/O.

    execute          warm-ups and pending runs, then disturbed runs again, then one more run of each unsettled cell
    _Sweep._attempt  one run: prepare, start, wait, collect, judge, commit

A run that is `ok` in the file is not started again. The plan has the runs, `orchestrator.run.disturbance` has the
reasons for a disturbance, and `orchestrator.run.outcome` has the status.
"""

from __future__ import annotations

import datetime
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Final, Protocol

from orchestrator.machine import write_guard
from orchestrator.machine.counters import Counters
from orchestrator.machine.topology import Topology
from orchestrator.model import Outcome, Plan, PlannedRun, RunRecord, Tried
from orchestrator.placement.housekeeping import Waiting, housekeeping_cpus
from orchestrator.run import disturbance
from orchestrator.run.events import Ended, OnEvent, Started, Summary, Unsettled
from orchestrator.run.monitor import PlacementMonitor
from orchestrator.run.outcome import NEVER, Rules, is_pending, judge, pending
from orchestrator.run.process import Stop, run_process
from orchestrator.run.rounds import Progress
from orchestrator.run.scratch import Scratch, Stopped
from orchestrator.run.watch import Watch
from parsers.errors import PinsweepError, UserError
from parsers.measurement import Parsed

DROP_CACHES: Final = Path("/proc/sys/vm/drop_caches")
MAX_LOG_BYTES: Final = 8 << 20
"""Limit for all logs of a run: 300 000 lines of fio's logs per I/O. Each log has an equal share."""


class Sink(Protocol):
    """The target of commits when runs end: a ResultFile, or several."""

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
    drop_caches: bool = False,
    further: Callable[[], Sequence[PlannedRun]] = tuple,
    on_event: OnEvent = lambda _: None,
) -> Summary:
    """Start the warm-ups and every pending run in order, then disturbed runs again, then what `further` returns, until that is empty.

    Raises PinsweepError after a run that left a process behind that could not be ended. That run is in the file.
    During a placed run this process and the watchdog are on housekeeping CPUs of `topology`.
    """
    attempts = result.attempts()
    left = pending(plan, attempts, rules)
    summary = Summary(
        allow_misplaced=rules.allow_misplaced,
        done_before=left.done,
        disturbed_before=left.disturbed,
        failed_before=left.failed,
    )
    tries = [(run, attempts.get(run.key, NEVER)) for run in (*plan.warm_ups, *left.todo)]
    with Counters() as counters, Waiting() as waiting:
        sweep = _Sweep(
            result=result, session=session, scratch=scratch, stop=stop, topology=topology, rules=rules,
            watch=Watch(counters, topology), waiting=waiting, drop_caches=drop_caches, summary=summary, on_event=on_event,
            order=count(sum(tried.attempts for tried in attempts.values())),
            shared_scratch=frozenset(f.path for run in plan.runs if run.cell.point_id in plan.more for f in run.scratch),
        )  # fmt: skip
        while True:
            while tries:
                tries = sweep.round(tries)
            if stop.requested is not None or not (runs := further()):
                break
            on_event(Unsettled(cells=len(runs)))
            tries = [(run, NEVER) for run in runs]
    summary.stopped = stop.requested is not None
    return summary


@dataclass(slots=True, kw_only=True)
class _Sweep:
    """The shared state of all runs in one call of `execute`."""

    result: Sink
    session: int
    scratch: Scratch
    stop: Stop
    topology: Topology
    rules: Rules
    watch: Watch
    waiting: Waiting
    drop_caches: bool
    summary: Summary
    on_event: OnEvent
    order: Iterator[int]
    shared_scratch: frozenset[str]  # files that later rounds may need
    progress: Progress = field(default_factory=Progress)
    begun: float = 0.0  # time when the last run was ready to start

    def round(self, tries: Sequence[tuple[PlannedRun, Tried]]) -> list[tuple[PlannedRun, Tried]]:
        """Start each run once. Return the disturbed runs to start again, with their attempts."""
        progress, again = self.progress, list[tuple[PlannedRun, Tried, RunRecord]]()
        shares: list[float] = []
        progress.add(run for run, _ in tries)
        last_use = {file.path: number for number, (run, _) in enumerate(tries) for file in run.scratch}
        for number, (run, tried) in enumerate(tries):
            if self.stop.requested is not None:
                return []
            progress.started += not run.warm_up
            self.on_event(
                Started(number=progress.started, total=progress.total, run=run, left_s=progress.seconds_left())
            )
            attempt = self._attempt(run, tried)
            if attempt is None:
                return []
            record, parsed, unended = attempt
            done = (file for file in run.scratch if last_use[file.path] == number)
            self.scratch.remove(tuple(file for file in done if file.path not in self.shared_scratch))
            is_disturbed = record.status == "disturbed"
            tried = Tried(record.attempt, record.status, tried.disturbed + is_disturbed)
            repeated = is_disturbed and is_pending(tried, self.rules) and not run.warm_up
            if repeated:
                again.append((run, tried, record))
            shares += [disturbance.taken(record.counters)] if not run.warm_up else []
            self._count(run, record, repeated)
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
                    "cannot be ended, and would disturb every later run",
                    "end it by hand (a hanging device or file system, another user's process), then repeat the command",
                )
        return self._worth_repeating(again, shares)

    def _worth_repeating(
        self, again: Sequence[tuple[PlannedRun, Tried, RunRecord]], shares: Sequence[float]
    ) -> list[tuple[PlannedRun, Tried]]:
        """Return the disturbed runs of a round with more than this machine's usual load. shares: the fractions of all
        runs in the round.
        """
        usual = disturbance.usual(shares)
        repeatable = [(run, tried) for run, tried, record in again if not disturbance.is_usual(record.counters, usual)]
        if len(repeatable) < len(again):
            self.summary.shared = usual
            self.summary.repeated -= len(again) - len(repeatable)
            self.summary.counts["disturbed"] += len(again) - len(repeatable)
            self.summary.unrepeated -= {run.key for run, *_ in again} - {run.key for run, _ in repeatable}
        return repeatable

    def _attempt(self, run: PlannedRun, tried: Tried) -> tuple[RunRecord, Parsed | None, tuple[str, ...]] | None:
        """Start one run and commit it after its end. Return None for a stop before the start."""
        monitor = PlacementMonitor(run)
        started = datetime.datetime.now(datetime.UTC)
        try:
            self._prepare(run)
            outcome = self._start(run, monitor)
        except Stopped:
            return None
        except PinsweepError as error:
            outcome = Outcome.not_started(str(error))
        if run.logs:
            outcome = replace(outcome, logs=collect_logs(run.logs))
        evidence = self.watch.end(run, outcome, self.scratch.watchdog.pid)
        if evidence.out_of_memory and not (outcome.error or outcome.timed_out):
            outcome = replace(outcome, error=evidence.out_of_memory)
        if not outcome.unended:
            self.scratch.settle(run.writes)
        disturbances = () if self.rules.allow_disturbed else evidence.texts
        status, reason, parsed = judge(run, outcome, monitor.mismatches(outcome.wall_s), disturbances)
        record = RunRecord(
            run_id=0, point_id=run.cell.point_id, repeat=run.repeat, attempt=tried.attempts + 1, status=status, reason=reason,
            argv=run.argv, env=run.env, placement=run.placement, seen=monitor.seen(outcome.wall_s), program=run.program,
            order_index=next(self.order), started_utc=started.isoformat(timespec="milliseconds"), wall_s=outcome.wall_s,
            exit_code=outcome.exit_code, signal=outcome.signal, usage=outcome.usage, session=self.session,
            counters=evidence.counters, warm_up=run.warm_up,
        )  # fmt: skip
        outputs = {"stdout": outcome.stdout, "stderr": outcome.stderr}
        outputs |= {"logs": outcome.logs} if outcome.logs else {}
        number = self.result.add_run(run, record, outputs, parsed)
        return replace(record, run_id=number), parsed, outcome.unended

    def _prepare(self, run: PlannedRun) -> None:
        """Make the files of a run. Raises Stopped, PinsweepError."""
        self.begun = time.monotonic()
        if run.scratch:
            self.waiting.move_to(())  # Linux caches written data on the writer's NUMA node
        self.scratch.prepare(run.scratch, self.stop)
        if self.drop_caches and (run.writes or run.reads or any(file.text is None for file in run.scratch)):
            drop_page_cache()
        self.begun = time.monotonic()

    def _start(self, run: PlannedRun, monitor: PlacementMonitor) -> Outcome:
        """Move this process away from the run's CPUs, start the run, and wait until it ends.

        Raises PinsweepError for a changed device.
        """
        cpus = housekeeping_cpus(self.topology, run.placement, self.waiting.mask) if run.placement else ()
        self.waiting.move_to(cpus)
        for write in run.writes:
            if write.kind == "device":
                write_guard.check(write.path, write.identity)
        self.watch.begin(run, self.scratch.watchdog.pid)
        return run_process(
            run.argv, run.env, watchdog=self.scratch.watchdog, timeout_s=run.timeout_s, stop=self.stop, cwd=run.cwd,
            looks=monitor if run.placement else None, cpus=self.waiting.mask, housekeeping=cpus,
        )  # fmt: skip

    def _count(self, run: PlannedRun, record: RunRecord, repeated: bool) -> None:
        self.progress.end(run, time.monotonic() - self.begun)
        if record.warm_up:
            return
        if repeated:
            self.summary.repeated += 1
            self.summary.unrepeated.add(run.key)
        else:
            self.summary.counts[record.status] += 1
            self.summary.unrepeated.discard(run.key)
        if record.status == "ok":
            self.summary.walls.setdefault(run.cell.point_id, []).append(record.wall_s)


def require_drop_caches() -> None:
    """Raise UserError if this user cannot drop the page cache (`--drop-caches`)."""
    if not os.access(DROP_CACHES, os.W_OK):
        raise UserError("--drop-caches", f"{DROP_CACHES} cannot be written", "run as root, or leave --drop-caches out")


def drop_page_cache() -> None:
    """Have the kernel forget all cached file contents of the whole machine. Raises PinsweepError."""
    os.sync()  # dirty pages are not dropped
    try:
        DROP_CACHES.write_text("1\n", "ascii")
    except OSError as error:
        raise PinsweepError(
            str(DROP_CACHES), f"cannot be written: {error.strerror}", "leave --drop-caches out"
        ) from error


def collect_logs(patterns: Sequence[str], max_bytes: int = MAX_LOG_BYTES) -> bytes:
    """Return the matching log files as one text, ordered by pattern and number.

    A line `==> NAME <==` precedes each file, as in tail(1).

    A file longer than its share is cut after a whole line, and a line reports the cut. Unreadable files are omitted.
    """
    files = [
        file
        for pattern in map(Path, patterns)
        for file in sorted(pattern.parent.glob(pattern.name), key=_by_number)
        if file.is_file() and not file.is_symlink()
    ]
    return b"".join(_log(file, max_bytes // len(files)) for file in files)


def _by_number(file: Path) -> list[tuple[int, str]]:
    return [(len(part), part) for part in re.findall(r"\d+|\D+", file.name)]


def _log(file: Path, max_bytes: int) -> bytes:
    try:
        with file.open("rb") as opened:
            size, text = os.fstat(opened.fileno()).st_size, opened.read(max_bytes)
    except OSError:
        return b""
    head = f"==> {file.name} <==\n".encode()
    if size > len(text):
        text = text[: text.rfind(b"\n") + 1]
        return head + text + f"[cut: the first {len(text)} of {size} bytes]\n".encode()
    return head + text + (b"" if text.endswith(b"\n") or not text else b"\n")
