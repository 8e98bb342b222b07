"""The page's part of a tool that declares its charts (`reports.tools`): figures and key numbers from its rows."""

from __future__ import annotations

from typing import Any, Final

from parsers.measurement import whole
from reports import tools
from reports.charts import wording
from reports.charts.chapter import AccessTime, Chapter, Spot
from reports.measurements import Measurements
from reports.numbers import formulas
from reports.page.model import KeyNumber
from reports.results import naming
from reports.results.model import Results
from reports.tools.base import Tool


def chapter(tool: str, results: Results, measured: Measurements) -> Chapter:
    """Return figures and key numbers of a tool."""
    found = tools.find(tool)
    runs = dict(enumerate([*results.runs, *results.warm_ups]))
    good = set(results.good(tool))
    samples = [
        {**row, "run": index}
        for index, run in runs.items()
        if run in good and not run.void
        for row in found.samples(run)
    ]
    rows = measured.tidy(tool, samples)
    rows = rows if type(found) is Tool else rows[rows["better"] != "neither"]
    attempts = measured.runs[measured.runs["tool"] == tool]
    keys = found.keys(rows[rows["series"].notna() & rows["counts"]]).to_dict("records") if len(rows) else []
    numbers = [_key_number(row, results) for row in keys]
    pairs = list(zip(keys, numbers, strict=True))
    return Chapter(
        tool=tool,
        drawn=tuple(found.figures(rows, measured.keys(tool), attempts)) if len(rows) else (),
        key_numbers=tuple(numbers),
        access_times=tuple(_access_time(row, number, found.SECTION) for row, number in pairs if row["unit"] == "ns"),
        between_nodes=tuple(
            Spot(number=number, source=whole(row["source"]), target=whole(row["target"])) for row, number in pairs if _is_known(row["source"])
        ),
        programs=wording.programs(results.shown(tool)),
    )  # fmt: skip


_GROUPS: Final = {"Memory": "memory", "MPI": "message passing", "Storage": "storage"}


def _access_time(row: dict[Any, Any], number: KeyNumber, section: str) -> AccessTime:
    tail, size = (row[name] if _is_known(row[name]) else None for name in ("tail", "size"))
    return AccessTime(
        name=", ".join(filter(None, (row["name"], row["context"]))), words=tuple(filter(None, (row["name"], row["context"]))),
        group="storage" if _is_known(row["device"]) else _GROUPS.get(section, "memory"), median=row["value"], run=number.runs[0], p999=tail,
        source=naming.program_name(number.runs[0]), repeats=_spread(row), step=_spread(row).step, drawn=True, size=size,
    )  # fmt: skip


def _is_known(value: object) -> bool:
    return value is not None and value == value


def _key_number(row: dict[Any, Any], results: Results) -> KeyNumber:
    own = [
        run
        for run in results.shown(row["tool"])
        if (run.where, run.record.point_id) == (row["where"], row["point_id"])
    ]
    return wording.key_number(
        row["name"],
        _spread(row),
        row["unit"],
        row["context"],
        row["rank"],
        own,
        program=row["program"],
        metric="",
    )


def _spread(row: dict[Any, Any]) -> formulas.Spread:
    return formulas.Spread(
        row["value"], row["low"], row["high"], row["n"], row["step"] if _is_known(row["step"]) else None
    )
