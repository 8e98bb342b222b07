"""Where the names go: beside their lines, in pixels, without touching one another. Pure.

Widths are Inter's at regular weight, plus a tenth: labels are semibold, and the reader's fallback font may be wider.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WIDTHS = (
    {" ": 281, "%": 982, "(": 365, ")": 365, "+": 662, ",": 288, "-": 460, ".": 288, "/": 360, ":": 288, "<": 662}
    | {"=": 662, ">": 662, "1": 550, "0": 631, "I": 269, "J": 571, "M": 903, "W": 985, "f": 370, "i": 242, "j": 242}
    | {"l": 242, "m": 876, "r": 376, "s": 528, "t": 327, "w": 818, "·": 288, "µ": 586, "–": 500, "\u202f": 182}
    | dict.fromkeys("abdeghknopquvxyzc", 590)
    | dict.fromkeys("ABCDEFGHKLNOPQRSTUVXYZ", 690)
)  # fmt: skip

_OTHER = 650


def text_width(text: str, size: float = 12) -> float:
    """Return the width in px that `text` needs at `size` px, rather too much than too little."""
    return _px(sum([_WIDTHS.get(c, _OTHER) for c in text]), size)


def _px(wide: int, size: float = 12) -> float:
    return wide / 1000 * size * 1.1


def fits(width: float) -> Callable[[str], bool]:
    """Return what tells whether a text needs no more than `width` px; one of eight letters is never cut."""
    return lambda text: len(text) <= _FEWEST or text_width(text) <= width


def fitting(text: str, width: float) -> str:
    """Return `text`, cut to what fits into `width` px; never below eight letters."""
    if len(text) <= _FEWEST or text_width(text) <= width:
        return text
    whole = text.removesuffix("…")
    wide, kept = _WIDTHS.get("…", _OTHER), 0
    for letter in whole[:-1]:
        wide += _WIDTHS.get(letter, _OTHER)
        if kept + 1 >= _FEWEST and _px(wide) > width:
            break
        kept += 1
    return f"{whole[:kept]}…"


_FEWEST = 8
"""Letters, the one that stands for the rest among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A label: which one, and its offset in px from its anchor (dx to the right, dy downwards)."""

    index: int
    dx: float
    dy: float
    align: str = "left"
    cost: float = 0.0  # what it covers and how far it is: under 8, it touches nothing


def column(heights: Sequence[float], *, gap: float, low: float, high: float) -> list[float]:
    """Push the heights (px) of labels in one column apart until neighbours are `gap` away, inside low…high.

    Keeps their order and moves them as little as that allows. If they cannot all fit, they are spread evenly.
    """
    n = len(heights)
    order = sorted(range(n), key=lambda i: heights[i])
    if n * gap > high - low + gap:
        step = (high - low) / max(n - 1, 1)
        places = [low + i * step for i in range(n)]
    else:
        # pool adjacent violators: labels that clash move as one block around the mean of their wishes
        blocks: list[list[float]] = []  # [sum of wishes minus own offsets, number]
        for rank, i in enumerate(order):
            blocks.append([min(max(heights[i], low), high) - rank * gap, 1])
            while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
                total, number = blocks.pop()
                blocks[-1][0] += total
                blocks[-1][1] += number
        base = [total / number for total, number in blocks for _ in range(int(number))]
        places = [min(max(b, low), high - (n - 1) * gap) + rank * gap for rank, b in enumerate(base)]
    out = [0.0] * n
    for rank, i in enumerate(order):
        out[i] = places[rank]
    return out


def box_of(x: float, y: float, text: str, size: float = 12) -> tuple[float, float, float, float]:
    """Return the box (left, top, right, bottom) of a text from its left end and its baseline."""
    return (x, y - size * 0.8, x + text_width(text, size), y + size * 0.25)


Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom


def whisker(a: Point, b: Point) -> Box:
    """Return the box of a bar, upright or flat, less what `touch` adds on both sides."""
    return (min(a[0], b[0]) + 3, min(a[1], b[1]), max(a[0], b[0]) - 3, max(a[1], b[1]))


def clearest(boxes: Sequence[Box], strokes: Sequence[tuple[Point, Point]], taken: Sequence[Box]) -> int:
    """Return which of some places of a text covers the least: no other text, if there is such a place, and the fewest dots of strokes; of
    several the first."""
    inked = {dot for stroke in strokes for dot in _dotted(stroke)}

    def covers(box: Box) -> tuple[int, int]:
        on = sum(box[0] - 2 < x < box[2] + 2 and box[1] - 1 < y < box[3] + 1 for x, y in inked)
        return sum(touch(box, other) for other in taken), on

    return min(range(len(boxes)), key=lambda i: covers(boxes[i]))


def near(
    anchors: Sequence[tuple[Point, str]],
    segments: Sequence[tuple[Point, Point]],
    taken: Sequence[Box],
    bounds: Box,
    size: float = 12,
    reaches: Sequence[float] = (1.0, 2.2, 3.6, 5.2),
) -> list[Placed]:
    """Put each name beside its anchor: of the places around it, the one that covers fewest lines and other labels.

    Deterministic; anchors are served from the top down. All in px, y downwards.
    """
    import numpy as np

    boxes = list(taken)
    inked = {  # on a raster of 4 px, so that many short strokes weigh no more than a long one
        (round((p[0] + (q[0] - p[0]) * k / n) / 4) * 4, round((p[1] + (q[1] - p[1]) * k / n) / 4) * 4)
        for p, q in segments
        for n in (max(1, min(250, round(math.dist(p, q) / 3))),)
        for k in range(n + 1)
    }
    ink_x, ink_y = np.array([*inked]).reshape(-1, 2).T
    out = []
    for index, ((x, y), text) in sorted(enumerate(anchors), key=lambda a: (a[1][0][1], a[0])):
        width, ascent, descent = text_width(text, size), size * 0.8, size * 0.25
        best: tuple[float, float, float, Box] | None = None
        for reach in reaches:
            for right, down in ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (-1, -1), (1, 1), (-1, 1)):
                dx = (-width / 2) + right * (width / 2 + 7 * (reach if not down else 1 + (reach - 1) * 0.6))
                dy = size * 0.33 + down * (size * 0.95 * reach)
                box = (x + dx, y + dy - ascent, x + dx + width, y + dy + descent)
                outside = box[0] < bounds[0] or box[1] < bounds[1] or box[2] > bounds[2] or box[3] > bounds[3]
                cost = 400.0 * outside + math.hypot(dx + width / 2, dy) * 0.1 + (reach - 1) * 4
                cost += sum(60 for o in boxes if touch(box, o))
                covered = (
                    (box[0] - 2 < ink_x) & (ink_x < box[2] + 2) & (box[1] - 1 < ink_y) & (ink_y < box[3] + 1)
                )
                cost += 4 * int(np.count_nonzero(covered))
                if best is None or cost < best[0] - 1e-9:
                    best = (cost, dx, dy, box)
        assert best is not None
        boxes.append(best[3])
        out.append(Placed(index=index, dx=round(best[1], 1), dy=round(best[2], 1), cost=best[0]))
    return sorted(out, key=lambda p: p.index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A name placed beside a curve: its left end and baseline, and the point of the curve a hairline leads to, if any."""

    x: float
    y: float
    lead: tuple[Point, Point] | None  # on the curve, at the name


