"""Find the user's folders for settings, timings and compiled kernels, by the XDG Base Directory Specification. I/O.

pinsweep uses no library for this, because a library for all systems takes longer to import than a plan takes.
"""

from __future__ import annotations

import os
from pathlib import Path

NO_HOME = Path("/nonexistent")
"""The home of users without a home, as in Debian. The folder does not exist."""


def config_folder() -> Path:
    return _folder("XDG_CONFIG_HOME", ".config")


def data_folder() -> Path:
    return _folder("XDG_DATA_HOME", ".local/share")


def cache_folder() -> Path:
    return _folder("XDG_CACHE_HOME", ".cache")


def _folder(variable: str, default: str) -> Path:
    try:
        return Path(os.environ.get(variable, "").strip() or f"~/{default}").expanduser() / "pinsweep"
    except RuntimeError:  # neither HOME nor an entry in passwd: nothing is stored, and errors name the variable
        return NO_HOME / default / "pinsweep"
