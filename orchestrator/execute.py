"""Run a plan into a result file: one run after the other, each committed when it ends. I/O.

What is done stays done: a run that is `ok` in the file is not started again, an interrupted one is, a failed one
is on request. Nothing here decides what to run; the plan did.
"""

from __future__ import annotations

import datetime
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from orchestrator import proof
from orchestrator.aside import aside
from orchestrator.cpulist import format_cpulist
from orchestrator.model import Plan, PlannedRun, RunRecord, Status
from orchestrator.process import Outcome, Stop, run_process
from orchestrator.scratch import Keeper, Scratch, Stopped
from orchestrator.store import ResultFile
from orchestrator.tools import get_tool, text_to_parse, verdict
from orchestrator.topology import Topology
from parsers import get_parser
from parsers.errors import ParseError, PinsweepError
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
        borne = ("ok", "disturbed", *(("misplaced",) if self.allow_misplaced else ()))
        return sum(n for status, n in self.counts.items() if status not in borne) + self.failed_before


def pending(
    plan: Plan, result: ResultFile, *, retry_failed: bool, allow_misplaced: bool = False
) -> tuple[list[PlannedRun], int, int]:
    """Return (the runs still to start, how many are done, how many failed before and are left alone).

    A misplaced run has failed, unless that is allowed: then it is done.
    """
    attempts = result.attempts()
    todo: list[PlannedRun] = []
    done = failed = 0
    for run in plan.runs:
        status = attempts.get(run.key, (0, ""))[1]
        if status == "ok" or (status == "misplaced" and allow_misplaced):
            done += 1
        elif status in ("", "interrupted") or retry_failed:
            todo.append(run)
        else:
            failed += 1
    return todo, done, failed


def execute(
    plan: Plan,
    result: ResultFile,
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

    While a run that is placed somewhere lasts, this process and the keeper stand aside on `topology`.
    """
    todo, done, failed = pending(plan, result, retry_failed=retry_failed, allow_misplaced=allow_misplaced)
    summary = Summary(allow_misplaced=allow_misplaced, done_before=done, failed_before=failed)
    mask = os.sched_getaffinity(0)
    attempts = result.attempts()
    last_use = _last_use(todo)
    left_s = sum(run.estimate_s for run in todo)
    keeper = Keeper(scratch)
    order = count(sum(number for number, _ in attempts.values()))
    try:
        for number, run in enumerate(todo, 1):
            if stop.requested is not None:
                break
            on_event(Started(number=number, total=len(todo), run=run, left_s=left_s))
            mark = secrets.token_hex(8)
            witness = _Witness(run)
            started = datetime.datetime.now(datetime.UTC)
            try:
                scratch.prepare(run.scratch, stop)
                away = aside(topology, run.placement, mask) if run.placement else frozenset[int]()
                keeper.keep_to(away or mask)
                keeper.watch(mark)
                outcome = run_process(
                    run.argv, run.env, mark=mark, timeout_s=run.timeout_s, stop=stop, aside=away,
                    look=witness.look if run.placement else None,
                )  # fmt: skip
                keeper.watch("")
            except Stopped:
                break
            except PinsweepError as error:
                outcome = Outcome(
                    exit_code=None,
                    signal=None,
                    timed_out=False,
                    stopped=False,
                    wall_s=0.0,
                    usage={},
                    stdout=b"",
                    stderr=b"",
                    error=str(error),
                )
            scratch.remove(tuple(file for file in run.scratch if last_use[file.path] == number))
            status, reason, parsed = judge(run, outcome, witness.mismatches())
            record = RunRecord(
                run_id=0,
                point_id=run.point.point_id,
                repeat=run.repeat,
                attempt=attempts.get(run.key, (0, ""))[0] + 1,
                status=status,
                reason=reason,
                argv=run.argv,
                env=run.env,
                placement=run.placement.as_json() if run.placement else None,
                seen=witness.seen(),
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
    finally:
        keeper.dismiss()
    summary.stopped = stop.requested is not None
    return summary


class _Witness:
    """Keeps the last look at a run: where its processes really were."""

    def __init__(self, run: PlannedRun) -> None:
        self._asked = run.placement
        self._threads = get_tool(run.tool).shape(run.point.options)[0] or 1
        self._processes: tuple[proof.Process, ...] = ()
        self._own_cpus: frozenset[int] = frozenset()
        self._settled = False

    def look(self, pid: int) -> bool:
        """Look once; True if there is nothing more to wait for."""
        assert self._asked is not None
        self._processes = proof.look(pid)
        self._own_cpus = frozenset(os.sched_getaffinity(0))
        self._settled = proof.settled(self._asked, self._processes, self._threads) and not proof.mismatches(
            self._asked, self._processes
        )
        return self._settled

    def mismatches(self) -> list[str]:
        """Return what was not as asked at the last look; [] also where a run was too short to be looked at."""
        if self._asked is None or self._settled or not proof.tool_processes(self._processes):
            return []
        return proof.mismatches(self._asked, self._processes)

    def seen(self) -> dict[str, Any] | None:
        if not proof.tool_processes(self._processes):
            return None
        return {**proof.as_json(self._processes), "orchestrator": format_cpulist(self._own_cpus)}


def judge(
    run: PlannedRun, outcome: Outcome, mismatches: Sequence[str] = ()
) -> tuple[Status, str, Parsed | None]:
    """Decide what an ended process is worth: (status, why it is not ok, what its output says)."""
    if outcome.error:
        return "failed", outcome.error, None
    stdout, stderr = (data.decode("utf-8", "replace") for data in (outcome.stdout, outcome.stderr))
    if outcome.stopped:
        return "interrupted", "stopped by the user", None
    if outcome.timed_out:
        return "timeout", f"did not end within {run.timeout_s:.0f} s", None
    try:
        parsed = get_parser(run.tool).parse(
            text_to_parse(run.tool, outcome.stdout, outcome.stderr), run.point.options
        )
    except ParseError as error:
        reason = f"exit status {outcome.exit_code}: " if outcome.exit_code else ""
        return (
            "failed",
            reason + (_words(stderr, stdout) if outcome.exit_code or outcome.signal else str(error)),
            None,
        )
    complaint = verdict(parsed, stdout, stderr, run.point)
    if outcome.signal is not None:
        return (
            "failed",
            f"ended by signal {outcome.signal}: {complaint or _words(stderr, stdout)}",
            parsed,
        )
    if outcome.exit_code:
        return "failed", f"exit status {outcome.exit_code}: {complaint or _words(stderr, stdout)}", parsed
    if complaint:
        return "failed", complaint, parsed
    if mismatches:
        return "misplaced", "; ".join(mismatches), parsed
    return "ok", "", parsed


def _words(*texts: str) -> str:
    """Return what the first text that says something says: all of it if it is short, else its first and last line.

    The cause stands first where a tool prints its usage after it, and last where it prints a traceback before it.
    """
    for text in texts:
        lines = [line.strip() for line in text.splitlines() if any(sign.isalnum() for sign in line)]
        if lines:
            return "; ".join(lines if len(lines) <= 3 else [lines[0], "…", lines[-1]])[:400]
    return "it printed nothing"


def _last_use(runs: Iterable[PlannedRun]) -> dict[str, int]:
    uses: dict[str, int] = {}
    for number, run in enumerate(runs, 1):
        for file in run.scratch:
            uses[file.path] = number
    return uses
