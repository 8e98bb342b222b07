"""Groups of commands that report a wrong or missing name in the same way with every version of click."""

from __future__ import annotations

from collections.abc import Iterable

import click


class NoCommand(click.UsageError):
    """The name of a command is missing."""


class NoSuchCommand(click.UsageError):
    """A name is not a command of the group. `possibilities` are similar names of `known`."""

    def __init__(self, name: str, known: Iterable[str], ctx: click.Context) -> None:
        import difflib  # who makes no mistake does without

        super().__init__("no such command", ctx=ctx)
        self.command_name = name
        self.possibilities = difflib.get_close_matches(name, list(known))


class Group(click.Group):
    """A group of commands."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            raise NoCommand("no command is named", ctx=ctx)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in known and not ctx.resilient_parsing:
            raise NoSuchCommand(args[0], known, ctx)
        return super().resolve_command(ctx, args)
