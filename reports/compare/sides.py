"""The sides of a comparison: which runs of which files, and which pairs of sides are refused. Reads result files."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from orchestrator.model import canonical_json
from orchestrator.store.result_file import Session
from parsers.errors import UserError, nearest
from reports.measurements import Measurements, measure
from reports.results.baselines import resolve_any
from reports.results.levels import natural
from reports.results.load import Include, Watched, load
from reports.results.model import LEFT_OUT, Results, short_names

if TYPE_CHECKING:
    import pandas as pd

SideName = Literal["A", "B"]
MAX_HINTS: Final = 20


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side. `runs` is `Measurements.runs` with its sessions: the last attempt at each repeat, with `fate`.

    fate    "": it counts; "failed": no number; "left out": disturbed, misplaced or invalid
    cause   of a run that does not count: its status, "invalid" if its program calls its own result wrong
    """

    name: SideName
    title: str  # "before.db", "place=local"
    results: Results
    measured: Measurements
    runs: pd.DataFrame

    @property
    def usable(self) -> pd.DataFrame:
        return self.runs[self.runs["fate"] == ""]

    @property
    def measured_runs(self) -> pd.DataFrame:
        """Return the runs that count; the failed ones of a side without any."""
        usable = self.usable
        return usable if len(usable) else self.runs[self.runs["fate"] == "failed"]

    @property
    def hosts(self) -> list[str]:
        return list(dict.fromkeys(self.measured_runs["host"]))

    @property
    def sessions(self) -> pd.DataFrame:
        """Return the rows of `Measurements.sessions` of its runs, by time."""
        rows = self.measured.sessions.loc[self.measured_runs["session"].unique()]
        return rows.sort_values("time", kind="stable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """What is compared, and the files that it was read from."""

    a: Side
    b: Side
    files: tuple[Path, ...]
    by: str = ""  # the axis whose levels they are, "" of files


def two_sides(
    words_a: Sequence[str],
    words_b: Sequence[str],
    only: Collection[str],
    *,
    include: Include,
    watched: Watched,
) -> Sides:
    """Return a side per list of files, folders, globs or baselines. Raises UserError if both have a file or a session
    in common."""
    files_a, files_b = _files(words_a), _files(words_b)
    if both := {*map(os.path.realpath, files_a)} & {*map(os.path.realpath, files_b)}:
        raise UserError(min(both), "is on both sides", "name another file; --aa checks A against itself")
    results_a, results_b = (load(files, include=include, watched=watched) for files in (files_a, files_b))
    sessions = {_identity(machine.session): machine for machine in results_a.machines}
    for machine in results_b.machines:
        if other := sessions.get(_identity(machine.session)):
            first, started = results_a.paths[other.file], machine.session.started_utc
            what = f"has the same session of {machine.host} as {first} ({started})"
            hint = "leave out one of them; --aa checks A against itself"
            raise UserError(str(results_b.paths[machine.file]), what, hint)
    _refuse_sweeps(only, results_a, results_b)
    paths = [Path(word).absolute() for word in (*words_a, *words_b)]
    different = list(dict.fromkeys(paths))
    short = dict(zip(different, short_names(different), strict=True))
    names = [short[path] for path in paths]
    a, b = _title(names[: len(words_a)]), _title(names[len(words_a) :])
    return Sides(a=side("A", a, results_a, only), b=side("B", b, results_b, only), files=(*files_a, *files_b))


def _files(words: Iterable[str]) -> tuple[Path, ...]:
    """Return the files that words name, each once."""
    paths = [path for word in words for path in resolve_any(word)]
    return tuple({os.path.realpath(path): path for path in paths}.values())


def _identity(session: Session) -> Hashable:
    return session.host, session.started_utc, session.seed, session.argv, canonical_json(session.facts)


def _title(names: Iterable[str]) -> str:
    """Return "mon.db, tue.db, wed.db and 4 more"."""
    known = list(dict.fromkeys(names))
    return ", ".join(known[:3]) + (f" and {len(known) - 3} more" if len(known) > 3 else "")


def two_levels(words: Iterable[str], by: str, only: Collection[str], *, include: Include, watched: Watched) -> Sides:
    """Return two levels of an axis within some files; by: "place=local,remote". Raises UserError as `levels` does."""
    axis, _, wanted = (part.strip() for part in by.partition("="))
    files = _files(words)
    results = load(files, include=include, watched=watched)
    _refuse_sweeps(only, results)
    a, b = levels(results, axis, wanted, only)
    return Sides(a=a, b=b, files=files, by=axis)


def side(name: SideName, title: str, results: Results, only: Collection[str] = ()) -> Side:
    """Return a side of all runs of some results; only: of these sweeps."""
    measured = measure(results, undirected=True)
    sessions = measured.sessions[["machine", "time", "evidence", "session_number"]]
    runs = measured.runs.join(sessions, on="session")
    runs = runs[~runs["warm_up"].astype(bool) & (runs["sweep"].isin([*only]) if only else True)]
    # of each repeat the attempt that counts, else the last one
    last = runs.sort_values("counts", kind="stable").drop_duplicates(["file", "point_id", "repeat"], keep="last")
    runs = runs.loc[runs["counts"].astype(bool) | runs.index.isin(last.index)]
    is_good = runs["counts"].astype(bool)
    cause = runs["status"].mask(is_good, "").mask(is_good & ~runs["valid"].astype(bool), "invalid")
    left_out = cause.isin([*LEFT_OUT, "invalid"])
    fate = cause.mask(left_out, "left out").where(left_out | (cause == ""), "failed")
    return Side(name=name, title=title, results=results, measured=measured, runs=runs.assign(cause=cause, fate=fate))


def levels(results: Results, axis: str, wanted: str, only: Collection[str] = ()) -> tuple[Side, Side]:
    """Return the runs of two levels of an axis as sides. wanted: "local,remote"; "" if the axis has two levels.

    The axis is an option, "place", "relation", "program" or "host". Raises UserError for an unknown axis or level.
    """
    every = side("A", "", results, only)
    levels_of = level_of(every.runs, axis)
    known = [*filter(None, dict.fromkeys(levels_of[every.usable.index]))]
    known.sort(key=lambda level: results.levels.key(axis, level))
    if not known:
        axes = sorted({"host", "program"}.union(*map(json.loads, every.runs["axes"].unique())))
        hint = nearest(axis, axes) or f"there are: {', '.join(axes)}"
        raise UserError(f"--by {axis}", "no run has this axis", hint)
    spelled = {",".join(map(_spaced, pair)): pair for pair in ((a, b) for a in known for b in known if a != b)}
    text = _spaced(wanted) or (",".join(map(_spaced, known)) if len(known) == 2 else "")
    if text not in spelled:
        separator = "; " if any("," in level for level in known) else ", "
        hint = f"its levels: {separator.join(known[:MAX_HINTS])}"
        if len(known) > 1:
            hint = f"name two, as in --by {shlex.quote(f'{axis}={known[0]},{known[1]}')}; {hint}"
        raise UserError(f"--by {axis}={wanted}".rstrip("="), "does not name two levels", hint)
    a, b = spelled[text]
    return (
        replace(every, title=f"{axis}={a}", runs=every.runs[levels_of == a]),
        replace(every, name="B", title=f"{axis}={b}", runs=every.runs[levels_of == b]),
    )


def _spaced(text: str) -> str:
    return ",".join(part.strip() for part in text.split(","))


def level_of(runs: pd.DataFrame, axis: str) -> pd.Series[str]:
    """Return the level of an axis of each run as it is written; "" of a run that has none."""
    if axis in ("place", "relation", "program", "host"):
        return runs[axis]

    def level(text: str) -> str:
        value = json.loads(text).get(axis)
        return "" if value is None else ",".join(map(str, value)) if isinstance(value, list) else str(value)

    axes, options = (
        runs[column].map({text: level(text) for text in runs[column].unique()}) for column in ("axes", "options")
    )
    return axes.where(axes != "", options).astype(object)


# --- what is refused ---------------------------------------------------------------------------------------


def refuse(a: Side, b: Side, ignore: Collection[str], *, across_programs: bool) -> list[str]:
    """Raise UserError for sides that cannot be compared. Returns the tools whose programs differ, if that is
    allowed."""
    for side in (a, b):
        failed = (side.runs["fate"] == "failed").any()
        if side.usable.empty and not (failed and (len(a.usable) or len(b.usable))):
            if (side.runs["cause"] == "disturbed").any():
                hint = "--include least uses the least disturbed"
                raise UserError(side.title, "has no undisturbed runs with a result", hint)
            hint = "`pinsweep show FILE --runs` shows how each run ended, and its checks"
            raise UserError(side.title, "has no runs with a valid result", hint)
        runs = side.measured_runs[~side.measured_runs["captured"].astype(bool)]
        for host, machines in runs.groupby("host")["machine"].unique().items():
            if len(machines) > 1:
                what = f"several machines are called {host}: {', '.join(machines)}"
                hint = "give only the files of one machine; `pinsweep fleet` compares machines"
                raise UserError(side.title, what, hint)
    _refuse_ignored(a, b, ignore)
    tools = []
    for tool in a.usable["tool"].unique():
        sides = [
            side.usable.loc[side.usable["tool"] == tool, ["point_id", "program"]].drop_duplicates() for side in (a, b)
        ]
        left, right = ({*side["program"]} for side in sides)
        has_both = sides[0].merge(sides[1], how="outer")["point_id"].duplicated().any()
        if right and (left != right or has_both):
            tools.append(f"A is {', '.join(sorted(left))}, B is {', '.join(sorted(right))}")
    if tools and not across_programs:
        what = f"not the same program: {'; '.join(tools)}"
        raise UserError("compare", what, "compare them all the same with --across-programs")
    return tools


def _refuse_ignored(a: Side, b: Side, ignore: Collection[str]) -> None:
    """Raise UserError for an ignored option that no run has, or in which the cells of a side differ."""
    texts = {*a.usable["options"], *b.usable["options"]} if ignore else ()
    known = sorted({"place", *(name for text in texts for name in json.loads(text) if "." not in name)})
    for name in ignore:
        if name not in known:
            hint = nearest(name, known) or f"there are: {', '.join(known[:MAX_HINTS])}"
            raise UserError(f"--ignore {name}", "no run has this option", hint)
        for side in (a, b):
            for sweep, values in level_of(side.usable, name).groupby(side.usable["sweep"]).unique().items():
                if len(values) > 1:
                    few = sorted(values, key=natural)[:6]
                    what = f"{side.title}: the cells of {sweep} differ in it ({', '.join(few)})"
                    hint = f"--by {name}={','.join(few[:2])} compares two of its levels"
                    raise UserError(f"--ignore {name}", what, hint)


def _refuse_sweeps(only: Collection[str], *results: Results) -> None:
    known = sorted({run.cell.sweep for result in results for run in result.runs}, key=natural)
    for name in only:
        if known and name not in known:
            hint = nearest(name, known) or f"sweeps: {', '.join(known[:MAX_HINTS])}"
            raise UserError(f"--only {name}", "no run is of this sweep", hint)
