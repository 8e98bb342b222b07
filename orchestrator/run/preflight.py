"""What is to be known of the machine before the first run: a glance in `pinsweep run`, all of it in `doctor`. I/O.

`orchestrator.machine.noise` and `.file_system` decide; here is read what they need, below a root folder, and what concerns the plan is
chosen.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.machine import busy, file_system, noise, probe
from orchestrator.machine.noise import Finding
from orchestrator.machine.topology import Topology
from orchestrator.model import PlannedRun
from orchestrator.run import tuning
from orchestrator.run.exclusive import used_pus, wanted_pus
from parsers.errors import UserError

GLANCE_S = 0.1
EXAMINE_S = 0.25


def glance(
    runs: Sequence[PlannedRun], topology: Topology, scratch: Path, root: Path = Path("/"), kept: str = ""
) -> list[Finding]:
    """Return what will disturb these runs, warnings only, and which part of the machine they have. Costs some milliseconds; 0.1 s more
    where something else is running. `kept`: why what they have not is not lacking (`slurm_node.describe_kept_cores`)."""
    sys, proc = root / "sys", root / "proc"
    used = used_pus(runs, topology)
    siblings = wanted_pus(runs, topology) - used
    facts = probe.state(sys, proc, cpus=sorted(used)) | {"load_1min": None}  # who is busy is said by name
    if not _balanced(runs, topology):
        facts["numa_balancing"] = None
    found = [*_of_tuning(), *noise.findings(facts)]
    online = {pu.os_index for pu in topology.pus if pu.core is not None}
    others = online - used - siblings
    found += noise.of_processes(
        busy.glance(proc, wait_s=GLANCE_S, spare=[os.getpid()]), used, siblings, others
    )
    if any(file.size_bytes or file.folder for run in runs for file in run.scratch):
        found += _of_file_system(scratch, root)
    for path in sorted({path for run in runs for path in run.reads if Path(path).is_file()}):  # no devices
        found += _of_file_system(Path(path), root, "name a file on the file system to be measured")
    found = list(dict.fromkeys(found))
    return [*_of_share(topology, kept), *(finding for finding in found if finding.level == "warn")]


def _of_share(topology: Topology, kept: str) -> list[Finding]:
    share = topology.share()
    if not share:
        return []
    if kept:
        why = f"{kept}, and this is all that a job may have"
        return [Finding(level="info", what=f"this process may use {share}", why=why)]
    return [
        Finding(
            level="warn", what=f"this process may use {share}",
            why="an affinity mask or a cpuset (a Slurm step?) leaves the rest out, and figures are of that part of the machine",
            fix="sbatch --exclusive, srun -c N, or no taskset; --whole-node refuses a part",
        )
    ]  # fmt: skip


def require_whole_node(topology: Topology, kept: str = "") -> None:
    """Raise PartOfMachine unless this process may use all of the machine, or in a job of Slurm all that any job may have. `kept` as of `glance`."""
    share = topology.share()
    if share and not kept:
        raise PartOfMachine(
            "--whole-node", f"this process may use {share}", "use sbatch --exclusive --mem=0 and srun -c N"
        )


class PartOfMachine(UserError):
    """This process may use a part of the machine only, and all of it was asked for. Nothing was started or written."""

    exit_status = 3
    code = "part-of-machine"


def describe(found: Finding) -> str:
    """Return "warn  the governor is powersave: clocks follow the load; fix: …"."""
    return f"{found.level}  {found.what}: {found.why}{f'; fix: {found.fix}' if found.fix else ''}"


def examine(facts: Mapping[str, Any], folder: Path, root: Path = Path("/")) -> list[Finding]:
    """Return all that may disturb a measurement on a machine with these `probe.facts`, warnings first. `folder`: for scratch files."""
    sys, proc = root / "sys", root / "proc"
    hot = probe.throttle_counts(sys)
    processes = busy.busy_now(proc, wait_s=EXAMINE_S, spare=[os.getpid()])
    found = [*_of_tuning(), *noise.findings(facts), *noise.of_processes(processes)]
    found += noise.of_throttling(hot, probe.throttle_counts(sys))
    if busy.is_running("irqbalance", proc):
        found.append(noise.IRQBALANCE)
    found += _of_file_system(folder, root)
    return sorted(found, key=lambda finding: finding.level != "warn")


def _of_tuning() -> list[Finding]:
    """Say that another `run --tune` has set the machine, or has left it so."""
    found = tuning.current()
    if found is None or (found.in_use and found.pid == os.getpid()):
        return []
    if found.in_use:
        return [
            Finding(
                level="warn", what=f"another sweep has tuned the machine ({found}): {tuning.words(found.changes)}",
                why="it puts that back when it ends, which may be in the middle of yours", fix="wait for it, without --share-machine",
            )
        ]  # fmt: skip
    return [
        Finding(
            level="warn", what=f"a killed `run --tune` left the machine tuned ({found}): {tuning.words(found.changes)}",
            why="it is not as its users know it", fix="pinsweep doctor --restore",
        )
    ]  # fmt: skip


def _balanced(runs: Iterable[PlannedRun], topology: Topology) -> bool:
    """Whether the kernel may move the memory of a run: there are nodes, and it is bound to none."""
    if len(topology.numa_nodes) < 2:
        return False
    return any(
        not run.placement or any(not group.membind and not group.interleave for group in run.placement.groups)
        for run in runs
    )


def _of_file_system(path: Path, root: Path, *another: str) -> list[Finding]:
    found = file_system.file_system_of(path, root)
    return file_system.findings(found, *another) if found else []
