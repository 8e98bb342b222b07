"""By which checks the numbers of a cell are doubted: all of them, or those of one metric alone. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from reports.results.grouping import group_by

CellKey = tuple[object, ...]
"""(File, point_id)."""

Guilty = Mapping[CellKey, str]
"""Cell → the checks that convict it, "F1, F7". Of a cell of which a check convicts one metric alone also (*cell, metric) → those that
doubt this metric, and (*cell, OTHER) → those that doubt any other."""

OTHER: Final = "*"
"""A metric that no check names."""


def doubting(guilty: Guilty, cell: CellKey, metric: str = "") -> str:
    """Return the checks that doubt a metric of a cell, of no metric any number of it; "" if none does."""
    told = guilty.get((*cell, metric)) if metric else None
    if told is None and metric:
        told = guilty.get((*cell, OTHER))
    return guilty.get(cell, "") if told is None else told


def by_metric(said: Iterable[tuple[CellKey, str, str]]) -> dict[CellKey, str]:
    """Return Guilty of (cell, check, the metric that it convicts alone or "")."""
    found: dict[CellKey, str] = {}
    for cell, own in group_by(said, lambda s: s[0]).items():
        metrics = {metric for *_, metric in own} - {""}
        for name in ("", *metrics, *([OTHER] if metrics else [])):
            ids = (check for _, check, metric in own if not name or metric in ("", name))
            found[(*cell, name) if name else cell] = ", ".join(dict.fromkeys(ids))
    return found
