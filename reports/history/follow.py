"""Result files of many sessions to frames: the sessions of each number, where it moved, and what changed on the machine
then. Pure.

What one boot of a machine did within an hour is one session. `reports.verdicts.history` finds the steps.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from parsers.errors import UserError
from reports.checks.audit import joined
from reports.measurements import measure, records
from reports.results import differences
from reports.results.differences import Fingerprint
from reports.results.model import Results
from reports.results.sessions import of_hosts
from reports.text import format as fmt
from reports.verdicts import history as verdicts
from reports.verdicts.model import STEPS, base

if TYPE_CHECKING:
    import pandas as pd

MIN_SESSIONS: Final = 10
"""Of a step of 8 % at 0.5 % noise, 5 sessions on either side are found always, 4 and 4 never; 10 and 3 nine in ten
times."""
MIN_BEFORE: Final = 3
"""Sessions with a number before it can be missing, and sessions without it if none of them ran its sweep."""

CELL: Final = ("machine", "tool", "program", "sweep", "point_id")
NAME: Final = ("metric", "statistic", "quantity", "kind", "labels", "unit", "better", "derived")
_MOVE: Final = ("number", "kind", "word", "session", "earlier", "index", "before", "after", "change", "ratio", "sessions", "reason")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The numbers of some machines in time, in base units.

    sessions     one row per session that started a run, by machine and time: machine, time, started_utc, file, session_number, clock,
                 recorded (how many sessions count as this one), has_numbers
    numbers      one row per number of a machine: CELL, series, cell, title (for people), NAME, is_judged, is_down (it regressed and is still
                 worse), unseen and unseen_recently (the largest step that is not seen, relative; NaN of a number that
                 moved)
    points       one row per number and session, by time: number, session, value (the median of the repeats), low, high, runs, flags
    moves        one row per step ("step"), slow change ("drift"), outlying last sessions ("recent") and missing number ("gone"): _MOVE.
                 `session` is the first after it, `earlier` the last before it, `index` its index in the points of the
                 number
    differences  what the machine recorded differently, and how many sessions off: (earlier, session) of each step
    """

    sessions: pd.DataFrame
    numbers: pd.DataFrame
    points: pd.DataFrame
    moves: pd.DataFrame
    differences: dict[tuple[int, int], tuple[Fingerprint, int]]
    warnings: tuple[str, ...]
    threshold: float

    def fails(self, words: Collection[str]) -> bool:
        """Is there what `--fail-on` names? A number whose runs fail is no better than one that regressed."""
        gone = self.moves[self.moves["kind"] == "gone"]
        has_failed = bool((gone["word"] == "failed").any())
        recent = self.moves[self.moves["kind"] == "recent"]
        results = {
            "regressed": bool(self.numbers["is_down"].any()) or has_failed,
            "failed": has_failed,
            "gone": len(gone) > 0,
            "suspicious": bool((recent["word"] == "regressed").any()),
        }
        return any(results[word] for word in words)


