"""A plan against the result file that it continues: are the runs to come repeats of the cells that are there? Pure.

Repeats are of one cell only where they ran on the same PUs and memory with the same arguments; and the runs of one sweep stand
under one heading only where machine and programs were the same. What differs is refused, or begins cells of its own: their
option AS_NEW says what differs, so that every table and chart tells them from the cells of before. As that option is made of
the differences alone, the same command in the same setting finds these cells again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.machine import facts, identity
from orchestrator.machine.cpulist import parse_cpulist
from orchestrator.machine.topology import Topology
from orchestrator.model import AS_NEW, Alias, Cell, Place, Placement, Plan, PlannedRun, canonical_json
from orchestrator.placement.place import resolve, where
from orchestrator.placement.selectors import Unplaceable
from orchestrator.plan.plan import spelt, start
from orchestrator.store.result_file import Conditions, Session
from orchestrator.tools import get_tool
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
    cells: Sequence[Cell]
    conditions: Sequence[Conditions]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What the runs to come will be measured with."""

    host: str
    facts: Mapping[str, Any]
    programs: Mapping[str, Mapping[str, Any]]  # as a session records them
    topology: Topology | None = None


def continued(
    plan: Plan, held: Held, now: Setting, *, is_pending: Callable[[PlannedRun], bool], as_new: bool
) -> Plan:
    """Return the plan with the runs in the cells that they belong to: those of before, or cells of their own.

    Raises UserError where runs that are still to be started would be repeats of a cell, or cells of a sweep, that was measured in
    another way, and `as_new` is not asked for; and where the file is another host's, or of another machine of this name.
    """
    _refuse_other_hosts(held, now)
    plan = as_known(plan, held.cells, held.conditions)
    before = _Before.of(held)
    pending = {run.cell.point_id for run in plan.runs if is_pending(run)}
    judged = _judged(plan, before, now, pending, as_new)
    elsewhere = _elsewhere(plan, before.first.values(), before.of_cell)
    refused = [*judged.refused]
    refused += [] if as_new else [d.said for found in elsewhere.values() for d in found]
    if refused:
        tuned = any(session.facts.get("tuned") for session in held.sessions)
        raise _refusal(held.path, tuple(dict.fromkeys(refused)), tuned=tuned)
    anew = {
        _named(p.sweep, p.labels()): judged.anew[p.point_id].labels()
        for p in plan.cells
        if p.point_id in judged.anew
    }
    aliases = (
        dataclasses.replace(a, of=anew.get(_named(a.sweep, a.of), a.of))
        for a in plan.aliases
        if _named(a.sweep, a.cell) not in elsewhere
    )
    warnings = [
        *plan.warnings,
        *([_stale(held.path, tuple(judged.stale))] if judged.stale else []),
        *_read_otherwise(held.path, plan, before.first.values()),
        *_built_otherwise(held.path, plan, before, now, pending),
    ]
    plan = dataclasses.replace(_in_cells(plan, judged.anew), aliases=tuple(aliases), warnings=tuple(warnings))
    if judged.anew:  # cells that began, in other words
        return as_known(plan, held.cells, held.conditions)
    return plan


