"""A number over the sessions of a host: a dot a session, the level between changes, a line where it changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from reports.charts.curve_rows import Cross, cross_rows
from reports.checks.doubts import mark
from reports.draw import axes, label_placement, vega
from reports.draw import figure as model
from reports.draw.figure import ROW, Figure, Panel, Table, panel, row_of
from reports.draw.plot import Plot, height, left_margin
from reports.draw.timeline import Timeline
from reports.draw.vega import Frame, Rows, Spec
from reports.history.changes import History, Report, Step, in_time, line_of
from reports.history.lanes import MOST, grouped, lanes
from reports.history.moments import Moment, indexes
from reports.history.text import (
    MANY,
    counts_text,
    difference_text,
    drift_text,
    gone_text,
    moved_text,
    nothing_text,
    quiet,
    recent_text,
    zero_text,
)
from reports.text import format as fmt
from reports.verdicts.history import Change, Drift

MOST_PANELS = 24
"""Charts of all hosts together, an even share of them each, at least four: of each kind the number that moved most; the rest is in the table."""

_LEAST_PANELS = 4


def figure(host: str, report: Report, number: int) -> Figure | None:
    """Draw the numbers of a host: a line a kind, and a chart of those that changed; None of one of many hosts on which nothing did."""
    steps = [step for step in report.steps if step.host == host]
    changed = [h for h in report.of(host) if h.moved]
    changed.sort(key=lambda h: -h.moved)
    found = grouped(report.of(host), report.threshold)
    drawn = len({h.host for h in report.histories if h.moved})
    stands_for = _stand_for([own[0] for _, own in found if own[0].moved])
    shown = [h for i, h in enumerate(stands_for) if h not in stands_for[:i]][: max(MOST_PANELS // max(drawn, 1), _LEAST_PANELS)]  # fmt: skip
    if not changed and len(report.moments) > MANY:
        return None
    more = len(changed) - len(shown)
    left_out = f" {fmt.plural(more, 'more number', 'more numbers')} in the table." if more else ""
    names = list(dict.fromkeys(family.title for family, _ in found[MOST:]))
    dropped = f" Not drawn: {fmt.words(names)}." if names else ""
    links = {i: f"#history-{number}-p{shown.index(h) + 1}" for i, h in enumerate(stands_for) if h in shown}
    drawn_lanes = lanes(host, report, found, links)
    return Figure(
        id=f"history-{number}",
        title=_finding(host, report, steps),
        sub=f"A line is a kind of number, of several that which moved most; it spans a tenth of its value at least, so that noise is flat.{_thick(changed)}"
        f"{' ×: its runs failed.' if any(lane.crosses for lane in drawn_lanes.lanes) else ''}"
        f"{' Numbered: what was recorded differently of the machine.' if drawn_lanes.events else ''}{dropped}",
        lanes=drawn_lanes,
        note=f"{_legend(shown)}{_ALIKE if len({*map(id, stands_for)}) < len(stands_for) else ''}{left_out}"
        if changed
        else "",
        panels=tuple(_panel(history, steps, report.attempts[host]) for history in shown),
        tables=(_steps(steps),) if steps else (),
        numbers=(_numbers(changed),) if changed else (),
        key=(
            *([model.Key(name="median of a session", colour=vega.GREY, dot=True)] if changed else []),
            *(
                model.Key(name=word, colour=colour, dashed=True)
                for word, colour in _COLOURS.items()
                if any(c.word == word for h in shown for c in h.news)
            ),
        ),
        told_of=tuple((lane.of, lane.metric) for lane in drawn_lanes.lanes if lane.steps),
    )


_TOGETHER = 0.01
"""Changes on the same days that are no further apart tell the same, relative."""

_ALIKE = (
    " Kinds of a sweep that moved on the same days, within 1 % of one another, have the chart of the first."
)


def _stand_for(moved: Sequence[History]) -> list[History]:
    """Return for each of some numbers that whose chart it has: the first of its sweep that moved alike."""
    found: list[History] = []
    for one in moved:
        found.append(next((lead for lead in found if _alike(lead, one)), one))
    return found


def _alike(one: History, other: History) -> bool:
    """Did two numbers of a sweep step at the same sessions, as far as one another? What drifts has a chart of its own."""
    if one.drift or other.drift or one.series.key.sweep != other.series.key.sweep:
        return False
    if [(one.moments[c.index].key, c.word) for c in one.news] != [
        (other.moments[c.index].key, c.word) for c in other.news
    ]:
        return False
    return all(abs(a.change - b.change) <= _TOGETHER for a, b in zip(one.news, other.news, strict=True))


def _lines(some: Sequence[History]) -> str:
    """Return what the lines of some numbers are: "the level between changes"; "" where none changed."""
    straight = any(h.drift and h.drift.straight for h in some)
    levels = any(h.moved and not (h.drift and h.drift.straight) for h in some)
    kinds = [*(["the level between changes"] if levels else []), *(["through what moved little by little"] if straight else [])]  # fmt: skip
    return ", or ".join(kinds)


def _thick(changed: Sequence[History]) -> str:
    lines = _lines(changed)
    return f" Thick line: {lines}; orange where it became worse, blue better." if lines else ""


def _legend(shown: Sequence[History]) -> str:
    """Say what dots, lines, dashes and crosses in the charts of some numbers are."""
    told = f"In the charts a dot is the median of a session’s repeats. Line: {_lines(shown)}."
    if any(h.news for h in shown):
        told += " Dashed: just before the first session on the new level, with what else was new then, where it was recorded."
    if any(h.failed for h in shown):
        told += " Cross on the axis: a session in which its runs failed."
    return told


_COLOURS = {"regressed": vega.SERIES[1], "improved": vega.SERIES[0]}
"""A change by its verdict: orange is worse, blue better, as everywhere."""


def _finding(host: str, report: Report, steps: Sequence[Step]) -> str:
    own, drifts = report.of(host), drift_text(report.drifting(host))
    if host in report.short:
        said = f"{report.sessions_text(host)}, too few to tell a change"
        return f"{host}: {'; '.join(filter(None, (gone_text(report, host), said)))}"
    if not steps:
        kept = quiet(own)
        calm = f"{nothing_text(kept)} in {fmt.plural(len(kept), 'number')}" if kept else ""
        told = ", ".join(filter(None, (drifts, calm, zero_text(own))))
        return f"{host}: {'; '.join(filter(None, (told, recent_text(own)))) or 'too few sessions to tell'}"
    worst = max(steps, key=lambda s: (s.regressed, s.improved))
    return (
        f"{host}: {moved_text(report, worst)} on {worst.moment.date}"
        + (f", and {fmt.plural(len(steps) - 1, 'other change')}" if len(steps) > 1 else "")
        + (f"; {drifts}" if drifts else "")
    )


def _panel(history: History, steps: Sequence[Step], attempts: Sequence[Moment]) -> Panel:
    """Draw a number from its first session to the last of its host, `attempts`, which may have failed."""
    one = history.series
    scale = fmt.scale_for(history.medians, one.said_unit)
    values = [v / scale.factor for v in history.medians]
    better = {"higher": "more is better", "lower": "less is better"}.get(one.better, "")
    y = axes.around(values, ", ".join(filter(None, (scale.unit, better))))
    at = {(step.moment.key, step.before.key): step for step in steps}
    first, *_ = indexes(history.moments, attempts)
    every = attempts[first:]
    along, places = in_time(every), indexes(history.moments, every)
    days = [along.days[i] for i in places]
    starts = [along.edges[places[c.index]] for c in history.news]
    tried = zip(history.failed, indexes((f.moment for f in history.failed), attempts), strict=True)
    crosses = [
        Cross(x=along.days[i - first], said=f"{f.moment.date} · no number: {f.reason}", series="failed")
        for f, i in tried
        if i > first
    ]

    def build(width: int) -> Spec:
        x = along.axis([m.date for m in every], 5 if width > 400 else 3)
        half = label_placement.text_width(every[0].date) / 2 + 2  # its middle lies below the first dot
        left = max(left_margin(y), round(half - x.share(days[0]) * (width - 20)))
        frame = Frame(width=width, height=height(width, 250, 230), left=left, right=20)
        plot = Plot(frame=frame, x=x, y=y)
        data: dict[str, Rows] = {
            "points": [
                {"series": "median", "x": day, "y": v, "tip": f"{m.date} · {fmt.quantity(v * scale.factor, one.said_unit, 4, step=one.step)} · {fmt.plural(n, 'run')}{mark(ids)}"}
                for day, v, m, n, ids in zip(days, values, history.moments, history.runs, history.doubts, strict=True)
            ],
            "levels": [
                {"series": word, "x": x, "x2": x2, "y": y1 / scale.factor, "y2": y2 / scale.factor}
                for word, x, x2, y1, y2 in _levels(history, along, places)
            ],
            "changes": [{"series": c.word, "x": start, "y": y.low, "y2": y.high} for c, start in zip(history.news, starts, strict=True)],
            "crosses": cross_rows(crosses, plot),
            "notes": [],
        }  # fmt: skip
        found = [
            (c, at[history.moments[c.index].key, history.moments[c.index - 1].key]) for c in history.news
        ]
        data["notes"] = _notes(found, [x.low, *starts, x.high], plot)
        series = [
            vega.Series(name="median", colour=vega.GREY),
            *(vega.Series(name=word, colour=colour) for word, colour in _COLOURS.items()),
        ]
        return vega.fill("history", frame=frame, x=x, y=y, series=series, data=data)

    told = "; ".join(
        f"{c.word}, {fmt.change(c.change)}, on {history.moments[c.index].date}" for c in history.news
    )
    if d := history.drift:
        told = f"{d.word}, {fmt.change(d.change)}, little by little"
    lost = f"; {len(crosses)} more in which its runs failed" if crosses else ""
    return panel(one.title(), f"{one.title()} over {len(values)} sessions: {told}{lost}.", build)


def _levels(
    history: History, along: Timeline, places: Sequence[int]
) -> Iterable[tuple[str, float, float, float, float]]:
    """Give (series, x, x2, y, y2) of the level between each two changes, in the colour of the verdict that began it; of what drifts the line,
    from session to session. `places`: where the sessions with the number stand in the timeline."""
    if history.drift and history.drift.straight:
        points = zip((along.days[i] for i in places), line_of(history), strict=True)
        yield from ((history.drift.word, x, x2, y, y2) for (x, y), (x2, y2) in pairwise(points))
        return
    cuts = [0, *(c.index for c in history.changes), len(history.moments)]
    levels = [("median", history.changes[0].before)]
    levels += [(c.word if c.word in _COLOURS else "median", c.after) for c in history.changes]
    yield from (
        (word, along.edges[places[a]], along.edges[places[b - 1] + 1], y, y)
        for a, b, (word, y) in zip(cuts, cuts[1:], levels, strict=False)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Note:
    """What is said beside a change, and where: px from the left of the plot, lines from its upper or lower edge."""

    text: str
    right: bool  # of the change
    above: bool
    line: int
    start: float
    end: float

    def lies_on(self, other: _Note) -> bool:
        return (
            (self.above, self.line) == (other.above, other.line)
            and self.start < other.end
            and other.start < self.end
        )


def _notes(found: Iterable[tuple[Change, Step]], edges: Sequence[float], plot: Plot) -> Rows:
    """Say of each change how far it moved and what is new, no text on another. `edges`: the start, where each change is, the end."""
    taken: list[_Note] = []
    rows: Rows = []
    for (change, step), here, around in zip(
        found, edges[1:], zip(edges, edges[2:], strict=False), strict=False
    ):
        ways = _ways(change, step, plot, here, around)
        note = next((way for way in ways if not any(way.lies_on(other) for other in taken)), ways[0])
        taken.append(note)
        rows.append(
            {
                "x": here, "y": plot.y.high if note.above else plot.y.low, "text": note.text, "dx": 6 if note.right else -6,
                "dy": 12 + _LINE * note.line if note.above else -8 - _LINE * note.line, "align": "left" if note.right else "right",
            }
        )  # fmt: skip
    return rows


_LINE = 14
"""px from one line of notes to the next."""


def _ways(change: Change, step: Step, plot: Plot, here: float, around: tuple[float, float]) -> list[_Note]:
    """Return where the note of a change may stand, the best first: above where the number fell, below where it rose, so that the level does not
    run through it; to the left where there is more room; in a second or third line where that is taken. `around`: the changes beside it, or the ends."""
    px, first, last = (plot.at(x, plot.y.low)[0] for x in (here, *around))
    text, brief = ("; ".join(filter(None, (fmt.change(change.change), new))) for new in _new(step))
    rooms = {True: last - px - 10, False: px - first - 10}
    wanted = min(label_placement.text_width(text), 0.4 * plot.frame.plot_width)
    best = rooms[True] >= wanted or rooms[True] >= rooms[False]
    ways = []
    for right in (best, not best):
        fits = label_placement.text_width(text) <= rooms[right]
        shown = text if fits else label_placement.fitting(brief, rooms[right])
        width = label_placement.text_width(shown)
        start = px + 6 if right else px - 6 - width
        above = (change.after < change.before) == right
        ways += [
            _Note(text=shown, right=right, above=above, line=line, start=start, end=start + width)
            for line in range(3)
        ]
    return ways


def _new(step: Step) -> tuple[str, str]:
    """Return "new: kernel 6.8.0", and the same by its name alone: "new: kernel"; of several things both by their names."""
    if step.off_by or not step.differences:
        return "", ""
    names = f"new: {', '.join(d.what for d in step.differences)}"
    return f"{names} {step.differences[0].b}" if len(step.differences) == 1 else names, names


def _steps(steps: Sequence[Step]) -> Table:
    return Table(
        columns=("From", "Numbers", "Recorded differently at the same time"),
        rows=tuple((step.moment.minute, counts_text(step), difference_text(step)) for step in steps),
        doubts=tuple({ROW: ids} if (ids := step.ids) else {} for step in steps)
        if any(step.ids for step in steps)
        else (),
    )


def _moves(changed: Sequence[History]) -> Iterable[tuple[History, Change | Drift, str]]:
    """Give each change of some numbers and since when; of what drifts that it has no day."""
    for h in changed:
        yield from ((h, c, h.moments[c.index].date) for c in h.news)
        if h.drift:
            yield h, h.drift, "little by little"


def _numbers(changed: Sequence[History]) -> Table:
    return Table(
        columns=("Number", "From", "Verdict", "Before", "After", "Change"),
        rows=tuple(
            (
                h.series.name, since, c.word, fmt.quantity(c.before, h.series.said_unit, step=h.series.step),
                fmt.quantity(c.after, h.series.said_unit, step=h.series.step), fmt.change(c.change),
            )
            for h, c, since in _moves(changed)
        ),
        numeric=frozenset({3, 4, 5}),
        of=tuple(row_of(h.all_runs) for h, *_ in _moves(changed)),
        metric_of=tuple(h.series.key.name.tells_of for h, *_ in _moves(changed)),
    )  # fmt: skip
