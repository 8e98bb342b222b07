"""The fleet strip: a row for each number, a dot for each node, its distance from the median, better to the right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reports import format as fmt
from reports import labels, model, scales, vega
from reports.charts import _common as common
from reports.fleet import ACCUSED, Group, Odd, Report
from reports.grouping import group_by
from reports.model import Figure, Table, panel
from reports.series import Key, Series
from reports.vega import Frame, Rows, Spec
from reports.verdicts.fleet import Node, Strip

MOST_ROWS = 24
"""Rows of a panel; the numbers with the worst nodes come first, the rest is in the table."""

CLIP = 20.0
"""Per cent: what is further off lies on the edge and says how far."""

_ROW = 46
_LABELLED_Z = 3.5
_MOST_LABELS = 6
_COLOURS = {
    "others": vega.GREY,
    "fast": vega.SERIES[0],
    "suspicious": vega.ORDERED[-1],
    "slow": vega.SERIES[1],
}


def figure(group: Group, report: Report, number: int, several: bool) -> Figure | None:
    """Draw the numbers of a group of nodes; None where none of them has a median to compare with."""
    known = [(one, strip) for one, strip in group.strips if strip.middle and len(strip.nodes) > 1]
    if not known:
        return None
    odd = {(o.series.key, o.node): o for o in report.odd}
    known.sort(key=lambda s: _worst(s[0], s[1], odd), reverse=True)
    shown = known[:MOST_ROWS]
    reach = min(CLIP, max([5.0, *(abs(_at(strip, n)) for _, strip in shown for n in strip.nodes)]))

    several_sweeps = len({one.key.sweep for one, _ in shown}) > 1

    def build(width: int) -> Spec:
        frame = Frame(width=width, height=30 + _ROW * len(shown) + 44, left=10, right=10, top=8)
        x = _axis(reach * 1.04)
        y = scales.Axis(kind="linear", low=float(len(shown)), high=0.0, ticks=(), title="")
        plot = common.Plot(frame=frame, x=x, y=y)
        data: dict[str, Rows] = {
            "rows": [],
            "medians": [{"x": 0, "y": 0, "y2": len(shown)}],
            "dots": [],
            "odd": [],
            "names": [],
        }
        for i, (one, strip) in enumerate(shown):
            middle = fmt.quantity(strip.middle, one.unit)
            name = _fitting(_name(one, several_sweeps), frame.plot_width - labels.text_width(middle) - 12)
            data["rows"].append({"name_y": i + 0.3, "y": i + 0.6, "text": name, "value": middle})
            data["dots"] += _dots(strip, i + 0.6, plot, one, odd)
            marked = [n for n in strip.nodes if (one.key, n.name) in odd]
            data["odd"] += [_odd_dot(strip, n, i + 0.6, reach, one) for n in marked]
            data["names"] += _names(strip, i + 0.6, reach, plot)
        series = [vega.Series(name=name, colour=colour) for name, colour in _COLOURS.items()]
        return vega.fill("strip", frame=frame, x=x, y=y, series=series, data=data)

    described = "; ".join(
        f"{one.name}: median {fmt.quantity(strip.middle, one.unit)}, {_said(one, strip, odd)}"
        for one, strip in shown
    )
    left_out = f" {len(known) - len(shown)} more numbers are in the table." if len(known) > len(shown) else ""
    nodes = fmt.plural(len(group.nodes), "node")
    words = [w for w in ("slow", "suspicious", "fast") if any(o.series.key == one.key and _word(o) == w for one, _ in shown for o in report.odd)]  # fmt: skip
    return Figure(
        id=f"strip-{number}",
        title=_finding(group, report, several),
        sub=f"{nodes}: {group.hardware.name}. A dot is a node, the line the median {'of the baseline' if group.baseline else 'of all'}; "
        f"better lies to the right. Named is what is further than 3.5 robust standard deviations from it.{left_out}",
        panels=(panel("", f"Nodes about the median of each number. {described}.", build),),
        key=tuple(model.Key(name=_WORDS[w], colour=_COLOURS[w]) for w in ("others", *words)),
        numbers=(_table(known),),
    )


_WORDS = {"others": "a node", "fast": "fast", "suspicious": "suspicious", "slow": "slow or broken"}


def _finding(group: Group, report: Report, several: bool) -> str:
    """Return the figure's title: what is true of its nodes."""
    own = set(group.nodes)
    slow = sorted(
        {o.node for o in report.odd if o.found.status in ACCUSED and o.node in own}
        | {n for n in report.accused if n in own}
    )
    suspicious = sorted({n for n in report.rerun if n in own})
    where = f" among {fmt.plural(len(group.nodes), 'node')} of {dict(group.hardware.facts)['processor'] or 'one kind'}" if several else f" of {fmt.plural(len(group.nodes), 'node')}"  # fmt: skip
    if slow:
        return f"{fmt.spelled(len(slow)).capitalize()}{where} {'is' if len(slow) == 1 else 'are'} slow"
    if suspicious:
        return f"None{where} is known to be slow; {fmt.spelled(len(suspicious))} {'is' if len(suspicious) == 1 else 'are'} to be measured again"
    return f"None{where} is slow"


def _sign(one: Strip) -> float:
    return 1.0 if one.metric.better == "higher" else -1.0


