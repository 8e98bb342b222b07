"""The sides of a comparison: which runs of which files, and which pairs of sides are refused. Reads result files."""

from __future__ import annotations

import functools
import json
import os
import shlex
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from orchestrator.model import canonical_json
from orchestrator.store.result_file import Session
from parsers.errors import UserError, nearest
from reports.measurements import Measurements, measure
from reports.results.baselines import resolve_any
from reports.results.levels import natural
from reports.results.load import Include, Watched, load
from reports.results.model import LEFT_OUT, Results, Run, short_names

if TYPE_CHECKING:
    import pandas as pd

SideName = Literal["A", "B"]
MAX_HINTS = 20


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
    def files(self) -> tuple[Path, ...]:
        return tuple(self.results.paths.values())

    @property
    def sessions(self) -> pd.DataFrame:
        """Return the rows of `Measurements.sessions` of its runs, by time."""
        return self.measured.sessions.loc[self.measured_runs["session"].unique()].sort_values(
            "time", kind="stable"
        )

    @functools.cached_property
    def session_records(self) -> list[Session]:
        keys = {*zip(self.sessions["file"], self.sessions["session_number"], strict=True)}
        return [m.session for m in self.results.machines if (m.file, m.session.session) in keys]

    @functools.cached_property
    def run_objects(self) -> list[Run]:
        """Return the runs in the order of the index of `runs`, for their distributions."""
        return [*self.results.runs, *self.results.warm_ups]

    @functools.cached_property
    def turns(self) -> dict[int, tuple[str, int, int]]:
        """Return run → what the runs of one repeat of a sweep share."""
        return {index: self.run_objects[index].turn for index in self.runs.index}

    def only(self, runs: pd.DataFrame) -> Side:
        """Return the side with these of its runs alone."""
        return Side(name=self.name, title=self.title, results=self.results, measured=self.measured, runs=runs)


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
    """Return a side per list of files, folders, globs or baselines. Raises UserError if both have a file or a session in common."""
    files_a, files_b = _files(words_a), _files(words_b)
    if both := {*map(os.path.realpath, files_a)} & {*map(os.path.realpath, files_b)}:
        raise UserError(min(both), "is on both sides", "name another file; --aa checks A against itself")
    results_a, results_b = (load(files, include=include, watched=watched) for files in (files_a, files_b))
    _refuse_common_session(results_a, results_b)
    _refuse_sweeps(only, results_a, results_b)
    short = _short_names([*words_a, *words_b])
    a, b = (_title([short[word] for word in words]) for words in (words_a, words_b))
    return Sides(a=side("A", a, results_a, only), b=side("B", b, results_b, only), files=(*files_a, *files_b))


def two_levels(
    words: Iterable[str], by: str, only: Collection[str], *, include: Include, watched: Watched
) -> Sides:
    """Return two levels of an axis within some files; by: "place=local,remote". Raises UserError as `levels` does."""
    axis, _, wanted = (part.strip() for part in by.partition("="))
    files = _files(words)
    results = load(files, include=include, watched=watched)
    _refuse_sweeps(only, results)
    a, b = levels(results, axis, wanted, only)
    return Sides(a=a, b=b, files=files, by=axis)


def side(name: SideName, title: str, results: Results, only: Collection[str] = ()) -> Side:
    """Return a side of all runs of some results; only: of these sweeps."""
    return _of_sweeps(name, title, results, measure(results, undirected=True), only)


def levels(results: Results, axis: str, wanted: str, only: Collection[str] = ()) -> tuple[Side, Side]:
    """Return the runs of two levels of an axis as sides. wanted: "local,remote"; "" if the axis has two levels.

    The axis is an option, "place", "relation", "program" or "host". Raises UserError for an unknown axis or level.
    """
    every = _of_sweeps("A", "", results, measure(results, undirected=True), only)
    of_runs = level_of(every.runs, axis)
    known = [level for level in dict.fromkeys(of_runs[every.usable.index]) if level]
    known.sort(key=lambda level: results.levels.key(axis, level))
    if not known:
        axes = {name for text in every.runs["axes"].unique() for name in json.loads(text)}
        axes |= {"host", "program"}
        hint = nearest(axis, sorted(axes)) or f"there are: {', '.join(sorted(axes))}"
        raise UserError(f"--by {axis}", "no run has this axis", hint)
    text = _spaced(wanted) or (",".join(map(_spaced, known)) if len(known) == 2 else "")
    pair = next(((a, b) for a in known for b in known if a != b and f"{_spaced(a)},{_spaced(b)}" == text), None)  # fmt: skip
    if pair is None:
        raise _level_error(axis, wanted, text, known)
    runs = every.runs
    names: tuple[SideName, SideName] = ("A", "B")
    a, b = (
        Side(name=name, title=f"{axis}={level}", results=results, measured=every.measured, runs=runs[of_runs == level])
        for name, level in zip(names, pair, strict=True)
    )  # fmt: skip
    return a, b


