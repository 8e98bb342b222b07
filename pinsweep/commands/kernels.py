"""`pinsweep kernels`"""

from __future__ import annotations

import click

from pinsweep.commands import _options
from pinsweep.groups import Group
from pinsweep.terminal import data, say


@click.group(cls=Group, epilog="Example: srun -N1 -C icelake pinsweep kernels build")
def command() -> None:
    """The C kernels that measure where MLC and STREAM are absent."""


@command.command(
    short_help="Compile the kernels for this CPU, for hosts that lack a compiler.",
    epilog="Example: pinsweep kernels build",
)
@_options.table_or_json
def build(form: str) -> None:
    """Compile the kernels for this CPU, where hosts without a compiler find them.

    They are kept in the user's cache (XDG_CACHE_HOME), which hosts with one home share: once for each kind of CPU, on a host of that
    kind, is enough. What is there already is not compiled again.
    """
    from orchestrator.programs import kernels

    if form == "json":
        from reports.text.json_text import json_text

        built = [{"name": name, "path": kernels.build(name)} for name in kernels.kernel_names()]
        data(json_text({"kernels": built}))
        return
    for name in kernels.kernel_names():
        say(str(kernels.build(name)))
