"""Result files as frames: every judged number with run, cell and flags. Pure.

    values      a row is one number of one run: run, series, value, step, flags
    series      name, unit and labels of the numbers, one row per metric, statistic and labels: index of `values.series`
    runs        every attempt: how it was started, where, and how it ended: index of `values.run`
    sessions    the machines, one row per `pinsweep run`: index of `runs.session`

`frame` joins these tables. Values are in base units (ns, B, B/s, 1/s). A missing number is a missing row. `step` is the
last printed digit, or NaN if unknown. `flags` lists the ids of the checks that flag the cell, such as "F1, F7", or "".
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from orchestrator.model import canonical_json
from orchestrator.store.result_file import Session
from parsers import get_parser
from reports import numbers
from reports.checks.audit import Finding, audit, convicted
from reports.numbers import Name
from reports.numbers.conditions import way
from reports.numbers.last_digit import step_of
from reports.numbers.model import Buckets
from reports.numbers.possible import memory_peak
from reports.results import hardware, naming, shares
from reports.results.cells import flat
from reports.results.convicted import doubting, of_each
from reports.results.grouping import group_by
from reports.results.hardware import Hardware
from reports.results.model import Results, Run
from reports.results.sessions import timeline

if TYPE_CHECKING:
    import pandas as pd

RUN_COLUMNS: Final = (
    "run", "file", "host", "where", "session", "tool", "program", "program_name", "program_version", "stand_in", "captured",
    "sweep", "sweep_title", "point_id", "cell", "axes", "options", "place", "relation", "pus", "memory_nodes", "thread_count",
    "run_id", "repeat", "attempt", "warm_up", "status", "reason", "disturbance", "started_utc", "wall_s", "caches", "memory_peak", "valid", "checksum",
    "parameters", "selectors", "share", "pu_count", "command", "mix", "counts",
)  # fmt: skip
"""Columns of `runs`. `run` counts from 0. `where` is the host, with the file if several files come from one host.
`program` is the kind of program, and different kinds are never mixed. `cell` holds the axes as text, `axes` and
`options` hold JSON objects. `pus`, `memory_nodes` and `thread_count` describe the place as text. `disturbance` is
the cause of a disturbance, also if disturbances are allowed. `valid` is false if the program calls the result wrong.
`checksum` covers the program and its files, as text. `caches` lists the caches of the first CPU, smallest first, as
JSON: [[level, bytes], …]. `parameters` holds the options in one spelling, as JSON, without `metrics`. `selectors`
holds the selectors of the place, as JSON. `share` is the share of the machine, as text. `pu_count` is the number of
PUs of all processes. `command` omits paths and outputs. `mix` is the requested shares of reads and writes, "" for
one direction. `memory_peak` is the peak rate of the memory modules (B/s), NaN if unknown. `counts` is true if the
run represents the cell.
"""

SERIES_COLUMNS: Final = (
    "series", "tool", "metric", "statistic", "quantity", "kind", "labels", "unit", "better", "derived", "name", "title", "row",
)  # fmt: skip
"""Columns of `series`. `labels` is a JSON object. `name` is the name of the number as text, `title` is the table's
name, `row` is the row's name.
"""

SESSION_COLUMNS: Final = (
    "session", "file", "session_number", "host", "machine", "time", "evidence", "clock", "hardware", "pinsweep", "os_kernel",
)  # fmt: skip
"""Columns of `sessions`. `machine` is the host, with the differences if several machines have the same name. `time`
is in seconds since 1970, 0 if unknown. `evidence` is the first session of the same boot within an hour, because such
sessions are one piece of evidence. `clock` is the error of the wall clock, or "". `hardware` is the kind of machine,
as text.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurements:
    """The frames of some result files."""

    values: pd.DataFrame
    series: pd.DataFrame
    runs: pd.DataFrame
    sessions: pd.DataFrame
    findings: tuple[Finding, ...] = ()
    histograms: Callable[[int], list[tuple[Name, Buckets]]] = lambda _: []  # run → latency distributions
    names: Mapping[int, Name] = field(default_factory=dict)  # series → name, for numbers computed over several series

    def frame(self, *columns: str) -> pd.DataFrame:
        """Return `values` joined with the named columns of `runs`, `series` and `sessions`. By default, all columns
        of runs and series are joined.

        If runs and sessions have the same column, the column of runs is used.
        """
        runs = self.runs.join(self.sessions.drop(columns=["file", "host"]), on="session")
        if columns:
            runs = runs[[name for name in columns if name in runs]]
            series = self.series[[name for name in columns if name in self.series and name not in runs]]
        else:
            series = self.series.drop(columns=["tool"])
        return self.values.join(runs, on="run").join(series, on="series")

    def tidy(self, tool: str, samples: Sequence[Mapping[str, Any]] = ()) -> pd.DataFrame:
        """Return `frame` for one tool, with a column per axis and per label instead of the JSON objects.

        A label with the name of another column gets a trailing underscore. `samples` holds more rows, each with a
        `run`. Such a row has the flags that all numbers of the run share.
        """
        from parsers.frames import pd

        frame = self.frame()
        frame = frame[frame["tool"] == tool]
        if samples:
            runs = self.runs.join(self.sessions.drop(columns=["file", "host"]), on="session")
            more = pd.DataFrame(samples).join(runs, on="run").assign(labels="{}")
            flags = frame.groupby("run")["flags"].agg(lambda cell_flags: ", ".join(of_each([*set(cell_flags)])))
            frame = pd.concat([frame, more.assign(flags=more["run"].map(flags))], ignore_index=True)
            frame = frame.fillna({"flags": ""})
        return _spread(_spread(frame, "axes"), "labels")

    def keys(self, tool: str) -> list[str]:
        """Return the columns of `tidy` that identify cells, programs and numbers of a tool."""
        axes = _keys(self.runs.loc[self.runs["tool"] == tool, "axes"].unique())
        labels = _keys(self.series.loc[self.series["tool"] == tool, "labels"].unique())
        known = {"run", "series", "value", "step", "flags", *RUN_COLUMNS, *SERIES_COLUMNS, *SESSION_COLUMNS}
        return [*dict.fromkeys(["place", *(f"{key}_" if key in known else key for key in (*axes, *labels)), "kind", "program", "where"])]  # fmt: skip


