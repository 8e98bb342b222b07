"""Distributions of single latencies: tails on log axes, histograms with their modes, quantiles. For every tool that prints some."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from reports.charts._peak_names import mode_text, note_box, peak_names
from reports.charts.soundness import counted as counted_runs
from reports.charts.soundness import is_hollow
from reports.draw import axes, label_placement, vega
from reports.draw.figure import ROW, Panel, Table, cut_caption, panel, row_of
from reports.draw.plot import Plot, height, left_margin
from reports.draw.vega import Frame, Rows, Spec
from reports.numbers import formulas
from reports.numbers.formulas import Bucket, Mode, Sampled, Spread
from reports.results.convicted import OTHER
from reports.results.model import Run
from reports.text import format as fmt

MOST_CURVES = 4
_SHARES = (
    ("p50", 0.5, "Median"), ("p90", 0.9, "90 %"), ("p99", 0.99, "99 %"), ("p99.9", 0.999, "99.9 %"), ("p99.99", 0.9999, "99.99 %"),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """All samples of one cell: the repeats' buckets together, for the picture and its modes, and what each repeat tells."""

    name: str
    target: str  # what is accessed; of a tool that knows one kind only: ""
    op: str = ""  # what is done with it, likewise
    buckets: tuple[Bucket, ...]
    mean: float  # ns, of all buckets: of the normal distribution that is drawn; nan where it is told without them (`folded`)
    deviation: float  # ns, likewise
    largest: float  # ns, of all repeats
    n: int  # samples
    runs: tuple[Run, ...]
    by_run: tuple[tuple[Bucket, ...], ...]  # the buckets of each repeat alone
    told: tuple[Mapping[str, float], ...]  # of each repeat: "p50", "p99.9", "mean", "sd" (ns)
    step: float = 0.0  # ns: of the clock that timed them

    def repeats(self, statistic: str) -> Spread | None:
        """Return what the repeats tell of a quantile or a moment: the number of compare and OpenMetrics, and its range. None where
        some tell it and others have too few samples: beside the quantiles of them all it could lie in no order."""
        known = [own[statistic] for own in self.told if statistic in own]
        return formulas.spread(known) if len(known) == len(self.told) else None

    def at(self, statistic: str) -> float | None:
        """Return the median over the repeats."""
        found = self.repeats(statistic)
        return None if found is None else found.median

    @property
    def tails(self) -> tuple[float, ...]:
        """How many times its median the 99.9 % of each repeat are, the least first: every repeat shows that; () where one has too few samples."""
        return self._medians("p99.9")

    @property
    def hundredths(self) -> tuple[float, ...]:
        """The same of the 99 %, of which fewer samples tell."""
        return self._medians("p99")

    def _medians(self, quantile: str) -> tuple[float, ...]:
        known = [own[quantile] / own["p50"] for own in self.told if own.get("p50") and quantile in own]
        return tuple(sorted(known)) if len(known) == len(self.told) else ()

    @property
    def hollow(self) -> bool:
        """Is no run sound? Then it is shown, and no statement is made of it."""
        return is_hollow(self.runs)

    @property
    def modes(self) -> tuple[Mode, ...]:
        return _modes(self.buckets, self.step)

    @property
    def steady_modes(self) -> tuple[Mode, ...]:
        """Return the modes if every repeat alone has them too, each within a tenth of its time and 5 points of its share; else ().

        What only the sum of the repeats shows may be one repeat that was disturbed.
        """
        for buckets in self.by_run:
            own = _modes(buckets, self.step)
            if len(own) != len(self.modes) or any(
                not _alike(a, b) or abs(a.share - b.share) > 0.05
                for a, b in zip(own, self.modes, strict=True)
            ):
                return ()
        return self.modes

    def in_repeats(self, mode: Mode) -> int:
        """Return how many repeats alone have a mode, whatever its share; 0 of one that they make together, their own peaks lying elsewhere."""
        return sum(any(_alike(own, mode) for own in _modes(buckets, self.step)) for buckets in self.by_run)


HOLLOW = "Dotted curve, empty bars"
"""How hollow marks look where distributions are drawn: `reports.draw.vega`."""

