"""A plan against the result file that it continues: are the runs to come repeats of the cells that are there? Pure.

Repeats are of one cell only where they ran on the same PUs and memory with the same arguments; and the runs of one sweep stand
under one heading only where machine and programs were the same. What differs is refused, or begins cells of its own: their
option AS_NEW says what differs, so that every table and chart tells them from the cells of before. As that option is made of
the differences alone, the same command in the same setting finds these cells again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchestrator import facts
from orchestrator.model import AS_NEW, Placement, Plan, PlannedRun, Point
from orchestrator.place import where
from orchestrator.store import Conditions, Session
from parsers.errors import UserError

_MOST_SAID: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that is not as it was."""

    said: str  # "the kernel was 5.10 and is 6.1 now"
    label: str  # of the cells that begin: "kernel 6.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a result file holds, as far as it decides."""

    path: str
    sessions: Sequence[Session]
    points: Sequence[Point]
    conditions: Sequence[Conditions]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What the runs to come will be measured with."""

    host: str
    facts: Mapping[str, Any]
    programs: Mapping[str, Mapping[str, Any]]  # as a session records them


def continued(
    plan: Plan, held: Held, now: Setting, *, is_pending: Callable[[PlannedRun], bool], as_new: bool
) -> Plan:
    """Return the plan with the runs in the cells that they belong to: those of before, or cells of their own.

    Raises UserError where runs that are still to be started would be repeats of a cell, or cells of a sweep, that was measured in
    another way, and `as_new` is not asked for; and where the file is another host's.
    """
    for session in held.sessions:
        if session.host != now.host:
            raise UserError(
                held.path,
                f"holds runs of the host {session.host}, this is {now.host}",
                "name another file with -o",
            )
    sessions = {session.session: session for session in held.sessions}
    first = {point.point_id: point for point in held.points if AS_NEW not in point.options}
    begun = {(point.sweep, point.options[AS_NEW]) for point in held.points if AS_NEW in point.options}
    of_cell: dict[str, list[Conditions]] = {}
    of_sweep: dict[str, dict[int, Session]] = {}
    for conditions in held.conditions:
        if point := first.get(conditions.point_id):
            of_cell.setdefault(point.point_id, []).append(conditions)
            of_sweep.setdefault(point.sweep, {})[conditions.session] = sessions[conditions.session]
    cells: dict[str, Point] = {}  # point_id → the cell that its runs belong to
    refused: dict[str, Difference] = {}
    pending = {run.point.point_id for run in plan.runs if is_pending(run)}
    for run in {run.point.point_id: run for run in plan.runs}.values():
        found = [
            *_of_place(run, of_cell.get(run.point.point_id, ())),
            *_of_mask(run, of_cell.get(run.point.point_id, ()), sessions, now),
            *_of_machine(run, tuple(of_sweep.get(run.sweep, {}).values()), now),
        ]
        label = ", ".join(dict.fromkeys(difference.label for difference in found))
        if found and (as_new or (run.sweep, label) in begun):
            cells[run.point.point_id] = _anew(run.point, label)
        elif run.point.point_id in pending:
            refused |= {difference.said: difference for difference in found}
    if refused:
        raise _refusal(held.path, tuple(refused))
    runs = tuple(
        dataclasses.replace(run, point=cells.get(run.point.point_id, run.point)) for run in plan.runs
    )
    points = tuple(cells.get(point.point_id, point) for point in plan.points)
    return dataclasses.replace(plan, runs=runs, points=points)


def _refusal(path: str, said: Sequence[str]) -> UserError:
    more = f"; and {len(said) - _MOST_SAID} more" if len(said) > _MOST_SAID else ""
    return UserError(
        path,
        f"holds runs that were measured in another way: {'; '.join(said[:_MOST_SAID])}{more}",
        "name another file with -o; with --as-new they become cells of their own, named after what differs",
    )


def _anew(point: Point, label: str) -> Point:
    return dataclasses.replace(point, options={**point.options, AS_NEW: label}, axes=(*point.axes, AS_NEW))


def _of_place(run: PlannedRun, before: Sequence[Conditions]) -> list[Difference]:
    """Say where the cell's runs were, or what they were told to do, if that is not what is planned."""
    found = []
    now = _groups(run.placement)
    cell = run.point.describe()
    for conditions in before:
        if _groups(conditions.placement) != now:
            here, there = where(run.placement), where(conditions.placement)
            said = f"{run.sweep} {cell} ran on {there}, and would run on {here} now"
            found.append(Difference(said=said, label=here))
            continue
        gone = " ".join(word for word in _arguments(conditions.argv) if word not in run.argv)
        new = " ".join(word for word in _arguments(run.argv) if word not in conditions.argv)
        if gone or new:
            said = f"{run.sweep} {cell} ran {_with(gone, new)}, and would run {_with(new, gone)} now"
            found.append(Difference(said=said, label=_with(new, gone)))
    return found


def _of_mask(
    run: PlannedRun, before: Sequence[Conditions], sessions: Mapping[int, Session], now: Setting
) -> list[Difference]:
    """Say on which CPUs a cell without a place was free to run, if these are others now."""
    here = now.facts.get("cpus_allowed")
    found = []
    for there in {sessions[conditions.session].facts.get("cpus_allowed") for conditions in before}:
        if not run.placement and here and there and here != there:
            said = f"{run.sweep} {run.point.describe()} was free to run on CPUs {there}, and would be on {here} now"
            found.append(Difference(said=said, label=f"free on CPUs {here}"))
    return found


def _groups(placement: Placement | None) -> tuple[object, ...]:
    return placement.groups if placement else ()


def _with(words: str, others: str) -> str:
    return f"with {words}" if words else f"without {others}"


def _arguments(argv: Sequence[str]) -> list[str]:
    """Return the words of a command that say what is measured: paths (of programs, of scratch) may be others tomorrow."""
    return [word for word in argv if "/" not in word]


def _of_machine(run: PlannedRun, before: Sequence[Session], now: Setting) -> list[Difference]:
    """Say how the machine or the run's programs differ from those of earlier sessions."""
    found = []
    for session in before:
        for fact, then, present in facts.changed(session.facts, now.facts):
            said = f"the {fact.words} was {facts.short(then)} and is {facts.short(present)} now"
            found.append(Difference(said=said, label=f"{fact.words} {facts.short(present)}"))
        program, program_now = session.programs.get(run.tool, {}), now.programs.get(run.tool, {})
        if _is_another(program, program_now):
            said = f"the {program['name']} was another one ({program['path']}); this one is {program_now['path']}"
            found.append(Difference(said=said, label=f"{program_now['name']} {program_now['sha256'][:8]}"))
        for name in run.files:
            old, new = (of.get("files", {}).get(name, {}) for of in (program, program_now))
            if _is_another(old, new):
                said = f"{new['path']} is another program now"
                found.append(Difference(said=said, label=f"{name} {new['sha256'][:8]}"))
    return found


def _is_another(then: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    return bool(then.get("sha256") and now.get("sha256") and then["sha256"] != now["sha256"])
