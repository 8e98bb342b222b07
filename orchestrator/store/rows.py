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
from parsers.measurement import Scalar

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


def _looked_at(text: object, name: str) -> dict[str, Any]:
    """Return a JSON object of plain values, to be looked at and let go."""
    value = _plain(_json(text, name), name)
    if not isinstance(value, dict):
        raise Strange(f"{name} is not a JSON object")
    return value


def _object(text: object, name: str) -> dict[str, Any]:
    """Return a JSON object of plain values, its keys shared with others."""
    return {sys.intern(key): item for key, item in _looked_at(text, name).items()}


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


def _flat(text: object, name: str) -> dict[str, Scalar]:
    """Return a JSON object whose values are texts, numbers, truth values or null."""
    value = _looked_at(text, name)
    for key, item in value.items():
        if isinstance(item, dict | list):
            raise Strange(f"{name}, {key!r:.40} is not one value")
    return value


def _words(text: object, name: str) -> tuple[str, ...]:
    """Return a JSON list of texts."""
    value = _json(text, name)
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise Strange(f"{name} is not a list of texts")
    return tuple(map(sys.intern, value))


_command = functools.lru_cache(maxsize=1 << 15)(lambda text: _words(text, "argv"))
"""The words of a command line: the repeats of a cell have one."""

_environment = functools.lru_cache(maxsize=1 << 10)(lambda text: _named_texts(text, "env"))


def _numbers(text: object, name: str) -> Packed:
    """Return a JSON object of numbers."""
    value = _flat(text, name)
    if not all(type(item) in (int, float) for item in value.values()):
        raise Strange(f"{name} is not an object of numbers")
    return Packed(str(text))


def _named_texts(text: object, name: str) -> dict[str, str]:
    value = _flat(text, name)
    if not all(isinstance(item, str) for item in value.values()):
        raise Strange(f"{name} is not an object of texts")
    return {key: sys.intern(str(item)) for key, item in value.items()}


def _indexes(value: object, name: str) -> tuple[int, ...]:
    """Return the numbers of PUs or NUMA nodes that a JSON list holds."""
    if not isinstance(value, list) or not all(type(n) is int and 0 <= n < 1 << 20 for n in value):
        raise Strange(f"{name} is not a list of CPUs or nodes")
    return tuple(value)


def _word(value: str, name: str) -> str:
    return value if len(value) <= LONGEST_WORD else _strange(f"{name} has {len(value)} characters")


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
        argv=_words(row[4], f"{name}, argv"), seed=row[5], host=_host(row[6], f"{name}, host"), facts=_facts(row[7], f"{name}, facts"),
        topology_text=row[8], programs=programs(row[9], f"{name}, programs"),
    )  # fmt: skip


def _host(text: str, name: str) -> str:
    return text if len(text) <= 1000 else _strange(f"{name} has {len(text)} characters")


_NUMBERS: Final = (
    "memory_bytes",
    "memory_available_bytes",
    "uptime_s",
    "load_1min",
    "swap_bytes",
    "swap_free_bytes",
)
_MODULE: Final = {"size_bytes": (int,), "type": (str,), "rate_mts": (int, type(None)), "slot": (str,)}


def _facts(text: object, name: str) -> dict[str, Any]:
    """Return what a session recorded of its machine: one value a fact, but for the memory modules and the distances of nodes."""
    facts = _object(text, name)
    for key, value in facts.items():
        if key == "dimms" and isinstance(value, list):
            for module in value:
                if not isinstance(module, dict) or "size_bytes" not in module:
                    raise Strange(f"{name}, dimms is not a list of memory modules")
                for what, item in module.items():
                    if type(item) not in _MODULE.get(what, ()):
                        raise Strange(f"{name}, dimms: {what!r:.40} is not what a memory module has")
        elif key == "numa_distances" and isinstance(value, list):
            if not all(
                isinstance(three, list) and len(three) == 3 and {type(n) for n in three} <= {int, float}
                for three in value
            ):
                raise Strange(f"{name}, numa_distances is not a list of (node, node, distance)")
        elif isinstance(value, dict | list):
            raise Strange(f"{name}, {key!r:.40} is not one value")
        elif key in _NUMBERS and value is not None and (type(value) not in (int, float) or value < 0):
            raise Strange(f"{name}, {key} is not a number of 0 or more")
    return facts


def programs(text: object, name: str) -> dict[str, dict[str, Any]]:
    """Return tool → what is recorded of its program: texts, but for `files`, name → path and sum, and notes of one value."""
    found = _object(text, name)
    for tool, own in found.items():
        if not isinstance(own, dict):
            raise Strange(f"{name}, {tool!r:.40} is not a JSON object")
        for key, value in own.items():
            files = value if key == "files" else {}
            if not isinstance(files, dict) or not all(
                isinstance(file, dict) and all(isinstance(item, str) for item in file.values())
                for file in files.values()
            ):
                raise Strange(f"{name}, {tool!r:.40}: files is not name → path and sum")
            if key != "files" and isinstance(value, dict | list):
                raise Strange(f"{name}, {tool!r:.40}: {key!r:.40} is not one value")
    return found


