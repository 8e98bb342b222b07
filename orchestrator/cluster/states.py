"""What became of each host of a sweep, from what has come home, its log, its job and the host itself. Pure.

The results decide, never a scheduler's word: a host is done when its file holds every repeat of every cell.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from orchestrator.cluster.engine import IN_TURN, Host, Job
from orchestrator.cluster.kept import Kept
from orchestrator.cluster.logs import Log

Word = Literal["done", "running", "queued", "unknown", "not submitted", "skipped", "failed", "lost"]

WORDS: Final[tuple[Word, ...]] = get_args(Word)
LIVE: Final = frozenset({"running", "queued"})

COMPLETE, BAD, UNFINISHED = 0, 1, 3
"""Exit statuses of `pinsweep status`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What became of one host."""

    host: str
    word: Word
    reason: str = ""
    done: int = 0
    total: int = 0
    job: str = ""
    stuck: bool = False  # its job waits for what does not come by itself
    blocked: bool = False  # its file has to be moved away before anything can be done there
    retry: bool = False  # nothing is left to do but what failed: only --retry-failed starts that again

    @property
    def left(self) -> bool:
        """Whether `run -o DIR/` has something to do there."""
        return self.word not in ("done", "unknown", *LIVE) and not self.retry and not self.blocked

    @property
    def waits_for_its_turn(self) -> bool:
        """Whether it has no job since others come first, as was asked for."""
        return self.reason in IN_TURN


def state(
    host: str, *, kept: Kept | None, log: Log | None, job: Job | None, node: Host | None, refused: str = "", jobs_known: bool = True
) -> State:  # fmt: skip
    """Return what became of a host. `node`: None if nobody could be asked; `refused`: why it got no job at the last attempt; `jobs_known`: it has
    a job only if there is one here."""
    total, done = (kept.total, kept.done) if kept else (0, 0)
    found = functools.partial(
        State, host=host, done=done, total=total, job=job.id if job else log.job if log else ""
    )
    if kept and kept.complete:
        return found(word="done")
    if job and job.phase == "runs":
        return found(word="running")
    if job and job.phase == "waits":
        if node and node.problem:
            waits = f"{_for_ever(job)}; {_MENDED}" if job.hopeless else "its job waits for it"
            return found(word="skipped", reason=f"{node.problem}; {waits}", stuck=True)
        if job.hopeless:
            return found(
                word="failed",
                reason=f"{_for_ever(job)}; `run -o` takes it back, and submits another",
                stuck=True,
            )
        return found(word="queued", reason=job.reason)
    if kept and kept.problem:
        return found(
            word="failed",
            reason=f"{kept.problem}; move it away, and `run -o` begins the host anew",
            blocked=True,
        )
    silent = node is not None and node.silent and bool(kept or log)
    if (silent or not jobs_known) and (log is None or log.rc is None):
        return found(word="unknown", reason=node.problem if node else "")
    if job and log and int(log.job) < int(job.id):
        log = None  # of an earlier job
    if log and log.never_began and node and node.problem:
        return found(word="skipped", reason=f"{node.problem}; {_never_began(log)}; {_MENDED}")
    nothing_ran = log is None and (kept is None or job is None or job.state == "CANCELLED")
    if nothing_ran and node and node.problem:
        return found(word="skipped", reason=node.problem)
    if log is None and job is None:
        return found(word="lost", reason="no log") if kept else found(word="not submitted", reason=refused)
    if refused and job and log is None:
        return found(word="not submitted", reason=refused)  # it was taken back before it began
    if job and log is None and "DependencyNeverSatisfied" in job.reason:
        return found(word="not submitted", reason="its canary did not end well")
    return _ended(found, kept, log, job, node)


def depends_on_host(kept: Kept | None, job: Job | None) -> bool:
    """Tell whether what became of a host depends on what the host itself is now: not if it is done, and not while its job runs."""
    return not (kept and kept.complete) and not (job and job.phase == "runs")


def _ended(
    found: Callable[..., State], kept: Kept | None, log: Log | None, job: Job | None, node: Host | None
) -> State:
    """Return the state of a host whose job is over, or forgotten."""
    if kept and kept.failed and not kept.pending:
        return found(word="failed", reason=f"{kept.failure} ({kept.failed} of {kept.total})", retry=True)
    if kept and kept.nothing:
        return found(word="failed", reason=kept.nothing, retry=True)
    if log and log.rc is not None:
        killed = job and job.state not in ("COMPLETED", "FAILED")
        if job and killed:
            return found(word="failed", reason=f"job {job.id} {job.state}")
        tool = f"{kept.failure} ({kept.failed} of {kept.total})" if kept and kept.failed else ""
        if log.rc == 0:
            return found(word="failed", reason=f"job {log.job} ended well, but its results are not here")
        return found(word="failed", reason=tool or _rc_words(log))
    if log and log.never_began:
        return found(word="failed", reason=f"{_never_began(log)}; `run -o` submits another")
    if node and node.problem:
        return found(word="lost", reason=node.problem)
    if job and job.state == "NODE_FAIL":
        return found(
            word="lost", reason=f"job {job.id} NODE_FAIL: Slurm lost the host, or what watched the job there"
        )
    if job and job.state != "COMPLETED":
        return found(
            word="failed", reason=f"job {job.id} {job.state}{f' ({job.reason})' if job.reason else ''}"
        )
    return found(word="lost", reason="its job ended without a last word")


_MENDED: Final = "once that is mended and the host resumed, `run -o` submits another"


def _for_ever(job: Job) -> str:
    return f"its job waits for ever: {job.reason}"


def _never_began(log: Log) -> str:
    return f"job {log.job} never began: {log.never_began}"


def _rc_words(log: Log) -> str:
    known = {130: "stopped: cancelled, or out of time", 143: "stopped: cancelled, or out of time"}
    if log.rc in known:
        return f"job {log.job} {known[log.rc]}"
    return f"{log.reason or 'no reason given'} (rc {log.rc})"


def exit_status(states: Iterable[State]) -> int:
    """Return 0 if every host is done, 3 while something goes on or is not known, else 1."""
    words = {one.word for one in states}
    if words & {*LIVE, "unknown"}:
        return UNFINISHED
    return COMPLETE if words <= {"done"} else BAD


def folded(states: Sequence[State]) -> list[tuple[Word, str, tuple[State, ...]]]:
    """Return hosts of one state and reason together, in the order of WORDS; what counts runs is summed up by who prints it.

    Reasons that differ in the host's own name and its job's number alone are one: that of the first.
    """
    groups: dict[tuple[Word, str], list[State]] = {}
    for one in states:
        groups.setdefault((one.word, _of_any(one)), []).append(one)
    order = sorted(groups, key=lambda key: (WORDS.index(key[0]), -len(groups[key])))
    return [(word, _of_all(groups[word, reason]), tuple(groups[word, reason])) for word, reason in order]


def _of_any(one: State) -> str:
    """Return the reason without what is of this host alone. Its folder there, pinsweep-ID-HOST, has its name, too."""
    own = re.escape(one.host)
    text = re.sub(rf"(?:(?<![\w.-])|(?<=pinsweep-[0-9a-f]{{8}}-)){own}(?![\w-])", "HOST", one.reason)
    return re.sub(rf"\bjob {re.escape(one.job)}\b", "job", text) if one.job else text


def _of_all(group: Sequence[State]) -> str:
    alike = all(one.reason == group[0].reason for one in group)
    return group[0].reason if alike else f"{group[0].reason} (the others likewise)"
