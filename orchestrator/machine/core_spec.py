"""Cores that a site keeps for itself on its hosts (Slurm's CoreSpecCount, CpuSpecList): no job has them, and they are not lacking. Pure."""

from __future__ import annotations

import re

from orchestrator.machine.topology import Topology


def kept(topology: Topology, node: str) -> str:
    """Return why what is missing of this machine is not lacking, as words that go on with a sentence: "Slurm keeps the other 4 PUs for the
    system (CoreSpecCount)"; "" where it is lacking, or nothing is missing. `node` as below."""
    if not is_all_but_kept(topology, node):
        return ""
    missing = len(topology.whole().allowed_cpus) - len(topology.allowed_cpus)
    return (
        f"Slurm keeps the other {'PU' if missing == 1 else f'{missing} PUs'} for the system (CoreSpecCount)"
    )


def is_all_but_kept(topology: Topology, node: str) -> bool:
    """Tell whether this process may use all of the machine but whole cores that Slurm gives to no job.

    `node` is what `scontrol show node` prints of this host: `CPUEfctv=60 CPUTot=64`, the CPUs for jobs, and all of them. Which cores they
    are is not said in the kernel's numbers, so how many counts. Slurm counts PUs, or cores where the site has configured it so.
    """
    numbers = {name: int(n) for name, n in re.findall(r"\b(CPUEfctv|CPUTot)=(\d+)", node)}
    spec = re.search(r"\bCoreSpecCount=(\d+)|\bCPUSpecList=[0-9]", node)
    whole = topology.whole()
    missing = whole.allowed_cpus - topology.allowed_cpus
    if len(numbers) < 2 or spec is None or not missing or whole.allowed_nodes - topology.allowed_nodes:
        return False
    cores = [frozenset(core.cpus) & whole.allowed_cpus for core in topology.cores]
    lost = [core for core in cores if core & missing]
    if any(core - missing for core in lost):
        return False  # half a core: a step, or `--hint=nomultithread`
    kept = numbers["CPUTot"] - numbers["CPUEfctv"]
    if numbers["CPUTot"] == len(whole.allowed_cpus):
        return len(missing) == kept
    return numbers["CPUTot"] == sum(map(bool, cores)) and len(lost) == kept
