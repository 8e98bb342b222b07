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
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from orchestrator.model import canonical_json, listed
from reports.measurements import records
from reports.results.model import Results

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

PAIRS: Final = ("pair", "a", "b", "how")


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


# --- what is not compared ----------------------------------------------------------------------------------

UNMATCHED: Final = ("side", "sweep", "cell", "reason", "detail", "numbers", "kind", "labels")
"""side: which has it. reason: a word or two. detail: what differs in the nearest cell, or why its runs failed. numbers: which numbers of a
cell that both sides have. kind: "cell"; "numberless" of one that gave no number where it ran; "number"; "optional" of a number that a good
run may lack."""


def unmatched(
    a: pd.DataFrame, b: pd.DataFrame, silent: tuple[pd.DataFrame, pd.DataFrame], pairs: pd.DataFrame,
    crowds: Mapping[tuple[str, Any], int], silent_pairs: tuple[pd.DataFrame, pd.DataFrame], reasons: tuple[pd.Series[str], pd.Series[str]],
    absent: tuple[Mapping[Any, str], Mapping[Any, str]],
) -> Iterable[tuple[Any, ...]]:  # fmt: skip
    """Yield a row of `UNMATCHED` per cell that only one side has.

    silent: cells that ran and gave no number, with the pairs of cells of the other side with these, and the reason of each.
    absent: why a side never ran a cell: (sweep, labels) or key → reason.
    """
    sides = (("A", a, b, "a", "b", 0), ("B", b, a, "b", "a", 1))
    for side, own, other, name, other_name, at in sides:
        silent_of = dict(zip(silent_pairs[at][name], silent_pairs[at][other_name], strict=True))
        every = [*_parameters(other), *_parameters(silent[1 - at])]
        for index, cell in zip(own.index, records(own), strict=True):
            if index in set(pairs[name]):
                continue
            absence = absent[1 - at].get((cell["sweep"], cell["labels"])) or absent[1 - at].get(
                cell["key"][0], ""
            )
            if count := crowds.get((side, index)):
                reason, detail = "several cells match", str(count)
            elif index in silent_of:
                reason, _, detail = reasons[1 - at][silent_of[index]].partition(": ")
            elif absence:
                reason, _, detail = absence.partition(": ")
            else:
                reason, detail = "no such cell", _nearest(cell, every)
            yield side, cell["sweep"], cell["name"], reason, detail, "", "cell", cell["labels"]


def numberless(
    silent: tuple[pd.DataFrame, pd.DataFrame], used: tuple[Collection[Any], Collection[Any]],
    reasons: tuple[pd.Series[str], pd.Series[str]],
) -> Iterable[tuple[Any, ...]]:  # fmt: skip
    """Yield a row of `UNMATCHED` per cell that gave no number on one side, and that the other side lacks or has no number of either."""
    left = tuple(side[~side.index.isin(list(taken))] for side, taken in zip(silent, used, strict=True))
    pairs, _ = match(*left)
    for a in pairs["a"]:
        cell = silent[0].loc[a]
        reason, _, detail = reasons[0][a].partition(": ")
        yield "neither", cell["sweep"], cell["name"], reason, detail, "", "cell", cell["labels"]
    for side, name, own, reason_of in (("A", "a", left[0], reasons[0]), ("B", "b", left[1], reasons[1])):
        for index in own.index[~own.index.isin(list(pairs[name]))]:
            reason, _, detail = reason_of[index].partition(": ")
            yield (
                side,
                own.loc[index, "sweep"],
                own.loc[index, "name"],
                reason,
                detail,
                "",
                "numberless",
                own.loc[index, "labels"],
            )


def absences(results: Results) -> dict[Any, str]:
    """Return why cells were never run: (sweep, labels as JSON) or point_id → "skipped: no NUMA node", "not run yet"."""
    found: dict[Any, str] = {cell.point_id: "not run yet" for _, cell, _ in results.missing}
    for _, item in results.skipped:
        found[item.sweep, canonical_json(dict(item.cell))] = f"skipped: {item.reason}"
    return found


def _parameters(side: pd.DataFrame) -> list[dict[str, Any]]:
    return [_of_cell(cell) for cell in side[["tool", "parameters", "relation", "share"]].to_dict("records")]


def _of_cell(cell: Mapping[Any, Any]) -> dict[str, Any]:
    place = ", ".join(filter(None, (cell["relation"], cell["share"])))
    return {"tool": cell["tool"], **json.loads(cell["parameters"]), "place": place}


def _nearest(cell: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> str:
    """Return in what the nearest cell of the other side differs: "bs: 16k, not 4k"; "" without one."""
    own = _of_cell(cell)
    near = min(others, key=lambda other: len(_differing(own, other)), default=None)
    if near is None:
        return ""
    return "; ".join(f"{name}: {text(own.get(name, 'none'))}, not {text(near.get(name, 'none'))}" for name in _differing(own, near)[:3])  # fmt: skip


def _differing(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    return [name for name in dict.fromkeys((*a, *b)) if a.get(name) != b.get(name)]
