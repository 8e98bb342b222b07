"""Where a value lies in a picture: a frame with both axes, its margin and its height."""

from __future__ import annotations

from dataclasses import dataclass

from reports.draw import label_placement
from reports.draw.axes import Axis
from reports.draw.vega import Frame


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A picture's frame with both axes: where a value lies in px from the plot's upper left corner."""

    frame: Frame
    x: Axis
    y: Axis
    x_start: float = 0

    def at(self, x: float, y: float) -> tuple[float, float]:
        room = self.frame.plot_width - self.x_start
        return self.x_start + self.x.share(x) * room, (1 - self.y.share(y)) * self.frame.plot_height


def left_margin(axis: Axis) -> float:
    """Return the left margin that the y axis' tick texts need."""
    return round(max([label_placement.text_width(text) for _, text in axis.ticks] + [12]) + 10)


def height(width: int, wide: int, narrow: int) -> int:
    return wide if width > 400 else narrow
