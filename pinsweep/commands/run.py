"""`pinsweep run`"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pinsweep import __version__
from pinsweep.commands import _cluster, _loaded, _options
from pinsweep.events import Events, emitted
from pinsweep.progress import SweepProgress
from pinsweep.terminal import answer, data, say

if TYPE_CHECKING:
    from orchestrator.plan.prepare import Prepared
    from orchestrator.run.events import Event
    from orchestrator.run.session import Finished


@click.command(
    short_help="Run every cell of experiments into one result file.",
    epilog="Example: pinsweep run experiments/stream-membind.yaml -o node07.db",
)
@_options.experiments_or_none
@click.option(
    "-o", "--output", type=_options.RESULT_FILE, metavar="FILE|FOLDER/",
    help="Write or continue this result file. In a folder: EXPERIMENT@HOST.db. [default: EXPERIMENT@HOST-UTC.db]",
)  # fmt: skip
@_options.table_or_json
@click.option(
    "--events", type=click.Choice(["ndjson"]),
    help="Print events to standard output, one JSON object per line (`pinsweep schema run-events`).",
)  # fmt: skip
@click.option(
    "--events-to", type=_options.OUTPUT, metavar="FILE", help="With --events: write to this file or FIFO."
)  # fmt: skip
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Print only problems.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    metavar="INTEGER",
    help="Set the seed of the order of the runs. [default: the seed of the file, or a new one]",
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
@click.option(
    "--home", type=_options.FILE, metavar="FILE",
    help="Send the results of a job of --nodes to FILE between runs, at most every 30 s.",
)  # fmt: skip
@_cluster.options(_cluster.run, run=True)
def command(
    experiments: tuple[Path, ...], output: Path | None, form: str, events: str | None, events_to: Path | None,
    quiet: bool, seed: int | None, retry_failed: bool, allow_misplaced: bool, allow_disturbed: bool,
    share_machine: bool, whole_node: bool, tune: bool, drop_caches: bool, scratch: Path | None,
    allow_write: tuple[str, ...], strict: bool, only: tuple[str, ...], cells: tuple[str, ...],
    repeats: int | str | None, no_warm_up: bool, unpinned: bool, as_new: bool, home: Path | None,
) -> int:  # fmt: skip
    """Run every cell of EXPERIMENT... into one result file.

    pinsweep waits for other sweeps on the same cores. Ctrl-C stops. The same command with the same -o continues.

    Exit status: 0 every run is ok or disturbed. 1 a run failed, no cell can run here, or the file cannot be
    written. 2 a mistake or a refusal, nothing was started. 3 --whole-node on a part of the machine. 130 stopped.
    """
    if events_to and not events:
        raise click.UsageError("--events-to says where --events ndjson go")
    if events and form == "json" and not events_to:
        raise click.UsageError("--events and --format json both write to standard output: name a file with --events-to")
    output = _options.result_file(output, experiments)
    if events_to:
        _refuse_events_to(events_to, output, experiments)
    with emitted(bool(events), events_to) as emit, _home(output, home) as send, _early_stop(emit) as begin:
        from orchestrator.plan.prepare import PlanOptions
        from orchestrator.run.outcome import Rules
        from orchestrator.run.session import run_experiments

        progress = SweepProgress(quiet=quiet)

        def on_event(event: Event) -> None:
            progress(event)
            emit(event)
            begin(event, quiet)
            send(event)

        finished = run_experiments(
            experiments,
            PlanOptions(
                output=output,
                scratch=scratch,
                allow_write=allow_write,
                strict=strict,
                only=only,
                unpinned=unpinned,
                as_new=as_new,
                cells=cells,
                repeats=repeats,
                warm_up=not no_warm_up,
            ),
            version=__version__,
            argv=sys.argv[1:],
            seed=seed,
            rules=Rules(retry_failed=retry_failed, allow_misplaced=allow_misplaced, allow_disturbed=allow_disturbed),
            share_machine=share_machine,
            tune=tune,
            drop_caches=drop_caches,
            whole_node=whole_node,
            keep_reasons=home is not None,
            leading=_options.standing,
            on_event=on_event,
        )
        status = _status(finished)
        if emit.wanted:
            from reports.export.events import done

            emit.write([done(_made(finished), finished.summary, status)])
    if form == "json":
        _print(finished, status)
    _end(finished, click.get_current_context(), home, quiet)
    return status


def _refuse_events_to(file: Path, output: Path | None, experiments: tuple[Path, ...]) -> None:
    """Raise UserError where the file of events would replace a result file, this sweep's own too, or an
    experiment."""
    from parsers.errors import UserError
    from reports.results.write import refuse_output

    hint = "name another file with --events-to"
    refuse_output(file, experiments, hint=hint)
    if output is not None and os.path.realpath(file) == os.path.realpath(output):
        raise UserError(str(file), "is to be the result file", hint)


@contextlib.contextmanager
def _home(output: Path | None, home: Path | None) -> Iterator[Callable[[Event], None]]:
    """Yield what sends the results home after a run, on a host of a job with many."""
    if output is None or home is None:
        yield lambda _: None
        return
    from orchestrator.cluster.home import Home

    with Home(output, home, functools.partial(say, fg="yellow", err=True)) as send:
        yield send


@contextlib.contextmanager
def _early_stop(events: Events) -> Iterator[Callable[[Event, bool], None]]:
    """Say that nothing was started if Ctrl-C comes before the first run. Yields what notes the begin, and prints what is known then."""
    begun = False

    def begin(event: Event, quiet: bool) -> None:
        nonlocal begun
        from orchestrator.run.events import Begun

        if isinstance(event, Begun):
            begun = True
            _begin(event.path, event.prepared, quiet, events)
            _loaded.all_that_a_sweep_uses()

    try:
        yield begin
    except KeyboardInterrupt:
        if begun:
            raise
        say("stopped; nothing was started", err=True)
        if events.wanted:
            from reports.export.events import done

            events.write([done(None, None, 130)])
        raise click.exceptions.Exit(130) from None


def _begin(path: Path, prepared: Prepared, quiet: bool, events: Events) -> None:
    plan, machine = prepared.plan, prepared.machine
    if not quiet:
        _options.left_out(plan)
    _options.devices(plan)
    if quiet and not events.wanted:
        return
    from orchestrator.run import preflight
    from reports.export.events import planned

    topology, kept = machine.site.topology, machine.kept_cores
    noise = preflight.glance(plan.runs, topology, prepared.scratch, kept=kept) if plan.runs else ()
    if events.wanted:
        events.write([planned(path, plan, noise)])
    if not quiet:
        for finding in noise:
            say(preflight.describe(finding), fg="yellow", err=True)
        if plan.runs:
            say(f"result file  {path}", err=True)


def _status(finished: Finished) -> int:
    """Return the exit status."""
    if not finished.prepared.plan.runs:
        return 1
    if finished.summary.stopped:
        return 130
    return 1 if finished.summary.failed else 0


def _made(finished: Finished) -> Path | None:
    """Return the result file; None where no cell could run, and none was made for that."""
    return finished.path if finished.prepared.plan.runs or finished.path.exists() else None


def _print(finished: Finished, status: int) -> None:
    """Print what was done, for programs."""
    from reports.checks.audit import audit
    from reports.export.record import of_sweep
    from reports.results.load import load
    from reports.text.json_text import json_text

    plan = finished.prepared.plan
    results = load([finished.path]) if plan.runs and finished.path.exists() else None
    findings = audit(results) if results else ()
    data(json_text(of_sweep(_made(finished), plan, finished.summary, status, results, findings)))


def _again(path: Path, call: click.Context, home: Path | None) -> str:
    """Return what goes on with a sweep that was stopped. Of a host of many it is what goes on with all of them."""
    import shlex

    if home is not None:
        from orchestrator.cluster import folder

        if folder.is_sweep(home.parent):
            sweep = folder.read(home.parent)
            return shlex.join(["run", "-o", sweep.was or sweep.folder])
    form = None if call.params["form"] == "table" else "json"
    return shlex.join(_options.typed(call, output=path, form=form))


def _end(finished: Finished, call: click.Context, home: Path | None, quiet: bool) -> None:
    """Print what was done and what to do next. `home`: where the file will be."""
    import shlex

    summary, plan = finished.summary, finished.prepared.plan
    if summary.scratch_left:
        say(f"scratch folder cannot be removed: {finished.prepared.scratch}", fg="yellow", err=True)
    if not plan.runs:
        if quiet:
            _options.left_out(plan)
        _options.nothing_can_run()
        if not finished.path.exists():
            say("no result file was made", err=True)
        return
    if quiet and not summary.stopped:
        if summary.failed_before:
            say(f"{summary.failed_before} failed before; --retry-failed starts them again", err=True)
        elif not summary.counts:
            say("nothing to do: all runs were done before", err=True)
        return
    counts = [f"{number} {status}" for status, number in sorted(summary.counts.items())] or ["nothing to do"]
    others = {
        "retried": summary.repeated - len(summary.unrepeated),
        "still to retry": len(summary.unrepeated),
        "done before": summary.done_before,
    }
    if summary.stopped and not summary.counts:
        counts = ["no run was finished"]
    say(", ".join([*counts, *(f"{number} {what}" for what, number in others.items() if number)]), err=True)
    disturbed = 0 if summary.stopped else summary.counts["disturbed"] + summary.disturbed_before
    if disturbed:
        runs = "1 run was" if disturbed == 1 else f"{disturbed} runs were"
        text = f"{runs} disturbed. A cell without a quiet run uses its least disturbed runs (D1)."
        if summary.shared:
            text = f"This machine is shared: others use about {summary.shared:.0%} of one CPU during a run. {text}"
        say(text, fg="yellow", err=True)
    if summary.stopped:
        say(f"stopped; to continue: pinsweep {_again(finished.path, call, home)}", err=True)
        return
    if summary.failed_before:
        say(f"{summary.failed_before} failed before; --retry-failed starts them again", err=True)
    from reports import show
    from reports.checks import audit
    from reports.results.load import load

    results = load([finished.path])
    findings = audit.audit(results)
    answer(show.ending(results, findings), err=True)
    if os.environ.get("PINSWEEP_NO_NEXT"):  # set by quickstart.sh, which makes the page itself
        return
    name = shlex.quote(str(home or finished.path))
    say(f"numbers   pinsweep show {name}", err=True)
    say(f"report    pinsweep report {name} -o report.html", err=True)
    if audit.flag_counts(findings):
        say(f"explain   pinsweep audit {name}", err=True)
