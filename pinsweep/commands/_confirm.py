"""`pinsweep compare --confirm`: measure again what looks changed, and let the fresh runs decide."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from parsers.errors import PinsweepError, UserError
from pinsweep import __version__
from pinsweep.commands.run import Progress

if TYPE_CHECKING:
    from reports.compare.comparison import Ask, Comparison


def _make(folder: Path) -> None:
    """Make the folder of the fresh files. Raises UserError where nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = (
            "is not a directory"
            if folder.exists()
            else f"cannot be made: {(error.strerror or str(error)).lower()}"
        )
        raise UserError(f"--into {folder}", why, "name a folder that can be written") from error
    if not os.access(folder, os.W_OK):
        raise UserError(f"--into {folder}", "cannot be written", "name another folder")


def confirm(
    found: Comparison, ask: Ask, *, folder: Path, scratch: Path | None, allow_write: Sequence[str]
) -> Comparison:
    """Return the comparison with the verdicts of fresh runs, which lie in `folder` afterwards.

    Raises UserError where side B cannot be measured here, or `folder` not be written; nothing has been started then.
    """
    from orchestrator.run.rerun import prepare_again, run_again
    from reports.compare import confirm as confirmation
    from reports.results.load import load
    from reports.text.format import duration

    wanted = confirmation.asked(found)
    if not wanted.pairs:
        click.echo("nothing looks changed: nothing is measured again", err=True)
        return found
    rerun = prepare_again(
        wanted.pairs,
        folder=folder,
        scratch=scratch,
        allow_write=allow_write,
        seed=secrets.randbelow(2**31),
    )
    for line in confirmation.announce(wanted, rerun):
        click.echo(line, err=True)
    if not rerun.runs:
        raise PinsweepError("--confirm", "no cell can be measured again here", "the reasons stand above")
    click.echo(f"about {duration(rerun.estimate_s)}", err=True)
    _make(folder)
    fresh = run_again(rerun, folder, version=__version__, argv=sys.argv[1:], on_event=Progress())
    for path in (*fresh.a, *fresh.b):
        click.echo(f"fresh runs  {path}", err=True)
    if fresh.summary.stopped:
        raise KeyboardInterrupt
    return confirmation.confirmed(
        found, wanted, rerun, load(fresh.a) if fresh.a else None, load(fresh.b), ask
    )
