"""A script of some 15 lines that draws data.csv with what pinsweep itself is drawn with, to begin one's own figures from. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from reports import numbers
from reports.results.grouping import group_by
from reports.results.model import Results

if TYPE_CHECKING:
    import pandas as pd

_SCRIPT = '''\
"""Draws {what} of data.csv as plot.svg and plot.pdf: a start for figures of your own. Needs pandas and vl-convert-python, as pinsweep itself."""
from pathlib import Path

import pandas as pd
import vl_convert

ROWS = {rows!r}  # of data.csv; None: the column is empty
X, BY = {x!r}, {by!r}

here = Path(__file__).parent
data = pd.read_csv(here / "data.csv", low_memory=False)
for column, value in ROWS.items():
    data = data[data[column].isna() if value is None else data[column].map(str) == str(value)]
data = data.assign(x=data[X], line=data[BY].map(str).agg(", ".join, axis="columns"))
rows = data.groupby(["line", "x"], sort=False)["value"].agg(["median", "min", "max"]).reset_index()  # of the repeats
y = {{"type": "quantitative", "title": f"{{ROWS['metric']}}, {{data['unit'].iloc[0]}}"}}
bars = {{"mark": "rule", "encoding": {{"y": {{**y, "field": "min"}}, "y2": {{"field": "max"}}}}}}
lines = {{"mark": {{"type": "line", "point": True}}, "encoding": {{"y": {{**y, "field": "median"}}}}}}
shared = {{"x": {{"field": "x", "title": X, {scale}}}, "color": {{"field": "line", "title": ", ".join(BY)}}}}
spec = {{"width": 480, "height": 300, "data": {{"values": rows.to_dict("records")}}, "encoding": shared, "layer": [bars, lines]}}
(here / "plot.svg").write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
(here / "plot.pdf").write_bytes(vl_convert.vegalite_to_pdf(spec))
'''

_NO_LABELS = {
    "file", "host", "session", "sweep", "point_id", "run_id", "repeat", "value", "row", "run", "table", "tool", "metric", "unit",
    "program_sha256", "program_version", "repetitions",
}  # fmt: skip
"""Columns that tell no cells and no rows of a run apart."""

_A_CURVE = 5
"""Different numbers of a label within a run from which on it is an axis: message sizes, delays."""

_MOST_LINES = 12
_MOST_TICKS = 16


class _Plot(NamedTuple):
    """What is drawn."""

    rows: dict[str, Any]  # column → value of the rows of the table; None: it is empty
    x: str
    by: list[str]  # a line for each combination of these columns
    drawn: pd.DataFrame  # these rows


def snippet(frame: pd.DataFrame, results: Results) -> str:
    """Return the script for the long table of all numbers of some results; "" for an empty one.

    It shows the number that stands for a run (`reports.numbers.leading`) of the sweep with the most cells: over what a run has a curve of,
    else over the axis with the most values; a line for each combination of the others.
    """
    if frame.empty:
        return ""
    plot = _chosen(frame, results)
    sweep, metric = plot.rows["sweep"], plot.rows["metric"]
    what = f"{metric} of sweep {sweep}".replace("\\", "").replace('"', "")
    return _SCRIPT.format(what=what, rows=plot.rows, x=plot.x, by=plot.by, scale=_scale(plot.drawn[plot.x]))


def _chosen(frame: pd.DataFrame, results: Results) -> _Plot:
    cells = frame.groupby(["tool", "sweep"], sort=False)["point_id"].nunique()
    tool, sweep = map(str, cells.index[int(cells.argmax())])
    own = frame[(frame["tool"] == tool) & (frame["sweep"] == sweep)].dropna(axis="columns", how="all")
    leading = _leading(own, results, tool)
    metric = leading["metric"].iloc[0]
    own = own[own["metric"] == metric].dropna(axis="columns", how="all")
    axes = [name for run in results.good(tool) if run.cell.sweep == sweep for name in run.cell.axes]
    axes = [name for name in dict.fromkeys((*axes, "host")) if name in own and own[name].nunique() > 1]
    within = own.groupby(["file", "run_id"])
    labels = [
        c for c in own.columns if c not in {*axes, *_NO_LABELS} and within[c].nunique(dropna=False).max() > 1
    ]
    curves = [c for c in labels if _is_numeric(own[c]) and within[c].nunique().max() >= _A_CURVE]
    x = max(curves or axes or ["repeat"], key=lambda c: (own[c].nunique(), _is_numeric(own[c])))
    fixed = {
        c: _plain(leading[c])
        for c in labels
        if c != x and c in leading and leading[c].nunique(dropna=False) == 1
    }
    for column, value in fixed.items():
        own = own[own[column].isna() if value is None else own[column] == value]
    if own[x].isna().all():  # of texts of many kinds: what stands for a run is of no curve
        x = "repeat"
    by = [c for c in (*axes, *labels) if c != x and c not in fixed and 1 < own[c].nunique() <= _MOST_LINES]
    for column in by[::-1]:
        others = [c for c in by if c != column]
        whole = own[others].notna().all(axis=None) or own[column].isna().any()
        if others and whole and _groups(own, others) == _groups(own, by):  # what the others tell already
            by = others
    rows = {"tool": tool, "sweep": sweep, "metric": str(metric), **fixed}
    return _Plot(rows=rows, x=x, by=by or ["sweep"], drawn=own)


def _leading(own: pd.DataFrame, results: Results, tool: str) -> pd.DataFrame:
    """Return the rows that stand for their runs; where none does as it is printed (IOPS of several jobs are a sum), the first metric's."""
    every = group_by(results.good(tool), lambda run: (run.file, run.record.point_id)).values()
    told = {
        (run.file, run.record.run_id): value
        for cell in every
        for run, (_, value) in zip(cell, numbers.leaders(tool, *(run.parsed for run in cell)), strict=False)
    }
    keys = zip(own["file"], own["run_id"], strict=True)
    found = own[[told.get(key) == value for key, value in zip(keys, own["value"], strict=True)]]
    words = {word.casefold() for cell in every for word in numbers.leader(cell).metric.split("/")}
    found = found if len(found) else own
    for column in ("metric", *(c for c in own.columns if own[c].dtype.kind not in "iufIb")):
        named = found[
            found[column].astype(str).str.casefold().isin(words)
        ]  # another number may have the same value
        found = named if len(named) else found
    first: pd.DataFrame = found[found["metric"] == found["metric"].iloc[0]]
    return first.drop_duplicates(["file", "run_id"])


def _is_numeric(column: pd.Series) -> bool:
    return column.dtype.kind in "iufI"


def _plain(column: pd.Series) -> Any:  # noqa: ANN401 (of a frame)
    """Return the first value of a column as Python writes it; None of an empty cell."""
    if column.isna().iloc[0]:
        return None
    value = column.iloc[0]
    return value.item() if hasattr(value, "item") else value


def _scale(x: pd.Series) -> str:
    """Return what is said of the axis: its kind, its ticks where they are few, and that it is logarithmic where values are far apart."""
    if not _is_numeric(x):
        return '"type": "ordinal", "sort": None'
    values = sorted(x.dropna().unique().tolist())
    above = [value for value in values if value > 0]
    wide = bool(above) and values[0] >= 0 and values[-1] > 64 * above[0]
    ticks = f', "axis": {{"values": {values}, "labelOverlap": True}}' if len(values) <= _MOST_TICKS else ""
    scale = f', "scale": {{"type": "{"symlog" if values[0] == 0 else "log"}"}}' if wide else ""
    return f'"type": "quantitative"{ticks}{scale}'


def _groups(frame: pd.DataFrame, by: list[str]) -> int:
    return len(frame[by].drop_duplicates())
