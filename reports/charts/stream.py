"""Memory bandwidth over threads: STREAM, or the stream kernel in its place."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from parsers import stream
from reports.charts import curve_rows, dot_rows, facets, wording
from reports.charts import titles as findings
from reports.charts.chapter import Chapter
from reports.charts.curve_rows import Curve
from reports.charts.soundness import counted_rows, is_hollow, sound
from reports.draw import axes, label_placement, vega
from reports.draw.figure import MOST_ROWS, Figure, Panel, Table, cut_caption, panel
from reports.draw.plot import Plot, height, left_margin
from reports.draw.vega import Frame, Spec
from reports.numbers import formulas
from reports.numbers.formulas import Spread
from reports.numbers.possible import memory_peak
from reports.numbers.stream import all_in_caches, metric_of
from reports.page.model import KeyNumber
from reports.readings import first_groups, groups
from reports.readings.stream import rates
from reports.results.grouping import group_by
from reports.results.model import Results, Run, texts_of
from reports.results.naming import program_kind, program_name, stands_in
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

SECTION = "Memory"
RANK = 10
METHODS = (
    "Memory bandwidth counts the bytes that the source asks for; the line that an ordinary store reads before "
    "it writes is not counted. A curve is full at the first thread count with 95 % of its maximum, where all repeats agree."
)

KERNELS = stream.KERNELS[::-1]
"""The kernel that is drawn: the first of these that was measured, the triad if it was. All are in the numbers."""


def chapter(results: Results, tool: str = "stream") -> Chapter:
    """Draw bandwidth over threads, one figure a sweep, one panel per host and further option, one line a place."""
    runs = results.shown(tool)
    figures: list[Figure] = []
    key_numbers: list[KeyNumber] = []
    for sweep, members in group_by(runs, lambda r: r.cell.sweep).items():
        found = _rates(members)
        kernel = next((k for k in KERNELS if (found["kernel"] == k).any()), "")
        if not kernel:
            continue
        lost = facets.lost(results, tool, sweep, members, within=("place", "threads"))
        drawn = curves(found, kernel)
        figures.append(_figure(sweep, members, found, kernel, lost, drawn))
        kinds = group_by(members, program_kind).values()
        for same in kinds:
            own = drawn if len(kinds) == 1 else curves(_rates(same), kernel)
            key_numbers += _key_numbers(same, kernel, own)
    return Chapter(
        tool=tool, figures=tuple(figures), key_numbers=tuple(key_numbers), programs=wording.programs(runs)
    )


def _rates(runs: Sequence[Run]) -> pd.DataFrame:
    """Return the rates of some runs, with `panel` (a Facet), `place` and `threads` beside the columns of `readings.stream.rates`."""
    from parsers.frames import pd

    told = {run: (_line(run), threads(run)) for run in runs}
    found = facets.in_panels(rates.frame(runs), *_within(told))
    places, counts = zip(*map(told.__getitem__, found["run"]), strict=True) if len(found) else ((), ())
    return found.assign(place=pd.Series(places, index=found.index, dtype=object), threads=counts)


def _within(told: Mapping[Run, tuple[str, int]]) -> tuple[str, ...]:
    """Return the options that need no panels: not threads that were asked for, where the same number ran. told: `_line` and `threads`."""
    return facets.told(told.items(), ("place", "threads"))


def _line(run: Run) -> str:
    """Return what a run's line is called: its place; one of texts that do not say their threads is never joined to others."""
    place = wording.place(run)
    return (
        place if threads(run) else "threads not said" if place in _ANYWHERE else f"{place}, threads not said"
    )


_ANYWHERE = ("all", wording.ANYWHERE, wording.UNSAID)


def _counted(count: float) -> str:
    return fmt.plural(int(count), "thread") if count else "threads not said"


def threads(run: Run) -> int:
    """Return the threads that ran: what the program counted, else what was asked for, else the PUs it was given; 0 where nothing says."""
    facts = run.parsed.facts if run.parsed else {}
    placed = sum(len(group.cpus) for group in run.placed)
    return int(facts.get("threads") or run.options.get("threads") or placed)


_Curves = dict[facets.Facet, list[Curve]]


