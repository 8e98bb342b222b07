"""Result files to one HTML page. I/O: reads results, writes the page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from reports.compare.section import Delta
from reports.page.html import html
from reports.report import build
from reports.results.load import Watched, load, printed
from reports.results.write import write_whole


def render_report(
    paths: Iterable[Path],
    out: Path,
    *,
    static: bool = False,
    template: Path | None = None,
    comparison: Delta | None = None,
    watched: Watched = iter,
) -> Path:
    """Write the report of some result files to `out` and return it; with a comparison of them, its section before the charts.

    The same results give the same bytes. `static` leaves out the scripts: exact values under the pointer and by arrow
    keys, zoom, series shown or hidden, tables to copy, the theme switch. `template` is a folder of templates before
    ours, see `reports.page.templates`. `watched` is that of `load`.

    Raises UserError for files that are no results, for an `out` that cannot be written, for mistakes in the user's
    templates, and where vl-convert is not installed.
    """
    results = load(paths, watched=watched)
    texts = printed(results, build.with_output(results), build.EXCERPT)
    write_whole(out, html(build.build(results, comparison, texts), static=static, template=template))
    return out
