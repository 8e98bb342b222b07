"""How often a cell runs and in which order: a number of rounds, or rounds until its numbers have settled. Pure.

`repeats: auto` begins with BASE rounds of all cells and goes on with those whose median is not known well enough yet, CAP rounds at
most. What tells is the order-statistic interval of the median (David and Nagaraja, Order Statistics, 7.1): the k-th lowest and k-th
highest of n values hold the true median with the probability 1 - 2 · P(Binomial(n, ½) < k), whatever the noise looks like; a t
interval stops too early on noise with spikes.

Who looks again after each round, and stops at the first narrow interval, is wrong more often than one interval is: where the noise is
wide, what settles are just the cells whose values happen to agree. So the interval is one of 99 %, which eight values are needed for,
and fewer than that (their whole range: 97 and 98 %) settle a cell only if they agree twice as well. benchmarks/settling.py counts how
often a settled median is further off than WITHIN, and how often its interval misses the true one; docs/experiments.md has its table.
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
"""Values that have an interval with CONFIDENCE: 1 - 2 / 2**8 is 99.2 %. Of fewer, from BASE on, it is their range."""
FEW_WITHIN: Final = WITHIN / 2
"""How far that may reach."""


def settings(value: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return what `repeats: VALUE` sets of a Sweep. Raises QuantityError."""
    if value == AUTO:
        return {"repeats": BASE, "settle": True}
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_REPEATS:
        what = f"{shown(value)} is not a whole number from 1 to {MOST_REPEATS}"
        raise QuantityError(what, f"`{AUTO}` goes on until the cells have settled, {BASE} to {CAP} rounds")
    return {"repeats": value, "settle": False}


# --- settled ---


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the narrowest order-statistic interval that holds the true median with CONFIDENCE; of fewer than FEWEST values their
    range, which does with 97 % (six) or 98 % (seven); None of fewer than BASE values."""
    n, below, k = len(values), 0.0, 0
    if n < BASE:
        return None
    while k < n // 2 and 1 - 2 * (below := below + math.comb(n, k) / 2**n) >= CONFIDENCE:
        k += 1
    k = max(k, 1)
    ordered = sorted(values)
    return ordered[k - 1], ordered[n - k]


def uncertainty(values: Sequence[float]) -> float:
    """Return how far the interval of the median reaches from it, as a share of it: 0.06 is ±6 %. Infinite where there is none."""
    bounds = interval(values)
    if bounds is None:
        return math.inf
    median = statistics.median(values)
    reach = max(bounds[1] - median, median - bounds[0])
    return reach / abs(median) if median else (math.inf if reach else 0.0)


def is_settled(values: Sequence[float]) -> bool:
    """Is the median of a cell's repeats known to WITHIN? Few repeats tell that only where they agree to FEW_WITHIN."""
    return uncertainty(values) <= (WITHIN if len(values) >= FEWEST else FEW_WITHIN)


# --- order ---


def rounds(cells: Sequence[Cell], sweeps: Mapping[str, Sweep], seed: int) -> list[tuple[Cell, int]]:
    """Return (cell, repeat) in the order in which they run: round by round, every cell once in each."""
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

    The cells are shuffled over all sweeps, so that drift of the machine does not look like an effect of an option; a `listed` sweep
    stays together, in the order of its file. The permutation sorts by SHA-256 of seed, round and cell: the same in every version of
    Python, which random.shuffle does not promise, and a cell that is added later does not change the order of the others.
    """
    return _in_turn(_blocks(cells, sweeps), seed, number)


def _blocks(cells: Sequence[Cell], sweeps: Mapping[str, Sweep]) -> dict[str, list[Cell]]:
    """Return name → the cells that stay together in every round."""
    blocks: dict[str, list[Cell]] = {}
    for cell in cells:
        listed = sweeps[cell.sweep].order == "listed"
        blocks.setdefault(f"sweep {cell.sweep}" if listed else f"point {cell.point_id}", []).append(cell)
    return blocks


def _in_turn(blocks: Mapping[str, list[Cell]], seed: int, number: int) -> list[Cell]:
    def rank(key: str) -> bytes:
        return hashlib.sha256(f"{seed} {number} {key}".encode()).digest()

    return [cell for key in sorted(blocks, key=rank) for cell in blocks[key]]
