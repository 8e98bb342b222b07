"""The comparison's section of the page: a table with the worst first and its intervals drawn, then the curves of both sides. Pure.

What is drawn is how B does against A, so that better is to the right whatever the metric's direction: B / A where more is
better, A / B where less is. What is written is the change in the metric's own sign.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reports.charts import curve_rows, wording
from reports.charts.curve_rows import Curve
from reports.compare import text as texts
from reports.compare.model import Comparison, Row
from reports.draw import axes, vega
from reports.draw.figure import ROW, Figure, Key, Panel, Table, panel
from reports.draw.plot import Plot, height, left_margin
from reports.draw.vega import Frame, Rows, Spec
from reports.numbers import drawn
from reports.numbers.formulas import Spread
from reports.page.model import KeyNumber, Section
from reports.results.grouping import group_by
from reports.text import format as fmt

WIDTH: Final = 176
HEIGHT: Final = 18
"""Of an interval's picture, px."""

BETTER, WORSE, NEITHER, BAND, AXIS = "#1F6FB2", "#C2500A", "#7C8794", "#E3E6EA", "#9AA3AE"

_MOST: Final = {"regressed": 80, "inconclusive": 25, "improved": 40, "same": 12}
"""Rows that stand open; the rest is in a closed table."""

_CLIPS: Final = (0.18, 0.5, 1.0, 3.0, 9.0)
"""How far the axis goes, as a share: from ÷ 1.18 to × 1.18 unless more than a fifth of the changes go further."""

_MOST_CLOSED: Final = 500
"""Rows of the closed table: 2000 cost half a megabyte and a second, and nobody reads them to the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """An interval as a picture: (colour, path) of what is filled and of what is stroked, and the words for it."""

    filled: tuple[tuple[str, str], ...]
    stroked: tuple[tuple[str, str], ...]
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One row of the table."""

    place: str  # "scaling, threads=4 place=remote"
    metric: str  # "triad bandwidth"
    sub: str  # "GB/s, more is better"
    a: str
    b: str
    mark: Mark | None
    change: str
    interval: str
    verdict: str  # "one run" where there is none
    sign: str  # "▼" | "▲" | ""
    runs: str
    doubt: str = ""  # by which checks its cell is doubted on either side


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta(Section):
    """The section of a comparison, and what the page's header says of it."""

    anchor: str = "comparison"
    sentence: str
    differences: Table | None
    agreed: str  # what does not differ, and what nobody can tell
    lines: tuple[Line, ...]
    axis: tuple[tuple[float, str], ...]  # ticks of the pictures: x in px, text
    rest: Table | None  # the numbers that are not among the lines
    left_out: int  # numbers that are in neither
    needs: tuple[str, ...]
    modes: tuple[str, ...]
    absent: tuple[str, ...]
    matched: tuple[str, ...]
    curves: tuple[Figure, ...]
    key_numbers: tuple[KeyNumber, ...]


def delta(comparison: Comparison) -> Delta:
    """Return the section of a comparison."""
    shown: set[Hashable] = set()
    for verdict, most in _MOST.items():
        rows = [row for row in comparison.rows if row.verdict == verdict and not row.once]
        rows = rows[::-1] if verdict == "improved" else rows
        if verdict == "same" and len(comparison.rows) > 60:
            continue
        shown |= {row.decision.key for row in rows[:most]}
    shown |= {row.decision.key for row in comparison.once[:40]}
    open_ = sorted((row for row in comparison.rows if row.decision.key in shown), key=lambda r: -_worse(r))
    closed = [row for row in comparison.rows if row.decision.key not in shown]
    clip = _clip(open_)
    return Delta(
        title=f"{comparison.b.title} against {comparison.a.title}",
        sentence=texts.sentence(comparison),
        lead=tuple(_lead(comparison, clip)),
        differences=_differences(comparison),
        agreed=_agreed(comparison),
        lines=tuple(_line(row, clip) for row in open_),
        axis=tuple(_ticks(clip)),
        rest=_rest(closed[:_MOST_CLOSED]),
        left_out=max(0, len(closed) - _MOST_CLOSED),
        needs=tuple(texts.needs(comparison.of("inconclusive"))),
        modes=tuple(texts.mode_shift(shift) for shift in comparison.modes[:12]),
        absent=tuple(group.text for group in texts.absent(comparison.unmatched)),
        matched=comparison.matched,
        curves=tuple(curves(comparison)),
        key_numbers=tuple(_key_numbers(comparison)),
    )


