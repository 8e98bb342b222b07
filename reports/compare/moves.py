"""What regressed and what improved, in a few groups: a sweep's numbers, or those of the narrowest level that they have in common. Pure."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from reports.compare.model import Comparison, Level, Row, Shared
from reports.results.grouping import group_by
from reports.results.levels import natural
from reports.verdicts.model import VERDICTS, Verdict

_MOST_SWEEPS: Final = 3
"""Sweeps of which what moved is told one by one; of more it is told together."""

_OTHER: Final[Mapping[Verdict, Verdict]] = {"regressed": "improved", "improved": "regressed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Numbers that regressed, or improved, and of how many these are."""

    verdict: Verdict
    rows: tuple[Row, ...]  # at least one, the farthest first
    sweeps: tuple[str, ...]
    axis: str  # of the level that holds them, or nearly all of them; "" of none
    level: str
    of_cells: bool  # is what follows of whole cells? Else of numbers
    moved: int
    of: int
    elsewhere: tuple[int, int]  # beside that level: moved, of


def moves(comparison: Comparison) -> list[Move]:
    """Return what regressed, the worst first, then what improved, the best first: a sweep each, of more than three all together."""
    regressed, improved = comparison.of("regressed"), comparison.of("improved")[::-1]
    told: dict[Verdict, tuple[Row, ...]] = {"regressed": regressed, "improved": improved}
    found = []
    for verdict, rows in told.items():
        sweeps = group_by(rows, _sweep)
        groups = [list(sweeps)] if len(sweeps) > _MOST_SWEEPS else [[key] for key in sweeps]
        for keys in groups:
            every = [row for row in comparison.rows if _sweep(row) in keys and not row.once]
            found.append(_move(verdict, [row for row in rows if _sweep(row) in keys], every))
    return found


def _sweep(row: Row) -> tuple[str, str]:
    return row.pair.a.tool, row.sweep


def _move(verdict: Verdict, moved: Sequence[Row], every: Sequence[Row]) -> Move:
    """Return the move of some numbers of `every`; derived ones, which tell of the same cells once more, count where no other moved."""
    plain = [row for row in moved if not row.derived]
    moved = plain or moved
    every = [
        row for row in every if (not plain or not row.derived) and row.decision.ratio is not None
    ]  # of what is 0 or below no change is a share
    found = [one for one in shared(every, verdict) if one.axis != "metric"]  # which the sizes tell
    narrowest = min(found, key=lambda one: one.levels[0].cells, default=None)
    axis, level = (narrowest.axis, narrowest.levels[0].name) if narrowest else ("", "")
    inside = [row for row in every if not axis or _level_of(axis, row) == level]
    cells = group_by(inside, lambda row: row.pair.key).values()
    hit = [own for own in cells if any(row.verdict == verdict for row in own)]
    of_cells = all(row.verdict == verdict for own in hit for row in own)

    def counted(rows: Iterable[Row]) -> tuple[int, int]:
        by = group_by(rows, lambda row: row.pair.key if of_cells else row.decision.key).values()
        return sum(any(row.verdict == verdict for row in own) for own in by), len(by)

    n, of = counted(inside)
    return Move(
        verdict=verdict,
        rows=tuple(moved),
        sweeps=tuple(dict.fromkeys(row.sweep for row in moved)),
        axis=axis,
        level=level,
        of_cells=of_cells,
        moved=n,
        of=of,
        elsewhere=counted(row for row in every if axis and _level_of(axis, row) != level),
    )


# --- levels ------------------------------------------------------------------------------------------------


def shared(rows: Sequence[Row], verdict: Verdict = "regressed") -> tuple[Shared, ...]:
    """Return the levels that the cells have in common which regressed, or improved.

    A level is named where at least three cells moved so, it holds at least four fifths of them, at least half of its own
    did, and at most a tenth of the others, of which at least half are decided or changed by less than any of these. Cells without the
    axis count as others; derived numbers, single runs and what is 0 or below, of which no change is a share, do not count, nor an axis with more than 40
    levels.
    """
    judged = [row for row in rows if not row.once and not row.derived and row.decision.ratio is not None]
    found = []
    for axis in dict.fromkeys(name for row in judged if row.verdict == verdict for name in row.labels):
        members = group_by(judged, functools.partial(_level_of, axis))
        if not 1 < len(members) <= 40:
            continue
        counted = [_level(name, own, verdict) for name, own in members.items()]
        first = min(counted, key=lambda level: (-level.counts[verdict], natural(level.name)))
        least = _least(members[first.name], verdict)
        rest = [_level(name, own, verdict, least) for name, own in members.items() if name != first.name]
        rest.sort(key=lambda level: natural(level.name))
        hit, others = first.counts[verdict], sum(level.counts[verdict] for level in rest)
        open_ = sum(level.counts["inconclusive"] - level.less for level in rest)
        of_others = sum(level.cells for level in rest)
        if (
            first.name
            and hit + others >= 3
            and hit >= 0.8 * (hit + others)
            and hit >= 0.5 * first.cells
            and others <= 0.1 * of_others
            and open_ <= 0.5 * of_others
        ):
            found.append(Shared(axis=axis, levels=(first, *rest)))
    return tuple(found)


def _level_of(axis: str, row: Row) -> str:
    return row.labels.get(axis, "")


def _least(rows: Iterable[Row], verdict: Verdict) -> dict[str, float]:
    """Return by family by how much the rows with the verdict moved at least (log)."""
    of = group_by((row for row in rows if row.verdict == verdict), lambda row: row.decision.family)
    return {family: min(abs(row.decision.shift or 0.0) for row in own) for family, own in of.items()}


def _level(
    name: str, rows: Iterable[Row], verdict: Verdict, least: Mapping[str, float] = MappingProxyType({})
) -> Level:
    """Return the cells of a level. `least`: by family how much what has the verdict elsewhere moved at least."""
    order: tuple[Verdict, ...] = (verdict, "inconclusive", _OTHER[verdict], "same")
    of_cells = group_by(rows, lambda row: row.pair.key).values()
    words = [min((row.verdict for row in own), key=order.index) for own in of_cells]
    counted = Counter(words)
    less = sum(
        word == "inconclusive"
        and all(row.verdict != "inconclusive" or _is_less(row, verdict, least) for row in own)
        for word, own in zip(words, of_cells, strict=True)
    )
    return Level(name=name, counts={word: counted[word] for word in VERDICTS}, less=less)


def _is_less(row: Row, verdict: Verdict, least: Mapping[str, float]) -> bool:
    """Does the interval of a row end, on the side of the verdict, before the least move of its family?"""
    falls = (row.better == "higher") == (verdict == "regressed")
    end = row.decision.low if falls else row.decision.high
    if not end or end <= 0 or row.better == "neither" or row.decision.family not in least:
        return False
    farthest = -math.log(end) if falls else math.log(end)
    return farthest < least[row.decision.family]
