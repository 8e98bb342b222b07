"""A figure as SVG for a page: drawn by vl-convert, escaped and reduced to a third of the size.

Colours remain attributes (light theme), so that a picture is complete outside of the page. The page recolours pictures
by attribute selectors.
"""

from __future__ import annotations

import copy
import functools
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any, Final

from parsers.errors import UserError
from reports.document import Figure
from reports.text.plain import printable

VEGA_LITE: Final = "5.20"
"""The Vega-Lite that draws. Pinned, so that the same data gives the same picture with the next vl-convert."""

SERIES: Final = ("#2B7BBF", "#D4620F", "#1B6B4A", "#6B2A6B")
ORDERED: Final = ("#173A7A", "#6B35B5", "#A5508C", "#D63A35", "#C4872F")
INK, MUTE, GREY, GRID, AXIS, PAPER = "#16191D", "#5B6470", "#7C8794", "#E3E6EA", "#9AA3AE", "#FFFFFF"
HEAT: Final = "#C2500A"
FONT: Final = "Inter,'Helvetica Neue',Arial,'Liberation Sans',sans-serif"

THEME: Final = {
    "background": None, "padding": {"left": 14, "right": 14, "top": 4, "bottom": 4}, "font": FONT, "view": {"stroke": None},
    "axis": {
        "labelColor": MUTE, "labelFontSize": 12, "titleColor": MUTE, "titleFontSize": 12, "titleFontWeight": "normal", "domainColor": AXIS,
        "tickColor": AXIS, "tickSize": 4, "gridColor": GRID, "labelOverlap": "greedy", "labelLimit": 260, "labelSeparation": 6,
    },
    "axisX": {"grid": False, "titleAnchor": "end"},
    "axisY": {
        "domain": False, "ticks": False, "titleAngle": 0, "titleAnchor": "start", "titleAlign": "left", "titleX": 0, "titleY": -9,
        "titleBaseline": "bottom",
    },
    "legend": {
        "orient": "top", "title": None, "labelColor": INK, "labelFontSize": 12, "labelLimit": 260, "columns": 4, "symbolType": "stroke",
        "symbolStrokeWidth": 3, "symbolOpacity": 1, "offset": 30,
    },
    "header": {
        "title": None, "labelColor": INK, "labelFontSize": 13, "labelFontWeight": 600, "labelAnchor": "start", "labelLimit": 300,
        "labelPadding": 28,
    },
    "facet": {"spacing": 28},
}  # fmt: skip


def plain(text: str) -> str:
    """Return a text that SVG may hold."""
    return printable(text).replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")


def draw(figure: Figure, uid: str = "") -> str:
    """Return `<svg …>…</svg>` for inlining. Ids begin with `uid`, by default the figure's id. All texts are escaped.

    Raises UserError if vl-convert is not installed.
    """
    text = converter().vegalite_to_svg(dict(figure.spec), vl_version=VEGA_LITE, config=THEME)
    uid = uid or re.sub(r"[^A-Za-z0-9]", "-", figure.id)
    source = ET.fromstring(text)
    width, height = source.attrib["width"], source.attrib["height"]
    attributes = {
        "class": "ch", "xmlns": "http://www.w3.org/2000/svg", "width": width, "height": height, "viewBox": f"0 0 {width} {height}",
        "role": "img", "aria-labelledby": f"{uid}-d", "font-family": FONT, "font-size": "12",
    }  # fmt: skip
    root = ET.Element("svg", attributes)
    ET.SubElement(root, "desc", {"id": f"{uid}-d"}).text = plain(figure.description or figure.title)
    for child in source:
        root.extend(_walk(child, uid))
    return ET.tostring(root, encoding="unicode")


