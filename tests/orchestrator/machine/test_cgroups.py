"""Limits of cgroups: read from trees of both versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.machine import cgroups
from orchestrator.machine.cgroups import Memory
from orchestrator.machine.probe import available_memory_bytes
from tests.orchestrator.machine.test_counters import write

MIB = 1 << 20
STAT = f"anon {20 * MIB}\ninactive_file {30 * MIB}\ntotal_inactive_file {30 * MIB}\n"
V2 = {
    "proc/self/cgroup": "0::/pod/box\n",
    "sys/fs/cgroup/pod/memory.max": f"{200 * MIB}\n",
    "sys/fs/cgroup/pod/memory.current": f"{120 * MIB}\n",
    "sys/fs/cgroup/pod/memory.stat": STAT,
    "sys/fs/cgroup/pod/cpu.max": "50000 100000\n",
    "sys/fs/cgroup/pod/box/memory.max": "max\n",
    "sys/fs/cgroup/pod/box/cpu.max": "max 100000\n",
}
V1 = {
    "proc/self/cgroup": "7:cpu,cpuacct:/pod\n4:memory:/pod/box\n0::/\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
    "sys/fs/cgroup/memory/pod/memory.limit_in_bytes": f"{200 * MIB}\n",
    "sys/fs/cgroup/memory/pod/memory.usage_in_bytes": f"{120 * MIB}\n",
    "sys/fs/cgroup/memory/pod/memory.stat": STAT,
    "sys/fs/cgroup/memory/pod/box/memory.limit_in_bytes": f"{300 * MIB}\n",
    "sys/fs/cgroup/memory/pod/box/memory.usage_in_bytes": f"{290 * MIB}\n",
    "sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_quota_us": "150000\n",
    "sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_period_us": "100000\n",
}
CONTAINER = {
    "proc/self/cgroup": "0::/docker/f00\n",
    "sys/fs/cgroup/memory.max": f"{64 * MIB}\n",
    "sys/fs/cgroup/cpu.max": "max 100000\n",
}


@pytest.mark.parametrize(
    ("files", "memory", "cpus", "text"),
    [
        (V2, Memory(200 * MIB, 110 * MIB), 0.5, "memory 200 MiB, CPU time of 0.5 CPUs"),
        (V1, Memory(200 * MIB, 10 * MIB), 1.5, "memory 200 MiB, CPU time of 1.5 CPUs"),
        (CONTAINER, Memory(64 * MIB, 64 * MIB), None, "memory 64 MiB"),
        ({"proc/self/cgroup": "0::/\n"}, None, None, None),
        ({}, None, None, None),
    ],
)
def test_the_tightest_limit_of_all_groups_counts(
    tmp_path: Path, files: dict[str, str], memory: Memory | None, cpus: float | None, text: str | None
) -> None:
    sys, proc = tmp_path / "sys", tmp_path / "proc"
    write(tmp_path, {"proc/meminfo": "MemAvailable: 4194304 kB\n", **files})

    assert (cgroups.memory(sys, proc), cgroups.cpus(sys, proc)) == (memory, cpus)
    assert cgroups.limits(4 << 30, 2, sys, proc) == text
    assert available_memory_bytes(sys, proc) == (memory.left if memory else 4 << 30)


def test_a_limit_above_the_machine_is_none(tmp_path: Path) -> None:
    write(tmp_path, V2)
    assert cgroups.limits(100 * MIB, 1, tmp_path / "sys", tmp_path / "proc") == "CPU time of 0.5 CPUs"
