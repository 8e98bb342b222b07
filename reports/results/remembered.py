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
from orchestrator.store.result_file import ResultFile, open_result
from parsers import extensions
from parsers.errors import PinsweepError

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

    `question` says what is made, with all options that change it. `load` undoes `dump`; what it raises ValueError, KeyError or TypeError
    for is made again. Raises UserError for a file that is none, Damaged, and what `made` raises.
    """
    with open_result(path) as file:
        of = known_by(file)
    kept = recalled(path, question, of, load)
    if kept is not None:
        return kept
    answer = made()
    remember(path, question, of, dump(answer))
    return answer


def recalled(path: Path, question: str, of: str, load: Callable[[str], T]) -> T | None:
    """Return what was made of a result file that was known by `of`; None where nothing was kept that `load` takes, and of a file that has
    gone since, or is damaged."""
    if not of:
        return None
    with contextlib.suppress(PinsweepError), open_result(path, known=True) as file:
        kept = file.kept_answer(_asked(path, question), of)
        with contextlib.suppress(ValueError, KeyError, TypeError):  # nothing that `dump` made
            return None if kept is None else load(kept)
    return None


def remember(path: Path, question: str, of: str, answer: str) -> None:
    """Keep what was made of a result file when it was known by `of`, unless it is another one now, or has gone."""
    if of:
        with contextlib.suppress(PinsweepError), open_result(path, known=True) as file:
            if file.fingerprint(_program()) == of:  # no run was added meanwhile
                file.keep_answers(of, [(_asked(path, question), answer)])


def is_to_be_made(path: Path, question: str) -> bool:
    """Is an answer still to be made of a result file of many runs that can keep it, under whatever name of the file? What is kept by
    another program, or of more runs or fewer, is none; of other contents it may be: telling that takes a look at all of the file.
    Raises UserError for a file that is none, Damaged."""
    with open_result(path, known=True) as file:
        if not file.writable or file.runs_there() < MANY:
            return False
        return not file.has_answer_like(json.dumps([question])[:-1], _program())


def known_by(file: ResultFile) -> str:
    """Return what the answers that are made of a file are kept by, as it is now; "" of few runs."""
    if file.runs_there() < MANY:  # asked first: `_program` reads 380 files
        return ""
    program = _program()
    return file.fingerprint(program) if program else ""


def _asked(path: Path, question: str) -> str:
    return json.dumps([question, str(path)])


@functools.cache
def _program() -> str:
    """Return a SHA-256 of all that makes an answer: these packages, as they are now, and Python. "" where they lie in no folder."""
    found = hashlib.sha256(sys.version.encode())
    try:
        own = {
            package.__name__: Path(str(package.__file__)).parent
            for package in (parsers, orchestrator, reports)
        }
        for name, folder in (own | {one.folder: Path(one.folder) for one in extensions.known}).items():
            for file in sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".json")):
                data = file.read_bytes()
                found.update(f"{name} {file.relative_to(folder)} {len(data)}\n".encode() + data)
    except OSError:
        return ""
    return found.hexdigest()
