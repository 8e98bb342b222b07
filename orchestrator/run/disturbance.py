"""Decide whether a run was disturbed, and return the reasons. Pure.

The input is the machine's counters during the run and the resource use of its processes, never the result of the run. A
run with an outlier and without a disturbance does not change. A run with a reason is `disturbed`, with any result.

Each rule is a function next to its threshold. docs/disturbance.md explains the rules.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from orchestrator.machine.counters import TICK_S, Changes, CpuTime
from orchestrator.machine.cpulist import named_cpus
from parsers.units import size_text

FOREIGN_SHARE: Final = 0.01
"""Fraction of the run's time, on one CPU."""

BACKGROUND_SHARE: Final = 0.001
"""Fraction of each further CPU of a run that the kernel's threads may use."""

NEIGHBOUR_SHARE: Final = 0.05
"""Fraction of all other CPUs of the memory node."""

NEIGHBOUR_MOST: Final = 0.5
"""… and never more than this part of one CPU: where a node has many CPUs, few of them use up its bandwidth."""

STEAL_SHARE: Final = 0.005
QUOTA_SHARE: Final = 0.01

STARVED_SHARE: Final = 0.10
STARVED_LEAST_S: Final = 0.1
"""Seconds that a start may take, in which a program is read from a disk or a launcher runs."""

DISK_SHARE: Final = 0.05
DISK_LEAST_B_S: Final = 1e6
DISK_OWN_BYTES: Final = 1 << 16
"""A run that moved less worked in the page cache, and no disk disturbs it."""
JOURNAL_BYTES: Final = 16 << 10
"""Bytes that a file system may write per block of a run: descriptor, inode, bitmap and journal commit."""

IRQ_SHARE: Final = 0.01
"""Fraction of the time of the run's CPUs."""
IRQ_TIMES: Final = 3.0
"""Factor to the fraction in the cell's earlier runs."""
IRQ_BURST: Final = 4
IRQ_LEAST_RUNS: Final = 3
"""Number of earlier runs for the usual fraction."""

LATE_SHARE: Final = 0.10
LATE_LEAST_S: Final = 0.5
"""Seconds that a busy machine may delay pinsweep before and after a run.

A few hundredths of them may hide in FOREIGN_SHARE.
"""

FEW_TICKS: Final = 3 * TICK_S
"""/proc/stat counts in steps of TICK_S, so less than three steps may be zero."""

UNSEEN_SHARE: Final = 0.1
"""Fraction of one CPU that other processes may use undetected, if the run is long enough."""

SIGMAS: Final = 3.0
STORAGE_BYTES: Final = 1 << 20
"""From here on a run works with storage, and the kernel's threads work for it."""


class Reason(NamedTuple):
    """A reason why a run is disturbed: the rule, and a text with the measured value."""

    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """The data about a run that is not in the counters. Times are seconds of the process."""

    wall_s: float
    user_s: float
    system_s: float
    span_s: float = 0.0  # until all that it had left behind had ended, too; 0: not known
    stops: int = 0  # number of stops of its processes (SIGSTOP)
    stopped_s: float = 0.0  # … and for how long in all
    cpus: tuple[int, ...] = ()  # CPUs of the run; () without a placement: only machine-wide rules apply
    neighbours: tuple[int, ...] = ()  # the other CPUs of the memory nodes that it uses
    memory_bound: bool = False  # does it measure what neighbours use up?
    computing: int = 0  # threads that compute from start to end; 0: it may wait
    disks: Mapping[str, str] = field(default_factory=dict)  # "major:minor" → name of each disk that it uses
    unit_bytes: int = 0
    """Bytes per write to a file system on these disks, or 0. The counters assign its journal writes to no process."""
    usual_irq: tuple[float, ...] = ()
    """Shares of the CPUs' time that interrupts had in the cell's earlier runs."""

    @property
    def cpu_s(self) -> float:
        return self.user_s + self.system_s


# --- the rules ---


def _foreign(changes: Changes, run: Watched) -> str:
    """Other processes on the run's own CPUs."""
    seconds = foreign_s(changes, run)
    if seconds is None or seconds <= _foreign_limit_s(changes, run):
        return ""
    return f"other processes used {named_cpus(run.cpus)} for {_seconds(seconds)} of {_seconds(changes.elapsed_s)}"


