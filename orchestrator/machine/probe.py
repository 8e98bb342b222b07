"""Read the topology of this machine, and the facts for reports. I/O, without decisions."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import platform
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from orchestrator.machine import cgroups, identity, planted, safe_files
from orchestrator.machine.ask import ask
from orchestrator.machine.cpulist import format_cpulist, parse_cpulist
from orchestrator.machine.descriptions import disagreements, joined, numactl_disagreements, topology_from_text
from orchestrator.machine.hwloc_xml import topology_from_xml
from orchestrator.machine.kernel_files import list_folder, read_text, read_word
from orchestrator.machine.sysfs import ONLINE, WANTED_FILES, topology_from_files
from orchestrator.machine.topology import Device, Topology
from parsers.errors import UserError
from parsers.units import size_bytes

if TYPE_CHECKING:
    from orchestrator.machine.facts import MemoryModule

_MAX_BYTES: Final = 16 << 20  # hwloc's XML of 8192 PUs has 10 MB
TIMEOUT_S: Final = 10.0  # lstopo with devices takes 2 s on the largest machines
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
    memory = cgroups.memory(sys, proc)
    limited = topology.limited(*_allowed(proc))
    return dataclasses.replace(limited, memory_limit_bytes=memory.limit if memory else None)


def contradictions() -> list[str]:
    """Return where hwloc or numactl contradict the kernel about this machine; [] if neither is installed."""
    from parsers import numactl  # only `doctor` needs it

    system = topology_from_files(read_files(), read_devices())
    described = _lstopo(devices=True)[1]
    hardware = _output("numactl", "--hardware", even_failed=True)
    return [
        *(disagreements(described, system) if described else []),
        *(numactl_disagreements(numactl.parse(hardware), system) if numactl.recognise(hardware) else []),
    ]


def capture() -> str:
    """Return this machine as JSON for `--topology` on another one: see `topology_from_capture`."""
    cpus, nodes = _allowed(PROC)
    return json.dumps(
        {
            "files": read_files(),
            "devices": [[d.name, d.kind, d.numa_node] for d in read_devices()],
            "hwloc": lstopo_xml(),
            "allowed": {key: format_cpulist(v) for key, v in (("cpus", cpus), ("nodes", nodes)) if v},
        },
        indent=0,
    )


def load_topology(arg: str | Path) -> Topology:
    """Return the machine that `--topology` names: hwloc's XML or a capture, a folder with one, or a synthetic description.

    In a folder topology.json, which holds more, goes before topology.xml. Raises UserError.
    """
    arg, path = str(arg), Path(arg)
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except OSError:  # a long description cannot be the name of a file
        is_folder = exists = False
    if is_folder:
        path = next((path / n for n in ("topology.json", "topology.xml") if (path / n).is_file()), path)
    if exists and not path.is_dir():
        try:
            return topology_from_text(safe_files.read_named(path, _MAX_BYTES).decode(), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(arg, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if "/" in arg or arg.endswith((".xml", ".json")):
        cause = "no topology.xml or topology.json in it" if is_folder else "no such file"
        raise UserError(arg, cause, "`lstopo --of xml FILE.xml` writes one on the machine in question")
    return topology_from_text(arg, arg)


def lstopo_xml(*, devices: bool = True) -> str | None:
    """Return hwloc's description of this machine, including PUs outside the cpuset. None if there is no usable lstopo.

    Without `devices`, lstopo takes a third of the time, because it does not query each PCI device.
    """
    return (devices and _lstopo(devices=True)[0]) or _lstopo(devices=False)[0] or None


@functools.cache
def _lstopo(*, devices: bool) -> tuple[str, Topology | None, str]:
    """Return hwloc's description of this machine as XML and as a topology, or the problem of the installed lstopo."""
    program = planted.harmless("lstopo-no-graphics", "lstopo")
    if not program:
        return "", None, ""
    if devices and (problem := _lstopo(devices=False)[2]):
        return "", None, problem
    # an exported HWLOC_XMLFILE or HWLOC_SYNTHETIC would describe another machine
    env = {k: v for k, v in os.environ.items() if not k.startswith("HWLOC_")}
    no_io = [] if devices else ["--no-io"]
    for whole in (["--disallowed"], ["--whole-system"], []):  # hwloc 2 and later; hwloc 1; neither
        answer = ask([program, "--of", "xml", *no_io, *whole], timeout_s=TIMEOUT_S, env=env)
        if answer is None:
            return "", None, f"{program} did not answer within {TIMEOUT_S:.0f} s"
        # a library of a plugin may print lines around it
        text = answer.stdout.decode("utf-8", "replace")
        xml = re.search(r"(<\?xml.*)?<topology.*</topology>", text, re.DOTALL)
        if answer.exit_status == 0 and xml:
            try:
                return xml[0], topology_from_xml(xml[0], program), ""
            except UserError as error:
                return "", None, f"{program} printed XML that cannot be read: {error.cause}"
    return "", None, f"{program} printed no complete topology"


