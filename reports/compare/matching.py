"""Cells of two sides brought together: by their parameters and by the relative place where they ran. Pure.

Two machines number their CPUs differently, so a place is compared by its relation ("local", "remote") and by its share
of the machine ("half of a NUMA node"). Cells are matched in rounds. Each round takes what the one before left, and only
if exactly one cell of each side fits:

    same        sweep, options, selectors and relation agree
    renamed     the sweep has another name
    relative    the selectors differ, relation and share of the machine agree
    path        options that are paths differ, too: a device belongs to a machine
    share       the number of threads differs, its share of the machine agrees
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
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

Crowds = dict[tuple[str, Any], int]
"""Side and cell → how many cells of the other side fit it, of cells that several fit."""


def cells(runs: pd.DataFrame, ignore: Collection[str] = ()) -> pd.DataFrame:
    """Return one row per cell of `Side.runs`, in their order; the index is the first run. ignore: options that do not
    count.

    key                         what makes runs one cell: of its sweep, with its relation
    tool, sweep, relation, share, selectors, position, threads_per_pu
    parameters                  options as JSON, and without paths, and without threads (None: does not apply)
    labels, cell                axes as JSON, and as text: "threads=4 place=local"
    runs, failed                indexes of its runs that count, and how many failed
    cause, reason               why the other runs do not count, and the reason of the first failed one
    """
    from parsers.frames import pd

    if "place" in ignore:
        runs = runs.assign(relation="", share="", selectors="", pu_count=0)
    kinds = list(zip(runs["tool"], runs["sweep"], runs["options"], runs["selectors"], strict=True))
    keys = {kind: _key(kind, ignore) for kind in {*kinds}} if ignore else {}
    cell = [keys[kind] for kind in kinds] if ignore else runs["point_id"]
    both: list[Any] = list(zip(cell, runs["relation"], strict=True))
    runs = runs.assign(key=both, member=runs.index)
    first = runs.drop_duplicates("key")
    others, failed = runs[runs["fate"] != ""], runs[runs["fate"] == "failed"]
    members: dict[str, tuple[pd.Series[Any], Any]] = {
        "runs": (runs[runs["fate"] == ""].groupby("key")["member"].agg(list), []),
        "failed": (failed.groupby("key")["member"].count(), 0),
        "cause": (others.groupby("key")["cause"].agg(lambda causes: " and ".join(sorted({*causes}))), ""),
        "reason": (failed[failed["reason"] != ""].groupby("key")["reason"].first(), ""),
    }
    rows = pd.DataFrame([_cell(row, {*ignore, "metrics"}) for row in records(first)], first.index)
    columns = {name: (column.to_dict(), empty) for name, (column, empty) in members.items()}
    return rows.assign(
        **{name: [known.get(key, empty) for key in first["key"]] for name, (known, empty) in columns.items()}
    )


def _key(kind: tuple[str, str, str, str], ignore: Collection[str]) -> str:
    tool, sweep, options, selectors = kind
    counted = {k: v for k, v in json.loads(options).items() if k.partition(".")[0] not in ignore}
    return canonical_json([tool, sweep, counted, selectors])


def _cell(run: Mapping[str, Any], ignore: Collection[str]) -> dict[str, Any]:
    parameters = {name: value for name, value in json.loads(run["parameters"]).items() if name not in ignore}
    without_paths = {k: v for k, v in parameters.items() if not (isinstance(v, str) and v.startswith("/"))}
    without_threads = {k: v for k, v in without_paths.items() if k != THREADS}
    threads, axes = parameters.get(THREADS), json.loads(run["axes"])
    labels = {name: value for name, value in axes.items() if name not in ignore}
    is_whole = THREADS in parameters or run["relation"] == "all"  # a number of threads is a share already
    return {
        **{name: run[name] for name in ("key", "tool", "sweep", "relation", "share", "selectors")},
        "parameters": canonical_json(parameters),
        "without_paths": canonical_json(without_paths),
        "without_threads": canonical_json(without_threads) if THREADS in parameters and run["share"] else None,
        "position": "" if is_whole else run["share"],
        "threads_per_pu": str(Fraction(threads, run["pu_count"]))
        if isinstance(threads, int) and run["pu_count"]
        else "",
        "labels": canonical_json(labels),
        "cell": run["cell"] if labels == axes and labels else describe(labels),
    }


def describe(labels: Mapping[str, Any]) -> str:
    """Return "threads=4 place=local"."""
    return " ".join(f"{name}={text(value)}" for name, value in labels.items())


def text(value: Any) -> str:  # noqa: ANN401 (a value of JSON)
    """Return a level as it is written."""
    return str(listed(tuple(value))) if isinstance(value, list) else str(value)


def match_sides(a: pd.DataFrame, b: pd.DataFrame) -> tuple[pd.DataFrame, Crowds]:
    """Return the pairs of the `cells` of both sides: those with a number first; the rest is matched with cells without
    one."""
    from parsers.frames import pd

    pairs, crowds = match(*(side[side["runs"].map(bool)] for side in (a, b)))
    rest, _ = match(a.drop(pairs["a"]), b.drop(pairs["b"]))
    has_numbers = [bool(a.loc[x, "runs"] and b.loc[y, "runs"]) for x, y in zip(rest["a"], rest["b"], strict=True)]
    rest = rest[[not both for both in has_numbers]]
    return pd.concat([pairs, rest], ignore_index=True), crowds


def match(a: pd.DataFrame, b: pd.DataFrame) -> tuple[pd.DataFrame, Crowds]:
    """Return the pairs of some `cells`, in the order of A: a, b (their indexes), how; and the crowds of those that are
    left."""
    from parsers.frames import pd

    left, right = (side.rename_axis(name).reset_index() for side, name in ((a, "a"), (b, "b")))
    rounds: list[pd.DataFrame] = []
    crowds: Crowds = {}
    for how, names in ROUNDS:
        keys = list(names)
        single = [side.dropna(subset=keys).drop_duplicates(keys, keep=False) for side in (left, right)]
        pairs = single[0][["a", *keys]].merge(single[1][["b", *keys]], on=keys)[["a", "b"]].assign(how=how)
        rounds.append(pairs)
        left, right = left[~left["a"].isin(pairs["a"])], right[~right["b"].isin(pairs["b"])]
        for name, side, other in (("a", left, right), ("b", right, left)):
            fit = side[[name, *keys]].dropna().merge(other[keys].dropna(), on=keys)
            crowds |= {(name.upper(), cell): int(size) for cell, size in fit[name].value_counts().items()}
    order = {cell: i for i, cell in enumerate(a.index)}
    every = pd.concat(rounds, ignore_index=True)
    return every.sort_values("a", key=lambda column: column.map(order), kind="stable", ignore_index=True), crowds
