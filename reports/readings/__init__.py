"""Each tool's run, read once: typed rows, and the pandas frame of them with the same columns. No statistics.

    Run ─reading→ rows (NamedTuples)        what `run`, `show` and `doctor` use, without pandas
    runs ─frame→ DataFrame                  what charts, numbers, checks, lab and export group, join, pivot and take quantiles of

A module has the name of its tool. A reading is a function from a Parsed to rows, made by `reading`; values are in base units
(ns, B, B/s, 1/s), and what the text does not tell is None (in a frame NaN or NA), never 0.

What a reading gives of a run of a large file may be kept in that file (`dumped`, `parsers.measurement.Told`): the very rows, or nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar, get_type_hints

from parsers.measurement import Measurement, Parsed, Told
from reports.readings.rows import Form
from reports.results.model import Run

if TYPE_CHECKING:
    import pandas as pd

Row = TypeVar("Row", bound=NamedTuple)

_DTYPES: Final = {
    int: "int64", float: "float64", bool: "bool", int | None: "Int64", float | None: "float64",
}  # fmt: skip
"""Of a column, by the type of its field; texts and what may be missing beside numbers stay objects."""


class Reading(Generic[Row]):
    """A way to read a run, and the type of the rows that it gives."""

    def __init__(self, row: type[Row], read: Callable[[Parsed], Iterable[Row]], *, kept: bool) -> None:
        self.row = row
        self.name = f"{read.__module__.rpartition('.')[2]} {read.__name__}"
        self._read = read
        self._kept = kept
        self._form = Form.of(row) if kept else None
        self.__doc__ = read.__doc__

    def __call__(self, of: Run | Parsed) -> tuple[Row, ...]:
        """Return the rows of a run, in the order of its text; none of a run without a number."""
        parsed = of.parsed if isinstance(of, Run) else of
        if parsed is None:
            return ()
        return parsed.once(self._all) if self._kept else self._all(parsed)

    def _all(self, parsed: Parsed) -> tuple[Row, ...]:
        form, tables = self._form, parsed.tables
        if form and isinstance(tables, Told) and (told := tables.told(self.name)) is not None:
            with contextlib.suppress(ValueError, KeyError, TypeError, IndexError, RecursionError):
                return form.loaded(*told)
        return tuple(self._read(parsed))

    def dumped(self, parsed: Parsed) -> tuple[str, list[float | None]] | None:
        """Return the rows of a text as they are kept (`Told`); None of those that are not."""
        return self._form.dumped(self(parsed)) if self._form else None

    def frame(self, runs: Iterable[Run]) -> pd.DataFrame:
        """Return the rows of all runs, in order, with a column per field and these before them:

        run     object  the Run itself: equal to itself alone, so that it can be grouped by
        file    str     where it was measured
        where   str     its host; with the file, where several files come from one host
        sweep   str
        point_id, repeat   the cell and its repeat, from 1
        """
        from parsers.frames import pd

        rows = [(run, run.file, run.where, run.cell.sweep, run.record.point_id, run.record.repeat, *row)
                for run in runs for row in self(run)]  # fmt: skip
        hints = get_type_hints(self.row)
        types: dict[str, Any] = {name: _DTYPES.get(hints[name], "object") for name in self.row._fields}
        names = [*_HEAD, *self.row._fields]
        columns = zip(*rows, strict=True) if rows else [()] * len(names)
        types |= dict.fromkeys(_HEAD, "object") | {"repeat": "int64"}
        return pd.DataFrame({name: pd.Series(values, dtype=types[name]) for name, values in zip(names, columns, strict=True)})  # fmt: skip


_HEAD: Final = ("run", "file", "where", "sweep", "point_id", "repeat")


_OF_TOOL: Final[dict[str, list[Reading[Any]]]] = {}


def of_tool(tool: str) -> tuple[Reading[Any], ...]:
    """Return the readings of a tool that are kept, as far as their modules were imported."""
    return tuple(_OF_TOOL.get(tool, ()))


def reading(
    row: type[Row], *, kept: bool = True
) -> Callable[[Callable[[Parsed], Iterator[Row]]], Reading[Row]]:
    """Make a reading of a function. `kept`: its rows stay with the Parsed; not those of histograms, which are many."""

    def make(read: Callable[[Parsed], Iterator[Row]]) -> Reading[Row]:
        made = Reading(row, read, kept=kept)
        if kept:
            _OF_TOOL.setdefault(made.name.partition(" ")[0], []).append(made)
        return made

    return make


@reading(Measurement, kept=False)
def measurements(parsed: Parsed) -> Iterator[Measurement]:
    """The measurements of any tool, as they were printed, in the order of the text."""
    yield from parsed.measured()


def first_groups(frame: pd.DataFrame, by: list[str], most: int) -> tuple[pd.DataFrame, int]:
    """Return the rows of the first groups (`groups`), `most` at most, and how many groups there are."""
    number = frame.groupby(by, sort=False, dropna=False).ngroup()
    return frame[number < most], int(number.max()) + 1 if len(frame) else 0


def groups(frame: pd.DataFrame, by: list[str]) -> Iterator[tuple[Any, pd.DataFrame]]:
    """Give (values of the columns `by`, rows that have them), in the order of first appearance; a missing value is one, too."""
    yield from frame.groupby(by, sort=False, dropna=False)
