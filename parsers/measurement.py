"""Define the measurement vocabulary: the result of a parser and the meaning of its numbers.

A parser is a module of this package. The module has the tool's name, and provides

    NAME        str                    the tool's own name, as people write it: "Intel MLC"
    PRINTED     Mapping[str, float] | None    metric → the last digit that the tool prints of it, in the metric's base unit; a metric
                                       that is missing is printed with all its digits; None: nobody knows the tool's
                                       format
    VERSION     int                    raised when the same text gives other rows: cached frames are then read anew
    LABELS      tuple[str, ...]        the label columns of its `measurements`, in order
    METRICS     Mapping[str, Metric]   every metric it can return
    recognise(text) -> bool            does this look like the tool's output? cheap, used to guess the tool
    parse(text, context) -> Parsed     text in, tables out; raises ParseError; no I/O

A parser of texts that users capture by hand also provides `TAKEN`, a `Taken`.

`context` has the known options of the run that printed the text. The text takes precedence over the context. Modules
and packages with a leading underscore, and the four modules of the vocabulary, are not parsers.
"""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar

from parsers._bounds import MOST_ROWS, PRINT_LESS
from parsers.errors import ParseError

if TYPE_CHECKING:
    import pandas as pd

Scalar = str | int | float | bool | None
"""A value of a table. None is a missing label. A missing value is a missing row."""

Direction = Literal["higher", "lower", "neither"]

T = TypeVar("T")


def number(cell: Scalar) -> float:
    """Return the number in a cell of a numeric column. Raises ValueError for other content, which is an error of the
    parser.
    """
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        raise ValueError(f"{cell!r} is not a number")
    return float(cell)


def whole(cell: Scalar) -> int | None:
    """Return the whole number of a cell, else None: 8, 8.0 and "8" give 8, and "4k", 0.5 and nan give None."""
    if isinstance(cell, str) and ("_" in cell or not cell.isascii()):
        return None  # numbers to Python alone
    try:
        value = float(cell) if isinstance(cell, str | int | float) else math.nan
    except (ValueError, OverflowError):
        return None
    return int(value) if math.isfinite(value) and value == int(value) else None


@dataclass(frozen=True, slots=True)
class Metric:
    """A named quantity. `unit` is a base unit (ns, B, B/s, 1/s), or the tool's own unit ("1" for a ratio)."""

    unit: str
    better: Direction
    text: str  # for people: "bandwidth", "completion latency"


