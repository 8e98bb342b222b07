"""Result files to one HTML page that reads with no script and no network. I/O: reads results, writes the page."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from reports import frames, page, vega
from reports.files import write_whole
from reports.model import Figure, Panel
from reports.templating import PAGE, Templates, plain

_EXCERPT = 3000  # characters of output per run


_DARK = (
    "color-scheme:dark;--ink:#E8EAED;--mute:#A3ABB6;--faint:#8A93A0;--grid:#272C33;--axis:#5B6470;--bg:#14171B;"
    "--soft:#1B1F25;--rule:#323840;--s1:#79B4F7;--s2:#EF9357;--s3:#9BF0CF;--s4:#D76BA9;--o1:#4380EE;--o2:#8481B8;"
    "--o3:#DA85D2;--o4:#F98A7B;--o5:#EDAE57;--warn:#E9B04A;--ok:#6FD3AE;--heat:#B8561F;--link:#8EC1FA"
)
"""The dark theme: in report.css twice, for who prefers it and for who switches to it."""


def render_report(
    paths: Iterable[Path], out: Path, *, static: bool = False, template: Path | None = None
) -> Path:
    """Write the report of some result files to `out` and return it.

    The same results give the same bytes. `static` leaves out the script that shows exact values under the pointer
    and by arrow keys, singles out series, copies tables and switches the theme. `template` is a folder of templates
    before ours, see `reports.templating`.

    Raises UserError for files that are no results, for an `out` that cannot be written, for mistakes in the user's
    templates, and where vl-convert is not installed.
    """
    results = frames.load(paths, excerpts=_EXCERPT)
    write_whole(out, html(page.build(results), static=static, template=template))
    return out


def html(built: page.Page, *, static: bool = False, template: Path | None = None) -> str:
    """Return the page as HTML. Its policy allows its one style sheet and its one script by their hashes, and images
    that are in the page where the user's templates may have some."""
    from markupsafe import Markup

    templates = Templates(template)
    font = base64.b64encode(_resource("fonts/inter-subset.woff2")).decode()
    style = _lines("report.css").replace("FONT", f"data:font/woff2;base64,{font}").replace("DARK", _DARK)
    style += templates.style()
    script = "" if static else _lines("report.js")
    points: dict[str, Any] = {}

    def draw(panel: Panel, uid: str, width: str) -> Markup:
        spec = panel.wide if width == "wide" else panel.narrow
        if told := vega.told(spec):
            points[uid] = _points(told)
        return Markup(vega.draw(spec, uid, plain(panel.description)))  # svg.tidy escapes

    environment = templates.environment
    environment.globals["draw"] = draw
    numbers: dict[str, int] = {}

    def figure_number(figure: Figure) -> int:
        return numbers.setdefault(figure.id, len(numbers) + 1)

    environment.globals["figure_number"] = figure_number
    environment.globals["anchor"] = anchor
    policy = [
        "default-src 'none'",
        f"style-src '{_hash(style)}'",
        "font-src data:",
        *(["img-src data:"] if template else []),
        *([] if static else [f"script-src '{_hash(script)}'"]),
        "base-uri 'none'",
        "form-action 'none'",
    ]
    values = {
        "page": built,
        "style": Markup(style),
        "script": Markup(script),
        "points": lambda: Markup(script_json(points)),  # called last: drawing fills it
        "csp": "; ".join(policy),
        "templates": {
            name.removesuffix(".html.j2") for name in templates.names() if name.endswith(".html.j2")
        },
    }
    return templates.render(PAGE, values)


def _points(told: Sequence[vega.Told]) -> dict[str, Any]:
    """Return the points of a picture for report.js: each is [x, y, index of its series, index of its text]."""
    series = list(dict.fromkeys(plain(p.series) for p in told))
    texts = list(dict.fromkeys(plain(p.text) for p in told))
    at = {text: i for i, text in enumerate(texts)}
    return {
        "series": series,
        "texts": texts,
        "points": [[p.x, p.y, series.index(plain(p.series)), at[plain(p.text)]] for p in told],
    }


def _resource(name: str) -> bytes:
    return resources.files("reports").joinpath(name).read_bytes()


def _lines(name: str) -> str:
    """Return a file of the templates without indentation and empty lines."""
    text = _resource(f"templates/{name}").decode("utf-8")
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def script_json(value: Any) -> str:  # noqa: ANN401 (anything JSON holds)
    """Return JSON that cannot end the script element it stands in, nor begin a comment in it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def anchor(text: str) -> str:
    """Return an id for a fragment: letters, digits and dashes only, whatever the text holds."""
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in text).strip("-").lower()
    if plain and plain == text:
        return plain
    return f"{plain[:40] or 'x'}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:6]}"
