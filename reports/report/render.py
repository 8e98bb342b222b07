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
    """Write the report of some result files to `out` and return `out`. `include` and `watched` are arguments of
    `load`.

    The same results give the same bytes. `static` omits the script for point values, table copies, picture downloads
    and the theme switch. `template` is a folder of user templates, see `reports.page.templates`.

    Raises UserError if a file is not a result file, `out` cannot be written, a user template is wrong or vl-convert is
    missing.
    """
    results = load(list(paths), include=include, watched=watched)
    page = build.build(results)
    write_whole(out, html(page, static=static, template=template))
    return out
