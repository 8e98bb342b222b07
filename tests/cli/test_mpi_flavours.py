"""IMB sweeps under every MPI that this machine has: Open MPI and MPICH with a compiler of their own, Intel's wheel.

Where IMB is not built, `pingpong.c` is, by each MPI's `mpicc`: a real ping-pong under a real launcher.
PINSWEEP_TEST_IMB=/a/IMB-MPI1:/b/IMB-MPI1 adds programs.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.tools import _mpi
from tests.conftest import Cli
from tests.waits import PATIENCE_S, until

COMPILERS = [path for name in ("mpicc.openmpi", "mpicc.mpich") if (path := shutil.which(name))]
WHEEL = Path(sys.executable).parent / "IMB-MPI1"
GIVEN = [path for path in os.environ.get("PINSWEEP_TEST_IMB", "").split(":") if path]
FLAVOURS = [*COMPILERS, *GIVEN, *([str(WHEEL)] if WHEEL.exists() else [])]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FLAVOURS, reason="no MPI here: mpicc.openmpi, mpicc.mpich, or the mpi extra"),
    pytest.mark.skipif(not shutil.which("numactl"), reason="numactl is not installed"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs"),
]

SWEEP = """\
schema: 1
title: p
tool: imb
fixed: {{msglog: "2:2", iter: "{times}", time: 600, iter_policy: "off"}}
matrix: {{benchmark: [{benchmarks}], place: [same package]}}
repeats: 1
timeout: {timeout}
"""
SHORT = SWEEP.format(benchmarks="PingPong", times="200", timeout=60)
ENDLESS = SWEEP.format(benchmarks="PingPong", times="2000000000,2000000000", timeout=1)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Return the program of a flavour: the one given, or pingpong.c through that mpicc."""
    folder = tmp_path_factory.mktemp("mpi")

    def build(flavour: str) -> str:
        if flavour not in COMPILERS:
            return flavour
        program = folder / Path(flavour).name / "IMB-MPI1"
        if not program.exists():
            program.parent.mkdir()
            source = Path(__file__).parent / "pingpong.c"
            subprocess.run([flavour, "-O1", "-Wall", str(source), "-o", str(program)], check=True)
        return str(program)

    return build


@pytest.fixture(params=FLAVOURS, ids=[Path(path).name + str(i) for i, path in enumerate(FLAVOURS)])
def imb(request: pytest.FixtureRequest, built: Callable[[str], str]) -> str:
    return str(Path(built(request.param)).resolve())


@pytest.fixture(autouse=True)
def nothing_is_left(imb: str) -> Iterator[None]:
    """Whatever a test does, none of its processes lives afterwards."""
    yield
    until(lambda: not _alive(imb))


