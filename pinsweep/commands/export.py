"""`pinsweep export`"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from parsers.errors import UserError
from pinsweep import progress
from pinsweep.commands import _options
from pinsweep.terminal import data, say

if TYPE_CHECKING:
    from reports.results.load import Include


@click.command(
    short_help="Write numbers as CSV, JSON, Parquet or for Prometheus.",
    epilog="Example: pinsweep export node07.db --format parquet -o node07.parquet",
)
@_options.results
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "parquet", "json", "openmetrics"]),
    help="Choose the format. [default: the ending of the file name, or csv]",
)
@click.option(
    "--openmetrics",
    "form",
    flag_value="openmetrics",
    help="Write medians for Prometheus (docs/openmetrics.md).",
)
@click.option(
    "--shape",
    type=click.Choice(["long", "wide"]),
    default="long",
    help="Write one row per number, or one column per metric. [default: long]",
)
@click.option("--tool", help="Use only the numbers of this tool.")
@_options.include
@click.option(
    "-o",
    "--output",
    type=_options.OUTPUT,
    metavar="FILE",
    help="Write to this file. [default: standard output, except for parquet]",
)
@click.option(
    "--copy",
    "copy",
    type=_options.OUTPUT,
    metavar="FILE",
    help="Copy one RESULT to FILE, also while `pinsweep run` writes to it.",
)
def command(
    results: tuple[Path, ...],
    form: str | None,
    shape: str,
    tool: str | None,
    include: Include,
    output: Path | None,
    copy: Path | None,
) -> int:
    """Write the numbers of RESULT... (files, folders, globs) as a table in base units (ns, B, B/s, 1/s)."""
    from reports.export import tables
    from reports.results.paths import result_files
    from reports.results.write import refuse_output, write_whole

    paths = result_files(results)
    if copy is not None:
        if form or tool or output or shape != "long":
            raise click.UsageError("--copy copies the whole file: leave the other options out")
        _copy(paths, copy)
        return 0
    if output is not None:
        refuse_output(output, paths)
    left_out: list[str] = []
    shown: Iterable[str] = ()  # a terminal shows the table itself, and no progress line may be in it
    with progress.doing("writing the table", reading=True) as watched:
        form = form or _form_of(output)
        table, all_read = _options.of_readable(
            paths,
            lambda files: tables.export(files, form=form, shape=shape, tool=tool, on_left_out=left_out.append, include=include, watched=watched),
        )  # fmt: skip
        if output is not None:
            write_whole(output, table)
        elif isinstance(table, bytes):
            raise click.UsageError("parquet is not text: name a file with -o")
        elif sys.stdout.isatty():
            shown = table
        else:
            for piece in table:
                data(piece)
    for note in left_out:
        say(note, fg="yellow", err=True)
    for piece in shown:
        data(piece)
    if output is not None:
        say(f"wrote  {output}", err=True)
    return 0 if all_read else 1


_ENDINGS: Final = {".parquet": "parquet", ".json": "json"}
_SPREADSHEETS: Final = (".xls", ".xlsx", ".ods")


def _form_of(output: Path | None) -> str:
    """Return the format that the name of the file asks for. Raises UserError of a spreadsheet's, which none is."""
    ending = output.suffix.lower() if output else ""
    if ending in _SPREADSHEETS:
        raise UserError(str(output), f"no {ending} file can be written", "name it .csv: spreadsheet programs open that")
    return _ENDINGS.get(ending, "csv")


def _copy(paths: list[Path], target: Path) -> None:
    from reports.results.write import ANOTHER_COPY, copy_result, refuse_output

    if len(paths) != 1:
        raise click.UsageError(f"--copy copies one RESULT, {len(paths)} given")
    _options.refuse_other_kind(target)
    refuse_output(target, paths, hint=ANOTHER_COPY)
    with progress.doing("copying"):
        copy_result(paths[0], target)
    say(f"wrote  {target}", err=True)
