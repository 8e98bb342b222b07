"""The page's part of a tool that declares its charts (`reports.tools`): figures and key numbers from its rows."""

from __future__ import annotations

from typing import Any

from reports import tools
from reports.charts import wording
from reports.charts.chapter import Chapter
from reports.measurements import Measurements
from reports.numbers import formulas
from reports.page.model import KeyNumber
from reports.results.model import Results


def chapter(tool: str, results: Results, measured: Measurements) -> Chapter | None:
    """Return figures and key numbers of a tool; None if it does not declare them."""
    found = tools.find(tool)
    if found is None:
        return None
    runs = dict(enumerate([*results.runs, *results.warm_ups]))
    good = set(results.good(tool))
    samples = [
        {**row, "run": index}
        for index, run in runs.items()
        if run in good and not run.void
        for row in found.samples(run)
    ]
    rows = measured.tidy(tool, samples)
    attempts = measured.runs[measured.runs["tool"] == tool]
    return Chapter(
        tool=tool,
        drawn=tuple(found.figures(rows, measured.keys(tool), attempts)) if len(rows) else (),
        key_numbers=tuple(
            _key_number(row, results)
            for row in found.keys(rows[rows["series"].notna() & rows["counts"]]).to_dict("records")
        ),
        programs=wording.programs(results.shown(tool)),
    )


def _key_number(row: dict[Any, Any], results: Results) -> KeyNumber:
    own = [
        run
        for run in results.shown(row["tool"])
        if (run.where, run.record.point_id) == (row["where"], row["point_id"])
    ]
    step = row["step"] if row["step"] == row["step"] else None
    spread = formulas.Spread(row["value"], row["low"], row["high"], row["n"], step)
    return wording.key_number(
        row["name"], spread, row["unit"], row["context"], row["rank"], own, program=row["program"], metric=""
    )
