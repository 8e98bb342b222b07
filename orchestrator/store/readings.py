"""Store the parsed results of runs in the tables `reading`, `series`, `measurement` and `reading_table`.

I/O on an open database.

A number is a row of `measurement` with run, position in the table, series, and value in the base unit. Facts and flags
are JSON in `reading`. Each further table of a parser is compressed in `reading_table`.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import sqlite3
import sys
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from orchestrator.model import Cell
from orchestrator.store import database
from orchestrator.store.database import Damaged
from parsers import command, get_parser, parser_names
from parsers._bounds import PRINT_LESS
from parsers.errors import ParseError
from parsers.measurement import (
    Columns,
    Counted,
    Flag,
    Metric,
    Numbered,
    Parsed,
    Scalar,
    Series,
    Table,
    number,
)

Reading = tuple[str, Parsed | ParseError]
"""The name of a parser, and its result for a run or its error."""

_SMALL: Final = 4096
"""Bytes of a compressed table that many runs may have in common, as the options of a job."""


class Tables(Mapping[str, Table]):
    """The tables of a run. Only the measurements are stored uncompressed, also after an access."""

    __slots__ = ("_measurements", "_path", "packed")

    def __init__(self, measurements: Table, packed: Mapping[str, bytes], path: Path) -> None:
        self._measurements, self._path = measurements, path
        self.packed = packed

    def __getitem__(self, key: str) -> Table:
        if key == "measurements":
            return self._measurements
        data = self.packed[key]
        try:
            return _unpack_small(data) if len(data) <= _SMALL else _unpack(data)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise Damaged(self._path, f"a table {key!r:.40} is not the result of a parser") from error

    def __iter__(self) -> Iterator[str]:
        return itertools.chain(("measurements",), self.packed)

    def __len__(self) -> int:
        return 1 + len(self.packed)


def compact(parsed: Parsed, path: Path) -> Parsed:
    """Return a compact copy, in the form that `read` returns. Raises ParseError if the size exceeds the storage limit."""
    table = parsed.measurements
    if not isinstance(table.rows, Counted):
        labels = table.columns[:-3]
        series = _share_series(labels, json.dumps([row[:-1] for row in table.rows]))
        values = array("d", (number(row[-1]) for row in table.rows))
        table = Table(columns=table.columns, rows=Numbered(labels, series, values))
    facts = _parse_facts(json.dumps(dict(parsed.facts)))
    return Parsed(tables=Tables(table, _pack_tables(parsed), path), flags=parsed.flags, facts=facts)


@functools.lru_cache(maxsize=512)
def _share_series(labels: tuple[str, ...], rows: str) -> tuple[Series, ...]:
    return tuple(
        Series(metric, unit, {name: cell for name, cell in zip(labels, cells, strict=True) if cell is not None})
        for *cells, metric, unit in json.loads(rows)
    )


# --- out ---------------------------------------------------------------------------------------------------


def write(db: sqlite3.Connection, run_id: int, cell: Cell, parser: str, result: Parsed | ParseError) -> None:
    """Store the parsed result of a run, or the parse error, in the caller's transaction."""
    parsed, unreadable, packed = _NOTHING, "", _NO_TABLES
    try:
        if isinstance(result, ParseError):
            raise result
        parsed, packed = result, _pack_tables(result)
    except ParseError as error:
        parsed, unreadable = _NOTHING, error.cause
    flags = [(flag.id, flag.text) for flag in parsed.flags]
    db.execute(
        "INSERT INTO reading (run_id, parser, version, facts, flags, columns, unreadable) VALUES (?,?,?,?,?,?,?)",
        (
            run_id, parser, get_parser(parser).VERSION, json.dumps(dict(parsed.facts)), json.dumps(flags),
            json.dumps(parsed.measurements.columns), unreadable,
        ),
    )  # fmt: skip
    db.executemany(
        "INSERT INTO measurement (run_id, position, series, value) VALUES (?,?,?,?)",
        ((run_id, position, *row) for position, row in enumerate(_number_series(db, cell, parsed))),
    )
    db.executemany(
        "INSERT INTO reading_table (run_id, name, zlib) VALUES (?,?,?)",
        ((run_id, name, data) for name, data in packed.items()),
    )


def remove(db: sqlite3.Connection, run_id: int) -> None:
    """Remove the result of an older parser for a run."""
    for table in ("measurement", "reading_table", "reading"):
        db.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))


_NO_TABLES: Final[Mapping[str, bytes]] = {}
_NOTHING: Final = Parsed(tables={"measurements": Table(columns=("metric", "unit", "value"), rows=())})


