"""A script of some 15 lines that draws data.csv with what pinsweep itself is drawn with, to begin one's own figures from. Pure."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd

_SCRIPT: Final = '''\
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

_FIXED: Final = frozenset(
    {"tool", "file", "session", "sweep", "point_id", "run_id", "repeat", "metric", "unit", "value", "doubted_by", "program_sha256", "program_version", "repetitions"}
)  # fmt: skip
"""Columns that are neither axis nor label."""
_METRICS: Final = ("iops", "bandwidth", "latency", "time")
"""Preferred metrics, in this order."""
_CURVE: Final = 5
"""Number of values of a label in a run from which the label is an axis: message sizes, delays."""
_MAX_TICKS: Final = 16


def snippet(frame: pd.DataFrame) -> str:
    """Return a plotting script for the long table of all numbers, or "" for an empty table.

    The script draws a metric of the sweep with the most cells over the axis with the most values. The other axes make
    the lines. A label that is not an axis has the first value.
    """
    if frame.empty:
        return ""
    cells = frame.groupby(["tool", "sweep"], sort=False)["point_id"].nunique()
    tool, sweep = map(str, cells.index[int(cells.argmax())])
    rows = frame[(frame["tool"] == tool) & (frame["sweep"] == sweep)]
    metrics = list(rows["metric"].unique())
    metric = next((name for name in _METRICS if name in metrics), metrics[0])
    rows = rows[rows["metric"] == metric]
    numeric = set(map(str, rows.select_dtypes("number").columns))
    varying = [c for c in map(str, rows.columns) if c not in _FIXED and rows[c].nunique(dropna=False) > 1]
    runs = rows.groupby(["file", "run_id"])
    within = {c: int(runs[c].nunique(dropna=False).max()) for c in varying}
    axes = [c for c in varying if within[c] == 1 or (c in numeric and within[c] >= _CURVE)]
    labels = {c: _plain(rows[c].iloc[0]) for c in varying if c not in axes}
    x = max(axes, key=lambda c: (c in numeric, rows[c].nunique()), default="repeat")
    fixed = {"tool": tool, "sweep": sweep, "metric": metric, **labels}
    what = f"{metric} of sweep {sweep}".replace("\\", "").replace('"', "")
    by = [c for c in axes if c != x] or ["sweep"]
    return _SCRIPT.format(what=what, rows=fixed, x=x, by=by, scale=_scale(rows[x]))


def _plain(value: Any) -> Any:  # noqa: ANN401 (of a frame)
    """Return a value in Python syntax. An empty cell gives None."""
    value = value.item() if hasattr(value, "item") else value
    return None if pd.isna(value) else value


def _scale(x: pd.Series) -> str:
    """Return the kind of an axis, with few ticks as explicit values. Widely spread values make the axis logarithmic."""
    if x.dtype.kind not in "iuf":
        return '"type": "ordinal", "sort": None'
    values = sorted(x.dropna().unique().tolist())
    ticks = f', "axis": {{"values": {values}, "labelOverlap": True}}' if len(values) <= _MAX_TICKS else ""
    above = [value for value in values if value > 0]
    is_wide = bool(above) and values[0] >= 0 and values[-1] > 64 * above[0]
    scale = f', "scale": {{"type": "{"symlog" if values[0] == 0 else "log"}"}}' if is_wide else ""
    return f'"type": "quantitative"{ticks}{scale}'
