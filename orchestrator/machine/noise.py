"""What on this machine may disturb a measurement, why, and what to do about it. Pure: facts in, findings out.

The list follows what pyperf's `system show` and tuned's profiles for computing look at. pinsweep changes nothing of
it: each finding names the command that would.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from orchestrator.machine.busy import Busy
from orchestrator.machine.cpulist import format_cpulist, parse_cpulist


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that makes figures vary, or makes them mean something else."""

    level: Literal["warn", "info"]
    what: str
    why: str
    fix: str = ""


MOST_NAMED = 5

LOAD_SHARE = 0.1
"""A load average above this share of the CPUs is somebody else's work."""


def findings(facts: Mapping[str, Any]) -> list[Finding]:
    """Return what to know of a machine's `facts` before measuring. A fact that could not be read gives no finding."""
    found: list[Finding] = []

    def add(level: Literal["warn", "info"], what: str, why: str, fix: str = "") -> None:
        found.append(Finding(level=level, what=what, why=why, fix=fix))

    load, cpus = facts.get("load_1min"), _count(facts.get("cpus_allowed"))
    if isinstance(load, int | float) and cpus and load > LOAD_SHARE * cpus:
        add(
            "warn",
            f"load average {load:.1f} on {cpus} CPUs",
            "other work takes time from the tool",
            "wait, or end it (top)",
        )
    governor = facts.get("governor")
    if governor not in (None, "", "performance"):  # also "performance (54), powersave (2)"
        add(
            "warn",
            f"CPU frequency governor is {governor}",
            "the clock climbs during a run",
            "cpupower frequency-set -g performance",
        )
    if facts.get("turbo") == "on":
        add(
            "info",
            "turbo is on",
            "the clock depends on temperature and on how many cores work",
            "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo",
        )
    if str(facts.get("numa_balancing")) == "on":
        add(
            "warn",
            "automatic NUMA balancing is on",
            "the kernel moves pages of processes without a memory policy",
            "sysctl kernel.numa_balancing=0",
        )
    swap, free = facts.get("swap_bytes"), facts.get("swap_free_bytes")
    if isinstance(swap, int | float) and isinstance(free, int | float) and swap - free > 0.01 * swap and swap:
        add(
            "warn",
            f"{(swap - free) / 2**20:.0f} MiB of swap are in use",
            "memory may come from a disk",
            "swapoff -a, if memory allows",
        )
    environment = facts.get("environment")
    if environment not in (None, "none"):
        add(
            "warn",
            f"the environment sets {environment}",
            "tools inherit them, except those that pinsweep sets itself",
            "unset what is not meant",
        )
    if facts.get("clocksource") not in (None, "tsc", "arch_sys_counter", "kvm-clock", "timebase"):
        add(
            "warn",
            f"clock source is {facts['clocksource']}",
            "reading the clock is slow",
            "boot with tsc=reliable if the TSC is sound",
        )
    if facts.get("thp") == "always":
        add(
            "info",
            "transparent huge pages are always on",
            "bandwidth and latency hold fewer TLB misses than with small pages",
        )
    if facts.get("smt") == "on":
        add("info", "SMT is on", "two threads share a core; selectors take one PU per core first")
    if facts.get("hypervisor") not in (None, "", "none"):
        add(
            "info",
            f"a virtual machine ({facts['hypervisor']})",
            "CPUs may be shared, caches and NUMA nodes may not be what is told",
        )
    return found


def of_processes(
    busy: Sequence[Busy],
    used: Collection[int] = (),
    siblings: Collection[int] = (),
    others: Collection[int] = (),
) -> list[Finding]:
    """Return who takes CPU time. `used`: the PUs of the plan, of which alone it is said then, and of their SMT `siblings`; `others`: those
    where nobody would be in its way."""
    there = format_cpulist(others) if others else "CPUS"
    apart = "" if used and not others else f", or keep it on other CPUs: taskset -acp {there} "
    found: list[Finding] = []
    for process in busy:
        where = format_cpulist(process.cpus)
        name = f"{process.name} (pid {process.pid}) takes about {round(process.share, 1):.0%} of a CPU, seen on CPU {where}"
        fix = "" if found else f"wait until it has ended{f'{apart}{process.pid}' if apart else ''}"
        if not used:
            why = "it takes time from a tool on the same CPU, and memory bandwidth from all"
        elif process.cpus & set(used):
            why = "this sweep measures there"
        elif process.cpus & set(siblings):
            why = f"an SMT sibling of CPU {format_cpulist(used)}, where this sweep measures"
        else:
            continue
        found.append(Finding(level="warn", what=name, why=why, fix=fix))
    left = len(found) - MOST_NAMED
    if left > 0:
        what = "1 more process takes CPU time" if left == 1 else f"{left} more processes take CPU time"
        return [*found[:MOST_NAMED], Finding(level="warn", what=what, why="as those do", fix="see top")]
    return found


def of_throttling(before: Mapping[str, int], after: Mapping[str, int]) -> list[Finding]:
    """Return whether CPUs were slowed down for their heat: between two readings of the counters, else since boot."""
    now = sum(count - before.get(path, count) for path, count in after.items())
    if now > 0:
        return [
            Finding(
                level="warn", what=f"CPUs are throttled for their heat, {now} times just now",
                why="the clock falls while a tool runs", fix="see to fans and air, or let it cool",
            )
        ]  # fmt: skip
    hot = [path for path, count in after.items() if count]
    if not hot:
        return []
    most = max(after[path] for path in hot)
    return [
        Finding(
            level="info", what=f"CPUs were throttled for their heat since boot, up to {most} times a core or package",
            why="long runs may be slower than short ones",
        )
    ]  # fmt: skip


IRQBALANCE = Finding(
    level="info",
    what="irqbalance is running",
    why="it moves interrupts to other CPUs every 10 s, measured ones too",
    fix="systemctl stop irqbalance, or IRQBALANCE_BANNED_CPULIST",
)


def _count(cpulist: str | int | float | None) -> int:
    return len(parse_cpulist(str(cpulist))) if cpulist else 0
