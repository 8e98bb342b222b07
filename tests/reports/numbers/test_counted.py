"""Numbers that are counted say what the same rows said one by one, and are not gone through to say it."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.model import Cell
from parsers.measurement import Counted, Parsed, Table
from reports.numbers import fresh

COLUMNS = ("index", "metric", "unit", "value")
VALUES = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=4)
SPECS = {name: {"regex": name, "unit": "1/s", "better": "higher"} for name in ("iops", "bandwidth", "n", "m")}
CELL = Cell(sweep="s", tool="command", options={"command": "x", "metrics": SPECS})
TEXT = st.dictionaries(st.sampled_from(["iops", "bandwidth", "n", "m"]), VALUES, min_size=1)


def counted(text: dict[str, list[float]]) -> Parsed:
    rows = Counted((metric, "1/s", values) for metric, values in text.items())
    return Parsed(tables={"measurements": Table(columns=COLUMNS, rows=rows)})


def one_by_one(parsed: Parsed) -> Parsed:
    return dataclasses.replace(
        parsed, tables={"measurements": Table(columns=COLUMNS, rows=tuple(parsed.measurements.rows))}
    )


def lead(texts: list[Parsed]) -> object:
    cell = fresh(CELL, texts)
    return cell.lead and (cell.lead.metric, cell.values)


@given(st.lists(TEXT, min_size=1, max_size=4))
def test_counted_numbers_say_what_their_rows_do(texts: list[dict[str, list[float]]]) -> None:
    short = [counted(text) for text in texts]
    long = [one_by_one(parsed) for parsed in short]

    assert lead(short) == lead(long)


def test_the_first_number_leads_and_the_others_are_counted() -> None:
    repeats = [counted({"n": [float(i + k) for i in range(1000)]}) for k in range(3)]
    cell = fresh(CELL, repeats)

    assert cell.headline == "n 1/s and 999 more"
    assert cell.values == (0.0, 1.0, 2.0)
