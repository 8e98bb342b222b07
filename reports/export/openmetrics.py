"""Results as OpenMetrics text, for Prometheus and what reads its format.

    # HELP pinsweep_stream_bandwidth_bytes_per_second STREAM, or what stands in for it (label program): bandwidth, the median over the repeats of a cell.
    # TYPE pinsweep_stream_bandwidth_bytes_per_second gauge
    # UNIT pinsweep_stream_bandwidth_bytes_per_second bytes_per_second
    pinsweep_stream_bandwidth_bytes_per_second{host="node07",sweep="scaling",place="local",threads="4",kernel="triad"} 2.31e+10

Units are Prometheus' own: seconds and bytes. The text is good for both readers that matter: it is OpenMetrics 1.0, and
node_exporter's textfile collector, which reads the older Prometheus format, takes UNIT and EOF for comments. For its
sake there are gauges only (it refuses OpenMetrics' other types), no timestamps (it refuses files with them), and a HELP
that is the same for a name whatever file it is in.

    https://prometheus.io/docs/specs/om/open_metrics_spec/    https://github.com/prometheus/node_exporter#textfile-collector
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from orchestrator.model import STATUSES
from parsers import get_parser
from reports.checks.audit import joined
from reports.checks.doubts import of_results
from reports.numbers import Name, series
from reports.numbers.series import Series, Value
from reports.results import naming
from reports.results.convicted import checks_of
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.results.programs import tool_name
from reports.results.sessions import timeline
from reports.text.exposition import Family, Labels, exposition, fit

_UNITS: Final[Mapping[str, tuple[str, float]]] = {
    "ns": ("seconds", 1e-9), "B": ("bytes", 1.0), "B/s": ("bytes_per_second", 1.0), "1/s": ("per_second", 1.0),
    "ns/B": ("seconds_per_byte", 1e-9), "1": ("ratio", 1.0), "%": ("ratio", 0.01), "degC": ("celsius", 1.0), "°C": ("celsius", 1.0),
    "W": ("watts", 1.0), "J": ("joules", 1.0), "V": ("volts", 1.0), "A": ("amperes", 1.0),
}  # fmt: skip
"""Base unit → its name in Prometheus, and the factor to it. Any other unit keeps its name, made fit."""

_NAMES: Final[Mapping[str, str]] = {"IOPS": "operations", "α": "startup_time", "n½": "half_peak_size"}
"""Numbers that are called otherwise here: "iops_per_second" would be one "per second" too many."""

_REPEATS: Final = "repeats"
"""How the family of a tool is called that counts the runs behind each median."""

_DOUBTFUL: Final = "doubtful"
"""How the family of a tool is called that counts the checks that doubt each cell."""

_CHECKS: Final = "checks"
"""The label that names them."""

_TAKEN: Final = frozenset({"job", "instance", "le", "quantile", _CHECKS})
"""Labels that Prometheus sets itself, or that mean something to it or here."""


def text(results: Results, tool: str | None = None) -> str:
    """Return the results as OpenMetrics, `# EOF` included; with `tool`, the numbers of that one only.

    A number is the median over the repeats of its cell. Of a cell that several files of one host hold, the file that was
    measured last counts: what is exported is how the host is, not how it was.
    """
    return exposition(families(results, tool))


def families(results: Results, tool: str | None = None) -> list[Family]:
    """Return the metric families, those of the tools first, in the order of the results."""
    newest = _newest(results)
    found_in = series.collect(results, of_results(results), undirected=True)
    every = [
        (one, values)
        for one in found_in
        if tool in (None, one.key.tool)
        for values in group_by(
            (v for v in one.values if newest[v.run.host, one.key.program, one.key.point_id] == v.run.file),
            lambda value: value.run.host,
        ).values()
    ]
    out: list[Family] = []
    for found in group_by(every, lambda of: (_named(of[0])[0], of[0].unit)).values():
        name, unit, factor, text = _named(found[0][0], taken={family.name for family in out})
        samples: dict[Labels, float] = {}
        for one, values in found:
            own = _merged(_cell_labels(values[0].run), _own_labels(one, unit))
            labels = _distinct(own, one.key.point_id, samples)
            samples[labels] = statistics.median(v.value for v in values) * factor
        out.append(Family(name=name, unit=unit, text=text, samples=tuple(samples.items())))
    for of, found in group_by(every, lambda of: fit(of[0].key.tool)).items():
        cells = group_by(found, lambda of: _cell_labels(of[1][0].run))
        out.append(
            Family(
                name=f"pinsweep_{of}_{_REPEATS}",
                unit="",
                text=f"Runs of a cell of {of} behind each median.",
                samples=tuple((cell, max(len(v) for _, v in own)) for cell, own in cells.items()),
            )
        )
        out.append(
            Family(
                name=f"pinsweep_{of}_{_DOUBTFUL}",
                unit="",
                text=f"Checks of pinsweep audit that doubt a cell of {of}; 0: none.",
                samples=tuple(map(_doubtful, cells, cells.values())),
            )
        )
    return [*out, *_about(results)]


def _doubtful(cell: Labels, found: Iterable[tuple[Series, Sequence[Value]]]) -> tuple[Labels, float]:
    """Return how many checks doubt a cell, which they are among its labels."""
    ids = joined(value.doubt for _, values in found for value in values)
    return ((*cell, (_CHECKS, ids)), len(checks_of(ids))) if ids else (cell, 0)


def _newest(results: Results) -> dict[tuple[str, str, str], str]:
    """Return (host, program, cell) → the file with the run of it that started last."""
    when = timeline(results.machines)
    cells = group_by(
        (run for tool in results.tools for run in results.good(tool)),
        lambda run: (run.host, naming.program_kind(run), run.record.point_id),
    )

    def began(run: Run) -> tuple[float, str, str]:
        return when[run.file, run.session.session].at, run.record.started_utc, run.file

    return {cell: max(runs, key=began).file for cell, runs in cells.items()}


_UNREADABLE = "unreadable"


def _ended(run: Run) -> str:
    if run.state == _UNREADABLE:
        return run.state
    # an allowed disturbance leaves the status ok
    return "disturbed" if run.record.status == "ok" and run.disturbance else str(run.record.status)


def _about(results: Results) -> Iterable[Family]:
    """How the runs ended, and when the last one began: what an alert on the rest needs to know."""
    ended = Counter((run.host, _ended(run)) for run in results.runs)
    hosts = dict.fromkeys(run.host for run in results.runs)
    yield Family(
        name="pinsweep_runs",
        unit="",
        text="Runs by how they ended.",
        samples=tuple(
            ((("host", host), ("status", status)), float(ended[host, status]))
            for host in hosts
            for status in (*STATUSES, _UNREADABLE)
        ),
    )
    yield Family(
        name="pinsweep_host_info",
        unit="",
        text="What a host was in its last session; always 1.",
        samples=tuple(_infos(results)),
    )
    own = group_by((run for run in results.runs if not run.captured), lambda run: run.host)
    started = {host: max(run.record.started_utc for run in runs) for host, runs in own.items()}
    yield Family(
        name="pinsweep_last_run_timestamp_seconds",
        unit="seconds",
        text="When the last run began, seconds since 1970.",
        samples=tuple(
            ((("host", host),), seconds)
            for host, time in started.items()
            if (seconds := _seconds(time)) is not None
        ),
    )


def _infos(results: Results) -> Iterable[tuple[Labels, float]]:
    """Give a sample a host whose sessions are known: to join on, for numbers of two kinds of processor are not to be compared."""
    sessions = {(m.file, m.session.session): m for m in results.measured}
    last = {
        sessions[key].host: sessions[key].session for key in timeline(results.measured)
    }  # the earliest first
    for host, session in last.items():
        facts = ((name, session.facts.get(name)) for name in ("cpu_model", "kernel"))
        yield _labels((("host", host), *facts)), 1.0


def _seconds(started_utc: str) -> float | None:
    try:
        return datetime.fromisoformat(started_utc).timestamp()
    except ValueError:
        return None


# --- names and labels --------------------------------------------------------------------------------------


def _named(one: Series, taken: Collection[str] = ()) -> tuple[str, str, float, str]:
    """Return (name, unit, factor to it, help) of a number's family.

    A user may call a plain number "a_seconds", and another "a" with the unit s: of a name that is taken "value_a_seconds" is made.
    """
    unit, factor = _UNITS.get(one.unit, (fit(one.unit).strip("_").lower(), 1.0))
    if (
        one.unit == "1" and not get_parser(one.key.tool).METRICS
    ):  # of a user's own metric nobody knows whether it is a ratio or counts
        unit = ""
    stem = _stem(one.key.name, unit)
    while (name := "_".join(filter(None, ("pinsweep", fit(one.key.tool), stem, unit)))) in taken:
        stem = f"value_{stem}".rstrip("_")
    tool = tool_name(one.key.tool)
    whose = f"{tool}, or what stands in for it (label program)" if naming.has_stand_in(one.key.tool) else tool
    text = f"{whose}: {one.key.name.metric}, the median over the repeats of a cell."
    return name, unit, factor, text


def _stem(name: Name, unit: str) -> str:
    """Return the metric as a part of a family's name, which `unit` ends: "latency" of a program's "latency_seconds"."""
    stem = fit(_NAMES.get(name.metric, name.metric.replace("×", "x"))).strip("_").lower()
    if unit and (stem == unit or stem.endswith(f"_{unit}")):
        stem = stem.removesuffix(unit).rstrip("_")
    return f"value_{stem}".rstrip("_") if stem + unit in (_REPEATS, _DOUBTFUL) else stem


def _cell_labels(run: Run) -> Labels:
    """Return what tells a cell from others: its axes, and the words for its placement."""
    found: dict[str, object] = {"host": run.host, "sweep": run.cell.sweep}
    found |= {"place": run.place, "relation": run.derived_relation, "program": naming.program_kind(run)}
    return _labels((*found.items(), *(i for i in run.cell.labels().items() if i[0] != "place")))


def _own_labels(one: Series, unit: str) -> Labels:
    name = one.key.name
    # a user may call two numbers "a-b" and "a.b", "rate" and "Rate": one name here
    changed = name.metric if one.key.tool == "command" and _stem(name, unit) != name.metric else ""
    return _labels([("kind", name.kind), *name.part, ("statistic", name.statistic), ("metric", changed)])


def _labels(pairs: Iterable[tuple[str, object]]) -> Labels:
    """Return labels with names that are fit and different; what has no value is no label."""
    out: dict[str, str] = {}
    for name, value in pairs:
        if value is None or value == "":
            continue
        label = fit(name)
        label = f"tool_{label}" if label in _TAKEN or label.startswith("__") else label
        while label in out:
            label += "_"
        out[label] = str(value).lower() if isinstance(value, bool) else str(value)
    return tuple(out.items())


def _merged(cell: Labels, own: Labels) -> Labels:
    """Return the labels of a cell and of a number in it; where both have one, what the tool's table says wins."""
    return tuple({**dict(cell), **dict(own)}.items())


def _distinct(labels: Labels, point_id: str, there: Mapping[Labels, float]) -> Labels:
    """Tell a cell by its identity, where an edited experiment left another one that looks the same."""
    return tuple({**dict(labels), "cell": point_id}.items()) if labels in there else labels
