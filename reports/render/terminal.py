"""A document as text for a terminal, a pipe or a log. Pure.

`rich` draws the tables. No text is read as markup, and control characters are replaced. Lines in a pipe have no length
limit. Figures appear as tables, and folds are left out.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator
from typing import Final

import rich.console
import rich.padding
import rich.table
import rich.text

from reports.document import MARK, Block, Document, Figure, Fold, Heading, Table, Text, Tone
from reports.render.grid import grid
from reports.text.format import NO_BREAK
from reports.text.plain import printable
from reports.text.screen import PLAIN, Screen

_UNLIMITED: Final = 100_000
_LEAST_WORD: Final = 10
_INDENT: Final = 2
_TRAILING: Final = r" +(?=(?: |\x1b\[[\d;]*m)*$)"  # blanks, also those with a colour
_DIGITS: Final = "0123456789−+–"
_STYLES: Final[dict[Tone, str]] = {"warning": "yellow", "next": "", "quiet": "dim"}
_WORDS: Final = {
    **dict.fromkeys(("broken", "slow", "regressed", "worse", "error", "failed", "timeout", "crashed", "killed", "unreadable"), "bold yellow"),
    **dict.fromkeys(("suspicious", "warn", "warning", "disturbed", "incomplete", "misplaced"), "yellow"),
    **dict.fromkeys(("improved", "better", "fast"), "bold bright_blue"),
    **dict.fromkeys(("same", "inconclusive", "info", "note"), "dim"),
}  # fmt: skip
"""Coloured verdicts. The colours are yellow and blue, because orange would become red in a palette of 16 colours."""


def render(document: Document, screen: Screen = PLAIN) -> str:
    """Return a document as lines, without a line end behind the last."""
    parts = [_line(Text(document.title), screen)] if document.title else []
    before: Block | None = None
    for block in document.blocks:
        part = _block(block, screen)
        if part or isinstance(block, Text):
            is_apart = isinstance(block, Heading | Figure | Table) or isinstance(before, Table)
            parts.append(f"\n{part}" if parts and is_apart and not isinstance(before, Heading) else part)
            before = block
    return "\n".join(parts)


def _block(block: Block, screen: Screen) -> str:
    match block:
        case Heading():
            return _line(Text(block.text), screen, style="bold")
        case Text():
            return _line(block, screen, style=_STYLES.get(block.tone, ""))
        case Figure():
            title = _line(Text(block.title), screen, style="bold")
            return "\n".join([title, _table(block.table, screen)])
        case Table():
            return _table(block, screen)
        case Fold():
            return ""


def _line(block: Text, screen: Screen, *, style: str = "") -> str:
    """Return a text as one line. A terminal breaks the line between words, with an indent below the first letter."""
    line = printable(f"{MARK} {block.text}" if block.tone == "warning" else block.text)
    indent = " " * (len(line) - len(line.lstrip(" ")))
    # rich breaks lines at a no-break space, too
    lines = textwrap.wrap(line, screen.width, subsequent_indent=indent, break_on_hyphens=False) if screen.terminal else [line]  # fmt: skip
    return _printed(rich.text.Text("\n".join(lines), style=style), screen)


def _table(table: Table, screen: Screen) -> str:
    shown = grid(table, table.most)
    columns = [list(texts) for texts in zip(shown.headings, *shown.rows, strict=True)]
    numeric, spare = list(shown.numeric), [column.spare for column in table.columns]
    if shown.flags:
        columns.insert(shown.marked, ["", *(MARK if flags else "" for flags in shown.flags)])
        columns.append(["", *shown.flags])
        for flags in (numeric, spare):
            flags.insert(shown.marked, False)
            flags.append(False)
    while screen.terminal and any(spare) and _width(_least(columns, numeric)) > screen.width:
        last = len(spare) - 1 - spare[::-1].index(True)
        for of_columns in (columns, numeric, spare):
            del of_columns[last]
    title = [_line(Text(table.title), screen, style="bold")] if table.title else []
    more = [f"  and {shown.more} more"] if shown.more else []
    if not table.rows:
        body = ""
    elif screen.terminal and _width(_least(columns, numeric)) > screen.width:
        body = "\n".join(_stacked(columns, screen))
    else:
        body = _drawn(columns, numeric, screen)
    return "\n".join(filter(None, [*title, body, *more]))


def _stacked(columns: list[list[str]], screen: Screen) -> Iterator[str]:
    """Yield each row as lines of "heading: value", for a terminal that is too narrow for the table."""
    headings, *rows = zip(*columns, strict=True)
    for row in rows:
        pairs = zip(headings, row, strict=True)
        cells = ((head, cell.replace(" ", NO_BREAK)) for head, cell in pairs if cell)
        text = ", ".join(f"{head}: {cell}" if head else cell for head, cell in cells)
        yield _line(Text(f"{' ' * _INDENT}{text}"), screen)


def _drawn(columns: list[list[str]], numeric: list[bool], screen: Screen) -> str:
    drawn = rich.table.Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column, right, width in zip(columns, numeric, _widths(columns, numeric, screen), strict=True):
        drawn.add_column(_cell(column[0], right), justify="right" if right else "left", overflow="fold", width=width)
    for row in list(zip(*columns, strict=True))[1:]:
        drawn.add_row(*map(_cell, row, numeric))
    return _printed(rich.padding.Padding(drawn, (0, 0, 0, _INDENT), expand=False), screen)


def _cell(text: str, numeric: bool) -> rich.text.Text:
    """Return the text of a cell, without a line break between number and unit."""
    style = "yellow" if text == MARK else _WORDS.get(text, "")
    return rich.text.Text(text.replace(" ", NO_BREAK) if numeric and text[:1] in _DIGITS else text, style=style)


def _widths(columns: list[list[str]], numeric: list[bool], screen: Screen) -> list[int]:
    """Return widths that fit the screen if possible, without truncated numbers or short words."""
    widths, least = [max(map(len, column)) for column in columns], _least(columns, numeric)
    while screen.terminal and _width(widths) > screen.width:
        widest = max(range(len(widths)), key=lambda i: (widths[i] > least[i], widths[i]))
        if widths[widest] <= least[widest]:
            break
        widths[widest] -= 1
    return widths


def _least(columns: list[list[str]], numeric: list[bool]) -> list[int]:
    """Return the widths below which a number or a short word would be cut."""
    return [
        max(len(text) if right and n else min(len(word), _LEAST_WORD) for n, text in enumerate(column) for word in text.split() or [""])
        for column, right in zip(columns, numeric, strict=True)
    ]  # fmt: skip


def _width(widths: list[int]) -> int:
    return sum(widths) + 2 * len(widths)


def _printed(drawn: rich.console.RenderableType, screen: Screen) -> str:
    """Return what `rich` draws, no wider than a terminal is."""
    out = io.StringIO()
    console = rich.console.Console(
        file=out, width=screen.width if screen.terminal else _UNLIMITED, force_terminal=screen.colours,
        color_system="auto" if screen.colours else None, no_color=not screen.colours,
    )  # fmt: skip
    console.print(drawn)
    lines = out.getvalue().replace(NO_BREAK, " ").removesuffix("\n").split("\n")
    return "\n".join(re.sub(_TRAILING, "", line) for line in lines)
