"""Remove characters that a terminal, a page or a reader's eye would obey: control and bidirectional marks. Pure.

Host names, titles, file names and output of tools are not trusted.
"""

from __future__ import annotations

import re

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Bidi_Control of Unicode. Such a character changes the displayed order of a name."""

_CONTROL = f"[\x00-\x1f\x7f-\x9f\u2028\u2029{_BIDI}\ud800-\udfff]"
"""C0, C1, line and paragraph separators, lone surrogates (a file name that is not UTF-8), and the above.
Compiled when the first text holds one: most commands never see any."""

_CONTROL_BUT_LINES = _CONTROL.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f")


def printable(text: str) -> str:
    """Return a text of one line with every control character and bidirectional mark replaced."""
    return text if text.isprintable() else re.sub(_CONTROL, "\ufffd", text)


def csv_text(text: str) -> str:
    """Return a text for a CSV cell: as `plain`, with an apostrophe in front of a spreadsheet formula."""
    shown = plain(text)
    if shown[:1] not in _FORMULA or not shown:
        return shown
    try:
        float(shown)
    except ValueError:
        return f"'{shown}"
    return shown


_FORMULA = "=+-@\t\n"


def plain(text: str) -> str:
    """Return a text of several lines: as `printable`, but with line ends and tabs."""
    return text if text.isprintable() else re.sub(_CONTROL_BUT_LINES, "\ufffd", text.replace("\r\n", "\n"))
