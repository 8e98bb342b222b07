"""A plan against the result file that it continues: are the runs to come repeats of the cells that are there? Pure.

Repeats are of one cell only where they ran on the same PUs and memory with the same arguments; and the cells of one sweep are compared
only where machine and programs were the same. Another setting is refused, or begins cells of its own (`--as-new`): their option AS_NEW
names what differs, so that the same command in the same setting finds these cells again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.machine import facts, identity
from orchestrator.model import AS_NEW, Alias, Cell, Placement, Plan, PlannedRun, canonical_json
from orchestrator.placement.place import where
from orchestrator.plan.plan import spelt, start
from orchestrator.store.result_file import Conditions, Session
from parsers.errors import UserError

_MOST_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as it was."""

    text: str  # "kernel: 5.10, now 6.1"
    label: str  # of the cells that begin: "kernel 6.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a result file holds, as far as it decides."""

    path: str
    sessions: Sequence[Session]
    cells: Sequence[Cell]
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
    another setting, and `as_new` is not asked for; and where the file is another machine's.
    """
    _refuse_other_machines(held, now)
    plan = as_known(plan, held.cells, held.conditions)
    before = _Before.of(held, now)
    pending = {run.cell.point_id for run in plan.runs if is_pending(run)}
    new_cells: dict[str, Cell] = {}
    differences: dict[str, None] = {}
    finished: dict[str, None] = {}
    for run in {run.cell.point_id: run for run in plan.runs}.values():
        changes = list(dict.fromkeys(before.differences(run)))
        label = ", ".join(change.label for change in changes)
        texts = dict.fromkeys(change.text for change in changes)
        if changes and (as_new or (run.sweep, label) in before.labels):
            options = {**run.cell.options, AS_NEW: label}
            new_cells[run.cell.point_id] = dataclasses.replace(
                run.cell, options=options, axes=(*run.cell.axes, AS_NEW)
            )
        elif run.cell.point_id in pending:
            differences |= texts
        else:
            finished |= texts
    if differences:
        tuned = any(session.facts.get("tuned") for session in held.sessions)
        raise UserError(
            held.path,
            f"was measured in another setting: {_listed(differences)}",
            f"{'restore the setting with --tune; ' if tuned else ''}name another file with -o; or add --as-new, which begins new cells here",
        )
    aliases = tuple(_renamed(alias, plan, new_cells) for alias in plan.aliases)
    warnings = (
        [*plan.warnings, f"{held.path}: finished cells were measured in another setting: {_listed(finished)}"]
        if finished
        else plan.warnings
    )
    plan = dataclasses.replace(_in_cells(plan, new_cells), aliases=aliases, warnings=tuple(warnings))
    return as_known(plan, held.cells, held.conditions) if new_cells else plan


@dataclass(frozen=True, slots=True, kw_only=True)
class _Before:
    """What was measured, by cell and by sweep, and how the machine of each session differs from the one of now."""

    now: Setting
    sessions: Mapping[int, Session]
    machine: Mapping[int, Sequence[Difference]]
    cells: Mapping[str, Sequence[Conditions]]
    sweeps: Mapping[str, Sequence[int]]  # → its sessions
    labels: frozenset[tuple[str, object]]  # sweep and label of cells that began in another setting

    @classmethod
    def of(cls, held: Held, now: Setting) -> _Before:
        first = {cell.point_id: cell for cell in held.cells if AS_NEW not in cell.options}
        cells: dict[str, list[Conditions]] = {}
        sweeps: dict[str, dict[int, None]] = {}
        for conditions in held.conditions:
            if cell := first.get(conditions.point_id):
                cells.setdefault(cell.point_id, []).append(conditions)
                sweeps.setdefault(cell.sweep, {})[conditions.session] = None
        return cls(
            now=now,
            sessions={session.session: session for session in held.sessions},
            machine={
                session.session: [
                    Difference(
                        f"{fact.words}: {facts.short(then)}, now {facts.short(present)}",
                        f"{fact.words} {facts.short(present)}",
                    )
                    for fact, then, present in facts.changed(session.facts, now.facts)
                ]
                for session in held.sessions
            },
            cells=cells,
            sweeps={sweep: list(sessions) for sweep, sessions in sweeps.items()},
            labels=frozenset((c.sweep, c.options[AS_NEW]) for c in held.cells if AS_NEW in c.options),
        )

    def differences(self, run: PlannedRun) -> Iterator[Difference]:
        """Give what differs from the runs of a run's cell, and from the machine and the programs of its sweep's sessions."""
        cell = f"{run.sweep} {run.cell.describe()}".rstrip()
        for conditions in self.cells.get(run.cell.point_id, ()):
            words, then = (_arguments(run.tool, argv) for argv in (run.argv, conditions.argv))
            if _groups(conditions.placement) != _groups(run.placement):
                here = where(run.placement)
                yield Difference(f"{cell}: on {where(conditions.placement)}, now on {here}", here)
            elif words != then:
                gone, new = (" ".join(w for w in a if w not in b) for a, b in ((then, words), (words, then)))
                label = f"with {new}" if new else f"without {gone}"
                yield Difference(
                    f"{cell}: {f'with {gone}' if gone else f'without {new}'}, now {label}", label
                )
            if not run.placement:
                yield from self._mask(cell, conditions.session)
        for session in self.sweeps.get(run.sweep, ()):
            yield from self.machine[session]
            yield from _programs(run, self.sessions[session], self.now)

    def _mask(self, cell: str, session: int) -> Iterator[Difference]:
        then, present = (of.get("cpus_allowed") for of in (self.sessions[session].facts, self.now.facts))
        if then and present and then != present:
            yield Difference(f"{cell}: free on CPUs {then}, now on {present}", f"free on CPUs {present}")


def as_known(plan: Plan, cells: Sequence[Cell], conditions: Sequence[Conditions]) -> Plan:
    """Return the plan with the cells that a file holds in another spelling (`4k`, `4096`) as it has them."""
    measured = {one.point_id: one for one in conditions}
    planned = {cell.point_id: cell for cell in plan.cells}
    sweeps = {(cell.sweep, cell.tool) for cell in plan.cells}
    held: dict[Hashable, Cell] = {}
    for cell in cells:
        of = measured.get(cell.point_id)
        if of and (cell.sweep, cell.tool) in sweeps and cell.point_id not in planned:
            held.setdefault(_start(cell, of.placement, of.argv), cell)
    others: dict[str, Cell] = {}
    for run in {run.cell.point_id: run for run in plan.runs}.values() if held else ():
        if run.cell.point_id not in measured and (
            same := held.pop(_start(run.cell, run.placement, run.argv), None)
        ):
            others[run.cell.point_id] = dataclasses.replace(run.cell, options=same.options, place=same.place)
    aliases = [
        Alias.between(planned[point_id], cell)
        for point_id, cell in others.items()
        if planned[point_id].place != cell.place
    ]
    aliases += [_renamed(alias, plan, others) for alias in plan.aliases]
    return dataclasses.replace(
        _in_cells(plan, others), aliases=tuple(alias for alias in aliases if alias.cell != alias.of)
    )


def _renamed(alias: Alias, plan: Plan, others: Mapping[str, Cell]) -> Alias:
    """Return an alias whose cell has become another one."""
    name = canonical_json(dict(alias.of))
    for cell in plan.cells:
        if cell.point_id in others and cell.sweep == alias.sweep and canonical_json(cell.labels()) == name:
            return dataclasses.replace(alias, of=others[cell.point_id].labels())
    return alias


def _in_cells(plan: Plan, others: Mapping[str, Cell]) -> Plan:
    """Return the plan with the runs of some cells (by point_id) in others."""
    if not others:
        return plan
    runs = tuple(dataclasses.replace(run, cell=others.get(run.cell.point_id, run.cell)) for run in plan.runs)
    cells = tuple(others.get(cell.point_id, cell) for cell in plan.cells)
    more = {others[key].point_id if key in others else key: number for key, number in plan.more.items()}
    return dataclasses.replace(plan, runs=runs, cells=cells, more=more)


def _start(cell: Cell, placement: Placement | None, argv: Sequence[str]) -> Hashable:
    name = cell.place.name if cell.place else ""
    return name, start(cell, placement, [word for word in argv if "/" not in word])


def _groups(placement: Placement | None) -> tuple[object, ...]:
    return placement.groups if placement else ()


def _arguments(tool: str, argv: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command that say what is measured: paths (of programs, of scratch) may be others tomorrow."""
    return spelt(tool, [word for word in argv if "/" not in word])


