"""Packages that a host which only measures does without (requirements/node.txt), and how to have them."""

from __future__ import annotations

import shlex
import sys

OF_READERS = ("pandas", "numpy", "scipy", "jinja2", "markupsafe", "dateutil")


def needed(error: ModuleNotFoundError) -> str:
    """Return the missing package, or "" for a bug in pinsweep."""
    package = (error.name or "").partition(".")[0]
    return package if package in OF_READERS else ""


def install() -> str:
    """Return the command that installs the missing packages."""
    from importlib import metadata

    try:
        wanted = metadata.requires("pinsweep") or []
    except metadata.PackageNotFoundError:
        wanted = []
    missing = [text for text in wanted if ";" not in text and not _is_here(text)]
    return shlex.join([sys.executable, "-m", "pip", "install", *(missing or ["pandas", "scipy", "Jinja2"])])


def _is_here(requirement: str) -> bool:
    import importlib.util
    import re

    name = re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower().replace("-", "_")
    module = {"pyyaml": "yaml", "vl_convert_python": "vl_convert"}.get(name, name)
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False
