"""Idle latency over the working set: a step for each cache that it outgrows, small pages and huge pages as two lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parsers import mlc
from parsers.measurement import whole
from parsers.units import size_bytes
from reports.charts import curve_rows, facets, titles, wording
from reports.charts.curve_rows import Curve
from reports.draw import axes, label_placement, vega
from reports.draw.figure import Figure, Key, Panel, Table, panel
from reports.draw.plot import Plot, height, left_margin
from reports.draw.vega import Frame, Rows, Spec
from reports.numbers.formulas import Spread
from reports.readings import groups
from reports.readings.mlc import entries
from reports.results.hardware import BEYOND, FITS, caches_above
from reports.results.model import Run
from reports.results.naming import program_name
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

_FEWEST = 4
"""Sizes of which a panel is a ladder."""

SMALL, HUGE = "small pages", "huge pages"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A level that a working set may be in: its name, and from where to where (B); memory ends nowhere."""

    name: str
    low: float
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    of: facets.Facet
    curves: tuple[Curve, ...]
    steps: tuple[Step, ...]  # () where the caches are not known
    runs: tuple[Run, ...]


def ladder_figure(sweep: str, runs: Sequence[Run]) -> Figure | None:
    """Draw the idle latencies of a sweep over its buffers; None where no panel has enough of them."""
    found = entries.frame(runs)
    found = found[(found["metric"] == "latency") & (found["section"] == "idle_latency")]
    if not len(found):
        return None
    found = facets.in_panels(found, "b", "L").assign(
        size=lambda f: f["run"].map(_size).astype(float), pages=lambda f: f["run"].map(_pages)
    )
    ladders = [_ladder(of, own) for (of,), own in groups(found.dropna(subset="size"), ["panel"])]
    ladders = [one for one in ladders if max(len(c.points) for c in one.curves) >= _FEWEST]
    if not ladders:
        return None
    shown = ladders[: facets.MOST_PANELS]
    drawn = list(dict.fromkeys(run for one in shown for run in one.runs))
    pictures = tuple(_panel(one, shown) for one in shown)
    colours = _colours(shown)
    known = any(one.steps for one in shown)
    return Figure(
        id=f"ladder-{sweep}", of=sweep, sweep=runs[0].sweep_title,
        title=_title(ladders[0]) if len(ladders) == 1 else _SUBJECT,
        sub=f"Idle latency, {wording.ran(drawn, program_name)}; each load needs the one before."
        f"{' Bands: the caches of that core.' if known else _unknown(drawn)}"
        f"{wording.repeats(pictures, drawn)}{wording.hollow(pictures, drawn)}{wording.not_drawn(len(ladders), len(shown))}{wording.of_texts(drawn)}",
        panels=pictures,
        key=tuple(Key(name=n, colour=c) for n, c in colours.items()) if len(colours) > 1 else (),
        numbers=tuple(_table(one) for one in ladders),
        runs=tuple(dict.fromkeys(found["run"])), metric="latency", half=len(ladders) == 1,
    )  # fmt: skip


_SUBJECT = "Latency by working set"


def _size(run: Run) -> float | None:
    """Return the bytes that are walked over: as they were asked for (in KiB, or a size), else as the text tells, in digits of MiB."""
    asked = run.options.get("b")
    if asked is not None:
        kib = whole(asked) if not isinstance(asked, str) else int(asked) if asked.isdigit() else None
        try:
            return float(kib * 1024 if kib is not None else size_bytes(str(asked)))
        except ValueError:
            pass
    told = whole(run.parsed.facts.get("buffer_read_bytes")) if run.parsed else None
    return float(told) if told else None


def _pages(run: Run) -> str:
    return HUGE if run.options.get("L") else SMALL


