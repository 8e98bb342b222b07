"""What has come home of a host: how far it is, what failed, what it was measured with. Reads result files, writes nothing. I/O."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.cluster import traits
from orchestrator.run.outcome import counts_as_done
from orchestrator.store import progress
from orchestrator.store.progress import Progress
from parsers.errors import PinsweepError


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a host's result file holds."""

    total: int = 0  # runs that were planned, of all sessions
    done: int = 0
    failed: int = 0
    disturbed: int = 0  # of those done
    sessions: int = 0
    ended: bool = False  # the last session came to its end
    started_utc: str = ""  # of the last session, by the host's clock
    failure: str = ""  # "disk: exit status 1: fio: No space left on device"
    nothing: str = ""  # why no cell could run
    traits: Mapping[str, str] = field(default_factory=dict)  # what it was measured with: "fio" → "3.33"
    problem: str = ""  # why the file cannot be taken for this host's

    @property
    def pending(self) -> int:
        return max(0, self.total - self.done - self.failed)

    @property
    def complete(self) -> bool:
        return self.ended and self.total > 0 and self.done >= self.total and not self.failed


def read(path: Path, *, hosts: Collection[str] = (), allow_misplaced: bool = False) -> Kept | None:
    """Return what the result file of a host holds; None if there is none. One that is damaged says so, and so does one of another of the
    sweep's `hosts`. `allow_misplaced`: as of `run`."""
    try:
        found = progress.read(path)
    except PinsweepError as error:
        return Kept(problem=f"{path.name}: {error.cause}")
    if found is None:
        return None
    if _is_of_another(found.host, path.stem, hosts):
        return Kept(problem=f"{path.name} is of {found.host}")
    return of(found, allow_misplaced=allow_misplaced)


def _is_of_another(name: str, host: str, hosts: Collection[str]) -> bool:
    """Tell whether who calls itself `name` is another of the hosts. What it is called there may have a domain that it does not say itself, or be
    an alias of ssh, of which nothing can be told."""
    first = name.partition(".")[0]
    if name == host or (name not in hosts and first == host.partition(".")[0]):
        return False
    return name in hosts or first in {other.partition(".")[0] for other in hosts}


def of(found: Progress, *, allow_misplaced: bool = False) -> Kept:
    """Return what the progress of a result file means. Pure."""
    done = dict.fromkeys(found.cells, 0)
    failures = []
    for (cell, _), (status, reason) in found.last.items():
        if counts_as_done(status, allow_misplaced=allow_misplaced):
            done[cell] += 1
        elif status != "interrupted":
            failures.append(f"{found.cells[cell][0]}: {reason or status}")
    ran = {sweep for sweep, _ in found.cells.values()}
    nothing = next((f"{s}: {r}" for s, r in found.skipped.items()), "no cell can run here")
    return Kept(
        total=sum(often for _, often in found.cells.values()),
        done=sum(min(done[cell], often) for cell, (_, often) in found.cells.items()),
        failed=len(failures),
        disturbed=sum(status == "disturbed" for status, _ in found.last.values()),
        sessions=found.sessions,
        ended=found.ended,
        started_utc=found.started_utc,
        failure=failures[-1] if failures else "",
        nothing="" if found.cells else nothing,
        traits={
            **traits.of_session(
                found.facts, found.programs, {s: r for s, r in found.skipped.items() if s not in ran}
            ),
            **({"pinsweep": found.pinsweep} if found.pinsweep else {}),
        },
    )
