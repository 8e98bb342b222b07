"""How wide a table is and how its cells are set: which columns hold numbers, which size fits, which columns wrap, and where one that is wider
than the page is parted. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from reports.draw.label_placement import text_width
from reports.lab.model import TEXT_WIDTH_MM, Column, Part, Size
from reports.text.format import NOTHING, Shown

PAGE_ROWS = 40
"""A table of so many rows fits on a page beside its heading."""

_SIZES: Final[Mapping[int, Size]] = {10: "normal", 9: "small", 8: "smaller", 7: "smallest"}
"""By their points; the last where nothing else would do."""

_MM_PER_PT = 0.3528
_GAP_MM = 4.3  # between two columns
_NARROW_MM, _NARROWEST_MM = 22.0, 14.0  # that a wrapped column becomes, and may where all would not fit else
_MOST_KEYS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How a table is set: its columns, the size of its type, and its parts, one below the other. Not `fits`: one of its columns is too wide for any page."""

    columns: tuple[Column, ...]
    size: Size
    parts: tuple[Part, ...]
    fits: bool = True


def shape(names: Sequence[str], rows: Sequence[Sequence[str]], numeric: frozenset[int]) -> Shape:
    """Return the largest type in which a table fits: as it is, else with text that wraps, else in two parts or more, each with the columns that tell its
    rows apart."""
    cells = [[row[i] for row in rows] for i in range(len(names))]
    columns = tuple(_column(name, cells[i], i in numeric) for i, name in enumerate(names))
    widths = [
        max((text_width(t, 1) for t in (*column.heading, *cells[i])), default=0.0) * _MM_PER_PT
        for i, column in enumerate(columns)
    ]  # mm at 1 pt
    every = tuple(range(len(names)))
    ways: list[tuple[int, float | None]] = [(points, None) for points in (10, 9, 8)]
    ways += [(9, _NARROW_MM), (8, _NARROW_MM), (8, _NARROWEST_MM)]
    for points, narrowest in ways:
        if part := _part(columns, widths, every, points, narrowest):
            return Shape(columns=columns, size=_SIZES[points], parts=(part,))
    keys = _keys(rows, numeric)
    parted = {points: _parts(columns, widths, keys, points) for points in (9, 8, 7)}
    points = min((p for p in parted if parted[p]), key=lambda p: (p < 8, len(parted[p])), default=7)
    if len(parted[points]) != 2 and (part := _part(columns, widths, every, 7, _NARROWEST_MM)):
        return Shape(columns=columns, size=_SIZES[7], parts=(part,))
    if parted[points]:
        return Shape(columns=columns, size=_SIZES[points], parts=parted[points])
    return Shape(columns=columns, size=_SIZES[7], parts=(Part(columns=columns, at=every),), fits=False)


def _keys(rows: Sequence[Sequence[str]], numeric: frozenset[int]) -> list[int]:
    """Return the fewest of the first columns that tell the rows apart; where none do, those that are texts, the first at least."""
    most = min(_MOST_KEYS, len(rows[0]) - 1) if rows else 1

    def apart(at: Sequence[int]) -> bool:
        return len({tuple(row[i] for i in at) for row in rows}) == len(rows)

    keys = next((list(range(n)) for n in range(1, most + 1) if apart(range(n))), [])
    if not keys:
        return [0, *(i for i in range(1, most) if not numeric & set(range(i + 1)))]
    for i in reversed(keys):
        rest = [key for key in keys if key != i]
        if rest and apart(rest):
            keys = rest
    return keys


def _parts(
    columns: Sequence[Column], widths: Sequence[float], keys: Sequence[int], points: float
) -> tuple[Part, ...]:
    """Return the parts of a table, each with the keys and as many of the others as fit; none where one does not."""
    parts: list[Part] = []
    begun: list[int] = []
    for i in range(len(columns)):
        if i in keys:
            continue
        part = begun and _part(columns, widths, sorted([*keys, *begun, i]), points)
        if part:
            parts[-1] = part
            begun.append(i)
            continue
        alone = sorted([*keys, i])
        part = _part(columns, widths, alone, points) or _part(columns, widths, alone, points, _NARROW_MM)
        if part is None:
            return ()
        parts.append(part)
        begun = [i]
    return tuple(parts)


def _part(
    columns: Sequence[Column], widths: Sequence[float], at: Sequence[int], points: float, narrowest: float | None = None,
) -> Part | None:  # fmt: skip
    """Return some columns as they stand on a page in a size, where texts may wrap in columns that are not narrower than this (mm); None where they do not
    fit."""
    own, wide = [columns[i] for i in at], [widths[i] * points for i in at]
    room = TEXT_WIDTH_MM - _GAP_MM * (len(own) - 1)
    if narrowest is None:
        return Part(columns=tuple(own), at=tuple(at)) if sum(wide) <= room else None
    shares = _shares(own, wide, TEXT_WIDTH_MM, room, narrowest)
    if not shares:
        return None
    wrapped = (replace(c, share=round(s, 4)) for c, s in zip(own, shares, strict=True))
    return Part(columns=tuple(wrapped), at=tuple(at))


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


def _shares(
    columns: Sequence[Column], widths: Sequence[float], page: float, room: float, narrowest: float
) -> list[float]:
    """Return the share of the page's width of each column that must wrap, 0 for the others; empty if that cannot do.

    Text columns as narrow as their fair part keep their width; the widest share what is left. All in mm.
    """
    text = [i for i, c in enumerate(columns) if c.align == "left"]
    left = room - sum(w for i, w in enumerate(widths) if i not in text)
    wide = sorted(text, key=lambda i: widths[i])
    while wide and widths[wide[0]] <= left / len(wide):
        left -= widths[wide.pop(0)]
    if not wide or left / len(wide) < narrowest:
        return []
    total = sum(widths[i] for i in wide)
    given = {i: 0.5 * left / len(wide) + 0.5 * left * widths[i] / total for i in wide}
    return [given.get(i, 0.0) / page for i in range(len(columns))]
