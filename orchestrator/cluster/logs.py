"""The logs of a sweep's jobs, by host: the newest one's last line says how its job ended. I/O."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_NAME: Final = re.compile(r"(.+)\.(\d+)")
_END: Final = re.compile(r"rc=(\d+) (.*)")
_TAIL: Final = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """How the newest job of a host ended."""

    job: str
    rc: int | None = None  # None: no last line: it runs, or its host died
    reason: str = ""


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
        with path.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - _TAIL))
            tail = stream.read(_TAIL).decode("utf-8", "replace")
    except OSError:
        return Log(job=job)
    return ended(tail, job)


def ended(tail: str, job: str) -> Log:
    """Return what the end of a log says. Pure."""
    for line in reversed(tail.splitlines()):
        if found := _END.fullmatch(line):
            return Log(job=job, rc=int(found[1]), reason=found[2].strip())
    return Log(job=job)
