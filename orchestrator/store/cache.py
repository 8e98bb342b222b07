"""What a parser returned of a run, as the table `parsed` keeps it: bytes out, bytes in. Pure.

    4 bytes       length of the next part
    zlib of JSON  {"flags": …, "facts": …, "order": [names of all tables], "tables": {name: …}}, small tables as texts of JSON
    zlib of JSON  {name: …} of the other tables, which are read when somebody asks: histograms and the like

A table is {"columns", "rows"}, or {"columns", "blocks"} (`Blocks`), or {"columns", "series"} (`Counted`), or {"columns", "heads", "values"}: `heads` is a text of JSON, all
columns but the last. The runs of a sweep have the same few heads, so that of most runs their values alone are read and kept.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import sys
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from orchestrator.store import database
from orchestrator.store.rows import Strange
from parsers._bounds import MOST_ROWS, PRINT_LESS
from parsers.errors import ParseError
from parsers.measurement import Blocks, Counted, Flag, Heads, Numbered, Parsed, Scalar, Table

FORM: Final = 3_000_000
"""Added to a parser's version: a pinsweep that knows another form of this finds no cache, and reads the output."""

_MOST_HEADS: Final = 500
"""Rows of a table whose heads are kept once; one with more is a curve or a matrix of a run's own."""
_LONGEST_HEADS: Final = 100_000
"""Characters of such heads."""
_PIECE: Final = 10_000
"""Numbers that are written at once."""
_SMALL: Final = 50
"""Rows of a table that is kept beside the measurements, as a text that is read when somebody asks."""


# --- out ---------------------------------------------------------------------------------------------------


def dump_parsed(parsed: Parsed) -> bytes:
    """Return what `parsed` keeps of a run, compressed piece by piece, for a table may be larger than its text. Raises ParseError for more
    than `load_parsed` takes."""
    now = {name: table for name, table in parsed.tables.items() if name == "measurements" or _is_small(table)}
    later = {name: table for name, table in parsed.tables.items() if name not in now}
    main = _packed(_main(parsed, now))
    return len(main).to_bytes(4, "little") + main + (_packed(_tables(later)) if later else b"")


def _is_small(table: Table) -> bool:
    return not isinstance(table.rows, Blocks) and len(table.rows) <= _SMALL


def _packed(pieces: Iterator[str]) -> bytes:
    packer, size = zlib.compressobj(6), 0
    packed: list[bytes] = []
    for piece in pieces:
        size += len(piece)  # JSON is ASCII
        if size > database.LONGEST_PARSED:
            raise ParseError("output", "more tables than are kept in one text are not read", PRINT_LESS)
        packed.append(packer.compress(piece.encode()))
    return b"".join([*packed, packer.flush()])


def _main(parsed: Parsed, now: Mapping[str, Table]) -> Iterator[str]:
    flags = [(flag.id, flag.text) for flag in parsed.flags]
    head = {"flags": flags, "facts": dict(parsed.facts), "order": list(parsed.tables)}
    yield f'{json.dumps(head)[:-1]}, "tables": {{'
    for n, (name, table) in enumerate(now.items()):
        yield f"{',' if n else ''}{json.dumps(name)}:"
        if name == "measurements":
            yield from _dumped(name, table)
        else:
            yield json.dumps("".join(_dumped(name, table)))
    yield "}}"


def _tables(tables: Mapping[str, Table]) -> Iterator[str]:
    for n, (name, table) in enumerate(tables.items()):
        yield ("," if n else "{") + json.dumps(name) + ":"
        yield from _dumped(name, table)
    yield "}" if tables else "{}"


def _dumped(name: str, table: Table) -> Iterator[str]:
    if _has_heads(name, table):
        return _headed(table)
    if isinstance(table.rows, Counted):
        return _counted(table.columns, table.rows)
    return _whole(table)


def _has_heads(name: str, table: Table) -> bool:
    return (
        name == "measurements" and not isinstance(table.rows, Blocks) and 0 < len(table.rows) <= _MOST_HEADS
    )


def _headed(table: Table) -> Iterator[str]:
    heads = json.dumps([row[:-1] for row in table.rows])
    yield json.dumps({"columns": table.columns, "heads": heads, "values": [row[-1] for row in table.rows]})


def _counted(columns: Sequence[str], rows: Counted) -> Iterator[str]:
    yield json.dumps({"columns": columns, "series": []})[:-2]
    for n, (metric, unit, values) in enumerate(rows.series):
        yield ("," if n else "") + json.dumps([metric, unit, []])[:-2]
        for at in range(0, len(values), _PIECE):
            yield ("," if at else "") + json.dumps(values[at : at + _PIECE].tolist())[1:-1]
        yield "]]"
    yield "]}"


