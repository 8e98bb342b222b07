"""Names above the peaks of a histogram: each over its own, or with a hairline to it. Pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from reports.draw import label_placement
from reports.draw.plot import Plot
from reports.draw.vega import Rows
from reports.numbers.formulas import Bucket, Mode
from reports.text import format as fmt


def mode_text(mode: Mode) -> str:
    """Return "15.0 µs, 6.0 %"."""
    return f"{fmt.quantity(mode.at, 'ns')}, {fmt.percent(mode.share)}"


def peak_names(
    modes: Sequence[Mode], buckets: Sequence[Bucket], others: Rows, uprights: Sequence[float], plot: Plot
) -> tuple[Rows, Rows]:
    """Name the modes above their peaks, the largest first, where there is room beside the `others` and the `uprights` (px): the data sets `notes` and
    `leads`. A name over another peak too, or a line higher, has a hairline to its own."""
    peaks = [_peak(mode, buckets) for mode in modes]
    taken = [note_box(note, plot) for note in others]
    bars = [(plot.at(b.low, b.n), plot.at(b.high, b.n)[0]) for b in buckets if b.high > plot.x.low]
    across = [plot.at(*at)[0] for at in peaks]
    notes: Rows = []
    leads: Rows = []
    for i, mode in sorted(enumerate(modes), key=lambda m: -m[1].share):
        near = (
            i > 0 and across[i] - across[i - 1] < 80,
            i + 1 < len(across) and across[i + 1] - across[i] < 80,
        )
        sides = _SIDES.get(near, _SIDES[False, False])
        rivals = [*across[:i], *across[i + 1 :]]
        texts = (mode_text(mode), fmt.quantity(mode.at, "ns"))
        note = _above(*peaks[i], texts, plot, taken, bars, sides, uprights, rivals, first=not notes)
        if note is None:
            continue
        box, at = note_box(note, plot), plot.at(*peaks[i])
        notes.append(note)
        taken.append(box)
        if not (_is_own(box, across[i], rivals) and note["dy"] == _LINES[0]):
            (x, y), (end, bottom) = at, _end(at[0], box)
            leads.append({"x_px": round(x, 1), "y_px": round(y, 1), "x2_px": round(end, 1), "y2_px": round(bottom, 1)})  # fmt: skip
            taken.append(_along(at, box))
    return notes, leads


def _end(at: float, box: label_placement.Box) -> label_placement.Point:
    """Return where the hairline from a peak (px) meets its name."""
    return min(max(at, box[0]), box[2]), box[3]


def _along(at: label_placement.Point, box: label_placement.Box) -> label_placement.Box:
    """Return what the hairline from a peak to its name covers."""
    end, bottom = _end(at[0], box)
    return min(at[0], end) - 1, bottom + 1, max(at[0], end) + 1, at[1]


def _peak(mode: Mode, buckets: Sequence[Bucket]) -> tuple[float, float]:
    """Return where a mode's highest bucket is: its middle on a log axis (ns), and its count."""
    inside = [b for b in buckets if mode.low * 0.999 <= b.low and b.high <= mode.high * 1.001]
    top = max(inside, key=lambda b: b.n)
    return math.sqrt(top.low * top.high), float(top.n)


_SIDES = {(False, False): (0, 1, -1), (False, True): (-1, 0, 1), (True, False): (1, 0, -1)}
"""Where a name goes first by whether there is a neighbour to the left, to the right: centred, begun (1) or ended (-1) at the peak."""


def _is_own(box: label_placement.Box, at: float, rivals: Sequence[float]) -> bool:
    """Does a name stand over its peak (px), or right beside it, and over no other's?"""
    return box[0] - _FAR <= at <= box[2] + _FAR and not any(box[0] - 1 <= px <= box[2] + 1 for px in rivals)


def _above(
    x: float,
    y: float,
    texts: Sequence[str],
    plot: Plot,
    taken: Sequence[label_placement.Box],
    bars: Sequence[tuple[label_placement.Point, float]],
    sides: Sequence[float],
    uprights: Sequence[float],
    rivals: Sequence[float],
    *,
    first: bool,
) -> dict[str, Any] | None:
    """Return a note above a point: the first of some texts that has room there and is over no other peak, aside, at an upright or a line of text
    higher; then one over others, too; of the first point, the largest, at last one on an upright. None where there is no room."""
    px, py = plot.at(x, y)
    wishes = [
        *((text, uprights, True) for text in texts),
        *((text, uprights, False) for text in texts),
        *((text, (), alone) for text in texts for alone in (True, False) if first),
    ]
    for text, passed, alone in wishes:
        lines = (
            (-6.0, -20.0, -34.0) if alone else (-20.0, -34.0, -48.0)
        )  # there is a hairline below the latter
        for dy, left in itertools.product(lines, _beside(px, text, sides, passed, plot)):
            note = {"x": x, "y": y, "text": text, "dx": round(left - px, 1), "dy": dy, "align": "left"}
            box = note_box(note, plot)
            covered = any(start < box[2] and right > box[0] and top < box[3] for (start, top), right in bars)
            if (
                box[1] > _HIGHEST
                and not covered
                and not (alone and not _is_own(box, px, rivals))
                and not any(box[0] - 2 < at < box[2] + 2 for at in passed)
                and not any(label_placement.touch(box, other) for other in taken)
                and (
                    (dy == _LINES[0] and _is_own(box, px, rivals))
                    or not any(label_placement.touch(_along((px, py), box), other) for other in taken)
                )
            ):
                return note
    return None


def _beside(
    px: float, text: str, sides: Sequence[float], uprights: Sequence[float], plot: Plot
) -> Iterator[float]:
    """Give where a text at a peak may begin, all in px: at its `sides`, then at the uprights that are near."""
    width = label_placement.text_width(text, 11.5)
    most = plot.frame.plot_width + plot.frame.right - width
    wishes = [px - width / 2 + side * (width / 2 - 4) for side in sides]
    for at in uprights:
        wishes += [
            left for left in (at - width - _CLEAR, at + _CLEAR) if left - _FAR < px < left + width + _FAR
        ]
    return (min(max(wish, 2.0), most) for wish in wishes)


_LINES: Final = (-6.0, -20.0, -34.0, -48.0)
"""Px from a peak to the line of its name: from the second on a hairline leads there."""

_CLEAR: Final = 4.0
"""Px from an upright to a name beside it."""

_FAR: Final = 16.0
"""Px from a peak to the end of its name, at most."""

_HIGHEST: Final = -6.0
"""Pixels above the plot that a name may reach into: above them stands what the axis counts."""


def note_box(note: dict[str, Any], plot: Plot) -> label_placement.Box:
    """Return what a note of a picture covers (px)."""
    px, py = plot.at(note["x"], note["y"])
    width = label_placement.text_width(note["text"], 11.5) if note["align"] == "right" else 0.0
    return label_placement.box_of(px + note["dx"] - width, py + note["dy"], note["text"], 11.5)
