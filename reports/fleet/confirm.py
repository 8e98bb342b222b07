"""What is to be run next: the commands that measure suspicious hosts again beside good ones, and what an admin may do about slow ones. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.cluster import ticket
from reports.fleet.outliers import ACCUSED, Report
from reports.results.command_lines import without
from reports.results.grouping import group_by
from reports.text import format as fmt
from reports.text.hostlist import folded
from reports.text.plain import printable
from reports.verdicts.fleet import CONFIRMED

LEAST_CONTROLS: Final = 2
MOST_CONTROLS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How the hosts are reached again: as the sweep did whose folder the results lie in, else as `run --nodes` does by itself."""

    program: tuple[str, ...]  # what starts pinsweep, wherever one is
    folder: str  # absolute: where the new sessions go, each into a folder of its own
    work: str  # absolute: what the paths in the commands of before start from
    number: int = 1  # of the first new folder
    options: tuple[str, ...] = ()  # of the engine: --via, --sbatch ...
    names: Mapping[str, str] | None = None  # result file, by its short name → what the engine calls its host
    # experiments that the commands of before name, and `work` does not have: it is another folder
    absent: tuple[str, ...] = ()
    covered: bool = True  # whether the command that judges sees what is below `folder`


def folder_of(results: str | Path, number: int) -> Path:
    """Return the folder inside that of the results where hosts are measured again, for the n-th time."""
    return Path(results, f"again-{number}")


def is_first(path: Path) -> bool:
    """Is a result file of the first try, and not in such a folder?"""
    return not re.fullmatch(r"again-\d+", path.parent.name)


def commands(report: Report, judge: Sequence[str], way: Way) -> str:
    """Return the lines that measure the suspicious sweeps again on the suspects and on controls, then judge all. "" if nothing is suspicious.

    judge   the words of the command that this verdict is of, behind the program

    They hold when pasted into any shell, in any folder: each changes to its own.
    """
    if not report.rerun:
        return ""
    wanted = group_by(report.rerun, lambda host: again(report.sessions[host][-1].argv, ()))
    captured = wanted.pop((), [])
    lines = [_elsewhere(way)] if way.absent else []
    folders = []
    for number, (argv, hosts) in enumerate(wanted.items(), start=way.number):
        sweeps = dict.fromkeys(sweep for host in hosts for sweep in report.rerun[host])
        beside = controls(report, hosts)
        suspects, good = ([_name(report, host, way) for host in own] for own in (hosts, beside))
        new = str(folder_of(way.folder, number))
        folders.append(new)
        words = [*argv, *(word for sweep in sweeps for word in ("--only", sweep))]
        lines.append(
            f"# {folded(suspects)} again, {f'with {folded(good)} as controls' if good else 'without controls: no other host is there'};"
            f" {_missing(report, hosts)}"
        )
        argvs = (report.sessions[host][-1].argv for host in hosts)
        names = dict.fromkeys(word.partition("=")[0] for argv in argvs for word in argv)
        if by_hand := [name for name in names if name in _BY_HAND]:
            lines.append(f"# left out, add what you mean: {' '.join(by_hand)}")
        lines.append(
            _line(way, [*words, "--nodes", folded([*suspects, *good]), "-o", new, *way.options, "--wait"])
        )
    if captured:
        lines.append(f"# {folded(captured)}: of captured output there is no command to run again")
    lines += [
        "# then",
        _line(way, ["fleet", *judge, *(() if way.covered else folders)]),
    ]
    return "\n".join(map(printable, lines))  # a line end in a host's name would make a command of a comment


def _elsewhere(way: Way) -> str:
    """Say that a folder has not what its commands name: result files do not tell where `run` was called."""
    files = fmt.words(way.absent)
    return f"# {files} {'is' if len(way.absent) == 1 else 'are'} not in {way.work}: the folder where `pinsweep run` was called is not recorded, put it behind cd"


def experiments(report: Report) -> list[str]:
    """Return the experiments, as files, that the commands of before name."""
    words = (word for host in report.rerun for word in again(report.sessions[host][-1].argv, ()))
    return list(dict.fromkeys(word for word in words if word.endswith((".yaml", ".yml"))))


