"""Plan every command line in start order, from cells, a topology and programs. Pure.

`pinsweep plan` prints a Plan and `pinsweep run` executes a Plan. Both call `make_plan`, so the printed commands are the
started commands.
"""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
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
from orchestrator.placement.place import expand_each, resolve
from orchestrator.placement.selectors import Unplaceable
from orchestrator.plan.duration import duration
from orchestrator.plan.masked import beyond
from orchestrator.tools import Command, Program, Refused, Site, get_tool
from parsers.errors import UserError, nearest
from parsers.units import size_text, unit_meant

LONGEST_COMMAND = 1 << 20
"""Characters of a command line with its environment. Linux takes 2 MiB."""

TIMEOUT_FACTOR = 4.0
TIMEOUT_FLOOR_S = 60.0
"""Timeout of a run without `timeout`: one minute and 4 × its estimate, because hardware may be slow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The planner's view of the machine, and the program of each tool."""

    site: Site
    programs: Mapping[str, Program | str]  # tool → program, or why there is none
    free_scratch_bytes: Callable[[], int | None] = lambda: None
    limits: str = ""  # limit of this process's cgroups, "memory 200 MiB", or ""
    kept_cores: str = ""  # why PUs that this process may not use are not lacking; "": they are, or none is missing


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTimings:
    """Durations of earlier runs: wall seconds by cell, and seconds beyond the estimate by tool."""

    cells: Mapping[str, float] = field(default_factory=dict)
    overhead: Mapping[str, float] = field(default_factory=dict)

    def wall_s(self, cell: Cell, estimate_s: float) -> float:
        """Return the wall seconds of a run. The overhead of one user program does not apply to another program."""
        if cell.point_id in self.cells:
            return self.cells[cell.point_id]
        overhead_s = 0.0 if get_tool(cell.tool).OPEN else max(0.0, self.overhead.get(cell.tool, 0.0))
        return max(0.1, estimate_s + overhead_s)


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
    """Return every run in order, and every cell that this machine cannot host.

    `only` restricts the plan to cells with these point_ids.

    Raises UserError with --strict if anything is skipped, and if two experiments hold sweeps of one name.
    """
    past, topology = past or PastTimings(), machine.site.topology
    sweeps: dict[str, Sweep] = {}
    for experiment, sweep in ((e, sweep) for e in experiments for sweep in e.sweeps):
        if sweep.name in sweeps:
            cause = f"a sweep named {sweep.name!r} already exists"
            raise UserError(experiment.path, cause, "give the file or the sweep another name")
        sweeps[sweep.name] = sweep
    versions = {tool: p.version for tool, p in machine.programs.items() if isinstance(p, Program)}
    hosted, skipped = _hosted(experiments, machine, versions, only)
    if strict and skipped:
        first = skipped[0]
        suffix = f", and {len(skipped) - 1} more" if len(skipped) > 1 else ""
        cause = f"{_labels(first.cell)}: {first.reason}{suffix}"
        raise UserError(first.sweep, cause, "leave out --strict to skip such cells")
    if only is None:
        root, kept = machine.site.root, machine.kept_cores
        skipped += beyond(experiments, topology, root=root, versions=versions, kept=kept)
    placed, aliases = _merged(hosted, machine.site.scratch)
    runs_of = {pid: _runs_of(entry, sweeps[entry.cell.sweep].timeout_s, past) for pid, entry in placed.items()}
    settling = {pid: sweeps[entry.cell.sweep] for pid, entry in placed.items() if sweeps[entry.cell.sweep].settle}
    limits = [topology.problem, machine.limits and f"cgroup limits: {machine.limits}"]
    return Plan(
        runs=tuple(
            runs_of[cell.point_id](repeat=repeat)
            for cell, repeat in rounds([entry.cell for entry in placed.values()], sweeps, seed)
        ),
        cells=tuple(entry.cell for entry in placed.values()),
        skipped=tuple(skipped),
        aliases=aliases,
        more={pid: CAP - sweep.repeats for pid, sweep in settling.items()},
        seed=seed,
        warnings=tuple(filter(None, [*limits, *_guesses(placed.values(), topology), *_mistakes(placed.values())])),
    )


