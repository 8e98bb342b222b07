"""A document as Markdown (CommonMark with pipe tables). Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from reports.document import GAP, MARK, Block, Document, Figure, Fold, Heading, Table, Text
from reports.render.escape import line, markdown_code, markdown_fence
from reports.render.escape import markdown as escape
from reports.render.grid import grid, with_flags

Picture = Callable[[Figure], str]
"""Function from a figure to the path of a picture, or ""."""


def render(document: Document, picture: Picture = lambda _: "") -> str:
    """Return a document as Markdown. Figures are pictures, or tables if there are no pictures."""
    numbers = {figure.id: n for n, figure in enumerate(document.figures(), 1)}
    return f"# {escape(document.title)}\n\n{fragment(document.blocks, numbers, picture)}\n"


def fragment(blocks: Iterable[Block], numbers: Mapping[str, int], picture: Picture) -> str:
    """Return some blocks as Markdown. `numbers` maps a figure to the number of the figure."""
    return "\n\n".join(_blocks(blocks, numbers, picture))


def _blocks(blocks: Iterable[Block], numbers: Mapping[str, int], picture: Picture) -> Iterable[str]:
    for block in blocks:
        match block:
            case Heading():
                yield f"{'#' * block.level} {escape(block.text)}"
            case Text():
                yield _text(block)
            case Table():
                yield table(block)
            case Fold():
                yield f"**{escape(block.title)}**"
                yield from _blocks(block.blocks, numbers, picture)
            case Figure():
                yield from _figure(block, numbers[block.id], picture(block))


def _text(block: Text) -> str:
    match block.tone:
        case "warning":
            return f"> {MARK} {escape(block.text)}"
        case "gap":
            return f"> ***{GAP}:*** {escape(block.text)}"
        case "next":
            return markdown_code(block.text)
        case "code":
            fence = markdown_fence(block.text)
            return "\n".join([f"{fence}sh", *(line(text, blanks=True) for text in block.text.split("\n")), fence])
    return escape(block.text)


def _figure(figure: Figure, number: int, path: str) -> Iterable[str]:
    title = f"**Figure {number}.** {escape(figure.title)}"
    mark = f"{MARK} {escape(figure.flags)}" if figure.flags else ""
    caption = " ".join(filter(None, [title + ".", escape(figure.caption), mark]))
    if path:
        yield f"![{escape(figure.description or figure.title)}]({path})"
        yield caption
    else:
        yield caption
        yield table(figure.table)
    if figure.summary:
        yield table(figure.summary)


def table(block: Table) -> str:
    """Return a pipe table with a title above the table."""
    shown = with_flags(grid(block))
    rules = ["--:" if numeric else "---" for numeric in shown.numeric]
    rows = [map(escape, row) for row in (shown.headings, *shown.rows)]
    lines = [f"| {' | '.join(cells)} |" for cells in (rows[0], rules, *rows[1:])]
    return "\n".join([*([f"*{escape(block.title)}*", ""] if block.title else []), *lines])
