"""Find conditions of the machine to report before the first run.

`pinsweep run` takes a quick look, and `doctor` checks all. I/O.

`orchestrator.machine.noise` and `.file_system` decide. This module reads their input below a root folder, and selects
the findings for the plan.
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
    """Return the expected disturbances of these runs, only warnings, and the usable part of the machine.

    Takes some milliseconds, and 0.1 s more if other processes run. `kept` is Slurm's reason to reserve the other PUs
    (`slurm_node.describe_kept_cores`).
    """
    sys, proc = root / "sys", root / "proc"
    used = used_pus(runs, topology)
    siblings = wanted_pus(runs, topology) - used
    facts = probe.state(sys, proc, cpus=sorted(used)) | {"load_1min": None}  # busy processes have names
    if not _balanced(runs, topology):
        facts["numa_balancing"] = None
    other_pus = {pu.os_index for pu in topology.pus if pu.core is not None} - used - siblings
    processes = busy.glance(proc, wait_s=GLANCE_S, spare=[os.getpid()])
    findings = [*_tuning(), *noise.findings(facts), *noise.of_processes(processes, used, siblings, other_pus)]
    if any(file.size_bytes or file.folder for run in runs for file in run.scratch):
        findings += _file_system(scratch, root)
    for path in sorted({path for run in runs for path in run.reads if Path(path).is_file()}):  # no devices
        findings += _file_system(Path(path), root, "name a file on the file system to be measured")
    return [
        *_share(topology, kept),
        *(finding for finding in dict.fromkeys(findings) if finding.level == "warn"),
    ]


def examine(facts: Mapping[str, Any], folder: Path, root: Path = Path("/")) -> list[Finding]:
    """Return all that may disturb a measurement on a machine with these facts, warnings first. `folder`: for scratch files."""
    sys, proc = root / "sys", root / "proc"
    hot = probe.throttle_counts(sys)
    processes = busy.busy_now(proc, wait_s=EXAMINE_S, spare=[os.getpid()])
    findings = [*_tuning(), *noise.findings(facts), *noise.of_processes(processes)]
    findings += noise.of_throttling(hot, probe.throttle_counts(sys))
    findings += [noise.IRQBALANCE] if busy.is_running("irqbalance", proc) else []
    findings += _file_system(folder, root)
    return sorted(findings, key=lambda finding: finding.level != "warn")


def describe(finding: Finding) -> str:
    """Return "warn  the governor is powersave: clocks follow the load; fix: …"."""
    return f"{finding.level}  {finding.what}: {finding.why}{f'; fix: {finding.fix}' if finding.fix else ''}"


class PartOfMachine(UserError):
    """This process may use only a part of the machine, but --whole-node requests all of it.

    Nothing was started or written.
    """

    exit_status = 3
    code = "part-of-machine"


def require_whole_node(topology: Topology, kept: str = "") -> None:
    """Raise PartOfMachine unless this process may use all of the machine, or all that Slurm gives to jobs (`kept`)."""
    share = topology.share()
    if share and not kept:
        hint = "use sbatch --exclusive --mem=0 and srun -c N"
        raise PartOfMachine("--whole-node", f"this process may use {share}", hint)


def _share(topology: Topology, kept: str) -> list[Finding]:
    if not (share := topology.share()):
        return []
    what = f"this process may use {share}"
    if kept:
        return [noise.note(what, f"{kept}, and this is all that a job may have")]
    fix = "sbatch --exclusive, srun -c N, or no taskset; --whole-node refuses a part"
    return [noise.warning(what, "an affinity mask or a cpuset (a Slurm step?) excludes the rest", fix)]


def _tuning() -> list[Finding]:
    """Return whether another `run --tune` has tuned the machine or has left it tuned."""
    state = tuning.current()
    if state is None or (state.in_use and state.pid == os.getpid()):
        return []
    text = f"({state}): {tuning.words(state.changes)}"
    if state.in_use:
        what, why = f"another sweep has tuned the machine {text}", "it may put that back during your runs"
        return [noise.warning(what, why, "wait for it, without --share-machine")]
    what = f"a killed `run --tune` left the machine tuned {text}"
    return [noise.warning(what, "its users expect the old settings", "pinsweep doctor --restore")]


def _balanced(runs: Iterable[PlannedRun], topology: Topology) -> bool:
    """Return whether the kernel may move the memory of a run, because there are NUMA nodes and the memory is not bound."""
    unplaced = any(run.placement is None for run in runs)
    groups = (group for run in runs if run.placement for group in run.placement.groups)
    is_free = unplaced or any(not group.membind and not group.interleave for group in groups)
    return len(topology.numa_nodes) > 1 and is_free


def _file_system(path: Path, root: Path, *fix: str) -> list[Finding]:
    mounted = file_system.file_system_of(path, root)
    return file_system.findings(mounted, *fix) if mounted else []
