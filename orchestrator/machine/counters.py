"""Read the machine's counters right before and right after a run, and compute the changes.

`Counters` opens the files once. A reading is one read() per file. `between` is pure, and `orchestrator.run.disturbance`
judges its result. A file that a machine does not have is a missing key.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple, Self

from orchestrator.machine import cgroups
from orchestrator.machine.kernel_files import parse_stat, read_bytes, read_word

TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")
"""Step of the times in /proc/stat and /proc/PID/stat."""

MAX_CORES: Final = 16
"""Maximum number of CPUs with a read of the core's throttle counter, which costs 2 µs each.

Package counters are all read.
"""

_SECTOR_BYTES: Final = 512  # in /proc/diskstats, for any device
_CPU_SENSORS: Final = ("coretemp", "k10temp", "zenpower", "cpu_thermal")
_VMSTAT: Final = re.compile(rb"^(pgmajfault|pswpin|pswpout) (\d+)$", re.MULTILINE)
_MAX_BYTES: Final = 1 << 20
_MAX_PACKAGE_W: Final = 1000.0
"""No package draws more: its energy counter has wrapped at most once in the time that its range lasts at this power."""


class Disk(NamedTuple):
    """A whole disk."""

    number: str  # "major:minor"
    name: str  # "nvme0n1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The counters at one moment: the files' texts, still to be read by `between`."""

    at_s: float  # monotonic clock
    own_s: float  # CPU time that pinsweep itself has used so far
    texts: Mapping[str, bytes]  # by what they are: "stat", "pressure/cpu", "throttle_core/3"


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuTime:
    """The time of one CPU by use, in seconds.

    `busy_s` is all time that was not idle, with interrupts and stolen time. Idle time is exact if the kernel stops the
    tick on idle CPUs (NO_HZ). The other fields are samples, one per kernel tick.
    """

    busy_s: float
    user_s: float  # and nice; guests are part of it
    irq_s: float  # and softirq
    steal_s: float

    @property
    def tasks_s(self) -> float:
        """Time of processes and kernel threads."""
        return max(0.0, self.busy_s - self.irq_s - self.steal_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Bytes between memory and a device, or bytes that a process requested."""

    read_bytes: int
    written_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The changes between two readings."""

    elapsed_s: float
    cpus: Mapping[int, CpuTime]
    own_s: float  # CPU time of pinsweep and its watchdog
    tool_s: float | None  # CPU time of all that the watchdog waited for, in ticks; None: not known
    tool_moved: Moved | None  # the same of block I/O
    disks: Mapping[str, Moved]  # by "major:minor"
    totals: Mapping[str, float] = field(default_factory=dict)
    """Increases, machine-wide unless said otherwise: `pgmajfault`, `pswpin`, `pswpout` (pages); `pressure_cpu_s`,
    `pressure_memory_s`, `pressure_io_s` (some task waited); `throttle_core`, `throttle_package` (thermal events of the
    run's CPUs and packages); `quota_hits` and `quota_s` (cgroups of this process); `memory_errors` (corrected, EDAC);
    `energy_j` (all packages; only if it is exact); `oom_kills` (processes of the innermost cgroup that the kernel
    killed for memory). And at the end: `frequency_hz` of the run's first CPU, `temperature_c` of the warmest package.
    """


# --- pure ---


def between(before: Reading, after: Reading, *, cpus: Iterable[int] = (), disks: Iterable[str] = ()) -> Changes:
    """Return the changes of these CPUs and disks, if both readings have them. Counters that decreased are omitted."""
    elapsed_s = after.at_s - before.at_s
    names = frozenset(b"cpu%d" % cpu for cpu in cpus)
    cpus_then, cpus_now = _cpu_lines(before.texts, names), _cpu_lines(after.texts, names)
    disks_then, disks_now = (_disks(reading.texts, frozenset(disks)) for reading in (before, after))
    moved = {name: _moved(disks_then[name], disks_now.get(name)) for name in disks_then}
    watchdog_s, tool_s = _watchdog_times(before.texts, after.texts)
    totals, totals_now = _totals(before.texts), _totals(after.texts)
    return Changes(
        elapsed_s=elapsed_s,
        cpus={cpu: _cpu_time(cpus_then[cpu], cpus_now[cpu], elapsed_s) for cpu in cpus_then.keys() & cpus_now.keys()},
        own_s=after.own_s - before.own_s + watchdog_s,
        tool_s=tool_s,
        tool_moved=_moved(_task_io(before.texts), _task_io(after.texts)),
        disks={name: change for name, change in moved.items() if change},
        totals={
            **{name: totals_now[name] - n for name, n in totals.items() if totals_now.get(name, -1.0) >= n},
            **_energy(before.texts, after.texts, elapsed_s),
            **_levels(after.texts),
        },
    )


def _cpu_lines(texts: Mapping[str, bytes], names: frozenset[bytes]) -> dict[int, list[int]]:
    """Return CPU → user, nice, system, idle, iowait, irq, softirq, steal, in ticks (proc(5))."""
    lines = texts.get("stat", b"").partition(b"\nintr")[0].split(b"\n")
    chosen = (line.split() for line in lines if line.partition(b" ")[0] in names)
    return {int(words[0][3:]): [int(word) for word in words[1:9]] for words in chosen if len(words) > 8}


def _cpu_time(then: Sequence[int], now: Sequence[int], elapsed_s: float) -> CpuTime:
    user, nice, _, idle, iowait, irq, softirq, steal = ((b - a) * TICK_S for a, b in zip(then, now, strict=True))
    return CpuTime(
        busy_s=max(0.0, elapsed_s - idle - iowait),
        user_s=max(0.0, user + nice),
        irq_s=max(0.0, irq + softirq),
        steal_s=max(0.0, steal),
    )


def _watchdog_times(then: Mapping[str, bytes], now: Mapping[str, bytes]) -> tuple[float, float | None]:
    """Return the CPU time of the watchdog and of its awaited processes. (0, None) if the watchdog is another process
    now.
    """
    times: list[list[float]] = []
    for text in (then.get("watchdog/stat", b""), now.get("watchdog/stat", b"")):
        fields = parse_stat(text)[1]
        if len(fields) < 15:
            return 0.0, None
        times.append([int(text.partition(b" ")[0]), *(int(ticks) * TICK_S for ticks in fields[11:15])])
    (pid, *before), (pid_now, *after) = times
    if pid != pid_now:
        return 0.0, None
    user, system, children_user, children_system = (b - a for a, b in zip(before, after, strict=True))
    return user + system, children_user + children_system


def _task_io(texts: Mapping[str, bytes]) -> Moved | None:
    counts = _named(texts.get("watchdog/io", b"").replace(b":", b""))
    if not {"read_bytes", "write_bytes"} <= counts.keys():
        return None
    return Moved(read_bytes=int(counts["read_bytes"]), written_bytes=int(counts["write_bytes"]))


def _moved(then: Moved | None, now: Moved | None) -> Moved | None:
    if then is None or now is None:
        return None
    read, written = now.read_bytes - then.read_bytes, now.written_bytes - then.written_bytes
    return Moved(read_bytes=read, written_bytes=written) if min(read, written) >= 0 else None


def _disks(texts: Mapping[str, bytes], names: frozenset[str]) -> dict[str, Moved]:
    disks: dict[str, Moved] = {}
    for line in texts.get("diskstats", b"").splitlines() if names else ():
        fields = line.split(maxsplit=10)
        if len(fields) > 9 and (name := f"{int(fields[0])}:{int(fields[1])}") in names:
            read, written = (int(sectors) * _SECTOR_BYTES for sectors in (fields[5], fields[9]))
            disks[name] = Moved(read_bytes=read, written_bytes=written)
    return disks


def _totals(texts: Mapping[str, bytes]) -> dict[str, float]:
    """Return the counters that only increase, summed over their files."""
    totals: defaultdict[str, float] = defaultdict(float)
    for key, text in texts.items():
        kind, _, part = key.partition("/")
        match kind:
            case "vmstat":
                totals.update((name.decode(), float(pages)) for name, pages in _VMSTAT.findall(text))
            case "pressure" if match := re.match(rb"some .* total=(\d+)", text):
                totals[f"pressure_{part}_s"] = int(match[1]) / 1e6
            case "throttle_core" | "throttle_package" | "memory_errors":
                totals[kind] += _number(text)
            case "oom" if "oom_kill" in (counts := _named(text)):
                totals["oom_kills"] = counts["oom_kill"]
            case "quota":
                counts = _named(text)
                totals["quota_hits"] += counts.get("nr_throttled", 0.0)
                nanoseconds = counts.get("throttled_time", 0.0)  # version 1
                totals["quota_s"] += counts.get("throttled_usec", nanoseconds / 1e3) / 1e6
    return totals


def _energy(then: Mapping[str, bytes], now: Mapping[str, bytes], elapsed_s: float) -> dict[str, float]:
    """Return the energy of all packages; nothing if a counter is missing or may have wrapped more than once."""
    total_j = 0.0
    packages = [name for name in then if name.startswith("energy/")]
    for name in packages:
        range_j = _number(then.get(f"energy_range/{name.partition('/')[2]}", b"")) / 1e6
        if name not in now or range_j <= elapsed_s * _MAX_PACKAGE_W:
            return {}
        total_j += (_number(now[name]) - _number(then[name])) / 1e6 % range_j
    return {"energy_j": total_j} if packages else {}


def _levels(texts: Mapping[str, bytes]) -> dict[str, float]:
    """Return what goes up and down."""
    files = {"temperature_c": ("temperature/", 1e-3), "frequency_hz": ("frequency/", 1e3)}  # m°C, kHz
    values = {
        name: [_number(text) * scale for key, text in texts.items() if key.startswith(prefix)]
        for name, (prefix, scale) in files.items()
    }
    return {name: max(numbers) for name, numbers in values.items() if numbers}


def _named(text: bytes) -> dict[str, float]:
    """Read lines of a name and a number."""
    words = (line.split() for line in text.splitlines())
    return {w[0].decode("ascii", "replace"): float(w[1]) for w in words if len(w) == 2 and w[1].isdigit()}


def _number(text: bytes) -> float:
    """Return the single number in a file, or 0 for other content."""
    try:
        return float(text)
    except ValueError:
        return 0.0


# --- I/O ---


class Counters(contextlib.AbstractContextManager["Counters"]):
    """The counters of this machine, or of a copied file tree from another machine."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        # one for all: a new one would be most of a read's cost
        self._buffer = memoryview(bytearray(_MAX_BYTES))
        self._files: dict[str, int] = {}  # counter → descriptor
        self._cpu_files: dict[tuple[int, ...], tuple[str, ...]] = {}
        self._machine_wide = self._open(self._everywhere())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files.clear()

    def read(self, cpus: Sequence[int] = (), watchdog: int = 0) -> Reading:
        """Read all counters once. `cpus` are the run's, sorted. `watchdog` is the process that starts the run and
        waits.
        """
        if (key := tuple(cpus)) not in self._cpu_files:
            self._cpu_files[key] = self._open(self._per_cpu(key))
        texts = {}
        if watchdog:
            for name in ("stat", "io"):
                texts[f"watchdog/{name}"] = read_bytes(f"{self._root}/proc/{watchdog}/{name}", 1 << 12)
        at_s, own_s = time.monotonic(), time.process_time()
        for name in (*self._machine_wide, *self._cpu_files[key]):
            with contextlib.suppress(OSError):  # a device or a cgroup that was removed
                texts[name] = bytes(self._buffer[: os.preadv(self._files[name], [self._buffer], 0)])
        return Reading(at_s=at_s, own_s=own_s, texts=texts)

    def disk_of(self, path: str) -> Disk | None:
        """Return the whole disk of a file or a device. None if there is no disk (tmpfs, NFS)."""
        try:
            status = Path(path).stat()
        except OSError:
            return None
        number = status.st_rdev if stat.S_ISBLK(status.st_mode) else status.st_dev
        name = f"{os.major(number)}:{os.minor(number)}"
        folder = (self._root / "sys/dev/block" / name).resolve()
        if (folder / "partition").exists():
            return Disk(read_word(folder.parent / "dev"), folder.parent.name)
        return Disk(name, folder.name) if folder.exists() else None

    def _everywhere(self) -> Iterator[tuple[str, Path]]:
        """Yield the name and file of each counter that is not per CPU. `stat` is first. A file may be missing."""
        proc, sys = self._root / "proc", self._root / "sys"
        for name in ("stat", "vmstat", "diskstats", "pressure/cpu", "pressure/memory", "pressure/io"):
            yield name, proc / name
        for path in sorted((sys / "devices/system/edac/mc").glob("mc[0-9]*/ce_count")):
            yield f"memory_errors/{path.parent.name}", path
        for folder in sorted((sys / "class/powercap").glob("intel-rapl:[0-9]*")):
            if read_word(folder / "name").startswith("package"):  # else a part of it, or psys, which holds it
                yield f"energy/{folder.name}", folder / "energy_uj"
                yield f"energy_range/{folder.name}", folder / "max_energy_range_uj"
        for path in sorted((sys / "class/hwmon").glob("hwmon*/name")):
            if read_word(path) in _CPU_SENSORS:
                yield f"temperature/{path.parent.name}", path.parent / "temp1_input"
        for number, folder in enumerate(cgroups.folders("cpu", sys, proc)):
            yield f"quota/{number}", folder / "cpu.stat"
        for folder in cgroups.folders("memory", sys, proc):  # the innermost counts: others hold more processes
            for path in (folder / "memory.events", folder / "memory.oom_control"):
                yield "oom", path

    def _per_cpu(self, cpus: Sequence[int]) -> Iterator[tuple[str, Path]]:
        folder = self._root / "sys/devices/system/cpu"
        packages = {read_word(folder / f"cpu{cpu}/topology/physical_package_id"): cpu for cpu in reversed(cpus)}
        for package, cpu in sorted(packages.items()):
            path = folder / f"cpu{cpu}/thermal_throttle/package_throttle_count"
            yield f"throttle_package/{package or cpu}", path
        for cpu in cpus[:: max(1, len(cpus) // MAX_CORES)][:MAX_CORES]:
            yield f"throttle_core/{cpu}", folder / f"cpu{cpu}/thermal_throttle/core_throttle_count"
        for cpu in cpus[:1]:
            yield f"frequency/{cpu}", folder / f"cpu{cpu}/cpufreq/scaling_cur_freq"

    def _open(self, files: Iterable[tuple[str, Path]]) -> tuple[str, ...]:
        """Open the files that exist and that this user may read, and return their names."""
        names: dict[str, None] = {}
        for name, path in files:
            with contextlib.suppress(OSError):
                if name not in self._files:
                    self._files[name] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                names[name] = None
        return tuple(names)
