"""What the repeats of a cell say together. Pure."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from parsers.measurement import Counted, Measurement, Parsed, Table
from reports.results.grouping import group_by

T = TypeVar("T")


def median(of: Callable[[T], float | None], runs: Iterable[T]) -> float | None:
    """Return the median of what the runs say; None where one of them does not."""
    found = [of(run) for run in runs]
    known = [value for value in found if value is not None]
    return statistics.median(known) if known and len(known) == len(found) else None


def together(repeats: Sequence[Parsed]) -> Parsed:
    """Return the first text with the medians over all for its measurements, without those that a text lacks."""
    if len(repeats) == 1:
        return repeats[0]
    columns = repeats[0].measurements.columns
    counted = [rows for parsed in repeats if isinstance(rows := parsed.measurements.rows, Counted)]
    if len(counted) == len(repeats):
        medians = Table(columns=columns, rows=_counted_together(counted))
        return dataclasses.replace(repeats[0], tables={**repeats[0].tables, "measurements": medians})
    every = [group_by(parsed.measured(), _told_by) for parsed in repeats]
    found = [
        [row for own in every for row in own[key]] for key in every[0] if all(key in own for own in every)
    ]
    rows = tuple(
        (
            *map(same[0].get, columns[:-3]), same[0].metric, same[0].unit,
            statistics.median(row.value for row in same),
        )
        for same in found
    )  # fmt: skip
    tables = {**repeats[0].tables, "measurements": Table(columns=columns, rows=rows)}
    return dataclasses.replace(repeats[0], tables=tables)


def _counted_together(repeats: Sequence[Counted]) -> Counted:
    """Return the medians of numbers that are counted, as far as all repeats go."""
    every = [{(metric, unit): values for metric, unit, values in rows.series} for rows in repeats]
    return Counted(
        (*key, list(map(_middle, zip(*(own[key] for own in every), strict=False))))
        for key in every[0]
        if all(key in own for own in every)
    )


def _middle(values: tuple[float, ...]) -> float:
    """Return what `statistics.median` does, in a quarter of its time."""
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def same_in(parsed: Parsed, row: Measurement) -> Measurement | None:
    """Return the row of a text with the metric and the labels of `row`."""
    rows, index = parsed.measurements.rows, row.get("index")
    if isinstance(rows, Counted) and isinstance(index, int):  # without a row of each number
        series = (values for metric, unit, values in rows.series if (metric, unit) == (row.metric, row.unit))
        found = next((values[index] for values in series if index < len(values)), None)
        return None if found is None else row._replace(value=found)
    return next((own for own in parsed.measured() if _told_by(own) == _told_by(row)), None)


def _told_by(row: Measurement) -> tuple[object, ...]:
    return row.metric, row.unit, *((k, v) for k, v in row.labels.items() if k != "repetitions")
