"""Parsed texts as tables, for `pinsweep parse`: JSON for programs, CSV for spreadsheets, aligned text for people."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Final

from orchestrator.experiment.quantities import BYTES
from parsers.errors import UserError
from parsers.measurement import Parsed, Scalar
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
        return "\n".join(_people(*text) for text in texts)
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


def _people(name: str, parsed: Parsed) -> str:
    measured = list(parsed.measured())
    told = []
    if not measured or "program" not in parsed.facts:  # what a machine is, not what a program measured
        told = [f"  {key} {_fact(key, value)}" for key, value in parsed.facts.items()]
    if not measured:
        return "\n".join([name, *(told or ["  nothing that was measured"]), ""])
    steps = parsed.printed()
    used = [c for c in parsed.measurements.columns[:-3] if any(row.get(c) is not None for row in measured)]
    rows = [[*used, "metric", "value"]]
    rows += [
        [
            *(_text(row.get(c)) for c in used),
            row.metric,
            _value(row.value, fmt.said_in(row.metric, row.unit), steps.get(row.metric, 0.0)),
        ]
        for row in measured
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  " + "  ".join([*map(str.ljust, row[:-1], widths), row[-1].rjust(widths[-1])]).rstrip()
        for row in rows
    ]
    said = ", ".join(f"{k} {v}" for k, v in parsed.facts.items() if k in ("program", "tool_version"))
    return "\n".join([f"{name}{': ' + said if said else ''}", *told, *lines, ""])


_COUNTED: Final = ("1", "pages")
"""Units of what is counted: every digit was printed."""


def _value(value: float, unit: str, step: float) -> str:
    """Return a number as people read it, with four digits; of what is counted with all."""
    if unit in _COUNTED and float(value).is_integer():
        return f"{fmt.count(int(value))}{'' if unit == '1' else f' {unit}'}"
    return fmt.quantity(value, unit, 4, step=step)


def _fact(name: str, value: Scalar) -> str:
    return fmt.size(value) if name in BYTES and isinstance(value, int | float) else _text(value)


def _text(cell: Scalar) -> str:
    return "" if cell is None else str(cell)
