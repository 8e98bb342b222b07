"""Answers of many runs, remembered: what was made of a result file is kept in it, and found again as long as nothing has changed."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import orchestrator
import parsers
import reports
from orchestrator.store.result_file import open_result

T = TypeVar("T")

MANY = 1000
"""Runs from which on an answer is remembered; of fewer it takes less than a second to make."""


def remembered(
    path: Path,
    question: str,
    made: Callable[[], T],
    *,
    dump: Callable[[T], str],
    load: Callable[[str], T],
) -> T:
    """Return what `made` makes of a result file, or made of it before: by the same program, when the file held the same runs, cells,
    sessions and outputs and was called the same.

    `question` says what is made, with all options that change it. `load` undoes `dump`; what it raises ValueError, KeyError or
    TypeError for is made again. Raises UserError for a file that is none, Damaged, and what `made` raises.
    """
    of, kept = _kept(path, question, load)
    if kept is not None:
        return kept
    answer = made()
    if of:
        with open_result(path) as file:
            if file.fingerprint(_program()) == of:  # no run was added meanwhile
                file.keep_answer(_asked(path, question), of, dump(answer))
    return answer


def recalled(path: Path, question: str, *, load: Callable[[str], T]) -> T | None:
    """Return what `remembered` would find kept; None where nothing is."""
    return _kept(path, question, load)[1]


def _kept(path: Path, question: str, load: Callable[[str], T]) -> tuple[str, T | None]:
    """Return (what an answer is known by, "" of few runs; the answer, if it is kept)."""
    program = _program()
    with open_result(path) as file:
        if not program or file.runs_there() < MANY:
            return "", None
        of = file.fingerprint(program)
        kept = file.kept_answer(_asked(path, question), of)
    if kept is not None:
        with contextlib.suppress(ValueError, KeyError, TypeError):  # nothing that `dump` made
            return of, load(kept)
    return of, None


def _asked(path: Path, question: str) -> str:
    return json.dumps([question, str(path)])


@functools.cache
def _program() -> str:
    """Return a SHA-256 of all that makes an answer: these packages, as they are now, and Python. "" where they lie in no folder."""
    found = hashlib.sha256(sys.version.encode())
    try:
        for package in (parsers, orchestrator, reports):
            folder = Path(str(package.__file__)).parent
            for file in sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".json")):
                data = file.read_bytes()
                found.update(f"{package.__name__} {file.relative_to(folder)} {len(data)}\n".encode() + data)
    except OSError:
        return ""
    return found.hexdigest()
