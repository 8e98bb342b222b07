from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.machine.probe import read_topology
from orchestrator.model import Group, Place, Placement
from orchestrator.placement.place import numactl, resolve
from orchestrator.placement.proof import LAST_CPUS, Process, Thread, look, mismatches, settled
from orchestrator.run.watchdog_process import NAME
from tests.waits import until

NUMACTL = shutil.which("numactl") or ""
real = pytest.mark.skipif(
    not NUMACTL or not Path("/proc/self/numa_maps").exists(), reason="no numactl, or a kernel without NUMA"
)
two_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU: nothing to confuse it with")

SLEEP = "import time; print('ready', flush=True); time.sleep(300)"
THREADS = (
    "import os, threading, time\n"
    "cpus = %s\n"
    "there = threading.Barrier(len(cpus) + 1)\n"
    "def work(cpu):\n"
    "    if cpu is not None: os.sched_setaffinity(0, {cpu})\n"
    "    there.wait(); time.sleep(300)\n"
    "for cpu in cpus: threading.Thread(target=work, args=(cpu,), daemon=True).start()\n"
    "there.wait(); print('ready', flush=True); time.sleep(300)"
)


@contextlib.contextmanager
def started(*argv: str, **env: str) -> Iterator[int]:
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env={**os.environ, **env})
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process.pid
    finally:
        process.kill()
        process.communicate()


def here(cpus: str, memory: str = "local", *, threads: int | None = None, processes: int = 1) -> Placement:
    (placement,) = resolve(
        Place(name="here", cpus=cpus, memory=memory), read_topology(), threads=threads, processes=processes
    )
    return placement


def cpus_here() -> list[int]:
    return sorted(os.sched_getaffinity(0))


# --- real processes ---


@real
@pytest.mark.parametrize("memory", ["local", "interleave", "any"])
def test_a_run_under_numactl_is_where_it_was_put(memory: str) -> None:
    asked = here("all", memory, threads=1)

    with started(*numactl(asked.groups[0], NUMACTL), sys.executable, "-c", SLEEP) as pid:
        seen = look(pid)

    (process,) = seen
    assert settled(asked, seen)
    assert mismatches(asked, seen) == []
    assert process.cpus == set(asked.groups[0].cpus)
    assert process.threads[0].last_cpu in asked.groups[0].cpus
    assert process.policy.startswith({"local": "bind:", "interleave": "interleave:", "any": "default"}[memory])
    assert sum(process.pages.values()) > 100


def run_there(kind: str, first: int, second: int) -> tuple[str, list[str]]:
    """Return the place that is asked for, and a command that runs somewhere else."""
    node = read_topology().numa_nodes[0].os_index
    threads = [
        sys.executable,
        "-c",
        THREADS % ("[None, None]" if kind == "crowd" else f"[{first}, {second}]"),
    ]
    return {
        "pins itself": (f"pu {first}", ["taskset", "-c", str(second), sys.executable, "-c", SLEEP]),
        "a thread": (f"pu {first}", threads),
        "crowd": (f"pu {first},{second}", ["taskset", "-c", str(first), *threads]),
        "policy": ("all", [NUMACTL, f"--preferred={node}", sys.executable, "-c", SLEEP]),
    }[kind]


@real
@two_cpus
@pytest.mark.parametrize(
    ("kind", "of", "text"),
    [
        ("pins itself", "PUs", "it may run on PUs {second}, requested {first}"),
        ("a thread", "PUs", "1 of 3 threads may run on PUs {second}, requested {first}"),
        ("crowd", "crowd", "3 threads are crowded on PUs {first}, requested"),
        ("policy", "policy", "memory policy is prefer"),
    ],
)
def test_what_runs_elsewhere_is_caught(kind: str, of: str, text: str) -> None:
    first, second = cpus_here()[:2]
    cpus, argv = run_there(kind, first, second)
    asked = here(cpus)

    with started(*numactl(asked.groups[0], NUMACTL), *argv) as pid:
        (mismatch,) = mismatches(asked, look(pid))

    assert mismatch.of == of
    assert text.format(first=first, second=second) in mismatch.text


