"""List the processes that use the CPUs now: read /proc at two times and compare CPU times. I/O, except `between`.

All of /proc is read (about 15 µs per process). Use it before the first run, never while a tool is measured.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.machine.kernel_files import list_numbers, parse_stat, read_bytes, read_stat

PROC: Final = Path("/proc")
TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")

MIN_SHARE: Final = 0.1
"""The smallest share of a CPU that is reported."""

MIN_TICKS: Final = 2
"""The kernel counts in ticks of 10 ms: a single tick says little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """A process that uses CPU time."""

    pid: int
    name: str  # the kernel's: 15 bytes, and any characters that the process put there
    share: float  # 1 is one CPU; sum over threads
    cpus: frozenset[int]  # last CPU of its running threads


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A line of /proc/PID/stat."""

    name: str
    state: str  # "R": running, or waiting for a CPU
    started: int  # ticks after boot: a pid is used again
    ticks: int  # CPU time of all its threads
    threads: int
    cpu: int  # last CPU of its first thread


def busy_now(proc: Path = PROC, *, wait_s: float, spare: Collection[int] = ()) -> tuple[Busy, ...]:
    """Return all processes that use CPUs within `wait_s`, highest CPU use first."""
    return _measure(snapshot(proc, list_numbers(str(proc))), proc, wait_s, spare)


def glance(proc: Path = PROC, *, wait_s: float, spare: Collection[int] = ()) -> tuple[Busy, ...]:
    """Return the same at less cost: only processes that run at the first look; at once () if this is the only one."""
    if running(proc) <= 1:
        return ()
    before = snapshot(proc, list_numbers(str(proc)))
    active = {pid: seen for pid, seen in before.items() if seen.state == "R" and pid not in spare}
    return _measure(active, proc, wait_s, spare) if active else ()


def _measure(before: Mapping[int, Seen], proc: Path, wait_s: float, spare: Collection[int]) -> tuple[Busy, ...]:
    begin = time.monotonic()
    time.sleep(wait_s)
    changes = between(before, snapshot(proc, before), time.monotonic() - begin)
    return tuple(
        Busy(pid=pid, name=seen.name, share=share, cpus=_cpus(proc, pid) or frozenset({seen.cpu}))
        for pid, seen, share in changes
        if pid not in spare
    )


def between(before: Mapping[int, Seen], after: Mapping[int, Seen], elapsed_s: float) -> list[tuple[int, Seen, float]]:
    """Return (pid, the later line, share of a CPU) of the processes to report, the busiest first. Pure."""
    processes = []
    for pid, seen in after.items():
        earlier = before.get(pid)
        if earlier is None or earlier.started != seen.started or seen.ticks - earlier.ticks < MIN_TICKS:
            continue
        share = min((seen.ticks - earlier.ticks) / TICKS_PER_S / elapsed_s, float(seen.threads))
        if share >= MIN_SHARE:
            processes.append((pid, seen, share))
    return sorted(processes, key=lambda item: -item[2])


def snapshot(proc: Path, pids: Iterable[int]) -> dict[int, Seen]:
    """Return the stat lines of some processes; processes that have ended are left out."""
    lines = ((pid, _seen(*read_stat(pid, str(proc)))) for pid in pids)
    return {pid: seen for pid, seen in lines if seen}


def running(proc: Path = PROC) -> int:
    """Return how many threads run or wait for a CPU now, with the caller's; 0 if the kernel does not say."""
    words = read_bytes(f"{proc}/loadavg").split()
    count = words[3].partition(b"/")[0] if len(words) > 3 else b""
    return int(count) if count.isdigit() else 0


def is_running(name: str, proc: Path = PROC) -> bool:
    """Return whether there is a process of that name."""
    return any(read_stat(pid, str(proc))[0] == name for pid in list_numbers(str(proc)))


def _cpus(proc: Path, pid: int) -> frozenset[int]:
    """Return where the running threads of a process are."""
    folder = f"{proc}/{pid}/task"
    threads = (_seen(*parse_stat(read_bytes(f"{folder}/{thread}/stat"))) for thread in list_numbers(folder))
    return frozenset(thread.cpu for thread in threads if thread and thread.state == "R")


def _seen(name: str, fields: list[str]) -> Seen | None:
    if len(fields) < 37:
        return None
    return Seen(
        name=name,
        state=fields[0],
        started=int(fields[19]),
        ticks=int(fields[11]) + int(fields[12]),
        threads=int(fields[17]),
        cpu=int(fields[36]),
    )
