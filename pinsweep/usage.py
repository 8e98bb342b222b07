"""What is wrong with a command line, told as every other error is: where, what, and what to do."""

from __future__ import annotations

from collections.abc import Collection

import click

from parsers.errors import UserError, nearest
from reports.text import format as fmt


class UsageMistake(UserError):
    """A mistake in the command line itself."""

    code = "usage"


def told(error: click.ClickException) -> UsageMistake:
    """Return what `click` found: `--rwas: no such option of pinsweep show`, and `did you mean '--raw'? …`."""
    call = error.ctx if isinstance(error, click.UsageError) else None
    command = call.command_path if call else "pinsweep"
    more = f"`{command} --help` lists them"
    match error:
        case click.exceptions.NoArgsIsHelpError():
            return UsageMistake(command, "no command is named", more)
        case click.NoSuchOption():
            near = fmt.words(map(repr, error.possibilities or ()), "or")
            hint = f"did you mean {near}? {more}" if near else more
            return UsageMistake(error.option_name, f"no such option of {command}", hint)
        case click.MissingParameter() if call:
            return UsageMistake(_name(error), "is missing", _form(call))
        case click.BadParameter() if call and error.param:
            return UsageMistake(_name(error), _clause(error.message), f"`{command} --help` says more")
    if call and isinstance(call.command, click.Group) and (name := getattr(error, "command_name", "")):
        return no_such_command(name, call.command.list_commands(call), command)
    place = call.info_name or "" if call and call.parent else ""
    return UsageMistake(place, _clause(error.format_message()), _form(call) if call else "`--help` says more")


def no_such_command(name: str, known: Collection[str], program: str) -> UsageMistake:
    """known: the commands that `program`, "pinsweep" or "pinsweep baseline", has."""
    return UsageMistake(
        name, "no such command", f"{nearest(name, known)} `{program} --help` lists them".lstrip()
    )


def _name(error: click.BadParameter) -> str:
    """Return the argument as the help has it, or the option by its longer name."""
    param = error.param
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return param.human_readable_name if param else str(error.param_hint or "")


def _form(call: click.Context) -> str:
    """Return "pinsweep show [OPTIONS] RESULT [RUN]"."""
    return " ".join([call.command_path, *call.command.collect_usage_pieces(call)])


def _clause(text: str) -> str:
    """Return a sentence as what stands behind a colon."""
    return (text[:1].lower() + text[1:]).removesuffix(".")