def _whole(table: Table) -> Iterator[str]:
    kind = "blocks" if isinstance(table.rows, Blocks) else "rows"
    items = table.rows.blocks if isinstance(table.rows, Blocks) else tuple(table.rows)
    step = 100 if kind == "blocks" else 1000
    yield json.dumps({"columns": table.columns, kind: items[:step]})[:-2]  # without its "]}"
    for at in range(step, len(items), step):
        yield "," + json.dumps(items[at : at + step])[1:-1]
    yield "]}"


# --- in ----------------------------------------------------------------------------------------------------


def load_parsed(data: bytes, name: str, damaged: Callable[[object], Exception]) -> Parsed:
    """Return what `dump_parsed` kept of a run; `name` is what a complaint calls it. Raises Strange for what it did not write; of tables
    that are read later, what `damaged` makes of such a complaint."""
    length = int.from_bytes(data[:4], "little")
    if not 0 < length <= len(data) - 4:
        raise Strange(f"{name} is cut, or is not what pinsweep keeps")
    raw = _json(data[4 : 4 + length], name)
    try:
        measured, texts = _table(raw["tables"].pop("measurements")), raw["tables"]
        if not {"metric", "unit", "value"} <= {*measured.columns}:
            raise Strange(f"{name} has measurements without a metric, a unit or a value")
        if not isinstance(measured.rows, Counted) and len(measured.rows) > MOST_ROWS:
            raise Strange(f"{name} holds more than {MOST_ROWS} measurements")
        flags = tuple(Flag(id=_text(i), text=_text(t)) for i, t in raw["flags"])
        facts, order = raw["facts"], same_names(tuple(map(_text, raw["order"])))
        _check_numbers(measured)
        if not isinstance(facts, dict) or any(isinstance(value, dict | list) for value in facts.values()):
            raise Strange(f"{name}, facts is not an object of plain values")
        if not {"measurements", *texts} <= {*order} or not all(map(_text, texts.values())):
            raise Strange(f"{name} has tables that it does not name")
    except Strange:
        raise
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise Strange(f"{name} is not what a parser returns") from error
    facts = same_facts_of(facts)
    texts = {sys.intern(key): _same_text(text) for key, text in texts.items()}
    if order == ("measurements",):
        return Parsed(tables={"measurements": measured}, flags=flags, facts=facts)
    return Parsed(
        tables=_Tables(order, measured, texts, data[4 + length :], name, damaged), flags=flags, facts=facts
    )


@functools.lru_cache(maxsize=1 << 12)
def same_facts(
    names: tuple[str, ...], values: tuple[Scalar, ...], _: tuple[type, ...]
) -> Mapping[str, Scalar]:
    """Return the facts of a run, once for all runs that tell the same, as the repeats of a cell do. The last are the types of the
    values: 1 is equal to True."""
    return {sys.intern(name): _shared(value) for name, value in zip(names, values, strict=True)}


