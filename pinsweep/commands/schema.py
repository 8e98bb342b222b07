"""`pinsweep schema`"""

from __future__ import annotations

import click

from pinsweep import complete
from pinsweep.terminal import data, say


@click.command(
    short_help="Print the JSON Schema of experiments or answers.",
    epilog="Example: pinsweep schema > experiment.schema.json; pinsweep schema show",
)
@click.argument("name", required=False, shell_complete=complete.schemas)
@click.option("--list", "listing", is_flag=True, help="List the names.")
def command(name: str | None, listing: bool) -> None:
    """Print the JSON Schema of experiments, or the schema of an answer NAME.

    NAME is the words of the command, joined by "-": show, baseline-list. `error` is the answer of a command that
    failed.
    """
    from orchestrator.experiment.schema import json_schema
    from reports import schemas
    from reports.text.json_text import json_text

    if listing:
        for answer in ("experiment", *schemas.names()):
            say(answer)
    elif name in (None, "experiment"):
        data(json_text(json_schema()))
    else:
        data(json_text(schemas.schema(name)))
