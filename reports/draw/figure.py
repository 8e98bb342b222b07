"""What a page is made of: sections of figures of panels and tables. Plain values; the templates only place them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from reports.draw.label_placement import fits
from reports.draw.strip import Strip
from reports.draw.vega import Spec
from reports.text.format import NOTHING, UNITS, count
from reports.text.names import cut_apart

MARK = "⚠"

WIDE, NARROW = 544, 368
"""Every panel is drawn twice, so that its text is never scaled; a container query in report.css picks one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One picture: its specification at both widths, and what it shows in words."""

    title: str
    wide: Spec
    narrow: Spec
    description: str


def panel(title: str, description: str, build: Callable[[int], Spec]) -> Panel:
    """Build a panel from a function of the width in px. Its description ends with what is hollow."""
    wide = build(WIDE)
    said = f"{description} {_hollow(wide)}".rstrip()
    return Panel(title=title, wide=wide, narrow=build(NARROW), description=said)


def _hollow(spec: Spec) -> str:
    """Say "Hollow: remote. Hollow in part: local." of the series, or the rows by their names, of a picture; "" where nothing is."""
    kinds: dict[str, set[bool]] = {}
    for rows in spec["datasets"].values():
        if any(row.get("hollow") for row in rows):
            for row in rows:
                kinds.setdefault(str(row.get("name", row["series"])), set()).add(bool(row.get("hollow")))
    said = [
        f"{word}: {', '.join(name for name, found in kinds.items() if found == which)}."
        for word, which in (("Hollow", {True}), ("Hollow in part", {True, False}))
        if which in kinds.values()
    ]
    return " ".join(said)


Runs = tuple[Any, ...]
"""Runs (`reports.results.model.Run`, which drawing knows nothing of) whose numbers are shown."""

MOST_ROWS = 200
"""Rows that a page shows of a table: nobody reads ten thousand, and a page of them has 16 MB."""

MOST_OPEN = 32
"""Rows of a table that says what no picture does: a longer one is closed."""

_FITS, _SHORT = 6, 4
"""Columns; a table of more is cut off in half of the page's width, where its author made it for that, and where they did not."""

ROW = -1
"""In a row of `Table.of`: of the whole row, whatever its columns."""


