"""What the repeats of a cell say together. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def median(of: Callable[[T], float | None], runs: Iterable[T]) -> float | None:
    """Return the median of what the runs say; None where one of them does not."""
    found = [of(run) for run in runs]
    known = [value for value in found if value is not None]
    return statistics.median(known) if known and len(known) == len(found) else None
