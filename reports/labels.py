"""Where the names go: beside their lines, in pixels, without touching one another. Pure.

Widths are Inter's at regular weight, plus a tenth: labels are semibold, and the reader's fallback font may be wider.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_WIDTHS = (
    {" ": 281, "%": 982, "(": 365, ")": 365, "+": 662, ",": 288, "-": 460, ".": 288, "/": 360, ":": 288, "<": 662}
    | {"=": 662, ">": 662, "1": 550, "0": 631, "I": 269, "J": 571, "M": 903, "W": 985, "f": 370, "i": 242, "j": 242}
    | {"l": 242, "m": 876, "r": 376, "s": 528, "t": 327, "w": 818, "·": 288, "µ": 586, "–": 500, "\u2009": 150}
    | dict.fromkeys("abdeghknopquvxyzc", 590)
    | dict.fromkeys("ABCDEFGHKLNOPQRSTUVXYZ", 690)
)  # fmt: skip


def text_width(text: str, size: float = 12) -> float:
    """Return the width in px that `text` needs at `size` px, rather too much than too little."""
    return sum(_WIDTHS.get(c, 650) for c in text) / 1000 * size * 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A label: which one, and its offset in px from its anchor (dx to the right, dy downwards)."""

    index: int
    dx: float
    dy: float
    align: str = "left"


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


Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom


def near(
    anchors: Sequence[tuple[Point, str]],
    segments: Sequence[tuple[Point, Point]],
    taken: Sequence[Box],
    bounds: Box,
    size: float = 12,
) -> list[Placed]:
    """Put each name beside its anchor: of the places around it, the one that covers fewest lines and other labels.

    Deterministic; anchors are served from the top down. All in px, y downwards.
    """
    boxes = list(taken)
    inked = {  # on a raster of 4 px, so that many short strokes weigh no more than a long one
        (round((p[0] + (q[0] - p[0]) * k / n) / 4) * 4, round((p[1] + (q[1] - p[1]) * k / n) / 4) * 4)
        for p, q in segments
        for n in (max(1, min(250, round(math.dist(p, q) / 3))),)
        for k in range(n + 1)
    }
    out = []
    for index, ((x, y), text) in sorted(enumerate(anchors), key=lambda a: (a[1][0][1], a[0])):
        width, ascent, descent = text_width(text, size), size * 0.8, size * 0.25
        best: tuple[float, float, float, Box] | None = None
        for reach in (1.0, 2.2, 3.6, 5.2):
            for right, down in ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (-1, -1), (1, 1), (-1, 1)):
                dx = (-width / 2) + right * (width / 2 + 7 * (reach if not down else 1 + (reach - 1) * 0.6))
                dy = size * 0.33 + down * (size * 0.95 * reach)
                box = (x + dx, y + dy - ascent, x + dx + width, y + dy + descent)
                outside = box[0] < bounds[0] or box[1] < bounds[1] or box[2] > bounds[2] or box[3] > bounds[3]
                cost = 400.0 * outside + math.hypot(dx + width / 2, dy) * 0.1 + (reach - 1) * 4
                cost += sum(60 for o in boxes if _overlap(box, o))
                cost += sum(
                    4 for a, b in inked if box[0] - 2 < a < box[2] + 2 and box[1] - 1 < b < box[3] + 1
                )
                if best is None or cost < best[0] - 1e-9:
                    best = (cost, dx, dy, box)
        assert best is not None
        boxes.append(best[3])
        out.append(Placed(index=index, dx=round(best[1], 1), dy=round(best[2], 1)))
    return sorted(out, key=lambda p: p.index)


def _overlap(a: Box, b: Box) -> bool:
    return min(a[2], b[2]) - max(a[0], b[0]) > -8 and min(a[3], b[3]) - max(a[1], b[1]) > -2
