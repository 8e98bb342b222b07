"""`pinsweep plan`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pinsweep.commands import _options

if TYPE_CHECKING:
    from orchestrator.machine.topology import Topology
    from orchestrator.model import Plan, PlannedRun


@click.command(
    epilog='Example: pinsweep plan experiments/stream-membind.yaml --topology "pack:2 numa:1 core:10 pu:1"'
)
@_options.experiments
@click.option(
    "--topology",
    metavar="FILE|TEXT",
    help="Plan for this machine instead: hwloc XML, a captured folder, or a synthetic description.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "shell", "json"]),
    default="table",
    help="[default: table]",
)
@click.option(
    "--seed", type=int, help="Seed of the order of the runs. [default: the result file's own, else 0]"
)
@click.option(
    "-o",
    "--output",
    type=_options.FILE,
    metavar="FILE",
    help="The result file: what it holds already is not planned again.",
)
@_options.scratch
@_options.allow_write
@_options.strict
@_options.only
@_options.as_new
def command(
    experiments: tuple[Path, ...],
    topology: str | None,
    form: str,
    seed: int | None,
    output: Path | None,
    scratch: Path | None,
    allow_write: tuple[str, ...],
    strict: bool,
    only: tuple[str, ...],
    as_new: bool,
) -> None:
    """Print the command line of every run that `pinsweep run` would start; start none of them.

    What is skipped and why, what would be written, and how long it will take, come with it.
    """
    from orchestrator.plan import plan as planning
    from orchestrator.plan.prepare import PlanOptions
    from orchestrator.run.session import plan_experiments

    options = PlanOptions(
        output=output, scratch=scratch, allow_write=allow_write, topology=topology, strict=strict, only=only,
        as_new=as_new,
    )  # fmt: skip
    prepared, done = plan_experiments(experiments, options, seed=seed)
    if form == "json":
        import json

        click.echo(json.dumps(planning.as_json(prepared.plan), ensure_ascii=False, indent=1))
    elif form == "shell":
        click.echo(planning.as_shell(prepared.plan, str(prepared.scratch)), nl=False)
    else:
        _table(prepared.plan, prepared.machine.site.topology)
    if form != "json":
        _summary(prepared.plan, done)


def _table(plan: Plan, topology: Topology) -> None:
    import shlex

    from orchestrator.placement.diagram import draw

    repeats: dict[str, list[PlannedRun]] = {}
    for run in plan.runs:
        repeats.setdefault(run.point.point_id, []).append(run)
    for point in plan.points:
        runs = repeats[point.point_id]
        run = runs[0]
        env = "".join(f"{name}={shlex.quote(value)} " for name, value in run.env.items())
        click.secho(f"{run.sweep}  {run.point.describe()}  × {len(runs)}", bold=True)
        if run.placement is not None:
            click.echo(f"  {draw(run.placement, topology)}")
        click.echo(f"  {env}{shlex.join(run.argv)}")
        for note in run.notes:
            click.echo(f"  # {note}")


def _summary(plan: Plan, done: int) -> None:
    """Print what the reader decides by, on stderr: the time, the writes, what is left out."""
    import datetime

    from parsers.units import size_text
    from reports.text.format import duration

    _options.left_out(plan)
    writes = {write.path: write for run in plan.runs for write in run.writes}
    for write in writes.values():
        if write.kind == "device":
            click.secho(f"OVERWRITES DEVICE  {write.path}", fg="red", bold=True, err=True)
        else:
            click.echo(
                f"writes  {write.path}  ({size_text(write.size_bytes)}, made and removed by pinsweep)",
                err=True,
            )
    total = sum(run.estimate_s for run in plan.runs)
    by_sweep: dict[str, float] = {}
    for run in plan.runs:
        by_sweep[run.sweep] = by_sweep.get(run.sweep, 0.0) + run.estimate_s
    ends = datetime.datetime.now() + datetime.timedelta(seconds=total)  # noqa: DTZ005 (the user's own clock)
    clock = "at %H:%M" if total < 12 * 3600 else "on %a %d %b at %H:%M"
    before = f"; {done} runs are in the result file already" if done else ""
    click.echo(
        f"{len(plan.points)} points, {len(plan.runs)} runs, seed {plan.seed}; about {duration(total)}, would end {ends:{clock}}{before}",
        err=True,
    )
    for sweep, seconds in sorted(by_sweep.items(), key=lambda item: -item[1])[:5]:
        click.echo(f"  {duration(seconds):>14}  {sweep}", err=True)
