"""A side of a comparison: which runs of which results it has, and which pairs of sides are refused."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from orchestrator.model import canonical_json, listed
from orchestrator.store.result_file import Session
from parsers.errors import UserError, nearest
from reports.results import hardware, naming
from reports.results.grouping import group_by
from reports.results.levels import natural
from reports.results.model import LEFT_OUT, Machine, Results, Run
from reports.results.sessions import SessionKey, When, timeline
from reports.text import format as fmt

SideName = Literal["A", "B"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side: where its numbers come from, and which runs of it count."""

    name: SideName
    title: str  # as people call it: "before.db", "n1/r.db", "place=local"
    results: Results
    wanted: Callable[[Run], bool]  # is a run of it?
    runs: tuple[Run, ...]  # those that count
    left_out: tuple[Run, ...]  # void, or disturbed or misplaced, and no later attempt made good
    failed: tuple[Run, ...]
    when: Mapping[SessionKey, When]  # of all sessions of the results

    @property
    def sessions(self) -> frozenset[SessionKey]:
        return frozenset(session(run) for run in self._told_by)

    @property
    def machines(self) -> list[Machine]:
        wanted = self.sessions
        return [m for m in self.results.machines if (m.file, m.session.session) in wanted]

    @property
    def files(self) -> tuple[Path, ...]:
        """Where its results lie."""
        return tuple(self.results.paths.values())

    @property
    def evidence(self) -> int:
        """How many pieces of evidence the sessions are: what one boot did within an hour is one."""
        return len({self.when[session].evidence for session in self.sessions})

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(run.host for run in self._told_by))

    @property
    def _told_by(self) -> tuple[Run, ...]:
        """What says where it was measured: the runs that count; where there is none, those that failed."""
        return self.runs or self.failed


def side(name: SideName, title: str, results: Results, only: Collection[str] = ()) -> Side:
    """Return a side of all runs of some results; `only`: of these sweeps."""
    return _side(name, title, results, lambda run: not only or run.cell.sweep in only)


def levels(results: Results, axis: str, wanted: str, only: Collection[str] = ()) -> tuple[Side, Side]:
    """Return two sides from one set of results: the runs of two levels of an axis, which `wanted` names with a comma between, as
    labels print them: "local,remote"; of lists "1k,4k,8k,16k". Of an axis that has two, "" means these.

    The axis is an option, "place", "relation", "program" or "host". Raises UserError where no run has a level, with those there are.
    """
    runs = [run for tool in results.tools for run in results.good(tool) if not only or run.cell.sweep in only]
    found = {level for run in runs if (level := level_of(run, axis)) is not None}
    known = sorted(found, key=lambda level: results.levels.key(axis, level))
    axes = sorted({a for run in runs for a in run.cell.axes} | {"host", "program"})
    if not known:
        hint = nearest(axis, axes) or f"there are: {', '.join(axes)}"
        raise UserError(f"--by {axis}", "no run has it", hint)
    text = _spaced(wanted) or (",".join(map(_spaced, known)) if len(known) == 2 else "")
    pairs = [(a, b) for a in known for b in known if a != b and f"{_spaced(a)},{_spaced(b)}" == text]
    if not pairs:
        unknown = next((level for level in text.split(",") if level and level not in known), "")
        several = "; ".join(known[:20]) if any("," in level for level in known) else ", ".join(known[:20])
        example = f"--by {shlex.quote(f'{axis}={known[0]},{known[1]}')}" if len(known) > 1 else ""
        named = f"name two, as in {example}; " if example and not unknown else ""
        hint = nearest(unknown, known) or f"{named}its levels: {several}"
        said = (
            f"no run has {axis}={unknown}"
            if unknown and text.count(",") == 1
            else "names no two of its levels"
        )
        raise UserError(f"--by {axis}={wanted}".rstrip("="), said, hint)
    a, b = pairs[0]
    return (
        _side("A", f"{axis}={a}", results, lambda run: level_of(run, axis) == a and (not only or run.cell.sweep in only)),
        _side("B", f"{axis}={b}", results, lambda run: level_of(run, axis) == b and (not only or run.cell.sweep in only)),
    )  # fmt: skip


def _spaced(text: str) -> str:
    return ",".join(part.strip() for part in text.split(","))


def level_of(run: Run, axis: str) -> str | None:
    """Return a run's level of an axis as it is written; None if it has none."""
    value: Any
    match axis:
        case "place":
            value = run.place
        case "relation":
            value = run.relation
        case "program":
            value = run.record.program
        case "host":
            value = run.host
        case _:
            value = run.cell.labels().get(axis, run.cell.options.get(axis))
            value = listed(value) if isinstance(value, tuple) else value
    return None if value in (None, "") else str(value)


