"""What the rows of a result file hold: values that pinsweep may have written, or `Strange`. Pure.

Anybody can write such a file, and a disk can turn its bits: each value is looked at here, once, and trusted by all who read it then.
Words that the rows have in common are kept once (`sys.intern`): a hundred thousand runs have some hundred of them.
"""

from __future__ import annotations

import functools
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

LONGEST_JSON: Final = 4 << 20
"""Characters of a value that is JSON."""
DEEPEST: Final = 12
LONGEST_WORD: Final = 1 << 20
"""Characters of a name, a title, a reason."""
LARGEST: Final = 2**63
"""No number of ours is larger, but those with a point."""


class Strange(ValueError):
    """A value that pinsweep does not write. Says which of the row, and what it is."""


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
        """The machine as the session recorded it, None if it recorded none that can be read."""
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
    """A cell with what the reader of a result needs beside it."""

    cell: Cell
    sweep_title: str
    repeats: int  # asked for; 0: known, and not asked for
    experiment: str  # sha256 of the experiment's text
    most_repeats: int = 0  # with `repeats: auto`: how many there may be; else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """How runs of a cell that came to their end were measured."""

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


# --- values ------------------------------------------------------------------------------------------------


def _strange(what: str) -> Any:  # noqa: ANN401 (never returns)
    raise Strange(what)


def _json(text: object, name: str) -> Any:  # noqa: ANN401 (anything JSON holds)
    """Return what a text of JSON holds: plain values, not deep, numbers that are finite, texts that can be written."""
    if not isinstance(text, str):
        raise Strange(f"{name} is not a text")
    if len(text) > LONGEST_JSON:
        raise Strange(f"{name} has {len(text)} characters")
    try:
        value = _decoded(text)
        if "\\u" in text:  # half of a surrogate pair is no character
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise Strange(f"{name} is not JSON") from None
    return value


def _decoded(text: str) -> Any:  # noqa: ANN401
    """Return what `json.loads` does, without its look for white space around what is written without."""
    try:
        value, end = _DECODER.raw_decode(text)
    except ValueError:
        value, end = None, -1
    return value if end == len(text) else json.loads(text)


_DECODER: Final = json.JSONDecoder()


def _plain(value: object, name: str, depth: int = DEEPEST) -> Any:  # noqa: ANN401
    """Return a value as it is, if JSON holds it and all its numbers are finite and not huge."""
    items: Iterable[object] = (value,)
    if isinstance(value, dict | list):
        if depth == 0:
            raise Strange(f"{name} is nested too deep")
        items = value.values() if isinstance(value, dict) else value
        depth -= 1
    for item in items:  # a run has dozens: only what holds others is a call
        kind = type(item)
        if kind is float:
            if not math.isfinite(item):  # type: ignore[arg-type]  # a float, by the line above
                raise Strange(f"{name} holds a number that is not finite")
        elif kind is int:
            if not -LARGEST <= item < LARGEST:  # type: ignore[operator]  # an int, likewise
                raise Strange(f"{name} holds a number that is too large")
        elif kind is dict or kind is list:
            _plain(item, name, depth)
    return value


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
    "reasons?": [{"id": str, "text": str, "*": object}], "disks?": {"*": _OBJECT}, "*": _NUMBER,
}  # fmt: skip


def _fits(value: object, shape: Any) -> bool:  # noqa: ANN401 (as the next line says)
    """Tell whether a value of JSON is of a shape: a type; one of several (tuple); a list of one shape, or of as many items; an object, in
    which names with "?" may lack and "*", the last, is for any other."""
    if isinstance(shape, tuple):
        return type(value) in shape or any(_fits(value, one) for one in shape if not isinstance(one, type))
    if isinstance(shape, list):
        if not isinstance(value, list) or len(shape) not in (1, len(value)):
            return False
        return all(_fits(item, shape[i % len(shape)]) for i, item in enumerate(value))
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return False
        rest = dict(value)
        for name, one in shape.items():
            key = name.removesuffix("?")
            if key == "*":  # the last
                kinds = one if isinstance(one, tuple) else ()
                return one is object or all(type(item) in kinds or _fits(item, one) for item in rest.values())
            if key not in rest and key == name:
                return False
            if key in rest and not _fits(rest.pop(key), one):
                return False
        return not rest
    return shape is object or type(value) is shape


