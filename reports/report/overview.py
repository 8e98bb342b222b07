"""One access to each layer, from memory to disk, on one log axis: what the tools' rows have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from reports.charts import facets, titles, wording
from reports.charts.chapter import AccessTime
from reports.draw import axes, label_placement, vega
from reports.draw.figure import Figure, Table, panel, row_of
from reports.draw.vega import Frame, Rows, Spec
from reports.numbers import formulas
from reports.results.grouping import group_by
from reports.results.machines import machine_key
from reports.text import format as fmt
from reports.text.names import cut_apart

_COLOURS = dict(zip(("memory", "message passing", "storage"), vega.SERIES, strict=False))
_MOST_ROWS = 14


def figure(times: Sequence[AccessTime]) -> Figure | None:
    """Draw the rows, fastest first; None where there are fewer than two, and of one tool whose own figures show them all. Beyond 14 rows,
    some of the sweeps of many are left to the table."""
    timer = min(
        (t for t in times if t.group == "timer" and t.median > 0), key=lambda t: t.median, default=None
    )
    times = [
        t for t in times if t.median > 0 and (t.group != "timer" or t is timer)
    ]  # each cell of 0 bytes has it
    common = _common(times)
    known = sorted(_named_apart(_shortened(times, common)), key=lambda t: t.median)
    if len(known) < 2 or (len({t.run.tool for t in known}) == 1 and all(t.drawn for t in known)):
        return None
    shown = _some(known)
    told = list(dict.fromkeys(t.statistic for t in shown))
    texts = {machine_key(t.run) for t in known if t.run.captured}
    unlike = len({machine_key(t.run) for t in known}) > 1 and bool(texts)  # no range is of any of them
    spoken = [] if unlike else [t for t in known if t.group != "timer" and t.run.sound]
    head = "Median" if told == ["median"] else "Time"
    described = "; ".join(f"{t.name}: {_said(t)}" for t in shown)
    picture = panel(
        "", f"Access times on a log axis. {described}.", lambda width: _picture(shown, head, width)
    )
    return Figure(
        id="overview",
        title=titles.overview(
            [(t.name, t.repeats or formulas.spread([t.median]), t.bound) for t in spoken],
            [t.step for t in spoken],
        ),
        sub="Time for one access, by the tool that the table names."
        + "".join(f" {what}: {', '.join(words)}." for what, words in common.items())
        + (" ≤: more than half of it is the timer." if any(t.bound for t in known) else "")
        + (" ≈: unsteady, the repeats span more than 25 % of their median." if any(_unsteady(t) for t in known) else "")
        + f" Dot: {_dots(told)}."
        + (" Blocks: equally long parts of a run, each by its mean." if "median of blocks" in told else "")
        + (" Line to the tick: 99.9 % are faster." if any(t.p999 for t in shown) else "")
        + wording.hollow([picture], [t.run for t in shown])
        + (f" Of {fmt.plural(len(texts), 'text')}: nothing says that they are of one machine." if unlike else "")
        + wording.not_drawn(len(known), len(shown), "row"),
        panels=(picture,),
        numbers=(_table(known),),
        half=True,
        told_of=tuple(((t.run,), t.metric) for t in _ends(spoken)),
    )  # fmt: skip


def _ends(times: Sequence[AccessTime]) -> tuple[AccessTime, ...]:
    """Return the fastest and the slowest, of which `titles.overview` tells; () of none."""
    return (
        tuple(end(times, key=lambda t: t.repeats.median if t.repeats else t.median) for end in (min, max))
        if times
        else ()
    )


def _common(times: Sequence[AccessTime]) -> dict[str, list[str]]:
    """Return what was timed → the circumstances that all of several such times share: they are told once."""
    found = {}
    for what, same in group_by((t.words for t in times if t.words), lambda words: words[0]).items():
        words = [word for word in same[0][1:] if all(word in of for of in same)]
        if words and len(same) > 1:
            found[what] = words
    return found


def _shortened(times: Iterable[AccessTime], common: Mapping[str, Sequence[str]]) -> list[AccessTime]:
    """Name the rows by what they do not have in common."""
    return [
        replace(t, name=", ".join(word for word in t.words if word not in common[t.words[0]]))
        if t.words and t.words[0] in common
        else t
        for t in times
    ]


def _some(known: Sequence[AccessTime]) -> list[AccessTime]:
    """Return as many rows as are drawn, in order: of each sweep its fastest and its slowest and some between, so that a ladder of forty
    buffers leaves room for the others."""
    sweeps = list(group_by(known, lambda t: (t.run.file, t.run.cell.sweep)).values())
    room, chosen = _MOST_ROWS, set()
    for i, same in enumerate(sorted(sweeps, key=len)):
        most = min(len(same), max(1, room // (len(sweeps) - i)))
        room -= most
        step = (len(same) - 1) / max(1, most - 1)
        chosen |= {id(same[round(at * step)]) for at in range(most)}
    return [t for t in known if id(t) in chosen][:_MOST_ROWS]


_TICK = 48
"""Px from one tick to the next at least: "100 µs" and a blank."""


def _picture(shown: Sequence[AccessTime], head: str, width: int) -> Spec:
    """Draw a row for each time. `head`: over the column of the times."""
    columns = [(head, [_said(t) for t in shown])]
    if any(t.p999 for t in shown) and width > 400:
        columns.append(("99.9 %", [fmt.quantity(t.p999, "ns") if t.p999 else "" for t in shown]))
    widths = [
        max(label_placement.text_width(text) for text in (title, *texts)) + 14 for title, texts in columns
    ]
    names = _names(shown)
    left = round(max(map(label_placement.text_width, names)) + 16)
    frame = Frame(
        width=width,
        height=30 + 27 * len(shown) + 44,
        left=min(left, round(width * 0.5)),
        right=round(sum(widths)) + 2,
        top=30,
    )
    values = [v for t in shown for v in (t.median, t.p999) if v]
    most = max(2, min(5 if width > 400 else 3, int(frame.plot_width // _TICK)))
    x = axes.decades(values, "Time for one access (log)", unit="ns", margin=1.6, most=most)
    y = axes.Axis(kind="linear", low=float(len(shown)), high=0.0, ticks=(), title="")
    ends = [round(frame.plot_width + sum(widths[: i + 1]), 1) for i in range(len(widths))]
    data = _marks(shown, names, frame.left - 14) | _columns(columns, ends)
    groups = list(dict.fromkeys(t.group for t in shown))
    series = [vega.Series(name=g, colour=_COLOURS.get(g, vega.GREY)) for g in groups]
    return vega.fill("overview", frame=frame, x=x, y=y, series=series, data=data)


def _names(shown: Sequence[AccessTime]) -> list[str]:
    """Return what stands before the rows: their names without the texts that they are of, which the table has, where that tells them apart."""
    short = [
        ", ".join(word for word in t.name.split(", ") if not t.run.text or not word.endswith(t.run.text))
        for t in shown
    ]
    return short if all(short) and len({*short}) == len(short) else [t.name for t in shown]


def _marks(shown: Sequence[AccessTime], names: Sequence[str], room: float) -> dict[str, Rows]:
    """Return the data sets `rows` (dots, with their `names`, cut to `room`, px) and `tails`."""
    cut = cut_apart(names, label_placement.fits(room))
    return {
        "rows": [
            {"series": t.group, "x": t.median, "y": i + 0.5, "name": cut[name], "tip": _tip(t), **({} if t.run.sound else {"hollow": True})}
            for i, (t, name) in enumerate(zip(shown, names, strict=True))
        ],
        "tails": [
            {"series": t.group, "x": t.p999, "y": i + 0.5, "start": t.median}
            for i, t in enumerate(shown)
            if t.p999 and t.run.sound
        ],
    }  # fmt: skip


def _columns(columns: Sequence[tuple[str, Sequence[str]]], ends: Sequence[float]) -> dict[str, Rows]:
    """Return the data sets `medians`, `quantiles` and `heads`: the columns beside the plot, each right-aligned at its end, px."""
    return {
        "medians": [{"y": i + 0.5, "text": text, "x_px": ends[0]} for i, text in enumerate(columns[0][1])],
        "quantiles": [
            {"y": i + 0.5, "text": text, "x_px": ends[1]}
            for _, texts in columns[1:]
            for i, text in enumerate(texts)
            if text
        ],
        "heads": [{"text": title, "x_px": end} for (title, _), end in zip(columns, ends, strict=True)],
    }


def _table(known: Sequence[AccessTime]) -> Table:
    return Table(
        columns=("Access", "Time", "Statistic", "Lowest to highest repeat", "99.9 %", "Measured by"),
        rows=tuple(
            (
                t.name,
                _said(t),
                t.statistic,
                _repeats(t),
                fmt.quantity(t.p999, "ns") if t.p999 else fmt.NOTHING,
                t.source,
            )
            for t in known
        ),
        numeric=frozenset((1, 3, 4)),
        of=tuple(row_of([t.run]) for t in known),
        metric_of=tuple(t.metric for t in known),
    )


def _named_apart(times: Sequence[AccessTime]) -> list[AccessTime]:
    """Name the rows so that no two are called the same, and where they are of several machines each with its own: its host, or its
    text."""
    names = facets.names_apart([(t.name, t.run) for t in times])
    machines = {machine_key(t.run) if t.run.captured else t.run.host for t in times}
    several = len(machines) > 1 and not facets.pooled(t.run for t in times)
    whose = [(t.run.text or t.run.where) if several else "" for t in times]
    told = [
        name if not own or own in name else f"{name}, {own}" for name, own in zip(names, whose, strict=True)
    ]
    return [replace(t, name=name) for t, name in zip(times, told, strict=True)]


def _dots(told: Sequence[str]) -> str:
    """Say what a dot is: the median over the repeats of what a run tells, a median of single accesses or of blocks of them, or their mean."""
    if len(told) == 1:
        return told[0]
    means = [one for one in told if one != "median"]
    return (
        f"the median access; the {fmt.words(means, 'or')} where no median is told"
        if "median" in told
        else f"the {fmt.words(told, 'or')}"
    )


def _unsteady(time: AccessTime) -> bool:
    return time.repeats is not None and time.repeats.unsteady


def _said(time: AccessTime, digits: int = 3) -> str:
    """Return the time with its marks; a bound, too, as it is rounded where it is a median: most of it is the timer, and the access takes
    less by far."""
    text = fmt.quantity(time.median, "ns", digits, step=time.step)
    return fmt.qualified(text, at_most=time.bound, about=_unsteady(time))


def _tip(time: AccessTime) -> str:
    text = f"{time.name} · {time.statistic} {_said(time, 4)}{'' if time.run.sound else ' · ⚠'}"
    return text + (f" · p99.9 {fmt.quantity(time.p999, 'ns', 4)}" if time.p999 else "")


def _repeats(time: AccessTime) -> str:
    """Return "147 ns to 450 ns": the lowest and the highest repeat."""
    if time.repeats is None or time.repeats.n < 2:
        return fmt.NOTHING
    low, high = (fmt.quantity(end, "ns", step=time.step) for end in (time.repeats.low, time.repeats.high))
    return f"{low} to {high}"
