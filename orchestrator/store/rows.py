"""Convert rows of a result file to values. Pure.

A stranger can write such a file, and a disk error can change bits. SQLite checks the types of columns. This module
checks each JSON text against a shape. Each function raises ValueError, TypeError, KeyError, OverflowError or
RecursionError for a row that pinsweep does not write. Repeated words are stored once in memory, because 100,000 runs
have about 100 different words.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, get_args

from orchestrator.machine.descriptions import topology_from_text
from orchestrator.machine.facts import MemoryModule, memory_modules
from orchestrator.machine.topology import Topology
from orchestrator.model import (
    MOST_REPEATS,
    Alias,
    Capture,
    Cell,
    Group,
    Place,
    Placement,
    RunRecord,
    Skipped,
    Status,
)
from parsers.errors import UserError

LARGEST: Final = 2**63
"""pinsweep writes no larger whole number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One `pinsweep run` on a file."""

    session: int
    started_utc: str
    ended_utc: str | None
    pinsweep_version: str
    argv: tuple[str, ...]
    seed: int
    host: str
    facts: Mapping[str, Any]
    topology_text: str  # hwloc's XML; "" where there was none
    programs: Mapping[str, Mapping[str, Any]]

    @property
    def topology(self) -> Topology | None:
        """Return the recorded machine, or None if there is no readable record."""
        return _topology(self.topology_text)

    @property
    def memory_modules(self) -> tuple[MemoryModule, ...]:
        return memory_modules(self.facts)


@functools.lru_cache(maxsize=64)
def _topology(text: str) -> Topology | None:
    try:
        return topology_from_text(text)
    except (UserError, ValueError):
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCell:
    """A cell with the additional data for readers of a result."""

    cell: Cell
    sweep_title: str
    repeats: int  # requested number; 0: known, and not requested
    experiment: str  # sha256 of the experiment's text
    most_repeats: int = 0  # with `repeats: auto`: how many there may be; else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The measuring conditions of ended runs of a cell."""

    point_id: str
    session: int
    placement: Placement | None
    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredExperiment:
    sha256: str
    path: str
    title: str
    text: str
    about: str


# --- JSON --------------------------------------------------------------------------------------------------

_SCALAR: Final = (str, int, float, bool, type(None))
_NUMBER: Final = (int, float)
_OBJECT: Final = {"*": object}
_WORDS: Final = [str]
_FLAT: Final = {"*": _SCALAR}
_FACTS: Final = {
    "dimms?": (*_SCALAR, [{"size_bytes": int, "type?": str, "rate_mts?": (int, type(None)), "slot?": str}]),
    "numa_distances?": (*_SCALAR, [[_NUMBER, _NUMBER, _NUMBER]]),  # node, node, distance
    "memory_bytes?": (*_NUMBER, type(None)), "memory_available_bytes?": (*_NUMBER, type(None)), "uptime_s?": (*_NUMBER, type(None)),
    "load_1min?": (*_NUMBER, type(None)), "swap_bytes?": (*_NUMBER, type(None)), "swap_free_bytes?": (*_NUMBER, type(None)),
    "*": _SCALAR,
}  # fmt: skip
_PROGRAMS: Final = {"*": {"files?": {"*": {"*": str}}, "*": _SCALAR}}
_PLACE: Final = {"name": str, "cpus?": str, "memory?": str, "spread?": str}
_GROUPS: Final = [{"cpus": [int], "membind?": [int], "interleave?": [int]}]
_PLACEMENT: Final = {"name": str, "groups?": _GROUPS, "relation?": str, "*": object}
_CAPTURE: Final = {"file": str, "digest": str, "reading?": _OBJECT}
_COUNTERS: Final = {
    "reasons?": [{"id": str, "text": str, "*": object}],
    "disks?": {"*": _OBJECT},
    "*": _NUMBER,
}


