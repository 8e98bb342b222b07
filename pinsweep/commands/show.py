"""`pinsweep show`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pinsweep import complete, progress
from pinsweep.commands import _options
from pinsweep.terminal import answer, data
from pinsweep.terminal import raw as raw_bytes

if TYPE_CHECKING:
    from reports.results.load import Include


@click.command(
    short_help="Show the main numbers of a result, or one run.",
    epilog="Example: pinsweep show node07.db; pinsweep show node07.db 12 --raw",
)
@click.argument("result", type=_options.FILE, shell_complete=complete.results)
@click.argument("run", type=int, required=False)
@click.option("--raw", is_flag=True, help="Print the output of RUN. Into a pipe or file: byte for byte.")
@click.option("--stderr", is_flag=True, help="With --raw: print its standard error.")
@click.option("--logs", is_flag=True, help="With --raw: print its log files (fio's write_lat_log).")
@click.option("--runs", is_flag=True, help="List every run with its number, status and duration.")
@_options.include
@_options.table_or_json
def command(
    result: Path,
    run: int | None,
    raw: bool,
    stderr: bool,
    logs: bool,
    runs: bool,
    include: Include,
    form: str,
) -> None:
    """Show the main numbers of RESULT, or one RUN in detail."""
    from orchestrator.store.result_file import open_result
    from reports import show

    raw = raw or stderr or logs
    if stderr and logs:
        raise click.UsageError("--stderr and --logs are two outputs: one at a time")
    if raw and form == "json":
        raise click.UsageError("--raw prints the output byte for byte, so leave out --format")
    if raw:
        if run is None:
            raise click.UsageError("--raw needs the number of a run (pinsweep show RESULT --runs lists them)")
        with open_result(result) as file:
            for piece in file.output_pieces(run, "stderr" if stderr else "logs" if logs else "stdout"):
                raw_bytes(piece)
        return

    if form == "json":
        from reports.text.json_text import json_text

        with progress.doing("reading"):
            text = json_text(show.record(result, run, include))
        data(text)
        return
    with progress.doing("reading"):
        if run is not None:
            document = show.show_run(result, run)
        else:
            document = show.show_runs(result) if runs else show.show_result(result, include)
    answer(document)
