"""memlat on a machine with a memory-only node (as CXL memory is), emulated: where its memory is, not how fast."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from orchestrator.programs import kernels
from parsers import mlc

PROJECT = Path(__file__).resolve().parents[2]
IN_THE_GUEST = """\
set -e
cd /share
./memlat --latency_matrix -b4m -t0.2 > latency
./memlat --bandwidth_matrix -b4m -t0.2 > bandwidth
numactl --membind=2 ./memlat --idle_latency -c0 -b4m -t0.2 > bound
./memlat --idle_latency -c0 -j2 -b64m -t20 > idle &
sleep 8
cat /proc/$!/numa_maps > maps
kill $!
./memlat --idle_latency -c0 -j3 -b4m 2> refused || true
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What memlat and the kernel said in a guest with CPUs on the nodes 0 and 1 and memory on 0, 1 and 2."""
    places = (
        os.environ.get("PINSWEEP_NUMA_VM"),
        PROJECT / "shared/numa-vm",
        PROJECT.parent / "shared/numa-vm",
    )
    vm = next((Path(place) for place in places if place and (Path(place) / "run").is_file()), None)
    if vm is None:
        pytest.skip("numa-vm is not here: set PINSWEEP_NUMA_VM")
    if not shutil.which("qemu-system-x86_64"):
        pytest.skip("QEMU is not installed (apt-get install qemu-system-x86)")
    if subprocess.run([vm / "build"], capture_output=True, check=False).returncode:
        pytest.skip("numa-vm's image cannot be built")
    share = tmp_path_factory.mktemp("guest")
    source = kernels.sources_folder() / "memlat.c"
    subprocess.run(
        [kernels.find_compiler(), "-O1", "-static", "-pthread", source, "-o", share / "memlat", "-lm"],
        check=True,
    )
    run = subprocess.run(
        [vm / "run", "--topology", "memory-only-node", "--share", share, "--", "bash", "-c", IN_THE_GUEST],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    return share


pytestmark = pytest.mark.slow


@pytest.mark.parametrize("metric", ["latency", "bandwidth"])
def test_a_memory_only_node_is_a_column_without_a_row(told: Path, metric: str) -> None:
    cells = mlc.parse((told / metric).read_text()).measurements.records()

    assert {(cell["from"], cell["to"]) for cell in cells} == {(a, b) for a in (0, 1) for b in (0, 1, 2)}
    assert {cell["metric"] for cell in cells} == {metric}


def test_its_memory_is_where_the_chase_is(told: Path) -> None:
    """By the kernel's own count of the process's pages."""
    pages = [
        sum(int(count) for count in re.findall(rf"\bN{node}=(\d+)", (told / "maps").read_text())) for node in range(3)
    ]

    assert pages[2] >= 64 << 8  # 64 MiB in pages of 4 KiB
    assert pages[0] + pages[1] < 2000
    assert "Each iteration took" in (told / "bound").read_text()


def test_a_node_without_memory_is_refused(told: Path) -> None:
    assert (told / "refused").read_text() == "memlat: node 3 has no memory that this process may use\n"