def curves(found: pd.DataFrame, kernel: str) -> _Curves:
    """Return bandwidth (B/s) over threads, panel by panel, one curve a place; local first."""
    order = {"local": 0, "remote": 1}
    panels: dict[facets.Facet, list[Curve]] = {}
    drawn = found[found["kernel"] == kernel]
    rows = zip(
        drawn["panel"], drawn["place"], drawn["threads"], drawn["bandwidth"], drawn["run"], strict=True
    )
    for (of, place), own in group_by(rows, lambda row: row[:2]).items():
        pairs = ((float(count), bandwidth) for _, _, count, bandwidth, _ in own)
        whose = [row[-1] for row in own]
        line = curve_rows.curve(place, pairs, runs=whose, step=_step(whose))
        panels.setdefault(of, []).append(line)
    return {of: sorted(lines, key=lambda c: (order.get(c.name, 2), c.name)) for of, lines in panels.items()}


def _step(runs: Iterable[Run]) -> float | None:
    """Return the last digit of a bandwidth (B/s) that STREAM prints; None of a table that somebody else wrote."""
    typed = any(run.parsed and run.parsed.has("from_table") for run in runs)
    return None if typed else stream.PRINTED["bandwidth"]


def _figure(
    sweep: str,
    runs: Sequence[Run],
    found: pd.DataFrame,
    kernel: str,
    lost: Sequence[Run],
    panels: _Curves,
) -> Figure:
    """Draw the curves of `panels`; where each would be one dot, the kernels as rows, and of more texts than _FEW the texts."""
    largest = max(y.high for lines in panels.values() for c in lines for _, y in c.points)
    scale = fmt.scale_to_largest([largest], "B/s")
    rows = (
        len(panels) > _FEW and all(run.text for run in runs) and all(_is_dot(own) for own in panels.values())
    )
    shown = dict(list(panels.items())[: dot_rows.MOST_ROWS if rows else facets.MOST_PANELS])
    ranked = curve_rows.highlight(list(shown.values()), lambda c: -max(c.medians.values()))
    points = {of: own for of in shown if not (lost or rows) and (own := _kernel_rows(found, of))}
    dots = len(points) == len(shown)
    lines_of = dict(zip(shown, ranked, strict=True))
    kernels = [k for k in reversed(KERNELS) if (found["kernel"] == k).any()] if dots else [kernel]
    name = _name(runs, kernel)
    measured = list(dict.fromkeys(found.loc[found["kernel"] == kernel, "run"]))
    drawn: tuple[Panel, ...]
    if rows:
        drawn = (_rows_panel(kernel, shown),)
        title = _moved(name, [lines[0] for lines in panels.values()], measured)
    elif not dots:
        drawn = _thread_panels(runs, found, kernel, lost, panels, lines_of, scale)
        title = _scaling(name, measured, panels)
    else:
        drawn = _kernel_panels(found, points, lines_of)
        alone = len(points) == 1 and not _of_texts(measured)
        title = _moves(name, kernel, next(iter(points.values())), ranked[0]) if alone else _by_kernel(name)
    in_shown = set(found.loc[found["panel"].isin([*shown]), "run"])
    seen = [run for run in measured if run in in_shown]
    marks = wording.marks(drawn)
    every = {*panels, *found["panel"]}  # of a run without this kernel, too
    sub = (
        f"{fmt.words(map(str.capitalize, kernels))}, {wording.ran(seen, program_name)}; the best rate of a run.",
        " Ring: 95 % of that curve’s maximum." if "rings" in marks else "",
        " Dotted: as many times one thread." if "references" in marks else "",
        wording.repeats(drawn, runs),
        curve_rows.crossed(drawn),
        " Each panel has its own axis of bandwidth."
        if not dots and not rows and curve_rows.own_axes(drawn)
        else "",
        wording.hollow(drawn, seen),
        curve_rows.dimmed(ranked, "bandwidth"),
        wording.not_drawn(len(every), len(shown), *(["row"] if rows else [])),
        wording.of_texts(seen),
    )
    medians = (y.median for lines in panels.values() for c in lines for _, y in c.sound)
    most = max(medians, default=0.0)
    return Figure(
        id=f"scaling-{sweep}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title=title,
        sub="".join(sub),
        panels=drawn,
        note=" ".join(filter(None, (_stores(measured, kernels), _dram_share(measured, kernel, most)))),
        numbers=(_numbers(found, scale),),
        runs=tuple(dict.fromkeys(found["run"])),
        metric="bandwidth" if dots else metric_of(kernel),
        found=None
        if dots
        else title not in findings.bandwidths(name),  # "Four threads fill memory" has no figure
        told_of=((_told_of(measured, panels), metric_of(kernel)),),
        half=len(panels) == 1 or rows,
    )


