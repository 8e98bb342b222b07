"""likwid-bench: bandwidth and floating-point rate; the rest of its figures say the same in other words."""

from __future__ import annotations

from collections.abc import Iterator

from reports.frames import Run
from reports.numbers import _others
from reports.numbers.model import Number

headline = _others.headline
leading = _others.leading


def numbers(run: Run) -> Iterator[Number]:
    return (n for n in _others.numbers(run) if n.name.metric in ("bandwidth", "flop_rate"))
