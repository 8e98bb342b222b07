"""Store baselines: named sets of result files in the user's data folder. I/O.

A baseline is a folder of copied result files. The session is the unit of evidence, so each new session adds a file. A
baseline needs five sessions to estimate the spread between sessions.

    <data folder>/pinsweep/baselines/NAME/<start>-<host>-<digest>.db       PINSWEEP_BASELINES names another folder
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from orchestrator.machine.user_folders import data_folder
from orchestrator.store.result_file import Damaged, Session, open_result
from parsers.errors import UserError, nearest
from reports.results.model import Machine
from reports.results.paths import result_files
from reports.results.sessions import SessionKey, counted, timeline
from reports.results.write import copy_result
from reports.text.hostlist import folded

ENOUGH_SESSIONS: Final = 5
"""Minimum of sessions for an estimate of the spread between sessions. Below, the spread is assumed."""

_ELSEWHERE: Final = "PINSWEEP_BASELINES=DIR keeps baselines in another folder"

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A stored baseline."""

    name: str
    files: tuple[Path, ...]
    sessions: tuple[Session, ...]  # oldest first
    evidence: int  # number of sessions as evidence: one per boot and hour

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(session.host for session in self.sessions))

    @property
    def text(self) -> str:
        """Return "baseline of 3 sessions; noise between sessions is assumed"."""
        assumed = "; noise between sessions is assumed" if self.evidence < ENOUGH_SESSIONS else ""
        return f"baseline of {counted(len(self.sessions), self.evidence)}{assumed}"

    def as_json(self) -> dict[str, Any]:
        """Return {name, first, last, nodes, files: [path], sessions: [{host, started_utc, kernel}]}."""
        return {
            "name": self.name,
            "first": self.sessions[0].started_utc,
            "last": self.sessions[-1].started_utc,
            "nodes": folded(self.hosts),
            "files": [str(path) for path in self.files],
            "sessions": [
                {"host": s.host, "started_utc": s.started_utc, "kernel": s.facts.get("kernel")} for s in self.sessions
            ],
        }


def folder() -> Path:
    """Return the folder of the baselines."""
    if named := os.environ.get("PINSWEEP_BASELINES"):
        return Path(named)
    return data_folder() / "baselines"


def names() -> list[str]:
    """Return the names of all baselines, in order."""
    try:
        # a killed `add` leaves a folder without a file
        return sorted(p.name for p in folder().iterdir() if _NAME.fullmatch(p.name) and any(p.glob("*.db")))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UserError(str(folder()), f"cannot be read: {error.strerror}", _ELSEWHERE) from error


def resolve(name: str) -> list[Path]:
    """Return the result files of a baseline, oldest first. Raises UserError for an unknown name."""
    _check_name(name)
    files = sorted((folder() / name).glob("*.db"))
    if not files:
        known = names()
        hint = nearest(name, known) or (f"there are: {', '.join(known)}" if known else "")
        raise UserError(name, "no such baseline", hint or f"`pinsweep baseline add {name} RESULT` makes one")
    return files


def resolve_any(word: str) -> list[Path]:
    """Return the files of the value of `--baseline`: a file, folder or glob of result files, else the name of a
    baseline.

    Raises UserError if there are no files.
    """
    if os.path.lexists(word) or (word and not _NAME.fullmatch(word)):
        return result_files([word])
    if word.endswith(".db") and word not in names():  # a file's name, mistyped
        return result_files([word])
    return resolve(word)


def load(name: str) -> Baseline:
    """Return a baseline with its sessions. Raises UserError for an unknown name or a damaged file."""
    files = resolve(name)
    sessions: dict[SessionKey, Machine] = {}
    for path in files:
        try:
            with open_result(path) as result:
                stored_sessions = result.sessions()
                sessions |= {(path.name, s.session): Machine(file=path.name, session=s) for s in stored_sessions}
        except (UserError, Damaged) as error:
            hint = f"delete that file, or `pinsweep baseline remove {name}`"
            raise UserError(error.place, error.cause, hint) from error
    when = timeline(sessions.values())
    return Baseline(
        name=name,
        files=tuple(files),
        sessions=tuple(sessions[key].session for key in when),
        evidence=len({one.evidence for one in when.values()}),
    )


def add(name: str, paths: Sequence[Path]) -> Baseline:
    """Copy result files into a new or existing baseline, and return the baseline.

    An existing file is replaced by the newer version (a resumed sweep). Every file is opened before the first copy, so
    a wrong file leaves the baseline unchanged. Raises UserError for an invalid name or file.
    """
    _check_name(name)
    copies = [(path, _copy_name(path)) for path in paths]
    target = folder() / name
    try:
        target.mkdir(parents=True, exist_ok=True)
        for path, copy in copies:
            copy_result(path, target / copy)
    except (OSError, UserError) as error:
        cause = error.cause if isinstance(error, UserError) else f"cannot be written: {error.strerror}"
        raise UserError(str(target), cause, _ELSEWHERE) from error
    return load(name)


def remove(name: str) -> int:
    """Delete a baseline, and return the number of its files. Raises UserError for an unknown name."""
    files = resolve(name)
    shutil.rmtree(folder() / name)
    return len(files)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise UserError(
            repr(name)[1:-1],
            "is not a valid baseline name",
            "letters, digits, dots, dashes and underscores, 64 at most, a letter or digit first",
        )


def _copy_name(path: Path) -> str:
    """Return the name of a file's copy, which depends only on the first session."""
    with open_result(path) as result:
        sessions = result.sessions()
    if not sessions:
        raise UserError(str(path), "holds no session", "`pinsweep run EXPERIMENT -o FILE` makes one")
    first = sessions[0]
    digest = hashlib.sha256(repr((first.host, first.started_utc, first.seed, first.argv)).encode())
    start = re.sub(r"[^0-9T]", "", first.started_utc[:19])
    host = re.sub(r"[^A-Za-z0-9._-]", "_", first.host)[:40]
    return f"{start}-{host}-{digest.hexdigest()[:8]}.db"
