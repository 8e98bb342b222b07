"""What is not compared, and why; which runs failed on one side only. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from orchestrator.model import canonical_json
from reports.compare.matching import Matched, by_index, cells, match, text
from reports.compare.sides import Side
from reports.results.model import Results

UNMATCHED: Final = ("side", "sweep", "cell", "reason", "detail", "numbers", "kind")
"""side: which has it. reason: a word or two. detail: what differs in the nearest cell, or why its runs failed. numbers: which numbers of a
cell that both sides have. kind: "cell"; "numberless" of one that gave no number where it ran; "number"; "optional" of a number that a good
run may lack."""

FAILURES: Final = ("side", "sweep", "cell", "reason", "failed_a", "runs_a", "failed_b", "runs_b")
"""Cells of which a larger share of the runs failed on `side`. runs: those that count and the failed ones."""

Row = tuple[Any, ...]


def unmatched(matched: Matched, sides: tuple[Side, Side], *, is_levels: bool) -> Iterator[Row]:
    """Yield a row of `UNMATCHED` per cell that only one side has, or of which neither has a number. is_levels: of one file."""
    silent = [by_index(own) for own in matched.silent]
    reasons = [
        {index: _reason(one, cell["runs"]) for index, cell in own.items()}
        for one, own in zip(sides, silent, strict=True)
    ]
    absent = [{} if is_levels else _absences(one.results) for one in sides]
    of_a, of_b = matched.silent_of_a, matched.silent_of_b
    partners = [dict(zip(of_b["a"], of_b["b"], strict=True)), dict(zip(of_a["b"], of_a["a"], strict=True))]
    for side, other in ((0, 1), (1, 0)):
        near = [
            _parameters(cell)
            for own in (matched.cells[other], matched.silent[other])
            for cell in by_index(own).values()
        ]
        for index, cell in by_index(matched.unpaired(side)).items():
            if count := matched.crowds.get(("AB"[side], index)):
                reason = f"several cells match: {count}"
            elif index in partners[side]:
                reason = reasons[other][partners[side][index]]
            else:
                absence = absent[other].get((cell["sweep"], cell["labels"])) or absent[other].get(
                    cell["key"][0]
                )
                reason = absence or f"no such cell: {_nearest(_parameters(cell), near)}"
            yield _row("AB"[side], cell, reason, "cell")
    rest = [matched.silent[0].drop(list(of_a["a"])), matched.silent[1].drop(list(of_b["b"]))]
    neither, _ = match(*rest)
    yield from (_row("neither", silent[0][index], reasons[0][index], "cell") for index in neither["a"])
    for side in (0, 1):
        for index in rest[side].drop(list(neither["ab"[side]])).index:
            yield _row("AB"[side], silent[side][index], reasons[side][index], "numberless")


def _row(side: str, cell: Mapping[str, Any], reason: str, kind: str) -> Row:
    head, _, detail = reason.partition(": ")
    return side, cell["sweep"], cell["name"], head, detail, "", kind


def _reason(side: Side, runs: Sequence[int]) -> str:
    """Return why a cell gave no number: "failed: exit status 1", "disturbed"."""
    rows = side.runs.loc[list(runs)]
    causes = " and ".join(sorted(set(rows["cause"])))
    first = next(filter(None, rows["reason"]), "")
    return f"{causes}: {first}" if first and "failed" in causes else causes


def _absences(results: Results) -> dict[Any, str]:
    """Return why cells were never run: (sweep, labels as JSON) or point_id → "skipped: no NUMA node", "not run yet"."""
    missing = {cell.point_id: "not run yet" for _, cell, _ in results.missing}
    skipped = {
        (item.sweep, canonical_json(dict(item.cell))): f"skipped: {item.reason}"
        for _, item in results.skipped
    }
    return {**missing, **skipped}


def _parameters(cell: Mapping[str, Any]) -> dict[str, Any]:
    place = ", ".join(filter(None, (cell["relation"], cell["share"])))
    return {"tool": cell["tool"], **json.loads(cell["parameters"]), "place": place}


def _nearest(own: Mapping[str, Any], others: Iterable[Mapping[str, Any]]) -> str:
    """Return in what the nearest cell of the other side differs: "bs: 16k, not 4k"; "" without one."""

    def differing(other: Mapping[str, Any]) -> list[str]:
        return [name for name in dict.fromkeys((*own, *other)) if own.get(name) != other.get(name)]

    near = min(others, key=lambda other: len(differing(other)), default=own)
    return "; ".join(
        f"{name}: {text(own.get(name, 'none'))}, not {text(near.get(name, 'none'))}"
        for name in differing(near)[:3]
    )


def failures(matched: Matched, sides: tuple[Side, Side], ignore: Collection[str]) -> Iterator[Row]:
    """Yield `FAILURES`: those of A first, of a side those without a number."""
    every = [
        {cell["key"]: one.runs.loc[cell["runs"]] for cell in by_index(cells(one.runs, ignore)).values()}
        for one in sides
    ]
    a, b, (silent_a, silent_b) = *matched.cells, matched.silent
    rows: list[tuple[int, float, Row]] = []
    for left, right, pairs in (
        (a, b, matched.pairs),
        (a, silent_b, matched.silent_of_b),
        (silent_a, b, matched.silent_of_a),
    ):
        for index_a, index_b in zip(pairs["a"], pairs["b"], strict=True):
            cell, keys = left.loc[index_a], (left.loc[index_a, "key"], right.loc[index_b, "key"])
            fates = [known[key]["fate"] for known, key in zip(every, keys, strict=True)]
            failed = [int((fate == "failed").sum()) for fate in fates]
            counted = [n + int((fate == "").sum()) for n, fate in zip(failed, fates, strict=True)]
            if not all(counted) or failed[0] * counted[1] == failed[1] * counted[0]:
                continue
            side = int(failed[1] * counted[0] > failed[0] * counted[1])
            runs = every[side][keys[side]]
            reason = next(filter(None, runs.loc[runs["fate"] == "failed", "reason"]), "")
            row = (
                "AB"[side],
                cell["sweep"],
                cell["name"],
                reason,
                failed[0],
                counted[0],
                failed[1],
                counted[1],
            )
            rows.append((side, -failed[side] / counted[side], row))
    yield from (row for *_, row in sorted(rows, key=lambda row: row[:2]))