def experiment(row: Sequence[Any]) -> StoredExperiment:
    for value, column in zip((row[0], row[1], row[2]), EXPERIMENT, strict=False):
        _word(value, f"an experiment, {column}")
    return StoredExperiment(sha256=row[0], path=row[1], title=row[2], text=row[3], about=row[4])


def cell(row: Sequence[Any]) -> StoredCell:
    """Return a cell. Its `point_id` is a hash of what it is: runs of another one would stand under its name."""
    name = f"point {row[0]!r:.40}"
    place = None if row[5] is None else _named_texts(row[5], f"{name}, place")
    if place is not None and (
        "name" not in place or not place.keys() <= {"name", "cpus", "memory", "spread"}
    ):
        raise Strange(f"{name}, place is not a place")
    found = Cell(
        sweep=_word(row[1], f"{name}, sweep"), tool=_word(row[3], f"{name}, tool"), options=_tuples(_object(row[4], f"{name}, options")),
        place=None if place is None else Place(**place),  # type: ignore[arg-type]  # `spread` is one of two words, or is shown as it is
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
    raw = _object(text, "placement")
    groups, name, relation = raw.get("groups", []), raw.get("name"), raw.get("relation", "")
    if not isinstance(name, str) or not isinstance(relation, str) or not isinstance(groups, list):
        raise Strange("placement is not a placement")
    found = []
    for group in groups:
        if not isinstance(group, dict) or "cpus" not in group or not group.keys() <= _GROUP:
            raise Strange("placement is not a placement")
        found.append(Group(**{key: _indexes(value, f"placement, {key}") for key, value in group.items()}))
    return Placement(name=name, groups=tuple(found), relation=relation)


_GROUP: Final = {"cpus", "membind", "interleave"}


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
    return Skipped(sweep=sys.intern(_word(row[0], "a skipped cell, sweep")), cell=_flat(row[1], "a skipped cell, point"), reason=_word(row[2], "a skipped cell, reason"))  # fmt: skip


def alias(row: Sequence[Any]) -> Alias:
    return Alias(sweep=_word(row[0], "an alias, sweep"), cell=_flat(row[1], "an alias, point"), of=_flat(row[2], "an alias, of"))  # fmt: skip


REST: Final = ("seen", "usage", "counters")
"""The long columns of a run, which few readers want."""

Rest = tuple[Mapping[str, Any] | None, Mapping[str, float], Mapping[str, Any]]
"""What they hold."""


def rest(row: Sequence[Any], name: str) -> Rest:
    """Return the long columns of a run that pinsweep started."""
    seen = _looked_at(row[0], f"{name}, seen") if row[0] not in _UNSEEN else None
    return (
        None if seen is None else Packed(row[0]),
        _numbers(row[1], f"{name}, usage"),
        _counters(row[2], f"{name}, counters"),
    )


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
    found = _looked_at(row[9], f"{name}, seen") if row[9] not in _UNSEEN else None
    capture = _capture(found, f"{name}, seen") if found and "file" in found else None
    seen = None if capture or found is None else Packed(row[9])
    usage, counters = _numbers(row[16], f"{name}, usage"), _counters(row[18], f"{name}, counters")
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
        usage=usage, session=row[17], counters=counters,
        warm_up=bool(row[19]),
    )  # fmt: skip


def _capture(seen: Mapping[str, Any], name: str) -> Capture:
    file, digest, reading = seen["file"], seen.get("digest"), seen.get("reading", {})
    if not isinstance(file, str) or not isinstance(digest, str) or not isinstance(reading, dict):
        raise Strange(f"{name} is not where a text came from")
    if not seen.keys() <= {"file", "digest", "reading"}:
        raise Strange(f"{name} is not where a text came from")
    return Capture(file=file, digest=digest, reading=reading)


def _counters(text: object, name: str) -> Packed:
    """Return what was counted: numbers, `disks` with theirs, and `reasons`, each with its `id` and `text`."""
    counters = _looked_at(text, name)
    for key, value in counters.items():
        if key == "reasons":
            fine = isinstance(value, list) and all(
                isinstance(r, dict) and isinstance(r.get("id"), str) and isinstance(r.get("text"), str)
                for r in value
            )
        elif key == "disks":
            fine = isinstance(value, dict) and all(isinstance(disk, dict) for disk in value.values())
        else:
            fine = type(value) in (int, float)
        if not fine:
            raise Strange(f"{name}, {key!r:.40} is not what pinsweep counts")
    return Packed(str(text))
