"""The control groups of this process, and what they allow: memory and CPU time. I/O.

A limit of a group holds for all groups below it. `sys` and `proc` are where /sys and /proc are.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from parsers.units import size_text

SYS: Final = Path("/sys")
PROC: Final = Path("/proc")

NO_LIMIT: Final = 1 << 60
"""Version 1 has a limit of nearly 2^63 bytes where there is none."""


class Memory(NamedTuple):
    """What the cgroups allow, in bytes."""

    limit: int  # the smallest of all groups
    left: int  # the least that a group can still give; page cache that was not used lately gives way


def folders(controller: str, sys: Path = SYS, proc: Path = PROC) -> Iterator[Path]:
    """Yield the folders of the groups of this process, its own first and then all above.

    Version 2, else the controller of version 1. In a container the path in /proc/self/cgroup may be the host's: then
    what is mounted is the container's own.
    """
    mounted = sys / "fs/cgroup"
    for line in _text(proc / "self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            top = mounted
        elif controller in controllers.split(","):
            names = (name for name in (controllers, controller) if (mounted / name).is_dir())
            top = mounted / next(names, "")
        else:
            continue
        own = top / path.lstrip("/")
        for folder in (own, *own.parents) if own.is_dir() else (top,):
            yield folder
            if folder == top:
                break


def memory(sys: Path = SYS, proc: Path = PROC) -> Memory | None:
    """Return what the cgroups of this process allow; None if there is no limit."""
    found = []
    for folder in folders("memory", sys, proc):
        limit = _number(folder / "memory.max") or _number(folder / "memory.limit_in_bytes")
        if limit is None or limit >= NO_LIMIT:
            continue
        usage = _number(folder / "memory.current") or _number(folder / "memory.usage_in_bytes") or 0
        stat = dict(line.split(" ", 1) for line in _text(folder / "memory.stat").splitlines() if " " in line)
        cache = int(stat.get("total_inactive_file") or stat.get("inactive_file") or 0)
        found.append(Memory(limit, max(0, limit - max(0, usage - cache))))
    return Memory(*map(min, *found)) if len(found) > 1 else found[0] if found else None


def cpus(sys: Path = SYS, proc: Path = PROC) -> float | None:
    """Return how many CPUs' time the cgroups of this process may use; None if there is no quota."""
    found = []
    for folder in folders("cpu", sys, proc):
        words = _text(folder / "cpu.max").split() or [
            _text(folder / "cpu.cfs_quota_us"),
            _text(folder / "cpu.cfs_period_us"),
        ]
        if all(word.isdigit() for word in words):  # else "max", or -1
            found.append(int(words[0]) / int(words[1]))
    return min(found, default=None)


def limits(memory_bytes: int | None, count: int | None, sys: Path = SYS, proc: Path = PROC) -> str | None:
    """Return "memory 200 MiB, CPU time of 0.5 CPUs" of a machine with so much memory and so many CPUs; None if nothing is limited."""
    allowed, quota = memory(sys, proc), cpus(sys, proc)
    parts = []
    if allowed and allowed.limit < (memory_bytes or NO_LIMIT):
        parts.append(f"memory {size_text(allowed.limit)}")
    if quota is not None and quota < (count or NO_LIMIT):
        parts.append(f"CPU time of {quota:.3g} CPUs")
    return ", ".join(parts) or None


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text.isdigit() else None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
