"""`pinsweep parse`"""

from __future__ import annotations

from pathlib import Path

import click

from pinsweep import __version__
from pinsweep.commands import _options


@click.command(
    epilog="Example: pinsweep parse mlc lab/mlc.txt --format json; pinsweep parse logs/*.json -o old.db"
)
@click.argument("words", metavar="[TOOL] FILE...", nargs=-1, required=True)
@click.option(
    "--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", help="[default: table]"
)
@click.option(
    "-o",
    "--output",
    type=_options.FILE,
    metavar="RESULT",
    help="Keep the files in this result file, as runs.",
)
def command(words: tuple[str, ...], form: str, output: Path | None) -> None:
    """Read output that was captured by hand; TOOL is guessed when it is not given, and - is standard input."""
    from orchestrator.intake import read_texts, store
    from parsers import parser_names

    tool, files = (words[0], words[1:]) if words[0] in parser_names() and len(words) > 1 else (None, words)
    captured = read_texts(tool, files)
    if output is not None:
        added = store(captured, output, version=__version__)
        click.echo(f"{added} of {len(captured)} taken into {output}", err=True)
        return
    from reports.tables import parsed_text

    for text in captured:
        for flag in text.parsed.flags:
            click.secho(f"{text.name}: {flag.id}: {flag.text}", fg="yellow", err=True)
    click.echo(parsed_text([(text.name, text.parsed) for text in captured], form), nl=False)