# --- warnings ----------------------------------------------------------------------------------------------


def _guesses(placed: Iterable[_Placed], topology: Topology) -> Iterator[str]:
    """Yield the choices that pinsweep made without knowledge of the machine, or left to the kernel."""
    places = {entry.cell.place for entry in placed}
    if UNPINNED in places:
        yield "nothing is pinned (--unpinned): the kernel moves threads and memory, and each number is flagged"
    elif any(place and place.memory == "remote" for place in places) and undecided(topology):
        yield "no distances between NUMA nodes are known: `memory: remote` is the first node of another package, if any"


def _mistakes(placed: Iterable[_Placed]) -> Iterator[str]:
    """Yield likely mistakes in the sweeps of the user's own programs."""
    sweeps: dict[str, list[_Placed]] = {}
    for one in placed:
        if get_tool(one.cell.tool).OPEN:
            sweeps.setdefault(one.cell.sweep, []).append(one)
    for sweep, cells in sweeps.items():
        for text in (*_idle_axes(cells), *_unused_options(cells), *_unknown_units(cells)):
            yield f"{sweep}: {text}"


def _idle_axes(cells: Sequence[_Placed]) -> Iterator[str]:
    """Yield the axes that do not change the started commands if all other axes are equal."""
    labels = [{axis: str(value) for axis, value in entry.cell.labels().items()} for entry in cells]
    for axis in cells[0].cell.swept:
        started: dict[object, list[object]] = {}
        for row, entry in zip(labels, cells, strict=True):
            key = tuple(item for item in row.items() if item[0] != axis)
            started.setdefault(key, []).append((entry.command.argv, tuple(entry.command.env.items())))
        compared = [same for same in started.values() if len(same) > 1]  # `zip` may leave none
        if axis != "place" and compared and all(len(set(same)) == 1 for same in compared):
            values = ", ".join(dict.fromkeys(row[axis] for row in labels if axis in row))
            yield f"{axis} {values} all start the same command: put {{{axis}}} where its value belongs, or remove the axis"


def _unused_options(cells: Sequence[_Placed]) -> Iterator[str]:
    """Yield the options that are neither an axis, nor known, nor in a placeholder."""
    known = get_tool(cells[0].cell.tool).options()
    text = " ".join(f"{one.cell.options.get('command')} {one.cell.options.get('env')}" for one in cells)
    axes = {axis for one in cells for axis in one.cell.axes}
    for name in dict.fromkeys(name for one in cells for name in one.cell.options):
        if name not in known and name not in axes and f"{{{name}}}" not in text:
            value = min(str(one.cell.options[name]) for one in cells if name in one.cell.options)
            hint = nearest(name, known) or f"put {{{name}}} where its value belongs, or remove it"
            yield f"nothing uses {name} ({value}): {hint}"


def _unknown_units(cells: Sequence[_Placed]) -> Iterable[str]:
    """Return the units of metrics that look like a known unit."""
    metrics = (one.cell.options.get("metrics") for one in cells)
    specs = ((name, spec) for m in metrics if isinstance(m, Mapping) for name, spec in m.items())
    units = ((name, str(spec.get("unit", ""))) for name, spec in specs)
    return dict.fromkeys(
        f"{name} has the unit {unit!r}, which pinsweep does not know: did you mean {known!r}?"
        for name, unit in units
        if (known := unit_meant(unit))
    )


# --- cells and their runs ----------------------------------------------------------------------------------


def _hosted(
    experiments: Iterable[Experiment],
    machine: Machine,
    versions: Mapping[str, str],
    only: Collection[str] | None,
) -> tuple[Iterable[_Placed], list[Skipped]]:
    """Return the cells that this machine can host, without duplicates, and the other cells."""
    placed: dict[str, _Placed] = {}  # by point_id: `each numa_node` and `numa_node 0` may be the same cell
    skipped: list[Skipped] = []
    topology = machine.site.topology
    places = functools.cache(functools.partial(expand_each, topology=topology))  # many cells have one place
    placements = functools.cache(functools.partial(resolve, topology=topology))
    for experiment in experiments:
        cells, unresolved = expand(experiment, topology, root=machine.site.root, versions=versions)
        skipped.extend(unresolved)
        for cell in cells:
            try:
                each = _at_places(cell, machine, places)
            except (Unplaceable, Refused) as error:
                skipped.append(_skip(cell, error))
                continue
            for at, place in each:
                if only is None or at.point_id in only:
                    try:
                        placed.setdefault(at.point_id, _place(at, place, machine, placements))
                    except (Unplaceable, Refused) as error:
                        skipped.append(_skip(at, error))
    return placed.values(), skipped


