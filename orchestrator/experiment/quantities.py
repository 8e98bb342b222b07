"""Parse values that depend on the machine: `1..cores_per_numa_node`, `25%`, `all`, `0.5 x L2`. Pure.

    quantity  one, or a range
    one       NUMBER · SIZE · NAME · FACTOR x NAME · PERCENT% · all
    range     one..one · one..one step NUMBER · one..one xFACTOR

NAME is a name in `Topology.numbers()`. `x`, `×` and `*` are equal. SIZE has a suffix and the meaning of
`parsers.units.size_bytes` (4k = 4096, 10kB = 10000). A range holds its start and the following steps up to its end. The
end is included only if a step reaches it. docs/experiments.md describes the syntax for users.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from orchestrator.model import LONGEST_S
from parsers.errors import list_hint, nearest
from parsers.units import size_bytes

SAMPLE: Final[Mapping[str, int]] = {
    "packages": 2,
    "numa_nodes": 2,
    "cores": 20,
    "pus": 40,
    "cores_per_package": 10,
    "cores_per_numa_node": 10,
    "pus_per_core": 2,
    "pus_per_numa_node": 20,
    "L1": 48 * 1024,
    "L2": 2 * 1024**2,
    "L3": 32 * 1024**2,
    "LLC": 32 * 1024**2,
    "memory": 128 * 1024**3,
    "memory_per_numa_node": 64 * 1024**3,
}
"""All names, with the values of a common server. A file is checked with these values if the machine is unknown."""

BYTES: Final = frozenset({"L1", "L2", "L3", "LLC", "memory", "memory_per_numa_node"})
"""The names that are sizes; the others count things."""

PERCENT_OF: Final[Mapping[str, str]] = {"threads": "pus", "numjobs": "pus", "np": "pus"}
"""The number that a percentage or `all` refers to, by option: the PUs that this process may use."""

MAX_VALUES: Final = 10_000
"""Values in one range. More is almost certainly a typo (1..memory), not a sweep."""
MIN_RATIO: Final = Fraction(11, 10)
MAX_VALUE: Final = 2**62
MAX_CHARACTERS: Final = 100  # characters

_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_LITERAL: Final = rf"({_NUMBER})([kKmMgGtTpP](?:i?[bB]|i)?|[bB])?"
_PERCENT: Final = rf"({_NUMBER})\s*%"
_PRODUCT: Final = rf"({_NUMBER})\s*[x×*]\s*([A-Za-z_]\w*)"
_BEGUN: Final = rf"\s*{_NUMBER}[\w%]*\s*\.\."
_NAME: Final = r"[A-Za-z_]\w*"
_WAY: Final = rf"(?:\s+step\s+(?P<step>{_NUMBER}\w*)|\s*[x×*]\s*(?P<ratio>{_NUMBER}))?"
_RANGE: Final = rf"(?P<start>.*?)\s*\.\.\s*(?P<end>.*?){_WAY}"


class QuantityError(ValueError):
    """An invalid quantity. `hint` describes a valid quantity, or is empty."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


class Unresolved(Exception):
    """A quantity that this machine does not have. The text is the reason for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """`factor` × the number called `name`, or `factor` alone if the name is empty."""

    factor: Fraction
    name: str = ""
    size: bool = False  # bytes, not a count
    product: bool = False  # written as FACTOR x NAME

    def resolve(self, numbers: Mapping[str, int]) -> Fraction:
        if not self.name:
            return self.factor
        if not numbers.get(self.name):
            raise Unresolved(f"this machine does not report its {self.name}")
        exact = self.factor * numbers[self.name]
        # Sizes that are computed are whole KiB, so that they suit direct I/O and read well in a table.
        grain = 1024 if self.size and self.factor != 1 else 1
        return max(Fraction(1), _rounded(exact / grain)) * grain


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A parsed quantity. `end` is None for a single value."""

    text: str
    start: Term
    end: Term | None = None
    step: Fraction | None = None  # added
    ratio: Fraction | None = None  # multiplied; excludes step

    @property
    def names(self) -> frozenset[str]:
        """Return the machine numbers that the quantity needs. Without names, the quantity is equal on all machines."""
        return frozenset(t.name for t in (self.start, self.end) if t is not None and t.name)

    @property
    def size(self) -> bool:
        """Whether the values are bytes."""
        return self.start.size or (self.end is not None and self.end.size)

    @property
    def computed(self) -> bool:
        """Return whether the quantity is a range or a product, which nobody writes as a plain word."""
        return self.end is not None or self.start.product

    def resolve(self, numbers: Mapping[str, int]) -> tuple[int | float, ...]:
        """Return the values on a machine with these numbers, ascending, without duplicates; whole ones as int.

        Raises Unresolved if a number is missing or 0, if the range is empty here, or longer than MAX_VALUES.
        """
        start = self.start.resolve(numbers)
        if self.end is None:
            return (_plain(start),)
        end = self.end.resolve(numbers)
        if end < start:
            raise Unresolved(f"{self.text} is empty: from {_plain(start)} to {_plain(end)}")
        if self._length(start, end) > MAX_VALUES:
            raise Unresolved(f"{self.text} has more than {MAX_VALUES} values here")
        values = [start]
        while True:
            value = values[-1] * self.ratio if self.ratio is not None else values[-1] + (self.step or 1)
            if value > end:
                break
            values.append(value)
        if self.ratio is not None and start.denominator == end.denominator == 1:  # 1..64 x1.5 counts
            values = [_rounded(v) for v in values]
        return tuple(dict.fromkeys(_plain(v) for v in values))

    def _length(self, start: Fraction, end: Fraction) -> float:
        if self.ratio is None:
            return float((end - start) / (self.step or 1))
        return math.log(end / start) / math.log(self.ratio)


