"""Order the levels of an axis: numbers and sizes by value, then words in the order of the experiment."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from orchestrator.model import Cell
from parsers.units import size_bytes

LevelKey = tuple[int, float, str]


class Levels:
    """The positions of the words of each axis. The words of a sweep have the order of the planned cells."""

    def __init__(self, planned: Iterable[Cell] = ()) -> None:
        """planned: the cells in the order of their experiments."""
        self._at: dict[tuple[str, str], dict[str, int]] = {}
        for cell in planned:
            for axis, value in cell.labels().items():
                for sweep in (cell.sweep, _ANY):
                    words = self._at.setdefault((sweep, axis), {})
                    words.setdefault(str(value), len(words))

    def key(self, axis: str, value: object, sweep: str = "") -> LevelKey:
        """Return the sort key of a level. `sweep` "" means all sweeps. A word that no experiment has sorts last."""
        kind, number, text = natural(value)
        at = self._at.get((sweep, axis), {}).get(text, math.inf) if kind else number
        return kind, at, text


_ANY: Final = ""


def natural(value: object) -> LevelKey:
    """Return the sort key of an axis value: numbers and sizes by value (4k before 32k), then words."""
    text = str(value)
    for read in (float, size_bytes):
        try:
            number = float(read(text))
        except (ValueError, OverflowError):
            continue
        if math.isfinite(number):
            return (0, number, "")
    return (1, 0.0, text)
