"""Send the results of one host of a sweep from a local disk to the shared folder, between runs.

SQLite never works on the shared file system. The shared file is complete at any moment: SQLite makes a copy next to it,
and pinsweep syncs and renames the copy. An abstract socket allows one sending process per host and file.
"""

from __future__ import annotations

import errno
import os
import socket
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from orchestrator.cluster.folder import digest, put
from orchestrator.machine.file_system import REMOTE, file_system_of
from orchestrator.machine.safe_files import open_file
from orchestrator.run.events import Ended, Event, Started
from orchestrator.store.result_file import open_begun
from parsers.errors import PinsweepError, UserError

EVERY: Final = "PINSWEEP_HOME_EVERY_S"
IS_HOME: Final = "is-home"
"""This file allows the job to remove its results here, because all results were sent."""
_EVERY_S: Final = 30.0
_SHARE: Final = 20  # sending takes at most one twentieth of the time
_PATIENCE_S: Final = 60.0  # limit for a job that must end


class NotHome(PinsweepError):
    """The results are on the host, and could not be sent."""

    exit_status = 4


class Home:
    """The shared file for the results of `local`.

    Use it as a context manager around a sweep, and call it with each event.
    """

    def __init__(self, local: Path, home: Path, on_problem: Callable[[str], None] = lambda _: None) -> None:
        """`on_problem` gets a message if results cannot be sent now."""
        self.local, self.home = local, home
        self._on_problem = on_problem
        self._problem = ""  # the last one that was reported
        self._due_s = 0.0  # monotonic clock
        self._every_s = float(os.environ.get(EVERY) or _EVERY_S)  # 0: after each run
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        # results that could not be read here and may hold more than the shared file: then the job removes nothing
        self._unreadable = local.with_name(f"{local.name}.unreadable")

    def __enter__(self) -> Self:
        """Continue with the shared results. Raises UserError for damaged results, or if another process sends there."""
        try:
            file_system = file_system_of(self.local.absolute().parent)
            if file_system is not None and file_system.kind in REMOTE:
                cause = f"is on {file_system.kind}; while it measures, results must be on a disk of the host"
                raise UserError(str(self.local), cause, "name a folder with --local")
            self._claim()
            self._fetch()
        except BaseException as error:
            self._socket.close()
            self._store_reason(error)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Send everything. Raises NotHome."""
        try:
            self._store_reason(error)
            if self.local.exists() and self.local.stat().st_size:
                try:
                    self.send()
                except (OSError, sqlite3.Error) as problem:
                    cause = f"cannot be written: {_describe(problem)}"
                    hint = f"the results are in {self.local}; the next job sends them"
                    not_home = NotHome(str(self.home), cause, hint)
                    self._store_reason(not_home)
                    raise not_home from problem
            if not self._unreadable.exists():
                with suppress(OSError):
                    self.local.with_name(IS_HOME).touch()
        finally:
            self._socket.close()

    def __call__(self, event: Event) -> None:
        """Send results if due: at the start of the first run, and after a run."""
        if not isinstance(event, (Started, Ended)) or time.monotonic() < self._due_s:
            return
        start_s, problem = time.monotonic(), ""
        try:
            self.send()
        except (OSError, sqlite3.Error) as error:
            problem = f"results stay on this host for now: {self.home}: {_describe(error)}"
        if problem and problem != self._problem:
            self._on_problem(problem)
        self._problem = problem
        end_s = time.monotonic()
        self._due_s = end_s + (self._every_s and max(self._every_s, _SHARE * (end_s - start_s)))

    def send(self) -> None:
        """Replace the shared results by a copy of all that is committed. Raises OSError, sqlite3.Error."""
        copy = self.local.with_name(f".{self.local.name}.copy")
        try:
            copy.unlink(missing_ok=True)
            with (
                closing(sqlite3.connect(f"{self.local.absolute().as_uri()}?mode=ro", uri=True)) as source,
                closing(sqlite3.connect(copy)) as target,
            ):
                target.executescript("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF")
                source.backup(target)
            with open_file(copy) as stream:
                put(self.home, stream, tag="home")
        finally:
            with suppress(OSError):
                copy.unlink(missing_ok=True)

    def _claim(self) -> None:
        """Bind a name that only one process can have. The kernel releases the name when the process ends."""
        name = digest(os.fsencode(self.home.parent.resolve() / self.home.name))
        ends = time.monotonic() + _PATIENCE_S
        while True:
            try:
                return self._socket.bind(f"\0pinsweep-home/{name}")
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            if time.monotonic() >= ends:
                raise UserError(str(self.home), "another pinsweep on this host sends its results there", "wait for it")
            time.sleep(0.5)

    def _fetch(self) -> None:
        """Continue with the shared results, unless there are more runs here."""
        if not self.home.exists():
            return
        copy = self.local.with_name(f".{self.local.name}.fetched")
        try:
            with open_file(self.home) as stream:
                put(copy, stream)
        except OSError as error:
            raise UserError(str(self.home), f"cannot be read: {error.strerror}", "move it away") from None
        try:
            shared = _run_count(copy)
        except PinsweepError as error:
            copy.unlink()
            raise UserError(str(self.home), error.cause, "move it away; then the host starts again") from None
        try:
            local_count = _run_count(self.local) if self.local.exists() else -1
        except PinsweepError as error:
            for end in ("", "-journal"):
                with suppress(FileNotFoundError):
                    Path(f"{self.local}{end}").replace(f"{self._unreadable}{end}")
            self._on_problem(f"{error}; stored as {self._unreadable}; continuing with {self.home}")
            local_count = -1
        if shared >= local_count:
            self.local.with_name(f"{self.local.name}-journal").unlink(missing_ok=True)
            copy.replace(self.local)
        else:
            copy.unlink()

    def _store_reason(self, error: BaseException | None) -> None:
        """Write the last line's reason for the job."""
        if isinstance(error, PinsweepError):
            with suppress(OSError):
                self.local.with_name("reason").write_text(" ".join(str(error).split()) + "\n", "utf-8")


def _run_count(path: Path) -> int:
    """Return the number of runs in a result file. Raises PinsweepError if the file is damaged or of another kind."""
    file = open_begun(path)
    if file is None:
        return 0
    with file:
        return file.runs_there()


def _describe(problem: OSError | sqlite3.Error) -> str:
    return str(getattr(problem, "strerror", None) or problem)