def _worse(row: Row) -> float:
    """By how much B is worse (log ratio); 0 of a metric without a direction."""
    return 0.0 if row.better == "neither" else row.decision.shift or 0.0


def _lead(comparison: Comparison, clip: float) -> Iterable[str]:
    yield f"A is {texts.side(comparison.a)}. B is {texts.side(comparison.b)}."
    for text in comparison.across:
        yield f"Different programs: {text}. Their numbers differ on one and the same machine."
    for text in comparison.clocks:
        yield f"A clock was set: {text}."
    for shared in comparison.shared:
        yield f"Regressed together: {shared.text}."
    ends = [text for _, text in _ticks(clip)]
    yield (
        f"Worst first; left is worse, right is better, from {ends[0]} to {ends[1]} (log). A and B: medians of the runs. "
        f"{texts.TYPICAL}: dot and bar, with its 95 % interval; "
        "grey band: changes that do not count. A verdict needs both a change beyond the band and one that stands out of the noise "
        f"(false discoveries held at 5 %). {texts.noise(comparison)}"
    )


def _differences(comparison: Comparison) -> Table | None:
    found = comparison.fingerprint.differences
    if not found:
        return None
    rows = tuple((d.what, d.a, d.b) for d in found)
    return Table(columns=("What differs", "A", "B"), rows=rows)


def _agreed(comparison: Comparison) -> str:
    found = comparison.fingerprint
    parts = [] if found.differences else ["Nothing that was recorded of machines and programs differs."]
    if found.agreed:
        parts.append(f"The same: {', '.join(found.agreed)}.")
    if found.unknown:
        parts.append(f"Not recorded on both sides: {', '.join(found.unknown)}.")
    return " ".join(parts)


# --- the table ---------------------------------------------------------------------------------------------


def _line(row: Row, clip: float) -> Line:
    a, b, unit = texts.values(row)
    verdict = texts.word(row)
    return Line(
        place=row.place,
        metric=row.number.words,
        sub=", ".join(filter(None, (unit, texts.direction(row)))),
        a=a,
        b=b,
        mark=None if row.once else _mark(row, clip),
        change=texts.shift(row),
        interval=texts.interval(row.interval),
        verdict=verdict,
        sign={"regressed": "▼", "improved": "▲"}.get(verdict, ""),
        runs=f"{len(row.a)} + {len(row.b)}",
        doubt=row.doubt,
    )


def _mark(row: Row, clip: float) -> Mark | None:
    """Draw how B does against A: a bar over the interval, a dot at the ratio, an arrow where it leaves the axis."""
    d = row.decision
    if d.shift is None or d.low is None or d.high is None or row.better == "neither":
        return None
    sign = -1.0 if row.better == "higher" else 1.0
    ends = sorted(-sign * math.log(max(end, 1e-9)) for end in (d.low, d.high))
    low, high = (_x(end, clip) for end in ends)
    at = -d.shift
    colour = {"regressed": WORSE, "improved": BETTER}.get(row.verdict, NEITHER)
    middle = HEIGHT / 2
    band = [_x(s * math.log1p(d.threshold), clip) for s in (-1, 1)]
    filled = [(BAND, f"M{_px(band[0])} 1H{_px(band[1])}V{HEIGHT - 1}H{_px(band[0])}z")]
    if abs(at) > math.log1p(clip):
        tip, back = (WIDTH - 1, WIDTH - 9) if at > 0 else (1, 9)
        filled.append((colour, f"M{tip} {middle}L{back} {middle - 5}V{middle + 5}z"))
    else:
        x = _x(at, clip)
        filled.append((colour, f"M{_px(x - 4)} {middle}a4 4 0 1 1 8 0a4 4 0 1 1 -8 0z"))
    return Mark(
        filled=tuple(filled),
        stroked=((AXIS, f"M{_px(_x(0, clip))} 0V{HEIGHT}"), (colour, f"M{_px(low)} {middle}H{_px(high)}")),
        said=f"{texts.shift(row)}, 95 % interval {texts.interval(row.interval)} %",
    )