_FEWEST = 10
"""Samples of a mode."""

LEAST = 0.02
"""Share of a mode."""


def _alike(a: Mode, b: Mode) -> bool:
    """Are two modes within a tenth of their time?"""
    return abs(math.log(a.at / b.at)) <= 0.11


@functools.cache
def _modes(buckets: tuple[Bucket, ...], step: float) -> tuple[Mode, ...]:
    few = _FEWEST / max(1, sum(b.n for b in buckets))  # as a share: less is a handful of samples and no peak
    return tuple(formulas.modes(buckets, least=max(LEAST, few), step=step))


def pooled(
    name: str,
    target: str,
    members: Sequence[tuple[Run, Sequence[Bucket], Mapping[str, float]]],
    *,
    op: str = "",
    step: float = 0.0,
) -> Distribution:
    """Return the distribution of some repeats: (run, its buckets, what its tool tells of it: "p99.9", "mean", "sd", "max").

    What a tool does not tell is taken from the run's own buckets. Of repeats of which some are sound only these count.
    """
    kept = set(counted_runs(run for run, _, _ in members))
    members = [member for member in members if member[0] in kept]
    added: dict[tuple[float, float], int] = {}
    for _, buckets, _ in members:
        for b in buckets:
            added[b.low, b.high] = added.get((b.low, b.high), 0) + b.n
    together = tuple(Bucket(low, high, n) for (low, high), n in sorted(added.items()))
    mean, deviation = formulas.moments(together)
    return Distribution(
        name=name, target=target, op=op, buckets=together, mean=mean, deviation=deviation,
        largest=max(own.get("max") or max(buckets).middle for _, buckets, own in members), step=step, n=sum(b.n for b in together),
        runs=tuple(run for run, _, _ in members), by_run=tuple(tuple(buckets) for _, buckets, _ in members),
        told=tuple(_told(buckets, own) for _, buckets, own in members),
    )  # fmt: skip


def folded(
    name: str,
    target: str,
    members: Sequence[tuple[Run, Sampled, Mapping[str, float]]],
    *,
    op: str = "",
    step: float = 0.0,
) -> Distribution:
    """Return what `pooled` does, without what is drawn, and without reading it: of very many cells few are."""
    kept = set(counted_runs(run for run, _, _ in members))
    own = [member for member in members if member[0] in kept]
    return Distribution(
        name=name, target=target, op=op, buckets=(), mean=math.nan, deviation=math.nan,
        largest=max(told.get("max") or of.longest for _, of, told in own), step=step, n=sum(of.n for _, of, _ in own),
        runs=tuple(run for run, _, _ in own), by_run=(), told=tuple(_of_sampled(of, told) for _, of, told in own),
    )  # fmt: skip


def _of_sampled(of: Sampled, own: Mapping[str, float]) -> dict[str, float]:
    """Return what `_told` does."""
    told = {"mean": of.mean, "sd": of.sd, **of.quantiles, **own}
    return {name: value for name, value in told.items() if not (of.n < 2 and name == "sd")}


def runs_of(drawn: Iterable[Distribution]) -> list[Run]:
    """Return the runs behind some curves."""
    return list(dict.fromkeys(run for one in drawn for run in one.runs))


def _told(buckets: Sequence[Bucket], own: Mapping[str, float]) -> dict[str, float]:
    """Return what a run's buckets tell, and over it what its tool does. One sample has no deviation."""
    mean, deviation = formulas.moments(buckets)
    values = formulas.quantiles(buckets, [share for _, share, _ in _SHARES])
    found = {statistic: value for (statistic, _, _), value in zip(_SHARES, values, strict=True)}
    told = {"mean": mean, "sd": deviation, **found, **own}
    alone = sum(b.n for b in buckets) < 2
    return {name: v for name, v in told.items() if v is not None and not (alone and name == "sd")}


def counted(found: Sequence[Distribution]) -> str:
    """Return how many samples the curves have: "20 000", "1 000 to 20 000"."""
    return fmt.ends(*(fmt.count(pick(d.n for d in found)) for pick in (min, max)))