@real
def test_ranks_are_told_apart_by_what_their_launcher_gave_them(tmp_path: Path) -> None:
    """Two ranks under a launcher that is not pinned, started in the wrong order."""
    cpus = cpus_here()
    one, other = cpus[0], cpus[-1]
    asked = Placement(name="pair", groups=(Group(cpus=(one,)), Group(cpus=(other,))))
    launcher = tmp_path / "mpirun"  # by its name it is a launcher
    launcher.write_text(
        f'#!/bin/sh\nPMI_RANK=1 {NUMACTL} -C {other} -- "$@" & \nPMI_RANK=0 {NUMACTL} -C {one} -- "$@" & \nwait\n'
    )
    launcher.chmod(0o755)
    process = subprocess.Popen([str(launcher), "sleep", "300"])
    try:
        until(lambda: [p.name for p in look(process.pid)].count("sleep") == 2)
        seen = look(process.pid)
        ranks = {p.rank: p for p in seen if p.rank is not None}

        assert settled(asked, seen)
        assert mismatches(asked, seen) == []
        assert [sorted(ranks[n].cpus) for n in (0, 1)] == [[one], [other]]
        swapped = Placement(name="swapped", groups=asked.groups[::-1])
        assert len(mismatches(swapped, seen)) == (2 if one != other else 0)
    finally:
        for one_of_them in reversed(look(process.pid)):
            os.kill(one_of_them.pid, signal.SIGKILL)
        process.wait()


@real
def test_descendants_are_seen_and_those_that_ended_are_not() -> None:
    code = (
        "import os, subprocess, time\n"
        "done = subprocess.Popen(['true']); os.waitid(os.P_PID, done.pid, os.WEXITED | os.WNOWAIT)\n"
        "child = subprocess.Popen(['sleep', '300']); print('ready', flush=True); time.sleep(300)"
    )
    with started(sys.executable, "-c", code) as pid:
        until(lambda: look(pid)[-1].name == "sleep")  # for an instant after exec, the kernel still has the old name
        seen = look(pid)
        for child in seen[1:]:
            os.kill(child.pid, signal.SIGKILL)

    assert [process.name for process in seen[1:]] == ["sleep"]  # the zombie of `true` is left out


@real
def test_a_look_sees_all_threads_and_the_last_cpu_of_the_first() -> None:
    with started(sys.executable, "-c", THREADS % str([None] * 64)) as pid:
        (process,) = look(pid)

    assert len(process.threads) == 65
    assert sum(thread.last_cpu is not None for thread in process.threads) == min(65, LAST_CPUS)


# --- the decision alone ---


def process(name: str = "stream", *masks: set[int], **more: object) -> Process:
    threads = tuple(Thread(tid=100 + i, cpus=frozenset(m), last_cpu=min(m)) for i, m in enumerate(masks))
    made = Process(pid=100, name=name, threads=threads, mems_allowed=frozenset({0, 1}), policy="bind:0")
    return replace(made, **more)  # type: ignore[arg-type]


ONE = Placement(name="one", groups=(Group(cpus=(0, 1), membind=(0,)),))
TWO = Placement(name="two", groups=(Group(cpus=(0,), membind=(0,)), Group(cpus=(4,), membind=(1,))))


