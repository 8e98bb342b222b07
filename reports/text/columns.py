"""Text for a terminal of 80 columns: wrapped, cut or in columns side by side; nothing in it that a terminal would obey. Pure."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import Final

from reports.text import format as fmt
from reports.text.plain import printable

WIDTH: Final = 80
GAP = "  "


def wrapped(
    text: str, *, first: str = "", rest: str | None = None, width: int = WIDTH, whole: bool | None = None
) -> list[str]:
    """Return the lines of a text, `first` before the first of them and `rest` (None: as many blanks) before the others.

    A word longer than a line is not cut, as names and paths are copied; in a column, narrower than the terminal, it is (`whole` says
    otherwise). A number and its unit stay together.
    """
    head = printable(first)
    lines = textwrap.wrap(
        re.sub(fmt.BEFORE_UNIT, _GLUE, printable(text)), width, initial_indent=head,
        subsequent_indent=" " * len(head) if rest is None else rest, break_long_words=width < WIDTH if whole is None else not whole, break_on_hyphens=False,
    )  # fmt: skip
    return [line.replace(_GLUE, " ") for line in lines]


_GLUE: Final = "\0"  # which no printable text has


def cut(text: str, width: int = WIDTH) -> str:
    """Return a text as one line of no more than `width` characters, "…" in the place of what is left out."""
    text = printable(text.replace("\n", " "))
    return text if len(text) <= width else text[: width - 1] + "…"


def columns(
    rows: Sequence[Sequence[str]], *, right: frozenset[int] = frozenset(), indent: int = 0
) -> list[str]:
    """Return a line per row, cells padded to their column's width, those in `right` to the left of their edge.

    Nothing is cut: a name that is cut cannot be copied.
    """
    shown = [[printable(cell) for cell in row] for row in rows]
    widths = [
        max(len(row[i]) for row in shown if i < len(row)) for i in range(max(map(len, shown), default=0))
    ]
    return [
        (
            " " * indent
            + GAP.join(
                cell.rjust(widths[i]) if i in right else cell.ljust(widths[i]) for i, cell in enumerate(row)
            )
        ).rstrip()
        for row in shown
    ]