def measure(
    results: Results,
    findings: Sequence[Finding] | None = None,
    *,
    undirected: bool = False,
) -> Measurements:
    """Return the frames of some results.

    `findings` is an existing audit of the results. `undirected` also includes numbers without a direction. A number
    that only some repeats of a cell have is left out.
    """
    from parsers.frames import pd

    findings = audit(results) if findings is None else tuple(findings)
    good = {run for tool in results.tools for run in results.good(tool)}
    order = [*results.runs, *results.warm_ups]
    place = {run: index for index, run in enumerate(order)}
    sessions, keys = _sessions(results)
    placed: dict[Hashable, tuple[str, str, str, int]] = {}
    runs = pd.DataFrame.from_records(
        [(place[run], *_run(run, keys, placed, counts=run in good), run in good) for run in order],
        columns=list(RUN_COLUMNS),
    )
    series: dict[tuple[str, Name], int] = {}
    rows = list(_values(results, convicted(findings), place, series, undirected=undirected))
    values = pd.DataFrame.from_records(rows, columns=["run", "series", "value", "step", "flags"])
    names = {index: key for key, index in series.items()}
    named = [(index, tool, *_series(name)) for (tool, name), index in series.items()]
    return Measurements(
        values=_with_steps(values, runs.set_index("run"), names),
        series=pd.DataFrame.from_records(named, columns=list(SERIES_COLUMNS)).set_index("series"),
        runs=runs.set_index("run"),
        sessions=sessions,
        findings=findings,
        histograms=lambda run: numbers.histograms(order[run]),
        names={index: name for (_, name), index in series.items()},
    )


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one dictionary per row, with the index if the index has a name."""
    rows = frame.reset_index() if frame.index.name is not None else frame
    return [{str(key): value for key, value in row.items()} for row in rows.to_dict("records")]


def number_fields(number: Mapping[str, Any]) -> dict[str, Any]:
    """Return name, unit and labels of a number for programs. `number` has the columns of `series`, tool, program,
    sweep, point_id, cell and number.
    """
    name = {key: number[key] for key in ("metric", "statistic", "unit", "better", "kind", "labels", "derived")}
    name |= {key: name[key] or None for key in ("statistic", "kind")}
    name |= {"labels": json.loads(number["labels"]), "derived": bool(number["derived"])}
    keys = ("tool", "program", "sweep", "cell", "point_id", "number", "unit", "better")
    return {
        **{key: number[key] for key in keys},
        "metric": number["quantity"],
        "labels": name["labels"],
        "name": name,
    }


def _spread(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a frame with one column per key instead of a column of JSON objects."""
    from parsers.frames import pd

    objects = {text: json.loads(text) for text in frame[column].unique()}
    keys = _keys(objects)
    rest = frame.drop(columns=[column])
    new = {
        f"{key}_" if key in rest else key: frame[column].map({text: each.get(key) for text, each in objects.items()})
        for key in keys
    }
    return pd.concat([rest, pd.DataFrame(new, index=frame.index)], axis="columns")


def _keys(objects: Iterable[str]) -> list[str]:
    """Return the keys of JSON objects, without the place, which is a column already."""
    return [key for key in dict.fromkeys(key for text in objects for key in json.loads(text)) if key != "place"]


def _values(
    results: Results,
    guilty: Mapping[tuple[object, ...], str],
    place: Mapping[Run, int],
    series: dict[tuple[str, Name], int],
    *,
    undirected: bool,
) -> Iterable[tuple[int, int, float, float, str]]:
    for cell in numbers.all_cells(results):
        if cell.first.void:
            continue
        rows = [place[run] for run in cell.runs]
        key = cell.first.file, cell.first.record.point_id
        for name, column in cell.columns.items():
            if name.better == "neither" and not undirected:
                continue
            index = series.setdefault((cell.tool, name), len(series))
            flags = doubting(guilty, key, name.tells_of)
            for row, value, step in zip(rows, column.values, column.steps, strict=True):
                yield row, index, value, step or math.nan, flags


