"""Decide the state of each host of a sweep, from its results, log, job and the host itself.

The results decide, not a scheduler. A host is done when its file has every repeat of every cell.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from orchestrator.cluster.engine import IN_TURN, Host, Job
from orchestrator.cluster.results import Log, Results

Word = Literal["done", "running", "queued", "unknown", "not submitted", "skipped", "failed", "lost"]

WORDS: Final[tuple[Word, ...]] = get_args(Word)
LIVE: Final = frozenset({"running", "queued"})

COMPLETE, BAD, UNFINISHED = 0, 1, 3
"""Exit statuses of `pinsweep status`."""

_STOPPED: Final = "stopped: cancelled, or out of time"
_MENDED: Final = "mend and resume the host, then `run -o` submits another"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The state of one host."""

    host: str
    word: Word
    reason: str = ""
    done: int = 0
    total: int = 0
    job: str = ""
    stuck: bool = False  # its job waits for something that a person has to mend
    blocked: bool = False  # its file has to be moved away first
    retry: bool = False  # only failed runs are left, which --retry-failed starts again

    @property
    def left(self) -> bool:
        """Whether `run -o DIR/` has something to do there."""
        return self.word not in ("done", "unknown", *LIVE) and not self.retry and not self.blocked

    @property
    def is_in_turn(self) -> bool:
        """Return whether the host has no job because other hosts come first, as the user requested."""
        return self.reason in IN_TURN


def state_of(
    host: str,
    *,
    results: Results | None,
    log: Log | None,
    job: Job | None,
    node: Host | None,
    refused: str = "",
    jobs_known: bool = True,
) -> State:
    """Return the state of a host.

    `node`: None for a host without an answer. `refused`: the reason why the host got no job at the last attempt.
    `jobs_known`: without `job`, the host has no job.
    """
    make = functools.partial(
        State,
        host=host,
        done=results.done if results else 0,
        total=results.total if results else 0,
        job=job.id if job else log.job if log else "",
    )
    problem = node.problem if node else ""
    if results and results.complete:
        return make(word="done")
    if job and job.phase == "runs":
        return make(word="running")
    if job and job.phase == "waits":
        forever = f"its job waits for ever: {job.reason}"
        if problem:
            reason = f"{forever}; {_MENDED}" if job.hopeless else "its job waits for it"
            return make(word="skipped", reason=f"{problem}; {reason}", stuck=True)
        if job.hopeless:
            return make(word="failed", reason=f"{forever}; `run -o` submits another", stuck=True)
        return make(word="queued", reason=job.reason)
    if results and results.problem:
        return make(word="failed", reason=f"{results.problem}; move it away, then `run -o`", blocked=True)
    is_silent = node is not None and node.silent and bool(results or log)
    if (is_silent or not jobs_known) and (log is None or log.rc is None):
        return make(word="unknown", reason=problem)
    if job and log and int(log.job) < int(job.id):
        log = None  # the log of an earlier job
    never_began = f"job {log.job} never began: {log.never_began}" if log and log.never_began else ""
    if never_began and problem:
        return make(word="skipped", reason=f"{problem}; {never_began}; {_MENDED}")
    if problem and log is None and (results is None or job is None or job.state == "CANCELLED"):
        return make(word="skipped", reason=problem)
    if log is None and job is None:
        return make(word="lost", reason="no log") if results else make(word="not submitted", reason=refused)
    if job and log is None and (refused or "DependencyNeverSatisfied" in job.reason):  # it never began
        return make(word="not submitted", reason=refused or "its canary did not end well")
    failure = f"{results.failure} ({results.failed} of {results.total})" if results and results.failed else ""
    if failure and results and not results.pending:
        return make(word="failed", reason=failure, retry=True)
    if results and results.nothing:
        return make(word="failed", reason=results.nothing, retry=True)
    if job and log and log.rc is not None and job.state not in ("COMPLETED", "FAILED"):
        return make(word="failed", reason=f"job {job.id} {job.state}")
    if log and log.rc == 0:
        return make(word="failed", reason=f"job {log.job} ended well, but its results are missing")
    if log and log.rc is not None:
        stopped = f"job {log.job} {_STOPPED}" if log.rc in (130, 143) else ""
        return make(word="failed", reason=failure or stopped or f"{log.reason or 'no reason given'} (rc {log.rc})")
    if never_began:
        return make(word="failed", reason=f"{never_began}; `run -o` submits another")
    if problem:
        return make(word="lost", reason=problem)
    if job and job.state == "NODE_FAIL":
        return make(word="lost", reason=f"job {job.id} NODE_FAIL: Slurm lost the host")
    if job and job.state != "COMPLETED":
        return make(word="failed", reason=f"job {job.id} {job.state}{f' ({job.reason})' if job.reason else ''}")
    return make(word="lost", reason="its job ended without a last line in its log")


def depends_on_host(results: Results | None, job: Job | None) -> bool:
    """Return whether the state depends on the present host. False if the host is done or its job runs."""
    return not (results and results.complete) and not (job and job.phase == "runs")


def exit_status(states: Iterable[State]) -> int:
    """Return 0 if every host is done, 3 if a job is live or a state unknown, else 1."""
    words = {state.word for state in states}
    if words & {*LIVE, "unknown"}:
        return UNFINISHED
    return COMPLETE if words <= {"done"} else BAD


def fold(states: Sequence[State]) -> list[tuple[Word, str, tuple[State, ...]]]:
    """Return (word, reason, hosts), in the order of WORDS, with most hosts first.

    Reasons that differ only in the host's name and the job's number are combined, with HOST and without the number.
    """
    groups: dict[tuple[Word, str], list[State]] = {}
    for state in states:
        reason = re.sub(rf"(?<!\w){re.escape(state.host)}(?![\w-])", "HOST", state.reason)
        reason = re.sub(rf"\bjob {re.escape(state.job)}\b", "job", reason) if state.job else reason
        groups.setdefault((state.word, reason), []).append(state)
    order = sorted(groups.items(), key=lambda item: (WORDS.index(item[0][0]), -len(item[1])))
    return [(word, group[0].reason if len(group) == 1 else reason, tuple(group)) for (word, reason), group in order]
