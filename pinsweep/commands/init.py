"""`pinsweep init`"""

from __future__ import annotations

import errno
from pathlib import Path

import click

from pinsweep import complete
from pinsweep.commands import _options
from pinsweep.terminal import answer, data, say


@click.command(
    short_help="Print a commented experiment, or list the shipped ones.",
    epilog="Example: pinsweep init fio > my-disk.yaml",
)
@click.argument("tool", metavar="[TOOL|EXPERIMENT]", required=False, shell_complete=complete.starters)
@click.option(
    "--list",
    "listing",
    is_flag=True,
    help="List the experiments that come with pinsweep.",
)
@click.option(
    "-o",
    "--output",
    type=_options.OUTPUT,
    metavar="FILE",
    help="Write to a new file. [default: standard output]",
)
@_options.table_or_json
def command(tool: str | None, listing: bool, output: Path | None, form: str) -> None:
    """Print a commented experiment for TOOL, or a copy of an EXPERIMENT that comes with pinsweep."""
    from orchestrator.experiment import shipped
    from orchestrator.experiment.starter import EDITOR, starter
    from orchestrator.tools import tool_names
    from parsers.errors import UserError, called, nearest

    if listing:
        _list(form)
        return
    if form == "json":
        raise click.UsageError("--format json goes with --list: an experiment is YAML")
    if tool is None:
        raise UserError(
            "init",
            "names no tool",
            "pinsweep init TOOL prints one to start from; --list names whole experiments, for init, too",
        )
    if tool not in shipped.names() and called(tool, tool_names()) not in tool_names():
        near = nearest(tool, (*tool_names(), *shipped.names())) or "pinsweep init --list names the experiments;"
        what = "is not a tool or an experiment of pinsweep"
        raise UserError(tool, what, f"{near} tools: {', '.join(tool_names())}")
    text = f"{EDITOR}\n{shipped.text(tool)}" if tool in shipped.names() else starter(tool)
    if output is None:
        data(text)
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UserError(str(output), "exists", "name another file") from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            output.unlink(missing_ok=True)
        raise UserError(str(output), f"cannot be written: {error.strerror}") from error
    say(f"wrote  {output}; next: pinsweep plan {output}", err=True)


def _list(form: str) -> None:
    """Print the shipped experiments, a line each: the name that `run` takes, and its title."""
    from orchestrator.experiment import shipped
    from orchestrator.experiment.load import load_experiment

    titles = [(name, load_experiment(shipped.folder() / f"{name}.yaml").title) for name in shipped.names()]
    if form == "json":
        from reports.text.json_text import json_text

        data(json_text({"experiments": [{"name": name, "title": title} for name, title in titles]}))
        return
    from reports.document import Column, Document, Table

    columns = tuple(Column(name=name) for name in ("experiment", "title"))
    answer(Document(title="", blocks=(Table(columns=columns, rows=tuple(titles), most=len(titles)),)))
