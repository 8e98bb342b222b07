"""The interface of a tool for reports: numbers, charts, key numbers and the first line in a terminal.

A tool is a module of this package with the tool's name. The module has `TOOL`, an instance of a subclass of `Tool`, and
checks (`reports.checks.check`). A tool without a module has the defaults.
"""

# ruff: noqa: ARG002 (a default takes what others need)

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from parsers import get_parser
from parsers.measurement import Parsed
from reports.chart import Chart
from reports.checks import Fault
from reports.document import Figure
from reports.numbers.model import Buckets, Name, Number
from reports.numbers.repeats import Repeats
from reports.render import grid, points, vega
from reports.results.model import Results, Run
from reports.text import format as fmt
from reports.text.names import anchor
from reports.tools import _generic

if TYPE_CHECKING:
    import pandas as pd

MAX_HOSTS: Final = 12
"""Hosts with separate panels. With more hosts, a figure shows the medians over the hosts."""

KEY_COLUMNS: Final = (
    "name", "rank", "context", "value", "low", "high", "n", "step", "unit", "better", "flags", "where", "host", "program", "place",
    "tool", "point_id", "run", "size", "source", "target", "device", "tail",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key number for the head of a page and the machine drawing, one per cell. `where` filters the rows."""

    name: str  # "STREAM Triad"
    rank: float  # the six lowest are shown
    where: Mapping[str, Any] = field(default_factory=dict)  # column → value, or a tuple of values
    context: str = ""  # filled with the row: "threads {threads}, {place}"; parts with a missing column are dropped
    size: str = ""  # column: accessed bytes, which select a cache of the drawing
    source: str = ""  # column: the NUMA node of the CPUs
    target: str = ""  # column: the NUMA node of the memory
    device: str = ""  # column: the disk
    tail: Mapping[str, Any] = field(default_factory=dict)  # other columns of the p99.9 rows, drawn next to the number


class Tool:
    """The defaults. `reports.numbers` calls `numbers` and the related methods."""

    SECTION: ClassVar[str] = "Other programs"
    """The heading of the figures on a page: "Memory", "MPI", "Storage", "Latency tails"."""

    RANK: ClassVar[int] = 90
    """Position on a page, lowest first."""

    METHODS: ClassVar[str] = ""
    """The counting rules of the numbers, in a paragraph."""

    CHARTS: ClassVar[tuple[Chart, ...]] = ()
    KEYS: ClassVar[tuple[Key, ...]] = ()

    CURVE_AXIS: ClassVar[str | None] = None
    """The option over which the runs of one repeat make a curve."""

    DRAWN: ClassVar[tuple[str, ...]] = ()
    """Titles (`Name.title`) of the numbers whose curves a comparison draws first."""

    PEAK: ClassVar[str | None] = None
    """The quantity with the peak: the highest cell over CURVE_AXIS."""

    WORKING_SET: ClassVar[tuple[str, ...]] = ()
    ACCESSED: ClassVar[tuple[str, ...]] = ()
    LIMITS: ClassVar[tuple[str, ...]] = ()
    """Options without a better level: accessed size, accessed place, rate limits."""

    NOISE: ClassVar[float] = 0.075
    """The usual standard deviation over repeats, as a share of the median (G11)."""

    FINER: ClassVar[frozenset[str]] = frozenset()
    """Benchmarks that a separate check judges for printed digits (G6)."""

    CUT: ClassVar[str] = ""
    """A note about truncated output (G16), or ""."""

    FAULTS: ClassVar[Mapping[str, Callable[[Results], Iterator[Fault]]]] = {}
    """Id of a check of any tool → additional faults of this tool."""

    def numbers(self, run: Run) -> Iterator[Number]:
        """Yield the numbers of a run in the order of the tables. Numbers without a direction are shown, but not
        compared.
        """
        return _generic.numbers(run)

    def lead(self, cell: Repeats) -> Name | None:
        """Return the leading number of a cell, a key of `cell.columns`."""
        return _generic.lead(cell)

    def headline(self, cell: Repeats) -> str:
        """Return a summary of the repeats of a cell in 50 characters."""
        return _generic.headline(cell)

    def histograms(self, run: Run) -> list[tuple[Name, Buckets]]:
        """Return the latency distributions of a run, by the names of the quantiles without the statistic."""
        return []

    def curve_numbers(self, curve: Mapping[int, Sequence[Number]]) -> Iterator[Number]:
        """Yield the derived numbers of one repeat's curve. `curve` maps a value of CURVE_AXIS to the numbers of that
        run.
        """
        return iter(())

    def peaks_within(
        self, cells: Mapping[int, Mapping[Name, Sequence[float]]], slo: float
    ) -> dict[Name, tuple[int, Name]]:
        """Return the best cells with a latency (ns) within a limit: name of the peak → position, and the name at
        that position.
        """
        return {}

    def moved(self, cell: Repeats) -> list[tuple[float, float]]:
        """Return the bandwidth (B/s) of each repeat for the leading number, and the size (B) of one operation."""
        return []

    def mixed(self, parsed: Parsed) -> bool:
        """Is the leading number of one direction of several?"""
        return False

    def ranked(self, parsed: Parsed) -> bool:
        """Return whether a run may be the best of a sweep."""
        return True

    def busy(self, run: Run) -> int:
        """Return the number of CPUs that a run keeps busy all the time (G12), or 0 if the run may wait."""
        return 0

    def shown_with(self, metric: str, run: Run) -> Iterator[str]:
        """Give the metrics (as `Name.tells_of`) that are flagged with another (G11)."""
        return iter(())

    def mistyped(self, command: str) -> Iterator[str]:
        """Yield typing errors in a command line of the tool (G2)."""
        return iter(())

    def left_out(self, command: str, run: Run) -> Iterator[str]:
        """Yield facts of a table that the command line contradicts or omits (G2)."""
        return iter(())

    def samples(self, run: Run) -> Iterable[Mapping[str, Any]]:
        """Yield rows for charts that are not compared, such as distribution steps and log seconds. The columns are
        columns of the frame.
        """
        return ()

    def charts(self, rows: pd.DataFrame, keys: Sequence[str]) -> tuple[Chart, ...]:
        """Return the charts of a sweep. Without declared charts there is one chart per metric."""
        return self.CHARTS or _generic.charts(rows, keys)

    def figures(self, rows: pd.DataFrame, keys: Sequence[str], runs: pd.DataFrame) -> Iterator[Figure]:
        """Yield the figures of each sweep.

        `rows` is `Measurements.tidy` for the tool. `keys` names the columns that identify cells and numbers. `runs`
        holds all attempts.
        """
        titles = rows["sweep_title"].nunique() > 1
        for sweep, found in rows.groupby("sweep", sort=False):
            hosts = found["where"].nunique()
            pooled = hosts > MAX_HOSTS
            for chart in self.charts(found, keys):
                if pooled:
                    chart = replace(chart, panels=tuple(p for p in chart.panels if p not in ("where", "host")))
                    chart = replace(chart, caption=f"Medians and ranges over {hosts} hosts. {chart.caption}".strip())
                figure_keys = [key for key in keys if not (pooled and key == "where")]
                tested = _tested(runs[runs["sweep"] == sweep], chart.x)
                figure = vega.figure(chart, found, id=anchor(f"{chart.id}-{sweep}"), keys=figure_keys, tested=tested)
                if figure:
                    title = str(found["sweep_title"].iloc[0] or sweep)
                    caption = f"{fmt.sentence(title)}. {figure.caption}".strip() if titles else figure.caption
                    yield replace(figure, caption=caption)

    def keys(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return one row of `KEY_COLUMNS` per cell. `value`, `low` and `high` cover all repeats. `run` is the first
        repeat.
        """
        from parsers.frames import pd

        parts = [part for key in self.KEYS or _metrics(rows) if len(part := _cells(key, rows))]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(KEY_COLUMNS))


