"""Cells of two sides brought together: by their parameters and by the relative place where they ran. Pure.

Two machines number their CPUs differently, so a place is compared by its relation ("local", "remote") and by its share of the machine
("half of a NUMA node"). Cells are matched in rounds. Each round takes what the one before left, and only if exactly one cell of each side
fits:

    same        sweep, options, selectors and relation agree
    renamed     the sweep has another name
    relative    the selectors differ, relation and share of the machine agree
    path        options that are paths differ, too: a device belongs to a machine
    share       the number of threads differs, its share of the machine agrees
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from orchestrator.model import canonical_json, listed
from reports.measurements import records

if TYPE_CHECKING:
    import pandas as pd

THREADS: Final = "threads"
_SAME: Final = ("tool", "parameters", "selectors", "relation")
ROUNDS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("same", ("sweep", "key")),
    ("same", ("sweep", *_SAME, "labels")),
    ("same", ("sweep", *_SAME)),
    ("renamed", _SAME),
    ("relative", ("tool", "parameters", "relation", "position")),
    ("path", ("tool", "without_paths", "relation", "position")),
    ("share", ("tool", "without_threads", "relation", "share", "threads_per_pu")),
)
"""How cells are matched → the columns that must agree. A cell with a missing value takes no part in a round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """The `cells` of both sides, A's first, and which of them belong together."""

    cells: tuple[pd.DataFrame, pd.DataFrame]
    silent: tuple[pd.DataFrame, pd.DataFrame]  # ran and gave no number
    pairs: pd.DataFrame  # a, b, how: of `cells`
    silent_of_b: pd.DataFrame  # the same of cells of A that are left, with silent ones of B
    silent_of_a: pd.DataFrame  # of silent ones of A, with cells of B that are left
    crowds: Mapping[tuple[str, Any], int]  # side and cell → how many cells of the other side fit it

    def unpaired(self, side: int) -> pd.DataFrame:
        cells = self.cells[side]
        return cells[~cells.index.isin(list(self.pairs["ab"[side]]))]


def match_sides(
    usable: Sequence[pd.DataFrame], others: Sequence[pd.DataFrame], ignore: Collection[str]
) -> Matched:
    """Match the runs that count of both sides; others: their other runs. Cells without a number are matched with what is left."""
    a, b = (cells(runs, ignore) for runs in usable)
    silent_a, silent_b = (
        own[~own["key"].isin(list(known["key"]))]
        for own, known in zip((cells(runs, ignore) for runs in others), (a, b), strict=True)
    )
    pairs, crowds = match(a, b)
    return Matched(
        cells=(a, b), silent=(silent_a, silent_b), pairs=pairs, crowds=crowds,
        silent_of_b=match(a[~a.index.isin(list(pairs["a"]))], silent_b)[0],
        silent_of_a=match(silent_a, b[~b.index.isin(list(pairs["b"]))])[0],
    )  # fmt: skip


def cells(runs: pd.DataFrame, ignore: Collection[str] = ()) -> pd.DataFrame:
    """Return one row per cell of some runs, in their order; the index is the first run. ignore: options that do not count.

    key               what makes runs one cell: of its sweep, with its relation
    tool, sweep, relation, share
    parameters        options as JSON, and without paths, and without threads (None: does not apply)
    selectors, position, threads_per_pu
    labels, name      axes as JSON, and as text: "threads=4 place=local"
    runs              indexes of its runs
    """
    from parsers.frames import pd

    placed = "place" not in ignore
    known: dict[tuple[Any, ...], dict[str, Any]] = {}
    columns = ["tool", "sweep", "point_id", "parameters", "options", "selectors", "axes", "cell", "relation", "share", "pu_count"]  # fmt: skip
    for index, row in by_index(runs[columns]).items():
        if not placed:
            row |= {"relation": "", "share": "", "selectors": "", "pu_count": 0}
        key = (_key(row, ignore) if ignore else row["point_id"], row["relation"])
        if key not in known:
            known[key] = {"first": index, "key": key, "runs": [], **_cell(row, {*ignore, "metrics"})}
        known[key]["runs"].append(index)
    names = ["first", "key", "tool", "sweep", "relation", "share", "parameters", "without_paths", "without_threads", "selectors", "position", "threads_per_pu", "labels", "name", "runs"]  # fmt: skip
    return pd.DataFrame(list(known.values()), columns=names).set_index("first")


