"""What to type next: the command that measures suspicious hosts again, and the one that drains slow ones. Printed,
never run. Pure."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from orchestrator.cluster import ticket
from orchestrator.cluster.begin import engine_words
from orchestrator.cluster.folder import Sweep
from reports.fleet.judge import Fleet
from reports.results.command_lines import without
from reports.results.grouping import group_by
from reports.text.hostlist import folded
from reports.text.plain import printable

_MIN_CONTROLS, _MAX_CONTROLS = 2, 8

_NOT_AGAIN: Final = {
    "--allow-write": 1, "--scratch": 1, "--tune": 0, "--drop-caches": 0, "--events": 1, "--events-to": 1, "--format": 1,
    "-o": 1, "--output": 1, "--seed": 1, "--only": 1, "--retry-failed": 0, "--home": 1, "--whole-node": 0, "--as-new": 0,
    "--nodes": 1, "--via": 1, "--sbatch": 1, "--setup": 1, "--local": 1, "--at-once": 1, "--canary": 0, "--wait": 0,
}  # fmt: skip
"""Options of a `pinsweep run` that are not repeated: option → how many words follow it. The first four may do harm, and
a result file may be a stranger's."""


def rerun_command(fleet: Fleet, folder: Path, sweep: Sweep | None = None) -> str:
    """Return the command that runs the suspicious sweeps again on the suspects and on good hosts; "" if nothing is
    suspicious.

    folder: where the new results go, below it. sweep: that of many hosts whose results these are.
    """
    by_argv = group_by(fleet.rerun, lambda host: again(fleet.members.machines[host][-1].session.argv))
    by_argv.pop((), None)
    if not by_argv:
        return ""
    argv, hosts = max(by_argv.items(), key=lambda item: len(item[1]))
    sweeps = dict.fromkeys(sweep for host in hosts for sweep in fleet.rerun[host])
    names = [fleet.members.machines[host][-1].host for host in (*hosts, *controls(fleet, hosts))]
    output = next(path for n in itertools.count(1) if not (path := folder / f"again-{n}").exists())
    only = [word for name in sweeps for word in ("--only", name)]
    engine = engine_words(sweep) if sweep else ()
    # a line end in a host's name would begin a line of its own
    return printable(shlex.join(["pinsweep", *argv, *only, "--nodes", folded(names), "-o", str(output), *engine]))


def again(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the words that run a session again, without the program; () if it was not `pinsweep run`."""
    return ("run", *without(argv[1:], _NOT_AGAIN)) if argv and argv[0] == "run" else ()


def controls(fleet: Fleet, suspects: Sequence[str]) -> list[str]:
    """Return hosts that are ok, else not judged, of the hardware of the suspects: as many, at least two per kind."""
    good_hosts: list[str] = []
    for _, group in fleet.hosts.sort_index().groupby("group"):
        count = sum(host in suspects for host in group.index)
        good = group.index[group["status"] == "ok"]
        good = good if len(good) else group.index[group["status"] == "unknown"]
        good_hosts += list(good[: max(_MIN_CONTROLS, count)]) if count else []
    return good_hosts[:_MAX_CONTROLS]


def drain_command(fleet: Fleet) -> str:
    """Return the command that drains the slow hosts in Slurm; "" if there is none."""
    names = [fleet.members.machines[host][-1].host for host in fleet.accused]
    return ticket.drain_line(names, folded(names), "slow") if names else ""