def _number_series(db: sqlite3.Connection, cell: Cell, parsed: Parsed) -> Iterator[tuple[int, float]]:
    """Yield (series, value) of each measurement. An index that only counts is not part of a series: a million numbers are one."""
    metrics = get_parser(cell.tool).METRICS if cell.tool in parser_names() else {}
    metrics = metrics or command.metrics_of(cell.options)
    rows = parsed.measurements.rows
    if isinstance(rows, Counted):
        for metric, unit, values in rows.series:
            series = _store_series(db, cell.tool, metrics, metric, unit, {})
            yield from zip(itertools.repeat(series), values)
        return
    for metric, unit, value, labels in parsed.measured():
        yield _store_series(db, cell.tool, metrics, metric, unit, labels), value


def _store_series(
    db: sqlite3.Connection, tool: str, metrics: Mapping[str, Metric], metric: str, unit: str, labels: Mapping[str, Scalar]
) -> int:  # fmt: skip
    """Return the number of a series. A missing series is created."""
    statistic = labels.get("statistic")
    if isinstance(statistic, str):
        labels = {name: value for name, value in labels.items() if name != "statistic"}
    direction = metrics[metric].better if metric in metrics else "neither"
    key = (
        tool,
        metric,
        statistic if isinstance(statistic, str) else "",
        unit,
        direction,
        json.dumps(dict(labels)),
    )
    columns = "tool, metric, statistic, unit, direction, labels"
    row = db.execute(f"SELECT series FROM series WHERE ({columns}) = (?,?,?,?,?,?)", key).fetchone()
    if row is None:
        return int(db.execute(f"INSERT INTO series ({columns}) VALUES (?,?,?,?,?,?)", key).lastrowid or 0)
    return int(row[0])


def _pack_tables(parsed: Parsed) -> Mapping[str, bytes]:
    """Return the tables but the measurements, compressed. Raises ParseError for more than is read again."""
    if isinstance(parsed.tables, Tables):
        return parsed.tables.packed
    return {name: _pack(table) for name, table in parsed.tables.items() if name != "measurements"}


def _pack(table: Table) -> bytes:
    columns = table.rows.columns if isinstance(table.rows, Columns) else [*zip(*table.rows, strict=True)]
    text = json.dumps(dict(zip(table.columns, columns or [()] * len(table.columns), strict=True)))
    data = zlib.compress(text.encode(), 6)
    if len(text) > database.LONGEST_PARSED or len(data) > database.LONGEST_TEXT // 2:
        raise ParseError("output", "more tables than are kept in one text are not read", PRINT_LESS)
    return data


# --- in ----------------------------------------------------------------------------------------------------


def read(db: sqlite3.Connection, path: Path, run_id: int | None = None) -> dict[int, Reading]:
    """Return the results of the present parsers for all runs, or for one run.

    Runs with results of an older parser are omitted. Raises Damaged for rows that pinsweep does not write.
    """
    where = "" if run_id is None else f" WHERE run_id = {run_id:d}"
    used = f" WHERE series IN (SELECT series FROM measurement{where})" if where else ""
    db.execute("BEGIN")  # all of it as of one moment; a run that ends waits with its commit
    try:
        rows = db.execute(
            f"SELECT run_id, parser, version, facts, flags, columns, unreadable FROM reading{where}"
        ).fetchall()
        series = db.execute(f"SELECT series, metric, statistic, unit, labels FROM series{used}").fetchall()
        tables = db.execute(f"SELECT run_id, name, zlib FROM reading_table{where} ORDER BY run_id, name").fetchall()
        numbers = _fetch_numbers(db, where)
    finally:
        db.rollback()
    try:
        by_key = {key: _make_series(*row) for key, *row in series}
        return dict(_make_readings(path, rows, by_key, tables, numbers))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise Damaged(path, f"its readings are not the result of a parser: {error!r:.80}") from error


