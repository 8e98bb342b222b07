"""Result files to one HTML page. I/O: reads results, writes the page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from reports.page.html import html
from reports.page.model import Block, Page
from reports.report import all_runs, build
from reports.results.load import Watched, load, printed
from reports.results.write import write_whole


def render_report(
    paths: Iterable[Path],
    out: Path,
    *,
    static: bool = False,
    template: Path | None = None,
    watched: Watched = iter,
) -> Path:
    """Write the report of some result files to `out` and return it.

    The same results give the same bytes. `static` leaves out the scripts: exact values under the pointer and by arrow
    keys, zoom, series shown or hidden, tables to copy, the theme switch. `template` is a folder of templates before
    ours, see `reports.page.templates`. `watched` is that of `load`.

    Raises UserError for files that are no results, for an `out` that cannot be written, for mistakes in the user's
    templates, and where vl-convert is not installed.
    """
    results = load(paths, watched=watched)
    texts = printed(results, all_runs.with_output(results), all_runs.EXCERPT)
    page = _without_runs(build.build(results, texts))
    del results, texts  # drawing takes memory, too
    write_whole(out, html(page, static=static, template=template))
    return out


def _without_runs(page: Page) -> Page:
    """Return the page without the runs behind its numbers and figures, which no template needs: drawing takes memory that they would
    keep, and with each its file."""

    def block(of: Block) -> Block:
        return replace(of, figures=tuple(figure.without_runs() for figure in of.figures))

    return replace(
        page,
        key_numbers=tuple(number.without_runs() for number in page.key_numbers),
        machines=tuple(drawing.without_runs() for drawing in page.machines),
        sections=tuple(replace(s, blocks=tuple(map(block, s.blocks))) for s in page.sections),
    )
