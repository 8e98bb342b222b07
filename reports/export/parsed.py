"""Format parsed texts for `pinsweep parse`: JSON for programs, CSV for spreadsheets, aligned text for people."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Final

from orchestrator.experiment.quantities import BYTES
from parsers.measurement import Measurement, Parsed, Scalar
from reports.document import Block, Column, Document, Heading, Quantity, Table, Text, Value
from reports.render import terminal
from reports.text import format as fmt
from reports.text.json_text import json_text
from reports.text.plain import csv_text

Texts = Sequence[tuple[str, Parsed]]

_COUNTS: Final = ("1", "pages")
"""Units of counts, which have every digit."""


def parsed_text(texts: Texts, form: str, left: Sequence[Mapping[str, Scalar]] = ()) -> str:
    """Return parsed texts, (name, parsed) each, in one of three forms. The result ends with a line end.

    - json: {table: [row, …]} with every table of every text, `file` first in each row, missing labels left out. `facts`
    (file, name, value), `flags` (file, id, text) and `left`, the lines that were not imported, follow.
    - csv: the measurements of all texts, `file` first, in base units.
    - table: the measurements of each text, scaled for people.
    """
    if form == "json":
        return json_text({**_tables(texts), "left": left})
    return _csv(texts) if form == "csv" else terminal.render(_document(texts)) + "\n"


def _tables(texts: Texts) -> dict[str, list[dict[str, Scalar]]]:
    tables: dict[str, list[dict[str, Scalar]]] = {"measurements": []}
    facts: list[dict[str, Scalar]] = []
    flags: list[dict[str, Scalar]] = []
    for file, parsed in texts:
        for name, table in parsed.tables.items():
            tables.setdefault(name, []).extend({"file": file, **row} for row in table.records())
        facts += [{"file": file, "name": name, "value": value} for name, value in parsed.facts.items()]
        flags += [{"file": file, "id": flag.id, "text": flag.text} for flag in parsed.flags]
    return {**tables, "facts": facts, "flags": flags}


def _csv(texts: Texts) -> str:
    labels = list(dict.fromkeys(label for _, parsed in texts for label in parsed.measurements.columns[:-3]))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    rows: list[list[Scalar]] = [["file", *labels, "metric", "unit", "value"]]
    for name, parsed in texts:
        rows += [[name, *map(row.get, labels), row.metric, row.unit, row.value] for row in parsed.measured()]
    writer.writerows([csv_text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return out.getvalue()


def _document(texts: Texts) -> Document:
    """Return a table per text, in the tool's vocabulary."""
    blocks: list[Block] = []
    for name, parsed in texts:
        blocks.append(Heading(name))
        measured, steps = list(parsed.measured()), parsed.printed()
        if not measured or "program" not in parsed.facts:  # a machine is described
            blocks += [Text(f"  {key} {_fact(key, value)}") for key, value in parsed.facts.items()]
        labels = [c for c in parsed.measurements.columns[:-3] if any(row.get(c) is not None for row in measured)]  # fmt: skip
        rows = tuple(
            (
                *(_text(row.get(label)) for label in labels),
                row.metric,
                _value(row, steps.get(row.metric, 0.0)),
            )
            for row in measured
        )
        columns = tuple(Column(name=label) for label in (*labels, "metric", "value"))
        blocks += [Table(columns=columns, rows=rows, most=len(rows))] if rows else []
    return Document(title="", blocks=tuple(blocks))


def _value(row: Measurement, step: float) -> Value:
    if row.unit in _COUNTS and float(row.value).is_integer():
        return f"{fmt.count(int(row.value))} {row.unit if row.unit != '1' else ''}".rstrip()
    return Quantity(row.value, fmt.said_in(row.metric, row.unit), step)


def _fact(name: str, value: Scalar) -> str:
    return fmt.size(value) if name in BYTES and isinstance(value, int | float) else _text(value)


def _text(cell: Scalar) -> str:
    return "" if cell is None else str(cell)
