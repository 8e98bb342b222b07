"""Each tool's run, read once: typed rows, and the pandas frame of them with the same columns. No statistics.

    Run ─reading→ rows (NamedTuples)        what `run`, `show` and `doctor` use, without pandas
    runs ─frame→ DataFrame                  what charts, numbers, checks, lab and export group, join, pivot and take quantiles of

A module has the name of its tool. A reading is a function from a Parsed to rows, made by `reading`; values are in base units
(ns, B, B/s, 1/s), and what the text does not tell is None (in a frame NaN or NA), never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar, get_type_hints

from parsers.measurement import Measurement, Parsed
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
        self._read = read
        self._kept = kept
        self.__doc__ = read.__doc__

    def __call__(self, of: Run | Parsed) -> tuple[Row, ...]:
        """Return the rows of a run, in the order of its text; none of a run without a number."""
        parsed = of.parsed if isinstance(of, Run) else of
        if parsed is None:
            return ()
        return parsed.once(self._all) if self._kept else self._all(parsed)

    def _all(self, parsed: Parsed) -> tuple[Row, ...]:
        return tuple(self._read(parsed))

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


def reading(
    row: type[Row], *, kept: bool = True
) -> Callable[[Callable[[Parsed], Iterator[Row]]], Reading[Row]]:
    """Make a reading of a function. `kept`: its rows stay with the Parsed; not those of histograms, which are many."""

    def make(read: Callable[[Parsed], Iterator[Row]]) -> Reading[Row]:
        return Reading(row, read, kept=kept)

    return make


@reading(Measurement, kept=False)
def measurements(parsed: Parsed) -> Iterator[Measurement]:
    """The measurements of any tool, as they were printed, in the order of the text."""
    yield from parsed.measured()


def groups(frame: pd.DataFrame, by: list[str]) -> Iterator[tuple[Any, pd.DataFrame]]:
    """Give (values of the columns `by`, rows that have them), in the order of first appearance; a missing value is one, too."""
    yield from frame.groupby(by, sort=False, dropna=False)
