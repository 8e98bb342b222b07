"""Aligned text for a terminal: columns side by side, nothing in them that a terminal would obey. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

GAP = "  "


def printable(text: str) -> str:
    """Replace control characters: host names, titles and tools' words may come from anywhere."""
    if text.isprintable():
        return text
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs") else c for c in text)


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
