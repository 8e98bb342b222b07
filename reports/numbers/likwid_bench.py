"""likwid-bench: bandwidth and floating-point rate; the rest of its figures say the same in other words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parsers.measurement import Measurement, Parsed
from reports.numbers import _others
from reports.numbers._repeats import together
from reports.numbers.model import Number
from reports.results.model import Run
from reports.text import format as fmt


def numbers(run: Run) -> Iterator[Number]:
    return (n for n in _others.numbers(run) if n.name.metric in ("bandwidth", "flop_rate"))


def headline(repeats: Sequence[Parsed], spread: str = "") -> str:
    """Return "copy 26.1 GB/s": of a text with several kernels the first."""
    first = _bandwidth(together(repeats))
    return (
        f"{first.get('test') or ''} {fmt.quantity(first.value, first.unit)}{spread}".strip() if first else ""
    )


def leaders(repeats: Sequence[Parsed]) -> list[tuple[str, float]]:
    return _others.values_of(_bandwidth(together(repeats)), repeats)


def _bandwidth(parsed: Parsed) -> Measurement | None:
    return next((row for row in parsed.measured() if row.metric == "bandwidth"), None)