_FEW: Final = 2
"""So many dots of a panel each have room for all their kernels; more are rows of one picture."""


def _is_dot(lines: Sequence[Curve]) -> bool:
    """Is a panel one point?"""
    return len(lines) == 1 and len(lines[0].points) == 1


def _rows_panel(kernel: str, panels: _Curves) -> Panel:
    """Draw a row for each panel, the most first; with its threads, where these are not the same in all. panels: of one point each."""
    counts = {count for (line,) in panels.values() for count in line.medians}
    named = {
        ", ".join(filter(None, (facets.facet_title(of, "stream").removeprefix("source "), _counted(*line.medians) if len(counts) > 1 else ""))): line
        for of, (line,) in panels.items()
    }  # fmt: skip
    ordered = sorted(named.items(), key=lambda item: -max(item[1].medians.values()))
    return dot_rows.rows_panel(
        "",
        {name: (line.points[0][1], bool(line.hollow)) for name, line in ordered},
        "B/s",
        lambda of: f"{kernel.capitalize()} bandwidth, {of.unit}",
        f"{kernel.capitalize()} bandwidth, the most first.",
        series="bandwidth",
    )


def _moved(name: str, lines: Sequence[Curve], measured: Sequence[Run]) -> str:
    """Say "STREAM Triad moves 11.2 to 143 GB/s in 12 texts": the lowest and the highest median."""
    known = [line.points[0][1] for line in lines if not line.hollow]
    if len(known) < len(lines) or any(of.unsteady for of in known):
        return findings.bandwidths(name)[0]
    return f"{name} moves {fmt.span([of.median for of in known], 'B/s', known[0].step)} in {fmt.plural(len(set(texts_of(measured).values())), 'text')}"


def _told_of(measured: Sequence[Run], panels: _Curves) -> tuple[Run, ...]:
    """Return the runs of the lines that a title speaks of: the first of each panel, and remote memory beside the local one."""
    lines = {line.name for own in panels.values() for line in [c for c in own if c.sound][:1]}
    lines |= {"remote"} if "local" in lines else set()
    return tuple(run for run in measured if run.sound and _line(run) in lines)


def _of_texts(measured: Sequence[Run]) -> bool:
    """Are the runs of several texts, which may be of several machines?"""
    return len({run.text for run in measured}) > 1


def _scaling(name: str, measured: Sequence[Run], panels: _Curves) -> str:
    """Return what all panels say of the threads that fill memory, where that is one thing; else the bandwidth of all. What a curve with hollow
    points reaches is not known."""
    quiet = [[c for c in lines if c.sound] for lines in panels.values()]
    titles = {
        findings.scaling(
            name,
            {c.name: {int(t): s for t, s in c.sound} for c in lines},
            {c.name: [] if c.hollow else formulas.saturations(c.turns) for c in lines},
        )
        for lines in quiet
        if lines
    }
    if len(titles) == 1 and not _of_texts(measured):
        return titles.pop()
    return findings.bandwidth(
        name, ({int(t): s for t, s in c.points} for lines in panels.values() for c in lines)
    )


def _kernel_panels(
    found: pd.DataFrame,
    points: Mapping[facets.Facet, Mapping[str, tuple[Spread, bool]]],
    lines_of: Mapping[facets.Facet, Sequence[Curve]],
) -> tuple[Panel, ...]:
    """Draw the kernels of each panel as rows, all on one axis. points: `_kernel_rows` of each."""
    ends = [end for own in points.values() for s, _ in own.values() for end in (s.low, s.high)]
    return tuple(
        dot_rows.rows_panel(
            facets.facet_title(of, "stream"),
            rows,
            "B/s",
            lambda of: f"Bandwidth, {of.unit}",
            f"Bandwidth by kernel{_with(lines_of[of])}.",
            beside=ends,
            series="bandwidth",
            exact=functools.partial(_exact_of, allocates=_allocates(found.loc[found["panel"] == of, "run"])),
        )
        for of, rows in points.items()
    )


