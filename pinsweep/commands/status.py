"""`pinsweep status`"""

from __future__ import annotations

from pathlib import Path

import click

from pinsweep.commands import _cluster, _options


@click.command(
    short_help="Say what became of each host of a sweep of many.", epilog="Example: pinsweep status acc/"
)
@click.argument("folder", metavar="DIR", type=_options.FILE)
@_options.table_or_json
def command(folder: Path, form: str) -> int:
    """Say what became of each host of the sweep in DIR, which `pinsweep run --nodes` began.

    From any host that sees the folder, at any time. Exit status: 0 every host is done, 1 something failed, was lost, skipped or not
    submitted, 3 something runs or waits, or is not known, 2 a mistake in the command.
    """
    return _cluster.status(folder, form)
