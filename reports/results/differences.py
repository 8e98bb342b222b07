"""Compare the machines and programs of two sets of sessions, before any number is compared. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from orchestrator.machine.facts import FACTS
from orchestrator.model import UNRECORDED_HOST
from orchestrator.store.result_file import Session
from reports.results.hardware import layout
from reports.text.hostlist import listed

if TYPE_CHECKING:
    import pandas as pd

SEVERAL: Final = " | "
"""Separator of the values of one side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One line: the property, and the value of each side ("" if not recorded)."""

    what: str
    a: str
    b: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    differences: tuple[Difference, ...]
    agreed: tuple[str, ...]  # recorded on both sides, equal
    unknown: tuple[str, ...]  # not recorded on a side
    one_sided: tuple[str, ...] = ()  # the part of `unknown` that one side recorded


def fingerprint(a: Iterable[Session], b: Iterable[Session]) -> dict[str, tuple[str, str]]:
    """Return {property: (A's values, B's values)}. Several values of a side are joined, and "" means not recorded."""
    left, right = [_said(session) for session in a], [_said(session) for session in b]
    whats = next(iter((*left, *right)), {})
    return {what: (listed_values(s[what] for s in left), listed_values(s[what] for s in right)) for what in whats}


def _said(session: Session) -> dict[str, str]:
    facts = {fact.words: fact.text(session.facts) for fact in FACTS}
    return {**facts, "cores": layout(session.topology), "pinsweep": session.pinsweep_version}


def hosts(a: Iterable[Session], b: Iterable[Session]) -> dict[str, tuple[str, str]]:
    """Return the hosts of both sides, if the hosts are known."""
    names = [{session.host for session in side} for side in (a, b)]
    known = all(names) and UNRECORDED_HOST not in names[0] | names[1]
    return {"host": (listed(names[0]), listed(names[1]))} if known else {}


def programs(a: pd.DataFrame, b: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Return {"program of fio": ("fio 3.33", "fio 3.36")} for the tools that both sides ran. Equal names have
    checksums.

    a, b: runs with their `tool`, `program_name` and `checksum`.
    """
    table: dict[str, tuple[str, str]] = {}
    for tool in dict.fromkeys(a["tool"]):
        sides = [runs[runs["tool"] == tool] for runs in (a, b)]
        if sides[1].empty:
            continue
        names, sums = ([listed_values(runs[column]) for runs in sides] for column in ("program_name", "checksum"))
        table[f"program of {tool}"] = names[0], names[1]
        if names[0] == names[1] and any(sums):
            table[f"checksum of {names[0]}"] = sums[0], sums[1]
    return table


_EXPECTED: Final = frozenset(fact.words for fact in FACTS if fact.expected)


def compared(table: Mapping[str, tuple[str, str]]) -> Fingerprint:
    """Sort the lines of a table into different, equal, and not recorded on both sides."""
    known = {what: values for what, values in table.items() if all(values)}
    return Fingerprint(
        differences=tuple(Difference(what=what, a=a, b=b) for what, (a, b) in known.items() if a != b),
        agreed=tuple(what for what, (a, b) in known.items() if a == b),
        unknown=tuple(what for what, values in table.items() if not all(values) and (any(values) or what in _EXPECTED)),
        one_sided=tuple(what for what, values in table.items() if not all(values) and any(values)),
    )


def listed_values(values: Iterable[str]) -> str:
    """Return the different values, sorted, at most four."""
    known = sorted({value for value in values if value})
    return SEVERAL.join(known[:4]) + (f" and {len(known) - 4} more" if len(known) > 4 else "")
