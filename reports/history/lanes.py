"""What a host's families of numbers did over its sessions, a line each, under the events of the machine. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from reports.checks.audit import joined
from reports.checks.doubts import mark
from reports.draw.lanes import Event, Lane, Lanes, path, reach
from reports.history.changes import History, Report, in_time, line_of, of_machine, of_programs
from reports.history.moments import Moment, indexes
from reports.history.text import blind_to, bound_text, up_to
from reports.numbers.families import Family, families
from reports.results.differences import compared
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
    """Return the lanes of a host, from its first session to its last, also where that has no number. `links`: index in `found` → the chart of that
    family."""
    attempts = report.attempts[host]
    return Lanes(
        events=tuple(_events(attempts, report.moments[host])),
        first=attempts[0].date,
        last=attempts[-1].date,
        lanes=tuple(
            _lane(family, own, attempts, links.get(i, ""), report)
            for i, (family, own) in enumerate(found[:MOST])
        ),
    )


def _events(attempts: Sequence[Moment], moments: Sequence[Moment]) -> list[Event]:
    """Return what was recorded differently from one session to the next: kernel, microcode, firmware, drivers of all, `attempts`, programs and places of
    those with numbers, `moments`."""
    tables = [of_machine(before, after) for before, after in pairwise(attempts)]
    for i, (before, after) in zip(indexes(moments[1:], attempts), pairwise(moments), strict=True):
        tables[i - 1] |= of_programs(before, after)
    along = in_time(attempts)
    found: list[Event] = []
    written = -_NEAR
    for i, table in enumerate(tables, 1):
        if told := compared(table).differences:
            where = along.percent(along.edges[i])
            near = where - written < _NEAR
            written = written if near else where
            said = "; ".join(f"{d.what} {d.a} → {d.b}" for d in told)
            found.append(
                Event(
                    at=where,
                    number="" if near else str(len(found) + 1),
                    said=f"{attempts[i].date} {said}",
                )
            )
    return found


def _lane(
    family: Family,
    own: Sequence[History],
    attempts: Sequence[Moment],
    link: str,
    report: Report,
) -> Lane:
    shown, changed = own[0], sum(h.moved > 0 for h in own)
    unit, better = shown.series.said_unit, shown.series.better
    along, places = in_time(attempts), indexes(shown.moments, attempts)
    known: list[tuple[float, float] | None] = [None] * len(attempts)
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
    failed = indexes((f.moment for f in shown.failed), attempts)
    told = ", ".join(f"{word} {text}" for word, text in steps) or note
    told += f"; {len(failed)} more in which its runs failed" if failed else ""
    return Lane(
        name=f"{family.title}{mark(joined(shown.doubts))}", sub="; ".join(filter(None, (f"{row}{of}", way))),
        line=path(known, low, high), levels=levels, crosses=tuple(along.percent(along.days[i]) for i in failed), steps=steps, note=note, link=link,
        said=f"{shown.series.name} over {fmt.plural(len(shown.moments), 'session')}: {told}.",
        of=shown.all_runs, metric=shown.series.key.name.tells_of,
    )  # fmt: skip


def _nothing(history: History, threshold: float) -> str:
    """Say that a number did not change, or what is true of it; by how much it scatters."""
    if not history.judged:
        return "too few sessions to tell"
    if history.origin:
        return (
            f"{'left 0' if history.origin == '0' else 'changed'}: no change from {history.origin} is judged"
        )
    if new := history.recent:
        since = history.moments[-new.sessions].date
        return f"{fmt.change(new.change)} since {since}, too new to be called a change"
    middle, sd = centre(history.medians)
    seen = MAD * statistics.median(abs(value - middle) for value in history.medians)
    least = "≤ " if seen < sd * (1 - 1e-9) else ""
    scatter = f"; scatters by {least}{fmt.percent(sd / middle)}" if middle > 0 and not history.changes else ""
    small = f" of {bound_text(history.least)} or more" if history.changes else ""
    bound = blind_to(history, threshold)
    hidden = f"; {up_to(bound)} may go unseen" if bound else ""
    return f"no change{small}{hidden}{scatter}"
