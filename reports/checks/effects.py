"""The check of options that changed nothing: G1."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Sequence

from orchestrator import captured
from parsers.measurement import Measurement
from reports import format as fmt
from reports.checks import Fault, check
from reports.checks._cells import by_cell, good, is_captured, siblings_key
from reports.checks.general import same_value
from reports.checks.mlc import Curve, curves
from reports.frames import Results, Run
from reports.grouping import group_by

FAMILY = (90, "Any tool")

_NOT_ECHOED = ("l", "b", "X", "r", "e", "L")
"""MLC's options that its output does not repeat: only the numbers show whether they arrived."""


@check("G1", "warn")
def no_effect(results: Results) -> Iterator[Fault]:
    """an option that changed nothing

    Two loaded-latency curves that differ in one option of MLC which its output does not repeat (-l, -b, -X,
    -r …): in all rows that reach half of the peak, bandwidths agree within 10 %, while the same option
    changes the same rows of another pair by more than 20 % (median). Curves of fewer than five rows are
    left out. Of any tool: an axis of a sweep that nothing which was printed repeats, where at all its values
    every median lies within the noise of three repeats or more, and the noise is under 5 %; and two cells
    whose figures, ten or more, are the same to the last digit, and whose texts tell the same of their options.

    Do: check that the option reached the tool (a digit for a letter, a wrapper that drops it), and that it
    applies to this traffic.
    """
    yield from _whole_axes(results)
    yield from _not_echoed(results)


def _not_echoed(results: Results) -> Iterator[Fault]:
    """Look at the options of MLC that only its numbers can show, curve against curve."""
    found = [curve for curve in curves(results) if len(curve.rows) >= 5]
    for name in _NOT_ECHOED:
        pairs = [(a, b, changes) for a, b in _pairs(found, name) if (changes := _changes(a, b))]
        effect = max((statistics.median(changes) for _, _, changes in pairs), default=0.0)
        if effect <= math.log(1.2):
            continue
        for a, b, changes in pairs:
            if max(changes) < math.log(1.1):
                values = [curve.run.point.options.get(name, "not given") for curve in (a, b)]
                yield Fault(
                    level="warn", run=b.run,
                    text=f"{b.traffic or 'traffic not said'}: -{name} {values[0]} and -{name} {values[1]} agree within {fmt.percent(math.expm1(max(changes)))} "
                    f"in all loaded rows; of other traffic it changes the bandwidth by {fmt.percent(math.expm1(effect))}",
                )  # fmt: skip


def _pairs(found: Sequence[Curve], name: str) -> Iterator[tuple[Curve, Curve]]:
    """Give the curves that differ in one option."""
    but = (name, "source", "W")  # `source` tells apart texts that told the same: not an option
    for members in group_by(found, lambda c: (*siblings_key(c.run, but), c.traffic)).values():
        for a, b in itertools.combinations(members, 2):
            if str(a.run.point.options.get(name)) != str(b.run.point.options.get(name)):
                yield a, b


def _whole_axes(results: Results) -> Iterator[Fault]:
    for tool in results.tools:
        cells = list(by_cell(good(results, tool)).values())
        yield from _copies(cells)
        for name in dict.fromkeys(axis for runs in cells for axis in runs[0].point.axes):
            swept = _swept(cells, name)
            if swept and all(_alike(members) for members in swept):
                first, values = swept[0][0][0], [runs[0].point.options[name] for runs in swept[0]]
                yield Fault(
                    level="warn", run=first, cell=fmt.plural(sum(map(len, swept)), "cell"),
                    text=f"{name}={fmt.words([str(v) for v in values])}: no figure differs by more than its noise",
                )  # fmt: skip


def _swept(cells: Sequence[list[Run]], name: str) -> list[list[list[Run]]]:
    """Return the cells that differ in one option alone, which nothing that was printed repeats."""
    unprinted = [runs for runs in cells if name in runs[0].point.options and not _printed(runs[0], name)]
    siblings = group_by(unprinted, lambda runs: siblings_key(runs[0], (name,)))
    return [members for members in siblings.values() if len(members) > 1]


_COUNTS = ("run", "document", "table")
"""What is no part of a figure's name: how many texts, tables and runs stood before it."""


def _copies(cells: Sequence[list[Run]]) -> Iterator[Fault]:
    """Yield cells with other options than another's and all its figures: a file under two names, an axis that was lost."""
    seen: dict[tuple[object, ...], Run] = {}
    for runs in cells:
        run = runs[0]
        figures = tuple(row.value for row in run.measured())
        options = {k: v for k, v in run.point.options.items() if k != "source"}
        if len(set(figures)) < 10:
            continue
        before = seen.setdefault((run.file, run.tool, figures), run)
        others = {k: v for k, v in before.point.options.items() if k != "source"}
        differs = sorted(k for k in {*options, *others} if options.get(k) != others.get(k))
        if before is not run and differs and _told(before) == _told(run):
            yield Fault(
                level="warn", run=run,
                text=f"all {len(figures)} figures are those of {before.point.describe()}, to the last digit: {fmt.words(differs)} had no effect, or a text was copied",
            )  # fmt: skip


def _told(run: Run) -> dict[str, object]:
    return captured.told(run.tool, run.parsed) if run.parsed else {}


def _printed(run: Run, name: str) -> bool:
    """Does what the tool printed tell the option's value? Then it arrived."""
    if is_captured(run):
        return True  # what tells captured cells apart is what was printed, or what the user says of them
    asked = run.point.options[name]
    if any(row.get(name) == asked for row in itertools.islice(run.measured(), 1000)):
        return True
    return any(same_value(value, asked) for value in _told(run).values())


def _alike(cells: Sequence[list[Run]]) -> bool:
    """Do all figures of the cells agree within the noise of their repeats? Without repeats, or noisy: not known, so no."""
    tables = []
    for runs in cells:
        figures = group_by((row for run in runs for row in run.measured()), _figure)
        if len(runs) < 3 or not figures:
            return False
        tables.append({figure: [row.value for row in rows] for figure, rows in figures.items()})
    if any(table.keys() != tables[0].keys() for table in tables):
        return False
    for figure in tables[0]:
        values = [table[figure] for table in tables]
        middles = [statistics.median(v) for v in values]
        noise = max(max(v) - min(v) for v in values)
        if noise > 0.05 * max(map(abs, middles)) or max(middles) - min(middles) > noise:
            return False
    return True


def _figure(row: Measurement) -> tuple[object, ...]:
    return row.metric, row.unit, *((k, v) for k, v in row.labels.items() if k not in _COUNTS)


def _changes(a: Curve, b: Curve) -> list[float]:
    """Return |ln(bandwidth ÷ bandwidth)| of the rows that both have and of which one reaches half of its curve's peak."""
    mine, other = ({row.delay: row.bandwidth for row in curve.rows} for curve in (a, b))
    half = [max(rows.values()) / 2 for rows in (mine, other)]
    loaded = [d for d in mine if d in other and (mine[d] >= half[0] or other[d] >= half[1])]
    return [abs(math.log(mine[d] / other[d])) for d in loaded] if len(loaded) >= 3 else []
