"""Which runs of a cell its number is made of: those that are sound; of a cell without one all of them, which is then drawn hollow.

`Results.shown` gives charts the runs of quiet cells and, of cells that were never quiet, the disturbed ones. What is made of the latter
is shown with a mark, and no statement (a title, a key number, a ratio, a fit) is made of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from reports.results.model import Run

if TYPE_CHECKING:
    import pandas as pd


def sound(runs: Iterable[Run]) -> list[Run]:
    """Return the runs of which statements may be made."""
    return [run for run in runs if run.sound]


def counted(runs: Iterable[Run]) -> list[Run]:
    """Return the runs that a number is made of: the sound ones, else all."""
    every = list(runs)
    return sound(every) or every


def is_hollow(runs: Iterable[Run]) -> bool:
    """Is no run sound?"""
    return not any(run.sound for run in runs)


def hollow_rows(found: pd.DataFrame, level: str) -> pd.DataFrame:
    """Return the rows (with a column `run`) of the levels of a curve that have no sound run, where others have one: what its numbers leave out."""
    rows = unsound_rows(found, level)
    return rows if len(rows) < len(found) else found[:0]


def unsound_rows(found: pd.DataFrame, level: str) -> pd.DataFrame:
    """Return the rows (with a column `run`) of the levels of a curve that have no sound run: all, where none has one."""
    kept = found["run"].map(lambda run: run.sound).astype(bool)
    return found[~kept & ~found[level].isin(found.loc[kept, level])]


def sound_rows(found: pd.DataFrame) -> pd.DataFrame:
    """Return the rows (with a column `run`) of which statements may be made."""
    kept = [run.sound for run in found["run"]]
    return found if all(kept) else found[kept]


def counted_rows(found: pd.DataFrame) -> pd.DataFrame:
    """Return the rows (with a column `run`) of the runs that a number is made of: the sound ones, else all."""
    rows = sound_rows(found)
    return rows if len(rows) else found
