"""What a lab report is made of. Plain values: three templates place them in Markdown, LaTeX and Typst.

Every text is plain text; the templates' environments escape it. Numbers of figures and tables count through the
document, as LaTeX and Typst count them: the three texts agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reports import document
from reports.draw import figure
from reports.page.model import Check

TEXT_WIDTH_MM = 160.0
"""Width of the text on the page: A4 with 25 mm at each side."""

Size = Literal["normal", "small", "smaller", "smallest"]
"""10, 9, 8 and 7 pt."""

Trace = tuple[tuple[str, str], ...]
"""Where something comes from, as names and values: tool version, experiments with their hashes, runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A picture with its number and caption. `source` is the page's figure, from which the files are drawn."""

    source: figure.Figure | document.Figure
    number: int
    label: str  # the name of its files, and what references name
    title: str  # the finding
    caption: str  # what ran, and how to read the marks
    description: str  # what the picture shows, in words
    width_mm: float
    height_mm: float
    trace: Trace
    kind: Literal["figure"] = "figure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table: its heading, and how its cells are set.

    A "number" column holds numbers only, missing ones, and numbers with a range behind them: "23.1 (22.9–23.4)".
    """

    name: str
    heading: tuple[str, ...]  # the name, in lines that are not wider than need be
    align: Literal["left", "right", "number"]
    integers: int = 0  # "number": most digits before the point
    signed: bool = False  # "number": is any below zero?
    decimals: int = 0  # "number": most digits after it
    after: str = ""  # "number": the longest range behind a number
    share: float = 0.0  # of the text's width, where the column must wrap; 0: as wide as its cells


_UNBROKEN_ROWS = 16
"""A longer table is broken over pages rather than leave the foot of one empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The columns of a table that stand beside one another on paper, and which of all they are."""

    columns: tuple[Column, ...]
    at: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table with its number and caption; number 0: only in a file."""

    number: int
    label: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    parts: tuple[Part, ...]  # one below the other, each with all rows
    size: Size = "normal"
    printed: bool = True  # else too long or too wide for any page
    kind: Literal["table"] = "table"

    @property
    def file(self) -> str:
        """Where it stands in the folder, printed or not."""
        return f"tables/{self.label}.csv"

    @property
    def long(self) -> bool:
        """Must it be allowed to break over pages?"""
        lines = sum(
            2 if any(c.share for c in part.columns) else 1 for part in self.parts
        )  # of a row, where some wrap
        return len(self.rows) * lines > _UNBROKEN_ROWS

    def cells(self, part: Part) -> tuple[tuple[str, ...], ...]:
        """Return the rows of one of its parts."""
        return tuple(tuple(row[i] for i in part.at) for row in self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A sentence that the data carries, and where to look: it may be kept or cut."""

    text: str
    refs: tuple[Figure | Table, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section of the results: the page's, with what the lab report puts into it."""

    title: str
    label: str
    note: str  # which stand-ins made the numbers; "" where none did
    items: tuple[Figure | Table, ...]
    findings: tuple[Finding, ...]

    @property
    def lines(self) -> int:
        """How many lines must be left on a page for its heading to stand there: a caption's, and those of its first table where that is not broken."""
        first = next((item for item in self.items if item.kind == "table"), None)
        return 10 + (len(first.rows) if first and not first.long else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command line, as it was started, and which runs it made."""

    cell: str
    runs: str  # "runs 3, 17 and 40"
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """All command lines of one sweep."""

    name: str
    title: str
    commands: tuple[Command, ...]
    left_out: int = 0  # command lines beyond those


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The whole report, in the order in which it is read."""

    title: str
    sentence: str
    date: str  # when it was measured, "2026-11-21"; "" where that is not recorded
    about: tuple[str, ...]  # what the experiments' own texts say
    machine: Table
    not_recorded: str
    sweeps: Table
    key_numbers: Table | None
    checks: tuple[Check, ...]  # with few examples each: the audit lists them all
    sections: tuple[Section, ...]
    methods: tuple[str, ...]
    numbers: tuple[Table, ...]  # tables that stand at the end
    filed: tuple[Table, ...]  # tables that stand in files only
    commands: tuple[Sweep, ...]
    trace: Trace
    version: str

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(f for section in self.sections for f in section.findings)

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures, in the order of their numbers."""
        return tuple(i for s in self.sections for i in s.items if isinstance(i, Figure))

    @property
    def tables(self) -> tuple[Table, ...]:
        """All printed tables, in the order of their numbers."""
        some = [self.machine, self.sweeps, *([self.key_numbers] if self.key_numbers else [])]
        some += [i for s in self.sections for i in s.items if isinstance(i, Table)]
        return (*some, *self.numbers)
