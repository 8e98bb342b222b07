"""What a host's families of numbers did over its sessions, a line each, under the events of the machine. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from reports.checks.doubts import mark
from reports.draw.lanes import Event, Lane, Lanes, path, reach
from reports.draw.timeline import Timeline
from reports.history.changes import History, Report, between, in_time, line_of
from reports.history.moments import Moment
from reports.history.text import blind_to, bound_text, told_from, up_to
from reports.numbers.families import Family, families
from reports.results.sessions import SessionKey
from reports.text import format as fmt
from reports.verdicts.fleet import MAD, centre

MOST: Final = 24
"""Lines of one host: all that changed, and then those that did not."""

LEAST_SPAN: Final = 0.1
"""Of its middle one, what a line spans at least."""

_NEAR: Final = 2.4
"""Per cent of the length: a number nearer to the one before it is not written."""

Groups = Sequence[tuple[Family, tuple[History, ...]]]


def grouped(own: Sequence[History], threshold: float) -> list[tuple[Family, tuple[History, ...]]]:
    """Return the families of a host's numbers: those that are worse than before, then those that changed, the most first; in each the number that
    changed most, of those that did not that of which most may go unseen, then that which spans most."""
    found = [
        (family, tuple(sorted((own[i] for i in family.members), key=lambda h: _most(h, threshold))))
        for family in families([h.series for h in own])
    ]
    return sorted(found, key=lambda row: (not row[1][0].regressed, -row[1][0].moved, not row[0].drawn))


def _most(history: History, threshold: float) -> tuple[float, float, float]:
    middle = abs(statistics.median(history.medians))
    span = (max(history.medians) - min(history.medians)) / middle if middle else 0.0
    return -history.moved, -blind_to(history, threshold), -span


def lanes(host: str, report: Report, found: Groups, links: Mapping[int, str]) -> Lanes:
    """Return the lanes of a host. `links`: index in `found` → the chart of that family."""
    moments = report.moments[host]
    at = {moment.key: i for i, moment in enumerate(moments)}
    along = in_time(moments)
    return Lanes(
        events=tuple(_events(moments)),
        first=moments[0].date,
        last=moments[-1].date,
        lanes=tuple(
            _lane(family, own, at, along, links.get(i, ""), report)
            for i, (family, own) in enumerate(found[:MOST])
        ),
    )


def _events(moments: Sequence[Moment]) -> list[Event]:
    """Return what was recorded differently from one session to the next: kernel, microcode, firmware, drivers, programs, places."""
    along = in_time(moments)
    found: list[Event] = []
    written = -_NEAR
    for i, (before, after) in enumerate(pairwise(moments), 1):
        if differences := between(before, after).differences:
            where = along.percent(along.edges[i])
            near = where - written < _NEAR
            written = written if near else where
            said = "; ".join(f"{d.what} {d.a} → {d.b}" for d in differences)
            found.append(
                Event(at=where, number="" if near else str(len(found) + 1), said=f"{after.date} {said}")
            )
    return found


def _lane(
    family: Family,
    own: Sequence[History],
    at: Mapping[SessionKey, int],
    along: Timeline,
    link: str,
    report: Report,
) -> Lane:
    shown, changed = own[0], sum(h.moved > 0 for h in own)
    unit, better = shown.series.said_unit, shown.series.better
    places = [at[moment.key] for moment in shown.moments]
    known: list[tuple[float, float] | None] = [None] * len(at)
    for i, value in zip(places, shown.medians, strict=True):
        known[i] = along.percent(along.days[i]), value
    low, high = reach(shown.medians, LEAST_SPAN)
    cuts = [0, *(c.index for c in shown.changes), len(places)]
    heights = [shown.changes[0].before, *(c.after for c in shown.changes)] if shown.changes else []
    words = ["", *(c.word for c in shown.changes)]
    levels = tuple(
        (word, path([(along.percent(along.edges[end]), level) for end in (places[a], places[b - 1] + 1)], low, high))
        for word, level, a, b in zip(words, heights, cuts, cuts[1:], strict=False)
    )  # fmt: skip
    steps = tuple((c.word, f"{fmt.change(c.change)} on {shown.moments[c.index].date}") for c in shown.news)
    last = heights[-1] if heights else statistics.median(shown.medians)
    if d := shown.drift:
        line = [(along.percent(along.days[i]), y) for i, y in zip(places, line_of(shown), strict=True)]
        levels = ((d.word, path(line, low, high)),) if d.straight else (*levels[:-1], (d.word, levels[-1][1]))
        steps, last = ((d.word, f"{fmt.change(d.change)} little by little"),), d.after
    now = fmt.quantity(last, unit, step=shown.series.step)
    note = f"now {now}" if steps else f"{now}, {_nothing(shown, report.threshold)}"
    if since := report.gone_since(shown):
        note = f"{now}, gone since {since}"
    cell = shown.series.name.removesuffix(f": {shown.series.key.name.words}")
    row = ", ".join(filter(None, (cell, shown.series.key.name.row)))
    of = f"; {changed} of {fmt.plural(len(own), 'number')} changed" if changed and len(own) > 1 else ""
    way = {"higher": "more is better", "lower": "less is better"}.get(better, "")
    told = ", ".join(f"{word} {text}" for word, text in steps) or note
    return Lane(
        name=f"{family.title}{mark(_doubts(shown))}", sub="; ".join(filter(None, (f"{row}{of}", way))),
        line=path(known, low, high), levels=levels, steps=steps, note=note, link=link,
        said=f"{shown.series.name} over {fmt.plural(len(shown.moments), 'session')}: {told}.",
        of=shown.all_runs, metric=shown.series.key.name.tells_of,
    )  # fmt: skip


def _doubts(history: History) -> str:
    return ", ".join(dict.fromkeys(key for ids in history.doubts if ids for key in ids.split(", ")))


def _nothing(history: History, threshold: float) -> str:
    """Say that a number did not change, or what is true of it; by how much it scatters."""
    if not history.judged:
        return "too few sessions to tell"
    if history.left_zero:
        return "left 0: no change from 0 is judged"
    if new := history.recent:
        since = history.moments[-new.sessions].date
        return f"{fmt.change(new.change)} since {since}, too new to be called a change"
    middle, sd = centre(history.medians)
    seen = MAD * statistics.median(abs(value - middle) for value in history.medians)
    least = "≤ " if seen < sd * (1 - 1e-9) else ""
    scatter = (
        f"; scatters by {least}{fmt.percent(sd / abs(middle))}" if middle and not history.changes else ""
    )
    small = f" of {bound_text(told_from(history, threshold))} or more" if history.changes else ""
    bound = blind_to(history, threshold)
    hidden = f"; {up_to(bound)} may go unseen" if bound else ""
    return f"no change{small}{hidden}{scatter}"