def runtime(figure: Figure) -> dict[str, Any]:
    """Return a line figure as Vega for a page with scripts, with axes for zooming and panning."""
    spec = copy.deepcopy(dict(figure.spec))
    body = spec.get("spec", spec)
    lines = next(layer for layer in body["layer"] if layer["mark"]["type"] == "line")
    lines["params"] = [{"name": "zoom", "select": "interval", "bind": "scales"}]
    for layer in body["layer"]:
        layer["mark"]["clip"] = layer["mark"]["type"] != "text"
    made: dict[str, Any] = converter().vegalite_to_vega(spec, vl_version=VEGA_LITE, config=THEME)
    return made


def is_zoomable(figure: Figure) -> bool:
    """Return whether the figure has lines and quantitative axes."""
    body = figure.spec.get("spec", figure.spec)
    kinds = {layer["mark"]["type"] for layer in body.get("layer", ())}
    return "line" in kinds and body["encoding"]["x"]["type"] == "quantitative"


def font_folder() -> Path:
    """Return the folder of the fonts that all pictures are set in."""
    return Path(str(resources.files("reports").joinpath("fonts")))


@functools.cache
def converter() -> Any:  # noqa: ANN401 (has no types)
    """Return vl-convert with our fonts for measuring text. Raises UserError if vl-convert is not installed."""
    try:
        import vl_convert
    except ImportError as error:
        where, what = "report", "charts are drawn by vl-convert, which is not installed"
        raise UserError(where, what, "pip install vl-convert-python") from error
    vl_convert.register_font_directory(str(font_folder()))
    return vl_convert


_SVG: Final = "{http://www.w3.org/2000/svg}"
_LONG: Final = re.compile(r"-?\d+\.\d{2,}")
_PLACES: Final = ("d", "transform", "x", "y", "x2", "y2", "width", "height")
_DROPPED: Final = (
    "class",
    "role",
    "pointer-events",
    "cursor",
    "aria-roledescription",
    "aria-hidden",
    "aria-label",
    "style",
    "font-family",
)
_DEFAULTS: Final = {
    "opacity": "1", "stroke-width": "1", "font-weight": "normal", "font-size": "12px", "transform": "translate(0,0)", "x2": "0", "y2": "0",
}  # fmt: skip
"""Values that an attribute has anyway, or from the root."""
_TITLED: Final = ("point", "bar", "rect mark")
_AS_TEXT: Final = {SERIES[0]: "#1F6CAB", SERIES[1]: "#B34F08", ORDERED[4]: "#8A5A12", GREY: MUTE}
"""Line colours that are too light for text on white → text colours with a contrast of 4.5 and more."""


def _walk(node: ET.Element, uid: str) -> Iterator[ET.Element]:
    """Yield the visible parts of a node, without empty groups, classes and roles. The label of a mark becomes a
    title.
    """
    tag = node.tag.removeprefix(_SVG)
    if node.get("class") in ("background", "foreground") or (tag == "path" and not node.get("d")):
        return
    if tag == "text" and not (node.text or "").strip():
        return
    attributes = {
        name: _LONG.sub(lambda match: f"{float(match[0]):.1f}", value) if name in _PLACES else value
        for name, value in node.attrib.items()
        if name not in _DROPPED and _DEFAULTS.get(name) != value
    }
    if "id" in attributes:
        attributes["id"] = f"{uid}-{attributes['id']}"
    for name in ("clip-path", "fill", "stroke"):
        if attributes.get(name, "").startswith("url(#"):
            attributes[name] = attributes[name].replace("url(#", f"url(#{uid}-")
    if tag == "text":
        color = attributes.get("fill", INK)
        attributes["fill"] = _AS_TEXT.get(color, color)
    out = ET.Element(tag, attributes)
    out.text = node.text
    if node.get("aria-roledescription") in _TITLED and node.get("aria-label"):
        ET.SubElement(out, "title").text = node.get("aria-label")
    out.extend(inner for child in node for inner in _walk(child, uid))
    if tag == "g" and not out.attrib:
        yield from out
    elif tag != "g" or len(out):
        yield out