def together(found: Sequence[Distribution]) -> str:
    return ", the repeats together" if any(len(d.runs) > 1 for d in found) else ""


def _time_axis(found: Sequence[Distribution], title: str) -> axes.Axis:
    low = min(max(d.buckets[0].low, 1.0) for d in found)
    high = max(max(d.buckets[-1].high, d.largest) for d in found)
    return axes.decades([low, high], title, unit="ns", margin=1.2)


def floor(found: Sequence[Distribution], timer: float | None) -> float | None:
    """Return the time that the timer takes (ns) if the axis of these distributions holds it, else None."""
    axis = _time_axis(found, "")
    return timer if timer and axis.low <= timer <= axis.high else None


def tail_panel(
    found: Sequence[Distribution], subject: Distribution, colours: Sequence[str], *, timer: float | None = None, noun: str = "access"
) -> Panel:  # fmt: skip
    """Draw the share of samples above each time, and of `subject` the normal distribution of the same mean and SD.

    timer: what the timer alone takes (ns), drawn as a floor; None where nothing tells it. colours: those of the curves.
    """
    lines = {d.name: [(max(v, 1.0), p) for v, p in formulas.survival(d.buckets)] for d in found}
    x = _time_axis(found, f"{noun.capitalize() if noun.islower() else noun} time (log)")
    y = axes.share_axis(
        min(points[-1][1] for points in lines.values()), "Share faster than x (log of 1 − CDF)"
    )
    series = [vega.Series(name=d.name, colour=c) for d, c in zip(found, colours, strict=True)]

    def build(width: int) -> Spec:
        frame = Frame(width=width, height=height(width, 360, 320), left=left_margin(y))
        data = _tail_data(lines, subject, timer, Plot(frame=frame, x=x, y=y))
        hollow = {d.name for d in found if d.hollow}
        data["points"] = [
            {**row, "hollow": True} if row["series"] in hollow else row for row in data["points"]
        ]
        return vega.fill("tail", frame=frame, x=x, y=y, series=series, data=data)

    described = " ".join(
        f"{d.name}: "
        + "".join(
            f"{word} {fmt.quantity(d.at(of), 'ns')}, "
            for word, of in (("median", "p50"), ("p99.9", "p99.9"))
            if d.at(of)
        )
        + f"longest {fmt.quantity(d.largest, 'ns')}."
        for d in found
    )
    return panel("Tail (1 − CDF)", f"Share that takes longer, on log axes. {described}", build)


def dashed(tail: Panel, subject: Distribution) -> str:
    """Say " Dashed: a normal distribution with the mean and standard deviation of “memory, 1 GB”."; "" of samples that are all the same, which
    have none."""
    drawn = tail.wide["datasets"]["normal"]
    return (
        f" Dashed: a normal distribution with the mean and standard deviation of “{subject.name}”."
        if drawn
        else ""
    )


def _tail_data(
    lines: Mapping[str, list[tuple[float, float]]], subject: Distribution, timer: float | None, plot: Plot
) -> dict[str, Rows]:  # fmt: skip
    """Return the data sets of a picture. `lines`: name → (time in ns, share that takes longer)."""
    drawn = {name: _thinned(points, plot) for name, points in lines.items()}
    normal = _normal_rows(subject, plot)
    references: Rows = []
    notes: Rows = []
    if timer and plot.x.low <= timer <= plot.x.high:
        references = [{"x": timer, "x2": timer, "y": plot.y.low, "y2": plot.y.high}]
        text = f"timer {fmt.quantity(timer, 'ns')}"
        notes = [{"x": timer, "y": plot.y.low, "text": text, "dx": 5, "dy": -6, "align": "left"}]
    taken = [note_box(note, plot) for note in notes]
    ruled = [(plot.at(r["x"], r["y"]), plot.at(r["x2"], r["y2"])) for r in references]
    beside = _tail_names(drawn, normal, taken, ruled, plot)
    return {
        "points": [row for name, points in drawn.items() for row in _tail_rows(name, points, plot)],
        "normal": normal,
        "references": references,
        **beside,
        "notes": [*notes, *beside["notes"]],
    }