def _ladder(of: facets.Facet, found: pd.DataFrame) -> Ladder:
    curves = [
        curve_rows.curve(
            pages, zip(own["size"], own["value"], strict=True), runs=own["run"], step=mlc.PRINTED["latency"]
        )
        for (pages,), own in groups(found, ["pages"])
    ]
    runs = tuple(dict.fromkeys(found["run"]))
    return Ladder(
        of=of, curves=tuple(sorted(curves, key=lambda c: c.name != SMALL)), steps=_steps(runs), runs=runs
    )


def _unknown(runs: Sequence[Run]) -> str:
    """Say why no band is drawn: what the machine's caches are is known where its topology is."""
    told = any(run.session.topology and run.session.topology.caches and not run.captured for run in runs)
    return f" {'On which core it ran is' if told else 'The caches are'} not recorded: no bands."


def _steps(runs: Sequence[Run]) -> tuple[Step, ...]:
    """Return the caches of the core that all of some runs walked on, and memory; () where they are not all the same."""
    found = {caches_above(run) for run in runs}
    sizes = found.pop() if len(found) == 1 else ()
    if not sizes:
        return ()
    lows = [0, *(size for _, size in sizes)]
    steps = [
        Step(name=f"L{level}", low=low, high=size) for low, (level, size) in zip(lows, sizes, strict=False)
    ]
    return (*steps, Step(name="memory", low=sizes[-1][1], high=None))


def _colours(shown: Sequence[Ladder]) -> dict[str, str]:
    names = sorted({c.name for one in shown for c in one.curves}, key=lambda n: n != SMALL)
    return dict(zip(names, vega.palette(len(names)), strict=True))


# --- the picture -------------------------------------------------------------------------------------------


def _panel(one: Ladder, shown: Sequence[Ladder]) -> Panel:
    every = [(size, s) for ladder in shown for c in ladder.curves for size, s in c.points]
    x = axes.powers_of_two([size for size, _ in every], "Working set, bytes (log)")
    y = axes.decades([v for _, s in every for v in (s.low, s.high)], "Latency (log scale)", unit="ns")
    tested = sorted({size for c in one.curves for size, _ in c.points})

    def build(width: int) -> Spec:
        frame = Frame(
            width=width, height=height(width, 330, 300) + _HEADS, top=30 + _HEADS, left=left_margin(y),
            right=curve_rows.name_margin(one.curves, width) if len(one.curves) > 1 else 16,
        )  # fmt: skip
        plot = Plot(frame=frame, x=x, y=y)
        data: dict[str, Rows] = {
            "points": curve_rows.point_rows(one.curves, tested, 1, lambda n, s: _tip(n, s, one.steps)),
            "ranges": curve_rows.range_rows(one.curves, tested, 1),
            **_bands(one.steps, plot),
        }
        if len(one.curves) > 1:
            data |= curve_rows.end_names(one.curves, plot, 1)
        return vega.fill(
            "ladder",
            frame=frame,
            x=x,
            y=y,
            series=curve_rows.series_of(one.curves, _colours(shown)),
            data=data,
        )

    title = facets.facet_title(one.of, "mlc")
    return panel(
        title, f"Idle latency by working set. {curve_rows.in_words(one.curves, 'ns', fmt.size)}", build
    )


_HEADS = 16
"""px for the names of the bands, between the plot and the title of its y axis: "L1" stood right below that."""


def _bands(steps: Sequence[Step], plot: Plot) -> dict[str, Rows]:
    """Shade every second level, and name each above the plot where its name has room."""
    bands: Rows = []
    uprights: Rows = []
    heads: Rows = []
    for i, step in enumerate(steps):
        low, high = max(step.low, plot.x.low), min(step.high or plot.x.high, plot.x.high)
        if low >= high:
            continue
        if i % 2:
            bands.append({"x": low, "x2": high})
        if step.high and step.high < plot.x.high:
            uprights.append({"x": step.high, "y": plot.y.low, "y2": plot.y.high})
        left, right = (plot.at(v, plot.y.high)[0] for v in (low, high))
        size = f" {fmt.size(step.high)}" if step.high else ""
        texts = (
            (f"{step.name}{size}", 0),
            (step.name, 4),
        )  # a bare name may reach beyond its band, by less than its neighbour leaves
        text = next((t for t, more in texts if label_placement.text_width(t) <= right - left + more), "")
        if text:
            heads.append({"x": (low * high) ** 0.5, "text": text, "y_px": -4})
    return {"bands": bands, "uprights": uprights, "heads": heads}


