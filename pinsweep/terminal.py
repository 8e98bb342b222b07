"""All output of pinsweep. I/O.

    say      text for people: answers on stdout, with `err` messages on stderr
    answer   the document of a command: as wide as the terminal, without limit in a pipe
    data     JSON, CSV …: unchanged in a pipe or file, like `say` on a terminal
    redraw   the last line of a terminal, replaced

Control characters from tools, hosts, files and experiments never reach a terminal (`reports.text.plain`). `raw`,
for `pinsweep show --raw`, writes the output of a tool byte for byte into a pipe or file.

A failed write of an answer is an error. A failed write of a message is ignored, so a sweep continues without a
terminal.
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
    """Return the width and colours of stdout, or stderr with `err`. A pipe and TERM=dumb are plain. NO_COLOR and
    FORCE_COLOR apply as in `rich`."""
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
    """Print an answer, or a message with `err`. Raises PinsweepError if an answer cannot be written."""
    from reports.render import terminal

    text = terminal.render(document, screen(err=err))
    if not err:
        _answer(text, nl=True, color=True)
    elif text:
        with contextlib.suppress(OSError):
            click.echo(text, err=True, color=True)


def say(text: str = "", *, err: bool = False, nl: bool = True, fg: str | None = None, bold: bool | None = None) -> None:
    """Print lines for people, with `err` one line; colours only on a terminal. Raises PinsweepError if an answer
    cannot be written."""
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
    """May anything be coloured or bold? Not where NO_COLOR or a dumb terminal says no; into a pipe click writes
    neither."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def say_prose(text: str, *, indent: int = 0, err: bool = False, fg: str | None = None) -> None:
    """Print a line for people, wrapped and indented on a narrow terminal."""
    from reports.text.screen import prose

    for line in prose(text, screen(err=err), first=" " * indent, rest=" " * (indent + 2)):
        say(line, fg=fg, err=err)


def say_lines(lines: Iterable[tuple[str, bool]]) -> None:
    """Print the lines of a long answer at once, as (text, is bold). Raises PinsweepError if it cannot be written."""
    styles = _has_styles()
    text = "".join(
        f"{click.style(plain(line), bold=True) if bold and styles else plain(line)}\n" for line, bold in lines
    )
    _answer(text, nl=False)


def data(text: str, *, nl: bool = False) -> None:
    """Print an answer for a program. Raises PinsweepError if it cannot be written."""
    _answer(plain(text) if sys.stdout.isatty() else text, nl=nl, color=True)


def raw(output: bytes) -> None:
    """Print the output of a tool, on a terminal as `say`. Raises PinsweepError if it cannot be written."""
    _answer(plain(output.decode("utf-8", "replace")) if sys.stdout.isatty() else output, nl=False)


def redraw(line: str) -> None:
    """Replace the last line by a line of `rich`, or clear it with ""."""
    with contextlib.suppress(OSError):
        click.echo(f"\r\x1b[K{line}", err=True, nl=False, color=True)


_begun = False


def nothing_answered() -> bool:
    """Whether no answer has begun."""
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
