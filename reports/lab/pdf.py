"""Typst's markup to PDF, by the typst wheel. I/O: a temporary folder."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from parsers.errors import UserError
from reports.lab import figures

_PICTURE = b"""#set document(date: none)
#set page(width: auto, height: auto, margin: 0pt)
#image("picture.svg")
"""


class NoTypst(UserError):
    """The program that makes the PDF is not there; all else can be made without it."""


def report(files: Mapping[str, bytes]) -> bytes:
    """Return the PDF of report.typ, which finds its pictures among `files`. The same files give the same bytes.

    Raises NoTypst where typst is not installed, and UserError for Typst that does not compile: a template of the
    user's own.
    """
    pictures = {
        name: data
        for name, data in files.items()
        if name.startswith("assets/") or (name.startswith("figures/") and name.endswith(".svg"))
    }
    return _compile({"report.typ": files["report.typ"], **pictures}, "report.typ")


def picture(drawn: str) -> bytes:
    """Return a drawn figure as PDF, for LaTeX: by typst, which gives the same bytes each time, else by vl-convert."""
    try:
        return _compile({"picture.typ": _PICTURE, "picture.svg": drawn.encode("utf-8")}, "picture.typ")
    except NoTypst:
        return figures.pdf(drawn)


def _compile(files: Mapping[str, bytes], main: str) -> bytes:
    try:
        import typst
    except ImportError as error:
        raise NoTypst("report.pdf", "typst is not installed", "pip install 'pinsweep[pdf]'") from error
    with tempfile.TemporaryDirectory(prefix="pinsweep-") as name:
        for path, data in files.items():
            target = Path(name) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        try:
            made: bytes = typst.compile(
                Path(name) / main,
                root=Path(name),
                format="pdf",
                font_paths=[figures.font_folder()],
                timestamp=0,
            )
        except typst.TypstError as error:
            raise UserError(main, f"typst: {error.message}", *error.hints[:1]) from error
    return made