def _alive(program: str, word: str = "") -> list[int]:
    """Return the processes that are this program, with this word among theirs, not those that only name it."""
    found = []
    for entry in os.scandir("/proc"):
        with contextlib.suppress(OSError):
            if not entry.name.isdigit() or os.readlink(f"{entry.path}/exe") != program:  # noqa: PTH115
                continue
            if word.encode() in Path(entry.path, "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(path) as db:
        return db.execute(query).fetchall()


def environment(imb: str) -> dict[str, str]:
    return {"PINSWEEP_IMB": imb, "PINSWEEP_MPIRUN": ""}


class TestEveryFlavour:
    def test_a_timeout_ends_the_ranks_each_on_the_core_that_it_was_given(
        self, pinsweep: Cli, tmp_path: Path, imb: str
    ) -> None:
        (tmp_path / "p.yaml").write_text(ENDLESS)

        done = pinsweep("run", "p.yaml", "-o", "p.db", env=environment(imb))

        assert done.returncode == 1
        ((status, placement, seen),) = rows(tmp_path / "p.db", "SELECT status, placement, seen FROM run")
        asked = [",".join(map(str, group["cpus"])) for group in json.loads(placement)["groups"]]
        ranks = {p["rank"]: p["cpus"] for p in json.loads(seen)["processes"] if p["rank"] is not None}
        assert status == "timeout"
        assert [ranks[0], ranks[1]] == asked
        assert asked[0] != asked[1]

    def test_it_stays_on_this_host_inside_a_batch_job_and_its_mpi_is_recorded(
        self, pinsweep: Cli, tmp_path: Path, imb: str
    ) -> None:
        (tmp_path / "p.yaml").write_text(SHORT)
        job = {
            **dict.fromkeys(("SLURM_JOB_ID", "SLURM_JOBID"), "7"),
            **dict.fromkeys(("SLURM_NODELIST", "SLURM_JOB_NODELIST"), "nosuchnode1,nosuchnode2"),
            **dict.fromkeys(("SLURM_NNODES", "SLURM_JOB_NUM_NODES"), "2"),
            **dict.fromkeys(("SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"), "1(x2)"),
        }

        done = pinsweep("run", "p.yaml", "-o", "p.db", env={**environment(imb), **job})

        assert done.returncode == 0, done.stderr
        ((programs,),) = rows(tmp_path / "p.db", "SELECT programs FROM session")
        name = json.loads(programs)["imb"]["mpi"]
        linked = _mpi.library(
            subprocess.run(["ldd", imb], capture_output=True, text=True, check=False).stdout, lambda *_: False
        )
        assert linked is not None
        assert name.startswith("Open MPI") == (linked.family == _mpi.OPEN_MPI)
        assert name.rpartition(" ")[2][0].isdigit()

    def test_ctrl_c_ends_the_ranks(self, tmp_path: Path, home: dict[str, str], imb: str) -> None:
        (tmp_path / "p.yaml").write_text(ENDLESS.replace("timeout: 1", "timeout: 60"))
        running = subprocess.Popen(
            [sys.executable, "-m", "pinsweep", "run", "p.yaml", "-o", "p.db"], cwd=tmp_path, start_new_session=True,
            env={**os.environ, **home, **environment(imb)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        until(lambda: _alive(imb, "PingPong"))

        os.killpg(running.pid, signal.SIGINT)
        said = running.communicate(timeout=PATIENCE_S)[0].decode()

        assert running.returncode == 130, said
        assert rows(tmp_path / "p.db", "SELECT status FROM run") == [("interrupted",)]

    def test_a_launcher_of_another_mpi_is_a_failure_with_its_reason(
        self, pinsweep: Cli, tmp_path: Path, imb: str
    ) -> None:
        """What hides its library (a script) cannot be refused beforehand; it exits with 0, each rank alone."""
        own = _mpi.find_mpi(imb)
        assert isinstance(own, _mpi.Mpi)
        wrong = "mpirun.mpich" if own.name.startswith("Open MPI") else "mpirun.openmpi"
        if not shutil.which(wrong):
            pytest.skip(f"{wrong} is not installed")
        wrapper = tmp_path / "wrapper"
        library = "".join(f"{name}={value} " for name, value in own.env.items())
        wrapper.write_text(f'#!/bin/sh\n{library}exec {imb} "$@"\n')
        wrapper.chmod(0o755)
        (tmp_path / "p.yaml").write_text(SWEEP.format(benchmarks="PingPong, Allreduce", times="200", timeout=60))

        refused = pinsweep("run", "p.yaml", "-o", "p.db", env={"PINSWEEP_IMB": imb, "PINSWEEP_MPIRUN": wrong})
        done = pinsweep("run", "p.yaml", "-o", "p.db", env={"PINSWEEP_IMB": str(wrapper), "PINSWEEP_MPIRUN": wrong})

        assert refused.returncode == 2
        assert "each process would run alone" in refused.stderr
        assert done.returncode == 1
        for status, reason in rows(tmp_path / "p.db", "SELECT status, reason FROM run"):
            assert status == "failed"
            assert "processes did not find each other" in reason or "exit status" in reason
