"""Where a curve of B against A has no point: cells that only one side has, that failed, or whose number is not on both sides. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from reports.compare import text as texts
from reports.compare.matching import became, cells
from reports.compare.model import Comparison, Row
from reports.results.grouping import group_by
from reports.text import format as fmt


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A tested value without a ratio."""

    labels: Mapping[str, str]  # axis → level, of its cell; of a row those of the row
    why: str
    meant: bool = True  # were both sides to have it? Else one of them has other values

    def fits(self, axis: str, curve: Sequence[Row]) -> bool:
        """Would it be a point of a curve over the axis? Then it has all labels that the rows of the curve have in common."""
        if axis not in self.labels:
            return False
        for name, level in self.labels.items():
            known = {row.labels[name] for row in curve if name in row.labels}
            if name != axis and len(known) == 1 and level not in known:
                return False
        return True


def gaps_of(comparison: Comparison, rows: Sequence[Row]) -> list[Gap]:
    """Return the gaps of the rows of one metric of one sweep."""
    return [*_alone(comparison, rows), *_failed(comparison, rows), *_without(comparison, rows)]


def _alone(comparison: Comparison, rows: Sequence[Row]) -> Iterator[Gap]:
    for one in comparison.unmatched:
        if one.labels and one.sweep in (rows[0].sweep, rows[0].pair.b.sweep):
            yield Gap(labels=one.labels, why=one.reason, meant=one.meant)


def _failed(comparison: Comparison, rows: Sequence[Row]) -> Iterator[Gap]:
    """Give the cells that failed on both sides: neither has them."""
    of, sides = rows[0].pair.a, (comparison.a, comparison.b)
    good = {run.record.point_id for side in sides for run in side.runs}
    lost = [
        run
        for side in sides
        for run in side.failed
        if (run.tool, run.cell.sweep) == (of.tool, of.sweep) and run.record.point_id not in good
    ]
    for cell in cells(lost, [comparison.by] if comparison.by else []):
        said = fmt.words(sorted(set(map(became, cell.runs))))
        yield Gap(labels=cell.labels, why=f"{fmt.plural(len(cell.runs), 'run')} gave no number ({said})")


def _without(comparison: Comparison, rows: Sequence[Row]) -> Iterable[Gap]:
    """Give the pairs of the sweep that lack the metric, and the rows without a ratio."""
    of = rows[0].pair.a
    behind = (pair for pairs in comparison.behind.values() for pair in pairs)
    pairs = {pair.key: pair for pair in behind if (pair.a.tool, pair.a.sweep) == (of.tool, of.sweep)}
    have = group_by(rows, lambda row: row.pair.key)
    for key, pair in pairs.items():
        if key not in have:
            yield Gap(labels=pair.a.labels, why="not a number of all repeats of both sides")
    for row in rows:
        if not row.decision.ratio:
            yield Gap(labels=row.labels, why=f"no ratio of {texts.from_to(row)}")
