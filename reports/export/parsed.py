"""Parsed texts as tables, for `pinsweep parse`: JSON for programs, CSV for spreadsheets, aligned text for people."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Final

from orchestrator.experiment.quantities import BYTES
from parsers.errors import UserError
from parsers.measurement import Measurement, Parsed, Scalar
from reports.document import Block, Column, Document, Heading, Quantity, Table, Text, Value
from reports.render import terminal
from reports.text import format as fmt
from reports.text.json_text import json_text
from reports.text.plain import csv_text

FORMS = ("table", "json", "csv")


def parsed_text(
    texts: Sequence[tuple[str, Parsed]], form: str, left: Sequence[Mapping[str, Scalar]] = ()
) -> str:
    """Return what some texts say, (name, parsed) each, in one form; ends with a line end.

    json   {table: [row, …]}: every table of every text, `file` first in each row, missing labels left out; what a
           text says once is in `facts` (file, name, value), what its reader must know in `flags` (file, id, text); what was
           not taken (`left`)
    csv    the measurements of all texts, `file` first, in base units
    table  the measurements of each text, scaled for people

    Raises UserError for another form.
    """
    if form == "json":
        return json_text({**_tables(texts), "left": left})
    if form == "csv":
        return _csv(texts)
    if form == "table":
        return terminal.render(_people(texts)) + "\n"
    raise UserError("--format", f"{form!r} is not a form of a table", f"forms: {', '.join(FORMS)}")


def _tables(texts: Sequence[tuple[str, Parsed]]) -> dict[str, list[dict[str, Scalar]]]:
    names = dict.fromkeys(["measurements", *(table for _, parsed in texts for table in parsed.tables)])
    found: dict[str, list[dict[str, Scalar]]] = {
        table: [
            {"file": name, **row}
            for name, parsed in texts
            if table in parsed.tables
            for row in parsed.tables[table].records()
        ]
        for table in names
    }
    found["facts"] = [
        {"file": n, "name": k, "value": v} for n, parsed in texts for k, v in parsed.facts.items()
    ]
    found["flags"] = [
        {"file": n, "id": flag.id, "text": flag.text} for n, parsed in texts for flag in parsed.flags
    ]
    return found


def _csv(texts: Sequence[tuple[str, Parsed]]) -> str:
    labels = list(dict.fromkeys(label for _, parsed in texts for label in parsed.measurements.columns[:-3]))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    rows: list[list[Scalar]] = [["file", *labels, "metric", "unit", "value"]]
    for name, parsed in texts:
        rows += [[name, *map(row.get, labels), row.metric, row.unit, row.value] for row in parsed.measured()]
    writer.writerows([csv_text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return out.getvalue()


def _people(texts: Sequence[tuple[str, Parsed]]) -> Document:
    """Return a table per text, in the words of the tool."""
    blocks: list[Block] = []
    for name, parsed in texts:
        blocks.append(Heading(name))
        measured = list(parsed.measured())
        if not measured or "program" not in parsed.facts:  # a machine is described
            blocks += [Text(f"  {key} {_fact(key, value)}") for key, value in parsed.facts.items()]
        if not measured:
            continue
        steps = parsed.printed()
        used = [c for c in parsed.measurements.columns[:-3] if any(row.get(c) is not None for row in measured)]  # fmt: skip
        rows = tuple(
            (*(_text(row.get(label)) for label in used), row.metric, _value(row, steps.get(row.metric, 0.0)))
            for row in measured
        )
        columns = tuple(Column(name=label) for label in (*used, "metric", "value"))
        blocks.append(Table(columns=columns, rows=rows, most=len(rows)))
    return Document(title="", blocks=tuple(blocks))


_COUNTED: Final = ("1", "pages")
"""Units of counts, which have every digit."""


def _value(row: Measurement, step: float) -> Value:
    if row.unit in _COUNTED and float(row.value).is_integer():
        return f"{fmt.count(int(row.value))} {row.unit if row.unit != '1' else ''}".rstrip()
    return Quantity(row.value, fmt.said_in(row.metric, row.unit), step)


def _fact(name: str, value: Scalar) -> str:
    return fmt.size(value) if name in BYTES and isinstance(value, int | float) else _text(value)


def _text(cell: Scalar) -> str:
    return "" if cell is None else str(cell)
