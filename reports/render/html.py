"""A document as HTML for a page. Pure.

The macros of `templates/_blocks.html.j2` draw the blocks. The page's templates may use these macros too, with the
values of `macros`. The macros escape all texts. The style is in `templates/report.css`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import jinja2
from markupsafe import Markup

from reports.document import MARK, Block, Document, Figure, Table
from reports.render.grid import Grid, grid
from reports.text.plain import plain

MOST = 10
"""Rows on a page ÷ rows in a terminal."""

Draw = Callable[[Figure], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Drawing options of a page. `numbers` maps a figure to the number on the page. `draw` returns the SVG of a
    figure.
    """

    draw: Draw
    numbers: Mapping[str, int] = field(default_factory=dict)
    mark: str = MARK

    def svg(self, figure: Figure) -> Markup:
        """Return a picture. The picture's own texts are already escaped."""
        return Markup(self.draw(figure))

    def grid(self, table: Table) -> Grid:
        """Return the rows of a table that a page shows."""
        return grid(table, table.most * MOST)


def render(document: Document, draw: Draw | None = None) -> Markup:
    """Return all blocks of a document, with figures numbered from 1. `draw` maps a figure to SVG, by default through
    `render.vega`.
    """
    return fragment(document.blocks, drawing(document, draw))


def drawing(document: Document, draw: Draw | None = None) -> Drawing:
    """Return how a document's blocks are drawn."""
    numbers = {figure.id: n for n, figure in enumerate(document.figures(), 1)}
    return Drawing(draw=draw or _vega, numbers=numbers)


def fragment(blocks: Iterable[Block], how: Drawing) -> Markup:
    """Return some blocks as HTML."""
    macros = _environment().get_template("_blocks.html.j2").make_module()
    return Markup(macros.blocks(tuple(blocks), how))  # type: ignore[attr-defined]


def _vega(figure: Figure) -> str:
    from reports.render import vega

    return vega.svg(figure)


@functools.cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("reports", "templates"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_finalize,
    )  # fmt: skip


def _finalize(value: object) -> object:
    return plain(value) if type(value) is str else value
