"""What two sets of sessions say of their machines and programs, side by side: where they differ, before any number. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

from orchestrator.machine.facts import FACTS
from orchestrator.model import UNRECORDED_HOST
from orchestrator.store.result_file import Session
from orchestrator.tools import command_meant
from reports.results import naming
from reports.results.grouping import group_by
from reports.results.hardware import layout
from reports.results.model import Run
from reports.results.programs import tool_name
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
    return {what: (_listed(s[what] for s in left), _listed(s[what] for s in right)) for what in whats}


def _said(session: Session) -> dict[str, str]:
    facts = {fact.words: fact.text(session.facts) for fact in FACTS}
    return {**facts, "cores": layout(session.topology), "pinsweep": session.pinsweep_version}


def machines(a: Iterable[Session], b: Iterable[Session]) -> dict[str, tuple[str, str]]:
    """Return the hosts of both sides, where they are known, and "network cards of n1" → (A's, B's) of each host name whose sessions on one side saw
    no card of the other's: of machines that nothing else may tell apart."""
    left, right = (group_by(sessions, lambda session: session.host) for sessions in (a, b))
    table = {}
    for host in left.keys() & right.keys():
        cards = [
            {card for session in side[host] for card in str(session.facts.get("network_cards") or "").split()}
            for side in (left, right)
        ]
        if all(cards) and cards[0].isdisjoint(cards[1]):
            table[f"network cards of {host}"] = " ".join(sorted(cards[0])), " ".join(sorted(cards[1]))
    hosts = listed(left), listed(right)
    known = all(hosts) and UNRECORDED_HOST not in (*left, *right)
    return ({"host": hosts} if known else {}) | dict(sorted(table.items()))


