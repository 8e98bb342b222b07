"""All that pinsweep prints goes through here. I/O.

    say      what a person reads: the answer on stdout; with `err` what is said beside it, on stderr
    answer   the answer of a command, a document: on a terminal as wide as it is, in a pipe without limit
    data     what a program reads (JSON, CSV …): in a pipe or a file as it is, on a terminal as `say`
    redraw   the last line of a terminal, in the place of what it was

Names, reasons and outputs come from tools, hosts, files and experiments: they are shown, and the terminal obeys nothing in them
(`reports.text.plain`). In a pipe or a file `raw`, for `pinsweep show --raw`, gives what a tool printed byte for byte.

An answer that cannot be written is an error. What is said beside it is not: a sweep goes on, and keeps its results, where the
terminal has gone or the disk with its log is full.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from parsers.errors import PinsweepError
from reports.text.plain import plain, printable

if TYPE_CHECKING:
    from rich.console import Console

    from reports.document import Document
    from reports.text.screen import Screen


def screen(*, err: bool = False) -> Screen:
    """Return what answers are written for, or with `err` what is said beside them: a pipe is plain, and a terminal that says it can do nothing (TERM=dumb) is one. NO_COLOR takes the
    colours, FORCE_COLOR puts them into a pipe, as `rich` understands both."""
    from reports.text.screen import (
        NARROWEST,
        PLAIN,
        WIDEST,
        Screen,
    )  # here: `--help` does without

    terminal = (sys.stderr if err else sys.stdout).isatty()
    if not terminal and not os.environ.get("FORCE_COLOR"):
        return PLAIN
    console = _console(err=err)
    colours = console.color_system is not None and not console.no_color
    if not terminal or console.is_dumb_terminal:
        return Screen(colours=colours and not console.is_dumb_terminal)
    return Screen(width=max(NARROWEST, min(console.width, WIDEST)), terminal=True, colours=colours)


def _console(*, err: bool = False) -> Console:
    from rich.console import Console

    return Console(file=sys.stderr if err else sys.stdout)


def answer(document: Document, *, err: bool = False) -> None:
    """Print an answer, with `err` what is said beside one. Raises PinsweepError if an answer cannot be written."""
    from reports.render import terminal

    text = terminal.render(document, screen(err=err))
    if not err:
        _answer(text, nl=True, color=True)
    elif text:
        with contextlib.suppress(OSError):
            click.echo(text, err=True, color=True)


def say(
    text: str = "", *, err: bool = False, nl: bool = True, fg: str | None = None, bold: bool | None = None
) -> None:
    """Print lines for people, with `err` one line; colours only on a terminal. Raises PinsweepError if an answer cannot be written."""
    shown = printable(text) if err else plain(text)
    styled = click.style(shown, fg=fg, bold=bold) if (fg or bold) and _has_styles() else shown
    if not err:
        _answer(styled, nl=nl)
        return
    with contextlib.suppress(OSError):
        click.echo(styled, err=True, nl=nl)


def require_yes(question: str) -> None:
    """Ask a person on standard error. Raises click.Abort for a no."""
    click.confirm(printable(question), abort=True, err=True)


def _has_styles() -> bool:
    """May anything be coloured or bold? Not where NO_COLOR or a dumb terminal says no; into a pipe click writes neither."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def say_prose(text: str, *, indent: int = 0, err: bool = False, fg: str | None = None) -> None:
    """Print a line for people that goes on in further lines, indented, where a terminal is too narrow for it; into a pipe as it is."""
    from reports.text.screen import prose

    for line in prose(text, screen(err=err), first=" " * indent, rest=" " * (indent + 2)):
        say(line, fg=fg, err=err)


def say_lines(lines: Iterable[tuple[str, bool]]) -> None:
    """Print the lines of a long answer at once: each with whether it is bold. Raises PinsweepError if it cannot be written."""
    styles = _has_styles()
    text = "".join(
        f"{click.style(plain(line), bold=True) if bold and styles else plain(line)}\n" for line, bold in lines
    )
    _answer(text, nl=False)


def data(text: str, *, nl: bool = False) -> None:
    """Print what a program reads. Raises PinsweepError if it cannot be written."""
    _answer(plain(text) if sys.stdout.isatty() else text, nl=nl, color=True)


def raw(output: bytes) -> None:
    """Print what a tool printed, on a terminal as `say`. Raises PinsweepError if it cannot be written."""
    _answer(plain(output.decode("utf-8", "replace")) if sys.stdout.isatty() else output, nl=False)


def redraw(line: str) -> None:
    """Put a line, made by `rich` of text that is printable, in the place of the last one; "": clear it."""
    with contextlib.suppress(OSError):
        click.echo(f"\r\x1b[K{line}", err=True, nl=False, color=True)


_begun = False


def nothing_answered() -> bool:
    """Has no answer been begun yet?"""
    return not _begun


def _answer(text: str | bytes, *, nl: bool, color: bool | None = None) -> None:
    global _begun
    _begun = True
    try:
        click.echo(text, nl=nl, color=color)  # True: click takes nothing out of it
    except BrokenPipeError:
        raise
    except OSError as error:
        raise PinsweepError(
            "standard output",
            f"cannot be written: {error.strerror}",
            "see where it leads, and that there is space",
        ) from error
