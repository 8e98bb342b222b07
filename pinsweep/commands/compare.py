"""`pinsweep compare`"""

from __future__ import annotations

import functools
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from parsers.errors import UserError
from pinsweep import __version__, complete, progress
from pinsweep.commands import _options
from pinsweep.progress import SweepProgress
from pinsweep.terminal import answer, data, require_yes, say, say_prose

if TYPE_CHECKING:
    from reports.compare.comparison import Comparison
    from reports.compare.sides import Sides
    from reports.results.load import Include

_FORMATS = ("table", "json", "markdown", "junit", "github")
_FAILS = ("regressed", "failed", "inconclusive", "unmatched")


@click.command(
    short_help="Compare results: regressed, improved, same or inconclusive.",
    epilog="Example: pinsweep compare before.db after.db --fail-on regressed -o change.html",
)
@click.argument("sides", metavar="[A B]", nargs=-1, shell_complete=complete.sides)
@click.option(
    "-a",
    "--a",
    "more_a",
    multiple=True,
    metavar="WHAT",
    shell_complete=complete.sides,
    help="Add a file, folder, glob or baseline to side A. Repeat for several.",
)
@click.option(
    "-b",
    "--b",
    "more_b",
    multiple=True,
    metavar="WHAT",
    shell_complete=complete.sides,
    help="Add to side B.",
)
@click.option(
    "--by",
    metavar="AXIS[=LEVEL,LEVEL]",
    shell_complete=complete.axes,
    help="Compare two levels of an axis within the files: place=local,remote. Also program, host, relation.",
)
@_options.only
@click.option("--format", "form", type=click.Choice(_FORMATS), default="table", help="[default: table]")
@click.option(
    "-o",
    "--output",
    type=_options.OUTPUT,
    metavar="FILE",
    help="Write a page with figures (.html), or the text.",
)
@click.option(
    "--fail-on",
    metavar="VERDICTS",
    shell_complete=complete.words_of(_FAILS),
    help="Exit with status 1 for these, with commas: regressed (includes failed), failed, inconclusive, unmatched.",
)
@click.option(
    "--threshold",
    "thresholds",
    multiple=True,
    metavar="[METRIC=]PERCENT",
    help="Set the smallest relevant change, also per metric: p99=10%. [default: 3%]",
)
@click.option("--ignore", multiple=True, metavar="OPTION", help="Match cells that differ in this option.")
@click.option(
    "--across-programs",
    is_flag=True,
    help="Compare a tool with its built-in kernel, with a warning.",
)
@click.option("--slo", metavar="TIME", help="Also compare fio's IOPS with a p99 within TIME: 1ms.")
@click.option("--only-changed", is_flag=True, help="List only regressed and improved numbers.")
@click.option("--all", "everything", is_flag=True, help="List every number.")
@click.option("--top", type=click.IntRange(min=0), metavar="N", help="List at most N numbers of each verdict.")
@click.option("--aa", "self_check", is_flag=True, help="Also count false changes within the runs of A.")
@click.option(
    "--confirm",
    "again",
    is_flag=True,
    help="Measure changed cells again, and decide on the new runs.",
)
@click.option(
    "--into",
    type=_options.FILE,
    metavar="DIR",
    help="With --confirm: write new result files to DIR. [default: this folder]",
)
@click.option(
    "--yes",
    is_flag=True,
    help="With --confirm: start the commands of the result files without asking.",
)
@_options.scratch
@_options.allow_write
@_options.allow_disturbed
@_options.tune
@_options.no_warm_up
@_options.include
@click.option("--static", is_flag=True, help="Write the page without scripts.")
@click.pass_context
def command(
    call: click.Context, sides: tuple[str, ...], more_a: tuple[str, ...], more_b: tuple[str, ...], by: str | None, only: tuple[str, ...],
    form: str, output: Path | None, fail_on: str | None, thresholds: tuple[str, ...], ignore: tuple[str, ...],
    across_programs: bool, slo: str | None, only_changed: bool, everything: bool, top: int | None, self_check: bool,
    again: bool, into: Path | None, yes: bool, scratch: Path | None, allow_write: tuple[str, ...], allow_disturbed: bool,
    tune: bool, no_warm_up: bool, include: Include, static: bool,
) -> int:  # fmt: skip
    """Compare B with A. Each number is regressed, improved, same or inconclusive.

    A and B are a result file, a folder, a glob in quotes, or a baseline name. Cells are matched by options and relative
    place, so different machines can be compared. docs/verdicts.md explains the verdicts.
    """
    from reports.compare import formats
    from reports.compare.comparison import Ask, compare
    from reports.compare.document import document, verdict
    from reports.render import terminal
    from reports.results.write import refuse_output, write_whole

    default, named = _thresholds(thresholds)
    ask = Ask(threshold=default, thresholds=named, across_programs=across_programs, ignore=ignore, slo_ns=_slo(slo))
    verdicts = _options.words("--fail-on", fail_on, _FAILS)
    _refuse_idle(
        again,
        {"--into": into, "--yes": yes, "--scratch": scratch, "--allow-write": allow_write, "--tune": tune},
    )
    if output is not None:
        refuse_output(output)
    given = _given(sides, more_a, more_b, by, only, include)
    if output is not None:
        refuse_output(output, given.files)
    with progress.doing("comparing"):
        first = result = compare(given.a, given.b, ask, by=given.by)
    if again:
        from orchestrator.run.outcome import Rules
        from orchestrator.store.limits import lift
        from reports.compare.confirm import confirm

        lift()
        result = confirm(
            result, ask, folder=into or Path(), scratch=scratch, allow_write=allow_write,
            rules=Rules(allow_disturbed=allow_disturbed), version=__version__, argv=sys.argv[1:],
            warm_up=not no_warm_up, tune=tune,
            say=functools.partial(say, err=True), approve=lambda: None if yes else _approve(), on_event=SweepProgress(),
        )  # fmt: skip
    table = document(
        result,
        everything=everything,
        only_changed=only_changed,
        top=top,
        next_commands=_next(call, result, everything),
    )
    page = output is not None and output.suffix.lower() in (".html", ".htm")
    if output is not None and not page:
        text = terminal.render(table) + "\n" if form == "table" else formats.render(result, form)
        write_whole(output, text)
        say(f"wrote  {output}", err=True)
    elif form == "table":
        answer(table)
    else:
        data(formats.render(result, form))
    if output is not None and page:
        from reports.page.document import write_page

        with progress.doing("drawing the page"):
            write_page(document(result, page=True), output, static=static)
        say(f"page  {output}", err=True)
    if form == "github" and (summary := os.environ.get("GITHUB_STEP_SUMMARY")):
        _append(Path(summary), formats.as_markdown(result))
    if form != "table":
        say_prose(verdict(result), err=True)
    if self_check:
        from reports.verdicts.aa import self_check as check

        say_prose(check(first.samples, first.rules).text, err=True)
    if slo is not None and not any(name.metric.startswith("IOPS at p99") for name in result.verdicts["name"]):
        say(f"--slo {slo}: no curve over iodepth has a p99 below and above it on both sides", err=True)
    if verdicts and result.verdicts.empty:
        say("nothing was compared: that is a failure with --fail-on", err=True)
        return 1
    return 1 if result.fails(verdicts) else 0


