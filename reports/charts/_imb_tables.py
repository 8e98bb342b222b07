"""Tables of IMB: numbers without time or size, what each PingPong offers, the lines fitted to it, all times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from parsers import imb
from reports.charts import facets, wording
from reports.charts._imb_curves import KEY, RATE, TIME, Line, Panels, lines_of, with_names
from reports.charts.curve_rows import Curve
from reports.charts.soundness import counted_rows
from reports.draw.figure import MOST_OPEN, ROW, Figure, Table, row_of
from reports.numbers import formulas
from reports.numbers.formulas import Branch, Spread
from reports.numbers.imb import STATISTICS
from reports.readings import groups
from reports.results.model import Run
from reports.results.naming import program_name
from reports.text import format as fmt


def undrawn_tables(sweep: str, runs: Sequence[Run]) -> list[Figure]:
    """Return a table for each benchmark with lines that are not drawn: of Uniband, which has no time, or Barrier, which has no size."""
    from parsers.frames import pd

    found = lines_of(runs)
    undrawn = (found["time"].isna() | found["message_size"].isna()) & (found["statistic"] != "")
    found = found[undrawn].drop_duplicates(KEY)
    figures = []
    for (benchmark,), own in groups(found, ["benchmark"]):
        names = {*own["statistic"], "bandwidth", "message_rate"}
        metrics = [name for name in imb.METRICS if name in names and own[name].notna().any()]
        of = {name: fmt.scale_to_largest(own[name].dropna(), imb.METRICS[name].unit) for name in metrics}
        rows, whose = [], []
        for (where, line, size), same in groups(own, ["panel", "line", "message_size"]):
            name = ", ".join(filter(None, [line, facets.facet_title(where, "imb")]))
            same = counted_rows(same)
            known = [(of[name], same[name].dropna()) for name in metrics]
            texts = (wording.spread_text(formulas.spread(list(v)), scale, step=imb.PRINTED.get(name)) if len(v) else fmt.NOTHING for (scale, v), name in zip(known, metrics, strict=True))  # fmt: skip
            rows.append((name, fmt.NOTHING if pd.isna(size) else fmt.size(size), *texts))
            whose.append(row_of(same["run"]))
        columns = ("Place", "Message", *(f"{_metric(name)}, {of[name].unit}" for name in metrics))
        table = Table(
            columns=columns, rows=tuple(rows), numeric=frozenset(range(1, len(columns))), of=tuple(whose),
            metrics={ROW: benchmark} | {i: f"{benchmark}/{name}" for i, name in enumerate(metrics, start=2)},
        )  # fmt: skip
        figures.append(
            Figure(
                id=f"imb-{benchmark}-{sweep}-table",
                of=sweep,
                sweep=runs[0].sweep_title,
                title=f"{benchmark}: {fmt.words(_metric(name).lower() for name in metrics)}",
                sub=f"IMB {benchmark}, {wording.ran(list(dict.fromkeys(own['run'])), program_name)}."
                f"{wording.of_texts(own['run'])}",
                tables=(table,) if len(rows) <= MOST_OPEN else (),
                numbers=(table,) if len(rows) > MOST_OPEN else (),
                half=True,
            )
        )
    return figures


def _metric(name: str) -> str:
    """Return the name of a figure for people: "Time, slowest rank", "Message rate"."""
    whose = STATISTICS.get(name)
    return f"Time, {whose}" if whose else name.replace("_", " ").capitalize()


def fitted(lines: Sequence[Line]) -> str:
    """Say "t = α + n ÷ B: same package 190 ns + n ÷ 3.90 GB/s to 32 KiB (off by up to 14 %), 3.60 µs + n ÷ 12.5 GB/s beyond (off by up
    to 7.2 %)" of lines that are quotable all along."""
    said = []
    for line in lines[:4]:
        found = formulas.fit(_times(line))
        quotable = found.quotable if found else ()
        if (
            not quotable
            or not all(map(_is_real, quotable))
            or quotable[-1].end != line.points[-1][0]
            or quotable[0].start != line.points[0][0]
        ):
            continue
        parts = [f"{fmt.quantity(b.alpha, 'ns')} + n ÷ {fmt.quantity(b.rate, 'B/s')}" for b in quotable]
        ends = [f" to {fmt.size(quotable[0].end)}", " beyond"] if len(quotable) == 2 else [""]
        off = [f" (off by up to {_worst(b)})" for b in quotable]
        said.append(f"{line.name} {', '.join(map(''.join, zip(parts, ends, off, strict=True)))}")
    return f"Fitted t = α + n ÷ B: {'; '.join(said)}." if said else ""


def _times(line: Curve) -> dict[int, float]:
    return {int(size): y.median for size, y in line.points}


def _worst(branch: Branch) -> str:
    return f"{fmt.number(branch.worst * 100, 2, fmt.UP)} %"


def _is_real(branch: Branch) -> bool:
    return branch.alpha >= 0 and branch.rate is not None


