"""Convert sets of CPUs (and of NUMA nodes) from and to text: the kernel's lists and hwloc's bitmasks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

MAX_INDEX: Final = 1 << 16  # more than any kernel numbers; a range beyond it is a mistake, not a machine


def parse_ordered(text: str) -> tuple[int, ...]:
    """Return `7,0-2` as (7, 0, 1, 2), in the written order, with duplicates. Blank text is ().

    The kernel's stride form is also valid: `0-7:2/4` is the first 2 of every 4, so 0, 1, 4, 5.

    Raises ValueError for other text, an empty item (`0,,1`) and numbers from `MAX_INDEX`.
    """
    text = text.strip()
    return tuple(cpu for item in text.split(",") for cpu in _range(item.strip())) if text else ()


def parse_cpulist(text: str) -> frozenset[int]:
    """Read a list such as `0-3,8` as a set. Raises ValueError as `parse_ordered` does."""
    return frozenset(parse_ordered(text))


def format_cpulist(cpus: Iterable[int]) -> str:
    """Return `0-2,8` for {0, 1, 2, 8}, sorted as in numactl and the kernel. No CPUs give ""."""
    runs: list[tuple[int, int]] = []
    for cpu in sorted(set(cpus)):
        if runs and runs[-1][1] == cpu - 1:
            runs[-1] = (runs[-1][0], cpu)
        else:
            runs.append((cpu, cpu))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def named_cpus(cpus: Iterable[int]) -> str:
    """Return "CPU 3" or "CPUs 0-3" for people."""
    listed = format_cpulist(cpus)
    return f"CPU {listed}" if listed.isdigit() else f"CPUs {listed}"


def parse_mask(text: str) -> frozenset[int] | None:
    """Return the set of a bitmask from hwloc: `0x000000ff,,0x1` is {0} and 64 to 71.

    Words have 32 bits. The lowest word is last, and empty words are 0. Returns None for an infinite mask (`0xf...f`,
    hwloc's "everything"). Raises ValueError for an invalid mask.
    """
    words = text.strip().split(",")
    if words[0] == "0xf...f":
        return None
    if words == [""] or len(words) * 32 > MAX_INDEX:
        raise ValueError(f"{text[:40]!r} is not a bitmask")
    bits = 0
    for word in words:
        value = int(word, 16) if word else 0
        if not 0 <= value < 1 << 32:
            raise ValueError(f"{text[:40]!r} is not a bitmask: {word!r} is not a word of 32 bits")
        bits = bits << 32 | value
    return frozenset(i for i in range(bits.bit_length()) if bits >> i & 1)


def _range(item: str) -> Iterable[int]:
    span, _, stride = item.partition(":")
    first, dash, last = span.partition("-")
    start = _number(first)
    stop = _number(last) if dash else start
    if stop < start:
        raise ValueError(f"{item!r} runs backwards")
    if not stride:
        return range(start, stop + 1)
    count, slash, period = stride.partition("/")
    if not (dash and slash) or not 0 < _number(count) <= _number(period):
        raise ValueError(f"{item!r} is not a range")
    return (cpu for cpu in range(start, stop + 1) if (cpu - start) % _number(period) < _number(count))


def _number(text: str) -> int:
    # not int() alone: it takes "+1", "1_000", " 1" and the digits of other scripts
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{text!r} is not a number")
    if len(text) > 6 or int(text) >= MAX_INDEX:
        raise ValueError(f"{text} is more than any machine has")
    return int(text)
