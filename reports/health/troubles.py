"""List the faults of a host that a short sweep shows, most severe first.

A wrong answer is the most severe fault: a slow host costs time, and wrong data costs results. A failed measurement is
`unknown`, because the host may be healthy.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from orchestrator.model import Cell
from reports.checks.audit import Finding
from reports.compare.comparison import Comparison
from reports.compare.document import describe_change, where
from reports.measurements import records
from reports.results.differences import SEVERAL
from reports.results.model import Results
from reports.text import format as fmt

Kind = Literal["wrong", "failed", "impossible", "changed", "slower", "unknown"]

ORDER: Final[tuple[Kind, ...]] = ("wrong", "failed", "impossible", "changed", "slower", "unknown")
"""wrong: a program's own check of its data failed. failed: a program that should run here did not end well. impossible: a number that
cannot be true, by the audit. changed: cores or memory modules are not those of the baseline. slower: than the baseline. unknown: what could
not be measured or judged."""

WRONG: Final = "validation_failed"
"""The parsers' remark for output that the program reports as wrong: STREAM's validation, fio's verify."""

_HARDWARE: Final = ("cores", "memory modules")

_OUTSIDE: Final = ("misplaced", "interrupted")
"""States of a run that are not a fault of the host."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One fault, or one unknown state."""

    kind: Kind
    id: str  # what an admin can look for: "S2" of the audit, else a word
    text: str

    def severity(self) -> int:
        """The index in ORDER."""
        return ORDER.index(self.kind)


def troubles(
    results: Results,
    findings: Iterable[Finding],
    *,
    wrong: Collection[tuple[str, int]] = (),
    late: str = "",
    enough: int = 1,
) -> Iterator[Trouble]:
    """Yield the faults that the results alone show.

    `wrong`: the runs (cell's point_id, repeat) whose output has the remark WRONG. `late`: the reason for a stop at the
    time limit. The stop is not a trouble if each cell has `enough` repeats by then.
    """
    yield from _failed(results, wrong)
    for finding in findings:
        if finding.level == "error":
            text = f"{finding.sweep}: {finding.check}, {', '.join(finding.cells[0])}"
            yield Trouble("impossible", finding.id, text)
    yield from _given_up(results, late, enough) if late else _not_measured(results)


def line(every: Sequence[Trouble]) -> str:
    """Return "ERROR slower stream, …; and 2 more" or "UNKNOWN …". "" for a healthy host."""
    if not every:
        return ""
    first = every[0]
    more = sum((trouble.kind == "unknown") == (first.kind == "unknown") for trouble in every) - 1
    word = "UNKNOWN" if first.kind == "unknown" else "ERROR"
    return f"{word} {first.id} {' '.join(first.text.split())}{f'; and {more} more' if more else ''}"


def describe_cell(cell: Cell) -> str:
    """Return "stream, place=local", or only the sweep if the sweep has one cell."""
    return f"{cell.sweep}, {cell.describe()}" if cell.labels() else cell.sweep


def _failed(results: Results, wrong: Collection[tuple[str, int]]) -> Iterator[Trouble]:
    """Yield failed runs. Repeats with the same reason count once."""
    shown: set[tuple[str, str]] = set()
    for run in results.failed:
        reason = run.record.reason or run.unreadable
        key = run.record.point_id, reason
        if run.record.status not in _OUTSIDE and key not in shown:
            shown.add(key)
            text = f"{describe_cell(run.cell)}: {reason}"
            if (run.record.point_id, run.record.repeat) in wrong:
                yield Trouble("wrong", "wrong-answer", text)
            else:
                yield Trouble("failed", run.record.status, text)


def compared(comparison: Comparison) -> Iterator[Trouble]:
    """Yield changed hardware, slower numbers, numbers that may be slower, and cells that only the baseline (A) has."""
    for difference in comparison.fingerprint.differences:
        if (
            difference.what in _HARDWARE and SEVERAL not in difference.a
        ):  # a baseline of several kinds says nothing of this one
            yield Trouble(
                "changed", "changed", f"{difference.what}: {difference.a} in the baseline, {difference.b} now"
            )
    for row in records(comparison.verdicts):
        text = f"{where(row)}: {row['name'].words} {describe_change(row)} (baseline → now)"
        if row["name"].derived:
            continue
        if row["verdict"] == "regressed":
            yield Trouble("slower", "slower", text)
        elif _is_open(row):
            yield Trouble("unknown", "disturbed" if row["unsure"] else "inconclusive", text)
    for row in records(comparison.unmatched):
        if row["kind"] == "cell" or (row["kind"] == "number" and row["side"] != "B"):
            numbers = f": {row['numbers']}" if row["numbers"] else ""
            yield Trouble("unknown", "baseline", f"{where(row)}{numbers}: {row['reason']} {row['detail']}".rstrip())


def _is_open(row: Mapping[str, Any]) -> bool:
    """Return whether the number may be slower: disturbed on a side, untested, or beyond the threshold within the
    noise.
    """
    worse = row["shift"] is None or row["shift"] > math.log1p(row["threshold"])
    return not row["verdict"] or (row["verdict"] == "inconclusive" and bool(row["unsure"] or worse))


def _given_up(results: Results, late: str, enough: int) -> Iterator[Trouble]:
    """Yield the lack of time. The sweep runs in rounds, so each cell has some repeats before one cell has all
    repeats.
    """
    good = Counter(run.record.point_id for run in results.runs if run.parsed)
    failed = {run.record.point_id for run in results.failed if run.record.status not in _OUTSIDE}
    if any(good[cell.point_id] < enough for _, cell, _ in results.missing if cell.point_id not in failed):
        yield Trouble("unknown", "time", late)


def _not_measured(results: Results) -> Iterator[Trouble]:
    """Yield cells without a number and without a failed run: disturbed at each attempt, misplaced, or not started."""
    measured = {run.record.point_id for run in results.runs if run.parsed}
    disturbed = [run for run in results.disturbed if run.record.point_id not in measured]
    for run in (*disturbed, *(run for run in results.failed if run.record.status in _OUTSIDE)):
        yield Trouble("unknown", run.record.status, f"{describe_cell(run.cell)}: {run.record.reason}")
    tried = {(run.record.point_id, run.record.repeat) for run in results.runs}
    left = [cell for _, cell, repeat in results.missing if (cell.point_id, repeat) not in tried]
    if left:
        text = f"{fmt.plural(len(left), 'run')}, the first {describe_cell(left[0])}"
        yield Trouble("unknown", "not-started", text)
