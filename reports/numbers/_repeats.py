"""What the repeats of a cell say together. Pure."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from parsers.measurement import Measurement, Parsed, Table
from reports.grouping import group_by

T = TypeVar("T")


def median(of: Callable[[T], float | None], runs: Iterable[T]) -> float | None:
    """Return the median of what the runs say; None where none of them does."""
    found = [value for run in runs if (value := of(run)) is not None]
    return statistics.median(found) if found else None


def together(repeats: Sequence[Parsed]) -> Parsed:
    """Return the first text with the medians over all for its measurements: of each those of the texts that have it."""
    if len(repeats) == 1:
        return repeats[0]
    columns = repeats[0].measurements.columns
    found = group_by((row for parsed in repeats for row in parsed.measured()), _told_by).values()
    rows = tuple(
        (
            *map(same[0].get, columns[:-3]), same[0].metric, same[0].unit,
            statistics.median(row.value for row in same),
        )
        for same in found
    )  # fmt: skip
    tables = {**repeats[0].tables, "measurements": Table(columns=columns, rows=rows)}
    return dataclasses.replace(repeats[0], tables=tables)


def _told_by(row: Measurement) -> tuple[object, ...]:
    return row.metric, row.unit, *((k, v) for k, v in row.labels.items() if k != "repetitions")
