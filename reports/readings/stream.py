"""STREAM's table, and what the text says of the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from parsers.measurement import Parsed, whole
from reports.readings import reading


class Rate(NamedTuple):
    """One line of STREAM's table."""

    turn: int | None  # of a text that holds several runs: which, from 1
    kernel: str  # "copy", "scale", "add", "triad"
    bandwidth: float  # B/s, the best of the run's repetitions


@reading(Rate)
def rates(parsed: Parsed) -> Iterator[Rate]:
    """The best rate of each kernel, in the order of the text."""
    for row in parsed.measured():
        if row.metric == "bandwidth" and row.get("kernel"):
            yield Rate(whole(row.get("run")), str(row.get("kernel")), row.value)
