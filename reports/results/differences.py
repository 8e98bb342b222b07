"""What two sets of sessions say of their machines and programs, side by side: where they differ, before any number. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

from orchestrator.machine.facts import FACTS
from orchestrator.model import UNRECORDED_HOST
from orchestrator.store.result_file import Session
from reports.results import naming
from reports.results.grouping import group_by
from reports.results.hardware import layout
from reports.results.model import Run
from reports.text.hostlist import listed

SEVERAL: Final = " | "
"""Stands between the different values of one side."""


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
    return {
        what: (listed_values(s[what] for s in left), listed_values(s[what] for s in right)) for what in whats
    }


def _said(session: Session) -> dict[str, str]:
    facts = {fact.words: fact.text(session.facts) for fact in FACTS}
    return {**facts, "cores": layout(session.topology), "pinsweep": session.pinsweep_version}


def hosts(a: Iterable[Session], b: Iterable[Session]) -> dict[str, tuple[str, str]]:
    """Return the hosts of both sides, if they are known."""
    names = [{session.host for session in side} for side in (a, b)]
    known = all(names) and UNRECORDED_HOST not in names[0] | names[1]
    return {"host": (listed(names[0]), listed(names[1]))} if known else {}


def programs(a: Iterable[Run], b: Iterable[Run]) -> dict[str, tuple[str, str]]:
    """Return "fio version" of the programs that both sides ran → (its version of A, of B); "program of fio" where these have other
    names; of a stand-in its own name, twice. Where those are the same, its checksums; those of the files that a user's own commands on both
    sides run, by their names."""
    left, right = (group_by(naming.by_program(runs), lambda r: r.tool) for runs in (a, b))
    table: dict[str, tuple[str, str]] = {}
    for tool in filter(right.__contains__, left):
        sides = [[naming.program_called(run) for run in side[tool]] for side in (left, right)]
        names = [listed_values(called for called, _ in side) for side in sides]
        versions = [listed_values(version for _, version in side) for side in sides]
        stands_in = all(map(naming.stands_in, (*left[tool], *right[tool])))
        sums = _sums(*([run.program for run in side[tool]] for side in (left, right)), located=not stands_in)
        if names[0] != names[1]:
            of_a, of_b = (listed_values(map(naming.program_name, side[tool])) for side in (left, right))
            table[f"program of {tool}"] = of_a, of_b
        elif stands_in:
            table[names[0]] = names[0], names[0]
        elif any(versions):
            table[f"{names[0]} version"] = versions[0], versions[1]
        if names[0] == names[1] and versions[0] == versions[1] and any(sums):
            table[f"sha256 of {names[0]}"] = sums
        files = [_files(side[tool]) for side in (left, right)]
        for name in sorted(files[0].keys() & files[1].keys()):
            table[f"sha256 of {name}"] = _sums(files[0][name], files[1][name], located=True)
    return table


_File = Mapping[str, Any]
"""A file as a session records it: its path and its sha256."""


def _sums(a: Iterable[_File], b: Iterable[_File], *, located: bool) -> tuple[str, str]:
    """Return the beginnings of the checksums of some files of A and of B; `located`: where they differ and lie elsewhere, with their paths."""
    known = [
        {str(file.get("sha256") or "")[:12]: str(file.get("path") or "") for file in of} for of in (a, b)
    ]
    elsewhere = known[0].keys() != known[1].keys() and {*known[0].values()} != {*known[1].values()}
    of_a, of_b = (
        listed_values(
            f"{sum_} ({path})" if sum_ and path and located and elsewhere else sum_
            for sum_, path in of.items()
        )
        for of in known
    )
    return of_a, of_b


def _files(runs: Sequence[Run]) -> dict[str, list[_File]]:
    """Return file that commands run, without its folders → what is recorded of it."""
    found: dict[str, list[_File]] = {}
    for programs in {id(run.program): run.program for run in runs}.values():
        for word, file in programs.get("files", {}).items():
            found.setdefault(PurePath(word).name, []).append(file)
    return found


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


def listed_values(values: Iterable[str]) -> str:
    """Return the different values, sorted, at most four."""
    known = sorted({value for value in values if value})
    return SEVERAL.join(known[:4]) + (f" and {len(known) - 4} more" if len(known) > 4 else "")
