"""Cores that Slurm gives to no job: what `scontrol show node` of 22.05 prints, and what a job may use there."""

from __future__ import annotations

import pytest

from orchestrator.machine.cpulist import parse_cpulist
from orchestrator.machine.descriptions import topology_from_text
from orchestrator.machine.slurm_node import is_all_but_kept

NODE = """\
NodeName=node1 Arch=x86_64 CoresPerSocket={cores}
   CPUAlloc=0 CPUEfctv={job} CPUTot={all} CPULoad=15.19
   AvailableFeatures=(null)
   NodeAddr=10.77.0.1 NodeHostName=node1 Version=22.05.8
   RealMemory=24105 AllocMem=0 FreeMem=9908 Sockets=1 Boards=1
   {kept}State=IDLE ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   CfgTRES=cpu={job},mem=24105M,billing=1
"""
SPEC = "CoreSpecCount=1 CPUSpecList=3,7 \n   "
MACHINE = topology_from_text("pack:1 [numa] core:4 pu:2(indexes=core:pu)")  # cores 0,4 1,5 2,6 3,7


@pytest.mark.parametrize(
    ("allowed", "job", "total", "kept", "all_but_kept"),
    [
        ("0-2,4-6", 6, 8, SPEC, True),
        ("1-3,5-7", 6, 8, SPEC, True),  # CPUSpecList counts as Slurm does: not core 3 of the kernel's
        ("0-2,4-6", 6, 8, "CPUSpecList=3,7 ", True),
        ("0-2,4-6", 3, 4, SPEC, True),  # a site that counts cores
        ("0", 6, 8, SPEC, False),  # a step of one CPU
        ("0-6", 6, 8, SPEC, False),  # half a core is gone
        ("0-1,4-5", 6, 8, SPEC, False),  # one core more than is kept
        ("0-2,4-6", 8, 8, "", False),  # nothing is kept: a step
        ("0-2,4-6", 6, 16, SPEC, False),  # of another machine
        ("0-7", 6, 8, SPEC, False),  # nothing is missing
    ],
)
def test_cores_that_no_job_has_are_not_lacking(
    allowed: str, job: int, total: int, kept: str, all_but_kept: bool
) -> None:
    text = NODE.format(cores=4, job=job, all=total, kept=kept)

    assert is_all_but_kept(MACHINE.limited(parse_cpulist(allowed)), text) is all_but_kept


def test_outside_of_a_job_nothing_is_kept() -> None:
    assert not is_all_but_kept(MACHINE.limited(parse_cpulist("0-2,4-6")), "")


def test_memory_that_is_missing_is_lacking() -> None:
    machine = topology_from_text("pack:1 [numa][numa] core:4 pu:2(indexes=core:pu)")
    text = NODE.format(cores=4, job=6, all=8, kept=SPEC)

    assert is_all_but_kept(machine.limited(parse_cpulist("0-2,4-6")), text)
    assert not is_all_but_kept(machine.limited(parse_cpulist("0-2,4-6"), (0,)), text)
