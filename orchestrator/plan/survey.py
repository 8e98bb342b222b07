"""Look around once before planning: topology, tools, memory, space, rights. I/O; decides nothing."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import os
import platform
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from orchestrator.machine import cgroups, identity, planted, probe, slurm_node
from orchestrator.machine.lockfile import is_held
from orchestrator.machine.probe import available_memory_bytes, free_bytes
from orchestrator.machine.safe_files import head, other_writers, refuse_foreign
from orchestrator.machine.topology import Topology
from orchestrator.model import Experiment
from orchestrator.plan.plan import Machine
from orchestrator.programs import find
from orchestrator.tools import Site
from parsers.errors import UserError

SCRATCH_ROOT = "pinsweep-scratch"
SCRATCH_MARKER = ".pinsweep-scratch"
"""The file in a scratch folder that names its owner. A sweep locks the file while it uses the folder."""
SCRATCH_MACHINE = "machine"
"""The word before the machine in that file."""
LONGEST_NAME = 100  # limit of a file name from experiment names; file systems allow 255 bytes


def survey(
    experiments: Iterable[Experiment],
    *,
    scratch: Path,
    topology: Topology | None = None,
    allow_write: Iterable[str] = (),
    recorded: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    unpinned: bool = False,
) -> Machine:
    """Return the Machine for the planner. With a `topology` of another machine, only the shape is known.

    `recorded` has the programs of a session, by tool. These tools must have exactly the recorded programs.
    """
    elsewhere = topology is not None
    tools = {sweep.tool for experiment in experiments for sweep in experiment.sweeps}
    programs = find.find_programs(tools - recorded.keys(), elsewhere=elsewhere)
    programs |= {tool: find.recorded(tool, recorded[tool]) for tool in sorted(tools & recorded.keys())}
    shape = topology if topology is not None else probe.read_topology()
    numactl = planted.which("numactl")
    can_ask = bool(numactl) and not elsewhere
    site = Site(
        topology=shape,
        numactl=numactl or ("numactl" if elsewhere else ""),
        unpinned=unpinned,
        scratch=str(scratch),
        root=os.geteuid() == 0,
        allow_write=dict(map(_allowed, allow_write)),
        path_kind=path_kind,
        real_path=os.path.realpath,
        memory_refusal=functools.cache(lambda: probe.memory_refusal(numactl) if can_ask else ""),
        find=(lambda name, path=None: name) if elsewhere else functools.cache(planted.which),  # noqa: ARG005
        memory_bytes=None if elsewhere else available_memory_bytes(),
        node_memory={} if elsewhere else available_by_node(),
    )
    return Machine(
        site=site,
        programs=programs,
        free_scratch_bytes=functools.cache(lambda: None if elsewhere else free_bytes(scratch)),
        limits="" if elsewhere else cgroups.limits(shape.memory_bytes, len(shape.allowed_cpus)) or "",
        kept_cores=""
        if elsewhere or not shape.share()
        else slurm_node.describe_kept_cores(shape, slurm_node.node_of_this_job()),
    )


def host_name() -> str:
    """Return this host's name in signs that every file system takes."""
    return re.sub(r"[^A-Za-z0-9.-]+", "-", platform.node()) or "host"


def measured_here(names: Iterable[str]) -> str:
    """Return the name of a measurement on this host for files and folders: `EXPERIMENT@HOST`, or `A+B@HOST`."""
    name = "+".join(names)
    if len(name) > LONGEST_NAME:
        name = f"{name[:LONGEST_NAME]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return f"{name}@{host_name()}"


def is_free(folder: Path) -> bool:
    """Return whether no sweep uses a scratch folder now.

    A folder from another machine of this name counts as used, because its lock may not be visible here.
    """
    marker = folder / SCRATCH_MARKER
    return not is_held(marker) and is_of_this_machine(marker)


def is_of_this_machine(marker: Path) -> bool:
    """Return whether a scratch folder's marker has this machine or no machine.

    Earlier versions wrote markers without a machine.
    """
    try:
        match = re.search(rf"^{SCRATCH_MACHINE} ([0-9a-f]+)$", head(marker).decode(), re.MULTILINE)
    except (OSError, ValueError):
        return True
    return match is None or match[1] == identity.machine()


def scratch_folder(root: Path, experiments: Iterable[Experiment], free: Callable[[Path], bool] = is_free) -> Path:
    """Return the folder of these experiments and this host below `root`. `plan` and `run` get the same folder.

    If the folder is not `free`, the next name is NAME@HOST-2, then NAME@HOST-3. Hosts with a common `root` never share
    a folder. This also holds for hosts with equal names, because a lock may be visible on one host only (NFS `nolock`,
    Lustre `localflock`).
    """
    name = measured_here(experiment.name for experiment in experiments)
    folder = Path(os.path.realpath(root)) / SCRATCH_ROOT  # no link on the way can be changed later
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(folder / name for name in names if free(folder / name))


def refuse_shared(path: Path, *, make: bool = False) -> None:
    """Raise UserError if another user could replace the scratch folder.

    Raises OSError if the folder is missing, unless pinsweep makes it.
    """
    root = path.parent
    if why := other_writers(root.parent):
        raise UserError(
            str(root.parent),
            f"another user could exchange scratch files: {why}",
            "name another folder with --scratch, or give it to root and make it sticky (chown root, chmod +t)",
        )
    for folder in (root, path):
        if make:
            with contextlib.suppress(FileExistsError):
                folder.mkdir(mode=0o700)
        refuse_foreign(folder)


def _allowed(device: str) -> tuple[str, Mapping[str, str]]:
    """Return the real path and the identity of a device that may be written to. Raises UserError."""
    from orchestrator.machine import write_guard  # few sweeps name one

    return write_guard.allow(device)


def path_kind(path: str) -> str:
    """Return "missing", "file", "directory", "block", "char" or "other"; symbolic links are followed."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return "missing"
    return _KINDS.get(stat.S_IFMT(mode), "other")


_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFBLK: "block", stat.S_IFCHR: "char"}


def available_by_node(sys: Path = probe.SYS) -> dict[int, int]:
    """Return the bytes that each NUMA node can give: free, or file cache. Nodes without a count are left out."""
    available = {}
    for path in sys.glob("devices/system/node/node[0-9]*/meminfo"):
        text = path.read_text("ascii")  # Node 0 MemFree: 123 kB
        kib = {name: int(value) for name, value in re.findall(r"^Node +\d+ +(\S+): +(\d+)", text, re.M)}
        if "MemFree" in kib:
            given = sum(kib.get(name, 0) for name in ("MemFree", "Active(file)", "Inactive(file)"))
            available[int(path.parent.name.removeprefix("node"))] = given * 1024
    return available