class _Rows(Sequence[tuple[Scalar, ...]]):
    """Lazy rows of a table. Equal to a tuple of the rows."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401 (a row, or rows of a slice)
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # equal to tuples, which have hashes of their own


class Columns(_Rows):
    """Rows stored as columns of equal length. A megabyte of json+ has 35 000 rows, which most readers do not need."""

    __slots__ = ("columns",)

    def __init__(self, columns: Sequence[Sequence[Scalar]]) -> None:
        self.columns = columns

    @classmethod
    def joined(cls, blocks: Iterable[tuple[tuple[Scalar, ...], tuple[Sequence[Scalar], ...]]]) -> Columns:
        """Return the rows of one or more blocks: the columns that are constant in a block first, then the others."""
        columns: list[list[Scalar]] = []
        for shared, own in blocks:
            columns = columns or [[] for _ in (*shared, *own)]
            for column, cells in zip(columns, (*([cell] * len(own[0]) for cell in shared), *own), strict=True):
                column += cells
        return cls(columns)

    def __len__(self) -> int:
        return len(self.columns[0])

    def __iter__(self) -> Iterator[tuple[Scalar, ...]]:
        return zip(*self.columns, strict=True)


class Series(NamedTuple):
    """The labels, metric and unit of a number, without the value."""

    metric: str
    unit: str
    labels: Mapping[str, Scalar]  # without those that are missing


class Numbered(_Rows):
    """Rows of `measurements` with a shared series. Texts with the same table and other numbers share the series."""

    __slots__ = ("labels", "series", "values")

    def __init__(self, labels: tuple[str, ...], series: tuple[Series, ...], values: Sequence[float]) -> None:
        self.labels = labels  # the columns before metric, unit and value
        self.series = series
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[tuple[Scalar, ...]]:
        for (metric, unit, labels), value in zip(self.series, self.values, strict=True):
            yield (*map(labels.get, self.labels), metric, unit, value)


class Counted(_Rows):
    """Rows (index, metric, unit, value) with an index from 0 per metric. A program may print a million numbers.

    `series` has (metric, unit, values). No series is empty, and no metric occurs two times.
    """

    __slots__ = ("series",)

    def __init__(self, series: Iterable[tuple[str, str, Sequence[float]]]) -> None:
        self.series = tuple((metric, unit, array("d", values)) for metric, unit, values in series)

    def __len__(self) -> int:
        return sum(len(values) for _, _, values in self.series)

    def __iter__(self) -> Iterator[tuple[Scalar, ...]]:
        for metric, unit, values in self.series:
            yield from zip(range(len(values)), repeat(metric), repeat(unit), values)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of plain values under named columns. The rows become a pandas frame only on request."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[Scalar, ...]]  # a tuple, Columns, Numbered or Counted

    def frame(self) -> pd.DataFrame:
        """Return the table as a DataFrame: len(rows) x len(columns), in order."""
        from parsers.frames import pd

        return pd.DataFrame.from_records(list(self.rows), columns=list(self.columns))

    def records(self) -> list[dict[str, Scalar]]:
        """Return one dictionary per row, without missing labels."""
        return [{c: v for c, v in zip(self.columns, row, strict=True) if v is not None} for row in self.rows]


class Measurement(NamedTuple):
    """A row of `measurements`: a number in its base unit, and the labels that identify the number."""

    metric: str
    unit: str
    value: float
    labels: Mapping[str, Scalar]  # without those that are missing

    def get(self, label: str) -> Scalar:
        """Return a label, or None if the row has no such label."""
        return self.labels.get(label)


@dataclass(frozen=True, slots=True)
class NotYet:
    """A program that users run next to a tool and that no parser reads."""

    name: str
    known_by: str  # a regular expression, multi-line
    hint: str = (
        "the tool `command` runs it and takes figures by expressions of your own (docs/parsers/command.md); a table whose columns you name "
        "is read by `pinsweep parse table`"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The rules to import texts of a tool that a user captured by hand. Every field is optional."""

    begins: tuple[str, ...] = ()
    """Where a run may begin (regular expressions, multi-line), the surest sign first. A cut is kept only if nothing
    is lost by it."""

    program: str = ""
    """How the program is called in a command line (a regular expression)."""

    tells: Mapping[str, str] = field(default_factory=dict)
    """Option → the fact that tells it, or the label that does where all rows have the same."""

    table_labels: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)
    """What a plain table of the tool's numbers means if nobody says otherwise: with this column ("": always) → these
    labels."""

    labels: Callable[[Mapping[str, str]], Mapping[str, Scalar]] = lambda _: {}
    """Settings of a cell, as they were typed → the labels that follow from them."""

    typed: Callable[[str], Mapping[str, Scalar]] = lambda _: {}
    """A command line, as somebody typed it above a plain table → the facts that it tells."""

    not_yet: tuple[NotYet, ...] = ()
    """Programs beside the tool that are refused by their names."""

    runs: Callable[[Parsed], int] | None = None
    """How many runs a text holds, where the labels `document` and `run` do not tell."""

    parts: Callable[[Parsed], list[dict[str, int]]] = lambda _: [{}]
    """Which parts of a text are cells of their own: what `parse` is to be told in its context to read one of them."""

    part_name: Callable[[Parsed], str] = lambda _: "a part"
    """What one such part is called."""

    command: Callable[[Parsed], Scalar] = lambda parsed: parsed.facts.get("command_line") or parsed.facts.get("command")
    """The command line that the text itself tells; None where it does not."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A remark on the numbers: `id` for programs (`truncated`, `no_msr`), `text` for people."""

    id: str
    text: str


