"""Cells, a topology and the programs found → every command line, in the order in which it would be started. Pure.

`pinsweep plan` prints a Plan and `pinsweep run` executes one; both get it from `make_plan`, so that what is
printed is what is started.
"""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from orchestrator.experiment.expand import expand
from orchestrator.experiment.repeats import CAP, rounds
from orchestrator.machine.topology import Topology
from orchestrator.model import (
    UNPINNED,
    Alias,
    Cell,
    Experiment,
    Place,
    Placement,
    Plan,
    PlannedRun,
    Skipped,
    Sweep,
    canonical_json,
)
from orchestrator.placement.memory import REFUSAL_HINT, undecided
from orchestrator.placement.place import Threads, expand_each, resolve
from orchestrator.placement.selectors import Unplaceable
from orchestrator.plan.duration import duration
from orchestrator.plan.masked import beyond
from orchestrator.tools import Command, Program, Refused, Site, Tool, get_tool
from parsers.errors import UserError, nearest
from parsers.units import size_text, unit_meant

LONGEST_COMMAND = 1 << 20
"""Characters of a command line with its environment. Linux takes 2 MiB."""

TIMEOUT_FACTOR = 4.0
TIMEOUT_FLOOR_S = 60.0
"""A run without a `timeout` of its own is ended after a minute and 4 × its estimate, on slow hardware where that is another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What the planner knows of the machine, and the programs by tool."""

    site: Site
    programs: Mapping[str, Program | str]  # tool → program, or why there is none
    free_scratch_bytes: Callable[[], int | None] = lambda: None
    limits: str = ""  # of the cgroups of this process, "memory 200 MiB"; "" if there is none
    kept_cores: str = (
        ""  # why PUs that this process may not use are not lacking; "": they are, or none is missing
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTimings:
    """How long earlier runs took: wall seconds by cell, and what a tool takes beyond its own estimate (or less: then nothing is taken
    off, for other cells of it need not be as quick)."""

    cells: Mapping[str, float] = field(default_factory=dict)
    overhead: Mapping[str, float] = field(default_factory=dict)

    def wall_s(self, cell: Cell, estimate_s: float) -> float:
        """Return the wall seconds of a run. What one program of the user's own took beyond its estimate tells nothing of another."""
        known = self.cells.get(cell.point_id)
        beyond = 0.0 if get_tool(cell.tool).OPEN else max(0.0, self.overhead.get(cell.tool, 0.0))
        return known if known is not None else max(0.1, estimate_s + beyond)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    """A cell that this machine can host, and how."""

    cell: Cell
    placement: Placement | None
    command: Command
    program: Program


def make_plan(
    experiments: Sequence[Experiment],
    machine: Machine,
    *,
    seed: int,
    past: PastTimings | None = None,
    strict: bool = False,
    only: Collection[str] | None = None,
) -> Plan:
    """Return every run in order and every cell that this machine cannot host. `only`: of the cells with these point_ids.

    Raises UserError with --strict if anything is skipped, and if two experiments hold sweeps of one name.
    """
    past = past or PastTimings()
    sweeps = _by_name(experiments)
    here, skipped = _hosted(experiments, machine, only)
    if strict and skipped:
        first = skipped[0]
        rest = f", and {len(skipped) - 1} more" if len(skipped) > 1 else ""
        raise UserError(
            first.sweep,
            f"{_labels(first.cell)}: {first.reason}{rest}",
            "without --strict such cells are skipped",
        )
    if only is None:
        versions = {tool: p.version for tool, p in machine.programs.items() if isinstance(p, Program)}
        skipped += beyond(
            experiments,
            machine.site.topology,
            root=machine.site.root,
            versions=versions,
            kept=machine.kept_cores,
        )
    placed, aliases = _merged(here, machine.site.scratch)
    order = rounds([one.cell for one in placed.values()], sweeps, seed)
    runs_of = {pid: _runs_of(one, sweeps[one.cell.sweep].timeout_s, past) for pid, one in placed.items()}
    return Plan(
        runs=tuple(runs_of[cell.point_id](repeat=repeat) for cell, repeat in order),
        cells=tuple(one.cell for one in placed.values()),
        skipped=tuple(skipped),
        aliases=aliases,
        more={
            pid: CAP - sweeps[one.cell.sweep].repeats
            for pid, one in placed.items()
            if sweeps[one.cell.sweep].settle
        },
        seed=seed,
        warnings=(
            *filter(
                None, [machine.site.topology.problem, machine.limits and f"cgroup limits: {machine.limits}"]
            ),
            *_guessed(placed.values(), machine.site.topology),
            *_without_effect(placed.values()),
            *_units(placed.values()),
        ),
    )


def _without_effect(placed: Iterable[_Placed]) -> Iterable[str]:
    """Tell the axes of a user's own program that change nothing of what is started, all other axes the same."""
    sweeps: dict[str, list[_Placed]] = {}
    for one in placed:
        if get_tool(one.cell.tool).OPEN:
            sweeps.setdefault(one.cell.sweep, []).append(one)
    for sweep, cells in sweeps.items():
        labels = [one.cell.labels() for one in cells]
        for axis in cells[0].cell.swept:
            levels = dict.fromkeys(str(own[axis]) for own in labels if axis in own)
            started: dict[object, list[object]] = {}
            for own, one in zip(labels, cells, strict=True):
                others = tuple((name, str(value)) for name, value in own.items() if name != axis)
                started.setdefault(others, []).append((one.command.argv, tuple(one.command.env.items())))
            compared = [
                same for same in started.values() if len(same) > 1
            ]  # axes of `zip` may have no such cells
            if axis != "place" and compared and all(len(set(same)) == 1 for same in compared):
                yield (
                    f"{sweep}: {axis} {', '.join(levels)} all start the same command: put {{{axis}}} where its value belongs, or remove the axis"
                )
        yield from _unused(sweep, cells)


def _unused(sweep: str, cells: Sequence[_Placed]) -> Iterable[str]:
    """Tell the options of a user's own program that are no axis, which may be there for its name alone, and in no placeholder."""
    known = get_tool(cells[0].cell.tool).options()
    values: dict[str, set[str]] = {}
    axes, used = {axis for one in cells for axis in one.cell.axes}, set[str]()
    for one in cells:
        text = f"{one.cell.options.get('command')} {one.cell.options.get('env')}"
        for name, value in one.cell.options.items():
            values.setdefault(name, set()).add(str(value))
            used |= {name} if f"{{{name}}}" in text else set()
    for name, own in values.items():
        if name not in known and name not in used and name not in axes:
            hint = nearest(name, known) or f"put {{{name}}} where its value belongs, or remove it"
            yield f"{sweep}: nothing uses {name} ({min(own)}): {hint}"


def _units(placed: Iterable[_Placed]) -> Iterable[str]:
    """Tell the units of a user's own metrics that look like others, written so that nothing is converted."""
    told: dict[str, None] = {}
    for one in placed:
        metrics = one.cell.options.get("metrics") if get_tool(one.cell.tool).OPEN else None
        for name, spec in metrics.items() if isinstance(metrics, Mapping) else ():
            unit = str(spec.get("unit", ""))
            if meant := unit_meant(unit):
                told[
                    f"{one.cell.sweep}: {name} has the unit {unit!r}, which pinsweep does not know: {meant!r}? As it is, it is compared with no other unit"
                ] = None
    return told


def _guessed(placed: Iterable[_Placed], topology: Topology) -> tuple[str, ...]:
    """Return what was chosen without knowing enough of the machine, or left to the kernel."""
    places = {one.cell.place for one in placed}
    if UNPINNED in places:
        return (
            "nothing is pinned, as --unpinned asks: the kernel moves threads and memory as it likes, and each number is marked",
        )
    if not any(place and place.memory == "remote" for place in places) or not undecided(topology):
        return ()
    return (
        "no distances between the NUMA nodes are known here: `memory: remote` is the first node of another package, where there is one, not the farthest",
    )


def _by_name(experiments: Iterable[Experiment]) -> dict[str, Sweep]:
    sweeps: dict[str, Sweep] = {}
    for experiment in experiments:
        for sweep in experiment.sweeps:
            if sweep.name in sweeps:
                raise UserError(
                    experiment.path,
                    f"a sweep named {sweep.name!r} is there already",
                    "give the file or the sweep another name",
                )
            sweeps[sweep.name] = sweep
    return sweeps


def _hosted(
    experiments: Iterable[Experiment], machine: Machine, only: Collection[str] | None
) -> tuple[Iterable[_Placed], list[Skipped]]:
    """Return the cells that this machine can host, each once, and those that it cannot."""
    placed: dict[str, _Placed] = {}  # by point_id: `each numa_node` and `numa_node 0` may be the same cell
    skipped: list[Skipped] = []
    versions = {tool: p.version for tool, p in machine.programs.items() if isinstance(p, Program)}
    places = _Places(machine.site.topology)
    for experiment in experiments:
        cells, unresolved = expand(
            experiment, machine.site.topology, root=machine.site.root, versions=versions
        )
        skipped.extend(unresolved)
        for cell in cells:
            for outcome in _cells(cell, machine, places, only):
                if isinstance(outcome, Skipped):
                    skipped.append(outcome)
                else:
                    placed.setdefault(outcome.cell.point_id, outcome)
    return placed.values(), skipped


def _runs_of(one: _Placed, timeout_s: float | None, past: PastTimings) -> Callable[..., PlannedRun]:
    """Return what makes the runs of a cell, which differ in nothing but their `repeat`."""
    cell, command = one.cell, one.command
    if timeout_s is None:
        timeout_s = TIMEOUT_FLOOR_S + TIMEOUT_FACTOR * max(command.estimate_s, command.at_most_s)
    return functools.partial(
        PlannedRun,
        sweep=cell.sweep,
        tool=cell.tool,
        cell=cell,
        argv=command.argv,
        env=command.env,
        placement=one.placement,
        timeout_s=timeout_s,
        nominal_s=command.estimate_s,
        estimate_s=past.wall_s(cell, command.estimate_s),
        guessed_at_most_s=command.at_most_s if command.guessed and cell.point_id not in past.cells else 0.0,
        program=one.program.name,
        files={**one.program.helpers, **command.files},
        cwd=command.cwd,
        scratch=command.scratch,
        logs=command.logs,
        writes=command.writes,
        reads=command.reads,
        notes=command.notes,
    )


def _merged(placed: Iterable[_Placed], scratch: str) -> tuple[dict[str, _Placed], tuple[Alias, ...]]:
    """Return the cells by point_id, of several that are one on this machine the first; and the others as its aliases."""
    kept: dict[str, _Placed] = {}
    first: dict[object, _Placed] = {}
    aliases = []
    for one in placed:
        cell = one.cell
        words = tuple("" if word.startswith(scratch) else word for word in one.command.argv)
        same = first.setdefault((start(cell, one.placement, words), tuple(one.command.env.items())), one)
        if same is one:
            kept[cell.point_id] = one
        else:
            aliases.append(Alias.between(cell, same.cell))
    return kept, tuple(aliases)


def start(cell: Cell, placement: Placement | None, argv: Sequence[str]) -> Hashable:
    """Return what is the same for all runs that are started in one way, however their options and places are written."""
    asked = canonical_json(dict(get_tool(cell.tool).canonical(cell.options)))
    name = cell.place.name if cell.place and "{place}" in asked else ""  # a command is told it
    return (
        cell.sweep,
        cell.tool,
        asked,
        name,
        placement.groups if placement else (),
        canonical_words(cell.tool, argv),
    )


def canonical_words(tool: str, argv: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command with the tool's options in one spelling: `--bs=4k` is `--bs=4096`."""
    if get_tool(tool).OPEN:  # words of the user's own
        return tuple(argv)
    return tuple(_canonical_word(tool, word) for word in argv)


@functools.lru_cache(maxsize=4096)  # the cells of a sweep have most of their words in common
def _canonical_word(tool: str, word: str) -> str:
    name, sign, value = word.removeprefix("--").partition("=")
    options = get_tool(tool).canonical({name: value}) if sign and word.startswith("--") else {}
    return " ".join(f"--{key}={value}" for key, value in options.items()) or word


class _Places:
    """Where places are on a machine; many cells have one place, which is looked for once."""

    def __init__(self, topology: Topology) -> None:
        self._each = functools.cache(functools.partial(expand_each, topology=topology))
        self._resolve = functools.cache(functools.partial(resolve, topology=topology))

    def each(self, place: Place) -> tuple[Place, ...]:
        """Return what `expand_each` does. Raises Unplaceable."""
        return self._each(place)

    def resolved(self, place: Place, threads: Threads, processes: int) -> Placement:
        """Return the placement of a place that is one. Raises Unplaceable."""
        (placement,) = self._resolve(place, threads=threads, processes=processes)
        return placement


def _cells(
    cell: Cell, machine: Machine, known: _Places, only: Collection[str] | None
) -> list[_Placed | Skipped]:
    """Return what a cell becomes here: several where its place says `each …`, a Skipped where one cannot be hosted."""
    tool = get_tool(cell.tool)
    program = machine.programs.get(cell.tool, f"{cell.tool} was not looked for")
    if isinstance(program, str):
        return [Skipped(sweep=cell.sweep, cell=cell.labels(), reason=program)]
    place = cell.place or tool.default_place(cell.options)
    try:
        places = (None,) if place is None or machine.site.unpinned else known.each(place)
    except Unplaceable as error:
        return [Skipped(sweep=cell.sweep, cell=cell.labels(), reason=str(error))]
    if place is not None and machine.site.unpinned:
        cell, place = _at(cell, place, UNPINNED), None
    cells = [(_at(cell, place, each), each) for each in places]
    return [
        _cell(at, each, tool, program, machine, known)
        for at, each in cells
        if only is None or at.point_id in only
    ]


def _at(cell: Cell, asked: Place | None, place: Place | None) -> Cell:
    """Return the cell at one of the places that its own place stands for; its place is then what tells it apart."""
    if place == asked:
        return cell
    return replace(cell, place=place, axes=cell.axes if "place" in cell.axes else (*cell.axes, "place"))


def _cell(
    cell: Cell, place: Place | None, tool: Tool, program: Program, machine: Machine, known: _Places
) -> _Placed | Skipped:
    site = machine.site
    try:
        placement = None
        unbound: tuple[str, ...] = ()
        if place is not None:
            threads, processes = tool.shape(cell.options)
            placement = known.resolved(place, threads, processes)
            if not site.numactl:
                raise Refused(
                    "numactl is not installed, so nothing can be pinned (apt-get install numactl, or dnf install numactl);"
                    " --unpinned measures all the same, and marks each number"
                )
            requested, placement = placement, _bindable(placement, site)
            if placement is not requested:
                unbound = (f"memory is not bound: {site.memory_refusal()}; this machine has one NUMA node",)
        command = tool.command(cell, placement, site, program)
        command = replace(command, notes=(*command.notes, *unbound))
        if (length := sum(map(len, (*command.argv, *command.env.values())))) > LONGEST_COMMAND:
            raise Refused(f"a command line of {length} characters; {LONGEST_COMMAND} at most")
        needed = sum(file.size_bytes for file in command.scratch)
        room = machine.free_scratch_bytes() if needed else None
        if room is not None and needed > room:
            raise Refused(
                f"needs {size_text(needed)} of scratch space, {site.scratch} has {size_text(max(0, room))} to give"
            )
    except (Unplaceable, Refused) as error:
        return Skipped(sweep=cell.sweep, cell=cell.labels(), reason=str(error))
    return _Placed(cell=cell, placement=placement, command=command, program=program)


def _bindable(placement: Placement, site: Site) -> Placement:
    """Return a placement that this machine can give.

    Where binding is refused and there is only one NUMA node, all memory is there anyway. Raises Refused if there are several.
    """
    if not any(group.membind or group.interleave for group in placement.groups):
        return placement
    if not (reason := site.memory_refusal()):
        return placement
    if len(site.topology.numa_nodes) > 1:
        raise Refused(f"memory cannot be bound here ({reason}); {REFUSAL_HINT}")
    return replace(
        placement, groups=tuple(replace(group, membind=(), interleave=()) for group in placement.groups)
    )


def _labels(labels: Mapping[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in labels.items()) or "its only cell"


def as_json(plan: Plan) -> dict[str, Any]:
    """Return the plan as `plan --format json` prints it."""
    takes = duration(plan)
    return {
        "seed": plan.seed,
        "runs_at_most": len(plan.runs) + sum(plan.more.values()),
        "total_s": {
            "estimate": round(takes.least_s, 1),
            "at_most": round(takes.most_s, 1),
            "limit": takes.limit_s,
        },
        "time_limit": takes.slurm,
        "scratch_bytes": sum(
            {w.path: w.size_bytes for run in plan.runs for w in run.writes if w.kind == "scratch"}.values()
        ),
        "warm_ups": [_run_as_json(run) for run in plan.warm_ups],
        "runs": [_run_as_json(run) for run in plan.runs],
        "aliases": aliases_as_json(plan),
        "warnings": list(plan.warnings),
        "skipped": skipped_as_json(plan),
    }


def aliases_as_json(plan: Plan) -> list[dict[str, Any]]:
    """Return the cells that are others on this machine."""
    return [
        {"sweep": a.sweep, "labels": dict(a.cell), "of": dict(a.of), "reason": a.reason} for a in plan.aliases
    ]


def skipped_as_json(plan: Plan) -> list[dict[str, Any]]:
    """Return the cells that this machine cannot host, and why."""
    return [{"sweep": s.sweep, "labels": dict(s.cell), "reason": s.reason} for s in plan.skipped]


def _run_as_json(run: PlannedRun) -> dict[str, Any]:
    return {
        "sweep": run.sweep,
        "tool": run.tool,
        "cell": run.cell.describe(),
        "labels": run.cell.labels(),
        "options": dict(run.cell.options),
        "point_id": run.cell.point_id,
        "repeat": run.repeat,
        "argv": list(run.argv),
        "env": dict(run.env),
        "cwd": run.cwd,
        "placement": asdict(run.placement) if run.placement else None,
        "timeout_s": run.timeout_s,
        "estimate_s": run.estimate_s,
        "writes": [{"path": w.path, "kind": w.kind, "size_bytes": w.size_bytes} for w in run.writes],
        "notes": list(run.notes),
    }


def as_shell(plan: Plan, scratch: str) -> str:
    """Return a script that runs the very same commands by hand, in the same order, and prepares what they need.

    Every value is quoted for the shell; the scratch folder is the only thing the script makes, and it is left there.
    """
    lines = [
        "#!/bin/sh",
        "# made by `pinsweep plan --format shell`: the commands that `pinsweep run` would start, in its order",
        "set -eu",
        "",
    ]
    made: set[str] = set()
    lines += [
        f"# skipped: {_one_line(f'{skipped.sweep} {_labels(skipped.cell)}: {skipped.reason}')}"
        for skipped in plan.skipped
    ]
    lines += [f"# {_one_line(f'{a.sweep} {_labels(a.cell)}: {a.reason}')}" for a in plan.aliases]
    if any(run.scratch or run.cwd for run in plan.runs):
        lines += [f"mkdir -p {shlex.quote(scratch)}"]
    for number, run in enumerate((*plan.warm_ups, *plan.runs), 1 - len(plan.warm_ups)):
        which = f"{number}/{len(plan.runs)} " if not run.warm_up else "warm-up "
        often = f", repeat {run.repeat}" if not run.warm_up else ""
        lines += ["", f"# {which}{_one_line(f'{run.sweep} {run.cell.describe()}')}{often}"]
        for file in run.scratch:
            if file.path in made:
                continue
            made.add(file.path)
            path = shlex.quote(file.path)
            if file.text is not None:
                lines.append(f"printf %s {shlex.quote(file.text)} > {path}")
            elif file.folder:
                lines.append(f"mkdir -p {path}")
            else:
                lines.append(f"test -e {path} || head -c {file.size_bytes} /dev/urandom > {path}")
        inside = f"cd {shlex.quote(run.cwd)} && " if run.cwd else ""
        words = [*(f"{name}={shlex.quote(value)}" for name, value in run.env.items()), shlex.join(run.argv)]
        line = inside + ("env " if run.env else "") + " ".join(words)
        lines.append(f"({line})" if inside else line)
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())
