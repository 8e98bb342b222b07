"""The figures of a comparison: changes with their intervals, and A and B along an axis. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from reports import numbers
from reports.chart import Chart, Rule
from reports.checks.audit import joined
from reports.compare.comparison import Comparison
from reports.compare.document import where
from reports.document import Figure
from reports.measurements import records
from reports.render import vega
from reports.results.grouping import group_by
from reports.text import format as fmt
from reports.text.names import anchor

if TYPE_CHECKING:
    import pandas as pd

MAX_FIGURES, MAX_OF_SWEEP, MAX_FOREST = 10, 3, 30

_FOREST: Final = Chart(
    id="changes", title="Change of B against A", kind="forest", x="value", y="number", panels=(), x_title="change, %",
    rules=lambda _: [Rule(label="same", x=0.0)], caption="Points: median pairwise change. Bars: 95 % interval.",
)  # fmt: skip

_HEADS: Final = ("IOPS", "bandwidth", "latency p50", "completion latency p50", "latency mean")
"""Quantities whose curves come first, after those that the tool names."""


def figures(found: Comparison) -> Iterator[Figure]:
    """Yield the changes, worst first, then the curves of each sweep."""
    if forest := _forest(found):
        yield forest
    rows = [row for row in records(found.verdicts) if not row["name"].derived]
    curves = [
        figure
        for own in group_by(rows, lambda row: (row["tool"], row["sweep"])).values()
        for figure in _curves(found, own)
    ]
    yield from curves[:MAX_FIGURES]


def _forest(found: Comparison) -> Figure | None:
    """Return the numbers that changed; without any, the first of all."""
    from parsers.frames import pd

    verdicts = found.verdicts[found.verdicts["low"].notna()]
    changed = verdicts[verdicts["verdict"].isin(["regressed", "improved"])]
    rows = [
        {
            "number": f"{where(row)}: {row['name'].words}", "value": 100 * (row["ratio"] - 1), "low": 100 * (row["low"] - 1),
            "high": 100 * (min(row["high"], 1e3) - 1), "flags": joined([row["flags_a"], row["flags_b"]]),
        }
        for row in records((changed if len(changed) else verdicts)[:MAX_FOREST])
    ]  # fmt: skip
    return vega.figure(_FOREST, pd.DataFrame(rows)) if rows else None


def _curves(found: Comparison, rows: Sequence[Mapping[str, Any]]) -> Iterator[Figure]:
    """Yield A and B over the axis of a sweep, of its main quantities."""
    tool, sweep = rows[0]["tool"], rows[0]["sweep"]
    heads = [*numbers.drawn(tool), *_HEADS]
    families = group_by(rows, lambda row: (row["name"].title, row["name"].unit))

    def rank(own: Sequence[Mapping[str, Any]]) -> int:
        name = own[0]["name"]
        return min(
            (i for i, head in enumerate(heads) if head in (name.title, name.quantity)), default=len(heads)
        )

    drawn = 0
    for own in sorted(families.values(), key=rank):
        axis = _axis(own)
        if not axis or drawn == MAX_OF_SWEEP or (drawn and rank(own) == len(heads)):
            continue
        name = own[0]["name"]
        frame = _points(found, own)
        others = [str(column) for column in frame if column not in (axis, "value", "unit", "flags", "side")]
        chart = Chart(
            id=anchor(f"{sweep}-{name.title}"), title=fmt.sentence(f"{name.title} by {axis.replace('_', ' ')}"), x=axis, color="side", panels=tuple(others),
            log_x=_is_wide(frame[axis]), y_title=name.quantity, x_unit="B" if axis == "message_size" else "", caption=f"Sweep {sweep}.",
        )  # fmt: skip
        if figure := vega.figure(chart, frame):
            drawn += 1
            yield figure


def _axis(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the first axis or label whose values are three numbers or more; "" without one."""
    values: dict[str, set[Any]] = {}
    for row in rows:
        for name, value in (*row["axes"].items(), *row["name"].part):
            values.setdefault(name, set()).add(value)
    numeric = [
        name for name, own in values.items() if len(own) > 2 and all(isinstance(v, int | float) for v in own)
    ]
    return max(numeric, key=lambda name: len(values[name]), default="")


def _points(found: Comparison, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return a row per value of a run, with a column per axis and label."""
    from parsers.frames import pd

    sides = (("a", f"A, {found.a.title}"), ("b", f"B, {found.b.title}"))
    return pd.DataFrame(
        [
            {**row["axes"], **dict(row["name"].part), "side": title, "value": value, "unit": row["name"].unit, "flags": row[f"flags_{side}"]}
            for row in rows
            for side, title in sides
            for value in row[side]
        ]
    )  # fmt: skip


def _is_wide(values: pd.Series[Any]) -> bool:
    """Do the levels span more than ten times?"""
    positive = values[values > 0]
    return len(positive) > 0 and bool(positive.max() > 10 * positive.min())
