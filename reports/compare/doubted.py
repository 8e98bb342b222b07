"""Checks that doubt all numbers of a comparison on a side: they are told once, and marked nowhere. Pure."""

from __future__ import annotations

from dataclasses import replace

from reports.checks.doubts import of_all_numbers
from reports.compare.model import Comparison, sided
from reports.results.convicted import but, of_each

OfSides = tuple[tuple[str, ...], tuple[str, ...]]
"""Checks of A, and of B."""


def of_all(comparison: Comparison) -> OfSides:
    """Return the checks that doubt each number on A, and on B; none where there is a single number."""
    rows = comparison.rows
    if len(rows) < 2:
        return (), ()
    a, b = (of_each([row.doubts[side] for row in rows]) for side in (0, 1))
    return a, b


def without(comparison: Comparison) -> Comparison:
    """Return the comparison without the marks of the checks that doubt all its numbers."""
    known = of_all(comparison)
    if not any(known):
        return comparison
    rows = (
        replace(row, doubts=(but(row.doubts[0], known[0]), but(row.doubts[1], known[1])))
        for row in comparison.rows
    )
    return replace(comparison, rows=tuple(rows))


def said(comparison: Comparison) -> str:
    """Return "⚠ doubtful: all numbers, by D1 of A (runs that something else disturbed)."; "" where no check doubts all."""
    told = of_all_numbers(sided(*of_all(comparison)))
    return f"{told}." if told else ""
