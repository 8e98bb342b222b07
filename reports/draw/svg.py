"""Vega's SVG made fit for the page: a third of its size, same picture. Text in, text out.

Vega writes for machines: empty groups, a path per dot, 14 decimals, roles on every group. What is kept is what is
seen. Colours stay presentation attributes (light theme), so that a figure is complete outside of the page; the
page re-colours them by attribute selectors (`[fill="#2B7BBF"]`).
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

_SVG = "{http://www.w3.org/2000/svg}"
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?|-?\d+e-\d+")
_CIRCLE = re.compile(r"M(-?[\d.]+),0A\1,\1,0,1,1,-?[\d.]+,0A\1,\1,0,1,1,\1,0")
_RECTANGLE = re.compile(r"M(-?[\d.]+),(-?[\d.]+)h(-?[\d.]+)v(-?[\d.]+)h-?[\d.]+Z")
_TRANSLATE = re.compile(r"translate\((-?[\d.e-]+),(-?[\d.e-]+)\)")
_DROPPED = ("class", "role", "pointer-events", "cursor")
_DEFAULTS = {
    "opacity": "1",
    "fill-opacity": "1",
    "stroke-opacity": "1",
    "stroke-miterlimit": "10",
    "text-anchor": "start",
    "font-weight": "normal",
    "font-style": "normal",
    "stroke-width": "1",
    "stroke-dasharray": "1,0",
}  # fmt: skip
FONT = "Inter,'Helvetica Neue',Arial,'Liberation Sans',sans-serif"


_AS_TEXT = {"#2B7BBF": "#1F6CAB", "#D4620F": "#B34F08", "#C4872F": "#8A5A12", "#7C8794": "#5B6470", "#5A9AD6": "#2F6FA8", "#E0883C": "#9C5A14"}  # fmt: skip
"""Colours of lines that are too light for 12 px of text on white, and what a name beside such a line has: contrast of 4.5 and more. What
a page draws anew gets them from report.css."""


def tidy(text: str, uid: str, description: str) -> str:
    """Return `<svg …>…</svg>` for inlining: a name for assistive technology, ids unique to `uid`, width and height.

    `text` is what vl-convert drew, `description` says in words what the picture shows.
    """
    source = ET.fromstring(text)
    width, height = source.attrib["width"], source.attrib["height"]
    root = ET.Element(
        "svg",
        {
            "class": "ch",
            "xmlns": "http://www.w3.org/2000/svg",
            "width": width,
            "height": height,
            "viewBox": f"0 0 {width} {height}",
            "role": "img",
            "aria-labelledby": f"{uid}-d",
            "font-family": FONT,
            "font-size": "12",
        },
    )
    named = ET.SubElement(root, "desc", {"id": f"{uid}-d"})
    named.text = description
    for child in source:
        root.extend(_walk(child, uid))
    return ET.tostring(root, encoding="unicode")


def _walk(node: ET.Element, uid: str) -> Iterator[ET.Element]:
    tag = node.tag.removeprefix(_SVG)
    if node.get("class") in ("background", "foreground"):  # of groups: nothing is painted in our theme
        return
    attributes = {
        name: _number(value, 2 if name.endswith("opacity") else 1)
        for name, value in node.attrib.items()
        if name not in _DROPPED and not name.startswith("aria-") and _DEFAULTS.get(name) != value
    }
    if tag == "path" and (box := _RECTANGLE.fullmatch(node.get("d", ""))):
        attributes["d"] = _rectangle(*map(float, box.groups()))
    if "id" in attributes:
        attributes["id"] = f"{uid}-{attributes['id']}"
    for name in ("clip-path", "fill", "stroke"):
        if attributes.get(name, "").startswith("url(#"):
            attributes[name] = attributes[name].replace("url(#", f"url(#{uid}-")
    if attributes.get("transform") in ("translate(0,0)",):
        del attributes["transform"]
    if tag == "text":
        yield from _text(node, attributes)
    elif tag == "path" and (circle := _CIRCLE.fullmatch(attributes.get("d", ""))):
        yield _circle(attributes, float(circle[1]))
    elif tag == "line":
        yield _line(attributes)
    elif tag == "path" and not attributes.get("d"):
        return
    else:
        children = [out for child in node for out in _walk(child, uid)]
        if tag == "g":
            children = _joined(children)
            if not children:
                return
            if not attributes or attributes == {"fill": "none"}:
                yield from children
                return
        out = ET.Element(tag, attributes)
        out.extend(children)
        yield out


def _text(node: ET.Element, attributes: dict[str, str]) -> Iterator[ET.Element]:
    if not (node.text or "").strip():
        return
    for name in ("font-family", "font"):
        attributes.pop(name, None)
    size = attributes.pop("font-size", "12px").removesuffix("px")
    if size != "12":
        attributes["font-size"] = size
    if (fill := attributes.get("fill", "")) in _AS_TEXT:
        attributes["fill"] = _AS_TEXT[fill]
    _unfold(attributes, "x", "y")
    out = ET.Element("text", attributes)
    out.text = node.text
    yield out


def _circle(attributes: dict[str, str], radius: float) -> ET.Element:
    attributes.pop("d")
    _unfold(attributes, "cx", "cy")
    if "stroke" not in attributes:
        attributes.pop("stroke-width", None)
    attributes["r"] = _short(radius)
    return ET.Element("circle", attributes)


def _rectangle(x: float, y: float, width: float, height: float) -> str:
    """Round the edges, not the sides: what touches its neighbour still does, and no light shines through."""
    across, down = (round(to + by, 1) - round(to, 1) for to, by in ((x, width), (y, height)))
    return f"M{_short(x)},{_short(y)}h{_short(across)}v{_short(down)}h{_short(-across)}Z"


def _line(attributes: dict[str, str]) -> ET.Element:
    """A line as a path, so that neighbours of one look can be joined. Vega gives its start as a translation."""
    match = _TRANSLATE.fullmatch(attributes.pop("transform", "translate(0,0)"))
    assert match is not None
    x, y = float(match[1]), float(match[2])
    dx, dy = float(attributes.pop("x2", "0")), float(attributes.pop("y2", "0"))
    end = (
        f"H{_short(x + dx)}"
        if dy == 0
        else f"V{_short(y + dy)}"
        if dx == 0
        else f"L{_short(x + dx)} {_short(y + dy)}"
    )
    return ET.Element("path", {**attributes, "d": f"M{_short(x)} {_short(y)}{end}"})


def _joined(children: list[ET.Element]) -> list[ET.Element]:
    """Join runs of straight lines of one look into one path, and of shades of a map, which do not overlap."""
    out: list[ET.Element] = []
    for child in children:
        look = {k: v for k, v in child.attrib.items() if k != "d"}
        if (
            out
            and child.tag == out[-1].tag == "path"
            and (("stroke" in look and child.get("fill") in (None, "none")) or _is_shade(child))
            and look == {k: v for k, v in out[-1].attrib.items() if k != "d"}
        ):
            out[-1].set("d", out[-1].attrib["d"] + child.attrib["d"])
        else:
            out.append(child)
    return out


def _is_shade(path: ET.Element) -> bool:
    return (
        path.get("stroke-width") == "0" and "fill-opacity" in path.attrib and path.attrib["d"].endswith("Z")
    )


def _unfold(attributes: dict[str, str], x: str, y: str) -> None:
    """Write a plain translation as a position."""
    if match := _TRANSLATE.fullmatch(attributes.get("transform", "translate(0,0)")):
        attributes.pop("transform", None)
        attributes[x], attributes[y] = match[1], match[2]


def _number(text: str, decimals: int) -> str:
    """Return a text with its numbers of so many decimals: a tenth of a pixel is not seen, a tenth of an opacity is."""
    return _NUMBER.sub(lambda m: _short(float(m[0]), decimals), text)


def _short(value: float, decimals: int = 1) -> str:
    text = f"{value:.{decimals}f}".rstrip("0").removesuffix(".")
    return "0" if text == "-0" else text
