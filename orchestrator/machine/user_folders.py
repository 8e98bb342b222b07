"""The folders in which pinsweep keeps what is the user's: settings, what it has learnt, what it has built. I/O: the environment.

As the XDG Base Directory Specification has them; a module of its own for four lines, since a library for all systems takes
longer to import than a plan takes to make.
"""

from __future__ import annotations

import os
from pathlib import Path

NO_HOME = Path("/nonexistent")
"""The home of users that have none: no such folder exists, as Debian has it."""


def config_folder() -> Path:
    return _folder("XDG_CONFIG_HOME", ".config")


def data_folder() -> Path:
    return _folder("XDG_DATA_HOME", ".local/share")


def cache_folder() -> Path:
    return _folder("XDG_CACHE_HOME", ".cache")


def _folder(variable: str, default: str) -> Path:
    named = os.environ.get(variable, "").strip()
    try:
        return Path(named or f"~/{default}").expanduser() / "pinsweep"
    except (
        RuntimeError
    ):  # neither HOME nor an entry in passwd: nothing is stored, and errors name the variable
        return NO_HOME / default / "pinsweep"
