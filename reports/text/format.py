"""Format numbers for people. Only this module scales units. Frames remain in ns, B, B/s, 1/s.

Numbers have three significant digits, thin spaces between thousands, and a true minus. Rates and times use powers of
1000. Sizes of messages, blocks and arrays use powers of 1024, because people choose such sizes (4096 B is 4 KiB).
"""

from __future__ import annotations

import decimal
import functools
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from parsers import parser_names

THIN = "\u202f"  # between thousands; no line break, unlike U+2009
NO_BREAK = "\u00a0"  # between a number and its unit
MINUS = "\u2212"
NOTHING = "\u2013"  # a missing number

NEAREST, UP = decimal.ROUND_HALF_EVEN, decimal.ROUND_CEILING
"""How the last digit is rounded. An upper bound goes UP, so that "at most" holds for the value itself."""

_SMALLEST, _LARGEST = 1e-9, 1e15
"""Limit of plain digits. Larger numbers break tables and exceed a float's digits, so a power of ten is used."""

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_OPTION = re.compile(r"[a-z]*[_=]")
_DIGITS = 3
"""Significant digits of a number of unknown step, also if they are zeros."""

_STEPS: dict[str, tuple[tuple[float, str], ...]] = {
    "ns": ((1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")),
    "B/s": ((1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s"), (1e12, "TB/s")),
    "1/s": ((1.0, "/s"), (1e3, "k/s"), (1e6, "M/s"), (1e9, "G/s")),
    "IOPS": ((1.0, "IOPS"), (1e3, "kIOPS"), (1e6, "MIOPS")),
    "B": ((1.0, "B"), (2.0**10, "KiB"), (2.0**20, "MiB"), (2.0**30, "GiB"), (2.0**40, "TiB")),
}

_DECIMAL_SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))

UNITS = (
    *dict.fromkeys(name for steps in _STEPS.values() for _, name in steps), "kB", "MB", "GB", "TB", "min", "h", "×", "%",
)  # fmt: skip
"""Units after a number and a space."""

BEFORE_UNIT = rf"(?<=\d) (?=(?:{'|'.join(map(re.escape, UNITS))})(?![\w/]))"
"""A pattern of that space, at which no line ends."""


class Shown(str):
    """A number for people, "1 234.5", with the digits for `float` in `plain`, "1234.5"."""

    __slots__ = ("plain",)
    plain: str

    def __new__(cls, plain: str, text: str = "") -> Shown:
        shown = super().__new__(cls, (text or plain).replace(",", THIN).replace("-", MINUS))
        shown.plain = plain
        return shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """One unit for a whole chart or column. `value / factor` is printed with `unit`."""

    factor: float
    unit: str

    def number(self, value: float | None, digits: int = 3, rounding: str = NEAREST, step: float | None = None) -> str:
        """Return a number in this unit. step: the last printed digit in the base unit, as in `number`.

        A number of unknown step in its base unit keeps its own digits, because 20 counted ns are not 20.0.
        """
        scaled = None if value is None else value / self.factor
        default = 0.0 if self.factor == 1 else None
        return number(scaled, digits, rounding, default if step is None else step / self.factor)


def scale_for(values: Iterable[float | None], unit: str) -> Scale:
    """Return the unit that gives most values one to three digits before the point. An unknown unit is unchanged.

    The geometric mean decides, so that an outlier does not choose the unit.
    """
    logs = [math.log(abs(v)) for v in values if v]
    return _scale(math.exp(sum(logs) / len(logs)) if logs else 0.0, unit)


def scale_to_largest(values: Iterable[float | None], unit: str) -> Scale:
    """Return the unit of the largest value, for a linear axis from 0."""
    return _scale(max((abs(v) for v in values if v is not None), default=0.0), unit)


def number(value: float | None, digits: int = 3, rounding: str = NEAREST, step: float | None = None) -> str:
    """Return `number(1234.5)` "1 230", `number(0.0123)` "0.0123", `number(None)` "–", `number(4.43, 2, UP)` "4.5".

    step: the last digit that the program prints, 0 if the number shows its own digits. Decimals beyond the step are not
    shown: `number(30.0, step=10)` and `number(30.0, step=0)` are "30", `number(1.4, step=0.01)` is "1.40". With None,
    digits beyond the third are shown only if the number has such digits: `number(1.4, 4)` is "1.40".
    """
    return NOTHING if value is None or not math.isfinite(value) else _finite(value, digits, rounding, step)


@functools.lru_cache(10_000)  # a page shows most numbers several times: in a table, a title, a picture
def _finite(value: float, digits: int, rounding: str, step: float | None) -> Shown:
    if value == 0:
        return Shown("0")
    places = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = _round(value, places, rounding)
    if rounded and math.floor(math.log10(abs(rounded))) > math.floor(math.log10(abs(value))):
        places -= 1  # 9.996 became 10.00
    if not _SMALLEST <= abs(value) < _LARGEST:
        return _power_of_ten(rounded, digits, trim=step is not None)
    if step is not None:
        places = min(places, max(_decimals(step), _decimals(value)))
    elif digits > _DIGITS:
        places = min(places, max(places - digits + _DIGITS, _decimals(value)))
    places = max(places, 0)
    return Shown(f"{rounded:.{places}f}", f"{rounded:,.{places}f}")


def _power_of_ten(value: float, digits: int, *, trim: bool) -> Shown:
    """Return "1.50 × 10³⁰⁰". trim: without trailing zeros."""
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    if trim and "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    raised = str(int(power)).translate(_RAISED)
    return Shown(f"{mantissa}e{power}", f"{mantissa}{NO_BREAK}×{NO_BREAK}10{raised}")


def _decimals(value: float) -> int:
    """Return the number of decimals of a number, up to ten digits."""
    mantissa, _, power = f"{value:.10g}".partition("e")
    return max(len(mantissa.partition(".")[2]) - int(power or 0), 0)


def _round(value: float, places: int, rounding: str) -> float:
    if rounding == NEAREST:
        return round(float(value), places)  # numpy rounds a half in another way
    step = decimal.Decimal(1).scaleb(-places)
    return float((decimal.Decimal(repr(value)) / step).to_integral_value(rounding) * step)


def count(value: int) -> Shown:
    """Return every digit in groups: `count(1234567)` is "1 234 567"."""
    return Shown(str(value), f"{value:,}")


def whole(value: float | str | None) -> str:
    """Return a chosen number with every digit: a depth, a delay, a thread count. `whole(10000)` is "10000"."""
    return NOTHING if value is None else str(value)


def level(value: float) -> str:
    """Return a number of an axis with every digit: `level(20e6)` is "20 000 000", `level(1e-5)` is "0.00001"."""
    if value and not _SMALLEST <= abs(value) < _LARGEST:
        return number(value, 15, step=0)
    return f"{decimal.Decimal(f'{value:.15g}'):,f}".replace(",", THIN).replace("-", MINUS)


def split(
    value: float | None, unit: str, digits: int = 3, rounding: str = NEAREST, step: float | None = None
) -> tuple[str, str]:
    """Return number and unit: `split(2.593e10, "B/s")` is ("25.9", "GB/s")."""
    scale = scale_for([value], unit)
    text = scale.number(value, digits, rounding, step)
    if isinstance(text, Shown) and text.plain == "1000":  # 999.7 ns rounds up: write 1.00 µs
        scale = _scale(scale.factor * 1000, unit)
        text = scale.number(value, digits, rounding, step)
    return text, scale.unit


def quantity(
    value: float | None, unit: str, digits: int = 3, rounding: str = NEAREST, step: float | None = None
) -> str:
    """Return `quantity(57.3e3, "ns")` "57.3 µs", `quantity(150e3, "IOPS")` "150 kIOPS", `quantity(812, "1/s")` "812/s"."""
    text, scaled = split(value, unit, digits, rounding, step)
    return text if text == NOTHING else text + _behind(scaled)


def span(values: Iterable[float], unit: str, step: float | None = None) -> str:
    """Return `span([6.3e3, 12.3e3], "ns")` "6.30 to 12.3 µs", `span([6.3e3], "ns")` "6.30 µs"."""
    known = sorted(values)
    scale = scale_for((known[0], known[-1]), unit)
    low, high = (scale.number(known[end], step=step) for end in (0, -1))
    return quantity(known[0], unit, step=step) if low == high else f"{low} to {high}{_behind(scale.unit)}"


def _behind(unit: str) -> str:
    """Return a unit as the suffix of a number."""
    return "" if unit in ("", "1") else unit if unit.startswith("/") else f" {unit}"


def said_in(metric: str, unit: str) -> str:
    """Return the usual unit of a metric: `said_in("iops", "1/s")` is "IOPS". For other metrics, return the unit."""
    return "IOPS" if unit == "1/s" and metric.lower() == "iops" else unit


def ends(low: str, high: str) -> str:
    """Return a range, or one number for equal ends: `ends("1", "4")` is "1 to 4", `ends("4", "4")` is "4"."""
    return low if low == high else f"{low} to {high}"


def size(value: float | None) -> str:
    """Return `size(4096)` "4 KiB", `size(10444)` "10.2 KiB", `size(0)` "0 B".

    A number that is round only in decimal units was chosen in decimal units: `size(256_000_000)` is "256 MB". A number
    of five or more digits was not: 1 800 000 KiB, which are 1 843 200 kB, are "1.76 GiB".
    """
    if value is None:
        return NOTHING
    for factor, unit in _DECIMAL_SIZES:
        is_round = factor <= value < 10_000 * factor and value % factor == 0
        if is_round and value % _scale(max(value, 1024), "B").factor:
            return f"{value / factor:.0f} {unit}"
    scale = _scale(abs(value), "B")
    scaled = value / scale.factor
    return f"{scaled:.0f} {scale.unit}" if scaled == int(scaled) else f"{number(scaled)} {scale.unit}"


def percent(share: float | None, digits: int = 2) -> str:
    """Return `percent(0.112)` "11 %"."""
    return NOTHING if share is None else f"{number(share * 100, digits)} %"


def change(share: float | None) -> str:
    """Return the change of a number: `change(0.51)` is "+51 %", `change(-0.081)` is "−8.1 %"."""
    return f"{'+' if share and share > 0 else ''}{percent(share)}"


def seconds(value: float | None) -> str:
    """Return a duration for people: "0.42 s", "12.3 s", "3 min 20 s", "1 h 5 min"."""
    if value is None or not math.isfinite(value):
        return NOTHING
    return f"{number(value)} s" if value < 100 else duration(value)


def duration(value: float) -> str:
    """Return an approximate duration: "0.4 s", "12 s", "3 min 20 s", "1 h 5 min"."""
    if round(value) < 60:
        return f"{value:.0f} s" if round(value) else f"{value:.1f} s"
    minutes, remainder = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {remainder} s" if remainder else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def plural(n: int, noun: str, plural_noun: str = "") -> str:
    """Return `plural(1, "run")` "1 run", `plural(3, "run")` "3 runs"."""
    return f"{count(n)} {noun if n == 1 else plural_noun or noun + 's'}"


def words(items: Iterable[str], last: str = "and") -> str:
    """Return `words(["a", "b", "c"])` "a, b and c"."""
    *first, final = [*items] or [""]
    return f"{', '.join(first)} {last} {final}" if first else final


def sentence(text: str) -> str:
    """Return a text with a capital first letter. A name such as `fio` or `direct=0` stays as it is."""
    is_name = _OPTION.match(text) or re.split(r"\W", text, maxsplit=1)[0] in parser_names()
    return text if is_name else text[:1].upper() + text[1:]


def _scale(value: float, unit: str) -> Scale:
    steps = _STEPS.get(unit, ((1.0, unit),))
    factor, name = next((step for step in reversed(steps) if value >= step[0] * 0.9995), steps[0])
    return Scale(factor=factor, unit=name)
