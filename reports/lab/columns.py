"""How wide a table is and how its cells are set: which columns hold numbers, which size fits, which columns wrap. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from reports.draw.label_placement import text_width
from reports.lab.model import TEXT_WIDTH_MM, TURNED_WIDTH_MM, Column
from reports.text.format import NOTHING, Shown

Size = Literal["normal", "small", "smaller", "smallest"]

PAGE_ROWS = 40
"""A table of so many rows fits on a page beside its heading."""

_SIZES: tuple[tuple[Size, float], ...] = (("normal", 10), ("small", 9), ("smaller", 8), ("smallest", 7))
_MM_PER_PT = 0.3528
_GAP_MM = 4.3  # between two columns
_NARROWEST_MM = 22.0  # that a wrapped column may become


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How a table is set: its columns, the size of its type, and on which page. Not `fits`: it is too wide for any."""

    columns: tuple[Column, ...]
    size: Size
    turned: bool = False
    fits: bool = True


def shape(names: Sequence[str], rows: Sequence[Sequence[str]], numeric: frozenset[int]) -> Shape:
    """Return the largest type in which a table fits: upright, else with text that wraps, else on a turned page."""
    cells = [[row[i] for row in rows] for i in range(len(names))]
    columns = tuple(_column(name, cells[i], i in numeric) for i, name in enumerate(names))
    widths = [
        max((text_width(t, 1) for t in (*column.heading, *cells[i])), default=0.0) * _MM_PER_PT
        for i, column in enumerate(columns)
    ]  # mm at 1 pt
    gaps = _GAP_MM * (len(names) - 1)
    for turned, page in ((False, TEXT_WIDTH_MM), (True, TURNED_WIDTH_MM)):
        for size, points in _SIZES:
            if sum(widths) * points <= page - gaps:
                return Shape(columns=columns, size=size, turned=turned)
        for size, points in _SIZES[1:]:  # text wraps: a size that is read with ease before a smaller one
            shares = _shares(columns, [w * points for w in widths], page, page - gaps)
            if shares:
                wrapped = (replace(c, share=round(s, 4)) for c, s in zip(columns, shares, strict=True))
                return Shape(columns=tuple(wrapped), size=size, turned=turned)
    return Shape(columns=columns, size="smallest", turned=True, fits=False)


def _column(name: str, cells: Sequence[str], numeric: bool) -> Column:
    known = [c for c in cells if c != NOTHING]
    numbers = [c for c in known if isinstance(c, Shown)]
    widest = max((len(c) for c in cells), default=0)
    heading = _lines(name, max(widest, 13))
    if not numeric:
        return Column(name=name, heading=heading, align="left")
    if not numbers or len(numbers) < len(known):
        return Column(name=name, heading=heading, align="right")
    split = [number.plain.partition(".") for number in numbers]
    return Column(
        name=name,
        heading=heading,
        align="number",
        integers=max(len(whole.lstrip("-")) for whole, _, _ in split),
        signed=any(number.plain.startswith("-") for number in numbers),
        decimals=max(len(part) for _, _, part in split),
        after=max((number.after for number in numbers), key=len),
    )


def _lines(name: str, width: int) -> tuple[str, ...]:
    """Break a heading at blanks into lines of at most `width` characters, where words allow."""
    lines: list[str] = []
    for word in name.split(" "):
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return tuple(lines)


def _shares(columns: Sequence[Column], widths: Sequence[float], page: float, room: float) -> list[float]:
    """Return the share of the page's width of each column that must wrap, 0 for the others; empty if that cannot do.

    Text columns as narrow as their fair part keep their width; the widest share what is left. All in mm.
    """
    text = [i for i, c in enumerate(columns) if c.align == "left"]
    left = room - sum(w for i, w in enumerate(widths) if i not in text)
    wide = sorted(text, key=lambda i: widths[i])
    while wide and widths[wide[0]] <= left / len(wide):
        left -= widths[wide.pop(0)]
    if not wide or left / len(wide) < _NARROWEST_MM:
        return []
    total = sum(widths[i] for i in wide)
    given = {i: 0.5 * left / len(wide) + 0.5 * left * widths[i] / total for i in wide}
    return [given.get(i, 0.0) / page for i in range(len(columns))]
