"""Points, a topology and the programs found → every command line, in the order in which it would be started. Pure.

`pinsweep plan` prints a Plan and `pinsweep run` executes one; both get it from `make_plan`, so that what is
printed is what is started.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from orchestrator.experiment.expand import expand, is_open
from orchestrator.experiment.repeats import CAP, rounds
from orchestrator.model import (
    Alias,
    Experiment,
    Place,
    Placement,
    Plan,
    PlannedRun,
    Point,
    Skipped,
    Sweep,
    canonical_json,
)
from orchestrator.placement.place import Unplaceable, expand_each, resolve
from orchestrator.tools import Command, Program, Refused, Site, ToolModule, get_tool, meant
from parsers.errors import UserError
from parsers.units import size_text

TIMEOUT_FACTOR = 4.0
TIMEOUT_FLOOR_S = 60.0
"""A run without a `timeout` of its own is ended after a minute and 4 × its estimate, on slow hardware where that is another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What the planner knows of the machine, and the programs by tool."""

    site: Site
    programs: Mapping[str, Program | str]  # tool → program, or why there is none
    free_scratch_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTimings:
    """How long earlier runs took: wall seconds by point, and what a tool takes beyond its own estimate."""

    points: Mapping[str, float] = field(default_factory=dict)
    overhead: Mapping[str, float] = field(default_factory=dict)

    def wall_s(self, point: Point, estimate_s: float) -> float:
        known = self.points.get(point.point_id)
        return known if known is not None else max(0.1, estimate_s + self.overhead.get(point.tool, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """A point that this machine can host, and how."""

    point: Point
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
    cells: dict[str, _Cell] = {}  # by point_id: `each numa_node` and `numa_node 0` may be the same cell
    skipped: list[Skipped] = []
    sweeps: dict[str, Sweep] = {}
    versions = {tool: p.version for tool, p in machine.programs.items() if isinstance(p, Program)}
    for experiment in experiments:
        for sweep in experiment.sweeps:
            if sweep.name in sweeps:
                raise UserError(
                    experiment.path,
                    f"a sweep named {sweep.name!r} is there already",
                    "give the file or the sweep another name",
                )
            sweeps[sweep.name] = sweep
        points, unresolved = expand(
            experiment, machine.site.topology, root=machine.site.root, versions=versions
        )
        skipped.extend(unresolved)
        for point in points:
            for outcome in _cells(point, machine, only):
                if isinstance(outcome, Skipped):
                    skipped.append(outcome)
                else:
                    cells.setdefault(outcome.point.point_id, outcome)
    if strict and skipped:
        first = skipped[0]
        rest = f", and {len(skipped) - 1} more" if len(skipped) > 1 else ""
        raise UserError(
            first.sweep,
            f"{_labels(first.point)}: {first.reason}{rest}",
            "without --strict such cells are skipped",
        )
    cells, aliases = _merged(cells.values(), machine.site.scratch)
    runs = []
    for point, repeat in rounds([cell.point for cell in cells.values()], sweeps, seed):
        cell = cells[point.point_id]
        command = cell.command
        asked = sweeps[point.sweep].timeout_s
        runs.append(
            PlannedRun(
                sweep=point.sweep,
                tool=point.tool,
                point=point,
                repeat=repeat,
                argv=command.argv,
                env=command.env,
                placement=cell.placement,
                timeout_s=asked
                if asked is not None
                else TIMEOUT_FLOOR_S + TIMEOUT_FACTOR * max(command.estimate_s, command.at_most_s),
                nominal_s=command.estimate_s,
                estimate_s=past.wall_s(point, command.estimate_s),
                program=cell.program.name,
                files={**cell.program.helpers, **command.files},
                cwd=command.cwd,
                scratch=command.scratch,
                writes=command.writes,
                reads=command.reads,
                notes=command.notes,
            )
        )
    return Plan(
        runs=tuple(runs),
        points=tuple(cell.point for cell in cells.values()),
        skipped=tuple(skipped),
        aliases=aliases,
        more={
            pid: CAP - sweeps[cell.point.sweep].repeats
            for pid, cell in cells.items()
            if sweeps[cell.point.sweep].settle
        },
        seed=seed,
    )


def _merged(cells: Iterable[_Cell], scratch: str) -> tuple[dict[str, _Cell], tuple[Alias, ...]]:
    """Return the cells by point_id, of several that are one on this machine the first; and the others as its aliases."""
    kept: dict[str, _Cell] = {}
    first: dict[object, _Cell] = {}
    aliases = []
    for cell in cells:
        point = cell.point
        words = tuple("" if word.startswith(scratch) else word for word in cell.command.argv)
        same = first.setdefault((start(point, cell.placement, words), tuple(cell.command.env.items())), cell)
        if same is cell:
            kept[point.point_id] = cell
        else:
            aliases.append(Alias.between(point, same.point))
    return kept, tuple(aliases)


def start(point: Point, placement: Placement | None, argv: Sequence[str]) -> Hashable:
    """Return what is the same for all runs that are started in one way, however their options and places are written."""
    asked = canonical_json(dict(meant(point.tool, point.options)))
    name = point.place.name if point.place and "{place}" in asked else ""  # a command is told it
    return (
        point.sweep,
        point.tool,
        asked,
        name,
        placement.groups if placement else (),
        spelt(point.tool, argv),
    )


def spelt(tool: str, argv: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command with the tool's options in one spelling: `--bs=4k` is `--bs=4096`."""
    if is_open(get_tool(tool)):  # words of the user's own
        return tuple(argv)
    found = []
    for word in argv:
        name, sign, value = word.removeprefix("--").partition("=")
        said = meant(tool, {name: value}) if sign and word.startswith("--") else {}
        found.append(" ".join(f"--{key}={one}" for key, one in said.items()) or word)
    return tuple(found)


