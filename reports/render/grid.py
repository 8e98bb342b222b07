"""Table values as texts for any renderer: scaled, rounded and with units. Pure.

A column of plain numbers has one unit in the heading. If a common unit would make some numbers hard to read, each cell
has a unit. A `Quantity` always has a unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from reports.document import MARK, Column, Interval, Quantity, Table, Value
from reports.text import format as fmt
from reports.text.plain import printable

_SINGLE_SCALE = 1e-2, 1e5
"""A unit fits a column if all numbers in this unit are within these limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Printable texts of a table. `flags` is () if no row has flags."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]  # of each column: right-aligned
    flags: tuple[str, ...]
    more: int  # rows that are left out
    marked: int  # the column with a mark before each flagged text


def grid(table: Table, most: int | None = None) -> Grid:
    """Return the first `most` rows of a table as texts, or all rows if `most` is None."""
    step = -(-len(table.rows) // most) if table.spread and most else 1
    rows, flags = table.rows[::step][:most], table.flags[::step][:most]
    columns = [_column(column, [row[i] for row in rows]) for i, column in enumerate(table.columns)]
    return Grid(
        headings=tuple(printable(heading) for heading, _, _ in columns),
        rows=tuple(zip(*(texts for _, texts, _ in columns), strict=True)) if columns else (),
        numeric=tuple(numeric for _, _, numeric in columns),
        flags=tuple(map(printable, flags)) if any(flags) else (),
        more=len(table.rows) - len(rows),
        marked=_leading(table, [numeric for _, _, numeric in columns]),
    )


def text(value: Value, unit: str = "", *, step: float | None = None, signed: bool = False) -> str:
    """Return a value with a unit. `text(1.7e10, "B/s")` is "17.0 GB/s", `text(0.042, "%", signed=True)` is "+4.2 %"."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return fmt.NOTHING
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Quantity):
        return text(value.value, value.unit, step=value.step, signed=signed)
    if isinstance(value, Interval):
        return _interval(value, signed=signed)
    if unit == "date":
        return f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d}"
    if unit == "%":
        return fmt.change(value) if signed else fmt.percent(value)
    if unit == "B":
        return fmt.size(value)
    if unit == "s":
        return fmt.seconds(value)
    if not unit:
        return str(value) if isinstance(value, int) else fmt.number(value, step=step)
    return fmt.quantity(value, unit, step=step)


def _leading(table: Table, numeric: Sequence[bool]) -> int:
    """Return the first column with a unit, or else the first column of numbers."""
    for i, column in enumerate(table.columns):
        if numeric[i] and (column.unit or isinstance(_first(table, i), Quantity | Interval)):
            return i
    return numeric.index(True) if any(numeric) else 0


def _first(table: Table, i: int) -> Value:
    return next((row[i] for row in table.rows if row[i] is not None), None)


def _interval(value: Interval, *, signed: bool) -> str:
    if value.unit == "%":
        low, high = ((fmt.change if signed else fmt.percent)(end).removesuffix(" %") for end in (value.low, value.high))
        return f"{fmt.ends(low, high)} %"
    return fmt.span((value.low, value.high), value.unit)


def _column(column: Column, values: Sequence[Value]) -> tuple[str, list[str], bool]:
    """Return heading, texts and whether the column is one of numbers."""
    known = [value for value in values if value is not None]
    numeric = bool(known) and all(
        isinstance(value, int | float | Quantity | Interval) and not isinstance(value, bool) for value in known
    )
    scale = _scale(column, known) if numeric else None
    if scale is None:
        texts = [text(value, column.unit, step=column.step, signed=column.signed) for value in values]
        return column.heading, texts, numeric
    heading = f"{column.heading} ({scale.unit})" if scale.unit not in ("", "1") else column.heading
    return heading, [_scaled(value, scale, column.step) for value in values], True


def _scale(column: Column, values: Iterable[Value]) -> fmt.Scale | None:
    """Return the common unit of a column, or None if each cell has a unit."""
    if column.unit in ("", "%", "B", "s", "date"):
        return None
    ends: list[float] = []
    for value in values:
        if isinstance(value, Quantity) or (isinstance(value, Interval) and value.unit != column.unit):
            return None
        if isinstance(value, Interval):
            ends += value.low, value.high
        elif isinstance(value, int | float):
            ends.append(value)
    scale = fmt.scale_for(ends, column.unit)
    low, high = _SINGLE_SCALE
    return scale if all(not end or low <= abs(end) / scale.factor < high for end in ends) else None


def _scaled(value: Value, scale: fmt.Scale, step: float | None) -> str:
    if isinstance(value, Interval):
        return fmt.ends(scale.number(value.low, step=step), scale.number(value.high, step=step))
    return scale.number(value, step=step) if isinstance(value, int | float) else fmt.NOTHING


def with_flags(shown: Grid) -> Grid:
    """Return a grid with flags: a mark before the number, and check ids in the last column."""
    if not shown.flags:
        return shown
    rows = [
        (*(f"{MARK} {text}" if flags and i == shown.marked else text for i, text in enumerate(row)), flags)
        for row, flags in zip(shown.rows, shown.flags, strict=True)
    ]
    return Grid(
        headings=(*shown.headings, "Checks"), rows=tuple(rows), numeric=(*shown.numeric, False), flags=(), more=shown.more, marked=shown.marked
    )  # fmt: skip
