"""What a mistyped name of a file may have meant: `parsers.errors.like` for names that lie in a folder. I/O: lists it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from parsers.errors import like


def near_files(path: Path | str, endings: Sequence[str]) -> str:
    """Return "did you mean 'labs/lab1.yaml'?" of the files of such endings in the folder of a path that is not there; "" where none is like
    it."""
    wanted = Path(path)
    try:
        there = [name for name in os.listdir(wanted.parent) if name.rpartition(".")[2] in endings]  # noqa: PTH208
    except OSError:
        return ""
    ended = wanted.suffix[1:] in endings
    stem = wanted.stem if ended else wanted.name
    same = [name for name in there if name in {f"{stem}.{ending}" for ending in endings}]
    # an ending that all have makes no two names alike
    others = {Path(name).stem if ended else name: name for name in sorted(there)}
    near = next(iter(sorted(same)), "") or others.get(like(stem, others), "") or _holding(stem, there)
    return f"did you mean {str(wanted.parent / near)!r}?" if near else ""


def _holding(stem: str, names: Sequence[str]) -> str:
    """Return the first name that holds a stem of three letters or more; "" if none does."""
    return next((name for name in sorted(names) if stem in name), "") if len(stem) > 2 else ""
