"""What pinsweep and its watchdog do while a tool runs: CPU time, wake-ups, memory, bytes written, files opened. From /proc.

Counted from the proof of the placement to shortly before the tool's end; of the two processes' own threads, not of the tool.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from turns import Failed

SETTLE_S = 3.0
"""After the start: the looks at where the tool runs are over by then."""

BEFORE_END_S = 2.0

_OPENS = ("open", "openat", "openat2", "creat")


@dataclass(frozen=True, kw_only=True)
class OwnCost:
    """A second of waiting, and all of it."""

    seconds: float
    cpu_ms_per_s: float
    switches_per_s: float  # voluntary: how often one of them woke and slept again
    rss_mib: float  # of pinsweep itself, the larger of the two
    written_bytes: int  # by any write(2), wherever it leads
    opened: int | None  # files; None: there is no strace, or it may not look


def own_cost(argv: Sequence[str], tool_s: float) -> OwnCost:
    """Start pinsweep with a tool that takes so many seconds, more than SETTLE_S + BEFORE_END_S; watch it meanwhile."""
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        both = (process.pid, _watchdog_with_a_tool(process))
        time.sleep(SETTLE_S)
        watched_s = tool_s - SETTLE_S - BEFORE_END_S
        begun = _own(*both)
        started = time.monotonic()
        time.sleep(watched_s / 2)
        ended, seconds = _own(*both), time.monotonic() - started
        rss_kib = max(_number(pid, "status", "VmRSS") for pid in both)
        opened = _opened(both, watched_s / 2)
        if process.poll() is not None:
            raise Failed("the tool ended before it was watched to the end")
    finally:
        process.terminate()
        process.wait()
    return OwnCost(
        seconds=seconds,
        cpu_ms_per_s=(ended[0] - begun[0]) / seconds,
        switches_per_s=(ended[1] - begun[1]) / seconds,
        rss_mib=rss_kib / 1024,
        written_bytes=ended[2] - begun[2],
        opened=opened,
    )


def _watchdog_with_a_tool(process: subprocess.Popen[bytes]) -> int:
    """Wait until pinsweep's child, the watchdog, has a child of its own."""
    deadline = time.monotonic() + 60
    while True:
        for watchdog in _children(process.pid):
            if _children(watchdog):
                return watchdog
        if time.monotonic() > deadline or process.poll() is not None:
            raise Failed("pinsweep started no tool")
        time.sleep(0.02)


def _own(*pids: int) -> tuple[float, int, int]:
    """Return (CPU milliseconds, voluntary switches, bytes written) of the threads of these processes."""
    cpu_ns = switches = 0
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").iterdir():
            cpu_ns += int((task / "schedstat").read_text().split()[0])
            switches += _number(pid, f"task/{task.name}/status", "voluntary_ctxt_switches")
    return cpu_ns / 1e6, switches, sum(_number(pid, "io", "wchar") for pid in pids)


def _number(pid: int, file: str, key: str) -> int:
    found = re.search(rf"^{key}:\s+(\d+)", Path(f"/proc/{pid}/{file}").read_text(), re.MULTILINE)
    return int(found[1]) if found else 0


def _children(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:  # it ended meanwhile
        return []


def _opened(pids: Sequence[int], seconds: float) -> int | None:
    """Let strace look for so long, and count the files that were opened."""
    strace = shutil.which("strace")
    if not strace:
        time.sleep(seconds)
        return None
    words = [
        strace,
        "-f",
        "-q",
        "-e",
        f"trace={','.join(_OPENS)}",
        *(word for pid in pids for word in ("-p", str(pid))),
    ]
    watching = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(seconds)
    watching.terminate()
    said = watching.communicate()[1]
    if "Operation not permitted" in said:
        return None
    lines = [line.rpartition("] ")[2] for line in said.splitlines()]
    return sum(line.startswith(tuple(f"{name}(" for name in _OPENS)) for line in lines)
