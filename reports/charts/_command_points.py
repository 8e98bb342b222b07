"""Numbers of any tool as points: which panel and line each is of, and what it is drawn over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from parsers import command, get_parser
from parsers.measurement import Counted, Direction, Measurement, Parsed, Scalar
from reports import numbers
from reports.charts import facets
from reports.charts.soundness import counted, is_hollow
from reports.numbers import formulas
from reports.numbers.model import SIZE
from reports.readings import measurements
from reports.results.model import Run
from reports.text import format as fmt

_OF_PANEL = ("benchmark", "operation", "test")
"""Labels that tell panels apart; the others tell lines apart, or rows."""


MOST_SAMPLES = 1000
"""Numbers of one metric of one run that are shown one by one; of more, what `_QUANTILES` names."""


_QUANTILES: Final = {"lowest": 0.0, "5 %": 0.05, "median": 0.5, "95 %": 0.95, "highest": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A cell that never gave a number, and where it would be drawn."""

    beside: facets.Facet  # what tells its panels from others of the same metric
    line: str  # as `Point.line`, as far as no number tells it
    x: float | None  # the value of the axis
    run: Run  # one that failed

    @staticmethod
    def of(
        tool: str, lost: Sequence[Run], axis: str | None, names: Sequence[str], apart: Sequence[str]
    ) -> list[Missing]:
        inner = [name for name in names if name not in apart]
        return [
            Missing(
                beside=facets.facet(run, apart), line=facets.facet_title(facets.facet(run, inner), tool),
                x=float(run.options[axis]) if axis else None, run=run,
            )
            for run in lost
        ]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One number of one run, and where it is drawn. `value` in `unit`."""

    run: Run
    number: str  # "mean latency"
    head: str  # "mean latency, MPI Latency Test"
    beside: facets.Facet  # the levels of further axes, where one panel would be crowded
    panel: str  # the same; where one panel would be crowded, with the levels of further axes
    unit: str
    better: Direction
    line: str  # what tells it from the others of its panel and x: "alg fast, host n001, p99"
    x: float | None  # the value of the axis, else the message size
    metric: str  # as `numbers.Name.tells_of`
    key: tuple[Scalar, ...]  # the values of the axis and of the options, then of the labels
    value: float


Metrics = Mapping[tuple[str, str], Sequence[Point]]
"""Panel and unit → its numbers."""


Read = Mapping[Run, Sequence[Measurement]]
"""What each run of a sweep is compared by (`measured`), read once."""


def measured(tool: str, run: Run) -> list[Measurement]:
    """Return what a run is compared by; of a program of the user's all that he names, of a line that comes twice the first."""
    metrics = get_parser(tool).METRICS
    compared = {number.name.metric for number in numbers.numbers(run)} if metrics else ()
    kept: dict[tuple[object, ...], Measurement] = {}
    for row in samples(run) or measurements(run):
        if not compared or row.metric in compared:
            kept.setdefault((row.metric, row.unit, *row.labels.items()), row)
    return list(kept.values())


def samples(run: Run) -> list[Measurement]:
    """Return the quantiles of a run that has more numbers of a metric than anybody reads, under these names for an index, and what else it
    has; nothing of a run that has not."""
    return run.parsed.once(_quantiled) if run.parsed else []


def _quantiled(parsed: Parsed) -> list[Measurement]:
    rows = parsed.measurements.rows
    if not isinstance(rows, Counted) or all(len(values) <= MOST_SAMPLES for _, _, values in rows.series):
        return []
    return [
        Measurement(metric, unit, value, {"index": index})
        for metric, unit, values in rows.series
        for index, value in (_quantiles(values) if len(values) > MOST_SAMPLES else enumerate(values))
    ]


def _quantiles(values: Sequence[float]) -> Iterator[tuple[str, float]]:
    ordered = sorted(values)
    return ((name, ordered[round(share * (len(ordered) - 1))]) for name, share in _QUANTILES.items())


