"""Write files atomically, so that a reader sees the old or the new file. Result files and experiments are protected.
I/O.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from orchestrator.machine import safe_files
from orchestrator.store.result_file import MAGIC, open_result
from parsers.errors import PinsweepError, UserError
from reports.results.paths import is_result_file

_BESIDE = ("-journal", "-wal", "-shm")
"""SQLite's files next to a database, which may contain half of a commit."""


ANOTHER: Final = "name another file with -o"


def refuse_output(output: Path, inputs: Iterable[Path] = (), *, hint: str = ANOTHER) -> None:
    """Raise UserError, with `hint`, if the output would replace an input, an experiment or any SQLite database.

    Commands call this function before long work. `write_whole` checks again.
    """
    if output.exists() and any(path.exists() and path.samefile(output) for path in inputs):
        raise UserError(str(output), "is what is read: it would be replaced", hint)
    _refuse_what_is_there(output, hint)


def _refuse_what_is_there(path: Path, hint: str) -> None:
    try:
        real = str(safe_files.follow(path))
    except OSError as error:
        raise _not_written(path, error, hint) from error
    if real.endswith((".yaml", ".yml")) and os.path.isfile(real):  # noqa: PTH113 (`real` is a text)
        raise UserError(str(path), "is a YAML file, as experiments are: it would be replaced", hint)
    if _is_database(Path(real)):
        kind = "a result file" if is_result_file(path) else "an SQLite database"
        raise UserError(str(path), f"is {kind}: it would be replaced", hint)
    for suffix in _BESIDE:
        database = Path(real.removesuffix(suffix))
        if real.endswith(suffix) and _is_database(database):
            raise UserError(str(path), f"is where SQLite keeps a part of {database.name}", hint)


def _is_database(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except OSError:  # the write reports the error
        return False


def write_whole(path: Path, data: str | bytes | Iterable[str], *, hint: str = ANOTHER) -> None:
    """Write text (UTF-8, whole or in pieces) or bytes to `path`, and replace an existing file in one step.

    A symbolic link keeps its target. Missing folders are made. Raises UserError, with `hint`, for a failed write, and
    for a result file or an experiment.
    """
    pieces = [data] if isinstance(data, str | bytes) else data
    _refuse_what_is_there(path, hint)
    try:
        with safe_files.replacement(path) as file:
            file.writelines(p.encode("utf-8", "replace") if isinstance(p, str) else p for p in pieces)
    except OSError as error:
        raise _not_written(path, error, hint) from error


ANOTHER_COPY: Final = "name another file with --copy"


def copy_result(source: Path, target: Path) -> None:
    """Copy a result file in one step, even during a write to the file.

    The copy is on the disk when the function returns. Raises UserError for a failed write.
    """
    if target.exists() and not target.is_file():
        raise UserError(str(target), "is not a file", ANOTHER_COPY)
    try:
        with open_result(source) as result, safe_files.replacement(target) as file:
            result.copy(Path(f"/proc/self/fd/{file.fileno()}"))
            os.fsync(file.fileno())
    except sqlite3.Error as error:
        raise UserError(str(target), f"cannot be written: {error}", ANOTHER_COPY) from error
    except OSError as error:
        raise _not_written(target, error, ANOTHER_COPY) from error
    _sync(Path(os.path.realpath(target)).parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _not_written(path: Path, error: OSError, hint: str) -> PinsweepError:
    """Return the error for a file that cannot be written. A full disk is not a mistake in the command."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return (PinsweepError if full else UserError)(str(path), f"cannot be written: {error.strerror}", hint)