def _level_error(axis: str, wanted: str, text: str, known: Sequence[str]) -> UserError:
    unknown = next((level for level in text.split(",") if level and level not in known), "")
    example = f"name two, as in --by {shlex.quote(f'{axis}={known[0]},{known[1]}')}; " if len(known) > 1 and not unknown else ""  # fmt: skip
    separator = "; " if any("," in level for level in known) else ", "
    hint = nearest(unknown, known) or f"{example}its levels: {separator.join(known[:MAX_HINTS])}"
    what = f"no run has {axis}={unknown}" if unknown and text.count(",") == 1 else "does not name two levels"
    return UserError(f"--by {axis}={wanted}".rstrip("="), what, hint)


def _spaced(text: str) -> str:
    return ",".join(part.strip() for part in text.split(","))


def level_of(runs: pd.DataFrame, axis: str) -> pd.Series[str]:
    """Return the level of an axis of each run as it is written; "" of a run that has none."""
    from parsers.frames import pd

    if axis in ("place", "relation", "program", "host"):
        return runs[axis]
    texts = {
        key: _level(axis, json.loads(key[0]), json.loads(key[1]))
        for key in {*zip(runs["axes"], runs["options"], strict=True)}
    }
    return pd.Series(
        [texts[key] for key in zip(runs["axes"], runs["options"], strict=True)], runs.index, dtype=object
    )


def _level(axis: str, axes: dict[str, object], options: dict[str, object]) -> str:
    value = axes.get(axis, options.get(axis))
    return "" if value is None else ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _of_sweeps(
    name: SideName, title: str, results: Results, measured: Measurements, only: Collection[str]
) -> Side:
    runs = measured.runs.join(
        measured.sessions[["machine", "time", "evidence", "session_number"]], on="session"
    )
    runs = runs[~runs["warm_up"].astype(bool)]
    if only:
        runs = runs[runs["sweep"].isin([*only])]
    slot = ["file", "point_id", "repeat"]
    counted = runs[runs["counts"]]
    others = runs[~runs["counts"]].drop_duplicates(slot, keep="last")
    done = {*counted[slot].itertuples(index=False, name=None)}
    others = others[[key not in done for key in others[slot].itertuples(index=False, name=None)]]
    kept = runs.loc[sorted([*counted.index, *others.index])]
    cause = kept["status"].where(~kept["counts"], "").mask(kept["counts"] & ~kept["valid"], "invalid")
    left_out = cause.isin([*LEFT_OUT, "invalid"])
    fate = cause.mask(left_out, "left out").where(left_out | (cause == ""), "failed")
    return Side(name=name, title=title, results=results, measured=measured, runs=kept.assign(cause=cause, fate=fate))  # fmt: skip


# --- what is refused ---------------------------------------------------------------------------------------


