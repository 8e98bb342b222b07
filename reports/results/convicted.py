"""List the checks that flag a cell: all numbers of the cell, or one metric. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from reports.results.grouping import group_by

CellKey = tuple[object, ...]
"""(File, point_id)."""

Guilty = Mapping[CellKey, str]
"""Cell → the checks that convict it, "F1, F7". Of a cell of which a check convicts one metric alone also (*cell, metric) → those that
doubt this metric, and (*cell, OTHER) → those that doubt any other.

A metric may be a part of another, "latency/p99" of "latency", "PingPong/time" of "PingPong": what doubts the whole doubts each of its
parts; (*cell, "latency/") → those that doubt the whole or any part."""

OTHER: Final = "*"
"""A metric that is in no check."""


def doubting(guilty: Guilty, cell: CellKey, metric: str = "") -> str:
    """Return the checks that flag a metric of a cell, or the whole cell. "" without a flag."""
    names = (f"{metric}/", *wholes(metric), OTHER) if metric else ()
    candidates = (guilty.get((*cell, name)) for name in names)
    return next((ids for ids in candidates if ids is not None), guilty.get(cell, ""))


def of_all(guilty: Guilty, cells: Collection[CellKey]) -> tuple[str, ...]:
    """Return the checks that flag every number of several cells. Empty for a single cell."""
    texts = [guilty.get((*cell, OTHER), guilty.get(cell, "")) for cell in cells]
    return of_each(texts) if len(texts) > 1 else ()


def without(guilty: Guilty, checks: Collection[str]) -> Guilty:
    """Return the flags of cells without some checks, because a check of all numbers marks no single number."""
    if not checks:
        return guilty
    return {cell: but(ids, checks) for cell, ids in guilty.items()}


def checks_of(ids: str) -> list[str]:
    """Return ["F1", "F7"] for "F1, F7", and [] for ""."""
    return ids.split(", ") if ids else []


def of_each(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the checks that all texts name."""
    first, *others = [checks_of(ids) for ids in texts] or [[]]
    return tuple(key for key in first if all(key in ids for ids in others))


def but(ids: str, checks: Collection[str]) -> str:
    """Return "F1" for "F1, F7" without F7."""
    return ", ".join(key for key in checks_of(ids) if key not in checks)


def wholes(metric: str) -> Iterator[str]:
    """Yield a metric and its parent: "PingPong/time", "PingPong"."""
    while metric:
        yield metric
        metric = metric.rpartition("/")[0]


def whole_of(metrics: Iterable[str]) -> str:
    """Return the common parent of metrics: "IOPS" for "IOPS/read" and "IOPS/write". "" if there is no common parent."""
    first, *others = metrics
    return next((of for of in wholes(first) if all(of in wholes(other) for other in others)), "")


def by_metric(flags: Iterable[tuple[CellKey, str, str]]) -> dict[CellKey, str]:
    """Return Guilty of (cell, check, the metric that the check flags alone or "")."""
    result: dict[CellKey, str] = {}
    for cell, rows in group_by(flags, lambda s: s[0]).items():
        metrics = {metric for *_, metric in rows} - {""}
        parts = {f"{whole}/" for metric in metrics for whole in wholes(metric)}
        for name in ("", *metrics, *parts, *([OTHER] if metrics else [])):
            ids = (check for _, check, metric in rows if _speaks_of(metric, name))
            result[(*cell, name) if name else cell] = ", ".join(dict.fromkeys(ids))
    return result


def _speaks_of(metric: str, name: str) -> bool:
    """Return whether a check that flags this metric concerns the name in Guilty."""
    if not metric or not name or metric in wholes(name.removesuffix("/")):
        return True
    return name.endswith("/") and metric.startswith(name)
