"""The runs of a large result file, in short: the long columns of a run and its tables are read when somebody asks, and not held. I/O."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple, Self

from orchestrator.model import Cell, RunRecord
from orchestrator.store.database import Damaged
from orchestrator.store.result_file import ResultFile, open_result
from orchestrator.store.rows import Rest
from parsers.errors import ParseError, UserError
from parsers.measurement import Flag, LazyTables, Parsed, Scalar, Table

MANY: Final = 1000
"""Runs from which on a file is large; what fewer print is held."""
_MOST_OPEN: Final = 100
"""Files that are held open; of more, one is opened when somebody asks."""
_HELD: Final = 1000
"""Texts that a file hands out and holds, some MB: charts ask for that many together, in one way after another."""
_WEIGHT_HELD: Final = 250_000
"""What these may weigh together (`Parsed.weight`): of a thousand of what a tool prints it is a tenth."""
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class InShort(NamedTuple):
    """What is held of a run."""

    tables: tuple[str, ...] | None  # their names; None: its text is not read, or cannot be
    facts: Mapping[str, Scalar]
    flags: tuple[Flag, ...]
    unreadable: str  # why a text that should be read cannot be
    seen: bool  # was something read from /proc?
    counted: bool  # were counters read?
    reasons: tuple[Mapping[str, Any], ...] | None  # what disturbed it, where that is among them

    @classmethod
    def of(cls, record: RunRecord) -> Self:
        """Return what is held of a run whose text was not looked at."""
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

    def __init__(self, path: Path) -> None:
        self.runs: dict[int, InShort] = {}
        self._source = Source(path)

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


class Source:
    """A result file that was read, to be read from again: also when it has gone meanwhile. Between two questions it keeps nobody from
    writing."""

    _open: ClassVar[weakref.WeakSet[Source]] = weakref.WeakSet()

    def __init__(self, path: Path) -> None:
        self._path = path
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

    def column(self, run_id: int, name: str) -> Mapping[str, Any]:
        """Return one of the long columns of a run's row. Raises UserError, Damaged."""
        at, (seen, usage, counters) = self._row
        if at != run_id:
            seen, usage, counters = self._opened().rest(run_id)
            self._row = run_id, (seen, usage, counters)
        return {"seen": seen or {}, "usage": usage, "counters": counters}[name]


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


class _Tables(LazyTables):
    """The tables of a run by names that are known."""

    __slots__ = ("_cell", "_names", "_record", "_source")

    def __init__(self, source: Source, record: RunRecord, cell: Cell, names: tuple[str, ...]) -> None:
        self._source, self._record, self._cell, self._names = source, record, cell, names

    def __getitem__(self, key: str) -> Table:
        if key not in self._names:
            raise KeyError(key)
        return self._source.parsed(self._record, self._cell).tables[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, key: object) -> bool:
        return key in self._names