def _tail_names(
    drawn: Mapping[str, list[tuple[float, float]]],
    normal: Rows,
    taken: Sequence[label_placement.Box],
    ruled: Sequence[tuple[label_placement.Point, label_placement.Point]],
    plot: Plot,
) -> dict[str, Rows]:
    """Put names along the lines, past what is `taken` or `ruled`: the data sets `names` and `leads`, and the normal distribution's in `notes`."""
    named: list[tuple[list[label_placement.Point], str]] = []  # line in px, name
    begins: list[dict[str, Any]] = []
    for name, points in drawn.items():
        corners = [plot.at(*points[0])]
        for (a, _), (b, pb) in itertools.pairwise(points):  # down at a, then on to b: as the line is drawn
            corners += [plot.at(a, pb), plot.at(b, pb)]
        named.append((corners, name))
        begins.append({"x": points[0][0], "y": points[0][1], "series": name})
    if normal:
        text = "normal, same mean and SD" if plot.frame.width > 400 else "normal"
        named.append(([plot.at(r["x"], r["y"]) for r in normal], text))
        begins.append({name: normal[0][name] for name in ("x", "y", "series")})
    bounds = (2.0, 0.0, plot.frame.plot_width + 10, plot.frame.plot_height - 2)
    placed = label_placement.along(named, taken, bounds, prefer=plot.frame.plot_height * 0.45, ruled=ruled)
    n = len(drawn)
    names, leads = label_placement.rows_along(placed[:n], named[:n], begins[:n])
    notes, _ = label_placement.rows_along(placed[n:], named[n:], begins[n:])
    return {"names": names, "leads": leads, "notes": notes}


def _thinned(points: list[tuple[float, float]], plot: Plot) -> list[tuple[float, float]]:
    """Drop what lies within 1.2 px of the point before it: nobody sees it, and it is most of the file."""
    kept = [points[0]]
    for point in points[1:-1]:
        (ax, ay), (bx, by) = plot.at(*kept[-1]), plot.at(*point)
        if abs(ax - bx) > 1.2 or abs(ay - by) > 1.2:
            kept.append(point)
    return [*kept, *points[-1:]] if len(points) > 1 else kept


def _tail_rows(name: str, points: list[tuple[float, float]], plot: Plot) -> Rows:
    """The points of a tail; some 12 px apart they say their values under the pointer."""
    rows: Rows = []
    last = (-99.0, -99.0)
    for order, (value, share) in enumerate(points):
        row = {"series": name, "x": value, "y": share, "order": order, "segment": 0}
        x, y = plot.at(value, share)
        if order and abs(x - last[0]) + abs(y - last[1]) >= 12:
            last = (x, y)
            row["tip"] = f"{_percent_below(share)} under {fmt.quantity(value, 'ns', 4)}"
        rows.append(row)
    return rows


def _percent_below(share: float) -> str:
    """`_percent_below(0.00123)` is "99.877 %": as many digits as the rest has significant ones, two."""
    return f"{100 * (1 - share):.{max(0, math.ceil(-math.log10(share)) - 1)}f} %"


def bucket_tip(bucket: Bucket, noun: str) -> str:
    """Return what is read at a bar: "220 to 242 ns · 9 000 accesses"."""
    counted = fmt.plural(bucket.n, noun, plural_of(noun))
    low, high = (fmt.quantity(end, "ns", step=0.0) for end in (bucket.low, bucket.high))
    return f"{low} to {high} · {counted}"


def plural_of(noun: str) -> str:
    return f"{noun}{'es' if noun.endswith('s') else 's'}"


def _normal_rows(d: Distribution, plot: Plot) -> Rows:
    if d.deviation <= 0:
        return []
    rows = []
    for i in range(121):
        value = plot.x.low * (plot.x.high / plot.x.low) ** (i / 120)
        share = formulas.normal_survival(d.mean, d.deviation, value)
        if share >= plot.y.low:
            rows.append({"series": d.name, "x": value, "y": share, "order": i, "segment": 0})
    return rows


