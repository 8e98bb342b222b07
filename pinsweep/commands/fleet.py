"""`pinsweep fleet`"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from pinsweep import complete, progress
from pinsweep.commands import _options
from pinsweep.terminal import data, say, say_prose, screen, tell

if TYPE_CHECKING:
    from orchestrator.cluster.folder import Sweep, Via
    from reports.fleet.confirm import Way
    from reports.fleet.outliers import Report
    from reports.results.model import Results

_LEAST = 0.03


_AGE_S: Final = {"h": 3600.0, "d": 86400.0, "w": 604800.0}


def _age(text: str) -> float:
    """Read how long ago, in s: 7d, 12h, 2w."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([hdw])", text)
    if found is None or not float(found[1]):
        raise click.BadParameter(f"{text!r} is no age: 7d, 12h or 2w")
    return float(found[1]) * _AGE_S[found[2]]


@click.command(
    short_help="Say which of many hosts are slow, and in what.",
    epilog="Example: pinsweep fleet results/ --confirm; pinsweep fleet 'results/*.db' -o fleet.html",
)
@_options.results
@_options.table_or_json
@click.option(
    "-o", "--output", type=_options.OUTPUT, metavar="FILE", help="Also write a page: a strip per number."
)
@click.option(
    "--rules", type=_options.FILE, metavar="YAML", help="Floors and tolerances of your own: docs/fleet.md."
)
@click.option(
    "--baseline",
    metavar="NAME|FILE",
    shell_complete=complete.sides,
    help="Compare with these sessions of good hosts, not with each other; what fewer than 8 hosts of a kind need.",
)
@click.option(
    "--threshold",
    type=_options.percent,
    metavar="PERCENT",
    default=f"{_LEAST:.0%}",
    help=f"Less worse than this is not slow. [default: {_LEAST:.0%}]",
)
@click.option(
    "--nodes",
    metavar="NODESET",
    help="Hosts that should have a result, as in n[001-200]: those without one are named.",
)
@click.option(
    "--due",
    type=_age,
    metavar="AGE",
    help="Hosts whose last session is older are named: 7d, 12h, 2w.",
)
@click.option(
    "--switches",
    type=_options.FILE,
    metavar="FILE",
    help="What `scontrol show topology` prints, or lines `rack3: node[001-040]`: suspects that share one are said to.",
)
@click.option(
    "--openmetrics",
    "metrics",
    type=_options.OUTPUT,
    metavar="FILE",
    help="Also write the verdicts for Prometheus: docs/openmetrics.md.",
)
@click.option(
    "--confirm",
    is_flag=True,
    help="Print the commands that measure what is suspicious again, beside good hosts.",
)
@click.option(
    "--via",
    type=click.Choice(["slurm", "ssh"]),
    help="How the commands of --confirm reach the hosts. [default: as the sweep did, else slurm where sbatch is]",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="List each odd host with all its numbers, and all gaps; else a line for hosts that are odd alike, or 5 numbers of each, of 30, and 20 gaps.",
)
@click.option(
    "--fail-on",
    metavar="WORDS",
    help="Exit with status 1 if there is one of these, too: suspicious, not-judged; several with commas.",
)
@click.option("--static", is_flag=True, help="Leave the script out of the page.")
def command(
    results: tuple[Path, ...],
    form: str,
    output: Path | None,
    rules: Path | None,
    baseline: str | None,
    threshold: float,
    nodes: str | None,
    due: float | None,
    switches: Path | None,
    metrics: Path | None,
    confirm: bool,
    via: Via | None,
    everything: bool,
    fail_on: str | None,
    static: bool,
) -> int:
    """Say which of the hosts that RESULT... (files, folders, globs) come from are slow, and in what.

    Hosts of equal hardware are compared with each other. Suspicious is, in one session or two, who is 3 % worse than the
    median of the hosts in a number, or beyond their spread (z above 2.5) and 1.5 % worse. Slow is who is 3 % worse, and by
    more than chance makes, in each of three sessions: --confirm prints how to get them. Fast is who is as much better. The
    worst hosts stand first. Exit status 1 if a host is slow, if one half of the hosts is slower than the other, or if something is missing: a
    host's file, or runs of it.
    """
    import shlex

    from orchestrator.cluster.nodeset import expand
    from reports.fleet import limits as site_rules
    from reports.fleet import outliers, swept
    from reports.fleet import text as fleet_text
    from reports.numbers.series import what_helps
    from reports.results import baselines
    from reports.results.load import load
    from reports.results.paths import result_files
    from reports.results.write import refuse_output
    from reports.text.plain import printable

    also = _options.words("--fail-on", fail_on, outliers.ALSO)
    paths = sorted(result_files(results))
    good = [] if baseline is None else baselines.resolve_any(baseline)
    for target in filter(None, (output, metrics)):
        refuse_output(target, [*paths, *good, *([rules] if rules else [])])
    judged = functools.partial(
        outliers.build,
        rules=site_rules.load(rules) if rules else (),
        baseline=load(good, watched=progress.files) if good else None,
        threshold=threshold,
    )
    wanted = expand(nodes) if nodes is not None else swept.hosts(results)
    places = _read_switches(switches) if switches is not None else {}
    unreadable: list[tuple[str, str]] = []
    loaded = load(paths, watched=progress.files, unreadable=unreadable)
    with progress.doing("judging the hosts"):
        report = judged(loaded, wanted=wanted, unreadable=unreadable)
    before = _before(paths, judged)
    report = _with_site(report, due, places)
    sweep = swept.sweep_of(results)
    if form == "json":
        data(fleet_text.as_json(report))
    else:
        where = screen()
        tell(fleet_text.as_text(report, everything=everything, screen=where), where)
        _say_more(report, sweep, before)
    if any(own.left_out for own in report.lacks.values()):
        say_prose(f"hint: {what_helps(loaded)}", err=True)
    if output is not None:
        _write_page(report, loaded, paths, output, static)
    if metrics is not None:
        _write_metrics(report, metrics)
    own = {
        "--baseline": baseline and _absolute(baseline),
        "--rules": rules and rules.absolute(),
        "--nodes": nodes,
        "--switches": switches and switches.absolute(),
        "--threshold": f"{threshold * 100:g}%" if threshold != _LEAST else None,
    }
    options = [word for name, value in own.items() if value for word in (name, str(value))]
    if confirm:
        _say_how_to_confirm(report, results, options, swept.way(results, sweep, via, report), form)
    elif report.rerun and not report.chance.too_many:  # else a warning says what helps more
        again = ["pinsweep", "fleet", *map(str, results), *options, "--confirm"]
        say(f"to confirm: {printable(shlex.join(again))}", err=True)
    return 1 if report.fails(also) else 0


