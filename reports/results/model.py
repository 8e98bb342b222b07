"""Result files in, tidy rows out: what every chart, table and export starts from. Reads files, decides nothing else.

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
                          one called as a column above or below
    <labels>              the parser's label columns; where an option has the same name, what the text says wins
    metric, unit, value   base units: ns, B, B/s, 1/s

A run is good if its status is ok and its output can be read; of several attempts at a repeat the last good one counts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from orchestrator.model import Alias, Group, Point, RunRecord, Skipped, canonical_json, listed
from orchestrator.store.result_file import ResultFile, Session, StoredExperiment, StoredPoint, open_result
from parsers import get_parser
from parsers.errors import ParseError, PinsweepError, UserError
from parsers.measurement import Measurement, Parsed
from parsers.text import decode
from parsers.units import size_bytes
from reports.results import cells
from reports.results.grouping import group_by

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
    """One session on one host: what the report says of the machine."""

    file: str
    session: Session

    @property
    def host(self) -> str:
        return self.session.host


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """One run with everything the report says about it. It is its own key: equal to itself alone."""

    file: str
    session: Session
    point: Point
    sweep_title: str
    record: RunRecord
    where: str  # the host; with the file, where several files come from one host
    parsed: Parsed | None  # None: not ok, or not readable
    unreadable: str = ""  # why an output of a run that ended well cannot be read
    source: str = ""  # a captured text of a sweep whose texts are told apart by their names: its name
    text: str = (
        ""  # of a captured run, where the files hold several texts: the name of its own, and which part of it
    )
    build: str = ""  # which program, where runs of the file come from several of one name and version
    stdout: str = ""  # an excerpt, if asked for
    stderr: str = ""

    @property
    def host(self) -> str:
        return self.session.host

    @property
    def tool(self) -> str:
        return self.point.tool

    @property
    def place(self) -> str:
        """The name of the place; with what it does not say: selectors that another place of that name has otherwise, memory that is of
        another kind than it promises."""
        name = self.point.place.name if self.point.place else ""
        selectors = [str(v) for k, v in self.point.apart.items() if k.startswith("place.")]
        if (
            name == "remote" and self.relation and name not in self.relation
        ):  # the only other memory may be HBM or CXL
            selectors.append(self.relation)
        return f"{name} ({', '.join(selectors)})" if selectors else name

    @property
    def relation(self) -> str:
        """The placement in words that compare between machines; the place's own name where it has none."""
        own = self.record.placement.relation if self.record.placement else ""
        return own or (self.point.place.name if self.point.place else "")

    @property
    def placed(self) -> tuple[Group, ...]:
        """The PUs and the memory of each process, as they were asked for; () if nothing was placed."""
        return self.record.placement.groups if self.record.placement else ()

    @property
    def program(self) -> Mapping[str, Any]:
        """What the session knows about the program: name, path, version, sha256, stand_in. Empty if it does not."""
        own = self.session.programs.get(self.tool, {})
        if own.get("name") == self.record.program:
            return own
        return next((p for p in self.session.programs.values() if p.get("name") == self.record.program), own)

    @property
    def captured(self) -> bool:
        """Was the text taken in, and not printed under pinsweep's eyes?"""
        return self.record.capture is not None

    @property
    def void(self) -> bool:
        """Does the tool itself say that its figures mean nothing, since its check of its own results failed?"""
        return bool(self.parsed and self.parsed.has("validation_failed"))

    @property
    def version(self) -> str:
        """The program's version as its output says it, else as the session knows it; "" if neither does."""
        said = self.parsed.facts.get("tool_version") if self.parsed else None
        return str(said or self.program.get("version") or "")

    @property
    def stand_in(self) -> bool:
        """Is the program one of pinsweep's kernels in the place of another tool?"""
        return bool(self.program.get("stand_in")) or bool(self.parsed and self.parsed.has("stand_in"))

    @property
    def options(self) -> dict[str, Any]:
        """The cell's options; what the output says of options that the cell does not name (`option.bs`) beside them."""
        said = {
            name.removeprefix("option."): value
            for name, value in (self.parsed.facts if self.parsed else {}).items()
            if name.startswith("option.") and value is not None
        }
        source = {"source": self.source} if self.source else {}
        return {**said, **self.point.options, **self.point.apart, **source}

    def measured(self) -> Iterator[Measurement]:
        """Give the measurements, typed; nothing of a run without a number."""
        return self.parsed.measured() if self.parsed else iter(())


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Everything that a set of result files says."""

    machines: tuple[Machine, ...]
    experiments: tuple[StoredExperiment, ...]
    runs: tuple[Run, ...]  # every attempt, in order
    skipped: tuple[tuple[str, Skipped], ...]  # where (as of a Run), cell
    aliases: tuple[tuple[str, Alias], ...]  # where, cell that is another one there
    missing: tuple[tuple[str, Point, int], ...]  # where, cell, repeats that never ran to a good end
    planned: int  # cells times repeats that the newest texts ask for, and what else was run
    paths: Mapping[str, Path] = field(default_factory=dict)  # file, as runs name it → where it lies
    _good: dict[str, tuple[Run, ...]] = field(default_factory=dict, repr=False)

    @property
    def tools(self) -> tuple[str, ...]:
        """Tools with at least one good run, in the order of their first."""
        return tuple(self._good)

    def good(self, tool: str) -> tuple[Run, ...]:
        """Return the runs of a tool that count, one per cell and repeat."""
        return self._good.get(tool, ())

    @property
    def failed(self) -> tuple[Run, ...]:
        """Repeats that did not give a number, by their last attempt, except disturbed ones and what a later attempt made good.

        A misplaced run is among them: it ran to its end, elsewhere than asked.
        """
        return tuple(r for r in self._not_good if r.record.status != "disturbed")

    @property
    def given_up(self) -> int:
        """How many attempts gave no number and were followed by another one of the same repeat."""
        return sum(run.parsed is None for run in self.runs) - len(self._not_good)

    def lost(self, tool: str, sweep: str) -> tuple[Run, ...]:
        """Return one failed run of each cell of a sweep that has no good run at all: what charts mark as missing."""
        good = {(run.file, run.record.point_id) for run in self.good(tool)}
        cells = {
            (r.file, r.record.point_id): r for r in self.failed if r.tool == tool and r.point.sweep == sweep
        }
        return tuple(run for key, run in cells.items() if key not in good)

    @property
    def disturbed(self) -> tuple[Run, ...]:
        """Repeats of which something else had a part of the machine, by their last attempt, except what a later one made good."""
        return tuple(r for r in self._not_good if r.record.status == "disturbed")

    @property
    def measured(self) -> tuple[Machine, ...]:
        """The sessions in which something was measured; in the others captured texts were taken in."""
        taken_in = {(run.file, run.session.session) for run in self.runs if run.captured}
        return tuple(m for m in self.machines if (m.file, m.session.session) not in taken_in)

    @property
    def texts(self) -> int:
        """How many captured texts there are; one may hold several runs."""
        return len({(run.file, text) for run, text in texts_of(self.runs).items()})

    @property
    def taken_in(self) -> str:
        """Say "13 texts taken in, their hosts unknown"; "" without one."""
        if not self.texts:
            return ""
        return f"{self.texts} text{'s' if self.texts > 1 else ''} taken in, {'their hosts' if self.texts > 1 else 'its host'} unknown"

    @property
    def _not_good(self) -> tuple[Run, ...]:
        good = {_key(run) for runs in self._good.values() for run in runs}
        return tuple({_key(r): r for r in self.runs if r.parsed is None and _key(r) not in good}.values())

    def tidy(self, tool: str) -> pd.DataFrame:
        """Return the frame of a tool's measurements, a row each, as in the module's docstring; without good runs, empty with the
        columns that are always there."""
        import pandas as pd

        runs = self.good(tool)
        varying = {  # a user's option may be called "host"
            f"{name}_" if name in (*_KEYS, *_TAIL) else name: name for name in _varying(runs)
        }
        rows = []
        for run in runs:
            head = {
                "file": run.file,
                "host": run.host,
                "session": run.session.session,
                "sweep": run.point.sweep,
                "point_id": run.record.point_id,
                "run_id": run.record.run_id,
                "repeat": run.record.repeat,
                "place": run.place or None,
                "relation": run.relation or None,
                "program": run.record.program,
                "program_version": run.version or None,
                "program_sha256": run.program.get("sha256") or None,
                **{
                    column: listed(v) if isinstance(v := run.options.get(name), tuple) else v
                    for column, name in varying.items()
                },
            }
            rows += [
                {**head, **row.labels, "metric": row.metric, "unit": row.unit, "value": row.value}
                for row in run.measured()
            ]
        labels = [name for name in get_parser(tool).LABELS if name not in _KEYS]
        options = [name for name in varying if name not in labels]
        return pd.DataFrame.from_records(rows, columns=[*_KEYS, *options, *labels, *_TAIL])

    def wide(self, tool: str) -> pd.DataFrame:
        """Return one row per number's labels, one column per metric and unit, in base units.

        A metric of several units, or of a label's name, is called with each: "rate [B/s]", "rate [1/s]". `units` in the frame's attrs
        has the others'.
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


