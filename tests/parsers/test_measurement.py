from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers import measurement
from parsers.errors import ParseError
from parsers.measurement import Columns, Metric, Numbered, Parsed, Scalar, Series, Table, measurements

blocks = st.lists(
    st.tuples(
        st.tuples(st.integers(), st.text()),
        st.lists(st.tuples(st.integers(), st.integers()), min_size=1, max_size=5),
    ),
    min_size=1,
    max_size=4,
)


@given(blocks)
def test_columns_are_the_rows_that_they_stand_for(
    parts: list[tuple[tuple[int, str], list[tuple[int, int]]]],
) -> None:
    rows = tuple((*shared, *row) for shared, inner in parts for row in inner)

    made = Columns.joined((shared, tuple(zip(*inner, strict=True))) for shared, inner in parts)

    assert made == rows
    assert len(made) == len(rows)
    assert list(made[1:]) == list(rows[1:])
    assert Table(columns=("a", "b", "c", "d"), rows=made) == Table(columns=("a", "b", "c", "d"), rows=rows)


def test_what_is_not_finite_is_a_missing_row() -> None:
    metrics = {"time": Metric(unit="ns", better="lower", text="time")}

    table = measurements(
        ("size",), metrics, [((1,), "time", 2), ((2,), "time", float("inf")), ((3,), "time", float("nan"))]
    )

    assert table.rows == ((1, "time", "ns", 2.0),)


def test_more_measurements_than_are_read_of_a_text_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurement, "MOST_ROWS", 2)
    metrics = {"time": Metric(unit="ns", better="lower", text="time")}

    assert len(measurements(("size",), metrics, [((n,), "time", n) for n in range(2)]).rows) == 2
    with pytest.raises(ParseError, match="more than 2 figures in one text are not read"):
        measurements(("size",), metrics, [((n,), "time", n) for n in range(3)])


def test_measurements_are_given_one_after_the_other() -> None:
    """A list of a million of them is 300 MB."""

    def rows() -> Iterator[tuple[Scalar, ...]]:
        yield 1, "time", "ns", 2.0
        pytest.fail("the second is asked for")

    table = Table(columns=("size", "metric", "unit", "value"), rows=rows())  # type: ignore[arg-type]
    assert next(Parsed(tables={"measurements": table}).measured()) == ("time", "ns", 2.0, {"size": 1})


def test_numbers_that_share_their_series_are_the_rows_that_they_stand_for() -> None:
    columns = ("size", "op", "metric", "unit", "value")
    rows = ((1, "get", "time", "ns", 2.0), (2, None, "time", "ns", 3.0))
    series = (Series("time", "ns", {"size": 1, "op": "get"}), Series("time", "ns", {"size": 2}))
    shared, plain = (Table(columns=columns, rows=r) for r in (Numbered(columns[:2], series, [2.0, 3.0]), rows))

    assert shared == plain
    assert shared.rows[1] == rows[1]
    assert [*Parsed(tables={"measurements": shared}).measured()] == [*Parsed(tables={"measurements": plain}).measured()]


def test_what_is_worked_out_of_a_text_is_held_until_many_others_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measurement, "_MOST_READ", 2)
    monkeypatch.setattr(measurement, "_read", deque())
    read: list[Parsed] = []
    texts = [Parsed(tables={}) for _ in range(3)]

    for parsed in (texts[0], texts[0], texts[1], texts[1], texts[2], texts[0]):
        parsed.once(read.append)

    assert [texts.index(parsed) for parsed in read] == [0, 0, 0, 0] or len(read) == 4


def test_texts_of_a_frame_are_pythons_own() -> None:
    """With pyarrow beside it pandas keeps them as Arrow's, a quarter of the CPU time of a page."""
    frame = Table(columns=("kernel", "value"), rows=[("copy", 1.0)]).frame()

    assert getattr(frame["kernel"].dtype, "storage", "python") == "python"
