"""Result files to one HTML page that reads with no script and no network. I/O: reads results, writes the page."""

from __future__ import annotations

import base64
import hashlib
import json
import unicodedata
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any

from reports import frames, page, vega
from reports.files import write_whole
from reports.model import Figure, Panel

_EXCERPT = 3000  # characters of output per run


def render_report(paths: Iterable[Path], out: Path, *, static: bool = True) -> Path:
    """Write the report of some result files to `out` and return it.

    The same results give the same bytes. With `static=False` the page also carries its charts as Vega-Lite
    specifications, in a block of JSON (`pinsweep-charts`), for an editor or a runtime to take up.

    Raises UserError for files that are no results, for an `out` that cannot be written, and where vl-convert is
    not installed.
    """
    results = frames.load(paths, excerpts=_EXCERPT)
    write_whole(out, html(page.build(results), static=static))
    return out


def html(built: page.Page, *, static: bool = True) -> str:
    """Return the page as HTML."""
    import jinja2
    from markupsafe import Markup

    style = resources.files("reports").joinpath("templates/report.css").read_text(encoding="utf-8")
    style = "\n".join(line.strip() for line in style.splitlines() if line.strip())
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    specs: dict[str, Any] = {}

    def draw(panel: Panel, uid: str, width: str) -> Markup:
        spec = panel.wide if width == "wide" else panel.narrow
        if not static and width == "wide":
            specs[uid] = spec
        return Markup(vega.draw(spec, uid, _plain(panel.description)))  # svg.tidy escapes

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("reports", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: _plain(value) if type(value) is str else value,
    )
    environment.globals["draw"] = draw
    numbers: dict[str, int] = {}

    def figure_number(figure: Figure) -> int:
        return numbers.setdefault(figure.id, len(numbers) + 1)

    environment.globals["figure_number"] = figure_number
    environment.globals["anchor"] = anchor
    body = environment.get_template("base.html.j2").render(
        page=built,
        style=Markup(style),
        csp=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
        templates={
            name.removesuffix(".html.j2")
            for name in environment.list_templates()
            if name.endswith(".html.j2")
        },
    )
    if static:
        return body
    block = script_json({"config": vega.theme(), "charts": specs})
    return body.replace(
        "</body>", f'<script type="application/json" id="pinsweep-charts">{block}</script>\n</body>'
    )


def script_json(value: Any) -> str:  # noqa: ANN401 (anything JSON holds)
    """Return JSON that cannot end the script element it stands in, nor begin a comment in it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def anchor(text: str) -> str:
    """Return an id for a fragment: letters, digits and dashes only, whatever the text holds."""
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in text).strip("-").lower()
    if plain and plain == text:
        return plain
    return f"{plain[:40] or 'x'}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:6]}"


def _plain(text: str) -> str:
    """Replace what no document may hold: control characters except line ends and tabs, lone surrogates."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs") else "\ufffd"
        for c in text.replace("\r\n", "\n")
    )