@pytest.mark.parametrize(
    ("asked", "seen", "said"),
    [
        (ONE, [process("stream", {0, 1})], []),
        (ONE, [process("stream", {0}, {1})], []),
        (ONE, [process("memlat", {0})], []),  # one thread may pin itself inside
        (ONE, [process("a", {0}), process("a", {1})], []),
        (ONE, [process("sh", {0, 1}), process("a", {0}), process("a", {0})], []),  # the shell may do the work
        (ONE, [process("a", {0}), process("a", {0})], ["2 threads of 2 processes are crowded on PUs 0, requested 0-1"]),
        (ONE, [process("stream", {0}, {0})], ["2 threads are crowded on PUs 0, requested 0-1"]),
        (ONE, [process("stream", {0, 2})], ["it may run on PUs 2, requested 0-1"]),
        (ONE, [process("stream", {0}, {3})], ["1 of 2 threads may run on PUs 3, requested 0-1"]),
        (ONE, [process("stream", {0, 1}, policy="default")], ["memory policy is default, requested bind:0"]),
        (ONE, [process("stream", {0, 1}, policy="bind:0-1")], ["memory policy is bind:0-1, requested bind:0"]),
        (ONE, [process("stream", {0, 1}, policy="interleave:0")], ["is interleave:0, requested bind:0"]),
        (ONE, [process("stream", {0, 1}, policy="bind=static:0")], []),
        (ONE, [process("stream", {0, 1}, policy="")], []),  # a kernel without NUMA
        (ONE, [process("stream", {0, 1}, mems_allowed=frozenset({1}))], ["allows memory of NUMA nodes 1, requested 0"]),
        (ONE, [process("mpirun", {0, 1, 2, 3}, policy="default"), process("IMB-MPI1", {0, 1})], []),
        (ONE, [], []),
        (TWO, [process("IMB-MPI1", {0}, rank=0)], []),
        (TWO, [process("IMB-MPI1", {4}, rank=1, policy="bind:1"), process("IMB-MPI1", {0}, rank=0)], []),
        (TWO, [process("IMB-MPI1", {0}), process("IMB-MPI1", {4}, policy="bind:1", pid=101)], []),
        # what seed 003 did: hwloc-bind core:0 core:7 gives both ranks the union
        (
            TWO,
            [process("IMB-MPI1", {0, 4}, rank=0), process("IMB-MPI1", {0, 4}, rank=1, policy="bind:1")],
            ["rank 0: IMB-MPI1 (100): it may run on PUs 4, requested 0", "rank 1: IMB-MPI1 (100): it may run on PUs 0"],
        ),
        (
            TWO,
            [process("IMB-MPI1", {0}, rank=0), process("IMB-MPI1", {4}, rank=1, policy="bind:1"), process("IMB-MPI1", {5}, rank=2)],
            ["rank 2 was not requested"],
        ),
    ],
)  # fmt: skip
def test_what_is_a_mismatch(asked: Placement, seen: list[Process], said: list[str]) -> None:
    found = [mismatch.text for mismatch in mismatches(asked, seen)]

    assert len(found) == len(said)
    assert all(part in text for part, text in zip(said, found, strict=True))


def test_interleaving_is_checked_by_its_nodes() -> None:
    asked = Placement(name="wide", groups=(Group(cpus=(0,), interleave=(0, 1)),))

    assert mismatches(asked, [process("stream", {0}, policy="interleave:0-1")]) == []
    assert len(mismatches(asked, [process("stream", {0}, policy="bind:0-1")])) == 1


def test_nothing_is_decided_before_the_tool_is_there() -> None:
    assert not settled(ONE, [process(NAME, {0, 1})])
    assert mismatches(ONE, [process(NAME, {0, 1})]) == []  # the watchdog's child, exec'ed and not yet renamed
    assert not settled(ONE, [process("numactl", {0, 1})])
    assert not settled(TWO, [process("mpirun", {0, 1, 4}), process("IMB-MPI1", {0})])
    assert settled(TWO, [process("IMB-MPI1", {0}), process("IMB-MPI1", {4})])


@pytest.mark.parametrize(("memory", "policy"), [("VmRSS:\t100 kB\n", "default"), ("", "")])
def test_a_process_that_ends_meanwhile_has_no_policy(memory: str, policy: str, tmp_path: Path) -> None:
    """It loses its memory first, and then its policy: that is no run that was not bound."""
    folder = tmp_path / str(os.getpid())
    folder.mkdir()
    (folder / "status").write_text(f"Name:\twho\nState:\tR (running)\n{memory}")
    (folder / "numa_maps").write_text("7f00 default anon=1 N0=1\n")

    (folder / "task" / str(os.getpid())).mkdir(parents=True)

    (found,) = look(os.getpid(), str(tmp_path))

    assert found.policy == policy
