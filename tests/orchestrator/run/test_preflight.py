"""What is said before the first run, of trees of machines that this one is not, and of a process that spins here."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from orchestrator.machine import noise, probe, slurm_node
from orchestrator.machine.busy import PROC, Busy, between, snapshot
from orchestrator.model import Cell, Group, Placement, PlannedRun, ScratchFile
from orchestrator.run import preflight

DUAL = probe.load_topology("pack:2 numa:1 core:2 pu:2")  # CPUs 0-7, NUMA nodes 0 and 1

CPU = "sys/devices/system/cpu"
SERVER = {
    **{f"{CPU}/cpu{n}/cpufreq/scaling_governor": "powersave\n" if n >= 6 else "performance\n" for n in range(8)},
    **{f"{CPU}/cpu{n}/thermal_throttle/core_throttle_count": f"{n // 7 * 12}\n" for n in range(8)},
    f"{CPU}/intel_pstate/no_turbo": "0\n",
    f"{CPU}/smt/active": "1\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
    "proc/sys/kernel/numa_balancing": "1\n",
    "proc/loadavg": "9.50 3.00 1.00 1/1800 91234\n",
    "proc/meminfo": "MemTotal: 1000 kB\nSwapTotal:       8388604 kB\nSwapFree:        4194302 kB\n",
    "proc/self/status": "Cpus_allowed_list:\t0-7\nMems_allowed_list:\t0-1\n",
    "proc/812/stat": f"812 (irqbalance) S {' '.join(['0'] * 49)}\n",
    "proc/self/mountinfo": "27 1 0:40 / / rw - tmpfs tmpfs rw\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("server")
    for path, text in SERVER.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def run(*cpus: int, membind: tuple[int, ...] = (0,), scratch: bool = False) -> PlannedRun:
    placement = Placement(name="here", groups=(Group(cpus=cpus, membind=membind),)) if cpus else None
    file = ScratchFile(path="/x", size_bytes=1 if scratch else 0, text=None if scratch else "1 2")
    return PlannedRun(
        sweep="s", tool="command", cell=Cell(sweep="s", tool="command", options={}), repeat=1, argv=("true",), env={},
        placement=placement, timeout_s=1.0, nominal_s=1.0, estimate_s=1.0, program="true", scratch=(file,),
    )  # fmt: skip


SWAP = "4096 MiB of swap are in use"


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([run(0, 2)], [SWAP]),
        ([run(0, 7)], ["CPU frequency governor is performance (1), powersave (1)", SWAP]),
        ([run(6)], ["CPU frequency governor is powersave", SWAP]),
        ([run(0), run(1, membind=())], ["automatic NUMA balancing is on", SWAP]),
        ([run()], ["CPU frequency governor is performance (6), powersave (2)", "automatic NUMA balancing is on", SWAP]),
        ([run(0, scratch=True)], [SWAP, "/ is tmpfs"]),
    ],
)  # fmt: skip
def test_a_glance_tells_what_concerns_the_plan(runs: list[PlannedRun], said: list[str], server: Path) -> None:
    found = preflight.glance(runs, DUAL, server, server)

    assert [finding.what for finding in found] == said
    assert all(finding.fix and finding.why for finding in found)


def test_a_file_that_a_cell_reads_is_looked_at_and_a_device_is_none(server: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("data")
    reads = [dataclasses.replace(run(0), reads=(str(tmp_path / "mine"), "/dev/null"))] * 2

    found = preflight.glance(reads, DUAL, server, server)

    assert [(f.what, f.fix) for f in found[1:]] == [("/ is tmpfs", "name a file on the file system to be measured")]


def test_the_doctor_tells_all_with_warnings_first(server: Path) -> None:
    found = preflight.examine(probe.facts(server / "sys", server / "proc"), server, server)

    assert [(finding.level, finding.what) for finding in found] == [
        ("warn", "load average 9.5 on 8 CPUs"),
        ("warn", "CPU frequency governor is performance (6), powersave (2)"),
        ("warn", "automatic NUMA balancing is on"),
        ("warn", SWAP),
        ("warn", "/ is tmpfs"),
        ("info", "turbo is on"),
        ("info", "transparent huge pages are always on"),
        ("info", "SMT is on"),
        ("info", "CPUs were throttled for their heat since boot, up to 12 times a core or package"),
        ("info", "irqbalance is running"),
    ]


def test_a_quiet_machine_is_not_spoken_of(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/loadavg").write_text("0.00 0.00 0.00 1/80 7\n")

    assert preflight.glance([run(0), run(scratch=True)], DUAL, tmp_path, tmp_path) == []


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"a": 3}, {"a": 3, "b": 0}, ["info"]),
        ({"a": 3}, {"a": 4}, ["warn"]),
        ({}, {"a": 0}, []),
        ({}, {}, []),
    ],
)
def test_throttling_now_is_worse_than_since_boot(
    before: dict[str, int], after: dict[str, int], said: list[str]
) -> None:
    assert [finding.level for finding in noise.of_throttling(before, after)] == said


def busy(pid: int, *cpus: int) -> Busy:
    return Busy(pid=pid, name="cc1", share=0.98, cpus=frozenset(cpus))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([busy(7, 2)], ["this sweep measures there"]),
        ([busy(7, 3)], ["an SMT sibling of CPU 2, where this sweep measures"]),
        ([busy(7, 0)], []),
        ([busy(7, 0, 2)], ["this sweep measures there"]),
        ([busy(n, 2) for n in range(9)], [*["this sweep measures there"] * 5, "as those do"]),
    ],
)
def test_processes_are_named_where_they_are_in_the_way(found: list[Busy], said: list[str]) -> None:
    assert [finding.why for finding in noise.of_processes(found, {2}, {3})] == said


@pytest.mark.parametrize(
    ("used", "others", "fix"),
    [
        ({2}, {0, 1}, "wait until it has ended, or keep it on other CPUs: taskset -acp 0-1 7"),
        ({2}, set(), "wait until it has ended"),
        (set(), set(), "wait until it has ended, or keep it on other CPUs: taskset -acp CPUS 7"),
    ],
)
def test_where_a_process_would_not_be_in_the_way(used: set[int], others: set[int], fix: str) -> None:
    assert noise.of_processes([busy(7, 2)], used, (), others)[0].fix == fix


@pytest.mark.slow
def test_a_process_that_spins_on_the_cpu_of_a_cell_is_named_before_the_first_run(pinsweep: Any, tmp_path: Path) -> None:
    cpu = min(probe.read_topology().allowed_cpus)
    (tmp_path / "e.yaml").write_text(
        'schema: 1\ntitle: e\ntool: command\nfixed: {command: echo 7, metrics: {n: {regex: "(7)"}}}\n'
        f"matrix: {{place: [pu {cpu}]}}\nrepeats: 1\n"
    )
    spin = "import ctypes; ctypes.CDLL(None).prctl(15, b'spin\\x1bner'); print(flush=True)\nwhile 1: pass"
    spinner = subprocess.Popen(["taskset", "-c", str(cpu), sys.executable, "-c", spin], stdout=subprocess.PIPE)
    try:
        assert spinner.stdout is not None
        spinner.stdout.readline()
        shares: list[float] = []
        for _ in range(5):
            (tmp_path / "e.db").unlink(missing_ok=True)
            before, begun = snapshot(PROC, [spinner.pid]), time.monotonic()
            done = pinsweep("run", "e.yaml", "-o", "e.db")
            found = between(before, snapshot(PROC, [spinner.pid]), time.monotonic() - begun)
            shares += [share for _, _, share in found] or [0.0]
            if f"(pid {spinner.pid})" in done.stderr:
                break
        else:
            if min(shares) < 0.4:
                pytest.skip(
                    "beside other work here, a process that spins may get no tenth of a CPU for a tenth of a second"
                )
    finally:
        spinner.kill()
        spinner.communicate()

    lines = done.stderr.splitlines()
    (said,) = (line for line in lines if f"(pid {spinner.pid})" in line)
    assert said.startswith("warn  spin\ufffdner (pid ")
    assert f" of a CPU, seen on CPU {cpu}: this sweep measures there" in said
    assert "; fix: wait until it has ended" in done.stderr
    assert lines.index(said) < lines.index("result file  e.db")


@pytest.mark.parametrize(
    ("node", "says", "refused"),
    [
        ("node1", "CPUEfctv=6 CPUTot=8\n CoreSpecCount=1 CPUSpecList=3,7", False),
        ("node1", "CPUEfctv=8 CPUTot=8", True),
        ("", "CPUEfctv=6 CPUTot=8\n CoreSpecCount=1", True),  # no job
        ("node1", "", True),
    ],
)
def test_the_whole_of_a_host_is_what_slurm_gives_to_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, node: str, says: str, refused: bool
) -> None:
    (tmp_path / "scontrol").write_text(f"#!/bin/sh\n[ \"$*\" = 'show node -- node1' ] && echo '{says}'\n")
    (tmp_path / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("SLURMD_NODENAME", node)
    machine = probe.load_topology("pack:1 [numa] core:4 pu:2(indexes=core:pu)").limited((0, 1, 2, 4, 5, 6))

    kept = slurm_node.describe_kept_cores(machine, slurm_node.node_of_this_job())
    (said, *_) = preflight.glance([], machine, tmp_path, kept=kept)

    if refused:
        with pytest.raises(preflight.PartOfMachine, match="6 of 8 PUs"):
            preflight.require_whole_node(machine, kept)
        assert said.level == "warn"
    else:
        preflight.require_whole_node(machine, kept)
        assert preflight.describe(said) == (
            "info  this process may use 6 of 8 PUs (CPUs 0-2,4-6): Slurm keeps the other 2 PUs for the system (CoreSpecCount),"
            " and this is all that a job may have"
        )
