"""By which checks the numbers of a cell are doubted: all of them, or those of one metric alone. Pure."""

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
"""A metric that no check names."""


def doubting(guilty: Guilty, cell: CellKey, metric: str = "") -> str:
    """Return the checks that doubt a metric of a cell, of no metric any number of it; "" if none does."""
    names = (f"{metric}/", *wholes(metric), OTHER) if metric else ()
    told = (guilty.get((*cell, name)) for name in names)
    return next((ids for ids in told if ids is not None), guilty.get(cell, ""))


def of_all(guilty: Guilty, cells: Collection[CellKey]) -> tuple[str, ...]:
    """Return the checks that doubt each number of each of some cells; none of a single cell."""
    told = [guilty.get((*cell, OTHER), guilty.get(cell, "")) for cell in cells]
    return of_each(told) if len(told) > 1 else ()


def without(guilty: Guilty, checks: Collection[str]) -> Guilty:
    """Return what convicts cells but for some checks: what is told of all numbers is no mark of one."""
    if not checks:
        return guilty
    return {cell: but(ids, checks) for cell, ids in guilty.items()}


def checks_of(ids: str) -> list[str]:
    """Return ["F1", "F7"] of "F1, F7"; [] of ""."""
    return ids.split(", ") if ids else []


def of_each(told: Sequence[str]) -> tuple[str, ...]:
    """Return the checks that all of some texts name."""
    first, *others = [checks_of(ids) for ids in told] or [[]]
    return tuple(key for key in first if all(key in ids for ids in others))


def but(ids: str, checks: Collection[str]) -> str:
    """Return "F1" of "F1, F7" but for F7."""
    return ", ".join(key for key in checks_of(ids) if key not in checks)


def wholes(metric: str) -> Iterator[str]:
    """Give a metric, and what it is a part of: "PingPong/time", "PingPong"."""
    while metric:
        yield metric
        metric = metric.rpartition("/")[0]


def whole_of(metrics: Iterable[str]) -> str:
    """Return what some metrics are all parts of: "IOPS" of "IOPS/read" and "IOPS/write"; "" of several that share nothing."""
    first, *others = metrics
    return next((of for of in wholes(first) if all(of in wholes(other) for other in others)), "")


def by_metric(said: Iterable[tuple[CellKey, str, str]]) -> dict[CellKey, str]:
    """Return Guilty of (cell, check, the metric that it convicts alone or "")."""
    found: dict[CellKey, str] = {}
    for cell, own in group_by(said, lambda s: s[0]).items():
        metrics = {metric for *_, metric in own} - {""}
        parts = {f"{whole}/" for metric in metrics for whole in wholes(metric)}
        for name in ("", *metrics, *parts, *([OTHER] if metrics else [])):
            ids = (check for _, check, metric in own if _speaks_of(metric, name))
            found[(*cell, name) if name else cell] = ", ".join(dict.fromkeys(ids))
    return found


def _speaks_of(metric: str, name: str) -> bool:
    """Does a check that convicts this metric say something of what is called so in Guilty?"""
    if not metric or not name or metric in wholes(name.removesuffix("/")):
        return True
    return name.endswith("/") and metric.startswith(name)