def parse(text: str, percent_of: str = "") -> Quantity:
    """Read a quantity. `percent_of` names the number that percentages and `all` are of; empty: neither is allowed.

    Raises QuantityError, with a hint where one can be given.
    """
    text = text.strip()
    if len(text) > MAX_CHARACTERS:
        raise QuantityError(f"{text[:20]!r}… is too long for a number")
    match = re.fullmatch(_RANGE, text)
    if match is None:
        return Quantity(text=text, start=_term(text, percent_of))
    if not match["start"] or not match["end"]:
        raise QuantityError(f"{text!r} has no {'end' if match['start'] else 'start'}", "a range is written 1..8")
    start, end = _term(match["start"], percent_of), _term(match["end"], percent_of)
    step = _term(match["step"], "").factor if match["step"] else None
    ratio = Fraction(match["ratio"]) if match["ratio"] else None
    is_size, has_way = start.size or end.size, step is not None or ratio is not None
    kinds = " to a ".join("size" if term.size else "count" for term in (start, end))
    is_mixed = start.size != end.size and (start.size or start.name) and (end.size or end.name)
    is_broken = start.factor.denominator > 1 and not start.name
    for is_wrong, what, hint in (
        (step is not None and step <= 0, "has a step of 0", "a step is more than 0"),
        (ratio is not None and ratio < MIN_RATIO, f"has a factor of {match['ratio']}", "a factor is 1.1 at least; 1..128 x2 doubles"),
        (is_mixed, f"goes from a {kinds}", ""),
        (is_size and not has_way, "does not say how to get from one size to the next", "4k..1M x2, or 4k..64k step 4k"),
        (is_broken and not has_way, "does not say how large a step is", "0.5..4 step 0.5"),
        (ratio is not None and not start.factor, "never leaves 0", f"[0, 1..{match['end']} x{match['ratio']}]"),
    ):  # fmt: skip
        if is_wrong:
            raise QuantityError(f"{text!r} {what}", hint)
    quantity = Quantity(text=text, start=start, end=end, step=step, ratio=ratio)
    if not quantity.names and end.factor < start.factor:
        raise QuantityError(f"{text!r} is empty", "a range goes from the small to the large value")
    if not quantity.names and quantity._length(start.factor, end.factor) > MAX_VALUES:
        raise QuantityError(f"{text!r} has more than {MAX_VALUES} values")
    return quantity


def resembles(text: str) -> bool:
    """Return whether an invalid quantity resembles a range or a product: `1..8 step`, `4 x LCC`."""
    text = text.strip()[:MAX_CHARACTERS]
    product = re.fullmatch(_PRODUCT, text)
    return bool(re.match(_BEGUN, text) or (product and nearest(product[2], SAMPLE)))


def _term(text: str, percent_of: str) -> Term:
    if match := re.fullmatch(_LITERAL, text):
        try:
            factor = Fraction(size_bytes(text) if match[2] else match[1])
        except ValueError as error:
            raise QuantityError(str(error)) from error
        if factor > MAX_VALUE:
            raise QuantityError(f"{text!r} is too large")
        return Term(factor=factor, size=bool(match[2]))
    if match := re.fullmatch(_PERCENT, "100%" if text == "all" else text):
        share = Fraction(match[1]) / 100
        if not percent_of:
            hint = f"shares are known for {', '.join(PERCENT_OF)}"
            raise QuantityError(f"{text!r} is a share of nothing this option counts", hint)
        if not 0 < share <= 1:
            raise QuantityError(f"{text!r} is not between 0 and 100 %")
        return Term(factor=share, name=percent_of)
    match = re.fullmatch(_PRODUCT, text)
    factor, name = (Fraction(match[1]), match[2]) if match else (Fraction(1), text)
    if not re.fullmatch(_NAME, name):
        together = "".join(text.split())
        blank = f"{together}, without a blank" if re.fullmatch(_LITERAL, together) else ""
        raise QuantityError(f"{text!r} is not a number", list_hint(text) or blank)
    if name not in SAMPLE:
        hint = nearest(name, SAMPLE) or f"the machine's numbers are {', '.join(SAMPLE)}"
        raise QuantityError(f"{name!r} is neither a number nor one of the machine's", hint)
    if factor == 0:
        raise QuantityError(f"{text!r} is 0")
    return Term(factor=factor, name=name, size=name in BYTES, product=match is not None)


def _rounded(value: Fraction) -> Fraction:
    """Return the nearest whole number. A half is rounded up, because round() would choose the even number."""
    return Fraction(math.floor(value + Fraction(1, 2)))


def _plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def size_text(size_bytes: int) -> str:
    """Return bytes in the notation of fio, STREAM's kernel and `parsers.units.size_bytes`: 67108864 is "64M", 1000
    "1000B".
    """
    for power, suffix in ((4, "T"), (3, "G"), (2, "M"), (1, "k")):
        if size_bytes and size_bytes % 1024**power == 0:
            return f"{size_bytes // 1024**power}{suffix}"
    return f"{size_bytes}B"


_SECONDS: Final = {"ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0}


def seconds(value: str | float) -> float:
    """Read a time: a number is seconds; "90s", "2 min", "1.5 h", "500 ms". Raises QuantityError."""
    match = re.fullmatch(rf"({_NUMBER})\s*({'|'.join(_SECONDS)})?", str(value).strip())
    if isinstance(value, bool) or not match:
        raise QuantityError(f"{value!r} is not a time", list_hint(str(value)) or "90, 90s, 2 min, 1.5 h")
    time_s = float(match[1]) * _SECONDS[match[2] or "s"]
    if time_s > LONGEST_S:
        raise QuantityError(f"{str(value)[:20]!r} is a longer time than any run", f"at most {LONGEST_S} s")
    return time_s
