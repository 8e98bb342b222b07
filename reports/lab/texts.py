"""The report in Markdown, LaTeX and Typst, and each table alone in Markdown, LaTeX and CSV. Reads templates only."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup

from reports.lab import escape, words
from reports.lab.model import Column, Document, Part, Table
from reports.page.templates import Templates, spans
from reports.text.format import MINUS, NOTHING, THIN, Shown
from reports.text.plain import csv_text


@dataclass(slots=True)
class Language:
    """One of the three: the end of its files' names, and its templates."""

    suffix: str
    templates: Templates
    assets: dict[str, bytes] = field(
        default_factory=dict
    )  # files of the user's folder that its text refers to

    def report(self, document: Document) -> bytes:
        return self._text(f"lab/report.{self.suffix}.j2", {"report": document})

    def table(self, table: Table) -> bytes:
        return self._text(f"lab/table.{self.suffix}.j2", {"table": table})

    def _text(self, name: str, values: dict[str, Any]) -> bytes:
        fixed = {"headings": words.HEADINGS, "gaps": words.GAPS, "gap": words.GAP, "sayings": words.SAYINGS}
        text = self.templates.render(name, {**fixed, **values})
        return (text.rstrip("\n") + "\n").encode("utf-8", "replace")


def languages(folder: Path | None = None) -> dict[str, Language]:
    """Return "md", "tex" and "typ"; `folder` holds templates of the user's own."""
    return {
        "md": _language("md", Templates(folder, escape=escape.markdown), MARKDOWN),
        "tex": _language("tex", Templates(folder, escape=escape.latex, tex=True), LATEX),
        "typ": _language("typ", Templates(folder, escape=escape.typst), TYPST),
    }


def _language(suffix: str, templates: Templates, filters: dict[str, Callable[..., object]]) -> Language:
    language = Language(suffix=suffix, templates=templates)

    def asset(name: str) -> Markup:
        """Take a file of the user's folder along; return its path in the lab folder."""
        language.assets[f"assets/{name}"] = templates.asset(name)
        return Markup(f"assets/{name}")

    templates.environment.filters.update(filters)
    templates.environment.globals["asset"] = asset
    return language


def table_csv(table: Table) -> bytes:
    """Return a table as CSV: plain numbers, ranges in columns of their own, an empty cell where a number is missing."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names: list[str] = []
    for column in table.columns:
        names += (
            [column.name, f"{column.name}, lowest", f"{column.name}, highest"]
            if _ranged(column)
            else [column.name]
        )
    writer.writerow(names)
    for row in table.rows:
        cells: list[str] = []
        for column, cell in zip(table.columns, row, strict=True):
            if _ranged(column):
                cells += [cell.plain, cell.low, cell.high] if isinstance(cell, Shown) else ["", "", ""]
            elif column.align == "left":
                cells.append(escape.line(cell))
            else:
                cells.append(_plain(cell))
        writer.writerow(map(csv_text, cells))
    return out.getvalue().encode("utf-8", "replace")


def _ranged(column: Column) -> bool:
    return column.align == "number" and bool(column.after)


def _plain(cell: str) -> str:
    if isinstance(cell, Shown):
        return cell.plain
    return "" if cell == NOTHING else escape.line(cell).replace(THIN, "").replace(MINUS, "-")


# --- what templates may ask for ----------------------------------------------------------------------------


def _tex_columns(part: Part) -> Markup:
    """`@{}lS[table-format=3.1]p{0.4\\textwidth}@{}`: how LaTeX sets the columns."""
    return Markup("@{}" + "".join(_tex_column(c) for c in part.columns) + "@{}")


def _tex_column(column: Column) -> str:
    if column.align == "number":
        sign = "-" if column.signed else ""
        after = f",table-space-text-post={{~{escape.latex(column.after)}}}" if column.after else ""
        return f"S[table-format={sign}{column.integers}.{column.decimals}{after}]"
    if column.share:
        return rf">{{\raggedright\arraybackslash}}p{{{column.share:.3f}\textwidth}}"
    return "l" if column.align == "left" else "r"


def _tex_cell(cell: str, column: Column) -> Markup:
    """A cell of a column: what is no number in a column of numbers stands in braces."""
    if column.align != "number":
        return Markup(escape.latex(cell))
    if not isinstance(cell, Shown):
        return Markup(f"{{{escape.latex(cell)}}}")
    return Markup(f"{cell.plain}{f' {{~{escape.latex(cell.after)}}}' if cell.after else ''}")


def _tex_heading(column: Column) -> Markup:
    """A heading, its lines below one another; in braces, so that siunitx takes it for text."""
    lines = [escape.latex(text) for text in column.heading]
    if len(lines) == 1 or column.share:
        return Markup(f"{{{' '.join(lines)}}}")
    side = "l" if column.align == "left" else "r"
    stacked = r" \\ ".join(lines)
    return Markup(rf"{{\begin{{tabular}}[b]{{@{{}}{side}@{{}}}}{stacked}\end{{tabular}}}}")


def _typ_columns(part: Part) -> Markup:
    """`(auto, 40fr)`: how Typst shares the width; what must wrap gets all that the others leave, which is more than was reckoned with."""
    widths = [f"{c.share * 100:.1f}fr" if c.share else "auto" for c in part.columns]
    return Markup(f"({', '.join(widths)},)")


def _typ_align(part: Part) -> Markup:
    return Markup(f"({', '.join('left' if c.align == 'left' else 'right' for c in part.columns)},)")


def _md_rule(table: Table) -> Markup:
    """`|:--|--:|`: the line under a table's head."""
    return Markup("|" + "|".join(":--" if c.align == "left" else "--:" for c in table.columns) + "|")


MARKDOWN: dict[str, Callable[..., object]] = {
    "code": lambda text: Markup(escape.markdown_code(text)),
    "spans": lambda text: spans(text, escape.markdown, escape.markdown_code),
    "verbatim": lambda text: Markup(escape.line(text, blanks=True)),  # inside of a fence
    "fence": lambda texts: Markup(escape.markdown_fence("\n".join(texts))),
    "rule": _md_rule,
}
LATEX: dict[str, Callable[..., object]] = {
    "code": lambda text: Markup(escape.latex_code(text)),
    "spans": lambda text: spans(text, escape.latex, escape.latex_code),
    "columns": _tex_columns,
    "cell": _tex_cell,
    "heading": _tex_heading,
}
TYPST: dict[str, Callable[..., object]] = {
    "raw": lambda text: Markup(f"raw({escape.typst_code(text)})"),
    "spans": lambda text: spans(text, escape.typst, lambda code: f"#raw({escape.typst_code(code)});"),
    "quoted": lambda text: Markup(escape.typst_string(text)),
    "columns": _typ_columns,
    "sides": _typ_align,
}
