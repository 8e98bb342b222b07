"""Find the parts of a report that were not read: tables typed by hand, and output of numactl or lscpu. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from parsers import DESCRIPTIONS, get_parser, parser_names, taken
from parsers.text import number

LONGEST: Final = 200_000
"""Characters of a text to search for tables. Nobody types more."""

_MOST: Final = 12
"""Number of table forms to check for missing figures."""

_FEWEST_ROWS: Final = 3
_ABOVE: Final = 20
"""Lines above a table that may name its tool."""

_WIDEST: Final = 1000
"""Characters of a row."""

_RULE: Final = re.compile(r"[\s|:+=-]*")
_BETWEEN: Final = re.compile(r"(?<!\s)\s*\|\s*|(?<!\s)\s*\t\s*|\s{2,}")
_CELL: Final = re.compile(r"[-+]?[\d.,]+(?:e[-+]?\d+)?[kmgt]?i?b?%?", re.IGNORECASE)


class Typed(NamedTuple):
    """Rows of a text that have the same columns and follow one another."""

    first: int  # lines, from 0; blank ones may lie between
    last: int
    columns: int
    head: str  # the words above its first row, and the first words after a blank line


class Form(NamedTuple):
    """Similar tables of a text that gave none of its figures."""

    where: str  # "lines 59 to 68 and 2 more of this form"
    tool: str  # that is named above the first; "" where none is
    columns: int
    printer: str  # the program that printed them, if it is one that is not read

    @property
    def called(self) -> str:
        if self.printer:
            return f"the output of {self.printer}"
        return f"a table {f'of {self.tool} ' if self.tool else ''}that somebody typed"

    def reason(self, name: str) -> str:
        """Return the reason why the tables were not read, and the next step. name: the file name for the command."""
        if self.printer:
            return f"{self.called}, which is not read"
        command = f'pinsweep parse {shlex.quote(name)} --tool {self.tool or "TOOL"} --columns "…"'
        hint = f"(name them in order: {command}; docs/parsing.md#tables)"
        return f"{self.called}: nothing says what its {self.columns} columns hold {hint}"


def left_out(text: str, figures: Callable[[str], object]) -> Iterator[Form]:
    """Yield the tables of a text that gave none of its figures.

    `figures` reads a text in the same way as before. A table was not read if the figures do not change without the
    table.
    """
    if len(text) > LONGEST:
        return
    lines = text.split("\n")
    forms: dict[tuple[int, str], list[Typed]] = {}
    for table in tables(lines):
        forms.setdefault((table.columns, table.head), []).append(table)
    known = figures(text) if forms else None
    for (columns, _), equal in list(forms.items())[:_MOST]:
        rows = {at for table in equal for at in range(table.first, table.last + 1)}
        if figures("\n".join("" if at in rows else line for at, line in enumerate(lines))) == known:
            first = equal[0]
            more = f" and {len(equal) - 1} more of this form" * (len(equal) > 1)
            above = lines[max(0, first.first - _ABOVE) : first.first + 1]
            where = f"lines {first.first + 1} to {first.last + 1}{more}"
            yield Form(where, _tool(above[:-1]), columns, _printer(above))


def described(text: str) -> list[str]:
    """Return the tools that describe a machine and have lines in a text."""
    return [tool for tool in sorted(DESCRIPTIONS) if len(text) <= LONGEST and get_parser(tool).recognise(text)]


def tables(lines: Sequence[str]) -> list[Typed]:
    """Return the tables of a text.

    A table has three rows or more. A row has two or more cells, and most cells are numbers.
    """
    results: list[Typed] = []
    rows: list[int] = []
    columns, above, head = 0, "", ""
    for at, line in enumerate([*lines, ""]):
        width = _row(line)
        if rows and width != columns:
            if len(rows) >= _FEWEST_ROWS:
                results.append(Typed(rows[0], rows[-1], columns, head))
            rows = []
        if width:
            if not rows:
                head = head if width == columns and not above else above
                columns, above = width, ""
            rows.append(at)
        elif not _RULE.fullmatch(line):
            above = " ".join(line.lower().split())
    return results


def _row(line: str) -> int:
    """Return the number of cells in a row, or 0 if the line is not a row."""
    if len(line) > _WIDEST:
        return 0
    words = [word for word in _BETWEEN.split(line.strip().strip("|").strip()) if word]
    cells = (word.rstrip("kmgtibKMGTIB%") for word in words if _CELL.fullmatch(word))
    numbers = sum(number(cell) is not None for cell in cells)
    return len(words) if len(words) >= 2 and 2 * numbers > len(words) else 0


def _tool(above: Sequence[str]) -> str:
    """Return the only tool that the nearest line above names, or ""."""
    for line in reversed(above):
        named = [name for name in parser_names() if (words := taken(name).program) and re.search(words, line)]
        if named:
            return named[0] if len(named) == 1 else ""
    return ""


def _printer(above: Sequence[str]) -> str:
    """Return the program without a parser whose output begins in these lines, or ""."""
    text, flags = "\n".join(above), re.MULTILINE | re.IGNORECASE
    kinds = (kind for name in parser_names() for kind in taken(name).not_yet)
    return next((kind.name for kind in kinds if re.search(kind.known_by, text, flags)), "")
