"""Reads this machine: its topology, and the facts that a report names. I/O; what it reads is judged elsewhere."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import platform
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from orchestrator.machine import cgroups, identity, planted, safe_files
from orchestrator.machine.ask import ask
from orchestrator.machine.cpulist import format_cpulist, parse_cpulist
from orchestrator.machine.descriptions import disagreements, joined, numactl_disagreements, topology_from_text
from orchestrator.machine.hwloc_xml import topology_from_xml
from orchestrator.machine.sysfs import ONLINE, WANTED_FILES, topology_from_files
from orchestrator.machine.topology import Device, Topology
from parsers.errors import UserError
from parsers.units import size_bytes

if TYPE_CHECKING:
    from orchestrator.machine.facts import MemoryModule

_MOST_BYTES: Final = 16 << 20  # hwloc's XML of 8192 PUs has 10 MB
TIMEOUT_S: Final = 10.0  # with the devices lstopo takes 2 s on the largest machines
SYS: Final = Path("/sys")
PROC: Final = Path("/proc")
VIRTUAL_BLOCK: Final = re.compile(r"(loop|ram|zram)\d+")

Recorded = str | int | float | list[dict[str, Any]] | None


def read_topology(sys: Path = SYS, proc: Path = PROC) -> Topology:
    """Return this machine, limited to the PUs and memory that this process may use.

    hwloc's description if lstopo is installed, joined with the kernel's; the kernel's alone if not.

    Raises UserError if neither can be read.
    """
    system = topology_from_files(read_files(sys, proc), read_devices(sys))
    _, described, problem = _lstopo(devices=False) if sys == SYS else ("", None, "")
    topology = joined(described, system) if described else dataclasses.replace(system, problem=problem)
    status, memory = _status(proc), cgroups.memory(sys, proc)
    limited = topology.limited(status.get("Cpus_allowed_list"), status.get("Mems_allowed_list"))
    return dataclasses.replace(limited, memory_limit_bytes=memory.limit if memory else None)


def contradictions() -> list[str]:
    """Say where hwloc or numactl tell something else about this machine than the kernel; who is absent says nothing."""
    system = topology_from_files(read_files(), read_devices())
    described = _lstopo(devices=True)[1]
    found = disagreements(described, system) if described else []
    from parsers import numactl  # of use to `doctor` alone

    hardware = _output(["numactl", "--hardware"], even_failed=True)
    if hardware and numactl.recognise(hardware):
        found += numactl_disagreements(numactl.parse(hardware), system)
    return found


def capture() -> str:
    """Return this machine as JSON for `--topology` elsewhere: see `topology_from_capture`."""
    status = _status(PROC)
    limits = {"cpus": status.get("Cpus_allowed_list"), "nodes": status.get("Mems_allowed_list")}
    return json.dumps(
        {
            "files": read_files(),
            "devices": [[d.name, d.kind, d.numa_node] for d in read_devices()],
            "hwloc": lstopo_xml(),
            "allowed": {what: format_cpulist(cpus) for what, cpus in limits.items() if cpus},
        },
        indent=0,
    )


def load_topology(arg: str | Path) -> Topology:
    """Return the machine that `--topology` names: a file (hwloc's XML, a capture), a folder, or a synthetic description.

    Of a folder, topology.json is taken, which knows more, or topology.xml. Raises UserError if it is none of them.
    """
    arg, path = str(arg), Path(arg)
    try:
        if path.is_dir():
            path = next((path / n for n in ("topology.json", "topology.xml") if (path / n).is_file()), path)
        is_file = path.exists() and not path.is_dir()
    except OSError:  # a long description is no name of a file
        is_file = False
    if is_file:
        try:
            return topology_from_text(safe_files.read_named(path, _MOST_BYTES).decode(), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(arg, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if "/" in arg or arg.endswith((".xml", ".json")):
        what = "no topology.xml or topology.json in it" if path.is_dir() else "no such file"
        raise UserError(arg, what, "`lstopo --of xml FILE.xml` writes one on the machine in question")
    return topology_from_text(arg, arg)


def lstopo_xml(*, devices: bool = True) -> str | None:
    """Return hwloc's description of this machine, PUs outside of the cpuset included; None if there is no usable lstopo.

    Without `devices` it is there in a third of the time; with them lstopo asks every PCI device.
    """
    return (devices and _lstopo(devices=True)[0]) or _lstopo(devices=False)[0] or None


@functools.cache
def _lstopo(*, devices: bool) -> tuple[str, Topology | None, str]:
    """Return hwloc's description of this machine as XML and as a topology, and the problem of an lstopo that gives none."""
    program = planted.harmless("lstopo-no-graphics", "lstopo")
    if not program:
        return "", None, ""
    if devices and (problem := _lstopo(devices=False)[2]):
        return "", None, problem
    # an exported HWLOC_XMLFILE or HWLOC_SYNTHETIC would describe another machine
    env = {k: v for k, v in os.environ.items() if not k.startswith("HWLOC_")}
    left_out = [] if devices else ["--no-io"]
    for whole in (["--disallowed"], ["--whole-system"], []):  # hwloc 2 and later; hwloc 1; neither
        said = ask([program, "--of", "xml", *left_out, *whole], timeout_s=TIMEOUT_S, env=env)
        if said is None:
            return "", None, f"{program} did not answer within {TIMEOUT_S:.0f} s"
        # a library of a plugin may print lines around it
        xml = re.search(
            r"(<\?xml.*)?<topology.*</topology>", said.stdout.decode("utf-8", "replace"), re.DOTALL
        )
        if said.exit_status == 0 and xml:
            try:
                return xml[0], topology_from_xml(xml[0], program), ""
            except UserError as error:
                return "", None, f"{program} printed XML that cannot be read: {error.cause}"
    return "", None, f"{program} printed no whole topology"


def read_files(sys: Path = SYS, proc: Path = PROC) -> dict[str, str]:
    """Return the kernel's files about the topology, by their path below /sys. Those that cannot be read are left out.

    Where there is no /sys, as in a bare chroot, /proc/stat tells which PUs are online.
    """
    paths = (path for pattern in WANTED_FILES for path in sys.glob(pattern))
    found = {str(path.relative_to(sys)): text for path in paths if (text := _text(path)) is not None}
    if not found:
        online = re.findall(r"^cpu([0-9]+) ", _text(proc / "stat") or "", re.MULTILINE)
        found = {ONLINE: ",".join(online)} if online else {}
    return found


def read_devices(sys: Path = SYS) -> tuple[Device, ...]:
    """Return block and net devices and their NUMA node. Loop and RAM disks are left out: they are near to nothing."""
    blocks = [p for p in _children(sys / "block") if not VIRTUAL_BLOCK.fullmatch(p.name)]
    return (
        *(Device(name=p.name, kind="block", numa_node=_block_node(p, sys)) for p in blocks),
        *(
            Device(name=p.name, kind="net", numa_node=_node_above(p, sys))
            for folder in ("net", "infiniband")
            for p in _children(sys / "class" / folder)
            if p.is_dir()
        ),
    )


def _block_node(block: Path, sys: Path) -> int | None:
    """Return a block device's node; that of its parts if it is made of others (RAID, LVM) and they agree."""
    parts = _children(block / "slaves")
    if parts:
        return _agreed(_block_node(sys / "block" / part.name, sys) for part in parts)
    node = _node_above(block, sys)
    if node is None and "nvme-subsystem" in str(block.resolve()):
        # native NVMe multipath: the disk hangs at a virtual subsystem beside links to its controllers
        controllers = [p for p in _children(block.resolve().parent) if re.fullmatch(r"nvme\d+", p.name)]
        return _agreed(_node_above(p, sys) for p in controllers)
    return node


def _node_above(device: Path, sys: Path) -> int | None:
    """Return the first NUMA node that the device or one it hangs from names; -1 is the kernel's "unknown"."""
    path = device.resolve()
    top = (sys / "devices").resolve()
    while path != top and top in path.parents:
        text = _text(path / "numa_node")
        if text is not None and text.strip().isdigit():
            return int(text)
        path = path.parent
    return None


def _agreed(nodes: Iterable[int | None]) -> int | None:
    found = set(nodes)
    return found.pop() if len(found) == 1 else None


# --- facts for the report ---


def facts(sys: Path = SYS, proc: Path = PROC) -> dict[str, Recorded]:
    """Return what a reader must know about this machine and its state, by name. None: not recorded.

    Text, numbers with their unit in the name, or the memory modules. Reading changes nothing and needs no rights; the memory modules
    are known to root only. Programs (lscpu, dmidecode) are asked only about the machine itself, not for a copy of
    its /sys.
    """
    here = sys == SYS
    lscpu = _table(_output(["lscpu"]) or "") if here else {}
    cpuinfo = _table((_text(proc / "cpuinfo") or "").split("\n\n")[0])
    memory = _table(_text(proc / "meminfo") or "")
    dmi = {p.name: _text(p) for p in _children(sys / "class/dmi/id") if p.is_file()}
    cpu = sys / "devices/system/cpu"

    def dmi_words(*names: str) -> str | None:
        return " ".join(filter(None, ((dmi.get(name) or "").strip() for name in names))) or None

    modules = dimms(_output(["dmidecode", "-t", "memory"]) or "") if here and os.geteuid() == 0 else ()
    uptime = (_text(proc / "uptime") or "").split()
    return {
        "hostname": platform.node(),
        "os": _os_name(),
        "kernel": platform.release(),
        "kernel_version": platform.version(),
        "kernel_command_line": _word(proc / "cmdline"),
        "architecture": platform.machine(),
        "cpu_model": lscpu.get("Model name") or cpuinfo.get("model name"),
        "microcode": cpuinfo.get("microcode"),
        "aslr": _named(proc / "sys/kernel/randomize_va_space", {"0": "off", "1": "partial", "2": "on"}),
        "mitigations": _mitigations(cpu / "vulnerabilities"),
        "isolated_cpus": _cpus(cpu / "isolated"),
        "nohz_full_cpus": _cpus(cpu / "nohz_full"),
        "hypervisor": _hypervisor(lscpu, cpuinfo),
        "system": dmi_words("sys_vendor", "product_name"),
        "board": dmi_words("board_vendor", "board_name"),
        "bios_vendor": dmi_words("bios_vendor"),
        "bios_version": dmi_words("bios_version"),
        "bios_date": dmi_words("bios_date"),
        "dimms": [dataclasses.asdict(module) for module in modules] or None,
        "memory_bytes": _kib(memory.get("MemTotal")),
        "memory_available_bytes": _kib(memory.get("MemAvailable")),
        "cgroup_limits": cgroups.limits(
            _kib(memory.get("MemTotal")), len(os.sched_getaffinity(0)), sys, proc
        ),
        "hugepages_free": int(memory["HugePages_Free"]) if "HugePages_Free" in memory else None,
        "libc": " ".join(platform.libc_ver()).strip() or None,
        "network_cards": identity.cards(sys),
        "boot_id": _word(proc / "sys/kernel/random/boot_id"),
        "uptime_s": float(uptime[0]) if uptime else None,
        **_pcie_links(sys),
        **state(sys, proc),
    }


def state(sys: Path = SYS, proc: Path = PROC, cpus: Iterable[int] | None = None) -> dict[str, Recorded]:
    """Return those of the `facts` that `orchestrator.machine.noise` judges and that files tell: how the machine is set up now.

    `cpus`: of which PUs the governors are read; None: of all.
    """
    cpu = sys / "devices/system/cpu"
    scaling = cpu.glob("cpu[0-9]*/cpufreq") if cpus is None else [cpu / f"cpu{n}/cpufreq" for n in cpus]
    folders = list(scaling)
    memory = _table(_text(proc / "meminfo") or "")
    status = _table(_text(proc / "self/status") or "")
    load = (_text(proc / "loadavg") or "").split()
    return {
        "governor": _counted(folder / "scaling_governor" for folder in folders),
        "frequency_driver": _counted(folder / "scaling_driver" for folder in folders),
        "turbo": _turbo(cpu),
        "smt": _smt(cpu),
        "thp": _chosen(sys / "kernel/mm/transparent_hugepage/enabled"),
        "numa_balancing": _named(proc / "sys/kernel/numa_balancing", {"0": "off", "1": "on", "2": "tiering"}),
        "clocksource": _word(sys / "devices/system/clocksource/clocksource0/current_clocksource"),
        "swap_bytes": _kib(memory.get("SwapTotal")),
        "swap_free_bytes": _kib(memory.get("SwapFree")),
        "environment": _relevant_env(os.environ) if sys == SYS else None,
        "load_1min": float(load[0]) if load else None,
        "cpus_allowed": status.get("Cpus_allowed_list"),
        "mems_allowed": status.get("Mems_allowed_list"),
    }


def throttle_counts(sys: Path = SYS) -> dict[str, int]:
    """Return how often each core and package was throttled for its heat since boot, by the counter's path below /sys."""
    paths = (sys / "devices/system/cpu").glob("cpu[0-9]*/thermal_throttle/*_throttle_count")
    return {str(p.relative_to(sys)): int(word) for p in paths if (word := _word(p)) and word.isdigit()}


RELEVANT_ENV: Final = re.compile(
    r"(OMP|KMP|GOMP|MKL|OPENBLAS|MALLOC"
    r"|I_MPI|MPICH|MPIR_CVAR|HYDRA|MPIEXEC|OMPI_MCA|PRTE_MCA|PMIX_MCA|MV2|MVP|FI|UCX|PSM2|PSM3)_\w+"
    r"|GLIBC_TUNABLES|LD_(PRELOAD|AUDIT|LIBRARY_PATH)"
)
"""Environment variables that a tool inherits and that change its figures: OpenMP, BLAS, allocators, MPI and its fabrics, the loader."""


def _relevant_env(environ: Mapping[str, str]) -> str:
    return (
        " ".join(f"{name}={environ[name]}" for name in sorted(environ) if RELEVANT_ENV.fullmatch(name))
        or "none"
    )


def dimms(text: str) -> tuple[MemoryModule, ...]:
    """Read `dmidecode -t memory`: each slot, in its order; () if none holds a module."""
    from orchestrator.machine.facts import MemoryModule

    found = []
    for block in re.split(r"\n\s*\n", text):
        if "\nMemory Device\n" not in f"\n{block}\n":
            continue
        values = _table(block)
        slot = " ".join(values[key] for key in ("Bank Locator", "Locator") if values.get(key))
        size = re.match(r"\d+ [kMGT]", values.get("Size", ""))
        if size is None:  # "No Module Installed"
            found.append(MemoryModule(size_bytes=0, slot=slot))
            continue
        speeds = (
            values.get(key, "") for key in ("Configured Memory Speed", "Configured Clock Speed", "Speed")
        )
        rate = next((int(m[1]) for speed in speeds if (m := re.match(r"(\d+) M", speed))), None)
        kind = values.get("Type", "").replace("Unknown", "")
        found.append(MemoryModule(size_bytes=size_bytes(size[0]), type=kind, rate_mts=rate, slot=slot))
    return tuple(found) if any(module.size_bytes for module in found) else ()


def _pcie_links(sys: Path) -> dict[str, float]:
    """Return the fact of each NVMe disk whose controller tells the PCIe link behind it, as it is negotiated."""
    from orchestrator.machine.facts import PCIE_LINK, pcie_rate

    found: dict[str, float] = {}
    for disk in _children(sys / "block"):
        folders = [disk / "device", disk / "device/device"] if disk.name.startswith("nvme") else []
        for folder in folders:
            speed = re.match(r"(\d+(?:\.\d+)?) GT/s", _word(folder / "current_link_speed") or "")
            width = _word(folder / "current_link_width") or ""
            if speed and width.isdigit() and int(width):
                found[PCIE_LINK.format(disk=disk.name)] = pcie_rate(float(speed[1]), int(width))
    return found


def _os_name() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _turbo(cpu: Path) -> str | None:
    for path, on in (("intel_pstate/no_turbo", "0"), ("cpufreq/boost", "1")):
        word = _word(cpu / path)
        if word is not None:
            return "on" if word == on else "off"
    return None


def _smt(cpu: Path) -> str | None:
    active = _word(cpu / "smt/active")
    control = _word(cpu / "smt/control")
    if active is None:
        return None
    return "on" if active == "1" else "not supported" if control == "notsupported" else "off"


def _hypervisor(lscpu: dict[str, str], cpuinfo: dict[str, str]) -> str | None:
    if "Hypervisor vendor" in lscpu:
        return lscpu["Hypervisor vendor"]
    if "hypervisor" in cpuinfo.get("flags", "").split():
        return "yes, unnamed"
    return "none" if lscpu and "flags" in cpuinfo else None  # without cpuid flags nobody can tell


def _mitigations(folder: Path) -> str | None:
    """Return `spectre_v1, spectre_v2 mitigated; retbleed vulnerable`; what does not affect this CPU is left out."""
    groups: dict[str, list[str]] = {"mitigated": [], "vulnerable": [], "unknown": []}
    found = {p.name: text for p in _children(folder) if (text := _word(p)) is not None}
    for name, text in found.items():
        first = text.split(":")[0].split(";")[0].split(",")[0].strip().lower()
        state = {"mitigation": "mitigated", "not affected": "", "vulnerable": "vulnerable"}.get(
            first, "unknown"
        )
        if state:
            groups[state].append(name)
    if not found:
        return None
    return (
        "; ".join(f"{', '.join(names)} {state}" for state, names in groups.items() if names) or "not affected"
    )


def _counted(paths: Iterable[Path]) -> str | None:
    """Return the one word that all files hold, or each with its number: `performance (54), powersave (2)`."""
    counts = Counter(word for path in paths if (word := _word(path)))
    if len(counts) <= 1:
        return next(iter(counts), None)
    return ", ".join(f"{word} ({count})" for word, count in sorted(counts.items()))


def _chosen(path: Path) -> str | None:
    found = re.search(r"\[(\w+)\]", _text(path) or "")
    return found[1] if found else None


def _named(path: Path, names: Mapping[str, str]) -> str | None:
    word = _word(path)
    return None if word is None else names.get(word, word)


def _cpus(path: Path) -> str | None:
    """Return a list of CPUs that may be empty, which the kernel writes as a blank line or as (null)."""
    text = _text(path)
    return None if text is None else text.strip().replace("(null)", "") or "none"


def _kib(text: str | None) -> int | None:
    return int(text.removesuffix(" kB")) * 1024 if text else None


def _table(text: str) -> dict[str, str]:
    """Read `key: value` lines; the first of each key counts."""
    table: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            table.setdefault(key.strip(), value.strip())
    return table


def _status(proc: Path) -> dict[str, frozenset[int]]:
    table = _table(_text(proc / "self/status") or "")
    return {k: parse_cpulist(table[k]) for k in ("Cpus_allowed_list", "Mems_allowed_list") if k in table}


def _word(path: Path) -> str | None:
    """Return a file's text without its end of line; None if it cannot be read or is blank."""
    return (_text(path) or "").strip() or None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:  # absent, or not for us, or the driver says no (EIO, ENODEV)
        return None


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _output(argv: Sequence[str], *, even_failed: bool = False) -> str | None:
    """Return what a command prints, None if it is not there, others could have put it there, it hangs, or fails (unless `even_failed`)."""
    program = planted.harmless(argv[0])
    said = ask([program, *argv[1:]], timeout_s=TIMEOUT_S) if program else None
    if said is None or (said.exit_status != 0 and not even_failed):
        return None
    return said.stdout.decode("utf-8", "replace")


def memory_refusal(numactl: str) -> str:
    """Return numactl's reason if memory cannot be bound here: "set_mempolicy: Operation not permitted". "" if it can.

    Containers without CAP_SYS_NICE refuse the system call, and kernels without NUMA do not have it.
    """
    answer = ask([numactl, "--membind=all", "--", "true"], timeout_s=TIMEOUT_S)
    if answer is None or answer.exit_status == 0:
        return ""
    return answer.stderr.decode("utf-8", "replace").strip().partition("\n")[0]


RESERVE_BYTES = 64 << 20
"""What stays free on the scratch file system whatever a sweep asks for."""


def free_bytes(folder: Path) -> int | None:
    """Return what the file system of a folder (or of its nearest existing parent) can give, less the reserve; None if it does not tell."""
    from orchestrator.machine import file_system

    while not folder.exists():
        folder = folder.parent
    usage = os.statvfs(folder)
    if not usage.f_blocks:  # ramfs has no sizes
        return None
    free = usage.f_bavail * usage.f_frsize
    found = file_system.file_system_of(folder)
    memory = available_memory_bytes() if found and found.kind == "tmpfs" else None
    return min(free, free if memory is None else memory) - RESERVE_BYTES


def available_memory_bytes(sys: Path = SYS, proc: Path = PROC) -> int | None:
    """Return what the kernel and the cgroups of this process can give; None where the kernel does not tell."""
    available = _kib(_table(_text(proc / "meminfo") or "").get("MemAvailable"))
    allowed = cgroups.memory(sys, proc)
    return min((n for n in (available, allowed and allowed.left) if n is not None), default=None)