def _key(row: Mapping[str, Any], ignore: Collection[str]) -> str:
    options = {
        name: value
        for name, value in json.loads(row["options"]).items()
        if name.partition(".")[0] not in ignore
    }
    return canonical_json([row["tool"], row["sweep"], options, row["selectors"]])


def _cell(row: Mapping[str, Any], dropped: Collection[str]) -> dict[str, Any]:
    parameters = {name: value for name, value in json.loads(row["parameters"]).items() if name not in dropped}
    without_paths = {k: v for k, v in parameters.items() if not (isinstance(v, str) and v.startswith("/"))}
    threads = parameters.get(THREADS)
    has_share = THREADS in parameters and row["share"]
    axes = json.loads(row["axes"])
    labels = {name: value for name, value in axes.items() if name not in dropped}
    name = (
        row["cell"] if labels == axes else " ".join(f"{key}={text(value)}" for key, value in labels.items())
    )
    return {
        **{name: row[name] for name in ("tool", "sweep", "relation", "share", "selectors")},
        "parameters": canonical_json(parameters),
        "without_paths": canonical_json(without_paths),
        "without_threads": canonical_json({k: v for k, v in without_paths.items() if k != THREADS}) if has_share else None,
        # a number of threads is a share already, and "all" is all
        "position": "" if THREADS in parameters or row["relation"] == "all" else row["share"],
        "threads_per_pu": str(Fraction(threads, row["pu_count"])) if isinstance(threads, int) and row["pu_count"] else "",
        "labels": canonical_json(labels),
        "name": name if labels else "",
    }  # fmt: skip


def by_index(frame: pd.DataFrame) -> dict[Any, dict[str, Any]]:
    """Return index → the columns of its row."""
    return dict(zip(frame.index, records(frame.reset_index(drop=True)), strict=True))


def text(value: Any) -> str:  # noqa: ANN401 (a value of JSON)
    """Return a level as it is written."""
    return str(listed(tuple(value))) if isinstance(value, list) else str(value)


def match(a: pd.DataFrame, b: pd.DataFrame) -> tuple[pd.DataFrame, dict[tuple[str, Any], int]]:
    """Return the pairs of some `cells`, in the order of A: a, b (their indexes), how; and how many cells of the other side fit one that is left."""
    from parsers.frames import pd

    left, right = (side.rename_axis(name).reset_index() for side, name in ((a, "a"), (b, "b")))
    found: list[pd.DataFrame] = []
    crowds: dict[tuple[str, Any], int] = {}
    for how, names in ROUNDS:
        keys = list(names)
        sides = [side[side[keys].notna().all(axis="columns")] for side in (left, right)]
        single = [side[~side.duplicated(keys, keep=False)] for side in sides]
        pairs = single[0][["a", *keys]].merge(single[1][["b", *keys]], on=keys)[["a", "b"]].assign(how=how)
        found.append(pairs)
        left, right = left[~left["a"].isin(pairs["a"])], right[~right["b"].isin(pairs["b"])]
        for n, (name, own, other) in enumerate((("a", left, right), ("b", right, left))):
            fit = own[[name, *keys]].dropna().merge(other[keys].dropna(), on=keys)
            crowds |= {("AB"[n], cell): int(size) for cell, size in fit[name].value_counts().items()}
    every = pd.concat(found, ignore_index=True)
    order = {cell: i for i, cell in enumerate(a.index)}
    every = every.sort_values("a", key=lambda cells: cells.map(order), kind="stable", ignore_index=True)
    return every, crowds
