"""Read the progress of a host's result file, and the end of its newest job from the log."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from orchestrator.cluster import traits
from orchestrator.machine.safe_files import open_file
from orchestrator.run.outcome import counts_as_done
from orchestrator.store import progress
from orchestrator.store.progress import Progress
from parsers.errors import PinsweepError

_LOG_NAME: Final = re.compile(r"(.+)\.(\d+)")
_LOG_BEGIN: Final = re.compile(r"\S+ \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ pid \d+")
_LOG_END: Final = re.compile(r"rc=(\d+) (.*)")
_LOG_TAIL: Final = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """How far the result file of a host is."""

    total: int = 0  # planned runs
    done: int = 0
    failed: int = 0
    disturbed: int = 0  # among those done
    sessions: int = 0
    ended: bool = False  # the last session came to its end
    started_utc: str = ""  # last session, by the host's clock
    failure: str = ""  # "disk: exit status 1: fio: No space left on device"
    nothing: str = ""  # why no cell can run
    traits: Mapping[str, str] = field(default_factory=dict)  # "fio" → "3.33"
    problem: str = ""  # why the file cannot be used for this host

    @property
    def pending(self) -> int:
        """Runs that are neither done nor failed."""
        return max(0, self.total - self.done - self.failed)

    @property
    def complete(self) -> bool:
        """Whether each planned run is done."""
        return self.ended and self.total > 0 and self.done >= self.total and not self.failed


def read_results(path: Path, *, hosts: Collection[str] = (), allow_misplaced: bool = False) -> Results | None:
    """Return the progress of a result file HOST.db, or None if there is no file.

    `hosts`: all hosts of the sweep, because another host may have written the file. `allow_misplaced`: as in `run`.
    """
    try:
        stored = progress.read(path)
    except PinsweepError as error:
        return Results(problem=f"{path.name}: {error.cause}")
    if stored is None:
        return None
    if _is_other(stored.host, path.stem, hosts):
        return Results(problem=f"{path.name} is of {stored.host}")
    return summarize(stored, allow_misplaced=allow_misplaced)


def _is_other(name: str, host: str, hosts: Collection[str]) -> bool:
    """Return whether a machine that calls itself `name` is another of the hosts. `host` may be an alias of ssh."""
    first = name.partition(".")[0]
    if name == host or (name not in hosts and first == host.partition(".")[0]):
        return False
    return name in hosts or first in {other.partition(".")[0] for other in hosts}


def summarize(stored: Progress, *, allow_misplaced: bool = False) -> Results:
    """Return the state that the progress of a result file means."""
    done = dict.fromkeys(stored.cells, 0)
    failures = []
    for (cell, _), (status, reason) in stored.last.items():
        if counts_as_done(status, allow_misplaced=allow_misplaced):
            done[cell] += 1
        elif status != "interrupted":
            failures.append(f"{stored.cells[cell][0]}: {reason or status}")
    sweeps = {sweep for sweep, _ in stored.cells.values()}
    skipped = {sweep: reason for sweep, reason in stored.skipped.items() if sweep not in sweeps}
    nothing = next((f"{sweep}: {reason}" for sweep, reason in stored.skipped.items()), "no cell can run here")
    version = {"pinsweep": stored.pinsweep} if stored.pinsweep else {}
    return Results(
        total=sum(repeats for _, repeats in stored.cells.values()),
        done=sum(min(done[cell], repeats) for cell, (_, repeats) in stored.cells.items()),
        failed=len(failures),
        disturbed=sum(status == "disturbed" for status, _ in stored.last.values()),
        sessions=stored.sessions,
        ended=stored.ended,
        started_utc=stored.started_utc,
        failure=failures[-1] if failures else "",
        nothing="" if stored.cells else nothing,
        traits=traits.of_session(stored.facts, stored.programs, skipped) | version,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """How the newest job of a host ended."""

    job: str
    rc: int | None = None  # None: no last line, because it runs or its host died
    reason: str = ""
    never_began: str = ""  # Slurm's words if the job did not begin: "Error running slurm prolog: 1"


def read_logs(folder: Path) -> dict[str, Log]:
    """Return host → the newest log of the host in a folder."""
    newest: dict[str, int] = {}
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError:
        return {}
    for match in filter(None, map(_LOG_NAME.fullmatch, names)):
        newest[match[1]] = max(int(match[2]), newest.get(match[1], -1))
    return {host: _read_log(folder / f"{host}.{job}", str(job)) for host, job in newest.items()}


def _read_log(path: Path, job: str) -> Log:
    try:
        with open_file(path) as stream:
            start = max(0, stream.seek(0, os.SEEK_END) - _LOG_TAIL)
            stream.seek(start)
            tail = stream.read(_LOG_TAIL).decode("utf-8", "replace")
    except OSError:
        return Log(job=job)
    return parse_log(tail, job, is_whole=not start)


def parse_log(tail: str, job: str, *, is_whole: bool = True) -> Log:
    """Return the result at the end of a log. `is_whole`: the tail is the complete log."""
    lines = [line for line in tail.splitlines() if line.strip()]
    for line in reversed(lines):
        if match := _LOG_END.fullmatch(line):
            return Log(job=job, rc=int(match[1]), reason=match[2].strip())
    if is_whole and lines and not any(map(_LOG_BEGIN.fullmatch, lines)):
        return Log(job=job, never_began=lines[-1].strip())
    return Log(job=job)