def foreign_s(changes: Changes, run: Watched) -> float | None:
    """Return the CPU time of other processes on the run's CPUs, or None if unknown.

    The value is the time of all processes and kernel threads, minus the time of the run and of pinsweep. Kernel threads
    also work for a run that uses storage. For such a run, only user mode is compared.
    """
    cpus = _run_cpus(changes, run)
    if not cpus:
        return None
    if _works_with_storage(changes, run):
        return max(0.0, sum(cpu.user_s for cpu in cpus) - run.user_s - changes.own_s)
    return max(0.0, sum(cpu.tasks_s for cpu in cpus) - _cpu_s(changes, run) - changes.own_s)


def _foreign_limit_s(changes: Changes, run: Watched) -> float:
    wall_s, cpus = changes.elapsed_s, _run_cpus(changes, run)
    background_s = BACKGROUND_SHARE * wall_s * (len(cpus) - 1)
    limit_s = max(FOREIGN_SHARE * wall_s, FEW_TICKS * math.sqrt(len(cpus))) + background_s
    if _works_with_storage(changes, run):  # times in user mode are samples, one a tick
        shares = [min(1.0, cpu.user_s / wall_s) for cpu in cpus]
        limit_s = max(limit_s, SIGMAS * math.sqrt(sum(p * (1 - p) for p in shares) * wall_s * TICK_S))
    return limit_s


def is_too_short(elapsed_s: float, cpus: int) -> bool:
    """Return whether a run is too short to detect other processes with 0.1 CPU: below 0.3 s on one CPU, 0.6 s on four."""
    return 0 < elapsed_s < FEW_TICKS * math.sqrt(cpus) / UNSEEN_SHARE


def _stopped(changes: Changes, run: Watched) -> str:  # noqa: ARG001 (all rules have this signature)
    """Check for a stop of the run or of its processes."""
    if not run.stops:
        return ""
    return f"SIGSTOP stopped it {run.stops} × for {_seconds(run.stopped_s)} of {_seconds(run.wall_s)}"


def _starved(changes: Changes, run: Watched) -> str:
    """Check for CPU time that a computing run lacked, because it was stopped or waited for a CPU."""
    if not run.computing:
        return ""
    had_s = _cpu_s(changes, run) / run.computing
    wall_s = run.wall_s - run.stopped_s
    if wall_s - had_s <= max(STARVED_SHARE * wall_s, STARVED_LEAST_S):
        return ""
    return f"it had a CPU for {_seconds(had_s)} of {_seconds(wall_s)}"


def _steal(changes: Changes, run: Watched) -> str:
    """Check for steal time, in which the hypervisor gave the CPUs to other guests.

    Steal time includes the hypervisor's work for the disk of the run. The two cannot be separated.
    """
    if _works_with_storage(changes, run):
        return ""
    cpus = _run_cpus(changes, run) or list(changes.cpus.values())
    stolen_s, all_s = sum(cpu.steal_s for cpu in cpus), changes.elapsed_s * len(cpus)
    if stolen_s <= max(STEAL_SHARE * all_s, FEW_TICKS):
        return ""
    return f"the hypervisor took {_percent(stolen_s / all_s)} of its CPU time"


def _neighbour(changes: Changes, run: Watched) -> str:
    """Check for other processes on neighbouring CPUs, which use the same memory."""
    used_s = neighbours_s(changes, run)
    if not run.memory_bound or used_s is None:
        return ""
    cpus = sum(cpu in changes.cpus for cpu in run.neighbours)
    share = used_s / changes.elapsed_s
    if share <= min(NEIGHBOUR_SHARE * cpus, NEIGHBOUR_MOST) or used_s <= FEW_TICKS * math.sqrt(cpus):
        return ""
    return f"other CPUs of its memory were busy for {_seconds(used_s)}"


def neighbours_s(changes: Changes, run: Watched) -> float | None:
    """Return the CPU time of other processes on neighbouring CPUs. None if there is no such CPU or the time is unknown."""
    times = [changes.cpus[cpu].tasks_s for cpu in run.neighbours if cpu in changes.cpus]
    return max(0.0, sum(times) - changes.own_s) if times else None


