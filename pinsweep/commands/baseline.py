"""`pinsweep baseline`"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from pinsweep import complete
from pinsweep.commands import _options
from pinsweep.groups import Group
from pinsweep.terminal import answer, data, say

_NAME = click.argument("name", shell_complete=complete.baselines)


@click.group(
    cls=Group,
    short_help="Store results by name, to compare with later.",
    epilog="Example: pinsweep baseline add before-bios node07.db",
)
def command() -> None:
    """Store result files by name, to compare with later.

    A baseline is a folder of copies in your data folder. PINSWEEP_BASELINES=DIR names another folder. Add a file
    with every session. From five sessions on, `compare` knows the noise of the baseline.
    """


@command.command(
    short_help="Add result files to a baseline, or create one.",
    epilog="Example: pinsweep baseline add node07-good monday.db tuesday.db",
)
@_NAME
@_options.results
@_options.table_or_json
def add(name: str, results: tuple[Path, ...], form: str) -> None:
    """Add copies of RESULT... (files, folders, globs) to the baseline NAME."""
    from reports.results import baselines
    from reports.results.paths import result_files

    baseline = baselines.add(name, result_files(results))
    if form == "json":
        _print(baseline.as_json())
    say(f"{name}: {baseline.text}", err=True)


@command.command("list", epilog="Example: pinsweep baseline list --format json")
@_options.table_or_json
def list_(form: str) -> None:
    """List all baselines."""
    from reports.results import baselines

    every = [baselines.load(name).as_json() for name in baselines.names()]
    if form == "json":
        _print({"baselines": every})
    elif not every:
        say("no baselines; `pinsweep baseline add NAME RESULT` makes one", err=True)
    else:
        rows = [(b["name"], len(b["sessions"]), b["first"][:10], b["last"][:10], b["nodes"]) for b in every]
        _table("", ("baseline", "sessions", "first", "last", "hosts"), rows)


@command.command(epilog="Example: pinsweep baseline show node07-good")
@_NAME
@_options.table_or_json
def show(name: str, form: str) -> None:
    """List the sessions of the baseline NAME and where its files lie."""
    from reports.results import baselines

    baseline = baselines.load(name)
    if form == "json":
        _print(baseline.as_json())
        return
    rows = [
        (s.started_utc[:19], s.host, str(s.facts.get("kernel") or "not recorded"), s.pinsweep_version)
        for s in baseline.sessions
    ]
    _table(baseline.text, ("started", "host", "kernel", "pinsweep"), rows)
    for file in baseline.files:
        say(str(file))


@command.command(epilog="Example: pinsweep baseline remove node07-good")
@_NAME
@_options.table_or_json
def remove(name: str, form: str) -> None:
    """Delete a baseline. The original files remain."""
    from reports.results import baselines
    from reports.text.format import plural

    files = baselines.remove(name)
    if form == "json":
        _print({"name": name, "files_removed": files})
    say(f"removed {name}: {plural(files, 'file')}", err=True)


def _table(title: str, names: Sequence[str], rows: Sequence[tuple[str | int, ...]]) -> None:
    from reports.document import Column, Document, Table

    columns = tuple(Column(name=name) for name in names)
    answer(Document(title=title, blocks=(Table(columns=columns, rows=tuple(rows), most=len(rows)),)))


def _print(record: object) -> None:
    from reports.text.json_text import json_text

    data(json_text(record))