CAPTURED = 200_000
"""Characters that `load` keeps of a text that was taken in, not printed by a run of pinsweep's: what people wrote around its
tables is checked against them."""


def load(paths: Iterable[Path], *, excerpts: int = 0) -> Results:
    """Read result files. Raises UserError for a file that is none, or if there is not a single file.

    `excerpts` > 0 also keeps that many characters of what each run printed, its beginning and its end. Of captured texts it is
    always CAPTURED, so that every audit of a file finds the same.
    """
    machines: list[Machine] = []
    experiments: dict[str, StoredExperiment] = {}
    runs: list[Run] = []
    skipped: list[tuple[str, str, Skipped]] = []  # host, file, …
    aliases: list[tuple[str, str, Alias]] = []
    missing: list[tuple[str, str, Point, int]] = []
    planned = 0
    planned_points: list[StoredPoint] = []
    sweeps: dict[str, int] = {}  # in the order in which the files first planned them
    listed = list({path.resolve(): path for path in paths}.values())
    if not listed:
        raise UserError("", "no result file given", "`pinsweep run EXPERIMENT -o FILE` makes one")
    for path, file in zip(listed, short_names(listed), strict=True):
        with open_result(path) as result:
            sessions = {session.session: session for session in result.sessions()}
            points = {stored.point.point_id: stored for stored in result.points()}
            for stored in points.values():
                sweeps.setdefault(stored.point.sweep, len(sweeps))
            machines += [Machine(file=file, session=session) for session in sessions.values()]
            experiments |= {e.sha256: e for e in result.experiments()}
            host = next((s.host for s in reversed(sessions.values())), path.stem)
            aliases += [(host, file, item) for item in result.aliases()]
            records = result.runs()
            before = len(runs)
            superseded = result.superseded()
            wanted = {
                (key, r): stored
                for key, stored in points.items()
                if key not in superseded
                for r in range(1, stored.repeats + 1)
            } | {(record.point_id, record.repeat): points[record.point_id] for record in records}
            planned += len(wanted)
            planned_points += {stored.point.point_id: stored for stored in wanted.values()}.values()
            for record in records:
                stored = points[record.point_id]
                parsed, unreadable = None, ""
                if record.status == "ok":
                    try:
                        parsed = result.parsed(record, stored.point)
                        wanted.pop((record.point_id, record.repeat), None)
                    except ParseError as error:
                        unreadable = error.cause
                    except UserError as error:  # a tool that this pinsweep has no parser for
                        unreadable = error.cause
                elif record.status in LEFT_OUT:
                    wanted.pop((record.point_id, record.repeat), None)
                kept = max(excerpts, CAPTURED if record.capture else 0)
                stdout, stderr = (
                    excerpt(decode(_output(result, record.run_id, stream)), kept) if kept else ""
                    for stream in ("stdout", "stderr")
                )
                runs.append(
                    Run(
                        file=file, session=sessions[record.session], point=stored.point, where=sessions[record.session].host,
                        sweep_title=stored.sweep_title, record=record, parsed=parsed, unreadable=unreadable,
                        stdout=stdout, stderr=stderr,
                    )
                )  # fmt: skip
            missing += [(host, file, stored.point, repeat) for (_, repeat), stored in wanted.items()]
            found = {(r.point.sweep, canonical_json(r.point.labels())) for r in runs[before:] if r.parsed}
            skipped += [
                (host, file, replace(item, reason=f"{item.reason}; its numbers are of before"))
                if (item.sweep, canonical_json(dict(item.point))) in found
                else (host, file, item)
                for item in result.skipped()
            ]
            runs[before:], merged = cells.merged(runs[before:], points)
            aliases += [(host, file, item) for item in merged]
    files = Counter(host for host, _ in {(machine.host, machine.file) for machine in machines})

    def where(host: str, file: str) -> str:
        return f"{host}, {file}" if files[host] > 1 else host

    of_text = {e.sha256 for e in experiments.values() if e.text}
    apart = cells.told_apart(stored for stored in planned_points if stored.experiment in of_text)
    runs = [
        replace(run, where=where(run.host, run.file), point=apart.get(run.record.point_id, run.point))
        for run in runs
    ]
    missing = [
        (host, file, apart.get(point.point_id, point), repeat) for host, file, point, repeat in missing
    ]
    runs = _with_sources(_with_builds(runs))
    by_tool = group_by((run for run in runs if run.parsed is not None), lambda run: run.tool)
    sound = {_cell(run) for own in by_tool.values() for run in own if not run.void}
    chosen = {  # what is void has no part in a median, where there is anything else
        tool: {_key(run): run for run in own if not run.void or _cell(run) not in sound}
        for tool, own in by_tool.items()
    }
    return Results(
        machines=tuple(machines),
        experiments=tuple(experiments.values()),
        runs=tuple(runs),
        skipped=tuple((where(host, file), item) for host, file, item in skipped),
        aliases=tuple((where(host, file), item) for host, file, item in aliases),
        missing=tuple((where(host, file), point, repeat) for host, file, point, repeat in missing),
        planned=planned,
        paths=dict(zip(short_names(listed), listed, strict=True)),
        _good=_ordered(chosen, sweeps),
    )


