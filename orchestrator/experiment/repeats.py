"""Decide the number and order of repeats: a fixed number of rounds, or rounds until the medians have settled. Pure.

`repeats: auto` starts with BASE rounds of all cells. Cells with a wide interval get further rounds, up to CAP. The
interval is the order-statistic interval of the median (David and Nagaraja, Order Statistics, 7.1). The k-th lowest and
k-th highest of n values contain the true median with the probability 1 - 2 · P(Binomial(n, ½) < k). The probability
does not depend on the distribution of the noise. A t interval stops too early on noise with spikes.

A test after each round stops at the first narrow interval, so it errs more often than a single test. With wide noise, a
cell settles if its values agree by chance. So the interval has a confidence of 99 %, which needs eight values. Six or
seven values (whole range: 97 and 98 %) settle a cell only within half the width. benchmarks/settling.py counts the
settled medians with an error above WITHIN and the intervals without the true median. docs/experiments.md has the table.
"""

from __future__ import annotations

import hashlib
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchestrator.experiment.quantities import QuantityError
from orchestrator.experiment.yaml_nodes import shown
from orchestrator.model import MOST_REPEATS, Cell, Sweep

AUTO: Final = "auto"

BASE: Final = 6
CAP: Final = 15
WITHIN: Final = 0.025
"""`repeats: auto`: rounds of all cells, rounds at most, and how far from the median its interval may reach."""

CONFIDENCE: Final = 0.99
FEWEST: Final = 8
"""Minimum number of values for an interval with CONFIDENCE: 1 - 2 / 2**8 is 99.2 %.

From BASE values, the range is used.
"""
FEW_WITHIN: Final = WITHIN / 2
"""How far that may reach."""


def settings(value: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return what `repeats: VALUE` sets of a Sweep. Raises QuantityError."""
    if value == AUTO:
        return {"repeats": BASE, "settle": True}
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_REPEATS:
        what = f"{shown(value)} is not a whole number from 1 to {MOST_REPEATS}"
        raise QuantityError(what, f"`{AUTO}` continues until the cells have settled, {BASE} to {CAP} rounds")
    return {"repeats": value, "settle": False}


# --- settled ---


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the narrowest order-statistic interval that contains the true median with CONFIDENCE.

    Below FEWEST values, the interval is the range of the values, with 97 % (six) or 98 % (seven). None below BASE
    values.
    """
    n, below, k = len(values), 0.0, 0
    if n < BASE:
        return None
    while k < n // 2 and 1 - 2 * (below := below + math.comb(n, k) / 2**n) >= CONFIDENCE:
        k += 1
    k = max(k, 1)
    ordered = sorted(values)
    return ordered[k - 1], ordered[n - k]


def uncertainty(values: Sequence[float]) -> float:
    """Return the larger distance from the median to an end of its interval, as a fraction of the median. 0.06 is ±6 %.

    Infinite without an interval.
    """
    bounds = interval(values)
    if bounds is None:
        return math.inf
    median = statistics.median(values)
    reach = max(bounds[1] - median, median - bounds[0])
    return reach / abs(median) if median else (math.inf if reach else 0.0)


def is_settled(values: Sequence[float]) -> bool:
    """Return whether the median of a cell's repeats is known to WITHIN. With few repeats, the limit is FEW_WITHIN."""
    return uncertainty(values) <= (WITHIN if len(values) >= FEWEST else FEW_WITHIN)


# --- order ---


def rounds(cells: Sequence[Cell], sweeps: Mapping[str, Sweep], seed: int) -> list[tuple[Cell, int]]:
    """Return (cell, repeat) in run order: round by round, with every cell once per round."""
    most = max((sweeps[p.sweep].repeats for p in cells), default=0)
    blocks = _blocks(cells, sweeps)
    return [
        (cell, repeat)
        for repeat in range(1, most + 1)
        for cell in _in_turn(blocks, seed, repeat)
        if repeat <= sweeps[cell.sweep].repeats
    ]


def one_round(cells: Sequence[Cell], sweeps: Mapping[str, Sweep], seed: int, number: int) -> list[Cell]:
    """Return the cells in the order of a round.

    The cells of all sweeps are shuffled, so that machine drift does not look like the effect of an option. A `listed`
    sweep is not shuffled and keeps its file order. The sort key is the SHA-256 of seed, round and cell. The order is
    the same in every Python version, unlike random.shuffle. A new cell does not change the order of the other cells.
    """
    return _in_turn(_blocks(cells, sweeps), seed, number)


def _blocks(cells: Sequence[Cell], sweeps: Mapping[str, Sweep]) -> dict[str, list[Cell]]:
    """Return name → the cells that are adjacent in every round."""
    blocks: dict[str, list[Cell]] = {}
    for cell in cells:
        listed = sweeps[cell.sweep].order == "listed"
        blocks.setdefault(f"sweep {cell.sweep}" if listed else f"point {cell.point_id}", []).append(cell)
    return blocks


def _in_turn(blocks: Mapping[str, list[Cell]], seed: int, number: int) -> list[Cell]:
    def rank(key: str) -> bytes:
        return hashlib.sha256(f"{seed} {number} {key}".encode()).digest()

    return [cell for key in sorted(blocks, key=rank) for cell in blocks[key]]
