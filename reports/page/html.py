"""Pages that need no script and no network, with style, script and policy, and the page of a report. Pure, except
for reading resources.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any, Final

from reports.document import Document
from reports.page import parts
from reports.page.model import Page
from reports.page.sandbox import CPU_S
from reports.page.templates import PAGE, Templates
from reports.render.html import Drawing, fragment
from reports.render.svg import draw, is_zoomable, runtime
from reports.text import format as fmt
from reports.text.plain import plain

_MANY: Final = 60
"""From this many figures on, a browser draws figures only near the screen."""

_DRAWING_S: Final = 1.0  # CPU seconds per figure; user templates get this time in addition


def html(page: Page, *, static: bool = False, template: Path | None = None) -> str:
    """Return a report as HTML. `template` is a folder of user templates (`reports.page.templates`)."""
    from markupsafe import Markup

    templates = Templates(template)
    style, scripts = parts.style() + templates.style(), [] if static else [parts.lines("report.js")]
    blocks = tuple(block for section in page.sections for block in section.blocks)
    figures = list(Document(title="", blocks=blocks).figures())
    numbers = {figure.id: n for n, figure in enumerate(figures, 1)}
    charts = {figure.id: runtime(figure) for figure in figures if is_zoomable(figure)} if scripts else {}
    vega = parts.resource("vendor/vega.js").decode("utf-8") if charts else ""
    how = Drawing(draw=draw, numbers=numbers)
    values: dict[str, Any] = {
        "page": page,
        "drawn": {section.anchor: fragment(section.blocks, how) for section in page.sections},
        "cells": [fragment((check.cells,), how) if check.cells else "" for check in page.checks],
        "runs": fragment([page.runs], how) if page.runs else "",
        "contents": [(figure.id, numbers[figure.id], figure.title) for figure in figures],
        "many": len(figures) > _MANY,
        "style": Markup(style),
        "scripts": [Markup(script) for script in scripts],
        "charts": [*charts],
        "packed": packed(json.dumps(charts, ensure_ascii=False, separators=(",", ":"))),
        "vega": packed(vega),
        "csp": parts.policy(style, [*filter(None, [vega]), *scripts], images=bool(template)),
    }
    return plain(unbroken(templates.render(PAGE, values, cpu_s=CPU_S + len(figures) * _DRAWING_S)))


def packed(text: str) -> str:
    """Return a text with gzip, in base64. The same text gives the same result."""
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 9, mtime=0)).decode()


_SHORT = 20
"""Letters of a word with hyphens that no line breaks."""

_APART = re.compile(
    r"(<(tbody|pre|code|script|style|svg|title)\b.*?</\2>|<[^>]*>)"  # unchanged parts: these, and every tag
    rf"|{fmt.BEFORE_UNIT}"
    r"|(?<=\d ×) (?=\d|unloaded)|(?<=[÷≤≥]) (?=\d|most|peak)"
    rf"|((?<![\w.-])(?=[\w-]{{3,{_SHORT}}}(?![\w-]|\.\w))(?:--\w+|[^\W\d]\w*(?=-\w))(?:-\w+)*)",
    re.DOTALL,
)


def unbroken(page: str) -> str:
    """Return a page without bad line breaks in sentences and table headings.

    The kept pairs are a number with a unit, "2 × unloaded", "8 × 32 KiB", options like `--static` and short words with
    a hyphen. Table rows, code and pictures remain unchanged, because table rows never wrap numbers.
    """

    def kept(found: re.Match[str]) -> str:
        return found[1] or (f'<span class="nb">{found[3]}</span>' if found[3] else fmt.NO_BREAK)

    return _APART.sub(kept, page)
