"""Define results as rows for every chart, table and export.

A row is one number of one good run, in long form:

    file, host, session   where it was measured: the file by the end of its path that no other file has;
                          `session` counts from 1 in its file
    sweep, point_id       the sweep's name; the cell, the same on every machine
    run_id, repeat        the run in its file; the repeat of the cell, from 1
    place, relation       where it ran: the axis value of the experiment; "local", "remote", "same cache", …
    program               what made the number: "fio", "mlc", or the stand-in "memlat"
    program_version       as its output says it, else as the session knows it
    program_sha256        of the file that was started
    <options>             one column per axis, and per option of the tool that varies between its cells, a list as text ("1k,4k"); "host_" of
                          one called as a column above or below, "tool_" of one
                          called as what stands before them all in an export
    <labels>              the parser's label columns; where an option has the same name, what the text says wins. Where an axis is called so, and
                          the text says something else ("none" of an access to no bytes), "op_" is what was asked for
    metric, unit, value   base units: ns, B, B/s, 1/s

A run is good if the status is ok and the output can be parsed. For several attempts at a repeat, the last good attempt
counts.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Self

from orchestrator.model import STATUSES, UNRECORDED_HOST, Alias, Cell, Group, RunRecord, Skipped, listed
from orchestrator.run.disturbance import is_too_short
from orchestrator.run.outcome import MOST_REPEATS
from orchestrator.store.result_file import Session, StoredExperiment
from orchestrator.tools import get_tool, tool_names
from parsers import get_parser
from parsers.measurement import Measurement, Parsed
from reports.results.grouping import group_by
from reports.results.levels import Levels
from reports.results.programs import Program, named
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

_KEYS = (
    "file", "host", "session", "sweep", "point_id", "run_id", "repeat", "place", "relation",
    "program", "program_version", "program_sha256",
)  # fmt: skip
_TAIL = ("metric", "unit", "value")

LEFT_OUT = ("disturbed", "misplaced")
"""Of runs that ended well and whose numbers are not used all the same: listed with their reason, not missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One session on one host, as the report describes the machine."""

    file: str
    session: Session

    @property
    def host(self) -> str:
        return self.session.host


@dataclass(frozen=True, kw_only=True, eq=False)  # no slots: cached_property keeps its value in __dict__
class Run:
    """One run with all data for the report. A run is a key, equal only to itself."""

    file: str
    session: Session
    cell: Cell
    sweep_title: str
    record: RunRecord
    where: str  # the host; with the file, where several files come from one host
    parsed: Parsed | None  # None: not ok, not readable, or disturbed and left out
    unreadable: str = ""  # reason why the output of a successful run cannot be parsed
    source: str = ""  # name of a captured text, if the sweep's texts are distinguished by name
    # of a captured run, where the files hold several texts: the name of its own, and which part of it
    text: str = ""
    build: str = ""  # which program, where runs of the file come from several of one name and version
    stdout: str = ""  # an excerpt, of a captured text alone
    stderr: str = ""
    most_repeats: int = 0  # of a cell with `repeats: auto`: how many there may be; else 0

    @property
    def slot(self) -> tuple[str, str, int]:
        """File, cell and repeat. Attempts at a slot are repeated until one attempt ends well."""
        return self.file, self.record.point_id, self.record.repeat

    @property
    def turn(self) -> tuple[str, int, int]:
        """File, session and repeat. The runs of a turn make a curve over the cells of a sweep."""
        return self.file, self.session.session, self.record.repeat

    @property
    def host(self) -> str:
        return self.session.host

    @property
    def tool(self) -> str:
        return self.cell.tool

    @property
    def place(self) -> str:
        """The name of the place, with settings that the name hides.

        The settings are selectors that differ in another place of the same name, and memory that differs from the name.
        """
        name = self.cell.place.name if self.cell.place else ""
        selectors = [str(v) for k, v in self.cell.apart.items() if k.startswith("place.")]
        if name == "remote" and self.relation and name not in self.relation:  # the only other memory may be HBM or CXL
            selectors.append(self.relation)
        elif name == "remote" and self.relation == "remote, same package":
            selectors.append("same package")
        return f"{name} ({', '.join(selectors)})" if selectors else name

    @property
    def relation(self) -> str:
        """The placement in words that compare between machines. The place's own name if there are no such words."""
        return self.derived_relation or (self.cell.place.name if self.cell.place else "")

    @property
    def derived_relation(self) -> str:
        """The relation that pinsweep derived from a placement. "" for an unplaced run, for any name of the place."""
        return self.record.placement.relation if self.record.placement else ""

    @property
    def placed(self) -> tuple[Group, ...]:
        """The requested PUs and memory of each process. () if nothing was placed."""
        return self.record.placement.groups if self.record.placement else ()

    @property
    def program(self) -> Mapping[str, Any]:
        """The program in the session's record: name, path, version, sha256, stand_in. Empty if unknown."""
        own = self.session.programs.get(self.tool, {})
        if own.get("name") == self.record.program:
            return own
        return next((p for p in self.session.programs.values() if p.get("name") == self.record.program), own)

    @property
    def program_started(self) -> str:
        """The name of the started program. For a user's command, the first word."""
        words = self.record.argv
        if words and PurePath(words[0]).name == "numactl" and "--" in words:
            words = words[words.index("--") + 1 :]
        return self.record.program or (PurePath(words[0]).name if words else "")

    @functools.cached_property
    def program_named(self) -> Program:
        """The program's display name, cached because each run needs the name a dozen times."""
        facts = self.parsed.facts if self.parsed else {}
        program = str(facts.get("program") or self.record.program or self.tool)
        stands_in = self.stand_in and (self.tool not in tool_names() or bool(get_tool(self.tool).PROGRAMS))
        return named(stands_in, program, self.tool, self.version, str(facts.get("suite") or ""))

    @property
    def captured(self) -> bool:
        """Whether the text was imported, and not printed under pinsweep."""
        return self.record.capture is not None

    @property
    def state(self) -> str:
        """The state as one word: the status, "unreadable" for invalid output, "taken in" for a captured text."""
        if self.unreadable or self.record.status not in STATUSES:
            return "unreadable"
        return "taken in" if self.captured else self.record.status

    @property
    def void(self) -> bool:
        """Whether the tool's own check of its results failed, so that the figures are invalid."""
        return bool(self.parsed and self.parsed.has("validation_failed"))

    @property
    def is_disturbed(self) -> bool:
        """Whether other processes used a part of the machine. Also true for a disturbed run that counts."""
        return self.record.status == "disturbed" or bool(self.record.counters.get("reasons"))

    @property
    def is_usable(self) -> bool:
        """Whether the figures can be used alone: not invalid, and not disturbed."""
        return not self.void and not self.is_disturbed

    @property
    def disturbance(self) -> str:
        """The cause of the disturbance as text, "" without a disturbance or without observation.

        A run that counts, because disturbances are allowed, also has a cause.
        """
        reasons = "; ".join(str(reason["text"]) for reason in self.record.counters.get("reasons", ()))
        if self.record.status == "disturbed":
            return reasons or self.record.reason or "something else used the machine"
        return reasons

    @property
    def is_too_short(self) -> bool:
        """Whether a placed run was too short for the disturbance counters. No disturbance is known."""
        cpus = self.record.placement.cpus if self.record.placement else ()
        elapsed_s = float(self.record.counters.get("elapsed_s", 0.0))
        return bool(cpus) and not self.disturbance and is_too_short(elapsed_s, len(cpus))

    @property
    def version(self) -> str:
        """The program's version from the output, else from the session. "" if unknown."""
        printed_version = self.parsed.facts.get("tool_version") if self.parsed else None
        return str(printed_version or self.program.get("version") or "")

    @property
    def stand_in(self) -> bool:
        """Whether the program is a built-in kernel that replaces another tool."""
        return bool(self.program.get("stand_in")) or bool(self.parsed and self.parsed.has("stand_in"))

    @property
    def options(self) -> dict[str, Any]:
        """The cell's options, and further options from the output (`option.bs`). Values of a mapping axis (`env`) are
        texts.
        """
        facts = self.parsed.facts if self.parsed else {}
        output_options = {name: value for fact, name in _of_options(tuple(facts)) if (value := facts[fact]) is not None}
        source = {"source": self.source} if self.source else {}
        own = self.cell.options
        texts = {axis: listed(of) for axis in self.cell.axes if isinstance(of := own.get(axis), Mapping)}
        return {**output_options, **own, **texts, **self.cell.apart, **source}

    def measured(self) -> Iterator[Measurement]:
        """Yield the measurements, typed. A run without a number yields no rows."""
        return self.parsed.measured() if self.parsed else iter(())