def read_files(sys: Path = SYS, proc: Path = PROC) -> dict[str, str]:
    """Return the kernel's files about the topology, by path below /sys. Unreadable files are omitted.

    Without /sys, as in a bare chroot, the online PUs are from /proc/stat.
    """
    paths = (path for pattern in WANTED_FILES for path in sys.glob(pattern))
    files = {str(path.relative_to(sys)): text for path in paths if (text := read_text(path)) is not None}
    if not files:
        online = re.findall(r"^cpu([0-9]+) ", read_text(proc / "stat") or "", re.MULTILINE)
        files = {ONLINE: ",".join(online)} if online else {}
    return files


def read_devices(sys: Path = SYS) -> tuple[Device, ...]:
    """Return block and net devices and their NUMA nodes. Loop and RAM disks are omitted, because they have no node."""
    blocks = [p for p in list_folder(sys / "block") if not VIRTUAL_BLOCK.fullmatch(p.name)]
    nets = [p for folder in ("net", "infiniband") for p in list_folder(sys / "class" / folder) if p.is_dir()]
    return (
        *(Device(name=p.name, kind="block", numa_node=_block_node(p, sys)) for p in blocks),
        *(Device(name=p.name, kind="net", numa_node=_node_above(p, sys)) for p in nets),
    )


def _block_node(block: Path, sys: Path) -> int | None:
    """Return a block device's node. A device on other devices (RAID, LVM) has their common node."""
    if parts := list_folder(block / "slaves"):
        return _agreed(_block_node(sys / "block" / part.name, sys) for part in parts)
    node = _node_above(block, sys)
    if node is None and "nvme-subsystem" in str(block.resolve()):
        # native NVMe multipath: the disk hangs at a virtual subsystem next to links to its controllers
        controllers = [p for p in list_folder(block.resolve().parent) if re.fullmatch(r"nvme\d+", p.name)]
        return _agreed(_node_above(p, sys) for p in controllers)
    return node


def _node_above(device: Path, sys: Path) -> int | None:
    """Return the first NUMA node of the device or its parents. -1 is the kernel's "unknown"."""
    path = device.resolve()
    top = (sys / "devices").resolve()
    while path != top and top in path.parents:
        if (word := read_word(path / "numa_node")).isdigit():
            return int(word)
        path = path.parent
    return None


def _agreed(nodes: Iterable[int | None]) -> int | None:
    different = set(nodes)
    return different.pop() if len(different) == 1 else None


def _allowed(proc: Path) -> tuple[frozenset[int] | None, ...]:
    """Return the PUs and the NUMA nodes that this process may use. None if the kernel does not show them."""
    table = _table(read_text(proc / "self/status") or "")
    keys = ("Cpus_allowed_list", "Mems_allowed_list")
    return tuple(parse_cpulist(table[key]) if key in table else None for key in keys)


# --- facts for the report ---


def facts(sys: Path = SYS, proc: Path = PROC) -> dict[str, Recorded]:
    """Return the facts that a reader needs about this machine and its state, by name. None: not recorded.

    A fact is text, a number with its unit in the name, or the memory modules, which only root can read. Programs
    (lscpu, dmidecode) are called only for this machine, not for a copy of /sys.
    """
    is_this_machine = sys == SYS
    cpu = sys / "devices/system/cpu"
    lscpu = _table(_output("lscpu")) if is_this_machine else {}
    cpuinfo = _table((read_text(proc / "cpuinfo") or "").split("\n\n")[0])
    memory = _table(read_text(proc / "meminfo") or "")
    modules = dimms(_output("dmidecode", "-t", "memory")) if is_this_machine and os.geteuid() == 0 else ()
    uptime = read_word(proc / "uptime").split()

    def dmi(*names: str) -> str | None:
        return " ".join(filter(None, (read_word(sys / "class/dmi/id" / name) for name in names))) or None

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
        "system": dmi("sys_vendor", "product_name"),
        "board": dmi("board_vendor", "board_name"),
        "bios_vendor": dmi("bios_vendor"),
        "bios_version": dmi("bios_version"),
        "bios_date": dmi("bios_date"),
        "dimms": [dataclasses.asdict(module) for module in modules] or None,
        "memory_bytes": _kib(memory.get("MemTotal")),
        "memory_available_bytes": _kib(memory.get("MemAvailable")),
        "cgroup_limits": cgroups.limits(_kib(memory.get("MemTotal")), len(os.sched_getaffinity(0)), sys, proc),
        "hugepages_free": int(memory["HugePages_Free"]) if "HugePages_Free" in memory else None,
        "libc": " ".join(platform.libc_ver()).strip() or None,
        "network_cards": identity.cards(sys),
        "boot_id": _word(proc / "sys/kernel/random/boot_id"),
        "uptime_s": float(uptime[0]) if uptime else None,
        **_pcie_links(sys),
        **state(sys, proc),
    }