def same_facts_of(facts: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
    """Return facts as `same_facts` does."""
    return same_facts(tuple(facts), tuple(facts.values()), tuple(map(type, facts.values())))


_same_text = functools.lru_cache(maxsize=1 << 12)(lambda text: text)
"""Of a small table: the repeats of a cell have the same options."""


@functools.lru_cache(maxsize=512)
def same_names(order: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of a run's tables, once for all runs that have the same."""
    return tuple(map(sys.intern, order))


class _Tables(Mapping[str, Table]):
    """Tables of a run. All but the measurements stay texts until they are asked for, the large ones compressed, and are not kept then:
    few readers want them."""

    __slots__ = ("_damaged", "_measured", "_name", "_order", "_packed", "_texts")

    def __init__(
        self,
        order: tuple[str, ...],
        measured: Table,
        texts: Mapping[str, str],
        packed: bytes,
        name: str,
        damaged: Callable[[object], Exception],
    ) -> None:
        self._order, self._measured, self._texts, self._packed = order, measured, texts, packed
        self._name, self._damaged = name, damaged

    def __getitem__(self, key: str) -> Table:
        if key == "measurements":
            return self._measured
        if key not in self._order:
            raise KeyError(key)
        try:
            if text := self._texts.get(key):
                with contextlib.suppress(Exception):  # the next line says of which run, and is not kept
                    return _small_table(text)
                return _checked_table(json.loads(text), self._name)
            return _later(self._packed, self._name)[key]
        except KeyError:
            raise self._damaged(f"{self._name} lacks the table {key!r:.40}") from None
        except (ValueError, RecursionError) as error:
            raise self._damaged(error) from error

    def __iter__(self) -> Iterator[str]:
        return iter(self._order)

    def __len__(self) -> int:
        return len(self._order)

    def __contains__(self, key: object) -> bool:
        return key in self._order


@functools.lru_cache(maxsize=1)  # one may be as large as the memory allows
def _later(packed: bytes, name: str) -> Mapping[str, Table]:
    raw = _json(packed, name)
    if not isinstance(raw, dict):
        raise Strange(f"{name} is not what a parser returns")
    return {key: _checked_table(table, name) for key, table in raw.items()}


@functools.lru_cache(maxsize=1 << 8)
def _small_table(text: str) -> Table:
    return _table(json.loads(text))


def _checked_table(raw: Any, name: str) -> Table:  # noqa: ANN401 (anything JSON holds)
    try:
        return _table(raw)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise Strange(f"{name} is not what a parser returns") from error


def _json(packed: bytes, name: str) -> Any:  # noqa: ANN401 (anything JSON holds)
    try:
        # as ASCII, for so it is written: a single other character would make all of it four times as large
        text = str(database.inflate(packed, database.LONGEST_PARSED), "ascii")
    except ValueError as error:  # UnicodeDecodeError is one
        raise Strange(f"{name}: {error}") from error
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Strange(f"{name} is not what a parser returns") from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise Strange("what should be a text is none")
    return value


def _table(raw: Mapping[str, Any]) -> Table:
    columns = tuple(map(sys.intern, map(_text, raw["columns"])))
    if "heads" in raw:
        heads = _heads(columns, _text(raw["heads"]))
        values = array("d", raw["values"])  # a quarter of what a tuple of numbers takes
        if len(values) != len(heads.rows):
            raise Strange("a table has more heads than values, or fewer")
        return Table(columns=heads.columns, rows=Numbered(heads, values))
    if "series" in raw:
        if columns[1:] != ("metric", "unit", "value"):
            raise Strange("numbers that are counted have other columns than an index, metric, unit and value")
        return Table(columns=columns, rows=_series(raw["series"]))
    if "blocks" in raw:
        blocks = [(tuple(shared), tuple(own)) for shared, own in raw["blocks"]]
        if any(
            len(shared) + len(own) != len(columns) or len(set(map(len, own))) != 1 for shared, own in blocks
        ):
            raise Strange("a table has rows of several widths")
        return Table(columns=columns, rows=Blocks(blocks))
    rows = tuple(tuple(map(_shared, row)) for row in raw["rows"])
    if set(map(len, rows)) - {len(columns)}:
        raise Strange("a table has rows of several widths")
    return Table(columns=columns, rows=rows)


def _series(raw: list[Any]) -> Counted:
    rows = Counted(
        (sys.intern(_text(metric)), sys.intern(_text(unit)), values) for metric, unit, values in raw
    )
    if not all(len(values) for _, _, values in rows.series) or len({m for m, _, _ in rows.series}) < len(
        rows.series
    ):
        raise Strange("a metric is without numbers, or is there twice")
    return rows


def _shared(value: Scalar) -> Scalar:
    """Return a value; of a text the one object that all runs have of it."""
    return sys.intern(value) if type(value) is str else value


def _check_numbers(measured: Table) -> None:
    """Refuse measurements with anything but finite numbers."""
    if isinstance(measured.rows, Numbered):
        values: Iterable[float] = measured.rows.values
    elif isinstance(measured.rows, Counted):
        values = (value for _, _, own in measured.rows.series for value in own)
    else:
        at = measured.columns.index("value")
        values = (row[at] for row in measured.rows)  # type: ignore[misc]  # what else it may be is a TypeError below
    if not all(map(math.isfinite, values)):
        raise Strange("what was measured holds a number that is not finite")


def _heads(columns: tuple[str, ...], text: str) -> Heads:
    return _kept_heads(columns, text) if len(text) <= _LONGEST_HEADS else _read_heads(columns, text)


def _read_heads(columns: tuple[str, ...], text: str) -> Heads:
    rows = tuple(map(tuple, json.loads(text)))
    if columns[-1:] != ("value",) or set(map(len, rows)) - {len(columns) - 1}:
        raise Strange("a table has rows of several widths")
    return Heads(columns, rows)


_kept_heads = functools.lru_cache(maxsize=512)(_read_heads)