def _at(strip: Strip, node: Node) -> float:
    """Return where a node lies: per cent of the median, better above 0."""
    assert strip.middle
    return _sign(strip) * (node.value / strip.middle - 1) * 100


def _worst(one: Series, strip: Strip, odd: Mapping[tuple[Key, str], Odd]) -> tuple[int, float]:
    """Sort key of a row: is somebody slow in it, and how far is the furthest odd node."""
    marked = [n for n in strip.nodes if (one.key, n.name) in odd]
    return max(((2 if n.status in ACCUSED else 1, abs(n.z or 0.0)) for n in marked), default=(0, 0.0))


def _word(odd: Odd) -> str:
    return "slow" if odd.found.status in ACCUSED else odd.found.status


def _dots(strip: Strip, y: float, plot: common.Plot, one: Series, odd: Mapping[tuple[Key, str], Odd]) -> Rows:
    """Return a dot a node; of those that fall on one pixel, one that says how many."""
    by_pixel = group_by(
        (n for n in strip.nodes if (one.key, n.name) not in odd),
        lambda n: round(plot.at(_at(strip, n), y)[0] / 2),
    )
    rows = []
    for members in by_pixel.values():
        first = members[0]
        more = f" and {len(members) - 1} more" if len(members) > 1 else ""
        rows.append(
            {"series": "others", "x": round(_at(strip, first), 3), "y": y, "tip": _tip(first, one) + more}
        )
    return rows


def _odd_dot(strip: Strip, node: Node, y: float, reach: float, one: Series) -> dict[str, object]:
    word = "slow" if node.status in ACCUSED else node.status
    at = max(-reach, min(reach, _at(strip, node)))
    return {"series": word, "x": round(at, 3), "y": y, "tip": f"{_tip(node, one)} · {node.status}"}


def _tip(node: Node, one: Series) -> str:
    return f"{node.name} · {fmt.quantity(node.value, one.unit, 4)}"


def _names(strip: Strip, y: float, reach: float, plot: common.Plot) -> Rows:
    """Name the nodes far from the median, below their dots, the furthest first; one that finds no room has no name."""
    far = [n for n in strip.nodes if n.z is not None and abs(n.z) > _LABELLED_Z]
    far.sort(key=lambda n: -abs(n.z or 0.0))
    taken: list[tuple[float, float]] = []
    rows: Rows = []
    for node in far:
        at = _at(strip, node)
        text = common.shorten(node.name, 18)
        if abs(at) > reach + 1e-9:
            text += f" {fmt.number(at, 2)} %"
        inside = max(-reach, min(reach, at))
        px, half = plot.at(inside, y)[0], labels.text_width(text) / 2
        centre = min(max(px, half), plot.frame.plot_width - half)
        if len(rows) == _MOST_LABELS or any(
            centre - half - 6 < right and left < centre + half + 6 for left, right in taken
        ):
            continue
        taken.append((centre - half, centre + half))
        rows.append(
            {"x": round(inside, 3), "y": y, "text": text, "dx": round(centre - px, 1), "dy": 16, "align": "center"}
        )  # fmt: skip
    return rows


def _axis(reach: float) -> scales.Axis:
    step = next(s for s in (1, 2, 5, 10) if reach / s <= 4.5)
    ticks = [step * i for i in range(-int(reach / step), int(reach / step) + 1)]
    texts = tuple((float(t), f"{'+' if t > 0 else fmt.MINUS if t < 0 else ''}{abs(t)}") for t in ticks)
    return scales.Axis(kind="linear", low=-reach, high=reach, ticks=texts, title="Worse or better than the median, %")  # fmt: skip


def _name(one: Series, several_sweeps: bool) -> str:
    """Return "triad bandwidth, threads=8", the quantity first: what does not fit is cut at the end."""
    point = one.values[0].run.point
    cell = one.cell if several_sweeps else point.describe() if point.labels() else ""
    return ", ".join(filter(None, (one.key.name.words, cell)))


def _fitting(text: str, width: float) -> str:
    while labels.text_width(text) > width and len(text) > 8:
        text = text.removesuffix("…")[:-1] + "…"
    return text


def _said(one: Series, strip: Strip, odd: Mapping[tuple[Key, str], Odd]) -> str:
    marked = [f"{n.name} {n.status}" for n in strip.nodes if (one.key, n.name) in odd]
    return ", ".join(marked[:6]) or "all nodes ok"


def _table(known: Sequence[tuple[Series, Strip]]) -> Table:
    """Return every number: its median, how far nodes differ, its worst and best node."""
    rows = []
    for one, strip in known:
        scale = fmt.scale_for([strip.middle], one.unit)
        worst = min(strip.nodes, key=lambda n: _at(strip, n))
        best = max(strip.nodes, key=lambda n: _at(strip, n))
        spread = strip.spread / abs(strip.middle) if strip.spread and strip.middle else None
        rows.append(
            (
                one.name, f"{scale.number(strip.middle)} {scale.unit}".strip(), fmt.percent(spread), fmt.count(len(strip.nodes)),
                f"{worst.name} {scale.number(worst.value)}", f"{best.name} {scale.number(best.value)}",
            )
        )  # fmt: skip
    return Table(
        columns=("Number", "Median", "Nodes differ by (robust SD)", "Nodes", "Worst", "Best"),
        rows=tuple(rows),
        numeric=frozenset({1, 2, 3}),
    )
