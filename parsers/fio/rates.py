"""Recover figures of fio's normal text as exactly as the rounded text allows.

A line has the bandwidth in MiB/s and MB/s, the bytes moved and the time, each with four digits at most. The count of
I/Os has all digits. `226 MiB/s (238 MB/s)(1024 MiB/4521 msec)` is 237.5 MB/s, because the bytes are most exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, Self

from parsers.text import number
from parsers.units import size_bytes

_PREFIXES: Final = "kmgtpe"
_DECIMAL: Final = {"": 1.0, "k": 1e3, "K": 1e3, "m": 1e6, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_SIZE = re.compile(r"([\d.]+)([kKmMGTPE]?)(i?)(B|bit)?(?:/s)?")
_COUNT = re.compile(r"([\d.]+)([kKmMGTP]?)")
_PER_DIRECTION = re.compile(r"\((\w)\) ([^\s,]+)")
_WAYS: Final = ("read", "write", "trim")


class Rounded(NamedTuple):
    """A printed figure and the interval before rounding: low ≤ value < high."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> Self:
        return type(self)(*(factor * v for v in self))

    @property
    def width(self) -> float:
        """The width of the rounding interval, as a share of the value."""
        return (self.high - self.low) / self.value

    def meets(self, other: Rounded) -> bool:
        return self.low <= other.high and other.low <= self.high


def plain(text: str) -> float | None:
    """Return the number of `15.9k`, `3581.8k`, `99.41%` or `-nan%`, in powers of 1000."""
    text = text.rstrip("%")
    factor = _DECIMAL.get(text[-1:], 1.0) if number(text) is None else 1.0
    value = number(text[:-1] if factor != 1.0 else text)
    return None if value is None else value * factor


def size(text: str, *, binary: bool) -> float | None:
    """Return the bytes of `62.2MiB/s`, `100Mi`, `48972KB/s` or `498Mbit/s`. With `binary`, K without i is 1024."""
    match = _SIZE.fullmatch(text)
    value = number(match[1]) if match else None
    return None if match is None or value is None else value * _unit(match, binary=binary)


def _unit(match: re.Match[str], *, binary: bool) -> float:
    power = _PREFIXES.find(match[2].lower()) + 1 if match[2] else 0
    return (1024.0 if match[3] or binary else 1000.0) ** power / (8 if match[4] == "bit" else 1)


def _rounded(digits: str, prefix: str, unit: float, *, old: bool) -> Rounded | None:
    """Return the interval of a figure that fio's num2str printed (lib/num2str.c).

    num2str divides whole numbers, so a figure without a prefix is truncated. 9.996 Mi is printed as `9.00Mi`, because a
    fraction that rounds to 1 is dropped. Zero decimals may therefore mean almost 1 more. Before 3.0 the decimals are
    1024ths and have little information.
    """
    value = number(digits)
    if value is None:
        return None
    decimals = digits.partition(".")[2]
    half = 0.5 * 10.0 ** -len(decimals)
    if not prefix:
        low, high = value, value + 1
    elif old:
        low, high = (value // 1, value // 1 + 1) if decimals else (value - 0.5, value + 1)
    else:
        # a thousandth: what the divisions before the last one cut off
        low, high = value - half, value + (1 if decimals and not decimals.strip("0") else half) + 1e-3
    return Rounded(value, low, high).times(unit)


def _bytes(text: str, *, binary: bool) -> Rounded | None:
    match = _SIZE.fullmatch(text)
    return match and _rounded(match[1], match[2], _unit(match, binary=binary), old=binary)


def _count(text: str, *, old: bool) -> Rounded | None:
    match = _COUNT.fullmatch(text)
    return match and _rounded(match[1], match[2], _DECIMAL[match[2]], old=old)


class Rates(NamedTuple):
    """The figures on the line of a direction. `binary`: fio before 2.17, where K is 1024."""

    bandwidth: str
    other: str  # the same in the other kind of unit; "" where fio prints it once
    moved: str
    iops: str
    runtime: int  # ms
    binary: bool

    def best_bandwidth(self, count: int = 0, block: int = 0) -> float | None:
        """Return the bandwidth (B/s) from the least rounded figures.

        count: I/Os. block: bytes per I/O. 0 means unknown. Figures that contradict the printed bandwidth are ignored:
        I/Os in progress at the end count as bytes and not as I/Os.
        """
        printed = _bytes(self.bandwidth, binary=self.binary)
        return printed and _least_rounded(printed, self._bandwidths(count, block))

    def _bandwidths(self, count: int, block: int) -> Iterator[Rounded | None]:
        if count and self.runtime:
            yield _exact(count * block * 1000 / self.runtime)
        iops = _count(self.iops, old=self.binary)
        yield iops and iops.times(block)
        moved = _bytes(self.moved, binary=self.binary)
        yield moved.times(1000 / self.runtime) if moved and self.runtime else None
        yield _bytes(self.other, binary=self.binary)

    def best_iops(self, count: int = 0) -> float | None:
        """Return the IOPS, from the count of I/Os if the count is known and agrees with the printed IOPS."""
        printed = _count(self.iops, old=self.binary)
        counted = _exact(count * 1000 / self.runtime) if self.runtime else None
        return printed and _least_rounded(printed, [counted])


def _exact(value: float) -> Rounded:
    return Rounded(value, value, value)


def _least_rounded(printed: Rounded, others: Iterable[Rounded | None]) -> float:
    if not printed.value:
        return printed.value
    known = [printed, *(one for one in others if one and one.value and one.meets(printed))]
    return min(known, key=lambda one: one.width).value


def block_of(printed: str, direction: str) -> int:
    """Return the block size (B) of a direction from the line of a job's options, 0 for several or rounded sizes.

    >>> block_of("(R) 4096B-4096B, (W) 64.0KiB-64.0KiB, (T) 4096B-4096B", "write")
    65536
    """
    own = dict(_PER_DIRECTION.findall(printed))
    if not own:
        ranges = printed.split("/")
        own = dict(zip("RWT", ranges * (1 if len(ranges) == 3 else 3), strict=False))
    asked_for = [own.get(way[0].upper(), "") for way in _WAYS if direction in (way, "mixed")]
    edges = {edge for both in asked_for for edge in both.split("-")}
    try:
        block = size_bytes(edges.pop()) if len(edges) == 1 else 0
    except ValueError:
        return 0
    return block if "." not in printed or block % 512 == 0 else 0
