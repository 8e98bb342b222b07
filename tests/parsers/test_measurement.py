from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.measurement import Blocks, Metric, Table, measurements, numbers

blocks = st.lists(
    st.tuples(
        st.tuples(st.integers(), st.text()),
        st.lists(st.tuples(st.integers(), st.integers()), min_size=1, max_size=5),
    ),
    max_size=4,
)


@given(blocks)
def test_blocks_are_the_rows_that_they_stand_for(
    parts: list[tuple[tuple[int, str], list[tuple[int, int]]]],
) -> None:
    rows = tuple((*shared, *row) for shared, inner in parts for row in inner)

    made = Blocks((shared, tuple(zip(*inner, strict=True))) for shared, inner in parts)

    assert made == rows
    assert tuple(made) == rows
    assert len(made) == len(rows)
    assert list(made[1:]) == list(rows[1:])
    assert Table(columns=("a", "b", "c", "d"), rows=made) == Table(columns=("a", "b", "c", "d"), rows=rows)


def test_what_is_not_finite_is_a_missing_row() -> None:
    metrics = {"time": Metric(unit="ns", better="lower", text="time")}

    table = measurements(
        ("size",), metrics, [((1,), "time", 2), ((2,), "time", float("inf")), ((3,), "time", float("nan"))]
    )

    assert table.rows == ((1, "time", "ns", 2.0),)


def test_the_numbers_of_a_column_are_those_of_its_cells() -> None:
    assert numbers((1, 2.5)) == [1.0, 2.5]
    assert all(type(value) is float for value in numbers((1, 2)))
    for strange in ("1", None, True):
        with pytest.raises(ValueError, match="is not a number"):
            numbers((1, strange))
