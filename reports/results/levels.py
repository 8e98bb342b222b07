"""The order of the levels of an axis: numbers and sizes by what they are, then words as the experiment has them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from orchestrator.model import Cell
from parsers.units import size_bytes

LevelKey = tuple[int, float, str]


class Levels:
    """Where the words of each axis stand. Of a sweep they stand as its own cells were planned."""

    def __init__(self, planned: Iterable[Cell] = ()) -> None:
        """planned: the cells in the order of their experiments."""
        self._at: dict[tuple[str, str], dict[str, int]] = {}
        for cell in planned:
            for axis, value in cell.labels().items():
                for sweep in (cell.sweep, _ANY):
                    words = self._at.setdefault((sweep, axis), {})
                    words.setdefault(str(value), len(words))

    def key(self, axis: str, value: object, sweep: str = "") -> LevelKey:
        """Return the sort key of a level of a sweep; `sweep` "": of all of them. A word that no experiment has stands behind the others."""
        kind, number, text = natural(value)
        at = self._at.get((sweep, axis), {}).get(text, math.inf) if kind else number
        return kind, at, text


_ANY: Final = ""


def natural(value: object) -> LevelKey:
    """Sort key of an axis' values: numbers and sizes (4k before 32k) by what they are, words after them."""
    text = str(value)
    for read in (float, size_bytes):
        try:
            number = float(read(text))
        except (ValueError, OverflowError):
            continue
        if math.isfinite(number):
            return (0, number, "")
    return (1, 0.0, text)
