"""What a short sweep says is wrong with a host, the gravest first. Pure.

A wrong answer outranks everything: a host that is slow costs time, one that computes or stores other data than it should costs results.
What could not be measured says nothing against the host, and is told apart.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from orchestrator.model import Cell
from reports.checks.audit import Finding
from reports.compare.comparison import Comparison
from reports.compare.document import describe_change, where
from reports.measurements import records
from reports.results.differences import SEVERAL
from reports.results.model import Results, Run
from reports.text import format as fmt

Kind = Literal["wrong", "failed", "impossible", "changed", "slower", "unknown"]

ORDER: Final[tuple[Kind, ...]] = ("wrong", "failed", "impossible", "changed", "slower", "unknown")
"""wrong: a program's own check of its data failed. failed: a program that should run here did not end well. impossible: a number that
cannot be true, by the audit. changed: cores or memory modules are not those of the baseline. slower: than the baseline. unknown: what could
not be measured, or not be judged."""

WRONG: Final = "validation_failed"
"""The parsers' remark for output whose program calls it wrong: STREAM's validation, fio's verify."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """One thing that is wrong, or could not be found out."""

    kind: Kind
    id: str  # what an admin can look for: "S2" of the audit, else a word
    text: str


def troubles(
    results: Results,
    findings: Iterable[Finding],
    *,
    wrong: Collection[tuple[str, int]] = (),
    found: Comparison | None = None,
    unjudged: str = "",
    late: str = "",
    enough: int = 1,
) -> tuple[Trouble, ...]:
    """Return what is wrong, by `ORDER`.

    `wrong`: the runs (cell's point_id, repeat) whose output has the remark WRONG; `found`: this host's numbers (B) against the baseline's (A);
    `unjudged`: why they could not be compared; `late`: what the sweep was given up for, which says why the rest was not measured; it is
    nothing where each cell has `enough` repeats by then.
    """
    every = [
        *_of_runs(results, wrong),
        *(Trouble(kind="impossible", id=f.id, text=f"{f.sweep}: {f.check}, {': '.join(f.cells[0])}") for f in findings if f.level == "error"),
        *((*_changed(found), *_slower(found)) if found else ()),
        *([Trouble(kind="unknown", id="baseline", text=unjudged)] if unjudged else []),
        *(_given_up(results, late, enough) if late else _not_measured(results)),
        *((*_not_judged(found), *_not_compared(found)) if found else ()),
    ]  # fmt: skip
    return tuple(sorted(every, key=lambda one: ORDER.index(one.kind)))


def line(found: Sequence[Trouble]) -> str:
    """Return the line that says it: "ERROR slower stream, …; and 2 more", "UNKNOWN …"; "" of a host that is sound."""
    if not found:
        return ""
    first = found[0]
    alike = [one for one in found if (one.kind == "unknown") == (first.kind == "unknown")]
    more = f"; and {len(alike) - 1} more" if len(alike) > 1 else ""
    return (
        f"{'UNKNOWN' if first.kind == 'unknown' else 'ERROR'} {first.id} {' '.join(first.text.split())}{more}"
    )


def _of_runs(results: Results, wrong: Collection[tuple[str, int]]) -> Iterable[Trouble]:
    told: set[tuple[str, str]] = set()
    for run in results.failed:
        kind, id_ = (
            ("wrong", "wrong-answer")
            if (run.record.point_id, run.record.repeat) in wrong
            else ("failed", run.record.status)
        )
        reason = run.record.reason or run.unreadable
        if run.record.status in _NOBODYS_FAULT or (run.record.point_id, reason) in told:
            continue
        told.add((run.record.point_id, reason))  # of repeats that say the same, once
        yield Trouble(kind=kind, id=id_, text=f"{_named(run)}: {reason}")  # type: ignore[arg-type]


_NOBODYS_FAULT: Final = ("misplaced", "interrupted")
"""How runs end that say nothing of the host."""


def _changed(found: Comparison) -> Iterable[Trouble]:
    """A baseline of several kinds of machine says nothing of this one's."""
    for one in found.fingerprint.differences:
        if one.what in _HARDWARE and SEVERAL not in one.a:
            yield Trouble(
                kind="changed", id="changed", text=f"{one.what}: {one.a} in the baseline, {one.b} now"
            )


_HARDWARE: Final = ("cores", "memory modules")


def _slower(found: Comparison) -> Iterable[Trouble]:
    for row in records(found.verdicts):
        if row["verdict"] == "regressed" and not row["name"].derived:
            yield Trouble(kind="slower", id="slower", text=_number(row))


def _number(row: Mapping[str, Any]) -> str:
    return f"{where(row)}: {row['name'].words} {describe_change(row)} (baseline → now)"


def _not_judged(found: Comparison) -> Iterable[Trouble]:
    """Numbers that may be slower: disturbed on a side, without a test, or beyond the threshold within the noise."""
    for row in records(found.verdicts):
        worse = row["shift"] is None or row["shift"] > math.log1p(row["threshold"])
        is_open = not row["verdict"] or (row["verdict"] == "inconclusive" and (row["unsure"] or worse))
        if is_open and not row["name"].derived:
            yield Trouble(
                kind="unknown", id="disturbed" if row["unsure"] else "inconclusive", text=_number(row)
            )


def _given_up(results: Results, late: str, enough: int) -> Iterable[Trouble]:
    """Of repeats that were not run for lack of time: the sweep runs them in rounds, so that each cell has some before one has all."""
    good = Counter(run.record.point_id for run in results.runs if run.parsed)
    told = {run.record.point_id for run in results.failed if run.record.status not in _NOBODYS_FAULT}
    lacking = {cell.point_id for _, cell, _ in results.missing} - told
    if any(good[point_id] < enough for point_id in lacking):
        yield Trouble(kind="unknown", id="time", text=late)


def _not_measured(results: Results) -> Iterable[Trouble]:
    """Cells without a number, whose runs did not fail: disturbed at each attempt, elsewhere than asked, not started, not possible."""
    quiet = {run.record.point_id for run in results.runs if run.parsed}
    for run in results.disturbed:
        if run.record.point_id not in quiet:  # else its other repeats are its number
            yield Trouble(kind="unknown", id="disturbed", text=f"{_named(run)}: {run.record.reason}")
    for run in results.failed:
        if run.record.status in _NOBODYS_FAULT:
            yield Trouble(kind="unknown", id=run.record.status, text=f"{_named(run)}: {run.record.reason}")
    tried = {(run.record.point_id, run.record.repeat) for run in results.runs}
    left = [cell for _, cell, repeat in results.missing if (cell.point_id, repeat) not in tried]
    if left:
        said = f"{fmt.plural(len(left), 'run')}, the first {named(left[0])}"
        yield Trouble(kind="unknown", id="not-started", text=said)


def _not_compared(found: Comparison) -> Iterable[Trouble]:
    """Cells that only one side has, and numbers that only the baseline has; a failed cell is reported as that."""
    for row in records(found.unmatched):
        if row["kind"] == "cell" or (row["kind"] == "number" and row["side"] != "B"):
            numbers = f": {row['numbers']}" if row["numbers"] else ""
            text = f"{where(row)}{numbers}: {row['reason']} {row['detail']}".rstrip()
            yield Trouble(kind="unknown", id="baseline", text=text)


def _named(run: Run) -> str:
    return named(run.cell)


def named(cell: Cell) -> str:
    """Return "stream, place=local", or the sweep alone of one cell."""
    return f"{cell.sweep}, {cell.describe()}" if cell.labels() else cell.sweep
