"""The numbers part of a tool (`reports.tools.base.Tool` has the description), loaded by name."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from parsers.measurement import Parsed
from reports.numbers.model import Buckets, Name, Number
from reports.results.model import Run

if TYPE_CHECKING:
    from reports.numbers.repeats import Repeats


class NumbersModule(Protocol):
    CURVE_AXIS: str | None
    DRAWN: tuple[str, ...]
    PEAK: str | None
    WORKING_SET: tuple[str, ...]
    ACCESSED: tuple[str, ...]
    LIMITS: tuple[str, ...]

    def numbers(self, run: Run) -> Iterator[Number]: ...
    def histograms(self, run: Run) -> list[tuple[Name, Buckets]]: ...
    def curve_numbers(self, curve: Mapping[int, Sequence[Number]]) -> Iterator[Number]: ...
    def peaks_within(
        self, cells: Mapping[int, Mapping[Name, Sequence[float]]], slo: float
    ) -> dict[Name, tuple[int, Name]]: ...
    def lead(self, cell: Repeats) -> Name | None: ...
    def headline(self, cell: Repeats) -> str: ...
    def moved(self, cell: Repeats) -> list[tuple[float, float]]: ...
    def mixed(self, parsed: Parsed) -> bool: ...
    def ranked(self, parsed: Parsed) -> bool: ...


def find(tool: str) -> NumbersModule:
    """Return a tool by name."""
    return cast("NumbersModule", importlib.import_module("reports.tools").find(tool))


def no_better(tool: str) -> frozenset[str]:
    """Return the options without a better level, such as the accessed size, the accessed place and rate limits."""
    module = find(tool)
    return frozenset((*module.WORKING_SET, *module.ACCESSED, *module.LIMITS))


def ranked(run: Run) -> bool:
    """Return whether a run may be the best of a sweep."""
    return find(run.tool).ranked(run.parsed) if run.parsed else True
