"""The machine's counters: read from a tree like a server's, and from this machine."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.machine.counters import TICK_S, Counters, Moved, between
from orchestrator.run.watchdog import Watchdog
from orchestrator.run.watchdog_process import Ended

RANGE_J = 262143.32885


def package(number: int, energy_uj: int) -> dict[str, str]:
    folder = f"sys/class/powercap/intel-rapl:{number}"
    return {
        f"{folder}/name": f"package-{number}\n",
        f"{folder}/energy_uj": f"{energy_uj}\n",
        f"{folder}/max_energy_range_uj": f"{round(RANGE_J * 1e6)}\n",
    }


PARTS = {
    "sys/class/powercap/intel-rapl:0:0/name": "core\n",
    "sys/class/powercap/intel-rapl:0:0/energy_uj": "5\n",
    "sys/class/powercap/intel-rapl:1/name": "psys\n",
    "sys/class/powercap/intel-rapl:1/energy_uj": "7\n",
}


SERVER = {
    "proc/stat": "cpu  9 9 9 9 9 9 9 9 0 0\n"
    "cpu0 1000 10 200 5000 50 5 15 2 0 0\n"
    "cpu1 100 0 20 6000 0 0 0 0 0 0\n"
    "cpu2 1 0 2 7000 0 0 0 0 0 0\n"
    "intr 5 0 0\nctxt 1\n",
    "proc/vmstat": "nr_free_pages 9\npswpin 7\npswpout 5\npgmajfault 100\n",
    "proc/diskstats": " 259       0 nvme0n1 10 0 2048 5 20 0 4096 6 0 7 8 0 0 0 0 1 1\n",
    "proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 total=0\n",
    "proc/self/cgroup": "0::/user.slice/job7\n",
    "sys/fs/cgroup/user.slice/cpu.stat": "usage_usec 9\nnr_periods 9\nnr_throttled 3\nthrottled_usec 250000\n",
    "sys/fs/cgroup/user.slice/job7/cpu.stat": "nr_throttled 1\nthrottled_usec 50000\n",
    "sys/fs/cgroup/user.slice/memory.events": "oom 9\noom_kill 9\n",
    "sys/fs/cgroup/user.slice/job7/memory.events": "low 0\noom 1\noom_kill 1\n",
    "sys/devices/system/cpu/cpu0/topology/physical_package_id": "0\n",
    "sys/devices/system/cpu/cpu1/topology/physical_package_id": "0\n",
    "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count": "4\n",
    "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": "1\n",
    "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count": "2\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "2400000\n",
    "sys/devices/system/edac/mc/mc0/ce_count": "0\n",
    "sys/devices/system/edac/mc/mc1/ce_count": "6\n",
    **package(0, 1_000_000),
    **PARTS,
    "sys/class/hwmon/hwmon1/name": "coretemp\n",
    "sys/class/hwmon/hwmon1/temp1_input": "54000\n",
    "sys/class/hwmon/hwmon2/name": "nvme\n",
    "sys/class/hwmon/hwmon2/temp1_input": "70000\n",
    "proc/7/stat": "7 (sweep watch) dog) S 1 7 7 0 -1 0 0 0 0 0 3 2 100 50 20 0 1 0 9 9 9\n",
    "proc/7/io": "rchar: 1\nread_bytes: 4096\nwrite_bytes: 0\ncancelled_write_bytes: 0\n",
}
LATER = {
    "proc/stat": SERVER["proc/stat"]
    .replace("cpu0 1000 10 200 5000 50 5 15 2", "cpu0 1100 10 210 5060 60 6 19 5")
    .replace("cpu2 1 0 2 7000", "cpu2 1 0 2 7200"),
    "proc/vmstat": "pswpin 9\npswpout 2\npgmajfault 101\n",
    "proc/diskstats": " 259 0 nvme0n1 11 0 4096 5 20 0 4096 6 0 7 8\n",
    "proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=3000000\n",
    "sys/fs/cgroup/user.slice/cpu.stat": "nr_throttled 8\nthrottled_usec 1250000\n",
    "sys/fs/cgroup/user.slice/job7/memory.events": "low 0\noom 2\noom_kill 3\n",
    "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count": "5\n",
    "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count": "4\n",
    "sys/devices/system/edac/mc/mc1/ce_count": "7\n",
    **package(0, 91_000_000),
    "sys/class/powercap/intel-rapl:1/energy_uj": "170000000\n",
    "sys/class/hwmon/hwmon1/temp1_input": "61000\n",
    "proc/7/stat": "7 (sweep watch) dog) S 1 7 7 0 -1 0 0 0 0 0 4 2 160 70 20 0 1 0 9 9 9\n",
    "proc/7/io": "rchar: 1\nread_bytes: 8192\nwrite_bytes: 512\n",
}


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_a_server_s_counters_are_read_and_subtracted(tmp_path: Path) -> None:
    root = write(tmp_path, SERVER)
    with Counters(root) as counters:
        before = counters.read((0, 1), watchdog=7)
        write(root, LATER)
        after = counters.read((0, 1), watchdog=7)
    changes = between(before, after, cpus=(0, 1), disks=("259:0", "8:0"))

    assert changes.cpus.keys() == {0, 1}
    assert changes.cpus[0].user_s == pytest.approx(100 * TICK_S)
    assert changes.cpus[0].irq_s == pytest.approx(5 * TICK_S)
    assert changes.cpus[0].steal_s == pytest.approx(3 * TICK_S)
    assert changes.tool_s == pytest.approx(80 * TICK_S)
    assert changes.tool_moved == Moved(read_bytes=4096, written_bytes=512)
    assert changes.disks == {"259:0": Moved(read_bytes=1 << 20, written_bytes=0)}
    assert changes.own_s >= 1 * TICK_S
    assert changes.totals == pytest.approx(
        {
            "pswpin": 2, "pgmajfault": 1, "pressure_cpu_s": 0.5, "throttle_core": 2, "throttle_package": 1,
            "quota_hits": 5, "quota_s": 1.0, "memory_errors": 1, "energy_j": 90, "oom_kills": 2,
            "temperature_c": 61, "frequency_hz": 2.4e9,
        }
    )  # fmt: skip


def test_busy_is_all_that_was_not_idle(tmp_path: Path) -> None:
    root = write(tmp_path, SERVER)
    with Counters(root) as counters:
        before = counters.read()
        after = replace(counters.read(), at_s=before.at_s + 0.05)

    assert between(before, after, cpus=(2,)).cpus[2].busy_s == pytest.approx(0.05)  # its idle time stood still


def test_what_a_machine_does_not_have_is_not_there(tmp_path: Path) -> None:
    with Counters(tmp_path) as counters:
        changes = between(counters.read((0,)), counters.read((0,)), cpus=(0,), disks=("8:0",))
    assert (changes.cpus, changes.disks, changes.totals) == ({}, {}, {})
    assert changes.tool_s is changes.tool_moved is None


@pytest.mark.parametrize(
    ("then_j", "used_j", "elapsed_s", "energy_j"),
    [
        ([1, 2], [90, 0], 10, 90),
        ([262_100, 3], [90, 2], 10, 92),  # the first wrapped
        ([200_000, 0], [250_000, 5], 250, 250_005),  # once, nearly twice
        ([0, 0], [300_000, 0], 1000, None),  # once, or never: the counter shows 38 kJ
        ([0, 0], [2 * RANGE_J + 5, 5], 3000, None),
        ([0, 0], [3 * RANGE_J + 5, 5], 3000, None),
        ([1, 2], [90, None], 10, None),  # a counter that went away
    ],
)
def test_energy_is_exact_or_not_recorded(
    tmp_path: Path, then_j: list[float], used_j: list[float | None], elapsed_s: float, energy_j: float | None
) -> None:
    """Of two packages beside a part of one and the platform (psys), which holds both."""

    def energy(number: int, joule: float) -> dict[str, str]:
        return package(number, round(joule % RANGE_J * 1e6))

    root = write(tmp_path, {**energy(0, then_j[0]), **energy(2, then_j[1]), **PARTS})
    with Counters(root) as counters:
        before = counters.read()
        for number, joule, used in zip((0, 2), then_j, used_j, strict=True):
            write(root, energy(number, joule + (used or 0)))
        write(root, {"sys/class/powercap/intel-rapl:1/energy_uj": "120000000\n"})
        after = replace(counters.read(), at_s=before.at_s + elapsed_s)
    if None in used_j:
        after = replace(after, texts={k: v for k, v in after.texts.items() if k != "energy/intel-rapl:2"})

    found = between(before, after).totals.get("energy_j")
    assert found == (None if energy_j is None else pytest.approx(energy_j))


def test_version_1_cgroups_count_nanoseconds(tmp_path: Path) -> None:
    stat = "sys/fs/cgroup/cpu,cpuacct/box/cpu.stat"
    root = write(
        tmp_path,
        {"proc/self/cgroup": "3:cpu,cpuacct:/box\n1:name=systemd:/\n0::/\n", stat: "nr_throttled 0\n"},
    )
    with Counters(root) as counters:
        before = counters.read()
        write(root, {stat: "nr_throttled 2\nthrottled_time 1500000000\n"})
        totals = between(before, counters.read()).totals
    assert totals == {"quota_hits": 2, "quota_s": 1.5}


def test_many_cores_cost_few_reads_and_every_package_is_among_them(tmp_path: Path) -> None:
    folder = "sys/devices/system/cpu/cpu"
    files = {}
    for cpu in range(128):
        files[f"{folder}{cpu}/topology/physical_package_id"] = f"{cpu // 64}\n"
        files[f"{folder}{cpu}/thermal_throttle/package_throttle_count"] = "1\n"
        files[f"{folder}{cpu}/thermal_throttle/core_throttle_count"] = "0\n"
    with Counters(write(tmp_path, files)) as counters:
        texts = counters.read(tuple(range(128))).texts
    assert {
        "throttle_package/0",
        "throttle_package/1",
        "throttle_core/0",
        "throttle_core/120",
    } <= texts.keys()
    assert len(texts) <= 20


def test_a_partition_lies_on_its_whole_disk(tmp_path: Path) -> None:
    number = tmp_path.stat().st_dev
    name = f"{os.major(number)}:{os.minor(number)}"
    root = write(tmp_path, {"sys/devices/x/sda/dev": "8:0\n", "sys/devices/x/sda/sda1/partition": "1\n"})
    (root / "sys/dev/block").mkdir(parents=True)
    with Counters(root) as counters:
        assert counters.disk_of(str(tmp_path)) is None
        (root / "sys/dev/block" / name).symlink_to(root / "sys/devices/x/sda/sda1")
        assert counters.disk_of(str(tmp_path)) == ("8:0", "sda")
        assert counters.disk_of(str(tmp_path / "absent")) is None


def test_a_reading_opens_nothing_that_is_of_the_machine() -> None:
    with Counters() as counters:
        counters.read((0,))
        before = sorted(Path("/proc/self/fd").iterdir())
        counters.read((0,))
        assert sorted(Path("/proc/self/fd").iterdir()) == before


SPIN = """
import sys, time
while time.process_time() < 0.15:
    pass
open(sys.argv[1], "w")
"""


def test_time_of_what_a_tool_leaves_to_itself_is_the_run_s(watchdog: Watchdog, tmp_path: Path) -> None:
    """The tool's own usage does not have it: it did not wait for it."""
    cpu = min(os.sched_getaffinity(0))
    orphan = f'({sys.executable} -S -c "$SPIN" done &)'
    with Counters() as counters, Path(os.devnull).open("w") as null:
        before = counters.read((cpu,), watchdog.pid)
        watchdog.start(
            ["sh", "-c", f"{orphan}; until [ -e done ]; do sleep 0.05; done"],
            {"SPIN": SPIN},
            cwd=str(tmp_path), outputs=(null.fileno(), null.fileno()), cpus={cpu},
        )  # fmt: skip
        while not isinstance(answer := watchdog.receive(), Ended):
            pass
        changes = between(before, counters.read((cpu,), watchdog.pid), cpus=(cpu,))
    own_s = answer.usage["user_s"] + answer.usage["system_s"]
    assert changes.tool_s is not None
    assert changes.tool_s > own_s + 0.1
    assert changes.cpus[cpu].busy_s > 0.13
