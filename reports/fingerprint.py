"""What two sets of sessions say of their machines and programs, side by side: where they differ, before any number. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from orchestrator.store import Session
from reports import format as fmt
from reports import naming
from reports.frames import Run
from reports.hardware import layout

FACTS: Final[Mapping[str, str]] = {
    "cpu_model": "processor", "microcode": "microcode", "system": "system", "board": "board", "hypervisor": "hypervisor",
    "bios_vendor": "firmware vendor", "bios_version": "firmware version", "bios_date": "firmware date",
    "memory_bytes": "memory size", "dimms": "memory modules", "os": "operating system", "kernel": "kernel",
    "kernel_version": "kernel build", "kernel_command_line": "kernel command line", "architecture": "architecture",
    "governor": "governor", "frequency_driver": "frequency driver", "turbo": "turbo", "smt": "SMT", "thp": "huge pages",
    "numa_balancing": "NUMA balancing", "aslr": "ASLR", "clocksource": "clock source", "mitigations": "mitigations",
    "isolated_cpus": "isolated CPUs", "nohz_full_cpus": "tickless CPUs", "cpus_allowed": "allowed CPUs",
    "mems_allowed": "allowed memory nodes", "environment": "environment", "libc": "C library",
}  # fmt: skip
"""Facts of a session that may move a number, in the order of the table. Left out: what differs between any two moments
(uptime, load, free memory) and what only names the machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One line: what, and what either side says of it ("" where it was not recorded)."""

    what: str
    a: str
    b: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    differences: tuple[Difference, ...]
    agreed: tuple[str, ...]  # what both sides recorded, and is the same
    unknown: tuple[str, ...]  # what a side did not record: nobody can say whether it differs


def fingerprint(a: Iterable[Session], b: Iterable[Session]) -> dict[str, tuple[str, str]]:
    """Return what → (A's values, B's values), "" where a side recorded none; several values of a side stand side by side."""
    left, right = list(a), list(b)
    table = {word: (_values(left, name), _values(right, name)) for name, word in FACTS.items()}
    table["cores"] = (_topologies(left), _topologies(right))
    table["pinsweep"] = (
        _listed(s.pinsweep_version for s in left),
        _listed(s.pinsweep_version for s in right),
    )
    return table


def programs(a: Iterable[Run], b: Iterable[Run]) -> dict[str, tuple[str, str]]:
    """Return tool → (the program and its version of A, of B), and, where those are the same, its checksums."""
    left, right = _by_tool(a), _by_tool(b)
    table: dict[str, tuple[str, str]] = {}
    for tool in dict.fromkeys((*left, *right)):
        names = tuple(
            _listed(naming.program_name(run) for run in side.get(tool, ())) for side in (left, right)
        )
        table[naming.tool_name(tool)] = (names[0], names[1])
        if names[0] == names[1]:
            sums = [
                _listed(str(run.program.get("sha256") or "")[:12] for run in side.get(tool, ()))
                for side in (left, right)
            ]
            table[f"{naming.tool_name(tool)}, sha256"] = (sums[0], sums[1])
    return table


def compared(table: Mapping[str, tuple[str, str]]) -> Fingerprint:
    """Sort the lines of a table into what differs, what is the same and what nobody recorded on both sides."""
    known = {what: values for what, values in table.items() if all(values)}
    return Fingerprint(
        differences=tuple(Difference(what=what, a=a, b=b) for what, (a, b) in known.items() if a != b),
        agreed=tuple(what for what, (a, b) in known.items() if a == b),
        unknown=tuple(
            what for what, values in table.items() if not all(values) and (any(values) or what in _ASKED)
        ),
    )


_ASKED: Final = frozenset(
    {"processor", "microcode", "firmware version", "memory modules", "kernel", "governor"}
)
"""Facts whose absence on both sides is worth a word."""


def _by_tool(runs: Iterable[Run]) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.tool, []).append(run)
    return found


def _values(sessions: Iterable[Session], name: str) -> str:
    values = (session.facts.get(name) for session in sessions)
    return _listed(
        fmt.size(float(value)) if name.endswith("_bytes") else str(value)
        for value in values
        if value is not None
    )


def _listed(values: Iterable[str]) -> str:
    """Return the different values, sorted, at most four."""
    known = sorted({value for value in values if value})
    return " | ".join(known[:4]) + (f" and {len(known) - 4} more" if len(known) > 4 else "")


def _topologies(sessions: Iterable[Session]) -> str:
    return _listed(layout(session.topology) for session in sessions)
