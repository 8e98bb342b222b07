"""What became of each host of a sweep, from what has come home, its log, its job and the host itself. Pure.

The results decide, never a scheduler's word: a host is done when its file holds every repeat of every cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from orchestrator.cluster.engine import Host, Job
from orchestrator.cluster.kept import Kept
from orchestrator.cluster.logs import Log

Word = Literal["done", "running", "queued", "not submitted", "skipped", "failed", "lost"]

WORDS: Final[tuple[Word, ...]] = ("done", "running", "queued", "not submitted", "skipped", "failed", "lost")
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
    retry: bool = False  # nothing is left to do but what failed: only --retry-failed starts that again

    @property
    def left(self) -> bool:
        """Whether `run -o DIR/` has something to do there."""
        return self.word in ("not submitted", "skipped", "lost", "failed") and not self.retry


class _Found(Protocol):
    """Makes the State of one host."""

    def __call__(
        self, word: Word, reason: str = "", *, stuck: bool = False, retry: bool = False
    ) -> State: ...


def state(
    host: str, *, kept: Kept | None, log: Log | None, job: Job | None, node: Host | None, refused: str = ""
) -> State:
    """Return what became of a host. `node`: None if nobody could be asked; `refused`: why it got no job at the last attempt."""
    total, done = (kept.total, kept.done) if kept else (0, 0)

    def found(word: Word, reason: str = "", *, stuck: bool = False, retry: bool = False) -> State:
        of = log.job if log else ""
        return State(
            host=host, word=word, reason=reason, done=done, total=total, job=job.id if job else of, stuck=stuck, retry=retry
        )  # fmt: skip

    if kept and kept.complete:
        return found("done")
    if job and job.phase == "runs":
        return found("running")
    if job and job.phase == "waits":
        why = (node.problem if node else "") or (job.reason if job.hopeless else "")
        if why:
            return found("failed", f"its job waits for ever: {why}", stuck=True)
        return found("queued", job.reason)
    if kept and kept.problem:
        return found("failed", kept.problem)
    if log is None and job is None:
        if node and node.problem:
            return found("skipped", node.problem)
        return found("lost", "no log") if kept else found("not submitted", refused)
    if job and log and int(log.job) < int(job.id):
        log = None  # of an earlier job
    if refused and job and log is None:
        return found("not submitted", refused)  # it was taken back before it began
    return _ended(found, kept, log, job, node)


def depends_on_host(kept: Kept | None, job: Job | None) -> bool:
    """Tell whether what became of a host depends on what the host itself is now: not if it is done, and not while its job runs."""
    return not (kept and kept.complete) and not (job and job.phase == "runs")


def _ended(found: _Found, kept: Kept | None, log: Log | None, job: Job | None, node: Host | None) -> State:
    """Return the state of a host whose job is over, or forgotten."""
    if kept and kept.failed and not kept.pending:
        return found("failed", f"{kept.failure} ({kept.failed} of {kept.total})", retry=True)
    if kept and kept.nothing:
        return found("failed", kept.nothing, retry=True)
    if log and log.rc is not None:
        killed = job and job.state not in ("COMPLETED", "FAILED")
        if job and killed:
            return found("failed", f"job {job.id} {job.state}")
        tool = f"{kept.failure} ({kept.failed} of {kept.total})" if kept and kept.failed else ""
        if log.rc == 0:
            return found("failed", f"job {log.job} ended well, but its results are not here")
        return found("failed", tool or _rc_words(log))
    if node and node.problem:
        return found("lost", node.problem)
    if job and job.state == "NODE_FAIL":
        return found("lost", f"job {job.id} NODE_FAIL: Slurm lost the host, or what watched the job there")
    if job and job.state != "COMPLETED":
        return found("failed", f"job {job.id} {job.state}{f' ({job.reason})' if job.reason else ''}")
    return found("lost", "its job ended without a last word")


def _rc_words(log: Log) -> str:
    known = {130: "stopped: cancelled, or out of time", 143: "stopped: cancelled, or out of time"}
    if log.rc in known:
        return f"job {log.job} {known[log.rc]}"
    return f"{log.reason or 'no reason given'} (rc {log.rc})"


def exit_status(states: Iterable[State]) -> int:
    """Return 0 if every host is done, 3 while something goes on, else 1."""
    words = {one.word for one in states}
    if words & LIVE:
        return UNFINISHED
    return COMPLETE if words <= {"done"} else BAD


def folded(states: Sequence[State]) -> list[tuple[Word, str, tuple[State, ...]]]:
    """Return hosts of one state and reason together, in the order of WORDS; what counts runs is summed up by who prints it.

    Reasons that differ in the host's own name alone are one, with HOST in its place.
    """
    groups: dict[tuple[Word, str], list[State]] = {}
    for one in states:
        groups.setdefault((one.word, _of_any(one)), []).append(one)
    order = sorted(groups, key=lambda key: (WORDS.index(key[0]), -len(groups[key])))
    return [
        (word, reason if len(group) > 1 else group[0].reason, tuple(group))
        for (word, reason), group in ((key, groups[key]) for key in order)
    ]


def _of_any(one: State) -> str:
    return re.sub(rf"(?<![\w.-]){re.escape(one.host)}(?![\w-])", "HOST", one.reason)
