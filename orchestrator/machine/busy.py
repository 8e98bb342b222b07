"""Which processes use the CPUs at this moment, by name: /proc read twice, and what they used between. I/O but for `between`.

All of /proc is read (some 15 µs a process), so this is for before the first run, never while a tool is measured.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")

WORTH_NAMING: Final = 0.1
"""Share of a CPU."""

FEWEST_TICKS: Final = 2
"""The kernel counts in ticks of 10 ms: one of them says little."""

_MOST_STAT_BYTES: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """A process that uses CPU time."""

    pid: int
    name: str  # as the kernel has it: 15 bytes, and whatever signs the process put there
    share: float  # of one CPU; of several threads their sum
    cpus: frozenset[int]  # where its running threads were when it was seen last


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A line of /proc/PID/stat."""

    name: str
    state: str  # "R": running, or waiting for a CPU
    started: int  # ticks after boot: a pid is used again
    ticks: int  # CPU time of all its threads
    threads: int
    cpu: int  # where its first thread ran last


def busy_now(proc: Path = PROC, *, wait_s: float, spare: Collection[int] = ()) -> tuple[Busy, ...]:
    """Return the processes that use CPUs, the busiest first: all are looked at, and again after `wait_s`."""
    before, begun = snapshot(proc, _pids(proc)), time.monotonic()
    time.sleep(wait_s)
    return _named(before, snapshot(proc, before), time.monotonic() - begun, proc, spare)


def glance(proc: Path = PROC, *, wait_s: float, spare: Collection[int] = ()) -> tuple[Busy, ...]:
    """Return the same at less cost, as far as a glance shows it: only those that run in the first look are looked at again, and
    none at all if the kernel counts nobody but this process as running."""
    if running(proc) <= 1:
        return ()
    before, begun = snapshot(proc, _pids(proc)), time.monotonic()
    before = {pid: seen for pid, seen in before.items() if seen.state == "R" and pid not in spare}
    if not before:
        return ()
    time.sleep(wait_s)
    return _named(before, snapshot(proc, before), time.monotonic() - begun, proc, spare)


def between(
    before: Mapping[int, Seen], after: Mapping[int, Seen], elapsed_s: float
) -> list[tuple[int, Seen, float]]:
    """Return (pid, as it was last seen, share of a CPU) of those that are worth naming, the busiest first. Pure."""
    found = []
    for pid, seen in after.items():
        then = before.get(pid)
        if then is None or then.started != seen.started or seen.ticks - then.ticks < FEWEST_TICKS:
            continue
        share = min((seen.ticks - then.ticks) / TICKS_PER_S / elapsed_s, float(seen.threads))
        if share >= WORTH_NAMING:
            found.append((pid, seen, share))
    return sorted(found, key=lambda item: -item[2])


def snapshot(proc: Path, pids: Iterable[int]) -> dict[int, Seen]:
    """Return what /proc says of some processes; those that have ended are left out."""
    found = {pid: _stat(f"{proc}/{pid}/stat") for pid in pids}
    return {pid: seen for pid, seen in found.items() if seen}


def running(proc: Path = PROC) -> int:
    """Return how many threads run or wait for a CPU at this moment, the caller included; 0 if the kernel does not say."""
    try:
        words = (proc / "loadavg").read_text("ascii").split()
        return int(words[3].partition("/")[0])
    except (OSError, ValueError, IndexError):
        return 0


def is_running(name: str, proc: Path = PROC) -> bool:
    """Tell whether there is a process of that name."""
    return any(seen.name == name for seen in snapshot(proc, _pids(proc)).values())


def _named(
    before: Mapping[int, Seen],
    after: Mapping[int, Seen],
    elapsed_s: float,
    proc: Path,
    spare: Collection[int],
) -> tuple[Busy, ...]:
    return tuple(
        Busy(pid=pid, name=seen.name, share=share, cpus=_cpus(proc, pid) or frozenset({seen.cpu}))
        for pid, seen, share in between(before, after, elapsed_s)
        if pid not in spare
    )


def _cpus(proc: Path, pid: int) -> frozenset[int]:
    """Return where the running threads of a process are."""
    try:
        threads = os.listdir(f"{proc}/{pid}/task")  # noqa: PTH208 (numbers, not paths)
    except OSError:
        return frozenset()
    seen = (_stat(f"{proc}/{pid}/task/{thread}/stat") for thread in threads)
    return frozenset(thread.cpu for thread in seen if thread and thread.state == "R")


def _pids(proc: Path) -> list[int]:
    return [int(name) for name in os.listdir(proc) if name.isdigit()]  # noqa: PTH208 (numbers, not paths)


def _stat(path: str) -> Seen | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            text = os.read(descriptor, _MOST_STAT_BYTES)
        finally:
            os.close(descriptor)
    except OSError:  # it has ended
        return None
    head, _, rest = text.rpartition(b")")  # the name may hold blanks and brackets
    fields = rest.split()
    if len(fields) < 37:
        return None
    return Seen(
        name=head.partition(b"(")[2].decode(errors="replace"),
        state=fields[0].decode(),
        started=int(fields[19]),
        ticks=int(fields[11]) + int(fields[12]),
        threads=int(fields[17]),
        cpu=int(fields[36]),
    )