def offers_tables(panels: Panels) -> tuple[Table, ...]:
    """Return what each curve offers, and the lines that were fitted to it: not to what was never quiet."""
    offers, fits, fitted, metrics = [], [], [], []
    for name, line in with_names(panels):
        d = line.offers
        offers.append(
            (
                name, fmt.quantity(d.zero, "ns"), fmt.quantity(d.small, "ns"), fmt.quantity(d.peak, "B/s"),
                line.peak_at, fmt.size(d.half_size), _switches(line),
            )
        )  # fmt: skip
        found = None if line.hollow else formulas.fit(_times(line))
        if found is None:
            continue
        for branch in (found.one, *(found.two or ())):
            word = (
                "one line" if branch is found.one else f"{fmt.size(branch.start)} to {fmt.size(branch.end)}"
            )
            fits.append(
                (
                    name, word, fmt.quantity(branch.alpha, "ns") if branch.alpha >= 0 else fmt.NOTHING,
                    fmt.quantity(branch.rate, "B/s") if branch.rate is not None else "not determined",
                    _worst(branch), "yes" if branch in found.quotable else "no",
                )
            )  # fmt: skip
            fitted.append(row_of(line.cell))
            # beyond the first sizes a line is fitted to times that have a bandwidth, too
            metrics.append("PingPong" if branch.start == line.points[0][0] else RATE)
    both = (
        Table(
            caption="What each pair offers; peak and n½: of each run its own, of several the median",
            columns=("Pair", "0 B", "0 to 8 B", "Peak", "at", "n½", "Protocol changes at"),
            rows=tuple(offers),
            numeric=frozenset(range(1, 7)),
            of=tuple(row_of(line.cell) for _, line in with_names(panels)),
            metrics={ROW: "PingPong", 1: f"{TIME}/0", 2: TIME} | dict.fromkeys((3, 4, 5), RATE),
        ),
        Table(
            caption="Fitted t = α + n ÷ B, through the medians of the repeats; quotable: no size is off by more than 15 %; two lines only where one is not",
            columns=("Pair", "Sizes", "α", "B", "Off by up to", "Quotable"),
            rows=tuple(fits),
            numeric=frozenset((2, 3, 4)),
            of=tuple(fitted),
            metric_of=tuple(metrics),
        ),
    )
    return tuple(table for table in both if table.rows)


def _switches(line: Line) -> str:
    """Return the sizes at which the protocol changes in all repeats; else whether they do not agree."""
    agreed, undecided = formulas.steady_switches(
        [{int(n): t for n, t in turn.items()} for turn in line.turns]
    )
    return ", ".join(map(fmt.size, agreed)) or ("not decided" if undecided else fmt.NOTHING)


def _scales(
    columns: Sequence[Mapping[float, float]], scale: Callable[[Iterable[float]], fmt.Scale]
) -> list[fmt.Scale]:
    """Return the unit of each column, size → value: one for all, but for columns that are far apart at a size, as of shared memory and of a network."""
    sizes = dict.fromkeys(size for of in columns for size in of)
    known = [[of[size] for of in columns if size in of] for size in sizes]
    if all(max(of) <= _APART * min(of) for of in known):
        return [scale([v for of in columns for v in of.values()])] * len(columns)
    return [scale(of.values()) for of in columns]


_APART: Final = 100.0

_LEAST: Final = 1e-3
"""What of a column's unit is told in its own."""


def _time(value: Spread, scale: fmt.Scale) -> str:
    """Return "5.83", of much less, as of a collective without bytes, "480 ns"."""
    if value.median >= _LEAST * scale.factor:
        return wording.spread_text(value, scale, step=imb.PRINTED["time"])
    return fmt.span((value.low, value.high), "ns", imb.PRINTED["time"])


def _rate(value: Spread, scale: fmt.Scale) -> str:
    """Return "0.0153 (0.0151–0.0155)", of much less "171 B/s": of what each repeat has, as in the picture."""
    if value.median >= _LEAST * scale.factor:
        return wording.spread_text(value, scale)
    return fmt.span((value.low, value.high), "B/s")


def numbers_table(benchmark: str, panels: Panels) -> Table:
    """Return the time of each size, and of PingPong the rate; of others that which IMB prints, if it does."""
    named, with_rates = with_names(panels), benchmark == "PingPong"
    counted = [(name, line) for name, line in named if any(y.median for y in line.printed.values())]
    small = [{size: y.median for size, y in line.points if size <= 65536} for _, line in named]
    times = _scales(small, lambda of: fmt.scale_for(of, "ns"))
    rates = [line.rates.medians for _, line in named if with_rates]
    rates += [{size: y.median for size, y in line.printed.items() if y.median} for _, line in counted]
    fast = _scales(rates, lambda of: fmt.scale_to_largest(of, "B/s"))
    sizes = sorted({size for _, line in named for size, _ in line.points})
    rows = []
    for size in sizes:
        row = [fmt.size(size)]
        found = [dict(line.points).get(size) for _, line in named]
        row += [_time(y, scale) if y else fmt.NOTHING for y, scale in zip(found, times, strict=True)]
        if with_rates:
            rated = [dict(line.rates.points).get(size) for _, line in named]
            row += [_rate(y, scale) if y else fmt.NOTHING for y, scale in zip(rated, fast, strict=True)]
        printed = [
            (line.printed.get(int(size)), scale) for (_, line), scale in zip(counted, fast, strict=False)
        ]
        row += [wording.spread_text(y, scale) if y and y.median else fmt.NOTHING for y, scale in printed]
        rows.append(tuple(row))
    both = [*named, *(named if with_rates else counted)]
    units = [of.unit for of in times] + [of.unit if with_rates else f"{of.unit} as printed" for of in fast]
    columns = ["Message", *(f"{name}, {unit}" for (name, _), unit in zip(both, units, strict=True))]
    whose = dict(enumerate([line.cell for _, line in both], start=1))
    metrics = [f"{benchmark}/{next(iter(line.statistics), 'time')}" for _, line in named]
    metrics += [f"{benchmark}/bandwidth"] * (len(both) - len(named))
    return Table(
        columns=tuple(columns), rows=tuple(rows), numeric=frozenset(range(len(columns))), of=(whose,) * len(rows),
        metrics={i: metric for i, metric in enumerate(metrics, start=1) if i in whose},
        part_of_metric=tuple(str(int(size)) for size in sizes),
    )  # fmt: skip
