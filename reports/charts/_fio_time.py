"""fio's logs over time: a map of how many I/Os took how long when, and what was logged of IOPS, bandwidth and mean latency."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from reports.charts import curve_rows, facets, wording
from reports.charts._fio_cells import RANKED, THOUSANDS, colours, hue, known_count
from reports.charts.soundness import is_hollow
from reports.draw import axes, vega
from reports.draw.figure import MOST_ROWS, Figure, Key, Panel, Table, cut_caption, panel, row_of
from reports.draw.plot import Plot, left_margin
from reports.draw.vega import Frame, Rows, Series, Spec
from reports.numbers.fio import WORDS
from reports.readings import groups
from reports.readings.fio import Log, logs
from reports.results.grouping import group_by
from reports.results.model import Run
from reports.results.naming import program_name
from reports.text import format as fmt

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

_LATENCIES: Final = ("lat", "clat")
_NS: Final = 1e9
_PER_DECADE: Final = 8
_MOST_TIMES: Final = 60
"""Columns of a map: at 368 px one of them is 5 px wide."""
_LEAST_STEPS: Final = 5
"""Of a second each, or of a tenth in a shorter run: fewer have no slowest one worth a word."""
_STEADY: Final = 1.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Moments:
    """The I/Os of a run in one direction, when they ended and how long they took."""

    run: Run
    which: str  # "lat" or "clat"
    time: NDArray[np.float64]  # s; of a window its middle
    latency: NDArray[np.float64]  # ns
    count: NDArray[np.float64]
    window: float  # s; 0: each I/O has a time of its own

    @property
    def end(self) -> float:
        """When the last of them ended, s."""
        return float(self.time.max()) + self.window / 2

    @property
    def step(self) -> float:
        """What is called slow as a whole, s: a second, a tenth of one in a short run, a window where that is more; 0: too short a run."""
        step = max(1.0 if self.end >= _LEAST_STEPS else 0.1, self.window)
        return step if self.end / step >= _LEAST_STEPS else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slowest:
    """The slowest step of a run beside its median one."""

    at: float  # s from the start, where it begins
    mean: float  # ns
    median: float  # ns, of the steps' means
    means: tuple[float, ...]  # ns, of each step; 0: no I/O ended in it

    @property
    def ratio(self) -> float:
        return self.mean / self.median

    @property
    def empty(self) -> int:
        """In how many steps no I/O ended."""
        return self.means.count(0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """A cell of the sweep in one direction."""

    name: str
    of: facets.Facet
    direction: str
    runs: tuple[Run, ...]
    repeats: tuple[_Moments, ...]
    hollow: bool

    def drawn(self) -> _Moments:
        """Return the repeat with the slowest step, against its own median."""
        return max(self.repeats, key=lambda one: slowest.ratio if (slowest := _slowest(one)) else 0.0)


def time_figures(sweep: str, runs: Sequence[Run], found: pd.DataFrame) -> Iterator[Figure]:
    """Draw what the logs of a sweep say: a figure of latencies where each I/O is logged or counted, one of means over windows where these
    are; nothing of a sweep without logs. found: as `_fio_cells.cells` returns it."""
    logged = found[[_has_logs(run) for run in found["run"]]]
    if not len(logged):
        return
    cells, windows = [], []
    ordered = logged.sort_values(["at", *RANKED], kind="stable")
    for (of, series, depth, direction), own in groups(ordered, ["panel", "series", "iodepth", "direction"]):
        at = f"depth {known_count(depth)}" if ordered["iodepth"].nunique() > 1 else ""
        name = ", ".join(filter(None, (facets.facet_title(of, "fio"), series, at)))
        members = tuple(dict.fromkeys(own["run"]))
        every = {run: list(logs(run.parsed)) for run in members if run.parsed}
        repeats = tuple(m for run, told in every.items() if (m := _moments(run, told, direction)))
        if repeats:
            cells.append(
                _Cell(
                    name=name,
                    of=of,
                    direction=direction,
                    runs=members,
                    repeats=repeats,
                    hollow=is_hollow(members),
                )
            )
        windows += [
            w
            for run, told in every.items()
            for w in _windows(name, run, told, direction, hollow=is_hollow(members))
        ]
    if cells:
        yield _map_figure(sweep, runs, cells)
    if windows:
        yield _window_figure(sweep, runs, windows)


def _has_logs(run: Run) -> bool:
    return bool(run.parsed and {"log", "log_histogram"} & {*run.parsed.tables})


def _moments(run: Run, told: Sequence[Log], direction: str) -> _Moments | None:
    """Return the I/Os of a run: of the log of each of them where that is whole, else of histograms, else as far as it goes."""
    import numpy as np

    own = [log for log in told if log.direction == direction and log.time]
    each = next(
        (
            same
            for kind in _LATENCIES
            if (same := [log for log in own if (log.kind, log.window) == (kind, 0)])
        ),
        [],
    )
    counted = [log for log in own if log.kind == "clat_hist"]
    cut = run.parsed is not None and any(flag.id == "log_cut" for flag in run.parsed.flags)
    chosen = counted if counted and (cut or not each) else each
    if not chosen:
        return None
    window = chosen[0].window / _NS
    time = np.concatenate([np.asarray(log.time) for log in chosen]) / _NS
    latency = np.concatenate([np.asarray(log.value) for log in chosen])
    count = np.concatenate([np.asarray(log.ios or np.ones(len(log.time))) for log in chosen])
    if cut and chosen is each:  # as far as all jobs are told
        jobs = group_by(chosen, lambda log: log.job).values()
        inside = time <= min(max(max(log.time) for log in own_logs) for own_logs in jobs) / _NS
        time, latency, count = time[inside], latency[inside], count[inside]
    shift = window / 2 if chosen is counted else 0.0
    return _Moments(
        run=run, which="clat" if chosen[0].kind.startswith("clat") else "lat", time=np.maximum(time - shift, 0.0),
        latency=np.maximum(latency, 1.0), count=count, window=window,
    )  # fmt: skip


@functools.lru_cache(maxsize=256)
def _slowest(one: _Moments) -> _Slowest | None:
    """Return the slowest step of a run; None of one that is too short, or has no I/O in most."""
    import numpy as np

    if not one.step:
        return None
    steps = math.floor(one.end / one.step + 1e-6)
    at = (one.time / one.step).astype(int)
    inside = at < steps  # the last is not whole
    ios = np.bincount(at[inside], one.count[inside], steps)
    sums = np.bincount(at[inside], (one.latency * one.count)[inside], steps)
    there = ios > 0
    if there.sum() < _LEAST_STEPS:
        return None
    means = np.divide(sums, ios, out=np.zeros(steps), where=there)
    worst = int(means.argmax())
    return _Slowest(
        at=worst * one.step, mean=float(means[worst]), median=float(np.median(means[there])), means=tuple(map(float, means))
    )  # fmt: skip


# --- the map -----------------------------------------------------------------------------------------------


def _map_figure(sweep: str, runs: Sequence[Run], cells: Sequence[_Cell]) -> Figure:
    shown = cells[: facets.MOST_PANELS]
    which = WORDS["clat" if all(m.which == "clat" for cell in cells for m in cell.repeats) else "lat"]
    panels = _map_panels(shown, which)
    members = [run for cell in shown for run in cell.runs]
    several = any(len(cell.repeats) > 1 for cell in shown)
    steps = {one.step for cell in shown if (one := cell.drawn()).step and _slowest(one)}
    step = _step(steps.pop()) if len(steps) == 1 else "span of time" if steps else ""
    said = [
        f"{wording.ran(members, program_name)}; when the I/Os ended and their {which}, from fio’s logs. Stronger: more I/Os.",
        f"Line: the mean of each {step}; ring: the slowest, and how many times the median one it takes."
        if step
        else "",
        "Drawn: the repeat with the slowest moment." if several else "",
        _LAST if any(m.window for cell in shown for m in cell.repeats) else "",
        _cut(members),
        wording.hollow(panels, members).strip(),
        wording.not_drawn(len(cells), len(shown)).strip(),
    ]
    return Figure(
        id=f"fio-time-{sweep}", of=sweep, sweep=runs[0].sweep_title, title=_title(cells), sub=" ".join(filter(None, said)),
        panels=tuple(panels), numbers=(_table(cells),), runs=tuple(dict.fromkeys(members)),
    )  # fmt: skip


_LAST = "fio’s log of histograms lacks the last window of a run."


def _cut(runs: Iterable[Run]) -> str:
    cut = any(flag.id == "log_cut" for run in runs if run.parsed for flag in run.parsed.flags)
    return "Logs of each I/O end where they became too long; write_hist_log has no such end." if cut else ""


def _title(cells: Sequence[_Cell]) -> str:
    """Name the cell, and of several repeats the one, whose slowest second is furthest from its median one."""
    told = [(slow, cell) for cell in cells if not cell.hollow and (slow := _slowest(cell.drawn()))]
    if not told:
        return "Latency over time"
    slow, cell = max(told, key=lambda pair: pair[0].ratio)
    step = _step(cell.drawn().step)
    ratio = f"{fmt.number(slow.ratio)} × the median {step}’s"
    if slow.ratio < _STEADY:
        return f"Latency is steady over time: the slowest {step}’s mean is {ratio} ({cell.name})"
    return f"{facets.begins(cell.of, cell.name)}: the slowest {step}’s mean latency is {ratio}"


def _step(step: float) -> str:
    return "second" if step == 1.0 else f"{fmt.number(step, 2)} s"


def _map_panels(cells: Sequence[_Cell], which: str) -> list[Panel]:
    """Return a map for each cell; all have the same axes and shades."""
    import numpy as np

    drawn = [cell.drawn() for cell in cells]
    low = min(float(one.latency.min()) for one in drawn)
    high = max(float(one.latency.max()) for one in drawn)
    first = math.floor(math.log10(low) * _PER_DECADE)
    rows = max(math.floor(math.log10(high) * _PER_DECADE) - first + 1, 4)
    edges = [10 ** ((first + i) / _PER_DECADE) for i in range(rows + 1)]
    y = axes.decades(edges, f"{fmt.sentence(which)} (log scale)", unit="ns", margin=1.0)
    end = max(one.end for one in drawn)
    width = max(_width(end), *(one.window for one in drawn))
    columns = math.ceil(end / width - 1e-6)
    x = replace(axes.from_zero([columns * width], "Seconds from the start"), high=columns * width)
    counts = []
    for one in drawn:
        i = np.clip((one.time / width).astype(int), 0, columns - 1)
        j = np.clip(np.floor(np.log10(one.latency) * _PER_DECADE).astype(int) - first, 0, rows - 1)
        counts.append(
            np.bincount(i * rows + j, one.count, columns * rows).reshape(columns, rows).astype(float)
        )
    most = max(float(own.max()) for own in counts)
    return [
        _map_panel(cell, one, own, most, (width, edges), (x, y))
        for cell, one, own in zip(cells, drawn, counts, strict=True)
    ]


def _width(end: float) -> float:
    """Return how long a column is, s: 1, 2 or 5 times a power of ten, so that there are _MOST_TIMES at most."""
    least = end / _MOST_TIMES
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * 0.999)


def _map_panel(
    cell: _Cell,
    one: _Moments,
    counts: NDArray[np.float64],
    most: float,
    boxes: tuple[float, Sequence[float]],
    both: tuple[axes.Axis, axes.Axis],
) -> Panel:
    (width, edges), (x, y) = boxes, both
    cells: Rows = []
    for i, own in enumerate(counts):
        for j, n in enumerate(own):
            if n:
                strength = math.log1p(n) / math.log1p(most)
                took = fmt.span([edges[j], edges[j + 1]], "ns")
                when = f"{fmt.number(i * width)} to {fmt.number((i + 1) * width)} s"
                cells.append(
                    {
                        "series": "", "x": (i + 0.5) * width, "y": math.sqrt(edges[j] * edges[j + 1]), "left": i * width,
                        "right": min((i + 1) * width, x.high), "low": max(edges[j], y.low), "high": min(edges[j + 1], y.high), "shade": round(0.08 + 0.87 * strength, 3),
                        "tip": f"{when} · {took} · {fmt.plural(int(n), 'I/O')}", **({"hollow": True} if cell.hollow else {}),
                    }
                )  # fmt: skip

    slow = _slowest(one)

    def build(wide: int) -> Spec:
        frame = Frame(width=wide, height=248, left=left_margin(y))
        return vega.fill(
            "moments", frame=frame, x=x, y=y, series=[Series(name="", colour=hue(cell.direction))], data={"cells": cells, **_mean_rows(one, None if cell.hollow else slow, x)}
        )  # fmt: skip

    said = (
        f" The slowest {_step(one.step)}, from {fmt.number(slow.at)} s on: {fmt.quantity(slow.mean, 'ns')} on average; "
        f"the median one: {fmt.quantity(slow.median, 'ns')}."
        if slow
        else ""
    )
    many = len(cell.repeats) > 1
    title = f"{facets.begins(cell.of, cell.name)}{f', repeat {one.run.record.repeat}' if many else ''}"
    return panel(title, f"{title}: latencies of the I/Os over {fmt.number(one.end)} s.{said}", build)


def _mean_rows(one: _Moments, slow: _Slowest | None, x: axes.Axis) -> dict[str, Rows]:
    """Return the line of the mean latency of each step of a run, joined where each has I/Os, and the mark of the slowest."""
    if not slow:
        return {}
    word, rows, segment = _step(one.step), [], 0
    for i, mean in enumerate(slow.means):
        if not mean:
            segment += 1
            continue
        tip = f"{word} from {fmt.number(i * one.step)} s · mean {fmt.quantity(mean, 'ns')}"
        rows.append(
            {"series": "", "x": (i + 0.5) * one.step, "y": mean, "order": i, "segment": segment, "tip": fmt.sentence(tip)}
        )  # fmt: skip
    middle = slow.at + one.step / 2
    at = {"series": "", "x": middle, "y": slow.mean}
    left = x.share(middle) > _RIGHT
    text = f"{fmt.quantity(slow.mean, 'ns')}, {fmt.number(slow.ratio)} ×"
    note = {**at, "text": text, "dx": -9 if left else 9, "dy": -9, "align": "right" if left else "left"}
    return {"means": rows, "rings": [at], "notes": [note]}


_RIGHT: Final = 0.6
"""Share of the axis beyond which a name stands to the left of its point."""


def _table(cells: Sequence[_Cell]) -> Table:
    told = [(cell, one, _slowest(one)) for cell in cells for one in cell.repeats]
    steps = {one.step for _, one, _ in told if one.step}
    word = _step(steps.pop()) if len(steps) == 1 else "moment"
    rows = [
        (
            cell.name, fmt.whole(one.run.record.repeat), fmt.count(int(one.count.sum())), fmt.number(one.end),
            *(
                (
                    fmt.quantity(slow.median, "ns"), fmt.quantity(slow.mean, "ns"), fmt.number(slow.at), f"{fmt.number(slow.ratio)} ×",
                    fmt.whole(slow.empty),
                ) if slow else (fmt.NOTHING,) * 5
            ),
        )
        for cell, one, slow in told
    ]  # fmt: skip
    return Table(
        columns=(
            "Access", "Repeat", "I/Os logged", "Until, s", f"Median {word}", f"Slowest {word}", "It begins at, s", "Slowest ÷ median",
            f"Without an I/O, {'seconds' if word == 'second' else 'of them'}",
        ),
        rows=tuple(rows[:MOST_ROWS]), numeric=frozenset(range(1, 9)),
        caption=cut_caption(f"Mean latency of each {word}", len(rows)),
        of=tuple(row_of([one.run]) for _, one, _ in told[:MOST_ROWS]),
    )  # fmt: skip


# --- windows -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    """What fio logged of windows of a run in one direction: sums of its jobs, of latencies their mean."""

    name: str
    direction: str
    run: Run
    what: str  # "iops", "bw", "lat"
    statistic: str
    points: Mapping[float, float]  # s → value
    hollow: bool


_WINDOWS: Final = {"iops": ("IOPS", "IOPS"), "bw": ("Bandwidth", "B/s"), "lat": ("Latency", "ns")}


def _windows(name: str, run: Run, told: Sequence[Log], direction: str, *, hollow: bool) -> Iterator[_Window]:
    own = [
        log for log in told if log.direction == direction and log.window and log.kind in (*_WINDOWS, "clat")
    ]
    by_kind = group_by(own, lambda log: log.kind)
    if "lat" in by_kind:
        by_kind.pop("clat", None)
    for kind, same in by_kind.items():
        sums: dict[int, list[float]] = {}
        window = same[0].window
        for log in same:
            for at, value in dict(zip((round(t / window) for t in log.time), log.value, strict=True)).items():
                sums.setdefault(at, []).append(value)
        jobs = len({log.job for log in same})
        whole = {at: values for at, values in sorted(sums.items()) if len(values) == jobs}
        share = 1 if kind in ("iops", "bw") else jobs
        yield _Window(
            name=name, direction=direction, run=run, what="lat" if kind == "clat" else kind, statistic=same[0].statistic,
            points={at * window / _NS: sum(values) / share for at, values in whole.items()}, hollow=hollow,
        )  # fmt: skip


def _window_figure(sweep: str, runs: Sequence[Run], windows: Sequence[_Window]) -> Figure:
    firsts = [same[0] for same in group_by(windows, lambda w: (w.name, w.what)).values()]  # a repeat each
    directions = {w.name: w.direction for w in firsts}
    names = [*directions]
    shades = colours(directions, [names])
    kinds = group_by(firsts, lambda w: w.what)
    panels = [_window_panel(what, kinds[what], shades) for what in _WINDOWS if kinds.get(what)]
    repeats = max(len(same) for same in group_by(windows, lambda w: (w.name, w.what)).values())
    members = list(dict.fromkeys(w.run for w in windows))
    said = [
        f"{wording.ran(members, program_name)}; what fio logged of each window, all jobs together.",
        "Drawn: the first repeat of each cell." if repeats > 1 else "",
        wording.hollow(panels, members).strip(),
    ]
    words = fmt.words(p.title if p.title == "IOPS" or p is panels[0] else p.title.lower() for p in panels)
    return Figure(
        id=f"fio-windows-{sweep}", of=sweep, sweep=runs[0].sweep_title, title=f"{words} over time", sub=" ".join(filter(None, said)),
        panels=tuple(panels), numbers=(_window_table(windows),), runs=tuple(members), half=len(panels) == 1,
        key=tuple(Key(name=name, colour=shades[name]) for name in names) if len(names) > 1 else (),
    )  # fmt: skip


def _window_panel(what: str, windows: Sequence[_Window], shades: Mapping[str, str]) -> Panel:
    word, unit = _WINDOWS[what]
    title = (
        f"{'Longest latency' if windows[0].statistic == 'max' else 'Mean latency'}" if what == "lat" else word
    )
    values = [v for w in windows for v in w.points.values()]
    scale = fmt.scale_to_largest(values or [1.0], unit)
    named = THOUSANDS[scale.unit] if what == "iops" else f"{title}, {scale.unit}"
    y = axes.from_zero([v / scale.factor for v in values], named)
    x = axes.from_zero([t for w in windows for t in w.points], "Seconds from the start")

    lines = [curve_rows.curve(w.name, w.points.items(), runs=[w.run] * len(w.points)) for w in windows]

    def build(width: int) -> Spec:
        right = curve_rows.name_margin(lines, width) if len(lines) > 1 else 16
        frame = Frame(width=width, height=228, left=left_margin(y), right=right)
        names = (
            curve_rows.end_names(lines, Plot(frame=frame, x=x, y=y), scale.factor) if len(lines) > 1 else {}
        )
        points: Rows = [
            {"series": w.name, "x": t, "y": v / scale.factor, "order": i, "tip": f"{fmt.number(t)} s · {fmt.quantity(v, unit)}, {w.name}", **({"hollow": True} if w.hollow else {})}
            for w in windows for i, (t, v) in enumerate(w.points.items())
        ]  # fmt: skip
        series = [Series(name=name, colour=colour) for name, colour in shades.items()]
        return vega.fill("over-time", frame=frame, x=x, y=y, series=series, data={"points": points, **names})

    said = " ".join(f"{w.name}: {fmt.span(w.points.values(), unit)}." for w in windows if w.points)
    return panel(title, f"{title} over time. {said}", build)


def _window_table(windows: Sequence[_Window]) -> Table:
    import statistics

    rows = [
        (
            w.name, fmt.whole(w.run.record.repeat), _WINDOWS[w.what][0], fmt.whole(len(w.points)),
            *(fmt.quantity(f(w.points.values()), _WINDOWS[w.what][1]) for f in (min, statistics.median, max)),
        )
        for w in windows if w.points
    ]  # fmt: skip
    return Table(
        columns=("Access", "Repeat", "What", "Windows", "Lowest", "Median", "Highest"), rows=tuple(rows[:MOST_ROWS]),
        numeric=frozenset({1, 3, 4, 5, 6}), caption=cut_caption("What fio logged of each window", len(rows)),
        of=tuple(row_of([w.run]) for w in windows if w.points)[:MOST_ROWS],
    )  # fmt: skip
