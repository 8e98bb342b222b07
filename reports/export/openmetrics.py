"""Export results as OpenMetrics text, for Prometheus and programs that read the same format.

    # HELP pinsweep_stream_bandwidth_bytes_per_second STREAM, or what stands in for it (label program): bandwidth, the median …
    # TYPE pinsweep_stream_bandwidth_bytes_per_second gauge
    # UNIT pinsweep_stream_bandwidth_bytes_per_second bytes_per_second
    pinsweep_stream_bandwidth_bytes_per_second{host="node07",kernel="triad",place="local",sweep="scaling",threads="4"} 2.31e+10

Units are Prometheus' own: seconds and bytes. HELP of a name is the same in all files, because node_exporter compares
HELP texts.

    https://prometheus.io/docs/specs/om/open_metrics_spec/    https://github.com/prometheus/node_exporter#textfile-collector
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from orchestrator.model import STATUSES
from parsers import get_parser
from reports.checks.audit import joined
from reports.measurements import Measurements, measure, records
from reports.numbers import Name
from reports.results import naming
from reports.results.convicted import checks_of
from reports.results.grouping import group_by
from reports.results.model import Results
from reports.results.programs import tool_name
from reports.results.sessions import timeline
from reports.text.exposition import Family, Labels, exposition, fit

if TYPE_CHECKING:
    import pandas as pd

_UNITS: Final[Mapping[str, tuple[str, float]]] = {
    "ns": ("seconds", 1e-9), "B": ("bytes", 1.0), "B/s": ("bytes_per_second", 1.0), "1/s": ("per_second", 1.0),
    "ns/B": ("seconds_per_byte", 1e-9), "1": ("ratio", 1.0), "%": ("ratio", 0.01), "degC": ("celsius", 1.0), "°C": ("celsius", 1.0),
    "W": ("watts", 1.0), "J": ("joules", 1.0), "V": ("volts", 1.0), "A": ("amperes", 1.0),
}  # fmt: skip
"""Base unit → (Prometheus unit, factor). Other units keep a valid form of the name."""

_NAMES: Final[Mapping[str, str]] = {"IOPS": "operations", "α": "startup_time", "n½": "half_peak_size"}
"""Renamed metrics, because "iops_per_second" would say "per second" two times."""

_CELL_FAMILIES: Final = ("repeats", "doubtful")
"""Families of a tool about its cells: no metric has their names."""

_RESERVED: Final = frozenset({"job", "instance", "le", "quantile", "checks"})
"""Labels that Prometheus sets, or that have a meaning in Prometheus or in this module."""

_COLUMNS: Final = (
    "tool", "file", "host", "program", "sweep", "point_id", "axes", "place", "relation", "pu_count", "better", "derived",
)  # fmt: skip

_STATES: Final = (*STATUSES, "unreadable")

Row = Mapping[str, Any]


def text(results: Results, tool: str | None = None) -> str:
    """Return the results as OpenMetrics text that ends with `# EOF`. With `tool`, return only the numbers of that tool.

    A number is the median over the repeats of a cell. If several files of a host have the cell, the newest file counts.
    """
    measurements = measure(results, undirected=True)
    frame = _last_measured(measurements)
    rows = _medians(frame if tool is None else frame[frame["tool"] == tool])
    tools = measurements.series["tool"]
    names = {index: (tools[index], name) for index, name in measurements.names.items()}
    return exposition([*_numbers(rows, names), *_cells(rows), *_hosts(measurements), _infos(results)])


def _last_measured(measurements: Measurements) -> pd.DataFrame:
    """Return the numbers of the newest file for each host, program and cell."""
    keys = ["host", "program", "point_id"]
    runs = measurements.runs.join(measurements.sessions["time"], on="session")
    order = runs[runs["counts"].astype(bool)].sort_values(["time", "started_utc", "file"])
    last = order.drop_duplicates(keys, keep="last")[[*keys, "file"]]
    frame = measurements.frame(*_COLUMNS).merge(last, on=[*keys, "file"])
    return frame[(frame["better"] != "neither") | frame["derived"].astype(bool)]


def _medians(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one row per number of a cell on a host: `median`, `repeats`, `flags`, and the columns of the first run."""
    keys = ["series", "host", "program", "point_id"]
    groups = frame.groupby(keys, sort=False)
    numbers = groups.agg(median=("value", "median"), repeats=("value", "size"), flags=("flags", joined))
    first = frame.drop_duplicates(keys).drop(columns="flags").set_index(keys)
    return records(first.join(numbers).reset_index())


def _numbers(rows: Iterable[Row], names: Mapping[int, tuple[str, Name]]) -> Iterator[Family]:
    """Yield a family per metric and unit."""
    families = group_by(rows, lambda row: _named(*names[row["series"]])[:2])
    used: set[str] = set()
    for group in families.values():
        name, unit, factor, words = _named(*names[group[0]["series"]], used=used)
        used.add(name)
        samples: dict[Labels, float] = {}
        for row in group:
            labels = {**_cell_labels(row), **_number_labels(*names[row["series"]], unit)}
            if tuple(labels.items()) in samples:  # an edited experiment has another cell with the same labels
                labels["cell"] = row["point_id"]
            samples[tuple(labels.items())] = row["median"] * factor
        yield Family(name=name, unit=unit, text=words, samples=samples)


