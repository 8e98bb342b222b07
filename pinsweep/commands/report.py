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
def command(results: tuple[Path, ...], output: Path | None) -> None:
    """Draw RESULT... as one HTML page that needs no network and no script."""
    from reports.render import render_report

    path = render_report(results, output or results[0].with_suffix(".html"))
    click.echo(f"report  {path}", err=True)
