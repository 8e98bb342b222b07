"""The commands of pinsweep, one module each. Heavy imports wait until a command runs."""

from __future__ import annotations

import functools
import importlib
import pkgutil

import click

from pinsweep import __version__, commands
from pinsweep.groups import Group

_ORDER = (
    "doctor", "init", "plan", "run", "status", "show", "parse", "export", "audit", "report", "compare", "baseline", "fleet",
    "history", "check", "kernels", "schema", "completion",
)  # fmt: skip


@functools.cache
def _names() -> frozenset[str]:
    found = (module.name for module in pkgutil.iter_modules(commands.__path__))
    return frozenset(name for name in found if not name.startswith("_"))


_READERS = ("audit", "baseline", "compare", "export", "fleet", "history", "plan", "report", "show")
"""Commands that read files of strangers and start no tools."""


class _Group(Group):
    """Finds each command in the module of its name; nothing but click is imported for `--help`."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return sorted(_names(), key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        if name not in _names():
            return None
        command = importlib.import_module(f"pinsweep.commands.{name}").command
        assert isinstance(command, click.Command)
        return command


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: pinsweep run experiments/quickstart.yaml -o q.db && pinsweep report q.db -o q.html",
)
@click.version_option(__version__, prog_name="pinsweep")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Run fio, Intel MLC, STREAM, Intel MPI Benchmarks and other programs, pinned to parts of this machine."""
    if ctx.invoked_subcommand in _READERS:
        from orchestrator.store.limits import limited

        ctx.with_resource(limited())
    from pinsweep import extensions
    from pinsweep.terminal import say

    for line in extensions.load():
        say(line, fg="yellow", err=True)