def _fits(value: object, shape: Any) -> bool:  # noqa: ANN401 (as the next line says)
    """Return whether a JSON value has a shape.

    A tuple is a choice of types. A list has one shape for all items, or one shape per item. In an object, names with
    "?" are optional and "*", the last name, matches all other names.
    """
    if isinstance(shape, tuple):
        return type(value) in shape or any(
            _fits(value, item_shape) for item_shape in shape if not isinstance(item_shape, type)
        )
    if isinstance(shape, list):
        if not isinstance(value, list) or len(shape) not in (1, len(value)):
            return False
        return all(_fits(item, shape[i % len(shape)]) for i, item in enumerate(value))
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return False
        remaining = dict(value)
        for name, item_shape in shape.items():
            key = name.removesuffix("?")
            if key == "*":  # the last
                kinds = item_shape if isinstance(item_shape, tuple) else ()
                return item_shape is object or all(
                    type(item) in kinds or _fits(item, item_shape) for item in remaining.values()
                )
            if key not in remaining and key == name:
                return False
            if key in remaining and not _fits(remaining.pop(key), item_shape):
                return False
        return not remaining
    return shape is object or type(value) is shape


def _integer(digits: str) -> int:
    value = int(digits)
    if not -LARGEST <= value < LARGEST:
        raise ValueError("a number is too large")
    return value


def _float(digits: str) -> float:
    value = float(digits)
    if value - value != 0:
        raise ValueError("a number is not finite")
    return value


_DECODER: Final = json.JSONDecoder(parse_int=_integer, parse_float=_float, parse_constant=_float)


def _json(text: str, shape: Any = _OBJECT) -> Any:  # noqa: ANN401 (as the shape says)
    """Return the value of a JSON text."""
    value = _DECODER.decode(text)
    if "\\u" in text:  # half of a surrogate pair is not a character
        json.dumps(value, ensure_ascii=False).encode()
    if not _fits(value, shape):
        raise ValueError("JSON of another shape")
    return value


def _object(text: str, shape: Any = _OBJECT) -> dict[str, Any]:  # noqa: ANN401 (see `_fits`)
    """Return a JSON object that shares its keys with other objects."""
    return {sys.intern(key): item for key, item in _json(text, shape).items()}


def _words(text: str) -> tuple[str, ...]:
    return tuple(map(sys.intern, _json(text, _WORDS)))


_command = functools.lru_cache(maxsize=1 << 15)(_words)
"""The words of a command line: the repeats of a cell have one."""

_environment = functools.lru_cache(maxsize=1 << 10)(lambda text: _object(text, {"*": str}))


