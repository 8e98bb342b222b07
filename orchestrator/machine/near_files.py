"""What a mistyped name of a file may have meant: `parsers.errors.nearest` for names that lie in a folder. I/O: lists it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from parsers.errors import nearest


def near_files(path: Path | str, endings: Sequence[str]) -> str:
    """Return "did you mean 'labs/lab1.yaml'?" of the files of such endings in the folder of a path that is not there; "" where none is like
    it."""
    wanted = Path(path)
    try:
        there = [name for name in os.listdir(wanted.parent) if name.rpartition(".")[2] in endings]  # noqa: PTH208
    except OSError:
        return ""
    stem = wanted.name.removesuffix(wanted.suffix) if wanted.suffix[1:] in endings else wanted.name
    same = [name for name in there if name in {f"{stem}.{ending}" for ending in endings}]
    folder = "" if str(wanted.parent) == "." else f"{wanted.parent}/"
    return nearest(wanted.name, same or sorted(there)).replace(" mean '", f" mean '{folder}", 1)
