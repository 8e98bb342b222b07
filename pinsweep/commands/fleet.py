"""`pinsweep fleet`"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from pinsweep import complete, progress
from pinsweep.commands import _options
from pinsweep.terminal import answer, data, say

if TYPE_CHECKING:
    from reports.results.load import Include

_LEAST = 0.03

_AGE_S: Final = {"h": 3600.0, "d": 86400.0, "w": 604800.0}


def _age(text: str) -> float:
    """Read how long ago, in s: 7d, 12h, 2w."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?([hdw])", text)
    if match is None or not float(match[1]):
        raise click.BadParameter(f"{text!r} is not an age like 7d, 12h or 2w")
    return float(match[1]) * _AGE_S[match[2]]


@click.command(
    short_help="List slow hosts of many.",
    epilog="Example: pinsweep fleet results/; pinsweep fleet 'results/*.db' -o fleet.html",
)
@_options.results
@_options.table_or_json
@click.option("-o", "--output", type=_options.OUTPUT, metavar="FILE", help="Also write a page with a map of all hosts.")
@click.option("--rules", type=_options.FILE, metavar="YAML", help="Use your own floors and tolerances (docs/fleet.md).")
@click.option(
    "--baseline",
    metavar="NAME|FILE",
    shell_complete=complete.sides,
    help="Compare with sessions of good hosts. Required for fewer than 8 hosts.",
)
@click.option(
    "--threshold",
    type=_options.percent,
    metavar="PERCENT",
    default=f"{_LEAST:.0%}",
    help=f"Ignore smaller differences. [default: {_LEAST:.0%}]",
)
@click.option(
    "--nodes",
    metavar="NODESET",
    help="List hosts without a result, of these: n[001-200].",
)
@click.option(
    "--due",
    type=_age,
    metavar="AGE",
    help="List hosts with an older last session: 7d, 12h, 2w.",
)
@click.option(
    "--switches",
    type=_options.FILE,
    metavar="FILE",
    help="List switches with many slow hosts, from `scontrol show topology` or lines `rack3: node[001-040]`.",
)
@click.option(
    "--openmetrics",
    "metrics",
    type=_options.OUTPUT,
    metavar="FILE",
    help="Also write the verdicts for Prometheus (docs/openmetrics.md).",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="List all outliers of all hosts that are not ok.",
)
@click.option(
    "--fail-on",
    metavar="WORDS",
    help="Also exit with status 1 for these, with commas: suspicious, not-judged.",
)
@_options.only_quiet
@click.option("--static", is_flag=True, help="Write the page without scripts.")
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
    everything: bool,
    include: Include,
    fail_on: str | None,
    static: bool,
) -> int:
    """List slow hosts of RESULT... (files, folders, globs), the worst first.

    Hosts of equal hardware are compared with each other. A host is suspicious if it is 3 % worse than the median in one
    or two sessions, and slow if it is in three. The worst hosts come first. Exit status 1: a host is slow, one half of
    the hosts is slower than the other, or something is missing.
    """
    from dataclasses import replace

    from orchestrator.cluster import folder
    from orchestrator.cluster.nodeset import expand
    from reports.fleet import limits
    from reports.fleet.again import drain_command, rerun_command
    from reports.fleet.answer import as_json, as_metrics
    from reports.fleet.document import document
    from reports.fleet.judge import FAIL_ON, judge
    from reports.fleet.shared import warn_shared
    from reports.results import baselines
    from reports.results.load import load
    from reports.results.paths import result_files
    from reports.results.write import refuse_output, write_whole
    from reports.text import format as fmt

    also = _options.words("--fail-on", fail_on, FAIL_ON)
    paths = sorted(result_files(results))
    past = [] if baseline is None else baselines.resolve_any(baseline)
    for target in filter(None, (output, metrics)):
        refuse_output(target, [*paths, *past, *([rules] if rules else [])])
    site_rules = limits.load(rules) if rules else ()
    places = _read_switches(switches) if switches else {}
    sweeps = [folder.read(path) for path in results if folder.is_sweep(path)]
    expected = (
        expand(nodes) if nodes is not None else tuple(dict.fromkeys(host for sweep in sweeps for host in sweep.hosts))
    )
    unreadable: list[tuple[str, str]] = []
    loaded = load(paths, include=include, watched=progress.files, unreadable=unreadable)
    now = time.time()
    with progress.doing("judging the hosts"):
        fleet = judge(
            loaded, baseline=load(past, watched=progress.files) if past else None, rules=site_rules, threshold=threshold,
            expected=expected, unreadable=unreadable, due=None if due is None else (now - due, now),
        )  # fmt: skip
    fleet = replace(fleet, warnings=(*fleet.warnings, *warn_shared(fleet, places)))
    title = ", ".join(dict.fromkeys(e.title for e in loaded.experiments)) or "Fleet"
    title = f"{title}: {fmt.plural(len(fleet.hosts), 'host')}"
    sweep = sweeps[0] if len(sweeps) == len(results) == 1 else None
    where = results[0] if len(results) == 1 and results[0].is_dir() else Path()
    commands = [rerun_command(fleet, where, sweep)]
    if sweep is not None and sweep.via == "slurm":
        commands.append(drain_command(fleet))
    if form == "json":
        data(as_json(fleet))
    else:
        answer(document(fleet, title=title, next_commands=commands, everything=everything))
    if output is not None:
        from reports.page.document import write_page

        with progress.doing("drawing the page"):
            write_page(document(fleet, title=title, next_commands=commands, page=True), output, static=static)
        say(f"page  {output}", err=True)
    if metrics is not None:
        write_whole(metrics, as_metrics(fleet))
        say(f"metrics  {metrics}", err=True)
    return 1 if fleet.fails(also) else 0


def _read_switches(path: Path) -> dict[str, tuple[str, ...]]:
    from orchestrator.cluster import switches
    from orchestrator.machine import safe_files
    from parsers.errors import UserError

    try:
        text = safe_files.read_named(path, 16 << 20).decode("utf-8", errors="replace")
    except OSError as error:
        raise UserError("--switches", f"{path}: {error.strerror}", "`scontrol show topology > FILE`") from None
    return switches.read(text, str(path))
