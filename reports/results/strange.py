"""Find content of a result file that no pinsweep run writes, after an error with the file. I/O.

`orchestrator.store.rows` accepts possible rows. This module checks that the stored values are the values of the text,
and that a tool can have these numbers and options. The check takes as long as parsing all texts again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from orchestrator.model import Cell, RunRecord
from orchestrator.store.result_file import Damaged, ResultFile, open_result
from orchestrator.tools import get_tool, tool_names
from parsers.errors import ParseError, PinsweepError, UserError
from parsers.measurement import Parsed
from reports.text.plain import printable

LARGEST: Final = 1e24
"""Limit of all numbers in base units. A year is 3e16 ns, and all memory of the world is about 1e22 bytes."""


def damage(path: Path) -> Damaged | None:
    """Return the first strange content of a result file. None for an intact file, and for other files."""
    try:
        with open_result(path) as file:
            cells = {stored.cell.point_id: stored.cell for stored in file.cells()}
            every = file.runs()
            for record in every:
                if what := next(_of_run(file, record, cells[record.point_id]), ""):
                    return Damaged(path, f"run {record.run_id}, {what}")
            asked = dict.fromkeys(record.point_id for record in every if not record.capture)
            for what in filter(None, (_of_options(cells[point]) for point in asked)):
                return Damaged(path, what)
    except Damaged as error:
        return error
    except (PinsweepError, OSError):
        return None
    return None


def _of_options(cell: Cell) -> str:
    if cell.tool not in tool_names():
        return ""
    known = get_tool(cell.tool).options()
    for name, value in cell.options.items():
        option = known.get(name)
        values = value if isinstance(value, tuple) and (option is None or option.inner) else (value,)
        for one in values:
            wrong = option.problem(one) if option else "" if isinstance(one, str | int | float) else "is no value"
            if wrong or (isinstance(one, str) and cell.tool != "command" and printable(one) != one):
                return f"point {cell.point_id!r:.40}: its option {name!r:.40} is {one!r:.60}, which {cell.tool} does not take"
    return ""


def _of_run(file: ResultFile, record: RunRecord, cell: Cell) -> Iterator[str]:
    if record.status not in ("ok", "disturbed"):
        return
    try:
        result = file.parsed_anew(record, cell)
    except (ParseError, UserError):  # it is said to be unreadable
        result = None
    try:
        stored_result = file.parsed(record, cell)
    except (ParseError, UserError):
        stored_result = None
    if stored_result is not None and (result is None or not _is_same(stored_result, result)):
        yield "its reading is not what its text says"
    if result is not None:
        yield from _of_numbers(result, signed=cell.tool == "command")


def _is_same(a: Parsed, b: Parsed) -> bool:
    return (
        {**a.facts} == {**b.facts}
        and a.flags == b.flags
        and {*a.tables} == {*b.tables}
        and all(
            table.columns == b.tables[name].columns and table.rows == b.tables[name].rows
            for name, table in a.tables.items()
        )
    )


def _of_numbers(parsed: Parsed, *, signed: bool) -> Iterator[str]:
    for name, table in parsed.tables.items():
        for row in table.rows:
            for value in row:
                if isinstance(value, int | float) and not isinstance(value, bool):
                    small = isinstance(value, float) and 0 < abs(value) < 1 / LARGEST
                    if abs(value) > LARGEST or small or (isinstance(value, float) and not math.isfinite(value)):
                        yield f"its text says {value!s:.40} ({name}), which nothing measures"
                    if value < 0 and name == "measurements" and not signed:
                        yield f"its text says {value!s:.40} ({name}), and no figure of its tool is negative"


__all__ = ["damage"]
