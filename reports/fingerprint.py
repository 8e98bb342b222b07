"""What two sets of sessions say of their machines and programs, side by side: where they differ, before any number. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from orchestrator.facts import FACTS
from orchestrator.store import Session
from reports import naming
from reports.frames import Run
from reports.grouping import group_by
from reports.hardware import layout


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
    one_sided: tuple[str, ...] = ()  # of these, what the other side did record


def fingerprint(a: Iterable[Session], b: Iterable[Session]) -> dict[str, tuple[str, str]]:
    """Return what → (A's values, B's values), "" where a side recorded none; several values of a side stand side by side."""
    left, right = [_said(session) for session in a], [_said(session) for session in b]
    whats = next(iter((*left, *right)), {})
    return {what: (_listed(s[what] for s in left), _listed(s[what] for s in right)) for what in whats}


def _said(session: Session) -> dict[str, str]:
    facts = {fact.words: fact.text(session.facts) for fact in FACTS}
    return {**facts, "cores": layout(session.topology), "pinsweep": session.pinsweep_version}


def programs(a: Iterable[Run], b: Iterable[Run]) -> dict[str, tuple[str, str]]:
    """Return tool → (the program and its version of A, of B), and, where those are the same, its checksums."""
    left, right = (group_by(runs, lambda r: r.tool) for runs in (a, b))
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


_EXPECTED: Final = frozenset(fact.words for fact in FACTS if fact.expected)


def compared(table: Mapping[str, tuple[str, str]]) -> Fingerprint:
    """Sort the lines of a table into what differs, what is the same and what nobody recorded on both sides."""
    known = {what: values for what, values in table.items() if all(values)}
    return Fingerprint(
        differences=tuple(Difference(what=what, a=a, b=b) for what, (a, b) in known.items() if a != b),
        agreed=tuple(what for what, (a, b) in known.items() if a == b),
        unknown=tuple(
            what for what, values in table.items() if not all(values) and (any(values) or what in _EXPECTED)
        ),
        one_sided=tuple(what for what, values in table.items() if not all(values) and any(values)),
    )


def _listed(values: Iterable[str]) -> str:
    """Return the different values, sorted, at most four."""
    known = sorted({value for value in values if value})
    return " | ".join(known[:4]) + (f" and {len(known) - 4} more" if len(known) > 4 else "")
