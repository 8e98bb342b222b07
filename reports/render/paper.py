"""Layout of a table on paper: type size and wrapped columns. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from reports.render.grid import Grid

WIDTH_MM: Final = 160.0
"""Width of the text on the page: A4 with 25 mm at each side."""
MAX_ROWS: Final = 60
UNBROKEN_ROWS: Final = 16
"""A longer table is broken over pages rather than leave the foot of one empty."""

_MM_PER_SIGN: Final = 0.2  # at 1 pt
_GAP_MM: Final = 4.3
_MIN_WRAPPED_MM: Final = 18.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The type size of a table in pt. Each column has a share of the text width if the column wraps, else 0."""

    points: int
    shares: tuple[float, ...]


def shape(grid: Grid) -> Shape | None:
    """Return the layout with the largest type that fits, or None if the table fits on no page."""
    columns = [max(map(len, texts)) for texts in zip(grid.headings, *grid.rows, strict=True)]
    room = WIDTH_MM - _GAP_MM * (len(columns) - 1)
    if len(grid.rows) > MAX_ROWS:
        return None
    for points in (10, 9, 8, 7):
        widths = [signs * points * _MM_PER_SIGN for signs in columns]
        if sum(widths) <= room:
            return Shape(points=points, shares=(0.0,) * len(columns))
        wrapped = _wrapped(widths, grid.numeric, room)
        if points < 10 and wrapped:
            return Shape(points=points, shares=wrapped)
    return None


def _wrapped(widths: list[float], numeric: tuple[bool, ...], room: float) -> tuple[float, ...]:
    """Return the shares of the widest texts, which fill the rest of the width, or () if too little width remains."""
    wide = sorted((i for i, is_number in enumerate(numeric) if not is_number), key=lambda i: widths[i])
    left = room - sum(width for i, width in enumerate(widths) if numeric[i])
    while wide and widths[wide[0]] <= left / len(wide):
        left -= widths[wide.pop(0)]
    if not wide or left / len(wide) < _MIN_WRAPPED_MM:
        return ()
    return tuple(left / len(wide) / WIDTH_MM if i in wide else 0.0 for i in range(len(widths)))
