"""`pinsweep schema`"""

from __future__ import annotations

import click

from pinsweep.terminal import data


@click.command(epilog="Example: pinsweep schema > experiment.schema.json")
def command() -> None:
    """Print the JSON Schema of experiment files, for editors."""
    import json

    from orchestrator.experiment.schema import json_schema

    data(json.dumps(json_schema(), ensure_ascii=False, indent=1), nl=True)