def state(sys: Path = SYS, proc: Path = PROC, cpus: Iterable[int] | None = None) -> dict[str, Recorded]:
    """Return the `facts` about the present settings of the machine, from files only. `noise` judges them.

    `cpus`: the PUs whose governors are read. None: all PUs.
    """
    cpu = sys / "devices/system/cpu"
    folders = [*cpu.glob("cpu[0-9]*/cpufreq")] if cpus is None else [cpu / f"cpu{n}/cpufreq" for n in cpus]
    memory = _table(read_text(proc / "meminfo") or "")
    status = _table(read_text(proc / "self/status") or "")
    load = read_word(proc / "loadavg").split()
    return {
        "governor": _counted(folder / "scaling_governor" for folder in folders),
        "frequency_driver": _counted(folder / "scaling_driver" for folder in folders),
        "turbo": _named(cpu / "intel_pstate/no_turbo", {"0": "on", "1": "off"})
        or _named(cpu / "cpufreq/boost", {"0": "off", "1": "on"}),
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
    """Return how often each core and package was throttled by heat since boot, by the counter's path below /sys."""
    paths = (sys / "devices/system/cpu").glob("cpu[0-9]*/thermal_throttle/*_throttle_count")
    return {str(p.relative_to(sys)): int(word) for p in paths if (word := read_word(p)).isdigit()}


RELEVANT_ENV: Final = re.compile(
    r"(OMP|KMP|GOMP|MKL|OPENBLAS|MALLOC"
    r"|I_MPI|MPICH|MPIR_CVAR|HYDRA|MPIEXEC|OMPI_MCA|PRTE_MCA|PMIX_MCA|MV2|MVP|FI|UCX|PSM2|PSM3)_\w+"
    r"|GLIBC_TUNABLES|LD_(PRELOAD|AUDIT|LIBRARY_PATH)"
)
"""Environment variables that a tool inherits and that change its figures: OpenMP, BLAS, allocators, MPI, the loader."""


def _relevant_env(environ: Mapping[str, str]) -> str:
    names = filter(RELEVANT_ENV.fullmatch, sorted(environ))
    return " ".join(f"{name}={environ[name]}" for name in names) or "none"


def dimms(text: str) -> tuple[MemoryModule, ...]:
    """Return the memory slots from `dmidecode -t memory`, in order. () if all slots are empty."""
    from orchestrator.machine.facts import MemoryModule

    modules = []
    for block in re.split(r"\n\s*\n", text):
        if "\nMemory Device\n" not in f"\n{block}\n":
            continue
        values = _table(block)
        slot = " ".join(values[key] for key in ("Bank Locator", "Locator") if values.get(key))
        size = re.match(r"\d+ [kMGT]", values.get("Size", ""))
        if size is None:  # "No Module Installed"
            modules.append(MemoryModule(size_bytes=0, slot=slot))
            continue
        keys = ("Configured Memory Speed", "Configured Clock Speed", "Speed")
        rate = next((int(m[1]) for key in keys if (m := re.match(r"(\d+) M", values.get(key, "")))), None)
        kind = values.get("Type", "").replace("Unknown", "")
        modules.append(MemoryModule(size_bytes=size_bytes(size[0]), type=kind, rate_mts=rate, slot=slot))
    return tuple(modules) if any(module.size_bytes for module in modules) else ()


def _pcie_links(sys: Path) -> dict[str, float]:
    """Return the fact of each NVMe disk whose controller shows its negotiated PCIe link."""
    from orchestrator.machine.facts import PCIE_LINK, pcie_rate

    links: dict[str, float] = {}
    for disk in list_folder(sys / "block"):
        for folder in (disk / "device", disk / "device/device") if disk.name.startswith("nvme") else ():
            speed = re.match(r"(\d+(?:\.\d+)?) GT/s", read_word(folder / "current_link_speed"))
            width = read_word(folder / "current_link_width")
            if speed and width.isdigit() and int(width):
                links[PCIE_LINK.format(disk=disk.name)] = pcie_rate(float(speed[1]), int(width))
    return links


def _os_name() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _smt(cpu: Path) -> str | None:
    active = _word(cpu / "smt/active")
    if active in (None, "1"):
        return active and "on"
    return "not supported" if read_word(cpu / "smt/control") == "notsupported" else "off"


def _hypervisor(lscpu: dict[str, str], cpuinfo: dict[str, str]) -> str | None:
    if "Hypervisor vendor" in lscpu:
        return lscpu["Hypervisor vendor"]
    if "hypervisor" in cpuinfo.get("flags", "").split():
        return "yes, unnamed"
    return "none" if lscpu and "flags" in cpuinfo else None  # unknown without cpuid flags


def _mitigations(folder: Path) -> str | None:
    """Return `spectre_v1, spectre_v2 mitigated; retbleed vulnerable`; what does not affect this CPU is left out."""
    files = {path.name: word for path in list_folder(folder) if (word := _word(path))}
    states = {"mitigation": "mitigated", "vulnerable": "vulnerable", "not affected": ""}
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for name, word in files.items():
        groups[states.get(re.split("[:;,]", word)[0].strip().lower(), "unknown")].append(name)
    parts = [f"{', '.join(groups[s])} {s}" for s in ("mitigated", "vulnerable", "unknown") if groups[s]]
    return "; ".join(parts) or ("not affected" if files else None)


def _counted(paths: Iterable[Path]) -> str | None:
    """Return the common word in all files, or each word with its count: `performance (54), powersave (2)`."""
    counts = Counter(word for path in paths if (word := read_word(path)))
    if len(counts) <= 1:
        return next(iter(counts), None)
    return ", ".join(f"{word} ({count})" for word, count in sorted(counts.items()))


def _chosen(path: Path) -> str | None:
    match = re.search(r"\[(\w+)\]", read_word(path))
    return match[1] if match else None


def _named(path: Path, names: Mapping[str, str]) -> str | None:
    word = _word(path)
    return word and names.get(word, word)


def _cpus(path: Path) -> str | None:
    """Return a list of CPUs that may be empty, which the kernel writes as a blank line or as (null)."""
    text = read_text(path)
    return None if text is None else text.strip().replace("(null)", "") or "none"


def _word(path: Path) -> str | None:
    return read_word(path) or None


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


def _output(name: str, *options: str, even_failed: bool = False) -> str:
    """Return the output of a program.

    "" if the program is missing, unsafe for root, too slow, or fails (unless `even_failed`).
    """
    program = planted.harmless(name)
    answer = ask([program, *options], timeout_s=TIMEOUT_S) if program else None
    if answer is None or (answer.exit_status != 0 and not even_failed):
        return ""
    return answer.stdout.decode("utf-8", "replace")


def memory_refusal(numactl: str) -> str:
    """Return numactl's reason if memory cannot be bound here: "set_mempolicy: Operation not permitted". Otherwise "".

    Containers without CAP_SYS_NICE refuse the system call, and kernels without NUMA do not have it.
    """
    answer = ask([numactl, "--membind=all", "--", "true"], timeout_s=TIMEOUT_S)
    if answer is None or answer.exit_status == 0:
        return ""
    return answer.stderr.decode("utf-8", "replace").strip().partition("\n")[0]


RESERVE_BYTES = 64 << 20
"""Free space to leave on the scratch file system."""


def free_bytes(folder: Path) -> int | None:
    """Return the free space below a folder (or its nearest existing parent), minus the reserve. None if unknown."""
    from orchestrator.machine import file_system

    while not folder.exists():
        folder = folder.parent
    usage = os.statvfs(folder)
    if not usage.f_blocks:  # ramfs has size 0
        return None
    free = usage.f_bavail * usage.f_frsize
    mount = file_system.file_system_of(folder)
    memory = available_memory_bytes() if mount and mount.kind == "tmpfs" else None
    return min(free, free if memory is None else memory) - RESERVE_BYTES


def available_memory_bytes(sys: Path = SYS, proc: Path = PROC) -> int | None:
    """Return the memory available from the kernel and the cgroups of this process. None if the kernel does not show it."""
    available = _kib(_table(read_text(proc / "meminfo") or "").get("MemAvailable"))
    allowed = cgroups.memory(sys, proc)
    return min((n for n in (available, allowed and allowed.left) if n is not None), default=None)
