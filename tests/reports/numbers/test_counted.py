"""Numbers that are counted say what the same rows said one by one, and are not gone through to say it."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.measurement import Counted, Parsed, Table
from reports.numbers import headline, leaders

COLUMNS = ("index", "metric", "unit", "value")
VALUES = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=4)
TEXT = st.dictionaries(st.sampled_from(["iops", "bandwidth", "n", "m"]), VALUES, min_size=1)


def counted(text: dict[str, list[float]]) -> Parsed:
    rows = Counted((metric, "1/s", values) for metric, values in text.items())
    return Parsed(tables={"measurements": Table(columns=COLUMNS, rows=rows)})


def one_by_one(parsed: Parsed) -> Parsed:
    return dataclasses.replace(
        parsed, tables={"measurements": Table(columns=COLUMNS, rows=tuple(parsed.measurements.rows))}
    )


@given(st.lists(TEXT, min_size=1, max_size=4))
def test_counted_numbers_say_what_their_rows_do(texts: list[dict[str, list[float]]]) -> None:
    short = [counted(text) for text in texts]
    long = [one_by_one(parsed) for parsed in short]

    assert leaders("command", *short) == leaders("command", *long)


def test_what_leads_is_said_without_a_row_of_each_number(monkeypatch: pytest.MonkeyPatch) -> None:
    repeats = [counted({"n": [float(i + k) for i in range(1000)]}) for k in range(3)]
    monkeypatch.setattr(Parsed, "measured", None)
    monkeypatch.setattr(Counted, "__iter__", None)

    assert headline("command", *repeats) == "n 1/s and 999 more"
    assert [value for _, value in leaders("command", *repeats)] == [0.0, 1.0, 2.0]
