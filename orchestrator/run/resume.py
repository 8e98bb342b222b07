"""Match a plan with the result file that it continues: decide whether new runs are repeats of the stored cells. Pure.

Repeats of a cell run on the same PUs and memory with the same arguments. The cells of a sweep are measured on one
machine in one state, with the same programs. Other runs are refused, or become new cells with `--as-new`. The option
AS_NEW of a new cell has the difference, so the same command in the same setting finds the cell again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.machine import facts, identity
from orchestrator.model import AS_NEW, Alias, Cell, Placement, Plan, PlannedRun
from orchestrator.placement.place import where
from orchestrator.plan.plan import canonical_words, start
from orchestrator.store.result_file import Conditions, Session
from parsers.errors import UserError

_MAX_NAMED: Final = 3

Difference = tuple[str, str]
"""Text for people, and the label of new cells: ("kernel: 5.10, now 6.1", "kernel 6.1")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The contents of a result file that decide."""

    path: str
    sessions: Sequence[Session]
    cells: Sequence[Cell]
    conditions: Sequence[Conditions]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The measuring conditions of the new runs."""

    host: str
    facts: Mapping[str, Any]
    programs: Mapping[str, Mapping[str, Any]]  # as a session records them


def continued(plan: Plan, held: Held, now: Setting, *, is_pending: Callable[[PlannedRun], bool], as_new: bool) -> Plan:
    """Return the plan with its runs in their cells, stored or new.

    Raises UserError if new runs would repeat a cell, or extend a sweep, in another setting without `as_new`. Raises
    UserError if the file is from another machine.
    """
    _refuse_other_machines(held, now)
    plan = as_known(plan, held.cells, held.conditions)
    before = _Before(held, now)
    pending = {run.cell.point_id for run in plan.runs if is_pending(run)}
    labels = {(c.sweep, c.options[AS_NEW]) for c in held.cells if AS_NEW in c.options}
    new_cells: dict[str, Cell] = {}
    refused: dict[str, None] = {}
    finished: dict[str, None] = {}
    for run in {run.cell.point_id: run for run in plan.runs}.values():
        differences = dict.fromkeys(before.differences(run))
        label = ", ".join(label for _, label in differences)
        if differences and (as_new or (run.sweep, label) in labels):
            options, axes = {**run.cell.options, AS_NEW: label}, (*run.cell.axes, AS_NEW)
            new_cells[run.cell.point_id] = dataclasses.replace(run.cell, options=options, axes=axes)
        else:
            texts = refused if run.cell.point_id in pending else finished
            texts.update(dict.fromkeys(text for text, _ in differences))
    if refused:
        tuned = any(session.facts.get("tuned") for session in held.sessions)
        raise UserError(
            held.path,
            f"was measured in another setting: {_listed(refused)}",
            f"{'restore the setting with --tune, ' if tuned else ''}name another file with -o, or add --as-new for new cells here",
        )
    if finished:
        warning = f"{held.path}: finished cells were measured in another setting: {_listed(finished)}"
        plan = dataclasses.replace(plan, warnings=(*plan.warnings, warning))
    return as_known(_in_cells(plan, new_cells), held.cells, held.conditions) if new_cells else plan


class _Before:
    """The content of a file's sessions: conditions by cell and sessions by sweep, without `--as-new` cells."""

    def __init__(self, held: Held, now: Setting) -> None:
        first = {cell.point_id: cell for cell in held.cells if AS_NEW not in cell.options}
        self._now = now
        self._sessions = {session.session: session for session in held.sessions}
        self._cells: dict[str, list[Conditions]] = {}
        self._sweeps: dict[str, dict[int, None]] = {}
        for conditions in held.conditions:
            if cell := first.get(conditions.point_id):
                self._cells.setdefault(cell.point_id, []).append(conditions)
                self._sweeps.setdefault(cell.sweep, {})[conditions.session] = None
        self._machine: dict[int, list[Difference]] = {
            session.session: [
                (
                    f"{fact.words}: {facts.short(then)}, now {facts.short(present)}",
                    f"{fact.words} {facts.short(present)}",
                )
                for fact, then, present in facts.changed(session.facts, now.facts)
            ]
            for session in held.sessions
        }

    def differences(self, run: PlannedRun) -> Iterator[Difference]:
        """Yield the differences from the stored runs of a run's cell, and from the machine and programs of its sweep."""
        cell = f"{run.sweep} {run.cell.describe()}".rstrip()
        for conditions in self._cells.get(run.cell.point_id, ()):
            words, then = (_arguments(run.tool, argv) for argv in (run.argv, conditions.argv))
            if _groups(conditions.placement) != _groups(run.placement):
                place = where(run.placement)
                yield f"{cell}: on {where(conditions.placement)}, now on {place}", place
            elif words != then:
                gone, new = (" ".join(w for w in a if w not in b) for a, b in ((then, words), (words, then)))
                label = f"with {new}" if new else f"without {gone}"
                yield f"{cell}: {f'with {gone}' if gone else f'without {new}'}, now {label}", label
            known, free = (f.get("cpus_allowed") for f in (self._sessions[conditions.session].facts, self._now.facts))
            if not run.placement and known and free and known != free:
                yield f"{cell}: free on CPUs {known}, now on {free}", f"free on CPUs {free}"
        for session in self._sweeps.get(run.sweep, ()):
            yield from self._machine[session]
            yield from _programs(run, self._sessions[session], self._now)


