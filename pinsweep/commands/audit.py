"""`pinsweep audit`"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pinsweep import progress
from pinsweep.commands import _options
from pinsweep.terminal import answer, data, say, say_prose

if TYPE_CHECKING:
    from reports.results.load import Include


@click.command(
    short_help="List numbers that cannot be true.",
    epilog="Example: pinsweep audit node07.db --format json",
)
@_options.results
@_options.include
@_options.table_or_json
@click.option(
    "--level", type=click.Choice(["error", "warn", "info"]), default="info",
    help="Print findings of this level and above. [default: info]",
)  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="List all cells and runs of each finding.")
def command(results: tuple[Path, ...], include: Include, form: str, level: str, everything: bool) -> int:
    """List numbers of RESULT... (files, folders, globs) that cannot be true, with cells and advice.

    docs/audit.md explains each check. Exit status: 1 a finding is an error.
    """
    from reports.checks import audit
    from reports.results.load import load
    from reports.results.paths import result_files

    def judged(paths: Sequence[Path]) -> tuple[tuple[audit.Finding, ...], str]:
        found = load(paths, include=include, watched=progress.files)
        return audit.audit(found), audit.counted(found)

    (findings, of), all_read = _options.of_readable(result_files(results), judged)
    if form == "json":
        data(audit.as_json(audit.down_to(findings, level)))
    else:
        shown = audit.document(audit.down_to(findings, level), everything=everything)
        if shown.blocks:
            answer(shown)
            say()
        say_prose(f"{audit.summary_line(findings)} in {of}", err=True)
    return 0 if all_read and audit.worst(findings) != "error" else 1