def _thread_panels(
    runs: Sequence[Run],
    found: pd.DataFrame,
    kernel: str,
    lost: Sequence[Run],
    panels: _Curves,
    lines_of: Mapping[facets.Facet, list[Curve]],
    scale: fmt.Scale,
) -> tuple[Panel, ...]:
    """Draw bandwidth over threads, a panel for each of `lines_of`; the axes hold all `panels`, and that of bandwidth of panels far apart its own; what was lost as crosses."""
    everything = [c for lines in panels.values() for c in lines]
    counts = [int(x) for c in everything for x, _ in c.points] + [threads(run) for run in lost]
    x = axes.integers(counts, "Threads")
    x = replace(x, ticks=tuple((at, text if at else "not said") for at, text in x.ticks))
    most = {of: max(y.high for c in lines for _, y in c.points) for of, lines in panels.items()}
    shared = max(most.values()) <= curve_rows.FAR * min(most.values())
    largest = {of: max(most.values()) if shared else most[of] for of in most}
    within = _within({run: (_line(run), threads(run)) for run in runs}) if lost else ()
    names = facets.panel_names(runs, within=within) if lost else []
    missing = group_by(lost, lambda r: facets.facet(r, names))
    colours = curve_rows.colours([*lines_of.values()])
    return tuple(
        _panel(
            of,
            lines,
            kernel,
            x,
            axes.from_zero([largest[of] / scale.factor], f"{kernel.capitalize()} bandwidth, {scale.unit}"),
            scale,
            [_cross(run) for run in missing.get(of, ())],
            colours,
            _allocates(found.loc[found["panel"] == of, "run"]),
        )
        for of, lines in lines_of.items()
    )


def _cross(run: Run) -> curve_rows.Cross:
    """Return the mark of a run that gave no number, at its threads."""
    count = threads(run)
    return curve_rows.Cross(x=float(count), series=_line(run), said=curve_rows.failed(_counted(count), run))


def _with(lines: Sequence[Curve]) -> str:
    """Say with how many threads the one point of a panel was measured: " with 8 threads"."""
    (count,) = {x for line in lines for x, _ in line.points}
    return f" with {fmt.plural(int(count), 'thread')}" if count else ""


def _moves(name: str, kernel: str, rows: Mapping[str, tuple[Spread, bool]], lines: Sequence[Curve]) -> str:
    """Say "STREAM Triad moves 12.3 GB/s with 2 threads"; of a number that means nothing or scatters the subject alone."""
    of, hollow = rows[kernel.capitalize()]
    if hollow or of.unsteady:
        return _by_kernel(name)
    return f"{name} moves {fmt.quantity(of.median, 'B/s', step=of.step)}{_with(lines)}"


def _by_kernel(name: str) -> str:
    """Return the subject of all kernels' numbers: "STREAM bandwidth by kernel", of a stand-in's "Bandwidth by kernel (stand-in)"."""
    subject = "STREAM bandwidth by kernel" if name.startswith("STREAM ") else "Bandwidth by kernel"
    return f"{subject} (stand-in)" if name.endswith(" (stand-in)") else subject


def _kernel_rows(found: pd.DataFrame, of: facets.Facet) -> dict[str, tuple[Spread, bool]]:
    """Return the bandwidth (B/s) of each kernel and whether it is hollow, Copy first, of a panel that would be a dot: one place, one count
    of threads, several kernels; {} of any other."""
    own = found[found["panel"] == of]
    lines = {
        kernel: curves(own, kernel)[of][0] for kernel in reversed(KERNELS) if (own["kernel"] == kernel).any()
    }
    if len({*own["place"]}) > 1 or own["threads"].nunique() > 1 or len(lines) < 2:
        return {}
    return {kernel.capitalize(): (line.points[0][1], bool(line.hollow)) for kernel, line in lines.items()}


def _how(run: Run) -> str:
    """Return how a run's stores write, as its program says it: "cached", "nt", "auto"; "" where it does not."""
    return str(run.parsed.facts.get("stores") or "") if run.parsed else ""