_THROUGH = 20
"""What a dot of a line weighs that lies in a name, or one of a hairline in another name: no place with one is good enough while there are others."""


_RULED = 40
"""What it weighs that a name lies on a line across the picture: it is read all the same, as its paper interrupts the line; a place that needs a
hairline of up to 50 px is better."""


def along(
    curves: Sequence[tuple[Sequence[Point], str]],
    taken: Sequence[Box],
    bounds: Box,
    *,
    prefer: float,
    starts: Sequence[int] = (),
    ruled: Sequence[tuple[Point, Point]] = (),
    size: float = 12,
) -> list[Named]:
    """Put each name beside its own curve, wherever along it there is room: nearer to it than to any other curve, and on none of the lines
    that are `ruled` across the picture, where there is room beside them.

    Where no place touches its curve without doubt, the name moves off and a hairline leads back. Deterministic;
    curves are served in the order given. `prefer` is the height (px) where names go if nothing else decides;
    `starts` are the indexes of the points from which on a curve may be named.
    """
    import numpy as np

    dotted = [_dotted(points) for points, _ in curves]
    rules = np.array([dot for stroke in ruled for dot in _dotted(stroke)]).reshape(-1, 2).T
    boxes = list(taken)
    hairlines: list[Point] = []
    out = []
    for index, (_, text) in enumerate(curves):
        sides = _dotted(curves[index][0][starts[index] :]) if starts else dotted[index]
        own = np.array(dotted[index]).reshape(-1, 2)
        others = np.array([p for i, dots in enumerate(dotted) if i != index for p in dots]).reshape(-1, 2)
        xs, ys = np.concatenate((own, others, np.array(hairlines).reshape(-1, 2))).T
        width, ascent, descent = text_width(text, size), size * 0.8, size * 0.25
        best: tuple[float, Box, Point, bool] | None = None
        for reach in (7.0, 20.0, 36.0, 60.0, 90.0):
            places = [
                (abs(box[3] - descent - prefer) * 0.04 + (reach - 7) * 0.8, rank, box, (x, y))
                for rank, (x, y) in enumerate(sides[:: max(1, len(sides) // 40)])
                for box in _around(x, y, width, ascent, descent, reach)
                if box[0] >= bounds[0] and box[1] >= bounds[1] and box[2] <= bounds[2] and box[3] <= bounds[3]
                if not any(touch(box, o) for o in boxes)
            ]
            for cost, _, box, at in sorted(places):
                if best is not None and cost >= best[0]:
                    break
                left, top, right, bottom = box[0] - 3, box[1] - 3, box[2] + 3, box[3] + 3
                covered = (left <= xs) & (xs <= right) & (top <= ys) & (ys <= bottom)
                cost += 5 * int(np.count_nonzero(covered))
                through = (box[0] <= xs) & (xs <= box[2]) & (box[1] <= ys) & (ys <= box[3])
                cost += _THROUGH * int(np.count_nonzero(through)) + _RULED * _lies_on(box, rules)
                if best is not None and cost >= best[0]:
                    continue
                if reach == 7 and _gap(box, others) < _gap(box, own) + 4:
                    cost += 40
                if reach > 7:
                    cost += _THROUGH * sum(
                        _inside(p, o) for p in _dotted((at, _nearest(box, at))) for o in boxes
                    )
                if best is None or cost < best[0]:
                    best = (cost, box, at, reach > 7)
            if best is not None and best[0] < 20:
                break
        if best is None:  # no room at all: at the curve's middle, whatever it covers
            x, y = sides[len(sides) // 2]
            best = (0, (x, y - ascent, x + width, y + descent), (x, y), False)
        _, box, (x, y), far = best
        boxes.append((box[0] - 0.1, box[1] - 0.1, box[2] + 0.1, box[3] + 0.1))  # places are rounded below
        to = _nearest(box, (x, y))
        hairlines += _dotted(((x, y), to)) if far else []
        out.append(
            Named(
                x=round(box[0], 1),
                y=round(box[3] - descent, 1),
                lead=((round(x, 1), round(y, 1)), (round(to[0], 1), round(to[1], 1))) if far else None,
            )
        )
    return out


def rows_along(
    placed: Sequence[Named], curves: Sequence[tuple[Sequence[Point], str]], at: Sequence[Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return names that were put `along` curves as rows of the data sets `names` and `leads`. at: series, x and y where each curve begins."""
    names, leads = [], []
    for name, (points, text), begins in zip(placed, curves, at, strict=True):
        px, py = points[0]
        names.append(
            {
                **begins,
                "text": text,
                "dx": round(name.x - px, 1),
                "dy": round(name.y - py, 1),
                "align": "left",
            }
        )
        if name.lead:
            (x1, y1), (x2, y2) = name.lead
            leads.append({"series": begins["series"], "x_px": x1, "y_px": y1, "x2_px": x2, "y2_px": y2})
    return names, leads


def _lies_on(box: Box, dots: NDArray[np.float64]) -> bool:
    """Is one of some dots (2 × n) in a box or within 2 px of it?"""
    x, y = dots
    return bool(((box[0] - 2 <= x) & (x <= box[2] + 2) & (box[1] - 2 <= y) & (y <= box[3] + 2)).any())


def _nearest(box: Box, to: Point) -> Point:
    """Return where a hairline from a point ends at a name."""
    return min(max(to[0], box[0] - 3), box[2] + 3), min(max(to[1], box[1]), box[3])


def _inside(point: Point, box: Box) -> bool:
    return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]


def _around(x: float, y: float, width: float, ascent: float, descent: float, reach: float) -> Iterator[Box]:
    """Yield the boxes of a text on the eight sides of a point, `reach` px away."""
    for right, down in ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (-1, -1), (1, 1), (-1, 1)):
        aside = reach * (0.7 if right and down else 1)
        left = x - width / 2 + right * (width / 2 + aside)
        base = y + (ascent - descent) / 2 + down * ((ascent + descent) / 2 + aside)
        yield (left, base - ascent, left + width, base + descent)


def _dotted(points: Sequence[Point]) -> list[Point]:
    """Return points about every 5 px along a line."""
    dots = list(points[:1])
    for p, q in itertools.pairwise(points):
        n = max(1, min(250, round(math.dist(p, q) / 5)))
        dots += [(p[0] + (q[0] - p[0]) * k / n, p[1] + (q[1] - p[1]) * k / n) for k in range(1, n + 1)]
    kept = dots[:1]
    for dot in dots[1:]:  # many short strokes weigh no more than a long one
        if math.dist(dot, kept[-1]) >= 4:
            kept.append(dot)
    return kept


def _gap(box: Box, points: NDArray[np.float64]) -> float:
    """Return the distance (px) from a box to the nearest of some points (n × 2); infinite without points."""
    import numpy as np

    x, y = points.T
    aside = np.maximum(0, np.maximum(box[0] - x, x - box[2]))
    above = np.maximum(0, np.maximum(box[1] - y, y - box[3]))
    return float(np.hypot(aside, above).min(initial=math.inf))


def touch(a: Box, b: Box) -> bool:
    """Are two texts so close that they read as one?"""
    return a[2] - b[0] > -8 and b[2] - a[0] > -8 and a[3] - b[1] > -2 and b[3] - a[1] > -2
