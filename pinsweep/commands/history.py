"""`pinsweep history`"""

from __future__ import annotations

from pathlib import Path

import click

from pinsweep import complete, progress
from pinsweep.commands import _options
from pinsweep.terminal import data, say, screen, tell

_FAILS = ("regressed", "failed", "gone", "suspicious")


@click.command(
    short_help="Say when the numbers of a host changed, and what changed then.",
    epilog="Example: pinsweep history nightly/ -o history.html",
)
@_options.results
@_options.table_or_json
@click.option(
    "-o",
    "--output",
    type=_options.OUTPUT,
    metavar="FILE",
    help="Also write a page: a line per kind of number.",
)
@click.option(
    "--threshold",
    type=_options.percent,
    metavar="PERCENT",
    default="3%",
    help="Ignore steps smaller than this. [default: 3%]",
)
@click.option(
    "--fail-on",
    metavar="WORDS",
    shell_complete=complete.words_of(_FAILS),
    help="Exit with status 1 if there is one of these: regressed (a number is down, or its runs fail now), failed (that alone), gone (a number that the last sessions do not have), suspicious (the last sessions are far outside, too new to be called a change); several with commas.",
)
@click.option(
    "--all", "everything", is_flag=True, help="List all numbers of a change, not the largest eight."
)
@click.option("--static", is_flag=True, help="Leave the script out of the page.")
def command(
    results: tuple[Path, ...],
    form: str,
    output: Path | None,
    threshold: float,
    fail_on: str | None,
    everything: bool,
    static: bool,
) -> int:
    """Say when the numbers of RESULT... (files, folders, globs) changed, and what changed on the machine then.

    The sessions of each host are put in the order of time; it takes ten of them. Changes are steps in the medians of
    whole sessions, not day-to-day noise. Needs the extra `history`. Exit status 0; with --fail-on regressed 1 while a number is down, or gives
    none any more since its runs fail.
    """
    from reports.history import changes, text
    from reports.results.load import load
    from reports.results.paths import result_files
    from reports.results.write import refuse_output

    words = _options.words("--fail-on", fail_on, _FAILS)
    paths = result_files(results)
    if output is not None:
        refuse_output(output, paths)
    loaded, all_read = _options.of_readable(sorted(paths), lambda files: load(files, watched=progress.files))
    with progress.doing("looking for changes"):
        report = changes.build(loaded, threshold=threshold)
    if form == "json":
        data(text.as_json(report))
    else:
        where = screen()
        tell(text.as_text(report, everything=everything, screen=where), where)
    if output is not None:
        from reports.history.page import render_history

        title = ", ".join(dict.fromkeys(e.title for e in loaded.experiments)) or "History"
        with progress.doing("drawing the page"):
            render_history(report, output, title=f"{title}: the history", static=static)
        say(f"page  {output}", err=True)
    return 0 if all_read and not report.fails(words) else 1
