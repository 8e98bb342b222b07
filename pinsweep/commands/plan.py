"""`pinsweep plan`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pinsweep.commands import _cluster, _options
from pinsweep.terminal import answer, data, say, say_prose

if TYPE_CHECKING:
    from orchestrator.machine.topology import Topology
    from orchestrator.model import Plan, PlannedRun
    from orchestrator.plan.plan import Machine
    from reports.document import Value


@click.command(
    short_help="Print what `run` would do; start nothing.",
    epilog='Example: pinsweep plan experiments/stream-membind.yaml --topology "pack:2 numa:1 core:10 pu:1"',
)
@_options.experiments_or_none
@click.option(
    "--topology",
    metavar="FILE|TEXT",
    help="Plan for another machine: hwloc XML, a captured folder, or a synthetic description.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "shell", "json"]),
    default="table",
    help="[default: table]",
)
@click.option("--commands", is_flag=True, help="Print the place and the command line of each cell.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    metavar="INTEGER",
    help="Set the seed of the order of the runs. [default: the seed of the result file, or 0]",
)
@click.option(
    "-o",
    "--output",
    type=_options.PLANNED_FILE,
    metavar="FILE|FOLDER/",
    help="Leave out the runs that this result file has.",
)
@_options.how_to_run
@_options.scratch
@_options.allow_write
@_options.strict
@_options.only
@_options.cells
@_options.repeats
@_options.no_warm_up
@_options.unpinned
@_options.as_new
@_cluster.options(_cluster.plan, run=False)
def command(
    experiments: tuple[Path, ...],
    topology: str | None,
    form: str,
    commands: bool,
    seed: int | None,
    output: Path | None,
    retry_failed: bool,
    allow_misplaced: bool,
    allow_disturbed: bool,
    scratch: Path | None,
    allow_write: tuple[str, ...],
    strict: bool,
    only: tuple[str, ...],
    cells: tuple[str, ...],
    repeats: int | str | None,
    no_warm_up: bool,
    unpinned: bool,
    as_new: bool,
    **_for_the_runs: bool,
) -> None:
    """Print what `pinsweep run` would do: runs, places, time, skipped cells. Nothing is started.

    --commands, --format shell and --format json have every command line. If no cell can run here, the exit status is 1.
    """
    from orchestrator.plan import plan as planning
    from orchestrator.plan.prepare import PlanOptions
    from orchestrator.run.outcome import Rules
    from orchestrator.run.session import plan_experiments

    options = PlanOptions(
        output=_options.result_file(output, experiments), scratch=scratch, allow_write=allow_write, topology=topology, strict=strict, only=only,
        unpinned=unpinned, as_new=as_new, cells=cells, repeats=repeats, warm_up=not no_warm_up,
    )  # fmt: skip
    rules = Rules(retry_failed=retry_failed, allow_misplaced=allow_misplaced, allow_disturbed=allow_disturbed)
    prepared, done = plan_experiments(experiments, options, seed=seed, rules=rules, leading=_options.standing)
    plan = prepared.plan
    if form == "json":
        from reports.text.json_text import json_text

        data(json_text(planning.as_json(plan)))
    elif form == "shell":
        data(planning.as_shell(plan, str(prepared.scratch)))
    elif commands:
        _commands(plan, prepared.machine.site.topology)
    else:
        _overview(plan, prepared.machine, done)
    if form != "json":
        _options.left_out(plan)
        _options.devices(plan)
        if cells_guessed := len({run.cell.point_id for run in plan.runs if run.guessed_at_most_s}):
            say_prose(f"cells that never ran here: {cells_guessed} (1 s per run assumed; set `seconds`)", err=True)
    if not plan.runs and not done:
        _options.nothing_can_run()
        raise click.exceptions.Exit(1)


def _overview(plan: Plan, machine: Machine, done: int) -> None:
    """Print the number of runs and the time that they take, and a row per sweep."""
    from orchestrator.machine.cpulist import format_cpulist
    from orchestrator.plan.duration import duration
    from orchestrator.tools import Program
    from parsers.units import size_text
    from reports.document import Column, Document, Table
    from reports.text import format as fmt

    rows: list[tuple[Value, ...]] = []
    for sweep in dict.fromkeys(cell.sweep for cell in plan.cells):
        runs = [run for run in plan.runs if run.sweep == sweep]
        cells = {run.cell.point_id: run for run in runs}
        groups = [group for run in cells.values() if run.placement for group in run.placement.groups]
        program = machine.programs[runs[0].tool]
        files = {write.path: write.size_bytes for run in runs for write in run.writes if write.kind == "scratch"}
        notes = ["built-in kernel"] if isinstance(program, Program) and program.stand_in else []
        notes += [f"scratch {size_text(sum(files.values()))}"] if files else []
        seconds = sum(run.estimate_s for run in runs)
        most = seconds + sum(run.estimate_s * plan.more.get(cell, 0) for cell, run in cells.items())
        more = sum(plan.more.get(cell, 0) for cell in cells)
        rows.append(
            (
                sweep,
                len(cells),
                _between(str(len(runs)), str(len(runs) + more)),
                _between(fmt.duration(seconds), fmt.duration(most)),
                format_cpulist({cpu for group in groups for cpu in group.cpus}) or "any",
                format_cpulist({node for group in groups for node in (*group.membind, *group.interleave)}) or "any",
                ", ".join(notes),
            )
        )
    takes = duration(plan)
    total, further = len(plan.cells) + len(plan.left_out), sum(plan.more.values())
    cells_text = f"{len(plan.cells)} of {fmt.plural(total, 'cell')}" if plan.left_out else fmt.plural(total, "cell")
    all_runs = fmt.plural(len(plan.runs) + further, "run")
    runs_text = f"{len(plan.runs)} to {all_runs}" if further else all_runs
    warm_ups = f" + {fmt.plural(len(plan.warm_ups), 'warm-up')}" if plan.warm_ups else ""
    time = _between(fmt.duration(takes.least_s), fmt.duration(takes.most_s))
    before = f"; {fmt.plural(done, 'run')} done before" if done else ""
    say_prose(f"{cells_text}, {runs_text}{warm_ups}, about {time} (batch limit: sbatch -t {takes.slurm}){before}")
    if not plan.runs:
        return
    names = ["sweep", "cells", "runs", "time", "CPUs", "memory node", "note"]
    shown = len(names) - (not any(row[-1] for row in rows))
    columns = tuple(Column(name=name) for name in names[:shown])
    table = Table(columns=columns, rows=tuple(row[:shown] for row in rows), most=len(rows))
    answer(Document(title="", blocks=(table,)))
    say("--commands prints every command line")


def _between(least: str, most: str) -> str:
    return least if least == most else f"{least} to {most}"


def _commands(plan: Plan, topology: Topology) -> None:
    """Print each cell with its place and its command line."""
    import shlex

    from orchestrator.placement.diagram import draw

    runs: dict[str, list[PlannedRun]] = {}
    for run in plan.runs:
        runs.setdefault(run.cell.point_id, []).append(run)
    for cell in plan.cells:
        first, number = runs[cell.point_id][0], len(runs[cell.point_id])
        times = _between(str(number), str(number + plan.more.get(cell.point_id, 0)))
        say(f"{cell.sweep}  {cell.describe()}  × {times}", bold=True)
        if first.placement is not None:
            say(f"  {draw(first.placement, topology)}")
        env = "".join(f"{name}={shlex.quote(value)} " for name, value in first.env.items())
        say(f"  {env}{shlex.join(first.argv)}")
        for note in first.notes:
            say(f"  # {note}")
