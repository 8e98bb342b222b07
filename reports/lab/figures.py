"""A figure as one picture that can leave the report: legend, panels and their titles on white, and where it comes from.

Everything but `draw` is pure. Two panels and more stand two abreast at the narrow width, as on a small page.
"""

from __future__ import annotations

import functools
import struct
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from reports.document import Figure as DeclaredFigure
from reports.draw import svg, vega
from reports.draw.figure import Figure as PageFigure
from reports.draw.figure import Key, Panel
from reports.draw.label_placement import text_width
from reports.lab.model import Figure, Trace
from reports.render.svg import draw as draw_declared
from reports.text.plain import plain

_SVG = "http://www.w3.org/2000/svg"
_GAP = 16  # between panels, px
_TITLE = 22  # above a panel that has a title, px
_KEY = 22  # one line of the legend, px
_INK = "#16191D"
PNG_PPI = 150
"""Dots per inch of the pictures for Markdown and word processors, at the size that they have in print."""


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


# --- drawing -----------------------------------------------------------------------------------------------


def draw(figure: Figure) -> str:
    """Draw a figure as one SVG that stands on its own: opaque, light, with its trace in `<metadata>`.

    Raises UserError where vl-convert is not installed.
    """
    if isinstance(figure.source, DeclaredFigure):
        return _declared(figure, figure.source)
    placed = layout(figure.source)
    root = ET.Element(
        "svg",
        {
            "xmlns": _SVG, "width": f"{placed.width:g}", "height": f"{placed.height:g}",
            "viewBox": f"0 0 {placed.width:g} {placed.height:g}", "font-family": svg.FONT, "font-size": "12",
        },
    )  # fmt: skip
    ET.SubElement(root, "title").text = figure.title
    ET.SubElement(root, "desc").text = figure.description
    ET.SubElement(root, "metadata").text = "\n".join(f"{name}: {value}" for name, value in figure.trace)
    ET.SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": "#FFFFFF"})
    for key, x, y in placed.keys:
        root.extend(_key(key, x, y))
    for i, cell in enumerate(placed.cells):
        if cell.panel.title:
            title = ET.SubElement(
                root, "text", {"x": f"{cell.x:g}", "y": f"{cell.y - 8:g}", "fill": _INK, "font-weight": "600"}
            )
            title.text = cell.panel.title
        picture = ET.fromstring(vega.draw(cell.spec, f"{figure.label}-{i}", plain(cell.panel.description)))
        inner = ET.SubElement(root, "g", {"transform": f"translate({cell.x:g},{cell.y:g})"})
        inner.extend(_unqualified(child) for child in picture if not child.tag.endswith("}desc"))
    return plain(ET.tostring(root, encoding="unicode")) + "\n"


def size_of(figure: DeclaredFigure) -> tuple[float, float]:
    """Return width and height (px) of a figure that is declared."""
    root = ET.fromstring(draw_declared(figure))
    return float(root.attrib["width"]), float(root.attrib["height"])


def _declared(figure: Figure, source: DeclaredFigure) -> str:
    root = _unqualified(ET.fromstring(draw_declared(source, figure.label)))
    root.set("xmlns", _SVG)
    trace = ET.Element("metadata")
    trace.text = "\n".join(f"{name}: {value}" for name, value in figure.trace)
    title = ET.Element("title")
    title.text = figure.title
    paper = ET.Element("rect", {"width": "100%", "height": "100%", "fill": "#FFFFFF"})
    for at, node in enumerate((title, trace, paper)):
        root.insert(at, node)
    return plain(ET.tostring(root, encoding="unicode")) + "\n"


def _key(key: Key, x: float, y: float) -> Iterator[ET.Element]:
    dash = {"stroke-dasharray": "4 3"} if key.dashed else {}
    stroke = {"d": f"M{x + 1:g} {y - 4:g}h16", "fill": "none", "stroke": key.colour, "stroke-width": "2.5"}
    yield ET.Element("path", {**stroke, **dash})
    text = ET.Element("text", {"x": f"{x + 24:g}", "y": f"{y:g}", "fill": _INK})
    text.text = plain(key.name)
    yield text


def _unqualified(node: ET.Element) -> ET.Element:
    """Take the namespace out of the names: the root says it once."""
    for each in node.iter():
        each.tag = each.tag.rpartition("}")[2]
    return node


# --- other forms -------------------------------------------------------------------------------------------


@functools.cache
def _fonts() -> None:
    """Let vl-convert set type in the font that the labels' places were computed for."""
    import vl_convert

    vl_convert.register_font_directory(str(font_folder()))


def font_folder() -> Path:
    """Return the folder of the fonts that PDF and PNG are set in."""
    return Path(str(resources.files("reports").joinpath("fonts")))


def pdf(drawn: str) -> bytes:
    """Return a drawn figure as PDF. Its parts come in another order each time: see `reports.lab.pdf.picture`."""
    import vl_convert

    _fonts()
    made: bytes = vl_convert.svg_to_pdf(drawn)
    return made


def png(drawn: str, width_mm: float, trace: Trace) -> bytes:
    """Return a drawn figure as PNG, `width_mm` wide at PNG_PPI, with its trace in text chunks."""
    import vl_convert

    _fonts()
    width = float(ET.fromstring(drawn).attrib["width"])
    scale = width_mm / 25.4 * PNG_PPI / width
    made: bytes = vl_convert.svg_to_png(drawn, scale=scale, ppi=72)
    return with_text(made, trace)


def with_text(image: bytes, said: Trace) -> bytes:
    """Return a PNG with an iTXt chunk for each name and value, after its header.

    Chunk layout: PNG specification, third edition, 11.3.3 (length, type, data, CRC-32 over type and data); the data
    is keyword, NUL, 0 (not compressed), 0, two empty NUL-ended strings, then the text in UTF-8.
    """
    header = 8 + 12 + 13  # signature; IHDR with its length, type and CRC
    chunks = b""
    for name, text in said:
        data = name.encode("latin-1", "replace")[:79] + b"\0\0\0\0\0" + text.encode("utf-8", "replace")
        chunks += (
            struct.pack(">I", len(data)) + b"iTXt" + data + struct.pack(">I", zlib.crc32(b"iTXt" + data))
        )
    return image[:header] + chunks + image[header:]
