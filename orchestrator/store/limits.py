"""Set kernel limits for commands that read files of strangers. I/O: limits of this process.

The limits are the memory of the process and the CPU time per file. Do not start a program within `limited`, because it
would inherit the limits. The functions have no effect outside `limited`.
"""

from __future__ import annotations

import math
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from parsers.errors import PinsweepError, UserError
from parsers.units import size_bytes, size_text

MEMORY_BYTES: Final = 1 << 30
"""Memory beyond the use at the start. A report of 100 000 runs takes half of it."""
BYTES_PER_BYTE: Final = 4
"""Additional memory per byte of a file. 1000 files of a fleet, 0.6 GB together, take 1 GB."""
READ_S: Final = 8
"""CPU time to read a file, from its opening to its closing."""
SECONDS_PER_MB: Final = 20
"""Additional CPU time. Parsing outputs again takes 3 s per MB of the file."""
REST_S: Final = 60
"""CPU time for the results of all files. A small page takes 3 s, and a page of 100 000 runs takes a minute."""
STACKS_PER_CPU: Final = 4
"""Numerical libraries and the drawing start threads for each CPU, and their stacks count as memory."""


class Limits:
    """The limits of one command."""

    def __init__(self) -> None:
        self._memory_bytes = _asked("PINSWEEP_READ_MEMORY", size_bytes)
        self._cpu_s = _asked("PINSWEEP_READ_CPU", int)
        self._data = resource.getrlimit(resource.RLIMIT_DATA)
        self._cpu = resource.getrlimit(resource.RLIMIT_CPU)
        self._base_bytes = data_bytes() + STACKS_PER_CPU * _stack_bytes() * (os.cpu_count() or 1)
        self._sizes: dict[str, int] = {}  # file → bytes
        self._reading = ""  # the file that is open
        self._granted_s = 0
        self.hit: PinsweepError | None = None
        self._handler = signal.signal(signal.SIGXCPU, self._exceed)
        self._allow(REST_S)

    def end(self) -> None:
        resource.setrlimit(resource.RLIMIT_DATA, self._data)
        resource.setrlimit(resource.RLIMIT_CPU, self._cpu)
        signal.signal(signal.SIGXCPU, self._handler)

    def open(self, path: Path) -> None:
        self._reading = str(path)
        self._sizes[self._reading] = size = path.stat().st_size
        self._allow(READ_S + SECONDS_PER_MB * size / 1e6)

    def close(self, path: Path) -> None:
        if self._reading != str(path):
            return
        self._reading = ""
        self._allow(REST_S + SECONDS_PER_MB * sum(self._sizes.values()) / 1e6)

    def memory_error(self) -> PinsweepError:
        """Return what to say of a MemoryError."""
        most = self._most_bytes()
        hint = f"PINSWEEP_READ_MEMORY={max(1, round(2 * most / (1 << 30)))}G raises the limit"
        return PinsweepError(self._place(), f"reading takes more than {size_text(most)} of memory", hint)

    def _exceed(self, _number: int, _frame: FrameType | None) -> None:
        what = f"reading takes more than {self._granted_s} s of CPU time"
        hint = f"PINSWEEP_READ_CPU={10 * self._granted_s} raises the limit"
        self.hit = PinsweepError(self._place(), what, hint)
        raise self.hit

    def _place(self) -> str:
        return self._reading or ", ".join([*self._sizes][:3])

    def _most_bytes(self) -> int:
        return self._memory_bytes or MEMORY_BYTES + BYTES_PER_BYTE * sum(self._sizes.values())

    def _allow(self, cpu_s: float) -> None:
        self.hit = None
        self._granted_s = self._cpu_s or math.ceil(cpu_s)
        _lower(resource.RLIMIT_DATA, self._data, self._base_bytes + self._most_bytes())
        _lower(resource.RLIMIT_CPU, self._cpu, math.ceil(time.process_time()) + self._granted_s)


_active: Limits | None = None
_last: Limits | None = None


@contextmanager
def limited() -> Iterator[None]:
    """Limit memory and CPU time of the block. A nested `limited` keeps the outer limits.

    Raises PinsweepError if the CPU time is used up, and UserError for an invalid limit in the environment.
    """
    global _active, _last
    if _active is not None:
        yield
        return
    _active = _last = Limits()
    try:
        yield
    finally:
        lift()


def lift() -> None:
    """End the limits before a program is started."""
    global _active
    if _active is not None:
        _active.end()
        _active = None


def opened(path: Path) -> None:
    """Allow for a file that is read from now on."""
    if _active is not None:
        _active.open(path)


def closed(path: Path) -> None:
    """Set the limits for work on the results, after a file was read."""
    if _active is not None:
        _active.close(path)


def check() -> None:
    """Raise the PinsweepError of a limit that was hit and that SQLite kept to itself."""
    if _active is not None and _active.hit is not None:
        raise _active.hit


def memory_error() -> PinsweepError:
    """Return what to say of a MemoryError."""
    if _last is None:
        hint = "raise the memory limit (ulimit -v, cgroup), or name fewer files"
        return PinsweepError("", "not enough memory", hint)
    return _last.memory_error()


def has_room(size: int) -> bool:
    """Return whether the memory limit has room for this number of bytes."""
    soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
    return soft == resource.RLIM_INFINITY or soft - data_bytes() > size


def data_bytes() -> int:
    """Return what RLIMIT_DATA counts of this process: VmData of /proc/self/status, in kB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmData:"))


def _stack_bytes() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_STACK)
    return 8 << 20 if soft == resource.RLIM_INFINITY else soft


def _lower(which: int, before: tuple[int, int], value: int) -> None:
    finite = [limit for limit in (value, *before) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(which, (min(finite), before[1]))


def _asked(name: str, read: Callable[[str], int]) -> int | None:
    text = os.environ.get(name, "")
    try:
        value = read(text) if text else None
    except ValueError:
        value = 0
    if value is not None and value <= 0:
        raise UserError(
            name, f"{text!r} is not a limit", f"{name}={'2G' if read is size_bytes else '600'}, for example"
        )
    return value