def short_names(paths: Sequence[Path]) -> list[str]:
    """Return for each file the shortest end of its path that no other one has: "r.db", or "n001/r.db" and "n002/r.db".

    The files are different ones; a name tells one from all others, so that runs may be grouped by it.
    """
    ends = [[path.absolute().parts[-n:] for n in range(1, len(path.absolute().parts) + 1)] for path in paths]
    shared = Counter(end for own in ends for end in own)
    return [str(PurePath(*next(end for end in own if shared[end] == 1))) for own in ends]


def natural(value: object) -> tuple[int, float, str]:
    """Sort key of an axis' values: numbers and sizes (4k before 32k) by what they are, words after them."""
    text = str(value)
    for read in (float, size_bytes):
        try:
            number = float(read(text))
        except (ValueError, OverflowError):
            continue
        if math.isfinite(number):
            return (0, number, "")
    return (1, 0.0, text)


def _ordered(
    chosen: Mapping[str, Mapping[tuple[str, str, int], Run]], sweeps: Mapping[str, int]
) -> dict[str, tuple[Run, ...]]:
    """Undo the random order of the runs: files as given, sweeps as first planned, cells by their axes."""
    every = (run for by_key in chosen.values() for run in by_key.values())
    files = {name: i for i, name in enumerate(dict.fromkeys(run.file for run in every))}

    def key(run: Run) -> tuple[object, ...]:
        values = [natural(value) for value in run.point.labels().values()]
        return files[run.file], sweeps[run.point.sweep], values, run.record.point_id, run.record.repeat

    return {
        tool: tuple(sorted(by_key.values(), key=key))
        for tool, by_key in sorted(
            chosen.items(), key=lambda c: min(sweeps[run.point.sweep] for run in c[1].values())
        )
    }


