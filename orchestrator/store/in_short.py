"""What most readers want of a run, kept in the file for all its runs, and the rest where it lies. I/O.

    "in short N"   answers (`answers`) from N = 0 on, each of _AT_ONCE runs in the order in which they were started: how each text
                   was read, what it tells of itself (facts, flags) and which tables it has, whether counters were read, and
                   what disturbed the run

    "readings POINT"   answers, too, of each cell: of each of its good runs what the readings of its tool made of its tables
                   (`reports.readings`), as (head, numbers); the heads, which the repeats share, once

Of a file of which these are kept, no text and none of the long columns of `run` is read until somebody asks for a table of a run,
its usage or its counters; those are then read one run at a time, and not held.
"""

from __future__ import annotations

import contextlib
import json
import sys
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple, Self

from orchestrator.model import Cell, RunRecord
from orchestrator.store import cache
from orchestrator.store.cache import same_facts
from orchestrator.store.database import Damaged
from orchestrator.store.result_file import ResultFile, open_result
from orchestrator.store.rows import Rest
from parsers.errors import ParseError, UserError
from parsers.measurement import Flag, Parsed, Scalar, Table
from parsers.measurement import Told as TablesTold

_AT_ONCE: Final = 1000
_CHARACTERS_KEPT: Final = 2000
"""What is kept of a run, on an average: some 120 of what tools print."""
_MOST_OPEN: Final = 100
"""Files that are held open; of more, one is opened when somebody asks."""
_HELD: Final = 1000
"""Texts that a file hands out and holds, some MB: charts ask for that many together, in one way after another."""
_WEIGHT_HELD: Final = 250_000
"""What these may weigh together (`Parsed.weight`): of a thousand of what a tool prints it is a tenth."""
_CHARACTERS_HELD: Final = 2_000_000
"""Of the texts of cells whose readings are held: repeats are asked for one after the other, those of small cells several times."""


_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class InShort(NamedTuple):
    """What is kept of a run."""

    tables: tuple[str, ...] | None  # their names; None: its text is not read, or cannot be
    facts: Mapping[str, Scalar]
    flags: tuple[Flag, ...]
    unreadable: str  # why a text that should be read cannot be
    seen: bool  # was something read from /proc?
    counted: bool  # were counters read?
    reasons: tuple[Mapping[str, Any], ...] | None  # what disturbed it, where that is among them

    @classmethod
    def of(cls, record: RunRecord) -> Self:
        """Return what is kept of a run whose text was not looked at."""
        return cls(
            tables=None,
            facts=_NOTHING,
            flags=(),
            unreadable="",
            seen=record.seen is not None,
            counted=bool(record.counters),
            reasons=tuple(record.counters["reasons"]) if "reasons" in record.counters else None,
        )


class Told:
    """What is told of the runs of a file, and where the rest lies."""

    def __init__(self, path: Path, of: str, runs: dict[int, InShort] | None = None) -> None:
        self.runs = {} if runs is None else runs
        self._flags: dict[tuple[Flag, ...], tuple[Flag, ...]] = {}  # most runs have the same
        self._source = Source(path, of)

    def shortened(self, record: RunRecord) -> RunRecord:
        """Take note of the long columns of a run, and return it without them: they are read when somebody asks. A captured run is
        returned as it is."""
        if record.capture:
            return record
        self.runs[record.run_id] = InShort.of(record)
        seen, usage, counters = self.rest(record.run_id)
        return replace(record, seen=seen, usage=usage, counters=counters)

    def add(self, record: RunRecord, parsed: Parsed | None, unreadable: str) -> None:
        """Take note of what the text of a run says, which was shortened before."""
        tables, facts, flags = (
            (tuple(parsed.tables), parsed.facts, parsed.flags) if parsed else (None, _NOTHING, ())
        )
        self.runs[record.run_id] = self.runs[record.run_id]._replace(
            tables=tables, facts=facts, flags=flags, unreadable=unreadable
        )

    def parsed(self, record: RunRecord, cell: Cell) -> tuple[Parsed | None, str]:
        """Return what a run's text says, or why it cannot be read; its tables are read when somebody asks."""
        told = self.runs[record.run_id]
        if told.tables is None:
            return None, told.unreadable
        tables = _Tables(self._source, record, cell, told.tables)
        return Parsed(tables=tables, flags=told.flags, facts=told.facts), told.unreadable

    def rest(self, run_id: int) -> Rest:
        """Return the long columns of a run's row, which are read when somebody asks."""
        told, source = self.runs[run_id], self._source
        seen = _Seen(source, run_id) if told.seen else None
        counters = _Counters(source, run_id, told.reasons) if told.counted else _NOTHING
        return seen, _Usage(source, run_id), counters


# --- out and in --------------------------------------------------------------------------------------------