def _side(name: SideName, title: str, results: Results, wanted: Callable[[Run], bool]) -> Side:
    runs = tuple(run for tool in results.tools for run in results.good(tool) if wanted(run) and not run.void)
    failed = [run for run in results.failed if wanted(run)]
    return Side(
        name=name,
        title=title,
        results=results,
        wanted=wanted,
        runs=runs,
        left_out=tuple(
            [run for run in results.disturbed if wanted(run)]
            + [run for run in results.runs if run.void and wanted(run)]
            + [run for run in failed if run.record.status in LEFT_OUT]
        ),
        failed=tuple(run for run in failed if run.record.status not in LEFT_OUT),
        when=timeline(results.machines),
    )


def other_programs(a: Side, b: Side, *, allowed: bool) -> tuple[str, ...]:
    """Return the tools of which the sides ran different programs. Raises UserError unless that was asked for."""
    by_tool = [group_by(naming.by_program(one.runs), lambda run: run.tool) for one in (a, b)]
    found = []
    for tool in filter(by_tool[1].__contains__, by_tool[0]):
        left, right = ({naming.program_kind(run) for run in runs[tool]} for runs in by_tool)
        if len(left | right) > 1:
            found.append(f"A is {fmt.words(sorted(left))}, B is {fmt.words(sorted(right))}")
    if found and not allowed:
        raise UserError(
            "compare",
            f"not the same program: {'; '.join(found)}",
            "their numbers differ on one and the same machine; --across-programs compares them all the same, and says so",
        )
    return tuple(found)


def refuse_sweeps(only: Collection[str], *results: Results) -> None:
    """Raise UserError for a sweep that none of the results has."""
    known = sorted({run.cell.sweep for one in results for run in one.runs}, key=natural)
    for name in only:
        if known and name not in known:
            hint = nearest(name, known) or f"sweeps: {', '.join(known[:20])}"
            raise UserError(f"--only {name}", "no run is of this sweep", hint)


def refuse_twice(a: Results, b: Results) -> None:
    """Raise UserError where both sides hold one and the same session: a copy of a file, a baseline that has today's."""
    of_a = {_identity(machine.session): machine for machine in a.machines}
    for machine in b.machines:
        if (other := of_a.get(_identity(machine.session))) is not None:
            raise UserError(
                str(b.paths[machine.file]),
                f"holds the session of {machine.host} from {machine.session.started_utc}, and so does {a.paths[other.file]}",
                "runs compared with themselves are always the same; --aa asks how often runs that did not change are accused",
            )


def _identity(session: Session) -> Hashable:
    return session.host, session.started_utc, session.seed, session.argv, canonical_json(session.facts)


def refuse_machines(one: Side) -> None:
    """Raise UserError for a side of several machines of one name: what tells them apart is no noise of one."""
    keys = [key for key in one.when if key in one.sessions]  # in the order of time
    of = {(m.file, m.session.session): m.session for m in one.machines if m in one.results.measured}
    for host, sessions in group_by((of[key] for key in keys if key in of), lambda s: s.host).items():
        if len(sessions) < 2:
            continue
        found = list(dict.fromkeys(hardware.machines(sessions, hardware.kinds(sessions))))
        if len(found) > 1:
            raise UserError(
                one.title,
                hardware.several(host, found),
                "a side is of one of them: give only its files; `pinsweep fleet` compares machines, whatever their names",
            )


def refuse_axes(a: Side, b: Side, ignore: Iterable[str]) -> None:
    known = sorted({"place", *(name for one in (a, b) for run in one.runs for name in run.cell.options)})
    for name in ignore:
        if name not in known:
            hint = nearest(name, known) or f"there are: {', '.join(known[:20])}"
            raise UserError(f"--ignore {name}", "no run has this option", hint)
        for one in (a, b):
            for (_, sweep), runs in group_by(one.runs, lambda run: (run.tool, run.cell.sweep)).items():
                values = sorted({str(level_of(run, name)) for run in runs}, key=natural)
                if len(values) > 1:
                    raise UserError(
                        f"--ignore {name}",
                        f"{one.title}: the cells of {sweep} differ in it ({fmt.words(values[:6])})",
                        f"--by {name}={','.join(values[:2])} compares two of its levels",
                    )


def session(run: Run) -> SessionKey:
    return run.file, run.session.session
