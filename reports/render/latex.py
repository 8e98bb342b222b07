"""A document's blocks as LaTeX, for pdfLaTeX and later ones with booktabs, longtable, graphicx and caption. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from reports.document import MARK, Block, Figure, Fold, Heading, Table, Text
from reports.render import paper
from reports.render.escape import latex as escape
from reports.render.escape import latex_code
from reports.render.grid import grid, with_flags
from reports.render.typst import Pictures

_SIZES: Final = {10: r"\normalsize", 9: r"\small", 8: r"\footnotesize", 7: r"\scriptsize"}
_HEADINGS: Final = {2: "section", 3: "subsection", 4: "subsubsection"}


def render(blocks: Iterable[Block], pictures: Pictures) -> str:
    """Return blocks as LaTeX. `\\yours` and `\\commandline` are macros of the template. A table that fits on no page is left out."""
    return "\n\n".join(filter(None, (_block(block, pictures) for block in blocks)))


def _block(block: Block, pictures: Pictures) -> str:
    match block:
        case Heading():
            return rf"\{_HEADINGS.get(block.level, 'paragraph')}{{{escape(block.text)}}}"
        case Text():
            return _text(block)
        case Table():
            return table(block)
        case Fold():
            return rf"\textbf{{{escape(block.title)}}}" + f"\n\n{render(block.blocks, pictures)}"
        case Figure():
            drawn = _figure(block, *pictures[block.id])
            return f"{drawn}\n\n{table(block.summary)}" if block.summary else drawn


def _text(block: Text) -> str:
    match block.tone:
        case "warning":
            return escape(f"{MARK} {block.text}")
        case "gap":
            return rf"\yours{{{escape(block.text)}}}"
        case "quiet":
            return rf"{{\small {escape(block.text)}\par}}"
        case "code" | "next":
            return "\n".join(rf"\commandline{{{latex_code(line)}}}" for line in block.text.split("\n"))
    return escape(block.text)


def table(block: Table) -> str:
    """Return a table with booktabs. A long table breaks over pages. A table that fits on no page gives ""."""
    shown = with_flags(grid(block))
    form = paper.shape(shown)
    if form is None:
        return ""
    columns = "@{}" + "".join(map(_column, form.shares, shown.numeric)) + "@{}"
    head, rows = _row(shown.headings), "\n".join(map(_row, shown.rows))
    caption = escape(block.title)
    if len(shown.rows) > paper.UNBROKEN_ROWS:
        body = (
            rf"\begin{{longtable}}{{{columns}}}" + "\n" + (rf"\caption{{{caption}}}\\" + "\n" if caption else "")
            + "\\toprule\n" + head + "\n\\midrule\n\\endfirsthead\n\\toprule\n" + head + "\n\\midrule\n\\endhead\n\\bottomrule\n\\endlastfoot\n"
            + rows + "\n\\end{longtable}"
        )  # fmt: skip
    else:
        body = (
            "\\par\\bigskip\\noindent\\begin{minipage}{\\textwidth}\\centering\n"
            + (rf"\captionof{{table}}{{{caption}}}" + "\n" if caption else "")
            + rf"{_SIZES[form.points]}\begin{{tabular}}{{{columns}}}" + "\n\\toprule\n" + head + "\n\\midrule\n" + rows
            + "\n\\bottomrule\n\\end{tabular}\n\\end{minipage}\\par\\bigskip"
        )  # fmt: skip
    return f"{{{_SIZES[form.points]}\n{body}\n}}"


def _column(share: float, numeric: bool) -> str:
    if share:
        return rf">{{\raggedright\arraybackslash}}p{{{share:.3f}\textwidth}}"
    return "r" if numeric else "l"


def _row(texts: Iterable[str]) -> str:
    return " & ".join(map(escape, texts)) + r" \\"


def _figure(figure: Figure, file: str, width_mm: float) -> str:
    title, mark = escape(figure.title), f" {escape(f'{MARK} {figure.flags}')}" if figure.flags else ""
    return (
        f"\\begin{{figure}}[htbp]\n\\centering\n\\includegraphics[width={width_mm:g}mm]{{{file}.pdf}}\n"
        rf"\caption[{title}]{{\textbf{{{title}.}} {escape(figure.caption)}{mark}}}" + "\n\\end{figure}"
    )