def _clip(rows: Sequence[Row]) -> float:
    """Return how far the axis goes: wide enough for four fifths of the rows that changed (of all, if none did)."""
    known = [row for row in rows if row.decision.shift is not None and not row.once]
    changed = [row for row in known if row.verdict in ("regressed", "improved")]
    shifts = sorted(abs(row.decision.shift or 0.0) for row in changed or known)
    if not shifts:
        return _CLIPS[0]
    most = shifts[min(len(shifts) - 1, math.floor(0.8 * len(shifts)))]
    return next((clip for clip in _CLIPS if most <= math.log1p(clip)), _CLIPS[-1])


def _x(log_ratio: float, clip: float) -> float:
    """Return where a ratio lies (px), clipped to the axis."""
    share = min(1.0, max(-1.0, log_ratio / math.log1p(clip)))
    return WIDTH / 2 + share * (WIDTH / 2 - 6)


def _ticks(clip: float) -> Iterable[tuple[float, str]]:
    """Yield both ends of the axis: a ratio and its inverse, which in per cent are not alike (× 1.5 is +50 %, ÷ 1.5 is −33 %)."""
    text = f"{1 + clip:g}"
    yield round(_x(-math.log1p(clip), clip), 1), f"÷ {text}"
    yield round(_x(math.log1p(clip), clip), 1), f"× {text}"


