"""The last digit that a program prints whose format nobody knows: what the values of all cells of a sweep show. Pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Iterator
from typing import Protocol, Self, TypeVar

from parsers import get_parser
from reports.numbers.model import Number
from reports.results.grouping import group_by


class Shown(Protocol):
    """What is shown with digits: a number of a cell in all its runs, on one side or on both."""

    @property
    def tool(self) -> str: ...

    @property
    def printed_by(self) -> Hashable:
        """What prints its values in one way: the program of a sweep, for another sweep runs another, and the metric."""

    def numbers(self) -> Iterator[Number]: ...

    def printed_to(self, step: float) -> Self:
        """Return it with this last digit (base unit; 0: not known)."""


S = TypeVar("S", bound=Shown)


def told(found: Iterable[S]) -> list[S]:
    """Return the same, those of programs whose format nobody knows with the last digit that all of their kind show."""
    every = list(found)
    unknown = group_by(filter(_is_unknown, every), lambda one: one.printed_by)
    steps = {of: last_digit(n for one in own for n in one.numbers()) for of, own in unknown.items()}
    return [one.printed_to(steps[one.printed_by]) if _is_unknown(one) else one for one in every]


def _is_unknown(one: Shown) -> bool:
    """What is worked out of a curve has no last digit of its own."""
    return get_parser(one.tool).PRINTED is None and not next(one.numbers()).name.derived


def common_step(values: Iterable[float]) -> float:
    """Return the largest power of ten of which all values are whole multiples: the last digit of an unknown program.

    0 where fewer than five different values tell, or where they have more than ten digits. Five values that all end in a 0 by
    chance are one in 10⁵.
    """
    known = sorted({abs(v) for v in values if v})
    if len(known) < 5:
        return 0.0
    for power in range(math.floor(math.log10(known[0])), math.floor(math.log10(known[-1])) - 11, -1):
        step = 10.0**power
        if all(abs(v / step - round(v / step)) <= 1e-6 for v in known):
            return step
    return 0.0


def last_digit(numbers: Iterable[Number]) -> float:
    """Return the last digit of a metric of an unknown program: what all values share; of few the finest that was printed, else
    the smallest difference between them; 0 of equal ones."""
    listed = list(numbers)
    return step_of([n.value for n in listed], [n.step for n in listed if n.step])


def step_of(values: Iterable[float], steps: Iterable[float]) -> float:
    """Return the same of values, and of the last digits that are known of some."""
    ordered = sorted({*values})
    smallest = [*steps] or [b - a for a, b in itertools.pairwise(ordered)]
    return common_step(ordered) or min(smallest, default=0.0)