def _tested(runs: pd.DataFrame, axis: str) -> list[float]:
    """Return the tested axis values, including cells without a number."""
    import json

    values = (json.loads(text).get(axis) for text in runs["axes"].unique())
    return sorted({float(value) for value in values if isinstance(value, int | float)})


MAX_KEYS: Final = 2
"""Metrics of a program that have key numbers for the best cells."""


def _metrics(rows: pd.DataFrame) -> Iterator[Key]:
    """Yield the first metrics with a direction, for programs with named metrics in the experiment."""
    if not len(rows) or get_parser(str(rows["tool"].iloc[0])).METRICS:
        return
    named = rows.loc[rows["better"] != "neither", "title"]
    for i, title in enumerate(list(dict.fromkeys(named))[:MAX_KEYS]):
        yield Key(name=str(title), rank=Tool.RANK + i, where={"title": title}, context="{cell}")


def _cells(key: Key, rows: pd.DataFrame) -> pd.DataFrame:
    picked = points.select(Chart(id="", title="", x="value", where=key.where), rows)
    if not len(picked):
        return picked
    cells = picked.groupby(["where", "program", "point_id", "series"], sort=False)
    first = cells.first()
    out = first.assign(
        name=key.name, rank=key.rank, low=cells["value"].min(), high=cells["value"].max(), n=cells.size(), value=cells["value"].median(),
        flags=cells["flags"].agg(points.union), run=cells["run"].first(),
        **{name: first[column] if (column := getattr(key, name)) in first else None for name in ("size", "source", "target", "device")},
    ).reset_index()  # fmt: skip
    out["context"] = [_context(key.context, row) for row in first.reset_index().to_dict("records")]
    out["tail"] = _tails(key, rows, out) if key.tail else None
    return out[list(KEY_COLUMNS)]


def _context(template: str, row: Mapping[Any, Any]) -> str:
    """Return a template filled with a row. Parts with a missing value are left out."""
    words = []
    for part in template.split(", "):
        names = [name.partition("}")[0] for name in part.split("{")[1:]]
        values = {name: row.get(name) for name in names}
        if all(value not in (None, "") and value == value for value in values.values()):
            text = part.format(**{name: _plain(value) for name, value in values.items()})
            words.append("1 thread" if text == "1 threads" else text)
    return ", ".join(filter(None, words))


def _plain(value: Any) -> str:  # noqa: ANN401 (a value of a frame)
    return grid.text(int(value) if isinstance(value, float) and value.is_integer() else value)


def _tails(key: Key, rows: pd.DataFrame, cells: pd.DataFrame) -> list[float | None]:
    """Return the p99.9 of each cell, or None."""
    picked = points.select(Chart(id="", title="", x="value", where={**key.where, **key.tail}), rows)
    medians = picked.groupby(["where", "point_id"])["value"].median()
    return [medians.get((where, point)) for where, point in zip(cells["where"], cells["point_id"], strict=True)]