def _shaped(text: object, name: str, shape: Any = _OBJECT) -> Any:  # noqa: ANN401 (as the shape says)
    """Return what a text of JSON holds. Raises Strange where that is of another shape."""
    value = _plain(_json(text, name), name)
    if not _fits(value, shape):
        raise Strange(f"{name} is not what pinsweep writes")
    return value


def _object(text: object, name: str, shape: Any = _OBJECT) -> dict[str, Any]:  # noqa: ANN401 (see `_fits`)
    """Return a JSON object, its keys shared with others."""
    return {sys.intern(key): item for key, item in _shaped(text, name, shape).items()}


class Packed(Mapping[str, Any]):
    """A JSON object that was looked at when it was read, and stays a text: a run has three that few readers want, and as dictionaries
    they are five times as large."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

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


def _words(text: object, name: str) -> tuple[str, ...]:
    return tuple(map(sys.intern, _shaped(text, name, _WORDS)))


_command = functools.lru_cache(maxsize=1 << 15)(lambda text: _words(text, "argv"))
"""The words of a command line: the repeats of a cell have one."""

_environment = functools.lru_cache(maxsize=1 << 10)(lambda text: _named_texts(text, "env"))


def _named_texts(text: object, name: str) -> dict[str, str]:
    return {key: sys.intern(item) for key, item in _object(text, name, {"*": str}).items()}


def _packed(text: str, name: str, shape: Any) -> Packed:  # noqa: ANN401 (see `_fits`)
    _shaped(text, name, shape)
    return Packed(text)


def _word(value: str, name: str, most: int = LONGEST_WORD) -> str:
    return value if len(value) <= most else _strange(f"{name} has {len(value)} characters")


def _count(value: int, name: str, most: int = 10**9) -> int:
    return value if 0 <= value <= most else _strange(f"{name} is {value}")


def _moment(value: str, name: str) -> str:
    """Return a time of ISO 8601."""
    try:
        datetime.fromisoformat(value).timestamp()
    except (ValueError, OverflowError):
        raise Strange(f"{name} is not a time") from None
    return value


# --- rows --------------------------------------------------------------------------------------------------

SESSION: Final = (
    "session", "started_utc", "ended_utc", "pinsweep_version", "argv", "seed", "host", "facts", "topology", "programs",
)  # fmt: skip
"""The columns of a session, in the order in which `session` takes them; the same of the others below. SQLite holds their types."""

EXPERIMENT: Final = ("sha256", "path", "title", "text", "about")
CELL: Final = (
    "point_id",
    "sweep",
    "sweep_title",
    "tool",
    "options",
    "place",
    "axes",
    "repeats",
    "experiment",
    "most_repeats",
)
CONDITIONS: Final = ("point_id", "session", "placement", "argv")
SKIPPED: Final = ("sweep", "point", "reason")
ALIAS: Final = ("sweep", "point", "of")
RUN: Final = (
    "run_id", "point_id", "repeat", "attempt", "status", "reason", "argv", "env", "placement", "seen", "program", "order_index",
    "started_utc", "wall_s", "exit_code", "signal", "usage", "session", "counters", "warm_up",
)  # fmt: skip


def session(row: Sequence[Any]) -> Session:
    name = f"session {row[0]}"
    return Session(
        session=row[0], started_utc=_word(row[1], f"{name}, started_utc"), ended_utc=row[2], pinsweep_version=_word(row[3], name),
        argv=_words(row[4], f"{name}, argv"), seed=row[5], host=_word(row[6], f"{name}, host", 1000), facts=_object(row[7], f"{name}, facts", _FACTS),
        topology_text=row[8], programs=programs(row[9], f"{name}, programs"),
    )  # fmt: skip


def programs(text: object, name: str) -> dict[str, dict[str, Any]]:
    """Return tool → what is recorded of its program."""
    return _object(text, name, _PROGRAMS)


def experiment(row: Sequence[Any]) -> StoredExperiment:
    for value, column in zip((row[0], row[1], row[2]), EXPERIMENT, strict=False):
        _word(value, f"an experiment, {column}")
    return StoredExperiment(sha256=row[0], path=row[1], title=row[2], text=row[3], about=row[4])


def cell(row: Sequence[Any]) -> StoredCell:
    """Return a cell. Its `point_id` is a hash of what it is: runs of another one would stand under its name."""
    name = f"point {row[0]!r:.40}"
    place = None if row[5] is None else _object(row[5], f"{name}, place", _PLACE)
    found = Cell(
        sweep=_word(row[1], f"{name}, sweep"), tool=_word(row[3], f"{name}, tool"), options=_tuples(_object(row[4], f"{name}, options")),
        place=None if place is None else Place(**place),
        axes=_words(row[6], f"{name}, axes"),
    )  # fmt: skip
    if found.point_id != row[0]:
        raise Strange(f"{name} is not the hash of its cell")
    return StoredCell(
        cell=found, sweep_title=_word(row[2], f"{name}, sweep_title"), repeats=_count(row[7], f"{name}, repeats", MOST_REPEATS),
        experiment=row[8], most_repeats=_count(row[9], f"{name}, most_repeats", MOST_REPEATS),
    )  # fmt: skip


def _tuples(options: dict[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}


@functools.lru_cache(maxsize=256)
def _placement(text: str | None) -> Placement | None:
    """Return a placement; what an older file does not say is empty."""
    if not text:
        return None
    raw = _object(text, "placement", _PLACEMENT)
    groups = raw.get("groups", [])
    if not all(0 <= n < 1 << 20 for group in groups for indexes in group.values() for n in indexes):
        raise Strange("placement is not on CPUs or nodes")
    found = [Group(**{key: tuple(value) for key, value in group.items()}) for group in groups]
    return Placement(name=raw["name"], groups=tuple(found), relation=raw.get("relation", ""))


def _placed(text: str | None, name: str) -> Placement | None:
    try:
        return _placement(text)
    except Strange as error:
        raise Strange(f"{name}, {error}") from None


def conditions(row: Sequence[Any]) -> Conditions:
    name = f"a run of the point {row[0]!r:.40}"
    placement = _placed(row[2], name)
    return Conditions(
        point_id=row[0], session=row[1], placement=placement, argv=_words(row[3], f"{name}, argv")
    )


def skipped(row: Sequence[Any]) -> Skipped:
    return Skipped(sweep=sys.intern(_word(row[0], "a skipped cell, sweep")), cell=_shaped(row[1], "a skipped cell, point", _FLAT), reason=_word(row[2], "a skipped cell, reason"))  # fmt: skip


def alias(row: Sequence[Any]) -> Alias:
    return Alias(sweep=_word(row[0], "an alias, sweep"), cell=_shaped(row[1], "an alias, point", _FLAT), of=_shaped(row[2], "an alias, of", _FLAT))  # fmt: skip


_UNSEEN: Final = (None, "", "null")
_STATUSES: Final[Mapping[str, Status]] = {status: status for status in get_args(Status)}
"""The text of a row is one of its own: of a hundred thousand, so many."""


def run(row: Sequence[Any]) -> RunRecord:
    """Return a run."""
    name = f"run {row[0]}"
    status = _STATUSES.get(row[4])
    if status is None:
        raise Strange(f"{name}, status is {row[4]!r:.40}")
    if not 0 <= row[13] < LARGEST:  # false for nan, too
        raise Strange(f"{name}, wall_s is {row[13]}")
    found = None if row[9] in _UNSEEN else _shaped(row[9], f"{name}, seen")
    captured = found is not None and "file" in found
    capture = Capture(**{"reading": {}, **_shaped(row[9], f"{name}, seen", _CAPTURE)}) if captured else None
    seen = None if captured or found is None else Packed(row[9])
    try:
        argv, env = _command(row[6]), _environment(row[7])
    except Strange as error:
        raise Strange(f"{name}, {error}") from None
    return RunRecord(
        run_id=row[0], point_id=sys.intern(row[1]), repeat=_count(row[2], f"{name}, repeat"), attempt=_count(row[3], f"{name}, attempt"),
        status=status, reason=_word(row[5], f"{name}, reason"), argv=argv, env=env, placement=_placed(row[8], name),
        seen=seen, capture=capture,
        program=sys.intern(_word(row[10], f"{name}, program")), order_index=row[11],
        started_utc=_moment(row[12], f"{name}, started_utc"), wall_s=row[13], exit_code=row[14], signal=row[15],
        usage=_packed(row[16], f"{name}, usage", {"*": _NUMBER}), session=row[17], counters=_packed(row[18], f"{name}, counters", _COUNTERS),
        warm_up=bool(row[19]),
    )  # fmt: skip
