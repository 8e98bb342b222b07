"""`pinsweep history`"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pinsweep import complete, progress
from pinsweep.commands import _options
from pinsweep.terminal import answer, data, say

if TYPE_CHECKING:
    from reports.results.load import Include

_FAILS = ("regressed", "failed", "gone", "suspicious")


@click.command(
    short_help="List when the numbers of a host changed.",
    epilog="Example: pinsweep history nightly/ -o history.html",
)
@_options.results
@_options.table_or_json
@click.option(
    "-o",
    "--output",
    type=_options.OUTPUT,
    metavar="FILE",
    help="Also write a page with a chart of each change.",
)
@click.option(
    "--threshold",
    type=_options.percent,
    metavar="PERCENT",
    default="3%",
    help="Ignore smaller steps. [default: 3%]",
)
@click.option(
    "--fail-on",
    metavar="WORDS",
    shell_complete=complete.words_of(_FAILS),
    help="Exit with status 1 for these, with commas: regressed (includes failed), failed, gone, suspicious.",
)
@click.option("--all", "everything", is_flag=True, help="List every change.")
@_options.only_quiet
@click.option("--static", is_flag=True, help="Write the page without scripts.")
def command(
    results: tuple[Path, ...],
    form: str,
    output: Path | None,
    threshold: float,
    fail_on: str | None,
    everything: bool,
    include: Include,
    static: bool,
) -> int:
    """List when the numbers of RESULT... (files, folders, globs) changed, and the changes of the machine at that
    time.

    A number needs ten sessions. This command needs the extra `history`. Exit status 1: a word of --fail-on
    applies.
    """
    from reports.history import follow
    from reports.history.answer import as_json, document
    from reports.results.load import load
    from reports.results.paths import result_files
    from reports.results.write import refuse_output

    words = _options.words("--fail-on", fail_on, _FAILS)
    paths = result_files(results)
    if output is not None:
        refuse_output(output, paths)
    loaded, all_read = _options.of_readable(
        sorted(paths), lambda files: load(files, include=include, watched=progress.files)
    )
    with progress.doing("looking for changes"):
        history = follow.build(loaded, threshold=threshold)
    if form == "json":
        data(as_json(history))
    else:
        hint = "" if output else f"charts: pinsweep history {shlex.join(map(str, results))} -o history.html"
        answer(document(history, everything=everything, hint=hint))
    if output is not None:
        from reports.page.document import write_page

        title = ", ".join(dict.fromkeys(e.title for e in loaded.experiments)) or "History"
        with progress.doing("drawing the page"):
            write_page(document(history, page_title=f"{title}: the history"), output, static=static)
        say(f"page  {output}", err=True)
    return 0 if all_read and not history.fails(words) else 1