def _skip(cell: Cell, error: Exception) -> Skipped:
    return Skipped(sweep=cell.sweep, cell=cell.labels(), reason=str(error))


def _program(cell: Cell, machine: Machine) -> Program:
    """Return the program of a cell. Raises Refused."""
    program = machine.programs.get(cell.tool, f"{cell.tool} was not looked for")
    if isinstance(program, str):
        raise Refused(program)
    return program


def _at_places(
    cell: Cell, machine: Machine, places: Callable[[Place], tuple[Place, ...]]
) -> list[tuple[Cell, Place | None]]:
    """Return a cell at its place, or several cells if the place has `each …`. Raises Unplaceable, Refused."""
    _program(cell, machine)
    place = cell.place or get_tool(cell.tool).default_place(cell.options)
    if place is None:
        return [(cell, None)]
    if machine.site.unpinned:
        return [(_at(cell, UNPINNED), None)]
    return [(cell if each == place else _at(cell, each), each) for each in places(place)]


def _at(cell: Cell, place: Place) -> Cell:
    """Return the cell at a place that distinguishes it from other cells."""
    return replace(cell, place=place, axes=cell.axes if "place" in cell.axes else (*cell.axes, "place"))


def _place(
    cell: Cell, place: Place | None, machine: Machine, placements: Callable[..., Sequence[Placement]]
) -> _Placed:
    """Return how this machine starts a cell. Raises Unplaceable, Refused."""
    site, tool, program = machine.site, get_tool(cell.tool), _program(cell, machine)
    placement, notes = None, tuple[str, ...]()
    if place is not None:
        threads, processes = tool.shape(cell.options)
        (requested,) = placements(place, threads=threads, processes=processes)
        if not site.numactl:
            raise Refused(
                "numactl is not installed (apt-get install numactl, or dnf install numactl); --unpinned measures without it"
            )
        placement = _bindable(requested, site)
        if placement is not requested:
            notes = (f"memory is not bound: {site.memory_refusal()}; this machine has one NUMA node",)
    command = tool.command(cell, placement, site, program)
    command = replace(command, notes=(*command.notes, *notes))
    if (length := sum(map(len, (*command.argv, *command.env.values())))) > LONGEST_COMMAND:
        raise Refused(f"a command line of {length} characters; {LONGEST_COMMAND} at most")
    needed = sum(file.size_bytes for file in command.scratch)
    room = machine.free_scratch_bytes() if needed else None
    if room is not None and needed > room:
        free = size_text(max(0, room))
        raise Refused(f"needs {size_text(needed)} of scratch space; {site.scratch} has {free}")
    return _Placed(cell=cell, placement=placement, command=command, program=program)


def _bindable(placement: Placement, site: Site) -> Placement:
    """Return a placement that this machine can give: without memory binding if that is refused and there is one NUMA node.

    Raises Refused if there are several nodes.
    """
    binds = any(group.membind or group.interleave for group in placement.groups)
    if not binds or not (reason := site.memory_refusal()):
        return placement
    if len(site.topology.numa_nodes) > 1:
        raise Refused(f"memory cannot be bound here ({reason}); {REFUSAL_HINT}")
    return replace(placement, groups=tuple(replace(g, membind=(), interleave=()) for g in placement.groups))