def histogram_panel(
    d: Distribution, colour: str, *, noun: str = "access", like: Sequence[Distribution] = ()
) -> Panel:
    """Draw the counts in 24 logarithmic buckets a decade, into which the tool's own finer ones are added up; median and 99.9 %
    as lines; where there are several modes, the times and shares of those that a repeat has above their peaks. colour: that of its tail; like: on whose common
    axis of time it is drawn, if not on its own."""
    buckets = formulas.merge(d.buckets)
    modes = [mode for mode in d.modes if d.in_repeats(mode)] if len(d.modes) > 1 else []
    many = fmt.sentence(plural_of(noun))
    x = _time_axis(like or [d], f"{fmt.sentence(noun)} time (log buckets, 24 a decade)")
    y = _count_axis(max(b.n for b in buckets) * (_ROOM if modes else 1.3), f"{many} per bucket (log scale)")
    bars: Rows = [
        {
            "series": d.name, "x": max(b.low, x.low), "x2": min(b.high, x.high), "y": b.n, "base": y.low,
            "tip": bucket_tip(b, noun), **({"hollow": True} if d.hollow else {}),
        }
        for b in buckets
        if b.high > x.low
    ]  # fmt: skip
    marks = [(d.at(of), f"{word} {fmt.quantity(d.at(of), 'ns')}") for of, word in (("p50", "median"), ("p99.9", "p99.9"))]  # fmt: skip
    known = [(value, text) for value, text in marks if value is not None and x.low <= value <= x.high]
    references: Rows = [
        {"series": d.name, "x": value, "x2": value, "y": y.low, "y2": y.high} for value, _ in known
    ]

    def build(width: int) -> Spec:
        frame = Frame(width=width, height=height(width, 360, 320), left=left_margin(y))
        plot = Plot(frame=frame, x=x, y=y)
        notes = _quantile_notes(known, plot)
        uprights = [plot.at(value, 1)[0] for value, _ in known]
        named, leads = peak_names(modes, buckets, notes, uprights, plot)
        data = {
            "bars": bars,
            "references": references,
            "leads": [{"series": d.name, **lead} for lead in leads],
            "notes": [{"series": d.name, **note} for note in (*notes, *named)],
        }
        series = [vega.Series(name=d.name, colour=colour)]
        return vega.fill("histogram", frame=frame, x=x, y=y, series=series, data=data)

    return panel(
        f"Histogram, {d.name}",
        f"{many} per logarithmic bucket: {fmt.count(d.n)} in all, {fmt.ends(*(fmt.quantity(end, 'ns') for end in (d.buckets[0].low, d.largest)))}."
        + (f" Modes: {fmt.words(mode_text(mode) for mode in modes)}." if modes else ""),
        build,
    )


_ROOM: Final = 12
"""How many times the highest bar an axis of counts goes to where names stand above the bars, below those of the quantiles."""

_BELOW_ONE = 0.7
"""Where an axis of counts begins: a bucket of one sample has a bar."""


def _count_axis(high: float, title: str) -> axes.Axis:
    """Return a log axis of counts, with a tick a decade from 1."""
    high = axes.decades([_BELOW_ONE * 1.5, high], title, margin=1.0).high
    ticks = tuple((10.0**p, fmt.number(10.0**p, 1)) for p in range(12) if 10.0**p <= high)
    return axes.Axis(kind="log", low=_BELOW_ONE, high=high, ticks=ticks, title=title)


def _quantile_notes(known: Sequence[tuple[float, str]], plot: Plot) -> Rows:
    """Name the vertical lines at their top: the first of two to the left of its line, where there is room."""
    notes: Rows = []
    for row, (value, text) in enumerate(known):
        px = plot.at(value, 1)[0]
        right = px + label_placement.text_width(text, 11.5) + 8 < plot.frame.plot_width + plot.frame.right
        if row == 0 and px - label_placement.text_width(text, 11.5) > 0 and len(known) > 1:
            right = False
        mark: dict[str, Any] = {
            "x": value, "y": plot.y.high, "text": text, "dx": 5 if right else -5,
            "dy": 8 + (14 * row if right else 0), "align": "left" if right else "right",
        }  # fmt: skip
        if any(label_placement.touch(note_box(mark, plot), note_box(other, plot)) for other in notes):
            mark["dy"] = 22
        notes.append(mark)
    return notes


