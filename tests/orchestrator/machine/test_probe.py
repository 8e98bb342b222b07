from __future__ import annotations

import dataclasses
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.machine import probe
from orchestrator.machine.descriptions import topology_from_capture
from orchestrator.machine.facts import MemoryModule
from orchestrator.machine.hwloc_xml import topology_from_xml
from orchestrator.machine.sysfs import topology_from_files
from parsers.errors import UserError
from tests.machines import FIXTURES

REPOSITORY = Path(__file__).resolve().parents[3]
linux_only = pytest.mark.skipif(not Path("/sys/devices/system/cpu/online").exists(), reason="not Linux, or no /sys")


@pytest.fixture(autouse=True)
def _lstopo_is_asked_again() -> None:
    probe._lstopo.cache_clear()


def tree(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


# --- this machine ---


@linux_only
def test_hwloc_numactl_and_the_kernel_tell_the_same_of_this_machine() -> None:
    assert [text for text in probe.contradictions() if "no NUMA support" not in text] == []


@linux_only
def test_a_narrower_mask_is_seen_by_a_process_that_has_it() -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU: there is no narrower mask")
    one = max(os.sched_getaffinity(0))
    code = (
        "from orchestrator.machine.probe import read_topology as r; t = r(); print(sorted(t.allowed_cpus), len(t.pus))"
    )
    argv = ["taskset", "-c", str(one), sys.executable, "-c", code]

    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=REPOSITORY)

    topology = probe.read_topology()
    assert topology.allowed_cpus == os.sched_getaffinity(0)
    assert done.stdout.split() == [f"[{one}]", str(len(topology.pus))]


@linux_only
def test_without_lstopo_the_kernel_alone_is_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if probe.lstopo_xml() is None:
        pytest.skip("lstopo is not installed: there is nothing to compare with")
    whole = probe.read_topology()

    monkeypatch.setenv("PATH", str(tmp_path))
    probe._lstopo.cache_clear()

    alone = probe.read_topology()
    assert probe.lstopo_xml() is None
    for name in ("cores", "packages", "allowed_cpus"):
        assert getattr(alone, name) == getattr(whole, name)
    assert [(n.os_index, n.cpus) for n in alone.numa_nodes] == [(n.os_index, n.cpus) for n in whole.numa_nodes]


@linux_only
def test_without_its_devices_lstopo_says_the_same() -> None:
    whole = probe.lstopo_xml()
    if whole is None:
        pytest.skip("lstopo is not installed")

    without = probe.lstopo_xml(devices=False)

    assert without is not None
    assert "OSDev" not in without
    assert topology_from_xml(without) == dataclasses.replace(topology_from_xml(whole), devices=())


@linux_only
def test_an_exported_synthetic_machine_is_not_taken_for_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    xml = probe.lstopo_xml()
    if xml is None:
        pytest.skip("lstopo is not installed")

    monkeypatch.setenv("HWLOC_SYNTHETIC", "pack:3 core:3 pu:3")
    probe._lstopo.cache_clear()

    assert (probe.lstopo_xml() or "").count('type="PU"') == xml.count('type="PU"')


@linux_only
@pytest.mark.parametrize(
    ("script", "is_read"),
    [
        ("exit 1", False),
        ("echo '<topology'; exit 0", False),
        ("echo '<topology><object></topology>'", False),
        ("echo 'no machine here'", False),
        ("sleep 30", False),
        (f"echo 'A < B'; cat {FIXTURES}/two-socket-smt.xml; echo '-> bye'", True),
    ],
)
def test_an_lstopo_that_fails_is_passed_over_and_lines_around_its_xml_too(
    script: str, is_read: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(probe, "TIMEOUT_S", 10.0 if is_read else 0.2)
    (tmp_path / "lstopo-no-graphics").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "lstopo-no-graphics").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    topology = probe.read_topology()

    assert topology.cores
    assert bool(topology.problem) is not is_read
    assert bool(probe.lstopo_xml(devices=False)) is is_read


@linux_only
def test_a_capture_of_this_machine_is_this_machine() -> None:
    here = probe.read_topology()
    there = topology_from_capture(probe.capture())

    for name in ("pus", "cores", "packages", "devices"):
        assert getattr(there, name) == getattr(here, name)


