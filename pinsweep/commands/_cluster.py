"""Sweeps of many hosts: what `run`, `plan` and `status` share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pinsweep import __version__
from pinsweep.commands import _options
from pinsweep.terminal import answer, data, say, say_lines, say_prose

if TYPE_CHECKING:
    from orchestrator.cluster.begin import Request
    from orchestrator.cluster.engine import Engine
    from orchestrator.cluster.folder import Sweep
    from orchestrator.cluster.submit import View


_NAMES = "nodes", "via", "sbatch", "setup", "local", "at_once", "canary", "wait"
_OPTIONS = (
    click.option("--nodes", metavar="NODESET", help="Run on these hosts, a job on each, into a shared folder -o DIR/."),
    click.option(
        "--via",
        type=click.Choice(["slurm", "ssh"]),
        help="Start the jobs so. [default: slurm if sbatch exists]",
    ),
    click.option(
        "--sbatch",
        metavar="WORDS",
        help="Give every job these options of sbatch: '-p main -A acct -C icelake'.",
    ),
    click.option(
        "--setup",
        metavar="SHELL",
        help="Run lines of bash on each host before its sweep: 'module load impi'.",
    ),
    click.option(
        "--local",
        metavar="DIR",
        help="Store results and scratch files here on each host. [default: $TMPDIR, /tmp]",
    ),
    click.option("--at-once", type=click.IntRange(1, 1000), metavar="K", help="Run on at most K hosts at a time."),
    click.option(
        "--canary",
        is_flag=True,
        help="Run on one host of each CPU kind first, on the others if that ends well.",
    ),
)
_WAIT = click.option("--wait", is_flag=True, help="Wait until all jobs of the hosts have ended.")


def options(begin: Callable[..., Any], *, run: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options of sweeps of many hosts to a command.

    `begin` replaces the command for such a sweep, with these options and the other values of the command.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def dispatch(**values: Any) -> Any:  # noqa: ANN401 (click's own)
            cluster_options = {name: values.pop(name) for name in _NAMES if name in values}
            if cluster_options["nodes"] is not None or _is_sweep(values.get("output")):
                return begin(cluster_options, values)
            for name, value in cluster_options.items():
                if value:
                    option = f"--{name.replace('_', '-')}"
                    raise click.UsageError(f"{option} needs --nodes, or the folder of such a sweep")
            if not values["experiments"]:
                context = click.get_current_context()
                raise click.MissingParameter(ctx=context, param=context.command.params[0])
            return command(**values)

        for option in reversed((*_OPTIONS, *([_WAIT] if run else []))):
            dispatch = option(dispatch)
        return dispatch

    return decorate


def _is_sweep(output: Path | None) -> bool:
    if output is None or not output.is_dir():
        return False
    from orchestrator.cluster.folder import is_sweep

    return is_sweep(output)


def run(cluster_options: dict[str, Any], values: dict[str, Any]) -> int:
    """Begin a sweep of many hosts, or continue one; return the exit status."""
    from orchestrator.cluster import begin, folder, submit
    from orchestrator.cluster.script import job_script
    from parsers.errors import UserError

    if values["events"]:
        raise UserError("--events", "needs a sweep of this host only", "pinsweep status DIR --format json")
    if values["output"] is None:
        raise UserError("-o", "missing: a sweep of many hosts needs a shared folder", "-o DIR/")
    engine_of = functools.partial(submit.engine_of, on_wait=_warn)
    before, sweep, texts = _sweep(_request(cluster_options, values), engine_of)
    engine = engine_of(sweep)
    if before is None:
        folder.make(sweep, texts, job_script(sweep))
    elif changes := begin.change(before, sweep, engine):
        say(f"job.sh is written again: continues {changes}", err=True)
    job_count, hosts = submit.advance(sweep, engine, retry_failed=values.get("retry_failed", False))
    if job_count:
        say(
            f"{_count(hosts)} submitted to {sweep.via}: {_fold(hosts)}" if hosts else "no host got a job",
            err=True,
        )
    view = submit.wait(sweep, engine) if cluster_options["wait"] else submit.look(sweep, engine)
    _print(view, values["form"])
    if not cluster_options["wait"]:
        say(f"see  pinsweep status {sweep.folder}", err=True)
    return view.exit_status if cluster_options["wait"] else view.exit_status_of_run


def _sweep(request: Request, engine_of: Callable[[Sweep], Engine]) -> tuple[Sweep | None, Sweep, dict[str, str]]:
    """Return (the sweep in the folder, the sweep that the request continues or begins, texts of the experiments)."""
    from orchestrator.cluster import begin, folder

    if request.output is None or not folder.is_sweep(request.output):
        return None, *begin.new_sweep(request, engine_of)
    before = folder.read(request.output)
    begin.refuse_other(before, request)
    return before, begin.continue_sweep(before, request), {}


def _warn(text: str) -> None:
    from reports.text.plain import printable

    say_prose(printable(text), fg="yellow", err=True)


def _request(cluster_options: dict[str, Any], values: dict[str, Any]) -> Request:
    from orchestrator.cluster.begin import Request
    from orchestrator.plan.prepare import PlanOptions

    context = click.get_current_context()
    excluded = "experiments", "output", "home", "whole_node", "retry_failed", "form", "topology", *_NAMES
    return Request(
        version=__version__,
        experiments=values["experiments"],
        output=values["output"],
        words=tuple(_options.typed(context, **dict.fromkeys(excluded))[1:]),
        plan=PlanOptions(
            only=values["only"],
            cells=values["cells"],
            repeats=values["repeats"],
            warm_up=not values["no_warm_up"],
            topology="pack:1 core:1 pu:1",
        ),
        **{name: cluster_options[name] for name in _NAMES[:-1]},
    )


def plan(cluster_options: dict[str, Any], values: dict[str, Any]) -> None:
    """Print the job and the commands that submit it; write nothing."""
    from orchestrator.cluster import submit
    from orchestrator.cluster.script import job_script

    engine_of = functools.partial(submit.engine_of, patient=False)
    _, sweep, _ = _sweep(_request(cluster_options, values), engine_of)
    view = submit.look(sweep, engine_of(sweep), patient=True)
    job, commands, warnings = job_script(sweep), _commands(view), _time_warnings(view)
    if values["form"] == "json":
        from reports.text.json_text import json_text

        members = {"job": job, "submissions": commands, "limits_min": sweep.limits_min, "warnings": warnings}
        data(json_text({**members, **_as_json(view)}))
        return
    if commands:
        say_lines((line, False) for line in ["# job.sh", *job.splitlines(), ""])
    for command in dict.fromkeys(commands.values()):
        say(f"# HOST: {_fold(host for host, other in commands.items() if other == command)}")
        say(command)
    for kind, minutes in sweep.limits_min.items():
        say(
            f"-t  {minutes} min  {_count([h for h in view.nodes if view.kind(h) == kind])} of {kind}",
            err=True,
        )
    for warning in warnings:
        _warn(f"warning  {warning}")
    _print(view, "table", quiet=("not submitted",))


def _commands(view: View) -> dict[str, str]:
    """Return host → the command that submits its job, with HOST for the host's name."""
    import dataclasses
    import shlex

    from orchestrator.cluster import slurm, submit

    jobs = submit.missing_jobs(view)
    if view.sweep.via == "ssh":
        return {job.host: f"ssh HOST bash {shlex.quote(view.sweep.folder)}/job.sh" for job in jobs}
    canaries = submit.find_canaries(view, jobs)
    commands = {}
    for job in jobs:
        job_of_any = dataclasses.replace(job, host="HOST", after="CANARY" if job.host in canaries else "")
        commands[job.host] = shlex.join(slurm.submission(view.sweep, job_of_any))
    return commands


