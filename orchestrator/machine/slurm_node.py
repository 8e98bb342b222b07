"""Find cores that Slurm reserves for the system on a host (CoreSpecCount, CpuSpecList). I/O: `node_of_this_job`."""

from __future__ import annotations

import os
import re

from orchestrator.machine import planted
from orchestrator.machine.ask import ask
from orchestrator.machine.topology import Topology

_TIMEOUT_S = 15.0
"""A busy controller takes seconds; its own message timeout is 10."""


def node_of_this_job() -> str:
    """Return what `scontrol show node` prints of this host, inside a job; "" outside of one, and without an answer."""
    name, scontrol = os.environ.get("SLURMD_NODENAME", ""), planted.harmless("scontrol")
    if not name or not scontrol:
        return ""
    answer = ask([scontrol, "show", "node", "--", name], timeout_s=_TIMEOUT_S)
    return answer.stdout.decode("utf-8", "replace") if answer and answer.exit_status == 0 else ""


def describe_kept_cores(topology: Topology, node: str) -> str:
    """Return "Slurm keeps the other 4 PUs for the system (CoreSpecCount)" if no other PUs are missing, or "".

    `node` is the text of `node_of_this_job`.
    """
    if not is_all_but_kept(topology, node):
        return ""
    missing = len(topology.whole().allowed_cpus) - len(topology.allowed_cpus)
    return f"Slurm keeps the other {'PU' if missing == 1 else f'{missing} PUs'} for the system (CoreSpecCount)"


def is_all_but_kept(topology: Topology, node: str) -> bool:
    """Return whether this process may use the whole machine except the cores that Slurm reserves.

    `CPUEfctv=60 CPUTot=64` are the CPUs for jobs, and all CPUs. Slurm and the kernel number cores differently, so only
    the counts are compared. Slurm counts PUs, or cores if the site has configured that.
    """
    numbers = {name: int(n) for name, n in re.findall(r"\b(CPUEfctv|CPUTot)=(\d+)", node)}
    has_spec = re.search(r"\bCoreSpecCount=\d|\bCPUSpecList=\d", node)
    whole = topology.whole()
    missing = whole.allowed_cpus - topology.allowed_cpus
    if len(numbers) < 2 or not has_spec or not missing or whole.allowed_nodes - topology.allowed_nodes:
        return False
    cores = [frozenset(core.cpus) & whole.allowed_cpus for core in topology.cores]
    incomplete = [core for core in cores if core & missing]
    if any(core - missing for core in incomplete):
        return False  # half a core: a step, or `--hint=nomultithread`
    reserved_count = numbers["CPUTot"] - numbers["CPUEfctv"]
    if numbers["CPUTot"] == len(whole.allowed_cpus):
        return len(missing) == reserved_count
    return numbers["CPUTot"] == sum(map(bool, cores)) and len(incomplete) == reserved_count