def programs(a: Iterable[Run], b: Iterable[Run]) -> dict[str, tuple[str, str]]:
    """Return "fio version" of the programs that both sides ran → (its version of A, of B); "program of fio" where these have other
    names; of a stand-in its own name, twice. Where those are the same, its checksums; those of the files that a user's own commands on both
    sides run, by their names."""
    left, right = (group_by(naming.by_program(runs), lambda r: r.tool) for runs in (a, b))
    table: dict[str, tuple[str, str]] = {}
    for tool in filter(right.__contains__, left):
        sides = [[naming.program_called(run) for run in side[tool]] for side in (left, right)]
        names = [_listed(called for called, _ in side) for side in sides]
        versions = [_listed(version for _, version in side) for side in sides]
        stands_in = all(map(naming.stands_in, (*left[tool], *right[tool])))
        sums = _sums(*([run.program for run in side[tool]] for side in (left, right)), located=not stands_in)
        if names[0] != names[1]:
            of_a, of_b = (_listed(map(naming.program_name, side[tool])) for side in (left, right))
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
        _listed(
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


def options(ignored: Iterable[tuple[str, str, str]]) -> dict[str, tuple[str, str]]:
    """Return "command (ignored)" → (A's values, B's), of options that were not to tell cells apart: name, A's value and B's of each cell."""
    table = {}
    for name, own in group_by(ignored, lambda one: one[0]).items():
        sides = [list(dict.fromkeys(values)) for values in zip(*((a, b) for _, a, b in own), strict=True)]
        alone = all(len(side) == 1 for side in sides)
        table[f"{name} (ignored)"] = (
            elided(sides[0][0], sides[1][0]) if alone else (_listed(sides[0]), _listed(sides[1]))
        )
    return table


_LONG: Final = 24
"""Signs of a value that stands whole beside another."""


def elided(a: str, b: str) -> tuple[str, str]:
    """Return two values; of long ones that begin or end with the same words those in which they differ: "… v1.py …", "… v2.py …"."""
    left, right = a.split(), b.split()
    if a == b or max(len(a), len(b)) <= _LONG:
        return a, b
    least = min(len(left), len(right))
    head = next((i for i in range(least) if left[i] != right[i]), least)
    tail = next((i for i in range(least - head) if left[-1 - i] != right[-1 - i]), least - head)
    of_a, of_b = (
        " ".join(["…"] * (head > 0) + words[head : len(words) - tail] + ["…"] * (tail > 0))
        for words in (left, right)
    )
    return of_a, of_b


def commands(cells: Iterable[tuple[str, Sequence[Run], Sequence[Run]]]) -> dict[str, tuple[str, str]]:
    """Return "fio command" → (A's, B's), of cells (name, A's runs, B's) whose commands differ though their options do not.

    Those that do not differ, or that a side did not record, are not in it. Differences of several cells are told once each, and of commands
    that set the same things the words in which they differ.
    """
    every = [
        (runs[0].tool, name, *_commands_of(runs, others))
        for name, runs, others in cells
        if all(run.captured for run in (*runs, *others)) or _placed_alike((*runs, *others))
    ]
    differ = [row for row in every if row[2] and row[3] and row[2].keys() != row[3].keys()]
    table = {}
    for own in group_by(
        differ, lambda row: (row[0], _apart(*row[2:]) or tuple(map(frozenset, row[2:])))
    ).values():
        tool, _, *sides = own[0]
        names = [name for _, name, *_ in own if name]
        alone = len(own) == sum(row[0] == tool for row in every)
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        what = f"{tool_name(tool)} command" + (f", {names[0]}{more}" if names and not alone else "")
        table[what] = _apart(*sides) or (_written(sides[0]), _written(sides[1]))
    return table


def _apart(a: _Meant, b: _Meant) -> tuple[str, str] | None:
    """Return the words in which A's and B's one command differ, "--size=1G", "--size=2G". None where a side has several commands, or another
    word differs than one that names what it sets."""
    if len(a) != 1 or len(b) != 1:
        return None
    (left,), (right,) = a.values(), b.values()
    if [word.partition("=")[:2] for word in left] != [word.partition("=")[:2] for word in right]:
        return None
    differ = [pair for pair in zip(left, right, strict=True) if pair[0] != pair[1]]
    return " ".join(one for one, _ in differ), " ".join(other for _, other in differ)


def _written(of: _Meant) -> str:
    return _listed(" ".join(words) for words in of.values())


def _placed_alike(runs: Sequence[Run]) -> bool:
    """Were all runs placed where the first was? As a rule they share what says so."""
    return len({id(run.record.placement) for run in runs}) == 1 or len({run.placed for run in runs}) == 1


_Command = tuple[str, tuple[str, ...], tuple[str, ...], bool]
"""Tool, argv, what its program is called, and whether it was taken in: what a command is read from (`_told`)."""
_Meant = dict[tuple[str, ...], tuple[str, ...]]
"""What some commands ask for → the words of the first that does."""


def _commands_of(runs: Sequence[Run], others: Sequence[Run]) -> tuple[_Meant, _Meant]:
    """Return what A's and B's commands ask for; of the very same ones, which do not differ, nothing."""
    a, b = _typed(runs), _typed(others)
    return ({}, {}) if a == b else (_commands(a), _commands(b))


def _typed(runs: Sequence[Run]) -> list[_Command]:
    made = {
        (id(run.record.argv), id(run.session), run.record.program, run.tool, run.captured) for run in runs
    }
    if len(made) == 1:  # as the repeats of a cell are
        runs = runs[:1]
    return [(run.tool, run.record.argv, _programs(run), run.captured) for run in runs]


def _commands(typed: Iterable[_Command]) -> _Meant:
    told = dict(_told(*one) for one in typed)
    return dict(reversed([(meant, words) for meant, words in told.items() if words]))


_OUTPUT: Final = re.compile(r"(\d*&?>{1,2}|--output|--write_\w+_log)(=?)(.*)")
"""What names an output: a redirection, and options of fio's."""


def _programs(run: Run) -> tuple[str, ...]:
    """Return what the program of a run is called, with and without its folders, and the files that a user's own command runs."""
    return (
        run.program.get("path") or "",
        run.record.program,
        *run.record.argv[:1],
        *run.program.get("files", ()),
    )


@functools.lru_cache(maxsize=1024)  # the repeats of a cell have one command
def _told(
    tool: str, argv: tuple[str, ...], programs: tuple[str, ...], captured: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what a command asks for, and its words."""
    words = tuple(_command(argv, {PurePath(word).name for word in programs}, captured))
    return tuple(command_meant(tool, words)) if words else (), words


def _command(typed: Sequence[str], programs: Collection[str], captured: bool) -> list[str]:
    """Return the words that were typed, without the folders of programs and the names of outputs; of a run of pinsweep's own without any other
    path: its scratch folder is another every time."""
    words = []
    argv = iter(typed if captured else (w for w in typed if "/" not in w or PurePath(w).name in programs))
    for word in argv:
        if word in ("|", "|&"):
            break
        if output := _OUTPUT.fullmatch(word):
            if not output[3]:
                next(argv, "")
            continue
        name = PurePath(word).name
        words.append(name if name in programs else word)
    return words


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
    return SEVERAL.join(known[:4]) + (f" and {len(known) - 4} more" if len(known) > 4 else "")