def _with_steps(values: pd.DataFrame, runs: pd.DataFrame, series: Mapping[int, tuple[str, Name]]) -> pd.DataFrame:
    """Fill in the last digit of unknown programs, from the values of the whole table."""
    free = {
        index: name.family
        for index, (tool, name) in series.items()
        if get_parser(tool).PRINTED is None and not name.derived
    }
    rows = values[values["series"].isin(list(free))]
    table = [
        values.loc[rows.index, "series"].map(free),
        rows["run"].map(runs["program"]),
        rows["run"].map(runs["sweep"]),
    ]
    for _, group in rows.groupby(table, sort=False):
        values.loc[group.index, "step"] = step_of(group["value"], group["step"].dropna()) or math.nan
    return values


def _series(name: Name) -> tuple[Any, ...]:
    return (
        name.metric, name.statistic, name.quantity, name.kind, json.dumps(dict(name.part), ensure_ascii=False), name.unit, name.better,
        name.derived, name.words, name.title, name.row,
    )  # fmt: skip


def _run(
    run: Run,
    sessions: Mapping[tuple[str, int], int],
    placed: dict[Hashable, tuple[str, str, str, int]],
    *,
    counts: bool,
) -> tuple[Any, ...]:
    record, where, peak = run.record, way(run), memory_peak(run)
    key = run.file, record.point_id, id(record.placement)
    if key not in placed:  # the same for the repeats of a cell
        place = run.cell.place
        selectors = canonical_json(dataclasses.astuple(place)) if place else ""
        count = sum(len(group.cpus) for group in run.placed)
        placed[key] = shares.parameters(run), selectors, shares.share(run), count
    return (
        run.file, run.host, run.where, sessions[run.file, run.session.session], run.tool, naming.program_kind(run), naming.program_name(run),
        run.version, run.stand_in, run.captured, run.cell.sweep, run.sweep_title, record.point_id, run.cell.describe(),
        canonical_json(run.cell.labels()), canonical_json(dict(flat(run.cell))), run.place, run.relation,
        where["PUs"], where["memory nodes"], where["threads"], record.run_id, record.repeat, record.attempt, record.warm_up,
        "disturbed" if run.is_disturbed and not counts else run.state,
        record.reason or run.unreadable, run.disturbance, record.started_utc, record.wall_s, json.dumps(hardware.caches_above(run)),
        peak.rate if peak else math.nan,
        not run.void, _checksum(run), *placed[key], shares.command(run), _mix(run),
    )  # fmt: skip


def _mix(run: Run) -> str:
    return f"{run.options.get('rwmixread')}/{run.options.get('rwmixwrite')}" if numbers.mixed(run) else ""


def _checksum(run: Run) -> str:
    """Return "3f2a9c01d4e5", or "bench.sh 3f2a9c01d4e5" for the files of a command, or "" if unknown."""
    files = {"": run.program, **run.program.get("files", {})}
    sums = {name: str(file.get("sha256") or "")[:12] for name, file in files.items()}
    return ", ".join(f"{PurePath(name).name} {digest}".strip() for name, digest in sums.items() if digest)


def _machine_names(sessions: Sequence[tuple[Session, Hardware]]) -> list[str]:
    """Return the machine name of each session. `sessions` is in the order of time."""
    names = [session.host for session, _ in sessions]
    for host, indexes in group_by(range(len(names)), names.__getitem__).items():
        same = [sessions[i] for i in indexes]
        machines = hardware.machines([session for session, _ in same], [kind for _, kind in same])
        different = list(dict.fromkeys(machines))
        if len(different) > 1:
            for i, machine in zip(indexes, machines, strict=True):
                names[i] = f"{host} ({machine.beside(different)})"
    return names


def _sessions(results: Results) -> tuple[pd.DataFrame, dict[tuple[str, int], int]]:
    from parsers.frames import pd

    machines = results.machines
    when = timeline(machines)
    kinds = hardware.kinds(machine.session for machine in machines)
    keys = {(machine.file, machine.session.session): index for index, machine in enumerate(machines)}
    names = _machine_names([(machines[keys[key]].session, kinds[keys[key]]) for key in when])
    named = dict(zip(when, names, strict=True))
    rows = [
        (
            keys[key], machine.file, machine.session.session, machine.host, named[key], when[key].at, keys[when[key].evidence], when[key].stepped,
            kind.name, machine.session.pinsweep_version, str(machine.session.facts.get("kernel") or ""),
        )
        for machine, kind in zip(machines, kinds, strict=True)
        for key in [(machine.file, machine.session.session)]
    ]  # fmt: skip
    return pd.DataFrame.from_records(rows, columns=list(SESSION_COLUMNS)).set_index("session"), keys