def _make_readings(
    path: Path, rows: Sequence[tuple[Any, ...]], series: Mapping[int, Series], tables: Sequence[tuple[int, str, bytes]],
    numbers: Mapping[int, tuple[array[int], array[float]]],
) -> Iterator[tuple[int, Reading]]:  # fmt: skip
    shared: dict[bytes, bytes] = {}  # the repeats of a cell have the same options
    packed: dict[int, dict[str, bytes]] = {}
    for run, name, data in tables:
        packed.setdefault(run, {})[sys.intern(name)] = shared.setdefault(data, data)
    shapes: dict[tuple[str, bytes], tuple[Series, ...]] = {}
    for run, parser, version, facts, flags, columns, unreadable in rows:
        if parser not in parser_names() or version != get_parser(parser).VERSION:
            continue
        if unreadable:
            yield run, (parser, ParseError("", unreadable))
            continue
        ids, values = numbers.get(run, _NO_NUMBERS)
        if not all(map(math.isfinite, values)):
            raise ValueError("a number is not finite")
        shape = parser, ids.tobytes()
        if shape not in shapes:
            shapes[shape] = tuple(map(series.__getitem__, ids))
            _check(parser, shapes[shape])
        table = _make_table(_parse_columns(columns), shapes[shape], values)
        tables_of_run = Tables(table, packed.get(run, _NO_TABLES), path)
        yield (
            run,
            (parser, Parsed(tables=tables_of_run, flags=_parse_flags(flags), facts=_parse_facts(facts))),
        )


_NO_NUMBERS: Final = array("q"), array("d")


def _check(parser: str, numbers: Sequence[Series]) -> None:
    """Raise ValueError for numbers that a parser does not give."""
    module = get_parser(parser)
    units, labels = {name: metric.unit for name, metric in module.METRICS.items()}, {*module.LABELS}
    for series in {id(item): item for item in numbers}.values() if units else ():
        if units.get(series.metric) != series.unit or not labels.issuperset(series.labels):
            raise ValueError(f"{series.metric!r:.40} in {series.unit!r:.40}")


def _fetch_numbers(db: sqlite3.Connection, where: str) -> dict[int, tuple[array[int], array[float]]]:
    """Return run → (series of the numbers, the numbers)."""
    runs, ids, values = array("q"), array("q"), array("d")
    rows = db.execute(f"SELECT run_id, series, value FROM measurement{where} ORDER BY run_id, position")
    while some := rows.fetchmany(10_000):
        some_runs, some_ids, some_values = zip(*some, strict=True)
        runs.extend(some_runs)
        ids.extend(some_ids)
        values.extend(some_values)
    numbers, begin = {}, 0
    for run, group in itertools.groupby(runs):
        end = begin + sum(1 for _ in group)
        numbers[run] = ids[begin:end], values[begin:end]
        begin = end
    return numbers


def _make_table(columns: tuple[str, ...], series: tuple[Series, ...], values: array[float]) -> Table:
    """Return a table of measurements. If the only label is a counter, the series do not have the label."""
    if columns != ("index", "metric", "unit", "value") or any("index" in item.labels for item in series):
        return Table(columns=columns, rows=Numbered(columns[:-3], series, values))
    groups: dict[tuple[str, str], array[float]] = {}
    for (metric, unit, _), value in zip(series, values, strict=True):
        groups.setdefault((metric, unit), array("d")).append(value)
    return Table(columns=columns, rows=Counted((*key, group) for key, group in groups.items()))


def _make_series(metric: str, statistic: str, unit: str, labels: str) -> Series:
    words = _parse_object(labels) | ({"statistic": statistic} if statistic else {})
    shared = {sys.intern(name): sys.intern(value) if isinstance(value, str) else value for name, value in words.items()}
    return Series(sys.intern(metric), sys.intern(unit), shared)


def _parse_object(text: str) -> dict[str, Scalar]:
    """Return a JSON object of plain values. Raises ValueError for other JSON."""
    value = json.loads(text)
    if not isinstance(value, dict) or any(isinstance(item, dict | list) for item in value.values()):
        raise ValueError("not an object of plain values")
    return value


_parse_facts = functools.lru_cache(maxsize=1 << 12)(_parse_object)
"""One mapping for all runs that have the same facts, as the repeats of a cell do."""


@functools.lru_cache(maxsize=512)
def _parse_flags(text: str) -> tuple[Flag, ...]:
    return tuple(Flag(id=_check_text(name), text=_check_text(words)) for name, words in json.loads(text))


@functools.lru_cache(maxsize=512)
def _parse_columns(text: str) -> tuple[str, ...]:
    columns = tuple(sys.intern(_check_text(name)) for name in json.loads(text))
    if columns[-3:] != ("metric", "unit", "value"):
        raise ValueError("measurements without a metric, a unit or a value")
    return columns


def _check_text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value


def _unpack(data: bytes) -> Table:
    columns = json.loads(database.inflate(data, database.LONGEST_PARSED))
    lengths = {len(column) if isinstance(column, list) else -1 for column in columns.values()}
    if len(lengths) != 1 or -1 in lengths:
        raise ValueError("not columns of one length")
    return Table(columns=tuple(columns), rows=Columns(list(columns.values())))


_unpack_small = functools.lru_cache(maxsize=256)(_unpack)