def unread(lines: Sequence[str], where: str = "") -> Flag:
    """Return the flag for lines (at least one) that look like figures and are in no row: the count and the first
    line.
    """
    several = f"{len(lines)} lines look like figures and could not be read, the first"
    what = several if len(lines) > 1 else "1 line looks like figures and could not be read:"
    return Flag("unread", f"{where}{': ' if where else ''}{what} {lines[0][:60]!r}")


_MOST_READ: Final = 10_000
"""Maximum of texts with cached readings. A hundred thousand texts would not fit into memory."""
_read: deque[Parsed] = deque()


@dataclass(slots=True, kw_only=True)
class Parsed:
    """The tables, facts and flags of one text. The class is not frozen, because of `once`.

    tables["measurements"] has the parser's LABELS, then `metric`, `unit`, `value` (float, base unit, finite). The
    parser's docstring defines further tables (`histogram`: label columns, `low`, `high`, `count`). If a parser's
    PRINTED is None, `printed` has `metric` and `step`: the finest digit of the metric in this text, in the base unit.
    """

    tables: Mapping[str, Table]
    flags: tuple[Flag, ...] = ()
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    """tool_version, program, threads, …: one value per text."""
    _once: dict[Any, Any] | None = field(default=None, init=False, compare=False, repr=False)

    @property
    def measurements(self) -> Table:
        return self.tables["measurements"]

    def measured(self) -> Iterator[Measurement]:
        """Yield the rows of `measurements`, typed. Do not change the labels."""
        rows = self.measurements.rows
        if isinstance(rows, Numbered):
            for (name, unit, labels), value in zip(rows.series, rows.values, strict=True):
                yield Measurement(name, unit, value, labels)
            return
        if isinstance(rows, Counted):
            for name, unit, values in rows.series:
                for index, value in enumerate(values):
                    yield Measurement(name, unit, value, {"index": index})
            return
        columns = self.measurements.columns
        places = {name: i for i, name in enumerate(columns)}
        metric, value_unit, number_of = (places.pop(name) for name in ("metric", "unit", "value"))
        for row in rows:
            labels = {name: row[i] for name, i in places.items() if row[i] is not None}
            yield Measurement(str(row[metric]), str(row[value_unit]), number(row[number_of]), labels)

    def printed(self) -> dict[str, float]:
        """Return {metric: finest printed digit} from the table `printed`."""
        rows = self.tables["printed"].rows if "printed" in self.tables else ()
        return {str(metric): number(step) for metric, step in rows}

    def once(self, read: Callable[[Parsed], T]) -> T:
        """Return the result of `read` for this text, from a cache. After many other texts, `read` runs again."""
        if self._once is None:  # most texts have no cache
            self._once = {}
            _read.append(self)
            if len(_read) > _MOST_READ:
                _read.popleft()._once = None
        if read not in self._once:
            self._once[read] = read(self)
        result: T = self._once[read]
        return result

    def has(self, flag_id: str) -> bool:
        for flag in self.flags:  # noqa: SIM110 (asked dozens of times a run: a generator takes three times as long)
            if flag.id == flag_id:
                return True
        return False


def measurements(
    labels: Sequence[str], metrics: Mapping[str, Metric], rows: Iterable[tuple[Sequence[Scalar], str, float]]
) -> Table:
    """Return the `measurements` table from (label values, metric, value in base units).

    A value that is not finite becomes a missing row, which the caller flags. Raises ParseError for more than MOST_ROWS.
    """
    out: list[tuple[Scalar, ...]] = []
    units = {name: metric.unit for name, metric in metrics.items()}
    width = len(labels)
    for values, metric, value in rows:
        if len(values) != width:
            raise ValueError(f"{len(values)} labels for {width} columns: {values!r}")
        if value - value == 0:  # false for inf and nan
            out.append((*values, metric, units[metric], float(value)))
            if len(out) > MOST_ROWS:
                raise ParseError("output", f"more than {MOST_ROWS:,} figures in one text are not read", PRINT_LESS)
    return Table((*labels, "metric", "unit", "value"), tuple(out))
