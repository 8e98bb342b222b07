"""`pinsweep report`"""

from __future__ import annotations

from pathlib import Path

import click

from pinsweep.commands import _options


@click.command(epilog="Example: pinsweep report node07.db -o node07.html")
@_options.results
@click.option(
    "-o",
    "--output",
    type=_options.FILE,
    metavar="FILE",
    help="The page. [default: the result's name with .html]",
)
@click.option(
    "--static", is_flag=True, help="Leave out the script: no exact values under the pointer, no copying."
)
def command(results: tuple[Path, ...], output: Path | None, static: bool) -> None:
    """Draw RESULT... as one HTML page that needs no network, and reads without scripts."""
    from reports.files import refuse_inputs
    from reports.render import render_report

    page = output or results[0].with_suffix(".html")
    refuse_inputs(page, results)
    path = render_report(results, page, static=static)
    click.echo(f"report  {path}", err=True)
