"""A figure as a picture outside the report: opaque, light and with the source of the numbers, as SVG, PDF and PNG."""

from __future__ import annotations

import struct
import xml.etree.ElementTree as ET
import zlib
from dataclasses import dataclass
from typing import Final

from reports.document import Figure
from reports.lab.document import Trace
from reports.render import paper
from reports.render.svg import converter
from reports.render.svg import draw as draw_figure
from reports.text.plain import plain

PNG_PPI: Final = 150
"""Dots per inch of the pictures for Markdown and word processors, at print size."""
_MM_PER_PX: Final = paper.WIDTH_MM / 752
_MAX_HEIGHT_MM: Final = 185.0
_SVG: Final = "http://www.w3.org/2000/svg"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A drawn figure with a width on paper."""

    svg: str
    width_mm: float


def draw(figure: Figure, trace: Trace) -> Picture:
    """Return a figure's picture. Raises UserError if vl-convert is not installed."""
    root = ET.fromstring(draw_figure(figure, figure.id))
    for node in root.iter():
        node.tag = node.tag.rpartition("}")[2]
    root.set("xmlns", _SVG)
    title, metadata = ET.Element("title"), ET.Element("metadata")
    title.text = figure.title
    metadata.text = "\n".join(f"{name}: {value}" for name, value in trace)
    background = ET.Element("rect", {"width": "100%", "height": "100%", "fill": "#FFFFFF"})
    root[:0] = [title, metadata, background]
    width, height = (float(root.attrib[name]) * _MM_PER_PX for name in ("width", "height"))
    shrink = min(1.0, paper.WIDTH_MM / width, _MAX_HEIGHT_MM / height)
    svg = plain(ET.tostring(root, encoding="unicode")) + "\n"
    return Picture(svg=svg, width_mm=round(width * shrink, 1))


def pdf(picture: Picture) -> bytes:
    """Return a picture as PDF. vl-convert orders the parts differently each time, see `reports.lab.pdf.picture`."""
    made: bytes = converter().svg_to_pdf(picture.svg)
    return made


def png(picture: Picture, trace: Trace) -> bytes:
    """Return a picture as PNG at PNG_PPI, with the trace in text chunks."""
    width = float(ET.fromstring(picture.svg).attrib["width"])
    scale = picture.width_mm / 25.4 * PNG_PPI / width
    made: bytes = converter().svg_to_png(picture.svg, scale=scale, ppi=72)
    return _with_text(made, trace)


def _with_text(image: bytes, trace: Trace) -> bytes:
    """Return a PNG with an iTXt chunk for each name and value, after the header.

    Chunk layout: PNG specification, third edition, 11.3.3 (length, type, data, CRC-32 over type and data). The data is
    keyword, NUL, 0 (not compressed), 0, two empty NUL-ended strings, then the text in UTF-8.
    """
    header = 8 + 12 + 13  # signature; IHDR with its length, type and CRC
    chunks = b""
    for name, text in trace:
        data = name.encode("latin-1", "replace")[:79] + b"\0\0\0\0\0" + text.encode("utf-8", "replace")
        chunks += struct.pack(">I", len(data)) + b"iTXt" + data + struct.pack(">I", zlib.crc32(b"iTXt" + data))
    return image[:header] + chunks + image[header:]
