"""A dot a row, with the range of its repeats: where there is nothing to draw a line over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from reports.charts import curve_rows, wording
from reports.draw import axes, label_placement, vega
from reports.draw.figure import Panel, panel
from reports.draw.vega import Frame, Rows, Spec
from reports.numbers.formulas import Spread
from reports.results.model import Run
from reports.text import format as fmt
from reports.text.names import cut_apart

MOST_ROWS: Final = 24
"""A picture of more is a wall: the rest is in the numbers."""


def rows_panel(
    title: str,
    shown: Mapping[str, tuple[Spread, bool]],
    unit: str,
    axis: Callable[[fmt.Scale], str],
    described: str,
    *,
    failed: Mapping[str, Run] | None = None,
    beside: Sequence[float] = (),
    series: str = "",
    exact: Callable[[str, Spread], str] | None = None,
    groups: Mapping[str, vega.Series] | None = None,
) -> Panel:
    """Draw a row for each name: its number (in the base unit) and whether that is hollow; below them a cross for each that `failed`.

    axis: its title in a unit; described: what the picture is of, a sentence; beside: what all panels of its kind in the figure show, so that
    they have one axis, and all of them a log one where one has; series: what is drawn, if not the title, or of
    `groups` each name's own; exact: how the number of a name is read at its dot.
    """
    lost = failed or {}
    rows = len(shown) + len(lost)
    one = vega.Series(name=series or title, colour=vega.SERIES[0])
    drawn = groups or dict.fromkeys(shown, one)
    ends = [*beside, *(end for s, _ in shown.values() for end in (s.low, s.high))]
    scale = (fmt.scale_for if axes.far_apart(ends) else fmt.scale_to_largest)(ends, unit)
    x = axes.amounts([v / scale.factor for v in ends], axis(scale), 4)
    y = axes.Axis(kind="linear", low=float(rows), high=0.0, ticks=(), title="")
    texts = {name: fmt.quantity(s.median, unit, step=s.step) for name, (s, _) in shown.items()}
    left = round(max(label_placement.text_width(name) for name in [*shown, *lost]) + 14)
    right = max(60, round(max(map(label_placement.text_width, texts.values())) + 12))

    def build(width: int) -> Spec:
        frame = Frame(
            width=width, height=24 + 27 * rows + 36, left=min(left, width // 2), right=right, top=14
        )
        names = cut_apart([*shown, *lost], label_placement.fits(frame.left - 12))
        data: dict[str, Rows] = {
            "rows": [
                {
                    "series": drawn[name].name, "x": s.median / scale.factor, "y": i + 0.5, "low": s.low / scale.factor,
                    "high": s.high / scale.factor, "name": names[name], "text": texts[name],
                    "tip": f"{name} · {exact(name, s) if exact else wording.exact(s, unit)}{' · ⚠' * hollow}", **({"hollow": True} if hollow else {}),
                    **({"pair": True} if s.n == 2 and s.high > s.low and not hollow else {}),
                }
                for i, (name, (s, hollow)) in enumerate(shown.items())
            ],
            "crosses": [
                {
                    "series": one.name, "x": x.low, "y": i + 0.5, "name": names[name], "text": "no number", "colour": curve_rows.FAILED,
                    "tip": curve_rows.failed(name, run),
                }
                for i, (name, run) in enumerate(lost.items(), len(shown))
            ],
        }  # fmt: skip
        return vega.fill(
            "rows", frame=frame, x=x, y=y, series=list({s.name: s for s in drawn.values()}.values()) or [one], data=data
        )  # fmt: skip

    return panel(title, f"{described} {'; '.join(f'{name}: {text}' for name, text in texts.items())}.", build)
