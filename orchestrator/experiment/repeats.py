"""How often a cell runs and in which order: a number of rounds, or rounds until its numbers have settled. Pure.

`repeats: auto` begins with BASE rounds of all cells and goes on with those whose median is not known well enough yet, CAP rounds at
most. What tells is the order-statistic interval of the median (David and Nagaraja, Order Statistics, 7.1): the k-th lowest and k-th
highest of n values hold the true median with the probability 1 - 2 · P(Binomial(n, ½) < k), whatever the noise looks like; a t
interval stops too early on noise with spikes. There is one of 95 % from six values on, hence BASE: a sweep that stopped after three
values that happen to agree would be right in 75 of 100 cells.
"""

from __future__ import annotations

import hashlib
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchestrator.experiment.quantities import QuantityError
from orchestrator.experiment.yaml_nodes import shown
from orchestrator.model import Cell, Sweep

MOST_REPEATS: Final = 1_000
AUTO: Final = "auto"

BASE: Final = 6
CAP: Final = 15
WITHIN: Final = 0.025
"""`repeats: auto`: rounds of all cells, rounds at most, and how far from the median its interval may reach."""

CONFIDENCE: Final = 0.95


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
    """Return the narrowest order-statistic interval that holds the true median with CONFIDENCE; None of fewer than BASE values."""
    n, below, k = len(values), 0.0, 0
    while k < n // 2 and 1 - 2 * (below := below + math.comb(n, k) / 2**n) >= CONFIDENCE:
        k += 1
    ordered = sorted(values)
    return (ordered[k - 1], ordered[n - k]) if k else None


def uncertainty(values: Sequence[float]) -> float:
    """Return how far the interval of the median reaches from it, as a share of it: 0.06 is ±6 %. Infinite where there is none."""
    found = interval(values)
    if found is None:
        return math.inf
    median = statistics.median(values)
    reach = max(found[1] - median, median - found[0])
    return reach / abs(median) if median else (math.inf if reach else 0.0)


def is_settled(values: Sequence[float]) -> bool:
    """Is the median of a cell's repeats known to WITHIN?"""
    return uncertainty(values) <= WITHIN


# --- order ---


def rounds(cells: Sequence[Cell], sweeps: Mapping[str, Sweep], seed: int) -> list[tuple[Cell, int]]:
    """Return (cell, repeat) in the order in which they run: round by round, every cell once in each."""
    most = max((sweeps[p.sweep].repeats for p in cells), default=0)
    return [
        (cell, repeat)
        for repeat in range(1, most + 1)
        for cell in one_round(cells, sweeps, seed, repeat)
        if repeat <= sweeps[cell.sweep].repeats
    ]


def one_round(cells: Sequence[Cell], sweeps: Mapping[str, Sweep], seed: int, number: int) -> list[Cell]:
    """Return the cells in the order of a round.

    The cells are shuffled over all sweeps, so that drift of the machine does not look like an effect of an option; a `listed` sweep
    stays together, in the order of its file. The permutation sorts by SHA-256 of seed, round and cell: the same in every version of
    Python, which random.shuffle does not promise, and a cell that is added later does not change the order of the others.
    """
    blocks: dict[str, list[Cell]] = {}
    for cell in cells:
        listed = sweeps[cell.sweep].order == "listed"
        blocks.setdefault(f"sweep {cell.sweep}" if listed else f"point {cell.point_id}", []).append(cell)

    def rank(key: str) -> bytes:
        return hashlib.sha256(f"{seed} {number} {key}".encode()).digest()

    return [cell for key in sorted(blocks, key=rank) for cell in blocks[key]]
