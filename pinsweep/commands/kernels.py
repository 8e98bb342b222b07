"""`pinsweep kernels`"""

from __future__ import annotations

import click

from pinsweep.commands import _options
from pinsweep.groups import Group
from pinsweep.terminal import data, say


@click.group(cls=Group, epilog="Example: srun -N1 -C icelake pinsweep kernels build")
def command() -> None:
    """Manage the C kernels that replace MLC and STREAM."""


@command.command(
    short_help="Compile the kernels for hosts without a compiler.",
    epilog="Example: pinsweep kernels build",
)
@_options.table_or_json
def build(form: str) -> None:
    """Compile the kernels for this kind of CPU, for hosts without a compiler.

    The kernels are in your cache (XDG_CACHE_HOME). With a shared home, run this command on one host of each CPU
    kind. Compiled kernels are kept.
    """
    from orchestrator.programs import kernels

    if form == "json":
        from reports.text.json_text import json_text

        built = [{"name": name, "path": kernels.build(name)} for name in kernels.kernel_names()]
        data(json_text({"kernels": built}))
        return
    for name in kernels.kernel_names():
        say(str(kernels.build(name)))
