"""The folders in which pinsweep keeps what is the user's: settings, what it has learnt, what it has built. I/O: the environment.

As the XDG Base Directory Specification has them; a module of its own for four lines, since a library for all systems takes
longer to import than a plan takes to make. And what a mistyped name of a file may have meant: `near_files`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from parsers.errors import nearest


def config_folder() -> Path:
    return _folder("XDG_CONFIG_HOME", ".config")


def data_folder() -> Path:
    return _folder("XDG_DATA_HOME", ".local/share")


def cache_folder() -> Path:
    return _folder("XDG_CACHE_HOME", ".cache")


def _folder(variable: str, default: str) -> Path:
    named = os.environ.get(variable, "").strip()
    return Path(named or f"~/{default}").expanduser() / "pinsweep"


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