def _runs_of(one: _Placed, timeout_s: float | None, past: PastTimings) -> Callable[..., PlannedRun]:
    """Return a function that makes the runs of a cell. The runs differ only in `repeat`."""
    cell, command = one.cell, one.command
    if timeout_s is None:
        timeout_s = TIMEOUT_FLOOR_S + TIMEOUT_FACTOR * max(command.estimate_s, command.at_most_s)
    is_guess = command.guessed and cell.point_id not in past.cells
    same = ("argv", "env", "cwd", "scratch", "logs", "writes", "reads", "notes")
    return functools.partial(
        PlannedRun,
        sweep=cell.sweep,
        tool=cell.tool,
        cell=cell,
        placement=one.placement,
        timeout_s=timeout_s,
        nominal_s=command.estimate_s,
        estimate_s=past.wall_s(cell, command.estimate_s),
        guessed_at_most_s=command.at_most_s if is_guess else 0.0,
        program=one.program.name,
        files={**one.program.helpers, **command.files},
        **{name: getattr(command, name) for name in same},
    )


def _merged(placed: Iterable[_Placed], scratch: str) -> tuple[dict[str, _Placed], tuple[Alias, ...]]:
    """Return the cells by point_id, with the first of equal cells. The other equal cells are aliases."""
    first: dict[Hashable, _Placed] = {}
    aliases = []
    for entry in placed:
        words = tuple("" if word.startswith(scratch) else word for word in entry.command.argv)
        key = start(entry.cell, entry.placement, words), tuple(entry.command.env.items())
        same = first.setdefault(key, entry)
        if same is not entry:
            aliases.append(Alias.between(entry.cell, same.cell))
    return {entry.cell.point_id: entry for entry in first.values()}, tuple(aliases)


def start(cell: Cell, placement: Placement | None, argv: Sequence[str]) -> Hashable:
    """Return a key that is equal for runs with the same start, even if options and places are written differently."""
    options = canonical_json(dict(get_tool(cell.tool).canonical(cell.options)))
    name = cell.place.name if cell.place and "{place}" in options else ""  # the command contains the name
    groups = placement.groups if placement else ()
    return cell.sweep, cell.tool, options, name, groups, canonical_words(cell.tool, argv)


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


# --- as text -----------------------------------------------------------------------------------------------


def _labels(labels: Mapping[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in labels.items()) or "its only cell"


def as_json(plan: Plan) -> dict[str, Any]:
    """Return the plan in the JSON form of `plan --format json`."""
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
    """Return the cells that are equal to other cells on this machine."""
    return [{"sweep": a.sweep, "labels": dict(a.cell), "of": dict(a.of), "reason": a.reason} for a in plan.aliases]


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
    """Return a script that prepares and runs the same commands by hand, in the same order.

    Every value is quoted for the shell. The script makes only the scratch folder and does not remove it.
    """
    lines = [
        "#!/bin/sh",
        "# `pinsweep plan --format shell`: the commands of `pinsweep run`, in its order",
        "set -eu",
        "",
    ]
    left_out: list[Skipped | Alias] = [*plan.skipped, *plan.aliases]
    lines += [f"# skipped: {_one_line(f'{c.sweep} {_labels(c.cell)}: {c.reason}')}" for c in left_out]
    if any(run.scratch or run.cwd for run in plan.runs):
        lines.append(f"mkdir -p {shlex.quote(scratch)}")
    made: set[str] = set()
    for number, run in enumerate((*plan.warm_ups, *plan.runs), 1 - len(plan.warm_ups)):
        cell = _one_line(f"{run.sweep} {run.cell.describe()}")
        counted = f"{number}/{len(plan.runs)} {cell}, repeat {run.repeat}"
        lines += ["", f"# warm-up {cell}" if run.warm_up else f"# {counted}"]
        for file in run.scratch:
            path = shlex.quote(file.path)
            if file.path in made:
                continue
            made.add(file.path)
            if file.text is not None:
                lines.append(f"printf %s {shlex.quote(file.text)} > {path}")
            elif file.folder:
                lines.append(f"mkdir -p {path}")
            else:
                lines.append(f"test -e {path} || head -c {file.size_bytes} /dev/urandom > {path}")
        env = "".join(f"{name}={shlex.quote(value)} " for name, value in run.env.items())
        line = f"{'env ' if env else ''}{env}{shlex.join(run.argv)}"
        lines.append(f"(cd {shlex.quote(run.cwd)} && {line})" if run.cwd else line)
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())