def _allocates(runs: Iterable[Run]) -> bool:
    """Do the stores of all these runs fetch each line before they write it?"""
    return {_how(run) for run in runs} == {"cached"}


def _exact(rate: Spread, kernel: str, allocates: bool) -> str:
    traffic = fmt.quantity(rate.median * formulas.TRAFFIC[kernel], "B/s", 4, step=rate.step)
    return f"{wording.exact(rate, 'B/s')}{f', {traffic} as traffic' if allocates else ''}"


def _exact_of(kernel: str, rate: Spread, allocates: bool) -> str:
    return _exact(rate, kernel.lower(), allocates)


_TIMES: Final = {3 / 2: "3/2", 4 / 3: "4/3"}


def _stores(runs: Sequence[Run], kernels: Sequence[str]) -> str:
    """Say what memory moves beside what is counted: as the stores of the program are, or might be."""
    how = {_how(run) for run in runs}
    times = group_by(kernels, lambda kernel: _TIMES[formulas.TRAFFIC[kernel]])
    factor = fmt.words(
        f"{of} of {fmt.words(map(str.capitalize, own)) if len(times) > 1 else 'it'}"
        for of, own in times.items()
    )
    if how == {"cached"}:
        return f"As counted; each store fetches its line first: as traffic {factor}."
    if how == {"nt"}:
        return "As counted, which is the traffic: non-temporal stores fetch no line."
    return (
        f"As counted; where stores fetch their line first, which is not told here, the traffic is {factor}."
    )


def _dram_share(runs: Sequence[Run], kernel: str, rate: float) -> str:
    """Say what part of the memory modules' own rate was reached, where one machine's modules are recorded."""
    peaks = {memory_peak(run) for run in runs}
    peak = peaks.pop() if len(peaks) == 1 else None
    if not peak or not rate:
        return ""
    even = ", those of the machine spread evenly over its nodes" if peak.shared else ""
    whole = f"the {fmt.quantity(peak.rate, 'B/s')} that the memory modules could move, each on a channel of its own{even}"
    traffic = rate * formulas.TRAFFIC[kernel]
    also = f", as traffic {fmt.percent(traffic / peak.rate)}" if _allocates(runs) else ""
    over = " More than they can: a check speaks of it." if rate > peak.rate else ""
    return f"The most is {fmt.percent(rate / peak.rate)} of {whole}{also}.{over}"


def _panel(
    of: facets.Facet,
    lines: list[Curve],
    kernel: str,
    x: axes.Axis,
    y: axes.Axis,
    scale: fmt.Scale,
    lost: Sequence[curve_rows.Cross],
    colours: Mapping[str, str],
    allocates: bool,
) -> Panel:
    tested = sorted({t for line in lines for t, _ in line.points} | {cross.x for cross in lost})

    def build(width: int) -> Spec:
        frame = Frame(
            width=width, height=height(width, 330, 290), left=left_margin(y),
            right=curve_rows.name_margin(lines, width),
        )  # fmt: skip
        plot = Plot(frame=frame, x=x, y=y)
        data = {
            "points": curve_rows.point_rows(
                lines, tested, scale.factor, lambda n, v: f"{_counted(n)} · {_exact(v, kernel, allocates)}"
            ),
            "ranges": curve_rows.range_rows(lines, tested, scale.factor),
            **curve_rows.end_names(lines, plot, scale.factor),
            "crosses": curve_rows.cross_rows(lost, plot, colours, lines, scale.factor),
            "references": [],
        }  # fmt: skip
        full = [line for line in lines if not line.hollow]
        data |= curve_rows.saturation_rings(curve_rows.highlighted(full)[:3], plot, scale.factor)
        noted = [curve_rows.note_box(note, plot) for note in data["notes"]]
        for line in full[:1]:
            one = line.medians.get(1.0)
            if one and len(line.points) > 1:
                ends = min(y.high / (one / scale.factor), x.high)
                top = ends * one / scale.factor
                data["references"].append(
                    {"series": line.name, "x": 1, "y": one / scale.factor, "x2": ends, "y2": top}
                )
                strokes = [
                    *curve_rows.segments(lines, plot, scale.factor),
                    (plot.at(1, one / scale.factor), plot.at(ends, top)),
                ]
                bounds = (0.0, -8.0, frame.plot_width, frame.plot_height - 4)
                (label,) = label_placement.near(
                    [(plot.at(ends, top), "linear")], strokes, noted, bounds, 11.5
                )
                data["notes"].append(
                    {"series": line.name, "x": ends, "y": top, "text": "linear", "dx": label.dx, "dy": label.dy, "align": label.align}
                )  # fmt: skip
        return vega.fill(
            "scaling", frame=frame, x=x, y=y, series=curve_rows.series_of(lines, colours), data=data
        )

    title = facets.facet_title(of, "stream")
    described = " ".join(f"{line.name}: {_most_and_first(line)}." for line in lines)
    return panel(title, f"{kernel.capitalize()} bandwidth by thread count. {described}", build)