# --- descriptions of others ---


@pytest.mark.parametrize(
    ("arg", "cores"),
    [
        ("pack:2 numa:1 core:10 pu:1", 20),
        (str(FIXTURES / "four-node.xml"), 8),
        (str(FIXTURES / "grace-hopper.json"), 72),
        ("pack:1 " + "[numa] " * 60 + "core:3 pu:1", 3),  # longer than a name of a file may be
    ],
)
def test_a_topology_is_a_file_or_a_description(arg: str, cores: int) -> None:
    assert len(probe.load_topology(arg).cores) == cores


@pytest.mark.parametrize(
    ("arg", "cause"),
    [
        ("no-such.xml", "no such file"),
        ("captures/n1", "no such file"),
        ("nonsense", "neither hwloc XML nor a synthetic description"),
        ("", "it is empty"),
        (str(FIXTURES / "machines.toml"), "neither hwloc XML nor a synthetic description$"),
    ],
)
def test_what_is_no_topology_is_refused(arg: str, cause: str) -> None:
    with pytest.raises(UserError, match=cause):
        probe.load_topology(arg)


def test_a_folder_is_the_best_description_in_it(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no topology\.xml or topology\.json in it"):
        probe.load_topology(f"{tmp_path}/")
    shutil.copy(FIXTURES / "memory-only-node.xml", tmp_path / "topology.xml")
    assert probe.load_topology(str(tmp_path)).devices[0].name == "nvme0n1"
    shutil.copy(FIXTURES / "hybrid-cores.json", tmp_path / "topology.json")
    assert len(probe.load_topology(str(tmp_path)).cores) == 12


# --- another machine's /sys ---


def test_a_copy_of_sys_is_read_as_its_machine(tmp_path: Path) -> None:
    capture = json.loads((FIXTURES / "two-socket-smt.json").read_text(encoding="utf-8"))
    sysfs = tree(tmp_path / "sys", capture["files"])
    proc = tree(tmp_path / "proc", {"self/status": "Cpus_allowed_list:\t1,4-5\nMems_allowed_list:\t0\n"})

    topology = probe.read_topology(sysfs, proc)

    assert topology.cores == topology_from_files(capture["files"]).cores
    assert topology.allowed_cpus == {1, 4, 5}
    assert topology.allowed_nodes == {0}


def test_without_sys_the_cpus_are_those_that_proc_counts(tmp_path: Path) -> None:
    stat = "cpu  9 0 9 9\ncpu0 3 0 3 3\ncpu2 3 0 3 3\ncpu3 3 0 3 3\nintr 7\n"
    proc = tree(tmp_path / "proc", {"stat": stat, "self/status": "Cpus_allowed_list:\t2-3\nMems_allowed_list:\t0\n"})

    topology = probe.read_topology(tmp_path / "no sys", proc)

    assert sorted(pu.os_index for pu in topology.pus) == [0, 2, 3]
    assert topology.allowed_cpus == {2, 3}
    assert topology.allowed_nodes == {0}


def link(path: Path, target: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    target.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def test_devices_are_at_the_node_that_they_or_their_parents_name(tmp_path: Path) -> None:
    sysfs = tmp_path
    pci = sysfs / "devices/pci0000:40"
    disks = {
        "nvme0n1": pci / "0000:40:01.0/nvme/nvme0/nvme0n1",  # the controller's number, two levels up
        "nvme1n1": sysfs / "devices/pci0000:00/0000:00:01.0/nvme/nvme1/nvme1n1",  # unknown: -1 all the way
        "sda": pci / "0000:40:02.0/ata1/host0/target0:0:0/0:0:0:0/block/sda",  # five levels up
        "md0": sysfs / "devices/virtual/block/md0",  # of disks at one node
        "md1": sysfs / "devices/virtual/block/md1",  # of disks at different ones
        "loop0": sysfs / "devices/virtual/block/loop0",
        "nvme2n1": sysfs / "devices/virtual/nvme-subsystem/nvme-subsys2/nvme2n1",  # multipath
    }
    for name, target in disks.items():
        link(sysfs / "block" / name, target)
    tree(
        sysfs,
        {
            "devices/pci0000:40/0000:40:01.0/numa_node": "1\n",
            "devices/pci0000:40/0000:40:02.0/numa_node": "1\n",
            "devices/pci0000:00/0000:00:01.0/numa_node": "-1\n",
            "devices/pci0000:20/0000:20:01.0/numa_node": "0\n",
        },
    )
    link(disks["md0"] / "slaves/sda", disks["sda"])
    link(disks["md0"] / "slaves/nvme0n1", disks["nvme0n1"])
    link(disks["md1"] / "slaves/nvme0n1", disks["nvme0n1"])
    link(disks["md1"] / "slaves/nvme1n1", disks["nvme1n1"])
    link(disks["nvme2n1"].parent / "nvme2", sysfs / "devices/pci0000:20/0000:20:01.0/nvme/nvme2")
    link(sysfs / "class/net/eth0", sysfs / "devices/pci0000:20/0000:20:01.0/net/eth0")
    link(sysfs / "class/net/lo", sysfs / "devices/virtual/net/lo")
    link(sysfs / "class/infiniband/mlx5_0", pci / "0000:40:01.0/infiniband/mlx5_0")
    (sysfs / "class/net/bonding_masters").write_text("")  # a file among the devices

    devices = {device.name: (device.kind, device.numa_node) for device in probe.read_devices(sysfs)}

    assert devices == {
        "nvme0n1": ("block", 1),
        "nvme1n1": ("block", None),
        "sda": ("block", 1),
        "md0": ("block", 1),
        "md1": ("block", None),
        "nvme2n1": ("block", 0),
        "eth0": ("net", 0),
        "lo": ("net", None),
        "mlx5_0": ("net", 1),
    }


# --- facts ---


@linux_only
def test_facts_of_this_machine() -> None:
    facts = probe.facts()

    assert (facts["kernel"], facts["hostname"]) == (platform.release(), platform.node())
    assert facts["cpus_allowed"]
    assert facts["memory_bytes"] > 1 << 26  # type: ignore[operator]
    assert isinstance(facts["uptime_s"], float)
    assert "" not in facts.values()
    assert json.loads(json.dumps(facts)) == facts


def test_facts_that_cannot_be_read_are_not_recorded(tmp_path: Path) -> None:
    facts = probe.facts(tmp_path, tmp_path)

    known = {name for name, value in facts.items() if value is not None}
    assert known <= {"hostname", "os", "kernel", "kernel_version", "architecture", "libc"}


def test_facts_in_words(tmp_path: Path) -> None:
    cpu = "devices/system/cpu"
    sysfs = tree(
        tmp_path / "sys",
        {
            **{f"{cpu}/cpu{n}/cpufreq/scaling_governor": "performance\n" for n in range(3)},
            f"{cpu}/cpu3/cpufreq/scaling_governor": "powersave\n",
            f"{cpu}/cpu0/cpufreq/scaling_driver": "intel_pstate\n",
            f"{cpu}/intel_pstate/no_turbo": "1\n",
            f"{cpu}/smt/active": "0\n",
            f"{cpu}/smt/control": "forceoff\n",
            f"{cpu}/isolated": "\n",
            f"{cpu}/nohz_full": "(null)\n",
            f"{cpu}/vulnerabilities/spectre_v2": "Mitigation: Retpolines; STIBP: disabled\n",
            f"{cpu}/vulnerabilities/meltdown": "Not affected\n",
            f"{cpu}/vulnerabilities/retbleed": "Vulnerable\n",
            f"{cpu}/vulnerabilities/mds": "Vulnerable: Clear CPU buffers attempted, no microcode\n",
            f"{cpu}/vulnerabilities/srbds": "Unknown: Dependent on hypervisor status\n",
            "kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
            "devices/system/clocksource/clocksource0/current_clocksource": "hpet\n",
            "class/dmi/id/sys_vendor": "HP\n",
            "class/dmi/id/product_name": "ProLiant SL390s G7\n",
            "class/dmi/id/bios_date": "10/21/2010\n",
        },
    )
    proc = tree(
        tmp_path / "proc",
        {
            "cpuinfo": "processor\t: 0\nmodel name\t: X\nflags\t\t: fpu hypervisor\nmicrocode\t: 0x1\n\nprocessor\t: 1\n",
            "meminfo": "MemTotal:  1024 kB\nMemAvailable: 512 kB\nSwapTotal: 0 kB\nHugePages_Free:   7\n",
            "sys/kernel/numa_balancing": "2\n",
            "sys/kernel/randomize_va_space": "0\n",
            "loadavg": "0.63 0.25 0.13 1/200 999\n",
            "uptime": "2058.84 4000.00\n",
            "cmdline": "quiet isolcpus=3\n",
            "self/status": "Name:\tx\nCpus_allowed_list:\t0-3\nMems_allowed_list:\t0\n",
        },
    )

    facts = probe.facts(sysfs, proc)

    expected = {
        "governor": "performance (3), powersave (1)",
        "frequency_driver": "intel_pstate",
        "turbo": "off",
        "smt": "off",
        "isolated_cpus": "none",
        "nohz_full_cpus": "none",
        "mitigations": "spectre_v2 mitigated; mds, retbleed vulnerable; srbds unknown",
        "thp": "madvise",
        "clocksource": "hpet",
        "system": "HP ProLiant SL390s G7",
        "bios_date": "10/21/2010",
        "bios_version": None,
        "cpu_model": "X",
        "microcode": "0x1",
        "hypervisor": "yes, unnamed",
        "memory_bytes": 1 << 20,
        "memory_available_bytes": 1 << 19,
        "swap_bytes": 0,
        "swap_free_bytes": None,
        "hugepages_free": 7,
        "numa_balancing": "tiering",
        "aslr": "off",
        "load_1min": 0.63,
        "uptime_s": 2058.84,
        "kernel_command_line": "quiet isolcpus=3",
        "cpus_allowed": "0-3",
    }
    assert {name: facts[name] for name in expected} == expected


TURBO = [("intel_pstate/no_turbo", "0", "on"), ("intel_pstate/no_turbo", "1", "off"), ("cpufreq/boost", "1", "on"), ("cpufreq/boost", "0", "off"), ("cpufreq/other", "0", None)]  # fmt: skip


@pytest.mark.parametrize(("path", "text", "turbo"), TURBO)
def test_turbo_is_read_from_the_driver_that_has_it(path: str, text: str, turbo: str | None, tmp_path: Path) -> None:
    tree(tmp_path, {f"devices/system/cpu/{path}": f"{text}\n"})

    assert probe.facts(tmp_path, tmp_path)["turbo"] == turbo


DMIDECODE = """\
# dmidecode 3.3
Getting SMBIOS data from sysfs.

Handle 0x0020, DMI type 16, 23 bytes
Physical Memory Array
\tLocation: System Board Or Motherboard
\tMaximum Capacity: 1 TB

Handle 0x0021, DMI type 17, 84 bytes
Memory Device
\tTotal Width: 72 bits
\tSize: 32 GB
\tLocator: DIMM_A1
\tType: DDR4
\tSpeed: 3200 MT/s
\tConfigured Memory Speed: 2933 MT/s

Handle 0x0022, DMI type 17, 84 bytes
Memory Device
\tSize: 32 GB
\tLocator: DIMM_B1
\tType: DDR4
\tSpeed: 3200 MT/s
\tConfigured Memory Speed: 2933 MT/s

Handle 0x0023, DMI type 17, 84 bytes
Memory Device
\tSize: No Module Installed
\tLocator: DIMM_A2
\tType: Unknown
\tSpeed: Unknown

Handle 0x0024, DMI type 17, 40 bytes
Memory Device
\tSize: 16384 MB
\tType: DDR4
\tSpeed: 2666 MT/s
"""


def test_memory_modules_with_the_speed_they_run_at() -> None:
    assert probe.dimms(DMIDECODE) == (
        MemoryModule(size_bytes=32 << 30, type="DDR4", rate_mts=2933, slot="DIMM_A1"),
        MemoryModule(size_bytes=32 << 30, type="DDR4", rate_mts=2933, slot="DIMM_B1"),
        MemoryModule(size_bytes=0, slot="DIMM_A2"),
        MemoryModule(size_bytes=16 << 30, type="DDR4", rate_mts=2666),
    )
