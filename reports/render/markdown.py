"""A document as Markdown (CommonMark with pipe tables). Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from reports.document import MARK, Block, Document, Figure, Fold, Heading, Table, Text
from reports.render.grid import grid
from reports.text.plain import printable

Picture = Callable[[Figure], str]
"""Returns the path of a figure's picture, "" if there is none."""


def render(document: Document, picture: Picture = lambda _: "") -> str:
    """Return a document as Markdown; its figures are pictures, or else tables."""
    numbers = {figure.id: n for n, figure in enumerate(document.figures(), 1)}
    parts = [f"# {escape(document.title)}", *_blocks(document.blocks, numbers, picture)]
    return "\n\n".join(parts) + "\n"


def _blocks(blocks: Iterable[Block], numbers: dict[str, int], picture: Picture) -> Iterable[str]:
    for block in blocks:
        match block:
            case Heading():
                yield f"{'#' * block.level} {escape(block.text)}"
            case Text():
                yield f"> {MARK} {escape(block.text)}" if block.tone == "warning" else escape(block.text)
            case Table():
                yield table(block)
            case Fold():
                yield f"**{escape(block.title)}**"
                yield from _blocks(block.blocks, numbers, picture)
            case Figure():
                yield from _figure(block, numbers[block.id], picture(block))


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
    """Return a pipe table with its title above it."""
    shown = grid(block)
    headings = [*shown.headings, *(["Checks"] if shown.flags else [])]
    rules = [*("--:" if numeric else "---" for numeric in shown.numeric), *(["---"] if shown.flags else [])]
    rows = []
    for n, row in enumerate(shown.rows):
        cells = list(map(escape, row))
        if shown.flags:
            flags = shown.flags[n]
            cells = [f"{MARK} {cell}" if flags and i == shown.marked else cell for i, cell in enumerate(cells)]  # fmt: skip
            cells.append(escape(flags))
        rows.append(cells)
    lines = [f"| {' | '.join(cells)} |" for cells in (map(escape, headings), rules, *rows)]
    return "\n".join([*([f"*{escape(block.title)}*", ""] if block.title else []), *lines])


def escape(text: str) -> str:
    """Return a text of one line in which nothing is Markdown or HTML."""
    shown = re.sub(r"([\\`*_{}\[\]<>#|~&])", r"\\\1", printable(text.replace("\n", " ")))
    return re.sub(r"^(\s*\d*)([-+=.)])(?=\s|$)", r"\1\\\2", shown)  # else a list, or a heading