def _most_and_first(line: Curve) -> str:
    """Return "highest median 23.1 GB/s, 10.2 GB/s with 1 thread"; of a line with one point that alone, "10.2 GB/s with 1 thread"."""
    count, rate = line.points[0]
    first = f"{fmt.quantity(rate.median, 'B/s')}{f' with {_counted(count)}' if count else ''}"
    if len(line.points) == 1:
        return first
    return f"highest median {fmt.quantity(max(line.medians.values()), 'B/s')}, {first}"


def _numbers(found: pd.DataFrame, scale: fmt.Scale) -> Table:
    """Every kernel, place and thread count, with the ratio remote ÷ local where there are both."""
    panels = {of: at for at, of in enumerate(dict.fromkeys(found["panel"]))}
    told = functools.cache(wording.place)  # a column of its own says how many threads
    found = found.assign(place=[told(run) for run in found["run"]])
    places = sorted(found["place"].unique(), key=lambda p: (p != "local", p))
    heads = ["Bandwidth" if places == [p] and p in _ANYWHERE else p for p in places]
    both = {"local", "remote"} <= set(places)
    named = any(panels)
    first = 2 if named else 1
    allocating = any(_how(run) == "cached" for run in dict.fromkeys(found["run"]))
    rows, whose, metrics = [], [], []
    ranks = {
        "at": [panels[of] for of in found["panel"]],
        "rank": [-_rank(kernel) for kernel in found["kernel"]],
    }
    ordered = found.assign(**ranks).sort_values(["at", "rank", "threads"], kind="stable")
    listed, every = first_groups(ordered, ["panel", "kernel", "threads"], MOST_ROWS)
    for (of, kernel, count), own in groups(listed, ["panel", "kernel", "threads"]):
        of_place = {place: same for (place,), same in groups(own, ["place"])}
        at = {place: counted_rows(same) for place, same in of_place.items()}
        unsound = {place for place, same in at.items() if is_hollow(same["run"])}
        spreads = {
            place: formulas.spread(list(same["bandwidth"]), _step(same["run"])) for place, same in at.items()
        }
        ratio = (
            spreads["remote"].median / spreads["local"].median
            if {"local", "remote"} <= set(spreads) - unsound
            else None
        )
        texts = [wording.spread_text(spreads[p], scale, 4) if p in spreads else fmt.NOTHING for p in places]
        moved = [_traffic(at.get(p), kernel, scale) for p in places] if allocating else []
        rows.append(
            (
                kernel, *([facets.facet_title(of, "stream")] if named else []), fmt.whole(count) if count else fmt.NOTHING,
                *texts, *moved, *([fmt.number(ratio, 2)] if both else []),
            )
        )  # fmt: skip
        metrics.append(metric_of(kernel))
        members = {place: tuple(dict.fromkeys(same["run"])) for place, same in of_place.items()}
        of_places = [members.get(place, ()) for place in places]
        ends = [(*members["local"], *members["remote"])] if ratio is not None else []
        whose.append(
            dict(enumerate([*of_places, *(of_places if allocating else ()), *ends], start=first + 1))
        )
    said = "As traffic: with the line that a store fetches first" if allocating else ""
    return Table(
        columns=(
            "Kernel", *(["Panel"] if named else []), "Threads", *(f"{p}, {scale.unit}" for p in heads),
            *(f"{p} as traffic, {scale.unit}" for p in heads if allocating),
            *(["remote ÷ local"] if both else []),
        ),
        rows=tuple(rows),
        numeric=frozenset(range(first, first + 2 + len(places) * (2 if allocating else 1))),
        caption=cut_caption(said, every),
        of=tuple(whose), metric_of=tuple(metrics),
    )  # fmt: skip


