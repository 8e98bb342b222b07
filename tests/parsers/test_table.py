from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers import table
from parsers.errors import ParseError, UserError

MARKDOWN = """\
Triad, in MB/s:

|threads|socket 0 (MB/s)|socket 1 (MB/s)|
|:-----:|:-------------:|:-------------:|
|\t1\t\t|\t13875.2\t|\t10187.3|
|\t2\t\t|\t20670.1\t|\t-|

node   0   1
  0:  10  11
"""
STREAM = "threads, local:bandwidth[MB/s], remote:bandwidth[MB/s]"


def test_a_pasted_table_gives_the_tools_own_rows() -> None:
    columns = table.read_columns(STREAM, "stream")

    found = table.cells(MARKDOWN, columns)

    assert [(c.options, c.place, c.rows) for c in found] == [
        ({"threads": 1}, "local", (0,)),
        ({"threads": 2}, "local", (1,)),
        ({"threads": 1}, "remote", (0,)),
        ({"threads": 2}, "remote", (1,)),
    ]
    context = {"tool": "stream", "columns": STREAM, "rows": [0, 1], "pick": {"place": "remote"}}
    parsed = table.parse(MARKDOWN, context)
    assert parsed.measurements.columns == ("run", "kernel", "metric", "unit", "value")
    assert parsed.measurements.rows == ((1, "triad", "bandwidth", "B/s", 10187.3e6),)
    assert parsed.has("from_table")
    assert parsed.has("not_measured")


def test_rows_of_one_cell_keep_their_order_and_their_label() -> None:
    text = (
        "Inject Delay\tlatency (ns)\tBandwidth\n00000\t204.11\t17783.5\n00002\t203.71\t17836.0\n\n20000 59.32\t1187.2\n"
    )
    spec = "delay, latency[ns], bandwidth[MB/s]"

    (cell,) = table.cells(text, table.read_columns(spec, "mlc"))
    rows = table.parse(text, {"tool": "mlc", "columns": spec, "labels": {"traffic": "read"}}).measurements.records()

    assert cell.rows == (0, 1, 2)  # a blank between two of the cells of the last, tabs elsewhere
    assert [(r["row"], r["delay"], r["value"]) for r in rows if r["metric"] == "latency"] == [
        (0, 0, 204.11), (1, 2, 203.71), (2, 20000, 59.32),
    ]  # fmt: skip
    assert {(r["section"], r["traffic"]) for r in rows} == {("loaded_latency", "read")}


def test_directions_statistics_and_units() -> None:
    spec = "iodepth, direction=write:iops, direction=write:lat[us], direction=read:iops.min, disk_util[%]"

    (row, *_) = table.parse("1 25119 34.48 58587 99.38", {"tool": "fio", "columns": spec}).measurements.rows[:1]
    rows = table.parse("1 25119 34.48 58587 99.38", {"tool": "fio", "columns": spec}).measurements.records()

    assert row[-1] == 25119
    assert [(r["metric"], r.get("direction"), r["statistic"], r["value"]) for r in rows] == [
        ("iops", "write", "total", 25119.0),
        ("lat", "write", "mean", 34480.0),
        ("iops", "read", "min", 58587.0),
        ("disk_util", None, "mean", pytest.approx(0.9938)),
    ]


@pytest.mark.parametrize(
    ("spec", "said", "hint"),
    [
        ("threads, bandwith[MB/s]", "no metric 'bandwith'", "did you mean 'bandwidth'"),
        ("threads, bandwidth", "bandwidth is measured in B/s", "bandwidth[MB/s]"),
        ("threads, bandwidth[ns]", "not in ns", ""),
        ("threads, -", "no column holds a measured number", "bandwidth[B/s]"),
        ("threads, 7up[ns]", "not the description of a column", ""),
        ("", "not the description of a column", ""),
    ],
)
def test_columns_that_cannot_be_meant(spec: str, said: str, hint: str) -> None:
    with pytest.raises(UserError) as error:
        table.read_columns(spec, "stream")
    assert said in str(error.value)
    assert hint in error.value.hint


def test_no_row_is_an_error_that_says_what_was_looked_for() -> None:
    with pytest.raises(ParseError, match="rows of 3 columns with numbers"):
        table.parse("one two\n", {"tool": "stream", "columns": STREAM})


@given(st.lists(st.tuples(st.integers(1, 512), st.floats(1, 1e6)), min_size=1, max_size=20, unique_by=lambda r: r[0]))
def test_any_way_of_setting_a_table_says_the_same(rows: list[tuple[int, float]]) -> None:
    spec = "threads, bandwidth[MB/s]"
    columns = table.read_columns(spec, "stream")
    texts = [
        "\n".join(between.join((str(n), f"{v:.1f}")) for n, v in rows) for between in ("\t", "  ", " ", " | ", "\t|\t")
    ]

    found = [table.parse(text, {"tool": "stream", "columns": spec}).measurements.rows for text in texts]

    assert all(other == found[0] for other in found)
    assert [row[-1] for row in found[0]] == [round(float(f"{v:.1f}") * 1e6) for _, v in rows]
    assert [cell.options["threads"] for cell in table.cells(texts[0], columns)] == [n for n, _ in rows]
