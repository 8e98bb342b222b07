"""The numbers of a fleet, and what each host has in them: frames from `Measurements`. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from reports.fleet.hosts import Members
from reports.measurements import Measurements, records
from reports.results.levels import natural

if TYPE_CHECKING:
    import pandas as pd

CELL: Final = ["tool", "program", "sweep", "point_id", "pus", "memory_nodes", "thread_count"]
"""What must be equal in runs that are compared."""

NAME: Final = ["metric", "statistic", "kind", "labels", "unit", "better", "derived"]


def host_values(measurements: Measurements, sessions: pd.DataFrame) -> pd.DataFrame:
    """Return a row per value of the hosts: run, series, value, step, flags, host, group, evidence, cell (an index of
    equal ones of CELL)."""
    runs = measurements.runs[measurements.runs["session"].isin(sessions.index)]
    cells = runs.groupby(CELL, sort=False).ngroup()
    values = measurements.values[measurements.values["run"].isin(runs.index)]
    values = values.assign(cell=values["run"].map(cells), session=values["run"].map(runs["session"]))
    return values.join(sessions[["host", "group", "evidence"]], on="session")


def number_rows(measurements: Measurements, values: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a row per number of a group, in the order of the cells, and the values with the `number` of each."""
    values = values.assign(number=values.groupby(["group", "cell", "series"], sort=False).ngroup())
    resolution = (values["step"] / values["value"].abs()).where(values["value"] != 0, 0.0).fillna(0.0)
    first = values.drop_duplicates("number").set_index("number").sort_index().rename_axis(None)
    runs = measurements.runs[[*CELL, "cell", "axes", "options", "place", "relation"]]
    numbers = first[["group", "run", "series"]].join(runs, on="run")
    numbers = numbers.join(measurements.series.drop(columns=["tool"]), on="series")
    numbers["resolution"] = resolution.groupby(values["number"]).median()
    empty = numbers["axes"] == "{}"
    numbers["cell"] = numbers["sweep"].where(empty, numbers["sweep"] + ", " + numbers["cell"])
    for _, same in numbers.groupby(["group", "cell", "name"], sort=False):
        if len(same) > 1:
            numbers.loc[same.index, "cell"] = _distinguished(same)
    numbers["number"] = [f"{cell}: {name}" for cell, name in zip(numbers["cell"], numbers["name"], strict=True)]
    keys = {
        number: (row["tool"], row["sweep"], [*map(natural, json.loads(row["axes"]).values())], row["program"], row["point_id"], row["series"])
        for number, row in zip(numbers.index, records(numbers), strict=True)
    }  # fmt: skip
    numbers = numbers.loc[sorted(keys, key=keys.__getitem__)]
    place = {number: new for new, number in enumerate(numbers.index)}
    return numbers.reset_index(drop=True), values.assign(number=values["number"].map(place))


_FACTS: Final = {"program": "program", "pus": "PUs", "memory_nodes": "memory nodes", "thread_count": "threads counted", "unit": "unit", "better": "better"}  # fmt: skip


def _distinguished(numbers: pd.DataFrame) -> list[str]:
    """Return the cells of numbers with one name, with what distinguishes them: "s, threads=32"."""
    facts = [
        json.loads(row["options"]) | {label: row[key] for key, label in _FACTS.items()} for row in records(numbers)
    ]
    names = dict.fromkeys(name for fact in facts for name in fact)
    keys = [name for name in names if len({str(fact.get(name, "")) for fact in facts}) > 1]
    return [
        ", ".join([cell, *(f"{key}={fact.get(key) or 'not recorded'}" for key in keys)])
        for cell, fact in zip(numbers["cell"], facts, strict=True)
    ]


def session_medians(values: pd.DataFrame) -> dict[int, dict[str, list[float]]]:
    """Return number → host → the median of each of its sessions."""
    medians_of: dict[int, dict[str, list[float]]] = {}
    medians = values.groupby(["number", "host", "evidence"])["value"].median()
    for (number, host, _), value in zip(medians.index.tolist(), medians, strict=True):
        medians_of.setdefault(number, {}).setdefault(host, []).append(value)
    return medians_of


def baseline_medians(past: Measurements, which: Members) -> dict[tuple[Any, ...], list[float]]:
    """Return (group, CELL, NAME) → the median of each session of a baseline."""
    values = host_values(past, which.past)
    values = values[values["group"] >= 0]
    medians = values.groupby(["group", "cell", "series", "host", "evidence"])["value"].median()
    first = values.drop_duplicates("cell").set_index("cell")["run"]
    cells = past.runs.loc[first, CELL].set_axis(first.index)
    medians_of: dict[tuple[Any, ...], list[float]] = {}
    for (group, cell, series, *_), value in zip(medians.index.tolist(), medians, strict=True):
        medians_of.setdefault((group, *cells.loc[cell], *past.series.loc[series, NAME]), []).append(value)
    return medians_of