def over_repeats(value: Spread | None) -> str:
    """Return "588 ns (580–604)": the median over the repeats, and their range; ends that are far away have their own unit, "354 ns (272 ns–51.9 µs)"."""
    if value is None:
        return fmt.NOTHING
    scale = fmt.scale_for([value.median], "ns")
    near = value.low >= scale.factor / 10 and value.high < scale.factor * 1e4
    low, high = (scale.number(end) if near else fmt.quantity(end, "ns") for end in (value.low, value.high))
    return fmt.quantity(value.median, "ns") + (f" ({low}–{high})" if low != high else "")


def modes_text(d: Distribution) -> str:
    """Return "20.0 ns, 78 %; 50.0 ns, 22 %, in 1 of 3 repeats": three repeats apart make three modes, too; "22 % around 50.0 ns, where no repeat has a
    peak" of one that they make together; and whether the shares are those of each repeat. A single mode that is nearly all is "one"."""
    if len(d.modes) == 1 and d.modes[0].share > 1 - LEAST:
        return ", ".join(
            [
                "one",
                *(_where(d.in_repeats(mode), d) for mode in d.modes if d.in_repeats(mode) < len(d.by_run)),
            ]
        )
    in_all = all(d.in_repeats(mode) == len(d.by_run) for mode in d.modes)
    told = [_mode_in_repeats(mode, d) for mode in d.modes]
    differ = in_all and not d.steady_modes
    return "; ".join([*told, *(["the shares differ between repeats"] if differ else [])]) or "none"


def _mode_in_repeats(mode: Mode, d: Distribution) -> str:
    n = d.in_repeats(mode)
    told = mode_text(mode) if n else f"{fmt.percent(mode.share)} around {fmt.quantity(mode.at, 'ns')}"
    return told if n == len(d.by_run) else f"{told}, {_where(n, d)}"


def _where(n: int, d: Distribution) -> str:
    """Say of a mode that not all repeats have in how many it is."""
    return f"in {n} of {fmt.plural(len(d.by_run), 'repeat')}" if n else "where no repeat has a peak"


def numbers(found: Iterable[Distribution], *, metric: str, noun: str = "access", of: int = 0) -> Table:
    """Return quantiles, moments and modes, a row per distribution; of: how many there are, where these are the first of them; metric:
    what they are of, as `Name.tells_of`."""
    told = [
        (d.runs, (
            d.name, fmt.count(d.n), *(over_repeats(d.repeats(statistic)) for statistic, _, _ in _SHARES),
            fmt.quantity(d.largest, "ns"), over_repeats(d.repeats("mean")), over_repeats(d.repeats("sd")),
            modes_text(d) if d.n >= _FEWEST else fmt.NOTHING,
        ))
        for d in found  # one after the other: the buckets of all of them are large
    ]  # fmt: skip
    many = plural_of(noun)
    several = any(len(runs) > 1 for runs, _ in told)
    own = "Quantiles, mean and SD: the median over the repeats of each run’s own; longest and modes: of all repeats together. "
    return Table(
        columns=(
            "Target", fmt.sentence(many), *(name for _, _, name in _SHARES), "Longest", "Mean", "SD",
            "Modes: median, share",
        ),
        rows=tuple(row for _, row in told),
        numeric=frozenset(range(1, 10)),
        of=tuple(row_of(runs) for runs, _ in told),
        metrics={ROW: OTHER} | {i: f"{metric}/{statistic}" for i, statistic in enumerate((*(s for s, _, _ in _SHARES), "max", "mean", "sd", "modes"), start=2)},
        caption=cut_caption(f"{own if several else ''}A quantile is given where at least ten samples {'of each run ' if several else ''}lie beyond it: the median needs 20, 99.9 % 10 000. A mode is a peak with 2 % of "
        "the samples and ten of them or more, from valley to valley, where the valley is below half of the lower peak", of),
    )  # fmt: skip
