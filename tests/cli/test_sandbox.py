"""Kernels, containers and interpreters that lack a system call: pinsweep works, or names what is missing."""

from __future__ import annotations

import errno
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.machine.probe import read_topology
from pinsweep import bug
from tests.cli.test_starts_anywhere import FEW, ok

CALLS = {"memfd_create": 319, "pidfd_open": 434, "mbind": 237, "set_mempolicy": 238, "get_mempolicy": 239}
POLICY = ["mbind", "set_mempolicy", "get_mempolicy"]
needs_seccomp = pytest.mark.skipif(
    platform.machine() != "x86_64" or not shutil.which("gcc") or not shutil.which("numactl"), reason="needs x86-64, gcc and numactl"
)  # fmt: skip


@pytest.fixture(scope="module")
def refuse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("refuse") / "refuse"
    subprocess.run(["gcc", "-o", program, Path(__file__).with_name("refuse.c")], check=True)
    return program


def without(
    refuse: Path, number: int, calls: list[str], *words: str, cwd: Path, home: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run pinsweep where these system calls fail with an error number."""
    numbers = ",".join(str(CALLS[call]) for call in calls)
    argv = [refuse, str(number), numbers, sys.executable, "-m", "pinsweep", *words]
    return subprocess.run(argv, cwd=cwd, env={**os.environ, **home}, capture_output=True, text=True, check=False)  # fmt: skip


@needs_seccomp
@pytest.mark.parametrize("number", [errno.ENOSYS, pytest.param(errno.EPERM, marks=pytest.mark.slow)])
def test_a_sweep_runs_on_an_old_kernel(refuse: Path, tmp_path: Path, home: Mapping[str, str], number: int) -> None:
    (tmp_path / "e.yaml").write_text(FEW.replace("NUMBER", "2").replace("WAIT", "true"))

    done = without(refuse, number, ["memfd_create", "pidfd_open"], "run", "e.yaml", "-o", "r.db", cwd=tmp_path, home=home)  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert ok(tmp_path / "r.db") == 2


@needs_seccomp
def test_a_plan_does_without_binding_where_there_is_one_node(
    refuse: Path, tmp_path: Path, home: Mapping[str, str]
) -> None:
    (tmp_path / "p.yaml").write_text(
        "schema: 1\ntool: poke\nfixed: {target: memory, bytes: 1M, count: 10, place: core 0}\nrepeats: 1\n"
    )
    words = ["plan", "p.yaml", "--format", "json"]

    plan: dict[str, Any] = json.loads(without(refuse, errno.EPERM, POLICY, *words, cwd=tmp_path, home=home).stdout)  # fmt: skip

    if len(read_topology().numa_nodes) == 1:
        (run,) = plan["runs"]
        assert any(word.startswith("--physcpubind=") for word in run["argv"])
        assert not any(word.startswith("--membind=") for word in run["argv"])
    else:
        (skipped,) = plan["skipped"]
        assert "set_mempolicy: Operation not permitted" in skipped["reason"]


@needs_seccomp
@pytest.mark.slow
def test_doctor_says_that_memory_cannot_be_bound(refuse: Path, tmp_path: Path, home: Mapping[str, str]) -> None:
    done = without(refuse, errno.EPERM, POLICY, "doctor", "--format", "json", cwd=tmp_path, home=home)

    (numactl,) = [part for part in json.loads(done.stdout)["programs"] if part["name"] == "numactl"]
    assert "set_mempolicy: Operation not permitted" in numactl["problem"]
    assert "SYS_NICE" in numactl["hint"]


@pytest.mark.parametrize(
    ("error", "place"),
    [
        (OSError(errno.EMFILE, "Too many open files", "some/file"), "some/file"),
        (OSError(errno.ENOSYS, "Function not implemented"), ""),
    ],
)
def test_an_error_of_the_system_has_a_place_and_a_hint(error: OSError, place: str) -> None:
    found, message, hint = bug.describe_system_error(error)

    assert (found, message) == (place, error.strerror)
    assert hint