def _before(paths: Sequence[Path], judged: Callable[[Results], Report]) -> Report | None:
    """Return what the first sessions alone say of the hosts, where some were measured again to confirm it."""
    from reports.fleet.confirm import is_first
    from reports.results.load import load

    firsts = [path for path in paths if is_first(path)]
    if not firsts or len(firsts) == len(paths):
        return None
    return judged(load(firsts, watched=progress.files, unreadable=[]))


def _with_site(report: Report, due: float | None, places: Mapping[str, tuple[str, ...]]) -> Report:
    """Add who has not been measured for so many seconds, and what suspects share. places: switch → its hosts."""
    from dataclasses import replace

    from reports.fleet.gaps import overdue
    from reports.fleet.shared import of_report

    if due is not None:
        now = time.time()
        report = replace(report, gaps=(*report.gaps, *overdue(report.screened, before=now - due, now=now)))
    return replace(report, warnings=(*report.warnings, *of_report(report, places))) if places else report


def _write_page(report: Report, loaded: Results, paths: Sequence[Path], output: Path, static: bool) -> None:
    from reports.fleet.page import render_fleet
    from reports.text import format as fmt

    title = ", ".join(dict.fromkeys(e.title for e in loaded.experiments)) or "Fleet"
    with progress.doing("drawing the page"):
        render_fleet(
            report, paths, output, title=f"{title}: {fmt.plural(len(report.statuses), 'host')}", static=static
        )
    say(f"page  {output}", err=True)


def _write_metrics(report: Report, path: Path) -> None:
    from reports.fleet import metrics
    from reports.results.write import write_whole

    write_whole(path, metrics.text(report))
    say(f"metrics  {path}", err=True)


def _say_how_to_confirm(
    report: Report, results: Sequence[Path], options: Sequence[str], way: Way, form: str
) -> None:
    from reports.fleet.confirm import commands

    text = commands(report, [*(str(path.absolute()) for path in results), *options], way)
    for line in f"\n{text}".split("\n") if text else ["nothing is suspicious: nothing to confirm"]:
        say(line, err=form == "json")


def _say_more(report: Report, sweep: Sweep | None, before: Report | None) -> None:
    """Say who is ok at another try, and what an admin of Slurm may type about slow hosts."""
    from reports.fleet import confirm as confirming

    if before is not None and (well := confirming.recovered(before, report)):
        say(f"\n{well}")
    if sweep is not None and sweep.via == "slurm" and (lines := confirming.tickets(report)):
        say("\n# for who may drain them; nothing was done:")
        for line in lines:
            say(line)


def _absolute(baseline: str) -> str:
    return str(Path(baseline).absolute()) if Path(baseline).exists() else baseline


def _read_switches(path: Path) -> dict[str, tuple[str, ...]]:
    from orchestrator.cluster import switches
    from orchestrator.machine import safe_files
    from parsers.errors import UserError

    try:
        text = safe_files.read_named(path, 16 << 20).decode("utf-8", errors="replace")
    except OSError as error:
        raise UserError(
            "--switches", f"{path}: {error.strerror}", "`scontrol show topology > FILE`"
        ) from None
    return switches.read(text, str(path))