def _traffic(found: pd.DataFrame | None, kernel: str, scale: fmt.Scale) -> str:
    """found: the rates of a cell; "–" where its stores do not say that they allocate."""
    if found is None or not _allocates(found["run"]):
        return fmt.NOTHING
    traffic = found["bandwidth"].median() * formulas.TRAFFIC[kernel]
    return scale.number(traffic, 4, step=_step(found["run"]))


def _rank(kernel: str) -> int:
    return KERNELS[::-1].index(kernel) if kernel in KERNELS else -1


def _key_numbers(
    runs: Sequence[Run], kernel: str, panels: dict[facets.Facet, list[Curve]]
) -> Iterable[KeyNumber]:
    """Give the most of each curve, with how much of it remote memory moves with as many threads, and the threads of which no run is sound. Of arrays of
    several sizes the largest count, and none where these lie in a cache: it is no number of the memory."""
    name, of_panels = _name(runs, kernel), facets.by_panel(runs, panels)
    size_of = {of: max(map(_array_bytes, sound(members)), default=0) for of, members in of_panels.items()}
    sizes = {
        alike: {size_of[of] for of in own} - {0} for alike, own in group_by(panels, _without_size).items()
    }
    for of, lines in panels.items():
        members, same = of_panels[of], _without_size(of)
        if size_of[of] < max(sizes[same], default=0):
            continue
        tried = {
            _array_bytes(run) for own in panels if _without_size(own) == same for run in of_panels[own]
        } - {0}
        lost = " that was not disturbed" if max(tried, default=0) > size_of[of] else ""
        largest = f"the largest array{lost}" if len(tried) > 1 else ""
        remote = next((dict(c.sound) for c in lines if c.name == "remote"), {})
        for line in lines:
            if not line.sound:
                continue
            at, top = max(line.sound, key=lambda p: p[1].median)
            of_line = [run for run in members if _line(run) == line.name]
            cell = [run for run in sound(of_line) if threads(run) == at]
            if largest and all(map(all_in_caches, cell)):
                continue
            left_out = wording.left_out(
                line.hollow, [run for run in of_line if threads(run) in line.hollow], "thread count"
            )
            words = [_counted(at) if at else "", left_out, line.name if line.name not in _ANYWHERE else ""]
            context = ", ".join(filter(None, [*words, facets.facet_title(of, "stream"), largest]))
            beside = remote.get(at) if line.name == "local" and at else None
            alone = context
            other: tuple[Run, ...] = ()
            if beside and formulas.differs(top, beside):  # as in the title
                context += f"; remote {fmt.number(beside.median / top.median)} ×"
                other = tuple(run for run in sound(members) if threads(run) == at and _line(run) == "remote")
            yield replace(
                wording.key_number(name, top, "B/s", context, 12, cell, metric=metric_of(kernel)),
                beside=other,
                alone=alone,
            )


def _without_size(of: facets.Facet) -> facets.Facet:
    """Return what panels have in common that differ in the size of the arrays alone: other hosts have other caches to be larger than."""
    return tuple(pair for pair in of if pair[0] != "array_size")


def _array_bytes(run: Run) -> int:
    """Return the size of one array, 0 of a text that does not tell it, or that is of another machine than the others for all that is known."""
    facts = run.parsed.facts if run.parsed and not run.captured else {}
    return int(facts.get("array_size") or 0) * int(facts.get("bytes_per_element") or 8)


def _name(runs: Sequence[Run], kernel: str) -> str:
    """Return "STREAM Triad", of a stand-in’s numbers "Triad (stand-in)"; of both together "Triad"."""
    ours = {stands_in(run) for run in runs}
    if len(ours) > 1:
        return kernel.capitalize()
    return f"{kernel.capitalize()} (stand-in)" if True in ours else f"STREAM {kernel.capitalize()}"
