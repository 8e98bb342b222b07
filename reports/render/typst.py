"""A document's blocks as Typst. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reports.document import MARK, Block, Figure, Fold, Heading, Table, Text
from reports.render import paper
from reports.render.escape import typst as escape
from reports.render.escape import typst_code, typst_string
from reports.render.grid import grid, with_flags

Pictures = Mapping[str, tuple[str, float]]
"""Figure → file without suffix, and width in mm."""


def render(blocks: Iterable[Block], pictures: Pictures) -> str:
    """Return blocks as Typst. `yours` is a macro of the template. A table that fits on no page is left out."""
    return "\n\n".join(filter(None, (_block(block, pictures) for block in blocks)))


def _block(block: Block, pictures: Pictures) -> str:
    match block:
        case Heading():
            return f"{'=' * (block.level - 1)} {escape(block.text)}"
        case Text():
            return _text(block)
        case Table():
            return table(block)
        case Fold():
            return f"#strong[{escape(block.title)}]\n\n{render(block.blocks, pictures)}"
        case Figure():
            drawn = _figure(block, *pictures[block.id])
            return f"{drawn}\n\n{table(block.summary)}" if block.summary else drawn


def _text(block: Text) -> str:
    match block.tone:
        case "warning":
            return f"{escape(f'{MARK} {block.text}')}"
        case "gap":
            return f"#yours[{escape(block.text)}]"
        case "quiet":
            return f"#text(8.5pt)[{escape(block.text)}]"
        case "code" | "next":
            return "\n\n".join(f"#command(raw({typst_code(line)}))" for line in block.text.split("\n"))
    return escape(block.text)


def table(block: Table) -> str:
    """Return a table as a numbered figure. A table that fits on no page gives ""."""
    shown = with_flags(grid(block))
    form = paper.shape(shown)
    if form is None:
        return ""
    widths = ", ".join(f"{share * 100:.1f}fr" if share else "auto" for share in form.shares)
    sides = ", ".join("right" if numeric else "left" for numeric in shown.numeric)
    lines = [
        f"#[\n#set text({form.points}pt)",
        *(["#show figure: set block(breakable: true)"] if len(shown.rows) > paper.UNBROKEN_ROWS else []),
        f"#figure(caption: [{escape(block.title)}], kind: table)[\n#table(columns: ({widths},), align: ({sides},),",
        f"  table.header({_cells(shown.headings)}),",
        *(f"  {_cells(row)}," for row in shown.rows),
        "  table.hline(stroke: 0.8pt),\n)\n]\n]",
    ]
    return "\n".join(lines)


def _cells(texts: Iterable[str]) -> str:
    return ", ".join(f"[{escape(text)}]" for text in texts)


def _figure(figure: Figure, file: str, width_mm: float) -> str:
    mark = f" {escape(f'{MARK} {figure.flags}')}" if figure.flags else ""
    return (
        f"#figure(image({typst_string(f'{file}.svg')}, width: {width_mm:g}mm, alt: {typst_string(figure.description)}),\n"
        f"  caption: [#strong[{escape(figure.title)}.] {escape(figure.caption)}{mark}])"
    )