@dataclass(frozen=True, slots=True, kw_only=True)
class _Before:
    """What was measured, by what it is compared by."""

    sessions: Mapping[int, Session]
    first: Mapping[str, Cell]  # point_id → a cell that is not one that began anew
    begun: Set[tuple[str, object]]  # sweep and label of those that did
    of_cell: Mapping[str, Sequence[Conditions]]  # of the cells of `first`
    of_sweep: Mapping[str, Mapping[int, Session]]

    @classmethod
    def of(cls, held: Held) -> _Before:
        sessions = {session.session: session for session in held.sessions}
        first = {cell.point_id: cell for cell in held.cells if AS_NEW not in cell.options}
        of_cell: dict[str, list[Conditions]] = {}
        of_sweep: dict[str, dict[int, Session]] = {}
        for conditions in held.conditions:
            if cell := first.get(conditions.point_id):
                of_cell.setdefault(cell.point_id, []).append(conditions)
                of_sweep.setdefault(cell.sweep, {})[conditions.session] = sessions[conditions.session]
        return cls(
            sessions=sessions,
            first=first,
            begun={(cell.sweep, cell.options[AS_NEW]) for cell in held.cells if AS_NEW in cell.options},
            of_cell=of_cell,
            of_sweep=of_sweep,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """What becomes of the cells of a plan that were measured in another way, and what that way was, each once, in order."""

    anew: Mapping[str, Cell]  # point_id → the cell that its runs belong to
    refused: Iterable[str]
    stale: Iterable[str]  # of what is done, and is not measured again


def _judged(plan: Plan, held: _Before, now: Setting, pending: Set[str], as_new: bool) -> _Judged:
    """pending: the cells with runs that are still to be started, by point_id."""
    anew: dict[str, Cell] = {}
    refused: list[Difference] = []
    stale: list[Difference] = []
    shared = {_named(alias.sweep, alias.of) for alias in plan.aliases}
    runs = _of_each_cell(plan)
    to_run = {(run.sweep, _groups(run.placement)) for run in runs if run.cell.point_id in pending}
    facts_changed = {number: facts.changed(of.facts, now.facts) for number, of in held.sessions.items()}
    for run in runs:
        before = held.of_cell.get(run.cell.point_id, ())
        of_all = tuple(held.of_sweep.get(run.sweep, {}).values())
        own = [held.sessions[conditions.session] for conditions in before]
        found = [
            *_of_place(run, before),
            *_of_mask(run, own, of_all, now),
            *_of_machine(run, of_all, now, facts_changed),
        ]
        label = ", ".join(dict.fromkeys(difference.label for difference in found))
        if found and (as_new or (run.sweep, label) in held.begun):
            anew[run.cell.point_id] = _anew(run.cell, label)
        elif run.cell.point_id in pending:
            refused += found
        else:
            stale += found
            if _named(run.sweep, run.cell.labels()) in shared or any(
                one.placement and (run.sweep, _groups(one.placement)) in to_run for one in before
            ):  # it is done, and another place would be called the same cell, or would run where it ran
                refused += _of_place(run, before)
    return _Judged(
        anew=anew,
        refused=dict.fromkeys(difference.said for difference in refused),
        stale=dict.fromkeys(difference.said for difference in stale),
    )


def _built_otherwise(path: str, plan: Plan, held: _Before, now: Setting, pending: Set[str]) -> Iterator[str]:
    """Warn of sweeps that begin with another build of a program than those before."""
    measured = {number for of in held.of_sweep.values() for number in of}
    builds = {
        difference.said: None
        for run in _of_each_cell(plan)
        if run.cell.point_id in pending and run.sweep not in held.of_sweep
        for number in measured
        for difference in _of_programs(run, held.sessions[number], now)
    }
    if builds:
        yield (
            f"{path}: other sweeps there were measured with another build: {_first_of(tuple(builds))}; what differs from them may be that (G19)"
        )


def _read_otherwise(path: str, plan: Plan, cells: Iterable[Cell]) -> Iterator[str]:
    """Warn of the sweeps in which a cell of the plan is, but for what is looked for in its output, one that is held, and not that one."""

    def measured(cell: Cell) -> tuple[str, str, str]:
        options = {name: value for name, value in cell.options.items() if name != "metrics"}
        return cell.sweep, canonical_json(options), cell.place.name if cell.place else ""

    with_metrics = [cell for cell in cells if "metrics" in cell.options]
    known = {measured(cell) for cell in with_metrics}
    there = {cell.point_id for cell in with_metrics}
    new = (cell for cell in plan.cells if "metrics" in cell.options and cell.point_id not in there)
    if sweeps := sorted({cell.sweep for cell in new if measured(cell) in known}):
        yield (
            f"{path}: the `metrics` of {', '.join(sweeps)} were others before: what they read stays as it is, and with the `metrics` of"
            " now each cell begins anew beside it; for tables of these alone name another file with -o"
        )


def _refuse_other_hosts(held: Held, now: Setting) -> None:
    for session in held.sessions:
        if session.host != now.host:
            raise UserError(
                held.path,
                f"holds runs of the host {session.host}, this is {now.host}",
                "name another file with -o",
            )
        if identity.is_another(session.facts, now.facts):
            raise UserError(
                held.path,
                f"holds runs of another machine that is called {now.host}, too: none of its network cards is here",
                "name another file with -o; a folder (-o DIR/) gets a file of each",
            )


def _of_each_cell(plan: Plan) -> list[PlannedRun]:
    """Return one run of each cell: repeats are started in one way."""
    return list({run.cell.point_id: run for run in plan.runs}.values())


def _named(sweep: str, labels: Mapping[str, Any]) -> tuple[str, str]:
    return sweep, canonical_json(dict(labels))


def _elsewhere(
    plan: Plan, cells: Iterable[Cell], of_cell: Mapping[str, Sequence[Conditions]]
) -> dict[tuple[str, str], list[Difference]]:
    """Return of the plan's aliases that ran as cells of their own, on other PUs than the cell that they are now: name → what differs."""
    if not plan.aliases:
        return {}
    runs = {_named(run.sweep, run.cell.labels()): run for run in _of_each_cell(plan)}
    held = {_named(cell.sweep, cell.labels()): cell for cell in cells}
    found = {}
    for alias in plan.aliases:
        name = _named(alias.sweep, alias.cell)
        cell, run = held.get(name), runs.get(_named(alias.sweep, alias.of))
        if not cell or not run:
            continue
        if differing := _of_place(dataclasses.replace(run, cell=cell), of_cell.get(cell.point_id, ())):
            found[name] = differing
    return found


def as_known(plan: Plan, cells: Sequence[Cell], conditions: Sequence[Conditions]) -> Plan:
    """Return the plan with the cells that a file holds under other words as it has them: a place or an option that is written in
    another way, and starts the same, begins no cell."""
    measured = {one.point_id: one for one in conditions}
    planned = {cell.point_id: cell for cell in plan.cells}
    starts = {
        run.cell.point_id: _start(run.cell, run.placement, run.argv)
        for run in _of_each_cell(plan)
        if run.cell.point_id not in measured
    }
    sweeps = {(cell.sweep, cell.tool) for cell in plan.cells}
    known: dict[Hashable, Cell] = {}
    for cell in cells:
        of = measured.get(cell.point_id)
        if of and (cell.sweep, cell.tool) in sweeps and cell.point_id not in planned:
            known.setdefault(_start(cell, of.placement, of.argv), cell)
    used, asked = _places_by_name(cells), _places_by_name(plan.cells)
    renamed_to: dict[str, Cell] = {}
    for point_id, own in starts.items():
        cell, same = planned[point_id], known.get(own)
        if same is None:
            continue
        renamed = _name_of_place(cell) != _name_of_place(same)
        if renamed and (_names_another(cell, used) or _names_another(same, asked)):
            continue  # names that are exchanged are no other words
        renamed_to[point_id] = dataclasses.replace(cell, options=same.options, place=same.place)
        del known[own]
    labels = {canonical_json(planned[point_id].labels()): cell for point_id, cell in renamed_to.items()}
    aliases = [
        Alias.between(planned[point_id], cell)
        for point_id, cell in renamed_to.items()
        if planned[point_id].place != cell.place
    ]
    for alias in plan.aliases:
        kept = labels.get(canonical_json(dict(alias.of)))
        alias = dataclasses.replace(alias, of=kept.labels()) if kept else alias
        if alias.cell != alias.of:
            aliases.append(alias)
    return dataclasses.replace(_in_cells(plan, renamed_to), aliases=tuple(aliases))


def _name_of_place(cell: Cell) -> tuple[str, str]:
    return cell.sweep, cell.place.name if cell.place else ""


def _places_by_name(cells: Iterable[Cell]) -> dict[tuple[str, str], set[Place | None]]:
    places: dict[tuple[str, str], set[Place | None]] = {}
    for cell in cells:
        places.setdefault(_name_of_place(cell), set()).add(cell.place)
    return places


def _names_another(cell: Cell, places: Mapping[tuple[str, str], set[Place | None]]) -> bool:
    """Say whether some cell's place has the name of this one's and is another: the same one, of a cell that was added, is not."""
    return bool(places.get(_name_of_place(cell), set()) - {cell.place})


def _start(cell: Cell, placement: Placement | None, argv: Sequence[str]) -> Hashable:
    return start(cell, placement, [word for word in argv if "/" not in word])


def _in_cells(plan: Plan, others: Mapping[str, Cell]) -> Plan:
    """Return the plan with the runs of some cells (by point_id) in others."""
    if not others:
        return plan
    runs = tuple(
        dataclasses.replace(run, cell=others[run.cell.point_id]) if run.cell.point_id in others else run
        for run in plan.runs
    )
    cells = tuple(others.get(cell.point_id, cell) for cell in plan.cells)
    more = {others[key].point_id if key in others else key: number for key, number in plan.more.items()}
    return dataclasses.replace(plan, runs=runs, cells=cells, more=more)


def _first_of(said: Sequence[str]) -> str:
    more = f"; and {len(said) - _MOST_SAID} more" if len(said) > _MOST_SAID else ""
    return f"{'; '.join(said[:_MOST_SAID])}{more}"


def _stale(path: str, said: Sequence[str]) -> str:
    """Return the warning that what is done stays, though it would come out otherwise now."""
    return (
        f"{path}: what was done before stays as it is, and was measured in another way: {_first_of(said)};"
        " to measure it as it is now, name another file with -o; with --as-new it becomes cells of its own here"
    )


def _refusal(path: str, said: Sequence[str], *, tuned: bool) -> UserError:
    return UserError(
        path,
        f"holds runs that were measured in another way: {_first_of(said)}",
        f"{'--tune sets the machine as it was for some of them; ' if tuned else ''}name another file with -o; "
        "with --as-new they become cells of their own, named after what differs",
    )


def _anew(cell: Cell, label: str) -> Cell:
    return dataclasses.replace(cell, options={**cell.options, AS_NEW: label}, axes=(*cell.axes, AS_NEW))


def _of_place(run: PlannedRun, before: Sequence[Conditions]) -> list[Difference]:
    """Say where the cell's runs were, or what they were told to do, if that is not what is planned."""
    found = []
    now = _groups(run.placement)
    cell = run.cell.describe()
    for conditions in before:
        if _groups(conditions.placement) != now:
            here, there = where(run.placement), where(conditions.placement)
            said = f"{run.sweep} {cell} ran on {there}, and would run on {here} now"
            found.append(Difference(said=said, label=here))
            continue
        words, others = (_arguments(run.tool, argv) for argv in (run.argv, conditions.argv))
        gone = " ".join(word for word in others if word not in words)
        new = " ".join(word for word in words if word not in others)
        if gone or new:
            said = f"{run.sweep} {cell} ran {_with(gone, new)}, and would run {_with(new, gone)} now"
            found.append(Difference(said=said, label=_with(new, gone)))
    return found


def _of_mask(
    run: PlannedRun, own: Sequence[Session], of_sweep: Sequence[Session], now: Setting
) -> list[Difference]:
    """Say on which CPUs a cell was free to run, or one that was never run would have been in earlier sessions of its sweep, if
    these are others now. Where a cell with a place ran, its runs tell (`_of_place`)."""
    here = now.facts.get("cpus_allowed")
    found = []
    for there in {session.facts.get("cpus_allowed") for session in own or of_sweep}:
        if not here or not there or here == there:
            continue
        if not run.placement:
            said = f"{run.sweep} {run.cell.describe()} was free to run on CPUs {there}, and would be on {here} now"
            found.append(Difference(said=said, label=f"free on CPUs {here}"))
        elif not own and now.topology:
            then = _placed(run, now.topology.under(parse_cpulist(there)))
            if then and then.groups != run.placement.groups:
                said = f"{run.sweep} {run.cell.describe()} would have been on {where(then)} in earlier runs, and would be on {where(run.placement)} now"
                found.append(Difference(said=said, label=where(run.placement)))
    return found


def _placed(run: PlannedRun, topology: Topology) -> Placement | None:
    """Return where a run's place is on a machine; None where it has no such place."""
    tool = get_tool(run.tool)
    place = run.cell.place or tool.default_place(run.cell.options)
    threads, processes = tool.shape(run.cell.options)
    try:
        return resolve(place, topology, threads=threads, processes=processes)[0] if place else None
    except Unplaceable:
        return None


def _groups(placement: Placement | None) -> tuple[object, ...]:
    return placement.groups if placement else ()


def _with(words: str, others: str) -> str:
    return f"with {words}" if words else f"without {others}"


def _arguments(tool: str, argv: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command that say what is measured: paths (of programs, of scratch) may be others tomorrow."""
    return spelt(tool, [word for word in argv if "/" not in word])


def _of_machine(
    run: PlannedRun,
    before: Sequence[Session],
    now: Setting,
    facts_changed: Mapping[int, Sequence[tuple[facts.Fact, str, str]]],
) -> list[Difference]:
    """Say how the machine or the run's programs differ from those of earlier sessions. `facts_changed`: of each session, by its number."""
    found = []
    for session in before:
        for fact, then, present in facts_changed[session.session]:
            said = f"the {fact.words} was {facts.short(then)} and is {facts.short(present)} now"
            found.append(Difference(said=said, label=f"{fact.words} {facts.short(present)}"))
        found += _of_programs(run, session, now)
    return found


def _of_programs(run: PlannedRun, session: Session, now: Setting) -> list[Difference]:
    """Say how the run's programs differ from those of an earlier session."""
    found = []
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