def _cells(point: Point, machine: Machine, only: Collection[str] | None) -> list[_Cell | Skipped]:
    """Return the cells of a point: several where its place says `each …`, a Skipped where one cannot be hosted."""
    tool = get_tool(point.tool)
    program = machine.programs.get(point.tool, f"{point.tool} was not looked for")
    if isinstance(program, str):
        return [Skipped(sweep=point.sweep, point=point.labels(), reason=program)]
    place = point.place or tool.default_place(point.options)
    try:
        places = (None,) if place is None else expand_each(place, machine.site.topology)
    except Unplaceable as error:
        return [Skipped(sweep=point.sweep, point=point.labels(), reason=str(error))]
    points = [(_at(point, place, each), each) for each in places]
    return [
        _cell(at, each, tool, program, machine) for at, each in points if only is None or at.point_id in only
    ]


def _at(point: Point, asked: Place | None, place: Place | None) -> Point:
    """Return the point at one of the places that its own place stands for; its place is then what tells it apart."""
    if place == asked:
        return point
    return replace(point, place=place, axes=point.axes if "place" in point.axes else (*point.axes, "place"))


def _cell(
    point: Point, place: Place | None, tool: ToolModule, program: Program, machine: Machine
) -> _Cell | Skipped:
    site = machine.site
    try:
        placement = None
        if place is not None:
            threads, processes = tool.shape(point.options)
            (placement,) = resolve(place, site.topology, threads=threads, processes=processes)
            if not site.numactl:
                raise Refused(
                    "numactl is not installed, so nothing can be pinned (apt-get install numactl, or dnf install numactl)"
                )
        command = tool.command(point, placement, site, program)
        needed = sum(file.size_bytes for file in command.scratch)
        room = machine.free_scratch_bytes
        if needed and room is not None and needed > room:
            raise Refused(
                f"needs {size_text(needed)} of scratch space, {site.scratch} has {size_text(max(0, room))} to give"
            )
    except (Unplaceable, Refused) as error:
        return Skipped(sweep=point.sweep, point=point.labels(), reason=str(error))
    return _Cell(point=point, placement=placement, command=command, program=program)


def _labels(labels: Mapping[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in labels.items()) or "its only cell"


def as_json(plan: Plan) -> dict[str, Any]:
    """Return the plan as `plan --format json` prints it."""
    return {
        "seed": plan.seed,
        "runs_at_most": len(plan.runs) + sum(plan.more.values()),
        "warm_ups": [_run_as_json(run) for run in plan.warm_ups],
        "runs": [_run_as_json(run) for run in plan.runs],
        "aliases": [
            {"sweep": a.sweep, "point": dict(a.point), "of": dict(a.of), "reason": a.reason}
            for a in plan.aliases
        ],
        "skipped": [{"sweep": s.sweep, "point": dict(s.point), "reason": s.reason} for s in plan.skipped],
    }


def _run_as_json(run: PlannedRun) -> dict[str, Any]:
    return {
        "sweep": run.sweep,
        "tool": run.tool,
        "point": run.point.labels(),
        "options": dict(run.point.options),
        "point_id": run.point.point_id,
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
        f"# skipped: {_one_line(f'{skipped.sweep} {_labels(skipped.point)}: {skipped.reason}')}"
        for skipped in plan.skipped
    ]
    lines += [f"# {_one_line(f'{a.sweep} {_labels(a.point)}: {a.reason}')}" for a in plan.aliases]
    if any(run.scratch or run.cwd for run in plan.runs):
        lines += [f"mkdir -p {shlex.quote(scratch)}"]
    for number, run in enumerate((*plan.warm_ups, *plan.runs), 1 - len(plan.warm_ups)):
        which = f"{number}/{len(plan.runs)} " if not run.warm_up else "warm-up "
        often = f", repeat {run.repeat}" if not run.warm_up else ""
        lines += ["", f"# {which}{_one_line(f'{run.sweep} {run.point.describe()}')}{often}"]
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
