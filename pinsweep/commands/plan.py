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
        from reports.plan import document

        answer(document(plan, prepared.machine, done))
    if form != "json":
        _options.left_out(plan)
        _options.devices(plan)
        if cells_guessed := len({run.cell.point_id for run in plan.runs if run.guessed_at_most_s}):
            say_prose(f"cells that never ran here: {cells_guessed} (1 s per run assumed; set `seconds`)", err=True)
    if not plan.runs and not done:
        _options.nothing_can_run()
        raise click.exceptions.Exit(1)


def _commands(plan: Plan, topology: Topology) -> None:
    """Print each cell with its place and its command line."""
    import shlex

    from orchestrator.placement.diagram import draw
    from reports.text.format import ends as span

    runs: dict[str, list[PlannedRun]] = {}
    for run in plan.runs:
        runs.setdefault(run.cell.point_id, []).append(run)
    for cell in plan.cells:
        first, number = runs[cell.point_id][0], len(runs[cell.point_id])
        times = span(str(number), str(number + plan.more.get(cell.point_id, 0)))
        say(f"{cell.sweep}  {cell.describe()}  × {times}", bold=True)
        if first.placement is not None:
            say(f"  {draw(first.placement, topology)}")
        env = "".join(f"{name}={shlex.quote(value)} " for name, value in first.env.items())
        say(f"  {env}{shlex.join(first.argv)}")
        for note in first.notes:
            say(f"  # {note}")
