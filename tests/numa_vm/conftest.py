"""Guests of numa-vm: one boot for each topology that a chosen test needs, two at a time.

numa-vm lies in shared/numa-vm, in the checkout or beside it, or where PINSWEEP_NUMA_VM says. Without it, without QEMU or
where its image cannot be built, these tests skip with the reason.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[2]
TOPOLOGIES = ("two-socket-smt", "ulysses-2x10", "four-node", "memory-only-node")  # the slowest first
KERNEL_ARGUMENTS = {"ulysses-2x10": "isolcpus=19"}
BUILD_PATIENCE_S = 900
PATIENCE_S = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """A guest that has done its work."""

    folder: Path  # what it left in /share
    facts: Mapping[str, Any]  # see inside.py


@pytest.fixture(scope="session")
def boots(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, Future[Guest]]]:
    vm = _numa_vm()
    needed = {
        item.callspec.params["guest"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and "guest" in item.fixturenames
    }
    with ThreadPoolExecutor(max_workers=2) as pool:
        yield {
            name: pool.submit(_boot, vm, name, tmp_path_factory.mktemp(name)) for name in TOPOLOGIES if name in needed
        }


@pytest.fixture
def guest(request: pytest.FixtureRequest, boots: Mapping[str, Future[Guest]]) -> Guest:
    """The guest of the topology that the test names: `@on("four-node")`."""
    return boots[request.param].result()


def _numa_vm() -> Path:
    beside = (root / "shared" / "numa-vm" for root in (PROJECT, PROJECT.parent))
    asked = os.environ.get("PINSWEEP_NUMA_VM")
    vm = next((p for p in ([Path(asked)] if asked else beside) if (p / "run").is_file()), None)
    if vm is None:
        pytest.skip(f"numa-vm is not here: no {asked or 'shared/numa-vm'}")
    if not shutil.which("qemu-system-x86_64"):
        pytest.skip("QEMU is not installed (apt-get install qemu-system-x86)")
    build = subprocess.run([vm / "build"], capture_output=True, text=True, timeout=BUILD_PATIENCE_S, check=False)
    cache = Path(os.environ.get("NUMA_VM_CACHE") or _user_cache() / "numa-vm")
    if build.returncode and not (cache / "rootfs.ext4").exists():
        pytest.skip(f"numa-vm's image cannot be built: {(build.stderr.strip() or '?').splitlines()[-1]}")
    return vm


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _boot(vm: Path, name: str, share: Path) -> Guest:
    kept = _user_cache() / "pinsweep" / "numa-vm-kernels"
    kernels = share / "cache" / "pinsweep" / "kernels"
    if kept.is_dir():  # compiled by an earlier guest: half a minute each
        shutil.copytree(kept, kernels)
    site = next(path for path in sys.path if (Path(path) / "click").is_dir())
    folders = {PROJECT: "/opt/project", Path(site): "/opt/site", Path(sys.prefix): "/opt/venv"}
    run = subprocess.run(
        [
            vm / "run", "--topology", name, "--share", share, "--timeout", str(PATIENCE_S),
            *(word for folder, path in folders.items() for word in ("--ro", f"{folder}:{path}")),
            f"--append={KERNEL_ARGUMENTS.get(name, '')}",
            "--", "python3", "/opt/project/tests/numa_vm/inside.py", name,
        ],
        capture_output=True, text=True, timeout=PATIENCE_S * 3, check=False,
    )  # fmt: skip
    print(run.stdout)
    assert run.returncode == 0, f"{name}: status {run.returncode}\n{run.stdout}\n{run.stderr}"
    for kernel in kernels.glob("*/"):  # beside them lie notes of which one it is
        if not (kept / kernel.name).exists():
            half = kept / f".{kernel.name}-{os.getpid()}"
            shutil.copytree(kernel, half)
            half.rename(kept / kernel.name)
    return Guest(folder=share, facts=json.loads((share / "facts.json").read_text()))
