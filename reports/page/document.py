"""A document as a separate page that needs no script and no network. I/O: writes the page."""

from __future__ import annotations

from pathlib import Path

import jinja2
from markupsafe import Markup

from reports.document import Document
from reports.page import parts
from reports.page.html import unbroken
from reports.render import html
from reports.results.write import write_whole
from reports.text.plain import plain


def write_page(document: Document, out: Path, *, static: bool = False, draw: html.Draw | None = None) -> Path:
    """Write a document as a page and return the path. `static` omits the script. Raises UserError if the page cannot
    be written.
    """
    write_whole(out, page(document, static=static, draw=draw))
    return out


def page(document: Document, *, static: bool = False, draw: html.Draw | None = None) -> str:
    """Return a document as a page. The page's policy allows the style sheet and the script by hash."""
    style, script = parts.style(), "" if static else parts.lines("report.js")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("reports", "templates"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    template = environment.get_template("document.html.j2")
    return plain(
        unbroken(
            template.render(
                title=plain(document.title), body=html.render(document, draw), csp=parts.policy(style, [script] if script else []), style=Markup(style), script=Markup(script)
            )
        )
    )  # fmt: skip