def _px(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _rest(rows: Sequence[Row]) -> Table | None:
    if not rows:
        return None
    lines = []
    for row in rows:
        a, b, unit = texts.values(row)
        word = texts.word(row)
        interval = texts.interval(row.interval)
        lines.append((row.name, unit, a, b, texts.shift(row), interval, f"{len(row.a)} + {len(row.b)}", word))
    return Table(
        columns=("Number", "Unit", "A", "B", "Shift (typical pair)", "95 % interval", "Runs", "Verdict"),
        rows=tuple(lines),
        numeric=frozenset((2, 3, 4, 5, 6)),
        doubts=_doubts(rows),
    )


def _doubts(rows: Sequence[Row]) -> tuple[Mapping[int, str], ...]:
    """Return what doubts the rows of a table, if anything does."""
    return tuple({ROW: row.doubt} if row.doubt else {} for row in rows) if any(r.doubt for r in rows) else ()


# --- the curves of both sides ------------------------------------------------------------------------------

_AXES: Final = {
    "message_size": "Message size, B (log)", "threads": "Threads", "iodepth": "iodepth (log)", "delay": "Injection delay (log)",
}  # fmt: skip
"""Axes that make a curve, in the order in which they are looked for, with their titles; then any axis of three numbers."""

_HEADLINES: Final = (
    "IOPS", "latency p50", "latency mean", "completion latency p50", "completion latency mean", "bandwidth",
)  # fmt: skip
"""What the curves that are drawn are of, in this order, after what the tool puts first; of a program of the user's, its first metric."""

_MOST_FIGURES, _MOST_OF_A_SWEEP, _MOST_CURVES = 10, 4, 4


def curves(comparison: Comparison) -> list[Figure]:
    """Return the figures of the main metrics that have a curve, A solid, B dashed in the same hue: sweeps with the worst change
    first."""
    found: list[Figure] = []
    for metrics in _sweeps(comparison):
        drawn = [_figure(rows[0].sweep, rows) for rows in metrics]
        found += [figure for figure in drawn if figure][:_MOST_OF_A_SWEEP]
    return found[:_MOST_FIGURES]


def _sweeps(comparison: Comparison) -> Iterable[list[list[Row]]]:
    """Give of each sweep the rows of its main metrics: sweeps with the worst change first."""
    rows = [row for row in comparison.rows if not row.derived and row.better != "neither"]
    sweeps = group_by(rows, lambda row: (row.pair.a.tool, row.sweep))
    for members in sorted(sweeps.values(), key=lambda own: -max(map(_worse, own))):
        yield _main(list(group_by(members, lambda row: (row.number.title, row.unit)).values()))


def _key_numbers(comparison: Comparison) -> Iterable[KeyNumber]:
    """Give of each sweep's first metric the cell that is A's best, of those that no check convicts if there are some, on both sides, with
    its verdict: at most six."""
    for rank, (first, *_) in zip(range(6), _sweeps(comparison), strict=False):
        best = (max if first[0].better == "higher" else min)(
            [row for row in first if not row.doubt] or first, key=lambda row: row.median_a
        )
        a, b, unit = texts.values(best)
        moved = f" ({texts.interval(best.interval)})" if best.interval else ""
        yield KeyNumber(
            name=best.number.title,
            value=f"{a} → {b}",
            unit=unit,
            context=", ".join(filter(None, (best.place, best.number.row))),
            rank=rank,
            runs=(*best.pair.a.runs, *best.pair.b.runs),
            doubt=best.doubt,
            repeats=f"{texts.shift(best)}{moved}, {texts.word(best)}",
        )


def _main(metrics: Sequence[list[Row]]) -> list[list[Row]]:
    """Return the metrics to draw: what the tool puts first stands for its kind, of a latency the median rather than the mean."""
    names = {rows[0].number for rows in metrics}
    first = drawn(metrics[0][0].pair.a.tool)
    led = {name.family for name in names if name.title in first}
    heads = [*first, *_HEADLINES]
    ranked = []
    for rows in metrics:
        name = rows[0].number
        at = [i for i, head in enumerate(heads) if head in (name.title, name.quantity)]
        beside = name.statistic == "mean" and dataclasses.replace(name, statistic="p50") in names
        beside = beside or (name.family in led and name.title not in first)
        if at and not beside and "to" not in dict(name.part):  # a matrix is no curve
            ranked.append((at[0], name.title, rows))
    return [rows for *_, rows in sorted(ranked, key=lambda r: r[:2])] or list(metrics)[:1]


def _axis(rows: Sequence[Row]) -> str | None:
    """Return the label over which rows make a curve: at least three different numbers in it."""
    names = [*_AXES, *(name for name in rows[0].labels if name not in _AXES)]
    for name in names:
        values = {_number(row.labels.get(name)) for row in rows}
        if None not in values and len(values) >= 3:
            return name
    return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _figure(sweep: str, rows: Sequence[Row]) -> Figure | None:
    axis, metric = _axis(rows), rows[0].number.title
    if axis is None:
        return None
    every_row = rows
    if axis in ("message_size", "delay"):
        rows = [row for row in rows if _number(row.labels[axis])]  # a 0 has no place on a log axis
    dropped = len(every_row) - len(rows)
    varying = _telling(rows, axis)
    series = group_by(rows, lambda row: tuple(row.labels.get(name, "") for name in varying))
    if any(len({row.labels[axis] for row in members}) < 2 for members in series.values()):
        return None
    worst = sorted(series.items(), key=lambda s: -max(row.decision.shift or 0.0 for row in s[1]))
    groups = [
        dict(worst[i : i + _MOST_CURVES]) for i in range(0, min(len(worst), 2 * _MOST_CURVES), _MOST_CURVES)
    ]
    unit = rows[0].number.said_unit
    every = [value for row in rows for value in (*row.a, *row.b)]
    logarithmic = min(every) > 0 and max(every) / min(every) > 30
    scale = fmt.scale_for(every, unit) if logarithmic else fmt.scale_to_largest(every, unit)
    title = f"{metric}, {scale.unit}" if scale.unit else metric
    y = (
        axes.decades([v / scale.factor for v in every], f"{title} (log)")
        if logarithmic
        else axes.from_zero([v / scale.factor for v in every], title)
    )
    left = len(worst) - sum(map(len, groups))
    panels = tuple(_panel(metric, axis, group, y, scale, unit) for group in groups)
    shown = [row for group in groups for members in group.values() for row in members]
    return Figure(
        id=f"compare-{sweep}-{metric}",
        title=f"{sweep}: {metric}, {texts.tally(shown, 'point')}",
        sub="Solid: A; dashed, in the same colour: B. Medians of the runs, bars from lowest to highest."
        + (f" In the table only: {fmt.plural(left, 'other curve')}." if left > 0 else "")
        + (
            f" In the table only: {fmt.plural(dropped, 'point')} at {axis.replace('_', ' ')} 0, which a log axis lacks."
            if dropped
            else ""
        ),
        panels=panels,
        key=(Key(name="A", colour=vega.GREY), Key(name="B", colour=vega.GREY, dashed=True)),
        half=len(panels) == 1,
        doubt=_doubt(shown),
    )


def _doubt(rows: Sequence[Row]) -> str:
    """Return "F1 (2 of 8 points)": which checks doubt what is drawn."""
    found = [key for row in rows if row.doubt for key in row.doubt.split(", ")]
    return ", ".join(f"{key} ({n} of {fmt.plural(len(rows), 'point')})" for key, n in Counter(found).items())


def _telling(rows: Sequence[Row], axis: str) -> list[str]:
    """Return the labels beside the axis that tell the curves apart, without those that say the same as others (-W9 and "3:1 nt")."""
    names = [
        name
        for name in rows[0].labels
        if name not in (axis, "turn") and len({row.labels.get(name) for row in rows}) > 1
    ]

    def curves_by(some: Sequence[str]) -> int:
        return len({tuple(row.labels.get(name) for name in some) for row in rows})

    for name in list(names):
        others = [other for other in names if other != name]
        if curves_by(others) == curves_by(names):
            names = others
    return names


def _panel(
    metric: str,
    axis: str,
    series: dict[tuple[str, ...], list[Row]],
    y: axes.Axis,
    scale: fmt.Scale,
    unit: str,
) -> Panel:
    lines: list[Curve] = []
    for key, members in series.items():
        name = ", ".join(filter(None, key))
        for side, dashed in (("A", False), ("B", True)):
            pairs = [
                (float(row.labels[axis]), value)
                for row in members
                for value in (row.a if side == "A" else row.b)
            ]
            label = side if len(series) == 1 else " " if dashed else wording.shorten(name, 20)
            lines.append(curve_rows.curve(f"{name}, {side}".lstrip(", "), pairs, label=label, dashed=dashed))
    tested = sorted({x for line in lines for x, _ in line.points})
    x = _x_axis(axis, tested)
    colours = [vega.SERIES[i // 2 % len(vega.SERIES)] for i in range(len(lines))]

    def tip(value: float, spread: Spread) -> str:
        at = fmt.size(value) if axis == "message_size" else f"{axis} {value:g}"
        return f"{at} · {wording.exact(spread, unit)}"

    def build(width: int) -> Spec:
        named = lines[::2] if len(lines) > 2 else lines
        frame = Frame(
            width=width, height=height(width, 300, 280), left=left_margin(y),
            right=curve_rows.name_margin(named, width) if named else 16,
        )  # fmt: skip
        plot = Plot(frame=frame, x=x, y=y)
        data: dict[str, Rows] = {
            "points": curve_rows.point_rows(lines, tested, scale.factor, tip),
            "ranges": curve_rows.range_rows(lines, tested, scale.factor),
            **curve_rows.end_names([c for c in named if (c.label or c.name).strip()], plot, scale.factor),
        }
        known = [
            vega.Series(name=line.name, colour=colour, dashed=line.dashed)
            for line, colour in zip(lines, colours, strict=True)
        ]
        return vega.fill("depth", frame=frame, x=x, y=y, series=known, data=data)

    described = " ".join(
        f"{a.name}: {fmt.quantity(a.points[-1][1].median, unit)} at {a.points[-1][0]:.15g}; {b.name}: {fmt.quantity(b.points[-1][1].median, unit)}."
        for a, b in zip(lines[::2], lines[1::2], strict=True)
    )
    return panel("", f"{metric} by {axis}, both sides. {described}", build)


def _x_axis(axis: str, tested: Sequence[float]) -> axes.Axis:
    title = _AXES.get(axis, axis)
    if axis == "message_size":
        return axes.powers_of_two(tested, title)
    if axis != "threads" and min(tested) > 0 and max(tested) / min(tested) >= 16:
        return axes.at_tested(tested, title if "log" in title else f"{title} (log)")
    if all(value == int(value) for value in tested):
        return axes.integers([int(v) for v in tested], title.replace(" (log)", ""))
    low, high = min(tested), max(tested)
    margin = (high - low) * 0.04
    ticks = tuple((v, f"{v:g}") for v in tested[:: max(1, len(tested) // 8)])
    return axes.Axis(kind="linear", low=low - margin, high=high + margin, ticks=ticks, title=title)