def build(results: Results, *, threshold: float = verdicts.MATTERS) -> History:
    """Follow every number of every machine over its sessions. Raises UserError if there is no number, or ruptures is
    not installed."""
    machines, left_out = of_hosts(results)
    measurements = measure(results)
    usable = {(machine.file, machine.session.session) for machine in machines}
    rows = measurements.sessions
    rows = rows[[key in usable for key in zip(rows["file"], rows["session_number"], strict=True)]]
    rows = rows.sort_values("time", kind="stable")
    same = rows.groupby(["machine", "evidence"])[
        "evidence"
    ]  # what one boot did within an hour may lack its first session here
    rows = rows.assign(evidence=same.transform(lambda sessions: sessions.index[0]))
    runs = measurements.runs[~measurements.runs["warm_up"]]
    runs = runs.join(rows[["machine", "evidence"]], on="session", how="inner")
    sessions = _sessions(rows, runs, results)
    runs["position"] = runs["evidence"].map(sessions["position"])
    values = measurements.frame("session", "axes", "cell", *CELL, "name", *NAME)
    values = values[values["session"].isin(rows.index)]
    values = values.assign(evidence=values["session"].map(rows["evidence"]))
    if values.empty:
        files = list(dict.fromkeys(machine.file for machine in machines))
        is_disturbed = bool((runs["status"] == "disturbed").any())
        raise UserError(
            ", ".join(files[:3]) + (", …" if len(files) > 3 else ""),
            f"no run gave a number that can be better or worse{': disturbed' if is_disturbed else ''}",
            "measure again on a quiet machine, or use --include least"
            if is_disturbed
            else "see how the runs ended: pinsweep show FILE --runs",
        )
    numbers, points = _numbers(values, sessions)
    numbers, moves = _judge(numbers, points, sessions, threshold)
    moves = [*moves, *_gone(numbers, points, runs, sessions)]
    frame = _frame(moves, _MOVE)
    return History(
        sessions=sessions, numbers=numbers, points=points, moves=frame,
        differences=_differences(frame, rows, runs, sessions, results),
        warnings=(*left_out, *_warnings(runs, sessions, rows)), threshold=threshold,
    )  # fmt: skip


