"""A map of shades between many places, drawn without numbers: those are at a pointer, and in the table beside it."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reports.charts import wording
from reports.draw import axes, label_placement, vega
from reports.draw.figure import Panel, Table, heat, panel
from reports.draw.vega import Frame, Rows, Series, Spec
from reports.numbers.formulas import Spread
from reports.text import format as fmt

_SERIES = Series(name="", colour="#D4620F")  # a tip is headed by its cell


MOST_NUMBERS = 16
"""Beyond so many columns a matrix is a picture of shades: its numbers are at a pointer and in the closed table."""

WIDE = 5
"""From so many columns on a matrix has the page's whole width and cells of a number each."""


def _cell(value: Spread, scale: fmt.Scale, *, narrow: bool) -> str:
    """Return a median, with its repeats where they are apart and there is room for them; else marked as about that."""
    if value.relative <= wording.STEADY:
        return scale.number(value.median, step=value.step)
    return f"≈{scale.number(value.median, step=value.step)}" if narrow else wording.spread_text(value, scale)


def shades_table(
    caption: str,
    corner: str,
    rows: Sequence[Any],
    columns: Sequence[Any],
    known: Mapping[tuple[Any, Any], Spread],
    scale: fmt.Scale,
    *,
    inverse: bool = False,
    narrow: bool = False,
    cuts: frozenset[int] = frozenset(),
    noise: float = 1.0,
) -> Table:
    """Return the numbers between some places with their shades, the diagonal outlined. corner: what rows and columns are; narrow: a cell has
    room for a number alone; inverse: the lowest has the strongest shade; cuts: before which rows and columns a group begins;
    noise: what is no difference, highest ÷ lowest, if the repeats do not say more."""
    values = [[s.median if (s := known.get((a, b))) else None for b in columns] for a in rows]
    shown = {pair: _cell(value, scale, narrow=narrow) for pair, value in known.items()}
    own = frozenset((i, columns.index(a)) for i, a in enumerate(rows) if (a, a) in shown and a in columns)
    return Table(
        caption=caption,
        columns=(corner, *map(str, columns)),
        rows=tuple((str(a), *(shown.get((a, b), fmt.NOTHING) for b in columns)) for a in rows),
        numeric=frozenset(range(1, len(columns) + 1)),
        heat=heat(values, inverse=inverse, spread=max(noise, repeats_apart(known.values()))),
        marked=own if len(known) > 1 else frozenset(),
        cuts=cuts,
    )


def repeats_apart(spreads: Iterable[Spread]) -> float:
    """Return how far the repeats of a cell are apart, highest ÷ lowest: the median over the cells."""
    ratios = [s.high / s.low for s in spreads if s.low > 0]
    return statistics.median(ratios) if ratios else 1.0


def matrix_panel(table: Table, full: Table, medians: Sequence[float], scale: fmt.Scale, step: float | None, *, inverse: bool) -> Panel:  # fmt: skip
    """Draw a table of shades, with what the palest and the strongest stand for. full: the same with all that a cell has to say (in `scale`), in
    the order of its cells; medians: of the cells, printed in steps of `step`; inverse: the lowest is the strongest."""
    unit = scale.unit
    names = table.columns[1:]
    rows = [row[0] for row in table.rows]
    tips = [[f"{table.columns[0]} {r} to {c} · {text} {unit}" for c, text in zip(names, row[1:], strict=True)] for r, row in zip(rows, full.rows, strict=True)]  # fmt: skip
    strengths = [[None if shade is None else shade / 12 for shade in row] for row in table.heat]
    ends = sorted([min(medians), max(medians)], reverse=inverse)
    palest, strongest = (scale.number(end, step=step) for end in ends)
    shaded = any(shade for row in table.heat for shade in row)
    stronger = f" Stronger shade: {'less' if inverse else 'slower'}." if shaded else ""
    told = f"; palest {palest}, strongest {strongest}" if shaded else ""
    return map_panel(
        f"{table.caption}{told}",
        f"{table.caption}.{stronger}",
        rows,
        names,
        strengths,
        tips,
        sorted(table.cuts),
    )


def map_panel(
    title: str,
    description: str,
    rows: Sequence[str],
    columns: Sequence[str],
    strengths: Sequence[Sequence[float | None]],
    tips: Sequence[Sequence[str]],
    cuts: Sequence[int] = (),
) -> Panel:
    """Draw cells of one colour, as strong as `strengths` (0 to 1; None: not measured, left empty), the first row at the top. cuts: the rows
    and columns before which a line stands."""
    n, m = len(rows), len(columns)

    def build(width: int) -> Spec:
        left = round(max(label_placement.text_width(name) for name in rows) + 10)
        plot = width - left - 16
        frame = Frame(width=width, height=round(plot * n / m) + 50, left=left, top=16, bottom=34)
        x = axes.Axis(kind="linear", low=0, high=m, ticks=_ticks(columns, plot), title="")
        down = tuple((n - at, name) for at, name in reversed(_ticks(rows, plot * n / m, 14)))
        y = axes.Axis(kind="linear", low=0, high=n, ticks=down, title="")
        cells: Rows = [
            {
                "series": _SERIES.name, "x": j + 0.5, "y": n - i - 0.5, "left": j, "right": j + 1, "low": n - i - 1, "high": n - i,
                "shade": round(0.1 + 0.85 * strength, 3), "tip": tips[i][j],
            }
            for i, row in enumerate(strengths)
            for j, strength in enumerate(row)
            if strength is not None
        ]  # fmt: skip
        lines: Rows = [{"x": 0, "x2": m, "y": n - at, "y2": n - at} for at in cuts if at < n]
        lines += [{"x": at, "x2": at, "y": 0, "y2": n} for at in cuts if at < m]
        return vega.fill(
            "heat", frame=frame, x=x, y=y, series=[_SERIES], data={"cells": cells, "lines": lines}
        )

    return panel(title, description, build)


def _ticks(names: Sequence[str], room: float, least: float = 0) -> tuple[tuple[float, str], ...]:
    """Return the middles of cells with their names, of as many as there is room for (px); least: what one takes, else its width."""
    widest = least or max(label_placement.text_width(name) for name in names) + 6
    step = next(
        s
        for s in (1, 2, 4, 5, 8, 10, 16, 20, 32, 64, 128, 256, 512, 10**6)
        if room / len(names) * s >= widest
    )
    return tuple((i + 0.5, name) for i, name in enumerate(names) if i % step == 0)
