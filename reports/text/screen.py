"""Describe the output device: a pipe, or a terminal with a width. Pure."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Final

from reports.text.plain import printable

WIDTH: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """An output device. `width` is the number of characters in a terminal line."""

    width: int = WIDTH
    terminal: bool = False
    colours: bool = False


PLAIN: Final = Screen()
"""A pipe, a file, a log."""

NARROWEST, WIDEST = 40, 160
"""Limits of the line width, for any terminal."""


def prose(text: str, screen: Screen, *, first: str = "", rest: str = "") -> list[str]:
    """Return a text wrapped for a terminal, or as one line for a pipe. No word is cut.

    `first` precedes the first line, and `rest` precedes the other lines.
    """
    line = printable(f"{first}{text}")
    if not screen.terminal:
        return [line]
    return textwrap.wrap(line, screen.width, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False)
