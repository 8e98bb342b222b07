"""The measurements of any tool, as they were printed: what is read of tools without a reading of their own."""

from __future__ import annotations

from collections.abc import Iterator

from parsers.measurement import Measurement, Parsed
from reports.readings import reading


@reading(Measurement, kept=False)
def measurements(parsed: Parsed) -> Iterator[Measurement]:
    """All rows, in the order of the text."""
    yield from parsed.measured()
