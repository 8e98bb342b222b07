"""Parsed texts as tables, for `pinsweep parse`: JSON for programs, CSV for spreadsheets, aligned text for people."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from parsers.errors import UserError
from parsers.measurement import Cell, Parsed, Table
from reports import format as fmt

FORMS = ("table", "json", "csv")


def parsed_text(texts: Sequence[tuple[str, Parsed]], form: str) -> str:
    """Return what some texts say, (name, parsed) each, in one form; ends with a line end.

    json   {table: [row, …]}: every table of every text, `file` first in each row, missing labels left out; what a
           text says once is in `facts` (file, name, value), what its reader must know in `flags` (file, id, text)
    csv    the measurements of all texts, `file` first, in base units
    table  the measurements of each text, scaled for people

    Raises UserError for another form.
    """
    if form == "json":
        return json.dumps(_tables(texts), ensure_ascii=False, indent=1) + "\n"
    if form == "csv":
        return _csv(texts)
    if form == "table":
        return "\n".join(_people(*text) for text in texts)
    raise UserError("--format", f"{form!r} is not a form of a table", f"forms: {', '.join(FORMS)}")


def _tables(texts: Sequence[tuple[str, Parsed]]) -> dict[str, list[dict[str, Cell]]]:
    found: dict[str, list[dict[str, Cell]]] = {"measurements": []}
    for name, parsed in texts:
        for table in parsed.tables:
            found.setdefault(table, []).extend(
                {"file": name, **row} for row in parsed.tables[table].records()
            )
    found["facts"] = [
        {"file": n, "name": k, "value": v} for n, parsed in texts for k, v in parsed.facts.items()
    ]
    found["flags"] = [
        {"file": n, "id": flag.id, "text": flag.text} for n, parsed in texts for flag in parsed.flags
    ]
    return found


def _csv(texts: Sequence[tuple[str, Parsed]]) -> str:
    columns = list(dict.fromkeys(c for _, parsed in texts for c in parsed.measurements.columns))
    tail = [c for c in ("metric", "unit", "value") if c in columns]
    columns = [*(c for c in columns if c not in tail), *tail]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["file", *columns])
    for name, parsed in texts:
        for record in parsed.measurements.records():
            writer.writerow([name, *(record.get(column, "") for column in columns)])
    return out.getvalue()


def _people(name: str, parsed: Parsed) -> str:
    table = parsed.measurements
    if not table.rows or "program" not in parsed.facts:  # what a machine is, not what a program measured
        told = [f"  {key} {_text(value)}" for key, value in parsed.facts.items()]
        if not table.rows:
            return "\n".join([name, *(told or ["  nothing that was measured"]), ""])
    else:
        told = []
    used = [
        i for i, c in enumerate(table.columns)
        if c not in ("unit", "value") and any(row[i] is not None for row in table.rows)
    ]  # fmt: skip
    rows = [[table.columns[i] for i in used] + ["value"]]
    rows += [[_text(row[i]) for i in used] + [_quantity(table, row)] for row in table.rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(w) for cell, w in zip(row[:-1], widths, strict=False))
        + "  "
        + row[-1].rjust(widths[-1])
        for row in rows
    ]
    said = ", ".join(
        f"{key} {value}" for key, value in parsed.facts.items() if key in ("program", "tool_version")
    )
    return "\n".join(
        [f"{name}{': ' + said if said else ''}", *told, *("  " + line.rstrip() for line in lines), ""]
    )


def _text(cell: Cell) -> str:
    return "" if cell is None else str(cell)


def _quantity(table: Table, row: Sequence[Cell]) -> str:
    value, unit = row[table.columns.index("value")], row[table.columns.index("unit")]
    return fmt.quantity(float(value), str(unit), 4) if isinstance(value, int | float) else _text(value)
