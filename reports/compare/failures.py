"""Cells of which more runs failed on one side than on the other: what a comparison says at its head. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from reports.compare.matching import CellOfSide, Matching, cells, reason_of
from reports.compare.sides import Side, SideName


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A cell of which a larger share of the runs failed on a side than on the other, which has numbers of it."""

    side: SideName  # where more failed
    sweep: str
    cell: str
    a: tuple[int, int]  # runs that failed, of how many: those that count and the failed ones
    b: tuple[int, int]
    reason: str  # "exit status 1", "" where nothing is known of it

    @property
    def here(self) -> tuple[int, int]:
        return self.a if self.side == "A" else self.b

    @property
    def there(self) -> tuple[int, int]:
        return self.b if self.side == "A" else self.a

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
        where = ", ".join(filter(None, (self.sweep, self.cell)))
        return f"{self.here[0]} of {self.here[1]} runs of {where} ({self.other}: {self.there[0]} of {self.there[1]})"

    @property
    def with_reason(self) -> str:
        """Return "3 of 6 runs of prog, n=6 (A: 0 of 6): exit status 1"."""
        return f"{self.text}{self.reason and f': {self.reason}'}"


def failures(matching: Matching, a: Side, b: Side, ignore: Collection[str]) -> tuple[Failed, ...]:
    """Return the cells of which more failed on one side, those of A first, of a side those without a number; `ignore`: as of `cells`."""
    good, bad = ([{c.key: c for c in cells(runs, ignore)} for runs in of] for of in ((a.runs, b.runs), (a.failed, b.failed)))  # fmt: skip

    def count(side: int, cell: CellOfSide) -> tuple[int, int]:
        failed, gave = (len(known[side][cell.key].runs) if cell.key in known[side] else 0 for known in (bad, good))  # fmt: skip
        return failed, failed + gave

    found = []
    for pair in (*matching.pairs, *matching.silent):
        counted = count(0, pair.a), count(1, pair.b)
        if not all(runs for _, runs in counted):  # all runs of a side were disturbed, or it has none
            continue
        of_a, of_b = (failed / runs for failed, runs in counted)
        if of_a != of_b:
            side: SideName = "A" if of_a > of_b else "B"
            runs = bad[0][pair.a.key].runs if side == "A" else bad[1][pair.b.key].runs
            found.append(
                Failed(side=side, sweep=pair.a.sweep, cell=pair.a.name, a=counted[0], b=counted[1], reason=reason_of(runs))
            )  # fmt: skip
    return tuple(sorted(found, key=lambda one: (one.side, not one.wholly, -one.here[0] / one.here[1])))


def silent(of: Side, ignore: Collection[str]) -> list[CellOfSide]:
    """Return the cells of a side that ran, and of which it has no number; `ignore`: as of `cells`."""
    good = {cell.key for cell in cells(of.runs, ignore)}
    return [cell for cell in cells((*of.failed, *of.left_out), ignore) if cell.key not in good]
