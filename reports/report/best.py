"""The best cell of each sweep, where a page has more figures than anybody looks through. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from reports import numbers
from reports.charts import wording
from reports.draw.figure import Figure, Table, row_of
from reports.numbers import formulas
from reports.results import naming
from reports.results.convicted import whole_of
from reports.results.grouping import group_by
from reports.results.machines import machine_key
from reports.results.model import Results, Run
from reports.text import format as fmt

MOST_FIGURES = 6
"""So many are looked through without a table of what they found."""


def figure(results: Results, drawn: Sequence[Figure]) -> Figure | None:
    """Return a table with a row for each sweep and program: its best cell by the number that stands for a run, of which several share it how
    many, the median of its repeats and their range. None of few figures, or of one sweep."""
    sweeps = group_by(
        (run for tool in results.tools for run in results.good(tool) if run.sound),
        lambda run: (run.cell.sweep, naming.program_kind(run)),
    )
    if len(drawn) <= MOST_FIGURES or len(sweeps) < 2:
        return None
    kinds = Counter(sweep for sweep, _ in sweeps)
    tried = group_by(results.runs, lambda run: run.cell.sweep)
    rows = [
        found
        for (sweep, _), of in sweeps.items()
        for found in _row(of, len(_cells(tried[sweep] if kinds[sweep] == 1 else of)))
    ]
    if not rows:
        return None
    some = any(" of " in row[-1] for row, *_ in rows)
    return Figure(
        id="best-cells", title=_title([alone for *_, alone in rows]),
        sub=f"By the number that stands for a run; the median of the repeats, and their range. Of cells whose repeats overlap any may be the best. Cells of which neither way is better have no best, nor has a cell that alone gave a number; a sweep of one cell, or over what is accessed, its size or a limit, is not here.{_OTHERS if some else ''}",
        tables=(
            Table(
                columns=("Sweep", "Best cell", "Value", "Repeats", "By", "Cells"),
                rows=tuple(row for row, *_ in rows), numeric=frozenset((2, 3, 5)), of=tuple(row_of(runs) for _, runs, *_ in rows),
                metric_of=tuple(metric for _, _, metric, _ in rows),
            ),
        ),
    )  # fmt: skip


_OTHERS = " “2 of 3” cells: the others gave no number that counts."


def _cells(runs: Iterable[Run]) -> dict[tuple[str, str], list[Run]]:
    """Return the runs of each cell. What two files measured is two cells."""
    return group_by(runs, lambda run: (run.where, run.record.point_id))


def _title(alone: Sequence[str]) -> str:
    """Say "alg=robin-hood is best in 37 of 40 sweeps", of a cell that is in more than half of them; else what the rows are. alone: of each
    sweep its best cell, "" where others share that or are within its repeats, or one run alone tells it."""
    one, number = Counter(filter(None, alone)).most_common(1)[0] if any(alone) else ("", 0)
    if number < 2 or 2 * number <= len(alone):
        return "The best cell of each sweep"
    of = "all" if number == len(alone) else f"{fmt.count(number)} of"
    return f"{one} is best in {of} {fmt.count(len(alone))} sweeps"


def _row(runs: Sequence[Run], tried: int) -> Iterable[tuple[tuple[str, ...], list[Run], str, str]]:
    """Give the row of a sweep of so many cells, whose numbers it has, and which (`Leader.metric`), and its best cell where its repeats tell that from all others; nothing of a sweep of one cell, of one over the size of what is accessed, whose smallest
    is the best, of cells that have no number of one unit and direction, and of texts that nothing says to be of one machine."""
    if len({machine_key(run) for run in runs if run.captured}) > 1:
        return
    cells = list(_cells(runs).values())
    if tried < 2:
        return
    leaders, told = zip(*numbers.leaders_of(cells), strict=True)
    leader = leaders[0]
    units = {unit for own in told for unit, _ in own}
    if len(units) != 1 or not numbers.have_best(cells, leaders):
        return
    unit = leader.unit
    values, at = [[value for _, value in own] for own in told], ""
    if any(one.size is not None for one in leaders):
        found = numbers.at_one_size(cells, leaders)
        if found is None:
            return
        values, at = found[1][found[0]], f" at {fmt.size(found[0])}"
    spreads: Mapping[int, formulas.Spread] = {
        i: formulas.spread(own) for i, own in enumerate(values) if own and numbers.ranked(cells[i][0])
    }
    if not spreads:
        return
    title, by = runs[0].sweep_title or runs[0].cell.sweep, f"{leader.words}{at}"
    count = f"{fmt.count(len(cells))}{f' of {fmt.count(tried)}' if len(cells) < tried else ''}"
    if leader.better == "neither" or len(cells) < 2:
        yield (title, *(fmt.NOTHING,) * 3, by, count), list(runs), whole_of(one.metric for one in leaders), ""
        return
    pick = min if leader.better == "lower" else max
    value = pick(of.median for of in spreads.values())
    best = [i for i, of in spreads.items() if of.median == value]
    of, own = spreads[best[0]], cells[best[0]]
    as_good = f" and {fmt.plural(len(best) - 1, 'more cell')}" if len(best) > 1 else ""
    as_good += wording.within_repeats(of, (other for i, other in spreads.items() if i not in best))
    whose = f"{own[0].where}: " if len({cell[0].where for cell in cells}) > 1 else ""
    ends = dict.fromkeys(fmt.quantity(end, unit) for end in (of.low, of.high))
    ranged = " to ".join(ends) if of.n > 1 else fmt.NOTHING
    yield (
        (
            title, f"{whose}{own[0].cell.describe()}{as_good}", fmt.quantity(value, unit), ranged,
            f"{by}, {leader.better} is better", count,
        ),
        own, leaders[best[0]].metric, "" if as_good or of.n < 2 else f"{whose}{own[0].cell.describe()}",
    )  # fmt: skip
