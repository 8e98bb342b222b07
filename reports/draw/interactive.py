"""Charts that answer: what a specification needs so that a reader can zoom and hide series, and how the page carries it.

The picture that stands in the page is drawn when the page is built. Where scripts run, report.js lets Vega draw the
same specification again when a reader comes to it, and sets its parameters:

    hidden              names of series that are not drawn
    zoomed              whether the axes show less than all
    x_domain, y_domain  what they show
    x_ticks, y_ticks    where their ticks are

All have the values of the still picture to begin with, so that both are drawn alike. Pure.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reports.draw import vega
from reports.draw.vega import Spec

_NUMBER = "replace(format(datum.value, ',.6~g'), /,/g, '\u202f')"


def answering(spec: Spec) -> Spec:
    """Return a filled template with the parameters above: a specification that stands on its own, as before.

    An axis without ticks stays as it is: it has rows, not a scale. Texts and what is placed in pixels belong to the
    whole picture: they go while it is zoomed, but for those beside such rows, and the names of lines, which report.js
    sets where each line ends or leaves what is shown.
    """
    fine = spec.get("usermeta", {}).get("fine", {})
    encoding = {
        channel: _zoomable(channel, given, fine.get(channel, []))
        if channel in ("x", "y") and _has_scale(given)
        else given
        for channel, given in spec["encoding"].items()
    }
    params: list[Spec] = [{"name": "hidden", "value": []}, {"name": "zoomed", "value": False}]
    for channel in ("x", "y"):
        if _has_scale(given := spec["encoding"].get(channel)):
            params += [
                {"name": f"{channel}_domain", "value": given["scale"]["domain"]},
                {"name": f"{channel}_ticks", "value": given["axis"]["values"]},
            ]
    rows = not _has_scale(spec["encoding"].get("y"))
    layers = [_layer(layer, rows) for layer in spec["layer"]]
    return {**spec, "params": params, "encoding": encoding, "layer": layers}


def _has_scale(channel: Spec | None) -> bool:
    return bool(
        channel and channel.get("axis") and "values" in channel["axis"] and channel["scale"].get("domain")
    )


def _zoomable(name: str, channel: Spec, fine: Sequence[Mapping[str, str]]) -> Spec:
    axis, scale = dict(channel["axis"]), dict(channel["scale"])
    scale["domain"] = [{"expr": f"{name}_domain[0]"}, {"expr": f"{name}_domain[1]"}]
    if "range" in scale:  # the slot beside it, for what has no place on this scale, goes
        first, last = scale["range"]
        scale["range"] = [{"expr": f"zoomed ? 0 : {first}"}, last]
    axis["values"] = {"expr": f"{name}_ticks"}
    if text := axis.get("labelExpr"):
        known = {key: said for ticks in fine for key, said in ticks.items()}
        part = f"{vega.text_of_tick(known)} || {_NUMBER}" if known else _NUMBER
        axis["labelExpr"] = f"zoomed ? {part} : {text}"
    return {**channel, "axis": axis, "scale": scale}


def _layer(layer: Spec, rows: bool) -> Spec:
    """Return a layer whose series can be hidden, and which stays in its plot or leaves when that is zoomed."""
    shown = {"filter": "indexof(hidden, datum.series) < 0"}
    out = {**layer, "transform": [shown, *layer.get("transform", [])]}
    encoding = layer.get("encoding", {})
    placed = "value" in (encoding.get("x") or {})
    if rows and placed:
        return out
    follows = layer["data"]["name"] == "names"
    text = layer["mark"]["type"] == "text" and not follows
    if not rows and (placed or "value" in (encoding.get("x2") or {}) or text):
        return {**out, "encoding": {**encoding, "opacity": {"value": {"expr": "zoomed ? 0 : 1"}}}}
    return out if follows else {**out, "mark": {**layer["mark"], "clip": {"expr": "zoomed"}}}


def series_of(spec: Spec) -> Iterator[tuple[str, str]]:
    """Yield name and colour of each series that a filled template draws."""
    scale = (spec["encoding"].get("color") or {}).get("scale") or {}
    drawn = {row.get("series") for rows in spec["datasets"].values() for row in rows}
    for name, colour in zip(scale.get("domain", ()), scale.get("range", ()), strict=True):
        if name in drawn:
            yield name, colour


def packed(charts: Mapping[str, Spec]) -> str:
    """Return compiled charts as one text: JSON, gzip, base64. The same charts give the same text.

    A figure's panels at both widths are much alike: together they take a tenth of their JSON.
    """
    slim = {uid: _slim(chart) for uid, chart in charts.items()}
    text = json.dumps(slim, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 9, mtime=0)).decode()


def _slim(value: Any) -> Any:  # noqa: ANN401 (anything JSON holds)
    """Round to what a picture can show: 7 digits."""
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, dict):
        return {key: _slim(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_slim(item) for item in value]
    return value