def _cells(rows: Iterable[Row]) -> Iterator[Family]:
    """Yield the families of a tool for the number of runs and of checks per cell."""
    for tool, group in group_by(rows, lambda row: fit(row["tool"])).items():
        cells = group_by(group, lambda row: tuple(_cell_labels(row).items()))
        repeats = {cell: max(row["repeats"] for row in numbers) for cell, numbers in cells.items()}
        flags = {cell: joined(row["flags"] for row in numbers) for cell, numbers in cells.items()}
        flagged = {(*cell, ("checks", ids)) if ids else cell: len(checks_of(ids)) for cell, ids in flags.items()}
        words = f"Runs of a cell of {tool} behind each median."
        yield Family(name=f"pinsweep_{tool}_repeats", text=words, samples=repeats)
        words = f"Checks of pinsweep audit that doubt a cell of {tool}; 0: none."
        yield Family(name=f"pinsweep_{tool}_doubtful", text=words, samples=flagged)


def _hosts(measurements: Measurements) -> Iterator[Family]:
    """Yield the states of the runs of each host, and the start of the last run."""
    runs = measurements.runs[~measurements.runs["warm_up"].astype(bool)]
    states = runs["status"].replace("used in", "ok")
    states = states.mask((states == "ok") & (runs["disturbance"] != ""), "disturbed")  # it was allowed
    counts = states.groupby(runs["host"], sort=False).value_counts()
    ended: dict[Labels, float] = {
        (("host", str(host)), ("status", str(state))): float(counts.get((host, state), 0))
        for host in runs["host"].unique()
        for state in _STATES
    }
    yield Family(name="pinsweep_runs", text="Runs by how they ended.", samples=ended)
    started = runs[~runs["captured"].astype(bool)].groupby("host", sort=False)["started_utc"].max()
    times = {(("host", str(host)),): _seconds(time) for host, time in started.items()}
    words = "When the last run began, seconds since 1970."
    yield Family(
        name="pinsweep_last_run_timestamp_seconds",
        unit="seconds",
        text=words,
        samples={host: time for host, time in times.items() if time},
    )


def _infos(results: Results) -> Family:
    """Return the family with host data for joins, because different processors must not be compared."""
    sessions = {(m.file, m.session.session): m for m in results.measured}
    last = {sessions[key].host: sessions[key].session for key in timeline(results.measured)}
    labels = [
        _labels([("host", host), *((name, session.facts.get(name)) for name in ("cpu_model", "kernel"))])
        for host, session in last.items()
    ]
    words = "What a host was in its last session; always 1."
    return Family(name="pinsweep_host_info", text=words, samples={tuple(host.items()): 1.0 for host in labels})


def _seconds(started_utc: str) -> float:
    """Return seconds since 1970. 0 for an invalid time in the file."""
    try:
        return datetime.fromisoformat(started_utc).timestamp()
    except ValueError:
        return 0.0


# --- names and labels --------------------------------------------------------------------------------------


def _named(tool: str, number: Name, used: Collection[str] = ()) -> tuple[str, str, float, str]:
    """Return (name, unit, factor to the unit, help) of a number's family.

    A user may name one plain number "a_seconds", and another number "a" with the unit s. The second becomes
    "value_a_seconds".
    """
    unit, factor = _UNITS.get(number.unit, (fit(number.unit).strip("_").lower(), 1.0))
    if number.unit == "1" and not get_parser(tool).METRICS:  # a user's own metric: a ratio, or a count
        unit = ""
    stem = _stem(number, unit)
    while (name := "_".join(filter(None, ("pinsweep", fit(tool), stem, unit)))) in used:
        stem = f"value_{stem}".rstrip("_")
    title = tool_name(tool)
    program = f"{title}, or what stands in for it (label program)" if naming.has_stand_in(tool) else title
    return name, unit, factor, f"{program}: {number.metric}, the median over the repeats of a cell."


def _stem(name: Name, unit: str) -> str:
    """Return the metric as part of a family's name before `unit`: "latency" for "latency_seconds"."""
    stem = fit(_NAMES.get(name.metric, name.metric.replace("×", "x"))).strip("_").lower()
    if unit and (stem == unit or stem.endswith(f"_{unit}")):
        stem = stem.removesuffix(unit).rstrip("_")
    return f"value_{stem}".rstrip("_") if stem + unit in _CELL_FAMILIES else stem


def _cell_labels(row: Row) -> dict[str, str]:
    """Return the labels of a cell: its axes, its placement, and the program."""
    axes = json.loads(row["axes"])
    names = {name: row[name] for name in ("host", "sweep", "place", "relation", "program")}
    if not row["pu_count"]:  # not placed: its relation is the user's own word for the place
        del names["relation"]
    return _labels([*names.items(), *((name, value) for name, value in axes.items() if name != "place")])


def _number_labels(tool: str, name: Name, unit: str) -> dict[str, str]:
    """Return the labels of a number in its cell."""
    # a user may call two numbers "a-b" and "a.b", "rate" and "Rate": one name here
    changed = name.metric if tool == "command" and _stem(name, unit) != name.metric else ""
    return _labels([("kind", name.kind), *name.part, ("statistic", name.statistic), ("metric", changed)])


def _labels(pairs: Iterable[tuple[str, object]]) -> dict[str, str]:
    """Return labels with valid and unique names. Labels without a value are left out."""
    labels: dict[str, str] = {}
    for name, value in pairs:
        if value is None or value == "":
            continue
        label = fit(name)
        label = f"tool_{label}" if label in _RESERVED or label.startswith("__") else label
        while label in labels:
            label += "_"
        labels[label] = str(value).lower() if isinstance(value, bool) else str(value)
    return labels
