"""Read the control groups of this process, and their limits of memory and CPU time. I/O.

A limit of a group holds for all groups below it. `sys` and `proc` are the folders to read instead of /sys and /proc.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from orchestrator.machine.kernel_files import read_word
from parsers.units import size_text

SYS: Final = Path("/sys")
PROC: Final = Path("/proc")

NO_LIMIT: Final = 1 << 60
"""Version 1 has a limit of nearly 2^63 bytes where there is none."""


class Memory(NamedTuple):
    """The memory limits of the cgroups, in bytes."""

    limit: int  # the smallest of all groups
    left: int  # the least that a group can still give; page cache that was not used lately counts as free


def folders(controller: str, sys: Path = SYS, proc: Path = PROC) -> Iterator[Path]:
    """Yield the folders of the groups of this process, the innermost first.

    Version 2, else the controller of version 1. In a container the path in /proc/self/cgroup may be the host's: then
    the mounted folder is the container's.
    """
    for line in read_word(proc / "self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        top = sys / "fs/cgroup"
        if controllers:
            top /= next((name for name in (controllers, controller) if (top / name).is_dir()), "")
        group = top / path.lstrip("/")
        for folder in (group, *group.parents) if group.is_dir() else (top,):
            yield folder
            if folder == top:
                break


def memory(sys: Path = SYS, proc: Path = PROC) -> Memory | None:
    """Return the memory limits of this process's cgroups, or None without a limit."""
    limits = []
    for folder in folders("memory", sys, proc):
        limit = _number(folder / "memory.max") or _number(folder / "memory.limit_in_bytes")
        if limit is None or limit >= NO_LIMIT:
            continue
        usage = _number(folder / "memory.current") or _number(folder / "memory.usage_in_bytes") or 0
        lines = (line.split(" ", 1) for line in read_word(folder / "memory.stat").splitlines())
        stat = {name: int(value) for name, value in lines}
        cache = stat.get("total_inactive_file") or stat.get("inactive_file") or 0
        limits.append(Memory(limit, max(0, limit - max(0, usage - cache))))
    return Memory(min(m.limit for m in limits), min(m.left for m in limits)) if limits else None


def cpus(sys: Path = SYS, proc: Path = PROC) -> float | None:
    """Return the CPU quota of this process's cgroups, in CPUs, or None without a quota."""
    quotas = []
    for folder in folders("cpu", sys, proc):
        words = read_word(folder / "cpu.max").split() or [
            read_word(folder / "cpu.cfs_quota_us"),
            read_word(folder / "cpu.cfs_period_us"),
        ]
        if all(word.isdigit() for word in words):  # else "max", or -1
            quotas.append(int(words[0]) / int(words[1]))
    return min(quotas, default=None)


def limits(memory_bytes: int | None, count: int | None, sys: Path = SYS, proc: Path = PROC) -> str | None:
    """Return "memory 200 MiB, CPU time of 0.5 CPUs" for a machine of this size, or None without a limit."""
    allowed, quota = memory(sys, proc), cpus(sys, proc)
    parts = []
    if allowed and allowed.limit < (memory_bytes or NO_LIMIT):
        parts.append(f"memory {size_text(allowed.limit)}")
    if quota is not None and quota < (count or NO_LIMIT):
        parts.append(f"CPU time of {quota:.3g} CPUs")
    return ", ".join(parts) or None


def _number(path: Path) -> int | None:
    text = read_word(path)
    return int(text) if text.isdigit() else None
