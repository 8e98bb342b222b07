"""Loaded latency of MLC as figures: curves of latency over bandwidth, one for each traffic type, with their tables."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from parsers import mlc
from parsers.measurement import whole
from reports.charts import _mlc_bounds as bounds
from reports.charts import facets, titles, wording
from reports.charts._mlc_bounds import Beside, Elsewhere
from reports.charts._mlc_curves import LoadCurve, heaviness, places_together
from reports.charts._mlc_panel import knee, loaded_panel, sheets
from reports.draw import vega
from reports.draw.figure import Figure, Key, Table, heat, row_of
from reports.numbers import formulas
from reports.numbers.formulas import LoadedLatency, Reached
from reports.numbers.mlc import AT_PEAK, UNLOADED
from reports.results import traffic
from reports.results.convicted import OTHER
from reports.results.model import Run
from reports.results.naming import program_name
from reports.results.traffic import traffic_name
from reports.text import format as fmt


def _colours(every: Sequence[LoadCurve]) -> dict[str, str]:
    """Return the colours of curves by their names: of places a hue each, of mixes from light to heavy; of more mixes than there are
    colours, neighbours share one: their names tell them."""
    places = list(dict.fromkeys(load.place for load in every if load.place))
    mixes = sorted({load.traffic for load in every if not load.place}, key=heaviness)
    n, steps = len(mixes), len(vega.ORDERED)
    ordered = vega.ORDERED[:n] if n <= steps else tuple(vega.ORDERED[i * steps // n] for i in range(n))
    named = zip(map(traffic_name, mixes), ordered, strict=True)
    return {**dict(zip(places, vega.palette(len(places)), strict=True)), **dict(named)}


def loaded_figures(
    sweep: str, runs: Sequence[Run], panels: dict[facets.Facet, list[LoadCurve]], elsewhere: Elsewhere
) -> list[Figure]:
    panels = places_together(panels)
    every = [load for curves in panels.values() for load in curves]
    told = [load for load in every if not load.hollow]
    offers, noise = [load.offers for load in told], _noise(told)
    hollow = [load.offers for load in every if load.hollow]
    shown = dict(list(panels.items())[: facets.MOST_PANELS])
    known = {of: bounds.beside(curves, elsewhere) for of, curves in panels.items()}
    fastest = max(row.bandwidth.high for load in every for row in load.rows)
    scale = fmt.scale_to_largest([fastest], "B/s")
    colours = _colours(every)
    seen = [load for curves in shown.values() for load in curves]
    on = sheets(shown, known, colours, scale)
    drawn = {load.name for load in seen}
    key = tuple(Key(name=name, colour=colour) for name, colour in colours.items() if name in drawn)
    load = load_words(runs)
    notes = [
        wording.not_drawn(len(panels), len(shown)).strip(),
        f"{fmt.sentence(load)} beside the one that is timed." if load else "",
    ]
    pictures = tuple(loaded_panel(of, curves, known[of], on[of]) for of, curves in shown.items())
    beside, family = bounds.table(panels, known, scale), bounds.family_table(panels, known, scale)
    figure = Figure(
        id=f"loaded-{sweep}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title=titles.loaded_latency(offers, noise, load, hollow=hollow)
        if offers
        else "Latency over bandwidth",
        sub=f"Loaded latency, {wording.ran(_cells(shown), program_name)}. {_one_traffic(every)}One point per injection delay, least load at left"
        f"{_marks(seen, [one for of in shown for one in known[of]], next(iter(on.values())).y.high)}"
        f"{' Each panel has its own axis of bandwidth.' if len({one.x for one in on.values()}) > 1 else ''}"
        f"{wording.repeats(pictures, runs)}"
        f"{wording.hollow(pictures, _cells(shown))}"
        f"{wording.of_texts(_cells(shown))}",
        panels=pictures,
        key=key if len(key) > 1 else (),
        tables=(_offers_table(panels, scale), *([family] if family else [])),
        numbers=(
            _further_table(panels, scale),
            *([beside] if beside else []),
            _loaded_numbers_table(panels, scale),
        ),
        note=" ".join(filter(None, notes)),
        half=len(panels) == 1,
    )
    mixed = {
        of: curves
        for of, curves in panels.items()
        if len({c.traffic for c in curves}) > 1 and len(_delays(curves)) > 2
    }
    heated = dict(list(mixed.items())[:_MOST_HEATED])
    if not heated:
        return [figure]
    climb = Figure(
        id=f"climb-{sweep}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title=titles.climb(
            [load.offers for curves in heated.values() for load in curves if not load.hollow], noise
        ),
        sub=f"{fmt.words(wording.programs(_cells(heated)))}: latency by injection delay and mix.{_key(heated)}"
        f"{wording.not_drawn(len(mixed), len(heated))}{wording.of_texts(_cells(heated))}",
        tables=tuple(_heat_table(of, curves) for of, curves in heated.items()),
        half=len(panels) == 1
        and len({load.traffic for load in every})
        <= len(vega.ORDERED),  # beside its panel, if it is not too wide
    )
    return [figure, climb]


def _key(panels: Mapping[facets.Facet, Sequence[LoadCurve]]) -> str:
    """Explain the short names at the head of tables."""
    short = (load.short.split() for curves in panels.values() for load in curves)
    return f" {traffic.NT}." if any("nt" in words for words in short) else ""


def _one_traffic(every: Sequence[LoadCurve]) -> str:
    """Say which traffic the curves of several places are of, where their names do not."""
    mixes = {load.traffic for load in every}
    return (
        f"{fmt.sentence(traffic_name(mixes.pop()))}. "
        if any(c.place for c in every) and len(mixes) == 1
        else ""
    )


def _marks(seen: Sequence[LoadCurve], known: Sequence[Beside], top: float) -> str:
    """Explain the marks of some curves whose axis ends at `top` ns."""
    folds = any(load.peak < len(load.rows) - 1 for load in seen)
    said = ["; dashed past the peak, where more load moves fewer bytes." if folds else "."]
    if any(knee(load) for load in seen):
        said.append("Ring: the most within 2 × unloaded, interpolated.")
    above = [row.latency.median for load in seen for row in load.rows if row.latency.median > top]
    if above:
        many = "1 point lies" if len(above) == 1 else f"{len(above)} points lie"
        said.append(f"{many} above the axis (▲), up to {fmt.quantity(max(above), 'ns', 4, fmt.UP)}.")
    cut = [r.latency.high for load in seen for r in load.rows if r.has_bar and r.latency.high > top]
    if cut:
        many = "1 bar ends" if len(cut) == 1 else f"{len(cut)} bars end"
        beyond = "it" if above else "the axis"
        said.append(f"{many} above {beyond}, up to {fmt.quantity(max(cut), 'ns', 4, fmt.UP)}.")
    if known:
        most = (
            ["what the memory’s modules could move (theoretical)"]
            if any(not one.measured for one in known)
            else []
        )
        found = ["what STREAM moves at that place"] if any(one.measured for one in known) else []
        said.append(f"Upright: {fmt.words([*most, *found])}.")
    return " ".join(said)


def _cells(panels: dict[facets.Facet, list[LoadCurve]]) -> list[Run]:
    """Return the runs that the curves of some panels are drawn from."""
    return list(dict.fromkeys(run for curves in panels.values() for load in curves for run in load.cell))


def _noise(every: Sequence[LoadCurve]) -> float:
    """Return how far repeats are apart, relative: the median over the rows, or that of an unloaded latency if it is more; 0 without repeats."""
    scatter = [row.latency.relative for load in every for row in load.rows if row.latency.n > 1]
    return max([statistics.median(scatter), *(load.unloaded.relative for load in every)]) if scatter else 0.0


MOST_DELAYS = 24
_MOST_HEATED = 2
"""Of more panels than this latency by delay and mix is in the numbers only."""


def _delays(curves: Sequence[LoadCurve]) -> list[int]:
    return sorted({row.delay for load in curves for row in load.rows})


def _heat_table(of: facets.Facet, curves: Sequence[LoadCurve]) -> Table:
    """Latency by delay and mix: at most MOST_DELAYS, spread over those measured."""
    delays = _delays(curves)
    shown = min(MOST_DELAYS, len(delays))
    chosen = [delays[round(i * (len(delays) - 1) / (shown - 1))] for i in range(shown)]
    values = [
        [next((row.latency.median for row in load.rows if row.delay == delay), None) for load in curves]
        for delay in chosen
    ]
    title = facets.facet_title(of, "mlc")
    return Table(
        caption=f"Latency in ns by injection delay and mix{', ' + title if title else ''}",
        columns=("Delay", *(load.short for load in curves)),
        rows=tuple(
            (fmt.whole(delay), *(fmt.number(v, step=mlc.PRINTED_LOADED_LATENCY) for v in row))
            for delay, row in zip(chosen, values, strict=True)
        ),
        numeric=frozenset(range(len(curves) + 1)),
        heat=heat(values),
        metrics=dict.fromkeys(range(1, len(curves) + 1), "latency"),
        part_of_metric=tuple(map(str, chosen)),
        of=({i: load.cell for i, load in enumerate(curves, start=1)},) * len(chosen),
    )


def _curves_table(
    panels: dict[facets.Facet, list[LoadCurve]],
    columns: Mapping[str, str],
    cells: Callable[[LoadCurve], Iterable[tuple[str, ...]]],
    caption: str = "",
) -> Table:
    """Return a table of all curves, whose traffic and panel (where there are several) stand before the cells of its rows.

    columns: head → the metric that it tells of, "" of both."""
    several = len(panels) > 1
    placed = any(load.place for curves in panels.values() for load in curves)
    head = ("Traffic", *(["Place"] if placed else []), *(["Panel"] if several else []))
    return Table(
        caption=caption,
        columns=(*head, *columns),
        rows=tuple(
            (
                traffic_name(load.traffic),
                *([load.place or fmt.NOTHING] if placed else []),
                *([facets.facet_title(of, "mlc")] if several else []),
                *row,
            )
            for of, curves in panels.items()
            for load in curves
            for row in cells(load)
        ),
        numeric=frozenset(range(len(head), len(head) + len(columns))),
        metrics=dict(enumerate(columns.values(), start=len(head))),
        of=tuple(row_of(load.cell) for curves in panels.values() for load in curves for _ in cells(load)),
    )


_UNLOADED: Final = (
    "the median of the rows{} that move at most 10 % of {} peak, so that single rows lie below it"
)


def _offers_table(panels: dict[facets.Facet, list[LoadCurve]], scale: fmt.Scale) -> Table:
    def cells(load: LoadCurve) -> Iterable[tuple[str, ...]]:
        offers = load.offers
        yield (
            *(_unloaded_cells(offers, scale) if offers.idle else (fmt.NOTHING, fmt.NOTHING)),
            wording.spread_text(load.most, scale), load.peak_delay, fmt.number(offers.latency_at_peak, step=mlc.PRINTED_LOADED_LATENCY),
        )  # fmt: skip

    starred = any(
        load.offers.idle and not load.offers.enough_idle_rows for curves in panels.values() for load in curves
    )
    columns = {
        "Unloaded, ns": UNLOADED, f"{scale.unit} within 2 × unloaded": "", f"Peak, {scale.unit}": "bandwidth", "at delay": "bandwidth",
        "ns at peak": AT_PEAK,
    }  # fmt: skip
    repeated = any(len(load.runs) > 1 for curves in panels.values() for load in curves)
    unloaded = _UNLOADED.format(*((" of each run", "its") if repeated else ("", "the")))
    caption = f"What each curve offers. Unloaded: {unloaded}{'; *: of fewer than three such rows the latency under the least load' if starred else ''}"
    if any(
        load.offers.idle and load.offers.doubled == "unclear" for curves in panels.values() for load in curves
    ):
        caption += f"; {fmt.NOTHING}: only a row that moves less than half of the peak is slower than twice that, so that its curve does not tell"
    return _curves_table(panels, columns, cells, caption)


def _unloaded_cells(offers: LoadedLatency, scale: fmt.Scale) -> tuple[str, str]:
    """Return the unloaded latency, and the bandwidth within twice of it."""
    unloaded = fmt.number(offers.unloaded, step=mlc.PRINTED_LOADED_LATENCY)
    return (
        unloaded if offers.enough_idle_rows else f"{unloaded} *",
        _within(offers.at_double, offers.peak, scale, offers.doubled),
    )


def _within(bandwidth: float, peak: float, scale: fmt.Scale, reached: Reached) -> str:
    """Return the bandwidth within a latency; of a load that did not reach this latency, a bound: the peak by its name, which stands beside
    it in other digits than a bound may have. Nothing where the curve does not tell."""
    if reached == "unclear":
        return fmt.NOTHING
    if reached == "yes":
        return scale.number(bandwidth)
    return "≥ peak" if bandwidth == peak else f"≥ {scale.number(bandwidth, rounding=fmt.DOWN)}"


def _further_table(panels: dict[facets.Facet, list[LoadCurve]], scale: fmt.Scale) -> Table:
    """What else a curve tells: how it bends before 2 × unloaded, what full load costs, and whose latency it can be."""

    def cells(load: LoadCurve) -> Iterable[tuple[str, ...]]:
        offers = load.offers
        yield (
            _within(offers.at_half_more, offers.peak, scale, offers.half_more)
            if offers.idle
            else fmt.NOTHING,
            fmt.NOTHING if offers.collapse is None else fmt.percent(offers.collapse, 3),
            fmt.number(formulas.lines_in_flight(offers.peak, offers.latency_at_peak)),
        )

    caption = f"Lines in flight: bandwidth × latency ÷ 64 B at the peak; above cores × {formulas.LINES_A_CORE}, the latency is not that of the traffic (M4)"
    columns = {
        f"{scale.unit} within 1.5 × unloaded": "",
        "Delay 0 ÷ peak": "bandwidth",
        "Lines in flight": "",
    }
    return _curves_table(panels, columns, cells, caption)


def _loaded_numbers_table(panels: dict[facets.Facet, list[LoadCurve]], scale: fmt.Scale) -> Table:
    def cells(load: LoadCurve) -> Iterable[tuple[str, ...]]:
        for row in load.rows:
            latency = wording.spread_text(row.latency, fmt.Scale(factor=1, unit="ns"), 4)
            yield fmt.whole(row.delay), latency, wording.spread_text(row.bandwidth, scale, 4)

    columns = {"Delay": OTHER, "Latency, ns": "latency", f"Bandwidth, {scale.unit}": "bandwidth"}
    delays = (str(row.delay) for curves in panels.values() for load in curves for row in load.rows)
    return replace(_curves_table(panels, columns, cells), part_of_metric=tuple(delays))


def load_words(runs: Sequence[Run]) -> str:
    """Return "1 load thread" where the texts tell, and all the same; else ""."""
    threads = {whole(r.parsed.facts.get("threads")) for r in runs if r.parsed} - {None}
    return fmt.plural(n, "load thread") if len(threads) == 1 and (n := threads.pop()) is not None else ""
