"""Typst's markup to PDF, by the typst wheel. I/O: reads the folder of the text."""

from __future__ import annotations

import tempfile
from pathlib import Path

from parsers.errors import UserError
from reports.lab import pictures
from reports.render.svg import font_folder

_PICTURE = b"""#set document(date: none)
#set page(width: auto, height: auto, margin: 0pt)
#image("picture.svg")
"""


class NoTypst(UserError):
    """Typst is missing. Only the PDF needs Typst."""


def report(folder: Path) -> bytes:
    """Return the PDF of the existing report.typ in a folder. The same files give the same bytes.

    Raises NoTypst if typst is not installed, and UserError if the Typst text does not compile.
    """
    return _compile(folder, "report.typ")


def picture(drawn: pictures.Picture) -> bytes:
    """Return a picture as PDF for LaTeX. typst gives the same bytes each time. Without typst, vl-convert is used."""
    with tempfile.TemporaryDirectory(prefix="pinsweep-") as name:
        (Path(name) / "picture.typ").write_bytes(_PICTURE)
        (Path(name) / "picture.svg").write_text(drawn.svg, encoding="utf-8")
        try:
            return _compile(Path(name), "picture.typ")
        except NoTypst:
            return pictures.pdf(drawn)


def _compile(folder: Path, main: str) -> bytes:
    try:
        import typst
    except ImportError as error:
        raise NoTypst("report.pdf", "typst is not installed", "pip install 'pinsweep[pdf]'") from error
    fonts = [font_folder()]
    try:
        made: bytes = typst.compile(folder / main, root=folder, format="pdf", font_paths=fonts, timestamp=0)
    except typst.TypstError as error:
        raise UserError(str(folder / main), f"typst: {error.message}", *error.hints[:1]) from error
    return made
