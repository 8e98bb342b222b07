"""A document for programs: tables as lists of records in base units. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reports.document import Block, Document, Figure, Fold, Interval, Quantity, Table, Value


def render(document: Document) -> dict[str, Any]:
    """Return the title, and the records of each table and figure by id. Tables without an id are left out."""
    return {
        "title": document.title,
        **{table.id: records(table) for table in _tables(document.blocks) if table.id},
    }


def records(table: Table) -> list[dict[str, Any]]:
    """Return one record per row. A `Quantity` gives a value and `NAME_unit`. An `Interval` gives `NAME_low` and
    `NAME_high`.
    """
    flags = table.flags or (None,) * len(table.rows)
    return [
        _record(row) | ({} if row_flags is None else {"flags": row_flags})
        for row, row_flags in zip(table.records(), flags, strict=True)
    ]


def _record(row: dict[str, Value]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name, value in row.items():
        match value:
            case Quantity():
                record |= {name: value.value, f"{name}_unit": value.unit}
            case Interval():
                record |= {f"{name}_low": value.low, f"{name}_high": value.high}
            case _:
                record[name] = value
    return record


def _tables(blocks: Iterable[Block]) -> Iterable[Table]:
    for block in blocks:
        match block:
            case Table():
                yield block
            case Figure():
                yield from filter(None, (block.table, block.summary))
            case Fold():
                yield from _tables(block.blocks)
            case _:
                pass
