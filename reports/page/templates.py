"""Templates: the shipped templates, after a folder of user templates. I/O: reads templates.

A folder given with `--template` may hold any of

    base.html.j2                       the page; {% extends "pinsweep/base.html.j2" %} and override its blocks
    lab/report.md.j2, .tex.j2, .typ.j2 the lab report; {% extends "pinsweep/lab/report.md.j2" %}
    <tool>.html.j2                     the layout of a tool's figures
    extra.css                          more style for the page, after ours

The folder may also hold any file that these templates name. Shipped templates are also available as `pinsweep/…`, so
that a template of the same name can extend a shipped template. All printed values are escaped for the template's
language, unless the value is `Markup`. User templates run in a sandbox (`reports.page.sandbox`).
"""

from __future__ import annotations

import base64
import mimetypes
import re
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import Any

import jinja2
from jinja2 import meta
from markupsafe import Markup
from markupsafe import escape as html_escape

from parsers.errors import UserError, nearest
from reports.page.sandbox import CPU_S, FolderLoader, Sandbox, limits, rendered, within
from reports.text import format as fmt
from reports.text.plain import plain

PAGE = "base.html.j2"
LAB = ("lab/report.md.j2", "lab/report.tex.j2", "lab/report.typ.j2")
STYLE = "extra.css"
_OURS = "pinsweep/"

Escape = Callable[[str], str]


class Templates:
    """The templates of one language.

    `escape` turns any text into text of that language, with None for HTML. `tex` selects the delimiters that LaTeX
    leaves free: ((* … *)), ((( … ))) and ((= … =)).
    """

    def __init__(self, folder: Path | None = None, *, escape: Escape | None = None, tex: bool = False) -> None:
        self.folder = _folder(folder) if folder else None
        shipped = jinja2.PackageLoader("reports", "templates")
        loaders = [FolderLoader(self.folder)] if self.folder else []

        def finalize(value: object) -> object:
            if escape is None:  # `html` makes the page plain
                return value
            if hasattr(value, "__html__") or isinstance(value, jinja2.Undefined):
                return value
            return Markup(escape(str(value)))  # autoescape, in another language than HTML

        delimiters: dict[str, Any] = (
            {
                "block_start_string": "((*", "block_end_string": "*))", "variable_start_string": "(((",
                "variable_end_string": ")))", "comment_start_string": "((=", "comment_end_string": "=))",
            }
            if tex
            else {}
        )  # fmt: skip
        self.environment = (Sandbox if self.folder else jinja2.Environment)(
            loader=jinja2.ChoiceLoader([*loaders, shipped, jinja2.PrefixLoader({_OURS.rstrip("/"): shipped})]),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=finalize,
            **delimiters,
        )
        self.environment.globals["data_uri"] = self.data_uri
        self.environment.filters["spans"] = lambda text: spans(
            text, _html, lambda t: f"<code{_UNBROKEN * (len(t) <= _SHORT)}>{_html(t)}</code>"
        )
        self.environment.filters["breaks"] = breaks
        self.environment.filters["whole"] = whole

    def names(self) -> set[str]:
        """Return the names of all templates, the shipped ones without `pinsweep/`."""
        return {name for name in self.environment.list_templates() if not name.startswith(_OURS)}

    def render(self, name: str, values: dict[str, Any], *, cpu_s: float = CPU_S) -> str:
        """Return the named template filled. User templates may use at most `cpu_s` of CPU time.

        Raises UserError with file and line for a mistake in a user template.
        """
        if self.folder is None:
            return self.environment.get_template(name).render(values)
        with limits(self.folder, cpu_s):
            return self._own(self.folder, name, values)

    def _own(self, folder: Path, name: str, values: dict[str, Any]) -> str:
        try:
            if (folder / name).is_file():
                self._check_blocks(name)
            return rendered(self.environment.get_template(name), values, folder)
        except jinja2.TemplateSyntaxError as error:
            if not self._is_own(error.filename):
                raise
            raise UserError(f"{error.filename}:{error.lineno}", str(error.message), _HINT) from error
        except (UserError, MemoryError):
            raise
        except Exception as error:
            place = self._place(error)
            if not place:
                raise
            raise UserError(place, *_said(error, self.names())) from error

    def style(self) -> str:
        """Return the user's `extra.css`, or "". Raises UserError if the text cannot be part of a style element."""
        path = self.folder / STYLE if self.folder else None
        if path is None or not path.is_file():
            return ""
        text = _read(within(path.parent, path))
        if "</" in text:
            raise UserError(str(path), "holds “</”, which may end the page's style sheet", "write it as “<\\/”")
        return plain(text)

    def asset(self, name: str) -> bytes:
        """Return a file of the user's folder. Raises UserError if the file is missing or outside of the folder."""
        if self.folder is None:
            raise UserError(name, "there is no template folder to take it from", "give one with --template")
        path = self.folder / name
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts or not path.is_file():
            raise UserError(str(path), "no such file in the template folder", "put it there, or take its name out")
        within(self.folder, path)
        try:
            return path.read_bytes()
        except OSError as error:
            raise UserError(str(path), f"cannot be read: {error.strerror}") from error

    def data_uri(self, name: str) -> str:
        """Return a file of the user's folder as an embedded address, such as `data:image/svg+xml;base64,…`."""
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        return f"data:{kind};base64,{base64.b64encode(self.asset(name)).decode()}"

    def _is_own(self, filename: str | None) -> bool:
        return bool(self.folder and filename and Path(filename).is_relative_to(self.folder))

    def _place(self, error: Exception) -> str:
        """Return file and line of the innermost user template in an error's traceback, or ""."""
        if isinstance(error, UnicodeDecodeError) and self.folder:
            return str(self.folder)
        frames = [f for f in traceback.extract_tb(error.__traceback__) if self._is_own(f.filename)]
        return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""

    def _check_blocks(self, name: str) -> None:
        """Raise UserError if an extending template defines a block that the shipped template lacks. Jinja would drop
        such a block.
        """
        assert self.folder is not None
        tree = self.environment.parse(_read(within(self.folder, self.folder / name)), name, str(self.folder / name))
        parents = [p for p in meta.find_referenced_templates(tree) if p and p.startswith(_OURS)]
        if not parents or not tree.find(jinja2.nodes.Extends):
            return
        known: set[str] = set()
        for parent in parents:
            known |= set(self.environment.get_template(parent).blocks)
        for block in tree.find_all(jinja2.nodes.Block):
            if block.name not in known:
                raise UserError(
                    f"{self.folder / name}:{block.lineno}",
                    f"{parents[0]} has no block {block.name!r}",
                    nearest(block.name, known) or f"blocks: {', '.join(sorted(known))}",
                )


