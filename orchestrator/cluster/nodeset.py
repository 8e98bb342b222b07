"""Names of hosts as admins write them: `n[001-200]`, `@rack3`. ClusterShell reads them, or Slurm where it is not installed. I/O."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Iterable
from typing import Final

from orchestrator.machine import planted
from parsers.errors import UserError

MOST: Final = 20_000
INSTALL: Final = f"{sys.executable} -m pip install ClusterShell"
"""Not `pinsweep[cluster]`: that installs pandas and scipy, too, on a host that only measures."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")


def expand(text: str) -> tuple[str, ...]:
    """Return the hosts of a node set, each once, in its order. Raises UserError: nothing that no host can be called gets further."""
    if not _size_of(text) <= MOST:  # nor is it where a number is too large to tell
        raise _too_many(text)
    names = _by_clustershell(text)
    if names is None:
        names = _by_slurm(text)
    if names is None and "[" not in text and "@" not in text:
        names = [name for name in re.split(r"[,\s]+", text) if name]
    if names is None:
        raise UserError(
            "--nodes",
            f"{text!r} needs ClusterShell or Slurm to be read",
            f"{INSTALL}, or list the names: n1,n2,n3",
        )
    return checked(names)


def _too_many(text: str) -> UserError:
    return UserError("--nodes", f"{text!r} is more than {MOST} hosts", "name fewer hosts")


def _size_of(text: str) -> float:
    """Return how many hosts a node set names at most, before they are made; NaN for numbers that are too large. Pure."""
    parts = re.findall(r"(?:\[[^\[\]]*\]|[^,\s])+", text)
    return sum(math.prod(map(_size, re.findall(r"\[([^\[\]]*)\]", part))) for part in parts)


def _size(ranges: str) -> float:
    """Return how many numbers "1-9,20-30/2" stands for."""
    found = re.findall(r"(\d+)(?:-(\d+)(?:/(\d+))?)?", ranges)
    return sum(
        (float(end or first) - float(first)) // max(1.0, float(step or 1)) + 1 for first, end, step in found
    )


def checked(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of hosts, each once. Raises UserError for none, too many, and what is no name. Pure."""
    found = tuple(dict.fromkeys(names))
    if not found:
        raise UserError("--nodes", "no host", "for example --nodes 'n[001-200]'")
    if len(found) > MOST:
        raise _too_many(f"{found[0]},{found[1]},…")
    for name in found:
        if not _NAME.fullmatch(name):
            raise UserError(
                "--nodes", f"{name!r} is not the name of a host", "letters, digits, '-', '_' and '.'"
            )
    return found


def _by_clustershell(text: str) -> list[str] | None:
    try:
        from ClusterShell.NodeSet import NodeSet, NodeSetException
    except ImportError:
        return None
    try:
        found = NodeSet(text)
    except NodeSetException as error:
        raise UserError("--nodes", f"{text!r}: {error}", "for example 'n[001-200,207]' or '@rack3'") from None
    if len(found) > MOST:
        raise _too_many(text)
    return [str(name) for name in found]


def _by_slurm(text: str) -> list[str] | None:
    try:
        asked = [planted.which("scontrol") or "scontrol", "show", "hostnames", "--", text]
        found = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.split() if found.returncode == 0 else None
