"""Outputs captured on a machine of ours: `CASE.out`, its rows in `CASE.csv`, and in `CASE.toml` some read by hand.

After a wanted change of a parser: PINSWEEP_BLESS=1 pytest tests/parsers/test_cases.py, then read the diff of the
.csv files. The rows `by_hand` are never written by a program.
"""

from __future__ import annotations

import csv
import io
import os
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.model import Cell
from orchestrator.store import database, readings
from parsers import get_parser, guess_parsers
from parsers.measurement import Table
from parsers.text import decode

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
CASES = sorted(path for path in FIXTURES.glob("*/*.toml") if path.with_suffix(".out").exists())


def as_csv(table: Table) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return out.getvalue()


@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_captured_output_gives_the_same_rows_as_ever(case: Path) -> None:
    text = decode(case.with_suffix(".out").read_bytes())
    assert guess_parsers(text) == (case.parent.name,)
    got = get_parser(case.parent.name).parse(text, {}).measurements
    rows = got.records()
    hand_read = tomllib.loads(case.read_text(encoding="utf-8")).get("by_hand", [])
    assert hand_read or not rows
    for row in hand_read:
        found = [r for r in rows if all(r.get(k) == v for k, v in row.items() if k != "value")]
        assert len(found) == 1, row
        assert found[0]["value"] == pytest.approx(row["value"]), row
    expected = case.with_suffix(".csv")
    if os.environ.get("PINSWEEP_BLESS"):
        expected.write_text(as_csv(got), encoding="utf-8")
    assert as_csv(got) == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_what_is_stored_of_a_text_is_what_was_read(case: Path, tmp_path: Path) -> None:
    tool = case.parent.name
    parsed = get_parser(tool).parse(decode(case.with_suffix(".out").read_bytes()), {})
    with closing(sqlite3.connect(":memory:")) as db:
        database.create(db)
        readings.write(db, 1, Cell(sweep="s", tool=tool, options={}), tool, parsed)
        db.commit()
        stored = readings.read(db, tmp_path)

    assert stored == {1: (tool, parsed)}
    assert readings.compact(parsed, tmp_path) == parsed
