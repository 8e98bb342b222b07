"""Result files to the lab report's folder. I/O: reads results, writes the folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parsers.errors import UserError
from reports.checks.audit import audit, convicted
from reports.export import tables
from reports.lab import document, figures, folder, pdf, plot, texts
from reports.lab.folder import Written
from reports.lab.model import Document
from reports.report import build
from reports.results.convicted import Guilty
from reports.results.load import load
from reports.results.model import Results
from reports.text import format as fmt

LATEXMKRC = b"# Plain `latexmk` makes a PDF.\n$pdf_mode = 1;\n@default_files = ('report.tex');\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """A lab report that was written: where, what became of each file, and why there is no PDF ("" where there is)."""

    folder: Path
    written: Written
    no_pdf: UserError | None

    @property
    def files(self) -> tuple[str, ...]:
        """The files of this report that are there, by the names that they have."""
        done = self.written
        return (*done.new, *done.renewed, *done.same, *(b or name for name, b in done.kept.items()))


def render_lab(paths: Iterable[Path], out: Path, *, template: Path | None = None) -> Lab:
    """Write the lab report of some result files into the folder `out`.

    What was edited there is kept, see `reports.lab.folder`. The same results give the same bytes. Without typst all
    but report.pdf is written. Raises UserError for files that are no results, for a folder that cannot be written,
    for mistakes in the user's templates, and where vl-convert is not installed; then nothing is written.
    """
    results = load(paths)
    found = audit(results)
    made = document.build(results, build.build(results, found=found))
    files = make(results, made, convicted(found), template)
    no_pdf = None
    try:
        files["report.pdf"] = pdf.report(files)
    except pdf.NoTypst as error:
        no_pdf = error
    return Lab(folder=out, written=folder.write(out, files), no_pdf=no_pdf)


def make(results: Results, made: Document, guilty: Guilty, template: Path | None = None) -> dict[str, bytes]:
    """Return all files of a lab report but the PDF, by their names in the folder. guilty: what the checks convict."""
    languages = texts.languages(template)
    files: dict[str, bytes] = {}
    for suffix, language in languages.items():
        files[f"report.{suffix}"] = language.report(made)
    files["latexmkrc"] = LATEXMKRC
    for table in (*made.tables, *made.filed):
        files[table.file] = texts.table_csv(table)
        for suffix in ("md", "tex"):
            files[f"tables/{table.label}.{suffix}"] = languages[suffix].table(table)
    for figure in made.figures:
        drawn = figures.draw(figure)
        files[f"figures/{figure.label}.svg"] = drawn.encode("utf-8")
        files[f"figures/{figure.label}.pdf"] = pdf.picture(drawn)
        files[f"figures/{figure.label}.png"] = figures.png(drawn, figure.width_mm, figure.trace)
    frame = tables.table(results, None, "long", guilty)
    files["data.csv"] = tables.csv_of(frame).encode("utf-8", "replace")
    if snippet := plot.snippet(frame, results):
        files["plot.py"] = snippet.encode()
    for language in languages.values():
        files |= language.assets
    return files


def summary(lab: Lab) -> list[str]:
    """Return what was written and what was kept, in lines for a terminal, each with what it is about in front."""
    lines = [f"lab     {lab.folder}/: {_counted(lab.files)}"]
    for name, beside in lab.written.kept.items():
        lines.append(
            f"kept    {name}: you edited it; {f'the new one is {beside}' if beside else 'nothing is new'}"
        )
    if lab.written.old:
        lines.append(
            f"old     {', '.join(lab.written.old[:6])}{' …' if len(lab.written.old) > 6 else ''}: of an earlier report, kept"
        )
    if lab.no_pdf:
        stale = " (what is there is old)" if (lab.folder / "report.pdf").exists() else ""
        lines.append(f"no pdf  report.pdf{stale}: {lab.no_pdf.cause}: {lab.no_pdf.hint}; all else is written")
    return lines


def as_json(lab: Lab) -> dict[str, Any]:
    """Return what was written, for programs; names are those of the folder."""
    return {
        "folder": str(lab.folder), "files": list(lab.files),
        "edited": [{"file": name, "new": beside or None} for name, beside in lab.written.kept.items()],
        "of_earlier_report": list(lab.written.old),
        "no_pdf": {"reason": lab.no_pdf.cause, "hint": lab.no_pdf.hint} if lab.no_pdf else None,
    }  # fmt: skip


def _counted(files: Iterable[str]) -> str:
    """`report.md, report.tex, data.csv, 12 figures, 9 tables`."""
    names = list(files)
    top = sorted((n for n in names if "/" not in n), key=_rank)
    said = list(top)
    for place, word in (("figures", "figure"), ("tables", "table"), ("assets", "other file")):
        n = len({n.rsplit(".", 1)[0] for n in names if n.startswith(f"{place}/")})
        if n:
            said.append(fmt.plural(n, word))
    return ", ".join(said)


def _rank(name: str) -> tuple[bool, str]:
    return not name.startswith("report."), name