def _interrupts(changes: Changes, run: Watched) -> str:
    """Check for many more interrupts on the run's CPUs than in earlier runs of the cell.

    Interrupts of the run's disk or network are in both.

    Interrupt time is sampled once per tick, and interrupts come in bursts. The rule adds three standard deviations to
    the threshold, with IRQ_BURST ticks per burst.
    """
    share, cpus = irq_share(changes, run), _run_cpus(changes, run)
    if share is None or len(run.usual_irq) < IRQ_LEAST_RUNS:
        return ""
    all_s, usual = changes.elapsed_s * len(cpus), statistics.median(run.usual_irq)
    usual_s = max(IRQ_TIMES * usual * all_s, FEW_TICKS)
    if share <= IRQ_SHARE or share * all_s <= usual_s + SIGMAS * math.sqrt(usual_s * IRQ_BURST * TICK_S):
        return ""
    return f"interrupts took {_percent(share)} of its CPUs, usually {_percent(usual)}"


def irq_share(changes: Changes, run: Watched) -> float | None:
    """Return the fraction of CPU time in interrupts and softirqs on the run's CPUs, or None if unknown."""
    cpus = _run_cpus(changes, run)
    return sum(cpu.irq_s for cpu in cpus) / (changes.elapsed_s * len(cpus)) if cpus else None


def _quota(changes: Changes, run: Watched) -> str:
    """The CPU quota of a cgroup, as containers have one."""
    held_s = changes.totals.get("quota_s", 0.0)
    if held_s <= QUOTA_SHARE * run.wall_s:
        return ""
    return f"the cgroup's CPU quota stopped it for {_seconds(held_s)}"


def _throttled(changes: Changes, run: Watched) -> str:  # noqa: ARG001
    """The CPUs slowed themselves down."""
    events = changes.totals.get("throttle_core", 0) + changes.totals.get("throttle_package", 0)
    return f"its CPUs were throttled {events:.0f} × (heat, power)" if events else ""


def _swap(changes: Changes, run: Watched) -> str:  # noqa: ARG001
    pages = changes.totals.get("pswpin", 0)
    return f"memory ran short: {pages:.0f} pages swapped in" if pages else ""


def _memory_errors(changes: Changes, run: Watched) -> str:  # noqa: ARG001
    errors = changes.totals.get("memory_errors", 0)
    return f"{errors:.0f} memory errors were corrected (EDAC)" if errors else ""


def _disk(changes: Changes, run: Watched) -> str:
    """Check for I/O of other processes on the disk of the run.

    The counters do not assign the journal writes of a file system to a process. JOURNAL_BYTES per block belong to a run
    that writes. A run that writes directly to the device has no journal.
    """
    moved = changes.tool_moved
    for disk, name in run.disks.items():
        all_ = changes.disks.get(disk)
        if all_ is None or moved is None or moved.read_bytes + moved.written_bytes < DISK_OWN_BYTES:
            continue
        journal = moved.written_bytes * JOURNAL_BYTES // run.unit_bytes if run.unit_bytes else 0
        foreign_bytes = max(0, all_.read_bytes - moved.read_bytes)
        foreign_bytes += max(0, all_.written_bytes - moved.written_bytes - journal)
        total = all_.read_bytes + all_.written_bytes
        if foreign_bytes > max(DISK_SHARE * total, DISK_LEAST_B_S * changes.elapsed_s):
            return f"others moved {size_text(foreign_bytes)} on {name} ({_percent(foreign_bytes / total)})"
    return ""


def _unwatched(changes: Changes, run: Watched) -> str:
    """Check for counters that were read too early or too late.

    They may hide a disturbance, or include one from another time.
    """
    late_s = changes.elapsed_s - run.span_s
    if not run.span_s or late_s <= max(LATE_SHARE * run.span_s, LATE_LEAST_S):
        return ""
    return f"pinsweep itself was stopped or waited for {_seconds(late_s)}"


RULES: Final[Mapping[str, Callable[[Changes, Watched], str]]] = {
    "foreign": _foreign,
    "stopped": _stopped,
    "starved": _starved,
    "steal": _steal,
    "neighbour": _neighbour,
    "interrupts": _interrupts,
    "quota": _quota,
    "throttled": _throttled,
    "swap": _swap,
    "memory-errors": _memory_errors,
    "disk": _disk,
    "unwatched": _unwatched,
}


def reasons(changes: Changes, run: Watched) -> tuple[Reason, ...]:
    """Return every rule that says that the run was disturbed."""
    return tuple(Reason(name, text) for name, rule in RULES.items() if (text := rule(changes, run)))


# --- the record ---


