"""Find conditions that may disturb a measurement on this machine, with cause and remedy. Pure: facts in, findings out.

The list follows pyperf's `system show` and tuned's profiles for computing. pinsweep changes none of the settings here.
Each finding has the command for the change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from orchestrator.machine.busy import Busy
from orchestrator.machine.cpulist import format_cpulist, parse_cpulist


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A condition that makes figures vary, or changes their meaning."""

    level: Literal["warn", "info"]
    what: str
    why: str
    fix: str = ""


def warning(what: str, why: str, fix: str = "") -> Finding:
    return Finding(level="warn", what=what, why=why, fix=fix)


def note(what: str, why: str, fix: str = "") -> Finding:
    return Finding(level="info", what=what, why=why, fix=fix)


MAX_NAMED = 5

LOAD_SHARE = 0.1
"""A load average above this share of the CPUs comes from other work."""

CLOCK_SOURCES = ("tsc", "arch_sys_counter", "kvm-clock", "timebase")
"""Sources of the time that are fast to read."""


def findings(facts: Mapping[str, Any]) -> list[Finding]:
    """Return the findings for a machine's `facts` before measuring. A fact that was not recorded gives no finding."""
    return list(_findings({name: value for name, value in facts.items() if value not in (None, "")}))


def _findings(facts: Mapping[str, Any]) -> Iterator[Finding]:
    load, cpus = facts.get("load_1min", 0.0), len(parse_cpulist(str(facts.get("cpus_allowed", ""))))
    if cpus and load > LOAD_SHARE * cpus:
        what = f"load average {load:.1f} on {cpus} CPUs"
        yield warning(what, "other work takes time from the tool", "wait, or end it (top)")
    governor = facts.get("governor", "performance")  # also "performance (54), powersave (2)"
    if governor != "performance":
        what, fix = f"CPU frequency governor is {governor}", "cpupower frequency-set -g performance"
        yield warning(what, "the clock climbs during a run", fix)
    if facts.get("turbo") == "on":
        why = "the clock depends on temperature and on how many cores work"
        yield note("turbo is on", why, "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo")
    if facts.get("numa_balancing") == "on":
        why = "the kernel moves pages of processes without a memory policy"
        yield warning("automatic NUMA balancing is on", why, "sysctl kernel.numa_balancing=0")
    swap = facts.get("swap_bytes", 0)
    used = swap - facts.get("swap_free_bytes", swap)
    if used > 0.01 * swap:
        what = f"{used / 2**20:.0f} MiB of swap are in use"
        yield warning(what, "memory may come from a disk", "swapoff -a, if there is enough memory")
    if (environment := facts.get("environment", "none")) != "none":
        why = "tools inherit it, except what pinsweep sets itself"
        yield warning(f"the environment sets {environment}", why, "unset what you do not mean")
    if (source := facts.get("clocksource", "tsc")) not in CLOCK_SOURCES:
        fix = "boot with tsc=reliable if the TSC is stable"
        yield warning(f"clock source is {source}", "reading the clock is slow", fix)
    if facts.get("thp") == "always":
        why = "bandwidth and latency include fewer TLB misses than with small pages"
        yield note("transparent huge pages are always on", why)
    if facts.get("smt") == "on":
        yield note("SMT is on", "two threads share a core; selectors take one PU per core first")
    if (hypervisor := facts.get("hypervisor", "none")) != "none":
        why = "CPUs may be shared, and caches and NUMA nodes may not be real"
        yield note(f"a virtual machine ({hypervisor})", why)


def of_processes(
    busy: Sequence[Busy],
    used: Collection[int] = (),
    siblings: Collection[int] = (),
    others: Collection[int] = (),
) -> list[Finding]:
    """Return the processes that use CPU time, MAX_NAMED by name.

    `used`: the PUs of the plan. Then only processes on these PUs and on their SMT `siblings` count. `others`: PUs where
    such a process would disturb nothing.
    """
    disturbing: list[tuple[Busy, str]] = []
    for process in busy:
        if not used:
            why = "it takes time from a tool on the same CPU, and memory bandwidth from all"
        elif process.cpus & set(used):
            why = "this sweep measures there"
        elif process.cpus & set(siblings):
            why = f"an SMT sibling of CPU {format_cpulist(used)}, where this sweep measures"
        else:
            continue
        disturbing.append((process, why))
    results: list[Finding] = []
    for process, why in disturbing[:MAX_NAMED]:
        share = f"about {round(process.share, 1):.0%} of a CPU, seen on CPU {format_cpulist(process.cpus)}"
        fix = "wait until it has ended"
        if others or not used:
            cpus = format_cpulist(others) if others else "CPUS"
            fix += f", or keep it on other CPUs: taskset -acp {cpus} {process.pid}"
        results.append(warning(f"{process.name} (pid {process.pid}) takes {share}", why, "" if results else fix))
    if (left := len(disturbing) - MAX_NAMED) > 0:
        what = "1 more process takes CPU time" if left == 1 else f"{left} more processes take CPU time"
        results.append(warning(what, "as those do", "see top"))
    return results


def of_throttling(before: Mapping[str, int], after: Mapping[str, int]) -> list[Finding]:
    """Return whether heat slowed CPUs down between two readings of the counters, else since boot."""
    recent = sum(count - before.get(path, count) for path, count in after.items())
    if recent > 0:
        return [
            warning(
                f"CPUs are throttled for their heat, {recent} times just now",
                "the clock falls while a tool runs",
                "check fans and air flow, or let it cool",
            )
        ]
    if most := max(after.values(), default=0):
        text = f"CPUs were throttled for their heat since boot, up to {most} times a core or package"
        return [note(text, "long runs may be slower than short ones")]
    return []


IRQBALANCE = note(
    "irqbalance is running",
    "it moves interrupts to other CPUs every 10 s, measured ones too",
    "systemctl stop irqbalance, or IRQBALANCE_BANNED_CPULIST",
)
