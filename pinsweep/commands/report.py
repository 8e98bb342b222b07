"""`pinsweep report`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from parsers.errors import UserError
from pinsweep import progress
from pinsweep.commands import _options
from pinsweep.terminal import data, say

if TYPE_CHECKING:
    from reports.results.load import Include

_OF_LAB: Final = (".pdf", ".md", ".tex", ".typ")
"""How the files of a lab report end that a page is mistaken for."""


@click.command(
    short_help="Write a page, or a report to hand in.",
    epilog="Example: pinsweep report node07.db -o node07.html",
)
@_options.results
@click.option(
    "-o",
    "--output",
    type=_options.OUTPUT,
    metavar="FILE",
    help="Write the page to this file. [default: the first result's name with .html]",
)
@click.option(
    "--lab",
    type=_options.FILE,
    metavar="DIR",
    help="Write a lab report to DIR: Markdown, LaTeX, Typst, PDF, figures, tables, data. With -o, also the page.",
)
@click.option(
    "--template",
    type=_options.FILE,
    metavar="DIR",
    help="Use your own templates and style from DIR.",
)
@click.option("--static", is_flag=True, help="Write the page without scripts.")
@_options.include
@_options.table_or_json
def command(
    results: tuple[Path, ...],
    output: Path | None,
    lab: Path | None,
    template: Path | None,
    static: bool,
    include: Include,
    form: str,
) -> int:
    """Write RESULT... (files, folders, globs) as one HTML page that works without network and scripts, or as a lab
    report."""
    from reports.report.render import render_report
    from reports.results.paths import result_files
    from reports.results.write import refuse_output

    paths, page, written = result_files(results), None, None
    page_of_all = lab_of_all = True
    if output or not lab:
        page = output or paths[0].with_suffix(".html")
        if page.suffix.lower() in _OF_LAB:
            raise UserError(
                str(page), "the page is HTML", f"--lab DIR writes report{page.suffix.lower()}, among others"
            )
        refuse_output(page, paths)
        with progress.doing("drawing the page", reading=True) as watched:
            _, page_of_all = _options.of_readable(
                paths,
                lambda files: render_report(
                    files, page, static=static, template=template, include=include, watched=watched
                ),
            )
        say(f"report  {page}", err=True)
    if lab:
        from reports.lab.report import render_lab, summary

        with progress.doing("writing the lab report"):
            written, lab_of_all = _options.of_readable(
                paths, lambda files: render_lab(files, lab, template=template, include=include)
            )
        for line in summary(written):
            say(line, err=True)
    if form == "json":
        from reports.lab.report import as_json
        from reports.text.json_text import json_text

        data(json_text({"page": page, "lab": as_json(written) if written else None}))
    return 0 if page_of_all and lab_of_all else 1
