"""A number over the sessions of a host: a dot a session, the level between changes, a line where it changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from reports.checks.doubts import mark
from reports.draw import axes, label_placement, vega
from reports.draw import figure as model
from reports.draw.figure import ROW, Figure, Panel, Table, panel, row_of
from reports.draw.plot import Plot, height, left_margin
from reports.draw.timeline import Timeline
from reports.draw.vega import Frame, Rows, Spec
from reports.history.changes import History, Report, Step, in_time, line_of
from reports.history.lanes import MOST, grouped, lanes
from reports.history.text import counts_text, difference_text, drift_text, nothing_text, zero_text
from reports.results.sessions import counted
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
    shown = [own[0] for _, own in found if own[0].moved][: max(MOST_PANELS // max(drawn, 1), _LEAST_PANELS)]  # fmt: skip
    if not changed and len(report.moments) > _MANY:
        return None
    more = len(changed) - len(shown)
    left_out = f" {fmt.plural(more, 'more number', 'more numbers')} in the table." if more else ""
    dropped = f" {fmt.plural(len(found) - MOST, 'more kind')} not drawn." if len(found) > MOST else ""
    links = {i: f"#history-{number}-p{i + 1}" for i in range(len(shown))}
    return Figure(
        id=f"history-{number}",
        title=_finding(host, report, steps),
        sub="A line is a kind of number, of several that which moved most; it spans a tenth of its value at least, so that noise is flat. Thick: the "
        f"level between changes, or the line of what moved little by little; orange where it became worse, blue better. Numbered: what was recorded differently of the machine.{dropped}",
        lanes=lanes(host, report, found, links),
        note=""
        if not changed
        else "In the charts a dot is the median of a session’s repeats, the line the level between changes. Dashed: before the session from which on it was "
        f"another; what changed on the machine then is written there, where it was recorded.{left_out}",
        panels=tuple(_panel(history, steps) for history in shown),
        tables=(_steps(steps),) if steps else (),
        numbers=(_numbers(changed),) if changed else (),
        key=(
            *([model.Key(name="median of a session", colour=vega.SERIES[0], dot=True)] if changed else []),
            *(
                model.Key(name=word, colour=colour, dashed=True)
                for word, colour in _COLOURS.items()
                if any(c.word == word for h in shown for c in h.news)
            ),
        ),
    )


_COLOURS = {"regressed": vega.SERIES[1], "improved": vega.SERIES[0]}
"""A change by its verdict: orange is worse, blue better, as everywhere."""

_MANY = 8
"""Hosts that have a figure each though nothing changed on them."""


def _finding(host: str, report: Report, steps: Sequence[Step]) -> str:
    own, drifts = report.of(host), drift_text(report.drifting(host))
    total = len(own)
    if host in report.short:
        return f"{host}: {counted(report.recorded(host), report.short[host])}, too few to tell a change"
    if not steps:
        kept = [h for h in own if h.judged and not h.left_zero and not h.drift]
        quiet = f"{nothing_text(report, kept)} in {fmt.plural(len(kept), 'number')}" if kept else ""
        return f"{host}: {', '.join(filter(None, (drifts, quiet, zero_text(own)))) or 'too few sessions to tell'}"
    worst = max(steps, key=lambda s: (s.regressed, s.improved))
    return (
        f"{host}: {counts_text(worst)} of {fmt.plural(total, 'number')} on {worst.moment.date}"
        + (f", and {fmt.plural(len(steps) - 1, 'other change')}" if len(steps) > 1 else "")
        + (f"; {drifts}" if drifts else "")
    )


def _panel(history: History, steps: Sequence[Step]) -> Panel:
    one = history.series
    scale = fmt.scale_for(history.medians, one.said_unit)
    values = [v / scale.factor for v in history.medians]
    better = {"higher": "more is better", "lower": "less is better"}.get(one.better, "")
    y = axes.around(values, ", ".join(filter(None, (scale.unit, better))))
    at = {(step.moment.key, step.before.key): step for step in steps}
    along = in_time(history.moments)

    def build(width: int) -> Spec:
        x = along.axis([m.date for m in history.moments], 5 if width > 400 else 3)
        half = (
            label_placement.text_width(history.moments[0].date) / 2 + 2
        )  # its middle lies below the first dot
        left = max(left_margin(y), round(half - x.share(along.days[0]) * (width - 20)))
        frame = Frame(width=width, height=height(width, 250, 230), left=left, right=20)
        plot = Plot(frame=frame, x=x, y=y)
        data: dict[str, Rows] = {
            "points": [
                {"series": "median", "x": day, "y": v, "tip": f"{m.date} · {fmt.quantity(v * scale.factor, one.said_unit, 4, step=one.step)} · {fmt.plural(n, 'run')}{mark(ids)}"}
                for day, v, m, n, ids in zip(along.days, values, history.moments, history.runs, history.doubts, strict=True)
            ],
            "levels": [
                {"series": "median", "x": x, "x2": x2, "y": y1 / scale.factor, "y2": y2 / scale.factor}
                for x, x2, y1, y2 in _levels(history, along)
            ],
            "changes": [{"series": c.word, "x": along.edges[c.index], "y": y.low, "y2": y.high} for c in history.news],
            "notes": [],
        }  # fmt: skip
        edges = [x.low, *(along.edges[c.index] for c in history.news), x.high]
        for c, (before, here, after) in zip(
            history.news, zip(edges, edges[1:], edges[2:], strict=False), strict=True
        ):
            step = at[history.moments[c.index].key, history.moments[c.index - 1].key]
            data["notes"].append(_note(c, step, plot, before, here, after))
        series = [
            vega.Series(name="median", colour=vega.SERIES[0]),
            *(vega.Series(name=word, colour=colour) for word, colour in _COLOURS.items()),
        ]
        return vega.fill("history", frame=frame, x=x, y=y, series=series, data=data)

    told = "; ".join(
        f"{c.word}, {fmt.change(c.change)}, on {history.moments[c.index].date}" for c in history.news
    )
    if d := history.drift:
        told = f"{d.word}, {fmt.change(d.change)}, little by little"
    return panel(one.name, f"{one.name} over {len(values)} sessions: {told}.", build)


def _levels(history: History, along: Timeline) -> Iterable[tuple[float, float, float, float]]:
    """Give (x, x2, y, y2) of the level between each two changes; of what drifts the line, from session to session."""
    if history.drift and history.drift.straight:
        points = zip(along.days, line_of(history), strict=True)
        yield from ((x, x2, y, y2) for (x, y), (x2, y2) in pairwise(points))
        return
    cuts = [0, *(c.index for c in history.changes), len(history.moments)]
    levels = [history.changes[0].before, *(c.after for c in history.changes)]
    yield from (
        (along.edges[a], along.edges[b], y, y) for a, b, y in zip(cuts, cuts[1:], levels, strict=False)
    )


def _note(
    change: Change, step: Step, plot: Plot, before: float, here: float, after: float
) -> dict[str, object]:
    """Say how far it moved and what is new, beside the line: above where the number fell, below where it rose, so that
    the level does not run through it; to the left where there is more room. It is `here`; `before`, `after`: the changes beside it, or the ends."""
    px, first, last = (plot.at(x, plot.y.low)[0] for x in (here, before, after))
    text = f"{fmt.change(change.change)}  {_short(step)}".strip()
    rooms = last - px - 10, px - first - 10
    right = (
        rooms[0] >= min(label_placement.text_width(text), 0.4 * plot.frame.plot_width) or rooms[0] >= rooms[1]
    )
    above = (change.after < change.before) == right
    return {
        "x": here, "y": plot.y.high if above else plot.y.low,
        "text": label_placement.fitting(text, rooms[0] if right else rooms[1]), "dx": 6 if right else -6, "dy": 12 if above else -8,
        "align": "left" if right else "right",
    }  # fmt: skip


def _short(step: Step) -> str:
    """Return "kernel 6.8.0", or of several things that are new their names: "kernel, microcode"."""
    if step.off_by or not step.differences:
        return ""
    if len(step.differences) == 1:
        return f"{step.differences[0].what} {step.differences[0].b}"
    return ", ".join(d.what for d in step.differences)


def _steps(steps: Sequence[Step]) -> Table:
    return Table(
        columns=("From", "Numbers", "What changed on the machine"),
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
