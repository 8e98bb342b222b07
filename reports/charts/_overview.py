"""One access to each layer, from memory to disk, on one log axis: what the tools' rows have in common."""

from __future__ import annotations

from collections.abc import Sequence

from reports import findings, labels, scales, vega
from reports import format as fmt
from reports.model import AccessTime, Figure, Table, panel
from reports.vega import Frame, Rows, Spec

_COLOURS = dict(zip(("memory", "message passing", "storage"), vega.SERIES, strict=False))
_MOST_ROWS = 14


def figure(times: Sequence[AccessTime]) -> Figure | None:
    """Draw the rows, fastest first; None where there are fewer than two. Beyond 14 rows, some of each kind are left to the table."""
    known = sorted((t for t in times if t.median > 0), key=lambda t: t.median)
    if len(known) < 2:
        return None
    step = max(1.0, (len(known) - 1) / (_MOST_ROWS - 1))
    shown = [known[round(i * step)] for i in range(min(len(known), _MOST_ROWS))]
    values = [v for t in shown for v in (t.median, t.p999) if v]
    left = round(max(labels.text_width(t.name) for t in shown) + 16)

    def build(width: int) -> Spec:
        x = scales.decades(
            values, "Time for one access (log)", unit="ns", margin=1.9, most=6 if width > 400 else 3
        )
        y = scales.Axis(kind="linear", low=float(len(shown)), high=0.0, ticks=(), title="")
        frame = Frame(
            width=width,
            height=14 + 27 * len(shown) + 44,
            left=min(left, round(width * 0.55)),
            right=56,
            top=14,
        )
        data: dict[str, Rows] = {
            "rows": [
                {
                    "series": t.group, "x": t.median, "y": i + 0.5, "start": x.low, "name": t.name,
                    "text": fmt.quantity(t.median, "ns"),
                }
                for i, t in enumerate(shown)
            ],
            "tails": [{"series": t.group, "x": t.p999, "y": i + 0.5} for i, t in enumerate(shown) if t.p999],
        }  # fmt: skip
        groups = list(dict.fromkeys(t.group for t in shown))
        series = [vega.Series(name=g, colour=_COLOURS.get(g, vega.GREY)) for g in groups]
        return vega.fill("overview", frame=frame, x=x, y=y, series=series, data=data)

    described = "; ".join(f"{t.name}: {fmt.quantity(t.median, 'ns')}" for t in shown)
    tails = any(t.p999 for t in shown)
    return Figure(
        id="overview",
        title=findings.overview([(t.name, t.median) for t in known]),
        sub="Time for one access, each row from the tool that measures it best."
        + (" Dot: median; tick: 99.9 % are faster." if tails else ""),
        panels=(panel("", f"Access times on a log axis. {described}.", build),),
        numbers=(
            Table(
                columns=("Access", "Median", "99.9 % under", "Measured by"),
                rows=tuple(
                    (
                        t.name,
                        fmt.quantity(t.median, "ns"),
                        fmt.quantity(t.p999, "ns") if t.p999 else fmt.NOTHING,
                        t.source,
                    )
                    for t in known
                ),
                numeric=frozenset((1, 2)),
            ),
        ),
        half=True,
    )