def _with_sources(runs: Sequence[Run]) -> list[Run]:
    """Tell each captured text apart where any of its sweep are: two that told the same may be of two machines, and then so may be
    the others, though they told something else; those of two versions of a program are not of one measurement. Nothing is joined or
    summed up across them."""
    sweeps = group_by((run for run in runs if run.captured), lambda run: (run.file, run.point.sweep))
    apart = {
        key
        for key, own in sweeps.items()
        if any("source" in run.point.options for run in own) or len({run.version for run in own if run.parsed}) > 1
    }  # fmt: skip

    names = dict.fromkeys(run.record.capture.file for run in runs if run.record.capture)
    short = dict(zip(names, short_names([Path(name) for name in names]), strict=True))

    several = len(set(texts_of(runs).values())) > 1

    def told(run: Run) -> Run:
        if run.record.capture is None:
            return run
        name = short[run.record.capture.file]
        source = str(run.point.options.get("source") or name) if (run.file, run.point.sweep) in apart else ""
        return replace(run, source=source, text=name if several else "")

    return [told(run) for run in runs]


def _with_builds(runs: Sequence[Run]) -> list[Run]:
    """Say which program made a run's numbers, where its file has others of that name and version: the path, else the sum."""

    def named(run: Run) -> tuple[str, str, str]:
        return run.file, run.record.program, run.version

    builds = {  # → sha256 → path
        of: {str(r.program.get("sha256") or ""): str(r.program.get("path") or "") for r in reversed(own)}
        for of, own in group_by((run for run in runs if run.parsed is not None), named).items()
    }

    def build(run: Run) -> str:
        same = builds.get(named(run), {})
        digest = str(run.program.get("sha256") or "")
        if len(same) < 2 or digest not in same:
            return ""
        if len(set(same.values())) == len(same) and all(same.values()):
            return same[digest]
        return f"sha256 {digest[:8]}" if digest else "not recorded which"

    return [replace(run, build=build(run)) for run in runs]


