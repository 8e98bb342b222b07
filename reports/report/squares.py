"""A NUMA node as squares: a square is a PU, a column of squares a core, a frame a last-level cache that several cores share. Pure.

Up to 64 cores a square bears the number of its PU; a larger machine has small ones, and the text beside them says which they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.machine.topology import Core, Topology
from reports.page.model import Node
from reports.results.grouping import group_by
from reports.text import format as fmt

UNUSED = "#E3E6EA"
MOST_NUMBERED: Final = 64
"""Cores of a machine whose PUs have their numbers."""

_GAP, _FRAME = 2, 3
_BAR = 3


ROOM: Final = 224
"""Px of a node that stands beside others, in a box of 250: a wider picture was shrunk there, and its numbers with it."""

ROOM_ALONE: Final = 342
"""Px of the only node of a machine, on a page 400 px wide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Size:
    """Sides of a square in px."""

    width: int
    height: int
    numbered: bool

    def line(self, cores: int, room: int) -> int:
        """Return how many of some cores stand side by side, one at least: all take the fewest lines, each about as long as the others."""
        lines = -(-cores // ((room + _GAP) // (self.width + _GAP)))
        return max(1, -(-cores // max(1, lines)))

    def wide(self, line: int) -> int:
        """Return the width of a line of cores."""
        return line * (self.width + _GAP) - _GAP

    def high(self, lines: int, deepest: int) -> int:
        """Return the height of some lines of cores, of whom one has as many PUs as `deepest`."""
        return lines * (deepest * (self.height + _GAP) + _GAP) - 2 * _GAP


_NUMBERED = _Size(width=20, height=16, numbered=True)  # three digits of 10 px
_PLAIN = _Size(width=8, height=8, numbered=False)


def node(
    name: str, cores: Sequence[Core], topology: Topology, colour_of: Mapping[int, str], bound: bool, room: int = ROOM
) -> Node:  # fmt: skip
    """Return the picture of a NUMA node of these cores, each PU in its colour; `bound`: with the bar of its memory; `room`: its width at most, px."""
    size = _NUMBERED if len(topology.cores) <= MOST_NUMBERED else _PLAIN
    caches = _caches(cores, topology)
    frame = _FRAME if len(caches) > 1 else 0
    deepest = max((len(core.cpus) for core in cores), default=0)
    paths: dict[str, list[str]] = {}
    numbers: list[tuple[int, int, str, str]] = []
    frames = ""
    x = y = right = bottom = 0
    for own in caches:
        abreast = size.line(len(own), room - 2 * frame)
        wide = size.wide(abreast) + 2 * frame
        high = size.high(-(-len(own) // abreast), deepest) + 2 * frame
        if x and x + wide > room:
            x, y = 0, bottom + _GAP
        for i, core in enumerate(own):
            line, column = divmod(i, abreast)
            left = x + frame + column * (size.width + _GAP)
            top = y + frame + line * (deepest * (size.height + _GAP) + _GAP)
            for j, cpu in enumerate(core.cpus):
                colour, at = colour_of.get(cpu, UNUSED), top + j * (size.height + _GAP)
                paths.setdefault(colour, []).append(f"M{left} {at}h{size.width}v{size.height}h-{size.width}z")
                if size.numbered:
                    numbers.append((left + size.width // 2, at + size.height - 4, str(cpu), _ink(colour)))
        if frame:
            frames += f"M{x + 0.5} {y + 0.5}h{wide - 1}v{high - 1}h-{wide - 1}z"
        x, right, bottom = x + wide + _GAP, max(right, x + wide), max(bottom, y + high)
    if not cores:
        right = 3 * (size.width + _GAP)
    used = sum(cpu in colour_of for core in cores for cpu in core.cpus)
    total = sum(len(core.cpus) for core in cores)
    memory = ", its memory bound" if bound else ""
    under = bottom + 2 * _GAP
    return Node(
        name=name,
        width=right,
        height=under + _BAR,
        squares=tuple((colour, "".join(parts)) for colour, parts in sorted(paths.items())),
        numbers=tuple(numbers),
        frames=frames,
        memory=f"M0 {under}h{right}v{_BAR}h-{right}z" if bound else "",
        used=used,
        said=f"{name + ': ' if name else ''}{used} of {fmt.plural(total, 'PU')}{memory}",
    )


def _caches(cores: Sequence[Core], topology: Topology) -> list[Sequence[Core]]:
    """Return the cores that share a last-level cache with others, together; all at once where no cache is shared by several."""
    shared: dict[int, tuple[int, int]] = {}  # PU → (level, which)
    for which, cache in enumerate(topology.caches):
        if len({topology.core_of.get(cpu) for cpu in cache.cpus}) < 2:
            continue
        for cpu in cache.cpus:
            if shared.get(cpu, (0, 0))[0] < cache.level:
                shared[cpu] = (cache.level, which)
    return list(group_by(cores, lambda core: shared.get(core.cpus[0])).values()) or [()]


def _ink(colour: str) -> str:
    """Return black or white, whichever is read better on a colour; "" on an unused square, whose colour is the page's."""
    if colour == UNUSED:
        return ""
    linear = [(v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4) for v in _channels(colour)]
    luminance = sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), linear, strict=True))  # WCAG 2.2
    return "#FFFFFF" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "#000000"


def _channels(colour: str) -> list[float]:
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
