"""The answer of a command: a document of headings, texts, tables and figures. `reports.render` writes the document
in a medium.

A table holds values in base units, not texts. Columns with several units hold `Quantity` values. Only a renderer scales
and rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self

if TYPE_CHECKING:
    import pandas as pd

MARK = "⚠"
GAP = "Your analysis here"
"""Mark of a gap. Search for the mark to find unwritten parts."""

Tone = Literal["", "warning", "next", "quiet", "code", "gap"]
"""warning is a caveat. next is a command to run now. quiet is small print. code has one command line per line. gap
is a task for the reader.
"""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value in a base unit. `step` is the last printed digit, in the same unit."""

    value: float | None
    unit: str
    step: float | None = None


@dataclass(frozen=True, slots=True)
class Interval:
    """A range from `low` to `high` in a base unit. With the unit "%", values are fractions."""

    low: float
    high: float
    unit: str


Value = str | int | float | bool | Quantity | Interval | None
"""A cell. None is drawn as a dash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table. `name` is the key in JSON. `title` is the heading, "" for the name."""

    name: str
    title: str = ""
    unit: str = ""  # base unit of plain numbers; "%" for fractions
    step: float | None = None
    signed: bool = False  # a change: "+4.2 %"
    spare: bool = False  # left out where a terminal is too narrow

    @property
    def heading(self) -> str:
        return self.title or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of values under columns. `flags` holds the check ids per row, "" without flags, or () if no row has
    flags.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    title: str = ""
    id: str = ""
    flags: tuple[str, ...] = ()
    most: int = 20
    """Rows in a terminal. A page shows ten times as many. Omitted rows are counted."""
    spread: bool = False
    """A shortened table shows rows at equal distances, not the first rows."""

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *columns: Column, **others: Any) -> Self:  # noqa: ANN401 (its own fields)
        """Return a table of the given columns of a frame, all columns by default. A column `flags` becomes the flags
        of the table.
        """
        shown = columns or tuple(Column(name=str(name)) for name in frame.columns if name != "flags")
        plain = frame.astype(object).where(frame.notna(), None)
        rows = zip(*(plain[column.name] for column in shown), strict=True) if len(frame) else ()
        flags = tuple(frame["flags"].fillna("")) if "flags" in frame else ()
        return cls(columns=shown, rows=tuple(rows), flags=flags if any(flags) else (), **others)

    def records(self) -> list[dict[str, Value]]:
        """Return one dictionary per row."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class Heading:
    text: str
    level: int = 2
    id: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    tone: Tone = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart with a table. `spec` is Vega-Lite with embedded data. A medium without pictures shows the table."""

    id: str
    title: str
    spec: Mapping[str, Any] = field(repr=False)
    table: Table
    caption: str = ""  # at most two lines: plotted quantity and reading aid
    summary: Table | None = None  # the main conclusion, below the picture
    about: str = ""  # method, in a fold
    flags: str = ""  # checks that flag some of the numbers: "F1, G11"
    description: str = ""  # alternative text

    @property
    def wide(self) -> bool:
        """Return whether the figure has several panels and needs the full page width."""
        return "facet" in self.spec


@dataclass(frozen=True, slots=True)
class Fold:
    """Details below a title that the reader can open. A terminal omits the fold."""

    title: str
    blocks: tuple[Block, ...]


Block = Heading | Text | Table | Figure | Fold


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    title: str
    blocks: tuple[Block, ...]

    def figures(self) -> Iterable[Figure]:
        """Return all figures, including figures in folds."""
        return _figures(self.blocks)


def _figures(blocks: Iterable[Block]) -> Iterable[Figure]:
    for block in blocks:
        if isinstance(block, Figure):
            yield block
        elif isinstance(block, Fold):
            yield from _figures(block.blocks)