def _frame(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    from parsers.frames import pd

    return pd.DataFrame.from_records(rows, columns=list(columns))


def _sessions(rows: pd.DataFrame, runs: pd.DataFrame, results: Results) -> pd.DataFrame:
    started = rows[rows.index.isin(runs["session"])]
    counted = set(runs.loc[runs["counts"], "evidence"])
    grouped = started.groupby("evidence").agg(clock=("clock", "max"), recorded=("clock", "size"))
    first = rows.loc[grouped.index, ["machine", "time", "file", "session_number"]]
    sessions = first.join(grouped).sort_values(["machine", "time"], kind="stable")
    return sessions.assign(
        started_utc=[results.machines[index].session.started_utc for index in sessions.index],
        has_numbers=[index in counted for index in sessions.index],
        position=sessions.groupby("machine").cumcount(),
    )


def _numbers(values: pd.DataFrame, sessions: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return `History.numbers` without its verdicts, and `points`."""
    cell = values["sweep"].where(values["axes"] == "{}", values["sweep"] + ", " + values["cell"])
    resolution = (values["step"] / values["value"].abs()).where(values["value"] != 0).fillna(0.0)
    values = values.assign(cell=cell, title=cell + ": " + values["name"], resolution=resolution)
    # the last digit is that of the program, on whatever machine it ran
    values["resolution"] = values.groupby([*CELL[1:], "series"])["resolution"].transform("median")
    values["number"] = values.groupby([*CELL, "series"], sort=False).ngroup()
    shown = [*CELL, "series", "cell", "title", *NAME, "resolution"]
    numbers = values.groupby("number")[shown].first()
    points = values.groupby(["number", "evidence"], as_index=False, sort=False).agg(
        value=("value", "median"),
        low=("value", "min"),
        high=("value", "max"),
        runs=("value", "size"),
        flags=("flags", joined),
    )
    points = points.rename(columns={"evidence": "session"})
    points = points.assign(position=points["session"].map(sessions["position"]))
    return numbers, points.sort_values(["number", "position"], ignore_index=True)


def _judge(
    numbers: pd.DataFrame, points: pd.DataFrame, sessions: pd.DataFrame, threshold: float
) -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    """Return the numbers with their verdicts, and the rows of their moves."""
    points_of = dict(iter(points.groupby("number")[["value", "session"]]))
    among = sum(len(rows) >= MIN_SESSIONS for rows in points_of.values())
    verdict, moves = list[tuple[bool, bool, float, float]](), list[dict[str, Any]]()
    for row in records(numbers[["better", "resolution"]]):
        rows, better, resolution = points_of[row["number"]], row["better"], row["resolution"]
        values, at = rows["value"].tolist(), rows["session"].tolist()
        least = max(threshold, STEPS * resolution)
        if len(values) < MIN_SESSIONS:
            verdict.append((False, False, math.nan, math.nan))
            continue
        steps = verdicts.changes(values, better, threshold=least)
        drift = verdicts.drift(values, sessions.loc[at, "time"].tolist(), steps, better, threshold=least)
        steps = () if drift and drift.straight else steps
        recent = None if drift else verdicts.recent(values, steps, better, threshold=least, among=among)
        all_moves: list[tuple[str, verdicts.Move, dict[str, int]]] = [
            ("step", step, {"session": at[step.index], "earlier": at[step.index - 1], "index": step.index})
            for step in steps
        ]
        if drift:
            all_moves.append(("drift", drift, {"session": at[0], "sessions": len(at)}))
        if recent:
            all_moves.append(("recent", recent, {"session": at[-recent.sessions], "sessions": recent.sessions}))
        moves += [
            {
                "number": row["number"], "kind": kind, "word": getattr(move, "word", ""), "before": move.before, "after": move.after,
                "change": move.change, "ratio": move.ratio, **where,
            }
            for kind, move, where in all_moves
        ]  # fmt: skip
        is_down = any(
            step.word == "regressed" and verdicts.is_worse(step.before, steps[-1].after, better, least)
            for step in steps
        )
        is_down = drift.word == "regressed" if drift else is_down
        if drift or recent or any(step.word != "changed" or not base(step.before) for step in steps):
            verdict.append((True, is_down, math.nan, math.nan))
            continue
        unseen = max(verdicts.unseen(values, steps), STEPS * resolution)
        verdict.append((True, False, unseen, verdicts.unseen_recently(values, steps, among=among)))
    names = ("is_judged", "is_down", "unseen", "unseen_recently")
    return numbers.assign(**dict(zip(names, zip(*verdict, strict=True), strict=True))), moves


def _gone(
    numbers: pd.DataFrame, points: pd.DataFrame, runs: pd.DataFrame, sessions: pd.DataFrame
) -> Iterator[dict[str, Any]]:
    """Yield the numbers that MIN_BEFORE sessions of a machine had and none has since.

    If its cell is not run any more, every session from the first with the number to the last ran the cell, and one
    since ran its sweep or there are MIN_BEFORE since: a number that is measured once a week is not gone in between.
    """
    sweeps = set(zip(runs["machine"], runs["position"], runs["tool"], runs["sweep"], strict=True))
    cells = dict(iter(runs.groupby(list(CELL))))
    moments = {machine: group.index.tolist() for machine, group in sessions.groupby("machine")}
    positions = points.groupby("number")["position"].agg(["first", "last", "size"])
    for row in records(numbers.join(positions)):
        on_machine, last = moments[row["machine"]], row["last"]
        later = range(last + 1, len(on_machine))
        if row["size"] < MIN_BEFORE or not later:
            continue
        tries = cells[tuple(row[column] for column in CELL)]
        ran = set(tries["position"])
        since = sorted(i for i in ran if i > last)
        has_others = len(later) >= MIN_BEFORE or any(
            (row["machine"], i, row["tool"], row["sweep"]) in sweeps for i in later
        )
        if not since and not (has_others and ran.issuperset(range(row["first"], last + 1))):
            continue
        word, reason = _why(tries[tries["position"] > last])
        yield {
            "number": row["number"], "kind": "gone", "word": word, "session": on_machine[since[0] if since else last + 1],
            "sessions": len(since) or len(later), "reason": reason,
        }  # fmt: skip


_UNUSED: Final = ("disturbed", "misplaced")


def _why(runs: pd.DataFrame) -> tuple[str, str]:
    """Return what became of the runs of a cell, and the most frequent reason: ("failed", "exit status 7: memory
    error")."""
    if runs.empty:
        return "not run", "not run any more"
    failed = runs[~runs["valid"] | ~runs["status"].isin(["ok", "interrupted", *_UNUSED])]
    if failed.empty and (runs["status"] == "ok").any():
        return "not printed", "its runs end well and do not print it"
    shown = runs if failed.empty else failed
    reason = shown["reason"].where(~shown["status"].isin(_UNUSED), "")
    reason = reason.str.partition("\n")[0].where(shown["valid"], "not valid by its own check")
    word = "left out" if failed.empty else "failed"
    return word, str(reason.where(reason != "", shown["status"]).mode(dropna=False).iloc[0])


def _differences(
    moves: pd.DataFrame,
    rows: pd.DataFrame,
    runs: pd.DataFrame,
    sessions: pd.DataFrame,
    results: Results,
) -> dict[tuple[int, int], tuple[Fingerprint, int]]:
    """Return what was recorded differently at each step; if nothing was, one session to either side: noise moves its
    place."""
    members = rows.groupby("evidence").groups
    counted = dict(iter(runs[runs["counts"]].groupby("evidence")))

    def compared(earlier: int, later: int) -> Fingerprint:
        before, after = ([results.machines[i].session for i in members[at]] for at in (earlier, later))
        table = differences.fingerprint(before, after)
        return differences.compared(table | _programs(counted[earlier], counted[later]))

    order = {machine: group.index.tolist() for machine, group in sessions[sessions["has_numbers"]].groupby("machine")}
    machine = sessions["machine"].to_dict()
    fingerprints = {}
    steps = moves[(moves["kind"] == "step") & (moves["word"] != "changed")]
    for earlier, session in sorted(set(zip(steps["earlier"], steps["session"], strict=True))):
        ids = order[machine[session]]
        before, after = ids.index(earlier), ids.index(session)
        pairs = [(0, before, after), (-1, before - 1, before), (1, after, after + 1)]
        each = [(compared(ids[a], ids[b]), off) for off, a, b in pairs if a >= 0 and b < len(ids)]
        fingerprints[earlier, session] = next((pair for pair in each if pair[0].differences), each[0])
    return fingerprints


_PLACED: Final = {"pus": "PUs", "memory_nodes": "memory nodes", "thread_count": "threads"}


def _programs(before: pd.DataFrame, after: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Return ("fio 3.33", "fio 3.36") of the programs that both sessions ran, with "PUs of SWEEP" of the cells that
    both have."""
    table = differences.programs(before, after)
    cell = ["sweep", "point_id"]
    left, right = (side.drop_duplicates(cell)[[*cell, *_PLACED]] for side in (before, after))
    both = left.merge(right, on=cell, suffixes=("", "_after"))
    for column, word in _PLACED.items():
        moved = both[both[column] != both[f"{column}_after"]]
        places = zip(moved["sweep"], moved[column], moved[f"{column}_after"], strict=True)
        table |= {f"{word} of {sweep}": (a, b) for sweep, a, b in places}
    return table


def _warnings(runs: pd.DataFrame, sessions: pd.DataFrame, rows: pd.DataFrame) -> Iterable[str]:
    slots = runs.assign(status=runs["status"].where(runs["valid"], "invalid"))
    slots = slots.groupby(["file", "point_id", "repeat"]).agg(
        counts=("counts", "any"), valid=("valid", "all"), status=("status", "last")
    )
    unused = slots[~slots["counts"] | ~slots["valid"]]["status"].value_counts()
    if len(unused):
        each = ", ".join(f"{count} {status}" for status, count in unused.items())
        yield f"{fmt.plural(int(unused.sum()), 'run')} left out: {each}"
    wrong = sessions[sessions["clock"] != ""]
    if len(wrong):
        yield f"{fmt.plural(len(wrong), 'session')} with a wrong clock: {wrong['clock'].iloc[0]}"
    for host, names in rows.groupby("host")["machine"].unique().items():
        if len(names) > 1:
            yield f"{len(names)} machines are called {host}: each has its own history"
