"""Where a run really was, from `pinsweep run` to the result file: proven, caught where it was elsewhere, kept off."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.machine.cpulist import format_cpulist, parse_cpulist
from orchestrator.machine.probe import read_topology
from tests.conftest import Cli

CPUS = sorted(os.sched_getaffinity(0))
CORES = [core for core in read_topology().cores if set(core.cpus) & set(CPUS)]

pytestmark = [
    pytest.mark.skipif(not shutil.which("numactl"), reason="numactl is not installed"),
    pytest.mark.skipif(len(CORES) < 2, reason="one core: nothing to confuse it with"),
]

EXPERIMENT = """\
schema: 1
title: Somewhere
tool: command
fixed:
  command: {command}
  metrics: {{n: {{regex: "found ([0-9]+)"}}}}
matrix: {{place: [pu {cpu}]}}
repeats: 2
"""


def write(folder: Path, command: str, cpu: int = CPUS[0]) -> None:
    (folder / "e.yaml").write_text(EXPERIMENT.format(command=json.dumps(command), cpu=cpu))


def runs(path: Path, columns: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(path) as db:
        return db.execute(f"SELECT {columns} FROM run ORDER BY run_id").fetchall()


REPINS = f"taskset -c {CPUS[-1]} sh -c 'sleep 0.4; echo found 7'"
"""A wrapper that pins itself anew."""


def test_a_run_that_was_elsewhere_fails_and_gives_no_figure(pinsweep: Cli, tmp_path: Path) -> None:
    write(tmp_path, REPINS)

    done = pinsweep("run", "e.yaml", "-o", "e.db")
    again = pinsweep("run", "e.yaml", "-o", "e.db")
    export = pinsweep("export", "e.db", "--format", "json")

    assert (done.returncode, again.returncode) == (1, 1)
    assert "misplaced: sh (" in done.stderr
    assert f"it may run on PUs {CPUS[-1]}, requested {CPUS[0]}" in done.stderr
    assert "2 failed before; --retry-failed" in again.stderr
    assert runs(tmp_path / "e.db", "status, exit_code") == [("misplaced", 0)] * 2
    asked, seen = map(json.loads, runs(tmp_path / "e.db", "placement, seen")[0])
    assert asked["groups"][0]["cpus"] == [CPUS[0]]
    assert {process["cpus"] for process in seen["processes"]} == {str(CPUS[-1])}
    assert "7.0" not in export.stdout


@pytest.fixture
def cpuset_of_the_last_cpu() -> Iterator[Path]:
    """A cgroup that allows the last CPU alone: the file that takes a process in."""
    v1, v2 = Path("/sys/fs/cgroup/cpuset"), Path("/sys/fs/cgroup")
    folder = (v1 if v1.is_dir() else v2) / f"pinsweep-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made: {error.strerror}")
    try:
        try:
            (folder / "cpuset.mems").write_text((folder.parent / "cpuset.mems").read_text().strip() or "0")
            (folder / "cpuset.cpus").write_text(str(CPUS[-1]))
        except OSError as error:
            pytest.skip(f"no cpuset can be made: {error.strerror}")
        yield folder / "cgroup.procs"
    finally:
        folder.rmdir()


def test_a_cgroup_that_takes_the_cpus_away_is_caught(
    pinsweep: Cli, tmp_path: Path, cpuset_of_the_last_cpu: Path
) -> None:
    write(tmp_path, f"sh -c 'echo $$ > {cpuset_of_the_last_cpu}; sleep 0.5; echo found 1'")

    done = pinsweep("run", "e.yaml", "-o", "e.db", "--repeats", "1")

    assert done.returncode == 1
    ((status, reason),) = runs(tmp_path / "e.db", "status, reason")
    assert status == "misplaced"
    assert f"it may run on PUs {CPUS[-1]}, requested {CPUS[0]}" in reason


def test_a_tool_that_is_moved_when_nobody_looks_any_more_is_caught_at_its_end(pinsweep: Cli, tmp_path: Path) -> None:
    """It has been seen in its place by then, and is not looked at again while it measures."""
    write(tmp_path, f"sh -c 'sleep 1; taskset -pc {CPUS[-1]} $$ >&2; sleep 0.2; echo found 1'")

    pinsweep("run", "e.yaml", "-o", "e.db", "--repeats", "1")

    ((status, reason),) = runs(tmp_path / "e.db", "status, reason")
    assert status == "misplaced"
    assert f"it may run on PUs {CPUS[-1]}, requested {CPUS[0]}" in reason


@pytest.mark.slow
def test_where_it_is_allowed_a_misplaced_run_is_kept_as_such_and_fails_nothing(pinsweep: Cli, tmp_path: Path) -> None:
    write(tmp_path, REPINS)

    done = pinsweep("run", "e.yaml", "-o", "e.db", "--allow-misplaced")
    again = pinsweep("run", "e.yaml", "-o", "e.db", "--allow-misplaced", "--retry-failed")
    strict = pinsweep("run", "e.yaml", "-o", "e.db")

    assert (done.returncode, again.returncode, strict.returncode) == (0, 0, 1)
    assert "2 misplaced" in done.stderr
    assert "nothing to do, 2 done before" in again.stderr
    assert runs(tmp_path / "e.db", "status, attempt") == [("misplaced", 1)] * 2


WHO = """\
#!/bin/sh
# says where its parent (the watchdog), its parent's parent (pinsweep) and itself may run, once the watchdog has gone where pinsweep is
where() {
    while read -r key value; do
        [ "$key" = Cpus_allowed_list: ] && echo "$value"
    done < /proc/$1/status
}
while read -r key value; do
    [ "$key" = PPid: ] && grandparent=$value