class Packed(Mapping[str, Any]):
    """A JSON object that was checked on reading and is stored as text.

    A run has three, and few readers need them. As dictionaries they would be five times as large.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    @classmethod
    def read(cls, text: str, shape: Any) -> Packed:  # noqa: ANN401 (see `_fits`)
        """Return the object of a text. Raises as this module says."""
        _json(text, shape)
        return cls(text)

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 (anything JSON holds)
        if "\\" not in self._text and f'"{key}"' not in self._text:
            raise KeyError(key)
        return json.loads(self._text)[key]

    def __iter__(self) -> Iterator[str]:
        return iter(json.loads(self._text))

    def __len__(self) -> int:
        return len(json.loads(self._text))

    def __bool__(self) -> bool:
        return self._text != "{}" and len(self) > 0


# --- rows --------------------------------------------------------------------------------------------------

SESSION: Final = "session, started_utc, ended_utc, pinsweep_version, argv, seed, host, facts, topology, programs"
"""The columns of a session in the order of `session`. The lists below have the same order as their functions."""

EXPERIMENT: Final = "sha256, path, title, text, about"
CELL: Final = "point_id, sweep, sweep_title, tool, options, place, axes, repeats, experiment, most_repeats"
CONDITIONS: Final = "point_id, session, placement, argv"
SKIPPED: Final = "sweep, point, reason"
ALIAS: Final = "sweep, point, of"
RUN: Final = (
    "run_id, point_id, repeat, attempt, status, reason, argv, env, placement, seen, program, order_index,"
    " started_utc, wall_s, exit_code, signal, usage, session, counters, warm_up"
)


def session(row: Sequence[Any]) -> Session:
    return Session(
        session=row[0], started_utc=row[1], ended_utc=row[2], pinsweep_version=row[3], argv=_words(row[4]), seed=row[5], host=row[6],
        facts=_object(row[7], _FACTS), topology_text=row[8], programs=programs(row[9]),
    )  # fmt: skip


def programs(text: str) -> dict[str, dict[str, Any]]:
    """Return tool → the recorded program."""
    return _object(text, _PROGRAMS)


def experiment(row: Sequence[Any]) -> StoredExperiment:
    return StoredExperiment(sha256=row[0], path=row[1], title=row[2], text=row[3], about=row[4])


def cell(row: Sequence[Any]) -> StoredCell:
    """Return a cell. `point_id` must be the hash of the cell, because otherwise runs of another cell would appear under
    its name.
    """
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in _object(row[4]).items()}
    place = None if row[5] is None else Place(**_object(row[5], _PLACE))
    result = Cell(sweep=row[1], tool=row[3], options=options, place=place, axes=_words(row[6]))
    if result.point_id != row[0]:
        raise ValueError("a point_id is not the hash of its cell")
    if not (0 <= row[7] <= MOST_REPEATS and 0 <= row[9] <= MOST_REPEATS):
        raise ValueError("a cell has more repeats than there can be")
    return StoredCell(cell=result, sweep_title=row[2], repeats=row[7], experiment=row[8], most_repeats=row[9])


@functools.lru_cache(maxsize=256)
def _placement(text: str | None) -> Placement | None:
    """Return a placement. Fields that an older file lacks are empty."""
    if not text:
        return None
    raw = _object(text, _PLACEMENT)
    groups = raw.get("groups", [])
    if not all(0 <= n < 1 << 20 for group in groups for indexes in group.values() for n in indexes):
        raise ValueError("a placement is not on CPUs or nodes")
    members = [Group(**{key: tuple(value) for key, value in group.items()}) for group in groups]
    return Placement(name=raw["name"], groups=tuple(members), relation=raw.get("relation", ""))


def conditions(row: Sequence[Any]) -> Conditions:
    return Conditions(point_id=row[0], session=row[1], placement=_placement(row[2]), argv=_words(row[3]))


def skipped(row: Sequence[Any]) -> Skipped:
    return Skipped(sweep=sys.intern(row[0]), cell=_json(row[1], _FLAT), reason=row[2])


def alias(row: Sequence[Any]) -> Alias:
    return Alias(sweep=row[0], cell=_json(row[1], _FLAT), of=_json(row[2], _FLAT))


_STATUSES: Final[Mapping[str, Status]] = {status: status for status in get_args(Status)}


def run(row: Sequence[Any]) -> RunRecord:
    seen: Packed | None = Packed.read(row[9], _OBJECT) if row[9] not in (None, "", "null") else None
    capture = None
    if seen is not None and "file" in seen:
        seen, capture = None, Capture(**_json(row[9], _CAPTURE))
    datetime.fromisoformat(row[12]).timestamp()
    if not (0 <= row[13] < LARGEST and row[2] >= 0 and row[3] >= 0):
        raise ValueError("a wall time, a repeat or an attempt that cannot be")
    return RunRecord(
        run_id=row[0], point_id=sys.intern(row[1]), repeat=row[2], attempt=row[3], status=_STATUSES[row[4]], reason=row[5],
        argv=_command(row[6]), env=_environment(row[7]), placement=_placement(row[8]), seen=seen, capture=capture,
        program=sys.intern(row[10]), order_index=row[11], started_utc=row[12], wall_s=row[13], exit_code=row[14], signal=row[15],
        usage=Packed.read(row[16], {"*": _NUMBER}), session=row[17], counters=Packed.read(row[18], _COUNTERS), warm_up=bool(row[19]),
    )  # fmt: skip
