"""The picture of a page's figure that no tool declares yet: legend, panels and their titles. Two panels and more stand two abreast."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reports.draw import svg, vega
from reports.draw.figure import Figure as PageFigure
from reports.draw.figure import Key, Panel
from reports.draw.label_placement import text_width
from reports.text.plain import plain

_GAP = 16  # between panels, px
_TITLE = 22  # above a panel that has a title, px
_KEY = 22  # one line of the legend, px
_INK = "#16191D"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """Where a panel lies in its figure, in px; the title stands above it."""

    panel: Panel
    x: float
    y: float
    spec: vega.Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    width: float
    height: float
    cells: tuple[Tile, ...]
    keys: tuple[tuple[Key, float, float], ...]  # with the left end and the base line of each


def layout(figure: PageFigure) -> Layout:
    """Place legend and panels: one panel at its wide size, more of them two abreast at the narrow one."""
    specs = [p.wide if len(figure.panels) == 1 else p.narrow for p in figure.panels]
    sizes = [_size(spec) for spec in specs]
    abreast = 1 if len(specs) == 1 else 2
    total = max((width for width, _ in sizes), default=0) * abreast + _GAP * (abreast - 1)
    keys, y = _keys(figure.key, total)
    cells: list[Tile] = []
    for start in range(0, len(specs), abreast):
        row = range(start, min(start + abreast, len(specs)))
        head = _TITLE if any(figure.panels[i].title for i in row) else 0
        for place, i in enumerate(row):
            x = place * (total + _GAP) / abreast
            cells.append(Tile(panel=figure.panels[i], x=x, y=y + head, spec=specs[i]))
        y += head + max(sizes[i][1] for i in row) + (_GAP if start + abreast < len(specs) else 0)
    return Layout(width=total, height=y, cells=tuple(cells), keys=keys)


def _size(spec: vega.Spec) -> tuple[float, float]:
    pad = spec["padding"]
    return pad["left"] + spec["width"] + pad["right"], pad["top"] + spec["height"] + pad["bottom"]


def _keys(keys: Sequence[Key], width: float) -> tuple[tuple[tuple[Key, float, float], ...], float]:
    """Set the legend in lines; return its entries and the height that it takes."""
    placed: list[tuple[Key, float, float]] = []
    x, y = 0.0, 13.0
    for key in keys:
        need = 24 + text_width(key.name) + 14
        if x and x + need > width:
            x, y = 0.0, y + _KEY
        placed.append((key, x, y))
        x += need
    return tuple(placed), (y + 13 if keys else 0.0)


def draw(figure: PageFigure, name: str) -> str:
    """Return a figure as one SVG. Raises UserError where vl-convert is not installed."""
    placed = layout(figure)
    root = ET.Element("svg", {"width": f"{placed.width:g}", "height": f"{placed.height:g}", "viewBox": f"0 0 {placed.width:g} {placed.height:g}", "font-family": svg.FONT, "font-size": "12"})  # fmt: skip
    for key, x, y in placed.keys:
        root.extend(_key(key, x, y))
    for i, cell in enumerate(placed.cells):
        if cell.panel.title:
            title = ET.SubElement(root, "text", {"x": f"{cell.x:g}", "y": f"{cell.y - 8:g}", "fill": _INK, "font-weight": "600"})  # fmt: skip
            title.text = plain(cell.panel.title)
        picture = ET.fromstring(vega.draw(cell.spec, f"{name}-{i}", plain(cell.panel.description)))
        inner = ET.SubElement(root, "g", {"transform": f"translate({cell.x:g},{cell.y:g})"})
        inner.extend(child for child in picture if not child.tag.endswith("}desc"))
    return ET.tostring(root, encoding="unicode")


def _key(key: Key, x: float, y: float) -> Iterator[ET.Element]:
    dash = {"stroke-dasharray": "4 3"} if key.dashed else {}
    stroke = {"d": f"M{x + 1:g} {y - 4:g}h16", "fill": "none", "stroke": key.colour, "stroke-width": "2.5"}
    yield ET.Element("path", {**stroke, **dash})
    text = ET.Element("text", {"x": f"{x + 24:g}", "y": f"{y:g}", "fill": _INK})
    text.text = plain(key.name)
    yield text
