"""What a text is written for, a pipe or a terminal of some width, and lines that fit it. Pure.

Into a pipe goes every line as it is: programs read it. On a terminal no line is longer than it is wide, so that none is broken inside
a word: tables give up what can be spared, and what is left out is "…".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reports.text.columns import GAP, WIDTH, columns, wrapped
from reports.text.plain import printable


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """Where a text is read. `width` in characters: what prose is wrapped to, and on a terminal how long a line may be."""

    width: int = WIDTH
    terminal: bool = False
    colours: bool = False


PLAIN: Final = Screen()
"""A pipe, a file, a log."""

NARROWEST, WIDEST = 40, 160
"""What lines are made for at least and at most, whatever the terminal says."""

_LEAST: Final = 14
"""A name is not cut to less: what can be spared goes before."""


def shortened(text: str, width: int) -> str:
    """Return a line of at most `width` characters, cut at the end of a word where one ends in its second half."""
    text = printable(text)
    if len(text) <= width:
        return text
    whole = text[: width - 1].rpartition(" ")[0].rstrip(" ,;:")
    if text[width - 1] == " ":
        whole = text[: width - 1].rstrip(" ,;:")
    return f"{whole if len(whole) > width // 2 else text[: width - 1].rstrip()}…"


def fitted(text: str, screen: Screen) -> str:
    """Return a text in lines that are as long as the screen is wide, at most; for a pipe as it is. What is longer goes on in a next line, but
    for rows of a table, which are cut."""
    if not screen.terminal:
        return text
    return "\n".join(part for line in text.split("\n") for part in _parts(line, screen.width))


def _parts(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    told = line.lstrip(" ")
    if GAP in told:
        return [shortened(line, width)]
    indent = " " * (len(line) - len(told))
    return wrapped(told, first=indent, rest=f"{indent}  ", width=width, whole=True)


def prose(text: str, screen: Screen, *, first: str = "", rest: str | None = None) -> list[str]:
    """Return a text in lines of a terminal, `first` before the first and `rest` (None: as many blanks) before the others; for a pipe as one line."""
    if not screen.terminal:
        return [printable(f"{first}{text}")]
    return wrapped(text, first=first, rest=rest, width=screen.width, whole=True)


def table(
    rows: Sequence[Sequence[str]], screen: Screen, *, right: frozenset[int] = frozenset(), indent: int = 0, give: int,
    spare: Sequence[int] = (), least: int = _LEAST * 2,
) -> list[str]:  # fmt: skip
    """Return a line per row as `columns` does. Of what is too wide for a terminal the columns `spare` are left out, the first of them first, as long
    as column `give` has less room than `least`; then that goes on in a next line."""
    kept = list(range(max(map(len, rows), default=0)))
    shown = [[printable(cell) for cell in row] for row in rows]

    def others() -> int:
        widths = (max(len(row[i]) for row in shown if i < len(row)) for i in kept if i != give)
        return indent + sum(width + len(GAP) for width in widths)

    def drawn(of: Sequence[Sequence[str]]) -> list[str]:
        own = [[row[i] for i in kept if i < len(row)] for row in of]
        return columns(own, right=frozenset(kept.index(i) for i in right if i in kept), indent=indent)

    most = max((len(row[give]) for row in shown if give < len(row)), default=0)
    if not screen.terminal or others() + most <= screen.width:
        return drawn(shown)
    for i in spare:
        if screen.width - others() >= min(most, least):
            break
        kept.remove(i)
    room = max(screen.width - others(), min(least, _LEAST))

    lines: list[list[str]] = []
    for row in shown:
        first, *more = wrapped(row[give], width=room, rest=" ") or [""]
        lines.append([first if i == give else cell for i, cell in enumerate(row)])
        lines += [[part if i == give else "" for i in range(len(row))] for part in more]
    return drawn(lines)
