"""Cells of which more runs failed on one side than on the other: what a comparison says first of all. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from reports.compare.matching import CellOfSide, Matching, cells
from reports.compare.sides import Side, SideName


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A cell of which a larger share of the runs failed on a side than on the other, which has numbers of it."""

    side: SideName  # where more failed
    sweep: str
    cell: str
    a: tuple[int, int]  # runs that failed, of how many: those that count and the failed ones
    b: tuple[int, int]

    @property
    def here(self) -> tuple[int, int]:
        return self.a if self.side == "A" else self.b

    @property
    def wholly(self) -> bool:
        """Has the side no number of the cell?"""
        failed, runs = self.here
        return failed == runs

    @property
    def other(self) -> SideName:
        return "B" if self.side == "A" else "A"

    @property
    def text(self) -> str:
        """Return "3 of 6 runs of prog, n=6 (A: 0 of 6)"."""
        there = self.b if self.side == "A" else self.a
        where = ", ".join(filter(None, (self.sweep, self.cell)))
        return f"{self.here[0]} of {self.here[1]} runs of {where} ({self.other}: {there[0]} of {there[1]})"


def failures(matching: Matching, a: Side, b: Side, ignore: Collection[str]) -> tuple[Failed, ...]:
    """Return the cells of which more failed on one side, those of A first, of a side those without a number; `ignore`: as of `cells`."""
    good, bad = ([{c.key: c for c in cells(runs, ignore)} for runs in of] for of in ((a.runs, b.runs), (a.failed, b.failed)))  # fmt: skip

    def count(side: int, cell: CellOfSide) -> tuple[int, int]:
        failed, gave = (len(known[side][cell.key].runs) if cell.key in known[side] else 0 for known in (bad, good))  # fmt: skip
        return failed, failed + gave

    pairs = (*matching.pairs, *matching.silent)
    found = [failed for pair in pairs if (failed := _failed(pair.a, count(0, pair.a), count(1, pair.b)))]
    return tuple(sorted(found, key=lambda one: (one.side, not one.wholly, -one.here[0] / one.here[1])))


def silent(of: Side, ignore: Collection[str]) -> list[CellOfSide]:
    """Return the cells of a side that ran, and of which it has no number; `ignore`: as of `cells`."""
    good = {cell.key for cell in cells(of.runs, ignore)}
    return [cell for cell in cells((*of.failed, *of.left_out), ignore) if cell.key not in good]


def _failed(cell: CellOfSide, a: tuple[int, int], b: tuple[int, int]) -> Failed | None:
    if not (a[1] and b[1]):  # all runs of a side were disturbed, or it has none
        return None
    of_a, of_b = (failed / runs for failed, runs in (a, b))
    if of_a == of_b:
        return None
    return Failed(side="A" if of_a > of_b else "B", sweep=cell.sweep, cell=cell.name, a=a, b=b)
