"""Prove that a run is at its placement: compare the request with /proc during the run.

`look` reads /proc (I/O, some tens of microseconds per thread, once). All other functions are pure. A mismatch makes the
run `misplaced`. These rules are checked:

- every PU that a thread of the tool may use belongs to the placement, and to the group of its rank
- at least one look shows as many threads as requested
- all PUs are in use if a process, or all processes together, have as many threads as PUs
- the memory policy is the one that numactl set, and the cpuset still allows its nodes

Launchers (mpirun and its proxies) start before numactl and are not checked.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from orchestrator.machine.cpulist import format_cpulist, parse_cpulist
from orchestrator.machine.kernel_files import list_numbers, parse_stat, read_bytes
from orchestrator.machine.process_tree import children
from orchestrator.model import Group, Placement

WATCHDOG: Final = "sweep-watchdog"
"""The name of the watchdog. A new process has this name for a moment, before its program sets another name."""

STARTING: Final = frozenset({WATCHDOG, "numactl"})
"""Processes that have not become the tool yet."""

_MPI_LAUNCHERS = """
mpirun mpirun.openmpi mpirun.mpich mpiexec mpiexec.openmpi mpiexec.mpich mpiexec.hydra hydra_pmi_proxy hydra_bstrap_pr
hydra_bstrap_proxy orterun orted prterun prte prted srun
"""
LAUNCHERS: Final = STARTING | frozenset(_MPI_LAUNCHERS.split())
"""The names in /proc of processes that start the tool; it cuts names to 15 characters."""

RANK: Final = re.compile(rb"(?:^|\0)(?:PMI_RANK|PMIX_RANK|OMPI_COMM_WORLD_RANK)=(\d+)(?=\0|$)")

PAGES_UP_TO_BYTES: Final = 64 << 20
"""Pages per node are counted only in processes up to this size: the kernel walks all page tables for it."""

LAST_CPUS: Final = 32
"""Maximum number of threads per process with a read of the last CPU. The mask is read for all threads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    tid: int
    cpus: frozenset[int]  # its affinity mask
    last_cpu: int | None  # last CPU of the thread


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process of the tree, from /proc."""

    pid: int
    name: str
    threads: tuple[Thread, ...]
    mems_allowed: frozenset[int]  # nodes in its cpuset; a memory policy does not change them
    policy: str = ""  # "default", "bind:0", "interleave:0-1"; "" where the kernel does not say (no NUMA)
    pages: Mapping[int, int] = field(default_factory=dict)  # NUMA node → pages; {} if the process is too big
    rank: int | None = None

    @property
    def cpus(self) -> frozenset[int]:
        """Return every PU that a thread of the process may use."""
        return frozenset().union(*(thread.cpus for thread in self.threads))


# --- pure ---


def tool_processes(processes: Iterable[Process]) -> list[Process]:
    """Return the processes of the tool itself, launchers left out."""
    return [process for process in processes if process.name not in LAUNCHERS]


def settled(asked: Placement, processes: Sequence[Process], threads: int = 1) -> bool:
    """Return whether the look is complete: all processes have started, and every rank and thread exists."""
    workers = tool_processes(processes)
    return (
        all(p.name not in STARTING for p in processes)
        and len(workers) >= len(asked.groups)
        and sum(len(p.threads) for p in workers) >= threads * len(asked.groups)
    )


class Mismatch(NamedTuple):
    """A difference between a process and its placement."""

    of: Literal["PUs", "crowd", "cpuset", "policy", "rank"]
    text: str


def mismatches(asked: Placement, processes: Sequence[Process]) -> list[Mismatch]:
    """Return the differences between the processes and the placement, or [].

    Fewer processes than requested are not a mismatch, because one of two ranks ends first. `settled` counts processes.
    """
    workers = tool_processes(processes)
    if len(asked.groups) == 1:
        (group,) = asked.groups
        single = [mismatch for worker in workers for mismatch in _compare(group, worker)]
        return single or [*_crowded(group, workers)]
    results: list[Mismatch] = []
    for number, worker in enumerate(sorted(workers, key=lambda p: (p.rank is None, p.rank, p.pid))):
        rank = number if worker.rank is None else worker.rank
        if rank < len(asked.groups):
            group = asked.groups[rank]
            results += [Mismatch(m.of, f"rank {rank}: {m.text}") for m in _compare(group, worker)]
        else:
            results.append(Mismatch("rank", f"rank {rank} was not requested ({worker.name})"))
    return results


def _crowded(group: Group, processes: Sequence[Process], who: str = "") -> Iterator[Mismatch]:
    wanted, used = frozenset(group.cpus), frozenset().union(*(process.cpus for process in processes))
    threads = sum(len(process.threads) for process in processes)
    if processes and threads >= len(wanted) and used != wanted:
        who = who or f"{threads} threads of {len(processes)} processes"
        text = f"{who} are crowded on PUs {format_cpulist(used)}, requested {format_cpulist(wanted)}"
        yield Mismatch("crowd", text)


def _compare(group: Group, process: Process) -> Iterator[Mismatch]:
    wanted = frozenset(group.cpus)
    who = f"{process.name} ({process.pid})"
    threads = len(process.threads)
    if outside := [thread for thread in process.threads if not thread.cpus <= wanted]:
        others = format_cpulist(frozenset().union(*(thread.cpus for thread in outside)) - wanted)
        count = f"{len(outside)} of {threads} threads" if threads > 1 else "it"
        text = f"{who}: {count} may run on PUs {others}, requested {format_cpulist(wanted)}"
        yield Mismatch("PUs", text)
    else:
        yield from _crowded(group, [process], f"{who}: {threads} threads")
    nodes = frozenset(group.membind or group.interleave)
    if not nodes <= process.mems_allowed:
        allowed = format_cpulist(process.mems_allowed)
        text = f"{who}: its cpuset allows memory of NUMA nodes {allowed}, requested {format_cpulist(nodes)}"
        yield Mismatch("cpuset", text)
    mode = "bind" if group.membind else "interleave"
    if process.policy and nodes and _policy(process.policy) != (mode, nodes):
        text = f"{who}: memory policy is {process.policy}, requested {mode}:{format_cpulist(nodes)}"
        yield Mismatch("policy", text)


def _policy(text: str) -> tuple[str, frozenset[int]]:
    """Read `bind:0-1`, `bind=static:0-1`, `default` as (mode, nodes)."""
    mode, _, nodes = text.partition(":")
    try:
        return mode.partition("=")[0], parse_cpulist(nodes)
    except ValueError:
        return mode, frozenset()


def as_json(processes: Iterable[Process]) -> dict[str, Any]:
    """Return the processes as the result file stores them, with threads grouped by mask."""
    return {
        "processes": [
            {
                "pid": process.pid,
                "name": process.name,
                "rank": process.rank,
                "cpus": format_cpulist(process.cpus),
                "mems_allowed": format_cpulist(process.mems_allowed),
                "policy": process.policy,
                "pages": {str(node): pages for node, pages in sorted(process.pages.items())},
                "threads": dict(Counter(format_cpulist(thread.cpus) for thread in process.threads)),
                "last_cpus": format_cpulist(t.last_cpu for t in process.threads if t.last_cpu is not None),
            }
            for process in processes
        ]
    }


# --- I/O ---


def look(root: int, proc: str = "/proc") -> tuple[Process, ...]:
    """Return a process and all its descendants, in tree order. Processes that end during the look are omitted.

    A look costs the caller 0.2 ms per process and 10 µs per thread, and stops no process.
    """
    processes: list[Process] = []
    waiting = [root]
    while waiting:
        pid = waiting.pop(0)
        if process := _process(pid, list_numbers(f"{proc}/{pid}/task"), proc):
            processes.append(process)
        waiting += children(pid, proc)
    return tuple(processes)


def last_look(pid: int, proc: str = "/proc") -> Process | None:
    """Return a process that has ended and was not yet waited for.

    Only the main thread remains, without a memory policy.
    """
    values = _status(pid, proc)
    thread = _thread(pid, pid, proc, with_last_cpu=False)
    if thread is None or "Name" not in values:
        return None
    mems = parse_cpulist(values.get("Mems_allowed_list", ""))
    return Process(pid=pid, name=values["Name"], threads=(thread,), mems_allowed=mems)


def allowed_cpus(cpus: Collection[int]) -> frozenset[int]:
    """Return the PUs of `cpus` that the tool's cpuset still has. This process has the same cpuset.

    The function sets a mask to ask the kernel, and restores the old mask.
    """
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, cpus)
        return frozenset(os.sched_getaffinity(0))
    except OSError as error:
        return frozenset() if error.errno == errno.EINVAL else frozenset(cpus)  # EPERM: it cannot be asked
    finally:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, before)


def _status(pid: int, proc: str) -> dict[str, str]:
    text = read_bytes(f"{proc}/{pid}/status").decode(errors="replace")
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


def _process(pid: int, tids: Sequence[int], proc: str) -> Process | None:
    values = _status(pid, proc)
    threads = [thread for i, tid in enumerate(tids) if (thread := _thread(pid, tid, proc, i < LAST_CPUS))]
    if not threads or values.get("State", "Z")[0] in "ZX":
        return None
    rank = RANK.search(read_bytes(f"{proc}/{pid}/environ"))
    is_small = int(values.get("VmRSS", "0").split()[0]) * 1024 <= PAGES_UP_TO_BYTES
    # the first line is enough for the policy, and few bytes make the kernel walk few mappings
    maps = read_bytes(f"{proc}/{pid}/numa_maps", None if is_small else 200).decode(errors="replace")
    policy = next(iter(maps.split(maxsplit=2)[1:]), "")
    if policy == "default" and "VmRSS" not in _status(pid, proc):
        policy = ""  # it ended meanwhile: a process loses its memory, then its policy
    pages: Counter[int] = Counter()
    for node, count in re.findall(r" N(\d+)=(\d+)", maps) if is_small else ():
        pages[int(node)] += int(count)
    return Process(
        pid=pid,
        name=values["Name"],
        threads=tuple(threads),
        mems_allowed=parse_cpulist(values.get("Mems_allowed_list", "")),
        policy=policy,
        pages=dict(pages),
        rank=int(rank[1]) if rank else None,
    )


def _thread(pid: int, tid: int, proc: str, with_last_cpu: bool) -> Thread | None:
    try:
        cpus = frozenset(os.sched_getaffinity(tid))
    except OSError:  # it ended
        return None
    fields = parse_stat(read_bytes(f"{proc}/{pid}/task/{tid}/stat"))[1] if with_last_cpu else []
    return Thread(tid=tid, cpus=cpus, last_cpu=int(fields[36]) if len(fields) > 36 else None)