def _tip(size: float, latency: Spread, steps: Sequence[Step]) -> str:
    level = step_of(size, steps)
    fits = f" · fits {level.name}" if level is not None and level.high else ""
    return f"{fmt.size(size)}{fits} · {wording.exact(latency, 'ns')}"


def step_of(size: float, steps: Sequence[Step]) -> Step | None:
    """Return the smallest level that holds a working set; None where the caches are not known."""
    return next((step for step in steps if step.high is None or size <= step.high), None)


# --- what is said ------------------------------------------------------------------------------------------


def _title(one: Ladder) -> str:
    """Say what a load costs from each level, by the largest working set that surely is there, and what small pages cost at most; of huge
    pages where there are some, which hide the translation."""
    by = {c.name: dict(c.sound) for c in one.curves}
    pages = HUGE if by.get(HUGE) else SMALL
    line = by.get(pages, {})
    levels = [
        (step.name, size, line[size]) for step in one.steps if (size := _typical(line, step)) is not None
    ]
    both = [
        (size, by[SMALL][size], by[HUGE][size])
        for size in sorted(set(by.get(SMALL, ())) & set(by.get(HUGE, ())))
    ]
    return (
        titles.ladder(levels, both, which=pages if len(one.curves) > 1 or pages == HUGE else "") or _SUBJECT
    )


def _typical(line: dict[float, Spread], step: Step) -> float | None:
    """Return the largest working set of a line that is surely in a level, and in none below."""
    inside = [
        size
        for size in line
        if (step.high is None and size >= BEYOND * step.low)
        or (step.high is not None and step.low < size <= FITS * step.high)
    ]
    return max(inside, default=None)


def _table(one: Ladder) -> Table:
    sizes = sorted({size for c in one.curves for size, _ in c.points})
    names = [c.name for c in one.curves]
    points = {c.name: dict(c.points) for c in one.curves}
    sound = {c.name: dict(c.sound) for c in one.curves}
    ns = fmt.Scale(factor=1, unit="ns")
    both = set(names) == {SMALL, HUGE}

    def cell(name: str, size: float) -> str:
        found = points[name].get(size)
        return (
            fmt.NOTHING if found is None else wording.spread_text(found, ns, 4, step=mlc.PRINTED["latency"])
        )

    def ratio(size: float) -> str:
        small, huge = (sound[name].get(size) for name in (SMALL, HUGE))
        return fmt.number(small.median / huge.median) if small and huge else fmt.NOTHING

    def whose(size: float) -> dict[int, tuple[Run, ...]]:
        here = [run for run in one.runs if _size(run) == size]
        of = {at: tuple(run for run in here if _pages(run) == name) for at, name in enumerate(names, 2)}
        return of | ({2 + len(names): tuple(here)} if both else {})

    level = {size: step_of(size, one.steps) for size in sizes}
    return Table(
        caption=facets.facet_title(one.of, "mlc"),
        columns=("Working set", "Fits", *(f"{name}, ns" for name in names), *(["small ÷ huge"] if both else [])),
        rows=tuple(
            (
                fmt.size(size), step.name if (step := level[size]) and step.high else fmt.NOTHING,
                *(cell(name, size) for name in names), *([ratio(size)] if both else []),
            )
            for size in sizes
        ),
        numeric=frozenset(range(2, 2 + len(names) + both)),
        metrics={-1: "latency"},
        of=tuple(map(whose, sizes)),
    )  # fmt: skip