_NOT_NEXT = (
    "output", "static", "fail_on", "top", "only_changed", "self_check", "again", "into", "yes", "scratch", "allow_write",
    "allow_disturbed", "tune", "no_warm_up",
)  # fmt: skip
"""Options that the next command does not repeat: those of the answer, and of fresh runs."""


def _next(call: click.Context, result: Comparison, everything: bool) -> list[str]:
    """Return the commands that are useful now."""
    words = ["pinsweep", *_options.typed(call, **dict.fromkeys(_NOT_NEXT))]
    counts = result.counts
    texts = []
    if result.provisional and (counts["regressed"] or counts["inconclusive"]) and not result.again:
        texts.append(f"To decide:  {shlex.join(words)} --confirm")
    if not everything and (counts["same"] or counts["inconclusive"]):
        texts.append(f"To see all: {shlex.join(words)} --all")
    return texts


def _approve() -> None:
    """Ask whether the listed commands may be started. Raises UserError where nobody can answer, Abort for a no."""
    if not sys.stdin.isatty():
        raise UserError(
            "--confirm", "starts the commands above, which the result files name", "read them, then add --yes"
        )
    require_yes("Start these commands?")


def _refuse_idle(again: bool, given: Mapping[str, object]) -> None:
    """Raise UserError for an option that does nothing without --confirm."""
    for option, value in given.items():
        if value and not again:
            raise UserError(option, "is for the fresh runs of --confirm", "add --confirm, or leave it out")


def _append(path: Path, text: str) -> None:
    """Add a text to a file that is not the user's business: where that fails, the verdict still counts."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        say(f"{path}: no summary written: {(error.strerror or str(error)).lower()}", err=True)


def _given(
    sides: Sequence[str],
    more_a: Sequence[str],
    more_b: Sequence[str],
    by: str | None,
    only: Sequence[str],
    include: Include,
) -> Sides:
    """Return what is to be compared."""
    from reports.compare.sides import two_levels, two_sides

    if by is None:
        a, b = _two(sides, more_a, more_b)
        return two_sides(a, b, only, include=include, watched=progress.files)
    if more_a or more_b:
        raise UserError("--by", "compares levels within the files: there is no side to name", "leave -a and -b out")
    return two_levels(sides, by, only, include=include, watched=progress.files)


def _two(sides: Sequence[str], more_a: Sequence[str], more_b: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Say which words are A's and which are B's. Raises UserError where that is not clear."""
    if more_a and more_b and not sides:
        return more_a, more_b
    if more_b and not more_a and len(sides) == 1:  # of more words some may be what a shell made of B's glob
        return sides, more_b
    if more_a and not more_b and len(sides) == 1:
        return more_a, sides
    if len(sides) == 2 and not more_a and not more_b:
        return sides[:1], sides[1:]
    given = f"{len(sides)} given" if sides else "none given"
    hint = "name two, or several per side (-a mon.db -a tue.db -b wed.db), with quotes around a glob"
    raise UserError("compare", f"needs two sides, {given}", hint)


def _thresholds(texts: Sequence[str]) -> tuple[float, dict[str, float]]:
    """Read `5%`, `p99=10%`. Returns the default and those of metrics."""
    from parsers.units import share_of

    default, named = 0.03, {}
    for text in texts:
        name, named_one, value = text.rpartition("=")
        share = share_of(value)
        if named_one and not name.strip():
            raise UserError(f"--threshold {text}", "names no metric", "as in 5%, or p99=10%")
        if share is None:
            raise UserError(f"--threshold {text}", "is not a percentage between 0 and 100", "as in 5%, or p99=10%")
        if name:
            named[name.strip()] = share
        else:
            default = share
    return default, named


def _slo(text: str | None) -> float | None:
    """Read `1ms`, `500us` as ns."""
    if text is None:
        return None
    from parsers.units import to_base

    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zµμ]+)\s*", text)
    factor, unit = to_base(match[2]) if match else (0.0, "")
    if not match or unit != "ns" or not float(match[1]):
        raise UserError(f"--slo {text}", "is not a duration", "as in 1ms, 500us")
    return float(match[1]) * factor