def _line(way: Way, words: Sequence[str]) -> str:
    return f"(cd {shlex.quote(way.work)} && {shlex.join([*way.program, *words])})"


def _name(report: Report, host: str, way: Way) -> str:
    names = [way.names[file] for file in report.files[host] if file in way.names] if way.names else []
    return names[0] if names else report.sessions[host][-1].host


def controls(report: Report, suspects: Sequence[str]) -> list[str]:
    """Return hosts that are ok (else: not judged) and of the hardware of the suspects: as many, at least two of a kind, at most eight."""
    found: list[str] = []
    for group in report.groups:
        own = [host for host in group.hosts if host in suspects]
        good = [host for host in group.hosts if report.statuses[host] == "ok"]
        good = good or [host for host in group.hosts if report.statuses[host] == "unknown"]
        found += good[: max(LEAST_CONTROLS, len(own))] if own else []
    return found[:MOST_CONTROLS]


def _missing(report: Report, hosts: Sequence[str]) -> str:
    """Say how many sessions hosts lack before one of them is called slow; of hosts that have them why none is."""
    lacks = CONFIRMED - min(report.counted_sessions[host] for host in hosts)
    if lacks <= 0:
        return f"suspicious and not slow for {report.suspected(hosts)}"
    one = "this one is" if lacks == 1 else f"this one and {fmt.plural(lacks - 1, 'other')} are"
    return f"{one} missing until a host is called slow, and what one boot does within an hour counts as one"


_BY_HAND: Final = {"--allow-write": 1, "--scratch": 1, "--tune": 0, "--drop-caches": 0}
"""Options that may do harm, as `without` takes them: a command line that a result file holds may be a stranger's."""

_NOT_AGAIN: Final = {
    **_BY_HAND, "--events": 1, "--events-to": 1, "--format": 1,
    "-o": 1, "--output": 1, "--seed": 1, "--only": 1, "--retry-failed": 0, "--home": 1, "--whole-node": 0, "--as-new": 0,
    "--nodes": 1, "--via": 1, "--sbatch": 1, "--setup": 1, "--local": 1, "--at-once": 1, "--canary": 0, "--wait": 0,
}  # fmt: skip
"""Options of a `pinsweep run` that are not repeated, as `without` takes them: the new runs are a session of their own."""


def again(argv: Sequence[str], sweeps: Sequence[str]) -> tuple[str, ...]:
    """Return the words that run some sweeps of a session again, behind the program; empty if it was no `pinsweep run`."""
    if not argv or argv[0] != "run":  # captured output, `pinsweep parse`
        return ()
    return ("run", *without(argv[1:], _NOT_AGAIN), *(word for sweep in sweeps for word in ("--only", sweep)))


def recovered(first: Report, now: Report) -> str:
    """Return "ok at the 2nd try  node[3,7]": who was suspicious in the first report and is ok with what came after it, each file one more try; "" if
    nobody."""
    well = [host for host in first.rerun if now.statuses.get(host) in ("ok", "fast")]
    tries = group_by(well, lambda host: 1 + len(now.files[host]) - len(first.files[host]))
    return "\n".join(
        printable(f"ok at the {_ORDINALS.get(n, f'{n}th')} try  {folded(hosts)}")
        for n, hosts in sorted(tries.items())
    )


_ORDINALS: Final = {1: "1st", 2: "2nd", 3: "3rd"}


def tickets(report: Report) -> list[str]:
    """Return a line for each slow host that drains it, to be typed by who may; nothing runs it."""
    lines = []
    for host in report.accused:
        name = report.sessions[host][-1].host
        worst = next((o for o in report.odd if o.host == host and o.found.status in ACCUSED), None)
        why = "slightly slow everywhere"
        if worst is not None:
            told = [f"{worst.series.name} {fmt.change(worst.change)}", *filter(None, [worst.reason])]
            why = ", ".join([*told, fmt.plural(worst.found.sessions, "session")])
        lines.append(ticket.drain_line([name], name, why))
    return list(filter(None, lines))