def directions(tool: str, runs: Sequence[Run]) -> dict[str, Direction]:
    """Return which way is better, by metric; of a program of the user's as he says."""
    if not get_parser(tool).METRICS:
        cells = {id(run.cell): run.cell for run in runs}.values()
        named = (command.metrics_of(cell.options) for cell in cells)
        return {name: metric.better for own in named for name, metric in own.items()}
    return {number.name.metric: number.name.better for run in runs for number in numbers.numbers(run)}


def told_labels(tool: str, read: Read) -> list[str]:
    """Return the labels that differ between the numbers; a mere count of tables or runs only where nothing else tells them apart."""
    rows = [(run, row) for run, own in read.items() for row in own]
    found = [n for n in get_parser(tool).LABELS if len({row.get(n) for _, row in rows}) > 1]
    for count in ("table", "run"):
        others = [n for n in found if n != count]
        if len({(run, row.metric, *map(row.get, others)) for run, row in rows}) == len(rows):
            found = others
    return found


def points_of(
    tool: str,
    read: Read,
    axis: str | None,
    names: Sequence[str],
    short: Sequence[str],
    told: Sequence[str],
    apart: Sequence[str],
) -> Iterator[Point]:
    """short: the fewest of the names that tell the cells apart; apart: those of them that tell panels apart."""
    better = directions(tool, list(read))
    sized = axis is None and SIZE in told
    inner = [n for n in told if n not in _OF_PANEL and not (sized and n == SIZE)]
    within = [n for n in short if n not in apart]
    keyed = [*([axis] if axis else []), *names]
    alike: dict[object, _Told] = {}
    for run, rows in read.items():
        common = facets.in_common(run)
        if common not in alike:
            further = facets.facet(run, apart)
            alike[common] = _Told(
                line=facets.facet_title(facets.facet(run, within), tool), beside=further,
                panel=facets.facet_title(further, tool), x=float(run.options[axis]) if axis else None,
                key=tuple(value for _, value in facets.facet(run, keyed)),
            )  # fmt: skip
        of = alike[common]
        for row in rows:
            statistic = row.get("statistic") if "statistic" not in told else None
            metric = " ".join(
                filter(None, ("" if statistic is None else str(statistic), row.metric.replace("_", " ")))
            )
            panels = (str(row.get(n)) for n in told if n in _OF_PANEL and row.get(n) is not None)
            named = ", ".join([metric, *panels])
            words = (_word(n, row.get(n)) for n in inner if row.get(n) is not None)
            size = row.get(SIZE)
            yield Point(
                run=run, number=metric, head=named, beside=of.beside, metric=row.metric, panel=", ".join(filter(None, [named, of.panel])), unit=row.unit, better=better.get(row.metric, "neither"),
                line=", ".join(filter(None, [of.line, *words])), value=row.value,
                x=of.x if axis else float(size) if sized and isinstance(size, int | float) else None,
                key=(*of.key, *map(row.get, told)),
            )  # fmt: skip


class _Told(NamedTuple):
    """What the options of a run tell of its points, the same for the repeats of a cell."""

    line: str
    beside: facets.Facet
    panel: str  # `beside` in words
    x: float | None  # the value of the axis
    key: tuple[Scalar, ...]


def _word(label: str, value: Scalar) -> str:
    if label == "statistic" or value in _QUANTILES:
        return str(value)
    return fmt.size(float(value)) if label == SIZE and isinstance(value, int | float) else f"{label} {value}"


def step_of(points: Sequence[Point]) -> float:
    """Return the last digit that a program prints of a metric, as `fmt.number` takes it: of one whose format nobody knows that of the run
    with the fewest."""
    return printed_step(points[0].metric, [p.run for p in points])


def printed_step(metric: str, runs: Sequence[Run]) -> float:
    steps = get_parser(runs[0].tool).PRINTED
    if steps is not None:
        return steps.get(metric, 0.0)
    told = [run.parsed.printed().get(metric, 0.0) if run.parsed else 0.0 for run in runs]
    return max(told) if all(told) else 0.0


def spread_of(points: Sequence[Point]) -> tuple[formulas.Spread, bool]:
    """Return what the repeats of a cell found, and whether it is hollow."""
    of = set(counted(p.run for p in points))
    return formulas.spread([p.value for p in points if p.run in of], step_of(points)), is_hollow(of)
