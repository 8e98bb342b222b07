"""`pinsweep plan`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pinsweep.commands import _cluster, _options
from pinsweep.terminal import data, say, say_lines, say_prose

if TYPE_CHECKING:
    from orchestrator.machine.topology import Topology
    from orchestrator.model import Placement, Plan, PlannedRun


@click.command(
    short_help="Print every command that `run` would start; start none.",
    epilog='Example: pinsweep plan experiments/stream-membind.yaml --topology "pack:2 numa:1 core:10 pu:1"',
)
@_options.experiments_or_none
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
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    metavar="INTEGER",
    help="Seed of the order of the runs. [default: the result file's own, else 0]",
)
@click.option(
    "-o",
    "--output",
    type=_options.PLANNED_FILE,
    metavar="FILE|FOLDER/",
    help="The result file, or the folder of it: what it holds already is not planned again.",
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
    """Print the command line of every run that `pinsweep run` would start; start none of them.

    What is skipped and why, what would be written, and how long it will take, come with it; JSON has the sum (total_s) and a time limit
    for `sbatch -t` (time_limit). Where no cell can run here the exit status is 1, as that of `pinsweep run`.
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
    if form == "json":
        from reports.text.json_text import json_text

        data(json_text(planning.as_json(prepared.plan)))
    elif form == "shell":
        data(planning.as_shell(prepared.plan, str(prepared.scratch)))
    else:
        _table(prepared.plan, prepared.machine.site.topology)
    if form != "json":
        begun = options.output is not None and options.output.exists()
        _summary(prepared.plan, done, another_order=seed is None and not begun)
    if not prepared.plan.runs and not done:
        _options.nothing_can_run()
        raise click.exceptions.Exit(1)


def _table(plan: Plan, topology: Topology) -> None:
    import shlex

    from orchestrator.placement.diagram import draw

    drawn: dict[Placement, str] = {}
    repeats: dict[str, list[PlannedRun]] = {}
    for run in plan.runs:
        repeats.setdefault(run.cell.point_id, []).append(run)
    lines = []
    for cell in plan.cells:
        runs = repeats[cell.point_id]
        run = runs[0]
        env = "".join(f"{name}={_folded(shlex.quote(value))} " for name, value in run.env.items())
        most = len(runs) + plan.more.get(cell.point_id, 0)
        times = f"{len(runs)} to {most}" if most > len(runs) else f"{most}"
        lines.append((f"{run.sweep}  {run.cell.describe()}  × {times}", True))
        if run.placement is not None:
            if run.placement not in drawn:
                drawn[run.placement] = draw(run.placement, topology)
            lines.append((f"  {drawn[run.placement]}", False))
        lines.append((f"  {env}{shlex.join(run.argv)}", False))
        lines += [(f"  # {note}", False) for note in run.notes]
    say_lines(lines)


_LONGEST_VALUE = 60


def _folded(value: str) -> str:
    """Return a variable's value without the middle of a long list: "'{0},{1},{2},… 128 in all …,{127}'"; --format shell has it whole."""
    parts = value.split(",")
    if len(value) <= _LONGEST_VALUE or len(parts) <= 6:
        return value
    return f"{','.join(parts[:3])},… {len(parts)} in all …,{parts[-1]}"


def _summary(plan: Plan, done: int, *, another_order: bool) -> None:
    """Print what the reader decides by, on stderr: the time, the writes, what is left out. `another_order`: `run` will draw one."""
    from orchestrator.plan.duration import duration
    from orchestrator.plan.warm_up import program_of
    from parsers.units import size_text
    from reports.text.format import plural

    _options.left_out(plan)
    writes = {write.path: write for run in plan.runs for write in run.writes}
    for write in writes.values():
        if write.kind == "device":
            say(f"OVERWRITES DEVICE  {write.path}", fg="red", bold=True, err=True)
        else:
            say(
                f"writes  {write.path}  ({size_text(write.size_bytes)}, made and removed by pinsweep)",
                err=True,
            )
    if not plan.runs and not done:  # what is said then stands alone
        return
    costs = {run.cell.point_id: run.estimate_s for run in plan.runs}
    least, most = dict[str, float](), dict[str, float]()  # sweep → seconds
    for run in plan.runs:
        least[run.sweep] = most[run.sweep] = least.get(run.sweep, 0.0) + run.estimate_s
    for cell in plan.cells:
        most[cell.sweep] += costs[cell.point_id] * plan.more.get(cell.point_id, 0)
    warming = sum(run.estimate_s for run in plan.warm_ups)
    total = sum(least.values()) + warming, sum(most.values()) + warming
    before = f"; {done} runs are in the result file already" if done else ""
    cells = plural(len(plan.cells), "cell")
    if plan.left_out:
        cells = f"{len(plan.cells)} of {plural(len(plan.cells) + len(plan.left_out), 'cell')}"
    and_warm_ups = f" after {plural(len(plan.warm_ups), 'warm-up')}" if plan.warm_ups else ""
    runs, further = len(plan.runs), sum(plan.more.values())
    counted = f"{runs} to {plural(runs + further, 'run')}" if further else plural(runs, "run")
    say_prose(
        f"{cells}, {counted}{and_warm_ups}, seed {plan.seed}; about {_between(*total)}, would end {_clock(*total)}{before}",
        err=True,
    )
    if another_order and plan.runs:
        say_prose(
            f"`run` draws an order of its own, and records it; --seed {plan.seed} takes this one",
            indent=2,
            err=True,
        )
    if guessed := len({run.cell.point_id for run in plan.runs if run.guessed_at_most_s}):
        never = "never ran here: a run of it is" if guessed == 1 else "never ran here: their runs are"
        warm = set(map(program_of, plan.warm_ups))
        cold = any(run.guessed_at_most_s and program_of(run) not in warm for run in plan.runs)
        no_warm_up = ", too little known for a warm-up" if cold else ""
        say_prose(
            f"{plural(guessed, 'cell')} {never} reckoned at 1 s{no_warm_up}; `seconds` in the experiment says better",
            indent=2,
            err=True,
        )
    say(f"  time limit of a batch job: {duration(plan).slurm} (sbatch -t)", err=True)
    for sweep, seconds in sorted(most.items(), key=lambda item: -item[1])[:5]:
        say(f"  {_between(least[sweep], seconds):>14}  {sweep}", err=True)


def _between(least: float, most: float) -> str:
    """Return "12 s", or "12 s to 30 s" where it is not known before how much there is to do."""
    from reports.text.format import duration

    texts = dict.fromkeys((duration(least), duration(most)))
    return " to ".join(texts)


def _clock(least: float, most: float) -> str:
    """Return "at 17:03", or "between 17:03 and 17:20", by the user's own clock."""
    import datetime

    from orchestrator.model import LONGEST_S

    if most > LONGEST_S:
        return f"after more than {LONGEST_S // 86400} days"
    ends = (datetime.datetime.now() + datetime.timedelta(seconds=s) for s in (least, most))  # noqa: DTZ005
    texts = list(
        dict.fromkeys(f"{end:{'%H:%M' if most < 12 * 3600 else '%a %d %b at %H:%M'}}" for end in ends)
    )
    if len(texts) > 1:
        return f"between {texts[0]} and {texts[1]}"
    return f"at {texts[0]}" if most < 12 * 3600 else f"on {texts[0]}"
