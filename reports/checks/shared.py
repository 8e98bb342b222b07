"""Checks of resources that several hosts shared during a measurement."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.machine.file_system import is_shared
from reports.checks import ANY_TOOL, Fault, check
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.text import format as fmt

FAMILY = ANY_TOOL


@check("G17", "warn", "info")
def shared_storage(results: Results) -> Iterator[Fault]:
    """files on a shared file system

    The files of a sweep were on a network or cluster file system (nfs, lustre, gpfs, beegfs, ceph, 9p, most FUSE file
    systems). The figures include the network, the server and the load of all users. The finding is a warning if several
    hosts measured on the same file system.

    Do: name a folder on a disk of the host with --scratch, or measure the server from one host at a time.
    """
    good = (run for tool in results.tools for run in results.good(tool))
    for (kind, source), runs in group_by(filter(_on_files, good), _storage).items():
        if not is_shared(kind):
            continue
        hosts = {run.session.host for run in runs}
        who = "network and server are measured, with all who use them"
        if len(hosts) > 1:
            who = f"{fmt.plural(len(hosts), 'host')} shared it"
        for group in group_by(runs, lambda run: (run.file, run.cell.sweep)).values():
            yield Fault(
                level="warn" if len(hosts) > 1 else "info", run=group[0], runs=tuple(group),
                cell=f"{fmt.plural(len({run.cell.point_id for run in group}), 'cell')} of {group[0].cell.sweep}",
                text=f"scratch is on {kind} ({source}): {who}",
            )  # fmt: skip


def _on_files(run: Run) -> bool:
    sweeps = run.session.facts.get("scratch_sweeps")
    return isinstance(sweeps, str) and run.cell.sweep in sweeps.splitlines()


def _storage(run: Run) -> tuple[str, str]:
    facts = run.session.facts
    return str(facts.get("scratch_file_system")), str(facts.get("scratch_source"))
