"""`pinsweep init`"""

from __future__ import annotations

import errno
from pathlib import Path

import click

from pinsweep.commands import _options
from pinsweep.terminal import data, say


@click.command(epilog="Example: pinsweep init fio > my-disk.yaml")
@click.argument("tool")
@click.option(
    "-o",
    "--output",
    type=_options.OUTPUT,
    metavar="FILE",
    help="Write it here; a file that is there is never overwritten. [default: standard output]",
)
def command(tool: str, output: Path | None) -> None:
    """Print a commented experiment for TOOL, to start from."""
    from orchestrator.experiment.starter import starter
    from parsers.errors import UserError

    text = starter(tool)
    if output is None:
        data(text)
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UserError(str(output), "is there already", "name another file") from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            output.unlink(missing_ok=True)
        raise UserError(str(output), f"cannot be written: {error.strerror}") from error
    say(f"wrote  {output}; see what it would do: pinsweep plan {output}", err=True)