def stored(changes: Changes, run: Watched, matches: tuple[Reason, ...]) -> dict[str, Any]:
    """Return the `counters` of the result file: at most 1 kB of JSON, 2 kB with the reasons.

    Missing counters are omitted.
    """
    cpus = _run_cpus(changes, run)
    times = {
        "elapsed_s": changes.elapsed_s,
        "foreign_s": foreign_s(changes, run),
        "neighbours_s": neighbours_s(changes, run),
        "irq_s": sum(cpu.irq_s for cpu in cpus) if cpus else None,
        "steal_s": sum(cpu.steal_s for cpu in cpus) if cpus else None,
        "stopped_s": run.stopped_s if run.stops else None,
        "pinsweep_s": changes.own_s,
        **changes.totals,
    }
    disks = {
        name: {"read_bytes": moved.read_bytes, "written_bytes": moved.written_bytes}
        for disk, name in list(run.disks.items())[:2]
        if (moved := changes.disks.get(disk))
    }
    if changes.tool_moved and disks:
        disks["own"] = {
            "read_bytes": changes.tool_moved.read_bytes,
            "written_bytes": changes.tool_moved.written_bytes,
        }
    return {
        **{name: float(f"{value:.4g}") for name, value in times.items() if value is not None},
        **({"disks": disks} if disks else {}),
        "reasons": [{"id": reason.id, "text": reason.text} for reason in matches],
    }


# --- how much ---

_TAKEN: Final = ("foreign_s", "steal_s", "quota_s", "stopped_s")
"""Counters of the time that a run lost to others. Interrupts are the machine's own, and neighbours take bandwidth, not time."""

_NEIGHBOURS: Final = 0.1
"""Weight of one second of the neighbours."""


def taken(counters: Mapping[str, Any]) -> float:
    """Return the fraction of a run's time that other processes used, or inf if no counter has it.

    The least disturbed runs of a cell are selected by this value, never by their results.
    """
    elapsed_s = float(counters.get("elapsed_s", 0.0))
    seconds = [float(counters[name]) for name in _TAKEN if name in counters]
    seconds += [_NEIGHBOURS * float(counters["neighbours_s"])] if "neighbours_s" in counters else []
    return sum(seconds) / elapsed_s if elapsed_s and seconds else math.inf


_BY_OTHERS: Final = frozenset({"foreign", "steal", "neighbour", "quota", "starved"})
"""Rules with a disturbance that `taken` counts."""

LEAST_USUAL: Final = 0.01
_LEAST_RUNS: Final = 8
_TIMES_USUAL: Final = 2.0


def usual(shares: Sequence[float]) -> float:
    """Return the usual load on this machine: the lower quartile of the fractions (`taken`) of a round's runs.

    0 with fewer than eight runs, and if at least a quarter of the runs was undisturbed.
    """
    known = sorted(share for share in shares if math.isfinite(share))
    quartile = known[len(known) // 4] if len(known) >= _LEAST_RUNS else 0.0
    return quartile if quartile > LEAST_USUAL else 0.0


def is_usual(counters: Mapping[str, Any], share: float) -> bool:
    """Return whether the usual load (from `usual`) explains all disturbances of a run.

    Then another attempt does not help.
    """
    rules = {reason["id"] for reason in counters.get("reasons", ())}
    return share > 0 and rules <= _BY_OTHERS and taken(counters) <= _TIMES_USUAL * share + LEAST_USUAL


# --- shared ---


def _run_cpus(changes: Changes, run: Watched) -> list[CpuTime]:
    return [changes.cpus[cpu] for cpu in run.cpus if cpu in changes.cpus]


def _cpu_s(changes: Changes, run: Watched) -> float:
    """Return the CPU time of the run: the time of its process and children, or the time of all awaited processes if
    larger.

    The watchdog waits for processes that a tool leaves behind (a daemon). The time of the tool's process does not
    include them.
    """
    waited_for_s = changes.tool_s or 0.0
    return waited_for_s if waited_for_s > run.cpu_s + FEW_TICKS else run.cpu_s


def _works_with_storage(changes: Changes, run: Watched) -> bool:
    moved = changes.tool_moved
    return bool(run.disks) or (moved is not None and moved.read_bytes + moved.written_bytes > STORAGE_BYTES)


def _percent(share: float) -> str:
    return f"{share * 100:.{0 if share >= 0.1 else 1}f} %"


def _seconds(value: float) -> str:
    return f"{value:.{1 if round(value, 2) >= 1 else 2 if value >= 0.1 else 3}f} s"
