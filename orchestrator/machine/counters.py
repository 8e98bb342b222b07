"""What the machine's own counters say of the time between two readings: one right before a run, one right after it.

`Counters` finds out once which files there are and keeps them open: a reading is one read() of each, and decides nothing.
`between` is pure; `orchestrator.run.disturbance` judges what it returns. A file that a machine does not have is a key
that is not there.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from orchestrator.machine import cgroups

TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")
"""Step of the times in /proc/stat and /proc/PID/stat."""

MOST_CORES: Final = 16
"""Of how many CPUs of a run the throttle counter of the core is read: each read costs 2 µs. Packages are read all."""

_SECTOR_BYTES: Final = 512  # in /proc/diskstats, whatever the device has
_CPU_SENSORS: Final = ("coretemp", "k10temp", "zenpower", "cpu_thermal")
_VMSTAT: Final = re.compile(rb"^(pgmajfault|pswpin|pswpout) (\d+)$", re.MULTILINE)
_PRESSURES: Final = ("cpu", "memory", "io")
_MOST_BYTES: Final = 1 << 20
_MAX_PACKAGE_W: Final = 1000.0
"""No package draws more: its energy counter has not wrapped twice before its range at this power is over."""


class Disk(NamedTuple):
    """A whole disk."""

    number: str  # "major:minor"
    name: str  # "nvme0n1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The counters at one moment: the files' texts, still to be read by `between`."""

    at_s: float  # monotonic clock
    own_s: float  # CPU time that pinsweep itself has used so far
    texts: Mapping[str, bytes]  # by what they are: "stat", "pressure/cpu", "throttle/core/3"


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuTime:
    """What one CPU did, in seconds.

    `busy_s` is all that was not idle, interrupts and stolen time included. The kernel counts idle time exactly where it
    stops the tick on idle CPUs (NO_HZ); the other fields are samples, one a tick of the kernel.
    """

    busy_s: float
    user_s: float  # and nice; guests are part of it
    irq_s: float  # and softirq
    steal_s: float

    @property
    def tasks_s(self) -> float:
        """Time that processes and kernel threads had it."""
        return max(0.0, self.busy_s - self.irq_s - self.steal_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Bytes between memory and a device, or those that a process asked for."""

    read_bytes: int
    written_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What happened between two readings."""

    elapsed_s: float
    cpus: Mapping[int, CpuTime]
    own_s: float  # CPU time of pinsweep and its watchdog
    tool_s: float | None  # CPU time of all that the watchdog waited for, in ticks; None: not known
    tool_moved: Moved | None  # the same of block I/O
    disks: Mapping[str, Moved]  # by "major:minor"
    totals: Mapping[str, float] = field(default_factory=dict)
    """Increases, machine-wide unless said otherwise: `pgmajfault`, `pswpin`, `pswpout` (pages); `pressure_cpu_s`, `pressure_memory_s`,
    `pressure_io_s` (some task waited); `throttle_core`, `throttle_package` (thermal events of the run's CPUs and packages);
    `quota_hits` and `quota_s` (own cgroups); `memory_errors` (corrected, EDAC); `energy_j` (all packages; only if it is exact); `oom_kills` (processes of the own
    cgroup that the kernel killed for memory). And as they were at the end:
    `frequency_hz` of the run's first CPU, `temperature_c` of the warmest package."""


# --- pure ---


def between(
    before: Reading, after: Reading, *, cpus: Iterable[int] = (), disks: Iterable[str] = ()
) -> Changes:
    """Return what changed, of these CPUs and disks if both readings have them; counters that ran backwards are left out."""
    elapsed_s = after.at_s - before.at_s
    wanted = frozenset(b"cpu%d" % cpu for cpu in cpus)
    then, now = _cpu_lines(before, wanted), _cpu_lines(after, wanted)
    watchdog_s, tool_s = _watchdog_times(before, after)
    totals = _increases(_totals(before.texts), _totals(after.texts))
    return Changes(
        elapsed_s=elapsed_s,
        cpus={cpu: _cpu_time(then[cpu], now[cpu], elapsed_s) for cpu in then.keys() & now.keys()},
        own_s=after.own_s - before.own_s + watchdog_s,
        tool_s=tool_s,
        tool_moved=_moved(_task_io(before.texts), _task_io(after.texts)),
        disks=_disk_changes(before.texts, after.texts, frozenset(disks)),
        totals={**totals, **_energy(before.texts, after.texts, elapsed_s), **_levels(after.texts)},
    )


def _cpu_lines(reading: Reading, wanted: frozenset[bytes]) -> dict[int, list[int]]:
    """Return CPU → user, nice, system, idle, iowait, irq, softirq, steal, in ticks (proc(5))."""
    found = {}
    for line in reading.texts.get("stat", b"").partition(b"\nintr")[0].split(b"\n"):
        name, _, rest = line.partition(b" ")
        if name in wanted and len(fields := rest.split()) >= 8:
            found[int(name[3:])] = [int(word) for word in fields[:8]]
    return found


def _cpu_time(then: Sequence[int], now: Sequence[int], elapsed_s: float) -> CpuTime:
    user, nice, _, idle, iowait, irq, softirq, steal = (
        (b - a) * TICK_S for a, b in zip(then, now, strict=True)
    )
    return CpuTime(
        busy_s=max(0.0, elapsed_s - idle - iowait),
        user_s=max(0.0, user + nice),
        irq_s=max(0.0, irq + softirq),
        steal_s=max(0.0, steal),
    )


def _watchdog_times(before: Reading, after: Reading) -> tuple[float, float | None]:
    """Return the watchdog's own CPU time, and that of what it waited for; (0, None) where another one took its place."""
    then, now = (_task_times(reading.texts) for reading in (before, after))
    if then is None or now is None or then[0] != now[0]:
        return 0.0, None
    own, waited_for = (now[i] - then[i] for i in (1, 2))
    return own, waited_for


def _task_times(texts: Mapping[str, bytes]) -> tuple[float, float, float] | None:
    """Return (pid, own CPU time, that of the children it waited for, and of theirs); None if it has ended."""
    pid, _, rest = texts.get("watchdog/stat", b"").partition(b" ")
    fields = rest.rpartition(b")")[2].split()  # the name before it may hold blanks and brackets
    if len(fields) < 15:
        return None
    user, system, children_user, children_system = (int(word) * TICK_S for word in fields[11:15])
    return float(pid), user + system, children_user + children_system


def _task_io(texts: Mapping[str, bytes]) -> Moved | None:
    named = _named(texts.get("watchdog/io", b"").replace(b":", b""))
    if not {"read_bytes", "write_bytes"} <= named.keys():
        return None
    return Moved(read_bytes=int(named["read_bytes"]), written_bytes=int(named["write_bytes"]))


def _moved(then: Moved | None, now: Moved | None) -> Moved | None:
    if then is None or now is None:
        return None
    read, written = now.read_bytes - then.read_bytes, now.written_bytes - then.written_bytes
    return Moved(read_bytes=read, written_bytes=written) if min(read, written) >= 0 else None


def _disk_changes(
    then: Mapping[str, bytes], now: Mapping[str, bytes], wanted: frozenset[str]
) -> dict[str, Moved]:
    if not wanted:
        return {}
    was, is_ = _disks(then, wanted), _disks(now, wanted)
    changes = {name: _moved(was[name], is_[name]) for name in was.keys() & is_.keys()}
    return {name: moved for name, moved in changes.items() if moved is not None}


def _disks(texts: Mapping[str, bytes], wanted: frozenset[str]) -> dict[str, Moved]:
    found = {}
    for line in texts.get("diskstats", b"").splitlines():
        fields = line.split(maxsplit=10)
        if len(fields) >= 10 and (name := f"{int(fields[0])}:{int(fields[1])}") in wanted:
            found[name] = Moved(
                read_bytes=int(fields[5]) * _SECTOR_BYTES, written_bytes=int(fields[9]) * _SECTOR_BYTES
            )
    return found


def _totals(texts: Mapping[str, bytes]) -> dict[str, float]:
    """Return the counters that only ever grow."""
    found: dict[str, float] = {}

    def add(name: str, value: float) -> None:
        found[name] = found.get(name, 0.0) + value

    for key, text in texts.items():
        kind, _, what = key.partition("/")
        match kind:
            case "vmstat":
                found.update((name.decode(), float(value)) for name, value in _VMSTAT.findall(text))
            case "pressure":
                words = text.split(maxsplit=5)  # some avg10=… avg60=… avg300=… total=…
                if len(words) > 4 and words[4].startswith(b"total="):
                    add(f"pressure_{what}_s", int(words[4][6:]) / 1e6)
            case "throttle":
                add(f"throttle_{what.partition('/')[0]}", _number(text))
            case "memory_errors":
                add("memory_errors", _number(text))
            case "oom" if "oom_kill" in (named := _named(text)):
                found["oom_kills"] = named["oom_kill"]
            case "quota":
                named = _named(text)
                add("quota_hits", named.get("nr_throttled", 0.0))
                v1_s = named.get("throttled_time", 0.0) / 1e9
                add("quota_s", named["throttled_usec"] / 1e6 if "throttled_usec" in named else v1_s)
    return found


def _energy(then: Mapping[str, bytes], now: Mapping[str, bytes], elapsed_s: float) -> dict[str, float]:
    """Return the energy of all packages; nothing if one has no counter, or one that may have wrapped more than once."""
    total_j = 0.0
    packages = [name for name in then if name.startswith("energy/")]
    for name in packages:
        range_j = _number(then.get(f"energy_range/{name.partition('/')[2]}", b"")) / 1e6
        if name not in now or range_j < elapsed_s * _MAX_PACKAGE_W:
            return {}
        change_j = (_number(now[name]) - _number(then[name])) / 1e6
        total_j += change_j if change_j >= 0 else change_j + range_j
    return {"energy_j": total_j} if packages else {}


def _levels(texts: Mapping[str, bytes]) -> dict[str, float]:
    """Return what goes up and down."""
    found: dict[str, float] = {}
    warmth = [_number(text) / 1000 for key, text in texts.items() if key.startswith("temperature/")]
    if warmth:
        found["temperature_c"] = max(warmth)
    for key, text in texts.items():
        if key.startswith("frequency/"):
            found["frequency_hz"] = _number(text) * 1000  # the file has kHz
    return found


def _increases(then: Mapping[str, float], now: Mapping[str, float]) -> dict[str, float]:
    return {name: now[name] - then[name] for name in then if name in now and now[name] >= then[name]}


def _named(text: bytes) -> dict[str, float]:
    """Read lines of a name and a number."""
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition(b" ")
        if value.strip().isdigit():
            found[name.decode("ascii", "replace")] = float(value)
    return found


def _number(text: bytes) -> float:
    """Return the file's one number; 0 where it holds something else."""
    try:
        return float(text)
    except ValueError:
        return 0.0


# --- I/O ---


class Counters:
    """The counters of this machine, or of a tree of files captured from another one. Use as a context manager."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        # one for all: making it anew is most of a read's cost
        self._buffer = memoryview(bytearray(_MOST_BYTES))
        self._files: dict[str, int] = {}  # what → descriptor
        self._of_cpus: dict[tuple[int, ...], tuple[str, ...]] = {}
        self._open_all(self._everywhere())
        self._machine_wide = tuple(self._files)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files.clear()

    def read(self, cpus: Sequence[int] = (), watchdog: int = 0) -> Reading:
        """Read everything once; `cpus` are the run's own, sorted, `watchdog` the process that starts and waits for it."""
        texts = {}
        if watchdog:
            for name in ("stat", "io"):
                texts[f"watchdog/{name}"] = self._read_once(f"proc/{watchdog}/{name}")
        at_s, own_s = time.monotonic(), time.process_time()
        for name in (*self._machine_wide, *self._names_of(tuple(cpus))):
            with contextlib.suppress(OSError):  # a device or a cgroup that was taken away
                texts[name] = bytes(self._buffer[: os.preadv(self._files[name], [self._buffer], 0)])
        return Reading(at_s=at_s, own_s=own_s, texts=texts)

    def disk_of(self, path: str) -> Disk | None:
        """Return the whole disk that a file lies on, or that a device is; None where there is none (tmpfs, NFS)."""
        try:
            found = Path(path).stat()
        except OSError:
            return None
        number = found.st_rdev if stat.S_ISBLK(found.st_mode) else found.st_dev
        name = f"{os.major(number)}:{os.minor(number)}"
        folder = (self._root / "sys/dev/block" / name).resolve()
        if not folder.exists():
            return None
        if (folder / "partition").exists():
            return Disk(_text(folder.parent / "dev"), folder.parent.name)
        return Disk(name, folder.name)

    def _names_of(self, cpus: tuple[int, ...]) -> tuple[str, ...]:
        """Return what is read for the run's own CPUs; opened when they are first asked for."""
        if cpus not in self._of_cpus:
            files = dict(self._per_cpu(cpus))
            self._open_all(files.items())
            self._of_cpus[cpus] = tuple(name for name in files if name in self._files)
        return self._of_cpus[cpus]

    def _everywhere(self) -> Iterator[tuple[str, Path]]:
        """Give all that is not of single CPUs: what it is, and its file, which need not be there. `stat` is read first."""
        proc, sys = self._root / "proc", self._root / "sys"
        yield "stat", proc / "stat"
        yield "vmstat", proc / "vmstat"
        yield "diskstats", proc / "diskstats"
        for name in _PRESSURES:
            yield f"pressure/{name}", proc / "pressure" / name
        for path in sorted((sys / "devices/system/edac/mc").glob("mc[0-9]*/ce_count")):
            yield f"memory_errors/{path.parent.name}", path
        for folder in sorted((sys / "class/powercap").glob("intel-rapl:[0-9]*")):
            if _text(folder / "name").startswith("package"):  # else a part of it, or psys, which holds it
                yield f"energy/{folder.name}", folder / "energy_uj"
                yield f"energy_range/{folder.name}", folder / "max_energy_range_uj"
        for path in sorted((sys / "class/hwmon").glob("hwmon*/name")):
            if _text(path) in _CPU_SENSORS:
                yield f"temperature/{path.parent.name}", path.parent / "temp1_input"
        for number, folder in enumerate(cgroups.folders("cpu", sys, proc)):
            yield f"quota/{number}", folder / "cpu.stat"
        for folder in cgroups.folders(
            "memory", sys, proc
        ):  # the first that counts: those above have other groups, too
            for path in (folder / "memory.events", folder / "memory.oom_control"):
                yield "oom", path

    def _per_cpu(self, cpus: Sequence[int]) -> Iterator[tuple[str, Path]]:
        folder = self._root / "sys/devices/system/cpu"
        packages = {_text(folder / f"cpu{cpu}/topology/physical_package_id"): cpu for cpu in reversed(cpus)}
        for package, cpu in sorted(packages.items()):
            name = package or cpu
            yield (f"throttle/package/{name}", folder / f"cpu{cpu}/thermal_throttle/package_throttle_count")
        for cpu in cpus[:: max(1, len(cpus) // MOST_CORES)][:MOST_CORES]:
            yield f"throttle/core/{cpu}", folder / f"cpu{cpu}/thermal_throttle/core_throttle_count"
        for cpu in cpus[:1]:
            yield f"frequency/{cpu}", folder / f"cpu{cpu}/cpufreq/scaling_cur_freq"

    def _open_all(self, files: Iterable[tuple[str, Path]]) -> None:
        for name, path in files:
            if name not in self._files:
                with contextlib.suppress(OSError):  # not on this machine, or not for us to read
                    self._files[name] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def _read_once(self, path: str) -> bytes:
        """Without pathlib: of so small a file it would be half of the cost."""
        try:
            descriptor = os.open(f"{self._root}/{path}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return b""
        try:
            return os.read(descriptor, 1 << 12)
        except OSError:  # it has ended, or is not ours
            return b""
        finally:
            os.close(descriptor)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
