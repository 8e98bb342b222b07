"""A table of shades about a middle: a row a thing, a column a kind of number, orange worse and blue better. Plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SHADES: Final = 12
"""Shades to either side: 12 the strongest, above 0 worse, below 0 better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A kind of number: what it is, and what is to be known of it."""

    title: str
    sub: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One thing's number, as it is read, with its shade. `missing`: it has none. `failed`: since its runs failed. `marked`: outlined."""

    text: str
    shade: int = 0
    missing: bool = False
    failed: bool = False
    marked: bool = False
    tip: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One thing, or several that are alike: its name, a word on it, where more is said of it ("": nowhere)."""

    name: str
    word: str
    cells: tuple[Cell, ...]
    of: str = ""  # who they are, where it is several
    bad: bool = False
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """`head` is what rows are, `word` what the word beside their names is, `label` what the grid shows, for assistive technology."""

    head: str
    word: str
    label: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    scale: tuple[tuple[int, str], ...]  # shades of the legend, and what they are of: "10"

    @property
    def marks(self) -> frozenset[str]:
        """Return which marks need a legend: "missing", "failed", "marked", "worse", "better", "several"."""
        cells = [cell for row in self.rows for cell in row.cells]
        told = {
            "missing": any(c.missing and not c.failed for c in cells),
            "failed": any(c.failed for c in cells),
            "marked": any(c.marked for c in cells),
            "worse": any(c.shade > 0 for c in cells),
            "better": any(c.shade < 0 for c in cells),
            "several": any(row.of for row in self.rows),
        }
        return frozenset(name for name, is_there in told.items() if is_there)
