"""Cells that are not compared, and why; which runs failed on one side only. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from orchestrator.model import canonical_json
from reports.compare.matching import Crowds, text
from reports.measurements import records
from reports.results.model import Results

if TYPE_CHECKING:
    import pandas as pd

UNMATCHED: Final = ("side", "sweep", "cell", "reason", "detail", "numbers", "kind")
"""side: which has it. reason: a word or two. detail: what differs in the nearest cell, or why its runs failed. numbers:
which numbers of a cell that both sides have. kind: "cell"; "numberless" of one that gave no number where it ran;
"number"; "optional" of a number that a good run may lack."""

FAILURES: Final = ("side", "sweep", "cell", "reason", "failed_a", "runs_a", "failed_b", "runs_b")
"""Cells of which a larger share of the runs failed on `side`. runs: those that count and the failed ones."""

Cells = tuple["pd.DataFrame", "pd.DataFrame"]


def unmatched(
    cells: Cells, pairs: pd.DataFrame, crowds: Crowds, results: tuple[Results, Results] | None
) -> Iterator[dict[str, Any]]:
    """Yield a row of `UNMATCHED` per cell that only one side has, or of which neither has a number.

    cells, pairs, crowds: as `match_sides` has them. results: of both sides; None of levels within one file, none of
    which lacks a cell that the other was to have.
    """
    rows = [dict(zip(side.index, records(side), strict=True)) for side in cells]
    absences = [_absences(result) for result in results] if results else [{}, {}]
    parameters = [[*map(_parameters, side.values())] for side in rows]
    for name, this, other in (("a", 0, 1), ("b", 1, 0)):
        partners = dict(zip(pairs[name], pairs["ab"[other]], strict=True))
        for index, cell in rows[this].items():
            partner = rows[other][partners[index]] if index in partners else None
            side, kind = name.upper(), "cell"
            match bool(cell["runs"]), partner and bool(partner["runs"]):
                case (_, True):  # both are compared, or this is a row of the other side
                    continue
                case (True, False) if partner:
                    reason = _reason(partner)
                case (False, False):
                    side, reason = "neither", _reason(cell)
                case (False, None):
                    kind, reason = "numberless", _reason(cell)
                case _ if count := crowds.get((side, index)):
                    reason = f"several cells match: {count}"
                case _:
                    absent = absences[other].get((cell["sweep"], cell["labels"])) or absences[other].get(cell["key"][0])
                    reason = absent or f"no such cell: {_nearest(_parameters(cell), parameters[other])}"
            if side != "neither" or not this:
                head, _, detail = reason.partition(": ")
                yield dict(zip(UNMATCHED, (side, cell["sweep"], cell["cell"], head, detail, "", kind), strict=True))


def _reason(cell: Mapping[str, Any]) -> str:
    """Return why a cell gave no number: "failed: exit status 1", "disturbed"."""
    return f"{cell['cause']}: {cell['reason']}" if cell["reason"] else str(cell["cause"])


def _absences(results: Results) -> dict[Any, str]:
    """Return why cells were never run: (sweep, labels as JSON) or point_id → "skipped: no NUMA node", "not run yet"."""
    missing = {cell.point_id: "not run yet" for _, cell, _ in results.missing}
    skipped = {(s.sweep, canonical_json(dict(s.cell))): f"skipped: {s.reason}" for _, s in results.skipped}
    return {**missing, **skipped}


def _parameters(cell: Mapping[str, Any]) -> dict[str, Any]:
    place = ", ".join(filter(None, (cell["relation"], cell["share"]))) or "none"
    return {"tool": cell["tool"], **json.loads(cell["parameters"]), "place": place}


def _nearest(cell: Mapping[str, Any], others: Iterable[Mapping[str, Any]]) -> str:
    """Return in what the nearest cell of the other side differs: "bs: 16k, not 4k"; "" without one."""

    def differing(other: Mapping[str, Any]) -> list[str]:
        return [name for name in dict.fromkeys((*cell, *other)) if cell.get(name) != other.get(name)]

    near = min(others, key=lambda other: len(differing(other)), default=cell)
    return "; ".join(
        f"{name}: {text(cell.get(name, 'none'))}, not {text(near.get(name, 'none'))}" for name in differing(near)[:3]
    )


def failures(cells: Cells, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return `FAILURES`: those of A first, of a side those of which most runs failed."""
    sides = [
        side.loc[pairs[name], ["sweep", "cell", "reason", "failed", "runs"]].reset_index(drop=True)
        for name, side in zip("ab", cells, strict=True)
    ]
    rows = sides[0][["sweep", "cell"]].copy()
    for name, side in zip("ab", sides, strict=True):
        rows[f"failed_{name}"] = side["failed"]
        rows[f"runs_{name}"] = side["failed"] + side["runs"].str.len()
    rows = rows[(rows["runs_a"] > 0) & (rows["runs_b"] > 0)]
    shares = [rows[f"failed_{name}"] / rows[f"runs_{name}"] for name in "ab"]
    in_b = shares[1] > shares[0]
    rows = rows.assign(
        side=in_b.map({True: "B", False: "A"}), reason=sides[1]["reason"].where(in_b, sides[0]["reason"])
    )
    rows = rows.assign(share=-shares[1].where(in_b, shares[0]))[shares[0] != shares[1]]
    return rows.sort_values(["side", "share"], kind="stable", ignore_index=True)[list(FAILURES)]
