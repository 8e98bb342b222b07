"""Parse the selectors of a place. Pure. docs/selectors.md has pictures."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.machine.cpulist import parse_ordered
from orchestrator.model import Place
from parsers.errors import UserError

PAIRS: Final = ("smt siblings", "same cache", "same package", "other package")
NUMBERED_PAIRS: Final = ("pair of packages", "pair of cores")
NUMBERED: Final = ("numa_node", "package", "core", "pu")
CPUS: Final = (
    "all", *(f"{word} N" for word in NUMBERED), "near DEVICE", "near memory", *PAIRS, "pair of packages A,B",
    "pair of cores A,B", "each numa_node", "each package", "each core", "each pair of packages", "each pair of cores",
)  # fmt: skip
MEMORY: Final = (
    "local",
    "remote",
    "numa_node N",
    "each numa_node",
    "each memory-only node",
    "interleave",
    "any",
)


class Unplaceable(Exception):
    """This machine cannot host the cell. `reason` has the request and the inventory of the machine."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """One selector. Examples of `kind` are "numa_node", "each core", "smt siblings", "near", "pair of packages"."""

    kind: str
    numbers: tuple[int, ...] = ()  # written order
    device: str = ""

    def __str__(self) -> str:
        if self.device:
            return f"{self.kind} {self.device}"
        return f"{self.kind} {listed(self.numbers)}" if self.numbers else self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Selectors:
    """The two selectors of a place."""

    cpus: Selector
    memory: Selector

    @classmethod
    def of(cls, place: Place) -> Selectors:
        """Read a place's words. Raises UserError for the first mistake."""
        for field, mistake in problems(place):
            raise UserError(f"place {place.name}: {field}", mistake, "docs/selectors.md lists the selectors")
        return cls(cpus=_read(place.cpus, CPUS), memory=_read(place.memory, MEMORY))


def problems(place: Place) -> list[tuple[str, str]]:
    """Return (field, mistake) for words that no machine could resolve; fields are "cpus", "memory", "spread"."""
    mistakes: list[tuple[str, str]] = []
    for field, text, forms in (("cpus", place.cpus, CPUS), ("memory", place.memory, MEMORY)):
        try:
            _read(text, forms)
        except ValueError as error:
            mistakes.append((field, str(error)))
    if place.spread not in ("compact", "spread"):
        mistakes.append(("spread", f"{place.spread!r} is neither compact nor spread"))
    if not mistakes and place.cpus == "near memory" and not re.search("numa_node|each", place.memory):
        text = f"`near memory` needs memory that is named, not {place.memory!r}: `numa_node N`, or `each …`"
        mistakes.append(("cpus", text))
    return mistakes


def _read(text: str, forms: tuple[str, ...]) -> Selector:
    """Read one selector. Raises ValueError that names the nearest spelling."""
    return _selector(" ".join(str(text).split()), forms)


@functools.lru_cache(maxsize=256)  # a plan reads each place a dozen times for each of its cells
def _selector(words: str, forms: tuple[str, ...]) -> Selector:
    if words in forms and not words.endswith((" N", " A,B", " DEVICE")):
        return Selector(kind=words)
    if match := re.fullmatch(r"near (\S+)", words):
        if "near DEVICE" in forms:
            return Selector(kind="near", device=match[1].removeprefix("/dev/"))
    elif match := re.fullmatch(r"(pair of packages|pair of cores|[a-z_]+) ([\d ,-]+)", words):
        kind = match[1]
        if f"{kind} N" in forms or f"{kind} A,B" in forms:
            return Selector(kind=kind, numbers=_numbers(match[2], kind))
    elif words in NUMBERED and f"{words} N" in forms:
        raise ValueError(f"{words!r} needs a number: `{words} 0`, or `each {words}`")
    raise ValueError(_unknown(words, forms))


def _numbers(text: str, kind: str) -> tuple[int, ...]:
    try:
        numbers = parse_ordered(text.replace(" ", ""))
    except ValueError as error:
        raise ValueError(f"`{kind} {text}`: {error}") from error
    twice = sorted(n for n, count in Counter(numbers).items() if count > 1)
    if twice:
        raise ValueError(f"`{kind} {text}` names {listed(twice)} twice")
    if kind in NUMBERED_PAIRS and len(numbers) != 2:
        raise ValueError(f"`{kind} {text}`: a pair has two {kind.removeprefix('pair of ')}")
    return numbers


def _unknown(words: str, forms: Sequence[str]) -> str:
    import difflib

    digits = re.search(r"\d[\d, -]*$", words)
    tail = digits[0] if digits else "0"
    spelt = [f.replace(" N", f" {tail}").replace("A,B", "0,1") for f in forms if f != "near DEVICE"]
    near = difflib.get_close_matches(words.lower().replace(":", " "), spelt, n=1, cutoff=0.6)
    help_ = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(forms)}"
    return f"no selector {words!r}: {help_}"


def listed(numbers: Iterable[int]) -> str:
    """Return numbers as text in the given order, with three and more adjacent numbers as a range: (7, 0, 1, 2) gives
    `7,0-2`.
    """
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return ",".join(f"{r[0]}-{r[-1]}" if len(r) > 2 else ",".join(map(str, r)) for r in runs)