def _programs(run: PlannedRun, session: Session, now: Setting) -> Iterator[Difference]:
    """Give the programs of a run whose checksum is not that of an earlier session."""
    before, present = session.programs.get(run.tool, {}), now.programs.get(run.tool, {})
    pairs = [(str(present.get("name")), before, present)]
    pairs += [(name, *(of.get("files", {}).get(name, {}) for of in (before, present))) for name in run.files]
    for name, then, new in pairs:
        sums = [str(of.get("sha256") or "")[:8] for of in (then, new)]
        if all(sums) and then["sha256"] != new["sha256"]:
            yield Difference(f"{new['path']}: sha256 {sums[0]}, now {sums[1]}", f"{name} {sums[1]}")


def _refuse_other_machines(held: Held, now: Setting) -> None:
    for session in held.sessions:
        if session.host != now.host:
            cause = f"holds runs of the host {session.host}, this is {now.host}"
            raise UserError(held.path, cause, "name another file with -o")
        if identity.is_another(session.facts, now.facts):
            cause = (
                f"holds runs of another machine that is called {now.host}: none of its network cards is here"
            )
            raise UserError(held.path, cause, "name another file with -o, or a folder (-o DIR/)")


def _listed(texts: Mapping[str, None]) -> str:
    more = f"; and {len(texts) - _MOST_NAMED} more" if len(texts) > _MOST_NAMED else ""
    return "; ".join([*texts][:_MOST_NAMED]) + more