def _time_warnings(view: View) -> list[str]:
    """Return a warning for each kind of job that gets less time than it may take."""
    from orchestrator.cluster import slurm, submit

    if view.sweep.via != "slurm":
        return []
    warnings = slurm.time_warnings(view.sweep, submit.missing_jobs(view), view.nodes)
    return [f"{_fold(hosts)}: {text}" for text, hosts in warnings.items()]


def status(path: Path, form: str) -> int:
    """Print the state of each host; return the exit status."""
    from orchestrator.cluster import folder, submit

    sweep = folder.read(path)
    view = submit.look(sweep, submit.engine_of(sweep, patient=False))
    _print(view, form, tickets=True)
    if folder.is_copy(sweep):
        _warn(f"this is a copy: the jobs write to {sweep.was}")
    elif sweep.was:
        _warn(f"this was {sweep.was}: continue here with pinsweep run -o {sweep.folder}")
    return view.exit_status


def _print(view: View, form: str, *, quiet: tuple[str, ...] = (), tickets: bool = False) -> None:
    """Print a row per state and reason, or JSON."""
    if form == "json":
        from reports.text.json_text import json_text

        data(json_text(_as_json(view)))
        return
    from reports.health.hosts import document

    answer(document(view, quiet=quiet, tickets=tickets))
    if any(state.retry for state in view.states):
        say_prose(f"Run again what failed: pinsweep run -o {view.sweep.folder} --retry-failed", err=True)
    if view.problem:
        _warn(f"running jobs are not known: {view.problem}")


def _as_json(view: View) -> dict[str, Any]:
    return {
        "id": view.sweep.id,
        "folder": view.sweep.folder,
        "exit_status": view.exit_status,
        "problem": view.problem,
        "hosts": {
            state.host: {
                "state": state.word,
                "reason": state.reason,
                "done": state.done,
                "runs": state.total,
                "disturbed": view.results[state.host].disturbed if state.host in view.results else 0,
                "job": state.job,
            }
            for state in view.states
        },
        "differences": [
            {"hosts": list(d.hosts), "what": d.what, "here": d.here, "others": d.others} for d in view.differences
        ],
    }


def _count(hosts: list[str]) -> str:
    from reports.text.format import plural

    return plural(len(hosts), "host")


def _fold(hosts: Iterable[str]) -> str:
    from reports.text.hostlist import folded

    return folded(hosts)
