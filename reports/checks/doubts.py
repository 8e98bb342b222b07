"""The cells that the checks flag, for exports, comparisons and tables. Pure, except for a stored audit."""

from __future__ import annotations

from reports.checks._cells import cell_key
from reports.checks.audit import audit, convicted
from reports.results.convicted import Guilty, of_all
from reports.results.model import Results


def of_results(results: Results) -> Guilty:
    """Return the cells that a check flags."""
    return convicted(audit(results))


def doubting_all(results: Results, guilty: Guilty) -> tuple[str, ...]:
    """Return the checks that flag all numbers of some results. Such checks are named once and mark no single number."""
    return of_all(guilty, {cell_key(run) for tool in results.tools for run in results.good(tool)})