def row_of(runs: Iterable[Any]) -> dict[int, Runs]:
    """Return what `Table.of` says of a row that is of one cell."""
    return {ROW: tuple(dict.fromkeys(runs))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table as it is read: texts, with `numeric` columns aligned to the right.

    `heat` gives cells a shade from 0 to 12 (None: no shade), in the shape of `rows` without their first column.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()
    caption: str = ""
    heat: tuple[tuple[int | None, ...], ...] = ()
    marked: frozenset[tuple[int, int]] = frozenset()  # cells with an outline (the diagonal), as `heat`
    cuts: frozenset[int] = frozenset()  # of `heat`: rows and columns before which a group begins
    of: tuple[Mapping[int, Runs], ...] = field(default=(), repr=False, compare=False)
    """Of each row: column (or ROW) → whose numbers stand there."""
    metrics: Mapping[int, str] = field(default_factory=dict, repr=False, compare=False)
    """Column → the metric that stands there ("": several), where a check may doubt one alone; ROW: in all columns not named."""
    metric_of: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """Of each row: its metric, where rows are of different ones; () where `metrics` says all."""
    part_of_metric: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """Of each row: which part of each metric of `metrics` it has, "8" of "PingPong/time/8"; () where it has all of it."""
    part_of: str = ""
    """The id of the figure that has its rows, too, with those of other sweeps: what has that figure has them once."""
    doubts: tuple[Mapping[int, str], ...] = ()
    """As `of`: by which checks; () where nothing is doubted."""

    def cut(self) -> Table:
        """Return the table with its first MOST_ROWS; its caption says where all numbers are."""
        if len(self.rows) <= MOST_ROWS:
            return self
        return replace(
            self, rows=self.rows[:MOST_ROWS], heat=self.heat[:MOST_ROWS], of=self.of[:MOST_ROWS], doubts=self.doubts[:MOST_ROWS], metric_of=self.metric_of[:MOST_ROWS],
            part_of_metric=self.part_of_metric[:MOST_ROWS], caption=cut_caption(self.caption, len(self.rows)),
        )  # fmt: skip

    @property
    def doubted(self) -> Table:
        """The table as it is read: where doubted columns are of several cells a mark before their texts, and the checks in a last column;
        a table of shades, whose columns are all of one kind, says them in its caption."""
        if not self.doubts:
            return self
        rows = [
            tuple(f"{MARK} {text.removeprefix(MARK).strip()}" if i in by and text != NOTHING else text for i, text in enumerate(row))
            for row, by in zip(self.rows, self.doubts, strict=True)
        ]  # fmt: skip
        bare = replace(self, rows=tuple(rows), doubts=())
        if self.heat:
            every = dict.fromkeys(key for by in self.doubts for key in sorted({*_ids(by)}))
            return replace(bare, caption=f"{self.caption} {MARK} doubtful: {', '.join(every)}".strip())
        last = [
            f"{MARK} {self._said(row, by)}" if by else NOTHING
            for row, by in zip(self.rows, self.doubts, strict=True)
        ]
        return replace(
            bare,
            columns=(*self.columns, "Doubted by"),
            rows=tuple((*row, ids) for row, ids in zip(rows, last, strict=True)),
        )

    def _said(self, row: Sequence[str], by: Mapping[int, str]) -> str:
        """Say the checks that doubt a row, "D1", and of one that doubts some of its numbers alone which: "D1; G11: IOPS"."""
        shown = [i for i in self.metrics if i != ROW and row[i] != NOTHING]
        short = cut_apart(dict.fromkeys(_bare(self.columns[i]) for i in shown), fits(_NAME_PX))
        whole, alone = [], []
        for key in sorted({*_ids(by)}):
            at = [i for i in shown if key in _ids({i: by.get(i, "")})]
            if not at or len(at) == len(shown) or key in _ids({ROW: by.get(ROW, "")}):
                whole.append(key)
                continue
            spared = {_bare(self.columns[i]) for i in shown if i not in at}
            heads = [self.columns[i] for i in at]
            names = [*dict.fromkeys(head if _bare(head) in spared else short[_bare(head)] for head in heads)]
            others = len(names) - _MOST_DOUBTED if len(names) > _MOST_DOUBTED + 1 else 0
            told = names[: len(names) - others]
            alone.append(f"{key}: {', '.join(told)}{f' and {others} more' if others else ''}")
        return "; ".join([*([", ".join(whole)] if whole else []), *alone])


_NAME_PX = 260
"""What the name of a column takes beside a check that doubts it, at most: that of a long one is cut."""

_MOST_DOUBTED = 2
"""Columns that a check doubts and that are named one by one, or one more."""


def _bare(column: str) -> str:
    """Return the name of a column without its unit: "pair of cores 0,1" of "pair of cores 0,1, µs"."""
    name, _, unit = column.rpartition(", ")
    return name if name and unit in UNITS else column


def _ids(by: Mapping[int, str]) -> Iterator[str]:
    """Give the checks of some doubts."""
    return (key for ids in by.values() if ids for key in ids.split(", "))


def cut_caption(caption: str, rows: int) -> str:
    """Return the caption of a table of so many rows, of which MOST_ROWS at most stand there: it says so."""
    if rows <= MOST_ROWS:
        return caption
    cut = f"The first {MOST_ROWS} of {count(rows)} rows; pinsweep export writes all numbers"
    return ". ".join(filter(None, (caption.removesuffix("."), cut)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """An entry of a figure's legend."""

    name: str
    colour: str
    dashed: bool = False
    dot: bool = False  # a dot, where no line is drawn
    diamond: bool = False  # the same of another shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A finding with its pictures and, closed below them, its numbers."""

    id: str
    title: str
    sub: str  # what ran, and how to read the marks
    strip: Strip | None = None
    panels: tuple[Panel, ...] = ()
    tables: tuple[Table, ...] = ()  # shown open, side by side
    numbers: tuple[Table, ...] = ()  # closed, "Numbers"
    key: tuple[Key, ...] = ()
    note: str = ""
    threes: bool = False  # do its panels come in threes, one cell's or one line's each?
    half: bool = False  # takes half of the page's width where there is room
    of: str = ""  # the name of the sweep whose runs it is drawn from; "": of all runs of its tool
    sweep: str = ""  # that sweep's title; said where a section has figures of several
    marks: str = ""  # what shades and outlines of its tables mean: for a medium that shows them
    runs: Runs = field(default=(), repr=False, compare=False)  # whose numbers it shows beyond its tables
    metric: str = field(
        default="", repr=False, compare=False
    )  # what of `runs` it shows, where a check may doubt that alone
    axes: str = ""  # what each axis of its sweep does, in a sentence (`reports.report.axis_effects`)
    found: bool | None = None  # does its title say what the data says? None: if it has a figure in it
    told_of: tuple[tuple[Runs, str], ...] | None = field(default=None, repr=False, compare=False)
    """Whose numbers the title tells, and which (a metric, "": several); None: those of all that is sound in it."""
    doubt: str = ""  # of which of its cells, and why: "ranks on the same core (P1, 1 of 2 cells)"
    title_doubted: bool = False  # is a number that the title tells, or makes a claim of, among these?
    doubt_counted: str = ""  # the same in short: "P1 1 of 2 cells"

    def cut(self) -> Figure:
        """Return the figure with tables that can be read."""
        tables, numbers = (tuple(t.cut() for t in own) for own in (self.tables, self.numbers))
        return replace(self, tables=tables, numbers=numbers)

    def without_runs(self) -> Figure:
        """Return the figure as it is read, where nobody asks any more whose numbers it shows."""
        tables, numbers = (tuple(replace(t, of=()) for t in own) for own in (self.tables, self.numbers))
        return replace(self, tables=tables, numbers=numbers, runs=(), told_of=None)

    @property
    def bare(self) -> bool:
        """Has it nothing to see but its numbers? Then these are open."""
        return not (self.panels or self.tables or self.strip)

    @property
    def layout(self) -> str:
        """How it stands on the page: "half" of the width, "beside" (words beside its picture, tables of more than _FITS columns below both), or
        "" over all of it. One panel never takes more than half of it, whatever its figure would have taken with several."""
        if not self.half and len(self.panels) != 1:
            return ""
        wide = any(
            len(t.doubted.columns) > (_FITS if self.half else _SHORT) and not t.heat for t in self.tables
        )
        return "beside" if self.panels and (wide or (self.strip and not self.half)) else "half"

    @property
    def shown(self) -> Runs:
        """Whose numbers it shows."""
        own = (runs for t in (*self.tables, *self.numbers) for row in t.of for runs in row.values())
        return tuple(dict.fromkeys(run for runs in (self.runs, *own) for run in runs))

    @property
    def across(self) -> int:
        """How many panels stand abreast where there is room: three that come alone, or in threes, so that no quarter stays empty."""
        return min(len(self.panels), 3 if self.threes or len(self.panels) == 3 else 2)

    @property
    def told(self) -> str:
        """What stands below its pictures: its note, and what its axes do."""
        return " ".join(filter(None, (self.note, self.axes)))

    @property
    def says(self) -> bool:
        """Does the title say what the data says, and not only what was measured? A sweep's own title is its author's."""
        if self.found is not None:
            return self.found
        return self.title not in ("", self.sweep, self.of) and any(map(str.isdigit, self.title))

    @property
    def heading(self) -> str:
        """The title as it is read, with a mark where a check doubts a number that it tells."""
        return f"{MARK} {self.title}" if self.title_doubted else self.title

    @property
    def doubted(self) -> str:
        """The doubt in a sentence; "" without one."""
        return f"{MARK} Doubtful cells: {self.doubt}." if self.doubt else ""

    @property
    def doubted_in_short(self) -> str:
        """What stands in the place of a doubt that would be longer than the figure's other words, to be opened; "" without one."""
        return f"{MARK} Doubtful cells: {self.doubt_counted}" if self.doubt else ""

    @property
    def doubt_folds(self) -> Literal["", "narrow", "always"]:
        """Where a doubt is too long to be read in one go, and folds to `doubted_in_short`."""
        return "always" if len(self.doubt) > _LONG else "narrow" if len(self.doubt) > _LONG_ON_A_PHONE else ""


_LONG, _LONG_ON_A_PHONE = 300, 100
"""Characters of a doubt: three lines of a page, and of a phone, where the first would be eight."""


LEAST_SPAN = 1.5
"""A map of shades spans so much at least, highest ÷ lowest: what hardly differs looks alike."""


def heat(
    values: list[list[float | None]], *, inverse: bool = False, spread: float = 1.0
) -> tuple[tuple[int | None, ...], ...]:
    """Return shades 0 to 12 of the values by their logarithm, from the lowest up; `inverse`: from the highest down. They span
    LEAST_SPAN at least, and `spread`, the highest ÷ the lowest repeat of a cell: noise gets no colour. All are 0 where the values differ
    by less than a twentieth, or by no more than that.
    """
    strengths = heat_strengths(values, inverse=inverse, spread=spread)
    return tuple(tuple(None if v is None else round(12 * v) for v in row) for row in strengths)


def heat_strengths(
    values: list[list[float | None]], *, inverse: bool = False, spread: float = 1.0
) -> list[list[float | None]]:
    """Return what `heat` makes shades of: 0 to 1; None of what is missing."""
    known = [v for row in values for v in row if v is not None and v > 0]
    low, high = (min(known), max(known)) if known else (1.0, 1.0)
    span = math.log(max(high / low, LEAST_SPAN, spread))

    def strength(value: float | None) -> float | None:
        if value is None or value <= 0:
            return None
        if high / low < 1.05 or high / low <= spread:
            return 0.0
        return math.log(high / value if inverse else value / low) / span

    return [[strength(v) for v in row] for row in values]
