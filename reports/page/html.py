"""Result files to one HTML page that reads with no script and no network. I/O: reads results, writes the page."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reports.document import Figure as Declared
from reports.draw import interactive, vega
from reports.draw.figure import Figure, Panel
from reports.page import parts
from reports.page.model import Page, Section
from reports.page.sandbox import CPU_S
from reports.page.templates import PAGE, Templates
from reports.render.html import Drawing
from reports.render.svg import draw as declared_svg
from reports.text import format as fmt
from reports.text.names import anchor
from reports.text.plain import plain

_MANY = 60  # panels; beyond, a browser draws figures only when they are near: pictures of the whole page lack the rest

_DRAWING_S = 1.0  # of a panel, at most: users' templates have so much time beside their own


def html(built: Page, *, static: bool = False, template: Path | None = None) -> str:
    """Return the page as HTML. Its policy allows its one style sheet and its two scripts by their hashes, and images
    that are in the page where the user's templates may have some."""
    from markupsafe import Markup

    templates = Templates(template)
    style = parts.style() + templates.style()
    answering = not static and _has_curves(built)
    scripts = [parts.resource("vendor/vega.js").decode("utf-8")] if answering else []
    scripts += [] if static else [parts.lines("report.js")]
    charts: dict[str, dict[str, vega.Spec]] = {}  # figure → picture → what draws it

    def draw(panel: Panel, uid: str, width: str) -> Markup:
        spec = panel.wide if width == "wide" else panel.narrow
        chart = vega.compiled(interactive.answering(spec) if answering else spec)
        charts.setdefault(uid.rpartition("-")[0], {})[uid] = chart
        return Markup(vega.draw_compiled(chart, uid, plain(panel.description)))  # svg.tidy escapes

    def series(figure: Figure) -> dict[str, str]:
        out: dict[str, str] = {}
        drawn = [dict(interactive.series_of(panel.wide)) for panel in figure.panels]
        if all(len(own) < 2 for own in drawn):  # each panel says whose its line is
            return out
        for own in drawn:
            for name, colour in own.items():
                out.setdefault(name, colour)
        beside = {name for own in drawn if len(own) > 1 for name in own}
        shared = Counter(
            out.values()
        )  # what is alone in its panel needs no colour to be told by, and has none of its own
        return {name: colour for name, colour in out.items() if name in beside or shared[colour] < 2}

    environment = templates.environment
    environment.globals["draw"] = draw
    environment.globals["series"] = series
    numbers: dict[str, dict[str, int]] = {"Figure": {}, "Table": {}}

    def figure_number(figure: Figure | Declared) -> str:
        kind = "Figure" if isinstance(figure, Declared) or figure.panels else "Table"
        own = numbers[kind]
        return f"{kind} {own.setdefault(figure.id, len(own) + 1)}"

    environment.globals["figure_number"] = figure_number
    for block in (block for section in built.sections for block in section.blocks):
        for declared in block.drawn:
            numbers["Figure"].setdefault(declared.id, len(numbers["Figure"]) + 1)
        for figure in block.figures:
            figure_number(figure)
    environment.globals["how"] = Drawing(draw=declared_svg, numbers=numbers["Figure"])
    environment.globals["anchor"] = anchor
    environment.globals["contents"] = _contents
    policy = [
        "default-src 'none'",
        f"style-src '{parts.digest(style)}'",
        "font-src data:",
        *(["img-src data:"] if template or not static else []),  # a figure is one while it becomes a PNG
        *([] if static else ["script-src " + " ".join(f"'{parts.digest(script)}'" for script in scripts)]),
        "base-uri 'none'",
        "form-action 'none'",
    ]
    every = [block for s in built.sections for block in s.blocks]
    panels = sum(len(f.panels) for block in every for f in block.figures) + sum(
        len(block.drawn) for block in every
    )
    values = {
        "page": built,
        "many": panels > _MANY,
        "style": Markup(style),
        "scripts": [Markup(script) for script in scripts],
        # called last: drawing fills it
        "charts": lambda: Markup(
            script_json({figure: interactive.packed(those) for figure, those in charts.items() if answering})
        ),
        "csp": "; ".join(policy),
        "templates": {
            name.removesuffix(".html.j2") for name in templates.names() if name.endswith(".html.j2")
        },
    }
    return plain(unbroken(templates.render(PAGE, values, cpu_s=CPU_S + panels * _DRAWING_S)))


_SHORT = 20
"""Letters of a word with hyphens that no line breaks."""

_APART = re.compile(
    r"(<(tbody|pre|code|script|style|svg|title)\b.*?</\2>|<[^>]*>)"  # what stays as it is: these, and every tag
    rf"|{fmt.BEFORE_UNIT}"
    r"|(?<=\d ×) (?=\d|unloaded)|(?<=[÷≤≥]) (?=\d|most|peak)"
    rf"|((?<![\w.-])(?=[\w-]{{3,{_SHORT}}}(?![\w-]|\.\w))(?:--\w+|[^\W\d]\w*(?=-\w))(?:-\w+)*)",
    re.DOTALL,
)


def unbroken(page: str) -> str:
    """Return a page in whose sentences and heads of tables no line ends between a number and its unit, nor in "2 × unloaded", "8 × 32 KiB", in an
    option like `--static` or a short word with a hyphen.
    Rows of tables, which wrap no number, and what is code or a picture stay as they are: they are taken along as text."""

    def kept(found: re.Match[str]) -> str:
        return found[1] or (f'<span class="nb">{found[3]}</span>' if found[3] else fmt.NO_BREAK)

    return _APART.sub(kept, page)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A section in the page's contents, with its figures in the order in which they stand there."""

    title: str
    anchor: str
    figures: tuple[Figure | Declared, ...]
    swept: bool  # are its figures of several sweeps?


def _contents(page: Page) -> list[_Part]:
    """Return the sections that have figures."""
    found = [(s, tuple(_figures(s))) for s in page.sections]
    return [
        _Part(
            title=s.title,
            anchor=s.anchor,
            figures=own,
            swept=len({f.sweep for f in own if isinstance(f, Figure)}) > 1,
        )
        for s, own in found
        if own
    ]


_FEW: Final = 4


def _has_curves(built: Page) -> bool:
    """Is there a panel with more than a few values? Else pointing and zooming tell nothing that the picture and its table do not, and
    are not worth the 430 KB of what answers them."""
    panels = (
        p for s in built.sections for block in s.blocks for figure in block.figures for p in figure.panels
    )
    values = (sum("tip" in row for rows in p.wide["datasets"].values() for row in rows) for p in panels)
    return any(n > _FEW for n in values)


def script_json(value: Any) -> str:  # noqa: ANN401 (anything JSON holds)
    """Return JSON that cannot end the script element it stands in, nor begin a comment in it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _figures(section: Section) -> Iterator[Figure | Declared]:
    for block in section.blocks:
        yield from block.drawn
        yield from block.figures