def keep(result: ResultFile, of: str, told: Told) -> None:
    """Keep what is told of all runs of contents with that fingerprint, where the file can be written."""
    runs = list(told.runs.items())
    parts = (runs[at : at + _AT_ONCE] for at in range(0, len(runs), _AT_ONCE))
    result.keep_answers(of, ((f"in short {n}", _dumped(part)) for n, part in enumerate(parts)))


def kept(result: ResultFile, of: str) -> Told | None:
    """Return what is kept of the runs of contents with that fingerprint; None if it is not kept of all, or not what `keep` kept."""
    ids = result.run_ids()
    found: dict[int, InShort] = {}
    left = _CHARACTERS_KEPT * (len(ids) + _AT_ONCE)
    try:
        for n in range(-(-len(ids) // _AT_ONCE)):
            text = result.kept_answer(f"in short {n}", of)
            left -= len(text or "")
            if text is None or left < 0:
                return None
            found.update(_loaded(text))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return None
    return Told(result.path, of, found) if found.keys() == {*ids} else None


def _dumped(runs: Sequence[tuple[int, InShort]]) -> str:
    numbers: dict[object, int] = {}

    def numbered(value: object) -> int:
        return numbers.setdefault(value, len(numbers))

    rows = [
        [
            run_id,
            None if one.tables is None else numbered(one.tables),
            numbered(tuple(one.facts)),
            list(one.facts.values()),
            numbered(tuple((flag.id, flag.text) for flag in one.flags)),
            one.unreadable,
            one.seen + 2 * one.counted,
            None if one.reasons is None else [dict(reason) for reason in one.reasons],
        ]
        for run_id, one in runs
    ]
    return json.dumps({"shared": list(numbers), "runs": rows})


def _loaded(text: str) -> Iterator[tuple[int, InShort]]:
    """Undo `_dumped`. Raises ValueError, KeyError, TypeError, IndexError or AttributeError for what it did not write."""
    said = json.loads(text)
    words = [_words(one) for one in said["shared"]]
    flags = [_flags(one) for one in said["shared"]]
    for run_id, tables, names, values, own_flags, unreadable, bits, reasons in said["runs"]:
        types = tuple(map(type, values))
        if not _SCALAR.issuperset(types) or not isinstance(unreadable, str):
            raise ValueError("not what is kept of a run")
        facts = same_facts(words[names], tuple(values), types)
        told = None if reasons is None else tuple(_reason(one) for one in reasons)
        own = None if tables is None else words[tables]
        yield (
            int(run_id),
            InShort(own, facts, flags[own_flags], unreadable, bool(bits & 1), bool(bits & 2), told),
        )


_SCALAR: Final = frozenset({str, int, float, bool, type(None)})


def _words(raw: Sequence[Any]) -> tuple[str, ...]:
    return tuple(sys.intern(one) for one in raw) if all(isinstance(one, str) for one in raw) else ()


def _reason(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(raw["id"], str) or not isinstance(raw["text"], str):
        raise ValueError("not a reason")
    return dict(raw)


def _flags(raw: Sequence[Any]) -> tuple[Flag, ...]:
    pairs = [one for one in raw if isinstance(one, list)]
    return tuple(Flag(id=str(key), text=str(text)) for key, text in pairs)


# --- the rest ----------------------------------------------------------------------------------------------


class Source:
    """A result file that was read, to be read from again: also when it has gone meanwhile. Between two questions it keeps nobody from
    writing."""

    _open: ClassVar[weakref.WeakSet[Source]] = weakref.WeakSet()

    def __init__(self, path: Path, of: str) -> None:
        self._path = path
        self._of = of  # the fingerprint of the contents
        self._cells: OrderedDict[str, _OfCell] = OrderedDict()
        self._characters = 0  # of their texts
        self._without_tables: set[str] = set()  # tools
        self._was = _identity(path)
        self._held: OrderedDict[int, Parsed] = OrderedDict()
        self._weight = 0  # of these
        self._row: tuple[int, Rest] = (
            0,
            (None, _NOTHING, _NOTHING),
        )  # the run whose long columns were asked for last
        self._result: ResultFile | None = None
        if len(Source._open) < _MOST_OPEN:
            self._opened()

    def __del__(self) -> None:
        if self._result is not None:
            self._result.close()

    def _opened(self) -> ResultFile:
        if self._result is None:
            if _identity(self._path) != self._was:
                raise UserError(
                    str(self._path), "was replaced while it was read", "give the same command again"
                )
            self._result = open_result(self._path, known=True)
            Source._open.add(self)
        return self._result

    def parsed(self, record: RunRecord, cell: Cell) -> Parsed:
        """Return what a run's text says. Raises UserError, Damaged."""
        held = self._held
        found = held.get(record.run_id)
        if found is None:
            try:
                found = self._opened().parsed(record, cell)
            except ParseError as error:
                raise Damaged(
                    self._path, f"run {record.run_id} cannot be read, though it was: {error}"
                ) from error
            held[record.run_id] = found
            self._weight += found.weight
            while len(held) > 1 and (len(held) > _HELD or self._weight > _WEIGHT_HELD):
                self._weight -= held.popitem(last=False)[1].weight
        return found

    def told(self, record: RunRecord, name: str) -> tuple[str, list[Any]] | None:
        """Return what is kept of a reading of a run (`parsers.measurement.Told`). Raises UserError."""
        held = self._cells
        found = held.get(record.point_id)
        if found is None:
            text = self._opened().kept_answer(f"readings {record.point_id}", self._of)
            if text is None:
                return None
            found = held[record.point_id] = _OfCell(text)
            self._characters += found.characters
            while self._characters > _CHARACTERS_HELD and len(held) > 1:
                self._characters -= held.popitem(last=False)[1].characters
        return found.told(record.run_id, name)

    def table(self, record: RunRecord, cell: Cell, name: str) -> Table | None:
        """Return a small table of a run, where it is kept; of a tool of which readings are, no other run is asked for one."""
        if cell.tool in self._without_tables:
            return None
        kept = self.told(record, f"table {name}")
        if kept is None:
            if record.point_id in self._cells and self._cells[record.point_id].only_readings:
                self._without_tables.add(cell.tool)
            return None
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return cache.load_small(*kept)
        return None

    def column(self, run_id: int, name: str) -> Mapping[str, Any]:
        """Return one of the long columns of a run's row. Raises UserError, Damaged."""
        at, (seen, usage, counters) = self._row
        if at != run_id:
            seen, usage, counters = self._opened().rest(run_id)
            self._row = run_id, (seen, usage, counters)
        return {"seen": seen or {}, "usage": usage, "counters": counters}[name]


class _OfCell:
    """What is kept of the readings of a cell; nothing where it is not what `readings_dumped` gave."""

    def __init__(self, text: str) -> None:
        self.characters = len(text)
        self._heads: list[Any] = []
        self._runs: dict[int, Mapping[str, Any]] = {}
        with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
            said = json.loads(text)
            self._heads, self._runs = [*said["heads"]], dict(said["runs"])

    @property
    def only_readings(self) -> bool:
        """Is something kept, and no table?"""
        names = {name for own in self._runs.values() if isinstance(own, dict) for name in own}
        return bool(names) and not any(name.startswith("table ") for name in names)

    def told(self, run_id: int, name: str) -> tuple[str, list[Any]] | None:
        try:
            at, values = self._runs[run_id][name]
            head = self._heads[at]
        except (ValueError, KeyError, TypeError, IndexError):
            return None
        return (head, values) if isinstance(head, str) and isinstance(values, list) else None


def readings_dumped(runs: Iterable[tuple[int, Mapping[str, tuple[str, Sequence[Any]]]]]) -> str:
    """Return what "readings POINT" keeps of the runs of a cell: run_id, name of a reading → (head, numbers)."""
    heads: dict[str, int] = {}
    rows = [
        (run_id, {name: (heads.setdefault(head, len(heads)), values) for name, (head, values) in own.items()})
        for run_id, own in runs
    ]
    return json.dumps({"heads": list(heads), "runs": rows})


def _identity(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino


class _Column(Mapping[str, Any]):
    """A long column of a run's row."""

    __slots__ = ("_run_id", "_source")
    _NAME = ""

    def __init__(self, source: Source, run_id: int) -> None:
        self._source, self._run_id = source, run_id

    def _read(self) -> Mapping[str, Any]:
        return self._source.column(self._run_id, self._NAME)

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 (anything JSON holds)
        return self._read()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())


class _Seen(_Column):
    __slots__ = ()
    _NAME = "seen"


class _Usage(_Column):
    __slots__ = ()
    _NAME = "usage"


class _Counters(_Column):
    """Counters that were read; which tell whether something disturbed the run is known."""

    __slots__ = ("_reasons",)
    _NAME = "counters"

    def __init__(self, source: Source, run_id: int, reasons: tuple[Mapping[str, Any], ...] | None) -> None:
        super().__init__(source, run_id)
        self._reasons = reasons

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 (anything JSON holds)
        if key != "reasons":
            return self._read()[key]
        if self._reasons is None:
            raise KeyError(key)
        return [*self._reasons]

    def __bool__(self) -> bool:
        return True


class _Tables(TablesTold):
    """The tables of a run by names that are known."""

    __slots__ = ("_cell", "_names", "_record", "_source")

    def __init__(self, source: Source, record: RunRecord, cell: Cell, names: tuple[str, ...]) -> None:
        self._source, self._record, self._cell, self._names = source, record, cell, names

    def __getitem__(self, key: str) -> Table:
        if key not in self._names:
            raise KeyError(key)
        kept = self._source.table(self._record, self._cell, key)
        return kept or self._source.parsed(self._record, self._cell).tables[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, key: object) -> bool:
        return key in self._names

    def told(self, name: str) -> tuple[str, list[Any]] | None:
        return self._source.told(self._record, name)
