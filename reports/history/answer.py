"""A history for people, as a document, and for programs, as JSON. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from reports.chart import Chart, Rule
from reports.checks.audit import joined
from reports.document import Block, Column, Document, Figure, Fold, Heading, Quantity, Table, Text
from reports.history.follow import MIN_SESSIONS, History
from reports.measurements import number_fields, records
from reports.results.convicted import checks_of
from reports.results.grouping import group_by
from reports.text import format as fmt
from reports.text.hostlist import listed
from reports.text.json_text import json_text
from reports.text.plain import printable
from reports.verdicts.history import FALSE_RECENT, OUTSIDE, RECENT
from reports.verdicts.model import base

if TYPE_CHECKING:
    import pandas as pd

    from reports.results.differences import Fingerprint

Fields = dict[int, dict[str, Any]]
"""Number → what it is, for programs."""

VERDICTS: Final = ("failed", "gone", "regressed", "suspicious", "recovered", "improved", "changed")
"""The words of a move, the worst first. recovered: it regressed, and is not worse any more; changed: from 0 or below,
which is not judged."""

MAX_ROWS: Final = 12
"""Moves that a terminal lists."""

MAX_FIGURES: Final = 12
MAX_LINES: Final = 8

TITLE: Final = "{number} {verdict} on {since}"

_COLUMNS: Final = (
    Column(name="verdict"), Column(name="since"), Column(name="host", spare=True), Column(name="number"), Column(name="before", spare=True), Column(name="after"),
    Column(name="change", unit="%", signed=True), Column(name="note", title="at the same time", spare=True),
)  # fmt: skip


def document(history: History, *, everything: bool = False, hint: str = "", page_title: str = "") -> Document:
    """Return the verdict and the table of what moved. everything: all moves. page_title: of a page, with figures and
    details."""
    moves = moves_table(history)
    columns = [c for c in _COLUMNS if c.name != "host" or history.numbers["machine"].nunique() > 1]
    table = Table.from_frame(moves, *columns, id="moves", most=10_000 if everything else MAX_ROWS)
    answer: list[Block] = [Text(verdict(history)), *([table] if len(moves) else []), *_caveats(history)]
    if not page_title:
        return Document(title=scope(history), blocks=(*answer, *([Text(printable(hint))] if hint else [])))
    figures = [*_figures(history, moves)]
    drawn: list[Block] = [Heading("Changes over time"), *figures] if figures else []
    method = Fold("Method", tuple(Text(text) for text in _method(history)))
    return Document(title=page_title, blocks=(Text(scope(history)), *answer, *drawn, _all_numbers(history), method))


def _all_numbers(history: History) -> Fold:
    numbers = history.numbers
    last = history.points.groupby("number")["value"].agg(["last", "size"])
    rows = numbers.assign(
        number=numbers["title"], last=_quantities(last["last"], numbers["unit"]), sessions=last["size"]
    )
    columns = (
        *(Column(name=name) for name in ("number", "machine", "sessions", "last")),
        Column(name="unseen", title="largest step not seen", unit="%"),
    )
    return Fold("All numbers", (Table.from_frame(rows, *columns, id="numbers"),))


def scope(history: History) -> str:
    """Return "node07 · 24 sessions, 2026-09-01 to 2026-10-17"."""
    counts = history.sessions.groupby("machine")["recorded"].sum()
    days = history.sessions["time"].sort_values().map(_date)
    where = listed(counts.index) if len(counts) == 1 else f"{len(counts)} hosts"
    sessions = fmt.ends(fmt.count(counts.min()), fmt.plural(int(counts.max()), "session"))
    if counts.min() == counts.max():
        sessions = fmt.plural(int(counts.max()), "session") + (" each" if len(counts) > 1 else "")
    return f"{printable(where)} · {sessions}, {fmt.ends(days.iloc[0], days.iloc[-1])}"


def verdict(history: History) -> str:
    """Return "4 of 8 numbers regressed, 1 improved"."""
    moves, numbers = history.moves, history.numbers
    judged = int(numbers["is_judged"].sum())
    gone = int((moves["kind"] == "gone").sum())
    missing = f"{fmt.plural(gone, 'number')} gone" if gone else ""
    if not judged:
        return missing or f"No verdict: a number needs {MIN_SESSIONS} sessions"
    steps = moves[moves["kind"].isin(["step", "drift"]) & (moves["word"] == "improved")]
    improved = set(steps["number"]) - set(numbers.index[numbers["is_down"]])
    down = f"{int(numbers['is_down'].sum())} of {fmt.plural(judged, 'number')} regressed"
    return ", ".join(filter(None, (down, f"{len(improved)} improved", missing)))


def _caveats(history: History) -> Iterable[Text]:
    numbers = history.numbers
    short = int((~numbers["is_judged"]).sum())
    if short:
        yield Text(f"{fmt.plural(short, 'number')} not judged: fewer than {MIN_SESSIONS} sessions.", "warning")
    bound, late = map(float, numbers[["unseen", "unseen_recently"]].max())
    if bound > history.threshold or late > history.threshold:
        recent = f", {_bound(late)} in the last {RECENT} sessions" if late > bound else ""
        yield Text(f"Steps of up to {_bound(bound)} may go unseen{recent}.", "quiet")
    yield from (Text(printable(f"{text}."), "warning") for text in history.warnings)


def _bound(share: float) -> str:
    return f"{fmt.number(share * 100, 2, fmt.UP)} %"


def _date(at: float) -> str:
    from reports.results.sessions import minute

    return minute(at)[:10]


def moves_table(history: History) -> pd.DataFrame:
    """Return one row per move, the worst and newest first: the columns of _COLUMNS with machine, number, `before` and
    `after` as quantities, flags."""
    moves = history.moves
    shown = moves[(moves["word"] != "changed") | moves["before"].map(lambda value: not base(value))]
    rows = shown.join(history.numbers.drop(columns="kind"), on="number").join(history.sessions["time"], on="session")
    flags = history.points.groupby("number")["flags"].agg(joined)
    rows = rows.assign(
        verdict=[_word(move) for move in records(rows)],
        since=rows["time"].map(_date),
        host=rows["machine"],
        number_id=rows["number"],
        number=rows["title"],
        before=_quantities(rows["before"], rows["unit"]),
        after=_quantities(rows["after"], rows["unit"]),
        note=[_note(move, history) for move in records(rows)],
        flags=rows["number"].map(flags),
    )
    rank = rows["verdict"].map(VERDICTS.index)
    order = rows.assign(rank=rank, newest=-rows["time"], size=-rows["change"].abs())
    return order.sort_values(["rank", "newest", "size"], kind="stable", ignore_index=True)


def _word(move: dict[str, Any]) -> str:
    if move["kind"] == "gone":
        return "failed" if move["word"] == "failed" else "gone"
    if move["kind"] == "recent" and move["word"] == "regressed":
        return "suspicious"
    return "recovered" if move["word"] == "regressed" and not move["is_down"] else str(move["word"])


def _note(move: dict[str, Any], history: History) -> str:
    match move["kind"]:
        case "gone":
            return str(move["reason"])
        case "drift":
            return "little by little"
        case "recent":
            return f"the last {fmt.plural(int(move['sessions']), 'session')} only"
    difference = history.differences.get((move["earlier"], move["session"]))
    return difference_text(*difference) if difference else ""


def difference_text(fingerprint: Fingerprint, off: int) -> str:
    """Return "kernel 6.1 → 6.8; microcode 0xf0 → 0xf4"; "" if nothing that was recorded changed."""
    text = "; ".join(f"{line.what} {line.a} → {line.b}" for line in fingerprint.differences)
    return ({-1: "one session earlier: ", 1: "one session later: "}.get(off, "") + text) if text else ""


def _quantities(values: Iterable[float], units: Iterable[str]) -> Any:  # noqa: ANN401 (pandas knows no such column)
    return [Quantity(v, unit) if math.isfinite(v) else None for v, unit in zip(values, units, strict=True)]


def as_json(history: History) -> str:
    """Return {hosts, steps, series, gone, warnings} as `pinsweep schema history` describes it; base units."""
    sessions, started = history.sessions, history.sessions["started_utc"].to_dict()
    names = {
        row["number"]: {"host": row["machine"], **number_fields({**row, "number": row["title"]})}
        for row in records(history.numbers)
    }
    columns = {"started_utc": "started_utc", "file": "file", "session": "session_number", "clock": "clock"}
    moves = [{**move, "started_utc": started[move["session"]]} for move in records(history.moves)]
    steps = [move for move in moves if move["kind"] == "step" and move["word"] != "changed"]
    steps.sort(key=lambda move: (move["session"], move["earlier"], -abs(move["change"])))
    answer = {
        "hosts": [
            {
                "host": host,
                "judged": len(rows) >= MIN_SESSIONS,
                "sessions": [{key: row[name] or None for key, name in columns.items()} for row in records(rows)],
            }
            for host, rows in sessions[sessions["has_numbers"]].groupby("machine")
        ],
        "steps": [
            _step(own, names, history)
            for own in group_by(steps, lambda move: (move["session"], move["earlier"])).values()
        ],
        "series": list(_series(moves, names, history)),
        "gone": [
            {
                **names[move["number"]],
                "since_utc": move["started_utc"],
                "sessions": int(move["sessions"]),
                "why": move["word"],
                "reason": move["reason"],
            }
            for move in moves
            if move["kind"] == "gone"
        ],
        "warnings": history.warnings,
    }
    return json_text(answer)


def _step(moves: list[dict[str, Any]], names: Fields, history: History) -> dict[str, Any]:
    words = [move["word"] for move in moves]
    fingerprint, off = history.differences[moves[0]["earlier"], moves[0]["session"]]
    return {
        "host": names[moves[0]["number"]]["host"],
        "started_utc": moves[0]["started_utc"],
        "regressed": words.count("regressed"),
        "improved": words.count("improved"),
        "off_by_sessions": off,
        "differences": [{"what": line.what, "before": line.a, "after": line.b} for line in fingerprint.differences],
        "one_sided": fingerprint.one_sided,
        "numbers": [
            {
                "number": names[move["number"]]["number"],
                **{key: move[key] for key in ("word", "change", "ratio")},
            }
            for move in moves
        ],
    }


def _series(moves: Iterable[dict[str, Any]], names: Fields, history: History) -> Iterable[dict[str, Any]]:
    points = history.points.join(history.sessions["started_utc"], on="session")
    points_of = {number: records(rows) for number, rows in points.groupby("number")}
    moved = group_by(moves, lambda move: (move["number"], move["kind"]))
    for row in records(history.numbers):
        number = row["number"]
        steps, drift, recent = (moved.get((number, kind), []) for kind in ("step", "drift", "recent"))
        yield {
            **names[number],
            "judged": row["is_judged"],
            "regressed": row["is_down"],
            "sessions": [
                {
                    **{key: point[key] for key in ("started_utc", "value", "runs")},
                    "doubtful": checks_of(point["flags"]),
                }
                for point in points_of[number]
            ],
            "changes": [{**_size(move), "session": int(move["index"])} for move in steps],
            "drift": {key: value for key, value in _size(drift[0]).items() if key != "started_utc"} if drift else None,
            "recent": {**_size(recent[0]), "sessions": int(recent[0]["sessions"])} if recent else None,
        }


def _size(move: dict[str, Any]) -> dict[str, Any]:
    return {key: move[key] for key in ("started_utc", "word", "before", "after", "change", "ratio")}


def _figures(history: History, moves: pd.DataFrame) -> Iterable[Figure]:
    """Yield a figure per number that moved, the worst first: a line per host on which it did."""
    from reports.render import vega

    points = history.points.join(history.sessions[["time", "machine"]], on="session")
    points = points.rename(columns={"machine": "host"})
    groups = group_by(records(moves), lambda move: (move["number"], move["unit"]))
    for (name, unit), group in list(groups.items())[:MAX_FIGURES]:
        numbers = list(dict.fromkeys(move["number_id"] for move in group))[:MAX_LINES]
        steps = {move["time"]: fmt.change(move["change"]) for move in group if move["kind"] == "step"}
        rules = [Rule(label=label, x=at) for at, label in steps.items()]
        chart = Chart(
            id=f"number-{numbers[0]}", title=TITLE.format(**group[0] | {"number": name}), x="time", color="host", zero=False, x_unit="date",
            x_title="session", y_unit=unit, rules=lambda _, rules=rules: rules,  # type: ignore[misc]  # mypy infers no default
            caption="A point is the median of a session. Dotted: the first session after a step.",
        )  # fmt: skip
        if figure := vega.figure(chart, points[points["number"].isin(numbers)]):
            yield figure


def _method(history: History) -> Iterable[str]:
    yield (
        "A number of a session is the median of its repeats. Steps are found by kernel change-point detection in "
        f"numbers with at least {MIN_SESSIONS} sessions. Steps below {history.threshold * 100:.3g} % are ignored."
    )
    yield (
        f"The last sessions, at most {RECENT}, are suspicious if they lie {OUTSIDE:g} times as far off as any session before, and "
        f"further than chance takes one of all numbers in {FALSE_RECENT * 100:g} of 100 histories."
    )
    yield "What changed at the same time is what both sessions recorded and recorded differently. It need not be the cause."