def refuse(a: Side, b: Side, ignore: Collection[str], *, across_programs: bool) -> list[str]:
    """Raise UserError for sides that cannot be compared. Returns the tools whose programs differ, if that is allowed."""
    for one in (a, b):
        failed = (one.runs["fate"] == "failed").any()
        if one.usable.empty and not (failed and (len(a.usable) or len(b.usable))):
            disturbed = (one.runs["cause"] == "disturbed").any()
            what = f"has no {'undisturbed runs' if disturbed else 'runs'} with a result"
            hint = "--include least uses the least disturbed" if disturbed else "`pinsweep show FILE` shows how the runs ended"  # fmt: skip
            raise UserError(one.title, what, hint)
        _refuse_machines(one)
    _refuse_ignored(a, b, ignore)
    tools = []
    for tool in a.usable["tool"].unique():
        runs = [one.usable[one.usable["tool"] == tool] for one in (a, b)]
        left, right = (set(own["program"]) for own in runs)
        cells = {
            (key, program)
            for own in runs
            for key, program in zip(own["point_id"], own["program"], strict=True)
        }
        if right and (left != right or len({key for key, _ in cells}) < len(cells)):
            tools.append(f"A is {', '.join(sorted(left))}, B is {', '.join(sorted(right))}")
    if tools and not across_programs:
        raise UserError(
            "compare", f"not the same program: {'; '.join(tools)}", "compare them all the same with --across-programs"
        )  # fmt: skip
    return tools


def _refuse_machines(one: Side) -> None:
    """Raise UserError for a side of several machines of one name."""
    runs = one.measured_runs[~one.measured_runs["captured"].astype(bool)]
    for host, machines in runs.groupby("host")["machine"].unique().items():
        if len(machines) > 1:
            raise UserError(
                one.title, f"several machines are called {host}: {', '.join(machines)}",
                "give only the files of one machine; `pinsweep fleet` compares machines",
            )  # fmt: skip


def _refuse_ignored(a: Side, b: Side, ignore: Collection[str]) -> None:
    """Raise UserError for an ignored option that no run has, or in which the cells of a side differ."""
    every = {text for one in (a, b) for text in one.usable["options"].unique()}
    known = sorted({"place", *(name for text in every for name in json.loads(text) if "." not in name)})
    for name in ignore:
        if name not in known:
            hint = nearest(name, known) or f"there are: {', '.join(known[:MAX_HINTS])}"
            raise UserError(f"--ignore {name}", "no run has this option", hint)
        for one in (a, b):
            runs = one.usable.assign(level=level_of(one.usable, name))
            for sweep, values in runs.groupby("sweep")["level"].unique().items():
                if len(values) > 1:
                    few = sorted(values, key=natural)[:6]
                    raise UserError(
                        f"--ignore {name}", f"{one.title}: the cells of {sweep} differ in it ({', '.join(few)})",
                        f"--by {name}={','.join(few[:2])} compares two of its levels",
                    )  # fmt: skip


def _refuse_sweeps(only: Collection[str], *results: Results) -> None:
    known = sorted({run.cell.sweep for one in results for run in one.runs}, key=natural)
    for name in only:
        if known and name not in known:
            hint = nearest(name, known) or f"sweeps: {', '.join(known[:MAX_HINTS])}"
            raise UserError(f"--only {name}", "no run is of this sweep", hint)


def _refuse_common_session(a: Results, b: Results) -> None:
    of_a = {_identity(machine.session): machine for machine in a.machines}
    for machine in b.machines:
        if (other := of_a.get(_identity(machine.session))) is not None:
            raise UserError(
                str(b.paths[machine.file]),
                f"has the same session of {machine.host} as {a.paths[other.file]} ({machine.session.started_utc})",
                "leave out one of them; --aa checks A against itself",
            )


def _identity(session: Session) -> Hashable:
    return session.host, session.started_utc, session.seed, session.argv, canonical_json(session.facts)


# --- names -------------------------------------------------------------------------------------------------


def _files(words: Iterable[str]) -> tuple[Path, ...]:
    """Return the files that words name, each once."""
    paths = [path for word in words for path in resolve_any(word)]
    return tuple({os.path.realpath(path): path for path in paths}.values())


def _short_names(words: Sequence[str]) -> dict[str, str]:
    """Return for each word on the command line the shortest end of its path that no other has."""
    paths = {word: Path(word).absolute() for word in words}
    different = list(dict.fromkeys(paths.values()))
    short = dict(zip(different, short_names(different), strict=True))
    return {word: short[path] for word, path in paths.items()}


def _title(words: Sequence[str]) -> str:
    """Return "mon.db, tue.db, wed.db and 4 more"."""
    known = list(dict.fromkeys(words))
    return ", ".join(known[:3]) + (f" and {len(known) - 3} more" if len(known) > 3 else "")