def as_known(plan: Plan, cells: Sequence[Cell], conditions: Sequence[Conditions]) -> Plan:
    """Return the plan with cells in the spelling of the file, for cells that the file has in another spelling (`4k`,
    `4096`).
    """
    measured = {c.point_id: c for c in conditions}
    planned = {cell.point_id: cell for cell in plan.cells}
    sweeps = {cell.sweep for cell in plan.cells}
    held: dict[Hashable, Cell] = {}
    for cell in cells:
        if (c := measured.get(cell.point_id)) and cell.sweep in sweeps and cell.point_id not in planned:
            held.setdefault(_start(cell, c.placement, c.argv), cell)
    others: dict[str, Cell] = {}
    for run in {run.cell.point_id: run for run in plan.runs}.values() if held else ():
        new = run.cell.point_id not in measured
        if new and (same := held.pop(_start(run.cell, run.placement, run.argv), None)):
            others[run.cell.point_id] = dataclasses.replace(run.cell, options=same.options, place=same.place)
    moved = [(planned[point_id], cell) for point_id, cell in others.items() if planned[point_id].place != cell.place]
    plan = _in_cells(plan, others)
    aliases = (*(Alias.between(cell, known) for cell, known in moved), *plan.aliases)
    return dataclasses.replace(plan, aliases=tuple(alias for alias in aliases if alias.cell != alias.of))


def _in_cells(plan: Plan, others: Mapping[str, Cell]) -> Plan:
    """Return the plan with the runs of some cells (by point_id) moved to other cells, with the aliases of these cells."""
    if not others:
        return plan
    runs = tuple(dataclasses.replace(run, cell=others.get(run.cell.point_id, run.cell)) for run in plan.runs)
    cells = tuple(others.get(cell.point_id, cell) for cell in plan.cells)
    more = {others[key].point_id if key in others else key: number for key, number in plan.more.items()}
    moved = [
        (cell.sweep, cell.labels(), others[cell.point_id].labels()) for cell in plan.cells if cell.point_id in others
    ]
    aliases = []
    for alias in plan.aliases:
        new = next(
            (labels for sweep, old, labels in moved if sweep == alias.sweep and old == dict(alias.of)),
            alias.of,
        )
        aliases.append(dataclasses.replace(alias, of=new))
    return dataclasses.replace(plan, runs=runs, cells=cells, more=more, aliases=tuple(aliases))


def _start(cell: Cell, placement: Placement | None, argv: Sequence[str]) -> Hashable:
    name = cell.place.name if cell.place else ""
    return name, start(cell, placement, [word for word in argv if "/" not in word])


def _groups(placement: Placement | None) -> tuple[object, ...]:
    return placement.groups if placement else ()


def _arguments(tool: str, argv: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command that affect the result.

    Paths (programs, scratch) are excluded, because they may change.
    """
    return canonical_words(tool, [word for word in argv if "/" not in word])


def _programs(run: PlannedRun, session: Session, now: Setting) -> Iterator[Difference]:
    """Yield the programs of a run with a checksum that differs from an earlier session."""
    before, present = session.programs.get(run.tool, {}), now.programs.get(run.tool, {})
    pairs = [(str(present.get("name")), before, present)]
    pairs += [(name, *(p.get("files", {}).get(name, {}) for p in (before, present))) for name in run.files]
    for name, then, new in pairs:
        sums = [str(p.get("sha256") or "")[:8] for p in (then, new)]
        if all(sums) and then["sha256"] != new["sha256"]:
            yield f"{new['path']}: sha256 {sums[0]}, now {sums[1]}", f"{name} {sums[1]}"


def _refuse_other_machines(held: Held, now: Setting) -> None:
    for session in held.sessions:
        if session.host != now.host:
            cause = f"holds runs of the host {session.host}, this is {now.host}"
            raise UserError(held.path, cause, "name another file with -o")
        if identity.is_another(session.facts, now.facts):
            cause = f"holds runs of another machine named {now.host}: none of its network cards is here"
            raise UserError(held.path, cause, "name another file with -o, or a folder (-o DIR/)")


def _listed(texts: Mapping[str, None]) -> str:
    more = f"; and {len(texts) - _MAX_NAMED} more" if len(texts) > _MAX_NAMED else ""
    return "; ".join([*texts][:_MAX_NAMED]) + more
