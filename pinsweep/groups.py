"""Groups of commands, in which a name that is none and no name at all are the same mistakes whatever version of click is here."""

from __future__ import annotations

from collections.abc import Iterable

import click


class NoCommand(click.UsageError):
    """No command of the group is named."""


class NoSuchCommand(click.UsageError):
    """What is named is no command of the group. Of `known` those that are like it are the `possibilities`."""

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
