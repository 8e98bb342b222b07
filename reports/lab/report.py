"""Result files to the lab report's folder. I/O: reads results, writes the folder."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from parsers.errors import UserError
from reports.checks.audit import audit, convicted
from reports.document import GAP, Block, Document, Figure, Table
from reports.export import tables
from reports.lab import document, folder, pdf, pictures, plot
from reports.lab.document import Lab
from reports.lab.folder import Written
from reports.page.templates import Templates
from reports.render import escape, json, latex, markdown, typst
from reports.report import build
from reports.results.convicted import Guilty
from reports.results.load import Include, load
from reports.results.model import Results
from reports.text import format as fmt
from reports.text.format import Shown
from reports.text.plain import csv_text

LATEXMKRC = b"# Plain `latexmk` makes a PDF.\n$pdf_mode = 1;\n@default_files = ('report.tex');\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A written lab report: folder, result for each file, and the reason for a missing PDF."""

    folder: Path
    written: Written
    no_pdf: UserError | None

    @property
    def files(self) -> tuple[str, ...]:
        """Return the existing files of this report by name."""
        done = self.written
        return (*done.new, *done.renewed, *done.same, *(b or name for name, b in done.kept.items()))


def render_lab(paths: Iterable[Path], out: Path, *, template: Path | None = None, include: Include = "least") -> Done:
    """Write the lab report of some result files into the folder `out`.

    Edited files remain unchanged, see `reports.lab.folder`. report.pdf is made from the existing report.typ. The same
    results give the same bytes. Raises UserError if a file is not a result file, the folder cannot be written or a user
    template is wrong.
    """
    results = load(paths, include=include)
    findings = audit(results)
    lab = document.build(results, build.build(results, findings))
    files = make(results, lab, convicted(findings), template)
    written = folder.write(out, files)
    try:
        files["report.pdf"] = pdf.report(out)
    except pdf.NoTypst as error:
        return Done(folder=out, written=written, no_pdf=error)
    return Done(folder=out, written=folder.write(out, files), no_pdf=None)


def make(results: Results, lab: Lab, guilty: Guilty, template: Path | None = None) -> dict[str, bytes]:
    """Return all files of a lab report except the PDF, by name in the folder. `guilty` holds the flagged cells."""
    files: dict[str, bytes] = {"latexmkrc": LATEXMKRC}
    sizes = {}
    for figure in lab.figures():
        trace = lab.traces[figure.id]
        drawn = pictures.draw(figure, trace)
        name = f"figures/{figure.id}"
        sizes[figure.id] = name, drawn.width_mm
        files |= {f"{name}.svg": drawn.svg.encode(), f"{name}.pdf": pdf.picture(drawn), f"{name}.png": pictures.png(drawn, trace)}  # fmt: skip
    for table in lab.tables:
        name = f"tables/{table.id}"
        files |= {f"{name}.csv": _csv(table), f"{name}.md": markdown.table(table).encode(), f"{name}.tex": latex.table(table).encode()}  # fmt: skip
    figures = Document(title="", blocks=tuple(block for part in lab.parts.values() for block in part))
    numbers = {figure.id: n for n, figure in enumerate(figures.figures(), 1)}

    def png(figure: Figure) -> str:
        return f"{sizes[figure.id][0]}.png"

    files |= _text(lab, "md", template, escape.markdown, lambda blocks: markdown.fragment(blocks, numbers, png))
    files |= _text(lab, "tex", template, escape.latex, lambda blocks: latex.render(blocks, sizes))
    files |= _text(lab, "typ", template, escape.typst, lambda blocks: typst.render(blocks, sizes))
    frame = tables.table(results, None, "long", guilty)
    files["data.csv"] = "".join(tables.csv_pieces(frame)).encode("utf-8", "replace")
    if script := plot.snippet(frame):
        files["plot.py"] = script.encode()
    return files


def _text(
    lab: Lab,
    suffix: str,
    folder: Path | None,
    escape: Callable[[str], str],
    render: Callable[[Iterable[Block]], str],
) -> dict[str, bytes]:
    """Return report.SUFFIX and the user's files that the template refers to."""
    templates = Templates(folder, escape=escape, tex=suffix == "tex")
    files: dict[str, bytes] = {}

    def asset(name: str) -> Markup:
        files[f"assets/{name}"] = templates.asset(name)
        return Markup(f"assets/{name}")

    parts = {name: Markup(render(blocks)) for name, blocks in lab.parts.items()}
    values = {"title": lab.title, "date": lab.date, "version": lab.version, "parts": parts, "gap": GAP}
    templates.environment.globals["asset"] = asset
    text = templates.render(f"lab/report.{suffix}.j2", values)
    return {f"report.{suffix}": (text.rstrip("\n") + "\n").encode("utf-8", "replace"), **files}


def _csv(table: Table) -> bytes:
    """Return a table as CSV with numbers in base units. A missing number is an empty cell."""
    rows = json.records(table)
    names = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(csv_text, names or [column.name for column in table.columns]))
    writer.writerows([_cell(row.get(name)) for name in names] for row in rows)
    return out.getvalue().encode("utf-8", "replace")


def _cell(value: object) -> object:
    if isinstance(value, Shown):
        return value.plain
    return csv_text(escape.line(value)) if isinstance(value, str) else value


def summary(done: Done) -> list[str]:
    """Return lines for a terminal: written files, unchanged files and the reason for a missing PDF."""
    counts = Counter(name.partition("/")[0] for name in {n.rsplit(".", 1)[0] for n in done.files if "/" in n})
    top = sorted((n for n in done.files if "/" not in n), key=lambda n: (not n.startswith("report."), n))
    words = {"figures": "figure", "tables": "table", "assets": "other file"}
    top += [fmt.plural(counts[place], word) for place, word in words.items() if counts[place]]
    lines = [f"lab     {done.folder}/: {', '.join(top)}"]
    for name, beside in done.written.kept.items():
        lines.append(f"kept    {name}: you edited it; {f'the new one is {beside}' if beside else 'nothing is new'}")
    if done.written.old:
        old = f"{', '.join(done.written.old[:6])}{' …' if len(done.written.old) > 6 else ''}"
        lines.append(f"old     {old}: of an earlier report, kept")
    if done.no_pdf:
        lines.append(f"no pdf  report.pdf: {done.no_pdf.cause}: {done.no_pdf.hint}; all else is written")
    return lines


def as_json(done: Done) -> dict[str, Any]:
    """Return the files for programs, by name in the folder."""
    return {
        "folder": str(done.folder), "files": list(done.files),
        "edited": [{"file": name, "new": beside or None} for name, beside in done.written.kept.items()],
        "of_earlier_report": list(done.written.old),
        "no_pdf": {"reason": done.no_pdf.cause, "hint": done.no_pdf.hint} if done.no_pdf else None,
    }  # fmt: skip
