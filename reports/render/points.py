"""The points of a figure from the rows of a chart, with labels and numbers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from reports.chart import Chart
from reports.document import Column, Interval, Table
from reports.render import grid
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

MANY: Final = 12
"""From this many points of a line on, ranges are a band."""

_BY_VALUE: Final = frozenset(
    [
        "where",
        "host",
        "place",
        "program",
        "program_name",
        "kernel",
        "rw",
        "access",
        "curve",
        "statistic",
        "kind",
        "benchmark",
        "name",
        "traffic",
        "transfer",
        "pages",
        "section",
    ]
)
"""Columns with self-explanatory values. Values of other columns have a name: "bs 4k"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """The points of a figure, one row per point.

        panel, series  str    labels of panel and line
        x, y                  in a row of names, y is the name
        median, low, high, n  of the repeats
        flags          str    ids of any repeat
        segment        int    a part of a line, without gaps in x that other lines fill

    The columns `panels` and `color` identify panels and lines.
    """

    frame: pd.DataFrame
    panels: list[str]
    color: list[str]
    unit: str

    @property
    def many(self) -> bool:
        return bool(self.frame.groupby(["panel", "series"])["x"].size().max() > MANY)


def select(chart: Chart, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that match the chart's `where`, transformed by the chart's `rows`."""
    for column, value in chart.where.items():
        if column not in rows:
            return rows[:0]
        rows = rows[rows[column].isin(value if isinstance(value, tuple | list | set | frozenset) else [value])]
    if chart.rows and len(rows):
        rows = chart.rows(rows)
    return rows.dropna(subset=[chart.x, chart.y]) if len(rows) and {chart.x, chart.y} <= {*rows.columns} else rows[:0]  # fmt: skip


def title(chart: Chart, rows: pd.DataFrame) -> str:
    """Return the first title that holds for the rows without flags. The default is the plotted quantity."""
    usable = rows[rows["flags"] == ""] if "flags" in rows else rows
    for template in chart.titles if len(usable) else ():
        values = template.values(usable)
        if values is not None:
            return template.template.format(**{key: grid.text(value) for key, value in values.items()})
    return chart.title


def group(chart: Chart, rows: pd.DataFrame, keys: Sequence[str] = (), tested: Sequence[float] = ()) -> Points:
    """Return the points of some rows. Joined rows have equal values in `keys`. `tested` holds the tested values of
    x.
    """
    position = {"heat": ["x", "y"], "line": ["x"], "steps": ["x"], "bars": ["x"]}.get(chart.kind, ["y"])
    value = {"heat": "value", "line": "y", "steps": "y", "bars": "y"}.get(chart.kind, "x")
    if "flags" not in rows:
        rows = rows.assign(flags="")
    rows = rows.assign(x=rows[chart.x], y=rows[chart.y])
    panels = [name for name in chart.panels if _varies(rows, name)]
    color = [chart.color] if chart.color and chart.kind != "heat" and _varies(rows, chart.color) else []
    at = [chart.order] if chart.order in rows else [*position, *(["where"] if chart.kind == "strip" else [])]
    fixed = (*panels, *color, *at, chart.x, chart.y)
    (panels if chart.kind == "heat" else color).extend(
        _splitting(rows, [*at, *panels, *color], [key for key in keys if key not in fixed])
    )
    extra = [name for name in ("x2", "x") if name in rows and name not in (*panels, *color, *at, value)]
    out = rows.groupby([*panels, *color, *at], sort=False, dropna=False, as_index=False).agg(
        median=(value, "median"), low=("low" if "low" in rows else value, "min"), high=("high" if "high" in rows else value, "max"),
        n=(value, "size"), flags=("flags", union), **{name: (name, "median") for name in extra},
    )  # fmt: skip
    if value != "value":
        out[value] = out["median"]
    if chart.log_y and value == "y":
        out = out[out["median"] > 0]
    out["panel"] = [_words(panels, row) for row in _tuples(out, panels)]
    out["series"] = [_words(color, row) for row in _tuples(out, color)]
    order = chart.order or ("x" if position == ["x"] else "")
    out = (out.sort_values(order, kind="stable") if order else out).reset_index(drop=True)
    out["segment"] = _segments(out, tested) if chart.kind == "line" and not chart.order else 0
    unit = chart.y_unit or (str(rows["unit"].iloc[0]) if "unit" in rows and chart.kind != "steps" else "")
    return Points(frame=out, panels=panels, color=color, unit=unit)


def union(flags: Iterable[str]) -> str:
    """Return the flag ids of several cells without duplicates."""
    return ", ".join(sorted({key for text in set(flags) for key in text.split(", ") if key}))


def _varies(rows: pd.DataFrame, column: str) -> bool:
    return column in rows and rows[column].nunique(dropna=False) > 1


def _splitting(rows: pd.DataFrame, by: list[str], keys: Sequence[str]) -> list[str]:
    """Return the columns of `keys` that split groups of `by`. Other columns are constant or redundant."""
    out: list[str] = []
    count = rows.groupby(by, dropna=False).ngroups
    for key in keys:
        if _varies(rows, key) and (split := rows.groupby([*by, *out, key], dropna=False).ngroups) > count:
            out.append(key)
            count = split
    return out


def _tuples(frame: pd.DataFrame, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    return zip(*(frame[name] for name in columns), strict=True) if columns else iter([()] * len(frame))


def _words(columns: Sequence[str], row: Sequence[Any]) -> str:
    """Return the label of a line or panel, such as "bs 4k, n01", without missing values."""
    words = []
    for name, value in zip(columns, row, strict=True):
        missing = value is None or value != value
        text = "" if missing else f"{value:g}" if isinstance(value, float) and abs(value) < 1e6 else grid.text(value)  # fmt: skip
        words.append(text if name in _BY_VALUE or not text else f"{name.replace('_', ' ')} {text}")
    return ", ".join(filter(None, words))


def _segments(points: pd.DataFrame, tested: Sequence[float]) -> pd.Series[int]:
    """Return the segment index of each point within a line. `points` is in the order of x."""
    at = points["x"].copy()
    for _, panel in points.groupby("panel", sort=False):
        ranks = {x: i for i, x in enumerate(sorted({*panel["x"], *tested}))}
        at[panel.index] = panel["x"].map(ranks)
    gaps = at.groupby([points["panel"], points["series"]]).diff().fillna(1) != 1
    return gaps.groupby([points["panel"], points["series"]]).cumsum().astype(int)


def heading(chart: Chart, axis: str) -> str:
    """Return the title of an axis without the unit."""
    column = chart.x if axis == "x" else chart.y
    named = "" if column in ("value", "name", "where") else column.replace("_", " ")
    return (chart.x_title if axis == "x" else chart.y_title) or named


def table(chart: Chart, points: Points) -> Table:
    """Return the numbers of a figure, one row per point."""
    by_name = chart.kind in ("points", "forest", "strip")
    at = ["x", "y"] if chart.kind == "heat" else ["y"] if by_name else ["x"]
    position = "where" if chart.kind == "strip" else chart.order
    keys = [*points.panels, *points.color, *([position] if position in points.frame else [])]
    repeated = bool((points.frame["n"] > 1).any()) or chart.kind == "forest"
    measured = "" if chart.kind == "heat" else heading(chart, "x" if by_name else "y")
    columns = [Column(name=name, title=name.replace("_", " ")) for name in keys]
    for axis in at:
        unit = chart.x_unit if axis == "x" else ""
        columns.append(Column(name=getattr(chart, axis), title=heading(chart, axis), unit=unit))
    columns.append(Column(name="median", title=measured or "value", unit=points.unit))
    columns += [Column(name="range"), Column(name="repeats")] if repeated else []
    rows = []
    for row in points.frame.to_dict("records"):
        cells = [None if value != value else value for value in (row[name] for name in (*keys, *at, "median"))]  # fmt: skip
        if repeated:
            cells += [Interval(row["low"], row["high"], points.unit) if row["low"] < row["high"] else None, int(row["n"])]  # fmt: skip
        rows.append(tuple(int(v) if isinstance(v, float) and v.is_integer() else v for v in cells))
    flags, shape = tuple(points.frame["flags"]), chart.kind in ("steps", "bars")
    return Table(columns=tuple(columns), rows=tuple(rows), id=f"{chart.id}-numbers", flags=flags if any(flags) else (), most=4 if shape else 20, spread=shape)  # fmt: skip


def caption(chart: Chart, points: Points) -> str:
    """Return the caption: an explanation of the marks, and the chart's own line."""
    most, least = int(points.frame["n"].max()), int(points.frame["n"].min())
    repeats = f"{'' if most == least else 'up to '}{fmt.plural(most, 'repeat')}"
    median = f"median of {repeats}" if most > 1 else ""
    marks = ""
    if chart.kind == "heat":
        marks = ", ".join(filter(None, (fmt.scale_for(points.frame["median"], points.unit).unit, median)))
        marks += "." if marks else ""
    elif median and chart.kind in ("line", "points"):
        name = {"line": "Lines", "points": "Points"}[chart.kind]
        ranges = "bands" if points.many and chart.kind == "line" else "bars"
        marks = f"{name} show the {median}, {ranges} the range."
    flagged = bool((points.frame["flags"] != "").any()) and chart.kind not in ("heat", "bars", "steps")
    return " ".join(filter(None, (marks, chart.caption, "Open points are flagged." if flagged else "")))


def description(chart: Chart, points: Points) -> str:
    """Return the picture as text: the subject, and the first and last value of each line."""
    parts = []
    for (panel, series), line in points.frame.groupby(["panel", "series"], sort=False):
        if chart.kind == "line" and len(line) > 1:
            ends = (f"{grid.text(line['median'].iloc[i], points.unit)} at {_level(line['x'].iloc[i], chart.x_unit)}" for i in (0, -1))  # fmt: skip
            text = " to ".join(ends)
        else:
            text = fmt.plural(len(line), "value")
        parts.append(": ".join(filter(None, (_joined(str(panel), str(series)), text))))
    return f"{chart.title}. {'; '.join(parts[:8])}."


def tips(chart: Chart, points: Points) -> list[str]:
    """Return the tooltip of each point, such as "local: 4 · 43.9 GB/s (43.4 to 44.3 GB/s) · ⚠ S3"."""
    out = []
    for row in points.frame.to_dict("records"):
        name = _joined(row["panel"], row["series"], str(row["where"]) if chart.kind == "strip" else "")
        at = _level(row["x"], chart.x_unit) if chart.kind in ("line", "steps", "bars") else f"{row['y']}"
        value = grid.text(
            row["median"],
            points.unit or (chart.x_unit if chart.kind not in ("line", "steps", "bars") else ""),
        )
        spread = f" ({grid.text(Interval(row['low'], row['high'], points.unit))})" if row["low"] < row["high"] else ""
        flags = f" · ⚠ {row['flags']}" if row["flags"] else ""
        out.append(f"{name}{': ' if name else ''}{at} · {value}{spread}{flags}")
    return out


def _level(value: float, unit: str) -> str:
    """Return an axis value in the chosen spelling."""
    return grid.text(int(value) if float(value).is_integer() else value, unit)


def _joined(*parts: str) -> str:
    return ", ".join(filter(None, parts))