def breaks(text: str) -> Markup:
    """Return a text, which may be HTML, with possible line breaks after each "_", for long file names."""
    return html_escape(text).replace("_", Markup("_<wbr>"))


def whole(text: str) -> str:
    """Return a text without line breaks between a number and a unit, for table rows. The page's rule covers only
    sentences.
    """
    return _BEFORE_UNIT.sub(fmt.NO_BREAK, text)


_BEFORE_UNIT = re.compile(fmt.BEFORE_UNIT)


def spans(text: str, words: Escape, code: Escape) -> Markup:
    """Return a text of some language with `backticks` set as code."""
    parts = re.split(r"`([^`]+)`", text)
    return Markup("".join(code(part) if i % 2 else words(part) for i, part in enumerate(parts)))


_UNBROKEN = ' class="nb"'
_SHORT = 24
"""Letters of code in which lines do not break: an option, a command."""


def _html(text: str) -> str:
    return str(html_escape(plain(text)))


_HINT = "Jinja's own words: https://jinja.palletsprojects.com/templates"


def _said(error: Exception, names: Iterable[str]) -> tuple[str, str]:
    """Return cause and next step of an error that a user's template raised."""
    if isinstance(error, jinja2.TemplateNotFound):
        existing = (*names, *(_OURS + n for n in names))
        return f"there is no template {error.name!r}", nearest(str(error.name), existing) or _HINT
    if isinstance(error, jinja2.UndefinedError):
        return str(error.message), "docs/templates.md lists what templates may use"
    if isinstance(error, UnicodeDecodeError):
        return "a template is not UTF-8 text", "save it as UTF-8"
    return f"{type(error).__name__}: {error}", _HINT


def _folder(folder: Path) -> Path:
    """Return the folder. Raises UserError if the path is not a folder or the folder has no usable file."""
    if not folder.is_dir():
        raise UserError(
            str(folder),
            "no such folder" if not folder.exists() else "is a file, not a folder",
            "--template DIR",
        )
    shipped = set(jinja2.PackageLoader("reports", "templates").list_templates())
    if not any((folder / name).is_file() for name in {STYLE, *shipped}):
        raise UserError(
            str(folder),
            "holds nothing that a report looks for",
            f"it looks for {PAGE}, {STYLE}, {', '.join(LAB)}",
        )
    return folder


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(str(path), f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(str(path), "is not UTF-8 text", "save it as UTF-8") from error
