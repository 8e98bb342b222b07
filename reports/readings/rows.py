"""Typed rows as they are kept in a file: what other runs have likewise (a head, a text), and the numbers of one run. Pure.

A field that is a number with a point, or a mapping to such numbers, is among the numbers, one after the other as the rows have them;
of the mapping the keys are in the head. All other fields are in the head.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, Self, TypeVar, get_type_hints

from parsers.measurement import Scalar

Row = TypeVar("Row", bound=NamedTuple)

_MOST: Final = 1000
"""Rows; of more nothing is kept."""

_PLAIN: Final[Mapping[Any, tuple[type, ...]]] = {
    int: (int,), str: (str,), bool: (bool,), int | None: (int, type(None)), str | None: (str, type(None)),
    Scalar: (str, int, float, bool, type(None)),
}  # fmt: skip
_NUMBERS: Final[Mapping[Any, tuple[type, ...]]] = {float: (float,), float | None: (float, type(None))}
_MAPPINGS: Final[Mapping[Any, tuple[type, type]]] = {
    Mapping[str, float]: (str, float), Mapping[int, float]: (int, float), Mapping[str, str]: (str, str),
}  # fmt: skip
"""Fields that a row may have, with the types of what they hold: exactly these, for 1 and 1.0 and True are equal, and not the same."""


@dataclass(frozen=True, slots=True, eq=False)
class Form(Generic[Row]):
    """The fields of a row."""

    row: type[Row]
    hints: tuple[Any, ...]  # the type of each

    @classmethod
    def of(cls, row: type[Row]) -> Self | None:
        """Return the form of a row; None of one that has other fields than are kept."""
        hints = get_type_hints(row)
        found = tuple(hints[name] for name in row._fields)
        known = all(hint in _PLAIN or hint in _NUMBERS or hint in _MAPPINGS for hint in found)
        return cls(row, found) if known else None

    def dumped(self, rows: Sequence[Row]) -> tuple[str, list[float | None]] | None:
        """Return head and numbers of the rows of a run; None of very many, and of what does not come back as it is."""
        if len(rows) > _MOST:
            return None
        numbers: list[float | None] = []
        head = [[self._taken(hint, value, numbers) for hint, value in zip(self.hints, row, strict=True)] for row in rows]  # fmt: skip
        text = json.dumps(head)
        with contextlib.suppress(ValueError, TypeError):
            return (text, numbers) if repr(self.loaded(text, numbers)) == repr(tuple(rows)) else None
        return None

    def _taken(self, hint: Any, value: Any, numbers: list[float | None]) -> Any:  # noqa: ANN401 (a field of any type)
        """Return what the head has of a field; its numbers are put behind the others."""
        if hint in _NUMBERS:
            numbers.append(value)
            return None
        if hint in _MAPPINGS:
            if _MAPPINGS[hint][1] is float:
                numbers.extend(value.values())
                return [*value]
            return [[*value], [*value.values()]]
        return value

    def loaded(self, head: str, numbers: list[Any]) -> tuple[Row, ...]:
        """Undo `dumped`. Raises ValueError, KeyError, TypeError or RecursionError for what it did not give."""
        plan = _plan(self, head)
        if len(numbers) != len(plan.holding) or not all(map(isinstance, numbers, plan.holding)):
            raise ValueError("not the numbers of a reading")
        if not all(map(math.isfinite, filter(None, numbers))):  # millions of them
            raise ValueError("numbers that are not finite")
        made, rest = self.row._make, iter(numbers)
        return tuple(
            made([
                next(rest) if field is _Number
                else dict(zip(field, rest, strict=False)) if type(field) is _Keys
                else field
                for field in row
            ])
            for row in plan.rows
        )  # fmt: skip


class _Number:
    """Stands in a head for a number."""


class _Keys(tuple[Any, ...]):
    """Stands in a head for a mapping of these keys to numbers."""

    __slots__ = ()


class _Plan(NamedTuple):
    """A head that was looked at."""

    rows: tuple[tuple[Any, ...], ...]  # of each row the fields: _Number, _Keys, or what it holds
    holding: tuple[Any, ...]  # of each number the types that it may have


@functools.lru_cache(maxsize=512)
def _plan(form: Form[Any], head: str) -> _Plan:
    """Return a head as it is filled. Raises ValueError, KeyError or TypeError for what `dumped` did not give."""
    holding: list[Any] = []

    def field(hint: Any, said: Any) -> Any:  # noqa: ANN401
        if hint in _NUMBERS:
            holding.append(_NUMBERS[hint])
            return _Number
        if hint not in _MAPPINGS:
            return _of_type(said, _PLAIN[hint])
        key, value = _MAPPINGS[hint]
        if value is float:
            holding.extend([(float,)] * len(said))
            return _Keys(_of_type(one, (key,)) for one in said)
        keys, values = said
        return {_of_type(k, (key,)): _of_type(v, (value,)) for k, v in zip(keys, values, strict=True)}

    rows = tuple(tuple(field(*one) for one in zip(form.hints, row, strict=True)) for row in json.loads(head))
    return _Plan(rows, tuple(holding))


def _of_type(value: Any, types: tuple[type, ...]) -> Any:  # noqa: ANN401
    if type(value) not in types:
        raise ValueError("not what a reading gives")
    return sys.intern(value) if type(value) is str else value
