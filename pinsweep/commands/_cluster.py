"""Sweeps of many hosts: what `run`, `plan` and `status` share of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from pinsweep import __version__
from pinsweep.commands import _options
from pinsweep.terminal import say, say_lines, say_prose

if TYPE_CHECKING:
    from orchestrator.cluster.begin import Wanted
    from orchestrator.cluster.submit import View


class Asked(NamedTuple):
    """The options of a sweep of many hosts."""

    nodes: str | None
    via: str | None
    sbatch: str | None
    setup: str | None
    local: str | None
    at_once: int | None
    canary: bool
    wait: bool


_OF_SWEEP = (
    click.option("--nodes", metavar="NODESET", help="Run on these hosts, each by a job of its own, into the folder -o DIR/ that they share."),
    click.option("--via", type=click.Choice(["slurm", "ssh"]), help="Who starts the jobs of --nodes. [default: slurm where sbatch is]"),
    click.option("--sbatch", metavar="WORDS", help="Options of sbatch for every job: '-p main -A acct -C icelake'."),
    click.option("--setup", metavar="SHELL", help="Lines of bash before the sweep on each host: 'module load impi'."),
    click.option("--local", metavar="DIR", help="A folder on a disk of each host, for results and scratch files. [default: $TMPDIR, /tmp]"),
    click.option("--at-once", type=click.IntRange(1, 1000), metavar="K", help="At most so many hosts at a time."),
    click.option("--canary", is_flag=True, help="One host of each CPU kind first; the others of it only if that ends well."),
)  # fmt: skip
_OF_RUN = (
    click.option("--wait", is_flag=True, help="With --nodes or DIR/: stay until all jobs have ended."),
)
_NAMES = ("nodes", "via", "sbatch", "setup", "local", "at_once", "canary", "wait")


def options(begin: Callable[..., Any], *, run: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options of sweeps of many hosts to a command. `begin` is called in its place where one is asked for: with
    (Asked, experiments, output, the command's other values)."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def dispatched(**values: Any) -> Any:  # noqa: ANN401 (click's own)
            asked = Asked(**{name: values.pop(name, None) for name in _NAMES[:6]}, canary=values.pop("canary"), wait=values.pop("wait", False))  # fmt: skip
            if asked.nodes is not None or _is_sweep(values.get("output")):
                return begin(asked, values)
            for name in _NAMES[1:]:
                if getattr(asked, name):
                    raise click.UsageError(
                        f"--{name.replace('_', '-')} goes with --nodes, or with the folder of such a sweep"
                    )
            if not values["experiments"]:
                call = click.get_current_context()
                raise click.MissingParameter(ctx=call, param=call.command.params[0])
            return command(**values)

        for option in reversed(_OF_SWEEP + (_OF_RUN if run else ())):
            dispatched = option(dispatched)
        return dispatched

    return decorate


def _is_sweep(output: Path | None) -> bool:
    if output is None or not output.is_dir():
        return False
    from orchestrator.cluster.folder import is_sweep

    return is_sweep(output)


# --- run -----------------------------------------------------------------------------------------------


def run(asked: Asked, values: dict[str, Any]) -> int:
    """Begin a sweep of many hosts, or go on with one: only what is missing, where it is missing."""
    from orchestrator.cluster import begin, folder, submit
    from orchestrator.cluster.script import job_script
    from parsers.errors import UserError

    output = values["output"]
    if values["events"]:
        raise UserError("--events", "are of a sweep on this host", "pinsweep status DIR --format json")
    if output is None:
        raise UserError("-o", "a sweep of many hosts needs a folder that they share", "-o DIR/")
    wanted = _wanted(asked, values)
    if folder.is_sweep(output):
        before = folder.read(output)
        begin.refuse_other(before, wanted)
        sweep = begin.going_on(before, wanted)
        engine = submit.engine_of(sweep, _waiting)
        if told := begin.change(before, sweep, engine):
            say(f"job.sh is written anew: goes on {told}", err=True)
    else:
        sweep, texts = begin.described(wanted, lambda new: submit.engine_of(new, _waiting))
        folder.make(sweep, texts, job_script(sweep))
        engine = submit.engine_of(sweep, _waiting)
    tried, taken, _ = submit.advance(sweep, engine, retry_failed=values.get("retry_failed", False))
    if tried:
        say(
            f"{_hosts(len(taken))} submitted to {sweep.via}: {_folded(taken)}"
            if taken
            else "no host got a job",
            err=True,
        )
    if asked.wait:
        view = submit.waited(sweep, engine)
        _answer(view, values["form"])
        return view.exit_status
    view = submit.look(sweep, engine)
    _answer(view, values["form"])
    say(f"see  pinsweep status {sweep.folder}", err=True)
    return view.exit_status_of_run


def _waiting(text: str) -> None:
    from reports.text.plain import printable

    say(printable(text), fg="yellow", err=True)


def _wanted(asked: Asked, values: dict[str, Any]) -> Wanted:
    from orchestrator.cluster.begin import Wanted
    from orchestrator.plan.prepare import PlanOptions

    options = PlanOptions(
        only=values["only"], cells=values["cells"], repeats=values["repeats"], warm_up=not values["no_warm_up"], topology="pack:1 core:1 pu:1"
    )  # fmt: skip
    return Wanted(
        version=__version__, experiments=values["experiments"], output=values["output"], nodes=asked.nodes,
        via=asked.via,  # type: ignore[arg-type] # of click.Choice
        sbatch=asked.sbatch, setup=asked.setup, local=asked.local or "", at_once=asked.at_once or 0, canary=asked.canary,
        words=_words(), plan=options,
    )  # fmt: skip


def _words() -> tuple[str, ...]:
    """Return the options for `pinsweep run` on each host: those that were given here, but for what is about the hosts."""
    call = click.get_current_context()
    here = dict.fromkeys(
        ("experiments", "output", "home", "whole_node", "retry_failed", "form", "topology", *_NAMES)
    )
    return tuple(_options.typed(call, **here)[1:])


# --- plan ----------------------------------------------------------------------------------------------


def plan(asked: Asked, values: dict[str, Any]) -> None:
    """Print the job and the submissions; write nothing."""
    from orchestrator.cluster import begin, folder, submit
    from orchestrator.cluster.script import job_script

    engine_of = functools.partial(submit.engine_of, patient=False)
    wanted = _wanted(asked, values)
    if folder.is_sweep(values["output"]):
        before = folder.read(values["output"])
        begin.refuse_other(before, wanted)
        sweep = begin.going_on(before, wanted)
    else:
        sweep, _ = begin.described(wanted, engine_of)
    view = submit.look(sweep, engine_of(sweep), patient=True)
    if values["form"] == "json":
        from pinsweep.terminal import data
        from reports.text.json_text import json_text

        told = {
            "job": job_script(sweep), "submissions": _submissions(view), "limits_min": sweep.limits_min,
            "warnings": _short_of_time(view),
        }  # fmt: skip
        data(json_text({**told, **_as_json(view)}))
        return
    if lines := _submissions(view):
        say_lines((line, False) for line in ["# job.sh", *job_script(sweep).splitlines(), ""])
        _say_submissions(lines)
    for kind, minutes in sweep.limits_min.items():
        number = sum(host.kind == kind for host in view.nodes.values())
        say(f"-t  {minutes} min  {_hosts(number)} of {kind}", err=True)
    for warning in _short_of_time(view):
        say(f"warning  {warning}", fg="yellow", err=True)
    _show(view, quiet=("not submitted",))


def _submissions(view: View) -> dict[str, str]:
    """Return host → the command that submits its job, with HOST in the place of its name."""
    import dataclasses
    import shlex

    from orchestrator.cluster import submit
    from orchestrator.cluster.slurm import submission

    todo = submit.wanted(view)
    _, first = submit.canaries(view, todo) if view.sweep.canary else ({}, [])
    lines: dict[str, str] = {}
    for one in todo:
        if view.sweep.via == "ssh":
            lines[one.host] = f"ssh HOST bash {shlex.quote(view.sweep.folder)}/job.sh"
            continue
        later = "" if not view.sweep.canary or one.host in first else "CANARY"
        words = submission(view.sweep, dataclasses.replace(one, after=later))
        lines[one.host] = (
            shlex.join(words).replace(f"-w {one.host} ", "-w HOST ").replace(f"/{one.host}.%j", "/HOST.%j")
        )
    return lines


def _short_of_time(view: View) -> list[str]:
    """Return a sentence for jobs of Slurm that are given less time than they may take, with their hosts."""
    from orchestrator.cluster import limits, slurm, submit

    if view.sweep.via != "slurm":
        return []
    short = limits.short(
        submit.wanted(view), view.nodes, view.sweep, functools.partial(slurm.asked_min, view.sweep)
    )
    return [f"{_folded(hosts)}: {why.text}" for why, hosts in short.items()]


def _say_submissions(lines: Mapping[str, str]) -> None:
    """Print the commands that submit the jobs (host → its own), hosts of one command together."""
    from orchestrator.cluster import slurm_text

    for line, hosts in slurm_text.folded_lines(lines).items():
        say(f"# HOST: {_folded(hosts)}")
        say(line)


# --- status --------------------------------------------------------------------------------------------


def status(path: Path, form: str) -> int:
    """Print what became of each host; return the exit status."""
    from orchestrator.cluster import folder, submit

    sweep = folder.read(path)
    view = submit.look(sweep, submit.engine_of(sweep, patient=False))
    _answer(view, form, tickets=True)
    if sweep.was:
        told = (
            f"this is a copy of {sweep.was}, where the sweep is and its jobs bring their results"
            if folder.is_copy(sweep)
            else f"this was {sweep.was} when its jobs were submitted; pinsweep run -o {sweep.folder} goes on here"
        )
        say(told, fg="yellow", err=True)
    return view.exit_status


def _answer(view: View, form: str, *, tickets: bool = False) -> None:
    """Print a row per state, or all of it for programs."""
    if form != "json":
        _show(view, tickets=tickets)
        return
    from pinsweep.terminal import data
    from reports.text.json_text import json_text

    data(json_text(_as_json(view)))


def _as_json(view: View) -> dict[str, Any]:
    return {
        "id": view.sweep.id,
        "folder": view.sweep.folder,
        "exit_status": view.exit_status,
        "problem": view.problem,
        "hosts": {
            one.host: {
                "state": one.word,
                "reason": one.reason,
                "done": one.done,
                "runs": one.total,
                "disturbed": view.kept[one.host].disturbed if one.host in view.kept else 0,
                "job": one.job,
            }
            for one in view.states
        },
        "differences": [
            {"hosts": list(d.hosts), "what": d.what, "here": d.here, "others": d.others}
            for d in view.differences
        ],
    }


def _show(view: View, quiet: Sequence[str] = (), *, tickets: bool = False) -> None:
    """Print a row per state and reason, and what is not known."""
    from pinsweep.terminal import answer
    from reports.health.hosts import document
    from reports.text.plain import printable

    answer(document(view, quiet=quiet, tickets=tickets))
    if any(one.retry for one in view.states):
        say_prose(f"Run again what failed: pinsweep run -o {view.sweep.folder} --retry-failed", err=True)
    if view.problem:
        say_prose(f"What runs now is not known: {printable(view.problem)}", fg="yellow", err=True)


def _hosts(number: int) -> str:
    from reports.text.format import plural

    return plural(number, "host")


def _folded(hosts: Any) -> str:  # noqa: ANN401 (of names)
    from reports.text.hostlist import folded

    return folded(hosts)
