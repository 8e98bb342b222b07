"""Checks of what the repeats of a cell say together."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.experiment.repeats import BASE, WITHIN, is_settled, uncertainty
from reports.checks import ANY_TOOL, Fault, check
from reports.checks._cells import by_cell
from reports.numbers import standing
from reports.results.model import Results, Run
from reports.text import format as fmt

FAMILY = ANY_TOOL


def _cells(results: Results) -> Iterator[list[Run]]:
    """Give the good repeats of each cell."""
    for tool in results.tools:
        yield from by_cell(results.good(tool)).values()


def _standing(runs: list[Run]) -> list[float]:
    """Return the number that stands for each repeat of a cell."""
    return standing(runs[0].tool, [run.parsed for run in runs if run.parsed])


@check("G13", "warn")
def not_settled(results: Results) -> Iterator[Fault]:
    """repeats: auto, and the number did not settle

    Of a cell with `repeats: auto`, by the number that stands for it: the order-statistic interval that holds the true median with 95 %
    reaches further than 2.5 % from the median of the repeats, though the cell ran as often as it may; or the sweep was stopped
    before.

    Do: quote the number with its range; look for what disturbs (`pinsweep doctor`), measure longer runs, or, where the sweep was
    stopped, start the same command again.
    """
    for runs in _cells(results):
        values, most = _standing(runs), runs[0].most_repeats
        if most and values and not is_settled(values):
            yield Fault(
                level="warn",
                run=runs[0],
                text=_unsettled(values, max(run.record.repeat for run in runs), most),
            )


def _unsettled(values: list[float], last: int, most: int) -> str:
    if len(values) < BASE:
        return f"did not settle: {fmt.plural(len(values), 'repeat')} with numbers, {BASE} tell whether a median is known to ±{fmt.percent(WITHIN)}"
    of = f" of at most {most}" if last < most else ""
    return f"did not settle: ±{fmt.percent(uncertainty(values))} after {len(values)}{of} repeats"
