"""The logs of a sweep's jobs, by host: the newest one's last line says how its job ended. I/O."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.machine.safe_files import open_file

_NAME: Final = re.compile(r"(.+)\.(\d+)")
_BEGIN: Final = re.compile(r"\S+ \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ pid \d+")
_END: Final = re.compile(r"rc=(\d+) (.*)")
_TAIL: Final = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """How the newest job of a host ended."""

    job: str
    rc: int | None = None  # None: no last line: it runs, or its host died
    reason: str = ""
    never_began: str = ""  # what it says where the job did not: "Error running slurm prolog: 1"


def read(folder: Path) -> dict[str, Log]:
    """Return host → its newest log, of those in a folder."""
    newest: dict[str, int] = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if found := _NAME.fullmatch(entry.name):
                    newest[found[1]] = max(int(found[2]), newest.get(found[1], -1))
    except OSError:
        return {}
    return {host: _log(folder / f"{host}.{job}", str(job)) for host, job in newest.items()}


def _log(path: Path, job: str) -> Log:
    try:
        with open_file(path) as stream:
            begin = max(0, stream.seek(0, os.SEEK_END) - _TAIL)
            stream.seek(begin)
            tail = stream.read(_TAIL).decode("utf-8", "replace")
    except OSError:
        return Log(job=job)
    return ended(tail, job, whole=not begin)


def ended(tail: str, job: str, *, whole: bool = True) -> Log:
    """Return what the end of a log says; `whole`: it is all of the log. Pure."""
    lines = [line for line in tail.splitlines() if line.strip()]
    for line in reversed(lines):
        if found := _END.fullmatch(line):
            return Log(job=job, rc=int(found[1]), reason=found[2].strip())
    if whole and lines and not any(map(_BEGIN.fullmatch, lines)):
        return Log(job=job, never_began=lines[-1].strip())
    return Log(job=job)