@functools.lru_cache(maxsize=512)
def _of_options(facts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return (fact, option) for the facts that are options. All runs of a sweep have the same facts."""
    return tuple((name, name.removeprefix("option.")) for name in facts if name.startswith("option."))


Order = Callable[[Run], tuple[Any, ...]]
"""Sort key of runs: file, sweep, the cell's axes, repeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Long:
    """A tool's measurements in long form, as in the module's docstring: constants of a run, and rows."""

    runs: tuple[Run, ...]
    # those of a run, then the labels of the tool's table, then metric, unit and value
    columns: tuple[str, ...]
    labels: int  # where the labels begin
    _varying: Mapping[str, str]  # column → option

    @classmethod
    def of(cls, runs: tuple[Run, ...], tool: str) -> Self:
        varying = {  # a user's option may be called "host"
            f"{name}_" if name in ("tool", *_KEYS, *_TAIL) else name: name for name in _varying(runs)
        }
        labels = [name for name in get_parser(tool).LABELS if name not in _KEYS]
        varying |= {f"{name}_": name for name in labels if name in varying and _is_other(name, runs)}
        own = [*_KEYS, *(name for name in varying if name not in labels)]
        return cls(runs=runs, columns=(*own, *labels, *_TAIL), labels=len(own), _varying=varying)

    def begun(self, run: Run) -> list[Any]:
        """Return the constant start of a run's rows, before labels, metric, unit and value. Missing values are None or
        NaN.
        """
        head: dict[str, Any] = {
            "file": run.file,
            "host": run.host,
            "session": run.session.session,
            "sweep": run.cell.sweep,
            "point_id": run.record.point_id,
            "run_id": run.record.run_id,
            "repeat": run.record.repeat,
            "place": run.place or None,
            "relation": run.relation or None,
            "program": run.program_started,
            "program_version": run.version or None,
            "program_sha256": run.program.get("sha256") or None,
        }
        own = run.options
        head |= {
            column: listed(v) if isinstance(v := own.get(name), tuple) else v for column, name in self._varying.items()
        }
        return [head.get(name, math.nan) for name in self.columns]

    def rows(self, run: Run) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a run as tuples, because dictionaries are five times as large."""
        at = {name: i for i, name in enumerate(self.columns)}
        begun = self.begun(run)
        for measured in run.measured():
            row = begun.copy()
            for name, value in measured.labels.items():
                if name in at:
                    row[at[name]] = value
            row[-3:] = measured.metric, measured.unit, measured.value
            yield tuple(row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The content of a set of result files."""

    machines: tuple[Machine, ...]
    experiments: tuple[StoredExperiment, ...]
    runs: tuple[Run, ...]  # every attempt, in order, but for warm-ups
    skipped: tuple[tuple[str, Skipped], ...]  # where (as of a Run), cell
    aliases: tuple[tuple[str, Alias], ...]  # where, cell that is another one there
    missing: tuple[tuple[str, Cell, int], ...]  # where, cell, repeats that never ran to a good end
    planned: int  # cells times repeats that the newest texts ask for, and what else was run
    warm_ups: tuple[Run, ...] = ()  # what came first in its session, and is in no number
    unasked: int = 0  # cells that no `pinsweep run` asked for, since `--cells` named others
    cells: int = 0  # of a plan, these among them
    paths: Mapping[str, Path] = field(default_factory=dict)  # file, as runs name it → where it lies
    levels: Levels = field(default_factory=Levels)  # the order of those of each axis
    _order: Order
    _good: dict[str, tuple[Run, ...]] = field(default_factory=dict, repr=False)
    memory: dict[str, Any] = field(default_factory=dict, repr=False)  # cache

    @property
    def started(self) -> tuple[Run, ...]:
        """Every attempt and every warm-up in start order, file by file."""
        files = group_by((*self.runs, *self.warm_ups), lambda run: run.file).values()
        return tuple(run for own in files for run in sorted(own, key=lambda run: run.record.run_id))

    @property
    def tools(self) -> tuple[str, ...]:
        """Tools with at least one good run, in the order of the first good run."""
        return tuple(self._good)

    def by_sweep(self, runs: Iterable[Run]) -> dict[str, list[Run]]:
        """Return runs by sweep. The sweeps have the order of the first plan, for any order of the runs."""
        runs_by_sweep = group_by(runs, lambda run: run.cell.sweep)
        return dict(sorted(runs_by_sweep.items(), key=lambda of: int(self._order(of[1][0])[1])))

    def good(self, tool: str) -> tuple[Run, ...]:
        """Return the runs of a tool that count, one per cell and repeat."""
        return self._good.get(tool, ())

    @property
    def failed(self) -> tuple[Run, ...]:
        """The last attempts of repeats without a number.

        Disturbed repeats are excluded, and so are repeats that a later attempt completed. A misplaced run is included,
        because the run completed in another place than requested.
        """
        return tuple(r for r in self._not_good if r.record.status != "disturbed")

    def lost(self, tool: str, sweep: str) -> tuple[Run, ...]:
        """Return one failed run of each cell of a sweep without a good run. Charts mark these cells as missing."""
        cells = {(r.file, r.record.point_id): r for r in self.failed if r.tool == tool and r.cell.sweep == sweep}
        good = {(run.file, run.record.point_id) for run in self.good(tool)} if cells else set()
        return tuple(run for key, run in cells.items() if key not in good)

    @property
    def not_started(self) -> list[tuple[str, Cell, int]]:
        """The entries of `missing` without an attempt: the sweep is still running, or was stopped earlier."""
        tried = {(r.where, r.record.point_id, r.record.repeat) for r in self.runs}
        return [m for m in self.missing if (m[0], m[1].point_id, m[2]) not in tried]

    @property
    def disturbed(self) -> tuple[Run, ...]:
        """The last attempts of disturbed repeats, except repeats that a later attempt completed."""
        return tuple(r for r in self._not_good if r.record.status == "disturbed")

    @property
    def ended(self) -> str:
        """The states of the planned runs: "14 of 32 runs ok, 18 disturbed". "" for captured texts alone."""
        runs = {run.slot: run for run in self.runs if not run.captured}.values()
        planned = self.planned - sum(run.captured for run in self.runs)
        ok, disturbed = sum(run.state == "ok" for run in runs), sum(run.is_disturbed for run in runs)
        text = f"{fmt.count(ok)} of {fmt.plural(planned, 'run')} ok" if planned or not self.texts else ""
        return f"{text}, {fmt.count(disturbed)} disturbed" if disturbed else text

    @property
    def unrepeated(self) -> tuple[Run, ...]:
        """The repeats that the next `pinsweep run` starts again: all attempts were disturbed, and the sweep was stopped
        early.
        """
        slots = group_by((run for run in self.runs if not run.captured), lambda run: run.slot).values()
        return tuple(
            runs[-1]
            for runs in slots
            if len(runs) <= MOST_REPEATS and all(run.record.status == "disturbed" for run in runs)
        )

    @property
    def numbers(self) -> str:
        """The name of the runs' numbers: "undisturbed numbers", or "numbers (2 disturbed, as was allowed)"."""
        allowed = sum(bool(run.disturbance) for tool in self.tools for run in self.good(tool))
        if not allowed:
            return "undisturbed numbers" if self.disturbed else "numbers"
        return f"numbers ({fmt.count(allowed)} disturbed, as was allowed)"

    @property
    def measured(self) -> tuple[Machine, ...]:
        """The sessions with measurements. Other sessions imported captured texts."""
        taken_in = {(run.file, run.session.session) for run in self.runs if run.captured}
        return tuple(
            m for m in self.machines if m.host != UNRECORDED_HOST and (m.file, m.session.session) not in taken_in
        )

    @property
    def texts(self) -> int:
        """The number of captured texts. A text may have several runs."""
        return len({(run.file, text) for run, text in texts_of(self.runs).items()})

    @property
    def taken_in(self) -> str:
        """Return "13 texts taken in, their hosts unknown". "" without a captured text."""
        if not self.texts:
            return ""
        return f"{self.texts} text{'s' if self.texts > 1 else ''} taken in, {'their hosts' if self.texts > 1 else 'its host'} unknown"

    @property
    def _not_good(self) -> tuple[Run, ...]:
        last = {run.slot: run for run in self.runs if run.parsed is None}
        if last:  # as a rule there are few, or none
            for run in itertools.chain.from_iterable(self._good.values()):
                last.pop(run.slot, None)
        return tuple(last.values())

    def long(self, tool: str) -> Long:
        """Return the measurements of a tool's good runs, for reading run by run."""
        return Long.of(self.good(tool), tool)

    def tidy(self, tool: str) -> pd.DataFrame:
        """Return the frame of a tool's measurements, one row each, as in the module's docstring.

        Without good runs, the frame is empty and has the constant columns.
        """
        from parsers.frames import pd

        long = self.long(tool)
        rows = [row for run in long.runs for row in long.rows(run)]
        return pd.DataFrame.from_records(rows, columns=long.columns)

    def wide(self, tool: str) -> pd.DataFrame:
        """Return one row per set of labels, and one column per metric and unit, in base units.

        A metric with several units, or with the name of a label, has the unit in the column name: "rate [B/s]", "rate
        [1/s]". `units` in the frame's attrs has the units of the other columns.
        """
        frame = self.tidy(tool)
        keys = [c for c in frame.columns if c not in _TAIL and frame[c].notna().any()]
        one = frame.groupby("metric")["unit"].transform("nunique") == 1
        one &= ~frame["metric"].isin(list(frame.columns))  # a user's metric may be called "host"
        units = dict(zip(frame["metric"][one], frame["unit"][one], strict=True))
        frame["metric"] = frame["metric"].where(one, frame["metric"] + " [" + frame["unit"] + "]")
        if frame.empty:
            wide = frame[keys]
        else:  # groupby, since pivot_table drops rows whose labels are not all there
            grouped = frame.groupby([*keys, "metric"], dropna=False, sort=False)["value"].first()
            wide = grouped.unstack("metric").reset_index()
            wide.columns.name = None
        wide.attrs["units"] = units
        return wide


def _cell(run: Run) -> tuple[str, str]:
    return run.where, run.record.point_id


def short_names(paths: Sequence[Path]) -> list[str]:
    """Return for each file the shortest end of the path that is unique: "r.db", or "n001/r.db" and "n002/r.db".

    The files are different. A name is unique, so that runs can be grouped by name.
    """
    ends = [[path.absolute().parts[-n:] for n in range(1, len(path.absolute().parts) + 1)] for path in paths]
    shared = Counter(end for own in ends for end in own)
    return [str(PurePath(*next(end for end in own if shared[end] == 1))) for own in ends]


def texts_of(runs: Iterable[Run]) -> dict[Run, str]:
    """Return {captured run: the name of the imported text}. A run's name begins with the text's name, then names the
    part.
    """
    named: dict[tuple[str, int], frozenset[str]] = {}
    names = {}
    for run in runs:
        if run.record.capture is None:
            continue
        at = run.file, run.session.session
        if at not in named:
            named[at] = frozenset(run.session.argv)
        text = own = run.record.capture.file
        while text not in named[at] and text:
            text = text.rpartition(", ")[0]
        names[run] = text or own
    return names


def _is_other(axis: str, runs: Sequence[Run]) -> bool:
    """Return whether any text reports another value of an axis than requested. Two cells may then be equal
    otherwise.
    """
    asked = ((run, run.cell.options.get(axis)) for run in {run.record.point_id: run for run in runs}.values())
    return any(
        isinstance(value, str) and isinstance(label := row.labels.get(axis), str) and label != value
        for run, value in asked
        if axis in run.cell.axes
        for row in run.measured()
    )


def _varying(runs: Sequence[Run]) -> list[str]:
    """Return the axes and the other options that differ between cells, in the order of the experiment."""
    options = [run.options for run in runs]
    names = dict.fromkeys(
        name for run, own in zip(runs, options, strict=True) for name in (*run.cell.axes, *own) if name != "place"
    )
    values = {name: [own.get(name) for own in options] for name in names}
    plain = {n: v for n, v in values.items() if not any(isinstance(one, Mapping) for one in v)}
    axes = {axis for run in runs for axis in run.cell.axes}
    return [name for name, values in plain.items() if name in axes or len(set(values)) > 1]


def excerpt(text: str, limit: int) -> str:
    """Return the beginning and end of a text, at most `limit` characters, cut at line ends."""
    if len(text) <= limit:
        return text
    head = text[: limit // 2].rsplit("\n", 1)[0]
    tail = text[-(limit // 2) :].split("\n", 1)[-1]
    left_out = text.count("\n") - head.count("\n") - tail.count("\n")
    return f"{head}\n… {left_out} lines left out …\n{tail}"
