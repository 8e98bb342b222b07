"""The commands of pinsweep, one module each. Heavy imports wait until a command runs."""

from __future__ import annotations

import importlib
import pkgutil

import click

from pinsweep import __version__, commands

_ORDER = (
    "doctor", "init", "plan", "run", "show", "parse", "export", "audit", "report", "compare", "baseline", "fleet",
    "history", "schema",
)  # fmt: skip


class _Group(click.Group):
    """Finds each command in the module of its name; nothing but click is imported for `--help`."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        found = [
            module.name
            for module in pkgutil.iter_modules(commands.__path__)
            if not module.name.startswith("_")
        ]
        return sorted(found, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(ctx):
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
def cli() -> None:
    """Sweep fio, Intel MLC, STREAM and Intel MPI Benchmarks over this machine's topology, pinned and proven."""
