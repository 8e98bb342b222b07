"""`pinsweep status`"""

from __future__ import annotations

from pathlib import Path

import click

from pinsweep.commands import _cluster, _options


@click.command(short_help="Show the state of each host of a sweep.", epilog="Example: pinsweep status acc/")
@click.argument("folder", metavar="DIR", type=_options.FILE)
@_options.table_or_json
def command(folder: Path, form: str) -> int:
    """Show the state of each host of the sweep in DIR (`pinsweep run --nodes`).

    Works from any host with the folder. Exit status: 0 every host is done. 1 a host failed, is lost, skipped or
    not submitted. 2 a mistake in the command. 3 a job runs or waits, or its state is unknown.
    """
    return _cluster.status(folder, form)