def _cell(run: Run) -> tuple[str, str]:
    return run.file, run.record.point_id


def texts_of(runs: Iterable[Run]) -> dict[Run, str]:
    """Return captured run → the name of the text that it is read from: the one named at its intake that its own name, which says the
    part of it, too, begins with."""
    named: dict[tuple[str, int], frozenset[str]] = {}
    found = {}
    for run in runs:
        if run.record.capture is None:
            continue
        at = run.file, run.session.session
        if at not in named:
            named[at] = frozenset(run.session.argv)
        text = own = run.record.capture.file
        while text not in named[at] and text:
            text = text.rpartition(", ")[0]
        found[run] = text or own
    return found


def _key(run: Run) -> tuple[str, str, int]:
    return run.file, run.record.point_id, run.record.repeat


def _varying(runs: Sequence[Run]) -> list[str]:
    """Names of the axes, and of the other options that differ between the cells, in the order of the experiment."""
    options = [run.options for run in runs]
    names = dict.fromkeys(
        name
        for run, own in zip(runs, options, strict=True)
        for name in (*run.point.axes, *own)
        if name != "place"
    )
    values = {name: [own.get(name) for own in options] for name in names}
    plain = {n: v for n, v in values.items() if not any(isinstance(one, Mapping) for one in v)}
    axes = {axis for run in runs for axis in run.point.axes}
    return [name for name, found in plain.items() if name in axes or len(set(found)) > 1]


def _output(result: ResultFile, run_id: int, stream: str) -> bytes:
    try:
        return result.output(run_id, stream)
    except PinsweepError:  # nothing was kept of it
        return b""


def excerpt(text: str, limit: int) -> str:
    """Return beginning and end of a text, at most `limit` characters, cut at line ends."""
    if len(text) <= limit:
        return text
    head = text[: limit // 2].rsplit("\n", 1)[0]
    tail = text[-(limit // 2) :].split("\n", 1)[-1]
    left_out = text.count("\n") - head.count("\n") - tail.count("\n")
    return f"{head}\n… {left_out} lines left out …\n{tail}"
