"""On one host of a sweep: its results lie on a disk of its own, and are sent home to the shared folder between runs. I/O.

SQLite never works on the shared file system. Home is whole at any moment: a copy is made here (SQLite's backup), written beside it,
synced, and renamed, before the host's own is removed. One process of a host at a time sends to one file: it has a name that the kernel lends to one (an abstract socket),
and that is gone with it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import socket
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from orchestrator.machine.file_system import ELSEWHERE, file_system_of
from orchestrator.machine.safe_files import create, open_file
from orchestrator.run.execute import Ended, Event, Started
from orchestrator.store import folders
from orchestrator.store.result_file import open_begun
from parsers.errors import PinsweepError, UserError

EVERY: Final = "PINSWEEP_HOME_EVERY_S"
EVERY_S: Final = 30.0
IS_HOME: Final = "is-home"
"""The file beside the results that says that all of them are home, so that the job may remove them here."""
_SHARE: Final = 20  # sending takes at most a twentieth of the time
_PATIENCE_S: Final = 60.0  # for a job that is being ended


class NotHome(PinsweepError):
    """The results are on the host, and could not be sent home."""

    exit_status = 4


class Home:
    """Where the results of `local` belong. Use as a context manager around the sweep, and give it each event."""

    def __init__(self, local: Path, home: Path, on_problem: Callable[[str], None] = lambda _: None) -> None:
        self.local = local
        self.home = home
        self._on_problem = on_problem
        self._due = 0.0
        self._told = ""
        self._every_s = _seconds(os.environ.get(EVERY, ""))
        self._name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)

    def __enter__(self) -> Self:
        try:
            _refuse_remote(self.local)
            self._claim()
            self._fetch()
        except BaseException as error:
            self._name.close()
            if isinstance(error, PinsweepError):
                self._say_why(error)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if isinstance(error, PinsweepError):
                self._say_why(error)
            if self.local.exists() and self.local.stat().st_size:
                self._last()
            if not self._aside.exists():
                with suppress(OSError):
                    self.local.with_name(IS_HOME).touch()
        finally:
            self._name.close()

    def __call__(self, event: Event) -> None:
        """Send what there is, if it is time: when the first run starts, and after a run."""
        if isinstance(event, (Started, Ended)) and time.monotonic() >= self._due:
            begun = time.monotonic()
            try:
                self.send()
                self._told = ""
            except (OSError, sqlite3.Error) as problem:
                self._tell(f"results stay on this host for now: {self.home}: {_words(problem)}")
            ended = time.monotonic()
            self._due = ended + (max(self._every_s, _SHARE * (ended - begun)) if self._every_s else 0.0)

    def send(self) -> None:
        """Put a copy of all that is committed in the place of what is home. Raises OSError, sqlite3.Error."""
        copy = self.local.with_name(f".{self.local.name}.copy")
        part = self.home.with_name(f".{self.home.name}.part")
        try:
            copy.unlink(missing_ok=True)
            with (
                closing(sqlite3.connect(f"{self.local.absolute().as_uri()}?mode=ro", uri=True)) as here,
                closing(sqlite3.connect(copy)) as new,
            ):
                new.execute("PRAGMA synchronous = OFF")
                new.execute("PRAGMA journal_mode = OFF")
                here.backup(new)
            with copy.open("rb") as source, create(part) as target:
                shutil.copyfileobj(source, target, 1 << 20)
                target.flush()
                os.fsync(target.fileno())
            part.replace(self.home)
            with suppress(OSError):  # file systems of a network need not be able to
                folders.sync(self.home.parent)
        except BaseException:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise
        finally:
            with suppress(OSError):
                copy.unlink(missing_ok=True)

    def _last(self) -> None:
        try:
            self.send()
        except (OSError, sqlite3.Error) as problem:
            error = NotHome(
                str(self.home), f"cannot be written: {_words(problem)}", f"the results are in {self.local}; the next job takes them"
            )  # fmt: skip
            self._say_why(error)
            raise error from problem

    def _claim(self) -> None:
        where = self.home.parent.resolve() / self.home.name
        digest = hashlib.sha256(os.fsencode(where)).hexdigest()
        ends = time.monotonic() + _PATIENCE_S
        while True:
            try:
                self._name.bind(f"\0pinsweep-home/{digest}")
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                if time.monotonic() >= ends:
                    raise UserError(
                        str(self.home), "another pinsweep on this host sends its results there", "wait for it"
                    ) from None
                time.sleep(0.5)
            else:
                return

    def _fetch(self) -> None:
        """Go on with what is home, unless more is here."""
        if not self.home.exists():
            return
        copy = self.local.with_name(f".{self.local.name}.fetched")
        try:
            with open_file(self.home) as source, create(copy) as target:
                shutil.copyfileobj(source, target, 1 << 20)
        except OSError as error:
            raise UserError(str(self.home), f"cannot be read: {error.strerror}", "move it away") from None
        try:
            there = _runs(copy)
        except PinsweepError as error:
            copy.unlink()
            raise UserError(str(self.home), error.cause, "move it away; the host then begins anew") from None
        try:
            here = _runs(self.local) if self.local.exists() else -1
        except PinsweepError as error:
            self._put_aside(error)
            here = -1
        if there >= here:
            self.local.with_name(f"{self.local.name}-journal").unlink(missing_ok=True)
            copy.replace(self.local)
        else:
            copy.unlink()

    @property
    def _aside(self) -> Path:
        """What could not be read here, and may hold more than what is home: as long as it is there, the job removes nothing."""
        return self.local.with_name(f"{self.local.name}.unreadable")

    def _put_aside(self, error: PinsweepError) -> None:
        for end in ("", "-journal"):
            with suppress(FileNotFoundError):
                Path(f"{self.local}{end}").replace(f"{self._aside}{end}")
        self._on_problem(f"{error}; it is kept as {self._aside}, and {self.home} is gone on with")

    def _say_why(self, error: PinsweepError) -> None:
        with suppress(OSError):
            self.local.with_name("reason").write_text(" ".join(str(error).split()) + "\n", "utf-8")

    def _tell(self, text: str) -> None:
        if text != self._told:
            self._told = text
            self._on_problem(text)


def _refuse_remote(local: Path) -> None:
    found = file_system_of(local.absolute().parent)
    if found is not None and found.kind in ELSEWHERE:
        raise UserError(
            str(local), f"is on {found.kind}, and results belong on a disk of the host while it measures", "--local names a folder"
        )  # fmt: skip


def _runs(path: Path) -> int:
    """Return how many runs a result file holds. Raises PinsweepError if it is none, or damaged."""
    found = open_begun(path)
    if found is None:
        return 0
    with found:
        return found.runs_there()


def _seconds(text: str) -> float:
    try:
        return max(0.0, float(text))
    except ValueError:
        return EVERY_S


def _words(problem: Exception) -> str:
    return problem.strerror or str(problem) if isinstance(problem, OSError) else str(problem)
