"""Convert printed units to the base units of every frame (ns, B, B/s, 1/s).

k, M, G are powers of 10, and Ki, Mi, Gi are powers of 2. The parser corrects tools that use a prefix with the other
meaning (fio's "KB/s" before 3.0, IMB's "Mbytes/sec" before 2018).
"""

from __future__ import annotations

import functools
import re
from fractions import Fraction
from typing import Final

_DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_PREFIXES = {**_DECIMAL, "K": 1e3, **_BINARY}
_TIMES = {
    "ns": 1.0, "us": 1e3, "µs": 1e3, "μs": 1e3, "usec": 1e3, "ms": 1e6, "msec": 1e6, "s": 1e9, "sec": 1e9, "min": 60e9,
}  # fmt: skip
_BASES = (("B/s", "B/s"), ("B/sec", "B/s"), ("B", "B"), ("/s", "1/s"), ("IOPS", "1/s"), ("Hz", "1/s"))

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(?:([kmgtp])(i?b|i)?|b)?", re.ASCII | re.IGNORECASE)

LARGEST_SIZE: Final = 2**63 - 1
"""Bytes. Linux cannot count more in a file."""


def to_base(unit: str) -> tuple[float, str]:
    """Return (factor, base unit): `to_base("MB/s") == (1e6, "B/s")`, `to_base("us") == (1e3, "ns")`.

    A unit without a base unit in pinsweep (W, °C, "") has the factor 1.
    """
    if unit in _TIMES:
        return _TIMES[unit], "ns"
    for suffix, base in _BASES:
        prefix = unit.removesuffix(suffix)
        if unit.endswith(suffix) and prefix in _PREFIXES:
            return _PREFIXES[prefix], base
    return (1.0, "1/s") if unit == "1/s" else (1.0, unit)


_LEVEL: Final = re.compile(r"dB\w*(\(\w+\))?|Np|pH|(°|deg)\s?[CF]|celsius|fahrenheit", re.IGNORECASE)


def is_level(unit: str) -> bool:
    """Return whether 0 of a unit is a convention, so that ratios have no meaning: dB, dBm, pH, °C and °F."""
    return _LEVEL.fullmatch(unit.strip()) is not None


_SPELT_OUT: Final = {"nano": "ns", "micro": "us", "milli": "ms", "": "s"}


def unit_meant(unit: str) -> str:
    """Return the valid unit for a misspelt word: "ns" for "nanosec", "MB/s" for "MB/S". "" if no unit is similar."""
    if to_base(unit) != (1.0, unit) or unit in ("ns", "B", "B/s", "1/s", ""):
        return ""
    if spelt := re.fullmatch(r"(nano|micro|milli|)[ _-]?sec(?:ond)?s?", unit.strip(), re.IGNORECASE):
        return _SPELT_OUT[spelt[1].lower()]
    if unit.endswith("Bps") and unit.removesuffix("Bps") in _PREFIXES:
        return unit.removesuffix("ps") + "/s"
    if "b" in unit or len(unit) == 1:  # bits; metres
        return ""
    known = [*_TIMES, *(f"{prefix}{of}" for of in ("B/s", "B", "IOPS", "Hz") for prefix in _PREFIXES)]
    return next((one for one in known if one.casefold() == unit.strip().casefold()), "")


@functools.lru_cache(maxsize=4096)  # the same few sizes are read for each cell of a sweep
def size_bytes(text: str) -> int:
    """Return a size in bytes, with the suffixes of fio: `4k` = `4KiB` = 4096, `1M` = 2**20, `10kB` = 10000.

    The result is exact. Raises ValueError for an invalid size, a fraction of a byte, or more than LARGEST_SIZE.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"could not convert {text!r} to a size")
    number, prefix, rest = match.groups()
    power = " kmgtp".index(prefix.lower()) if prefix else 0
    value = Fraction(number) * (1000 if (rest or "").lower() == "b" else 1024) ** power
    if value.denominator != 1:
        raise ValueError(f"{text!r} is not a whole number of bytes")
    if value > LARGEST_SIZE:
        raise ValueError(f"{text!r} is larger than any file can be")
    return int(value)


def size_text(value: float) -> str:
    """Return a size for people with three digits, in powers of 1024: "16 GiB", "1.5 TiB", "189 GiB".

    Pages use `reports.text.format`.
    """
    name, factor = max((p for p in {"": 1.0, **_BINARY}.items() if p[1] <= max(value, 1)), key=lambda p: p[1])
    scaled = value / factor
    return f"{scaled:.0f} {name}B" if scaled >= 1000 else f"{scaled:.3g} {name}B"


def share_of(text: str) -> float | None:
    """Return a percentage as a share: `3%`, `3 %` and `3` are 0.03. None unless the value is above 0 and below 100."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*%?", text.strip())
    share = float(match[1]) / 100 if match else 0.0
    return share if 0 < share < 1 else None


def size_value(size_bytes: int) -> int | str:
    """Return bytes in the shortest exact form for an experiment: 4096 is "4k", 10000 is "10kB", 100 is 100.

    `size_bytes` reads the result back. For two forms of equal length, the binary form is returned.
    """
    forms = [str(size_bytes)]
    for power, suffix in enumerate("kMGTP", 1):
        for unit, ending in ((1024**power, suffix), (1000**power, f"{suffix}B")):
            if size_bytes and size_bytes % unit == 0:
                forms.append(f"{size_bytes // unit}{ending}")
    shortest = min(forms, key=len)
    return size_bytes if shortest == forms[0] else shortest


def number_value(text: str) -> int | float | str:
    """Return a text as a number if the number has the same spelling: "4" is 4, "1.5" is 1.5.

    "010", "1.10" and "1e3" remain texts, because a program may read another value.
    """
    for read in (int, float):
        try:
            value = read(text)
        except ValueError:  # or more digits than Python reads
            continue
        if str(value) == text and value - value == 0 and not (read is int and abs(value) > LARGEST_SIZE):
            return value
    return text
