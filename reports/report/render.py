"""Result files to one HTML page. I/O: reads results, writes the page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from reports.page.html import html
from reports.report import build
from reports.results.load import Include, Watched, load
from reports.results.write import write_whole


def render_report(
    paths: Iterable[Path],
    out: Path,
    *,
    static: bool = False,
    template: Path | None = None,
    include: Include = "least",
    watched: Watched = iter,
) -> Path:
    """Write the report of some result files to `out` and return it. include, watched: as of `load`.

    The same results give the same bytes. `static` leaves out the script: values at points, tables to copy, pictures to save, the theme
    switch. template: a folder of templates before ours, see `reports.page.templates`.

    Raises UserError for files that are no results, an `out` that cannot be written, mistakes in the user's templates, and if vl-convert is
    not installed.
    """
    results = load(list(paths), include=include, watched=watched)
    page = build.build(results)
    write_whole(out, html(page, static=static, template=template))
    return out
