"""The figures of a comparison: changes with their intervals, and A and B along an axis. Pure."""

from __future__ import annotations

import itertools
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
    id="changes",
    title="Change of B against A",
    kind="forest",
    x="value",
    y="number",
    panels=(),
    x_title="change, %",
    rules=lambda _: [Rule(label="same", x=0.0)],
    caption="Points show the median pairwise change, bars the 95 % interval.",
)


def figures(result: Comparison) -> Iterator[Figure]:
    """Yield the changes, worst first, then the curves of each sweep."""
    if forest := _forest(result):
        yield forest
    rows = [row for row in records(result.verdicts) if not row["name"].derived]
    sweeps = group_by(rows, lambda row: (row["tool"], row["sweep"])).values()
    curves = [figure for group in sweeps for figure in _curves(result, group)]
    yield from curves[:MAX_FIGURES]


def _forest(result: Comparison) -> Figure | None:
    """Return the numbers that changed; without any, the first of all."""
    from parsers.frames import pd

    verdicts = result.verdicts[result.verdicts["low"].notna()]
    changed = verdicts[verdicts["verdict"].isin(["regressed", "improved"])]
    rows = (changed if len(changed) else verdicts)[:MAX_FOREST]
    points = {
        "number": [f"{where(row)}: {row['name'].words}" for row in records(rows)],
        **{name: 100 * (rows[column].astype(float).clip(upper=1e3) - 1) for name, column in _ENDS.items()},
        "flags": [joined(flags) for flags in zip(rows["flags_a"], rows["flags_b"], strict=True)],
    }
    return vega.figure(_FOREST, pd.DataFrame(points)) if len(rows) else None


_ENDS: Final = {"value": "ratio", "low": "low", "high": "high"}


def _curves(result: Comparison, rows: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """Return A and B over the axis of a sweep: first the quantities that the tool names."""
    heads = numbers.drawn(rows[0]["tool"])
    families = group_by(rows, lambda row: (row["name"].title, row["name"].unit))
    ordered = sorted(families.items(), key=lambda family: (*heads, family[0][0]).index(family[0][0]))
    drawn = (_curve(result, group) for _, group in ordered)
    return [*itertools.islice(filter(None, drawn), MAX_OF_SWEEP)]


def _curve(result: Comparison, rows: Sequence[Mapping[str, Any]]) -> Figure | None:
    """Return one quantity over the axis or label with the most numbers as values, three or more; None without one."""
    values: dict[str, set[Any]] = {}
    for row in rows:
        for label, value in (*row["axes"].items(), *row["name"].part):
            values.setdefault(label, set()).add(value)
    numeric = [k for k, levels in values.items() if len(levels) > 2 and all(isinstance(v, int | float) for v in levels)]
    if not numeric:
        return None
    axis = max(numeric, key=lambda label: len(values[label]))
    name, sweep, levels = rows[0]["name"], rows[0]["sweep"], [level for level in values[axis] if level > 0]
    frame = _points(result, rows)
    chart = Chart(
        id=anchor(f"{sweep}-{name.title}"),
        title=fmt.sentence(f"{name.title} by {axis.replace('_', ' ')}"),
        x=axis,
        color="side",
        panels=tuple(str(column) for column in frame if column not in (axis, "value", "unit", "flags", "side")),
        log_x=bool(levels) and max(levels) > 10 * min(levels),
        y_title=name.quantity,
        x_unit="B" if axis == "message_size" else "",
        caption=f"Sweep {sweep}.",
    )
    return vega.figure(chart, frame)


def _points(result: Comparison, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return a row per value of a run, with a column per axis and label."""
    from parsers.frames import pd

    titles = {"a": f"A, {result.a.title}", "b": f"B, {result.b.title}"}
    return pd.DataFrame(
        [
            {
                **row["axes"],
                **dict(row["name"].part),
                "side": title,
                "value": value,
                "unit": row["name"].unit,
                "flags": row[f"flags_{side}"],
            }
            for row in rows
            for side, title in titles.items()
            for value in row[side]
        ]
    )
