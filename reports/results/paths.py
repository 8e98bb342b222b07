"""Resolve file names, folders and globs to result files. The module reads the first bytes of files and writes
nothing.
"""

from __future__ import annotations

import glob
import os
import shlex
from collections.abc import Iterable
from pathlib import Path

from orchestrator.store.result_file import APPLICATION_ID, MAGIC
from parsers.errors import UserError

_ID_AT = 68  # of a database's first 100 bytes: https://www.sqlite.org/fileformat.html#application_id


def result_files(names: Iterable[str | Path]) -> list[Path]:
    """Return the files for the given names without duplicates, in the given order. Folders and globs are sorted by
    name.

    A folder gives the result files in all subfolders. A result file has the right first bytes, or a name with `.db`
    (the file may be damaged). Other files and hidden files are left out. A named file is not opened. Raises UserError
    for a folder or a glob without files.
    """
    files: dict[str, Path] = {}
    for name in names:
        text = os.fspath(name)
        if Path(text).is_dir():
            paths = sorted(_below(text))
            problem = "no result file in this folder"
        elif not os.path.lexists(text) and glob.has_magic(text):
            paths = sorted(Path(p) for p in glob.glob(text, recursive=True) if not Path(p).is_dir())  # noqa: PTH207 (absolute too)
            problem = "no file of such a name"
        else:
            paths, problem = [Path(text)], ""
        if not paths:
            raise UserError(text, problem, _hint(Path(text)))
        for path in paths:  # a link that leads to itself is for the one who opens it, too
            files.setdefault(os.path.realpath(path), path)
    return list(files.values())


def _hint(path: Path) -> str:
    from orchestrator.cluster.folder import is_sweep  # who names files does without

    if is_sweep(path):
        return f"no host of this sweep has results yet: pinsweep status {shlex.quote(str(path))}"
    return "`pinsweep run EXPERIMENT -o FILE` makes one"


def is_result_file(path: Path) -> bool:
    """Return whether a file begins like a result file."""
    try:
        # a FIFO has no writer to wait for
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as stream:
            head = stream.read(_ID_AT + 4)
    except OSError:
        return False
    return head.startswith(MAGIC) and int.from_bytes(head[_ID_AT:], "big") == APPLICATION_ID


def _below(folder: str) -> Iterable[Path]:
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for file in files:
            path = Path(here, file)
            if not file.startswith(".") and (file.endswith(".db") or (path.is_file() and is_result_file(path))):
                yield path
