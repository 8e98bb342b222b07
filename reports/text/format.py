"""Numbers as people read them. The only place that scales a unit; frames and derived numbers stay in ns, B, B/s, 1/s.

Three significant digits, thin spaces between thousands, a true minus. Rates and times take powers of 1000; sizes
(of messages, blocks, arrays) take powers of 1024, since that is what is chosen: 4096 B is 4 KiB.
"""

from __future__ import annotations

import decimal
import functools
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

THIN = "\u202f"  # between thousands; a line is not broken at it, as it is at U+2009
NO_BREAK = "\u00a0"  # between a number and its unit, where lines are broken
MINUS = "\u2212"
NOTHING = "\u2013"  # stands where a number is missing

NEAREST, DOWN, UP = decimal.ROUND_HALF_EVEN, decimal.ROUND_FLOOR, decimal.ROUND_CEILING
"""How a last digit is made. A bound is rounded to its safe side: what "at least" stands before goes down, what "up to" or
"at most" stands before goes up, so that the sentence holds of the value itself."""

_SMALLEST, _LARGEST = 1e-9, 1e15
"""Numbers beyond have digits that no float holds, and break tables: they are written as a power of ten."""

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SURE = 3
"""Significant digits that a number of unknown step is shown with, though they be zeros."""

_STEPS: dict[str, tuple[tuple[float, str], ...]] = {
    "ns": ((1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")),
    "B/s": ((1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s"), (1e12, "TB/s")),
    "1/s": ((1.0, "/s"), (1e3, "k/s"), (1e6, "M/s"), (1e9, "G/s")),
    "IOPS": ((1.0, "IOPS"), (1e3, "kIOPS"), (1e6, "MIOPS")),
    "B": ((1.0, "B"), (2.0**10, "KiB"), (2.0**20, "MiB"), (2.0**30, "GiB"), (2.0**40, "TiB")),
}

UNITS = (
    *dict.fromkeys(name for steps in _STEPS.values() for _, name in steps), "kB", "MB", "GB", "TB", "min", "h", "×", "%",
)  # fmt: skip
"""What stands behind numbers, a space between."""

BEFORE_UNIT = rf"(?<=\d) (?=(?:{'|'.join(map(re.escape, UNITS))})(?![\w/]))"
"""A pattern of that space, at which no line ends."""


class Shown(str):
    """A number as people read it: "1 234.5", "23.1 (22.9–23.4)". Code that goes on with it takes its parts, never the text apart."""

    __slots__ = ("after", "high", "low", "plain")

    plain: str  # the digits shown, as `float` takes them: "-1234.5"
    low: str  # of the range behind it, as `plain`; "" without one
    high: str
    after: str  # the range as it is shown: "(22.9–23.4)"

    def __new__(cls, text: str, plain: str, *, low: str = "", high: str = "", after: str = "") -> Shown:
        shown = super().__new__(cls, text)
        shown.plain, shown.low, shown.high, shown.after = plain, low, high, after
        return shown

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]  # what `__new__` takes
        return str(self), self.plain

    def within(self, low: str, high: str) -> Shown:
        """Return the number with its range behind it: two numbers as `number` writes them."""
        after = f"({low}–{high})"
        plain = (end.plain if isinstance(end, Shown) else "" for end in (low, high))
        return Shown(f"{self} {after}", self.plain, low=next(plain), high=next(plain), after=after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """One unit for a whole chart or column: `value / factor` is what is written, under `unit`."""

    factor: float
    unit: str

    def number(
        self, value: float | None, digits: int = 3, rounding: str = NEAREST, step: float | None = None
    ) -> str:
        """step: as `number` has it, in the base unit. In its base unit a number whose step nobody tells has the digits of its own: 20 ns
        that a clock counted are no 20.0."""
        scaled = None if value is None else value / self.factor
        if step is None:
            return number(scaled, digits, rounding, 0.0 if self.factor == 1 else None)
        return number(scaled, digits, rounding, step / self.factor)


def scale_for(values: Iterable[float | None], unit: str) -> Scale:
    """Return the unit in which most of the values have one to three digits before the point.

    Decided by the geometric mean of the sizes: an outlier does not choose the unit. A unit we do not
    know is left as it is.
    """
    logs = [math.log(abs(v)) for v in values if v is not None and v]
    middle = math.exp(sum(logs) / len(logs)) if logs else 0.0
    return _scale(middle, unit)


def scale_to_largest(values: Iterable[float | None], unit: str) -> Scale:
    """Return the unit for a linear axis from 0: that of the largest value."""
    return _scale(max((abs(v) for v in values if v is not None), default=0.0), unit)


def number(value: float | None, digits: int = 3, rounding: str = NEAREST, step: float | None = None) -> str:
    """`number(1234.5)` is "1 230", `number(0.0123)` is "0.0123", `number(None)` is "–"; `number(4.484, 2, DOWN)` is "4.4".

    step: of a number as its program printed it, the last digit that it prints, 0 where only the number tells: no decimals stand there
    that it did not print. `number(30.0, step=10)` and `number(30.0, step=0)` are "30", `number(0.03, step=0.01)` is "0.03",
    `number(1.4, step=0.01)` "1.40". None: it is not known; then digits beyond the third stand only where the number has them:
    `number(1.4, 4)` is "1.40".
    """
    return NOTHING if value is None or not math.isfinite(value) else _finite(value, digits, rounding, step)


@functools.lru_cache(10_000)  # most numbers of a page stand on it twice: in a table, a title, a picture
def _finite(value: float, digits: int, rounding: str, step: float | None) -> Shown:
    if value == 0:
        return Shown("0", "0")
    places = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = _round(value, places, rounding)
    if rounded and math.floor(math.log10(abs(rounded))) > math.floor(math.log10(abs(value))):
        places -= 1  # 9.996 became 10.00
    if step is not None:
        places = min(places, max(_decimals(step), _decimals(value)))
    elif digits > _SURE:
        places = min(places, max(places - digits + _SURE, _decimals(value)))
    if not _SMALLEST <= abs(value) < _LARGEST:
        return _power_of_ten(rounded, digits, own=step is not None)
    plain = f"{rounded:.{max(places, 0)}f}"
    return Shown(f"{rounded:,.{max(places, 0)}f}".replace(",", THIN).replace("-", MINUS), plain)


def _power_of_ten(value: float, digits: int, *, own: bool) -> Shown:
    """Return "1.50 × 10³⁰⁰"; own: without zeros at the end."""
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    if own and "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    text = f"{mantissa}{NO_BREAK}×{NO_BREAK}10{str(int(power)).translate(_RAISED)}"
    return Shown(text.replace("-", MINUS), f"{mantissa}e{power}")


def _decimals(value: float) -> int:
    """Return how many decimals a number was written with: its own, up to ten digits."""
    mantissa, _, power = f"{value:.10g}".partition("e")
    return max(len(mantissa.partition(".")[2]) - int(power or 0), 0)


def _round(value: float, places: int, rounding: str) -> float:
    if rounding == NEAREST:
        return round(float(value), places)  # a number of numpy's has another way to round a half
    step = decimal.Decimal(1).scaleb(-places)
    return float((decimal.Decimal(repr(value)) / step).to_integral_value(rounding) * step)


def count(value: int) -> Shown:
    """`count(1234567)` is "1 234 567": every digit, in groups."""
    return Shown(f"{value:,}".replace(",", THIN).replace("-", MINUS), str(value))


def whole(value: float | str | None) -> str:
    """Return a number as it was chosen, digit by digit: a depth, a delay, a number of threads. `whole(10000)` is "10000"."""
    return NOTHING if value is None else Shown(str(value), str(value))


def level(value: float) -> str:
    """Return a number of an axis as it was chosen, every digit of it: `level(20e6)` is "20 000 000", `level(1e-5)` is "0.00001"."""
    if value and not _SMALLEST <= abs(value) < _LARGEST:
        return number(value, 15, step=0)
    return f"{decimal.Decimal(f'{value:.15g}'):,f}".replace(",", THIN).replace("-", MINUS)


def split(
    value: float | None, unit: str, digits: int = 3, rounding: str = NEAREST, step: float | None = None
) -> tuple[str, str]:
    """Return (number, unit) apart, for a key number: `split(2.593e10, "B/s")` is ("25.9", "GB/s")."""
    scale = scale_for([value], unit)
    text = scale.number(value, digits, rounding, step)
    if isinstance(text, Shown) and text.plain == "1000":  # 999.7 ns rounds up: write 1.00 µs
        scale = _scale(scale.factor * 1000, unit)
        text = scale.number(value, digits, rounding, step)
    return text, scale.unit


def quantity(
    value: float | None, unit: str, digits: int = 3, rounding: str = NEAREST, step: float | None = None
) -> str:
    """`quantity(57.3e3, "ns")` is "57.3 µs"; `quantity(150e3, "IOPS")` is "150 kIOPS"; `quantity(179.5e3, "ns", 2, DOWN)` is
    "170 µs"."""
    text, scaled = split(value, unit, digits, rounding, step)
    if text == NOTHING or scaled in ("", "1"):
        return text
    return f"{text}{'' if scaled.startswith('/') else ' '}{scaled}"


def said_in(metric: str, unit: str) -> str:
    """Return the unit in which people say a metric: `said_in("iops", "1/s")` is "IOPS"; else the unit."""
    return "IOPS" if unit == "1/s" and metric.lower() == "iops" else unit


def qualified(text: str, *, at_most: bool = False, about: bool = False) -> str:
    """Return a number as it stands with what is known of it: "≤ 3.2 ns" of a bound, "≈ 67.7 µs" of an unsteady one, "≤ ≈ 3.2 ns" of both.

    >>> qualified("3.2 ns", at_most=True, about=True)
    '≤ ≈ 3.2 ns'
    """
    return f"{'≤ ' * at_most}{'≈ ' * about}{text}"


def span(values: Iterable[float], unit: str, step: float | None = None) -> str:
    """`span([6.3e3, 12.3e3], "ns")` is "6.30 to 12.3 µs"; `span([6.3e3], "ns")` is "6.30 µs"."""
    known = sorted(values)
    scale = scale_for((known[0], known[-1]), unit)
    low, high = (scale.number(known[end], step=step) for end in (0, -1))
    if low == high:
        return quantity(known[0], unit, step=step)
    joint = "" if scale.unit.startswith("/") or scale.unit in ("", "1") else " "
    return f"{low} to {high}{joint}{scale.unit if scale.unit != '1' else ''}"


def ends(low: str, high: str) -> str:
    """`ends("1", "4")` is "1 to 4", `ends("4", "4")` is "4": a range that may be one number."""
    return low if low == high else f"{low} to {high}"


def size(value: float | None) -> str:
    """`size(4096)` is "4 KiB", `size(10444)` is "10.2 KiB", `size(0)` is "0 B".

    A round number of decimal units that is none of binary ones is what somebody wrote: `size(256_000_000)` is "256 MB", `size(1000)` is "1 kB". One of
    five digits or more is none: 1 800 000 KiB, which are 1 843 200 kB, are "1.76 GiB".
    """
    if value is None:
        return NOTHING
    for power, unit in ((4, "TB"), (3, "GB"), (2, "MB"), (1, "kB")):
        round_number = 1000**power <= value < 10_000 * 1000**power and value % 1000**power == 0
        if round_number and value % _scale(max(value, 1024), "B").factor:
            return f"{value / 1000**power:.0f} {unit}"
    scale = _scale(abs(value), "B")
    scaled = value / scale.factor
    return f"{scaled:.0f} {scale.unit}" if scaled == int(scaled) else f"{number(scaled)} {scale.unit}"


def percent(share: float | None, digits: int = 2) -> str:
    """`percent(0.112)` is "11 %"."""
    return NOTHING if share is None else f"{number(share * 100, digits)} %"


def change(share: float | None) -> str:
    """How far a number moved, in its own sign: `change(0.51)` is "+51 %", `change(-0.081)` is "−8.1 %"."""
    return f"{'+' if share and share > 0 else ''}{percent(share)}"


def times(low: float, high: float | None = None, *, outwards: bool = False) -> str:
    """How many times as much: `times(35.1)` is "35.1 ×", `times(4.4, 35.1)` is "4.40 to 35.1 ×"; what no digit of a thousandth shows is
    "0 ×". outwards: the ends are bounds, each rounded to its safe side, unless both round to one number; one that is infinite is "∞"."""
    if outwards and high is not None and math.isfinite(high) and (alike := times(low, high)) == times(low):
        return alike
    ends = (low,) if high is None else (low, high)
    ways = (DOWN, UP) if outwards else (NEAREST, NEAREST)
    said = ["∞" if end == math.inf else number(end if end >= 1e-3 else 0.0, rounding=way) for end, way in zip(ends, ways, strict=False)]  # fmt: skip
    return f"{' to '.join(dict.fromkeys(said))} ×"


def seconds(value: float | None) -> str:
    """A duration for people: "0.42 s", "12.3 s", "3 min 20 s", "1 h 5 min"."""
    if value is None or not math.isfinite(value):
        return NOTHING
    return f"{number(value)} s" if value < 100 else duration(value)


def duration(value: float) -> str:
    """What something takes, about: "0.4 s", "12 s", "3 min 20 s", "1 h 5 min"."""
    if round(value) < 60:
        return f"{value:.0f} s" if round(value) else f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def plural(n: int, noun: str, plural_noun: str = "") -> str:
    """`plural(1, "run")` is "1 run", `plural(3, "run")` is "3 runs"."""
    return f"{count(n)} {noun if n == 1 else plural_noun or noun + 's'}"


def words(items: Iterable[str], last: str = "and") -> str:
    """`words(["a", "b", "c"])` is "a, b and c"."""
    listed = list(items)
    return f" {last} ".join([", ".join(listed[:-1]), listed[-1]]) if len(listed) > 1 else "".join(listed)


def sentence(text: str) -> str:
    """`sentence("the IOPS fall")` is "The IOPS fall": other letters stay, unlike `str.capitalize`'s."""
    return text[:1].upper() + text[1:]


_SMALL = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip


def spelled(n: int) -> str:
    """`spelled(3)` is "three"; from 13 on, digits."""
    return _SMALL[n] if 0 <= n < len(_SMALL) else str(n)


def _scale(value: float, unit: str) -> Scale:
    steps = _STEPS.get(unit)
    if steps is None:
        return Scale(factor=1.0, unit=unit)
    factor, name = next((step for step in reversed(steps) if value >= step[0] * 0.9995), steps[0])
    return Scale(factor=factor, unit=name)
