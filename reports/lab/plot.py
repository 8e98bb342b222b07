"""A script of some 15 lines that draws data.csv with what pinsweep itself is drawn with, to begin one's own figures from. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_SCRIPT = '''\
"""Draws data.csv as plot.svg and plot.pdf: a start for figures of your own. Needs pandas and vl-convert-python, as pinsweep itself."""
from pathlib import Path

import pandas as pd
import vl_convert

TOOL, METRIC, X, BY = {tool!r}, {metric!r}, {x!r}, {by!r}

here = Path(__file__).parent
data = pd.read_csv(here / "data.csv", low_memory=False)
data = data[(data["tool"] == TOOL) & (data["metric"] == METRIC)].rename(columns={{X: "x"}})
data["line"] = data[BY].map(str).agg(", ".join, axis="columns")
rows = data.groupby(["line", "x"])["value"].agg(["median", "min", "max"]).reset_index()  # of the repeats
y = {{"type": "quantitative", "title": f"{{METRIC}}, {{data['unit'].iloc[0]}}"}}
bars = {{"mark": "rule", "encoding": {{"y": {{**y, "field": "min"}}, "y2": {{"field": "max"}}}}}}
lines = {{"mark": {{"type": "line", "point": True}}, "encoding": {{"y": {{**y, "field": "median"}}}}}}
shared = {{"x": {{"field": "x", "type": "quantitative", "title": X{scale}}}, "color": {{"field": "line", "title": ", ".join(BY)}}}}
spec = {{"width": 480, "height": 300, "data": {{"values": rows.to_dict("records")}}, "encoding": shared, "layer": [bars, lines]}}
(here / "plot.svg").write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
(here / "plot.pdf").write_bytes(vl_convert.vegalite_to_pdf(spec))
'''

_NO_AXIS = {
    "file", "host", "session", "point_id", "run_id", "repeat", "value", "row", "run", "table", "tool", "metric", "unit",
    "program_sha256", "repetitions",
}  # fmt: skip
_NO_SERIES = _NO_AXIS - {"host"} | {"program_version"}


def snippet(frame: pd.DataFrame) -> str:
    """Return the script for the long table of all numbers; "" for an empty one.

    It shows the first tool's most frequent metric over the numeric column with the most values, a line for each
    combination of the columns that differ.
    """
    if frame.empty:
        return ""
    tool = frame["tool"].iloc[0]
    own = frame[frame["tool"] == tool].dropna(axis="columns", how="all")
    metric = own["metric"].value_counts(sort=True).sort_index(kind="stable").idxmax()
    own = own[own["metric"] == metric].dropna(axis="columns", how="all")
    axes = {c: own[c].nunique() for c in own.columns if c not in _NO_AXIS and own[c].dtype.kind in "iufI"}
    x = max(axes, key=lambda c: axes[c]) if axes and max(axes.values()) > 1 else "repeat"
    by = [c for c in own.columns if c not in _NO_SERIES and c != x and 1 < own[c].nunique() <= 12]
    for column in by[::-1]:
        others = [c for c in by if c != column]
        if others and _groups(own, others) == _groups(own, by):  # what the others tell already
            by = others
    by = by or ["sweep"]
    values = own[x].dropna()
    wide = len(values) > 0 and values.min() >= 0 and values.max() > 64 * max(values[values > 0].min(), 1e-9)
    scale = ', "scale": {"type": "symlog"}' if wide else ""
    return _SCRIPT.format(tool=str(tool), metric=str(metric), x=x, by=by, scale=scale)


def _groups(frame: pd.DataFrame, by: list[str]) -> int:
    return len(frame[by].drop_duplicates())
