"""Mistakes on the command line, as errors with place, cause and next step."""

from __future__ import annotations

from collections.abc import Sequence

import click

from parsers.errors import UserError
from pinsweep.groups import NoCommand, NoSuchCommand
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
        case NoCommand():
            return UsageMistake(command, "no command is named", more)
        case click.NoSuchOption():
            return UsageMistake(
                error.option_name, f"no such option of {command}", f"{_meant(error.possibilities)}{more}"
            )
        case NoSuchCommand():
            return UsageMistake(error.command_name, "no such command", f"{_meant(error.possibilities)}{more}")
        case click.MissingParameter() if call:
            return UsageMistake(_name(error), "is missing", _form(call))
        case click.BadParameter() if call and error.param:
            return UsageMistake(_name(error), _clause(error.message), f"`{command} --help` says more")
    place = call.info_name or "" if call and call.parent else ""
    return UsageMistake(place, _clause(error.format_message()), _form(call) if call else "`--help` says more")


def _meant(near: Sequence[str] | None) -> str:
    """Return "did you mean '--raw' or '--runs'? ", or "" where nothing is like what was typed."""
    return f"did you mean {fmt.words(map(repr, near), 'or')}? " if near else ""


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