done < /proc/$PPID/status
until [ "$(where $PPID)" = "$(where $grandparent)" ]; do sleep 0.02; done
for pid in $grandparent $PPID $$; do
    read -r name < /proc/$pid/comm
    echo "$name $(where $pid)"
done
echo found 1
"""


@pytest.mark.parametrize("core", CORES[:2], ids=lambda core: f"core {core.index}")
def test_pinsweep_and_its_watchdog_wait_on_other_cores(pinsweep: Cli, tmp_path: Path, core: Any) -> None:
    cpu = min(set(core.cpus) & set(CPUS))
    (tmp_path / "who").write_text(WHO)
    (tmp_path / "who").chmod(0o755)
    write(tmp_path, str(tmp_path / "who"), cpu)

    done = pinsweep("run", "e.yaml", "-o", "e.db")

    assert done.returncode == 0, done.stderr
    shown = pinsweep("show", "e.db", "1", "--raw").stdout.split()
    seen = dict(zip(shown[::2], map(parse_cpulist, shown[1::2]), strict=True))
    (us,) = seen.keys() - {"sweep-watchdog", "who", "found"}  # "pinsweep", or "python" started with -m
    assert seen["who"] == {cpu}
    assert seen[us].isdisjoint(core.cpus)
    assert seen["sweep-watchdog"] == seen[us]
    (recorded,) = {json.loads(text)["orchestrator"] for (text,) in runs(tmp_path / "e.db", "seen")}
    assert recorded == format_cpulist(seen[us])


def test_where_all_is_measured_pinsweep_stays_where_it_is(pinsweep: Cli, tmp_path: Path) -> None:
    write(tmp_path, "sh -c 'sleep 0.4; echo found 1'")
    path = tmp_path / "e.yaml"
    path.write_text(path.read_text().replace(f"pu {CPUS[0]}", "all"))

    assert pinsweep("run", "e.yaml", "-o", "e.db").returncode == 0
    (recorded,) = {json.loads(text)["orchestrator"] for (text,) in runs(tmp_path / "e.db", "seen")}
    assert recorded == format_cpulist(CPUS)


def test_cpus_that_were_taken_away_after_planning_are_a_failed_run(pinsweep: Cli, tmp_path: Path) -> None:
    """A numactl of another mask than pinsweep planned with, as when a cpuset is narrowed during a sweep."""
    shim = tmp_path / "bin" / "numactl"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec taskset -c {CPUS[-1]} {shutil.which("numactl")} "$@"\n')
    shim.chmod(0o755)
    write(tmp_path, "sh -c 'sleep 0.4; echo found 1'")

    done = pinsweep("run", "e.yaml", "-o", "e.db", env={"PATH": f"{shim.parent}:{os.environ['PATH']}"})

    assert done.returncode == 1
    assert f"cpu argument {CPUS[0]} is out of range" in done.stderr
    assert {status for (status,) in runs(tmp_path / "e.db", "status")} == {"failed"}


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_nothing_is_opened_or_written_from_the_proof_to_the_tool_s_end(tmp_path: Path) -> None:
    """Nothing is parsed, compressed or stored while a tool runs; nobody looks through /proc for it."""
    write(tmp_path, "sh -c 'sleep 2; echo found 1'")
    trace = tmp_path / "trace"
    calls = "trace=execve,openat,write,pwrite64,fdatasync,exit_group"
    argv = ["strace", "-f", "--seccomp-bpf", "-e", calls, "-o", str(trace)]
    done = subprocess.run(
        [*argv, sys.executable, "-m", "pinsweep", "run", "e.yaml", "-o", "e.db"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "ptrace" in done.stderr:
        pytest.skip("strace may not trace here")
    assert done.returncode == 0, done.stderr

    lines = trace.read_text().splitlines()
    sleeps = [(i, line.split()[0]) for i, line in enumerate(lines) if 'execve("' in line and '["sleep", "2"]' in line]
    sleeps = [(i, pid) for i, pid in sleeps if "ENOENT" not in lines[i]]
    assert len(sleeps) == 2
    for begun, pid in sleeps:
        ended = next(i for i, line in enumerate(lines) if i > begun and re.match(rf"{pid} +exit_group", line))
        tool = {pid} | {line.split()[0] for line in lines[:ended] if "execve(" in line} - {lines[0].split()[0]}
        ours = [line for line in lines[begun:ended] if line.split()[0] not in tool]
        assert not [line for line in ours if 'openat(AT_FDCWD, "/proc",' in line]
        proof = max((i for i, line in enumerate(ours) if "/proc/" in line), default=-1)
        assert proof >= 0
        assert ours[proof + 1 :] == []
