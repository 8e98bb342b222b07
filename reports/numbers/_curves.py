"""Numbers of several runs joined to lines over an axis. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reports.numbers.model import Number, Part


def lines(curve: Mapping[int, Sequence[Number]], quantity: str) -> dict[Part, dict[int, Number]]:
    """Return part → axis value → the number of that quantity, of parts with three values or more.

    curve: axis value → the numbers of the run there.
    """
    found: dict[Part, dict[int, Number]] = {}
    for at, row in sorted(curve.items()):
        for number in row:
            if number.name.quantity == quantity:
                found.setdefault(number.name.part, {})[at] = number
    return {part: line for part, line in found.items() if len(line) >= 3}
